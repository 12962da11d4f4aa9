"""Input that cannot work, and the message that says so."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, VotingClassifier
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV, GroupKFold, KFold
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from aucross import AUCGate, AUCross, PlugIn, PlugInAUC, ScoreColumn, SCross
from tests.reference import select_each

METHODS = [AUCross, PlugInAUC, SCross, PlugIn]
AUC_METHODS = [AUCross, PlugInAUC]
CROSS_FITTED = [AUCross, SCross]
HOLD_OUT = [PlugInAUC, PlugIn]

X, y = make_classification(300, n_features=5, flip_y=0.2, random_state=0)

every_method = pytest.mark.parametrize("method", METHODS)


def make(method, estimator=None, **params):
    return method(estimator or LogisticRegression(), random_state=0, **params)


class Scripted(ClassifierMixin, BaseEstimator):
    """A logistic regression whose scores pass through a function."""

    def __init__(self, distort=None, method="predict_proba"):
        self.distort = distort
        self.method = method

    def fit(self, X, y, **fit_params):
        self.model_ = LogisticRegression().fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X):
        return self.model_.predict(X)

    def predict_proba(self, X):
        return self.distort(self.model_.predict_proba(X), X)


class ScriptedDecisions(Scripted):
    """The same with a decision function only."""

    predict_proba = property()  # no such attribute

    def decision_function(self, X):
        return self.distort(self.model_.decision_function(X), X)


def nan_for_the_eighth_row(scores, X_seen):
    scores[(X_seen == X[7]).all(axis=1)] = np.nan
    return scores


def infinite_for_the_eighth_row(scores, X_seen):
    scores[(X_seen == X[7]).all(axis=1)] = np.inf
    return scores


# ---- coverage ----


@every_method
@pytest.mark.parametrize(
    ("coverage", "error", "message"),
    [
        (90, ValueError, r"coverage must be in \(0, 1\], got 90; for 90 % pass 0\.9"),
        (0, ValueError, r"coverage must be in \(0, 1\], got 0"),
        (-0.5, ValueError, r"coverage must be in \(0, 1\], got -0\.5"),
        (float("nan"), ValueError, r"coverage must be in \(0, 1\], got nan"),
        ("0.9", TypeError, r"coverage must be a number in \(0, 1\], got '0\.9'"),
        ([0.9], TypeError, r"coverage must be a number in \(0, 1\], got \[0\.9\]"),
        (True, TypeError, r"coverage must be a number in \(0, 1\], got True"),
    ],
)
def test_a_coverage_outside_its_range_is_refused_in_fit_and_in_every_question(method, coverage, error, message):
    with pytest.raises(error, match=message):
        make(method, coverage=coverage).fit(X, y)
    clf = make(method).fit(X, y)
    for ask in (clf.select, clf.predict_selective, lambda X, coverage: clf.decide(clf.scored(X), coverage)):
        with pytest.raises(error, match=message):
            ask(X, coverage)
    with pytest.raises(error, match=message):
        clf.band(coverage)


@every_method
def test_no_coverage_in_the_constructor_is_refused(method):
    with pytest.raises(TypeError, match=r"coverage must be a number in \(0, 1\], got None"):
        make(method, coverage=None).fit(X, y)


# ---- other parameters ----


@pytest.mark.parametrize("method", AUC_METHODS)
@pytest.mark.parametrize("placement", ["centred", None, 1])
def test_an_unknown_placement_is_refused(method, placement):
    with pytest.raises(ValueError, match=f'placement must be "optimal", "centered" or a rule, got {placement!r}'):
        make(method, placement=placement).fit(X, y)


@pytest.mark.parametrize("method", HOLD_OUT)
@pytest.mark.parametrize(
    ("holdout_size", "error"),
    [
        (0, ValueError),
        (1.0, ValueError),
        (30, ValueError),
        (float("nan"), ValueError),
        ("0.1", TypeError),
        (None, TypeError),
    ],
)
def test_a_holdout_size_that_is_no_share_is_refused(method, holdout_size, error):
    with pytest.raises(error, match=r"holdout_size must be a .* in \(0, 1\), got .*; pass 0\.1 for a tenth"):
        make(method, holdout_size=holdout_size).fit(X, y)


@every_method
@pytest.mark.parametrize("folds", [1, 0, -2, True])
def test_fewer_than_two_folds_are_refused(method, folds):
    with pytest.raises(ValueError, match=f"cv must be at least 2 folds, got {folds}; pass cv=5"):
        make(method, cv=folds).fit(X, y)


@every_method
@pytest.mark.parametrize("cv", ["five", 2.5])
def test_a_cv_that_gives_no_splits_is_refused(method, cv):
    with pytest.raises(ValueError, match=r"Expected `?cv`? as an integer|cv must be a number of folds"):
        make(method, cv=cv).fit(X, y)


@every_method
def test_an_empty_or_used_up_cv_is_refused(method):
    message = "cv must give at least one split, got none; an iterator can be used only once, pass a list"
    with pytest.raises(ValueError, match=message):
        make(method, cv=[]).fit(X, y)
    clf = make(method, cv=KFold(3).split(X)).fit(X, y)
    with pytest.raises(ValueError, match=message):
        clf.fit(X, y)


@every_method
def test_folds_by_group_without_groups_are_refused(method):
    with pytest.raises(ValueError, match="'groups' parameter should not be None"):
        make(method, cv=GroupKFold(3)).fit(X, y)


@every_method
def test_one_group_only_is_refused(method):
    with pytest.raises(ValueError, match="greater than the number of groups: 1"):
        make(method).fit(X, y, groups=np.zeros(len(y)))


@every_method
@pytest.mark.parametrize("mark", [None, np.nan, "NA"])
@pytest.mark.parametrize("kind", ["numbers", "words"])
def test_missing_groups_are_refused_with_their_row(method, mark, kind):
    mark = pytest.importorskip("pandas").NA if mark == "NA" else mark
    groups = [f"customer {row // 3}" if kind == "words" else row // 3 for row in range(len(y))]
    groups[7] = groups[11] = mark
    with pytest.raises(
        ValueError,
        match=r"^groups must not contain missing values, got 2 of \d+, the first in row 7; give each such row",
    ):
        make(method).fit(X, y, groups=groups)


# ---- the target ----


@every_method
def test_one_class_is_refused(method):
    with pytest.raises(ValueError, match=r"y must hold at least two classes, got only one class: \[1\]"):
        make(method).fit(X, np.ones(len(y), dtype=int))


@pytest.mark.parametrize("method", CROSS_FITTED)
def test_a_class_with_fewer_rows_than_folds_is_refused(method):
    rare = np.where(np.arange(len(y)) < 4, "fraud", "fine")
    with pytest.raises(
        ValueError, match=r"every class must have at least 5 rows .* class 'fraud' has 4 .*; pass fewer"
    ):
        make(method).fit(X, rare)
    assert len(make(method, cv=4).fit(X, rare).held_out_.scores) == len(y)


@pytest.mark.parametrize("method", HOLD_OUT)
def test_a_class_of_one_row_is_refused_by_hold_out_methods(method):
    rare = np.arange(len(y)) < 1
    with pytest.raises(
        ValueError, match=r"at least 2 rows because one to train on and one to hold out .* class True has 1"
    ):
        make(method).fit(X, rare)


@every_method
def test_no_target_is_refused(method):
    with pytest.raises(ValueError, match="requires y to be passed, but the target y is None"):
        make(method).fit(X, None)


@every_method
def test_a_target_with_missing_values_is_refused(method):
    missing = np.where(np.arange(len(y)) == 3, np.nan, y)
    with pytest.raises(ValueError, match="y must not contain missing values, got 1 of 300, the first in row 3"):
        make(method).fit(X, missing)


@every_method
def test_a_continuous_target_is_refused(method):
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        make(method).fit(X, X[:, 0])


@every_method
def test_a_target_of_two_columns_is_refused_and_one_column_is_used_with_a_warning(method):
    with pytest.raises(ValueError, match=r"y should be a 1d array, got an array of shape \(300, 2\)"):
        make(method).fit(X, np.column_stack((y, y)))
    with pytest.warns(DataConversionWarning, match="column-vector y"):
        clf = make(method).fit(X, y[:, None])
    assert np.array_equal(clf.select(X), make(method).fit(X, y).select(X))


# ---- rows and weights ----


@every_method
def test_lengths_that_differ_are_refused(method):
    with pytest.raises(ValueError, match="X and y must have the same number of rows, got 300 and 299"):
        make(method).fit(X, y[:-1])
    with pytest.raises(ValueError, match="groups and y must have the same number of rows, got 10 and 300"):
        make(method).fit(X, y, groups=np.arange(10))
    with pytest.raises(
        ValueError, match=r"sample_weight must hold one weight per row, got shape \(299,\) for 300 rows"
    ):
        make(method).fit(X, y, sample_weight=np.ones(299))
    with pytest.raises(ValueError, match=r"sample_weight must hold one weight per row, got shape \(\) for 300 rows"):
        make(method).fit(X, y, sample_weight=2.0)


@every_method
def test_no_rows_are_refused(method):
    with pytest.raises(ValueError, match=r"X and y must not be empty: found array with 0 sample\(s\)"):
        make(method).fit(X[:0], y[:0])


@every_method
@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.where(np.arange(300) == 4, -2.0, 1.0), "sample_weight must not be negative, got -2 in row 4"),
        (np.zeros(300), "sample_weight must not be all zero"),
        (np.full(300, np.nan), "sample_weight must be finite"),
    ],
)
def test_weights_that_cannot_count_are_refused(method, weight, message):
    with pytest.raises(ValueError, match=message):
        make(method).fit(X, y, sample_weight=weight)


@pytest.mark.parametrize("method", AUC_METHODS)
@pytest.mark.parametrize("placement", ["optimal", "centered"])
def test_held_out_rows_of_one_class_are_refused_by_auc_methods(method, placement):
    negatives = np.flatnonzero(y == 0)
    cv = [(np.arange(150, 300), negatives[negatives < 150])]
    message = f"the held-out rows must hold both classes .* got 0 positives and {len(cv[0][1])} negatives; pass a cv"
    with pytest.raises(ValueError, match=message):
        make(method, cv=cv, placement=placement).fit(X, y)
    with pytest.raises(
        ValueError, match="the held-out rows must hold both classes with weight above 0, got 0 positives"
    ):
        make(method, FrozenEstimator(LogisticRegression().fit(X, y))).fit(X, y, sample_weight=(y == 0).astype(float))


def test_a_half_without_one_class_is_refused_by_the_published_method():
    one_positive = np.append(np.flatnonzero(y == 0), np.flatnonzero(y)[0])
    with pytest.raises(ValueError, match="the held-out rows of each random half must hold both classes"):
        make(AUCross, cv=[(np.arange(150, 300), one_positive)], placement="centered").fit(X, y)
    # The confidence method needs no labels to place its threshold.
    assert make(SCross, cv=[(np.arange(150, 300), one_positive)]).fit(X, y).band().upper > 0.5


# ---- the base model ----


@every_method
@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (LinearRegression(), "predict_proba or decision_function, got LinearRegression, which has neither"),
        (None, "predict_proba or decision_function, got NoneType, which has neither"),
        ("logistic", "'logistic'"),
    ],
)
def test_a_base_model_without_scores_is_refused(method, estimator, message):
    with pytest.raises(TypeError, match=f"estimator must .*{message}"):
        method(estimator, random_state=0).fit(X, y)


@every_method
def test_use_before_fit_is_refused(method):
    clf = make(method)
    questions = (clf.select, clf.predict, clf.predict_proba, clf.decision_function, clf.decide)
    for question in (*questions, clf.predict_selective, lambda X: select_each(clf, X, [0.9])):
        with pytest.raises(NotFittedError, match=f"This {method.__name__} instance is not fitted yet"):
            question(X)
    for question in (clf.band, lambda: clf.coverage_for(auc=0.8)):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            question()
    with pytest.raises(AttributeError, match="has no attribute 'n_features_in_' before fit"):
        _ = clf.n_features_in_


@every_method
@pytest.mark.parametrize("model", [Scripted, ScriptedDecisions])
@pytest.mark.parametrize("distort", [nan_for_the_eighth_row, infinite_for_the_eighth_row])
def test_scores_that_are_not_finite_name_the_training_row(method, model, distort):
    clf = make(method, model(distort), cv=[(np.arange(100, 300), np.arange(60)[::-1])])
    message = (
        "scores of the base model must be finite, got 1 NaN or infinite values among 60, the first for training row 7"
    )
    with pytest.raises(ValueError, match=message):
        clf.fit(X, y)


@every_method
@pytest.mark.parametrize("distort", [nan_for_the_eighth_row, infinite_for_the_eighth_row])
def test_scores_that_are_not_finite_are_never_selected_in_silence(method, distort):
    clf = make(method, Scripted(distort), cv=[(np.arange(100, 300), np.arange(20, 80))]).fit(X, y)
    assert clf.select(X[20:]).shape == (280,)
    for ask in (clf.select, clf.decide, clf.predict_selective, lambda X: select_each(clf, X, [0.9, 1.0])):
        with pytest.raises(ValueError, match=r"scores of the base model must be finite, got 1 .* the first in row 2;"):
            ask(X[5:20])


DISTORTED = {
    "fewer rows": (
        lambda scores: scores[:-1],
        r"predict_proba must return one entry for each row, got \d+ for \d+ rows",
    ),
    "more rows": (lambda scores: np.vstack((scores, scores)), "predict_proba must return one entry for each row, got "),
    "below 0": (
        lambda scores: scores - 0.3,
        r"predict_proba must return probabilities between 0 and 1, got -0\.\d+ to ",
    ),
    "percent": (lambda scores: 100 * scores, "predict_proba must return probabilities between 0 and 1, got "),
    "masked": (lambda scores: np.ma.masked_less(scores, 0.3), "the scores of the base model must be finite, got "),
}


@every_method
@pytest.mark.parametrize("distort", DISTORTED)
def test_scores_that_are_none_are_refused_in_fit_and_after_it(method, distort):
    change, message = DISTORTED[distort]
    with pytest.raises(ValueError, match=message):
        make(method, Scripted(lambda scores, _: change(scores))).fit(X, y)
    later = make(method, Scripted(lambda scores, rows: change(scores) if len(rows) == 17 else scores)).fit(X, y)
    for ask in (later.select, later.decide, later.scored, later.predict_proba):
        with pytest.raises(ValueError, match=message):
            ask(X[:17])


@pytest.mark.parametrize("distort", DISTORTED)
def test_answers_of_fold_models_are_refused_each(distort):
    change, message = DISTORTED[distort]
    model = Scripted(lambda scores, rows: change(scores) if len(rows) == 17 else scores)
    clf = AUCross(model, ensemble=True, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=message):
        clf.predict_proba(X[:17])


def test_labels_of_fewer_rows_are_refused_and_good_answers_are_handed_on():
    class Fewer(LogisticRegression):
        def predict(self, X):
            return super().predict(X)[: len(X) - (len(X) == 17)]

        def predict_proba(self, X):
            return super().predict_proba(X).astype(np.float32)

    clf = AUCross(Fewer(), random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r"Fewer\.predict must return one entry for each row, got 16 for 17 rows"):
        clf.predict(X[:17])
    assert clf.predict_proba(X[:17]).dtype == np.float32


@every_method
def test_scores_of_another_shape_are_refused(method):
    with pytest.raises(
        ValueError, match=r"predict_proba must return one column for each of the 2 classes, .* got shape \(\d+, 1\)"
    ):
        make(method, Scripted(lambda scores, X: scores[:, 1:])).fit(X, y)


@every_method
def test_a_frozen_model_with_other_labels_is_refused(method):
    model = LogisticRegression().fit(X, np.where(y, "good", "bad"))
    with pytest.raises(ValueError, match=r"trained on the classes \['bad', 'good'\], but y has \[0, 1\]"):
        make(method, FrozenEstimator(model)).fit(X, y)


@every_method
def test_a_frozen_model_that_was_never_fitted_is_refused(method):
    with pytest.raises(NotFittedError):
        make(method, FrozenEstimator(LogisticRegression())).fit(X, y)


def test_training_parts_of_one_class_are_refused():
    order = np.argsort(y, kind="stable")
    with pytest.raises(
        ValueError, match=r"every training part of cv must hold all classes, got one of 150 rows without \[1\]"
    ):
        make(AUCross, DecisionTreeClassifier(max_depth=2), cv=KFold(2)).fit(X[order], y[order])


@every_method
@pytest.mark.parametrize("placement", ["optimal", "centered"])
def test_constant_scores_warn_and_select_everything(method, placement):
    params = {"placement": placement} if method in AUC_METHODS else {}
    with pytest.warns(
        UserWarning, match="all held-out scores equal 1: .* every row is selected; check the base model"
    ) as seen:
        clf = make(method, DummyClassifier(strategy="constant", constant=1), **params).fit(X, y)
    assert seen[0].filename == __file__  # the warning points at the call, not into the library
    for coverage in (1.0, 0.9, 0.5, 0.01):
        assert clf.band(coverage).is_empty
        assert clf.select(X, coverage).all()


# ---- frames on which LightGBM would end the process ----


def polars_frames():
    """One unreadable column each, beside a readable one."""
    pl = pytest.importorskip("polars")
    text = pl.Series(np.where(X[:, 0] > 0, "high", "low"))
    columns = {
        "String": text,
        "Categorical": text.cast(pl.Categorical),
        "Enum": text.cast(pl.Enum(["high", "low"])),
        "Date": pl.Series(np.arange(len(y))).cast(pl.Date),
        "Int128": pl.Series(np.arange(len(y))).cast(pl.Int128),
    }
    return {name: pl.DataFrame({"income": X[:, 1], "kind": column}) for name, column in columns.items()}


def lightgbm_models():
    lightgbm = pytest.importorskip("lightgbm")
    model = lightgbm.LGBMClassifier(n_estimators=5, n_jobs=1, verbose=-1)

    class Subclass(lightgbm.LGBMClassifier):
        """Defined elsewhere than in LightGBM."""

    return {
        "LightGBM": model,
        "a subclass": Subclass(n_estimators=5, n_jobs=1, verbose=-1),
        "frozen": FrozenEstimator(model),
        "calibrated": CalibratedClassifierCV(model, cv=2),
        "grid search": GridSearchCV(model, {"n_estimators": [5]}, cv=2),
        "pipeline": make_pipeline(model),
        "pipeline with a step left out": make_pipeline("passthrough", model),
        "frozen search in a pipeline": make_pipeline(FrozenEstimator(GridSearchCV(model, {"n_estimators": [5]}))),
        "vote": VotingClassifier([("lightgbm", model)], voting="soft"),
        "another selective classifier": PlugIn(model),
    }


@pytest.fixture
def lightgbm_fails(monkeypatch):
    """From the call on, let LightGBM fail where it would abort, so that a hole in the guard is a red test."""

    def fail(*args, **kwargs):
        pytest.fail("LightGBM got the frame")

    def let_it_fail():
        lightgbm = pytest.importorskip("lightgbm")
        for method in ("fit", "predict", "predict_proba"):
            monkeypatch.setattr(lightgbm.LGBMClassifier, method, fail)

    return let_it_fail


REFUSED = r"X must hold only numeric and boolean polars columns .* for LightGBM, got \['kind'\], .*X\.to_pandas\(\)"


@every_method
@pytest.mark.parametrize("dtype", ["String", "Categorical", "Enum", "Date", "Int128"])
def test_polars_columns_that_lightgbm_cannot_read_are_refused_in_fit(method, dtype, lightgbm_fails):
    lightgbm_fails()
    with pytest.raises(TypeError, match=REFUSED):
        make(method, lightgbm_models()["LightGBM"]).fit(polars_frames()[dtype], y)


@pytest.mark.parametrize(
    "place",
    [
        "a subclass",
        "frozen",
        "calibrated",
        "grid search",
        "pipeline",
        "pipeline with a step left out",
        "frozen search in a pipeline",
        "vote",
        "another selective classifier",
    ],
)
def test_lightgbm_is_found_inside_other_estimators(place, lightgbm_fails):
    lightgbm_fails()
    with pytest.raises(TypeError, match=REFUSED):
        make(PlugInAUC, lightgbm_models()[place]).fit(polars_frames()["Categorical"], y)


@every_method
@pytest.mark.parametrize("place", ["LightGBM", "frozen", "calibrated", "grid search", "pipeline"])
@pytest.mark.few_scores
def test_polars_columns_that_lightgbm_cannot_read_are_refused_after_fit(method, place, lightgbm_fails):
    pl = pytest.importorskip("polars")
    readable = pl.DataFrame({"income": X[:, 1], "kind": X[:, 0] > 0})
    models = lightgbm_models()
    model = FrozenEstimator(models["LightGBM"].fit(readable, y)) if place == "frozen" else models[place]
    clf = make(method, model).fit(readable, y)
    assert clf.select(readable).shape == (len(y),)
    lightgbm_fails()
    unreadable = polars_frames()["Categorical"]
    questions = (clf.select, clf.predict, clf.predict_proba, clf.decide, clf.predict_selective)
    for question in (*questions, lambda X: select_each(clf, X, [0.9])):
        with pytest.raises(TypeError, match=REFUSED):
            question(unreadable)


def test_the_remedies_that_the_message_names_work():
    pl = pytest.importorskip("polars")
    frame, clf = polars_frames()["Categorical"], make(PlugIn, lightgbm_models()["LightGBM"])
    encoded = frame.with_columns(pl.col("kind").to_physical())
    for remedied in (frame.to_pandas(), encoded):
        assert clf.fit(remedied, y).select(remedied, 0.7).mean() == pytest.approx(0.7, abs=0.1)


def test_arrow_columns_that_lightgbm_cannot_read_are_refused(lightgbm_fails):
    lightgbm_fails()
    pa = pytest.importorskip("pyarrow")
    text = pa.array(np.where(X[:, 0] > 0, "high", "low").tolist())
    for column in (text, text.dictionary_encode()):
        table = pa.table({"income": X[:, 1], "kind": column})
        with pytest.raises(
            TypeError, match=r"numeric and boolean pyarrow columns .* got \['kind'\], .*dictionary_encode"
        ):
            make(PlugIn, lightgbm_models()["LightGBM"]).fit(table, y)


@pytest.mark.few_scores
def test_categories_not_seen_in_fit_are_scored_as_missing_ones_are():
    pd = pytest.importorskip("pandas")
    kinds = np.where(X[:, 0] > 0, "high", "low")
    frame = pd.DataFrame({"income": X[:, 1], "kind": pd.Categorical(kinds)})
    clf = make(AUCross, HistGradientBoostingClassifier(categorical_features="from_dtype", max_iter=10)).fit(frame, y)
    later = frame.assign(kind=pd.Categorical(np.where(np.arange(len(y)) % 2, "new", kinds)))
    missing = frame.assign(kind=pd.Categorical(np.where(np.arange(len(y)) % 2, None, kinds)))
    assert np.array_equal(clf.select(later), clf.select(missing))
    assert np.array_equal(clf.decide(later).selection_score, clf.decide(missing).selection_score)


# ---- rows that belong together ----


@pytest.mark.parametrize("name", ["y", "sample_weight", "groups", "band_groups", "coverage_weight"])
def test_pandas_columns_in_another_order_than_the_rows_are_warned_of(name):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X)
    columns = {"y": pd.Series(y), name: pd.Series(y if name == "y" else np.arange(len(y)) % 100 + 1)}
    if name == "band_groups":
        columns[name] = pd.Series(np.arange(len(y)) % 2)
    AUCross(LogisticRegression(), random_state=0).fit(frame, **columns)  # no warning
    shuffled = columns | {name: columns[name].sample(frac=1, random_state=0)}
    with pytest.warns(
        UserWarning, match=rf"^{name} must hold the rows of X in their order, .*; pass {name}.loc\[X.index\]"
    ):
        AUCross(LogisticRegression(), random_state=0).fit(frame, **shuffled)


def test_an_index_with_other_or_repeated_labels_says_nothing_about_the_order():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X)
    for index in (np.arange(len(y)) + 1000, np.zeros(len(y), dtype=int)):
        AUCross(LogisticRegression(), random_state=0).fit(frame, pd.Series(y, index=index))


@pytest.mark.parametrize("library", ["pandas", "pyarrow"])
def test_columns_of_one_name_are_refused_with_the_remedy(library):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X[:, :3], columns=["age", "income", "age"])
    if library == "pyarrow":
        pa = pytest.importorskip("pyarrow")
        frame = pa.table([pa.array(column) for column in X[:, :3].T], names=["age", "income", "age"])
    with pytest.raises(ValueError, match=r"^X must have columns of different names, got \['age'\] more than once; "):
        AUCross(LogisticRegression()).fit(frame, y)
    if library == "pandas":
        different = frame.loc[:, ~frame.columns.duplicated()]
        clf = AUCross(LogisticRegression(), random_state=0).fit(different, y)
        with pytest.raises(ValueError, match=r"more than once; pass X\.loc"):
            clf.select(frame)


# ---- no rows ----


@pytest.mark.parametrize("kind", ["two classes", "three classes", "gate", "column", "ties", "judges", "own labels"])
@pytest.mark.few_scores
def test_no_rows_give_no_decisions(kind):
    rows, labels = X, y
    boosting = HistGradientBoostingClassifier(max_iter=5, random_state=0)
    clf = AUCross(boosting, random_state=0)
    if kind == "three classes":
        labels = y + (X[:, 1] > 1)
    elif kind == "gate":
        clf = AUCGate(ScoreColumn(1, threshold=0), random_state=0)
    elif kind == "column":
        clf = AUCross(ScoreColumn(1, threshold=0), random_state=0)
    elif kind == "ties":
        clf.set_params(ties="split")
    elif kind == "judges":
        clf.set_params(ensemble="judge")
    elif kind == "own labels":
        clf.set_params(estimator=FixedThresholdClassifier(boosting, threshold=0.2))
    clf.fit(rows, labels)
    none = rows[:0]
    assert len(clf.scored(none)) == len(clf.review_queue(none, 5)) == 0
    assert clf.select(none).shape == clf.decide(none, 0.5).selected.shape == clf.predict_selective(none).shape == (0,)
    assert clf.decide(none, capacity=3).selected.shape == clf.decide(none).selection_score.shape == (0,)
    assert select_each(clf, none, [0.5, 0.9]).shape == (2, 0)
    assert clf.predict_selective(none).dtype == clf.predict_selective(rows).dtype
