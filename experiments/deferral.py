"""Effect of review on the deferred cases of four real sets: ``python -m experiments.deferral``.

Answers of people and of seven deferring systems, and published effects, come with "A causal framework for evaluating
deferring systems" (Palomba, Pugnana, Alvarez, Ruggieri, AISTATS 2025). The cutoff for a coverage is that quantile of
the rejection score on the calibration rows; test rows at or above it are deferred.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd

from aucross.audit import review_effect

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "deferral.csv"
REAL_SETS = ("cifar10h", "galaxyzoo", "hatespeech", "xray-airspace")
COVERAGES = np.arange(1, 10) / 10


def folder() -> Path:
    """Folder of the answers."""
    return Path(os.environ.get("AUCROSS_DATA", HERE.parents[1] / "shared" / "data")) / "deferral"


def effects(answers: pd.DataFrame) -> pd.DataFrame:
    """One line for each set, system and coverage: the effect of review on the deferred, with its interval."""
    lines = []
    for (name, system), rows in answers.groupby(["set", "system"], observed=True):
        parts = dict(tuple(rows.groupby("part", observed=True)))
        for coverage in COVERAGES:
            cutoff = np.quantile(parts["cal"]["rejection_score"], coverage)
            deferred = parts["test"][parts["test"]["rejection_score"] >= cutoff]
            found = review_effect(deferred["label"], deferred["model"], deferred["human"])
            ends = {"low": found.low, "high": found.high, "deferred": found.n_reviewed}
            lines.append({"set": name, "system": system, "target_coverage": coverage, "effect": found.effect, **ends})
    return pd.DataFrame(lines)


def beside_published(found: pd.DataFrame, published: pd.DataFrame) -> pd.DataFrame:
    """The effects with the published ones and the published discontinuity at the cutoff."""
    names = {"data": "set", "method": "system", "ATT": "published_effect", "coef_rob": "discontinuity"}
    names |= {"se_rob": "discontinuity_error"}
    told = published.rename(columns=names)[["target_coverage", *names.values()]]
    told = told.assign(target_coverage=told["target_coverage"].round(6))
    found = found.assign(target_coverage=found["target_coverage"].round(6))
    return found.merge(told, on=["set", "system", "target_coverage"], how="left", validate="one_to_one")


def main() -> None:
    """Write the table and say how many effects agree."""
    answers = pd.read_parquet(folder() / "answers.parquet")
    found = effects(answers[answers["set"].isin(REAL_SETS)])
    table = beside_published(found, pd.read_csv(folder() / "published.csv"))
    table.to_csv(RESULTS, index=False, float_format="%.6g")
    distance = (table["effect"] - table["published_effect"]).abs()
    print(f"{(distance <= 0.001).sum()} of {distance.notna().sum()} published effects agree within .001")
    far = table[~(distance <= 0.001)]
    print(far[["set", "system", "target_coverage", "effect", "published_effect"]].to_string(index=False))
    inside = (table["discontinuity"] - table["effect"]).abs() <= 1.96 * table["discontinuity_error"]
    print(f"the effect on the deferred lies within the discontinuity's error in {inside.sum()} of {len(table)} lines")
    width, error = (table["high"] - table["low"]).median(), 2 * 1.96 * table["discontinuity_error"].median()
    print(f"median width of the interval: {width:.4f}, of the discontinuity's {error:.4f}")


if __name__ == "__main__":
    main()
