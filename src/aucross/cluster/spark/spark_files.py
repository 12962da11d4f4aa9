"""Estimators and models of Spark in folders, as ``pyspark.ml`` writes and reads them.

::

    path/metadata      parameters, as of every part of pyspark.ml
    path/base          the base classifier of an estimator, or that of a model if its transform gives the scores
    path/classifier    the classifier in memory of a model, as aucross.save writes it, in one row of Parquet

With a key in ``AUCROSS_KEY_FILE`` the classifier is signed and names the content of what lies beside it, so that a
fitted model is read only as an owner of the key wrote it.
"""

from __future__ import annotations

import tempfile
from hashlib import sha256
from pathlib import Path
from typing import Any

from pyspark.ml import Model
from pyspark.ml.util import DefaultParamsReader, DefaultParamsWriter, MLReader, MLWritable, MLWriter
from pyspark.sql import functions as F

from aucross.files.model_file import load, read_header, read_metadata, save
from aucross.files.signing import signing_key

# Name in the file of a classifier of what lies beside it.
_BESIDE = "beside"


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
