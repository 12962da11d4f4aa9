"""Libraries of the extra ``datasets``, imported where they are needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def load_library(module: str, purpose: str) -> Any:
    """Import a library, or say which extra brings it.

    Parameters
    ----------
    module : str
        Name to import.
    purpose : str
        What needs it, as the subject of the error's sentence.

    Returns
    -------
    module
    """
    try:
        return import_module(module)
    except ImportError as error:
        library = module.partition(".")[0]
        raise ImportError(
            f'{purpose} needs {library}; install it with: pip install "aucross[datasets]"', name=library
        ) from error
