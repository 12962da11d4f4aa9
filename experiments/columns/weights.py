"""Survey weights: crashes of the National Automotive Sampling System, each of which stands for many others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier
from matplotlib.figure import Figure
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from aucross import AUCross, evaluate_selective
from experiments import markdown
from experiments.columns.topics import (
    COVERAGE,
    LOSS,
    MODEL_SEED,
    MOST_TRAINED,
    OTHER,
    OURS,
    WIDTH,
    Draw,
    Topic,
    column,
    with_deviation,
)
from experiments.markdown import figure
from experiments.suite import sets
from experiments.work import Rows

COVERAGES = (0.95, 0.9, 0.8, 0.7)
# What `fit` is given beside rows and labels; the name in tables.
FITS = {"no weights": (), "coverage_weight": ("coverage_weight",), "sample_weight": ("sample_weight",)}
N_BOOTSTRAP = 200


def measure(draw: Draw) -> Rows:
    """One row per fit and coverage, judged with and without the weights of the test rows."""
    of = sets.load(draw.dataset)
    weight = column(draw.dataset, "weight").to_numpy(dtype=float)
    known = np.flatnonzero(weight > 0)  # a row of weight 0 stands for nobody
    train, test = train_test_split(
        known, train_size=min(MOST_TRAINED, len(known) // 2), stratify=of.y[known], random_state=draw.draw
    )
    model = LGBMClassifier(random_state=MODEL_SEED, n_jobs=1, verbose=-1)
    return [
        {**draw.key, "n_train": len(train), "n_test": len(test), **row}
        for row in judged(model, Weighted(of.X, of.y, weight), train, test, draw.draw)
    ]


class Weighted(NamedTuple):
    """Rows with their labels and weights."""

    X: pd.DataFrame
    y: NDArray[np.int64]
    weight: NDArray[np.float64]


def judged(
    model: Any, rows: Weighted, train: NDArray[np.intp], test: NDArray[np.intp], seed: int
) -> Iterator[dict[str, Any]]:
    """Fit with and without weights, and judge the test rows both ways."""
    X, y, weight = rows
    for name, arguments in FITS.items():
        clf = AUCross(model, coverage=COVERAGE, random_state=seed)
        clf.fit(X.iloc[train], y[train], **dict.fromkeys(arguments, weight[train]))
        for counted, test_weight in (("weights", weight[test]), ("rows", None)):
            scored = clf.scored(X.iloc[test], sample_weight=test_weight)
            found = evaluate_selective(
                clf, scored, y[test], (1.0, *COVERAGES), n_bootstrap=N_BOOTSTRAP, random_state=seed
            )
            of_all, *of_selected = found.rows()
            for row in of_selected:
                yield {
                    "fit": name,
                    "counted": counted,
                    "target_coverage": row["target_coverage"],
                    "coverage": row["achieved_coverage"],
                    "coverage_width": row["achieved_coverage_high"] - row["achieved_coverage_low"],
                    "auc": row["selective_auc"],
                    "auc_all": of_all["selective_auc"],
                    "gain": row["selective_auc"] - of_all["selective_auc"],
                    "n_effective": scored.n_effective,
                }


def page(rows: pd.DataFrame) -> str:
    """The answer and its table."""
    weighted = rows[rows["counted"] == "weights"]
    at_one = weighted[np.isclose(weighted["target_coverage"], COVERAGE)]
    lines = []
    for name in FITS:
        found = at_one[at_one["fit"] == name]
        every = weighted[weighted["fit"] == name]
        lines.append(
            [
                name,
                with_deviation(found["coverage"]),
                figure((every["coverage"] - every["target_coverage"]).abs().mean()),
                with_deviation(found["auc_all"]),
                with_deviation(found["gain"], sign=True),
                f"{int((found['gain'] > 0).sum())} of {len(found)}",
            ]
        )
    as_rows = rows[(rows["counted"] == "rows") & (rows["fit"] == "no weights")]
    as_rows = as_rows[np.isclose(as_rows["target_coverage"], COVERAGE)]
    header = ["fit with", f"share of weight selected for {COVERAGE:g}", "off by, all coverages", "weighted AUC of all"]
    return (
        markdown.table([*header, "weighted AUC gained", "draws with a gain"], lines)
        + f"\nMeans over {at_one['draw'].nunique()} draws of {at_one['n_train'].iloc[0]:,.0f} training rows ± their "
        f"deviation; the other {at_one['n_test'].iloc[0]:,.0f} rows are test rows, worth as "
        f"much as {at_one['n_effective'].mean():,.0f} rows of equal weight. For the fit without weights a report that "
        f"counts rows would show: {with_deviation(as_rows['coverage'])} selected, an AUC of "
        f"{figure(as_rows['auc_all'].mean())} and {with_deviation(as_rows['gain'], sign=True)} "
        f"gained. The 95 % interval of the share in one draw is {figure(at_one['coverage_width'].mean())} wide with "
        f"weights and {figure(as_rows['coverage_width'].mean())} without.\n"
    )


def draw_picture(rows: pd.DataFrame) -> Figure:
    """Share of weight reached against the one asked, and the weighted AUC gained, one point per draw."""
    weighted = rows[rows["counted"] == "weights"]
    picture = Figure(figsize=(WIDTH, 3.6), layout="constrained")
    left, right = picture.subplots(1, 2)
    for place, (name, colour) in enumerate(zip(FITS, (LOSS, OURS, OTHER), strict=True)):
        found = weighted[weighted["fit"] == name]
        shift = (place - 1) * 0.012
        for axes, values in ((left, found["coverage"] - found["target_coverage"]), (right, found["gain"])):
            x = found["target_coverage"] + shift
            axes.plot(x, values, "o", color=colour, alpha=0.35, markersize=3.5)
            means = values.groupby(found["target_coverage"]).mean()
            axes.plot(means.index + shift, means, "-", color=colour, linewidth=2, label=name)
    left.set(title="share of weight selected,\nreached minus asked", xlabel="coverage asked")
    right.set(title="weighted AUC gained", xlabel="coverage asked")
    for axes in (left, right):
        axes.axhline(0, color="black", linewidth=0.8)
        axes.invert_xaxis()
        axes.grid(color="#eeeeee")
    picture.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    return picture


TOPIC = Topic(
    name="weights",
    datasets=("nass_cds_crash",),
    n_draws=20,
    measure=measure,
    draw=draw_picture,
    page=page,
    settings=repr((COVERAGES, FITS, MOST_TRAINED, N_BOOTSTRAP)),
)
