"""Bounds for a coverage, for an AUC and for other means of rows, exact or close to it even where a class has few rows.

All rest on one idea. Add **one row that counts against the bound**: a rejected row for the coverage; for the AUC a row
of the smaller class on the wrong side of rows of the other. Then take the lower quantile of what the mean over all rows
may be::

    coverage    1 1 0 1 1 1 ... 1 | 0      share of ones
    AUC         V V V V V V ... V | 0      mean of V, a row's share of the other class that it is ranked rightly against

The quantile comes from the Beta distribution with that mean and its variance, or from a bootstrap. For the coverage
this *is* the exact bound of Clopper and Pearson, and so it is for the AUC where every V is 0 or 1. The added row of a
promise loses against everybody (V = 0); that of an interval only a little more than the rows that were seen to lose.

Rows that belong together (those of one customer) are one *unit*: the variance is that of sums over units, and a whole
unit is added.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import floor, nan

import numpy as np

from aucross.core.added_row import (
    POWERS_KEPT,
    LossSums,
    losses_of_classes,
    losses_of_units,
    lower_bound,
    power_sums,
)
from aucross.core.ranking import FloatArray, IndexArray, RankedScores, ascending_order, effective_size
from aucross.evaluation.inputs import BoolArray, SelectedRows

# From a generator and a number of replicates: weights of positives and of negatives at ascending scores.
Draw = Callable[[np.random.Generator, int], tuple[FloatArray, FloatArray]]

# Drawn numbers at a time in the bootstrap: few enough to stay in the cache.
DRAWS_AT_A_TIME = 2**15


def coverage_bounds(
    selected: BoolArray, weight: FloatArray, failures: Sequence[float], units: IndexArray | None = None
) -> list[float]:
    """The coverage is above each of these with probability ``1 - failure``; without weights, Clopper and Pearson's."""
    sums = share_losses(selected, weight, units)
    return [lower_bound(sums, failure) for failure in failures]


def auc_bounds(
    rows: SelectedRows,
    failures: Sequence[float],
    n_bootstrap: int | None,
    seed: int,
    units: IndexArray | None = None,
) -> list[float]:
    """The AUC of the rows is above each of these with probability ``1 - failure``; NaN if a class has too few rows."""
    n_positive = int(rows.positive.sum())
    n_negative = len(rows.positive) - n_positive
    if min(n_positive, n_negative) < 1 or max(n_positive, n_negative) < 2:
        return [nan for _ in failures]
    if n_bootstrap is None:
        order = ascending_order(rows.score)
        sums = auc_losses(rows.take(order), None if units is None else units[order])
        return [lower_bound(sums, failure) for failure in failures]
    extended, of_units = _with_worst_unit(rows, units)
    replicates = np.sort(auc_under_exponential_weights(extended, n_bootstrap, seed, of_units))
    # With so chosen a replicate the level does not depend on their number, only the spread of the bound does.
    return [float(replicates[replicate_below(n_bootstrap, failure) - 1]) for failure in failures]


# ---- sums over units ----


def share_losses(values: BoolArray, weight: FloatArray, units: IndexArray | None = None) -> LossSums:
    """Sums of the share of the weight at which `values` is true."""
    weight = weight / weight.max()  # neither the cube of a large weight nor the square of a small one is a number
    return LossSums(power_sums(_added_up(weight, units), _added_up(weight * ~values, units)))


def shared_losses(of_all: FloatArray, of_lost: FloatArray) -> LossSums:
    """Sums of a share of rows, from the powers of the weights of all rows and of those that lose.

    Both hold the sum of weight ** k in place k.
    """
    powers = np.zeros((4, 4))
    for p, q in POWERS_KEPT:
        powers[p, q] = of_lost[p + q] if q else of_all[p]
    return LossSums(powers)


def auc_losses(rows: SelectedRows, units: IndexArray | None = None) -> LossSums:
    """Sums of the AUC of rows by ascending score, both classes present; the smaller class is averaged."""
    n_units = 0 if units is None else int(units.max()) + 1
    sides = []
    for own, loss in zip((rows.positive, ~rows.positive), ranking_losses(rows), strict=True):
        weight = rows.weight[own] / rows.weight[own].max()
        of_own = None if units is None else units[own]
        sides.append(tuple(_added_up(values, of_own, n_units) for values in (weight, weight * loss)))
    powers = tuple(power_sums(*side) for side in sides)
    return losses_of_classes(powers) if units is None else losses_of_units(powers, sides)


