"""Rows of the fit that come back as test rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from aucross import AUCross, PlugInAUC, ScoreColumn, evaluate_selective
from aucross.estimators.training_marks import MOST_BITS, TrainingMarks
from aucross.evaluation import PromiseWarning, TrainingRowsWarning, promise_selective
from aucross.report import build_summary

rng = np.random.default_rng(0)
X = rng.normal(size=(1500, 5))
y = (rng.random(1500) < 1 / (1 + np.exp(-X[:, 0]))).astype(int)
X_new = rng.normal(size=(1500, 5))
y_new = (rng.random(1500) < 1 / (1 + np.exp(-X_new[:, 0]))).astype(int)


def as_frame(rows):
    frame = pd.DataFrame(rows, columns=list("abcde"))
    return frame.assign(word=np.where(frame["a"] > 0, "yes", "no"), kind=pd.Categorical(frame["b"] > 1))


@pytest.mark.parametrize("kind", [np.asarray, as_frame, csr_matrix, lambda rows: rows.tolist()])
def test_rows_are_noticed_in_any_order_and_in_part_and_new_rows_are_not(kind):
    marks = TrainingMarks.of(kind(X), "salt")
    back = marks.seen_in(kind(rng.permutation(X)[:300]))
    assert back.is_noticed
    assert back.share == 1
    part = marks.seen_in(kind(np.vstack((X_new[:900], X[:100]))))
    assert part.is_noticed
    assert part.share == pytest.approx(0.1, abs=0.04)
    assert not marks.seen_in(kind(X_new)).is_noticed


def test_a_frame_may_have_more_columns_in_another_order():
    frame = as_frame(X)
    marks = TrainingMarks.of(frame, "salt")
    assert marks.seen_in(frame.assign(id=np.arange(1500))[["id", *reversed(frame.columns)]]).share == 1
    assert not marks.seen_in(frame.drop(columns="a")).is_noticed


def test_a_single_mark_says_little_about_a_single_row():
    marks = TrainingMarks.of(X, "salt")
    marked = [marks.seen_in(X_new[[row]]).n_marked for row in range(1500)]
    assert 0.05 < np.mean(marked) < 0.2


def test_other_salts_leave_other_marks():
    assert not np.array_equal(TrainingMarks.of(X, "one").field, TrainingMarks.of(X, "two").field)


def test_many_rows_leave_a_field_of_bounded_size():
    rows = rng.normal(size=(300_000, 2))
    marks = TrainingMarks.of(rows, "salt")
    assert marks.field.nbytes == MOST_BITS // 8
    assert marks.seen_in(rng.permutation(rows)[:500]).is_noticed
    assert not marks.seen_in(rng.normal(size=(5000, 2))).is_noticed


def test_equal_rows_that_occur_by_themselves_are_no_return():
    few_values = rng.integers(0, 4, size=(4000, 5))
    marks = TrainingMarks.of(few_values[:2000], "salt")
    assert not marks.seen_in(few_values[2000:]).is_noticed


def test_where_values_repeat_the_share_is_a_least_one():
    draws = np.random.default_rng(1)
    points = draws.integers(300, 900, size=(900, 1))
    half_new = np.concatenate([points[:450], draws.integers(900, 1500, size=(450, 1))])
    marks = TrainingMarks.of(points, "salt")
    assert marks.seen_in(points).has_repeats
    assert marks.seen_in(points).is_noticed
    assert marks.seen_in(points).share < 1
    assert marks.seen_in(half_new).share < 0.5
    assert not TrainingMarks.of(X, "salt").seen_in(X).has_repeats


# ---- who is told ----


def test_of_repeated_values_it_is_said_that_at_least_so_many_came_back():
    points = np.round(600 + 80 * X[:, :1], 1)
    on_points = AUCross(ScoreColumn(0, threshold=600), coverage=0.8).fit(points, y)
    with pytest.warns(TrainingRowsWarning, match=r"^at least \d+ % of the rows took part in the fit"):
        evaluate_selective(on_points, points, y, n_bootstrap=0)


@pytest.fixture(scope="module")
def clf():
    return PlugInAUC(RandomForestClassifier(20, random_state=0), coverage=0.8, random_state=0).fit(X, y)


def test_evaluation_and_promise_warn_of_rows_of_the_fit_and_of_no_others(clf):
    order = rng.permutation(1500)[:400]
    with pytest.warns(TrainingRowsWarning, match="about 100 % of the rows took part in the fit") as caught:
        evaluate_selective(clf, X[order], y[order], n_bootstrap=0)
    assert caught[0].filename == __file__
    with pytest.warns(PromiseWarning, match="no bound holds; pass test rows"):
        promise_selective(clf, X[order], y[order])
    evaluate_selective(clf, X_new, y_new, n_bootstrap=0)
    promise_selective(clf, X_new, y_new)


def test_the_report_promises_nothing_from_rows_of_the_fit(clf):
    order = rng.permutation(1500)[:400]
    with pytest.warns(PromiseWarning):
        summary = build_summary(clf, clf.scored(X[order]), y[order], features=X[order], n_bootstrap=20)
    assert summary["promise"]["sentence"].startswith("Nothing")
    assert summary["promise"]["warnings"]


def test_too_few_rows_leave_no_marks():
    assert TrainingMarks.of(X[:1], "salt") is None


def test_a_classifier_keeps_its_marks():
    clf = AUCross(LogisticRegression(), cv=3, random_state=0).fit(X, y)
    assert clf.training_marks_.seen_in(X).share == 1
