"""Training on a cluster: one distributed fit at a time, repeated as a whole if a worker is lost.

LightGBM and XGBoost train on all workers together and cannot go on without one of them: some of their errors come at
once, some never. So the workers are watched, and what an attempt waits for is taken away when one of them is gone.
Other classifiers train on one worker, on rows that fit into its memory.
"""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from threading import Thread
from time import monotonic, sleep
from typing import Any, NamedTuple

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.delayed import Delayed, delayed
from distributed import Client, Future
from distributed.comm.core import CommClosedError
from distributed.scheduler import KilledWorker
from sklearn.base import clone

from aucross.dask.partitions import Partitions, Rows
from aucross.frames import take_rows

logger = logging.getLogger(__name__)

# Seconds between looks at the workers, those in which the scheduler notices a closed connection, those that a fit has
# to notice a loss itself, and those to start workers anew.
_LOOK, _NOTICE, _GRACE, _RESTART = 0.25, 1.0, 5.0, 60.0


# What LightGBM and XGBoost say, with one type of error for everything, when a worker that they train with is gone.
_WORDS_OF_LOSS = ("socket", "allreduce", "allgather", "broadcast failed", "connection", "broken pipe", "tracker")


# Parameters about the machines that train, with the other names that LightGBM has for them: a model in memory has none.
_OF_MACHINES = (
    "client coll_cfg is_pre_partition local_listen_port local_port machine_list machine_list_file "
    "machine_list_filename machines mlist nodes num_machine num_machines port pre_partition time_out tree tree_learner "
    "tree_learner_type tree_type workers"
)


class LostWorkerError(RuntimeError):
    """A distributed fit failed because workers were lost, more often than it may be repeated."""


def is_distributed(estimator: Any) -> bool:
    """Whether a classifier trains on collections, by a client: those of lightgbm.dask and xgboost.dask do."""
    return hasattr(type(estimator), "client") or "client" in estimator.get_params(deep=False)


def local_model(estimator: Any) -> Any:
    """The in-memory counterpart of a classifier that trains on collections, unfitted; others are as they are."""
    if not is_distributed(estimator):
        return estimator
    of_machines, params = _OF_MACHINES.split(), estimator.get_params(deep=False)
    return _local_class(estimator)(**{name: value for name, value in params.items() if name not in of_machines})


def without_client(estimator: Any) -> Any:
    """The classifier without its connection to a cluster, which can be neither copied nor sent."""
    params = estimator.get_params(deep=False)
    # That of XGBoost is no parameter, and no clone has it.
    return type(estimator)(**{**params, "client": None}) if params.get("client") is not None else estimator


def _local_class(estimator: Any) -> Any:
    """LGBMClassifier of DaskLGBMClassifier, XGBClassifier of DaskXGBClassifier."""
    library = type(estimator).__module__.partition(".")[0]
    if library in ("lightgbm", "xgboost"):
        return getattr(import_module(library), type(estimator).__name__.removeprefix("Dask"))
    raise TypeError(
        f"estimator must be a classifier of lightgbm.dask, xgboost.dask or one that trains in memory, got "
        f"{type(estimator).__module__}.{type(estimator).__name__}"
    )


class ClusterTraining(NamedTuple):
    """All that training a model takes, but for the rows to leave out.

    Attributes
    ----------
    client : Client
        The cluster.
    estimator : classifier
        Trains on collections, or in the memory of one worker.
    partitions : Partitions
        The rows.
    fold_of : list of Delayed
        The fold of each row of each partition.
    classes : ndarray of shape (2,)
        The labels.
    max_retries : int
        How often a distributed fit that lost a worker is repeated.
    """

    client: Client
    estimator: Any
    partitions: Partitions
    fold_of: list[Delayed]
    classes: Any
    max_retries: int

    def model(self, without_fold: int | None = None) -> Any:
        """Train a clone of the classifier on all rows, or on those outside of one fold.

        Parameters
        ----------
        without_fold : int, optional
            Number of the fold to leave out.

        Returns
        -------
        classifier
            Fitted, one that knows nothing of the cluster.
        """
        parts = self.partitions.parts
        if without_fold is not None:
            outside = delayed(_outside_of, pure=True)
            parts = [outside(part, fold, without_fold) for part, fold in zip(parts, self.fold_of, strict=True)]
        if not is_distributed(self.estimator):
            # The result is fetched, so that a worker lost later cannot make another model of it.
            return self.client.compute(delayed(_train_in_memory)(self.estimator, parts)).result()
        return _repeated(self.client, lambda: self._on_cluster(parts), self.max_retries)

    def _on_cluster(self, parts: Sequence[Delayed]) -> Any:
        return _train_on_cluster(self.client, self.estimator, parts, self.partitions.meta, self.classes)


