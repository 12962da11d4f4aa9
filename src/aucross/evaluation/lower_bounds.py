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
from functools import reduce
from math import comb, floor, nan, sqrt
from typing import NamedTuple

import numpy as np
from scipy.special import betaincinv

from aucross.core.ranking import FloatArray, IndexArray, RankedScores, ascending_order, effective_size
from aucross.evaluation.inputs import BoolArray, SelectedRows

# From a generator and a number of replicates: weights of positives and of negatives at ascending scores.
Draw = Callable[[np.random.Generator, int], tuple[FloatArray, FloatArray]]

# Drawn numbers at a time in the bootstrap: few enough to stay in the cache.
DRAWS_AT_A_TIME = 2**15

# How much more than the losing rows of the sample the added row of an interval loses, of all that it could lose. Chosen
# by benchmarks/intervals.py: with .08 one cell comes down to .932, with .125 one is more than twice as wide as its law.
EXTRA_LOSS = 0.1

# Powers of weight and of loss whose sums are kept: up to the third, which the added unit is read from.
_POWERS = tuple((p, total - p) for total in (1, 2, 3) for p in range(total + 1))


class LossSums(NamedTuple):
    """A mean of losses between 0 and 1 over what was drawn independently: rows, or units of several rows.

    A unit of weight w loses l, the sum of weight times loss of its rows.

    Attributes
    ----------
    powers : ndarray of shape (4, 4)
        Sum over the units of w ** p times l ** q, in row p and column q, where p + q is 1, 2 or 3.
    beside, weight_beside, loss_beside : float
        What the rows of the other class of an AUC add to the deviation of the mean value, b for a unit: the sums over
        the units of b * b, w * b and l * b. All are 0 for a share, and the last two unless rows belong together.
    n_beside : float
        Effective number of units of that other class.
    """

    powers: FloatArray
    beside: float = 0.0
    weight_beside: float = 0.0
    loss_beside: float = 0.0
    n_beside: float = np.inf

    @property
    def weight(self) -> float:
        """Weight of all units."""
        return float(self.powers[1, 0])

    @property
    def loss(self) -> float:
        """Sum of what the units lose."""
        return float(self.powers[0, 1])

    @property
    def added(self) -> float:
        """Weight of the unit that is added to judge a bound.

        Heavier than most, if weights differ: what a heavy unit of the wrong kind would do, a sample may not show. This
        ratio sets the skewness of a weighted sum, which the added unit is there to make up for.
        """
        return float(self.powers[3, 0] / self.powers[2, 0])

    def mirrored(self) -> LossSums:
        """The same mean, gains for losses."""
        mirrored = np.zeros((4, 4))
        for p, q in _POWERS:
            mirrored[p, q] = sum(comb(q, r) * (-1) ** r * self.powers[p + q - r, r] for r in range(q + 1))
        loss_beside = self.loss_beside - self.weight_beside
        return LossSums(mirrored, self.beside, -self.weight_beside, loss_beside, self.n_beside)

    def mean(self) -> float:
        """One minus the mean loss."""
        return 1.0 - self.loss / self.weight

    def share_of_added_unit(self) -> float:
        """Share of the weight that an added unit has."""
        return self.added / (self.weight + self.added)

    def squares_around(self, mean_loss: float) -> float:
        """Sum over the units of the squared deviation of what they lose from a mean loss."""
        of_weight, mixed, of_loss = self.powers[2, 0], self.powers[1, 1], self.powers[0, 2]
        return max(float(of_loss - 2.0 * mean_loss * mixed + mean_loss**2 * of_weight), 0.0)


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


def power_sums(weight: FloatArray, lost: FloatArray) -> FloatArray:
    """The `powers` of :class:`LossSums` from the weight of each unit and what it loses."""
    sums = np.zeros((4, 4))
    for p, q in _POWERS:
        factors = [weight] * p + [lost] * q
        sums[p, q] = factors[0].sum() if len(factors) == 1 else reduce(np.multiply, factors[:-1]) @ factors[-1]
    return sums


