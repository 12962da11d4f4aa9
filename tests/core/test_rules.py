from __future__ import annotations

from collections.abc import Iterator
from math import floor, inf, sqrt

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from aucross.core import (
    AUCTarget,
    CenteredBands,
    OptimalBands,
    RankedScores,
    RejectionBand,
    RuleInput,
    ThresholdBands,
    auc_improving_interval,
    best_band,
    estimate_auc_bands,
    oracle_band,
)
from tests.reference import (
    improving_rows,
    pairwise_auc,
    published_positions,
    quantile_threshold,
    row_at,
)
from tests.strategies import Rows, counts, coverages, fractional_weights, property_test, rows

EMPTY = RankedScores([], [], [])

# Twelve rows worked out by hand. Positives beat 1, 3, 4, 5, 6 and 6 of the 6 negatives: AUC = 25/36.
HAND_LABELS = np.array([0, 1, 0, 0, 1, 0, 1, 0, 1, 0, 1, 1])
HAND_SCORES = np.array([0.02, 0.05, 0.11, 0.20, 0.28, 0.33, 0.41, 0.50, 0.62, 0.70, 0.85, 0.97])


def rank(given_rows: Rows) -> RankedScores:
    return RankedScores.from_labels(given_rows.labels, given_rows.scores, given_rows.weights)


def rank_halves(given_rows: Rows, in_first: np.ndarray) -> tuple[RankedScores, RankedScores]:
    return rank_piece(given_rows.take(in_first)), rank_piece(given_rows.take(~in_first))


def rank_piece(given_rows: Rows) -> RankedScores:
    """The ranking of rows that may all lack weight."""
    return rank(given_rows) if given_rows.weights.any() else EMPTY


def evenly_spaced(number: int) -> RankedScores:
    """Rows at scores 0, 1, ..., of alternating class."""
    return RankedScores.from_labels(np.arange(number) % 2, np.arange(number))


def is_within(inner: RejectionBand, outer: RejectionBand) -> bool:
    return inner.is_empty or (outer.lower <= inner.lower and inner.upper <= outer.upper)


def splits_of(given_rows: Rows, data) -> np.ndarray:
    size = len(given_rows.labels)
    return np.array(data.draw(st.lists(st.booleans(), min_size=size, max_size=size)))


# ---- the rules in general ----


@pytest.mark.parametrize("rule", [OptimalBands, lambda ranked: CenteredBands(ranked, 2.0), ThresholdBands])
@property_test
@given(given_rows=rows(weights=st.just(1.0)), capacity=st.integers(0, 14))
def test_every_rule_rejects_as_many_rows_as_there_is_capacity_for_and_none_twice(rule, given_rows, capacity):
    n_rows = len(given_rows.scores)
    rejected = rule(rank(given_rows)).rows_to_reject(RuleInput.of_score(given_rows.scores), capacity, np.arange(n_rows))
    assert len(rejected) == len(set(rejected.tolist())) == min(capacity, n_rows)


@pytest.mark.parametrize(
    "rule",
    [OptimalBands(evenly_spaced(10)), CenteredBands(evenly_spaced(10), 4.0), ThresholdBands(evenly_spaced(10))],
    ids=lambda rule: type(rule).__name__,
)
@pytest.mark.parametrize("coverage", [0, 90, float("nan")])
def test_every_rule_refuses_a_bad_coverage(rule, coverage):
    with pytest.raises(ValueError, match=r"coverage must be in \(0, 1\]"):
        rule.band(coverage)


@pytest.mark.parametrize("rule", [OptimalBands, lambda ranked: CenteredBands(ranked, 2.0), ThresholdBands])
@property_test
@given(given_rows=rows(weights=fractional_weights))
def test_every_rule_gives_the_empty_band_for_coverage_1(rule, given_rows):
    assert rule(rank(given_rows)).band(1.0).is_empty


