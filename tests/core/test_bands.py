from __future__ import annotations

import json
import pickle
import sqlite3
from dataclasses import FrozenInstanceError
from fractions import Fraction
from math import inf, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aucross.core import RejectionBand
from aucross.core.bands import check_coverage
from reference import selected_by
from strategies import bands_between, property_test

finite = st.floats(allow_nan=False, allow_infinity=False)


def test_both_ends_are_rejected():
    band = RejectionBand(0.2, 0.4)
    assert band.rejects([0.2, 0.4]).tolist() == [True, True]


def test_the_floats_next_to_the_ends_are_selected():
    band = RejectionBand(0.2, 0.4)
    assert band.selects([np.nextafter(0.2, 0), np.nextafter(0.4, 1)]).tolist() == [True, True]


def test_a_band_of_equal_ends_rejects_that_score_only():
    assert RejectionBand(0.3, 0.3).rejects([0.2, 0.3, 0.4]).tolist() == [False, True, False]


@property_test
@given(ends=st.tuples(finite, finite).map(sorted), scores=st.lists(finite, max_size=8))
def test_rejects_exactly_the_scores_between_the_ends(ends, scores):
    band = RejectionBand(*ends)
    assert band.selects(scores).tolist() == selected_by(tuple(ends), scores)


@property_test
@given(ends=bands_between(), scores=st.lists(finite, max_size=8))
def test_rejects_and_selects_are_complements(ends, scores):
    band = RejectionBand(*ends)
    assert (band.rejects(scores) == ~band.selects(scores)).all()


def test_masks_are_boolean_arrays_of_the_length_of_the_scores():
    mask = RejectionBand(0.2, 0.4).selects([0.1, 0.3, 0.5])
    assert mask.dtype == np.bool_
    assert mask.shape == (3,)


def test_no_scores_give_an_empty_mask():
    assert RejectionBand(0.2, 0.4).rejects([]).shape == (0,)


def test_the_default_band_is_empty():
    assert RejectionBand().is_empty


def test_the_empty_band_selects_every_score_including_infinite_ones():
    assert RejectionBand().selects([-inf, -1.0, 0.0, 1.0, inf]).all()


@pytest.mark.parametrize("ends", [(0.2, 0.4), (0.3, 0.3), (-inf, 0.1), (0.1, inf), (-inf, inf), (inf, inf)])
def test_a_band_with_ordered_ends_is_not_empty(ends):
    assert not RejectionBand(*ends).is_empty


def test_a_lower_end_of_minus_infinity_rejects_everything_up_to_the_upper_end():
    assert RejectionBand(-inf, 0.3).rejects([-1e308, 0.3, 0.31]).tolist() == [True, True, False]


def test_an_upper_end_of_infinity_rejects_everything_from_the_lower_end_on():
    assert RejectionBand(0.3, inf).rejects([0.29, 0.3, 1e308]).tolist() == [False, True, True]


def test_float32_scores_are_compared_as_float64():
    # The nearest float32 to 0.1 is above 0.1; compared as float32 it would be equal and rejected.
    assert RejectionBand(0.0, 0.1).selects(np.array([0.1], dtype=np.float32)).tolist() == [True]


def test_ends_taken_from_float32_scores_reject_these_scores():
    scores = np.array([0.1, 0.2, 0.3], dtype=np.float32)
    assert RejectionBand(scores[0], scores[2]).rejects(scores).all()


def test_ends_are_plain_floats_whatever_came_in():
    band = RejectionBand(np.float32(0.5), 1)
    assert (type(band.lower), type(band.upper)) == (float, float)


def test_the_repr_can_be_evaluated():
    band = RejectionBand(np.float64(0.25), 0.5)
    assert eval(repr(band)) == band


@pytest.mark.parametrize("method", ["rejects", "selects"])
def test_nan_scores_raise_with_their_number_and_a_remedy(method):
    with pytest.raises(ValueError, match=r"scores must not contain NaN, got 2 of 3; impute the features or drop"):
        getattr(RejectionBand(0.2, 0.4), method)([nan, 0.3, nan])


def test_nan_scores_raise_for_the_empty_band_too():
    with pytest.raises(ValueError, match="scores must not contain NaN"):
        RejectionBand().selects([nan])


@pytest.mark.parametrize("ends", [(nan, 0.4), (0.2, nan), (nan, nan)])
def test_nan_ends_raise(ends):
    with pytest.raises(ValueError, match="ends of a RejectionBand must not be NaN"):
        RejectionBand(*ends)


@pytest.mark.parametrize("ends", [(0.4, 0.2), (inf, 0.2), (0.2, -inf)])
def test_reversed_ends_raise_and_name_the_empty_band(ends):
    with pytest.raises(
        ValueError, match=r"lower must not exceed upper, got lower=.*, upper=.*; RejectionBand\(\) is the empty band"
    ):
        RejectionBand(*ends)


def test_bands_of_equal_ends_are_equal_and_share_a_hash():
    assert len({RejectionBand(0.2, 0.4), RejectionBand(np.float64(0.2), 0.4), RejectionBand(), RejectionBand()}) == 2


