"""Bounds and intervals of a share, of an AUC and of differences, that hold where a class has few rows.

All rest on one idea. Add **one row that counts against the bound**: a rejected row for the coverage; for the AUC a row
of the smaller class on the wrong side of rows of the other. Then take the lower quantile of what the mean over all rows
may be::

    coverage    1 1 0 1 1 1 ... 1 | 0      share of ones
    AUC         V V V V V V ... V | 0      mean of V, a row's share of the other class that it is ranked rightly against

The quantile comes from the Beta distribution with that mean and its variance, or from a bootstrap. For the coverage
this *is* the exact bound of Clopper and Pearson, and so it is for the AUC where every V is 0 or 1. The added row of a
promise loses against everybody (V = 0); that of an interval only a little more than the rows that were seen to lose: a
percentile of resamples cannot show what the sample does not hold.

Rows that belong together (those of one customer) are one *unit*: the variance is that of sums over units, and a whole
unit is added. Whatever is bounded comes in as sums of losses, :class:`LossSums`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from math import comb, floor, nan, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, ndtri

from aucross.core.bands import RejectionBand
from aucross.core.ranking import FloatArray, IndexArray, RankedScores, effective_size

# How much more than the losing rows of the sample the added row of an interval loses, of all that it could lose. Chosen
# by benchmarks/intervals.py: with .08 one cell comes down to .932, with .125 one is more than twice as wide as its law.
EXTRA_LOSS = 0.1

# Rows of the smaller class below which the added row loses more still, and by how much, times what 1 / rows is above
# that of so many rows. The spread of a handful of rows says little about the spread of all. Chosen by
# `python -m benchmarks.intervals few`.
ENOUGH_ROWS = 12
_LOSS_OF_FEW = 3.0

# Powers of weight and of loss whose sums are kept: up to the third, which the added unit is read from.
_POWERS_KEPT = tuple((p, total - p) for total in (1, 2, 3) for p in range(total + 1))

# From a generator and a number of replicates: weights of positives and of negatives at ascending scores.
Draw = Callable[[np.random.Generator, int], tuple[FloatArray, FloatArray]]

# Drawn numbers at a time in the bootstrap: few enough to stay in the cache.
_DRAWS_AT_A_TIME = 2**15


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
    def size(self) -> float:
        """Kish's effective number of units."""
        return _size_of(self.powers)

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
        for p, q in _POWERS_KEPT:
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


# ---- sums of losses ----


def share_losses(of_all: FloatArray, of_lost: FloatArray) -> LossSums | None:
    """Sums of a share of rows, from the powers 0 to 3 of the weights of all rows and of those that lose."""
    if of_all[0] == 0:
        return None
    unit = of_all[1] / of_all[0]  # neither the cube of a large weight nor the square of a small one is a number
    of_all, of_lost = (powers / unit ** np.arange(4.0) for powers in (of_all, of_lost))
    powers = np.zeros((4, 4))
    for p, q in _POWERS_KEPT:
        powers[p, q] = of_lost[p + q] if q else of_all[p]
    return LossSums(powers)


def share_losses_of_units(weight: FloatArray, lost: FloatArray) -> LossSums | None:
    """Sums of a share from the weight of each unit and what it loses."""
    largest = weight.max(initial=0.0)
    return LossSums(_power_sums(weight / largest, lost / largest)) if largest > 0 else None


def auc_losses(ranked: RankedScores) -> LossSums | None:
    """Sums of the AUC of rows that were drawn independently of each other; None if a class has too few."""
    if not has_pairs(*ranked.totals[:, 0]):
        return None
    sides = []
    for weights, total, loss in zip(ranked.class_powers, ranked.totals, ranked.losses, strict=True):
        squared = loss * loss
        of_loss = None, loss, squared, squared * loss
        unit, powers = total[1] / total[0], np.zeros((4, 4))
        for k in (1, 2, 3):
            for q in range(k + 1):
                # Weights of 1 have one power for all: then only the exponent of the loss tells sums apart.
                if ranked.powers is None and k > max(q, 1):
                    powers[k - q, q] = powers[max(1 - q, 0), q]
                    continue
                times = of_loss[q]
                powers[k - q, q] = (total[k] if times is None else weights[k] @ times) / unit**k
        sides.append(powers)
    own, other = sorted(sides, key=_size_of)
    others = LossSums(other)
    beside = others.squares_around(float(own[0, 1] / own[1, 0])) / others.weight**2
    return LossSums(own, beside, n_beside=_size_of(other))


