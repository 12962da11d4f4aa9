"""One Spark for all tests of this folder, as users start it on one machine: two tasks at a time, retries on."""

from __future__ import annotations

import os
import shutil
import sys

import pytest


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
