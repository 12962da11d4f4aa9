"""The AUC of automatic decisions, estimated from a random sample of labels with known probabilities.

Audited cases, weighted by one over their draw probability, represent all cases. A second opinion, the probability eta
of being positive, reduces the error. Let m = eta p + (1 - eta) q, where p and q are the influences of a case as a
positive and as a negative. The estimate is the weighted AUC of the audited cases, plus a part of the difference between
the mean of m over all cases and its weighted mean over audited cases.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import hypot, isnan, log, nan, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv, ndtr, ndtri

from aucross.core.bands import check_coverage
from aucross.core.bounds import auc_ends, auc_ends_of_units
from aucross.core.cautious import check_confidence
from aucross.core.ranking import FloatArray, IndexArray, RankedScores, check_scores, check_weights
from aucross.system.notebook import InWords

# Effective labels of a class below which no interval is given, and below which the second opinion is not used, by
# `python -m benchmarks.audit`; share of the drawn cases that must have a label; deviations at which labels are no draw.
FEWEST_OF_A_CLASS, FEWEST_TO_LEARN, FEWEST_LABELLED, _NO_DRAW = 15, 30, 0.98, 5.0
_FEWEST = f"about {FEWEST_OF_A_CLASS} of each"


@dataclass(frozen=True)
class AuditedAUC(InWords):
    """Estimate of the AUC from an audit; made by :func:`audited_auc`.

    Attributes
    ----------
    auc, low, high, standard_error, confidence_level : float
        Estimate with its interval (NaN if unknown), its standard error, and the confidence level of the interval.
    n_effective, opinion_share : float
        Number of uniformly drawn labels that would be as precise alone; weight of the second opinion, from 0 to 1.
    n_labels, n_positive, n_cases, problem, labels, population : int, str
        Numbers of labelled cases, positives and all cases; why there is no interval; words for the labels and cases.
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
    problem: str = ""
    labels: str = field(default="labels", compare=False)
    population: str = field(default="automatic decisions", compare=False)

    @property
    def is_known(self) -> bool:
        """Whether the labels suffice for an interval."""
        return not self.problem

    @property
    def sentence(self) -> str:
        """The result in one sentence."""
        labels = f"{self.n_labels:,} {self.labels} ({self.n_positive:,} positive) of {self.n_cases:,} cases"
        if not self.is_known:
            return f"From {labels} the audit cannot say how good the {self.population} are: {self.problem}."
        return (
            f"The AUC of the {self.population} is {self.auc:.3f}, between {self.low:.3f} and {self.high:.3f} with "
            f"{self.confidence_level:.0%} confidence, from {labels}, worth {self.n_effective:,.0f} labels drawn evenly."
        )

    def change_from(self, auc: float, standard_error: float = 0.0) -> AUCChange:
        """Return the change since the initial validation, given its AUC and standard error (0 if it is exact)."""
        if not 0.0 <= auc <= 1.0 or not standard_error >= 0.0:
            said = f"got {auc!r} and {standard_error!r}; 0 takes the AUC as known"
            raise ValueError(f"auc must be in [0, 1] and standard_error must be at least 0, {said}")
        if not self.is_known:
            return AUCChange(nan, nan, nan, nan)
        # Each end is as far as that of the audit, widened by what is not known of the initial validation.
        change, normal = self.auc - auc, -ndtri((1.0 - self.confidence_level) / 2.0)
        low, high = (hypot(reach, normal * standard_error) for reach in (self.auc - self.low, self.high - self.auc))
        # The end towards the initial AUC tells how many standard errors lie between them.
        quantile = normal * change / max(high if change < 0 else low, 1e-12)
        return AUCChange(change, change - low, change + high, float(2.0 * ndtr(-abs(quantile))))


class AUCChange(NamedTuple):
    """Change of the AUC since the initial validation, ends of its interval, and two-sided p-value; NaN if unknown."""

    change: float
    low: float
    high: float
    p_value: float

    def __str__(self) -> str:
        return self.sentence

    @property
    def sentence(self) -> str:
        """The change in one sentence."""
        if isnan(self.change):
            return "The audit cannot say whether the AUC has changed."
        return (
            f"The AUC has changed by {self.change:+.3f} since the initial validation, between {self.low:+.3f} and "
            f"{self.high:+.3f} (p = {self.p_value:.2g})."
        )


