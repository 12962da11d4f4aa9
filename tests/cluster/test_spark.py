"""Spark: the same decisions, bands and numbers as in memory, however the rows are cut, and whatever is killed."""

from __future__ import annotations

import json
import os
import re
from copy import copy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.ensemble import GradientBoostingClassifier
from xgboost import XGBClassifier

from aucross import AUCross, HashedFolds, PlugInAUC, ScoreColumn, SCross, evaluate_selective, load, promise_selective
from aucross.cluster import write_decisions
from aucross.core import RankedScores, ScoreRounding
from tests.cli.commands import QUICK, aucross

pytest.importorskip("pyspark", reason='Spark is not installed: pip install "aucross[spark]"')

from pyspark.errors import PySparkException
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.classification import LogisticRegression
from pyspark.ml.evaluation import BinaryClassificationEvaluator
from pyspark.ml.feature import VectorAssembler
from pyspark.ml.tuning import CrossValidator, ParamGridBuilder
from pyspark.sql import functions as F
from xgboost.spark import SparkXGBClassifier

from aucross.cluster.engine import LostWorkerError
from aucross.cluster.spark import (
    SparkAUCross,
    SparkPlugInAUC,
    SparkSCross,
    SparkSelectiveModel,
    spark_decide,
    spark_evaluate,
    spark_promise,
    spark_recalibrate,
    spark_write_decisions,
)
from aucross.cluster.spark.spark_rows import FeatureColumns, SparkRows
from tests.cluster.killers import KilledWhileScoring, KilledWhileTraining, kill_once

NAMES = ["age", "income", "debt", "years"]
N_ROWS = 3000
BOOSTER = {"n_estimators": 10, "max_depth": 3, "verbosity": 0}

# xgboost asks Spark for pandas, of which Spark does not know the latest version yet.
pytestmark = [
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.few_scores,
]


def made_rows(seed: int) -> pd.DataFrame:
    # Few different values: sums of gradients are then exact, and trees do not depend on the order of rows.
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame(np.round(rng.normal(size=(N_ROWS, 4)), 1), columns=NAMES)
    positive = rows["age"] + 0.5 * rows["income"] + rng.normal(size=N_ROWS) > 0.8
    return rows.assign(
        id=np.arange(N_ROWS),
        region=rng.choice(["north", "south"], N_ROWS),
        weight=rng.integers(1, 4, N_ROWS).astype(float),
        label=positive.astype(float),
        vendor=rng.beta(2, 5, N_ROWS),
    )


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    return made_rows(0)


@pytest.fixture(scope="module")
def frame(spark, rows):
    df = spark.createDataFrame(pa.Table.from_pandas(rows, preserve_index=False)).repartition(2).cache()
    assert df.count() == N_ROWS
    return df


def model():
    return GradientBoostingClassifier(n_estimators=10, random_state=0)


def booster(**parameters):
    return XGBClassifier(n_jobs=1, **BOOSTER, **parameters)


@pytest.fixture(scope="module")
def clf(rows):
    return PlugInAUC(model(), coverage=0.8, random_state=0).fit(rows[NAMES], rows["label"])


@pytest.fixture(scope="module")
def in_memory(rows):
    return AUCross(booster(), cv=HashedFolds(2), coverage=0.8).fit(rows[NAMES], rows["label"])


@pytest.fixture(scope="module")
def fitted(frame):
    """Trained by the workers of Spark."""
    cut = frame.orderBy("debt", "id").repartition(3)
    return SparkAUCross(SparkXGBClassifier(**BOOSTER), featuresCol=NAMES, coverage=0.8, numFolds=2).fit(cut)


def by_id(df) -> pd.DataFrame:
    return df.toArrow().to_pandas().sort_values("id", ignore_index=True)


def ends(band) -> tuple[float, float]:
    """The ends of a band, which for counted scores lie beyond the noise of float32 numbers."""
    return band.lower, band.upper


# ---- classifiers that were fitted in memory ----


