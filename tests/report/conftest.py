"""A fitted classifier with test rows, and its summary: made once for all tests of the report."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from aucross import AUCGate, AUCross
from aucross.datasets import make_credit
from aucross.report import build_summary

SETTINGS = {
    "date": "2025-01-31",
    "class_names": ("repaid", "default"),
    "title": "Loans of the pilot",
    "data_name": "synthetic loans",
    "command": "python make_report.py --seed 0",
}


class Case(NamedTuple):
    """A fitted classifier and the rows to report on."""

    clf: Any
    X: Any
    y: Any
    groups: Any = None

    @property
    def positive(self):
        return np.asarray(self.y) == self.clf.classes_[1]

    @property
    def score(self):
        return self.clf.predict_proba(self.X)[:, 1]


@pytest.fixture(scope="session")
def credit() -> Case:
    X, y = make_credit(4000, return_X_y=True)
    X = X.drop(columns="issue_date")
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
    model = HistGradientBoostingClassifier(max_iter=50, random_state=0)
    clf = AUCross(model, coverage=0.85, random_state=0).fit(X_train, y_train)
    age = pd.cut(X_test["age"], [17, 25, 50, 100], labels=["to 25", "26 to 50", "over 50"])
    return Case(clf, X_test, y_test, age)


@pytest.fixture(scope="session")
def settings() -> dict[str, Any]:
    return dict(SETTINGS)


@pytest.fixture(scope="session")
def summary(credit, settings) -> dict[str, Any]:
    return build_summary(credit.clf, credit.X, credit.y, by=credit.groups, **settings)


def make_interaction(n_rows, seed=0):
    """Rows whose outcome depends on a product that a linear model cannot see."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 3))
    y = (rng.random(n_rows) < 1 / (1 + np.exp(1.5 - X[:, 0] - 2 * X[:, 1] * X[:, 2]))).astype(int)
    return X, y


@pytest.fixture(scope="session")
def gate() -> Case:
    X, y = make_interaction(2500)
    stronger = HistGradientBoostingClassifier(max_iter=30, random_state=0)
    clf = AUCGate(LogisticRegression(), stronger, coverage=0.7, random_state=0).fit(X[:1500], y[:1500])
    return Case(clf, X[1500:], y[1500:])
