"""Decisions are a table: one line for each row, the same to pandas, Arrow and Python."""

from __future__ import annotations

import pickle

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from aucross import AUCross, Decisions

X, y = make_classification(600, n_features=6, n_informative=4, flip_y=0.3, random_state=0)
three = np.digitize(X[:, 0], [-0.7, 0.7])
X_new, IDS = X[:50], [f"case {number}" for number in range(50)]
BY_COVERAGE = ["id", "score", "prediction", "selection_score", "decision", "lower", "upper"]


@pytest.fixture(scope="module")
def clf():
    return AUCross(LogisticRegression(), coverage=0.7, random_state=0).fit(X, y)


def test_the_table_says_what_the_classifier_says(clf):
    frame = clf.decide(X_new, ids=IDS).to_frame()
    assert list(frame) == BY_COVERAGE
    assert frame["id"].tolist() == IDS
    np.testing.assert_array_equal(frame["score"], clf.predict_proba(X_new)[:, 1])
    np.testing.assert_array_equal(frame["prediction"], clf.predict(X_new))
    np.testing.assert_array_equal(frame["decision"] == "automatic", clf.select(X_new))
    band = clf.band()
    assert (frame["lower"] == band.lower).all()
    assert (frame["upper"] == band.upper).all()


def test_a_capacity_adds_reason_and_rank_in_the_place_of_a_band(clf):
    decisions, queue = clf.decide(X_new, capacity=7), clf.review_queue(X_new, 7)
    frame = decisions.to_frame()
    assert list(frame) == ["score", "prediction", "selection_score", "decision", "reason", "rank"]
    review = frame[frame["decision"] == "review"].sort_values("rank")
    assert review.index.tolist() == queue.row.tolist()
    assert review["reason"].tolist() == list(queue.reason)


def test_more_classes_have_a_score_each():
    clf = AUCross(LogisticRegression(), cv=2, random_state=0).fit(X, three)
    frame = clf.decide(X_new).to_frame()
    np.testing.assert_array_equal(frame[["score 0", "score 1", "score 2"]], clf.predict_proba(X_new))


def test_arrow_polars_and_rows_hold_what_the_frame_holds(clf):
    decisions = clf.decide(X_new, ids=IDS)
    records = decisions.to_frame().to_dict("records")
    assert pa.table(decisions).to_pylist() == records
    assert pl.DataFrame(decisions).to_dicts() == records
    assert list(decisions) == decisions.rows() == records


def test_some_of_the_decisions_are_those_on_some_of_the_rows(clf):
    for options in ({}, {"capacity": 9}):
        decisions = clf.decide(X_new, ids=IDS, **options)
        some = np.array([3, 40, 7])
        expected = decisions.to_frame().iloc[some].to_dict("records")
        assert decisions.take(some).rows() == expected


def test_rows_without_a_score_go_to_review(clf):
    has_score = np.arange(60) % 6 != 0
    decisions = clf.decide(X_new)
    together = decisions.with_unscored(has_score)
    np.testing.assert_array_equal(together.selected[has_score], decisions.selected)
    assert not together.selected[~has_score].any()
    assert np.isnan(together.selection_score[~has_score]).all()
    assert together.decided_by is clf.band_rule_
    assert decisions.with_unscored(np.ones(50, dtype=bool)) is decisions


def test_a_notebook_and_a_prompt_show_no_internals(clf):
    decisions = clf.decide(X_new)
    assert repr(decisions) == f"Decisions(coverage=0.7: {int(clf.select(X_new).sum())} of 50 selected)"
    assert "the first 10 are shown" in decisions._repr_html_()
    assert "OptimalBands" not in decisions._repr_html_() + repr(decisions)


def test_decisions_travel_without_their_rule(clf):
    again = pickle.loads(pickle.dumps(clf.decide(X_new)))
    assert again.decided_by is None
    assert again.rows() == clf.decide(X_new).rows()


def test_one_boolean_for_each_score():
    with pytest.raises(ValueError, match="selected must hold one boolean for each selection score"):
        Decisions(np.ones(3), np.ones(3))
