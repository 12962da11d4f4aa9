"""Table 1 from the loaders: what the paper prints, what is here, and what differs."""

from __future__ import annotations

from typing import Any

import pandas as pd

from aucross.datasets import PAPER_DATASETS, TABLE_1, load_dataset, summarize
from experiments import protocol

COLUMNS = [
    *("dataset", "features", "n_train", "n_test", "positive_rate"),
    *("paper_features", "paper_n_train", "paper_n_test", "paper_positive_rate", "differences"),
]


def data_table() -> pd.DataFrame:
    """One row per data set of Table 1 and per variant of ours; what is not here has the paper's figures alone."""
    return pd.DataFrame([_row(name) for name in dict.fromkeys([*PAPER_DATASETS, *protocol.DATASETS])], columns=COLUMNS)


def _row(name: str) -> dict[str, Any]:
    paper = TABLE_1[name]._asdict() if name in TABLE_1 else {}
    row = {"dataset": name} | {f"paper_{key}": value for key, value in paper.items()}
    try:
        summary = summarize(protocol.load(name) if name in protocol.DATASETS else load_dataset(name, download=False))
    except OSError:
        return row | {"differences": "Not available here."}
    ours = {key: summary[key] for key in COLUMNS[1:5]}
    return row | ours | {"differences": " ".join(summary["differences"])}
