"""Write everything that the page "Choosing a method" shows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from experiments.figures import write_figure
from experiments.suite.choosing import figure, page, tables
from experiments.suite.choosing.check import Study, checks, other_halves
from experiments.suite.choosing.measured import WHERE

# With fewer sets there is no half to find a rule on and no half to check it on.
FEWEST_SETS = 4


def write_choosing(cells: pd.DataFrame, kinds: Mapping[str, tuple[str, int]], n_planned: int, output: Path) -> None:
    """Tables, picture and parts of the page, from cells with differences."""
    study = Study(cells, kinds)
    finding, checking = study.halves()
    evidence = {
        "choosing_lines": tables.lines(study),
        "choosing_methods": tables.overview(study.values, cells),
        "choosing_gate": tables.gate_or_better_model(study.values),
        "choosing_situations": tables.by_situation(study.values),
        "choosing_every": tables.every_situation(study.values),
        "choosing_check": checks(study),
        "choosing_again": other_halves(study),
        "choosing_wrong": tables.wrong(study, list(study.kinds)),
    }
    for name, frame in evidence.items():
        frame.to_csv(output / f"{name}.csv", index=False, float_format="%.5g")
    write_figure(figure.situations(evidence["choosing_situations"]), output / "choosing.png")
    n_cells, n_situations = (len(cells.drop_duplicates(where)) for where in (["split", *WHERE], WHERE))
    done = page.Done(n_cells, n_planned, n_situations)
    for name, text in page.parts(evidence, finding, checking, done).items():
        (output / f"{name}.md").write_text("\n".join(text), encoding="utf-8")
