"""The dual question: not "which AUC at this coverage?" but "which coverage for this AUC?"."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from math import ceil, isfinite

import numpy as np
from numpy.typing import NDArray

from aucross.core.bands import check_auc, check_coverage
from aucross.core.bounds import ROWS_ADDED, beta_quantile
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

# The walk that looks for the lower end begins at the lowest coverage, not below this one, that leaves so many rows of
# the rarest class if all classes are rejected alike. Chosen by `python -m benchmarks.intervals coverage_for`.
_LOWEST_START, _ROWS_AT_START = 0.1, 60.0
# Part of the probability of failing that the walk has; the rest is for a first look at all rows.
_PART_OF_WALK = 0.8

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
    curve_at: Callable[[float], HeldOutCurve], n_rarest: float, *, auc: float, confidence: float = 0.95
) -> HeldOutAnswer:
    """Find the largest coverages at which an AUC curve and its bounds reach a goal.

    The rarest class has `n_rarest` rows.
    """
    check_auc(auc)
    tail = tail_probability(confidence)
    known = cache(curve_at(tail))  # both are looked for on the same steps
    coverage, high = (_largest(known, limit, auc - _ROUNDING) for limit in _TOLERANCES)
    low = min(_largest_shown(curve_at, tail, n_rarest, auc - _ROUNDING), coverage)
    # Where the upper bound is NaN the estimate itself may still reach the target.
    high = max(coverage, high)
    interval = interval_text(percent(low), percent(high), confidence)
    if coverage:
        sentence = f"An AUC of {auc:g} is reached up to a coverage of {percent(coverage)} {interval}."
    else:
        sentence = f"No coverage reaches an AUC of {auc:g} on the held-out rows {interval}."
    return HeldOutAnswer(coverage, low, high, confidence, sentence)


def _largest_shown(curve_at: Callable[[float], HeldOutCurve], tail: float, n_rarest: float, goal: float) -> float:
    """Walk up in steps of .01 from all rows while the lower bound reaches the goal; return 0 if it never does.

    To pass a coverage whose AUC is too low, the walk must pass the first such one, so the whole walk fails with the
    probability of a single test. Its start is fixed, so that the answer falls as the goal rises.
    """
    if curve_at((1.0 - _PART_OF_WALK) * tail)(1.0)[1] >= goal:
        return 1.0
    curve = curve_at(_PART_OF_WALK * tail)
    start, reached = min(max(_ROWS_AT_START / max(n_rarest, 1.0), _LOWEST_START), 1.0), 0.0
    for coverage in np.round(np.arange(ceil(start * 100 - 1e-9), 101) / 100, 2).tolist():
        if not curve(coverage)[1] >= goal:
            break
        reached = coverage
    return reached


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

    Uses the Illinois method: straight lines between the ends, halving the excess of the end that stays. No evaluation
    comes nearer to an end than about the tolerance.
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

    Each limit adds two thirds of a row to the smallest class, which loses (or wins) everything.
    """
    labels = np.eye(metric.n_classes)[held_out.labels]
    objective = ExpectedAUC(metric.columns(held_out.responses), labels, metric.contests, held_out.sample_weight)

    def limit(mean: float, variance: float, share_of_added: float) -> float:
        step = share_of_added * mean
        return min(mean, beta_quantile(mean - ROWS_ADDED * step, variance + ROWS_ADDED * step**2, alpha))

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
