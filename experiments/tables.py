"""From runs to the cells of the paper's tables: the paper's figure, ours, and how they agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pandas as pd

from experiments.methods import CROSS_FITTED, LEARNT, NETWORKS, TABLE_METHODS
from experiments.protocol import COVERAGES
from experiments.published_cells import KEYS, published_cells

CELL_COLUMNS = [*KEYS, "paper_mean", "paper_sd", "mean", "sd"]
COMPARED = ("coverage", "selective_auc", "selective_accuracy", "positive_rate")
# Table, its metrics.
TABLE_METRICS = {
    2: ("grid_oracle_deviation", "oracle_deviation", "oracle_distance"),
    3: ("coverage", "selective_auc"),
    4: ("selective_accuracy", "positive_rate"),
    5: ("seconds",),
    6: ("coverage",),
    7: ("selective_auc",),
    8: ("selective_accuracy",),
    9: ("positive_rate",),
    10: ("coverage", "selective_auc"),
}
CLASSIFIER_TABLES = {6, 7, 8, 9}


def paper_cells(runs: pd.DataFrame, times: pd.DataFrame, networks: pd.DataFrame | None = None) -> pd.DataFrame:
    """Every cell of Tables 2 to 10 that the data allow, in the columns ``CELL_COLUMNS``.

    Parameters
    ----------
    runs, times : DataFrame
        Rows of all runs, and seconds of each method.
    networks : DataFrame, optional
        Rows of the methods with networks, with their seconds.
    """
    # One fit serves all coverages; the paper prints its time for each.
    seconds = times.merge(pd.DataFrame({"target_coverage": COVERAGES}), how="cross")
    ours = pd.concat([_cells_of(table, seconds if table == 5 else runs) for table in TABLE_METRICS], ignore_index=True)
    cells = _without_folds_of_hold_outs(ours.merge(_paper_figures(), how="left", on=KEYS))
    if networks is not None:
        cells = pd.concat([cells, network_cells(networks)], ignore_index=True)
    return _in_order(cells)


def network_cells(runs: pd.DataFrame) -> pd.DataFrame:
    """Cells of methods with networks, beside the paper's whatever the number of folds.

    Tables: the methods that learn when to abstain in Tables 3 to 5, the others as a further classifier in Tables 6 to
    9. Images: all methods in Tables 2 to 5.
    """
    is_image, learns = runs["classifier"] == "VGG16", runs["method"].isin(LEARNT)
    parts = {2: is_image & ~learns, **dict.fromkeys((3, 4, 5), is_image | learns)}
    parts |= dict.fromkeys(CLASSIFIER_TABLES, ~is_image & ~learns)
    ours = pd.concat(
        [_metric_cells(table, metric, runs[rows]) for table, rows in parts.items() for metric in TABLE_METRICS[table]]
    )
    paper = _paper_figures()
    paper = paper[paper["table"] != 10].drop(columns="n_splits")
    return _in_order(_without_folds_of_hold_outs(ours.merge(paper, how="left")))


def _without_folds_of_hold_outs(cells: pd.DataFrame) -> pd.DataFrame:
    return cells.assign(n_splits=cells["n_splits"].where(cells["method"].isin(CROSS_FITTED)).astype("Int64"))


def of_networks(cells: pd.DataFrame) -> pd.Series:
    """Which cells have a network behind them."""
    return cells["classifier"].isin(NETWORKS)


def _in_order(cells: pd.DataFrame) -> pd.DataFrame:
    order = ["table", "dataset", "classifier", "metric", "n_splits", "target_coverage", "method"]
    return cells[CELL_COLUMNS].sort_values(order, ascending=[True] * 5 + [False, True], ignore_index=True)


def _cells_of(table: int, runs: pd.DataFrame) -> pd.DataFrame:
    chosen = runs[(runs["split"] == "paper") & runs["method"].isin(TABLE_METHODS)]
    if table == 10:
        chosen = chosen[
            (chosen["classifier"] == "LightGBM") & chosen["method"].isin(("AUCross", "SCross", "AUCross optimal"))
        ]
    else:
        chosen = chosen[chosen["cv"] == 5]
        if table not in CLASSIFIER_TABLES:
            chosen = chosen[chosen["classifier"] == "LightGBM"]
    return pd.concat([_metric_cells(table, metric, chosen) for metric in TABLE_METRICS[table]])


def _metric_cells(table: int, metric: str, runs: pd.DataFrame) -> pd.DataFrame:
    """The bootstrap's mean and deviation where there is one, as the paper prints them; else the figure itself."""
    drawn = metric in COMPARED
    return pd.DataFrame(
        {
            "table": table,
            "dataset": runs["dataset"],
            "target_coverage": runs["target_coverage"],
            "method": runs["method"],
            "classifier": runs["classifier"],
            "n_splits": runs["cv"],
            "metric": metric,
            "mean": runs[f"{metric}_mean" if drawn else metric],
            "sd": runs[f"{metric}_sd"] if drawn else float("nan"),
        }
    )


