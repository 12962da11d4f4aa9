"""Coverage under heavy ties: random forests on data with 2 % positives, where half of all rows score exactly 0.

    python -m benchmarks.heavy_ties          forests, whole ties
    python -m benchmarks.heavy_ties split    a tree of depth 3 and ten rating grades, ties whole and split

For each method and target coverage: coverage on the rows that placed the band (never under the target), before the
correction for the number of folds, and on as many new rows after it (no more than .02 under the target), the lowest of
five data sets. Centred placement is shown for comparison: it takes whole ties and falls far under its target.

The second table shows the coverage of 40,000 new rows, lowest and highest of ten data sets of 4,000 training rows, and
what `expected_coverage` led to expect on average.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from aucross import AUCross, PlugIn, PlugInAUC, ScoreColumn, SCross, SelectiveClassifier
from benchmarks.paper_data import COVERAGES
from experiments.selections import select_each

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
    rule = clf.band_rule_
    ranked = rule.ranked if isinstance(clf, SCross | PlugIn) else clf.held_out_.ranked()
    placed = [ranked.coverage(rule.placed(coverage)) for coverage in COVERAGES]
    return placed, [float(selected.mean()) for selected in select_each(clf, X_new, COVERAGES)]


# ---- ties whole and split ----

TREE = DecisionTreeClassifier(max_depth=3, random_state=0)
FEW_SCORES = {
    "tree, PlugInAUC": PlugInAUC(TREE, holdout_size=0.5, random_state=0),
    "tree, PlugIn": PlugIn(TREE, holdout_size=0.5, random_state=0),
    "tree, AUCross": AUCross(TREE, random_state=0),
    "tree, SCross": SCross(TREE, random_state=0),
    "grades, AUCross": AUCross(ScoreColumn("grade"), random_state=0),
    "grades, SCross": SCross(ScoreColumn("grade"), random_state=0),
}
ASKED = (0.95, 0.9, 0.8, 0.7)


def frames(seed: int, n_train: int = 4_000, n_new: int = 40_000) -> tuple[pd.DataFrame, np.ndarray, pd.DataFrame]:
    """Features for a tree, and beside them the ten grades of a score that knows more than one of them."""
    X, y = make_classification(n_train + n_new, n_features=10, n_informative=5, flip_y=0.3, random_state=seed)
    rng = np.random.default_rng(seed)
    risk = 2.0 * y + 3.0 * rng.normal(size=len(y))
    grade = np.searchsorted(np.quantile(risk[:n_train], np.arange(0.1, 1.0, 0.1)), risk) / 10 + 0.05
    frame = pd.DataFrame(X, columns=[f"x{place}" for place in range(X.shape[1])])
    frame["grade"] = grade
    return frame[:n_train], y[:n_train], frame[n_train:]


def reached(clf: SelectiveClassifier, n_sets: int) -> tuple[np.ndarray, np.ndarray]:
    """Coverage of new rows, and the one that was expected, for each data set and each coverage asked for."""
    measured = []
    for seed in range(n_sets):
        X, y, X_new = frames(seed)
        if not isinstance(clf.estimator, ScoreColumn):
            X, X_new = X.drop(columns="grade"), X_new.drop(columns="grade")
        fitted = clone(clf).fit(X, y)
        expected = [fitted.expected_coverage(coverage).value for coverage in ASKED]
        measured.append((select_each(fitted, X_new, ASKED).mean(axis=1), expected))
    shares = np.array(measured)
    return shares[:, 0], shares[:, 1]


def split_ties(n_sets: int = 10) -> None:
    """Print asked and reached, before and after."""
    print("| scores | ties | " + " | ".join(f"asked {coverage:g}" for coverage in ASKED) + " |")
    print("|---|---|" + "---|" * len(ASKED))
    for name, clf in FEW_SCORES.items():
        for ties in ("whole", "split"):
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="a coverage of .* cannot be reached")
                warnings.filterwarnings("ignore", message="the models of the folds select from")
                shares, expected = reached(clone(clf).set_params(ties=ties), n_sets)
            cells = [
                f"{low:.3f} to {high:.3f}, expected {mean:.3f}"
                for low, high, mean in zip(shares.min(axis=0), shares.max(axis=0), expected.mean(axis=0), strict=True)
            ]
            print(f"| {name} | {ties} | " + " | ".join(cells) + " |", flush=True)


def main(arguments: Sequence[str] = ()) -> None:
    if "split" in arguments:
        split_ties()
        return
    print(f"{'target coverage':40}" + "".join(f"{coverage:8.2f}" for coverage in COVERAGES))
    for name, clf in METHODS.items():
        measured = np.array([coverages(clf.fit(X, y), X_new) for X, y, X_new in data_sets()])
        for rows, values in zip(("placing rows", "new rows"), measured.min(axis=0), strict=True):
            print(f"{name:20}{rows:20}" + "".join(f"{value:8.3f}" for value in values), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
