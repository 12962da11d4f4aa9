"""Format numbers as text in one way, so that the page, the model card and the tables show the same digits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from aucross.system.text import exact_percent, marked

# No line break between a number and its unit.
_SPACE = "\N{NO-BREAK SPACE}"
UNKNOWN = "\N{EN DASH}"
MINUS = "\N{MINUS SIGN}"


def _form(spec: str, scale: int = 1, unit: str = "") -> Callable[..., str]:
    """Return a function that formats a number; for None that function returns the words for an open end."""

    def write(value: float | None, *, open_end: str = UNKNOWN) -> str:
        return open_end if value is None else f"{_signed(format(scale * value, spec))}{unit}"

    return write


area = score = _form(".4f")  # areas, losses, rates and scores
change = _form("+.4f")  # differences of areas
percent = _form(".1f", 100, f"{_SPACE}%")
percent_change = _form("+.1f", 100, f"{_SPACE}%")
times = _form(".2f")  # factors
difference = _form("+.2f")  # in standard deviations
count = _form(",")  # numbers of rows
points = _form(".6g")


def target(coverage: float) -> str:
    """Format a requested coverage: 90 %, or 97.5 % if rounding would change it."""
    return exact_percent(coverage).replace(" ", _SPACE)


def quantity(value: float | str | None) -> str:
    """Format a mean in the unit of its column: with four digits, or in whole thousands."""
    if value is None or isinstance(value, str):
        return value or UNKNOWN
    return _signed(f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}")


def interval(entry: Any, name: str, form: Any) -> str:
    """Format the ends of an interval as ``low to high``; empty if there is none."""
    low, high = entry.get(f"{name}_low"), entry.get(f"{name}_high")
    return "" if low is None or high is None else f"{form(low)} to {form(high)}"


def _signed(text: str) -> str:
    # A hyphen would break a line and looks like a dash; minus nothing is nothing.
    if not any(digit in text for digit in "123456789"):
        return text.lstrip("+-")
    return text.replace("-", MINUS) if text.startswith("-") else text


def with_marks(value: Any) -> Any:
    """Return text with marks such as ``[U+202E]`` in place of invisible characters that change how it is read."""
    if isinstance(value, str):
        return marked(value)
    if isinstance(value, Mapping):
        return {with_marks(key): with_marks(item) for key, item in value.items()}
    return [with_marks(item) for item in value] if isinstance(value, list | tuple) else value
