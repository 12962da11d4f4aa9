"""Selective classifiers as estimators of ``pyspark.ml``.

::

    rows ──► fold of each row by a hash ──► a model for each fold ──► held-out scores, counted where the rows live
                                                                       └─► merged ──► bands, placed as in memory
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
import pyarrow as pa
from pyspark import StorageLevel
from pyspark.ml import Estimator, Model
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.util import MLReadable, MLWritable
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from aucross.core.bands import RejectionBand, check_coverage
from aucross.core.rounding import ScoreRounding, check_statistic
from aucross.estimators.auc import AUCross, PlugInAUC
from aucross.estimators.confidence import SCross
from aucross.estimators.decisions import AUTOMATIC, REVIEW
from aucross.estimators.hashed_folds import HashedFolds
from aucross.estimators.held_out import HeldOutScores
from aucross.estimators.models import answers_by_score, class_scores
from aucross.estimators.score_column import ScoreColumn
from aucross.estimators.score_counts import ScoreCounts
from aucross.evaluation.promise import SelectivePromise
from aucross.evaluation.selective_evaluation import SelectiveEvaluation
from aucross.frames import take_rows
from aucross.spark.bases import FittedBase, TrainingColumns, fit_again_if_lost, fit_of
from aucross.spark.counting import merged_counts
from aucross.spark.deciding import refuse_taken_columns, spark_decide, spark_recalibrate, with_scores
from aucross.spark.evaluating import spark_evaluate, spark_promise
from aucross.spark.features import FeatureColumns, check_columns
from aucross.spark.folds import fold_and_half
from aucross.spark.params import OF_A_CLASS, SelectiveParams
from aucross.spark.storage import EstimatorReader, EstimatorWriter, ModelReader, ModelWriter

FOLD, HALF, SCORE = "_aucross_fold", "_aucross_half", "_aucross_score"
CLASSES = np.array([0, 1])


class _SparkSelective(Estimator[Any], SelectiveParams, MLReadable[Any], MLWritable):
    """What the estimators share: a fit is the same but for who is held out and how the bands are placed."""

    estimator: Param[Any] = Param(OF_A_CLASS, "estimator", "base classifier")
    numFolds: Param[int] = Param(OF_A_CLASS, "numFolds", "number of folds", TypeConverters.toInt)
    keyCol: Param[str] = Param(
        OF_A_CLASS, "keyCol", "column that decides the fold; all features by default", TypeConverters.toString
    )
    statistic: Param[Any] = Param(
        OF_A_CLASS, "statistic", "how scores are counted: auto, exact or binned", TypeConverters.toString
    )
    maxFitAttempts: Param[int] = Param(
        OF_A_CLASS, "maxFitAttempts", "how often a fit that loses a worker is tried", TypeConverters.toInt
    )

    refits = True  # whether a model trained on all rows answers; otherwise that of the first split does

    def __init__(self, estimator: Any = None, **params: Any) -> None:
        super().__init__()
        self._setDefault(numFolds=5, statistic="auto", maxFitAttempts=3)
        self.setParams(estimator=estimator, **params)

    def copy(self, extra: Any = None) -> Self:
        """Copy with other parameters, also those of the base classifier."""
        copied = super().copy(extra)
        base = self.value_of("estimator")
        if isinstance(base, Params):
            copied.setParams(estimator=base.copy(extra))
        return copied

    def classifier(self, model: Any) -> Any:
        """The classifier in memory that places the bands, not fitted."""
        raise NotImplementedError

    def write(self) -> EstimatorWriter:
        """Return a writer, as of every estimator of ``pyspark.ml``."""
        return EstimatorWriter(self)

    @classmethod
    def read(cls) -> EstimatorReader:
        """Return a reader, as of every estimator of ``pyspark.ml``."""
        return EstimatorReader(cls)

    # ---- fit ----

    def _fit(self, dataset: DataFrame) -> SparkSelectiveModel:
        estimator, folds = self._checked(), self._folds()
        columns = self._columns(dataset)
        attempts = self.getOrDefault(self.maxFitAttempts)
        rows = self._with_folds(dataset, columns, folds).persist(StorageLevel.MEMORY_AND_DISK)
        try:
            n_rows = self._check_rows(rows, columns, folds)
            rounding = ScoreRounding.of_statistic(self.getOrDefault(self.statistic), n_rows)
            fit, models = fit_of(estimator, columns, n_rows), {}
            for fold in range(folds.n_splits if self.refits else 1):
                what = f"the fit of fold {fold + 1} of {folds.n_splits}"
                models[fold] = fit_again_if_lost(fit, rows.where(F.col(FOLD) != fold), attempts=attempts, what=what)
            counts = self._counts(rows, columns, models, rounding)
            answering = models[0]
            if self.refits:
                answering = fit_again_if_lost(fit, rows, attempts=attempts, what="the fit on all rows")
        finally:
            rows.unpersist()
        model = _score_column(self.getOrDefault(self.scoreCol)) if answering.on_spark else answering.model
        fitted = self.classifier(model).fit_on_counts(model, counts, classes=CLASSES)
        return self._copyValues(SparkSelectiveModel(fitted, answering.model if answering.on_spark else None))

    def _checked(self) -> Any:
        check_coverage(self.getOrDefault(self.coverage))
        check_statistic(self.getOrDefault(self.statistic))
        if self.getOrDefault(self.maxFitAttempts) < 1:
            raise ValueError(f"maxFitAttempts must be at least 1, got {self.value_of('maxFitAttempts')}")
        if (estimator := self.value_of("estimator")) is None:
            raise ValueError("estimator must be given: the base classifier, such as SparkXGBClassifier()")
        return estimator

    def _folds(self) -> HashedFolds:
        return HashedFolds(self.getOrDefault(self.numFolds), seed=self.getOrDefault(self.seed))

    def _columns(self, dataset: DataFrame) -> TrainingColumns:
        features = FeatureColumns.of(dataset, self.getOrDefault(self.featuresCol), "featuresCol")
        for name in ("labelCol", "weightCol", "keyCol", "bandGroupCol"):
            if (column := self.value_of(name)) is not None:
                check_columns(dataset, [column], name)
        return TrainingColumns(features, self.getOrDefault(self.labelCol), self.value_of("weightCol"))

    def _with_folds(self, dataset: DataFrame, columns: TrainingColumns, folds: HashedFolds) -> DataFrame:
        """The columns that the fit reads, with the fold of each row, and its half if the method blends halves."""
        features, halves = columns.features, self.classifier(None).blends_halves
        placed = fold_and_half(dataset, folds, features, self.value_of("keyCol"), halves=halves)
        named = [*features.names, columns.label, columns.weight, self.value_of("bandGroupCol")]
        kept = list(dict.fromkeys(name for name in named if name is not None))
        rows = dataset.select(*(F.col(f"`{name}`") for name in kept), placed.alias(FOLD))
        if halves:
            rows = rows.withColumn(HALF, F.col(f"{FOLD}.half"))
        return rows.withColumn(FOLD, F.col(f"{FOLD}.fold"))

    def _check_rows(self, rows: DataFrame, columns: TrainingColumns, folds: HashedFolds) -> int:
        """Refuse rows that no model could be trained on; return how many there are."""
        label = F.col(f"`{columns.label}`").cast("double")
        counted = rows.groupBy(FOLD).agg(
            F.count("*").alias("rows"),
            F.count_if(label == 1).alias("positive"),
            F.count_if(label == 0).alias("negative"),
        )
        by_fold = {row[FOLD]: row for row in counted.collect()}
        sizes, positive, negative = (
            np.array([by_fold[fold][name] if fold in by_fold else 0 for fold in range(folds.n_splits)])
            for name in ("rows", "positive", "negative")
        )
        folds.check_sizes(sizes)
        if others := int((sizes - positive - negative).sum()):
            raise ValueError(
                f"{columns.label!r} must hold 0 and 1 only, got {others:,} rows with other or missing labels; map them "
                "with StringIndexer or drop those rows"
            )
        for name, of_class in (("1", positive), ("0", negative)):
            if (of_class.sum() - of_class == 0).any():
                raise ValueError(
                    f"every model must see rows of both classes, got a fold that holds all {of_class.sum():,} rows "
                    f"with label {name}; pass more rows of that label, or a keyCol that differs between them"
                )
        return int(sizes.sum())

    def _counts(
        self, rows: DataFrame, columns: TrainingColumns, models: dict[int, FittedBase], rounding: ScoreRounding
    ) -> ScoreCounts:
        """Score every row by the model that has not seen it, and count the scores where the rows live."""
        on_spark, features = models[0].on_spark, columns.features
        weight, group = columns.weight, self.value_of("bandGroupCol")
        has_weight, has_groups = weight is not None, group is not None
        held_out = rows.where(F.col(FOLD) < len(models))
        if on_spark:
            parts = [each.with_score(rows.where(F.col(FOLD) == fold), SCORE) for fold, each in models.items()]
            held_out = parts[0]
            for part in parts[1:]:
                held_out = held_out.union(part)
        classifier = self.classifier(ScoreColumn(0))
        blends_halves = classifier.blends_halves
        read: list[Column] = [F.col(SCORE)] if on_spark else list(features.columns(rows).values())
        read += [F.col(FOLD), F.col(f"`{columns.label}`").cast("double").alias("label")]
        read += [F.col(HALF)] if blends_halves else []
        read += [F.col(f"`{weight}`").cast("double").alias("weight")] if has_weight else []
        read += [F.col(f"`{group}`").alias("group")] if has_groups else []
        in_memory = None if on_spark else {fold: each.model for fold, each in models.items()}
        trained = rows.sparkSession.sparkContext.broadcast(in_memory)

        def count(batch: pa.RecordBatch) -> ScoreCounts:
            fold, labels = np.asarray(batch.column(FOLD)), np.asarray(batch.column("label")).astype(np.intp)
            models = trained.value
            if models is None:
                scores, by_score = np.asarray(batch.column(SCORE)), True
            else:
                scores, by_score = _scores_of_folds(models, features.read(batch), fold)
            held_out = HeldOutScores(
                np.arange(len(labels)),
                labels,
                scores,
                np.asarray(batch.column("weight")) if has_weight else None,
                band_groups=batch.column("group").to_pandas().to_numpy() if has_groups else None,
                answers_by_score=by_score,
            )
            half = np.asarray(batch.column(HALF)) if blends_halves else None
            return classifier.counts_of(held_out, rounding, response_method="predict_proba", half=half)

        return merged_counts(held_out.select(*read), count, ScoreCounts.merge)


def _scores_of_folds(models: dict[int, Any], X: Any, fold: Any) -> tuple[Any, bool]:
    """Score each row by the model of its fold; and whether these models answer by their scores."""
    scores, by_score = np.empty(len(fold)), True
    for number in np.unique(fold):
        rows = np.flatnonzero(fold == number)
        model, taken = models[number], take_rows(X, rows)
        scores[rows] = class_scores(model, taken, "predict_proba", CLASSES)
        by_score = by_score and answers_by_score(model, taken, scores[rows], "predict_proba", CLASSES)
    return scores, by_score


def _score_column(name: str) -> ScoreColumn:
    """The score that ``transform`` of a model of Spark adds, as a classifier in memory."""
    rows = pa.table({name: [0.0, 1.0]}).to_pandas()
    return ScoreColumn(name).fit(rows, CLASSES)


class SparkAUCross(_SparkSelective):
    """Wrap a classifier on Spark so that it abstains where ranking errors are made, with cross-fitted scores.

    :class:`~aucross.AUCross` as an estimator of ``pyspark.ml``: for pipelines and cross-validators, with ``write`` and
    ``load``.

    Parameters
    ----------
    estimator : classifier
        ``xgboost.spark.SparkXGBClassifier``, another classifier of ``pyspark.ml`` with a ``probabilityCol``, or a
        classifier in memory with ``predict_proba``. The last is trained on the driver, so its rows must fit there.
    featuresCol : str or list of str, default="features"
        One column of vectors, or columns of numbers, which XGBoost and classifiers in memory take.
    labelCol : str, default="label"
        Column of labels, 0 and 1.
    weightCol : str, optional
        Column of weights for training, for the ranking and for the coverage.
    bandGroupCol : str, optional
        Column of groups; each gets a band of its own.
    coverage : float in (0, 1], default=0.9
        Share of rows to decide automatically. A fitted model answers for any: ``model.setCoverage(0.8)``.
    numFolds : int, default=5
        Number of folds.
    keyCol : str, optional
        Column that names a row, such as the number of a loan. Its hash decides the fold, so that the same rows have the
        same folds however the frame is cut, and as :class:`~aucross.HashedFolds` in memory. By default the hash of
        all features.
    seed : int, default=0
        Another number gives other folds.
    placement : {"optimal", "centered"}, default="optimal"
        How the band is placed, as for :class:`~aucross.AUCross`.
    nested : bool, default=False
        Whether bands of lower coverages contain those of higher ones.
    statistic : {"auto", "exact", "binned"}, default="auto"
        ``"exact"`` counts distinct float32 scores, ``"binned"`` the top 20 bits of each, which takes about a megabyte
        whatever the number of rows. ``"auto"`` is exact up to 5 million rows.
    maxFitAttempts : int, default=3
        How often a fit is tried that loses a worker. XGBoost aborts when it does, so the fit begins anew.
    predictionCol, scoreCol, decisionCol : str
        Names of the columns that ``transform`` adds.

    Notes
    -----
    Models are trained one after the other. Trees depend in their last digits on the order in which a booster adds up
    its rows; on the same models the bands are the same for any number of partitions.
    """

    placement: Param[Any] = Param(OF_A_CLASS, "placement", "optimal or centered", TypeConverters.toString)
    nested: Param[bool] = Param(OF_A_CLASS, "nested", "whether bands are nested", TypeConverters.toBoolean)

    def __init__(self, estimator: Any = None, **params: Any) -> None:
        super().__init__()
        self._setDefault(placement="optimal", nested=False)
        self.setParams(estimator=estimator, **params)

    def classifier(self, model: Any) -> Any:
        """The classifier in memory that places the bands, not fitted."""
        return AUCross(
            model,
            coverage=self.getOrDefault(self.coverage),
            cv=self._folds(),
            placement=self.getOrDefault(self.placement),
            nested=self.getOrDefault(self.nested),
        )


class SparkPlugInAUC(SparkAUCross):
    """Wrap a classifier on Spark so that it abstains where ranking errors are made, with hold-out scores.

    :class:`~aucross.PlugInAUC` as an estimator of ``pyspark.ml``: one model is trained, on all folds but the first,
    which places the band. Parameters are those of :class:`SparkAUCross`, with ``numFolds=10`` by default.
    """

    refits = False

    def __init__(self, estimator: Any = None, **params: Any) -> None:
        super().__init__()
        self._setDefault(numFolds=10)
        self.setParams(estimator=estimator, **params)

    def classifier(self, model: Any) -> Any:
        """The classifier in memory that places the band, not fitted."""
        return PlugInAUC(
            model,
            coverage=self.getOrDefault(self.coverage),
            cv=self._folds(),
            placement=self.getOrDefault(self.placement),
            nested=self.getOrDefault(self.nested),
        )


class SparkSCross(_SparkSelective):
    """Wrap a classifier on Spark so that it abstains where it is least confident, with cross-fitted confidences.

    :class:`~aucross.SCross` as an estimator of ``pyspark.ml``. Parameters are those of :class:`SparkAUCross`, without
    ``placement`` and ``nested``.
    """

    def classifier(self, model: Any) -> Any:
        """The classifier in memory that places the threshold, not fitted."""
        return SCross(model, coverage=self.getOrDefault(self.coverage), cv=self._folds())


class SparkSelectiveModel(Model, SelectiveParams, MLReadable[Any], MLWritable):
    """A fitted selective classifier on Spark; made by ``fit`` of :class:`SparkAUCross` and its like.

    ``transform`` adds the columns ``score``, ``prediction`` and ``decision``, which is ``"automatic"`` or ``"review"``.

    Parameters
    ----------
    classifier : SelectiveClassifier
        The classifier in memory whose bands decide.
    base : Model of pyspark.ml, optional
        Gives the scores; by default the classifier does, in the Python workers.
    """

    def __init__(self, classifier: Any = None, base: Any = None) -> None:
        super().__init__()
        self._classifier, self._base = classifier, base

    @property
    def baseModel(self) -> Any:
        """The model of ``pyspark.ml`` whose ``transform`` gives the scores; None if it runs in the Python workers."""
        return self._base

    def toLocal(self) -> Any:
        """Return the classifier in memory.

        Returns
        -------
        SelectiveClassifier
            With a booster of XGBoost or a classifier in memory it reads features, and decides as this model does;
            ``aucross.save`` stores it. With another base model it reads the column of scores that ``transform`` adds.
        """
        return self._classifier

    def band(self, coverage: float | None = None, bandGroup: Any = None) -> RejectionBand:
        """The band of scores that goes to review.

        Parameters
        ----------
        coverage : float in (0, 1], optional
            That of the model by default.
        bandGroup : label, optional
            The group whose band to return, if there are groups.

        Returns
        -------
        RejectionBand
        """
        return self._classifier.band(self.getOrDefault(self.coverage) if coverage is None else coverage, bandGroup)

    def scored(self, dataset: DataFrame) -> tuple[DataFrame, Any]:
        """Rows as the classifier in memory reads them, and the names of the columns that it reads."""
        if self._base is None:
            return dataset, self.getOrDefault(self.featuresCol)
        score = self.getOrDefault(self.scoreCol)
        return FittedBase(self._base, on_spark=True).with_score(dataset, score), [score]

    def recalibrate(self, dataset: DataFrame, *, label_shift: bool = False) -> SparkSelectiveModel:
        """Place the bands anew on rows without labels, from counts of their scores.

        Parameters
        ----------
        dataset : DataFrame
            Unlabelled rows, such as the cases of last month, with ``weightCol`` and ``bandGroupCol`` if they are set.
        label_shift : bool, default=False
            Whether the share of positives may have changed since the fit.

        Returns
        -------
        SparkSelectiveModel
            A copy with other bands and the same model.
        """
        rows, features = self.scored(dataset)
        classifier = spark_recalibrate(
            self._classifier,
            rows,
            features=features,
            weight=self.value_of("weightCol"),
            band_groups=self.value_of("bandGroupCol"),
            label_shift=label_shift,
        )
        return self._copyValues(SparkSelectiveModel(classifier, self._base))

    def evaluate(
        self, dataset: DataFrame, coverages: Iterable[float] | None = None, **options: Any
    ) -> SelectiveEvaluation:
        """Evaluate the model on labelled rows that it was not fitted on, from rankings of the partitions.

        Parameters
        ----------
        dataset : DataFrame
            Rows with labels.
        coverages : iterable of float in (0, 1], optional
            Target coverages.
        **options
            ``bits`` and ``confidence_level`` of :func:`spark_evaluate`.

        Returns
        -------
        SelectiveEvaluation
        """
        rows, features = self.scored(dataset)
        names = self._names_to_rank()
        return spark_evaluate(self._classifier, rows, coverages=coverages, features=features, **names, **options)

    def promise(self, dataset: DataFrame, **options: Any) -> SelectivePromise:
        """Say how much of the coverage and of the AUC can be promised, from labelled rows that are new to the model.

        Parameters
        ----------
        dataset : DataFrame
            Rows with labels.
        **options
            ``promised_coverage`` and ``confidence`` of :func:`spark_promise`.

        Returns
        -------
        SelectivePromise
        """
        rows, features = self.scored(dataset)
        names, coverage = self._names_to_rank(), self.getOrDefault(self.coverage)
        return spark_promise(self._classifier, rows, coverage=coverage, features=features, **names, **options)

    def _names_to_rank(self) -> dict[str, Any]:
        given = {"label": "labelCol", "weight": "weightCol", "band_groups": "bandGroupCol"}
        return {argument: self.value_of(name) for argument, name in given.items()}

    def copy(self, extra: Any = None) -> Self:
        """Copy with other parameters."""
        copied = super().copy(extra)
        copied._classifier, copied._base = self._classifier, self._base
        return copied

    def write(self) -> ModelWriter:
        """Return a writer, as of every model of ``pyspark.ml``."""
        return ModelWriter(self)

    @classmethod
    def read(cls) -> ModelReader:
        """Return a reader, as of every model of ``pyspark.ml``."""
        return ModelReader(cls)

    def _transform(self, dataset: DataFrame) -> DataFrame:
        score, prediction, decision = (self.getOrDefault(f"{name}Col") for name in ("score", "prediction", "decision"))
        # A label that follows from the score, and a band, are told by Spark itself: one column comes back from Python.
        answers_by_score = self._base is not None or self._classifier.held_out_.answers_by_score
        if answers_by_score and self._classifier.band_rule_.group_labels is None:
            refuse_taken_columns(dataset, (score, prediction, decision))
            rows, features = self.scored(dataset)
            if self._base is None:
                rows = with_scores(self._classifier, dataset, features, score)
            return rows.withColumn(prediction, (F.col(score) > 0.5).cast("double")).withColumn(
                decision, self._decision(F.col(score))
            )
        rows, features = self.scored(dataset)
        decided = spark_decide(
            self._classifier,
            rows,
            features=features,
            coverage=self.getOrDefault(self.coverage),
            band_groups=self.value_of("bandGroupCol"),
            score_col=score if self._base is None else SCORE,  # a model of Spark has added its own
            prediction_col=prediction,
            decision_col=decision,
        )
        return decided.withColumn(prediction, F.col(prediction).cast("double")).drop(SCORE)

    def _decision(self, score: Column) -> Column:
        """The band as an expression of Spark, for scores that need no Python; what is no score goes to review."""
        band = self.band()
        if self._classifier.band_rule_.axis == "confidence":
            score = F.greatest(score, 1 - score)
        is_automatic = ~F.isnan(score) & ((score < F.lit(band.lower)) | (score > F.lit(band.upper)))
        return F.when(is_automatic, AUTOMATIC).otherwise(REVIEW)
