"""Bands for other targets than the AUC: against slow versions, with ties, weights and isotonic labels."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from math import nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aucross.core import (
    AUCTarget,
    AveragePrecision,
    ExpectedCost,
    KolmogorovSmirnov,
    OptimalBands,
    PartialAUC,
    RankedScores,
    RejectionBand,
    Target,
    best_band_for,
)
from aucross.core.band_rule import BandRule
from aucross.core.targets import as_target
from aucross.evaluation import (
    expected_cost,
    selective_auc,
    selective_average_precision,
    selective_ks,
    selective_partial_auc,
)
from tests.reference import TOLERANCE, pairwise_auc
from tests.strategies import coverages, fractional_weights, property_test, rows

COSTS = [
    ExpectedCost(review=0.2),
    ExpectedCost(review=0.125, false_positive=0.5, false_negative=2.0),
    ExpectedCost(review=(0.1, 0.5), false_negative=4.0, true_positive=-1.0),
    ExpectedCost(review=0.3, threshold=0.25),
]
RATIOS = [KolmogorovSmirnov(), AveragePrecision(), PartialAUC(0.1), PartialAUC(0.37), PartialAUC(1.0)]
TARGETS = [AUCTarget(), *COSTS, *RATIOS]

every_ratio = pytest.mark.parametrize("target", RATIOS, ids=repr)
every_cost = pytest.mark.parametrize("target", COSTS, ids=repr)
every_target = pytest.mark.parametrize("target", TARGETS, ids=repr)


# ---- slow versions: entries are triples (score, positives, negatives) in ascending order ----

Entries = list[tuple[float, float, float]]


def slow_lead(kept: Entries) -> float:
    """Largest TPR - FPR over the thresholds "at least this score"."""
    positives, negatives = sum(entry[1] for entry in kept), sum(entry[2] for entry in kept)
    leads = [0.0]
    for threshold, _, _ in kept:
        hits = sum(p for score, p, _ in kept if score >= threshold)
        alarms = sum(n for score, _, n in kept if score >= threshold)
        leads.append(hits / positives - alarms / negatives)
    return max(leads)


def slow_average_precision(kept: Entries) -> float:
    positives = sum(entry[1] for entry in kept)
    total = 0.0
    for threshold, at_threshold, _ in kept:
        hits = sum(p for score, p, _ in kept if score >= threshold)
        alarms = sum(n for score, _, n in kept if score >= threshold)
        total += at_threshold / positives * (hits / (hits + alarms) if hits + alarms else 0.0)
    return total


def slow_partial_auc(kept: Entries, max_fpr: float) -> float:
    positives, negatives = sum(entry[1] for entry in kept), sum(entry[2] for entry in kept)
    area = rate = height = 0.0
    for _, p, n in reversed(kept):
        width, rise = n / negatives, p / positives
        used = min(width, max(max_fpr - rate, 0.0))
        if width > 0:
            area += used * (height + rise * used / width / 2)
        rate, height = rate + width, height + rise
    return (1 + (area - max_fpr**2 / 2) / (max_fpr - max_fpr**2 / 2)) / 2


def slow_cost(kept: Entries, reviewed: Entries, target: ExpectedCost) -> float:
    review = target.review if isinstance(target.review, tuple) else (target.review, target.review)
    cost = weight = 0.0
    for score, p, n in kept:
        as_positive = target.true_positive * p + target.false_positive * n
        as_negative = target.false_negative * p + target.true_negative * n
        if target.threshold is None:
            cost += min(as_positive, as_negative)
        else:
            cost += as_positive if score > target.threshold else as_negative
        weight += p + n
    for _, p, n in reviewed:
        cost += review[0] * n + review[1] * p
        weight += p + n
    return cost / weight


def slow_auc(kept: Entries) -> float:
    labels = [True] * len(kept) + [False] * len(kept)
    scores = [entry[0] for entry in kept] * 2
    return pairwise_auc(labels, scores, [entry[1] for entry in kept] + [entry[2] for entry in kept])


def slow_value(target: Target, entries: Entries, start: int, stop: int) -> float:
    """The target after rejecting a block; NaN if it needs a class that is missing."""
    kept, inside = entries[:start] + entries[stop:], entries[start:stop]
    if isinstance(target, ExpectedCost):
        return slow_cost(kept, inside, target)
    if sum(entry[1] for entry in kept) == 0 or sum(entry[2] for entry in kept) == 0:
        return nan
    slow: dict[type, Callable[[Entries], float]] = {
        AUCTarget: slow_auc,
        KolmogorovSmirnov: slow_lead,
        AveragePrecision: slow_average_precision,
        PartialAUC: lambda kept: slow_partial_auc(kept, target.max_fpr),
    }
    return slow[type(target)](kept)


def blocks_inside(entries: Entries, coverage: float) -> list[tuple[int, int]]:
    weights = [p + n for _, p, n in entries]
    budget = (1 - coverage) * sum(weights) + TOLERANCE * sum(weights)
    ends = range(len(entries) + 1)
    return [(start, stop) for start in ends for stop in ends if start < stop and sum(weights[start:stop]) <= budget]


def slow_best(target: Target, entries: Entries, coverage: float) -> float:
    """The best value of any allowed block or of none: of the lowest cost, or the highest among the widest blocks."""
    allowed = blocks_inside(entries, coverage)
    if isinstance(target, ExpectedCost):
        return min(slow_value(target, entries, *block) for block in [(0, 0), *allowed])
    widest = [
        (start, stop) for start, stop in allowed if not {(start - 1, stop), (start, stop + 1)}.intersection(allowed)
    ]
    if coverage == 1:
        widest = []
    values = [slow_value(target, entries, *block) for block in widest or [(0, 0)]]
    if not all(np.isnan(value) for value in values):
        return np.nanmax(values)
    # No band of full width leaves both classes: the heaviest that does.
    weight = [up + down for _, up, down in entries]
    others = [(sum(weight[slice(*block)]), slow_value(target, entries, *block)) for block in [(0, 0), *allowed]]
    others = [(inside, value) for inside, value in others if not np.isnan(value)]
    most = max((inside for inside, _ in others), default=nan)
    return [value for inside, value in others if inside >= most - 1e-9] or nan


# ---- random rankings ----


def rankings(number: int, seed: int = 20230425) -> Iterator[tuple[RankedScores, float]]:
    """Up to 14 entries: raw labels, tied and weighted or not, or isotonic ones; many coverages are shares of rows."""
    rng = np.random.default_rng(seed)
    for _ in range(number):
        size = int(rng.integers(2, 15))
        labels = rng.random(size) < rng.uniform(0.2, 0.8)
        distinct = int(rng.choice([3, 6, 1000]))
        scores = np.floor(distinct * (rng.random(size) + labels * rng.choice([0.0, 0.5]))) / 8
        weights = [np.ones(size), rng.integers(1, 4, size) * 1.0, rng.uniform(0.1, 3.0, size)][rng.integers(3)]
        ranked = RankedScores.from_labels(labels, scores, weights)
        coverage = rng.uniform(0.1, 1.0) if rng.random() < 0.5 else max(0.1, rng.integers(1, size + 1) / size)
        yield ranked.isotonic() if rng.random() < 0.4 else ranked, float(coverage)


def entries_of(ranked: RankedScores) -> Entries:
    return list(zip(ranked.scores.tolist(), ranked.positives.tolist(), ranked.negatives.tolist(), strict=True))


def portfolio(n_rows: int, *, seed: int = 0, decimals: int | None = None, weighted: bool = False) -> RankedScores:
    """Rows of a useful model, about a quarter positive."""
    rng = np.random.default_rng(seed)
    score = 1 / (1 + np.exp(1.4 - 1.2 * rng.normal(size=n_rows)))
    labels = rng.random(n_rows) < score
    weights = rng.lognormal(sigma=1.0, size=n_rows) if weighted else None
    return RankedScores.from_labels(labels, score if decimals is None else np.round(score, decimals), weights)


# ---- against brute force ----


@every_target
def test_the_value_of_a_band_equals_the_slow_version(target):
    for number, (ranked, _) in enumerate(rankings(150)):
        entries = entries_of(ranked)
        start, stop = sorted(np.random.default_rng(number).integers(0, len(entries) + 1, 2).tolist())
        stop = min(stop, start + len(entries) - 1)
        expected = slow_value(target, entries, start, stop)
        assert target.value(ranked, ranked.band(start, stop)) == pytest.approx(expected, abs=1e-12, nan_ok=True)


@every_target
def test_the_best_band_equals_brute_force_and_keeps_the_coverage(target):
    for ranked, coverage in rankings(300):
        entries = entries_of(ranked)
        band = best_band_for(ranked, coverage, target)
        reached = slow_value(target, entries, *ranked.block(band))
        if isinstance(target, AUCTarget):
            assert band == OptimalBands(ranked).place(coverage)
        else:
            # Of equally heavy bands that leave both classes, where no wider one does, any may be taken.
            expected = np.atleast_1d(slow_best(target, entries, coverage))
            assert any(reached == pytest.approx(value, abs=1e-11, nan_ok=True) for value in expected)
        assert ranked.coverage(band) >= coverage - TOLERANCE


@pytest.mark.parametrize("labels", ["raw", "isotonic"])
@pytest.mark.parametrize(
    ("decimals", "weighted"),
    [(None, False), (2, False), (None, True), (2, True)],
    ids=["rows", "ties", "weights", "both"],
)
@every_ratio
def test_no_widest_block_of_400_rows_is_better(target, decimals, weighted, labels):
    ranked = portfolio(400, decimals=decimals, weighted=weighted, seed=3)
    ranked = ranked.isotonic() if labels == "isotonic" else ranked
    for coverage in (0.95, 0.7):
        band = target.best_band(ranked, coverage)
        weight = ranked.weight_below
        stops = np.searchsorted(weight, weight + (1 - coverage + 1e-12) * ranked.total, side="right") - 1
        values = [
            target.value(ranked, ranked.band(start, stop))
            for start, stop in enumerate(stops)
            if stop > start and (start == 0 or stop > stops[start - 1])
        ]
        assert target.value(ranked, band) == pytest.approx(np.nanmax(values), abs=1e-11)
        assert ranked.coverage(band) >= coverage - 1e-12


@every_ratio
@pytest.mark.parametrize("coverage", [0.9, 0.75])
def test_on_isotonic_labels_no_narrower_band_of_these_portfolios_is_better(target, coverage):
    for seed in range(3):
        ranked = portfolio(80, seed=seed).isotonic()
        budget = round(80 * (1 - coverage))
        values = [
            target.value(ranked, ranked.band(start, start + width))
            for width in range(1, budget + 1)
            for start in range(81 - width)
        ]
        assert target.value(ranked, target.best_band(ranked, coverage)) == pytest.approx(np.nanmax(values), abs=1e-11)


@every_cost
@pytest.mark.parametrize("weighted", [False, True], ids=["rows", "weights"])
def test_no_block_of_300_rows_is_cheaper(target, weighted):
    ranked = portfolio(300, weighted=weighted, seed=5).isotonic()
    ends = range(len(ranked) + 1)
    for coverage in (0.97, 0.6):
        band = target.best_band(ranked, coverage)
        decided, reviewed = target._decision_costs(ranked), target._review_costs(ranked)
        saved = np.concatenate(([0.0], np.cumsum(decided - reviewed)))
        weight = ranked.weight_below
        most = max(
            saved[stop] - saved[start]
            for start in ends
            for stop in ends
            if start <= stop and weight[stop] - weight[start] <= (1 - coverage + 1e-12) * ranked.total
        )
        assert target.value(ranked) - target.value(ranked, band) == pytest.approx(most / ranked.total, abs=1e-12)
        assert ranked.coverage(band) >= coverage - 1e-12


@every_target
def test_weight_k_gives_the_band_of_the_row_k_times(target):
    rng = np.random.default_rng(1)
    for _ in range(40):
        labels, scores, times = rng.random(12) < 0.4, rng.integers(0, 9, 12) / 8, rng.integers(1, 4, 12)
        weighted = RankedScores.from_labels(labels, scores, times)
        repeated = RankedScores.from_labels(np.repeat(labels, times), np.repeat(scores, times))
        coverage = float(rng.uniform(0.3, 1))
        assert best_band_for(weighted, coverage, target) == best_band_for(repeated, coverage, target)


@every_target
@property_test
@given(given_rows=rows(weights=fractional_weights), coverage=coverages)
def test_a_band_never_falls_under_the_coverage_and_leaves_both_classes(target, given_rows, coverage):
    ranked = RankedScores.from_labels(given_rows.labels, given_rows.scores, given_rows.weights)
    for given_ranking in (ranked, ranked.isotonic()):
        band = best_band_for(given_ranking, coverage, target)
        assert given_ranking.coverage(band) >= coverage - TOLERANCE
        before, after = target.value(given_ranking), target.value(given_ranking, band)
        if isinstance(target, ExpectedCost):
            assert after <= before + 1e-11  # rows that cost more to review than to decide are decided
        else:
            assert np.isnan(before) == np.isnan(after)


# ---- the same numbers as the evaluation ----


@pytest.mark.parametrize(
    ("target", "metric"),
    [
        (AUCTarget(), selective_auc),
        (KolmogorovSmirnov(), selective_ks),
        (AveragePrecision(), selective_average_precision),
        (PartialAUC(), selective_partial_auc),
        (PartialAUC(0.3), lambda *args, **kw: selective_partial_auc(*args, max_fpr=0.3, **kw)),
        (PartialAUC(1.0), selective_auc),
    ],
    ids=["auc", "ks", "average precision", "partial auc", "partial auc to .3", "partial auc to 1"],
)
def test_a_target_is_the_metric_of_the_same_name(target, metric):
    rng = np.random.default_rng(2)
    for _ in range(30):
        labels = rng.random(60) < 0.4
        scores = np.round(rng.random(60) + 0.3 * labels, 1)
        weights = rng.uniform(0.2, 3, 60)
        ranked = RankedScores.from_labels(labels, scores, weights)
        lower, upper = np.sort(rng.uniform(0.3, 0.9, 2))
        band = RejectionBand(lower, upper)
        expected = metric(labels, scores, band.selects(scores), sample_weight=weights)
        assert target.value(ranked, band) == pytest.approx(expected, abs=1e-12)


def test_the_cost_of_decisions_at_a_threshold_is_the_metric_expected_cost():
    rng = np.random.default_rng(4)
    labels, scores, weights = rng.random(80) < 0.3, np.round(rng.random(80), 1), rng.uniform(0.2, 3, 80)
    ranked = RankedScores.from_labels(labels, scores, weights)
    target = ExpectedCost(review=(0.2, 0.7), false_positive=2, false_negative=5, true_positive=-1, threshold=0.6)
    band = RejectionBand(0.3, 0.7)
    expected = expected_cost(
        labels,
        scores > 0.6,
        band.selects(scores),
        review_cost=[0.2, 0.7],
        cost_matrix=[[0, 2], [5, -1]],
        sample_weight=weights,
    )
    assert target.value(ranked, band) == pytest.approx(expected, abs=1e-12)


# ---- Chow's rule ----

costs = st.builds(
    ExpectedCost,
    review=st.one_of(st.floats(0.0, 0.6), st.tuples(st.floats(0.0, 1.0), st.floats(0.0, 1.0))),
    false_positive=st.floats(0.5, 3.0),
    false_negative=st.floats(0.5, 3.0),
    true_positive=st.floats(-1.0, 0.4),
    true_negative=st.floats(-1.0, 0.4),
)


def chow_rejects(eta: np.ndarray, target: ExpectedCost) -> np.ndarray:
    """Where the cheaper decision is expected to cost more than a review."""
    of_negative, of_positive = target.review if isinstance(target.review, tuple) else (target.review,) * 2
    as_positive = eta * target.true_positive + (1 - eta) * target.false_positive
    as_negative = eta * target.false_negative + (1 - eta) * target.true_negative
    return np.minimum(as_positive, as_negative) > eta * of_positive + (1 - eta) * of_negative


@property_test
@given(target=costs, seed=st.integers(0, 1000), weighted=st.booleans())
def test_with_known_probabilities_and_no_binding_budget_the_band_is_chows_rule(target, seed, weighted):
    rng = np.random.default_rng(seed)
    eta = np.unique(rng.beta(rng.uniform(0.3, 3), rng.uniform(0.3, 3), size=500))
    weight = rng.uniform(0.1, 5, len(eta)) if weighted else np.ones(len(eta))
    scores = np.log(eta / (1 - eta)) if (eta < 1).all() else eta  # any increasing function
    ranked = RankedScores(scores, weight * eta, weight * (1 - eta))
    rejected = chow_rejects(eta, target)
    assert (np.diff(rejected.astype(int)) == 1).sum() <= 1  # one interval
    if not rejected.any():
        assert target.best_band(ranked, 0.001).is_empty
        return
    coverage = max(0.001, 1 - (weight @ rejected + weight.max()) / weight.sum())
    if weight @ rejected <= (1 - coverage) * weight.sum():
        band = target.best_band(ranked, coverage)
        assert np.array_equal(band.rejects(scores), rejected)


@property_test
@given(target=costs, seed=st.integers(0, 1000), coverage=st.floats(0.5, 1.0))
def test_with_a_binding_budget_the_band_costs_no_more_than_any_selection_by_savings(target, seed, coverage):
    rng = np.random.default_rng(seed)
    eta = np.unique(rng.random(300))
    ranked = RankedScores(eta, eta, 1 - eta)
    saving = target._decision_costs(ranked) - target._review_costs(ranked)
    # Rows of weight 1: the best selection whatever its shape takes the largest savings that the budget holds.
    allowed = int(np.floor(len(eta) * (1 - coverage) + 1e-9))
    most = np.sort(saving)[::-1][:allowed].clip(min=0).sum()
    band = target.best_band(ranked, coverage)
    assert target.value(ranked) - target.value(ranked, band) == pytest.approx(most / len(eta), abs=1e-12)


@pytest.mark.parametrize("review", [0.1, 0.25, 0.4])
def test_chows_rule_for_the_error_rate_rejects_probabilities_nearer_to_a_half_than_the_review_cost(review):
    eta = (np.arange(2000) + 0.5) / 2000
    band = ExpectedCost(review=review).best_band(RankedScores(eta, eta, 1 - eta), 0.01)
    assert band.lower == pytest.approx(review, abs=1 / 2000)
    assert band.upper == pytest.approx(1 - review, abs=1 / 2000)


def test_a_row_whose_decision_costs_what_its_review_costs_is_decided():
    eta = np.array([0.125, 0.25, 0.5, 0.75, 0.875])
    band = ExpectedCost(review=0.25).best_band(RankedScores(eta, eta, 1 - eta), 0.01)
    assert band == RejectionBand(0.5, 0.5)


def test_a_review_that_costs_more_than_any_decision_is_never_asked_for():
    assert ExpectedCost(review=0.5).best_band(portfolio(500).isotonic(), 0.2).is_empty


def test_a_free_review_uses_the_budget_where_decisions_cost_most():
    eta = np.linspace(0.005, 0.995, 100)
    band = ExpectedCost(review=0.0).best_band(RankedScores(eta, eta, 1 - eta), 0.8)
    assert band.lower == pytest.approx(0.4, abs=0.02)
    assert band.upper == pytest.approx(0.6, abs=0.02)


def test_the_cheapest_threshold_parts_the_cheaper_decisions():
    target = ExpectedCost(review=0.1, false_positive=1, false_negative=4, true_positive=-1)
    assert target.cheapest_threshold == pytest.approx(1 / 6)
    eta = np.linspace(0.01, 0.99, 99)
    ranked = RankedScores(eta, eta, 1 - eta)
    at_threshold = ExpectedCost(
        review=0.1, false_positive=1, false_negative=4, true_positive=-1, threshold=target.cheapest_threshold
    )
    assert target.value(ranked) == pytest.approx(at_threshold.value(ranked), abs=1e-12)
    assert ExpectedCost(review=1, false_positive=0, false_negative=0).cheapest_threshold == 0.5


# ---- the AUC, the rule, names ----


@property_test
@given(rows(weights=fractional_weights), coverages)
def test_the_auc_gives_the_optimal_bands(given_rows, coverage):
    ranked = RankedScores.from_labels(given_rows.labels, given_rows.scores, given_rows.weights).isotonic()
    expected = OptimalBands(ranked).place(coverage)
    assert OptimalBands(ranked).place(coverage) == expected
    assert OptimalBands(ranked, "auc").place(coverage) == expected
    assert best_band_for(ranked, coverage) == expected


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("auc", AUCTarget()),
        ("ks", KolmogorovSmirnov()),
        ("average_precision", AveragePrecision()),
        ("partial_auc", PartialAUC(max_fpr=0.1)),
    ],
)
def test_a_name_stands_for_its_target(name, target):
    ranked = portfolio(300, decimals=2).isotonic()
    assert as_target(name) == target
    assert OptimalBands(ranked, name).target == target
    assert OptimalBands(ranked, name).place(0.8) == target.best_band(ranked, 0.8) == best_band_for(ranked, 0.8, name)


@every_target
def test_a_rule_is_a_band_rule_and_survives_a_pickle(target):
    rule = OptimalBands(portfolio(200).isotonic(), target)
    assert isinstance(rule, BandRule)
    assert isinstance(target, Target)
    copy = pickle.loads(pickle.dumps(rule))
    assert copy.target == target
    assert copy.band(0.7) == rule.band(0.7)


def test_any_object_with_the_two_methods_is_a_target():
    class Nothing:
        def value(self, ranked, band=None):
            return 0.0

        def best_band(self, ranked, coverage):
            return RejectionBand()

    assert OptimalBands(portfolio(20), Nothing()).band(0.5).is_empty


# ---- degenerate rankings ----


@every_target
def test_coverage_1_gives_the_empty_band(target):
    assert best_band_for(portfolio(50, decimals=1), 1.0, target).is_empty


@every_target
def test_an_empty_ranking_gives_the_empty_band_and_no_value(target):
    empty = RankedScores([], [], [])
    assert best_band_for(empty, 0.5, target).is_empty
    assert np.isnan(target.value(empty))


@every_target
def test_constant_scores_give_the_empty_band(target):
    assert best_band_for(RankedScores([0.5], [3], [4]), 0.3, target).is_empty


@every_ratio
@pytest.mark.parametrize("label", [0, 1])
def test_one_class_gives_the_empty_band_for_a_ratio(target, label):
    ranked = RankedScores.from_labels([label] * 4, [0.1, 0.2, 0.3, 0.4])
    assert target.best_band(ranked, 0.5).is_empty
    assert np.isnan(target.value(ranked))


@every_ratio
def test_a_band_for_a_ratio_leaves_both_classes(target):
    ranked = RankedScores.from_labels([0] * 9 + [1], np.arange(10))
    assert target.value(ranked, target.best_band(ranked, 0.5)) == pytest.approx(1.0)


@every_ratio
def test_separated_classes_use_the_budget_in_the_middle_of_the_rows(target):
    ranked = RankedScores.from_labels([0] * 5 + [1] * 5, np.arange(10))
    assert target.best_band(ranked, 0.8) == RejectionBand(4, 5)


def test_a_useless_model_with_weights_does_not_make_average_precision_slow():
    rng = np.random.default_rng(0)
    weight = rng.lognormal(size=20_000)
    ranked = RankedScores(np.arange(20_000.0), 0.2 * weight, 0.8 * weight)
    band = AveragePrecision().best_band(ranked, 0.8)
    assert AveragePrecision().value(ranked, band) == pytest.approx(0.2, abs=1e-9)


# ---- errors ----


@pytest.mark.parametrize("target", ["gini", "AUC", 3, None, ExpectedCost, PartialAUC])
def test_an_unknown_target_is_refused_with_the_names_that_there_are(target):
    with pytest.raises(ValueError, match=r'target must be one of "auc", "ks", "average_precision", "partial_auc"'):
        best_band_for(portfolio(20), 0.5, target)


def test_expected_cost_by_name_is_refused_because_costs_must_be_given():
    with pytest.raises(ValueError, match="the costs must be given"):
        as_target("expected_cost")


@every_target
@pytest.mark.parametrize("coverage", [0.0, 1.5, -1])
def test_a_coverage_outside_its_range_is_refused(target, coverage):
    with pytest.raises(ValueError, match=r"coverage must be in \(0, 1\]"):
        best_band_for(portfolio(20), coverage, target)


@pytest.mark.parametrize("max_fpr", [0.0, 1.1, -0.2])
def test_a_max_fpr_outside_its_range_is_refused(max_fpr):
    with pytest.raises(ValueError, match=r"max_fpr must be in \(0, 1\]"):
        PartialAUC(max_fpr)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"review": np.nan}, "review must be a finite number, got nan"),
        ({"review": "cheap"}, "review must be a finite number, got 'cheap'"),
        ({"review": (0.1, np.inf)}, "review must be a finite number, got inf"),
        ({"review": (0.1, 0.2, 0.3)}, r"review must be one number or a pair \(negatives, positives\), got 3"),
        ({"review": 0.1, "false_positive": np.inf}, "false_positive must be a finite number"),
        ({"review": 0.1, "false_negative": True}, "false_negative must be a finite number"),
        ({"review": 0.1, "threshold": np.nan}, "threshold must be a finite number"),
        ({"review": 0.1, "false_positive": -1}, "a wrong decision must not cost less than the right one"),
        ({"review": 0.1, "true_positive": 3}, "a wrong decision must not cost less than the right one"),
    ],
)
def test_costs_that_cannot_be_meant_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        ExpectedCost(**arguments)


def test_review_costs_by_class_may_come_as_a_list():
    assert ExpectedCost(review=[0.1, 0.2]) == ExpectedCost(review=(0.1, 0.2))
    assert hash(ExpectedCost(review=[0.1, 0.2])) == hash(ExpectedCost(review=(0.1, 0.2)))
