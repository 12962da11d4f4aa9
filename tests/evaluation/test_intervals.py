"""Intervals for coverage and AUC, the risk bound, and the stability of bands."""

from math import ceil, inf, isnan, log2, sqrt

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binom, norm

from aucross.core import RejectionBand
from aucross.evaluation import auc_interval, band_stability, coverage_interval, selective_auc, sgr_bound

SEEDS = range(6)


def mask(k, n):
    return np.arange(n) < k


class TestCoverageInterval:
    @pytest.mark.parametrize(("k", "n"), [(90, 100), (3, 7), (1, 1000)])
    @pytest.mark.parametrize("level", [0.8, 0.95])
    def test_clopper_pearson_inverts_the_binomial_tails(self, k, n, level):
        lower, upper = coverage_interval(mask(k, n), level=level)
        assert binom.sf(k - 1, n, lower) == pytest.approx((1 - level) / 2)
        assert binom.cdf(k, n, upper) == pytest.approx((1 - level) / 2)

    @pytest.mark.parametrize(("k", "n"), [(90, 100), (3, 7), (0, 10)])
    def test_wilson_inverts_the_score_test(self, k, n):
        lower, upper = coverage_interval(mask(k, n), level=0.9, method="wilson")
        z, share = norm.ppf(0.95), k / n
        middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
        half = z * sqrt(share * (1 - share) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
        assert (lower, upper) == pytest.approx((max(middle - half, 0), middle + half), abs=1e-12)

    def test_the_ends_of_the_range(self):
        assert coverage_interval(mask(0, 20)).lower == 0
        assert coverage_interval(mask(20, 20)).upper == 1

    def test_clopper_pearson_covers_at_least_its_level(self):
        n, coverage, level = 40, 0.9, 0.9
        intervals = [coverage_interval(mask(k, n), level=level) for k in range(n + 1)]
        inside = [lower <= coverage <= upper for lower, upper in intervals]
        assert binom.pmf(np.arange(n + 1), n, coverage)[inside].sum() >= level

    def test_nan_without_rows(self):
        assert all(isnan(end) for end in coverage_interval(np.array([], dtype=bool)))

    def test_errors(self):
        with pytest.raises(ValueError, match='method must be "clopper-pearson" or "wilson", got \'wald\''):
            coverage_interval([True], method="wald")
        with pytest.raises(ValueError, match=r"level must be in \(0, 1\), got 95; for 95 % pass 0.95"):
            coverage_interval([True], level=95)
        with pytest.raises(ValueError, match="selected must be a boolean mask, got dtype int64"):
            coverage_interval([1, 0])


def loop_delong(y, score):
    """AUC and standard error from the placement of every row among those of the other class."""
    positives, negatives = score[y], score[~y]
    beats = [np.mean((s > negatives) + (s == negatives) / 2) for s in positives]
    beaten = [np.mean((positives > s) + (positives == s) / 2) for s in negatives]
    variance = np.var(beats, ddof=1) / len(beats) + np.var(beaten, ddof=1) / len(beaten)
    return np.mean(beats), sqrt(variance)


@pytest.mark.parametrize("seed", SEEDS)
class TestAUCInterval:
    def rows(self, seed, n=60):
        rng = np.random.default_rng(seed)
        y = rng.random(n) < 0.4
        return y, np.round(0.3 * y + rng.random(n), 1), rng.random(n) < 0.7, rng.integers(0, 4, n)

    def test_two_sided_and_one_sided_delong(self, seed):
        y, score, selected, _ = self.rows(seed)
        auc, error = loop_delong(y[selected], score[selected])
        lower, upper = auc_interval(y, score, selected, level=0.9)
        assert lower == pytest.approx(auc - norm.ppf(0.95) * error)
        assert upper == pytest.approx(min(auc + norm.ppf(0.95) * error, 1))
        one_sided = auc_interval(y, score, selected, level=0.9, side="lower")
        assert one_sided == pytest.approx((auc - norm.ppf(0.9) * error, 1))
        one_sided = auc_interval(y, score, selected, level=0.9, side="upper")
        assert one_sided == pytest.approx((0, min(auc + norm.ppf(0.9) * error, 1)))

    def test_weight_2_is_the_row_twice(self, seed):
        y, score, selected, weight = self.rows(seed)
        weighted = auc_interval(y, score, selected, sample_weight=weight)
        repeated = auc_interval(*(np.repeat(values, weight) for values in (y, score, selected)))
        assert weighted == pytest.approx(repeated)

    def test_reversed_scores_mirror_the_interval(self, seed):
        y, score, *_ = self.rows(seed)
        lower, upper = auc_interval(y, score)
        assert auc_interval(y, -score) == pytest.approx((1 - upper, 1 - lower))


class TestAUCIntervalEdges:
    def test_the_one_sided_bound_holds_as_often_as_it_says(self):
        # Normal scores with shift 1: the AUC is Phi(1 / sqrt 2).
        rng = np.random.default_rng(0)
        y = np.arange(80) < 40
        samples = [rng.normal(size=80) + y for _ in range(400)]
        bounds = [auc_interval(y, score, level=0.9, side="lower").lower for score in samples]
        assert 0.86 <= np.mean(np.array(bounds) <= norm.cdf(sqrt(0.5))) <= 0.94

    def test_separated_classes_do_not_promise_an_auc_of_1(self):
        y, score = np.arange(30) >= 20, np.arange(30.0)
        assert selective_auc(y, score) == 1
        assert auc_interval(y, score, level=0.95, side="lower") == pytest.approx((0.05 ** (1 / 10), 1))
        assert auc_interval(y, score, level=0.95) == pytest.approx((0.025 ** (1 / 10), 1))
        assert auc_interval(y, -score, level=0.95) == pytest.approx((0, 1 - 0.025 ** (1 / 10)))

    def test_separation_is_seen_in_spite_of_fractional_weights(self):
        rng = np.random.default_rng(0)
        y, score = np.arange(300) >= 200, np.arange(300.0)
        assert auc_interval(y, score, sample_weight=rng.random(300)).lower < 0.95

    def test_nan_where_a_class_has_no_more_than_one_row(self):
        for y in ([0, 0, 0], [0, 0, 1], [1, 1, 1]):
            assert all(isnan(end) for end in auc_interval(y, [0.1, 0.2, 0.3]))
        assert all(isnan(end) for end in auc_interval([0, 1, 0, 1], [0.1, 0.2, 0.3, 0.4], [False] * 4))

    def test_errors(self):
        with pytest.raises(ValueError, match='side must be "both", "lower" or "upper", got \'left\''):
            auc_interval([0, 1], [0.1, 0.2], side="left")
        with pytest.raises(ValueError, match=r"level must be in \(0, 1\), got 0"):
            auc_interval([0, 1], [0.1, 0.2], level=0)


class TestSGRBound:
    @pytest.mark.parametrize(("errors", "accepted", "n"), [(0, 50, 60), (3, 80, 100), (7, 9, 9)])
    @pytest.mark.parametrize("n_steps", [None, 1, 5])
    def test_the_bound_inverts_the_binomial_tail(self, errors, accepted, n, n_steps):
        y = np.zeros(n, dtype=bool)
        wrong = np.arange(n) < errors
        share = 0.05 / (n_steps or ceil(log2(n)))
        expected = brentq(lambda b: binom.cdf(errors, accepted, b) - share, 1e-9, 1 - 1e-9)
        assert sgr_bound(y, wrong, mask(accepted, n), delta=0.05, n_steps=n_steps) == pytest.approx(expected)

    def test_more_steps_and_less_delta_raise_the_bound(self):
        y, pred = [0] * 50, [0] * 48 + [1] * 2
        bounds = [sgr_bound(y, pred, n_steps=steps) for steps in (1, 5, 20)]
        assert bounds == sorted(bounds)
        assert sgr_bound(y, pred, delta=0.01) > sgr_bound(y, pred, delta=0.1)

    def test_edges(self):
        assert sgr_bound([0, 0], [1, 1]) == 1
        assert isnan(sgr_bound([0, 0], [1, 1], [False, False]))
        assert sgr_bound([0], [0]) == pytest.approx(0.95)  # one row needs one step

    def test_errors(self):
        with pytest.raises(ValueError, match=r"delta must be in \(0, 1\), got 5; for 5 % pass 0.05"):
            sgr_bound([0, 1], [0, 1], delta=5)
        with pytest.raises(
            ValueError, match="n_steps must be at least 1, got 0; pass 1 for a threshold fixed beforehand"
        ):
            sgr_bound([0, 1], [0, 1], n_steps=0)
        with pytest.raises(ValueError, match="y_pred must hold one label per row, got 1 for 2 rows"):
            sgr_bound([0, 1], [0])


class TestBandStability:
    def test_standard_deviation_and_range(self):
        lower, upper = np.array([0.2, 0.3, 0.1]), np.array([0.6, 0.5, 0.9])
        stability = band_stability([RejectionBand(a, b) for a, b in zip(lower, upper, strict=True)])
        assert stability == pytest.approx((lower.std(ddof=1), 0.2, upper.std(ddof=1), 0.4))

    def test_one_sided_bands_do_not_move_at_infinity(self):
        stability = band_stability([RejectionBand(-inf, 0.25), RejectionBand(-inf, 0.75)])
        assert stability == pytest.approx((0, 0, sqrt(0.125), 0.5))

    def test_some_empty_bands_give_nan(self):
        assert all(isnan(value) for value in band_stability([RejectionBand(), RejectionBand(0.1, 0.2)]))

    def test_one_band_has_a_range_but_no_deviation(self):
        lower_sd, lower_range, upper_sd, upper_range = band_stability([RejectionBand(0.1, 0.2)])
        assert isnan(lower_sd)
        assert isnan(upper_sd)
        assert (lower_range, upper_range) == (0, 0)

    def test_errors(self):
        with pytest.raises(ValueError, match="bands must hold at least one RejectionBand, got none"):
            band_stability([])
