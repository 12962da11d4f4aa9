"""What every selective classifier keeps, whatever its method.

`CHECKS` is a list of functions that take an unfitted estimator and rows; `ESTIMATORS` names those that pass them. A new
estimator is added to the second list. Checks that fit it again and again are for one estimator of each class.
"""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from aucross import AUCGate, AUCross, PlugIn, PlugInAUC, SCross
from aucross.core import CenteredBands, OptimalBands
from aucross.core.influence import InfluenceBands
from aucross.core.scored_rows import RuleInput
from aucross.estimators import without_correction
from tests.reference import select_each

COVERAGES = (1.0, 0.99, 0.95, 0.9, 0.85, 0.8, 0.75, 0.5, 0.2)

ESTIMATORS = {
    "AUCross": AUCross(LogisticRegression(), random_state=0),
    "AUCross, centred": AUCross(LogisticRegression(), placement="centered", random_state=0),
    "AUCross, LinearSVC": AUCross(LinearSVC(random_state=0), random_state=0),
    "PlugInAUC": PlugInAUC(LogisticRegression(), random_state=0),
    "PlugInAUC, centred": PlugInAUC(LogisticRegression(), placement="centered", random_state=0),
    "PlugInAUC, SVC": PlugInAUC(SVC(), random_state=0),
    "AUCross, nested": AUCross(LogisticRegression(), nested=True, random_state=0),
    "AUCross, own folds": AUCross(LogisticRegression(), cv=StratifiedKFold(5), random_state=0),
    "AUCross, promised": AUCross(LogisticRegression(), coverage_confidence=0.9, coverage=0.6, random_state=0),
    "PlugInAUC, promised": PlugInAUC(
        LogisticRegression(), coverage_confidence=0.9, coverage=0.5, holdout_size=0.3, random_state=0
    ),
    "SCross": SCross(LogisticRegression(), random_state=0),
    "SCross, LinearSVC": SCross(LinearSVC(random_state=0), random_state=0),
    "PlugIn": PlugIn(LogisticRegression(), random_state=0),
    "AUCGate": AUCGate(
        LogisticRegression(), HistGradientBoostingClassifier(max_iter=5, max_bins=32, random_state=0), random_state=0
    ),
    "AUCross, ensemble": AUCross(LogisticRegression(), ensemble=True, random_state=0),
    "SCross, ensemble": SCross(LinearSVC(random_state=0), ensemble=True, random_state=0),
    "AUCGate, ensemble": AUCGate(LogisticRegression(), LogisticRegression(C=0.1), ensemble=True, random_state=0),
    "AUCGate, LinearSVC": AUCGate(LinearSVC(random_state=0), SVC(), random_state=0),
}

ONE_OF_EACH = ("AUCross", "PlugInAUC", "SCross, ensemble", "PlugIn", "AUCGate, LinearSVC")


@dataclass(frozen=True)
class Rows:
    """Rows to fit on and rows that come later."""

    X: np.ndarray
    y: np.ndarray
    X_new: np.ndarray
    y_new: np.ndarray
    fits: dict[Any, Any] = field(default_factory=dict)

    def fit(self, estimator):
        """A fitted clone."""
        return clone(estimator).fit(self.X, self.y)

    def fitted(self, estimator):
        """A fitted clone for all tests that only ask it."""
        if estimator not in self.fits:
            self.fits[estimator] = self.fit(estimator)
        return self.fits[estimator]


def make_rows() -> Rows:
    X, y = make_classification(800, n_features=6, n_informative=3, weights=[0.7], flip_y=0.2, random_state=3)
    return Rows(X[:500], y[:500], X[500:], y[500:])


def with_two_folds(estimator):
    """A clone that trains fewer models, for checks that fit it many times."""
    return clone(estimator).set_params(**{"cv": 2} if hasattr(estimator, "n_jobs") else {})  # others train once


def same_answers(first, second, X) -> bool:
    """Whether two fitted classifiers predict, score and select alike."""
    return (
        np.array_equal(first.predict(X), second.predict(X))
        and all(
            np.array_equal(first.decide(X, c).selection_score, second.decide(X, c).selection_score) for c in COVERAGES
        )
        and np.array_equal(select_each(first, X, COVERAGES), select_each(second, X, COVERAGES))
    )


# ---- the selection ----


