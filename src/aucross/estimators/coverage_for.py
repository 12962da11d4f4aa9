"""The dual question: not "which AUC at this coverage?" but "which coverage for this AUC?"."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from aucross.core.bands import check_auc, check_coverage
from aucross.core.bounds import beta_quantile
from aucross.core.influence import ExpectedAUC, PairwiseMetric
from aucross.core.ranking import FloatArray, IndexArray
from aucross.estimators.held_out import HeldOutScores
from aucross.system.notebook import result_html
from aucross.system.text import exact_percent, percent

# Held-out AUC of the rows selected at a coverage, with a lower and an upper bound.
HeldOutCurve = Callable[[float], tuple[float, float, float]]

# Held-out AUC need not fall steadily with coverage, so steps find the highest crossing before it is refined: large
# ones, and small ones where the curve comes so near to the target that it may cross it between two large ones.
_LARGE_STEPS = np.round(np.append(np.arange(0.95, 0.01, -0.05), 0.01), 2).tolist()
_SMALL_STEP = 0.01
# Near is within this share of the confidence interval: between neighbouring coverages the curve moves by less.
_NEAR = 0.1
_TOLERANCES = {0: 1e-4, 2: 1e-3}  # of the coverage, and of the upper end of its interval, which is far wider

# Coverages at which the walks begin that look for the lower end. Each walk has its part of the probability of failing.
STARTS = (1.0, 0.75, 0.5, 0.25)

# A target that was read off as the AUC of some rows, by another order of summing, is reached by them.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class HeldOutAnswer:
    """A number read off the held-out rows of a fit, with its confidence interval; printed, it is a sentence.

    Attributes
    ----------
    value : float
        The number asked for.
    low, high : float
        Ends of its interval.
    confidence : float
        Confidence of the interval.
    sentence : str
        Question and answer in words.
    """

    value: float
    low: float
    high: float
    confidence: float
    sentence: str = field(default="", repr=False, compare=False)

    def __str__(self) -> str:
        return self.sentence

    def _repr_html_(self) -> str:
        return result_html(self.sentence, [])


def interval_text(low: str, high: str, confidence: float) -> str:
    """Return an interval in words, for the sentence of an answer."""
    return f"({exact_percent(confidence)} interval {low} to {high})"


def tail_probability(confidence: float) -> float:
    """Return the probability with which each end of a two-sided interval may fail."""
    if check_coverage(confidence, name="confidence") == 1.0:
        raise ValueError("confidence must be below 1, got 1; pass 0.95")
    return (1 - confidence) / 2


def largest_coverage(
    curve: HeldOutCurve, joint: HeldOutCurve, *, auc: float, confidence: float = 0.95
) -> HeldOutAnswer:
    """Find the largest coverages at which a curve and its bounds reach an AUC.

    The lower bounds of `joint` fail with one part of the tail probability for each of `STARTS`.
    """
    check_auc(auc)
    known = cache(curve)  # both limits are looked for on the same steps
    coverage, high = (_largest(known, limit, auc - _ROUNDING) for limit in _TOLERANCES)
    low = min(_largest_shown(joint, auc - _ROUNDING), coverage)
    # Where the upper bound is NaN the estimate itself may still reach the target.
    high = max(coverage, high)
    interval = interval_text(percent(low), percent(high), confidence)
    if coverage:
        sentence = f"An AUC of {auc:g} is reached up to a coverage of {percent(coverage)} {interval}."
    else:
        sentence = f"No coverage reaches an AUC of {auc:g} on the held-out rows {interval}."
    return HeldOutAnswer(coverage, low, high, confidence, sentence)


def _largest_shown(joint: HeldOutCurve, goal: float) -> float:
    """Walk up in steps of .01 while the lower bound reaches the goal; return the last coverage, 0 if none.

    To pass a coverage whose AUC is too low, a walk must pass the first such coverage in its order, and that one test
    fails with the probability of one test: only the walks are counted, not their steps. The order is the same for every
    goal, so that the answer falls as the goal rises.
    """
    for start in STARTS:
        if joint(start)[1] >= goal:
            steps = np.round(np.arange(start + _SMALL_STEP, 1.0 + _SMALL_STEP / 2, _SMALL_STEP), 2).tolist()
            failed = next((place for place, at in enumerate(steps) if not joint(at)[1] >= goal), len(steps))
            return [start, *steps][failed]
    return 0.0


def _largest(curve: HeldOutCurve, limit: int, goal: float) -> float:
    """Return the largest coverage at which the estimate, or the upper limit, reaches the goal; 0 if none does."""

    def is_near(coverage: float) -> bool:
        values = curve(coverage)
        # A NaN bound (one row of a class) is near and reaches nothing.
        return not values[limit] < goal - _NEAR * (values[2] - values[1])

    if curve(1.0)[limit] >= goal:
        return 1.0
    above = 1.0
    for below in _LARGE_STEPS:
        if is_near(below) or is_near(above):
            for coverage in np.round(np.arange(above - _SMALL_STEP, below - _SMALL_STEP / 2, -_SMALL_STEP), 2).tolist():
                if curve(coverage)[limit] >= goal:
                    above = round(coverage + _SMALL_STEP, 2)
                    return _crossing(lambda at: curve(at)[limit] - goal, coverage, above, _TOLERANCES[limit])
        above = below
    return 0.0


def _crossing(excess: Callable[[float], float], low: float, high: float, tolerance: float) -> float:
    """Return the coverage between `low` and `high` at which the excess over the goal falls below 0.

    By straight lines between the ends; the end that stays has its excess halved (the Illinois method), so that both
    close in. No look is nearer to an end than nearly the tolerance: if the crossing lies within, that look is the last.
    A few looks are enough where halving the interval takes seven.
    """
    at_low, at_high = excess(low), excess(high)
    nearest = 0.9 * tolerance
    while high - low > tolerance:
        way = float(at_low / (at_low - at_high))
        middle = low + (high - low) * (way if isfinite(way) else 0.5)
        middle = min(max(middle, low + nearest), high - nearest)
        value = excess(middle)
        if value >= 0:
            low, at_low, at_high = middle, value, at_high / 2
        else:
            high, at_high, at_low = middle, value, at_low / 2
    return low


def pairwise_curve(
    held_out: HeldOutScores,
    metric: PairwiseMetric,
    alpha: float,
    select: Callable[[float], NDArray[np.bool_]],
) -> HeldOutCurve:
    """Return the curve of a metric for more than two classes, with the sum of squared influences as variance.

    Each limit is judged with one more row of the smallest class, which loses (or wins) against all rows that it meets.
    """
    labels = np.eye(metric.n_classes)[held_out.labels]
    objective = ExpectedAUC(metric.columns(held_out.responses), labels, metric.contests, held_out.sample_weight)

    def limit(mean: float, variance: float, share_of_added: float) -> float:
        step = share_of_added * mean
        return min(mean, beta_quantile(mean - step, variance + step**2, alpha))

    def curve(coverage: float) -> tuple[float, float, float]:
        selected = select(coverage)
        table = objective.table(objective.histograms(selected))
        influence = objective.influence(table) * selected
        effect = _design_effect(objective.weight * influence, held_out.units)
        variance = effect * float(objective.weight @ influence**2)
        fewest = float((objective.by_class @ selected).min()) / effect
        # A class takes part in 2 of n_classes contests, whatever their number.
        share = 2.0 / (metric.n_classes * (fewest + 1.0))
        return table.value, limit(table.value, variance, share), 1.0 - limit(1.0 - table.value, variance, share)

    return curve


def _design_effect(influence: FloatArray, units: IndexArray | None) -> float:
    """Return the variance inflation from rows of the same customer, at least 1."""
    squares = float(influence @ influence)
    if units is None or not squares:
        return 1.0
    of_units = np.bincount(units, influence)
    return max(float(of_units @ of_units) / squares, 1.0)
