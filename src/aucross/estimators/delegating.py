"""What a classifier takes over from the model inside it: the features that it saw and the methods that it has."""

from __future__ import annotations

from typing import Any

from aucross.estimators.types import Classifier, Labels


class Delegating:
    """Base of classifiers around a model, fitted as ``estimator_``."""

    estimator: Classifier

    @property
    def n_features_in_(self) -> int:
        """Number of features that the fitted model saw."""
        return self._seen("n_features_in_")

    @property
    def feature_names_in_(self) -> Labels:
        """Names of the features that the fitted model saw, where it knows them."""
        return self._seen("feature_names_in_")

    def _seen(self, name: str) -> Any:
        if (model := self._fitted_model()) is None:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r} before fit")
        return getattr(model, name)

    def _fitted_model(self) -> Any:
        """The model inside, None before the fit."""
        return getattr(self, "estimator_", None)


def model_offers(name: str) -> Any:
    """Condition for a delegated method: the model, fitted if it is, has it."""

    def check(self: Delegating) -> bool:
        model = self._fitted_model()
        getattr(self.estimator if model is None else model, name)
        return True

    return check
