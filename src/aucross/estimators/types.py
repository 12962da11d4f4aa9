"""Type names for objects that scikit-learn leaves untyped."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

# Rows of features as they come: an array, a sparse matrix, a pandas or polars frame, an Arrow table, images.
Table: TypeAlias = Any
# One entry for each row: a list, an array, a series.
Column: TypeAlias = Any
# A classifier in the sense of scikit-learn, fitted or not.
Classifier: TypeAlias = Any
# A number of folds, a splitter, splits, or "oob" for out-of-bag scores.
Folds: TypeAlias = Any
# Class labels of any type.
Labels: TypeAlias = NDArray[Any]
Generator: TypeAlias = np.random.RandomState
# Whether a band takes all rows of a score or none, or may cut through them.
Ties: TypeAlias = Literal["whole", "split"]
# What becomes of fold models: they are let go of, judge new rows, or answer them too.
Ensemble: TypeAlias = bool | Literal["judge"]
# A step of a fit, by name, from its beginning to its end.
Step: TypeAlias = Callable[[str], AbstractContextManager[None]]