def _outside_of(rows: Rows, fold: Any, number: int) -> Rows:
    chosen = np.flatnonzero(fold != number)
    return Rows(*(None if values is None else take_rows(values, chosen) for values in rows))


def _train_in_memory(estimator: Any, parts: Sequence[Rows]) -> Any:
    X = _stacked([part.X for part in parts])
    y = np.concatenate([np.asarray(part.y) for part in parts])
    given = {}
    if parts[0].sample_weight is not None:
        given["sample_weight"] = np.concatenate([np.asarray(part.sample_weight) for part in parts])
    return clone(estimator).fit(X, y, **given)


def _stacked(tables: Sequence[Any]) -> Any:
    if isinstance(tables[0], pd.DataFrame):
        return pd.concat(tables, ignore_index=True)
    return np.concatenate(tables)


def _train_on_cluster(client: Client, estimator: Any, parts: Sequence[Delayed], meta: Any, classes: Any) -> Any:
    model = clone(without_client(estimator))
    if "client" in model.get_params(deep=False):
        model.set_params(client=client)
    else:
        model.client = client
    X, y = _collection(parts, meta), _column(parts, "y", np.asarray(classes).dtype)
    has_weights = client.compute(delayed(_has_weights)(parts[0])).result()
    weight = {"sample_weight": _column(parts, "sample_weight", np.dtype(np.float64))} if has_weights else {}
    fitted = model.fit(X, y, **weight)
    return _local_booster(fitted, estimator)


def _has_weights(rows: Rows) -> bool:
    return rows.sample_weight is not None


def _collection(parts: Sequence[Delayed], meta: Any) -> Any:
    table = delayed(lambda rows: rows.X)
    if isinstance(meta, pd.DataFrame):
        return dd.from_delayed([table(part) for part in parts], meta=meta, verify_meta=False)
    blocks = [da.from_delayed(table(part), (np.nan, meta.shape[1]), dtype=meta.dtype) for part in parts]
    return da.concatenate(blocks, allow_unknown_chunksizes=True)


def _column(parts: Sequence[Delayed], name: str, dtype: Any) -> Any:
    # An array on purpose: of a series XGBoost finds the labels by a shuffle.
    values = delayed(lambda rows: np.asarray(getattr(rows, name)).astype(dtype))
    blocks = [da.from_delayed(values(part), (np.nan,), dtype=dtype) for part in parts]
    return da.concatenate(blocks, allow_unknown_chunksizes=True)


def _local_booster(fitted: Any, estimator: Any) -> Any:
    """The trained model as one in memory: with the parameters of the estimator, and none of the machines."""
    model = local_model(estimator)
    if hasattr(fitted, "to_local"):  # LightGBM sets tree_learner, machines, ports and threads where parameters are
        trained = {name: value for name, value in vars(fitted.to_local()).items() if "_" in (name[0], name[-1])}
        model.__dict__ |= {name: value for name, value in trained.items() if name != "_other_params"}
    else:
        model.load_model(fitted.get_booster().save_raw())
    return model


# ---- lost workers ----


