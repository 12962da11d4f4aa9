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
from aucross.evaluation import TrainingRowsWarning, promise_selective
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


def repeated_rows(draws, n_rows):
    """Rows of a set with 962 different ones, of which some are common and many are rare."""
    shares = 1 / np.arange(1, 963)
    return draws.choice(962, size=(n_rows, 1), p=shares / shares.sum()).astype(float)


@pytest.mark.parametrize(("n_fit", "n_test"), [(1000, 1000), (12_422, 12_422), (3000, 12_422), (12_422, 2000)])
def test_where_equal_rows_are_normal_nobody_is_accused(n_fit, n_test):
    for seed in range(10):
        draws = np.random.default_rng(seed)
        marks = TrainingMarks.of(repeated_rows(draws, n_fit), str(seed))
        assert not marks.seen_in(repeated_rows(draws, n_test)).is_noticed


@pytest.mark.parametrize("n_rows", [1000, 5000])
def test_a_tenth_of_the_rows_is_noticed_where_rows_differ(n_rows):
    for seed in range(10):
        draws = np.random.default_rng(seed)
        rows = draws.normal(size=(2 * n_rows, 3))
        marks = TrainingMarks.of(rows[:n_rows], str(seed))
        assert not marks.seen_in(rows[n_rows:]).is_noticed
        assert marks.seen_in(rows[n_rows - n_rows // 10 : -n_rows // 10]).is_noticed


def test_where_values_repeat_the_share_is_a_least_one():
    draws = np.random.default_rng(1)
    points = draws.integers(300, 5000, size=(900, 1))
    half_new = np.concatenate([points[:450], draws.integers(5000, 9700, size=(450, 1))])
    seen = TrainingMarks.of(points, "salt").seen_in(half_new)
    assert seen.has_repeats
    assert seen.is_noticed
    assert 0.2 < seen.share < 0.5
    assert not TrainingMarks.of(X, "salt").seen_in(X[:500]).has_repeats


def test_all_rows_at_once_are_noticed_however_often_they_repeat():
    rows = repeated_rows(np.random.default_rng(0), 2000)
    marks = TrainingMarks.of(rows, "salt")
    assert marks.seen_in(rng.permutation(rows)).is_noticed
    assert marks.seen_in(rows).share == 1
    assert not marks.seen_in(rows[:-1]).is_noticed
    coin = np.repeat([[0.0], [1.0]], 50, axis=0)  # another sample of two values is often the same
    assert not TrainingMarks.of(coin, "salt").seen_in(coin).is_noticed


# ---- who is told ----


def test_of_repeated_values_it_is_said_that_at_least_so_many_came_back():
    points = np.round(600 + 80 * X[:, :1], 2)
    on_points = AUCross(ScoreColumn(0, threshold=600), coverage=0.8).fit(points, y)
    with pytest.warns(TrainingRowsWarning, match=r"^at least [\d.]+ % of the different rows took part in the fit"):
        evaluate_selective(on_points, points[:700], y[:700], n_bootstrap=0)


@pytest.fixture(scope="module")
def clf():
    return PlugInAUC(RandomForestClassifier(20, random_state=0), coverage=0.8, random_state=0).fit(X, y)


def test_evaluation_warns_of_rows_of_the_fit_and_the_promise_refuses_them_and_no_others(clf):
    order = rng.permutation(1500)[:400]
    with pytest.warns(TrainingRowsWarning, match="about 100 % of the rows took part in the fit") as caught:
        evaluate_selective(clf, X[order], y[order], n_bootstrap=0)
    assert caught[0].filename == __file__
    with pytest.raises(ValueError, match="no bound holds; pass test rows"):
        promise_selective(clf, X[order], y[order])
    evaluate_selective(clf, X_new, y_new, n_bootstrap=0)
    promise_selective(clf, X_new, y_new)


def test_the_report_promises_nothing_from_rows_of_the_fit(clf):
    order = rng.permutation(1500)[:400]
    with pytest.warns(TrainingRowsWarning):
        summary = build_summary(clf, clf.scored(X[order]), y[order], features=X[order])
    assert summary["promise"]["sentence"].startswith("Nothing")
    assert summary["promise"]["warnings"]


def test_too_few_rows_leave_no_marks():
    assert TrainingMarks.of(X[:1], "salt") is None


def test_a_classifier_keeps_its_marks():
    clf = AUCross(LogisticRegression(), cv=3, random_state=0).fit(X, y)
    assert clf.fitted_.marks.seen_in(X).share == 1
