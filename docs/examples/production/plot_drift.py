"""
Drift: the coverage month by month, and when the alarm comes
============================================================

A band is placed once. When the applicants change, more or fewer of them fall into it, long before the first label
arrives. The synthetic portfolio changes slowly until 2022 and abruptly in 2023. A classifier is fitted on the loans up
to 2020 and then used month after month, as it is and with bands that are placed anew on the latest rows, without
labels.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from aucross import AUCross, CoverageMonitor
from aucross.datasets import make_credit

X, y = make_credit(40_000, return_X_y=True)
month = X["issue_date"].dt.to_period("M")
X, y = X.select_dtypes("number"), y.to_numpy()
past = (month.dt.year <= 2020).to_numpy()
base = HistGradientBoostingClassifier(max_iter=30, random_state=0)
clf = AUCross(base, coverage=0.8, random_state=0).fit(X[past], y[past])

# %%
# Each month is decided by the fitted bands, and by bands that were placed anew on the three months before it. The
# monitor sees the months as they come and knows no labels.

months = sorted(month[~past].unique())
monitor = CoverageMonitor(clf, false_alarm=0.05)
as_fitted, placed_anew, reports = [], [], []
for name in months:
    batch = X[month == name]
    recent = X[(month >= name - 3) & (month < name)]
    as_fitted.append(clf.select(batch).mean())
    placed_anew.append(clf.recalibrate(recent).select(batch).mean())
    reports.append(monitor.update(batch))

alarm = next(place for place, report in enumerate(reports) if report.alarm)
print(f"alarm after {months[alarm]}; the drift shows since {months[reports[alarm].drift_since - 1]}")

# %%
# The upper panel shows the coverage, the lower one the evidence of the monitor, on a logarithmic scale. At the dashed
# line there is an alarm: a stream without drift ever reaches it with a probability of at most 5 %, however long it
# runs.

dates = [name.to_timestamp() for name in months]
figure, (top, bottom) = plt.subplots(2, 1, figsize=(8, 5.6), sharex=True, layout="constrained")
top.axhline(0.8, color="black", linewidth=0.8, linestyle=":")
top.plot(dates, as_fitted, "o-", color="#c8402f", markersize=4, label="bands of 2020")
top.plot(dates, placed_anew, "s--", color="#1b6ca8", markersize=4, label="placed anew on the last three months")
top.set(ylabel="share of loans decided\nautomatically (asked: 0.80)")
bottom.semilogy(dates, [report.evidence for report in reports], color="#e08e0b", linewidth=2)
bottom.axhline(reports[0].alarm_at, color="black", linewidth=0.8, linestyle="--")
bottom.text(dates[0], reports[0].alarm_at * 1.4, "alarm")
bottom.axvline(dates[alarm], color="#c8402f", linewidth=1.5, linestyle=":")
bottom.set_ylim(0.1, 1e6)  # it rises on and on
bottom.set(ylabel="evidence for drift", xlabel="month of the application")
for axes in (top, bottom):
    axes.grid(alpha=0.3)
figure.legend(*top.get_legend_handles_labels(), loc="outside upper center", ncols=2, frameon=False)
plt.show()

# %%
# The fitted bands lose coverage in 2023, and a person gets more than a quarter of the loans instead of a fifth. Bands
# placed anew follow with a delay: in the first months after the change most of the rows that place them are still old.

year = np.array([name.year for name in months])
for chosen in np.unique(year):
    means = [np.mean(np.array(shares)[year == chosen]) for shares in (as_fitted, placed_anew)]
    print(f"{chosen}: {means[0]:.3f} with the bands of 2020, {means[1]:.3f} placed anew")

# %%
# Placing anew keeps the coverage and no more. If the relation of score and outcome has changed, only labels can tell:
# the monitor reads them when they come, see :doc:`/howto/drift`, which also says what holds.
