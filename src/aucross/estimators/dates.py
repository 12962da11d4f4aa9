"""Turn columns of dates into numbers that a model can read."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import validate_data

from aucross.core.ranking import FloatArray
from aucross.estimators.types import Column, Table
from aucross.frames import columns_of, days_of


class DaysSince1970(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Turn dates into days since 1 January 1970, with fractions; missing dates stay missing.

    Columns may hold numpy or pandas timestamps, Python dates, ISO dates as text, or numbers, which are read as days
    since 1970. Timestamps with a time zone are converted to UTC.

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
        """Remember the columns."""
        validate_data(self, X, skip_check_array=True)
        return self

    def transform(self, X: Table) -> FloatArray:
        """Convert dates to days, in an array of the same shape."""
        validate_data(self, X, reset=False, skip_check_array=True)
        return np.column_stack([days_of(column) for column in columns_of(X)])
