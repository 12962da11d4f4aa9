"""Rows of an evaluation, ranked once; and what each of them adds to a metric, for whatever needs the rows themselves.

Most of an evaluation reads rankings. Rows are read for two things alone: rows of one customer were drawn together, and
two numbers of the same rows (of two classifiers, of a group and of all) are paired. Both need the *influence* of each
row: what it adds to the metric, to first order. A standard deviation is the root of the sum of their squares, over rows
or over customers; that of a difference takes the difference of the influences first::

    coverage, accuracy, rates   w (counts - share) / W                  among the rows in question, W their weight
    AUC                         w (mean loss - loss) / W of its class   the loss is what the ranking says at its score
    gain                        that among the selected rows minus that among all rows
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from math import nan

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aucross.core.bounds import LossSums, auc_losses_of_units, share_losses_of_units, sums_by_unit
from aucross.core.ranking import (
    FloatArray,
    IndexArray,
    RankedScores,
    as_positive,
    check_scores,
    check_weights,
    powers_of_weights,
)
from aucross.evaluation.inputs import BoolArray, check_coverages, check_masks, unit_numbers
from aucross.evaluation.ranked_selections import RELATED, Measured, Moments, RankedSelection, evaluation_of
from aucross.evaluation.results import SelectiveEvaluation

Influence = Callable[[float], FloatArray]


@dataclass(frozen=True, eq=False)
class EvaluatedRows:
    """Labelled, scored and answered rows with their selections; all weigh something.

    Attributes
    ----------
    positive, score, predicted : ndarray of shape (n,)
        Label, score and predicted label.
    selections : dict of float to ndarray of shape (n,), bool
        The selected rows at each target coverage.
    weight : ndarray of shape (n,) or None
        Weights; None means 1 each.
    units : ndarray of shape (n,) or None
        Numbers of the units that rows belong to; None if every row stands for itself.
    members : ndarray or None
        Numbers of the rows that take part, for a group of the rows; None for all.
    """

    positive: BoolArray
    score: FloatArray
    predicted: BoolArray
    selections: Mapping[float, BoolArray]
    weight: FloatArray | None = None
    units: IndexArray | None = None
    members: IndexArray | None = None

    @classmethod
    def checked(
        cls,
        y_true: ArrayLike,
        y_score: ArrayLike,
        y_pred: ArrayLike,
        selections: Mapping[float, ArrayLike],
        *,
        sample_weight: ArrayLike | None,
        groups: object,
    ) -> tuple[EvaluatedRows, BoolArray]:
        """Check the arguments of an evaluation; rows of weight 0 are left out, and a mask tells the others."""
        positive, predicted = as_positive(y_true), as_positive(y_pred, "y_pred")
        n_rows = len(positive)
        if len(predicted) != n_rows:
            raise ValueError(f"y_pred must hold one label per row, got {len(predicted)} for {n_rows} rows")
        if n_rows == 0:
            raise ValueError("there must be at least one row to evaluate on, got none")
        weight = None if sample_weight is None else check_weights(sample_weight, n_rows)
        score, coverages = check_scores(y_score, n_rows), check_coverages(selections)
        units, masks = unit_numbers(groups, n_rows), check_masks(selections, n_rows)
        used = np.ones(n_rows, dtype=bool) if weight is None else weight > 0
        if not used.all():
            positive, score, predicted, masks = positive[used], score[used], predicted[used], masks[:, used]
            weight = None if weight is None else weight[used]
            # Numbered anew: a unit without rows is none.
            units = None if units is None else np.unique(units[used], return_inverse=True)[1]
        return cls(positive, score, predicted, dict(zip(coverages, masks, strict=True)), weight, units), used

    @cached_property
    def n_units(self) -> int | None:
        """Number of units, if rows belong to some."""
        return None if self.units is None else int(self.units.max()) + 1

    # ---- by ascending score ----

    @cached_property
    def order(self) -> IndexArray:
        """Numbers of the rows that take part, by ascending score; equal scores, which count as one, in any order."""
        if self.members is None:
            return np.argsort(self.score)
        return self.members[np.argsort(self.score[self.members])]

    @cached_property
    def _ascending(self) -> tuple[FloatArray, BoolArray, FloatArray | None]:
        weight = None if self.weight is None else self.weight[self.order]
        return self.score[self.order], self.positive[self.order], weight

    @cached_property
    def _units(self) -> IndexArray:
        return np.arange(len(self.order)) if self.units is None else self.units[self.order]

    @cached_property
    def _starts(self) -> IndexArray | None:
        """Where another score begins; None if all scores differ."""
        score = self._ascending[0]
        is_new = score[1:] != score[:-1]
        return None if is_new.all() else np.append(0, np.flatnonzero(is_new) + 1)

    @cached_property
    def entry(self) -> IndexArray | slice:
        """Place of the score of each row in the ranking."""
        if self._starts is None:
            return slice(None)
        return np.repeat(np.arange(len(self._starts)), np.diff(self._starts, append=len(self.order)))

    @cached_property
    def ranked(self) -> RankedScores:
        """The ranking of all rows that take part."""
        return self._ranked(None)

    def _ranked(self, chosen: BoolArray | None) -> RankedScores:
        """The ranking of all or some of the rows, with an entry for each score."""
        score, positive, weight = self._ascending
        if weight is None:
            counted = np.ones(len(score), dtype=bool) if chosen is None else chosen
            powers = np.stack((positive & counted, ~positive & counted)).astype(np.float64)[:, None]
        else:
            powers = powers_of_weights(positive, weight if chosen is None else weight * chosen)
            if chosen is not None:
                powers[:, 0] *= chosen
        if self._starts is not None:
            score, powers = score[self._starts], np.add.reduceat(powers, self._starts, axis=-1)
        return RankedScores(score, *powers[:, 0]) if weight is None else RankedScores.of_powers(score, powers)

    @cached_property
    def _wrong(self) -> BoolArray:
        return np.asarray(self._ascending[1] != self.predicted[self.order])

    def selection(self, chosen: BoolArray | None = None) -> RankedSelection:
        """The selected rows, given in the order of the scores, among all; all of them by default."""
        selected = self.ranked if chosen is None else (
            self.ranked.where(chosen) if self._starts is None else self._ranked(chosen)
        )  # fmt: skip
        wrong, weight = self._wrong if chosen is None else self._wrong & chosen, self._ascending[2]
        if weight is None:
            powers = np.full(4, float(np.count_nonzero(wrong)))
        else:
            own = weight[wrong]
            powers = np.array([len(own), own.sum(), own @ own, (own * own) @ own])
        return RankedSelection(self.ranked, selected, powers)

    @cached_property
    def everything(self) -> RankedSelection:
        """All rows, which a gain is measured from."""
        return self.selection()

    # ---- what each row adds ----

    def influence(self, name: str, coverage: float) -> FloatArray:
        """What each row, or each unit, adds to a metric at a coverage, to first order; 0 for rows of other groups."""
        chosen = self.selections[coverage][self.order]
        return self._influence(name, chosen, self.selection(chosen))

    def _influence(self, name: str, chosen: BoolArray, part: RankedSelection) -> FloatArray:
        if name == "selective_auc":
            return self._influence_on_auc(chosen, part)
        if name == "auc_gain":
            everyone = np.ones(len(chosen), dtype=bool)
            return self._influence_on_auc(chosen, part) - self._influence_on_auc(everyone, self.everything)
        if name in RELATED:
            other, factor, _ = RELATED[name]
            return factor * self._influence(other, chosen, part)
        return share_influence(*self._share(name, chosen))

    def _share(self, name: str, chosen: BoolArray) -> tuple[FloatArray, FloatArray]:
        """Weight of the rows that a share is about, and of those of them that do not count, in each row or unit."""
        _, positive, weight = self._ascending
        among, lost = {
            "achieved_coverage": (None, ~chosen),
            "selective_accuracy": (chosen, chosen & self._wrong),
            "positive_rate": (chosen, chosen & ~positive),
            "positives_for_review": (positive, positive & chosen),
        }[name]
        own = np.ones(len(chosen)) if weight is None else weight
        return self._by_unit(own if among is None else own * among), self._by_unit(own * lost)

    def _influence_on_auc(self, chosen: BoolArray, part: RankedSelection) -> FloatArray:
        _, positive, weight = self._ascending
        totals = np.where(positive, *(total or 1.0 for total in part.selected.totals[:, 1].tolist()))
        added = np.where(positive, *(values[self.entry] for values in part.influences)) * totals
        return self._by_unit(chosen * added * left_out(np.ones(len(chosen)) if weight is None else weight, totals))

    def _by_unit(self, values: FloatArray) -> FloatArray:
        if self.units is not None:
            return sums_by_unit(self._units, values, self.n_units or 0)
        added = np.zeros(len(self.positive))
        added[self.order] = values
        return added

    def _of_units(
        self, chosen: BoolArray, part: RankedSelection
    ) -> tuple[dict[str, LossSums | None], dict[str, Moments]]:
        """What intervals and spreads are read from where rows of one unit were drawn together."""
        _, positive, weight = self._ascending
        shares = {name: self._share(name, chosen) for name in part.shares}
        moments = {name: Moments.of(share_influence(*sums)) for name, sums in shares.items()}
        moments |= {name: Moments.of(self._influence(name, chosen, part)) for name in ("selective_auc", "auc_gain")}
        rows = np.flatnonzero(chosen)
        loss = np.where(positive, *(values[self.entry] for values in part.selected.losses))[rows]
        weight = np.ones(len(rows)) if weight is None else weight[rows]
        units = self._units[rows]
        losses = {name: share_losses_of_units(*sums) for name, sums in shares.items()}
        losses["selective_auc"] = auc_losses_of_units(positive[rows], weight, loss, units, self.n_units or 0)
        return losses, moments

    # ---- the evaluation ----

    def evaluation(
        self, names: Iterable[str], confidence_level: float, *, with_intervals: bool, seed: int
    ) -> SelectiveEvaluation:
        """Some metrics of the selections."""
        names = list(names)
        return evaluation_of(
            (
                self._measured(coverage, mask[self.order], with_intervals=with_intervals)
                for coverage, mask in self.selections.items()
            ),
            self._measured(1.0, np.ones(len(self.order), dtype=bool), with_intervals=with_intervals),
            names,
            confidence_level,
            drawn_from=(len(self.positive), seed),
            n_units=self.n_units,
            influences={name: partial(self.influence, name) for name in names} if with_intervals else {},
        )

    def _measured(self, coverage: float, chosen: BoolArray, *, with_intervals: bool) -> Measured:
        part = self.everything if chosen.all() else self.selection(chosen)
        if not with_intervals:
            return Measured(coverage, part, {}, {})
        if self.units is None:
            return Measured(coverage, part, part.losses(), part.moments(self.everything))
        return Measured(coverage, part, *self._of_units(chosen, part))

    def of_members(self, members: NDArray[np.intp]) -> EvaluatedRows:
        """The same of some of the rows alone; their influences are those on all rows."""
        rows = (self.positive, self.score, self.predicted, self.selections, self.weight, self.units)
        return EvaluatedRows(*rows, members)


def left_out(weight: FloatArray, total: FloatArray | float) -> FloatArray:
    """Share of the weight that each row has, with what it adds beyond first order, as `squares_left_out` says."""
    share = weight / total
    return np.asarray(share * np.sqrt(1.0 + 2.0 * share))


def share_influence(weight: FloatArray, lost: FloatArray) -> FloatArray:
    """What each row or unit adds to the share of the weight that is not lost."""
    total = float(weight.sum())
    share = float(lost.sum()) / total if total > 0 else nan
    scale = np.sqrt(1.0 + 2.0 * weight / (total or 1.0)) / (total or 1.0)
    return np.asarray(scale * (share * weight - lost))
