"""What the tests of all displays share: the classifiers they draw, and a matplotlib without a screen."""

from __future__ import annotations

import matplotlib as mpl

mpl.use("Agg")  # before pyplot: tests need no screen

import matplotlib.pyplot as plt
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from aucross import AUCross, PlugIn, SCross
from tests.evaluation.drawn_rows import X_test, X_train, y_train


@pytest.fixture(scope="session")
def clf():
    return AUCross(LogisticRegression(), coverage=0.8, random_state=0).fit(X_train, y_train)


@pytest.fixture(scope="session")
def by_confidence():
    return SCross(LogisticRegression(), coverage=0.8, random_state=0).fit(X_train, y_train)


@pytest.fixture(scope="session")
def three_classes():
    X3, y3 = make_classification(600, n_classes=3, n_informative=4, random_state=0)
    return PlugIn(LogisticRegression(), random_state=0).fit(X3, y3), X3, y3


@pytest.fixture(scope="session")
def score(clf):
    return clf.predict_proba(X_test)[:, 1]


@pytest.fixture
def _draw_and_close():
    """Lay out every figure, so that a warning on the way fails the test."""
    yield
    for number in plt.get_fignums():
        plt.figure(number).draw_without_rendering()
    plt.close("all")
