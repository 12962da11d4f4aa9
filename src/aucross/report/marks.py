"""The summary with marks in place of characters that cannot be seen and change how the text around them is read.

A name that holds the character U+202E shows the text after it backwards. The page and the model card show such
characters as ``[U+202E]``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aucross.system.text import marked


def with_marks(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Replace each invisible character of the summary by a mark."""
    return {key: _with_marks(value) for key, value in summary.items()}


def _with_marks(value: Any) -> Any:
    if isinstance(value, str):
        return marked(value)
    if isinstance(value, Mapping):
        return {_with_marks(key): _with_marks(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_with_marks(item) for item in value]
    return value
