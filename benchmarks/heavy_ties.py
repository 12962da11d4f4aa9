"""Coverage under heavy ties: random forests on data with 2 % positives, where half of all rows score exactly 0.

    python -m benchmarks.heavy_ties

For each method and target coverage: coverage on the rows that placed the band (never under the target), before the
correction for the number of folds, and on as many new rows after it (no more than .02 under the target), the lowest of
five data sets. Centred placement is shown for comparison: it takes whole ties and falls far under its target.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

from aucross import AUCross, PlugIn, PlugInAUC, SCross, SelectiveClassifier
from benchmarks.paper_data import COVERAGES

FOREST = RandomForestClassifier(random_state=0)
METHODS = {
    "AUCross": AUCross(FOREST, random_state=0),
    "PlugInAUC": PlugInAUC(FOREST, random_state=0),
    "SCross": SCross(FOREST, random_state=0),
    "PlugIn": PlugIn(FOREST, random_state=0),
    "AUCross centred": AUCross(FOREST, placement="centered", random_state=0),
    "PlugInAUC centred": PlugInAUC(FOREST, placement="centered", random_state=0),
}


def data_sets(n_rows: int = 8_000, count: int = 5) -> Iterator[tuple[np.ndarray, ...]]:
    for seed in range(count):
        X, y = make_classification(2 * n_rows, weights=[0.98], flip_y=0.01, class_sep=0.8, random_state=seed)
        yield X[:n_rows], y[:n_rows], X[n_rows:]


def coverages(clf: SelectiveClassifier, X_new: np.ndarray) -> tuple[list[float], list[float]]:
    """Coverage on the rows that placed the bands and on new rows, for every target."""
    rule = clf.band_rule_.innermost
    ranked = rule.ranked if isinstance(clf, SCross | PlugIn) else clf.held_out_.ranked()
    placed = [ranked.coverage(rule.band(coverage)) for coverage in COVERAGES]
    return placed, [float(selected.mean()) for selected in clf.select_each(X_new, COVERAGES)]


def main() -> None:
    print(f"{'target coverage':40}" + "".join(f"{coverage:8.2f}" for coverage in COVERAGES))
    for name, clf in METHODS.items():
        measured = np.array([coverages(clf.fit(X, y), X_new) for X, y, X_new in data_sets()])
        for rows, values in zip(("placing rows", "new rows"), measured.min(axis=0), strict=True):
            print(f"{name:20}{rows:20}" + "".join(f"{value:8.3f}" for value in values), flush=True)


if __name__ == "__main__":
    main()