def _paper_figures() -> pd.DataFrame:
    """The printed cells; Tables 6 to 9 get the LightGBM figures that the paper prints in Tables 3 and 4."""
    cells = published_cells()
    base = cells[cells["table"].isin([3, 4]) & cells["method"].isin(["AUCross", "PlugInAUC"])]
    base = base[base["classifier"] == "LightGBM"]
    table_of = {metrics[0]: table for table, metrics in TABLE_METRICS.items() if table in CLASSIFIER_TABLES}
    return pd.concat([cells, base.assign(table=base["metric"].map(table_of))], ignore_index=True)


def agreement(cells: pd.DataFrame) -> pd.DataFrame:
    """Cells that the paper prints, with the difference and whether it is within two bootstrap deviations.

    The deviation is the larger of the paper's and ours; the paper prints three decimals, so half a unit is added.
    """
    both = cells.dropna(subset=["paper_mean"]).copy()
    both["difference"] = both["mean"] - both["paper_mean"]
    within = both["difference"].abs() <= 2 * both[["sd", "paper_sd"]].max(axis=1) + 0.0005
    # Where there is no bootstrap there is nothing to compare with.
    both["within_two_sd"] = within.astype("boolean").mask(both["sd"].isna())
    both["within_one_hundredth"] = both["difference"].abs() <= 0.01 + 0.0005
    return both


def agreement_summary(cells: pd.DataFrame) -> pd.DataFrame:
    """Per table, data set and metric: cells compared, and the shares that agree; without networks."""
    return summary_of(agreement(cells[~of_networks(cells)]))


def summary_of(both: pd.DataFrame, by: Sequence[str] = ("table", "dataset", "metric")) -> pd.DataFrame:
    """The same for compared cells of any kind."""
    # Tables 6 to 9 repeat the LightGBM figures of Tables 3 and 4.
    repeated = both["table"].isin(CLASSIFIER_TABLES) & (both["classifier"] == "LightGBM")
    both = both[both["metric"].isin(COMPARED) & ~repeated]
    summary = both.groupby(list(by), sort=False).agg(
        n_cells=("difference", "size"),
        within_two_sd=("within_two_sd", "mean"),
        within_one_hundredth=("within_one_hundredth", "mean"),
        mean_difference=("difference", "mean"),
        largest_difference=("difference", lambda values: values.abs().max()),
    )
    return summary.reset_index()


def violations(cells: pd.DataFrame) -> pd.DataFrame:
    """V of Table 3: mean and deviation over cells of the distance between mean coverage and target."""
    coverage = cells[(cells["table"] == 3) & (cells["metric"] == "coverage")]
    return _violation(coverage, "mean").join(_violation(coverage, "paper_mean").add_suffix("_paper"))


def _violation(coverage: pd.DataFrame, column: str) -> pd.DataFrame:
    distance = (coverage[column] - coverage["target_coverage"]).abs()
    return distance.groupby(coverage["method"]).agg(["mean", "std", "size"])


def wins(cells: pd.DataFrame, rates: pd.DataFrame, competitors: str, values: Sequence[Any]) -> pd.DataFrame:
    """The row "#": in how many (data set, coverage) cells each competitor is best, ties counted for all.

    Parameters
    ----------
    cells : DataFrame
        Cells of one table.
    rates : DataFrame
        ``positive_rate`` and ``paper_positive_rate`` of all test rows, by data set.
    competitors : str
        The column whose values compete: method, classifier or number of folds.
    values : sequence
        Those that take part; only cells that have a figure of each of them count.

    Returns
    -------
    DataFrame
        One row per metric and kind of figures: ``paper``, ``ours`` on the cells that the paper prints too, and
        ``ours, all``. Figures are compared at three decimals, as the paper prints them.
    """
    chosen = cells[cells[competitors].isin(values)]
    counts: dict[tuple[str, str], Counter[Any]] = {}
    for (metric, dataset, coverage), cell in chosen.groupby(["metric", "dataset", "target_coverage"], sort=False):
        complete = {name: len(cell) == len(values) and cell[name].notna().all() for name in ("paper_mean", "mean")}
        kinds = {
            "paper": ("paper_mean", "paper_positive_rate", all(complete.values())),
            "ours": ("mean", "positive_rate", all(complete.values())),
            "ours, all": ("mean", "positive_rate", complete["mean"]),
        }
        for kind, (column, rate, counted) in kinds.items():
            if counted:
                loss = _loss(cell[column].round(3), metric, coverage, rates.loc[dataset, rate])
                best = cell[competitors][loss <= loss.min() + 1e-9]
                counts.setdefault((metric, kind), Counter()).update([*best, "cells"])
    return pd.DataFrame(counts).T.reindex(columns=[*values, "cells"]).fillna(0).astype(int)


def _loss(values: pd.Series, metric: str, coverage: float, base_rate: float) -> pd.Series:
    """Distance from the target, minus the figure, distance from the rate of all test rows, or the figure."""
    match metric:
        case "coverage":
            return (values - coverage).abs()
        case "positive_rate":
            return (values - base_rate).abs()
        case "seconds":
            return values
        case _:
            return -values
