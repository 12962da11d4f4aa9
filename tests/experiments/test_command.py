import numpy as np
import pandas as pd
import pytest
from matplotlib.image import imread

from experiments import __main__ as command
from experiments import plan, protocol
from experiments.figures import FIGURES
from experiments.optimism import Optimism
from experiments.pages import PAGES
from experiments.peer_runs import PeerRun
from experiments.peers import PEERS
from experiments.protocol import Run
from experiments.tables import CELL_COLUMNS

pytest.importorskip("mapie", reason='needs `pip install "aucross[experiments]"`')
pytest.importorskip("skfb", reason='needs `pip install "aucross[experiments]"`')


def small_plan():
    """Every study once, on two data sets."""
    datasets = ("Adult", "UCICredit")
    runs = [
        *(Run(dataset) for dataset in datasets),
        *(Run(dataset, cv=cv) for dataset in datasets for cv in (2, 10)),
        *(Run(dataset, split="random", seed=seed) for dataset in datasets for seed in (0, 1)),
        *(Run("Adult", split="random", seed=seed, n_train=500) for seed in (0, 1)),
    ]
    return plan._plan(runs, [PeerRun("Adult", "LightGBM")], [Optimism("Adult", 0)], datasets)


def load_if_small(name, *, download):
    assert not download
    if name not in protocol.DATASETS:
        raise FileNotFoundError(name)
    return protocol.load(name)


@pytest.fixture
def written(small_data, monkeypatch, tmp_path):
    monkeypatch.setattr(command, "full_plan", small_plan)
    monkeypatch.setattr("experiments.table1.load_dataset", load_if_small)
    monkeypatch.setattr(protocol, "N_BOOTSTRAP", 20)
    monkeypatch.setattr("experiments.speed.N_BOOTSTRAP", 3)
    monkeypatch.setattr("experiments.peer_runs.N_BOOTSTRAP", 20)
    monkeypatch.setattr("experiments.peer_runs.PEERS", PEERS[:2])
    monkeypatch.setattr("experiments.optimism.TEST_SIZES", (100,))
    monkeypatch.setattr("experiments.optimism.N_DRAWS", 2)
    command.main(["--jobs", "1", "--output", str(tmp_path / "results")])
    return tmp_path / "results"


def test_one_command_writes_every_table_page_and_figure(written):
    names = {path.name for path in written.iterdir()}
    assert {f"{name}.md" for name in PAGES} <= names
    assert {f"{name}.png" for name in FIGURES} <= names
    cells = pd.read_csv(written / "cells.csv")
    assert list(cells.columns) == CELL_COLUMNS
    assert set(cells["table"]) == set(range(2, 11))
    assert not cells.duplicated(CELL_COLUMNS[:7]).any()
    assert cells["mean"].notna().all()
    distances = pd.read_csv(written / "oracle_distance.csv")
    assert (distances[["AUCross", "AUCross optimal"]] > -1e-9).all(axis=None)
    for name in PAGES:
        assert "nan" not in (written / f"{name}.md").read_text(encoding="utf-8"), name
    for name in FIGURES:
        assert np.ptp(imread(written / f"{name}.png")[..., :3]) > 0.5, name


def test_the_plans_name_each_piece_of_work_once():
    for made in (plan.full_plan(), plan.quick_plan()):
        for works in made.values():
            keys = [tuple(work.argument.key.items()) for work in works]
            assert len(keys) == len(set(keys))


def test_the_full_plan_covers_the_tables_of_every_data_set():
    runs = {work.argument for work in plan.full_plan()["runs"]}
    for dataset in protocol.DATASETS:
        assert {Run(dataset, classifier) for classifier in protocol.CLASSIFIERS} <= runs
        assert {Run(dataset, cv=cv) for cv in (2, 3, 5, 7, 10)} <= runs
        assert {Run(dataset, split="random", seed=seed) for seed in range(20)} <= runs
