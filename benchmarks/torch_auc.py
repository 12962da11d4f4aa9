"""AUC at full coverage of the networks, each trained within ten minutes on two cores.

    python -m benchmarks.torch_auc [adult] [cifar] [cats]

The paper's data from AUCROSS_DATA, training and test rows as given; seed 0. Adult: ResNet with its default sizes on the
raw columns. CIFAR-10-cat and CatsVsDogs: VGG16 at a quarter of its width, one-cycle schedule and flips, the epochs of
`experiments/networks/budgets.py`.
"""

from __future__ import annotations

import sys
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

from aucross.torch import ResNetClassifier, VGGClassifier
from benchmarks.paper_data import FOLDER
from experiments.datasets import load_cats_vs_dogs, load_cifar10_cat

MINUTES = 10
WANTED = {"adult": 0.905, "cifar": 0.915, "cats": 0.97}

NARROW: dict[str, Any] = {
    "width": 0.25,
    "schedule": "one-cycle",
    "weight_decay": 5e-4,
    "augment": "flip",
    "verbose": 1,
    "random_state": 0,
}
NETWORKS: dict[str, Any] = {
    "adult": ResNetClassifier(max_epochs=8, schedule="one-cycle", random_state=0),
    "cifar": VGGClassifier(max_epochs=10, half_size_epochs=3, **NARROW),
    "cats": VGGClassifier(max_epochs=8, half_size_epochs=4, **NARROW),
}


def rows_of(name: str) -> tuple[Any, np.ndarray, Any, np.ndarray]:
    if name == "adult":
        train, test = (pd.read_parquet(FOLDER / f"adult_{part}.parquet") for part in ("train", "test"))
        y, y_test = (part.pop("target").to_numpy() for part in (train, test))
        return train, y, test, y_test
    data = load_cifar10_cat() if name == "cifar" else load_cats_vs_dogs()
    X, X_test, y, y_test = data.split()
    return X, y, X_test, y_test


def main(names: list[str] | None = None) -> None:
    missed = []
    for name in names or list(NETWORKS):
        X, y, X_test, y_test = rows_of(name)
        start = perf_counter()
        network = NETWORKS[name].fit(X, y)
        minutes = (perf_counter() - start) / 60
        auc = roc_auc_score(y_test, network.predict_proba(X_test)[:, 1])
        print(f"{name}: AUC {auc:.4f} (wanted {WANTED[name]:.3f}), {len(y):,} rows, {minutes:.1f} minutes of training")
        missed += [name] if auc < WANTED[name] or minutes > MINUTES else []
    if missed:
        raise SystemExit(f"missed: {', '.join(missed)}")


if __name__ == "__main__":
    main(sys.argv[1:])
