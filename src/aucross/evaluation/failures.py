"""Confidence as a detector of failures: how well it tells correct predictions from wrong ones.

The target is correctness and the score is the confidence, so none of these numbers depends on a threshold or on how
good the predictions are on average.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import average_precision_score, roc_curve

from aucross.core.ranking import as_positive, check_scores
from aucross.evaluation.inputs import ScoredRows, row_weights

FailureTarget = Literal["error", "success"]


def failure_auroc(correct: ArrayLike, confidence: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    """AUC of correctness by confidence.

    Parameters
    ----------
    correct : array-like of shape (n,)
        True where the prediction is correct: boolean, 0/1 or -1/1.
    confidence : array-like of shape (n,)
        Finite confidences.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.

    Returns
    -------
    float
        Share of pairs of a correct and a wrong row in which the correct one has more confidence, ties half. NaN if no
        row or every row is correct.

    Notes
    -----
    As in fd-shifts and in MAPIE.

    Examples
    --------
    >>> from aucross.evaluation import failure_auroc
    >>> failure_auroc([True, True, False, True], [0.9, 0.8, 0.7, 0.6])
    0.6666666666666666
    """
    return _failure_rows(correct, confidence, sample_weight).ranked().auc()


def failure_average_precision(
    correct: ArrayLike,
    confidence: ArrayLike,
    *,
    target: FailureTarget = "error",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Average precision of finding errors by low confidence, or successes by high confidence.

    Parameters
    ----------
    correct, confidence, sample_weight
        As for :func:`failure_auroc`.
    target : {"error", "success"}, default="error"
        What is looked for: wrong rows from the least confident up (AP-error), or correct rows from the most confident
        down (AP-success).

    Returns
    -------
    float
        ``sum_k (recall_k - recall_{k-1}) * precision_k`` over the distinct confidences; NaN if no row is of the target
        kind.

    Notes
    -----
    As in fd-shifts. The chance level is the share of the target kind.

    Examples
    --------
    >>> from aucross.evaluation import failure_average_precision
    >>> failure_average_precision([True, True, False, True], [0.9, 0.8, 0.7, 0.6])
    0.5
    """
    if target not in ("error", "success"):
        raise ValueError(f'target must be "error" or "success", got {target!r}')
    rows = _failure_rows(correct, confidence, sample_weight)
    wanted, score = (~rows.positive, -rows.score) if target == "error" else (rows.positive, rows.score)
    if not wanted.any():
        return float("nan")
    return float(average_precision_score(wanted, score, sample_weight=rows.weight))


def fpr_at_95_tpr(correct: ArrayLike, confidence: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    """Share of wrong rows that are accepted when the threshold accepts at least 95 % of the correct ones.

    Parameters
    ----------
    correct, confidence, sample_weight
        As for :func:`failure_auroc`.

    Returns
    -------
    float
        False positive rate at the highest threshold whose true positive rate is at least 0.95; NaN if no row or every
        row is correct.

    Notes
    -----
    As in fd-shifts; no interpolation between thresholds.

    Examples
    --------
    >>> from aucross.evaluation import fpr_at_95_tpr
    >>> fpr_at_95_tpr([True, True, False, True, False], [0.9, 0.8, 0.7, 0.6, 0.5])
    0.5
    """
    rows = _failure_rows(correct, confidence, sample_weight)
    if rows.positive.all() or not rows.positive.any():
        return float("nan")
    fpr, tpr, _ = roc_curve(rows.positive, rows.score, sample_weight=rows.weight, drop_intermediate=False)
    return float(fpr[np.argmax(tpr >= 0.95 - 1e-12)])  # 19 of 20 rows are 95 % in spite of rounding


def _failure_rows(correct: ArrayLike, confidence: ArrayLike, sample_weight: ArrayLike | None) -> ScoredRows:
    right = as_positive(correct, "correct")
    score = check_scores(confidence, len(right), "confidence")
    weight = row_weights(sample_weight, len(right))
    kept = weight > 0
    return ScoredRows(right[kept], score[kept], weight[kept])
