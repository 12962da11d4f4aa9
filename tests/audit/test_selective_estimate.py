"""Coverage and AUC of new rows without labels."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier

from aucross import AUCGate, AUCross, estimate_selective


def rows(n, seed, spread=1.0, other=0.0, turned=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * [spread, 1, 1]
    meaning = [-1.5, 0.5] if turned else [1.5, 0.5]
    return X, (rng.random(n) < expit(X[:, :2] @ meaning + other * np.sign(X[:, 2]) - 0.5)).astype(int)


@pytest.fixture(scope="module")
def clf():
    return AUCross(LogisticRegression(), coverage=0.8, random_state=0).fit(*rows(6000, seed=1))


@pytest.mark.parametrize("spread", [0.5, 1.0, 1.8])
def test_a_change_in_which_cases_come_is_followed(clf, spread):
    X, y = rows(20_000, seed=2, spread=spread)
    score, selected, found = clf.predict_proba(X)[:, 1], clf.select(X), estimate_selective(clf, X)
    assert found.coverage == selected.mean()
    assert found.auc == pytest.approx(roc_auc_score(y, score), abs=0.015)
    assert found.selective_auc == pytest.approx(roc_auc_score(y[selected], score[selected]), abs=0.015)
    assert (abs(found.auc - found.known_auc) > 0.04) == (spread != 1.0)


def test_a_change_in_what_features_mean_is_not_seen_and_the_sentence_says_so(clf):
    X, y = rows(5000, seed=3, turned=True)
    found = estimate_selective(clf, X)
    assert roc_auc_score(y, clf.predict_proba(X)[:, 1]) < 0.5
    assert found.auc > 0.75
    assert "meaning of the features" in found.sentence
    assert "Estimated without labels" in found.sentence


def test_the_last_known_auc_is_that_of_held_out_rows(clf):
    found = estimate_selective(clf, rows(500, seed=4)[0], coverage=0.6)
    selected = clf.select(clf.fitted_.scored_held_out(), coverage=0.6)
    assert found.known_auc == clf.held_out_.ranked().auc()
    assert found.known_selective_auc == clf.held_out_.ranked(selected).auc()


def test_weights_of_scored_rows_count(clf):
    X, _ = rows(400, seed=5)
    twice = np.r_[np.arange(400), np.arange(100)]
    weighted = estimate_selective(clf, clf.scored(X, sample_weight=np.r_[np.full(100, 2.0), np.ones(300)]))
    doubled = estimate_selective(clf, X[twice])
    assert weighted.auc == pytest.approx(doubled.auc, abs=1e-12)
    assert weighted.coverage == pytest.approx(doubled.coverage, abs=1e-12)


def test_what_a_gate_knows_is_used():
    X, y = rows(8000, seed=6, other=2.0)
    gated = AUCGate(LogisticRegression(C=1e-4), DecisionTreeClassifier(max_depth=6), coverage=0.7, random_state=0)
    gated.fit(X, y)
    X_new, y_new = rows(20_000, seed=7, other=2.0)
    selected, score = gated.select(X_new), gated.predict_proba(X_new)[:, 1]
    found = estimate_selective(gated, X_new)
    assert found.selective_auc == pytest.approx(roc_auc_score(y_new[selected], score[selected]), abs=0.02)


def test_more_classes_and_no_rows_are_refused(clf):
    X, y = rows(900, seed=8)
    many = AUCross(LogisticRegression(), random_state=0).fit(X, y + (X[:, 2] > 1))
    with pytest.raises(ValueError, match="two classes"):
        estimate_selective(many, X)
    with pytest.raises(ValueError, match="at least one row"):
        estimate_selective(clf, X[:0])
