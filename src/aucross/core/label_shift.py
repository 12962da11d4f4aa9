"""Class probabilities of unlabelled rows, corrected for changed shares of the classes.

If only the share of each class changes between training and use, while each class keeps its distribution, then the
probability of class k changes from p_k to a value proportional to p_k * new_share_k / old_share_k. The new shares must
equal the mean of the corrected probabilities; an EM iteration finds this fixed point, and its likelihood never
falls (Saerens, Latinne and Decaestecker 2002).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from aucross.core.ranking import FloatArray, RankedScores, effective_size
from aucross.core.scored_rows import RuleInput

# The shares that validators look at have three digits; the iteration stops far below.
_TOLERANCE = 1e-9
_MAX_ITERATIONS = 2000

# The share of a class may change by this factor at most. Where other things changed than the shares the iteration runs
# to 0 or 1 without a word; a factor of ten is more than any crisis brings.
MOST_CHANGE = 10.0

# Scores of new rows are compared with what a mixture of the classes would give in so many bins of equal size.
_BINS = 10
# Chance that explains a misfit, and the share of rows in other bins than expected from which on it matters.
_LEAST_CHANCE, _LEAST_MISFIT = 1e-3, 0.08


@dataclass(frozen=True)
class LabelShift:
    """Estimated class shares of unlabelled rows, assuming that nothing else has changed.

    Attributes
    ----------
    before, share : float, or tuple of float for more than two classes
        Share of positives, or of each class, among the rows of the fit (`before`), and estimated among new rows.
    misfit : float
        Share of the new rows that no mixture of the classes explains.
    chance : float
        Probability of so large a misfit if only the shares have changed.
    low, high : float or None
        95 % interval of the share of positives, valid if only the shares have changed and fitted and new rows are
        scored alike.
    """

    before: float | tuple[float, ...]
    share: float | tuple[float, ...]
    misfit: float
    chance: float
    low: float | None = None
    high: float | None = None

    @property
    def is_at_limit(self) -> bool:
        """Whether the estimate for a class reached the largest change that is allowed."""
        new, old = np.asarray(self.share), np.asarray(self.before)
        ratios = np.append(new / old, (1 - new) / (1 - old) if new.ndim == 0 else ())
        return bool(((ratios < 1.01 / MOST_CHANGE) | (ratios > MOST_CHANGE / 1.01)).any())

    @property
    def is_plausible(self) -> bool:
        """Whether the scores are consistent with a change of class shares alone."""
        return not self.is_at_limit and (self.chance >= _LEAST_CHANCE or self.misfit < _LEAST_MISFIT)

    def __str__(self) -> str:
        share, before = (", ".join(f"{value:.3f}" for value in np.atleast_1d(of)) for of in (self.share, self.before))
        estimate, of, classes, what = f"shares {share} of the classes", "rows", "classes", "the shares"
        if self.low is not None:
            estimate = f"{share} positives ({self.low:.3f} to {self.high:.3f})"
            of, classes, what = "scores", "two classes", "the share of positives"
        estimate += f", {before} in the fit"
        if self.is_plausible:
            return f"{estimate}, if nothing else has changed."
        misfit = f"{self.misfit:.0%} of the {of} lie where no mixture of the {classes} would put them"
        reason = "the estimate ran to its limit" if self.is_at_limit else misfit
        return f"{estimate}: {reason}, so more than {what} has changed."


def class_shares(probabilities: FloatArray, sample_weight: FloatArray | None = None) -> FloatArray:
    """Return the mean probability of each class, shape (n_classes,)."""
    return np.asarray(np.average(probabilities, axis=0, weights=sample_weight), dtype=np.float64)


def with_share_ratio(probabilities: FloatArray, ratio: FloatArray) -> FloatArray:
    """Return the probabilities after multiplying the share of each class by `ratio`, shape (n, n_classes)."""
    corrected = probabilities * ratio
    total = corrected.sum(axis=1, keepdims=True)
    # A row that only classes now absent could explain keeps its probabilities.
    kept: FloatArray = np.divide(corrected, total, out=probabilities.astype(np.float64), where=total > 0)
    return kept


def share_ratio(probabilities: FloatArray, shares: FloatArray, sample_weight: FloatArray | None = None) -> FloatArray:
    """Estimate the ratio of new to old class shares from unlabelled rows, given probabilities under the old shares."""
    # Rows of equal probabilities, to six digits, are one: an iteration costs thousands of rows, not millions.
    distinct, place = np.unique(probabilities.round(6), axis=0, return_inverse=True)
    weight = np.bincount(place.ravel(), weights=sample_weight).astype(np.float64)
    old = np.maximum(shares, np.finfo(float).tiny)
    new = old
    for _ in range(_MAX_ITERATIONS):
        moved = _bounded(class_shares(with_share_ratio(distinct, new / old), weight), old)
        converged = np.abs(moved - new).max() < _TOLERANCE
        new = moved
        if converged:
            break
    return np.asarray(new / old)


def _bounded(new: FloatArray, old: FloatArray) -> FloatArray:
    """Return shares that add up to 1, each within the allowed factor of its old value."""
    bounded = np.clip(new, old / MOST_CHANGE, np.minimum(old * MOST_CHANGE, 1.0))
    return np.asarray(np.clip(bounded / bounded.sum(), old / MOST_CHANGE, np.minimum(old * MOST_CHANGE, 1.0)))


def estimate_label_shift(
    fitted: RankedScores, scores: FloatArray, sample_weight: FloatArray | None = None, *, n_counted: float | None = None
) -> LabelShift:
    """Estimate the share of positives among unlabelled rows, with its error and a check of the assumption.

    `fitted` ranks the labelled rows of the fit. If each score stands for many rows, `n_counted` is their number.
    """
    smooth = fitted.isotonic()
    both, old = _of_both_classes(smooth, RuleInput.of_score(scores)), _shares(fitted)
    share = float(share_ratio(both, old, sample_weight)[1] * old[1])
    weight = np.ones(len(scores)) if sample_weight is None else sample_weight / sample_weight.mean()
    slope = _slope_of_mixture(both, old, share)
    # Scores that stand for all rows that have them have numbers of rows for weights; others count by their squares.
    squares = weight * len(scores) / n_counted if n_counted is not None else weight**2
    rise = float(weight @ slope**2) / len(scores) * _share_of_rise(fitted, share)
    # The new rows are a sample, and so are the rows that tell how each class scores, and with them the rise (Fieller).
    of_classes, of_rise = (_variance_of_classes(fitted, smooth, share, parts) for parts in ((share, 1 - share), (1, 1)))
    variance, steep = float(squares @ slope**2) / len(scores) ** 2 + of_classes, rise**2 - 1.96**2 * of_rise
    margin = 1.96 * sqrt(variance / steep) if steep > 0 else 1.0
    misfit, chance = _misfit(fitted, scores, weight, share, n_counted or effective_size(weight))
    return LabelShift(float(old[1]), share, misfit, chance, max(share - margin, 0.0), min(share + margin, 1.0))


def _slope_of_mixture(both: FloatArray, old: FloatArray, share: float) -> FloatArray:
    """Return the derivative of each row's log-likelihood with respect to the share of positives in a mixture."""
    negative, positive = (both / old).T
    density = np.maximum(share * positive + (1 - share) * negative, np.finfo(float).tiny)
    slope: FloatArray = (positive - negative) / density
    return slope


