from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest

from aucross.cli.columns import check_has_values, convert, infer_kind
from aucross.cli.errors import CommandError


def kind_of(values, kind=None):
    return infer_kind("x", pa.chunked_array([pa.array(values, kind)]))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["1", "2.5", "-3e2", "1"], "number"),
        (["1", "", "NA", "3", "1"], "number"),
        ([" 1 ", "2 ", "2 "], "number"),
        (["true", "FALSE", "True"], "boolean"),
        (["2024-03-31", "2024-04-01", "2024-04-01"], "date"),
        (["2024-03-31 10:00:00", "2024-04-01T11:30:00Z", ""], "date"),
        (["a", "b", "a"], "category"),
        (["007", "012", "007"], "category"),
        (["1.5", "1,5", "1,5"], "category"),
        (["2024-13-31", "2024-04-01", "2024-04-01"], "category"),
    ],
)
def test_the_kind_of_a_text_column(values, expected):
    assert kind_of(values).kind == expected


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        ([1, 2, 2], pa.int32(), "number"),
        ([0.5, None, 2.0], pa.float32(), "number"),
        ([True, False], pa.bool_(), "boolean"),
        ([dt.date(2024, 3, 31)] * 2, pa.date32(), "date"),
        (["1", "2", "1"], pa.dictionary(pa.int8(), pa.string()), "number"),
        ([[1], [2]], pa.list_(pa.int64()), None),
    ],
)
def test_the_kind_of_a_typed_column(values, kind, expected):
    assert kind_of(values, kind).kind == expected


def test_text_that_differs_in_every_row_is_left_out_by_name():
    inferred = kind_of(["ab", "cd", "ef"])
    assert inferred.kind is None
    assert inferred.note == "column 'x' is left out: its text is different in every row, as in an identifier"


def test_row_numbers_are_left_out_by_name():
    assert kind_of(["3", "1", "2", "4"]).note == "column 'x' is left out: it numbers the rows"
    assert kind_of([3, 1, 2, 5]).kind == "number"
    assert kind_of([0.5, 1.5, 2.5]).kind == "number"


def test_dates_come_with_a_note():
    assert "used as days since 1970; --drop x leaves it out" in kind_of(["2024-03-31", "2024-03-31"]).note


def test_a_word_among_numbers_is_pointed_out():
    inferred = kind_of([*map(str, range(0, 40, 2)), "2", "unknown"])
    assert inferred.kind == "category"
    assert "values such as 'unknown', though 95.5 % of it are numbers" in inferred.note


def test_numbers_with_a_comma_are_pointed_out():
    inferred = kind_of(["1,5", "2,25", "1.200,00", "1,5"])
    assert inferred.kind == "category"
    assert "look like numbers with a comma, such as '1,5'; write a decimal point" in inferred.note


def test_a_column_without_values_is_refused_with_the_remedy():
    with pytest.raises(CommandError, match=r"column 'x' has no values at all; leave it out with --drop x"):
        check_has_values("x", pa.chunked_array([["", "NA", " "]]))


def test_blanks_are_missing_whatever_the_kind():
    assert np.isnan(convert("x", pa.array(["1", " ", "NA"]), "number")).tolist() == [False, True, True]
    assert np.isnan(convert("x", pa.array(["true", ""]), "boolean")).tolist() == [False, True]
    assert np.isnan(convert("x", pa.array(["1970-01-03", "null"]), "date")).tolist() == [False, True]
    categories = convert("x", pa.array([" a ", "", "b"]), "category")
    assert categories[0] == "a"
    assert np.isnan(categories[1])


def test_dates_are_days_whether_text_or_typed():
    day = dt.datetime(1970, 1, 3, 12)
    for values in (pa.array(["1970-01-03 12:00:00"]), pa.array([day]), pa.array([day], pa.timestamp("ns"))):
        assert convert("x", values, "date").tolist() == [2.5]


def test_true_and_false_are_the_same_in_every_spelling():
    for values in (["True", "false"], ["1", "0"], [True, False], [1, 0], [1.0, 0.0]):
        assert convert("x", pa.array(values), "boolean").tolist() == [1.0, 0.0]


def test_integers_may_name_categories():
    assert convert("x", pa.array([7, None]), "category")[0] == "7"


@pytest.mark.parametrize(
    ("values", "kind", "text"),
    [
        (["1", "many"], "number", "column 'x' must hold numbers, as in training, got 'many' in row 101;"),
        (["1", "inf"], "number", "got 'inf' in row 101;"),
        ([1.0, float("inf")], "number", "got inf in row 101;"),
        (["true", "maybe"], "boolean", "must hold true or false, as in training, got 'maybe' in row 101;"),
        ([0, 2], "boolean", "got 2 in row 101;"),
        (["2024-01-01", "soon"], "date", "must hold dates such as 2024-03-31, as in training, got 'soon' in row 101;"),
        ([1, 2], "date", "must hold dates such as 2024-03-31, as in training, got values of type int64;"),
        ([1.5, 2.0], "category", "must hold text, as in training, got values of type double;"),
        ([dt.date(2024, 1, 1)], "number", "must hold numbers, as in training, got values of type date32"),
    ],
)
def test_values_that_do_not_fit_are_refused_with_column_value_and_row(values, kind, text):
    with pytest.raises(CommandError) as caught:
        convert("x", pa.array(values), kind, first_row=100)
    assert text in str(caught.value)
