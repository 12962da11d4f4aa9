"""Lower bounds for a coverage and for an AUC, exact or close to it even where a class has few rows.

Both bounds rest on one idea. Add **one row that counts against the promise**: a rejected row for the coverage; for the
AUC a row of the smaller class on the wrong side of all rows of the other. Then take the lower quantile of what the
mean over all rows may be::

    coverage    1 1 0 1 1 1 ... 1 | 0      share of ones
    AUC         V V V V V V ... V | 0      mean of V, a row's share of the other class that it is ranked rightly against

The quantile comes from the Beta distribution with that mean and its variance, or from a bootstrap. For the coverage
this *is* the exact bound of Clopper and Pearson, and so it is for the AUC where every V is 0 or 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import floor, inf, nan

import numpy as np
from scipy.special import betaincinv

from aucross.core.ranking import FloatArray, IndexArray, RankedScores, effective_size
from aucross.evaluation.inputs import BoolArray, SelectedRows, weighted_mean

# From a generator and a number of replicates: weights of positives and of negatives at ascending scores.
Draw = Callable[[np.random.Generator, int], tuple[FloatArray, FloatArray]]

# Drawn numbers at a time in the bootstrap: few enough to stay in the cache.
DRAWS_AT_A_TIME = 2**15


def coverage_bounds(selected: BoolArray, weight: FloatArray, failures: Sequence[float]) -> list[float]:
    """The coverage is above each of these with probability ``1 - failure``; without weights, Clopper and Pearson's."""
    values = np.append(selected, 0.0)
    weights = np.append(weight, _weight_of_worst_row(weight))
    coverage = weighted_mean(values, weights)
    variance = _variance_of_mean(values, weights, coverage)
    return [_beta_quantile(coverage, variance, failure) for failure in failures]


def auc_bounds(rows: SelectedRows, failures: Sequence[float], n_bootstrap: int | None, seed: int) -> list[float]:
    """The AUC of the rows is above each of these with probability ``1 - failure``; NaN if a class has too few rows."""
    n_positive = int(rows.positive.sum())
    n_negative = len(rows.positive) - n_positive
    if min(n_positive, n_negative) < 1 or max(n_positive, n_negative) < 2:
        return [nan for _ in failures]
    extended = _with_worst_row(rows)
    if n_bootstrap is None:
        auc, variance = _auc_and_variance(extended)
        return [_beta_quantile(auc, variance, failure) for failure in failures]
    replicates = np.sort(auc_under_exponential_weights(extended, n_bootstrap, seed))
    # With so chosen a replicate the level does not depend on their number, only the spread of the bound does.
    return [float(replicates[replicate_below(n_bootstrap, failure) - 1]) for failure in failures]


def _beta_quantile(mean: float, variance: float, failure: float) -> float:
    """Quantile of the Beta distribution with this mean and the variance of a share of so many rows."""
    if mean <= 0.0:
        return 0.0
    size = mean * (1.0 - mean) / variance + 1.0
    return float(betaincinv(size * mean, size * (1.0 - mean), failure))


def _with_worst_row(rows: SelectedRows) -> SelectedRows:
    """Add a row to the smaller class, ranked on the wrong side of every row of the other class.

    Scores become ranks from 1 on: no finite score need be below the lowest one.
    """
    rank = np.unique(rows.score, return_inverse=True)[1] + 1.0
    positives, negatives = rows.weight[rows.positive], rows.weight[~rows.positive]
    is_positive = effective_size(positives) <= effective_size(negatives)
    return SelectedRows(
        np.append(rows.positive, is_positive),
        np.append(rank, 0.0 if is_positive else rank.max() + 1.0),
        np.append(rows.weight, _weight_of_worst_row(positives if is_positive else negatives)),
    )


def _auc_and_variance(rows: SelectedRows) -> tuple[float, float]:
    """AUC with DeLong's variance, in the form that lets a heavy row weigh on the variance as well."""
    rank, positive, weight = rows.score.astype(np.intp), rows.positive, rows.weight
    n_ranks = int(rank.max()) + 1
    beaten = _share_below(rank[~positive], weight[~positive], n_ranks)[rank[positive]]
    beaten_by = 1.0 - _share_below(rank[positive], weight[positive], n_ranks)[rank[~positive]]
    auc = weighted_mean(beaten, weight[positive])
    variance_of_positives = _variance_of_mean(beaten, weight[positive], auc)
    return auc, variance_of_positives + _variance_of_mean(beaten_by, weight[~positive], auc)


