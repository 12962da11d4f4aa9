"""Evaluation pooled over folds: the same as pooling by hand, and no row is tested by a model that saw it."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import RepeatedStratifiedKFold

from aucross import AUCross, evaluate_selections
from aucross.evaluation import evaluate_folds

X, y = make_classification(200, flip_y=0.3, random_state=0)
OPTIONS = {"n_bootstrap": 50, "random_state": 0}


def folds_of(n_repeats=2):
    cv = RepeatedStratifiedKFold(n_splits=4, n_repeats=n_repeats, random_state=0)
    for train, test in cv.split(X, y):
        yield AUCross(LogisticRegression(), cv=3, random_state=0).fit(X[train], y[train]), X[test], test


@pytest.fixture(scope="module")
def folds():
    return list(folds_of())


def test_pooled_by_hand(folds):
    evaluation = evaluate_folds(folds, y, [1.0, 0.8], **OPTIONS)
    rows = np.concatenate([test for _, _, test in folds])
    score = np.concatenate([clf.predict_proba(part)[:, 1] for clf, part, _ in folds])
    answers = np.concatenate([clf.predict(part) for clf, part, _ in folds])
    masks = {c: np.concatenate([clf.select(part, c) for clf, part, _ in folds]) for c in (1.0, 0.8)}
    expected = evaluate_selections(y[rows], score, answers, masks, customers=rows, **OPTIONS)
    assert len(rows) == 400
    # Rows that are tested train the models that test others: ends of the AUC are 200 / 150 times as far away.
    for found, by_hand in zip(evaluation.rows(), expected.rows(), strict=True):
        for name, value in by_hand.items():
            metric = name.removesuffix("_low").removesuffix("_high")
            factor = 4 / 3 if metric != name and metric in ("selective_auc", "auc_gain") else 1.0
            assert found[name] == pytest.approx(by_hand[metric] + factor * (value - by_hand[metric]), abs=1e-12)


def test_one_fold_shares_no_training_rows(folds):
    clf, part, test = folds[0]
    masks = {0.8: clf.select(part, 0.8)}
    by_hand = evaluate_selections(
        y[test], clf.predict_proba(part)[:, 1], clf.predict(part), masks, customers=test, **OPTIONS
    )
    assert evaluate_folds(folds[:1], y, [0.8], **OPTIONS).rows()[0]["auc_gain_low"] == by_hand.rows()[0]["auc_gain_low"]


def test_scored_rows_and_a_generator_do(folds):
    scored = ((clf, clf.scored(part), test) for clf, part, test in folds)
    assert evaluate_folds(scored, y, [0.8], **OPTIONS).rows() == evaluate_folds(folds, y, [0.8], **OPTIONS).rows()


def test_repeats_are_no_new_rows(folds):
    once, twice = (evaluate_folds(part, y, [0.8], **OPTIONS).rows()[0] for part in (folds[:4], folds))
    widths = [row["selective_auc_high"] - row["selective_auc_low"] for row in (once, twice)]
    assert 0.8 * widths[0] < widths[1] < 1.2 * widths[0]


def test_rows_of_one_customer_are_one_observation(folds):
    plain, grouped = (evaluate_folds(folds, y, [0.8], customers=g, **OPTIONS) for g in (None, np.arange(200) // 2))
    assert grouped.rows()[0]["selective_auc"] == plain.rows()[0]["selective_auc"]


def test_a_model_that_saw_its_test_rows_is_refused():
    clf = AUCross(LogisticRegression(), random_state=0).fit(X, y)
    with pytest.raises(
        ValueError, match=r"^clf must not have seen its test rows, got 200 rows of fit and 50 test rows"
    ):
        evaluate_folds([(clf, X[:50], np.arange(50))], y)


@pytest.mark.parametrize(
    ("numbers", "message"),
    [([0, 0], "distinct row numbers"), ([0.5, 1.0], "distinct row numbers"), ([0, 200], "from 0 to 199")],
)
def test_row_numbers_that_cannot_be_used(folds, numbers, message):
    with pytest.raises(ValueError, match=message):
        evaluate_folds([(folds[0][0], X[:2], numbers)], y)


def test_no_folds_are_refused():
    with pytest.raises(ValueError, match=r"^folds must hold at least one fold, got none"):
        evaluate_folds(iter([]), y)
