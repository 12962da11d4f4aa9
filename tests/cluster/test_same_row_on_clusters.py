"""The same row gets the same decision on Dask, on Spark and in memory, however the rows of a batch are cut."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from xgboost import XGBClassifier

from aucross import HashedFolds, PlugInAUC

pytestmark = [
    pytest.mark.few_scores,
    pytest.mark.filterwarnings("ignore:.*Sending large graph"),
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]

# The models of the page's table. Trained once, so that what is compared is folds, counts, bands and decisions.
MODELS = [
    LogisticRegression(),
    HistGradientBoostingClassifier(max_iter=20),
    RandomForestClassifier(20, min_samples_leaf=20, random_state=0),
    XGBClassifier(n_estimators=20, max_depth=3, n_jobs=1),
    LGBMClassifier(n_estimators=20, n_jobs=1, verbosity=-1),
]
COVERAGES = (0.9, 0.6)
NAMES = list("abcd")


def tied_rows(seed):
    """Few categories, so that many rows share a score, and a number that names each row."""
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame(rng.integers(0, 3, size=(1500, 4)).astype(float), columns=NAMES)
    margin = (rows[NAMES] - 1).to_numpy() @ [0.9, -0.5, 0.4, 0.7] - 0.3 + rng.logistic(size=1500)
    return rows.assign(label=(margin > 0).astype(int), id=np.arange(1500))


TRAINED, PLACED, NEW = (tied_rows(seed) for seed in range(3))


def decided_by_dask(client, base, coverage):
    dd = pytest.importorskip("dask.dataframe")
    from aucross.cluster.dask import DaskPlugInAUC  # noqa: PLC0415

    rows = dd.from_pandas(PLACED.iloc[::-1].reset_index(drop=True), npartitions=3)
    clf = DaskPlugInAUC(base, cv=HashedFolds(4), coverage=0.8, client=client)
    clf.fit(rows[NAMES], rows["label"], groups=rows["id"])
    for n_partitions in (1, 7):
        frame = dd.from_pandas(NEW.iloc[::-1].reset_index(drop=True), npartitions=n_partitions)
        found = clf.decide(frame[NAMES], coverage).compute()
        yield found["decision"].to_numpy()[::-1], found["score"].to_numpy()[::-1]


def decided_by_spark(spark, base, coverage):
    pa = pytest.importorskip("pyarrow")
    from aucross.cluster.spark import SparkPlugInAUC  # noqa: PLC0415

    placed, new = (spark.createDataFrame(pa.Table.from_pandas(rows)) for rows in (PLACED, NEW))
    estimator = SparkPlugInAUC(base, featuresCol=NAMES, keyCol="id", numFolds=4, coverage=0.8)
    model = estimator.fit(placed.repartition(3)).setCoverage(coverage)
    found = model.transform(new.repartition(7)).toArrow().to_pandas().sort_values("id")
    yield found["decision"].to_numpy(), found["score"].to_numpy()


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize(("engine", "decided"), [("client", decided_by_dask), ("spark", decided_by_spark)])
def test_a_row_is_decided_as_in_memory(request, engine, decided, model):
    base = FrozenEstimator(model.fit(TRAINED[NAMES], TRAINED["label"]))
    clf = PlugInAUC(base, cv=HashedFolds(4), coverage=0.8)
    clf.fit(PLACED[NAMES], PLACED["label"], groups=PLACED["id"])
    coverage = COVERAGES[MODELS.index(model) % 2]
    selected = clf.select(NEW[NAMES], coverage)
    assert 0 < selected.mean() < 1
    one_by_one = [clf.select(NEW[NAMES].iloc[[row]], coverage)[0] for row in range(20)]
    np.testing.assert_array_equal(selected[:20], one_by_one)
    for decision, score in decided(request.getfixturevalue(engine), base, coverage):
        np.testing.assert_array_equal(decision == "automatic", selected)
        np.testing.assert_allclose(score, clf.scored(NEW[NAMES]).score, rtol=1e-6)
