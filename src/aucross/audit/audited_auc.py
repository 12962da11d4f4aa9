"""The AUC of decisions that nobody looked at, from a random sample of labels with known probabilities.

A share of the automatic cases is drawn for audit, case i with probability pi(i), and gets a label. Weighted by 1 / pi
the audited cases stand for all. A second opinion on every case, the probability eta of being positive, says beforehand
what a label will probably be, so that only the surprise adds to the error::

    auc = weighted AUC of audited cases - share * weighted mean of m over audited cases

where m = eta * p + (1 - eta) * q is the influence on the AUC that a case is expected to have, with p and q its
influences as a positive and as a negative. Over all cases m has mean 0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log, nan, sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri

from aucross.core.bounds import auc_ends
from aucross.core.ranking import FloatArray, IndexArray, RankedScores, check_scores, check_weights, effective_size

# Effective audited cases of a class below which no interval is given, and of positives below which the second opinion
# is not used; both chosen by `python -m benchmarks.audit`.
FEWEST_OF_A_CLASS = 15
FEWEST_TO_LEARN = 30


@dataclass(frozen=True)
class AuditedAUC:
    """Estimate of the AUC from an audit; made by :func:`audited_auc`.

    Attributes
    ----------
    auc : float
        Estimate; NaN if the audited cases lack a class.
    low, high : float
        Ends of the interval; NaN if the labels are too few to say.
    standard_error : float
        Standard error of the estimate.
    n_effective : float
        Number of uniformly drawn labels that would have told as much without a second opinion.
    n_labels, n_positive : int
        Audited cases with a label, and positives among them.
    n_cases : int
        All cases.
    opinion_share : float
        Share of the second opinion that was used, from 0 to 1.
    confidence_level : float
        Confidence of the interval.
    """

    auc: float
    low: float
    high: float
    standard_error: float
    n_effective: float
    n_labels: int
    n_positive: int
    n_cases: int
    opinion_share: float
    confidence_level: float

    @property
    def is_known(self) -> bool:
        """Whether the labels suffice for an interval."""
        return bool(np.isfinite(self.low))

    @property
    def sentence(self) -> str:
        """Result of the audit in one sentence."""
        labels = f"{self.n_labels:,} labels ({self.n_positive:,} positive) of {self.n_cases:,} cases"
        if not self.is_known:
            return (
                f"The audit cannot say how good the automatic decisions are: {labels} are too few; it needs about "
                f"{FEWEST_OF_A_CLASS} of each class."
            )
        return (
            f"The AUC of the automatic decisions is {self.auc:.3f}, between {self.low:.3f} and {self.high:.3f} with "
            f"{self.confidence_level:.0%} confidence, from {labels}, worth {self.n_effective:,.0f} labels drawn evenly."
        )

    def fall_p_value(self, auc: float, standard_error: float = 0.0) -> float:
        """Return the p-value of the hypothesis that the AUC has not fallen below an earlier one.

        Parameters
        ----------
        auc : float
            AUC of the initial validation.
        standard_error : float, default=0.0
            Its standard error; 0 takes it as known.

        Returns
        -------
        float
            Small where the audit speaks for a fall; NaN where it cannot say.
        """
        if not self.is_known:
            return nan
        return float(ndtr((self.auc - auc) / max(sqrt(self.standard_error**2 + standard_error**2), 1e-12)))


def audited_auc(
    y_score: ArrayLike,
    y_audited: ArrayLike,
    audit_probability: ArrayLike,
    eta: ArrayLike | None = None,
    confidence_level: float = 0.95,
    *,
    sample_weight: ArrayLike | None = None,
    anytime: bool = False,
) -> AuditedAUC:
    """Estimate the AUC of all cases from labels of a random sample of them.

    Parameters
    ----------
    y_score : array-like of shape (n,)
        Score of every case, audited or not.
    y_audited : array-like of shape (n,)
        Label of each audited case, 0 or 1; NaN where a case was not audited.
    audit_probability : array-like of shape (n,)
        Probability with which each case was drawn for audit, in (0, 1].
    eta : array-like of shape (n,), optional
        Probability of being positive that a second model, a gate or held-out rows give each case. It may be wrong:
        that costs precision, never validity.
    confidence_level : float in (0, 1), default=0.95
        Confidence of the interval.
    sample_weight : array-like of shape (n,), optional
        Weights of the cases; the AUC is then that of the weighted cases.
    anytime : bool, default=False
        Whether the interval must hold at all times together, for an audit that is looked at again and again while
        labels come in. It is wider.

    Returns
    -------
    AuditedAUC
        With ``auc``, ``low``, ``high``, ``n_effective`` and a ``sentence``.

    Notes
    -----
    The interval is for the law behind the cases, not only for the cases at hand. It takes the shape that the weighted
    labels alone would have (:func:`aucross.core.bounds.auc_ends`), narrowed by the ratio of the two standard errors.
    The share of the second opinion that is used is found on one half of the audited cases and applied to the other.

    Labels must be missing at random given the probabilities. Where declined applicants have no outcome, the AUC is that
    of the applicants who were not declined.

    Examples
    --------
    >>> import numpy as np
    >>> from aucross import audited_auc
    >>> rng = np.random.default_rng(0)
    >>> eta = rng.beta(1, 3, size=20_000)
    >>> y = rng.random(20_000) < eta
    >>> audited = rng.random(20_000) < 0.05
    >>> result = audited_auc(eta, np.where(audited, y, np.nan), np.full(20_000, 0.05))
    >>> print(round(result.auc, 2), result.low < result.auc < result.high)
    0.79 True
    """
    score, label, probability, weight = _checked(y_score, y_audited, audit_probability, sample_weight)
    level = _check_level(confidence_level)
    opinion = None if eta is None else check_probabilities(eta, len(score), "eta")
    audited = np.flatnonzero(~np.isnan(label))
    positive = label[audited] == 1
    counts = (len(audited), int(positive.sum()), len(score))
    result = AuditedAUC(nan, nan, nan, nan, 0.0, *counts, opinion_share=0.0, confidence_level=level)
    if positive.all() or not positive.any():
        return result
    drawn = weight[audited] / probability[audited]
    ranked = RankedScores.from_labels(positive, score[audited], drawn)
    alone = _of_class(positive, *influences(ranked, score[audited]))
    expected, opinion_share = np.zeros(len(score)), 0.0
    n_of_class = [effective_size(drawn[positive == chosen]) for chosen in (True, False)]
    if opinion is not None and n_of_class[0] >= FEWEST_TO_LEARN and 0.0 < np.average(opinion, weights=weight) < 1.0:
        expected, opinion_share = _expected_influence(score, opinion, weight, audited=audited, alone=alone, drawn=drawn)
    total = weight.sum()
    surprise = drawn * (alone - expected[audited])
    influence = weight * expected
    influence[audited] += surprise
    auc = ranked.auc() - float(drawn @ expected[audited]) / total + float(weight @ expected) / total
    error = sqrt(float(influence @ influence)) / total
    error_alone = sqrt(float(np.square(drawn * alone).sum())) / total
    result = replace(
        result,
        auc=min(max(auc, 0.0), 1.0),
        standard_error=error,
        n_effective=float(drawn @ np.square(alone)) / drawn.sum() / error**2 if error > 0 else float(len(audited)),
        opinion_share=opinion_share,
    )
    if min(n_of_class) < FEWEST_OF_A_CLASS:
        return result
    failure = (1.0 - level) / 2.0
    low, high = auc_ends(ranked, failure)
    ratio = error / error_alone if error_alone > 0 else 1.0
    if anytime:
        ratio *= _anytime_ratio(min(n_of_class), failure)
    low, high = auc - ratio * (ranked.auc() - low), auc + ratio * (high - ranked.auc())
    return replace(result, low=max(low, 0.0), high=min(high, 1.0))


def influences(ranked: RankedScores, score: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the influence of rows of given scores on the AUC of a ranking, as positives and as negatives.

    Parameters
    ----------
    ranked : RankedScores
        Scores with the weight of each class; both classes have some.
    score : ndarray of shape (n,)
        Scores of the rows.

    Returns
    -------
    tuple of two ndarrays of shape (n,)
        Deviations whose mean over many rows, taken by their class, is the deviation of the AUC.
    """
    first = np.searchsorted(ranked.scores, score, side="left")
    last = np.searchsorted(ranked.scores, score, side="right")  # one further where the score is in the ranking
    negatives_below = (ranked.negatives_below[first] + ranked.negatives_below[last]) / 2.0
    positives_above = (ranked.positives_above[first] + ranked.positives_above[last]) / 2.0
    auc, share = ranked.auc(), ranked.prevalence
    as_positive = (negatives_below / ranked.total_negatives - auc) / share
    as_negative = (positives_above / ranked.total_positives - auc) / (1.0 - share)
    return as_positive, as_negative


