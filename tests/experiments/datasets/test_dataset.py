"""What loaders return: given and drawn splits."""

import numpy as np
import pandas as pd

from experiments.datasets import Dataset, Split


def dataset(is_test, n=40, images=False):
    X = np.arange(n * 12, dtype=np.uint8).reshape(n, 2, 2, 3) if images else pd.DataFrame({"row": np.arange(n)})
    y = (np.arange(n) % 4 == 0).astype(np.int64)
    return Dataset("Adult", X, y, is_test, "a test", ())


def test_the_given_test_rows_are_the_split():
    is_test = np.arange(40) >= 30
    split = dataset(is_test).split()
    assert isinstance(split, Split)
    assert split.X_train["row"].tolist() == list(range(30))
    assert split.X_test["row"].tolist() == list(range(30, 40))
    assert (len(split.y_train), len(split.y_test)) == (30, 10)


def test_test_rows_may_lie_anywhere():
    is_test = np.arange(40) % 5 == 0
    split = dataset(is_test).split()
    assert split.X_test["row"].tolist() == list(range(0, 40, 5))
    np.testing.assert_array_equal(split.y_test, (split.X_test["row"] % 4 == 0).astype(int))


def test_the_given_split_does_not_depend_on_the_seed():
    data = dataset(np.arange(40) >= 30)
    assert data.split(0).X_test.equals(data.split(1).X_test)


def test_images_are_not_copied_where_the_test_rows_come_last():
    data = dataset(np.arange(40) >= 30, images=True)
    split = data.split()
    assert np.shares_memory(split.X_train, data.X)
    assert np.shares_memory(split.X_test, data.X)


def test_without_test_rows_a_quarter_is_drawn_with_the_same_rate():
    split = dataset(None, n=80).split()
    assert len(split.y_test) == 20
    assert split.y_test.mean() == split.y_train.mean() == 0.25
    assert sorted([*split.X_train["row"], *split.X_test["row"]]) == list(range(80))


def test_the_drawn_split_is_reproducible_and_depends_on_the_seed():
    data = dataset(None)
    assert data.split(3).X_test.equals(data.split(3).X_test)
    assert not data.split(3).X_test.equals(data.split(4).X_test)


def test_random_splits_pool_the_rows_and_keep_the_size_of_the_test():
    data = dataset(np.arange(40) >= 32)
    split = data.random_split(0)
    assert len(split.y_test) == 8
    assert split.X_test["row"].min() < 32
    assert sorted([*split.X_train["row"], *split.X_test["row"]]) == list(range(40))


def test_random_split_equals_split_where_no_test_rows_are_given():
    data = dataset(None)
    assert data.random_split(7).X_test.equals(data.split(7).X_test)


def test_random_splits_of_images_keep_rows_and_labels_together():
    data = dataset(np.arange(40) >= 32, images=True)
    split = data.random_split(1)
    for image, label in zip(split.X_test, split.y_test, strict=True):
        row = int(np.flatnonzero((image == data.X).all(axis=(1, 2, 3)))[0])
        assert data.y[row] == label
