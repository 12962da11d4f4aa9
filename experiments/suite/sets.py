"""The data sets of the suite: which columns are features, and which say time and customer.

The files lie in the folder ``suite`` of the data folder, one Parquet file each, with the class in ``target``. Their
README says what each column is; what is no feature is named here. The paper's tables come from their own loaders.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from numpy.typing import NDArray

from experiments import protocol
from experiments.datasets.files import data_folder
from experiments.datasets.tables import TARGET, check_labels, pop_target

FOLDER = "suite"
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


@dataclass(frozen=True, eq=False, repr=False)
class SuiteSet:
    """Rows that any family of models can be given.

    Attributes
    ----------
    name : str
        Name in tables.
    X : DataFrame
        Features: numbers, with NaN where one is missing, and categories.
    y : ndarray of shape (n,), int64
        1 for the positive class.
    groups : ndarray of shape (n,) or None
        Who a row belongs to, where one customer has several rows: all of them train or all of them test.
    earlier, later : ndarray of row numbers, or None
        The rows before and after the cut in time, where the set has time.
    """

    name: str
    X: pd.DataFrame
    y: NDArray[np.int64]
    groups: NDArray[np.int64] | None = None
    earlier: NDArray[np.intp] | None = None
    later: NDArray[np.intp] | None = None

    @property
    def kind(self) -> str:
        """How it is split: "time", "groups" or "random"."""
        if self.later is not None:
            return "time"
        return "random" if self.groups is None else "groups"


@dataclass(frozen=True)
class Columns:
    """What is special about the columns of one file.

    Attributes
    ----------
    dropped : tuple of str
        No features: identifiers, weights, what is known only later, other models' scores.
    numbers : tuple of str
        Numbers that the file holds as text; a line that holds something else there is no row.
    group : str, optional
        The customer; no feature either.
    order : callable, optional
        From the rows to keys that sort them by time.
    cut : callable, optional
        From the rows to the two sides of the cut, as masks; by default the last quarter in time is later.
    """

    dropped: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    group: str | None = None
    order: Callable[[pd.DataFrame], Sequence[NDArray[np.float64]]] | None = None
    cut: Callable[[pd.DataFrame], tuple[NDArray[np.bool_], NDArray[np.bool_]]] | None = None


def _row_order(frame: pd.DataFrame) -> Sequence[NDArray[np.float64]]:
    return [np.arange(len(frame), dtype=float)]


def by_columns(*columns: str) -> Callable[[pd.DataFrame], Sequence[NDArray[np.float64]]]:
    """Sort by these columns, the first counts most; months by their English names."""
    return lambda frame: [_in_time(frame[column]) for column in columns]


def _in_time(column: pd.Series) -> NDArray[np.float64]:
    if pd.api.types.is_numeric_dtype(column):
        return column.to_numpy(dtype=float)
    months = {month: number for number, month in enumerate(MONTHS)}
    known = column.dropna().astype("str").str[:3]
    if known.isin(list(months)).all():
        return known.map(months).reindex(column.index).to_numpy(dtype=float)
    return pd.to_datetime(column).astype("int64").to_numpy(dtype=float)


def _handbook_weeks(frame: pd.DataFrame) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """The handbook's own split: 25 to 31 July trains, 8 to 14 August tests, the week between waits for the labels."""
    day = pd.to_datetime(frame["TX_DATETIME"])
    return (day < "2018-08-01").to_numpy(), (day >= "2018-08-08").to_numpy()


COLUMNS: Mapping[str, Columns] = {
    # prediction and part belong to the deployed model and its tutorial, as the columns that the README names.
    "acs_ma_employment": Columns(
        ("id", "year", "prediction", "predicted_probability", "part"), order=lambda frame: [_in_time(frame["year"])]
    ),
    "ai4i2020": Columns(),
    # The first line holds descriptions of the columns.
    "bank_churners": Columns(
        numbers=(
            *(
                "Customer_Age",
                "Dependent_count",
                "Months_on_book",
                "Total_Relationship_Count",
                "Months_Inactive_12_mon",
            ),
            *("Contacts_Count_12_mon", "Credit_Limit", "Total_Revolving_Bal", "Avg_Open_To_Buy", "Total_Trans_Amt"),
            *("Total_Amt_Chng_Q4_Q1", "Total_Trans_Ct", "Total_Ct_Chng_Q4_Q1", "Avg_Utilization_Ratio"),
        )
    ),
    "bank_marketing": Columns(("duration",), order=_row_order),
    "cardio": Columns(),
    "compas": Columns(),
    "credit_risk": Columns(),
    "diabetes130": Columns(group="patient_nbr"),
    "diabetes_brfss2015": Columns(),
    "dutch_census": Columns(),
    "elec2": Columns(order=_row_order),
    "framingham_chd": Columns(),
    "fraud_handbook_3w": Columns(
        ("TX_DATETIME", "CUSTOMER_ID", "TERMINAL_ID", "TX_TIME_DAYS"),
        cut=_handbook_weeks,
        order=by_columns("TX_DATETIME"),
    ),
    "german_credit": Columns(),
    "heart_brfss2020": Columns(),
    "heloc": Columns(),
    "hmeq": Columns(),
    "home_credit": Columns(("SK_ID_CURR",)),
    # The year of arrival is the time of the split, and no model has seen the next one.
    "hotel_cancel": Columns(
        ("arrival_date_year",), order=by_columns("arrival_date_year", "arrival_date_month", "arrival_date_day_of_month")
    ),
    "hr_job_change": Columns(),
    "law_school_bar": Columns(),
    "magic": Columns(),
    "medical_no_show": Columns(("AppointmentDay",)),
    "nannyml_car_loan": Columns(("id", "timestamp", "y_pred", "y_pred_proba", "part"), order=by_columns("timestamp")),
    "nass_cds_crash": Columns(("weight",)),
    "ne_weather": Columns(order=_row_order),
    "online_shoppers": Columns(),
    "oulad": Columns(),
    "polish_bankruptcy_1y": Columns(),
    "polish_bankruptcy_5y": Columns(),
    "stroke": Columns(),
    "support2_6m_with_physicians": Columns(("surv2m", "surv6m", "prg2m", "prg6m")),
    "support2_hospdead": Columns(),
    "telco_churn": Columns(),
    "vehicle_insurance_fraud": Columns(("Year",), order=by_columns("Year", "Month", "WeekOfMonth")),
}
# The paper's own tables. Lending without the column that is known only after the outcome.
PAPER = ("Adult", "GiveMe", "UCICredit", "Lending (application)")
NAMES = (*COLUMNS, *PAPER)
LATER_SHARE = 0.25


