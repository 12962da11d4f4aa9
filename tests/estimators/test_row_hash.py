"""A row has one number, whatever table holds it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from aucross.estimators.row_hash import hash_rows

ROWS = np.array([[1.0, 0.0, -2.5], [0.0, 1.0, -2.5], [np.nan, 3.0, 0.0], [1.0, 0.0, -2.5]])


def test_equal_rows_have_equal_numbers_and_others_have_others():
    first, second, third, fourth = hash_rows(ROWS)
    assert first == fourth
    assert len({first, second, third}) == 3


@pytest.mark.parametrize(
    "same",
    [
        ROWS.astype(np.float32),
        ROWS.tolist(),
        ROWS.astype(object),
        np.asfortranarray(ROWS),
        pd.DataFrame(ROWS, columns=list("abc")),
        pd.DataFrame(ROWS, columns=list("abc")).astype({"b": int}),
        pd.DataFrame(ROWS).astype("category"),
        sparse.csr_matrix(ROWS),
        sparse.coo_array(ROWS),
        np.where(ROWS == 0, -0.0, ROWS),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_kind_of_table_does_not_matter(same):
    np.testing.assert_array_equal(hash_rows(same), hash_rows(ROWS))


def test_missing_values_of_all_kinds_are_one():
    frame = pd.DataFrame({"a": pd.array([1, None], dtype="Int64"), "b": ["x", None]})
    other = pd.DataFrame({"a": [1.0, np.nan], "b": pd.Series(["x", None], dtype="category")})
    np.testing.assert_array_equal(hash_rows(frame), hash_rows(other))


def test_frames_of_other_libraries_agree():
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", "y"], "c": [0.5, 0.0]})
    expected = hash_rows(frame)
    polars, arrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    np.testing.assert_array_equal(hash_rows(polars.from_pandas(frame)), expected)
    np.testing.assert_array_equal(hash_rows(arrow.Table.from_pandas(frame, preserve_index=False)), expected)


def test_texts_lists_images_and_no_rows():
    assert len(set(hash_rows(["a text", "another", "a text"]).tolist())) == 2
    assert len(set(hash_rows([[1, 2], [1], [1, 2]]).tolist())) == 2
    assert len(set(hash_rows(np.zeros((3, 2, 2)) + np.arange(3)[:, None, None]).tolist())) == 3
    assert len(hash_rows(np.empty((0, 3)))) == 0
    dates = pd.DataFrame({"day": pd.to_datetime(["2020-01-01", "2020-01-02", None])})
    assert len(set(hash_rows(dates).tolist())) == 3


def test_a_batch_does_not_matter():
    X = np.random.default_rng(0).normal(size=(500, 4))
    alone = [hash_rows(X[i : i + 1])[0] for i in range(20)]
    np.testing.assert_array_equal(hash_rows(X)[:20], alone)
    wide = np.random.default_rng(1).normal(size=(3, 1 << 20))  # one row is a block
    np.testing.assert_array_equal(hash_rows(wide)[1:2], hash_rows(wide[1:2]))


@pytest.mark.parametrize("kind", ["normal", "small integers", "one column"])
def test_the_numbers_are_spread_evenly_and_say_nothing_of_the_values(kind):
    rng = np.random.default_rng(2)
    X = {
        "normal": rng.normal(size=(20_000, 3)),
        "small integers": rng.permutation(20_000)[:, None] // np.array([1, 100]) % np.array([20_000, 7]),
        "one column": np.arange(20_000)[:, None],
    }[kind]
    fifths = hash_rows(X) % np.uint64(5)
    counts = np.bincount(fifths.astype(int), minlength=5)
    assert ((counts - 4_000) ** 2 / 4_000).sum() < 18.5  # chi-squared with 4 degrees, level .001
    of_low = np.bincount(fifths[X[:, 0] <= np.median(X[:, 0])].astype(int), minlength=5)
    assert ((of_low - of_low.mean()) ** 2 / of_low.mean()).sum() < 18.5


def test_the_numbers_stay_as_they_are():
    # Folds, halves and cut ties follow from them: a fit would be another one, here or on another engine.
    assert hash_rows(np.array([[1.0, 2.0], [3.0, np.nan]])).tolist() == [1068847311120591616, 5546862223275807922]
    frame = pd.DataFrame({"a": ["x", "y"], "b": [1, 2]})
    assert hash_rows(frame).tolist() == [10880651224722254536, 12640605702157716337]
