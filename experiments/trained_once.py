"""A base classifier that is trained once for equal rows, so that methods with the same folds share their models.

Every method is fitted through the public interface as a user would fit it; `TrainedOnce` stands between the method and
the base classifier.
"""

from __future__ import annotations

import re
import time
from typing import Any, Self

import joblib
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone


class FittedModels:
    """Fitted models by the rows that they were trained on.

    Attributes
    ----------
    spent : float
        Seconds of processor time in trainings so far.
    charged : float
        The same as if every model had been trained each time that it was asked for.
    """

    def __init__(self) -> None:
        self._models: dict[str, Any] = {}
        self._seconds: dict[str, float] = {}
        self.spent = self.charged = 0.0

    # scikit-learn's clone copies every parameter; a copy would share nothing.
    def __deepcopy__(self, _memo: dict[int, Any]) -> Self:
        return self

    def trained(self, estimator: Any, X: Any, y: Any) -> Any:
        """The estimator fitted on these rows, now or earlier."""
        key = joblib.hash((type(estimator), parameters_of(estimator), X, y))
        if key not in self._models:
            start = time.process_time()
            self._models[key] = clone(estimator).fit(X, y)
            self._seconds[key] = time.process_time() - start
            self.spent += self._seconds[key]
        self.charged += self._seconds[key]
        return self._models[key]


def parameters_of(estimator: Any) -> dict[str, str]:
    """Every parameter as text, without places in memory; the text of a whole estimator may be cut short."""
    return {name: re.sub(r" at 0x[0-9a-f]+", "", repr(value)) for name, value in estimator.get_params().items()}


class TrainedOnce(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """A classifier whose fitted models are kept.

    Parameters
    ----------
    estimator : classifier
        What is trained; deterministic.
    models : FittedModels
        Where fitted models are kept.
    """

    def __init__(self, estimator: Any, models: FittedModels) -> None:
        self.estimator = estimator
        self.models = models

    def fit(self, X: Any, y: Any) -> Self:
        """Take the model of these rows, trained if need be."""
        self.estimator_ = self.models.trained(self.estimator, X, y)
        self.classes_ = self.estimator_.classes_
        return self

    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the kept model."""
        return self.estimator_.predict_proba(X)

    def predict(self, X: Any) -> Any:
        """Labels of the kept model."""
        return self.estimator_.predict(X)
