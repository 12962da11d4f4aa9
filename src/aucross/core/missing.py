"""Columns beside X, such as groups and ids: what counts as a missing value, and what is no column at all."""

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


def refuse_missing_labels(y: NDArray[Any]) -> None:
    """Refuse labels that are missing, with the first of them."""
    missing = np.isnan(y) if y.dtype.kind == "f" else np.zeros(len(y), dtype=bool)
    if y.dtype.kind == "O":
        missing = np.array([is_missing(label) for label in y], dtype=bool)
    if missing.any():
        raise ValueError(
            f"y must not contain missing values, got {int(missing.sum())} of {len(y)}, the first in row "
            f"{int(np.argmax(missing))}; drop those rows"
        )
