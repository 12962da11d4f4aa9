"""Evaluations and promises on a Spark frame, from rankings of its rows that are merged in a tree."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from sklearn.utils.validation import check_is_fitted

from aucross.core.bands import check_coverage
from aucross.core.rounding import ScoreRounding
from aucross.estimators.light_copy import light_copy
from aucross.estimators.rankings_by_coverage import RankingsByCoverage
from aucross.evaluation.evaluate import DEFAULT_COVERAGES, evaluate_ranking
from aucross.evaluation.inputs import TrainingRowsWarning, rows_of_fit
from aucross.evaluation.promise import SelectivePromise, promise_ranking
from aucross.evaluation.selective_evaluation import SelectiveEvaluation
from aucross.spark.counting import merged_counts
from aucross.spark.deciding import columns_to_read, scored_batch
from aucross.spark.features import FeatureColumns, check_columns

# Rows that are collected to see whether the classifier was fitted on them.
_ROWS_TO_LOOK_AT = 10_000


def rank_selections(
    clf: Any,
    df: DataFrame,
    *,
    label: str,
    coverages: Iterable[float],
    features: str | Sequence[str] | None = None,
    weight: str | None = None,
    band_groups: str | None = None,
    bits: int = 32,
    promises: bool = False,
) -> RankingsByCoverage:
    """Score rows where they live, and rank all of them and those that each coverage selects.

    Parameters are those of :func:`spark_evaluate`. Rows of the fit are warned of, or refused where the ranking is to
    promise something.
    """
    check_is_fitted(clf, "band_rule_")
    if len(clf.classes_) != 2:
        raise ValueError(
            f"a ranking is one of two classes, got a classifier of {len(clf.classes_)}; collect the rows and call "
            "evaluate_selective"
        )
    check_columns(df, [label], "label")
    found, read = columns_to_read(clf, df, features, weight=weight, band_groups=band_groups)
    _look_for_rows_of_fit(clf, df, found, refuses=promises)
    # One pickle: the copies share the model.
    copies = {check_coverage(coverage): light_copy(clf, coverage) for coverage in coverages}
    light, rounding = df.sparkSession.sparkContext.broadcast(copies), ScoreRounding(bits)

    def rank(batch: pa.RecordBatch) -> RankingsByCoverage:
        deciding = light.value
        rows = scored_batch(next(iter(deciding.values())), found, batch)
        return RankingsByCoverage.of(rows, batch.column("label").to_pandas(), deciding, rounding)

    counted = merged_counts(
        df.select(*read.values(), F.col(f"`{label}`").alias("label")), rank, RankingsByCoverage.merge
    )
    counted.check_labels(label, clf.classes_)
    return counted


def _look_for_rows_of_fit(clf: Any, df: DataFrame, features: FeatureColumns, *, refuses: bool) -> None:
    """Look at the first rows, where the classifier has marks of those that it was fitted on."""
    if clf.fitted_.marks is None:
        return
    first = df.select(*features.columns(df).values()).limit(_ROWS_TO_LOOK_AT).toArrow().combine_chunks()
    for batch in first.to_batches():
        _, doubt = rows_of_fit(clf, features.read(batch))
        if doubt is not None and refuses:
            raise ValueError(doubt)
        if doubt is not None:
            warnings.warn(doubt, TrainingRowsWarning, stacklevel=4)


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
    """Evaluate a classifier on the labelled rows of a Spark frame, which stay where they are.

    Parameters
    ----------
    clf : SelectiveClassifier
        A fitted classifier of two classes.
    df : DataFrame
        Rows that were not used to fit it.
    label : str
        Column of labels.
    coverages : iterable of float in (0, 1], optional
        Target coverages; (1, .99, .95, .90, .85, .80, .75) by default.
    features, band_groups
        As for :func:`spark_decide`.
    weight : str, optional
        Column with the weight of each row.
    bits : {32, 20}, default=32
        Scores are ranked as float32, or by their top 20 bits, which takes about a megabyte for any number of rows.
    confidence_level
        As for :func:`aucross.evaluation.evaluate_ranking`.

    Returns
    -------
    SelectiveEvaluation
        What :func:`aucross.evaluate_selective` gives on the same rows.
    """
    asked = list(DEFAULT_COVERAGES if coverages is None else coverages)
    counted = rank_selections(
        clf, df, label=label, coverages=asked, features=features, weight=weight, band_groups=band_groups, bits=bits
    )
    return evaluate_ranking(
        counted.everything,
        counted.selected,
        asked,
        threshold=0.5 if clf.response_method_ == "predict_proba" else 0.0,
        confidence_level=confidence_level,
    )


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
    """Say how much of the coverage and of the AUC can be promised, from the labelled rows of a Spark frame.

    Parameters
    ----------
    clf : SelectiveClassifier
        A fitted classifier of two classes.
    df : DataFrame
        Rows like those to come, used neither to train nor to place the band.
    label : str
        Column of labels.
    coverage : float in (0, 1], optional
        Target coverage; that of the classifier by default.
    features, weight, band_groups
        As for :func:`spark_evaluate`.
    promised_coverage, confidence
        As for :func:`~aucross.evaluation.promise_selective`.

    Returns
    -------
    SelectivePromise
        The same as :func:`~aucross.evaluation.promise_selective` gives on the same rows.
    """
    asked = check_coverage(clf.coverage if coverage is None else coverage)
    counted = rank_selections(
        clf,
        df,
        label=label,
        coverages=[asked],
        features=features,
        weight=weight,
        band_groups=band_groups,
        promises=True,
    )
    return promise_ranking(
        counted.everything,
        counted.selected[asked],
        asked,
        promised_coverage=promised_coverage,
        confidence=confidence,
    )
