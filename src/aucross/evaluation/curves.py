"""Curves over a falling confidence threshold, and the operating points on them.

Rows are accepted from the most confident down. Equal confidences enter together, as one point, because no threshold can
part them: all curves here are free of row order.

::

    risk │            ╭──●  every row accepted
         │      ╭──●──╯
         │  ●─●─╯
         └──────────────────►  coverage
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from aucross.core.bands import check_coverage
from aucross.core.ranking import FloatArray, IndexArray
from aucross.evaluation.inputs import LossRows, check_probability, loss_rows, quality_rows, row_weights

# Shares are ratios of sums: 0.3 / 0.1 must still count as 3.
_ROUNDING = 1e-12


class RiskCurve(NamedTuple):
    """Points of a risk curve, by rising coverage: rows with confidence >= threshold are accepted."""

    coverage: FloatArray
    risk: FloatArray
    threshold: FloatArray


class AccuracyCurve(NamedTuple):
    """Points of an accuracy-rejection curve, by rising rejection: rows with confidence >= threshold are retained."""

    rejection: FloatArray
    accuracy: FloatArray
    threshold: FloatArray


def risk_coverage_curve(
    loss: ArrayLike,
    confidence: ArrayLike,
    *,
    balance_by: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> RiskCurve:
    """Selective risk at each distinct confidence value.

    Parameters
    ----------
    loss : array-like of shape (n,)
        Loss of each row, not negative; 0/1 errors (boolean) in the usual case.
    confidence : array-like of shape (n,)
        Finite confidences; the highest are accepted first.
    balance_by : array-like of shape (n,), optional
        True classes. The risk then is the mean over classes of each class's selective risk; a class without accepted
        rows counts as 0.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.

    Returns
    -------
    RiskCurve
        Named tuple ``(coverage, risk, threshold)``, with ``risk = sum(w * l) / sum(w)`` over accepted rows. Empty
        without rows.

    Notes
    -----
    Geifman & El-Yaniv (2017); ties form one point, and the balanced risk is defined, as in fd-shifts.

    Examples
    --------
    >>> from aucross.evaluation import risk_coverage_curve
    >>> curve = risk_coverage_curve([0, 1, 0, 1], [0.9, 0.8, 0.8, 0.6])
    >>> curve.coverage, curve.risk
    (array([0.25, 0.75, 1.  ]), array([0.        , 0.33333333, 0.5       ]))
    """
    rows, classes = _rows_and_classes(loss, confidence, balance_by, sample_weight)
    grouped = group_ties(rows)
    accepted = np.cumsum(grouped.weight)
    risks = []
    for class_ in np.unique(classes):
        inside = (classes == class_) * rows.weight
        class_weight = np.cumsum(_sum_by(grouped.group, inside))
        class_loss = np.cumsum(_sum_by(grouped.group, inside * rows.loss))
        risks.append(np.divide(class_loss, class_weight, out=np.zeros(len(accepted)), where=class_weight > 0))
    risk = np.mean(risks, axis=0) if risks else np.empty(0)
    return RiskCurve(_coverages(accepted), risk, grouped.confidence)


def generalized_risk_curve(
    loss: ArrayLike,
    confidence: ArrayLike,
    *,
    balance_by: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> RiskCurve:
    """Generalised risk, the mean loss of accepted rows spread over all rows, at each distinct confidence value.

    Parameters
    ----------
    loss, confidence, sample_weight
        As for :func:`risk_coverage_curve`.
    balance_by : array-like of shape (n,), optional
        True classes. Every loss then is multiplied by ``sum(w) / (n_classes * sum of w in its class)``, so that all
        classes count the same.

    Returns
    -------
    RiskCurve
        Named tuple ``(coverage, risk, threshold)``, with ``risk = sum of w * l over accepted rows / sum of w over all
        rows``: the probability of an accepted error for 0/1 losses. Empty without rows.

    Notes
    -----
    Traub et al. (NeurIPS 2024); balanced losses as in fd-shifts.

    Examples
    --------
    >>> from aucross.evaluation import generalized_risk_curve
    >>> generalized_risk_curve([0, 1, 0, 1], [0.9, 0.8, 0.8, 0.6]).risk
    array([0.  , 0.25, 0.5 ])
    """
    rows, classes = _rows_and_classes(loss, confidence, balance_by, sample_weight)
    if balance_by is not None and len(classes):
        class_weight = _sum_by(classes, rows.weight)
        factor = rows.weight.sum() / (len(class_weight) * class_weight)
        rows = rows._replace(loss=rows.loss * factor[classes])
    grouped = group_ties(rows)
    lost = np.cumsum(grouped.weight * grouped.loss)
    return RiskCurve(_coverages(np.cumsum(grouped.weight)), lost / rows.weight.sum(), grouped.confidence)


def accuracy_rejection_curve(
    correct: ArrayLike, confidence: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> AccuracyCurve:
    """Accuracy of the retained rows against the share of rejected rows.

    Parameters
    ----------
    correct : array-like of shape (n,)
        True where the prediction is correct, or a quality in [0, 1].
    confidence : array-like of shape (n,)
        Finite confidences; the lowest are rejected first.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.

    Returns
    -------
    AccuracyCurve
        Named tuple ``(rejection, accuracy, threshold)``, one point per distinct confidence; rejection 0 comes first.
        Empty without rows.

    Notes
    -----
    Nadeem, Zucker & Hanczar (2009), whose points are k = 1 ... n retained rows; inside a tie there is no such point.

    Examples
    --------
    >>> from aucross.evaluation import accuracy_rejection_curve
    >>> curve = accuracy_rejection_curve([True, False, True, False], [0.9, 0.8, 0.8, 0.6])
    >>> curve.rejection, curve.accuracy
    (array([0.  , 0.25, 0.75]), array([0.5       , 0.66666667, 1.        ]))
    """
    rows = quality_rows(correct, confidence, sample_weight)
    curve = risk_coverage_curve(rows.loss, rows.confidence, sample_weight=rows.weight if len(rows.weight) else None)
    return AccuracyCurve(1.0 - curve.coverage[::-1], 1.0 - curve.risk[::-1], curve.threshold[::-1])


def risk_at_coverage(
    loss: ArrayLike, confidence: ArrayLike, coverage: float, *, sample_weight: ArrayLike | None = None
) -> float:
    """Selective risk of the smallest accepted set whose coverage is at least `coverage`.

    Parameters
    ----------
    loss, confidence, sample_weight
        As for :func:`risk_coverage_curve`.
    coverage : float in (0, 1]
        Coverage asked for.

    Returns
    -------
    float
        NaN without rows.

    Notes
    -----
    As in torch-uncertainty, except that ties are accepted whole: the coverage can be passed, never missed.

    Examples
    --------
    >>> from aucross.evaluation import risk_at_coverage
    >>> risk_at_coverage([0, 1, 0, 1], [0.9, 0.8, 0.8, 0.6], 0.5)
    0.3333333333333333
    """
    target = check_coverage(coverage)
    curve = risk_coverage_curve(loss, confidence, sample_weight=sample_weight)
    if len(curve.risk) == 0:
        return float("nan")
    return float(curve.risk[np.argmax(curve.coverage >= target - _ROUNDING)])


def coverage_at_risk(
    loss: ArrayLike, confidence: ArrayLike, risk: float, *, sample_weight: ArrayLike | None = None
) -> float:
    """Largest coverage whose selective risk is at most `risk`.

    Parameters
    ----------
    loss, confidence, sample_weight
        As for :func:`risk_coverage_curve`.
    risk : float
        Highest selective risk allowed, not negative.

    Returns
    -------
    float
        NaN if no threshold keeps the risk.

    Notes
    -----
    As in torch-uncertainty. The threshold is chosen on the rows it is judged on, which is optimistic; a bound that
    allows for the choice is :func:`~aucross.evaluation.sgr_bound`.

    Examples
    --------
    >>> from aucross.evaluation import coverage_at_risk
    >>> coverage_at_risk([0, 1, 0, 1], [0.9, 0.8, 0.8, 0.6], 0.4)
    0.75
    """
    if not risk >= 0:
        raise ValueError(f"risk must not be negative, got {risk:g}")
    curve = risk_coverage_curve(loss, confidence, sample_weight=sample_weight)
    allowed = curve.coverage[curve.risk <= risk + _ROUNDING]
    return float(allowed[-1]) if len(allowed) else float("nan")


def coverage_at_accuracy(
    correct: ArrayLike, confidence: ArrayLike, accuracy: float, *, sample_weight: ArrayLike | None = None
) -> float:
    """Largest coverage whose selective accuracy is at least `accuracy` (SAC).

    Parameters
    ----------
    correct, confidence, sample_weight
        As for :func:`accuracy_rejection_curve`.
    accuracy : float in [0, 1]
        Lowest selective accuracy allowed.

    Returns
    -------
    float
        NaN if no threshold keeps the accuracy.

    Notes
    -----
    As in FixSelectiveClassification; the same as :func:`coverage_at_risk` at ``1 - accuracy``.

    Examples
    --------
    >>> from aucross.evaluation import coverage_at_accuracy
    >>> coverage_at_accuracy([True, False, True, False], [0.9, 0.8, 0.8, 0.6], 0.6)
    0.75
    """
    allowed_risk = 1.0 - check_probability(accuracy, "accuracy")
    rows = quality_rows(correct, confidence, sample_weight)
    weight = rows.weight if len(rows.weight) else None
    return coverage_at_risk(rows.loss, rows.confidence, allowed_risk, sample_weight=weight)


class GroupedRows(NamedTuple):
    """Rows merged by confidence, the highest first: mean loss and weight of each tie."""

    loss: FloatArray
    confidence: FloatArray
    weight: FloatArray
    group: IndexArray  # of each row, the index of its tie


def group_ties(rows: LossRows) -> GroupedRows:
    """Merge rows of equal confidence and order the ties from the most confident down."""
    negated, group = np.unique(-rows.confidence, return_inverse=True)
    weight = _sum_by(group, rows.weight)
    return GroupedRows(_sum_by(group, rows.weight * rows.loss) / weight, -negated, weight, group)


def _sum_by(group: IndexArray, values: FloatArray) -> FloatArray:
    return np.bincount(group, weights=values).astype(np.float64)


def _coverages(accepted: FloatArray) -> FloatArray:
    """Accepted weight as a share; the last point is exactly 1."""
    return accepted / accepted[-1] if len(accepted) else accepted


def _rows_and_classes(
    loss: ArrayLike, confidence: ArrayLike, balance_by: ArrayLike | None, sample_weight: ArrayLike | None
) -> tuple[LossRows, IndexArray]:
    """Checked rows and the number of the class of each, one class if nothing is to be balanced."""
    rows = loss_rows(loss, confidence, sample_weight)
    if balance_by is None:
        return rows, np.zeros(len(rows.loss), dtype=np.intp)
    n_rows = len(np.asarray(loss))
    labels = np.asarray(balance_by)
    if labels.shape != (n_rows,):
        raise ValueError(f"balance_by must hold one class per row, got shape {labels.shape} for {n_rows} rows")
    return rows, np.unique(labels[row_weights(sample_weight, n_rows) > 0], return_inverse=True)[1]