@pytest.mark.parametrize("rule", [OptimalBands, lambda ranked: CenteredBands(ranked, 0.0), ThresholdBands])
def test_every_rule_gives_the_empty_band_for_an_empty_ranking(rule):
    assert rule(EMPTY).band(0.5).is_empty


# ---- optimal bands ----


@property_test
@given(rows(weights=counts, both_classes=True), coverages)
def test_optimal_bands_of_any_width_on_labels_are_the_oracle(given_rows, coverage):
    expected = oracle_band(given_rows.labels, given_rows.scores, coverage, given_rows.weights)
    assert OptimalBands(rank(given_rows), AUCTarget("any")).place(coverage) == expected


@pytest.mark.parametrize("width", ["full", "any"])
@property_test
@given(given_rows=rows(weights=fractional_weights), coverage=coverages)
def test_optimal_bands_never_fall_under_the_coverage_on_their_rows(given_rows, coverage, width):
    ranked = rank(given_rows)
    assert ranked.coverage(OptimalBands(ranked, AUCTarget(width)).band(coverage)) >= coverage - 1e-12


@property_test
@given(rows(weights=fractional_weights), coverages)
def test_optimal_bands_on_isotonic_labels_never_fall_under_the_coverage_on_the_labelled_rows(given_rows, coverage):
    ranked = rank(given_rows)
    assert ranked.coverage(estimate_auc_bands(ranked).band(coverage)) >= coverage - 1e-12


@property_test
@given(rows(weights=counts), coverages)
def test_the_default_placement_is_the_best_full_width_band_on_isotonic_labels(given_rows, coverage):
    ranked = rank(given_rows)
    assert estimate_auc_bands(ranked).place(coverage) == best_band(ranked.isotonic(), coverage, width="full")


def test_optimal_placement_does_not_need_both_classes():
    assert estimate_auc_bands(RankedScores.from_labels([1, 1, 1], [0.1, 0.2, 0.3])).band(0.5).is_empty


def test_an_unknown_width_raises_when_a_band_is_asked_for():
    with pytest.raises(ValueError, match='width must be "full" or "any"'):
        OptimalBands(evenly_spaced(4), AUCTarget("narrow")).band(0.5)


def test_an_unknown_placement_raises_with_the_choices():
    with pytest.raises(ValueError, match=r'^placement must be "optimal" or "centered", got \'middle\'$'):
        estimate_auc_bands(evenly_spaced(4), placement="middle")


# ---- centred bands ----


@property_test
@given(rows(weights=fractional_weights), st.floats(-1.0, 30.0), coverages, coverages)
def test_centred_bands_are_nested(given_rows, center, one, other):
    rule = CenteredBands(rank(given_rows), center)
    lower, higher = sorted((one, other))
    assert is_within(rule.band(higher), rule.band(lower))


@property_test
@given(rows(weights=counts), st.floats(-1.0, 30.0), coverages)
def test_the_ends_of_centred_bands_are_the_rows_half_the_rejected_share_away_from_the_centre(
    given_rows, center, coverage
):
    assume(coverage < 1)
    ranked = rank(given_rows)
    scores = np.repeat(given_rows.scores, given_rows.weights.astype(int))
    half_width = len(scores) * (1 - coverage) / 2
    expected = RejectionBand(row_at(scores, center - half_width), row_at(scores, center + half_width))
    assert CenteredBands(ranked, center).place(coverage) == expected


@pytest.mark.parametrize("center", [40, 50, 59])
@pytest.mark.parametrize("coverage", [0.99, 0.9, 0.75, 0.5, 0.33])
def test_centred_bands_reach_as_many_rows_down_as_up(center, coverage):
    band = CenteredBands(evenly_spaced(100), center).band(coverage)
    # The floor of a position moves each end by less than one row.
    assert abs((center - band.lower) - (band.upper - center)) <= 1


