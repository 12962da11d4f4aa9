"""Coverage that new rows have with a given probability."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import RepeatedStratifiedKFold

from aucross import AUCGate, AUCross, PlugIn, PlugInAUC, SCross
from aucross.core.cautious import Caution, rejections_that_keep, smallest_size_that_keeps
from aucross.core.influence import InfluenceBands
from aucross.core.nested import FixedPathBands
from aucross.core.ranking import RankedScores
from aucross.core.rules import OptimalBands
from tests.reference import select_each

COVERAGES = (0.9, 0.75, 0.5)
X, y = make_classification(900, n_features=5, flip_y=0.3, weights=[0.7], random_state=0)
X_new, _ = make_classification(3000, n_features=5, flip_y=0.3, weights=[0.7], random_state=0)

ESTIMATORS = {
    "AUCross": AUCross(LogisticRegression(), cv=3, random_state=0),
    "AUCross, centred": AUCross(LogisticRegression(), cv=3, placement="centered", random_state=0),
    "AUCross, nested": AUCross(LogisticRegression(), cv=3, nested=True, random_state=0),
    "AUCross, ks": AUCross(LogisticRegression(), cv=3, target="ks", random_state=0),
    "PlugInAUC": PlugInAUC(LogisticRegression(), holdout_size=0.4, random_state=0),
    "PlugInAUC, centred": PlugInAUC(LogisticRegression(), holdout_size=0.4, placement="centered", random_state=0),
    "SCross": SCross(LogisticRegression(), cv=3, random_state=0),
    "PlugIn": PlugIn(LogisticRegression(), holdout_size=0.4, random_state=0),
    "AUCGate": AUCGate(LogisticRegression(), LogisticRegression(C=0.01), cv=3, random_state=0),
}
METHODS = ("AUCross", "PlugInAUC", "SCross", "PlugIn", "AUCGate")

every_estimator = pytest.mark.parametrize("name", ESTIMATORS)
every_method = pytest.mark.parametrize("name", METHODS)


def make(name, confidence, **params):
    return clone(ESTIMATORS[name]).set_params(coverage_confidence=confidence, **params)


def judged_by_folds(name):
    """What a classifier without a promise needs, so that the same models judge its rows."""
    return {"ensemble": True} if "ensemble" in ESTIMATORS[name].get_params() else {}


def everything_held_out(n_rows):
    """A split that holds out all rows, for models that are trained already."""
    return [(np.arange(2), np.arange(n_rows))]


# ---- what can be asked for ----


@every_method
@pytest.mark.parametrize(
    ("confidence", "error", "message"),
    [
        (0.0, ValueError, r"coverage_confidence must be in \(0, 1"),
        (-0.5, ValueError, r"coverage_confidence must be in \(0, 1"),
        (95, ValueError, r"coverage_confidence must be in \(0, 1\], got 95; for 95 % pass 0.95"),
        (float("nan"), ValueError, "coverage_confidence must be"),
        (1.0, ValueError, "coverage_confidence must be below 1, got 1: a sample makes nothing certain; pass 0.95"),
        ("high", TypeError, "coverage_confidence must be"),
    ],
)
def test_what_is_no_probability_is_refused_before_anything_is_trained(name, confidence, error, message):
    class Untrainable(LogisticRegression):
        def fit(self, *_):
            raise AssertionError("trained")

    with pytest.raises(error, match=message):
        make(name, confidence, estimator=Untrainable()).fit(X, y)


@every_method
def test_weights_exclude_a_promise(name):
    with pytest.raises(ValueError, match=r"coverage_confidence must be None with sample_weight.*leave out one"):
        make(name, 0.9).fit(X, y, sample_weight=np.ones(len(y)))
    make(name, None).fit(X, y, sample_weight=np.ones(len(y)))


@every_estimator
def test_a_promise_is_a_parameter_that_survives_cloning(name):
    assert clone(make(name, 0.8)).get_params()["coverage_confidence"] == 0.8
    assert clone(ESTIMATORS[name]).get_params()["coverage_confidence"] is None


# ---- what it does ----


@every_estimator
def test_more_rows_are_selected_the_surer_the_coverage_must_be(name):
    judges = judged_by_folds(name)
    plain, likely, sure = (make(name, confidence, coverage=0.5, **judges).fit(X, y) for confidence in (None, 0.6, 0.99))
    assert isinstance(likely.band_rule_.coverage_map, Caution)
    assert not isinstance(plain.band_rule_.coverage_map, Caution)
    shares = np.array([select_each(clf, X_new, COVERAGES).mean(axis=1) for clf in (plain, likely, sure)])
    assert (shares[0] < shares[1]).all()
    assert (shares[1] < shares[2]).all()
    assert (shares[2] < 1).all()
    assert likely.select(X_new, 1.0).all()


@every_estimator
def test_the_band_holds_no_more_held_out_rows_than_the_promise_allows(name):
    clf = make(name, 0.9, coverage=0.5).fit(X, y)
    n_rows = len(clf.held_out_.rows)
    assert clf.band_rule_.coverage_map.n_rows == n_rows
    is_fixed = name in ("SCross", "PlugIn", "PlugInAUC")
    is_tied = name == "AUCGate"  # a gate sees two scores, which may tie
    for coverage in COVERAGES:
        allowed = rejections_that_keep(n_rows, coverage, 0.9, fixed=is_fixed, tied=is_tied)
        score = clf.band_rule_.selection_score(clf.fitted_.scored_held_out().rule_input, coverage)
        assert allowed - 20 < clf.band(coverage).rejects(score).sum() <= allowed


@every_method
def test_select_bands_and_scores_belong_together(name):
    clf = make(name, 0.9, coverage=0.5).fit(X, y)
    each = select_each(clf, X_new, COVERAGES)
    for coverage, selected in zip(COVERAGES, each, strict=True):
        assert np.array_equal(clf.band(coverage).selects(clf.decide(X_new, coverage).selection_score), selected)
        assert np.array_equal(clf.select(X_new, coverage), selected)


@pytest.mark.parametrize("name", ["AUCross", "SCross", "AUCGate"])
def test_fold_models_judge_for_a_promise_so_that_there_is_nothing_to_correct(name):
    clf = make(name, 0.9, coverage=0.5).fit(X, y)
    assert clf.band_rule_.judged_apart
    assert clf.band_rule_.coverage_map.n_rows == len(y)
    assert len(clf.judges_) == (2 if name == "AUCGate" else 1)


def test_rows_that_are_scored_several_times_count_once():
    cv = RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0)
    clf = make("AUCross", 0.9, cv=cv, coverage=0.5).fit(X, y)
    assert len(clf.held_out_.rows) == 2 * len(y)
    assert clf.band_rule_.coverage_map.n_rows == len(y)


@every_method
def test_a_capacity_is_a_number_of_rows_and_needs_no_promise(name):
    clf, plain = (make(name, c, coverage=0.5, **judged_by_folds(name)).fit(X, y) for c in (0.9, None))
    assert np.array_equal(clf.select(X_new, capacity=100), plain.select(X_new, capacity=100))


# ---- too few rows ----


@pytest.mark.parametrize(("name", "fixed"), [("PlugInAUC", False), ("PlugIn", True)])
@pytest.mark.parametrize("coverage", [0.95, 0.8])
def test_too_few_rows_are_told_how_many_would_do(name, fixed, coverage):
    needed = smallest_size_that_keeps(coverage, 0.95, fixed=fixed)
    frozen = FrozenEstimator(LogisticRegression().fit(X, y))
    clf = make(name, 0.95, estimator=frozen, coverage=coverage, cv=everything_held_out(needed - 1))
    message = (
        rf"{needed - 1} rows .* too few to keep a coverage of {coverage:g} with confidence 0.95.* {needed} would do"
    )
    with pytest.warns(UserWarning, match=message):
        clf.fit(X[: needed - 1], y[: needed - 1])
    assert clf.select(X_new).all()
    # A lower coverage may be asked for all the same.
    assert not clf.select(X_new, 0.3).all()
    enough = clf.set_params(cv=everything_held_out(needed)).fit(X[:needed], y[:needed])
    assert not enough.select(X_new).all()


def test_full_coverage_needs_no_rows_and_no_warning():
    clf = make("PlugInAUC", 0.95, coverage=1.0, holdout_size=0.1).fit(X[:60], y[:60])
    assert clf.select(X_new).all()


@every_method
def test_the_group_with_too_few_rows_is_named(name):
    groups = np.where(np.arange(len(y)) < 40, "few", "many")
    with pytest.warns(UserWarning, match=r"rows of the group 'few' .* too few to keep a coverage of 0.95"):
        clf = make(name, 0.95, coverage=0.95).fit(X, y, band_groups=groups)
    assert clf.band(band_group="few").is_empty
    assert not clf.band(band_group="many").is_empty
    assert clf.band_rule_.rule("many").coverage_map.n_rows == np.sum(groups[clf.held_out_.rows] == "many")


# ---- how often it holds ----


def two_classes(n_rows, rng):
    feature = rng.normal(size=(n_rows, 1))
    return feature, (rng.random(n_rows) < 1 / (1 + np.exp(-1.5 * feature[:, 0]))).astype(int)


def three_classes(n_rows, rng):
    label = rng.choice(3, n_rows, p=[0.5, 0.3, 0.2])
    return 1.3 * np.eye(3)[label] + rng.normal(size=(n_rows, 3)), label


def how_often_short(method, draw, confidence, *, coverage=0.8, n_rows=200, n_draws=150) -> float:
    """Share of draws of held-out rows after which fewer new rows are selected than the coverage says."""
    rng = np.random.default_rng(0)
    model = FrozenEstimator(LogisticRegression().fit(*draw(1000, rng)))
    others, _ = draw(20_000, rng)
    clf = method(
        model,
        coverage=coverage,
        coverage_confidence=confidence,
        cv=everything_held_out(n_rows),
        random_state=0,
    )
    short = [clf.fit(*draw(n_rows, rng)).select(others).mean() < coverage for _ in range(n_draws)]
    return float(np.mean(short))


@pytest.mark.parametrize("method", [PlugInAUC, PlugIn])
def test_new_rows_have_the_coverage_as_often_as_promised(method):
    # Three standard errors of 150 draws are 0.073.
    assert how_often_short(method, two_classes, 0.9) <= 0.1 + 0.073
    assert how_often_short(method, two_classes, None, n_draws=50) > 0.3


def test_the_promise_of_a_hold_out_band_is_exact_and_not_just_safe():
    rng = np.random.default_rng(0)
    model = FrozenEstimator(LogisticRegression().fit(*two_classes(1000, rng)))
    others, _ = two_classes(20_000, rng)
    clf = PlugInAUC(model, coverage=0.8, coverage_confidence=0.7, holdout_size=0.5, random_state=0)
    short = [clf.fit(*two_classes(400, rng)).select(others).mean() < 0.8 for _ in range(120)]
    assert np.mean(short) == pytest.approx(0.3, abs=0.1)


def test_the_place_of_a_hold_out_band_comes_from_the_rows_that_are_trained_on():
    counted = []

    class Counted(LogisticRegression):
        def fit(self, rows, labels):
            counted.append(len(rows))
            return super().fit(rows, labels)

    clf = make("PlugInAUC", 0.9, estimator=Counted()).fit(X, y)
    assert counted == [540, *[432] * 5]
    rule = clf.band_rule_
    assert isinstance(rule, FixedPathBands)
    assert rule.path.total == pytest.approx(540)
    labels = y.copy()
    labels[clf.held_out_.rows] = 1 - labels[clf.held_out_.rows]
    other_labels = FixedPathBands(RankedScores.from_labels(labels[clf.held_out_.rows], clf.held_out_.scores), rule.path)
    assert all(rule.placed(coverage) == other_labels.band(coverage) for coverage in COVERAGES)


def test_too_few_rows_of_a_class_to_train_on_leave_the_search_to_the_held_out_rows():
    labels = np.zeros(200, dtype=int)
    labels[[3, *range(100, 200, 4)]] = 1
    split = [(np.arange(100), np.arange(100, 200))]
    clf = PlugInAUC(LogisticRegression(), coverage=0.5, coverage_confidence=0.9, cv=split).fit(X[:200], labels)
    assert isinstance(clf.band_rule_, OptimalBands)


def test_the_promise_of_a_threshold_is_exact_and_not_just_safe():
    assert how_often_short(PlugIn, two_classes, 0.7) == pytest.approx(0.3, abs=0.08)


def test_with_three_classes_new_rows_have_the_coverage_as_often_as_promised():
    assert how_often_short(PlugInAUC, three_classes, 0.9, n_rows=160, n_draws=25) <= 0.1 + 0.12


def test_with_three_classes_as_much_is_rejected_as_a_threshold_on_half_of_the_rows_allows():
    rng = np.random.default_rng(0)
    model = FrozenEstimator(LogisticRegression().fit(*three_classes(1000, rng)))
    others, _ = three_classes(20_000, rng)
    clf = PlugInAUC(model, coverage=0.8, coverage_confidence=0.9, cv=everything_held_out(400), random_state=0)
    shares = [clf.fit(*three_classes(400, rng)).select(others).mean() for _ in range(15)]
    # The law of a threshold allows 32 of 200 rows; that of any band 24, and twice the rows would allow 35 in 200.
    allowed = rejections_that_keep(200, 0.8, 0.9, fixed=True, tied=True)
    assert np.mean(shares) == pytest.approx(1 - allowed / 201, abs=0.0125)


def test_with_three_classes_the_influence_is_searched_on_other_rows_than_those_that_place_its_threshold():
    rows, labels = three_classes(600, np.random.default_rng(0))
    clf = PlugInAUC(LogisticRegression(), coverage=0.7, coverage_confidence=0.9, holdout_size=0.5, random_state=0).fit(
        rows, labels
    )
    rule = clf.band_rule_
    assert isinstance(rule, InfluenceBands)
    assert clf.band_rule_.coverage_map.n_rows == len(rule.threshold_rows.score) == 150
    assert not set(map(tuple, rule.objective.columns)) & set(map(tuple, rule.threshold_rows.columns))
    plain = clone(clf).set_params(coverage_confidence=None).fit(rows, labels)
    assert plain.select(rows).mean() < clf.select(rows).mean() < 1
