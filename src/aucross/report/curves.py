"""Curves and histograms of a report, with few enough points for a screen, and bands on the axis of the scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from aucross.evaluation.auc_metrics import profile_of
from aucross.evaluation.inputs import group_column
from aucross.report.rows import BoolArray, FloatArray, ReportRows

N_POINTS = 200
N_BINS = 40
# Scores whose middle half fills less than this share of their range are drawn on a scale of log-odds.
_CROWDED = 0.1


def roc_and_cap(rows: ReportRows, selected: BoolArray) -> dict[str, Any] | None:
    """Return the ROC and CAP curves of the selected rows; None if a class is missing among them.

    Both start at the highest score. The CAP curve plots the true positive rate against the share of rows, the ROC curve
    against the false positive rate.
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
    """Return the share of each class, by weight, in each bin, for all rows or the chosen ones."""
    ends = np.searchsorted(rows.score, edges[1:-1])
    counted = rows.weights if chosen is None else rows.weights * chosen
    shares = {}
    for name, members in (("positive", rows.positive), ("negative", ~rows.positive)):
        so_far = np.concatenate(([0.0], np.cumsum(counted * members)))
        in_bins = np.diff(so_far[np.concatenate(([0], ends, [len(members)]))])
        shares[name] = (in_bins / rows.weights[members].sum()).round(6)
    return shares


def least_confident_left_out(rows: ReportRows, selected: BoolArray) -> BoolArray:
    """Return the selection by maximum probability that leaves out as much weight as the given selection.

    Ties in confidence keep the order of the data, so that the coverages are equal.
    """
    left_out = rows.weights[~selected].sum()
    taken = rows.weight_of_least_confident <= left_out * (1 + 1e-12)
    mask = np.ones(len(selected), dtype=bool)
    mask[rows.least_confident_first[taken]] = False
    return mask


# ---- bands on the axis of the scores ----

# The band of a classifier need not lie on the score that it reports: confidence methods reject around one half, a gate
# rejects by the influence of a row, which is no interval of scores at all. Its rule says on what it lies.
Axis = Literal["score", "confidence", "other"]
Turn = Callable[[Any], Any]


def score_bands(clf: Any, band_groups: Any, rows: ReportRows) -> tuple[Axis, list[list[dict[str, Any]]]]:
    """Return the kind of score on which bands lie, and the bands at each coverage: one, or one per group.

    A band is a dictionary with ``group``, ``lower``, ``upper`` (None for an open end) and ``empty``. The bands of each
    coverage are an empty list if the rejected rows are not an interval of scores.
    """
    axis = clf.band_rule_.axis
    if axis == "other":
        return axis, [[] for _ in rows.coverages]
    groups: tuple[Any, ...] = (None,)
    if band_groups is not None:
        groups = group_column(band_groups, len(band_groups)).take(rows.used).labels
    least, most = (0.5, 1.0) if rows.is_probability else (0.0, 0.0)
    table: list[list[dict[str, Any]]] = []
    for coverage in rows.coverages:  # which were checked when the rows were selected
        table.append([])
        for group in groups:
            rule = clf.band_rule_.rules_by_group[group]
            band = rule.placed(rule.coverage_to_place(coverage))
            lower, is_empty = band.lower, band.is_empty
            if axis == "confidence":  # up to some confidence: scores around the decision boundary
                lower, is_empty = most - band.upper, is_empty or band.upper < least
            name = None if group is None else str(group)
            table[-1].append({"group": name, "lower": lower, "upper": band.upper, "empty": is_empty})
    return axis, table


# ---- points of a column, where the score has such ----

# Everything is computed on scores that are higher for the positive class, as curves and deciles want them. What readers
# see is turned into points at the end: bands, edges of bars, deciles and means.


def in_points(
    clf: Any, score: dict[str, Any], entries: Sequence[dict[str, Any]]
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Convert the summary's scores, overall and at each coverage, to points if the score is a column of points."""
    column = getattr(getattr(clf, "fitted_", None), "score_column", None)
    if column is None or column.threshold is None:
        return {**score, "column": None, "higher_is_positive": True}, list(entries)
    rises, value = bool(column.higher_is_positive), column.column_value
    shown = {
        **score,
        "kind": "points",
        "column": column.column_name,
        "higher_is_positive": rises,
        "bin_edges": _in_order(value(score["bin_edges"]), rises),
        "shares": _shares(score["shares"], rises),
    }
    return shown, [_entry(entry, value, rises) for entry in entries]


def _entry(entry: Mapping[str, Any], value: Turn, rises: bool) -> dict[str, Any]:
    return {
        **entry,
        "bin_edges": _in_order(value(entry["bin_edges"]), rises),
        "shares": _shares(entry["shares"], rises),
        "review_shares": _shares(entry["review_shares"], rises),
        "bands": [_ends(band, value, ("lower", "upper"), rises) for band in entry["bands"]],
        "deciles": [
            {**_ends(part, value, ("lowest_score", "highest_score"), rises), "mean_score": value(part["mean_score"])}
            for part in entry["deciles"]
        ],
        "scores": {name: _summary(part, value, rises) for name, part in entry["scores"].items()},
    }


def _in_order(values: Any, rises: bool) -> Any:
    """Return values of bins from left to right; reversed if points fall as the score rises."""
    return values if rises else values[::-1]


def _shares(shares: Mapping[str, Any], rises: bool) -> dict[str, Any]:
    return {name: _in_order(of_class, rises) for name, of_class in shares.items()}


def _ends(entry: Mapping[str, Any], value: Turn, names: tuple[str, str], rises: bool) -> dict[str, Any]:
    low, high = (value(entry[name]) for name in (names if rises else names[::-1]))
    return {**entry, names[0]: low, names[1]: high}


def _summary(part: Mapping[str, Any], value: Turn, rises: bool) -> dict[str, Any]:
    if part["quantiles"] is None:
        return dict(part)
    shares, scores = list(part["quantiles"]), value(np.array(list(part["quantiles"].values())))
    # The shares lie symmetrically: what 5 % of the scores lie below, 95 % of points that fall with them do.
    return {
        **part,
        "mean": value(part["mean"]),
        "quantiles": dict(zip(shares, _in_order(scores, rises).tolist(), strict=True)),
    }
