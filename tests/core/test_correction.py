"""Coverage of a model trained on all rows, read off two numbers of folds."""

from __future__ import annotations

import pickle
from math import inf

import numpy as np
import pytest

from aucross.core import BandRule, OptimalBands, RankedScores, ThresholdBands
from aucross.core.cautious import CautiousBands
from aucross.core.correction import CorrectedBands, extrapolation_factor
from aucross.core.scored_rows import RuleInput

N_ROWS = 20_000
UNIFORM = (np.arange(N_ROWS) + 0.5) / N_ROWS
ROWS, SHIFTED_ROWS = RuleInput.of_score(UNIFORM), RuleInput.of_score(UNIFORM + 0.1)
FOLDS = [(5, 2), (10, 2), (3, 2), (2, 3)]
REJECTED = np.array([0.02, 0.03, 0.05, 0.1, 0.15, 0.25, 0.4, 0.5, 0.6, 0.8, 0.9])

FINE_GRID = np.unique(
    np.concatenate(([5e-324, 1e-300, 1e-12, 1e-6], np.linspace(1e-4, 1, 2000), 1 - np.logspace(-12, -3, 50)))
)

every_number_of_folds = pytest.mark.parametrize(("n_folds", "n_fewer_folds"), FOLDS)


def thresholds(score, weight=None) -> ThresholdBands:
    return ThresholdBands(RankedScores.from_probabilities(np.zeros(len(score)), score, weight))


def corrected(score, again, factor, weight=None, weight_again=None) -> CorrectedBands:
    rows, fewer_folds = RuleInput.of_score(score, weight), RuleInput.of_score(again, weight_again)
    return CorrectedBands(thresholds(score, weight), rows, fewer_folds, factor)


def noisy(seed, n_rows=40, factor=1 / 3) -> CorrectedBands:
    """A handful of rows with ties, whose scores by fewer folds have little to do with the others."""
    rng = np.random.default_rng(seed)
    return corrected(rng.integers(0, 9, n_rows) / 8, rng.normal(rng.normal(), 0.3, n_rows), factor)


# ---- the straight line ----


@pytest.mark.parametrize(("n_folds", "n_fewer_folds", "factor"), [(5, 2, 1 / 3), (3, 2, 1), (10, 2, 1 / 8), (2, 3, -2)])
def test_the_factor_is_that_of_the_formula(n_folds, n_fewer_folds, factor):
    assert extrapolation_factor(n_folds, n_fewer_folds) == pytest.approx(factor)


@every_number_of_folds
def test_a_straight_line_in_one_over_folds_less_one_is_continued_to_all_rows(n_folds, n_fewer_folds):
    def line(folds):
        return 0.3 + 0.07 / (folds - 1)

    here, there = line(n_folds), line(n_fewer_folds)
    assert here + extrapolation_factor(n_folds, n_fewer_folds) * (here - there) == pytest.approx(0.3)


@every_number_of_folds
@pytest.mark.parametrize("shift", [0.002, -0.002])
def test_a_shift_that_is_linear_is_corrected_at_every_coverage(n_folds, n_fewer_folds, shift):
    """The score of every row moves by the same amount, so that the share below any threshold is linear."""

    def scores_by(one_over_folds):
        return UNIFORM + shift * (n_folds - 1) * one_over_folds

    of_folds, of_fewer, of_all = (scores_by(x) for x in (1 / (n_folds - 1), 1 / (n_fewer_folds - 1), 0.0))
    rule = corrected(of_folds, of_fewer, extrapolation_factor(n_folds, n_fewer_folds))
    # The shift of 40 rows in 20,000 is followed but for a part of it, by which it could be chance.
    close = 5 / N_ROWS + 0.2 * abs(shift)
    for rejected in REJECTED:
        assert rule.coverage_to_ask(1 - rejected) == pytest.approx(1 - rejected + shift, abs=close)
        assert rule.band(1 - rejected).rejects(of_all).mean() == pytest.approx(rejected, abs=close)
        assert abs(rule.rule.band(1 - rejected).rejects(of_all).mean() - rejected) > 0.0015


