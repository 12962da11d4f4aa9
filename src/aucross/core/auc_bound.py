"""A lower bound of an AUC that is safe where a class has few rows.

One row is added to the smaller class, on the wrong side of all rows of the other class; the bound is the quantile of
the Beta distribution with the AUC of these rows and DeLong's variance. The guide on promises shows that it holds where
the bound of the normal distribution does not.
"""

from __future__ import annotations

from math import nan

import numpy as np
from scipy.special import betaincinv

from aucross.core.ranking import RankedScores


def auc_lower_bound(ranked: RankedScores, failure: float) -> float:
    """The AUC of all rows is above this with probability ``1 - failure``.

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
    smaller, larger = sorted((ranked.total_positives, ranked.total_negatives))
    if smaller < 1 or larger < 2:
        return nan
    extended = _with_worst_row(ranked)
    auc, variance = extended.auc(), extended.auc_standard_error() ** 2
    size = auc * (1.0 - auc) / variance + 1.0
    return float(betaincinv(size * auc, size * (1.0 - auc), failure))


def _with_worst_row(ranked: RankedScores) -> RankedScores:
    """Scores become ranks: no finite score need be below the lowest one."""
    is_positive = ranked.total_positives <= ranked.total_negatives
    place = 0 if is_positive else len(ranked)
    ranks = np.arange(len(ranked) + 1, dtype=np.float64)
    positives = np.insert(ranked.positives, place, float(is_positive))
    return RankedScores(ranks, positives, np.insert(ranked.negatives, place, float(not is_positive)))
