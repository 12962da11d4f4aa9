"""
Bands for other targets than the AUC
====================================

KS, average precision, the partial AUC at low false positive rates, or money: each of them has a best band of its own.
Five rules wrap the same trained classifier. They differ in ``target`` and in nothing else.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split

from aucross import AUCross
from aucross.core import ExpectedCost
from aucross.datasets import make_credit
from aucross.evaluation import (
    expected_cost,
    selective_auc,
    selective_average_precision,
    selective_ks,
    selective_partial_auc,
)

X, y = make_credit(24_000, return_X_y=True)
X, y = X.drop(columns="issue_date"), y.to_numpy()
X_train, X_rest, y_train, y_rest = train_test_split(X, y, train_size=1 / 3, stratify=y, random_state=0)
X_place, X_test, y_place, y_test = train_test_split(X_rest, y_rest, test_size=0.5, stratify=y_rest, random_state=0)
boosting = HistGradientBoostingClassifier(max_iter=40, random_state=0).fit(X_train, y_train)

cost = ExpectedCost(false_positive=1, false_negative=5, review=0.3)
targets = {
    "AUC": "auc",
    "KS": "ks",
    "average precision": "average_precision",
    "partial AUC": "partial_auc",
    "expected cost": cost,
}
rules = {
    name: AUCross(FrozenEstimator(boosting), coverage=0.8, target=target).fit(X_place, y_place)
    for name, target in targets.items()
}

# %%
# The picture shows where each band lies and what it rejects. For the partial AUC only the order among the highest
# scores counts, so its band lies highest. A missed default costs five times as much as a refused good loan, so the hard
# decisions are those at low scores, and the band for the cost lies there.

score = boosting.predict_proba(X_test)[:, 1]
figure, (top, bottom) = plt.subplots(
    2, 1, figsize=(7.5, 5.2), sharex=True, layout="constrained", gridspec_kw={"height_ratios": (1, 1.4)}
)
bins = np.linspace(0, 0.8, 61)
top.hist(score[y_test == 0], bins, color="#1b6ca8", alpha=0.55, density=True, label="repaid")
top.hist(score[y_test == 1], bins, color="#c8402f", alpha=0.55, density=True, label="default")
top.set(ylabel="density within the class")
top.legend(frameon=False, loc="upper right")
for place, rule in enumerate(rules.values()):
    band = rule.band()
    bottom.barh(place, band.upper - band.lower, left=band.lower, height=0.55, color="#e08e0b")
    bottom.text(band.upper + 0.01, place, f"{band.rejects(score).mean():.0%} of new rows", va="center")
bottom.set_yticks(range(len(rules)), list(rules))
bottom.invert_yaxis()
bottom.set(xlabel="score: probability of default", ylabel="band placed for", xlim=(0, 0.8))
bottom.grid(axis="x", alpha=0.3)
plt.show()

# %%
# The table shows what each band does to each metric on new rows. A column is a metric, a line is what the band was
# placed for. The cost is that of deciding where it is cheapest, with the reviews paid.

decision = score > cost.cheapest_threshold
metrics = {
    "AUC": lambda rows: selective_auc(y_test, score, rows),
    "KS": lambda rows: selective_ks(y_test, score, rows),
    "average precision": lambda rows: selective_average_precision(y_test, score, rows),
    "partial AUC": lambda rows: selective_partial_auc(y_test, score, rows),
    "cost": lambda rows: expected_cost(y_test, decision, rows, review_cost=0.3, cost_matrix=[[0, 1], [5, 0]]),
}
selections = {"no band": np.ones(len(y_test), dtype=bool)} | {name: rule.select(X_test) for name, rule in rules.items()}
print(f"{'band placed for':20s}" + "".join(f"{name:>19s}" for name in metrics))
for name, selected in selections.items():
    print(f"{name:20s}" + "".join(f"{value(selected):19.3f}" for value in metrics.values()))

# %%
# The bands for the AUC, for KS and for average precision are nearly the same one, and on new rows none of the three is
# reliably the best at its own metric: a few thousandths are noise. The AUC is a good target for all of them. The
# partial AUC is worth a band of its own, with which it is clearly highest. The cost is lowest with its own band, and
# here the band for KS is as good. :doc:`/howto/targets` has the costs in detail.
