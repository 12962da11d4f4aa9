"""Models for the tests on a cluster; in a module of their own, which workers import."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from xgboost.callback import TrainingCallback

from aucross.core import RankedScores


class CountingClassifier(ClassifierMixin, BaseEstimator):
    """The share of positives in each cell of two columns of small integers: the same in whatever order rows come."""

    def fit(self, X, y, sample_weight=None):
        cells, weight = self._cells(X), np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight)
        self.classes_ = np.unique(y)
        is_positive = np.asarray(y) == self.classes_[1]
        self.positives_ = np.bincount(cells, weights=weight * is_positive, minlength=4096)
        self.total_ = np.bincount(cells, weights=weight, minlength=4096)
        return self

    def predict_proba(self, X):
        cells = self._cells(X)
        share = (self.positives_[cells] + 0.2) / (self.total_[cells] + 1.0)
        positive = share.astype(np.float32).astype(np.float64)
        return np.column_stack((1.0 - positive, positive))

    def predict(self, X):
        return self.classes_[(self.predict_proba(X)[:, 1] > 0.5).astype(int)]

    @staticmethod
    def _cells(X):
        rows = np.asarray(X).astype(np.int64)
        return rows[:, 0] * 64 + rows[:, 1]


def kill_this_worker_at(call: int, folder: str) -> None:
    """End the process that runs this, for good, the given time that somebody calls; other calls pass."""
    for number in range(1, call + 1):
        try:
            os.close(os.open(Path(folder) / str(number), os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            continue
        if number == call:
            os.kill(os.getpid(), signal.SIGKILL)
        return


class KillsItsWorker(CountingClassifier):
    """Ends the worker that runs it, once, at a call of a method."""

    def __init__(self, method="predict_proba", call=1, folder=""):
        self.method = method
        self.call = call
        self.folder = folder

    def fit(self, X, y, sample_weight=None):
        if self.method == "fit":
            kill_this_worker_at(self.call, self.folder)
        return super().fit(X, y, sample_weight)

    def predict_proba(self, X):
        if self.method == "predict_proba":
            kill_this_worker_at(self.call, self.folder)
        return super().predict_proba(X)


def rank_part(part, _sent):
    """Rank rows that hold a score and a label."""
    return RankedScores.from_labels(part.X["positive"], part.X["score"])


class KillsWhileMerging:
    """Merges rankings; ends the worker that does so, once."""

    def __init__(self, call, folder):
        self.call = call
        self.folder = folder

    def __call__(self, parts):
        kill_this_worker_at(self.call, self.folder)
        return RankedScores.merge(parts)


class KillsInTraining(TrainingCallback):
    """Ends a worker while XGBoost trains: once, or each time."""

    def __init__(self, folder, times=1):
        super().__init__()
        self.folder = folder
        self.times = times

    def after_iteration(self, model, epoch, evals_log):
        if epoch == 2:
            for number in range(self.times):
                kill_this_worker_at(1, f"{self.folder}/{number}")
        return False


class KillingObjective:
    """The logistic loss; ends a worker while LightGBM trains, once. A copy is itself, so that it can be cloned."""

    def __init__(self, folder):
        self.folder = folder

    def __call__(self, y_true, y_pred):
        kill_this_worker_at(3, self.folder)
        probability = 1.0 / (1.0 + np.exp(-y_pred))
        return probability - y_true, probability * (1.0 - probability)

    def __deepcopy__(self, _memo):
        return self