def test_decisions_equal_those_in_memory_and_other_columns_stay_as_they_are(frame, rows, clf):
    exact = frame.withColumn("cents", F.expr("cast(id as decimal(20, 2)) + 9007199254740993"))
    decided = by_id(spark_decide(clf, exact, coverage=0.7).select("id", "cents", "score", "prediction", "decision"))
    in_memory = clf.scored(rows[NAMES])
    assert np.array_equal(decided["score"], in_memory.score)
    assert np.array_equal(decided["prediction"], in_memory.predicted)
    assert np.array_equal(decided["decision"] == "automatic", clf.select(in_memory, 0.7))
    assert str(decided["cents"][2]) == "9007199254740995.00"


def test_texts_three_classes_and_groups_reach_the_model(frame, rows):
    grade = np.select([rows["age"] < -0.5, rows["age"] > 0.5], ["low", "high"], "middle")
    clf = SCross(model(), coverage=0.8, cv=3, random_state=0)
    clf.fit(rows[NAMES].to_numpy(), grade, band_groups=rows["region"])
    assembled = VectorAssembler(inputCols=NAMES, outputCol="all").transform(frame)
    decided = by_id(spark_decide(clf, assembled, features="all", band_groups="region").drop("all"))
    assert np.array_equal(decided["prediction"], clf.predict(rows[NAMES].to_numpy()))
    selected = clf.select(rows[NAMES].to_numpy(), band_groups=rows["region"])
    assert np.array_equal(decided["decision"] == "automatic", selected)
    np.testing.assert_array_equal(np.stack(decided["score"]), clf.predict_proba(rows[NAMES].to_numpy()))


@pytest.mark.parametrize("weight", [None, "weight"])
def test_recalibration_equals_that_on_rows(frame, rows, in_memory, weight):
    last_month = frame.where("age > -0.5")
    by_spark = spark_recalibrate(in_memory, last_month, weight=weight)
    part = rows[rows["age"] > -0.5]
    by_rows = in_memory.recalibrate(part[NAMES], sample_weight=None if weight is None else part[weight])
    assert by_spark.band(0.7) == by_rows.band(0.7)
    assert by_spark.fitted_.n_placing_rows == pytest.approx(by_rows.fitted_.n_placing_rows)


