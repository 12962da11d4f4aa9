"""Someone else's task: the selective deferral of MLS-Bench on Adult, rebuilt from its public description.

A base classifier is fixed. A policy sees its probabilities and the groups of calibration rows, and accepts exactly 80 %
of the test rows. Judged are the errors among accepted rows, overall and in the worst group, and the gap between the
groups' shares of deferred rows. The groups are sex and race together, ten of them; the smallest has some 25 calibration
rows.

The description names neither the base classifier nor the sizes of the parts; here it is LightGBM, three fifths of the
rows train, one fifth calibrates and one fifth tests, so the published figures can be compared in size only.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from aucross import AUCross, SCross
from aucross.core import share_of_groups
from experiments import markdown
from experiments.datasets import load_adult
from experiments.markdown import figure
from experiments.work import Named, Work, results

COVERAGE = 0.8
N_SPLITS = 10
# Groups with fewer calibration rows share a band; below 20 rows the library places none.
FEWEST_ROWS = (100, 20)
# As published with the task, on Adult: test errors, and the gap between groups.
PUBLISHED_ERRORS = 1_238
PUBLISHED_GAPS = {"confidence": 0.239, "group thresholds": 0.161}
MEASURES = ("errors", "selective_risk", "worst_group_risk", "deferral_gap", "auc")


class Part(NamedTuple):
    """Rows with their labels and groups."""

    X: pd.DataFrame
    y: NDArray[np.int64]
    groups: NDArray[np.str_]


@dataclass(frozen=True, order=True)
class DeferralSplit(Named):
    """One random split of Adult."""

    split: int


def deferral_works(n_splits: int = N_SPLITS) -> list[Work]:
    """The pieces of work, kept under the versions that they depend on."""
    libraries = repr([f"{name} {version(name)}" for name in ("lightgbm", "scikit-learn", "numpy")])
    settings = f"{libraries}, bands of {FEWEST_ROWS} rows, and shares"
    return [Work("deferral", DeferralSplit(split), run_split, settings) for split in range(n_splits)]


def run_split(work: DeferralSplit) -> list[dict[str, Any]]:
    """One row per policy."""
    dataset = load_adult(features="all")
    assert isinstance(dataset.X, pd.DataFrame)
    X, y, groups, seed = dataset.X, dataset.y, groups_of(dataset.X), work.split
    train, rest = train_test_split(np.arange(len(y)), test_size=0.4, stratify=y, random_state=seed)
    held, test = train_test_split(rest, test_size=0.5, stratify=y[rest], random_state=seed)
    model = LGBMClassifier(random_state=42, n_jobs=1, verbose=-1).fit(X.iloc[train], y[train])
    calibration, tested = (Part(X.iloc[part], y[part], groups[part]) for part in (held, test))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a band of a small group rests on few rows
        accepted = policies(model, calibration, tested)
    return [{**work.key, "policy": name, **judged(model, tested, rows)} for name, rows in accepted.items()]


def groups_of(X: pd.DataFrame) -> NDArray[np.str_]:
    """Sex and race of each row, from their one-hot columns."""
    parts = [_names(X, prefix) for prefix in ("sex_", "race_")]
    return np.array([" ".join(pair) for pair in zip(*parts, strict=True)])


def _names(X: pd.DataFrame, prefix: str) -> NDArray[np.str_]:
    columns = [column for column in X if column.startswith(prefix)]
    return np.array([column.removeprefix(prefix) for column in columns])[X[columns].to_numpy().argmax(axis=1)]


def policies(model: Any, held: Part, test: Part) -> Mapping[str, NDArray[np.bool_]]:
    """What each policy accepts: always the same number of rows."""
    n_deferred = len(test.y) - round(COVERAGE * len(test.y))
    confidence, held_confidence = (model.predict_proba(part.X).max(axis=1) for part in (test, held))
    thresholds = {name: np.quantile(held_confidence[held.groups == name], 1 - COVERAGE) for name in set(held.groups)}
    over_own = confidence >= np.array([thresholds.get(name, 0.0) for name in test.groups])
    found = {
        "confidence": _first(np.lexsort((-confidence,)), n_deferred),
        # As the task ranks: accepted rows first, then the more confident.
        "group thresholds": _first(np.lexsort((-confidence, ~over_own)), n_deferred),
    }
    # The model is never trained again, so every calibration row places the bands.
    for name, method in (("SCross", SCross), ("AUCross", AUCross)):
        clf = method(FrozenEstimator(model), coverage=COVERAGE, random_state=0)
        found[f"{name}, capacity"] = clf.fit(held.X, held.y).select(test.X, capacity=n_deferred)
        for fewest in FEWEST_ROWS:
            held_groups, test_groups = (with_shared(part.groups, held.groups, fewest) for part in (held, test))
            per_group = clf.fit(held.X, held.y, band_groups=held_groups)
            found[f"{name}, bands of {fewest} rows and capacity"] = per_group.select(
                test.X, capacity=n_deferred, band_groups=test_groups
            )
        found[f"{name}, capacity shared by group"] = _shared(clf.fit(held.X, held.y), test, n_deferred)
    return found


def _shared(clf: Any, test: Part, n_deferred: int) -> NDArray[np.bool_]:
    """One rule for all; each group of the batch gets reviews by its size, so no group needs calibration rows."""
    names, sizes = np.unique(test.groups, return_counts=True)
    accepted = np.ones(len(test.y), dtype=bool)
    for name, share in zip(names, share_of_groups(sizes.tolist(), n_deferred), strict=True):
        rows = np.flatnonzero(test.groups == name)
        accepted[rows] = clf.select(test.X.iloc[rows], capacity=share)
    return accepted


def with_shared(groups: NDArray[np.str_], held: NDArray[np.str_], fewest: int) -> NDArray[Any]:
    """Groups with too few calibration rows under one name, with the next larger ones if they are still too few."""
    names, counts = np.unique(held, return_counts=True)
    by_size = np.argsort(counts, kind="stable")
    n_small = int((counts < fewest).sum())
    while 0 < n_small < len(names) and counts[by_size[:n_small]].sum() < fewest:
        n_small += 1
    known = np.isin(groups, names[by_size[n_small:]])
    return np.where(known, groups, "small groups")


def _first(order: NDArray[np.intp], n_deferred: int) -> NDArray[np.bool_]:
    accepted = np.ones(len(order), dtype=bool)
    accepted[order[len(order) - n_deferred :]] = False
    return accepted


def judged(model: Any, test: Part, accepted: NDArray[np.bool_]) -> dict[str, float]:
    """The measures of the task, and the AUC of the accepted rows."""
    score = model.predict_proba(test.X)[:, 1]
    wrong = (score > 0.5) != test.y
    by_group = pd.DataFrame({"group": test.groups, "wrong": wrong, "deferred": ~accepted})
    deferred = by_group.groupby("group")["deferred"].mean()
    return {
        "errors": float(wrong[accepted].sum()),
        "selective_risk": float(wrong[accepted].mean()),
        "worst_group_risk": float(by_group[accepted].groupby("group")["wrong"].mean().max()),
        "deferral_gap": float(deferred.max() - deferred.min()),
        "auc": float(roc_auc_score(test.y[accepted], score[accepted])),
        "all_errors": float(wrong.sum()),
        "n_test": float(len(test.y)),
        "coverage": float(accepted.mean()),
    }


def deferral_page(rows: pd.DataFrame) -> str:
    """The table of the page: means over splits, and what is published."""
    means, spread = (rows.groupby("policy", sort=False)[[*MEASURES]].agg(how) for how in ("mean", "std"))
    lines = []
    for name, row in means.iterrows():
        lines.append(
            [
                name,
                f"{row['errors']:.0f}",
                figure(row["selective_risk"], 4),
                figure(row["worst_group_risk"], 4),
                f"{figure(row['deferral_gap'])} ± {figure(spread.loc[name, 'deferral_gap'])}",
                figure(row["auc"], 4),
                figure(PUBLISHED_GAPS.get(str(name))),
            ]
        )
    header = ["policy", "errors", "selective risk", "risk of the worst group", "deferral gap", "AUC of accepted"]
    table = markdown.table([*header, "published gap"], lines)
    every = rows.iloc[0]
    return (
        f"{table}\nMeans over {rows['split'].nunique()} splits of Adult, {every['n_test']:,.0f} test rows, of which "
        f"{COVERAGE:.0%} are accepted; without deferral the model errs on {rows['all_errors'].mean():,.0f}; "
        f"published are {PUBLISHED_ERRORS:,} test errors. Bands of 100 rows: groups with fewer calibration rows share "
        "one band, and the reviews that it gets. Capacity shared by group: one rule for all rows, and reviews of the "
        "batch by the size of each group. ± is the deviation between splits.\n"
    )


def write_deferral(works: Sequence[Work], output: Path) -> None:
    """Write the table and its part of the page."""
    rows = pd.DataFrame(results(works))
    rows.to_csv(output / "deferral.csv", index=False, float_format="%.5g")
    (output / "deferral.md").write_text(deferral_page(rows), encoding="utf-8")
