"""Table 1 from the loaders: what the paper prints, what is here, and what differs."""

from __future__ import annotations

from typing import Any

import pandas as pd

from aucross.datasets import PAPER_DATASETS, load_dataset, summarize
from aucross.datasets.paper import TABLE_1

COLUMNS = [
    *("dataset", "features", "n_train", "n_test", "positive_rate"),
    *("paper_features", "paper_n_train", "paper_n_test", "paper_positive_rate", "differences"),
]


def data_table() -> pd.DataFrame:
    """One row per data set of Table 1; those that are not here have the paper's figures alone."""
    return pd.DataFrame([_row(name) for name in PAPER_DATASETS], columns=COLUMNS)


def _row(name: str) -> dict[str, Any]:
    paper = {f"paper_{key}": value for key, value in TABLE_1[name]._asdict().items()}
    try:
        summary = summarize(load_dataset(name, download=False))
    except FileNotFoundError:
        return {"dataset": name, **paper, "differences": "not available here"}
    return {**summary, "dataset": name, "differences": " ".join(summary["differences"])}
