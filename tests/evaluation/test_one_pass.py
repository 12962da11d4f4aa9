"""Every row passes each model once, whatever is asked about it; scored rows pass none."""

from __future__ import annotations

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from aucross import AUCGate, AUCross, SCross, compare_selective, evaluate_selective, selective_scorer
from aucross.evaluation import evaluate_groups, promise_selective
from aucross.evaluation.plots import (
    AUCSurfaceDisplay,
    BandDisplay,
    CAPDisplay,
    CoverageCurveDisplay,
    GroupGapDisplay,
    RiskCoverageDisplay,
)
from aucross.report import build_summary

mpl.use("Agg")

X, y = make_classification(1200, n_features=6, flip_y=0.3, random_state=0)
X_train, y_train, X_test, y_test = X[:700], y[:700], X[700:], y[700:]
REGION = np.where(X_test[:, 0] > 0, "north", "south")


class Watched:
    """Counts the rows that a model is asked about, by any method."""

    seen = 0

    def predict(self, X):
        type(self).seen += len(X)
        return super().predict(X)

    def predict_proba(self, X):
        type(self).seen += len(X)
        return super().predict_proba(X)


class WatchedRegression(Watched, LogisticRegression):
    seen = 0


class WatchedBayes(Watched, GaussianNB):
    seen = 0


CLASSIFIERS = {
    "one model": AUCross(WatchedRegression(), random_state=0),
    "a gate": AUCGate(WatchedRegression(), gate=WatchedBayes(), random_state=0),
}
QUESTIONS = {
    "evaluate_selective": lambda clf, rows: evaluate_selective(clf, rows, y_test, n_bootstrap=2),
    "scorer": lambda clf, rows: selective_scorer("selective_risk")(clf, rows, y_test),
    "evaluate_groups": lambda clf, rows: evaluate_groups(clf, rows, y_test, REGION, [0.8, 0.6]),
    "promise_selective": lambda clf, rows: promise_selective(clf, rows, y_test),
    "report": lambda clf, rows: build_summary(clf, rows, y_test, by=REGION),
    "coverage curve": lambda clf, rows: CoverageCurveDisplay.from_estimator(
        clf, rows, y_test, [1.0, 0.8], oracle=True, maximum_probability=True, n_bootstrap=2
    ),
    "risk": lambda clf, rows: RiskCoverageDisplay.from_estimator(clf, rows, y_test, [1.0, 0.8], n_bootstrap=2),
    "band": lambda clf, rows: BandDisplay.from_estimator(clf, rows, y_test),
    "profile": lambda clf, rows: CAPDisplay.from_estimator(clf, rows, y_test),
    "groups": lambda clf, rows: GroupGapDisplay.from_estimator(clf, rows, y_test, REGION),
}


@pytest.fixture(autouse=True)
def _figures_are_closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module", params=CLASSIFIERS)
def clf(request):
    return clone(CLASSIFIERS[request.param]).fit(X_train, y_train)


def passes(question):
    """How often each model sees each test row while a question is answered."""
    WatchedRegression.seen = WatchedBayes.seen = 0
    question()
    return [model.seen / len(X_test) for model in (WatchedRegression, WatchedBayes)]


@pytest.mark.parametrize("name", QUESTIONS)
def test_every_row_passes_each_model_once(clf, name):
    expected = [1, 1] if isinstance(clf, AUCGate) else [1, 0]
    assert passes(lambda: QUESTIONS[name](clf, X_test)) == expected


@pytest.mark.parametrize("name", QUESTIONS)
def test_scored_rows_pass_no_model(clf, name):
    scored = clf.scored(X_test)
    assert passes(lambda: QUESTIONS[name](clf, scored)) == [0, 0]


def test_two_classifiers_score_a_row_once_each():
    one, other = (kind(WatchedRegression(), random_state=0).fit(X_train, y_train) for kind in (AUCross, SCross))
    assert passes(lambda: compare_selective([one, other], X_test, y_test, [0.8], n_bootstrap=2)) == [2, 0]


def test_a_surface_scores_once():
    clf = AUCross(WatchedRegression(), random_state=0).fit(X_train, y_train)
    assert passes(lambda: AUCSurfaceDisplay.from_estimator(clf, X_test, y_test, n_bins=20)) == [1, 0]


# ---- scored rows give the same answers ----


def test_scored_rows_give_the_numbers_of_the_rows(clf):
    weight = np.random.default_rng(0).random(len(y_test))
    options = {"n_bootstrap": 3, "random_state": 0}
    expected = evaluate_selective(clf, X_test, y_test, [0.8], sample_weight=weight, **options)
    for rows, given in (
        (clf.scored(X_test), {"sample_weight": weight}),
        (clf.scored(X_test, sample_weight=weight), {}),
    ):
        found = evaluate_selective(clf, rows, y_test, [0.8], **given, **options)
        for name, values in expected.estimates.items():
            np.testing.assert_array_equal(found.estimates[name], values)
            np.testing.assert_array_equal(found.deviations[name], expected.deviations[name])


def test_a_report_of_scored_rows_compares_the_features_it_is_given():
    clf = AUCross(LogisticRegression(), random_state=0).fit(X_train, y_train)
    options = {"with_intervals": False, "date": "2025-01-31"}
    expected = build_summary(clf, X_test, y_test, **options)
    scored = clf.scored(X_test)
    assert build_summary(clf, scored, y_test, features=X_test, **options) == expected
    without = build_summary(clf, scored, y_test, **options)
    assert all(entry["features"] == [] for entry in without["coverages"])


def test_groups_of_scored_rows_are_used():
    groups = X_train[:, 0] > 0
    clf = AUCross(LogisticRegression(), random_state=0).fit(X_train, y_train, band_groups=groups)
    own = X_test[:, 0] > 0
    scored = clf.scored(X_test, band_groups=own)
    expected = evaluate_selective(clf, X_test, y_test, [0.8], band_groups=own, n_bootstrap=0)
    found = evaluate_selective(clf, scored, y_test, [0.8], n_bootstrap=0)
    for name, values in expected.estimates.items():
        np.testing.assert_array_equal(found.estimates[name], values)
    summary = build_summary(clf, scored, y_test, with_intervals=False)
    assert [band["group"] for band in summary["coverages"][0]["bands"]] == ["False", "True"]


def test_a_comparison_hands_groups_to_the_classifier_that_has_bands_for_them():
    groups, own = X_train[:, 0] > 0, X_test[:, 0] > 0
    grouped = AUCross(LogisticRegression(), random_state=0).fit(X_train, y_train, band_groups=groups)
    plain = AUCross(LogisticRegression(), random_state=0).fit(X_train, y_train)
    comparison = compare_selective([plain, grouped], X_test, y_test, [0.8], band_groups=own, n_bootstrap=0)
    first, second = (part.estimates["achieved_coverage"][0] for part in comparison.evaluations.values())
    assert first == plain.select(X_test, 0.8).mean()
    assert second == grouped.select(X_test, 0.8, own).mean()


def test_rows_that_another_model_scored_are_refused():
    one, other = (AUCross(LogisticRegression(C=c), random_state=0).fit(X_train, y_train) for c in (1.0, 0.01))
    with pytest.raises(ValueError, match="scored rows must come from this classifier"):
        evaluate_selective(one, other.scored(X_test), y_test)
