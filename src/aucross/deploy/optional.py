"""Libraries that only some tasks need."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def import_optional(name: str) -> Any:
    """Import a library of the extra "deploy", or say how to install it."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        library = name.partition(".")[0]
        if error.name is None or error.name.partition(".")[0] != library:
            raise
        raise ModuleNotFoundError(
            f'{library} is needed for this and not installed; run: pip install "aucross[deploy]"', name=error.name
        ) from error
