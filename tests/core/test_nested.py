from __future__ import annotations

import pickle
from dataclasses import replace
from itertools import pairwise
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aucross.core import CenteredBands, InfluenceBands, OptimalBands, RankedScores, RejectionBand, best_band
from aucross.core.influence import Contest, ExpectedAUC
from aucross.core.nested import MAX_CHUNKS, NestedBands
from aucross.core.scored_rows import RuleInput
from tests.strategies import Rows, counts, coverages, fractional_weights, no_weights, property_test, rows

EMPTY = RankedScores([], [], [])
GRID = np.linspace(0.02, 1.0, 50)
BINARY = (Contest(column=0, winner=1, loser=0),)


def rank(given_rows: Rows) -> RankedScores:
    return RankedScores.from_labels(given_rows.labels, given_rows.scores, given_rows.weights)


def is_within(inner: RejectionBand, outer: RejectionBand) -> bool:
    return inner.is_empty or (outer.lower <= inner.lower and inner.upper <= outer.upper)


def simulated(n_rows: int, seed: int, spread: float = 1.3) -> RankedScores:
    rng = np.random.default_rng(seed)
    labels = rng.random(n_rows) < 0.2
    return RankedScores.from_labels(labels, rng.normal(size=n_rows) + spread * labels)


def midpoints(ranked: RankedScores) -> np.ndarray:
    """The ranked scores, those halfway between them and one beyond each end."""
    scores = ranked.scores
    return np.concatenate((scores, (scores[1:] + scores[:-1]) / 2, [scores[0] - 1, scores[-1] + 1]))


def best_mean_auc(ranked: RankedScores, start: int, stop: int) -> float:
    """Highest mean AUC over the budgets of all paths from the empty block to all entries by way of [start, stop).

    Every path is tried. The AUC of a block counts until the budget holds the next entry; one class counts 0.
    """

    def auc(first: int, last: int) -> float:
        won, kept = ranked.pairs(first, last)
        return float(won / kept) if kept > 0 else 0.0

    def is_on_a_path(first: int, last: int) -> bool:
        return start == stop or (start <= first and last <= stop) or (first <= start and stop <= last)

    def best_from(first: int, last: int) -> float:
        if (first, last) == (0, len(ranked)):
            return 0.0
        below, above = ranked.weight_below[first], ranked.weight_below[last]
        following = []
        if first > 0 and is_on_a_path(first - 1, last):
            following.append(auc(first, last) * (below - ranked.weight_below[first - 1]) + best_from(first - 1, last))
        if last < len(ranked) and is_on_a_path(first, last + 1):
            following.append(auc(first, last) * (ranked.weight_below[last + 1] - above) + best_from(first, last + 1))
        return max(following)

    cores = [place for place in range(len(ranked) + 1) if is_on_a_path(place, place)]
    return max(best_from(core, core) for core in cores) / ranked.total


def mean_auc_of_path(rule: NestedBands) -> float:
    """The same of a rule, from the bands at which it rejects each share of the weight."""
    ranked, depth = rule.ranked, np.sort(rule.depth(rule.ranked.scores))
    total, before = 0.0, 0.0
    for share in depth:
        rejected = rule.depth(ranked.scores) <= before + 1e-12
        kept = RankedScores(ranked.scores[~rejected], ranked.positives[~rejected], ranked.negatives[~rejected])
        total += (share - before) * (0.0 if np.isnan(kept.auc()) else kept.auc())
        before = share
    return total


# ---- bands on the score ----


@pytest.mark.parametrize("weights", [counts, fractional_weights, no_weights])
@property_test
@given(data=st.data())
def test_a_band_lies_within_that_of_every_lower_coverage(data, weights):
    ranked = rank(data.draw(rows(weights=weights)))
    rule = NestedBands(ranked, data.draw(coverages))
    higher, lower = sorted((data.draw(coverages), data.draw(coverages)), reverse=True)
    assert is_within(rule.band(higher), rule.band(lower))


@pytest.mark.parametrize("weights", [counts, fractional_weights, no_weights])
@property_test
@given(data=st.data())
def test_at_the_reference_the_band_is_the_best_one(data, weights):
    ranked, coverage = rank(data.draw(rows(weights=weights))), data.draw(coverages)
    assert NestedBands(ranked, coverage).place(coverage) == best_band(ranked, coverage)


