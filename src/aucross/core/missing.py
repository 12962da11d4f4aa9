"""Columns beside X, such as groups and ids: one value for each row, and what counts as a missing one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

# Spellings of a missing value in text, which has no other way to say it; blanks around them do not count.
MISSING_TEXTS = ("", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NULL", "null", "None")


def refuse_name_of_column(given: object, name: str) -> None:
    """Refuse the name of a column where its values are meant."""
    if isinstance(given, str):
        raise TypeError(
            f"{name} must hold one value per row, got the string {given!r}; if that is a column of X, pass X[{given!r}]"
        )


def is_missing(value: object) -> bool:
    """Return whether a value is None or one of the marks NaN, NaT and NA."""
    if value is None:
        return True
    try:
        return bool(value != value)  # noqa: PLR0124  (true for NaN and NaT alone)
    except TypeError:  # pandas' NA is neither equal nor different
        return True
    except ValueError:  # an array: refused later, as it cannot be hashed
        return False


def refuse_missing(values: NDArray[Any], name: str, remedy: str) -> None:
    """Refuse values that are missing, with the first of them."""
    if (kind := values.dtype.kind) in "biuU":
        return
    if kind in "fmM":
        missing = np.isnat(values) if kind in "mM" else np.isnan(values)
    else:
        missing = np.array([is_missing(value) for value in values.tolist()], dtype=bool)
    if missing.any():
        raise ValueError(
            f"{name} must not contain missing values, got {int(missing.sum())} of {len(values)}, the first in row "
            f"{int(np.argmax(missing))}; {remedy}"
        )


def one_per_row(given: Any, name: str, n_rows: int, *, what: str = "value", remedy: str) -> NDArray[Any]:
    """Return a column beside X as an array with one entry for each row, none of them missing."""
    refuse_name_of_column(given, name)
    values = np.asarray(given)
    if values.dtype.kind == "U" and not isinstance(given, np.ndarray):
        values = np.asarray(given, dtype=object)  # numpy would write a missing value as the text "nan"
    if values.shape != (n_rows,):
        raise ValueError(f"{name} must hold one {what} per row, got shape {values.shape} for {n_rows} rows")
    refuse_missing(values, name, remedy)
    return values


def check_band_groups(band_groups: Any, n_rows: int) -> NDArray[Any]:
    """Return the group of each row; each group gets a band of its own."""
    remedy = 'give these rows a group of their own, such as "unknown"'
    return one_per_row(band_groups, "band_groups", n_rows, what="group", remedy=remedy)


def numbers_of_units(groups: Any, n_rows: int, name: str = "groups") -> NDArray[np.intp]:
    """Return the number of each row's unit, such as its customer, counted from 0; `name` is for messages."""
    values = one_per_row(groups, name, n_rows, remedy="give each such row a name of its own")
    if values.dtype.kind == "O":  # numbers among strings cannot be sorted
        listed = values.tolist()
        number_of = {value: number for number, value in enumerate(dict.fromkeys(listed))}
        return np.array([number_of[value] for value in listed], dtype=np.intp)
    return np.unique(values, return_inverse=True)[1]
