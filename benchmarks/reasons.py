"""Reasons of cases: how often a planted cause is named first, and what 300 of them cost out of 100,000 rows.

    python -m benchmarks.reasons
    python -m benchmarks.reasons floors      # what the floor of the spread was chosen by
    python -m benchmarks.reasons beside      # and the number of automatic cases whose contributions are computed

A planted case is an automatic row that goes to review because one column was changed. How well that column can be told
depends on what the row was like before, so there are five kinds (`KINDS`), from clear to hopeless. The cost is
processor time: that of the columns in 300 reasons, over that of scoring the batch, the least of three times each.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
from catboost import CatBoostClassifier
from lightgbm import LGBMClassifier
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBClassifier

from aucross import AUCross
from aucross.datasets import make_credit
from aucross.estimators import reasons
from aucross.estimators.reasons import column_reasons

N_CASES = 300
SEED = 2026  # drawn once, after everything was chosen
KINDS = (
    "clear",  # every column in the middle four fifths of its side, the score in the outer half; an extreme value
    "decoy",  # clear, and a second column gets an extreme value, which alone would leave the row automatic
    "typical",  # every column in the middle four fifths, any score; an extreme value
    "outer",  # any columns, the score in the outer half; an extreme value
    "swapped",  # any automatic row; the value of a row of the other side, so that a row next to the band just enters it
)
MODELS: dict[str, Any] = {
    "LightGBM": LGBMClassifier(random_state=0, n_jobs=1, verbose=-1),
    "XGBoost": XGBClassifier(random_state=0, n_jobs=1, enable_categorical=True),
    "CatBoost": CatBoostClassifier(iterations=100, random_seed=0, thread_count=1, verbose=0),
    "HistGradientBoosting": HistGradientBoostingClassifier(random_state=0),
    "RandomForest": RandomForestClassifier(100, min_samples_leaf=20, random_state=0),
    "Logistic": LogisticRegression(max_iter=1000),
    "Scaled logistic": make_pipeline(StandardScaler(), LogisticRegression()),
}


def linear_rows(n_rows: int, rng: np.random.Generator) -> tuple[pd.DataFrame, NDArray[np.int64]]:
    """Ten columns that count by falling weights."""
    values = rng.normal(size=(n_rows, 10))
    y = values @ np.array([1.5, 1.2, 1.0, 0.8, 0.8, 0.6, 0.5, 0.4, 0.3, 0.2]) + rng.logistic(size=n_rows) > 1.5
    return pd.DataFrame(values, columns=[f"c{place}" for place in range(10)]), y.astype(np.int64)


def crooked_rows(n_rows: int, rng: np.random.Generator) -> tuple[pd.DataFrame, NDArray[np.int64]]:
    """Eight columns with a threshold, an interaction and an absolute value."""
    values = rng.normal(size=(n_rows, 8))
    a, b, c, d, e, f, g, _ = values.T
    y = 1.5 * a + 1.8 * (b > 0.5) * c + np.abs(d) + 0.8 * e - (f > 1) + 0.5 * g + rng.logistic(size=n_rows) > 1.5
    return pd.DataFrame(values, columns=[f"c{place}" for place in range(8)]), y.astype(np.int64)


def planted_cases(
    clf: AUCross, X: pd.DataFrame, rng: np.random.Generator, n_cases: int, kind: str = "clear"
) -> tuple[pd.DataFrame, NDArray[np.intp]]:
    """Automatic rows with one column changed so that they go to review, and that column; see `KINDS`."""
    values, score, band = X.to_numpy(), clf.scored(X).score, clf.band()
    sides, others = [], []
    for side, is_low in ((np.flatnonzero(score < band.lower), True), (np.flatnonzero(score > band.upper), False)):
        low, high = np.quantile(values[side], [0.1, 0.9], axis=0)
        is_typical = ((values[side] >= low) & (values[side] <= high)).all(axis=1)
        is_outer = (score[side] < np.median(score[side])) == is_low
        chosen = np.ones(len(side), dtype=bool)
        chosen &= is_typical if kind in ("clear", "decoy", "typical") else True
        chosen &= is_outer if kind in ("clear", "decoy", "outer") else True
        sides.append(side[chosen])
        others.insert(0, side)
    extreme = np.quantile(values, [0.005, 0.995], axis=0)
    cases, causes = [], []
    while sum(map(len, causes)) < n_cases:
        number = int(rng.integers(2))
        rows, columns = rng.choice(sides[number], 200), rng.integers(X.shape[1], size=200)
        new = extreme[rng.integers(2, size=200), columns]
        if kind == "swapped":
            new = values[rng.choice(others[number], 200), columns]
        changed = values[rows].copy()
        changed[np.arange(200), columns] = new
        found = pd.DataFrame(changed, columns=X.columns)
        goes = ~clf.select(found)
        if kind == "decoy":
            every, decoys = np.arange(200), (columns + rng.integers(1, X.shape[1], size=200)) % X.shape[1]
            alone = values[rows].copy()
            alone[every, decoys] = changed[every, decoys] = extreme[rng.integers(2, size=200), decoys]
            found = pd.DataFrame(changed, columns=X.columns)
            goes &= clf.select(pd.DataFrame(alone, columns=X.columns)) & ~clf.select(found)
        cases.append(found[goes])
        causes.append(columns[goes])
    return pd.concat(cases, ignore_index=True)[:n_cases], np.concatenate(causes)[:n_cases]


def first_named(clf: AUCross, X: pd.DataFrame, cases: pd.DataFrame) -> list[int]:
    """The place of the column that the reason of each case names first, among the rows of a batch; -1 for none."""
    both = pd.concat([X, cases], ignore_index=True)
    decisions = clf.decide(both)
    rows = np.arange(len(X), len(both))
    told = column_reasons(clf.fitted_, both, clf.scored(both).score, rows, decisions.selected)
    named = [text.partition(": ")[2].split(" ")[0] for text in told]
    return [list(X).index(name) if name else -1 for name in named]


def shares_named(model: Any, kind: str, seed: int) -> list[float]:
    """How often the planted column is named first, among columns that add up and among others."""
    shares = []
    for make in (linear_rows, crooked_rows):
        rng = np.random.default_rng(seed)
        rows, labels = make(12_000, rng)
        clf = AUCross(model, coverage=0.8, cv=3, random_state=0).fit(rows[:6_000], labels[:6_000])
        cases, causes = planted_cases(clf, rows[6_000:], rng, N_CASES, kind)
        shares.append(float((np.array(first_named(clf, rows[6_000:], cases)) == causes).mean()))
    return shares


def choices(attribute: str, values: Sequence[float], models: Sequence[str]) -> None:
    """Compare values of a constant on seeds that no other figure is from."""
    for value in values:
        setattr(reasons, attribute, value)
        found = [share for name in models for seed in (0, 1, 2) for share in shares_named(MODELS[name], "clear", seed)]
        print(f"{attribute} {value:g}: mean {np.mean(found):.4f}, least {min(found):.3f} of {len(found)}", flush=True)


def _seconds(clf: AUCross, X: pd.DataFrame) -> tuple[float, float]:
    """Processor time of scoring rows, and of the columns in the reasons of some of them."""
    start = process_time()
    scored = clf.scored(X)
    scoring = process_time() - start
    decisions = clf.decide(scored)
    cases = np.flatnonzero(~decisions.selected)[:N_CASES]
    start = process_time()
    column_reasons(clf.fitted_, X, scored.score, cases, decisions.selected)
    return scoring, process_time() - start


def main(arguments: list[str]) -> None:
    if arguments[:1] == ["floors"]:
        choices("_FLOOR", (0.1, 0.3, 0.5, 0.8), ("LightGBM", "XGBoost", "HistGradientBoosting", "Logistic"))
        return
    if arguments[:1] == ["beside"]:
        choices("_MOST_EXACT", (5, 10, 20, 50), ("LightGBM", "XGBoost", "CatBoost"))
        return
    print(f"Planted column named first in {N_CASES} cases, linear / crooked columns, seed {SEED}")
    print(f"{'model':22}" + "".join(f"{kind:>16}" for kind in KINDS) + "   cost of reasons / scoring of 100,000 rows")
    X, y = make_credit(104_000, return_X_y=True)
    X = X.select_dtypes("number").fillna(0)
    for name, model in MODELS.items():
        shares = [" / ".join(f"{share:.3f}" for share in shares_named(model, kind, SEED)) for kind in KINDS]
        clf = AUCross(model, coverage=0.8, cv=3, random_state=0).fit(X[:4_000], y[:4_000])
        times = [_seconds(clf, X[4_000:]) for _ in range(3)]  # the first one loads SHAP, if it is installed
        scoring, cost = np.min(times, axis=0)
        ratio = f"{cost:.3f} s / {scoring:.3f} s = {cost / scoring:.2f}"
        print(f"{name:22}" + "".join(f"{share:>16}" for share in shares) + f"   {ratio}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
