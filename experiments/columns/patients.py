"""Several rows per person: what it costs to forget in the fit, and in the intervals, that patients come again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier
from matplotlib.figure import Figure
from numpy.typing import NDArray

from aucross import AUCross, evaluate_selections
from aucross.evaluation import selective_auc
from experiments import markdown
from experiments.columns.topics import (
    COVERAGE,
    LOSS,
    MODEL_SEED,
    MOST_TRAINED,
    OURS,
    WIDTH,
    Draw,
    Topic,
    with_deviation,
)
from experiments.markdown import figure, signed
from experiments.suite import sets
from experiments.work import Rows

# All patients, and those who came back often, of whom rows belong together more.
FEWEST_STAYS = (1, 4)
N_SAMPLES = 40  # of test rows, drawn as whole patients, of each fitted classifier
SAMPLED = 1_500  # rows, about
N_BOOTSTRAP = 200
WITH, WITHOUT = "groups", "no groups"
METRICS = {"achieved_coverage": "coverage", "selective_auc": "AUC"}


class Patients(NamedTuple):
    """Rows with their labels and patients."""

    X: pd.DataFrame
    y: NDArray[np.int64]
    patient: NDArray[np.int64]

    def take(self, rows: NDArray[np.intp]) -> Patients:
        """Some of the rows."""
        return Patients(self.X.iloc[rows], self.y[rows], self.patient[rows])


def measure(draw: Draw) -> Rows:
    """One row per kind of patients, fit and metric."""
    of = sets.load(draw.dataset)
    assert of.groups is not None
    stays = np.bincount(of.groups)[of.groups]
    model = LGBMClassifier(random_state=MODEL_SEED, n_jobs=1, verbose=-1)
    rows: Rows = []
    for fewest in FEWEST_STAYS:
        chosen = Patients(of.X, of.y, of.groups).take(np.flatnonzero(stays >= fewest))
        rows += [{**draw.key, "fewest": fewest, **row} for row in judged(model, chosen, draw.draw)]
    return rows


def judged(model: Any, everyone: Patients, seed: int, most_trained: int = MOST_TRAINED) -> Iterator[dict[str, Any]]:
    """Train on the rows of some patients; all other patients are the truth, of whom samples are drawn."""
    rng = np.random.default_rng(seed)
    trained, rest = _split(everyone.patient, min(most_trained, len(everyone.y) // 2), rng)
    training, others = everyone.take(trained), everyone.take(rest)
    for name in (WITH, WITHOUT):
        clf = AUCross(model, coverage=COVERAGE, random_state=seed)
        clf.fit(training.X, training.y, groups=training.patient if name == WITH else None)
        score, selected = clf.predict_proba(others.X)[:, 1], clf.select(others.X)
        truth = {
            "achieved_coverage": float(selected.mean()),
            "selective_auc": selective_auc(others.y, score, selected),
        }
        yield {
            "kind": "fit",
            "fit": name,
            "n_train": len(training.y),
            "n_patients": len(np.unique(training.patient)),
            "coverage": truth["achieved_coverage"],
            "auc": truth["selective_auc"],
            "auc_all": selective_auc(others.y, score),
            "told_auc": clf.held_out_auc(1.0).value,
        }
        if name == WITH:  # the same classifier for both kinds of intervals
            yield from _intervals(others, score, selected, truth, seed)


def _split(patient: NDArray[np.int64], n_first: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Row numbers of patients in random order: about `n_first` rows, and all others."""
    names, place = np.unique(patient, return_inverse=True)
    order = rng.permutation(len(names))[place]
    n_rows = np.cumsum(np.bincount(order, minlength=len(names)))
    n_patients = int(np.searchsorted(n_rows, n_first)) + 1
    return np.flatnonzero(order < n_patients), np.flatnonzero(order >= n_patients)


