"""
A number of reviews each week
=============================

A coverage is a share that holds on average. A team is a number: so many cases a week, however many applications come
in. With ``capacity`` exactly that many rows of a batch are rejected, and :meth:`~aucross.AUCross.review_queue` puts
them in the order of what their review is worth.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from aucross import AUCross
from aucross.datasets import make_credit

X, y = make_credit(14_000, return_X_y=True)
week = X["issue_date"].dt.to_period("W")
X = X.select_dtypes("number")
decided, arriving = slice(0, 6_000), slice(6_000, None)
base = HistGradientBoostingClassifier(max_iter=30, random_state=0)
clf = AUCross(base, coverage=0.8, random_state=0).fit(X[decided], y[decided])

# %%
# Thirty weeks, and ten reviews in each. The band gives the team more work in one week and less in another.

new, new_week = X[arriving], week[arriving]
weeks = sorted(new_week.unique())[1:31]
capacity = 10
batches = [new[new_week == name] for name in weeks]
by_band = [int((~clf.select(batch)).sum()) for batch in batches]
by_capacity = [int((~clf.select(batch, capacity=capacity)).sum()) for batch in batches]
print(f"reviews a week by the band: {min(by_band)} to {max(by_band)}; by the capacity: {set(by_capacity)}")

figure, axes = plt.subplots(figsize=(8, 3.8), layout="constrained")
place = np.arange(len(weeks))
axes.bar(place, [len(batch) for batch in batches], color="#cccccc", label="applications")
axes.plot(place, by_band, "o-", color="#e08e0b", label="reviews with a coverage of 0.8")
axes.plot(place, by_capacity, "s-", color="#1b6ca8", markersize=4, label=f"reviews with a capacity of {capacity}")
axes.set(xlabel="week", ylabel="number of cases", xlim=(-0.8, len(weeks) - 0.2))
axes.grid(axis="y", alpha=0.3)
figure.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=3, frameon=False)
plt.show()

# %%
# The queue puts the cases of a batch in the order of their worth: by how much the expected AUC of the batch rises if
# this case alone is taken out. Here all 2,000 cases of a batch are ranked.

queue = clf.review_queue(new[:2_000], 2_000)
print(clf.review_queue(new[:2_000], 400).reason[0])

figure, axes = plt.subplots(figsize=(7.5, 3.6), layout="constrained")
place = np.arange(1, len(queue) + 1)
axes.axhline(0, color="black", linewidth=0.8)
axes.fill_between(place, 0, queue.worth, where=queue.worth > 0, color="#1b6ca8", alpha=0.35, linewidth=0)
axes.fill_between(place, 0, queue.worth, where=queue.worth < 0, color="#c8402f", alpha=0.35, linewidth=0)
axes.plot(place, queue.worth, color="black", linewidth=1)
axes.set(xlabel="place in the queue", ylabel="worth: gain of AUC\nif this case goes to a person", xlim=(0, len(queue)))
axes.grid(alpha=0.3)
plt.show()

# %%
# The cases at the top are worth nearly the same, so it matters little in which order a team takes its first few
# hundred. Then the worth falls, and at the end it is negative: these are the clear cases, and the ranking would lose by
# giving them away.

print(f"{(queue.worth > 0).sum()} of {len(queue)} cases have a positive worth")

# %%
# A fixed number has a price: in a busy week cases are decided automatically that would go to a person in a quiet one.
# And it hides drift, since the number of reviews never changes. :doc:`/howto/capacity` says what to watch instead.
