"""Random draws of automatic cases for audit: probabilities, the draw itself, and the number needed per month."""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from math import ceil
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from aucross.audit.audited_auc import FEWEST_OF_A_CLASS, check_probabilities, influences
from aucross.audit.selective_estimate import expected_probability
from aucross.core.bands import check_coverage
from aucross.core.cautious import check_confidence
from aucross.core.ranking import FloatArray, RankedScores, check_scores
from aucross.core.scored_rows import ScoredRows
from aucross.estimators import SelectiveClassifier
from aucross.system.notebook import InWords

# The shortest key that nobody guesses, and the months after which the model will be another one.
_SHORTEST_KEY, _MOST_MONTHS = 16, 24


def audit_probability(
    y_score: ArrayLike, eta: ArrayLike | None = None, *, share: float = 0.02, uniform: float = 0.5
) -> FloatArray:
    """Return the probability with which each automatic case is audited.

    Part of the draws gives all cases equal chances. The rest favours cases whose label is most informative about the
    AUC, in proportion to ``sqrt(eta (1 - eta)) |p - q|``, where p and q are the influences of the case as a positive
    and as a negative.

    Parameters
    ----------
    y_score, eta : array-like of shape (n,)
        Score of each automatic case, and its probability of being positive; without `eta` all chances are equal.
    share : float in (0, 1], default=0.02
        Expected share of cases to audit.
    uniform : float in (0, 1], default=0.5
        Share of draws that give all cases equal chances; no probability is below ``uniform * share``.

    Returns
    -------
    ndarray of shape (n,)
        Probabilities with mean `share`.
    """
    share, uniform = check_coverage(share, name="share"), check_coverage(uniform, name="uniform")
    score = check_scores(y_score, np.size(y_score))
    worth = np.zeros(len(score)) if eta is None else _worth(score, check_probabilities(eta, len(score), "eta"))[0]
    if not worth.any():
        return np.full(len(score), share)
    probability = share * (uniform + (1.0 - uniform) * worth / worth.mean())
    # What is above 1 is given to the cases below it, until the mean is right.
    while (lacking := share * len(score) - np.minimum(probability, 1.0).sum()) > 1e-9 * len(score):
        if not (below := probability < 1.0).any():
            break
        probability = np.minimum(probability, 1.0)
        probability[below] *= 1.0 + lacking / probability[below].sum()
    return np.minimum(probability, 1.0)


def _worth(score: FloatArray, eta: FloatArray, ranked: RankedScores | None = None) -> tuple[FloatArray, FloatArray]:
    """Return how informative the label of each case is about the AUC, and the expected influence of the case."""
    if ranked is None and not 0.0 < eta.mean() < 1.0:
        return np.zeros(len(score)), np.zeros(len(score))
    ranked = RankedScores.from_probabilities(eta, score) if ranked is None else ranked
    as_positive, as_negative = influences(ranked, score)
    worth = np.sqrt(eta * (1.0 - eta)) * np.abs(as_positive - as_negative)
    return worth, eta * as_positive + (1.0 - eta) * as_negative


class AuditDraw:
    """A draw of cases for audit; held-out rows, not the cases of the batch, show how informative a label is."""

    def __init__(self, clf: SelectiveClassifier, share: float, key: bytes, coverage: float | None = None) -> None:
        self.share, self.key, self._mean = check_coverage(share, name="audit"), _checked_key(key), 0.0
        known = clf.held_out_.ranked() if len(clf.classes_) == 2 else None
        if known is not None and 0.0 < known.prevalence < 1.0:
            self._known, rows = known.isotonic(), clf.fitted_.scored_held_out()
            automatic = clf.decide(rows, coverage).selected
            eta = expected_probability(self._known, rows)[automatic]
            if eta.any() and (eta < 1.0).any():
                self._ranked = RankedScores.from_probabilities(eta, rows.score[automatic])
                self._mean = float(np.mean(self._worth(rows)[automatic]))

    def _worth(self, rows: ScoredRows) -> FloatArray:
        return _worth(rows.score, expected_probability(self._known, rows), self._ranked)[0]

    def probability(self, rows: ScoredRows) -> FloatArray:
        """Return the draw probability of each row: half of the draws are uniform, half favour informative labels."""
        if self._mean <= 0.0:
            return np.full(len(rows), self.share)
        return np.minimum(self.share * (0.5 + 0.5 * self._worth(rows) / self._mean), 1.0)


