"""The picture of the page "Choosing a method": every method in every situation."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from experiments.suite.figures import STYLES, WIDTH

GATE_STYLE = ("#6c3483", "*")
SHOWN = ("max probability", "SCross", "PlugInAUC", "AUCross judged", "AUCGate", "AUCross")


def situations(table: pd.DataFrame) -> Figure:
    """AUC gained and coverage error of each method, situation by situation."""
    names = list(dict.fromkeys(table["situation"]))
    n_sets = table.drop_duplicates("situation").set_index("situation")["n_sets"]
    figure = Figure(figsize=(WIDTH, 0.34 * len(names) + 1.5), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    places = np.arange(len(names))[::-1]
    for axes, column, label in (
        (panels[0], "gain", "AUC gained"),
        (panels[1], "miss", "coverage off by"),
    ):
        for method in SHOWN:
            colour, marker = STYLES.get(method, GATE_STYLE)
            values = table[table["method"] == method].set_index("situation")[column].reindex(names)
            axes.plot(
                values, places, marker, color=colour, label=method, markersize=8 if marker == "*" else 6, alpha=0.9
            )
        axes.axvline(0, color="black", linewidth=0.8)
        axes.set(xlabel=label, ylim=(-0.7, len(names) - 0.3))
        axes.grid(axis="x", color="#eeeeee")
        for place in places[::2]:
            axes.axhspan(place - 0.5, place + 0.5, color="#f6f6f6", zorder=0)
    panels[0].set_yticks(places, [f"{name} ({n_sets[name]})" for name in names], fontsize=8)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles[::-1], labels[::-1], loc="outside upper center", ncols=3, frameon=False, fontsize=8)
    return figure
