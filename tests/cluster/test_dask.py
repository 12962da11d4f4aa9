"""Selective classifiers on a real cluster of two worker processes."""

from __future__ import annotations

import json
import logging
import re
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import dask.array as da
import dask.dataframe as dd
import joblib
import numpy as np
import pandas as pd
import pytest
from distributed import Client
from lightgbm import DaskLGBMClassifier, LGBMClassifier
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from xgboost import XGBClassifier
from xgboost.collective import Config as CollConfig
from xgboost.dask import DaskXGBClassifier

from aucross import (
    AUCross,
    HashedFolds,
    PlugInAUC,
    ScoreColumn,
    SCross,
    evaluate_selective,
    load,
    promise_selective,
    save,
)
from aucross.cli.app import run
from aucross.cluster import write_decisions as write_parts
from aucross.cluster.dask import DaskAUCross, DaskPlugInAUC, DaskSCross, write_decisions
from aucross.cluster.dask import evaluate_selective as dask_evaluate
from aucross.cluster.dask import promise_selective as dask_promise
from aucross.cluster.dask.dask_rows import DaskRows
from aucross.cluster.engine import LostWorkerError
from aucross.core import RankedScores, ScoreRounding
from aucross.evaluation import TrainingRowsWarning
from tests.cluster.cluster_models import (
    CountingClassifier,
    KillingObjective,
    KillsInTraining,
    KillsItsWorker,
    KillsWhileMerging,
    rank_part,
)

pytestmark = [
    pytest.mark.filterwarnings("ignore:Parameter n_jobs will be ignored"),
    pytest.mark.filterwarnings("ignore:Cannot compute class probabilities"),
    pytest.mark.filterwarnings("ignore:.*Sending large graph"),
    # A table of counts gives many rows one score.
    pytest.mark.filterwarnings("ignore:a coverage of .* cannot be reached"),
    pytest.mark.filterwarnings("ignore:the models of the folds select from"),
]

RNG = np.random.default_rng(0)
ROWS = pd.DataFrame(
    {"a": RNG.integers(0, 30, 4000), "b": RNG.integers(0, 12, 4000), "loan": RNG.permutation(4000)}, dtype="float64"
)
LABELS = pd.Series((RNG.random(4000) < (ROWS["a"] + ROWS["b"]) / 60).astype(int), name="bad")
WEIGHT = pd.Series(RNG.integers(1, 4, 4000).astype(float))
GROUP = pd.Series(np.where(RNG.random(4000) < 0.3, "north", "south"))
ORDER = RNG.permutation(4000)
COVERAGES = (0.95, 0.8, 0.5)


PAGE = (Path(__file__).resolve().parents[2] / "docs" / "howto" / "cluster.md").read_text(encoding="utf-8")


def collection(values, n_partitions):
    return dd.from_pandas(values.reset_index(drop=True), npartitions=n_partitions)


@pytest.fixture(scope="module")
def in_memory():
    """Fitted in memory on the same folds."""
    model = CountingClassifier()
    return {
        "AUCross": AUCross(model, cv=HashedFolds(3, key="loan")).fit(ROWS, LABELS),
        "SCross": SCross(model, cv=HashedFolds(3, key="loan")).fit(ROWS, LABELS),
        "PlugInAUC": PlugInAUC(model, cv=HashedFolds(10, key="loan")).fit(ROWS, LABELS),
    }


ON_CLUSTER = {"AUCross": DaskAUCross, "SCross": DaskSCross, "PlugInAUC": DaskPlugInAUC}


def by_key(name, **options):
    n_folds = 10 if name == "PlugInAUC" else 3
    return ON_CLUSTER[name](CountingClassifier(), cv=HashedFolds(n_folds, key="loan"), **options)


def assert_same_decisions(local, reference, groups=None):
    for coverage in COVERAGES:
        np.testing.assert_array_equal(
            local.select(ROWS, coverage, groups), reference.select(ROWS, coverage, groups), err_msg=str(coverage)
        )


# ---- the same as in memory ----


