"""
Ten minutes: from a classifier to a coverage
============================================

You have a classifier that ranks loan applications by their risk. Some of them it ranks
well, others it cannot tell apart. This tutorial wraps the classifier so that the second
kind goes to a person, measures what that gains, and ends with a coverage that you can
defend.
"""

# %%
# A classifier and its AUC
# ------------------------
# :func:`~aucross.datasets.make_credit` draws a synthetic loan portfolio: numbers,
# categories, missing values. The label is 1 for a loan that was not repaid, and that is the
# positive class. We train on one half and keep the other for the end.

import matplotlib.pyplot as plt
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from aucross.datasets import make_credit

X, y = make_credit(6_000, return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    X.drop(columns="issue_date"), y, test_size=0.5, stratify=y, random_state=0
)

base = HistGradientBoostingClassifier(max_iter=40, random_state=0)
base.fit(X_train, y_train)
auc_of_all = roc_auc_score(y_test, base.predict_proba(X_test)[:, 1])
print(f"{len(y_test):,} test loans, {y_test.mean():.1%} of them defaulted")
print(f"AUC of all test loans: {auc_of_all:.3f}")

# %%
# Take a loan that defaulted and one that did not: the AUC is the probability that the model
# gives the first the higher score. 0.5 is no better than tossing a coin, 1 is perfect.
#
# Wrap it
# -------
# :class:`~aucross.AUCross` takes any classifier with ``predict_proba`` or
# ``decision_function``. ``coverage`` is the share of loans that it should answer.

from aucross import AUCross

clf = AUCross(base, coverage=0.8, random_state=0).fit(X_train, y_train)
score = clf.predict_proba(X_test)[:, 1]
selected = clf.select(X_test)

auc_of_selected = roc_auc_score(y_test[selected], score[selected])
print(f"selected: {selected.mean():.1%} of the test loans")
print(f"AUC of the selected loans: {auc_of_selected:.3f}, of all: {auc_of_all:.3f}")

# %%
# ``fit`` trained six models: one for each of five folds, to score the training loans
# without having seen them, and one on all loans, which answers from now on. ``predict`` and
# ``predict_proba`` behave as before and answer every loan, so that pipelines and metrics of
# scikit-learn continue to work. The new method is ``select``: True where the answer should
# be used, False where the loan goes to a person.
#
# Look at the band
# ----------------
# The rejected loans are those with a score in one interval, the band, both ends included.

clf.band()

# %%
# The picture shows where it lies among the scores of the test loans.

from aucross.evaluation.plots import BandDisplay

BandDisplay.from_estimator(clf, X_test, y_test, class_names=("repaid", "default"))
plt.show()

# %%
# The band lies well below 0.5, where loans that default and loans that do not are mixed
# most. Rejecting the scores around 0.5, as one does for accuracy, would give up loans that
# the model ranks well.
#
# Other coverages cost nothing
# ----------------------------
# The fitted object holds the rule, not one band. Ask for any coverage without another fit,
# or for several while the loans are scored once:

scored = clf.scored(X_test)
for coverage in (0.95, 0.9, 0.8, 0.6):
    answered, band = clf.select(scored, coverage), clf.band(coverage)
    ends = f"{band.lower:.3f} to {band.upper:.3f}"
    print(f"asked for {coverage:.0%}: {answered.mean():.1%} selected, band {ends}")

# %%
# The share on new loans differs a little from what was asked for, by chance: the band was
# placed on other loans.
#
# Measure, with intervals
# -----------------------
# :func:`~aucross.evaluate_selective` judges loans that took no part in ``fit``. It gives
# one line for each coverage, and each number has a 95 % interval:

from aucross import evaluate_selective

evaluation = evaluate_selective(
    clf, X_test, y_test, coverages=(1.0, 0.9, 0.8, 0.7), random_state=0
)
evaluation

# %%
# The pictures at the right show the intervals of the AUC, and the dotted line shows the AUC
# of all loans. Read three columns before you quote the AUC:
#
# * *reached* is the share that was really selected. A rule that rejects more than it was
#   allowed to has an easier task.
# * *AUC gain* is the AUC of the selected loans minus that of all, with an interval of its
#   own. If that lies above 0, abstention helps, even where the intervals of the two AUCs
#   overlap.
# * *positive rate* is the share of defaults among the selected loans. If it moves,
#   rejecting changes the mix of what is decided automatically.
#
# The next picture shows the same as a curve. The wide grey line is the Oracle: the best
# band for the known labels of these very loans. No band on this score can have a higher
# AUC.

from aucross.evaluation.plots import CoverageCurveDisplay

CoverageCurveDisplay.from_estimator(clf, X_test, y_test, oracle=True)
plt.show()

# %%
# Compare two rules
# -----------------
# The usual way to reject is by low confidence. :class:`~aucross.SCross` does that with the
# same folds. :func:`~aucross.compare_selective` compares both loan by loan,
# so the interval is that of the difference.

from aucross import SCross, compare_selective

by_confidence = SCross(base, random_state=0).fit(X_train, y_train)
comparison = compare_selective(
    [by_confidence, clf], X_test, y_test, coverages=(0.9, 0.8), random_state=0
)
comparison

# %%
# Rejecting by low confidence leaves a lower AUC than answering every loan does (the first
# line of the evaluation above). For accuracy at a cut-off of 0.5 the comparison goes
# the other way. Choose by what the scores are used for: ranking, pricing and cut-offs that
# are set later need the AUC; a fixed yes or no needs accuracy.
#
# Which coverage do I need?
# -------------------------
# Often the target is a quality, not a coverage. ``coverage_for`` answers from the held-out
# scores of the training loans:

answer = clf.coverage_for(auc=0.77)
answer

# %%
# The answer comes from the training loans, so it need not agree with the table above, which
# is about the test loans. The interval of the coverage follows from that of the AUC. It is
# wide, because a few hundred defaults cannot say more. A coverage of 0 would mean that no
# coverage reaches the target.
#
# The other half of the question is how many loans the reviewers can look at. With 500
# applications a week:

table = evaluation.to_frame()
table["reviews a week"] = ((1 - table["achieved_coverage"]) * 500).round().astype(int)
table = table[
    [
        "target_coverage",
        "achieved_coverage",
        "reviews a week",
        "selective_auc",
        "auc_gain",
        "positive_rate",
    ]
]
table.round(3)

# %%
# That is the table to take to a meeting: what each coverage costs in reviews, and what it
# brings.
#
# A model that is already trained
# -------------------------------
# Wrap it in scikit-learn's ``FrozenEstimator`` and call ``fit`` with loans that it has not
# seen. Nothing is trained again; the loans only place the band.

from sklearn.frozen import FrozenEstimator

X_place, X_rest, y_place, y_rest = train_test_split(
    X_test, y_test, test_size=0.5, stratify=y_test, random_state=0
)
frozen = AUCross(FrozenEstimator(base), coverage=0.8).fit(X_place, y_place)
print(f"answers as before: {(frozen.predict(X_rest) == base.predict(X_rest)).all()}")
print(f"selected: {frozen.select(X_rest).mean():.1%}")

# %%
# Where to go from here
# ---------------------
# * :doc:`/auto_tutorials/index`: longer tasks, from a mandated scorecard to a cluster.
# * :doc:`/howto/index`: single questions, such as data frames, weights and metadata routing
#   in :doc:`/howto/frames`.
# * :func:`~aucross.selective_scorer`: a scorer for a grid search that chooses the model
#   which is best on the rows that it answers.
# * :doc:`/mathematics`: why the band is the best one, and which coverage is guaranteed.