def audited_auc(
    y_score: ArrayLike,
    y_audited: ArrayLike,
    audit_probability: ArrayLike,
    eta: ArrayLike | None = None,
    confidence_level: float = 0.95,
    *,
    sample_weight: ArrayLike | None = None,
    customers: ArrayLike | None = None,
    sensitivity: float = 1.0,
    specificity: float = 1.0,
    anytime: bool = False,
    was_drawn: ArrayLike | None = None,
    labels: str = "labels",
    population: str = "automatic decisions",
) -> AuditedAUC:
    """Estimate the AUC of all cases from labels of a random sample of them.

    Parameters
    ----------
    y_score, y_audited : array-like of shape (n,)
        Score of every case, and the label of each audited case, 0 or 1; NaN where a case was not audited.
    audit_probability : array-like of shape (n,)
        Probability with which each case was drawn for audit, in (0, 1].
    eta : array-like of shape (n,), optional
        Second opinion: probability that each case is positive, from another model, a gate or held-out rows. A wrong
        opinion costs precision, not validity.
    confidence_level : float in (0, 1), default=0.95
        Confidence of the interval.
    sample_weight, customers : array-like of shape (n,), optional
        Weight of each case, and its customer if customers have several cases.
    sensitivity, specificity : float in (0, 1], default=1.0
        Shares of positives and of negatives that the labels identify correctly, if labels are verdicts of people
        instead of outcomes. Within a class, verdicts must not depend on the score.
    anytime : bool, default=False
        Whether the interval must hold at every look while labels arrive. It is wider then.
    was_drawn : array-like of shape (n,), optional
        Whether each case was drawn. There is no interval if more than 2 % of drawn cases have no label yet, or if a
        case that was not drawn has one.
    labels, population : str
        Words for the kind of labels, such as ``"outcomes"``, and for the cases, used in the sentence.

    Returns
    -------
    AuditedAUC
        With ``auc``, ``low``, ``high``, ``n_effective`` and a ``sentence``.

    Notes
    -----
    The interval is for the population from which the cases come, not only for these cases. There is no interval if the
    labelled cases cannot be a random draw with these probabilities. If declined applicants have no outcome, the AUC
    covers only the other cases.

    Examples
    --------
    >>> import numpy as np
    >>> from aucross import audited_auc
    >>> rng = np.random.default_rng(0)
    >>> eta = rng.beta(1, 3, size=20_000)
    >>> y = rng.random(20_000) < eta
    >>> result = audited_auc(eta, np.where(rng.random(20_000) < 0.05, y, np.nan), np.full(20_000, 0.05))
    >>> print(round(result.auc, 2), result.low < result.auc < result.high)
    0.79 True
    """
    score, label, probability, weight, is_drawn = _checked(
        y_score, y_audited, audit_probability, sample_weight, was_drawn
    )
    level, errors = check_confidence(confidence_level, "confidence_level"), _checked_errors(sensitivity, specificity)
    if customers is not None and np.shape(customers) != score.shape:
        raise ValueError(f"customers must hold one value per row, {len(score)}, got shape {np.shape(customers)}")
    units = None if customers is None else np.unique(customers, return_inverse=True)[1]
    opinion = None if eta is None else check_probabilities(eta, len(score), "eta")
    positive = label[audited := np.flatnonzero(~np.isnan(label))] == 1
    counts = (len(audited), int(positive.sum()), len(score))
    labels += f" that find {errors[0]:.0%} of positives and {errors[1]:.0%} of negatives" * (sum(errors) < 2.0)
    result = AuditedAUC(nan, nan, nan, nan, 0.0, *counts, 0.0, level, labels=labels, population=population)
    drawn = weight[audited] / probability[audited]
    if not min(drawn @ positive, drawn @ ~positive) > 0.0:
        found = f"all labels are {int(positive.all())}" if len(audited) else "no audited case has a label yet"
        return replace(result, problem=f"{found}, and it needs {_FEWEST} class")
    ranked = RankedScores.from_labels(positive, score[audited], drawn)
    if not 1.0 - errors[1] < ranked.prevalence < errors[0]:
        verdicts = f"verdicts with sensitivity {errors[0]:g} and specificity {errors[1]:g} are positive in a share"
        range_ = f"between {1.0 - errors[1]:.3g} and {errors[0]:.3g}, and of these {ranked.prevalence:.3g} are"
        return replace(result, problem=f"{verdicts} {range_}")
    auc, as_positive, as_negative = _auc_of_truth(ranked, score[audited], errors)
    alone, of_audited = np.where(positive, as_positive, as_negative), None if units is None else units[audited]
    n_of_class = min(drawn[own].sum() ** 2 / _length(drawn * own, of_audited) ** 2 for own in (positive, ~positive))
    expected, opinion_share = np.zeros(len(score)), 0.0
    if opinion is not None and n_of_class >= FEWEST_TO_LEARN and 0.0 < np.average(opinion, weights=weight) < 1.0:
        said = 1.0 - errors[1] + (sum(errors) - 1.0) * opinion  # probability of a positive verdict
        _, *by_class = _auc_of_truth(RankedScores.from_probabilities(said, score, weight), score, errors)
        expected = said * by_class[0] + (1.0 - said) * by_class[1]
        shares = _shares_of_opinion(score, weight * expected, audited, 1.0 / probability[audited], drawn * alone)
        expected, opinion_share = shares * expected, float(shares.mean())
    total, influence = float(weight.sum()), weight * expected
    influence[audited] += drawn * (alone - expected[audited])
    auc += (float(weight @ expected) - float(drawn @ expected[audited])) / total
    error, spread = _length(influence, units) / total, float(drawn @ np.square(alone)) / drawn.sum()
    told: dict[str, Any] = {"auc": min(max(auc, 0.0), 1.0), "standard_error": error, "opinion_share": opinion_share}
    told["n_effective"] = float(spread / error**2) if error > 0 else float(len(audited))
    problem = _design_problem(score, probability, audited, is_drawn)
    if n_of_class < FEWEST_OF_A_CLASS:
        worth = int(n_of_class + 1e-9)
        problem = f"they are worth {worth} label{'s' * (worth != 1)} of one class, and it needs {_FEWEST}"
    if problem:
        return replace(result, problem=problem, **told | {"standard_error": nan, "n_effective": nan})
    failure = (1.0 - level) / 2.0
    if of_audited is None:
        low, high = auc_ends(ranked, failure)
    else:
        low, high = auc_ends_of_units(positive, score[audited], drawn, of_audited, failure)
    of_verdicts = np.where(positive, *influences(ranked, score[audited]))
    error_alone = _length(drawn * of_verdicts, of_audited) / total
    ratio = error / error_alone if error_alone > 0 else 1.0
    if anytime:
        ratio *= _anytime_ratio(n_of_class, failure)
    low, high = auc - ratio * (ranked.auc() - low), auc + ratio * (high - ranked.auc())
    return replace(result, low=max(low, 0.0), high=min(high, 1.0), **told)


