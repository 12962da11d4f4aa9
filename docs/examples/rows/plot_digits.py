"""
More than two classes: handwritten digits
=========================================

With more than two classes there is no single score to place a band on. :class:`~aucross.AUCross` then rejects the rows
of lowest influence on Hand and Till's M, the mean AUC over all pairs of classes. The data are the digits that come with
scikit-learn, with noise added, since clean ones are too easy. They are sorted twice: into ten classes of equal size,
and into three of unequal size.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import train_test_split

from aucross import AUCross, SCross
from aucross.evaluation import hand_till_m

X, digit = load_digits(return_X_y=True)
X = np.clip(X / 16 + np.random.default_rng(0).normal(0, 0.4, X.shape), 0, 1)
tasks = {
    "ten digits, 10 % each": digit,
    "8 (10 %), 3 or 9 (20 %), others (70 %)": np.where(digit == 8, 2, np.where(np.isin(digit, (3, 9)), 1, 0)),
}
base = LinearDiscriminantAnalysis()
coverages = np.linspace(1.0, 0.6, 9)


def curves(y):
    """Coverage reached and M of both rules, on the half of the pictures that was not used for training."""
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
    found = {}
    for rule in (AUCross(base, random_state=0), SCross(base, random_state=0)):
        rule.fit(X_train, y_train)
        scored = rule.scored(X_test)
        selections = [rule.select(scored, coverage) for coverage in coverages]
        found[type(rule).__name__] = np.array(
            [(rows.mean(), hand_till_m(y_test, scored.score, rows)) for rows in selections]
        )
    return found


# %%
# The mean AUC over all pairs of classes against the coverage reached:

results = {name: curves(y) for name, y in tasks.items()}
figure, panels = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for axes, (name, found) in zip(panels, results.items(), strict=True):
    axes.axhline(found["AUCross"][0, 1], color="black", linewidth=0.8, linestyle=":")
    axes.plot(*found["AUCross"].T, color="#1b6ca8", linewidth=2, label="AUCross")
    axes.plot(*found["SCross"].T, "--", color="#e08e0b", linewidth=2, label="SCross: maximum probability")
    axes.set(title=name, xlabel="coverage reached", xlim=(1.01, 0.58))
    axes.grid(alpha=0.3)
panels[0].set_ylabel("Hand and Till's M of the selected pictures")
figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=2, frameon=False)
plt.show()

# %%
# With ten classes of equal size maximum probability is the better rule: AUCross gains too, but less. With classes of
# unequal size it is the other way round, for the reason that :doc:`/auto_examples/bands/plot_rare_positives` shows for
# two. So look at the sizes of the classes first, and compare both on your own rows.
