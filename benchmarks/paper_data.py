"""The paper's data as the published checks use them, read from a folder (AUCROSS_DATA, by default ../shared/data)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier
from sklearn.model_selection import train_test_split

FOLDER = Path(os.environ.get("AUCROSS_DATA", Path(__file__).parents[2] / "shared" / "data"))
COVERAGES = (0.99, 0.95, 0.90, 0.85, 0.80, 0.75)
NAMES = ("Adult", "UCICredit", "GiveMe")

# One thread: with two, LightGBM's waiting threads take up to twenty times as long when the machine has other work.
BASE_MODEL = LGBMClassifier(random_state=42, n_jobs=1, verbose=-1)


class Split(NamedTuple):
    """Training and test rows of one data set."""

    X_train: Any
    X_test: Any
    y_train: np.ndarray
    y_test: np.ndarray


def load(name: str, seed: int = 42) -> Split:
    """Read one data set; UCICredit and GiveMe are split at random, Adult comes split."""
    if not FOLDER.is_dir():
        raise SystemExit(f"no data in {FOLDER}: set AUCROSS_DATA to the folder with the paper's data sets")
    if name == "Adult":
        return _adult()
    frame = pd.read_parquet(FOLDER / f"{name.lower()}.parquet")
    y = frame.pop("target").to_numpy()
    return Split(*train_test_split(frame, y, test_size=0.25, stratify=y, random_state=seed))


def splits(name: str, count: int) -> Iterator[tuple[int, Split]]:
    """Several random splits with their seeds; for Adult the given split with several fold seeds."""
    for seed in range(count):
        yield seed, load(name, seed)


def _adult() -> Split:
    train, test = (pd.read_parquet(FOLDER / f"adult_{part}.parquet") for part in ("train", "test"))
    y_train, y_test = train.pop("target").to_numpy(), test.pop("target").to_numpy()
    both = pd.get_dummies(pd.concat((train, test)), dtype=float)
    # LightGBM does not accept the characters of JSON in column names.
    both.columns = both.columns.str.replace(r"[^0-9A-Za-z_-]", "_", regex=True)
    return Split(both.iloc[: len(train)], both.iloc[len(train) :], y_train, y_test)