@pytest.mark.parametrize("coverage", [0.99, 0.9, 0.75, 0.5, 0.33])
def test_centred_bands_reject_the_asked_number_of_rows_and_at_most_one_more(coverage):
    band = CenteredBands(evenly_spaced(100), 50).band(coverage)
    asked = 100 * (1 - coverage)
    assert floor(asked + 1e-9) <= band.rejects(np.arange(100)).sum() <= asked + 1 + 1e-9


def test_centred_bands_are_cut_off_at_the_lowest_row_without_growing_upwards():
    assert CenteredBands(evenly_spaced(100), 3).band(0.8) == RejectionBand(0, 12)


def test_centred_bands_are_cut_off_at_the_highest_row_without_growing_downwards():
    assert CenteredBands(evenly_spaced(100), 97).band(0.75) == RejectionBand(84, 99)


@property_test
@given(rows(weights=counts), st.floats(0.0, 20.0), coverages, st.sampled_from([2.0, 0.125]))
def test_a_common_factor_of_the_weights_does_not_change_centred_bands(given_rows, center, coverage, factor):
    scaled = rank(given_rows._replace(weights=given_rows.weights * factor))
    expected = CenteredBands(rank(given_rows), center).band(coverage)
    assert CenteredBands(scaled, center * factor).band(coverage) == expected


# ---- the published bounds ----


def test_the_hold_out_centre_of_the_hand_worked_rows_is_the_mean_of_both_positions():
    # Upper position: floor(25/36 * 6) = 4. Lower: 25/36 * 6 + 1 = 5.17 positives from the top are in 10 rows: 12 - 10.
    rule = estimate_auc_bands(RankedScores.from_labels(HAND_LABELS, HAND_SCORES), placement="centered")
    assert rule.center == (2 + 4) / 2


def test_the_cross_fitted_centre_of_the_hand_worked_rows_is_the_rank_of_the_blended_midpoint():
    # Even rows: AUC 1, positions 0 and 2, scores .02 and .28. Odd rows: AUC 1/2, positions 0 and 2, scores .05 and .33.
    # With t = .7071: lower = t * .11 + (1 - t) * .035 = .0880, upper = t * .28 + (1 - t) * .305 = .2873,
    # and three rows have a score under the midpoint .1877.
    halves = [RankedScores.from_labels(HAND_LABELS[part::2], HAND_SCORES[part::2]) for part in (0, 1)]
    rule = estimate_auc_bands(RankedScores.from_labels(HAND_LABELS, HAND_SCORES), halves, placement="centered")
    assert rule.center == 3


def test_the_band_of_the_hand_worked_rows_spans_half_of_the_rejected_rows_on_each_side_of_the_centre():
    rule = estimate_auc_bands(RankedScores.from_labels(HAND_LABELS, HAND_SCORES), placement="centered")
    assert rule.place(0.5) == RejectionBand(0.02, 0.41)


def test_positions_that_are_whole_numbers_are_not_rounded_down():
    # The positive beats 15 of 22 negatives; 15 / 22 * 22 is a little less than 15 in floating point.
    ranked = RankedScores.from_labels(np.arange(23) == 15, np.arange(23))
    assert estimate_auc_bands(ranked, placement="centered").center == (0 + 15) / 2


def test_bounds_that_lie_beyond_the_last_row_are_cut_off():
    # AUC * n- = 1 is the position after the only negative; AUC * n+ + 1 holds all positives: positions 0 and 1.
    rule = estimate_auc_bands(RankedScores.from_labels([0, 1], [0.1, 0.2]), placement="centered")
    assert rule.center == 0.5


@property_test
@given(rows(weights=st.just(1.0), min_size=4, max_size=30, both_classes=True, distinct=True))
def test_the_hold_out_centre_equals_the_reference(given_rows):
    rule = estimate_auc_bands(rank(given_rows), placement="centered")
    assert rule.center == sum(published_positions(given_rows.labels, given_rows.scores)) / 2


