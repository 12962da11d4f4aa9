"""
Which coverage gives the AUC that is asked for?
===============================================

Often the AUC is the requirement, and the coverage is what one has to pay. After a fit,
:meth:`~aucross.AUCross.coverage_for` reads the answer off the held-out rows, with an interval.
:func:`~aucross.promise_coverage` gives the answer that can be signed, from labelled test rows.
"""

from textwrap import fill

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

from aucross import AUCross
from aucross.datasets import make_credit
from aucross.evaluation import promise_coverage, selective_auc

X, y = make_credit(16_000, return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    X.drop(columns="issue_date"), y.to_numpy(), test_size=0.5, stratify=y, random_state=0
)
base = HistGradientBoostingClassifier(max_iter=40, random_state=0)
clf = AUCross(base, random_state=0).fit(X_train, y_train)
print(clf.coverage_for(auc=0.82))

# %%
# The picture shows, for a range of requirements, the answer with its interval and the AUC that new rows really have.

asked = np.linspace(0.77, 0.86, 19)
answers = [clf.coverage_for(auc=auc) for auc in asked]
scored = clf.scored(X_test)
coverages = np.linspace(1.0, 0.4, 31)
on_new_rows = [selective_auc(y_test, scored.score, clf.select(scored, coverage)) for coverage in coverages]
# The tests walk from a low coverage upwards and stop at the first that fails.
signed = {auc: promise_coverage(clf, scored, y_test, auc=auc) for auc in (0.78, 0.80, 0.82, 0.84)}

figure, axes = plt.subplots(figsize=(7.5, 4.4), layout="constrained")
axes.fill_betweenx(
    asked,
    [answer.low for answer in answers],
    [answer.high for answer in answers],
    color="#1b6ca8",
    alpha=0.2,
    linewidth=0,
    label="its 95 % interval",
)
axes.plot([answer.value for answer in answers], asked, color="#1b6ca8", linewidth=2, label="coverage_for")
axes.plot(coverages, on_new_rows, "--", color="#e08e0b", linewidth=2, label="reached on new rows")
axes.plot(
    [promise.coverage_at_least for promise in signed.values()],
    list(signed),
    "D",
    color="#c8402f",
    markersize=8,
    label="promise_coverage: at least",
)
axes.set(xlabel="coverage", ylabel="AUC of the selected rows", xlim=(1.02, 0.38), ylim=(asked[0], asked[-1]))
axes.grid(alpha=0.3)
axes.legend(frameon=False, loc="upper left")
plt.show()

# %%
# The held-out rows foresee what new rows have: the dashed line stays well inside the interval. They are a little
# optimistic at low coverages, because the bands were placed on them; with few defaults they can be very optimistic,
# and then the lower end of the interval is the number to read.
#
# The diamonds lie far to the right of the line, which means fewer rows decided automatically. That is what it costs to
# be sure: with 95 % confidence the coverage is at least so high *and* the AUC at least as asked, although the coverage
# was chosen on the same rows. For a plan, use the line. For a figure that somebody signs, use the diamonds.

for promise in signed.values():
    print(fill(str(promise), 96))

# %%
# :doc:`/howto/promise` explains the walk from one coverage to the next, and why the choice costs no confidence.