@pytest.mark.parametrize(
    ("name", "n_partitions", "order"),
    [
        ("AUCross", 1, "given"),
        ("AUCross", 4, "shuffled"),
        ("SCross", 4, "shuffled"),
        ("PlugInAUC", 20, "shuffled"),
    ],
)
def test_the_result_equals_that_in_memory_however_rows_are_cut(client, in_memory, name, n_partitions, order):
    rows = np.arange(4000) if order == "given" else ORDER
    X, y = collection(ROWS.iloc[rows], n_partitions), collection(LABELS.iloc[rows], n_partitions)
    clf = by_key(name, statistic="exact").fit(X, y)
    assert_same_decisions(clf.to_local(), in_memory[name])
    assert clf.expected_coverage(0.8).value == pytest.approx(in_memory[name].expected_coverage(0.8).value)
    assert clf.held_out_auc(0.8).value == pytest.approx(in_memory[name].held_out_auc(0.8).value, abs=1e-12)


def test_scores_of_20_bits_are_counted_alike_however_rows_are_cut(client):
    # Scores as general as they come; the model is never trained, so that nothing but counting differs.
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"vendor": rng.beta(2, 5, 30_000)})
    y = pd.Series((rng.random(30_000) < X["vendor"]).astype(int))
    order = rng.permutation(30_000)
    clf = DaskAUCross(ScoreColumn("vendor"), coverage=0.8, cv=2, statistic="binned")
    clf.fit(collection(X.iloc[order], 20), collection(y.iloc[order], 20))
    exact = AUCross(ScoreColumn("vendor"), cv=HashedFolds(5)).fit(X, y)
    score, rounding = X["vendor"].to_numpy(), ScoreRounding(20)
    counted = clf.to_local().held_out_.ranked()
    at_once = RankedScores.from_labels(y, rounding.round(score))
    for part in ("scores", "positives", "negatives"):
        np.testing.assert_array_equal(getattr(counted, part), getattr(at_once, part))
    # The band takes whole bins, so that what it covers is counted without any error.
    assert clf.expected_coverage(0.8).value == pytest.approx(clf.band(0.8).selects(score).mean(), abs=1e-12)
    largest_bin = (at_once.positives + at_once.negatives).max() / 30_000
    assert abs(clf.expected_coverage(0.8).value - exact.expected_coverage(0.8).value) < 2 * largest_bin
    tied = at_once.positives @ at_once.negatives / (at_once.total_positives * at_once.total_negatives)
    assert abs(counted.auc() - RankedScores.from_labels(y, score).auc()) < min(tied / 2, 1e-5)


def test_weights_and_groups_are_those_in_memory(client):
    model, folds = CountingClassifier(), HashedFolds(3, key="loan")
    memory = AUCross(model, cv=folds).fit(ROWS, LABELS, sample_weight=WEIGHT, band_groups=GROUP)
    clf = DaskAUCross(model, cv=folds).fit(
        collection(ROWS, 5), collection(LABELS, 5), collection(WEIGHT, 5), band_groups=collection(GROUP, 5)
    )
    assert_same_decisions(clf.to_local(), memory, GROUP)
    decided = clf.decide(collection(ROWS, 3), 0.8, band_groups=collection(GROUP, 3)).compute()
    np.testing.assert_array_equal(decided["decision"] == "automatic", memory.select(ROWS, 0.8, GROUP))
    with pytest.raises(ValueError, match="band_groups must be given if and only if"):
        clf.select(collection(ROWS, 3))


def test_x_and_y_of_other_partitions_are_brought_together(client, in_memory, tmp_path):
    for number in range(4):
        part = slice(1000 * number, 1000 * (number + 1))
        ROWS[part].assign(bad=LABELS[part]).to_parquet(tmp_path / f"{number}.parquet")
    frame = dd.read_parquet(tmp_path)
    X, y = frame[["a", "b", "loan"]], frame["bad"].repartition(npartitions=3)
    clf = by_key("AUCross").fit(X, y)
    assert_same_decisions(clf.to_local(), in_memory["AUCross"])
    with pytest.raises(ValueError, match="X and y must have the same number of rows, got 4000 and 3000"):
        clf.fit(X, collection(LABELS[:3000], 5))


# ---- collections in, collections out ----


