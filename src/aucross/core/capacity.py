"""Choose the rows of a batch to reject if exactly `capacity` of them can be reviewed.

A band is fixed before the rows are known, so the number of rows in it varies between batches. With a capacity the rows
are known, and a block of them is chosen::

    rows by score   0 ... j-1 | j ... j+k-1 | j+k ... n-1         k is the capacity
                     selected    rejected      selected

Rejecting this block leaves the highest expected AUC, given the probability of the positive class at each score.
A block may end inside a tie; an order made from the ids then decides which rows it takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral

import numpy as np

from aucross.core.bands import RejectionBand
from aucross.core.ranking import FloatArray, IndexArray

# Expected AUCs no further apart count as equal.
_ROUNDING = 1e-12

# Blocks that are compared at a time: more of them take memory and gain no time.
_STARTS_AT_A_TIME = 2**16


def check_capacity(capacity: object) -> int:
    """Return `capacity` as a whole number of rows; refuse anything else."""
    if not isinstance(capacity, Integral) or isinstance(capacity, bool | np.bool_):
        raise TypeError(f"capacity must be a whole number of rows, got {capacity!r}; {_remedy(capacity)}")
    if capacity < 0:
        raise ValueError(f"capacity must not be negative, got {capacity}; pass 0 to reject no row")
    return int(capacity)


def _remedy(capacity: object) -> str:
    if isinstance(capacity, float | np.floating):
        if capacity == np.floor(capacity):  # False for NaN, and infinity is a number of rows that nobody means
            return f"pass {capacity:.0f}" if np.isfinite(capacity) else "pass the number of rows to reject them all"
        if 0 < capacity < 1:
            return f"to reject {capacity:g} of the rows pass coverage={1 - capacity:g} instead"
    return "pass an int such as 300"


def best_rows(score: FloatArray, probability: FloatArray, capacity: int, order: IndexArray | None = None) -> IndexArray:
    """Choose exactly `capacity` neighbours by score whose rejection leaves the highest expected AUC.

    `probability` is a function from score to probability of the positive class. Among rows of equal score, the rows of
    lowest `order` (by default their position) are rejected first. Among blocks of equal expected AUC (within 1e-12) the
    middle one is taken; ties count half, also those that the block cuts through. Returns ascending positions, or all of
    them if there are fewer rows than `capacity`. O(n log n).
    """
    n_rows = len(score)
    capacity = min(capacity, n_rows)
    if capacity in (0, n_rows):
        return np.arange(capacity)
    by_score = _sorted_rows(score, order)
    return _block(score, by_score, _best_start(probability[by_score], capacity), capacity)


def rows_around_band(
    score: FloatArray, band: RejectionBand, capacity: int, order: IndexArray | None = None
) -> IndexArray:
    """Choose the `capacity` rows by score around the middle of a band; for targets other than the AUC.

    If the band holds more rows than the capacity, its middle rows are taken; if it holds fewer, it is extended on both
    sides. If the band is empty, the middle of all rows is used. Arguments and result: as for :func:`best_rows`.
    """
    n_rows = len(score)
    capacity = min(capacity, n_rows)
    by_score = _sorted_rows(score, order)
    ascending = score[by_score]
    # The ends of the empty band, infinity and minus infinity, lie at both ends of the rows.
    first = int(np.searchsorted(ascending, band.lower, side="left"))
    stop = int(np.searchsorted(ascending, band.upper, side="right"))
    start = min(max((first + stop - capacity) // 2, 0), n_rows - capacity)
    return _block(score, by_score, start, capacity)


def lowest_rows(score: FloatArray, capacity: int, order: IndexArray | None = None) -> IndexArray:
    """Choose exactly `capacity` rows with the lowest selection score; `order` breaks ties.

    If each row's score is fixed, a larger capacity only adds rows. Arguments and result: as for :func:`best_rows`.
    """
    return np.sort(_sorted_rows(score, order)[:capacity])


def share_of_groups(sizes: Sequence[int], capacity: int) -> list[int]:
    """Divide a capacity among groups of rows, so that all groups have as nearly as possible the same coverage.

    Parameters
    ----------
    sizes : sequence of int
        Number of rows of each group.
    capacity : int
        Total number of rows to reject; if there are fewer rows, all are rejected.

    Returns
    -------
    list of int
        Rows to reject in each group. They add up to the capacity, none exceeds the size of its group, and no group
        loses a row when the capacity grows. Among groups of equal size the earlier come first.

    Notes
    -----
    The divisor method of Sainte-Laguë: row j of a group of m rows has the place (j - 1/2) / m, and the rows of the
    lowest places are rejected. With largest remainders, a group could lose a row when the capacity grows.

    Examples
    --------
    >>> from aucross.core import share_of_groups
    >>> share_of_groups([600, 300, 100], 25)
    [15, 8, 2]
    """
    groups = np.repeat(np.arange(len(sizes)), sizes)
    if not len(groups):
        return [0] * len(sizes)
    places = np.concatenate([(np.arange(size) + 0.5) / size for size in sizes if size])
    taken = groups[np.argsort(places, kind="stable")[: check_capacity(capacity)]]
    return [int(count) for count in np.bincount(taken, minlength=len(sizes))]


# ---- blocks of sorted rows ----


def _sorted_rows(score: FloatArray, order: IndexArray | None) -> IndexArray:
    return np.argsort(score, kind="stable") if order is None else np.lexsort((order, score))


def _block(score: FloatArray, by_score: IndexArray, start: int, capacity: int) -> IndexArray:
    """Return the rows of a block in ascending order; if it starts inside a tie, take the first rows of the tie."""
    if not capacity:
        return by_score[:0]
    ascending = score[by_score]
    tie_start, tie_stop = (int(np.searchsorted(ascending, ascending[start], side=side)) for side in ("left", "right"))
    of_tie = min(tie_stop, start + capacity) - start
    rest = np.arange(start + of_tie, start + capacity)
    return np.sort(by_score[np.concatenate((np.arange(tie_start, tie_start + of_tie), rest))])


def _best_start(probability: FloatArray, capacity: int) -> int:
    """Return the first row of the block of `capacity` sorted rows whose rejection leaves the highest expected AUC.

    Rows are separate entries, but ties still count half: two tied rows of probability p are in the right order with
    probability p (1 - p), whichever comes first.
    """
    n_kept = len(probability) - capacity
    below = _pairs_won(probability[:n_kept], is_ascending=True)
    above = _pairs_won(probability[capacity:], is_ascending=False)
    auc = np.empty(n_kept + 1)
    for first in range(0, n_kept + 1, _STARTS_AT_A_TIME):
        starts = slice(first, first + _STARTS_AT_A_TIME)
        rows_below = np.arange(n_kept + 1)[starts]
        positives_below, won_below = (sums[starts] for sums in below)
        positives_above, won_above = (sums[starts] for sums in above)
        negatives_below, negatives_above = rows_below - positives_below, n_kept - rows_below - positives_above
        won = won_below + won_above + positives_above * negatives_below
        kept = (positives_below + positives_above) * (negatives_below + negatives_above)
        auc[starts] = np.divide(won, kept, out=np.full(len(won), -np.inf), where=kept > 0)
    equals = np.flatnonzero(auc >= auc.max() - _ROUNDING)
    return int(equals[len(equals) // 2])


def _pairs_won(probability: FloatArray, *, is_ascending: bool) -> tuple[FloatArray, FloatArray]:
    """Return expected positives and correctly ordered pairs in the first i rows or, if descending, from row i on.

    Sums that start at the top do not lose a few rows above many others to rounding.
    """
    direction = slice(None, None, 1 if is_ascending else -1)
    positives, won = np.zeros((2, len(probability) + 1))
    np.cumsum(probability[direction], out=positives[1:])
    if is_ascending:  # a positive wins against the negatives below it, and a negative loses to positives above it
        np.subtract(np.arange(len(probability)), positives[:-1], out=won[1:])
        won[1:] *= probability
    else:
        np.subtract(1.0, probability[::-1], out=won[1:])
        won[1:] *= positives[:-1]
    np.cumsum(won, out=won)
    return positives[direction], won[direction]
