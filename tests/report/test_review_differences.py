"""Who is rejected: columns of every kind and library, compared by the same yardstick."""

from __future__ import annotations

from datetime import date
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from aucross.core.scored_rows import RuleInput, ScoredRows
from aucross.report.review_differences import MAX_LEVELS, feature_differences, traits_of
from aucross.report.rows import read_rows


def around_one_half(score, coverage):
    """Selects all but the scores nearest to one half."""
    distance = np.abs(score - 0.5)
    return distance >= np.quantile(distance, 1 - coverage)


def classifier_and_rows(X, y, decide=around_one_half, sample_weight=None):
    """Rows whose score is a column, decided on by a function of score and coverage."""
    score = np.asarray(X["score"], dtype=float)
    read = RuleInput.of_score(score, sample_weight)
    scored = ScoredRows(score, np.array([0, 1]), True, read, labels=np.asarray(y))
    rule = SimpleNamespace(bands_of=lambda rows, coverage: SimpleNamespace(selected=decide(rows.score, coverage)))
    return SimpleNamespace(band_rule_=rule), scored


def make_columns(n_rows=400):
    """Columns that tell the rows in the middle from the others, each in its own way."""
    rng = np.random.default_rng(0)
    score = rng.random(n_rows)
    middle = np.abs(score - 0.5) < 0.2
    columns = {
        "score": score,
        "flag": middle,
        "town": np.where(middle, "north", "south"),
        "count": np.where(middle, 5, 3),
        "code": np.where(~middle & (rng.random(n_rows) < 0.5), None, np.where(middle, "a", "b")),
        "empty": [None] * n_rows,
        "day": np.datetime64("2024-01-01") + np.where(middle, 30, 0).astype("timedelta64[D]"),
    }
    return columns, (rng.random(n_rows) < score).astype(int)


def as_table(columns, library):
    if library == "pandas":
        return pd.DataFrame(columns)
    values = {name: column.tolist() if isinstance(column, np.ndarray) else column for name, column in columns.items()}
    if library == "polars":
        return pytest.importorskip("polars").DataFrame(values)
    return pytest.importorskip("pyarrow").table(values)


def differences(X, y, coverage=0.7, **options):
    """Differences at one coverage by column and kind."""
    rows = read_rows(*classifier_and_rows(X, y, **options), coverage)
    found = feature_differences(rows, X)[rows.coverages.index(coverage)]
    return {(feature["feature"], feature["kind"]): feature for feature in found}


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_columns_of_every_kind_are_compared(library):
    columns, y = make_columns()
    found = differences(as_table(columns, library), y)
    assert (found["flag", "category"]["level"], found["flag", "category"]["review"]) == ("True", pytest.approx(1))
    # Both levels differ equally, and the more frequent one is named, whatever the order of the rows.
    assert (found["town", "category"]["level"], found["town", "category"]["review"]) == (
        "south",
        pytest.approx(0, abs=1e-9),
    )
    assert found["count", "number"]["review"] == pytest.approx(5)
    assert found["day", "date"]["review"] == "2024-01-31"
    assert found["code", "missing"]["review"] == pytest.approx(0, abs=1e-9)
    assert found["code", "missing"]["automatic"] > 0.2
    assert not any(feature == "empty" for feature, _ in found)


def test_numbers_that_name_categories_are_compared_as_categories():
    columns, y = make_columns()
    frame = pd.DataFrame(columns).assign(count=lambda rows: rows["count"].astype("category"))
    assert differences(frame, y)["count", "category"]["level"] in ("3", "5")


def test_columns_of_an_array_are_numbered():
    traits = list(traits_of([[1.0, 2.0], [3.0, 4.0]]))
    assert [(trait.column, trait.kind, trait.values.tolist()) for trait in traits] == [
        ("x0", "number", [1.0, 3.0]),
        ("x1", "number", [2.0, 4.0]),
    ]


