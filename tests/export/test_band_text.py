from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from math import inf, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aucross.core import RejectionBand
from aucross.export import band_from_json, band_to_json, band_to_sql
from tests.strategies import property_test

# Scores beyond 1e308 count as infinite in SQL.
finite = st.floats(-1e307, 1e307)

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
        (RejectionBand(0.2, 0.4), '{"lower": 0.2, "upper": 0.4, "review": "interval"}'),
        (RejectionBand(-inf, 0.4), '{"lower": null, "upper": 0.4, "review": "interval"}'),
        (RejectionBand(0.2, inf), '{"lower": 0.2, "upper": null, "review": "interval"}'),
        (RejectionBand(-inf, inf), '{"lower": null, "upper": null, "review": "interval"}'),
        (RejectionBand(), '{"lower": null, "upper": null, "review": "nothing"}'),
    ],
)
def test_json_has_null_for_infinite_ends_and_tells_nothing_from_everything(band, text):
    assert band_to_json(band) == text
    assert band_from_json(text) == band


@property_test
@given(ends=st.tuples(finite, finite).map(sorted))
def test_ends_come_back_from_json_to_the_last_bit(ends):
    band = RejectionBand(*ends)
    assert band_from_json(band_to_json(band)) == band


def test_json_is_enough_to_apply_a_band_without_this_library():
    def goes_to_review(text, score):
        band = json.loads(text)
        return (
            band["review"] == "interval"
            and (band["lower"] is None or score >= band["lower"])
            and (band["upper"] is None or score <= band["upper"])
        )

    scores = [-1e300, 0.0, 0.1, 0.2, 0.3, 0.1 + 0.2, 0.4, 1e300]
    for band in BANDS:
        assert [goes_to_review(band_to_json(band), score) for score in scores] == band.rejects(scores).tolist()


def test_further_keys_of_the_json_are_ignored():
    text = '{"coverage": 0.9, "lower": 0.2, "upper": 0.4, "review": "interval", "group": null}'
    assert band_from_json(text) == RejectionBand(0.2, 0.4)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "text must be the JSON of a band"),
        ("[0.2, 0.4]", "must be an object with the keys lower, upper and review"),
        ('{"lower": 0.2, "upper": 0.4}', "must be an object with the keys lower, upper and review"),
        ('{"lower": "0.2", "upper": 0.4, "review": "interval"}', "lower must be a finite number or null, got '0.2'"),
        ('{"lower": 0.2, "upper": true, "review": "interval"}', "upper must be a finite number or null, got True"),
        ('{"lower": NaN, "upper": 0.4, "review": "interval"}', "lower must be a finite number or null, got nan"),
        ('{"lower": 0.2, "upper": 0.4, "review": "all"}', 'review must be "interval" or "nothing", got \'all\''),
        ('{"lower": 0.2, "upper": 0.4, "review": "nothing"}', 'a band with "nothing" to review must have null ends'),
        ('{"lower": 0.4, "upper": 0.2, "review": "interval"}', "lower must not exceed upper"),
    ],
)
def test_json_of_something_else_raises_and_says_what_is_wrong(text, message):
    with pytest.raises(ValueError, match=r".") as raised:
        band_from_json(text)
    assert message in str(raised.value)


@pytest.mark.parametrize("band", [RejectionBand(inf, inf), RejectionBand(-inf, -inf)])
def test_a_band_without_finite_scores_cannot_be_written(band):
    with pytest.raises(ValueError, match="a band that holds no finite score cannot be written as text"):
        band_to_json(band)
    with pytest.raises(ValueError, match="a band that holds no finite score cannot be written as text"):
        band_to_sql(band, "score")


def decisions_in_sqlite(expression, scores, column="score"):
    with closing(sqlite3.connect(":memory:")) as connection:
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
    decided = decisions_in_sqlite(band_to_sql(band, "score"), [float(score) for score in scores])
    assert [decision == "automatic" for decision in decided] == band.selects(scores).tolist()
    assert set(decided) <= {"automatic", "review"}


@property_test
@given(ends=st.tuples(finite, finite).map(sorted), scores=st.lists(finite, max_size=5))
def test_sql_keeps_the_ends_to_the_last_bit(ends, scores):
    band = RejectionBand(*ends)
    scores = [*scores, *ends]
    decided = decisions_in_sqlite(band_to_sql(band, "score", automatic=1, review=0), scores)
    assert decided == band.selects(scores).astype(int).tolist()


@pytest.mark.parametrize("band", BANDS, ids=str)
def test_rows_without_a_finite_score_go_to_review_in_sql(band):
    assert decisions_in_sqlite(band_to_sql(band, "score"), [None, nan, inf, -inf]) == ["review"] * 4


def test_sql_quotes_the_column_and_the_values():
    expression = band_to_sql(RejectionBand(0.2, 0.4), 'the "score"', automatic="don't ask", review=7)
    assert expression.startswith('CASE\n  WHEN ("the ""score""" < 2e-1 OR')
    assert decisions_in_sqlite(expression, [0.1, 0.3], 'the "score"') == ["don't ask", 7]


@pytest.mark.parametrize(("quote", "name"), [("`", "`a``b]`"), ("[", "[a`b]]]"), ('"', '"a`b]"')])
def test_sql_knows_the_quotes_of_dialects(quote, name):
    assert f"{name} < 2e-1" in band_to_sql(RejectionBand(0.2, 0.4), "a`b]", quote=quote)


@pytest.mark.parametrize("column", ["", "a\nb", "a\0b", 3])
def test_names_that_are_no_printable_text_are_refused(column):
    with pytest.raises(ValueError, match="the name of an SQL column must be printable text"):
        band_to_sql(RejectionBand(0.2, 0.4), column)


@pytest.mark.parametrize("value", ["a\\", "a\nb", None, True, 0.5])
def test_sql_values_that_dialects_read_differently_are_refused(value):
    with pytest.raises(ValueError, match="an SQL value must be an integer or printable text without backslashes"):
        band_to_sql(RejectionBand(0.2, 0.4), "score", automatic=value)


def test_an_unknown_quote_is_refused():
    with pytest.raises(ValueError, match="quote must be one of"):
        band_to_sql(RejectionBand(0.2, 0.4), "score", quote="'")