def test_scores_that_fewer_rows_make_more_extreme_are_corrected_on_both_sides():
    """Scores spread from the middle: the share between -b and b is b times a straight line."""
    n_folds, n_fewer_folds = 5, 2
    latent = np.linspace(-1, 1, 20_001)
    of_folds, of_fewer = (latent / (1 - 0.15 / (folds - 1)) for folds in (n_folds, n_fewer_folds))
    ranked = RankedScores.from_probabilities(0.5 + 0.4 * latent, of_folds)
    factor = extrapolation_factor(n_folds, n_fewer_folds)
    rule = CorrectedBands(OptimalBands(ranked), RuleInput.of_score(of_folds), RuleInput.of_score(of_fewer), factor)
    for rejected in REJECTED:
        assert rule.band(1 - rejected).rejects(latent).mean() == pytest.approx(rejected, abs=3e-4)
    assert rule.rule.band(0.5).rejects(latent).mean() > 0.515


def test_without_a_shift_the_coverage_asked_for_is_asked():
    rule = corrected(UNIFORM, UNIFORM, 1 / 3)
    assert [rule.coverage_to_ask(coverage) for coverage in FINE_GRID] == pytest.approx(FINE_GRID, abs=1e-12)


# ---- any coverage ----


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("factor", [1 / 3, -2.0, 1.0])
def test_a_higher_coverage_never_asks_for_a_lower_one(seed, factor):
    rule = noisy(seed, factor=factor)
    asked = np.array([rule.coverage_to_ask(coverage) for coverage in FINE_GRID])
    assert (np.diff(asked) >= -1e-15).all()
    assert (asked > 0).all()
    assert asked[-1] == 1.0


@pytest.mark.parametrize("seed", range(4))
def test_bands_that_are_nested_stay_so(seed):
    rule = noisy(seed)
    upper = np.array([rule.band(coverage).upper for coverage in FINE_GRID])
    assert (upper[1:] <= upper[:-1]).all()


@pytest.mark.parametrize("seed", range(8))
def test_noise_moves_a_coverage_by_no_more_than_half_way_to_the_next_knots(seed):
    # A tenth of the rows may be rejected: the knots beside it are a twentieth and a fifth.
    assert 0.85 <= noisy(seed, factor=10.0).coverage_to_ask(0.9) <= 0.925
    assert noisy(seed, factor=10.0).coverage_to_ask(0.98) >= 0.965


def test_full_coverage_rejects_nothing_whatever_the_shift():
    rule = corrected(UNIFORM, UNIFORM + 0.2, 1.0)
    assert rule.band(1.0).is_empty
    assert rule.coverage_to_ask(1.0) == 1.0


@pytest.mark.parametrize("coverage", [5e-324, 1e-300, 1e-9])
def test_the_smallest_coverages_still_have_a_band(coverage):
    band = corrected(UNIFORM, UNIFORM + 0.1, 1 / 3).band(coverage)
    assert band.lower == -inf
    assert band.rejects(UNIFORM).sum() == N_ROWS - 1


@pytest.mark.parametrize("coverage", [0, 1.5, -0.1, float("nan")])
def test_a_bad_coverage_raises(coverage):
    rule = corrected(UNIFORM, UNIFORM, 1 / 3)
    for ask in (
        rule.band,
        rule.coverage_to_ask,
        lambda coverage: rule.selection_score(ROWS, coverage),
    ):
        with pytest.raises(ValueError, match=r"coverage must be in \(0, 1\]"):
            ask(coverage)


# ---- weights ----


def test_rows_without_weight_do_not_count_and_the_unit_does_not_matter():
    rng = np.random.default_rng(0)
    score, weight = rng.random(900), rng.uniform(0.5, 2, 900) * (rng.random(900) < 0.8)
    again = score + 0.01 * rng.normal(size=900) + 0.05
    first = corrected(score, again, 1 / 3, weight, weight)
    used = weight > 0
    others = (
        corrected(score, again, 1 / 3, 1000 * weight, 1000 * weight),
        corrected(score[used], again[used], 1 / 3, weight[used], weight[used]),
    )
    for coverage in (0.97, 0.9, 0.75, 0.5, 0.2):
        for other in others:
            assert other.coverage_to_ask(coverage) == pytest.approx(first.coverage_to_ask(coverage), abs=1e-12)
            assert other.band(coverage) == first.band(coverage)
    assert first.coverage_to_ask(0.75) != 0.75


