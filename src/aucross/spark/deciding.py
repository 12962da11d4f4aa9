"""A classifier that was fitted in memory, applied where the rows of a Spark frame live.

The model is broadcast once and runs in the Python workers. Only the columns that it reads leave the Java process.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  (its usual name)
from sklearn.utils.validation import check_is_fitted

from aucross.core.decisions import AUTOMATIC, REVIEW
from aucross.deploy.light_copy import light_copy
from aucross.spark.features import FeatureColumns, check_columns

DECIDED = "_aucross_decided"


def spark_decide(
    clf: Any,
    df: DataFrame,
    *,
    features: str | Sequence[str] | None = None,
    coverage: float | None = None,
    band_groups: str | None = None,
    score_col: str = "score",
    prediction_col: str = "prediction",
    decision_col: str = "decision",
) -> DataFrame:
    """Decide on every row of a Spark frame with a classifier that was fitted in memory.

    Parameters
    ----------
    clf : SelectiveClassifier
        A fitted classifier.
    df : DataFrame
        Rows.
    features : str or sequence of str, optional
        Columns that the classifier reads, in the order of the fit, or one column of vectors. By default the columns of
        the fit by name.
    coverage : float in (0, 1], optional
        Target share of rows to decide automatically; that of the classifier by default.
    band_groups : str, optional
        Column with the group of each row, if the bands were fitted per group.
    score_col, prediction_col, decision_col : str
        Names of the columns that are added: the score of the positive class (with more than two classes those of all),
        the label that the model answers, and ``"automatic"`` or ``"review"``.

    Returns
    -------
    DataFrame
        The rows with three more columns; lazy, as all of Spark is.
    """
    check_is_fitted(clf, "band_rule_")
    added = (score_col, prediction_col, decision_col)
    if taken := [name for name in added if name in df.columns]:
        raise ValueError(
            f"the frame must not have a column {taken[0]!r}, which decisions add; drop it, or pass another name for it"
        )
    found = FeatureColumns.of(df, _names_of_fit(clf) if features is None else features)
    if band_groups is not None:
        check_columns(df, [band_groups], "band_groups")
    decided = _decided_by(clf, df, found, coverage, band_groups)
    classes = F.array(*(F.lit(label) for label in clf.classes_.tolist()))
    return (
        df.withColumn(DECIDED, decided)
        .withColumn(score_col, F.col(f"{DECIDED}.score"))
        .withColumn(prediction_col, F.element_at(classes, F.col(f"{DECIDED}.place")))
        .withColumn(decision_col, F.when(F.col(f"{DECIDED}.selected"), AUTOMATIC).otherwise(REVIEW))
        .drop(DECIDED)
    )


def _decided_by(
    clf: Any, df: DataFrame, features: FeatureColumns, coverage: float | None, band_groups: str | None
) -> Column:
    """A column with score, place of the predicted label from 1 on, and whether the row is selected."""
    light = df.sparkSession.sparkContext.broadcast(light_copy(clf, coverage))
    has_groups, is_binary = band_groups is not None, len(clf.classes_) == 2
    score = "double" if is_binary else "array<double>"

    def decide(batches: Iterator[pa.Array]) -> Iterator[pa.Array]:
        classifier = light.value
        for batch in batches:
            rows = pa.RecordBatch.from_struct_array(batch)
            if not rows.num_rows:
                yield _as_struct(np.empty(0), np.empty(0, dtype=np.int32), np.empty(0, dtype=bool), is_binary)
                continue
            groups = rows.column("group").to_pandas() if has_groups else None
            scored = classifier.scored(features.read(rows), band_groups=groups)
            place = np.searchsorted(classifier.classes_, scored.predicted) + 1
            yield _as_struct(scored.score, place.astype(np.int32), classifier.decide(scored).selected, is_binary)

    # Annotations as values: those of this file are texts, which Spark does not read.
    decide.__annotations__ = {"batches": Iterator[pa.Array], "return": Iterator[pa.Array]}
    columns = features.columns(df)
    if band_groups is not None:
        columns.append(F.col(f"`{band_groups}`").alias("group"))
    arrow_udf: Any = vars(F)["arrow_udf"]  # missing in the types of pyspark
    return arrow_udf(decide, f"score {score}, place int, selected boolean")(F.struct(*columns))


def _as_struct(score: Any, place: Any, selected: Any, is_binary: bool) -> pa.Array:
    scores = pa.array(score) if is_binary else pa.array(list(score), type=pa.list_(pa.float64()))
    return pa.StructArray.from_arrays(
        [scores, pa.array(place), pa.array(selected)], names=["score", "place", "selected"]
    )


def _names_of_fit(clf: Any) -> list[str]:
    names = getattr(clf, "feature_names_in_", None)
    if names is None:
        raise ValueError(
            "features must be given: the classifier was fitted on an array and knows no names of columns; pass them in "
            "the order of the fit, or the name of a column of vectors"
        )
    return [str(name) for name in names]
