from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

pytest.importorskip("fastapi", reason='needs FastAPI: pip install "aucross[serve]"')

from aucross.cli.column_kinds import NumberFormat, check_has_values, convert, infer_kind
from aucross.cli.errors import CommandError, UsageError
from aucross.estimators import DaysSince1970
from aucross.serve import served_model


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


DAY_FIRST = [f"{day:02d}.{month:02d}.2022" for month in (1, 2) for day in range(1, 29)]


@pytest.mark.parametrize(
    "values",
    [
        DAY_FIRST,
        [value.replace(".", "/") for value in DAY_FIRST] * 2,
        [value.replace("2022", "22") for value in DAY_FIRST],
        ["/".join(value.split(".")[::-1]) for value in DAY_FIRST],
        [f"{value} 10:30" for value in DAY_FIRST],
    ],
)
def test_dates_that_are_not_iso_are_called_dates(values):
    with pytest.raises(CommandError) as caught:
        kind_of(values)
    assert str(caught.value) == (
        f"column 'x' holds dates such as {values[0]!r}; write them as 2024-03-31, year first, or leave the column out "
        "with --drop x"
    )


def test_a_few_dates_that_are_not_iso_are_categories_with_a_note():
    inferred = kind_of(["03.01.2022", "31.12.2022", "03.01.2022"])
    assert inferred.kind == "category"
    assert inferred.note == (
        "column 'x' is read as categories; it holds dates such as '03.01.2022'; write them as 2024-03-31, year first, "
        "to have dates"
    )


def test_versions_and_numbers_with_marks_are_no_dates():
    assert kind_of(["1.2.3", "10.20.30", "1.2.3"]).note is None or "dates" not in kind_of(["1.2.3", "10.20.30"]).note
    assert "dates" not in kind_of(["1.169.000", "2.500.000", "1.169.000"]).note


def test_row_numbers_are_left_out_by_name():
    assert kind_of(["3", "1", "2", "4"]).note == "column 'x' is left out: it numbers the rows"
    assert kind_of([3, 1, 2, 5]).kind == "number"
    assert kind_of([0.5, 1.5, 2.5]).kind == "number"


def test_dates_come_with_a_note():
    assert "used as days since 1970; --drop x leaves it out" in kind_of(["2024-03-31", "2024-03-31"]).note


def test_a_word_among_few_numbers_is_pointed_out():
    inferred = kind_of([*map(str, range(0, 38, 2)), "2", "2", "unknown"])
    assert inferred.kind == "category"
    assert inferred.note == (
        "column 'x' is read as categories; it holds text such as 'unknown', though 95.4 % of it are numbers; leave "
        "such values blank to have numbers"
    )


def test_a_word_among_many_numbers_is_refused():
    with pytest.raises(CommandError) as caught:
        kind_of([*map(str, range(0, 80, 2)), "2", "unknown"])
    assert str(caught.value) == (
        "column 'x' holds text such as 'unknown', though 97.6 % of it are numbers; leave such values blank, or leave "
        "the column out with --drop x"
    )


def test_few_numbers_with_a_comma_are_pointed_out():
    inferred = kind_of(["1,5", "2,25", "1.200,00", "1,5"])
    assert inferred.kind == "category"
    assert inferred.note == (
        "column 'x' is read as categories; it holds numbers with marks, such as '1,5'; say what its marks mean with "
        "--decimal , --thousands . to have numbers"
    )


WITHOUT_UNIT = "write the numbers without a currency, a per cent sign or brackets"


@pytest.mark.parametrize(
    ("write", "remedy"),
    [
        (lambda n: f"{n:,}", "say what its marks mean with --thousands , or --decimal ,"),
        (lambda n: f"{n:,}.50", "say what its marks mean with --thousands ,"),
        (lambda n: f"{n},5", "say what its marks mean with --decimal ,"),
        (lambda n: f"{1000 * n:,}".replace(",", "'"), 'say what its marks mean with --thousands "\'"'),
        (lambda n: f"{1000 * n:,}".replace(",", " "), 'say what its marks mean with --thousands " "'),
        (lambda n: f"{n * n * n:,}".replace(",", "."), "say what its marks mean with --decimal , --thousands ."),
        (lambda n: f"{n:,},50".replace(",", ".", 1), "say what its marks mean with --decimal , --thousands ."),
        (lambda n: str(n) if n % 9 else f"{n:,}.0", "say what its marks mean with --thousands ,"),
        (lambda n: f"${n}", WITHOUT_UNIT),
        (lambda n: f"{n:,} \u20ac", WITHOUT_UNIT),
        (lambda n: f"{n}%", WITHOUT_UNIT),
        (lambda n: f"({n})", WITHOUT_UNIT),
        (lambda n: f"{n}-", WITHOUT_UNIT),
        (lambda n: f"EUR {n}", WITHOUT_UNIT),
        (lambda n: f"\u2212{n}", WITHOUT_UNIT),
    ],
)
def test_many_numbers_with_marks_are_refused_with_the_remedy(write, remedy):
    values = [write(number) for number in range(1008, 1048)]
    with pytest.raises(CommandError) as caught:
        kind_of(values)
    assert str(caught.value) == (
        f"column 'x' holds numbers with marks, such as {values[0]!r}; {remedy}, or leave the column out with --drop x"
    )


