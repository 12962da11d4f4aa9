"""The paper's data as the published checks use them, read from a folder (AUCROSS_DATA, by default ../shared/data)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from lightgbm import LGBMClassifier

from experiments.datasets import Dataset, Split, load_adult, load_giveme, load_ucicredit

FOLDER = Path(os.environ.get("AUCROSS_DATA", Path(__file__).parents[2] / "shared" / "data"))
if FOLDER.is_dir():
    os.environ["AUCROSS_DATA"] = str(FOLDER)  # where the loaders look
COVERAGES = (0.99, 0.95, 0.90, 0.85, 0.80, 0.75)

# All columns, where the paper's own tables (see experiments/) have a choice and derived ones.
LOADERS = {
    "Adult": lambda: load_adult(features="all"),
    "UCICredit": load_ucicredit,
    "GiveMe": lambda: load_giveme(features="raw"),
}
NAMES = tuple(LOADERS)

# One thread: with two, LightGBM's waiting threads take up to twenty times as long when the machine has other work.
BASE_MODEL = LGBMClassifier(random_state=42, n_jobs=1, verbose=-1)


def load(name: str, seed: int = 42) -> Split:
    """Read one data set; UCICredit and GiveMe are split at random, Adult comes split."""
    return _dataset(name).split(seed)


def splits(name: str, count: int) -> Iterator[tuple[int, Split]]:
    """Several random splits with their seeds; for Adult the given split with several fold seeds."""
    for seed in range(count):
        yield seed, load(name, seed)


@lru_cache(maxsize=1)
def _dataset(name: str) -> Dataset:
    if not FOLDER.is_dir():
        raise SystemExit(f"no data in {FOLDER}: set AUCROSS_DATA to the folder with the paper's data sets")
    return LOADERS[name]()
