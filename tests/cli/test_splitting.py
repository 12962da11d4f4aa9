from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from aucross.cli.errors import CommandError, UsageError
from aucross.cli.schema import LabelledRows
from aucross.cli.train import split_rows


def rows(y, **parts):
    return LabelledRows(pd.DataFrame({"row": np.arange(len(y))}), np.asarray(y), **parts)


def test_a_random_split_keeps_the_share_of_positives_and_repeats_with_its_seed():
    labelled = rows([0, 0, 0, 1] * 25)
    (train, test), (_, again), (_, other) = (split_rows(labelled, 0.2, seed) for seed in (0, 0, 1))
    assert (len(train), len(test)) == (80, 20)
    assert test.y.mean() == 0.25
    assert test.X["row"].tolist() == again.X["row"].tolist() != other.X["row"].tolist()
    assert sorted([*train.X["row"], *test.X["row"]]) == list(range(100))


def test_a_split_by_time_tests_on_the_latest_rows_and_keeps_moments_together():
    times = np.array([5.0, 1, 2, 3, 4, 4, 4, 5])
    train, test = split_rows(rows([0, 1] * 4, times=times), 0.25, 0)
    assert train.times.max() < test.times.min() == 5
    train, test = split_rows(rows([0, 1] * 4, times=times), 0.4, 0)
    assert sorted(test.times) == [4, 4, 4, 5, 5]


def test_a_split_by_customer_keeps_every_customer_on_one_side():
    customers = np.arange(100) // 4
    train, test = split_rows(rows([0, 1] * 50, customers=customers), 0.25, 0)
    assert set(train.customers).isdisjoint(test.customers)
    assert 15 <= len(test) <= 35


def test_weights_and_labels_are_cut_with_the_rows():
    labelled = rows([0, 1] * 20, weight=np.arange(40.0))
    for part in split_rows(labelled, 0.25, 0):
        assert part.weight.tolist() == part.X["row"].tolist()
        assert part.y.tolist() == (part.X["row"] % 2).tolist()


@pytest.mark.parametrize(
    ("y", "parts", "test_size", "error", "text"),
    [
        ([0, 1] * 10, {}, 25, UsageError, "--test-size must be a share in (0, 1), got 25; pass 0.25 for a quarter"),
        ([0] * 9 + [1], {}, 0.25, CommandError, "each class needs at least 2 rows, got 1 of one; add rows"),
        (
            [0] * 5 + [1] * 5,
            {"times": np.arange(10.0)},
            0.3,
            CommandError,
            "the test part of 3 rows must hold both classes, got 3 positives; choose another split",
        ),
        ([0, 1] * 5, {"times": np.zeros(10)}, 0.3, CommandError, "too many rows share the first moment"),
        ([0, 1] * 5, {"customers": np.zeros(10)}, 0.3, CommandError, "--customer: 1 customer cannot be split into two"),
    ],
)
def test_splits_that_cannot_be_made_say_why(y, parts, test_size, error, text):
    with pytest.raises(error) as caught:
        split_rows(rows(y, **parts), test_size, 0)
    assert text in str(caught.value)
