"""Sets in time whose band loses to max probability, split at random: ``python -m experiments.suite.without_time``.

If the band is ahead as soon as the test rows are like the training rows, drift made it lose, and not its place.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from experiments.suite import sets, tables
from experiments.suite.__main__ import sets_at_hand
from experiments.suite.protocol import Cell, Rows, split_rows
from experiments.suite.runs import run_cell

RESULTS = Path(__file__).parents[1] / "results" / "suite" / "without_time.csv"
DATASETS = ("elec2", "nannyml_car_loan")
FAMILIES = ("LightGBM", "Logistic")
N_SPLITS = 3


@dataclass(frozen=True, order=True)
class ShuffledCell(Cell):
    """A cell whose rows are drawn whatever their time."""

    def rows(self) -> Rows:
        """Training and test rows of one law."""
        return split_rows(replace(sets.load(self.dataset), earlier=None, later=None), self.split)


def main() -> None:
    """Measure and write the gain of both ways to abstain, at random splits."""
    sets_at_hand()
    cells = [ShuffledCell(split, name, family) for split in range(N_SPLITS) for name in DATASETS for family in FAMILIES]
    measured = tables.with_differences(pd.DataFrame(row for cell in cells for row in run_cell(cell)))
    found = tables.set_table(measured, {name: ("random", len(sets.load(name).y)) for name in DATASETS})
    found.to_csv(RESULTS, index=False, float_format="%.5g")


if __name__ == "__main__":
    main()
