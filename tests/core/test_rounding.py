"""Rounded scores and the bands that make rounding unnecessary after the fit."""

from __future__ import annotations

import pickle
from math import inf, nan, nextafter

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from aucross.core import (
    OptimalBands,
    RankedScores,
    RejectionBand,
    RoundedBands,
    RuleInput,
    ScoreRounding,
    ThresholdBands,
)
from tests.strategies import property_test

every_rounding = pytest.mark.parametrize("rounding", [ScoreRounding(), ScoreRounding(20)], ids=["exact", "binned"])

# All of float64, with the places where rounding is special drawn often.
SPECIAL = [
    0.0,
    -0.0,
    5e-324,
    -5e-324,
    1e-46,
    7e-46,
    1.4e-45,
    -1.4e-45,
    1.2e-38,
    0.1,
    0.5,
    1.0,
    -1.0,
    3.4028236e38,
    1e308,
]
finite = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from(SPECIAL) | st.floats(0, 1)
ends = finite | st.floats(0, 1, width=32)


def slow_round(score: float, bits: int) -> float:
    """One score at a time, by the text of its bits."""
    largest = float(np.uint32(int("0" + "1" * 7 + "0" + "1" * (bits - 9) + "0" * (32 - bits), 2)).view(np.float32))
    single = np.float32(min(max(score, -largest), largest))
    half = 2 ** (31 - bits) if bits < 32 else 0
    digits = f"{int(single.view(np.uint32)) + half:032b}"
    kept = digits[:bits].ljust(32, "0")
    return float(np.uint32(int(kept, 2)).view(np.float32)) + 0.0


@every_rounding
@property_test
@given(score=finite)
def test_a_score_is_rounded_to_the_top_bits_of_its_float32(rounding, score):
    rounded = rounding.round([score])
    assert rounded.dtype == np.float64
    assert rounded[0] == slow_round(score, rounding.bits)
    assert not np.signbit(rounded[0]) or rounded[0] < 0
    assert rounding.round(rounded)[0] == rounded[0]


@every_rounding
@property_test
@given(scores=st.lists(finite, min_size=2, max_size=10))
def test_rounding_keeps_the_order(rounding, scores):
    assert (np.diff(rounding.round(np.sort(scores))) >= 0).all()


@every_rounding
def test_what_is_no_finite_number_stays(rounding):
    rounded = rounding.round([inf, -inf, nan, 1e300, -1e300])
    np.testing.assert_array_equal(rounded[:3], [inf, -inf, nan])
    assert np.isfinite(rounded[3:]).all()


def near(values):
    """The values, their neighbours among float64 and the middles where float32 turns to the next."""
    values = [float(value) for value in values]
    single = [np.float32(np.clip(value, -3e38, 3e38)) for value in values]
    middles = [(float(s) + float(np.nextafter(s, np.float32(to)))) / 2 for s in single for to in (-inf, inf)]
    return [nextafter(value, to) for value in values + middles for to in (-inf, value, inf)]


@every_rounding
@property_test
@given(band=st.tuples(ends, ends).map(sorted), scores=st.lists(finite, max_size=10))
@example(band=[0.1, 0.1], scores=[])
@example(band=[0.0, 0.0], scores=[-1e-50, 1e-50])
@example(band=[-0.25, 0.25], scores=[])
@example(band=[1e39, 1e300], scores=[3.4e38, 1e305])
def test_the_widened_band_decides_scores_as_the_band_decides_rounded_ones(rounding, band, scores):
    narrow = RejectionBand(*band)
    scores = [score for score in (*scores, *band, *near(band)) if np.isfinite(score)]
    wide = rounding.widen(narrow)
    np.testing.assert_array_equal(wide.rejects(scores), narrow.rejects(rounding.round(scores)))
    single = np.array(scores, dtype=np.float64).clip(-3e38, 3e38).astype(np.float32)
    np.testing.assert_array_equal(wide.rejects(single), narrow.rejects(rounding.round(single)))


@every_rounding
def test_no_score_beyond_the_widened_ends_rounds_into_the_band(rounding):
    narrow = RejectionBand(*rounding.round([0.2, 0.3]))
    wide = rounding.widen(narrow)
    inside = rounding.round([wide.lower, wide.upper])
    outside = rounding.round([nextafter(wide.lower, -inf), nextafter(wide.upper, inf)])
    assert inside.tolist() == [narrow.lower, narrow.upper]
    assert outside[0] < narrow.lower < narrow.upper < outside[1]


