"""Columns beside X, such as groups and ids: what counts as a missing value, and what is no column at all."""

from __future__ import annotations

# Spellings of a missing value in text, which has no other way to say it; blanks around them do not count.
MISSING_TEXTS = ("", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NULL", "null", "None")


def refuse_name_of_column(given: object, name: str) -> None:
    """Refuse the name of a column where its values are meant."""
    if isinstance(given, str):
        raise TypeError(
            f"{name} must hold one value per row, got the string {given!r}; if that is a column of X, pass X[{given!r}]"
        )


def is_missing(value: object) -> bool:
    """Whether a value is None or one of the marks NaN, NaT and NA."""
    if value is None:
        return True
    try:
        return bool(value != value)  # noqa: PLR0124  (true for NaN and NaT alone)
    except TypeError:  # pandas' NA is neither equal nor different
        return True
    except ValueError:  # an array: refused later, as it cannot be hashed
        return False


def is_mark_of_pandas(value: object) -> bool:
    """Whether a value is pandas' NA, which most libraries do not know as a missing value."""
    return type(value).__name__ == "NAType"
