"""Curves and histograms of a report, thinned to what a screen can show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from aucross.evaluation.auc_metrics import profile_of
from aucross.report.rows import BoolArray, FloatArray, ReportRows

N_POINTS = 200
N_BINS = 40
# Scores whose middle half fills less than this share of their range are drawn on a scale of log-odds.
_CROWDED = 0.1


def roc_and_cap(rows: ReportRows, selected: BoolArray) -> dict[str, Any] | None:
    """Return the ROC and CAP curves of the selected rows; None if a class is missing among them.

    Both run from the highest score down. The CAP curve shows the true positive rate over the share of rows instead of
    the false positive rate.
    """
    profile = profile_of(rows.ranked(selected))
    n_rows, n_positives = profile.n_rows, profile.n_positives
    if n_positives in (0, n_rows):
        return None
    positives, negatives = profile.positives, profile.rows - profile.positives
    # Where the curve runs straight a point says nothing.
    bends = np.ones(len(positives), dtype=bool)
    bends[2:-1] = (np.diff(positives[1:], 2) != 0) | (np.diff(negatives[1:], 2) != 0)
    true_positive_rate, false_positive_rate = positives[bends] / n_positives, negatives[bends] / (n_rows - n_positives)
    rate = n_positives / n_rows
    # Steps of equal length along the curve: dense where it bends, few where it runs straight.
    travelled = false_positive_rate + true_positive_rate
    points = np.searchsorted(travelled, np.linspace(0.0, 2.0, N_POINTS)).clip(max=len(travelled) - 1)
    points = np.unique(np.append(points, [0, len(travelled) - 1]))
    share_of_rows = rate * true_positive_rate + (1 - rate) * false_positive_rate
    return {
        "false_positive_rate": false_positive_rate[points].round(5),
        "true_positive_rate": true_positive_rate[points].round(5),
        "rows": share_of_rows[points].round(5),
        "positive_rate": rate,
    }


def bin_edges(rows: ReportRows) -> tuple[str, FloatArray]:
    """Return the scale of the score axis, ``"linear"`` or ``"log-odds"``, and the edges of the bins as scores."""
    low, high = float(rows.score.min()), float(rows.score.max())
    first, third = np.quantile(rows.score, [0.25, 0.75])
    if not rows.is_probability:
        return "linear", np.linspace(low, high if high > low else low + 1.0, N_BINS + 1)
    if third - first >= _CROWDED * (high - low):
        return "linear", np.linspace(0.0, 1.0, N_BINS + 1)
    # A probability of exactly 0 or 1 has no finite log-odds.
    ends = np.clip([low, max(high, low + 1e-3)], 1e-4, 1 - 1e-4)
    lowest, highest = np.log(ends / (1 - ends)).tolist()
    log_odds = np.linspace(lowest, highest, N_BINS + 1)
    return "log-odds", 1 / (1 + np.exp(-log_odds))


def edges_at(edges: FloatArray, bands: Sequence[Mapping[str, Any]]) -> FloatArray:
    """Return the edges of the bins, plus the ends of a single band, so that the band cuts no bin."""
    if len(bands) != 1 or bands[0]["empty"]:
        return edges
    own = edges.copy()
    # A score at the upper end is still rejected, and so belongs to the bins of the band.
    for end in (bands[0]["lower"], np.nextafter(bands[0]["upper"], np.inf)):
        if own[0] < end < own[-1] and end not in own:
            nearest = 1 + int(np.argmin(np.abs(own[1:-1] - end)))
            if own[nearest] in edges:
                own[nearest] = end
            else:  # the other end of a narrow band
                own = np.insert(own, np.searchsorted(own, end), end)
    return own


def class_shares(rows: ReportRows, edges: FloatArray, chosen: BoolArray | None = None) -> dict[str, FloatArray]:
    """Return the share of each class, in weight, in each bin; of all rows or of those chosen."""
    ends = np.searchsorted(rows.score, edges[1:-1])
    counted = rows.weights if chosen is None else rows.weights * chosen
    shares = {}
    for name, members in (("positive", rows.positive), ("negative", ~rows.positive)):
        so_far = np.concatenate(([0.0], np.cumsum(counted * members)))
        in_bins = np.diff(so_far[np.concatenate(([0], ends, [len(members)]))])
        shares[name] = (in_bins / rows.weights[members].sum()).round(6)
    return shares


def least_confident_left_out(rows: ReportRows, selected: BoolArray) -> BoolArray:
    """Return the selection by maximum probability that leaves out as much weight as the given one.

    Ties in confidence keep the order of the data, so that the coverages are equal.
    """
    left_out = rows.weights[~selected].sum()
    taken = rows.weight_of_least_confident <= left_out * (1 + 1e-12)
    mask = np.ones(len(selected), dtype=bool)
    mask[rows.least_confident_first[taken]] = False
    return mask
