"""Accept and reject as decisions: accuracy and risk of what is answered, quality and cost of the split.

::

                  correct                wrong
    accepted      true accept  (TA)      false accept (FA)
    rejected      false reject (FR)      true reject  (TR)      right and wrong decisions to accept or reject
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from aucross.evaluation.inputs import answered_rows, check_probability, weighted_mean


class _Decisions(NamedTuple):
    """Weight of the four kinds of decision."""

    true_accepts: float
    false_accepts: float
    false_rejects: float
    true_rejects: float

    @classmethod
    def of(
        cls, y_true: ArrayLike, y_pred: ArrayLike, selected: ArrayLike | None, sample_weight: ArrayLike | None
    ) -> _Decisions:
        rows = answered_rows(y_true, y_pred, selected, sample_weight)
        accepted, correct = rows.selected, rows.correct
        cells = (accepted & correct, accepted & ~correct, ~accepted & correct, ~accepted & ~correct)
        return cls(*(float(rows.weight[cell].sum()) for cell in cells))


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
        ``TA / (TA + FA)``; NaN if nothing is selected.

    Notes
    -----
    El-Yaniv & Wiener (2010); NRA of Condessa, Bioucas-Dias & Kovacevic (2017), which is the same number.

    Examples
    --------
    >>> from aucross.evaluation import selective_accuracy
    >>> selective_accuracy([0, 1, 1, 0], [0, 1, 0, 0], [True, True, True, False])
    0.6666666666666666
    """
    rows = answered_rows(y_true, y_pred, selected, sample_weight)
    return weighted_mean(rows.correct[rows.selected], rows.weight[rows.selected])


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
        ``FA / (TA + FA)``; NaN if nothing is selected.

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
    rows = answered_rows(y_true, y_pred, selected, sample_weight)
    return weighted_mean(~rows.correct[rows.selected], rows.weight[rows.selected])


def generalized_risk(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    selected: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Probability of an accepted error: wrong and selected rows among all rows.

    Parameters
    ----------
    y_true, y_pred, selected, sample_weight
        As for :func:`selective_accuracy`.

    Returns
    -------
    float
        ``FA / (TA + FA + FR + TR)``, which is selective risk times coverage; NaN without rows.

    Notes
    -----
    Traub et al. (NeurIPS 2024).

    Examples
    --------
    >>> from aucross.evaluation import generalized_risk
    >>> generalized_risk([0, 1, 1, 0], [0, 1, 0, 0], [True, True, True, False])
    0.25
    """
    rows = answered_rows(y_true, y_pred, selected, sample_weight)
    return weighted_mean(rows.selected & ~rows.correct, rows.weight)


def classification_quality(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    selected: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Share of right decisions: correct rows accepted and wrong rows rejected.

    Parameters
    ----------
    y_true, y_pred, selected, sample_weight
        As for :func:`selective_accuracy`.

    Returns
    -------
    float
        ``(TA + TR) / (TA + FA + FR + TR)``; NaN without rows.

    Notes
    -----
    Condessa, Bioucas-Dias & Kovacevic (2017); scikit-fallback calls it predict-reject accuracy.

    Examples
    --------
    >>> from aucross.evaluation import classification_quality
    >>> classification_quality([0, 1, 1, 0], [0, 1, 0, 0], [True, True, False, False])
    0.75
    """
    rows = answered_rows(y_true, y_pred, selected, sample_weight)
    return weighted_mean(rows.selected == rows.correct, rows.weight)


def rejection_quality(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    selected: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Odds of a wrong row among the rejected rows against its odds among all rows.

    Parameters
    ----------
    y_true, y_pred, selected, sample_weight
        As for :func:`selective_accuracy`.

    Returns
    -------
    float
        ``(TR / FR) / ((TR + FA) / (FR + TA))``. 1 is rejection at random, and the value if nothing is rejected;
        infinite if only wrong rows are rejected. NaN without rows, or if correct rows are rejected although none is
        wrong.

    Notes
    -----
    Condessa, Bioucas-Dias & Kovacevic (2017).

    Examples
    --------
    >>> from aucross.evaluation import rejection_quality
    >>> rejection_quality([0, 1, 1, 0], [0, 1, 0, 0], [True, True, False, False])
    3.0
    """
    accepted_correct, accepted_wrong, rejected_correct, rejected_wrong = _Decisions.of(
        y_true, y_pred, selected, sample_weight
    )
    wrong, correct = accepted_wrong + rejected_wrong, accepted_correct + rejected_correct
    if wrong + correct == 0:
        return float("nan")
    if rejected_wrong + rejected_correct == 0:
        return 1.0
    if rejected_correct == 0:
        return float("inf")
    return (rejected_wrong / rejected_correct) * (correct / wrong) if wrong > 0 else float("nan")


def predict_reject_recall(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    selected: ArrayLike | None = None,
    *,
    beta: float = 0.5,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Mean of two recalls: correct rows that are accepted and wrong rows that are rejected.

    Parameters
    ----------
    y_true, y_pred, selected, sample_weight
        As for :func:`selective_accuracy`.
    beta : float in [0, 1], default=0.5
        Weight of the recall of correct rows.

    Returns
    -------
    float
        ``beta * TA / (TA + FR) + (1 - beta) * TR / (TR + FA)``; NaN if a recall that counts has no rows.

    Notes
    -----
    As in scikit-fallback.

    Examples
    --------
    >>> from aucross.evaluation import predict_reject_recall
    >>> predict_reject_recall([0, 1, 1, 0, 1], [0, 1, 0, 0, 1], [True, True, False, True, False])
    0.875
    """
    share = check_probability(beta, "beta")
    cells = _Decisions.of(y_true, y_pred, selected, sample_weight)
    correct, wrong = cells.true_accepts + cells.false_rejects, cells.true_rejects + cells.false_accepts
    if (share > 0 and correct == 0) or (share < 1 and wrong == 0):
        return float("nan")
    recall_of_correct = cells.true_accepts / correct if share > 0 else 0.0
    recall_of_wrong = cells.true_rejects / wrong if share < 1 else 0.0
    return share * recall_of_correct + (1 - share) * recall_of_wrong


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
    rows = answered_rows(y_true, y_pred, selected, sample_weight)
    true, predicted = rows.positive.astype(np.intp), rows.predicted.astype(np.intp)
    cost = np.where(rows.selected, costs[true, predicted], np.broadcast_to(review, 2)[true])
    return weighted_mean(cost, rows.weight)