def _share_below(rank: IndexArray, weight: FloatArray, n_ranks: int) -> FloatArray:
    """Share of the weight below each rank, ties half."""
    at_rank = np.bincount(rank, weight, minlength=n_ranks)
    return np.asarray((np.cumsum(at_rank) - at_rank / 2.0) / at_rank.sum())


def _variance_of_mean(values: FloatArray, weight: FloatArray, mean: float) -> float:
    """Variance of a weighted mean over independent rows; with equal weights that of the sample over its size."""
    squares = float(((weight / weight.sum() * (values - mean)) ** 2).sum())
    effective = effective_size(weight)
    # One row that outweighs all others says nothing about their spread.
    return squares * effective / (effective - 1.0) if effective > 1.0 else inf


def _weight_of_worst_row(weight: FloatArray) -> float:
    """Heavier than most, if weights differ: what a heavy row of the wrong kind would do, a sample may not show.

    This ratio sets the skewness of a weighted sum, which the added row is there to make up for.
    """
    share = weight / weight.max()  # neither the cube of a large weight nor the square of a small one is a number
    return float(weight.max()) * float((share**3).sum()) / float((share**2).sum())


# ---- bootstrap ----


def auc_under_exponential_weights(rows: SelectedRows, n_bootstrap: int, seed: int) -> FloatArray:
    """AUC of the rows, each weighted by an exponential number (and its own weight), one value per replicate."""
    draw, n_entries = _draws_of_rows(rows) if has_weights(rows.weight) else _draws_of_runs(rows)
    rng = np.random.Generator(np.random.SFC64(seed))
    at_a_time = max(DRAWS_AT_A_TIME // n_entries, 1)
    parts = []
    for first in range(0, n_bootstrap, at_a_time):
        positives, negatives = draw(rng, min(at_a_time, n_bootstrap - first))
        below = np.cumsum(negatives, axis=1) - negatives / 2.0
        parts.append((positives * below).sum(axis=1) / (positives.sum(axis=1) * negatives.sum(axis=1)))
    return np.concatenate(parts)


def _draws_of_rows(rows: SelectedRows) -> tuple[Draw, int]:
    """Weights of each class at every distinct score, ascending, by one draw for each row."""
    order = np.argsort(rows.score, kind="stable")
    score, positive, weight = rows.score[order], rows.positive[order], rows.weight[order]
    starts = np.flatnonzero(np.append(True, score[1:] != score[:-1]))

    def draw(rng: np.random.Generator, size: int) -> tuple[FloatArray, FloatArray]:
        drawn = weight * rng.standard_exponential((size, len(weight)))
        positives, negatives = (np.add.reduceat(drawn * own, starts, axis=1) for own in (positive, ~positive))
        return positives, negatives

    return draw, len(weight)


def _draws_of_runs(rows: SelectedRows) -> tuple[Draw, int]:
    """The same for rows of one weight, by one draw for each run of rows of one class.

    Rows between two neighbours of the other class win against the same rows, so that only the sum of their weights
    matters, and a sum of k exponential numbers is a Gamma number of shape k.
    """
    ranked = RankedScores.from_labels(rows.positive, rows.score)
    kind = np.sign(ranked.positives) - np.sign(ranked.negatives)  # 0 where both classes share a score
    starts = np.flatnonzero(np.append(True, (kind[1:] != kind[:-1]) | (kind[1:] == 0)))
    positives, negatives = (np.add.reduceat(counts, starts) for counts in (ranked.positives, ranked.negatives))

    def draw(rng: np.random.Generator, size: int) -> tuple[FloatArray, FloatArray]:
        shape = (size, len(starts))
        return rng.standard_gamma(positives, shape), rng.standard_gamma(negatives, shape)

    return draw, len(starts)


def replicate_below(n_bootstrap: int, failure: float) -> int:
    """How many of the replicates, the bound included, lie at or below the bound."""
    return floor((n_bootstrap + 1) * failure + 1e-9)


def has_weights(weight: FloatArray) -> bool:
    """Whether the rows differ in weight; equal weights, whatever they are, are none."""
    return bool((weight != weight[0]).any())
