"""Draw the figures of the evidence pages from the results that are kept, and train nothing.

    python -m benchmarks.figures [crossfit] [intervals] [numbers]

Each is written beside its tables in benchmarks/results, all by default.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from benchmarks.crossfit_tables import AIM, FAMILIES, JUDGES, Tables
from experiments.drawing import (
    GREY,
    LOSS_COLOUR,
    OTHER_COLOUR,
    OURS_COLOUR,
    WIDTH,
    legend_below,
    page_style,
    write_figure,
)

RESULTS = Path(__file__).parent / "results"
HOLDS_AIM, WIDTH_AIM = 0.93, 2.0
COLUMNS = ("holds_before", "width_before", "holds", "width")
CANDIDATES = {"none": (GREY, "o"), "corrected": (OURS_COLOUR, "D"), "judge": (OTHER_COLOUR, "s")}
# What an audit had found, with code of its own, on samples of populations and sets of its own; .95 was meant in each.
# It had not looked at cells that are missing here.
FOUND: Mapping[str, float] = {
    "AUC, 20 % positives": 0.94,
    "AUC, 1 % positives": 0.83,
    "AUC .995, 300 rows": 0.45,
    "AUC .995, 3,000 rows": 0.77,
    "AUC near separation, 300 rows": 0.64,
    "AUC near separation, 3,000 rows": 0.86,
    "AUC, ten rows per customer": 0.63,
    "joint promise, ten rows per customer": 0.68,
    "coverage promise, LightGBM": 0.80,
    "coverage promise, MLP": 0.65,
}


# ---- results that are kept ----


def read_intervals(path: Path) -> pd.DataFrame:
    """A line for each population, coverage and metric of `benchmarks.intervals`: how often it holds, how wide it is."""
    lines = []
    with path.open(newline="") as file:
        for part, population, n_samples, *cells in csv.reader(file):
            if part in ("cells", "large", "customers"):
                lines += [_interval_line(part, population, int(n_samples), cell) for cell in cells]
    return pd.DataFrame(lines)


def _interval_line(part: str, population: str, n_samples: int, cell: str) -> dict[str, object]:
    place, truth, *numbers = cell.split(";")
    coverage, metric = place.split(maxsplit=1)
    values = (float(number.strip(" !")) for number in numbers)
    return {
        "part": part,
        "population": population,
        "n_samples": n_samples,
        "coverage": float(coverage),
        "metric": metric.strip(),
        "truth": float(truth),
        **dict(zip(COLUMNS, values, strict=True)),
    }


def read_promises(path: Path) -> list[float]:
    """How often the joint promise held with ten rows per customer and `groups`, one share for each population."""
    with path.open(newline="") as file:
        return [float(line[3].split(";")[1].split()[0]) for line in csv.reader(file) if line[0] == "promise"]


# ---- figures ----


def crossfit(tables: Tables) -> Figure:
    """RMSE of coverage by model family, against the aim."""
    figure = Figure(figsize=(WIDTH, 4.2), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    for axes, method in zip(panels, ("AUCross", "SCross"), strict=True):
        roots = tables.roots(method)
        families = [family for family in FAMILIES if family in roots["none"]][::-1]
        for candidate, (colour, marker) in CANDIDATES.items():
            values = [roots[candidate, family] for family in families]
            axes.plot(values, families, marker, color=colour, markersize=8, label=JUDGES[candidate].replace("`", ""))
        axes.axvline(AIM, color=LOSS_COLOUR, linestyle="--", label=f"aim: {AIM:g}")
        axes.set(title=method, xscale="log", xlabel="RMSE of coverage, 1e-3", ylim=(-0.5, len(families) - 0.5))
        axes.set_xticks([5, 10, 20, 50], ["5", "10", "20", "50"])
        axes.xaxis.minorticks_off()
    legend_below(figure, panels[0], columns=2)
    return figure


def intervals(lines: pd.DataFrame) -> Figure:
    """Show how often every interval holds against how wide it is, beside normal ones; the aim is the shaded field."""
    figure = Figure(figsize=(WIDTH, 4.9), layout="constrained")
    axes = figure.subplots()
    most = 1.05 * lines["width"].max()
    axes.add_patch(Rectangle((0, HOLDS_AIM), WIDTH_AIM, 1.02 - HOLDS_AIM, color="#dcebd3", zorder=0, label="aim"))
    _points(axes, lines["width_before"], lines["holds_before"], (OTHER_COLOUR, "x", "normal: 1.96 standard deviations"))
    is_met = (lines["holds"] >= HOLDS_AIM) & (lines["width"] <= WIDTH_AIM)
    _points(axes, lines["width"][is_met], lines["holds"][is_met], (OURS_COLOUR, "o", "now, aim met"))
    _points(axes, lines["width"][~is_met], lines["holds"][~is_met], (LOSS_COLOUR, "D", "now, aim missed"))
    axes.set(
        xlim=(0, most),
        ylim=(0, 1.02),
        xlabel="width, in widths of an informed interval (knows the distribution)",
        ylabel="share of samples in which it holds",
    )
    legend_below(figure, axes, columns=2)
    return figure


def _points(axes: Axes, x: pd.Series, y: pd.Series, style: tuple[str, str, str]) -> None:
    colour, marker, label = style
    axes.plot(x, y, marker, color=colour, markersize=6, alpha=0.85, label=label)


def numbers(now: Mapping[str, float]) -> Figure:
    """How often statements with .95 beside them held when they were audited, and how often they hold now."""
    names = list(now)[::-1]
    found = [name for name in names if name in FOUND]
    figure = Figure(figsize=(WIDTH, 0.37 * len(names) + 1.6), layout="constrained")
    axes = figure.subplots()
    axes.set_yticks(range(len(names)), names)
    places = {name: place for place, name in enumerate(names)}
    axes.hlines(
        [places[name] for name in found], [FOUND[name] for name in found], [now[name] for name in found], "#ccc"
    )
    axes.plot(
        [FOUND[name] for name in found],
        [places[name] for name in found],
        "x",
        color=OTHER_COLOUR,
        markersize=8,
        label="audit found",
    )
    for is_met, colour, marker, label in (
        (True, OURS_COLOUR, "o", "now"),
        (False, LOSS_COLOUR, "D", "now, aim missed"),
    ):
        shown = [name for name in names if (now[name] >= HOLDS_AIM) == is_met]
        values = [now[name] for name in shown]
        axes.plot(values, [places[name] for name in shown], marker, color=colour, markersize=8, label=label)
    axes.axvline(HOLDS_AIM, color=LOSS_COLOUR, linestyle="--", label="aim: .93")
    axes.set(xlim=(0.4, 1.02), ylim=(-0.6, len(names) - 0.4), xlabel="holds in this share of samples")
    legend_below(figure, axes, columns=4)
    return figure


def audited(lines: pd.DataFrame, promises: Iterable[float], tables: Tables) -> dict[str, float]:
    """What holds now, in the cells that had been audited: the lowest share of all lines of a cell."""
    auc = lines[lines["metric"] == "selective_auc"]
    cells = auc[auc["part"] == "cells"].groupby("population")["holds"].min()
    kept = tables.lowest_kept()
    populations = {
        "AUC, 20 % positives": "20 % positives, n 3,000",
        "AUC, 1 % positives": "1 % positives, n 3,000",
        "AUC .995, 300 rows": "AUC .995, few rows, n 300",
        "AUC .995, 3,000 rows": "AUC .995, n 3,000",
        "AUC near separation, 300 rows": "near separation, few rows, ",
        "AUC near separation, 3,000 rows": "near separation, n 3,000",
        "AUC, hidden positives, 300 rows": "hidden positives, few rows,",
    }
    return {
        **{name: cells[population] for name, population in populations.items()},
        "AUC, ten rows per customer": auc.loc[auc["part"] == "customers", "holds"].min(),
        "joint promise, ten rows per customer": min(promises),
        "coverage promise, LightGBM": kept["SCross", "LightGBM"],
        "coverage promise, MLP": kept["SCross", "MLP"],
        "coverage promise, forest": kept["SCross", "forest"],
    }


def main(names: list[str]) -> None:
    """Draw from the kept results."""
    lines, promises = read_intervals(RESULTS / "intervals.csv"), read_promises(RESULTS / "intervals.csv")
    tables = Tables(pd.read_csv(RESULTS / "crossfit_coverage.csv"), pd.read_csv(RESULTS / "crossfit_promise.csv"))
    with page_style():
        drawn = {
            "crossfit": (crossfit(tables), RESULTS / "crossfit_coverage" / "coverage.png"),
            "intervals": (intervals(lines), RESULTS / "intervals.png"),
            "numbers": (numbers(audited(lines, promises, tables)), RESULTS / "numbers.png"),
        }
        for name in names or drawn:
            write_figure(*drawn[name])
            print(f"written to {drawn[name][1]}")


if __name__ == "__main__":
    main(sys.argv[1:])
