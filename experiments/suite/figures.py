"""The figures of the suite, drawn from its tables, readable at the width of a page."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.drawing import GREY, LOSS_COLOUR, OTHER_COLOUR, OURS_COLOUR, WIDTH, legend_below
from experiments.suite.statistics import Ranking
from experiments.suite.tables import MAX_PROBABILITY, SHOWN_COVERAGE

# Colour and marker of the methods that share a panel.
STYLES = {
    "AUCross": (OURS_COLOUR, "o"),
    "AUCross judged": ("#117a65", "D"),
    "AUCross published": ("#85b8dc", "v"),
    "PlugInAUC": ("#a04000", "s"),
    "SCross": (GREY, "x"),
    MAX_PROBABILITY: (OTHER_COLOUR, "^"),
}


def gains(sets: pd.DataFrame) -> Figure:
    """What abstaining does to the AUC, set by set, from rare to frequent positives."""
    figure = Figure(figsize=(WIDTH, 0.27 * len(sets) + 1.6), layout="constrained")
    axes = figure.subplots()
    places = np.arange(len(sets))[::-1]
    for column, name, label in (
        ("max_probability_gain", MAX_PROBABILITY, "max probability"),
        ("gain", "AUCross", "AUCross"),
    ):
        colour, marker = STYLES[name]
        axes.plot(sets[column], places, marker, color=colour, label=label, markersize=6)
    axes.hlines(places, sets["max_probability_gain"], sets["gain"], color="#cccccc", zorder=0)
    axes.axvline(0, color="black", linewidth=0.8)
    labels = [f"{name} ({share:.1%})" for name, share in zip(sets["dataset"], sets["prevalence"], strict=True)]
    axes.set_yticks(places, labels)
    axes.set(
        xlabel=f"change of the AUC, coverage {SHOWN_COVERAGE:g}",
        ylim=(-1, len(sets)),
    )
    axes.grid(visible=False, axis="y")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=2, frameon=False)
    return figure


def wins(comparisons: pd.DataFrame) -> Figure:
    """On how many sets AUCross is ahead of each method at equal coverage, and behind; dark where a test says so."""
    rows = comparisons.iloc[::-1].reset_index(drop=True)
    figure = Figure(figsize=(WIDTH, 0.36 * len(rows) + 1.3), layout="constrained")
    axes = figure.subplots()
    places = np.arange(len(rows))
    for side, means, tested, colour, word in (
        (1, "higher", "wins", OURS_COLOUR, "ahead"),
        (-1, "lower", "losses", LOSS_COLOUR, "behind"),
    ):
        axes.barh(places, side * rows[means], color=colour, alpha=0.35, label=f"AUCross {word} on average")
        axes.barh(places, side * rows[tested], color=colour, label=f"{word}, and the test says so")
        for place, number in zip(places, rows[means], strict=True):
            axes.annotate(
                f" {number} ",
                (side * number, place),
                ha="left" if side > 0 else "right",
                va="center",
                fontsize=10,
            )
    axes.axvline(0, color="black", linewidth=0.8)
    axes.set_yticks(places, rows["method"])
    most = rows["n_sets"].max() * 1.12
    axes.set(xlim=(-most, most), xlabel="number of sets")
    axes.set_xticks(axes.get_xticks(), [f"{abs(tick):.0f}" for tick in axes.get_xticks()])
    axes.set_xlim(-most, most)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False)
    return figure


def ranks(ranking: Ranking) -> Figure:
    """Average ranks over sets, 1 is best; a bar joins methods that cannot be told apart."""
    names, values = list(ranking.average), list(ranking.average.values())
    n_names = len(names)
    figure = Figure(figsize=(WIDTH, 0.3 * n_names + 0.16 * len(ranking.cliques) + 0.9), layout="constrained")
    axes = figure.subplots()
    places = np.arange(n_names)[::-1]
    axes.hlines(places, 1, values, color="#dddddd", zorder=0)
    axes.plot(values, places, "o", color=OURS_COLOUR)
    for place, value in zip(places, values, strict=True):
        axes.annotate(
            f"{value:.1f}", (value, place), xytext=(6, 0), textcoords="offset points", va="center", fontsize=10
        )
    for level, (first, last) in enumerate(ranking.cliques):
        x = n_names + 0.3 + 0.35 * level
        axes.plot([x, x], [places[first] + 0.2, places[last] - 0.2], color=LOSS_COLOUR, linewidth=3, clip_on=False)
    axes.set_yticks(places, names)
    axes.set(
        xlim=(1, n_names + 0.8 + 0.35 * max(1, len(ranking.cliques))),
        xlabel="average rank, 1 is best\n(a red bar joins methods that\nthe test cannot tell apart)",
    )
    return figure


def coverage_by_rows(cells: pd.DataFrame, in_time: set[str]) -> Figure:
    """Distance between the coverage reached and asked, against training rows and the share of positives."""
    methods = ("AUCross", "AUCross judged", "PlugInAUC", "SCross")
    figure, panels = _two_panels("coverage off by, on average")
    chosen = cells[~cells["dataset"].isin(in_time)]
    chosen = chosen.assign(miss=chosen["coverage_error"].abs())
    _scatter(panels, chosen, "miss", methods)
    for axes in panels:
        axes.set_yscale("log")
    return _with_legend(figure, panels[0])


def gain_by_rows(cells: pd.DataFrame) -> Figure:
    """The gain of AUC at one coverage against training rows and the share of positives."""
    chosen = cells[np.isclose(cells["target_coverage"], SHOWN_COVERAGE)]
    figure, panels = _two_panels(f"AUC gained at coverage {SHOWN_COVERAGE:g}")
    _scatter(panels, chosen, "gain", ("AUCross", MAX_PROBABILITY))
    for axes in panels:
        axes.axhline(0, color="black", linewidth=0.8)
    return _with_legend(figure, panels[0])


def oracle_by_rows(cells: pd.DataFrame) -> Figure:
    """Distance to the Oracle, the best band that knows the test labels, against training rows and positives."""
    figure, panels = _two_panels("AUC below the Oracle")
    _scatter(panels, cells, "oracle_distance", ("AUCross", "AUCross published", "PlugInAUC", MAX_PROBABILITY))
    for axes in panels:
        axes.set_yscale("log")
    return _with_legend(figure, panels[0])


def _two_panels(label: str) -> tuple[Figure, list[Axes]]:
    figure = Figure(figsize=(WIDTH, 4.2), layout="constrained")
    panels = list(figure.subplots(1, 2, sharey=True))
    panels[0].set(xlabel="training rows", xscale="log", ylabel=label)
    panels[1].set(xlabel="share of positives", xscale="log")
    sizes = (750, 2_000, 6_000)
    panels[0].set_xticks(sizes, [f"{size:,}" for size in sizes])
    shares = (0.01, 0.1, 0.9)
    panels[1].set_xticks(shares, [f"{share:.0%}" for share in shares])
    for axes in panels:
        axes.xaxis.minorticks_off()
    return figure, panels


def _scatter(panels: list[Axes], cells: pd.DataFrame, column: str, methods: tuple[str, ...]) -> None:
    """One point per set and method: means over families, splits and what coverages there are."""
    for method in methods:
        found = cells[cells["method"] == method]
        means = found.groupby("dataset")[[column, "n_train", "prevalence"]].mean()
        colour, marker = STYLES[method]
        for axes, against in zip(panels, ("n_train", "prevalence"), strict=True):
            axes.plot(means[against], means[column], marker, color=colour, label=method, markersize=5, alpha=0.8)


def _with_legend(figure: Figure, axes: Axes) -> Figure:
    legend_below(figure, axes, columns=2)
    return figure
