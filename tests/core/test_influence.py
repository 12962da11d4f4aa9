from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from itertools import permutations
from math import inf, isnan, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aucross.core import BandRule, RankedScores, RejectionBand, estimate_auc_bands
from aucross.core.influence import (
    LEAST_GAIN,
    MAX_BINS,
    Contest,
    ExpectedAUC,
    InfluenceBands,
    InfluenceThreshold,
    edges_of_bins,
    highest_within_budget,
    place_by_influence,
)
from aucross.core.scored_rows import RuleInput
from tests.reference import TOLERANCE, pairwise_auc
from tests.strategies import counts, coverages, fractional_weights, no_weights, property_test, rows

BINARY = (Contest(column=0, winner=1, loser=0),)
HAND_TILL = tuple(Contest(column=j, winner=j, loser=k) for j, k in permutations(range(3), 2))
COVERAGES = (0.99, 0.95, 0.9, 0.75, 0.5, 0.2)


# ---- slow, obvious versions ----


def expected_auc(columns, probabilities, contests, weights) -> float:
    """Mean over contests of the pairs won in expectation, by a loop over all pairs of rows."""
    values = [
        contest_auc(columns[:, c.column], probabilities[:, c.winner], probabilities[:, c.loser], weights)
        for c in contests
    ]
    return float(np.mean(values))


def contest_auc(score, chance_of_winner, chance_of_loser, weights) -> float:
    won = kept = 0.0
    for s, winner, weight in zip(score, chance_of_winner, weights, strict=True):
        for other, loser, other_weight in zip(score, chance_of_loser, weights, strict=True):
            pairs = weight * winner * other_weight * loser
            kept += pairs
            won += pairs * (0.5 if s == other else float(s > other))
    return won / kept if kept > 0 else nan


def highest_within_budget_by_trying(scores, weights, budget) -> float:
    """Try every score as the threshold; a row at least stays."""
    fitting = [
        score
        for score, of_score in zip(scores, weights, strict=True)
        if of_score > 0 and score < max(scores) and weights[scores <= score].sum() <= budget
    ]
    return max(fitting, default=-inf)


# ---- rows ----


