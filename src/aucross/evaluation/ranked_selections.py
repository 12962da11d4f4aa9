"""What is said of a selection, from the ranking of all rows and the ranking of the selected ones.

A ranking says for each score how many positives and negatives have it, and with what weights. That is all that
coverage, AUC, accuracy and their intervals read, so that rows may stay where they are: in memory, in partitions, in a
warehouse, in files::

    scores      .10   .25   .40   .55   .70
    all rows     90    60    40    20    10      one GROUP BY, rankings of partitions, or rows that are sorted once
    selected     90    60     0     0    10      those outside the band, or a ranking of the selected rows
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import nan, sqrt
from typing import Any, NamedTuple

import numpy as np

from aucross.core.bands import RejectionBand
from aucross.core.bounds import (
    EXTRA_LOSS,
    Ends,
    LossSums,
    auc_losses,
    difference_ends,
    interval,
    share_losses,
)
from aucross.core.ranking import FloatArray, RankedScores
from aucross.core.scored_rows import confidence_of
from aucross.evaluation.inputs import BoolArray
from aucross.evaluation.results import SelectiveEvaluation


class Moments(NamedTuple):
    """Sums of the squares and of the cubes of what each row, or unit of rows, adds to a number."""

    squares: float
    cubes: float

    @classmethod
    def of(cls, influence: FloatArray) -> Moments:
        """The moments of what each row or unit adds."""
        squared = influence * influence
        return cls(float(squared.sum()), float(squared @ influence))

    @property
    def deviation(self) -> float:
        """Standard deviation of the number."""
        return sqrt(max(self.squares, 0.0))

    @property
    def skewness(self) -> float:
        """Its skewness; 0 if it does not vary."""
        return self.cubes / self.deviation**3 if self.deviation > 1e-100 else 0.0


@dataclass(frozen=True, eq=False)
class RankedSelection:
    """Selected rows among all rows, by score.

    Attributes
    ----------
    everything : RankedScores
        All rows.
    selected : RankedScores
        The selected ones, with an entry for each score of all rows.
    wrong : ndarray of shape (4,)
        Sums of the powers 0 to 3 of the weights of selected rows that are answered wrongly.
    """

    everything: RankedScores
    selected: RankedScores
    wrong: FloatArray

    @cached_property
    def is_everything(self) -> bool:
        """Whether no row is left out."""
        ours, theirs = self.selected, self.everything
        return ours is theirs or all(
            np.array_equal(getattr(ours, name), getattr(theirs, name)) for name in ("positives", "negatives")
        )

    @cached_property
    def shares(self) -> dict[str, tuple[FloatArray, FloatArray]]:
        """Metrics that are shares of rows: powers of the weights of the rows in question, and of those that lose."""
        all_rows, of_selected = self.everything.totals, self.selected.totals
        taken, rows = of_selected.sum(axis=0), all_rows.sum(axis=0)
        rejected = 0.0 * rows if self.is_everything else np.maximum(rows - taken, 0.0)
        return {
            "achieved_coverage": (rows, rejected),
            "selective_accuracy": (taken, self.wrong),
            "positive_rate": (taken, of_selected[1]),
            "positives_for_review": (all_rows[0], of_selected[0]),
        }

    @cached_property
    def auc(self) -> float:
        """AUC of the selected rows; NaN if a class is missing."""
        positives, negatives = self.selected.totals[:, 1].tolist()
        if min(positives, negatives) == 0:
            return nan
        lost = float(self.selected.positives @ self.selected.losses[0])
        # Sums of fractional weights can round to a little more than 1 or less than 0.
        return float(min(max(1.0 - lost / positives, 0.0), 1.0))

    def estimates(self, auc_of_all: float, target: float) -> dict[str, float]:
        """Every metric of the selection."""
        found = {name: _share(*powers) for name, powers in self.shares.items()}
        return found | {
            "coverage_error": found["achieved_coverage"] - target,
            "selective_auc": self.auc,
            "auc_gain": self.auc - auc_of_all,
            "selective_gini": 2.0 * self.auc - 1.0,
            "selective_risk": 1.0 - found["selective_accuracy"],
        }

    def losses(self) -> dict[str, LossSums | None]:
        """What the intervals of shares and of the AUC are read from; None where there are too few rows."""
        return {
            **{name: share_losses(*powers) for name, powers in self.shares.items()},
            "selective_auc": auc_losses(self.selected),
        }

    def moments(self, of_all: RankedSelection) -> dict[str, Moments]:
        """Moments of what the rows add to each metric, drawn independently of each other."""
        found = {name: _share_moments(*powers) for name, powers in self.shares.items()}
        if np.isnan(self.auc):
            return found | dict.fromkeys(("selective_auc", "auc_gain"), Moments(nan, nan))
        if self.is_everything:
            return found | {"selective_auc": self.auc_moments, "auc_gain": Moments(0.0, 0.0)}
        squares, cubes = of_all.auc_moments.squares, -of_all.auc_moments.cubes
        for side, (among_selected, among_all) in enumerate(zip(self.influences, of_all.influences, strict=True)):
            selected, more = self.selected.class_powers[side], among_selected - among_all
            # Of a rejected row the AUC of all rows alone knows: the gain is less by what it adds there.
            squared, squared_in_all = more * more, among_all * among_all
            squares += float(squares_left_out(selected, self.selected.totals[side, 1]) @ squared)
            squares -= float(squares_left_out(selected, self.everything.totals[side, 1]) @ squared_in_all)
            cubes += float(selected[3] @ (squared * more + squared_in_all * among_all))
        return found | {"selective_auc": self.auc_moments, "auc_gain": Moments(squares, cubes)}

    @cached_property
    def auc_moments(self) -> Moments:
        """Moments of what the rows add to the AUC."""
        squares, cubes = 0.0, 0.0
        for powers, totals, influence in zip(
            self.selected.class_powers, self.selected.totals, self.influences, strict=True
        ):
            squared = influence * influence
            squares += float(squares_left_out(powers, totals[1]) @ squared)
            cubes += float(powers[3] @ (squared * influence))
        return Moments(squares, cubes)

    @cached_property
    def influences(self) -> tuple[FloatArray, FloatArray]:
        """What a selected positive, and a negative, of weight 1 at each score adds to the AUC."""
        above, below = self.selected.losses
        positives, negatives = self.selected.totals[:, 1].tolist()
        return ((1.0 - self.auc) - above) / (positives or 1.0), ((1.0 - self.auc) - below) / (negatives or 1.0)

    def loss_of_rejected(self) -> float:
        """What a rejected row loses on average among all rows, if it is of the smaller class; 0 without any."""
        everything = self.everything
        positives_are_fewer = everything.totals[0, 1] <= everything.totals[1, 1]
        loss = everything.losses[0 if positives_are_fewer else 1]
        weight = everything.positives + everything.negatives - self.selected.positives - self.selected.negatives
        total = float(weight.sum())
        return float(weight @ loss) / total if total > 0 and not self.is_everything else 0.0


def _share(of_all: FloatArray, of_lost: FloatArray) -> float:
    if of_all[1] == 0:
        return nan
    return float(min(max((of_all[1] - of_lost[1]) / of_all[1], 0.0), 1.0))


def _share_moments(of_all: FloatArray, of_lost: FloatArray) -> Moments:
    share, weight = _share(of_all, of_lost), of_all[1]
    if np.isnan(share):
        return Moments(nan, nan)
    counted = np.maximum(of_all - of_lost, 0.0)
    squares = (1.0 - share) ** 2 * squares_left_out(counted, weight) + share**2 * squares_left_out(of_lost, weight)
    cubes = (1.0 - share) ** 3 * counted[3] - share**3 * of_lost[3]
    return Moments(float(squares / weight**2), float(cubes / weight**3))


def squares_left_out(powers: FloatArray, weight: float) -> FloatArray:
    """Squared weights, with what rows add beyond first order.

    A row of weight w that is left out of W moves a mean by 1 / (1 - w / W) times as much, and its square counts about
    1 + 2 w / W times. It matters where a class has few rows, or one of them weighs much.
    """
    return np.asarray(powers[2] + 2.0 * powers[3] / (weight or 1.0))


# ---- the evaluation ----

# Metrics that are another one, times a factor, plus a constant; the target coverage is subtracted where there is none.
RELATED: Mapping[str, tuple[str, float, float | None]] = {
    "coverage_error": ("achieved_coverage", 1.0, None),
    "selective_gini": ("selective_auc", 2.0, -1.0),
    "selective_risk": ("selective_accuracy", -1.0, 1.0),
}


class Measured(NamedTuple):
    """What is read of one selection: estimates and, if asked for, losses and moments of its metrics."""

    target: float
    part: RankedSelection
    losses: Mapping[str, LossSums | None]
    moments: Mapping[str, Moments]


def evaluation_of(
    selections: Iterable[Measured],
    of_all: Measured,
    names: Iterable[str],
    confidence_level: float,
    **more: Any,
) -> SelectiveEvaluation:
    """The table of several selections, from what was read of each; `more` are further fields of the evaluation."""
    failure = (1.0 - confidence_level) / 2.0
    estimates, deviations, ends, counts, targets = [], [], [], [], []
    step_of_all = _ends(of_all.losses.get("selective_auc"), failure, EXTRA_LOSS)[2]
    for found in selections:
        target, part = found.target, found.part
        targets.append(target)
        estimates.append(part.estimates(of_all.part.auc, target))
        counts.append(part.selected.totals[:, 0].astype(np.intp))
        if not found.losses:
            continue
        own = {
            name: _ends(losses, failure, EXTRA_LOSS if name == "selective_auc" else None)
            for name, losses in found.losses.items()
        }
        if part.is_everything and target == 1.0:
            # Asked for everything, a classifier selects everything: nothing is left to chance.
            own["achieved_coverage"] = (1.0, 1.0, 0.0)
        own["auc_gain"] = _ends_of_gain(found, estimates[-1]["auc_gain"], own, step_of_all, confidence_level)
        spread = {name: moments.deviation for name, moments in found.moments.items()}
        for name, (other, factor, plus) in RELATED.items():
            low, high, step = own[other]
            constant = -target if plus is None else plus
            low, high = sorted((factor * low + constant, factor * high + constant))
            own[name], spread[name] = (low, high, abs(factor) * step), abs(factor) * spread[other]
        ends.append(own)
        deviations.append(spread)
    names = list(names)
    n_positive, n_negative = np.array(counts).T
    return SelectiveEvaluation(
        target_coverage=np.array(targets),
        estimates={name: np.array([row[name] for row in estimates]) for name in names},
        deviations={name: np.array([row[name] for row in deviations]) for name in names if deviations},
        intervals={name: Ends(*np.array([row[name] for row in ends]).T) for name in names if ends},
        n_positive=n_positive,
        n_negative=n_negative,
        confidence_level=confidence_level,
        **more,
    )


def _ends(losses: LossSums | None, failure: float, extra_loss: float | None) -> tuple[float, float, float]:
    if losses is None:
        return nan, nan, nan
    step = losses.share_of_added_unit()
    return *interval(losses, failure, extra_loss), step if extra_loss is None else extra_loss * step


def _ends_of_gain(
    found: Measured,
    gain: float,
    own: Mapping[str, tuple[float, float, float]],
    of_all: float,
    confidence_level: float,
) -> tuple[float, float, float]:
    """Interval of the gain.

    One more row that loses counts in both AUCs, and in that of the fewer rows for more; if it is rejected, it counts in
    that of all rows alone and raises the gain by what rejected rows lose.
    """
    part, moments = found.part, found.moments["auc_gain"]
    of_selected = own["selective_auc"][2]
    steps = (0.0, 0.0) if part.is_everything else (
        abs(of_selected - of_all),
        of_all * part.loss_of_rejected() / EXTRA_LOSS,
    )  # fmt: skip
    # Rejected rows make a gain skewed too: the larger of the two stands for them.
    ends = difference_ends(
        np.array(gain),
        np.array(moments.deviation),
        np.array(moments.skewness),
        (np.array(steps[0]), np.array(steps[1])),
        confidence_level,
        combine=np.maximum,
    )
    return float(ends.low), float(ends.high), float(ends.step)


# ---- what selects ----

Selection = RejectionBand | RankedScores


def selected_of(ranked: RankedScores, selection: Selection | BoolArray) -> RankedScores:
    """The rows that a band or a mask of scores selects, or those of a ranking of selected rows, aligned."""
    if not isinstance(selection, RankedScores):
        mask = selection.selects(ranked.scores) if isinstance(selection, RejectionBand) else selection
        return ranked.where(np.asarray(mask))
    check_rows(selection)
    place = np.searchsorted(ranked.scores, selection.scores)
    known = place < len(ranked.scores)
    known[known] = ranked.scores[place[known]] == selection.scores[known]
    powers = np.zeros((2, 4, len(ranked)))
    if known.all():
        powers[..., place] = selection.class_powers
    slack = 1.0 + 1e-9  # fractional weights are added up in another order
    if not known.all() or (powers > slack * ranked.class_powers).any():
        raise ValueError(
            "the ranking of selected rows must rank some of the rows of ranked, got scores or rows that are not "
            "among them; rank the same rows, with scores rounded alike"
        )
    if ranked.powers is not None or selection.powers is not None:
        return RankedScores.of_powers(ranked.scores, powers)
    return RankedScores(ranked.scores, *powers[:, 1])


def check_rows(ranked: Any) -> RankedScores:
    """Refuse what is no ranking, or one that does not tell how many rows there are."""
    if not isinstance(ranked, RankedScores):
        raise TypeError(
            f"ranked must be a RankedScores, got {type(ranked).__name__}; make one with RankedScores.from_labels, or "
            "from the result of a query with read_ranking"
        )
    if not ranked.knows_rows:
        raise ValueError(
            "ranked must hold numbers of rows or powers of their weights, got sums of fractional weights alone, from "
            "which nobody can tell how many rows they are, and so how wide an interval must be; pass sample_weight to "
            "RankedScores.from_labels"
        )
    return ranked


def selections_of(ranked: RankedScores, bands: Any, coverages: list[float]) -> Iterable[RankedScores]:
    """The rows that a classifier, a rule or a mapping selects at each coverage."""
    if isinstance(bands, Mapping):
        return (selected_of(ranked, bands[coverage]) for coverage in coverages)
    rule = getattr(bands, "band_rule_", bands)
    if not hasattr(rule, "band"):
        raise TypeError(
            f"bands must be a fitted classifier, a rule, or a dict of coverages to bands, got {type(bands).__name__}; "
            "pass for instance {0.8: clf.band(0.8)}"
        )
    held_out = getattr(bands, "held_out_", None)
    if getattr(held_out, "tie_breaker", None) is not None:
        raise ValueError(
            'bands must take ties whole, got a classifier with ties="split", which tells tied rows apart by their '
            "content; rank the selected rows where they are and pass a dict of coverages to these rankings"
        )
    if rule.axis == "other" or rule.judged_apart or rule.group_labels is not None:
        raise ValueError(
            "bands must lie on the score that is ranked, alike for all rows, got a rule that judges rows by another "
            "score or has a band for each group; rank the selected rows where they are and pass a dict of coverages "
            "to these rankings"
        )
    scores = ranked.scores
    if rule.axis == "confidence":
        scores = confidence_of(scores, is_probability=is_probability(bands))
    return (ranked.where(np.asarray(rule.band(coverage).selects(scores))) for coverage in coverages)


def is_probability(bands: Any) -> bool:
    """Whether the scores of a classifier are probabilities; they are if it does not say otherwise."""
    return getattr(bands, "response_method_", "predict_proba") == "predict_proba"
