"""Spark says what `tests/golden/frozen.json` holds of a fit in memory."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from tests.golden.frozen_cases import FILE, NEW, OLD, ScoreColumn, bits

pytest.importorskip("pyspark", reason='Spark is not installed: pip install "aucross[spark]"')

from aucross.cluster.spark import SparkAUCross, spark_decide


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
def test_spark_says_what_memory_said(spark):
    frozen = json.loads(FILE.read_text())["decide/engine"]["exact"]
    seen, new = (
        spark.createDataFrame(pa.Table.from_pandas(rows.X.assign(label=rows.y.astype(float), id=range(len(rows.y)))))
        for rows in (OLD, NEW)
    )
    model = SparkAUCross(ScoreColumn("vendor"), featuresCol=[*OLD.X], coverage=0.8, numFolds=3, statistic="exact")
    clf = model.fit(seen).toLocal()
    decided = spark_decide(clf, new, coverage=0.6).toArrow().to_pandas().sort_values("id")
    assert bits(decided["decision"] == "automatic") == frozen["0.6 selected"]
    for coverage in ("0.95", "0.8"):
        assert bits(clf.select(NEW.X, float(coverage))) == frozen[f"{coverage} selected"]
    found = clf.held_out_auc()
    assert (found.value, found.low, found.high) == pytest.approx(frozen["held-out AUC"], abs=1e-12)
    assert clf.expected_coverage(0.8).value == pytest.approx(frozen["expected coverage expected"], abs=1e-12)
