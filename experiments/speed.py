"""What methods cost, and the time of one whole experiment against a plain version of it, side by side in one process.

Both are measured alone on the machine. The plain version is what a script without this library does: it trains each
method by itself, draws each bootstrap sample and ranks it again with `roc_auc_score`, and tries the Oracle's pairs of
bounds one by one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score, roc_auc_score

from aucross import AUCross, PlugIn, PlugInAUC, SCross
from aucross.core import RankedScores, best_band
from aucross.estimators import without_correction
from experiments.datasets import Split
from experiments.methods import METHODS, methods_of
from experiments.protocol import CLASSIFIERS, COVERAGES, N_BOOTSTRAP, PAPER_SEED, Run
from experiments.runs import measure
from experiments.selections import select_each
from experiments.trained_once import FittedModels, TrainedOnce
from experiments.work import Named

# The Oracle's pairs grow with the square of the grid; this coverage leaves few enough to try them all.
ORACLE_COVERAGE = 0.99


@dataclass(frozen=True)
class Timed(Named):
    """One data set to be timed on."""

    dataset: str


def measure_times(work: Timed) -> list[dict[str, Any]]:
    """Seconds of one fit of each method that shares nothing with the others: Table 5."""
    run = Run(work.dataset)
    split = run.rows()
    rows = []
    for method in METHODS:
        clf = methods_of(run)[method]()
        seconds = _seconds(partial(clf.fit, split.X_train, split.y_train))
        rows.append({**run.key, "method": method, "seconds": seconds})
    return rows


@dataclass(frozen=True)
class Compared(Named):
    """One data set on which both versions are run, with so many bootstrap replicates."""

    dataset: str
    n_bootstrap: int = N_BOOTSTRAP


def measure_speed(work: Compared) -> list[dict[str, Any]]:
    """Seconds of each step in both versions, and their ratio."""
    split = Run(work.dataset).rows()
    rows = []
    for step, ours, plain in _steps(split, work.n_bootstrap):
        seconds = [_seconds(action) for action in (ours, plain)]
        rows.append({**work.key, "step": step, "ours": seconds[0], "plain": seconds[1]})
    total = {name: sum(row[name] for row in rows) for name in ("ours", "plain")}
    rows.append({**work.key, "step": "all", **total})
    return [{**row, "ratio": row["plain"] / row["ours"]} for row in rows]


def _steps(split: Split, n_bootstrap: int) -> Iterator[tuple[str, Callable[[], Any], Callable[[], Any]]]:
    base = CLASSIFIERS["LightGBM"]()
    fitted = list(_train(TrainedOnce(base, FittedModels()), split))
    selections = [select_each(clf, split.X_test, COVERAGES) for clf in fitted]
    scores = [clf.predict_proba(split.X_test)[:, 1] for clf in fitted]
    yield (
        "training of four methods, folds shared",
        lambda: list(_train(TrainedOnce(base, FittedModels()), split)),
        lambda: list(_train(base, split)),
    )
    yield (
        f"bootstrap of four methods at six coverages, {n_bootstrap} replicates",
        lambda: [list(measure(clf, split, n_bootstrap)) for clf in fitted],
        lambda: [_resample(split, *pair, n_bootstrap) for pair in zip(scores, selections, strict=True)],
    )
    yield (
        f"Oracle at coverage {ORACLE_COVERAGE}",
        lambda: _exact_oracle(split, scores[0]),
        lambda: _try_all_bands(split.y_test, scores[0]),
    )


def _train(base: Any, split: Split) -> Iterator[Any]:
    methods = (
        AUCross(base, placement="centered", random_state=PAPER_SEED),
        PlugInAUC(base, placement="centered", random_state=PAPER_SEED),
        without_correction(SCross(base, random_state=PAPER_SEED)),
        PlugIn(base, random_state=PAPER_SEED),
    )
    for method in methods:
        yield method.fit(split.X_train, split.y_train)


def _resample(split: Split, score: np.ndarray, selections: np.ndarray, n_bootstrap: int) -> None:
    rng = np.random.default_rng(0)
    for _ in range(n_bootstrap):
        drawn = rng.integers(0, len(score), len(score))
        for selected in selections:
            kept = drawn[selected[drawn]]
            roc_auc_score(split.y_test[kept], score[kept])
            accuracy_score(split.y_test[kept], score[kept] > 0.5)


def _exact_oracle(split: Split, score: np.ndarray) -> float:
    ranked = RankedScores.from_labels(split.y_test, score)
    return ranked.auc(best_band(ranked, ORACLE_COVERAGE, width="any"))


def _try_all_bands(y_test: np.ndarray, score: np.ndarray) -> float:
    grid, best = np.unique(np.round(score, 3)), 0.0
    for index, lower in enumerate(grid):
        for upper in grid[index:]:
            selected = (score < lower) | (score > upper)
            if selected.mean() < ORACLE_COVERAGE:
                break
            best = max(best, roc_auc_score(y_test[selected], score[selected]))
    return best


def _seconds(action: Callable[[], Any]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start
