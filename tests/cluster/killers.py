"""Models that kill the worker which runs them, once: a worker unpickles them from here."""

from __future__ import annotations

import os
import signal

from sklearn.ensemble import GradientBoostingClassifier
from xgboost.callback import TrainingCallback


def kill_once(mark: str, driver: int) -> None:
    """Kill this process, unless it is the driver or one was killed before."""
    if os.getpid() == driver or os.path.exists(mark):
        return
    with open(mark, "x"):
        os.kill(os.getpid(), signal.SIGKILL)


class KilledWhileScoring(GradientBoostingClassifier):
    """Scores like the model that it is made from, but for the first worker."""

    def predict_proba(self, X):
        kill_once(self.mark, self.driver)
        return super().predict_proba(X)


class KilledWhileTraining(TrainingCallback):
    """Kills the first worker that has grown three trees."""

    def __init__(self, mark: str, driver: int) -> None:
        super().__init__()
        self.mark, self.driver = mark, driver

    def after_iteration(self, model, epoch, evals_log) -> bool:
        if epoch == 2:
            kill_once(self.mark, self.driver)
        return False
