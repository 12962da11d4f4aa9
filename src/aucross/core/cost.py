"""The expected cost as a target of the search: a sum over entries, so the best block is the one that saves most."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from numbers import Real

import numpy as np

from aucross.core.bands import RejectionBand, check_coverage
from aucross.core.ranking import FloatArray, IndexArray, RankedScores
from aucross.core.search import widest_stops_of


@dataclass(frozen=True, kw_only=True)
class ExpectedCost:
    """Mean cost per row: the cost of a decision for selected rows, of a review for the others.

    Parameters
    ----------
    review : float or pair of float
        Cost of reviewing a row: one number, or one for negatives and one for positives.
    false_positive, false_negative : float, default=1
        Cost of deciding "positive" for a negative row and "negative" for a positive one.
    true_positive, true_negative : float, default=0
        Cost of the right decisions; a gain is a negative cost.
    threshold : float, optional
        Rows that score above it are decided "positive". By default every score gets the decision that is cheaper given
        its share of positives. This needs isotonic labels or known probabilities: on raw labels, where each score has
        one label, the decision would know the label.

    Notes
    -----
    For an entry with probability of being positive eta, let d(eta) be the cost of the cheaper decision and r(eta) the
    cost of a review. d is concave in eta (the lower one of two straight lines) and r is a straight line, so the
    scores with d > r, which Chow's rule rejects (Chow 1970), form one interval if eta grows with the score. If the
    budget is large enough, the best band is this interval. Otherwise the rows that save most form an interval, too, and
    no other selection by the score is cheaper, up to the row in which the budget ends.

    All bands are searched, not only those that use the whole budget. Among bands of equal cost a narrower one is taken:
    a row that costs as much to decide as to review is decided, as in Chow's rule.

    Examples
    --------
    A missed positive costs 5, a false alarm 1, a review 0.3:

    >>> from aucross.core import ExpectedCost, RankedScores
    >>> cost = ExpectedCost(false_negative=5, review=0.3)
    >>> ranked = RankedScores([0.02, 0.1, 0.3, 0.6, 0.9], [2, 10, 30, 60, 90], [98, 90, 70, 40, 10])
    >>> band = cost.best_band(ranked, coverage=0.5)
    >>> band, round(cost.value(ranked), 3), round(cost.value(ranked, band), 3)
    (RejectionBand(lower=0.1, upper=0.3), 0.36, 0.24)
    """

    review: float | tuple[float, float]
    false_positive: float = 1.0
    false_negative: float = 1.0
    true_positive: float = 0.0
    true_negative: float = 0.0
    threshold: float | None = None

    def __post_init__(self) -> None:
        for name in ("false_positive", "false_negative", "true_positive", "true_negative"):
            _check_number(getattr(self, name), name)
        if self.threshold is not None:
            _check_number(self.threshold, "threshold")
        if isinstance(self.review, list | np.ndarray):
            object.__setattr__(self, "review", tuple(np.asarray(self.review).tolist()))  # can be hashed
        for number in self._reviews:
            _check_number(number, "review")
        if len(self._reviews) != 2:
            raise ValueError(
                "review must be one number or a pair (negatives, positives), got "
                f"{len(self._reviews)} numbers: {self.review}"
            )
        if self._extra_of_positive < 0 or self._extra_of_negative < 0:
            raise ValueError(
                "a wrong decision must not cost less than the right one, got "
                f"false_positive={self.false_positive:g}, true_negative={self.true_negative:g}, "
                f"false_negative={self.false_negative:g}, true_positive={self.true_positive:g}; "
                "give gains as negative costs of right decisions"
            )

    @property
    def _reviews(self) -> tuple[float, ...]:
        """Cost of reviewing a negative and a positive row."""
        return self.review if isinstance(self.review, tuple) else (self.review, self.review)

    @property
    def _extra_of_positive(self) -> float:
        """Extra cost of deciding "positive" on a negative row, beyond the right decision."""
        return self.false_positive - self.true_negative

    @property
    def _extra_of_negative(self) -> float:
        """Extra cost of deciding "negative" on a positive row, beyond the right decision."""
        return self.false_negative - self.true_positive

    @property
    def cheapest_threshold(self) -> float:
        """Probability of the positive class above which deciding "positive" is cheaper; 0.5 for equal costs."""
        extra = self._extra_of_positive + self._extra_of_negative
        return self._extra_of_positive / extra if extra > 0 else 0.5

    def value(self, ranked: RankedScores, band: RejectionBand | None = None) -> float:
        """Return the mean cost per row after sending `band` to review; NaN for an empty ranking."""
        start, stop = ranked.block(band or RejectionBand())
        cost = self._decision_costs(ranked)
        cost[start:stop] = self._review_costs(ranked)[start:stop]
        return float(cost.sum()) / ranked.total if ranked.total > 0 else float("nan")

    def best_band(self, ranked: RankedScores, coverage: float) -> RejectionBand:
        """Return the cheapest band that selects at least `coverage` of the weight.

        This is the block whose review saves most: for each start, the highest prefix sum of savings within the budget.
        """
        widest_stops = widest_stops_of(ranked, check_coverage(coverage))
        saving = self._decision_costs(ranked) - self._review_costs(ranked)
        saved_below = np.concatenate(([0.0], np.cumsum(saving)))
        saved = _highest_in_reach(saved_below, widest_stops) - saved_below
        if saved.max() <= 0:
            return RejectionBand()
        # The last start and the first stop: what comes before and after adds nothing.
        start = len(saved) - 1 - int(np.argmax(saved[::-1]))
        stop = start + int(np.argmax(saved_below[start : widest_stops[start] + 1]))
        # Long sums are rounded, single savings are not: no end of the band is a row that does not pay.
        pays = start + np.flatnonzero(saving[start:stop] > 0)
        return ranked.band(int(pays[0]), int(pays[-1]) + 1) if len(pays) else RejectionBand()

    def _decision_costs(self, ranked: RankedScores) -> FloatArray:
        as_positive = self.true_positive * ranked.positives + self.false_positive * ranked.negatives
        as_negative = self.false_negative * ranked.positives + self.true_negative * ranked.negatives
        if self.threshold is None:
            return np.minimum(as_positive, as_negative)
        return np.where(ranked.scores > self.threshold, as_positive, as_negative)

    def _review_costs(self, ranked: RankedScores) -> FloatArray:
        of_negative, of_positive = self._reviews
        costs: FloatArray = of_positive * ranked.positives + of_negative * ranked.negatives
        return costs


def _check_number(value: object, name: str) -> None:
    if not isinstance(value, Real) or isinstance(value, bool | np.bool_) or not isfinite(value):
        raise ValueError(f"{name} must be a finite number, got {value!r}")


def _highest_in_reach(values: FloatArray, last: IndexArray) -> FloatArray:
    """Return the highest of values[i] ... values[last[i]] for every i.

    Two windows of a power of two cover each range; maxima of each window size follow from those of half the size.
    """
    highest = np.empty(len(values))
    length = last - np.arange(len(values)) + 1
    windows, size = values, 1
    while True:
        now = np.flatnonzero((length >= size) & (length < 2 * size))
        highest[now] = np.maximum(windows[now], windows[last[now] - size + 1])
        if length.max() < 2 * size:
            return highest
        windows, size = np.maximum(windows[:-size], windows[size:]), 2 * size
