"""Ten parts of the answered rows by score: whether the score means what it says, and where the positives are."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
from scipy.special import ndtri

from aucross.report.rows import BoolArray, FloatArray, ReportRows

N_PARTS = 10


def decile_table(rows: ReportRows, selected: BoolArray, confidence: float) -> list[dict[str, Any]]:
    """One entry per decile of the selected rows, the highest scores first; equal scores share a decile.

    The rows must be sorted by score: a decile then is a piece of them.
    """
    score, positive, weight = rows.score[selected], rows.positive[selected], rows.weights[selected]
    if not len(score):
        return []
    number = _deciles(score, weight)
    ends = np.append(np.flatnonzero(np.diff(number)) + 1, len(number))
    total, total_positive = float(weight.sum()), float(weight[positive].sum())
    table: list[dict[str, Any]] = []
    found, seen = 0.0, 0.0
    for own in [slice(start, stop) for start, stop in zip([0, *ends[:-1]], ends, strict=True)][::-1]:
        found += float(weight[own] @ positive[own])
        seen += float(weight[own].sum())
        observed = _mean(positive[own], weight[own])
        low, high = _wilson(observed, weight[own], confidence)
        table.append(
            {
                "decile": N_PARTS - int(number[own][0]),
                "n": own.stop - own.start,
                "n_positive": int(positive[own].sum()),
                "lowest_score": float(score[own][0]),
                "highest_score": float(score[own][-1]),
                "mean_score": _mean(score[own], weight[own]),
                "observed_rate": observed,
                "observed_rate_low": low,
                "observed_rate_high": high,
                "lift": observed * total / total_positive if total_positive > 0 else None,
                "rows_so_far": seen / total,
                "positives_so_far": found / total_positive if total_positive > 0 else None,
            }
        )
    return table


def _deciles(score: FloatArray, weight: FloatArray) -> np.ndarray:
    """Number of each row's decile, 0 for the lowest scores, from the middle of its tie in the ranking."""
    is_first = np.append(True, score[1:] != score[:-1])
    below = np.append(0.0, np.cumsum(weight))
    start = np.flatnonzero(is_first)
    middle = (below[start] + below[np.append(start[1:], len(score))]) / 2
    number = np.minimum((middle / below[-1] * N_PARTS).astype(np.intp), N_PARTS - 1)
    return number[np.cumsum(is_first) - 1]


def _wilson(rate: float, weight: FloatArray, confidence: float) -> tuple[float, float]:
    """Wilson's interval for a rate, in closed form; weights count as Kish's effective number of rows."""
    n = float(weight.sum()) ** 2 / float(weight @ weight)
    z = float(ndtri((1 + confidence) / 2))
    middle, margin = rate + z * z / (2 * n), z * sqrt(rate * (1 - rate) / n + (z / (2 * n)) ** 2)
    # Rounding must not push an end beyond the rate or beyond 0 and 1.
    low, high = ((middle + side * margin) / (1 + z * z / n) for side in (-1, 1))
    return min(max(low, 0.0), rate), max(min(high, 1.0), rate)


def _mean(values: np.ndarray, weight: FloatArray) -> float:
    return float(np.average(values, weights=weight))
