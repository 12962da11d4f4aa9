"""The paper's figures and ours, drawn from the tables of the evidence; the paper's own need the rows of Adult."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from aucross import AUCross
from aucross.evaluation.plots import AUCSurfaceDisplay, CAPDisplay
from experiments.protocol import CLASSIFIERS, DATASETS, IMAGE_LOADERS, PAPER_SEED, Run
from experiments.trained_once import FittedModels, TrainedOnce

Evidence = Mapping[str, pd.DataFrame]
COLUMNS = 3  # of panels

# One colour per family, light for the published version; readable without colour by marker.
STYLES: Mapping[str, dict[str, Any]] = {
    "AUCross": {"color": "#7fb3d5", "marker": "o"},
    "PlugInAUC": {"color": "#f0b27a", "marker": "s"},
    "SCross": {"color": "#bbbbbb", "marker": "v"},
    "PlugIn": {"color": "#888888", "marker": "^"},
    "AUCross optimal": {"color": "#1b4f72", "marker": "D"},
    "PlugInAUC optimal": {"color": "#a04000", "marker": "P"},
    "AUCross optimal, uncorrected": {"color": "#5dade2", "marker": "x"},
    "AUCGate": {"color": "#117a65", "marker": "*"},
    "SelNet": {"color": "#b03a2e", "marker": "v"},
    "SAT": {"color": "#e59866", "marker": "<"},
    "DeepGamblers": {"color": "#af7ac5", "marker": ">"},
}


def write_figures(evidence: Evidence, output: Path) -> None:
    """Draw every figure into a PNG of its own."""
    drawn = {**FIGURES, **({"networks": networks} if "network_runs" in evidence else {})}
    for name, draw in drawn.items():
        write_figure(draw(evidence), output / f"{name}.png")


def write_figure(figure: Figure, path: Path) -> None:
    """Write a PNG without date and version inside: the same evidence gives the same bytes."""
    FigureCanvasAgg(figure)
    figure.savefig(path, dpi=120, metadata={"Software": None})


def auc_by_coverage(evidence: Evidence) -> Figure:
    """Selective AUC against the coverage reached, one panel per data set."""
    cells = evidence["cells"]
    cells = cells[cells["table"] == 3].pivot_table(
        ["mean", "paper_mean"], ["dataset", "method", "target_coverage"], "metric"
    )
    figure, panels = _panels(cells.index.unique("dataset"))
    for dataset, axes in panels.items():
        for method in ("PlugIn", "SCross", "AUCross", "PlugInAUC", "AUCross optimal"):
            rows = cells.loc[(dataset, method)]
            axes.plot(rows["mean", "coverage"], rows["mean", "selective_auc"], label=method, **_line(method))
        rows = cells.loc[(dataset, "AUCross")]
        style = {"marker": "o", "linestyle": "none", "markerfacecolor": "none", "markeredgecolor": "black"}
        axes.plot(rows["paper_mean", "coverage"], rows["paper_mean", "selective_auc"], label="AUCross, paper", **style)
        axes.set(title=dataset, xlabel="coverage reached", ylabel="selective AUC")
        if dataset in IMAGE_LOADERS:
            _set_title_with_budget(axes, dataset, evidence)
        axes.invert_xaxis()
    return _with_legend(figure, panels)


def coverage_reached(evidence: Evidence) -> Figure:
    """Coverage reached minus asked, one panel per data set."""
    splits = evidence["random_splits"]
    splits = splits[splits["metric"] == "coverage"]
    figure, panels = _panels(splits["dataset"].unique())
    for dataset, axes in panels.items():
        for method in ("AUCross", "PlugInAUC", "SCross", "PlugIn", "AUCross optimal"):
            rows = splits[(splits["dataset"] == dataset) & (splits["method"] == method)]
            error = 1e3 * (rows["mean"] - rows["target_coverage"])
            half = 1e3 * (rows["high"] - rows["mean"])
            axes.errorbar(rows["target_coverage"], error, half, label=method, capsize=2, **_line(method))
        axes.axhline(0, color="black", linewidth=0.8)
        axes.set(title=dataset, xlabel="coverage asked", ylabel="reached minus asked, 1e-3")
        axes.invert_xaxis()
    return _with_legend(figure, panels)


def oracle_distance(evidence: Evidence) -> Figure:
    """Distance to the Oracle over random splits."""
    splits = evidence["random_splits"]
    splits = splits[splits["metric"] == "oracle_distance"]
    figure, panels = _panels(splits["dataset"].unique())
    for dataset, axes in panels.items():
        for method in ("AUCross", "PlugInAUC", "AUCross optimal", "PlugInAUC optimal"):
            rows = splits[(splits["dataset"] == dataset) & (splits["method"] == method)]
            mean, half = 1e4 * rows["mean"], 1e4 * (rows["high"] - rows["mean"])
            axes.errorbar(rows["target_coverage"], mean, half, label=method, capsize=2, **_line(method))
        axes.set(title=dataset, xlabel="target coverage", ylabel="AUC below the Oracle, 1e-4")
        axes.invert_xaxis()
    return _with_legend(figure, panels)


def learning_curve(evidence: Evidence) -> Figure:
    """Distance to the Oracle against training rows."""
    curve = evidence["learning_curve"]
    curve = curve[np.isfinite(curve["n_train"])]
    figure, panels = _panels(curve["dataset"].unique())
    for dataset, axes in panels.items():
        for method in ("AUCross", "PlugInAUC", "AUCross optimal", "PlugInAUC optimal"):
            rows = curve[(curve["dataset"] == dataset) & (curve["method"] == method)]
            half = 1e4 * rows["oracle_distance_standard_error"]
            axes.errorbar(
                rows["n_train"], 1e4 * rows["oracle_distance"], half, label=method, capsize=2, **_line(method)
            )
        axes.set(title=dataset, xlabel="training rows", ylabel="AUC below the Oracle, 1e-4", yscale="log")
        _sizes(axes, rows["n_train"])
    return _with_legend(figure, panels)


def optimism(evidence: Evidence) -> Figure:
    """How much of the distance is the Oracle's own optimism."""
    rows = evidence["oracle_optimism"]
    figure, panels = _panels(rows["dataset"].unique())
    for dataset, axes in panels.items():
        found = rows[rows["dataset"] == dataset]
        axes.plot(found["n_test"], found["fitted_distance"], label="AUCross optimal", **_line("AUCross optimal"))
        axes.plot(found["n_test"], found["optimism"], "--", color="#b03a2e", marker="*", label="optimism of the Oracle")
        axes.set(title=dataset, xlabel="test rows", ylabel="AUC below the Oracle, 1e-4", yscale="log")
        _sizes(axes, found["n_test"])
    return _with_legend(figure, panels)


