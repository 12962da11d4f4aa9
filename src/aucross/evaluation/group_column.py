"""The column that says which group a row belongs to, read from whatever holds it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from aucross.core.missing import is_missing as is_missing  # noqa: PLC0414  (the report may read evaluation only)
from aucross.core.ranking import IndexArray
from aucross.evaluation.inputs import BoolArray
from aucross.frames import categories_of, values_of

# Names of the line of all rows and of the group of rows whose value is missing.
ALL_ROWS = "(all rows)"
MISSING = "(missing)"


class GroupColumn(NamedTuple):
    """Labels of the groups in the order of the report, and for each row the number of its group."""

    labels: tuple[Any, ...]
    codes: IndexArray

    def members(self) -> list[IndexArray]:
        """Return row numbers of each group, ascending."""
        order = np.argsort(self.codes, kind="stable")
        sizes = np.bincount(self.codes, minlength=len(self.labels))
        return np.split(order, np.cumsum(sizes)[:-1])

    def take(self, kept: BoolArray | IndexArray) -> GroupColumn:
        """Keep some of the rows; groups without rows go."""
        present, codes = np.unique(self.codes[kept], return_inverse=True)
        return GroupColumn(tuple(self.labels[code] for code in present), codes)


def group_column(by: Any, n_rows: int) -> GroupColumn:
    """Read a column of group labels: any array, list or series; missing values become the group ``"(missing)"``.

    Groups follow the order of a pandas categorical, or else are sorted; missing ones come last. A GroupColumn is
    returned unchanged.
    """
    if isinstance(by, GroupColumn):
        return by
    values = [MISSING if is_missing(value) else value for value in _listed(by)]
    if len(values) != n_rows:
        raise ValueError(f"by must hold one value per row, got {len(values)} for {n_rows} rows")
    try:
        found = set(values)
    except TypeError:
        raise TypeError("by must hold one value per row, got lists or arrays inside; pass a single column") from None
    if ALL_ROWS in found:
        raise ValueError(f"by must not hold {ALL_ROWS!r}, the name of the line of all rows; rename that group")
    if n_rows and found == {MISSING}:
        raise ValueError(f"by must hold at least one value, got {n_rows} missing ones; choose another column")
    labels = _ordered(found - {MISSING}, by) + [MISSING] * (MISSING in found)
    code_of = {label: code for code, label in enumerate(labels)}
    return GroupColumn(tuple(labels), np.array([code_of[value] for value in values], dtype=np.intp))


def _listed(by: Any) -> list[Any]:
    if isinstance(by, str) or not isinstance(by, Iterable):
        raise TypeError(f"by must be a column with one value per row, got {by!r}; pass the column itself")
    shape = getattr(by, "shape", (0,))
    if len(shape) != 1:
        raise ValueError(f"by must be 1-d, got shape {tuple(shape)}; pass a single column")
    return values_of(by)


def _ordered(labels: set[Any], by: Any) -> list[Any]:
    categories = categories_of(by)
    if categories is not None:
        return [label for label in categories if label in labels]
    try:
        return sorted(labels)
    except TypeError:  # numbers among strings
        return sorted(labels, key=lambda label: (type(label).__name__, str(label)))
