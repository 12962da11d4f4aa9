"""
From half of the cases to most of them
======================================

A bank lets a model decide half of its applications and people the rest. More may be
automated when outcomes show that the promised AUC is kept there, too. This tutorial runs
the twelve months of such a plan: decide, audit, look at the outcomes, ask the committee,
widen. It takes about ten minutes to read.
"""

# %%
# The model, and the promise
# --------------------------
# The committee promises an AUC of .76 for whatever is decided automatically. The first
# month begins with half of the cases; each step after it must be earned.

import tempfile

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from aucross import AUCross
from aucross.datasets import make_credit
from aucross.record import Record

X, y = make_credit(46_000, return_X_y=True)
X, y = X.drop(columns="issue_date"), y.to_numpy()
boosting = HistGradientBoostingClassifier(max_iter=40, random_state=0)
clf = AUCross(boosting, coverage=0.5, random_state=0).fit(X[:10_000], y[:10_000])
promise = 0.76

# %%
# A month
# -------
# A fifth of the automatic cases goes to people unseen as audits, drawn by a secret key. Two
# cases in a hundred, those nearest to the edges of the band, go to a person or to the
# machine by a coin: that is the strip, and it will tell what review changes. People are
# right in nine cases of ten. Outcomes of all cases that people saw become known.

folder = tempfile.TemporaryDirectory()
record = Record.open(f"{folder.name}/cases.db")
key, rng = bytes(range(32)), np.random.default_rng(0)


def run_month(number, coverage):
    """Decide on a month of 3,000 applications, review them, and add outcomes."""
    rows = np.arange(10_000 + 3_000 * number, 13_000 + 3_000 * number)
    batch = f"month-{number + 1:02d}"
    record.decide(
        clf,
        X.iloc[rows],
        batch=batch,
        ids=rows,
        coverage=coverage,
        audit=0.2,
        strip=0.02,
        audit_key=key,
    )
    seen = record.queue(batch).to_pandas()["id"].astype(int).to_numpy()
    answers = np.where(rng.random(len(seen)) < 0.9, y[seen], 1 - y[seen])
    record.add_reviews(
        [
            {"id": row, "reviewer": "r-17", "answer": answer}
            for row, answer in zip(seen, answers, strict=True)
        ],
        batch=batch,
    )
    record.add_outcomes([{"id": row, "outcome": y[row]} for row in seen], batch=batch)
    return len(seen)


n_seen = run_month(0, coverage=0.5)
print(f"People saw {n_seen:,} of 3,000 cases in the first month.")

# %%
# What is earned
# --------------
# Inside the band outcomes of reviewed cases count, outside of it those of audits, each by
# one over its probability. The lower bound of each coverage holds in all months at once, so
# that the committee may look every month. The list ends at 90 %: some cases always go to
# people.

steps = (0.5, 0.6, 0.7, 0.8, 0.9)
earned = record.next_coverage(clf, auc=promise, coverages=steps)
print(earned)
for step in earned.steps:
    print(f"{step.coverage:.0%}: AUC {step.auc:.3f}, at least {step.low:.3f}")

# %%
# Eleven more months
# ------------------
# Each month the committee signs the sentence, and the record keeps who allowed what.

for number in range(1, 12):
    if earned.coverage != earned.present:
        record.allow("Risk committee", earned.sentence)
    run_month(number, earned.coverage)
    earned = record.next_coverage(clf, auc=promise, coverages=steps)
    print(f"month {number + 1:2d}: {earned.sentence}")

# %%
# What review changed at the edges
# --------------------------------
# Where the coin decided who answers, nothing else differs between the two sides. The strip
# needs outcomes of both: those that the machine decided come in as loans end.

cases = record.cases().to_pandas()
strip = cases[cases["strip_probability"].notna() & cases["outcome"].isna()]
for batch, rows in strip.groupby("batch"):
    record.add_outcomes(
        [{"id": row, "outcome": y[int(row)]} for row in rows["id"]], batch=batch
    )
print(record.strip_effect())

# %%
# The page for the committee
# --------------------------
# The oversight report has every figure with the SQL that recomputes it: the changes of
# coverage with who allowed them, the audited AUC, what is expected without labels.

from aucross.report import build_oversight

found = build_oversight(record, promised_auc=promise, clf=clf)
tables = {table["name"]: table for table in found["tables"]}
for row in tables["changes"]["rows"]:
    print(f"{row[1]}: coverage {row[4]:.0%}, allowed by {row[6]}")
print(found["audit"]["sentence"])
record.close()
folder.cleanup()
