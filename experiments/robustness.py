"""Means, intervals and win counts over random splits, and what the coverage depends on."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import stats

from experiments.methods import SPLIT_METHODS

CELL = ["dataset", "target_coverage"]
MEASURES = ("coverage", "selective_auc", "selective_accuracy", "positive_rate", "oracle_distance")


def over_splits(runs: pd.DataFrame, data: pd.DataFrame) -> pd.DataFrame:
    """Mean of each measure over random splits with a 95 % interval, per data set, coverage and method.

    Splits share rows, so their spread understates the variance; Nadeau and Bengio's correction (2003) adds the ratio of
    test to training rows to 1/n in the variance of the mean.
    """
    chosen = _random_splits(runs)
    long = chosen.melt([*CELL, "method", "seed"], MEASURES, "metric")
    grouped = long.groupby([*CELL, "method", "metric"], sort=False)["value"]
    summary = grouped.agg(n_random_splits="size", mean="mean", sd="std").reset_index()
    sizes = data.set_index("dataset")
    ratio = summary["dataset"].map(sizes["n_test"] / sizes["n_train"])
    error = summary["sd"] * np.sqrt(1 / summary["n_random_splits"] + ratio)
    half = stats.t.ppf(0.975, summary["n_random_splits"] - 1) * error
    return summary.assign(low=summary["mean"] - half, high=summary["mean"] + half)


def coverage_over_splits(runs: pd.DataFrame) -> pd.DataFrame:
    """Per data set and method, over random splits and coverages: V, the mean distance from the target, and the bias."""
    chosen = _random_splits(runs)
    error = chosen["coverage"] - chosen["target_coverage"]
    grouped = chosen.assign(violation=error.abs(), bias=error).groupby(["dataset", "method"], sort=False)
    return grouped[["violation", "bias"]].mean().reset_index()


def nearest_to_oracle(runs: pd.DataFrame) -> pd.DataFrame:
    """Per cell the mean distance to the Oracle of optimal placement and of both published ones, in 1e-4 of AUC.

    ``closer`` says whether optimal placement is closer than both on average, ``splits_closer`` in how many splits.
    """
    chosen = _random_splits(runs)
    wide = chosen.pivot_table("oracle_distance", [*CELL, "seed"], "method") * 1e4
    published = wide[["AUCross", "PlugInAUC"]].min(axis=1)
    wide["splits_closer"] = (wide["AUCross optimal"] < published).astype(float)
    cells = wide.groupby(CELL)[["AUCross", "PlugInAUC", "AUCross optimal", "PlugInAUC optimal"]].mean()
    cells["closer"] = cells["AUCross optimal"] < cells[["AUCross", "PlugInAUC"]].min(axis=1)
    cells["splits_closer"] = wide.groupby(CELL)["splits_closer"].sum().astype(int)
    cells["n_random_splits"] = wide.groupby(CELL).size()
    return cells.reset_index().sort_values(CELL, ascending=[True, False], ignore_index=True)


def win_counts(runs: pd.DataFrame) -> pd.DataFrame:
    """In how many (data set, coverage, split) cells a method has the highest AUC, and the coverage nearest to c."""
    chosen = _random_splits(runs)
    chosen = chosen.assign(miss=-(chosen["coverage"] - chosen["target_coverage"]).abs())
    counts = {}
    for name, column in {"selective_auc": "selective_auc", "coverage": "miss"}.items():
        best = chosen.groupby([*CELL, "seed"])[column].transform("max")
        counts[name] = chosen["method"][chosen[column] >= best - 1e-12].value_counts()
    table = pd.DataFrame(counts).reindex(list(SPLIT_METHODS)).fillna(0).astype(int)
    return table.assign(cells=len(chosen) // chosen["method"].nunique()).rename_axis("method").reset_index()


def gate_gain(runs: pd.DataFrame) -> pd.DataFrame:
    """The gate against the Oracle of its own classifier's score, over random splits.

    ``beyond_oracle`` is the AUC of the gate minus the highest that any band on the score leaves at the coverage that
    the gate reached; ``beyond_band`` is minus the AUC of optimal placement.
    """
    chosen = runs[(runs["split"] == "random") & (runs["cv"] == 5) & (runs["classifier"] != "LightGBM")]
    keys = ["classifier", *CELL, "seed"]
    wide = chosen.pivot_table(["selective_auc", "oracle_distance", "coverage"], keys, "method")
    gains = pd.DataFrame(
        {
            "coverage": wide["coverage", "AUCGate"],
            "selective_auc": wide["selective_auc", "AUCGate"],
            "beyond_oracle": -wide["oracle_distance", "AUCGate"],
            "beyond_band": wide["selective_auc", "AUCGate"] - wide["selective_auc", "AUCross optimal"],
        }
    )
    summary = gains.groupby(keys[:-1]).mean()
    sizes = gains.groupby(keys[:-1]).size().rename("n_random_splits")
    return summary.join(sizes).reset_index()


def coverage_errors(runs: pd.DataFrame) -> pd.DataFrame:
    """Mean coverage error per data set, classifier, number of folds and method, over random splits and coverages.

    ``error`` keeps its sign (negative: fewer rows are accepted than asked); ``standard_error`` is over splits.
    """
    chosen = runs[(runs["split"] == "random") & runs["n_train"].isna()]
    # Only splits that were run with other folds and classifiers too, so that all figures are of the same rows.
    varied = chosen.loc[(chosen["cv"] != 5) | (chosen["classifier"] != "LightGBM"), "seed"]
    chosen = chosen[chosen["seed"].isin(varied)]
    chosen = chosen.assign(error=chosen["coverage"] - chosen["target_coverage"])
    keys = ["dataset", "classifier", "cv", "method"]
    per_split = chosen.groupby([*keys, "seed"], sort=False)["error"].mean()
    grouped = per_split.groupby(keys, sort=False)
    summary = grouped.agg(error="mean", standard_error="sem", n_random_splits="size").reset_index()
    absolute = chosen.assign(error=chosen["error"].abs()).groupby(keys, sort=False)["error"].mean()
    return summary.merge(absolute.rename("absolute_error").reset_index(), on=keys)


def learning_curve(runs: pd.DataFrame) -> pd.DataFrame:
    """Mean distance to the Oracle and coverage error per number of training rows, over coverages and splits."""
    chosen = runs[(runs["split"] == "random") & (runs["classifier"] == "LightGBM") & (runs["cv"] == 5)]
    # Splits and data sets that were run with all sizes, so that every point has the same test rows.
    fewer = chosen[chosen["n_train"].notna()]
    chosen = chosen[chosen["seed"].isin(fewer["seed"]) & chosen["dataset"].isin(fewer["dataset"])]
    chosen = chosen[chosen["method"].isin(SPLIT_METHODS)]
    chosen = chosen.assign(
        error=chosen["coverage"] - chosen["target_coverage"], n_train=chosen["n_train"].fillna(np.inf)
    )
    keys = ["dataset", "n_train", "method"]
    per_split = chosen.groupby([*keys, "seed"])[["oracle_distance", "error", "selective_auc"]].mean()
    means = per_split.groupby(keys).mean()
    errors = per_split.groupby(keys).sem().add_suffix("_standard_error")
    return means.join(errors).reset_index()


def oracle_optimism(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean distances on samples of the test rows, in 1e-4: the fitted band's, and the Oracle's optimism.

    Standard errors are over samples, which overlap where they are large.
    """
    samples = rows.groupby(["dataset", "n_test", "seed", "draw"])[["fitted_distance", "optimism"]].mean() * 1e4
    grouped = samples.groupby(["dataset", "n_test"])
    return grouped.mean().join(grouped.sem().add_suffix("_standard_error")).reset_index()


def _random_splits(runs: pd.DataFrame) -> pd.DataFrame:
    """The robustness study: LightGBM, five folds, all training rows."""
    chosen = (runs["split"] == "random") & (runs["classifier"] == "LightGBM") & (runs["cv"] == 5)
    return runs[chosen & runs["n_train"].isna() & runs["method"].isin(SPLIT_METHODS)]
