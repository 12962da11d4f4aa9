"""Slow, obvious versions of what `aucross.core` computes.

They loop over rows and pairs of rows, straight from the definitions: no sorting tricks, no prefix sums.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from math import floor, inf, isnan, nan, sqrt
from statistics import variance

import numpy as np
from scipy.stats import beta

# A coverage such as 0.7 is not a binary number: a share that misses it by this little reaches it.
TOLERANCE = 1e-9

Band = tuple[float, float]
EMPTY_BAND: Band = (inf, -inf)


def pairwise_auc(
    labels: Sequence[bool],
    scores: Sequence[float],
    weights: Sequence[float] | None = None,
    selected: Sequence[bool] | None = None,
) -> float:
    """Weighted share of pairs (positive, negative) of selected rows in the right order, ties half; NaN if none."""
    weights = _ones_if_none(weights, scores)
    selected = [True] * len(scores) if selected is None else selected
    rows = [row for row, keep in zip(zip(labels, scores, weights, strict=True), selected, strict=True) if keep]
    won = kept = 0.0
    for positive, score, weight in rows:
        for other_positive, other_score, other_weight in rows:
            if positive and not other_positive:
                kept += weight * other_weight
                won += weight * other_weight * _win(score, other_score)
    return won / kept if kept > 0 else nan


def _win(score_of_positive: float, score_of_negative: float) -> float:
    if score_of_positive == score_of_negative:
        return 0.5
    return 1.0 if score_of_positive > score_of_negative else 0.0


def selected_by(band: Band, scores: Sequence[float]) -> list[bool]:
    """Whether each score is outside the closed band."""
    lower, upper = band
    return [not (lower <= score <= upper) for score in scores]


def selected_share(weights: Sequence[float], selected: Sequence[bool]) -> float:
    """Share of the weight in selected rows."""
    return sum(weight for weight, keep in zip(weights, selected, strict=True) if keep) / sum(weights)


def bands_within_budget(
    scores: Sequence[float], coverage: float, weights: Sequence[float] | None = None, *, width: str
) -> Iterator[Band]:
    """Every band between two distinct scores that keeps the coverage, and the empty band.

    With full width only those that cannot be extended within the budget, up or down; the empty one if it is alone.
    """
    weights = _ones_if_none(weights, scores)
    distinct = sorted({score for score, weight in zip(scores, weights, strict=True) if weight > 0})

    def keeps_coverage(first: int, last: int) -> bool:
        selected = selected_by((distinct[first], distinct[last]), scores)
        return selected_share(weights, selected) >= coverage - TOLERANCE

    ends = range(len(distinct))
    inside = {(first, last) for first in ends for last in ends if first <= last and keeps_coverage(first, last)}
    if width == "any" or not inside:
        yield EMPTY_BAND
    for first, last in sorted(inside):
        if width == "any" or not {(first - 1, last), (first, last + 1)} & inside:
            yield distinct[first], distinct[last]


def best_band_auc(
    labels: Sequence[bool],
    scores: Sequence[float],
    coverage: float,
    weights: Sequence[float] | None = None,
    *,
    width: str,
) -> float:
    """Highest AUC that any allowed band leaves, NaN if the rows lack a class: brute force over all bands.

    Where no band of full width leaves both classes, the highest of the heaviest bands that do.
    """
    if coverage == 1:
        return pairwise_auc(labels, scores, weights)

    def aucs(bands: Iterable[Band]) -> list[float]:
        left = (pairwise_auc(labels, scores, weights, selected_by(band, scores)) for band in bands)
        return [auc for auc in left if not isnan(auc)]

    if of_width := aucs(bands_within_budget(scores, coverage, weights, width=width)):
        return max(of_width)
    leaving_both = [band for band in bands_within_budget(scores, coverage, weights, width="any") if aucs([band])]
    shares = [selected_share(_ones_if_none(weights, scores), selected_by(band, scores)) for band in leaving_both]
    least = min(shares, default=nan)
    return max(
        aucs(b for b, share in zip(leaving_both, shares, strict=True) if share <= least + TOLERANCE), default=nan
    )


def best_block_auc(positives: np.ndarray, negatives: np.ndarray, coverage: float) -> float:
    """Highest AUC over all blocks of entries within the budget, for some thousand entries.

    Entries are in ascending order of their distinct scores. The pairs of every block come from one matrix of all
    pairs of entries: those outside are all, less the block's rows and columns, plus the block's square.
    """
    weight = positives + negatives
    won = np.tril(np.outer(positives, negatives))
    won[np.diag_indices(len(won))] /= 2
    summed = np.zeros((len(won) + 1, len(won) + 1))
    summed[1:, 1:] = won.cumsum(axis=0).cumsum(axis=1)
    start, stop = np.triu_indices(len(won) + 1)
    rows = summed[stop, -1] - summed[start, -1]
    columns = summed[-1, stop] - summed[-1, start]
    square = summed[stop, stop] - summed[start, stop] - summed[stop, start] + summed[start, start]
    inside = [np.concatenate(([0.0], values.cumsum())) for values in (positives, negatives, weight)]
    rejected = [values[stop] - values[start] for values in inside]
    kept = (positives.sum() - rejected[0]) * (negatives.sum() - rejected[1])
    allowed = (kept > 0) & (1 - rejected[2] / weight.sum() >= coverage - TOLERANCE)
    return float(np.max((summed[-1, -1] - rows - columns + square)[allowed] / kept[allowed]))


def delong_standard_error(labels: Sequence[bool], scores: Sequence[float]) -> float:
    """Standard error of the AUC of unweighted rows after DeLong; NaN with fewer than two rows of a class."""
    positives = [score for score, label in zip(scores, labels, strict=True) if label]
    negatives = [score for score, label in zip(scores, labels, strict=True) if not label]
    if min(len(positives), len(negatives)) < 2:
        return nan
    shares_beaten = [sum(_win(up, down) for down in negatives) / len(negatives) for up in positives]
    shares_beaten_by = [sum(_win(up, down) for up in positives) / len(positives) for down in negatives]
    return sqrt(variance(shares_beaten) / len(positives) + variance(shares_beaten_by) / len(negatives))


def row_at(scores: Sequence[float], position: float) -> float:
    """Score at a 0-based position of the ascending rows, clipped to the first and last row."""
    ordered = sorted(scores)
    return ordered[min(max(floor(position), 0), len(ordered) - 1)]


def exact_auc(labels: Sequence[bool], scores: Sequence[float]) -> Fraction:
    """AUC of unweighted rows of both classes, as a fraction."""
    wins = [
        _win(up, down)
        for up, positive in zip(scores, labels, strict=True)
        for down, other in zip(scores, labels, strict=True)
        if positive and not other
    ]
    return Fraction(sum(wins)) / len(wins)


def published_positions(labels: Sequence[bool], scores: Sequence[float]) -> tuple[int, int]:
    """Positions (lower, upper) of the centred placement's bounds, for unweighted rows without ties."""
    n_rows, n_positive = len(labels), sum(labels)
    auc = exact_auc(labels, scores)
    upper = floor(auc * (n_rows - n_positive))
    descending = [label for _, label in sorted(zip(scores, labels, strict=True), reverse=True)]
    rows_from_top = 0
    while rows_from_top < n_rows and sum(descending[: rows_from_top + 1]) <= auc * n_positive + 1:
        rows_from_top += 1
    return min(max(n_rows - rows_from_top, 0), n_rows - 1), min(upper, n_rows - 1)