@pytest.fixture(scope="module")
def fitted(client):
    return by_key("AUCross", coverage=0.8).fit(collection(ROWS, 4), collection(LABELS, 4))


def test_decisions_are_lazy_and_have_the_columns_that_they_promise(client, fitted):
    frame = ROWS.set_index(np.arange(4000) * 10)
    lazy = fitted.decide(dd.from_pandas(frame, npartitions=4))
    decided = lazy.compute()
    local = fitted.to_local()
    assert lazy._meta.columns.tolist() == decided.columns.tolist() == [*local.decide(ROWS).columns()]
    assert lazy.divisions == (0, 10000, 20000, 30000, 39990)
    np.testing.assert_array_equal(decided.index, frame.index)
    np.testing.assert_array_equal(decided["score"], local.scored(ROWS).score)
    np.testing.assert_array_equal(decided["decision"] == "automatic", local.select(ROWS))
    np.testing.assert_array_equal(decided["prediction"], local.predict(ROWS))
    for column in ("score", "lower", "prediction"):
        assert lazy[column].dtype == decided[column].dtype


def test_other_answers_are_those_of_the_classifier_in_memory(client, fitted):
    X, local = collection(ROWS, 4), fitted.to_local()
    np.testing.assert_array_equal(fitted.select(X, 0.6).compute(), local.select(ROWS, 0.6))
    np.testing.assert_array_equal(fitted.predict_selective(X, 0.6).compute(), local.predict_selective(ROWS, 0.6))
    np.testing.assert_array_equal(fitted.predict(X).compute(), local.predict(ROWS))
    np.testing.assert_array_equal(fitted.predict_proba(X).compute(), local.predict_proba(ROWS))
    assert fitted.band(0.6) == local.band(0.6)
    assert fitted.coverage_for(auc=0.8).value == local.coverage_for(auc=0.8).value


def test_recalibration_is_that_in_memory(client, fitted):
    again = fitted.recalibrate(collection(ROWS[:1500], 7), sample_weight=collection(WEIGHT[:1500], 7))
    memory = fitted.to_local().recalibrate(ROWS[:1500], sample_weight=WEIGHT[:1500])
    assert again.band(0.7) == memory.band(0.7)
    assert again.to_local().fitted_.n_placing_rows == pytest.approx(memory.fitted_.n_placing_rows)
    assert fitted.band(0.7) != again.band(0.7)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
def test_evaluation_and_promise_are_those_in_memory(client, fitted, weight):
    X, y, local = collection(ROWS, 6), collection(LABELS, 5), fitted.to_local()
    of_rows = None if weight is None else collection(weight, 6)
    found = dask_evaluate(fitted, X, y, [1.0, 0.8, 0.6], sample_weight=of_rows)
    scored = local.scored(ROWS)
    expected = evaluate_selective(local, scored, LABELS, [1.0, 0.8, 0.6], sample_weight=weight)
    for name in ("achieved_coverage", "selective_auc", "selective_accuracy", "positive_rate"):
        np.testing.assert_allclose(found.estimates[name], expected.estimates[name], rtol=1e-9, err_msg=name)
    in_memory = promise_selective(local, scored, LABELS, 0.8, sample_weight=weight, allow_fit_rows=True)
    promised = dask_promise(fitted, X, y, 0.8, sample_weight=of_rows)
    assert promised.selective_auc == pytest.approx(in_memory.selective_auc)


def test_a_positive_class_that_is_not_the_second_is_evaluated_as_such(client):
    local = AUCross(LogisticRegression(), pos_label=0, random_state=0).fit(ROWS, LABELS)
    X, y = collection(ROWS, 3), collection(LABELS, 3)
    with pytest.warns(TrainingRowsWarning, match="took part in the fit"):
        found = dask_evaluate(local, X, y, [1.0, 0.8])
    with pytest.raises(ValueError, match="took part in the fit"):
        dask_promise(local, X, y)
    expected = evaluate_selective(local, local.scored(ROWS), LABELS, [1.0, 0.8])
    for name in ("selective_auc", "selective_accuracy", "positive_rate"):
        np.testing.assert_allclose(found.estimates[name], expected.estimates[name], rtol=1e-6, err_msg=name)


