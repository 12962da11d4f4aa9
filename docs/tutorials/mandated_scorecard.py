"""
A mandated scorecard with a gate
================================

The regulator has approved a logistic scorecard, and it has to answer. Nobody said that it
has to answer *every* application: some may go to a credit officer. Any model may decide
which ones, even one that could never be approved as a scorecard. That model is the gate.
This tutorial fits one, shows what it gains and what it cannot do, and ends with a file and
with the answers that a validator will ask for.
"""

# %%
# The scorecard
# -------------
# A logistic regression on the loan portfolio of :func:`~aucross.datasets.make_credit`:
# numbers are filled and scaled, categories get one column each.

import matplotlib.pyplot as plt
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from aucross.datasets import make_credit

X, y = make_credit(12_000, return_X_y=True)
X = X.drop(columns="issue_date")
X_train, X_test, y_train, y_test = train_test_split(
    X, y, test_size=0.4, stratify=y, random_state=0
)

columns = make_column_transformer(
    (
        make_pipeline(SimpleImputer(), StandardScaler()),
        make_column_selector(dtype_include="number"),
    ),
    (
        OneHotEncoder(handle_unknown="ignore"),
        make_column_selector(dtype_include="category"),
    ),
)
scorecard = make_pipeline(columns, LogisticRegression(max_iter=1000))

# %%
# Two ways to abstain
# -------------------
# :class:`~aucross.AUCross` looks at the scorecard's own score and rejects the best band on
# it. :class:`~aucross.AUCGate` also looks at a second model, here gradient boosting. Both
# answer with the same scorecard.

from aucross import AUCGate, AUCross

gate = HistGradientBoostingClassifier(max_iter=40, random_state=0)
by_score = AUCross(scorecard, coverage=0.8, random_state=0).fit(X_train, y_train)
by_gate = AUCGate(scorecard, gate, coverage=0.8, random_state=0).fit(X_train, y_train)

# %%
# A gate is not taken on trust. It is used only if its held-out score clearly adds to what
# the scorecard knows, and only at coverages where that clearly raises the AUC. Otherwise
# the bands are those of ``AUCross``. The fitted object says which columns of scores decide,
# 0 for the scorecard and 1 for the gate:

print("scores in use:", by_gate.probability_model_.columns)

# %%
# The evidence
# ------------
# The AUC below is that of the scorecard on the loans that it answers, on test loans that
# neither model has seen. The gate's own AUC plays no part in it.

from aucross import evaluate_selective

coverages = (1.0, 0.9, 0.8, 0.7)
evaluation = evaluate_selective(by_gate, X_test, y_test, coverages, random_state=0)
evaluation

# %%
# What does the gate add to the band on the score alone? Both are judged on the same
# loans, loan by loan:

from aucross import compare_selective

rules = {"band on the score": by_score, "gate": by_gate}
comparison = compare_selective(rules, X_test, y_test, (0.9, 0.8, 0.7), random_state=0)
comparison

# %%
# Read the two columns of coverage first: the difference is worth something only if neither
# rule rejects more than the other. Then read the interval of the difference: it lies above
# 0, so the gate pays here.
#
# The picture adds the Oracle of the score, the best band for the known labels of the test
# loans. No band on the score alone can do better. The gate does better, because it knows
# more than the score.

from aucross.evaluation.plots import CoverageCurveDisplay

display = CoverageCurveDisplay.from_estimator(by_gate, X_test, y_test, oracle=True)
CoverageCurveDisplay.from_estimator(by_score, X_test, y_test, ax=display.ax_)
plt.show()

# %%
# What goes to a person
# ---------------------
# A band of the score is a vertical stripe in the next picture. The gate takes loans on
# which the two models disagree, wherever the score lies: those that the scorecard ranks too
# low, and those that it ranks too high.

from scipy.stats import rankdata