@property_test
@given(rows(weights=fractional_weights), coverages, coverages)
def test_the_coverage_holds_on_the_placing_rows(given_rows, reference, coverage):
    ranked = rank(given_rows)
    assert ranked.coverage(NestedBands(ranked, reference).band(coverage)) >= coverage - 1e-9


@property_test
@given(rows(both_classes=True), coverages, coverages)
def test_every_band_leaves_both_classes(given_rows, reference, coverage):
    ranked = rank(given_rows)
    assert not np.isnan(ranked.auc(NestedBands(ranked, reference).band(coverage)))


@property_test
@given(rows(weights=counts, max_size=9), coverages)
def test_no_nested_bands_through_the_reference_have_a_higher_mean_auc(given_rows, coverage):
    ranked = rank(given_rows)
    rule = NestedBands(ranked, coverage)
    expected = best_mean_auc(ranked, *ranked.block(best_band(ranked, coverage)))
    assert mean_auc_of_path(rule) == pytest.approx(expected, abs=1e-9)


def test_where_best_bands_are_nested_the_path_is_as_good_on_average():
    rng = np.random.default_rng(0)
    compared = 0
    for _ in range(200):
        n_rows = int(rng.integers(3, 9))
        labels = rng.random(n_rows) < 0.5
        if labels.all() or not labels.any():
            continue
        ranked = RankedScores.from_labels(labels, np.arange(n_rows)).isotonic()
        coverages = [1 - rejected / n_rows for rejected in range(n_rows)]
        best = [best_band(ranked, coverage) for coverage in coverages]
        masks = [band.rejects(ranked.scores) for band in best]
        if all((~inner | outer).all() for inner, outer in pairwise(masks)):
            rule = NestedBands(ranked, 0.7)
            gains = [ranked.auc(rule.band(c)) - ranked.auc(band) for c, band in zip(coverages, best, strict=True)]
            assert np.nanmean(gains) > -1e-9
            compared += 1
    assert compared > 50


@pytest.mark.parametrize("coverage", GRID)
def test_where_best_bands_are_nested_they_are_found(coverage):
    rates = 1 / (1 + np.exp(-np.linspace(-3, 3, 300)))
    ranked = RankedScores(np.linspace(-3, 3, 300), rates, 1 - rates)
    assert ranked.auc(NestedBands(ranked, 0.9).band(coverage)) == pytest.approx(
        ranked.auc(best_band(ranked, coverage)), abs=1e-9
    )


@pytest.mark.parametrize("n_rows", [300, 3000, 30_000])
@pytest.mark.parametrize("reference", [0.75, 0.9, 1.0])
def test_nesting_costs_little_auc_on_simulated_scores(n_rows, reference):
    ranked = simulated(n_rows, seed=n_rows).isotonic()
    rule = NestedBands(ranked, reference)
    losses = [ranked.auc(best_band(ranked, c)) - ranked.auc(rule.band(c)) for c in (0.99, 0.95, 0.9, 0.8, 0.6)]
    assert np.mean(losses) < 2e-4


def test_bands_that_optimal_placement_does_not_nest_are_nested():
    # Two overlaps: a narrow bad one below, a wide and less bad one above.
    rng = np.random.default_rng(0)
    scores = np.sort(rng.random(2000))
    rates = np.where(scores < 0.3, 0.05, np.where(scores < 0.36, 0.5, np.where(scores < 0.6, 0.52, 0.6)))
    ranked = RankedScores(scores, rates, 1 - rates)
    optimal, nested = OptimalBands(ranked), NestedBands(ranked, 0.9)
    nests = [
        all(is_within(rule.band(high), rule.band(low)) for low, high in pairwise(GRID)) for rule in (optimal, nested)
    ]
    assert nests == [False, True]


def test_long_rankings_end_bands_inside_a_chunk():
    ranked = simulated(8 * MAX_CHUNKS, seed=5)
    rule = NestedBands(ranked, 0.9)
    for coverage in (0.9873, 0.9129, 0.7771):
        assert ranked.coverage(rule.band(coverage)) == pytest.approx(coverage, abs=1 / ranked.total)


