"""The effect of review: answers of people compared with those of the machine.

There are two methods. If both answers and the truth are known for reviewed cases, their losses are compared case by
case. If only the answer in use is known, cases in a thin strip at the edges of the band are sent to a person or to the
machine at random, and these two sides are compared: they differ only by the draw.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import nan, sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from aucross.audit.audited_auc import check_probabilities
from aucross.core.cautious import check_confidence
from aucross.core.ranking import FloatArray, effective_size
from aucross.system.notebook import InWords

# Cases of a side below which no interval is given.
FEWEST_CASES = 10

Loss = Callable[[NDArray[Any], NDArray[Any]], ArrayLike]


@dataclass(frozen=True)
class ReviewEffect(InWords):
    """Difference that review makes; made by :func:`review_effect` and :func:`strip_effect`.

    Attributes
    ----------
    effect : float
        Mean loss of the machine minus mean loss of the people: positive if review helps.
    low, high : float
        Ends of the interval; NaN if the cases are too few to say.
    with_review, without_review : float
        Mean loss with review, and without it.
    n_reviewed, n_automatic : int
        Cases with and without review; the same cases if both answers are known.
    confidence_level : float
        Confidence of the interval.
    measure : str
        Name of the loss: the share of wrong answers, or the mean loss.
    """

    effect: float
    low: float
    high: float
    with_review: float
    without_review: float
    n_reviewed: int
    n_automatic: int
    confidence_level: float
    measure: str = "mean loss"

    @property
    def is_known(self) -> bool:
        """Whether the cases suffice for an interval."""
        return bool(np.isfinite(self.low))

    @property
    def sentence(self) -> str:
        """Result in one sentence."""
        if not self.is_known:
            return (
                f"Too few cases to say what review changes: {self.n_reviewed:,} answered by people and "
                f"{self.n_automatic:,} by the machine; {FEWEST_CASES} of each are needed."
            )
        verdict = "lowers" if self.low > 0.0 else "raises" if self.high < 0.0 else "is not seen to change"
        return (
            f"Review {verdict} the {self.measure}, from {self.without_review:.4g} to {self.with_review:.4g}: a "
            f"change of {-self.effect:+.4g}, between {-self.high:+.4g} and {-self.low:+.4g} with "
            f"{self.confidence_level:.0%} confidence."
        )


def review_effect(
    y_true: ArrayLike,
    y_automatic: ArrayLike,
    y_reviewed: ArrayLike,
    *,
    loss: Loss | None = None,
    confidence_level: float = 0.95,
) -> ReviewEffect:
    """Return the effect of review on cases with a known truth and both answers.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        True classes: outcomes, not verdicts of reviewers.
    y_automatic, y_reviewed : array-like of shape (n,)
        Answers of the machine and of the people, on the same cases.
    loss : callable, optional
        ``loss(y_true, y_answer)`` returns the loss of each case, such as money. By default a wrong answer costs 1, so
        that the effect is the gain in the share of right answers.
    confidence_level : float in (0, 1), default=0.95
        Confidence of the interval.

    Returns
    -------
    ReviewEffect
        Effect on the reviewed cases; it may differ for other cases.

    Notes
    -----
    The interval is for paired differences. For the share of right answers, half a case is first added to each of the
    four pairs of right and wrong answers (Agresti and Min 2005), to widen it for few cases or full agreement.

    Examples
    --------
    >>> import numpy as np
    >>> from aucross.audit import review_effect
    >>> y = np.tile([0, 1], 50)
    >>> people, machine = np.where(np.arange(100) < 90, y, 1 - y), np.where(np.arange(100) < 70, y, 1 - y)
    >>> result = review_effect(y, machine, people)
    >>> print(f"{result.effect:.2f} [{result.low:.2f}, {result.high:.2f}]")
    0.20 [0.12, 0.28]
    """
    level = check_confidence(confidence_level, "confidence_level")
    truth, automatic, reviewed = (np.asarray(labels) for labels in (y_true, y_automatic, y_reviewed))
    for name, labels in (("y_automatic", automatic), ("y_reviewed", reviewed)):
        if truth.ndim != 1 or labels.shape != truth.shape:
            raise ValueError(f"{name} must hold one answer per case, {truth.shape}, got shape {labels.shape}")
    if loss is None:
        machine, people = (automatic != truth).astype(np.float64), (reviewed != truth).astype(np.float64)
        added = np.array([1.0, -1.0, 0.0, 0.0])  # half a case each: people right, machine right, both, neither
    else:
        machine, people = (_losses(loss, truth, answers) for answers in (automatic, reviewed))
        added = np.empty(0)
    n_cases, difference = len(truth), machine - people
    means = (float(people.mean()), float(machine.mean())) if n_cases else (nan, nan)
    effect, low, high = means[1] - means[0], nan, nan
    if n_cases >= FEWEST_CASES:
        size = n_cases + len(added) / 2.0
        centre = (difference.sum() + added.sum() / 2.0) / size
        squares = np.square(difference - centre).sum() + np.square(added - centre).sum() / 2.0
        reach = _t_quantile(level, size - 1.0) * sqrt(squares / (size - 1.0) / size)
        low, high = float(centre - reach), float(centre + reach)
    measure = "share of wrong answers" if loss is None else "mean loss"
    return ReviewEffect(effect, low, high, *means, n_cases, n_cases, confidence_level=level, measure=measure)


def strip_effect(
    loss: ArrayLike, reviewed: ArrayLike, probability: ArrayLike, *, confidence_level: float = 0.95
) -> ReviewEffect:
    """Return the effect of review at the edges of the band, from cases sent to review at random.

    Parameters
    ----------
    loss : array-like of shape (n,)
        Loss of the answer that was used on each case of the strip: 1 for a wrong and 0 for a right answer, or money.
    reviewed : array-like of shape (n,), bool
        True for cases that were drawn for review.
    probability : array-like of shape (n,)
        Probability with which each case was drawn for review, strictly between 0 and 1.
    confidence_level : float in (0, 1), default=0.95
        Confidence of the interval.

    Returns
    -------
    ReviewEffect
        Effect on the cases of the strip.

    Notes
    -----
    Each case is weighted by one over the probability of its side. For losses of 0 and 1, one right and one wrong answer
    are added to each side first (Agresti and Caffo 2000), so that a side without errors still has an interval.
    """
    level = check_confidence(confidence_level, "confidence_level")
    values, drawn = np.asarray(loss, dtype=np.float64), np.asarray(reviewed)
    if values.ndim != 1 or drawn.dtype != np.bool_ or drawn.shape != values.shape:
        raise ValueError(
            "loss and reviewed must hold one number and one boolean per case, got shapes "
            f"{values.shape} and {drawn.shape} of {drawn.dtype}"
        )
    if not np.isfinite(values).all():
        raise ValueError("loss must be finite for every case; leave out cases whose outcome is not known yet")
    chance = check_probabilities(probability, len(values), "probability", may_be_zero=False)
    if (chance >= 1.0).any():
        raise ValueError("probability must be below 1: a case that is always reviewed tells nothing of the machine")
    is_share = bool(((values == 0.0) | (values == 1.0)).all())
    sides = [
        _side(values[side], 1.0 / share[side], is_share) for side, share in ((drawn, chance), (~drawn, 1 - chance))
    ]
    (with_review, *_), (without_review, *_) = sides
    counts = (int(drawn.sum()), int((~drawn).sum()))
    low = high = nan
    if min(counts) >= FEWEST_CASES:
        centre = sides[1][1] - sides[0][1]
        reach = _t_quantile(level, min(counts) - 1.0) * sqrt(sides[0][2] + sides[1][2])
        low, high = centre - reach, centre + reach
    means = (without_review - with_review, low, high, with_review, without_review)
    measure = "share of wrong answers" if is_share else "mean loss"
    return ReviewEffect(*means, *counts, confidence_level=level, measure=measure)


def _side(values: FloatArray, weight: FloatArray, is_share: bool) -> tuple[float, float, float]:
    """Return the weighted mean of one side, the centre of its interval and the variance of that centre."""
    if not len(values):
        return nan, nan, nan
    mean, size = float(np.average(values, weights=weight)), effective_size(weight)
    if is_share:
        centre = (mean * size + 1.0) / (size + 2.0)
        return mean, centre, centre * (1.0 - centre) / (size + 2.0)
    spread = float(np.square(weight * (values - mean)).sum()) / weight.sum() ** 2
    return mean, mean, spread * size / max(size - 1.0, 1.0)


def _losses(loss: Loss, truth: NDArray[Any], answers: NDArray[Any]) -> FloatArray:
    values = np.asarray(loss(truth, answers), dtype=np.float64)
    if values.shape != truth.shape or not np.isfinite(values).all():
        raise ValueError(f"loss must return one finite number per case, {truth.shape}, got shape {values.shape}")
    return values


def _t_quantile(level: float, freedom: float) -> float:
    return float(stdtrit(freedom, (1.0 + level) / 2.0))
