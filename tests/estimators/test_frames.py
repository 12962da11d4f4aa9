"""Rows of every kind reach the base model as they are: frames, sparse matrices, texts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from aucross import AUCross, PlugIn, PlugInAUC, SCross
from tests.reference import select_each

METHODS = [AUCross, PlugInAUC, SCross, PlugIn]
COVERAGES = (0.9, 0.7, 0.5)

X, y = make_classification(400, n_features=4, n_informative=3, n_redundant=0, flip_y=0.2, random_state=1)
KINDS = np.array(["rent", "own", "other"])[np.digitize(X[:, 3], [-0.5, 0.8])]
MISSING = np.random.default_rng(0).random(len(y)) < 0.1

every_method = pytest.mark.parametrize("method", METHODS)


def boosting():
    return HistGradientBoostingClassifier(categorical_features="from_dtype", max_iter=15, random_state=0)


def lightgbm():
    return pytest.importorskip("lightgbm").LGBMClassifier(n_estimators=20, n_jobs=1, verbose=-1, random_state=0)


def fit(method, estimator, rows, labels=y):
    return method(estimator, random_state=0).fit(rows, labels)


def pandas_frame():
    """Numbers and categories, both with missing values."""
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X[:, :3].copy(), columns=["income", "debt", "age"])  # blanks are written into it
    frame["home"] = pd.Categorical(KINDS)
    frame.loc[MISSING, ["debt", "home"]] = None
    return frame


def polars_frame():
    pl = pytest.importorskip("polars")
    frame = pl.from_pandas(pandas_frame().drop(columns="home"))
    homes = [None if missing else kind for missing, kind in zip(MISSING, KINDS.tolist(), strict=True)]
    return frame.with_columns(pl.Series("home", homes, dtype=pl.Categorical))


def encoded():
    """The same rows as numbers, which the frames must agree with."""
    codes = np.searchsorted(np.unique(KINDS), KINDS).astype(float)
    rows = np.column_stack((X[:, :3], codes))
    rows[np.ix_(MISSING, [1, 3])] = np.nan
    return rows


# ---- frames with categories ----


@every_method
def test_a_pandas_frame_with_categories_and_missing_values(method):
    frame = pandas_frame()
    clf = fit(method, boosting(), frame)
    numbers = fit(method, boosting().set_params(categorical_features=[3]), encoded())
    assert np.array_equal(select_each(clf, frame, COVERAGES), select_each(numbers, encoded(), COVERAGES))
    assert clf.feature_names_in_.tolist() == ["income", "debt", "age", "home"]
    assert clf.n_features_in_ == 4


@every_method
def test_a_polars_frame_with_categories_and_missing_values(method):
    frame = polars_frame()
    clf = fit(method, boosting(), frame)
    assert np.array_equal(
        select_each(clf, frame, COVERAGES),
        select_each(fit(method, boosting(), pandas_frame()), pandas_frame(), COVERAGES),
    )
    assert clf.feature_names_in_.tolist() == ["income", "debt", "age", "home"]


@every_method
def test_lightgbm_on_a_pandas_frame_with_categories_and_missing_values(method):
    frame = pandas_frame()
    clf = fit(method, lightgbm(), frame)
    assert clf.feature_names_in_.tolist() == ["income", "debt", "age", "home"]
    assert np.array_equal(clf.predict_proba(frame), clf.estimator_.predict_proba(frame))
    for coverage in COVERAGES:
        rule = clf.band_rule_
        assert rule.ranked.coverage(rule.placed(coverage)) >= coverage - 1e-9
        assert 0 < clf.select(frame, coverage).mean() < 1


@every_method
def test_lightgbm_on_a_polars_frame_of_numbers(method):
    frame = polars_frame().drop("home")
    clf = fit(method, lightgbm(), frame)
    same_rows = pandas_frame().drop(columns="home")
    expected = select_each(fit(method, lightgbm(), same_rows), same_rows, COVERAGES)
    assert np.array_equal(select_each(clf, frame, COVERAGES), expected)
    assert clf.feature_names_in_.tolist() == ["income", "debt", "age"]


@every_method
def test_an_arrow_table_of_numbers(method):
    pa = pytest.importorskip("pyarrow")
    table = pa.table({f"x{column}": X[:, column] for column in range(4)})
    clf = fit(method, lightgbm(), table)
    frame = table.to_pandas()
    assert np.array_equal(
        select_each(clf, table, COVERAGES), select_each(fit(method, lightgbm(), frame), frame, COVERAGES)
    )


@every_method
@pytest.mark.few_scores
def test_rows_of_a_frame_keep_their_types_in_every_fold(method):
    class Watching(HistGradientBoostingClassifier):
        """Remembers what it was given."""

        def fit(self, X, y, sample_weight=None):
            seen.append(X)
            return super().fit(X, y, sample_weight)

    for frame in (pandas_frame(), polars_frame()):
        seen = []
        fit(method, Watching(categorical_features="from_dtype", max_iter=2), frame)
        assert all(type(part) is type(frame) and list(part.dtypes) == list(frame.dtypes) for part in seen)
        if method in (AUCross, SCross):
            # Five folds, and all rows, which are not even copied.
            assert len(seen) == 6
            assert seen[5] is frame


# ---- other containers ----


@every_method
@pytest.mark.parametrize("container", [sparse.csr_matrix, sparse.csr_array, sparse.csc_array, sparse.coo_array])
def test_sparse_rows(method, container):
    thinned = np.where(np.abs(X) < 0.5, 0.0, X)
    clf = fit(method, LogisticRegression(), container(thinned))
    dense = fit(method, LogisticRegression(), thinned)
    assert clf.decide(container(thinned)).selection_score == pytest.approx(
        dense.decide(thinned).selection_score, abs=1e-4
    )
    for coverage in COVERAGES:
        same = clf.select(container(thinned), coverage) == dense.select(thinned, coverage)
        assert same.mean() > 0.98  # the solver may stop one step apart


@every_method
@pytest.mark.parametrize("container", [list, np.array, tuple])
@pytest.mark.few_scores
def test_texts_through_a_pipeline(method, container):
    words = np.where(y[:, None], ["paid", "early", "thanks"], ["late", "late", "overdue"])
    noise = np.random.default_rng(0).integers(0, 3, len(y))
    texts = [
        f"{row[n]} {('paid', 'late', 'overdue')[k]} letter{k}"
        for row, n, k in zip(words, noise, noise[::-1], strict=True)
    ]
    clf = fit(method, make_pipeline(TfidfVectorizer(), LogisticRegression()), container(texts))
    selected = clf.select(container(texts), 0.7)
    assert selected.shape == (len(y),)
    assert np.array_equal(selected, clf.select(np.array(texts), 0.7))
    assert not hasattr(clf, "n_features_in_")  # a vectoriser knows none


@every_method
def test_rows_as_nested_lists(method):
    clf = fit(method, LogisticRegression(), X.tolist(), y.tolist())
    assert np.array_equal(clf.select(X.tolist()), fit(method, LogisticRegression(), X).select(X))


# ---- what the base model knows about the features ----


def test_features_are_those_of_the_base_model():
    clf = fit(AUCross, LogisticRegression(), X)
    assert clf.n_features_in_ == 4
    assert not hasattr(clf, "feature_names_in_")
    frame = pandas_frame().drop(columns=["home", "debt"])
    assert fit(PlugIn, LogisticRegression(), frame).feature_names_in_.tolist() == ["income", "age"]
    piped = fit(PlugIn, make_pipeline(StandardScaler(), LogisticRegression()), frame)
    assert piped.feature_names_in_.tolist() == ["income", "age"]
    assert piped.n_features_in_ == 2


def test_frames_with_other_columns_are_refused_by_the_base_model():
    frame = pandas_frame().drop(columns=["home", "debt"])
    clf = fit(AUCross, LogisticRegression(), frame)
    with pytest.raises(ValueError, match="feature names"):
        clf.select(frame.rename(columns={"age": "years"}))