def test_perfectly_separated_classes_get_bands_around_a_middle():
    ranked = RankedScores.from_labels(np.arange(100) >= 50, np.arange(100.0))
    bands = [NestedBands(ranked, 1.0).band(coverage) for coverage in (0.9, 0.5)]
    assert [(band.lower + band.upper) / 2 for band in bands] == pytest.approx([50, 50], abs=1)


@pytest.mark.parametrize(
    "ranked",
    [EMPTY, RankedScores([0.5], [3], [4]), RankedScores([0.1, 0.2, 0.3], [1, 1, 1], [0, 0, 0])],
    ids=["no rows", "constant scores", "one class"],
)
@pytest.mark.parametrize("coverage", [1.0, 0.7, 0.05])
def test_without_anything_to_choose_from_every_band_is_empty(ranked, coverage):
    assert best_band(ranked, coverage).is_empty
    assert NestedBands(ranked, 0.6).band(coverage).is_empty


@pytest.mark.parametrize("coverage", [0, 90, float("nan")])
def test_a_bad_coverage_is_refused(coverage):
    with pytest.raises(ValueError, match=r"coverage must be in \(0, 1\]"):
        NestedBands(EMPTY, coverage)
    with pytest.raises(ValueError, match=r"coverage must be in \(0, 1\]"):
        NestedBands(EMPTY, 0.9).band(coverage)


def test_a_pickle_leaves_the_path_behind_and_gives_the_same_bands():
    rule = NestedBands(simulated(2000, seed=1).isotonic(), 0.9)
    size = len(pickle.dumps(rule))
    bands = [rule.band(coverage) for coverage in GRID]
    assert len(pickle.dumps(rule)) == size
    again = pickle.loads(pickle.dumps(rule))
    assert [again.band(coverage) for coverage in GRID] == bands


# ---- depth ----


@pytest.mark.parametrize("weights", [no_weights, fractional_weights])
@property_test
@given(data=st.data())
def test_a_band_rejects_the_scores_up_to_the_share_it_rejects(data, weights):
    ranked = rank(data.draw(rows(weights=weights, both_classes=True)))
    rule = NestedBands(ranked, data.draw(coverages))
    coverage, scores = data.draw(coverages), midpoints(ranked)
    within = rule.depth(scores) <= rule.rejected_share(coverage)
    assert np.array_equal(within, rule.band(coverage).rejects(scores))


@property_test
@given(rows(weights=fractional_weights), coverages)
def test_depths_of_ranked_scores_are_shares_of_the_weight(given_rows, coverage):
    ranked = rank(given_rows)
    depth = NestedBands(ranked, coverage).depth(ranked.scores)
    assert depth.min() > 0
    assert depth.max() == pytest.approx(1)


def test_the_depth_grows_from_the_core_to_both_ends_and_beyond():
    ranked = simulated(500, seed=2)
    scores = np.linspace(ranked.scores[0] - 3, ranked.scores[-1] + 3, 4001)
    depth = NestedBands(ranked.isotonic(), 0.9).depth(scores)
    core = int(np.argmin(depth))
    assert (np.diff(depth[:core]) < 0).all()
    assert (np.diff(depth[core:]) > 0).all()
    assert depth.max() <= 2


@pytest.mark.parametrize("ranked", [EMPTY, RankedScores([0.5], [3], [4])], ids=["no rows", "constant scores"])
def test_depths_are_finite_without_anything_to_choose_from(ranked):
    depth = NestedBands(ranked, 0.9).depth([0.4, 0.5, 0.7])
    assert np.isfinite(depth).all()
    assert NestedBands(ranked, 0.9).depth([]).shape == (0,)


