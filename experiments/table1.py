"""Table 1 from the loaders: what the paper prints, what is here, and what differs."""

from __future__ import annotations

from functools import partial
from typing import Any

import pandas as pd

from experiments import protocol
from experiments.datasets import TABLE_1, Dataset, load_cats_vs_dogs, load_cifar10_cat, load_csds

# Data sets that the runs of the tables leave out; a row of Table 1 is not worth a download.
NOT_RUN = {
    "CSDS1": partial(load_csds, 1),
    "CSDS2": partial(load_csds, 2),
    "CSDS3": partial(load_csds, 3),
    "CatsVsDogs": load_cats_vs_dogs,
    "CIFAR-10-cat": partial(load_cifar10_cat, download=False),
}
COLUMNS = [
    *("dataset", "features", "n_train", "n_test", "positive_rate"),
    *("paper_features", "paper_n_train", "paper_n_test", "paper_positive_rate", "differences"),
]


def data_table() -> pd.DataFrame:
    """One row per data set of Table 1 and per variant of ours; what is not here has the paper's figures alone."""
    return pd.DataFrame([_row(name) for name in dict.fromkeys([*TABLE_1, *protocol.DATASETS])], columns=COLUMNS)


def _row(name: str) -> dict[str, Any]:
    paper = TABLE_1[name]._asdict() if name in TABLE_1 else {}
    row = {"dataset": name} | {f"paper_{key}": value for key, value in paper.items()}
    try:
        return row | summary(NOT_RUN[name]() if name in NOT_RUN else protocol.load(name))
    except OSError:
        return row | {"differences": "Not available here."}


def summary(dataset: Dataset) -> dict[str, Any]:
    """Size, features and positive rate of the test rows, as Table 1 has them."""
    split, shape = dataset.split(), dataset.X.shape
    return {
        "features": str(shape[1]) if len(shape) == 2 else "x".join(map(str, shape[1:3])),
        "n_train": len(split.y_train),
        "n_test": len(split.y_test),
        "positive_rate": float(split.y_test.mean()),
        "differences": " ".join(dataset.differences),
    }
