"""Trainings inside a fit are not experiments of their own: trackers that log every fit leave them out."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_autologging() -> Iterator[None]:
    """Switch off MLflow's autologging where it is loaded.

    With ``mlflow.sklearn.autolog()`` one fit would write a run and a model for each fold and for each helper model.
    """
    tracker = sys.modules.get("mlflow.utils.autologging_utils")
    if tracker is None:
        yield
        return
    with tracker.disable_autologging():
        yield