def check_select_is_one_boolean_per_row(estimator, rows):
    clf = rows.fitted(estimator)
    for X in (rows.X_new, rows.X_new[:1], rows.X_new.tolist()):
        selected = clf.select(X)
        assert isinstance(selected, np.ndarray)
        assert selected.dtype == np.bool_
        assert selected.shape == (len(X),)


def check_select_gives_what_decide_does(estimator, rows):
    clf = rows.fitted(estimator)
    scored = clf.scored(rows.X_new)
    for coverage in (None, *COVERAGES):
        selected = clf.decide(rows.X_new, coverage).selected
        assert np.array_equal(clf.select(rows.X_new, coverage), selected)
        assert np.array_equal(clf.select(scored, coverage), selected)


def check_select_is_deterministic(estimator, rows):
    clf = rows.fitted(estimator)
    first = select_each(clf, rows.X_new, COVERAGES)
    assert np.array_equal(first, select_each(clf, rows.X_new, COVERAGES))


def check_select_does_not_depend_on_the_order_of_rows(estimator, rows):
    clf = rows.fitted(estimator)
    order = np.random.default_rng(0).permutation(len(rows.X_new))
    for coverage in COVERAGES:
        assert np.array_equal(clf.select(rows.X_new[order], coverage), clf.select(rows.X_new, coverage)[order])


def check_select_does_not_depend_on_the_other_rows(estimator, rows):
    clf = rows.fitted(estimator)
    together = clf.select(rows.X_new[:40], 0.7)
    assert together.tolist() == [clf.select(rows.X_new[[row]], 0.7).item() for row in range(40)]


def check_select_is_the_band_applied_to_the_selection_score(estimator, rows):
    clf = rows.fitted(estimator)
    assert np.array_equal(clf.decide(rows.X_new).selection_score, clf.decide(rows.X_new, clf.coverage).selection_score)
    for coverage in COVERAGES:
        scores, band = clf.decide(rows.X_new, coverage).selection_score, clf.band(coverage)
        assert scores.dtype == np.float64
        assert np.isfinite(scores).all()
        assert np.array_equal(clf.select(rows.X_new, coverage), band.selects(scores))
        assert np.array_equal(band.selects(scores), ~((scores >= band.lower) & (scores <= band.upper)))


def check_rows_scored_once_are_selected_as_they_come(estimator, rows):
    clf = rows.fitted(estimator)
    expected = [clf.select(rows.X_new, coverage) for coverage in COVERAGES]
    assert np.array_equal(select_each(clf, rows.X_new, COVERAGES), expected)
    assert np.array_equal([clf.decide(rows.X_new, coverage).selected for coverage in COVERAGES], expected)


def check_the_coverage_of_the_constructor_is_only_the_default(estimator, rows):
    clf = rows.fit(estimator)
    assert clf.band() == clf.band(clf.coverage)
    before = select_each(clf, rows.X_new, COVERAGES)
    clf.set_params(coverage=0.6)
    assert clf.band() == clf.band(0.6)
    assert np.array_equal(clf.select(rows.X_new), clf.select(rows.X_new, 0.6))
    # One fit serves every coverage: a fit made for another one gives the same bands.
    refitted = rows.fit(clf)
    assert np.array_equal(select_each(refitted, rows.X_new, COVERAGES), before)
    assert [refitted.band(coverage) for coverage in COVERAGES] == [clf.band(coverage) for coverage in COVERAGES]


def check_full_coverage_selects_everything(estimator, rows):
    clf = rows.fitted(estimator)
    assert clf.band(1.0).is_empty
    assert clf.select(rows.X_new, 1.0).all()


def check_selections_are_nested(estimator, rows):
    clf = rows.fitted(estimator)
    if isinstance(clf.band_rule_, OptimalBands | InfluenceBands):
        return  # the best band of one coverage need not lie inside that of the next
    selections = select_each(clf, rows.X_new, sorted(COVERAGES))
    assert (selections[1:] >= selections[:-1]).all()


def check_coverage_on_the_rows_that_placed_the_band(estimator, rows):
    clf = without_correction(clone(estimator)).fit(rows.X, rows.y)  # the correction aims at new rows
    n_rows = len(clf.held_out_.scores)
    # The centred band has both of its ends inside and may reject a row too many on either side, as published.
    n_rows_short = 2 if isinstance(clf.band_rule_, CenteredBands) else 0
    for coverage in (*COVERAGES, 1 / 3, 0.123):
        assert n_selected_where_placed(clf, coverage) >= coverage * n_rows - n_rows_short - 1e-9


