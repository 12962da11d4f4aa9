"""What stands on the axis of the scores: the rejected band, and the points of a column where the score has such.

The band of a classifier need not lie on the score that it reports: confidence methods reject around one half, a gate
rejects by the influence of a row, which is no interval of scores at all. Its rule says on what it lies.

Everything is computed on scores that are higher for the positive class, as curves and deciles want them. Where a score
in points was given, what a reader sees is turned into points at the end: bands, edges of bars, deciles and means.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from aucross.evaluation.inputs import group_column
from aucross.report.rows import ReportRows

Axis = Literal["score", "confidence", "other"]
Turn = Callable[[Any], Any]


def score_bands(clf: Any, band_groups: Any, rows: ReportRows) -> tuple[Axis, list[list[dict[str, Any]]]]:
    """Return the kind of score that the bands lie on, and at each coverage the bands, one or one per group.

    A band is a dictionary with ``group``, ``lower``, ``upper`` (None for an open end) and ``empty``. The list is empty
    if the rejected rows are not an interval of scores.
    """
    axis = clf.band_rule_.axis
    if axis == "other":
        return axis, [[] for _ in rows.coverages]
    low, high = (0.5, 1.0) if rows.is_probability else (0.0, 0.0)
    groups: tuple[Any, ...] = (None,)
    if band_groups is not None:
        groups = group_column(band_groups, len(band_groups)).take(rows.used).labels
    table, rules = [], [(group, clf.band_rule_.rules_by_group[group]) for group in groups]
    for coverage in rows.coverages:  # which were checked when the rows were selected
        placed = [(group, rule.placed(rule.coverage_to_place(coverage))) for group, rule in rules]
        bands = [(None if group is None else str(group), band) for group, band in placed]
        table.append([_on_score(*band) if axis == "score" else _around(*band, low, high) for band in bands])
    return axis, table


def _on_score(group: str | None, band: Any) -> dict[str, Any]:
    return {"group": group, "lower": band.lower, "upper": band.upper, "empty": band.is_empty}


def _around(group: str | None, band: Any, low: float, high: float) -> dict[str, Any]:
    """Return a band of confidences up to some value as a band of scores around the decision boundary."""
    empty = band.is_empty or band.upper < low
    return {"group": group, "lower": high - band.upper, "upper": band.upper, "empty": empty}


# ---- points ----


def in_points(
    clf: Any, score: dict[str, Any], entries: Sequence[dict[str, Any]]
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the score's part and the entries of all coverages in points, if the score is a column of points."""
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
    """Return values of bins from left to right, reversed for points that fall as the score rises."""
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
