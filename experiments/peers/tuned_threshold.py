"""scikit-learn's `TunedThresholdClassifierCV`: it never abstains, and is here as a reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import TunedThresholdClassifierCV

from experiments.peers.probabilities import check_coverage


@dataclass(frozen=True)
class TunedDecisionThreshold:
    """Move the threshold between the two answers to the best balanced accuracy on the held rows, and answer all rows.

    Heeds no coverage. The probabilities stay as they are, so the AUC is that of the model.
    """

    name: ClassVar[str] = "scikit-learn tuned threshold"
    library: ClassVar[str] = "scikit-learn"
    heeds_coverage: ClassVar[bool] = False

    def tune(self, model: Any, X_held: Any, y_held: ArrayLike) -> TunedThresholdClassifierCV:
        """The model with the tuned threshold."""
        tuned = TunedThresholdClassifierCV(FrozenEstimator(model), cv="prefit", refit=False)
        return tuned.fit(X_held, np.asarray(y_held))

    def select(self, model: Any, X_held: Any, y_held: ArrayLike, X_test: Any, coverage: float) -> NDArray[np.bool_]:
        """Say that every row of `X_test` gets an answer; see `Peer.select`."""
        check_coverage(coverage)
        answers = self.tune(model, X_held, y_held).predict(X_test)
        return np.ones(len(answers), dtype=bool)
