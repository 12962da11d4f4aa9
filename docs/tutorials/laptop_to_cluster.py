"""
From a laptop to a cluster
==========================

The table fits into memory today. Next year it may lie in files, in a warehouse or on many
machines. This tutorial takes one set of loans along that way, and compares the band and the
decisions at each stop.
"""

# %%
# On the laptop
# -------------
# The table has numeric columns only, so that every engine reads the same.
# :class:`~aucross.HashedFolds` decides the fold of a loan by a hash of the loan: wherever
# it lies and however the table is cut, it is in the same fold.

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier

from aucross import AUCross, HashedFolds, evaluate_selective
from aucross.datasets import make_credit
from aucross.estimators import classifier_from_ranking

loans = make_credit(12_000).frame
loans = loans.select_dtypes("number").sample(frac=1, random_state=0, ignore_index=True)
features = [name for name in loans if name != "default"]
train, test = loans[:8_000], loans[8_000:]

model = HistGradientBoostingClassifier(max_iter=30, random_state=0)
clf = AUCross(model, cv=HashedFolds(3), coverage=0.8)
clf.fit(train[features], train["default"])
clf.band()

# %%

evaluation = evaluate_selective(
    clf, test[features], test["default"], (1.0, 0.9, 0.8), random_state=0
)
evaluation

# %%
# Scores in files, larger than memory
# -----------------------------------
# Say that a model has scored the loans, and the scores lie in Parquet files. A band needs
# only how many loans of each class have each score. :func:`~aucross.export.rank_parquet`
# counts them batch by batch, in the memory of a few batches.

import tempfile
from pathlib import Path

from aucross import ScoreColumn
from aucross.export import rank_parquet

folder = tempfile.TemporaryDirectory()
probabilities = clf.predict_proba(test[features])[:, 1].astype("float32")
scores = pd.DataFrame({"score": probabilities, "default": test["default"]})
for number, part in enumerate(np.array_split(np.arange(len(scores)), 4)):
    scores.iloc[part].to_parquet(Path(folder.name) / f"part-{number}.parquet")

counts = rank_parquet(folder.name, score="score", label="default", bits=32)
counts

# %%
# The band is placed on the counts, and it is that of the same scores in memory. Its ends
# differ in the eighth digit: a counted score stands for all numbers that are rounded to it,
# so the band is widened to the middle between it and its neighbour. That changes the
# decision on no loan.

on_counts = classifier_from_ranking(AUCross(ScoreColumn("score"), coverage=0.8), counts)
in_memory = AUCross(ScoreColumn("score"), coverage=0.8).fit(scores, scores["default"])
for name, fitted in (("from the files", on_counts), ("in memory", in_memory)):
    print(f"{name:15s} {fitted.band().lower:.10f} to {fitted.band().upper:.10f}")

# %%
# By default, with ``bits=20``, scores are rounded while they are counted, and the counts
# take at most 1.6 MB, however many loans there are. The band then ends where the rounding
# puts it:

rounded = rank_parquet(folder.name, score="score", label="default")
on_rounded = classifier_from_ranking(AUCross(ScoreColumn("score"), coverage=0.8), rounded)
print(f"20 bits         {on_rounded.band().lower:.10f} to {on_rounded.band().upper:.10f}")
share = on_rounded.select(scores).mean()
print(
    f"selected: {share:.4f} with 20 bits, {in_memory.select(scores).mean():.4f} in memory"
)

# %%
# In a warehouse
# --------------
# The same counts are one query, which rounds the scores and ends in a ``GROUP BY``. No loan
# leaves the warehouse. These are its last lines:

from aucross.export import ranking_query, rule_to_sql

query = ranking_query("loans_2025", "score", "defaulted", dialect="postgres")
print("...", *query.splitlines()[-7:], sep="\n")

# %%
# And the rule goes back as SQL:

print(rule_to_sql(on_counts, "score"))

# %%
# On many machines
# ----------------
# ``aucross.cluster.dask`` trains, scores and counts where the partitions lie. Here the
# cluster is two threads of this process; in practice ``Client`` gets the address of yours.

import dask.dataframe as dd
from distributed import Client

from aucross.cluster.dask import DaskAUCross
from aucross.cluster.dask import evaluate_selective as evaluate_on_dask

client = Client(
    processes=False,
    n_workers=1,
    threads_per_worker=2,
    dashboard_address=None,
    set_as_default=True,
)
many = dd.from_pandas(train, npartitions=4)
on_dask = DaskAUCross(model, cv=HashedFolds(3), coverage=0.8)
on_dask.fit(many[features], many["default"])
on_dask.band()

# %%
# That is the band of the laptop, again up to the rounding of the counts. The decisions are
# a lazy frame, which is computed where its partitions are, or written to files by
# ``write_decisions``:

new = dd.from_pandas(test, npartitions=4)
decisions = on_dask.decide(new[features]).compute()
decisions.head()

# %%

same_decisions = (decisions["decision"].to_numpy() == "automatic") == clf.select(
    test[features]
)
print(f"decided as on the laptop: {same_decisions.all()}")

judged = evaluate_on_dask(on_dask, new[features], new["default"], (1.0, 0.9, 0.8))
judged

# %%
# The estimates are those of the laptop.
# ``to_local`` returns the classifier in memory. ``save`` writes it to a file, and it works
# as on every other page of this documentation:

local = on_dask.to_local()
client.close()
folder.cleanup()
local

# %%
# The picture shows all bands of this page: in blue those of the fit, in amber those of the
# scores in files.

import matplotlib.pyplot as plt

stops = {
    "laptop": clf,
    "Dask": on_dask,
    "files, 32 bits": on_counts,
    "files in memory": in_memory,
    "files, 20 bits": on_rounded,
}
figure, axes = plt.subplots(figsize=(6.4, 2.8), layout="constrained")
for place, (name, rule) in enumerate(stops.items()):
    band = rule.band()
    color = "#1b6ca8" if place < 2 else "#e08e0b"
    axes.barh(name, band.upper - band.lower, left=band.lower, color=color, height=0.6)
axes.invert_yaxis()
axes.set(xlabel="scores that go to a person", xlim=(0, 0.5))
axes.grid(axis="x", alpha=0.3)
plt.show()

# %%
# The bands of one colour are the same up to rounding. The two colours differ because the
# fit placed its band on the held-out scores of the training loans, and the files hold the
# scores of the test loans.
#
# With a base model that is itself distributed, such as LightGBM's or XGBoost's Dask
# classifier, the training rows stay on the workers, too.
#
# On Spark
# --------
# The estimators of ``aucross.cluster.spark`` belong to ``pyspark.ml``. This block is not
# run here, since it needs Java; a test of the library runs it and compares bands, scores
# and decisions with those in memory.
#
# .. code-block:: python
#
#    from pyspark.sql import SparkSession
#    from xgboost.spark import SparkXGBClassifier
#
#    from aucross.cluster.spark import SparkAUCross
#
#    spark = SparkSession.builder.master("local[2,4]").getOrCreate()  # or your cluster
#    base = SparkXGBClassifier(n_estimators=50, max_depth=4, num_workers=2)
#    estimator = SparkAUCross(
#        base, featuresCol=features, labelCol="default", numFolds=3, coverage=0.8
#    )
#    fitted = estimator.fit(spark.read.parquet("loans"))
#    decided = fitted.transform(spark.read.parquet("new"))  # score, prediction, decision
#
# :doc:`/howto/cluster` has the command line for clusters, what happens when a worker is
# lost, and what all of it costs on millions of rows. :doc:`/howto/other-systems` has the
# whole way through SQL.
