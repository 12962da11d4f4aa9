"""Bounds and intervals for a share, an AUC and differences, valid even if the sample lacks rare rows.

All rest on one idea. Add **one row that counts against the bound**: for the coverage a rejected row; for the AUC a row
of the smaller class that loses to every row of the other. Then take a lower quantile of the mean over all rows::

    coverage    1 1 0 1 1 1 ... 1 | 0      share of ones
    AUC         V V V V V V ... V | 0      mean of V, a row's share of the other class that it is ranked rightly against

The quantile comes from the Beta distribution with that mean and its variance, or from a bootstrap. For the coverage
this *is* the exact bound of Clopper and Pearson; for the AUC it is the same bound if every V is 0 or 1. A promise uses
this bound.

Both ends of an interval of an AUC are such bounds with **two thirds of a row** added; if every V is 0 or 1, this is
nearly the mid-P interval. If a share p of rows loses everything, a sample of k rows contains none of them with
probability (1 - p) ** k, which is .05 for p = 3 / k: a 95 % interval that holds for every distribution of V must allow
for this share. A whole added row allows for 3.7 / k.

Rows that belong together (those of one customer) are one *unit*: the variance is that of sums over units, and a whole
unit is added. Bounds are computed from sums of losses, :class:`LossSums`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import floor, nan, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, gammaincinv, ndtri

from aucross.core.bands import RejectionBand
from aucross.core.ranking import FloatArray, IndexArray, RankedScores, effective_size

# From a generator and a number of replicates: weights of positives and of negatives at ascending scores.
Draw = Callable[[np.random.Generator, int], tuple[FloatArray, FloatArray]]

# Rows that are added to judge an end of an interval. The median of the Gamma distribution of shape a is about a - 1/3:
# a third of a row less than Clopper and Pearson's counts about half of the probability of what was seen, as mid-P does.
ROWS_ADDED = 2.0 / 3.0

# Drawn numbers at a time in the bootstrap: few enough to stay in the cache.
_DRAWS_AT_A_TIME = 2**15


class LossSums(NamedTuple):
    """Sums of weights and weighted losses over independent units, each of one or several rows."""

    weight: float  # of w, and in the next two of w * w and w ** 3
    squares: float
    cubes: float
    loss: float  # of l, and in the next two of w * l and l * l
    mixed: float
    squared_loss: float
    # What the rows of the other class of an AUC add to the deviation of the mean value, b for a unit: the sums of
    # b * b, w * b and l * b. All are 0 for a share, and the last two unless rows belong together.
    beside: float = 0.0
    weight_beside: float = 0.0
    loss_beside: float = 0.0
    n_beside: float = np.inf  # effective number of units of that other class

    @property
    def size(self) -> float:
        """Kish's effective number of units."""
        return self.weight**2 / self.squares

    @property
    def added(self) -> float:
        """Weight of the unit that is added to compute a bound.

        If weights differ, it is heavier than most units, because the sample may lack a heavy unit with losses.
        """
        return self.cubes / self.squares

    def mirrored(self) -> LossSums:
        """Return the sums for gains in place of losses."""
        return self._replace(
            loss=self.weight - self.loss,
            mixed=self.squares - self.mixed,
            squared_loss=max(self.squares - 2.0 * self.mixed + self.squared_loss, 0.0),
            weight_beside=-self.weight_beside,
            loss_beside=self.loss_beside - self.weight_beside,
        )

    def mean(self) -> float:
        """Return 1 minus the mean loss."""
        return 1.0 - self.loss / self.weight

    def share_of_added_unit(self) -> float:
        """Return the share of the total weight that the added unit has."""
        return self.added / (self.weight + self.added)

    def squares_around(self, mean_loss: float) -> float:
        """Return the sum over units of their squared loss after subtracting a mean loss."""
        return max(self.squared_loss - 2.0 * mean_loss * self.mixed + mean_loss**2 * self.squares, 0.0)


# ---- sums of losses ----


def share_losses(of_all: FloatArray, of_lost: FloatArray) -> LossSums | None:
    """Return the sums for a share of rows, from power sums (0 to 3) of the weights of all rows and of losing rows."""
    if of_all[0] == 0:
        return None
    unit = of_all[1] / of_all[0]  # neither the cube of a large weight nor the square of a small one is a number
    (_, weight, squares, cubes), (_, lost, lost_squares, _) = (
        (powers / unit ** np.arange(4.0)).tolist() for powers in (of_all, of_lost)
    )
    return LossSums(weight, squares, cubes, lost, lost_squares, lost_squares)


def share_losses_of_units(weight: FloatArray, lost: FloatArray) -> LossSums | None:
    """Return the sums for a share, from the weight and the loss of each unit."""
    largest = weight.max(initial=0.0)
    return _sums_of(weight / largest, lost / largest) if largest > 0 else None


