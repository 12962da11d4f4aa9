"""Intervals of shares, of an AUC and of differences, that hold where a class has few rows or nothing goes wrong.

A percentile of resamples cannot show what the sample does not hold. If no selected positive lies below a negative, all
resamples have an AUC of 1 and the interval is [1, 1]. Each end here is therefore judged with one more row, which loses
(for the lower end) or gains (for the upper end), as :mod:`aucross.evaluation.lower_bounds` describes.
"""

from __future__ import annotations

from math import nan
from typing import NamedTuple

import numpy as np
from scipy.special import betaincinv, ndtri

from aucross.core.ranking import FloatArray, IndexArray
from aucross.evaluation.bootstrap import RankedSelections
from aucross.evaluation.inputs import BoolArray, SelectedRows, row_weights
from aucross.evaluation.lower_bounds import EXTRA_LOSS, auc_losses, interval, share_losses

_Ends = tuple[float, float, float]


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
    ranked: RankedSelections, masks: BoolArray, confidence_level: float, units: IndexArray | None = None
) -> dict[str, Ends]:
    """Intervals of the coverage, AUC, accuracy, positive rate and positives for review of each selection.

    Parameters
    ----------
    ranked : RankedSelections
        The rows that take part, all of weight.
    masks : ndarray of shape (n_selections, n), bool
        The selections, of all rows.
    confidence_level : float in (0, 1)
        Level of the intervals.
    units : ndarray of shape (n,), optional
        Numbers of the units that rows belong to.
    """
    failure = (1.0 - confidence_level) / 2.0
    rows = ranked.ascending()
    weight = rows.sample_weight
    scored = SelectedRows(rows.positive, rows.score, row_weights(weight, len(rows.score)))
    of_rows = None if units is None else units[ranked.order]
    found: dict[str, list[_Ends]] = {}
    for mask in masks:
        own = mask[ranked.order]
        ends = {
            "achieved_coverage": share_interval(own, weight, of_rows, failure),
            "selective_auc": _auc_interval(scored, own, of_rows, failure),
            "selective_accuracy": _share_among(own, rows.correct, weight, of_rows, failure),
            "positive_rate": _share_among(own, rows.positive, weight, of_rows, failure),
            "positives_for_review": _share_among(rows.positive, ~own, weight, of_rows, failure),
        }
        for name, pair in ends.items():
            found.setdefault(name, []).append(pair)
    return {name: Ends(*np.array(pairs, dtype=np.float64).T) for name, pairs in found.items()}


def share_interval(values: BoolArray, weight: FloatArray | None, units: IndexArray | None, failure: float) -> _Ends:
    """Clopper and Pearson's interval of a share, and its likeness for rows that have weights or belong together."""
    if not len(values):
        return nan, nan, nan
    if weight is None and units is None:
        n_rows, n_true = len(values), int(np.count_nonzero(values))
        low = betaincinv(n_true, n_rows - n_true + 1, failure) if n_true else 0.0
        high = betaincinv(n_true + 1, n_rows - n_true, 1.0 - failure) if n_true < n_rows else 1.0
        return float(low), float(high), 1.0 / (n_rows + 1)
    sums = share_losses(values, row_weights(weight, len(values)), units)
    return *interval(sums, failure), sums.share_of_added_unit()


def _share_among(
    among: BoolArray, values: BoolArray, weight: FloatArray | None, units: IndexArray | None, failure: float
) -> _Ends:
    own_weight = None if weight is None else weight[among]
    return share_interval(values[among], own_weight, None if units is None else units[among], failure)


def _auc_interval(rows: SelectedRows, mask: BoolArray, units: IndexArray | None, failure: float) -> _Ends:
    selected = rows.take(mask)
    n_positive = int(np.count_nonzero(selected.positive))
    n_negative = len(selected.positive) - n_positive
    if min(n_positive, n_negative) < 1 or max(n_positive, n_negative) < 2:
        return nan, nan, nan
    sums = auc_losses(selected, None if units is None else units[mask])
    return *interval(sums, failure, EXTRA_LOSS), EXTRA_LOSS * sums.share_of_added_unit()


def difference_ends(
    difference: FloatArray, replicates: FloatArray, steps: tuple[FloatArray, FloatArray], confidence_level: float
) -> Ends:
    """Interval of a paired difference, from its replicates and one more row that counts against each end.

    The added row moves the difference down, or up, by one of the `steps`, and by what the rows do that make the
    replicates skewed towards that end. It shifts the end and adds to the variance, as for a single number.
    """
    spread, skewness = _spread_and_skewness(replicates)
    quantile = ndtri((1.0 + confidence_level) / 2.0)
    ends = []
    for side, step in zip((-1.0, 1.0), steps, strict=True):
        added = step + np.maximum(side * skewness, 0.0) * spread
        ends.append(difference + side * (added + quantile * np.sqrt(spread**2 + added**2)))
    low, high = ends
    return Ends(low, high, np.maximum(*steps))


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
