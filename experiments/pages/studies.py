"""Pages of what the paper does not have: random splits, coverage, learning curves, peers, speed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from experiments import markdown
from experiments.markdown import figure, interval, signed
from experiments.methods import SPLIT_METHODS
from experiments.pages.grid import TITLES, Evidence, in_order
from experiments.protocol import COVERAGES


def robustness_page(evidence: Evidence) -> Iterator[str]:
    """Random splits."""
    yield markdown.title("Mean distance to the Oracle at the coverage reached, 1e-4 of AUC")
    distances = evidence["oracle_distance"]
    names = ["AUCross", "PlugInAUC", "AUCross optimal", "PlugInAUC optimal"]
    rows = [
        [
            row["dataset"],
            figure(row["target_coverage"], 2),
            *(f"{row[name]:.2f}" for name in names),
            "yes" if row["closer"] else "no",
            f"{row['splits_closer']} of {row['n_random_splits']}",
        ]
        for _, row in distances.iterrows()
    ]
    yield markdown.table(["data", "coverage", *names, "closer than both published", "in splits"], rows)
    four = distances[distances["dataset"] != "Lending"]
    yield (
        f"Closer than both in {int(distances['closer'].sum())} of {len(distances)} cells; without the Lending variant "
        f"that keeps payments, {int(four['closer'].sum())} of {len(four)}.\n"
    )
    yield markdown.title("Mean over random splits, with a 95 % interval that allows for the rows that splits share")
    splits = evidence["random_splits"]
    for metric in ("selective_auc", "coverage"):
        found = splits[splits["metric"] == metric].set_index(["dataset", "target_coverage", "method"])
        yield f"{TITLES[metric]}\n"
        rows = [
            [dataset, figure(c, 2)]
            + [interval(*found.loc[(dataset, c, m), ["mean", "low", "high"]], digits=4) for m in SPLIT_METHODS]
            for dataset in in_order(splits)
            for c in COVERAGES
        ]
        yield markdown.table(["data", "coverage", *SPLIT_METHODS], rows)
    yield markdown.title("Wins over (data set, coverage, split) cells, ties counted for all")
    yield markdown.frame(evidence["win_counts"])


def gate_page(evidence: Evidence) -> Iterator[str]:
    """What a stronger model that decides when to defer is worth."""
    yield (
        "Coverage and AUC of AUCGate (LightGBM decides, the classifier named answers), and its AUC minus that of the "
        "Oracle on the score at the same coverage and minus that of optimal placement; mean over random splits.\n"
    )
    rows = [
        [
            row.classifier,
            row.dataset,
            figure(row.target_coverage, 2),
            figure(row.coverage),
            figure(row.selective_auc, 4),
            signed(row.beyond_oracle, 4),
            signed(row.beyond_band, 4),
            row.n_random_splits,
        ]
        for row in evidence["gate_gain"].sort_values(["classifier", "dataset", "target_coverage"]).itertuples()
    ]
    header = ["classifier", "data", "asked", "coverage", "AUC", "minus Oracle", "minus optimal band", "splits"]
    yield markdown.table(header, rows)


def coverage_page(evidence: Evidence) -> Iterator[str]:
    """What the coverage error depends on."""
    errors = evidence["coverage_errors"]
    yield "Coverage reached minus asked, mean over six coverages and random splits, in 1e-3 (± standard error).\n"
    for title, column, chosen in (
        ("Number of folds (LightGBM)", "cv", errors[errors["classifier"] == "LightGBM"]),
        ("Base classifier (five folds)", "classifier", errors[errors["cv"] == 5]),
    ):
        yield markdown.title(f"{title}")
        methods = ["AUCross", "SCross", "AUCross optimal, uncorrected", "AUCross optimal"]
        if column == "classifier":
            methods += ["PlugInAUC", "PlugInAUC optimal", "PlugIn"]
        rows = []
        for (dataset, value), group in chosen.groupby(["dataset", column]):
            scaled = 1e3 * group.set_index("method")[["error", "standard_error"]]
            texts = ("{:+.1f} ± {:.1f}".format(*scaled.loc[name]) for name in methods)
            rows.append([dataset, value, int(group["n_random_splits"].max()), *texts])
        yield markdown.table(["data", "folds" if column == "cv" else "classifier", "splits", *methods], rows)


def learning_page(evidence: Evidence) -> Iterator[str]:
    """Distance to the Oracle against the number of rows."""
    curve = evidence["learning_curve"]
    names = ["AUCross", "PlugInAUC", "AUCross optimal", "PlugInAUC optimal"]
    yield markdown.title("Distance to the Oracle by training rows, 1e-4 of AUC, mean over coverages (± standard error)")
    rows = []
    for (dataset, n_train), group in curve.groupby(["dataset", "n_train"]):
        size = "all" if n_train == float("inf") else f"{int(n_train):,}"
        scaled = 1e4 * group.set_index("method")[["oracle_distance", "oracle_distance_standard_error"]]
        rows.append([dataset, size, *("{:.1f} ± {:.1f}".format(*scaled.loc[name]) for name in names)])
    yield markdown.table(["data", "training rows", *names], rows)
    yield markdown.title("Distance by test rows, and the part of it that is the Oracle's own optimism, 1e-4 of AUC")
    yield (
        "On few test rows the Oracle fits their noise. Its optimism is its lead over the band that optimal placement "
        "finds on the labels of the *other* test rows; a rule that has not seen the labels can hardly do better.\n"
    )
    rows = [
        [
            row.dataset,
            f"{row.n_test:,}",
            f"{row.fitted_distance:.1f} ± {row.fitted_distance_standard_error:.1f}",
            f"{row.optimism:.1f} ± {row.optimism_standard_error:.1f}",
        ]
        for row in evidence["oracle_optimism"].itertuples()
    ]
    yield markdown.table(["data", "test rows", "AUCross optimal", "optimism of the Oracle"], rows)


def peers_page(evidence: Evidence) -> Iterator[str]:
    """Peers on the same rows."""
    peers = evidence["peers"]
    yield (
        "Same fitted model, same held-out tenth, same test rows. Last column: the AUC of aucross' PlugInAUC minus the "
        "peer's *at the coverage that the peer reached*, with the 95 % interval of a paired bootstrap (1,000 "
        "replicates). Peers marked * cannot be asked for a coverage and have an operating point of their own.\n"
    )
    for (dataset, classifier), group in peers.groupby(["dataset", "classifier"], sort=False):
        yield markdown.title(f"{dataset}, {classifier}")
        rows = [_peer_row(row) for row in group[group["target_coverage"].isin([0.95, 0.9, 0.75])].itertuples()]
        header = ["method", "asked", "coverage", "AUC", "accuracy", "below the Oracle", "aucross minus it"]
        yield markdown.table(header, rows)


def _peer_row(row: Any) -> list[str]:
    return [
        row.peer if row.heeds_coverage else f"{row.peer} *",
        figure(row.target_coverage, 2),
        figure(row.coverage),
        figure(row.selective_auc, 4),
        figure(row.selective_accuracy),
        figure(row.oracle_distance, 4),
        "-" if pd.isna(row.low) else interval(row.ours_minus_peer, row.low, row.high, 4),
    ]


def speed_page(evidence: Evidence) -> Iterator[str]:
    """The pipeline against a plain version."""
    speed = evidence["speed"]
    rows = [[row.step, f"{row.ours:.2f}", f"{row.plain:.1f}", f"{row.ratio:.0f}"] for row in speed.itertuples()]
    yield f"Seconds on {speed['dataset'].iloc[0]}, measured one after the other in one process.\n"
    yield markdown.table(["step", "ours", "plain", "times faster"], rows)
