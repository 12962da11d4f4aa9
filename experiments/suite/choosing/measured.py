"""What each method reached in each situation of the suite, and what it costs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from aucross.cli.choosing import Choice, Family, Situation
from experiments.suite.methods import DEFAULT, OURS, PLUG_IN_AUC
from experiments.suite.tables import MAX_PROBABILITY

FAMILY_OF: Mapping[str, Family] = {
    "LightGBM": Family.BOOSTED_TREES,
    "XGBoost": Family.BOOSTED_TREES,
    "RandForest": Family.FOREST,
    "Logistic": Family.LINEAR,
    "MLP": Family.NETWORK,
}
NAME_OF: Mapping[Choice, str] = {
    Choice.AUCROSS: DEFAULT,
    Choice.JUDGED: "AUCross judged",
    Choice.SCORE_COLUMN: DEFAULT,
    Choice.PLUG_IN_AUC: PLUG_IN_AUC,
    Choice.GATE: "AUCGate",
    Choice.SCROSS: "SCross",
    Choice.PLUG_IN: "PlugIn",
    Choice.MAX_PROBABILITY: MAX_PROBABILITY,
}
METHODS = (*OURS, MAX_PROBABILITY)
# With five folds: trainings of a fit, and models that must be kept to decide on new rows.
TRAININGS = {DEFAULT: 6, "AUCross published": 6, "AUCross judged": 6, PLUG_IN_AUC: 1, "SCross": 6, "PlugIn": 1}
TRAININGS |= {"AUCGate": 12, MAX_PROBABILITY: 1}
KEPT = dict.fromkeys(METHODS, 1) | {"AUCross judged": 6, "AUCGate": 2}
WHERE = ["dataset", "family"]


def values_of(cells: pd.DataFrame, kinds: Mapping[str, tuple[str, int]]) -> pd.DataFrame:
    """One row per set, family and method: means over splits and coverages.

    Parameters
    ----------
    cells : DataFrame
        Cells with differences, from `experiments.suite.tables.with_differences`.
    kinds : mapping of str to (str, int)
        How each set is split, and its rows.

    Returns
    -------
    DataFrame
        ``lead`` is the AUC of the method minus that of AUCross at the coverage that the method reached,
        ``accuracy_lead`` the accuracy minus that of AUCross at the coverage asked for, ``miss`` the distance between
        both coverages.
    """
    cells = cells[cells["method"].isin(METHODS)]
    at = ["split", "dataset", "family", "target_coverage"]
    accuracy = cells[cells["method"] == DEFAULT].set_index(at)["accuracy"].rename("accuracy_of_default")
    cells = cells.join(accuracy, on=at)
    cells = cells.assign(
        lead=-cells["behind"],
        miss=cells["coverage_error"].abs(),
        accuracy_gain=cells["accuracy"] - cells["accuracy_all"],
        accuracy_lead=cells["accuracy"] - cells["accuracy_of_default"],
    )
    figures = ["auc", "gain", "lead", "miss", "oracle_distance", "accuracy_gain", "accuracy_lead"]
    values = cells.groupby([*WHERE, "method"], sort=False)[figures].mean().reset_index()
    about = cells.groupby(WHERE).agg(n_train=("n_train", "mean"), prevalence=("prevalence", "mean")).reset_index()
    values = values.merge(about, on=WHERE)
    return values.assign(
        n_positives=values["n_train"] * values["prevalence"],
        kind=values["dataset"].map({name: kind for name, (kind, _) in kinds.items()}),
    )


def situations_of(values: pd.DataFrame, **allowed: bool) -> dict[tuple[str, str], Situation]:
    """The situation of each set and family, with what is allowed in it."""
    return {
        (str(row.dataset), str(row.family)): Situation(
            n_rows=round(row.n_train),
            n_positives=round(row.n_positives),
            family=FAMILY_OF[str(row.family)],
            in_time=row.kind == "time",
            has_customers=row.kind == "groups",
            **allowed,
        )
        for row in values.drop_duplicates(WHERE).itertuples()
    }


def worth_of_coverage(by_coverage: pd.Series) -> float:
    """How much of a measure one unit of coverage buys: the price at which an error of coverage is counted."""
    if len(by_coverage) < 2:
        return 0.0
    return float(max(0.0, -np.polyfit(by_coverage.index.to_numpy(dtype=float), by_coverage.to_numpy(), 1)[0]))


def seconds_per_training(cells: pd.DataFrame) -> pd.Series:
    """Median over cells of the processor time of a fit, in those of PlugIn, which trains once."""
    once = cells.drop_duplicates(["split", *WHERE, "method"]).pivot_table("seconds", ["split", *WHERE], "method")
    return once.div(once["PlugIn"], axis=0).median()