def _of_class(positive: NDArray[np.bool_], as_positive: FloatArray, as_negative: FloatArray) -> FloatArray:
    return np.where(positive, as_positive, as_negative)


def _expected_influence(
    score: FloatArray, eta: FloatArray, weight: FloatArray, *, audited: IndexArray, alone: FloatArray, drawn: FloatArray
) -> tuple[FloatArray, float]:
    """Return the expected influence of each case, times the share of it that helps most, and that share.

    Cases are split into two halves along the score. The share of each half is learnt on the audited cases of the
    other, so that it cannot follow the surprises that it is multiplied with.
    """
    as_positive, as_negative = influences(RankedScores.from_probabilities(eta, score, weight), score)
    expected = eta * as_positive + (1.0 - eta) * as_negative
    half = np.empty(len(score), dtype=np.intp)
    half[np.argsort(score, kind="stable")] = np.arange(len(score)) % 2
    unlabelled = np.square(weight * expected)
    unlabelled[audited] = 0.0
    shares = np.empty(2)
    for number in (0, 1):
        # The share that makes the squared influences smallest: of audited cases drawn * alone - share * told, of the
        # others share * weight * expected.
        other = half[audited] != number
        told = (drawn - weight[audited])[other] * expected[audited][other]
        squares = float(told @ told + unlabelled[half != number].sum())
        shares[number] = min(max(float(told @ (drawn * alone)[other]) / max(squares, 1e-300), 0.0), 1.0)
    return shares[half] * expected, float(shares.mean())


