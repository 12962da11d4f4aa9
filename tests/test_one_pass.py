"""Every row passes each model exactly once, whatever is asked about it."""

from __future__ import annotations

import pickle
from collections import Counter
from typing import ClassVar

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier

from aucross import (
    AUCGate,
    AUCross,
    CoverageMonitor,
    PlugIn,
    PlugInAUC,
    SCross,
    compare_selective,
    evaluate_groups,
    evaluate_selective,
    promise_selective,
    selective_scorer,
)
from aucross.evaluation import BandDisplay, CoverageCurveDisplay
from aucross.record import Record
from aucross.report import build_summary

X, y = make_classification(1600, weights=[0.7], flip_y=0.2, random_state=1)
X_train, y_train, X_test, y_test = X[:1000], y[:1000], X[1000:], y[1000:]
REGION = np.where(X_test[:, 1] > 0, "north", "south")


class Watched(LogisticRegression):
    """Counts how often each row comes by, through whichever method."""

    passes: ClassVar[Counter] = Counter()
    name = "model"

    def _count(self, X):
        Watched.passes.update((self.name, row.tobytes()) for row in np.asarray(X, dtype=float))

    def predict_proba(self, X):
        self._count(X)
        return super().predict_proba(X)

    def predict(self, X):
        self._count(X)
        return super().predict(X)


class WatchedGate(Watched):
    """The same under another name."""

    name = "gate"


METHODS = {
    "AUCross": AUCross(Watched(), random_state=0),
    "PlugInAUC": PlugInAUC(Watched(), holdout_size=0.3, random_state=0),
    "SCross": SCross(Watched(), random_state=0),
    "PlugIn": PlugIn(Watched(), holdout_size=0.3, random_state=0),
    "AUCGate": AUCGate(Watched(), WatchedGate(), random_state=0),
}


@pytest.fixture(scope="module")
def fitted():
    return {name: clone(method).fit(X_train, y_train) for name, method in METHODS.items()}


@pytest.fixture(params=METHODS)
def clf(request, fitted):
    Watched.passes.clear()
    return fitted[request.param]


def assert_each_row_once(clf, times=1, *, others=False):
    """Rows of the batch passed once; others, in which a column was replaced, only where reasons ask for them."""
    models = ["model", "gate"] if isinstance(clf, AUCGate) and not others else ["model"]
    expected = Counter({(name, row.tobytes()): times for name in models for row in X_test})
    passes = Counter({row: n for row, n in Watched.passes.items() if row in expected}) if others else Watched.passes
    assert passes == expected


CALLS = {
    "scored": lambda clf: clf.scored(X_test),
    "decide": lambda clf: clf.decide(X_test),
    "decide by capacity": lambda clf: clf.decide(X_test, capacity=20),
    "select": lambda clf: clf.select(X_test, 0.8),
    "predict_selective": lambda clf: clf.predict_selective(X_test),
    "review_queue": lambda clf: clf.review_queue(X_test, capacity=20),
    "recalibrate": lambda clf: clf.recalibrate(X_test),
    "evaluate_selective": lambda clf: evaluate_selective(clf, X_test, y_test, n_bootstrap=3),
    "evaluate_groups": lambda clf: evaluate_groups(clf, X_test, y_test, by=REGION),
    "promise_selective": lambda clf: promise_selective(clf, X_test, y_test),
    "monitor": lambda clf: CoverageMonitor(clf).update(X_test),
    "selective_scorer": lambda clf: selective_scorer()(clf, X_test, y_test),
    "labels of the monitor": lambda clf: CoverageMonitor(clf).update_labels(X_test, y_test),
    "report": lambda clf: build_summary(clf, X_test, y_test),
    "coverage curve": lambda clf: CoverageCurveDisplay.from_estimator(clf, X_test, y_test, n_bootstrap=3),
    "band": lambda clf: BandDisplay.from_estimator(clf, X_test, y_test),
}


# For the columns that a reason names, columns of reviewed rows are replaced and scored.
WITH_REASONS = ("decide by capacity", "review_queue")


@pytest.mark.parametrize("name", CALLS)
def test_each_row_passes_each_model_once(name, clf):
    CALLS[name](clf)
    assert_each_row_once(clf, others=name in WITH_REASONS)


