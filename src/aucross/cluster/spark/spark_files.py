"""Estimators and models of Spark in folders, as ``pyspark.ml`` writes and reads them.

::

    path/metadata      parameters, as of every part of pyspark.ml
    path/estimator     the base classifier of an estimator, by its own writer
    path/base          the base model of a model, by its own writer, if its transform gives the scores
    path/classifier    the classifier in memory, as aucross.save writes it, in one row of Parquet

With a key in ``AUCROSS_KEY_FILE`` the classifier is signed and names the content of what lies beside it, so that a
fitted model is read only as an owner of the key wrote it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

from pyspark.ml.util import DefaultParamsReader, DefaultParamsWriter, MLReader, MLWritable, MLWriter
from pyspark.sql import functions as F

from aucross.files.model_file import load, read_header, read_metadata, save
from aucross.files.signing import signing_key

# Name in the file of a classifier of what lies beside it.
_BESIDE = "beside"


class FolderWriter(MLWriter):
    """Writer of an estimator or a model, by a function of it, a path and a session."""

    def __init__(self, instance: Any, save_to: Callable[[Any, str, Any], None]) -> None:
        super().__init__()
        self._instance, self._save_to = instance, save_to

    def saveImpl(self, path: str) -> None:
        """Write to a new folder."""
        self._save_to(self._instance, path, self.sparkSession)


class FolderReader(MLReader[Any]):
    """Reader of an estimator or a model, by a function of its class, a path and a session."""

    def __init__(self, cls: type[Any], load_from: Callable[[Any, str, Any], Any]) -> None:
        super().__init__()
        self._cls, self._load_from = cls, load_from

    def load(self, path: str) -> Any:
        """Read from a folder."""
        return self._load_from(self._cls, path, self.sparkSession)


def save_estimator(estimator: Any, path: str, spark: Any) -> None:
    """Write an estimator that is not fitted."""
    base = estimator.value_of("estimator")
    if not isinstance(base, MLWritable):
        raise ValueError(
            f"the base classifier must be one of pyspark.ml to be written, got {type(base).__name__}; write the "
            "fitted model, or store this estimator's parameters in your code"
        )
    _save_metadata(estimator, path, spark)
    base.save(f"{path}/estimator")


def load_estimator(cls: type[Any], path: str, spark: Any) -> Any:
    """Read an estimator that is not fitted."""
    base: Any = DefaultParamsReader.loadParamsInstance(f"{path}/estimator", spark)
    return _with_metadata(cls(), path, spark).setParams(estimator=base)


def save_model(model: Any, path: str, spark: Any) -> None:
    """Write a fitted model."""
    base, clf, key = model.baseModel, model.toLocal(), signing_key()
    _as_bytes(clf, {}, None)  # what cannot be stored is refused before anything is written
    _save_metadata(model, path, spark, has_base=base is not None)
    if base is not None:
        base.save(f"{path}/base")
    beside = {} if key is None else {_BESIDE: _digest(spark, path, has_base=base is not None)}
    content = _as_bytes(clf, beside, key)
    spark.createDataFrame([(content,)], "classifier binary").write.parquet(f"{path}/classifier")


def load_model(cls: type[Any], path: str, spark: Any) -> Any:
    """Read a fitted model."""
    key = signing_key()
    content = bytes(spark.read.parquet(f"{path}/classifier").collect()[0]["classifier"])
    has_base = DefaultParamsReader.loadMetadata(path, spark)["has_base"]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "classifier.aucross"
        file.write_bytes(content)
        clf, beside = load(file, key=key), read_metadata(file, key=key)
    if key is not None and beside.get(_BESIDE) != _digest(spark, path, has_base=has_base):
        raise ValueError(
            f"{path} is refused: its parameters or its base model are not those that were signed; write the model "
            "again, or get the folder again from where it was written"
        )
    base = DefaultParamsReader.loadParamsInstance(f"{path}/base", spark) if has_base else None
    return _with_metadata(cls(clf, base), path, spark)


def _save_metadata(instance: Any, path: str, spark: Any, *, has_base: bool = False) -> None:
    params = {param.name: value for param, value in instance.extractParamMap().items() if instance.isSet(param)}
    params.pop("estimator", None)
    DefaultParamsWriter.saveMetadata(instance, path, spark, extraMetadata={"has_base": has_base}, paramMap=params)


def _with_metadata(instance: Any, path: str, spark: Any) -> Any:
    metadata = DefaultParamsReader.loadMetadata(path, spark)
    DefaultParamsReader.getAndSetParams(instance.with_uid(metadata["uid"]), metadata)
    return instance


def _digest(spark: Any, path: str, *, has_base: bool) -> str:
    """Return a digest of the files beside the classifier."""
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
