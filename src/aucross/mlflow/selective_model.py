"""The model that MLflow loads and serves: it takes rows, and returns score, prediction and decision.

MLflow drops the categories of columns, so this module gives incoming rows the column types of the fit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier

from aucross.estimators.base import SelectiveClassifier
from aucross.estimators.strange_values import encoded_columns
from aucross.files.model_file import load_with_header
from aucross.files.signing import signing_key, trusted_types_in_use
from aucross.files.sklearn_trees import histogram_trees

# MLflow wants a number as the default of a parameter that takes numbers.
OWN_COVERAGE = 0.0


class SelectiveModel:
    """A fitted classifier with the interface of MLflow, and a reader that gives rows the column types of the fit."""

    def __init__(self, clf: SelectiveClassifier, reader: ServedColumns) -> None:
        self.clf, self.reader, self.values_of_fit = clf, reader, values_of_fit(clf)

    def predict(self, model_input: Any, params: dict[str, Any] | None = None) -> pd.DataFrame:
        """Return score, prediction and decision of rows.

        Parameters
        ----------
        model_input : DataFrame or ndarray
            The rows.
        params : dict, optional
            ``coverage``: share of rows to decide automatically; 0 means the classifier's own.

        Returns
        -------
        DataFrame
            ``score`` of the positive class (of each class if there are more than two, as ``score <class>``),
            ``prediction`` and ``decision``: automatic or review.
        """
        coverage = (params or {}).get("coverage", OWN_COVERAGE)
        rows, band_groups = self.reader.read(model_input, self.values_of_fit)
        decisions = self.clf.decide(rows, None if coverage == OWN_COVERAGE else coverage, band_groups)
        further = ("selection_score", "lower", "upper")
        answers = {name: values for name, values in decisions.columns().items() if name not in further}
        return pd.DataFrame(answers, index=getattr(model_input, "index", None))


def _load_pyfunc(path: str) -> SelectiveModel:
    """Load a model for MLflow; the key and the trusted types come from the environment."""
    clf, header = load_with_header(path, trusted=trusted_types_in_use(), key=signing_key())
    return SelectiveModel(
        clf, ServedColumns(**{part.name: header.metadata[part.name] for part in fields(ServedColumns)})
    )


@dataclass(frozen=True)
class ServedColumns:
    """Reader that gives the columns of incoming rows the types of the fit; its fields are stored in the model file."""

    # Of columns of categories: these, and whether they are ordered. They travel as what their categories are.
    categories: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    band_group_column: str | None = None
    feature_names: list[str] | None = None  # the column of groups may stand beside them

    @classmethod
    def of_example(cls, example: Any, feature_names: list[str] | None, band_group_column: str | None) -> ServedColumns:
        """Return a reader with the categories of an example."""
        categories = {
            str(name): [column.cat.categories.tolist(), bool(column.cat.ordered)]
            for name, column in (example.items() if isinstance(example, pd.DataFrame) else ())
            if isinstance(column.dtype, pd.CategoricalDtype)
        }
        return cls(categories, band_group_column, feature_names)

    def as_sent(self, rows: Any) -> Any:
        """Return rows as clients send them: categories as text or numbers, and numbers as double."""
        if isinstance(rows, np.ndarray) and rows.dtype.kind in "iuf":
            return rows.astype(np.float64)
        if not isinstance(rows, pd.DataFrame):
            return rows
        numbers = [name for name in rows.select_dtypes("number") if name != self.band_group_column]
        kinds = {name: pd.Index(values).dtype for name, (values, _) in self.categories.items()}
        categories = {name: "float64" if kind.kind in "iu" else kind for name, kind in kinds.items()}
        return rows.astype({**dict.fromkeys(numbers, "float64"), **categories})

    def read(self, rows: Any, values_of_fit: Mapping[str, list[str]] | None = None) -> tuple[Any, Any]:
        """Return rows with the types of the fit, and the group of each row; refuse categories unknown to the fit."""
        if not isinstance(rows, pd.DataFrame):
            return rows, None
        needed = [*(self.feature_names or ()), *([self.band_group_column] if self.band_group_column else ())]
        if lacking := [name for name in needed if name not in rows]:
            raise ValueError(
                f"rows must have the columns of the fit, and lack {lacking}; send them, with null for a missing value"
            )
        features = rows if self.feature_names is None else rows[self.feature_names]
        known = {name: pair for name, pair in self.categories.items() if name in features}
        for name, categories in {**(values_of_fit or {}), **{name: pair[0] for name, pair in known.items()}}.items():
            # Values that are no category would become missing ones in silence.
            column = features[name] if name in features else pd.Series([], dtype=object)
            if unknown := sorted({str(value) for value in column.dropna().unique() if value not in categories}):
                raise ValueError(
                    f"column {name!r} must hold the categories of the fit, got also {unknown[:5]}; send such rows to "
                    "review, or leave the value out if the model knows missing ones"
                )
        groups = None if self.band_group_column is None else rows[self.band_group_column]
        return features.astype({name: pd.CategoricalDtype(*pair) for name, pair in known.items()}), groups


def values_of_fit(clf: Any) -> dict[str, list[str]]:
    """Return the texts that encoders learned in the fit, by column; encoders would treat other texts as missing.

    Columns whose categories were given to the encoder are left out, because the fit may have seen others.
    """
    found: dict[str, list[str]] = {}
    for model in (clf.estimator_, getattr(clf, "gate_", None)):
        for column in encoded_columns(model, keeps=_kept_by_trees):
            if column.is_complete and column.categories and all(isinstance(text, str) for text in column.categories):
                found[column.name] = sorted({*found.get(column.name, ()), *column.categories})
    return found


def _kept_by_trees(model: Any) -> list[list[Any]] | None:
    if not isinstance(model, HistGradientBoostingClassifier):
        return None
    known = {column.position: column.categories for column in histogram_trees(model)[2]}
    return [known.get(position, []) for position in range(model.n_features_in_)]
