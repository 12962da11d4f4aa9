"""Cells of kept tables that can be computed one by one, so that some of them are computed again with today's code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import pandas as pd

from benchmarks import crossfit_coverage
from experiments import finished
from experiments.__main__ import datasets_at_hand
from experiments.columns.__main__ import TOPICS
from experiments.plan import full_plan
from experiments.stamps import ROOT, KeptCell
from experiments.suite.__main__ import sets_at_hand
from experiments.suite.deferral import deferral_works
from experiments.suite.plan import full_plan as suite_plan
from experiments.suite.results import TABLE
from experiments.work import Rows, Work

RESULTS = ROOT / "experiments" / "results"


def cells_of(table: str) -> list[KeptCell]:
    """Every kept cell of a table, in a fixed order."""
    if table in ("runs", "optimism", "peers"):
        return list(_of_works(full_plan(datasets_at_hand())[table], finished.FOLDER / f"{table}.csv.gz"))
    if table == "suite":
        return list(_of_works(suite_plan(sets_at_hand(), 10), RESULTS / "suite" / TABLE))
    if table == "suite-deferral":
        return list(_of_keys(deferral_works(), RESULTS / "suite" / "deferral.csv"))
    if table.startswith("columns-"):
        topic = next(topic for topic in TOPICS if table == f"columns-{topic.name}")
        return list(_of_keys(topic.works(sets_at_hand()), RESULTS / "columns" / f"{topic.name}.csv"))
    if table == "crossfit_coverage":
        return list(_of_crossfit())
    return []


def _of_works(works: Sequence[Work], path: Path) -> Iterator[KeptCell]:
    """Works whose lines say by name to which cell they belong."""
    if not path.exists():
        return
    kept = {str(name): lines for name, lines in finished.read(path).groupby("cell")}
    for work in works:
        if (lines := kept.get(finished.name_of(work))) is not None:
            yield KeptCell(str(work.argument), lines.drop(columns=finished.OF_RUN), partial(_done, work))


def _of_keys(works: Sequence[Work], path: Path) -> Iterator[KeptCell]:
    """Works whose lines begin with the values of their key."""
    kept = pd.read_csv(path)
    for work in works:
        lines = kept
        for name, value in work.argument.key.items():
            lines = lines[lines[name] == value]
        if len(lines):
            yield KeptCell(str(work.argument), lines, partial(_done, work))


def _done(work: Work) -> pd.DataFrame:
    rows: Rows = work.function(work.argument)
    return pd.DataFrame(rows)


def _of_crossfit() -> Iterator[KeptCell]:
    """Cells of real sets, trained again; without those of more than 16,000 rows, which take minutes."""
    kept = pd.read_csv(crossfit_coverage.RESULTS)
    for values, lines in kept[kept["n_rows"] <= 16_000].groupby(["data", "n_rows", "family", "split"], sort=False):
        cell = crossfit_coverage.Cell(*values)
        yield KeptCell(str(cell), lines, partial(_trained, cell))


def _trained(cell: crossfit_coverage.Cell) -> pd.DataFrame:
    scores = crossfit_coverage.train(cell, *crossfit_coverage.rows_of(cell.data))
    assert scores is not None
    return pd.DataFrame(crossfit_coverage.measure(cell, scores))