def _variance_of_classes(fitted: RankedScores, smooth: RankedScores, share: float, parts: tuple[float, float]) -> float:
    """Return the variance, from the fitted rows, of the mean slope in a mixture of `parts` positives and negatives."""
    slope = _slope_of_mixture(_of_both_classes(smooth, RuleInput.of_score(fitted.scores)), _shares(fitted), share)
    variance = 0.0
    for of_mixture, powers in zip(parts, fitted.class_powers, strict=True):
        mean = np.average(slope, weights=powers[1])
        variance += of_mixture**2 * float(powers[2] @ (slope - mean) ** 2) / float(powers[1].sum()) ** 2
    return variance


def _share_of_rise(fitted: RankedScores, share: float) -> float:
    """Return the share of the slope's rise that remains on rows to which the curve was not fitted.

    A curve overfits its own rows, so one curve is fitted to each half of the rows and judged on the other half.
    """
    n_rows = np.floor(fitted.class_powers[:, 0])
    drawn = np.random.default_rng(0).binomial(n_rows.astype(np.int64), 0.5) / np.maximum(n_rows, 1.0)
    halves = [fitted.class_powers * part[:, None] for part in (drawn, 1.0 - drawn)]
    if min(half[:, 1].sum(axis=-1).min() for half in halves) <= 0.0:
        return 0.0
    rises = []
    for own, other in (halves, halves[::-1]):
        ranked = RankedScores.of_powers(fitted.scores, own)
        both = _of_both_classes(ranked.isotonic(), RuleInput.of_score(fitted.scores))
        slope = _slope_of_mixture(both, _shares(ranked), share)
        rises.append(
            [np.average(slope, weights=half[0, 1]) - np.average(slope, weights=half[1, 1]) for half in (own, other)]
        )
    of_own, of_other = np.sum(rises, axis=0)
    return min(max(float(of_other / of_own), 0.0), 1.0) if of_own > 0.0 else 0.0


