"""AUC methods aimed at something else than the AUC: one parameter, the same contract."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from aucross import AUCross, PlugInAUC
from aucross.core import (
    AUCTarget,
    AveragePrecision,
    ExpectedCost,
    KolmogorovSmirnov,
    OptimalBands,
    PartialAUC,
    best_band_for,
)
from aucross.core.targets import as_target
from aucross.estimators import without_correction
from aucross.evaluation import expected_cost
from tests.reference import select_each

COVERAGES = (1.0, 0.95, 0.8, 0.5, 1 / 3)
COST = ExpectedCost(review=0.15, false_negative=3.0)
TARGETS = ["ks", "average_precision", "partial_auc", PartialAUC(0.3), COST, ExpectedCost(review=(0.1, 0.4))]

every_method = pytest.mark.parametrize("method", [AUCross, PlugInAUC])
every_target = pytest.mark.parametrize("target", TARGETS, ids=str)

X, y = make_classification(600, n_features=6, n_informative=3, weights=[0.7], flip_y=0.2, random_state=3)


def fit(method, sample_weight=None, **params):
    """A fit whose bands are those of the held-out rows, without the correction for the number of folds."""
    clf = method(params.pop("estimator", LogisticRegression()), random_state=0, **params)
    return without_correction(clf).fit(X, y, sample_weight)


@every_method
@every_target
def test_the_band_is_the_best_for_the_target_on_the_isotonic_labels_of_the_held_out_rows(method, target):
    clf = fit(method, target=target)
    smooth = clf.held_out_.ranked().isotonic()
    assert isinstance(clf.band_rule_, OptimalBands)
    assert clf.band_rule_.target == as_target(target)
    for coverage in COVERAGES:
        assert smooth.block(clf.band(coverage)) == smooth.block(best_band_for(smooth, coverage, target))


@every_method
@every_target
@pytest.mark.parametrize("base", [LogisticRegression(), DecisionTreeClassifier(max_depth=3)], ids=["smooth", "tied"])
@pytest.mark.few_scores
def test_the_coverage_never_falls_under_the_target_on_the_rows_that_placed_the_band(method, target, base):
    clf = fit(method, target=target, estimator=base)
    ranked = clf.held_out_.ranked()
    for coverage in (*COVERAGES, 0.123):
        assert ranked.coverage(clf.band(coverage)) >= coverage - 1e-12


@every_method
@pytest.mark.parametrize("target", ["auc", AUCTarget()], ids=str)
@pytest.mark.parametrize("placement", ["optimal", "centered"])
def test_the_auc_as_target_changes_nothing(method, target, placement):
    clf, usual = fit(method, target=target, placement=placement), fit(method, placement=placement)
    assert type(clf.band_rule_) is type(usual.band_rule_)
    assert isinstance(clf.band_rule_, OptimalBands) == (placement == "optimal")
    assert [clf.band(coverage) for coverage in COVERAGES] == [usual.band(coverage) for coverage in COVERAGES]


@pytest.mark.parametrize("target", [KolmogorovSmirnov(), AveragePrecision(), PartialAUC(), COST], ids=str)
def test_the_band_for_a_target_is_at_least_as_good_for_it_as_the_band_for_the_auc(target):
    clf, usual = fit(AUCross, target=target), fit(AUCross)
    smooth = clf.band_rule_.ranked
    sign = -1 if isinstance(target, ExpectedCost) else 1
    for coverage in COVERAGES:
        ours, theirs = (target.value(smooth, model.band(coverage)) for model in (clf, usual))
        assert sign * ours >= sign * theirs - 1e-12


def test_with_costs_the_coverage_is_a_lower_limit():
    clf = fit(AUCross, target=ExpectedCost(review=0.3))
    assert clf.select(X, 0.3).mean() > 0.5
    assert clf.band(0.3) == clf.band(0.2)  # Chow's band, wherever the budget does not bind
    assert fit(AUCross, target=ExpectedCost(review=0.5)).select(X, 0.3).all()


def test_costs_of_the_answers_of_predict_are_read_at_its_threshold():
    target = ExpectedCost(review=0.2, false_negative=3.0, threshold=0.5)
    clf = fit(AUCross, target=target)
    held_out = clf.held_out_
    band = clf.band(0.6)
    expected = expected_cost(
        held_out.positive,
        held_out.scores > 0.5,
        band.selects(held_out.scores),
        review_cost=0.2,
        cost_matrix=[[0, 1], [3, 0]],
    )
    assert target.value(held_out.ranked(), band) == pytest.approx(expected, abs=1e-12)
    assert np.array_equal(clf.predict(X) == clf.classes_[1], clf.decide(X).selection_score > 0.5)


@every_method
@every_target
def test_weights_count_in_the_placing(method, target):
    weight = np.random.default_rng(0).uniform(0.2, 3.0, len(y))
    clf = fit(method, weight, target=target)
    ranked = clf.held_out_.ranked()
    assert ranked.total == pytest.approx(weight[clf.held_out_.rows].sum())
    assert ranked.coverage(clf.band(0.7)) >= 0.7 - 1e-12
    assert ranked.block(clf.band(0.7)) == ranked.block(best_band_for(ranked.isotonic(), 0.7, target))


@every_method
@every_target
def test_copies_and_pickles_answer_alike(method, target):
    clf = fit(method, target=target)
    copies = (without_correction(clone(clf)).fit(X, y), pickle.loads(pickle.dumps(clf)))
    for copy in copies:
        assert copy.get_params()["target"] == target
        assert np.array_equal(select_each(copy, X, COVERAGES), select_each(clf, X, COVERAGES))


def test_a_grid_search_may_choose_the_target():
    grid = {"target": ["auc", "ks", ExpectedCost(review=0.5)]}

    def selected_share(clf, X, y):
        return clf.select(X).mean()

    search = GridSearchCV(AUCross(LogisticRegression(), random_state=0, cv=2), grid, scoring=selected_share, cv=2)
    assert search.fit(X, y).best_params_ == {"target": ExpectedCost(review=0.5)}


def test_decision_functions_can_be_aimed_too():
    clf = fit(AUCross, target="ks", estimator=LinearSVC(random_state=0))
    assert clf.fitted_.response_method == "decision_function"
    assert 0 < clf.select(X, 0.6).mean() < 1


def test_the_coverage_for_an_auc_is_read_from_the_bands_of_the_target():
    clf = fit(AUCross, target="ks")
    answer = clf.coverage_for(auc=0.87)
    ranked = clf.held_out_.ranked()
    assert 0 < answer.value < 1
    assert ranked.auc(clf.band(answer.value)) >= 0.87 - 1e-12


@every_target
def test_constant_scores_select_every_row(target):
    clf = AUCross(DummyClassifier(), target=target, random_state=0)
    with pytest.warns(UserWarning, match="all held-out scores equal"):
        clf.fit(X, y)
    assert clf.band(0.5).is_empty


# ---- errors, before anything is trained ----


class Untrainable(LogisticRegression):
    """Fails the test if it is trained."""

    def fit(self, X, y, sample_weight=None):
        raise AssertionError("trained before the parameters were checked")


@every_method
@every_target
def test_another_target_than_the_auc_needs_the_optimal_placement(method, target):
    with pytest.raises(
        ValueError, match=r"target must be \"auc\" with placement='centered'.*pass placement=\"optimal\""
    ):
        fit(method, target=target, placement="centered", estimator=Untrainable())


@every_method
@pytest.mark.parametrize("target", ["gini", 0.5, None, PartialAUC])
def test_an_unknown_target_is_refused(method, target):
    with pytest.raises(ValueError, match='target must be one of "auc", "ks"'):
        fit(method, target=target, estimator=Untrainable())


# ---- scikit-learn's own checks ----


# The checks feed data on which base models warn; what they assert is unaffected.
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([PlugInAUC(LogisticRegression(), target=ExpectedCost(review=0.1))])
def test_scikit_learn_check(estimator, check):
    check(estimator)
