"""Columns of whatever holds the features, as numbers that can be averaged.

A column becomes one or more traits, each a number per row::

    income      (number)     ──► income, income is missing
    region      (category)   ──► region is north, region is south, ...
    issue_date  (date)       ──► days
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import date
from numbers import Real
from typing import Any, Literal, NamedTuple

import numpy as np

from aucross.evaluation.inputs import MISSING, is_missing
from aucross.frames import columns_of, days_of, names_of
from aucross.report.rows import FloatArray

Kind = Literal["number", "date", "category", "missing"]

# Names and free text have a level per row; the frequent ones are enough to see a difference.
MAX_LEVELS = 20


class Trait(NamedTuple):
    """A number per row, NaN if unknown; for a category, 1 in rows of one level."""

    column: str
    kind: Kind
    level: str | None
    values: FloatArray


def traits_of(X: Any) -> Iterator[Trait]:
    """Return all traits of all columns of an array, a sparse matrix or a frame, in the order of the columns."""
    names = names_of(X)
    for number, column in enumerate(columns_of(X)):
        yield from _traits(f"x{number}" if names is None else str(names[number]), column)


def _traits(name: str, column: Any) -> Iterator[Trait]:
    values = np.asarray(column)
    if hasattr(getattr(column, "dtype", None), "categories"):  # numbers can be names of categories
        yield from _levels(name, values.tolist())
    elif values.dtype.kind in "iuf":
        yield from _numbers(name, "number", values.astype(np.float64))
    elif values.dtype.kind == "M":
        yield from _numbers(name, "date", days_of(values))
    elif values.dtype.kind == "m":
        yield from _numbers(name, "number", values / np.timedelta64(1, "D"))
    else:
        yield from _traits_of_objects(name, values.tolist())


def _traits_of_objects(name: str, values: list[Any]) -> Iterator[Trait]:
    known = [value for value in values if not is_missing(value)]
    if known and all(isinstance(value, Real) and not isinstance(value, bool) for value in known):
        numbers = [np.nan if is_missing(value) else float(value) for value in values]
        yield from _numbers(name, "number", np.array(numbers))
    elif known and all(isinstance(value, date) for value in known):
        yield from _numbers(name, "date", days_of(values))
    else:
        yield from _levels(name, values)


def _numbers(name: str, kind: Kind, values: FloatArray) -> Iterator[Trait]:
    finite = np.isfinite(values)
    if finite.any():
        yield Trait(name, kind, None, np.where(finite, values, np.nan))
    if not finite.all():
        yield Trait(name, "missing", None, (~finite).astype(np.float64))


def _levels(name: str, values: list[Any]) -> Iterator[Trait]:
    labels = [MISSING if is_missing(value) else str(value) for value in values]
    counts = Counter(labels)
    if set(counts) <= {"True", "False", MISSING}:
        counts.pop("False", None)  # its share says what that of True says
    array = np.array(labels, dtype=object)
    for label, _ in counts.most_common(MAX_LEVELS):
        kind: Kind = "missing" if label == MISSING else "category"
        yield Trait(name, kind, None if label == MISSING else label, (array == label).astype(np.float64))
