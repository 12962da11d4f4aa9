"""The page of the networks: our placements against the methods that learn when to abstain."""

from __future__ import annotations

from collections.abc import Iterator
from math import nan

import pandas as pd

from experiments import markdown, tables
from experiments.markdown import figure, interval, signed
from experiments.methods import LEARNT, METHODS
from experiments.networks.studies import TOLERANCE
from experiments.pages.grid import Evidence, budget_note, in_order
from experiments.pages.paper import agreement_table


def networks_page(evidence: Evidence) -> Iterator[str]:
    """Ours minus theirs at equal coverage, how often it is which, V, and the paper's figures."""
    compared, runs = evidence["networks"], evidence["network_runs"]
    yield (
        "SelNet, SAT and DeepGamblers learn which rows to leave out. Each is compared with our optimal band *on its "
        "own score*, placed on the same held-out rows, and with four methods on plain networks of the same size: "
        "PlugIn, a threshold on the confidence, which learns nothing; PlugInAUC with optimal placement (one training, "
        "as SAT); AUCross with optimal placement (a training per fold and one on all rows); and AUCGate, which asks a "
        "second model. Each difference is the AUC of that method minus theirs *at the coverage that they reached*, or "
        f"at most {figure(TOLERANCE)} above it, with the 95 % interval of a paired bootstrap over the test rows. It "
        "does not allow for the chance of a training: every network of these tables was trained once. The settings "
        "were not tuned for any method.\n"
    )
    yield from _counts(compared)
    yield from _full_coverage(evidence)
    for dataset in in_order(compared):
        yield markdown.title(f"{dataset}")
        yield from budget_note(evidence, dataset, "trained")
        yield from _differences(compared[compared["dataset"] == dataset])
    yield from _violations(evidence, runs)
    yield from _agreement(evidence, tables.network_cells(runs))


def _counts(compared: pd.DataFrame) -> Iterator[str]:
    """The answer in one table."""
    rows = []
    for (dataset, peer), group in compared.groupby(["dataset", "peer"], sort=False):
        cells = [_verdict(part) for _, part in group.groupby("ours", sort=False)]
        rows.append([dataset, peer, *cells])
    yield markdown.title("Coverages at which ours is clearly better / clearly worse / neither")
    yield (
        "With the mean difference in AUC and, in brackets, in accuracy. Clearly: the interval of the AUC does not hold "
        "0. The six coverages share test rows and networks, so they do not confirm each other independently. Coverages "
        f"that are not reached within {figure(TOLERANCE)} are left out.\n"
    )
    yield markdown.table(["data", "against", *compared["ours"].unique()], rows)


def _verdict(part: pd.DataFrame) -> str:
    part = part.dropna(subset=["ours_minus_peer"])
    if part.empty:
        return "-"
    better, worse = int((part["low"] > 0).sum()), int((part["high"] < 0).sum())
    accuracy = (part["ours_selective_accuracy"] - part["selective_accuracy"]).mean()
    auc = part["ours_minus_peer"].mean()
    return f"{better} / {worse} / {len(part) - better - worse}, {signed(auc, 4)} ({signed(accuracy)})"


MODELS = {
    "hold-out": "plain network, nine tenths of the rows",
    "refit": "plain network, all rows",
    "SelNet": "SelNet, mean of its coverages",
    "SAT": "SAT",
    "DeepGamblers": "DeepGamblers",
    "gate refit": "the gate",
}


def _full_coverage(evidence: Evidence) -> Iterator[str]:
    models = evidence["network_models"]
    means = models.groupby(["dataset", "role"])["auc"].mean()
    yield markdown.title("AUC at full coverage")
    yield markdown.table(
        ["data", *MODELS.values()],
        ([dataset, *(figure(means.get((dataset, role), nan), 4) for role in MODELS)] for dataset in in_order(models)),
    )
    yield from _all_budgets(evidence)


def _differences(compared: pd.DataFrame) -> Iterator[str]:
    ours = list(compared["ours"].unique())
    rows = []
    for (peer, coverage), group in compared.groupby(["peer", "target_coverage"], sort=False):
        found = group.set_index("ours")
        first = found.iloc[0]
        rows.append(
            [
                peer,
                figure(coverage, 2),
                figure(first["coverage"]),
                figure(first["selective_auc"], 4),
                figure(first["selective_accuracy"]),
                *(_difference(found.loc[name]) for name in ours),
            ]
        )
    yield markdown.table(["method", "asked", "coverage", "AUC", "accuracy", *ours], rows)


def _difference(row: pd.Series) -> str:
    if pd.isna(row["low"]):
        return "-"
    return interval(row["ours_minus_peer"], row["low"], row["high"], 4)


def _violations(evidence: Evidence, runs: pd.DataFrame) -> Iterator[str]:
    yield markdown.title("V: mean distance of coverage from its target")
    methods = [method for method in (*METHODS, *LEARNT) if method in set(runs["method"])]
    distance = (runs["coverage"] - runs["target_coverage"]).abs()
    means = distance.groupby([runs["dataset"], runs["method"]]).mean()
    rows = [
        [dataset, *(figure(means.get((dataset, method), nan), 4) for method in methods)] for dataset in in_order(runs)
    ]
    yield markdown.table(["data", *methods], rows)
    yield from _all_budgets(evidence)


def _agreement(evidence: Evidence, cells: pd.DataFrame) -> Iterator[str]:
    """Where the paper's coverage is another one, its AUC, accuracy and positive rate are of other rows."""
    yield markdown.title("Against the paper's figures, which come from 300 epochs at full width")
    yield (
        "By method; AUC, accuracy and positive rate only in cells whose coverage is within .01 of the paper's. The "
        "paper's SAT and SelNet often miss their targets by far more (SAT selects .919 of Adult for .75): thresholds "
        "here are placed on held-out rows.\n"
    )
    both = tables.agreement(cells)
    place = ["dataset", "method", "classifier", "target_coverage"]
    coverage = both[both["metric"] == "coverage"].set_index(place)["within_one_hundredth"]
    alike = coverage.reindex(pd.MultiIndex.from_frame(both[place])).to_numpy(dtype=bool)
    both = both[alike | (both["metric"] == "coverage")]
    summary = tables.summary_of(both, ("table", "dataset", "method", "metric"))
    yield agreement_table(summary.assign(dataset=summary["dataset"] + ", " + summary["method"]))
    yield from _all_budgets(evidence)


def _all_budgets(evidence: Evidence) -> Iterator[str]:
    for row in evidence["network_budgets"].itertuples():
        yield f"{row.dataset}: {row.short}.\n"
