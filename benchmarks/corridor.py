"""What a decision costs beside the model: one row, one coverage for an AUC, the start of the command line.

    python -m benchmarks.corridor

Ratios of medians, measured side by side in one run.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
from lightgbm import LGBMClassifier
from sklearn.linear_model import LogisticRegression

from aucross import AUCGate, AUCross


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
                f"({1e6 * select:.0f} against {1e6 * predict:.0f} us; target at most 1.3)"
            )


def coverage_for() -> None:
    X, y = draw(20_000)
    clf = AUCGate(LogisticRegression(), LGBMClassifier(n_jobs=1, verbose=-1), random_state=0)
    start = perf_counter()
    clf.fit(X, y)
    fit = perf_counter() - start
    start = perf_counter()
    found = clf.coverage_for(auc=0.85)
    took = perf_counter() - start
    print(
        f"AUCGate.coverage_for, 20,000 rows: {took / fit:.2f} x a fit ({took:.1f} against {fit:.1f} s; target at most "
        f"0.5); coverage {found.coverage:.4f} [{found.low:.4f}, {found.high:.4f}]"
    )


def main() -> None:
    parts: dict[str, Callable[[], None]] = {"one-row": one_row, "coverage-for": coverage_for}
    for name in sys.argv[1:] or parts:
        parts[name]()


if __name__ == "__main__":
    main()