def share_losses(values: BoolArray, weight: FloatArray, units: IndexArray | None = None) -> LossSums:
    """Sums of the share of the weight at which `values` is true."""
    weight = weight / weight.max()  # neither the cube of a large weight nor the square of a small one is a number
    return LossSums(power_sums(_added_up(weight, units), _added_up(weight * ~values, units)))


def shared_losses(of_all: FloatArray, of_lost: FloatArray) -> LossSums:
    """Sums of a share of rows, from the powers of the weights of all rows and of those that lose.

    Both hold the sum of weight ** k in place k.
    """
    powers = np.zeros((4, 4))
    for p, q in _POWERS:
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


def losses_of_classes(powers: Sequence[FloatArray]) -> LossSums:
    """Sums of an AUC from those of its two classes, of rows that were drawn independently of each other."""
    own, other = sorted(powers, key=_size_of)
    others = LossSums(other)
    beside = others.squares_around(float(own[0, 1] / own[1, 0])) / others.weight**2
    return LossSums(own, beside, n_beside=_size_of(other))


def losses_of_units(powers: Sequence[FloatArray], sides: Sequence[tuple[FloatArray, ...]]) -> LossSums:
    """The same for units that hold rows of both classes: a side is their weights and losses in one class."""
    first, second = sorted(range(2), key=lambda side: _size_of(powers[side]))
    own, other = powers[first], powers[second]
    (weight, lost), (weight_of_others, lost_by_others) = sides[first], sides[second]
    beside = (weight_of_others * (own[0, 1] / own[1, 0]) - lost_by_others) / other[1, 0]
    return LossSums(own, float(beside @ beside), float(weight @ beside), float(lost @ beside), _size_of(other))


def _size_of(powers: FloatArray) -> float:
    """Kish's effective number of units."""
    return float(powers[1, 0] ** 2 / powers[2, 0])


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


# ---- bounds ----


def lower_bound(sums: LossSums, failure: float, added_loss: float = 1.0) -> float:
    """The mean is above this with probability ``1 - failure``, judged with one more unit that loses `added_loss`."""
    if sums.n_beside <= 1.0:
        return 0.0  # one row that outweighs all others says nothing about their spread
    added, before = sums.added, sums.weight
    total = before + added
    mean_loss = (sums.loss + added * added_loss) / total
    size = total**2 / (float(sums.powers[2, 0]) + added**2)
    # Each class has its own number of rows to estimate a spread from; of independent rows this is DeLong's variance.
    own, other = size / (size - 1.0), _degrees(sums.n_beside)
    of_added = added * (added_loss - mean_loss)
    together = sqrt(own * other) * 2.0 * before * (mean_loss * sums.weight_beside - sums.loss_beside)
    of_others = other * before**2 * sums.beside
    variance = own * (sums.squares_around(mean_loss) + of_added**2) + of_others + together
    return _beta_quantile(1.0 - mean_loss, variance / total**2, failure)


def interval(sums: LossSums, failure: float, extra_loss: float | None = None) -> tuple[float, float]:
    """Ends that each fail with probability `failure`; without `extra_loss` the added unit loses all that it can."""
    ends = [
        lower_bound(side, failure, 1.0 if extra_loss is None else _added_loss(side, extra_loss))
        for side in (sums, sums.mirrored())
    ]
    mean = sums.mean()
    return min(ends[0], mean), max(1.0 - ends[1], mean)


def _added_loss(sums: LossSums, extra_loss: float) -> float:
    """Loss of the added row: a little more than that of the rows that make the sum of the losses skewed."""
    if (squares := float(sums.powers[0, 2])) <= 0.0:
        return extra_loss
    seen = float(sums.powers[0, 3]) / squares / sums.added
    return min(1.0, extra_loss + max(seen, 1.0 - sums.mean()))


def _degrees(size: float) -> float:
    return 1.0 if np.isinf(size) else size / (size - 1.0)


def _beta_quantile(mean: float, variance: float, failure: float) -> float:
    """Quantile of the Beta distribution with this mean and the variance of a share of so many rows."""
    if mean <= 0.0:
        return 0.0
    size = mean * (1.0 - mean) / variance + 1.0
    return float(betaincinv(size * mean, size * (1.0 - mean), failure))


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