def test_bands_of_different_ends_differ():
    assert RejectionBand(0.2, 0.4) != RejectionBand(0.2, 0.5)


@pytest.mark.parametrize("end", ["lower", "upper"])
def test_ends_cannot_be_assigned(end):
    with pytest.raises(FrozenInstanceError):
        setattr(RejectionBand(0.2, 0.4), end, 0.3)


@pytest.mark.parametrize("band", [RejectionBand(), RejectionBand(0.2, 0.4), RejectionBand(-inf, 0.1)])
def test_a_pickled_band_is_equal(band):
    assert pickle.loads(pickle.dumps(band)) == band


@pytest.mark.parametrize(
    "coverage", [0.9, 1.0, 1, np.float32(0.5), np.float64(0.5), np.int64(1), Fraction(1, 2), 5e-324]
)
def test_numbers_above_0_up_to_1_are_coverages_and_come_back_as_floats(coverage):
    checked = check_coverage(coverage)
    assert checked == coverage
    assert type(checked) is float


@pytest.mark.parametrize(
    ("coverage", "message"),
    [
        (90, "coverage must be in (0, 1], got 90; for 90 % pass 0.9"),
        (100, "coverage must be in (0, 1], got 100; for 100 % pass 1"),
        (99.5, "coverage must be in (0, 1], got 99.5; for 99.5 % pass 0.995"),
        (np.float64(90), "coverage must be in (0, 1], got 90.0; for 90.0 % pass 0.9"),
        (101, "coverage must be in (0, 1], got 101; 1 stands for all"),
        (0, "coverage must be in (0, 1], got 0; 1 stands for all"),
        (0.0, "coverage must be in (0, 1], got 0.0; 1 stands for all"),
        (-1, "coverage must be in (0, 1], got -1; 1 stands for all"),
        (nan, "coverage must be in (0, 1], got nan; 1 stands for all"),
        (inf, "coverage must be in (0, 1], got inf; 1 stands for all"),
    ],
)
def test_numbers_outside_raise_with_the_value_and_for_percentages_the_share_to_pass(coverage, message):
    with pytest.raises(ValueError, match="coverage") as raised:
        check_coverage(coverage)
    assert str(raised.value) == message


def test_a_coverage_just_above_1_is_shown_with_all_its_digits():
    with pytest.raises(ValueError, match=r"got 1\.0000001"):
        check_coverage(1.0000001)


@pytest.mark.parametrize("coverage", [True, False, np.True_, "0.9", None, [0.9], np.array(0.9), 0.9 + 0j])
def test_what_is_not_a_number_is_a_type_error_that_shows_it(coverage):
    with pytest.raises(TypeError, match=r"coverage must be a number in \(0, 1\], got ") as raised:
        check_coverage(coverage)
    assert repr(coverage) in str(raised.value)


def test_the_name_of_the_argument_appears_in_the_message():
    with pytest.raises(ValueError, match=r"^target must be in \(0, 1\], got 2"):
        check_coverage(2, name="target")


# ---- as text ----

BANDS = [
    RejectionBand(),
    RejectionBand(0.2, 0.4),
    RejectionBand(0.3, 0.3),
    RejectionBand(-inf, 0.1),
    RejectionBand(0.1, inf),
    RejectionBand(-inf, inf),
    RejectionBand(0.1 + 0.2, 1e300),
    RejectionBand(-5e-324, 5e-324),
]


@pytest.mark.parametrize(
    ("band", "text"),
    [
        (RejectionBand(0.2, 0.4), '{"lower": 0.2, "upper": 0.4, "rejects": "interval"}'),
        (RejectionBand(-inf, 0.4), '{"lower": null, "upper": 0.4, "rejects": "interval"}'),
        (RejectionBand(0.2, inf), '{"lower": 0.2, "upper": null, "rejects": "interval"}'),
        (RejectionBand(-inf, inf), '{"lower": null, "upper": null, "rejects": "interval"}'),
        (RejectionBand(), '{"lower": null, "upper": null, "rejects": "nothing"}'),
    ],
)
def test_json_has_null_for_infinite_ends_and_tells_nothing_from_everything(band, text):
    assert band.to_json() == text
    assert RejectionBand.from_json(text) == band


@property_test
@given(ends=st.tuples(finite, finite).map(sorted))
def test_ends_come_back_from_json_to_the_last_bit(ends):
    band = RejectionBand(*ends)
    assert RejectionBand.from_json(band.to_json()) == band


def test_json_is_enough_to_apply_a_band_without_this_library():
    def is_rejected(text, score):
        band = json.loads(text)
        return (
            band["rejects"] == "interval"
            and (band["lower"] is None or score >= band["lower"])
            and (band["upper"] is None or score <= band["upper"])
        )

    scores = [-1e300, 0.0, 0.1, 0.2, 0.3, 0.1 + 0.2, 0.4, 1e300]
    for band in BANDS:
        assert [is_rejected(band.to_json(), score) for score in scores] == band.rejects(scores).tolist()


