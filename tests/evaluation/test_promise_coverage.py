"""The highest coverage whose AUC is promised."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from aucross import AUCross
from aucross.evaluation import promise_coverage, promise_selection
from aucross.evaluation.promise_coverage import COVERAGE_SHARE, COVERAGES, likeliest_start


def rows(n_rows, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 3))
    return X, (rng.random(n_rows) < expit(2 * X[:, 0] - 1)).astype(int)


X_TRAIN, Y_TRAIN = rows(2000, 0)
X_TEST, Y_TEST = rows(3000, 1)


@pytest.fixture(scope="module")
def clf():
    return AUCross(LogisticRegression(), cv=3, random_state=0).fit(X_TRAIN, Y_TRAIN)


def bound_at(clf, coverage, confidence):
    scored = clf.scored(X_TEST)
    selected = clf.decide(scored, coverage).selected
    return promise_selection(Y_TEST, scored.score, selected, confidence=confidence).auc_alone


def test_the_walk_stops_at_the_first_coverage_whose_bound_is_too_low(clf):
    promise = promise_coverage(clf, X_TEST, Y_TEST, auc=0.85, start=0.4)
    assert promise.is_supported
    confidence = 1 - (1 - COVERAGE_SHARE) * 0.05
    *passed, last = promise.tried
    assert [step.target_coverage for step in promise.tried] == list(COVERAGES[10 : 10 + len(promise.tried)])
    assert all(step.passed for step in passed)
    assert not last.passed
    assert promise.target_coverage == passed[-1].target_coverage
    for step in (passed[0], passed[-1], last):
        assert step.auc_at_least == pytest.approx(bound_at(clf, step.target_coverage, confidence))
    assert last.auc_at_least < 0.85 <= passed[-1].auc_at_least


def test_the_coverage_is_below_the_one_reached_and_pays_for_all_steps(clf):
    promise = promise_coverage(clf, X_TEST, Y_TEST, auc=0.85, start=0.4)
    alone = promise_selection(
        Y_TEST, clf.predict_proba(X_TEST)[:, 1], clf.select(X_TEST, promise.target_coverage)
    ).coverage_alone
    assert promise.coverage_at_least < alone < promise.achieved_coverage


def test_an_easy_auc_allows_full_coverage(clf):
    promise = promise_coverage(clf, X_TEST, Y_TEST, auc=0.6)
    assert promise.target_coverage == 1
    assert all(step.passed for step in promise.tried)


def test_without_support_nothing_is_promised_and_the_sentence_says_so(clf):
    promise = promise_coverage(clf, X_TEST, Y_TEST, auc=0.99)
    assert not promise.is_supported
    assert np.isnan(promise.coverage_at_least)
    assert len(promise.tried) == 1
    assert str(promise).startswith("No coverage from ")
    assert json.loads(json.dumps(promise.to_dict()))["target_coverage"] is None


def test_the_sentence_says_coverage_auc_and_confidence(clf):
    promise = promise_coverage(clf, X_TEST, Y_TEST, auc=0.85)
    words = str(promise)
    assert f"At a target coverage of {100 * promise.target_coverage:g} %, at least " in words
    assert "an AUC of at least .850 among them, with 95 % confidence" in words
    assert "(3,000 test rows; " in words
    assert promise.to_dict()["sentence"] == words


def test_the_start_comes_from_the_fit_and_not_from_the_test_rows(clf):
    start = likeliest_start(clf, 0.85, 3000)
    assert promise_coverage(clf, X_TEST, Y_TEST, auc=0.85).start == start
    assert promise_coverage(clf, X_TEST[::-1][:3000], 1 - Y_TEST, auc=0.85).start == start


def test_the_whole_statement_is_right_as_often_as_it_says(clf):
    X, y = rows(60_000, 2)
    scored = clf.scored(X)

    @cache
    def truth(coverage):
        """AUC and share of all rows."""
        selected = clf.decide(scored, coverage).selected
        return promise_selection(y, scored.score, selected).selective_auc, selected.mean()

    auc, _ = truth(0.9)
    start, wrong = likeliest_start(clf, auc, 1000), []  # parts of equal size have the same start
    for part in np.array_split(np.random.default_rng(3).permutation(60_000), 60):
        promise = promise_coverage(clf, scored.take(part), y[part], auc=auc, confidence=0.8, start=start)
        if promise.is_supported:
            true_auc, true_coverage = truth(promise.target_coverage)
            wrong.append(true_auc < auc or true_coverage < promise.coverage_at_least)
    assert len(wrong) > 10
    assert np.sum(wrong) <= 60 * 0.2 + 2 * np.sqrt(60 * 0.2 * 0.8)


def test_rows_of_the_fit_are_noticed(clf):
    with pytest.raises(ValueError, match=r"^about 100 % of the rows took part in the fit"):
        promise_coverage(clf, X_TRAIN, Y_TRAIN, auc=0.8)
    marked = promise_coverage(clf, X_TRAIN, Y_TRAIN, auc=0.8, allow_fit_rows=True)
    assert not np.isnan(marked.target_coverage)
    assert not marked.is_supported
    assert str(marked).startswith("No promise, since 100 % of the rows took part in the fit: At a target coverage of ")
    assert marked.to_dict()["share_of_fit"] == 1


def test_weights_make_it_approximate(clf):
    promise = promise_coverage(clf, X_TEST, Y_TEST, auc=0.8, sample_weight=np.arange(3000) % 3 + 1.0)
    assert promise.is_weighted
    assert "approximately 95 %" in str(promise)


def test_rows_that_belong_together_promise_less(clf):
    rows = np.repeat(np.arange(300), 10)
    alone, together = (promise_coverage(clf, X_TEST[rows], Y_TEST[rows], auc=0.8, customers=g) for g in (None, rows))
    assert not together.target_coverage >= alone.target_coverage or together.coverage_at_least < alone.coverage_at_least


@pytest.mark.parametrize("arguments", [{"auc": 1.5}, {"auc": 0.8, "confidence": 0.3}, {"auc": 0.8, "start": 0}])
def test_arguments_out_of_range_are_refused(clf, arguments):
    with pytest.raises(ValueError, match="must be"):
        promise_coverage(clf, X_TEST, Y_TEST, **arguments)
