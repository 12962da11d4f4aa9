"""
The six displays
================

Every picture that ``aucross.evaluation.plots`` draws, on the synthetic loan portfolio. Each takes a call or two.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

from aucross import AUCross, SCross
from aucross.datasets import make_credit
from aucross.evaluation.plots import (
    AUCSurfaceDisplay,
    BandDisplay,
    CAPDisplay,
    CoverageCurveDisplay,
    GroupGapDisplay,
    RiskCoverageDisplay,
)

X, y = make_credit(12_000, return_X_y=True)
X = X.drop(columns="issue_date")
age = pd.cut(X["age"], [17, 25, 35, 50, 65, 100], labels=["to 25", "26 to 35", "36 to 50", "51 to 65", "over 65"])
X_train, X_test, y_train, y_test, age_train, age_test = train_test_split(
    X, y, age, test_size=0.5, stratify=y, random_state=0
)
base = HistGradientBoostingClassifier(max_iter=60, random_state=0)
clf = AUCross(base, coverage=0.8, random_state=0).fit(X_train, y_train)
centred = AUCross(base, coverage=0.8, placement="centered", random_state=0).fit(X_train, y_train)
by_confidence = SCross(base, coverage=0.8, random_state=0).fit(X_train, y_train)

# %%
# AUC against coverage
# --------------------
# The wide grey line is the Oracle, the best band for the known labels of these rows.

CoverageCurveDisplay.from_estimator(clf, X_test, y_test, oracle=True, maximum_probability=True)
plt.show()

# %%
# The band on the scores
# ----------------------

BandDisplay.from_estimator(clf, X_test, y_test, class_names=("repaid", "default"))
plt.show()

# %%
# The cumulative accuracy profile
# -------------------------------
# The share of all defaults among the loans with the highest scores. Rejecting the band bends the curve upwards.

CAPDisplay.from_estimator(clf, X_test, y_test)
plt.show()

# %%
# Twenty rows, seven of them positive, show why it works. The Gini coefficient is A / (A + B).

labels = np.array([1, 1, 0, 1, 0, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0])
scores = -np.arange(20)
CAPDisplay.from_predictions(labels, scores, relative=False, areas=True)
plt.show()

# %%
# A positive is rejected: its column and the strip to its right go, and the rest is scaled up.

CAPDisplay.from_predictions(labels, scores, np.arange(20) != 12, removal=True)
plt.show()

# %%
# A negative is rejected: only its column goes.

CAPDisplay.from_predictions(labels, scores, np.arange(20) != 2, removal=True)
plt.show()

# %%
# The AUC over both ends of the band
# ----------------------------------
# The bands were placed on the training rows. On these rows they reject a little more or less than a fifth, so read each
# AUC beside its coverage.

AUCSurfaceDisplay.from_estimator(clf, X_test, y_test, bands={"centred": centred.band()}, name="optimal")
plt.show()

# %%
# Risk against coverage
# ---------------------
# If the aim is correct labels, maximum probability is the rule to use.

display = RiskCoverageDisplay.from_estimator(clf, X_test, y_test)
RiskCoverageDisplay.from_estimator(by_confidence, X_test, y_test, ax=display.ax_)
plt.show()

# %%
# Groups
# ------
# One band for all ages, and a band for each.

each = AUCross(base, coverage=0.8, random_state=0).fit(X_train, y_train, band_groups=age_train)
display = GroupGapDisplay.from_estimator(clf, X_test, y_test, age_test, name="one band")
GroupGapDisplay.from_estimator(
    each, X_test, y_test, age_test, band_groups=age_test, name="a band each", ax=display.axes_
)
plt.show()
