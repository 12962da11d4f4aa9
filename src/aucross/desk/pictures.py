"""Numbers for two small pictures of a case: its score against the band, and the columns that moved the score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

# Pictures are this wide, in the units of their drawings, with a margin at both ends.
WIDTH, MARGIN = 500.0, 10.0


def band_picture(machine: Mapping[str, Any]) -> dict[str, float] | None:
    """Return the positions of score and band in a picture, from left to right; None without a score or a band."""
    known = {name: machine[name] for name in ("selection_score", "lower", "upper")}
    if None in known.values() or known["lower"] > known["upper"]:
        return None
    finite = [value for value in known.values() if isfinite(value)]
    room = 0.3 * max(max(finite) - min(finite), 1e-9)
    start, end = min(finite) - room, max(finite) + room
    reach = (WIDTH - 2 * MARGIN) / (end - start)
    return {name: MARGIN + reach * (min(max(value, start), end) - start) for name, value in known.items()}


def bars(contributions: Sequence[tuple[str, float]]) -> list[dict[str, Any]]:
    """Return a bar for each column: its start, its width, and whether the column raises the score."""
    most = max((abs(value) for _, value in contributions), default=0.0) or 1.0
    half, drawn = WIDTH / 2, list[dict[str, Any]]()
    for name, value in contributions:
        reach = value / most * (half - MARGIN)
        drawn.append({"name": name, "value": value, "x": half + min(reach, 0.0), "width": max(abs(reach), 1.0)})
    return drawn
