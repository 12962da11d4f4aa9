"""Accuracy, risk and cost of the answers that are used.

::

                  correct                  wrong
    selected      truly selected  (TS)     falsely selected (FS)
    rejected      falsely rejected (FR)    truly rejected   (TR)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from aucross.evaluation.inputs import answered_rows, weighted_mean
from aucross.evaluation.metrics import metric


@metric(reads="labels", better="higher", label="accuracy of the automatic cases")
def selective_accuracy(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    selected: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Share of correct predictions among the selected rows; also known as non-rejected accuracy (NRA).

    Parameters
    ----------
    y_true : array-like of shape (n,)
        True for positive rows: boolean, 0/1 or -1/1.
    y_pred : array-like of shape (n,)
        Predicted labels in the same form.
    selected : array-like of shape (n,), bool, optional
        True for the rows whose prediction is used; all rows by default.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.

    Returns
    -------
    float
        ``TS / (TS + FS)``; NaN if nothing is selected.

    Notes
    -----
    El-Yaniv & Wiener (2010); NRA of Condessa, Bioucas-Dias & Kovacevic (2017), which is the same number.

    Examples
    --------
    >>> from aucross.evaluation import selective_accuracy
    >>> selective_accuracy([0, 1, 1, 0], [0, 1, 0, 0], [True, True, True, False])
    0.6666666666666666
    """
    positive, predicted, mask, weight = answered_rows(y_true, y_pred, selected, sample_weight)
    return weighted_mean((positive == predicted)[mask], weight[mask])


@metric(reads="labels", better="lower", label="share of errors among the automatic cases")
def selective_risk(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    selected: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Share of wrong predictions among the selected rows.

    Parameters
    ----------
    y_true, y_pred, selected, sample_weight
        As for :func:`selective_accuracy`.

    Returns
    -------
    float
        ``FS / (TS + FS)``; NaN if nothing is selected.

    Notes
    -----
    El-Yaniv & Wiener (2010), with the 0/1 loss. For other losses read
    :func:`~aucross.evaluation.risk_coverage_curve`.

    Examples
    --------
    >>> from aucross.evaluation import selective_risk
    >>> selective_risk([0, 1, 1, 0], [0, 1, 0, 0], [True, True, True, False])
    0.3333333333333333
    """
    positive, predicted, mask, weight = answered_rows(y_true, y_pred, selected, sample_weight)
    return weighted_mean((positive != predicted)[mask], weight[mask])


@metric(reads="labels", better="lower", label="mean cost of a case, reviews included")
def expected_cost(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    selected: ArrayLike | None = None,
    *,
    review_cost: ArrayLike,
    cost_matrix: ArrayLike = ((0.0, 1.0), (1.0, 0.0)),
    sample_weight: ArrayLike | None = None,
) -> float:
    """Mean cost per row, of answers where rows are selected and of review where they are not.

    Parameters
    ----------
    y_true, y_pred, selected, sample_weight
        As for :func:`selective_accuracy`.
    review_cost : float or pair of float
        Cost of a rejected row: one number, or one for negatives and one for positives.
    cost_matrix : array-like of shape (2, 2), default=((0, 1), (1, 0))
        ``cost_matrix[true][predicted]``, negatives first: the default is the 0/1 loss. Gains are negative costs.

    Returns
    -------
    float
        ``sum(w * (selected * cost(y, y_pred) + (1 - selected) * review_cost(y))) / sum(w)``; NaN without rows.

    Notes
    -----
    Chow (1970): with the default matrix and one review cost d, rejecting pays where the error probability exceeds d.

    Examples
    --------
    A missed positive costs 5, a false alarm 1, a review 0.5:

    >>> from aucross.evaluation import expected_cost
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
