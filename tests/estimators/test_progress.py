"""A fit tells its steps to scikit-learn's callbacks."""

from __future__ import annotations

import logging

import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from aucross import AUCGate, AUCross, PlugInAUC, SCross

callback = pytest.importorskip("sklearn.callback")

X, y = make_classification(300, flip_y=0.2, random_state=0)


class Listener:
    """Writes down what it is told."""

    def __init__(self):
        self.begun, self.ended, self.n_steps = [], [], None

    def setup(self, estimator, context):
        self.n_steps = context.max_subtasks

    def teardown(self, estimator, context):
        self.ended.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.begun.append(context.task_name)

    def on_fit_task_end(self, estimator, context):
        self.ended.append(context.task_name)


FOLDS = [f"fold {number} of 5, training on 240 rows" for number in range(1, 6)]
STEPS = {
    "AUCross": (AUCross(LogisticRegression(), random_state=0), [*FOLDS, "training on all rows"]),
    "side by side": (AUCross(LogisticRegression(), n_jobs=2, random_state=0), [*FOLDS, "training on all rows"]),
    "SCross": (SCross(LogisticRegression(), random_state=0), [*FOLDS, "training on all rows"]),
    "PlugInAUC": (PlugInAUC(LogisticRegression(), random_state=0), ["training on 270 rows"]),
    "AUCGate": (
        AUCGate(LogisticRegression(), LogisticRegression(), random_state=0),
        [*FOLDS, *FOLDS, "training on all rows", "training on all rows"],
    ),
}


@pytest.mark.parametrize(("clf", "trainings"), STEPS.values(), ids=STEPS.keys())
def test_every_training_and_the_placing_are_told_in_their_order(clf, trainings):
    listener = Listener()
    clf.set_callbacks(listener).fit(X, y)
    clf.set_callbacks()
    steps = [*trainings, "placing the bands"]
    assert listener.begun == ["fit", *steps]
    assert listener.ended == [*steps, "fit", "teardown"]
    assert listener.n_steps == len(steps)


def test_a_fit_that_fails_is_torn_down():
    class Failing(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            raise ValueError("no such luck")

    listener = Listener()
    with pytest.raises(ValueError, match="no such luck"):
        AUCross(Failing(), random_state=0).set_callbacks(listener).fit(X, y)
    assert listener.ended == ["teardown"]


def test_scikit_learns_progress_bar_can_be_used(capsys):
    pytest.importorskip("rich")
    AUCross(LogisticRegression(), random_state=0).set_callbacks(callback.ProgressBar()).fit(X, y)
    assert "AUCross - fit" in capsys.readouterr().out


def test_the_steps_go_to_the_log(caplog):
    with caplog.at_level(logging.DEBUG, logger="aucross"):
        AUCross(LogisticRegression(), random_state=0).fit(X, y)
    assert "step 1 of 7: fold 1 of 5, training on 240 rows" in caplog.messages
    assert caplog.messages[-1] == "step 7 of 7: placing the bands"
