"""Rank scores in Parquet files that are larger than memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np

from aucross.core.ranking import RankedScores
from aucross.core.rounding import ScoreCounter
from aucross.export.ranking_query import check_different, check_missing
from aucross.system.libraries import import_library
from aucross.system.whole_files import parquet_files

# Rows at a time, and bytes of a column that are read ahead: much more of either gains no time.
_BATCH_ROWS = 2**20
_BUFFER_BYTES = 2**22

_LARGEST_WEIGHT = 1e30


def rank_parquet(
    path: str | PathLike[str] | Sequence[str | PathLike[str]],
    *,
    score: str,
    label: str,
    positive: str | int | bool = 1,
    negative: str | int | bool = 0,
    weight: str | None = None,
    bits: Literal[20, 32] = 20,
    missing: Literal["refuse", "leave out"] = "refuse",
    progress: Callable[[int], None] | None = None,
) -> RankedScores:
    """Count the rows of each class at each score, batch by batch, for bands, evaluations and promises.

    Parameters
    ----------
    path : path or list of paths
        A Parquet file, a folder of Parquet files, or a list of files.
    score, label : str
        Columns of finite scores and of labels. Rows whose label is null are left out.
    positive, negative : str, int or bool, default=1 and 0
        Values of the label; any other is refused. In a column of booleans, True counts as 1.
    weight : str, optional
        Column of weights from 0 to 1e30; rows of weight 0 are left out.
    bits : {20, 32}, default=20
        How scores are rounded, see :class:`~aucross.core.ScoreCounter`: with 20, memory does not grow with the number
        of rows; 32 counts distinct float32 scores.
    missing : {"refuse", "leave out"}, default="refuse"
        How to treat rows whose score is null, NaN or infinite.
    progress : callable, optional
        Called with the number of rows read so far.

    Returns
    -------
    RankedScores
        The ranking. Pass it to :func:`~aucross.estimators.classifier_from_ranking` to place a band, or to
        :func:`~aucross.evaluation.evaluate_ranking`.

    Examples
    --------
    >>> import pyarrow as pa, pyarrow.parquet as pq, tempfile, pathlib
    >>> from aucross.export import rank_parquet
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for part in range(3):
    ...     pq.write_table(pa.table({"pd": [0.1, 0.5], "bad": [0, part % 2]}), folder / f"{part}.parquet")
    >>> rank_parquet(folder, score="pd", label="bad")
    RankedScores(2 distinct scores, 1 positives, 5 negatives)
    """
    check_missing(missing)
    check_different(positive, negative)
    counter = ScoreCounter(bits, weighted=weight is not None)
    n_read = n_missing = 0
    for batch in _batches(path, list(dict.fromkeys(name for name in (score, label, weight) if name is not None))):
        has_label, is_positive = _labels(batch.column(label), label, positive, negative)
        scores, has_score = _numbers(batch.column(score), score)
        weights = None
        if weight is not None:
            values, is_finite = _numbers(batch.column(weight), weight)
            weights = values.astype(np.float64, copy=False)
            if not (is_finite & (weights >= 0) & (weights <= _LARGEST_WEIGHT)).all():
                raise ValueError(
                    f"the column {weight!r} must hold weights from 0 to 1e30 in every row, got others; use 0 to leave "
                    "out"
                )
        used = has_label if weights is None else has_label & (weights > 0)
        n_missing += int(np.count_nonzero(used & ~has_score))
        used = used & has_score
        if not used.all():
            scores, is_positive = scores[used], is_positive[used]
            weights = None if weights is None else weights[used]
        counter.add(scores, is_positive, weights)
        n_read += batch.num_rows
        if progress is not None:
            progress(n_read)
    check_missing(missing, n_missing)
    return counter.ranking()


def _batches(path: Any, columns: list[str]) -> Iterator[Any]:
    parquet = import_library("pyarrow.parquet", purpose="reading Parquet files", extra="arrow")
    is_list = isinstance(path, Sequence) and not isinstance(path, str)
    files = list(map(Path, path)) if is_list else parquet_files(Path(path)) if Path(path).is_dir() else [Path(path)]
    if not files and not is_list:
        raise ValueError(f"the folder {path} must hold Parquet files, got none that ends in .parquet")
    for part in files:
        # Without buffers ahead of the reader the columns of a file are not in memory as a whole.
        with parquet.ParquetFile(part, pre_buffer=False, buffer_size=_BUFFER_BYTES) as file:
            absent = [name for name in columns if name not in file.schema_arrow.names]
            if absent:
                raise ValueError(
                    f"{part.name} must have the columns {columns}, got {file.schema_arrow.names}, without {absent}"
                )
            yield from file.iter_batches(_BATCH_ROWS, columns=columns)


def _numbers(column: Any, name: str) -> tuple[Any, Any]:
    values = column.to_numpy(zero_copy_only=False)
    if values.dtype.kind not in "fiu":
        raise ValueError(f"the column {name!r} must hold numbers, got {column.type}; cast it in the files")
    if values.dtype not in (np.float32, np.float64):
        values = values.astype(np.float64)
    return values, np.isfinite(values)


def _labels(column: Any, name: str, positive: Any, negative: Any) -> tuple[Any, Any]:
    """Return which rows have a label, and which of these are positive."""
    compute = import_library("pyarrow.compute", purpose="reading Parquet files", extra="arrow")
    arrow = import_library("pyarrow", purpose="reading Parquet files", extra="arrow")
    if arrow.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if arrow.types.is_boolean(column.type):
        positive, negative = bool(positive), bool(negative)
    try:
        is_positive, is_negative = (
            compute.fill_null(compute.equal(column, arrow.scalar(value).cast(column.type)), False).to_numpy(
                zero_copy_only=False
            )
            for value in (positive, negative)
        )
    except (arrow.ArrowInvalid, arrow.ArrowNotImplementedError):
        raise ValueError(
            f"the column {name!r} must hold the labels {positive!r} and {negative!r}, got values of type "
            f"{column.type}; name the labels with positive= and negative="
        ) from None
    has_label = column.is_valid().to_numpy(zero_copy_only=False)
    others = has_label & ~is_positive & ~is_negative
    if others.any():
        value = column[int(np.argmax(others))].as_py()
        raise ValueError(
            f"the column {name!r} must hold the labels {positive!r} and {negative!r}, got also {value!r}; name the "
            "labels with positive= and negative=, or leave such rows out of the files"
        )
    return has_label, is_positive
