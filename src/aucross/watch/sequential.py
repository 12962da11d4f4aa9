"""A sequential test of the mean of a stream, which may be checked after every batch of an endless run.

The values lie in [0, 1]: whether a row is selected, or whether a positive ranks above a negative. While the mean stays
between two limits, a gambler who bets that it left them is not expected to win. The evidence is the capital of this
gambler, which starts at 1. An alarm is raised at a capital of 1 / false_alarm; without drift the capital ever reaches
that with probability `false_alarm` at most, however long the run::

    batch      1    2    3   ...            each batch a further share of the capital enters the game, so that a drift
    bet from 1 ■■■■■■■■■■■■■■■■■■■■         which starts late finds a gambler who has not yet lost everything
    bet from 2      ■■■■■■■■■■■■■■■
    bet from 3           ■■■■■■■■■■
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import exp, inf, log, log1p, nan

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit

FloatArray = NDArray[np.float64]

# Distances of the bets from the limit, in log-odds. Neighbours differ by a factor of 2: between two of them at most a
# sixth of the growth is lost. The smallest sees a drift of .0003 beyond the limit, if there are millions of rows.
BET_DISTANCES = 2.0 ** np.arange(-8, 3)

# exp of more than this is infinite.
_LARGEST_EXPONENT = 700.0


@dataclass(frozen=True, eq=False)
class Bets:
    """Bets of fixed sizes that the mean of values in [0, 1] is above an upper limit or below a lower limit."""

    limits: FloatArray  # that each bet is made against
    # A value x multiplies the capital of a bet by 1 + size * (x - limit): positive for bets on a mean above the limit.
    sizes: FloatArray

    @classmethod
    def against(cls, low: float, high: float) -> Bets:
        """Return bets that the mean is below `low` and that it is above `high`; no bets if a limit is 0 or 1."""
        limits = np.concatenate([np.full(len(BET_DISTANCES), limit) for limit in (low, high)])
        distances = np.concatenate((-BET_DISTANCES, BET_DISTANCES))
        can_be_passed = np.where(distances < 0, limits > 0, limits < 1)
        limits, distances = limits[can_be_passed], distances[can_be_passed]
        # A limit of 1 against which one bets on a lower mean has infinite log-odds; just below it is as good.
        limits = np.clip(limits, 1e-9, 1 - 1e-9)
        means = expit(logit(limits) + distances)
        # For values 0 and 1 this size makes the factor the likelihood ratio of a mean against the limit.
        return cls(limits, (means - limits) / (limits * (1 - limits)))

    def __len__(self) -> int:
        return len(self.sizes)

    def log_growth(self, values: FloatArray) -> FloatArray:
        """Return the log of the factor by which a batch of values multiplies the capital of each bet."""
        # One bet after the other: a matrix of values and bets would be large for large batches.
        return np.array(
            [
                np.log1p(size * (values - limit)).sum()
                for size, limit in zip(self.sizes.tolist(), self.limits.tolist(), strict=True)
            ]
        )

    def log_growth_of_counts(self, ones: ArrayLike, total: ArrayLike) -> FloatArray:
        """Return the log growth for batches of zeros and ones, given as counts; the last axis holds the bets."""
        ones, total = np.asarray(ones)[..., None], np.asarray(total)[..., None]
        won, lost = np.log1p(self.sizes * (1 - self.limits)), np.log1p(-self.sizes * self.limits)
        return np.asarray(ones * won + (total - ones) * lost)


def start_share(batch: int) -> float:
    """Return the share of the capital that enters the game with a batch, counted from 1; all shares add up to 1.

    It is about ``1 / (batch * log(batch) ** 2)``, so a long time without drift delays an alarm only logarithmically.
    """
    return log1p(1 / batch) * share_from(batch) * share_from(batch + 1)


def share_from(batch: int) -> float:
    """Return the sum of the shares of this and all later batches."""
    return 1 / (1 + log(batch))


def next_log_wealth(log_wealth: ArrayLike, log_growth: FloatArray, batch: int) -> FloatArray:
    """Return the log capital in each bet after a batch: the old capital plus the entering share, times the growth."""
    return np.asarray(np.logaddexp(log_wealth, log(start_share(batch))) + log_growth)


def log_evidence(log_wealth: FloatArray, batch: int) -> FloatArray:
    """Return the log of the whole capital after a batch, averaged over the bets; unused capital counts unchanged."""
    in_game = np.logaddexp.reduce(log_wealth, axis=-1) - log(np.shape(log_wealth)[-1])
    return np.asarray(np.logaddexp(in_game, log(share_from(batch + 1))))


@dataclass(frozen=True)
class SequentialMeanTest:
    r"""Test whether the mean of values in [0, 1] lies between two limits, in a run of any length.

    Immutable: :meth:`after` returns the test with one more batch. All fields are plain numbers and tuples, so that
    they can be written as JSON and read back without loss.

    Parameters
    ----------
    low, high : float
        Limits of the mean without drift, inclusive. A lower limit of 0 or an upper limit of 1 is not tested.
    false_alarm : float in (0, 1)
        Largest probability that a run without drift, however long, ever raises an alarm.
    n_batches, n_values, total
        Batches and values seen, and the sum of the values.
    log_wealth : tuple of float
        Logarithm of the capital in each bet; empty before the first batch.
    drift_growth, drift_start : tuples
        For each bet, the log growth of the capital since the best start so far (or until the alarm), and the batch of
        that start.
    alarm_batch : int or None
        The batch whose evidence first reached the alarm.

    Notes
    -----
    Let :math:`x_1`, :math:`x_2` and so on be the values, :math:`m` the upper limit, :math:`\lambda` the size of a bet,
    :math:`0 \le \lambda \le 1/m`. If the mean of each value given those before is at most :math:`m`, the products
    :math:`\prod_{i = s}^{t} (1 + \lambda (x_i - m))` are not negative and not expected to grow, whichever batch they
    start from: nonnegative supermartingales. So are weighted sums of them, over sizes, over both limits and over
    starts :math:`s`, with weights that add up to 1. By Ville's inequality such a sum, which starts at 1, ever reaches
    :math:`1/\alpha` with probability :math:`\alpha` at most. For zeros and ones each factor is the likelihood ratio of
    two Bernoulli laws.

    The mean need not be constant without drift: it may move between the limits, and may depend on the past. Values
    of one batch must be independent given the past; many rows of one customer in one batch are not.

    The weighted sum over *all* starts needs no list of starts. With :math:`w_t` the weight of batch :math:`t` and
    :math:`L_t` its factor, the capital of a bet is :math:`M_t = (M_{t-1} + w_t) L_t`: one number for each bet,
    however long the run. This is a Shiryaev-Roberts sum whose weights add up to 1 rather than to the number of
    batches, so it bounds the probability of a false alarm in an unlimited run and not their frequency.

    References
    ----------
    - J. Ville: *Étude critique de la notion de collectif*. Gauthier-Villars 1939.
    - S. R. Howard, A. Ramdas, J. McAuliffe, J. Sekhon: *Time-uniform, nonparametric, nonasymptotic confidence
      sequences*. Annals of Statistics 49, 2021.
    - I. Waudby-Smith, A. Ramdas: *Estimating means of bounded random variables by betting*. Journal of the Royal
      Statistical Society B 86, 2024.
    - J. Shin, A. Ramdas, A. Rinaldo: *E-detectors: a nonparametric framework for sequential change detection*.
      New England Journal of Statistics in Data Science 2, 2024.

    Examples
    --------
    >>> from aucross.watch.sequential import SequentialMeanTest
    >>> test = SequentialMeanTest(low=0.79, high=0.81, false_alarm=0.05)
    >>> test.after_counts(160, 200).alarm
    False
    >>> for selected in (160, 159, 140, 139, 142):
    ...     test = test.after_counts(selected, 200)
    >>> print(test.alarm, test.alarm_batch, test.direction, test.drift_since)
    True 4 below 3
    """

    low: float
    high: float
    false_alarm: float
    n_batches: int = 0
    n_values: int = 0
    total: float = 0.0
    log_wealth: tuple[float, ...] = ()
    drift_growth: tuple[float, ...] = ()
    drift_start: tuple[int, ...] = ()
    alarm_batch: int | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.low <= self.high <= 1:
            raise ValueError(f"the limits must satisfy 0 <= low <= high <= 1, got low={self.low}, high={self.high}")
        if not 0 < self.false_alarm < 1:
            raise ValueError(f"false_alarm must be in (0, 1), got {self.false_alarm}; 0.05 is one run in twenty")

    @cached_property
    def bets(self) -> Bets:
        """The bets against the two limits."""
        return Bets.against(self.low, self.high)

    def after(self, values: ArrayLike) -> SequentialMeanTest:
        """Add a batch of values in [0, 1]; an empty batch changes nothing."""
        values = np.asarray(values, dtype=np.float64)
        if not ((values >= 0) & (values <= 1)).all():
            raise ValueError("values must lie in [0, 1], got others or NaN; the bets are fair for bounded values only")
        return self._after(self.bets.log_growth(values), len(values), float(values.sum()))

    def after_counts(self, ones: int, total: int) -> SequentialMeanTest:
        """Add a batch of `total` values of which `ones` are 1 and the others 0."""
        if not 0 <= ones <= total:
            raise ValueError(f"ones must lie between 0 and total, got {ones} of {total}")
        return self._after(self.bets.log_growth_of_counts(ones, total), int(total), float(ones))

    def _after(self, growth: FloatArray, n_values: int, total: float) -> SequentialMeanTest:
        if n_values == 0:
            return self
        batch = self.n_batches + 1
        counted = replace(self, n_batches=batch, n_values=self.n_values + n_values, total=self.total + total)
        if not len(self.bets):
            return counted
        before = self.log_wealth or (-inf,) * len(self.bets)
        after = replace(counted, log_wealth=tuple(next_log_wealth(before, growth, batch).tolist()))
        if self.alarm:
            return after  # side and start are those of the alarm, also where the drift has turned round since
        after = after._with_drift(growth)
        return replace(after, alarm_batch=batch) if after.log_evidence >= -log(self.false_alarm) else after

    def _with_drift(self, growth: FloatArray) -> SequentialMeanTest:
        """Update the best start of each bet with the log growth of a batch."""
        before = np.array(self.drift_growth or (0.0,) * len(self.bets))
        start = np.array(self.drift_start or (self.n_batches,) * len(self.bets))
        # A start whose growth was lost again is worse than a start now.
        is_new = before <= 0
        return replace(
            self,
            drift_growth=tuple((np.where(is_new, 0.0, before) + growth).tolist()),
            drift_start=tuple(np.where(is_new, self.n_batches, start).tolist()),
        )

    @property
    def mean(self) -> float:
        """Mean of all values seen; NaN before the first."""
        return self.total / self.n_values if self.n_values else nan

    @property
    def log_evidence(self) -> float:
        """Natural logarithm of the evidence."""
        return float(log_evidence(np.array(self.log_wealth), self.n_batches)) if self.log_wealth else 0.0

    @property
    def evidence(self) -> float:
        """Evidence against "no drift": the capital of the gambler, 1 at the start."""
        return exp(min(self.log_evidence, _LARGEST_EXPONENT))

    @property
    def alarm_at(self) -> float:
        """Evidence at which an alarm is raised."""
        return 1 / self.false_alarm

    @property
    def alarm(self) -> bool:
        """Whether the evidence has reached the alarm at any time of the run."""
        return self.alarm_batch is not None

    @property
    def direction(self) -> str:
        """``"below"`` or ``"above"``: direction of the drift, at the alarm if there was one; empty without evidence."""
        bet = self._telling_bet
        return "" if bet is None else "below" if self.bets.sizes[bet] < 0 else "above"

    @property
    def drift_since(self) -> int | None:
        """The most likely first batch of the drift; None without evidence."""
        bet = self._telling_bet
        return None if bet is None else self.drift_start[bet]

    @property
    def _telling_bet(self) -> int | None:
        """Index of the bet whose capital has grown most since its best start; None if no capital has grown."""
        if not self.drift_growth or not (self.alarm or self.log_evidence > 0):
            return None
        entered = np.log([start_share(batch) for batch in self.drift_start])
        return int(np.argmax(entered + self.drift_growth))


def paired_outcomes(positive_scores: FloatArray, negative_scores: FloatArray) -> FloatArray:
    """Return independent values in [0, 1] whose mean is the AUC, from scores of both classes in order of arrival.

    Each row of the rarer class is compared with its own rows of the other class. Its value is the share of them against
    which it is ranked correctly; ties count half. Every score is used once; no values if a class is missing.

    Examples
    --------
    >>> import numpy as np
    >>> from aucross.watch.sequential import paired_outcomes
    >>> paired_outcomes(np.array([0.9, 0.4]), np.array([0.1, 0.6, 0.9, 0.2]))
    array([0.75, 0.5 ])
    """
    n_values = min(len(positive_scores), len(negative_scores))
    if n_values == 0:
        return np.empty(0)
    meets = np.arange(max(len(positive_scores), len(negative_scores))) % n_values
    is_repeated = len(positive_scores) == n_values
    positives = positive_scores[meets] if is_repeated else positive_scores
    negatives = negative_scores if is_repeated else negative_scores[meets]
    won = (positives > negatives) + 0.5 * (positives == negatives)
    return np.bincount(meets, weights=won) / np.bincount(meets)
