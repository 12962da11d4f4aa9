"""The default gate, which takes whatever table the classifier takes."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OrdinalEncoder

from aucross.estimators.types import Table
from aucross.frames import kind_of, library_of, names_of, types_of, without_pandas_na

# Histogram boosting knows at most 255 categories of a column; rarer ones become one.
_MOST_CATEGORIES = 250
_WORDS = 2**12


def default_gate(X: Table, seed: int) -> Any:
    """Return gradient boosting for numbers and words; for sparse tables and texts, trees that need no dense table.

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
    plain = FunctionTransformer(without_pandas_na, feature_names_out="one-to-one")
    reading = ColumnTransformer([("words", make_pipeline(plain, encoder), words)], remainder=plain, sparse_threshold=0)
    # A list, because a range has no stored form.
    boosting = HistGradientBoostingClassifier(categorical_features=list(range(len(words))), random_state=seed)
    return make_pipeline(reading, boosting)


def weight_name(gate: Any) -> str:
    """Return the name of the weights argument of `fit`: a pipeline passes weights to its last step."""
    return f"{gate.steps[-1][0]}__sample_weight" if isinstance(gate, Pipeline) else "sample_weight"


def _trees(seed: int) -> ExtraTreesClassifier:
    return ExtraTreesClassifier(n_estimators=100, min_samples_leaf=5, random_state=seed)


def _holds_texts(X: Table) -> bool:
    """Return whether each row is one text."""
    is_column = isinstance(X, list | tuple | np.ndarray) or (library_of(X) == "pandas" and X.ndim == 1)
    return is_column and len(X) > 0 and isinstance(next(iter(X)), str)


def _columns_of_words(X: Table) -> list[Any]:
    """Return the columns that are not numeric: by name in a frame, by position in an array."""
    if library_of(X) in ("pandas", "polars") and (names := names_of(X)) is not None:
        return [name for name, dtype in zip(names, types_of(X), strict=True) if kind_of(dtype) != "number"]
    values = np.asarray(X)
    if values.dtype.kind in "biuf" or values.ndim != 2:
        return []
    return [place for place in range(values.shape[1]) if not _can_be_numbers(values[:, place])]


def _can_be_numbers(values: Any) -> bool:
    try:
        values.astype(np.float64)
    except (TypeError, ValueError):
        return False
    return True
