"""Models that answer from stored scores, so that methods are fitted through the public interface without training.

Rows are given by their numbers, as the only column of X; test rows follow the training rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import joblib
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from aucross.core import RankedScores, ThresholdBands
from experiments.datasets import Split
from experiments.networks.outputs import Scored, read_scores
from experiments.networks.trainings import Training, rows_of


def numbered(split: Split) -> Split:
    """The same rows by their numbers."""
    numbers = np.arange(len(split.y_train) + len(split.y_test))[:, None]
    n_train = len(split.y_train)
    return split._replace(X_train=numbers[:n_train], X_test=numbers[n_train:])


class Recordings:
    """Stored scores by the rows that the model was trained on.

    Parameters
    ----------
    trainings : iterable of Training
        Finished trainings, no two on the same rows.
    """

    def __init__(self, trainings: Iterable[Training]) -> None:
        self._scored: dict[str, Scored] = {}
        for training in trainings:
            key = _key(training.parts[0])
            if key in self._scored:
                raise ValueError(f"two trainings on the same rows cannot be told apart: {training}")
            self._scored[key] = read_scores(training.folder)

    # scikit-learn's clone copies every parameter; there is nothing to change in these.
    def __deepcopy__(self, _memo: dict[int, Any]) -> Self:
        return self

    def trained_on(self, rows: np.ndarray) -> Scored:
        """Scores of the model that was trained on these rows."""
        key = _key(rows)
        if key not in self._scored:
            raise LookupError(f"no stored model was trained on these {len(rows):,} rows")
        return self._scored[key]


def _key(rows: np.ndarray) -> str:
    return joblib.hash(np.sort(rows).astype(np.int64))


class Replay(ClassifierMixin, BaseEstimator):
    """A classifier whose fit finds the stored scores of a model that was trained on the same rows.

    Parameters
    ----------
    recordings : Recordings
        The stored scores.
    """

    def __init__(self, recordings: Recordings) -> None:
        self.recordings = recordings

    def fit(self, X: np.ndarray, y: np.ndarray) -> Self:
        """Find the model of these rows."""
        self.scored_ = self.recordings.trained_on(X[:, 0])
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Stored probabilities."""
        positive = values_at(self.scored_.rows, self.scored_.probability, X[:, 0])
        return np.column_stack((1 - positive, positive))

    def predict(self, X: np.ndarray) -> np.ndarray:
        """The more probable class."""
        return self.classes_[(self.predict_proba(X)[:, 1] > 0.5).astype(int)]


def values_at(rows: np.ndarray, values: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Values of some of the rows that have one."""
    order = np.argsort(rows)
    places = order[np.minimum(np.searchsorted(rows, wanted, sorter=order), len(rows) - 1)]
    if (missing := rows[places] != wanted).any():
        raise LookupError(f"{int(missing.sum()):,} of {len(wanted):,} rows have no stored score")
    return values[places]


class LearntSelection:
    """A network that says itself which rows to reject, from its stored scores: a threshold placed on held-out rows.

    Parameters
    ----------
    training : Training
        The finished training of the network.
    """

    def __init__(self, training: Training) -> None:
        self._scored = read_scores(training.folder)
        y_train = rows_of(training.dataset, training.budget).y_train
        is_held_out = self._scored.rows < len(y_train)
        held, selection = self._scored.rows[is_held_out], self._scored.selection[is_held_out]
        # The threshold is a quantile; which label a row has does not matter.
        self._bands = ThresholdBands(RankedScores.from_labels(y_train[held] == 1, selection))

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Stored probabilities."""
        positive = values_at(self._scored.rows, self._scored.probability, X[:, 0])
        return np.column_stack((1 - positive, positive))

    def select(self, X: np.ndarray, coverage: float) -> np.ndarray:
        """Rows above the threshold of a coverage."""
        return self._bands.band(coverage).selects(values_at(self._scored.rows, self._scored.selection, X[:, 0]))
