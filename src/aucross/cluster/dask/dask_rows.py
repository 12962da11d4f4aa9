"""Rows of Dask collections, for the protocol of ``cluster/engine.py``: a task for each partition makes a Part."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.dataframe.dispatch import make_meta
from dask.delayed import Delayed, delayed
from distributed import Client, LocalCluster, as_completed, default_client
from sklearn.base import clone

from aucross.cluster.classifier import fold_and_half
from aucross.cluster.dask.dask_boosters import is_distributed, local_model, train_booster
from aucross.cluster.decision_folder import RunParts
from aucross.cluster.engine import Part, TrainedModel
from aucross.estimators.hashed_folds import HashedFolds
from aucross.estimators.held_out import trained_as_on_all_rows
from aucross.frames import take_rows
from aucross.system.libraries import import_library

# Results that one task merges.
_FAN_IN = 8

# A worker that was lost and is not back by then is given up; by default after 15 s, which it takes to start on a busy
# machine.
_WAIT_FOR_WORKER = "120s"


@dataclass(frozen=True)
class DaskRows:
    """Rows of collections, with one task for each partition."""

    client: Client | None  # the current one if it is None
    X: Any  # the features, whose kind answers have
    parts: list[Delayed]  # tasks that give a Part each
    kinds: dict[str, Any]  # the columns beside X that there are, by their dtype

    @classmethod
    def of(cls, client: Client | None, X: Any, **columns: Any) -> DaskRows:
        """Cut X and the given columns beside it into parts of the same rows.

        X and y of one Parquet frame may have different partitions, because Dask joins small ones, depending on the
        size of the columns that are read. Then the other columns are cut by position to match X.
        """
        pieces = _pieces_of(X, "X", n_dimensions=2)
        given = {name: _pieces_of(column, name) for name, column in columns.items() if column is not None}
        if any(len(of_column) != len(pieces) for of_column in given.values()):
            wanted = _lengths_of(connected(client), pieces)
            for name, of_column in given.items():
                if len(of_column) != len(pieces):
                    given[name] = _cut(of_column, _lengths_of(connected(client), of_column), wanted, name)
        build = delayed(_part, pure=True)
        parts = [
            build(piece, tuple(given), [given[name][number] for name in given]) for number, piece in enumerate(pieces)
        ]
        return cls(client, X, parts, {name: columns[name].dtype for name in given})

    @contextmanager
    def folded(self, folds: HashedFolds, *, halves: bool) -> Iterator[DaskRows]:
        """Compute the fold and the half of each row once, and keep them on the workers: one or two bytes per row.

        Otherwise every training would hash all rows again. After the loss of a worker its part is computed again.
        """
        place, together = delayed(fold_and_half, pure=True), delayed(_with_fold, pure=True)
        kept = connected(self.client).persist([place(part, (folds, halves)) for part in self.parts])
        yield replace(self, parts=[together(part, placed) for part, placed in zip(self.parts, kept, strict=True)])

    def taken(self, folds: HashedFolds, *, first: bool) -> DaskRows:
        """Return the rows of the first fold, or of all other folds."""
        chosen = delayed(_of_first_fold, pure=True)
        return replace(self, parts=[chosen(part, folds, first) for part in self.parts])

    def train(self, estimator: Any, *, n_rows: int, without_fold: int | None = None) -> TrainedModel:
        """Train on all workers, or on a single worker if the classifier trains in memory."""
        client, parts = connected(self.client), self.parts
        if without_fold is not None:
            outside = delayed(_outside, pure=True)
            parts = [outside(part, without_fold) for part in parts]
        if not is_distributed(estimator):
            base = trained_as_on_all_rows(estimator, n_rows)
            # The result is fetched, so that a worker lost later cannot make another model of it.
            return TrainedModel(client.compute(delayed(_train_in_memory)(base, parts)).result())
        X = [delayed(getattr)(part, "X") for part in parts]
        if isinstance(self.X, dd.DataFrame):
            table = dd.from_delayed(X, meta=make_meta(self.X), verify_meta=False)
        else:
            table = _blocks(X, (self.X.shape[1],), self.X.dtype)
        kind = self.kinds["y"]
        kinds = {"y": kind if isinstance(kind, np.dtype) else np.int64, "sample_weight": np.float64}
        columns = {
            name: _blocks([delayed(_column)(part, name, kind) for part in parts], (), kind)
            for name, kind in kinds.items()
            if name in self.kinds
        }
        return TrainedModel(train_booster(client, estimator, table, **columns))

    def held_out(self, models: Sequence[TrainedModel]) -> tuple[DaskRows, list[Any]]:
        """Return all rows, and the models in memory."""
        return self, [model.local for model in models]

    def counted(
        self, count: Any, sent: Any, merge: Callable[[Sequence[Any]], Any], reads: Collection[str] = Part._fields
    ) -> Any:
        """Count each partition in place, and merge a few counts at a time, in their order."""
        del reads  # a partition is read as a whole
        task, step, model = delayed(_counted, pure=True), delayed(_merged, pure=True), _sent(sent)
        level = [task(part, count, model) for part in self.parts]
        while len(level) > 1:
            level = [step(level[start : start + _FAN_IN], merge) for start in range(0, len(level), _FAN_IN)]
        found = connected(self.client).compute(level[0]).result()
        if found is None:
            raise ValueError("X must hold at least one row, got 0; check what it was filtered by")
        return found

    def mapped(self, answer: Any, sent: Any, like: Any, reads: Collection[str] = Part._fields) -> Any:
        """Map each partition to a table or column like `like`; columns become arrays if X is an array."""
        del reads
        task, model = delayed(answer, pure=True), _sent(sent)
        parts = [task(part, model) for part in self.parts]
        if isinstance(like, np.ndarray) or (isinstance(self.X, da.Array) and isinstance(like, pd.Series)):
            return _blocks([delayed(np.asarray)(part) for part in parts], like.shape[1:], like.dtype)
        divisions = self.X.divisions if isinstance(self.X, dd.DataFrame) else (None,)
        return dd.from_delayed(parts, meta=like, divisions=None if None in divisions else divisions, verify_meta=False)

    def first(self, n_rows: int) -> Any:
        """Fetch the features of the first `n_rows` rows."""
        client, found = connected(self.client), []
        for part in self.parts:
            found.append(client.compute(part.X[:n_rows]).result())
            n_rows -= len(found[-1])
            if n_rows <= 0:
                break
        return _stacked(found)


def connected(client: Client | None) -> Client:
    """Return the given client, or the current one."""
    try:
        return client or default_client()
    except ValueError:
        raise ValueError(
            "client must be given or started: there is no connection to a Dask cluster; call distributed.Client() for "
            "one on this machine, or distributed.Client(address)"
        ) from None


def _pieces_of(collection: Any, name: str, n_dimensions: int = 1) -> list[Delayed]:
    """Return the partitions of a collection as tasks; partitions of an array hold whole rows."""
    kinds = (dd.DataFrame, da.Array) if n_dimensions == 2 else (dd.Series, da.Array)
    if not isinstance(collection, kinds) or collection.ndim != n_dimensions:
        wanted = "DataFrame or two-dimensional Array" if n_dimensions == 2 else "Series or one-dimensional Array"
        raise TypeError(
            f"{name} must be a Dask {wanted}, got {type(collection).__module__}.{type(collection).__name__}; take the "
            "estimator without Dask for data in memory, or dask.dataframe.from_pandas"
        )
    if isinstance(collection, da.Array):
        whole_rows = collection.rechunk({1: -1}) if n_dimensions == 2 else collection
        return list(whole_rows.to_delayed().ravel())
    return list(collection.to_delayed())


def _lengths_of(client: Client, pieces: Sequence[Delayed]) -> list[int]:
    return list(client.gather(client.compute([delayed(len)(piece) for piece in pieces])))


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


def _blocks(parts: list[Delayed], shape: tuple[int, ...], dtype: Any) -> Any:
    """Return an array of partitions whose lengths are not known."""
    blocks = [da.from_delayed(part, (np.nan, *shape), dtype=dtype) for part in parts]
    return da.concatenate(blocks, allow_unknown_chunksizes=True)


def _sent(value: Any) -> Delayed:
    """Return a value as part of the graph of tasks, so that any worker can fetch it again."""
    return delayed(value, name=f"aucross-{uuid4().hex}", traverse=False)


# ---- what the workers run ----


def _joined(pieces: list[Any], slices: list[tuple[int, int]]) -> Any:
    # One column: text and categories survive as objects, whatever the library.
    return np.concatenate([np.asarray(piece)[low:high] for piece, (low, high) in zip(pieces, slices, strict=True)])


def _part(X: Any, names: tuple[str, ...], columns: list[Any]) -> Part:
    for name, column in zip(names, columns, strict=True):
        if len(column) != len(X):
            raise ValueError(
                f"X and {name} must have partitions of the same rows, got {len(X)} and {len(column)} rows in one of "
                "them; take both from one frame, or repartition by divisions"
            )
    return Part(X, **dict(zip(names, columns, strict=True)))


def _with_fold(part: Part, placed: list[Any]) -> Part:
    return part._replace(**dict(zip(("fold", "half"), placed, strict=False)))


def _of_first_fold(part: Part, folds: HashedFolds, first: bool) -> Part:
    return _chosen(part, (folds.fold_of(part.X, groups=part.groups) == 0) == first)


def _outside(part: Part, fold: int) -> Part:
    return _chosen(part, part.fold != fold)


def _chosen(part: Part, chosen: Any) -> Part:
    rows = np.flatnonzero(chosen)
    return Part(*(None if values is None else take_rows(values, rows) for values in part))


def _counted(part: Part, count: Any, sent: Any) -> Any:
    return count(part, sent) if len(part.X) else None


def _merged(parts: list[Any], merge: Any) -> Any:
    filled = [part for part in parts if part is not None]
    return merge(filled) if filled else None


def _train_in_memory(estimator: Any, parts: Sequence[Part]) -> Any:
    given = {}
    if parts[0].sample_weight is not None:
        given["sample_weight"] = np.concatenate([np.asarray(part.sample_weight) for part in parts])
    y = np.concatenate([np.asarray(part.y) for part in parts])
    return clone(estimator).fit(_stacked([part.X for part in parts]), y, **given)


def _stacked(tables: Sequence[Any]) -> Any:
    return pd.concat(tables, ignore_index=True) if isinstance(tables[0], pd.DataFrame) else np.concatenate(tables)


def _column(part: Part, name: str, kind: Any) -> Any:
    # An array on purpose: of a series XGBoost finds the labels by a shuffle.
    return np.asarray(getattr(part, name)).astype(kind)


# ---- the engine of the command line ----


@dataclass(frozen=True)
class DaskEngine:
    """A Dask cluster, for the command line."""

    client: Client
    boosters = ("lightgbm", "xgboost")

    @property
    def about(self) -> str:
        """Number of workers, and the address of their dashboard."""
        client: Any = self.client
        workers = f"{len(client.nthreads())} workers at {client.scheduler.address}"
        return f"Dask: {workers}, dashboard at {client.dashboard_link}"

    def booster(self, library: str, seed: int) -> tuple[Any, Any]:
        """Make the classifier of a library that trains on all workers, and its counterpart in memory."""
        if library == "lightgbm":
            lightgbm = import_library("lightgbm", purpose="--base lightgbm", extra="dask")
            model = lightgbm.DaskLGBMClassifier(random_state=seed, verbose=-1)
        else:
            xgboost = import_library("xgboost.dask", purpose="--base xgboost", extra="dask")
            model = xgboost.DaskXGBClassifier(random_state=seed)
        return model, local_model(model)

    def read(
        self, folder: str, features: Sequence[str], label: str, sample_weight: str | None, groups: str | None
    ) -> DaskRows:
        """Read a folder of Parquet files."""
        wanted = [name for name in (*features, label, sample_weight, groups) if name is not None]
        frame = dd.read_parquet(folder, columns=list(dict.fromkeys(wanted)))
        given = {"sample_weight": sample_weight, "groups": groups}
        columns = {field: None if name is None else frame[name] for field, name in given.items()}
        return DaskRows.of(self.client, frame[list(features)], y=frame[label].astype("int64"), **columns)

    def run_parts(self, told: Callable[[int, int], None] | None = None) -> RunParts:
        """Return a runner that applies a function to each part number on the workers."""

        def run(function: Callable[[int], Any], parts: Sequence[int]) -> Iterable[Any]:
            # The function holds the classifier and is sent once, as a part of the graph.
            sent = delayed(function, traverse=False)
            futures = self.client.compute([sent(part) for part in parts])
            for done, (_, result) in enumerate(as_completed(futures, with_results=True), start=1):
                if told is not None:
                    told(done, len(parts))
                yield result

        return run


@contextmanager
def open_engine(address: str | None = None) -> Iterator[DaskEngine]:
    """Connect to the scheduler at an address, or start workers on this machine."""
    if address is None:
        with (
            dask.config.set({"distributed.deploy.lost-worker-timeout": _WAIT_FOR_WORKER}),
            LocalCluster(n_workers=os.cpu_count(), threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster,
            Client(cluster) as client,
        ):
            yield DaskEngine(client)
        return
    try:
        client = Client(address, timeout=10)
    except (OSError, ValueError) as error:
        raise ConnectionError(
            f"no Dask scheduler answers at {address} ({error}); check the address, such as tcp://10.0.0.1:8786"
        ) from error
    with client:
        yield DaskEngine(client)
