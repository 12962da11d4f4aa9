"""Exact search for the band whose rejection leaves the highest AUC.

Rejecting the entries [l, u) of a ranking leaves won(l, u) of kept(l, u) pairs in the right order, both read from
prefix sums in O(1) (:meth:`RankedScores.pairs`). The band must hold no more weight than the
rejection budget (1 - coverage) * total.

**Full width** searches only the widest blocks, those that no other block inside the budget contains: at most one for
each l, O(m) after sorting. Reversing the axis gives the same blocks.

**Any width** looks at all blocks inside the budget. ``won`` and ``lost = kept - won`` both grow with l and fall with
u, so over a box l0..l1 x u0..u1 of blocks the AUC, won / (won + lost), is at most

    most / (most + least)        with most = won(l1, u0) and least = lost(l0, u1).

Starting from the full-width answer, boxes whose bound does not beat the best AUC known are dropped and the rest are
halved. No box that could win is dropped, and a box of one block is evaluated exactly, so the search is exact; in
practice the bound is so tight that fewer than m / 2 boxes are visited. All boxes of one level are handled as whole
arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
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
    """Find the band with the highest AUC among the bands that keep the coverage on the ranked rows.

    Parameters
    ----------
    ranked : RankedScores
        Rows to place the band on; with :meth:`RankedScores.isotonic` labels the band generalises better.
    coverage : float in (0, 1]
        Least share of the weight to select. It holds exactly, ties included: a band never cuts through a tie.
    width : {"full", "any"}, default="full"
        ``"full"`` searches only bands that use the whole budget as far as ties allow, in O(m); ``"any"`` searches every
        band, including the empty one, by branch and bound.

    Returns
    -------
    RejectionBand
        The empty band if the coverage is 1, if the rows of each score weigh more than the budget, or if the rows lack a
        class.

    Notes
    -----
    Among bands of equal AUC (within 1e-12) the full-width search takes the middle one. If every band of full width
    would leave only one class, as for a very low coverage, it takes the heaviest band that leaves both.

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
    best = best_widest_block(ranked, widest_stops, partial(_auc_without, ranked))
    if width == "any":
        nothing = Block(0, 0, ranked.auc())
        best = _branch_and_bound(ranked, widest_stops, best if best.value >= nothing.value else nothing)
    return ranked.band(best.start, best.stop)


def oracle_band(
    y_true: ArrayLike, y_score: ArrayLike, coverage: float, sample_weight: ArrayLike | None = None
) -> RejectionBand:
    """Find the band that an oracle with access to the labels would reject: the best band of any width.

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
        On these rows no rule that rejects a band of scores at this coverage has a higher AUC; as a forecast for new
        rows this AUC is optimistic.

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


class Block(NamedTuple):
    """The best block of entries so far and its value."""

    start: int
    stop: int
    value: float


def rejection_budget(total: float, coverage: float) -> float:
    """Return the weight that may be rejected, with a margin so that 10 * (1 - 0.9) is one whole row."""
    if coverage == 1.0:
        return 0.0  # the margin would let in rows that weigh next to nothing beside the others
    return total * (1.0 - coverage) + 1e-12 * total


def widest_stops_of(ranked: RankedScores, coverage: float) -> IndexArray:
    """Return, for each start 0 ... m, the largest stop whose block stays inside the budget."""
    budget = rejection_budget(ranked.total, coverage)
    if (ranked.positives + ranked.negatives == 1).all():
        # Distinct rows of weight 1: positions are weights, no search needed.
        stops = np.arange(int(budget), int(budget) + len(ranked) + 1)
        return np.minimum(stops, len(ranked), out=stops)
    return np.searchsorted(ranked.weight_below, ranked.weight_below + budget, side="right") - 1


def best_widest_block(
    ranked: RankedScores, widest_stops: IndexArray, values_of: Callable[[IndexArray, IndexArray], FloatArray]
) -> Block:
    """Return the block of full width with the highest value; the middle one among equals.

    `values_of` takes starts and stops, and returns -inf if a block leaves only one class. If all do, the heaviest block
    that leaves both is returned.
    """
    starts = np.arange(len(widest_stops))
    reaches_further = np.append(True, widest_stops[1:] > widest_stops[:-1])
    starts = starts[reaches_further & (widest_stops > starts)]
    if not len(starts):
        return Block(0, 0, float("nan"))
    values = values_of(starts, widest_stops[starts])
    if not np.isfinite(highest := values.max()):
        return Block(*_heaviest_that_leaves_both(ranked, widest_stops), float("nan"))
    # Perfectly separated classes make all blocks equal: the middle one is far from the rows that are sure.
    equals = np.flatnonzero(values >= highest - _ROUNDING)
    best = int(equals[len(equals) // 2])
    return Block(int(starts[best]), int(widest_stops[starts[best]]), float(values[best]))


def _auc_without(ranked: RankedScores, starts: IndexArray, stops: IndexArray) -> FloatArray:
    """Return the AUC after rejecting each block; -inf if only one class is left."""
    chunks = [slice(first, first + _CHUNK) for first in range(0, len(starts), _CHUNK)]
    return np.concatenate([_share_won(*ranked.pairs(starts[chunk], stops[chunk])) for chunk in chunks])


def _heaviest_that_leaves_both(ranked: RankedScores, widest_stops: IndexArray) -> tuple[int, int]:
    """Return the heaviest block inside the budget that leaves both classes; of equals, that of highest AUC."""
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


def _branch_and_bound(ranked: RankedScores, widest_stops: IndexArray, best: Block) -> Block:
    m = len(ranked)
    boxes = np.array([[0], [m], [0], [m]], dtype=np.intp)  # rows: first start, last start, first stop, last stop
    while boxes.shape[1]:
        # Shrink boxes to the blocks that are inside the budget and not reversed, and drop those left empty. The
        # earliest start may still be too early for the first stop; halving removes those blocks.
        boxes[3] = np.minimum(boxes[3], widest_stops[boxes[1]])
        boxes[2] = np.maximum(boxes[2], boxes[0])
        boxes[1] = np.minimum(boxes[1], boxes[3])
        boxes = boxes[:, (boxes[0] <= boxes[1]) & (boxes[2] <= boxes[3])]
        won_most, _ = ranked.pairs(boxes[1], boxes[2])
        won_least, kept_least = ranked.pairs(boxes[0], boxes[3])
        bounds = _share_won(won_most, won_most + (kept_least - won_least))
        boxes = boxes[:, bounds > best.value + _ROUNDING]
        is_point = (boxes[0] == boxes[1]) & (boxes[2] == boxes[3])
        if is_point.any():
            starts, stops = boxes[::2, is_point]
            auc = _share_won(*ranked.pairs(starts, stops))
            top = int(np.argmax(auc))
            best = Block(int(starts[top]), int(stops[top]), float(auc[top])) if auc[top] > best.value else best
        lower, upper = boxes[:, ~is_point], boxes[:, ~is_point]
        across_starts = lower[1] - lower[0] >= lower[3] - lower[2]
        for ends, is_halved in ((slice(0, 2), across_starts), (slice(2, 4), ~across_starts)):
            middle = lower[ends].sum(axis=0) // 2
            lower[ends][1] = np.where(is_halved, middle, lower[ends][1])
            upper[ends][0] = np.where(is_halved, middle + 1, upper[ends][0])
        boxes = np.concatenate((lower, upper), axis=1)
    return best
