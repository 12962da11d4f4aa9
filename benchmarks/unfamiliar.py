"""Rows unlike those of the fit, on every set of the suite: how many are called so, and how well they are ranked.

    python -m benchmarks.unfamiliar            # the table of benchmarks/results/unfamiliar.csv
    python -m benchmarks.unfamiliar run        # fit, look and write it; sets that are in it are not computed again

LightGBM is fitted on the training rows of the first split of the suite, and the test rows are looked at: at random
splits nothing has changed, so that every row that is called unfamiliar there is a false one; over time something may
have. The AUC is that of all test rows, of the familiar ones and of the others, where those hold ten rows of each class.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd

from aucross.core import RankedScores
from aucross.estimators.strange_values import unlike_the_fit, values_seen
from experiments.suite.protocol import FAMILIES, split_rows
from experiments.suite.sets import NAMES, load

RESULTS = Path(__file__).parent / "results" / "unfamiliar.csv"
FEWEST = 10


def auc_of(y: np.ndarray, score: np.ndarray) -> float:
    """The AUC, or NaN where a class has few rows."""
    few = min(int(y.sum()), int((1 - y).sum())) < FEWEST
    return float("nan") if few else RankedScores.from_labels(y, score).auc()


def measured(name: str) -> dict[str, object]:
    """Look at the test rows of one set."""
    rows = split_rows(load(name), 0)
    seen = values_seen(rows.X_train)
    texts = unlike_the_fit(rows.X_test, *seen)
    unlike = texts != ""
    score = FAMILIES["LightGBM"]().fit(rows.X_train, rows.y_train).predict_proba(rows.X_test)[:, 1]
    kinds = {"outside": " lies outside of ", "new": " is new", "missing": " is missing and never was"}
    parts = [part for text in texts if text for part in text.partition(": ")[2].split("; ")]
    (column, n_rows), *_ = [*Counter(part.split(" ")[0] for part in parts).most_common(1), ("", 0)]
    return {
        "set": name,
        "split": load(name).kind,
        "trained": len(rows.y_train),
        "tested": len(rows.y_test),
        "columns": rows.X_train.shape[1],
        "unfamiliar": float(unlike.mean()),
        **{kind: float(np.mean([words in text for text in texts])) for kind, words in kinds.items()},
        "column": column,
        "in_column": n_rows / len(texts),
        "auc": auc_of(rows.y_test, score),
        "auc_familiar": auc_of(rows.y_test[~unlike], score[~unlike]),
        "auc_unfamiliar": auc_of(rows.y_test[unlike], score[unlike]),
    }


def run() -> None:
    """Measure all sets that are not in the table."""
    for name in NAMES:
        known = pd.read_csv(RESULTS) if RESULTS.exists() else pd.DataFrame(columns=["set"])
        if name not in set(known["set"]):
            found = pd.concat([known, pd.DataFrame([measured(name)])], ignore_index=True)
            found.to_csv(RESULTS, index=False, float_format="%.5f")


def main(arguments: list[str]) -> None:
    if arguments[:1] == ["run"]:
        run()
    found = pd.read_csv(RESULTS)
    print(found.round(4).to_string(index=False))
    for split, part in found.groupby("split"):
        both = part.dropna(subset=["auc_familiar", "auc_unfamiliar"])
        lower = int((both["auc_unfamiliar"] < both["auc_familiar"]).sum())
        print(
            f"{split}: {len(part)} sets, unfamiliar {part['unfamiliar'].mean():.4f} on average, median "
            f"{part['unfamiliar'].median():.4f}, largest {part['unfamiliar'].max():.4f}; AUC of familiar rows "
            f"{both['auc_familiar'].mean():.4f}, of the others {both['auc_unfamiliar'].mean():.4f}, lower in {lower} "
            f"of {len(both)} sets"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