@cache
def load(name: str) -> SuiteSet:
    """Read one set; a process keeps it, all of them take half a gigabyte."""
    return _of_paper(name) if name in PAPER else read_set(name, file_of(name), COLUMNS[name])


def described(name: str) -> tuple[str, int]:
    """How a set is split and how many rows its file has, without reading them."""
    if name in PAPER:
        return load(name).kind, len(load(name).y)
    columns = COLUMNS[name]
    in_time = columns.order is not None or columns.cut is not None
    kind = "time" if in_time else "random" if columns.group is None else "groups"
    return kind, pq.read_metadata(file_of(name)).num_rows


def check_there(name: str) -> None:
    """Say where the rows of a set belong, if they are not there."""
    if name in PAPER:
        load(name)
    elif not file_of(name).is_file():
        raise FileNotFoundError(f"no rows of {name}: put {file_of(name).name} in {file_of(name).parent}")


def file_of(name: str) -> Path:
    """Where the rows of a set lie."""
    folder = data_folder()
    if folder is None:
        raise FileNotFoundError("AUCROSS_DATA must name the folder that holds suite/, with one Parquet file per set")
    return folder / FOLDER / f"{name}.parquet"


def read_set(name: str, path: Path, columns: Columns) -> SuiteSet:
    """Read a file, keep the features and make categories of text."""
    frame = _with_numbers(pd.read_parquet(path), columns.numbers)
    check_labels(frame[TARGET], path)
    y = pop_target(frame)
    groups = None if columns.group is None else pd.factorize(frame[columns.group])[0].astype(np.int64)
    earlier, later = _sides(frame, columns)
    no_features = [*columns.dropped, *([columns.group] if columns.group else [])]
    return SuiteSet(name, as_features(frame.drop(columns=no_features)), y, groups, earlier, later)


def as_features(frame: pd.DataFrame) -> pd.DataFrame:
    """Numbers as floats and text as categories, under names that every library accepts."""
    X = pd.DataFrame({column: _as_feature(frame[column]) for column in frame}, index=frame.index)
    X.columns = X.columns.astype("str").str.replace(r"[^0-9A-Za-z_-]", "_", regex=True)
    if not X.columns.is_unique:
        raise ValueError(f"columns must keep different names, got {X.columns[X.columns.duplicated()].tolist()} twice")
    return X


def _as_feature(column: pd.Series) -> pd.Series:
    if pd.api.types.is_numeric_dtype(column):
        return column.astype("float64").replace([np.inf, -np.inf], np.nan)
    text = column.astype("str").where(column.notna())
    return text.astype(pd.CategoricalDtype(sorted(text.dropna().unique())))


def _with_numbers(frame: pd.DataFrame, numbers: tuple[str, ...]) -> pd.DataFrame:
    """Turn text into numbers, and leave out lines where that cannot be done."""
    if not numbers:
        return frame
    read = frame.assign(**{column: pd.to_numeric(frame[column], errors="coerce") for column in numbers})
    no_row = (read[[*numbers]].isna() & frame[[*numbers]].notna()).any(axis=1)
    return read[~no_row].reset_index(drop=True)


def _sides(frame: pd.DataFrame, columns: Columns) -> tuple[NDArray[np.intp], NDArray[np.intp]] | tuple[None, None]:
    """Row numbers before and after the cut in time."""
    if columns.cut is not None:
        before, after = columns.cut(frame)
        return np.flatnonzero(before), np.flatnonzero(after)
    if columns.order is None:
        return None, None
    keys = columns.order(frame)
    in_time = np.lexsort(tuple(reversed([np.asarray(key) for key in keys])))
    n_later = round(LATER_SHARE * len(frame))
    return in_time[:-n_later], in_time[-n_later:]


def _of_paper(name: str) -> SuiteSet:
    dataset = protocol.load(name)
    X = as_features(dataset.X.reset_index(drop=True))
    in_time = name.startswith("Lending") and dataset.is_test is not None
    if not in_time:
        return SuiteSet(name, X, dataset.y)
    return SuiteSet(name, X, dataset.y, None, np.flatnonzero(~dataset.is_test), np.flatnonzero(dataset.is_test))
