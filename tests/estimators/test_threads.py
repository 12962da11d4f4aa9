"""One fitted classifier, many threads: everyone gets the same answer, whoever asks first."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError
from threading import Barrier, Event

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from aucross import AUCGate, AUCross, PlugIn, PlugInAUC, SCross

N_THREADS = 40
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
def test_many_threads_that_start_at_once_select_the_same_rows(name):
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


class Waiting(LogisticRegression):
    """Scores its rows, then waits for a sign."""

    scored, go_on = Event(), Event()

    def predict_proba(self, X):
        probabilities = super().predict_proba(X)
        if len(X) == len(X_asked):
            Waiting.scored.set()
            assert Waiting.go_on.wait(timeout=600)
        return probabilities


X_asked = X[:41]  # so many rows are scored in no fit


@pytest.mark.parametrize("ask", ["select", "predict_selective", "decide", "review_queue", "recalibrate"])
@pytest.mark.parametrize("method", [PlugInAUC, SCross])
def test_whoever_asks_while_another_thread_fits_gets_the_answer_of_one_fit(method, ask):
    questions = {
        "select": lambda clf: clf.select(X_asked),
        "predict_selective": lambda clf: clf.predict_selective(X_asked, reject_label=-7),
        "decide": lambda clf: clf.decide(X_asked, 0.6).selected,
        "review_queue": lambda clf: clf.review_queue(X_asked, 5).row,
        "recalibrate": lambda clf: clf.recalibrate(X_asked).select(X),
    }
    Waiting.scored.clear()
    Waiting.go_on.set()
    other_labels = np.where(y == 0, 5, 3)  # other classes, in the other order
    clf = method(Waiting(), coverage=0.7, random_state=0).fit(X, y)
    before = questions[ask](clf)
    Waiting.scored.clear()
    Waiting.go_on.clear()
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(questions[ask], clf)
        assert Waiting.scored.wait(timeout=600)  # the model of the first fit has scored the rows
        try:
            clf.fit(X, other_labels)
        finally:
            Waiting.go_on.set()
        np.testing.assert_array_equal(answer.result(timeout=600), before)
    assert list(clf.classes_) == [3, 5]


def test_a_fit_puts_another_value_in_place_and_changes_none():
    clf = PlugInAUC(logistic, holdout_size=0.4, random_state=0).fit(X, y)
    kept = clf.fitted_
    band = kept.rule.band(0.8)
    again = clf.recalibrate(X)
    assert clf.fitted_ is kept
    assert again.fitted_ is not kept
    clf.fit(X[:300], y[:300])
    assert clf.fitted_ is not kept
    assert kept.rule.band(0.8) == band
    with pytest.raises(FrozenInstanceError):
        kept.rule = clf.band_rule_


def test_a_fit_that_fails_leaves_the_earlier_one():
    clf = PlugInAUC(logistic, holdout_size=0.4, random_state=0).fit(X, y)
    expected = clf.select(X)
    with pytest.raises(ValueError, match="NaN"):
        clf.fit(np.where(X > 2, np.nan, X), y)
    np.testing.assert_array_equal(clf.select(X), expected)
