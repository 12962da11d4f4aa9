"""Kolmogorov-Smirnov and partial AUC as targets of the search: ratios, evaluated on the widest blocks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from dataclasses import dataclass

import numpy as np

from aucross.core.bands import RejectionBand, check_coverage
from aucross.core.ranking import FloatArray, IndexArray, RankedScores
from aucross.core.search import heaviest_that_leaves_both, widest_starts, widest_stops_of

# Values no further apart count as equal, as in the search for the AUC.
_ROUNDING = 1e-12


class OfWidestBlocks(ABC):
    """A target that is a ratio: only blocks of full width that leave both classes are compared."""

    @abstractmethod
    def _values(self, ranked: RankedScores, starts: IndexArray, stops: IndexArray) -> FloatArray:
        """Return the target after rejecting each block, which leaves both classes; only the highest need be exact."""

    def value(self, ranked: RankedScores, band: RejectionBand | None = None) -> float:
        """Return the target after rejecting `band` (nothing by default); NaN if a class is missing."""
        start, stop = (np.array([end]) for end in ranked.block(band or RejectionBand()))
        if not _leaves_both_classes(ranked, start, stop).all():
            return float("nan")
        return float(self._values(ranked, start, stop)[0])

    def best_band(self, ranked: RankedScores, coverage: float) -> RejectionBand:
        """Return the band of full width with the highest value that selects at least `coverage` of the weight.

        Among equals, the middle one. If each would leave one class alone, the heaviest band that leaves both.
        """
        if check_coverage(coverage) == 1.0 or min(ranked.total_positives, ranked.total_negatives) == 0:
            return RejectionBand()
        widest_stops = widest_stops_of(ranked, coverage)
        starts = widest_starts(widest_stops)
        stops = widest_stops[starts]
        if not len(starts):
            return RejectionBand()
        usable = _leaves_both_classes(ranked, starts, stops)
        starts, stops = starts[usable], stops[usable]
        if not len(starts):
            return ranked.band(*heaviest_that_leaves_both(ranked, widest_stops))
        values = self._values(ranked, starts, stops)
        equals = np.flatnonzero(values >= values.max() - _ROUNDING)
        middle = int(equals[len(equals) // 2])
        return ranked.band(int(starts[middle]), int(stops[middle]))


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
        below, above = _best_thresholds(ranked, starts, stops, positives, negatives)
        lead_below = ranked.negatives_below[below] / negatives - ranked.positives_below[below] / positives
        lead_above = ranked.positives_above[above] / positives - ranked.negatives_above[above] / negatives
        return np.maximum(lead_below, lead_above)


def _best_thresholds(
    ranked: RankedScores, starts: IndexArray, stops: IndexArray, positives: FloatArray, negatives: FloatArray
) -> tuple[IndexArray, IndexArray]:
    """Return the thresholds of largest lead up to each start and from each stop on."""
    shares = _ascending_shares(ranked)
    if shares is not None:
        turn = np.searchsorted(shares, positives / (positives + negatives))
        return np.minimum(turn, starts), np.maximum(turn, stops)
    below = _best_of_beginnings(ranked.negatives_below, ranked.positives_below, starts, positives / negatives)
    # Seen from the top, positives take the part of negatives.
    from_top = _best_of_beginnings(
        ranked.positives_above[::-1],
        ranked.negatives_above[::-1],
        (len(ranked) - stops)[::-1],
        (negatives / positives)[::-1],
    )
    return below, len(ranked) - from_top[::-1]


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
    As :func:`aucross.evaluation.selective_partial_auc` (McClish 1989). Rates are shares of the selected rows, so the
    rate ends at another score for each block. In counts, the area under the ROC curve up to x negatives from the top
    is read from ``won_above`` and half a trapezoid. A block takes its negatives and its positives out: if the limit
    is reached above it, nothing changes; if not, the area goes on below it, lower by the positives of the block.

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
    """Return the area under the ROC curve of all rows, in counts, up to a number of negatives from the top."""
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
