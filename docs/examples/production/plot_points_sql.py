"""
A scorecard in points, decided in a database
============================================

The score is a column of points that a vendor delivers: no model to call, high points are good. The band is placed on
that column, and the rule goes to the database as one expression of SQL. SQLite stands for the database; the question is
whether it decides as Python does.
"""

import sqlite3

import matplotlib.pyplot as plt
import numpy as np

from aucross import AUCross, ScoreColumn
from aucross.datasets import make_credit
from aucross.export import rule_to_sql

X, y = make_credit(12_000, return_X_y=True)
y = y.to_numpy()
rng = np.random.default_rng(0)
# Stands for what the vendor delivers: whole points between 300 and 850, lower for loans that will default.
X["points"] = np.clip(np.round(640 - 70 * y + rng.normal(0, 60, len(y))), 300, 850)
past, new = slice(0, 6_000), slice(6_000, None)

scorecard = ScoreColumn("points", threshold=560, higher_is_positive=False)
clf = AUCross(scorecard, coverage=0.8).fit(X[past], y[past])
review = clf.estimator_.column_band(clf.band())
print(f"review loans with {review.lower:.0f} to {review.upper:.0f} points")

# %%
# The band lies on the distance below the threshold. The rule for the database is written in points.

sql = rule_to_sql(clf, "points")
print(sql)

database = sqlite3.connect(":memory:")
X[new][["points"]].to_sql("loans", database, index_label="loan")
decided = database.execute(f"SELECT points, {sql} AS decision FROM loans ORDER BY loan").fetchall()
database.close()

in_sql = np.array([decision == "automatic" for _, decision in decided])
in_python = clf.select(X[new])
print(
    f"{in_sql.sum()} of {len(in_sql)} loans automatic; decisions that differ from Python: {(in_sql != in_python).sum()}"
)

# %%
# The points of the new loans, coloured by what the database decided. The threshold of the scorecard lies outside the
# review range: the band is where the order of the loans says least, not where the predicted class changes.

points = np.array([value for value, _ in decided])
bins = np.arange(review.lower - 0.5 - 30 * 6, 850, 6)
figure, panels = plt.subplots(2, 1, figsize=(7.5, 4.6), sharex=True, layout="constrained")
for axes, label, name in zip(panels, (0, 1), ("repaid", "default"), strict=True):
    rows = y[new] == label
    axes.hist(
        [points[rows & in_sql], points[rows & ~in_sql]],
        bins,
        stacked=True,
        color=["#1b6ca8", "#e08e0b"],
        label=["automatic", "review"],
    )
    axes.axvline(560, color="#c8402f", linewidth=1.5, linestyle="--", label="threshold of the scorecard")
    axes.set(ylabel=f"loans, {name}")
panels[1].set(xlabel="points of the vendor's scorecard", xlim=(400, 850))
figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=3, frameon=False)
plt.show()

# %%
# Many loans have the same whole number of points, and a band takes all of them or none, so the coverage is not exactly
# the one asked for: see :doc:`/auto_examples/bands/plot_ties`. Loans without points are sent to review by the same
# expression. :doc:`/howto/other-systems` has more on columns of scores, and on bands that are placed in a database.