def auc_losses(ranked: RankedScores) -> LossSums | None:
    """Return the sums for the AUC of independent rows; None if a class has too few rows."""
    if not has_pairs(*ranked.totals[:, 0]):
        return None
    sides = []
    for weights, total, loss in zip(ranked.class_powers, ranked.totals, ranked.losses, strict=True):
        unit = total[1] / total[0]
        lost = float(weights[1] @ loss) / unit
        mixed = lost if ranked.powers is None else float(weights[2] @ loss) / unit**2
        weight, squares, cubes = (float(total[k] / unit**k) for k in (1, 2, 3))
        squared_loss = float(weights[2] @ (loss * loss)) / unit**2
        sides.append(LossSums(weight, squares, cubes, lost, mixed, squared_loss))
    own, other = sorted(sides, key=lambda side: side.size)
    return own._replace(beside=other.squares_around(1.0 - own.mean()) / other.weight**2, n_beside=other.size)


def auc_losses_of_units(
    positive: NDArray[np.bool_], weight: FloatArray, loss: FloatArray, units: IndexArray, n_units: int
) -> LossSums | None:
    """Return the sums for the AUC of rows that belong to units, from each row's loss against the other class."""
    # Units and not rows: copies of a row within a unit say no more than the row.
    if not has_pairs(*(len(np.unique(units[own])) for own in (positive, ~positive))):
        return None
    sides: list[tuple[LossSums, FloatArray, FloatArray]] = []
    for rows in (np.flatnonzero(positive), np.flatnonzero(~positive)):
        own_weight = weight[rows] / weight[rows].max()  # neither the cube of a large nor of a small weight is a number
        of_unit, lost = (sums_by_unit(units[rows], part, n_units) for part in (own_weight, own_weight * loss[rows]))
        sides.append((_sums_of(of_unit, lost), of_unit, lost))
    (own, weight, lost), (other, weight_of_others, lost_by_others) = sorted(sides, key=lambda part: part[0].size)
    beside = (weight_of_others * (1.0 - own.mean()) - lost_by_others) / other.weight
    return own._replace(
        beside=float(beside @ beside),
        weight_beside=float(weight @ beside),
        loss_beside=float(lost @ beside),
        n_beside=other.size,
    )


def sums_by_unit(units: IndexArray, values: FloatArray, n_units: int = 0) -> FloatArray:
    """Return the sum of the values of each unit."""
    return np.bincount(units, values, minlength=n_units).astype(np.float64, copy=False)


def has_pairs(n_positive: float, n_negative: float) -> bool:
    """Return whether an AUC has an interval: both classes have rows, and one has two or more."""
    return bool(min(n_positive, n_negative) >= 1 and max(n_positive, n_negative) >= 2)


def _sums_of(weight: FloatArray, lost: FloatArray) -> LossSums:
    """Return the sums of losses, given the weight and the loss of each unit."""
    squared = weight * weight
    sums = weight.sum(), squared.sum(), squared @ weight, lost.sum(), weight @ lost, lost @ lost
    return LossSums(*map(float, sums))


# ---- bounds ----


def lower_bound(sums: LossSums, failure: float, n_added: float = 1.0) -> float:
    """Return a bound that the mean exceeds with probability ``1 - failure``, after adding `n_added` losing units."""
    if sums.n_beside <= 1.0:
        return 0.0  # one row that outweighs all others says nothing about their spread
    added, before = n_added * sums.added, sums.weight
    total = before + added
    mean_loss = (sums.loss + added) / total
    size = total**2 / (sums.squares + added * sums.added)
    # Each class has its own number of rows to estimate a spread from; of independent rows this is DeLong's variance.
    own, other = size / (size - 1.0), 1.0 / (1.0 - 1.0 / sums.n_beside)
    together = sqrt(own * other) * 2.0 * before * (mean_loss * sums.weight_beside - sums.loss_beside)
    of_others = other * before**2 * sums.beside
    variance = (
        own * (sums.squares_around(mean_loss) + added * sums.added * (1.0 - mean_loss) ** 2) + of_others + together
    )
    return beta_quantile(1.0 - mean_loss, variance / total**2, failure)


def interval(sums: LossSums, failure: float, n_added: float = 1.0) -> tuple[float, float]:
    """Return an interval of the mean whose ends each fail with probability `failure`."""
    low, lost = (lower_bound(side, failure, n_added) for side in (sums, sums.mirrored()))
    return min(low, sums.mean()), max(1.0 - lost, sums.mean())


def beta_quantile(mean: float, variance: float, failure: float) -> float:
    """Return the quantile `failure` of the Beta distribution with this mean and variance."""
    if mean <= 0.0:
        return 0.0
    size = mean * (1.0 - mean) / variance + 1.0
    return float(betaincinv(size * mean, size * (1.0 - mean), failure))