@every_rounding
def test_infinite_ends_and_the_empty_band_stay(rounding):
    assert rounding.widen(RejectionBand()).is_empty
    assert rounding.widen(RejectionBand(-inf, inf)) == RejectionBand(-inf, inf)
    assert rounding.widen(RejectionBand(-inf, 0.5)).lower == -inf
    assert rounding.widen(RejectionBand(0.5, inf)).upper == inf


def test_a_band_between_two_rounded_scores_becomes_empty():
    assert ScoreRounding().widen(RejectionBand(0.1, 0.1)).is_empty


@pytest.mark.parametrize("bits", [16, 64, "32", True, None])
def test_other_numbers_of_bits_are_refused(bits):
    with pytest.raises(ValueError, match="bits must be 32 or 20"):
        ScoreRounding(bits)


# ---- the rule ----


def some_rows(n_rows=3000):
    rng = np.random.default_rng(5)
    score = rng.beta(1, 3, n_rows)
    return rng.random(n_rows) < score, score


@every_rounding
@pytest.mark.parametrize("kind", [OptimalBands, ThresholdBands])
@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.95, 1.0])
def test_bands_placed_on_rounded_scores_decide_unrounded_ones_alike(rounding, kind, coverage):
    positive, score = some_rows()
    ranked = RankedScores.from_labels(positive, rounding.round(score))
    inner = kind(ranked.isotonic())
    rule = RoundedBands(inner, rounding)
    selected = rule.band(coverage).selects(score)
    np.testing.assert_array_equal(selected, inner.band(coverage).selects(rounding.round(score)))
    assert rule.expected_coverage(coverage) == pytest.approx(selected.mean(), abs=1e-12)


@every_rounding
def test_the_rule_is_like_the_one_within_in_everything_else(rounding):
    positive, score = some_rows()
    inner = ThresholdBands(RankedScores.from_labels(positive, rounding.round(score)))
    rule = RoundedBands(inner, rounding)
    rows = RuleInput.of_score(score)
    rounded = RuleInput.of_score(rounding.round(score))
    assert rule.ranking is inner.ranking
    assert rule.innermost is inner
    assert (rule.axis, rule.is_fixed, rule.is_replaced) == (inner.axis, inner.is_fixed, False)
    np.testing.assert_array_equal(rule.probability_at(rows), inner.probability_at(rounded))
    assert pickle.loads(pickle.dumps(rule)).band(0.8) == rule.band(0.8)


@every_rounding
def test_a_rule_placed_anew_rounds_the_rows_that_it_is_placed_on(rounding):
    positive, score = some_rows()
    inner = OptimalBands(RankedScores.from_labels(positive, rounding.round(score)).isotonic())
    other = np.random.default_rng(6).beta(1, 2, 2000)
    again = RoundedBands(inner, rounding).placed_on(RuleInput.of_score(other))
    expected = inner.placed_on(RuleInput.of_score(rounding.round(other)))
    assert again.is_replaced
    assert again.band(0.8) == rounding.widen(expected.band(0.8))


@pytest.mark.parametrize(
    ("statistic", "n_rows", "bits"),
    [("auto", 5_000_000, 32), ("auto", 5_000_001, 20), ("exact", 10**9, 32), ("binned", 1, 20)],
)
def test_how_scores_are_counted_follows_from_the_number_of_rows(statistic, n_rows, bits):
    assert ScoreRounding.of_statistic(statistic, n_rows) == ScoreRounding(bits)


def test_another_statistic_is_refused():
    with pytest.raises(ValueError, match='statistic must be "auto", "exact" or "binned", got \'short\''):
        ScoreRounding.of_statistic("short", 1)


def test_many_general_scores_lose_less_than_a_millionth_of_the_auc_in_20_bits():
    rng, rounding = np.random.default_rng(0), ScoreRounding(20)
    score = rng.beta(2, 5, 400_000)
    positive = rng.random(400_000) < score
    exact, binned = (RankedScores.from_labels(positive, values) for values in (score, rounding.round(score)))
    # Half of the pairs that meet in a bin is the bound; a tenth of them would be far above what is lost.
    tied = binned.positives @ binned.negatives / (binned.total_positives * binned.total_negatives)
    for coverage in (1.0, 0.9, 0.7):
        band = rounding.widen(OptimalBands(binned.isotonic()).band(coverage))
        assert binned.coverage(band) == exact.coverage(band)
        assert abs(binned.auc(band) - exact.auc(band)) < 1e-6 < tied / 10
