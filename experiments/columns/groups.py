"""Groups: who goes to a person, with one band for all and with a band for each group."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier
from matplotlib.figure import Figure
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from aucross import AUCross, evaluate_groups
from aucross.evaluation import BaseRateGuard
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
    column,
    with_deviation,
)
from experiments.markdown import figure
from experiments.suite import sets
from experiments.work import Rows

# The column of each set, and groups that are too small to judge, which join another.
COLUMNS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "compas": ("race", {"Asian": "Other", "Native American": "Other"}),
    "dutch_census": ("sex", {}),
    "law_school_bar": ("race", {}),
}
MOST_TESTED = 10_000
N_BOOTSTRAP = 200
ALL_ROWS = "(all rows)"
ONE, EACH = "one band", "a band each"
GAPS = {"achieved_coverage": "share answered", "selective_auc": "AUC", "positives_for_review": "positives to a person"}


def measure(draw: Draw) -> Rows:
    """One row per rule and group, one per rule for all rows, and one per rule and gap."""
    of = sets.load(draw.dataset)
    name, joined = COLUMNS[draw.dataset]
    groups = column(draw.dataset, name).astype("str").replace(dict(joined)).to_numpy(dtype=str)
    n_train = min(MOST_TRAINED, round(0.75 * len(of.y)))
    train, rest = train_test_split(np.arange(len(of.y)), train_size=n_train, stratify=of.y, random_state=draw.draw)
    test = rest[:MOST_TESTED]
    model = LGBMClassifier(random_state=MODEL_SEED, n_jobs=1, verbose=-1)
    return [
        {**draw.key, "n_train": len(train), "n_test": len(test), **row}
        for row in judged(model, Grouped(of.X, of.y, groups), train, test, draw.draw)
    ]


class Grouped(NamedTuple):
    """Rows with their labels and groups."""

    X: pd.DataFrame
    y: NDArray[np.int64]
    groups: NDArray[np.str_]


def judged(
    model: Any, rows: Grouped, train: NDArray[np.intp], test: NDArray[np.intp], seed: int
) -> Iterator[dict[str, Any]]:
    """Both rules on the same rows, with what the report on groups says of them."""
    X, y, groups = rows
    for rule in (ONE, EACH):
        fitted, decided = ({}, {}) if rule == ONE else ({"band_groups": groups[train]}, {"band_groups": groups[test]})
        clf = AUCross(model, coverage=COVERAGE, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that the band of a small group borrows rows
            clf.fit(X.iloc[train], y[train], **fitted)
            scored = clf.scored(X.iloc[test], **decided)
        report = evaluate_groups(clf, scored, y[test], groups[test], (1.0, COVERAGE))
        guard = BaseRateGuard().check_groups(y[test], clf.select(scored), groups[test], warn=False)
        yield from _of_groups(rule, report, guard)
        yield from _of_gaps(rule, report)


def _of_groups(rule: str, report: Any, guard: Mapping[Any, Any]) -> Iterator[dict[str, Any]]:
    rows = report.rows()
    of_all = {row["group"]: row["selective_auc"] for row in rows if row["target_coverage"] == 1.0}
    for row in rows:
        if row["target_coverage"] == 1.0:
            continue
        check = guard.get(row["group"])
        yield {
            "kind": "group",
            "rule": rule,
            "name": row["group"],
            "rows": row["n"],
            "value": row["achieved_coverage"],
            "auc": row["selective_auc"],
            "auc_all": of_all[row["group"]],
            "for_review": row["positives_for_review"],
            "warned": bool(check is not None and not check.ok),
        }


def _of_gaps(rule: str, report: Any) -> Iterator[dict[str, Any]]:
    for row in report.gaps().rows():
        if row["metric"] in GAPS:
            yield {
                "kind": "gap",
                "rule": rule,
                "name": row["metric"],
                "target_coverage": row["target_coverage"],
                "value": row["gap"],
                "low": row["gap_low"],
                "high": row["gap_high"],
                "by_chance": row["gap_by_chance"],
            }


def page(rows: pd.DataFrame) -> str:
    """Gaps before and after, each with what chance gives, and what a band each costs."""
    gaps = rows[(rows["kind"] == "gap") & np.isclose(rows["target_coverage"].fillna(0), COVERAGE)]
    lines = []
    for dataset in rows["dataset"].unique():
        for rule in (ONE, EACH):
            found = gaps[(gaps["dataset"] == dataset) & (gaps["rule"] == rule)]
            lines.append([f"{dataset} by {COLUMNS[dataset][0]}", rule, *(_gap(found, name) for name in GAPS)])
    header = ["set", "rule", *(f"gap in {label}" for label in GAPS.values())]
    n_draws = rows.groupby("dataset")["draw"].nunique().min()
    told = (
        f"At coverage {COVERAGE:g}, means over {n_draws} draws. A gap is the highest group minus the lowest. In "
        "brackets what equal groups of these sizes stay under in 95 of 100 samples, and in how many draws the gap is "
        "beyond it.\n"
    )
    of_groups = rows[rows["kind"] == "group"]
    shares = markdown.table(
        ["set", "group", "rows", "share to a person: one band", EACH, "AUC of all", "AUC: one band", EACH],
        _group_lines(of_groups),
    )
    folded = f"<details>\n<summary>Every group</summary>\n\n{shares}\n</details>\n"
    return "\n".join([markdown.table(header, lines), told, *_costs(of_groups), folded])


def _gap(found: pd.DataFrame, name: str) -> str:
    found = found[found["name"] == name]
    beyond = int((found["value"] > found["by_chance"]).sum())
    chance = figure(found["by_chance"].mean())
    return f"{figure(found['value'].mean())} (chance {chance}; {beyond} of {len(found)})"


def _group_lines(rows: pd.DataFrame) -> Iterator[list[str]]:
    means = rows.groupby(["dataset", "name", "rule"], sort=False)[["rows", "value", "auc", "auc_all"]].mean()
    for dataset, group in means.index.droplevel("rule").unique():
        one, each = (means.loc[(dataset, group, rule)] for rule in (ONE, EACH))
        yield [
            dataset,
            group,
            f"{one['rows']:,.0f}",
            figure(1 - one["value"]),
            figure(1 - each["value"]),
            figure(one["auc_all"]),
            figure(one["auc"]),
            figure(each["auc"]),
        ]


def _costs(rows: pd.DataFrame) -> Iterator[str]:
    every = rows[rows["name"] == ALL_ROWS].pivot(index=["dataset", "draw"], columns="rule", values=["auc", "value"])
    for dataset, found in every.groupby(level="dataset"):
        difference = found["auc", EACH] - found["auc", ONE]
        of_set = rows[(rows["dataset"] == dataset) & (rows["name"] != ALL_ROWS)]
        warned = of_set[of_set["warned"]].groupby(["rule", "name"]).size()
        told = "; ".join(f"{name} in {number} draws with {rule}" for (rule, name), number in warned.items())
        yield (
            f"- `{dataset}`: a band for each group changes the AUC of all selected rows by "
            f"{with_deviation(difference, 4, sign=True)}. The base-rate guard "
            f"warns of {told or 'no group'}.\n"
        )


def draw_picture(rows: pd.DataFrame) -> Figure:
    """Share that goes to a person and AUC of the rest, group by group."""
    found = rows[(rows["kind"] == "group") & (rows["name"] != ALL_ROWS)]
    names = found[["dataset", "name"]].drop_duplicates().itertuples(index=False)
    labels = [f"{dataset}: {name}" for dataset, name in names]
    picture = Figure(figsize=(WIDTH, 0.34 * len(labels) + 1.5), layout="constrained")
    left, right = picture.subplots(1, 2, sharey=True)
    place = {label: len(labels) - 1 - number for number, label in enumerate(labels)}
    at = (found["dataset"] + ": " + found["name"]).map(place)
    for rule, colour, marker, shift in ((ONE, LOSS, "o", 0.14), (EACH, OURS, "s", -0.14)):
        of_rule = found["rule"] == rule
        for axes, values in ((left, 1 - found["value"]), (right, found["auc"])):
            axes.plot(values[of_rule], at[of_rule] + shift, marker, color=colour, alpha=0.25, markersize=3.5)
            means = values[of_rule].groupby(at[of_rule]).mean()
            axes.plot(means, means.index + shift, marker, color=colour, markersize=7, label=rule)
    means = found["auc_all"].groupby(at).mean()
    right.plot(means, means.index, "|", color="black", markersize=14, label="all rows, nothing rejected")
    left.axvline(1 - COVERAGE, color="black", linewidth=0.8, linestyle=":")
    left.set_yticks(list(place.values()), list(place), fontsize=8)
    left.set(title="share that goes to a person")
    right.set(title="AUC of the selected rows of the group")
    for axes in (left, right):
        axes.grid(axis="x", color="#eeeeee")
    picture.legend(*right.get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    return picture


TOPIC = Topic(
    name="groups",
    datasets=tuple(COLUMNS),
    n_draws=6,
    measure=measure,
    draw=draw_picture,
    page=page,
    settings=repr((COVERAGE, MOST_TRAINED, MOST_TESTED, N_BOOTSTRAP, sorted(COLUMNS.items(), key=str))),
)
