"""The paper's figures and ours, drawn from the tables of the evidence; the paper's own need the rows of Adult."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import LogFormatter

from aucross import AUCross
from aucross.evaluation.plots import AUCSurfaceDisplay, CAPDisplay
from experiments.drawing import (
    GREY,
    LOSS_COLOUR,
    OTHER_COLOUR,
    OURS_COLOUR,
    WIDTH,
    legend_below,
    legend_in,
    page_style,
    write_figure,
)
from experiments.methods import PUBLISHED
from experiments.protocol import CLASSIFIERS, DATASETS, IMAGE_LOADERS, PAPER_SEED, Run
from experiments.trained_once import FittedModels, TrainedOnce

Evidence = Mapping[str, pd.DataFrame]
COLUMNS = 2  # of panels: three would be too small to read on a telephone

# Blue is the placement of this library, its light shade the published one; readable without colour by marker.
STYLES: Mapping[str, dict[str, Any]] = {
    "AUCross": {"color": "#85b8dc", "marker": "o"},
    "PlugInAUC": {"color": "#f2c27b", "marker": "s"},
    "SCross": {"color": "#b9bcc2", "marker": "v"},
    "PlugIn": {"color": "#6b7078", "marker": "^"},
    "AUCross optimal": {"color": OURS_COLOUR, "marker": "D"},
    "PlugInAUC optimal": {"color": OTHER_COLOUR, "marker": "P"},
    "AUCross optimal, uncorrected": {"color": "#5f8f3e", "marker": "x"},
    "AUCGate": {"color": "#117a65", "marker": "*"},
    "SelNet": {"color": LOSS_COLOUR, "marker": "v"},
    "SAT": {"color": "#a2679a", "marker": "<"},
    "DeepGamblers": {"color": "#7a4a2b", "marker": ">"},
}
# In the tables "AUCross" without a word is the published placement.
LABELS: Mapping[str, str] = {
    "AUCross": "AUCross, published",
    "PlugInAUC": "PlugInAUC, published",
    "AUCross optimal, uncorrected": "AUCross optimal,\nuncorrected",
}
PLACEMENTS = ("AUCross", "PlugInAUC", "AUCross optimal", "PlugInAUC optimal")


def write_figures(evidence: Evidence, output: Path, with_rows: bool = True) -> None:
    """Draw every figure into a PNG of its own, or those that tables suffice for."""
    drawn = {**FIGURES, **({"networks": networks} if "network_runs" in evidence else {})}
    if not with_rows:
        drawn = {name: draw for name, draw in drawn.items() if name not in FROM_ROWS}
    with page_style():
        for name, draw in drawn.items():
            write_figure(draw(evidence), output / f"{name}.png")


def auc_by_coverage(evidence: Evidence) -> Figure:
    """Selective AUC against the coverage reached, one panel per data set."""
    cells = evidence["cells"]
    cells = cells[cells["table"] == 3].pivot_table(
        ["mean", "paper_mean"], ["dataset", "method", "target_coverage"], "metric"
    )
    figure, panels = _panels(cells.index.unique("dataset"), "coverage reached", "AUC of the selected rows")
    for dataset, axes in panels.items():
        for method in ("PlugIn", "SCross", "AUCross", "PlugInAUC", "AUCross optimal"):
            rows = cells.loc[(dataset, method)]
            axes.plot(rows["mean", "coverage"], rows["mean", "selective_auc"], **_line(method))
        rows = cells.loc[(dataset, "AUCross")]
        style = {"marker": "o", "linestyle": "none", "markerfacecolor": "none", "markeredgecolor": "black"}
        axes.plot(
            rows["paper_mean", "coverage"], rows["paper_mean", "selective_auc"], label="AUCross in the paper", **style
        )
        if dataset in IMAGE_LOADERS:
            _set_title_with_budget(axes, dataset, evidence)
        axes.invert_xaxis()
    return _with_legend(figure, panels)


def agreement(evidence: Evidence) -> Figure:
    """Every coverage and AUC that the paper prints against ours: on the line both are the same."""
    cells = evidence["cells"]
    cells = cells[cells["paper_mean"].notna() & cells["table"].isin((3, 6, 7, 10)) & cells["method"].isin(PUBLISHED)]
    figure = Figure(figsize=(WIDTH, 4.1), layout="constrained")
    panels = figure.subplots(1, 2)
    for axes, metric, title in zip(panels, ("coverage", "selective_auc"), ("Coverage", "Selective AUC"), strict=True):
        found = cells[cells["metric"] == metric]
        for dataset, style in AGREEMENT_STYLES.items():
            rows = found[found["dataset"] == dataset]
            if len(rows):
                axes.plot(rows["paper_mean"], rows["mean"], linestyle="none", markersize=4, label=dataset, **style)
        low, high = found[["paper_mean", "mean"]].min().min(), found[["paper_mean", "mean"]].max().max()
        axes.plot([low, high], [low, high], color="black", linewidth=0.8)
        axes.set(title=title, xlabel="paper", ylabel="here", aspect="equal")
    legend_below(figure, panels[0], columns=3)
    return figure


AGREEMENT_STYLES: Mapping[str, dict[str, Any]] = {
    "Lending": {"color": LOSS_COLOUR, "marker": "x"},
    "CIFAR-10-cat": {"color": "#a2679a", "marker": "<"},
    "CatsVsDogs": {"color": "#117a65", "marker": ">"},
    "UCICredit": {"color": OTHER_COLOUR, "marker": "s"},
    "GiveMe": {"color": GREY, "marker": "^"},
    "Adult": {"color": OURS_COLOUR, "marker": "o"},
}


def data_sets(evidence: Evidence) -> Figure:
    """Rows of every data set of the paper, here and there."""
    data = evidence["data"].iloc[::-1]
    ours, paper = (data[f"{source}n_train"] + data[f"{source}n_test"] for source in ("", "paper_"))
    rates = data["positive_rate"].fillna(data["paper_positive_rate"])
    names = [f"{name} ({rate:.1%})" for name, rate in zip(data["dataset"], rates, strict=True)]
    figure = Figure(figsize=(WIDTH, 0.37 * len(data) + 1.6), layout="constrained")
    axes = figure.subplots()
    places = np.arange(len(data))
    style = {"linestyle": "none", "marker": "o", "markerfacecolor": "none", "markersize": 11}
    axes.plot(paper, places, color="black", label="in the paper", **style)
    axes.plot(ours, places, "o", color=OURS_COLOUR, markersize=7, label="here")
    missing = ours.isna().to_numpy()
    axes.plot(paper[missing], places[missing], "x", color=LOSS_COLOUR, markersize=7, label="not to be had")
    axes.set_yticks(places, names)
    axes.set(xscale="log", xlabel="rows", ylim=(-0.6, len(data) - 0.4))
    sizes = (30_000, 100_000, 300_000, 1_000_000)
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.xaxis.minorticks_off()
    legend_below(figure, axes, columns=3)
    return figure


def coverage_reached(evidence: Evidence) -> Figure:
    """Coverage reached minus asked, one panel per data set."""
    splits = evidence["random_splits"]
    splits = splits[splits["metric"] == "coverage"]
    figure, panels = _panels(splits["dataset"].unique(), "coverage asked", "coverage reached minus asked, 1e-3")
    for dataset, axes in panels.items():
        for method in ("AUCross", "PlugInAUC", "SCross", "PlugIn", "AUCross optimal"):
            rows = splits[(splits["dataset"] == dataset) & (splits["method"] == method)]
            error = 1e3 * (rows["mean"] - rows["target_coverage"])
            half = 1e3 * (rows["high"] - rows["mean"])
            axes.errorbar(rows["target_coverage"], error, half, capsize=2, **_line(method))
        axes.axhline(0, color="black", linewidth=0.8)
        axes.invert_xaxis()
    return _with_legend(figure, panels)


def oracle_summary(evidence: Evidence) -> Figure:
    """Distance to the Oracle, one line per data set: mean over coverages and random splits."""
    means = evidence["oracle_distance"].groupby("dataset")[list(PLACEMENTS)].mean()
    means = means.loc[[name for name in DATASETS if name in means.index]].iloc[::-1]
    figure = Figure(figsize=(WIDTH, 0.5 * len(means) + 1.9), layout="constrained")
    axes = figure.subplots()
    axes.hlines(means.index, means.min(axis=1), means.max(axis=1), color="#cccccc", zorder=1)
    for method in PLACEMENTS:
        axes.plot(means[method], means.index, **{**_line(method), "linestyle": "none", "markersize": 8})
    axes.set(xscale="log", xlabel="AUC below the Oracle, 1e-4 (left is better)", ylim=(-0.6, len(means) - 0.4))
    axes.set_xticks([0.01, 0.1, 1, 10], [".01", ".1", "1", "10"])
    legend_below(figure, axes, columns=2)
    return figure


def oracle_distance(evidence: Evidence) -> Figure:
    """Distance to the Oracle over random splits."""
    splits = evidence["random_splits"]
    splits = splits[splits["metric"] == "oracle_distance"]
    figure, panels = _panels(splits["dataset"].unique(), "coverage asked", "AUC below the Oracle, 1e-4")
    for dataset, axes in panels.items():
        for method in PLACEMENTS:
            rows = splits[(splits["dataset"] == dataset) & (splits["method"] == method)]
            mean, half = 1e4 * rows["mean"], 1e4 * (rows["high"] - rows["mean"])
            axes.errorbar(rows["target_coverage"], mean, half, capsize=2, **_line(method))
        axes.invert_xaxis()
    return _with_legend(figure, panels)


def learning_curve(evidence: Evidence) -> Figure:
    """Distance to the Oracle against training rows."""
    curve = evidence["learning_curve"]
    curve = curve[np.isfinite(curve["n_train"])]
    figure, panels = _panels(curve["dataset"].unique(), "training rows", "AUC below the Oracle, 1e-4")
    for dataset, axes in panels.items():
        for method in PLACEMENTS:
            rows = curve[(curve["dataset"] == dataset) & (curve["method"] == method)]
            half = 1e4 * rows["oracle_distance_standard_error"]
            axes.errorbar(rows["n_train"], 1e4 * rows["oracle_distance"], half, capsize=2, **_line(method))
        _log_distances(axes)
        _sizes(axes, rows["n_train"])
    return _with_legend(figure, panels)


def optimism(evidence: Evidence) -> Figure:
    """How much of the distance is the Oracle's own optimism."""
    rows = evidence["oracle_optimism"]
    figure, panels = _panels(rows["dataset"].unique(), "test rows", "AUC below the Oracle, 1e-4")
    for dataset, axes in panels.items():
        found = rows[rows["dataset"] == dataset]
        axes.plot(found["n_test"], found["fitted_distance"], **_line("AUCross optimal"))
        axes.plot(
            *(found["n_test"], found["optimism"], "--"), color=LOSS_COLOUR, marker="*", label="optimism of the Oracle"
        )
        _log_distances(axes)
        _sizes(axes, found["n_test"])
    return _with_legend(figure, panels)


