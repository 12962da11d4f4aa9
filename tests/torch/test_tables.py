"""Tables as tensors."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

torch = pytest.importorskip("torch", reason='needs torch: pip install "aucross[torch]"')

from aucross.torch.table_encoder import TableEncoder, TableTensors

FRAME = pd.DataFrame(
    {
        "income": [10.0, 20.0, np.nan, 30.0],
        "age": [20, 30, 40, 50],
        "home": ["own", "rent", None, "own"],
        "grade": pd.Categorical(["b", "a", "b", "a"]),
        "new": [True, False, True, False],
    }
)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_numbers_are_scaled_and_categories_coded(kind):
    frame = FRAME if kind == "pandas" else pl.from_pandas(FRAME)
    encoder = TableEncoder.fit(frame)
    numbers, codes = encoder.encode(frame)
    assert numbers.shape == (4, encoder.n_numbers) == (4, 4)
    assert numbers[:, 0] == pytest.approx([-np.sqrt(1.5), 0, 0, np.sqrt(1.5)])
    assert numbers[:, 1] == pytest.approx(np.array([-3, -1, 1, 3]) / np.sqrt(5))
    assert numbers[:, 2].tolist() == [1, -1, 1, -1]
    assert numbers[:, 3].tolist() == [0, 0, 1, 0]
    assert encoder.n_codes == [4, 3]
    assert codes[:, 1].tolist() == [2, 1, 2, 1]
    assert codes[0, 0] == codes[3, 0]
    assert len(set(codes[:, 0].tolist())) == 3


def test_unseen_categories_have_code_zero():
    encoder = TableEncoder.fit(FRAME)
    other = FRAME.assign(home="boat", grade=pd.Categorical(["c", "a", "c", "c"]))
    _, codes = encoder.encode(other)
    assert (codes[:, 0] == 0).all()
    assert codes[:, 1].tolist() == [0, 1, 0, 0]


def test_a_category_missing_for_the_first_time_is_unknown_and_one_known_to_be_missing_is_not():
    encoder = TableEncoder.fit(FRAME.dropna())
    assert encoder.encode(FRAME)[1][2, 0] == 0
    assert TableEncoder.fit(FRAME).encode(FRAME)[1][2, 0] > 0


def test_a_number_missing_for_the_first_time_counts_as_the_mean():
    encoder = TableEncoder.fit(FRAME[["age"]])
    numbers, _ = encoder.encode(pd.DataFrame({"age": [np.nan, 35.0]}))
    assert numbers.tolist() == [[0.0], [0.0]]


def test_arrays_of_objects_may_mix_numbers_and_text():
    X = np.array([[1, "x"], [2.5, "y"], [None, "x"]], dtype=object)
    encoder = TableEncoder.fit(X)
    numbers, codes = encoder.encode(X)
    assert numbers.shape == (3, 2)
    assert numbers[2].tolist() == [0, 1]
    assert codes[:, 0].tolist() == [1, 2, 1]


def test_categories_that_are_numbers_are_known_again_as_numbers():
    encoder = TableEncoder.fit(pd.DataFrame({"branch": pd.Categorical([3, 7, 3])}))
    _, codes = encoder.encode(pd.DataFrame({"branch": [7, None, 8]}))
    assert codes[:, 0].tolist() == [2, 0, 0]


def test_weights_count_in_mean_and_deviation_as_repeated_rows():
    X = np.array([[1.0], [4.0], [9.0]])
    weighted = TableEncoder.fit(X, np.array([1.0, 3.0, 2.0]))
    repeated = TableEncoder.fit(X[[0, 1, 1, 1, 2, 2]])
    assert weighted.means[0] == pytest.approx(repeated.means[0])
    assert weighted.deviations[0] == pytest.approx(repeated.deviations[0])


@pytest.mark.parametrize("values", [[3.0, 3.0, 3.0], [np.nan, np.nan, np.nan], [0.1, 0.1, 0.1]])
def test_a_constant_column_becomes_zeros(values):
    X = np.array(values)[:, None]
    numbers, _ = TableEncoder.fit(X).encode(X)
    assert numbers[:, 0] == pytest.approx([0, 0, 0])


def test_huge_values_do_not_overflow():
    X = np.array([[1e200], [-1e200], [0.0]])
    numbers, _ = TableEncoder.fit(X).encode(X)
    assert numbers[:, 0] == pytest.approx([np.sqrt(1.5), -np.sqrt(1.5), 0])


def test_dates_are_refused_with_a_remedy():
    frame = pd.DataFrame({"day": pd.to_datetime(["2026-01-01", "2026-01-02"])})
    with pytest.raises(TypeError, match=r"'day' holds dates .* days since"):
        TableEncoder.fit(frame)


def test_text_where_fit_saw_numbers_is_refused():
    encoder = TableEncoder.fit(FRAME[["age"]])
    with pytest.raises(ValueError, match="must hold numbers as in fit, got text such as 'old'"):
        encoder.encode(pd.DataFrame({"age": ["old", "young"]}))


def test_objects_that_are_no_numbers_are_refused_with_the_column():
    frame = pd.DataFrame({"paid": [pd.Timestamp("2020-01-01"), None]}, dtype=object)
    with pytest.raises(TypeError, match=r"the column 'paid' must hold numbers, text or categories, got .* Timestamp"):
        TableEncoder.fit(frame)


def test_infinity_among_objects_is_refused():
    with pytest.raises(ValueError, match="the column 'x' must not hold infinity"):
        TableEncoder.fit(pd.DataFrame({"x": [1, 2, np.inf], "y": list("abc")}, dtype=object))


def test_columns_of_one_name_are_told_apart():
    frame = pd.DataFrame([[1.0, "a"], [2.0, "b"], [4.0, "a"]], columns=["x", "x"]).infer_objects()
    numbers, codes = TableEncoder.fit(frame).encode(frame)
    assert numbers.ravel() == pytest.approx((np.array([1, 2, 4]) - 7 / 3) / np.std([1, 2, 4]))
    assert codes.tolist() == [[1], [2], [1]]


def test_yes_and_no_as_categories_are_known_again_as_plain_ones():
    encoder = TableEncoder.fit(pd.DataFrame({"paid": pd.Categorical([True, False, True])}))
    for values in ([True, False], [1, 0], [1.0, 0.0]):
        assert encoder.encode(pd.DataFrame({"paid": values}))[1].ravel().tolist() == [2, 1]


def test_infinity_is_refused():
    with pytest.raises(ValueError, match="'age' must not hold infinity"):
        TableEncoder.fit(pd.DataFrame({"age": [1.0, np.inf]}))


def test_rows_are_copied_in_the_type_of_the_precision():
    numbers = np.ones((3, 2))
    rows = TableTensors.of((numbers, np.zeros((3, 1), dtype=np.int64)), "auto")
    numbers[:] = 5
    assert rows.tensors[0].dtype == torch.float32
    assert rows.tensors[0].max() == 1
    assert len(rows.take(torch.tensor([0, 2]))) == 2
