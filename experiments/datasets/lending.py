"""Lending: loans of LendingClub that were charged off or paid back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from experiments.datasets.dataset import Dataset
from experiments.datasets.files import DataFileError, Rows, Source, SourceFile, locate
from experiments.datasets.paper import TABLE_1
from experiments.datasets.tables import check_columns, one_hot, pop_target

NAME = "Lending"
KAGGLE_FILE = "accepted_2007_to_2018Q4.csv.gz"

# The paper's eighteen columns; fico_range stands for the middle of two columns of the source.
PAPER_COLUMNS = (
    *("loan_amnt", "int_rate", "annual_inc", "dti", "inq_last_6mths", "open_acc", "revol_bal", "revol_util"),
    *("last_pymnt_amnt", "mort_acc", "pub_rec_bankruptcies", "fico_range", "sub_grade", "purpose", "home_ownership"),
    *("verification_status", "application_type", "initial_list_status"),
)
KAGGLE_NUMBERS = (*PAPER_COLUMNS[:11], "fico_range_low", "fico_range_high")
KAGGLE_TEXT = (*PAPER_COLUMNS[12:], "loan_status", "issue_d")
# Known only when the outcome is: the paper's column in the whole file, another in that of 2007-2014.
PAYMENTS = ("last_pymnt_amnt", "total_pymnt")
ABSENT_2014 = (
    *("dti", "inq_last_6mths", "revol_bal", "revol_util", "last_pymnt_amnt", "mort_acc", "pub_rec_bankruptcies"),
    *("fico_range", "application_type", "initial_list_status"),
)

# Every status that a loan keeps, with the class.
FINAL_STATUS = {
    "Fully Paid": 0,
    "Charged Off": 1,
    "Does not meet the credit policy. Status:Fully Paid": 0,
    "Does not meet the credit policy. Status:Charged Off": 1,
}
# Far fewer final loans than the 1.3 million of the whole file mean a part of it.
FEWEST_LOANS = 1_300_000
POSITIVE_RATES = (0.19, 0.21)


def load_lending(*, payments: bool = True) -> Dataset:
    """Load Lending: which loans of LendingClub are charged off.

    The whole file of Kaggle, 2007 to 2018, has to be placed by hand; without it the loans of 2007 to 2014 are read. The
    test rows are the loans issued last: as many as the paper has in proportion, or those of 2014. Missing values stay
    missing, and in one-hot columns a missing category is a row of zeros.

    With `payments` one column stays that is known only after the outcome and nearly gives it away: ``last_pymnt_amnt``,
    which the paper uses, or in its absence (2007-2014) ``total_pymnt``. Without it the columns are what a lender knows
    on the day of the decision.

    Notes
    -----
    NOTE[DIFF]: of the whole file, loans with a final status are kept, about 1.35 million; the paper has 1.81 million
    and does not say by which rule. The test rows start in the month of issue that brings their share nearest to the
    paper's. Purposes and kinds of home ownership that the paper does not list count as other.
    """
    found = locate(NAME, SOURCES)
    rows: Rows = found.read()
    payment = next(column for column in PAYMENTS if column in rows.X)
    X = one_hot(rows.X if payments else rows.X.drop(columns=payment), drop_first=True)
    differences = (*found.source.differences, *rows.differences, *_about_payments(payments, payment))
    return Dataset(NAME, X, rows.y, rows.is_test, found.source.origin, differences)


def _about_payments(payments: bool, payment: str) -> tuple[str, ...]:
    if not payments:
        return ("The paper also uses last_pymnt_amnt, which is known only after the outcome.",)
    if payment == "last_pymnt_amnt":
        return ()
    return (f"{payment}, known only after the outcome, stands in for the paper's last_pymnt_amnt and says more.",)


def _read_2014(paths: tuple[Path, ...]) -> Rows:
    frame = pd.read_parquet(paths[0])
    return _in_time(frame, (frame.pop("issue_block") == "2014").to_numpy())


def _in_time(frame: pd.DataFrame, is_test: NDArray[np.bool_]) -> Rows:
    order = np.argsort(is_test, kind="stable")
    frame = frame.iloc[order].reset_index(drop=True)
    y = pop_target(frame)
    return Rows(frame, y, is_test[order])


def _read_kaggle(paths: tuple[Path, ...]) -> Rows:
    path = paths[0]
    needed = [*KAGGLE_NUMBERS, *KAGGLE_TEXT]
    check_columns(pd.read_csv(path, nrows=0).columns, needed, path)
    types = dict.fromkeys(KAGGLE_NUMBERS, "float64") | dict.fromkeys(KAGGLE_TEXT, "str")
    frame = pd.read_csv(path, usecols=needed, dtype=types)
    frame = _with_final_status(frame, path)
    frame["target"] = frame.pop("loan_status").map(FINAL_STATUS).astype("int64")
    _check_kaggle(frame, path)
    frame["fico_range"] = (frame.pop("fico_range_low") + frame.pop("fico_range_high")) / 2
    frame["purpose"] = frame["purpose"].replace("educational", "other")
    frame["home_ownership"] = frame["home_ownership"].replace(["ANY", "NONE"], "OTHER")
    month = pd.to_datetime(frame.pop("issue_d"), format="%b-%Y").to_numpy()
    first = _first_test_month(month)
    rows = _in_time(frame[[*PAPER_COLUMNS, "target"]], month >= first)
    said = f"The test rows are the loans issued from {np.datetime_as_string(first, unit='M')} on."
    return rows._replace(differences=(said,))


def _with_final_status(frame: pd.DataFrame, path: Path) -> pd.DataFrame:
    final = frame[frame["loan_status"].isin(list(FINAL_STATUS))].reset_index(drop=True)
    if final.empty:
        others = ", ".join(map(repr, frame["loan_status"].dropna().unique()[:5])) or "none"
        rows = f"{len(frame):,} rows (loan_status: {others})"
        raise DataFileError(path, f"must hold loans with a final status such as 'Fully Paid', found none in {rows}")
    return final


def _check_kaggle(frame: pd.DataFrame, path: Path) -> None:
    rate, (lowest, highest) = frame["target"].mean(), POSITIVE_RATES
    if len(frame) < FEWEST_LOANS or not lowest <= rate <= highest:
        needed = (
            f"at least {FEWEST_LOANS:,} loans with a final status, {lowest:.0%} to {highest:.0%} of them charged off"
        )
        raise DataFileError(path, f"must hold {needed}, found {len(frame):,} and {rate:.1%}")


def _first_test_month(month: NDArray[np.datetime64]) -> np.datetime64:
    """The month of issue from which on the share of loans is nearest to that of the paper's test rows."""
    paper = TABLE_1[NAME]
    months, counts = np.unique(month, return_counts=True)
    share = counts[::-1].cumsum()[::-1] / counts.sum()
    return months[np.argmin(np.abs(share - paper.n_test / (paper.n_train + paper.n_test)))]


SOURCES = (
    Source(
        (SourceFile(KAGGLE_FILE),),
        _read_kaggle,
        f"{KAGGLE_FILE} of the Kaggle data set 'wordsforthewise/lending-club'",
        (
            "Loans with a final status are kept, fewer than the paper's 1,810,609; its rule is not published.",
            "Purposes and kinds of home ownership that the paper does not list count as other.",
        ),
    ),
    Source(
        (SourceFile("lending.parquet", "sha256:7832a6f6e5751821b9543156e9c758173bfd3d69ca2a03e1dae85ec79ddb290f"),),
        _read_2014,
        "lending.parquet, from LendingClub's loan_data_2007_2014.csv as the package validmind 2.15.0 reduces it",
        (
            "227,214 loans issued from 2007 to 2014 instead of 1,810,609 from 2007 to 2018.",
            "Loans still open at the snapshot are absent, so late years hold only loans that closed early.",
            f"Ten of the paper's columns are absent: {', '.join(ABSENT_2014)}.",
            "The paper does not use funded_amnt_inv, term, installment, grade, emp_length and total_acc.",
            "The year of issue was derived from the order of rows; the test rows are the loans of 2014.",
        ),
    ),
)
