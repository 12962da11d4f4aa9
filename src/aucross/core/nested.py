"""Nested bands: a score rejected at a coverage stays rejected at every lower one.

The best bands of two coverages may each hold scores that the other does not. Here bands grow along one path, which goes
through the best band of one coverage, the *reference*::

    rejected      entries of the ranking
    little                 [ 5 ]
                        [ 4  5 ]
                        [ 4  5  6 ]
    reference           [ 4  5  6  7 ]           the exact optimum
                     [ 3  4  5  6  7 ]
    much             [ 3  4  5  6  7  8 ]

Dynamic programming over the blocks of entries finds the path with the highest average AUC over the coverages. If the
best bands are already nested, the path is as good on average, though it may choose other bands of equal AUC.

Bands on the influence are nested if all coverages use one table, that of the reference.

If the same rows decide the place and the width of a band, a promise must allow for every place that the search could
have chosen. :class:`FixedPathBands` take the path from some rows and the width from others. The position of a score on
the path is its *depth*, and stopping on the path is a threshold on this score, which is fixed in advance: the share
above a threshold follows a Beta distribution.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from aucross.core.band_rule import RankedRule
from aucross.core.bands import RejectionBand, check_coverage
from aucross.core.capacity import lowest_rows
from aucross.core.label_shift import expected_ranking, with_new_shares
from aucross.core.noise import kept_clear, nearest_known
from aucross.core.ranking import FloatArray, IndexArray, RankedScores
from aucross.core.rules import OptimalBands, distance_beyond
from aucross.core.scored_rows import RuleInput
from aucross.core.search import best_band, rejection_budget

# A longer ranking is cut into about this many chunks of entries, the smallest steps between which the path chooses.
MAX_CHUNKS = 1000

# Mean AUCs that differ by less are alike: prefix sums of fractional weights carry rounding.
_ROUNDING = 1e-12
_TINY = np.finfo(np.float64).tiny


@dataclass(frozen=True)
class NestedBands(RankedRule):
    """Nested bands through the best band of one coverage.

    Parameters
    ----------
    ranked : RankedScores
        Rows to place the bands on; with :meth:`RankedScores.isotonic` labels they generalise better. On these rows
        the coverage never falls below the target.
    coverage : float in (0, 1]
        The reference: at this coverage the band is that of :func:`aucross.core.best_band`.

    Notes
    -----
    Of all nested bands through the reference these have the highest average AUC over the coverages, up to chunks of a
    thousandth of the entries. If the band of the reference is empty, as for a coverage of 1, they are the best of all
    nested bands. Every band leaves rows of both classes.

    Examples
    --------
    >>> from aucross.core import RankedScores
    >>> from aucross.core.nested import NestedBands
    >>> ranked = RankedScores.from_labels([0, 0, 1, 0, 1, 1], [10, 20, 30, 40, 50, 60])
    >>> rule = NestedBands(ranked.isotonic(), coverage=0.6)
    >>> rule.band(0.6), rule.band(0.8)
    (RejectionBand(lower=30.0, upper=40.0), RejectionBand(lower=30.0, upper=30.0))
    >>> rule.depth([30, 35, 40, 50]).round(2)
    array([0.17, 0.25, 0.33, 0.67])
    """

    coverage: float

    def __post_init__(self) -> None:
        check_coverage(self.coverage)

    def place(self, coverage: float) -> RejectionBand:
        """Return the widest of the nested bands that selects at least `coverage` of the weight."""
        step = self._step(coverage)
        return self.ranked.band(int(self._path.start[step]), int(self._path.stop[step]))

    auc_gain = RankedRule.gain_of_ranked

    def depth(self, scores: ArrayLike) -> FloatArray:
        """Return the depth of each score: the share of weight that the path has rejected when it reaches the score.

        Ranked scores have depths in [0, 1]: a band that rejects the share q of the weight rejects the scores of depth
        at most q. Scores between two entries are rejected with the outer one, and their depth says how near to it they
        lie. No band rejects scores beyond the ranked ones; they have depths in [1, 2], nearest first.
        """
        values = np.asarray(scores, dtype=np.float64)
        if not len(self.ranked):
            return np.ones(len(values))
        known, path = self.ranked.scores, self._path
        values = nearest_known(values, known, self.ranked.noise)
        above = np.minimum(np.searchsorted(known, values, side="left"), len(known) - 1)
        below = np.maximum(above - (known[above] != values), 0)
        is_outwards_up = path.step_of[above] >= path.step_of[below]
        outer, inner = np.where(is_outwards_up, above, below), np.where(is_outwards_up, below, above)
        gap = known[outer] - known[inner]
        way = np.divide(values - known[inner], gap, out=np.ones(len(values)), where=gap != 0)
        before, after = path.share[path.step_of[outer] - 1], path.share[path.step_of[outer]]
        # Not by the product alone: at an entry rounding must not tell the depth from the band's share.
        depth = np.where(way < 1, before + way * (after - before), after)
        distance = distance_beyond(values, known)
        return np.asarray(np.where(distance > 0, 1 + distance, depth))

    def band_of_depth(self, depth: float) -> RejectionBand:
        """Return the band of all scores up to a depth, also between two entries of the path."""
        path, known = self._path, self.ranked.scores
        step = int(np.searchsorted(path.share, min(depth, self.greatest_depth), side="right")) - 1
        if step < 1:
            return RejectionBand()
        lower, upper = float(known[path.start[step]]), float(known[path.stop[step] - 1])
        before, after = path.share[step : step + 2] if step + 1 < len(path.share) else (path.share[step],) * 2
        if depth > before and after > before:
            way = float((min(depth, self.greatest_depth) - before) / (after - before))
            if path.start[step + 1] < path.start[step]:
                lower += way * float(known[path.start[step + 1]] - known[path.start[step]])
            else:
                upper += way * float(known[path.stop[step + 1] - 1] - known[path.stop[step] - 1])
        return RejectionBand(lower, upper)

    @property
    def greatest_depth(self) -> float:
        """Depth of the last band that leaves both classes."""
        return float(self._path.share[self._path.last])

    def place_anew(self, rows: RuleInput, *, label_shift: bool) -> NestedBands:
        """Search again on other rows, with probabilities of the positive class from this ranking."""
        return NestedBands(expected_ranking(self.ranked, rows, label_shift=label_shift), self.coverage)

    def rows_to_reject(self, rows: RuleInput, capacity: int, order: IndexArray) -> IndexArray:
        """Choose the rows that the path rejects first."""
        return lowest_rows(self.depth(rows.score), capacity, order)

    def rejected_share(self, coverage: float) -> float:
        """Return the share of the weight that :meth:`band` rejects: the largest depth inside it."""
        return float(self._path.share[self._step(coverage)])

    def _step(self, coverage: float) -> int:
        path = self._path
        budget = rejection_budget(self.ranked.total, coverage) / max(self.ranked.total, _TINY)
        step = int(np.searchsorted(path.share, budget, side="right"))
        # Neither rounding nor a light entry next to the optimum may move the band of the reference.
        bound = min if coverage >= self.coverage else max
        return min(bound(step - 1, path.reference), path.last)

    @cached_property
    def _path(self) -> _Path:
        return _path_through(self.ranked, *self.ranked.block(best_band(self.ranked, self.coverage)))


@dataclass(frozen=True)
class FixedPathBands(RankedRule):
    """Bands along a path that other rows fix; the ranked rows only decide the width.

    Parameters
    ----------
    ranked : RankedScores
        The rows that decide where to stop. On these rows the coverage never falls below the target.
    path : RankedScores
        The other rows; the path is found on them as in :class:`~aucross.core.NestedBands`.
    reference : float in (0, 1], optional
        The coverage whose best band every path goes through. By default the path of each coverage goes through its own
        best band, so bands of different coverages need not be nested.

    Examples
    --------
    >>> from aucross.core import FixedPathBands, RankedScores
    >>> path = RankedScores.from_labels([0, 0, 1, 0, 1, 1], [10, 20, 30, 40, 50, 60]).isotonic()
    >>> others = RankedScores.from_labels([0, 0, 0, 1, 1], [15, 25, 33, 38, 55])
    >>> FixedPathBands(others, path).band(coverage=0.6)
    RejectionBand(lower=30.0, upper=38.0)
    """

    path: RankedScores
    reference: float | None = None

    def __post_init__(self) -> None:
        if self.reference is not None:
            check_coverage(self.reference, name="reference")

    @property
    def is_fixed(self) -> bool:
        """Always True, because the path does not depend on the ranked rows."""
        return True

    def place(self, coverage: float) -> RejectionBand:
        """Return the widest of the nested bands that selects at least `coverage` of the weight."""
        path = NestedBands(self.path, coverage if self.reference is None else self.reference)
        depth = path.depth(self.ranked.scores)
        order = np.argsort(depth, kind="stable")
        weight = (self.ranked.positives + self.ranked.negatives)[order]
        within = np.searchsorted(np.cumsum(weight), rejection_budget(self.ranked.total, coverage), side="right")
        # Beyond the last band of the path a class of its rows would be gone.
        reached = np.searchsorted(depth[order], path.greatest_depth, side="right")
        count = min(int(within), int(reached), max(len(self.ranked) - 1, 0))
        if count == 0:
            return RejectionBand()
        taken = self.ranked.scores[order[:count]]
        band = path.band_of_depth(float(depth[order[count - 1]]))
        # The last row taken lies at the end of the band, where rounding must not leave it out.
        return RejectionBand(min(band.lower, float(taken.min())), max(band.upper, float(taken.max())))

    def clear_of_noise(self, band: RejectionBand) -> RejectionBand:
        """Return the band with ends that keep clear of the ranked scores and of the scores of the path."""
        return kept_clear(super().clear_of_noise(band), self.path.scores, self.path.noise)

    def place_anew(self, rows: RuleInput, *, label_shift: bool) -> FixedPathBands:
        """Follow this path on other rows; after a label shift the path is weighted by the new class shares."""
        path = with_new_shares(self.path, self.ranked, rows) if label_shift else self.path
        return FixedPathBands(expected_ranking(self.ranked, rows, label_shift=label_shift), path, self.reference)

    def rows_to_reject(self, rows: RuleInput, capacity: int, order: IndexArray) -> IndexArray:
        """Choose the rows as the rule without a path does: an exact number of rows needs no promise."""
        searched = OptimalBands(self.ranked) if self.reference is None else NestedBands(self.ranked, self.reference)
        return searched.rows_to_reject(rows, capacity, order)


# ---- the path ----


class _Path(NamedTuple):
    """Blocks that grow by one entry per step, from none to all."""

    start: IndexArray  # of the block after each step, m + 1 of them
    stop: IndexArray
    share: FloatArray  # of the weight inside
    step_of: IndexArray  # the step that takes each entry, 1 ... m
    reference: int  # the step of the block that the path goes through
    last: int  # the last step that leaves both classes


def _path_through(ranked: RankedScores, start: int, stop: int) -> _Path:
    starts, stops = _best_chunks(ranked, start, stop)
    # Steps of one entry: each chunk is taken from its inner end.
    is_left = np.repeat(np.diff(starts) < 0, np.diff(stops - starts))
    starts, stops = starts[0] - np.append(0, np.cumsum(is_left)), stops[0] + np.append(0, np.cumsum(~is_left))
    step_of = np.empty(len(ranked), dtype=np.intp)
    step_of[np.where(starts[1:] < starts[:-1], starts[1:], stops[1:] - 1)] = np.arange(1, len(ranked) + 1)
    weight = ranked.weight_below[stops] - ranked.weight_below[starts]
    share = np.maximum.accumulate(weight) / max(ranked.total, _TINY)
    _, kept = ranked.pairs(starts, stops)
    last = max(int(np.count_nonzero(kept > 0)) - 1, 0)
    return _Path(starts, stops, share, step_of, reference=stop - start, last=last)


def _best_chunks(ranked: RankedScores, start: int, stop: int) -> tuple[IndexArray, IndexArray]:
    """Return growing blocks from none to all that pass through [start, stop), one chunk wider at each step.

    Works backwards over the widths: `value` holds, for each first chunk, the best sum of AUCs over all later budgets.
    The AUC of a block is weighted by the next chunk, because the block is used until that chunk fits.
    """
    size = max(-(-len(ranked) // MAX_CHUNKS), 1)
    edges = np.unique(np.append(np.arange(0, len(ranked), size), (start, stop, len(ranked))))
    n_chunks = len(edges) - 1
    first, last = (int(place) for place in np.searchsorted(edges, (start, stop)))
    # One more chunk at each end, of no weight, which no block can take.
    weight = np.concatenate(([0.0], np.diff(ranked.weight_below[edges]), [0.0])) / max(ranked.total, _TINY)
    value = np.append([-inf, 0.0], np.full(n_chunks, -inf))
    takes_left = np.zeros((n_chunks, n_chunks + 1), dtype=bool)
    for width in range(n_chunks - 1, -1, -1):
        firsts = _allowed(width, first, last, n_chunks)
        won, kept = ranked.pairs(edges[firsts], edges[firsts + width])
        auc = np.divide(won, kept, out=np.zeros(len(won)), where=kept > 0)  # 0, the worst, without one of the classes
        by_left = auc * weight[firsts] + value[firsts]
        by_right = auc * weight[firsts + width + 1] + value[firsts + 1]
        # Equal ends take turns, so that perfectly separated classes get bands around a middle.
        is_equal = np.abs(by_left - by_right) <= _ROUNDING
        takes_left[width, firsts] = is_left = np.where(is_equal, width % 2 == 0, by_left > by_right)
        value = np.full(n_chunks + 2, -inf)
        value[firsts + 1] = np.where(is_left, by_left, by_right)
    equals = np.flatnonzero(value >= value.max() - _ROUNDING)
    path = [int(equals[len(equals) // 2]) - 1]  # the first chunk of each block, from the empty one on
    for decisions in takes_left:
        path.append(path[-1] - int(decisions[path[-1]]))
    return edges[path], edges[np.array(path) + np.arange(len(path))]


def _allowed(width: int, first: int, last: int, n_chunks: int) -> IndexArray:
    """Return the first chunks of the blocks of one width that lie inside or around the reference [first, last)."""
    if first == last:
        return np.arange(n_chunks - width + 1)
    if width <= last - first:
        return np.arange(first, last - width + 1)
    return np.arange(max(0, last - width), min(first, n_chunks - width) + 1)
