"""Small classifiers and quick summaries for the tests of the report."""

from __future__ import annotations

from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from aucross import AUCross
from aucross.report import build_summary


def entry_at(summary, coverage):
    return next(entry for entry in summary["coverages"] if entry["target_coverage"] == coverage)


def quick(case, **options):
    return build_summary(case[0], case[1], case[2], **{"with_intervals": False, "date": "2025-01-31", **options})


def make_linear(n_rows=1200, weights=None, **options):
    X, y = make_classification(n_rows, flip_y=0.3, weights=weights, random_state=0)
    half = n_rows // 2
    clf = AUCross(LogisticRegression(), random_state=0, **options).fit(X[:half], y[:half])
    return clf, X[half:], y[half:]
