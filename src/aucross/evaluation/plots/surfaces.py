"""AUC of the selected rows over a grid of bands, read from prefix sums.

The grid is one of quantiles: bins of equal weight, or every score if they are few. A band begins with one bin and ends
with another; those that keep the coverage form a strip along the diagonal::

    upper │        /░░/
          │     /░░░/       ░ bands that keep the coverage
          │  /░░░/
          │/░░/
          └────────────►  lower
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from aucross.core.bands import check_coverage
from aucross.core.ranking import FloatArray, IndexArray, RankedScores
from aucross.core.search import rejection_budget
from aucross.evaluation.inputs import check_both_classes
from aucross.system.text import percent

# The strip should be so many bins wide, within what can be drawn fast.
_BINS_ACROSS, _FEWEST_BINS, _MOST_BINS = 40, 300, 600


@dataclass(frozen=True, eq=False)
class AUCSurface:
    """AUC of the selected rows for bands on a grid of quantiles.

    Attributes
    ----------
    lower, upper : ndarray of shape (n_bins,)
        Lower and upper ends of the bands: the lowest and the highest score of each bin.
    rank_edges : ndarray of shape (n_bins + 1,)
        Share of the weight below each bin, and 1.
    auc : ndarray of shape (n_bins, n_bins)
        ``auc[j, i]`` belongs to the band from ``lower[i]`` to ``upper[j]``: the AUC of the rows outside it. NaN where
        the band is infeasible: no band (i > j), one that rejects more than `coverage` allows, or one that leaves a
        single class.
    coverage : float
        Least share of the weight that a band must leave.
    """

    lower: FloatArray
    upper: FloatArray
    rank_edges: FloatArray
    auc: FloatArray
    coverage: float

    @property
    def best(self) -> float:
        """The highest AUC on the grid; the Oracle, who is not bound to it, may be higher."""
        return float(np.nanmax(self.auc))


def auc_surface(
    y_true: ArrayLike,
    y_score: ArrayLike,
    coverage: float,
    *,
    n_bins: int | None = None,
    sample_weight: ArrayLike | None = None,
) -> AUCSurface:
    """AUC of the selected rows for all bands of a grid that keep the coverage.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        True for positive rows: boolean, 0/1 or -1/1. Both classes must occur.
    y_score : array-like of shape (n,)
        Finite scores.
    coverage : float in (0, 1)
        Least share of the weight to select.
    n_bins : int, optional
        Number of bins of the scores; by default 300 to 600, the more the higher the coverage. If there are no more
        distinct scores than that, each is a bin and the surface is exact.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.

    Returns
    -------
    AUCSurface

    Notes
    -----
    Prefix sums answer every band in O(1). A tie is never parted.

    Examples
    --------
    >>> from aucross.evaluation.plots import auc_surface
    >>> surface = auc_surface([0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], coverage=0.8)
    >>> surface.auc.shape, surface.best, float(surface.auc[2, 2])
    ((6, 6), 1.0, 1.0)
    """
    ranked = check_both_classes(RankedScores.from_labels(y_true, y_score, sample_weight), "the AUC")
    coverage = check_below_one(coverage)
    if n_bins is None:
        n_bins = int(np.clip(_BINS_ACROSS / (1.0 - coverage), _FEWEST_BINS, _MOST_BINS))
    if not isinstance(n_bins, int | np.integer) or n_bins < 1:
        raise ValueError(f"n_bins must be a positive whole number or None, got {n_bins!r}")
    return _surface(ranked, coverage, int(n_bins))


def check_below_one(coverage: float) -> float:
    """Return a coverage in (0, 1), at which something may be rejected."""
    if check_coverage(coverage) == 1.0:
        raise ValueError("coverage must be below 1 for a surface, got 1: only the empty band selects every row")
    return float(coverage)


def _surface(ranked: RankedScores, coverage: float, n_bins: int) -> AUCSurface:
    edges = _bin_edges(ranked, n_bins)
    starts, stops = np.meshgrid(edges[:-1], edges[1:])
    won, kept = ranked.pairs(starts, stops)
    rejected = ranked.weight_below[stops] - ranked.weight_below[starts]
    feasible = (starts < stops) & (kept > 0) & (rejected <= rejection_budget(ranked, coverage))
    if not feasible.any():
        raise ValueError(
            f"coverage {coverage:g} leaves no band to draw: of the {len(ranked)} distinct scores none can be rejected "
            f"within {percent(1 - coverage)} of the weight without parting a tie or losing a class; ask for a lower "
            "coverage"
        )
    auc = np.full(starts.shape, np.nan)
    np.divide(won, kept, out=auc, where=feasible)
    return AUCSurface(
        ranked.scores[edges[:-1]],
        ranked.scores[edges[1:] - 1],
        ranked.weight_below[edges] / ranked.total,
        np.clip(auc, 0.0, 1.0),
        coverage,
    )


def _bin_edges(ranked: RankedScores, n_bins: int) -> IndexArray:
    """Entries at which bins of about equal weight begin, and the number of entries."""
    if len(ranked) <= n_bins:
        return np.arange(len(ranked) + 1)
    positions = np.linspace(0.0, ranked.total, n_bins + 1)
    edges = np.searchsorted(ranked.weight_below, positions[:-1])
    return np.unique(np.append(edges, len(ranked))).astype(np.intp)