def auc_losses_of_units(
    positive: NDArray[np.bool_], weight: FloatArray, loss: FloatArray, units: IndexArray, n_units: int
) -> LossSums | None:
    """The same for rows that belong to units: from the loss of each row among the rows of the other class."""
    n_positive = int(np.count_nonzero(positive))
    if not has_pairs(n_positive, len(positive) - n_positive):
        return None
    sides = []
    for rows in (np.flatnonzero(positive), np.flatnonzero(~positive)):
        own_weight = weight[rows] / weight[rows].max()  # neither the cube of a large nor of a small weight is a number
        sides.append([sums_by_unit(units[rows], part, n_units) for part in (own_weight, own_weight * loss[rows])])
    powers = [_power_sums(*side) for side in sides]
    first, second = sorted(range(2), key=lambda side: _size_of(powers[side]))
    own, other = powers[first], powers[second]
    (weight, lost), (weight_of_others, lost_by_others) = sides[first], sides[second]
    beside = (weight_of_others * (own[0, 1] / own[1, 0]) - lost_by_others) / other[1, 0]
    return LossSums(own, float(beside @ beside), float(weight @ beside), float(lost @ beside), _size_of(other))


def sums_by_unit(units: IndexArray, values: FloatArray, n_units: int = 0) -> FloatArray:
    """Sum of the values of each unit."""
    return np.bincount(units, values, minlength=n_units).astype(np.float64, copy=False)


def has_pairs(n_positive: float, n_negative: float) -> bool:
    """Whether an AUC has an interval: rows of both classes, and two of one."""
    return bool(min(n_positive, n_negative) >= 1 and max(n_positive, n_negative) >= 2)


def _power_sums(weight: FloatArray, lost: FloatArray) -> FloatArray:
    """The `powers` of :class:`LossSums` from the weight of each unit and what it loses."""
    sums = np.zeros((4, 4))
    for p, q in _POWERS_KEPT:
        factors = [weight] * p + [lost] * q
        sums[p, q] = factors[0].sum() if len(factors) == 1 else reduce(np.multiply, factors[:-1]) @ factors[-1]
    return sums


def _size_of(powers: FloatArray) -> float:
    """Kish's effective number of units."""
    return float(powers[1, 0] ** 2 / powers[2, 0])


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
    return beta_quantile(1.0 - mean_loss, variance / total**2, failure)


def interval(sums: LossSums, failure: float, extra_loss: float | None = None) -> tuple[float, float]:
    """Ends that each fail with probability `failure`; without `extra_loss` the added unit loses all that it can."""
    ends = [
        lower_bound(side, failure, 1.0 if extra_loss is None else _added_loss(side, extra_loss))
        for side in (sums, sums.mirrored())
    ]
    mean = sums.mean()
    return min(ends[0], mean), max(1.0 - ends[1], mean)


def loss_of_few(n_rows: float) -> float:
    """What the added row loses on top if the smaller class has so few rows; 0 from `ENOUGH_ROWS` on."""
    return _LOSS_OF_FEW * max(1.0 / n_rows - 1.0 / ENOUGH_ROWS, 0.0)


def _added_loss(sums: LossSums, extra_loss: float) -> float:
    """Loss of the added row: a little more than that of the rows that make the sum of the losses skewed."""
    extra_loss += loss_of_few(sums.size)
    if (squares := float(sums.powers[0, 2])) <= 0.0:
        return min(1.0, extra_loss)
    seen = float(sums.powers[0, 3]) / squares / sums.added
    return min(1.0, extra_loss + max(seen, 1.0 - sums.mean()))


