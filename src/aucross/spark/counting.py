"""Count each partition where it lives, and merge the counts in a tree.

::

    partition 0 ──► counts ─┐
    partition 1 ──► counts ─┼─► counts ─┐
    ...                     │           ├──► counts on the driver
    partition 32 ─► counts ─┴─► counts ─┘

Counts travel as one row. They are merged in the order of their partitions, so a task that is run again, or results that
arrive in another order, change no bit.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

# Counts that one task merges, and those of batches that a partition keeps before it merges them.
FAN_IN = 32
_MOST_KEPT = 16

# Spark sends ten thousand rows at a time. Several models that each score a part of them take longer for ten such
# batches than for one of their size; wide rows are counted before they fill the memory.
_ROWS_AT_A_TIME, _BYTES_AT_A_TIME = 100_000, 1 << 26

_SCHEMA = "part int, counts binary"
_ARROW_SCHEMA = pa.schema([("part", pa.int32()), ("counts", pa.binary())])

Counts = TypeVar("Counts")


def merged_counts(
    df: DataFrame, count_batch: Callable[[pa.RecordBatch], Counts], merge: Callable[[Sequence[Counts]], Counts]
) -> Counts:
    """Count all rows of a frame.

    Parameters
    ----------
    df : DataFrame
        Rows, with the columns that `count_batch` reads and no others.
    count_batch : callable
        Turns a batch of rows into counts; runs on the workers.
    merge : callable
        Adds up counts; runs on the workers, too.

    Returns
    -------
    counts of all rows
    """

    def count_partition(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        kept: list[Counts] = []
        for batch in _joined(batches):
            kept.append(count_batch(batch))
            if len(kept) >= _MOST_KEPT:
                kept = [merge(kept)]
        context = TaskContext.get()
        assert context is not None
        if kept:
            yield _as_row(context.partitionId(), merge(kept))

    def merge_parts(parts: pa.Table) -> pa.Table:
        counts = _in_order(parts.to_pylist())
        return pa.Table.from_batches([_as_row(min(parts["part"].to_pylist()), merge(counts))])

    counted = df.mapInArrow(count_partition, _SCHEMA)
    rows = counted.groupBy(F.floor(F.col("part") / FAN_IN)).applyInArrow(merge_parts, _SCHEMA).collect()
    if not rows:
        raise ValueError("the frame must hold at least one row, got none; check what it was filtered by")
    return merge(_in_order([row.asDict() for row in rows]))


def _joined(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Larger batches of the same rows; none of them is empty."""
    waiting: list[pa.RecordBatch] = []
    n_rows = n_bytes = 0
    for batch in batches:
        waiting.append(batch)
        n_rows, n_bytes = n_rows + batch.num_rows, n_bytes + batch.nbytes
        if n_rows >= _ROWS_AT_A_TIME or n_bytes >= _BYTES_AT_A_TIME:
            yield from _one_batch(waiting)
            waiting, n_rows, n_bytes = [], 0, 0
    yield from _one_batch(waiting)


def _one_batch(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    filled = [batch for batch in batches if batch.num_rows]
    return pa.Table.from_batches(filled).combine_chunks().to_batches() if filled else []


def _as_row(part: int, counts: Any) -> pa.RecordBatch:
    return pa.record_batch([[part], [pickle.dumps(counts)]], schema=_ARROW_SCHEMA)


def _in_order(rows: list[dict[str, Any]]) -> list[Any]:
    return [pickle.loads(row["counts"]) for row in sorted(rows, key=lambda row: row["part"])]
