"""Reading tables, checking that they are the ones expected, and encoding their categories."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from experiments.datasets.files import DataFileError

TARGET = "target"


@dataclass(frozen=True)
class Expected:
    """What the rows of one file are known to be, with the SHA-256 of :func:`content_checksum` where it is known."""

    rows: int
    positives: int
    checksum: str | None = None

    def check(self, frame: pd.DataFrame, path: Path) -> None:
        """Refuse rows that are not the expected ones."""
        found = {"rows": len(frame), "positives": int(frame[TARGET].sum())}
        for what, number in found.items():
            if number != getattr(self, what):
                raise DataFileError(path, f"must hold {getattr(self, what):,} {what}, found {number:,}")
        if self.checksum and (checksum := content_checksum(frame)) != self.checksum:
            raise DataFileError(path, f"must hold rows with the SHA-256 {self.checksum}, found {checksum}")


def check_columns(found: Iterable[object], needed: Sequence[str], path: Path) -> None:
    """Refuse a table that lacks columns, naming them."""
    there = set(found)
    if missing := [column for column in needed if column not in there]:
        raise DataFileError(path, f"lacks the columns {', '.join(missing)}")


def check_labels(labels: pd.Series, path: Path) -> None:
    """Refuse a column of labels that are not 0 and 1, naming some."""
    others = labels[~labels.isin([0, 1])]
    if len(others):
        some = ", ".join(map(repr, others.drop_duplicates().head(5).tolist()))
        raise DataFileError(path, f"must hold 0 or 1 in the column {labels.name}, found {some}")


def content_checksum(frame: pd.DataFrame) -> str:
    """SHA-256 of a table as comma-separated text, which is the same whatever file it came from.

    For tables of text and whole numbers only: floats need not survive the way through another format.
    """
    whole = frame.astype(dict.fromkeys(frame.select_dtypes("number"), "int64"))
    return hashlib.sha256(whole.to_csv(index=False, lineterminator="\n").encode()).hexdigest()


def pop_target(frame: pd.DataFrame) -> NDArray[np.int64]:
    """Take the labels out of a table."""
    return frame.pop(TARGET).to_numpy(dtype=np.int64)


def one_hot(frame: pd.DataFrame, *, drop_first: bool = False) -> pd.DataFrame:
    """Turn columns of text into one column of 0 and 1 per category, all 0 where the value is missing.

    With `drop_first` the first category of each column without missing values is left out.
    """
    text = [column for column in frame if not pd.api.types.is_numeric_dtype(frame[column])]
    # Without its first category a column of zeros could not be told from a missing value.
    complete = [column for column in text if drop_first and not frame[column].isna().any()]
    encoded = pd.get_dummies(frame, columns=complete, drop_first=True, dtype="int8")
    encoded = pd.get_dummies(encoded, columns=[column for column in text if column not in complete], dtype="int8")
    # LightGBM does not accept the characters of JSON in column names.
    encoded.columns = encoded.columns.str.replace(r"[^0-9A-Za-z_-]", "_", regex=True)
    return encoded
