from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMClassifier
from matplotlib.image import imread

from experiments import __main__ as command
from experiments import plan, protocol, table1
from experiments.datasets import TABLE_1
from experiments.figures import FIGURES
from experiments.optimism import Optimism
from experiments.pages import PAGES
from experiments.peer_runs import PeerRun
from experiments.peers import PEERS
from experiments.protocol import Run
from experiments.tables import CELL_COLUMNS

pytest.importorskip("mapie", reason='needs `pip install "aucross[experiments]"`')
pytest.importorskip("skfb", reason='needs `pip install "aucross[experiments]"`')


def small_plan(_datasets):
    """Every study once, on two data sets."""
    chosen = ("Adult", "UCICredit")
    runs = [
        *(Run(dataset, classifier) for dataset in chosen for classifier in ("LightGBM", "Logistic")),
        *(Run(dataset, cv=cv) for dataset in chosen for cv in (2, 3)),
        *(Run("Adult", cv=2, split="random", seed=seed) for seed in (0, 1)),
        *(
            Run("Adult", classifier, split="random", seed=seed, n_train=n_train)
            for classifier, n_train in (("LightGBM", None), ("Logistic", None), ("LightGBM", 500))
            for seed in (0, 1)
        ),
    ]
    return plan._plan(chosen, runs, [PeerRun("Adult", "LightGBM")], [Optimism("Adult", 0)], 3)


def small_boosting():
    return LGBMClassifier(n_estimators=10, random_state=protocol.PAPER_SEED, n_jobs=1, verbose=-1)


def not_here():
    raise FileNotFoundError("train.zip")


@pytest.fixture
def written(small_data, monkeypatch, tmp_path):
    monkeypatch.setattr(command, "full_plan", small_plan)
    monkeypatch.setattr(table1, "NOT_RUN", dict.fromkeys(table1.NOT_RUN, not_here))
    monkeypatch.setitem(protocol.CLASSIFIERS, "LightGBM", small_boosting)
    monkeypatch.setattr(protocol, "N_BOOTSTRAP", 20)
    monkeypatch.setattr("experiments.peer_runs.N_BOOTSTRAP", 20)
    monkeypatch.setattr("experiments.peer_runs.installed_peers", lambda: PEERS[:2])
    monkeypatch.setattr("experiments.optimism.TEST_SIZES", (100,))
    monkeypatch.setattr("experiments.optimism.N_DRAWS", 2)
    monkeypatch.setattr("experiments.speed.ORACLE_COVERAGE", 0.995)
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
    data = pd.read_csv(written / "data.csv").set_index("dataset")
    assert list(data.index) == [*TABLE_1, "Lending (application)"]
    assert (data["differences"] == "Not available here.").sum() == len(table1.NOT_RUN) == 5
    assert data.loc["UCICredit", ["n_train", "paper_n_train"]].tolist() == [900, 22_500]
    distances = pd.read_csv(written / "oracle_distance.csv")
    assert (distances[["AUCross", "AUCross optimal"]] > -1e-9).all(axis=None)
    for name in PAGES:
        assert "nan" not in (written / f"{name}.md").read_text(encoding="utf-8"), name
    for name in FIGURES:
        assert np.ptp(imread(written / f"{name}.png")[..., :3]) > 0.5, name


@pytest.mark.usefixtures("small_data")
def test_the_plans_name_each_piece_of_work_once():
    for made in (plan.full_plan(protocol.DATASETS), plan.quick_plan(protocol.DATASETS)):
        for works in made.values():
            keys = [tuple(work.key.items()) for work in works]
            assert len(keys) == len(set(keys))


@pytest.mark.usefixtures("small_data")
def test_the_full_plan_covers_the_tables_of_every_data_set():
    runs = {work.argument for work in plan.full_plan(protocol.DATASETS)["runs"]}
    for dataset in protocol.DATASETS:
        assert {Run(dataset, classifier) for classifier in protocol.CLASSIFIERS} <= runs
        assert {Run(dataset, cv=cv) for cv in (2, 3, 5, 7, 10)} <= runs
        assert {Run(dataset, split="random", seed=seed) for seed in range(20)} <= runs


@pytest.mark.usefixtures("small_data")
def test_plans_leave_out_data_sets_that_are_not_there():
    for make in (plan.full_plan, plan.quick_plan):
        for works in make(["Adult"]).values():
            assert {work.argument.dataset for work in works} == {"Adult"}


@pytest.mark.usefixtures("small_data")
@pytest.mark.parametrize("change", ["coverages", "model", "source"])
def test_a_result_is_not_read_under_other_settings(change, monkeypatch):
    def key():
        plan.settings_of.cache_clear()
        return plan.full_plan(["Adult"])["runs"][0].key

    before = key()
    assert key() == before
    if change == "coverages":
        monkeypatch.setattr(protocol, "COVERAGES", (0.9,))
    elif change == "model":
        monkeypatch.setitem(protocol.CLASSIFIERS, "LightGBM", protocol.CLASSIFIERS["XGBoost"])
    else:
        other = replace(protocol.load("Adult"), source="another file")
        monkeypatch.setattr(protocol, "load", lambda name: other)
    assert key() != before


def test_data_sets_that_cannot_be_read_are_left_out_by_name(monkeypatch, capsys):
    def fail(name):
        raise FileNotFoundError(f"put {name}.csv there")

    monkeypatch.setattr(protocol, "load", lambda name: fail(name) if name != "Adult" else None)
    assert command.datasets_at_hand() == ["Adult"]
    assert "left out: GiveMe. put GiveMe.csv there" in capsys.readouterr().out
    monkeypatch.setattr(protocol, "load", fail)
    with pytest.raises(SystemExit, match="no data set can be read: set AUCROSS_DATA"):
        command.datasets_at_hand()
