"""Dask on two local workers: seconds by stage, memory of the statistics on the driver, and what deciding costs.

``python -m benchmarks.dask_scale --rows 1000000,5000000,20000000`` writes synthetic rows with 20 features as Parquet,
fits ``DaskAUCross`` with LightGBM on two worker processes and prints a table. "ours" is all that is not training:
reading and hashing rows, scoring and counting held-out rows, placing the bands.
"""

from __future__ import annotations

import argparse
import pickle
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.delayed import delayed
from distributed import Client, LocalCluster
from lightgbm import DaskLGBMClassifier

from aucross.dask import DaskAUCross

ROWS_OF_PART = 250_000
N_FEATURES = 20
COVERAGE = 0.8


class Timed(DaskAUCross):
    """Notes the seconds of each stage and the size of the counts."""

    seconds: dict[str, float]
    bytes_of_counts: int

    @contextmanager
    def _stage(self, name: str) -> Any:
        started = time.perf_counter()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - started

    def _train(self, *arguments: Any) -> Any:
        with self._stage("train"):
            return super()._train(*arguments)

    def _counted(self, *arguments: Any) -> Any:
        with self._stage("score and count"):
            counts = super()._counted(*arguments)
        self.bytes_of_counts = len(pickle.dumps(counts))
        return counts


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


def fit(client: Client, X: Any, y: Any, statistic: Any) -> tuple[Timed, float]:
    model = DaskLGBMClassifier(n_estimators=50, verbosity=-1)
    clf = Timed(model, coverage=COVERAGE, statistic=statistic, client=client)
    clf.seconds = {}
    started = time.perf_counter()
    clf.fit(X, y)
    return clf, time.perf_counter() - started


def seconds_of(client: Client, collection: Any) -> float:
    started = time.perf_counter()
    client.compute(collection).result()
    return time.perf_counter() - started


def ratio_of_deciding(client: Client, clf: Timed, X: Any, repeats: int = 3) -> float:
    """Seconds of decide over those of predict_proba, over the same partitions in memory, the least of some runs."""
    X = X.persist()
    decide, score = [], []
    for _ in range(repeats):
        score.append(seconds_of(client, clf.predict_proba(X)[:, 1].sum()))
        decide.append(seconds_of(client, clf.decide(X)["score"].sum()))
    return min(decide) / min(score)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default="1000000", help="numbers of rows, with commas between them")
    parser.add_argument("--statistics", default="exact,binned")
    arguments = parser.parse_args()
    print(
        f"{'rows':>12} {'statistic':>9} {'total s':>8} {'train s':>8} {'count s':>8} {'ours %':>7} {'counts MB':>9}",
        end="",
    )
    print(f" {'counts MB':>9} {'expected':>9} {'decide / predict_proba':>23}")
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster) as client,
    ):
        for n_rows in map(int, arguments.rows.split(",")):
            with tempfile.TemporaryDirectory() as folder:
                write_rows(client, folder, n_rows)
                frame = dd.read_parquet(folder)
                X, y = frame.drop(columns="bad"), frame["bad"]
                for statistic in arguments.statistics.split(","):
                    clf, total = fit(client, X, y, statistic)
                    ours = 1 - clf.seconds["train"] / total
                    print(
                        f"{n_rows:>12,} {statistic:>9} {total:>8.1f} {clf.seconds['train']:>8.1f} "
                        f"{clf.seconds['score and count']:>8.1f} {100 * ours:>7.1f} {clf.bytes_of_counts / 1e6:>9.2f} "
                        f"{clf.expected_coverage().expected:>9.6f} {ratio_of_deciding(client, clf, X):>23.3f}",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
