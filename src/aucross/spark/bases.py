"""Base models on Spark: who trains them, and where their scores come from.

=============================  =====================================  ==========================================
base model                     trained                                scores
=============================  =====================================  ==========================================
``SparkXGBClassifier``         by Spark, one fit at a time            by the same booster in the Python workers
a classifier in memory         on the driver, on rows collected       by the same model in the Python workers
another one of ``pyspark.ml``  by Spark, one fit at a time            by its ``transform``
=============================  =====================================  ==========================================
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.ml import Estimator, Transformer
from pyspark.ml.functions import vector_to_array
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from sklearn.base import clone

from aucross.estimators.held_out import trained_as_on_all_rows
from aucross.estimators.row_hash import hash_rows
from aucross.spark.features import FeatureColumns

logger = logging.getLogger(__name__)

# Two fits of a booster at a time can each hold half of the task slots and wait for the other half for ever.
_one_fit_at_a_time = Lock()

# What Spark and XGBoost say when a worker, its machine or the connection to it is gone; other errors come again.
_LOST = (
    *("worker exited unexpectedly", "ExecutorLostFailure", "Could not recover from a failed barrier", "Connection re"),
    *("EOFException", "TaskKilled", "socket", "tracker", "collective"),
)


@dataclass(frozen=True)
class TrainingColumns:
    """Names of the columns that a fit reads."""

    features: FeatureColumns
    label: str
    weight: str | None = None


@dataclass(frozen=True)
class FittedBase:
    """A trained base model.

    Attributes
    ----------
    model : object
        A classifier in memory, or a model of ``pyspark.ml``.
    on_spark : bool
        Whether its ``transform`` gives the scores.
    """

    model: Any
    on_spark: bool = False

    def with_score(self, df: DataFrame, score_col: str) -> DataFrame:
        """Add the probability of the positive class by the model's ``transform``, and nothing else."""
        probability = self.model.getProbabilityCol()
        score = vector_to_array(F.col(probability))[1].alias(score_col)
        return self.model.transform(df).select(*(f"`{name}`" for name in df.columns), score)


Fit = Callable[[DataFrame], FittedBase]


def fit_of(estimator: Any, columns: TrainingColumns, n_rows: int) -> Fit:
    """How a base model is trained on some of so many rows."""
    if isinstance(estimator, Estimator):
        base = _with_columns(estimator, columns)
        is_booster = type(estimator).__module__.startswith("xgboost.spark") and not _has_base_margin(estimator)
        return lambda df: _fit_on_spark(base, df, columns.features if is_booster else None)
    if not hasattr(estimator, "predict_proba"):
        raise TypeError(
            "estimator must be a classifier of pyspark.ml, such as SparkXGBClassifier, or one in memory with "
            f"predict_proba, got {type(estimator).__name__}"
        )
    return lambda df: FittedBase(_fit_in_memory(estimator, df, columns, n_rows))


def fit_again_if_lost(fit: Fit, df: DataFrame, *, attempts: int, what: str) -> FittedBase:
    """Train a model; if a worker is lost meanwhile, train it anew on all its rows, so many times in all."""
    for attempt in range(1, attempts + 1):
        try:
            with _one_fit_at_a_time:
                return fit(df)
        except (Py4JJavaError, PySparkException) as error:
            if not any(mark in str(error) for mark in _LOST):
                raise
            if attempt == attempts:
                raise RuntimeError(
                    f"{what} failed {attempts} times because a worker was lost; look for the reason in the logs of the "
                    "executors (often memory), or raise maxFitAttempts"
                ) from error
            logger.warning("%s lost a worker in attempt %d of %d and starts again", what, attempt, attempts)
    raise ValueError(f"maxFitAttempts must be at least 1, got {attempts}")


def _with_columns(estimator: Any, columns: TrainingColumns) -> Any:
    """A copy of an estimator that reads the given columns."""
    base = estimator.copy()
    names: Any = columns.features.names[0] if columns.features.is_vector else list(columns.features.names)
    if type(base).__module__.startswith("xgboost.spark"):
        weight = {} if columns.weight is None else {"weight_col": columns.weight}
        base.setParams(features_col=names, label_col=columns.label, **weight)
        return base
    if not columns.features.is_vector:
        raise ValueError(
            f"featuresCol must be one column of vectors for {type(estimator).__name__}, got {names}; put them into one "
            "with VectorAssembler"
        )
    if not base.hasParam("probabilityCol"):
        raise TypeError(
            f"estimator must give probabilities, got {type(estimator).__name__}, which has no probabilityCol; pass "
            "LogisticRegression, GBTClassifier, SparkXGBClassifier or the like"
        )
    given = {"featuresCol": names, "labelCol": columns.label}
    if columns.weight is not None:
        given["weightCol"] = columns.weight
    for name, value in given.items():
        base.set(base.getParam(name), value)
    return base


def _has_base_margin(estimator: Any) -> bool:
    margin = estimator.getParam("base_margin_col")
    return bool(estimator.isDefined(margin) and estimator.getOrDefault(margin))


def _fit_on_spark(base: Any, df: DataFrame, features: FeatureColumns | None) -> FittedBase:
    model: Transformer = base.fit(df)
    return FittedBase(model, on_spark=True) if features is None else FittedBase(_in_memory(model, features))


def _in_memory(model: Any, features: FeatureColumns) -> Any:
    """The booster that Spark trained as a classifier of XGBoost in memory, which gives a row the same score."""
    from xgboost import XGBClassifier  # noqa: PLC0415  (optional)

    booster = model.get_booster()
    if not features.is_vector:
        booster.feature_names = list(features.names)
    classifier = XGBClassifier(n_jobs=1, missing=model.getOrDefault("missing"))
    classifier.load_model(bytearray(booster.save_raw("ubj")))
    return classifier


def _fit_in_memory(estimator: Any, df: DataFrame, columns: TrainingColumns, n_rows: int) -> Any:
    """Train on rows that are collected, in an order that does not depend on how the frame is cut."""
    weight = [] if columns.weight is None else [F.col(f"`{columns.weight}`").cast("double").alias("weight")]
    label = F.col(f"`{columns.label}`").cast("double").alias("label")
    rows = df.select(*columns.features.columns(df).values(), label, *weight).toArrow().combine_chunks()
    batch = rows.to_batches()[0]
    X, y = columns.features.read(batch), np.asarray(batch.column("label"))
    weights = np.asarray(batch.column("weight")) if weight else np.ones(len(y))
    order = np.lexsort((weights, y, hash_rows(X)))
    X, given = _take(X, order), {"sample_weight": weights[order]} if weight else {}
    return clone(trained_as_on_all_rows(estimator, n_rows)).fit(X, y[order], **given)


def _take(X: Any, order: Sequence[int] | np.ndarray[Any, Any]) -> Any:
    return X.iloc[order].reset_index(drop=True) if hasattr(X, "iloc") else X[order]
