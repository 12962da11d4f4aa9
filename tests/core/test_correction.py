"""Coverage of a model trained on all rows, read off the rows that it and the fold models have seen."""

from __future__ import annotations

import pickle
from dataclasses import replace
from itertools import pairwise
from math import inf

import numpy as np
import pytest

from aucross.core import BandRule, OptimalBands, RankedScores, ThresholdBands
from aucross.core.correction import _KNOTS, Correction
from aucross.core.scored_rows import RuleInput

N_ROWS = 5_000
UNIFORM = (np.arange(N_ROWS) + 0.5) / N_ROWS
REJECTED = np.array([0.02, 0.03, 0.05, 0.1, 0.15, 0.25, 0.4, 0.5, 0.6, 0.8, 0.9])

FINE_GRID = np.unique(
    np.concatenate(([5e-324, 1e-300, 1e-12, 1e-6], np.linspace(1e-4, 1, 500), 1 - np.logspace(-12, -3, 50)))
)


def thresholds(score, weight=None) -> ThresholdBands:
    return ThresholdBands(RankedScores.from_probabilities(np.zeros(len(score)), score, weight))


def corrected(score, by_refit, by_folds=None, weight=None) -> BandRule:
    """A threshold on `score`; by default fold models score rows that they have seen like rows that they have not."""
    by_folds = score if by_folds is None else by_folds
    rows = (RuleInput.of_score(values, weight) for values in (by_refit, by_folds))
    rule = thresholds(score, weight)
    return replace(rule, coverage_map=Correction.of_seen_rows(rule, *rows))


def noisy(seed, n_rows=40) -> BandRule:
    """A handful of rows with ties, whose scores by other models have little to do with each other."""
    rng = np.random.default_rng(seed)
    return corrected(
        rng.integers(0, 9, n_rows) / 8, rng.normal(rng.normal(), 0.3, n_rows), rng.normal(rng.normal(), 0.3, n_rows)
    )


# ---- the shift ----


@pytest.mark.parametrize("shift", [-0.01, 0.03])
def test_a_refit_that_scores_otherwise_on_all_rows_alike_is_corrected_at_every_coverage(shift):
    """New rows score like those of the folds, moved; so do the rows that the refit has seen."""
    rule = corrected(UNIFORM, UNIFORM - shift)
    for rejected in REJECTED[5 * abs(shift) < REJECTED]:
        reached = np.mean(rule.band(1 - rejected).rejects(UNIFORM - shift))
        # Straight lines between the knots.
        assert reached == pytest.approx(rejected, abs=2e-3)


def test_scores_that_the_refit_puts_closer_together_are_corrected_on_both_sides():
    score = np.random.default_rng(0).normal(size=N_ROWS)
    positive = np.random.default_rng(1).random(N_ROWS) < 1 / (1 + np.exp(-score))
    rule = OptimalBands(RankedScores.from_labels(positive, score).isotonic())
    closer = 0.8 * score
    seen = RuleInput.of_score(closer), RuleInput.of_score(score)
    clf = replace(rule, coverage_map=Correction.of_seen_rows(rule, *seen))
    for coverage in (0.9, 0.8, 0.65):
        before, after = (np.mean(other.band(coverage).selects(closer)) for other in (rule, clf))
        assert before < coverage - 0.015
        assert after == pytest.approx(coverage, abs=0.004)


def test_without_a_difference_the_coverage_asked_for_is_asked():
    rule = corrected(UNIFORM, UNIFORM)
    assert rule.coverage_map.shifts == (0.0,) * len(_KNOTS)
    for coverage in (1.0, 0.93, 0.5, 0.07):
        assert rule.coverage_to_place(coverage) == pytest.approx(coverage, abs=1e-12)


def test_the_shift_is_that_of_the_formula():
    rng = np.random.default_rng(0)
    score, by_refit, by_folds = rng.random((3, 500)) ** np.array([[1.0], [1.2], [1.5]])
    weight = rng.uniform(1, 3, 500)
    rule = corrected(score, by_refit, by_folds, weight)
    for rejected, shift in zip(_KNOTS, rule.coverage_map.shifts, strict=True):
        band = rule.placed(1 - rejected)
        of_refit, of_folds, held_out = (
            sum(weight * band.rejects(values)) / sum(weight) for values in (by_refit, by_folds, score)
        )
        counts = min(of_folds / held_out, held_out / of_folds)
        assert shift == pytest.approx(np.clip((of_refit - of_folds) * counts, -rejected / 2, rejected / 2))


@pytest.mark.parametrize("factor", [0.2, 0.5, 2.0, 4.0])
def test_a_difference_counts_less_where_rows_seen_fill_the_band_otherwise_than_held_out_rows(factor):
    """Fold models reject `factor` times as many of the rows that they have seen; the refit one per cent more."""
    by_folds = UNIFORM / factor
    rejected = [np.mean(by_folds <= 0.2)]
    by_refit = np.sort(by_folds)
    by_refit[int(rejected[0] * N_ROWS) : int((rejected[0] + 0.01) * N_ROWS)] = 0.0
    shift = corrected(UNIFORM, by_refit, by_folds).coverage_map.shifts[_KNOTS.index(0.2)]
    assert shift == pytest.approx(0.01 * min(factor, 1 / factor), rel=0.02)


