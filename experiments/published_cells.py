"""The figures that the paper prints, in one long table."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from experiments.methods import LEARNT
from experiments.protocol import IMAGE_LOADERS

FOLDER = Path(__file__).parent / "published"
KEYS = ["table", "dataset", "target_coverage", "method", "classifier", "n_splits", "metric"]
# Tables 3 to 5 do not name the base classifier of tabular data, Table 10 neither that nor the method.
DEFAULTS = {"classifier": "LightGBM", "method": "AUCross", "n_splits": 5}


def published_cells() -> pd.DataFrame:
    """One row per printed figure: the keys of a cell, ``paper_mean`` and ``paper_sd``."""
    tables = pd.concat(
        [_oracle(), *(_table(path) for path in sorted(FOLDER.glob("*.csv")) if "table2" not in path.name)]
    )
    return tables[[*KEYS, "paper_mean", "paper_sd"]].reset_index(drop=True)


def _table(path: Path) -> pd.DataFrame:
    frame = pd.read_csv(path).rename(columns={"mean": "paper_mean", "std": "paper_sd", "seconds": "paper_mean"})
    if "metric" not in frame:
        frame["metric"] = "seconds"
    return _with_defaults(frame, path)


def _oracle() -> pd.DataFrame:
    path = next(FOLDER.glob("table2*"))
    frame = pd.read_csv(path).rename(columns={"deviation": "paper_mean"}).assign(metric="grid_oracle_deviation")
    return _with_defaults(frame, path)


def _with_defaults(frame: pd.DataFrame, path: Path) -> pd.DataFrame:
    number = int(path.name.removeprefix("table").split("_")[0])
    missing = {name: value for name, value in DEFAULTS.items() if name not in frame}
    frame = frame.assign(table=number, **missing).reindex(columns=[*KEYS, "paper_mean", "paper_sd"])
    # Of networks the appendix says it: the body of SelNet and SAT for tables, and of every method for images.
    frame.loc[frame["method"].isin(LEARNT), "classifier"] = "ResNet"
    frame.loc[frame["dataset"].isin(list(IMAGE_LOADERS)), "classifier"] = "VGG16"
    return frame