def test_evaluation_and_promise_equal_those_on_rows(spark, fitted, clf, in_memory):
    rows = made_rows(1)
    frame = spark.createDataFrame(pa.Table.from_pandas(rows, preserve_index=False))
    by_spark = fitted.evaluate(frame, [1.0, 0.8])
    by_rows = evaluate_selective(in_memory, rows[NAMES], rows["label"], coverages=[1.0, 0.8])
    for name in ("achieved_coverage", "selective_auc", "auc_gain", "selective_accuracy"):
        np.testing.assert_allclose(by_spark.estimates[name], by_rows.estimates[name], rtol=1e-12, atol=1e-9)
    promise = promise_selective(clf, rows[NAMES], rows["label"], sample_weight=rows["weight"])
    assert str(spark_promise(clf, frame, label="label", weight="weight")) == str(promise)
    seen = made_rows(0)
    reversed_clf = AUCross(model(), pos_label=0, random_state=0).fit(seen[NAMES], seen["label"])
    again = evaluate_selective(reversed_clf, reversed_clf.scored(rows[NAMES]), rows["label"], [0.8], n_bootstrap=0)
    found = spark_evaluate(reversed_clf, frame, coverages=[0.8], label="label")
    np.testing.assert_allclose(found.estimates["selective_auc"], again.estimates["selective_auc"], rtol=1e-6)
    with pytest.raises(ValueError, match="only, got 1,500 rows with others"):
        spark_evaluate(clf, frame.withColumn("label", F.col("id") % 4), label="label")
    rows_of_fit = spark.createDataFrame(pa.Table.from_pandas(seen, preserve_index=False))
    with pytest.raises(ValueError, match="took part in the fit"):
        spark_promise(reversed_clf, rows_of_fit, label="label")


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda clf, df: spark_decide(clf, df.drop("debt")), "got 'debt', which it lacks"),
        (lambda clf, df: spark_decide(clf, df.withColumn("score", F.lit(1))), "must not have a column 'score'"),
        (lambda clf, df: spark_decide(clf, df, band_groups="nobody"), "band_groups must be columns of the frame"),
        (lambda clf, df: spark_decide(clf, df, features=[]), "features must name at least one column"),
        (lambda clf, df: spark_decide(clf, df, coverage=90), r"coverage must be in \(0, 1\], got 90"),
        (lambda clf, df: spark_recalibrate(clf, df.where("id < 0")), "must hold at least one row, got none"),
        (lambda clf, df: SparkAUCross().fit(df), "estimator must be given"),
        (lambda clf, df: SparkAUCross(model(), statistic="short").fit(df), 'statistic must be "auto"'),
        (lambda clf, df: SparkAUCross(model(), featuresCol=NAMES, labelCol="id").fit(df), "must hold 0 and 1 only"),
        (lambda clf, df: SparkAUCross(model(), featuresCol=NAMES, keyCol="nobody").fit(df), "keyCol must be columns"),
        (
            lambda clf, df: SparkAUCross(LogisticRegression(), featuresCol=NAMES).fit(df),
            "one column of vectors for LogisticRegression",
        ),
    ],
)
def test_calls_that_cannot_work_are_refused_before_anything_is_trained(frame, clf, call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call(clf, frame)


# ---- estimators ----


def test_what_spark_trains_equals_what_memory_trains(fitted, in_memory, frame, rows):
    assert ends(fitted.band()) == pytest.approx(ends(in_memory.band()), rel=1e-5)
    assert ends(fitted.band(0.6)) == pytest.approx(ends(in_memory.band(0.6)), rel=1e-5)
    decided = by_id(fitted.transform(frame))
    assert np.array_equal(decided["score"], in_memory.scored(rows[NAMES]).score)
    assert np.array_equal(decided["decision"] == "automatic", in_memory.select(rows[NAMES]))
    assert decided["prediction"].dtype == np.float64
    assert np.array_equal(decided["prediction"], in_memory.predict(rows[NAMES]))
    local = fitted.toLocal()
    assert np.array_equal(local.select(rows[NAMES], 0.6), in_memory.select(rows[NAMES], 0.6))


def test_the_cut_and_the_order_of_rows_do_not_matter(frame, rows, monkeypatch):
    monkeypatch.setattr("aucross.cluster.spark.spark_rows._FAN_IN", 3)  # so that several tasks merge
    shuffled = frame.repartition(7, F.rand(7))
    estimator = SparkPlugInAUC(booster(), featuresCol=NAMES, coverage=0.8, numFolds=2)
    clf = PlugInAUC(booster(), cv=HashedFolds(2), coverage=0.8).fit(rows[NAMES], rows["label"])
    assert ends(estimator.fit(shuffled).band()) == pytest.approx(ends(clf.band()), rel=1e-5)


def test_scores_of_20_bits_are_counted_alike_however_rows_are_cut(frame, rows):
    shuffled = frame.repartition(5, F.rand(5))
    # General scores of a model that is never trained, so that nothing but counting differs.
    estimator = SparkPlugInAUC(ScoreColumn("vendor"), featuresCol=["vendor"], numFolds=2, statistic="binned")
    fitted = estimator.fit(shuffled)
    held_out = rows[HashedFolds(2).fold_of(rows[["vendor"]]) == 0]
    counted = fitted.toLocal().held_out_.ranked()
    at_once = RankedScores.from_labels(held_out["label"], ScoreRounding(20).round(held_out["vendor"]))
    for part in ("scores", "positives", "negatives"):
        np.testing.assert_array_equal(getattr(counted, part), getattr(at_once, part))
    # The band takes whole bins, so that what it covers is counted without any error.
    covered = fitted.band().selects(held_out["vendor"]).mean()
    assert fitted.toLocal().expected_coverage().value == pytest.approx(covered, abs=1e-12)


@pytest.mark.parametrize(
    ("on_spark", "method", "further"),
    [(SparkSCross, SCross, {}), (SparkPlugInAUC, PlugInAUC, {}), (SparkAUCross, AUCross, {"placement": "centered"})],
)
def test_other_methods_weights_groups_and_keys_equal_memory(frame, rows, on_spark, method, further):
    estimator = on_spark(
        booster(),
        featuresCol=NAMES,
        weightCol="weight",
        bandGroupCol="region",
        keyCol="id",
        numFolds=2,
        coverage=0.8,
        seed=5,
        **further,
    )
    fitted = estimator.fit(frame)
    clf = method(booster(), cv=HashedFolds(2, seed=5), coverage=0.8, **further)
    clf.fit(rows[NAMES], rows["label"], sample_weight=rows["weight"], groups=rows["id"], band_groups=rows["region"])
    decided = by_id(fitted.transform(frame))
    assert np.array_equal(decided["decision"] == "automatic", clf.select(rows[NAMES], band_groups=rows["region"]))


def test_a_pipeline_with_a_model_of_spark_is_written_and_read(frame, rows, tmp_path):
    assemble = VectorAssembler(inputCols=NAMES, outputCol="features", handleInvalid="keep")
    base = LogisticRegression(maxIter=3)
    unfitted = Pipeline(stages=[assemble, SparkAUCross(base, coverage=0.8, numFolds=2, seed=3)])
    unfitted.write().save(str(tmp_path / "unfitted"))
    fitted = Pipeline.load(str(tmp_path / "unfitted")).fit(frame)
    fitted.write().save(str(tmp_path / "fitted"))
    again = PipelineModel.load(str(tmp_path / "fitted"))
    assert isinstance(again.stages[1], SparkSelectiveModel)
    first, second = (by_id(each.transform(frame).drop("features")) for each in (fitted, again))
    pd.testing.assert_frame_equal(first, second)
    automatic = first["decision"] == "automatic"
    assert automatic.mean() == pytest.approx(0.8, abs=0.03)
    assert np.array_equal(automatic, fitted.stages[1].toLocal().select(first[["score"]]))
    # What is no score is not decided automatically.
    broken = frame.withColumn("debt", F.lit(float("nan")))
    assert by_id(fitted.transform(broken).drop("features"))["decision"].eq("review").all()


def test_a_model_with_a_booster_is_written_and_read(fitted, frame, tmp_path):
    fitted.write().save(str(tmp_path / "model"))
    again = SparkSelectiveModel.load(str(tmp_path / "model")).setCoverage(0.6)
    assert again.band() == fitted.band(0.6)
    pd.testing.assert_frame_equal(by_id(again.transform(frame)), by_id(fitted.copy().setCoverage(0.6).transform(frame)))
    with pytest.raises(ValueError, match="must be one of pyspark"):
        SparkAUCross(model()).write().save(str(tmp_path / "estimator"))


def test_with_a_key_models_are_signed_and_only_signed_ones_are_read(fitted, frame, tmp_path, monkeypatch):
    rows = VectorAssembler(inputCols=NAMES, outputCol="features").transform(frame)
    whole = SparkSelectiveModel(fitted.toLocal(), LogisticRegression(maxIter=1).fit(rows)).setCoverage(0.8)
    unsigned, signed = tmp_path / "unsigned", tmp_path / "signed"
    whole.write().save(str(unsigned))
    for name in ("key", "other"):
        (tmp_path / name).write_text(f"{name:>16}")
    monkeypatch.setenv("AUCROSS_KEY_FILE", str(tmp_path / "key"))
    whole.write().save(str(signed))
    assert SparkSelectiveModel.load(str(signed)).band() == whole.band()
    with pytest.raises(ValueError, match="is refused: it is not signed"):
        SparkSelectiveModel.load(str(unsigned))
    # The signature holds for what lies beside the classifier, too: the coverage, and the model that gives the scores.
    for file in (next((signed / "metadata").glob("part-*")), next((signed / "base" / "metadata").glob("part-*"))):
        content = file.read_bytes()
        file.with_name(f".{file.name}.crc").unlink()
        changed = content.replace(b'"coverage":0.8', b'"coverage":0.9').replace(b'"maxIter":1', b'"maxIter":2')
        assert changed != content
        file.write_bytes(changed)
        with pytest.raises(ValueError, match="are not those that were signed"):
            SparkSelectiveModel.load(str(signed))
        file.write_bytes(content)
    SparkSelectiveModel.load(str(signed))
    monkeypatch.setenv("AUCROSS_KEY_FILE", str(tmp_path / "other"))
    with pytest.raises(ValueError, match="is refused"):
        SparkSelectiveModel.load(str(signed))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # its threads are never closed
@pytest.mark.filterwarnings("ignore:all held-out scores equal:UserWarning")
def test_a_cross_validator_chooses_parameters_of_the_base_model(frame):
    base = LogisticRegression(maxIter=3, elasticNetParam=1.0)
    estimator = SparkPlugInAUC(base, numFolds=2)
    grid = ParamGridBuilder().addGrid(base.regParam, [0.0, 1000.0]).build()
    judge = BinaryClassificationEvaluator(rawPredictionCol="score")
    search = CrossValidator(estimator=estimator, estimatorParamMaps=grid, evaluator=judge, numFolds=2, seed=1)
    chosen = search.fit(VectorAssembler(inputCols=NAMES, outputCol="features").transform(frame))
    assert chosen.avgMetrics[0] > 0.8
    assert chosen.avgMetrics[1] == 0.5  # no coefficient is left
    assert chosen.bestModel.baseModel.getRegParam() == 0.0


# ---- workers that are killed ----


def killing(clf, path):
    """A classifier like `clf` that kills the first worker which scores with it."""
    model = KilledWhileScoring.__new__(KilledWhileScoring)
    model.__dict__.update(vars(clf.estimator_), mark=str(path), driver=os.getpid())
    killer = copy(clf)
    killer.fitted_ = replace(clf.fitted_, estimator=model)
    return killer


def test_a_worker_killed_while_scoring_or_ranking_changes_no_bit(frame, clf, tmp_path):
    decided = by_id(spark_decide(killing(clf, tmp_path / "scoring"), frame))
    assert (tmp_path / "scoring").exists()
    pd.testing.assert_frame_equal(decided, by_id(spark_decide(clf, frame)))
    ranked = spark_recalibrate(killing(clf, tmp_path / "ranking"), frame)
    assert (tmp_path / "ranking").exists()
    undisturbed = spark_recalibrate(clf, frame)
    assert ranked.band(0.7) == undisturbed.band(0.7)
    assert ranked.band_rule_.ranking.scores.tobytes() == undisturbed.band_rule_.ranking.scores.tobytes()


@pytest.mark.attack("commands and workers killed, and large tables", everyday=False)
def test_a_fit_that_loses_a_worker_starts_anew(frame, rows, tmp_path):
    killer = KilledWhileTraining(str(tmp_path / "mark"), os.getpid())
    base = SparkXGBClassifier(**BOOSTER, callbacks=[killer])
    fitted = SparkPlugInAUC(base, featuresCol=NAMES, coverage=0.8, numFolds=2).fit(frame)
    clf = PlugInAUC(booster(), cv=HashedFolds(2), coverage=0.8).fit(rows[NAMES], rows["label"])
    assert ends(fitted.band()) == pytest.approx(ends(clf.band()), rel=1e-5)
    assert (tmp_path / "mark").exists()


@pytest.mark.attack("commands and workers killed, and large tables", everyday=False)
def test_a_worker_killed_while_rankings_are_merged_changes_no_bit(frame, rows, tmp_path):
    mark, driver = str(tmp_path / "mark"), os.getpid()

    def rank(part, _):
        return RankedScores.from_labels(part.y == 1, part.X["vendor"])

    def merge(parts):
        kill_once(mark, driver)
        return RankedScores.merge(parts)

    merged = SparkRows(frame.repartition(3), FeatureColumns(("vendor",)), {"y": "label"}).counted(rank, None, merge)
    together = RankedScores.from_labels(rows["label"] == 1, rows["vendor"])
    assert (tmp_path / "mark").exists()
    assert merged.scores.tobytes() == together.scores.tobytes()
    assert merged.positives.tobytes() == together.positives.tobytes()


def test_a_fit_that_loses_a_worker_each_time_is_given_up_with_a_sentence(frame, monkeypatch):
    def lost(self, df):
        attempts.append(df.count())
        raise PySparkException("Python worker exited unexpectedly (crashed)")

    attempts = []
    monkeypatch.setattr(SparkXGBClassifier, "fit", lost)
    estimator = SparkPlugInAUC(SparkXGBClassifier(**BOOSTER), featuresCol=NAMES, numFolds=3)
    with pytest.raises(LostWorkerError, match="the fit of fold 1 of 3 lost workers in each of 3 attempts"):
        estimator.fit(frame)
    assert len(attempts) == 3
    assert len(set(attempts)) == 1


def test_a_worker_killed_while_writing_leaves_each_decision_once(spark, rows, clf, tmp_path):
    (tmp_path / "rows").mkdir()
    for number, part in enumerate(np.array_split(np.arange(N_ROWS), 3)):
        rows.iloc[part].to_parquet(tmp_path / "rows" / f"{number}.parquet")
    parts = spark_write_decisions(killing(clf, tmp_path / "mark"), tmp_path / "rows", tmp_path / "out", spark=spark)
    assert (tmp_path / "mark").exists()
    assert parts == write_decisions(clf, tmp_path / "rows", tmp_path / "local")
    for part in sorted((tmp_path / "local").glob("*.parquet")):
        pd.testing.assert_frame_equal(pd.read_parquet(part), pd.read_parquet(tmp_path / "out" / part.name))
    (tmp_path / "out" / "1.parquet").unlink()
    with pytest.raises(ValueError, match="another model"):
        spark_write_decisions(clf, tmp_path / "rows", tmp_path / "out", spark=spark)
    # What was written without an engine is known by the same digest.
    assert spark_write_decisions(clf, tmp_path / "rows", tmp_path / "local", spark=spark) == parts
    rows.iloc[1000:2000].to_parquet(tmp_path / "rows" / "0.parquet")
    with pytest.raises(ValueError, match=r"holds decisions on other rows under the name 0\.parquet"):
        spark_write_decisions(clf, tmp_path / "rows", tmp_path / "local", spark=spark)


# ---- the command line ----


def test_the_commands_fit_evaluate_and_predict_on_a_folder(spark, rows, tmp_path):
    (tmp_path / "loans").mkdir()
    table = rows.assign(label=rows["label"].astype(int))[[*NAMES, "id", "label"]]
    for number, part in enumerate(np.array_split(np.arange(N_ROWS), 2)):
        table.iloc[part].to_parquet(tmp_path / "loans" / f"{number}.parquet", index=False)
    model, loans, out = tmp_path / "loans.aucross", tmp_path / "loans", tmp_path / "decisions"
    options = ("--target", "label", "--id", "id", "--out", model, "--coverage", "0.8", *QUICK)
    assert aucross("fit", loans, "--engine", "spark", *options).exit_code == 0
    clf = load(model)
    judged = aucross("evaluate", model, loans, "--engine", "spark", "--json")
    assert json.loads(judged.stdout)["n_rows"] == N_ROWS
    assert aucross("predict", model, loans, "--engine", "spark", "--out", out, "--quiet").exit_code == 0
    written = pd.concat([pd.read_parquet(part) for part in sorted(out.glob("*.parquet"))])
    assert written["id"].tolist() == list(range(N_ROWS))
    assert np.mean((written["decision"] == "automatic") == clf.select(rows[NAMES])) > 0.999  # products round otherwise


# ---- the page ----


def test_the_blocks_of_the_page_in_memory_and_on_spark_give_the_same(spark):
    page = (Path(__file__).resolve().parents[2] / "docs" / "howto" / "cluster.md").read_text(encoding="utf-8")
    names: dict = {"__name__": "__main__"}
    for title in ("In memory", "Spark"):
        exec(re.search(rf"## {title}\n.*?```python\n(.*?)```", page, re.DOTALL)[1], names)
    clf, model, decided = names["clf"], names["model"], names["decided"].toArrow().to_pandas()
    assert ends(model.band()) == pytest.approx(ends(clf.band()), rel=1e-5)
    assert np.array_equal(decided["decision"] == "automatic", names["decisions"].selected)
    for name in ("achieved_coverage", "selective_auc", "auc_gain"):
        np.testing.assert_allclose(names["on_spark"].estimates[name], names["evaluation"].estimates[name], 1e-12, 1e-9)