@property_test
@given(rows(weights=st.just(1.0), min_size=8, max_size=30, both_classes=True, distinct=True), st.data())
def test_the_cross_fitted_centre_equals_the_reference(given_rows, data):
    in_first = splits_of(given_rows, data)
    parts = [given_rows.take(in_first), given_rows.take(~in_first)]
    assume(all(part.has_both_classes for part in parts))
    rule = estimate_auc_bands(rank(given_rows), rank_halves(given_rows, in_first), placement="centered")
    whole, *halves = (
        [np.sort(part.scores)[position] for position in published_positions(part.labels, part.scores)]
        for part in (given_rows, *parts)
    )
    share = 1 / sqrt(2)
    lower, upper = (share * whole[end] + (1 - share) * (halves[0][end] + halves[1][end]) / 2 for end in (0, 1))
    assert rule.center == (given_rows.scores < (lower + upper) / 2).sum()


@property_test
@given(rows(weights=st.integers(1, 3).map(float), both_classes=True), st.sampled_from([0.5, 0.8]))
def test_weight_k_gives_the_centred_band_of_the_row_k_times(given_rows, coverage):
    times = given_rows.weights.astype(int)
    repeated = RankedScores.from_labels(np.repeat(given_rows.labels, times), np.repeat(given_rows.scores, times))
    weighted = rank(given_rows)
    bands = [estimate_auc_bands(ranked, placement="centered").band(coverage) for ranked in (weighted, repeated)]
    assert bands[0] == bands[1]


@pytest.mark.parametrize("placed_by", [auc_improving_interval, lambda r: estimate_auc_bands(r, placement="centered")])
@pytest.mark.parametrize(("label", "numbers"), [(1, "2 positives and 0 negatives"), (0, "0 positives and 2 negatives")])
def test_the_published_bounds_need_both_classes(placed_by, label, numbers):
    with pytest.raises(ValueError, match=f"^the AUC needs rows of both classes, got {numbers}$"):
        placed_by(RankedScores.from_labels([label] * 2, [0.1, 0.2]))


# ---- threshold bands ----


@property_test
@given(rows(weights=fractional_weights), coverages)
def test_the_threshold_is_the_highest_confidence_that_keeps_the_coverage(given_rows, coverage):
    band = ThresholdBands(rank(given_rows)).place(coverage)
    threshold = quantile_threshold(given_rows.scores, coverage, given_rows.weights)
    assert band == (RejectionBand() if threshold == -inf else RejectionBand(-inf, threshold))


@property_test
@given(rows(weights=fractional_weights), coverages, st.data())
def test_threshold_bands_never_fall_under_the_coverage_on_their_rows_with_halves_too(given_rows, coverage, data):
    ranked = rank(given_rows)
    halves = rank_halves(given_rows, splits_of(given_rows, data))
    assert ranked.coverage(ThresholdBands(ranked, halves).band(coverage)) >= coverage - 1e-12


@property_test
@given(rows(weights=fractional_weights), coverages, coverages, st.data())
def test_threshold_bands_are_nested_with_halves_too(given_rows, one, other, data):
    rule = ThresholdBands(rank(given_rows), rank_halves(given_rows, splits_of(given_rows, data)))
    lower, higher = sorted((one, other))
    assert is_within(rule.band(higher), rule.band(lower))


def test_threshold_bands_stay_nested_where_a_half_becomes_large_enough_to_hold_a_rejected_row():
    # Ten rows hold one rejected row from a coverage of .9 on; the whole of 21 rows holds two just above it.
    scores = np.arange(21.0)
    first = np.isin(scores, [0, 2, 4, 6, 8, 10, 12, 14, 16, 18])
    whole, *halves = (
        RankedScores.from_labels(np.ones(part.sum()), scores[part]) for part in (first | True, first, ~first)
    )
    rule = ThresholdBands(whole, halves)
    assert is_within(rule.band(0.9001), rule.band(0.9))


@property_test
@given(rows(weights=fractional_weights), coverages)
def test_threshold_bands_are_one_sided_or_empty(given_rows, coverage):
    band = ThresholdBands(rank(given_rows)).band(coverage)
    assert band.is_empty or band.lower == -inf