def folds(evidence: Evidence) -> Figure:
    """Coverage error against the number of folds, and by base classifier."""
    errors = evidence["coverage_errors"]
    chosen = errors[errors["classifier"] == "LightGBM"]
    # Sets that were run with five folds alone have no curve.
    varied = chosen.groupby("dataset")["cv"].nunique() > 1
    figure, panels = _panels(varied.index[varied])
    for dataset, axes in panels.items():
        for method in ("AUCross", "SCross", "AUCross optimal, uncorrected", "AUCross optimal"):
            rows = chosen[(chosen["dataset"] == dataset) & (chosen["method"] == method)].sort_values("cv")
            axes.errorbar(
                rows["cv"], 1e3 * rows["error"], 2e3 * rows["standard_error"], label=method, capsize=2, **_line(method)
            )
        axes.axhline(0, color="black", linewidth=0.8)
        axes.set(title=dataset, xlabel="folds", ylabel="coverage reached minus asked, 1e-3")
    return _with_legend(figure, panels)


def peers(evidence: Evidence) -> Figure:
    """What our band gains over each peer that can be asked for 90 % coverage, at the coverage that it reached."""
    rows = evidence["peers"]
    rows = rows[(rows["target_coverage"] == 0.9) & (rows["classifier"] == "LightGBM") & rows["heeds_coverage"]]
    rows = rows[rows["library"] != "aucross"]
    figure, panels = _panels(rows["dataset"].unique(), height=3.6)
    for dataset, axes in panels.items():
        found = rows[rows["dataset"] == dataset].iloc[::-1]
        middle = found["ours_minus_peer"]
        axes.errorbar(
            middle,
            found["peer"],
            xerr=[middle - found["low"], found["high"] - middle],
            fmt="o",
            color="#1b4f72",
            capsize=2,
        )
        axes.axvline(0, color="black", linewidth=0.8)
        axes.set(title=dataset, xlabel="AUC of aucross minus the peer's")
    for index, axes in enumerate(panels.values()):
        axes.tick_params(labelleft=index % COLUMNS == 0)
    return figure