def _repeated(client: Client, fit: Callable[[], Any], max_retries: int) -> Any:
    """Fit on all workers; if one is lost, begin again, a bounded number of times."""
    for attempt in range(max_retries + 1):
        before = set(client.nthreads())
        result = _watched(client, fit)
        if not isinstance(result, _Lost):
            return result
        logger.warning("a worker was lost during a distributed fit (%s); attempt %d", result.reason, attempt + 1)
        _renew_workers(client, before)
    raise LostWorkerError(
        f"a distributed fit lost workers in each of {max_retries + 1} attempts, the last time with: {result.reason}; "
        "look at the logs of the workers, which most often ran out of memory, or pass a larger max_retries"
    )


class _Lost:
    def __init__(self, reason: str) -> None:
        self.reason = reason


def _watched(client: Client, fit: Callable[[], Any]) -> Any:
    """Run a fit; if a worker is gone and the fit does not end by itself, take away what it waits for."""
    workers, futures = set(client.nthreads()), set(client.futures)
    outcome: dict[str, Any] = {}

    def run() -> None:
        try:
            outcome["model"] = fit()
        except BaseException as error:
            outcome["error"] = error

    thread = Thread(target=run, daemon=True)
    thread.start()
    lost_at: float | None = None
    while thread.is_alive():
        thread.join(_LOOK)
        if lost_at is None and workers - set(client.nthreads()):
            lost_at = monotonic()
        if lost_at is not None and monotonic() - lost_at > _GRACE:
            break
    if thread.is_alive():
        waiting = [key for key, state in client.futures.items() if key not in futures and state.status == "pending"]
        # Not those that other tasks need: asked to cancel one of them, a scheduler may drop the connection instead, and
        # with it all that this client keeps on the workers.
        ends = client.run_on_scheduler(_without_dependents, waiting)
        client.cancel([Future(key, client=client) for key in ends])
        thread.join(_GRACE)
    if "model" in outcome:
        return outcome["model"]
    error = outcome.get("error")
    if error is not None and lost_at is None and not _is_about_peers(error) and not _is_missed(client, workers):
        raise error
    return _Lost("it did not end" if error is None else f"{type(error).__name__}: {str(error)[:200]}")


def _without_dependents(keys: list[Any], dask_scheduler: Any) -> list[Any]:
    tasks = dask_scheduler.tasks
    return [key for key in keys if key in tasks and not tasks[key].dependents]


def _is_about_peers(error: BaseException) -> bool:
    """Whether an error says that another worker no longer answers; the scheduler may know of the loss only later."""
    if isinstance(error, KilledWorker | CommClosedError):
        return True
    is_of_booster = type(error).__module__.partition(".")[0] in ("lightgbm", "xgboost")
    return is_of_booster and any(word in str(error).lower() for word in _WORDS_OF_LOSS)


def _is_missed(client: Client, workers: set[str]) -> bool:
    """Whether the scheduler misses one of some workers, now or in a moment."""
    until = monotonic() + _NOTICE
    while not (missed := workers - set(client.nthreads())) and monotonic() < until:
        sleep(_LOOK)
    return bool(missed)


def _renew_workers(client: Client, before: set[str]) -> None:
    """Start the workers anew that were left: some hang in the fit, and LightGBM keeps its broken connections."""
    until = monotonic() + 2 * _GRACE
    # A worker that is gone must be known to be: asked to start anew, it would not answer.
    while not before - set(client.nthreads()) and monotonic() < until:
        sleep(_LOOK)
    workers = client.scheduler_info(n_workers=-1)["workers"]
    survivors = [address for address, about in workers.items() if address in before and about.get("nanny")]
    if survivors:
        # The process ends itself, and its nanny starts another: a worker that hangs would not close when asked to.
        client.run(_end_process, workers=survivors, wait=False)
    until = monotonic() + _RESTART
    while set(survivors) & set(client.nthreads()) and monotonic() < until:
        sleep(_LOOK)
    client.wait_for_workers(1, timeout=_RESTART)
    with suppress(TimeoutError):  # fewer will do
        client.wait_for_workers(len(before), timeout=2 * _GRACE)


async def _end_process() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
