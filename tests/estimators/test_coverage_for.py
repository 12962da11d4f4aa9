"""Which coverage for this AUC: against a scan of all coverages, and on curves whose answer is known."""

from __future__ import annotations

from dataclasses import replace
from math import nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm, rankdata
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from aucross import AUCross, PlugIn, PlugInAUC, ScoreColumn, SCross
from aucross.core import RankedScores, RejectionBand
from aucross.estimators import HeldOutAnswer
from aucross.estimators.coverage_for import largest_coverage
from aucross.files import load, save
from tests.reference import obvious_auc_interval, select_each
from tests.strategies import property_test

X, y = make_classification(900, n_features=5, weights=[0.7], flip_y=0.2, random_state=0)

AUC_METHODS = {
    "AUCross": AUCross(LogisticRegression(), random_state=0),
    "AUCross, centred": AUCross(LogisticRegression(), placement="centered", random_state=0),
    "PlugInAUC": PlugInAUC(LogisticRegression(), holdout_size=0.4, random_state=0),
}
CONFIDENCE_METHODS = {
    "SCross": SCross(LogisticRegression(), random_state=0),
    "PlugIn": PlugIn(LogisticRegression(), holdout_size=0.4, random_state=0),
}
METHODS = AUC_METHODS | CONFIDENCE_METHODS


@pytest.fixture(scope="module", params=METHODS)
def fitted(request):
    return METHODS[request.param].fit(X, y)


def held_out_selection(clf, coverage):
    """Held-out rows that the band selects, from the definition of each method's selection score."""
    scores = clf.held_out_.scores
    on_confidence = isinstance(clf, SCross | PlugIn)
    return clf.band(coverage).selects(np.maximum(scores, 1 - scores) if on_confidence else scores)


def held_out_auc(clf, coverage) -> float:
    selected = held_out_selection(clf, coverage)
    labels, ranks = clf.held_out_.positive[selected], rankdata(clf.held_out_.scores[selected])
    n_pairs = int(labels.sum()) * int((~labels).sum())
    # The mean rank of positives, as in the test of Mann and Whitney.
    return (ranks[labels].sum() - labels.sum() * (labels.sum() + 1) / 2) / n_pairs if n_pairs else nan


def scan(clf, auc, step) -> float:
    """The largest multiple of `step` that reaches the AUC, by trying them all."""
    for coverage in np.round(np.arange(1.0, step / 2, -step), 6):
        if held_out_auc(clf, coverage) >= auc - 1e-12:
            return float(coverage)
    return 0.0


@pytest.mark.parametrize("name", AUC_METHODS)
@pytest.mark.parametrize("gain", [0.003, 0.01, 0.02])
def test_the_coverage_of_auc_methods_is_that_of_a_scan_in_steps_of_a_thousandth(name, gain):
    clf = AUC_METHODS[name].fit(X, y)
    auc = held_out_auc(clf, 1.0) + gain
    found = clf.coverage_for(auc=auc).value
    assert found == pytest.approx(scan(clf, auc, step=0.001), abs=0.0011)
    assert found > 0.1


@pytest.mark.parametrize("gain", [-0.05, -0.01, 0.0, 0.005, 0.02, 0.05, 0.2])
def test_the_coverage_is_that_of_a_scan_refined_within_one_step(fitted, gain):
    auc = min(held_out_auc(fitted, 1.0) + gain, 1.0)
    found = fitted.coverage_for(auc=auc)
    on_grid = scan(fitted, auc, step=0.01)
    assert on_grid <= found.value < on_grid + 0.01
    if found.value > 0:
        assert held_out_auc(fitted, found.value) >= auc - 1e-12


@pytest.mark.parametrize("gain", [-0.05, 0.0, 0.01, 0.04, 0.1])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_the_interval_holds_the_coverage(fitted, gain, confidence):
    auc = min(held_out_auc(fitted, 1.0) + gain, 1.0)
    found = fitted.coverage_for(auc=auc, confidence=confidence)
    assert 0.0 <= found.low <= found.value <= found.high <= 1.0
    wider = fitted.coverage_for(auc=auc, confidence=(1 + confidence) / 2)
    assert wider.low <= found.low
    assert wider.high >= found.high - 1e-3  # the ends are refined to 0.001


