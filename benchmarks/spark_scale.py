"""Seconds by stage on Spark: ``python -m benchmarks.spark_scale --rows 1000000``.

Synthetic rows of 20 features lie as Parquet on the disk of this machine, and Spark runs two tasks at a time. A fit is
two folds and a model on all rows. Printed are the seconds of each stage, what of them is ours (folds, counts, placing),
the memory that counts add on the driver for both statistics, and how long ``transform`` takes beside a ``mapInPandas``
that calls ``predict_proba`` and does nothing else.
"""

from __future__ import annotations

import argparse
import os
import pickle
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
from pyspark.sql import SparkSession
from xgboost.spark import SparkXGBClassifier

from aucross.spark import SparkAUCross, estimators, spark_decide

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


class Stages:
    """Seconds by the name of what took them."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The same function with a clock."""

        def run(*args: Any, **kwargs: Any) -> Any:
            start = time.perf_counter()
            try:
                return function(*args, **kwargs)
            finally:
                self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start

        return run


def fit(df: Any, statistic: str) -> tuple[Any, Stages]:
    """Fit with every stage timed."""
    stages = Stages()

    class Timed(SparkAUCross):
        """The same with a clock."""

    Timed._check_rows = stages.timed("reading the rows, folds", SparkAUCross._check_rows)
    Timed._counts = stages.timed("held-out scores and counts", SparkAUCross._counts)
    plain = estimators.fit_again_if_lost
    estimators.fit_again_if_lost = stages.timed("training by XGBoost", plain)
    base = SparkXGBClassifier(n_estimators=100, max_depth=6, num_workers=2, verbosity=0)
    try:
        whole = stages.timed("all of the fit", Timed(base, featuresCol=FEATURES, numFolds=2, statistic=statistic).fit)
        return whole(df), stages
    finally:
        estimators.fit_again_if_lost = plain


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


def report(n_rows: int, repeats: int, statistics: list[str]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_rows(folder, n_rows)
        spark = started()
        df = spark.read.parquet(str(folder))
        print(f"{n_rows:,} rows of {N_FEATURES} features in {df.rdd.getNumPartitions()} partitions, local[2,4]")
        models = {}
        for statistic in statistics:
            models[statistic], stages = fit(df, statistic)
            total, trained = stages.seconds["all of the fit"], stages.seconds["training by XGBoost"]
            print(f"\nstatistic={statistic}")
            for stage, seconds in stages.seconds.items():
                print(f"  {stage:<28} {seconds:8.1f} s")
            rest = total - trained - stages.seconds["held-out scores and counts"]
            print(f"  all but training and scoring {rest:8.1f} s, {rest / total:.0%}")
            held_out = models[statistic].toLocal().held_out_
            size = len(pickle.dumps(held_out)) / 2**20
            print(f"  counts on the driver         {size:8.1f} MB, {len(held_out.rows):,} entries")
        fitted = models[statistics[-1]]
        local, alone = fitted.toLocal(), "mapInPandas of predict_proba"
        frames = {
            alone: predicted(df, local.estimator_),
            "transform of the model": fitted.transform(df),
            "spark_decide": spark_decide(local, df),
        }
        print()
        seconds = least_seconds(frames, repeats)
        for what, taken in seconds.items():
            print(f"{what:<30} {taken:8.2f} s, {taken / seconds[alone]:.2f} x")
        spark.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--statistics", nargs="+", default=["exact", "binned"], choices=["exact", "binned"])
    options = parser.parse_args()
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    report(options.rows, options.repeats, options.statistics)


if __name__ == "__main__":
    main()
