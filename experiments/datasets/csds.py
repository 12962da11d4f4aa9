"""CSDS1, CSDS2 and CSDS3: credit scoring data of Barddal et al. (2020), which their authors give out on request."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from experiments.datasets.dataset import Dataset
from experiments.datasets.files import DataFileError, Rows, Source, SourceFile, locate
from experiments.datasets.paper import TABLE_1, PaperFigures
from experiments.datasets.tables import TARGET, check_columns, check_labels, one_hot, pop_target

TIMESTAMP = "timestamp"

_ORIGIN = (
    "Barddal, Loezer, Enembreck and Lanzuolo 2020, 'Lessons learned from data stream classification applied to "
    "credit scoring', Expert Systems with Applications 162; on request from its authors"
)


def load_csds(number: int) -> Dataset:
    """Load CSDS1, CSDS2 or CSDS3: which borrowers default.

    The file ``CSDS1.parquet`` or ``CSDS1.csv`` must be placed by hand and hold a column ``target`` of 0 and 1, a column
    ``timestamp`` that can be sorted, and the features in all other columns. The test rows are those with the latest
    timestamps, as many as in Table 1 of the paper.
    """
    name = f"CSDS{number}"
    found = locate(name, _sources(name))
    rows: Rows = found.read()
    X = one_hot(rows.X)
    features = TABLE_1[name].features
    differences = () if str(X.shape[1]) == features else (f"{X.shape[1]} features; the paper has {features}.",)
    return Dataset(name, X, rows.y, rows.is_test, found.source.origin, differences)


def _sources(name: str) -> tuple[Source, ...]:
    return tuple(
        Source((SourceFile(file),), partial(_read, paper=TABLE_1[name]), f"{file} ({_ORIGIN})")
        for file in (f"{name}.parquet", f"{name}.csv")
    )


def _read(paths: tuple[Path, ...], *, paper: PaperFigures) -> Rows:
    path = paths[0]
    frame = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)
    check_columns(frame.columns, [TARGET, TIMESTAMP], path)
    _check_rows(frame, path, paper)
    frame = frame.sort_values(TIMESTAMP, kind="stable", ignore_index=True)
    _check_test(frame, path, paper)
    y = pop_target(frame)
    return Rows(frame.drop(columns=TIMESTAMP), y, np.arange(len(frame)) >= paper.n_train)


def _check_rows(frame: pd.DataFrame, path: Path, paper: PaperFigures) -> None:
    if len(frame) != paper.n_train + paper.n_test:
        together = f"{paper.n_train + paper.n_test:,} rows, as the paper's training and test rows together"
        raise DataFileError(path, f"must hold {together}, found {len(frame):,}")
    check_labels(frame[TARGET], path)
    if missing := int(frame[TIMESTAMP].isna().sum()):
        raise DataFileError(path, f"must have no missing values in the column {TIMESTAMP}, found {missing:,}")


def _check_test(frame: pd.DataFrame, path: Path, paper: PaperFigures) -> None:
    """The paper cut the rows at a timestamp: its sizes and positive rate show whether this is the one."""
    last, first = frame[TIMESTAMP].iloc[[paper.n_train - 1, paper.n_train]]
    if last == first:
        problem = (
            f"must have {paper.n_test:,} rows with a later {TIMESTAMP} than the others, found {first!s} on both sides"
        )
        raise DataFileError(path, problem, "take a finer or another timestamp")
    rate = frame[TARGET].iloc[paper.n_train :].mean()
    # Half a unit of the last digit that the paper prints.
    if abs(rate - paper.positive_rate) > 0.0005 + 1e-9:
        last_rows = f"positive rate of {paper.positive_rate} in the last {paper.n_test:,} rows"
        problem = f"must have the paper's {last_rows}, found {rate:.4f}"
        raise DataFileError(path, problem, f"check the columns {TARGET} and {TIMESTAMP}")
