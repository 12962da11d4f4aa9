"""Coverage that is earned by labels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from aucross.audit import LabelledPeriod, next_coverage
from aucross.audit.earned_coverage import _spent_until

COVERAGES = (0.5, 0.7, 0.9)


def period(seed: int, distance: float = 3.0, n_cases: int = 4000, audit: float = 0.2) -> LabelledPeriod:
    rng = np.random.default_rng(seed)
    positive = rng.random(n_cases) < 0.3
    score = rng.normal(size=n_cases) + distance * positive
    # The nearer to the middle, the later a case becomes automatic.
    reach = 1.0 - np.argsort(np.argsort(np.abs(score - distance / 2))) / n_cases
    probability = np.where(reach <= 0.5, audit, 1.0)
    known = np.where(rng.random(n_cases) < probability, positive, np.nan)
    return LabelledPeriod(score, known, probability, reach[:, None] <= np.array(COVERAGES))


def test_a_kept_promise_widens_by_one_step():
    found = next_coverage([period(0), period(1)], auc=0.9, present=0.5, coverages=COVERAGES)
    assert found.coverage == 0.7
    assert found.sentence.startswith("Widen from 50% to 70% automatic")
    assert all(step.low < step.auc for step in found.steps)


def test_the_mean_is_that_of_all_periods():
    periods = [period(seed, distance) for seed, distance in ((0, 3.0), (1, 2.0), (2, 1.0))]
    found = next_coverage(periods, auc=0.9, present=0.5, coverages=COVERAGES)
    alone = [next_coverage([one], auc=0.9, present=0.5, coverages=COVERAGES).steps[-1].auc for one in periods]
    assert found.steps[-1].auc == pytest.approx(np.mean(alone), abs=1e-12)


def test_a_promise_that_is_not_shown_narrows_to_what_is():
    worse = [period(seed, 1.0) for seed in range(4)]
    found = next_coverage(worse, auc=0.9, present=0.9, coverages=COVERAGES)
    assert found.coverage == 0.5
    assert found.sentence.startswith("Narrow from 90% to 50% automatic: at 90% the mean AUC is")
    kept = next_coverage(worse, auc=0.9, present=0.5, coverages=COVERAGES)
    assert kept.coverage == 0.5
    assert kept.sentence.startswith("Keep 50% automatic: at 70% the mean AUC is")


def test_the_widest_step_is_kept():
    found = next_coverage([period(0), period(1)], auc=0.8, present=0.9, coverages=COVERAGES)
    assert found.coverage == 0.9
    assert found.sentence == "Keep 90% automatic: it is the widest coverage on the list."


def test_few_labels_earn_nothing():
    few = [period(seed, n_cases=30) for seed in range(2)]
    found = next_coverage(few, auc=0.6, present=0.5, coverages=COVERAGES)
    assert found.coverage == 0.5
    assert "too few labels" in found.sentence
    narrower = next_coverage(few, auc=0.6, present=0.9, coverages=COVERAGES)
    assert narrower.coverage == 0.5
    assert narrower.sentence == (
        "Narrow from 90% to 50% automatic: too few labels so far to show that 90% keeps the promise; 0.600 is promised."
    )
    # Enough of them together are a block.
    joined = next_coverage([period(seed, n_cases=100) for seed in range(10)], auc=0.6, present=0.5, coverages=COVERAGES)
    assert 0 < joined.steps[-1].n_blocks < 10


def test_more_labels_raise_the_lower_end():
    periods = [period(seed) for seed in range(12)]
    lows = [next_coverage(periods[:n], auc=0.9, present=0.5, coverages=COVERAGES).steps[1].low for n in (1, 4, 12)]
    assert lows == sorted(lows)


def test_steps_up_are_seldom_wrong_at_the_edge():
    """The promise is a hair above the truth at the second step: ever widening to it is wrong."""
    big = [period(1000 + seed, 1.5, 100_000, 1.0) for seed in range(3)]
    truth = np.mean([next_coverage([one], auc=0.5, present=0.5, coverages=COVERAGES).steps[1].auc for one in big])
    wrong = 0
    for stream in range(30):
        periods = [period(10_000 + 10 * stream + month, 1.5, 1000) for month in range(6)]
        taken = [
            next_coverage(periods[: n + 1], auc=truth + 1e-4, present=0.5, coverages=COVERAGES).coverage
            for n in range(6)
        ]
        wrong += max(taken) > 0.5
    assert wrong <= 4


def test_labels_that_are_no_draw_with_the_probabilities_earn_nothing():
    """Half of the positives of reviewed cases are not known yet: the AUC of the others is not that of all."""
    whole = period(0)
    late = (np.asarray(whole.y_known) == 1) & (np.arange(4000) % 2 == 0)
    with pytest.raises(ValueError, match=r"periods must hold the outcomes .* leave out periods"):
        next_coverage(
            [replace(whole, y_known=np.where(late, np.nan, whole.y_known))], auc=0.9, present=0.5, coverages=COVERAGES
        )


def test_labels_without_a_mistake_are_not_certain():
    score = np.r_[np.linspace(-2, -1, 200), np.linspace(1, 2, 50)]
    faultless = LabelledPeriod(score, score > 0, np.ones(250), np.ones((250, 3), dtype=bool))
    found = next_coverage([faultless], auc=0.99, present=0.5, coverages=COVERAGES)
    assert found.coverage == 0.5
    assert found.steps[1].auc == 1.0
    assert found.steps[1].low < 0.99


def test_bad_input_is_refused():
    one = period(0, n_cases=50)
    with pytest.raises(ValueError, match="coverages must ascend"):
        next_coverage([one], auc=0.8, present=0.5, coverages=(0.7, 0.5))
    with pytest.raises(ValueError, match="present must be one of coverages"):
        next_coverage([one], auc=0.8, present=0.55, coverages=COVERAGES)
    with pytest.raises(ValueError, match="auc must be in"):
        next_coverage([one], auc=80, present=0.5, coverages=COVERAGES)
    with pytest.raises(ValueError, match="one boolean for each case and coverage"):
        next_coverage([one], auc=0.8, present=0.5)


def test_errors_cross_the_boundary_as_often_as_is_said():
    """By simulation: after k blocks of unequal variances a share failure k^2 / (k^2 + 144) of streams has crossed."""
    variances = (1.0, 0.2, 4.0, 1.0, 9.0, 1.0, 1.0, 1.0, 2.0, 1.0, 1.0, 1.0)
    errors = np.random.default_rng(0).normal(size=(100_000, 12)) * np.sqrt(variances)
    ends = np.array([_spent_until(variances[:k], 0.5)[0] for k in range(1, 13)])
    crossed = np.logical_or.accumulate(np.cumsum(errors, axis=1) >= ends, axis=1).mean(axis=0)
    k = np.arange(1, 13)
    np.testing.assert_allclose(crossed, 0.5 * k**2 / (k**2 + 144), atol=0.005)
