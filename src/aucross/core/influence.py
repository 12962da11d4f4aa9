"""Rejection by more than one score: the expected effect on the AUC of keeping a row.

For a ranking by score s, keeping a row that is positive with probability eta changes the AUC A of the selected rows by
about

    influence = eta / P * (F_neg(s) - A)  +  (1 - eta) / N * (1 - F_pos(s) - A)

P and N are the selected weights of both classes, F_neg and F_pos the shares of selected negatives and positives below
s; ties count half. A positive helps if it beats more negatives than the average positive does, a negative if more
positives beat it than the average negative. At an optimum the rejected rows are those of lowest influence; since the
influence depends on the selected rows, this is a fixed point.

With more than two classes the metric is a mean of such AUCs, one per *contest* of two classes, and the influence is the
sum over contests. Scores are read through bins (quantiles, ties kept together), so that one step costs a few counts
over the rows and no sort::

    rows ──► bins of each score column ──► weight of each class per bin ──► shares below ──► influence per row
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf

import numpy as np
from numpy.typing import NDArray

from aucross.core.band_rule import Axis, BandRule
from aucross.core.bands import RejectionBand, check_coverage
from aucross.core.capacity import lowest_rows
from aucross.core.label_shift import class_shares, share_ratio, with_known, with_share_ratio
from aucross.core.nested import NestedBands
from aucross.core.noise import ends_above, noise_share
from aucross.core.ranking import FloatArray, IndexArray
from aucross.core.scored_rows import RuleInput, split_ties
from aucross.core.search import rejection_budget

# Quantile bins per score column; twice as many moved no chosen AUC by more than 1e-5.
MAX_BINS = 2**12
# Frank-Wolfe steps; further ones raised the expected AUC by less than 1e-5.
MAX_STEPS = 30
# A gain in expected AUC below this is within the optimism of the fitted probabilities: the simpler rule stays.
LEAST_GAIN = 3e-4


@dataclass(frozen=True)
class Contest:
    """Two classes to compare: rows of class `winner` should score higher in `column` than rows of class `loser`."""

    column: int
    winner: int
    loser: int


@dataclass(frozen=True)
class PairwiseMetric:
    """Metric that compares scores between classes: the AUC, and its relatives for more than two classes.

    For more than two classes, ``"auc"`` is Hand and Till's M: classes j and k are compared by the score of j, for every
    ordered pair. ``"auc_mu"`` (Kleiman and Page) compares each pair once, by the difference of their scores.
    """

    n_classes: int
    name: str = "auc"

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Unordered pairs of classes."""
        return [(low, high) for low in range(self.n_classes) for high in range(low + 1, self.n_classes)]

    @property
    def contests(self) -> tuple[Contest, ...]:
        """The AUCs that are averaged."""
        if self.n_classes == 2:
            return (Contest(column=0, winner=1, loser=0),)
        if self.name == "auc_mu":
            return tuple(Contest(column, low, high) for column, (low, high) in enumerate(self.pairs))
        ordered = [*self.pairs, *((high, low) for low, high in self.pairs)]
        return tuple(Contest(column=winner, winner=winner, loser=loser) for winner, loser in ordered)

    def columns(self, responses: FloatArray) -> FloatArray:
        """Return the score columns from the scores of the positive class, or of all classes."""
        if self.n_classes == 2:
            return responses.reshape(-1, 1)
        if self.name == "auc_mu":
            # Rounded, because 0.3 - 0.1 and 0.2 - 0.0 should tie.
            return np.column_stack([(responses[:, low] - responses[:, high]).round(14) for low, high in self.pairs])
        return responses


def edges_of_bins(scores: FloatArray, weight: FloatArray | None = None, max_bins: int = MAX_BINS) -> FloatArray:
    """Return edges of bins: one bin per distinct score or, at the limit, quantiles of the rows with weight.

    Bin i holds the scores above edge i-1 up to edge i: ``np.searchsorted(edges, scores)`` finds it.
    """
    if weight is not None:
        scores, weight = scores[weight > 0], weight[weight > 0]
    distinct = np.unique(scores)
    if len(distinct) <= max_bins:
        return ends_above(distinct)[:-1]
    order = np.argsort(scores)
    below = np.arange(1.0, len(scores) + 1) if weight is None else np.cumsum(weight[order])
    quantiles = below[-1] * np.arange(1, max_bins) / max_bins
    quantiles = np.unique(np.append(scores[order[np.searchsorted(below, quantiles)]], distinct[-1]))
    return ends_above(distinct)[np.searchsorted(distinct, quantiles[:-1])]


