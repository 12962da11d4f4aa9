"""Write `published_methods.json`, bands and coverages of the published methods on fixed rows, and `frozen.json`.

    python tests/golden/regenerate.py

Run it only after a change that is meant to move these figures, look at the difference, and say in the changelog why
they moved. The rows come from scikit-learn's `make_classification`; the logistic regression is solved to a tolerance
at which its scores do not depend on the machine to the digits that are compared. `frozen_cases.py` says what
`frozen.json` holds; of each case that moved a line is printed.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from math import isinf
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from aucross import AUCross, PlugIn, PlugInAUC, SCross
from aucross.estimators import without_correction
from aucross.evaluation import selective_auc

FILE = Path(__file__).with_name("published_methods.json")
COVERAGES = (0.99, 0.95, 0.90, 0.85, 0.80, 0.75)
SEED = 42


class Split(NamedTuple):
    """Rows to fit on and new rows."""

    X: np.ndarray
    y: np.ndarray
    X_new: np.ndarray
    y_new: np.ndarray


def fixed_rows() -> Split:
    """2,000 rows to fit on and 2,000 new ones, a quarter of them positive, with noisy labels."""
    X, y = make_classification(4000, n_features=12, n_informative=5, weights=[0.75], flip_y=0.15, random_state=7)
    return Split(X[:2000], y[:2000], X[2000:], y[2000:])


def base_model() -> LogisticRegression:
    """A model with one solution, found to many digits."""
    return LogisticRegression(tol=1e-10, max_iter=10_000)


def published_methods() -> dict[str, Any]:
    """The four methods with the parameters of the paper."""
    return {
        "AUCross": AUCross(base_model(), placement="centered", random_state=SEED),
        "PlugInAUC": PlugInAUC(base_model(), placement="centered", random_state=SEED),
        "SCross": without_correction(SCross(base_model(), random_state=SEED)),
        "PlugIn": PlugIn(base_model(), random_state=SEED),
    }


def measure(clf: Any, rows: Split) -> list[dict[str, Any]]:
    """Band, coverage of the new rows and their selective AUC, at every coverage."""
    clf.fit(rows.X, rows.y)
    probability = clf.predict_proba(rows.X_new)[:, 1]
    figures = []
    for coverage in COVERAGES:
        band, selected = clf.band(coverage), clf.select(rows.X_new, coverage)
        figures.append(
            {
                "target_coverage": coverage,
                "lower": None if isinf(band.lower) else band.lower,
                "upper": None if isinf(band.upper) else band.upper,
                "achieved_coverage": float(selected.mean()),
                "selective_auc": float(selective_auc(rows.y_new, probability, selected)),
            }
        )
    return figures


def freeze() -> None:
    """Write what every case says today, and print which cases say something else than before."""
    sys.path.insert(0, str(FILE.parents[2]))  # of a script the own folder alone is searched
    frozen = import_module("tests.golden.frozen_cases")
    before = json.loads(frozen.FILE.read_text()) if frozen.FILE.exists() else {}
    now = {}
    for name, case in frozen.CASES.items():
        found = case(0)
        now[name] = frozen.by_kind(found, case(1))
        if moved := frozen.changes(before.get(name, {}), found):
            sys.stdout.write(f"{name}: {len(moved)} of {len(found)} keys, such as {moved[0]}\n")
    frozen.FILE.write_text(json.dumps(now, indent=1, ensure_ascii=False) + "\n")


def rounded(figures: dict[str, list[dict[str, Any]]]) -> str:
    """The figures to the digits that are compared."""
    return json.dumps({name: [_short(row) for row in rows] for name, rows in figures.items()})


def _short(row: dict[str, Any]) -> dict[str, Any]:
    return {key: None if value is None else round(value, 6) for key, value in row.items()}


def main() -> None:
    """Measure and write."""
    figures = {name: measure(clf, fixed_rows()) for name, clf in published_methods().items()}
    if rounded(figures) != rounded(json.loads(FILE.read_text())):  # further digits are those of the machine
        FILE.write_text(json.dumps(figures, indent=1) + "\n")
    freeze()


if __name__ == "__main__":
    main()