def networks(evidence: Evidence) -> Figure:
    """Selective AUC against the coverage reached, of networks that select and of our placements on plain networks."""
    runs = evidence["network_runs"]
    figure, panels = _panels(runs["dataset"].unique(), height=3.6, columns=2)
    for dataset, axes in panels.items():
        for method in ("SelNet", "SAT", "DeepGamblers", "AUCross", "PlugInAUC optimal", "AUCross optimal", "AUCGate"):
            rows = runs[(runs["dataset"] == dataset) & (runs["method"] == method)].sort_values("target_coverage")
            axes.plot(rows["coverage"], rows["selective_auc"], label=method, **_line(method))
        _set_title_with_budget(axes, dataset, evidence)
        axes.set(xlabel="coverage reached", ylabel="selective AUC")
        axes.invert_xaxis()
    return _with_legend(figure, panels)


def _set_title_with_budget(axes: Axes, dataset: str, evidence: Evidence) -> None:
    budget = evidence["network_budgets"].set_index("dataset").loc[dataset, "short"]
    axes.set_title(f"{dataset}\n{budget}", fontsize="small")


def bounds(evidence: Evidence) -> Figure:
    """The paper's figure of the AUC over all bounds: Adult, coverage .90."""
    dataset, published, optimal, split = _fitted(evidence)
    figure = Figure(figsize=(7, 6), layout="constrained")
    AUCSurfaceDisplay.from_predictions(
        split.y_test,
        optimal.predict_proba(split.X_test)[:, 1],
        0.9,
        bands={"AUCross optimal": optimal.band(0.9), "AUCross as published": published.band(0.9)},
        ax=figure.subplots(),
        name=dataset,
    )
    return figure


def cumulative_accuracy(evidence: Evidence) -> Figure:
    """The paper's cumulative accuracy profile before and after rejection, on Adult."""
    dataset, _, optimal, split = _fitted(evidence)
    figure = Figure(figsize=(7, 6), layout="constrained")
    CAPDisplay.from_estimator(optimal, split.X_test, split.y_test, 0.9, ax=figure.subplots(), name=dataset)
    return figure


def _fitted(evidence: Evidence) -> tuple[str, AUCross, AUCross, Any]:
    """Adult, or the first data set that is there, with published and optimal placement."""
    there = evidence["cells"]["dataset"].unique()
    dataset = next(name for name in DATASETS if name in there)
    split = Run(dataset).rows()
    base = TrainedOnce(CLASSIFIERS["LightGBM"](), FittedModels())
    methods = (AUCross(base, placement="centered", random_state=PAPER_SEED), AUCross(base, random_state=PAPER_SEED))
    published, optimal = (method.fit(split.X_train, split.y_train) for method in methods)
    return dataset, published, optimal, split


def _panels(datasets: Any, height: float = 3.0, columns: int = COLUMNS) -> tuple[Figure, dict[str, Axes]]:
    """One panel per data set, in the order of the tables, so many in a row."""
    names = [name for name in (*DATASETS, *IMAGE_LOADERS) if name in set(datasets)]
    n_columns = min(len(names), columns)
    n_rows = -(-len(names) // n_columns)
    figure = Figure(figsize=(3.5 * n_columns, height * n_rows + 0.4), layout="constrained")
    all_axes = figure.subplots(n_rows, n_columns, squeeze=False).ravel()
    for axes in all_axes[len(names) :]:
        axes.set_axis_off()
    return figure, dict(zip(names, all_axes, strict=False))


def _sizes(axes: Axes, sizes: pd.Series) -> None:
    """Numbers of rows on a logarithmic axis, written out."""
    axes.set_xscale("log")
    axes.set_xticks(sizes, [f"{size / 1000:g}k" for size in sizes])
    axes.xaxis.minorticks_off()


def _line(method: str) -> dict[str, Any]:
    return {**STYLES[method], "linewidth": 1.4, "markersize": 4}


def _with_legend(figure: Figure, panels: dict[str, Axes]) -> Figure:
    handles, labels = next(iter(panels.values())).get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(len(labels), 4), frameon=False)
    return figure


FIGURES: Mapping[str, Callable[[Evidence], Figure]] = {
    "auc_by_coverage": auc_by_coverage,
    "coverage_reached": coverage_reached,
    "oracle_distance": oracle_distance,
    "learning_curve": learning_curve,
    "optimism": optimism,
    "folds": folds,
    "peers": peers,
    "bounds": bounds,
    "cumulative_accuracy": cumulative_accuracy,
}
