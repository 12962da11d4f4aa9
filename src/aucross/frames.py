"""The one module that reads names, types, columns, rows, missing values and dates from tables.

::

    pandas, polars, Arrow ───────────────┐
    arrays, sparse matrices, sequences ──┴──► names, types, kinds, columns, rows, order, missing values, dates

No table is converted: a model gets what the user passed. Libraries are recognised by the methods of their objects, so
that none has to be imported. To support another library, change only this file and the messages that show code.
"""

# narwhals asks these questions of frames too. It was not taken: each costs 30 to 70 microseconds, ten times ours, and
# a decision on one row asks several; it refuses repeated names before we can name them, calls text in objects and
# periods unknown, and leaves arrays, sparse matrices and sequences to be told apart here all the same.

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from aucross.core.ranking import refuse_name_of_column

# A table as it comes: an array, a sparse matrix, a pandas or polars frame, an Arrow table, a sequence of rows.
Table = Any
Kind = Literal["number", "category", "date", "text", "other"]

# By the names of types of numpy, pandas, polars and Arrow in lower case.
_KINDS = re.compile(
    r"(sparse\[)?(?P<number>u?int\d|float|double|halffloat|decimal|bool)|(?P<category>categor|enum|dictionary)"
    r"|(?P<date>date|time|duration|period|interval)|(?P<text>str|large_string|utf8|<u)"
)