def test_around_a_centre_the_depth_is_the_distance_in_rows():
    ranked = RankedScores.from_labels(np.arange(10) % 2, np.arange(10.0))
    depth = CenteredBands(ranked, 4.0).depth(np.arange(10.0))
    assert depth.tolist() == [3, 2, 1, 0, 0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("center", [0.0, 3.2, 9.0])
def test_centred_bands_reject_in_the_order_of_the_depth(center):
    ranked = RankedScores.from_labels(np.arange(10) % 2, np.arange(10.0))
    rule = CenteredBands(ranked, center)
    depth = rule.depth(ranked.scores)
    for coverage in (0.9, 0.7, 0.5, 0.3):
        rejects = rule.band(coverage).rejects(ranked.scores)
        assert depth[rejects].max() <= depth[~rejects].min() + 1e-12


def test_scores_beyond_the_ranked_ones_are_deepest_around_a_centre():
    rule = CenteredBands(RankedScores.from_labels(np.arange(10) % 2, np.arange(10.0)), 1.0)
    depth = rule.depth(np.array([-2.0, -1.0, 0.0, 9.0, 11.0]))
    assert depth[2] < depth[3] < depth[1] < depth[0]
    assert depth[4] > depth[3]
    assert CenteredBands(EMPTY, 0.0).depth(np.array([0.1])).tolist() == [0.0]


# ---- bands on the influence ----


def seen_by_gate(n_rows: int = 1500, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A score, and class probabilities that depend on something else besides."""
    rng = np.random.default_rng(seed)
    first, second = rng.normal(size=(2, n_rows))
    eta = 1 / (1 + np.exp(1.5 - first - 1.5 * second))
    return first[:, None], np.column_stack((1 - eta, eta))


def influence_bands(coverage: float, steps: int = 30, with_score_bands: bool = True) -> InfluenceBands:
    columns, probabilities = seen_by_gate()
    order = np.argsort(columns[:, 0])
    ranked = RankedScores(columns[order, 0], probabilities[order, 1], probabilities[order, 0])
    score_bands = NestedBands(ranked.isotonic(), coverage) if with_score_bands else None
    return InfluenceBands(ExpectedAUC(columns, probabilities, BINARY), score_bands, steps)


def rejected(rule, coverage: float) -> np.ndarray:
    return rule.band(coverage).rejects(rule.selection_score(RuleInput(*seen_by_gate()), coverage))


@pytest.mark.parametrize("with_score_bands", [True, False])
@pytest.mark.parametrize("reference", [0.9, 0.6])
def test_at_the_reference_nested_influence_rejects_what_influence_rejects(reference, with_score_bands):
    bands = influence_bands(reference, with_score_bands=with_score_bands)
    assert np.array_equal(rejected(replace(bands, reference=reference), reference), rejected(bands, reference))


@pytest.mark.parametrize("steps", [30, 0], ids=["by influence", "by the score alone"])
@pytest.mark.parametrize("reference", [1.0, 0.8])
def test_nested_influence_rejects_more_and_more_rows(reference, steps):
    rule = replace(influence_bands(reference, steps), reference=reference)
    masks = [rejected(rule, coverage) for coverage in (1.0, 0.99, 0.9, 0.8, 0.5, 0.2)]
    assert all((larger | ~smaller).all() for smaller, larger in pairwise(masks))
    assert [mask.mean() for mask in masks] == pytest.approx([0, 0.01, 0.1, 0.2, 0.5, 0.8], abs=1e-3)


def test_without_steps_nested_influence_is_the_nested_score_band():
    bands = influence_bands(0.8, steps=0)
    scores = seen_by_gate()[0][:, 0]
    for coverage in (0.95, 0.8, 0.5):
        expected = bands.score_bands.band(coverage).rejects(scores)
        assert np.array_equal(rejected(replace(bands, reference=0.8), coverage), expected)


def test_nested_influence_pickles():
    rule = replace(influence_bands(0.8), reference=0.8)
    again = pickle.loads(pickle.dumps(rule))
    assert np.array_equal(rejected(again, 0.7), rejected(rule, 0.7))


def test_nested_influence_needs_nested_score_bands():
    ranked = simulated(100, seed=0)
    columns, probabilities = seen_by_gate(100)
    bands = InfluenceBands(ExpectedAUC(columns, probabilities, BINARY), OptimalBands(ranked))
    with pytest.raises(TypeError, match="must be NestedBands or None"):
        replace(bands, reference=0.9)


def test_full_coverage_needs_no_influence():
    assert replace(influence_bands(0.9), reference=0.9).band(1.0) == RejectionBand()
    assert replace(influence_bands(0.9), reference=0.9).band(0.5).lower == -inf
