"""Rows of a Spark frame, for the protocol of ``cluster/engine.py``; columns are sent to Python as Arrow.

=============================  =====================================  ==========================================
base model                     trained                                scores
=============================  =====================================  ==========================================
``SparkXGBClassifier``         by Spark, one fit at a time            by the same booster in the Python workers
a classifier in memory         on the driver, on rows collected       by the same model in the Python workers
another one of ``pyspark.ml``  by Spark, one fit at a time            by its ``transform``
=============================  =====================================  ==========================================
"""

from __future__ import annotations

import os
import pickle
import shutil
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import reduce
from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark import StorageLevel, TaskContext
from pyspark.errors import PySparkException
from pyspark.ml import Estimator
from pyspark.ml.functions import vector_to_array
from pyspark.ml.linalg import VectorUDT
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DecimalType
from sklearn.base import clone

from aucross.cluster.classifier import fold_and_half
from aucross.cluster.decision_folder import RunParts
from aucross.cluster.engine import LostWorkerError, Part, TrainedModel
from aucross.estimators.hashed_folds import HashedFolds
from aucross.estimators.held_out import trained_as_on_all_rows
from aucross.estimators.row_hash import hash_rows
from aucross.estimators.score_column import ScoreColumn
from aucross.frames import library_of, take_rows
from aucross.system.libraries import import_library

FOLD, HALF, SCORE, _MADE = "_aucross_fold", "_aucross_half", "_aucross_score", "_aucross_made"

# Counts that one task merges, and those of batches that a partition keeps before it merges them.
_FAN_IN, _MOST_KEPT = 32, 16

# Spark sends ten thousand rows at a time. Several models that each score a part of them take longer for ten such
# batches than for one of their size; wide rows are counted before they fill the memory.
_ROWS_AT_A_TIME, _BYTES_AT_A_TIME = 100_000, 1 << 26

_COUNTS, _ARROW_COUNTS = "part int, counts binary", pa.schema([("part", pa.int32()), ("counts", pa.binary())])

# Two fits of a booster at a time could each hold half of the task slots and wait for the other half without end.
_one_fit_at_a_time = Lock()

# What Spark and XGBoost say when a worker, its machine or the connection to it is gone; other errors come again.
_WORDS_OF_LOSS = (
    *("worker exited unexpectedly", "ExecutorLostFailure", "Could not recover from a failed barrier", "Connection re"),
    *("EOFException", "TaskKilled", "socket", "tracker", "collective"),
)

# The field of a part that each argument names a column for.
_FIELDS = {
    **dict.fromkeys(("label", "labelCol"), "y"),
    **dict.fromkeys(("weight", "weightCol"), "sample_weight"),
    **dict.fromkeys(("band_groups", "bandGroupCol"), "band_groups"),
    **dict.fromkeys(("groups", "keyCol"), "groups"),
}

# Files that each task slot writes between two reports of how far it is.
_ROUND = 8


@dataclass(frozen=True)
class FeatureColumns:
    """Names of the columns that a model reads: columns of single values, or one column of vectors."""

    names: tuple[str, ...]
    is_vector: bool = False

    @classmethod
    def of(cls, df: DataFrame, names: str | Sequence[str], argument: str = "features") -> FeatureColumns:
        """Find the columns in a frame."""
        wanted = (names,) if isinstance(names, str) else tuple(names)
        if not wanted:
            raise ValueError(f"{argument} must name at least one column, got none")
        check_columns(df, wanted, argument)
        are_vectors = [isinstance(df.schema[name].dataType, VectorUDT | ArrayType) for name in wanted]
        if len(wanted) > 1 and any(are_vectors):
            raise ValueError(
                f"{argument} must be columns of single values or one column of vectors, got {list(wanted)}, of which "
                "some are vectors; put all into one with VectorAssembler"
            )
        return cls(wanted, are_vectors[0])

    def columns(self, df: DataFrame) -> dict[str, Column]:
        """Return the columns in the form for the workers, named by position."""
        return {f"X{place}": self._as_read(df, name).alias(f"X{place}") for place, name in enumerate(self.names)}

    def read(self, batch: pa.RecordBatch) -> Any:
        """Return the features of a batch of rows: a pandas frame, or a matrix of float64."""
        columns = [batch.column(f"X{place}") for place in range(len(self.names))]
        if not self.is_vector:
            return pa.Table.from_arrays(columns, names=list(self.names)).to_pandas()
        vectors = columns[0]
        lengths = np.diff(np.asarray(vectors.offsets))
        if vectors.null_count or (lengths != lengths[0]).any():
            raise ValueError(
                f"the column {self.names[0]!r} must hold a vector of the same length in each row, got "
                f"{vectors.null_count} missing ones and lengths from {lengths.min()} to {lengths.max()}; assemble it "
                "again"
            )
        return vectors.flatten().to_numpy(zero_copy_only=False).reshape(len(vectors), int(lengths[0]))

    def _as_read(self, df: DataFrame, name: str) -> Column:
        column, kind = F.col(f"`{name}`"), df.schema[name].dataType
        if isinstance(kind, VectorUDT):
            return vector_to_array(column)
        # Decimals are objects to pandas, which no model reads.
        if isinstance(kind, DecimalType):
            return column.cast("double")
        return column.cast("array<double>") if self.is_vector else column


