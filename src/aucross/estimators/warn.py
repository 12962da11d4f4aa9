"""Warnings that point at the user's line, however many lines of this package lie between."""

from __future__ import annotations

import inspect
import warnings


def warn_user(message: str, category: type[UserWarning] = UserWarning) -> None:
    """Warn, from the first line outside of this package and of scikit-learn."""
    frame, level = inspect.currentframe(), 1
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in ("aucross", "sklearn"):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
