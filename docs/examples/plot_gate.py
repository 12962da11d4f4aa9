"""
A gate for a mandated scorecard
===============================

A logistic scorecard must answer. Which loans go to a person may be decided by any model, here a gradient boosting
model as the gate. What counts is the AUC *of the scorecard* on the loans that it answers:

* :class:`~aucross.AUCross` rejects the best band of the scorecard's own score;
* the Oracle is the best band in hindsight, the limit of every rule on that score;
* :class:`~aucross.AUCGate` sees more than the score and passes the limit.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from aucross import AUCGate, AUCross
from aucross.core import RankedScores, oracle_band
from aucross.datasets import make_credit

X, y = make_credit(20_000, return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    X.drop(columns="issue_date"), y.to_numpy(), test_size=0.5, stratify=y, random_state=0
)

columns = make_column_transformer(
    (make_pipeline(SimpleImputer(), StandardScaler()), make_column_selector(dtype_include="number")),
    (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_include="category")),
)
scorecard = make_pipeline(columns, LogisticRegression(max_iter=1000))
gate = HistGradientBoostingClassifier(max_iter=60, random_state=0)

by_gate = AUCGate(scorecard, gate, random_state=0).fit(X_train, y_train)
by_score = AUCross(scorecard, random_state=0).fit(X_train, y_train)

# %%
# Both rules wrap the same scorecard, so one column of scores serves both. The gate ranks the loans better than the
# scorecard does, but it does not answer.

score = by_score.predict_proba(X_test)[:, 1]
of_gate = by_gate.gate_.predict_proba(X_test)[:, 1]
for name, values in (("scorecard", score), ("gate", of_gate)):
    print(f"AUC of the {name} on all test loans: {RankedScores.from_labels(y_test, values).auc():.3f}")

# %%
# AUC against coverage
# --------------------
# The horizontal axis is the coverage reached on the test loans. The Oracle gets the labels of these loans.

targets = np.linspace(1.0, 0.5, 26)
ranked = RankedScores.from_labels(y_test, score)


def curve(rule):
    scored = rule.scored(X_test)
    selections = [rule.select(scored, target) for target in targets]
    return np.array([(rows.mean(), RankedScores.from_labels(y_test[rows], score[rows]).auc()) for rows in selections])


oracle = [oracle_band(y_test, score, target) for target in targets]
curves = {
    "AUCGate": curve(by_gate),
    "Oracle on the score": np.array([(ranked.coverage(band), ranked.auc(band)) for band in oracle]),
    "AUCross": curve(by_score),
}

styles = {
    "AUCGate": {"color": "#1b6ca8", "linewidth": 2},
    "Oracle on the score": {"color": "#cccccc", "linewidth": 7},
    "AUCross": {"color": "#e08e0b", "linewidth": 2, "linestyle": "--"},
}
figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
for name, points in curves.items():
    axes.plot(*points.T, **styles[name], label=name)
axes.axhline(ranked.auc(), color="black", linewidth=0.8, linestyle=":")
axes.annotate("all loans", (0.56, ranked.auc()), xytext=(0, 4), textcoords="offset points")
axes.set(
    xlabel="coverage reached: share of loans that the scorecard answers", ylabel="AUC of the scorecard on those loans"
)
axes.set_xlim(1.0, 0.48)
axes.grid(alpha=0.3)
axes.legend(frameon=False, loc="upper left")
plt.show()

# %%
# AUCross is as good as a rule on the score can be: it lies on the Oracle. The gate is not bound by that limit, since it
# defers loans whose score misleads, wherever the score lies.
#
# Which loans are deferred
# ------------------------
# Each point is a test loan. A band of the score is a vertical stripe. The gate defers loans far from the diagonal,
# on both sides: those that the scorecard ranks too low and those that it ranks too high.

ranks = score.argsort().argsort() / len(score)
gate_ranks = of_gate.argsort().argsort() / len(score)
shown = np.random.default_rng(0).choice(len(score), 3000, replace=False)
figure, panels = plt.subplots(1, 2, figsize=(9, 5), sharex=True, sharey=True, layout="constrained")
for axes, (name, rule) in zip(panels, (("AUCross", by_score), ("AUCGate", by_gate)), strict=True):
    selected = rule.select(X_test, coverage=0.8)
    auc = RankedScores.from_labels(y_test[selected], score[selected]).auc()
    for mask, color, label in ((selected, "#1b6ca8", "answered"), (~selected, "#c8402f", "deferred")):
        part = shown[mask[shown]]
        axes.scatter(ranks[part], gate_ranks[part], s=5, color=color, alpha=0.45, linewidths=0, label=label)
    axes.set(title=f"{name}: {selected.mean():.0%} answered, AUC {auc:.3f}", xlabel="rank by the scorecard")
panels[0].set_ylabel("rank by the gate")
panels[0].legend(frameon=True, loc="upper left", markerscale=3)
plt.show()
