"""One fitted classifier, many threads: everyone gets the same answer, whoever asks first."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from aucross import AUCGate, AUCross, PlugIn, PlugInAUC, SCross

N_THREADS = 100
COVERAGES = (0.95, 0.8, 0.6)

X, y = make_classification(600, n_features=8, n_informative=5, flip_y=0.2, random_state=0)
three_classes = np.digitize(X[:, 0] + y, [-0.5, 1.0])
region = np.where(X[:, 1] > 0, "north", "south")
logistic = LogisticRegression()

CLASSIFIERS = {
    "AUCross": lambda: AUCross(logistic, random_state=0).fit(X, y),
    "AUCross, nested": lambda: AUCross(logistic, nested=True, random_state=0).fit(X, y),
    "AUCross, groups": lambda: AUCross(logistic, random_state=0).fit(X, y, band_groups=region),
    "AUCross, three classes": lambda: AUCross(logistic, cv=2, random_state=0).fit(X[:150], three_classes[:150]),
    "PlugInAUC": lambda: PlugInAUC(logistic, holdout_size=0.4, random_state=0).fit(X, y),
    "SCross": lambda: SCross(logistic, random_state=0).fit(X, y),
    "PlugIn": lambda: PlugIn(logistic, holdout_size=0.4, random_state=0).fit(X, y),
    "AUCGate": lambda: AUCGate(
        logistic, HistGradientBoostingClassifier(max_iter=5, random_state=0), cv=3, random_state=0
    ).fit(X, y),
}


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_hundred_threads_that_start_at_once_select_the_same_rows(name):
    groups = region if "groups" in name else None
    alone = CLASSIFIERS[name]()
    expected = {coverage: alone.select(X, coverage, groups) for coverage in COVERAGES}
    # Another fit, so that nothing is cached when the threads start.
    clf = CLASSIFIERS[name]()
    start = Barrier(N_THREADS)

    def ask(number):
        coverage = COVERAGES[number % len(COVERAGES)]
        start.wait()
        return coverage, clf.select(X, coverage, groups)

    with ThreadPoolExecutor(N_THREADS) as pool:
        answers = list(pool.map(ask, range(N_THREADS)))
    assert len(answers) == N_THREADS
    for coverage, selected in answers:
        np.testing.assert_array_equal(selected, expected[coverage])
