"""Rows as they travel through MLflow, which knows no categories, and as a classifier was fitted on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd


@dataclass(frozen=True)
class ServedColumns:
    """Gives the columns of arriving rows the types of the fit.

    Attributes
    ----------
    categories : mapping of column to categories and whether they are ordered
        Columns of categories; they travel as what their categories are.
    band_group_column : str or None
        Column with the group of each row, if the bands were fitted per group.
    feature_names : list of str or None
        Columns that the classifier reads; the column of groups may stand beside them.
    """

    categories: Mapping[str, tuple[list[Any], bool]] = field(default_factory=dict)
    band_group_column: str | None = None
    feature_names: list[str] | None = None

    @classmethod
    def of_example(cls, example: Any, feature_names: list[str] | None, band_group_column: str | None) -> ServedColumns:
        """The reader of rows that look like an example."""
        if not isinstance(example, pd.DataFrame):
            return cls({}, band_group_column, feature_names)
        categories = {
            str(name): (column.cat.categories.tolist(), bool(column.cat.ordered))
            for name, column in example.items()
            if isinstance(column.dtype, pd.CategoricalDtype)
        }
        return cls(categories, band_group_column, feature_names)

    @classmethod
    def from_metadata(cls, metadata: Mapping[str, Any]) -> ServedColumns:
        """The reader that a file describes."""
        categories = {name: (list(values), bool(ordered)) for name, (values, ordered) in metadata["categories"].items()}
        return cls(categories, metadata["band_group_column"], metadata["feature_names"])

    def to_metadata(self) -> dict[str, Any]:
        """What a file keeps of the reader."""
        return {
            "categories": {name: list(pair) for name, pair in self.categories.items()},
            "band_group_column": self.band_group_column,
            "feature_names": self.feature_names,
        }

    def as_sent(self, rows: Any) -> Any:
        """Rows as they travel: categories as text or numbers."""
        if not isinstance(rows, pd.DataFrame):
            return rows
        return rows.astype({name: _sent_type(rows[name], values) for name, (values, _) in self.categories.items()})

    def read(self, rows: Any) -> tuple[Any, Any]:
        """Rows as the classifier takes them, and the group of each."""
        if not isinstance(rows, pd.DataFrame):
            return rows, None
        features = rows if self.feature_names is None else rows[self.feature_names]
        known = {name: pair for name, pair in self.categories.items() if name in features}
        for name, (values, _) in known.items():
            _refuse_unknown(name, features[name], values)
        groups = None if self.band_group_column is None else rows[self.band_group_column]
        return features.astype({name: pd.CategoricalDtype(*pair) for name, pair in known.items()}), groups


def _sent_type(column: Any, categories: list[Any]) -> Any:
    dtype = pd.Index(categories).dtype
    return "float64" if dtype.kind in "iu" and column.isna().any() else dtype


def _refuse_unknown(name: str, column: Any, categories: list[Any]) -> None:
    """A value that is no category would become a missing one in silence."""
    unknown = sorted({str(value) for value in column.dropna().unique() if value not in categories})
    if unknown:
        raise ValueError(
            f"column {name!r} must hold the categories of the fit, got also {unknown[:5]}; send such rows to review, "
            "or leave the value out if the model knows missing ones"
        )
