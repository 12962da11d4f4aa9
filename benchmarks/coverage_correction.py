"""Coverage of cross-fitted methods on small data, with and without the correction, over many random splits.

Every finished split is a line of benchmarks/results/coverage_correction.csv, so that a run can be stopped and resumed;
the printed table reads that file. `python -m benchmarks.coverage_correction table` prints it without computing.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from aucross import AUCross, SCross
from benchmarks.paper_data import BASE_MODEL, FOLDER

RESULTS = Path(__file__).parent / "results" / "coverage_correction.csv"
COVERAGES = (0.95, 0.90, 0.85, 0.80, 0.75)
SEEDS = range(50)
MOST_TEST_ROWS = 50_000

TRAINING_ROWS = {"Adult": 6_000, "GiveMe": 12_000, "UCICredit": 22_500}
MODELS = {
    "LightGBM": BASE_MODEL,
    "logistic": make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression(max_iter=1000)),
    "histogram boosting": HistGradientBoostingClassifier(random_state=0),
    "gradient boosting": make_pipeline(SimpleImputer(), GradientBoostingClassifier(random_state=0)),
    "random forest": make_pipeline(SimpleImputer(), RandomForestClassifier(random_state=0, n_jobs=1)),
}
METHODS = {"AUCross": AUCross, "SCross": SCross}
COLUMNS = ("data", "model", "method", "seed", "without", "corrected", "unused_for_ties")


class Case(NamedTuple):
    """One line of the results, before it is computed."""

    data: str
    model: str
    method: str
    seed: int


def cases() -> Iterator[Case]:
    """Quick models first, so that a run that is cut off has complete rows of the table."""
    slow = ("gradient boosting", "random forest")
    quick = [name for name in MODELS if name not in slow]
    yield from (Case(data, model, "AUCross", seed) for model in quick for data in TRAINING_ROWS for seed in SEEDS)
    # By split, so that what is there at any time is balanced.
    yield from (Case(data, model, "AUCross", seed) for seed in SEEDS for model in slow for data in TRAINING_ROWS)
    yield from (Case(data, model, "SCross", seed) for model in quick for data in TRAINING_ROWS for seed in SEEDS)


def rows_of(data: str) -> tuple[np.ndarray, np.ndarray]:
    """All rows of a data set; categories one-hot."""
    names = ("adult_train", "adult_test") if data == "Adult" else (data.lower(),)
    frame = pd.concat([pd.read_parquet(FOLDER / f"{name}.parquet") for name in names])
    y = frame.pop("target").to_numpy()
    return pd.get_dummies(frame, dtype=float).to_numpy(dtype=float), y


def measure(case: Case, X: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    """Mean over the coverages of reached less asked, on test rows, from one fit."""
    train, test = train_test_split(
        np.arange(len(y)), train_size=TRAINING_ROWS[case.data], stratify=y, random_state=case.seed
    )
    test = test[:MOST_TEST_ROWS]
    clf = METHODS[case.method](clone(MODELS[case.model]), correct_coverage=True, random_state=case.seed)
    clf.fit(X[train], y[train])
    score, rule = clf.selection_score(X[test]), clf.band_rule_.innermost
    placing = rule.ranked

    def mean_error(bands: Any) -> float:
        return float(np.mean([bands(c).selects(score).mean() - c for c in COVERAGES]))

    unused = float(np.mean([placing.coverage(rule.band(c)) - c for c in COVERAGES]))
    errors = {"without": mean_error(rule.band), "corrected": mean_error(clf.band), "unused_for_ties": unused}
    return {**case._asdict(), **{name: round(value, 6) for name, value in errors.items()}}


def run() -> None:
    done = set()
    if RESULTS.exists():
        with RESULTS.open(encoding="utf-8") as file:
            done = {Case(row["data"], row["model"], row["method"], int(row["seed"])) for row in csv.DictReader(file)}
    else:
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(",".join(COLUMNS) + "\n", encoding="utf-8")
    loaded: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    for case in cases():
        if case in done:
            continue
        if case.data not in loaded:
            loaded[case.data] = rows_of(case.data)
        line = measure(case, *loaded[case.data])
        with RESULTS.open("a", encoding="utf-8", newline="") as file:
            csv.DictWriter(file, COLUMNS).writerow(line)


def print_table() -> None:
    results = pd.read_csv(RESULTS)
    print(
        f"Reached less asked coverage, mean over {COVERAGES}, in 1e-3, with its standard error over random splits.\n"
        f"Training rows {TRAINING_ROWS}; 5 folds; the correction scores the rows once more with 2 folds.\n"
    )
    columns = f"{'method':8} {'model':19} {'data':10} {'splits':>6} {'without':>12} {'corrected':>12} {'limit':>6} "
    print(columns + f"{'ties':>5}")
    for (method, model, data), part in results.groupby(["method", "model", "data"], sort=False):
        means, errors = part[["without", "corrected"]].mean() * 1e3, part[["without", "corrected"]].sem() * 1e3
        limit = 3 + 2 * errors["corrected"]
        met = "" if abs(means["corrected"]) <= limit else "  missed"
        print(
            f"{method:8} {model:19} {data:10} {len(part):6} {means['without']:6.1f} ± {errors['without']:3.1f} "
            f"{means['corrected']:6.1f} ± {errors['corrected']:3.1f} {limit:6.1f} "
            f"{part['unused_for_ties'].mean() * 1e3:5.1f}{met}"
        )


def main() -> None:
    if sys.argv[1:] != ["table"]:
        run()
    print_table()


if __name__ == "__main__":
    main()
