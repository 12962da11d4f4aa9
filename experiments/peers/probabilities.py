"""The model's probabilities, computed once and handed to a peer as if they were the features.

All peers but the anomaly detector look at nothing else. Giving them the probabilities makes sure that each sees exactly
the same scores, saves predicting the same rows again in every fold, and keeps data frames out of libraries that turn
them into arrays or cut them by position.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator

FloatArray = NDArray[np.float64]


class GivenProbabilities(ClassifierMixin, BaseEstimator):
    """A classifier whose features are the probabilities of the two classes, which it returns."""

    def fit(self, X: FloatArray, y: ArrayLike) -> GivenProbabilities:
        """Learn the names of the classes."""
        self.classes_ = np.unique(y)
        self.n_features_in_ = X.shape[1]
        return self

    def predict_proba(self, X: FloatArray) -> FloatArray:
        """Return the features."""
        return np.asarray(X)

    def predict(self, X: FloatArray) -> NDArray[Any]:
        """Return the more probable class."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def frozen_probabilities() -> FrozenEstimator:
    """A fitted `GivenProbabilities` for labels 0 and 1, which no library can train again."""
    return FrozenEstimator(GivenProbabilities().fit(np.eye(2), [0, 1]))


def probabilities(model: Any, X: Any) -> FloatArray:
    """Probabilities of both classes in double precision."""
    proba = np.asarray(model.predict_proba(X), dtype=np.float64)
    if proba.ndim != 2 or proba.shape[1] != 2:
        raise ValueError(f"model must be a classifier of two classes, its predict_proba has shape {proba.shape}")
    return proba


def zero_or_one(model: Any, y: ArrayLike) -> NDArray[np.int64]:
    """Labels as 1 for the class of the second column of probabilities and 0 for the other."""
    return (np.asarray(y) == model.classes_[1]).astype(np.int64)


def check_coverage(coverage: float) -> float:
    """Return `coverage`, or say what is wrong with it."""
    if not 0 < coverage <= 1:
        raise ValueError(f"coverage must be in (0, 1], got {coverage}; for 90 % pass 0.9")
    return float(coverage)
