"""Selections of ranked rows, without the rows: how much of each class is selected at every score.

A ranking says for each score how many positives and negatives have it. That is all that coverage, AUC, accuracy and
their intervals read, so that rows may stay where they are: in partitions, in a warehouse, in files::

    scores      .10   .25   .40   .55   .70
    all rows     90    60    40    20    10      one GROUP BY, or rankings of partitions, added up
    selected     90    60     0     0    10      those outside the band, or a ranking of the selected rows
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from aucross.core.added_row import LossSums, losses_of_classes
from aucross.core.bands import RejectionBand
from aucross.core.ranking import FloatArray, RankedScores
from aucross.core.scored_rows import confidence_of
from aucross.core.weighted_ranking import WeightedRanking
from aucross.evaluation.inputs import BoolArray
from aucross.evaluation.lower_bounds import shared_losses
from aucross.evaluation.selection_losses import LossCounts, Losses, has_pairs

Ranking = RankedScores | WeightedRanking


class RankedClasses(NamedTuple):
    """Rows of both classes at ascending scores.

    Attributes
    ----------
    scores : ndarray of shape (m,)
        Distinct scores.
    positives, negatives : ndarray of shape (4, m)
        Sums of the powers 0 to 3 of the weights of the rows at each score.
    is_weighted : bool
        Whether rows differ in weight.
    """

    scores: FloatArray
    positives: FloatArray
    negatives: FloatArray
    is_weighted: bool

    @classmethod
    def of(cls, ranked: Ranking, *, needs_counts: bool = True) -> RankedClasses:
        """Read a ranking; fractional weights are refused where numbers of rows are needed and not known."""
        if isinstance(ranked, WeightedRanking):
            powers = (ranked.rows, ranked.weight, ranked.squares, ranked.cubes)
            positives, negatives = (np.array([getattr(part, name) for part in powers]) for name in _CLASSES)
            rows, weight, squares = (float((positives[k] + negatives[k]).sum()) for k in range(3))
            # Equal weights, whatever they are, are none (Cauchy and Schwarz).
            is_weighted = not np.isclose(weight * weight, rows * squares, rtol=1e-12, atol=0.0)
            return cls(ranked.rows.scores, positives, negatives, is_weighted)
        if not isinstance(ranked, RankedScores):
            raise TypeError(
                f"ranked must be a RankedScores or a WeightedRanking, got {type(ranked).__name__}; make one with "
                "RankedScores.from_labels, or from the result of a query with read_ranking"
            )
        counts = ranked.positives, ranked.negatives
        if needs_counts and any((values != np.floor(values)).any() for values in counts):
            raise ValueError(
                "ranked must hold numbers of rows, got fractional weights: from sums of weights alone nobody can tell "
                "how many rows they are, and so how wide an interval must be; pass a WeightedRanking"
            )
        positives, negatives = (np.broadcast_to(values, (4, len(values))) for values in counts)
        return cls(ranked.scores, positives, negatives, is_weighted=False)

    def selected(self, selection: RejectionBand | Ranking | BoolArray) -> RankedClasses:
        """The rows that a band or a mask of scores selects, or those of a ranking of selected rows."""
        if isinstance(selection, RankedScores | WeightedRanking):
            return self._aligned(RankedClasses.of(selection))
        mask = selection.selects(self.scores) if isinstance(selection, RejectionBand) else selection
        return self._replace(
            positives=np.where(mask, self.positives, 0.0), negatives=np.where(mask, self.negatives, 0.0)
        )

    def _aligned(self, part: RankedClasses) -> RankedClasses:
        """A ranking of some of the rows, with an entry for each score of all of them."""
        place = np.searchsorted(self.scores, part.scores)
        known = place < len(self.scores)
        known[known] = self.scores[place[known]] == part.scores[known]
        aligned = self._replace(positives=np.zeros_like(self.positives), negatives=np.zeros_like(self.negatives))
        if known.all():
            aligned.positives[:, place], aligned.negatives[:, place] = part.positives, part.negatives
        slack = 1.0 + 1e-9  # fractional weights are added up in another order
        pairs = (aligned.positives, self.positives), (aligned.negatives, self.negatives)
        if not known.all() or any((one > slack * other).any() for one, other in pairs):
            raise ValueError(
                "the ranking of selected rows must rank some of the rows of ranked, got scores or rows that are not "
                "among them; rank the same rows, with scores rounded alike"
            )
        return aligned

    def minus(self, other: RankedClasses) -> RankedClasses:
        """The rows that are not in another selection of these."""
        positives, negatives = (
            # Where no row is left, no weight is, whatever rounding leaves.
            np.where(ours[0] > theirs[0], np.maximum(ours - theirs, 0.0), 0.0)
            for ours, theirs in ((self.positives, other.positives), (self.negatives, other.negatives))
        )
        return RankedClasses(self.scores, positives, negatives, self.is_weighted)

    def totals(self) -> tuple[FloatArray, FloatArray]:
        """Sums of the powers of the weights of each class."""
        return self.positives.sum(axis=1), self.negatives.sum(axis=1)

    def losses(self) -> tuple[FloatArray, FloatArray]:
        """Share of the other class that a positive, and a negative, at each score is ranked wrongly against."""
        positives, negatives = self.positives[1], self.negatives[1]
        from_top = np.cumsum(negatives[::-1])[::-1]  # from the top: exactly 0 for a row above all
        above = (from_top - negatives / 2.0) / (negatives.sum() or 1.0)
        below = (np.cumsum(positives) - positives / 2.0) / (positives.sum() or 1.0)
        return above, below

    def auc_losses(self) -> LossSums | None:
        """What the interval of the AUC is read from; None if a class has too few rows."""
        if not has_pairs(*(int(total[0]) for total in self.totals())):
            return None
        sides = zip((self.positives, self.negatives), self.losses(), strict=True)
        return losses_of_classes([_powers(_scaled(weights), loss) for weights, loss in sides])

    def share_losses(self, of_all: FloatArray, of_lost: FloatArray) -> Losses:
        """What the interval of a share is read from; None without rows."""
        if of_all[0] == 0:
            return None
        return shared_losses(of_all, of_lost) if self.is_weighted else LossCounts(int(of_all[0]), int(of_lost[0]))


_CLASSES = ("positives", "negatives")


def _scaled(weights: FloatArray) -> FloatArray:
    """The powers of weights in units of their mean, whose cube is a number."""
    unit = float(weights[1].sum() / weights[0].sum())
    return weights / (unit ** np.arange(4.0))[:, None]


def _powers(weights: FloatArray, loss: FloatArray) -> FloatArray:
    """Sums over the rows of w ** p times (w * loss) ** q, as of LossSums."""
    found = np.zeros((4, 4))
    for k in range(1, 4):
        for q in range(k + 1):
            found[k - q, q] = weights[k] @ loss**q
    return found


# ---- what selects ----

Selection = RejectionBand | Ranking


def selections_of(ranked: RankedClasses, bands: Any, coverages: list[float]) -> list[RankedClasses]:
    """The rows that a classifier, a rule or a mapping selects at each coverage."""
    if isinstance(bands, Mapping):
        return [ranked.selected(bands[coverage]) for coverage in coverages]
    rule = getattr(bands, "band_rule_", bands)
    if not hasattr(rule, "band"):
        raise TypeError(
            f"bands must be a fitted classifier, a rule, or a dict of coverages to bands, got {type(bands).__name__}; "
            "pass for instance {0.8: clf.band(0.8)}"
        )
    return [ranked.selected(_selected_scores(rule, bands, ranked.scores, coverage)) for coverage in coverages]


def _selected_scores(rule: Any, bands: Any, scores: FloatArray, coverage: float) -> BoolArray:
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
    if rule.axis == "confidence":
        scores = confidence_of(scores, is_probability=is_probability(bands))
    return np.asarray(rule.band(coverage).selects(scores))


def is_probability(bands: Any) -> bool:
    """Whether the scores of a classifier are probabilities; they are if it does not say otherwise."""
    return getattr(bands, "response_method_", "predict_proba") == "predict_proba"
