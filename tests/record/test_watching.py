"""Team score and calibration of recorded cases, with outcomes as labels."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, f1_score

from aucross.evaluation import expected_calibration_error
from aucross.record import recorded_calibration, recorded_team_score


@pytest.fixture
def filled(record, clf, rows):
    """A batch of 200 cases: outcomes of the first 150, and reviews of half of the queue."""
    X, y = rows
    record.decide(clf, X[:200], batch="a", ids=range(200))
    waiting = record.queue().to_pydict()["id"]
    record.add_reviews([{"id": name, "reviewer": "ann", "answer": y[int(name)]} for name in waiting[::2]])
    record.add_outcomes([{"id": row, "outcome": y[row]} for row in range(150)])
    return record


def test_the_team_score_compares_final_decisions_with_outcomes(filled, clf, rows):
    X, y = rows
    cases = filled.cases().to_pandas()[:150]
    decided = cases[cases["final_decision"].notna()]
    expected = accuracy_score(decided["outcome"], decided["final_decision"])
    found = recorded_team_score(filled, accuracy_score)
    assert found.value == expected
    assert (found.n_cases, found.n_unknown, found.n_open) == (len(decided), 50, 150 - len(decided))
    assert found.n_reviewed == (decided["final_by"] == "review").sum() > 5
    assert found.value > accuracy_score(y[:150], clf.predict(X[:150]))  # these reviewers are always right
    numbers = decided[["outcome", "final_decision"]].astype(int)
    assert recorded_team_score(filled, f1_score, "a").value == f1_score(numbers["outcome"], numbers["final_decision"])


def test_the_calibration_is_that_of_automatic_cases_with_an_outcome(filled, clf, rows):
    X, y = rows
    scored, selected = clf.scored(X[:150]).score, clf.select(X[:150])
    found = recorded_calibration(filled, n_bins=5)
    assert found.value == pytest.approx(expected_calibration_error(y[:150], scored, selected, n_bins=5), abs=1e-12)
    assert (found.n_cases, found.n_unknown) == (selected.sum(), 50)


def test_an_answer_of_a_reviewer_is_never_taken_for_an_outcome(record, clf, rows):
    record.decide(clf, rows[0][:20], batch="a", ids=range(20))
    record.add_reviews([{"id": row, "reviewer": "ann", "answer": 1} for row in range(20)])
    with pytest.raises(ValueError, match="no case with an outcome and a final decision"):
        recorded_team_score(record, accuracy_score)
    with pytest.raises(ValueError, match="automatic cases of two classes with an outcome and a probability, got 0"):
        recorded_calibration(record)


def test_contradicting_outcomes_and_batches_of_other_classes_are_told(filled, clf, rows):
    before = recorded_team_score(filled, accuracy_score)
    automatic = np.flatnonzero(clf.select(rows[0][:150]))[0]
    filled.add_outcomes([{"id": int(automatic), "outcome": 1 - rows[1][automatic]}])
    after = recorded_team_score(filled, accuracy_score)
    assert (after.n_cases, after.n_unknown) == (before.n_cases - 1, before.n_unknown + 1)
    filled.decide(clf, rows[0][:5], batch="words", ids=range(300, 305), labels=["no", "yes"])
    with pytest.raises(ValueError, match="the batches must have the same classes"):
        recorded_team_score(filled, accuracy_score)
    assert recorded_team_score(filled, accuracy_score, "a") == after
