"""A report in the points of a column, where a score in points was given: the unit in which people know it.

Everything is computed on scores that are higher for the positive class, as curves and deciles want them. What a reader
sees of them is turned into points at the end: bands, edges of the bars, deciles and means.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

Turn = Callable[[Any], Any]


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
        "review_shares": _shares(entry["review_shares"], rises),
        "bands": [_ends(band, value, ("lower", "upper"), rises) for band in entry["bands"]],
        "deciles": [
            {**_ends(part, value, ("lowest_score", "highest_score"), rises), "mean_score": value(part["mean_score"])}
            for part in entry["deciles"]
        ],
        "scores": {name: _summary(part, value, rises) for name, part in entry["scores"].items()},
    }


def _in_order(values: Any, rises: bool) -> Any:
    """Values of bins from left to right: points that fall as the score rises stand the other way round."""
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
