"""The engine "spark": a cluster of Spark, given by its address or started on this machine."""

from __future__ import annotations

import os
import shutil
import sys
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

sql = import_library("pyspark.sql", purpose="--engine spark", extra="spark")

from aucross.spark import SparkAUCross, SparkPlugInAUC, SparkSCross, spark_write_decisions  # noqa: E402
from aucross.spark.evaluating import rank_selections  # noqa: E402
from aucross.spark.features import FeatureColumns  # noqa: E402
from aucross.spark.folds import fold_and_half  # noqa: E402

_METHODS: dict[Method, Any] = {
    Method.AUCROSS: SparkAUCross,
    Method.PLUGIN_AUC: SparkPlugInAUC,
    Method.SCROSS: SparkSCross,
}
_FOLD = "_aucross_fold"


@contextmanager
def open_engine(scheduler: str | None, note: Callable[[str], None]) -> Iterator[SparkEngine]:
    """Connect to the master at an address, or start Spark on this machine; an active session is used as it is."""
    active = sql.SparkSession.getActiveSession()
    session = active or _started(scheduler)
    context = session.sparkContext
    dashboard = f", dashboard at {context.uiWebUrl}" if context.uiWebUrl else ""
    note(f"Spark {context.version}: {context.defaultParallelism} tasks at a time at {context.master}{dashboard}")
    try:
        yield SparkEngine(session)
    finally:
        if active is None:
            session.stop()


def _started(scheduler: str | None) -> Any:
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        raise CommandError("--engine spark needs Java 17: install openjdk-17-jre-headless, or set JAVA_HOME")
    # The workers must run this Python, not whichever is called python3.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = sql.SparkSession.builder.appName("aucross").config("spark.ui.showConsoleProgress", "false")
    try:
        # With retries: plain local[2] fails a job with the first worker that is lost.
        session = builder.master(scheduler or f"local[{os.cpu_count()},4]").getOrCreate()
    except Exception as error:
        raise CommandError(
            f"--scheduler: Spark does not start with the master {scheduler or 'local'} ({type(error).__name__}); check "
            "the address, such as spark://10.0.0.1:7077, and that Java 17 runs"
        ) from error
    session.sparkContext.setLogLevel("ERROR")
    return session


class SparkEngine:
    """What a cluster of Spark does for the command line."""

    def __init__(self, session: Any) -> None:
        self._session = session

    def fit(self, rows: EngineRows, *, method: Method, base: Base, coverage: float, seed: int) -> Any:
        """Fit where the rows lie, and return the classifier in memory."""
        model = _model(base, rows, seed, n_workers=self._session.sparkContext.defaultParallelism)
        roles = rows.roles
        estimator = _METHODS[method](
            model,
            featuresCol=list(rows.features),
            labelCol=roles.target,
            weightCol=roles.weight,
            keyCol=roles.group,
            coverage=coverage,
            seed=seed,
        )
        return estimator.fit(self._frame(rows)).toLocal()

    def rankings(self, clf: Any, rows: EngineRows, coverages: Sequence[float]) -> RankingsByCoverage:
        """Rank rows by the score of a classifier."""
        return rank_selections(
            clf,
            self._frame(rows),
            label=rows.roles.target,
            coverages=coverages,
            features=rows.features,
            weight=rows.roles.weight,
        )

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
        return spark_write_decisions(
            clf, source, out, spark=self._session, coverage=coverage, columns=columns, told=told
        )

    def _frame(self, rows: EngineRows) -> Any:
        """The rows inside or outside of the part that is kept apart, by a hash of their features or of their group."""
        functions, roles = sql.functions, rows.roles
        label = functions.col(f"`{roles.target}`").cast("double")
        frame = self._session.read.parquet(str(rows.folder)).withColumn(roles.target, label)
        if rows.test_folds is None:
            return frame
        features = FeatureColumns.of(frame, rows.features)
        placed = fold_and_half(frame, rows.test_folds, features, roles.group)
        is_test = functions.col(f"{_FOLD}.fold") == 0
        return frame.withColumn(_FOLD, placed).where(is_test if rows.is_test else ~is_test).drop(_FOLD)


def _model(base: Base, rows: EngineRows, seed: int, *, n_workers: int) -> Any:
    """XGBoost trains on all workers, other models in the memory of the driver."""
    check_installed(base)
    if base is Base.XGBOOST:
        xgboost = import_library("xgboost.spark", purpose="--base xgboost", extra="spark")
        return xgboost.SparkXGBClassifier(random_state=seed, verbosity=0, num_workers=n_workers)
    if rows.roles.weight is not None:
        raise CommandError(f"--weight with --engine spark needs --base xgboost, got --base {base}")
    return make_model(base, Features(list(rows.features), {}), seed=seed)