def test_queue_and_record_share_one_pass(clf, tmp_path):
    scored = clf.scored(X_test)
    queue = clf.review_queue(scored, capacity=20)
    with Record.open(tmp_path / "cases.db") as record:
        record.decide(clf, scored, batch="a", ids=range(600), capacity=20)
    assert len(queue) == 20
    assert_each_row_once(clf)


def test_the_record_scores_each_row_once_or_takes_scored_rows(clf, tmp_path):
    with Record.open(tmp_path / "cases.db") as record:
        selected = record.decide(clf, X_test, batch="a", ids=range(600)).selected
        assert_each_row_once(clf, others=True)  # the record tells reasons
        scored = clf.scored(X_test)
        Watched.passes.clear()
        assert np.array_equal(record.decide(clf, scored, batch="b", ids=range(600)).selected, selected)
    assert not Watched.passes


def test_scored_rows_stand_for_rows_everywhere(clf):
    scored = clf.scored(X_test)
    evaluate_selective(clf, scored, y_test, n_bootstrap=0)
    evaluate_groups(clf, scored, y_test, by=REGION, with_intervals=False)
    promise_selective(clf, scored, y_test)
    CoverageMonitor(clf).update(scored)
    build_summary(clf, scored, y_test)
    clf.recalibrate(scored).select(scored)
    assert_each_row_once(clf)


def test_a_comparison_scores_each_classifier_once(fitted):
    ours, usual = fitted["AUCross"], fitted["SCross"]
    Watched.passes.clear()
    comparison = compare_selective([ours, usual], X_test, y_test, n_bootstrap=3, random_state=0)
    assert_each_row_once(ours, times=2)
    pair = ours.scored(X_test), usual.scored(X_test)
    Watched.passes.clear()
    assert repr(compare_selective([ours, usual], pair, y_test, n_bootstrap=3, random_state=0)) == repr(comparison)
    assert not Watched.passes
    with pytest.raises(ValueError, match="scored rows must come from this classifier"):
        compare_selective([ours, usual], pair[::-1], y_test, n_bootstrap=0)


def test_scored_rows_of_another_classifier_are_refused(fitted):
    ours, usual = fitted["AUCross"], fitted["SCross"]
    for rows in (ours.scored(X_test), pickle.loads(pickle.dumps(ours.scored(X_test)))):
        with pytest.raises(ValueError, match="scored rows must come from this classifier"):
            usual.select(rows)
        assert np.array_equal(ours.select(rows), ours.select(X_test))


def test_scored_rows_of_another_classifier_with_the_same_frozen_model_are_refused():
    frozen = FrozenEstimator(LogisticRegression().fit(X_train, y_train))
    ours, usual = (method(frozen, random_state=0).fit(X_test, y_test) for method in (AUCross, SCross))
    one, other = (AUCGate(frozen, WatchedGate(C=c), random_state=0).fit(X_test, y_test) for c in (1.0, 0.001))
    for taker, giver in ((usual, ours), (ours, usual), (one, ours), (one, other)):
        with pytest.raises(ValueError, match="scored rows must come from this classifier"):
            taker.select(giver.scored(X_test))


def test_no_rows_make_an_empty_queue():
    region = np.where(X_train[:, 1] > 0, "north", "south")
    clf = clone(METHODS["AUCross"]).fit(X_train, y_train, band_groups=region)
    nobody = clf.scored(X_test, band_groups=REGION).take(np.array([], dtype=int))
    assert len(clf.decide(nobody, capacity=3)) == len(clf.review_queue(nobody, capacity=3)) == 0


def test_a_model_with_a_threshold_of_its_own_is_asked_for_its_labels():
    own = FixedThresholdClassifier(LogisticRegression(), threshold=0.3)
    clf = AUCross(own, random_state=0).fit(X_train, y_train)
    assert not clf.held_out_.answers_by_score
    assert np.array_equal(clf.scored(X_test).predicted, clf.predict(X_test))
    assert not np.array_equal(clf.scored(X_test).predicted, clf.predict_proba(X_test)[:, 1] > 0.5)
