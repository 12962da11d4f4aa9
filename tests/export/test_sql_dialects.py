"""A rule written as text decides each row as the rule itself does: in SQLite, in DuckDB and read back from JSON."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from math import inf, nextafter

import duckdb
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.tree import DecisionTreeClassifier

from aucross import PlugIn, PlugInAUC
from aucross.core import RejectionBand
from aucross.export import band_from_json, band_to_json, band_to_sql, rule_to_json, rule_to_sql
from aucross.export.band_text import sql_number

N_RULES = 300


def random_bands(number: int) -> list[RejectionBand]:
    """Ends as models give them: probabilities, margins, rounded ones, very small and very large ones."""
    rng = np.random.default_rng(14)
    bands = []
    for _ in range(number):
        kind = rng.integers(5)
        ends = rng.random(2) if kind < 2 else rng.normal(scale=10, size=2)
        if kind == 3:
            ends = np.round(ends, 2)
        if kind == 4:
            ends = ends * 10.0 ** rng.integers(-200, 200)
        lower, upper = np.sort(ends).tolist()
        bands.append(RejectionBand(*[(lower, upper), (-inf, upper), (lower, inf)][rng.choice(3, p=[0.8, 0.1, 0.1])]))
    return bands


@pytest.fixture(scope="module")
def bands():
    return random_bands(N_RULES)


@pytest.fixture(scope="module")
def scores(bands):
    ends = [end for band in bands for end in (band.lower, band.upper) if np.isfinite(end)]
    beside = [nextafter(end, side) for end in ends for side in (-inf, inf)]
    rng = np.random.default_rng(15)
    return np.array([*ends, *beside, *rng.random(300), *rng.normal(scale=10, size=300), 0.0, -0.0])


def sqlite_answers(expressions, scores):
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE cases (number INTEGER, score DOUBLE PRECISION)")
        connection.executemany("INSERT INTO cases VALUES (?, ?)", list(enumerate(scores.tolist())))
        parts = [
            connection.execute(f"SELECT {', '.join(part)} FROM cases ORDER BY number").fetchall()
            for part in (expressions[first : first + 100] for first in range(0, len(expressions), 100))
        ]
    return np.concatenate([np.array(part) for part in parts], axis=1)


def duckdb_answers(expressions, scores):
    frame = pd.DataFrame({"number": np.arange(len(scores)), "score": scores})
    with duckdb.connect() as connection:
        connection.register("cases", frame)
        parts = [
            connection.execute(f"SELECT {', '.join(part)} FROM cases ORDER BY number").fetchall()
            for part in (expressions[first : first + 100] for first in range(0, len(expressions), 100))
        ]
    return np.concatenate([np.array(part) for part in parts], axis=1)


@pytest.mark.attack("rules in SQL and JSON")
@pytest.mark.parametrize("answers", [sqlite_answers, duckdb_answers])
def test_sql_decides_every_row_as_the_band_does(answers, bands, scores, attacked):
    decided = answers([band_to_sql(band, "score", automatic=1, review=0) for band in bands], scores)
    wrong = [
        f"{band}: {int((column != band.selects(scores)).sum())} of {len(scores)} rows"
        for band, column in zip(bands, decided.T, strict=True)
        if (column != band.selects(scores)).any()
    ]
    attacked(len(bands), wrong)


@pytest.mark.attack("rules in SQL and JSON")
def test_json_gives_the_same_band_back(bands, attacked):
    attacked(len(bands), [str(band) for band in bands if band_from_json(band_to_json(band)) != band])


def test_numbers_are_short_and_double_precision_in_every_dialect():
    assert [sql_number(value) for value in (0.2, 0.0, -1.5, 0.1 + 0.2)] == [
        "2e-1",
        "0e0",
        "-1.5e0",
        "3.0000000000000004e-1",
    ]
    with duckdb.connect() as connection:
        assert connection.execute(f"SELECT typeof({sql_number(0.3)})").fetchone() == ("DOUBLE",)


@pytest.mark.attack("rules in SQL and JSON")
@pytest.mark.parametrize("kind", ["REAL", "DOUBLE PRECISION", "NUMERIC", "TEXT", "BLOB", ""])
@pytest.mark.parametrize("band", [RejectionBand(), RejectionBand(0.2, 0.4), RejectionBand(-inf, 0.4)], ids=str)
def test_texts_and_blobs_in_a_column_of_sqlite_go_to_review(kind, band, attacked):
    odd = ["abc", "", " ", "0x10", "1e999", "nan", b"", b"0.9", b"\xff", "9" * 400 + "x"]
    if kind in ("TEXT", "BLOB", ""):
        odd.append("0.9")  # which columns of numbers turn into a number
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(f"CREATE TABLE cases (score {kind})")
        connection.executemany("INSERT INTO cases VALUES (?)", [(value,) for value in odd])
        answers = connection.execute(f"SELECT score, {band_to_sql(band, 'score')} FROM cases").fetchall()
    attacked(len(odd), [f"{value!r} is {answer}" for value, answer in answers if answer != "review"])


@pytest.mark.parametrize("method", [PlugInAUC, PlugIn])
def test_bands_that_cut_through_ties_are_not_written_as_text(method):
    X, y = make_classification(400, flip_y=0.3, random_state=0)
    clf = method(DecisionTreeClassifier(max_depth=3), holdout_size=0.5, ties="split", random_state=0).fit(X, y)
    for write in (rule_to_json, lambda rule: rule_to_sql(rule, "score")):
        with pytest.raises(ValueError, match=r"cut through ties by a hash of the whole row.*ties=\"whole\""):
            write(clf)
