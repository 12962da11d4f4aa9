"""Format values as text: shares, numbers in JSON, invisible characters, formulas in CSV."""

from __future__ import annotations

import inspect
import re
import unicodedata
import warnings
from collections.abc import Mapping, Sequence
from math import floor, isfinite
from typing import Any

import numpy as np

# Control characters, format characters (directions of text among them), halves of pairs, ends of line and paragraph.
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
# Space that a command may be written with.
_USUAL = frozenset("\n\t")


def percent(share: float) -> str:
    """Return a share in per cent, rounded to one decimal: ``12.5 %``, ``80 %``."""
    return f"{round(100 * share, 1):g} %"


def exact_percent(share: float) -> str:
    """Return a chosen share, such as a confidence level, in per cent with all digits: ``99.95 %``."""
    return f"{100 * share:.10g} %"


def percent_down(share: float) -> str:
    """Return a share in per cent, rounded down, so that a sentence promises no more than the number."""
    return percent(floor(1000 * share + 1e-9) / 1000)


def down(number: float) -> str:
    """Return a number in [0, 1) with three digits, rounded down: ``.812``."""
    return f"{floor(1000 * number + 1e-9) / 1000:.3f}".removeprefix("0")


def plural(noun: str, count: int) -> str:
    """Return a noun in the form that follows a count: one row, two rows."""
    return noun if count == 1 else f"{noun}s"


def first_few(words: Sequence[str], most: int) -> str:
    """Return the first `most` words with commas between them, and how many more there are."""
    more = f" and {len(words) - most} more" if len(words) > most else ""
    return ", ".join(words[:most]) + more


def json_ready(value: Any) -> Any:
    """Return the value as types that JSON supports; a number that is not finite becomes None."""
    if type(value) is float:  # most values of a report
        return value if isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): json_ready(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return json_ready(value.tolist())
    if isinstance(value, list | tuple):
        return [json_ready(item) for item in value]
    if isinstance(value, float):
        return value if isfinite(value) else None
    return value if value is None or isinstance(value, str | int) else str(value)


def marked(text: str) -> str:
    r"""Return the text with a mark in place of each invisible character.

    Examples
    --------
    >>> marked("safe \u202eelbairav")
    'safe [U+202E]elbairav'
    """
    if text.isprintable():  # such text has none
        return text
    unseen = {character for character in text if unicodedata.category(character) in _UNSEEN} - _USUAL
    return "".join(f"[U+{ord(character):04X}]" if character in unseen else character for character in text)


def warn_user(message: str, category: type[UserWarning] = UserWarning) -> None:
    """Warn with the location of the first caller outside this package and scikit-learn."""
    frame, level = inspect.currentframe(), 1
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in ("aucross", "sklearn"):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


# ---- text that a spreadsheet would run as a formula when it opens a CSV file ----

MARK = "'"
# One pattern for Python and for Arrow, which knows no look-ahead. Spreadsheets may skip blanks before a formula, drop a
# tab or a line break at the start, and read the wide signs of Japanese and Chinese keyboards like ours. Marks before it
# are part of the pattern, so that marked text can be told from text that came with an apostrophe.
FORMULA = "^'*[ \u00a0]*(?:[\t\r\n]|[=+@\uff1d\uff0b\uff20\uff0d-](?s:.))"
# A number below zero is the most usual text that starts with one of the signs, and no formula.
NEGATIVE_NUMBER = r"-[0-9]+(?:\.[0-9]+)?"


def without_formula(text: str) -> str:
    """Return the text with an apostrophe before it if a spreadsheet would run it; other text unchanged.

    Examples
    --------
    >>> [without_formula(text) for text in ("=1+1", "+1", "@SUM(A1)", "-1", "-", "A-17")]
    ["'=1+1", "'+1", "'@SUM(A1)", '-1', '-', 'A-17']
    """
    return MARK + text if _is_formula(text) else text


def original_text(written: str) -> str:
    """Return the text that was passed to :func:`without_formula`.

    Examples
    --------
    >>> [original_text(without_formula(text)) for text in ("=1+1", "'=1+1", "-1", "A-17")]
    ['=1+1', "'=1+1", '-1', 'A-17']
    """
    return written[1:] if written.startswith(MARK) and _is_formula(written) else written


def _is_formula(text: str) -> bool:
    return re.match(FORMULA, text) is not None and re.fullmatch(NEGATIVE_NUMBER, text) is None
