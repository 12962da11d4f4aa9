"""
Groups: who goes to a person, and how good is the rest
======================================================

A band is placed for the AUC of all loans. Nothing makes it send equal shares of young and
old customers to a person. This tutorial looks at age groups: who is deferred, whether a gap
is more than chance, what a band for each group changes, and what that costs.
"""

# %%
# The loans, and a column beside them
# -----------------------------------
# The column that we look at need not be a feature. Here it is the age, cut into four
# groups.

import textwrap

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

from aucross import AUCross
from aucross.datasets import make_credit

X, y = make_credit(12_000, return_X_y=True)
X = X.drop(columns="issue_date")
age = pd.cut(
    X["age"], [17, 25, 35, 50, 100], labels=["to 25", "26 to 35", "36 to 50", "over 50"]
)
X_train, X_test, y_train, y_test, age_train, age_test = train_test_split(
    X, y, age, test_size=0.5, stratify=y, random_state=0
)
boosting = HistGradientBoostingClassifier(max_iter=40, random_state=0)
clf = AUCross(boosting, coverage=0.8, random_state=0).fit(X_train, y_train)
print(f"all: {clf.select(X_test).mean():.1%} decided automatically")

# %%
# One line for each group
# -----------------------
# :func:`~aucross.evaluate_groups` gives every number of the evaluation for each
# group, with intervals.

from aucross import evaluate_groups

report = evaluate_groups(clf, X_test, y_test, by=age_test, coverages=[0.8])
report

# %%
# The youngest go to a person most often. Their credit files are thin, so their scores crowd
# in the middle, where the band is. Whether that is bad depends on what it means to go to a
# person: a careful look, or three days without an answer. *Positives for review* is the
# share of a group's defaults that somebody looks at.
#
# Is a gap more than chance?
# --------------------------
# The highest of four noisy numbers is too high and the lowest too low, so there is a gap
# even between equal groups. *Gap by chance* says how large: equal groups of these sizes
# stay under it with probability 0.95.

gaps = report.gaps()
gaps

# %%
# Read the column *gap by chance* first. A gap below it says nothing. A gap above it is more
# than chance, and its interval says how large it is. Here the coverage differs between the
# groups by more than chance, and the report gives advice on it:

print(textwrap.fill(report.band_advice(0.8), 90))

# %%
# A band for each group
# ---------------------
# Given the groups of the training loans, ``fit`` places a band for each, and ``select``
# uses that of the loan's group. The model and its answers are the same; only who goes to a
# person changes.

equal = AUCross(boosting, coverage=0.8, random_state=0)
equal.fit(X_train, y_train, band_groups=age_train)
for group in ("to 25", "26 to 35", "36 to 50", "over 50"):
    band = equal.band(0.8, group)
    print(f"{group:>9s}: scores from {band.lower:.3f} to {band.upper:.3f} go to a person")

# %%
# The picture shows both side by side. Each panel names its gap and
# the gap by chance.

from aucross.evaluation.plots import GroupGapDisplay

fair = evaluate_groups(
    equal,
    X_test,
    y_test,
    by=age_test,
    coverages=[0.8],
    band_groups=age_test,
)
display = GroupGapDisplay.from_evaluation(report, name="one band")
GroupGapDisplay.from_evaluation(fair, name="a band each", ax=display.axes_)
plt.show()

# %%
# More of the youngest are decided automatically now, and the AUC among those is lower than
# it was: the loans that one band sent to a person are hard to rank. What does it cost over
# all loans? The table has a band for each group (first) minus one band (second):

cost = fair.overall.minus(report.overall)
cost

# %%
# And the gap in coverage that is left:

before, now = (
    next(row for row in table.gaps().rows() if row["metric"] == "achieved_coverage")
    for table in (report, fair)
)
for name, row in (("one band", before), ("a band each", now)):
    print(f"{name:12s} gap {row['gap']:.3f}, by chance up to {row['gap_by_chance']:.3f}")

# %%
# The gap is less than half of what it was, and still a little above chance: a band that is
# placed on the few hundred training loans of a group misses by chance, too. Equal coverage
# is one goal among several: it does not make the AUC equal, nor the share of defaults that
# somebody looks at. And the group becomes part of the decision who goes to a person. In
# some fields the law restricts such a use of a protected attribute, whatever the intent.
# Ask before you use one.
#
# Do the selected loans still look like all loans?
# ------------------------------------------------
# A rule that rejects mostly defaults leaves loans that look safer than all loans are.
# :class:`~aucross.evaluation.BaseRateGuard` compares the two:

from aucross.evaluation import BaseRateGuard

guard = BaseRateGuard()
check = guard.check(y_test, clf.select(X_test))
check

# %%
# The usual rule, rejecting by low confidence, does not pass. The guard warns, and this
# is its result:

import warnings

from aucross import SCross

by_confidence = SCross(boosting, coverage=0.8, random_state=0).fit(X_train, y_train)
with warnings.catch_warnings(record=True):
    warnings.simplefilter("always")
    starved = guard.check(y_test, by_confidence.select(X_test))
starved

# %%
# Defaults go to a person twice as often as loans in general, because with few defaults the
# model is seldom sure of one. What is decided automatically looks safer than all loans are.
#
# :doc:`/howto/groups` says more: small groups, a reference group chosen beforehand, and
# what happens to the labels once deferral is in use.