def n_selected_where_placed(clf, coverage) -> float:
    """How many of the rows that placed the band it selects."""
    rule, n_rows = clf.band_rule_, len(clf.held_out_.scores)
    if isinstance(rule, InfluenceBands):
        objective = rule.objective
        assert len(objective.columns) == n_rows
        return (
            rule.band(coverage)
            .selects(rule.selection_score(RuleInput(objective.columns, objective.probabilities), coverage))
            .sum()
        )
    assert rule.ranked.total == pytest.approx(n_rows)
    return rule.ranked.coverage(clf.band(coverage)) * n_rows


def check_new_rows_are_selected_near_the_coverage(estimator, rows):
    clf = rows.fitted(estimator)
    for coverage, selected in zip(COVERAGES, select_each(clf, rows.X_new, COVERAGES), strict=True):
        # 50 held-out rows place the band of the hold-out methods here: this finds blunders, not bias.
        assert abs(selected.mean() - coverage) < 0.2


# ---- the classifier ----


def check_answers_are_those_of_the_base_model(estimator, rows):
    clf = rows.fitted(estimator)
    assert np.array_equal(clf.predict(rows.X_new), clf.estimator_.predict(rows.X_new))
    for method in ("predict_proba", "decision_function"):
        assert hasattr(clf, method) == hasattr(clf.estimator_, method)
        if hasattr(clf, method):
            assert np.array_equal(getattr(clf, method)(rows.X_new), getattr(clf.estimator_, method)(rows.X_new))
    if getattr(clf, "ensemble", False):
        method = clf.fitted_.response_method
        by_fold = [getattr(model, method)(rows.X_new) for model in clf.estimator_.estimators_]
        assert getattr(clf, method)(rows.X_new) == pytest.approx(np.mean(by_fold, axis=0), abs=1e-12)
    elif not hasattr(clf, "holdout_size"):
        alone = clone(estimator.estimator).fit(rows.X, rows.y)
        assert np.array_equal(clf.predict(rows.X_new), alone.predict(rows.X_new))
        assert np.array_equal(clf.estimator_.coef_, alone.coef_)


def check_predict_selective_marks_exactly_the_rejected_rows(estimator, rows):
    clf = rows.fitted(estimator)
    for coverage in COVERAGES:
        marked, selected = clf.predict_selective(rows.X_new, coverage), clf.select(rows.X_new, coverage)
        assert np.array_equal(marked, np.where(selected, clf.predict(rows.X_new), -1))
    assert np.array_equal(clf.predict_selective(rows.X_new), clf.predict_selective(rows.X_new, clf.coverage))


def check_the_base_model_given_stays_unfitted(estimator, rows):
    estimator = with_two_folds(estimator)
    given = estimator.estimator
    assert estimator.fit(rows.X, rows.y) is estimator
    assert estimator.estimator is given
    assert not hasattr(given, "classes_")


def check_fit_changes_none_of_its_input(estimator, rows):
    X, y, weight = rows.X.copy(), rows.y.copy(), np.linspace(1, 2, len(rows.y))
    is_promise = estimator.coverage_confidence is not None  # which excludes weights
    with_two_folds(estimator).fit(X, y, sample_weight=None if is_promise else weight)
    assert np.array_equal(X, rows.X)
    assert np.array_equal(y, rows.y)
    assert np.array_equal(weight, np.linspace(1, 2, len(rows.y)))


# ---- seeds, threads, processes, failures ----


def check_the_same_seed_gives_the_same_fit(estimator, rows):
    clf = rows.fitted(estimator)
    assert same_answers(clf, rows.fit(clone(clf)), rows.X_new)


def check_parallel_folds_give_the_same_fit(estimator, rows):
    if "n_jobs" not in estimator.get_params():
        return  # hold-out methods train once
    # In threads: tests/estimators/test_progress.py trains in processes, which take seconds to start.
    with joblib.parallel_config("threading"):
        parallel = rows.fit(clone(estimator).set_params(n_jobs=2))
    assert same_answers(rows.fitted(estimator), parallel, rows.X_new)