def test_the_blend_weighs_the_whole_with_one_over_root_two_and_the_mean_of_the_halves_with_the_rest():
    scores = np.arange(1, 11) / 10
    whole, *halves = (
        RankedScores.from_labels(np.ones(len(part)), part) for part in (scores, scores[::2], scores[1::2])
    )
    # Half of the rows: .5 of the whole, .3 and .4 of the halves.
    expected = 0.5 / sqrt(2) + (1 - 1 / sqrt(2)) * 0.35
    assert ThresholdBands(whole, halves).band(0.5).upper == pytest.approx(expected, rel=1e-15)


def test_a_threshold_that_the_whole_and_its_halves_agree_on_is_kept_to_the_last_digit():
    # A last digit less would select the whole tie.
    for confidence in np.random.default_rng(0).random(500):
        whole = RankedScores.from_labels(np.ones(4), [confidence, confidence, 2.0, 2.0])
        half = RankedScores.from_labels(np.ones(2), [confidence, 2.0])
        assert ThresholdBands(whole, (half, half)).place(0.5).upper == confidence


def test_a_blend_above_the_threshold_of_the_whole_is_cut_back_to_it():
    whole = RankedScores.from_labels(np.ones(10), np.arange(10))
    high_halves = [RankedScores.from_labels(np.ones(5), np.arange(5, 10))] * 2
    assert ThresholdBands(whole, high_halves).band(0.5) == RejectionBand(-inf, 4)


def test_a_tie_larger_than_the_budget_is_not_rejected():
    assert ThresholdBands(RankedScores.from_labels(np.ones(4), [0.5, 0.5, 0.5, 0.9])).band(0.5).is_empty


def test_constant_confidences_give_the_empty_band_at_any_coverage():
    assert ThresholdBands(RankedScores.from_labels(np.ones(4), np.full(4, 0.5))).band(0.01).is_empty


# ---- Propositions 1 to 3 ----


def random_rankings(
    number: int, *, sizes: tuple[int, int], ties: bool = False
) -> Iterator[tuple[np.ndarray, np.ndarray, np.random.Generator]]:
    """Labels and scores of `number` rankings, from poor to nearly perfect, of rare and of frequent positives."""
    rng = np.random.default_rng(14)
    for _ in range(number):
        size = int(rng.integers(*sizes))
        labels = rng.random(size) < rng.uniform(0.05, 0.5)
        labels[:2] = True, False
        latent = rng.standard_normal(size) + rng.uniform(0.5, 2.5) * labels
        yield labels, (np.round(8 * latent) if ties else latent.argsort().argsort() * 1.0), rng


def test_proposition_1_rejecting_any_low_positives_raises_the_auc():
    rejected_any = 0
    for labels, scores, rng in random_rankings(300, sizes=(4, 30)):
        low_enough, _ = improving_rows(labels, scores)
        rejected = labels & low_enough & (rng.random(len(labels)) < rng.choice([0.5, 1.0]))
        if rejected.any():
            assert pairwise_auc(labels, scores, selected=~rejected) > pairwise_auc(labels, scores)
            rejected_any += 1
    assert rejected_any >= 100


def test_proposition_2_rejecting_any_high_negatives_raises_the_auc():
    rejected_any = 0
    for labels, scores, rng in random_rankings(300, sizes=(4, 30)):
        _, high_enough = improving_rows(labels, scores)
        rejected = ~labels & high_enough & (rng.random(len(labels)) < rng.choice([0.5, 1.0]))
        if rejected.any():
            assert pairwise_auc(labels, scores, selected=~rejected) > pairwise_auc(labels, scores)
            rejected_any += 1
    assert rejected_any >= 100


