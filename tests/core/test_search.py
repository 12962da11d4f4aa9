from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given

from aucross.core import OptimalBands, RankedScores, RejectionBand, ThresholdBands, best_band, oracle_band
from aucross.core.nested import NestedBands
from tests.reference import (
    TOLERANCE,
    best_band_auc,
    best_block_auc,
    pairwise_auc,
    selected_by,
    selected_share,
)
from tests.strategies import Rows, counts, coverages, fractional_weights, property_test, rows

WIDTHS = ["full", "any"]


def rank(given_rows: Rows) -> RankedScores:
    return RankedScores.from_labels(given_rows.labels, given_rows.scores, given_rows.weights)


def auc_left_by(band: RejectionBand, given_rows: Rows) -> float:
    return pairwise_auc(*given_rows, selected_by((band.lower, band.upper), given_rows.scores))


def share_left_by(band: RejectionBand, given_rows: Rows) -> float:
    return selected_share(given_rows.weights, selected_by((band.lower, band.upper), given_rows.scores))


def random_cases(number: int) -> Iterator[tuple[Rows, float]]:
    """Rows of 1 to 14, tied or not, weighted or not, with coverages from .05 to 1, many of them shares of the rows."""
    rng = np.random.default_rng(20230425)
    for _ in range(number):
        size = int(rng.integers(1, 15))
        labels = rng.random(size) < rng.uniform(0.1, 0.9)
        distinct_scores = int(rng.choice([2, 4, 8, 1000]))
        # Half of the cases rank better than chance, as models do.
        scores = np.floor(distinct_scores * (rng.random(size) + labels * rng.choice([0.0, 0.5]))) / 8
        weights = [np.ones(size), rng.integers(1, 4, size) * 1.0, rng.uniform(0.1, 3.0, size)][rng.integers(3)]
        coverage = rng.uniform(0.05, 1.0) if rng.random() < 0.5 else max(0.05, rng.integers(1, size + 1) / size)
        yield Rows(labels, scores, weights), float(coverage)


# ---- against brute force ----


@pytest.mark.parametrize("width", WIDTHS)
def test_the_auc_of_the_best_band_equals_brute_force_and_its_coverage_reaches_the_target(width):
    compared = 0
    for given_rows, coverage in random_cases(800):
        if not given_rows.has_both_classes:
            continue
        band = best_band(rank(given_rows), coverage, width=width)
        expected = best_band_auc(given_rows.labels, given_rows.scores, coverage, given_rows.weights, width=width)
        assert auc_left_by(band, given_rows) == pytest.approx(expected, rel=0, abs=1e-12), (given_rows, coverage)
        assert share_left_by(band, given_rows) >= coverage - TOLERANCE, (given_rows, coverage)
        compared += 1
    assert compared >= 500


def test_the_auc_of_the_oracle_band_equals_brute_force_over_bands_of_any_width():
    compared = 0
    for given_rows, coverage in random_cases(800):
        if not given_rows.has_both_classes:
            continue
        band = oracle_band(given_rows.labels, given_rows.scores, coverage, given_rows.weights)
        expected = best_band_auc(given_rows.labels, given_rows.scores, coverage, given_rows.weights, width="any")
        assert auc_left_by(band, given_rows) == pytest.approx(expected, rel=0, abs=1e-12), (given_rows, coverage)
        assert share_left_by(band, given_rows) >= coverage - TOLERANCE, (given_rows, coverage)
        compared += 1
    assert compared >= 500


