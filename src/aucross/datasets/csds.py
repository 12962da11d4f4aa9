"""CSDS1, CSDS2 and CSDS3: credit scoring data of Barddal et al. (2020), which their authors give out on request."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from aucross.datasets.damage import DataFileError
from aucross.datasets.dataset import Dataset
from aucross.datasets.encoding import Encoding, check_option, encode
from aucross.datasets.paper import TABLE_1, PaperFigures
from aucross.datasets.sources import Rows, Source, SourceFile, locate
from aucross.datasets.tables import TARGET, check_columns, check_labels, load_pandas, pop_target, read_parquet

if TYPE_CHECKING:
    import pandas as pd

TIMESTAMP = "timestamp"
NUMBERS = (1, 2, 3)

_ORIGIN = (
    "Barddal, Loezer, Enembreck and Lanzuolo 2020, 'Lessons learned from data stream classification applied to "
    "credit scoring', Expert Systems with Applications 162; on request from its authors"
)
_LICENCE = "given out on request: not to be passed on"


def load_csds(
    number: int,
    *,
    encoding: Encoding = "one-hot",
    data_home: str | Path | None = None,
    download: bool = True,
    progress: bool | None = None,
) -> Dataset:
    """Load one of CSDS1, CSDS2 and CSDS3: which borrowers default.

    The file ``CSDS1.parquet`` or ``CSDS1.csv`` must hold a column ``target`` of 0 and 1, a column ``timestamp`` that
    can be sorted, and the features in all other columns. The test rows are those with the latest timestamps, as many
    as in Table 1 of the paper.

    Parameters
    ----------
    number : {1, 2, 3}
        Which of the three.
    encoding : {"one-hot", "categories"}, default="one-hot"
        What becomes of columns of text: one column per category, or pandas categories.
    data_home : path-like, default=None
        Cache folder; None for :func:`~aucross.datasets.data_home`. The folder of AUCROSS_DATA comes first.
    download : bool, default=True
        Has no effect: the file has to be asked for and placed by hand.
    progress : bool, default=None
        Has no effect, as nothing is downloaded.

    Returns
    -------
    Dataset
    """
    check_option(number, "number", NUMBERS)
    name = f"CSDS{number}"
    found = locate(name, _sources(name), home=data_home, download=download, progress=progress)
    rows: Rows = found.read()
    X = encode(rows.X, encoding)
    features = TABLE_1[name].features
    differences = () if str(X.shape[1]) == features else (f"{X.shape[1]} features; the paper has {features}.",)
    return Dataset(name, X, rows.y, rows.is_test, found.source.origin, found.source.licence, differences)


def _sources(name: str) -> tuple[Source, ...]:
    return tuple(
        Source((SourceFile(file),), partial(_read, paper=TABLE_1[name]), f"{file} ({_ORIGIN})", _LICENCE)
        for file in (f"{name}.parquet", f"{name}.csv")
    )


def _read(paths: tuple[Path, ...], *, paper: PaperFigures) -> Rows:
    path = paths[0]
    frame = read_parquet(path) if path.suffix == ".parquet" else load_pandas().read_csv(path)
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
        problem = f"must have no missing values in the column {TIMESTAMP}, found {missing:,}"
        raise DataFileError(path, problem, "fill them in or replace the file")


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
