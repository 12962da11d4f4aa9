"""Execute one run: fit every method, select at every coverage, measure against labels and Oracle."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from aucross import evaluate_selections
from aucross.core import RankedScores, best_band
from aucross.evaluation import SelectiveEvaluation
from experiments.datasets import Split
from experiments.methods import RECALIBRATED, methods_of
from experiments.protocol import COVERAGES, Run
from experiments.selections import select_each
from experiments.trained_once import FittedModels

# What is selected for each coverage asked for.
Selections = Mapping[float, np.ndarray]

# Names of the measures in our evaluation, and what the paper's tables call them.
METRICS = {
    "achieved_coverage": "coverage",
    "selective_auc": "selective_auc",
    "selective_accuracy": "selective_accuracy",
    "positive_rate": "positive_rate",
}
BOOTSTRAP_SEED = 0


def execute(run: Run) -> list[dict[str, Any]]:
    """One row per method and coverage."""
    split, models = run.rows(), FittedModels()
    rows: list[dict[str, Any]] = []
    for name, build in methods_of(run, models).items():
        clf = build().fit(split.X_train, split.y_train)
        rows += [{"method": name, **row} for row in measure(clf, split, run.n_bootstrap)]
        if name == "AUCross optimal" and run.split == "paper" and run.cv == 5:
            moved = clf.recalibrate(split.X_test)
            rows += [{"method": RECALIBRATED, **row} for row in measure(moved, split, run.n_bootstrap)]
    return [{**run.key, **row} for row in rows]


def evaluate(y_test: np.ndarray, score: np.ndarray, selections: Selections, n_bootstrap: int) -> SelectiveEvaluation:
    """Measures of several selections; 0 bootstrap samples give estimates alone."""
    return evaluate_selections(
        y_test, score, score > 0.5, selections, n_bootstrap=n_bootstrap, random_state=BOOTSTRAP_SEED
    )


def measure(
    clf: Any, split: Split, n_bootstrap: int, coverages: Sequence[float] = COVERAGES
) -> Iterator[dict[str, Any]]:
    """Measures of a fitted method on the test rows, one row per coverage."""
    score = clf.predict_proba(split.X_test)[:, 1].astype(float)
    selections = dict(zip(coverages, select_each(clf, split.X_test, coverages), strict=True))
    evaluation = evaluate(split.y_test, score, selections, n_bootstrap)
    oracles = Oracles(split.y_test, score)
    for index, coverage in enumerate(coverages):
        reached = float(evaluation.estimates["achieved_coverage"][index])
        row: dict[str, Any] = {"target_coverage": coverage}
        for name, metric in METRICS.items():
            row[metric] = float(evaluation.estimates[name][index])
            # The paper averages over bootstrap samples, which to first order is the estimate.
            row[f"{metric}_mean"] = row[metric] if n_bootstrap else None
            row[f"{metric}_sd"] = float(evaluation.deviations[name][index]) if n_bootstrap else None
        auc = row["selective_auc"]
        row["oracle_distance"] = oracles.exact(reached) - auc
        row["oracle_deviation"] = abs(oracles.exact(coverage) - auc)
        row["grid_oracle_deviation"] = abs(oracles.on_grid(coverage) - auc)
        yield row


class Oracles:
    """The highest AUC that any band leaves on rows whose labels are known.

    Parameters
    ----------
    y_true, score : array of shape (n_samples,)
        Labels and scores of the test rows.
    """

    def __init__(self, y_true: np.ndarray, score: np.ndarray) -> None:
        self._ranked = RankedScores.from_labels(y_true, score)
        # The paper's Oracle tries bounds of three decimals.
        self._on_grid = RankedScores.from_labels(y_true, np.round(score, 3))

    def exact(self, coverage: float) -> float:
        """Over all bands that accept at least this share."""
        return self._ranked.auc(best_band(self._ranked, coverage, width="any"))

    def on_grid(self, coverage: float) -> float:
        """Over bands between scores of three decimals; equal rounded scores count half."""
        return self._on_grid.auc(best_band(self._on_grid, coverage, width="any"))
