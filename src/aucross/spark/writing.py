"""Decisions on a folder of Parquet files by the workers of Spark, with the manifest of :mod:`aucross.record`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pyspark.sql import SparkSession

from aucross.record.decision_folder import PartCounts, write_decisions

# Files that each task slot writes between two reports of how far it is.
_ROUND = 8


def spark_write_decisions(
    clf: Any,
    source: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    *,
    spark: SparkSession | None = None,
    coverage: float | None = None,
    columns: Sequence[str] = (),
    band_groups: str | None = None,
    told: Callable[[int, int], None] | None = None,
) -> list[PartCounts]:
    """Decide on every row of a folder of Parquet files; a second call finishes what a first one left.

    Parameters
    ----------
    clf : SelectiveClassifier
        A fitted classifier. It reads the columns that it was fitted on by their names.
    source, folder : path-like
        Folder of Parquet files with the rows, and folder of the decisions. All workers must see both under these names.
    spark : SparkSession, optional
        The one that is active by default.
    coverage, columns, band_groups
        As for :func:`aucross.record.write_decisions`.
    told : callable, optional
        Is told from time to time how many files are done, and how many there are.

    Returns
    -------
    list of PartCounts
        Rows and automatic decisions of each file, those of earlier calls included.

    See Also
    --------
    spark_decide : Decides on any frame; ``spark_decide(clf, df).write.parquet(path)`` writes all of it or nothing.

    Notes
    -----
    Each file is a task. A task that loses its worker is run again and writes the same bytes; a file takes its name only
    when it is whole, so nothing is there twice or in part.
    """
    session = spark or SparkSession.builder.getOrCreate()
    context = session.sparkContext

    def run(function: Callable[[int], Any], parts: Sequence[int]) -> Iterator[Any]:
        sent = context.broadcast(function)  # it holds the classifier
        # In rounds that keep all workers busy, so that it can be told how far they are.
        at_a_time = _ROUND * context.defaultParallelism
        for start in range(0, len(parts), at_a_time):
            numbers = parts[start : start + at_a_time]
            tasks = context.parallelize(numbers, len(numbers))
            yield from tasks.map(lambda part: sent.value(part)).collect()  # noqa: PLW0108  (its value is on the worker)
            if told is not None:
                told(start + len(numbers), len(parts))

    return write_decisions(clf, source, folder, coverage=coverage, columns=columns, band_groups=band_groups, run=run)
