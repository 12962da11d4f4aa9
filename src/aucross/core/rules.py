"""Rules that answer "which band do I reject for this coverage?".

=====================  ===================================================  ======================================
rule                   rejects                                              used by
=====================  ===================================================  ======================================
`OptimalBands`         the interval whose rejection leaves the highest AUC  AUC methods, ``placement="optimal"``
`CenteredBands`        the rows nearest in rank to a fixed centre           AUC methods, ``placement="centered"``
`ThresholdBands`       the rows of lowest confidence                        confidence methods
=====================  ===================================================  ======================================

A function beside each rule estimates it from held-out rankings. Rules are deterministic: the caller makes random draws,
such as the two halves of the published methods.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, inf, sqrt
from typing import Literal

import numpy as np

from aucross.core.band_rule import Axis, RankedRule
from aucross.core.bands import RejectionBand
from aucross.core.capacity import best_rows, lowest_rows
from aucross.core.label_shift import expected_ranking
from aucross.core.ranking import FloatArray, IndexArray, RankedScores
from aucross.core.scored_rows import RuleInput
from aucross.core.search import rejection_budget, search_band
from aucross.core.targets import AUCTarget, Target, TargetName, as_target

Placement = Literal["optimal", "centered"]

# Weight of the whole sample against the mean of its two halves with the least variance (Knight & Bassett 2003; the
# paper's Theorem 4).
WHOLE_SAMPLE_SHARE = 1 / sqrt(2)


@dataclass(frozen=True)
class OptimalBands(RankedRule):
    """The best band for each coverage, for the AUC or another target, searched on a ranking.

    On true labels and for the AUC this is the paper's Oracle. :func:`~aucross.core.estimate_auc_bands` places it on
    isotonic labels, which generalise to new rows. Bands of different coverages need not be nested.

    Parameters
    ----------
    ranked : RankedScores
        Rows to place the bands on. On these rows the coverage never falls below the target.
    target : {"auc", "ks", "average_precision", "partial_auc"} or Target, default="auc"
        Target to maximise, see :func:`best_band_for`.

    Examples
    --------
    >>> from aucross.core import OptimalBands, RankedScores
    >>> ranked = RankedScores.from_labels([0, 0, 1, 0, 1, 1], [10, 20, 30, 40, 50, 60])
    >>> OptimalBands(ranked.isotonic()).band(coverage=0.6)
    RejectionBand(lower=30.0, upper=40.0)
    >>> OptimalBands(ranked.isotonic(), "ks").band(coverage=0.6)
    RejectionBand(lower=30.0, upper=40.0)
    """

    target: TargetName | Target = "auc"

    def __post_init__(self) -> None:
        object.__setattr__(self, "target", as_target(self.target))

    def place(self, coverage: float) -> RejectionBand:
        """Return the best band that selects at least `coverage` of the weight."""
        assert not isinstance(self.target, str)  # names were replaced
        if isinstance(self.target, AUCTarget):
            return search_band(self.ranked, coverage, self.target.width)
        return self.target.best_band(self.ranked, coverage)

    def auc_gain(self, coverage: float) -> float | None:
        """Return the AUC of the ranked rows that the band selects minus the AUC of all; None for other targets."""
        return self.gain_of_ranked(coverage) if isinstance(self.target, AUCTarget) else None

    def place_anew(self, rows: RuleInput, *, label_shift: bool) -> OptimalBands:
        """Search again on other rows, with probabilities of the positive class from this ranking."""
        return OptimalBands(expected_ranking(self.ranked, rows, label_shift=label_shift), self.target)

    def rows_to_reject(self, rows: RuleInput, capacity: int, order: IndexArray) -> IndexArray:
        """Choose the neighbouring rows by score whose rejection leaves the highest expected AUC, or the best target."""
        if not isinstance(self.target, AUCTarget):
            return super().rows_to_reject(rows, capacity, order)
        return best_rows(rows.score, self.ranked.probability_at(rows.score), capacity, order)


@dataclass(frozen=True)
class CenteredBands(RankedRule):
    """Bands of growing width around one centre, as published; they are nested.

    Parameters
    ----------
    ranked : RankedScores
        Rows whose sorted scores are the ends of the bands.
    center : float
        0-based position, in weight, of the centre among the ascending rows.

    Notes
    -----
    The band spans ``total * (1 - coverage) / 2`` positions on each side of the centre and is cut off at the ends of the
    sample (lines 16 to 20 of the paper's Algorithm 2). It takes whole ties, so if many rows share a score, the coverage
    can fall below the target; with :class:`OptimalBands` it cannot.
    """

    # NOTE[DIFF]: at coverage 1 the published rule still rejects the row at the centre; here the band is empty.

    center: float

    def place(self, coverage: float) -> RejectionBand:
        """Return the band around the centre that holds the share of rows to reject."""
        half_width = self.ranked.total * (1.0 - coverage) / 2
        if half_width == 0:
            return RejectionBand()
        # The row that holds a position also holds its floor, so the printed floor is not needed; with weights under 1
        # it would round the band away.
        lower = self.ranked.score_at(self.center - half_width)
        upper = self.ranked.score_at(self.center + half_width)
        return RejectionBand(lower, upper)

    def place_anew(self, rows: RuleInput, *, label_shift: bool) -> CenteredBands | OptimalBands:
        """Keep the score of the centre and take its rank among other rows."""
        ranked = expected_ranking(self.ranked.isotonic(), rows, label_shift=label_shift)
        if len(ranked) < 2:
            return OptimalBands(ranked)  # a band centred on the only score that there is would reject every row
        return CenteredBands(ranked, ranked.position_of(self.ranked.score_at(self.center)))

    def rows_to_reject(self, rows: RuleInput, capacity: int, order: IndexArray) -> IndexArray:
        """Choose the rows nearest in rank to the centre."""
        return lowest_rows(self.depth(rows.score), capacity, order)

    def probability_at(self, rows: RuleInput) -> FloatArray:
        """Return the smoothed share of positives at each score; this ranking holds unsmoothed labels."""
        return self.ranked.isotonic().probability_at(self.ranked_score(rows))

    def depth(self, score: FloatArray) -> FloatArray:
        """Return the weight between each score and the centre; bands reject in this order.

        It is interpolated between two entries; scores beyond the ranked ones come last, nearest first.
        """
        ranked = self.ranked
        if not len(ranked):
            return np.zeros(len(score))
        first_of_entry = np.interp(score, ranked.scores, ranked.weight_below[:-1])
        end_of_entry = np.interp(score, ranked.scores, ranked.weight_below[1:])
        distance = np.maximum(np.maximum(first_of_entry - self.center, self.center - end_of_entry), 0.0)
        beyond = distance_beyond(score, ranked.scores)
        return np.asarray(np.where(beyond > 0, (1 + beyond) * ranked.total, distance))


def distance_beyond(scores: FloatArray, known: FloatArray) -> FloatArray:
    """Return how far scores lie outside the range of `known` ones: 0 inside, 1/2 one range's width away, at most 1."""
    span = known[-1] - known[0] if known[-1] > known[0] else 1.0
    outside = np.maximum(np.maximum(known[0] - scores, scores - known[-1]), 0.0)
    return np.asarray(outside / (outside + span))


@dataclass(frozen=True)
class ThresholdBands(RankedRule):
    """A rule that rejects the rows of lowest confidence; its bands are nested and one-sided.

    Parameters
    ----------
    ranked : RankedScores
        Confidences of the rows that place the threshold. On these rows the coverage never falls below the target.
    halves : sequence of RankedScores, default=()
        Two random halves of the same rows, which are combined with all rows as in Theorem 4.
    lies_on : {"confidence", "other"}, default="confidence"
        The ranked score: the confidence in the predicted class, or another selection score.
    """

    # NOTE[DIFF]: the published threshold is an interpolated quantile, which may reject one row too many and, with ties,
    # many. Here it is the highest confidence that the rejection budget still holds, and a blend that lies above this
    # value is cut back to it.

    halves: Sequence[RankedScores] = ()
    lies_on: Axis = "confidence"

    @property
    def is_fixed(self) -> bool:
        """Always True, because a threshold takes the lowest rows."""
        return True

    def place(self, coverage: float) -> RejectionBand:
        """Return the band from -inf up to the highest rejected confidence."""
        count = _entries_within_budget(self.ranked, coverage)
        if count == 0:
            return RejectionBand()
        whole = float(self.ranked.scores[count - 1])
        # A half too small for the budget counts with its lowest score: leaving it out would move the threshold up, and
        # the bands of neighbouring coverages would not be nested.
        halves = [
            float(half.scores[max(_entries_within_budget(half, coverage), 1) - 1]) for half in self.halves if len(half)
        ]
        return RejectionBand(-inf, min(_blend(whole, halves), whole))

    def place_anew(self, rows: RuleInput, *, label_shift: bool) -> ThresholdBands:  # noqa: ARG002
        """Take the quantiles of other rows; their labels do not matter."""
        ranked = RankedScores.from_probabilities(np.zeros(len(rows)), rows.score, rows.sample_weight)
        return ThresholdBands(ranked, lies_on=self.lies_on)

    def rows_to_reject(self, rows: RuleInput, capacity: int, order: IndexArray) -> IndexArray:
        """Choose the rows of lowest confidence."""
        return lowest_rows(rows.score, capacity, order)


def _entries_within_budget(ranked: RankedScores, coverage: float) -> int:
    count = int(np.searchsorted(ranked.weight_below, rejection_budget(ranked.total, coverage), side="right")) - 1
    # At least one entry stays: a rule that rejects every row could not have the coverage.
    return max(min(count, len(ranked) - 1), 0)


def _blend(whole: float, halves: Sequence[float]) -> float:
    """Combine an estimate on the whole sample with estimates on its halves, if there are any (Theorem 4)."""
    # NOTE[DIFF]: the printed Algorithm 2 adds up the two halves; their mean is what Theorem 4 speaks of.
    if not halves:
        return whole
    # In this form equal estimates blend to themselves; a sum of two shares may round to just below a tied score.
    return whole + (1 - WHOLE_SAMPLE_SHARE) * (float(np.mean(halves)) - whole)


def estimate_auc_bands(
    ranked: RankedScores, halves: Sequence[RankedScores] = (), *, placement: Placement = "optimal"
) -> OptimalBands | CenteredBands:
    """Estimate from held-out scores where to reject for the AUC.

    Parameters
    ----------
    ranked : RankedScores
        All held-out rows.
    halves : sequence of RankedScores, default=()
        Two random halves of the same rows, for the published cross-fitted method; only ``"centered"`` uses them.
    placement : {"optimal", "centered"}, default="optimal"
        ``"optimal"`` searches the best band on isotonic labels; ``"centered"`` is the published algorithm.
    """
    if placement == "optimal":
        return OptimalBands(ranked.isotonic())
    if placement != "centered":
        raise ValueError(f'placement must be "optimal" or "centered", got {placement!r}')
    if not halves:
        # PlugInAUC: the mean of the two positions.
        return CenteredBands(ranked, sum(_published_positions(ranked)) / 2)
    ends = [[part.score_at(position) for position in _published_positions(part)] for part in (ranked, *halves)]
    lower, upper = (_blend(whole, of_halves) for whole, *of_halves in zip(*ends, strict=True))
    # NOTE[DIFF]: line 15 of the printed Algorithm 2 is floor(n * midpoint score), which is a position only if scores
    # are uniform; the centre is the rank of the midpoint score.
    return CenteredBands(ranked, ranked.position_of((lower + upper) / 2))


def auc_improving_interval(ranked: RankedScores) -> RejectionBand:
    """Return the interval whose rejection never lowers the AUC (Proposition 3 of the paper).

    Parameters
    ----------
    ranked : RankedScores
        Rows with both classes; weights count as repeated rows.

    Returns
    -------
    RejectionBand
        From the lowest score at or above which the weight of positives is at most ``AUC * n_positive - 1`` up to the
        highest score at or below which the weight of all rows is at most ``AUC * share_of_negatives * n``. Empty if
        there is no such interval.

    Notes
    -----
    Rejecting a positive whose ascending relative rank is at most ``AUC * share_of_negatives`` raises the AUC
    (Proposition 1); so does rejecting a negative with a true positive rate of at most ``AUC - 1 / n_positive``
    (Proposition 2). The interval holds the scores for which both hold, so it does not depend on the class of a row.

    Examples
    --------
    >>> from aucross.core import RankedScores, auc_improving_interval
    >>> ranked = RankedScores.from_labels([0] * 5 + [1] * 2 + [0] * 5 + [1] * 3, range(15))
    >>> band = auc_improving_interval(ranked)
    >>> band
    RejectionBand(lower=7.0, upper=7.0)
    >>> round(ranked.auc(), 3), round(ranked.auc(band), 3)
    (0.8, 0.822)
    """
    # NOTE[DIFF]: the propositions rank rows without ties. Here a row ranks with the last of its tie: with the quantile
    # as printed, which may end inside a tie, rejecting the whole tie can lower the AUC.
    auc_times_positives, auc_times_negatives = _auc_times_class_weights(ranked)
    positives_at_or_above = ranked.total_positives - ranked.positives_below[:-1]
    start = int(np.searchsorted(-positives_at_or_above, 1 - auc_times_positives, side="left"))
    # share_of_negatives * n is the weight of negatives
    stop = int(np.searchsorted(ranked.weight_below[1:], auc_times_negatives, side="right"))
    return ranked.band(start, stop)


def _published_positions(ranked: RankedScores) -> tuple[float, float]:
    """Return the positions of the bounds of Algorithm 1 that reproduce the paper's tables."""
    # NOTE[DIFF]: Proposition 3 has the true positive rate at most AUC - 1/n+, which counts ``AUC * n+ - 1`` positives;
    # the tables come from ``AUC * n+ + 1``. Centred placement follows the tables, `auc_improving_interval` the
    # proposition. The printed ``1 - cumsum`` is descending, so its ascending search cannot be meant literally.
    auc_times_positives, auc_times_negatives = _auc_times_class_weights(ranked)
    # The lower one is n minus the length of the longest run of rows from the top with at most that many positives.
    positives_from_top = np.cumsum(ranked.positives[::-1])
    weight_from_top = np.cumsum((ranked.positives + ranked.negatives)[::-1])
    entries = int(np.searchsorted(positives_from_top, auc_times_positives + 1, side="right"))
    lower, last = ranked.total - (float(weight_from_top[entries - 1]) if entries > 0 else 0.0), ranked.total - 1
    return min(max(lower, 0.0), last), min(floor(auc_times_negatives), last)


def _auc_times_class_weights(ranked: RankedScores) -> tuple[float, float]:
    """Return AUC * n+ and AUC * n-, by one division each, so that whole numbers stay whole for floor and <=."""
    if min(ranked.total_positives, ranked.total_negatives) == 0:
        raise ValueError(
            f"the AUC needs rows of both classes, got {ranked.total_positives:g} positives and "
            f"{ranked.total_negatives:g} negatives"
        )
    won = float(ranked.won_below[-1])
    return won / ranked.total_negatives, won / ranked.total_positives
