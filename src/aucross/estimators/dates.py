"""Columns of dates as numbers that a model can read."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import validate_data

from aucross.core.missing import is_missing
from aucross.core.ranking import FloatArray
from aucross.estimators.types import Column, Table

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


def date_formats(values: Iterable[Any]) -> list[str]:
    """Formats, as ``strptime`` has them, in which all values can be read as dates; none if some are no dates in text.

    Parameters
    ----------
    values : iterable
        Values of a column; missing ones are passed over.

    Returns
    -------
    list of str
        More than one if the values do not tell whether the day or the month comes first.

    Examples
    --------
    >>> from aucross.estimators.dates import date_formats
    >>> date_formats(["03.01.2022", None]), date_formats(["03/01/2022"]), date_formats(["1.2.3"])
    (['%d.%m.%Y'], ['%d/%m/%Y', '%m/%d/%Y'], [])
    """
    texts = list(dict.fromkeys(value.strip() if isinstance(value, str) else value for value in values))
    texts = [text for text in texts if not _is_blank(text)]
    if not all(isinstance(text, str) and _LOOKS_LIKE_A_DATE.fullmatch(text) for text in texts):
        return []
    return [form for form in _FORMATS if texts and all(_is_date(text, form) for text in texts)]


def _is_date(text: str, form: str) -> bool:
    try:
        datetime.strptime(text, form)
    except ValueError:
        return False
    return True


class DaysSince1970(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Turn dates into days since 1 January 1970, with their fraction; missing ones stay missing.

    Columns may hold moments of numpy or pandas, dates of Python, ISO dates as text, or such days already: what the
    command line makes of a date is a number, and what Python has in a frame is a date. Moments with a time zone count
    in UTC.

    Examples
    --------
    >>> import numpy as np
    >>> from aucross.estimators import DaysSince1970
    >>> days = DaysSince1970()
    >>> days.fit_transform(np.array([["1970-01-02"], ["1970-01-03T12:00"]], dtype=object))
    array([[1. ],
           [2.5]])
    """

    def fit(self, X: Table, y: Column = None) -> DaysSince1970:  # noqa: ARG002
        """Note the columns.

        Parameters
        ----------
        X : frame or array-like of shape (n_samples, n_features)
            Dates.
        y : None
            Not used.

        Returns
        -------
        self
        """
        validate_data(self, X, skip_check_array=True)
        return self

    def transform(self, X: Table) -> FloatArray:
        """Turn dates into days.

        Parameters
        ----------
        X : frame or array-like of shape (n_samples, n_features)
            Dates.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        validate_data(self, X, reset=False, skip_check_array=True)
        columns = [X[name] for name in X.columns] if hasattr(X, "columns") else list(np.asarray(X).T)
        return np.column_stack([days_of(column) for column in columns])


def days_of(column: Any) -> FloatArray:
    """Return the days since 1970 of a column of dates, as text or typed; numbers are such days already."""
    if getattr(getattr(column, "dtype", None), "tz", None) is not None:
        column = column.dt.tz_convert("UTC").dt.tz_localize(None)
    values = np.asarray(column)
    if values.dtype.kind in "biuf":
        return values.astype(np.float64)
    moments = _moments(values)
    days = moments.astype(np.int64) / _MICROSECONDS_PER_DAY
    return np.where(np.isnat(moments), np.nan, days)


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


def _is_blank(value: Any) -> bool:
    """Whether a value is missing; empty text is, as the command line reads it."""
    return is_missing(value) or value == ""


def _plain(value: Any) -> Any:
    if isinstance(value, str) and value != "NaT":
        value = moment_of(value)
    has_zone = isinstance(value, datetime) and value.tzinfo is not None
    return value.astimezone(UTC).replace(tzinfo=None) if has_zone else value


def moment_of(text: str) -> datetime:
    """Return the moment that an ISO date stands for, in UTC where no time zone is named.

    Raises
    ------
    ValueError
        If the text is no date, or one that no calendar of four digits holds in UTC.
    """
    try:
        if not re.fullmatch(ISO_DATE, text.strip()):
            raise ValueError
        moment = datetime.fromisoformat(text.strip().removesuffix("Z"))
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError("must be a date such as 2024-03-31, in the years 1 to 9999 of UTC") from None
