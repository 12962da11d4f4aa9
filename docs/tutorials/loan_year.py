"""
A year of loans
===============

Cases go to people, and what comes of a loan is known a year later. This tutorial runs such
a year with a record: decide every month, review, wait for the outcomes, watch, and place
the bands again with the labels that came in. It takes about fifteen minutes to read.
"""

# %%
# Past loans, and the applications of a year
# ------------------------------------------

import tempfile

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import balanced_accuracy_score

from aucross import AUCross
from aucross.datasets import make_credit

X, y = make_credit(20_000, return_X_y=True)
day, X = X["issue_date"], X.drop(columns="issue_date")
past, year = day < "2021-01-01", (day >= "2021-01-01") & (day < "2022-01-01")

boosting = HistGradientBoostingClassifier(max_iter=40, random_state=0)
clf = AUCross(boosting, coverage=0.8, random_state=0).fit(X[past], y[past])
month = day[year].dt.strftime("%Y-%m")
print(f"{past.sum():,} past loans, {year.sum():,} applications in {month.nunique()} months")

# %%
# Every month: decide
# -------------------
# A record is one file, or a PostgreSQL database. A batch is decided once: the job of a
# month may be killed or run twice, and each case is there once.

from aucross.record import Record, recorded_calibration, recorded_team_score, watch

folder = tempfile.TemporaryDirectory()
record = Record.open(f"{folder.name}/cases.db")
for name, rows in X[year].groupby(month):
    print(record.decide(clf, rows, batch=name, ids=rows.index))
again = record.decide(clf, rows, batch=name, ids=rows.index)
print(again)

# %%
# Every week: review
# ------------------
# The queue holds the cases that wait for a person, and tells nothing of what the machine
# would say, so that they judge for themselves. Say that our reviewers
# see papers that the model does not, and are right in four cases of five; in one of twenty
# they need further documents, and the case stays open.

queue = record.queue().to_pandas()
rng = np.random.default_rng(0)
truth = y[queue["id"].astype(int)].to_numpy()
answers = np.where(rng.random(len(queue)) < 0.8, truth, 1 - truth).astype(object)
answers[rng.random(len(queue)) < 0.05] = "needs documents"
reviews = queue[["batch", "id"]].assign(reviewer="r-17", answer=answers)
print(record.add_reviews(reviews))
print(len(record.queue()), "cases are still open")
queue[["batch", "id", "decided_at"]].head()

# %%
# A year later: outcomes
# ----------------------
# Outcomes are told by the id. A reviewer's answer never counts as one. Those of the first
# nine months are known by now; a file that is sent twice counts once.

known = X[year][month < "2021-10"].index
outcomes = [{"id": row, "outcome": y[row]} for row in known]
print(record.add_outcomes(outcomes))
print(record.add_outcomes(outcomes))

# %%
# Is it as it should be?
# ----------------------
# The monitor reads the record: each batch once, with outcomes as labels.

monitor, share, labels = watch(record, clf)
print(share.message)
print(labels.message)

# %%
# The team is the model where it decides and the reviewers where they do. Its score counts
# final decisions against outcomes, and says which cases it leaves out.

team = recorded_team_score(record, balanced_accuracy_score)
cases = record.cases().to_pandas()
of_model = cases[cases["outcome"].notna()]
alone = balanced_accuracy_score(of_model["outcome"], of_model["prediction"])
calibration = recorded_calibration(record)
print("model alone:", round(alone, 4))
print("team:       ", team)
print("calibration error:", calibration)

# %%
# Place the bands again
# ---------------------
# For the next year the bands are placed on the cases of this one. A case counts by its
# outcome where there is one, and by the probability of its score elsewhere.

by_id = cases.set_index(cases["id"].astype(int))["outcome"].astype(float)
labels_of_year = by_id[X[year].index]  # NaN where nothing is known yet
placed = clf.recalibrate(X[year], labels_of_year)
for name, model in {"as fitted": clf, "placed again": placed}.items():
    band, chosen = model.band(), model.select(X[year]).mean()
    print(
        f"{name}: review from {band.lower:.3f} to {band.upper:.3f}, {chosen:.0%} automatic"
    )

# %%
# Nobody changes the past unseen
# ------------------------------
# Keep the last hash elsewhere. Erasing a person removes id and kept columns; the events
# stay, and the record still verifies.

kept = record.head()
print(record.erase(known[0]), "case erased")
found = record.verify(kept)
print(found.is_clean, f"{found.n_events:,} events")
record.close()
folder.cleanup()

# %%
# :doc:`/howto/record` does the same from the shell, command by command, and says what the
# record holds and what its chain proves.