def test_propositions_1_and_2_rejecting_any_of_both_kinds_of_rows_at_once_raises_the_auc():
    rejected_both = 0
    for labels, scores, rng in random_rankings(300, sizes=(4, 30)):
        low_enough, high_enough = improving_rows(labels, scores)
        named = np.where(labels, low_enough, high_enough)
        rejected = named & (rng.random(len(labels)) < rng.choice([0.5, 1.0]))
        if rejected.any():
            assert pairwise_auc(labels, scores, selected=~rejected) > pairwise_auc(labels, scores)
            rejected_both += (rejected & labels).any() and (rejected & ~labels).any()
    assert rejected_both >= 100


@pytest.mark.parametrize("ties", [False, True], ids=["distinct", "tied"])
def test_proposition_3_the_interval_holds_exactly_the_rows_that_meet_both_conditions(ties):
    not_empty = 0
    for labels, scores, _ in random_rankings(60, sizes=(60, 160), ties=ties):
        band = auc_improving_interval(RankedScores.from_labels(labels, scores))
        both = np.logical_and(*improving_rows(labels, scores))
        assert (band.rejects(scores) == both).all()
        not_empty += both.any()
    assert not_empty >= 15


@pytest.mark.parametrize("ties", [False, True], ids=["distinct", "tied"])
def test_proposition_3_rejecting_the_interval_or_any_of_its_rows_raises_the_auc(ties):
    not_empty = 0
    for labels, scores, rng in random_rankings(1200, sizes=(60, 160), ties=ties):
        ranked = RankedScores.from_labels(labels, scores)
        band = auc_improving_interval(ranked)
        some = band.rejects(scores) & (rng.random(len(labels)) < 0.5)
        assert ranked.auc(band) >= ranked.auc()
        assert RankedScores.from_labels(labels[~some], scores[~some]).auc() >= ranked.auc()
        if not band.is_empty:
            assert ranked.auc(band) > ranked.auc()
            not_empty += 1
    assert not_empty >= 300


def test_proposition_3_holds_for_fractional_weights():
    not_empty = 0
    for labels, scores, rng in random_rankings(1200, sizes=(60, 160), ties=True):
        ranked = RankedScores.from_labels(labels, scores, rng.uniform(0.1, 4.0, len(labels)))
        band = auc_improving_interval(ranked)
        assert ranked.auc(band) >= ranked.auc()
        not_empty += not band.is_empty
    assert not_empty >= 300


def test_the_improving_interval_does_not_reach_into_a_tie_that_ends_beyond_the_rank_of_the_bound():
    # The rank floor(AUC * n-) falls into the tie at score 4, but rejecting all of it would lower the AUC to .547.
    ranked = RankedScores(np.arange(5), [0, 24, 0, 1, 75], [4000, 0, 3570, 0, 2430])
    band = auc_improving_interval(ranked)
    assert band.is_empty
    assert ranked.auc(RejectionBand(4, 4)) < ranked.auc()


def test_the_improving_interval_of_a_hand_worked_example():
    # AUC = (2 * 5 + 3 * 10) / 50 = .8. Rows 7 to 11 have AUC * 5 - 1 = 3 positives above; rank AUC * 10 = 8 is row 7.
    ranked = RankedScores.from_labels([0] * 5 + [1] * 2 + [0] * 5 + [1] * 3, np.arange(15))
    assert auc_improving_interval(ranked) == RejectionBand(7, 7)


def test_weight_k_gives_the_improving_interval_of_the_row_k_times():
    for labels, scores, rng in random_rankings(200, sizes=(60, 160), ties=True):
        times = rng.integers(1, 4, len(labels))
        weighted = RankedScores.from_labels(labels, scores, times)
        repeated = RankedScores.from_labels(np.repeat(labels, times), np.repeat(scores, times))
        assert auc_improving_interval(weighted) == auc_improving_interval(repeated)


@pytest.mark.parametrize("labels", [[0, 0, 1, 1], [1, 1, 0, 0]], ids=["perfect", "reversed"])
def test_no_row_of_a_perfect_or_a_reversed_ranking_improves_the_auc(labels):
    assert auc_improving_interval(RankedScores.from_labels(labels, np.arange(4))).is_empty
