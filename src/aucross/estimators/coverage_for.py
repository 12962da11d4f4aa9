"""Read answers off the held-out rows: the coverage to expect, the AUC at a coverage, and the coverage for an AUC."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from math import ceil, isfinite, isnan, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from aucross.core.band_rule import BandRule
from aucross.core.bands import check_auc, check_coverage
from aucross.core.bounds import ROWS_ADDED, auc_ends, auc_ends_of_units, beta_quantile
from aucross.core.cautious import check_confidence
from aucross.core.influence import ExpectedAUC, PairwiseMetric
from aucross.core.ranking import FloatArray, IndexArray
from aucross.core.scored_rows import RuleInput
from aucross.estimators.fitted import Fitted, Scoring
from aucross.estimators.held_out import HeldOutScores
from aucross.system.notebook import InWords
from aucross.system.text import exact_percent, percent

# Held-out AUC of the rows selected at a coverage, with a lower and an upper bound.
HeldOutCurve = Callable[[float], tuple[float, float, float]]

# Held-out AUC need not fall steadily with coverage, so steps find the highest crossing before it is refined: large
# ones, and small ones where the curve comes so near to the target that it may cross it between two large ones.
_LARGE_STEPS = np.round(np.append(np.arange(0.95, 0.01, -0.05), 0.01), 2).tolist()
_SMALL_STEP = 0.01
# Near is within this share of the confidence interval: between neighbouring coverages the curve moves by less.
_NEAR = 0.1
_TOLERANCES = {0: 1e-4, 2: 1e-3}  # of the coverage, and of the upper end of its interval, which is far wider

# The walk that looks for the lower end begins at the lowest coverage, not below this one, that leaves so many rows of
# the rarest class if all classes are rejected alike. Chosen by `python -m benchmarks.intervals coverage_for`.
_LOWEST_START, _ROWS_AT_START = 0.1, 60.0
# Part of the probability of failing that the walk has; the rest is for a first look at all rows.
_PART_OF_WALK = 0.8

# A target that was read off as the AUC of some rows, by another order of summing, is reached by them.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class HeldOutAnswer(InWords):
    """A number read off the held-out rows of a fit, with its confidence interval; printed, it is a sentence.

    Attributes
    ----------
    value : float
        The number in the answer.
    low, high : float
        Ends of its interval.
    confidence : float
        Confidence of the interval.
    sentence : str
        Question and answer in words.
    """

    value: float
    low: float
    high: float
    confidence: float
    sentence: str = field(default="", repr=False, compare=False)


class HeldOutAnswers(Scoring):
    """Base of classifiers that estimate from held-out rows: the coverage, the AUC, and the coverage for an AUC."""

    coverage: float

    def expected_coverage(
        self, coverage: float | None = None, band_group: Any = None, *, confidence: float = 0.95
    ) -> HeldOutAnswer:
        """Return the coverage to expect on new rows, with its interval.

        Parameters
        ----------
        coverage : float in (0, 1], optional
            Target share of rows to select; the constructor's `coverage` by default.
        band_group : label, optional
            The group whose coverage to return, if the bands were fitted per group.
        confidence : float in (0, 1), default=0.95
            Confidence of the interval.

        Returns
        -------
        HeldOutAnswer
            ``value`` with ``low`` and ``high``.

        Notes
        -----
        The rows that placed the band are counted. If rows share scores, more are selected than requested, because a
        band takes all rows of a score or none and never rejects too many. With ``ties="split"`` any coverage can be
        reached. The interval covers the sampling error of these rows and, for cross-fitted scores, the
        differences between the fold models: if a model gives few distinct scores, the refitted model can put them on
        the other side of the band. A finite batch of new rows adds a sampling error of its own. The coverage of all new
        rows was within the interval in about .95 of fits (``python -m benchmarks.crossfit_coverage said``).
        """
        fitted, in_force = self._state(), check_coverage(self.coverage if coverage is None else coverage)
        tail = tail_probability(confidence)
        rule, held_out = fitted.rule, None if fitted.rule.is_replaced else fitted.held_out
        expected = rule.expected_coverage(in_force, band_group)
        error = error_of_coverage(
            rule,
            in_force,
            band_group,
            n_rows=fitted.n_placing_rows,
            held_out=None if held_out is None else held_out.read_by(fitted.reader),
            # New rows are spread over fold models that judge as held-out rows are: how they differ is in the mean.
            folds=None if held_out is None or rule.judged_apart else held_out.folds,
        )
        margin = error * -float(ndtri(tail))
        low, high = max(expected - margin, 0.0), min(expected + margin, 1.0)
        sentence = (
            f"Where a coverage of {percent(in_force)} is asked for, {percent(expected)} of new rows should be selected "
            f"{interval_text(percent(low), percent(high), confidence)}."
        )
        return HeldOutAnswer(expected, low, high, confidence, sentence)

    def coverage_for(self, *, auc: float, confidence: float = 0.95) -> HeldOutAnswer:
        """Find the largest coverage at which the held-out AUC of the selected rows reaches a target.

        Parameters
        ----------
        auc : float in (0, 1]
            AUC to reach.
        confidence : float in (0, 1), default=0.95
            Confidence of the interval around the coverage.

        Returns
        -------
        HeldOutAnswer
            The coverage as ``value``, with ``low`` and ``high``. ``value`` is 0 if no coverage reaches the target;
            ``low`` is 0 if these rows cannot show that one does.

        Notes
        -----
        `high` is the largest coverage whose upper limit of the AUC reaches the target. `low` is 1 if a strict lower
        limit of the AUC of all rows reaches it. Otherwise it is found as in
        :func:`~aucross.evaluation.promise_coverage`: starting at a coverage of .1, or one that leaves about 60 rows of
        the rarest class, the coverage rises in steps of .01 until a lower limit falls below the target. The limits of
        all coverages passed on the way hold jointly: the steps cost no confidence, and the first look at all rows costs
        a fifth of the probability of failing. The limits are computed as in :meth:`held_out_auc` and in an evaluation.
        The scores are held out, but the bands were placed on the same rows. This makes `value` optimistic if a class
        has few rows; use `low` then, which held in simulations (see the evidence page on intervals). `low` is 0 if the
        rows cannot show the target at any coverage: k rows of a class cannot show an AUC above about 1 - 3 / k.
        `value`, `low` and `high` never rise with the target. Weights count with Kish's effective number of rows, so
        that their unit does not matter. Rows of one customer count together if `fit` was given the customers as
        `groups`, and as independent rows otherwise. For `value` and `high`, coverages are tried from 1 down to 0.01 in
        steps of 0.05, or of 0.01 where the AUC is near the target; the first to reach it is refined.
        """
        state = self._state()
        held_out = state.held_out.of_effective_size()
        n_rarest = float(np.bincount(held_out.labels, held_out.sample_weight)[np.unique(held_out.labels)].min())
        return largest_coverage(partial(self._held_out_curve, state), n_rarest, auc=auc, confidence=confidence)

    def held_out_auc(self, coverage: float | None = None, *, confidence: float = 0.95) -> HeldOutAnswer:
        """Return the AUC of the held-out rows selected at a coverage, with its interval.

        Parameters
        ----------
        coverage : float in (0, 1], optional
            Target coverage; the constructor's by default.
        confidence : float in (0, 1), default=0.95
            Confidence of the interval.

        Returns
        -------
        HeldOutAnswer
            The AUC (with more than two classes Hand and Till's M) as ``value``, with ``low`` and ``high``; NaN if
            a class is missing.
        """
        in_force = check_coverage(self.coverage if coverage is None else coverage)
        auc, low, high = self._held_out_curve(self._state(), tail_probability(confidence))(in_force)
        has = f"have an AUC of {auc:.3f} {interval_text(f'{low:.3f}', f'{high:.3f}', confidence)}"
        has = "lack a class, and have no AUC" if isnan(auc) else has
        sentence = f"The held-out rows selected at a coverage of {percent(in_force)} {has}."
        return HeldOutAnswer(auc, low, high, confidence, sentence)

    @staticmethod
    def _held_out_curve(fitted: Fitted, alpha: float) -> HeldOutCurve:
        rule, rows, held_out = fitted.rule, fitted.scored_held_out().rule_input, fitted.held_out.of_effective_size()

        def selected(coverage: float) -> NDArray[np.bool_]:
            return rule.bands_of(rows, coverage).selected

        if len(fitted.classes) > 2:
            return pairwise_curve(held_out, fitted.metric, alpha, selected)
        is_on_score = rule.axis == "score" and rule.group_labels is None and not fitted.ties_are_split
        if is_on_score and held_out.units is None:
            # One ranking answers for every band on the score itself.
            ranked = held_out.ranked()
            return lambda c: (ranked.auc(rule.band(c)), *auc_ends(ranked, alpha, rule.band(c)))

        def curve(coverage: float) -> tuple[float, float, float]:
            if held_out.units is None:
                ranked = held_out.ranked(selected(coverage))
                return (ranked.auc(), *auc_ends(ranked, alpha))
            # `fit` was told which rows belong to one customer: those are not independent.
            part = fitted.held_out.take(np.flatnonzero(selected(coverage)))
            assert part.units is not None
            ends = auc_ends_of_units(part.positive, part.scores, part.sample_weight, part.units, alpha)
            return (part.ranked().auc(), *ends)

        return curve


def interval_text(low: str, high: str, confidence: float) -> str:
    """Format an interval in words, for the sentence of an answer."""
    return f"({exact_percent(confidence)} interval {low} to {high})"


def tail_probability(confidence: float) -> float:
    """Return the probability that each end of a two-sided interval may fail."""
    return (1 - check_confidence(confidence)) / 2


def largest_coverage(
    curve_at: Callable[[float], HeldOutCurve], n_rarest: float, *, auc: float, confidence: float = 0.95
) -> HeldOutAnswer:
    """Find the largest coverages at which an AUC curve and its upper and lower limits reach a goal.

    `n_rarest` is the number of rows of the rarest class.
    """
    check_auc(auc)
    tail = tail_probability(confidence)
    known = cache(curve_at(tail))  # both are looked for on the same steps
    coverage, high = (_largest(known, limit, auc - _ROUNDING) for limit in _TOLERANCES)
    low = min(_largest_shown(curve_at, tail, n_rarest, auc - _ROUNDING), coverage)
    # Where the upper bound is NaN the estimate itself may still reach the target.
    high = max(coverage, high)
    interval = interval_text(percent(low), percent(high), confidence)
    if coverage:
        sentence = f"An AUC of {auc:g} is reached up to a coverage of {percent(coverage)} {interval}."
    else:
        sentence = f"No coverage reaches an AUC of {auc:g} on the held-out rows {interval}."
    return HeldOutAnswer(coverage, low, high, confidence, sentence)


def _largest_shown(curve_at: Callable[[float], HeldOutCurve], tail: float, n_rarest: float, goal: float) -> float:
    """Walk up in steps of .01 while the lower limit reaches the goal; return the last such coverage, or 0.

    Without a walk, return 1 if all rows reach the goal. A walk that goes too far passes the first coverage whose AUC
    is too low, so it fails with the probability of one test. The start is fixed: a higher goal never raises the answer.
    """
    if curve_at((1.0 - _PART_OF_WALK) * tail)(1.0)[1] >= goal:
        return 1.0
    curve = curve_at(_PART_OF_WALK * tail)
    start, reached = min(max(_ROWS_AT_START / max(n_rarest, 1.0), _LOWEST_START), 1.0), 0.0
    for coverage in np.round(np.arange(ceil(start * 100 - 1e-9), 101) / 100, 2).tolist():
        if not curve(coverage)[1] >= goal:
            break
        reached = coverage
    return reached


def _largest(curve: HeldOutCurve, limit: int, goal: float) -> float:
    """Return the largest coverage at which the estimate, or the upper limit, reaches the goal; 0 if none does."""

    def is_near(coverage: float) -> bool:
        values = curve(coverage)
        # A NaN bound (one row of a class) is near and reaches nothing.
        return not values[limit] < goal - _NEAR * (values[2] - values[1])

    if curve(1.0)[limit] >= goal:
        return 1.0
    above = 1.0
    for below in _LARGE_STEPS:
        if is_near(below) or is_near(above):
            for coverage in np.round(np.arange(above - _SMALL_STEP, below - _SMALL_STEP / 2, -_SMALL_STEP), 2).tolist():
                if curve(coverage)[limit] >= goal:
                    above = round(coverage + _SMALL_STEP, 2)
                    return _crossing(lambda at: curve(at)[limit] - goal, coverage, above, _TOLERANCES[limit])
        above = below
    return 0.0


def _crossing(excess: Callable[[float], float], low: float, high: float, tolerance: float) -> float:
    """Return the coverage between `low` and `high` at which the curve falls below the goal.

    Uses the Illinois method: a secant between the ends gives the next point, which replaces one end, and the value at
    the other end is halved. Each new point lies at least about `tolerance` away from both ends.
    """
    at_low, at_high = excess(low), excess(high)
    nearest = 0.9 * tolerance
    while high - low > tolerance:
        way = float(at_low / (at_low - at_high))
        middle = low + (high - low) * (way if isfinite(way) else 0.5)
        middle = min(max(middle, low + nearest), high - nearest)
        value = excess(middle)
        if value >= 0:
            low, at_low, at_high = middle, value, at_high / 2
        else:
            high, at_high, at_low = middle, value, at_low / 2
    return low


def pairwise_curve(
    held_out: HeldOutScores, metric: PairwiseMetric, alpha: float, select: Callable[[float], NDArray[np.bool_]]
) -> HeldOutCurve:
    """Return the curve of a multiclass metric, with the sum of squared influences as its variance.

    Two thirds of a row are added to the smallest class: they lose (lower limit) or win (upper limit) all comparisons.
    """
    labels = np.eye(metric.n_classes)[held_out.labels]
    objective = ExpectedAUC(metric.columns(held_out.responses), labels, metric.contests, held_out.sample_weight)

    def limit(mean: float, variance: float, share_of_added: float) -> float:
        step = share_of_added * mean
        return min(mean, beta_quantile(mean - ROWS_ADDED * step, variance + ROWS_ADDED * step**2, alpha))

    def curve(coverage: float) -> tuple[float, float, float]:
        selected = select(coverage)
        table = objective.table(objective.histograms(selected))
        influence = objective.influence(table) * selected
        # The variance inflation from rows of the same customer, at least 1.
        weighted = objective.weight * influence
        effect, squares = 1.0, float(weighted @ weighted)
        if held_out.units is not None and squares:
            of_units = np.bincount(held_out.units, weighted)
            effect = max(float(of_units @ of_units) / squares, 1.0)
        variance = effect * float(objective.weight @ influence**2)
        fewest = float((objective.by_class @ selected).min()) / effect
        # A class takes part in 2 of n_classes contests, whatever their number.
        share = 2.0 / (metric.n_classes * (fewest + 1.0))
        return table.value, limit(table.value, variance, share), 1.0 - limit(1.0 - table.value, variance, share)

    return curve


def error_of_coverage(
    rule: BandRule, coverage: float, group: Any, *, n_rows: float, held_out: RuleInput | None, folds: IndexArray | None
) -> float:
    """Return the standard error of the expected coverage; `held_out` is None if the rule was placed after the fit.

    It covers the sampling error of the rows that placed the band and the differences between fold models. It is 0 only
    for the empty band.
    """
    share, n_rows = rule.expected_coverage(coverage, group), max(n_rows, 1.0)
    if share in (0.0, 1.0) and not rule.band(coverage, group).is_empty:
        # No row of few is not the same as no row at all: at least one of n + 2, as Laplace has it.
        share = min(max(share, 1.0 / (n_rows + 2.0)), 1.0 - 1.0 / (n_rows + 2.0))
    variance = share * (1.0 - share) / n_rows
    if held_out is not None and folds is not None:
        if group is not None and held_out.groups is not None:
            of_group = np.flatnonzero(held_out.groups == group)
            held_out, folds = held_out.take(of_group), folds[of_group]
        variance += variance_between_folds(rule.bands_of(held_out, coverage).selected, folds)
    return sqrt(variance)


def variance_between_folds(counted: NDArray[np.bool_], folds: IndexArray) -> float:
    """Return the variance of a share of rows between fold models, after subtracting sampling error."""
    share, count = share_of_each_fold(counted, folds)
    if len(share) < 2:
        return 0.0
    by_chance = float(np.mean(share * (1.0 - share) / count))
    return max(float(np.var(share, ddof=1)) - by_chance, 0.0)


def share_of_each_fold(counted: NDArray[np.bool_], folds: IndexArray) -> tuple[FloatArray, IndexArray]:
    """Return, for each fold, the weighted share of rows that are marked and the size of the fold."""
    _, fold, count = np.unique(folds, return_inverse=True, return_counts=True)
    return np.bincount(fold, weights=counted) / count, count
