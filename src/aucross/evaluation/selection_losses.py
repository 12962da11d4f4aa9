"""What each of several selections loses, in a form that intervals are read from, in one pass over the sorted rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from aucross.core.added_row import LossSums, losses_of_classes, losses_of_units, power_sums
from aucross.core.ranking import FloatArray, IndexArray
from aucross.evaluation.bootstrap import RankedSelections, SegmentedRows, Segments
from aucross.evaluation.inputs import BoolArray
from aucross.evaluation.lower_bounds import shared_losses
from aucross.evaluation.segment_losses import class_rows, selected_classes


class LossCounts(NamedTuple):
    """Rows of weight 1 that were drawn one by one, and how many of them lose."""

    n_rows: int
    n_lost: int


# None where there are too few rows for an interval.
Losses = LossSums | LossCounts | None

_NAMES = ("achieved_coverage", "selective_auc", "selective_accuracy", "positive_rate", "positives_for_review")


def losses_of_selections(ranked: RankedSelections, units: IndexArray | None) -> list[dict[str, Losses]]:
    """Losses of the coverage, AUC, accuracy, positive rate and positives for review of each selection."""
    everything = _Everything.of(ranked, units)
    found: list[dict[str, Losses]] = [{} for _ in ranked.is_everything]
    for part in ranked.parts:
        sums = (_SumsOfRows if units is None else _SumsOfUnits)(part, everything)
        for number, selected in zip(part.members, part.selected, strict=True):
            losses = sums.of_selection(selected, is_everything=bool(ranked.is_everything[number]))
            found[number].update(zip(_NAMES, losses, strict=True))
    return found


class _Everything(NamedTuple):
    """What a selection is compared with: all rows that take part.

    Attributes
    ----------
    sample_weight : ndarray of shape (n,) or None
        Weights of the rows as given, in units of the largest.
    units : ndarray of shape (n,) or None
        Their units.
    rows, positives : ndarray
        The weight of all rows and of the positives in every unit; without units the sums of the powers 0 to 3 of the
        weights.
    scale : float
        Weights of `positives` are in units of this one, the largest: the cube of a small weight may be no number.
    """

    sample_weight: FloatArray | None
    units: IndexArray | None
    rows: FloatArray
    positives: FloatArray
    scale: float

    @classmethod
    def of(cls, ranked: RankedSelections, units: IndexArray | None) -> _Everything:
        positive, weight, scale = ranked.rows.positive, ranked.rows.sample_weight, 1.0
        members = np.arange(len(positive)) if ranked.members is None else ranked.members
        positives = members[positive[members]]
        if weight is not None:
            weight = weight / weight.max()
            scale = float(weight[positives].max(initial=0.0)) or 1.0
        n_units = 0 if units is None else int(units.max()) + 1
        sides = []
        for own, own_scale in ((members, 1.0), (positives, scale)):
            own_weight = None if weight is None else weight[own] / own_scale
            of_own = None if units is None else units[own]
            sides.append(_powers(own_weight, len(own)) if of_own is None else _by_unit(of_own, own_weight, n_units))
        return cls(weight, units, sides[0], sides[1], scale)


class _SumsOfRows:
    """Losses of selections from rows that were drawn one by one."""

    def __init__(self, part: SegmentedRows, everything: _Everything) -> None:
        self.everything, sides = everything, class_rows(part, everything.sample_weight)
        self.classes = [side.power_sums() for side in sides]
        self.in_own_scale = (sides[0].scale / everything.scale) ** np.arange(4)
        self.n_rows = [np.diff(segments.bounds) for segments in (part.positives, part.negatives)]
        self.positives, self.negatives, self.wrong = (
            _powers_by_segment(segments, everything.sample_weight)
            for segments in (part.positives, part.negatives, part.wrong)
        )

    def of_selection(self, selected: BoolArray, *, is_everything: bool) -> tuple[Losses, ...]:
        positives, negatives, wrong = (
            powers[:, selected].sum(axis=1) for powers in (self.positives, self.negatives, self.wrong)
        )
        all_rows, taken = self.everything.rows, positives + negatives
        rejected = 0.0 * all_rows if is_everything else np.maximum(all_rows - taken, 0.0)
        return (
            self._share(all_rows, rejected),
            self._auc(selected),
            self._share(taken, wrong),
            self._share(taken, negatives),
            self._share(self.everything.positives, self.in_own_scale * self.classes[0][:, 0, selected].sum(axis=1)),
        )

    def _share(self, of_all: FloatArray, of_lost: FloatArray) -> Losses:
        if of_all[0] == 0:
            return None
        if self.everything.sample_weight is None:
            return LossCounts(int(of_all[0]), int(of_lost[0]))
        return shared_losses(of_all, of_lost)

    def _auc(self, selected: BoolArray) -> Losses:
        if not has_pairs(*(int(counts[selected].sum()) for counts in self.n_rows)):
            return None
        sides = selected_classes(selected, *(sums[1, 0] for sums in self.classes))
        return losses_of_classes([side.powers(sums) for side, sums in zip(sides, self.classes, strict=True)])


class _SumsOfUnits:
    """Losses of selections from units of several rows that were drawn together."""

    def __init__(self, part: SegmentedRows, everything: _Everything) -> None:
        assert everything.units is not None
        self.everything, self.n_units = everything, len(everything.rows)
        self.classes = class_rows(part, everything.sample_weight)
        self.units = [everything.units.take(side.segments.rows) for side in self.classes]
        self.totals = [side.segments.add_up(side.weights()) for side in self.classes]
        self.wrong, self.units_of_wrong = part.wrong, everything.units.take(part.wrong.rows)

    def of_selection(self, selected: BoolArray, *, is_everything: bool) -> tuple[Losses, ...]:
        sides, weights, n_rows = [], [], []
        selections = selected_classes(selected, *self.totals)
        for side, units, own in zip(self.classes, self.units, selections, strict=True):
            taken = np.flatnonzero(side.each(selected))
            weight = side.weights().take(taken)
            loss = (side.loss.take(taken) + side.each(own.beyond).take(taken)) / (own.weight_of_others or 1.0)
            sums = tuple(_by_unit(units.take(taken), values, self.n_units) for values in (weight, weight * loss))
            sides.append(sums)
            weights.append(sums[0] * side.scale)
            n_rows.append(len(taken))
        positives, negatives = weights
        n_selected, all_rows = positives + negatives, self.everything.rows
        rejected = 0.0 * all_rows if is_everything else np.maximum(all_rows - n_selected, 0.0)
        return (
            _share_of_units(all_rows, rejected),
            losses_of_units([power_sums(*sums) for sums in sides], sides) if has_pairs(*n_rows) else None,
            _share_of_units(n_selected, self._wrong(selected)),
            _share_of_units(n_selected, negatives),
            _share_of_units(self.everything.positives, positives / self.everything.scale),
        )

    def _wrong(self, selected: BoolArray) -> FloatArray:
        taken = np.flatnonzero(np.repeat(selected, np.diff(self.wrong.bounds)))
        weight = self.everything.sample_weight
        own = None if weight is None else weight.take(self.wrong.rows.take(taken))
        return _by_unit(self.units_of_wrong.take(taken), own, self.n_units)


def _share_of_units(weight: FloatArray, lost: FloatArray) -> Losses:
    return LossSums(power_sums(weight, lost)) if weight.any() else None


def has_pairs(n_positive: int, n_negative: int) -> bool:
    """Whether an AUC has an interval: rows of both classes, and two of one."""
    return min(n_positive, n_negative) >= 1 and max(n_positive, n_negative) >= 2


def _powers(weight: FloatArray | None, n_rows: int) -> FloatArray:
    """Number of rows, and sums of the powers 1 to 3 of their weights."""
    if weight is None:
        return np.full(4, float(n_rows))
    return np.array([n_rows, weight.sum(), weight @ weight, (weight * weight) @ weight], dtype=np.float64)


def _powers_by_segment(segments: Segments, sample_weight: FloatArray | None) -> FloatArray:
    n_rows = np.diff(segments.bounds).astype(np.float64)
    if sample_weight is None:
        return np.tile(n_rows, (4, 1))
    weight = sample_weight.take(segments.rows)
    return np.array([n_rows, *(segments.add_up(weight**power) for power in (1, 2, 3))])


def _by_unit(units: IndexArray, values: FloatArray | None, n_units: int) -> FloatArray:
    return np.bincount(units, values, minlength=n_units).astype(np.float64, copy=False)