def test_the_classifier_in_memory_is_stored(client, tmp_path):
    X, y = da.from_array(ROWS.to_numpy(), chunks=(900, 2)), da.from_array(LABELS.to_numpy(), chunks=1000)
    clf = DaskPlugInAUC(LogisticRegression(), coverage=0.8).fit(X, y)
    save(clf.to_local(), tmp_path / "model.aucross")
    again = load(tmp_path / "model.aucross")
    np.testing.assert_array_equal(clf.select(X).compute(), again.select(ROWS.to_numpy()))


# ---- boosters ----


def booster(library, **parameters):
    if library == "lightgbm":
        # time_out and tree_learner are of the machines that train, and no file of a model may name them.
        return DaskLGBMClassifier(n_estimators=8, verbosity=-1, time_out=60, tree_learner="voting", **parameters)
    return DaskXGBClassifier(n_estimators=8, coll_cfg=CollConfig(retry=2), **parameters)


@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
def test_boosters_train_on_the_cluster_and_their_models_are_stored(whole_cluster, tmp_path, library):
    clf = DaskPlugInAUC(booster(library), cv=HashedFolds(4, key="loan")).fit(
        collection(ROWS, 3), collection(LABELS, 4), collection(WEIGHT, 3)
    )
    local = clf.to_local()
    assert type(local.estimator_) is (LGBMClassifier if library == "lightgbm" else XGBClassifier)
    memory = PlugInAUC(FrozenEstimator(local.estimator_), cv=HashedFolds(4, key="loan"))
    assert_same_decisions(local, memory.fit(ROWS, LABELS, sample_weight=WEIGHT))
    save(local, tmp_path / "model.aucross")
    assert_same_decisions(load(tmp_path / "model.aucross"), local)
    assert not {"machines", "local_listen_port", "num_machines", "num_threads"} & vars(local.estimator_).keys()


@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
def test_a_booster_may_name_the_cluster_and_a_clone_shares_it(whole_cluster, library):
    base = booster(library)
    base.client = whole_cluster
    clf = DaskPlugInAUC(base, cv=4)
    with Client(whole_cluster.scheduler.address) as current:  # another connection, which must not be used
        assert clf.named_client() is whole_cluster
        assert current is not whole_cluster
        clf.fit(collection(ROWS, 2), collection(LABELS, 2))
    assert base.client is whole_cluster
    assert clf.expected_coverage(0.8).value == pytest.approx(0.8, abs=0.05)
    twin = clone(DaskPlugInAUC(base, cv=4, client=whole_cluster))
    assert twin.client is whole_cluster
    assert twin.estimator is not base
    assert twin.named_client() is whole_cluster


def test_folds_of_ordinary_estimators_run_on_the_cluster(client):
    clf = AUCross(LogisticRegression(), cv=2, n_jobs=2, random_state=0)
    alone = clf.fit(ROWS, LABELS).band(0.8)
    with joblib.parallel_config(backend="dask"):
        assert clf.fit(ROWS, LABELS).band(0.8) == alone


# ---- lost workers: the model ends the process of its worker, and the nanny starts another ----


@pytest.mark.parametrize(("method", "call"), [("predict_proba", 8), ("fit", 2)])
def test_a_worker_lost_while_training_in_memory_or_scoring_changes_no_bit(
    whole_cluster, in_memory, tmp_path, method, call
):
    model = KillsItsWorker(method, call, str(tmp_path))
    clf = DaskAUCross(model, cv=HashedFolds(3, key="loan")).fit(collection(ROWS, 6), collection(LABELS, 6))
    assert (tmp_path / str(call)).exists()
    assert_same_decisions(clf.to_local(), in_memory["AUCross"])
    assert clf.to_local().held_out_.n_rows == 4000


@pytest.mark.attack("commands and workers killed, and large tables", everyday=False)
def test_a_worker_lost_while_rankings_are_merged_changes_no_bit(whole_cluster, tmp_path):
    score, positive = ROWS["a"].to_numpy() / 30, LABELS.to_numpy() == 1
    frame = pd.DataFrame({"score": score, "positive": positive})
    rows = DaskRows.of(whole_cluster, collection(frame, 16))
    merged = rows.counted(rank_part, None, KillsWhileMerging(2, str(tmp_path)))
    assert (tmp_path / "2").exists()
    together = RankedScores.from_labels(positive, score)
    assert merged.positives.tobytes() == together.positives.tobytes()
    assert merged.negatives.tobytes() == together.negatives.tobytes()


