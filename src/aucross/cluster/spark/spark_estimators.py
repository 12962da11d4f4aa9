"""Selective classifiers as estimators and models of ``pyspark.ml``, with their folders.

::

    path/metadata      parameters, as of every part of pyspark.ml
    path/base          the base classifier of an estimator, or a model's base model if that gives the scores
    path/classifier    the classifier in memory of a model, as aucross.save writes it, in one row of Parquet

With a key in ``AUCROSS_KEY_FILE`` the classifier is signed, together with a digest of the files beside it, so that a
fitted model is read only if an owner of the key wrote it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar, Self

from pyspark.ml import Estimator, Model
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import HasLabelCol, HasPredictionCol, HasSeed, HasWeightCol
from pyspark.ml.util import DefaultParamsReader, DefaultParamsWriter, MLReadable, MLReader, MLWritable, MLWriter
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from aucross.cluster.classifier import fit_on_cluster, scored_part
from aucross.cluster.engine import Part
from aucross.cluster.spark.spark_functions import (
    refuse_taken_columns,
    spark_decide,
    spark_evaluate,
    spark_promise,
    spark_recalibrate,
)
from aucross.cluster.spark.spark_rows import SCORE, SparkRows, check_columns, local_model, with_score
from aucross.core.bands import RejectionBand, check_coverage
from aucross.core.rounding import check_statistic
from aucross.estimators.auc import AUCross, PlugInAUC
from aucross.estimators.confidence import SCross
from aucross.estimators.decisions import AUTOMATIC, REVIEW
from aucross.estimators.fitted import light_copy
from aucross.estimators.hashed_folds import HashedFolds
from aucross.evaluation.promise import SelectivePromise
from aucross.evaluation.selective_evaluation import SelectiveEvaluation
from aucross.files.model_file import load, read_header, read_metadata, save
from aucross.files.signing import signing_key

# Name in the file of a classifier of what lies beside it.
_BESIDE = "beside"

# ---- parameters, in the manner of pyspark.ml ----


# Stands for the owner of parameters that belong to a class; each object gets its own copies.
_OF_A_CLASS = HasSeed()
_OF_A_CLASS.uid = "undefined"


def _param(name: str, about: str, convert: Any = TypeConverters.toString) -> Any:
    return Param(_OF_A_CLASS, name, about, convert)


class _SelectiveParams(HasLabelCol, HasPredictionCol, HasWeightCol, HasSeed, MLReadable[Any], MLWritable):
    """Parameters that estimators and models share."""

    featuresCol = _param(
        "featuresCol", "column, or list", lambda v: v if isinstance(v, str) else TypeConverters.toListString(v)
    )
    coverage = _param("coverage", "share of rows to decide automatically", TypeConverters.toFloat)
    scoreCol = _param("scoreCol", "column for the probability of the positive class")
    decisionCol = _param("decisionCol", "column for automatic or review")
    bandGroupCol = _param("bandGroupCol", "column of groups with bands of their own")

    def __init__(self) -> None:
        super().__init__()
        self._setDefault(featuresCol="features", labelCol="label", predictionCol="prediction", scoreCol="score")
        self._setDefault(decisionCol="decision", coverage=0.9, seed=0)

    def setParams(self, **given: Any) -> Self:
        """Set parameters by name."""
        for name, value in given.items():
            if not self.hasParam(name):
                known = ", ".join(sorted(param.name for param in self.params))
                raise TypeError(f"{type(self).__name__} has no parameter {name!r}; it has {known}")
            if value is not None:
                self._set(**{name: value})
        return self

    def setCoverage(self, value: float) -> Self:
        """Set the share of rows to decide automatically; also possible after the fit."""
        return self.setParams(coverage=value)

    @classmethod
    def read(cls) -> FolderReader:
        """Return a reader, as every part of ``pyspark.ml`` does."""
        return FolderReader(cls)

    def with_uid(self, uid: str) -> Self:
        """Set the stored uid."""
        self._resetUid(uid)
        return self

    def value_of(self, name: str) -> Any:
        """Return the value of a parameter; None if it is not set and has no default."""
        param = self.getParam(name)
        return self.getOrDefault(param) if self.isDefined(param) else None


# ---- estimators ----


class _SparkSelective(Estimator[Any], _SelectiveParams):
    """Base class of the estimators."""

    estimator = _param("estimator", "base classifier", TypeConverters.identity)
    numFolds = _param("numFolds", "number of folds", TypeConverters.toInt)
    keyCol = _param("keyCol", "column that decides the fold; all features by default")
    statistic = _param("statistic", "how scores are counted: auto, exact or binned")
    maxFitAttempts = _param("maxFitAttempts", "how often a fit that loses a worker is tried", TypeConverters.toInt)

    # The classifier in memory, its parameters of the same name, defaults, and whether a model of all rows answers.
    local_class: ClassVar[type[Any]]
    local_parameters: ClassVar[tuple[str, ...]] = ("coverage",)
    defaults: ClassVar[dict[str, Any]] = {}
    refits: ClassVar[bool] = True

    def __init__(self, estimator: Any = None, **params: Any) -> None:
        super().__init__()
        self._setDefault(**{"numFolds": 5, "statistic": "auto", "maxFitAttempts": 3, **self.defaults})
        self.setParams(estimator=estimator, **params)

    def copy(self, extra: Any = None) -> Self:
        """Return a copy with other parameters, also with other parameters of the base classifier."""
        copied = super().copy(extra)
        base = self.value_of("estimator")
        if isinstance(base, Params):
            copied.setParams(estimator=base.copy(extra))
        return copied

    def write(self) -> FolderWriter:
        """Return a writer, as every estimator of ``pyspark.ml`` does."""
        return FolderWriter(self, self.value_of("estimator"))

    def _fit(self, dataset: DataFrame) -> SparkSelectiveModel:
        check_coverage(self.value_of("coverage"))
        check_statistic(self.value_of("statistic"))
        if (attempts := self.value_of("maxFitAttempts")) < 1:
            raise ValueError(f"maxFitAttempts must be at least 1, got {attempts}")
        if (estimator := self.value_of("estimator")) is None:
            raise ValueError("estimator must be given: the base classifier, such as SparkXGBClassifier()")
        label = self.value_of("labelCol")
        check_columns(dataset, [label], "labelCol")
        value = F.col(f"`{label}`").cast("double")
        dataset = dataset.withColumn(label, F.when(value.isin(0.0, 1.0), value.cast("long")))  # others are missing
        names = {name: self.value_of(name) for name in ("labelCol", "weightCol", "keyCol", "bandGroupCol")}
        rows = SparkRows.of(
            dataset, self.value_of("featuresCol"), names, argument="featuresCol", score_col=self.value_of("scoreCol")
        )
        base = local_model(estimator, rows.score_col)
        if isinstance(estimator, Estimator):
            rows.reading(estimator)  # what cannot be trained is refused before anything is read
        folds = HashedFolds(self.value_of("numFolds"), seed=self.value_of("seed"))
        given = {name: self.value_of(name) for name in self.local_parameters}
        local, answering, _ = fit_on_cluster(
            self.local_class(base, cv=folds, **given),
            estimator,
            rows,
            refits=self.refits,
            statistic=self.value_of("statistic"),
            attempts=attempts,
            label=repr(label),
            classes=(0, 1),
        )
        return self._copyValues(SparkSelectiveModel(local, answering.on_engine))


class SparkAUCross(_SparkSelective):
    """Let a classifier on Spark abstain where that raises the AUC; bands are placed on cross-fitted scores.

    :class:`~aucross.AUCross` as an estimator of ``pyspark.ml``: for pipelines and cross-validators, with ``write`` and
    ``load``.

    Parameters
    ----------
    estimator : classifier
        ``xgboost.spark.SparkXGBClassifier``, another classifier of ``pyspark.ml`` with a ``probabilityCol``, or a
        classifier in memory with ``predict_proba``, trained on the driver, whose memory must hold the rows.
    featuresCol : str or list of str, default="features"
        One column of vectors, or columns of numbers (for XGBoost and classifiers in memory).
    labelCol : str, default="label"
        Column of labels, 0 and 1.
    weightCol, bandGroupCol : str, optional
        Columns of weights, and of groups that each get a band of their own.
    coverage : float in (0, 1], default=0.9
        Share of rows to decide automatically. A fitted model can change it: ``model.setCoverage(0.8)``.
    numFolds, seed : int, default=5 and 0
        Number of folds, and their seed.
    keyCol : str, optional
        Column that names a row, such as the number of a loan. A hash of it decides the fold, whatever the
        partitions, as with :class:`~aucross.HashedFolds` in memory. By default all features are hashed.
    placement, nested
        As for :class:`~aucross.AUCross`.
    statistic : {"auto", "exact", "binned"}, default="auto"
        ``"exact"`` counts distinct float32 scores, ``"binned"`` the top 20 bits of each, which takes about a megabyte
        whatever the number of rows. ``"auto"`` is exact up to 5 million rows.
    maxFitAttempts : int, default=3
        How often a fit is tried if workers are lost: XGBoost aborts a fit when it loses one.
    predictionCol, scoreCol, decisionCol : str
        Names of the columns that ``transform`` adds.

    Notes
    -----
    Models are trained one after the other. The last digits of trees depend on the order in which a booster adds up its
    rows; given the models, bands are the same for any number of partitions.
    """

    placement = _param("placement", "optimal or centered")
    nested = _param("nested", "whether bands are nested", TypeConverters.toBoolean)

    local_class: ClassVar[type[Any]] = AUCross
    local_parameters = ("coverage", "placement", "nested")
    defaults: ClassVar[dict[str, Any]] = {"placement": "optimal", "nested": False}


class SparkPlugInAUC(SparkAUCross):
    """Let a classifier on Spark abstain where that raises the AUC; bands are placed on hold-out scores.

    :class:`~aucross.PlugInAUC` as an estimator of ``pyspark.ml``: one model is trained on all folds but the first,
    and the first fold places the band. Parameters are those of :class:`SparkAUCross`, with ``numFolds=10`` by default.
    """

    local_class = PlugInAUC
    defaults: ClassVar[dict[str, Any]] = {**SparkAUCross.defaults, "numFolds": 10}
    refits = False


class SparkSCross(_SparkSelective):
    """Let a classifier on Spark abstain where it is least confident, by cross-fitted confidences.

    :class:`~aucross.SCross` as an estimator of ``pyspark.ml``. Parameters are those of :class:`SparkAUCross`, without
    ``placement`` and ``nested``.
    """

    local_class = SCross


# ---- fitted models ----


class SparkSelectiveModel(Model, _SelectiveParams):
    """A fitted selective classifier on Spark; made by ``fit`` of :class:`SparkAUCross` and similar estimators.

    ``transform`` adds the columns ``score``, ``prediction`` and ``decision``, which is ``"automatic"`` or ``"review"``.

    Parameters
    ----------
    classifier : SelectiveClassifier
        The classifier in memory whose bands decide.
    base : Model of pyspark.ml, optional
        Computes the scores; by default the classifier does, in the Python workers.
    """

    def __init__(self, classifier: Any = None, base: Any = None) -> None:
        super().__init__()
        self._classifier, self._base = classifier, base

    @property
    def baseModel(self) -> Any:
        """The ``pyspark.ml`` model whose ``transform`` computes the scores; None if the Python workers compute them."""
        return self._base

    def toLocal(self) -> Any:
        """Return the classifier in memory, which ``aucross.save`` stores.

        If the base model is an XGBoost booster or an in-memory classifier, the result reads features. Otherwise it
        reads the score column that ``transform`` adds.
        """
        return self._classifier

    def band(self, coverage: float | None = None, bandGroup: Any = None) -> RejectionBand:
        """Return the band of scores that goes to review, by default at the coverage of the model."""
        return self._classifier.band(self.value_of("coverage") if coverage is None else coverage, bandGroup)

    def recalibrate(self, dataset: DataFrame, *, label_shift: bool = False) -> SparkSelectiveModel:
        """Return a copy of the model with bands placed on unlabelled rows, as :func:`spark_recalibrate` does.

        The rows need the columns of ``weightCol`` and ``bandGroupCol`` if these parameters are set.
        """
        classifier = spark_recalibrate(self._classifier, **self._read(dataset), label_shift=label_shift)
        return self._copyValues(SparkSelectiveModel(classifier, self._base))

    def evaluate(
        self, dataset: DataFrame, coverages: Iterable[float] | None = None, **options: Any
    ) -> SelectiveEvaluation:
        """Evaluate the model on labelled rows that it was not fitted on, with options of :func:`spark_evaluate`."""
        label = self.value_of("labelCol")
        return spark_evaluate(self._classifier, **self._read(dataset), label=label, coverages=coverages, **options)

    def promise(self, dataset: DataFrame, **options: Any) -> SelectivePromise:
        """Promise a coverage and an AUC from labelled rows new to the model, with options of :func:`spark_promise`."""
        label, coverage = self.value_of("labelCol"), self.value_of("coverage")
        return spark_promise(self._classifier, **self._read(dataset), label=label, coverage=coverage, **options)

    def write(self) -> FolderWriter:
        """Return a writer, as every model of ``pyspark.ml`` does."""
        return FolderWriter(self, self._base, self._classifier)

    def _scored(self, dataset: DataFrame) -> tuple[DataFrame, Any]:
        """Return rows in the form that the classifier in memory reads, and the names of the columns that it reads."""
        if self._base is None:
            return dataset, self.value_of("featuresCol")
        score = self.value_of("scoreCol")
        return with_score(self._base, dataset, score), [score]

    def _read(self, dataset: DataFrame) -> dict[str, Any]:
        df, features = self._scored(dataset)
        groups = self.value_of("bandGroupCol")
        return {"df": df, "features": features, "weight": self.value_of("weightCol"), "band_groups": groups}

    def _transform(self, dataset: DataFrame) -> DataFrame:
        score, prediction, decision = names = [
            self.value_of(f"{name}Col") for name in ("score", "prediction", "decision")
        ]
        clf = self._classifier
        refuse_taken_columns(dataset, names)
        rows, features = self._scored(dataset)
        if clf.band_rule_.group_labels is None and (self._base is not None or clf.held_out_.answers_by_score):
            # A label that follows from the score, and a band, are told by Spark itself: one column comes back from
            # Python.
            if self._base is None:
                rows = SparkRows.of(dataset, features, {}).mapped(_score, light_copy(clf), {score: "double"})
            rows = rows.withColumn(prediction, (F.col(score) > 0.5).cast("double"))
            return rows.withColumn(decision, self._decision(F.col(score)))
        decided = spark_decide(
            clf,
            rows,
            features=features,
            coverage=self.value_of("coverage"),
            band_groups=self.value_of("bandGroupCol"),
            score_col=score if self._base is None else SCORE,  # a model of Spark has added its own
            prediction_col=prediction,
            decision_col=decision,
        )
        return decided.withColumn(prediction, F.col(prediction).cast("double")).drop(SCORE)

    def _decision(self, score: Column) -> Column:
        """Return the decision as a Spark expression; a score that is not a number goes to review."""
        band = self.band()
        if self._classifier.band_rule_.axis == "confidence":
            score = F.greatest(score, 1 - score)
        is_automatic = ~F.isnan(score) & ((score < F.lit(band.lower)) | (score > F.lit(band.upper)))
        return F.when(is_automatic, AUTOMATIC).otherwise(REVIEW)


def _score(part: Part, clf: Any) -> list[Any]:
    return [scored_part(clf, part).score]


# ---- folders ----


class FolderWriter(MLWriter):
    """Writer of an estimator or of a fitted model."""

    def __init__(self, instance: Any, base: Any, classifier: Any = None) -> None:
        super().__init__()
        self._instance, self._base, self._classifier = instance, base, classifier

    def saveImpl(self, path: str) -> None:
        """Write to a new folder; refuse what cannot be stored before writing anything."""
        instance, base, spark, key = self._instance, self._base, self.sparkSession, signing_key()
        if self._classifier is not None:
            _as_bytes(self._classifier, {}, None)
        elif not isinstance(base, MLWritable):
            raise ValueError(
                f"the base classifier must be one of pyspark.ml to be written, got {type(base).__name__}; write the "
                "fitted model, or store this estimator's parameters in your code"
            )
        params = {param.name: value for param, value in instance.extractParamMap().items() if instance.isSet(param)}
        params.pop("estimator", None)
        has_base = {"has_base": base is not None}
        DefaultParamsWriter.saveMetadata(instance, path, spark, extraMetadata=has_base, paramMap=params)
        if base is not None:
            base.save(f"{path}/base")
        if self._classifier is not None:
            beside = {} if key is None else {_BESIDE: _digest(spark, path, **has_base)}
            content = _as_bytes(self._classifier, beside, key)
            spark.createDataFrame([(content,)], "classifier binary").write.parquet(f"{path}/classifier")


class FolderReader(MLReader[Any]):
    """Reader for an estimator class or for fitted models."""

    def __init__(self, cls: type[Any]) -> None:
        super().__init__()
        self._cls = cls

    def load(self, path: str) -> Any:
        """Read from a folder; check the signature before using anything beside the classifier."""
        spark = self.sparkSession
        metadata = DefaultParamsReader.loadMetadata(path, spark)
        given = [_classifier(spark, path, has_base=metadata["has_base"])] if issubclass(self._cls, Model) else []
        base = DefaultParamsReader.loadParamsInstance(f"{path}/base", spark) if metadata["has_base"] else None
        instance = self._cls(*given, base).with_uid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(instance, metadata)
        return instance


def _classifier(spark: Any, path: str, *, has_base: bool) -> Any:
    key = signing_key()
    content = bytes(spark.read.parquet(f"{path}/classifier").collect()[0]["classifier"])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "classifier.aucross"
        file.write_bytes(content)
        clf, beside = load(file, key=key), read_metadata(file, key=key)
    if key is not None and beside.get(_BESIDE) != _digest(spark, path, has_base=has_base):
        raise ValueError(
            f"{path} is refused: its parameters or its base model are not those that were signed; write the model "
            "again, or get the folder again from where it was written"
        )
    return clf


def _digest(spark: Any, path: str, *, has_base: bool) -> str:
    whole = sha256()
    for part in ("metadata", "base") if has_base else ("metadata",):
        files = spark.read.format("binaryFile").option("recursiveFileLookup", "true").load(f"{path}/{part}")
        found = sorted(row[0] for row in files.select(F.sha2("content", 256)).collect())
        whole.update(repr((part, found)).encode())
    return whole.hexdigest()


def _as_bytes(clf: Any, beside: dict[str, str], key: bytes | None) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "classifier.aucross"
        save(clf, file, metadata=beside, key=key)
        if unlisted := read_header(file).unlisted_types:
            raise ValueError(
                f"the classifier must hold listed types only to be written, got {unlisted}; store it with "
                "aucross.save(model.toLocal(), path), which load reads with trusted="
            )
        return file.read_bytes()