def _misfit(
    fitted: RankedScores, scores: FloatArray, weight: FloatArray, share: float, n_rows: float
) -> tuple[float, float]:
    """Return the share of rows in wrong bins, compared with a mixture of the classes, and its p-value."""
    cuts = np.unique([fitted.score_at(fitted.total * part / _BINS) for part in range(1, _BINS)])
    bins = np.searchsorted(cuts, fitted.scores, side="left")
    classes = (fitted.negatives, fitted.positives)
    of_class = [np.bincount(bins, values, len(cuts) + 1) / values.sum() for values in classes]
    expected = (1 - share) * of_class[0] + share * of_class[1]
    found = np.bincount(np.searchsorted(cuts, scores, side="left"), weight, len(cuts) + 1) / weight.sum()
    return _difference(found, expected, 1.0 / (1.0 / n_rows + 1.0 / fitted.total), n_classes=2)


def _difference(found: FloatArray, expected: FloatArray, size: float, *, n_classes: int) -> tuple[float, float]:
    """Return the share of rows in other bins than expected, and its p-value at an effective number of rows."""
    used = expected > 0
    statistic = size * float(((found - expected)[used] ** 2 / expected[used]).sum())
    # The bins add up to 1, and so do the shares of the classes, which were estimated.
    freedom = float(max(int(used.sum()) - n_classes, 1))
    return float(np.abs(found - expected).sum() / 2), float(chdtrc(freedom, statistic))


def estimate_class_shift(
    fitted: FloatArray,
    labels: NDArray[np.intp],
    new: FloatArray,
    fitted_weight: FloatArray | None = None,
    new_weight: FloatArray | None = None,
) -> LabelShift:
    """Estimate the share of each class among unlabelled rows, with a check of the assumption.

    `fitted` holds the class probabilities of the labelled rows, and `labels` the column of each row's class.
    """
    old, n_classes = class_shares(fitted, fitted_weight), fitted.shape[1]
    share = share_ratio(new, old, new_weight) * old
    weights = [
        np.ones(len(rows)) if weight is None else weight
        for rows, weight in ((fitted, fitted_weight), (new, new_weight))
    ]
    # A bin is the most probable class and a third of how probable it is.
    cuts = np.quantile(fitted.max(axis=1), (1 / 3, 2 / 3))
    bins = [rows.argmax(axis=1) * 3 + np.searchsorted(cuts, rows.max(axis=1)) for rows in (fitted, new)]
    counts = np.bincount(labels * 3 * n_classes + bins[0], weights[0], 3 * n_classes**2).reshape(n_classes, -1)
    of_class = counts / np.maximum(counts.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    found = np.bincount(bins[1], weights[1], 3 * n_classes) / weights[1].sum()
    size = 1.0 / sum(1.0 / effective_size(weight) for weight in weights)
    misfit, chance = _difference(found, share @ of_class, size, n_classes=n_classes)
    return LabelShift(tuple(old.tolist()), tuple(share.tolist()), misfit, chance)


def expected_ranking(fitted: RankedScores, rows: RuleInput, *, label_shift: bool = False) -> RankedScores:
    """Rank rows by score; without a label, a row counts by the isotonic probability of its score."""
    both = _of_both_classes(fitted, rows)
    if label_shift:
        both = with_share_ratio(both, share_ratio(both, _shares(fitted), rows.sample_weight))
    ranked = RankedScores.from_probabilities(with_known(both, rows)[:, 1], rows.score, rows.sample_weight)
    return ranked if rows.known is None else ranked.isotonic()


def with_known(probabilities: FloatArray, rows: RuleInput) -> FloatArray:
    """Return class probabilities, with 1 and 0 for rows whose label is known."""
    return probabilities if rows.known is None else np.where(np.isnan(rows.known), probabilities, rows.known)


def with_new_shares(ranked: RankedScores, fitted: RankedScores, rows: RuleInput) -> RankedScores:
    """Reweight the classes of a ranking by the change of their shares, estimated from unlabelled rows."""
    negative, positive = share_ratio(_of_both_classes(fitted, rows), _shares(fitted), rows.sample_weight).tolist()
    return RankedScores(ranked.scores, ranked.positives * positive, ranked.negatives * negative)


def _of_both_classes(fitted: RankedScores, rows: RuleInput) -> FloatArray:
    probability = fitted.probability_at(rows.score)
    return np.column_stack((1 - probability, probability))


def _shares(fitted: RankedScores) -> FloatArray:
    return np.array([1 - fitted.prevalence, fitted.prevalence])
