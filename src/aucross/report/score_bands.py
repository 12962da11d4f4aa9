"""The rejected band on the axis of the scores, where there is one.

The band of a classifier need not lie on the score that it reports: confidence methods reject around one half, a gate
rejects by the influence of a row, which is no interval of scores at all. Its rule says on what it lies.
"""

from __future__ import annotations

from typing import Any, Literal

from aucross.evaluation.group_column import group_column
from aucross.report.rows import ReportRows

Axis = Literal["score", "confidence", "other"]


def score_bands(clf: Any, band_groups: Any, rows: ReportRows) -> tuple[Axis, list[list[dict[str, Any]]]]:
    """Return on what the bands lie, and for each coverage the bands in units of the score, one or one per group.

    A band is a dictionary with ``group``, ``lower``, ``upper`` (None for an open end) and ``empty``. The list is empty
    if no interval of scores tells which rows are rejected.
    """
    axis = clf.band_rule_.axis
    if axis == "other":
        return axis, [[] for _ in rows.coverages]
    low, high = (0.5, 1.0) if rows.is_probability else (0.0, 0.0)
    groups: tuple[Any, ...] = (None,)
    if band_groups is not None:
        groups = group_column(band_groups, len(band_groups)).take(rows.used).labels
    table = []
    for coverage in rows.coverages:
        bands = [(None if group is None else str(group), clf.band(coverage, group)) for group in groups]
        table.append([_on_score(*band) if axis == "score" else _around(*band, low, high) for band in bands])
    return axis, table


def _on_score(group: str | None, band: Any) -> dict[str, Any]:
    return {"group": group, "lower": band.lower, "upper": band.upper, "empty": band.is_empty}


def _around(group: str | None, band: Any, low: float, high: float) -> dict[str, Any]:
    """Return a band of confidences up to some value as a band of scores around the decision boundary."""
    empty = band.is_empty or band.upper < low
    return {"group": group, "lower": high - band.upper, "upper": band.upper, "empty": empty}
