"""The results that the repository holds are those of the whole reproduction."""

from pathlib import Path

import pandas as pd
import pytest

from experiments.figures import FIGURES
from experiments.methods import PUBLISHED, TABLE_METHODS
from experiments.pages import PAGES
from experiments.protocol import CLASSIFIERS, COVERAGES, DATASETS, RANDOM_SPLIT_DATASETS
from experiments.tables import CELL_COLUMNS, TABLE_METRICS, agreement, violations

RESULTS = Path(__file__).resolve().parents[2] / "experiments" / "results"


@pytest.fixture(scope="module")
def cells():
    return pd.read_csv(RESULTS / "cells.csv")


def test_every_page_and_figure_is_there():
    assert {f"{name}.md" for name in PAGES} | {f"{name}.png" for name in FIGURES} <= {p.name for p in RESULTS.iterdir()}


def test_cells_have_the_agreed_columns_and_no_gap(cells):
    assert list(cells.columns) == CELL_COLUMNS
    assert cells["mean"].notna().all()
    assert set(cells["table"]) == set(TABLE_METRICS)


@pytest.mark.parametrize("dataset", DATASETS)
def test_tables_are_complete(cells, dataset):
    chosen = cells[cells["dataset"] == dataset]
    for table in (3, 4):
        of_table = chosen[chosen["table"] == table]
        assert len(of_table) == len(TABLE_METHODS) * len(COVERAGES) * len(TABLE_METRICS[table])
    assert set(chosen.loc[chosen["table"] == 7, "classifier"]) == set(CLASSIFIERS)
    assert set(chosen.loc[chosen["table"] == 10, "n_splits"]) == {2, 3, 5, 7, 10}


def test_the_claims_of_the_evidence_page_follow_from_the_cells(cells):
    table = cells[(cells["table"] == 3) & cells["dataset"].isin(RANDOM_SPLIT_DATASETS)]
    both = agreement(table[table["method"].isin(PUBLISHED)]).groupby("metric")
    assert both["within_two_sd"].mean()["selective_auc"] > 0.9
    assert both["within_one_hundredth"].mean()["coverage"] > 0.9
    assert violations(table).loc["AUCross optimal", "mean"] < 0.006
    distances = pd.read_csv(RESULTS / "oracle_distance.csv")
    assert distances["closer"].all()
    assert (distances["n_random_splits"] == 20).all()
