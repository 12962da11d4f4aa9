"""The dual question: not "which AUC at this coverage?" but "which coverage for this AUC?"."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from aucross.core.bands import check_coverage

# Held-out AUC of the selected rows and its standard error, for a coverage.
HeldOutCurve = Callable[[float], tuple[float, float]]

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


def largest_coverage(curve: HeldOutCurve, *, auc: float, confidence: float = 0.95) -> CoverageForAUC:
    """Find the largest coverage at which a curve reaches an AUC."""
    check_coverage(auc, name="auc")
    if check_coverage(confidence, name="confidence") == 1.0:
        raise ValueError("confidence must be below 1, got 1; pass 0.95")
    deviations = float(norm.ppf((1 + confidence) / 2))
    on_grid = np.array([curve(coverage) for coverage in _GRID])

    def largest(shift: float) -> float:
        def reaches(value: float, error: float) -> bool:
            # A NaN standard error (one row of a class) supports no statement but the point estimate.
            return value + (shift * error if shift else 0.0) >= auc - _ROUNDING

        reached = np.array([reaches(value, error) for value, error in on_grid])
        if not reached.any():
            return 0.0
        first = int(np.argmax(reached))
        if first == 0:
            return 1.0
        return _bisect(lambda coverage: reaches(*curve(coverage)), float(_GRID[first]), float(_GRID[first - 1]))

    coverage = largest(0.0)
    # Where the standard error is NaN the upper limit reaches nothing, though the estimate itself may.
    high = max(coverage, largest(deviations))
    return CoverageForAUC(auc, coverage, largest(-deviations), high, confidence)


def _bisect(reaches: Callable[[float], bool], low: float, high: float) -> float:
    while high - low > _TOLERANCE:
        middle = (low + high) / 2
        low, high = (middle, high) if reaches(middle) else (low, middle)
    return low