@pytest.mark.parametrize(
    ("values", "numbers", "expected"),
    [
        (["1,5", "-2,25", ",5", "1e2"], NumberFormat(","), [1.5, -2.25, 0.5, 100]),
        (["1,169", "12", "1,234,567.5"], NumberFormat(".", ","), [1169, 12, 1234567.5]),
        (["1.169,5", "1169,5", ""], NumberFormat(",", "."), [1169.5, 1169.5, np.nan]),
        (["1'169", "1\u2019169"], NumberFormat(".", "'"), [1169, 1169]),
        (["1 169", "1\u00a0169", "1\u202f169"], NumberFormat(".", " "), [1169, 1169, 1169]),
        (["1_169"], NumberFormat(".", "_"), [1169]),
    ],
)
def test_numbers_are_read_with_the_marks_that_options_name(values, numbers, expected):
    np.testing.assert_array_equal(convert("x", pa.array(values), "number", numbers=numbers), expected)
    assert infer_kind("x", pa.chunked_array([values * 2]), numbers).kind == "number"


@pytest.mark.parametrize("value", ["1,5", "1,16", "11,69,000", "1,1690", "0,169", ",169", "1,,169"])
def test_a_mark_between_thousands_has_three_digits_behind_it(value):
    with pytest.raises(CommandError, match=r"must hold numbers, as in training, got"):
        convert("x", pa.array([value]), "number", numbers=NumberFormat(".", ","))


@pytest.mark.parametrize(
    ("decimal", "thousands", "text"),
    [
        (";", "", "--decimal must be . or a comma, got ';'"),
        (".", "x", "--thousands must be one of "),
        (",", ",", "--thousands ,: it is the decimal mark; --decimal says which is which"),
    ],
)
def test_marks_that_cannot_be(decimal, thousands, text):
    with pytest.raises(UsageError) as caught:
        NumberFormat(decimal, thousands)
    assert str(caught.value).startswith(text)


def names(n_different, n_rows):
    return [f"name {number % n_different}" for number in range(n_rows)]


def test_nearly_unique_text_is_refused_with_the_remedy():
    with pytest.raises(CommandError) as caught:
        kind_of(names(59, 60))
    assert str(caught.value) == (
        "column 'x' looks like an identifier: 59 different texts in 60 rows; name the rows by it with --id x, or leave "
        "it out with --drop x"
    )


def test_categories_are_not_taken_for_identifiers():
    assert kind_of(names(30, 60)).kind == "category"
    assert kind_of(names(20, 30)).kind == "category"
    assert kind_of(names(60, 60)).kind is None


def test_whole_numbers_that_may_be_accounts_are_pointed_out():
    accounts = [4_000_000_000 + 7919 * number for number in range(50)]
    assert "looks like account numbers" in kind_of(accounts).note
    assert "looks like account numbers" in kind_of([str(account) for account in accounts]).note
    assert kind_of([account + 0.5 for account in accounts]).note is None
    assert kind_of([account % 100_000 for account in accounts]).note is None
    assert kind_of(accounts[:10] * 5).note is None


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


ISO_TEXTS = [
    "2019-03-31",
    "2019-03-31Z",
    "2019-03-31 10:00",
    "2019-03-31T10:00:00+02:00",
    "2019-03-31T10:00:00-0530",
    "2019-03-31T10:00:00.123456789Z",
    "2019-03-31 23:59:59.7+02:00",
    "1066-10-14T09:00:01+00:30",
    "9999-12-31",
]


def test_dates_with_zones_and_fractions_are_the_same_days_in_the_shell_over_http_and_in_python():
    assert kind_of(ISO_TEXTS * 2).kind == "date"
    in_python = DaysSince1970().fit_transform(pd.DataFrame({"x": ISO_TEXTS}))[:, 0].tolist()
    assert convert("x", pa.array(ISO_TEXTS), "date").tolist() == in_python
    assert served_model._CONVERSIONS["date"]([served_model._moment(text) for text in ISO_TEXTS]).tolist() == in_python
    assert in_python[3] == 17986 + 8 / 24


@pytest.mark.parametrize("text", ["2019-03-31+02:00", "20190331", "2019-03-31T25:00", "9999-12-31T23:59:59-23:59"])
def test_what_http_and_python_refuse_as_a_date_the_shell_refuses(text):
    with pytest.raises(CommandError, match="must hold dates such as 2024-03-31, as in training, got"):
        convert("x", pa.array([text]), "date")


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