# The upper end is refined to 0.001. The lower one is where a walk in steps of 0.01 ends.
@pytest.mark.parametrize(("end", "gain", "step", "failure"), [("low", -0.005, 0.01, 0.2), ("high", 0.02, 0.0011, 0.25)])
def test_the_ends_of_the_interval_are_where_the_limits_of_the_auc_reach_the_target(end, gain, step, failure):
    clf = AUCross(FrozenEstimator(LogisticRegression().fit(X, y)), random_state=0).fit(X, y)
    auc = held_out_auc(clf, 1.0) + gain
    found = clf.coverage_for(auc=auc, confidence=0.5)
    coverage = getattr(found, end)
    assert 0.5 < coverage < 1
    limits = []
    for tried in (coverage, coverage + step):
        selected = held_out_selection(clf, tried)
        both = obvious_auc_interval(clf.held_out_.positive[selected], clf.held_out_.scores[selected], failure)
        limits.append(both[end == "high"])
    assert limits[0] >= auc - 1e-9 > limits[1]


@pytest.mark.parametrize("n_positive", [10, 30])
def test_the_lower_end_is_kept_with_few_positives(n_positive):
    """The bands were placed on the same rows; still, at `low` they must really reach the target in .93 of samples."""
    rng, shift, target = np.random.default_rng(1), norm.ppf(0.76) * np.sqrt(2), 0.85
    n_negative = 20 * n_positive
    labels = np.arange(n_positive + n_negative) < n_positive
    grid = np.linspace(-6, 8, 4001)
    population = RankedScores(grid, norm.pdf(grid, shift), norm.pdf(grid))
    kept = []
    for _ in range(16):
        scores = rng.normal(size=len(labels)) + shift * labels
        clf = AUCross(ScoreColumn(0)).fit(norm.cdf(scores)[:, None], labels)
        found = clf.coverage_for(auc=target)
        assert (found.low, found.high) != (1.0, 1.0)
        band = clf.band(found.low or 1.0)
        in_scores = band if band.is_empty else RejectionBand(*norm.ppf([band.lower, band.upper]))
        kept.append(found.low == 0.0 or population.auc(in_scores) >= target)
    assert np.mean(kept) >= 0.93


def test_the_coverage_is_one_where_all_rows_reach_the_target(fitted):
    found = fitted.coverage_for(auc=0.5)
    assert found == HeldOutAnswer(1.0, low=1.0, high=1.0, confidence=0.95)
    assert fitted.coverage_for(auc=held_out_auc(fitted, 1.0) - 1e-9).value == 1.0


@pytest.mark.parametrize("name", METHODS)
def test_the_coverage_is_zero_where_nothing_reaches_the_target(name):
    upside_down = FrozenEstimator(LogisticRegression().fit(X, 1 - y))
    with pytest.warns(UserWarning, match=r"clearly below 0\.5"):
        clf = METHODS[name].__class__(upside_down, random_state=0).fit(X, y)
    found = clf.coverage_for(auc=0.999, confidence=0.5)
    assert (found.value, found.low) == (0.0, 0.0)


def test_asking_changes_nothing(fitted):
    before = select_each(fitted, X, [0.9, 0.7])
    fitted.coverage_for(auc=0.8)
    assert np.array_equal(select_each(fitted, X, [0.9, 0.7]), before)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"auc": 85}, ValueError, r"auc must be in \(0, 1\], got 85; pass 0\.85"),
        ({"auc": 0}, ValueError, r"auc must be in \(0, 1\], got 0"),
        ({"auc": nan}, ValueError, r"auc must be in \(0, 1\], got nan"),
        ({"auc": "0.8"}, TypeError, r"auc must be a number in \(0, 1\], got '0\.8'"),
        ({"auc": 0.8, "confidence": 95}, ValueError, r"confidence must be in \(0, 1\], got 95; for 95 % pass 0\.95"),
        (
            {"auc": 0.8, "confidence": 1.0},
            ValueError,
            r"must be below 1, got 1: a sample makes nothing certain; pass 0\.95",
        ),
        ({"auc": 0.8, "confidence": 0}, ValueError, r"confidence must be in \(0, 1\], got 0"),
        ({"auc": 0.8, "confidence": None}, TypeError, r"confidence must be a number"),
    ],
)
def test_targets_that_cannot_be_meant_are_refused(fitted, arguments, error, message):
    with pytest.raises(error, match=message):
        fitted.coverage_for(**arguments)


# ---- curves whose answer is known ----


def test_a_straight_curve_is_inverted():
    def curve(coverage):
        return 1 - coverage / 2, 0.98 - coverage / 2, 1.02 - coverage / 2

    found = largest_coverage(lambda failure: curve, 1000, auc=0.7)
    margin = 2 * 0.02
    assert found.value == pytest.approx(0.6, abs=1e-4)
    assert found.low == pytest.approx(0.6 - margin, abs=1e-4)
    assert found.high == pytest.approx(0.6 + margin, abs=1e-4)