def _anytime_ratio(size: float, failure: float) -> float:
    """Return how much wider an interval must be to hold at all times at once, by the mixture of normal laws."""
    # Tuned to be narrowest at 100 effective labels (Waudby-Smith et al., "Time-uniform central limit theory").
    both = 2.0 * failure
    tuned = size / 100.0 * (-2.0 * log(both) + log(-2.0 * log(both)) + 1.0)
    return float(sqrt((1.0 + 1.0 / tuned) * log((1.0 + tuned) / both**2)) / -ndtri(failure))


def _checked(
    y_score: ArrayLike, y_audited: ArrayLike, audit_probability: ArrayLike, sample_weight: ArrayLike | None
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    label = np.asarray(y_audited, dtype=np.float64)
    if label.ndim != 1:
        raise ValueError(f"y_audited must hold one label per case, got shape {label.shape}")
    score = check_scores(y_score, len(label))
    probability = check_probabilities(audit_probability, len(label), "audit_probability", may_be_zero=False)
    weight = np.ones(len(label)) if sample_weight is None else check_weights(sample_weight, len(label))
    known = label[~np.isnan(label)]
    if not len(known):
        raise ValueError("y_audited must hold the label of at least one audited case, got NaN for all cases")
    wrong = known[(known != 0.0) & (known != 1.0)]
    if len(wrong):
        raise ValueError(
            f"y_audited must be 0 or 1, and NaN for cases that were not audited, got {wrong[0]:g}; pass "
            "np.where(audited, y == positive, np.nan)"
        )
    return score, label, probability, weight


def check_probabilities(values: ArrayLike, n_rows: int, name: str, *, may_be_zero: bool = True) -> FloatArray:
    """Return one probability per case as float64, and refuse anything else."""
    checked = np.asarray(values, dtype=np.float64)
    if checked.shape != (n_rows,):
        raise ValueError(f"{name} must hold one probability per case, {n_rows} in all, got shape {checked.shape}")
    fits = ((checked >= 0.0) if may_be_zero else (checked > 0.0)) & (checked <= 1.0)
    if not fits.all():
        raise ValueError(
            f"{name} must be in {'[' if may_be_zero else '('}0, 1] for every case, got {checked[~fits][0]:g} for "
            f"{int((~fits).sum())} of {n_rows} cases"
            + ("" if may_be_zero else "; leave out cases that could not be drawn: no label tells of them")
        )
    return checked


def _check_level(confidence_level: Any) -> float:
    is_number = isinstance(confidence_level, int | float) and not isinstance(confidence_level, bool)
    if not is_number or not 0.0 < confidence_level < 1.0:
        raise ValueError(f"confidence_level must be in (0, 1), got {confidence_level!r}; for 95 % pass 0.95")
    return float(confidence_level)
