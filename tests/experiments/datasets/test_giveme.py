"""GiveMe from a small file in the form of Kaggle's."""

import numpy as np
import pytest

from experiments.datasets import giveme, load_giveme
from experiments.datasets.files import DataFileError
from experiments.datasets.tables import Expected

HEADER = ",".join(["", giveme.LABEL, *giveme.COLUMNS])
ROWS = [
    "1,1,0.766126609,45,2,0.802982129,9120,13,0,6,0,2",
    "2,0,0.957151019,65,0,0.121876201,2600,4,0,0,0,1",
    "3,0,0.65818014,64,1,0.085113375,NA,2,1,2,0,NA",
    "4,0,0.233809776,66,0,0.036049682,3300,5,0,1,0,0",
]


@pytest.fixture
def write(home, monkeypatch):
    monkeypatch.setattr(giveme, "EXPECTED", Expected(4, 1))

    def to_file(rows=ROWS, header=HEADER):
        (home / "cs-training.csv").write_text("\n".join([header, *rows]) + "\n")

    to_file()
    return to_file


def test_the_raw_columns_keep_missing_values_and_drop_the_number_of_the_row(write):
    data = load_giveme(features="raw")
    assert list(data.X) == list(giveme.COLUMNS)
    assert data.X.isna().sum().sum() == 2
    np.testing.assert_array_equal(data.y, [1, 0, 0, 0])
    assert data.X["DebtRatio"].tolist() == [0.802982129, 0.121876201, 0.085113375, 0.036049682]


def test_the_papers_twelve_columns_are_derived_as_documented(write):
    X = load_giveme().X
    assert X.shape == (4, 12)
    assert not {"MonthlyIncome", "NumberOfDependents"} & set(X)
    assert X["isRetired"].tolist() == [0, 1, 0, 1]
    assert X["RevolvingLines"].tolist() == [7, 4, 0, 4]
    assert X["hasRevolvingLines"].tolist() == [1, 1, 0, 1]
    assert X["hasMultipleRealEstates"].tolist() == [1, 0, 1, 0]
    assert not X.isna().any().any()


def test_how_they_are_derived_is_among_the_differences(write):
    assert any("age >= 65" in sentence for sentence in load_giveme().differences)
    assert any("leaves out MonthlyIncome" in sentence for sentence in load_giveme(features="raw").differences)


def test_without_the_file_the_error_says_where_to_get_it(home):
    with pytest.raises(FileNotFoundError) as caught:
        load_giveme()
    assert "put cs-training.csv or giveme.parquet in" in str(caught.value)
    assert "Where to get it: cs-training.csv of the Kaggle competition" in str(caught.value)
    assert str(home) in str(caught.value)
    assert "GiveMeSomeCredit" in str(caught.value)


@pytest.mark.parametrize(("number", "text"), [("1,1,", "1,Yes,"), (",45,", ",old,")])
def test_text_in_place_of_a_number_is_an_error_that_names_the_file(number, text, write):
    write([row.replace(number, text) for row in ROWS])
    with pytest.raises(DataFileError, match=rf"cs-training\.csv must be .*found ValueError.*{text[1:-1].strip(',')}"):
        load_giveme()


def test_the_unlabelled_file_is_recognised(write):
    write([row.replace(row[:4], f"{row[:2]}NA,") for row in ROWS])
    with pytest.raises(ValueError, match=r"this is cs-test\.csv; place cs-training\.csv"):
        load_giveme()


def test_another_file_is_an_error_that_names_what_is_missing(write):
    write(header=HEADER.replace("DebtRatio", "Ratio"))
    with pytest.raises(ValueError, match=r"cs-training\.csv lacks the columns DebtRatio"):
        load_giveme()


def test_a_part_of_the_file_is_an_error(write):
    write(ROWS[:3])
    with pytest.raises(ValueError, match="must hold 4 rows, found 3"):
        load_giveme()
