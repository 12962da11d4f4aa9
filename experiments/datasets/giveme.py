"""GiveMe: financial distress within two years, from the Kaggle competition 'Give Me Some Credit'."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pandas as pd

from experiments.datasets.dataset import Dataset
from experiments.datasets.files import DataFileError, Rows, Source, SourceFile, locate
from experiments.datasets.tables import TARGET, Expected, check_columns, pop_target

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


def load_giveme(*, features: Literal["paper", "raw"] = "paper") -> Dataset:
    """Load GiveMe: which borrowers are in financial distress within two years.

    The paper's twelve columns have no missing values; the ten of the source ("raw") have some in MonthlyIncome and
    NumberOfDependents. Kaggle asks for an account, so ``cs-training.csv`` has to be placed by hand.

    Notes
    -----
    NOTE[DIFF]: how the paper derives its four further columns is not published; ours are in the differences.
    """
    found = locate(NAME, SOURCES)
    rows: Rows = found.read()
    X, columns = (_as_in_paper(rows.X), _DERIVED) if features == "paper" else (rows.X, _RAW)
    differences = ("The paper's random split is not published; this one is drawn with a seed of its own.", columns)
    return Dataset(NAME, X, rows.y, None, found.source.origin, differences)


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


def _read_csv(paths: tuple[Path, ...]) -> Rows:
    path = paths[0]
    # The first column numbers the rows.
    frame = pd.read_csv(path, index_col=0).reset_index(drop=True)
    check_columns(frame.columns, [LABEL, *COLUMNS], path)
    frame = frame[[LABEL, *COLUMNS]].rename(columns={LABEL: TARGET}).apply(pd.to_numeric)
    if frame[TARGET].isna().any():
        raise DataFileError(path, f"must have a {LABEL} in every row: this is cs-test.csv", "place cs-training.csv")
    EXPECTED.check(frame, path)
    return Rows(frame, pop_target(frame))


def _read_copy(paths: tuple[Path, ...]) -> Rows:
    frame = pd.read_parquet(paths[0])
    y = pop_target(frame)
    return Rows(frame[list(COLUMNS)], y)


SOURCES = (
    Source((SourceFile("cs-training.csv"),), _read_csv, f"cs-training.csv of the {_ORIGIN}"),
    Source(
        (SourceFile("giveme.parquet", "sha256:4b708d6cef5b084317e0ba50bbd2f7dd47d97a1de87c9e5345db1802699dafe1"),),
        _read_copy,
        f"giveme.parquet, from cs-training.csv of the {_ORIGIN}",
    ),
)
