"""DeLong's interval for the AUC of selected rows."""

from math import isnan, sqrt

import numpy as np
import pytest
from scipy.stats import norm

from aucross.evaluation import auc_interval, selective_auc

SEEDS = range(6)


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
