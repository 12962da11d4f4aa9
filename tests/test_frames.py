"""The one door for tables: each question has one answer, whatever library holds the rows."""

from __future__ import annotations

from datetime import date, datetime

import numpy as np
import pytest
from scipy import sparse

from aucross import frames

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

COLUMNS = {
    "income": [1.5, None, 3.0],
    "home": ["rent", "own", None],
    "since": [date(2024, 3, 31), date(1970, 1, 2), None],
}


def frame_of(library):
    if library == "pandas":
        return pd.DataFrame(COLUMNS).astype({"home": "category", "since": "datetime64[s]"})
    if library == "polars":
        return pl.DataFrame(COLUMNS).with_columns(pl.col("home").cast(pl.Categorical))
    return pa.table({**COLUMNS, "home": pa.array(COLUMNS["home"]).dictionary_encode()})


every_library = pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])


@every_library
def test_a_frame_answers_alike_in_every_library(library):
    X = frame_of(library)
    assert frames.library_of(X) == library
    assert frames.names_of(X) == frames.text_names_of(X) == ["income", "home", "since"]
    assert frames.count_rows(X) == 3
    assert not frames.is_lazy(X)
    assert frames.kinds_of(X) == {"income": "number", "home": "category", "since": "date"}
    assert len(frames.types_of(X)) == 3


def test_text_and_what_is_of_no_kind_are_left_out_of_the_kinds():
    X = pd.DataFrame({"age": [1, 2], "name": pd.array(["a", "b"], dtype="string"), "any": np.array([1, "b"], object)})
    assert frames.kinds_of(X) == {"age": "number"}


@every_library
def test_columns_rows_and_parts_keep_the_type_of_the_frame(library):
    X = frame_of(library)
    taken = frames.take_rows(X, np.array([2, 0]))
    assert type(taken) is type(X)
    assert frames.numbers_of(frames.as_pandas(taken)["income"]).tolist() == [3.0, 1.5]
    assert frames.names_of(frames.select_columns(X, ["since", "income"])) == ["since", "income"]
    homes = [frames.values_of(column) for column in frames.columns_of(X)][1]
    assert homes[:2] == ["rent", "own"]
    assert frames.library_of(next(frames.columns_of(X))) == library
    assert isinstance(frames.as_pandas(X), pd.DataFrame)


@every_library
def test_days_since_1970_of_a_column_of_dates(library):
    days = frames.days_of(list(frames.columns_of(frame_of(library)))[2])
    assert days[:2].tolist() == [19813.0, 1.0]
    assert np.isnan(days[2])
    assert frames.date_of(days[0]) == datetime(2024, 3, 31)


@pytest.mark.parametrize("X", [np.arange(6.0).reshape(3, 2), sparse.csr_matrix(np.arange(6.0).reshape(3, 2))])
def test_arrays_have_no_names_and_no_library(X):
    assert frames.library_of(X) == ""
    assert frames.names_of(X) is frames.text_names_of(X) is None
    assert frames.kinds_of(X) == {}
    assert frames.count_rows(X) == 3
    assert [column.tolist() for column in frames.columns_of(X)] == [[0, 2, 4], [1, 3, 5]]
    taken = frames.take_rows(X, [1])
    assert np.asarray(taken.toarray() if sparse.issparse(taken) else taken).tolist() == [[2, 3]]


def test_a_sequence_is_cut_as_a_list():
    assert frames.take_rows(["a", "b", "c"], [2, 0]) == ["c", "a"]
    assert frames.count_rows(["a", "b", "c"]) == 3
    assert frames.count_rows(iter("abc")) is None
    assert frames.count_rows(np.float64(1)) is None


def test_a_lazy_frame_is_told_without_computing_it():
    X = frame_of("polars").lazy()
    assert frames.is_lazy(X)
    assert frames.count_rows(X) is None


def test_columns_of_the_same_name_are_all_there():
    X = pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"])
    assert [column.tolist() for column in frames.columns_of(X)] == [[1, 3], [2, 4]]


def test_numbered_columns_have_no_names_in_text():
    X = pd.DataFrame([[1, 2]])
    assert frames.names_of(X) == [0, 1]
    assert frames.text_names_of(X) is None
    assert frames.kinds_of(X) == {}


@pytest.mark.parametrize(
    ("dtype", "kind"),
    [
        *(
            (dtype, "number")
            for dtype in ("Int8", "uint64", "float32", "boolean", "double[pyarrow]", "decimal128(9, 2)")
        ),
        *((pd.SparseDtype(float), "number"), (np.dtype(bool), "number"), (pl.Decimal(9, 2), "number")),
        *(
            (pl.Enum(["a"]), "category"),
            (pd.CategoricalDtype(), "category"),
            (pa.dictionary("int8", "utf8"), "category"),
        ),
        *((pl.Duration(), "date"), (pd.PeriodDtype("M"), "date"), (pd.IntervalDtype(), "date"), (pa.date32(), "date")),
        *((pl.String(), "text"), (np.dtype("U5"), "text"), (pd.StringDtype(), "text"), (pa.large_string(), "text")),
        *((np.dtype(object), "other"), (pl.List(pl.Int8), "other"), (np.dtype(complex), "other")),
    ],
)
def test_the_kind_of_a_type(dtype, kind):
    assert frames.kind_of(dtype) == kind


def test_categories_have_their_order():
    column = pd.Series(pd.Categorical(["low", "high"], ["low", "high"], ordered=True))
    assert frames.categories_of(column) == ["low", "high"]
    assert frames.is_ordered(column)
    assert not frames.is_ordered(column.cat.as_unordered())
    assert frames.categories_of(np.array(["low"])) is None


def test_missing_numbers_become_nan():
    for column in (pd.Series([1, None], dtype="Int64"), pl.Series([1, None]), pa.chunked_array([[1, None]])):
        assert frames.numbers_of(column)[0] == 1
        assert np.isnan(frames.numbers_of(column)[1])


def test_the_mark_of_pandas_becomes_nan():
    X = pd.DataFrame({"word": pd.array(["a", None], dtype="string"), "number": pd.array([1, 2], dtype="Int64")})
    plain = frames.without_pandas_na(X)
    assert frames.holds_pandas_na(X["word"])
    assert not frames.holds_pandas_na(plain["word"])
    assert plain["word"].tolist()[0] == "a"
    assert plain["number"].dtype == np.float64
    values = frames.without_pandas_na(np.array([["a", pd.NA]], dtype=object))
    assert values[0, 0] == "a"
    assert np.isnan(values[0, 1])


@every_library
def test_rows_come_as_dictionaries_from_every_library(library):
    rows = frames.rows_as_dicts(frame_of(library))
    assert [row["home"] for row in rows[:2]] == ["rent", "own"]
    assert [row["income"] for row in rows[::2]] == [1.5, 3.0]
    assert [list(row) for row in rows] == [list(COLUMNS)] * 3


def test_rows_of_a_list_are_copied():
    given = [{"id": "a"}]
    frames.rows_as_dicts(given)[0]["id"] = "b"
    assert given == [{"id": "a"}]
