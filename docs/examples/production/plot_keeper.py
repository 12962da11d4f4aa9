"""
A coverage that is kept
=======================

A band that was placed at the fit selects another share of the rows once the scores have moved. A
:class:`~aucross.CoverageKeeper` sees that share without labels, and moves the band from row to row. The share stays at
the target, and the level that it has to ask for tells how far the rows have moved.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from aucross import AUCross, CoverageKeeper
from aucross.datasets import make_credit

X, y = make_credit(16_000, return_X_y=True)
rng = np.random.default_rng(0)
mixed = rng.permutation(len(X))  # no drift but the one below
X, y = X.select_dtypes("number").iloc[mixed], np.asarray(y)[mixed]
base = HistGradientBoostingClassifier(max_iter=30, random_state=0)
clf = AUCross(base, coverage=0.8, random_state=0).fit(X[:6_000], y[:6_000])

# %%
# In the middle of the stream a campaign brings doubtful cases: those whose scores are nearest to the band.

band, score = clf.band(), clf.predict_proba(X[6_000:])[:, 1]
doubtful = np.argsort(np.abs(score - (band.lower + band.upper) / 2))[:6_000]
drawn = [rng.permutation(10_000)[:3_000], rng.permutation(doubtful)[:4_000], rng.permutation(10_000)[:3_000]]
stream = X[6_000:].iloc[np.concatenate(drawn)]
keeper = CoverageKeeper(clf)
batches = [stream[start : start + 50] for start in range(0, len(stream), 50)]
kept = [keeper.decide(batch) for batch in batches]
fixed = [clf.select(batch) for batch in batches]
by_fit, share_kept = np.concatenate(fixed).mean(), keeper.counts.selected / keeper.counts.rows
print(f"selected: {by_fit:.3f} by the band of the fit, {share_kept:.3f} kept")
print(f"after {keeper.counts.rows:,} rows the kept share is within {keeper.bound():.3f} of 0.8, whatever comes")

# %%
# Above the share of the last 500 rows, below the level that each row was asked at, with its mean over 500 rows.


def of_last(selected, n_rows=500):
    return np.convolve(selected, np.full(n_rows, 1 / n_rows), mode="valid")


figure, (share, level) = plt.subplots(2, sharex=True, figsize=(8, 5), layout="constrained")
rows = np.arange(500, len(stream) + 1)
share.plot(rows, of_last(np.concatenate(fixed)), color="#e08e0b", label="band of the fit")
share.plot(rows, of_last(np.concatenate([each.selected for each in kept])), color="#1b6ca8", label="kept")
levels = np.concatenate([each.level for each in kept])
level.plot(levels, color="#1b6ca8", linewidth=0.4, alpha=0.5)
level.plot(rows, of_last(levels), color="#1b6ca8")
for axes in (share, level):
    axes.axhline(0.8, color="black", linewidth=0.8, linestyle=":")
    axes.axvspan(3_000, 7_000, color="#cccccc", alpha=0.4, linewidth=0)
    axes.grid(alpha=0.3)
share.set(ylabel="share selected\nof the last 500 rows")
level.set(ylabel="level asked for", xlabel="row", xlim=(0, len(stream)))
figure.legend(*share.get_legend_handles_labels(), loc="outside upper center", ncols=2, frameon=False)
plt.show()

# %%
# The share no longer tells of the drift, but the level does: it leaves 0.8 with the campaign and comes back after it.
# :doc:`/howto/drift` has the proof of the bound, and says when to place the bands again instead.
