"""Bounds of an AUC that are safe where a class has few rows.

One row is added to the smaller class, on the wrong side of rows of the other class; the bound is the quantile of the
Beta distribution with the AUC of these rows and DeLong's variance. The guide on promises shows that it holds where the
bound of the normal distribution does not.
"""

from __future__ import annotations

from math import nan

import numpy as np
from numpy.typing import NDArray

from aucross.core.added_row import (
    EXTRA_LOSS,
    POWERS_KEPT,
    LossSums,
    interval,
    losses_of_classes,
    losses_of_units,
    lower_bound,
    power_sums,
)
from aucross.core.bands import RejectionBand
from aucross.core.ranking import FloatArray, IndexArray, RankedScores


def auc_lower_bound(ranked: RankedScores, failure: float) -> float:
    """The AUC of all rows is above this with probability ``1 - failure``, whatever rows the sample lacks.

    Parameters
    ----------
    ranked : RankedScores
        Independent rows, of weight 1 each.
    failure : float in (0, 1)
        Probability that the bound is too high.

    Returns
    -------
    float
        NaN if a class has too few rows.

    Examples
    --------
    >>> from aucross.core import RankedScores
    >>> from aucross.core.auc_bound import auc_lower_bound
    >>> ranked = RankedScores.from_labels([0] * 50 + [1] * 3, range(53))  # separated: AUC 1
    >>> round(auc_lower_bound(ranked, failure=0.05), 3)
    0.368
    """
    losses = _losses_of_rows(ranked.positives, ranked.negatives)
    return nan if losses is None else lower_bound(losses, failure)


def auc_ends(ranked: RankedScores, failure: float, band: RejectionBand | None = None) -> tuple[float, float]:
    """Ends of an interval of the AUC of the rows that `band` selects, each of which fails with probability `failure`.

    Parameters
    ----------
    ranked : RankedScores
        Independent rows; weights count as repeated rows.
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
    >>> from aucross.core.auc_bound import auc_ends
    >>> for n_positive in (3, 30):  # separated: AUC 1
    ...     ranked = RankedScores.from_labels([0] * 50 + [1] * n_positive, range(50 + n_positive))
    ...     print([round(end, 3) for end in auc_ends(ranked, failure=0.025)])
    [0.37, 1.0]
    [0.988, 1.0]
    """
    start, stop = ranked.block(band or RejectionBand())
    losses = _losses_of_rows(
        *(np.concatenate((weight[:start], weight[stop:])) for weight in (ranked.positives, ranked.negatives))
    )
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
    >>> from aucross.core.auc_bound import auc_ends_of_units
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
    sides: list[tuple[FloatArray, ...]] = []
    for own, loss in zip((positive, ~positive), _losses_at(ranked.positives, ranked.negatives), strict=True):
        own_weight = weight[own] / weight[own].max()  # neither the cube of a large nor of a small weight is a number
        parts = own_weight, own_weight * loss[places[own]]
        n_units = int(numbers.max()) + 1
        sides.append(tuple(np.bincount(numbers[own], part, n_units).astype(np.float64, copy=False) for part in parts))
    return interval(losses_of_units([power_sums(*side) for side in sides], sides), failure, EXTRA_LOSS)


def _losses_of_rows(positives: FloatArray, negatives: FloatArray) -> LossSums | None:
    """What rows lose, from the number of each class at ascending scores; None if a class has too few."""
    n_positive, n_negative = float(positives.sum()), float(negatives.sum())
    if min(n_positive, n_negative) < 1 or max(n_positive, n_negative) < 2:
        return None
    above, below = _losses_at(positives, negatives)
    return losses_of_classes([_powers_of_repeated(positives, above), _powers_of_repeated(negatives, below)])


def _losses_at(positives: FloatArray, negatives: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Share of the other class that a positive, and a negative, at each score is ranked wrongly against, ties half."""
    up_to = np.cumsum(negatives)
    above = (up_to[-1] - up_to + negatives / 2.0) / up_to[-1]  # exactly 0 for a positive above all negatives
    below = (np.cumsum(positives) - positives / 2.0) / positives.sum()
    return above, below


def _powers_of_repeated(times: FloatArray, loss: FloatArray) -> FloatArray:
    """The powers of :class:`LossSums` of rows of weight 1, so many at each loss."""
    of_loss = times.sum(), times @ loss, times @ loss**2, times @ loss**3
    powers = np.zeros((4, 4))
    for p, q in POWERS_KEPT:
        powers[p, q] = of_loss[q]
    return powers
