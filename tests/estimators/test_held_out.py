"""Which rows train and which are scored."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    PredefinedSplit,
    RepeatedStratifiedKFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    TimeSeriesSplit,
    cross_val_predict,
    train_test_split,
)
from sklearn.svm import LinearSVC

from aucross import AUCross, PlugIn, PlugInAUC, SCross
from aucross.estimators.held_out import HeldOutScores
from aucross.estimators.training_rows import halves_of

CROSS_FITTED = [AUCross, SCross]
HOLD_OUT = [PlugInAUC, PlugIn]

X, y = make_classification(300, n_features=5, weights=[0.7], flip_y=0.1, random_state=0)
N_ROWS = len(y)

cross_fitted = pytest.mark.parametrize("method", CROSS_FITTED)
hold_out = pytest.mark.parametrize("method", HOLD_OUT)
every_method = pytest.mark.parametrize("method", CROSS_FITTED + HOLD_OUT)


class Remembering(ClassifierMixin, BaseEstimator):
    """Scores a row by its first feature, and keeps what it was trained with."""

    def fit(self, X, y, sample_weight=None, **fit_params):
        self.trained_on_, self.weight_, self.fit_params_ = X, sample_weight, fit_params
        TRAININGS.append(self)
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X):
        return np.asarray(X)[:, 0]

    def predict(self, X):
        return self.classes_[(self.decision_function(X) > 0).astype(int)]


TRAININGS: list[Remembering] = []


@pytest.fixture(autouse=True)
def forget():
    TRAININGS.clear()


def numbered_rows():
    """Rows whose second feature is their number."""
    return np.column_stack((X[:, 0], np.arange(N_ROWS)))


def numbers_of(part) -> np.ndarray:
    return np.asarray(part)[:, 1].astype(int)


def scores_by_row(clf) -> np.ndarray:
    scores = np.full(N_ROWS, np.nan)
    scores[clf.held_out_.rows] = clf.held_out_.scores
    return scores


# ---- folds ----


@cross_fitted
@pytest.mark.parametrize("folds", [2, 5, 7])
@pytest.mark.parametrize("seed", [0, 42])
def test_integer_cv_is_stratified_shuffled_folds_with_the_seed_of_the_estimator(method, folds, seed):
    clf = method(LogisticRegression(), cv=folds, random_state=seed).fit(X, y)
    splitter = StratifiedKFold(folds, shuffle=True, random_state=seed)
    expected = cross_val_predict(LogisticRegression(), X, y, cv=splitter, method="predict_proba")[:, 1]
    assert np.array_equal(scores_by_row(clf), expected)
    assert clf.held_out_.sample_weight is None
    assert np.array_equal(clf.held_out_.positive, y[clf.held_out_.rows] == 1)


@cross_fitted
def test_scores_of_the_decision_function_are_cross_fitted_alike(method):
    clf = method(LinearSVC(random_state=0), random_state=1).fit(X, y)
    splitter = StratifiedKFold(5, shuffle=True, random_state=1)
    expected = cross_val_predict(LinearSVC(random_state=0), X, y, cv=splitter, method="decision_function")
    assert np.array_equal(scores_by_row(clf), expected)


@cross_fitted
@pytest.mark.parametrize(
    "cv", [np.int64(3), KFold(3), StratifiedKFold(4), list(KFold(3).split(X)), PredefinedSplit(np.arange(300) % 3)]
)
def test_any_splitter_or_list_of_splits_is_used_as_scikit_learn_does(method, cv):
    clf = method(LogisticRegression(), cv=cv, random_state=0).fit(X, y)
    splitter = StratifiedKFold(3, shuffle=True, random_state=0) if isinstance(cv, np.int64) else cv
    expected = cross_val_predict(LogisticRegression(), X, y, cv=splitter, method="predict_proba")[:, 1]
    assert np.array_equal(scores_by_row(clf), expected)


@cross_fitted
def test_no_cv_means_the_default_folds_of_scikit_learn(method):
    clf = method(LogisticRegression(), cv=None).fit(X, y)
    expected = cross_val_predict(LogisticRegression(), X, y, method="predict_proba")[:, 1]
    assert np.array_equal(scores_by_row(clf), expected)


@every_method
def test_splits_may_be_masks(method):
    positions = list(KFold(3).split(X))
    masks = [tuple(np.isin(np.arange(N_ROWS), part) for part in split) for split in positions]
    by_masks, by_positions = (
        method(LogisticRegression(), cv=cv, random_state=0).fit(X, y) for cv in (masks, positions)
    )
    assert np.array_equal(by_masks.held_out_.scores, by_positions.held_out_.scores)
    assert np.array_equal(by_masks.held_out_.rows, by_positions.held_out_.rows)


@every_method
def test_no_row_is_scored_by_a_model_that_trained_on_it(method):
    clf = method(Remembering(), random_state=0).fit(numbered_rows(), y)
    scored = []
    for model in TRAININGS[:5] if method in CROSS_FITTED else TRAININGS:
        held_out = np.setdiff1d(np.arange(N_ROWS), numbers_of(model.trained_on_))
        scored.extend(held_out)
    assert sorted(clf.held_out_.rows) == sorted(scored)
    assert len(TRAININGS) == (6 if method in CROSS_FITTED else 1)
    if method in CROSS_FITTED:
        assert np.array_equal(numbers_of(TRAININGS[5].trained_on_), np.arange(N_ROWS))
        assert clf.estimator_ is TRAININGS[5]


@cross_fitted
def test_rows_that_no_split_scores_place_no_band(method):
    with pytest.warns(UserWarning, match=r"cv trains models on 60 to 240 of 300 rows.*PlugInAUC\(model, cv="):
        clf = method(LogisticRegression(), cv=TimeSeriesSplit(4), random_state=0).fit(X, y)
    assert np.array_equal(np.sort(clf.held_out_.rows), np.arange(60, 300))
    assert clf.band_rule_.ranked.total == pytest.approx(240)
    # The classifier that answers is trained on all of them nevertheless.
    assert np.array_equal(clf.estimator_.coef_, LogisticRegression().fit(X, y).coef_)


@cross_fitted
def test_rows_scored_m_times_count_one_mth_each_time(method):
    cv = RepeatedStratifiedKFold(n_splits=3, n_repeats=4, random_state=0)
    clf = method(LogisticRegression(), cv=cv, random_state=0).fit(X, y)
    held_out = clf.held_out_
    assert np.array_equal(np.bincount(held_out.rows), np.full(N_ROWS, 4))
    assert np.array_equal(held_out.sample_weight, np.full(4 * N_ROWS, 0.25))
    assert clf.band_rule_.ranked.total == pytest.approx(N_ROWS)


@cross_fitted
def test_rows_scored_more_often_than_others_count_no_more_than_these(method):
    weight = np.linspace(1, 3, N_ROWS)
    splits = [*KFold(3).split(X), (np.arange(100, 300), np.arange(50))]  # the first 50 rows twice
    clf = method(LogisticRegression(), cv=splits, random_state=0).fit(X, y, sample_weight=weight)
    summed = np.bincount(clf.held_out_.rows, weights=clf.held_out_.sample_weight)
    assert summed == pytest.approx(weight, abs=1e-12)


# ---- the hold-out part ----


@hold_out
@pytest.mark.parametrize("seed", [0, 42])
@pytest.mark.parametrize("share", [0.1, 0.25, 0.333])
def test_the_hold_out_part_is_that_of_train_test_split(method, seed, share):
    clf = method(LogisticRegression(), holdout_size=share, random_state=seed).fit(X, y)
    train, test = train_test_split(np.arange(N_ROWS), test_size=share, stratify=y, random_state=seed)
    assert np.array_equal(clf.held_out_.rows, test)
    model = LogisticRegression().fit(X[train], y[train])
    assert np.array_equal(clf.held_out_.scores, model.predict_proba(X[test])[:, 1])
    # There is no refit: the model that was scored is the one that answers.
    assert np.array_equal(clf.estimator_.coef_, model.coef_)


@hold_out
def test_a_tenth_is_held_out_by_default(method):
    assert len(method(LogisticRegression(), random_state=0).fit(X, y).held_out_.rows) == 30


@pytest.mark.filterwarnings("ignore:a coverage of .* leaves less than one of")  # of so few rows
@hold_out
@pytest.mark.parametrize("share", [0.01, 0.1, 0.5, 0.9, 0.99])
def test_a_rare_class_has_a_row_on_either_side(method, share):
    rare = np.zeros(N_ROWS, dtype=int)
    rare[[17, 201]] = 1
    for seed in range(5):
        clf = method(LogisticRegression(), holdout_size=share, random_state=seed).fit(X, rare)
        assert clf.held_out_.positive.sum() == 1
        assert (~clf.held_out_.positive).any()
        assert len(np.unique(clf.held_out_.rows)) == len(clf.held_out_.rows)
        assert abs(len(clf.held_out_.rows) - share * N_ROWS) <= 2


@pytest.mark.filterwarnings("ignore:a coverage of .* leaves less than one of")  # of so few rows
@hold_out
def test_four_rows_are_enough_to_train_and_to_hold_out(method):
    clf = method(LogisticRegression(), random_state=0).fit(X[:4], [0, 1, 0, 1])
    assert sorted(clf.held_out_.positive) == [False, True]


@hold_out
@pytest.mark.parametrize("cv", [KFold(4), StratifiedKFold(3), TimeSeriesSplit(3), list(KFold(4).split(X))])
def test_of_a_given_cv_the_first_split_is_used(method, cv):
    clf = method(LogisticRegression(), cv=cv, random_state=0).fit(X, y)
    train, test = next(iter(cv if isinstance(cv, list) else cv.split(X, y)))
    assert np.array_equal(clf.held_out_.rows, test)
    assert np.array_equal(clf.estimator_.coef_, LogisticRegression().fit(X[train], y[train]).coef_)


@hold_out
def test_of_integer_folds_the_first_is_held_out(method):
    clf = method(LogisticRegression(), cv=5, random_state=42).fit(X, y)
    train, test = next(StratifiedKFold(5, shuffle=True, random_state=42).split(X, y))
    assert np.array_equal(clf.held_out_.rows, test)
    assert np.array_equal(clf.estimator_.coef_, LogisticRegression().fit(X[train], y[train]).coef_)


# ---- groups ----


@every_method
@pytest.mark.parametrize("n_groups", [6, 60])
@pytest.mark.parametrize("cv", ["default", 3, GroupKFold(3), StratifiedGroupKFold(4)])
def test_rows_of_a_group_never_stand_on_both_sides(method, cv, n_groups):
    groups = np.random.default_rng(0).integers(0, n_groups, N_ROWS)
    params = {} if cv == "default" else {"cv": cv}
    clf = method(Remembering(), random_state=0, **params).fit(numbered_rows(), y, groups=groups)
    for model in TRAININGS[:-1] if method in CROSS_FITTED else TRAININGS:
        trained = numbers_of(model.trained_on_)
        held_out = np.setdiff1d(np.arange(N_ROWS), trained)
        assert not set(groups[trained]) & set(groups[held_out])
    if method in CROSS_FITTED:
        assert np.array_equal(np.sort(clf.held_out_.rows), np.arange(N_ROWS))


@hold_out
def test_groups_are_held_out_in_about_the_share_asked_for(method):
    groups = np.arange(N_ROWS) // 5
    clf = method(LogisticRegression(), holdout_size=0.2, random_state=0).fit(X, y, groups=groups)
    assert 0.15 < len(clf.held_out_.rows) / N_ROWS < 0.25


@every_method
def test_groups_may_be_a_series_with_any_index(method):
    pd = pytest.importorskip("pandas")
    groups = np.array([f"customer {row // 5}" for row in range(N_ROWS)])
    series = pd.Series(groups, index=np.random.default_rng(0).permutation(N_ROWS))
    by_series, by_array = (method(LogisticRegression(), random_state=0).fit(X, y, groups=g) for g in (series, groups))
    assert np.array_equal(by_series.held_out_.rows, by_array.held_out_.rows)


# ---- the two halves of the published methods ----


def test_halves_share_out_the_rows_and_the_positives():
    rng = np.random.default_rng(0)
    positive = rng.random(301) < 0.2
    held_out = HeldOutScores(np.arange(301), positive, rng.random(301), rng.random(301))
    first, second = (held_out.take(half) for half in halves_of(positive, np.random.RandomState(0)))
    assert np.array_equal(np.sort(np.concatenate((first.rows, second.rows))), np.arange(301))
    assert abs(int(first.positive.sum()) - int(second.positive.sum())) <= 1
    for half in (first, second):
        assert np.array_equal(half.scores, held_out.scores[half.rows])
        assert np.array_equal(half.sample_weight, held_out.sample_weight[half.rows])


@pytest.mark.parametrize("n_positive", [0, 1])
def test_halves_of_a_class_of_one_row_are_drawn_without_it(n_positive):
    first, second = halves_of(np.arange(10) < n_positive, np.random.RandomState(0))
    assert len(first) == len(second) == 5


# ---- arguments of the base model's fit ----


@every_method
def test_fit_arguments_with_one_element_per_row_are_cut_with_the_rows(method):
    pd = pytest.importorskip("pandas")
    per_row = {
        "array": np.arange(N_ROWS),
        "matrix": np.column_stack((np.arange(N_ROWS), np.arange(N_ROWS))),
        "values": list(range(N_ROWS)),
        "series": pd.Series(np.arange(N_ROWS), index=np.arange(N_ROWS)[::-1]),
    }
    method(Remembering(), random_state=0).fit(numbered_rows(), y, **per_row)
    for model in TRAININGS:
        expected = numbers_of(model.trained_on_)
        assert np.array_equal(model.fit_params_["array"], expected)
        assert np.array_equal(model.fit_params_["matrix"], np.column_stack((expected, expected)))
        assert list(model.fit_params_["values"]) == expected.tolist()
        assert np.array_equal(model.fit_params_["series"].to_numpy(), expected)


@every_method
def test_other_fit_arguments_are_passed_on_as_they_are(method):
    others = {
        "number": 3,
        "numpy_number": np.float64(3),
        "no_dimension": np.array(3.0),
        "nothing": None,
        "text": "x" * N_ROWS,
        "mapping": dict.fromkeys(range(N_ROWS)),
        "shorter": [1, 2, 3],
        "function": len,
    }
    method(Remembering(), random_state=0).fit(numbered_rows(), y, **others)
    for model in TRAININGS:
        assert all(model.fit_params_[name] is value for name, value in others.items())


def test_a_row_counts_once_however_often_it_was_scored():
    held_out = HeldOutScores(np.array([4, 7, 7]), np.array([0, 1, 1]), np.array([0.2, 0.5, 0.6]))
    assert held_out.weight_of_rows.tolist() == [1.0, 0.5, 0.5]
    assert held_out.n_rows == 2
    assert held_out.take(slice(0, 2)).weight_of_rows is None
