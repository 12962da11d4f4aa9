"""Physicians beside a model on one set of patients: ``python -m benchmarks.physicians``.

``support2_6m_with_physicians`` has 9,105 seriously ill patients, whether each died within six months, and for 7,472 of
them the physician's own estimate of the chance to live. A model without these estimates decides the clear cases; in
the band the physician does. One hospital study of its time: the figures say what the method finds there, and nothing of
other physicians or wards. Whether a physician gave an estimate was not drawn at random, either.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier
from sklearn.metrics import roc_auc_score

from aucross import AUCross
from aucross.audit import review_effect

HERE = Path(__file__).parent
NOT_FEATURES = ["surv2m", "surv6m", "prg2m", "prg6m", "target"]


def patients() -> pd.DataFrame:
    """Read the set, with text as categories."""
    shared = Path(os.environ.get("AUCROSS_DATA", HERE.parents[1] / "shared" / "data"))
    table = pd.read_parquet(shared / "suite" / "support2_6m_with_physicians.parquet")
    return table.assign(**{name: table[name].astype("category") for name in table.select_dtypes(exclude="number")})


def main() -> None:
    """Print the effect of the physicians' answers in the band at several coverages."""
    table = patients().sample(frac=1.0, random_state=0)
    X, y = table.drop(columns=NOT_FEATURES), table["target"].to_numpy().astype(int)
    clf = AUCross(LGBMClassifier(n_estimators=100, num_leaves=15, verbose=-1), random_state=0).fit(X[:6000], y[:6000])
    judged = table["prg6m"].notna().to_numpy()[6000:]
    rows, truth = X[6000:][judged], y[6000:][judged]
    physician, score = 1.0 - table["prg6m"].to_numpy()[6000:][judged], clf.predict_proba(rows)[:, 1]
    aucs = [roc_auc_score(truth, each) for each in (score, physician, (score + physician) / 2)]
    print(f"{judged.sum():,} test patients with a physician's estimate")
    print("AUC of the model {:.4f}, of the physicians {:.4f}, of their mean {:.4f}".format(*aucs))
    print(
        f"{'coverage':>8}{'band':>7}{'model right':>13}{'physician':>11}{'effect':>9}{'interval':>20}{'team AUC':>10}"
    )
    for coverage in (0.9, 0.8, 0.7, 0.5):
        deferred = ~clf.select(rows, coverage)
        found = review_effect(
            truth[deferred], (score >= 0.5)[deferred].astype(int), (physician > 0.5)[deferred].astype(int)
        )
        team = np.where(deferred, physician, score)
        ends = f"{found.low:+.4f} to {found.high:+.4f}"
        print(
            f"{coverage:>8.0%}{deferred.sum():>7,}{1 - found.without_review:>13.4f}{1 - found.with_review:>11.4f}"
            f"{found.effect:>+9.4f}{ends:>20}{roc_auc_score(truth, team):>10.4f}"
        )


if __name__ == "__main__":
    main()