def test_further_keys_of_the_json_are_ignored():
    text = '{"coverage": 0.9, "lower": 0.2, "upper": 0.4, "rejects": "interval", "group": null}'
    assert RejectionBand.from_json(text) == RejectionBand(0.2, 0.4)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "text must be the JSON of a band"),
        ("[0.2, 0.4]", "must be an object with the keys lower, upper and rejects"),
        ('{"lower": 0.2, "upper": 0.4}', "must be an object with the keys lower, upper and rejects"),
        ('{"lower": "0.2", "upper": 0.4, "rejects": "interval"}', "lower must be a finite number or null, got '0.2'"),
        ('{"lower": 0.2, "upper": true, "rejects": "interval"}', "upper must be a finite number or null, got True"),
        ('{"lower": NaN, "upper": 0.4, "rejects": "interval"}', "lower must be a finite number or null, got nan"),
        ('{"lower": 0.2, "upper": 0.4, "rejects": "all"}', 'rejects must be "interval" or "nothing", got \'all\''),
        ('{"lower": 0.2, "upper": 0.4, "rejects": "nothing"}', 'a band that rejects "nothing" must have null ends'),
        ('{"lower": 0.4, "upper": 0.2, "rejects": "interval"}', "lower must not exceed upper"),
    ],
)
def test_json_of_something_else_raises_and_says_what_is_wrong(text, message):
    with pytest.raises(ValueError, match=r".") as raised:
        RejectionBand.from_json(text)
    assert message in str(raised.value)


@pytest.mark.parametrize("band", [RejectionBand(inf, inf), RejectionBand(-inf, -inf)])
def test_a_band_without_finite_scores_cannot_be_written(band):
    with pytest.raises(ValueError, match="a band that holds no finite score cannot be written as text"):
        band.to_json()
    with pytest.raises(ValueError, match="a band that holds no finite score cannot be written as text"):
        band.to_sql("score")


def decisions_in_sqlite(expression, scores, column="score"):
    with sqlite3.connect(":memory:") as connection:
        name = column.replace('"', '""')
        connection.execute(f'CREATE TABLE cases (number INTEGER, "{name}" DOUBLE PRECISION)')
        connection.executemany("INSERT INTO cases VALUES (?, ?)", list(enumerate(scores)))
        return [row[0] for row in connection.execute(f"SELECT {expression} FROM cases ORDER BY number")]


@pytest.mark.parametrize("band", BANDS, ids=str)
def test_sql_decides_as_the_band_does(band):
    rng = np.random.default_rng(0)
    ends = [end for end in (band.lower, band.upper) if np.isfinite(end)]
    beside = [np.nextafter(end, side) for end in ends for side in (-inf, inf)]
    scores = [*rng.random(200), *rng.normal(size=50), 0.0, -0.0, *ends, *beside]
    decided = decisions_in_sqlite(band.to_sql("score"), [float(score) for score in scores])
    assert [decision == "accept" for decision in decided] == band.selects(scores).tolist()
    assert set(decided) <= {"accept", "defer"}


@property_test
@given(ends=st.tuples(finite, finite).map(sorted), scores=st.lists(finite, max_size=5))
def test_sql_keeps_the_ends_to_the_last_bit(ends, scores):
    band = RejectionBand(*ends)
    scores = [*scores, *ends]
    decided = decisions_in_sqlite(band.to_sql("score", 1, 0), scores)
    assert decided == band.selects(scores).astype(int).tolist()


@pytest.mark.parametrize("band", BANDS, ids=str)
def test_sql_defers_rows_without_a_finite_score(band):
    assert decisions_in_sqlite(band.to_sql("score"), [None, nan, inf, -inf]) == ["defer"] * 4


def test_sql_quotes_the_column_and_the_values():
    expression = RejectionBand(0.2, 0.4).to_sql('the "score"', "don't ask", "review")
    assert expression.startswith('CASE\n  WHEN ("the ""score""" < 0.2 OR')
    assert decisions_in_sqlite(expression, [0.1, 0.3], 'the "score"') == ["don't ask", "review"]


@pytest.mark.parametrize(("quote", "name"), [("`", "`a``b]`"), ("[", "[a`b]]]"), ('"', '"a`b]"')])
def test_sql_knows_the_quotes_of_dialects(quote, name):
    assert f"{name} < 0.2" in RejectionBand(0.2, 0.4).to_sql("a`b]", quote=quote)


@pytest.mark.parametrize("column", ["", "a\nb", "a\0b", 3])
def test_names_that_are_no_printable_text_are_refused(column):
    with pytest.raises(ValueError, match="the name of an SQL column must be printable text"):
        RejectionBand(0.2, 0.4).to_sql(column)


@pytest.mark.parametrize("value", ["a\\", "a\nb", None, True, 0.5])
def test_sql_values_that_dialects_read_differently_are_refused(value):
    with pytest.raises(ValueError, match="an SQL value must be an integer or printable text without backslashes"):
        RejectionBand(0.2, 0.4).to_sql("score", value)


def test_an_unknown_quote_is_refused():
    with pytest.raises(ValueError, match="quote must be one of"):
        RejectionBand(0.2, 0.4).to_sql("score", quote="'")
