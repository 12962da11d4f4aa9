"""Numbers in text: the marks that a table writes them with, and how to tell numbers with other marks from words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from aucross.cli.errors import UsageError

# What each mark between thousands is written with: there are several apostrophes and blanks.
_THOUSANDS = {"": None, ",": ",", ".": r"\.", "'": "['\u2019]", " ": "[ \u00a0\u2009\u202f]", "_": "_"}
_DECIMALS = {".": r"\.", ",": ","}

# A currency, a per cent sign, brackets or a sign behind, around digits: a number to people only.
_WITH_A_UNIT = (
    r"^[(]?[+\-\x{2212}]?(?:\p{Sc}|USD|EUR|GBP|CHF|JPY)? ?[+\-\x{2212}]?[0-9][0-9.,'\x{2019} ]*"
    r"(?: ?(?:\p{Sc}|USD|EUR|GBP|CHF|JPY|%))?[)]?-?$"
)

# From this share of the values on, a column was meant to hold numbers.
MOSTLY = 0.9


@dataclass(frozen=True)
class NumberFormat:
    """Marks with which a table writes its numbers."""

    decimal: str = "."  # mark before the fraction
    thousands: str = ""  # mark between thousands; numbers without it are read too

    def __post_init__(self) -> None:
        if self.decimal not in _DECIMALS:
            raise UsageError(f"--decimal must be . or a comma, got {self.decimal!r}")
        if self.thousands not in _THOUSANDS:
            raise UsageError(
                f"--thousands must be one of {' '.join(repr(mark) for mark in _THOUSANDS if mark)}, got "
                f"{self.thousands!r}; leave it away if there is no such mark"
            )
        if self.decimal == self.thousands:
            raise UsageError(f"--thousands {self.thousands}: it is the decimal mark; --decimal says which is which")

    @property
    def pattern(self) -> str:
        """Regular expression of a number; a mark between thousands has three digits behind it."""
        decimal, thousands = _DECIMALS[self.decimal], _THOUSANDS[self.thousands]
        whole = "[0-9]+" if thousands is None else f"(?:[1-9][0-9]{{0,2}}(?:{thousands}[0-9]{{3}})+|[0-9]+)"
        return f"^[+-]?(?:{whole}(?:{decimal}[0-9]*)?|{decimal}[0-9]+)(?:[eE][+-]?[0-9]+)?$"

    def are_numbers(self, text: Any) -> Any:
        """Return whether each value is a number in this format."""
        return pc.match_substring_regex(text, self.pattern)

    def to_floats(self, text: Any) -> Any:
        """Return values as floats; raise ArrowInvalid if one of them is not a number."""
        if self == NumberFormat():
            return text.cast(pa.float64())
        if pc.any(pc.invert(self.are_numbers(text))).as_py():
            raise pa.ArrowInvalid("not a number in this format")
        if (thousands := _THOUSANDS[self.thousands]) is not None:
            text = pc.replace_substring_regex(text, thousands, "")
        return pc.replace_substring(text, self.decimal, ".").cast(pa.float64())


def other_marks(text: Any, numbers: NumberFormat) -> str | None:
    """Return a remedy if values are numbers in another format; else None."""
    odd = text.filter(pc.invert(numbers.are_numbers(text)))
    if not len(odd):
        return None
    fitting = [
        other
        for other in (NumberFormat(decimal, mark) for decimal in _DECIMALS for mark in _THOUSANDS if mark != decimal)
        if other.thousands != "_"
        and other != numbers
        and all(_share(values, other.pattern) >= MOSTLY for values in (text, odd))
    ]
    if fitting:
        # Of all formats that fit, those with the fewest changes: a space between thousands says nothing of commas.
        fewest = min(_n_changes(other, numbers) for other in fitting)
        remedies = [_options(other, numbers) for other in fitting if _n_changes(other, numbers) == fewest]
        return f"say what its marks mean with {' or '.join(remedies)}"
    if all(_share(values, _WITH_A_UNIT) >= MOSTLY for values in (text, odd)):
        return "write the numbers without a currency, a per cent sign or brackets"
    return None


def _share(text: Any, pattern: str) -> float:
    return pc.mean(pc.match_substring_regex(text, pattern).cast(pa.float64())).as_py() or 0.0


def _n_changes(other: NumberFormat, numbers: NumberFormat) -> int:
    return (other.decimal != numbers.decimal) + (other.thousands != numbers.thousands)


def _options(other: NumberFormat, numbers: NumberFormat) -> str:
    """Return the command-line options that switch from the current number format to the other one."""
    options = []
    if other.decimal != numbers.decimal:
        options.append(f"--decimal {other.decimal}")
    if other.thousands != numbers.thousands:
        options.append(
            f'--thousands "{other.thousands}"' if other.thousands in "' " else f"--thousands {other.thousands}"
        )
    return " ".join(options)
