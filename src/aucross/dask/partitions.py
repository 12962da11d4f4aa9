"""Collections as partitions that fit together: each with its rows, labels, weights and groups.

X and y that were taken from one Parquet frame may have different numbers of partitions, because Dask joins small ones
by the bytes of the columns that are read. Then the columns beside X are cut anew, by position, to the partitions of X.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import dask.array as da
import dask.dataframe as dd
import numpy as np
from dask.dataframe.dispatch import make_meta
from dask.delayed import Delayed, delayed
from distributed import Client

# Results that one task merges.
_FAN_IN = 8


class Rows(NamedTuple):
    """The rows of one partition."""

    X: Any
    y: Any = None
    sample_weight: Any = None
    groups: Any = None
    band_groups: Any = None


class Partitions(NamedTuple):
    """All rows: a task for each partition, and what an empty one looks like."""

    parts: list[Delayed]
    meta: Any


def partitions_of(client: Client, X: Any, **columns: Any) -> Partitions:
    """Cut collections into partitions of the same rows.

    Parameters
    ----------
    client : Client
        Where lengths are counted, if partitions differ.
    X : Dask DataFrame or Array of shape (n_samples, n_features)
        Rows.
    **columns : Dask Series or Array of shape (n_samples,), or None
        ``y``, ``sample_weight``, ``groups`` and ``band_groups``.

    Returns
    -------
    Partitions
    """
    check_collection(X, "X")
    pieces = pieces_of(X)
    given = {name: column for name, column in columns.items() if column is not None}
    of_columns: dict[str, list[Delayed]] = {}
    lengths: list[int] | None = None
    for name, column in given.items():
        check_collection(column, name, n_dimensions=1)
        of_columns[name] = pieces_of(column)
        if len(of_columns[name]) != len(pieces):
            lengths = lengths_of(client, pieces) if lengths is None else lengths
            of_columns[name] = _cut(of_columns[name], lengths_of(client, of_columns[name]), lengths, name)
    build = delayed(_rows, pure=True)
    parts = [
        build(piece, tuple(of_columns), [of_columns[name][number] for name in of_columns])
        for number, piece in enumerate(pieces)
    ]
    is_array = isinstance(X, da.Array)
    return Partitions(parts, np.empty((0, X.shape[1]), dtype=X.dtype) if is_array else make_meta(X))


def check_collection(values: Any, name: str, n_dimensions: int = 2) -> None:
    """Refuse what is no collection of Dask, or has another shape."""
    kinds = (dd.DataFrame, da.Array) if n_dimensions == 2 else (dd.Series, da.Array)
    if not isinstance(values, kinds) or values.ndim != n_dimensions:
        wanted = "DataFrame or two-dimensional Array" if n_dimensions == 2 else "Series or one-dimensional Array"
        raise TypeError(
            f"{name} must be a Dask {wanted}, got {type(values).__module__}.{type(values).__name__}; take the "
            "estimator without Dask for data in memory, or dask.dataframe.from_pandas"
        )


def pieces_of(collection: Any) -> list[Delayed]:
    """The partitions of a collection as tasks; those of an array hold whole rows."""
    if isinstance(collection, da.Array):
        whole_rows = collection.rechunk({1: -1}) if collection.ndim == 2 else collection
        return list(whole_rows.to_delayed().ravel())
    return list(collection.to_delayed())


def lengths_of(client: Client, pieces: Sequence[Delayed]) -> list[int]:
    """Number of rows of each partition."""
    return list(client.gather(client.compute([delayed(len)(piece) for piece in pieces])))


def _rows(X: Any, names: tuple[str, ...], columns: list[Any]) -> Rows:
    for name, column in zip(names, columns, strict=True):
        if len(column) != len(X):
            raise ValueError(
                f"X and {name} must have partitions of the same rows, got {len(X)} and {len(column)} rows in one of "
                "them; take both from one frame, or repartition by divisions"
            )
    return Rows(X, **dict(zip(names, columns, strict=True)))


def _cut(pieces: Sequence[Delayed], sizes: Sequence[int], wanted: Sequence[int], name: str) -> list[Delayed]:
    """Cut a column by position into pieces of the wanted lengths."""
    if sum(sizes) != sum(wanted):
        raise ValueError(
            f"X and {name} must have the same number of rows, got {sum(wanted)} and {sum(sizes)}; check the join or "
            "the filter that made them"
        )
    starts, ends = np.cumsum([0, *sizes]), np.cumsum([0, *wanted])
    join = delayed(_joined)
    cut = []
    for first, last in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        slices = [
            (piece, max(first - start, 0), min(last, stop) - start)
            for piece, start, stop in zip(pieces, starts[:-1].tolist(), starts[1:].tolist(), strict=True)
            if start < last and stop > first
        ] or [(pieces[0], 0, 0)]
        cut.append(join([piece for piece, _, _ in slices], [(low, high) for _, low, high in slices]))
    return cut


def _joined(pieces: list[Any], slices: list[tuple[int, int]]) -> Any:
    # One column: text and categories survive as objects, whatever the library.
    parts = [np.asarray(piece)[low:high] for piece, (low, high) in zip(pieces, slices, strict=True)]
    return np.concatenate(parts) if len(parts) > 1 else parts[0]


def merged_in_a_tree(merge: Callable[[list[Any]], Any], parts: Sequence[Delayed]) -> Delayed:
    """Merge the results of tasks, a few at a time, in their order."""
    step, level = delayed(merge, pure=True), list(parts)
    while len(level) > 1:
        level = [step(level[start : start + _FAN_IN]) for start in range(0, len(level), _FAN_IN)]
    return level[0]
