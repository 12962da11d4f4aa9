"""The rows given to `fit`: cut with everything that belongs to them, and handed to a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator

from aucross.core.missing import numbers_of_units
from aucross.core.ranking import FloatArray, IndexArray
from aucross.estimators.copies import common_rows
from aucross.estimators.row_hash import Hashes, hash_rows
from aucross.estimators.text_columns import explained
from aucross.estimators.types import Classifier, Column, Labels, Table
from aucross.estimators.untrained import untrained_copy
from aucross.frames import take_rows


@dataclass(frozen=True)
class TrainingRows:
    """The rows given to `fit`, and what is cut along with them.

    `groups` are rows that belong together and stay on one side of every split; each of `band_groups` gets a band.
    `sample_weight` counts in the ranking and in the coverage; what a model is trained with is in `fit_params`.
    """

    X: Table
    y: NDArray[Any]
    classes: Labels
    sample_weight: FloatArray | None = None
    groups: Column = None
    band_groups: Labels | None = None
    fit_params: Mapping[str, Any] = field(default_factory=dict)

    @property
    def labels(self) -> IndexArray:
        """Number of each row's class, in the order of `classes`."""
        order = np.argsort(self.classes)
        return order[np.searchsorted(self.classes[order], self.y)]

    @cached_property
    def units(self) -> IndexArray | None:
        """Number of each row's group; None if every row stands for itself."""
        return None if self.groups is None else numbers_of_units(self.groups, len(self.y))

    @cached_property
    def hashes(self) -> Hashes:
        """A hash of each row."""
        return hash_rows(self.X)

    @cached_property
    def common_rows(self) -> IndexArray:
        """Rows with many copies."""
        return common_rows(self.hashes)

    def take(self, rows: IndexArray) -> TrainingRows:
        """Return some of the rows with all that belongs to them, except the arguments of a model's fit."""
        return TrainingRows(
            take_rows(self.X, rows),
            self.y[rows],
            self.classes,
            None if self.sample_weight is None else self.sample_weight[rows],
            None if self.groups is None else take_rows(self.groups, rows),
            None if self.band_groups is None else self.band_groups[rows],
        )

    def train(self, estimator: Classifier, rows: IndexArray | None = None) -> Any:
        """Train a clone of `estimator` on the given rows, all by default."""
        model = untrained_copy(estimator, self.classes)
        if rows is None:
            return self._fit_model(model, self.X, self.y, self.fit_params)
        missing = np.setdiff1d(self.classes, self.y[rows])
        if len(missing) and not isinstance(model, FrozenEstimator):
            raise ValueError(
                f"every training part of cv must hold all classes, got one of {len(rows)} rows without "
                f"{missing.tolist()}; pass other splits or groups, or fewer folds"
            )
        params = {name: self._cut(value, rows) for name, value in self.fit_params.items()}
        return self._fit_model(model, take_rows(self.X, rows), self.y[rows], params)

    def _fit_model(self, model: Any, X: Table, y: NDArray[Any], params: Mapping[str, Any]) -> Any:
        try:
            return model.fit(X, y, **params)
        except Exception as error:
            clearer = self._explained(error, model)
            if clearer is None:
                raise
            raise clearer from error

    def _explained(self, error: Exception, model: Any) -> Exception | None:
        """Return a clearer error than the model's; None if there is none."""
        return explained(error, "classifier", model, self.X)

    def _cut(self, value: Any, rows: IndexArray) -> Any:
        """Cut a fit parameter if it has one element per row (scikit-learn's rule)."""
        return take_rows(value, rows) if _count_elements(value) == len(self.y) else value


def check_class_sizes(training: TrainingRows, *, at_least: int, reason: str, remedy: str) -> None:
    """Refuse classes with too few rows."""
    counts = [int(np.sum(training.y == label)) for label in training.classes]
    rarest = int(np.argmin(counts))
    if counts[rarest] < at_least:
        raise ValueError(
            f"every class must have at least {at_least} rows because {reason}; class "
            f"{training.classes.tolist()[rarest]!r} has {counts[rarest]} (X has {_shape_of(training.X)}); {remedy}"
        )


def _shape_of(X: Table) -> str:
    names = ("n_samples", "n_features")
    return ", ".join(f"{name}={size}" for name, size in zip(names, np.shape(X), strict=False))


def _count_elements(value: Any) -> int | None:
    """Return the length of anything that can be cut with the rows; None for single values, text and mappings."""
    if isinstance(value, str | Mapping) or not hasattr(value, "__getitem__"):
        return None
    if hasattr(value, "shape"):
        return value.shape[0] if value.shape else None  # numpy's single values have an empty shape
    return len(value) if hasattr(value, "__len__") else None
