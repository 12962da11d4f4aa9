"""Bootstrap of selective metrics by re-weighting sorted rows; a resample is never sorted again.

The rows are sorted by score once. Where a list of selections changes from one row to the next, a new *segment*
begins; bands give two boundaries each, so seven bands make at most fifteen segments::

    score ──►   | segment 0 | segment 1 | segment 2 | ...
    band .90    |  selected | rejected  | selected  |
    band .80    |  selected | rejected  | rejected  |

A replicate is a count per row (how often it was drawn); the rows as given are the replicate that draws each once. From
the counts come, per segment, the weight of positives, of negatives and of wrong predictions, and the pairs won inside
the segment. The AUC of any selection follows: pairs won inside its segments, plus positives of a segment times
negatives of the selected segments below it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aucross.core.ranking import FloatArray, IndexArray
from aucross.evaluation.inputs import BoolArray, EvaluationRows

ByteArray = NDArray[np.uint8]
WeightArray = NDArray[Any]  # counts as integers, or counts times weights as float64

# A selection that changes sides more often than this along the score gains nothing from segments.
_MOST_CHANGES = 16


@dataclass(frozen=True, eq=False)
class SelectionStatistics:
    """Metrics of several selections (columns) over bootstrap replicates (rows), and the weight of their positives."""

    achieved_coverage: FloatArray
    selective_auc: FloatArray
    selective_accuracy: FloatArray
    positive_rate: FloatArray
    positives: FloatArray


def draw_counts(n_rows: int, n_bootstrap: int, seed: int, units: IndexArray | None = None) -> Iterator[IndexArray]:
    """How often each row is drawn, for one replicate after the other; rows of one unit are drawn together.

    The same seed gives the same draws, so two evaluations of the same rows are paired.
    """
    n_drawn = n_rows if units is None else int(units.max()) + 1
    # Drawing is half the time of a replicate: SFC64 with 32-bit numbers took half as long as the default.
    rng = np.random.Generator(np.random.SFC64(seed))
    dtype = np.uint32 if n_drawn < 2**32 else np.uint64
    for _ in range(n_bootstrap):
        drawn = rng.integers(0, n_drawn, size=n_drawn, dtype=dtype)
        counts = np.bincount(drawn.astype(np.intp), minlength=n_drawn)
        yield counts if units is None else counts.take(units)


@dataclass(frozen=True, eq=False)
class RankedSelections:
    """Rows sorted by score and parted into segments, once; :meth:`statistics` answers for any counts of the rows."""

    rows: EvaluationRows
    members: IndexArray | None
    order: IndexArray  # row numbers by ascending score
    is_everything: BoolArray  # which of the selections leave no row out
    parts: tuple[SegmentedRows, ...]

    @classmethod
    def of(cls, rows: EvaluationRows, selections: BoolArray, members: IndexArray | None = None) -> RankedSelections:
        """Sort the rows, or those of them that are `members`.

        Parameters
        ----------
        rows : EvaluationRows
            Arrays of shape (n,).
        selections : ndarray of shape (n_selections, n), bool
            Masks of the selected rows.
        members : ndarray of row numbers, optional
            The rows that take part; all by default.
        """
        own = slice(None) if members is None else members
        order = np.argsort(rows.score[own])  # equal scores in any order: they count as one
        masks = selections[:, own]
        codes = _packed(masks)[:, order]
        order = order if members is None else members[order]
        ranked = _SortedRows(order, rows.score[order], rows.positive[order], ~rows.correct[order])
        return cls(rows, members, order, np.asarray(masks.all(axis=1)), tuple(_parts(ranked, codes, len(masks))))

    def ascending(self) -> EvaluationRows:
        """The rows that take part, by ascending score."""
        return self.rows.take(self.order)

    def statistics(self, counts: Iterator[WeightArray]) -> SelectionStatistics:
        """Evaluate the selections on every weighting of the rows.

        Parameters
        ----------
        counts : iterator of ndarray of shape (n,)
            How often each row counts in each replicate, in the order of the rows.

        Returns
        -------
        SelectionStatistics
            NaN where a metric is undefined: no row selected, for the AUC one class only, for the coverage no weight.
        """
        return statistics_of([self], counts)[0]


def statistics_of(rankings: Sequence[RankedSelections], counts: Iterator[WeightArray]) -> list[SelectionStatistics]:
    """The statistics of several rankings of the same rows, from one pass over the counts."""
    sums: list[list[list[WeightArray]]] = [[] for _ in rankings]
    totals: list[list[float]] = [[] for _ in rankings]
    sample_weight = rankings[0].rows.sample_weight
    for count in counts:
        weight = count if sample_weight is None else count * sample_weight
        for ranking, own_sums, own_totals in zip(rankings, sums, totals, strict=True):
            own_sums.append([part.sums(weight) for part in ranking.parts])
            own_totals.append(float((weight if ranking.members is None else weight.take(ranking.members)).sum()))
    return [_statistics(*found) for found in zip(rankings, sums, totals, strict=True)]


class _SortedRows(NamedTuple):
    """Rows by ascending score: their numbers, and what the metrics read of them."""

    order: IndexArray
    score: FloatArray
    positive: BoolArray
    wrong: BoolArray

    def take(self, kept: BoolArray) -> _SortedRows:
        return _SortedRows(self.order[kept], self.score[kept], self.positive[kept], self.wrong[kept])

    def negatives_around(self, places: IndexArray) -> tuple[IndexArray, IndexArray]:
        """For the positives at some places: negatives with a lower score, and negatives up to theirs."""
        is_first = np.append(True, self.score[1:] != self.score[:-1])
        if is_first.all():  # nothing ties: whoever stands before a positive and is none is a negative
            below = places - np.arange(len(places))
            return below, below
        first = np.flatnonzero(is_first)
        negatives = prefix_sums((~self.positive).astype(np.intp))[np.append(first, len(self.score))]
        tie = np.cumsum(is_first)[places]
        return negatives[tie - 1], negatives[tie]


def _packed(selections: BoolArray) -> ByteArray:
    """The selections as bits, eight to a byte: one gather then puts eight masks into the order of the scores."""
    packed = np.zeros((-(-len(selections) // 8), selections.shape[1]), dtype=np.uint8)
    for number, mask in enumerate(selections):
        packed[number // 8] |= mask * np.uint8(1 << number % 8)
    return packed


def _unpacked(codes: ByteArray, number: int) -> BoolArray:
    """One of the selections, or its changes."""
    return np.asarray(codes[number // 8] & np.uint8(1 << number % 8), dtype=np.bool_)


def _parts(rows: _SortedRows, codes: ByteArray, n_selections: int) -> Iterator[SegmentedRows]:
    """The selections that share one set of segments, and each of the others alone.

    Bands can share. A selection that splits equal scores, or that changes sides so often that segments are no shortcut
    (a gate sees more than the score), stands alone: its selected rows then are one segment.
    """
    changes = np.flatnonzero((codes[:, 1:] != codes[:, :-1]).any(axis=0))
    flipped = codes[:, changes] ^ codes[:, changes + 1]
    tied = rows.score[changes] == rows.score[changes + 1]
    together, is_start = [], np.zeros(len(changes), dtype=np.bool_)
    for number in range(n_selections):
        flips = _unpacked(flipped, number)
        if np.count_nonzero(flips) <= _MOST_CHANGES and not (flips & tied).any():
            together.append(number)
            is_start |= flips
        else:
            kept = _unpacked(codes, number)
            yield SegmentedRows.of(rows.take(kept), np.array([0]), np.array([number]), np.array([[True]]))
    if together:
        starts = np.append(0, changes[is_start] + 1)
        selected = np.array([_unpacked(codes[:, starts], number) for number in together])
        yield SegmentedRows.of(rows, starts, np.array(together), selected)


@dataclass(frozen=True, eq=False)
class SegmentedRows:
    """Row numbers by class, in score order, and where segments begin among them.

    Counts stay integers throughout, which is exact and four times as fast to accumulate as float64.
    """

    members: IndexArray  # which selections are answered from these rows
    selected: BoolArray  # (n_members, n_segments)
    negatives: Segments
    positives: Segments
    wrong: Segments  # wrong predictions: fewer than the correct ones
    negatives_below: IndexArray  # per positive: number of negatives with a lower score
    negatives_up_to: IndexArray  # the same, negatives of equal score included
    negatives_before: IndexArray  # per positive: number of negatives in the segments below its own

    @classmethod
    def of(cls, rows: _SortedRows, starts: IndexArray, members: IndexArray, selected: BoolArray) -> SegmentedRows:
        """Part sorted rows by class and segment; segments begin at the places `starts`."""
        bounds = np.append(starts, len(rows.order))
        places = np.flatnonzero(rows.positive)
        positives = Segments.of(rows.order, places, bounds)
        negatives = Segments.of(rows.order, np.flatnonzero(~rows.positive), bounds)
        below, up_to = rows.negatives_around(places)
        return cls(
            members=members,
            selected=selected,
            negatives=negatives,
            positives=positives,
            wrong=Segments.of(rows.order, np.flatnonzero(rows.wrong), bounds),
            negatives_below=below,
            negatives_up_to=up_to,
            negatives_before=np.repeat(negatives.bounds[:-1], np.diff(positives.bounds)),
        )

    def sums(self, weight: WeightArray) -> WeightArray:
        """Per segment (column): weight of positives, of negatives, of wrong predictions, twice the pairs won inside."""
        negative_weight, positive_weight = weight.take(self.negatives.rows), weight.take(self.positives.rows)
        below = prefix_sums(negative_weight)
        beaten_twice = below.take(self.negatives_below) + below.take(self.negatives_up_to)
        # Pairs are counted from the bottom of all rows. Those with negatives below the segment are taken off row by
        # row: taken off the sum, they would drown the pairs of a light segment above a heavy one in rounding.
        beaten_twice -= 2 * below.take(self.negatives_before)
        return np.array(
            (
                self.positives.add_up(positive_weight),
                self.negatives.add_up(negative_weight),
                self.wrong.add_up(weight.take(self.wrong.rows)),
                self.positives.add_up(positive_weight * beaten_twice),
            )
        )


@dataclass(frozen=True, eq=False)
class Segments:
    """Some of the rows, in score order, and the boundaries of the segments among them."""

    rows: IndexArray
    bounds: IndexArray  # n_segments + 1

    @classmethod
    def of(cls, order: IndexArray, places: IndexArray, bounds: IndexArray) -> Segments:
        """Take the sorted rows at some places; `bounds` are boundaries among all places."""
        return cls(order[places], np.searchsorted(places, bounds))

    def add_up(self, values: WeightArray) -> WeightArray:
        """Sum of the values in each segment; segments may be empty."""
        # reduceat needs a value to start at, even past the end, and gives that value for an empty segment.
        sums = np.add.reduceat(np.append(values, values.dtype.type(0)), self.bounds[:-1])
        sums[self.bounds[:-1] == self.bounds[1:]] = 0
        return sums


def _statistics(
    ranking: RankedSelections, sums: Sequence[Sequence[WeightArray]], totals: Sequence[float]
) -> SelectionStatistics:
    positives, negatives, wrong, won = (np.empty((len(totals), len(ranking.is_everything))) for _ in range(4))
    for number, part in enumerate(ranking.parts):
        of_part = np.array([replicate[number] for replicate in sums], dtype=np.float64)
        of_part = of_part.reshape(len(totals), 4, part.selected.shape[1])
        # One selection after the other: together they would take replicates x segments x selections numbers.
        for member, selected in zip(part.members, part.selected, strict=True):
            in_positives, in_negatives, in_wrong, won_twice = of_part[:, :, selected].swapaxes(0, 1)
            below = np.cumsum(in_negatives, axis=1) - in_negatives
            positives[:, member] = in_positives.sum(axis=1)
            negatives[:, member] = in_negatives.sum(axis=1)
            wrong[:, member] = in_wrong.sum(axis=1)
            won[:, member] = won_twice.sum(axis=1) / 2 + (in_positives * below).sum(axis=1)
    selected = positives + negatives
    # All rows are all rows, whatever the order in which their weights are added up.
    total = np.where(ranking.is_everything, selected, np.array(totals, dtype=np.float64)[:, None])
    return SelectionStatistics(
        achieved_coverage=share_of(selected, total),
        selective_auc=share_of(won, positives * negatives),
        selective_accuracy=share_of(selected - wrong, selected),
        positive_rate=share_of(positives, selected),
        positives=positives,
    )


def share_of(part: FloatArray, whole: FloatArray) -> FloatArray:
    """Ratio of sums, NaN where the whole is 0."""
    undefined = np.full(part.shape, np.nan)
    share: FloatArray = np.divide(part, whole, out=undefined, where=whole > 0)
    # Sums of fractional weights can round to a little more than 1 or less than 0.
    return np.clip(share, 0.0, 1.0, out=share)


def prefix_sums(values: WeightArray) -> WeightArray:
    """Sum of the values before each place, and of all."""
    sums = np.zeros(len(values) + 1, dtype=values.dtype)
    np.cumsum(values, out=sums[1:])
    return sums