# ---- bounds of an AUC ----


def auc_lower_bound(ranked: RankedScores, failure: float) -> float:
    """Return a bound that the AUC of independent rows exceeds with probability ``1 - failure``.

    It is valid even if the sample lacks rare rows. NaN if a class has too few rows.
    """
    losses = auc_losses(ranked)
    return nan if losses is None else lower_bound(losses, failure)


def auc_ends(ranked: RankedScores, failure: float, band: RejectionBand | None = None) -> tuple[float, float]:
    """Return the interval of the AUC of the selected rows; each end fails with probability `failure`.

    NaN if a class has too few rows. :func:`auc_lower_bound` lies below the lower end, because it holds with its stated
    probability in every case; an interval may fail more often at one end if it fails less often at the other.
    """
    losses = auc_losses(ranked if band is None else ranked.where(band.selects(ranked.scores)))
    return (nan, nan) if losses is None else interval(losses, failure, ROWS_ADDED)


def auc_ends_of_units(
    positive: NDArray[np.bool_], score: FloatArray, weight: FloatArray | None, units: IndexArray, failure: float
) -> tuple[float, float]:
    """Return the interval of the AUC of rows grouped into units, such as several rows per customer.

    The variance is that of sums over units. NaN if a class has no rows or all rows belong to one unit.
    """
    weight = np.ones(len(score)) if weight is None else weight
    used = weight > 0
    positive, score, weight, units = positive[used], score[used], weight[used], units[used]
    numbers = np.unique(units, return_inverse=True)[1]
    if not positive.any() or positive.all() or not numbers.any():
        return nan, nan
    ranked = RankedScores.from_labels(positive, score, weight)
    loss = ranked.losses_of(positive, score)
    sums = auc_losses_of_units(positive, weight, loss, numbers, int(numbers.max()) + 1)
    return (nan, nan) if sums is None else interval(sums, failure, ROWS_ADDED)


# ---- intervals of several numbers ----


class Ends(NamedTuple):
    """Lower and upper ends, one pair per selection, and the change that one added row makes."""

    low: FloatArray
    high: FloatArray
    step: FloatArray

    def at(self, own: slice | list[int]) -> Ends:
        """Return the intervals for some of the selections."""
        return Ends(self.low[own], self.high[own], self.step[own])


def difference_ends(
    difference: FloatArray, spread: FloatArray, skewness: FloatArray, step: FloatArray, confidence_level: float
) -> Ends:
    """Return the interval of a paired difference, from its standard deviation, its skewness and one added row.

    Each end is shifted by `step`, the effect of the added row, plus the effect of skewness towards this end, if any.
    The whole shift also adds to the variance at this end, as for a single number.
    """
    quantile = ndtri((1.0 + confidence_level) / 2.0)
    ends = []
    for side in (-1.0, 1.0):
        added = step + np.maximum(side * skewness, 0.0) * spread
        ends.append(difference + side * (added + quantile * np.sqrt(spread**2 + added**2)))
    return Ends(ends[0], ends[1], step)


def ends_by_moments(
    mean: float, squares: float, cubes: float, steps: tuple[float, float], failure: float
) -> tuple[float, float]:
    """Return the interval of a number that is not a mean in [0, 1], from its moments and two thirds of an added row.

    A whole row moves it down by the first or up by the second of the `steps`. The variance is ``squares``, the third
    moment twice ``cubes``, as for rows of exponential weight; the added row adds to both. Each end is a quantile of the
    Gamma distribution with these moments. If no row contributes, this is the interval of the AUC for rare losses.
    """
    ends = []
    for side, step in zip((-1.0, 1.0), steps, strict=True):
        deviation = sqrt(max(squares, 0.0) + ROWS_ADDED * step**2)
        third = 2.0 * (max(side * cubes, 0.0) + ROWS_ADDED * step**3)
        skewness = third / deviation**3 if deviation > 1e-100 else 0.0
        shape = max(4.0 / max(skewness, 1e-4) ** 2, ROWS_ADDED)
        quantile = (float(gammaincinv(shape, 1.0 - failure)) - shape) / sqrt(shape)
        ends.append(mean + side * (ROWS_ADDED * step + quantile * deviation))
    return ends[0], ends[1]


# ---- bounds by a bootstrap ----


def bootstrap_auc_bounds(
    positive: NDArray[np.bool_],
    score: FloatArray,
    weight: FloatArray,
    failures: Sequence[float],
    *,
    n_bootstrap: int,
    seed: int,
    units: IndexArray | None = None,
) -> list[float]:
    """Return bounds that the AUC exceeds with probability ``1 - failure``, one for each failure, by a bootstrap."""
    positive, score, weight, units = _with_worst_unit(positive, score, weight, units)
    drawn = auc_under_exponential_weights(positive, score, weight, n_bootstrap=n_bootstrap, seed=seed, units=units)
    replicates = np.sort(drawn)
    # With so chosen a replicate the level does not depend on their number, only the spread of the bound does.
    return [float(replicates[replicate_below(n_bootstrap, failure) - 1]) for failure in failures]


