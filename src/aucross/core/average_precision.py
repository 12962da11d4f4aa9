"""Average precision as a target of the search: sums for blocks of one weight, a bound for the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from aucross.core.ranking import FloatArray, IndexArray, RankedScores
from aucross.core.ranking_targets import OfWidestBlocks, kept_of_each_class

# Values no further apart count as equal, as in the search for the AUC.
_ROUNDING = 1e-12

# So few blocks are evaluated one by one rather than bounded.
_FEW = 16


@dataclass(frozen=True)
class AveragePrecision(OfWidestBlocks):
    """The average precision of the selected rows: recall gained times precision, summed from the top.

    Notes
    -----
    As :func:`aucross.evaluation.selective_average_precision`, with both classes among the selected rows. Its chance
    level is the share of positives, which a band moves: what raises it most may be the rejection of negatives.

    A block of weight t with b positives leaves the precision above it as it is and turns that of an entry below it
    into ``(A - b) / (T - t)``, A and T being the positives and the rows from that entry on. For a fixed t this is
    linear in b, so prefix sums of ``p * A / (T - t)`` and ``p / (T - t)`` give the value of every block of that weight
    in O(m). Blocks of full width weigh the same if rows do and no scores are tied. Otherwise, the precision being
    convex in t, the straight line between the values at two weights a < t < c bounds it from above, by no more than

        (t - a) (c - t) / (c - a)  *  sum of p / (T - c) - p / (T - a)  over the entries below.

    Blocks that this bound cannot exclude are bounded again with more weights between, until their value is known to
    1e-12 or they are few enough to be evaluated as they are.

    Examples
    --------
    >>> from aucross.core import AveragePrecision, RankedScores
    >>> ranked = RankedScores([0.1, 0.3, 0.5, 0.7, 0.9], [1, 3, 5, 7, 9], [9, 7, 5, 3, 1])
    >>> AveragePrecision().best_band(ranked, coverage=0.8)
    RejectionBand(lower=0.3, upper=0.3)
    """

    def _values(self, ranked: RankedScores, starts: IndexArray, stops: IndexArray) -> FloatArray:
        terms = _PrecisionTerms(ranked, starts, stops)
        lowest, highest = np.full(len(starts), -np.inf), np.full(len(starts), np.inf)
        unknown, n_weights = np.arange(len(starts)), 2
        while len(unknown) > _FEW:
            lowest[unknown], highest[unknown] = terms.bounds(unknown, n_weights)
            may_be_best = highest >= lowest.max() - _ROUNDING
            unknown = np.flatnonzero(may_be_best & (highest - lowest > _ROUNDING))
            n_weights *= 8
        for block in unknown:
            lowest[block] = _average_precision(ranked, int(starts[block]), int(stops[block]))
        return lowest


def _average_precision(ranked: RankedScores, start: int, stop: int) -> float:
    """Return the average precision after rejecting one block, from the definition."""
    kept = np.r_[len(ranked) - 1 : stop - 1 : -1, start - 1 : -1 : -1]
    positives, weight = ranked.positives[kept], (ranked.positives + ranked.negatives)[kept]
    found = np.cumsum(positives)
    seen = np.cumsum(weight)
    precision = np.divide(found, seen, out=np.zeros(len(kept)), where=seen > 0)
    return float(positives @ precision) / float(found[-1])


class _SumsBelow(NamedTuple):
    """Prefix sums of p * A / (T - t) and p / (T - t) over the entries, for blocks of weight t."""

    weight: float
    found: FloatArray
    share: FloatArray


class _PrecisionTerms:
    """Average precision of many blocks: exact above each block, bounded below it."""

    def __init__(self, ranked: RankedScores, starts: IndexArray, stops: IndexArray) -> None:
        self._positives = ranked.positives
        self._found = ranked.positives_above[:-1]
        self._seen = self._found + ranked.negatives_above[:-1]
        self._starts = starts
        self._kept, _ = kept_of_each_class(ranked, starts, stops)
        self._positives_inside = ranked.positives_above[starts] - ranked.positives_above[stops]
        self._weight_inside = ranked.weight_below[stops] - ranked.weight_below[starts]
        precision = np.divide(self._found, self._seen, out=np.zeros(len(ranked)), where=self._seen > 0)
        from_top = np.cumsum((self._positives * precision)[::-1])[::-1]
        self._above = np.append(from_top, 0.0)[stops]

    def bounds(self, blocks: IndexArray, n_weights: int) -> tuple[FloatArray, FloatArray]:
        """Return lower and upper bounds of the given blocks, from the exact values at some weights."""
        weight = self._weight_inside[blocks]
        grid = np.unique(weight)
        if len(grid) > n_weights:
            grid = grid[np.linspace(0, len(grid) - 1, n_weights).round().astype(np.intp)]
        lowest, highest = np.empty((2, len(blocks)))
        # The last weight of the grid belongs to the interval that it ends; a single weight is an interval of its own.
        interval = np.minimum(np.searchsorted(grid, weight, side="right") - 1, max(len(grid) - 2, 0))
        at_last = self._sums_below(grid[0])
        for index, last in enumerate(grid[1:] if len(grid) > 1 else grid):
            at_first, at_last = at_last, self._sums_below(last)
            inside = np.flatnonzero(interval == index)
            lowest[inside], highest[inside] = self._bounds_between(blocks[inside], at_first, at_last)
        return lowest, highest

    def _sums_below(self, weight: float) -> _SumsBelow:
        rest = self._seen - weight
        # Entries with T <= t lie below no block of this weight: the next entry would not have fitted into the budget.
        share = np.divide(self._positives, rest, out=np.zeros(len(rest)), where=rest > 0)
        found = share * self._found
        return _SumsBelow(weight, *(np.concatenate(([0.0], np.cumsum(terms))) for terms in (found, share)))

    def _bounds_between(self, blocks: IndexArray, first: _SumsBelow, last: _SumsBelow) -> tuple[FloatArray, FloatArray]:
        starts, inside, weight = self._starts[blocks], self._positives_inside[blocks], self._weight_inside[blocks]
        at_first = first.found[starts] - inside * first.share[starts]
        at_last = last.found[starts] - inside * last.share[starts]
        part = (weight - first.weight) / ((last.weight - first.weight) or 1.0)
        highest = self._above[blocks] + at_first + part * (at_last - at_first)
        too_high = part * (last.weight - weight) * (last.share[starts] - first.share[starts])
        return (highest - too_high) / self._kept[blocks], highest / self._kept[blocks]
