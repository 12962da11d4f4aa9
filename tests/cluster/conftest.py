"""One Dask cluster of two processes and one Spark with two tasks at a time, for all tests of this folder."""

from __future__ import annotations

import logging
import multiprocessing
import os
import shutil
import sys

import pytest

# On a busy machine a worker takes its time to start and to answer.
PATIENT = {
    "distributed.deploy.lost-worker-timeout": "300s",  # else the cluster gives a worker up that starts slowly
    "distributed.scheduler.allowed-failures": 10,
    "distributed.comm.timeouts.connect": "300s",
    "distributed.comm.timeouts.tcp": "300s",
    # Workers, also those in the place of killed ones, are forked from a process that has imported what they need.
    "distributed.worker.multiprocessing-method": "forkserver",
    # Looking at what a worker does is most of its work when it has none.
    "distributed.worker.profile.enabled": False,
    "distributed.admin.system-monitor.interval": "60s",
    "distributed.admin.tick.interval": "500ms",
    "distributed.worker.memory.monitor-interval": "10s",
}
FORKED_WITH = [
    "distributed",
    "dask.dataframe",
    "lightgbm.dask",
    "xgboost.dask",
    "aucross.cluster.dask",
    "aucross.record",
]


@pytest.fixture(scope="module")
def client():
    """The client of a cluster of two processes, closed after each file: it takes time also when nothing is asked."""
    dask = pytest.importorskip("dask", reason='Dask is not installed: pip install "aucross[dask]"')
    distributed = pytest.importorskip("distributed", reason='Dask is not installed: pip install "aucross[dask]"')
    with dask.config.set(PATIENT):
        distributed.utils.get_mp_context()
        multiprocessing.get_context("forkserver").set_forkserver_preload(FORKED_WITH)
        local = {"dashboard_address": "127.0.0.1:0", "silence_logs": logging.CRITICAL}
        with (
            distributed.LocalCluster(n_workers=2, threads_per_worker=1, **local) as cluster,
            distributed.Client(cluster) as client,
        ):
            yield client


@pytest.fixture
def whole_cluster(client):
    """The client, when no worker is missing."""
    client.wait_for_workers(2, timeout=300)
    return client


@pytest.fixture(scope="session")
def spark():
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java: install openjdk-17-jre-headless")
    sql = pytest.importorskip("pyspark.sql", reason='Spark is not installed: pip install "aucross[spark]"')
    with pytest.MonkeyPatch.context() as patch:
        # The workers must run this Python; by default they run whichever is called python3.
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("PYSPARK_DRIVER_PYTHON", sys.executable)
        patch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
        session = (
            # Plain local[2] fails a job with the first worker that is lost.
            sql.SparkSession.builder.master("local[2,4]")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.driver.memory", "1g")
            # Workers are forked from a process that has imported what they need.
            .config("spark.python.daemon.module", "tests.cluster.spark_daemon")
            # Half of the processor time of a short run is the compiler's.
            .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
            # And a quarter is that of Java code for each query, which pays for many rows.
            .config("spark.sql.codegen.wholeStage", "false")
            .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
            .config("spark.sql.adaptive.enabled", "false")
            .config("spark.sql.shuffle.partitions", "2")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .getOrCreate()
        )
        session.sparkContext.setLogLevel("OFF")
        yield session
        session.stop()
