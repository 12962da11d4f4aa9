"""Rows unlike those of the fit: a category that is new, a number far outside of its range, a column newly missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from contextlib import suppress
from math import ceil, floor, log10
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aucross.core.missing import is_missing
from aucross.estimators.types import Table
from aucross.frames import (
    columns_of,
    count_rows,
    kind_of,
    numbers_of,
    text_names_of,
    types_of,
    values_of,
)

# Beyond the ends of a range lie so many rows of the fit, since its ends must not be those of single people.
_ROWS_BEYOND = 5
# Part of the width of a range by which a number must lie beyond its ends to be unlike the rows of the fit.
_MARGIN = 0.5
# Of fewer values, all may lie outside of a range, or be missing, by chance.
FEWEST_VALUES = 10


def values_seen(X: Table) -> tuple[dict[str, list[float]], dict[str, list[str]], list[str]]:
    """Return the ranges of numbers, all values of other columns, and the columns that were never missing.

    Leaves out columns with a value that fewer than five rows share, since that could identify people.
    """
    ranges: dict[str, list[float]] = {}
    values: dict[str, list[str]] = {}
    whole: list[str] = []
    for name, dtype, column in zip(text_names_of(X) or (), types_of(X), columns_of(X), strict=True):
        kind = kind_of(dtype)
        if kind == "date":
            continue
        if kind == "number":
            numbers = numbers_of(column)
            n_missing = int(np.isnan(numbers).sum())
            if (ends := range_of(numbers)) is not None:
                ranges[name] = ends
        else:
            counts = Counter(str(value) for value in values_of(column) if not is_missing(value))
            n_missing = len(column) - counts.total()
            if counts and min(counts.values()) >= _ROWS_BEYOND:
                values[name] = sorted(counts)
        if not n_missing and len(column) >= FEWEST_VALUES:
            whole.append(name)
    return ranges, values, whole


def unlike_the_fit(
    X: Table, ranges: Mapping[str, list[float]], values: Mapping[str, list[str]], whole: Collection[str]
) -> NDArray[Any]:
    """Return how each row is unlike the rows of the fit; an empty text for familiar rows."""
    found = np.full(count_rows(X) or 0, "", dtype=object)
    for name, column in zip(text_names_of(X) or (), columns_of(X), strict=False):
        known, numbers = set(values.get(name, ())), None
        if name in ranges:
            with suppress(TypeError, ValueError):  # text where the fit had numbers: each value is new
                numbers = numbers_of(column)
        if numbers is not None:
            (low, high), is_missing_here = ranges[name], np.isnan(numbers)
            # Rows of the fit lie just beyond the ends, too: only what is farther away is unlike all of them.
            margin = _MARGIN * (high - low)
            for row in np.flatnonzero((numbers < low - margin) | (numbers > high + margin)).tolist():
                found[row] += f"; {name} {numbers[row]:.6g} lies outside of {low:g} to {high:g}"
        else:
            given = values_of(column) if known or name in whole or name in ranges else []
            is_missing_here = np.array([is_missing(value) for value in given], dtype=bool)
            for row, value in enumerate(given if known or name in ranges else ()):
                if not is_missing_here[row] and str(value) not in known:
                    found[row] += f"; {name} {str(value)!r} is new"
        if name in whole:
            found[is_missing_here] += f"; {name} is missing and never was"
    return np.array([text and f"unlike the rows of the fit: {text[2:]}" for text in found.tolist()], dtype=object)


def range_of(values: Any) -> list[float] | None:
    """Return the range of nearly all of the numbers; None if there are too few."""
    values = np.sort(values[np.isfinite(values)])
    enough = len(values) > 2 * _ROWS_BEYOND
    return outwards(*values[[_ROWS_BEYOND, -1 - _ROWS_BEYOND]].tolist()) if enough else None


def outwards(low: float, high: float) -> list[float]:
    """Round the ends of a range to two digits, outwards, so that no person's exact value is stored."""
    ends = []
    for value, away in ((low, floor), (high, ceil)):
        unit = 10.0 ** (floor(log10(abs(value))) - 1) if value else 1.0
        ends.append(float(away(value / unit) * unit))
    return ends
