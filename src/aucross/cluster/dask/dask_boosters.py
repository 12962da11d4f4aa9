"""Train boosters of LightGBM and XGBoost on all workers of Dask, and survive the loss of a worker.

The boosters cannot continue after a worker is lost; they either raise an error or wait without end. So the workers are
watched, and if one is lost, the tasks of the fit are cancelled. Then the other workers restart, and the fit can start
again.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from threading import Thread
from time import monotonic, sleep
from typing import Any

from distributed import Client, Future
from distributed.comm.core import CommClosedError
from distributed.scheduler import KilledWorker
from sklearn.base import clone

from aucross.cluster.engine import LostWorkerError

# Seconds between looks at the workers, those in which the scheduler notices a closed connection, those that a fit has
# to notice a loss itself, and those to start workers again.
_LOOK, _NOTICE, _GRACE, _RESTART = 0.25, 1.0, 5.0, 60.0

# What LightGBM and XGBoost say, with one type of error for everything, when a worker that they train with is gone.
_WORDS_OF_LOSS = ("socket", "allreduce", "allgather", "broadcast failed", "connection", "broken pipe", "tracker")

# Parameters about the machines that train, with the other names that LightGBM has for them: a model in memory has none.
_OF_MACHINES = (
    "client coll_cfg is_pre_partition local_listen_port local_port machine_list machine_list_file "
    "machine_list_filename machines mlist nodes num_machine num_machines port pre_partition time_out tree tree_learner "
    "tree_learner_type tree_type workers"
)


def is_distributed(estimator: Any) -> bool:
    """Return whether a classifier trains on Dask collections, like the ones in lightgbm.dask and xgboost.dask."""
    return hasattr(type(estimator), "client") or "client" in estimator.get_params(deep=False)


def local_model(estimator: Any) -> Any:
    """Return the unfitted in-memory counterpart of a classifier that trains on collections; return others unchanged."""
    if not is_distributed(estimator):
        return estimator
    library = type(estimator).__module__.partition(".")[0]
    if library not in ("lightgbm", "xgboost"):
        raise TypeError(
            "estimator must be a classifier of lightgbm.dask, xgboost.dask or one that trains in memory, got "
            f"{type(estimator).__module__}.{type(estimator).__name__}"
        )
    # LGBMClassifier of DaskLGBMClassifier, XGBClassifier of DaskXGBClassifier
    of_memory = getattr(import_module(library), type(estimator).__name__.removeprefix("Dask"))
    of_machines, params = _OF_MACHINES.split(), estimator.get_params(deep=False)
    return of_memory(**{name: value for name, value in params.items() if name not in of_machines})


def without_client(estimator: Any) -> Any:
    """Return the classifier without its connection to a cluster, which cannot be copied or sent."""
    params = estimator.get_params(deep=False)
    # That of XGBoost is no parameter, and no clone has it.
    return type(estimator)(**{**params, "client": None}) if params.get("client") is not None else estimator


def train_booster(client: Client, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> Any:
    """Train a copy of a booster on all workers, and return it for use in memory, without cluster settings.

    Raises :class:`LostWorkerError` after a worker was lost and the others have been restarted.
    """
    model, before = clone(without_client(estimator)), set(client.nthreads())
    if "client" in model.get_params(deep=False):
        model.set_params(client=client)
    else:
        model.client = client
    given = {} if sample_weight is None else {"sample_weight": sample_weight}
    try:
        fitted = _watched(client, lambda: model.fit(X, y, **given))
    except LostWorkerError:
        _renew_workers(client, before)
        raise
    local = local_model(estimator)
    if hasattr(fitted, "to_local"):  # LightGBM sets tree_learner, machines, ports and threads where parameters are
        trained = {name: value for name, value in vars(fitted.to_local()).items() if "_" in (name[0], name[-1])}
        local.__dict__ |= {name: value for name, value in trained.items() if name != "_other_params"}
    else:
        local.load_model(fitted.get_booster().save_raw())
    return local


def _watched(client: Client, fit: Callable[[], Any]) -> Any:
    """Run a fit; if a worker is lost and the fit hangs, cancel its tasks."""
    workers, futures = set(client.nthreads()), set(client.futures)
    outcome: dict[str, Any] = {}

    def run() -> None:
        try:
            # XGBoost waits with the current client, without end if that is another one; a thread begins without any.
            with client.as_current():
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
    raise LostWorkerError("it did not end" if error is None else f"{type(error).__name__}: {str(error)[:200]}")


def _without_dependents(keys: list[Any], dask_scheduler: Any) -> list[Any]:
    tasks = dask_scheduler.tasks
    return [key for key in keys if key in tasks and not tasks[key].dependents]


def _is_about_peers(error: BaseException) -> bool:
    """Return whether an error is about a worker that no longer answers, even if the scheduler does not know it yet."""
    if isinstance(error, KilledWorker | CommClosedError):
        return True
    is_of_booster = type(error).__module__.partition(".")[0] in ("lightgbm", "xgboost")
    return is_of_booster and any(word in str(error).lower() for word in _WORDS_OF_LOSS)


def _is_missed(client: Client, workers: set[str]) -> bool:
    """Return whether the scheduler has lost one of these workers, or loses one while this function waits a moment."""
    until = monotonic() + _NOTICE
    while not (missed := workers - set(client.nthreads())) and monotonic() < until:
        sleep(_LOOK)
    return bool(missed)


def _renew_workers(client: Client, before: set[str]) -> None:
    """Restart the remaining workers, because some hang in the fit or keep broken connections."""
    until = monotonic() + 2 * _GRACE
    # A worker that is gone must be known to be: asked to end itself, it would not answer.
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
