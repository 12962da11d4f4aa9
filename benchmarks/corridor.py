"""What a decision costs beside the model: one row, one coverage for an AUC, and `aucross fit` outside of its training.

    python -m benchmarks.corridor
    python -m benchmarks.corridor one-row coverage-for outside-training      # or some of the three
    AUCROSS_BEFORE=/checkout/of/another/commit python -m benchmarks.corridor outside-training

Ratios, measured side by side in one run; with AUCROSS_BEFORE also against another commit of this repository. All but
those of one row are ratios of processor time, so that other work on the machine counts for neither side.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any

import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier
from sklearn.linear_model import LogisticRegression

from aucross import AUCGate, AUCross
from benchmarks.paper_data import FOLDER


def draw(n_rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows with a signal that a linear model sees in part."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 10))
    logit = X[:, 0] + 0.7 * X[:, 1] + X[:, 2] * X[:, 3] - 2.0
    return X, rng.random(n_rows) < 1 / (1 + np.exp(-logit))


def medians(*calls: Callable[[], Any], repeats: int = 400) -> list[float]:
    """Median seconds of each call, taken in turns."""
    seconds: list[list[float]] = [[] for _ in calls]
    for _ in range(repeats):
        for call, own in zip(calls, seconds, strict=True):
            start = perf_counter()
            call()
            own.append(perf_counter() - start)
    return [statistics.median(own) for own in seconds]


def one_row() -> None:
    for n_rows in (20_000, 200_000, 1_000_000):
        X, y = draw(n_rows)
        for name, model in (("logistic", LogisticRegression()), ("LightGBM", LGBMClassifier(n_jobs=1, verbose=-1))):
            if name == "LightGBM" and n_rows > 200_000:
                continue
            clf = AUCross(model, cv=2, random_state=0).fit(X, y)
            row = X[:1]
            clf.select(row)
            select, predict = medians(lambda: clf.select(row), lambda: clf.estimator_.predict_proba(row))  # noqa: B023
            print(
                f"select of one row, {name}, {n_rows:,} training rows: {select / predict:.2f} x predict_proba of it "
                f"({1e6 * select:.0f} against {1e6 * predict:.0f} us; target at most 1.2)"
            )


def coverage_for() -> None:
    X, y = draw(20_000)
    clf = AUCGate(LogisticRegression(), LGBMClassifier(n_jobs=1, verbose=-1), random_state=0)
    start = process_time()
    clf.fit(X, y)
    fit = process_time() - start
    start = process_time()
    found = clf.coverage_for(auc=0.85)
    took = process_time() - start
    print(
        f"AUCGate.coverage_for, 20,000 rows: {took / fit:.2f} x a fit ({took:.1f} against {fit:.1f} s; target at most "
        f"0.5); coverage {found.value:.4f} [{found.low:.4f}, {found.high:.4f}]"
    )


def outside_training() -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        tables = {"200,000 synthetic rows": folder / "loans.csv"}
        X, y = draw(200_000)
        np.savetxt(
            tables["200,000 synthetic rows"],
            np.column_stack((X.round(4), y)),
            delimiter=",",
            fmt="%g",
            header=",".join([*(f"x{number}" for number in range(10)), "target"]),
            comments="",
        )
        if (FOLDER / "giveme.parquet").exists():
            tables["GiveMe"] = folder / "giveme.csv"
            pd.read_parquet(FOLDER / "giveme.parquet").to_csv(tables["GiveMe"], index=False)
        for what, table in tables.items():
            training, outside = time_of_fit(table, folder, HERE)
            print(
                f"aucross fit with report, {what}, LightGBM: {outside / training:.2f} x the training is spent outside "
                f"({outside:.1f} against {training:.1f} s; target at most 0.33)"
            )
            if before := os.environ.get("AUCROSS_BEFORE"):
                _, outside_before = time_of_fit(table, folder, Path(before))
                print(f"  {outside / outside_before:.2f} x what {before} spends outside ({outside_before:.1f} s)")


HERE = Path(__file__).resolve().parents[1]

# A process that fits from the command line and says how long the classifier itself took.
TIMED_FIT = """
import sys, time
from aucross.cli.base_models import fit_classifier
import aucross.cli.train as training
seconds = []
def timed(clf, rows):
    begin = time.process_time()
    fit_classifier(clf, rows)
    seconds.append(time.process_time() - begin)
training.fit_classifier = timed
from aucross.cli import main
sys.argv[0] = "aucross"
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print("SECONDS", sum(seconds), time.process_time(), file=sys.stderr)
"""


def time_of_fit(table: Path, folder: Path, checkout: Path, repeats: int = 3) -> tuple[float, float]:
    """Seconds of training and seconds outside of it, the fastest of several runs."""
    command = ["fit", table, "--target", "target", "--base", "lightgbm", "--out", folder / "model.aucross", "--json"]
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src"), "OMP_NUM_THREADS": "1"}
    found = []
    for _ in range(repeats):
        done = subprocess.run(
            [sys.executable, "-c", TIMED_FIT, *map(str, command)],
            capture_output=True,
            text=True,
            check=True,
            env=environment,
        )
        json.loads(done.stdout)
        _, training, whole = next(line for line in done.stderr.splitlines() if line.startswith("SECONDS")).split()
        found.append((float(training), float(whole) - float(training)))
    return min(training for training, _ in found), min(outside for _, outside in found)


def main() -> None:
    parts: dict[str, Callable[[], None]] = {
        "one-row": one_row,
        "coverage-for": coverage_for,
        "outside-training": outside_training,
    }
    for name in sys.argv[1:] or parts:
        parts[name]()


if __name__ == "__main__":
    main()
