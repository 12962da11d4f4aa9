"""
Several classes: digits on cheques
==================================

A machine reads the digits on cheques. Some it cannot read, and a person types them in.
Which ones should that be? With five classes there is no band between two ends of one score.
This tutorial shows what takes its place, which measures of ranking there are for several
classes, and what the abstaining machine leaves to people.
"""

# %%
# A reader of digits
# ------------------
# Scikit-learn comes with images of digits, of 8 by 8 pixels. We take the five that machines
# confuse most, add the noise of a poor scanner, and let a strongly regularised logistic
# regression stand for an old reader.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

X, y = load_digits(return_X_y=True)
X, y = X[np.isin(y, [1, 3, 5, 8, 9])], y[np.isin(y, [1, 3, 5, 8, 9])]
X = np.clip(X + np.random.default_rng(0).normal(0, 5, X.shape), 0, 16)
X_train, X_test, y_train, y_test = train_test_split(
    X, y, test_size=0.5, stratify=y, random_state=0
)
reader = LogisticRegression(C=1e-4, max_iter=500).fit(X_train, y_train)
print(f"digits read rightly: {reader.score(X_test, y_test):.1%}")

# %%
# What is an AUC of five classes?
# -------------------------------
# Two answers are in use, and both are means over pairs of classes, so that rare classes
# count like frequent ones:
#
# * *Hand and Till's M*: for each pair of classes, how well the probability of the one ranks
#   its members above those of the other;
# * *AUC-mu*: the same, with the difference of the two probabilities in place of the one.
#
# :class:`~aucross.AUCross` takes either as its target: ``"auc"``, the default, is M, and
# ``"auc_mu"`` the other. With two classes both are the AUC.

from aucross import AUCross

by_m = AUCross(reader, coverage=0.85, random_state=0).fit(X_train, y_train)
by_mu = AUCross(reader, coverage=0.85, target="auc_mu", random_state=0).fit(
    X_train, y_train
)
for name, clf in (("Hand and Till's M", by_m), ("AUC-mu", by_mu)):
    print(f"target {name}: {clf.select(X_test).mean():.1%} of the digits selected")

# %%
# Measure
# -------
# The evaluation has the metrics of several classes:

from aucross import evaluate_selective

coverages = (1.0, 0.95, 0.9, 0.85, 0.8)
evaluation = evaluate_selective(by_m, X_test, y_test, coverages)
evaluation

# %%
# Both measures rise, though only one of them was the target, and so does the accuracy. The
# other target gives much the same here:

other = evaluate_selective(by_mu, X_test, y_test, (1.0, 0.9, 0.8))
other

# %%
# The usual rule rejects the digits whose most probable class has the lowest probability.
# The picture shows both rules as curves:

from aucross import SCross, compare_selective
from aucross.evaluation.plots import CoverageCurveDisplay

by_confidence = SCross(reader, coverage=0.85, random_state=0).fit(X_train, y_train)
display = CoverageCurveDisplay.from_evaluation(evaluation, name="AUCross")
CoverageCurveDisplay.from_estimator(
    by_confidence, X_test, y_test, coverages, ax=display.ax_
)
plt.show()

# %%
# The intervals of the two curves overlap, but that does not show that the rules are alike.
# The interval of the difference tells more:

comparison = compare_selective(
    {"confidence": by_confidence, "M": by_m}, X_test, y_test, (0.9, 0.8)
)
comparison

# %%
# Look at the coverages reached as well: confidence keeps more digits here than was asked
# for, which is the harder task. With classes of the same size the two rules reject many of
# the same digits, and a few hundred cannot tell them apart at every coverage. With rare
# classes, of which a reader is never sure, the difference is larger.
#
# How is a row judged without a band on the score?
# ------------------------------------------------
# By its *influence*: how much it is expected to add to M or to take from it, given the
# probabilities of all classes. The digits with the lowest influence are rejected.
# ``selection_score`` is that number. The band now lies on it: all influences up to a limit.

influence = by_m.decide(X_test).selection_score
print(f"rejected: influence up to {by_m.band().upper:.3g}")
print(f"lowest {influence.min():.3g}, highest {influence.max():.3g}")

# %%
# What a person gets to see
# -------------------------
# The queue of the twelve digits whose review is worth most. Its two classes are the most
# probable ones by the rule's own probabilities, which were estimated on held-out digits.
# They can differ from what the machine reads:

queue = by_m.review_queue(X_test, 12)
queue

# %%
# These are the images. The title of each says what the machine reads and what the digit is.

figure, panels = plt.subplots(2, 6, figsize=(7, 3.2), layout="constrained")
read = by_m.predict(X_test)
for axes, row in zip(panels.flat, queue.row, strict=True):
    axes.imshow(X_test[row].reshape(8, 8), cmap="Greys")
    color = "#1b6ca8" if read[row] == y_test[row] else "#c8402f"
    axes.set_title(f"read {read[row]}, is {y_test[row]}", fontsize="medium", color=color)
    axes.axis("off")
plt.show()

# %%
# Machine and people together
# ---------------------------
# People who type what they see are right in, say, 99 of 100. The share of digits that are
# read correctly by the machine alone, by the machine on what it selects, and by both
# together:

from sklearn.metrics import accuracy_score

from aucross.evaluation import team_score

selected = by_m.select(X_test)
alone = accuracy_score(y_test, read)
on_selected = accuracy_score(y_test[selected], read[selected])
together = team_score(accuracy_score, y_test, read, selected, reviewer_accuracy=0.99)
print(f"alone {alone:.1%}, on what it selects {on_selected:.1%}, together {together:.1%}")

# %%
# The same for the rule of confidence, with the number of digits that people have to type:

selected_by_confidence = by_confidence.select(X_test)
rival = team_score(
    accuracy_score, y_test, read, selected_by_confidence, reviewer_accuracy=0.99
)
for name, answered, right in (
    ("by influence", selected, together),
    ("by confidence", selected_by_confidence, rival),
):
    print(
        f"{name:13s} {right:.1%} of all digits right, {(~answered).sum()} typed by people"
    )

# %%
# Neither number alone says which rule is better, because one of the rules leaves more to
# people. The measures answer different questions. M and AUC-mu ask whether the
# probabilities rank digits correctly, for each pair of classes; accuracy asks whether the
# first guess is right. Choose the one that the use needs.
#
# Not everything is there for several classes: SQL and ONNX exports need a band on one
# score, and the Dask and Spark estimators take two classes. :doc:`/mathematics` has the
# influence, and :doc:`/howto/capacity` the queue.