# ---- noise ----


@pytest.mark.parametrize("seed", range(5))
def test_a_difference_within_two_of_its_standard_errors_is_not_followed(seed):
    """Scores of fewer folds that are noise around the others: whatever the noise, the share stays where it is."""
    rng = np.random.default_rng(seed)
    score = rng.random(1000)
    rule = corrected(score, score + 0.05 * rng.normal(size=1000), 1 / 3)
    for rejected in (0.1, 0.2, 0.35, 0.5):
        band = rule.rule.band(1 - rejected)
        difference = band.rejects(rule.rows.score).astype(float) - band.rejects(rule.fewer_folds.score)
        is_noise = abs(difference.mean()) <= 2 * difference.std() / np.sqrt(1000)
        assert (rule.coverage_to_ask(1 - rejected) == pytest.approx(1 - rejected, abs=1e-12)) == is_noise


def test_what_exceeds_the_noise_little_counts_little():
    """One row in ten moves into the band and k more rows move out of it than in."""
    score = np.linspace(0, 1, 1000)

    def shift_for(n_more):
        again = score.copy()
        below, above = np.flatnonzero(score < 0.2), np.flatnonzero(score > 0.3)
        again[below[: 10 + n_more]] += 0.6
        again[above[:10]] -= 0.25
        return 0.8 - corrected(score, again, 1 / 3).coverage_to_ask(0.8)

    shifts = np.array([shift_for(n_more) for n_more in (0, 4, 10, 20, 60)])
    full = np.array([0, 4, 10, 20, 60]) / 3000
    assert shifts[0] == shifts[1] == pytest.approx(0, abs=1e-12)
    assert (np.abs(shifts[2:]) < full[2:]).all()
    assert (np.diff(np.abs(shifts[2:]) / full[2:]) > 0).all()
    assert abs(shifts[-1]) > 0.8 * full[-1]


