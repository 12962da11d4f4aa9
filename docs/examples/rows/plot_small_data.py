"""
A few hundred rows: test by folds
=================================

The breast cancer data of scikit-learn have 569 rows. A quarter of them, kept apart for a test, would leave an
interval nearly three times as wide as the gain. :func:`~aucross.evaluation.evaluate_folds` tests on all rows instead,
each by models that did not see it, and pools. Three of the thirty measurements are used, since with all of them the
AUC is .99 and there is nothing to gain.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import RepeatedStratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from aucross import AUCross, SCross, evaluate_selective
from aucross.evaluation import evaluate_folds

data = load_breast_cancer(as_frame=True)
X = data.data[["mean texture", "mean smoothness", "mean symmetry"]].to_numpy()
malignant = (data.target == 0).astype(int).to_numpy()
base = make_pipeline(StandardScaler(), LogisticRegression())
coverages = np.array([1.0, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7])
folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=2, random_state=0)


def fitted(kind):
    """The classifiers of all folds, with the rows that each of them has not seen."""
    for train, test in folds.split(X, malignant):
        yield kind(base, random_state=0).fit(X[train], malignant[train]), X[test], test


pooled = {
    kind.__name__: evaluate_folds(fitted(kind), malignant, coverages, random_state=0) for kind in (AUCross, SCross)
}

# %%
# For comparison, the usual way: one split, and a quarter of the rows for the test.

X_train, X_test, y_train, y_test = train_test_split(X, malignant, test_size=0.25, stratify=malignant, random_state=0)
once = AUCross(base, random_state=0).fit(X_train, y_train)
tests = {
    "one split: 143 test rows": evaluate_selective(once, X_test, y_test, coverages, random_state=0),
    "folds: 569 test rows": pooled["AUCross"],
}

# %%
# Lines are estimates, and shaded areas are their 95 % intervals.

figure, panels = plt.subplots(1, 2, figsize=(9, 4), sharex=True, sharey=True, layout="constrained")
for axes, (name, evaluation) in zip(panels, tests.items(), strict=True):
    table = evaluation.to_frame()
    axes.fill_between(
        coverages, table["selective_auc_low"], table["selective_auc_high"], color="#1b6ca8", alpha=0.2, linewidth=0
    )
    axes.plot(coverages, table["selective_auc"], "o-", color="#1b6ca8", linewidth=2, label="AUCross")
    axes.set(title=name, xlabel="coverage asked for", xlim=(1.01, 0.69))
    axes.grid(alpha=0.3)
other = pooled["SCross"].to_frame()
panels[1].plot(coverages, other["selective_auc"], "s--", color="#e08e0b", linewidth=2, label="SCross")
panels[0].set_ylabel("AUC of the selected rows")
figure.legend(*panels[1].get_legend_handles_labels(), loc="outside upper center", ncols=2, frameon=False)
plt.show()

# %%
# Intervals from folds are less than half as wide. They also show what these rows cannot decide: with 37 % of the
# tumours malignant, maximum probability is as good a rule as the band.
#
# Models of different folds share training rows. No interval from one data set can allow for that, so take these
# intervals as approximate: see :doc:`/howto/small-data`.

for name, evaluation in tests.items():
    table = evaluation.to_frame()
    width = (table["selective_auc_high"] - table["selective_auc_low"]).iloc[4]
    print(f"{name}: AUC {table['selective_auc'].iloc[4]:.3f} at coverage 0.8, interval {width:.3f} wide")
