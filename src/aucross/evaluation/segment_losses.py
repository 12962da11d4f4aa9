"""What rows lose to the other class inside their own segment, once for all selections.

A row of a selection loses to the rows of the other class on the wrong side of it. Those of its own segment are the same
in every selection, and those of other segments are one number for the whole segment::

    segments, ascending     | 0 selected | 1 rejected | 2 selected |
    a positive of 0 loses     what it loses inside 0    + negatives of 2
    a negative of 2 loses     what it loses inside 2    + positives of 0

So sums over the rows of a selection (of their losses, squares and cubes, in all or by block) follow from sums over the
rows of each segment, and the number of selections costs nothing.
"""

from __future__ import annotations

from math import comb
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aucross.core.ranking import FloatArray, IndexArray
from aucross.evaluation.bootstrap import SegmentedRows, Segments, prefix_sums
from aucross.evaluation.inputs import BoolArray

# Exponents of weight and loss whose sums over rows are kept: loss ** q times weight ** k, q up to k.
_MOST = 3


class ClassRows(NamedTuple):
    """The rows of one class, by ascending score.

    Attributes
    ----------
    segments : Segments
        Row numbers, and where segments begin among them.
    weight : ndarray of shape (n,) or None
        Weights in units of the largest of the class; None if all are 1.
    loss : ndarray of shape (n,)
        Weight of the other class inside the segment on the wrong side of the row, ties half.
    scale : float
        The largest weight. In units of it the cube of a large weight and the square of a small one are numbers.
    """

    segments: Segments
    weight: FloatArray | None
    loss: FloatArray
    scale: float

    def lost(self) -> FloatArray:
        """Weight times loss."""
        return self.loss if self.weight is None else self.weight * self.loss

    def weights(self) -> FloatArray:
        """The weights, written out."""
        return np.ones(len(self.loss)) if self.weight is None else self.weight

    def each(self, of_segments: NDArray[Any]) -> NDArray[Any]:
        """What each row has of a number per segment."""
        return np.repeat(of_segments, np.diff(self.segments.bounds))

    def power_sums(self) -> FloatArray:
        """Sums of weight ** k times loss ** q in each segment, an array of shape (k + 1, q + 1, segments)."""
        found = np.zeros((_MOST + 1, _MOST + 1, len(self.segments.bounds) - 1))
        if self.weight is None:
            found[:, 0] = np.diff(self.segments.bounds)
            values = self.loss
            for q in range(1, _MOST + 1):
                found[:, q] = self.segments.add_up(values)
                values = values * self.loss if q < _MOST else values
            return found
        of_weight = self.weight
        for k in range(1, _MOST + 1):
            values = of_weight
            for q in range(k + 1):
                found[k, q] = self.segments.add_up(values)
                values = values * self.loss if q < k else values
            of_weight = of_weight * self.weight if k < _MOST else of_weight
        return found


class SelectedClass(NamedTuple):
    """One class of one selection: which segments it has, and what rows of each lose to other segments."""

    selected: BoolArray
    beyond: FloatArray
    weight_of_others: float

    def powers(self, sums: FloatArray) -> FloatArray:
        """Sums over the rows of w ** p times (w * loss) ** q, losses being shares, as of LossSums."""
        own, beyond = sums[:, :, self.selected], self.beyond[self.selected] / self.weight_of_others
        found = np.zeros((4, 4))
        for k in range(1, _MOST + 1):
            for q in range(k + 1):
                inside = (
                    comb(q, r) * float(own[k, r] @ beyond ** (q - r)) / self.weight_of_others**r for r in range(q + 1)
                )
                found[k - q, q] = sum(inside)
        return found


def class_rows(part: SegmentedRows, sample_weight: FloatArray | None) -> tuple[ClassRows, ClassRows]:
    """Positives and negatives of segmented rows, with what they lose inside their segments."""
    (positive_weight, positive_scale), (negative_weight, negative_scale) = (
        _own_weight(sample_weight, segments) for segments in (part.positives, part.negatives)
    )
    n_positives, n_negatives = len(part.positives.rows), len(part.negatives.rows)
    negatives_before, positives_before = (
        np.arange(n + 1, dtype=np.float64) if weight is None else prefix_sums(weight)
        for n, weight in ((n_negatives, negative_weight), (n_positives, positive_weight))
    )
    counts = (_before(places, n_negatives) for places in (part.negatives_up_to, part.negatives_below))
    no_ties = part.negatives_below is part.negatives_up_to
    of_positives, of_negatives = (
        _middle(before, *around, no_ties=no_ties)
        for before, around in (
            (negatives_before, (part.negatives_below, part.negatives_up_to)),
            (positives_before, tuple(counts)),
        )
    )
    # Differences of the same sums: exactly 0 for a row that nothing in its segment beats.
    to_end = np.repeat(negatives_before[part.negatives.bounds[1:]], np.diff(part.positives.bounds))
    from_start = np.repeat(positives_before[part.positives.bounds[:-1]], np.diff(part.negatives.bounds))
    return (
        ClassRows(part.positives, positive_weight, to_end - of_positives, positive_scale),
        ClassRows(part.negatives, negative_weight, of_negatives - from_start, negative_scale),
    )


def selected_classes(
    selected: BoolArray, positives: FloatArray, negatives: FloatArray
) -> tuple[SelectedClass, SelectedClass]:
    """Both classes of one selection, from the weight that each has in every segment."""
    in_positives, in_negatives = np.where(selected, positives, 0.0), np.where(selected, negatives, 0.0)
    above, below = prefix_sums(in_negatives[::-1])[:-1][::-1], prefix_sums(in_positives)[:-1]
    return (
        SelectedClass(selected, above, float(in_negatives.sum())),
        SelectedClass(selected, below, float(in_positives.sum())),
    )


def _own_weight(sample_weight: FloatArray | None, segments: Segments) -> tuple[FloatArray | None, float]:
    if sample_weight is None or not len(segments.rows):
        return None, 1.0
    weight = sample_weight.take(segments.rows)
    largest = float(weight.max())
    return weight / largest, largest


def _before(places: IndexArray, n_rows: int) -> IndexArray:
    """How many of the places are at most 0, 1, ..., n_rows - 1."""
    return np.cumsum(np.bincount(places, minlength=n_rows + 1))[:n_rows]


def _middle(before: FloatArray, below: IndexArray, up_to: IndexArray, *, no_ties: bool) -> FloatArray:
    """Weight of the other class before each row, ties half."""
    return before.take(below) if no_ties else (before.take(below) + before.take(up_to)) / 2.0
