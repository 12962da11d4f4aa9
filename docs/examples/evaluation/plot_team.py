"""
How good must the reviewers be?
===============================

A selective metric leaves the rejected rows out. In the end somebody decides them, too. The team score counts all rows:
the decisions of the classifier where it was used, those of the reviewers elsewhere. It depends on how often reviewers
are right on the rows that they get, which are the hard ones.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import accuracy_score
from sklearn.model_selection import train_test_split

from aucross import AUCross, SCross
from aucross.datasets import make_credit
from aucross.evaluation import team_score

X, y = make_credit(12_000, return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    X.select_dtypes("number"), y.to_numpy(), test_size=0.5, stratify=y, random_state=0
)
base = HistGradientBoostingClassifier(max_iter=30, random_state=0)
rules = {
    "AUCross": AUCross(base, coverage=0.8, random_state=0).fit(X_train, y_train),
    "SCross: maximum probability": SCross(base, coverage=0.8, random_state=0).fit(X_train, y_train),
}
predicted = rules["AUCross"].predict(X_test)
alone = accuracy_score(y_test, predicted)

# %%
# Reviewers are right with some probability, the same for all rows that they see. The accuracy of the team is then
# computed exactly, without random draws.

quality = np.linspace(0.5, 1.0, 26)
teams, break_even = {}, {}
for name, rule in rules.items():
    selected = rule.select(X_test)
    teams[name] = [
        team_score(accuracy_score, y_test, predicted, selected, reviewer_accuracy=share) for share in quality
    ]
    break_even[name] = accuracy_score(y_test[~selected], predicted[~selected])
    print(f"{name:28s} {1 - selected.mean():.0%} reviewed; there the classifier is right in {break_even[name]:.0%}")

# %%
# Where a line crosses the dotted one, reviewers are as good as the classifier on the rows that they get. Left of it the
# team is worse than the classifier alone.

colors, styles = ("#1b6ca8", "#e08e0b"), ("-", "--")
figure, axes = plt.subplots(figsize=(7.5, 4.4), layout="constrained")
axes.axhline(alone, color="black", linewidth=0.8, linestyle=":")
axes.text(0.505, alone + 0.003, "classifier alone")
for (name, values), color, style in zip(teams.items(), colors, styles, strict=True):
    axes.plot(quality, values, style, color=color, linewidth=2, label=name)
    axes.plot(break_even[name], alone, "o", color=color, markersize=9)
axes.set(xlabel="share of the reviewed rows that reviewers decide rightly", ylabel="accuracy of the team on all rows")
axes.set_xlim(0.5, 1.0)
axes.grid(alpha=0.3)
axes.legend(frameon=False, loc="lower right")
plt.show()

# %%
# If the aim is right decisions, maximum probability hands over the rows that are worth most: they are those on which
# the classifier is hardly better than a coin, and even mediocre reviewers help. The rows of the AUC band are easier to
# decide, since most of them are repaid, and reviewers must be better to help there. What the band improves is the
# ranking of the rest, which :doc:`/auto_examples/plot_coverage_curve` shows, and which maximum probability harms.
#
# An accuracy of reviewers that was measured on all kinds of rows, easy ones included, makes the team look better than
# it is. :doc:`/howto/targets` shows the score with real decisions of reviewers and with costs.