# Spellings of a missing value in text, which has no other way to say it; blanks around them do not count.
MISSING_TEXTS = ("", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NULL", "null", "None")


# ---- the table ----


def library_of(X: Table) -> str:
    """Return "pandas", "polars" or "pyarrow", the library whose interface a table or column has; "" for others."""
    if isinstance(X, np.ndarray):
        return ""
    library = type(X).__module__.partition(".")[0]
    if library in ("polars", "pyarrow"):
        return library
    return "pandas" if hasattr(X, "iloc") else ""


def is_frame(X: Table) -> bool:
    """Return whether a table is a pandas or polars frame, which models take with its column names."""
    return library_of(X) in ("pandas", "polars")


def is_lazy(X: Table) -> bool:
    """Return whether a table is a lazy plan, which has no rows yet."""
    return type(X).__name__ == "LazyFrame"


def count_rows(X: Table) -> int | None:
    """Return the number of rows; None if there is no length, as for a lazy frame or a single value."""
    shape = getattr(X, "shape", None)
    if shape is not None:
        return int(shape[0]) if shape else None
    return len(X) if hasattr(X, "__len__") else None


def names_of(X: Table) -> list[Any] | None:
    """Return the names of the columns of a pandas, polars or Arrow table; None for an array."""
    # Asked of the class, because a pandas frame looks through its columns for an attribute that it does not have. The
    # `columns` of Arrow are the columns themselves.
    names = getattr(X, "column_names" if hasattr(type(X), "column_names") else "columns", None)
    if names is None:
        return None
    # An index of pandas takes five times as long to be walked through.
    return names.tolist() if hasattr(names, "tolist") else list(names)


def text_names_of(X: Table) -> list[str] | None:
    """Return the column names if all of them are text, else None; columns with other names are read by position."""
    names = names_of(X)
    return names if names and all(isinstance(name, str) for name in names) else None


def types_of(X: Table) -> list[str]:
    """Return the types of the columns of a pandas, polars or Arrow table, as the library writes them."""
    return [str(dtype) for dtype in (X.schema.types if hasattr(type(X), "column_names") else X.dtypes)]


def kind_of(dtype: object) -> Kind:
    """Return the kind of values of a type, given as a numpy, pandas, polars or Arrow type or its name.

    Examples
    --------
    >>> [kind_of(name) for name in ("Int64", "dictionary<values=string>", "datetime64[us]", "String", "object")]
    ['number', 'category', 'date', 'text', 'other']
    """
    match = _KINDS.match(str(dtype).lower())
    return "other" if match is None else match.lastgroup  # type: ignore[return-value]


def kinds_of(X: Table) -> dict[str, Kind]:
    """Return the kind of each column by name: number, category or date; other columns are left out."""
    names = text_names_of(X)
    kinds = {} if names is None else zip(names, map(kind_of, types_of(X)), strict=True)
    return {name: kind for name, kind in dict(kinds).items() if kind not in ("text", "other")}


def columns_of(X: Table) -> Iterator[Any]:
    """Yield the columns by position, because names can repeat; columns of frames keep the library's type."""
    library = library_of(X)
    if library == "pandas":
        yield from (column for _, column in X.items())  # by place too, in half the time of `iloc`
    elif library:
        yield from X.get_columns() if library == "polars" else X.columns
    elif issparse(X):
        by_column: Any = X.tocsc()  # type: ignore[attr-defined]
        yield from (by_column[:, [place]].toarray().ravel() for place in range(by_column.shape[1]))
    else:
        yield from np.asarray(X).T


def select_columns(X: Table, names: Sequence[Any]) -> Any:
    """Return the named columns of a frame, in the order of the names."""
    return X.select(list(names)) if library_of(X) in ("polars", "pyarrow") else X[list(names)]


def take_rows(X: Table, rows: Any) -> Any:
    """Return the rows at some positions of a table, a column or a sequence, in that order and as the same type."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if library_of(X) == "pyarrow":  # brackets choose columns
        return X.take(rows)
    return X[rows] if hasattr(X, "shape") else [X[row] for row in rows]


def with_column_of(X: Table, other: Table, place: int) -> Any:
    """Return a copy of a frame or array, with the column at a position taken from another table."""
    library = library_of(X)
    if library == "polars":
        return X.with_columns(other.get_columns()[place])
    changed = X.copy()
    if library == "pandas":
        changed.isetitem(place, other.iloc[:, place].array)
    else:
        changed[:, place] = other[:, place]
    return changed


def rows_as_dicts(X: Table) -> list[dict[str, Any]]:
    """Return each row of a frame as a dictionary; of a sequence of mappings, a copy of each."""
    library = library_of(X)
    if library == "pandas":
        return list(X.to_dict("records"))
    if library:
        return list(X.to_dicts() if library == "polars" else X.to_pylist())
    return [dict(row) for row in X]


def as_pandas(X: Table) -> Any:
    """Convert a frame of another library to pandas."""
    return X.to_pandas() if library_of(X) in ("polars", "pyarrow") else X


def index_of(X: Table) -> Any:
    """Return the index of a pandas object; None for other objects."""
    return X.index if hasattr(X, "iloc") and hasattr(X, "index") else None


def other_order(X: Table, **columns: Any) -> str | None:
    """Return a message if the pandas index of a column shows another order of rows than X; None otherwise."""
    of_rows = index_of(X)
    if of_rows is None:
        return None
    for name, column in columns.items():
        own = index_of(column)
        if own is None or len(own) != len(of_rows) or own.equals(of_rows):
            continue
        # Labels that repeat, or are not the same ones, say nothing about the order.
        if own.is_unique and of_rows.is_unique and own.isin(of_rows).all():
            return (
                f"{name} must hold the rows of X in their order, because rows are matched by place, got the same index "
                f"labels in another order; pass {name}.loc[X.index]"
            )
    return None


# ---- a column ----


def values_of(column: Any) -> list[Any]:
    """Return the values of a column as Python objects; numpy would turn a NaN among texts into "nan"."""
    for method in ("tolist", "to_list", "to_pylist"):  # numpy and pandas, polars, Arrow
        if hasattr(column, method):
            return list(getattr(column, method)())
    return list(column)


def categories_of(column: Any) -> list[Any] | None:
    """Return the categories of a categorical column of pandas, in their order; None for others."""
    categories = getattr(getattr(column, "cat", column), "categories", None)
    return None if categories is None else list(categories)


def is_ordered(column: Any) -> bool:
    """Return whether a column is an ordered categorical of pandas."""
    return bool(getattr(getattr(column, "dtype", None), "ordered", False))


def numbers_of(column: Any) -> NDArray[np.float64]:
    """Return a column of numbers as float64, with NaN for missing values."""
    library = library_of(column)
    is_plain = isinstance(getattr(column, "dtype", None), np.dtype) and column.dtype.kind in "biuf"
    if library == "pandas" and not is_plain:
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    return np.asarray(column.cast(float).to_numpy() if library == "polars" else column, dtype=np.float64)


def is_missing(value: object) -> bool:
    """Return whether a value is None or one of the marks NaN, NaT and NA."""
    if value is None:
        return True
    try:
        return bool(value != value)  # noqa: PLR0124  (true for NaN and NaT alone)
    except TypeError:  # pandas' NA is neither equal nor different
        return True
    except ValueError:  # an array: refused later, as it cannot be hashed
        return False


def is_pandas_na(value: object) -> bool:
    """Return whether a value is pandas' NA, which most libraries do not recognise as missing."""
    return type(value).__name__ == "NAType"


def holds_pandas_na(column: Any) -> bool:
    """Return whether pandas' NA is among the values, also in a categorical column, which displays it as NaN."""
    return any(map(is_pandas_na, column[column.isna()].to_numpy(dtype=object)))


def without_pandas_na(X: Table) -> Any:
    """Return columns with NaN in place of pandas' NA (encoders refuse NA), and floats in place of nullable numbers."""
    if isinstance(X, np.ndarray):
        is_na = np.array([is_pandas_na(value) for value in X.ravel()], dtype=bool) if X.dtype.kind == "O" else None
        return X if is_na is None else np.where(is_na.reshape(X.shape), np.nan, X)
    if library_of(X) != "pandas":  # others have no such mark
        return X
    plain = X.copy(deep=False)
    for name in X.columns:
        column = X[name]
        if getattr(column.dtype, "kind", "O") not in "biuf":
            plain[name] = column.astype(object).where(column.notna(), np.nan) if holds_pandas_na(column) else column
        elif not isinstance(column.dtype, np.dtype):
            # Also of rows without NA: others in the same column may have it, and all must have one type.
            plain[name] = column.astype(np.float64)
    return plain


# ---- a column beside X, such as groups and ids: one value for each row, none missing ----


def refuse_missing(values: NDArray[Any], name: str, remedy: str) -> None:
    """Raise an error if values are missing, with their number and the row of the first."""
    if (kind := values.dtype.kind) in "biuU":
        return
    if kind in "fmM":
        missing = np.isnat(values) if kind in "mM" else np.isnan(values)
    else:
        missing = np.array([is_missing(value) for value in values.tolist()], dtype=bool)
    if missing.any():
        raise ValueError(
            f"{name} must not contain missing values, got {int(missing.sum())} of {len(values)}, the first in row "
            f"{int(np.argmax(missing))}; {remedy}"
        )


def one_per_row(given: Any, name: str, n_rows: int, *, what: str = "value", remedy: str) -> NDArray[Any]:
    """Return a column beside X as an array with one entry for each row, none of them missing."""
    refuse_name_of_column(given, name)
    values = np.asarray(given)
    if values.dtype.kind == "U" and not isinstance(given, np.ndarray):
        values = np.asarray(given, dtype=object)  # numpy would write a missing value as the text "nan"
    if values.shape != (n_rows,):
        raise ValueError(f"{name} must hold one {what} per row, got shape {values.shape} for {n_rows} rows")
    refuse_missing(values, name, remedy)
    return values


def check_band_groups(band_groups: Any, n_rows: int) -> NDArray[Any]:
    """Check and return the group of each row, which determines its band."""
    remedy = 'give these rows a group of their own, such as "unknown"'
    return one_per_row(band_groups, "band_groups", n_rows, what="group", remedy=remedy)


def numbers_of_units(groups: Any, n_rows: int, name: str = "groups") -> NDArray[np.intp]:
    """Return for each row the number of its unit, such as its customer, from 0 on; `name` is for messages."""
    values = one_per_row(groups, name, n_rows, remedy="give each such row a name of its own")
    if values.dtype.kind == "O":  # numbers among strings cannot be sorted
        listed = values.tolist()
        number_of = {value: number for number, value in enumerate(dict.fromkeys(listed))}
        return np.array([number_of[value] for value in listed], dtype=np.intp)
    return np.unique(values, return_inverse=True)[1]


# ---- dates ----

_MICROSECONDS_PER_DAY = 86_400 * 1_000_000
# Digits alone are no date: libraries take 20190331 for seconds, days or years, each for another.
ISO_DATE = (
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"(Z|[ T][0-9]{2}(:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?)?(Z|[+-][0-9]{2}:?[0-9]{2})?)?$"
)
# Of dates in text; between dots and dashes the day stands before the month, between strokes either may.
_ORDERS = ("%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%Y/%m/%d", "%Y.%m.%d", "%d.%m.%y", "%d/%m/%y")
_FORMATS = [f"{order}{hours}" for hours in ("", " %H:%M", " %H:%M:%S") for order in (*_ORDERS, "%m/%d/%y")]
_LOOKS_LIKE_A_DATE = re.compile(r"\d{1,4}([./-])\d{1,2}\1\d{2,4}( \d{1,2}:\d{2}(:\d{2})?)?")


def days_of(column: Any) -> NDArray[np.float64]:
    """Convert dates, typed or as text, to days since 1970 in UTC; numbers are returned as they are."""
    if getattr(getattr(column, "dtype", None), "tz", None) is not None:
        column = column.dt.tz_convert("UTC").dt.tz_localize(None)
    values = np.asarray(column)
    if values.dtype.kind in "biuf":
        return values.astype(np.float64)
    moments = _moments(values)
    days = moments.astype(np.int64) / _MICROSECONDS_PER_DAY
    return np.where(np.isnat(moments), np.nan, days)


def date_of(days: float) -> datetime:
    """Convert a number of days since the start of 1970 to a time."""
    return datetime(1970, 1, 1) + timedelta(days=float(days))


def moment_of(text: str) -> datetime:
    """Return the time of an ISO date, in UTC by default; raise ValueError unless the year has four digits."""
    try:
        if not re.fullmatch(ISO_DATE, text.strip()):
            raise ValueError
        moment = datetime.fromisoformat(text.strip().removesuffix("Z"))
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError("must be a date such as 2024-03-31, in the years 1 to 9999 of UTC") from None


def date_formats(values: Iterable[Any]) -> list[str]:
    """Return the ``strptime`` formats that fit all values; none if some value is not a date as text.

    Missing values are ignored. Several formats fit if day and month could be exchanged in all values.

    Examples
    --------
    >>> from aucross.frames import date_formats
    >>> date_formats(["03.01.2022", None]), date_formats(["03/01/2022"]), date_formats(["1.2.3"])
    (['%d.%m.%Y'], ['%d/%m/%Y', '%m/%d/%Y'], [])
    """
    texts = list(dict.fromkeys(value.strip() if isinstance(value, str) else value for value in values))
    texts = [text for text in texts if not _is_blank(text)]
    if not all(isinstance(text, str) and _LOOKS_LIKE_A_DATE.fullmatch(text) for text in texts):
        return []
    found = []
    for form in _FORMATS if texts else ():
        with suppress(ValueError):
            for text in texts:
                datetime.strptime(text, form)
            found.append(form)
    return found


def _is_blank(value: Any) -> bool:
    """Return whether a value is missing; empty text counts as missing, as on the command line."""
    return is_missing(value) or value == ""


def _moments(values: NDArray[Any]) -> NDArray[np.datetime64]:
    if values.dtype.kind == "M":
        return values.astype("datetime64[us]")
    known = ["NaT" if _is_blank(value) else value for value in values.tolist()]
    try:
        return np.array([_plain(value) for value in known], dtype="datetime64[us]")
    except (TypeError, ValueError) as error:
        given = next((value for value in known if value != "NaT"), None)
        form = f"(column, format={formats[0]!r})" if (formats := date_formats(values.tolist())) else ""
        raise ValueError(
            f"columns of dates must hold dates such as 2024-03-31, or days since 1970, got {given!r} ({error}); "
            f"convert them with pandas.to_datetime{form}"
        ) from error


def _plain(value: Any) -> Any:
    if isinstance(value, str) and value != "NaT":
        value = moment_of(value)
    has_zone = isinstance(value, datetime) and value.tzinfo is not None
    return value.astimezone(UTC).replace(tzinfo=None) if has_zone else value
