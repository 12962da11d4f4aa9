"""CSDS from small files of the expected form."""

import numpy as np
import pandas as pd
import pytest

from experiments.datasets import TABLE_1, PaperFigures, load_csds
from experiments.datasets.files import DataFileError


@pytest.fixture
def frame(monkeypatch) -> pd.DataFrame:
    """Forty rows in a random order; a quarter of the last ten is positive."""
    monkeypatch.setitem(TABLE_1, "CSDS2", PaperFigures("3", 30, 10, 0.3))
    days = pd.date_range("2019-01-01", periods=40).strftime("%Y-%m-%d")
    table = pd.DataFrame({"timestamp": days, "V1": np.arange(40), "V2": ["a", "b"] * 20, "target": 0})
    table.loc[[2, 5, 31, 35, 39], "target"] = 1
    return table.sample(frac=1, random_state=0)


def test_the_latest_rows_test(frame, home):
    frame.to_csv(home / "CSDS2.csv", index=False)
    data = load_csds(2)
    assert data.name == "CSDS2"
    assert data.X["V1"].tolist() == list(range(40))
    np.testing.assert_array_equal(np.flatnonzero(data.y), [2, 5, 31, 35, 39])
    np.testing.assert_array_equal(np.flatnonzero(data.is_test), range(30, 40))
    assert list(data.X) == ["V1", "V2_a", "V2_b"]
    assert data.differences == ()


def test_parquet_is_read_too_and_another_number_of_features_is_said(frame, home):
    frame.drop(columns="V2").to_parquet(home / "CSDS2.parquet")
    data = load_csds(2)
    assert list(data.X) == ["V1"]
    assert data.differences == ("1 features; the paper has 3.",)


@pytest.mark.parametrize("column", ["target", "timestamp"])
def test_the_columns_that_are_needed_are_named(column, frame, home):
    frame.drop(columns=column).to_csv(home / "CSDS2.csv", index=False)
    with pytest.raises(ValueError, match=f"lacks the columns {column}"):
        load_csds(2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda frame: frame.iloc[:-1], "must hold 40 rows, .*, found 39"),
        (lambda frame: frame.assign(target=frame["target"] + 1), "must hold 0 or 1 in the column target, found"),
        (lambda frame: frame.assign(target=1 - frame["target"]), r"positive rate of 0\.3 in .*found 0\.7000"),
        (lambda frame: frame.assign(timestamp="2019-01"), "found 2019-01 on both sides"),
        (lambda frame: frame.assign(timestamp=frame["timestamp"].where(frame["V1"] > 0)), "no missing values"),
    ],
)
def test_another_file_is_an_error_that_says_what_is_wrong(change, message, frame, home):
    change(frame).to_csv(home / "CSDS2.csv", index=False)
    with pytest.raises(ValueError, match=message):
        load_csds(2)


@pytest.mark.parametrize("labels", [["yes", 1, 0.5, None], ["yes", "no"], [0, 1, 2]])
def test_labels_of_any_kind_but_0_and_1_are_named(labels, frame, home):
    frame.assign(target=(labels * 40)[:40]).to_csv(home / "CSDS2.csv", index=False)
    with pytest.raises(DataFileError, match=r"CSDS2\.csv must hold 0 or 1 in the column target, found"):
        load_csds(2)


def test_timestamps_that_do_not_sort_are_an_error(frame, home, monkeypatch):
    mixed = frame.assign(timestamp=[*range(20), *frame["timestamp"].iloc[20:]])
    monkeypatch.setattr(pd, "read_csv", lambda _: mixed)
    (home / "CSDS2.csv").touch()
    with pytest.raises(DataFileError, match=r"CSDS2\.csv must be .*\(Barddal.*found ") as caught:
        load_csds(2)
    assert isinstance(caught.value.__cause__, TypeError)


def test_without_a_file_the_error_says_whom_to_ask(home):
    with pytest.raises(FileNotFoundError, match=r"put CSDS1\.parquet or CSDS1\.csv in .*Barddal") as caught:
        load_csds(1)
    assert str(home) in str(caught.value)


def test_the_sizes_are_those_of_table_1(frame, home):
    frame.to_csv(home / "CSDS3.csv", index=False)
    with pytest.raises(ValueError, match="must hold 94,465 rows"):
        load_csds(3)