def _intervals(
    others: Patients, score: NDArray[np.float64], selected: NDArray[np.bool_], truth: dict[str, float], seed: int
) -> Iterator[dict[str, Any]]:
    """How often the interval of a sample holds the value of all others, with and without the patients' names."""
    for name, groups in ((WITH, others.patient), (WITHOUT, None)):
        found: dict[str, list[tuple[bool, float]]] = {metric: [] for metric in METRICS}
        rng = np.random.default_rng([seed, 1])  # the same samples for both
        for sample in range(N_SAMPLES):
            rows, _ = _split(others.patient, min(SAMPLED, len(others.y) // 4), rng)
            table = evaluate_selections(
                others.y[rows],
                score[rows],
                score[rows] > 0.5,
                {COVERAGE: selected[rows]},
                customers=None if groups is None else groups[rows],
                n_bootstrap=N_BOOTSTRAP,
                random_state=sample,
            )
            row = table.rows()[0]
            for metric in METRICS:
                low, high = row[f"{metric}_low"], row[f"{metric}_high"]
                found[metric].append((bool(low <= truth[metric] <= high), high - low))
        for metric, values in found.items():
            held, width = np.array(values).T
            yield {
                "kind": "interval",
                "fit": name,
                "metric": metric,
                "n_samples": N_SAMPLES,
                "held": float(held.mean()),
                "width": float(width.mean()),
            }


def page(rows: pd.DataFrame) -> str:
    """What the fit says of itself, and how often intervals hold."""
    fits = rows[rows["kind"] == "fit"]
    lines = [
        [
            _who(fewest),
            name,
            f"{found['n_train'].mean():,.0f} / {found['n_patients'].mean():,.0f}",
            with_deviation(found["coverage"]),
            with_deviation(found["auc"]),
            with_deviation(found["told_auc"]),
            with_deviation(found["auc_all"]),
            f"{signed((found['told_auc'] - found['auc_all']).mean())}",
        ]
        for (fewest, name), found in fits.groupby(["fewest", "fit"], sort=False)
    ]
    header = ["patients", "fit with", "training rows / patients", f"coverage for {COVERAGE:g}", "AUC of selected rows"]
    intervals = rows[rows["kind"] == "interval"]
    held = [
        [
            _who(fewest),
            METRICS[metric],
            f"{figure(_held(found, WITH))} ({figure(_width(found, WITH))} wide)",
            f"{figure(_held(found, WITHOUT))} ({figure(_width(found, WITHOUT))} wide)",
        ]
        for (fewest, metric), found in intervals.groupby(["fewest", "metric"], sort=False)
    ]
    n_draws = fits["draw"].nunique()
    n_intervals = n_draws * int(intervals["n_samples"].iloc[0])
    error = 2 * np.sqrt(0.95 * 0.05 / n_intervals)
    told = (
        f"Share of 95 % intervals that hold the value of all new patients, {n_intervals} intervals a line, each from "
        f"whole patients with about {SAMPLED:,} rows; two standard errors are at least {figure(error)}.\n"
    )
    means = (
        f"Means over {n_draws} draws of patients ± their deviation; new patients are all those without training rows.\n"
    )
    return "\n".join(
        [
            markdown.table([*header, "AUC of all: held-out rows say", "new patients", "too high by"], lines),
            means,
            markdown.table(["patients", "interval of", "with `groups=`", "without"], held),
            told,
        ]
    )


def _who(fewest: int) -> str:
    return "all" if fewest == 1 else f"with {fewest} stays or more"


def _held(found: pd.DataFrame, name: str) -> float:
    return float(found.loc[found["fit"] == name, "held"].mean())


def _width(found: pd.DataFrame, name: str) -> float:
    return float(found.loc[found["fit"] == name, "width"].mean())


def draw_picture(rows: pd.DataFrame) -> Figure:
    """AUC that the fit tells of itself against that of new patients, and how often intervals hold."""
    picture = Figure(figsize=(WIDTH, 3.6), layout="constrained")
    left, right = picture.subplots(1, 2)
    fits, intervals = (rows[rows["kind"] == kind] for kind in ("fit", "interval"))
    people = list(fits["fewest"].unique())
    for name, colour, shift in ((WITH, OURS, -0.12), (WITHOUT, LOSS, 0.12)):
        found = fits[fits["fit"] == name]
        x = found["fewest"].map(people.index) + shift
        left.plot(x, found["told_auc"] - found["auc_all"], "o", color=colour, label=f"fit with {name}")
        held = intervals[intervals["fit"] == name].groupby(["fewest", "metric"], sort=False)["held"].mean()
        places = np.arange(len(held)) + shift
        right.plot(places, held, "s", color=colour, markersize=8, label=f"interval with {name}")
    labels = [f"{METRICS[metric]},\n{'all' if fewest == 1 else f'{fewest} stays'}" for fewest, metric in held.index]
    left.set_xticks(range(len(people)), [_who(fewest) for fewest in people], fontsize=8)
    right.set_xticks(range(len(labels)), labels, fontsize=8)
    left.axhline(0, color="black", linewidth=0.8)
    right.axhline(0.95, color="black", linewidth=0.8, linestyle=":")
    left.set(title="AUC of held-out rows\nminus AUC of new patients", xlim=(-0.6, len(people) - 0.4))
    right.set(title="share of 95 % intervals that hold", ylim=(min(0.85, held.min() - 0.05), 1.01))
    for axes in (left, right):
        axes.grid(axis="y", color="#eeeeee")
    handles = {
        label.removeprefix("fit "): handle for handle, label in zip(*left.get_legend_handles_labels(), strict=True)
    }
    picture.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=2, frameon=False)
    return picture


TOPIC = Topic(
    name="patients",
    datasets=("diabetes130",),
    n_draws=4,
    measure=measure,
    draw=draw_picture,
    page=page,
    settings=repr((COVERAGE, MOST_TRAINED, FEWEST_STAYS, N_SAMPLES, SAMPLED, N_BOOTSTRAP)),
)