def audited_groups(
    by: ArrayLike, y_score: ArrayLike, y_audited: ArrayLike, audit_probability: ArrayLike, **options: Any
) -> dict[Any, AuditedAUC]:
    """Estimate the AUC of each group of cases from an audit.

    Parameters
    ----------
    by : array-like of shape (n,)
        Group of each case.
    y_score, y_audited, audit_probability, **options
        As in :func:`audited_auc`.

    Returns
    -------
    dict of AuditedAUC
        Estimates by group, in sorted order. The confidence holds for each interval alone: of twenty at 95 %, one is
        expected to miss.
    """
    group = np.asarray(by)
    arrays = {"y_score": y_score, "y_audited": y_audited, "audit_probability": audit_probability}
    arrays |= {name: options.pop(name, None) for name in ("eta", "sample_weight", "customers", "was_drawn")}
    columns = {name: np.asarray(values) for name, values in arrays.items() if values is not None}
    for name, column in columns.items():
        if group.ndim != 1 or column.shape != group.shape:
            raise ValueError(f"by and {name} must hold one entry per case, got shapes {group.shape} and {column.shape}")
    return {
        chosen: audited_auc(**{name: column[group == chosen] for name, column in columns.items()}, **options)
        for chosen in np.unique(group).tolist()
    }


