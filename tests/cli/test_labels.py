from __future__ import annotations

import pyarrow as pa
import pytest

from aucross.cli.column_kinds import choose_labels, is_positive, label_text, output_labels
from aucross.cli.errors import CommandError


def labels_of(values, positive=None):
    return choose_labels("y", label_text(pa.array(values)), positive)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["0", "1", ""], ("0", "1")),
        ([1.0, 0.0, None], ("0", "1")),
        (["1.0", "0.0"], ("0", "1")),
        ([True, False], ("False", "True")),
        (["TRUE", "false"], ("False", "True")),
    ],
)
def test_labels_that_say_which_is_positive(values, expected):
    assert labels_of(values) == expected


def test_the_positive_label_is_asked_for_by_both_names():
    with pytest.raises(CommandError) as caught:
        labels_of(["repaid", "default"])
    assert str(caught.value) == (
        "target 'y' holds 'default' and 'repaid'; say which is the positive class with --positive default or "
        "--positive repaid"
    )


@pytest.mark.parametrize(
    ("values", "positive", "expected"),
    [
        (["no", "yes"], "no", ("yes", "no")),
        (["1", "2"], "2.0", ("1", "2")),
        (["0", "1"], "0", ("1", "0")),
        (["01", "02"], "02", ("01", "02")),
    ],
)
def test_the_positive_label_can_be_named(values, positive, expected):
    assert labels_of(values, positive) == expected


def test_a_positive_label_that_is_not_there_is_refused():
    with pytest.raises(CommandError, match=r"--positive: target 'y' has no value 'maybe'; it holds 'no' and 'yes'"):
        labels_of(["no", "yes"], "maybe")


@pytest.mark.parametrize("positive", [None, "2"])
def test_a_third_class_is_refused(positive):
    with pytest.raises(CommandError, match="target 'y' must be binary, got 3 classes: '0', '1', '2'; make it"):
        labels_of([0, 1, 2], positive)


def test_rows_become_zeros_and_ones():
    assert is_positive("y", label_text(pa.array(["no", " yes"])), ("no", "yes")).tolist() == [0, 1]


def test_labels_that_the_fit_did_not_see_are_refused():
    with pytest.raises(CommandError, match=r"target 'y' must hold 'no' and 'yes', as in training, got also 1 other"):
        is_positive("y", label_text(pa.array(["no", "maybe"])), ("no", "yes"))


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (("0", "1"), [0, 1]),
        (("-1", "1"), [-1, 1]),
        (("False", "True"), [False, True]),
        (("no", "yes"), ["no", "yes"]),
        (("01", "02"), ["01", "02"]),
    ],
)
def test_labels_are_written_in_their_type(labels, expected):
    assert output_labels(labels).to_pylist() == expected
