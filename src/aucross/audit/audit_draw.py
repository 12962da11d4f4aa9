"""Draw of automatic cases for audit: with which probability, by which draw, and how many a month."""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from aucross.audit.audited_auc import FEWEST_OF_A_CLASS, check_probabilities, check_share, influences
from aucross.audit.selective_estimate import expected_probability
from aucross.core.ranking import FloatArray, RankedScores, check_scores
from aucross.core.scored_rows import ScoredRows
from aucross.estimators import SelectiveClassifier

# The shortest key that nobody guesses.
_SHORTEST_KEY = 16
# A plan of more months than this is none: the model will be another one by then.
_MOST_MONTHS = 24


def audit_probability(
    y_score: ArrayLike, eta: ArrayLike | None = None, *, share: float = 0.02, uniform: float = 0.5
) -> FloatArray:
    """Return the probability with which each automatic case is audited.

    A part is drawn evenly, the rest where a label tells most about the AUC: in proportion to
    ``sqrt(eta (1 - eta)) |p - q|``, with p and q the influences of the case as a positive and as a negative.

    Parameters
    ----------
    y_score : array-like of shape (n,)
        Scores of the automatic cases.
    eta : array-like of shape (n,), optional
        Probability of each case of being positive; without it all cases are drawn evenly.
    share : float in (0, 1], default=0.02
        Expected share of cases to audit.
    uniform : float in (0, 1], default=0.5
        Part of the draws that is even, which bounds every probability from below by ``uniform * share``.

    Returns
    -------
    ndarray of shape (n,)
        Probabilities with mean `share`.

    Examples
    --------
    >>> import numpy as np
    >>> from aucross.audit import audit_probability
    >>> eta = np.linspace(0.01, 0.9, 1000)
    >>> drawn = audit_probability(eta, eta, share=0.1)
    >>> print(drawn.mean().round(3), drawn.min() >= 0.05)
    0.1 True
    """
    share, uniform = check_share(share, "share"), check_share(uniform, "uniform")
    score = np.asarray(y_score, dtype=np.float64)
    score = check_scores(score, score.size)
    if eta is None:
        return np.full(len(score), share)
    worth = np.sqrt(_told_and_expected(score, check_probabilities(eta, len(score), "eta"))[0])
    if not worth.any():
        return np.full(len(score), share)
    probability = share * (uniform + (1.0 - uniform) * worth / worth.mean())
    # What is above 1 is given to the cases below it, until the mean is right.
    while (lacking := share * len(score) - np.minimum(probability, 1.0).sum()) > 1e-9 * len(score):
        open_cases = probability < 1.0
        if not open_cases.any():
            break
        probability = np.minimum(probability, 1.0)
        probability[open_cases] *= 1.0 + lacking / probability[open_cases].sum()
    return np.minimum(probability, 1.0)


