"""Seeded cases: a team's own cases with known answers, mixed in to see how well reviewers find them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv

from aucross.audit.audited_auc import check_share


class DetectionRate(NamedTuple):
    """Share of seeded cases that reviewers answered rightly; made by :func:`detection_rate`.

    Attributes
    ----------
    rate, low, high : float
        Share of right answers, and the ends of its interval; NaN without an answer.
    n_answered : int
        Seeded cases of the class that have an answer.
    """

    rate: float
    low: float
    high: float
    n_answered: int


def detection_rate(
    known: ArrayLike, answered: ArrayLike, confidence_level: float = 0.95
) -> tuple[DetectionRate, DetectionRate]:
    """Return the sensitivity and the specificity of reviewers, from seeded cases.

    Parameters
    ----------
    known : array-like of shape (n,)
        Known answer of each seeded case, 0 or 1.
    answered : array-like of shape (n,)
        Answer of the reviewer, 0 or 1; NaN while there is none.
    confidence_level : float in (0, 1), default=0.95
        Confidence of the intervals, which are those of Clopper and Pearson.

    Returns
    -------
    tuple of two DetectionRate
        Rates for the known positives (sensitivity) and for the known negatives (specificity).

    Examples
    --------
    >>> from aucross.audit import detection_rate
    >>> sensitivity, specificity = detection_rate([1] * 20 + [0] * 10, [1] * 18 + [0] * 12)
    >>> print(sensitivity.rate, round(sensitivity.low, 2), specificity.n_answered)
    0.9 0.68 10
    """
    failure = (1.0 - check_share(confidence_level, "confidence_level", below_one=True)) / 2.0
    truth, answer = np.asarray(known, dtype=np.float64), np.asarray(answered, dtype=np.float64)
    if truth.ndim != 1 or truth.shape != answer.shape:
        raise ValueError(f"known and answered must have one entry per case, got shapes {truth.shape}, {answer.shape}")
    if not np.isin(truth, (0, 1)).all() or not np.isin(answer[~np.isnan(answer)], (0, 1)).all():
        raise ValueError(
            "known must be 0 or 1, and answered 0, 1 or NaN; pass np.where(is_answered, y == positive, np.nan)"
        )
    rates = []
    for chosen in (1.0, 0.0):
        own = answer[(truth == chosen) & ~np.isnan(answer)]
        n, right = len(own), int((own == chosen).sum())
        low = float(betaincinv(right, n - right + 1, failure)) if right else 0.0
        high = float(betaincinv(right + 1, n - right, 1.0 - failure)) if right < n else 1.0
        rates.append(DetectionRate(right / n, low, high, n) if n else DetectionRate(np.nan, np.nan, np.nan, 0))
    return rates[0], rates[1]
