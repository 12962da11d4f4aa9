"""Ten parts of rows by score: whether the score means what it says, and where the positives are."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from aucross.core.ranking import FloatArray, effective_size, equal_parts
from aucross.evaluation.inputs import weighted_mean

N_PARTS = 10


def decile_rows(
    positive: NDArray[np.bool_], score: FloatArray, weight: FloatArray, confidence: float
) -> list[dict[str, Any]]:
    """Return one dictionary per decile, the highest scores first; equal scores share a decile.

    The rows must be sorted by score.
    """
    if not len(score):
        return []
    number = equal_parts(score, weight, N_PARTS)
    ends = np.append(np.flatnonzero(np.diff(number)) + 1, len(number)).tolist()
    total, total_positive = float(weight.sum()), float(weight[positive].sum())
    table: list[dict[str, Any]] = []
    found, seen = 0.0, 0.0
    for own in [slice(start, stop) for start, stop in zip([0, *ends[:-1]], ends, strict=True)][::-1]:
        found += float(weight[own] @ positive[own])
        seen += float(weight[own].sum())
        observed = weighted_mean(positive[own], weight[own])
        low, high = wilson_interval(observed, weight[own], confidence)
        table.append(
            {
                "decile": N_PARTS - int(number[own][0]),
                "n": own.stop - own.start,
                "n_positive": int(positive[own].sum()),
                "lowest_score": float(score[own][0]),
                "highest_score": float(score[own][-1]),
                "mean_score": weighted_mean(score[own], weight[own]),
                "observed_rate": observed,
                "observed_rate_low": low,
                "observed_rate_high": high,
                "lift": observed * total / total_positive if total_positive > 0 else None,
                "rows_so_far": seen / total,
                "positives_so_far": found / total_positive if total_positive > 0 else None,
            }
        )
    return table


def wilson_interval(rate: float, weight: FloatArray, level: float) -> tuple[float, float]:
    """Return Wilson's confidence interval for a rate of rows, from their effective number."""
    z, n_rows = float(ndtri((1 + level) / 2)), effective_size(weight)
    middle = rate + z * z / (2 * n_rows)
    margin = z * sqrt(rate * (1 - rate) / n_rows + (z / (2 * n_rows)) ** 2)
    low, high = ((middle + side * margin) / (1 + z * z / n_rows) for side in (-1, 1))
    # Rounding must not push an end beyond the rate or beyond 0 and 1.
    return min(max(low, 0.0), rate), max(min(high, 1.0), rate)
