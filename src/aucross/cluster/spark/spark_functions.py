"""Apply a classifier that was fitted in memory to the rows of a Spark frame, in place."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from sklearn.utils.validation import check_is_fitted

from aucross.cluster.classifier import evaluate_on_cluster, promise_on_cluster, recalibrate_on_cluster, scored_part
from aucross.cluster.decision_folder import PartCounts, write_decisions
from aucross.cluster.engine import Part
from aucross.cluster.spark.spark_rows import SparkEngine, SparkRows
from aucross.core.rounding import ScoreRounding
from aucross.estimators.decisions import AUTOMATIC, REVIEW
from aucross.estimators.fitted import light_copy
from aucross.evaluation.promise import SelectivePromise
from aucross.evaluation.selective_evaluation import SelectiveEvaluation

_PLACE, _SELECTED = "_aucross_place", "_aucross_selected"


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
    clf, df : SelectiveClassifier, DataFrame
        A fitted classifier, and rows.
    features : str or sequence of str, optional
        Columns that the classifier reads, in the order of the fit, or one column of vectors. By default, the columns of
        the fit, found by name.
    coverage : float in (0, 1], optional
        Target share of rows to decide automatically; the classifier's by default.
    band_groups : str, optional
        Column with the group of each row, if the bands were fitted per group.
    score_col, prediction_col, decision_col : str
        Names of the new columns: the score of the positive class (of each class, if there are more than two), the
        predicted label, and ``"automatic"`` or ``"review"``.

    Returns
    -------
    DataFrame
        The rows with three more columns.
    """
    check_is_fitted(clf, "band_rule_")
    refuse_taken_columns(df, (score_col, prediction_col, decision_col))
    rows = _rows(clf, df, features, band_groups=band_groups)
    score = "double" if len(clf.classes_) == 2 else "array<double>"
    made = rows.mapped(_decided, light_copy(clf, coverage), {score_col: score, _PLACE: "int", _SELECTED: "boolean"})
    classes = F.array(*(F.lit(label) for label in clf.classes_.tolist()))
    return made.withColumns(
        {
            prediction_col: F.element_at(classes, F.col(_PLACE)),
            decision_col: F.when(F.col(_SELECTED), AUTOMATIC).otherwise(REVIEW),
        }
    ).drop(_PLACE, _SELECTED)


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
    """Place the bands of a classifier on the unlabelled rows of a Spark frame.

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
        A copy with other bands and the same model. Rows are scored and counted in place.
    """
    rows = _rows(clf, df, features, weight=weight, band_groups=band_groups)
    return recalibrate_on_cluster(clf, rows, label_shift=label_shift, rounding=ScoreRounding(bits))


def spark_evaluate(
    clf: Any,
    df: DataFrame,
    *,
    label: str,
    coverages: Iterable[float] | None = None,
    features: str | Sequence[str] | None = None,
    weight: str | None = None,
    band_groups: str | None = None,
    bits: int = 32,
    confidence_level: float = 0.95,
) -> SelectiveEvaluation:
    """Evaluate a classifier on the labelled rows of a Spark frame, in place.

    Parameters
    ----------
    clf, df, label : SelectiveClassifier, DataFrame, str
        A fitted classifier of two classes, rows that it was not fitted on, and their column of labels.
    features, band_groups, weight, bits
        As for :func:`spark_recalibrate`.
    coverages, confidence_level
        As for :func:`aucross.evaluate_selective`, which on the same rows gives the same result.
    """
    rows = _rows(clf, df, features, label=label, weight=weight, band_groups=band_groups)
    options = {"confidence_level": confidence_level}
    return evaluate_on_cluster(clf, rows, coverages, options=options, label=label, rounding=ScoreRounding(bits))


def spark_promise(
    clf: Any,
    df: DataFrame,
    *,
    label: str,
    coverage: float | None = None,
    features: str | Sequence[str] | None = None,
    weight: str | None = None,
    band_groups: str | None = None,
    promised_coverage: float | None = None,
    confidence: float = 0.95,
) -> SelectivePromise:
    """Promise a coverage and an AUC, as :func:`~aucross.evaluation.promise_selective` does on the same rows.

    Parameters
    ----------
    clf, df, label, features, weight, band_groups
        As for :func:`spark_evaluate`.
    coverage, promised_coverage, confidence
        As in :func:`~aucross.evaluation.promise_selective`.
    """
    rows = _rows(clf, df, features, label=label, weight=weight, band_groups=band_groups)
    options = {"promised_coverage": promised_coverage, "confidence": confidence}
    return promise_on_cluster(clf, rows, coverage, options=options, label=label)


def spark_write_decisions(
    clf: Any,
    source: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    *,
    spark: SparkSession | None = None,
    coverage: float | None = None,
    columns: Sequence[str] = (),
    band_groups: str | None = None,
    told: Callable[[int, int], None] | None = None,
) -> list[PartCounts]:
    """Decide on every row of a folder of Parquet files on Spark, as :func:`aucross.cluster.write_decisions` does.

    Parameters
    ----------
    clf, source, folder, coverage, columns, band_groups
        As in :func:`aucross.cluster.write_decisions`; all workers must see the folders under these names.
    spark : SparkSession, optional
        The active session by default.
    told : callable, optional
        Called from time to time with the number of finished files and the total.

    Notes
    -----
    Each file is a task. If its worker is lost, the task runs again and writes the same bytes; a file gets its name only
    when it is complete, so there are no duplicates and no partial files. ``spark_decide(clf, df).write.parquet(path)``
    writes either all decisions on a frame or none.
    """
    builder: Any = SparkSession.builder
    run = SparkEngine(spark or builder.getOrCreate()).run_parts(told)
    return write_decisions(clf, source, folder, coverage=coverage, columns=columns, band_groups=band_groups, run=run)


def _rows(clf: Any, df: DataFrame, features: str | Sequence[str] | None, **columns: str | None) -> SparkRows:
    """Return the rows of a frame; by default with the columns that the classifier was fitted on."""
    names = getattr(clf, "feature_names_in_", None) if features is None else features
    if names is None:
        raise ValueError(
            "features must be given: the classifier was fitted on an array and knows no names of columns; pass them in "
            "the order of the fit, or the name of a column of vectors"
        )
    return SparkRows.of(df, names if isinstance(names, str) else [str(name) for name in names], columns)


def refuse_taken_columns(df: DataFrame, added: Sequence[str]) -> None:
    """Refuse a frame that already has a column with the name of a new one."""
    if taken := [name for name in added if name in df.columns]:
        raise ValueError(
            f"the frame must not have a column {taken[0]!r}, which decisions add; drop it, or pass another name for it"
        )


def _decided(part: Part, clf: Any) -> list[Any]:
    rows = scored_part(clf, part)
    score = rows.score if rows.score.ndim == 1 else list(rows.score)
    return [score, np.searchsorted(clf.classes_, rows.predicted) + 1, clf.decide(rows).selected]
