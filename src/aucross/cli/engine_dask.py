"""The engine "dask": a cluster of Dask, given by its address or started on this machine."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from aucross.cli.engines import EngineRows
from aucross.cli.errors import CommandError
from aucross.cli.models import Features, check_installed, make_model
from aucross.cli.names import Base, Method
from aucross.estimators.rankings_by_coverage import RankingsByCoverage
from aucross.system.libraries import import_library

dask = import_library("dask", purpose="--engine dask", extra="dask")
dd = import_library("dask.dataframe", purpose="--engine dask", extra="dask")
distributed = import_library("distributed", purpose="--engine dask", extra="dask")

from dask.dataframe.dispatch import make_meta  # noqa: E402

from aucross.dask import DaskAUCross, DaskPlugInAUC, DaskSCross  # noqa: E402  (needs what is imported above)
from aucross.dask.base import DaskSelectiveClassifier  # noqa: E402
from aucross.dask.writing import parts_on_workers  # noqa: E402
from aucross.record import write_decisions  # noqa: E402

# A worker that was lost and is not back by then is given up; by default after 15 s, which it takes to start on a busy
# machine.
_WAIT_FOR_WORKER = "120s"

_METHODS = {Method.AUCROSS: DaskAUCross, Method.PLUGIN_AUC: DaskPlugInAUC, Method.SCROSS: DaskSCross}


@contextmanager
def open_engine(scheduler: str | None, note: Callable[[str], None]) -> Iterator[DaskEngine]:
    """Connect to the scheduler at an address, or start workers on this machine."""
    if scheduler is None:
        with (
            dask.config.set({"distributed.deploy.lost-worker-timeout": _WAIT_FOR_WORKER}),
            distributed.LocalCluster(
                n_workers=os.cpu_count(), threads_per_worker=1, dashboard_address="127.0.0.1:0"
            ) as cluster,
            distributed.Client(cluster) as client,
        ):
            yield _told_of(client, note)
        return
    try:
        client = distributed.Client(scheduler, timeout=10)
    except (OSError, ValueError) as error:
        raise CommandError(
            f"--scheduler: no Dask scheduler answers at {scheduler} ({error}); check the address, such as "
            "tcp://10.0.0.1:8786"
        ) from error
    with client:
        yield _told_of(client, note)


def _told_of(client: Any, note: Callable[[str], None]) -> DaskEngine:
    note(f"Dask: {len(client.nthreads())} workers at {client.scheduler.address}, dashboard at {client.dashboard_link}")
    return DaskEngine(client)


class DaskEngine:
    """What a cluster of Dask does for the command line."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def fit(self, rows: EngineRows, *, method: Method, base: Base, coverage: float, seed: int) -> Any:
        """Fit where the rows lie, and return the classifier in memory."""
        frame = _frame(rows)
        model = _model(base, rows.features, seed)
        clf = _METHODS[method](model, coverage=coverage, random_state=seed, client=self._client)
        return clf.fit(*_columns(frame, rows)).to_local()

    def rankings(self, clf: Any, rows: EngineRows, coverages: Sequence[float]) -> RankingsByCoverage:
        """Rank rows by the score of a classifier."""
        X, y, weight, _ = _columns(_frame(rows), rows)
        return DaskSelectiveClassifier.of_local(clf, self._client).rankings(X, y, coverages, sample_weight=weight)

    def write(
        self,
        clf: Any,
        source: Path,
        out: Path,
        *,
        coverage: float | None,
        columns: Sequence[str],
        told: Callable[[int, int], None],
    ) -> list[Any]:
        """Write decisions file by file."""
        run = parts_on_workers(self._client, told)
        return write_decisions(clf, source, out, coverage=coverage, columns=columns, run=run)


def _model(base: Base, features: Sequence[str], seed: int) -> Any:
    """Boosters train on all workers, other models in the memory of one."""
    check_installed(base)
    if base is Base.LIGHTGBM:
        return import_library("lightgbm", purpose="--base lightgbm", extra="dask").DaskLGBMClassifier(
            random_state=seed, verbose=-1
        )
    if base is Base.XGBOOST:
        return import_library("xgboost.dask", purpose="--base xgboost", extra="dask").DaskXGBClassifier(
            random_state=seed
        )
    return make_model(base, Features(list(features), {}), seed=seed)


def _frame(rows: EngineRows) -> Any:
    wanted = [*rows.features, rows.roles.target, rows.roles.weight, rows.roles.group]
    frame = dd.read_parquet(str(rows.folder), columns=list(dict.fromkeys(name for name in wanted if name is not None)))
    if rows.test_folds is None:
        return frame
    return frame.map_partitions(_part, rows, meta=make_meta(frame))


def _part(frame: Any, rows: EngineRows) -> Any:
    """The rows inside or outside of the part that is kept apart, by a hash of their features or of their group."""
    assert rows.test_folds is not None
    groups = None if rows.roles.group is None else frame[rows.roles.group]
    is_test = rows.test_folds.fold_of(frame[list(rows.features)], groups=groups) == 0
    return frame[is_test == rows.is_test]


def _columns(frame: Any, rows: EngineRows) -> tuple[Any, Any, Any, Any]:
    weight, group = (None if name is None else frame[name] for name in (rows.roles.weight, rows.roles.group))
    return frame[list(rows.features)], frame[rows.roles.target].astype("int64"), weight, group
