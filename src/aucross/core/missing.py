"""What counts as a missing value in labels, groups and ids."""

from __future__ import annotations

# Spellings of a missing value in text, which has no other way to say it; blanks around them do not count.
MISSING_TEXTS = ("", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NULL", "null", "None")


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
