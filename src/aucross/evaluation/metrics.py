"""Metrics of a selection and its answers: coverage, class counts, base rates, accuracy, cost, calibration.

::

                  correct                  wrong
    selected      truly selected  (TS)     falsely selected (FS)
    rejected      falsely rejected (FR)    truly rejected   (TR)
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import log_loss

from aucross.core.bands import check_coverage
from aucross.core.ranking import FloatArray, as_positive, equal_parts
from aucross.evaluation.inputs import (
    BoolArray,
    Mask,
    Weights,
    answered_rows,
    check_selected,
    row_weights,
    selected_rows,
    weighted_mean,
)
from aucross.evaluation.metric import described, metric

BinStrategy = Literal["uniform", "quantile"]


# ---- the selection ----


class ClassCounts(NamedTuple):
    """Positives and negatives among the selected rows."""

    n_positive: float
    n_negative: float


@metric(reads="selection", better="higher", label="coverage reached")
def achieved_coverage(selected: ArrayLike, sample_weight: Weights = None) -> float:
    """Return the coverage (El-Yaniv & Wiener, 2010): the share of the weight that is selected.

    ``sum(w * selected) / sum(w)``; NaN without rows.

    Examples
    --------
    >>> achieved_coverage([True, True, False, True])
    0.75
    """
    mask = check_selected(selected)
    return weighted_mean(mask, row_weights(sample_weight, len(mask)))


@metric(reads="selection", better="zero", label="coverage reached minus coverage asked for")
def coverage_error(selected: ArrayLike, target_coverage: float, sample_weight: Weights = None) -> float:
    """Return the achieved minus the target coverage; negative if too few rows are selected.

    ``achieved_coverage - target_coverage``; NaN without rows. Its absolute value is the coverage violation. Pugnana &
    Ruggieri (2023) show it for each method in the form of the empirical coverage.

    Parameters
    ----------
    target_coverage : float in (0, 1]
        The requested coverage.

    Examples
    --------
    >>> coverage_error([True, True, False, True], 0.5)
    0.25
    """
    return achieved_coverage(selected, sample_weight) - check_coverage(target_coverage, "target_coverage")


@described
def selected_counts(y_true: ArrayLike, selected: Mask = None, *, sample_weight: Weights = None) -> ClassCounts:
    """Count positives and negatives among the selected rows, to be reported beside every selective AUC.

    Named tuple ``(n_positive, n_negative)``: integers without weights, floats with them.

    Examples
    --------
    >>> selected_counts([0, 1, 1, 0], [True, True, True, False])
    ClassCounts(n_positive=2, n_negative=1)
    """
    positive = as_positive(y_true)
    mask = check_selected(selected, len(positive))
    if sample_weight is None:
        return ClassCounts(int((mask & positive).sum()), int((mask & ~positive).sum()))
    weight = row_weights(sample_weight, len(positive))
    return ClassCounts(float(weight[mask & positive].sum()), float(weight[mask & ~positive].sum()))


@metric(reads="outcomes", better=None, label="rate of {positive} among the automatic cases")
def positive_rate(y_true: ArrayLike, selected: Mask = None, *, sample_weight: Weights = None) -> float:
    """Return the share of positives among the selected rows (Pugnana & Ruggieri, 2023, report it at every coverage).

    ``sum(w * selected * y) / sum(w * selected)``; NaN if nothing is selected.

    Examples
    --------
    >>> positive_rate([0, 1, 1, 0], [True, True, False, True])
    0.3333333333333333
    """
    counts = selected_counts(y_true, selected, sample_weight=sample_weight)
    total = counts.n_positive + counts.n_negative
    return counts.n_positive / total if total > 0 else float("nan")


@metric(reads="outcomes", better="zero", label="rate of {positive}, automatic cases minus all cases")
def base_rate_shift(y_true: ArrayLike, selected: Mask = None, *, sample_weight: Weights = None) -> float:
    """Return the positive rate of the selected rows minus the positive rate of all rows.

    Negative if positives are rejected more often than negatives; NaN if nothing is selected.

    Examples
    --------
    >>> base_rate_shift([0, 1, 1, 0], [True, True, False, False])
    0.0
    """
    overall = positive_rate(y_true, sample_weight=sample_weight)
    return positive_rate(y_true, selected, sample_weight=sample_weight) - overall


@metric(reads="outcomes", better="lower", label="share of {positive} sent to review")
def positives_for_review(y_true: ArrayLike, selected: Mask = None, *, sample_weight: Weights = None) -> float:
    """Return the share of all positives that are rejected: in credit, the defaults that review has to catch.

    ``1 - sum(w * selected * y) / sum(w * y)``; NaN without positives.

    Examples
    --------
    >>> positives_for_review([0, 1, 1, 0, 1, 1], [True, True, False, True, True, True])
    0.25
    """
    positive = as_positive(y_true)
    weight = row_weights(sample_weight, len(positive))
    rejected = ~check_selected(selected, len(positive))
    return weighted_mean(rejected[positive], weight[positive])


# ---- the answers that are used ----


@metric(reads="labels", better="higher", label="accuracy of the automatic cases")
def selective_accuracy(
    y_true: ArrayLike, y_pred: ArrayLike, selected: Mask = None, *, sample_weight: Weights = None
) -> float:
    """Return the share of correct predictions among the selected rows, the non-rejected accuracy (NRA).

    ``TS / (TS + FS)`` of El-Yaniv & Wiener (2010), the NRA of Condessa, Bioucas-Dias & Kovacevic (2017); NaN if nothing
    is selected.

    Examples
    --------
    >>> selective_accuracy([0, 1, 1, 0], [0, 1, 0, 0], [True, True, True, False])
    0.6666666666666666
    """
    positive, predicted, mask, weight = answered_rows(y_true, y_pred, selected, sample_weight)
    return weighted_mean((positive == predicted)[mask], weight[mask])


@metric(reads="labels", better="lower", label="share of errors among the automatic cases")
def selective_risk(
    y_true: ArrayLike, y_pred: ArrayLike, selected: Mask = None, *, sample_weight: Weights = None
) -> float:
    """Return the share of wrong predictions among the selected rows.

    ``FS / (TS + FS)``, the 0/1 loss of El-Yaniv & Wiener (2010); NaN if nothing is selected. For other losses read
    :func:`~aucross.evaluation.risk_coverage_curve`.

    Examples
    --------
    >>> selective_risk([0, 1, 1, 0], [0, 1, 0, 0], [True, True, True, False])
    0.3333333333333333
    """
    positive, predicted, mask, weight = answered_rows(y_true, y_pred, selected, sample_weight)
    return weighted_mean((positive != predicted)[mask], weight[mask])


@metric(reads="labels", better="lower", label="mean cost of a case, reviews included")
def expected_cost(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    selected: Mask = None,
    *,
    review_cost: ArrayLike,
    cost_matrix: ArrayLike = ((0.0, 1.0), (1.0, 0.0)),
    sample_weight: Weights = None,
) -> float:
    """Return the mean cost per row: the cost of the answer for selected rows, the cost of a review for the others.

    ``sum(w * (selected * cost(y, y_pred) + (1 - selected) * review_cost(y))) / sum(w)``; NaN without rows. With the
    default matrix and one review cost d, rejecting pays where the error probability exceeds d (Chow, 1970).

    Parameters
    ----------
    review_cost : float or pair of float
        Cost of a rejected row: one number, or one for negatives and one for positives.
    cost_matrix : array-like of shape (2, 2), default=((0, 1), (1, 0))
        ``cost_matrix[true][predicted]``, negatives first: the default is the 0/1 loss. Gains are negative costs.

    Examples
    --------
    A missed positive costs 5, a false alarm 1, a review 0.5:

    >>> costs = [[0, 1], [5, 0]]
    >>> expected_cost([0, 1, 1, 0], [0, 1, 0, 1], review_cost=0.5, cost_matrix=costs)
    1.5
    >>> expected_cost([0, 1, 1, 0], [0, 1, 0, 1], [True, True, False, True], review_cost=0.5, cost_matrix=costs)
    0.375
    """
    costs = np.asarray(cost_matrix, dtype=np.float64)
    if costs.shape != (2, 2) or not np.isfinite(costs).all():
        raise ValueError(
            f"cost_matrix must be a finite 2 x 2 array, cost_matrix[true][predicted], got shape {costs.shape}"
        )
    review = np.asarray(review_cost, dtype=np.float64)
    if review.shape not in ((), (2,)) or not np.isfinite(review).all():
        raise ValueError(
            f"review_cost must be one finite number or a pair (negatives, positives), got {np.asarray(review_cost)!r}"
        )
    positive, predicted, mask, weight = answered_rows(y_true, y_pred, selected, sample_weight)
    true, answer = positive.astype(np.intp), predicted.astype(np.intp)
    cost = np.where(mask, costs[true, answer], np.broadcast_to(review, 2)[true])
    return weighted_mean(cost, weight)


# ---- their probabilities ----


@metric(reads="scores", better="lower", label="Brier score of the automatic cases")
def selective_brier(
    y_true: ArrayLike, y_score: ArrayLike, selected: Mask = None, *, sample_weight: Weights = None
) -> float:
    """Return the Brier score of the selected rows: the mean squared difference between probability and outcome.

    ``sum(w * (y_score - y)^2) / sum(w)`` over selected rows (Brier, 1950); NaN if nothing is selected.

    Examples
    --------
    >>> selective_brier([0, 1, 1], [0.0, 0.5, 0.1], [True, True, False])
    0.125
    """
    positive, score, weight = _probability_rows(y_true, y_score, selected, sample_weight)
    return weighted_mean((score - positive) ** 2, weight)


@metric(reads="scores", better="lower", label="log loss of the automatic cases")
def selective_log_loss(
    y_true: ArrayLike, y_score: ArrayLike, selected: Mask = None, *, sample_weight: Weights = None
) -> float:
    """Return the log-loss of the selected rows.

    ``-sum(w * (y log p + (1 - y) log(1 - p))) / sum(w)`` over selected rows; NaN if nothing is selected. As in
    :func:`sklearn.metrics.log_loss`, a wrong prediction with probability 1 costs 36 and not infinity.

    Examples
    --------
    >>> round(selective_log_loss([0, 1, 1], [0.5, 0.5, 0.1], [True, True, False]), 4)
    0.6931
    """
    positive, score, weight = _probability_rows(y_true, y_score, selected, sample_weight)
    if not len(weight):
        return float("nan")
    return float(log_loss(positive, score, sample_weight=weight, labels=[False, True]))


@metric(reads="scores", better="lower", label="calibration error (ECE) of the automatic cases")
def expected_calibration_error(
    y_true: ArrayLike,
    y_score: ArrayLike,
    selected: Mask = None,
    *,
    n_bins: int = 10,
    strategy: BinStrategy = "uniform",
    sample_weight: Weights = None,
) -> float:
    """Return the expected calibration error (ECE) of the selected rows' positive-class probabilities.

    ``sum_b (w_b / w) * |mean score in b - positive rate in b|`` over the bins that hold rows (Naeini, Cooper &
    Hauskrecht, 2015); NaN if nothing is selected. The value depends on the bins: state them.

    Parameters
    ----------
    n_bins : int, default=10
        Number of bins.
    strategy : {"uniform", "quantile"}, default="uniform"
        ``"uniform"``: bins of equal width, ``(a, b]`` as in :func:`sklearn.calibration.calibration_curve`.
        ``"quantile"``: bins of equal weight; rows of equal score all go to the bin of their middle rank.

    Examples
    --------
    >>> round(expected_calibration_error([0, 1, 1, 1], [0.25, 0.25, 0.75, 0.75], n_bins=2), 4)
    0.25
    """
    if n_bins < 1:
        raise ValueError(f"n_bins must be at least 1, got {n_bins}")
    if strategy not in ("uniform", "quantile"):
        raise ValueError(f'strategy must be "uniform" or "quantile", got {strategy!r}')
    return calibration_error_of(*_probability_rows(y_true, y_score, selected, sample_weight), n_bins, strategy)


def calibration_error_of(
    positive: BoolArray, score: FloatArray, weight: FloatArray, n_bins: int = 10, strategy: BinStrategy = "uniform"
) -> float:
    """Return the expected calibration error of checked rows; NaN without rows."""
    if not len(weight):
        return float("nan")
    if strategy == "uniform":
        bins = np.searchsorted(np.linspace(0.0, 1.0, n_bins + 1)[1:-1], score)
    else:
        bins = equal_parts(score, weight, n_bins)
    # The weight of a bin cancels: w_b * |mean score - positive rate| = |sum of w * (score - y)|.
    excess = np.bincount(bins, weights=weight * (score - positive), minlength=n_bins)
    return float(np.abs(excess).sum() / weight.sum())


def _probability_rows(
    y_true: ArrayLike, y_score: ArrayLike, selected: Mask, sample_weight: Weights
) -> tuple[BoolArray, FloatArray, FloatArray]:
    score = np.asarray(y_score, dtype=np.float64)
    outside = (score < 0) | (score > 1)
    if outside.any():
        raise ValueError(
            f"y_score must be probabilities in [0, 1], got {score[outside].flat[0]:g}; "
            "pass predict_proba, or calibrate the scores first"
        )
    return selected_rows(y_true, score, selected, sample_weight)