def test_a_shift_that_only_one_fold_shows_is_noise_and_one_that_all_show_is_not():
    """Two tenths of the rows leave the band: those of one fold whose model went astray, or some of every fold."""
    score, folds = np.random.default_rng(0).random(5000), np.arange(5000) % 5
    fewer = np.arange(5000) // 5 % 2
    in_band = np.flatnonzero(score < 0.3)

    def asked(moved):
        again = score.copy()
        again[moved] += 1
        rows = [RuleInput.of_score(values) for values in (score, again)]
        return CorrectedBands(thresholds(score), *rows, 1 / 3, folds, fewer).coverage_to_ask(0.8)

    assert asked(in_band[fewer[in_band] == 0][: len(in_band) // 5]) == pytest.approx(0.8, abs=1e-12)
    assert asked(in_band[: len(in_band) // 5]) > 0.805


def test_the_noise_of_folds_is_the_variance_of_their_mean():
    rng = np.random.default_rng(1)
    score, again, folds = rng.random(600), rng.random(600) ** 2, np.repeat(np.arange(6), 100)
    weight = rng.uniform(1, 3, 600)
    rule = CorrectedBands(
        thresholds(score, weight),
        RuleInput.of_score(score, weight),
        RuleInput.of_score(again, weight),
        1 / 3,
        folds,
        folds % 2,
    )
    difference, noise = reference_difference(rule, weight, folds, 0.8)
    assert rule._difference(0.8) == pytest.approx((difference, difference * (1 - 4 * noise / difference**2)))


def reference_difference(rule, weight, folds, coverage):
    here, there = (rule.rule.band(coverage).rejects(rows.score) for rows in (rule.rows, rule.fewer_folds))
    share = weight / weight.sum()
    difference = sum(share * here) - sum(share * there)
    noise = sum(share**2 * (1.0 * here - there - difference) ** 2)
    for rejected, numbers in ((here, folds), (there, folds % 2)):
        n_folds, mean = len(set(numbers)), sum(share * rejected)
        for number in set(numbers):
            of_fold = numbers == number
            own = np.average(rejected[of_fold], weights=weight[of_fold])
            noise += share[of_fold].sum() ** 2 * (own - mean) ** 2 * n_folds / (n_folds - 1)
    return difference, noise


# ---- a rule around a rule ----


def test_what_is_followed_and_what_is_in_doubt_add_up_to_what_was_seen():
    followed_in_part = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        score = rng.random(400)
        rule = corrected(score, score + rng.normal(rng.normal(0, 0.1), 0.1, 400), factor=1 / 3)
        asked = rule.coverage_to_ask(0.8)  # 0.2 is a knot
        band = rule.rule.band(asked)
        seen = (band.rejects(score).mean() - band.rejects(rule.fewer_folds.score).mean()) / 3
        doubt = rule.coverage_in_doubt(0.8)
        assert doubt == pytest.approx(abs(abs(seen) - abs(0.2 - (1 - asked))), abs=0.01)
        assert CautiousBands(rule, 400, 0.95).coverage_in_doubt(0.7) >= 0.0
        followed_in_part += abs(0.8 - asked) > 0.001 and doubt > 0.001
    assert followed_in_part > 10
    assert thresholds(UNIFORM).coverage_in_doubt(0.8) == 0.0


def test_it_is_a_rule_and_its_rule_is_found_inside():
    rule = noisy(0)
    assert isinstance(rule, BandRule)
    assert rule.innermost is rule.rule
    assert CautiousBands(rule, n_rows=40, confidence=0.9).innermost is rule.rule
    assert rule.rule.innermost is rule.rule


def test_new_rows_are_scored_by_the_model_in_use_and_need_no_correction():
    rule = corrected(UNIFORM, UNIFORM + 0.1, 1 / 3)
    again = rule.placed_on(RuleInput.of_score(UNIFORM + 1))
    assert isinstance(again, ThresholdBands)
    assert again.band(0.75).rejects(UNIFORM + 1).sum() == N_ROWS / 4


def test_a_capacity_is_a_number_of_rows_and_needs_no_correction():
    rule, order = corrected(UNIFORM, UNIFORM + 0.1, 1 / 3), np.arange(N_ROWS)
    assert rule.rows_to_reject(RuleInput.of_score(UNIFORM), 7, order).tolist() == list(range(7))


def test_the_selection_score_is_that_of_the_coverage_asked():
    class ScoreOfCoverage(ThresholdBands):
        def selection_score(self, rows, coverage):
            return rows.score * coverage

    inner = ScoreOfCoverage(thresholds(UNIFORM).ranked)
    rule = CorrectedBands(inner, ROWS, SHIFTED_ROWS, 1 / 3)
    asked = rule.coverage_to_ask(0.7)
    assert asked != pytest.approx(0.7, abs=0.01)
    assert np.array_equal(rule.selection_score(ROWS, 0.7), UNIFORM * asked)


def test_a_shift_is_measured_once_and_kept():
    asked = []

    class Counting(ThresholdBands):
        def place(self, coverage):
            asked.append(coverage)
            return super().place(coverage)

    rule = CorrectedBands(Counting(thresholds(UNIFORM).ranked), ROWS, SHIFTED_ROWS, 1 / 3)
    assert not asked
    rule.coverage_to_ask(0.75)
    n_asked = len(asked)
    assert n_asked > 0
    for coverage in (0.7, 0.75, 0.79):
        rule.coverage_to_ask(coverage)
    assert len(asked) == n_asked


def test_pickles_answer_alike():
    rule = noisy(3)
    rule.band(0.8)
    copy = pickle.loads(pickle.dumps(rule))
    assert [copy.band(coverage) for coverage in (0.9, 0.8, 0.3)] == [
        rule.band(coverage) for coverage in (0.9, 0.8, 0.3)
    ]
