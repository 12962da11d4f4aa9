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
from hashlib import sha256
from pathlib import Path
from typing import Any

from pyspark.ml.param import Params
from pyspark.ml.util import DefaultParamsReader, DefaultParamsWriter, MLReader, MLWritable, MLWriter
from pyspark.sql import functions as F

from aucross.files.model_file import load, read_header, read_metadata, save
from aucross.files.signing import signing_key

# Name in the file of a classifier of what lies beside it.
_BESIDE = "beside"


class EstimatorWriter(MLWriter):
    """Writes an estimator that is not fitted."""

    def __init__(self, instance: Any) -> None:
        super().__init__()
        self.instance = instance

    def saveImpl(self, path: str) -> None:
        """Write to a new folder."""
        base = self.instance.value_of("estimator")
        if not isinstance(base, MLWritable):
            raise ValueError(
                f"the base classifier must be one of pyspark.ml to be written, got {type(base).__name__}; write the "
                "fitted model, or store this estimator's parameters in your code"
            )
        _save_metadata(self.instance, path, self.sparkSession)
        base.save(f"{path}/estimator")


class EstimatorReader(MLReader[Any]):
    """Reads an estimator that is not fitted."""

    def __init__(self, cls: type[Any]) -> None:
        super().__init__()
        self.cls = cls

    def load(self, path: str) -> Any:
        """Read from a folder."""
        instance = _load_metadata(self.cls(), path, self.sparkSession)
        return instance.setParams(estimator=_load_part(f"{path}/estimator", self.sparkSession))


class ModelWriter(MLWriter):
    """Writes a fitted model."""

    def __init__(self, instance: Any) -> None:
        super().__init__()
        self.instance = instance

    def saveImpl(self, path: str) -> None:
        """Write to a new folder."""
        base, clf, spark = self.instance.baseModel, self.instance.toLocal(), self.sparkSession
        _as_bytes(clf, {}, None)  # what cannot be stored is refused before anything is written
        _save_metadata(self.instance, path, spark)
        if base is not None:
            base.save(f"{path}/base")
        key = signing_key()
        beside = {} if key is None else {_BESIDE: _digest(spark, path, has_base=base is not None)}
        content = _as_bytes(clf, beside, key)
        spark.createDataFrame([(content,)], "classifier binary").write.parquet(f"{path}/classifier")


class ModelReader(MLReader[Any]):
    """Reads a fitted model."""

    def __init__(self, cls: type[Any]) -> None:
        super().__init__()
        self.cls = cls

    def load(self, path: str) -> Any:
        """Read from a folder."""
        spark, key = self.sparkSession, signing_key()
        content = bytes(spark.read.parquet(f"{path}/classifier").collect()[0]["classifier"])
        has_base = DefaultParamsReader.loadMetadata(path, spark)["has_base"]
        clf, beside = _from_bytes(content, key)
        if key is not None and beside.get(_BESIDE) != _digest(spark, path, has_base=has_base):
            raise ValueError(
                f"{path} is refused: its parameters or its base model are not those that were signed; write the model "
                "anew, or get the folder again from where it was written"
            )
        model = self.cls(clf, _load_part(f"{path}/base", spark) if has_base else None)
        return _load_metadata(model, path, spark)


def _save_metadata(instance: Any, path: str, spark: Any) -> None:
    params = {param.name: value for param, value in instance.extractParamMap().items() if instance.isSet(param)}
    params.pop("estimator", None)
    has_base = getattr(instance, "baseModel", None) is not None
    DefaultParamsWriter.saveMetadata(instance, path, spark, extraMetadata={"has_base": has_base}, paramMap=params)


def _load_metadata(instance: Any, path: str, spark: Any) -> Any:
    metadata = DefaultParamsReader.loadMetadata(path, spark)
    DefaultParamsReader.getAndSetParams(instance.with_uid(metadata["uid"]), metadata)
    return instance


def _load_part(path: str, spark: Any) -> Params:
    return DefaultParamsReader.loadParamsInstance(path, spark)


def _digest(spark: Any, path: str, *, has_base: bool) -> str:
    """Name the content of the files beside the classifier."""
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


def _from_bytes(content: bytes, key: bytes | None) -> tuple[Any, dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "classifier.aucross"
        file.write_bytes(content)
        return load(file, key=key), read_metadata(file, key=key)