def check_many_threads_get_the_same_answer(estimator, rows):
    clf = rows.fit(estimator)
    coverages = (0.95, 0.8, 0.5)
    # The threads come first, to whatever is computed only once asked for.
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda _: select_each(clf, rows.X_new, coverages), range(20)))
    expected = select_each(clf, rows.X_new, coverages)
    assert all(np.array_equal(answer, expected) for answer in answers)


def check_a_failed_fit_leaves_the_earlier_one(estimator, rows):
    clf, untouched = rows.fit(estimator), rows.fitted(estimator)
    with pytest.raises(ValueError, match="two classes"):
        clf.fit(rows.X, np.zeros(len(rows.X)))
    assert same_answers(clf, untouched, rows.X_new)
    with pytest.raises(ValueError, match="cv must be at least 2 folds"):
        clf.set_params(cv=1).fit(rows.X[:100], rows.y[:100])
    assert same_answers(clf, untouched, rows.X_new)
    unusable = rows.X.copy()
    unusable[7, 0] = np.nan  # found by the base model, in the middle of the folds
    with pytest.raises(ValueError, match="NaN"):
        clf.set_params(cv=estimator.cv).fit(unusable, rows.y)
    assert same_answers(clf, untouched, rows.X_new)


def check_copies_answer_alike(estimator, rows):
    clf = rows.fitted(estimator)
    assert same_answers(clf, pickle.loads(pickle.dumps(clf)), rows.X_new)
    unfitted = clone(clf)
    assert not hasattr(unfitted, "band_rule_")
    assert repr(unfitted) == repr(clone(estimator))


# ---- with scikit-learn's tools ----


def check_a_pipeline_as_base_model(estimator, rows):
    pipeline = make_pipeline(StandardScaler(), clone(estimator.estimator))
    clf = rows.fit(with_two_folds(estimator).set_params(estimator=pipeline))
    assert np.array_equal(clf.predict(rows.X_new), clf.estimator_.predict(rows.X_new))
    assert clf.n_features_in_ == rows.X.shape[1]
    assert 0 < clf.select(rows.X_new, 0.5).mean() < 1


def check_a_place_at_the_end_of_a_pipeline(estimator, rows):
    estimator = with_two_folds(estimator)
    pipeline = make_pipeline(StandardScaler(), clone(estimator)).fit(rows.X, rows.y)
    scaled = StandardScaler().fit(rows.X)
    alone = clone(estimator).fit(scaled.transform(rows.X), rows.y)
    assert np.array_equal(pipeline.predict(rows.X_new), alone.predict(scaled.transform(rows.X_new)))
    assert np.array_equal(
        pipeline[-1].select(pipeline[:-1].transform(rows.X_new)), alone.select(scaled.transform(rows.X_new))
    )


def check_grid_search_over_base_model_and_coverage(estimator, rows):
    estimator = with_two_folds(estimator)
    grid = [{"estimator__C": [0.01], "coverage": [0.5]}, {"estimator__C": [1.0], "coverage": [0.9]}]

    def selected_share(clf, X, y):
        return clf.select(X).mean()

    search = GridSearchCV(estimator, grid, scoring=selected_share, cv=2).fit(rows.X, rows.y)
    assert search.best_params_ == {"estimator__C": 1.0, "coverage": 0.9}
    assert len(search.cv_results_["params"]) == 2
    assert np.array_equal(search.predict(rows.X_new), search.best_estimator_.predict(rows.X_new))
    by_accuracy = GridSearchCV(estimator, {"estimator__C": [1e-6, 1.0]}, cv=2).fit(rows.X, rows.y)
    fitted = by_accuracy.best_estimator_.estimator_
    assert by_accuracy.best_params_["estimator__C"] == getattr(fitted, "estimators_", [fitted])[0].C


def check_cross_val_predict(estimator, rows):
    folds, estimator = StratifiedKFold(2), with_two_folds(estimator)
    predicted = cross_val_predict(estimator, rows.X, rows.y, cv=folds)
    for train, test in folds.split(rows.X, rows.y):
        clf = clone(estimator).fit(rows.X[train], rows.y[train])
        assert np.array_equal(predicted[test], clf.predict(rows.X[test]))


