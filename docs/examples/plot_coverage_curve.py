"""
AUC against coverage
====================

How much AUC does one gain by not answering some rows, and does it matter which? Three rules wrap the same classifier:

* :class:`~aucross.AUCross` with its default, the optimal band;
* :class:`~aucross.AUCross` with the published, centred band;
* :class:`~aucross.SCross`, which rejects the rows with the lowest maximum probability.

All three keep the coverage. The first two raise the AUC of the rows they keep. Rejecting by maximum probability
*lowers* it: with one default in five loans the least confident rows have scores well above the average, and without
them the ranking has lost much of what told the classes apart.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from aucross import AUCross, SCross
from aucross.datasets import make_credit

X, y = make_credit(12_000, return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    X.drop(columns="issue_date"), y, test_size=0.5, stratify=y, random_state=0
)

base = HistGradientBoostingClassifier(max_iter=60, random_state=0)
rules = {
    "AUCross, optimal": AUCross(base, random_state=0),
    "AUCross, centred": AUCross(base, placement="centered", random_state=0),
    "SCross, maximum probability": SCross(base, random_state=0),
}
for rule in rules.values():
    rule.fit(X_train, y_train)

# %%
# One fit serves all coverages, and the test rows are scored once for all of them.

targets = np.linspace(1.0, 0.5, 26)
curves = {}
for name, rule in rules.items():
    scored = rule.scored(X_test)
    score, selections = scored.score, [rule.select(scored, target) for target in targets]
    curves[name] = np.array(
        [(selected.mean(), roc_auc_score(y_test[selected], score[selected])) for selected in selections]
    )

# %%
# The horizontal axis is the coverage reached on the test rows, not the one asked for, so that a rule gains nothing by
# rejecting more than it should.

colors = ("#1b6ca8", "#e08e0b", "#8a8a8a")
styles = ("-", "--", "-.")
figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
for (name, points), color, style in zip(curves.items(), colors, styles, strict=True):
    axes.plot(*points.T, style, color=color, linewidth=2, label=name)
axes.axhline(curves["AUCross, optimal"][0, 1], color="black", linewidth=0.8, linestyle=":")
axes.annotate("AUC of all rows", (0.6, curves["AUCross, optimal"][0, 1]), xytext=(0, 4), textcoords="offset points")
axes.set(xlabel="coverage reached: share of rows selected", ylabel="AUC of the selected rows")
axes.set_xlim(1.0, 0.48)
axes.grid(alpha=0.3)
axes.legend(frameon=False, loc="upper left")
plt.show()

# %%
# The same in figures, at coverage 0.8.

for name, rule in rules.items():
    selected = rule.select(X_test, coverage=0.8)
    auc = roc_auc_score(y_test[selected], rule.predict_proba(X_test)[selected, 1])
    print(f"{name:28s} coverage {selected.mean():.3f}   AUC {auc:.3f}")
