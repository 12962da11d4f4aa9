"""Characters that cannot be seen and change how the text around them is read, made visible.

A name that holds the character U+202E shows the text after it backwards. The page and the model card show such
characters as ``[U+202E]``.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Any

# Control characters, format characters (directions of text among them), halves of pairs, ends of line and paragraph.
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
# Space that a command may be written with.
_USUAL = frozenset("\n\t")


def marked(text: str) -> str:
    r"""The text with a mark in place of each character that cannot be seen.

    Parameters
    ----------
    text : str
        Any text.

    Returns
    -------
    str

    Examples
    --------
    >>> marked("safe \u202eelbairav")
    'safe [U+202E]elbairav'
    """
    if text.isprintable():  # such text has none
        return text
    return "".join(f"[U+{ord(character):04X}]" if _is_unseen(character) else character for character in text)


def with_marks(summary: Mapping[str, Any]) -> dict[str, Any]:
    """The summary with a mark in place of each character that cannot be seen, in whatever text."""
    return {key: _with_marks(value) for key, value in summary.items()}


def _is_unseen(character: str) -> bool:
    return unicodedata.category(character) in _UNSEEN and character not in _USUAL


def _with_marks(value: Any) -> Any:
    if isinstance(value, str):
        return marked(value)
    if isinstance(value, Mapping):
        return {_with_marks(key): _with_marks(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_with_marks(item) for item in value]
    return value
