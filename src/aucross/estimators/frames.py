"""Frames that would take the process down: refused before a base model sees them."""

from __future__ import annotations

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from aucross.estimators.types import Classifier, Table

# LightGBM reads polars and Arrow columns of these types, under either library's name for them.
_READABLE = {"boolean", "bool", "float32", "float64", "float", "double"} | {
    f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
}

_REMEDIES = {
    "polars": "cast text to pl.Categorical, then pass X.to_pandas(), which keeps the categories, or encode them with "
    "X.with_columns(pl.col(...).to_physical())",
    "pyarrow": "turn text into dictionary columns with dictionary_encode(), then pass X.to_pandas(), which keeps the "
    "categories",
}


def refuse_columns_that_abort(estimator: Classifier, X: Table) -> None:
    """Raise for polars and Arrow columns on which LightGBM ends the process (it has no handler for their type)."""
    if isinstance(X, np.ndarray):
        return
    library = type(X).__module__.split(".")[0]
    if type(X).__name__ == "LazyFrame":
        raise TypeError("X must be a frame with rows, got a polars LazyFrame; pass X.collect()")
    if library not in ("polars", "pyarrow") or not hasattr(X, "schema") or not _gives_frames_to_lightgbm(estimator):
        return
    columns = X.schema.items() if library == "polars" else zip(X.schema.names, X.schema.types, strict=True)
    refused = [name for name, dtype in columns if str(dtype).lower() not in _READABLE]
    if refused:
        raise TypeError(
            f"X must hold only numeric and boolean {library} columns of at most 64 bits for LightGBM, got {refused}, "
            f"which would abort the process; {_REMEDIES[library]}"
        )


def _gives_frames_to_lightgbm(estimator: Classifier) -> bool:
    """Whether LightGBM receives X as it is, inside searches, calibrators, ensembles, frozen models and pipelines."""
    if isinstance(estimator, Pipeline):
        # Steps that hand on what they get do not change what LightGBM sees.
        steps = [
            step for _, step in estimator.steps if not (step is None or isinstance(step, str | FunctionTransformer))
        ]
        return bool(steps) and _gives_frames_to_lightgbm(steps[0])
    if isinstance(members := getattr(estimator, "estimators", None), list):  # voting and stacking
        return any(_gives_frames_to_lightgbm(member[1] if isinstance(member, tuple) else member) for member in members)
    if hasattr(estimator, "estimator"):
        return _gives_frames_to_lightgbm(estimator.estimator)
    return any(kind.__module__.startswith("lightgbm") for kind in type(estimator).__mro__)
