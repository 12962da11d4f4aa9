"""The exact search for the band whose rejection leaves the highest AUC.

Rejecting the entries [l, u) of a ranking leaves won(l, u) of kept(l, u) pairs in the right order, both read from
prefix sums in O(1) (:meth:`RankedScores.pairs`). The band must hold no more weight than the
rejection budget (1 - coverage) * total.

**Full width** asks only for the widest blocks, those that no other block inside the budget contains: at most one for
each l, O(m) after sorting. Read from the other end of the axis they are the same blocks.

**Any width** looks at all blocks inside the budget. ``won`` and ``lost = kept - won`` both grow with l and fall with
u, so over a box l0..l1 x u0..u1 of blocks the AUC, won / (won + lost), is at most

    most / (most + least)        with most = won(l1, u0) and least = lost(l0, u1).

Starting from the full-width answer, boxes whose bound does not beat the best AUC known are dropped and the rest are
halved. Nothing is dropped that could win, and a box of one block is evaluated as it is, hence exactness; the bound is
tight enough that fewer than m / 2 boxes are seen in practice. All boxes of one level are handled as whole arrays.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from aucross.core.bands import RejectionBand, check_coverage
from aucross.core.ranking import FloatArray, IndexArray, RankedScores

Width = Literal["full", "any"]

# AUCs no further apart count as equal: prefix sums of fractional weights carry rounding. Without this margin the middle
# of equal blocks would be a matter of chance, and the search of any width would split plateaus down to single blocks.
_ROUNDING = 1e-12

# Temporary arrays of this many elements stay in the cache: three times as fast as whole arrays of 450,000.
_CHUNK = 8192


def best_band(ranked: RankedScores, coverage: float, *, width: Width = "full") -> RejectionBand:
    """Find the band with the highest AUC among those that keep the coverage on the ranked rows.

    Parameters
    ----------
    ranked : RankedScores
        Rows to place the band on; with :meth:`RankedScores.isotonic` labels the band generalises better.
    coverage : float in (0, 1]
        Least share of the weight to select. It holds exactly, ties included: a band never cuts through a tie.
    width : {"full", "any"}, default="full"
        ``"full"`` searches only bands that use the whole budget (as far as ties allow: those that no other band
        inside the budget contains), in O(m); ``"any"`` searches every band, the empty one too, by branch and bound.

    Returns
    -------
    RejectionBand
        The empty band if the coverage is 1, if one tie fills more than the budget everywhere, or if the rows lack a
        class.

    Notes
    -----
    Of several bands with the same highest AUC the full-width search takes the middle one. AUCs that differ by less
    than 1e-12 count as the same. Where every band of full width would leave one class alone, as for a very low
    coverage, it takes the heaviest band that leaves both, at the lowest coverage possible.

    Examples
    --------
    >>> from aucross.core import RankedScores, best_band
    >>> ranked = RankedScores.from_labels([0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    >>> best_band(ranked, coverage=0.8)
    RejectionBand(lower=0.4, upper=0.4)
    """
    return search_band(ranked, check_coverage(coverage), width)


def search_band(ranked: RankedScores, coverage: float, width: Width) -> RejectionBand:
    """Find the band of :func:`best_band` for a coverage that has been checked."""
    if width not in ("full", "any"):
        raise ValueError(f'width must be "full" or "any", got {width!r}')
    if coverage == 1.0 or min(ranked.total_positives, ranked.total_negatives) == 0:
        return RejectionBand()
    widest_stops = widest_stops_of(ranked, coverage)
    best = _best_full_width(ranked, widest_stops)
    if width == "any":
        nothing = _no_block(ranked)
        best = _branch_and_bound(ranked, widest_stops, best if best.auc >= nothing.auc else nothing)
    return ranked.band(best.start, best.stop)


def oracle_band(
    y_true: ArrayLike, y_score: ArrayLike, coverage: float, sample_weight: ArrayLike | None = None
) -> RejectionBand:
    """Find the band that an Oracle who sees the labels would reject: the best of any width.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        True for positive rows: boolean, 0/1 or -1/1. Both classes must occur.
    y_score : array-like of shape (n,)
        Finite scores.
    coverage : float in (0, 1]
        Least share of the weight to select.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.

    Returns
    -------
    RejectionBand
        Its AUC on these rows is an upper limit for every score-bounded rule with this coverage, and optimistic
        as a forecast for new rows.

    Examples
    --------
    >>> from aucross.core import oracle_band
    >>> oracle_band([0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], coverage=0.8)
    RejectionBand(lower=0.4, upper=0.4)
    """
    # NOTE[DIFF]: the paper's Oracle (Table 2) rounds scores to three decimals and tries every pair of grid points; this
    # one searches all bands on the exact scores.
    ranked = RankedScores.from_labels(y_true, y_score, sample_weight)
    if min(ranked.total_positives, ranked.total_negatives) == 0:
        raise ValueError(
            f"y_true must hold both classes, got {ranked.total_positives:g} positives and "
            f"{ranked.total_negatives:g} negatives; the AUC needs both"
        )
    return best_band(ranked, coverage, width="any")


class _Block(NamedTuple):
    """The best block of entries so far and its AUC."""

    start: int
    stop: int
    auc: float


def rejection_budget(total: float, coverage: float) -> float:
    """Return the weight that may be rejected, with a margin so that 10 * (1 - 0.9) is one whole row."""
    if coverage == 1.0:
        return 0.0  # the margin would let in rows that weigh next to nothing beside the others
    return total * (1.0 - coverage) + 1e-12 * total


def widest_stops_of(ranked: RankedScores, coverage: float) -> IndexArray:
    """Return for each start 0 ... m the largest stop whose block stays inside the budget."""
    budget = rejection_budget(ranked.total, coverage)
    if (ranked.positives + ranked.negatives == 1).all():
        # Distinct rows of weight 1: positions are weights, no search needed.
        stops = np.arange(int(budget), int(budget) + len(ranked) + 1)
        return np.minimum(stops, len(ranked), out=stops)
    return np.searchsorted(ranked.weight_below, ranked.weight_below + budget, side="right") - 1


def _best_full_width(ranked: RankedScores, widest_stops: IndexArray) -> _Block:
    starts = widest_starts(widest_stops)
    if not len(starts):
        return _no_block(ranked)
    auc = np.empty(len(starts))
    for first in range(0, len(auc), _CHUNK):
        chunk = starts[first : first + _CHUNK]
        auc[first : first + _CHUNK] = _share_won(*ranked.pairs(chunk, widest_stops[chunk]))
    if not np.isfinite(highest := auc.max()):
        return _Block(*heaviest_that_leaves_both(ranked, widest_stops), float("nan"))
    # Perfectly separated classes make all blocks equal: the middle one is far from the rows that are sure.
    equals = np.flatnonzero(auc >= highest - _ROUNDING)
    best = int(equals[len(equals) // 2])
    return _Block(int(starts[best]), int(widest_stops[starts[best]]), float(auc[best]))


def widest_starts(widest_stops: IndexArray) -> IndexArray:
    """Return, in ascending order, the starts whose widest block is not empty and not part of a wider one."""
    starts = np.arange(len(widest_stops))
    reaches_further = np.append(True, widest_stops[1:] > widest_stops[:-1])
    return starts[reaches_further & (widest_stops > starts)]


def _no_block(ranked: RankedScores) -> _Block:
    return _Block(0, 0, ranked.auc())


def heaviest_that_leaves_both(ranked: RankedScores, widest_stops: IndexArray) -> tuple[int, int]:
    """Return the heaviest block inside the budget that leaves both classes; among equals, the one of highest AUC."""
    starts, stops = np.arange(len(widest_stops)), widest_stops
    for below, weight in ((ranked.positives_below, ranked.positives), (ranked.negatives_below, ranked.negatives)):
        # A class without rows below the block needs one above it.
        last_of_class = int(np.flatnonzero(weight)[-1])
        stops = np.minimum(stops, np.where(below > 0, len(ranked), last_of_class))
    starts, stops = starts[stops >= starts], stops[stops >= starts]
    weight = ranked.weight_below[stops] - ranked.weight_below[starts]
    heaviest = np.flatnonzero(weight >= weight.max() - _ROUNDING * ranked.total)
    best = heaviest[int(np.argmax(_share_won(*ranked.pairs(starts[heaviest], stops[heaviest]))))]
    return int(starts[best]), int(stops[best])


def _share_won(won: FloatArray, kept: FloatArray) -> FloatArray:
    auc: FloatArray = np.divide(won, kept, out=np.full(len(won), -np.inf), where=kept > 0)
    return auc


def _branch_and_bound(ranked: RankedScores, widest_stops: IndexArray, best: _Block) -> _Block:
    m = len(ranked)
    boxes = np.array([[0], [m], [0], [m]], dtype=np.intp)  # rows: first start, last start, first stop, last stop
    while boxes.shape[1]:
        boxes = _clip_to_budget(boxes, widest_stops)
        bounds = _upper_bounds(ranked, boxes)
        boxes = boxes[:, bounds > best.auc + _ROUNDING]
        is_point = (boxes[0] == boxes[1]) & (boxes[2] == boxes[3])
        best = _best_point(ranked, boxes[:, is_point], best)
        boxes = _halve(boxes[:, ~is_point])
    return best


def _clip_to_budget(boxes: IndexArray, widest_stops: IndexArray) -> IndexArray:
    """Shrink boxes to the blocks that are inside the budget and not reversed; drop those left empty."""
    first_start, last_start, first_stop, last_stop = boxes
    last_stop = np.minimum(last_stop, widest_stops[last_start])
    first_stop = np.maximum(first_stop, first_start)
    last_start = np.minimum(last_start, last_stop)
    boxes = np.stack((first_start, last_start, first_stop, last_stop))
    # The earliest start may still be too early for the first stop; halving removes those blocks.
    possible = (first_start <= last_start) & (first_stop <= last_stop)
    return boxes[:, possible]


def _upper_bounds(ranked: RankedScores, boxes: IndexArray) -> FloatArray:
    first_start, last_start, first_stop, last_stop = boxes
    won_most, _ = ranked.pairs(last_start, first_stop)
    won_least, kept_least = ranked.pairs(first_start, last_stop)
    return _share_won(won_most, won_most + (kept_least - won_least))


def _best_point(ranked: RankedScores, points: IndexArray, best: _Block) -> _Block:
    if not points.shape[1]:
        return best
    auc = _share_won(*ranked.pairs(points[0], points[2]))
    top = int(np.argmax(auc))
    return _Block(int(points[0, top]), int(points[2, top]), float(auc[top])) if auc[top] > best.auc else best


def _halve(boxes: IndexArray) -> IndexArray:
    first_start, last_start, first_stop, last_stop = boxes
    across_starts = last_start - first_start >= last_stop - first_stop
    middle_start = np.where(across_starts, (first_start + last_start) // 2, last_start)
    middle_stop = np.where(across_starts, last_stop, (first_stop + last_stop) // 2)
    lower = np.stack((first_start, middle_start, first_stop, middle_stop))
    upper = np.stack(
        (
            np.where(across_starts, middle_start + 1, first_start),
            last_start,
            np.where(across_starts, first_stop, middle_stop + 1),
            last_stop,
        )
    )
    return np.concatenate((lower, upper), axis=1)
