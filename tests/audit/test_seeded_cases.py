"""How often reviewers find cases whose answer is known."""

import numpy as np
import pytest
from scipy.stats import binomtest

from aucross.audit import detection_rate


def test_rates_and_intervals_are_those_of_each_class():
    known = np.repeat([1, 0], [20, 30])
    answered = np.r_[np.ones(17), np.zeros(3), np.zeros(25), np.ones(4), np.nan]
    for found, right, n in zip(detection_rate(known, answered, 0.9), (17, 25), (20, 29), strict=True):
        interval = binomtest(right, n).proportion_ci(0.9, method="exact")
        assert found == pytest.approx((right / n, interval.low, interval.high, n))


def test_no_answer_gives_no_rate_and_all_right_an_open_end():
    positives, negatives = detection_rate([1, 1, 0], [1, 1, np.nan])
    assert (positives.rate, positives.high) == (1.0, 1.0)
    assert positives.low < 0.3
    assert np.isnan(negatives[:3]).all()
    assert negatives.n_answered == 0


@pytest.mark.parametrize(
    ("known", "answered", "message"),
    [([1, 2], [1, 0], "known must be 0 or 1"), ([1, 0], [1, 3], "0, 1 or NaN"), ([1], [1, 0], "one entry per case")],
)
def test_other_answers_are_refused(known, answered, message):
    with pytest.raises(ValueError, match=message):
        detection_rate(known, answered)