def test_of_several_crossings_the_highest_counts():
    def curve(coverage):
        value = 0.9 if 0.35 < coverage < 0.553 or coverage < 0.2 else 0.8
        return value, value, value

    found = largest_coverage(lambda failure: curve, 1000, auc=0.85)
    assert found.value == pytest.approx(0.553, abs=1e-4)
    assert found.low == 0.19  # the walk begins at .1


@pytest.mark.parametrize(("n_rarest", "low"), [(1000, 0.0), (120, 0.62), (96, 0.0), (84, 0.73), (30, 0.0)])
def test_the_lower_end_is_where_a_walk_from_a_fixed_start_ends(n_rarest, low):
    def curve(coverage):
        return 0.9, 0.9 if 0.5 <= coverage < 0.625 or 0.7 < coverage < 0.735 else 0.8, 1.0

    # The start leaves 60 rows of the rarest class. To take any limit that passes would be to choose among a hundred.
    assert largest_coverage(lambda failure: curve, n_rarest, auc=0.85).low == low


@given(st.lists(st.floats(0.5, 1.0), min_size=100, max_size=100), st.floats(0.5, 1.0), st.floats(0.5, 1.0))
@property_test
def test_a_higher_target_never_has_a_higher_coverage(values, first, second):
    def curve(coverage):
        value = values[int(np.ceil(100 * coverage - 1e-9)) - 1]
        return value, value - 0.02, value + 0.02

    lower, higher = (largest_coverage(lambda failure: curve, 1000, auc=auc) for auc in sorted((first, second)))
    assert higher.low <= lower.low
    assert higher.value <= lower.value + 1e-3
    assert higher.high <= lower.high + 1e-2


def test_without_a_standard_error_only_the_estimate_says_something():
    found = largest_coverage(lambda failure: lambda coverage: (0.9, nan, nan), 1000, auc=0.85)
    assert (found.low, found.value, found.high) == (0.0, 1.0, 1.0)


def test_coverages_without_both_classes_do_not_reach_the_target():
    found = largest_coverage(lambda failure: lambda coverage: (0.9 if coverage > 0.5 else nan,) * 3, 1000, auc=0.95)
    assert (found.low, found.value, found.high) == (0.0, 0.0, 0.0)


# ---- several rows per customer ----


def width(clf, coverage=0.8):
    found = clf.held_out_auc(coverage)
    return found.high - found.low


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("method", [AUCross, PlugInAUC, SCross])
def test_rows_of_one_customer_count_together_where_fit_was_told(method, n_classes, tmp_path):
    rng = np.random.default_rng(0)
    customers = np.repeat(np.arange(150), 5)
    rows = np.repeat(rng.normal(size=(150, 2)), 5, axis=0) + 0.1 * rng.normal(size=(750, 2))
    labels = np.repeat((rows[::5, 0] + rng.normal(size=150) > 0).astype(int), 5)
    if n_classes == 3:
        labels += 2 * np.repeat(rows[::5, 1] + rng.normal(size=150) > 1, 5) * (labels == 0)
    settings = {"holdout_size": 0.4} if method is PlugInAUC else {}
    clf = method(LogisticRegression(), random_state=0, **settings).fit(rows, labels, groups=customers)
    told = width(clf)
    low = clf.coverage_for(auc=clf.held_out_auc(0.8).value).low
    untold = method(LogisticRegression(), random_state=0, **settings).fit(rows, labels, groups=customers)
    untold.fitted_ = replace(untold.fitted_, held_out=replace(untold.held_out_, units=None))
    # Five rows that are alike are hardly more than one, which is a width of root five; the added row widens it further.
    assert 1.8 < told / width(untold) < 3.2
    assert clf.held_out_auc(0.8).value == untold.held_out_auc(0.8).value
    assert low <= untold.coverage_for(auc=clf.held_out_auc(0.8).value).low
    save(clf, tmp_path / "clf.aucross")
    assert width(load(tmp_path / "clf.aucross")) == told


def test_customers_of_one_row_each_change_nothing():
    clf = AUCross(LogisticRegression(), random_state=0).fit(X, y, groups=np.arange(len(y)))
    told = clf.held_out_auc(0.8)
    clf.fitted_ = replace(clf.fitted_, held_out=replace(clf.held_out_, units=None))
    again = clf.held_out_auc(0.8)
    assert (told.low, told.high) == pytest.approx((again.low, again.high), rel=1e-9)