@st.composite
def objectives(draw, n_classes=2, weights=counts, min_size=3, max_size=12):
    """Tied scores, probabilities of every class well above 0, and weights."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    size = draw(st.integers(min_size, max_size))
    n_columns = 1 if n_classes == 2 else n_classes
    columns = rng.integers(-4, 5, (size, n_columns)) / 8
    probabilities = rng.dirichlet(np.ones(n_classes), size) * 0.94 + 0.06 / n_classes
    weight = np.array(draw(st.lists(weights, min_size=size, max_size=size)))
    weight[0] = max(weight[0], 1.0)
    return ExpectedAUC(columns, probabilities, BINARY if n_classes == 2 else HAND_TILL, weight)


def simulate(n_rows=3000, seed=0, *, knows=1.0):
    """A score that misses part of what decides, and probabilities that know a share of that part."""
    rng = np.random.default_rng(seed)
    seen, unseen = rng.normal(size=(2, n_rows))
    score = 1 / (1 + np.exp(-seen))
    chance = 1 / (1 + np.exp(1.0 - seen - 2 * knows * unseen))
    return score, np.column_stack((1 - chance, chance)), rng


def simulated(n_rows=3000, seed=0, *, knows=1.0, weighted=False) -> ExpectedAUC:
    score, probabilities, rng = simulate(n_rows, seed, knows=knows)
    return ExpectedAUC(score[:, None], probabilities, BINARY, rng.gamma(1.0, size=n_rows) if weighted else None)


def score_bands(objective: ExpectedAUC) -> BandRule:
    """The best bands of the score alone, under the probabilities of the objective."""
    score, chance, weight = objective.columns[:, 0], objective.probabilities[:, 1], objective.weight
    positive = RankedScores.from_labels(np.ones(len(score)), score, weight * chance)
    negative = RankedScores.from_labels(np.zeros(len(score)), score, weight * (1 - chance))
    return estimate_auc_bands(positive + negative)


def value_of(objective: ExpectedAUC, selected) -> float:
    return objective.table(objective.histograms(selected)).value


def selected_by(rule: InfluenceBands, coverage: float, objective: ExpectedAUC | None = None) -> np.ndarray:
    objective = rule.objective if objective is None else objective
    scores = rule.selection_score(RuleInput(objective.columns, objective.probabilities), coverage)
    return rule.band(coverage).selects(scores)


def budget_of(objective: ExpectedAUC, coverage: float) -> float:
    return float(objective.weight.sum()) * (1 - coverage)


def coverage_of(objective: ExpectedAUC, selected) -> float:
    return float(objective.weight[selected].sum() / objective.weight.sum())


# ---- the expected AUC ----


@pytest.mark.parametrize("n_classes", [2, 3])
@property_test
@given(data=st.data())
def test_the_value_is_the_expected_share_of_pairs_won(data, n_classes):
    objective = data.draw(objectives(n_classes, weights=fractional_weights))
    n_rows = len(objective.columns)
    selected = np.array(data.draw(st.lists(st.booleans(), min_size=n_rows, max_size=n_rows)))
    expected = expected_auc(objective.columns, objective.probabilities, objective.contests, objective.weight * selected)
    assert value_of(objective, selected) == pytest.approx(expected, rel=0, abs=1e-12, nan_ok=True)


@property_test
@given(rows(weights=fractional_weights, both_classes=True))
def test_with_certain_probabilities_the_value_is_the_auc(given_rows):
    certain = np.column_stack((~given_rows.labels, given_rows.labels)).astype(float)
    objective = ExpectedAUC(given_rows.scores[:, None], certain, BINARY, given_rows.weights)
    expected = RankedScores.from_labels(*given_rows).auc()
    assert value_of(objective, np.ones(len(certain))) == pytest.approx(expected, rel=0, abs=1e-12)


def test_with_certain_probabilities_and_three_classes_the_value_is_the_mean_over_ordered_pairs():
    rng = np.random.default_rng(0)
    labels, columns = rng.integers(0, 3, 60), rng.integers(0, 9, (60, 3)) / 8
    objective = ExpectedAUC(columns, np.eye(3)[labels], HAND_TILL)
    pairs = [
        pairwise_auc(labels[part] == j, columns[part, j])
        for j, k in permutations(range(3), 2)
        for part in [(labels == j) | (labels == k)]
    ]
    assert value_of(objective, np.ones(60)) == pytest.approx(np.mean(pairs), abs=1e-12)


def test_without_one_of_its_classes_the_value_is_nan_and_their_contests_move_no_row():
    labels, columns = np.array([0, 0, 1, 1]), np.array([[0.9, 0.1, 0], [0.4, 0.6, 0], [0.5, 0.5, 0], [0.1, 0.9, 0]])
    objective = ExpectedAUC(columns, np.eye(3)[labels], HAND_TILL)
    table = objective.table(objective.histograms(np.ones(4)))
    assert isnan(table.value)
    assert table.gains[2].tolist() == [[0.0], [0.0], [0.0]]


def test_a_class_is_never_rejected_as_a_whole():
    labels = np.arange(60) % 3
    columns = np.random.default_rng(0).random((60, 3))
    columns[labels == 2] -= [0, 0, 1]  # ranked upside down: without this class the others would do better
    objective = ExpectedAUC(columns, np.eye(3)[labels], HAND_TILL)
    placed = place_by_influence(objective, 25, np.ones(60, dtype=bool))
    selected = objective.influence(placed.table) > placed.threshold
    assert set(labels[selected]) == {0, 1, 2}


def test_without_any_contest_the_value_is_nan_and_no_row_has_influence():
    objective = ExpectedAUC(np.array([[0.1], [0.2]]), np.array([[1.0, 0.0], [1.0, 0.0]]), BINARY)
    table = objective.table(objective.histograms(np.ones(2)))
    assert isnan(table.value)
    assert objective.influence(table).tolist() == [0.0, 0.0]


# ---- the influence ----


@pytest.mark.parametrize("n_classes", [2, 3])
@property_test
@given(data=st.data())
def test_the_influence_is_the_derivative_of_the_value_with_respect_to_the_weight_of_a_row(data, n_classes):
    objective = data.draw(objectives(n_classes, weights=st.floats(0.5, 3.0), min_size=4))
    n_rows = len(objective.columns)
    shares = np.array(data.draw(st.lists(st.floats(0.2, 1.0), min_size=n_rows, max_size=n_rows)))
    influence = objective.influence(objective.table(objective.histograms(shares)))
    selected_weight = objective.weight * shares
    step = 1e-5
    for row in range(len(influence)):
        nudge = np.zeros(len(influence))
        nudge[row] = step
        up, down = (
            expected_auc(objective.columns, objective.probabilities, objective.contests, selected_weight + sign * nudge)
            for sign in (1, -1)
        )
        assert influence[row] == pytest.approx((up - down) / (2 * step), rel=1e-5, abs=1e-8)


@property_test
@given(objectives(weights=fractional_weights))
def test_influences_balance_over_the_selected_weight(objective):
    # The AUC does not change if all weights grow alike.
    influence = objective.influence(objective.table(objective.histograms(np.ones(len(objective.columns)))))
    assert influence @ objective.weight == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_influence_of_new_rows_is_read_from_the_bins_of_the_old(n_classes):
    rng = np.random.default_rng(0)
    n_columns = 1 if n_classes == 2 else 3
    columns = rng.integers(0, 9, (200, n_columns)) / 8
    probabilities = rng.dirichlet(np.ones(n_classes), 200)
    objective = ExpectedAUC(columns, probabilities, BINARY if n_classes == 2 else HAND_TILL)
    table = objective.table(objective.histograms(np.ones(200)))
    assert np.array_equal(table.influence(columns, probabilities), objective.influence(table))
    # A score between two known ones falls into the bin of the upper one, one outside into the last on its side.
    assert np.array_equal(table.influence(columns - 0.01, probabilities), objective.influence(table))
    far = table.influence(np.full((200, n_columns), 1e9), probabilities)
    assert np.array_equal(far, table.influence(np.full((200, n_columns), 1.0), probabilities))


# ---- bins and histograms ----


@property_test
@given(st.lists(st.integers(-6, 6), min_size=1, max_size=60), st.integers(2, 5), st.booleans())
def test_bins_keep_ties_together_and_the_order(values, max_bins, weighted):
    scores = np.array(values) / 8
    weight = np.linspace(1, 2, len(scores)) if weighted else None
    edges = edges_of_bins(scores, weight, max_bins=max_bins)
    place = np.searchsorted(edges, scores)
    assert len(edges) + 1 <= max_bins
    assert place.min() >= 0
    assert place.max() <= len(edges)
    order = np.argsort(scores, kind="stable")
    assert (np.diff(place[order]) >= 0).all()
    for score in np.unique(scores):
        assert len(np.unique(place[scores == score])) == 1


@property_test
@given(st.lists(st.integers(-6, 6), min_size=1, max_size=60))
def test_every_distinct_score_has_its_own_bin_where_there_are_few(values):
    edges = edges_of_bins(np.array(values) / 8, max_bins=13)
    assert len(edges) + 1 == len(set(values))
    assert len(np.unique(np.searchsorted(edges, np.unique(values) / 8))) == len(set(values))


@pytest.mark.parametrize("max_bins", [2, 16, 1000])
@pytest.mark.parametrize("weighted", [False, True])
def test_many_scores_fall_into_bins_of_equal_weight(max_bins, weighted):
    rng = np.random.default_rng(0)
    scores = rng.lognormal(size=20_000)
    weight = rng.gamma(1.0, size=20_000) if weighted else None
    edges = edges_of_bins(scores, weight, max_bins=max_bins)
    assert len(edges) + 1 == max_bins
    per_bin = np.bincount(np.searchsorted(edges, scores), weights=weight, minlength=max_bins)
    heaviest = 1.0 if weight is None else weight.max()
    assert per_bin == pytest.approx(per_bin.sum() / max_bins, abs=2 * heaviest)


def test_rows_of_weight_zero_make_no_bins():
    rng = np.random.default_rng(0)
    scores = rng.random(500)
    counted = rng.random(500) < 0.5
    for max_bins in (7, 1000):
        weighted = edges_of_bins(scores, counted.astype(float), max_bins=max_bins)
        assert np.array_equal(weighted, edges_of_bins(scores[counted], max_bins=max_bins))


@property_test
@given(objectives(n_classes=3), st.data())
def test_histograms_are_linear_in_the_selection(objective, data):
    shares = st.lists(st.floats(0, 1), min_size=len(objective.columns), max_size=len(objective.columns))
    first, second = np.array(data.draw(shares)), np.array(data.draw(shares))
    part = data.draw(st.floats(0, 1))
    mixed = objective.histograms(part * first + (1 - part) * second)
    expected = [
        part * one + (1 - part) * other
        for one, other in zip(objective.histograms(first), objective.histograms(second), strict=True)
    ]
    for histogram, combined in zip(mixed, expected, strict=True):
        assert histogram == pytest.approx(combined, abs=1e-12)


def test_a_mask_counts_as_shares_of_zero_and_one():
    objective = simulated(100)
    mask = np.arange(100) % 3 > 0
    for by_mask, by_share in zip(objective.histograms(mask), objective.histograms(mask.astype(float)), strict=True):
        assert np.array_equal(by_mask, by_share)


def test_quantile_bins_move_the_value_little():
    objective = simulated(20_000)
    exact = RankedScores.from_labels(np.ones(20_000), objective.columns[:, 0], objective.probabilities[:, 1])
    exact += RankedScores.from_labels(np.zeros(20_000), objective.columns[:, 0], objective.probabilities[:, 0])
    assert len(objective.edges[0]) + 1 == MAX_BINS
    assert value_of(objective, np.ones(20_000)) == pytest.approx(exact.auc(), abs=1e-6)


# ---- the threshold ----


@property_test
@given(rows(weights=counts, max_size=20), st.floats(0.0, 1.0))
def test_the_threshold_is_the_highest_that_the_budget_allows(given_rows, share):
    budget = share * given_rows.weights.sum()
    found = highest_within_budget(given_rows.scores, given_rows.weights, budget)
    assert found == highest_within_budget_by_trying(given_rows.scores, given_rows.weights, budget)
    assert given_rows.weights[given_rows.scores <= found].sum() <= budget


@property_test
@given(rows(weights=no_weights, max_size=20), st.floats(0.0, 1.0))
def test_the_threshold_without_weights_is_that_of_weights_of_one(given_rows, share):
    budget = share * len(given_rows.scores)
    found = highest_within_budget(given_rows.scores, None, budget)
    assert found == highest_within_budget_by_trying(given_rows.scores, given_rows.weights, budget)
    assert found == highest_within_budget(given_rows.scores, given_rows.weights, budget)


def test_a_budget_below_the_lightest_row_rejects_nothing():
    assert highest_within_budget(np.array([0.3, 0.1, 0.2]), None, 0.99) == -inf
    assert highest_within_budget(np.array([0.3, 0.1, 0.2]), np.array([1.0, 2.0, 1.0]), 1.99) == -inf


def test_a_tie_larger_than_the_budget_is_kept_whole():
    assert highest_within_budget(np.array([0.1, 0.5, 0.5, 0.5, 0.9]), None, 2) == 0.1
    assert highest_within_budget(np.array([0.5, 0.5, 0.5]), None, 2) == -inf


@pytest.mark.parametrize("weight", [None, np.ones(4)])
def test_a_row_stays_whatever_the_budget(weight):
    assert highest_within_budget(np.array([0.4, 0.2, 0.1, 0.3]), weight, 10) == 0.3


# ---- the search ----


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("coverage", COVERAGES)
def test_the_rule_found_is_better_in_expectation_than_its_start_and_within_the_budget(coverage, weighted):
    objective = simulated(weighted=weighted)
    start = score_bands(objective).band(coverage).selects(objective.columns[:, 0])
    placed = place_by_influence(objective, budget_of(objective, coverage), start)
    assert isinstance(placed, InfluenceThreshold)
    selected = objective.influence(placed.table) > placed.threshold
    assert value_of(objective, selected) > value_of(objective, start) + LEAST_GAIN
    assert coverage_of(objective, selected) >= coverage - 1e-12
    # The budget is used up but for the row that comes next.
    assert coverage_of(objective, selected) <= coverage + objective.weight.max() / objective.weight.sum() + 1e-12


@property_test
@given(objectives(weights=fractional_weights, max_size=20), coverages)
def test_no_rule_is_ever_worse_in_expectation_than_its_start(objective, coverage):
    start = score_bands(objective).band(coverage).selects(objective.columns[:, 0])
    placed = place_by_influence(objective, budget_of(objective, coverage), start)
    if placed is not None:
        selected = objective.influence(placed.table) > placed.threshold
        assert value_of(objective, selected) >= value_of(objective, start) + LEAST_GAIN
        assert coverage_of(objective, selected) >= coverage - TOLERANCE


@property_test
@given(objectives(n_classes=3, weights=fractional_weights, max_size=20), coverages)
def test_no_rule_over_three_classes_is_ever_worse_in_expectation_than_selecting_all(objective, coverage):
    everything = np.ones(len(objective.columns), dtype=bool)
    placed = place_by_influence(objective, budget_of(objective, coverage), everything)
    if placed is not None:
        selected = objective.influence(placed.table) > placed.threshold
        assert value_of(objective, selected) >= value_of(objective, everything) + LEAST_GAIN
        assert coverage_of(objective, selected) >= coverage - TOLERANCE


@pytest.mark.parametrize("coverage", COVERAGES)
def test_probabilities_that_follow_the_score_leave_the_score_band_in_force(coverage):
    objective = simulated(knows=0.0)
    start = score_bands(objective).band(coverage).selects(objective.columns[:, 0])
    assert place_by_influence(objective, budget_of(objective, coverage), start) is None


@pytest.mark.parametrize("coverage", COVERAGES)
def test_no_score_band_is_better_in_expectation_by_more_than_the_margin(coverage):
    # From all rows alike the search finds by itself what the exact search of a band finds.
    objective = simulated(knows=0.0)
    everything = np.ones(len(objective.columns), dtype=bool)
    placed = place_by_influence(objective, budget_of(objective, coverage), everything)
    selected = everything if placed is None else objective.influence(placed.table) > placed.threshold
    band = score_bands(objective).band(coverage).selects(objective.columns[:, 0])
    assert value_of(objective, selected) == pytest.approx(value_of(objective, band), abs=LEAST_GAIN)


def test_damped_steps_do_not_cycle():
    objective = simulated()
    everything = np.ones(len(objective.columns), dtype=bool)
    budget = budget_of(objective, 0.5)
    values = []
    for steps in (1, 5, 30, 90):
        placed = place_by_influence(objective, budget, everything, steps=steps)
        values.append(value_of(objective, objective.influence(placed.table) > placed.threshold))
    assert values == sorted(values)
    assert values[-1] - values[-2] < 1e-4


def test_the_search_comes_close_to_the_best_of_all_subsets_of_a_few_rows():
    rng = np.random.default_rng(0)
    gaps = []
    for _ in range(20):
        objective = ExpectedAUC(rng.random((9, 1)), rng.dirichlet(np.ones(2), 9), BINARY)
        everything = np.ones(9, dtype=bool)
        placed = place_by_influence(objective, 3, everything)
        found = value_of(
            objective, everything if placed is None else objective.influence(placed.table) > placed.threshold
        )
        subsets = [np.array([bit == "1" for bit in f"{mask:09b}"]) for mask in range(2**9)]
        best = max(value_of(objective, subset) for subset in subsets if subset.sum() >= 6)
        gaps.append(best - found)
    assert min(gaps) >= -1e-12
    assert np.mean(gaps) < 0.01


# ---- bands ----


def make_rule(kind: str, *, weighted: bool) -> InfluenceBands:
    objective = simulated(1500, knows=0.0 if kind == "useless probabilities" else 1.0, weighted=weighted)
    return InfluenceBands(objective, None if kind == "no score bands" else score_bands(objective))


@pytest.fixture(scope="module", params=["useful probabilities", "useless probabilities", "no score bands"])
def rule(request):
    return make_rule(request.param, weighted=False)


@pytest.fixture(scope="module", params=["useful probabilities", "useless probabilities", "no score bands"])
def weighted_rule(request):
    return make_rule(request.param, weighted=True)


@pytest.mark.parametrize("coverage", COVERAGES)
def test_bands_and_selection_scores_belong_together(rule, coverage):
    assert_bands_fit_selection_scores(rule, coverage)


@pytest.mark.parametrize("coverage", COVERAGES)
def test_bands_and_selection_scores_of_weighted_rows_belong_together(weighted_rule, coverage):
    assert_bands_fit_selection_scores(weighted_rule, coverage)


def assert_bands_fit_selection_scores(rule: InfluenceBands, coverage: float) -> None:
    assert isinstance(rule, BandRule)
    objective = rule.objective
    scores = rule.selection_score(RuleInput(objective.columns, objective.probabilities), coverage)
    band = rule.band(coverage)
    assert scores.shape == (1500,)
    assert np.isfinite(scores).all()
    assert band.lower == -inf
    selected = band.selects(scores)
    assert np.array_equal(selected, scores > band.upper)
    assert coverage_of(objective, selected) >= coverage - 1e-12
    assert coverage_of(objective, selected) <= coverage + objective.weight.max() / objective.weight.sum() + 1e-12
    if rule.score_bands is not None:
        start = rule.score_bands.band(coverage).selects(objective.columns[:, 0])
        assert value_of(objective, selected) >= value_of(objective, start) - 1e-12


@pytest.mark.parametrize("coverage", COVERAGES)
def test_where_no_influence_is_better_the_score_band_decides(coverage):
    objective = simulated(knows=0.0)
    rule = InfluenceBands(objective, score_bands(objective))
    band = score_bands(objective).band(coverage)
    assert rule.band(coverage) == RejectionBand(-inf, 0.0)
    for score in (objective.columns[:, 0], np.linspace(-1, 2, 5001), np.array([band.lower, band.upper])):
        distance = rule.selection_score(RuleInput(score[:, None], np.full((len(score), 2), 0.5)), coverage)
        assert np.array_equal(rule.band(coverage).selects(distance), band.selects(score))
        # Its size is the distance to the nearer end of the band.
        nearest = np.minimum(np.abs(score - band.lower), np.abs(score - band.upper))
        assert np.abs(distance) == pytest.approx(nearest, abs=1e-15)


@pytest.mark.parametrize("coverage", COVERAGES)
def test_without_steps_the_score_band_decides(coverage):
    objective = simulated()
    rule = InfluenceBands(objective, score_bands(objective), steps=0)
    band = score_bands(objective).band(coverage)
    assert np.array_equal(selected_by(rule, coverage), band.selects(objective.columns[:, 0]))


def test_coverage_1_rejects_nothing(rule):
    assert rule.band(1.0).is_empty
    scores = rule.selection_score(RuleInput(rule.objective.columns, rule.objective.probabilities), 1.0)
    assert np.isfinite(scores).all()
    assert rule.band(1.0).selects(scores).all()


@pytest.mark.parametrize("coverage", [0.5, 0.05])
def test_constant_scores_reject_nothing(coverage):
    chance = np.linspace(0.1, 0.9, 100)
    objective = ExpectedAUC(np.full((100, 1), 0.3), np.column_stack((1 - chance, chance)), BINARY)
    for rule in (InfluenceBands(objective), InfluenceBands(objective, score_bands(objective))):
        assert rule.band(coverage).is_empty
        assert selected_by(rule, coverage).all()


def test_a_budget_below_one_row_rejects_nothing():
    rule = InfluenceBands(simulated(50))
    assert rule.band(0.99).is_empty
    assert selected_by(rule, 0.99).all()


@pytest.mark.parametrize("rejected", range(1, 20))
def test_a_coverage_of_whole_twentieths_rejects_that_many_of_twenty_rows_in_spite_of_rounding(rejected):
    rng = np.random.default_rng(1)
    objective = ExpectedAUC(rng.random((20, 1)), rng.dirichlet(np.ones(2), 20), BINARY)
    for weighted in (objective, ExpectedAUC(objective.columns, objective.probabilities, BINARY, np.full(20, 0.1))):
        assert (~selected_by(InfluenceBands(weighted), 1 - rejected / 20)).sum() == rejected


@pytest.mark.parametrize("coverage", [0, 90, nan])
def test_a_bad_coverage_raises(coverage):
    rule = InfluenceBands(simulated(50))
    with pytest.raises(ValueError, match=r"coverage must be in \(0, 1\]"):
        rule.band(coverage)
    with pytest.raises(ValueError, match=r"coverage must be in \(0, 1\]"):
        rule.selection_score(RuleInput(rule.objective.columns, rule.objective.probabilities), coverage)


def test_a_placement_is_searched_once_and_kept(monkeypatch):
    rule = InfluenceBands(simulated(200))
    rule.band(0.8)

    def not_again(*_, **__):
        raise AssertionError("searched twice")

    monkeypatch.setattr("aucross.core.influence.place_by_influence", not_again)
    assert selected_by(rule, 0.8).any()
    with pytest.raises(AssertionError):
        rule.band(0.7)


# ---- weights ----


@pytest.mark.parametrize("n_rows", [300, 6000])  # the second has more scores than bins
def test_weight_k_is_the_row_k_times(n_rows):
    score, probabilities, rng = simulate(n_rows)
    times = rng.integers(0, 4, n_rows)
    repeated = np.repeat(np.arange(n_rows), times)
    weighted = ExpectedAUC(score[:, None], probabilities, BINARY, times.astype(float))
    copied = ExpectedAUC(score[repeated, None], probabilities[repeated], BINARY)
    assert np.array_equal(weighted.edges[0], copied.edges[0])
    for with_bands in (False, True):
        first, second = (InfluenceBands(part, score_bands(part) if with_bands else None) for part in (weighted, copied))
        for coverage in (0.9, 0.6):
            assert first.band(coverage).upper == pytest.approx(second.band(coverage).upper, abs=1e-12)
            assert np.array_equal(selected_by(first, coverage)[repeated], selected_by(second, coverage))


def test_rows_of_weight_zero_place_nothing():
    score, probabilities, rng = simulate(6000)
    counted = rng.random(6000) < 0.8
    weighted = InfluenceBands(ExpectedAUC(score[:, None], probabilities, BINARY, counted.astype(float)))
    left_out = InfluenceBands(ExpectedAUC(score[counted, None], probabilities[counted], BINARY))
    for coverage in (0.9, 0.6):
        assert weighted.band(coverage).upper == pytest.approx(left_out.band(coverage).upper, abs=1e-12)
        assert np.array_equal(
            selected_by(weighted, coverage, weighted.objective)[counted], selected_by(left_out, coverage)
        )


@pytest.mark.parametrize("unit", [2.0**-20, 1024.0])
def test_the_unit_of_weights_does_not_matter(unit):
    score, probabilities, rng = simulate(1000)
    weight = rng.gamma(1.0, size=1000)
    first, second = (
        InfluenceBands(ExpectedAUC(score[:, None], probabilities, BINARY, weight * scale)) for scale in (1.0, unit)
    )
    for coverage in COVERAGES:
        assert np.array_equal(selected_by(first, coverage), selected_by(second, coverage))


# ---- copies and threads ----


@pytest.mark.parametrize("asked_before", [False, True])
def test_a_pickled_rule_answers_alike_and_carries_no_cached_arrays(asked_before):
    objective = simulated(2000)
    rule = InfluenceBands(objective, score_bands(objective))
    plain = len(pickle.dumps(rule))
    if asked_before:
        rule.band(0.8)
        assert "places" in vars(objective)
    copy = pickle.loads(pickle.dumps(rule))
    assert set(vars(copy.objective)) == {"columns", "probabilities", "contests", "sample_weight"}
    assert len(pickle.dumps(objective)) < plain
    for coverage in COVERAGES:
        assert copy.band(coverage) == rule.band(coverage)
        assert np.array_equal(selected_by(copy, coverage), selected_by(rule, coverage))


def test_rules_can_be_compared_and_hashed():
    objective = simulated(50)
    rule, same, other = InfluenceBands(objective), InfluenceBands(objective), InfluenceBands(simulated(50))
    rule.band(0.8)
    assert rule == same
    assert rule != other
    assert len({rule, same, other}) == 2


def test_many_threads_get_the_same_answer():
    objective = simulated(1000)
    rule, alone = (InfluenceBands(objective, score_bands(objective)) for _ in range(2))
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda turn: selected_by(rule, COVERAGES[turn % len(COVERAGES)]), range(48)))
    for turn, answer in enumerate(answers):
        assert np.array_equal(answer, selected_by(alone, COVERAGES[turn % len(COVERAGES)]))
