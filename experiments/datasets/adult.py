"""Adult: income above 50,000 dollars, from the census of 1994."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from experiments.datasets.dataset import Dataset
from experiments.datasets.files import Rows, Source, SourceFile, locate
from experiments.datasets.tables import TARGET, Expected, one_hot, pop_target

NAME = "Adult"
COLUMNS = (
    *("age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship"),
    *("race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country"),
)
PAPER_COLUMNS = (
    *("age", "education-num", "capital-gain", "capital-loss", "hours-per-week"),
    *("workclass", "education", "marital-status", "occupation", "relationship"),
)

# Rows without missing values of adult.data and adult.test.
EXPECTED = (Expected(30_162, 7_508), Expected(15_060, 3_700))
_ADDRESS = "https://archive.ics.uci.edu/ml/machine-learning-databases/adult/"
_ORIGIN = "UCI repository, 'Adult' (Becker and Kohavi 1996, doi:10.24432/C5XW20)"


def load_adult(*, features: Literal["paper", "all"] = "paper") -> Dataset:
    """Load Adult: who, in the US census of 1994, earns more than 50,000 dollars a year.

    Rows with a missing value are left out, as in the paper; the test rows are those of ``adult.test``. The paper's ten
    columns become 55 one-hot; "all" adds fnlwgt, race, sex and native-country.
    """
    found = locate(NAME, SOURCES)
    rows: Rows = found.read()
    X = one_hot(rows.X[list(PAPER_COLUMNS if features == "paper" else COLUMNS)])
    differences = () if features == "paper" else ("The paper uses ten of these fourteen columns.",)
    return Dataset(NAME, X, rows.y, rows.is_test, found.source.origin, differences)


def _read_uci(paths: tuple[Path, ...]) -> Rows:
    tables = [_parse(path) for path in paths]
    for table, path, expected in zip(tables, paths, EXPECTED, strict=True):
        expected.check(table, path)
    return _join(tables)


def _parse(path: Path) -> pd.DataFrame:
    # Commas are followed by spaces and missing values are question marks. adult.test starts with the line "|1x3 Cross
    # validator" and puts a full stop behind each label.
    table = pd.read_csv(path, names=[*COLUMNS, TARGET], skipinitialspace=True, na_values="?", comment="|")
    table = table.dropna(ignore_index=True)
    table[TARGET] = table[TARGET].str.startswith(">50K").astype("int64")
    return table


def _read_copy(paths: tuple[Path, ...]) -> Rows:
    return _join([pd.read_parquet(path) for path in paths])


def _join(tables: list[pd.DataFrame]) -> Rows:
    both = pd.concat(tables, ignore_index=True)
    return Rows(both, pop_target(both), np.arange(len(both)) >= len(tables[0]))


SOURCES = (
    Source(
        (
            SourceFile("adult.data", "md5:5d7c39d7b8804f071cdd1f2a7c460872", f"{_ADDRESS}adult.data"),
            SourceFile("adult.test", "md5:35238206dfdf7f1fe215bbb874adecdc", f"{_ADDRESS}adult.test"),
        ),
        _read_uci,
        f"adult.data and adult.test of the {_ORIGIN}",
    ),
    Source(
        (
            SourceFile(
                "adult_train.parquet", "sha256:ff6eb05a6d16c2f8d8a5924e93d6c0f085582f80e159ebae3d046848993eb296"
            ),
            SourceFile("adult_test.parquet", "sha256:55f6b073e37a826a0ffffd3bad27efe43488514e017160ed05dd305bd5456832"),
        ),
        _read_copy,
        f"adult_train.parquet and adult_test.parquet, from the {_ORIGIN}",
    ),
)
