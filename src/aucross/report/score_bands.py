"""The rejected band on the axis of the scores, where there is one.

The band of a classifier need not lie on the score that it reports: confidence methods reject around one half, a gate
rejects by the influence of a row, which is no interval of scores at all. What decides is whether the band, laid on the
scores, selects exactly the rows that the classifier selects.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from aucross.evaluation.group_column import group_column
from aucross.report.rows import BoolArray, FloatArray, ReportRows

Axis = Literal["score", "confidence", "other"]


def score_bands(clf: Any, rows: ReportRows, band_groups: Any = None) -> tuple[Axis, list[list[dict[str, Any]]]]:
    """On what the bands lie, and for each coverage the bands in units of the score, one or one per group.

    A band is a dictionary with ``group``, ``lower``, ``upper`` (None for an open end) and ``empty``. The list is empty
    if no interval of scores tells which rows are rejected.
    """
    parts = _parts(rows, band_groups)
    bands = [[(group, clf.band(coverage, *given)) for group, given, _ in parts] for coverage in rows.coverages]
    members = [own for _, _, own in parts]
    if _explains(bands, members, rows.score, rows.selected):
        return "score", [[_on_score(group, band) for group, band in row] for row in bands]
    if _explains(bands, members, rows.confidence, rows.selected):
        low, high = (0.5, 1.0) if rows.is_probability else (0.0, 0.0)
        return "confidence", [[_around(group, band, low, high) for group, band in row] for row in bands]
    return "other", [[] for _ in bands]


def _parts(rows: ReportRows, band_groups: Any) -> list[tuple[str | None, tuple[Any, ...], Any]]:
    """Name of each group of bands, what to ask `band` for besides the coverage, and its rows."""
    if band_groups is None:
        return [(None, (), slice(None))]
    column = group_column(band_groups, len(rows.used)).take(rows.used)
    return [(str(label), (label,), own) for label, own in zip(column.labels, column.members(), strict=True)]


def _explains(bands: list[list[tuple[Any, Any]]], members: list[Any], values: FloatArray, selected: BoolArray) -> bool:
    return all(
        np.array_equal(band.selects(values[own]), mask[own])
        for row, mask in zip(bands, selected, strict=True)
        for (_, band), own in zip(row, members, strict=True)
    )


def _on_score(group: str | None, band: Any) -> dict[str, Any]:
    return {"group": group, "lower": band.lower, "upper": band.upper, "empty": band.is_empty}


def _around(group: str | None, band: Any, low: float, high: float) -> dict[str, Any]:
    """A band of confidences up to some value, as a band of scores around the decision boundary."""
    empty = band.is_empty or band.upper < low
    return {"group": group, "lower": high - band.upper, "upper": band.upper, "empty": empty}
