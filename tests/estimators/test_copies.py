"""Rows of which there are many copies: one score decides on all of them, and the fit knows which."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from aucross import AUCGate, AUCross, PlugInAUC, SCross
from aucross.estimators import without_correction
from aucross.estimators.training_rows import TrainingRows

MODEL = DecisionTreeClassifier(max_depth=6, random_state=0)


def rows_with_copies(n_rows, seed, share=0.06):
    """Normal rows, of which a share has no record: all values are -9."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 5))
    y = (rng.random(n_rows) < 1 / (1 + np.exp(-X[:, 0] - X[:, 1]))).astype(int)
    X[rng.random(n_rows) < share] = -9.0
    return X, y


def common_rows(X):
    return TrainingRows(X, np.zeros(len(X)), np.arange(2)).common_rows


def test_common_rows_are_those_with_many_copies():
    X, _ = rows_with_copies(2000, 0)
    assert np.array_equal(common_rows(X), np.flatnonzero(X[:, 0] == -9.0))
    assert len(common_rows(X[:20])) == 0
    few = np.vstack((np.zeros((29, 5)), X[X[:, 0] != -9.0]))
    assert len(common_rows(few)) == 0
    many = np.vstack((np.zeros((30, 5)), X[X[:, 0] != -9.0]))
    assert np.array_equal(common_rows(many), np.arange(30))
    small_share = np.vstack((many, np.arange(20_000)[:, None] + np.zeros(5)))
    assert len(common_rows(small_share)) == 0


@pytest.mark.parametrize("method", [AUCross, SCross, AUCGate])
@pytest.mark.parametrize("ensemble", [False, True])
@pytest.mark.few_scores
def test_the_band_is_placed_on_the_score_that_new_copies_have(method, ensemble):
    X, y = rows_with_copies(1500, 1)
    gate = {"gate": LogisticRegression()} if method is AUCGate else {}
    clf = method(MODEL, ensemble=ensemble, random_state=0, **gate).fit(X, y)
    copy = np.full((1, 5), -9.0)
    held_out = clf.fitted_.scored_held_out()
    of_copies = X[clf.held_out_.rows, 0] == -9.0
    assert of_copies.sum() > 50
    score = clf.scored(copy).rule_input
    assert np.array_equal(np.unique(held_out.rule_input.columns[of_copies], axis=0), score.columns)


@pytest.mark.few_scores
def test_all_other_rows_keep_their_out_of_fold_score():
    X, y = rows_with_copies(1500, 1)
    clf = AUCross(MODEL, random_state=0).fit(X, y)
    plain = without_correction(AUCross(MODEL, random_state=0)).fit(X, y)
    others = X[clf.held_out_.rows, 0] != -9.0
    assert np.array_equal(clf.held_out_.scores[others], plain.held_out_.scores[others])
    assert len(np.unique(plain.held_out_.scores[~others])) == 5  # a score of each fold, as published


@pytest.mark.few_scores
def test_without_copies_nothing_changes():
    X, y = rows_with_copies(600, 2, share=0.0)
    clfs = AUCross(MODEL, random_state=0), without_correction(AUCross(MODEL, random_state=0))
    scores = [clf.fit(X, y).held_out_.scores for clf in clfs]
    assert np.array_equal(*scores)


@pytest.mark.parametrize("ensemble", [False, True])
@pytest.mark.few_scores
def test_new_rows_never_lose_the_copies_by_surprise(ensemble):
    """The copies are inside the band for new rows if and only if they were when it was placed."""
    for seed in range(4):
        X, y = rows_with_copies(1500, seed)
        clf = AUCross(MODEL, ensemble=ensemble, random_state=seed).fit(X, y)
        X_new, _ = rows_with_copies(6000, 100 + seed)
        for coverage in (0.95, 0.9, 0.8):
            placed = clf.decide(clf.fitted_.scored_held_out(), coverage).selected[X[clf.held_out_.rows, 0] == -9.0]
            new = clf.select(X_new, coverage)[X_new[:, 0] == -9.0]
            assert len(set(placed) | set(new)) == 1


# ---- copies by mistake, and models that know the rows ----


def noisy_rows(n_rows, seed=0):
    draws = np.random.default_rng(seed)
    rows = draws.normal(size=(n_rows, 4))
    return rows, (draws.random(n_rows) < 1 / (1 + np.exp(-rows[:, 0]))).astype(int)


def test_copies_of_continuous_rows_are_warned_of_unless_groups_keep_them_together():
    rows, labels = noisy_rows(400)
    twice = np.concatenate((np.arange(400), np.arange(100)))
    with pytest.warns(
        UserWarning, match=r"^100 of 500 rows \(20 %\) are copies of others with the same label, .* groups"
    ):
        PlugInAUC(LogisticRegression(), random_state=0).fit(
            pd.DataFrame(rows[twice], columns=list("abcd")), labels[twice]
        )
    AUCross(LogisticRegression(), random_state=0).fit(rows[twice], labels[twice], groups=twice)


def test_rows_that_are_equal_by_themselves_are_no_copies():
    draws = np.random.default_rng(0)
    grades = draws.integers(0, 4, (800, 3)).astype(float)
    labels = (draws.random(800) < (1 + grades[:, 0]) / 6).astype(int)
    PlugInAUC(LogisticRegression(), random_state=0).fit(grades, labels)
    amount = np.where(draws.random(800) < 0.04, 0.0, draws.normal(size=800))  # equal where nothing is known
    PlugInAUC(LogisticRegression(), random_state=0).fit(
        np.column_stack((amount, grades * (amount != 0)[:, None])), labels
    )


@pytest.mark.parametrize("model", [RandomForestClassifier(30, random_state=0), DecisionTreeClassifier(random_state=0)])
@pytest.mark.filterwarnings("ignore:a coverage of .* (cannot be reached|lowers the AUC)")
def test_a_frozen_model_that_is_handed_its_own_training_rows_is_noticed(model):
    rows, labels = noisy_rows(1200)
    frozen = FrozenEstimator(clone(model).fit(rows[:600], labels[:600]))
    with pytest.warns(
        UserWarning, match=r"^the frozen model ranks the rows almost perfectly, with an AUC of 1\.000, and "
    ):
        AUCross(frozen, coverage=0.8, random_state=0).fit(rows[:600], labels[:600])
    AUCross(frozen, coverage=0.8, random_state=0).fit(rows[600:], labels[600:])


@pytest.mark.filterwarnings("ignore:a coverage of .* cannot be reached")
def test_a_frozen_model_that_is_excellent_on_new_rows_is_not_accused():
    rows, labels = make_classification(3000, n_informative=10, class_sep=2.5, flip_y=0, random_state=1)
    frozen = FrozenEstimator(RandomForestClassifier(30, random_state=0).fit(rows[:2500], labels[:2500]))
    clf = AUCross(frozen, coverage=0.8, random_state=0).fit(rows[2500:], labels[2500:])
    assert clf.held_out_auc(1.0).value > 0.98
