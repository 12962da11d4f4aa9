"""Columns of dates as numbers that a model can read."""

from __future__ import annotations

import re
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
        return np.column_stack([_days(column) for column in columns])


def _days(column: Any) -> FloatArray:
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
        raise ValueError(
            f"columns of dates must hold dates such as 2024-03-31, or days since 1970 ({error}); convert them with "
            "pandas.to_datetime"
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
