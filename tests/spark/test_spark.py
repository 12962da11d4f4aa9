"""Spark: the same decisions, bands and numbers as in memory, however the rows are cut, and whatever is killed."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.ensemble import GradientBoostingClassifier

from aucross import PlugInAUC

pytest.importorskip("pyspark", reason='Spark is not installed: pip install "aucross[spark]"')

from pyspark.sql import functions as F

from aucross.spark import spark_decide

NAMES = ["age", "income", "debt", "years"]
N_ROWS = 3000


def made_rows(seed: int) -> pd.DataFrame:
    # Few different values: sums of gradients are then exact, and trees do not depend on the order of rows.
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame(np.round(rng.normal(size=(N_ROWS, 4)), 1), columns=NAMES)
    positive = rows["age"] + 0.5 * rows["income"] + rng.normal(size=N_ROWS) > 0.8
    return rows.assign(
        id=np.arange(N_ROWS), region=rng.choice(["north", "south"], N_ROWS), weight=rng.integers(1, 4, N_ROWS),
        label=positive.astype(float), vendor=rng.normal(size=N_ROWS)
    )  # fmt: skip


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    return made_rows(0)


@pytest.fixture(scope="module")
def frame(spark, rows):
    df = spark.createDataFrame(pa.Table.from_pandas(rows, preserve_index=False)).repartition(4).cache()
    assert df.count() == N_ROWS
    return df


def model():
    return GradientBoostingClassifier(n_estimators=10, random_state=0)


@pytest.fixture(scope="module")
def clf(rows):
    return PlugInAUC(model(), coverage=0.8, random_state=0).fit(rows[NAMES], rows["label"])


def by_id(df) -> pd.DataFrame:
    return df.toArrow().to_pandas().sort_values("id", ignore_index=True)


def test_decisions_equal_those_in_memory_and_other_columns_stay_as_they_are(frame, rows, clf):
    exact = frame.withColumn("cents", F.expr("cast(id as decimal(20, 2)) + 9007199254740993"))
    decided = by_id(spark_decide(clf, exact, coverage=0.7).select("id", "cents", "score", "prediction", "decision"))
    in_memory = clf.scored(rows[NAMES])
    assert np.array_equal(decided["score"], in_memory.score)
    assert np.array_equal(decided["prediction"], in_memory.predicted)
    assert np.array_equal(decided["decision"] == "automatic", clf.select(in_memory, 0.7))
    assert str(decided["cents"][2]) == "9007199254740995.00"
