"""
How many test rows does a promise need?
=======================================

An estimate of the AUC is right on average. A promise is a lower bound that holds with a confidence, here 95 %, together
with one for the coverage. The more rows there are to prove it, the nearer the promise comes to the estimate. What
counts is above all the number of positives.
"""

from textwrap import fill

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from aucross import AUCross, promise_selective
from aucross.datasets import make_credit

X, y = make_credit(36_000, return_X_y=True)
X, y = X.drop(columns="issue_date"), y.to_numpy()
shuffled = np.random.default_rng(0).permutation(len(y))
train, test = shuffled[:6_000], shuffled[6_000:]
base = HistGradientBoostingClassifier(max_iter=40, random_state=0)
clf = AUCross(base, coverage=0.8, random_state=0).fit(X.iloc[train], y[train])

# %%
# The promise of all test rows, in a sentence:

scored, labels = clf.scored(X.iloc[test]), y[test]
print(fill(str(promise_selective(clf, scored, labels)), 96))

# %%
# Now promises are made on smaller samples of these rows, forty samples for each of several sizes. The AUC on all 30,000
# rows stands for the truth. In a second portfolio four of five defaults are left out, so that about 5 % of its rows are
# positive.

sizes = np.array([300, 600, 1_200, 2_500, 5_000, 10_000])
n_draws = 40


def drawn_promises(rows):
    """Estimated and promised AUC of forty samples of each size."""
    rng = np.random.default_rng(0)
    pairs = np.empty((2, len(sizes), n_draws))
    for place, size in enumerate(sizes):
        for draw in range(n_draws):
            sample = rng.choice(rows, size, replace=False)
            promise = promise_selective(clf, scored.take(sample), labels[sample])
            pairs[:, place, draw] = promise.selective_auc, promise.auc_at_least
    return pairs


everyone = np.arange(len(labels))
portfolios = {"many": everyone, "few": everyone[(labels == 0) | (everyone % 5 == 0)]}
drawn = {name: drawn_promises(rows) for name, rows in portfolios.items()}
truth = {
    name: promise_selective(clf, scored.take(rows), labels[rows]).selective_auc for name, rows in portfolios.items()
}

# %%
# Lines are medians; four of five samples lie in the shaded areas.

figure, panels = plt.subplots(1, 2, figsize=(9, 4), sharex=True, sharey=True, layout="constrained")
for axes, (name, rows) in zip(panels, portfolios.items(), strict=True):
    for values, color, style, label in zip(
        drawn[name], ("#e08e0b", "#1b6ca8"), ("--", "-"), ("estimated", "promised: at least this"), strict=True
    ):
        low, middle, high = np.quantile(values, (0.1, 0.5, 0.9), axis=1)
        axes.fill_between(sizes, low, high, color=color, alpha=0.25, linewidth=0)
        axes.plot(sizes, middle, style, color=color, linewidth=2, label=label)
    axes.axhline(truth[name], color="black", linewidth=0.8, linestyle=":")
    axes.set(title=f"{labels[rows].mean():.0%} positives", xlabel="test rows", xscale="log")
    axes.set_xticks([300, 1_000, 3_000, 10_000], ["300", "1,000", "3,000", "10,000"])
    axes.minorticks_off()
    axes.grid(alpha=0.3)
panels[0].set_ylabel("AUC of the selected rows")
figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=2, frameon=False)
plt.show()

# %%
# Estimates lie on both sides of the dotted line, the truth: about half of them are too high. Of the promises at most
# five in a hundred may be too high. They approach the truth slowly: to halve the distance takes about four times the
# rows. With few positives it takes many more rows.

for name, (estimated, promised) in drawn.items():
    for place in (0, 2, 5):
        too_high = [(values[place] > truth[name]).mean() for values in (promised, estimated)]
        typical = np.median(promised[place])
        print(
            f"{name} positives, {sizes[place]:,d} rows: promised {typical:.3f}, true {truth[name]:.3f}; "
            f"promise too high in {too_high[0]:.0%} of samples, estimate in {too_high[1]:.0%}"
        )

wrong = sum((promised > truth[name]).sum() for name, (_, promised) in drawn.items())
print(f"over all sizes {wrong} of {2 * len(sizes) * n_draws} promises are too high")

# %%
# Test rows must be new to the model and to the band. :doc:`/howto/promise` says what else a promise rests on, and
# how often such promises were kept.