def _with_worst_unit(
    positive: NDArray[np.bool_], score: FloatArray, weight: FloatArray, units: IndexArray | None
) -> tuple[NDArray[np.bool_], FloatArray, FloatArray, IndexArray | None]:
    """Add one row as heavy as a unit to the smaller class; it loses against every row of the other class.

    Scores become ranks from 1 on, because no finite score may exist below the lowest one.
    """
    rank = np.unique(score, return_inverse=True)[1] + 1.0
    by_class = (weight[own] if units is None else np.bincount(units[own], weight[own]) for own in (positive, ~positive))
    positives, negatives = by_class
    is_positive = effective_size(positives) <= effective_size(negatives)
    fewer = positives if is_positive else negatives
    largest = float(fewer.max())
    added = largest * _sums_of(fewer / largest, np.zeros(len(fewer))).added
    return (
        np.append(positive, is_positive),
        np.append(rank, 0.0 if is_positive else rank.max() + 1.0),
        np.append(weight, added),
        None if units is None else np.append(units, units.max() + 1),
    )


def auc_under_exponential_weights(
    positive: NDArray[np.bool_],
    score: FloatArray,
    weight: FloatArray,
    *,
    n_bootstrap: int,
    seed: int,
    units: IndexArray | None = None,
) -> FloatArray:
    """Return the AUC of each replicate, in which every unit (or row) gets a random exponential weight."""
    by_rows = units is not None or has_weights(weight)
    draw, n_entries = _draws_of_rows(positive, score, weight, units) if by_rows else _draws_of_runs(positive, score)
    rng = np.random.Generator(np.random.SFC64(seed))
    at_a_time = max(_DRAWS_AT_A_TIME // n_entries, 1)
    parts = []
    for first in range(0, n_bootstrap, at_a_time):
        positives, negatives = draw(rng, min(at_a_time, n_bootstrap - first))
        below = np.cumsum(negatives, axis=1) - negatives / 2.0
        parts.append((positives * below).sum(axis=1) / (positives.sum(axis=1) * negatives.sum(axis=1)))
    return np.concatenate(parts)


def _draws_of_rows(
    positive: NDArray[np.bool_], score: FloatArray, weight: FloatArray, units: IndexArray | None
) -> tuple[Draw, int]:
    """Return a function that draws the weight of each class at every distinct score, one draw per row or unit."""
    order = np.argsort(score, kind="stable")
    score, positive, weight = score[order], positive[order], weight[order]
    starts = np.flatnonzero(np.append(True, score[1:] != score[:-1]))
    of_rows = slice(None) if units is None else units[order]
    n_drawn = len(weight) if units is None else int(units.max()) + 1

    def draw(rng: np.random.Generator, size: int) -> tuple[FloatArray, FloatArray]:
        drawn = weight * rng.standard_exponential((size, n_drawn))[:, of_rows]
        positives, negatives = (np.add.reduceat(drawn * own, starts, axis=1) for own in (positive, ~positive))
        return positives, negatives

    return draw, len(weight)


def _draws_of_runs(positive: NDArray[np.bool_], score: FloatArray) -> tuple[Draw, int]:
    """Return a function that draws weights for unweighted rows, one draw per run of rows of one class.

    Rows between two neighbours of the other class win against the same rows, so only the sum of their weights matters:
    k exponential weights have a Gamma sum of shape k.
    """
    ranked = RankedScores.from_labels(positive, score)
    kind = np.sign(ranked.positives) - np.sign(ranked.negatives)  # 0 where both classes share a score
    starts = np.flatnonzero(np.append(True, (kind[1:] != kind[:-1]) | (kind[1:] == 0)))
    positives, negatives = (np.add.reduceat(counts, starts) for counts in (ranked.positives, ranked.negatives))

    def draw(rng: np.random.Generator, size: int) -> tuple[FloatArray, FloatArray]:
        shape = (size, len(starts))
        return rng.standard_gamma(positives, shape), rng.standard_gamma(negatives, shape)

    return draw, len(starts)


def replicate_below(n_bootstrap: int, failure: float) -> int:
    """Return how many of the bootstrap replicates lie at or below the bound."""
    return floor((n_bootstrap + 1) * failure + 1e-9)


def has_weights(weight: FloatArray) -> bool:
    """Return whether the rows differ in weight; equal weights count as no weights."""
    return bool((weight != weight[0]).any())