class DetectionRate(NamedTuple):
    """Share of seeded cases (with known answers) that reviewers answered correctly, its interval, and their number."""

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
    known, answered : array-like of shape (n,)
        Known answer of each seeded case (0 or 1), and the reviewer's answer (0 or 1, or NaN if there is none yet).
    confidence_level : float in (0, 1), default=0.95
        Confidence of the intervals of Clopper and Pearson.

    Returns
    -------
    tuple of two DetectionRate
        Rates for the known positives (sensitivity) and for the known negatives (specificity).
    """
    failure = (1.0 - check_confidence(confidence_level, "confidence_level")) / 2.0
    truth, answer = np.asarray(known, dtype=np.float64), np.asarray(answered, dtype=np.float64)
    if truth.ndim != 1 or truth.shape != answer.shape:
        raise ValueError(f"known and answered must have one entry per case, got shapes {truth.shape}, {answer.shape}")
    if not np.isin(truth, (0, 1)).all() or not np.isin(answer[~np.isnan(answer)], (0, 1)).all():
        raise ValueError("known must be 0 or 1, and answered 0, 1 or NaN; pass np.where(is_answered, answer, np.nan)")
    rates = []
    for chosen in (1.0, 0.0):
        own = answer[(truth == chosen) & ~np.isnan(answer)]
        n, right = len(own), int((own == chosen).sum())
        low = float(betaincinv(right, n - right + 1, failure)) if right else 0.0
        high = float(betaincinv(right + 1, n - right, 1.0 - failure)) if right < n else 1.0
        rates.append(DetectionRate(right / n, low, high, n) if n else DetectionRate(np.nan, np.nan, np.nan, 0))
    return rates[0], rates[1]


def influences(ranked: RankedScores, score: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the influence of each row on the AUC of a ranking, if it is positive and if it is negative.

    The mean influence of a sample of rows is, to first order, the AUC of the sample minus that of the ranking.
    """
    first = np.searchsorted(ranked.scores, score, side="left")
    last = np.searchsorted(ranked.scores, score, side="right")  # one further where the score is in the ranking
    negatives_below = (ranked.negatives_below[first] + ranked.negatives_below[last]) / 2.0
    positives_above = (ranked.positives_above[first] + ranked.positives_above[last]) / 2.0
    auc, share = ranked.auc(), ranked.prevalence
    as_positive = (negatives_below / ranked.total_negatives - auc) / share
    as_negative = (positives_above / ranked.total_positives - auc) / (1.0 - share)
    return as_positive, as_negative


def _auc_of_truth(
    ranked: RankedScores, score: FloatArray, errors: tuple[float, float]
) -> tuple[float, FloatArray, FloatArray]:
    """Return the AUC of the true classes from fallible verdicts, and each case's influence as positive and as negative.

    If the verdicts on a class do not depend on the score, (true AUC - 1/2) = factor * (AUC of the verdicts - 1/2). The
    factor follows from sensitivity, specificity and the share of positive verdicts.
    """
    sensitivity, specificity = errors
    auc, share = ranked.auc(), ranked.prevalence
    above, below = share - (1.0 - specificity), sensitivity - share
    factor = (sensitivity + specificity - 1.0) * share * (1.0 - share) / (above * below)
    slope = (auc - 0.5) * factor * (1.0 / share - 1.0 / (1.0 - share) - 1.0 / above + 1.0 / below)
    as_positive, as_negative = influences(ranked, score)
    truth = 0.5 + (auc - 0.5) * factor
    return truth, factor * as_positive + slope * (1.0 - share), factor * as_negative - slope * share


def _length(values: FloatArray, units: IndexArray | None) -> float:
    """Return the root of the sum of squares of values, after summing the values of each unit."""
    return float(np.linalg.norm(values if units is None else np.bincount(units, values)))


def _design_problem(
    score: FloatArray, probability: FloatArray, audited: IndexArray, is_drawn: NDArray[np.bool_]
) -> str:
    """Return why the labelled cases cannot be a draw with these probabilities; an empty text if they can."""
    n_drawn, n_others = int(is_drawn.sum()), int((~is_drawn[audited]).sum())
    if n_others:
        return f"{n_others:,} of the labels are of cases that were not drawn; pass NaN for these"
    if len(audited) < FEWEST_LABELLED * n_drawn:
        return f"only {len(audited):,} of {n_drawn:,} drawn cases have a label, and late ones are unlike the others"
    place = np.empty(len(score))
    place[np.argsort(score, kind="stable")] = np.linspace(-1.0, 1.0, len(score))
    expected = float(probability.sum())
    remedy = "pass the labels of all drawn cases, once they are known, and of no others"
    for measure, problem in (
        (probability, f"these probabilities draw about {expected:,.0f} cases, and other numbers of labels mislead"),
        (np.ones(len(score)), "the labelled cases are not those that these probabilities draw"),
        (place, "one end of the score has too many labels for a draw with these probabilities"),
    ):
        surprise = float((measure / probability)[audited].sum() - measure.sum())
        variance = float(np.square(measure) @ (1.0 / probability - 1.0))
        if abs(surprise) > _NO_DRAW * sqrt(variance) + 1e-6 * len(score):
            return f"{problem}; {remedy}"
    return ""