def check_a_frozen_model_is_used_as_it_is(estimator, rows):
    model = clone(estimator.estimator).fit(rows.X_new, rows.y_new)
    scores = model.decision_function(rows.X)
    clf = rows.fit(clone(estimator).set_params(estimator=FrozenEstimator(model)))
    assert clf.estimator_.estimator is model
    assert np.array_equal(model.decision_function(rows.X), scores)
    assert np.array_equal(clf.predict(rows.X), model.predict(rows.X))
    # Every fold is scored by this one model.
    held_out = getattr(model, clf.fitted_.response_method)(rows.X[clf.held_out_.rows])
    held_out = held_out if held_out.ndim == 1 else held_out[:, 1]
    assert clf.held_out_.scores == pytest.approx(held_out, abs=1e-12)


CHECKS = [
    check_select_is_one_boolean_per_row,
    check_select_gives_what_decide_does,
    check_select_is_deterministic,
    check_select_does_not_depend_on_the_order_of_rows,
    check_select_does_not_depend_on_the_other_rows,
    check_select_is_the_band_applied_to_the_selection_score,
    check_rows_scored_once_are_selected_as_they_come,
    check_full_coverage_selects_everything,
    check_selections_are_nested,
    check_coverage_on_the_rows_that_placed_the_band,
    check_new_rows_are_selected_near_the_coverage,
    check_answers_are_those_of_the_base_model,
    check_predict_selective_marks_exactly_the_rejected_rows,
    check_the_same_seed_gives_the_same_fit,
    check_copies_answer_alike,
]
CHECKS_THAT_FIT = [
    check_the_coverage_of_the_constructor_is_only_the_default,
    check_the_base_model_given_stays_unfitted,
    check_fit_changes_none_of_its_input,
    check_parallel_folds_give_the_same_fit,
    check_many_threads_get_the_same_answer,
    check_a_failed_fit_leaves_the_earlier_one,
    check_a_pipeline_as_base_model,
    check_a_place_at_the_end_of_a_pipeline,
    check_grid_search_over_base_model_and_coverage,
    check_cross_val_predict,
    check_a_frozen_model_is_used_as_it_is,
]


@pytest.fixture(scope="module")
def rows() -> Rows:
    return make_rows()


def name_of(check) -> str:
    return check.__name__.removeprefix("check_")


@pytest.mark.every_pair
@pytest.mark.parametrize("check", CHECKS, ids=name_of)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_contract(name, check, rows):
    check(ESTIMATORS[name], rows)


@pytest.mark.every_pair
@pytest.mark.parametrize("check", CHECKS_THAT_FIT, ids=name_of)
@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_contract_of_fits(name, check, rows):
    check(ESTIMATORS[name], rows)


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_a_fit_read_from_a_file_answers_alike(name, rows, tmp_path):
    clf = rows.fitted(ESTIMATORS[name])
    joblib.dump(clf, tmp_path / "clf.joblib")
    assert same_answers(clf, joblib.load(tmp_path / "clf.joblib"), rows.X_new)


def test_scores_come_from_predict_proba_where_there_is_one_and_else_from_the_decision_function(rows):
    assert rows.fit(AUCross(LogisticRegression(), random_state=0)).fitted_.response_method == "predict_proba"
    svc = rows.fit(AUCross(SVC(), random_state=0))
    assert svc.fitted_.response_method == "decision_function"
    assert not hasattr(svc, "predict_proba")
    assert np.array_equal(svc.decide(rows.X_new).selection_score, svc.decision_function(rows.X_new))


def test_the_confidence_is_that_of_the_predicted_class(rows):
    by_probability = rows.fit(SCross(LogisticRegression(), random_state=0))
    probability = by_probability.predict_proba(rows.X_new)
    assert by_probability.decide(rows.X_new).selection_score == pytest.approx(probability.max(axis=1), abs=1e-12)
    by_distance = rows.fit(SCross(LinearSVC(random_state=0), random_state=0))
    assert np.array_equal(
        by_distance.decide(rows.X_new).selection_score, np.abs(by_distance.decision_function(rows.X_new))
    )


def test_one_selective_classifier_can_wrap_another(rows):
    inner = AUCross(LogisticRegression(), random_state=0)
    outer = rows.fit(SCross(inner, random_state=0))
    assert np.array_equal(outer.predict(rows.X_new), rows.fit(inner).predict(rows.X_new))
    assert 0 < outer.select(rows.X_new, 0.5).mean() < 1
