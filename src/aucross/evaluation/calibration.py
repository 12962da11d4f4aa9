"""Probabilities of selected rows: Brier score, its skill, log-loss and expected calibration error."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import log_loss

from aucross.core.ranking import equal_parts
from aucross.evaluation.inputs import SelectedRows, selected_rows, weighted_mean
from aucross.evaluation.metrics import metric

BinStrategy = Literal["uniform", "quantile"]


@metric(reads="scores", better="lower", label="Brier score of the automatic cases")
def selective_brier(
    y_true: ArrayLike,
    y_score: ArrayLike,
    selected: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Brier score of the selected rows: the mean squared distance of probability and outcome.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        True for positive rows: boolean, 0/1 or -1/1.
    y_score : array-like of shape (n,)
        Probabilities of the positive class, in [0, 1].
    selected : array-like of shape (n,), bool, optional
        True for the rows whose prediction is used; all rows by default.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.

    Returns
    -------
    float
        ``sum(w * (y_score - y)^2) / sum(w)`` over selected rows; NaN if nothing is selected.

    Notes
    -----
    Brier (1950), on selected rows as is common practice.

    Examples
    --------
    >>> from aucross.evaluation import selective_brier
    >>> selective_brier([0, 1, 1], [0.0, 0.5, 0.1], [True, True, False])
    0.125
    """
    rows = _probability_rows(y_true, y_score, selected, sample_weight)
    return weighted_mean((rows.score - rows.positive) ** 2, rows.weight)


@metric(reads="scores", better="lower", label="log loss of the automatic cases")
def selective_log_loss(
    y_true: ArrayLike,
    y_score: ArrayLike,
    selected: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Log-loss of the selected rows.

    Parameters
    ----------
    y_true, y_score, selected, sample_weight
        As for :func:`selective_brier`.

    Returns
    -------
    float
        ``-sum(w * (y log p + (1 - y) log(1 - p))) / sum(w)`` over selected rows; NaN if nothing is selected.

    Notes
    -----
    :func:`sklearn.metrics.log_loss` on the selected rows. It moves probabilities of 0 and 1 inside by the machine
    precision, so a certain and wrong row costs 36 and not infinity.

    Examples
    --------
    >>> from aucross.evaluation import selective_log_loss
    >>> round(selective_log_loss([0, 1, 1], [0.5, 0.5, 0.1], [True, True, False]), 4)
    0.6931
    """
    rows = _probability_rows(y_true, y_score, selected, sample_weight)
    if len(rows.weight) == 0:
        return float("nan")
    return float(log_loss(rows.positive, rows.score, sample_weight=rows.weight, labels=[False, True]))


@metric(reads="scores", better="lower", label="calibration error (ECE) of the automatic cases")
def expected_calibration_error(
    y_true: ArrayLike,
    y_score: ArrayLike,
    selected: ArrayLike | None = None,
    *,
    n_bins: int = 10,
    strategy: BinStrategy = "uniform",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Expected calibration error (ECE) of the selected rows' positive-class probabilities.

    Parameters
    ----------
    y_true, y_score, selected, sample_weight
        As for :func:`selective_brier`.
    n_bins : int, default=10
        Number of bins.
    strategy : {"uniform", "quantile"}, default="uniform"
        ``"uniform"``: bins of equal width, ``(a, b]`` as in :func:`sklearn.calibration.calibration_curve`.
        ``"quantile"``: bins of equal weight; a row's bin follows from the middle of its tie in the ranking, so equal
        scores share a bin.

    Returns
    -------
    float
        ``sum_b (w_b / w) * |mean score in b - positive rate in b|`` over the bins that hold rows; NaN if nothing is
        selected.

    Notes
    -----
    Naeini, Cooper & Hauskrecht (2015), for the probability of the positive class; common practice. The value depends on
    the bins: state them.

    Examples
    --------
    >>> from aucross.evaluation import expected_calibration_error
    >>> round(expected_calibration_error([0, 1, 1, 1], [0.25, 0.25, 0.75, 0.75], n_bins=2), 4)
    0.25
    """
    if n_bins < 1:
        raise ValueError(f"n_bins must be at least 1, got {n_bins}")
    if strategy not in ("uniform", "quantile"):
        raise ValueError(f'strategy must be "uniform" or "quantile", got {strategy!r}')
    rows = _probability_rows(y_true, y_score, selected, sample_weight)
    if len(rows.weight) == 0:
        return float("nan")
    if strategy == "uniform":
        bins = np.searchsorted(np.linspace(0.0, 1.0, n_bins + 1)[1:-1], rows.score)
    else:
        bins = equal_parts(rows.score, rows.weight, n_bins)
    # The weight of a bin cancels: w_b * |mean score - positive rate| = |sum of w * (score - y)|.
    excess = np.bincount(bins, weights=rows.weight * (rows.score - rows.positive), minlength=n_bins)
    return float(np.abs(excess).sum() / rows.weight.sum())


def _probability_rows(
    y_true: ArrayLike, y_score: ArrayLike, selected: ArrayLike | None, sample_weight: ArrayLike | None
) -> SelectedRows:
    score = np.asarray(y_score, dtype=np.float64)
    outside = (score < 0) | (score > 1)
    if outside.any():
        raise ValueError(
            f"y_score must be probabilities in [0, 1], got {score[outside].flat[0]:g}; "
            "pass predict_proba, or calibrate the scores first"
        )
    return selected_rows(y_true, score, selected, sample_weight)