def test_sparse_columns_are_those_of_the_dense_array():
    X = np.array([[0.0, 1.0], [2.0, 0.0], [0.0, 0.0]])
    dense, sparse = list(traits_of(X)), list(traits_of(csr_array(X)))
    assert [trait.column for trait in sparse] == [trait.column for trait in dense]
    assert all(np.array_equal(a.values, b.values) for a, b in zip(dense, sparse, strict=True))


@pytest.mark.parametrize(
    ("values", "kinds"),
    [
        ([1, None, 3], ["number", "missing"]),
        ([1.0, np.inf, 3.0], ["number", "missing"]),
        ([date(2024, 1, 1), None, date(2024, 1, 3)], ["date", "missing"]),
        ([True, False, None], ["category", "missing"]),
        (["a", "b", 3], ["category", "category", "category"]),
        ([None, None, None], ["missing"]),
    ],
)
def test_objects_are_what_their_values_are(values, kinds):
    column = pd.DataFrame({"column": pd.Series(values, dtype=object)})
    assert [trait.kind for trait in traits_of(column)] == kinds


def test_a_time_span_counts_in_days():
    span = pd.DataFrame({"span": pd.to_timedelta([36, 12], unit="h")})
    assert next(iter(traits_of(span))).values.tolist() == [1.5, 0.5]


def test_of_many_levels_the_frequent_ones_are_compared():
    names = pd.DataFrame({"name": [f"level {number % 100}" for number in range(150)]})
    levels = [trait.level for trait in traits_of(names)]
    assert len(levels) == MAX_LEVELS
    assert "level 3" in levels
    assert "level 77" not in levels


def test_columns_of_one_name_are_all_read():
    twice = pd.DataFrame([[1, 2], [3, 4]], columns=["same", "same"])
    assert [trait.values.tolist() for trait in traits_of(twice)] == [[1, 3], [2, 4]]


def test_large_units_lose_no_digits():
    columns, y = make_columns()
    frame = pd.DataFrame(columns)[["score", "count"]]
    near = differences(frame, y)["count", "number"]["standardised_difference"]
    far = differences(frame.assign(count=frame["count"] + 1e12), y)["count", "number"]["standardised_difference"]
    assert far == pytest.approx(near, rel=1e-6)


def test_a_constant_column_tells_nothing():
    columns, y = make_columns()
    frame = pd.DataFrame(columns)[["score"]].assign(constant=7.0)
    assert ("constant", "number") not in differences(frame, y)


def test_weights_count_in_the_means():
    columns, y = make_columns()
    frame, weight = pd.DataFrame(columns), np.arange(400) % 3.0
    rejected = ~around_one_half(columns["score"], 0.7)
    found = differences(frame, y, sample_weight=weight)["flag", "category"]
    assert found["automatic"] == pytest.approx(np.average(columns["flag"][~rejected], weights=weight[~rejected]))


def test_without_columns_nothing_is_compared():
    columns, y = make_columns()
    rows = read_rows(*classifier_and_rows(columns, y), 0.7)
    assert feature_differences(rows, None) == [[]] * len(rows.coverages)


def test_a_classifier_that_rejects_at_coverage_one_is_refused():
    columns, y = make_columns()
    nothing = classifier_and_rows(columns, y, lambda score, coverage: np.zeros(len(score), dtype=bool))
    with pytest.raises(ValueError, match="clf must answer every row at coverage 1, got 400 rejected"):
        read_rows(*nothing, 0.7)


@pytest.mark.parametrize(("n_rare", "is_named"), [(4, False), (5, True)])
def test_a_level_of_fewer_than_five_rows_is_not_named(n_rare, is_named):
    columns, y = make_columns()
    # In the middle, where cases go to review; the two frequent levels are alike on both sides.
    order, town = np.argsort(np.abs(columns["score"] - 0.5)), np.empty(len(y), dtype=object)
    town[order] = np.where(np.arange(len(y)) % 2 == 0, "east", "west")
    town[order[:n_rare]] = "hamlet"
    found = differences(pd.DataFrame({"score": columns["score"], "town": town}), y)
    assert (found["town", "category"]["level"] == "hamlet") == is_named
