import os
from collections import Counter
from copy import deepcopy
from functools import lru_cache, partial

import numpy as np
import pandas as pd
import pytest
from matplotlib.image import imread
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.metrics import roc_auc_score

pytest.importorskip("torch", reason='needs `pip install "aucross[torch]"`')

from aucross import AUCGate, AUCross, PlugIn, PlugInAUC, SCross
from aucross.estimators import without_correction
from aucross.torch import DeepGamblers, ResNet, ResNetClassifier, SelectiveNet, SelfAdaptiveTraining
from aucross.torch.network_training import Training as TrainingLoop
from experiments import figures, pages, protocol, store, tables
from experiments.datasets import Dataset
from experiments.methods import LEARNT, METHODS, RECALIBRATED
from experiments.networks import __main__ as command
from experiments.networks import studies, trainings
from experiments.networks.budgets import BUDGETS, IMAGES, NETWORK_DATASETS, TABLES, Budget
from experiments.networks.estimate import minutes_expected, seconds_expected
from experiments.networks.outputs import Attempt, read_scores
from experiments.networks.replay import Recordings, Replay, numbered, values_at
from experiments.networks.results import finished_studies, network_evidence
from experiments.networks.seeds import seeds_page, trainings_of_seed
from experiments.networks.studies import COMPARED, OWN_SCORE, Study
from experiments.networks.trainings import Training, half_size, rows_of, trainings_of
from experiments.protocol import CLASSIFIERS, COVERAGES

# Networks of two epochs give many rows one score.
pytestmark = [
    pytest.mark.few_scores,
    pytest.mark.filterwarnings("ignore:a coverage of .* leaves less than one"),
]

SHARED = {
    "epochs": 2,
    "warm_up_epochs": 1,
    "further_epochs": 1,
    "pretrain_epochs": 1,
    "target_momentum": 0.9,
}
TINY_TABLE = Budget(
    "ResNet", width=8, n_folds=3, batch_size=64, corrects_coverage=True, gamblers_pretrain_epochs=1, **SHARED
)
TINY_IMAGES = Budget(
    "VGG16",
    width=0.02,
    n_folds=3,
    batch_size=50,
    augment="flip",
    half_size_epochs=1,
    gate_epochs=1,
    n_rows=150,
    n_test_rows=100,
    **SHARED,
)
OPTIONS = {"max_epochs": 2, "batch_size": 64, "schedule": "one-cycle", "n_threads": 1, "random_state": 42}


def tiny(name):
    if name in IMAGES:
        rng, y = np.random.default_rng(0), np.arange(320) % 2
        X = (rng.integers(0, 150, (320, 8, 8, 3)) + 40 * y[:, None, None, None]).astype(np.uint8)
        return Dataset(name, X, y.astype(np.int64), np.arange(320) >= 200, "made here", ())
    X, y = make_classification(600, n_features=6, flip_y=0.2, weights=[0.7], random_state=len(name))
    return Dataset(name, pd.DataFrame(X).add_prefix("x"), y.astype(np.int64), None, "made here", ())


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """Synthetic data, tiny networks, and a cache of its own for the whole file."""
    folder = tmp_path_factory.mktemp("networks")
    few = clone(CLASSIFIERS["LightGBM"]()).set_params(n_estimators=8)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(protocol, "load", lru_cache(tiny))
        patch.setattr(protocol, "N_BOOTSTRAP", 20)
        patch.setattr(store, "CACHE", folder)
        patch.setattr(studies, "TOLERANCE", 0.03)  # of few rows
        patch.setitem(CLASSIFIERS, "LightGBM", partial(clone, few))
        for name in NETWORK_DATASETS:
            patch.setitem(BUDGETS["budget"], name, TINY_TABLE if name in TABLES else TINY_IMAGES)
        rows_of.cache_clear(), studies.assembled.cache_clear()
        yield folder
        rows_of.cache_clear(), studies.assembled.cache_clear()


@pytest.fixture(scope="module")
def finished(cache):
    """Adult and CIFAR-10-cat, trained and measured."""
    made = [Study("Adult", "budget"), Study("CIFAR-10-cat", "budget")]
    for study in made:
        assert command.finish(study, n_jobs=1) == []
    return made


