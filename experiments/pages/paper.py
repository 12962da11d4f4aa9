"""Pages of the paper's tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pandas as pd

from experiments import markdown, tables
from experiments.markdown import figure, share, signed
from experiments.methods import LEARNT, METHODS, OURS, PUBLISHED, RECALIBRATED, SPLIT_METHODS, TABLE_METHODS
from experiments.pages.grid import LEGEND, TITLES, Evidence, budget_note, grid, in_order
from experiments.protocol import CLASSIFIERS, COVERAGES, RANDOM_SPLIT_DATASETS


def data_page(evidence: Evidence) -> Iterator[str]:
    """Table 1."""
    data = evidence["data"]
    rows = [
        [row.dataset]
        + [
            _beside(getattr(row, name), getattr(row, f"paper_{name}"))
            for name in ("features", "n_train", "n_test", "positive_rate")
        ]
        for row in data.itertuples()
    ]
    yield "Ours, in brackets the paper's where it differs.\n"
    yield markdown.table(["data", "features", "training rows", "test rows", "positive rate of test rows"], rows)
    for row in data.itertuples():
        yield f"- **{row.dataset}**: {row.differences or 'The same rows and columns.'}"
    yield ""


def _beside(ours: object, paper: object) -> str:
    texts = [_plain(value) for value in (ours, paper)]
    return texts[0] if texts[1] in (texts[0], "-") else f"{texts[0]} ({texts[1]})"


def _plain(value: object) -> str:
    if value is None or value != value:  # noqa: PLR0124 - NaN is not itself
        return "-"
    if isinstance(value, float) and value < 1:
        return figure(value)
    return value if isinstance(value, str) else f"{int(value):,}"  # type: ignore[call-overload]


def oracle_page(evidence: Evidence) -> Iterator[str]:
    """Table 2."""
    cells = evidence["cells"]
    cells = cells[cells["table"] == 2]
    published = ["AUCross", "PlugInAUC", "AUCross optimal", "PlugInAUC optimal"]
    for metric in tables.TABLE_METRICS[2]:
        yield markdown.title(f"{TITLES[metric]}")
        # Without a sign a gate beyond the Oracle would look like one far below it.
        methods = [*published, RECALIBRATED, "AUCGate"] if metric == "oracle_distance" else published
        chosen = cells[cells["metric"] == metric]
        for dataset in in_order(chosen):
            rows = chosen[chosen["dataset"] == dataset].set_index(["target_coverage", "method"])
            yield f"{dataset}\n"
            yield markdown.table(
                ["coverage", *methods],
                (
                    [figure(c, 2), *(_with_paper(rows.loc[(c, method)], digits=4) for method in methods)]
                    for c in COVERAGES
                ),
            )
            if tables.of_networks(chosen[chosen["dataset"] == dataset]).any():
                yield from budget_note(evidence, dataset)


def _with_paper(cell: pd.Series, digits: int) -> str:
    if pd.isna(cell["paper_mean"]):
        return figure(cell["mean"], digits)
    difference = signed(cell["mean"] - cell["paper_mean"], digits)
    return f"{figure(cell['mean'], digits)} ({figure(cell['paper_mean'], digits)}, {difference})"


def metrics_page(number: int) -> Callable[[Evidence], Iterator[str]]:
    """Tables 3 and 4."""

    def page(evidence: Evidence) -> Iterator[str]:
        cells = evidence["cells"]
        chosen = cells[cells["table"] == number]
        yield LEGEND
        for metric in tables.TABLE_METRICS[number]:
            yield markdown.title(f"{TITLES[metric]}")
            for dataset in in_order(chosen):
                yield f"{dataset}\n"
                found = chosen[(chosen["metric"] == metric) & (chosen["dataset"] == dataset)]
                yield grid(found, "method", (*TABLE_METHODS, *LEARNT))
                yield from budget_note(evidence, dataset)
        yield from _wins(evidence, number, "method", PUBLISHED, ", the published methods")
        yield from _wins(evidence, number, "method", SPLIT_METHODS, ", with optimal placement")
        if tables.of_networks(chosen).any():
            yield from _wins(evidence, number, "method", (*PUBLISHED, "SelNet", "SAT"), ", the paper's six methods")
        if number == 3:
            yield from _violations(cells[~tables.of_networks(cells)])

    return page


def _wins(evidence: Evidence, number: int, competitors: str, values: Sequence[Any], title: str = "") -> Iterator[str]:
    """The row "#" of a table."""
    cells = evidence["cells"]
    counts = tables.wins(cells[cells["table"] == number], evidence["data"].set_index("dataset"), competitors, values)
    rows = [[TITLES[metric], kind, *counts.loc[(metric, kind)]] for metric, kind in counts.index]
    yield markdown.title(f"Wins (row #){title}")
    yield "Cells in which each is best, ties at three decimals counted for all.\n"
    yield markdown.table(["metric", "figures", *map(str, values), "cells"], rows)


def _violations(cells: pd.DataFrame) -> Iterator[str]:
    yield markdown.title("V: mean distance of coverage from its target")
    chosen = {
        "Adult, GiveMe, UCICredit": cells[cells["dataset"].isin(RANDOM_SPLIT_DATASETS)],
        "with Lending": cells[cells["dataset"] != "Lending (application)"],
        "with both kinds of Lending": cells,
    }
    rows = []
    for name, part in chosen.items():
        found = tables.violations(part)
        for method in METHODS:
            row = found.loc[method]
            paper = f"{figure(row['mean_paper'])} ± {figure(row['std_paper'])}" if method in PUBLISHED else "-"
            if name == "with both kinds of Lending":
                paper = "-"
            rows.append([name, method, f"{figure(row['mean'], 4)} ± {figure(row['std'], 4)}", paper, int(row["size"])])
    yield markdown.table(["data sets", "method", "V ours", "V of the paper on them", "cells"], rows)
    yield (
        "The paper's V over all nine data sets: AUCross .026, PlugIn .021, PlugInAUC .013, SCross .028, SelNet .029, "
        "SAT .171.\n"
    )


def times_page(evidence: Evidence) -> Iterator[str]:
    """Table 5: seconds are not comparable between machines, ratios are."""
    cells = evidence["cells"]
    cells = cells[(cells["table"] == 5) & (cells["target_coverage"] == COVERAGES[0])]
    by_network = cells[tables.of_networks(cells)]
    cells = cells[~tables.of_networks(cells)]
    yield (
        "Seconds of one fit on one core, for all coverages; in brackets the multiple of PlugIn's, here and in the "
        "paper.\n"
    )
    rows = []
    for dataset in in_order(cells):
        found = cells[cells["dataset"] == dataset].set_index("method")
        ours, paper = (found[column] / found.loc["PlugIn", column] for column in ("mean", "paper_mean"))
        rows.append([dataset] + [f"{found.loc[m, 'mean']:.2f} ({ours[m]:.1f}; {figure(paper[m], 1)})" for m in METHODS])
    yield markdown.table(["data", *METHODS], rows)
    if len(by_network):
        yield from _network_times(evidence, by_network)
    yield from _wins(evidence, 5, "method", PUBLISHED)


def _network_times(evidence: Evidence, cells: pd.DataFrame) -> Iterator[str]:
    yield markdown.title("Networks")
    yield (
        "Seconds of all trainings that a method would need by itself, one core each (with two threads a second counts "
        f"twice), on a machine that did other work too; for SelNet, those of coverage {figure(COVERAGES[0], 2)} alone. "
        "The paper's seconds, on its own machine, are in brackets.\n"
    )
    methods = [method for method in (*METHODS, *LEARNT) if method in set(cells["method"])]
    rows = []
    for dataset in in_order(cells):
        found = cells[cells["dataset"] == dataset].set_index("method").reindex(methods)
        seconds = found[["mean", "paper_mean"]].itertuples(index=False)
        rows.append([dataset, *(f"{figure(ours, 0)} ({figure(paper, 0)})" for ours, paper in seconds)])
    yield markdown.table(["data", *methods], rows)
    for dataset in in_order(cells):
        for note in budget_note(evidence, dataset):
            yield f"{dataset}. {note}"


def classifiers_page(number: int) -> Callable[[Evidence], Iterator[str]]:
    """Tables 6 to 9."""

    def page(evidence: Evidence) -> Iterator[str]:
        cells = evidence["cells"]
        chosen = cells[(cells["table"] == number) & cells["method"].isin(("AUCross", "PlugInAUC", *OURS, RECALIBRATED))]
        yield LEGEND
        for classifier in chosen["classifier"].unique():
            yield markdown.title(f"{TITLES[tables.TABLE_METRICS[number][0]]}, {classifier}")
            for dataset in in_order(chosen):
                found = chosen[(chosen["classifier"] == classifier) & (chosen["dataset"] == dataset)]
                if len(found):
                    yield f"{dataset}\n"
                    yield grid(found, "method", TABLE_METHODS)
                    if tables.of_networks(found).any():
                        yield from budget_note(evidence, dataset)
        for method in ("AUCross", "PlugInAUC", "AUCross optimal"):
            of_method = {**evidence, "cells": cells[cells["method"] == method]}
            yield from _wins(of_method, number, "classifier", tuple(CLASSIFIERS), f", {method}")
            if tables.of_networks(chosen).any():
                five = (*CLASSIFIERS, "ResNet")
                yield from _wins(of_method, number, "classifier", five, f", {method}, the paper's five classifiers")

    return page


FOLDS = (2, 3, 5, 7, 10)


def folds_page(evidence: Evidence) -> Iterator[str]:
    """Table 10."""
    cells = evidence["cells"]
    chosen = cells[cells["table"] == 10]
    yield LEGEND
    for method in ("AUCross", "AUCross optimal"):
        for metric in tables.TABLE_METRICS[10]:
            yield markdown.title(f"{TITLES[metric]} of {method} by number of folds")
            for dataset in in_order(chosen):
                found = chosen[
                    (chosen["method"] == method) & (chosen["metric"] == metric) & (chosen["dataset"] == dataset)
                ]
                yield f"{dataset}\n"
                yield grid(found, "n_splits", FOLDS)
        of_method = {**evidence, "cells": cells[cells["method"] == method]}
        yield from _wins(of_method, 10, "n_splits", FOLDS, f", {method}")


def agreement_page(evidence: Evidence) -> Iterator[str]:
    """How many cells agree with the paper."""
    yield "Cells that the paper prints too, per table, data set and metric.\n"
    yield agreement_table(evidence["agreement_summary"])


def agreement_table(summary: pd.DataFrame) -> str:
    """Shares of cells that agree, and the differences."""
    rows = [
        [
            row.table,
            row.dataset,
            TITLES[row.metric],
            row.n_cells,
            share(row.within_two_sd),
            share(row.within_one_hundredth),
            signed(row.mean_difference, 4),
            figure(row.largest_difference, 4),
        ]
        for row in summary.itertuples()
    ]
    header = ["table", "data", "metric", "cells", "within two deviations", "within .01", "mean difference", "largest"]
    return markdown.table(header, rows)