@dataclass(frozen=True, eq=False)
class InfluenceTable:
    """A table that gives the influence of any row, for one set of selected rows."""

    edges: Sequence[FloatArray]
    gains: Sequence[FloatArray]
    value: float

    def influence(self, columns: FloatArray, probabilities: FloatArray) -> FloatArray:
        """Return the expected influence of rows with the given score columns and class probabilities."""
        places = [np.searchsorted(edges, column) for edges, column in zip(self.edges, columns.T, strict=True)]
        return _expected_gain(self.gains, places, np.ascontiguousarray(probabilities.T))


def _expected_gain(gains: Sequence[FloatArray], places: Sequence[IndexArray], by_class: FloatArray) -> FloatArray:
    total = np.zeros(by_class.shape[1])
    for table, place in zip(gains, places, strict=True):
        for probability, gain in zip(by_class, table, strict=True):
            total += probability * gain.take(place)
    return total


@dataclass(frozen=True, eq=False)
class ExpectedAUC:
    """Expected mean of AUCs over contests, given class probabilities and weights of rows.

    `columns` holds the scores of each row, `probabilities` its probability for each class.
    """

    columns: FloatArray
    probabilities: FloatArray
    contests: Sequence[Contest]
    sample_weight: FloatArray | None = None

    def __reduce__(self) -> tuple[type[ExpectedAUC], tuple[object, ...]]:
        # What is cached is cheap to recompute and would triple a pickle.
        return ExpectedAUC, (self.columns, self.probabilities, self.contests, self.sample_weight)

    @cached_property
    def edges(self) -> tuple[FloatArray, ...]:
        """Edges of the bins of each column."""
        return tuple(edges_of_bins(column, self.sample_weight) for column in self.columns.T)

    @cached_property
    def places(self) -> tuple[IndexArray, ...]:
        """Bin of each row in each column."""
        return tuple(np.searchsorted(edges, column) for edges, column in zip(self.edges, self.columns.T, strict=True))

    @cached_property
    def weight(self) -> FloatArray:
        """Weights of the rows, 1 by default."""
        return np.ones(len(self.columns)) if self.sample_weight is None else self.sample_weight

    @cached_property
    def noise_share(self) -> float:
        """Noise of an influence relative to the largest one."""
        return noise_share(self.columns.ravel())

    @cached_property
    def by_class(self) -> FloatArray:
        """Weight of each row for each class, one class after the other."""
        return self._probabilities_by_class * self.weight

    def histograms(self, selected: NDArray[np.bool_] | FloatArray) -> list[FloatArray]:
        """Return the selected weight of each class in each bin, per column: shape (n_classes, n_bins).

        They are linear in `selected`, a mask or shares between 0 and 1, so a mixture of selections needs no new count.
        """
        selected_weight = self.by_class * selected
        return [
            np.array([np.bincount(place, weights=weight, minlength=len(edges) + 1) for weight in selected_weight])
            for place, edges in zip(self.places, self.edges, strict=True)
        ]

    def table(self, histograms: Sequence[FloatArray]) -> InfluenceTable:
        """Return the expected metric and the influences, given the selected weight of each class in each bin."""
        gains = [np.zeros_like(histogram) for histogram in histograms]
        below = [np.cumsum(histogram, axis=1) - histogram / 2 for histogram in histograms]  # ties count half
        values = []
        for contest in self.contests:
            inside, lower, gain = (part[contest.column] for part in (histograms, below, gains))
            winners, losers = inside[contest.winner].sum(), inside[contest.loser].sum()
            if min(winners, losers) <= 0:
                values.append(float("nan"))  # without one of its classes the metric is undefined
                continue
            beaten = lower[contest.loser] / losers
            value = float(inside[contest.winner] @ beaten / winners)
            gain[contest.winner] += (beaten - value) / winners
            gain[contest.loser] += (1 - lower[contest.winner] / winners - value) / losers
            values.append(value)
        scaled = [gain / len(values) for gain in gains]
        return InfluenceTable(self.edges, scaled, float(np.mean(values)))

    def value(self, histograms: Sequence[FloatArray]) -> float:
        """Return the expected metric alone, in a third of the time of a table."""
        values = []
        for contest in self.contests:
            winners, losers = (histograms[contest.column][label] for label in (contest.winner, contest.loser))
            n_winners, n_losers = winners.sum(), losers.sum()
            if min(n_winners, n_losers) <= 0:
                return float("nan")  # without one of its classes the metric is undefined
            values.append(float(winners @ ((np.cumsum(losers) - losers / 2) / n_losers) / n_winners))
        return float(np.mean(values))

    def influence(self, table: InfluenceTable) -> FloatArray:
        """Return the influence of the rows of this objective, without looking up their bins again."""
        return _expected_gain(table.gains, self.places, self._probabilities_by_class)

    @cached_property
    def _probabilities_by_class(self) -> FloatArray:
        return np.ascontiguousarray(self.probabilities.T)