def _shares_of_opinion(
    score: FloatArray, expected: FloatArray, audited: IndexArray, over_weight: FloatArray, alone: FloatArray
) -> FloatArray:
    """Return for each case the share of the second opinion that minimises the squared influences.

    Cases are split alternately by score into halves; the share of each half is fitted on the other half.
    """
    half = np.empty(len(score), dtype=np.intp)
    half[np.argsort(score, kind="stable")] = np.arange(len(score)) % 2
    unlabelled = np.square(expected)
    unlabelled[audited] = 0.0
    told, shares = (over_weight - 1.0) * expected[audited], np.empty(2)
    for number in (0, 1):
        other = half[audited] != number
        squares = float(told[other] @ told[other] + unlabelled[half != number].sum())
        shares[number] = min(max(float(told[other] @ alone[other]) / max(squares, 1e-300), 0.0), 1.0)
    return shares[half]


def _anytime_ratio(size: float, failure: float) -> float:
    """Return the factor by which an interval must be wider to hold at all looks, by a normal mixture."""
    # Tuned to be narrowest at 100 effective labels (Waudby-Smith et al., "Time-uniform central limit theory").
    both = 2.0 * failure
    tuned = size / 100.0 * (-2.0 * log(both) + log(-2.0 * log(both)) + 1.0)
    return float(sqrt((1.0 + 1.0 / tuned) * log((1.0 + tuned) / both**2)) / -ndtri(failure))


def _checked(
    y_score: ArrayLike,
    y_audited: ArrayLike,
    audit_probability: ArrayLike,
    sample_weight: ArrayLike | None,
    was_drawn: ArrayLike | None,
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, NDArray[np.bool_]]:
    label = _as_numbers(y_audited, "y_audited", "pass np.where(audited, y == positive, np.nan)")
    if label.ndim != 1:
        raise ValueError(f"y_audited must hold one label per case, got shape {label.shape}")
    score = check_scores(y_score, len(label))
    probability = check_probabilities(audit_probability, len(label), "audit_probability", may_be_zero=False)
    weight = np.ones(len(label)) if sample_weight is None else check_weights(sample_weight, len(label))
    known = label[~np.isnan(label)]
    if len(wrong := known[(known != 0.0) & (known != 1.0)]):
        remedy = "pass np.where(audited, y == positive, np.nan)"
        raise ValueError(f"y_audited must be 0 or 1, and NaN for cases not audited, got {wrong[0]:g}; {remedy}")
    is_drawn = ~np.isnan(label) if was_drawn is None else np.asarray(was_drawn)
    if is_drawn.shape != score.shape or is_drawn.dtype != bool:
        raise ValueError(f"was_drawn must hold True or False for each of {len(score)} cases, got {was_drawn!r}")
    return score, label, probability, weight, is_drawn


def _checked_errors(sensitivity: float, specificity: float) -> tuple[float, float]:
    errors = check_coverage(sensitivity, name="sensitivity"), check_coverage(specificity, name="specificity")
    if sum(errors) <= 1.0:
        got = f"got {errors[0]:g} and {errors[1]:g}: such verdicts tell nothing, or the classes are swapped"
        raise ValueError(f"sensitivity and specificity must be above 1 together, {got}")
    return errors


def _as_numbers(values: ArrayLike, name: str, remedy: str) -> FloatArray:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers, got values that are none ({error}); {remedy}") from error


def check_probabilities(values: ArrayLike, n_rows: int, name: str, *, may_be_zero: bool = True) -> FloatArray:
    """Return one probability per case as float64, and refuse anything else."""
    checked = _as_numbers(values, name, "pass probabilities, not labels")
    if checked.shape != (n_rows,):
        raise ValueError(f"{name} must hold one probability per case, {n_rows} in all, got shape {checked.shape}")
    fits = ((checked >= 0.0) if may_be_zero else (checked > 0.0)) & (checked <= 1.0)
    if not fits.all():
        remedy = "" if may_be_zero else "; leave out cases that could not be drawn: no label tells of them"
        got = f"got {checked[~fits][0]:g} for {int((~fits).sum())} of {n_rows} cases{remedy}"
        raise ValueError(f"{name} must be in {'[' if may_be_zero else '('}0, 1] for every case, {got}")
    return checked