@pytest.fixture
def little_patience(monkeypatch):
    """A fit that hangs is given up sooner."""
    monkeypatch.setattr("aucross.cluster.dask.dask_boosters._GRACE", 1.5)


@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
@pytest.mark.usefixtures("little_patience")
def test_a_worker_lost_in_a_distributed_fit_makes_it_begin_again(whole_cluster, tmp_path, caplog, library):
    (tmp_path / "0").mkdir()
    model = (
        DaskLGBMClassifier(n_estimators=5, verbosity=-1, objective=KillingObjective(str(tmp_path / "0")), time_out=1)
        if library == "lightgbm"
        else DaskXGBClassifier(n_estimators=5, callbacks=[KillsInTraining(str(tmp_path))])
    )
    clf = DaskPlugInAUC(model, cv=4)
    with caplog.at_level(logging.WARNING, logger="aucross.cluster.classifier"):
        # With an objective of one's own LightGBM has no probabilities, which is noticed once it has trained.
        refused = pytest.raises(ValueError, match="must return probabilities between 0 and 1")
        with refused if library == "lightgbm" else nullcontext():
            clf.fit(collection(ROWS[["a", "b"]], 4), collection(LABELS, 4))
    assert "a worker was lost in attempt 1 of 3" in caplog.text
    if library == "xgboost":
        assert clf.expected_coverage(0.8).value == pytest.approx(0.8, abs=0.05)


@pytest.mark.usefixtures("little_patience")
def test_a_fit_that_may_not_begin_again_ends_with_a_sentence_and_what_is_kept_stays(whole_cluster, tmp_path):
    (tmp_path / "0").mkdir()
    model = DaskXGBClassifier(n_estimators=5, callbacks=[KillsInTraining(str(tmp_path))])
    clf, X = DaskPlugInAUC(model, cv=4, max_retries=0), collection(ROWS[["a", "b"]], 4).persist()
    with pytest.raises(LostWorkerError, match="lost workers in each of 1 attempts"):
        clf.fit(X, collection(LABELS, 4))
    assert X["a"].sum().compute() == ROWS["a"].sum()


def test_a_worker_lost_while_writing_loses_nothing_and_writes_nothing_twice(whole_cluster, fitted, tmp_path):
    source, target, calls = (tmp_path / name for name in ("rows", "decisions", "calls"))
    for folder in (source, calls):
        folder.mkdir()
    for number in range(6):
        ROWS[number * 500 : (number + 1) * 500].to_parquet(source / f"{number}.parquet")
    local = fitted.to_local()
    killing = KillsItsWorker("predict_proba", 3, str(calls))
    killing.__dict__ |= {name: value for name, value in vars(local.estimator_).items() if name.endswith("_")}
    killing.feature_names_in_ = np.array(["a", "b", "loan"], dtype=object)
    given, local.fitted_ = local.fitted_, replace(local.fitted_, estimator=killing)
    try:
        counts = write_decisions(local, source, target, columns=["loan"])
    finally:
        local.fitted_ = given
    written = pd.concat([pd.read_parquet(target / f"{number}.parquet") for number in range(6)], ignore_index=True)
    assert (calls / "3").exists()
    assert [part.rows for part in counts] == [500] * 6
    np.testing.assert_array_equal(written["loan"], ROWS["loan"][:3000])
    np.testing.assert_array_equal(written["decision"] == "automatic", local.select(ROWS[:3000]))
    with pytest.raises(ValueError, match=r"another model|other bands|another coverage"):
        write_decisions(by_key("AUCross", coverage=0.6).fit(collection(ROWS, 2), collection(LABELS, 2)), source, target)