def _told_and_expected(score: FloatArray, eta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the expected squared influence of each case's label on the AUC, and the case's expected influence."""
    if not 0.0 < eta.mean() < 1.0:
        return np.zeros(len(score)), np.zeros(len(score))
    as_positive, as_negative = influences(RankedScores.from_probabilities(eta, score), score)
    told = eta * (1.0 - eta) * np.square(as_positive - as_negative)
    return told, eta * as_positive + (1.0 - eta) * as_negative


class AuditDraw:
    """Draw of the automatic cases of a classifier for audit, one by one; `coverage` is the one in force.

    The probability of a case depends on the case and on the fitted classifier, not on the other cases of its batch:
    what a label tells is judged by the held-out rows of the fit that are automatic.
    """

    def __init__(self, clf: SelectiveClassifier, share: float, key: bytes, coverage: float | None = None) -> None:
        self.share, self.key = check_share(share, "audit"), _checked_key(key)
        known = clf.held_out_.ranked() if len(clf.classes_) == 2 else None
        self._known = None if known is None or not 0.0 < known.prevalence < 1.0 else known.isotonic()
        self._mean = 0.0
        if self._known is not None:
            rows = clf.fitted_.scored_held_out()
            automatic = clf.decide(rows, coverage).selected
            eta = expected_probability(self._known, rows)[automatic]
            if eta.any() and (eta < 1.0).any():
                self._ranked = RankedScores.from_probabilities(eta, rows.score[automatic])
                self._mean = float(np.mean(self._worth(rows)[automatic]))

    def _worth(self, rows: ScoredRows) -> FloatArray:
        assert self._known is not None
        eta = expected_probability(self._known, rows)
        as_positive, as_negative = influences(self._ranked, rows.score)
        return np.asarray(np.sqrt(eta * (1.0 - eta)) * np.abs(as_positive - as_negative))

    def probability(self, rows: ScoredRows) -> FloatArray:
        """Return the probability of each row: half of the draws are even, half go to rows whose label tells most."""
        if self._mean <= 0.0:
            return np.full(len(rows), self.share)
        return np.minimum(self.share * (0.5 + 0.5 * self._worth(rows) / self._mean), 1.0)


def drawn_for_audit(
    key: bytes, record: str, batch: str, ids: Sequence[Any], probability: ArrayLike
) -> NDArray[np.bool_]:
    """Draw cases for audit by a keyed hash: a repeated draw is identical, and nobody without the key can foresee it.

    Parameters
    ----------
    key : bytes
        Secret of at least 16 bytes, kept outside database and model file.
    record, batch : str
        Names of the record and of the batch.
    ids : sequence
        Id of each case.
    probability : array-like of shape (n,)
        Probability of each case.

    Returns
    -------
    ndarray of shape (n,), bool
        True for the cases to audit.
    """
    key, wanted = _checked_key(key), check_probabilities(probability, len(ids), "probability")
    # Lengths stand before the texts, so that no two different cases are hashed alike.
    texts = ("".join(f"{len(text)}:{text}" for text in (record, batch, str(case))) for case in ids)
    places = [int.from_bytes(hmac.digest(key, text.encode(), sha256)[:8], "big") for text in texts]
    return np.asarray(places, dtype=np.float64) / 2.0**64 < wanted


def _checked_key(key: Any) -> bytes:
    if not isinstance(key, bytes) or len(key) < _SHORTEST_KEY:
        raise ValueError(f"key must be at least {_SHORTEST_KEY} secret bytes; make one with secrets.token_bytes(32)")
    return key


@dataclass(frozen=True)
class AuditPlan:
    """Number of cases to audit; made by :func:`audit_plan`.

    Attributes
    ----------
    width : float
        Width of the interval that was asked for.
    n_labels, n_positive : int, float
        Labels that it needs in all, 0 if it cannot be reached, and positives expected among them.
    per_month, months : int
        Cases to audit a month, and months until the labels are there.
    is_reachable : bool
        Whether the labels hold enough positives for an interval.
    """

    width: float
    n_labels: int
    per_month: int
    months: int
    n_positive: float
    is_reachable: bool

    @property
    def sentence(self) -> str:
        """The plan in one sentence."""
        if not self.is_reachable:
            return (
                f"Too few positives: {self.per_month:,} audits a month for {self.months} months would hold about "
                f"{self.n_positive:.0f}, and an interval of the AUC needs at least {FEWEST_OF_A_CLASS}."
            )
        return (
            f"Audit {self.per_month:,} cases a month for {self.months} month{'s' * (self.months > 1)} "
            f"({self.n_labels:,} labels, about {self.n_positive:.0f} positive) for an interval {self.width:g} wide."
        )


def audit_plan(
    y_score: ArrayLike,
    eta: ArrayLike,
    *,
    width: float = 0.03,
    per_month: int | None = None,
    confidence_level: float = 0.95,
    uniform: float = 0.5,
) -> AuditPlan:
    """Return how many automatic cases to audit each month, and for how long, to reach an interval of a given width.

    Parameters
    ----------
    y_score : array-like of shape (n,)
        Scores of the automatic cases of one month.
    eta : array-like of shape (n,)
        Probability of each case of being positive.
    width : float, default=0.03
        Width of the interval of the AUC.
    per_month : int, optional
        Cases that can be audited a month; by default as many as one month needs, and at most all.
    confidence_level : float in (0, 1), default=0.95
        Confidence of the interval.
    uniform : float in (0, 1], default=0.5
        Part of the draws that is even, see :func:`audit_probability`.

    Returns
    -------
    AuditPlan
        With a ``sentence``; it says "too few positives" where no number of audits of these cases suffices.
    """
    score = np.asarray(y_score, dtype=np.float64)
    share_positive = check_probabilities(eta, len(score), "eta")
    if not width > 0.0:
        raise ValueError(f"width must be above 0, got {width!r}; pass 0.03")
    if per_month is not None and (isinstance(per_month, bool) or per_month < 1):
        raise ValueError(f"per_month must be a whole number from 1, got {per_month!r}")
    level = check_share(confidence_level, "confidence_level", below_one=True)
    probability = audit_probability(score, share_positive, share=0.01, uniform=uniform)
    # With n labels the variance of the estimate is this over n, as long as no probability reaches 1.
    relative = probability / probability.mean()
    told, expected = _told_and_expected(score, share_positive)
    variance = float(np.mean(told / relative + np.square(expected)))
    n_labels = ceil(variance * (2.0 * -ndtri((1.0 - level) / 2.0) / width) ** 2)
    n_month = min(n_labels, len(score)) if per_month is None else min(int(per_month), len(score))
    rate = float(np.mean(relative * share_positive))
    n_needed = max(n_labels, ceil(FEWEST_OF_A_CLASS / max(min(rate, 1.0 - rate), 1e-12)))
    months = ceil(n_needed / n_month)
    is_reachable = months <= _MOST_MONTHS and variance > 0.0
    months = min(months, _MOST_MONTHS)
    labels = min(n_needed, months * n_month)
    return AuditPlan(width, labels if is_reachable else 0, n_month, months, labels * rate, is_reachable)
