"""What the pages share: titles of the measures, and the grid of one table."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from experiments import markdown, tables
from experiments.markdown import figure, signed
from experiments.protocol import COVERAGES, DATASETS, IMAGE_LOADERS

Evidence = Mapping[str, pd.DataFrame]

TITLES = {
    "grid_oracle_deviation": "Absolute deviation from an Oracle on the paper's grid of three decimals, at the target",
    "oracle_deviation": "The same with the exact Oracle",
    "oracle_distance": "Distance to the exact Oracle at the coverage reached",
    "coverage": "Coverage",
    "selective_auc": "Selective AUC",
    "selective_accuracy": "Selective accuracy",
    "positive_rate": "Positive rate",
    "seconds": "Training time in seconds",
}
LEGEND = (
    "Each cell: ours ± bootstrap deviation (paper, difference); **bold** where the difference is more than two "
    "deviations. Methods without a figure in brackets are not in the paper.\n"
)


def grid(cells: pd.DataFrame, column: str, values: tuple[object, ...]) -> str:
    """Coverages down, the given values of a column across."""
    by_key = {(row["target_coverage"], row[column]): row for _, row in cells.iterrows()}
    shown = [value for value in values if (COVERAGES[0], value) in by_key]
    rows = ([figure(c, 2), *(_cell(by_key[c, value]) for value in shown)] for c in COVERAGES)
    return markdown.table(["coverage", *map(str, shown)], rows)


def _cell(cell: pd.Series) -> str:
    ours = f"{figure(cell['mean'])} ± {figure(cell['sd'])}"
    if pd.isna(cell["paper_mean"]):
        return ours
    text = f"{ours} ({figure(cell['paper_mean'])}, {signed(cell['mean'] - cell['paper_mean'])})"
    return text if tables.agreement(cell.to_frame().T.infer_objects())["within_two_sd"].iloc[0] else f"**{text}**"


def in_order(cells: pd.DataFrame) -> list[str]:
    """Data sets that occur, in the order of the tables."""
    present = set(cells["dataset"])
    return [name for name in (*DATASETS, *IMAGE_LOADERS) if name in present]


def budget_note(evidence: Evidence, dataset: str, column: str = "short") -> list[str]:
    """How the networks of a data set were trained, to stand beside their figures; nothing where there are none.

    The page of the networks has the whole sentence, which is in the column "trained".
    """
    if "network_budgets" not in evidence:
        return []
    budgets = evidence["network_budgets"]
    return [f"Networks: {text}.\n" for text in budgets.loc[budgets["dataset"] == dataset, column]]
