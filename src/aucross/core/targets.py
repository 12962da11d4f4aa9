"""Targets of the search other than the AUC: the best band by another measure.

A band is a block [l, u) of the m entries of a ranking, its weight is limited by the coverage (see
:mod:`aucross.core.search`). The *widest* blocks are those that no other block inside the budget contains.

===================  =======================  ==================  ======  ===========================================
target               name                     searched            result  cost after sorting
===================  =======================  ==================  ======  ===========================================
`AUCTarget`          ``"auc"``                all widest blocks   exact   O(m)
`ExpectedCost`       (needs its costs)        all blocks          exact   O(m log m)
`KolmogorovSmirnov`  ``"ks"``                 all widest blocks   exact   O(m log m)
`PartialAUC`         ``"partial_auc"``        all widest blocks   exact   O(m log m)
`AveragePrecision`   ``"average_precision"``  all widest blocks   exact   O(m) if all blocks weigh the same, otherwise
                                                                          O(m k) with a few k, at worst O(m^2)
===================  =======================  ==================  ======  ===========================================

"Exact" means that no searched block is better by more than rounding (1e-12). Only the widest blocks are searched,
because a narrower block that happens to be best on these rows is not best on new ones. Cost is different: a row that is
cheaper to decide than to review should be decided whatever the budget.

Each class explains why its search is exact. Every target but the cost is a ratio whose denominator changes with the
block, and needs rows of both classes outside the block.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, Protocol, get_args, runtime_checkable

import numpy as np

from aucross.core.bands import RejectionBand, check_coverage
from aucross.core.ranking import FloatArray, IndexArray, RankedScores
from aucross.core.search import Width, best_band, best_widest_block, widest_stops_of

# Values no further apart count as equal, as in the search for the AUC.
_ROUNDING = 1e-12

# So few blocks are evaluated one by one rather than bounded for their average precision.
_FEW = 16

TargetName = Literal["auc", "ks", "average_precision", "partial_auc"]


@runtime_checkable
class Target(Protocol):
    """A quantity that the choice of the band maximises."""

    def value(self, ranked: RankedScores, band: RejectionBand | None = None) -> float:
        """Return the target of the rows of `ranked` after rejecting `band` (nothing by default)."""
        ...

    def best_band(self, ranked: RankedScores, coverage: float) -> RejectionBand:
        """Return the best band that selects at least `coverage` of the weight."""
        ...


def best_band_for(ranked: RankedScores, coverage: float, target: TargetName | Target = "auc") -> RejectionBand:
    """Find the best band for a target among the bands that keep the coverage on the ranked rows.

    Parameters
    ----------
    ranked : RankedScores
        Rows to place the band on; with :meth:`RankedScores.isotonic` labels the band generalises better.
    coverage : float in (0, 1]
        Least share of the weight to select. It holds exactly, ties included.
    target : {"auc", "ks", "average_precision", "partial_auc"} or Target, default="auc"
        Target to maximise. ``"partial_auc"`` stands for ``PartialAUC(max_fpr=0.1)``; costs are given as
        ``ExpectedCost(...)``.

    Returns
    -------
    RejectionBand
        The empty band if the coverage is 1 or the rows of each score weigh more than the budget; for costs, also if
        every review costs more than it saves.

    Examples
    --------
    >>> from aucross.core import ExpectedCost, RankedScores, best_band_for
    >>> ranked = RankedScores([0.1, 0.3, 0.5, 0.7, 0.9], [1, 3, 5, 7, 9], [9, 7, 5, 3, 1])
    >>> best_band_for(ranked, 0.5, "ks")
    RejectionBand(lower=0.5, upper=0.7)
    >>> best_band_for(ranked, 0.5, ExpectedCost(review=0.4))
    RejectionBand(lower=0.5, upper=0.5)
    """
    return as_target(target).best_band(ranked, coverage)


def as_target(target: object) -> Target:
    """Return the target of this name; return a target unchanged; refuse anything else."""
    if isinstance(target, str) and target in _NAMED:
        return _NAMED[target]
    if isinstance(target, Target) and not isinstance(target, type):
        return target
    names = ", ".join(f'"{name}"' for name in get_args(TargetName))
    needs_costs = " (the costs must be given)" if target == "expected_cost" else ""
    raise ValueError(
        f"target must be one of {names} or a target such as ExpectedCost(review=0.1), got {target!r}{needs_costs}"
    )


@dataclass(frozen=True)
class AUCTarget:
    """The AUC of the selected rows.

    Parameters
    ----------
    width : {"full", "any"}, default="full"
        Which bands to search, see :func:`aucross.core.best_band`. Use the full width for new rows: a narrower
        band that happens to be best on held-out rows is not best on new ones.
    """

    width: Width = "full"

    def value(self, ranked: RankedScores, band: RejectionBand | None = None) -> float:
        """Return the AUC after rejecting `band`; NaN if a class is missing."""
        return ranked.auc(band)

    def best_band(self, ranked: RankedScores, coverage: float) -> RejectionBand:
        """Return the band of highest AUC that selects at least `coverage` of the weight."""
        return best_band(ranked, coverage, width=self.width)


class OfWidestBlocks(ABC):
    """A target that is a ratio: only blocks of full width that leave both classes are compared."""

    @abstractmethod
    def _values(self, ranked: RankedScores, starts: IndexArray, stops: IndexArray) -> FloatArray:
        """Return the target after rejecting each block; every block leaves both classes; the highest value is exact."""

    def value(self, ranked: RankedScores, band: RejectionBand | None = None) -> float:
        """Return the target after rejecting `band` (nothing by default); NaN if a class is missing."""
        start, stop = (np.array([end]) for end in ranked.block(band or RejectionBand()))
        if not _leaves_both_classes(ranked, start, stop).all():
            return float("nan")
        return float(self._values(ranked, start, stop)[0])

    def best_band(self, ranked: RankedScores, coverage: float) -> RejectionBand:
        """Return the band of full width with the highest value that selects at least `coverage` of the weight.

        Among equals, the middle one. If all would leave only one class, the heaviest band that leaves both.
        """
        if check_coverage(coverage) == 1.0 or min(ranked.total_positives, ranked.total_negatives) == 0:
            return RejectionBand()

        def values_of(starts: IndexArray, stops: IndexArray) -> FloatArray:
            usable = np.flatnonzero(_leaves_both_classes(ranked, starts, stops))
            values = np.full(len(starts), -np.inf)
            if len(usable):
                values[usable] = self._values(ranked, starts[usable], stops[usable])
            return values

        start, stop, _ = best_widest_block(ranked, widest_stops_of(ranked, coverage), values_of)
        return ranked.band(start, stop)


def kept_of_each_class(ranked: RankedScores, starts: IndexArray, stops: IndexArray) -> tuple[FloatArray, FloatArray]:
    """Return the weight of positives and of negatives outside each block."""
    positives = ranked.positives_below[starts] + ranked.positives_above[stops]
    negatives = ranked.negatives_below[starts] + ranked.negatives_above[stops]
    return positives, negatives


def _leaves_both_classes(ranked: RankedScores, starts: IndexArray, stops: IndexArray) -> np.ndarray:
    positives, negatives = kept_of_each_class(ranked, starts, stops)
    return np.asarray((positives > 0) & (negatives > 0))


@dataclass(frozen=True)
class KolmogorovSmirnov(OfWidestBlocks):
    """The Kolmogorov-Smirnov statistic of the selected rows: the largest TPR - FPR over all thresholds.

    Notes
    -----
    With P and N the weights of positives and negatives that a block leaves, a threshold below the block leads by
    ``negatives_below[k] / N - positives_below[k] / P`` for some k up to its start, and one above it by
    ``positives_above[k] / P - negatives_above[k] / N`` for some k from its stop on: a block changes the slope of a
    linear function over a fixed curve, and how much of the curve counts. The largest lead over a beginning of the
    curve lies on its lower convex hull.

    If the share of positives grows with the score (isotonic labels), the curve is its own hull, and the lead grows up
    to the score where this share is P / (P + N), then falls: one binary search for each block. Other labels need the
    hull of every beginning of the curve; a stack that grows entry by entry holds it, with one binary search for each
    block, in a loop.

    Examples
    --------
    >>> from aucross.core import KolmogorovSmirnov, RankedScores
    >>> ranked = RankedScores([0.1, 0.3, 0.5, 0.7, 0.9], [1, 3, 5, 7, 9], [9, 7, 5, 3, 1])
    >>> band = KolmogorovSmirnov().best_band(ranked, coverage=0.8)
    >>> band, KolmogorovSmirnov().value(ranked), round(KolmogorovSmirnov().value(ranked, band), 4)
    (RejectionBand(lower=0.5, upper=0.5), 0.48, 0.6)
    """

    def _values(self, ranked: RankedScores, starts: IndexArray, stops: IndexArray) -> FloatArray:
        positives, negatives = kept_of_each_class(ranked, starts, stops)
        # The thresholds of largest lead up to each start and from each stop on.
        if (shares := _ascending_shares(ranked)) is not None:
            turn = np.searchsorted(shares, positives / (positives + negatives))
            below, above = np.minimum(turn, starts), np.maximum(turn, stops)
        else:
            worth, price = positives / negatives, negatives / positives
            below = _best_of_beginnings(ranked.negatives_below, ranked.positives_below, starts, worth)
            # Seen from the top, positives take the part of negatives.
            gained, lost, lengths = ranked.positives_above[::-1], ranked.negatives_above[::-1], len(ranked) - stops
            above = len(ranked) - _best_of_beginnings(gained, lost, lengths[::-1], price[::-1])[::-1]
        lead_below = ranked.negatives_below[below] / negatives - ranked.positives_below[below] / positives
        lead_above = ranked.positives_above[above] / positives - ranked.negatives_above[above] / negatives
        return np.maximum(lead_below, lead_above)


def _ascending_shares(ranked: RankedScores) -> FloatArray | None:
    """Return the share of positives at each score if it never falls with the score; None if it does."""
    weight = ranked.positives + ranked.negatives
    if not (weight > 0).all():
        return None
    shares = ranked.positives / weight
    ascending: FloatArray = np.maximum.accumulate(shares)
    return ascending if (ascending - shares <= _ROUNDING).all() else None


def _best_of_beginnings(gained: FloatArray, lost: FloatArray, lengths: IndexArray, worth: FloatArray) -> IndexArray:
    """Return for each query the k up to `length` with the highest ``worth * gained[k] - lost[k]``.

    Both curves ascend from 0, and the lengths of the queries ascend strictly. The stack holds the lower convex hull of
    the points (gained[k], lost[k]) so far, with the ascending slopes of its sides.
    """
    hull, slopes = [0], [float("-inf")]
    best = np.empty(len(lengths), dtype=np.intp)
    gains, losses, limits, prices = gained.tolist(), lost.tolist(), lengths.tolist(), worth.tolist()
    k = 0
    for query, (length, price) in enumerate(zip(limits, prices, strict=True)):
        while k < length:
            k += 1
            if gains[k] <= gains[hull[-1]]:
                continue  # nothing gained: never better than the last point
            slope = _slope(gains, losses, hull[-1], k)
            while slope <= slopes[-1]:
                hull.pop()
                slopes.pop()
                slope = _slope(gains, losses, hull[-1], k)
            hull.append(k)
            slopes.append(slope)
        best[query] = hull[bisect_right(slopes, price) - 1]
    return best


def _slope(gains: list[float], losses: list[float], first: int, second: int) -> float:
    return (losses[second] - losses[first]) / (gains[second] - gains[first])


@dataclass(frozen=True)
class PartialAUC(OfWidestBlocks):
    """The standardised partial AUC of the selected rows: the ROC curve at low false positive rates only.

    Parameters
    ----------
    max_fpr : float in (0, 1], default=0.1
        Highest false positive rate that counts.

    Notes
    -----
    As in :func:`aucross.evaluation.selective_partial_auc` (McClish 1989). Rates are shares of the selected rows, so the
    score of the highest rate differs between blocks. In counts, the area under the ROC curve up to x negatives from the
    top is read from ``won_above`` and half a trapezoid. A block removes its negatives and positives: if the limit is
    reached above it, nothing changes; if not, the area continues below it, reduced by the positives of the block.

    Examples
    --------
    >>> from aucross.core import PartialAUC, RankedScores
    >>> ranked = RankedScores([0.1, 0.3, 0.5, 0.7, 0.9], [1, 3, 5, 7, 9], [9, 7, 5, 3, 1])
    >>> PartialAUC(max_fpr=0.5).best_band(ranked, coverage=0.8), PartialAUC(max_fpr=0.1).best_band(ranked, coverage=0.8)
    (RejectionBand(lower=0.5, upper=0.5), RejectionBand(lower=0.7, upper=0.7))
    """

    max_fpr: float = 0.1

    def __post_init__(self) -> None:
        check_coverage(self.max_fpr, "max_fpr")

    def _values(self, ranked: RankedScores, starts: IndexArray, stops: IndexArray) -> FloatArray:
        positives, negatives = kept_of_each_class(ranked, starts, stops)
        limit = self.max_fpr * negatives
        beyond = np.maximum(limit - ranked.negatives_above[stops], 0.0)
        positives_inside = ranked.positives_above[starts] - ranked.positives_above[stops]
        area_above = _area_from_top(ranked, np.minimum(limit, ranked.negatives_above[stops]))
        area_below = _area_from_top(ranked, ranked.negatives_above[starts] + beyond) - ranked.won_above[starts]
        area = (area_above + area_below - positives_inside * beyond) / (positives * negatives)
        least, most = self.max_fpr**2 / 2, self.max_fpr
        standardised: FloatArray = (1 + (area - least) / (most - least)) / 2
        return standardised


def _area_from_top(ranked: RankedScores, negatives: FloatArray) -> FloatArray:
    """Return the weight of pairs under the ROC curve of all rows, up to some numbers of `negatives`."""
    from_top = ranked.negatives_above[::-1]
    # Whole entries from the top whose negatives fit; the next one counts in part.
    entries = np.clip(np.searchsorted(from_top, negatives, side="right") - 1, 0, len(ranked) - 1)
    whole, cut = len(ranked) - entries, len(ranked) - entries - 1
    rest = negatives - ranked.negatives_above[whole]
    share = np.divide(rest, ranked.negatives[cut], out=np.zeros(len(rest)), where=ranked.negatives[cut] > 0)
    area: FloatArray = (
        ranked.won_above[whole] + rest * ranked.positives_above[whole] + rest * share * ranked.positives[cut] / 2
    )
    return area


@dataclass(frozen=True)
class AveragePrecision(OfWidestBlocks):
    """The average precision of the selected rows: the sum of recall gained times precision, from the top.

    Notes
    -----
    As in :func:`aucross.evaluation.selective_average_precision`, with both classes selected. Its value by chance is the
    share of positives, so rejecting mostly negatives may raise it most.

    A block of weight t with b positives does not change the precision above it, and changes the precision at an entry
    below it to ``(A - b) / (T - t)``, A and T being the positives and the rows from that entry on. For a fixed t this
    is linear in b, so prefix sums of ``p * A / (T - t)`` and ``p / (T - t)`` give the value of every block of that
    weight in O(m). Blocks of full width weigh the same if rows do and no scores are tied. Otherwise, as the precision
    is convex in t, the straight line between the values at two weights a < t < c bounds it from above, by no more than

        (t - a) (c - t) / (c - a)  *  sum of p / (T - c) - p / (T - a)  over the entries below.

    Blocks that this bound cannot exclude are bounded again with more weights between, until their value is known to
    1e-12 or they are few enough to be evaluated exactly.

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


