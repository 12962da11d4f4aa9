"""Ten parts of rows by score: whether the score means what it says, and where the positives are."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from aucross.core.ranking import FloatArray, effective_size, equal_parts
from aucross.evaluation.inputs import weighted_mean
from aucross.evaluation.intervals import wilson_interval

N_PARTS = 10


def decile_rows(
    positive: NDArray[np.bool_], score: FloatArray, weight: FloatArray, confidence: float
) -> list[dict[str, Any]]:
    """One dictionary per decile, the highest scores first; equal scores share a decile."""
    if not len(score):
        return []
    number = equal_parts(score, weight, N_PARTS)
    rate, total_positive = weighted_mean(positive, weight), float(weight[positive].sum())
    table: list[dict[str, Any]] = []
    found, seen = 0.0, 0.0
    for decile in np.unique(number)[::-1]:
        own = number == decile
        found += float(weight[own & positive].sum())
        seen += float(weight[own].sum())
        observed = weighted_mean(positive[own], weight[own])
        low, high = wilson_interval(observed, effective_size(weight[own]), confidence)
        table.append(
            {
                "decile": N_PARTS - int(decile),
                "n": int(own.sum()),
                "n_positive": int(positive[own].sum()),
                "lowest_score": float(score[own].min()),
                "highest_score": float(score[own].max()),
                "mean_score": weighted_mean(score[own], weight[own]),
                "observed_rate": observed,
                "observed_rate_low": low,
                "observed_rate_high": high,
                "lift": observed / rate if rate > 0 else None,
                "rows_so_far": seen / float(weight.sum()),
                "positives_so_far": found / total_positive if total_positive > 0 else None,
            }
        )
    return table