def test_decisions_on_rows_that_have_changed_are_not_kept(client, tmp_path):
    clf = PlugInAUC(LogisticRegression(), random_state=0).fit(ROWS, LABELS)
    (tmp_path / "rows").mkdir()
    ROWS[:500].to_parquet(tmp_path / "rows" / "0.parquet")
    given = (clf, tmp_path / "rows", tmp_path / "decisions")
    counts = write_decisions(*given)
    assert write_parts(*given) == counts  # known by the same digest without an engine
    ROWS[500:1000].to_parquet(tmp_path / "rows" / "0.parquet")
    with pytest.raises(ValueError, match=r"holds decisions on other rows under the name 0\.parquet"):
        write_decisions(*given)


# ---- the command line ----


def test_the_command_line_fits_decides_and_evaluates_on_folders(whole_cluster, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("loans").mkdir()
    for number in range(2):
        part = slice(2000 * number, 2000 * (number + 1))
        ROWS[part].assign(bad=LABELS[part]).to_parquet(f"loans/{number}.parquet")
    here = ["--engine", "dask"]
    at = [*here, "--scheduler", whole_cluster.scheduler.address]
    by = ["--target", "bad", "--id", "loan", "--base", "logistic", "--method", "plugin-auc", "--coverage", "0.8"]
    assert run(["fit", "loans", *by, "--out", "model.aucross", *at]) == 0
    shown = capsys.readouterr()
    assert "note: Dask: " in shown.err
    assert "dashboard at" in shown.err
    assert run(["predict", "model.aucross", "loans", "--out", "decisions", *here]) == 0  # on workers of its own
    written = pd.read_parquet("decisions")
    clf = load("model.aucross")
    assert written.columns.tolist() == ["loan", "score", "prediction", "decision"]
    np.testing.assert_array_equal(written["decision"] == "automatic", clf.select(ROWS[["a", "b"]]))
    capsys.readouterr()
    assert run(["evaluate", "model.aucross", "loans", "--json", *at]) == 0
    assert json.loads(capsys.readouterr().out)["n_rows"] == 4000
    assert run(["evaluate", "model.aucross", "loans", *here, "--scheduler", "nowhere://10.0.0.1"]) == 1
    assert "--scheduler: no Dask scheduler answers at nowhere://10.0.0.1" in capsys.readouterr().err
    assert run(["fit", "loans", *by, "--by", "a", *at]) == 2
    assert "--by needs the rows in this process" in capsys.readouterr().err
    assert run(["fit", "loans", *by, "--customer", "loan", "--out", "grouped.aucross", *at]) == 0
    assert "the intervals count each row by itself, though rows of one 'loan' belong" in capsys.readouterr().err


def test_the_command_of_the_page_trains_its_booster_into_a_file_that_is_read(whole_cluster, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("loans").mkdir()
    rows = ROWS[:1000].rename(columns={"loan": "amount"})
    rows.assign(default=LABELS[:1000]).to_parquet("loans/0.parquet")
    command, at = re.search(r"\$ aucross (fit loans --engine dask .*)", PAGE)[1], whole_cluster.scheduler.address
    assert run([*command.split(), "--scheduler", at]) == 0
    clf = load("model.aucross")
    assert type(clf.estimator_) is LGBMClassifier
    assert clf.select(rows).mean() == pytest.approx(0.8, abs=0.1)
    assert run(["predict", "model.aucross", "loans", "--out", "decisions", "--engine", "dask", "--scheduler", at]) == 0
    np.testing.assert_array_equal(pd.read_parquet("decisions")["decision"] == "automatic", clf.select(rows))


# ---- the page ----


def block_of(title):
    return re.search(rf"## {title}\n.*?```python\n(.*?)```", PAGE, re.DOTALL)[1]


def test_the_blocks_of_the_page_in_memory_and_on_dask_give_the_same(whole_cluster):
    names: dict = {"__name__": "__main__"}
    for title in ("In memory", "Dask"):
        exec(re.sub(r"client = .*", "pass", block_of(title)), names)  # the cluster of these tests
    on_dask, decided = names["on_dask"], names["lazy"].compute()
    for coverage in (0.8, 0.6):
        expected = names["clf"].band(coverage)
        assert on_dask.band(coverage).lower == pytest.approx(expected.lower, rel=1e-7)
        assert on_dask.band(coverage).upper == pytest.approx(expected.upper, rel=1e-7)
    np.testing.assert_array_equal(decided["decision"] == "automatic", names["decisions"].selected)
    for name in ("achieved_coverage", "selective_auc", "auc_gain"):
        np.testing.assert_allclose(names["judged"].estimates[name], names["evaluation"].estimates[name], 1e-12, 1e-9)


def test_the_page_is_a_script_that_its_workers_can_import():
    # Without the guard each worker would start workers, and Python refuses that.
    names: dict = {"__name__": "__mp_main__"}
    exec(block_of("Dask"), names)
    assert "Client" in names
    assert "client" not in names


# As many as make the sketches of XGBoost approximate: of fewer rows it keeps all values.
GENERAL = pd.DataFrame(RNG.normal(size=(8000, 4)), columns=list("abcd"))
POSITIVE = pd.Series((GENERAL["a"] + GENERAL["b"] * GENERAL["c"] + RNG.normal(size=8000) > 0.3).astype(int))
FOREST = RandomForestClassifier(20, min_samples_leaf=20, random_state=0)


@pytest.mark.parametrize(
    ("memory", "on_cluster", "n_digits", "order", "is_same"),
    [
        (LogisticRegression(), None, 9, "reversed", True),
        (HistGradientBoostingClassifier(max_iter=20), None, 9, "reversed", True),
        (FOREST, None, 9, "given", True),
        (FOREST, None, 9, "reversed", False),
        (XGBClassifier(n_estimators=20), DaskXGBClassifier(n_estimators=20), 1, "reversed", True),
        (XGBClassifier(n_estimators=20), DaskXGBClassifier(n_estimators=20), 9, "given", False),
        (LGBMClassifier(n_estimators=8, verbosity=-1), DaskLGBMClassifier(n_estimators=8), 1, "given", False),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "fit") else str(value),
)
@pytest.mark.few_scores
def test_which_models_decide_as_in_memory(whole_cluster, memory, on_cluster, n_digits, order, is_same):
    # The table of the page. If a line begins to hold, or no longer does, correct it there.
    rows, place = GENERAL.round(n_digits), np.arange(8000) if order == "given" else np.arange(8000)[::-1]
    X, y = collection(rows.iloc[place], 4), collection(POSITIVE.iloc[place], 4)
    clf = DaskPlugInAUC(memory if on_cluster is None else on_cluster, cv=HashedFolds(4), coverage=0.8).fit(X, y)
    expected = PlugInAUC(memory, cv=HashedFolds(4), coverage=0.8).fit(rows, POSITIVE).select(rows)
    selected = clf.to_local().select(rows)
    differ = (selected != expected).mean()
    assert differ == 0 if is_same else 0.01 < differ < 0.25, differ
    np.testing.assert_array_equal(clf.select(collection(rows, 3)).compute(), selected)


# ---- what is refused ----


def test_what_cannot_work_is_refused_with_a_remedy(client):
    X, y = collection(ROWS, 2), collection(LABELS, 2)
    with pytest.raises(TypeError, match="X must be a Dask DataFrame"):
        DaskAUCross(CountingClassifier()).fit(ROWS, LABELS)
    with pytest.raises(TypeError, match="cv must be a number of folds or HashedFolds"):
        DaskAUCross(CountingClassifier(), cv=[(0, 1)]).fit(X, y)
    with pytest.raises(ValueError, match="statistic must be"):
        DaskAUCross(CountingClassifier(), statistic="fast").fit(X, y)
    with pytest.raises(ValueError, match="y must hold two classes on a cluster, got 3"):
        DaskAUCross(CountingClassifier()).fit(X, collection(LABELS + (ROWS["a"] > 20), 2))
    with pytest.raises(ValueError, match="y must hold 0 and 1 only, got"):
        DaskAUCross(DaskLGBMClassifier()).fit(X, collection(LABELS + 1, 2))
    with pytest.raises(ValueError, match="coverage_confidence must be None with sample_weight"):
        DaskPlugInAUC(CountingClassifier(), coverage_confidence=0.9).fit(X, y, collection(WEIGHT, 2))