def test_the_best_band_on_isotonic_labels_equals_brute_force_on_the_same_fractions():
    for given_rows, coverage in random_cases(150):
        smooth = rank(given_rows).isotonic()
        # A fractional label is a positive and a negative row at the same score.
        halves = Rows(
            np.repeat([True, False], len(smooth)),
            np.tile(smooth.scores, 2),
            np.concatenate((smooth.positives, smooth.negatives)),
        )
        band = best_band(smooth, coverage, width="any")
        expected = best_band_auc(halves.labels, halves.scores, coverage, halves.weights, width="any")
        assert auc_left_by(band, halves) == pytest.approx(expected, rel=0, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("decimals", [2, 6])
@pytest.mark.parametrize("coverage", [0.95, 0.3])
@pytest.mark.parametrize("weighted", [False, True], ids=["counts", "weights"])
def test_any_width_equals_a_search_of_all_blocks_on_1500_rows(decimals, coverage, weighted):
    rng = np.random.default_rng(7)
    latent = rng.random(1500)
    labels = rng.random(1500) < latent**2
    scores = np.round(latent, decimals)
    weights = rng.uniform(0.1, 5.0, 1500) if weighted else None
    ranked = RankedScores.from_labels(labels, scores, weights)
    band = best_band(ranked, coverage, width="any")
    expected = best_block_auc(ranked.positives, ranked.negatives, coverage)
    assert ranked.auc(band) == pytest.approx(expected, rel=0, abs=1e-12)
    assert ranked.coverage(band) >= coverage - 1e-12


@pytest.mark.parametrize("shape", ["chance", "worse than chance", "separated", "overlap in the middle"])
def test_any_width_equals_a_search_of_all_blocks_for_unusual_rankings(shape):
    rng = np.random.default_rng(11)
    scores = np.sort(rng.random(600))
    chance = rng.random(600)
    labels = {
        "chance": chance < 0.3,
        "worse than chance": chance > scores,
        "separated": scores > 0.7,
        "overlap in the middle": np.where(abs(scores - 0.5) < 0.05, chance < 0.5, scores > 0.5),
    }[shape]
    ranked = RankedScores.from_labels(labels, scores, rng.uniform(0.1, 5.0, 600))
    band = best_band(ranked, 0.6, width="any")
    expected = best_block_auc(ranked.positives, ranked.negatives, 0.6)
    assert ranked.auc(band) == pytest.approx(expected, rel=0, abs=1e-12)


# ---- full width ----


@property_test
@given(rows(weights=counts, both_classes=True), coverages)
def test_full_width_cannot_be_extended_within_the_budget_but_to_all_rows_of_a_class(given_rows, coverage):
    ranked = rank(given_rows)
    start, stop = ranked.block(best_band(ranked, coverage))
    if start == stop:
        heaviest = (ranked.positives + ranked.negatives).min() / ranked.total
        assert coverage == 1 or heaviest > 1 - coverage or len(ranked) == 1 or np.isnan(ranked.auc(ranked.band(0, 1)))
        return
    for wider in ((start - 1, stop), (start, stop + 1)):
        if wider[0] >= 0 and wider[1] <= len(ranked):
            band = ranked.band(*wider)
            assert ranked.coverage(band) < coverage or np.isnan(ranked.auc(band))


@property_test
@given(rows(weights=counts, both_classes=True), coverages)
def test_mirrored_rows_are_left_with_the_same_auc(given_rows, coverage):
    ranked = rank(given_rows)
    mirrored = RankedScores(-ranked.scores[::-1], ranked.negatives[::-1], ranked.positives[::-1])
    left, mirrored_left = (each.auc(best_band(each, coverage)) for each in (ranked, mirrored))
    assert left == pytest.approx(mirrored_left, abs=1e-12)


@pytest.mark.parametrize("width", ["full", "any"])
def test_full_coverage_rejects_nothing_though_weights_span_twelve_orders(width):
    labels, weights = np.array([0, 1, 0, 1, 0, 1]), 10.0 ** np.array([6, -6, -6, 6, -5, 5])
    ranked = RankedScores.from_labels(labels, np.arange(6), weights)
    assert best_band(ranked, 1.0, width=width).is_empty
    for rule in (OptimalBands(ranked), NestedBands(ranked, 0.9), ThresholdBands(ranked)):
        assert rule.band(1.0).is_empty


@property_test
@given(rows(weights=counts, both_classes=True))
def test_a_very_low_coverage_never_comes_back_to_all_rows(given_rows):
    ranked = rank(given_rows)
    blocks = [(start, stop) for start in range(len(ranked)) for stop in range(start + 1, len(ranked) + 1)]
    can_reject = any(not np.isnan(ranked.auc(ranked.band(*block))) for block in blocks)
    assert best_band(ranked, 1e-9).is_empty != can_reject


@property_test
@given(rows(weights=fractional_weights, both_classes=True), coverages)
def test_any_width_is_never_below_full_width(given_rows, coverage):
    ranked = rank(given_rows)
    full, any_width = (ranked.auc(best_band(ranked, coverage, width=width)) for width in WIDTHS)
    assert any_width >= full


@property_test
@given(rows(weights=fractional_weights, both_classes=True), coverages)
def test_the_best_band_of_any_width_never_lowers_the_auc(given_rows, coverage):
    ranked = rank(given_rows)
    assert ranked.auc(best_band(ranked, coverage, width="any")) >= ranked.auc() - 1e-12


@property_test
@given(rows(weights=counts, both_classes=True), coverages, coverages)
def test_a_lower_coverage_never_lowers_the_auc_of_any_width(given_rows, one, other):
    ranked = rank(given_rows)
    lower, higher = sorted((one, other))
    aucs = [ranked.auc(best_band(ranked, coverage, width="any")) for coverage in (lower, higher)]
    assert aucs[0] >= aucs[1] - 1e-12


# ---- exact budgets ----


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("rejected", range(1, 19))
def test_a_coverage_of_whole_twentieths_rejects_that_many_of_twenty_rows_in_spite_of_rounding(width, rejected):
    # Separated classes: all bands leave an AUC of 1, and the whole budget is used.
    ranked = RankedScores.from_labels([0] * 10 + [1] * 10, np.arange(20))
    start, stop = ranked.block(best_band(ranked, 1 - rejected / 20, width=width))
    assert stop - start == rejected


@pytest.mark.parametrize("width", WIDTHS)
def test_weight_k_gives_the_band_of_the_row_k_times(width):
    for given_rows, coverage in random_cases(200):
        times = given_rows.weights.round().astype(int)
        times[0] = max(times[0], 1)
        weighted = RankedScores.from_labels(given_rows.labels, given_rows.scores, times)
        repeated = RankedScores.from_labels(np.repeat(given_rows.labels, times), np.repeat(given_rows.scores, times))
        assert best_band(weighted, coverage, width=width) == best_band(repeated, coverage, width=width)


# ---- degenerate rankings ----


@pytest.mark.parametrize("width", WIDTHS)
@property_test
@given(given_rows=rows(weights=fractional_weights))
def test_coverage_1_gives_the_empty_band(given_rows, width):
    assert best_band(rank(given_rows), 1.0, width=width).is_empty


@pytest.mark.parametrize("width", WIDTHS)
def test_coverage_1_gives_the_empty_band_though_weights_span_twelve_orders_of_magnitude(width):
    weights = np.logspace(-8, 8, 40)
    ranked = RankedScores.from_labels([0, 1] * 20, np.arange(40), weights)
    assert best_band(ranked, 1.0, width=width).is_empty
    assert ThresholdBands(ranked).band(1.0).is_empty
    assert NestedBands(ranked, 0.9).band(1.0).is_empty


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("coverage", [0.05, 0.5, 0.99])
def test_constant_scores_give_the_empty_band(width, coverage):
    ranked = RankedScores.from_labels([0, 1, 0, 1], [0.5] * 4)
    assert best_band(ranked, coverage, width=width).is_empty


@pytest.mark.parametrize("width", WIDTHS)
def test_a_tie_larger_than_the_budget_is_not_cut(width):
    ranked = RankedScores.from_labels([0, 1, 0, 1, 0, 1], [0.1, 0.5, 0.5, 0.5, 0.5, 0.9])
    band = best_band(ranked, 0.5, width=width)
    assert not band.rejects([0.5]).any()


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("label", [0, 1])
def test_one_class_gives_the_empty_band(width, label):
    assert best_band(RankedScores.from_labels([label] * 4, [0.1, 0.2, 0.3, 0.4]), 0.5, width=width).is_empty


@pytest.mark.parametrize("width", WIDTHS)
def test_an_empty_ranking_gives_the_empty_band(width):
    assert best_band(RankedScores([], [], []), 0.5, width=width).is_empty


@pytest.mark.parametrize("width", WIDTHS)
def test_a_band_never_rejects_all_rows_of_a_class_even_if_the_budget_allows_it(width):
    ranked = RankedScores.from_labels([0] * 9 + [1], np.arange(10))
    assert ranked.auc(best_band(ranked, 0.5, width=width)) == 1.0


# ---- several equal bands ----


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(
    ("coverage", "lower", "upper"), [(0.8, 4, 5), (0.6, 3, 6), (0.5, 3, 7), (0.4, 2, 7), (0.2, 1, 8)]
)
def test_separated_classes_use_the_budget_in_the_middle_of_the_rows(width, coverage, lower, upper):
    ranked = RankedScores.from_labels([0] * 5 + [1] * 5, np.arange(10))
    assert best_band(ranked, coverage, width=width) == RejectionBand(lower, upper)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("spread", [0.1, 3.0])
def test_rounding_of_fractional_weights_does_not_move_the_band_of_separated_classes_from_the_middle(width, spread):
    rng = np.random.default_rng(5)
    scores = np.linspace(0, 1, 2001)
    weights = np.exp(spread * rng.standard_normal(2001))
    ranked = RankedScores.from_labels(scores > 0.5, scores, weights)
    start, stop = ranked.block(best_band(ranked, 0.5, width=width))
    # The blocks to choose from: within the budget, part of no wider one, and leaving rows of both classes.
    widest = np.searchsorted(ranked.weight_below, ranked.weight_below + ranked.total / 2, side="right") - 1
    blocks = [
        (first, last)
        for first, last in enumerate(widest)
        if (first == 0 or last > widest[first - 1]) and not np.isnan(ranked.auc(ranked.band(first, last)))
    ]
    assert (start, stop) == blocks[len(blocks) // 2]


def test_a_score_that_says_nothing_is_rejected_in_the_middle():
    # Isotonic labels of a useless score are one constant: every band leaves an AUC of one half.
    ranked = RankedScores.from_labels([1, 0] * 50, np.arange(100)).isotonic()
    assert best_band(ranked, 0.8) == RejectionBand(40, 59)


def test_the_search_of_any_width_does_not_split_plateaus_down_to_single_bands(monkeypatch):
    # A third of all blocks leaves an AUC of 1 up to rounding: 4 million of 12 million.
    rng = np.random.default_rng(0)
    scores = np.sort(rng.random(5000))
    labels = np.where(abs(scores - 0.5) < 0.05, rng.random(5000) < 0.5, scores > 0.5)
    ranked = RankedScores.from_labels(labels, scores, rng.random(5000))
    asked = 0
    pairs = RankedScores.pairs

    def counting_pairs(self, start, stop):
        nonlocal asked
        asked += len(np.atleast_1d(self.won_below[start]))
        return pairs(self, start, stop)

    monkeypatch.setattr(RankedScores, "pairs", counting_pairs)
    best_band(ranked, 0.5, width="any")
    assert asked < 10 * len(ranked)


# ---- arguments ----


def test_an_unknown_width_raises_with_the_choices():
    with pytest.raises(ValueError, match=r'^width must be "full" or "any", got \'wide\'$'):
        best_band(RankedScores([], [], []), 0.5, width="wide")


@pytest.mark.parametrize("coverage", [0, 90, float("nan")])
def test_a_bad_coverage_raises(coverage):
    ranked = RankedScores.from_labels([0, 1], [0.1, 0.2])
    with pytest.raises(ValueError, match=r"coverage must be in \(0, 1\]"):
        best_band(ranked, coverage)
    with pytest.raises(ValueError, match=r"coverage must be in \(0, 1\]"):
        oracle_band([0, 1], [0.1, 0.2], coverage)


@pytest.mark.parametrize(
    ("labels", "weights", "message"),
    [
        ([1, 1, 1], None, "y_true must hold both classes, got 3 positives and 0 negatives; the AUC needs both"),
        ([0, 0, 0], None, "y_true must hold both classes, got 0 positives and 3 negatives; the AUC needs both"),
        ([0, 1, 1], [0, 2, 1], "y_true must hold both classes, got 3 positives and 0 negatives; the AUC needs both"),
    ],
)
def test_the_oracle_refuses_rows_of_one_class(labels, weights, message):
    with pytest.raises(ValueError, match="both classes") as raised:
        oracle_band(labels, [0.1, 0.2, 0.3], 0.5, weights)
    assert str(raised.value) == message
