"""The page with the figures that the rest of the evidence comes down to."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from experiments import markdown, tables
from experiments.markdown import figure, share, signed
from experiments.methods import PUBLISHED, SPLIT_METHODS
from experiments.pages.grid import TITLES, Evidence
from experiments.protocol import RANDOM_SPLIT_DATASETS


def summary_page(evidence: Evidence) -> Iterator[str]:
    """Agreement with the paper, distance to the Oracle, V and speed in one table each."""
    cells = evidence["cells"]
    cells = cells[~tables.of_networks(cells)]
    yield from _agreement(tables.agreement(cells))
    yield from _oracle(evidence["oracle_distance"])
    yield from _violations(cells, evidence["coverage_over_splits"])
    total = evidence["speed"].set_index("step").loc["all"]
    yield markdown.title("Speed")
    yield (
        f"One experiment on {total['dataset']} (four methods, their bootstrap at six coverages, the Oracle at one): "
        f"{total['ratio']:.0f} times as fast as a plain version, measured one after the other in one process.\n"
    )


def _agreement(both: pd.DataFrame) -> Iterator[str]:
    yield markdown.title("The published methods against the paper's figures: Adult, GiveMe and UCICredit")
    both = both[both["dataset"].isin(RANDOM_SPLIT_DATASETS) & both["method"].isin(PUBLISHED)]
    rows = []
    for name, numbers in {"3 and 4": (3, 4), "6 to 9, not LightGBM": (6, 7, 8, 9), "10": (10,)}.items():
        chosen = both[both["table"].isin(numbers)]
        if 6 in numbers:
            chosen = chosen[chosen["classifier"] != "LightGBM"]
        for metric, cells in chosen.groupby("metric", sort=False):
            within = [share(cells[column].mean()) for column in ("within_two_sd", "within_one_hundredth")]
            rows.append([name, TITLES[str(metric)], len(cells), *within, figure(cells["difference"].abs().median(), 4)])
    header = ["tables", "metric", "cells", "within two deviations", "within .01", "median difference"]
    yield markdown.table(header, rows)


def _oracle(distances: pd.DataFrame) -> Iterator[str]:
    yield markdown.title("Distance to the Oracle, 1e-4 of AUC, mean over coverages and random splits")
    names = ["AUCross", "PlugInAUC", "AUCross optimal", "PlugInAUC optimal"]
    rows = [
        [
            dataset,
            *(f"{value:.2f}" for value in cells[names].mean()),
            f"{int(cells['closer'].sum())} of {len(cells)}",
            f"{int(cells['splits_closer'].sum())} of {int(cells['n_random_splits'].sum())}",
        ]
        for dataset, cells in distances.groupby("dataset")
    ]
    yield markdown.table(["data", *names, "cells where AUCross optimal is closest", "splits where it is"], rows)


def _violations(cells: pd.DataFrame, splits: pd.DataFrame) -> Iterator[str]:
    yield markdown.title("V, the mean distance of coverage from its target: Adult, GiveMe and UCICredit")
    found = tables.violations(cells[cells["dataset"].isin(RANDOM_SPLIT_DATASETS)])
    chosen = splits[splits["dataset"].isin(RANDOM_SPLIT_DATASETS)]
    means = chosen.groupby("method")[["violation", "bias"]].mean()
    rows = [
        [
            method,
            figure(found.loc[method, "mean"], 4),
            figure(found.loc[method, "mean_paper"], 4),
            figure(means.loc[method, "violation"], 4),
            signed(means.loc[method, "bias"], 4),
        ]
        for method in SPLIT_METHODS
    ]
    header = ["method", "the paper's split", "paper, from its printed coverages", "random splits", "mean error there"]
    yield markdown.table(header, rows)
