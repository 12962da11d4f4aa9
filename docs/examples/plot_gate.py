"""
A gate for a mandated scorecard
===============================

A logistic scorecard must answer. Which loans go to a person may be decided by any model, here a gradient boosting
model as the gate. The picture shows the AUC *of the scorecard* on the loans that it answers:

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

from aucross import AUCGate, AUCross, RankedScores, oracle_band
from aucross.datasets import make_credit

X, y = make_credit(12_000, return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    X.drop(columns="issue_date"), y.to_numpy(), test_size=0.5, stratify=y, random_state=0
)

columns = make_column_transformer(
    (make_pipeline(SimpleImputer(), StandardScaler()), make_column_selector(dtype_include="number")),
    (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_include="category")),
)
scorecard = make_pipeline(columns, LogisticRegression(max_iter=1000))
gate = HistGradientBoostingClassifier(max_iter=60, random_state=0)

rules = {
    "AUCGate": AUCGate(scorecard, gate, random_state=0).fit(X_train, y_train),
    "AUCross": AUCross(scorecard, random_state=0).fit(X_train, y_train),
}

# %%
# Both rules wrap the same scorecard, so one column of scores serves both.

score = rules["AUCross"].predict_proba(X_test)[:, 1]
ranked = RankedScores.from_labels(y_test, score)
targets = np.linspace(1.0, 0.5, 11)
curves = {
    name: np.array(
        [
            (selected.mean(), RankedScores.from_labels(y_test[selected], score[selected]).auc())
            for selected in rule.select_each(X_test, targets)
        ]
    )
    for name, rule in rules.items()
}
curves["Oracle on the score"] = np.array(
    [(target, ranked.auc(oracle_band(y_test, score, target))) for target in targets]
)

# %%
# The gate defers loans whose score misleads, wherever that score lies.

styles = {"AUCGate": ("#0072b2", "o-"), "AUCross": ("#d55e00", "s--"), "Oracle on the score": ("#8c8c8c", ":")}
figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
for name, points in curves.items():
    color, style = styles[name]
    axes.plot(*points.T, style, color=color, linewidth=2, markersize=4, label=name)
axes.invert_xaxis()
axes.set(xlabel="share of loans that the scorecard answers", ylabel="AUC of the scorecard on those loans")
axes.legend(frameon=False)
plt.show()
