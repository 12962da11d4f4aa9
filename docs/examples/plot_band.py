"""
The band on the score axis
==========================

The band is an interval of scores. Where it lies, and why there, is easiest to see on the scores of the two classes.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

from aucross import AUCross, SCross
from aucross.datasets import make_credit

X, y = make_credit(12_000, return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    X.drop(columns="issue_date"), y, test_size=0.5, stratify=y, random_state=0
)
base = HistGradientBoostingClassifier(max_iter=60, random_state=0)
by_auc = AUCross(base, coverage=0.8, random_state=0).fit(X_train, y_train)
by_confidence = SCross(base, coverage=0.8, random_state=0).fit(X_train, y_train)

band = by_auc.band()
print(band)

# %%
# :class:`~aucross.SCross` places its band on the confidence, the probability of the predicted class. On the score axis
# this is an interval too, symmetric around 0.5.

threshold = by_confidence.band().upper
intervals = {
    "AUCross": (band.lower, band.upper),
    "SCross": (1 - threshold, threshold),
}

# %%
# Both reject a fifth of the rows. The band of AUCross lies far below 0.5, where defaults and good loans are mixed:
# below the band most loans are good, above it defaults are frequent. SCross spends the same budget on most of the
# range in which defaults are frequent.

score = by_auc.predict_proba(X_test)[:, 1]
bins = np.linspace(0, 1, 51)
figure, panels = plt.subplots(2, 1, figsize=(7, 5.5), sharex=True, layout="constrained")
for axes, (name, (lower, upper)) in zip(panels, intervals.items(), strict=True):
    axes.hist(score[y_test == 0], bins, color="#1b6ca8", alpha=0.55, density=True, label="repaid")
    axes.hist(score[y_test == 1], bins, color="#c8402f", alpha=0.55, density=True, label="default")
    axes.axvspan(lower, upper, color="black", alpha=0.12, linewidth=0, label="rejected")
    rejected = ((score >= lower) & (score <= upper)).mean()
    axes.set(
        ylabel="density within the class",
        title=f"{name}: rejects the scores {lower:.2f} to {upper:.2f}, {rejected:.0%} of rows",
    )
panels[0].legend(frameon=False, loc="upper right")
panels[-1].set(xlabel="score: probability of default", xlim=(0, 1))
plt.show()

# %%
# The band follows the coverage. Each one is the best of its width, so they need not be nested.

coverages = np.linspace(0.99, 0.5, 50)
bands = [by_auc.band(coverage) for coverage in coverages]
figure, axes = plt.subplots(figsize=(7, 3.5), layout="constrained")
axes.fill_between(
    coverages, [band.lower for band in bands], [band.upper for band in bands], color="black", alpha=0.15, linewidth=0
)
axes.plot(coverages, [band.lower for band in bands], color="#1b6ca8", label="lower end")
axes.plot(coverages, [band.upper for band in bands], color="#c8402f", label="upper end")
axes.set(xlabel="coverage asked for", ylabel="score", xlim=(1.0, 0.5))
axes.set_ylim(bottom=0)
axes.grid(alpha=0.3)
axes.legend(frameon=False, loc="upper left")
plt.show()
