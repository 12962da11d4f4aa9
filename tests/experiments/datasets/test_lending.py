"""Lending from small files: those of the data folder and Kaggle's."""

import gzip

import numpy as np
import pandas as pd
import pytest

from experiments.datasets import lending, load_lending
from experiments.datasets.files import DataFileError

SUB_GRADES = [f"{grade}{number}" for grade in "ABCDEFG" for number in range(1, 6)]
PURPOSES = [
    *("car", "credit_card", "debt_consolidation", "educational", "home_improvement", "house", "major_purchase"),
    *("medical", "moving", "other", "renewable_energy", "small_business", "vacation", "wedding"),
]
STATUSES = ["Fully Paid", "Fully Paid", "Charged Off", "Fully Paid", "Current"]
N = 120


def take(values, n=N):
    return [values[row % len(values)] for row in range(n)]


def kaggle(n=N) -> pd.DataFrame:
    months = pd.date_range("2015-01-01", periods=20, freq="MS").strftime("%b-%Y")
    frame = pd.DataFrame({column: np.arange(n) % 17 + 0.5 for column in lending.KAGGLE_NUMBERS})
    return frame.assign(
        id=np.arange(n),
        fico_range_low=700.0,
        fico_range_high=704.0,
        sub_grade=take(SUB_GRADES),
        purpose=take(PURPOSES),
        home_ownership=take(["RENT", "OWN", "MORTGAGE", "ANY", "NONE", "OTHER"]),
        verification_status=take(["Verified", "Not Verified", "Source Verified"]),
        application_type=take(["Individual", "Individual", "Joint App"]),
        initial_list_status=take(["w", "f"]),
        # Shifted after each round of sub-grades, so that every one has loans with a final status.
        loan_status=[STATUSES[(row + row // 35) % 5] for row in range(n)],
        issue_d=[months[row * 20 // n] for row in reversed(range(n))],
    )


@pytest.fixture
def write_kaggle(home, monkeypatch):
    monkeypatch.setattr(lending, "FEWEST_LOANS", 50)
    monkeypatch.setattr(lending, "POSITIVE_RATES", (0.2, 0.3))

    def to_file(frame):
        with gzip.open(home / lending.KAGGLE_FILE, "wt") as file:
            frame.to_csv(file, index=False)

    to_file(kaggle())
    return to_file


@pytest.fixture
def copy_of_2014(home, without_checksums):
    without_checksums(lending)
    n = 12
    columns = {
        "loan_amnt": np.arange(n),
        "grade": take(["A", "B", "C"], n),
        "emp_length": take(["< 1 year", "1 year", None], n),
        "total_pymnt": np.arange(n) / 2,
        "target": take([0, 0, 1], n),
    }
    blocks = ["2014"] * 3 + ["2007-2011"] * 4 + ["2012-2013"] * 5
    pd.DataFrame(columns | {"issue_block": blocks}).to_parquet(home / "lending.parquet")


# ---- the whole file ----


def test_loans_with_a_final_status_are_kept(write_kaggle):
    data = load_lending()
    assert len(data.y) == 96
    assert data.y.sum() == 24


def test_one_hot_columns_are_the_papers_65(write_kaggle):
    X = load_lending().X
    assert X.shape[1] == 65
    for column in ("sub_grade_A2", "home_ownership_OTHER", "verification_status_Source_Verified"):
        assert column in X
    for column in ("sub_grade_A1", "purpose_educational", "home_ownership_ANY", "home_ownership_MORTGAGE"):
        assert column not in X


def test_the_score_is_the_middle_of_its_range(write_kaggle):
    assert set(load_lending().X["fico_range"]) == {702.0}


def test_the_last_loans_test_and_their_share_is_nearest_to_the_papers(write_kaggle):
    data = load_lending()
    assert data.is_test.mean() == pytest.approx(445_912 / 1_810_609, abs=0.03)
    assert data.is_test.tolist() == sorted(data.is_test.tolist())
    assert any("issued from 2016-04 on" in sentence for sentence in data.differences)


def test_rows_keep_their_labels_when_the_test_rows_are_put_last(write_kaggle):
    frame = kaggle()
    frame["revol_bal"] = np.arange(N) * 1.0
    write_kaggle(frame)
    data = load_lending()
    rows = data.X["revol_bal"].astype(int)
    np.testing.assert_array_equal(data.y, (frame["loan_status"].iloc[rows] == "Charged Off").astype(int))


def test_the_payment_known_after_the_outcome_can_be_left_out(write_kaggle):
    data = load_lending(payments=False)
    assert "last_pymnt_amnt" in load_lending().X
    assert "last_pymnt_amnt" not in data.X
    assert data.X.shape[1] == 64
    assert any("known only after the outcome" in sentence for sentence in data.differences)


def test_loans_of_the_older_credit_policy_count(write_kaggle):
    frame = kaggle()
    policy = "Does not meet the credit policy. Status:"
    frame.loc[0, "loan_status"] = f"{policy}Charged Off"
    frame.loc[1, "loan_status"] = f"{policy}Fully Paid"
    write_kaggle(frame)
    assert load_lending().y.sum() == 25


def test_a_part_of_the_file_is_an_error(write_kaggle):
    write_kaggle(kaggle().iloc[:50])
    with pytest.raises(ValueError, match=r"at least 50 loans with a final status.*found 40 and 25"):
        load_lending()


def test_missing_columns_and_text_in_numbers_are_errors(write_kaggle):
    write_kaggle(kaggle().drop(columns="dti"))
    with pytest.raises(ValueError, match="lacks the columns dti"):
        load_lending()
    write_kaggle(kaggle().assign(int_rate="13.5%"))
    with pytest.raises(ValueError, match=r"accepted_2007_to_2018Q4\.csv\.gz must be .*found ValueError: .*13\.5%"):
        load_lending()


def test_without_any_final_status_the_error_names_those_there_are(write_kaggle):
    write_kaggle(kaggle().assign(loan_status="Current"))
    with pytest.raises(DataFileError, match=r"found none in 120 rows \(loan_status: 'Current'\); replace it"):
        load_lending()
    write_kaggle(kaggle().iloc[:0])
    with pytest.raises(DataFileError, match=r"found none in 0 rows \(loan_status: none\)"):
        load_lending()


# ---- the loans of 2007 to 2014 ----


def test_the_loans_of_2014_test(copy_of_2014):
    data = load_lending()
    assert data.X["loan_amnt"].tolist() == [*range(3, 12), 0, 1, 2]
    np.testing.assert_array_equal(data.y, data.X["loan_amnt"] % 3 == 2)
    assert data.is_test.sum() == 3
    assert not data.X.filter(like="issue_block").size


def test_another_payment_stands_in_for_the_papers(copy_of_2014):
    assert "total_pymnt" in load_lending().X
    assert "total_pymnt" not in load_lending(payments=False).X


def test_a_missing_category_differs_from_every_other_one(copy_of_2014):
    X = load_lending().X.filter(like="emp_length")
    assert list(X) == ["emp_length_1_year", "emp_length___1_year"]
    assert (X.sum(axis=1) == 0).sum() == 4


def test_the_whole_file_is_preferred_in_whichever_folder_it_is(copy_of_2014, write_kaggle, home, tmp_path, monkeypatch):
    given = tmp_path / "given"
    given.mkdir()
    monkeypatch.setenv("AUCROSS_DATA", str(given))
    (home / "lending.parquet").rename(given / "lending.parquet")
    assert len(load_lending().y) == 96
    (home / lending.KAGGLE_FILE).unlink()
    assert len(load_lending().y) == 12


def test_without_a_file_the_error_names_both(home):
    with pytest.raises(FileNotFoundError, match=r"put accepted_2007_to_2018Q4\.csv\.gz or lending\.parquet in"):
        load_lending()
