"""A second model decides when to reject: what the gate sees, when it helps, and that a useless one costs nothing."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV, RepeatedStratifiedKFold, StratifiedKFold, TimeSeriesSplit
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from aucross import AUCGate, AUCross, ScoreColumn, evaluate_selective
from aucross.core import RankedScores, oracle_band
from aucross.core.influence import InfluenceBands
from aucross.core.scored_rows import RuleInput
from aucross.estimators.gate import default_gate, weight_name
from aucross.estimators.strange_values import StrangeValuesWarning
from tests.reference import select_each

COVERAGES = (0.95, 0.9, 0.8, 0.75, 0.5)


def boosting(**params):
    # Few bins: with weights, finding 255 of them takes seconds.
    params = {"max_iter": 15, "max_bins": 32, "random_state": 0} | params
    return HistGradientBoostingClassifier(**params)


class Noise(ClassifierMixin, BaseEstimator):
    """Knows nothing: a probability from the digits of the row."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        chance = np.abs(np.asarray(X).sum(axis=1) * 1e6) % 1
        return np.column_stack((1 - chance, chance))


def interacting(n_rows, seed):
    """Rows whose label depends on a product that no linear score sees."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 3))
    chance = 1 / (1 + np.exp(1.5 - X[:, 0] - 2 * X[:, 1] * X[:, 2]))
    return X, (rng.random(n_rows) < chance).astype(int)


X, y = interacting(2500, seed=0)
X_new, y_new = interacting(5000, seed=1)
WEIGHT = np.random.default_rng(2).gamma(2.0, size=len(y))


def auc_of(labels, score, selected) -> float:
    return RankedScores.from_labels(labels[selected], score[selected]).auc()


def gate_is_used(clf) -> bool:
    return clf.probability_model_.columns == (0, 1)


@pytest.fixture(scope="module")
def gated():
    return AUCGate(LogisticRegression(), boosting(), random_state=0).fit(X, y)


# ---- what a gate brings ----


def test_a_gate_that_knows_more_beats_the_best_band_of_the_score(gated):
    score = gated.predict_proba(X_new)[:, 1]
    plain = AUCross(LogisticRegression(), random_state=0).fit(X, y)
    assert gate_is_used(gated)
    ranked = RankedScores.from_labels(y_new, score)
    for coverage in COVERAGES:
        selected = gated.select(X_new, coverage)
        assert selected.mean() == pytest.approx(coverage, abs=0.04)
        # The Oracle gets the labels of these rows and the coverage that the gate reached.
        oracle = ranked.auc(oracle_band(y_new, score, min(coverage, selected.mean())))
        assert auc_of(y_new, score, selected) > oracle + 0.01
        assert auc_of(y_new, score, plain.select(X_new, coverage)) <= oracle + 0.01


def test_the_classifier_answers_and_the_gate_never_does(gated):
    alone = LogisticRegression().fit(X, y)
    assert np.array_equal(gated.predict_proba(X_new), alone.predict_proba(X_new))
    assert np.array_equal(gated.predict(X_new), alone.predict(X_new))
    marked = gated.predict_selective(X_new, 0.8)
    assert np.array_equal(marked, np.where(gated.select(X_new, 0.8), alone.predict(X_new), -1))


def test_the_gate_is_trained_on_all_rows_like_the_classifier(gated):
    assert np.array_equal(gated.gate_.predict_proba(X_new), boosting().fit(X, y).predict_proba(X_new))


def test_rows_are_rejected_where_the_two_models_disagree(gated):
    score, of_gate = (model.predict_proba(X_new)[:, 1] for model in (gated.estimator_, gated.gate_))
    ranks, gate_ranks = (values.argsort().argsort() / len(values) for values in (score, of_gate))
    selected = gated.select(X_new, 0.75)
    assert np.abs(ranks - gate_ranks)[~selected].mean() > 1.5 * np.abs(ranks - gate_ranks)[selected].mean()


def test_a_gate_may_see_columns_that_the_classifier_does_not():
    only_first = make_column_transformer(("passthrough", [0]))
    rng = np.random.default_rng(0)
    hidden = np.column_stack((X[:, 0], rng.normal(size=len(y)), y + rng.normal(size=len(y))))
    clf = AUCGate(make_pipeline(only_first, LogisticRegression()), LogisticRegression(), random_state=0).fit(hidden, y)
    assert gate_is_used(clf)
    assert clf.estimator_[-1].coef_.shape == (1, 1)
    assert clf.gate_.coef_.shape == (1, 3)


# ---- a gate that cannot help costs nothing ----


USELESS = {
    "the classifier itself": LogisticRegression(),
    "another linear model": LinearSVC(random_state=0),
    "a depth-2 tree": DecisionTreeClassifier(max_depth=2),
    "noise": Noise(),
    "a constant": DecisionTreeClassifier(max_depth=1, min_samples_leaf=0.5),
}


@pytest.mark.parametrize("n_rows", [400, 2500])
@pytest.mark.parametrize("name", USELESS)
def test_a_gate_that_knows_no_more_leaves_the_bands_of_aucross(name, n_rows):
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(n_rows, 3))
    labels = rng.random(n_rows) < 1 / (1 + np.exp(1 - rows[:, 0] - rows[:, 1]))
    plain = AUCross(LogisticRegression(), random_state=3).fit(rows, labels)
    clf = AUCGate(LogisticRegression(), USELESS[name], random_state=3).fit(rows, labels)
    assert not gate_is_used(clf)
    assert np.array_equal(select_each(clf, X_new, COVERAGES), select_each(plain, X_new, COVERAGES))
    # The selection score is the distance to the band of the score, and the band is where it is not above 0.
    band, score = plain.band(0.8), plain.predict_proba(X_new)[:, 1]
    assert np.array_equal(clf.decide(X_new, 0.8).selection_score, np.maximum(band.lower - score, score - band.upper))
    assert (clf.band(0.8).lower, clf.band(0.8).upper) == (-np.inf, 0.0)


def test_a_stronger_classifier_with_a_weaker_gate_is_as_good_as_alone():
    plain = AUCross(boosting(), random_state=0).fit(X, y)
    clf = AUCGate(boosting(), LogisticRegression(), random_state=0).fit(X, y)
    score = plain.predict_proba(X_new)[:, 1]
    for coverage in COVERAGES:
        aucs = [auc_of(y_new, score, rule.select(X_new, coverage)) for rule in (clf, plain)]
        assert aucs[0] == pytest.approx(aucs[1], abs=1e-3)


# ---- the parameters ----


def test_without_a_gate_gradient_boosting_is_used_with_a_seed_of_its_own():
    first, second, other = (
        AUCGate(LogisticRegression(), cv=2, random_state=s).fit(X[:500], y[:500]) for s in (0, 0, 1)
    )
    assert isinstance(first.gate_, HistGradientBoostingClassifier)
    assert first.gate is None
    assert isinstance(first.gate_.random_state, int)
    assert first.gate_.random_state == second.gate_.random_state != other.gate_.random_state
    assert np.array_equal(select_each(first, X_new, COVERAGES), select_each(second, X_new, COVERAGES))


def test_a_random_state_instance_goes_on():
    clf = AUCGate(LogisticRegression(), boosting(), random_state=np.random.RandomState(0))
    first, second = (clf.fit(X[:500], y[:500]).held_out_.rows for _ in range(2))
    assert not np.array_equal(first, second)


def test_models_given_stay_unfitted():
    model, gate = LogisticRegression(), boosting()
    clf = AUCGate(model, gate, random_state=0).fit(X[:500], y[:500])
    assert clf.estimator is model
    assert clf.gate is gate
    assert not hasattr(model, "classes_")
    assert not hasattr(gate, "classes_")


@pytest.mark.parametrize(
    "cv", [4, StratifiedKFold(3), RepeatedStratifiedKFold(n_splits=2, n_repeats=2, random_state=0)]
)
def test_both_models_are_cross_fitted_on_the_same_folds(cv):
    clf = AUCGate(LogisticRegression(), boosting(), cv=cv, random_state=7).fit(X[:500], y[:500])
    plain = AUCross(LogisticRegression(), cv=cv, random_state=7).fit(X[:500], y[:500])
    assert np.array_equal(clf.held_out_.rows, clf.held_out_.rows)
    # They are the folds of AUCross with the same seed.
    assert np.array_equal(plain.held_out_.rows, clf.held_out_.rows)
    assert np.array_equal(plain.held_out_.scores, clf.held_out_.scores)
    gate_as_classifier = AUCross(boosting(), cv=cv, random_state=7).fit(X[:500], y[:500])
    assert np.array_equal(gate_as_classifier.held_out_.scores, clf.held_out_.second)


def test_splits_may_be_given_as_an_iterator_that_can_be_used_once():
    splits = StratifiedKFold(3).split(X[:500], y[:500])
    clf = AUCGate(LogisticRegression(), boosting(), cv=splits).fit(X[:500], y[:500])
    assert np.array_equal(np.sort(clf.held_out_.rows), np.arange(500))


def test_rows_that_no_fold_scores_place_no_band():
    with pytest.warns(UserWarning, match="cv trains models on 100 to 400 of 500 rows"):
        clf = AUCGate(LogisticRegression(), boosting(), cv=TimeSeriesSplit(4)).fit(X[:500], y[:500])
    assert np.array_equal(np.sort(clf.held_out_.rows), np.arange(100, 500))
    assert len(clf.band_rule_.objective.columns) == 400


def test_groups_stay_together_for_both_models():
    groups = np.arange(500) // 5
    clf = AUCGate(LogisticRegression(), boosting(), random_state=0).fit(X[:500], y[:500], groups=groups)
    plain = AUCross(LogisticRegression(), random_state=0).fit(X[:500], y[:500], groups=groups)
    assert np.array_equal(clf.held_out_.rows, plain.held_out_.rows)


def test_repeated_splits_count_each_row_once():
    # Ten scores of a row are not ten rows: noise must not pass for knowledge because it was drawn ten times.
    cv = RepeatedStratifiedKFold(n_splits=3, n_repeats=10, random_state=0)
    clf = AUCGate(LogisticRegression(), Noise(), cv=cv, random_state=0).fit(X[:500], y[:500])
    assert len(clf.held_out_.rows) == 5000
    assert not gate_is_used(clf)


# ---- where scores come from ----


@pytest.mark.parametrize(
    ("estimator", "gate"),
    [
        (LinearSVC(random_state=0), boosting()),
        (LogisticRegression(), SVC(gamma=0.5)),
        (RidgeClassifier(), SVC(gamma=0.5)),
        (LogisticRegression(), KNeighborsClassifier(25)),
    ],
    ids=["classifier by decision values", "gate by decision values", "both by decision values", "neighbours"],
)
def test_models_with_probabilities_or_decision_values(estimator, gate):
    clf = AUCGate(estimator, gate, random_state=0).fit(X[:1500], y[:1500])
    assert gate_is_used(clf)
    score = clf.estimator_.decision_function(X_new)
    everyone = RankedScores.from_labels(y_new, score).auc()
    for coverage in (0.9, 0.75):
        assert np.isfinite(clf.decide(X_new, coverage).selection_score).all()
        assert auc_of(y_new, score, clf.select(X_new, coverage)) > everyone + 0.02
    probability = clf.probability_model_.predict(np.column_stack((score, score)))
    assert ((probability >= 0) & (probability <= 1)).all()


class OnlyLabels(ClassifierMixin, BaseEstimator):
    """Has neither probabilities nor decision values."""

    def fit(self, X, y):
        raise AssertionError("must be refused before anything is trained")


class MustNotBeTrained(LogisticRegression):
    def fit(self, X, y, sample_weight=None):
        raise AssertionError("the gate should have been refused before")


def test_a_gate_without_scores_is_refused_before_anything_is_trained():
    message = (
        "gate must have predict_proba or decision_function, got OnlyLabels, which has neither: without scores there is "
        "nothing to rank; choose another model or wrap it in CalibratedClassifierCV"
    )
    with pytest.raises(TypeError, match="gate must have") as raised:
        AUCGate(MustNotBeTrained(), OnlyLabels()).fit(X, y)
    assert str(raised.value) == message


def test_a_classifier_without_scores_is_refused_as_everywhere():
    with pytest.raises(TypeError, match="estimator must have predict_proba or decision_function"):
        AUCGate(OnlyLabels(), boosting()).fit(X, y)


def test_a_gate_with_scores_that_are_not_finite_is_refused():
    class Broken(Noise):
        def predict_proba(self, X):
            return np.full((len(X), 2), np.nan)

    with pytest.raises(ValueError, match="finite"):
        AUCGate(LogisticRegression(), Broken()).fit(X[:300], y[:300])


# ---- frozen models ----


class Refusing(LogisticRegression):
    """A trained scorecard that may not be trained again."""

    def fit(self, X, y, sample_weight=None):
        if hasattr(self, "coef_"):
            raise AssertionError("the scorecard was trained again")
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_a_frozen_scorecard_is_used_as_it_is(weight):
    scorecard = Refusing(C=0.01).fit(*interacting(1000, seed=9))
    coefficients = scorecard.coef_.copy()
    clf = AUCGate(FrozenEstimator(scorecard), boosting(), random_state=0).fit(X, y, sample_weight=weight)
    assert clf.estimator_.estimator is scorecard
    assert np.array_equal(scorecard.coef_, coefficients)
    assert np.array_equal(clf.predict_proba(X_new), scorecard.predict_proba(X_new))
    assert np.array_equal(clf.held_out_.scores, scorecard.predict_proba(X)[clf.held_out_.rows, 1])
    score = scorecard.predict_proba(X_new)[:, 1]
    oracle = RankedScores.from_labels(y_new, score).auc(oracle_band(y_new, score, 0.75))
    assert auc_of(y_new, score, clf.select(X_new, 0.75)) > oracle + 0.01


def test_a_frozen_gate_is_used_as_it_is():
    gate = boosting().fit(*interacting(2000, seed=9))
    clf = AUCGate(LogisticRegression(), FrozenEstimator(gate), random_state=0).fit(X, y, sample_weight=WEIGHT)
    assert clf.gate_.estimator is gate
    assert np.array_equal(clf.held_out_.second, gate.predict_proba(X)[clf.held_out_.rows, 1])
    assert gate_is_used(clf)


def test_both_models_may_be_frozen_and_then_the_coverage_holds_on_the_rows_given():
    elsewhere = interacting(2000, seed=9)
    models = [FrozenEstimator(model.fit(*elsewhere)) for model in (LogisticRegression(), boosting())]
    clf = AUCGate(*models, random_state=0).fit(X, y)
    for coverage in COVERAGES:
        assert coverage - 1e-9 <= clf.select(X, coverage).mean() <= coverage + 0.01


def test_a_frozen_gate_that_knows_other_labels_is_refused():
    gate = FrozenEstimator(boosting().fit(X, np.where(y, "bad", "good")))
    with pytest.raises(ValueError, match=r"trained on the classes \['bad', 'good'\]"):
        AUCGate(LogisticRegression(), gate).fit(X, y)


# ---- labels ----


@pytest.mark.parametrize("labels", [("bad", "good"), (False, True)])
def test_labels_of_any_kind_give_the_same_selection(labels, gated):
    named = np.array(labels)[y]
    clf = AUCGate(LogisticRegression(), boosting(), random_state=0).fit(X, named)
    assert clf.classes_.tolist() == list(labels)
    assert set(clf.predict(X_new)) <= set(labels)
    assert np.array_equal(select_each(clf, X_new, COVERAGES), select_each(gated, X_new, COVERAGES))


def test_string_labels_are_marked():
    clf = AUCGate(LogisticRegression(), boosting(), cv=2, random_state=0).fit(X, np.array(["no", "yes"])[y])
    assert set(clf.predict_selective(X_new, 0.7)) == {"no", "yes", "reject"}


def test_held_out_rows_of_one_class_are_refused():
    negatives = np.flatnonzero(y == 0)[:200]
    cv = [(np.arange(1000, 2500), negatives)]
    with pytest.raises(ValueError, match=r"held-out rows must hold both classes .* 0 positives and 200 negatives"):
        AUCGate(LogisticRegression(), boosting(), cv=cv).fit(X, y)
    frozen = FrozenEstimator(LogisticRegression().fit(X, y))
    with pytest.raises(ValueError, match=r"the held-out rows must hold both classes .* got 0 positives"):
        AUCGate(frozen, frozen).fit(X, y, sample_weight=(y == 0).astype(float))


# ---- frames ----


def pandas_frame():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X[:1200].copy(), columns=["income", "debt", "age"])  # blanks are written into it
    frame["home"] = pd.Categorical(np.array(["rent", "own", "other"])[np.digitize(X[:1200, 1], [-0.5, 0.8])])
    frame.loc[np.random.default_rng(0).random(1200) < 0.1, ["debt", "home"]] = None
    return frame


def scorecard():
    prepare = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_include="category")),
        (make_pipeline(SimpleImputer(), StandardScaler()), make_column_selector(dtype_include="number")),
    )
    return make_pipeline(prepare, LogisticRegression())


def test_a_frame_with_categories_reaches_a_scorecard_pipeline_and_the_gate():
    frame = pandas_frame()
    labels = y[:1200]
    clf = AUCGate(scorecard(), boosting(categorical_features="from_dtype"), random_state=0).fit(frame, labels)
    assert clf.gate_.is_categorical_.tolist() == [False, False, False, True]
    assert clf.gate_.feature_names_in_.tolist() == clf.feature_names_in_.tolist() == list(frame.columns)
    alone = scorecard().fit(frame, labels)
    assert np.array_equal(clf.predict_proba(frame), alone.predict_proba(frame))
    for coverage in COVERAGES:
        assert clf.select(frame, coverage).mean() == pytest.approx(coverage, abs=0.05)


def test_columns_that_would_end_the_process_are_refused_for_the_gate_too():
    pl, lightgbm = pytest.importorskip("polars"), pytest.importorskip("lightgbm")
    frame = pl.DataFrame({"a": X[:200, 0], "b": ["x", "y"] * 100})
    first_only = make_pipeline(make_column_transformer(("passthrough", ["a"])), LogisticRegression())
    gate = lightgbm.LGBMClassifier(n_estimators=5, n_jobs=1, verbose=-1)
    with pytest.raises(TypeError, match=r"only numeric and boolean polars columns .* \['b'\]"):
        AUCGate(first_only, gate).fit(frame, y[:200])
    # New rows are looked at as well.
    numbers = frame.with_columns(pl.col("a").alias("b"))
    clf = AUCGate(first_only, gate, random_state=0).fit(numbers, y[:200])
    assert clf.select(numbers).any()
    with pytest.raises(TypeError, match=r"only numeric and boolean polars columns .* \['b'\]"):
        clf.select(frame)


def test_tags_say_what_suits_both_models():
    def input_tags(estimator, gate):
        return AUCGate(estimator, gate).__sklearn_tags__().input_tags

    assert input_tags(LogisticRegression(), SVC()).sparse
    assert not input_tags(LogisticRegression(), boosting()).sparse
    assert not input_tags(boosting(), LogisticRegression()).allow_nan
    assert input_tags(boosting(), None).allow_nan
    assert input_tags(LogisticRegression(), None).sparse  # the default gate takes what the classifier takes
    assert LogisticRegression().__sklearn_tags__().input_tags.sparse


def test_the_default_gate_takes_words_beside_numbers():
    frame = pd.DataFrame({"a": X[:600, 0], "word": np.where(X[:600, 1] > 0, "yes", "no"), "kind": X[:600, 2] > 0})
    frame["category"] = pd.Categorical(np.where(X[:600, 2] > 0, "u", "v"))
    frame.loc[3, "word"] = None
    scorecard = make_pipeline(make_column_transformer(("passthrough", ["a"])), LogisticRegression())
    clf = AUCGate(scorecard, cv=2, random_state=0).fit(frame, y[:600])
    with pytest.warns(StrangeValuesWarning, match="such as 'unseen', are unknown"):
        assert clf.select(frame.assign(word="unseen"), 0.8).any()


@pytest.mark.usefixtures("small_default_gate")
@pytest.mark.parametrize("kind", ["string", "category", "objects", "array"])
def test_the_default_gate_reads_the_na_of_pandas_as_a_missing_value(kind):
    word = np.where(X[:600, 1] > 0, "yes", "no").astype(object)
    missing = np.arange(600) % 7 == 0

    def rows(mark, number):
        words = pd.Series(np.where(missing, mark, word), dtype=object)
        if mark is pd.NA and kind in ("string", "category"):
            words = words.astype("string")
        frame = pd.DataFrame({"a": X[:600, 0], "word": words.astype("category") if kind == "category" else words})
        frame["number"] = pd.Series(np.arange(600) % 5, dtype=number)
        frame.loc[3, "number"] = pd.NA if number == "Int64" else np.nan
        return frame.drop(columns="number").to_numpy(dtype=object) if kind == "array" else frame

    score = ScoreColumn(0 if kind == "array" else "a", threshold=0)
    clf = AUCGate(score, cv=2, random_state=0).fit(rows(pd.NA, "Int64"), y[:600])
    plain = AUCGate(score, cv=2, random_state=0).fit(rows(np.nan, "float64"), y[:600])
    assert np.array_equal(clf.held_out_.second, plain.held_out_.second)
    assert np.array_equal(clf.select(rows(pd.NA, "Int64"), 0.8), plain.select(rows(np.nan, "float64"), 0.8))


@pytest.mark.usefixtures("small_default_gate")
@pytest.mark.parametrize("kind", ["sparse", "texts", "objects"])
@pytest.mark.few_scores
def test_the_default_gate_takes_what_the_classifier_takes(kind):
    model = LogisticRegression()
    if kind == "sparse":
        rows = csr_matrix(np.where(X[:400] > 0.5, X[:400], 0))
    elif kind == "texts":
        rows = [f"{'good' if row[0] > 0 else 'bad'} {'old' if row[1] > 0 else 'new'}" for row in X[:400]]
        model = make_pipeline(CountVectorizer(), model)
    else:
        rows = np.column_stack((X[:400, 0].astype(object), np.where(X[:400, 1] > 0, "yes", "no")))
        model = make_pipeline(make_column_transformer(("passthrough", [0])), model)
    clf = AUCGate(model, cv=2, random_state=0).fit(rows, y[:400])
    assert clf.select(rows, 0.6).any()


def test_a_default_gate_that_reads_words_is_trained_with_weights():
    rows = np.column_stack((X[:300, 0].astype(object), np.where(X[:300, 1] > 0, "yes", "no")))
    gate = default_gate(rows, 0)
    assert weight_name(gate) == "histgradientboostingclassifier__sample_weight"
    clf = AUCGate(ScoreColumn(0, threshold=0), random_state=0).fit(rows, y[:300], sample_weight=WEIGHT[:300])
    weighted = clone(clf.gate_).fit(rows, y[:300], **{weight_name(gate): WEIGHT[:300]})
    assert np.array_equal(clf.gate_.predict_proba(rows), weighted.predict_proba(rows))


def test_where_the_gate_cannot_be_trained_the_error_says_that_it_is_the_gate():
    frame = pd.DataFrame({"a": X[:200, 0], "word": np.where(X[:200, 1] > 0, "yes", "no")})
    scorecard = make_pipeline(make_column_transformer(("passthrough", ["a"])), LogisticRegression())
    with pytest.raises(ValueError, match=r"^the gate HistGradientBoostingClassifier must get .* pass a gate"):
        AUCGate(scorecard, boosting()).fit(frame, y[:200])


# ---- weights ----


def test_weights_reach_both_models_and_the_probabilities():
    clf = AUCGate(LogisticRegression(), boosting(), random_state=0).fit(X, y, sample_weight=WEIGHT)
    assert np.array_equal(clf.estimator_.coef_, LogisticRegression().fit(X, y, WEIGHT).coef_)
    assert np.array_equal(clf.gate_.predict_proba(X_new), boosting().fit(X, y, WEIGHT).predict_proba(X_new))
    assert np.array_equal(clf.held_out_.sample_weight, WEIGHT[clf.held_out_.rows])
    assert np.array_equal(clf.held_out_.sample_weight, WEIGHT[clf.held_out_.rows])


def test_coverage_is_a_share_of_weight():
    elsewhere = interacting(1000, seed=9)
    models = [FrozenEstimator(model.fit(*elsewhere)) for model in (LogisticRegression(), boosting())]
    clf = AUCGate(*models, random_state=0).fit(X, y, sample_weight=WEIGHT)
    for coverage in COVERAGES:
        achieved = np.average(clf.select(X, coverage), weights=WEIGHT)
        assert coverage - 1e-9 <= achieved <= coverage + 0.01


@pytest.mark.parametrize(
    "gate",
    [KNeighborsClassifier(25), make_pipeline(StandardScaler(), SVC(gamma=0.5))],
    ids=["no weights", "a pipeline that cannot pass them on"],
)
def test_a_gate_that_takes_no_weights_is_trained_without_them(gate):
    clf = AUCGate(LogisticRegression(), gate, random_state=0).fit(X[:1000], y[:1000], sample_weight=WEIGHT[:1000])
    unweighted = AUCGate(LogisticRegression(), gate, random_state=0).fit(X[:1000], y[:1000])
    assert np.array_equal(clf.held_out_.second, unweighted.held_out_.second)
    assert np.array_equal(clf.held_out_.sample_weight, WEIGHT[clf.held_out_.rows])
    assert not np.array_equal(clf.estimator_.coef_, unweighted.estimator_.coef_)


def test_a_classifier_that_takes_no_weights_is_named():
    with pytest.raises(ValueError, match="sample_weight cannot reach the base model: KNeighborsClassifier"):
        AUCGate(KNeighborsClassifier(), boosting()).fit(X, y, sample_weight=WEIGHT)


@pytest.mark.parametrize("unit", [2.0**-20, 1024.0])
def test_the_unit_of_weights_does_not_matter(unit):
    elsewhere = interacting(1000, seed=9)
    models = [FrozenEstimator(model.fit(*elsewhere)) for model in (LogisticRegression(), boosting())]
    first, second = (
        select_each(AUCGate(*models, random_state=0).fit(X, y, sample_weight=WEIGHT * scale), X_new, COVERAGES)
        for scale in (1.0, unit)
    )
    assert (first == second).mean() > 0.9999


def test_rows_of_weight_zero_place_nothing():
    elsewhere = interacting(1000, seed=9)
    models = [FrozenEstimator(model.fit(*elsewhere)) for model in (LogisticRegression(), boosting())]
    counted = np.arange(len(y)) % 4 > 0
    splits = [(np.arange(2), np.arange(len(y)))]
    weighted = AUCGate(*models, cv=splits).fit(X, y, sample_weight=counted.astype(float))
    splits = [(np.arange(2), np.arange(counted.sum()))]
    left_out = AUCGate(*models, cv=splits).fit(X[counted], y[counted])
    selections = [select_each(clf, X_new, COVERAGES) for clf in (weighted, left_out)]
    assert (selections[0] == selections[1]).mean() > 0.9999


def test_other_fit_arguments_are_for_the_classifier():
    class Asking(LogisticRegression):
        def fit(self, X, y, sample_weight=None, source=None):
            self.source_ = source
            return super().fit(X, y, sample_weight)

    clf = AUCGate(Asking(), boosting(), random_state=0).fit(X[:300], y[:300], source="bureau")
    assert clf.estimator_.source_ == "bureau"


# ---- metadata routing ----


class Hearing(LogisticRegression):
    """Says what it was given."""

    def fit(self, X, y, sample_weight=None, source=None):
        self.heard_ = (sample_weight is not None, source)
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize("to_classifier", [True, False])
@pytest.mark.parametrize("to_gate", [True, False])
def test_routed_weights_reach_the_model_that_requests_them(to_classifier, to_gate):
    with config_context(enable_metadata_routing=True):
        model, gate = (Hearing().set_fit_request(sample_weight=wanted) for wanted in (to_classifier, to_gate))
        clf = AUCGate(model, gate, random_state=0).fit(X[:500], y[:500], sample_weight=WEIGHT[:500])
    assert clf.estimator_.heard_ == (to_classifier, None)
    assert clf.gate_.heard_ == (to_gate, None)
    assert np.array_equal(clf.held_out_.sample_weight, WEIGHT[clf.held_out_.rows])


@pytest.mark.parametrize("weight", [None, WEIGHT[:500]])
def test_routed_arguments_other_than_weights_reach_the_gate_that_requests_them(weight):
    with config_context(enable_metadata_routing=True):
        model = Hearing().set_fit_request(sample_weight=True, source=False)
        gate = Hearing().set_fit_request(sample_weight=False, source=True)
        clf = AUCGate(model, gate, random_state=0).fit(X[:500], y[:500], sample_weight=weight, source="bureau")
    assert clf.estimator_.heard_ == (weight is not None, None)
    assert clf.gate_.heard_ == (False, "bureau")


@pytest.mark.parametrize("silent", ["estimator", "gate"])
def test_with_routing_a_model_that_says_nothing_about_weights_is_refused(silent):
    with config_context(enable_metadata_routing=True):
        models = {"estimator": LogisticRegression(), "gate": SVC()}
        models = {
            name: model if name == silent else model.set_fit_request(sample_weight=True)
            for name, model in models.items()
        }
        with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
            AUCGate(**models).fit(X, y, sample_weight=WEIGHT)


def test_with_routing_the_default_gate_gets_the_weights():
    with config_context(enable_metadata_routing=True):
        model = LogisticRegression().set_fit_request(sample_weight=True)
        clf = AUCGate(model, random_state=0).fit(X[:200], y[:200], sample_weight=WEIGHT[:200])
    gate = clone(clf.gate_).fit(X[:200], y[:200], WEIGHT[:200])
    assert np.array_equal(clf.gate_.predict_proba(X_new), gate.predict_proba(X_new))


def test_with_routing_weights_pass_through_a_pipeline_around_and_inside():
    def unweighted_scaler():
        return StandardScaler().set_fit_request(sample_weight=False)

    with config_context(enable_metadata_routing=True):
        inside = make_pipeline(unweighted_scaler(), SVC(gamma=0.5).set_fit_request(sample_weight=True))
        clf = AUCGate(LogisticRegression().set_fit_request(sample_weight=True), inside, random_state=0)
        around = make_pipeline(unweighted_scaler(), clf.set_fit_request(sample_weight=True))
        around.fit(X[:500], y[:500], sample_weight=WEIGHT[:500])
        direct = clone(clf).fit(StandardScaler().fit_transform(X[:500]), y[:500], sample_weight=WEIGHT[:500])
    scaled = around[0].transform(X_new)
    assert np.array_equal(select_each(around[-1], scaled, COVERAGES), select_each(direct, scaled, COVERAGES))


# ---- with the rest of the library and of scikit-learn ----


def test_coverage_for_an_auc_that_only_the_gate_reaches(gated):
    plain = AUCross(LogisticRegression(), random_state=0).fit(X, y)
    target = gated.held_out_.ranked().auc() + 0.06
    found = gated.coverage_for(auc=target)
    assert found.value > plain.coverage_for(auc=target).value + 0.05
    assert 0 < found.low <= found.value <= found.high < 1
    # At that coverage the held-out rows that the rule selects have the AUC asked for.
    rule, objective = gated.band_rule_, gated.band_rule_.objective
    scores = rule.selection_score(RuleInput(objective.columns, objective.probabilities), found.value)
    assert gated.held_out_.ranked(rule.band(found.value).selects(scores)).auc() >= target - 1e-9


def test_coverage_for_one_where_all_rows_reach_the_target(gated):
    assert gated.coverage_for(auc=0.5).value == 1.0


def test_evaluate_selective(gated):
    result = evaluate_selective(gated, X_new, y_new, coverages=[1.0, 0.9, 0.75], random_state=0, n_bootstrap=20)
    table = result.to_frame()
    score = gated.predict_proba(X_new)[:, 1]
    for row, coverage in zip(table.itertuples(), [1.0, 0.9, 0.75], strict=True):
        selected = gated.select(X_new, coverage)
        assert row.achieved_coverage == pytest.approx(selected.mean())
        # The AUC reported is that of the classifier, not of the gate.
        assert row.selective_auc == pytest.approx(auc_of(y_new, score, selected))


def test_bands_per_group():
    group = np.where(X[:, 0] > 0, "new", "known")
    clf = AUCGate(LogisticRegression(), boosting(), random_state=0).fit(X, y, band_groups=group)
    group_new = np.where(X_new[:, 0] > 0, "new", "known")
    selected = clf.select(X_new, 0.8, band_groups=group_new)
    for name in ("new", "known"):
        assert selected[group_new == name].mean() == pytest.approx(0.8, abs=0.04)
    one_class = np.where(np.arange(len(y)) == np.argmax(y), "alone", "many")
    with pytest.raises(ValueError, match=r"group 'alone' .* needs at least 20 held-out rows, got 1; merge it"):
        AUCGate(LogisticRegression(), boosting(), random_state=0).fit(X, y, band_groups=one_class)


def test_clones_pickles_and_refits_answer_alike(gated):
    unfitted = clone(gated)
    assert not hasattr(unfitted, "gate_")
    assert unfitted.get_params()["gate__max_iter"] == 15
    for copy in (pickle.loads(pickle.dumps(gated)), unfitted.fit(X, y)):
        assert np.array_equal(select_each(copy, X_new, COVERAGES), select_each(gated, X_new, COVERAGES))
        for coverage in COVERAGES:
            assert np.array_equal(
                copy.decide(X_new, coverage).selection_score, gated.decide(X_new, coverage).selection_score
            )


def test_grid_search_over_parameters_of_the_gate():
    def auc_of_selected(clf, rows, labels):
        selected = clf.select(rows)
        return auc_of(labels, clf.predict_proba(rows)[:, 1], selected)

    search = GridSearchCV(
        AUCGate(LogisticRegression(), boosting(), coverage=0.7, random_state=0),
        {"gate__max_leaf_nodes": [2, 15], "estimator__C": [0.1]},
        scoring=auc_of_selected,
        cv=2,
    ).fit(X, y)
    # Stumps add up to no interaction.
    assert search.best_params_["gate__max_leaf_nodes"] == 15
    assert search.best_estimator_.gate_.max_leaf_nodes == 15
    assert search.best_estimator_.estimator_.C == 0.1


def test_a_failed_gate_leaves_the_earlier_fit(gated):
    clf = clone(gated).fit(X, y)
    with pytest.raises(TypeError, match="gate must have"):
        clf.set_params(gate=OnlyLabels()).fit(X[:100], y[:100])
    assert np.array_equal(select_each(clf, X_new, COVERAGES), select_each(gated, X_new, COVERAGES))


def test_the_rule_is_of_the_kind_that_its_documentation_says(gated):
    assert isinstance(gated.band_rule_, InfluenceBands)
    assert gated.n_features_in_ == 3
    for coverage in COVERAGES:
        assert gated.band(coverage).lower == -np.inf
    assert gated.band(1.0).is_empty


def test_more_than_two_classes_are_refused():
    rows, labels = make_classification(150, n_informative=4, n_classes=3, random_state=0)
    with pytest.raises(ValueError, match=r"Only binary classification is supported"):
        AUCGate(LogisticRegression(), boosting()).fit(rows, labels)
