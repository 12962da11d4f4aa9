"""From the rows of the suite to the tables of its page."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from experiments import markdown
from experiments.suite.methods import DEFAULT, OURS, PLUG_IN_AUC
from experiments.suite.statistics import (
    LEVEL,
    Ranking,
    corrected_p_value,
    holm,
    rank_methods,
    signed_rank_p_value,
)

MAX_PROBABILITY = "max probability"
# These have the model that is trained on all rows, or PlugInAUC itself.
NOT_HELD_OUT = (*(name for name in OURS if name != "PlugIn"), MAX_PROBABILITY)
# Where the reference cannot come nearer to the coverage of a method, they are not compared.
TOLERANCE = 0.01
# Means of a fit that differ by less are equal: no committee decides on a ten-thousandth of AUC.
EQUAL = 1e-4
SHOWN_COVERAGE = 0.8
RARE = 0.2
SIZES = ((0, 3_000), (3_000, 5_500), (5_500, 8_000), (8_000, np.inf))


def with_differences(cells: pd.DataFrame) -> pd.DataFrame:
    """Add what the tables compare.

    ``behind`` is the AUC of AUCross minus that of the method, at the coverage that the method reached; ``same_model``
    the same for PlugInAUC, whose model and held-out rows the peers have too. ``gain`` is over answering every row.
    """
    near = (cells["aucross_coverage"] - cells["coverage"]).abs() <= TOLERANCE
    plug_in_near = (cells["plug_in_coverage"] - cells["coverage"]).abs() <= TOLERANCE
    own = cells["method"] == DEFAULT
    return cells.assign(
        gain=cells["auc"] - cells["auc_all"],
        coverage_error=cells["coverage"] - cells["target_coverage"],
        # A method equals itself; the grid of targets may miss its coverage by a row.
        behind=(cells["aucross_auc"] - cells["auc"]).where(near).mask(own, 0.0),
        same_model=(cells["plug_in_auc"] - cells["auc"]).where(plug_in_near).mask(cells["method"] == PLUG_IN_AUC, 0.0),
    )


def set_table(cells: pd.DataFrame, kinds: Mapping[str, tuple[str, int]]) -> pd.DataFrame:
    """One row per set: how it is split, its size, and what abstaining does to the AUC at one coverage."""
    chosen = cells[np.isclose(cells["target_coverage"], SHOWN_COVERAGE)]
    rows = []
    for dataset, found in chosen.groupby("dataset", sort=False):
        mean = found.groupby("method")[["auc", "gain", "coverage", "behind", "oracle_distance"]].mean()
        kind, n_rows = kinds[str(dataset)]
        rows.append(
            {
                "dataset": dataset,
                "kind": kind,
                "rows": n_rows,
                "n_train": int(found["n_train"].max()),
                "prevalence": found["prevalence"].mean(),
                "n_splits": found["split"].nunique(),
                "auc_all": found.loc[found["method"] == DEFAULT, "auc_all"].mean(),
                "gain": mean.loc[DEFAULT, "gain"],
                "coverage": mean.loc[DEFAULT, "coverage"],
                "oracle_distance": mean.loc[DEFAULT, "oracle_distance"],
                "max_probability_gain": mean.loc[MAX_PROBABILITY, "gain"],
                "ahead_of_max_probability": mean.loc[MAX_PROBABILITY, "behind"],
            }
        )
    return pd.DataFrame(rows).sort_values("prevalence", ignore_index=True)


def comparisons(cells: pd.DataFrame, column: str = "behind") -> pd.DataFrame:
    """AUCross against each method, at the coverage that the method reached: wins, ties and losses over sets.

    With ``column="same_model"`` PlugInAUC against the methods that share its model and its held-out rows.

    The differences of a set are averaged over families and coverages in each split. A set is won or lost if the
    corrected test over its splits says so; all others are ties. Signed ranks compare the means over sets.
    """
    rows = []
    for method, found in cells.groupby("method", sort=False):
        if method in ((DEFAULT,) if column == "behind" else NOT_HELD_OUT):
            continue
        by_set = _by_set(found, column)
        if by_set.empty:
            continue
        tested = by_set["p_value"] < LEVEL
        rows.append(
            {
                "method": method,
                "is_ours": method in OURS,
                "n_sets": len(by_set),
                "n_splits": int(by_set["n_splits"].max()),
                "higher": int((by_set["mean"] > EQUAL).sum()),
                "equal": int((by_set["mean"].abs() <= EQUAL).sum()),
                "lower": int((by_set["mean"] < -EQUAL).sum()),
                "wins": int((tested & (by_set["mean"] > 0)).sum()),
                "losses": int((tested & (by_set["mean"] < 0)).sum()),
                "median": by_set["mean"].median(),
                "worst": by_set["mean"].min(),
                "worst_set": by_set["mean"].idxmin(),
                "p_value": signed_rank_p_value(by_set["mean"].to_numpy()),
            }
        )
    table = pd.DataFrame(rows)
    adjusted = holm(dict(zip(table["method"], table["p_value"], strict=True)))
    return table.assign(p_value=table["method"].map(adjusted))


def _by_set(found: pd.DataFrame, column: str) -> pd.DataFrame:
    """Mean difference of each set over its splits, with the corrected p-value."""
    known = found.dropna(subset=[column])
    per_split = known.groupby(["dataset", "split"])[column].mean()
    ratio = known.groupby("dataset")[["n_test", "n_train"]].mean()
    rows = {}
    for dataset, values in per_split.groupby("dataset"):
        share = ratio.loc[dataset, "n_test"] / ratio.loc[dataset, "n_train"]
        rows[dataset] = {
            "mean": values.mean(),
            "p_value": corrected_p_value(values.to_numpy(), share),
            "n_splits": len(values),
        }
    return pd.DataFrame.from_dict(rows, orient="index", columns=["mean", "p_value", "n_splits"])


def ranking(cells: pd.DataFrame) -> Ranking:
    """Average ranks over sets of all methods that ran in every family, at the coverage that each reached."""
    families = cells.groupby("method")["family"].nunique()
    everywhere = families.index[families == families.max()]
    chosen = cells[cells["method"].isin(everywhere)]
    means = chosen.pivot_table("behind", "dataset", "method").dropna()
    return rank_methods({str(name): -means[name].to_numpy() for name in means})


def expected_lead(sets: pd.DataFrame) -> pd.DataFrame:
    """Whether AUCross is ahead of max probability: on sets with rare positives, and on the others."""
    rows = []
    for name, found in (
        (f"under {markdown.share(RARE)} positive", sets[sets["prevalence"] < RARE]),
        (f"{markdown.share(RARE)} positive or more", sets[sets["prevalence"] >= RARE]),
    ):
        ahead = found["ahead_of_max_probability"]
        rows.append(
            {
                "sets": name,
                "n_sets": len(found),
                "above": int((ahead > EQUAL).sum()),
                "not_below": int((ahead >= -EQUAL).sum()),
                "below": ", ".join(found.loc[ahead < -EQUAL, "dataset"]),
                "raises_auc": int((found["gain"] > 0).sum()),
                "max_probability_lowers_auc": int((found["max_probability_gain"] < 0).sum()),
            }
        )
    return pd.DataFrame(rows)


def by_size(cells: pd.DataFrame, kinds: Mapping[str, tuple[str, int]]) -> pd.DataFrame:
    """Coverage error and distance to the Oracle by training rows; sets in time apart, where rows drift."""
    in_time = cells["dataset"].map({name: kind == "time" for name, (kind, _) in kinds.items()})
    rows = []
    for low, high in SIZES:
        inside = (cells["n_train"] > low) & (cells["n_train"] <= high) & ~in_time
        rows += _size_rows(f"{low + 1:,} to {high:,.0f}" if np.isfinite(high) else f"over {low:,}", cells[inside])
    rows += _size_rows("in time, any size", cells[in_time])
    return pd.DataFrame(rows)


def _size_rows(name: str, found: pd.DataFrame) -> list[dict[str, object]]:
    return [
        {
            "training_rows": name,
            "method": method,
            "n_sets": of_method["dataset"].nunique(),
            "coverage_bias": of_method["coverage_error"].mean(),
            "coverage_error": of_method["coverage_error"].abs().mean(),
            "oracle_distance": of_method["oracle_distance"].mean(),
        }
        for method, of_method in found.groupby("method", sort=False)
    ]


def costs(cells: pd.DataFrame) -> pd.DataFrame:
    """Median seconds of processor time of a fit, by family and method."""
    once = cells.drop_duplicates(["dataset", "family", "split", "method"])
    return once.pivot_table("seconds", "method", "family", "median", sort=False).reset_index()


def families(cells: pd.DataFrame) -> pd.DataFrame:
    """By family: gain, coverage error and lead over max probability of AUCross, over sets, splits and coverages."""
    rows = []
    for family, found in cells.groupby("family", sort=False):
        ours, other = (found[found["method"] == name] for name in (DEFAULT, MAX_PROBABILITY))
        ahead = other.groupby("dataset")["behind"].mean()
        rows.append(
            {
                "family": family,
                "gain": ours["gain"].mean(),
                "coverage_error": ours["coverage_error"].abs().mean(),
                "ahead": int((ahead > EQUAL).sum()),
                "n_sets": len(ahead),
            }
        )
    return pd.DataFrame(rows)


def losses(cells: pd.DataFrame) -> pd.DataFrame:
    """Cells of set, family and coverage where AUCross is behind: answering all rows, or a method at equal coverage."""
    by = ["dataset", "family", "target_coverage"]
    ours = cells[cells["method"] == DEFAULT].groupby(by)[["gain", "prevalence", "n_train"]].mean()
    lowered = ours[ours["gain"] < 0].reset_index().rename(columns={"gain": "difference"}).assign(than="answering all")
    others = cells[~cells["method"].isin(OURS)].groupby(["method", *by])[["behind", "prevalence", "n_train"]].mean()
    behind = others[others["behind"] < -EQUAL].reset_index().rename(columns={"behind": "difference", "method": "than"})
    return pd.concat([lowered, behind]).sort_values("difference", ignore_index=True)
