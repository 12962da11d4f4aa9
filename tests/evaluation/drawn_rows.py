"""The rows that the tests of all displays draw."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import make_classification

X, y = make_classification(1600, n_features=6, n_informative=3, flip_y=0.3, weights=[0.7], random_state=0)
X_train, y_train, X_test, y_test = X[:800], y[:800], X[800:], y[800:]
REGION = np.array(["west", "east", "north"])[np.random.default_rng(0).integers(0, 3, 800)]
FEW = {"n_bootstrap": 20, "random_state": 0}


def labels_of(ax) -> list[str]:
    """What the legend of a picture says."""
    return ax.get_legend_handles_labels()[1]