def folds(evidence: Evidence) -> Figure:
    """Coverage error against the number of folds, and by base classifier."""
    errors = evidence["coverage_errors"]
    chosen = errors[errors["classifier"] == "LightGBM"]
    # Sets that were run with five folds alone have no curve.
    varied = chosen.groupby("dataset")["cv"].nunique() > 1
    figure, panels = _panels(varied.index[varied], "folds", "coverage reached minus asked, 1e-3")
    for dataset, axes in panels.items():
        for method in ("AUCross", "SCross", "AUCross optimal, uncorrected", "AUCross optimal"):
            rows = chosen[(chosen["dataset"] == dataset) & (chosen["method"] == method)].sort_values("cv")
            axes.errorbar(rows["cv"], 1e3 * rows["error"], 2e3 * rows["standard_error"], capsize=2, **_line(method))
        axes.axhline(0, color="black", linewidth=0.8)
    return _with_legend(figure, panels)


def peers(evidence: Evidence) -> Figure:
    """What our band gains over each peer that can be asked for 90 % coverage, at the coverage that it reached."""
    rows = evidence["peers"]
    rows = rows[(rows["target_coverage"] == 0.9) & (rows["classifier"] == "LightGBM") & rows["heeds_coverage"]]
    rows = rows[rows["library"] != "aucross"]
    names, places = (list(rows[column].unique()) for column in ("dataset", "peer"))
    figure = Figure(figsize=(WIDTH, 0.42 * len(places) + 1.5), layout="constrained")
    axes = figure.subplots()
    for row in rows.itertuples():
        clear = OURS_COLOUR if row.low > 0 else LOSS_COLOUR if row.high < 0 else GREY
        place = (names.index(row.dataset), places.index(row.peer))
        axes.add_patch(Rectangle((place[0] - 0.48, place[1] - 0.44), 0.96, 0.88, color=clear))
        text = (
            f"{1e4 * row.ours_minus_peer:+.0f}"
            if abs(row.ours_minus_peer) > 1e-4
            else f"{1e4 * row.ours_minus_peer:+.2f}"
        )
        axes.annotate(text, place, ha="center", va="center", color="white")
    axes.set_xticks(
        range(len(names)), [name.replace(" (application)", "\nat application") for name in names], fontsize=9.5
    )
    axes.set_yticks(range(len(places)), [place.replace("scikit-fallback", "fallback") for place in places])
    axes.set(xlim=(-0.5, len(names) - 0.5), ylim=(len(places) - 0.5, -0.5))
    axes.tick_params(length=0, labeltop=True, labelbottom=False)
    axes.spines[:].set_visible(False)
    axes.grid(visible=False)
    words = {OURS_COLOUR: "clearly ahead", GREY: "neither", LOSS_COLOUR: "clearly behind"}
    patches = [Rectangle((0, 0), 1, 1, color=colour, label=word) for colour, word in words.items()]
    figure.legend(handles=patches, loc="outside lower center", ncols=3, frameon=False)
    axes.set_xlabel("AUC of aucross minus the peer's, 1e-4")
    return figure


