"""Metrics of a selection from the ranking of all rows and the ranking of the selected ones.

A ranking gives, for each score, the number and the weight of positives and negatives with this score. Coverage, AUC,
accuracy and their intervals need nothing else, so the rows may stay in memory, partitions, a warehouse or files::

    scores      .10   .25   .40   .55   .70
    all rows     90    60    40    20    10      one GROUP BY, rankings of partitions, or rows that are sorted once
    selected     90    60     0     0    10      the rows outside the band, or a ranking of the selected rows

Single rows are needed only for customers with several rows, and for paired differences between two evaluations of the
same rows; see :class:`BinarySelections`. Both use the *influence* of each row, its first-order contribution to a
metric. A standard deviation is the root of the sum of squared influences over rows or customers; for a difference, the
influences are subtracted first::

    coverage, accuracy, rates   w (counts - share) / W                  W is the weight of the rows in the denominator
    AUC                         w (mean loss - loss) / W of its class   loss: share of its pairs in the wrong order
    gain                        influence on the AUC of selected rows, minus influence on the AUC of all rows
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from math import isnan, nan, sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from aucross.core.bounds import (
    ROWS_ADDED,
    Ends,
    LossSums,
    auc_losses,
    auc_losses_of_units,
    ends_by_moments,
    interval,
    share_losses,
    share_losses_of_units,
    sums_by_unit,
)
from aucross.core.ranking import (
    FloatArray,
    IndexArray,
    RankedScores,
    as_positive,
    check_scores,
    check_weights,
    powers_of_weights,
)
from aucross.evaluation.inputs import BoolArray, Weights, check_answers, check_masks, customer_numbers
from aucross.evaluation.selective_evaluation import SelectiveEvaluation

# Metrics computed from another one: (other metric, factor, constant); a constant of None subtracts the target coverage.
RELATED: Mapping[str, tuple[str, float, float | None]] = {
    "coverage_error": ("achieved_coverage", 1.0, None),
    "selective_gini": ("selective_auc", 2.0, -1.0),
    "selective_risk": ("selective_accuracy", -1.0, 1.0),
}


# Of what one more row may do to an AUC, the share that it does to one of two classifiers and not to the other: chosen
# by `python -m benchmarks.intervals compare`.
SHARE_THAT_DIFFERS = 0.1

# Sums of squares and of cubes of the contributions of rows, or units of rows, to a number.
Moments = tuple[float, float]

# What intervals are read from, by metric; None where there are too few rows.
Losses = Mapping[str, LossSums | None]

# That, and what rows add to each metric.
Spread = tuple[Losses, Mapping[str, Moments]]


@dataclass(frozen=True, eq=False)
class RankedSelection:
    """Ranking of the selected rows, and the ranking of all rows."""

    selected: RankedScores  # with an entry for each score of all rows
    wrong: FloatArray  # sums of the powers 0 to 3 of the weights of selected rows that are answered wrongly
    all_rows: RankedSelection | None = None  # if they are more than these

    @property
    def everything(self) -> RankedSelection:
        """The selection of all rows."""
        return self if self.all_rows is None else self.all_rows

    @cached_property
    def is_everything(self) -> bool:
        """Whether all rows are selected."""
        ours, theirs = self.selected, self.everything.selected
        return ours is theirs or (
            np.array_equal(ours.positives, theirs.positives) and np.array_equal(ours.negatives, theirs.negatives)
        )

    @cached_property
    def shares(self) -> dict[str, tuple[FloatArray, FloatArray]]:
        """Power sums of the weights for each share: of its denominator, and of the part outside its numerator."""
        of_all, of_selected = self.everything.selected.totals, self.selected.totals
        taken, rows = of_selected.sum(axis=0), of_all.sum(axis=0)
        rejected = 0.0 * rows if self.is_everything else np.maximum(rows - taken, 0.0)
        return {
            "achieved_coverage": (rows, rejected),
            "selective_accuracy": (taken, self.wrong),
            "positive_rate": (taken, of_selected[1]),
            "positives_for_review": (of_all[0], of_selected[0]),
        }

    @cached_property
    def auc(self) -> float:
        """AUC of the selected rows; NaN if a class is missing."""
        positives, negatives = self.selected.totals[:, 1].tolist()
        if min(positives, negatives) == 0:
            return nan
        lost = float(
            self.selected.positives @ self.selected.negatives_from_top
            - self.selected.positives @ self.selected.negatives / 2.0
        )
        # Sums of fractional weights can round to a little more than 1 or less than 0.
        return float(min(max(1.0 - lost / negatives / positives, 0.0), 1.0))

    def estimates(self, target: float) -> dict[str, float]:
        """Return all metrics of the selection at a target coverage."""
        found = {name: _share(*powers) for name, powers in self.shares.items()}
        found |= {"selective_auc": self.auc, "auc_gain": self.auc - self.everything.auc}
        for name, (other, factor, plus) in RELATED.items():
            found[name] = factor * found[other] + (-target if plus is None else plus)
        return found

    @cached_property
    def losses(self) -> Losses:
        """Sums for intervals and bounds, if the rows are independent."""
        of_shares = {name: share_losses(*powers) for name, powers in self.shares.items()}
        return {**of_shares, "selective_auc": auc_losses(self.selected)}

    def spread(self) -> Spread:
        """Return sums for intervals, and moments for standard deviations, if rows are independent."""
        moments = {"selective_auc": self.auc_moments, "auc_gain": self._gain_moments()}
        for name, (of_all, of_lost) in self.shares.items():
            share, weight, counted = _share(of_all, of_lost), of_all[1] or nan, np.maximum(of_all - of_lost, 0.0)
            squares, squares_lost = (_squares_left_out(powers, of_all[1]) for powers in (counted, of_lost))
            squared = ((1.0 - share) ** 2 * squares + share**2 * squares_lost) / weight**2
            moments[name] = float(squared), float(((1.0 - share) ** 3 * counted[3] - share**3 * of_lost[3]) / weight**3)
        return self.losses, moments

    @cached_property
    def influences(self) -> tuple[FloatArray, FloatArray]:
        """Contribution to the AUC of one positive and of one negative of weight 1, at each score."""
        above, below = self.selected.losses
        positives, negatives = self.selected.totals[:, 1].tolist()
        return ((1.0 - self.auc) - above) / (positives or 1.0), ((1.0 - self.auc) - below) / (negatives or 1.0)

    @cached_property
    def squared_weights(self) -> list[FloatArray]:
        """Sums of squared weights of each class at each score, corrected for the effect of leaving out a row."""
        classes = zip(self.selected.class_powers, self.selected.totals, strict=True)
        return [_squares_left_out(powers, totals[1]) for powers, totals in classes]

    @cached_property
    def influence_powers(self) -> list[tuple[FloatArray, FloatArray]]:
        """Squares and cubes of `influences`."""
        squares = [influence * influence for influence in self.influences]
        return [(squared, squared * influence) for squared, influence in zip(squares, self.influences, strict=True)]

    @cached_property
    def auc_moments(self) -> Moments:
        """Moments of the contributions of the rows to the AUC."""
        if np.isnan(self.auc):
            return nan, nan
        squares, cubes = 0.0, 0.0
        for side, (squared, cubed) in enumerate(self.influence_powers):
            squares += float(self.squared_weights[side] @ squared)
            cubes += float(self.selected.class_powers[side][3] @ cubed)
        return squares, cubes

    def _gain_moments(self) -> Moments:
        if np.isnan(self.auc) or self.is_everything:
            return 0.0 * self.auc, 0.0 * self.auc
        of_all = self.everything
        squares, cubes = of_all.auc_moments[0], -of_all.auc_moments[1]
        for side, (among_selected, among_all) in enumerate(zip(self.influences, of_all.influences, strict=True)):
            selected, more = self.selected.class_powers[side], among_selected - among_all
            # Of a rejected row the AUC of all rows alone knows: the gain is less by what it adds there.
            squared, (squared_in_all, cubed_in_all) = more * more, of_all.influence_powers[side]
            squares += float(self.squared_weights[side] @ squared)
            squares -= float(_squares_left_out(selected, of_all.selected.totals[side, 1]) @ squared_in_all)
            cubed = squared * more
            cubed += cubed_in_all
            cubes += float(selected[3] @ cubed)
        return squares, cubes

    def gain_steps(self, shares: tuple[float, float]) -> tuple[float, float]:
        """Return how far one more row can lower the gain, and how far it can raise it.

        `shares` are the weight shares of an added row of the rarer class, among the selected rows and among all rows. A
        selected row counts in both AUCs, a rejected row only in the AUC of all rows; if no row is rejected, the added
        row may have any score.
        """
        everything, moves = self.everything, [0.0]
        weight, taken = (part.selected.positives + part.selected.negatives for part in (everything, self))
        is_taken, is_rejected = taken > 0, weight - taken > 1e-9 * weight
        lost, lost_of_all = 1.0 - self.auc, 1.0 - everything.auc
        # Share of its class that one more row of each class would have, from the power sums of the weights.
        classes = [
            [float(cubes / squares / (weight + cubes / squares)) for _, weight, squares, cubes in part.selected.totals]
            for part in (self, everything)
        ]
        for side in (0, 1):
            step, step_of_all = (share * own[side] / max(own) for share, own in zip(shares, classes, strict=True))
            at_ends = np.array((0.0, 1.0))  # the losses above and below all rows
            loss, loss_of_all = (part.selected.losses[side][is_taken] for part in (self, everything))
            at_rejected = everything.selected.losses[side][is_rejected] if is_rejected.any() else at_ends
            for losses, losses_of_all in ((loss, loss_of_all), (at_ends, at_ends)):
                selected = step * (lost - losses) - step_of_all * (lost_of_all - losses_of_all)
                moves += [float(selected.min()), float(selected.max())]
            rejected = step_of_all * (at_rejected - lost_of_all)
            moves += [float(rejected.min()), float(rejected.max())]
        return -min(moves), max(moves)


def _share(of_all: FloatArray, of_lost: FloatArray) -> float:
    if of_all[1] == 0:
        return nan
    return float(min(max((of_all[1] - of_lost[1]) / of_all[1], 0.0), 1.0))


def _squares_left_out(powers: FloatArray, weight: float) -> FloatArray:
    """Return sums of squared weights with a second-order correction.

    Leaving out a row of weight w of W moves a mean 1 / (1 - w / W) times as far as to first order, so its square is
    multiplied by about 1 + 2 w / W. This matters if a class has few rows, or a heavy one.
    """
    squares = 2.0 * powers[3]
    squares /= weight or 1.0  # in place: of a million rows a new array costs more than the sum
    squares += powers[2]
    return np.asarray(squares)


def evaluation_of(
    selections: Iterable[tuple[float, RankedSelection]],
    everything: RankedSelection,
    names: Iterable[str],
    confidence_level: float,
    spread: Callable[[float, RankedSelection], Spread] | None,
    **more: Any,
) -> SelectiveEvaluation:
    """Build the evaluation table from pairs of target coverage and selection.

    `spread` returns the numbers from which intervals are computed, None skips intervals; `more` sets further fields.
    """
    names, failure = list(names), (1.0 - confidence_level) / 2.0

    def added_share(losses: Losses) -> float:
        return nan if (sums := losses["selective_auc"]) is None else sums.share_of_added_unit()

    share_of_all = nan if spread is None else added_share(spread(1.0, everything)[0])
    targets, estimates, deviations, ends, sizes, counts = [], [], [], [], [], []
    for target, part in selections:
        targets.append(target)
        estimates.append(part.estimates(target))
        counts.append(part.selected.totals[:, 0].astype(np.intp))
        if spread is None:
            continue
        losses, moments = spread(target, part)
        own = dict.fromkeys(moments, (nan, nan, nan))
        for name, sums in losses.items():
            differs, n_added = (SHARE_THAT_DIFFERS, ROWS_ADDED) if name == "selective_auc" else (1.0, 1.0)
            if sums is not None:
                own[name] = *interval(sums, failure, n_added), differs * sums.share_of_added_unit()
        shares = added_share(losses), share_of_all
        if not isnan(shares[0]):
            down, up = part.gain_steps(shares)
            ends_of_gain = ends_by_moments(part.auc - everything.auc, *moments["auc_gain"], (down, up), failure)
            own["auc_gain"] = *ends_of_gain, max(SHARE_THAT_DIFFERS * down, up)
        if part.is_everything and target == 1.0:
            # Asked for everything, a classifier selects everything: nothing is left to chance.
            own["achieved_coverage"] = (1.0, 1.0, 0.0)
            own["auc_gain"] = (0.0 * shares[0],) * 3
        deviation = {name: sqrt(max(squares, 0.0)) for name, (squares, _) in moments.items()}
        for name, (other, factor, plus) in RELATED.items():
            low, high, step = own[other]
            constant = -target if plus is None else plus
            low, high = sorted((factor * low + constant, factor * high + constant))
            own[name], deviation[name] = (low, high, abs(factor) * step), abs(factor) * deviation[other]
        ends.append(own)
        sizes.append({name: nan if sums is None else sums.size for name, sums in losses.items()})
        deviations.append(deviation)
    n_positive, n_negative = np.array(counts).T
    return SelectiveEvaluation(
        target_coverage=np.array(targets),
        estimates={name: np.array([row[name] for row in estimates]) for name in names},
        deviations={name: np.array([row[name] for row in deviations]) for name in names if deviations},
        intervals={name: Ends(*np.array([row[name] for row in ends]).T) for name in names if ends},
        sizes={name: np.array([row[name] for row in sizes]) for name in names if sizes and name in sizes[0]},
        n_positive=n_positive,
        n_negative=n_negative,
        confidence_level=confidence_level,
        **more,
    )


# ---- rows ----


@dataclass(frozen=True, eq=False)
class BinarySelections:
    """Labels, scores, predictions and selections of rows; rows are ranked once, and rows of weight 0 are left out."""

    positive: BoolArray
    score: FloatArray
    predicted: BoolArray
    selections: Mapping[float, BoolArray]  # the selected rows at each target coverage
    weight: FloatArray | None = None  # None means 1 each
    units: IndexArray | None = None  # numbers of units; None if every row stands for itself
    members: IndexArray | None = None  # numbers of the rows of a group; None for all rows

    @classmethod
    def checked(
        cls,
        y_true: ArrayLike,
        y_score: ArrayLike,
        y_pred: ArrayLike,
        selections: Mapping[float, ArrayLike],
        *,
        sample_weight: Weights,
        customers: object,
    ) -> BinarySelections:
        """Check the arguments of an evaluation; leave out rows of weight 0."""
        positive = as_positive(y_true)
        n_rows = len(positive)
        predicted = check_answers(y_pred, n_rows)
        if n_rows == 0:
            raise ValueError("there must be at least one row to evaluate on, got none")
        weight = None if sample_weight is None else check_weights(sample_weight, n_rows)
        score, units = check_scores(y_score, n_rows), customer_numbers(customers, n_rows)
        return cls(positive, score, predicted, check_masks(selections, n_rows), weight, units).with_weight()

    def with_weight(self) -> BinarySelections:
        """Leave out rows of weight 0."""
        if self.weight is None or (used := self.weight > 0).all():
            return self
        selections = {coverage: mask[used] for coverage, mask in self.selections.items()}
        # A unit without rows is none.
        units = None if self.units is None else np.unique(self.units[used], return_inverse=True)[1]
        positive, score, predicted = self.positive[used], self.score[used], self.predicted[used]
        return BinarySelections(positive, score, predicted, selections, self.weight[used], units)

    @property
    def read(self) -> dict[str, Any]:
        """Columns of the rows that metrics read."""
        return {"y_true": self.positive, "y_score": self.score, "y_pred": self.predicted}

    @cached_property
    def n_units(self) -> int | None:
        """Number of customers or other units; None if rows are independent."""
        return None if self.units is None else int(self.units.max()) + 1

    @cached_property
    def order(self) -> IndexArray:
        """Numbers of all rows, or of the rows of a group, by ascending score; ties are in any order."""
        if self.members is None:
            return np.argsort(self.score)
        return self.members[np.argsort(self.score[self.members])]

    @cached_property
    def _ascending(self) -> tuple[FloatArray, BoolArray, BoolArray, FloatArray | None]:
        """Scores, labels, mistakes and weights of the rows in `order`."""
        positive, weight = self.positive[self.order], None if self.weight is None else self.weight[self.order]
        return self.score[self.order], positive, positive != self.predicted[self.order], weight

    @cached_property
    def _starts(self) -> IndexArray | None:
        """Positions at which a new score begins; None if all scores differ."""
        score = self._ascending[0]
        is_new = score[1:] != score[:-1]
        return None if is_new.all() else np.append(0, np.flatnonzero(is_new) + 1)

    @cached_property
    def everything(self) -> RankedSelection:
        """Ranking of all rows, or of the whole group: the baseline of a gain."""
        powers, wrong = self._powers(np.ones(len(self.order), dtype=bool))
        score = self._ascending[0] if self._starts is None else self._ascending[0][self._starts]
        ranked = RankedScores(score, *powers) if self.weight is None else RankedScores.of_powers(score, powers)
        return RankedSelection(ranked, wrong)

    def _powers(self, chosen: BoolArray) -> tuple[FloatArray, FloatArray]:
        """Return the weight of each class at every score and of all mistakes, with powers if rows are weighted.

        `chosen` marks the rows that count, in the order of the scores.
        """
        _, positive, wrong, weight = self._ascending
        if weight is None:
            powers = np.empty((2, len(chosen)))
            np.logical_and(positive, chosen, out=powers[0], casting="unsafe")
            np.subtract(chosen, powers[0], out=powers[1])
            of_wrong = np.full(4, float(np.count_nonzero(wrong & chosen)))
        else:
            powers = powers_of_weights(positive, weight * chosen)
            powers[:, 0] *= chosen
            own = weight[wrong & chosen]
            of_wrong = np.array([len(own), own.sum(), own @ own, (own * own) @ own])
        return powers if self._starts is None else np.add.reduceat(powers, self._starts, axis=-1), of_wrong

    def selection(self, selected: BoolArray) -> RankedSelection:
        """Return the ranking of the selected rows."""
        chosen = selected[self.order]
        if chosen.all():
            return self.everything
        powers, wrong = self._powers(chosen)
        return RankedSelection(self.everything.selected.with_weights(powers), wrong, self.everything)

    def losses(self, selected: BoolArray, part: RankedSelection) -> Losses:
        """Return the sums from which intervals and bounds of a selection are computed."""
        if self.units is None:
            return part.losses
        chosen = selected[self.order]
        losses = {name: share_losses_of_units(*self._share(name, chosen)) for name in part.shares}
        _, positive, _, weight = self._ascending
        rows = np.flatnonzero(chosen)
        losses["selective_auc"] = auc_losses_of_units(
            positive[rows],
            np.ones(len(rows)) if weight is None else weight[rows],
            self._of_rows(part.selected.losses)[rows],
            self.units[self.order][rows],
            self.n_units or 0,
        )
        return losses

    def evaluation(
        self, names: Iterable[str], confidence_level: float, *, with_intervals: bool, seed: int
    ) -> SelectiveEvaluation:
        """Compute the named metrics of every selection."""
        names = list(names)
        spread = self._spread_of_units if self.units is not None else lambda _, part: part.spread()
        parts = ((coverage, self.selection(selected)) for coverage, selected in self.selections.items())
        rows: dict[str, Any] = {"drawn_from": (len(self.positive), seed), "n_customers": self.n_units}
        if with_intervals:
            rows["influences"] = {name: partial(self.influence, name) for name in names}
        how = spread if with_intervals else None
        return evaluation_of(parts, self.everything, names, confidence_level, how, **rows)

    # ---- what each row adds ----

    def influence(self, name: str, coverage: float) -> FloatArray:
        """Return the first-order contribution of each row or unit to a metric at a coverage; 0 outside the group."""
        selected = self.selections[coverage]
        return self._influence(name, selected[self.order], self.selection(selected))

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
        """Return each row's or unit's weight in the denominator of a share, and the part outside the numerator."""
        _, positive, wrong, weight = self._ascending
        among, lost = {
            "achieved_coverage": (None, ~chosen),
            "selective_accuracy": (chosen, chosen & wrong),
            "positive_rate": (chosen, chosen & ~positive),
            "positives_for_review": (positive, positive & chosen),
        }[name]
        own = np.ones(len(chosen)) if weight is None else weight
        return self._by_unit(own if among is None else own * among), self._by_unit(own * lost)

    def _influence_on_auc(self, chosen: BoolArray, part: RankedSelection) -> FloatArray:
        _, positive, _, weight = self._ascending
        totals = np.where(positive, *(total or 1.0 for total in part.selected.totals[:, 1].tolist()))
        added = self._of_rows(part.influences) * totals
        return self._by_unit(chosen * added * left_out(np.ones(len(chosen)) if weight is None else weight, totals))

    def _of_rows(self, by_class: tuple[FloatArray, FloatArray]) -> FloatArray:
        """Return, for each row, the value that belongs to its class and its score."""
        if self._starts is not None:
            sizes = np.diff(self._starts, append=len(self.order))
            by_class = np.repeat(by_class[0], sizes), np.repeat(by_class[1], sizes)
        return np.where(self._ascending[1], *by_class)

    def _by_unit(self, values: FloatArray) -> FloatArray:
        if self.units is not None:
            return sums_by_unit(self.units[self.order], values, self.n_units or 0)
        added = np.zeros(len(self.positive))
        added[self.order] = values
        return added

    def _spread_of_units(self, coverage: float, part: RankedSelection) -> Spread:
        """Return the sums for intervals and the moments for standard deviations of units with several rows."""
        is_all = part is self.everything
        selected = np.ones(len(self.positive), dtype=bool) if is_all else self.selections[coverage]
        moments = {}
        for name in (*part.shares, "selective_auc", "auc_gain"):
            own = self._influence(name, selected[self.order], part)
            moments[name] = float(own @ own), float((own * own) @ own)
        return self.losses(selected, part), moments


def left_out(weight: FloatArray, total: FloatArray | float) -> FloatArray:
    """Return each row's share of the weight, increased to second order for the effect of leaving the row out."""
    share = weight / total
    return np.asarray(share * np.sqrt(1.0 + 2.0 * share))


def share_influence(weight: FloatArray, lost: FloatArray) -> FloatArray:
    """Return the contribution of each row or unit to the share of the weight that is not lost."""
    total = float(weight.sum())
    share = float(lost.sum()) / total if total > 0 else nan
    scale = np.sqrt(1.0 + 2.0 * weight / (total or 1.0)) / (total or 1.0)
    return np.asarray(scale * (share * weight - lost))
