"""Bootstrap of selective metrics by re-weighting sorted rows; a resample is never sorted again.

The rows are sorted by score once. Where a list of selections changes from one row to the next, a new *segment*
begins; bands give two boundaries each, so seven bands make at most fifteen segments::

    score ──►   | segment 0 | segment 1 | segment 2 | ...
    band .90    |  accepted | rejected  | accepted  |
    band .80    |  accepted | rejected  | rejected  |

A replicate is a count per row (how often it was drawn). From the counts come, per segment, the weight of positives,
of negatives and of wrong predictions, and the pairs won inside the segment. The AUC of any selection follows: pairs
won inside its segments, plus positives of a segment times negatives of the accepted segments below it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aucross.core.ranking import FloatArray, IndexArray

BoolArray = NDArray[np.bool_]
WeightArray = NDArray[Any]  # counts as integers, or counts times weights as float64


@dataclass(frozen=True, eq=False)
class SelectionStatistics:
    """Metrics of several selections (columns) over bootstrap replicates (rows)."""

    achieved_coverage: FloatArray
    selective_auc: FloatArray
    selective_accuracy: FloatArray
    positive_rate: FloatArray


def draw_counts(n_rows: int, n_bootstrap: int, seed: int) -> Iterator[IndexArray]:
    """How often each row is drawn, for one replicate after the other.

    The same seed gives the same draws, so two evaluations of the same rows are paired.
    """
    # Drawing is half the time of a replicate: SFC64 with 32-bit numbers took half as long as the default.
    rng = np.random.Generator(np.random.SFC64(seed))
    dtype = np.uint32 if n_rows < 2**32 else np.uint64
    for _ in range(n_bootstrap):
        drawn = rng.integers(0, n_rows, size=n_rows, dtype=dtype)
        yield np.bincount(drawn.astype(np.intp), minlength=n_rows)


class RankedRows(NamedTuple):
    """What the standard metrics read of each row: label, score, and whether the prediction is right."""

    positive: BoolArray
    score: FloatArray
    correct: BoolArray


def selection_statistics(
    rows: RankedRows, selections: BoolArray, counts: Iterator[WeightArray], sample_weight: FloatArray | None = None
) -> SelectionStatistics:
    """Evaluate selections on every weighting of the rows.

    Parameters
    ----------
    rows : RankedRows
        Arrays of shape (n,).
    selections : ndarray of shape (n_selections, n), bool
        Masks of the selected rows.
    counts : iterator of ndarray of shape (n,)
        Weight of each row in each replicate, in the order of the rows.
    sample_weight : ndarray of shape (n,), optional
        Weights that multiply the counts.

    Returns
    -------
    SelectionStatistics
        NaN where a metric is undefined: no row selected, for the AUC one class only, for the coverage no weight.
    """
    order = np.argsort(rows.score, kind="stable")
    parts = [
        _SegmentedRows.from_sorted(order, rows, selections, members)
        for members in _shared_segments(selections[:, order], rows.score[order])
    ]
    sums: list[list[tuple[WeightArray, ...]]] = [[] for _ in parts]
    totals = []
    for count in counts:
        weight = count if sample_weight is None else count * sample_weight
        totals.append(weight.sum())
        for part, replicates in zip(parts, sums, strict=True):
            replicates.append(part.sums(weight))
    return _statistics(parts, sums, np.array(totals, dtype=np.float64), len(selections))


def _shared_segments(selections: BoolArray, score: FloatArray) -> list[IndexArray]:
    """Group the selections (given in score order) that can share one set of segments.

    Bands can. A selection that splits equal scores, or that changes sides so often that segments are no shortcut (a
    gate sees more than the score), stands alone: its accepted rows then are one segment.
    """
    tied = score[1:] == score[:-1]
    changes = selections[:, 1:] != selections[:, :-1]
    is_simple = ~(changes & tied).any(axis=1) & (changes.sum(axis=1) <= 16)
    together = [np.flatnonzero(is_simple)] if is_simple.any() else []
    return together + [np.array([member]) for member in np.flatnonzero(~is_simple)]


@dataclass(frozen=True, eq=False)
class _SegmentedRows:
    """Row numbers by class, in score order, and where segments begin among them.

    Counts stay integers throughout, which is exact and four times as fast to accumulate as float64.
    """

    members: IndexArray  # which selections are answered from these rows
    accepted: BoolArray  # (n_members, n_segments)
    negatives: _Segments
    positives: _Segments
    wrong: _Segments  # wrong predictions: fewer than the correct ones
    negatives_below: IndexArray  # per positive: number of negatives with a lower score
    negatives_up_to: IndexArray  # the same, negatives of equal score included
    negatives_before: IndexArray  # per positive: number of negatives in the segments below its own

    @classmethod
    def from_sorted(
        cls, order: IndexArray, rows: RankedRows, selections: BoolArray, members: IndexArray
    ) -> _SegmentedRows:
        if len(members) == 1:
            order = order[selections[members[0], order]]
        masks = selections[np.ix_(members, order)]
        starts = np.flatnonzero((masks[:, 1:] != masks[:, :-1]).any(axis=0)) + 1
        bounds = np.concatenate(([0], starts, [len(order)]))
        negatives = _Segments.of(order, ~rows.positive[order], bounds)
        positives = _Segments.of(order, rows.positive[order], bounds)
        scores_of_negatives, scores_of_positives = rows.score[negatives.rows], rows.score[positives.rows]
        return cls(
            members=members,
            accepted=masks[:, bounds[:-1]] if len(order) else np.ones((len(members), 1), dtype=bool),
            negatives=negatives,
            positives=positives,
            wrong=_Segments.of(order, ~rows.correct[order], bounds),
            negatives_below=np.searchsorted(scores_of_negatives, scores_of_positives, side="left"),
            negatives_up_to=np.searchsorted(scores_of_negatives, scores_of_positives, side="right"),
            negatives_before=np.repeat(negatives.bounds[:-1], np.diff(positives.bounds)),
        )

    def sums(self, weight: WeightArray) -> tuple[WeightArray, ...]:
        """Per segment: weight of positives, of negatives, of wrong predictions, and twice the pairs won inside."""
        negative_weight, positive_weight = weight.take(self.negatives.rows), weight.take(self.positives.rows)
        below = _prefix_sums(negative_weight)
        beaten_twice = below.take(self.negatives_below) + below.take(self.negatives_up_to)
        # Pairs are counted from the bottom of all rows. Those with negatives below the segment are taken off row by
        # row: taken off the sum, they would drown the pairs of a light segment above a heavy one in rounding.
        beaten_twice -= 2 * below.take(self.negatives_before)
        return (
            self.positives.add_up(positive_weight),
            self.negatives.add_up(negative_weight),
            self.wrong.add_up(weight.take(self.wrong.rows)),
            self.positives.add_up(positive_weight * beaten_twice),
        )


@dataclass(frozen=True, eq=False)
class _Segments:
    """Some of the rows, in score order, and the boundaries of the segments among them."""

    rows: IndexArray
    bounds: IndexArray  # n_segments + 1

    @classmethod
    def of(cls, order: IndexArray, chosen: BoolArray, bounds: IndexArray) -> _Segments:
        return cls(order[chosen], np.concatenate(([0], np.cumsum(chosen)))[bounds])

    def add_up(self, values: WeightArray) -> WeightArray:
        """Sum of the values in each segment; segments may be empty."""
        # reduceat needs a value to start at, even past the end, and gives that value for an empty segment.
        sums = np.add.reduceat(np.append(values, values.dtype.type(0)), self.bounds[:-1])
        sums[self.bounds[:-1] == self.bounds[1:]] = 0
        return sums


def _statistics(
    parts: Sequence[_SegmentedRows],
    sums: Sequence[Sequence[tuple[WeightArray, ...]]],
    totals: FloatArray,
    n_selections: int,
) -> SelectionStatistics:
    positives, negatives, wrong, won = (np.empty((len(totals), n_selections)) for _ in range(4))
    for part, replicates in zip(parts, sums, strict=True):
        sums_of_part = np.array(replicates, dtype=np.float64).reshape(len(totals), 4, part.accepted.shape[1])
        # One selection after the other: together they would take replicates x segments x selections numbers.
        for member, accepted in zip(part.members, part.accepted, strict=True):
            in_positives, in_negatives, in_wrong, won_twice = sums_of_part[:, :, accepted].swapaxes(0, 1)
            below = np.cumsum(in_negatives, axis=1) - in_negatives
            positives[:, member] = in_positives.sum(axis=1)
            negatives[:, member] = in_negatives.sum(axis=1)
            wrong[:, member] = in_wrong.sum(axis=1)
            won[:, member] = won_twice.sum(axis=1) / 2 + (in_positives * below).sum(axis=1)
    selected = positives + negatives
    return SelectionStatistics(
        achieved_coverage=share_of(selected, totals[:, None]),
        selective_auc=share_of(won, positives * negatives),
        selective_accuracy=share_of(selected - wrong, selected),
        positive_rate=share_of(positives, selected),
    )


def share_of(part: FloatArray, whole: FloatArray) -> FloatArray:
    """Ratio of sums, NaN where the whole is 0."""
    undefined = np.full(part.shape, np.nan)
    share: FloatArray = np.divide(part, whole, out=undefined, where=whole > 0)
    # Sums of fractional weights can round to a little more than 1 or less than 0.
    return np.clip(share, 0.0, 1.0, out=share)


def _prefix_sums(values: WeightArray) -> WeightArray:
    sums = np.zeros(len(values) + 1, dtype=values.dtype)
    np.cumsum(values, out=sums[1:])
    return sums