def networks(evidence: Evidence) -> Figure:
    """Selective AUC against the coverage reached, of networks that select and of our placements on plain networks."""
    runs = evidence["network_runs"]
    figure, panels = _panels(runs["dataset"].unique(), "coverage reached", "AUC of the selected rows", height=2.9)
    for dataset, axes in panels.items():
        for method in ("SelNet", "SAT", "DeepGamblers", "AUCross", "PlugInAUC optimal", "AUCross optimal", "AUCGate"):
            rows = runs[(runs["dataset"] == dataset) & (runs["method"] == method)].sort_values("target_coverage")
            axes.plot(rows["coverage"], rows["selective_auc"], **_line(method))
        _set_title_with_budget(axes, dataset, evidence)
        axes.invert_xaxis()
    return _with_legend(figure, panels)


def _set_title_with_budget(axes: Axes, dataset: str, evidence: Evidence) -> None:
    budget = evidence["network_budgets"].set_index("dataset").loc[dataset, "short"]
    axes.set_title(f"{dataset}\n{budget.removesuffix(', all rows')}")


def bounds(evidence: Evidence) -> Figure:
    """The paper's figure of the AUC over all bounds: Adult, coverage .90."""
    dataset, published, optimal, split = _fitted(evidence)
    figure = Figure(figsize=(WIDTH, 5.4), layout="constrained")
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
    figure = Figure(figsize=(WIDTH, 5.4), layout="constrained")
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