def check_columns(df: DataFrame, names: Sequence[str], argument: str) -> None:
    """Refuse names of columns that a frame lacks."""
    if lacking := [name for name in names if name not in df.columns]:
        raise ValueError(
            f"{argument} must be columns of the frame, got {lacking[0]!r}, which it lacks; add or rename it"
        )


@dataclass(frozen=True)
class SparkRows:
    """Rows of a frame."""

    df: DataFrame
    features: FeatureColumns  # what a model reads of them
    names: Mapping[str, str]  # the column of each further field of a part
    score_col: str = SCORE  # for scores of a model of Spark

    @classmethod
    def of(
        cls,
        df: DataFrame,
        features: str | Sequence[str],
        columns: Mapping[str, str | None],
        *,
        argument: str = "features",
        score_col: str = SCORE,
    ) -> SparkRows:
        """Find the columns of rows. `columns` gives for each argument the column that it names, or None."""
        given = {name: column for name, column in columns.items() if column is not None}
        for name, column in given.items():
            check_columns(df, [column], name)
        names = {_FIELDS[name]: column for name, column in given.items()}
        return cls(df, FeatureColumns.of(df, features, argument), names, score_col)

    @contextmanager
    def folded(self, folds: HashedFolds, *, halves: bool) -> Iterator[SparkRows]:
        """Keep the columns that a fit reads, with the fold and the half of each row."""
        placed = {FOLD: "int", HALF: "int"} if halves else {FOLD: "int"}
        rows = self.mapped(fold_and_half, (folds, halves), placed, self._decides_fold)
        named = dict.fromkeys([*self.features.names, *self.names.values(), *placed])
        kept = rows.select(*(F.col(f"`{name}`") for name in named)).persist(StorageLevel.MEMORY_AND_DISK)
        names = {**self.names, **dict(zip(("fold", "half"), placed, strict=False))}
        try:
            yield replace(self, df=kept, names=names)
        finally:
            kept.unpersist()

    def taken(self, folds: HashedFolds, *, first: bool) -> SparkRows:
        """Return the rows of the first fold, or of all other folds."""
        placed = self.mapped(fold_and_half, (folds, False), {FOLD: "int"}, self._decides_fold)
        return replace(self, df=placed.where(F.col(FOLD) == 0 if first else F.col(FOLD) != 0).drop(FOLD))

    def train(self, estimator: Any, *, n_rows: int, without_fold: int | None = None) -> TrainedModel:
        """Train on Spark, or on the driver if the classifier trains in memory."""
        df = self.df if without_fold is None else self.df.where(F.col(FOLD) != without_fold)
        try:
            with _one_fit_at_a_time:
                if not isinstance(estimator, Estimator):
                    return TrainedModel(self._trained_in_memory(df, trained_as_on_all_rows(estimator, n_rows)))
                model: Any = self.reading(estimator).fit(df)
        except (Py4JJavaError, PySparkException) as error:
            if any(word in str(error) for word in _WORDS_OF_LOSS):
                raise LostWorkerError(f"{type(error).__name__}: {str(error)[:200]}") from error
            raise
        local = local_model(estimator, self.score_col)
        if isinstance(local, ScoreColumn):
            return TrainedModel(local.fit_without_rows((0, 1)), model)
        booster = model.get_booster()
        if not self.features.is_vector:
            booster.feature_names = list(self.features.names)
        local.load_model(bytearray(booster.save_raw("ubj")))
        return TrainedModel(local)

    def held_out(self, models: Sequence[TrainedModel]) -> tuple[SparkRows, list[Any]]:
        """Return the rows of the folds that `models` left out, with scores if models of Spark compute them."""
        if models[0].on_engine is None:
            rows = self.df.where(F.col(FOLD) < len(models))
            return replace(self, df=rows), [model.local for model in models]
        scored = (
            with_score(model.on_engine, self.df.where(F.col(FOLD) == fold), self.score_col)
            for fold, model in enumerate(models)
        )
        rows = reduce(DataFrame.union, scored)
        return replace(self, df=rows, features=FeatureColumns((self.score_col,))), [model.local for model in models]

    def counted(
        self, count: Any, sent: Any, merge: Callable[[Sequence[Any]], Any], reads: Collection[str] = Part._fields
    ) -> Any:
        """Count each partition in place, and merge counts in the order of the partitions.

        Because of this order, the result is the same if a task is repeated or ends late.
        """
        read, part_of = self._travelling(reads)
        light = self.df.sparkSession.sparkContext.broadcast(sent)

        def count_partition(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            kept: list[Any] = []
            for batch in _joined(batches):
                counts = count(part_of(batch), light.value)
                kept += [] if counts is None else [counts]
                if len(kept) >= _MOST_KEPT:
                    kept = [merge(kept)]
            context = TaskContext.get()
            assert context is not None
            if kept:
                yield _as_row(context.partitionId(), merge(kept))

        def merge_parts(parts: pa.Table) -> pa.Table:
            counts = _in_order(parts.to_pylist())
            return pa.Table.from_batches([_as_row(min(parts["part"].to_pylist()), merge(counts))])

        counted = self.df.select(*read.values()).mapInArrow(count_partition, _COUNTS)
        rows = counted.groupBy(F.floor(F.col("part") / _FAN_IN)).applyInArrow(merge_parts, _COUNTS).collect()
        if not rows:
            raise ValueError("the frame must hold at least one row, got none; check what it was filtered by")
        return merge(_in_order([row.asDict() for row in rows]))

    def mapped(
        self, answer: Any, sent: Any, like: Mapping[str, str], reads: Collection[str] = Part._fields
    ) -> DataFrame:
        """Return the frame with further columns, of the names and types of `like`, computed batch by batch as Arrow."""
        read, part_of = self._travelling(reads)
        given, light = list(read), self.df.sparkSession.sparkContext.broadcast(sent)
        types = {name: _ARROW[kind] for name, kind in like.items()}

        def run(batches: Iterator[Any]) -> Iterator[pa.Array]:
            for batch in batches:
                arrays = list(batch) if isinstance(batch, tuple) else [batch]  # a column alone comes as it is
                rows = pa.RecordBatch.from_arrays(arrays, names=given)
                made = answer(part_of(rows), light.value) if rows.num_rows else [[] for _ in types]
                columns = [pa.array(values, type=kind) for values, kind in zip(made, types.values(), strict=True)]
                yield pa.StructArray.from_arrays(columns, names=list(types))

        # Annotations as values: those of this file are texts, which Spark does not read. Columns travel one beside the
        # other: Spark takes a quarter longer to put them into a struct first.
        one: Any = pa.Array if len(given) == 1 else tuple[pa.Array, ...]
        run.__annotations__ = {"batches": Iterator[one], "return": Iterator[pa.Array]}
        arrow_udf: Any = vars(F)["arrow_udf"]  # missing in the types of pyspark
        made_of = arrow_udf(run, ", ".join(f"`{name}` {kind}" for name, kind in like.items()))
        made = self.df.withColumn(_MADE, made_of(*read.values()))
        return made.withColumns({name: F.col(_MADE).getField(name) for name in like}).drop(_MADE)

    def first(self, n_rows: int) -> Any:
        """Fetch the features of at most `n_rows` rows."""
        rows = self.df.select(*self.features.columns(self.df).values()).limit(n_rows).toArrow().combine_chunks()
        batches = rows.to_batches()
        return self.features.read(batches[0]) if batches else None

    def reading(self, estimator: Any) -> Any:
        """Return a copy of an estimator of ``pyspark.ml`` that reads the columns of these rows."""
        base, features, weight = estimator.copy(), self.features, self.names.get("sample_weight")
        names: Any = features.names[0] if features.is_vector else list(features.names)
        if type(base).__module__.startswith("xgboost.spark"):
            of_weight = {} if weight is None else {"weight_col": weight}
            base.setParams(features_col=names, label_col=self.names["y"], **of_weight)
            return base
        if not features.is_vector:
            raise ValueError(
                f"featuresCol must be one column of vectors for {type(estimator).__name__}, got {names}; put them into "
                "one with VectorAssembler"
            )
        if not base.hasParam("probabilityCol"):
            raise TypeError(
                f"estimator must give probabilities, got {type(estimator).__name__}, which has no probabilityCol; pass "
                "LogisticRegression, GBTClassifier, SparkXGBClassifier or the like"
            )
        of_weight = {} if weight is None else {"weightCol": weight}
        for name, value in {"featuresCol": names, "labelCol": self.names["y"], **of_weight}.items():
            base.set(base.getParam(name), value)
        return base

    def _trained_in_memory(self, df: DataFrame, estimator: Any) -> Any:
        """Train on collected rows, in an order that does not depend on the partitions."""
        read, part_of = replace(self, df=df)._travelling(("X", "y", "sample_weight"))
        part = part_of(df.select(*read.values()).toArrow().combine_chunks().to_batches()[0])
        weight = np.ones(len(part.y)) if part.sample_weight is None else part.sample_weight
        order = np.lexsort((weight, part.y, hash_rows(part.X)))
        X = take_rows(part.X, order)
        given = {} if part.sample_weight is None else {"sample_weight": weight[order]}
        return clone(estimator).fit(
            X.reset_index(drop=True) if library_of(X) == "pandas" else X, part.y[order], **given
        )

    @property
    def _decides_fold(self) -> tuple[str, ...]:
        return ("groups",) if "groups" in self.names else ("X",)

    def _travelling(self, fields: Collection[str]) -> tuple[dict[str, Column], Callable[[pa.RecordBatch], Part]]:
        """Return the columns of some fields in the form for the workers, and a function that reads a batch of them."""
        features = self.features if "X" in fields else None
        named = {field: name for field, name in self.names.items() if field in fields}
        read = {} if features is None else features.columns(self.df)
        for field, name in named.items():
            column = F.col(f"`{name}`")
            read[field] = (column.cast("double") if field == "sample_weight" else column).alias(field)

        def part_of(batch: pa.RecordBatch) -> Part:
            columns = {field: batch.column(field).to_pandas().to_numpy() for field in named}
            return Part(None if features is None else features.read(batch), **columns)

        return read, part_of


_ARROW = {"double": pa.float64(), "array<double>": pa.list_(pa.float64()), "int": pa.int32(), "boolean": pa.bool_()}


def with_score(model: Any, df: DataFrame, score_col: str) -> DataFrame:
    """Add only the positive-class probability that a Spark model's ``transform`` computes."""
    score = vector_to_array(F.col(model.getProbabilityCol()))[1].alias(score_col)
    return model.transform(df).select(*(f"`{name}`" for name in df.columns), score)


def local_model(estimator: Any, score_col: str) -> Any:
    """Return a base classifier's unfitted in-memory counterpart, or a score column if Spark computes the scores."""
    if not isinstance(estimator, Estimator):
        if hasattr(estimator, "predict_proba"):
            return estimator
        raise TypeError(
            "estimator must be a classifier of pyspark.ml, such as SparkXGBClassifier, or one in memory with "
            f"predict_proba, got {type(estimator).__name__}"
        )
    if not type(estimator).__module__.startswith("xgboost.spark"):
        return ScoreColumn(score_col)
    margin: Any = estimator.getParam("base_margin_col")
    if estimator.isDefined(margin) and estimator.getOrDefault(margin):
        return ScoreColumn(score_col)
    from xgboost import XGBClassifier  # noqa: PLC0415  (optional)

    return XGBClassifier(n_jobs=1, missing=estimator.getOrDefault("missing"))


def _joined(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    waiting: list[pa.RecordBatch] = []
    n_rows = n_bytes = 0
    for batch in batches:
        waiting += [batch] if batch.num_rows else []
        n_rows, n_bytes = n_rows + batch.num_rows, n_bytes + batch.nbytes
        if n_rows >= _ROWS_AT_A_TIME or n_bytes >= _BYTES_AT_A_TIME:
            yield from pa.Table.from_batches(waiting).combine_chunks().to_batches()
            waiting, n_rows, n_bytes = [], 0, 0
    if waiting:
        yield from pa.Table.from_batches(waiting).combine_chunks().to_batches()


def _as_row(part: int, counts: Any) -> pa.RecordBatch:
    return pa.record_batch([[part], [pickle.dumps(counts)]], schema=_ARROW_COUNTS)


def _in_order(rows: list[dict[str, Any]]) -> list[Any]:
    return [pickle.loads(row["counts"]) for row in sorted(rows, key=lambda row: row["part"])]


@dataclass(frozen=True)
class SparkEngine:
    """A Spark cluster, for the command line."""

    session: SparkSession
    boosters = ("xgboost",)

    @property
    def about(self) -> str:
        """Number of tasks that run at a time, and the address of the dashboard."""
        context = self.session.sparkContext
        dashboard = f", dashboard at {context.uiWebUrl}" if context.uiWebUrl else ""
        return f"Spark {context.version}: {context.defaultParallelism} tasks at a time at {context.master}{dashboard}"

    def booster(self, library: str, seed: int) -> tuple[Any, Any]:
        """Make the classifier of a library that trains on all workers, and its counterpart in memory."""
        xgboost = import_library(f"{library}.spark", purpose=f"--base {library}", extra="spark")
        n_workers = self.session.sparkContext.defaultParallelism
        model = xgboost.SparkXGBClassifier(random_state=seed, verbosity=0, num_workers=n_workers)
        return model, local_model(model, SCORE)

    def read(
        self, folder: str, features: Sequence[str], label: str, sample_weight: str | None, groups: str | None
    ) -> SparkRows:
        """Read a folder of Parquet files."""
        df = self.session.read.parquet(folder)
        df = df.withColumn(label, F.col(f"`{label}`").cast("long"))
        return SparkRows.of(df, features, {"label": label, "weight": sample_weight, "groups": groups})

    def run_parts(self, told: Callable[[int, int], None] | None = None) -> RunParts:
        """Return a runner that applies a function to each part number, in rounds that keep all workers busy."""
        context = self.session.sparkContext

        def run(function: Callable[[int], Any], parts: Sequence[int]) -> Iterator[Any]:
            sent = context.broadcast(function)  # it holds the classifier
            at_a_time = _ROUND * context.defaultParallelism
            for start in range(0, len(parts), at_a_time):
                numbers = parts[start : start + at_a_time]
                tasks = context.parallelize(numbers, len(numbers))
                yield from tasks.map(lambda part: sent.value(part)).collect()  # noqa: PLW0108  (on the worker)
                if told is not None:
                    told(start + len(numbers), len(parts))

        return run


@contextmanager
def open_engine(address: str | None = None) -> Iterator[SparkEngine]:
    """Connect to the master at an address, or start Spark on this machine; use an active session unchanged."""
    active = SparkSession.getActiveSession()
    session = active or _started(address)
    try:
        yield SparkEngine(session)
    finally:
        if active is None:
            session.stop()


def _started(address: str | None) -> SparkSession:
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        raise ConnectionError("Spark needs Java 17: install openjdk-17-jre-headless, or set JAVA_HOME")
    # The workers must run this Python, not whichever is called python3.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder: Any = SparkSession.builder
    try:
        builder = builder.appName("aucross").config("spark.ui.showConsoleProgress", "false")
        # With retries: plain local[2] fails a job with the first worker that is lost.
        session: SparkSession = builder.master(address or f"local[{os.cpu_count()},4]").getOrCreate()
    except Exception as error:
        raise ConnectionError(
            f"Spark does not start with the master {address or 'local'} ({type(error).__name__}); check the address, "
            "such as spark://10.0.0.1:7077, and that Java 17 runs"
        ) from error
    session.sparkContext.setLogLevel("ERROR")
    return session
