"""The gate that is used if none is given: it takes whatever table the classifier takes."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OrdinalEncoder

from aucross.core.missing import is_mark_of_pandas
from aucross.estimators.types import Table

# Histogram boosting knows at most 255 categories of a column; rarer ones become one.
_MOST_CATEGORIES = 250
_WORDS = 2**12


def default_gate(X: Table, seed: int) -> Any:
    """Gradient boosting on numbers and words; on sparse tables and on texts trees, which need no dense table.

    Parameters
    ----------
    X : array-like, sparse matrix, frame or sequence of texts
        The rows of the fit.
    seed : int
        Seed of the model.

    Returns
    -------
    classifier
        A pipeline where the table has to be read first.
    """
    if issparse(X):
        return _trees(seed)
    if _holds_texts(X):
        return make_pipeline(HashingVectorizer(n_features=_WORDS, alternate_sign=False), _trees(seed))
    words = _columns_of_words(X)
    if not words:
        return HistGradientBoostingClassifier(random_state=seed)
    encoder = OrdinalEncoder(
        handle_unknown="use_encoded_value", unknown_value=np.nan, max_categories=_MOST_CATEGORIES, dtype=np.float64
    )
    plain = FunctionTransformer(without_marks_of_pandas, feature_names_out="one-to-one")
    reading = ColumnTransformer([("words", make_pipeline(plain, encoder), words)], remainder=plain, sparse_threshold=0)
    # A list, because a range has no stored form.
    boosting = HistGradientBoostingClassifier(categorical_features=list(range(len(words))), random_state=seed)
    return make_pipeline(reading, boosting)


def weight_name(gate: Any) -> str:
    """Name of the argument of `fit` that weights have: a pipeline hands them to its last step."""
    return f"{gate.steps[-1][0]}__sample_weight" if isinstance(gate, Pipeline) else "sample_weight"


def without_marks_of_pandas(X: Table) -> Any:
    """Columns with NaN where pandas' NA stood: encoders of scikit-learn do not take it, nor does a table of numbers.

    Parameters
    ----------
    X : frame or array of shape (n_samples, n_features)
        Columns of words or of numbers.

    Returns
    -------
    frame or array
        The same, with numbers of a nullable type as floats.
    """
    if isinstance(X, np.ndarray):
        return np.where(_are_marks(X.ravel()).reshape(X.shape), np.nan, X) if X.dtype.kind == "O" else X
    if not hasattr(X, "iloc"):  # polars has no such mark
        return X
    plain = X.copy(deep=False)
    for name in X.columns:
        plain[name] = _without_marks(X[name])
    return plain


def _without_marks(column: Any) -> Any:
    if _is_number(column.dtype):
        # Nullable types, also of rows without NA: others in the same column may have it, and all must have one type.
        return column if isinstance(column.dtype, np.dtype) else column.astype(np.float64)
    missing = column.isna()
    if not _are_marks(column[missing].to_numpy(dtype=object)).any():
        return column
    return column.astype(object).where(~missing, np.nan)


def _are_marks(values: Any) -> Any:
    return np.array([is_mark_of_pandas(value) for value in values], dtype=bool)


def _trees(seed: int) -> ExtraTreesClassifier:
    return ExtraTreesClassifier(n_estimators=100, min_samples_leaf=5, random_state=seed)


def _holds_texts(X: Table) -> bool:
    """Whether each row is one text."""
    if hasattr(X, "iloc"):
        return getattr(X, "ndim", 2) == 1 and len(X) > 0 and isinstance(X.iloc[0], str)
    return isinstance(X, list | tuple | np.ndarray) and len(X) > 0 and isinstance(X[0], str)


def _columns_of_words(X: Table) -> list[Any]:
    """Columns that hold anything but numbers: by name in a frame, by place in an array."""
    if hasattr(X, "dtypes") and hasattr(X, "columns"):  # pandas and polars
        return [name for name, dtype in zip(X.columns, list(X.dtypes), strict=True) if not _is_number(dtype)]
    values = np.asarray(X)
    if values.dtype.kind in "biuf" or values.ndim != 2:
        return []
    return [place for place in range(values.shape[1]) if not _can_be_numbers(values[:, place])]


def _is_number(dtype: Any) -> bool:
    if hasattr(dtype, "is_numeric"):  # polars
        return bool(dtype.is_numeric()) or str(dtype) == "Boolean"
    return getattr(dtype, "kind", "O") in "biuf"


def _can_be_numbers(values: Any) -> bool:
    try:
        values.astype(np.float64)
    except (TypeError, ValueError):
        return False
    return True