def worth_of_review(columns: FloatArray, probabilities: FloatArray, contests: Sequence[Contest]) -> FloatArray:
    """Return for each row how much a batch's expected AUC rises, to first order, if it alone is removed.

    It is 0 if a class is missing. All rows count as selected, so that the worth of a row does not depend on the
    capacity. If rejected rows were left out, all rows of the best block would have the same influence.
    """
    objective = ExpectedAUC(columns, probabilities, contests)
    # Not with a minus sign alone: where a class is missing it would make -0 of 0.
    return 0.0 - objective.influence(objective.table(objective.histograms(np.ones(len(columns)))))


@dataclass(frozen=True)
class InfluenceThreshold:
    """The rule for one coverage: reject the rows whose influence under `table` is at most `threshold`."""

    table: InfluenceTable
    threshold: float


def place_by_influence(
    objective: ExpectedAUC,
    budget: float,
    start: NDArray[np.bool_],
    *,
    steps: int = MAX_STEPS,
    least_gain: float = LEAST_GAIN,
) -> InfluenceThreshold | None:
    """Search the rows to reject within a budget of weight, by damped steps towards the lowest influence.

    Starts from the selection `start`, and returns the rule with the highest expected AUC found; None if no rule gains
    more than `least_gain`. This is Frank-Wolfe on the relaxed problem, in which rows may be partly selected: each step
    finds the best selection for the current influence, and moves the shares towards it by 2 / (step + 3). Full steps
    would cycle instead of converging.
    """
    mixture = objective.histograms(start)
    table = objective.table(mixture)
    best, best_value = None, table.value + least_gain
    for step in range(steps):
        influence = objective.influence(table)
        threshold = highest_within_budget(influence, objective.sample_weight, budget, objective.noise_share)
        proposal = objective.histograms(influence > threshold)
        value = objective.value(proposal)
        if value > best_value:
            best, best_value = InfluenceThreshold(table, threshold), value
        size = 2 / (step + 3)
        mixture = [(1 - size) * old + size * new for old, new in zip(mixture, proposal, strict=True)]
        table = objective.table(mixture)
    return best


def highest_within_budget(
    scores: FloatArray, weight: FloatArray | None, budget: float, noise_share: float = 0.0
) -> float:
    """Return the highest threshold at which the rejected rows fit into the budget; -inf if there is none.

    Ties stay together; scores that differ by a tiny share of the largest one count as tied.
    """
    if weight is None:
        count = min(int(budget), len(scores) - 1)  # one row at least stays
        parted = np.partition(scores, count)
        lowest, first_kept = parted[:count], parted[count]
    else:
        order = np.argsort(scores)
        count = min(int(np.searchsorted(np.cumsum(weight[order]), budget, side="right")), len(scores) - 1)
        lowest, first_kept = scores[order[:count]][weight[order[:count]] > 0], scores[order[count]]
    # A tie with the first row kept stays on the selected side; rows of weight 0 move no threshold.
    noise = noise_share * float(np.abs(scores).max())
    rejected = lowest[lowest < first_kept - noise]
    return float(rejected.max()) + noise / 2 if len(rejected) else -np.inf