def _panels(datasets: Any, xlabel: str, ylabel: str, height: float = 2.2) -> tuple[Figure, dict[str, Axes]]:
    """One panel per data set, in the order of the tables, and what the axes of all of them are."""
    names = [name for name in (*DATASETS, *IMAGE_LOADERS) if name in set(datasets)]
    n_rows = -(-len(names) // COLUMNS)
    figure = Figure(figsize=(WIDTH, height * n_rows + 1.2), layout="constrained")
    all_axes = figure.subplots(n_rows, COLUMNS, squeeze=False).ravel()
    for axes in all_axes[len(names) :]:
        axes.set_axis_off()
    for name, axes in zip(names, all_axes, strict=False):
        axes.set_title(name)
        axes.locator_params(nbins=5)
    for axes in all_axes[max(len(names) - COLUMNS, 0) : len(names)]:
        axes.set_xlabel(xlabel)
    figure.supylabel(ylabel, fontsize=11)
    return figure, dict(zip(names, all_axes, strict=False))


def _sizes(axes: Axes, sizes: pd.Series) -> None:
    """Numbers of rows on a logarithmic axis, written out."""
    axes.set_xscale("log")
    axes.set_xticks(sizes, [f"{size / 1000:g}k" for size in sizes])
    axes.xaxis.minorticks_off()


def _log_distances(axes: Axes) -> None:
    """Distances on a logarithmic axis, written as plain numbers."""
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter(LogFormatter(minor_thresholds=(1, 0.4)))


def _line(method: str) -> dict[str, Any]:
    return {**STYLES[method], "linewidth": 1.6, "markersize": 5, "label": LABELS.get(method, method)}


def _with_legend(figure: Figure, panels: dict[str, Axes]) -> Figure:
    """In the panel that is left empty, if there is one; under all panels otherwise."""
    first, empty = next(iter(panels.values())), [axes for axes in figure.axes if axes not in panels.values()]
    if empty:
        legend_in(empty[0], first)
    else:
        legend_below(figure, first, COLUMNS)
    return figure


FIGURES: Mapping[str, Callable[[Evidence], Figure]] = {
    "data_sets": data_sets,
    "auc_by_coverage": auc_by_coverage,
    "agreement": agreement,
    "coverage_reached": coverage_reached,
    "oracle_summary": oracle_summary,
    "oracle_distance": oracle_distance,
    "learning_curve": learning_curve,
    "optimism": optimism,
    "folds": folds,
    "peers": peers,
    "bounds": bounds,
    "cumulative_accuracy": cumulative_accuracy,
}
# These are drawn from the rows of a data set and from a model that is trained for them.
FROM_ROWS = ("bounds", "cumulative_accuracy")
