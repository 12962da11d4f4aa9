"""Rank each partition where it lives, and merge the rankings in a tree.

::

    partition 0 ──► ranking ─┐
    partition 1 ──► ranking ─┼─► ranking ─┐
    ...                      │            ├──► ranking on the driver
    partition 32 ─► ranking ─┴─► ranking ─┘

A ranking travels as one row. Rankings are merged in the order of their partitions, so a task that is run again, or
results that arrive in another order, change no bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  (its usual name)

from aucross.core.ranking import RankedScores

# Rankings that one task merges, and those of batches that a partition keeps before it merges them.
FAN_IN = 32
_MOST_KEPT = 16

_SCHEMA = "key int, part int, ranking binary"
_ARROW_SCHEMA = pa.schema([("key", pa.int32()), ("part", pa.int32()), ("ranking", pa.binary())])

# Rankings of the rows of a batch by a number: of a half, a fold or a group.
RankBatch = Callable[[pa.RecordBatch], Mapping[int, RankedScores]]


def merged_rankings(df: DataFrame, rank_batch: RankBatch) -> dict[int, RankedScores]:
    """Rank all rows of a frame.

    Parameters
    ----------
    df : DataFrame
        Rows, with the columns that `rank_batch` reads and no others.
    rank_batch : callable
        Turns a batch of rows into rankings by number; runs on the workers.

    Returns
    -------
    dict of int to RankedScores
        The ranking of all rows of each number.
    """

    def rank_partition(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        kept: dict[int, list[RankedScores]] = {}
        for batch in batches:
            if not batch.num_rows:
                continue
            for key, ranking in rank_batch(batch).items():
                rankings = kept.setdefault(key, [])
                rankings.append(ranking)
                if len(rankings) >= _MOST_KEPT:
                    kept[key] = [RankedScores.merge(rankings)]
        context = TaskContext.get()
        assert context is not None
        for key, rankings in kept.items():
            yield _as_row(key, context.partitionId(), RankedScores.merge(rankings))

    def merge_parts(parts: pa.Table) -> pa.Table:
        rows = sorted(parts.to_pylist(), key=lambda row: row["part"])
        merged = RankedScores.merge([_from_bytes(row["ranking"]) for row in rows])
        return pa.Table.from_batches([_as_row(rows[0]["key"], rows[0]["part"], merged)])

    ranked = df.mapInArrow(rank_partition, _SCHEMA)
    nodes = F.floor(F.col("part") / FAN_IN)
    rows = ranked.groupBy("key", nodes).applyInArrow(merge_parts, _SCHEMA).collect()
    merged: dict[int, list[RankedScores]] = {}
    for row in sorted(rows, key=lambda row: (row["key"], row["part"])):
        merged.setdefault(row["key"], []).append(_from_bytes(row["ranking"]))
    return {key: RankedScores.merge(rankings) for key, rankings in merged.items()}


def _as_row(key: int, part: int, ranking: RankedScores) -> pa.RecordBatch:
    content = np.array([ranking.scores, ranking.positives, ranking.negatives]).tobytes()
    return pa.record_batch([[key], [part], [content]], schema=_ARROW_SCHEMA)


def _from_bytes(content: Any) -> RankedScores:
    return RankedScores(*np.frombuffer(content, dtype=np.float64).reshape(3, -1))
