"""A forest on rare positives gives most rows a handful of scores; a band takes a whole tie or leaves it."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

from aucross import AUCross, PlugIn, PlugInAUC, SCross
from tests.reference import select_each

COVERAGES = (0.99, 0.95, 0.90, 0.85, 0.80, 0.75)
N_ROWS = 4000


@pytest.fixture(scope="module")
def rows():
    X, y = make_classification(
        2 * N_ROWS,
        n_features=10,
        n_informative=5,
        weights=[0.98],
        flip_y=0.0,
        class_sep=0.5,
        random_state=0,
    )
    assert y.mean() == pytest.approx(0.02, abs=0.002)
    return X[:N_ROWS], y[:N_ROWS], X[N_ROWS:]


def forest():
    return RandomForestClassifier(15, random_state=0)


@pytest.mark.parametrize("method", [AUCross, PlugInAUC, SCross, PlugIn])
@pytest.mark.few_scores
def test_coverage_holds_where_the_band_was_placed_and_nearly_so_on_new_rows(method, rows):
    X, y, X_new = rows
    clf = method(forest(), random_state=0).fit(X, y)
    held_out = clf.held_out_.scores
    assert len(np.unique(held_out)) < 30
    scores = np.maximum(held_out, 1 - held_out) if method in (SCross, PlugIn) else held_out
    placed = clf.band_rule_
    on_placing_rows = np.array([placed.placed(coverage).selects(scores).mean() for coverage in COVERAGES])
    assert (on_placing_rows >= np.array(COVERAGES) - 1e-9).all()
    on_new_rows = select_each(clf, X_new, COVERAGES).mean(axis=1)
    assert (on_new_rows >= np.array(COVERAGES) - 0.02).all()


@pytest.mark.few_scores
def test_the_published_placement_cuts_through_ties_and_falls_far_under_the_coverage(rows):
    X, y, _ = rows
    clf = AUCross(forest(), placement="centered", random_state=0).fit(X, y)
    shares = [clf.band(coverage).selects(clf.held_out_.scores).mean() for coverage in COVERAGES]
    assert min(shares) < 0.7
