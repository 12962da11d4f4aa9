"""The results of the suite: one tidy table, the tables made of it, figures and the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from experiments import finished
from experiments.drawing import page_style, write_figure
from experiments.suite import figures, page, tables
from experiments.suite.choosing.write import FEWEST_SETS, write_choosing
from experiments.suite.protocol import FAMILIES
from experiments.work import Work

TABLE = "cells.csv.gz"


def write_results(works: Sequence[Work], kinds: Mapping[str, tuple[str, int]], n_planned: int, output: Path) -> None:
    """Write everything that the finished cells tell."""
    output.mkdir(parents=True, exist_ok=True)
    cells = in_order(pd.DataFrame(finished.lines(works)))
    # No date in the file: the same cells give the same bytes.
    cells.to_csv(output / TABLE, index=False, float_format="%.5g", compression={"method": "gzip", "mtime": 0})
    cells = pd.read_csv(output / TABLE)
    write_analysis(cells, kinds, n_planned, output)
    if cells["dataset"].nunique() >= FEWEST_SETS:
        write_choosing(tables.with_differences(cells), kinds, n_planned, output)


def take_over(works: Sequence[Work], output: Path) -> int:
    """Count the cells of an earlier table as done if they ran under the same settings; return how many did."""
    return finished.take_over(works, output / TABLE)


def in_order(cells: pd.DataFrame) -> pd.DataFrame:
    """Set, family, split: the order of the table, whatever the order of the run."""
    place = cells["family"].map({name: number for number, name in enumerate(FAMILIES)})
    return cells.assign(place=place).sort_values(["dataset", "place", "split"], kind="stable").drop(columns="place")


def write_analysis(cells: pd.DataFrame, kinds: Mapping[str, tuple[str, int]], n_planned: int, output: Path) -> None:
    """Tables, figures and page of a table of cells."""
    measured = tables.with_differences(cells)
    evidence = gather(measured, kinds)
    for name, frame in evidence.items():
        frame.to_csv(output / f"{name}.csv", index=False, float_format="%.5g")
    in_time = {name for name, (kind, _) in kinds.items() if kind == "time"}
    with page_style():
        drawn = {
            "gains": figures.gains(evidence["sets"]),
            "wins": figures.wins(evidence["comparisons"]),
            "ranks": figures.ranks(tables.ranking(measured)),
            "coverage_by_rows": figures.coverage_by_rows(measured, in_time),
            "gain_by_rows": figures.gain_by_rows(measured),
            "oracle_by_rows": figures.oracle_by_rows(measured),
        }
        for name, figure in drawn.items():
            write_figure(figure, output / f"{name}.png")
    for name, text in page.parts(evidence, measured, n_planned).items():
        (output / f"{name}.md").write_text("\n".join(text), encoding="utf-8")


def gather(measured: pd.DataFrame, kinds: Mapping[str, tuple[str, int]]) -> dict[str, pd.DataFrame]:
    """Every table by the name of its file."""
    sets = tables.set_table(measured, kinds)
    return {
        "sets": sets,
        "expected": tables.expected_lead(sets),
        "comparisons": tables.comparisons(measured),
        "same_model": tables.comparisons(measured, "same_model"),
        "ranks": pd.DataFrame(tables.ranking(measured).average.items(), columns=["method", "average_rank"]),
        "by_size": tables.by_size(measured, kinds),
        "families": tables.families(measured),
        "costs": tables.costs(measured),
        "losses": tables.losses(measured),
    }
