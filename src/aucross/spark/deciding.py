"""A classifier that was fitted in memory, applied where the rows of a Spark frame live.

The model is broadcast once and runs in the Python workers. Only the columns that it reads leave the Java process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from sklearn.utils.validation import check_is_fitted

from aucross.core.rounding import ScoreRounding
from aucross.core.scored_rows import ScoredRows
from aucross.estimators.decisions import AUTOMATIC, REVIEW
from aucross.estimators.light_copy import light_copy
from aucross.estimators.score_counts import count_rows, merge_counted, weighed
from aucross.spark.counting import merged_counts
from aucross.spark.features import FeatureColumns, check_columns

_DECIDED = "_aucross_decided"

# Columns of a batch by name.
ReadBatch = Callable[[pa.RecordBatch], Sequence[pa.Array]]


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
    refuse_taken_columns(df, (score_col, prediction_col, decision_col))
    found, read = columns_to_read(clf, df, features, band_groups=band_groups)
    light = df.sparkSession.sparkContext.broadcast(light_copy(clf, coverage))
    is_binary = len(clf.classes_) == 2

    def decide(batch: pa.RecordBatch) -> list[pa.Array]:
        classifier = light.value
        rows = scored_batch(classifier, found, batch)
        scores = pa.array(rows.score) if is_binary else pa.array(list(rows.score), type=pa.list_(pa.float64()))
        place = np.searchsorted(classifier.classes_, rows.predicted).astype(np.int32) + 1
        return [scores, pa.array(place, type=pa.int32()), pa.array(classifier.decide(rows).selected)]

    types = {"score": "double" if is_binary else "array<double>", "place": "int", "selected": "boolean"}
    classes = F.array(*(F.lit(label) for label in clf.classes_.tolist()))
    return (
        df.withColumn(_DECIDED, by_batches(decide, read, types))
        .withColumn(score_col, F.col(f"{_DECIDED}.score"))
        .withColumn(prediction_col, F.element_at(classes, F.col(f"{_DECIDED}.place")))
        .withColumn(decision_col, F.when(F.col(f"{_DECIDED}.selected"), AUTOMATIC).otherwise(REVIEW))
        .drop(_DECIDED)
    )


def with_scores(clf: Any, df: DataFrame, features: str | Sequence[str], score_col: str) -> DataFrame:
    """Add the score of the positive class by a classifier of two classes that was fitted in memory."""
    found, read = columns_to_read(clf, df, features)
    light = df.sparkSession.sparkContext.broadcast(light_copy(clf))

    def score(batch: pa.RecordBatch) -> list[pa.Array]:
        return [pa.array(scored_batch(light.value, found, batch).score)]

    return df.withColumn(score_col, by_batches(score, read, {"score": "double"}).getField("score"))


def spark_recalibrate(
    clf: Any,
    df: DataFrame,
    *,
    features: str | Sequence[str] | None = None,
    weight: str | None = None,
    band_groups: str | None = None,
    label_shift: bool = False,
    bits: int = 32,
) -> Any:
    """Place the bands of a classifier anew on the rows of a Spark frame, whose labels are not known.

    Parameters
    ----------
    clf : SelectiveClassifier
        A fitted classifier of two classes whose band lies on the score or on the confidence.
    df : DataFrame
        Unlabelled rows, such as the cases of last month.
    features, band_groups
        As for :func:`spark_decide`.
    weight : str, optional
        Column with the weight of each row in the coverage.
    label_shift : bool, default=False
        Whether the share of positives may have changed since the fit.
    bits : {32, 20}, default=32
        Scores are counted as float32, or by their top 20 bits, which takes about a megabyte for any number of rows.

    Returns
    -------
    SelectiveClassifier
        A copy with other bands and the same model, as ``clf.recalibrate`` gives it. Rows are scored and counted where
        they live; only counts reach the driver.
    """
    check_is_fitted(clf, "band_rule_")
    if clf.band_rule_.axis == "other" or len(clf.classes_) > 2:
        raise ValueError(
            "the bands must lie on the score or the confidence of two classes, because only counts of scores are "
            f"collected, got a {type(clf).__name__} that reads more; collect the rows and call clf.recalibrate(rows)"
        )
    found, read = columns_to_read(clf, df, features, weight=weight, band_groups=band_groups)
    light = df.sparkSession.sparkContext.broadcast(light_copy(clf))
    rounding = ScoreRounding(bits)

    def count(batch: pa.RecordBatch) -> ScoredRows:
        classifier = light.value
        return count_rows(scored_batch(classifier, found, batch), classifier.fitted_.reader, rounding)

    counted = merged_counts(df.select(*read.values()), count, merge_counted)
    return clf.recalibrate(counted, label_shift=label_shift)


def refuse_taken_columns(df: DataFrame, added: Sequence[str]) -> None:
    """Refuse a frame that has a column already which is to be added."""
    if taken := [name for name in added if name in df.columns]:
        raise ValueError(
            f"the frame must not have a column {taken[0]!r}, which decisions add; drop it, or pass another name for it"
        )


def by_batches(read_batch: ReadBatch, columns: Mapping[str, Column], types: Mapping[str, str]) -> Column:
    """A column of structs that Python makes of other columns, batch by batch, as Arrow.

    Parameters
    ----------
    read_batch : callable
        Turns a batch of rows into columns; it never sees an empty batch.
    columns : mapping of str to Column
        What a batch holds, by name. Columns travel one beside the other: Spark takes a quarter longer to put them into
        a struct first.
    types : mapping of str to str
        Names of the columns that `read_batch` returns, and their types in Spark.
    """
    given, names = list(columns), list(types)

    def run(batches: Iterator[Any]) -> Iterator[pa.Array]:
        for batch in batches:
            arrays = list(batch) if isinstance(batch, tuple) else [batch]  # a column alone comes as it is
            rows = pa.RecordBatch.from_arrays(arrays, names=given)
            made = read_batch(rows) if rows.num_rows else [pa.array([], type=_ARROW[kind]) for kind in types.values()]
            yield pa.StructArray.from_arrays(made, names=names)

    # Annotations as values: those of this file are texts, which Spark does not read.
    one: Any = pa.Array if len(given) == 1 else tuple[pa.Array, ...]
    run.__annotations__ = {"batches": Iterator[one], "return": Iterator[pa.Array]}
    arrow_udf: Any = vars(F)["arrow_udf"]  # missing in the types of pyspark
    made_of = arrow_udf(run, ", ".join(f"{name} {kind}" for name, kind in types.items()))
    column: Column = made_of(*columns.values())
    return column


_ARROW = {
    "double": pa.float64(),
    "array<double>": pa.list_(pa.float64()),
    "int": pa.int32(),
    "boolean": pa.bool_(),
}


def columns_to_read(
    clf: Any,
    df: DataFrame,
    features: str | Sequence[str] | None,
    *,
    weight: str | None = None,
    band_groups: str | None = None,
) -> tuple[FeatureColumns, dict[str, Column]]:
    """The columns that a classifier reads, and all that travel, by name."""
    found = FeatureColumns.of(df, _names_of_fit(clf) if features is None else features)
    read = found.columns(df)
    if weight is not None:
        check_columns(df, [weight], "weight")
        read["weight"] = F.col(f"`{weight}`").cast("double").alias("weight")
    if band_groups is not None:
        check_columns(df, [band_groups], "band_groups")
        read["group"] = F.col(f"`{band_groups}`").alias("group")
    return found, read


def scored_batch(clf: Any, features: FeatureColumns, batch: pa.RecordBatch) -> Any:
    """Score a batch of rows, with their weights and groups if these travel with them."""
    names = set(batch.schema.names)
    weight = np.asarray(batch.column("weight")) if "weight" in names else None
    groups = batch.column("group").to_pandas() if "group" in names else None
    return weighed(clf.scored(features.read(batch), band_groups=groups), weight)


def _names_of_fit(clf: Any) -> list[str]:
    names = getattr(clf, "feature_names_in_", None)
    if names is None:
        raise ValueError(
            "features must be given: the classifier was fitted on an array and knows no names of columns; pass them in "
            "the order of the fit, or the name of a column of vectors"
        )
    return [str(name) for name in names]
