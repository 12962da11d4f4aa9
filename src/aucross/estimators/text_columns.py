"""Columns of text in a model that reads numbers: an error that names them, the model, and what to do."""

from __future__ import annotations

import re
from typing import Any

from sklearn.pipeline import Pipeline

from aucross.estimators.types import Classifier, Table
from aucross.estimators.untrained import NumberedClasses

# What models say where they meet text.
_ABOUT_TEXT = re.compile(r"convert|dtype|string|categor", re.IGNORECASE)
_TEXT_TYPES = re.compile(r"str|string.*|large_string|object|String")
_ROWS_TO_LOOK_AT = 1000
_MOST_NAMES = 5
_OTHER_GATE = ", or pass a gate that takes what the classifier takes, as in AUCGate(classifier, gate=pipeline)"


def explained(error: Exception, role: str, model: Classifier, X: Table) -> Exception | None:
    """The error of a model that met text, with the columns and the remedy; None for any other error.

    Parameters
    ----------
    error : Exception
        What the model raised.
    role : {"classifier", "gate"}
        What the model is for.
    model : classifier
        The model.
    X : table
        Its rows.

    Returns
    -------
    Exception or None
    """
    is_about_text = not isinstance(error, Warning) and _ABOUT_TEXT.search(str(error))
    columns = _text_columns(X) if is_about_text else {}
    if not columns:
        return None
    named = ", ".join(f"{name!r} ({dtype})" for name, dtype in list(columns.items())[:_MOST_NAMES])
    more = f" and {len(columns) - _MOST_NAMES} more" if len(columns) > _MOST_NAMES else ""
    kind = TypeError if isinstance(error, TypeError) else ValueError
    reason = (str(error).strip().splitlines() or [""])[0]
    return kind(
        f"the {role} {_name(model)} must get numbers or categories, and X has text in {named}{more}: {reason}; "
        f"{_remedy(model, X, list(columns))}{_OTHER_GATE if role == 'gate' else ''}"
    )


def _text_columns(X: Table) -> dict[Any, str]:
    """Columns that hold text, with their type; frames alone have them by name."""
    # A lazy frame has no length, and would have to be computed to name its types.
    if not all(hasattr(X, name) for name in ("__len__", "columns", "dtypes")):
        return {}
    types = {name: str(dtype) for name, dtype in zip(X.columns, list(X.dtypes), strict=True)}
    return {
        name: dtype
        for name, dtype in types.items()
        if _TEXT_TYPES.fullmatch(dtype)
        and (dtype != "object" or any(isinstance(value, str) for value in X[name].iloc[:_ROWS_TO_LOOK_AT]))
    }


def _name(model: Classifier) -> str:
    if isinstance(model, Pipeline):
        return f"{type(model).__name__} with {type(model.steps[-1][1]).__name__}"
    return type(model.estimator if isinstance(model, NumberedClasses) else model).__name__


def _remedy(model: Classifier, X: Table, names: list[Any]) -> str:
    name = _name(model)
    if name.startswith("CatBoost"):
        return f"pass {name}(cat_features={tuple(names)!r})"
    if type(X).__module__.startswith("polars"):
        conversion = f"X.with_columns(pl.col({names!r}).cast(pl.Categorical))"
    else:
        conversion = f"X.astype({dict.fromkeys(names, 'category')!r})"
    if name.startswith(("HistGradientBoosting", "LGBM")):
        return f"pass {conversion}"
    if name.startswith("XGB"):
        return f"pass {conversion} and {name}(enable_categorical=True)"
    return (
        "turn it into numbers in a pipeline: make_pipeline(make_column_transformer((OneHotEncoder("
        f'handle_unknown="ignore"), {names!r}), remainder="passthrough"), {name.rpartition(" ")[2]}())'
    )
