"""Time: what becomes of a band while rows come in, what re-placement without labels keeps, and when the alarm rings."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier
from matplotlib.figure import Figure
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from aucross import AUCross, CoverageMonitor
from aucross.evaluation import selective_auc
from experiments import markdown
from experiments.columns.topics import (
    COVERAGE,
    LOSS,
    MODEL_SEED,
    MOST_TRAINED,
    OTHER,
    OURS,
    QUIET,
    WIDTH,
    Draw,
    Topic,
    with_deviation,
)
from experiments.markdown import figure
from experiments.runs import Oracles
from experiments.suite import sets
from experiments.work import Rows

DATASETS = ("elec2", "hotel_cancel", "bank_marketing", "ne_weather")
EARLIER = 0.4  # of the rows in time, from which training rows are drawn
DRAWN = 0.8  # of those, at most MOST_TRAINED
N_BATCHES = 20
IN_TIME, SHUFFLED = "in time", "shuffled"
PLACED, MOVED, SHIFTED = "as placed", "re-placed on the batch before", "the same, label_shift"


def measure(draw: Draw) -> Rows:
    """One row per order of the rows and batch; shuffled rows show what happens without drift."""
    of = sets.load(draw.dataset)
    if of.earlier is None or of.later is None:
        raise ValueError(f"{draw.dataset} must have time")
    in_time = np.concatenate((of.earlier, of.later))
    shuffled = np.random.default_rng(draw.draw).permutation(in_time)
    model = LGBMClassifier(random_state=MODEL_SEED, n_jobs=1, verbose=-1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the warnings say is in the table
        return [
            {**draw.key, "order": name, **row}
            for name, order in ((IN_TIME, in_time), (SHUFFLED, shuffled))
            for row in streamed(model, of.X, of.y, order, draw.draw)
        ]


def streamed(
    model: Any, X: pd.DataFrame, y: NDArray[np.int64], order: NDArray[np.intp], seed: int
) -> Iterator[dict[str, Any]]:
    """Fit on rows that were drawn from the first part, then let the others come in batches."""
    n_earlier = round(EARLIER * len(order))
    earlier, later = order[:n_earlier], order[n_earlier:]
    n_train = min(MOST_TRAINED, round(DRAWN * n_earlier))
    train = train_test_split(earlier, train_size=n_train, stratify=y[earlier], random_state=seed)[0]
    clf = AUCross(model, coverage=COVERAGE, random_state=seed).fit(X.iloc[train], y[train])
    monitor = CoverageMonitor(clf)
    scored = clf.scored(X.iloc[later])
    rules = {PLACED: clf, MOVED: clf, SHIFTED: clf}
    start = 0
    for batch, part in enumerate(np.array_split(np.arange(len(later)), N_BATCHES)):
        rows, labels = scored.take(part), y[later[part]]
        report = monitor.update(rows)
        shifted = clf.recalibrate(rows, label_shift=True)
        estimate = shifted.fitted_.label_shift
        yield {
            "batch": batch,
            "n": len(part),
            "first_row": start,
            "positive": float(labels.mean()),
            "positive_of_fit": float(y[train].mean()),
            "alarm": bool(report.alarm),
            "auc_all": selective_auc(labels, rows.score),
            "estimated": estimate.share,
            "estimated_low": estimate.low,
            "estimated_high": estimate.high,
            "plausible": bool(estimate.is_plausible),
            **{f"{name}: {what}": value for name, rule in rules.items() for what, value in _of(rule, rows, labels)},
        }
        start += len(part)
        rules = {PLACED: clf, MOVED: clf.recalibrate(rows), SHIFTED: shifted}


def _of(rule: Any, rows: Any, labels: NDArray[np.int64]) -> Iterator[tuple[str, float]]:
    """Coverage, AUC, and the distance to the best band of the batch at that coverage."""
    selected = rule.select(rows)
    reached = float(selected.mean())
    auc = selective_auc(labels, rows.score, selected)
    yield "coverage", reached
    yield "auc", auc
    yield "oracle_distance", Oracles(labels, rows.score).exact(reached) - auc if reached else float("nan")


def page(rows: pd.DataFrame) -> str:
    """Coverage, alarm and label shift, set by set."""
    in_time = rows[rows["order"] == IN_TIME]
    quiet = rows[rows["order"] == SHUFFLED]
    lines = [
        [
            dataset,
            *(_off(found, rule) for rule in (PLACED, MOVED, SHIFTED)),
            _off(quiet[quiet["dataset"] == dataset], PLACED),
            _alarms(found),
            _alarms(quiet[quiet["dataset"] == dataset]),
        ]
        for dataset, found in in_time.groupby("dataset", sort=False)
    ]
    header = ["set", PLACED, MOVED, SHIFTED, "shuffled rows, as placed", "alarm", "alarm, shuffled rows"]
    n_draws = rows.groupby("dataset")["draw"].nunique().min()
    told = (
        f"First columns: mean distance of a batch's coverage from {COVERAGE:g}, and in brackets the coverage of all "
        f"batches together. Means over {n_draws} draws of training rows from the first {EARLIER:.0%} of the rows in "
        f"time; the rest comes in {N_BATCHES} batches. Alarm: number of draws in which it rings (false alarms "
        "in at most 5 % of streams), and the median number of rows until then.\n"
    )
    quality = ["set", "AUC of all", *(f"AUC, {rule}" for rule in (PLACED, MOVED, SHIFTED)), "below the Oracle"]
    estimate = ["positives: fit, stream", "estimate off by", "interval holds it", "warned"]
    of_sets = list(in_time.groupby("dataset", sort=False))
    without_drift = (
        "The first of these tables has the AUC of batches and its distance to the Oracle in the same order, the second "
        "the share of positives that `label_shift=True` estimates. On shuffled rows, where its assumption is true, the "
        f"estimate is off by {figure(_error(quiet).mean())} and its interval holds the share in "
        f"{_held(quiet):.0%} of the batches.\n"
    )
    return "\n".join(
        [
            markdown.table(header, lines),
            told,
            markdown.table(quality, [[name, *_quality(found)] for name, found in of_sets]),
            markdown.table(["set", *estimate], [[name, *_estimates(found)] for name, found in of_sets]),
            without_drift,
        ]
    )


def _off(found: pd.DataFrame, rule: str) -> str:
    reached = found[f"{rule}: coverage"]
    off = (reached - COVERAGE).abs().groupby(found["draw"]).mean()
    return f"{with_deviation(off)} ({figure(np.average(reached, weights=found['n']))})"


def _alarms(found: pd.DataFrame) -> str:
    """Number of draws with an alarm, and the rows until it, counted to the end of the batch that gave it."""
    rung = found[found["alarm"]].groupby("draw").first()
    n_draws = found["draw"].nunique()
    if rung.empty:
        return f"0 of {n_draws}"
    return f"{len(rung)} of {n_draws}, {np.median(rung['first_row'] + rung['n']):,.0f} rows"


def _error(found: pd.DataFrame) -> pd.Series:
    return (found["estimated"] - found["positive"]).abs()


def _held(found: pd.DataFrame) -> float:
    return float(found["positive"].between(found["estimated_low"], found["estimated_high"]).mean())


def _quality(found: pd.DataFrame) -> list[str]:
    distances = (found[f"{rule}: oracle_distance"].mean() for rule in (PLACED, MOVED, SHIFTED))
    return [
        figure(found["auc_all"].mean()),
        *(figure(found[f"{rule}: auc"].mean()) for rule in (PLACED, MOVED, SHIFTED)),
        ", ".join(figure(distance, 4) for distance in distances),
    ]


def _estimates(found: pd.DataFrame) -> list[str]:
    return [
        f"{figure(found['positive_of_fit'].mean())}, {figure(found['positive'].mean())}",
        figure(_error(found).mean()),
        f"{_held(found):.0%} of batches",
        f"{(~found['plausible']).mean():.0%} of batches",
    ]


def draw_picture(rows: pd.DataFrame) -> Figure:
    """Coverage of each batch, set by set, and the batch in which the alarm rings."""
    names = list(rows["dataset"].unique())
    picture = Figure(figsize=(WIDTH, 2.5 * ((len(names) + 1) // 2) + 0.8), layout="constrained")
    panels = np.atleast_1d(picture.subplots((len(names) + 1) // 2, 2, sharex=True, sharey=True)).ravel()
    for axes, dataset in zip(panels, names, strict=False):
        of_set = rows[rows["dataset"] == dataset]
        found, quiet = (of_set[of_set["order"] == order] for order in (IN_TIME, SHUFFLED))
        for part, rule, colour, label in (
            (quiet, PLACED, QUIET, "as placed, rows shuffled"),
            (found, PLACED, LOSS, PLACED),
            (found, MOVED, OURS, MOVED),
        ):
            means = part.groupby("batch")[f"{rule}: coverage"].mean()
            axes.plot(means.index + 1, means, "-", marker=".", color=colour, label=label)
        rung = found[found["alarm"]].groupby("draw")["batch"].first() + 1
        if len(rung):
            axes.axvline(rung.median(), color=OTHER, linewidth=2, linestyle="--", label="alarm")
        axes.axhline(COVERAGE, color="black", linewidth=0.8, linestyle=":")
        axes.set(title=dataset, ylim=(0.45, 1.02), xlabel="batch", ylabel="share answered")
        axes.grid(color="#eeeeee")
    for axes in panels[len(names) :]:
        axes.set_visible(False)
    for axes in panels:
        axes.label_outer()
    handles = {
        label: handle for axes in panels for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    picture.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    return picture


TOPIC = Topic(
    name="over_time",
    datasets=DATASETS,
    n_draws=4,
    measure=measure,
    draw=draw_picture,
    page=page,
    settings=repr((COVERAGE, MOST_TRAINED, EARLIER, DRAWN, N_BATCHES)),
)