class _PrecisionTerms:
    """Average precision of many blocks: exact above each block, and bounded below it."""

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
        found_at_last, share_at_last = self._sums_below(grid[0])
        for index, (first, last) in enumerate(pairwise(grid) if len(grid) > 1 else [(grid[0], grid[0])]):
            found_at_first, share_at_first = found_at_last, share_at_last
            found_at_last, share_at_last = self._sums_below(last)
            inside = np.flatnonzero(interval == index)
            own, starts, rejected = blocks[inside], self._starts[blocks[inside]], self._positives_inside[blocks[inside]]
            below_first = found_at_first[starts] - rejected * share_at_first[starts]
            below_last = found_at_last[starts] - rejected * share_at_last[starts]
            part = (weight[inside] - first) / ((last - first) or 1.0)
            most = self._above[own] + below_first + part * (below_last - below_first)
            too_high = part * (last - weight[inside]) * (share_at_last[starts] - share_at_first[starts])
            lowest[inside], highest[inside] = (most - too_high) / self._kept[own], most / self._kept[own]
        return lowest, highest

    def _sums_below(self, weight: float) -> tuple[FloatArray, FloatArray]:
        """Return prefix sums of p * A / (T - t) and p / (T - t) over the entries, for blocks of weight t."""
        rest = self._seen - weight
        # Entries with T <= t lie below no block of this weight: the next entry would not have fitted into the budget.
        share = np.divide(self._positives, rest, out=np.zeros(len(rest)), where=rest > 0)
        return np.append(0.0, np.cumsum(share * self._found)), np.append(0.0, np.cumsum(share))


_NAMED: dict[str, Target] = {
    "auc": AUCTarget(),
    "ks": KolmogorovSmirnov(),
    "average_precision": AveragePrecision(),
    "partial_auc": PartialAUC(),
}