ranks = [
    rankdata(model.predict_proba(X_test)[:, 1]) / len(X_test)
    for model in (by_gate.estimator_, by_gate.gate_)
]
figure, panels = plt.subplots(
    1, 2, figsize=(8, 4.4), sharex=True, sharey=True, layout="constrained"
)
for axes, (name, clf) in zip(
    panels, {"AUCross": by_score, "AUCGate": by_gate}.items(), strict=True
):
    selected = clf.select(X_test)
    for rows, color, label in (
        (selected, "#1b6ca8", "answered by the scorecard"),
        (~selected, "#e08e0b", "goes to a person"),
    ):
        axes.scatter(*(rank[rows] for rank in ranks), s=5, color=color, label=label)
    axes.set(title=name, xlabel="rank by the scorecard")
panels[0].set_ylabel("rank by the gate")
figure.legend(
    *panels[0].get_legend_handles_labels(),
    loc="outside lower center",
    ncols=2,
    markerscale=3,
)
plt.show()

# %%
# The officer who opens a case needs one line. ``review_queue`` lists the cases of a batch
# and starts with the one whose review is worth most; each has its reason. Here there are
# forty places for the first five hundred applications:

ids = [f"A-{number:04d}" for number in range(500)]
queue = by_gate.review_queue(X_test[:500], 40, ids=ids)
queue

# %%
# The file
# --------
# :func:`~aucross.save` writes both models and the rule to one file, without pickle. The
# header can be read without loading the classifier. Its two fingerprints identify what
# scores a loan and what decides about it: the model and the rule. The log of decisions
# repeats them in every row.

import tempfile
from pathlib import Path

from aucross import load, save
from aucross.files import read_header

folder = tempfile.TemporaryDirectory()
path = Path(folder.name) / "scorecard.aucross"
save(by_gate, path, metadata={"target": "default", "approved": "2025-11"})
header = read_header(path)
print(header.class_name, f"{path.stat().st_size / 1e6:.1f} MB")
print("model", header.model_fingerprint)
print("rule ", header.rule_fingerprint)

loaded = load(path)
same = (loaded.select(X_test) == by_gate.select(X_test)).all()
print("decides as before:", same)

# %%
# Can the rule be SQL?
# --------------------
# A band on one score can. The rule of a gate cannot, because it needs both models, and the
# export says so:

import textwrap

from aucross.export import rule_to_sql

try:
    rule_to_sql(by_gate, "score")
except (TypeError, ValueError) as error:
    print(textwrap.fill(str(error), 90))

# %%
# With the band of the score alone the whole rule is one expression:

print(rule_to_sql(by_score, "score"))

# %%
# So either choice has a price: SQL in the core system with the smaller gain, or a service
# that runs Python (or the file in a nightly batch) with the larger one.
#
# What a validator will ask
# -------------------------
# **Which model decides about the customer?** The scorecard. Its answers are unchanged, for
# every loan:

approved = make_pipeline(columns, LogisticRegression(max_iter=1000)).fit(X_train, y_train)
unchanged = (by_gate.predict_proba(X_test) == approved.predict_proba(X_test)).all()
print("same probabilities as the scorecard without a gate:", unchanged)

# %%
# **Whose AUC is reported?** That of the scorecard, on the loans that it answers, at the
# coverage reached, with the AUC of all loans beside it: the first line of the evaluation.
#
# **Does rejecting change the mix?** The guard compares the share of defaults among the
# selected loans with that of all, and how often a default is sent to review:

from aucross.evaluation import BaseRateGuard

check = BaseRateGuard().check(y_test, by_gate.select(X_test))
check

# %%
# **What if the gate is of no use?** Then only the training takes longer. A gate that knows
# no more than the scorecard leaves the bands of ``AUCross``:

useless = AUCGate(scorecard, gate=scorecard, coverage=0.8, random_state=0).fit(
    X_train, y_train
)
print("scores in use:", useless.probability_model_.columns)
print("same decisions:", (useless.select(X_test) == by_score.select(X_test)).all())

# %%
# **And on few loans?** With fewer than a few thousand training loans, compare the gate with
# ``AUCross`` on loans of your own before you use it; :doc:`/howto/gate` has the
# measurements, including those in which the gate lost. A scorecard that may not be trained
# again goes into a ``FrozenEstimator``, as the same page shows.

folder.cleanup()
