"""Explain errors of a model that reads numbers but met text or dates, with the columns and the remedy."""

from __future__ import annotations

import re
from datetime import date, time, timedelta
from typing import Any

from sklearn.pipeline import Pipeline

from aucross.estimators.models import NumberedClasses
from aucross.estimators.types import Classifier, Table
from aucross.frames import (
    date_formats,
    holds_pandas_na,
    is_frame,
    is_lazy,
    is_missing,
    kind_of,
    library_of,
    names_of,
    types_of,
)
from aucross.system.text import first_few

# What models say where they meet text or dates.
_ABOUT_TYPES = re.compile(r"convert|dtype|string|categor|promot|datetime|timestamp", re.IGNORECASE)
_TEXT_TYPES = re.compile(r"str|string.*|large_string|object|String")
# As pandas and polars write them.
_TIME_TYPES = re.compile(
    r"(datetime|timedelta|period|date|timestamp|time\d|duration).*|Date|Time|Datetime.*|Duration.*|object"
)
_ROWS_TO_LOOK_AT = 1000
_MOST_NAMES = 5
_LONGEST_REASON = 200
_OTHER_GATE = ", or pass a gate that takes what the classifier takes, as in AUCGate(classifier, gate=pipeline)"


def explained(error: Exception, role: str, model: Classifier, X: Table, *, is_fitted: bool = False) -> Exception | None:
    """Return an explanation, with columns and remedy, if a model failed on text or dates; None for any other error."""
    # A column of scores reads one column alone, and names it.
    if isinstance(error, Warning) or not _ABOUT_TYPES.search(str(error)) or _reads_one_column(model):
        return None
    if "NAType" in str(error) and library_of(X) == "pandas" and (names := names_of(X)) is not None:
        typed = zip(names, types_of(X), strict=True)
        words = {name: dtype for name, dtype in typed if kind_of(dtype) not in ("number", "date")}
        if marks := {name: dtype for name, dtype in words.items() if holds_pandas_na(X[name])}:
            return TypeError(
                f"the {role} {_name(model)} must get missing values as NaN, and X has pandas' NA in {_listed(marks)}: "
                f"{_reason(error)}; pass {_as_categories(list(marks))}"
            )
    texts, dates = _columns_of(X, _TEXT_TYPES, str), _columns_of(X, _TIME_TYPES, (date, time, timedelta))
    formats = {name: found for name in texts if (found := date_formats(X[name].head(_ROWS_TO_LOOK_AT)))}
    dates |= {name: texts.pop(name) for name in formats}
    remedies = []
    if texts:
        remedies.append(_remedy_for_new(X, list(texts)) if is_fitted else _remedy(model, X, list(texts)))
    if dates:
        remedies.append(_remedy_for_dates(X, list(dates), formats.get(next(iter(dates)), [])))
    if not remedies:
        return None
    held = [f"{what} in {_listed(columns)}" for what, columns in (("text", texts), ("dates", dates)) if columns]
    kind = TypeError if isinstance(error, TypeError) else ValueError
    return kind(
        f"the {role} {_name(model)} must get numbers or categories, and X has {' and '.join(held)}: {_reason(error)}; "
        f"{', and '.join(remedies)}{_OTHER_GATE if role == 'gate' and not is_fitted else ''}"
    )


def _as_categories(names: list[Any]) -> str:
    """Return code that turns objects into categories; pandas' text type would keep an NA that scikit-learn rejects."""
    return f"X.astype({dict.fromkeys(names, object)!r}).astype({dict.fromkeys(names, 'category')!r})".replace(
        repr(object), "object"
    )


def _reason(error: Exception) -> str:
    """Return the first line of a model's error, or only its first sentence if the line is long."""
    first = (str(error).strip().splitlines() or [""])[0]
    return (first if len(first) <= _LONGEST_REASON else first.partition(". ")[0]).rstrip(".")


def _reads_one_column(model: Any) -> bool:
    inner = getattr(model, "estimator", None)
    return getattr(model, "trains_nothing", False) or (inner is not None and _reads_one_column(inner))


def _columns_of(X: Table, types: re.Pattern[str], kinds: type | tuple[type, ...]) -> dict[Any, str]:
    """Return the columns of a frame with one of the types, each with its type; columns of objects are inspected."""
    # A lazy frame has no length, and would have to be computed to name its types.
    if not is_frame(X) or is_lazy(X) or (names := names_of(X)) is None:
        return {}
    named = dict(zip(names, types_of(X), strict=True))
    return {
        name: dtype
        for name, dtype in named.items()
        if types.fullmatch(dtype)
        and (dtype != "object" or any(isinstance(value, kinds) for value in X[name].head(_ROWS_TO_LOOK_AT)))
    }


def _listed(columns: dict[Any, str]) -> str:
    return first_few([f"{name!r} ({dtype})" for name, dtype in columns.items()], _MOST_NAMES)


def _remedy_for_dates(X: Table, names: list[Any], formats: list[str]) -> str:
    """Return code that drops dates or counts days, because models cannot learn from a date itself."""
    if library_of(X) == "polars":
        drop, column = f"X.drop({names!r})", f"pl.col({names[0]!r})"
        read = f".str.to_datetime({formats[0]!r}).dt.date()" if formats else ""
        days = f"({column}{read} - pl.date(2000, 1, 1)).dt.total_days()"
    else:
        drop, read = f"X.drop(columns={names!r})", f", format={formats[0]!r}" if formats else ""
        days = f"(pd.to_datetime(X[{names[0]!r}]{read}) - pd.Timestamp('2000-01-01')).dt.days"
    other = f" (or with {formats[1]!r} if the month comes first)" if len(formats) > 1 else ""
    return f"drop dates with {drop}, or turn them into numbers, such as the days since a date: {days}{other}"


def _remedy_for_new(X: Table, names: list[Any]) -> str:
    """Return code that converts new rows to the types of the fit, which the model could read."""
    is_polars = library_of(X) == "polars"
    first = repr(names[0])
    numbers = f"X.with_columns(pl.col({names!r}).cast(pl.Float64))" if is_polars else f"pd.to_numeric(X[{first}])"
    if all(_is_number(value) for name in names for value in list(X[name][:_ROWS_TO_LOOK_AT])):
        return f"the fit had numbers there: pass {numbers}"
    categories = f"pl.col({first}).cast(type of the fit)" if is_polars else f"X[{first}].astype(X_fit[{first}].dtype)"
    return (
        f"give it the type that it had in the fit: {numbers} if it was a number, whose spelling must be mended first, "
        f"{categories} if it was a category"
    )


def _is_number(value: Any) -> bool:
    if is_missing(value):
        return True
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _name(model: Classifier) -> str:
    if isinstance(model, Pipeline):
        return f"{type(model).__name__} with {type(model.steps[-1][1]).__name__}"
    return type(model.estimator if isinstance(model, NumberedClasses) else model).__name__


def _remedy(model: Classifier, X: Table, names: list[Any]) -> str:
    name = _name(model)
    if name.startswith("CatBoost"):
        return f"pass {name}(cat_features={tuple(names)!r})"
    if library_of(X) == "polars":
        conversion = f"X.with_columns(pl.col({names!r}).cast(pl.Categorical))"
    elif any(str(X[column].dtype).startswith("string") for column in names):
        conversion = _as_categories(names)
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
