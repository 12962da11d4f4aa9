"""Text that a spreadsheet would run as a formula when it opens a CSV file."""

from __future__ import annotations

import re

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
