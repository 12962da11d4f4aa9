"""Adult from small files with the quirks of the original ones."""

import numpy as np
import pytest

from experiments.datasets import adult, load_adult
from experiments.datasets.tables import Expected

# Commas with spaces, question marks for missing values, a blank last line.
TRAIN = """\
39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, Male, 2174, 0, 40, Cuba, <=50K
52, Self-emp-not-inc, 209642, HS-grad, 9, Divorced, Exec-managerial, Husband, White, Male, 0, 0, 45, Cuba, >50K
54, ?, 180211, Some-college, 10, Married-civ-spouse, ?, Husband, Asian-Pac-Islander, Male, 0, 0, 60, South, >50K
28, Private, 338409, Bachelors, 13, Married-civ-spouse, Prof-specialty, Wife, Black, Female, 0, 0, 40, Cuba, <=50K

"""
# A first line that is none, and a full stop behind each label.
TEST = """\
|1x3 Cross validator
25, Private, 226802, 11th, 7, Never-married, Machine-op-inspct, Own-child, Black, Male, 0, 0, 40, United-States, <=50K.
44, Private, 160323, Some-college, 10, Divorced, Machine-op-inspct, Husband, Black, Male, 7688, 0, 40, ?, >50K.
44, Local-gov, 160323, HS-grad, 9, Divorced, Tech-support, Husband, Black, Male, 7688, 0, 40, Trinadad&Tobago, >50K.

"""


@pytest.fixture
def files(home, monkeypatch, without_checksums):
    without_checksums(adult)
    monkeypatch.setattr(adult, "EXPECTED", (Expected(3, 1), Expected(2, 1)))
    (home / "adult.data").write_text(TRAIN)
    (home / "adult.test").write_text(TEST)


def test_rows_with_a_missing_value_are_left_out_and_both_forms_of_labels_read(files):
    data = load_adult()
    np.testing.assert_array_equal(data.y, [0, 1, 0, 0, 1])
    np.testing.assert_array_equal(data.is_test, [False, False, False, True, True])
    assert data.y.dtype == np.int64


def test_categories_hold_no_spaces_and_the_papers_columns_leave_out_four(files):
    X = load_adult().X
    assert list(X.filter(like="workclass")) == [
        *("workclass_Local-gov", "workclass_Private", "workclass_Self-emp-not-inc", "workclass_State-gov"),
    ]
    assert X["age"].tolist() == [39, 52, 28, 25, 44]
    assert not X.filter(regex="fnlwgt|race|sex|native").size
    assert {"fnlwgt", "race_Black", "sex_Male"} <= set(load_adult(features="all").X)


def test_one_hot_columns_have_names_that_lightgbm_accepts(files):
    X = load_adult(features="all").X
    assert X.loc[4, "native-country_Trinadad_Tobago"] == 1
    assert X.columns.str.fullmatch(r"[0-9A-Za-z_-]+").all()
    assert set(X.dtypes.astype(str)) == {"int64", "int8"}
    workclass = X.filter(like="workclass_")
    assert workclass.sum(axis=1).tolist() == [1] * 5


def test_what_differs_from_the_paper_is_said(files):
    assert load_adult().differences == ()
    assert len(load_adult(features="all").differences) == 1
    assert "adult.data" in load_adult().source


def test_a_file_with_fewer_rows_is_an_error(files, home):
    (home / "adult.test").write_text("\n".join(TEST.splitlines()[:2]))
    with pytest.raises(ValueError, match=r"adult\.test must hold 2 rows, found 1"):
        load_adult()


def test_other_labels_are_an_error(files, home):
    (home / "adult.data").write_text(TRAIN.replace(">50K", "<=50K"))
    with pytest.raises(ValueError, match=r"adult\.data must hold 1 positives, found 0"):
        load_adult()


def test_both_files_are_downloaded_once(monkeypatch, without_checksums, server):
    without_checksums(adult, server.address)
    monkeypatch.setattr(adult, "EXPECTED", (Expected(3, 1), Expected(2, 1)))
    server.files = {"adult.data": TRAIN.encode(), "adult.test": TEST.encode()}
    assert len(load_adult().y) == 5
    assert len(load_adult().y) == 5
    assert server.requests == ["adult.data", "adult.test"]


def test_the_addresses_and_checksums_are_those_of_the_archive():
    source = adult.SOURCES[0]
    assert [file.checksum for file in source.files] == [
        "md5:5d7c39d7b8804f071cdd1f2a7c460872",
        "md5:35238206dfdf7f1fe215bbb874adecdc",
    ]
    assert all(file.url.startswith("https://archive.ics.uci.edu/") for file in source.files)
