"""The parts of the page about the suite, written from its tables alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd

from experiments import markdown
from experiments.markdown import figure, share, signed
from experiments.suite.methods import DEFAULT
from experiments.suite.protocol import COVERAGES, MOST_TESTED, MOST_TRAINED, N_SPLITS, N_SPLITS_OF_SLOW_PEERS
from experiments.suite.tables import EQUAL, MAX_PROBABILITY, SHOWN_COVERAGE

Evidence = Mapping[str, pd.DataFrame]
N_LOSSES = 15
SHOWN_BY_SIZE = (DEFAULT, "AUCross published", "AUCross judged", "PlugInAUC", "SCross", "PlugIn")


def parts(evidence: Evidence, cells: pd.DataFrame, n_planned: int) -> dict[str, list[str]]:
    """Each part by the name of its file."""
    n_cells = len(cells.drop_duplicates(["dataset", "family", "split"]))
    return {
        "done": list(_done(evidence["sets"], n_cells, n_planned)),
        "answer": list(_answer(evidence, cells)),
        "wins": list(_wins(evidence)),
        "coverage": list(_coverage(evidence["by_size"])),
        "families": list(_families(evidence["families"])),
        "losses": list(_losses(evidence)),
        "costs": list(_costs(evidence["costs"])),
        "sets": list(_sets(evidence["sets"])),
    }


def _done(sets: pd.DataFrame, n_cells: int, n_planned: int) -> Iterator[str]:
    fewest, most = sets["n_splits"].min(), sets["n_splits"].max()
    splits = f"{most}" if fewest == most else f"{fewest} to {most}"
    if n_cells == n_planned:
        yield f"All {n_planned:,} cells are done: {len(sets)} sets, {splits} splits each.\n"
        return
    yield (
        f"**Not complete:** {n_cells:,} of {n_planned:,} cells are done, {len(sets)} sets with {splits} of "
        f"{N_SPLITS} splits. `make suite` goes on from there. With so few splits, tests within one set find little; "
        "read the counts of means instead.\n"
    )


def _answer(evidence: Evidence, cells: pd.DataFrame) -> Iterator[str]:
    sets, against = evidence["sets"], evidence["comparisons"].set_index("method")
    raised, n_sets = int((sets["gain"] > 0).sum()), len(sets)
    lowered = int((sets["max_probability_gain"] < 0).sum())
    yield (
        f"At coverage {SHOWN_COVERAGE:g}, over all families, AUCross raises the AUC on {raised} of {n_sets} sets, by "
        f"{figure(sets['gain'].median())} on the median set. Max probability, the usual rule, lowers it on {lowered}.\n"
    )
    yield "Compared with max probability at equal coverage (the aims are listed on the page [Evidence](index.md)):\n"
    rows = [
        [
            row.sets,
            row.n_sets,
            f"{row.above} ({share(row.above / max(row.n_sets, 1))})",
            row.not_below,
            row.below or "none",
        ]
        for row in evidence["expected"].itertuples()
    ]
    yield markdown.table(["sets with", "number", "AUCross above", "not below", "below on"], rows)
    nearest = against[~against["is_ours"]].sort_values("median").iloc[0]
    yield (
        f"The peer that comes nearest is {nearest.name}: AUCross is ahead on {nearest['higher']} sets and behind on "
        f"{nearest['lower']}; on the median set its AUC differs by {signed(nearest['median'], 4)}.\n"
    )
    ours = cells[cells["method"] == DEFAULT]
    yield (
        f"On average the coverage reached is {figure(ours['coverage_error'].abs().mean(), 4)} away from the one asked "
        f"for; the mean difference with its sign is {signed(ours['coverage_error'].mean(), 4)}.\n"
    )


def _wins(evidence: Evidence) -> Iterator[str]:
    for name, title in (
        ("comparisons", "AUCross against each method, at the coverage that the method reached"),
        ("same_model", "PlugInAUC against the methods that have its model and its held-out rows"),
    ):
        yield f"### {title}\n"
        rows = [
            [
                row.method,
                f"{row.higher} / {row.equal} / {row.lower}",
                f"{row.wins} / {row.n_sets - row.wins - row.losses} / {row.losses}",
                signed(row.median, 4),
                f"{signed(row.worst, 4)} ({row.worst_set})",
                "< .001" if row.p_value < 0.001 else figure(row.p_value),
            ]
            for row in evidence[name].itertuples()
        ]
        header = ["method", "ahead / equal / behind", "won / tied / lost", "median", "worst set", "signed ranks"]
        yield markdown.table(header, rows)
    yield (
        "Ahead and behind count sets by the mean over families, coverages and splits; equal is within "
        f"{EQUAL:g} of AUC. Won and lost count sets where the corrected resampled t-test over splits (Nadeau and "
        "Bengio 2003) says so at 5 %. The last column is Wilcoxon's test over sets, adjusted by Holm for the number of "
        "methods. "
        "A positive difference is a lead of AUCross, or of PlugInAUC in the second table. The policy of "
        f"calibrated-explanations ran in the first {N_SPLITS_OF_SLOW_PEERS} splits only, and AUCGate with logistic "
        "regression only.\n"
    )


def _coverage(by_size: pd.DataFrame) -> Iterator[str]:
    for column, title, digits in (
        ("coverage_error", "Mean distance of the coverage reached from the one asked", 4),
        ("coverage_bias", "The same with its sign", 4),
        ("oracle_distance", "Mean AUC below the Oracle", 4),
    ):
        yield f"{title}\n"
        wide = by_size[by_size["method"].isin(SHOWN_BY_SIZE)].pivot_table(
            column, ["training_rows", "n_sets"], "method", sort=False
        )
        rows = [
            [size, n_sets, *(figure(values.get(name, np.nan), digits) for name in SHOWN_BY_SIZE)]
            for (size, n_sets), values in wide.iterrows()
        ]
        yield markdown.table(["training rows", "sets", *SHOWN_BY_SIZE], rows)


def _families(families: pd.DataFrame) -> Iterator[str]:
    rows = [
        [row.family, signed(row.gain, 4), figure(row.coverage_error, 4), f"{row.ahead} of {row.n_sets}"]
        for row in families.itertuples()
    ]
    yield markdown.table(["family", "AUC gained", "coverage off by", f"ahead of {MAX_PROBABILITY}"], rows)


def _losses(evidence: Evidence) -> Iterator[str]:
    losses, sets = evidence["losses"], evidence["sets"]
    n_lowered = int((losses["than"] == "answering all").sum())
    yield (
        f"Of all combinations of a set, a family and one of {len(COVERAGES)} coverages, AUCross has a lower AUC than "
        f"answering all rows in {n_lowered}. Sets on which its mean at coverage {SHOWN_COVERAGE:g} is lower: "
        f"{', '.join(sets.loc[sets['gain'] < 0, 'dataset']) or 'none'}. The largest losses, each method once per "
        "set:\n"
    )
    largest = losses.drop_duplicates(["dataset", "than"]).head(N_LOSSES)
    rows = [
        [
            row.dataset,
            row.family,
            figure(row.target_coverage, 2),
            f"{row.than}",
            signed(row.difference, 4),
            f"{row.n_train:,.0f}",
            share(row.prevalence),
        ]
        for row in largest.itertuples()
    ]
    yield markdown.table(["set", "family", "coverage", "behind", "by", "training rows", "positive"], rows)


def _costs(costs: pd.DataFrame) -> Iterator[str]:
    names = [name for name in costs if name != "method"]
    rows = [[row["method"], *(_seconds(row[name]) for name in names)] for _, row in costs.iterrows()]
    yield markdown.table(["method", *names], rows)


def _seconds(value: float) -> str:
    return "-" if pd.isna(value) else f"{value:.2f}"


def _sets(sets: pd.DataFrame) -> Iterator[str]:
    rows = [
        [
            row.dataset,
            row.kind,
            f"{row.rows:,}",
            f"{row.n_train:,}",
            share(row.prevalence, 1),
            row.n_splits,
            figure(row.auc_all),
            signed(row.gain),
            signed(row.max_probability_gain),
            figure(row.coverage),
            figure(row.oracle_distance, 4),
        ]
        for row in sets.itertuples()
    ]
    header = ["set", "split", "rows", "trained on", "positive", "splits", "AUC of all", "AUCross", MAX_PROBABILITY]
    yield markdown.table([*header, "coverage", "to the Oracle"], rows)
    yield (
        f"AUCross and {MAX_PROBABILITY}: change of the AUC at coverage {SHOWN_COVERAGE:g}, mean over families and "
        "splits. "
        f"At most {MOST_TRAINED:,} rows train (random forests 4,000) and {MOST_TESTED:,} test.\n"
    )
