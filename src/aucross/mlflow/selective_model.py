"""What MLflow loads to serve a selective classifier: rows in, score, prediction and decision out."""

from __future__ import annotations

from typing import Any

import pandas as pd

from aucross.estimators.base import SelectiveClassifier
from aucross.files.model_file import load_with_header
from aucross.files.signing import signing_key, trusted_types_in_use
from aucross.mlflow.served_columns import ServedColumns, values_of_fit

# MLflow wants a number as the default of a parameter that takes numbers.
OWN_COVERAGE = 0.0


class SelectiveModel:
    """A classifier as MLflow calls it.

    Parameters
    ----------
    clf : SelectiveClassifier
        A fitted classifier.
    reader : ServedColumns
        Gives the rows that arrive the types that the classifier was fitted on.
    """

    def __init__(self, clf: SelectiveClassifier, reader: ServedColumns) -> None:
        self.clf = clf
        self.reader = reader
        self.values_of_fit = values_of_fit(clf)

    def predict(self, model_input: Any, params: dict[str, Any] | None = None) -> pd.DataFrame:
        """Decide on rows.

        Parameters
        ----------
        model_input : DataFrame or ndarray
            The rows.
        params : dict, optional
            ``coverage``: share of rows to decide automatically; 0 means that of the classifier.

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
    """What MLflow calls to load a model; the key and the trusted types come from the environment."""
    clf, header = load_with_header(path, trusted=trusted_types_in_use(), key=signing_key())
    return SelectiveModel(clf, ServedColumns.from_metadata(header.metadata))