def _degrees(size: float) -> float:
    return 1.0 if np.isinf(size) else size / (size - 1.0)


def beta_quantile(mean: float, variance: float, failure: float) -> float:
    """Quantile of the Beta distribution with this mean and the variance of a share of so many rows."""
    if mean <= 0.0:
        return 0.0
    size = mean * (1.0 - mean) / variance + 1.0
    return float(betaincinv(size * mean, size * (1.0 - mean), failure))


# ---- bounds of an AUC ----


def auc_lower_bound(ranked: RankedScores, failure: float) -> float:
    """The AUC of all rows is above this with probability ``1 - failure``, whatever rows the sample lacks.

    Parameters
    ----------
    ranked : RankedScores
        Independent rows.
    failure : float in (0, 1)
        Probability that the bound is too high.

    Returns
    -------
    float
        NaN if a class has too few rows.

    Examples
    --------
    >>> from aucross.core import RankedScores
    >>> from aucross.core.bounds import auc_lower_bound
    >>> ranked = RankedScores.from_labels([0] * 50 + [1] * 3, range(53))  # separated: AUC 1
    >>> round(auc_lower_bound(ranked, failure=0.05), 3)
    0.368
    """
    losses = auc_losses(ranked)
    return nan if losses is None else lower_bound(losses, failure)


def auc_ends(ranked: RankedScores, failure: float, band: RejectionBand | None = None) -> tuple[float, float]:
    """Ends of an interval of the AUC of the rows that `band` selects, each of which fails with probability `failure`.

    Parameters
    ----------
    ranked : RankedScores
        Independent rows.
    failure : float in (0, 1)
        Probability that the truth is beyond one end.
    band : RejectionBand, optional
        Rejected scores; none by default.

    Returns
    -------
    tuple of float
        NaN if a class has too few rows. The added row is that of an interval, as in an evaluation: it loses more than
        the rows that were seen to lose, and less than that of :func:`auc_lower_bound`, which loses everything.

    Examples
    --------
    >>> from aucross.core import RankedScores
    >>> from aucross.core.bounds import auc_ends
    >>> for n_positive in (3, 30):  # separated: AUC 1
    ...     ranked = RankedScores.from_labels([0] * 50 + [1] * n_positive, range(50 + n_positive))
    ...     print([round(end, 3) for end in auc_ends(ranked, failure=0.025)])
    [0.37, 1.0]
    [0.988, 1.0]
    """
    losses = auc_losses(ranked if band is None else ranked.where(band.selects(ranked.scores)))
    return (nan, nan) if losses is None else interval(losses, failure, EXTRA_LOSS)


def auc_ends_of_units(
    positive: NDArray[np.bool_],
    score: FloatArray,
    weight: FloatArray | None,
    units: IndexArray,
    failure: float,
) -> tuple[float, float]:
    """The same ends for rows of which several belong to one unit, such as a customer.

    Parameters
    ----------
    positive : ndarray of shape (n,)
        Whether the row is of the positive class.
    score : ndarray of shape (n,)
        Scores.
    weight : ndarray of shape (n,) or None
        Weights of the rows; None means 1 each.
    units : ndarray of shape (n,)
        Numbers of the units.
    failure : float in (0, 1)
        Probability that the truth is beyond one end.

    Returns
    -------
    tuple of float
        NaN if a class has no rows or all rows belong to one unit. The variance is that of sums over units.

    Examples
    --------
    >>> import numpy as np
    >>> from aucross.core.bounds import auc_ends_of_units
    >>> rng = np.random.default_rng(0)
    >>> positive = np.repeat(rng.random(100) < 0.4, 5)  # five rows of one customer are alike
    >>> score = np.repeat(rng.normal(size=100), 5) + positive
    >>> for units in (np.arange(500), np.repeat(np.arange(100), 5)):
    ...     print([round(end, 2) for end in auc_ends_of_units(positive, score, None, units, failure=0.025)])
    [0.72, 0.82]
    [0.65, 0.87]
    """
    weight = np.ones(len(score)) if weight is None else weight
    used = weight > 0
    positive, score, weight, units = positive[used], score[used], weight[used], units[used]
    numbers = np.unique(units, return_inverse=True)[1]
    if not positive.any() or positive.all() or not numbers.any():
        return nan, nan
    ranked = RankedScores.from_labels(positive, score, weight)
    places = np.searchsorted(ranked.scores, score)
    loss = np.where(positive, *(losses[places] for losses in ranked.losses))
    sums = auc_losses_of_units(positive, weight, loss, numbers, int(numbers.max()) + 1)
    return (nan, nan) if sums is None else interval(sums, failure, EXTRA_LOSS)


