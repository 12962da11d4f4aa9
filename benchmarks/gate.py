"""What a gate adds to a logistic scorecard, and what it costs where it cannot help.

    python -m benchmarks.gate             a logistic regression gated by LightGBM: test AUC, coverage, Oracle, times
    python -m benchmarks.gate cost [N]    LightGBM gated by itself, by a depth-2 tree and by noise, N fold seeds (5)

The AUC is that of the classifier, on the rows that it answers. "Score-bounded Oracle" is the best band on the test
labels at the target coverage. Costs are differences to AUCross with optimal placement and the same folds, in 1e-4 of
AUC, mean over coverages from .95 down and over fold seeds: as reached, and at the same coverage on the test rows.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from aucross import AUCGate, AUCross
from aucross.core import RankedScores, oracle_band
from benchmarks.paper_data import BASE_MODEL, COVERAGES, NAMES, Split, load
from experiments.selections import select_each

SCORECARD = make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression(max_iter=1000))
LOW_COVERAGES = [coverage for coverage in COVERAGES if coverage <= 0.95]


class NoiseClassifier(ClassifierMixin, BaseEstimator):
    """A gate that knows nothing: random probabilities."""

    def fit(self, X, y):  # noqa: ARG002
        """Remember the classes."""
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        """Draw probabilities."""
        chance = np.random.default_rng(len(X)).random(len(X))
        return np.column_stack((1 - chance, chance))


GATES = {"the same model": BASE_MODEL, "depth-2 tree": DecisionTreeClassifier(max_depth=2), "noise": NoiseClassifier()}


def gain(name: str) -> None:
    data = load(name)
    gated = AUCGate(SCORECARD, BASE_MODEL, random_state=42)
    start = time.perf_counter()
    gated.fit(data.X_train, data.y_train)
    fitted = time.perf_counter()
    for coverage in COVERAGES:
        gated.band(coverage)
    placed = time.perf_counter()
    score = gated.predict_proba(data.X_test)[:, 1]
    ranked = RankedScores.from_labels(data.y_test, score)
    share = (placed - fitted) / (fitted - start)
    print(f"{name}: all rows {ranked.auc():.4f}; placing six coverages took {share:.1%} of the fit")
    for coverage, selected in zip(COVERAGES, select_each(gated, data.X_test, COVERAGES), strict=True):
        oracle = ranked.auc(oracle_band(data.y_test, score, coverage))
        auc = RankedScores.from_labels(data.y_test[selected], score[selected]).auc()
        print(
            f"  {coverage:.2f}  selected {selected.mean():.4f}  AUC {auc:.4f}  score-bounded Oracle {oracle:.4f}",
            flush=True,
        )


def cost(name: str, n_seeds: int) -> None:
    data = load(name)
    differences: dict[str, list[tuple[float, float]]] = {gate: [] for gate in GATES}
    for seed in range(n_seeds):
        plain = AUCross(BASE_MODEL, random_state=seed).fit(data.X_train, data.y_train)
        for label, gate in GATES.items():
            gated = AUCGate(BASE_MODEL, gate, random_state=seed).fit(data.X_train, data.y_train)
            differences[label].append(compare(gated, plain, data))
    for label, values in differences.items():
        as_reached, same_coverage = np.mean(values, axis=0) * 1e4
        print(f"{name:10} gate: {label:15} {as_reached:+6.2f}   at the same coverage {same_coverage:+6.2f}", flush=True)


def compare(gated: AUCGate, plain: AUCross, data: Split) -> tuple[float, float]:
    """Mean difference in AUC to the plain rule over the low coverages."""
    score = plain.predict_proba(data.X_test)[:, 1]
    ranked = RankedScores.from_labels(data.y_test, score)
    candidates = [plain.band(coverage) for coverage in np.linspace(0.70, 1.0, 301)]
    reached = np.array([ranked.coverage(band) for band in candidates])
    pairs = []
    for coverage, selected in zip(LOW_COVERAGES, select_each(gated, data.X_test, LOW_COVERAGES), strict=True):
        auc = RankedScores.from_labels(data.y_test[selected], score[selected]).auc()
        level = candidates[int(np.argmin(np.abs(reached - selected.mean())))]
        pairs.append((auc - ranked.auc(plain.band(coverage)), auc - ranked.auc(level)))
    as_reached, same_coverage = np.mean(pairs, axis=0)
    return float(as_reached), float(same_coverage)


def main() -> None:
    if sys.argv[1:2] == ["cost"]:
        for name in NAMES:
            cost(name, int(sys.argv[2]) if len(sys.argv) > 2 else 5)
        return
    for name in NAMES:
        gain(name)


if __name__ == "__main__":
    main()
