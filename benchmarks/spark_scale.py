"""Seconds by stage on Spark: ``python -m benchmarks.spark_scale --rows 500000,1000000,2000000``.

Synthetic rows of 20 features lie as Parquet on the disk of this machine, and Spark runs two tasks at a time. A fit is
five folds and a model on all rows, by XGBoost. Printed are the seconds of each stage, what of them is ours (all but
training: reading, folds, held-out scores, counts, placing), the memory of the counts on the driver for both statistics,
and how long ``transform`` takes beside a ``mapInPandas`` that calls ``predict_proba`` and does nothing else. A small
fit before the first starts what starts once: the Python workers, and the compiler of Java.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
from pyspark.sql import SparkSession
from xgboost.spark import SparkXGBClassifier

from aucross.cluster.spark import SparkAUCross, spark_decide
from aucross.cluster.spark.spark_rows import SparkRows
from benchmarks.stages import COUNT, OTHER, READ, TRAIN, Added, Stages, timed_verbs

N_FEATURES = 20
ROWS_A_FILE = 250_000
FEATURES = [f"x{number}" for number in range(N_FEATURES)]


def write_rows(folder: Path, n_rows: int) -> None:
    """Rows with one positive in five, in files of a quarter of a million."""
    for number, start in enumerate(range(0, n_rows, ROWS_A_FILE)):
        rng = np.random.default_rng(number)
        size = min(ROWS_A_FILE, n_rows - start)
        X = rng.normal(size=(size, N_FEATURES)).astype(np.float32)
        label = (X[:, 0] + 0.5 * X[:, 1] * X[:, 2] + rng.normal(size=size) > 1.2).astype(np.float64)
        columns = {name: X[:, place] for place, name in enumerate(FEATURES)} | {"label": label}
        pa.parquet.write_table(pa.table(columns), folder / f"{number:05d}.parquet")


def started() -> Any:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = (
        SparkSession.builder.master("local[2,4]")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.memory", "6g")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    return spark


def fit(df: Any, n_folds: int) -> tuple[Any, Stages, dict[int, Added]]:
    """Fit with every stage timed; the counts by both statistics are made from the same models."""
    stages: Stages = Stages()
    sizes: dict[int, Added] = {}
    base = SparkXGBClassifier(n_estimators=100, max_depth=6, num_workers=2, verbosity=0, verbose=False)
    estimator = SparkAUCross(base, featuresCol=FEATURES, numFolds=n_folds, statistic="binned")
    with timed_verbs(SparkRows, stages, sizes):
        model = stages.timed("all", estimator.fit)(df)
    stages.seconds["all"] -= stages.seconds[OTHER]
    return model, stages, sizes


def least_seconds(frames: dict[str, Any], repeats: int) -> dict[str, float]:
    """The least of several runs of each, taken in turns, so that a busy machine is busy for all."""
    seconds: dict[str, list[float]] = {name: [] for name in frames}
    for _ in range(repeats):
        for name, df in frames.items():
            start = time.perf_counter()
            df.write.format("noop").mode("overwrite").save()
            seconds[name].append(time.perf_counter() - start)
    return {name: min(taken) for name, taken in seconds.items()}


def predicted(df: Any, classifier: Any) -> Any:
    """The probability by ``mapInPandas``, and nothing else."""
    model = df.sparkSession.sparkContext.broadcast(classifier)

    def predict(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for batch in batches:
            yield pd.DataFrame({"probability": model.value.predict_proba(batch)[:, 1].astype(float)})

    return df.select(*FEATURES).mapInPandas(predict, "probability double")


def report(spark: Any, folder: Path, n_rows: int, repeats: int, n_folds: int = 5) -> str:
    write_rows(folder, n_rows)
    df = spark.read.parquet(str(folder))
    fitted, stages, sizes = fit(df, n_folds)
    seconds, local = stages.seconds, fitted.toLocal()
    ours = 1 - seconds[TRAIN] / seconds["all"]
    rest = seconds["all"] - seconds[READ] - seconds[TRAIN] - seconds[COUNT]
    frames = {
        "alone": predicted(df, local.estimator_),
        "transform": fitted.transform(df),
        "spark_decide": spark_decide(local, df),
    }
    least = least_seconds(frames, repeats)
    return (
        f"| {n_rows:,} | {seconds[READ]:.1f} | {seconds[TRAIN]:.1f} | {seconds[COUNT]:.1f} | {rest:.1f} | "
        f"{100 * ours:.1f} | {sizes[32].megabytes:.1f} ({sizes[32].of_process:+.0f}) | "
        f"{sizes[20].megabytes:.1f} ({sizes[20].of_process:+.0f}) | {least['alone']:.2f} | "
        f"{least['transform'] / least['alone']:.2f} | {least['spark_decide'] / least['alone']:.2f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default="1000000", help="numbers of rows, with commas between them")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    logging.getLogger("XGBoost-PySpark").setLevel(logging.ERROR)
    spark = started()
    with tempfile.TemporaryDirectory() as folder:
        report(spark, Path(folder), 20_000, 1, n_folds=2)
    print(
        "| rows | reading, folds s | training s | scores, counts s | rest s | ours % | exact MB (driver) | "
        "20 bits MB (driver) | mapInPandas s | transform / mapInPandas | spark_decide / mapInPandas |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|"
    )
    for n_rows in map(int, options.rows.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            print(report(spark, Path(folder), n_rows, options.repeats), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
