"""Sets, splits and one cell of the suite, on small synthetic rows."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.metrics import roc_auc_score

pytest.importorskip("xgboost", reason='needs `pip install "aucross[experiments]"`')
pytest.importorskip("lightgbm", reason='needs `pip install "aucross[experiments]"`')

from experiments import store
from experiments.peers import MaxProbability, RejectPolicy, WindowPriority
from experiments.peers.probabilities import frozen_probabilities
from experiments.suite import plan, protocol, results, sets
from experiments.suite.methods import OURS, PEERS, SLOW_PEERS
from experiments.suite.protocol import FAMILIES, Cell, split_rows
from experiments.suite.runs import run_cell
from experiments.suite.sets import Columns, SuiteSet, as_features, read_set
from experiments.work import Work


def synthetic(name="made", n_rows=900, **others):
    X, y = make_classification(
        n_rows, n_features=4, n_informative=3, n_redundant=0, flip_y=0.2, weights=[0.8], random_state=0
    )
    frame = pd.DataFrame(X, columns=["a", "b [c]", "d", "e"])
    frame["level"] = np.where(frame["a"] > 0.5, "high", np.where(frame["a"] > -0.5, "low", None))
    frame.loc[::7, "d"] = np.nan
    return SuiteSet(name, as_features(frame), y.astype(np.int64), **others)


# Sets


def test_text_becomes_categories_and_names_are_accepted_by_every_library():
    X = as_features(pd.DataFrame({"a b": ["x", None, "y"], "[n]": [1, 2, 3], "inf": [np.inf, 1.0, 2.0]}))
    assert list(X.columns) == ["a_b", "_n_", "inf"]
    assert X["a_b"].cat.categories.tolist() == ["x", "y"]
    assert X.isna().sum().tolist() == [1, 0, 1]


def test_columns_that_become_the_same_are_refused():
    with pytest.raises(ValueError, match=r"columns must keep different names, got \['a_b'\] twice"):
        as_features(pd.DataFrame({"a b": [1], "a_b": [2]}))


def test_what_is_no_feature_is_left_out_and_lines_without_numbers_too(tmp_path):
    rows = pd.DataFrame(
        {
            "id": [1, 2, 3],
            "money": ["amount", "7.5", "8"],
            "who": [5, 5, 6],
            "target": [1, 0, 1],
            "kind": ["a", "b", "a"],
        }
    )
    rows.to_parquet(tmp_path / "made.parquet")
    found = read_set("made", tmp_path / "made.parquet", Columns(("id",), ("money",), group="who"))
    assert list(found.X.columns) == ["money", "kind"]
    assert found.X["money"].tolist() == [7.5, 8.0]
    assert found.y.tolist() == [0, 1]
    assert found.groups.tolist() == [0, 1]
    assert found.kind == "groups"


def test_the_last_quarter_in_time_is_later_also_with_names_of_months(tmp_path):
    rows = pd.DataFrame({"year": [2016, 2015, 2015, 2015], "month": ["January", "March", "February", None]})
    rows["target"] = [0, 1, 0, 1]
    rows.to_parquet(tmp_path / "made.parquet")
    columns = Columns(order=sets.by_columns("year", "month"))
    found = read_set("made", tmp_path / "made.parquet", columns)
    assert found.kind == "time"
    assert found.later.tolist() == [0]
    assert found.earlier.tolist() == [2, 1, 3]


def test_every_set_says_what_is_no_feature():
    named = {column for columns in sets.COLUMNS.values() for column in columns.dropped}
    assert {"duration", "weight", "surv6m", "prg6m", "y_pred_proba", "predicted_probability", "SK_ID_CURR"} <= named
    assert len(sets.NAMES) == 39


# Splits


def test_random_splits_differ_and_share_no_row():
    made = synthetic()
    first, second = (split_rows(made, split) for split in (0, 1))
    assert len(first.y_test) == 225
    assert len(first.y_train) == 675
    assert not first.X_test.equals(second.X_test)
    assert len(first.X_train.merge(first.X_test, on=["a", "e"])) == 0


def test_all_rows_of_a_customer_train_or_test():
    groups = np.repeat(np.arange(300), 3)
    made = synthetic(groups=groups)
    rows = split_rows(made, 3, most_trained=400)
    in_test = made.X.merge(rows.X_test, on=["a", "e"], how="left", indicator=True)["_merge"].eq("both").to_numpy()
    assert set(groups[in_test]).isdisjoint(rows.groups)
    assert len(rows.y_test) <= 225
    assert 390 <= len(rows.y_train) <= 400


def test_rows_before_the_cut_train_and_rows_after_it_test():
    order = np.random.default_rng(0).permutation(900)
    made = synthetic(earlier=order[:600], later=order[600:])
    rows = split_rows(made, 0)
    assert len(rows.y_train) == 480
    assert len(rows.y_test) == 240
    assert rows.X_test["a"].isin(made.X["a"].iloc[order[600:]]).all()
    assert rows.X_train["a"].isin(made.X["a"].iloc[order[:600]]).all()


# Peers


@pytest.fixture(scope="module")
def scored():
    rng = np.random.default_rng(0)
    score = rng.beta(1, 4, 1500)
    labels = (rng.random(1500) < score).astype(np.int64)
    given = np.column_stack((1 - score, score))
    return given[:500], labels[:500], given[500:], labels[500:]


@pytest.mark.parametrize("peer", [MaxProbability(), WindowPriority()], ids=lambda peer: peer.name)
def test_peers_that_rank_a_batch_keep_the_share_asked_for(peer, scored):
    if peer.library != "none":
        pytest.importorskip("abstention")
    held, y_held, test, _ = scored
    assert peer.select(frozen_probabilities(), held, y_held, test, 0.8).mean() == 0.8
    assert peer.select(frozen_probabilities(), held, y_held, test, 1.0).all()


def test_max_probability_answers_the_most_confident(scored):
    held, y_held, test, _ = scored
    selected = MaxProbability().select(frozen_probabilities(), held, y_held, test, 0.7)
    assert test[selected].max(axis=1).min() >= test[~selected].max(axis=1).max()


def test_the_window_of_abstention_raises_the_auc(scored):
    pytest.importorskip("abstention")
    held, y_held, test, y_test = scored
    selected = WindowPriority().select(frozen_probabilities(), held, y_held, test, 0.7)
    assert roc_auc_score(y_test[selected], test[selected, 1]) > roc_auc_score(y_test, test[:, 1])


def test_the_reject_policy_comes_near_the_coverage(scored):
    pytest.importorskip("calibrated_explanations")
    held, y_held, test, _ = scored
    selected = RejectPolicy().select(frozen_probabilities(), held, y_held, test, 0.8)
    assert selected.dtype == bool
    assert abs(selected.mean() - 0.8) < 0.1


# Cells


@pytest.fixture(scope="module")
def cell_rows():
    for module in ("abstention", "calibrated_explanations", "mapie"):
        pytest.importorskip(module)
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():  # scikit-fallback resets the filters
        pytest.importorskip("skfb")
        patch.setattr(protocol, "load", synthetic)
        patch.setitem(protocol.FAMILIES, "LightGBM", FAMILIES["Logistic"])
        return pd.DataFrame(run_cell(Cell(0, "made", "Logistic")))


def test_a_cell_measures_every_method_at_every_coverage(cell_rows):
    methods = [*OURS, *(peer.name for peer in (*PEERS, *SLOW_PEERS))]
    assert cell_rows["method"].unique().tolist() == methods
    assert (cell_rows.groupby("method")["target_coverage"].agg(list).map(tuple) == protocol.COVERAGES).all()
    assert cell_rows[["auc", "auc_all", "coverage", "oracle_distance", "seconds"]].notna().all(axis=None)
    assert cell_rows["n_test"].unique().tolist() == [225]


def test_a_method_equals_itself_at_equal_coverage(cell_rows):
    ours = cell_rows[cell_rows["method"] == "AUCross"]
    same = ours["aucross_coverage"] == ours["coverage"]
    assert same.any()
    assert np.allclose(ours.loc[same, "auc"], ours.loc[same, "aucross_auc"])


def test_no_band_beats_the_oracle(cell_rows):
    bands = cell_rows[cell_rows["method"].isin(["AUCross", "AUCross published", "PlugInAUC", "max probability"])]
    assert (bands["oracle_distance"] > -1e-9).all()


def test_a_shared_training_is_charged_to_every_method_that_needs_it(cell_rows):
    seconds = cell_rows.groupby("method")["seconds"].first()
    assert seconds["AUCross"] > seconds["PlugInAUC"] > 0
    assert seconds["AUCGate"] > seconds["AUCross"]


def test_every_family_takes_categories_and_missing_values():
    rows = split_rows(synthetic(), 0)
    for build in FAMILIES.values():
        proba = build().fit(rows.X_train, rows.y_train).predict_proba(rows.X_test)
        assert proba.shape == (225, 2)


# Plan


def test_splits_come_first_so_that_an_interrupted_run_has_every_set():
    cells = list(protocol.all_cells(["x", "y"], ["MLP"], 2))
    assert [(cell.split, cell.dataset) for cell in cells] == [(0, "x"), (0, "y"), (1, "x"), (1, "y")]


def test_the_key_of_a_cell_is_the_same_in_every_process(monkeypatch, tmp_path):
    (tmp_path / "suite").mkdir()
    (tmp_path / "suite" / "stroke.parquet").write_bytes(b"rows")
    monkeypatch.setenv("AUCROSS_DATA", str(tmp_path))
    plan.settings_of.cache_clear()
    settings = plan.settings_of("stroke", "MLP")
    plan.settings_of.cache_clear()
    assert " at 0x" not in settings
    assert "early_stopping" in settings
    monkeypatch.setattr(protocol, "MOST_TESTED", 10)
    assert plan.settings_of("stroke", "MLP") != settings
    plan.settings_of.cache_clear()


def test_the_plan_tells_what_is_left(monkeypatch, tmp_path):
    monkeypatch.setattr(store, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(plan, "settings_of", lambda dataset, family: "")
    works = plan.works_of(protocol.all_cells(["made"], ["MLP", "Logistic"], 1))
    assert "Logistic: 0 of 1 done, not timed yet" in plan.told(works, 2)
    store.write(plan.KIND, works[0].key, store.Stored([], 60.0))
    assert "MLP: 1 of 1 done, 60.0 s each in the middle" in plan.told(works, 2)


def a_work(settings, split=1):
    def measured(of):
        return [{**of.key, "method": method, "auc": auc} for method, auc in (("AUCross", 0.8), ("PlugIn", None))]

    return Work("suite", Cell(split, "made", "LightGBM"), measured, settings)


def test_a_run_goes_on_from_the_table_that_is_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "CACHE", tmp_path / "first")
    done, other = a_work("as it is"), a_work("as it is", split=2)
    done.finish()
    monkeypatch.setattr(results, "write_analysis", lambda *_: None)
    results.write_results([done], {}, 2, tmp_path)
    monkeypatch.setattr(store, "CACHE", tmp_path / "second")
    assert results.take_over([done, other], tmp_path) == 1
    assert other.stored() is None
    again = done.stored()
    assert [row["auc"] for row in again.rows] == [0.8, pytest.approx(np.nan, nan_ok=True)]
    assert again.rows[0] == {"split": 1, "dataset": "made", "family": "LightGBM", "method": "AUCross", "auc": 0.8}
    assert results.take_over([done, other], tmp_path) == 0, "what is stored is not taken twice"


def test_a_table_of_other_settings_or_none_is_not_taken_over(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "CACHE", tmp_path / "first")
    assert results.take_over([a_work("as it is")], tmp_path) == 0
    done = a_work("as it is")
    done.finish()
    monkeypatch.setattr(results, "write_analysis", lambda *_: None)
    results.write_results([done], {}, 1, tmp_path)
    monkeypatch.setattr(store, "CACHE", tmp_path / "second")
    assert results.take_over([a_work("another version of a library")], tmp_path) == 0
