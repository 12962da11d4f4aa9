"""Dask on two local workers: seconds by stage, memory of the statistics on the driver, and what deciding costs.

``python -m benchmarks.dask_scale --rows 1000000,5000000,20000000`` writes synthetic rows with 20 features as Parquet,
fits ``DaskAUCross`` with LightGBM (five folds and a model on all rows) on two worker processes and prints a table.
"ours" is all that is not training: reading and hashing rows, scoring and counting held-out rows, placing the bands. A
small fit before the first starts what starts once.
"""

from __future__ import annotations

import argparse
import logging
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.delayed import delayed
from distributed import Client, LocalCluster
from lightgbm import DaskLGBMClassifier

from aucross.cluster.dask import DaskAUCross
from aucross.cluster.dask.dask_rows import DaskRows
from benchmarks.stages import COUNT, OTHER, READ, TRAIN, Added, Stages, timed_verbs

ROWS_OF_PART = 250_000
N_FEATURES = 20
COVERAGE = 0.8
# Partitions on which deciding is compared with predict_proba.
MOST_PARTS_DECIDED = 20


def write_part(folder: str, number: int, n_rows: int) -> int:
    rng = np.random.default_rng(number)
    features = rng.normal(size=(n_rows, N_FEATURES)).astype(np.float32)
    log_odds = features[:, :5].sum(axis=1) * 0.6 + features[:, 5] * features[:, 6] - 1.5
    table = pd.DataFrame(features, columns=[f"f{column}" for column in range(N_FEATURES)])
    table["bad"] = (rng.random(n_rows) < 1 / (1 + np.exp(-log_odds))).astype(np.int64)
    table.to_parquet(Path(folder) / f"{number:05d}.parquet")
    return n_rows


def write_rows(client: Client, folder: str, n_rows: int) -> None:
    write = delayed(write_part)
    sizes = [min(ROWS_OF_PART, n_rows - start) for start in range(0, n_rows, ROWS_OF_PART)]
    client.gather(client.compute([write(folder, number, size) for number, size in enumerate(sizes)]))


def fit(client: Client, folder: str) -> tuple[DaskAUCross, Stages, dict[int, Added]]:
    """Fit with every stage timed; the counts by both statistics are made from the same models."""
    stages: Stages = Stages()
    sizes: dict[int, Added] = {}
    frame = dd.read_parquet(folder)
    model = DaskLGBMClassifier(n_estimators=50, verbosity=-1)
    clf = DaskAUCross(model, coverage=COVERAGE, statistic="binned", client=client)
    with timed_verbs(DaskRows, stages, sizes):
        stages.timed("all", clf.fit)(frame.drop(columns="bad"), frame["bad"])
    stages.seconds["all"] -= stages.seconds[OTHER]
    return clf, stages, sizes


def seconds_of(client: Client, collection: Any) -> float:
    started = time.perf_counter()
    client.compute(collection).result()
    return time.perf_counter() - started


def ratio_of_deciding(client: Client, clf: DaskAUCross, X: Any, repeats: int = 5) -> float:
    """Seconds of decide over those of predict_proba, over the same partitions in memory, the least of some runs."""
    X = X.partitions[:MOST_PARTS_DECIDED].persist()
    seconds_of(client, X.size)
    decide, score = [], []
    for _ in range(repeats):
        score.append(seconds_of(client, clf.predict_proba(X)[:, 1].sum()))
        decide.append(seconds_of(client, clf.decide(X)["score"].sum()))
    return min(decide) / min(score)


def report(client: Client, n_rows: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        write_rows(client, folder, n_rows)
        clf, stages, sizes = fit(client, folder)
        seconds = stages.seconds
        ours = 1 - seconds[TRAIN] / seconds["all"]
        rest = seconds["all"] - seconds[READ] - seconds[TRAIN] - seconds[COUNT]
        ratio = ratio_of_deciding(client, clf, dd.read_parquet(folder).drop(columns="bad"))
    print(
        f"| {n_rows:,} | {seconds[READ]:.1f} | {seconds[TRAIN]:.1f} | {seconds[COUNT]:.1f} | {rest:.1f} | "
        f"{100 * ours:.1f} | {sizes[32].megabytes:.1f} ({sizes[32].of_process:+.0f}) | "
        f"{sizes[20].megabytes:.1f} ({sizes[20].of_process:+.0f}) | {ratio:.3f} |",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default="1000000", help="numbers of rows, with commas between them")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore", "Parameter n_jobs will be ignored")
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs=logging.ERROR
        ) as cluster,
        Client(cluster) as client,
        tempfile.TemporaryDirectory() as folder,
    ):
        write_rows(client, folder, 20_000)
        fit(client, folder)
        print(
            "| rows | reading, folds s | training s | scores, counts s | rest s | ours % | exact MB (driver) | "
            "20 bits MB (driver) | decide / predict_proba |\n|---|---|---|---|---|---|---|---|---|"
        )
        for n_rows in map(int, arguments.rows.split(",")):
            report(client, n_rows)


if __name__ == "__main__":
    main()
