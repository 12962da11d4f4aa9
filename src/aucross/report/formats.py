"""Numbers as text: one way for the page, the model card and the tables, so that all of them show the same digits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aucross.system.text import exact_percent, marked

# No line break between a number and its unit.
_SPACE = "\N{NO-BREAK SPACE}"
UNKNOWN = "\N{EN DASH}"
MINUS = "\N{MINUS SIGN}"


def area(value: float | None) -> str:
    """Write an area, loss or rate from 0 to 1 with four decimals."""
    return UNKNOWN if value is None else _signed(f"{value:.4f}")


def change(value: float | None) -> str:
    """Write a difference of areas, with its sign."""
    return UNKNOWN if value is None else _signed(f"{value:+.4f}")


def percent(value: float | None) -> str:
    """Write a share as a percentage with one decimal."""
    return UNKNOWN if value is None else f"{_signed(f'{100 * value:.1f}')}{_SPACE}%"


def percent_change(value: float | None) -> str:
    """Write a relative change as a percentage, with its sign."""
    return UNKNOWN if value is None else f"{_signed(f'{100 * value:+.1f}')}{_SPACE}%"


def target(coverage: float) -> str:
    """Write a coverage that was asked for: 90 %, or 97.5 % where rounding would change it."""
    return exact_percent(coverage).replace(" ", _SPACE)


def times(value: float | None) -> str:
    """Write a factor with two decimals."""
    return UNKNOWN if value is None else f"{value:.2f}"


def difference(value: float) -> str:
    """Write a difference in standard deviations, with its sign."""
    return _signed(f"{value:+.2f}")


def count(value: int) -> str:
    """Write a number of rows, with thousands set apart."""
    return f"{value:,}"


def score(value: float | None, *, open_end: str = UNKNOWN) -> str:
    """Write a score with four decimals, or the name of an open end."""
    return open_end if value is None else _signed(f"{value:.4f}")


def points(value: float | None, *, open_end: str = UNKNOWN) -> str:
    """Write a score in points, with six digits and no zeros after them, or the name of an open end."""
    return open_end if value is None else _signed(f"{value:.6g}")


def quantity(value: float | str | None) -> str:
    """Write a mean in the unit of its column: four digits, or whole thousands."""
    if value is None or isinstance(value, str):
        return value or UNKNOWN
    return _signed(f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}")


def interval(entry: Any, name: str, form: Any) -> str:
    """Write the ends of an interval, ``low to high``; nothing where there is none."""
    low, high = entry.get(f"{name}_low"), entry.get(f"{name}_high")
    return "" if low is None or high is None else f"{form(low)} to {form(high)}"


def _signed(text: str) -> str:
    # A hyphen would break a line and looks like a dash; minus nothing is nothing.
    if not any(digit in text for digit in "123456789"):
        return text.lstrip("+-")
    return text.replace("-", MINUS) if text.startswith("-") else text


def with_marks(value: Any) -> Any:
    """Replace characters that cannot be seen, and that change how text is read, by marks such as ``[U+202E]``."""
    if isinstance(value, str):
        return marked(value)
    if isinstance(value, Mapping):
        return {with_marks(key): with_marks(item) for key, item in value.items()}
    return [with_marks(item) for item in value] if isinstance(value, list | tuple) else value
