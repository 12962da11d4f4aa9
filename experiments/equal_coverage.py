"""Two selections compared where they accept the same share of rows, on the same bootstrap samples."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import Any

import numpy as np

from aucross.evaluation import SelectiveEvaluation
from experiments.runs import Selections, evaluate
from experiments.selections import select_each

# Targets that are tried to reach a coverage.
TARGETS = np.linspace(0.4, 1.0, 301)


class NearestSelections:
    """What a fitted method selects at whatever coverage is reached by another one.

    Parameters
    ----------
    clf : SelectiveClassifier
        The fitted method.
    X_test : array-like or ScoredRows
        The test rows.
    never_below : bool, default=False
        Take the nearest that is not below, so that it cannot win by rejecting a few rows more than the other.
    """

    def __init__(self, clf: Any, X_test: Any, *, never_below: bool = False) -> None:
        self._selections = select_each(clf, X_test, TARGETS)
        self.reached = self._selections.mean(axis=1)
        self._never_below = never_below

    def at(self, coverage: float) -> np.ndarray:
        """The selection whose coverage is nearest to this one."""
        distance = np.abs(self.reached - coverage)
        if self._never_below:
            distance[self.reached < coverage] = inf
        return self._selections[distance.argmin()]


class AtEqualCoverage:
    """A method at whatever coverage another one reaches: the nearest of a fine grid of targets.

    Parameters
    ----------
    clf : SelectiveClassifier
        The fitted method.
    X_test, y_test : array-like
        The test rows.
    n_bootstrap : int
        Bootstrap samples of a comparison.
    tolerance : float, optional
        How far from the coverage the nearest may be to be compared; by default wherever targets go that low.
    never_below : bool, default=False
        Take the nearest that is not below, so that it cannot win by rejecting a few rows more than the other.
    """

    def __init__(
        self,
        clf: Any,
        X_test: Any,
        y_test: np.ndarray,
        *,
        n_bootstrap: int,
        tolerance: float = inf,
        never_below: bool = False,
    ) -> None:
        self._y_test = y_test
        self._score = clf.predict_proba(X_test)[:, 1].astype(float)
        self._nearest = NearestSelections(clf, X_test, never_below=never_below)
        self._n_bootstrap = n_bootstrap
        self._tolerance = tolerance

    def minus(self, other: SelectiveEvaluation, selections: Selections) -> Iterator[dict[str, float]]:
        """The AUC of this method minus that of another, with the paired interval.

        Parameters
        ----------
        other : SelectiveEvaluation
            Measures of the other method, from `evaluate` with as many bootstrap samples.
        selections : mapping of float to array of shape (n_test,)
            What it selects for each coverage asked for.

        Yields
        ------
        dict
            ``difference``, ``low``, ``high``, and ``coverage``, ``selective_auc`` and ``selective_accuracy`` of this
            method there; without figures where no target comes near the coverage.
        """
        matched = {c: self._nearest.at(selected.mean()) for c, selected in selections.items()}
        ours = evaluate(self._y_test, self._score, matched, self._n_bootstrap)
        differences = [row for row in ours.minus(other).rows() if row["metric"] == "selective_auc"]
        for row, difference, selected in zip(ours.rows(), differences, selections.values(), strict=True):
            found = {
                "difference": difference["difference"],
                "low": difference["difference_low"],
                "high": difference["difference_high"],
                "coverage": row["achieved_coverage"],
                "selective_auc": row["selective_auc"],
                "selective_accuracy": row["selective_accuracy"],
            }
            reached = selected.mean()
            is_low_enough = reached >= self._nearest.reached.min() - 0.001
            is_near = abs(found["coverage"] - reached) <= self._tolerance
            yield found if is_low_enough and is_near else dict.fromkeys(found, float("nan"))
