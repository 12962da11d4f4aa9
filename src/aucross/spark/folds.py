"""Folds on Spark: decided by a hash of each row alone, as in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from aucross.estimators.hashed_folds import HashedFolds
from aucross.spark.deciding import by_batches
from aucross.spark.features import FeatureColumns


def fold_and_half(
    df: DataFrame, folds: HashedFolds, features: FeatureColumns, key: str | None = None, *, halves: bool = True
) -> Column:
    """A column with the ``fold`` and, if asked for, the ``half`` of each row, by its key or else by its features."""
    read = features.columns(df) if key is None else {"key": F.col(f"`{key}`").alias("key")}

    def place(batch: pa.RecordBatch) -> list[Any]:
        X, groups = (features.read(batch), None) if key is None else (None, batch.column("key").to_pandas())
        places = [folds.fold_of(X, groups=groups), *([folds.half_of(X, groups=groups)] if halves else [])]
        return [pa.array(part.astype(np.int32)) for part in places]

    return by_batches(place, read, {"fold": "int", "half": "int"} if halves else {"fold": "int"})