@pytest.fixture(scope="module")
def evidence(finished):
    return network_evidence(finished)


# ---- trainings ----


def test_each_training_is_done_once_and_serves_all_methods_that_need_it(cache, finished):
    assert Counter(training.role for training in finished[0].trainings) == {
        "hold-out": 1,
        "refit": 1,
        "fold": 3,
        "SelNet warm-up": 1,
        "SelNet": 6,
        "SAT": 1,
        "DeepGamblers": 1,
        "gate refit": 1,
        "gate fold": 3,
    }
    done = list((cache / "network-trainings").glob("*.json"))
    assert len(done) == sum(len(study.trainings) for study in finished) == 18 + 17


def test_what_is_finished_is_not_done_again(finished, monkeypatch):
    def fail(_):
        raise AssertionError("done again")

    monkeypatch.setattr(trainings, "train", fail)
    monkeypatch.setattr(studies, "measure_study", fail)
    monkeypatch.setattr(studies, "compare_study", fail)
    for study in finished:
        assert command.finish(study, n_jobs=1) == []


def select_each(clf, X, coverages):
    return np.array([clf.select(X, coverage) for coverage in coverages])


def test_a_killed_training_goes_on_after_its_last_epoch_with_the_same_result(finished, monkeypatch, tmp_path):
    training = next(training for training in finished[0].trainings if training.role == "SAT")
    expected = studies.LearntSelection(training)
    X_test = numbered(rows_of("Adult", TINY_TABLE)).X_test
    monkeypatch.setattr(store, "CACHE", tmp_path)
    epochs, run_epoch = [], TrainingLoop._run_epoch

    def killed_in_second_epoch(self, bar):
        epochs.append(self.history.n_epochs)
        if epochs == [0, 1]:
            raise RuntimeError("killed")
        run_epoch(self, bar)

    monkeypatch.setattr(TrainingLoop, "_run_epoch", killed_in_second_epoch)
    assert "RuntimeError: killed" in training.work.finish()
    assert training.work.stored() is None
    assert training.work.finish() is None
    assert epochs == [0, 1, 1]
    again = studies.LearntSelection(training)
    np.testing.assert_array_equal(again.predict_proba(X_test), expected.predict_proba(X_test))
    np.testing.assert_array_equal(select_each(again, X_test, COVERAGES), select_each(expected, X_test, COVERAGES))
    assert not (training.folder / "checkpoints").exists()


def test_seconds_before_a_kill_count_up_to_the_last_checkpoint(tmp_path, monkeypatch):
    monkeypatch.setattr("experiments.networks.outputs.time.time", lambda: 2000.0)
    assert Attempt(tmp_path).seconds == 0
    (tmp_path / "started.json").write_text('{"before": 5.0, "at": 1000.0}')
    assert Attempt(tmp_path).seconds == 0
    (tmp_path / "started.json").write_text('{"before": 5.0, "at": 1000.0}')
    (tmp_path / "abc.pt").touch()
    os.utime(tmp_path / "abc.pt", (1030, 1030))
    assert Attempt(tmp_path).seconds == 35


