"""The dual question: not "which AUC at this coverage?" but "which coverage for this AUC?"."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from aucross.core.bands import check_coverage
from aucross.core.influence import ExpectedAUC, PairwiseMetric
from aucross.estimators.held_out import HeldOutScores

# Held-out AUC of the rows selected at a coverage, with a lower and an upper bound.
HeldOutCurve = Callable[[float], tuple[float, float, float]]

# Held-out AUC need not fall steadily with coverage, so a grid finds the highest crossing before bisection refines it.
_GRID = np.round(np.linspace(1.0, 0.01, 100), 2)
_TOLERANCE = 1e-4

# A target that was read off as the AUC of some rows, by another order of summing, is reached by them.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class CoverageForAUC:
    """Largest coverage whose held-out AUC reaches a target, with an interval; 0 means that none does.

    Attributes
    ----------
    auc : float
        The target.
    coverage : float
        Largest coverage at which the held-out AUC of the selected rows is at least `auc`.
    low, high : float
        The same for the lower and the upper confidence limit of the AUC.
    confidence : float
        Confidence of the two-sided interval from `low` to `high`.
    """

    auc: float
    coverage: float
    low: float
    high: float
    confidence: float


def tail_probability(confidence: float) -> float:
    """Probability with which each end of a two-sided interval may fail."""
    if check_coverage(confidence, name="confidence") == 1.0:
        raise ValueError("confidence must be below 1, got 1; pass 0.95")
    return (1 - confidence) / 2


def largest_coverage(curve: HeldOutCurve, *, auc: float, confidence: float = 0.95) -> CoverageForAUC:
    """Find the largest coverages at which a curve and its bounds reach an AUC."""
    check_coverage(auc, name="auc")
    on_grid = np.array([curve(coverage) for coverage in _GRID])

    def largest(limit: int) -> float:
        # A NaN bound (one row of a class) reaches nothing.
        reached = on_grid[:, limit] >= auc - _ROUNDING
        if not reached.any():
            return 0.0
        first = int(np.argmax(reached))
        if first == 0:
            return 1.0
        reaches = lambda coverage: curve(coverage)[limit] >= auc - _ROUNDING  # noqa: E731
        return _bisect(reaches, float(_GRID[first]), float(_GRID[first - 1]))

    coverage, low, high = (largest(limit) for limit in range(3))
    # Where the upper bound is NaN the estimate itself may still reach the target.
    return CoverageForAUC(auc, coverage, low, max(coverage, high), confidence)


def _bisect(reaches: Callable[[float], bool], low: float, high: float) -> float:
    while high - low > _TOLERANCE:
        middle = (low + high) / 2
        low, high = (middle, high) if reaches(middle) else (low, middle)
    return low


def pairwise_curve(
    held_out: HeldOutScores,
    metric: PairwiseMetric,
    alpha: float,
    select: Callable[[float], NDArray[np.bool_]],
) -> HeldOutCurve:
    """Curve of a metric over more than two classes; its variance is the sum of the squared influences of the rows."""
    labels = np.eye(metric.n_classes)[held_out.labels]
    objective = ExpectedAUC(metric.columns(held_out.responses), labels, metric.contests, held_out.sample_weight)
    deviations = float(ndtri(1 - alpha))

    def curve(coverage: float) -> tuple[float, float, float]:
        selected = select(coverage)
        table = objective.table(objective.histograms(selected))
        margin = deviations * float(np.sqrt((objective.weight * selected) @ objective.influence(table) ** 2))
        return table.value, table.value - margin, table.value + margin

    return curve
