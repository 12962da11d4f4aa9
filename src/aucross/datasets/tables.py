"""Reading tables and checking that they are the ones expected."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from aucross.datasets.damage import DataFileError, parsing
from aucross.datasets.libraries import dataset_library

if TYPE_CHECKING:
    import pandas as pd

TARGET = "target"


def load_pandas() -> Any:
    """The module pandas, or an error that says which extra brings it."""
    return dataset_library("pandas", purpose="reading tables")


def read_parquet(path: Path, columns: Sequence[str] | None = None) -> pd.DataFrame:
    """Read a parquet file, or say which extra can."""
    dataset_library("pyarrow", purpose="reading parquet files")
    with parsing(path, "be a parquet file"):
        frame: pd.DataFrame = load_pandas().read_parquet(path, columns=columns)
        return frame


@dataclass(frozen=True)
class Expected:
    """What the rows of one file are known to be; None is not checked.

    Attributes
    ----------
    rows, positives : int
        Number of rows, and of rows of the positive class.
    checksum : str, default=None
        SHA-256 of the rows as :func:`content_checksum` writes them.
    """

    rows: int
    positives: int
    checksum: str | None = None

    def check(self, frame: pd.DataFrame, path: Path) -> None:
        """Refuse rows that are not the expected ones."""
        found = {"rows": len(frame), "positives": int(frame[TARGET].sum())}
        for what, number in found.items():
            if number != getattr(self, what):
                problem = f"it must hold {getattr(self, what):,} {what}, found {number:,}"
                raise DataFileError(path, f"is not the expected file: {problem}")
        if self.checksum and (checksum := content_checksum(frame)) != self.checksum:
            problem = f"the SHA-256 of its rows must be {self.checksum}, found {checksum}"
            raise DataFileError(path, f"is not the expected file: {problem}")


def check_columns(found: Iterable[object], needed: Sequence[str], path: Path) -> None:
    """Refuse a table that lacks columns, naming them."""
    there = set(found)
    missing = [column for column in needed if column not in there]
    if missing:
        raise DataFileError(path, f"is not the expected file: it lacks the columns {', '.join(missing)}")


def check_labels(labels: pd.Series, path: Path) -> None:
    """Refuse a column of labels that are not 0 and 1, naming some."""
    others = labels[~labels.isin([0, 1])]
    if len(others):
        some = ", ".join(map(repr, others.drop_duplicates().head(5).tolist()))
        problem = f"is not the expected file: the column {labels.name} must be 0 or 1, found {some}"
        raise DataFileError(path, problem, "write 1 for the positive class and 0 for the other, or replace the file")


def check_numbers(frame: pd.DataFrame, path: Path) -> None:
    """Refuse a table with columns that are not numbers, naming them."""
    others = [str(column) for column in frame if column not in frame.select_dtypes("number")]
    if others:
        problem = f"is not the expected file: the columns {', '.join(others)} must be numbers, found text"
        raise DataFileError(path, problem)


def content_checksum(frame: pd.DataFrame) -> str:
    """SHA-256 of a table as comma-separated text, which is the same whatever file it came from.

    For tables of text and whole numbers only: floats need not survive the way through another format.
    """
    whole = frame.astype(dict.fromkeys(frame.select_dtypes("number"), "int64"))
    return hashlib.sha256(whole.to_csv(index=False, lineterminator="\n").encode()).hexdigest()


def pop_target(frame: pd.DataFrame) -> NDArray[np.int64]:
    """Take the labels out of a table."""
    return frame.pop(TARGET).to_numpy(dtype=np.int64)