def ranking_losses(rows: SelectedRows) -> tuple[FloatArray, FloatArray]:
    """Share of the other class that each positive, and each negative, is ranked wrongly against, ties half."""
    is_first = np.append(True, rows.score[1:] != rows.score[:-1])
    positives, negatives = (np.where(own, rows.weight, 0.0) for own in (rows.positive, ~rows.positive))
    tie: IndexArray | slice = slice(None)
    if not is_first.all():
        starts, tie = np.flatnonzero(is_first), np.cumsum(is_first) - 1
        positives, negatives = (np.add.reduceat(weight, starts) for weight in (positives, negatives))
    up_to = np.cumsum(negatives)
    above = (up_to[-1] - up_to + negatives / 2.0) / up_to[-1]  # exactly 0 for a row above all
    below = (np.cumsum(positives) - positives / 2.0) / positives.sum()
    return above[tie][rows.positive], below[tie][~rows.positive]


def _added_up(values: FloatArray, units: IndexArray | None, n_units: int = 0) -> FloatArray:
    return values if units is None else np.bincount(units, values, minlength=n_units).astype(np.float64, copy=False)


# ---- the added unit of a bootstrap ----


def _with_worst_unit(rows: SelectedRows, units: IndexArray | None) -> tuple[SelectedRows, IndexArray | None]:
    """Add a row to the smaller class, as heavy as a unit, on the wrong side of every row of the other class.

    Scores become ranks from 1 on: no finite score need be below the lowest one.
    """
    rank = np.unique(rows.score, return_inverse=True)[1] + 1.0
    positives, negatives = (
        _added_up(rows.weight[own], None if units is None else units[own]) for own in (rows.positive, ~rows.positive)
    )
    is_positive = effective_size(positives) <= effective_size(negatives)
    extended = SelectedRows(
        np.append(rows.positive, is_positive),
        np.append(rank, 0.0 if is_positive else rank.max() + 1.0),
        np.append(rows.weight, _weight_of_added_unit(positives if is_positive else negatives)),
    )
    return extended, None if units is None else np.append(units, units.max() + 1)


def _weight_of_added_unit(weight: FloatArray) -> float:
    largest = float(weight.max())
    return largest * LossSums(power_sums(weight / largest, np.zeros(len(weight)))).added


# ---- bootstrap ----


def auc_under_exponential_weights(
    rows: SelectedRows, n_bootstrap: int, seed: int, units: IndexArray | None = None
) -> FloatArray:
    """AUC of the rows, each unit weighted by an exponential number (and each row its own weight), per replicate."""
    by_rows = units is not None or has_weights(rows.weight)
    draw, n_entries = _draws_of_rows(rows, units) if by_rows else _draws_of_runs(rows)
    rng = np.random.Generator(np.random.SFC64(seed))
    at_a_time = max(DRAWS_AT_A_TIME // n_entries, 1)
    parts = []
    for first in range(0, n_bootstrap, at_a_time):
        positives, negatives = draw(rng, min(at_a_time, n_bootstrap - first))
        below = np.cumsum(negatives, axis=1) - negatives / 2.0
        parts.append((positives * below).sum(axis=1) / (positives.sum(axis=1) * negatives.sum(axis=1)))
    return np.concatenate(parts)


def _draws_of_rows(rows: SelectedRows, units: IndexArray | None) -> tuple[Draw, int]:
    """Weights of each class at every distinct score, ascending, by one draw for each row or unit."""
    order = np.argsort(rows.score, kind="stable")
    score, positive, weight = rows.score[order], rows.positive[order], rows.weight[order]
    starts = np.flatnonzero(np.append(True, score[1:] != score[:-1]))
    of_rows = slice(None) if units is None else units[order]
    n_drawn = len(weight) if units is None else int(units.max()) + 1

    def draw(rng: np.random.Generator, size: int) -> tuple[FloatArray, FloatArray]:
        drawn = weight * rng.standard_exponential((size, n_drawn))[:, of_rows]
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
