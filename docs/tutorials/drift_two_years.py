"""
Drift over two years
====================

A band was placed on the loans of four years. In the fifth it fits; in the sixth the
customers change, and reviewers are the first to notice. This tutorial watches the share
that is decided automatically week by week, gets an alarm that can be trusted, places the
band anew without a single label, and looks at the AUC when the labels arrive at last.
"""

# %%
# Four years to fit, two to watch
# -------------------------------
# The loans of :func:`~aucross.datasets.make_credit` have a date. Their population drifts
# slowly and changes abruptly in the last year.

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier

from aucross import AUCross
from aucross.datasets import make_credit

X, y = make_credit(24_000, return_X_y=True)
day, X = X["issue_date"], X.drop(columns="issue_date")
past, later = day < "2022-01-01", day >= "2022-01-01"

boosting = HistGradientBoostingClassifier(max_iter=40, random_state=0)
clf = AUCross(boosting, coverage=0.8, random_state=0).fit(X[past], y[past])
selected = pd.Series(clf.select(X[later]), index=X.index[later])
week = day[later].dt.to_period("W").dt.start_time
print(f"{past.sum():,} loans to fit, {later.sum():,} in {week.nunique()} weeks to watch")

# %%
# Coverage, week by week
# ----------------------

weekly = selected.groupby(week).mean()
quarterly = selected.groupby(day[later].dt.to_period("Q")).mean()
figure, axes = plt.subplots(figsize=(7, 3.8), layout="constrained")
axes.plot(weekly, ".", color="#cccccc", label="a week")
axes.plot(
    weekly.rolling(13, center=True).mean(),
    color="#1b6ca8",
    linewidth=2,
    label="mean of 13 weeks",
)
axes.axhline(0.8, color="black", linewidth=0.8, linestyle=":", label="asked for")
axes.set(ylabel="share decided automatically", ylim=(0.5, 1.0))
axes.legend(frameon=False, loc="upper right", ncols=3)
plt.show()
print(quarterly.round(3).to_string())

# %%
# A week has about ninety loans, so its share jumps up and down without any drift.
# Whoever looks at every dot will raise an alarm every month, and whoever waits for a clear
# picture comes late.
#
# An alarm that one may look at every week
# ----------------------------------------
# :class:`~aucross.CoverageMonitor` adds up the evidence. Without drift the probability that
# it *ever* gives an alarm is at most ``false_alarm``, however often you look.

from aucross import CoverageMonitor

monitor = CoverageMonitor(clf, false_alarm=0.05)
for monday, batch in X[later].groupby(week):
    report = monitor.update(batch)
    if report.alarm:
        alarm_week = monday
        break
weeks = sorted(week.unique())
print("alarm in the week of", alarm_week.date())
print("it shows from the week of", weeks[report.drift_since - 1].date())
report

# %%
# The drift is small and so are the weeks, so the alarm comes months after the change; it
# then estimates in which week the change began. The first thing to do is not statistics:
# ask what happened then. A new channel, a changed form, a feature that is no longer filled?
# An error in the data is repaired in the data. ``run_stability`` shows where the scores
# went, in the deciles of the scores of the fit. Its population stability index (PSI) adds
# up how far the shares of the deciles have moved; many banks look closer from 0.1 on:

print(report.run_stability["score"])

# %%
# Place the band anew, without labels
# -----------------------------------
# The customers have changed, so the band has to move. Nobody knows yet how these loans end,
# and nobody needs to: the coverage depends on the scores alone. The best band depends on
# the labels only through the probability of default at each score, which is known from the
# fit. The loans of the half year before the alarm are enough:

recent = (day >= alarm_week - pd.Timedelta(weeks=26)) & (day < alarm_week)
moved = clf.recalibrate(X[recent])
after = day >= alarm_week
print(f"band before: {clf.band().lower:.3f} to {clf.band().upper:.3f}")
print(f"band now:    {moved.band().lower:.3f} to {moved.band().upper:.3f}")
print(f"after the alarm, old band: {clf.select(X[after]).mean():.1%} decided automatically")
print(
    f"after the alarm, new band: {moved.select(X[after]).mean():.1%} decided automatically"
)

# %%
# ``recalibrate`` returns a copy; the model is the same and the old band is still there. The
# monitor of the new band compares with the loans that placed it:

watch = CoverageMonitor(moved, reference=X[recent])
for _, batch in X[after].groupby(week[week.index.isin(X.index[after])]):
    again = watch.update(batch)
again

# %%
# When the labels come
# --------------------
# Coverage is not quality. Only labels can tell whether the ranking is as good as it was,
# and they come a year late. ``update_labels`` tests the AUC of the selected loans against
# that of the held-out loans of the fit, in the same way: you may look after every cohort.

cohorts = day[later].dt.to_period("Q")
with_labels = CoverageMonitor(clf)
for _, batch in X[later].groupby(cohorts):
    labels = with_labels.update_labels(batch, y[batch.index])
labels

# %%
# Three tests, three answers. The *AUC* gives no alarm: these labels do not show that the
# model ranks worse, which is no proof that it ranks as well. The *share of positives* gives
# one: more loans default. And they default more often than their scores say, which is the
# third test. So the score can no longer be read as a probability.
#
# The table compares the old band with the new one, with intervals:

from aucross import evaluate_selective

lines = {}
for name, rule, rows in (
    ("2022, old band", clf, day.dt.year == 2022),
    ("after the alarm, old band", clf, after),
    ("after the alarm, new band", moved, after),
):
    result = evaluate_selective(rule, X[rows], y[rows], (0.8,), random_state=0)
    lines[name] = result.rows()[0]
shown = [
    "achieved_coverage",
    "selective_auc",
    "selective_auc_low",
    "selective_auc_high",
    "auc_gain",
]
judged = pd.DataFrame(lines).T[shown]
judged.round(3)

# %%
# The new band brings the coverage nearer to what was asked for: the reviewers get fewer
# cases than with the old one, and the AUC is a little lower for it, since more is decided
# automatically. What it cannot mend is the level of the scores: for that the model has to
# be trained, or at least calibrated, on loans of the new customers whose outcome is known.
#
# A job that runs each week derives the monitor from a record: :doc:`/howto/drift` shows it,
# and when bands should not be placed again. :doc:`/evidence/drift` has the false alarms and
# the delay that were measured.
