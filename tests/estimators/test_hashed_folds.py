"""Folds decided by each row alone."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from aucross import AUCross, HashedFolds, SCross, load, save
from tests.strategies import property_test

X, y = make_classification(
    2000, n_features=4, n_informative=3, n_redundant=0, flip_y=0.2, weights=[0.8], random_state=0
)
LOANS = pd.DataFrame(X, columns=list("abcd")).assign(loan=[f"L{row}" for row in range(len(X))])


@property_test
@given(seed=st.integers(0, 2**70), order_seed=st.integers(0, 99), n_parts=st.sampled_from([1, 4, 64]))
def test_a_fold_does_not_depend_on_the_other_rows(seed, order_seed, n_parts):
    folds = HashedFolds(5, seed=seed)
    order = np.random.default_rng(order_seed).permutation(len(X))
    parts = [folds.fold_of(part) for part in np.array_split(X[order], n_parts)]
    np.testing.assert_array_equal(np.concatenate(parts), folds.fold_of(X)[order])


@pytest.mark.parametrize("key", [None, "loan"])
def test_a_fold_is_the_same_in_every_library(key):
    folds = HashedFolds(4, key=key)
    expected = folds.fold_of(LOANS)
    for table in (pl.from_pandas(LOANS), pa.Table.from_pandas(LOANS, preserve_index=False)):
        np.testing.assert_array_equal(folds.fold_of(table), expected)


def test_rows_of_one_key_share_a_fold_and_so_do_equal_rows():
    customers = LOANS.assign(customer=np.arange(len(X)) // 4)
    by_key = HashedFolds(key="customer").fold_of(customers).reshape(-1, 4)
    assert (by_key == by_key[:, :1]).all()
    twice = HashedFolds().fold_of(np.vstack((X, X)))
    np.testing.assert_array_equal(twice[: len(X)], twice[len(X) :])


def test_groups_take_the_place_of_the_key():
    by_groups = HashedFolds().fold_of(X, groups=LOANS["loan"])
    np.testing.assert_array_equal(by_groups, HashedFolds(key="loan").fold_of(LOANS))


@pytest.mark.parametrize("n_splits", [2, 3, 5, 10])
def test_every_class_is_spread_evenly_up_to_chance(n_splits):
    keys = np.arange(200_000)
    is_rare = keys % 20 == 0
    fold = HashedFolds(n_splits).fold_of(X, groups=keys)
    for of_class in (is_rare, ~is_rare):
        counts, expected = np.bincount(fold[of_class]), of_class.sum() / n_splits
        assert np.abs(counts - expected).max() < 4 * np.sqrt(expected)


def test_folds_of_two_seeds_have_nothing_to_do_with_each_other():
    keys = np.arange(100_000)
    table = np.zeros((5, 5))
    np.add.at(table, (HashedFolds(5).fold_of(X, groups=keys), HashedFolds(5, seed=1).fold_of(X, groups=keys)), 1)
    assert np.abs(table - 4000).max() < 5 * np.sqrt(4000)


def test_splits_score_every_row_once_and_never_train_on_it():
    splits = list(HashedFolds(3).split(X, y))
    assert HashedFolds(3).get_n_splits() == len(splits) == 3
    np.testing.assert_array_equal(np.sort(np.concatenate([test for _, test in splits])), np.arange(len(X)))
    for train, test in splits:
        np.testing.assert_array_equal(np.sort(np.concatenate((train, test))), np.arange(len(X)))


def test_a_classifier_gives_the_same_bands_for_shuffled_rows():
    order = np.random.default_rng(3).permutation(len(X))
    model = LogisticRegression(solver="newton-cholesky", tol=1e-12)
    first = AUCross(model, cv=HashedFolds(), random_state=0).fit(X, y)
    second = AUCross(model, cv=HashedFolds(), random_state=0).fit(X[order], y[order])
    np.testing.assert_array_equal(first.held_out_.folds, np.sort(HashedFolds().fold_of(X)))
    np.testing.assert_allclose(
        [second.band(0.8).lower, second.band(0.8).upper], [first.band(0.8).lower, first.band(0.8).upper], rtol=1e-9
    )


@pytest.mark.parametrize("cv", [3, HashedFolds(3)])
def test_the_halves_of_a_blended_threshold_share_no_row_and_are_all_rows_together(cv):
    rule = SCross(LogisticRegression(), cv=cv, random_state=0).fit(X, y).band_rule_
    first, second = (half.scores for half in rule.halves)
    assert not np.isin(first, second).any()
    np.testing.assert_array_equal(np.sort(np.concatenate((first, second))), rule.ranked.scores)


def test_groups_of_the_fit_stay_on_one_side():
    class Watched(LogisticRegression):
        def fit(self, X, y):
            seen.append(set(X[:, -1]))
            return super().fit(X, y)

    seen: list[set[float]] = []
    customers = (np.arange(len(X)) // 10).astype(float)
    rows = np.column_stack((X, customers))
    clf = AUCross(Watched(), cv=HashedFolds(3), random_state=0).fit(rows, y, groups=customers)
    held_out = [set(customers[clf.held_out_.rows[clf.held_out_.folds == fold]]) for fold in range(3)]
    assert all(not (train & test) for train, test in zip(seen[:3], held_out, strict=True))


def test_a_stored_classifier_keeps_its_folds(tmp_path):
    clf = AUCross(LogisticRegression(), cv=HashedFolds(3, seed=7), random_state=0).fit(X, y)
    save(clf, tmp_path / "model.aucross")
    assert load(tmp_path / "model.aucross").cv == HashedFolds(3, seed=7)
    assert clone(clf).cv == clf.cv


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"n_splits": 1}, "n_splits must be a whole number of at least 2, got 1; pass 5"),
        ({"n_splits": 2.5}, "n_splits must be a whole number"),
        ({"seed": -1}, "seed must be a whole number of at least 0, got -1"),
        ({"seed": None}, "seed must be a whole number"),
    ],
)
def test_what_makes_no_folds_is_refused(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        HashedFolds(**arguments)


def test_a_key_is_one_column_that_the_table_has():
    with pytest.raises(TypeError, match="key must be the name of one column"):
        HashedFolds(key=["a", "b"])
    for table in (X, LOANS, pl.from_pandas(LOANS), pa.Table.from_pandas(LOANS)):
        with pytest.raises(ValueError, match="key must be a column of X, got 'customer'"):
            HashedFolds(key="customer").fold_of(table)


def test_missing_keys_are_refused():
    with pytest.raises(ValueError, match="the key 'loan' must not be missing, got 1 of 2000"):
        HashedFolds(key="loan").fold_of(LOANS.assign(loan=[None, *LOANS["loan"][1:]]))


def test_folds_without_rows_are_refused():
    with pytest.raises(ValueError, match="every fold must have rows, got"):
        next(HashedFolds(5).split(X, y, groups=np.zeros(len(X))))
