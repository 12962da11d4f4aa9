"""Columns for models: categories, or one column per category, under names that every library accepts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

from aucross.datasets.tables import load_pandas

if TYPE_CHECKING:
    import pandas as pd

Encoding = Literal["one-hot", "categories"]


def check_option(value: object, name: str, options: Iterable[object]) -> None:
    """Refuse a value that is not among the options of a parameter."""
    allowed = list(options)
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}")


def encode(frame: pd.DataFrame, encoding: Encoding, *, drop_first: bool = False) -> pd.DataFrame:
    """Turn columns of text into categories or into one column per category.

    Parameters
    ----------
    frame : DataFrame
        Numbers and text.
    encoding : {"one-hot", "categories"}
        Columns of 0 and 1 (int8), all 0 where the value is missing; or pandas categories.
    drop_first : bool, default=False
        Leave out the first category of each column without missing values when encoding one-hot.

    Returns
    -------
    DataFrame
        With names free of the characters that LightGBM refuses in the one-hot columns; categories keep their names.
    """
    check_option(encoding, "encoding", ("one-hot", "categories"))
    pandas = load_pandas()
    text = [column for column in frame if not pandas.api.types.is_numeric_dtype(frame[column])]
    if encoding == "categories":
        return frame.astype(dict.fromkeys(text, "category"))
    # Without its first category a column of zeros could not be told from a missing value.
    complete = [column for column in text if drop_first and not frame[column].isna().any()]
    encoded: pd.DataFrame = pandas.get_dummies(frame, columns=complete, drop_first=True, dtype="int8")
    encoded = pandas.get_dummies(encoded, columns=[column for column in text if column not in complete], dtype="int8")
    # LightGBM does not accept the characters of JSON in column names.
    encoded.columns = encoded.columns.str.replace(r"[^0-9A-Za-z_-]", "_", regex=True)
    if not encoded.columns.is_unique:
        raise ValueError("two categories get the same column name; pass encoding='categories'")
    return encoded
