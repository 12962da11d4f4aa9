"""The columns of a Spark frame that a model reads, and how they look to a model in memory.

::

    names of columns           ──► Arrow ──► pandas frame
    one vector or array column ──► array ──► Arrow ──► matrix

Rows reach Python as Arrow: nothing is converted twice, and pandas only sees the columns that a model reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.ml.functions import vector_to_array
from pyspark.ml.linalg import VectorUDT
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DecimalType


@dataclass(frozen=True)
class FeatureColumns:
    """Names of the columns that a model reads.

    Parameters
    ----------
    names : tuple of str
        Columns of numbers, text and so on; or one column of vectors.
    is_vector : bool, default=False
        Whether one column holds all features of a row.
    """

    names: tuple[str, ...]
    is_vector: bool = False

    @classmethod
    def of(cls, df: DataFrame, names: str | Sequence[str], argument: str = "features") -> FeatureColumns:
        """Find the columns in a frame."""
        wanted = (names,) if isinstance(names, str) else tuple(names)
        if not wanted:
            raise ValueError(f"{argument} must name at least one column, got none")
        check_columns(df, wanted, argument)
        kinds = [df.schema[name].dataType for name in wanted]
        is_vector = isinstance(kinds[0], VectorUDT | ArrayType)
        if len(wanted) > 1 and any(isinstance(kind, VectorUDT | ArrayType) for kind in kinds):
            raise ValueError(
                f"{argument} must be columns of single values or one column of vectors, got {list(wanted)}, of which "
                "some are vectors; put all into one with VectorAssembler"
            )
        return cls(wanted, is_vector)

    def columns(self, df: DataFrame) -> dict[str, Column]:
        """The columns as they travel, named by their places."""
        names = {f"feature_{place}": name for place, name in enumerate(self.names)}
        return {place: _as_read(df, name, self.is_vector).alias(place) for place, name in names.items()}

    def read(self, batch: pa.RecordBatch) -> Any:
        """The features of a batch of rows: a pandas frame, or a matrix of float64."""
        columns = [batch.column(f"feature_{place}") for place in range(len(self.names))]
        if not self.is_vector:
            return pa.Table.from_arrays(columns, names=list(self.names)).to_pandas()
        return _matrix(columns[0], self.names[0])


def check_columns(df: DataFrame, names: Sequence[str], argument: str) -> None:
    """Refuse names that a frame has no column of."""
    if lacking := [name for name in names if name not in df.columns]:
        raise ValueError(
            f"{argument} must be columns of the frame, got {lacking[0]!r}, which it lacks; add or rename it"
        )


def _as_read(df: DataFrame, name: str, is_vector: bool) -> Column:
    column, kind = F.col(f"`{name}`"), df.schema[name].dataType
    if isinstance(kind, VectorUDT):
        return vector_to_array(column)
    # Decimals are objects to pandas, which no model reads.
    if isinstance(kind, DecimalType):
        return column.cast("double")
    return column.cast("array<double>") if is_vector else column


def _matrix(vectors: pa.ListArray, name: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    lengths = np.diff(np.asarray(vectors.offsets))
    if vectors.null_count or (lengths != lengths[0]).any():
        raise ValueError(
            f"the column {name!r} must hold a vector of the same length in each row, got {vectors.null_count} missing "
            f"ones and lengths from {lengths.min()} to {lengths.max()}; assemble it again"
        )
    values: np.ndarray[Any, np.dtype[np.float64]] = vectors.flatten().to_numpy(zero_copy_only=False)
    return values.reshape(len(vectors), int(lengths[0]))