def test_a_failure_is_told_and_the_other_data_sets_go_on(cache, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(store, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(command, "datasets_at_hand", list)

    def fail_on_adult(study, *, n_jobs):
        return ["Adult: 1 of 16 pieces of work failed"] if study.dataset == "Adult" else []

    monkeypatch.setattr(command, "finish", fail_on_adult)
    with pytest.raises(SystemExit, match="Adult: 1 of 16"):
        command.main(["--only", "Adult", "UCICredit", "--output", str(tmp_path)])
    assert "nothing" in capsys.readouterr().out


def test_a_network_that_starts_from_a_warm_up_needs_it_finished(cache):
    training = Training("UCICredit", TINY_TABLE, "SelNet", coverage=0.9)
    assert "the shared warm-up" in training.work.finish()


def test_outputs_are_of_rows_that_were_not_trained_on_and_of_others_where_they_correct_the_coverage(finished):
    for study in finished:
        n_train = len(rows_of(study.dataset, study.budget).y_train)
        for training in study.trainings:
            scored = read_scores(training.folder)
            trained, held = training.parts
            assert len(np.intersect1d(trained, held)) == (len(trained) if training.scores_rows_seen else 0)
            np.testing.assert_array_equal(np.sort(scored.rows[scored.rows < n_train]), np.sort(held))


def test_weights_are_kept_only_where_a_later_training_starts_from_them(cache, finished):
    assert len(list((cache / "network-trainings").glob("*/model.joblib"))) == len(finished)


def test_another_recipe_is_another_training(cache):
    before = Training("Adult", TINY_TABLE, "SAT")
    assert Training("Adult", TINY_TABLE, "SAT").key == before.key
    changed = Training("Adult", BUDGETS["quick"]["Adult"], "SAT")
    assert changed.key != before.key
    assert changed.folder != before.folder


def test_the_warm_up_is_part_of_the_recipe_of_what_starts_from_it(cache):
    budget = BUDGETS["quick"]["Adult"]
    further = [
        Training("Adult", Budget(**{**vars(budget), "warm_up_epochs": n}), "SelNet", coverage=0.9) for n in (1, 2)
    ]
    assert further[0].parameters() == further[1].parameters()
    assert further[0].key != further[1].key


def test_the_gate_of_images_sees_them_at_half_size():
    images = np.arange(2 * 4 * 4 * 3, dtype=np.uint8).reshape(2, 4, 4, 3)
    halved = half_size(images)
    assert halved.shape == (2, 2, 2, 3)
    assert halved[0, 0, 0, 0] == images[0, :2, :2, 0].mean() // 1


# ---- replay ----


@pytest.mark.parametrize("name", ["AUCross", "AUCross optimal", "SCross", "PlugIn", "PlugInAUC", "AUCGate"])
def test_a_method_put_together_from_stored_scores_is_the_method_that_a_user_fits(finished, name):
    base = ResNetClassifier(width=8, lr=0.1, **OPTIONS)
    folds = {"cv": 3, "random_state": 42}
    direct = {
        "AUCross": AUCross(base, placement="centered", **folds),
        "AUCross optimal": AUCross(base, **folds),
        "SCross": without_correction(SCross(base, **folds)),
        "PlugIn": PlugIn(base, random_state=42),
        "PlugInAUC": PlugInAUC(base, placement="centered", random_state=42),
        "AUCGate": AUCGate(base, CLASSIFIERS["LightGBM"](), **folds),
    }[name]
    split = rows_of("Adult", TINY_TABLE)
    direct.fit(split.X_train, split.y_train)
    assembled = studies.assembled(finished[0])
    replayed = assembled.methods[name]
    np.testing.assert_array_equal(
        select_each(replayed, assembled.split.X_test, COVERAGES), select_each(direct, split.X_test, COVERAGES)
    )
    np.testing.assert_array_equal(
        replayed.predict_proba(assembled.split.X_test)[:, 1], direct.predict_proba(split.X_test)[:, 1]
    )


@pytest.mark.parametrize("name", LEARNT)
def test_a_learnt_selection_from_stored_scores_is_that_of_the_network(finished, name):
    split, body = rows_of("Adult", TINY_TABLE), partial(ResNet, width=8)
    if name == "SelNet":
        start = SelectiveNet(body=body, coverage=0.9, warm_start=True, **OPTIONS | {"max_epochs": 1})
        direct = deepcopy(start.fit(split.X_train, split.y_train)).set_params(coverage=0.8)
    elif name == "SAT":
        direct = SelfAdaptiveTraining(body=body, target_momentum=0.9, pretrain_epochs=1, **OPTIONS)
    else:
        direct = DeepGamblers(body=body, pretrain_epochs=1, **OPTIONS)
    direct.fit(split.X_train, split.y_train)
    assembled = studies.assembled(finished[0])
    clf = assembled.learnt[name][0.8]
    np.testing.assert_array_equal(
        select_each(clf, assembled.split.X_test, COVERAGES), select_each(direct, split.X_test, COVERAGES)
    )


def test_one_network_serves_every_coverage_unless_it_is_a_selective_net(finished):
    learnt = studies.assembled(finished[0]).learnt
    assert {name: len({id(clf) for clf in by_coverage.values()}) for name, by_coverage in learnt.items()} == {
        "SelNet": 6,
        "SAT": 1,
        "DeepGamblers": 1,
    }


def test_rows_without_a_stored_model_or_score_are_refused(finished):
    [training] = [training for training in finished[0].trainings if training.role == "hold-out"]
    clf = Replay(Recordings([training]))
    with pytest.raises(LookupError, match="no stored model was trained on these 10 rows"):
        clf.fit(np.arange(10)[:, None], np.arange(10) % 2)
    with pytest.raises(LookupError, match="1 of 2 rows have no stored score"):
        values_at(np.array([5, 3]), np.array([0.5, 0.3]), np.array([3, 9]))
    with pytest.raises(ValueError, match="cannot be told apart"):
        Recordings([training, training])


# ---- figures ----


def test_cells_have_the_names_and_places_of_the_published_tables(evidence):
    cells = tables.network_cells(evidence["network_runs"])
    assert list(cells.columns) == tables.CELL_COLUMNS
    assert not cells.duplicated(tables.KEYS).any()
    assert cells["mean"].notna().all()
    found = cells.groupby(["table", "dataset", "classifier"])["method"].agg(set).to_dict()
    everything = {*METHODS, RECALIBRATED}
    assert found == {
        **{(table, "Adult", "ResNet"): set(LEARNT) for table in (3, 4, 5)},
        **{(table, "Adult", "ResNet"): everything for table in (6, 7, 8, 9)},
        (2, "CIFAR-10-cat", "VGG16"): everything,
        **{(table, "CIFAR-10-cat", "VGG16"): everything | {"SelNet", "SAT"} for table in (3, 4, 5)},
    }


def test_cells_stand_beside_the_papers_figures_with_their_own_number_of_folds(evidence):
    cells = tables.network_cells(evidence["network_runs"]).set_index(["table", "dataset", "method", "metric"])
    cells = cells[cells["target_coverage"] == 0.75]
    for place, paper in {
        (3, "Adult", "SelNet", "selective_auc"): 0.917,
        (3, "Adult", "SAT", "coverage"): 0.919,
        (7, "Adult", "AUCross", "selective_auc"): 0.942,
        (3, "CIFAR-10-cat", "AUCross", "selective_auc"): 0.870,
    }.items():
        assert cells.loc[place, "paper_mean"] == paper, place
    assert cells.loc[(3, "CIFAR-10-cat", "AUCross", "coverage"), "n_splits"] == 3
    assert pd.isna(cells.loc[(3, "CIFAR-10-cat", "SelNet", "coverage"), "n_splits"])
    assert pd.isna(cells.loc[(3, "Adult", "DeepGamblers", "coverage"), "paper_mean"])


def test_a_methods_time_is_that_of_the_trainings_that_it_needs(finished, evidence):
    runs = evidence["network_runs"].set_index(["dataset", "method", "target_coverage"])["seconds"]
    seconds = {str(training): training.work.stored().rows[0]["seconds"] for training in finished[0].trainings}
    folds = sum(seconds[name] for name in ("Adult fold 1", "Adult fold 2", "Adult fold 3", "Adult refit"))
    assert runs["Adult", "AUCross", 0.9] == pytest.approx(folds)
    assert runs["Adult", "PlugIn", 0.9] == pytest.approx(seconds["Adult hold-out"])
    assert runs["Adult", "SelNet", 0.9] == pytest.approx(seconds["Adult SelNet warm-up"] + seconds["Adult SelNet 0.90"])


def test_every_model_is_ranked_without_rejection(finished, evidence):
    models = evidence["network_models"].set_index(["dataset", "role", "coverage"])["auc"].sort_index()
    assert len(models) == 2 * len(["hold-out", "refit", "SAT", "gate refit", *COVERAGES]) + len(["DeepGamblers"])
    parts = studies.assembled(finished[0])
    split = parts.split
    for role, clf in {"hold-out": parts.methods["PlugIn"], "refit": parts.methods["AUCross"]}.items():
        expected = roc_auc_score(split.y_test, clf.predict_proba(split.X_test)[:, 1])
        assert models["Adult", role].item() == expected
    selective_net = parts.learnt["SelNet"][0.8].predict_proba(split.X_test)[:, 1]
    assert models["Adult", "SelNet", 0.8] == roc_auc_score(split.y_test, selective_net)


def test_comparisons_are_made_at_the_coverage_that_the_other_method_reached(evidence):
    compared = evidence["networks"]
    assert set(compared["peer"]) == set(LEARNT)
    assert set(compared["ours"]) == {OWN_SCORE, *COMPARED}
    assert len(compared) == (3 + 2) * 5 * 6
    comparable = compared.dropna(subset=["ours_minus_peer"])
    assert len(comparable) > 0.5 * len(compared)
    above = comparable["ours_coverage"] - comparable["coverage"]
    assert above.between(0, studies.TOLERANCE).all()
    difference = comparable["ours_selective_auc"] - comparable["selective_auc"]
    np.testing.assert_allclose(comparable["ours_minus_peer"], difference, atol=1e-12)
    assert (comparable["low"] <= comparable["high"]).all()


def test_without_results_of_networks_nothing_is_added(cache, monkeypatch, tmp_path):
    monkeypatch.setattr(store, "CACHE", tmp_path)
    assert finished_studies() == []
    assert network_evidence([]) == {}


def test_finished_studies_are_found_where_they_are_stored(finished):
    assert finished_studies() == finished


def test_figures_that_are_missing_are_computed_from_stored_trainings(finished, evidence):
    work = finished[0].works[1]
    stored = work.stored()
    store.path_of(work.kind, work.key).unlink()
    assert finished_studies() == finished
    assert work.stored().rows == stored.rows


# ---- pages and command ----


def test_the_page_states_the_budget_beside_the_figures_of_every_data_set(evidence):
    text = "\n".join(pages.networks_page(evidence))
    for budget in (TINY_TABLE, TINY_IMAGES):
        assert budget.sentence() in text
    assert "nan" not in text


@pytest.mark.parametrize(
    ("budget", "words"),
    [
        (BUDGETS["full"]["Adult"], ["300 epochs", "batches of 32", "halved every 25 epochs from 0.1", "5 folds"]),
        (BUDGETS["full"]["CatsVsDogs"], ["1 of the width", "one SelNet per coverage", "batches of 128"]),
        (TINY_IMAGES, ["150 training rows", "1 at half size", "1 epoch shared by the coverages"]),
    ],
)
def test_a_budget_says_what_matters(budget, words):
    for word in words:
        assert word in budget.sentence()


def test_without_a_shared_warm_up_each_selective_net_is_trained_from_the_start(cache):
    made = trainings_of("Adult", BUDGETS["full"]["Adult"])
    assert "SelNet warm-up" not in {training.role for training in made}
    assert {training.parameters()["max_epochs"] for training in made if training.role == "SelNet"} == {300}
    assert all(training.start is None for training in made)


def test_the_plan_lists_every_training_and_adds_up_its_minutes(finished, monkeypatch, capsys):
    monkeypatch.setattr(command, "datasets_at_hand", list)
    command.main(["--plan", "--only", "Adult", "UCICredit"])
    text = capsys.readouterr().out
    assert TINY_TABLE.sentence() in text
    assert "| Adult SelNet 0.75 |" in text
    assert "All: 36 trainings" in text
    assert "18 of them to do" in text


def test_half_size_epochs_and_narrow_networks_are_expected_to_be_fast(cache):
    full, narrow = (Training("CIFAR-10-cat", BUDGETS["full"]["CIFAR-10-cat"], "refit"), trainings_of)
    wide = seconds_expected(full)
    quick = BUDGETS["quick"]["CIFAR-10-cat"]
    assert seconds_expected(Training("CIFAR-10-cat", quick, "refit")) < wide / 1000
    both = narrow("CIFAR-10-cat", quick)
    assert minutes_expected(both) == pytest.approx(sum(map(seconds_expected, both)) / 120)


def test_the_command_writes_page_figure_and_tables(finished, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(command, "datasets_at_hand", list)
    command.main(["--only", "Adult", "CIFAR-10-cat", "--output", str(tmp_path)])
    assert {path.name for path in tmp_path.iterdir()} == {
        *("networks.md", "networks.png"),
        *("networks.csv", "network_runs.csv", "network_models.csv", "network_budgets.csv"),
    }
    assert np.ptp(imread(tmp_path / "networks.png")[..., :3]) > 0.5
    assert "Adult, CIFAR-10-cat" in capsys.readouterr().out


def test_pages_of_the_papers_tables_show_networks_where_there_are_any(evidence):
    runs = evidence["network_runs"]
    names = ["Adult", "CIFAR-10-cat"]
    data = pd.DataFrame({"dataset": names, "positive_rate": 0.3, "paper_positive_rate": 0.3})
    # Rows of LightGBM, as a run without networks has them.
    plain = runs[(runs["dataset"] == "Adult") & ~runs["method"].isin(LEARNT)].assign(classifier="LightGBM", cv=5)
    times = plain[plain["target_coverage"] == 0.9].drop(columns="target_coverage")
    without = {"cells": tables.paper_cells(plain.drop(columns="seconds"), times), "data": data}
    with_networks = {**without, "cells": tables.paper_cells(plain.drop(columns="seconds"), times, runs), **evidence}
    assert len(with_networks["cells"]) == len(without["cells"]) + len(tables.network_cells(runs))
    for name in ("table2", "table3", "table5", "table6"):
        before, after = ("\n".join(pages.PAGES[name](given)) for given in (without, with_networks))
        assert "SelNet |" not in before
        assert "Networks:" not in before
        assert "Networks:" in after
        assert "nan" not in after
    assert "SelNet | SAT | DeepGamblers |" in "\n".join(pages.PAGES["table3"](with_networks))
    titles = [axes.get_title() for axes in figures.auc_by_coverage(with_networks).axes]
    assert titles == ["Adult", f"CIFAR-10-cat\n{TINY_IMAGES.short()}"]
    assert "Coverage, ResNet" in "\n".join(pages.PAGES["table6"](with_networks))


# ---- several seeds ----


@pytest.fixture(scope="module")
def seeds(cache, tmp_path_factory):
    """Two seeds of the smaller networks, through the command."""
    output = tmp_path_factory.mktemp("seeds")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "datasets_at_hand", list)
        command.main(["--seeds", "2", "--only", "UCICredit", "CIFAR-10-cat", "--jobs", "1", "--output", str(output)])
    return output


def test_each_seed_trains_networks_of_its_own_on_tables_alone(seeds):
    rows = pd.read_csv(seeds / "network_seeds.csv")
    assert rows["dataset"].unique().tolist() == ["UCICredit"]
    assert rows.groupby("seed")["selection"].agg(list).tolist() == [["PlugIn", "SAT", "SelNet"]] * 2
    first, second = (rows[rows["seed"] == seed].set_index("selection") for seed in (42, 43))
    assert (first["auc_all"] != second["auc_all"]).all()
    # The band never selects fewer rows than the network that it stands beside.
    assert (rows["band_coverage"] >= rows["coverage"]).all()
    np.testing.assert_allclose(rows["difference"], rows["band_auc"] - rows["auc"], atol=1e-5)


def test_the_first_seed_is_the_training_of_the_study(cache):
    for training in trainings_of_seed("UCICredit", "budget", 42):
        assert training in trainings_of("UCICredit", TINY_TABLE)
    other = trainings_of_seed("UCICredit", "budget", 43)
    assert all(training.parameters()["random_state"] == 43 for training in other)
    assert other[-1].start == other[-2]


def test_the_page_of_seeds_shows_the_mean_difference_and_its_interval():
    rows = pd.DataFrame(
        {
            "dataset": "Adult",
            "seed": [42, 43, 44],
            "selection": "SAT",
            "auc_all": 0.9,
            "coverage": 0.8,
            "auc": [0.92, 0.93, 0.94],
            "band_auc": [0.93, 0.95, 0.97],
            "difference": [0.01, 0.02, 0.03],
        }
    )
    text = seeds_page(rows)
    # Student's t with two degrees of freedom: 4.303 * .01 / sqrt(3) = .0248.
    assert "| +.0200 [-.0048, +.0448] | 3 of 3 |" in text
    assert ".9300 ± .0100" in text
