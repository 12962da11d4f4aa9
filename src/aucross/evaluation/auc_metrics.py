"""AUC, Gini, KS, average precision and other metrics of how the selected rows are ranked.

All of them read ``y_true, y_score, selected``, treat equal scores as ties, and are NaN (never 0) if a class is missing
among the selected rows. Report :func:`~aucross.evaluation.selected_counts` beside them: an AUC from three positives
says little.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import sqrt
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri
from sklearn.metrics import average_precision_score, roc_auc_score

from aucross.core.bands import check_coverage
from aucross.core.ranking import FloatArray, RankedScores, as_positive, effective_size, equal_parts
from aucross.core.search import search_band
from aucross.evaluation.inputs import (
    BoolArray,
    Mask,
    Weights,
    check_both_classes,
    check_probability,
    check_selected,
    ranked_rows,
    selected_rows,
    weighted_mean,
)
from aucross.evaluation.metric import described, metric
from aucross.evaluation.metrics import achieved_coverage

Side = Literal["both", "lower", "upper"]


class Interval(NamedTuple):
    """Ends of a confidence interval."""

    lower: float
    upper: float


@metric(reads="scores", better="higher", label="AUC of the automatic cases")
def selective_auc(
    y_true: ArrayLike, y_score: ArrayLike, selected: Mask = None, *, sample_weight: Weights = None
) -> float:
    """Return the AUC of the selected rows (Pugnana & Ruggieri, 2023).

    Share of the pairs of one selected positive and one selected negative that the scores order correctly; ties count
    half: ``sum_ij w_i w_j ([s_i > s_j] + [s_i = s_j] / 2) / sum_ij w_i w_j``. NaN if a class is missing.

    Examples
    --------
    >>> selective_auc([0, 1, 0, 1], [0.1, 0.3, 0.5, 0.9]), selective_auc(
    ...     [0, 1, 0, 1], [0.1, 0.3, 0.5, 0.9], [True, False, True, True]
    ... )
    (0.75, 1.0)
    """
    return ranked_rows(y_true, y_score, selected, sample_weight).auc()


@metric(reads="scores", better="higher", label="Gini coefficient of the automatic cases")
def selective_gini(
    y_true: ArrayLike, y_score: ArrayLike, selected: Mask = None, *, sample_weight: Weights = None
) -> float:
    """Return the Gini coefficient (accuracy ratio) of the selected rows, the credit industry's form of the AUC.

    ``2 * AUC - 1``, from -1 to 1; NaN if a class is missing.

    Examples
    --------
    >>> selective_gini([0, 1, 0, 1], [0.1, 0.3, 0.5, 0.9])
    0.5
    """
    return 2 * selective_auc(y_true, y_score, selected, sample_weight=sample_weight) - 1


@metric(reads="scores", better="higher", label="Kolmogorov-Smirnov statistic of the automatic cases")
def selective_ks(
    y_true: ArrayLike, y_score: ArrayLike, selected: Mask = None, *, sample_weight: Weights = None
) -> float:
    """Return the Kolmogorov-Smirnov statistic of the selected rows.

    ``max(TPR - FPR)`` over all thresholds, from 0 to 1; NaN if a class is missing.

    Examples
    --------
    >>> selective_ks([0, 1, 0, 1], [0.1, 0.3, 0.5, 0.9])
    0.5
    """
    return ks_of(ranked_rows(y_true, y_score, selected, sample_weight))


def ks_of(ranked: RankedScores) -> float:
    """Return the Kolmogorov-Smirnov distance of ranked rows; NaN if a class is missing."""
    if min(ranked.total_positives, ranked.total_negatives) == 0:
        return float("nan")
    # TPR - FPR above a threshold is the share of negatives below it minus the share of positives below it.
    lead = ranked.negatives_below / ranked.total_negatives - ranked.positives_below / ranked.total_positives
    return float(lead.max())


@metric(reads="scores", better="higher", label="average precision of the automatic cases")
def selective_average_precision(
    y_true: ArrayLike, y_score: ArrayLike, selected: Mask = None, *, sample_weight: Weights = None
) -> float:
    """Return the average precision of the selected rows.

    ``sum_k (recall_k - recall_{k-1}) * precision_k`` over the distinct scores, from the highest down. NaN if no
    positive is selected; 1 if no negative is. A random ranking has about the positive rate as its value. Selection
    changes that rate: look at :func:`~aucross.evaluation.positive_rate` when you compare coverages.

    Examples
    --------
    >>> selective_average_precision([0, 1, 0, 1], [0.1, 0.3, 0.5, 0.9], [True, True, False, True])
    1.0
    """
    positive, score, weight = selected_rows(y_true, y_score, selected, sample_weight)
    return float(average_precision_score(positive, score, sample_weight=weight)) if positive.any() else float("nan")


@metric(reads="scores", better="higher", label="partial AUC of the automatic cases")
def selective_partial_auc(
    y_true: ArrayLike, y_score: ArrayLike, selected: Mask = None, *, max_fpr: float = 0.1, sample_weight: Weights = None
) -> float:
    """Return the standardised partial AUC of the selected rows: the ROC curve at low false positive rates only.

    ``(1 + (P - m^2 / 2) / (m - m^2 / 2)) / 2`` with P the area under the ROC curve up to the rate m = `max_fpr`
    (McClish, 1989): 0.5 is chance, 1 is perfect. NaN if a class is missing.

    Parameters
    ----------
    max_fpr : float in (0, 1], default=0.1
        Highest false positive rate that counts.

    Examples
    --------
    >>> round(selective_partial_auc([0, 1, 0, 1], [0.1, 0.3, 0.5, 0.9], max_fpr=0.5), 4)
    0.6667
    """
    highest = check_coverage(max_fpr, "max_fpr")
    positive, score, weight = selected_rows(y_true, y_score, selected, sample_weight)
    if positive.all() or not positive.any():
        return float("nan")
    return float(roc_auc_score(positive, score, sample_weight=weight, max_fpr=highest))


@metric(reads="scores", better="higher", label="gain in AUC over all cases")
def auc_gain(y_true: ArrayLike, y_score: ArrayLike, selected: Mask = None, *, sample_weight: Weights = None) -> float:
    """Return the AUC of the selected rows minus the AUC of all rows.

    ``AUC(selected) - AUC(all)``; NaN if a class is missing.

    Examples
    --------
    >>> auc_gain([0, 1, 0, 1], [0.1, 0.3, 0.5, 0.9], [True, False, True, True])
    0.25
    """
    overall = selective_auc(y_true, y_score, sample_weight=sample_weight)
    return selective_auc(y_true, y_score, selected, sample_weight=sample_weight) - overall


@metric(reads="scores", better="lower", label="AUC of the Oracle minus that of the automatic cases")
def oracle_gap(y_true: ArrayLike, y_score: ArrayLike, selected: Mask = None, *, sample_weight: Weights = None) -> float:
    """Return the AUC of the best band at the achieved coverage, minus the AUC of the selected rows.

    At least 0, up to rounding, if `selected` comes from a band on `y_score`; it can be negative if `selected` uses more
    than the score. NaN if a class is missing among the selected rows.

    Notes
    -----
    The best band is the Oracle of Pugnana & Ruggieri (2023), found by exact search (:func:`aucross.core.oracle_band`)
    with the labels of these same rows, so no rule that was placed on other rows can close the gap.

    Examples
    --------
    >>> y_true, y_score = [0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    >>> oracle_gap(y_true, y_score, [True, True, True, False, True, True])
    0.0
    >>> round(oracle_gap(y_true, y_score, [True, True, True, True, True, False]), 4)
    0.1667
    """
    ours = selective_auc(y_true, y_score, selected, sample_weight=sample_weight)
    if np.isnan(ours):
        return float("nan")
    reached = achieved_coverage(check_selected(selected, len(as_positive(y_true))), sample_weight)
    return float(oracle_curve(y_true, y_score, [reached], sample_weight=sample_weight)[1][0]) - ours


def oracle_curve(
    y_true: ArrayLike, y_score: ArrayLike, coverages: Iterable[float], *, sample_weight: Weights = None
) -> tuple[FloatArray, FloatArray]:
    """Return coverage and AUC of the best band on labelled rows, for each target coverage."""
    ranked = check_both_classes(ranked_rows(y_true, y_score, None, sample_weight), "the Oracle")
    bands = [search_band(ranked, coverage, "any") for coverage in coverages]
    return np.array([ranked.coverage(band) for band in bands]), np.array([ranked.auc(band) for band in bands])


@described
def auc_interval(
    y_true: ArrayLike,
    y_score: ArrayLike,
    selected: Mask = None,
    *,
    level: float = 0.95,
    side: Side = "both",
    sample_weight: Weights = None,
) -> Interval:
    """Return DeLong's confidence interval for the AUC of the selected rows.

    Named tuple ``(lower, upper)``, cut off at 0 and 1; NaN if a class has no more than one selected row.

    Parameters
    ----------
    level : float in (0, 1), default=0.95
        Confidence level.
    side : {"both", "lower", "upper"}, default="both"
        ``"lower"`` gives the bound to promise: the AUC is above it with confidence `level`; the upper end is 1.
        ``"upper"`` gives the opposite bound; the lower end is 0.

    Notes
    -----
    DeLong, DeLong & Clarke-Pearson (1988): ``AUC +- z * se``. For perfectly separated classes the standard error is 0,
    which would promise an AUC of 1. The bound is then ``alpha^(1/m)`` with m the size of the smaller class: m disjoint
    pairs are independent, and if the AUC is A, all are in order with probability A^m at most. An AUC of 0 is treated in
    the same way. If the AUC is close to 1 and a class has few rows, the interval is too short, as is a bootstrap
    interval. The band must come from other rows. A row of weight w counts as w equal rows.

    Examples
    --------
    >>> y_true, y_score = [0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    >>> lower, upper = auc_interval(y_true, y_score)
    >>> print(f"{lower:.4f} to {upper:.4f}")
    0.5809 to 1.0000
    """
    if side not in ("both", "lower", "upper"):
        raise ValueError(f'side must be "both", "lower" or "upper", got {side!r}')
    alpha = 1.0 - check_probability(level, "level", ends=False)
    ranked = ranked_rows(y_true, y_score, selected, sample_weight)
    if np.isnan(ranked.auc_standard_error()):
        return Interval(float("nan"), float("nan"))
    lower, upper = ranked.auc_bounds(alpha / 2 if side == "both" else alpha)
    return Interval(0.0 if side == "upper" else lower, 1.0 if side == "lower" else upper)


# ---- cumulative accuracy profiles ----


@dataclass(frozen=True, eq=False)
class CAPCurve:
    """Points of a cumulative accuracy profile (CAP), one per distinct score.

    Attributes
    ----------
    rows : ndarray of shape (n_points,)
        Weight of the rows taken from the highest score down, starting with 0.
    positives : ndarray of shape (n_points,)
        Weight of the positives among them.
    auc : float
        AUC of the same rows; NaN if a class is missing.
    """

    rows: FloatArray
    positives: FloatArray
    auc: float

    @property
    def gini(self) -> float:
        """Gini coefficient, ``2 * AUC - 1``."""
        return 2 * self.auc - 1

    @property
    def n_rows(self) -> float:
        """Weight of all rows."""
        return float(self.rows[-1])

    @property
    def n_positives(self) -> float:
        """Weight of all positives."""
        return float(self.positives[-1])

    @property
    def area(self) -> float:
        """Area under the curve, in cells of one row by one positive."""
        return float(np.trapezoid(self.positives, self.rows))

    @property
    def perfect(self) -> CAPCurve:
        """Profile of a ranking with all positives first."""
        n_rows, n_positives = self.n_rows, self.n_positives
        return CAPCurve(np.array([0.0, n_positives, n_rows]), np.array([0.0, n_positives, n_positives]), 1.0)

    def points(self, *, relative: bool = True) -> tuple[FloatArray, FloatArray]:
        """Return both coordinates, as shares or as weights; shares of positives are NaN if there are no positives."""
        if not relative:
            return self.rows, self.positives
        return self.rows / (self.n_rows or np.nan), self.positives / (self.n_positives or np.nan)


@described
def cap_curve(
    y_true: ArrayLike, y_score: ArrayLike, selected: Mask = None, *, sample_weight: Weights = None
) -> CAPCurve:
    """Return the cumulative accuracy profile of the selected rows.

    A single point if there are no rows. With p the share of positives, the Gini coefficient is the area between the
    curve of shares and the diagonal, divided by ``(1 - p) / 2`` (Engelmann, 2011).

    Examples
    --------
    >>> from aucross.evaluation.plots import cap_curve
    >>> curve = cap_curve([0, 1, 0, 1], [0.1, 0.3, 0.5, 0.9])
    >>> curve.rows, curve.positives, curve.gini
    (array([0., 1., 2., 3., 4.]), array([0., 1., 1., 2., 2.]), 0.5)
    """
    return profile_of(ranked_rows(y_true, y_score, selected, sample_weight))


def profile_of(ranked: RankedScores) -> CAPCurve:
    """Return the cumulative accuracy profile of ranked rows."""
    from_top = (ranked.positives + ranked.negatives)[::-1], ranked.positives[::-1]
    weight, positives = (np.concatenate(([0.0], np.cumsum(values))) for values in from_top)
    return CAPCurve(weight, positives, ranked.auc())


# ---- ten parts of rows by score ----

N_PARTS = 10


def decile_rows(positive: BoolArray, score: FloatArray, weight: FloatArray, confidence: float) -> list[dict[str, Any]]:
    """Return one dictionary per decile, the highest scores first; equal scores share a decile.

    The rows must be sorted by ascending score.
    """
    if not len(score):
        return []
    number = equal_parts(score, weight, N_PARTS)
    ends = np.append(np.flatnonzero(np.diff(number)) + 1, len(number)).tolist()
    total, total_positive = float(weight.sum()), float(weight[positive].sum())
    table: list[dict[str, Any]] = []
    found, seen = 0.0, 0.0
    for own in [slice(start, stop) for start, stop in zip([0, *ends[:-1]], ends, strict=True)][::-1]:
        found += float(weight[own] @ positive[own])
        seen += float(weight[own].sum())
        observed = weighted_mean(positive[own], weight[own])
        low, high = wilson_interval(observed, weight[own], confidence)
        table.append(
            {
                "decile": N_PARTS - int(number[own][0]),
                "n": own.stop - own.start,
                "n_positive": int(positive[own].sum()),
                "lowest_score": float(score[own][0]),
                "highest_score": float(score[own][-1]),
                "mean_score": weighted_mean(score[own], weight[own]),
                "observed_rate": observed,
                "observed_rate_low": low,
                "observed_rate_high": high,
                "lift": observed * total / total_positive if total_positive > 0 else None,
                "rows_so_far": seen / total,
                "positives_so_far": found / total_positive if total_positive > 0 else None,
            }
        )
    return table


def wilson_interval(rate: float, weight: FloatArray, level: float) -> tuple[float, float]:
    """Return Wilson's confidence interval for a rate, given the effective number of rows."""
    z, n_rows = float(ndtri((1 + level) / 2)), effective_size(weight)
    middle = rate + z * z / (2 * n_rows)
    margin = z * sqrt(rate * (1 - rate) / n_rows + (z / (2 * n_rows)) ** 2)
    low, high = ((middle + side * margin) / (1 + z * z / n_rows) for side in (-1, 1))
    # Rounding must not push an end beyond the rate or beyond 0 and 1.
    return min(max(low, 0.0), rate), max(min(high, 1.0), rate)
