"""The mean of what rows lose, bounded with one more row that counts against the bound.

:mod:`aucross.evaluation.lower_bounds` tells the idea. It lives here because both the intervals of an evaluation and the
coverage for an AUC, which a fitted classifier answers, need it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import comb, sqrt
from typing import NamedTuple

import numpy as np
from scipy.special import betaincinv

from aucross.core.ranking import FloatArray

# How much more than the losing rows of the sample the added row of an interval loses, of all that it could lose. Chosen
# by benchmarks/intervals.py: with .08 one cell comes down to .932, with .125 one is more than twice as wide as its law.
EXTRA_LOSS = 0.1

# Rows of the smaller class below which the added row loses more still, and by how much, times what 1 / rows is above
# that of so many rows. The spread of a handful of rows says little about the spread of all. Chosen by
# `python -m benchmarks.intervals few`.
ENOUGH_ROWS = 12
_LOSS_OF_FEW = 3.0

# Powers of weight and of loss whose sums are kept: up to the third, which the added unit is read from.
POWERS_KEPT = tuple((p, total - p) for total in (1, 2, 3) for p in range(total + 1))


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
        for p, q in POWERS_KEPT:
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


def power_sums(weight: FloatArray, lost: FloatArray) -> FloatArray:
    """The `powers` of :class:`LossSums` from the weight of each unit and what it loses."""
    sums = np.zeros((4, 4))
    for p, q in POWERS_KEPT:
        factors = [weight] * p + [lost] * q
        sums[p, q] = factors[0].sum() if len(factors) == 1 else reduce(np.multiply, factors[:-1]) @ factors[-1]
    return sums


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