def improving_rows(labels: Sequence[bool], scores: Sequence[float]) -> tuple[list[bool], list[bool]]:
    """For each unweighted row, whether it meets the condition of Proposition 1 and that of Proposition 2.

    The class of the row is left to the caller. Of tied rows each ranks last, in both directions.
    """
    n_positive = sum(labels)
    auc = exact_auc(labels, scores)
    ascending_ranks = [sum(other <= score for other in scores) for score in scores]
    positives_from_top = [
        sum(other >= score for other, label in zip(scores, labels, strict=True) if label) for score in scores
    ]
    low_enough = [rank <= auc * (len(labels) - n_positive) for rank in ascending_ranks]
    high_enough = [count <= auc * n_positive - 1 for count in positives_from_top]
    return low_enough, high_enough


def quantile_threshold(scores: Sequence[float], coverage: float, weights: Sequence[float] | None = None) -> float:
    """Highest score such that rejecting all rows up to it keeps the coverage and some row, -inf if there is none."""
    weights = _ones_if_none(weights, scores)
    threshold = -inf
    for candidate in sorted({score for score, weight in zip(scores, weights, strict=True) if weight > 0}):
        share = selected_share(weights, [score > candidate for score in scores])
        if share > 0 and share >= coverage - TOLERANCE:
            threshold = candidate
    return threshold


def _ones_if_none(weights: Sequence[float] | None, scores: Sequence[float]) -> Sequence[float]:
    return [1.0] * len(scores) if weights is None else weights


def obvious_auc_interval(y, score, failure, added=2 / 3):
    """The interval of the AUC with two thirds of a row added, one end after the other; positives are fewer."""
    placed = np.array([np.mean((s > score[~y]) + (s == score[~y]) / 2) for s in score[y]])
    of_others = np.array([np.mean((score[y] > s) + (score[y] == s) / 2) for s in score[~y]])
    found = []
    for loss, other_loss in ((1 - placed, 1 - of_others), (placed, of_others)):
        rows, with_added = np.append(np.ones(len(loss)), added), np.append(loss, 1.0)
        n_rows, mean = rows.sum(), np.average(with_added, weights=rows)
        if mean == 1.0:
            found.append(1.0)
            continue
        variance = np.average((with_added - mean) ** 2, weights=rows) / (n_rows - 1)
        variance += (len(loss) / n_rows) ** 2 * other_loss.var(ddof=1) / len(other_loss)
        size = mean * (1 - mean) / variance + 1
        found.append(1 - beta.ppf(failure, size * (1 - mean), size * mean))
    return 1 - found[0], found[1]


def select_each(clf, X, coverages, band_groups=None):
    """Return the rows that a classifier selects at each coverage; they are scored once, and nothing is warned of."""
    rows = clf.scored(X, band_groups=band_groups).rule_input
    selections = [clf.band_rule_.bands_of(rows, coverage).selected for coverage in coverages]
    return np.array(selections, dtype=bool).reshape(len(selections), len(rows))