# ---- intervals of several numbers ----


class Ends(NamedTuple):
    """Lower and upper ends, one pair per selection, and what the row added to judge them moves the number by."""

    low: FloatArray
    high: FloatArray
    step: FloatArray

    def at(self, own: slice | list[int]) -> Ends:
        """The intervals of some of the selections."""
        return Ends(self.low[own], self.high[own], self.step[own])


def difference_ends(
    difference: FloatArray,
    spread: FloatArray,
    skewness: FloatArray,
    steps: tuple[FloatArray, FloatArray],
    confidence_level: float,
    *,
    combine: np.ufunc = np.add,
) -> Ends:
    """Interval of a paired difference, from its standard deviation and skewness and one more row against each end.

    The added row moves the difference down, or up, by one of the `steps`, and by what the rows do that make the
    difference skewed towards that end: by both together, or with ``combine=np.maximum`` by the larger of the two, where
    both come from rows of one kind. It shifts the end and adds to the variance, as for a single number.
    """
    quantile = ndtri((1.0 + confidence_level) / 2.0)
    ends = []
    for side, step in zip((-1.0, 1.0), steps, strict=True):
        added = combine(step, np.maximum(side * skewness, 0.0) * spread)
        ends.append(difference + side * (added + quantile * np.sqrt(spread**2 + added**2)))
    low, high = ends
    return Ends(low, high, np.maximum(*steps))


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
    """The AUC of the rows is above each of these with probability ``1 - failure``; both classes must have rows."""
    positive, score, weight, units = _with_worst_unit(positive, score, weight, units)
    drawn = auc_under_exponential_weights(positive, score, weight, n_bootstrap=n_bootstrap, seed=seed, units=units)
    replicates = np.sort(drawn)
    # With so chosen a replicate the level does not depend on their number, only the spread of the bound does.
    return [float(replicates[replicate_below(n_bootstrap, failure) - 1]) for failure in failures]


def _with_worst_unit(
    positive: NDArray[np.bool_], score: FloatArray, weight: FloatArray, units: IndexArray | None
) -> tuple[NDArray[np.bool_], FloatArray, FloatArray, IndexArray | None]:
    """Add a row to the smaller class, as heavy as a unit, on the wrong side of every row of the other class.

    Scores become ranks from 1 on: no finite score need be below the lowest one.
    """
    rank = np.unique(score, return_inverse=True)[1] + 1.0
    by_class = (weight[own] if units is None else np.bincount(units[own], weight[own]) for own in (positive, ~positive))
    positives, negatives = by_class
    is_positive = effective_size(positives) <= effective_size(negatives)
    fewer = positives if is_positive else negatives
    largest = float(fewer.max())
    added = largest * LossSums(_power_sums(fewer / largest, np.zeros(len(fewer)))).added
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
    """AUC of the rows, each unit weighted by an exponential number (and each row its own weight), per replicate."""
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
    """Weights of each class at every distinct score, ascending, by one draw for each row or unit."""
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
    """The same for rows of one weight, by one draw for each run of rows of one class.

    Rows between two neighbours of the other class win against the same rows, so that only the sum of their weights
    matters, and a sum of k exponential numbers is a Gamma number of shape k.
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
    """How many of the replicates, the bound included, lie at or below the bound."""
    return floor((n_bootstrap + 1) * failure + 1e-9)


def has_weights(weight: FloatArray) -> bool:
    """Whether the rows differ in weight; equal weights, whatever they are, are none."""
    return bool((weight != weight[0]).any())
