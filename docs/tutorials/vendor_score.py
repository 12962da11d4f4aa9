"""
A vendor's score in a column
============================

The bureau delivers points, one number per loan. There is no model to train and none to look
into: only a column, and the outcome of each loan. This tutorial places a band on that
column, expresses it in points, runs it as SQL where the loans are, and does the same once
more from the command line.
"""

# %%
# What the vendor delivers
# ------------------------
# A logistic regression on five columns stands for the vendor. It was trained on loans that
# we do not have; we get its points, 300 for a poor risk to 850 for a good one, and nothing
# else.
from textwrap import fill

import matplotlib.pyplot as plt
import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from aucross.datasets import make_credit

loans = make_credit(20_000).frame
known_to_vendor = [
    "credit_history_years",
    "delinquencies_2y",
    "inquiries_6m",
    "income",
    "debt_to_income",
]
vendor = make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression())
vendor.fit(loans[:4_000][known_to_vendor], loans[:4_000]["default"])

log_odds = vendor.decision_function(loans[known_to_vendor])
delivered = np.clip(np.round(560 - 60 * log_odds), 300, 850)
table = loans[["default"]].assign(points=delivered)[4_000:]
table.insert(0, "loan", [f"L-{number:05d}" for number in range(len(table))])
placing, test = table[:10_000], table[10_000:]
placing.head()

# %%
# ``placing`` are older loans with known outcomes, which will place the band. ``test`` are
# the later ones, which will judge it. The vendor's model must not have been trained on
# either: points of loans that it has learnt by heart look better than points of new ones.
#
# A column as a classifier
# ------------------------
# :class:`~aucross.ScoreColumn` makes a classifier of the column. It trains nothing. For
# points it needs two facts: at which number of points the predicted class changes, and that
# *low* points speak for a default.

from aucross import AUCross, ScoreColumn

points = ScoreColumn("points", threshold=600, higher_is_positive=False)
clf = AUCross(points, coverage=0.85).fit(placing, placing["default"])
band = clf.band()
highest, lowest = clf.estimator_.column_value([band.lower, band.upper])
print(f"to a person: {lowest:.0f} to {highest:.0f} points, both included")
print(
    f"decided automatically: {clf.select(placing).mean():.1%} of the loans that placed it"
)

# %%
# The band itself lies on the distance from the threshold, which is positive on the side of
# a default; ``column_value`` turns it back into points. The picture shows the points of the
# loans, and the band in grey.

figure, axes = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
edges = np.arange(300, 860, 10)
for value, color, label in ((0, "#1b6ca8", "repaid"), (1, "#e08e0b", "default")):
    shown = test["points"][test["default"] == value]
    options = {"density": True, "histtype": "step", "linewidth": 2}
    axes.hist(shown, edges, color=color, label=label, **options)
axes.axvspan(
    lowest, highest, color="#cccccc", alpha=0.6, linewidth=0, label="goes to a person"
)
axes.set(xlabel="points of the vendor", ylabel="density within the class", yticks=[])
axes.legend(frameon=False, loc="upper left")
plt.show()

# %%
# Does it pay?
# ------------
# The evaluation uses the later loans:

from aucross import evaluate_selective

evaluation = evaluate_selective(
    clf, test, test["default"], (1.0, 0.9, 0.85, 0.8), random_state=0
)
evaluation

# %%
# The gain has an interval above 0 at every coverage. The coverage is a little lower than
# asked for: these loans are later ones, and more of them have points in the band.
# :doc:`drift_two_years` shows how to notice that and what to do. Points are whole numbers,
# so many loans share a score, and a band takes all of them or none;
# :doc:`/howto/small-data` shows what to do where that leaves too few coverages to choose
# from.
#
# What can be *promised* for further loans of this kind is lower than what was measured, and
# comes with a confidence:

from aucross import promise_selective

promise = promise_selective(clf, test, test["default"])
promise

# %%
# The rule where the loans are
# ----------------------------
# The core system speaks SQL and knows nothing of Python. The band in points is one
# expression:

from aucross.core import RejectionBand
from aucross.export import band_to_sql

in_points = RejectionBand(lowest, highest)
rule = band_to_sql(in_points, "points")
print(rule)

# %%
# Here it runs in SQLite, over all test loans. Rows without points go to review.

import sqlite3
from contextlib import closing

with closing(sqlite3.connect(":memory:")) as database:
    test.to_sql("loans", database, index=False)
    counted = database.execute(
        f"SELECT {rule} AS decision, COUNT(*), AVG(points) FROM loans GROUP BY decision"
    ).fetchall()
    decided = [
        row[0] for row in database.execute(f"SELECT {rule} FROM loans ORDER BY loan")
    ]
for decision, number, mean in counted:
    print(f"{decision:10s} {number:6,} loans, {mean:.0f} points on average")
agree = (np.array(decided) == "automatic") == clf.select(test)
print(f"decided as in Python: {agree.all()}")

# %%
# From the command line
# ---------------------
# The same works without a line of Python: a table goes in, a model and decisions come out.

import os
import subprocess
import sys
import tempfile
from pathlib import Path

folder = Path(tempfile.mkdtemp())
placing.to_csv(folder / "loans.csv", index=False)
test.drop(columns="default").to_csv(folder / "new.csv", index=False)


def aucross(arguments):
    """Run a command in the folder and print what it prints."""
    command = [sys.executable, "-m", "aucross", *arguments.split()]
    environment = {**os.environ, "COLUMNS": "96", "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    print(fill(f"$ aucross {arguments}", 96, subsequent_indent="    "))
    for line in done.stdout.strip().splitlines():
        print(line if len(line) <= 96 else fill(line, 96))
    return done.stdout


fitted = aucross(
    "fit loans.csv --target default --id loan --score points --threshold 600 "
    "--low-is-positive --coverage 0.85 --no-report --out vendor.aucross"
)

# %%
# The table shows the loans that the command has kept apart, a quarter drawn at random:
# older loans, not the later ones of the evaluation above. The last lines say which points
# go to review. They differ a little from the band above, which was placed on all older
# loans. Now the command decides the new ones:

predicted = aucross("predict vendor.aucross new.csv --id loan --out decisions.csv")
print()
print("\n".join((folder / "decisions.csv").read_text().splitlines()[:5]))

# %%
# Two questions are left that no library can answer: who may send loans back for review, and
# what the reviewers see. :doc:`/howto/other-systems` shows probabilities instead of points,
# and places the band without moving a single row out of the warehouse; :doc:`/howto/gate`
# lets a model that reads all other columns decide which scores to trust.

import shutil

shutil.rmtree(folder)