def test_a_share_is_changed_by_half_of_it_at_most():
    assert corrected(UNIFORM, UNIFORM + 2.0).coverage_map.shifts == pytest.approx([-knot / 2 for knot in _KNOTS])
    assert corrected(UNIFORM, UNIFORM - 2.0).coverage_map.shifts[:6] == pytest.approx([knot / 2 for knot in _KNOTS[:6]])


def test_a_band_that_holds_no_row_seen_is_left_alone():
    assert corrected(UNIFORM, UNIFORM, UNIFORM + 2.0).coverage_map.shifts == (0.0,) * len(_KNOTS)


# ---- whatever the shift ----


@pytest.mark.parametrize("seed", range(6))
def test_a_higher_coverage_never_asks_for_a_lower_one(seed):
    asked = np.array([noisy(seed).coverage_to_place(coverage) for coverage in FINE_GRID])
    assert (np.diff(asked) >= 0).all()
    assert (asked > 0).all()
    assert asked[-1] == 1.0


@pytest.mark.parametrize("seed", range(5))
def test_bands_that_are_nested_stay_so(seed):
    rule = noisy(seed, n_rows=200)
    uppers = [rule.band(coverage).upper for coverage in np.linspace(0.05, 1.0, 60)]
    assert all(wider >= narrower for wider, narrower in pairwise(uppers))


def test_full_coverage_rejects_nothing_whatever_the_shift():
    for seed in range(20):
        assert noisy(seed).coverage_to_place(1.0) == 1.0
        assert not noisy(seed).band(1.0).rejects(np.linspace(-5, 5, 50)).any()


@pytest.mark.parametrize("coverage", [5e-324, 1e-300, 1e-12])
def test_the_smallest_coverages_still_have_a_band(coverage):
    rule = corrected(UNIFORM, UNIFORM - 0.1)
    assert 0 < rule.coverage_to_place(coverage) < 1e-3
    assert rule.band(coverage).lower == -inf


@pytest.mark.parametrize("coverage", [0.0, -0.1, 1.1, float("nan"), "much"])
def test_a_bad_coverage_raises(coverage):
    rule = corrected(UNIFORM[:50], UNIFORM[:50])
    with pytest.raises((ValueError, TypeError), match="coverage"):
        rule.band(coverage)
    with pytest.raises((ValueError, TypeError), match="coverage"):
        rule.expected_coverage(coverage)


def test_rows_without_weight_do_not_count_and_the_unit_does_not_matter():
    rng = np.random.default_rng(0)
    score, by_refit, by_folds = rng.random((3, 300))
    weight = rng.uniform(0.5, 2, 300)
    weight[200:] = 0
    first = corrected(score, by_refit, by_folds, weight)
    other = corrected(score, by_refit, by_folds, 1000 * weight)
    assert other.coverage_map.shifts == pytest.approx(first.coverage_map.shifts)
    seen = (RuleInput.of_score(values[:200], weight[:200]) for values in (by_refit, by_folds))
    assert Correction.of_seen_rows(thresholds(score, weight), *seen).shifts == pytest.approx(first.coverage_map.shifts)


# ---- other rows ----


def test_new_rows_are_scored_by_the_model_in_use_and_need_no_correction():
    rule = corrected(UNIFORM, UNIFORM - 0.05)
    placed = rule.placed_on(RuleInput.of_score(UNIFORM - 0.05))
    assert placed.coverage_map is None
    assert np.mean(placed.band(0.8).rejects(UNIFORM - 0.05)) == pytest.approx(0.2, abs=1e-3)


def test_a_capacity_is_a_number_of_rows_and_needs_no_correction():
    rule, rows = corrected(UNIFORM, UNIFORM - 0.05), RuleInput.of_score(UNIFORM[::100])
    order = np.arange(len(rows))
    assert np.array_equal(rule.rows_to_reject(rows, 7, order), thresholds(UNIFORM).rows_to_reject(rows, 7, order))


def test_the_coverage_expected_holds_what_ties_keep_from_being_rejected():
    score = np.repeat([0.1, 0.5, 0.9], 100)
    rule = replace(thresholds(score), coverage_map=Correction((0.05,) * len(_KNOTS)))
    asked = rule.coverage_to_place(0.6)
    assert rule.expected_coverage(0.6) == pytest.approx(min(0.6 + 2 / 3 - asked, 1.0))


def test_pickles_answer_alike():
    rule = noisy(3)
    again = pickle.loads(pickle.dumps(rule))
    assert [again.band(c) for c in (0.9, 0.5)] == [rule.band(c) for c in (0.9, 0.5)]
