"""The results that the repository holds are those of the whole reproduction."""

from pathlib import Path

import pandas as pd
import pytest

from experiments.figures import FIGURES
from experiments.methods import LEARNT, NETWORKS, PUBLISHED, TABLE_METHODS
from experiments.networks.budgets import IMAGES, NETWORK_DATASETS
from experiments.pages import PAGES
from experiments.protocol import CLASSIFIERS, COVERAGES, DATASETS, RANDOM_SPLIT_DATASETS
from experiments.tables import CELL_COLUMNS, CLASSIFIER_TABLES, TABLE_METRICS, agreement, of_networks, violations

RESULTS = Path(__file__).resolve().parents[2] / "experiments" / "results"


@pytest.fixture(scope="module")
def cells():
    return pd.read_csv(RESULTS / "cells.csv")


def test_every_page_and_figure_is_there():
    pages, pictures = {*PAGES, "networks"}, {*FIGURES, "networks"}
    there = {path.name for path in RESULTS.iterdir()}
    assert {f"{name}.md" for name in pages} | {f"{name}.png" for name in pictures} <= there


def test_cells_have_the_agreed_columns_and_no_gap(cells):
    assert list(cells.columns) == CELL_COLUMNS
    assert cells["mean"].notna().all()
    assert set(cells["table"]) == set(TABLE_METRICS)


@pytest.mark.parametrize("dataset", DATASETS)
def test_tables_are_complete(cells, dataset):
    chosen = cells[(cells["dataset"] == dataset) & ~of_networks(cells)]
    for table in (3, 4):
        of_table = chosen[chosen["table"] == table]
        assert len(of_table) == len(TABLE_METHODS) * len(COVERAGES) * len(TABLE_METRICS[table])
    assert set(chosen.loc[chosen["table"] == 7, "classifier"]) == set(CLASSIFIERS)
    assert set(chosen.loc[chosen["table"] == 10, "n_splits"]) == {2, 3, 5, 7, 10}


@pytest.mark.parametrize("dataset", NETWORK_DATASETS)
def test_tables_are_complete_for_networks(cells, dataset):
    chosen = cells[(cells["dataset"] == dataset) & cells["classifier"].isin(NETWORKS)]
    methods = {3: LEARNT, 4: LEARNT, **dict.fromkeys(CLASSIFIER_TABLES, TABLE_METHODS)}
    if dataset in IMAGES:
        methods = dict.fromkeys((3, 4), (*TABLE_METHODS, "SelNet", "SAT"))
    for table, names in methods.items():
        of_table = chosen[chosen["table"] == table]
        assert set(of_table["method"]) == set(names)
        assert len(of_table) == len(names) * len(COVERAGES) * len(TABLE_METRICS[table])
        printed = ("SelNet", "SAT", *(PUBLISHED if dataset in IMAGES else ("AUCross", "PlugInAUC")))
        in_paper = of_table[of_table["method"].isin(printed)]
        assert in_paper["paper_mean"].notna().all()


def test_networks_keep_their_coverage_on_adult(cells):
    """SelectiveNet within .03 of each target."""
    found = cells[(cells["table"] == 3) & (cells["dataset"] == "Adult") & cells["method"].isin(LEARNT)]
    found = found[found["metric"] == "coverage"]
    assert len(found) == len(LEARNT) * len(COVERAGES)
    assert ((found["mean"] - found["target_coverage"]).abs() < 0.03).all()


def test_plain_networks_rank_as_well_as_they_should():
    models = pd.read_csv(RESULTS / "network_models.csv").set_index(["dataset", "role"])["auc"]
    for dataset, least in {"Adult": 0.905, "CIFAR-10-cat": 0.915, "CatsVsDogs": 0.97}.items():
        for role in ("hold-out", "refit"):
            assert models[dataset, role].item() > least


def test_the_claims_of_the_evidence_page_follow_from_the_cells(cells):
    table = cells[(cells["table"] == 3) & cells["dataset"].isin(RANDOM_SPLIT_DATASETS) & ~of_networks(cells)]
    both = agreement(table[table["method"].isin(PUBLISHED)]).groupby("metric")
    assert both["within_two_sd"].mean()["selective_auc"] > 0.9
    assert both["within_one_hundredth"].mean()["coverage"] > 0.9
    assert violations(table).loc["AUCross optimal", "mean"] < 0.006
    distances = pd.read_csv(RESULTS / "oracle_distance.csv")
    assert distances["closer"].all()
    assert (distances["n_random_splits"] == 20).all()
