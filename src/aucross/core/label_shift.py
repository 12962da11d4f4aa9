"""Probabilities of unlabelled rows, and their correction where the share of the classes has changed.

If only the share of each class changes between training and use, while each class keeps its distribution, then the
probability of class k moves from p_k to one proportional to p_k * new_share_k / old_share_k. The new shares are the
fixed point at which they equal the mean of the corrected probabilities (Saerens, Latinne and Decaestecker 2002): an EM
iteration whose likelihood never falls.
"""

from __future__ import annotations

import numpy as np

from aucross.core.ranking import FloatArray, RankedScores
from aucross.core.scored_rows import RuleInput

# The shares that validators look at have three digits; the iteration stops far below.
_TOLERANCE = 1e-9
_MAX_ITERATIONS = 2000


def class_shares(probabilities: FloatArray, sample_weight: FloatArray | None = None) -> FloatArray:
    """Mean probability of each class, shape (n_classes,)."""
    return np.asarray(np.average(probabilities, axis=0, weights=sample_weight), dtype=np.float64)


def with_share_ratio(probabilities: FloatArray, ratio: FloatArray) -> FloatArray:
    """Probabilities after the share of each class was multiplied by `ratio`, shape (n, n_classes)."""
    corrected = probabilities * ratio
    total = corrected.sum(axis=1, keepdims=True)
    # A row that only classes now absent could explain keeps its probabilities.
    kept: FloatArray = np.divide(corrected, total, out=probabilities.astype(np.float64), where=total > 0)
    return kept


def share_ratio(probabilities: FloatArray, shares: FloatArray, sample_weight: FloatArray | None = None) -> FloatArray:
    """Estimate new over old share of each class from unlabelled rows.

    Parameters
    ----------
    probabilities : ndarray of shape (n, n_classes)
        Probabilities of the rows under the old shares.
    shares : ndarray of shape (n_classes,)
        Old share of each class.
    sample_weight : ndarray of shape (n,), optional
        Weights of the rows.

    Returns
    -------
    ndarray of shape (n_classes,)
    """
    distinct, weight = _grouped(probabilities, sample_weight)
    old = np.maximum(shares, np.finfo(float).tiny)
    new = old
    for _ in range(_MAX_ITERATIONS):
        moved = class_shares(with_share_ratio(distinct, new / old), weight)
        converged = np.abs(moved - new).max() < _TOLERANCE
        new = moved
        if converged:
            break
    return np.asarray(new / old)


def _grouped(probabilities: FloatArray, sample_weight: FloatArray | None) -> tuple[FloatArray, FloatArray]:
    """Rows of equal probabilities, to six digits, as one: an iteration then costs thousands of rows, not millions."""
    weight = np.ones(len(probabilities)) if sample_weight is None else sample_weight
    distinct, place = np.unique(probabilities.round(6), axis=0, return_inverse=True)
    return distinct, np.bincount(place.ravel(), weights=weight).astype(np.float64)


def expected_ranking(fitted: RankedScores, rows: RuleInput, *, label_shift: bool = False) -> RankedScores:
    """Rank unlabelled rows, each positive with the probability that an isotonic ranking gives to its score."""
    both = _of_both_classes(fitted, rows)
    if label_shift:
        both = with_share_ratio(both, share_ratio(both, _shares(fitted), rows.sample_weight))
    return RankedScores.from_probabilities(both[:, 1], rows.score, rows.sample_weight)


def with_new_shares(ranked: RankedScores, fitted: RankedScores, rows: RuleInput) -> RankedScores:
    """Weigh the classes of a ranking by the change of their shares that unlabelled rows show."""
    negative, positive = share_ratio(_of_both_classes(fitted, rows), _shares(fitted), rows.sample_weight).tolist()
    return RankedScores(ranked.scores, ranked.positives * positive, ranked.negatives * negative)


def _of_both_classes(fitted: RankedScores, rows: RuleInput) -> FloatArray:
    """Probability of being negative and positive of each row."""
    probability = fitted.probability_at(rows.score)
    return np.column_stack((1 - probability, probability))


def _shares(fitted: RankedScores) -> FloatArray:
    return np.array([1 - fitted.prevalence, fitted.prevalence])
