"""Intervals of shares, of an AUC and of differences, that hold where a class has few rows or nothing goes wrong.

A percentile of resamples cannot show what the sample does not hold. If no selected positive lies below a negative, all
resamples have an AUC of 1 and the interval is [1, 1]. Each end here is therefore judged with one more row, which loses
(for the lower end) or gains (for the upper end), as :mod:`aucross.evaluation.lower_bounds` describes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import nan
from typing import NamedTuple

import numpy as np
from scipy.special import betaincinv, ndtri

from aucross.core.added_row import EXTRA_LOSS, LossSums, interval
from aucross.core.ranking import FloatArray, IndexArray
from aucross.evaluation.bootstrap import RankedSelections
from aucross.evaluation.selection_losses import Losses, losses_of_selections

_Ends = tuple[float, float, float]

# Scores that the step of a gain is read from.
_MOST_READ = 10_000


class Ends(NamedTuple):
    """Lower and upper ends, one pair per selection, and what the row added to judge them moves the number by."""

    low: FloatArray
    high: FloatArray
    step: FloatArray

    def at(self, own: slice | list[int]) -> Ends:
        """The intervals of some of the selections."""
        return Ends(self.low[own], self.high[own], self.step[own])

    def scaled(self, factor: float, plus: FloatArray | float = 0.0) -> Ends:
        """The intervals of the number times a factor plus a constant."""
        ends = factor * self.low + plus, factor * self.high + plus
        return Ends(np.minimum(*ends), np.maximum(*ends), abs(factor) * self.step)


def selection_intervals(
    ranked: RankedSelections, confidence_level: float, units: IndexArray | None = None
) -> dict[str, Ends]:
    """Intervals of the coverage, AUC, accuracy, positive rate and positives for review of each selection.

    Parameters
    ----------
    ranked : RankedSelections
        The rows that take part, all of weight.
    confidence_level : float in (0, 1)
        Level of the intervals.
    units : ndarray of shape (n,), optional
        Numbers of the units that rows belong to.
    """
    return intervals_of(losses_of_selections(ranked, units), confidence_level)


def intervals_of(selections: Iterable[Mapping[str, Losses]], confidence_level: float) -> dict[str, Ends]:
    """Intervals of each metric from what each of the selections loses."""
    failure = (1.0 - confidence_level) / 2.0
    found: dict[str, list[_Ends]] = {}
    for selection in selections:
        for name, losses in selection.items():
            ends = _ends(losses, failure, EXTRA_LOSS if name == "selective_auc" else None)
            found.setdefault(name, []).append(ends)
    return {name: Ends(*np.array(pairs, dtype=np.float64).T) for name, pairs in found.items()}


def _ends(losses: Losses, failure: float, extra_loss: float | None) -> _Ends:
    if losses is None:
        return nan, nan, nan
    if isinstance(losses, LossSums):
        step = losses.share_of_added_unit()
        return *interval(losses, failure, extra_loss), step if extra_loss is None else extra_loss * step
    n_rows, n_true = losses.n_rows, losses.n_rows - losses.n_lost  # Clopper and Pearson's interval
    low = betaincinv(n_true, n_rows - n_true + 1, failure) if n_true else 0.0
    high = betaincinv(n_true + 1, n_rows - n_true, 1.0 - failure) if n_true < n_rows else 1.0
    return float(low), float(high), 1.0 / (n_rows + 1)


def difference_ends(
    difference: FloatArray,
    replicates: FloatArray,
    steps: tuple[FloatArray, FloatArray],
    confidence_level: float,
    *,
    combine: np.ufunc = np.add,
) -> Ends:
    """Interval of a paired difference, from its replicates and one more row that counts against each end.

    The added row moves the difference down, or up, by one of the `steps`, and by what the rows do that make the
    replicates skewed towards that end: by both together, or with ``combine=np.maximum`` by the larger of the two, where
    both come from rows of one kind. It shifts the end and adds to the variance, as for a single number.
    """
    spread, skewness = _spread_and_skewness(replicates)
    quantile = ndtri((1.0 + confidence_level) / 2.0)
    ends = []
    for side, step in zip((-1.0, 1.0), steps, strict=True):
        added = combine(step, np.maximum(side * skewness, 0.0) * spread)
        ends.append(difference + side * (added + quantile * np.sqrt(spread**2 + added**2)))
    low, high = ends
    return Ends(low, high, np.maximum(*steps))


def losses_of_rejected(
    score: FloatArray, positives: FloatArray, negatives: FloatArray, rejected: Iterable[FloatArray]
) -> FloatArray:
    """What a rejected row loses on average among all rows, if it is of the smaller class, for each selection.

    Parameters
    ----------
    score, positives, negatives : ndarray of shape (n,)
        Scores in ascending order, and the weight of the rows of each class there.
    rejected : iterable of ndarray of shape (n,)
        Weight of the rejected rows, for each selection.

    Notes
    -----
    Long columns are read at places that are evenly apart: the number sets a step, and a hundredth of it matters little.
    """
    read = evenly(len(score))
    score, positives, negatives = score[read], positives[read], negatives[read]
    positives_are_fewer = positives.sum() <= negatives.sum()
    others = negatives if positives_are_fewer else positives
    below = np.concatenate(([0.0], np.cumsum(others)))
    ends = (np.searchsorted(score, score, side=side) for side in ("left", "right"))
    share_below = sum(below[end] for end in ends) / max(2.0 * below[-1], np.finfo(float).tiny)
    loss = 1.0 - share_below if positives_are_fewer else share_below
    weights = (weight[read] for weight in rejected)
    return np.array([float(weight @ loss) / total if (total := weight.sum()) > 0 else 0.0 for weight in weights])


def evenly(n_rows: int) -> slice:
    """Places that are evenly apart, so many that an average over them serves for one over all rows."""
    return slice(None, None, n_rows // _MOST_READ + 1)


def _spread_and_skewness(replicates: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Standard deviation and skewness of the finite replicates of each column; 0 where there are none."""
    defined = np.isfinite(replicates)
    n_defined = np.maximum(defined.sum(axis=0), 1)
    mean = np.where(defined, replicates, 0.0).sum(axis=0) / n_defined
    deviation = np.where(defined, replicates - mean, 0.0)
    spread = np.sqrt((deviation**2).sum(axis=0) / n_defined)
    cubes: FloatArray = (deviation**3).sum(axis=0) / n_defined
    skewness: FloatArray = np.divide(cubes, spread**3, out=np.zeros(len(spread)), where=spread > 1e-100)
    return spread, skewness