def drawn_for_audit(
    key: bytes, record: str, batch: str, ids: Sequence[Any], probability: ArrayLike
) -> NDArray[np.bool_]:
    """Draw cases for audit by a keyed hash, so that a draw can be repeated but not foreseen without the key.

    Parameters
    ----------
    key : bytes
        Secret of at least 16 bytes, kept outside database and model file.
    record, batch, ids, probability
        Names of the record, of the batch and of each case, and the probability of each case.

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
class AuditPlan(InWords):
    """Number of cases to audit; made by :func:`audit_plan`.

    Attributes
    ----------
    width, n_labels, per_month, months, n_positive, is_reachable : float, int, bool
        `width` of the interval, labels needed (0 if out of reach), audits `per_month`, number of `months`, positives
        expected, and whether the width can be reached.
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
            few = self.n_positive < FEWEST_OF_A_CLASS
            need = f"the AUC needs at least {FEWEST_OF_A_CLASS}" if few else f"{self.width:g} wide needs more"
            told = f"{self.per_month:,} audits a month for {self.months} months would hold about {self.n_positive:.0f}"
            return f"Too few {'positives' if few else 'labels'}: {told} positives, and an interval of {need}."
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
    y_score, eta : array-like of shape (n,)
        Score of each automatic case of one month, and its probability of being positive.
    width : float, default=0.03
        Width of the interval of the AUC.
    per_month : int, optional
        Cases that can be audited per month; by default enough to finish within one month, or all.
    confidence_level, uniform
        Confidence of the interval; share of uniform draws, as in :func:`audit_probability`.

    Returns
    -------
    AuditPlan
        Plan with a ``sentence``, which says "too few positives" if no number of audits suffices.
    """
    score = np.asarray(y_score, dtype=np.float64)
    share_positive = check_probabilities(eta, len(score), "eta")
    if not isinstance(width, Real) or not width > 0.0:
        raise ValueError(f"width must be above 0, got {width!r}; pass 0.03")
    if not 0 < share_positive.sum() < len(score):
        raise ValueError("eta must give both classes a chance: with positives or negatives alone there is no AUC")
    if per_month is not None and (isinstance(per_month, bool) or not isinstance(per_month, Integral) or per_month < 1):
        raise ValueError(f"per_month must be a whole number from 1, got {per_month!r}")
    level = check_confidence(confidence_level, "confidence_level")
    probability = audit_probability(score, share_positive, share=0.01, uniform=uniform)
    # With n labels the variance of the estimate is this over n, as long as no probability reaches 1.
    relative = probability / probability.mean()
    worth, expected = _worth(score, share_positive)
    variance = float(np.mean(np.square(worth) / relative + np.square(expected)))
    n_labels = ceil(variance * (2.0 * -ndtri((1.0 - level) / 2.0) / width) ** 2)
    rate = float(np.mean(relative * share_positive))
    n_needed = max(n_labels, ceil(FEWEST_OF_A_CLASS / max(min(rate, 1.0 - rate), 1e-12)))
    n_month = min(n_needed if per_month is None else int(per_month), len(score))
    is_reachable = (months := ceil(n_needed / n_month)) <= _MOST_MONTHS and variance > 0.0
    months = min(months, _MOST_MONTHS)
    labels = min(n_needed, months * n_month)
    return AuditPlan(width, labels if is_reachable else 0, n_month, months, labels * rate, is_reachable)