@dataclass(frozen=True)
class InfluenceBands(BandRule):
    """Bands on the influence: for each coverage the rows of lowest influence are rejected.

    Parameters
    ----------
    objective : ExpectedAUC
        The rows on which the influence is searched.
    score_bands : BandRule, optional
        Bands on the first score column, from which the search starts and which it keeps if it finds nothing better;
        None starts from all rows.
    steps : int, default=30
        Steps of the search; 0 leaves the score bands in force for every coverage.
    share_ratio : ndarray of shape (n_classes,), optional
        Ratio of new to old share of each class, if it has changed since the probabilities of new rows were fitted.
    reference : float in (0, 1], optional
        Makes the bands nested: every coverage uses the influence found for this one. `score_bands` must then be
        :class:`NestedBands` or None.
    threshold_rows : RuleInput, optional
        Rows whose quantiles are the thresholds, in place of those of `objective`. With a tie breaker, the threshold may
        cut through a tie.
    is_fixed : bool, default=False
        Whether `threshold_rows` were not used in the search, so that the threshold is placed on rows new to it.

    Notes
    -----
    A row is described by its score columns and its class probabilities. Its selection score depends on the coverage:
    :meth:`selection_score` returns it, and :meth:`band` says up to which value it is rejected. If no influence is
    clearly better than the score band for a coverage, the score band is used; the selection score is then the distance
    to the band (at most 0 inside) or, with a `reference`, the depth in the nested bands. A reference of 1 uses the
    influence on the AUC of all rows.
    """

    objective: ExpectedAUC
    score_bands: BandRule | None = None
    steps: int = MAX_STEPS
    share_ratio: FloatArray | None = None
    reference: float | None = None
    threshold_rows: RuleInput | None = None
    is_fixed: bool = False

    def __post_init__(self) -> None:
        if self.reference is None:
            return
        check_coverage(self.reference, name="reference")
        if not isinstance(self.score_bands, NestedBands | None):
            raise TypeError(
                f"score_bands must be NestedBands or None with a reference, got {self.score_bands!r}; pass "
                "NestedBands(ranked, reference)"
            )

    @property
    def lies_on(self) -> Axis:
        """The kind of score that the bands lie on: an influence, which the models must compute."""
        return "other"

    @property
    def n_placing_rows(self) -> int | None:
        """Number of rows that place the threshold; None if all rows do."""
        return len(self.threshold_rows) if self.threshold_rows is not None and self.is_fixed else None

    def probability_at(self, rows: RuleInput) -> FloatArray | None:
        """Return the probability of the positive class by the first score column alone."""
        return None if self.score_bands is None else self.score_bands.probability_at(rows)

    def place(self, coverage: float) -> RejectionBand:
        """Return the one-sided band of selection scores to reject."""
        if (rows := self.threshold_rows) is not None:
            # A score whose ties are told apart has no digit to spare.
            share = noise_share(rows.columns.ravel()) if rows.tie_breaker is None else 0.0
            return _band_within_budget(self.scores_of(rows, coverage), rows.sample_weight, coverage, share)
        order = self._order(coverage)
        if isinstance(order, RejectionBand):
            return RejectionBand() if order.is_empty else RejectionBand(-inf, 0.0)
        if isinstance(order, NestedBands):
            share = order.rejected_share(coverage)
            return RejectionBand(-inf, share) if share > 0 else RejectionBand()
        if isinstance(order, InfluenceThreshold):
            return band_up_to(order.threshold)
        influence, objective = self._influence_of_placing_rows(order), self.objective
        return _band_within_budget(influence, objective.sample_weight, coverage, objective.noise_share)

    def scores_of(self, rows: RuleInput, coverage: float) -> FloatArray:
        """Return the score that the band for this coverage applies to, with ties broken if they may be cut."""
        order = self._order(coverage)
        if isinstance(order, RejectionBand):
            score = (
                np.zeros(len(rows))
                if order.is_empty
                else np.maximum(order.lower - rows.score, rows.score - order.upper)
            )
        elif isinstance(order, NestedBands):
            score = order.depth(rows.score)
        else:
            table = order.table if isinstance(order, InfluenceThreshold) else order
            score = table.influence(rows.columns, self.probabilities_of(rows))
        may_cut = self.threshold_rows is not None and rows.tie_breaker is not None
        return split_ties(score, rows.tie_breaker) if may_cut else score  # type: ignore[arg-type]

    def share_selected(self, coverage: float) -> float:
        """Return the selected share of the weight of the rows that placed the bands."""
        if (rows := self.threshold_rows) is not None:
            return rows.share(self.placed(coverage).selects(self.scores_of(rows, coverage)))
        order, objective = self._order(coverage), self.objective
        if isinstance(order, NestedBands):
            return 1.0 - order.rejected_share(coverage)
        if isinstance(order, RejectionBand):
            selected = order.selects(objective.columns[:, 0])
        elif isinstance(order, InfluenceThreshold):
            selected = objective.influence(order.table) > order.threshold
        else:
            selected = self.placed(coverage).selects(self._influence_of_placing_rows(order))
        return float(np.average(selected, weights=objective.sample_weight))

    def place_anew(self, rows: RuleInput, *, label_shift: bool) -> InfluenceBands:
        """Search again on other rows, with their class probabilities in place of labels."""
        probabilities, ratio = self.probabilities_of(rows), self.share_ratio
        if label_shift:
            shares = class_shares(self.objective.probabilities, self.objective.sample_weight)
            moved = share_ratio(probabilities, shares, rows.sample_weight)
            probabilities = with_share_ratio(probabilities, moved)
            ratio = moved if ratio is None else ratio * moved
        score_bands = self.score_bands
        return replace(
            self,
            objective=ExpectedAUC(
                rows.columns, with_known(probabilities, rows), self.objective.contests, rows.sample_weight
            ),
            score_bands=None if score_bands is None else score_bands.placed_on(rows, label_shift=label_shift),
            share_ratio=ratio,
            # Later rows have no labels, so that the threshold is placed on these rows without theirs.
            threshold_rows=None if self.threshold_rows is None and rows.known is None else replace(rows, known=None),
        )

    def rows_to_reject(self, rows: RuleInput, capacity: int, order: IndexArray) -> IndexArray:
        """Choose the rows of lowest influence; with a reference, their order is independent of the capacity."""
        if self.reference is not None:
            return lowest_rows(replace(self, threshold_rows=None).scores_of(rows, self.reference), capacity, order)
        if not 0 < capacity < len(rows):
            return np.arange(min(capacity, len(rows)))
        again = replace(self.place_anew(rows, label_shift=False), threshold_rows=None)
        coverage = 1.0 - capacity / len(rows)
        if self.score_bands is not None and isinstance(again.search(coverage), RejectionBand):
            return self.score_bands.rows_to_reject(rows, capacity, order)
        return lowest_rows(again.scores_of(rows, coverage), capacity, order)

    def probabilities_of(self, rows: RuleInput) -> FloatArray:
        """Return the class probabilities of rows after correcting them for changed shares of the classes."""
        assert rows.probabilities is not None, "a rule on the influence reads class probabilities"
        return (
            rows.probabilities if self.share_ratio is None else with_share_ratio(rows.probabilities, self.share_ratio)
        )

    def search(self, coverage: float) -> InfluenceThreshold | RejectionBand:
        """Return the influence threshold for a coverage, or the score band if the search finds nothing better."""

        def search() -> InfluenceThreshold | RejectionBand:
            band = self.score_bands.band(coverage) if self.score_bands is not None else RejectionBand()
            start = band.selects(self.objective.columns[:, 0])
            budget = rejection_budget(float(self.objective.weight.sum()), coverage)
            # Without a score band to fall back to, the best rule found keeps the coverage, be its gain ever so small.
            least_gain = -inf if self.score_bands is None else LEAST_GAIN
            return place_by_influence(self.objective, budget, start, steps=self.steps, least_gain=least_gain) or band

        return RejectionBand() if coverage == 1 else self._once("search", coverage, search)

    def _order(self, coverage: float) -> InfluenceThreshold | RejectionBand | InfluenceTable | NestedBands:
        """Return the influence that orders the rows: one for each coverage, or a common one if there is a reference."""
        if self.reference is None:
            return self.search(coverage)
        found = self.search(self.reference)
        if isinstance(found, InfluenceThreshold):
            return found.table
        if isinstance(self.score_bands, NestedBands) and (self.reference < 1 or self.steps == 0):
            return self.score_bands
        everything = np.ones(len(self.objective.columns))
        return self._once("table", 1.0, lambda: self.objective.table(self.objective.histograms(everything)))

    def _influence_of_placing_rows(self, table: InfluenceTable) -> FloatArray:
        return self._once("influence", 1.0, lambda: self.objective.influence(table))


def _band_within_budget(
    score: FloatArray, weight: FloatArray | None, coverage: float, noise_share: float
) -> RejectionBand:
    """Return the band from the lowest score up to the highest one within the rejection budget."""
    budget = rejection_budget(float(len(score) if weight is None else weight.sum()), coverage)
    return band_up_to(highest_within_budget(score, weight, budget, noise_share))


def band_up_to(threshold: float) -> RejectionBand:
    """Return the band of all scores up to a threshold; empty without one."""
    return RejectionBand(-inf, threshold) if threshold > -inf else RejectionBand()
