"""
A weekly capacity with reviews
==============================

A team can look at 25 applications a week, however many come in. This tutorial fills exactly
these places, hands out a queue with reasons, writes every decision to a log, and counts the
decisions of the reviewers into the result, to see whether the work was worth it.
"""

# %%
# Past loans, and the applications of a quarter
# ---------------------------------------------

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier

from aucross import AUCross
from aucross.datasets import make_credit

X, y = make_credit(20_000, return_X_y=True)
day, X = X["issue_date"], X.drop(columns="issue_date")
past, quarter = day < "2021-01-01", (day >= "2021-01-04") & (day < "2021-04-05")

boosting = HistGradientBoostingClassifier(max_iter=40, random_state=0)
clf = AUCross(boosting, coverage=0.6, random_state=0).fit(X[past], y[past])
X_new, y_new = X[quarter], y[quarter]
week = day[quarter].dt.to_period("W")
print(
    f"{past.sum():,} past loans, {quarter.sum():,} applications in {week.nunique()} weeks"
)

# %%
# A share is not a number
# -----------------------
# A coverage holds on average. What lands on the reviewers' desks then goes up and down with
# what comes in. With ``capacity`` the number is fixed, and the band of each week is placed
# on the applications of that week; their outcomes are not needed.

capacity = 25
rows = []
for name, batch in X_new.groupby(week):
    by_coverage = clf.select(batch)
    by_capacity = clf.select(batch, capacity=capacity)
    rows.append((name.start_time, len(batch), (~by_coverage).sum(), (~by_capacity).sum()))
weeks = pd.DataFrame(
    rows, columns=["week of", "applications", "by coverage", "by capacity"]
)
weeks.set_index("week of")

# %%
# The picture shows what the two columns mean for the people who do the work.

figure, axes = plt.subplots(figsize=(6.8, 3.6), layout="constrained")
axes.bar(
    weeks["week of"], weeks["by coverage"], width=5, color="#cccccc", label="coverage=0.6"
)
axes.plot(
    weeks["week of"],
    weeks["by capacity"],
    "o-",
    color="#1b6ca8",
    label=f"capacity={capacity}",
)
axes.set(ylabel="applications to review", xlabel="week of")
axes.set_xticks(weeks["week of"][::2])
axes.set_ylim(bottom=0, top=weeks["by coverage"].max() * 1.35)
axes.legend(frameon=False, loc="upper left", ncols=2)
figure.autofmt_xdate(rotation=30)
plt.show()

# %%
# Monday: the queue
# -----------------
# ``review_queue`` lists the cases of a batch and starts with the one whose review is worth
# most. The *worth* of a case is the amount by which the AUC of the batch is expected to
# rise if this case alone is taken out. Reviewers who do not get to the end of the list have
# then done the most valuable part of it.

names = [f"A-{number:04d}" for number in range(len(X_new))]
ids = pd.Series(names, index=X_new.index)
monday = week == week.min()
queue = clf.review_queue(X_new[monday], capacity, ids=ids[monday].tolist())
queue

# %%
# The ids also break ties: the same cases come out however the batch is sorted.
# ``queue.to_frame()`` is the table, and pandas, polars and DuckDB read the queue itself,
# for a case management system.
#
# Every week: decide and record
# -----------------------------
# :class:`~aucross.record.Record` decides on a batch once and writes it to a database before
# the decisions are handed out.

import tempfile

from aucross.record import Record

folder = tempfile.TemporaryDirectory()
with Record.open(f"{folder.name}/cases.db") as record:
    for number, batch in X_new.groupby(week):
        record.decide(
            clf, batch, batch=f"week {number}", ids=ids[batch.index], capacity=capacity
        )
    decisions = record.cases().to_pandas()

decisions[["batch", "id", "score", "decision", "decided_at"]].head()

# %%
# Each row also carries the fingerprints of the model and of the rule, which lead to the
# file that decided it (:doc:`/howto/record`).

print(decisions["decision"].value_counts().to_string())

# %%
# What the reviewers decide
# -------------------------
# A year later the outcomes are known. Say that our reviewers see papers that the model does
# not, and are right in four cases of five. Their answers are drawn here; in practice they
# come from the case management system.

rng = np.random.default_rng(0)
outcome = y_new.to_numpy()
selected = (decisions["decision"] == "automatic").to_numpy()
is_right = rng.random(len(outcome)) < 0.8
reviewer_labels = np.where(is_right, outcome, 1 - outcome)

# %%
# The model says who defaults, at a cut-off that refuses about a fifth of all applications.
# ``team_score`` takes the model's answer where it was used and the reviewer's elsewhere,
# and computes any metric of scikit-learn from these. Here are three metrics, for the model
# alone and for the team:

from sklearn.metrics import balanced_accuracy_score, precision_score, recall_score

from aucross.evaluation import team_score

cut_off = np.quantile(clf.predict_proba(X[past])[:, 1], 0.8)
answers = (clf.predict_proba(X_new)[:, 1] > cut_off).astype(int)
metrics = {
    "defaults found": recall_score,
    "refusals that were right": precision_score,
    "balanced accuracy": balanced_accuracy_score,
}
result = pd.DataFrame(
    {
        "model alone": {name: metric(outcome, answers) for name, metric in metrics.items()},
        "model and reviewers": {
            name: team_score(
                metric, outcome, answers, selected, reviewer_labels=reviewer_labels
            )
            for name, metric in metrics.items()
        },
    }
)
result.round(3)

# %%
# The team finds more of the defaults. It also refuses more loans that would have been
# repaid: most cases of the queue are good ones, and the reviewers get one in five of them
# wrong. The last line weighs both.
#
# How good do reviewers have to be?
# ---------------------------------
# Before the outcomes are known, the same function takes an assumed accuracy of the
# reviewers in place of their answers. The line crosses that of the model alone where
# reviews begin to pay.

assumed = np.linspace(0.5, 1.0, 11)
expected = [
    team_score(
        balanced_accuracy_score, outcome, answers, selected, reviewer_accuracy=accuracy
    )
    for accuracy in assumed
]
alone = result.loc["balanced accuracy", "model alone"]
needed = np.interp(alone, expected, assumed)

figure, axes = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
axes.plot(assumed, expected, "o-", color="#1b6ca8", label="model and reviewers")
axes.axhline(alone, color="#e08e0b", linestyle="--", label="model alone")
axes.set(
    xlabel="share of cases that reviewers decide rightly", ylabel="balanced accuracy of all"
)
axes.legend(frameon=False, loc="upper left")
axes.grid(alpha=0.3)
plt.show()
print(f"reviews pay if reviewers are right in at least {needed:.0%} of cases")

# %%
# That is the number to settle before hiring: the share of right answers on the cases in the
# queue, which are those that the model can hardly tell apart. Reviewers who do not reach it
# make the result worse.
#
# One warning: outcomes of refused loans are never seen. What is measured on loans that
# reviewers let pass looks better than it is; :doc:`/howto/groups` says what helps.

folder.cleanup()
