"""GiveMe: financial distress within two years, from the Kaggle competition 'Give Me Some Credit'."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from aucross.datasets.damage import DataFileError
from aucross.datasets.dataset import Dataset
from aucross.datasets.encoding import check_option
from aucross.datasets.sources import Rows, Source, SourceFile, locate
from aucross.datasets.tables import (
    TARGET,
    Expected,
    check_columns,
    check_labels,
    check_numbers,
    load_pandas,
    pop_target,
    read_parquet,
)

if TYPE_CHECKING:
    import pandas as pd

NAME = "GiveMe"
COLUMNS = (
    *("RevolvingUtilizationOfUnsecuredLines", "age", "NumberOfTime30-59DaysPastDueNotWorse", "DebtRatio"),
    *("MonthlyIncome", "NumberOfOpenCreditLinesAndLoans", "NumberOfTimes90DaysLate", "NumberRealEstateLoansOrLines"),
    *("NumberOfTime60-89DaysPastDueNotWorse", "NumberOfDependents"),
)
LABEL = "SeriousDlqin2yrs"
# The paper leaves out the two columns with missing values.
LEFT_OUT = ("MonthlyIncome", "NumberOfDependents")
RETIREMENT_AGE = 65

EXPECTED = Expected(150_000, 10_026)
_ORIGIN = "Kaggle competition 'GiveMeSomeCredit' (2011)"
_LICENCE = "Kaggle competition rules, no open licence stated: not to be passed on"


def load_giveme(
    *,
    features: Literal["paper", "raw"] = "paper",
    data_home: str | Path | None = None,
    download: bool = True,
    progress: bool | None = None,
) -> Dataset:
    """Load GiveMe: which borrowers are in financial distress within two years.

    Parameters
    ----------
    features : {"paper", "raw"}, default="paper"
        The paper's twelve columns, without missing values; or the ten of the source, of which MonthlyIncome and
        NumberOfDependents have missing values.
    data_home : path-like, default=None
        Cache folder; None for :func:`~aucross.datasets.data_home`. The folder of AUCROSS_DATA comes first.
    download : bool, default=True
        Has no effect: Kaggle asks for an account, so ``cs-training.csv`` has to be placed by hand.
    progress : bool, default=None
        Has no effect, as nothing is downloaded.

    Returns
    -------
    Dataset

    Notes
    -----
    NOTE[DIFF]: how the paper derives its four further columns is not published. Here ``isRetired`` is age >= 65,
    ``RevolvingLines`` the open credit lines and loans minus those on real estate, ``hasRevolvingLines`` whether that
    is above 0, and ``hasMultipleRealEstates`` whether there are at least two loans or lines on real estate.
    """
    check_option(features, "features", ("paper", "raw"))
    found = locate(NAME, SOURCES, home=data_home, download=download, progress=progress)
    rows: Rows = found.read()
    X, columns = (_as_in_paper(rows.X), _DERIVED) if features == "paper" else (rows.X, _RAW)
    differences = ("The paper's random split is not published; this one is drawn with a seed of its own.", columns)
    return Dataset(NAME, X, rows.y, None, found.source.origin, found.source.licence, differences)


_DERIVED = (
    "How the paper derives isRetired, RevolvingLines, hasRevolvingLines and hasMultipleRealEstates is not published; "
    "here they are age >= 65, open lines and loans minus those on real estate, whether that is above 0, and at least "
    "two loans or lines on real estate."
)
_RAW = "The paper leaves out MonthlyIncome and NumberOfDependents and adds four derived columns."


def _as_in_paper(frame: pd.DataFrame) -> pd.DataFrame:
    revolving = frame["NumberOfOpenCreditLinesAndLoans"] - frame["NumberRealEstateLoansOrLines"]
    return frame.drop(columns=list(LEFT_OUT)).assign(
        isRetired=(frame["age"] >= RETIREMENT_AGE).astype("int64"),
        RevolvingLines=revolving,
        hasRevolvingLines=(revolving > 0).astype("int64"),
        hasMultipleRealEstates=(frame["NumberRealEstateLoansOrLines"] > 1).astype("int64"),
    )


def _read_parquet(paths: tuple[Path, ...]) -> Rows:
    frame = read_parquet(paths[0])
    y = pop_target(frame)
    return Rows(frame[list(COLUMNS)], y)


def _read_csv(paths: tuple[Path, ...]) -> Rows:
    path = paths[0]
    frame: pd.DataFrame = load_pandas().read_csv(path)
    check_columns(frame.columns, [LABEL, *COLUMNS], path)
    # The first column numbers the rows.
    frame = frame[[LABEL, *COLUMNS]]
    if frame[LABEL].isna().any():
        problem = f"must have a {LABEL} in every row, found rows without: it is cs-test.csv"
        raise DataFileError(path, problem, "place cs-training.csv instead")
    check_labels(frame[LABEL], path)
    check_numbers(frame, path)
    frame = frame.rename(columns={LABEL: TARGET})
    EXPECTED.check(frame, path)
    y = pop_target(frame)
    return Rows(frame, y)


SOURCES = (
    Source(
        (SourceFile("giveme.parquet", "sha256:4b708d6cef5b084317e0ba50bbd2f7dd47d97a1de87c9e5345db1802699dafe1"),),
        _read_parquet,
        f"giveme.parquet, from cs-training.csv of the {_ORIGIN}",
        _LICENCE,
        is_copy=True,
    ),
    Source((SourceFile("cs-training.csv"),), _read_csv, f"cs-training.csv of the {_ORIGIN}", _LICENCE),
)
