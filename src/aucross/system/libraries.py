"""Import libraries that only some tasks need."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def import_library(module: str, *, purpose: str, extra: str) -> Any:
    """Import a library; if it is missing, raise an error that names the task and the extra to install."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        library = module.partition(".")[0]
        # A library that is there and lacks one of its own says so itself.
        if error.name is None or error.name.partition(".")[0] != library:
            raise
        raise ModuleNotFoundError(
            f'{purpose} needs {library}, which is not installed; run: pip install "aucross[{extra}]"', name=error.name
        ) from error
