"""
An audit of the automatic decisions
===================================

Nobody looks at automatic decisions, so nobody sees when they become worse. Here a feature means less from the
seventh month on: scores stay where they were, and whatever reads scores alone notices nothing. An audit of 5 % of the
automatic cases, drawn at random, does.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from aucross import AUCross, audited_auc, estimate_selective
from aucross.audit import audit_plan, audit_probability
from aucross.evaluation import selective_auc

rng = np.random.default_rng(0)


def applications(n, meaning):
    """Draw cases; `meaning` says how much the first feature has to do with the outcome."""
    X = rng.normal(size=(n, 2))
    return X, (rng.random(n) < expit(meaning * X[:, 0] + X[:, 1] - 1.5)).astype(int)


clf = AUCross(LogisticRegression(), coverage=0.8, random_state=0).fit(*applications(8_000, meaning=1.5))

# %%
# Every month 20,000 cases come in. Automatic ones are drawn for audit: half of the draws evenly, half where a label
# tells most about the AUC. People answer for the drawn cases alone.

months = np.arange(1, 13)
audits, estimates, truths = [], [], []
for number in months:
    X, y = applications(20_000, meaning=1.5 if number < 7 else 0.7)
    scored = clf.scored(X)
    automatic = clf.select(scored)
    score, eta = scored.score[automatic], scored.score[automatic]
    probability = audit_probability(score, eta, share=0.05)
    drawn = rng.random(len(score)) < probability
    labels = np.where(drawn, y[automatic], np.nan)
    audits.append(audited_auc(score, labels, probability, eta))
    estimates.append(estimate_selective(clf, scored))
    truths.append(selective_auc(y, scored.score, automatic))

print(audits[-1])
print(audits[-1].change_from(estimates[0].known_selective_auc))

# %%
# The bars are the audits of each month, with 95 % intervals. The dashed line is the estimate without labels, which
# assumes that a score means what it meant. The open circles are what every label together would show, and nobody has
# those.

auc, low, high = np.transpose([(audit.auc, audit.low, audit.high) for audit in audits])
figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
axes.axvspan(6.5, 12.5, color="#e08e0b", alpha=0.12, linewidth=0)
axes.text(6.7, 0.915, "the feature means less than it did", color="#7a4d06")
axes.plot(months, [found.selective_auc for found in estimates], "--", color="#7a7a7a", label="estimate without labels")
axes.errorbar(months, auc, (auc - low, high - auc), fmt="o", color="#1b6ca8", capsize=3, label="audit of 5 %")
axes.plot(months, truths, "o", color="black", markersize=9, markerfacecolor="none", label="all labels")
axes.set(xlabel="month", ylabel="AUC of the automatic decisions", xticks=months, xlim=(0.5, 12.5))
axes.grid(axis="y", alpha=0.3)
figure.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=3, frameon=False)
plt.show()

# %%
# How many audits are enough? The plan for an interval of a given width:

print(audit_plan(score, eta, width=0.06))
print(audit_plan(score, eta, width=0.03, per_month=500))

# %%
# :doc:`/explanation/audit` says what an audit can tell, and what it cannot.
