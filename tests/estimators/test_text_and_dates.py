"""Columns of text and dates that a model cannot read: the error names them and a remedy, and the remedy helps."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from aucross import AUCross, PlugInAUC, ScoreColumn
from aucross.datasets import make_credit
from aucross.estimators import DaysSince1970

pd = pytest.importorskip("pandas")

CREDIT, y = make_credit(600, random_state=0, return_X_y=True)
X = CREDIT[["issue_date", "age", "loan_amount", "income"]].fillna(0)
NUMBERS = X.drop(columns="issue_date")


def boosting():
    return HistGradientBoostingClassifier(max_iter=5, random_state=0)


def fitted(model=None):
    return PlugInAUC(model or boosting(), random_state=0).fit(NUMBERS, y)


# ---- dates ----


@pytest.mark.parametrize("kind", ["datetime64[ns]", "date objects", "period", "timedelta"])
def test_a_column_of_dates_is_named_with_the_remedy(kind):
    rows = X.copy()
    if kind == "date objects":
        rows["issue_date"] = [date(2020, 1, 1 + day % 28) for day in range(len(rows))]
    elif kind == "period":
        rows["issue_date"] = X["issue_date"].dt.to_period("D")
    elif kind == "timedelta":
        rows["issue_date"] = X["issue_date"] - pd.Timestamp("2000-01-01")
    message = (
        r"HistGradientBoosting\w+ must get numbers .* dates in 'issue_date' \(.*; drop dates with X.drop\(columns="
    )
    with pytest.raises(TypeError, match=message) as caught:
        PlugInAUC(boosting()).fit(rows, y)
    assert len(str(caught.value)) < 600


def test_days_since_a_date_can_be_learned_from():
    with pytest.raises(TypeError, match="the days since a date: ") as caught:
        PlugInAUC(boosting()).fit(X, y)
    remedy = str(caught.value).rpartition("the days since a date: ")[2]
    days = eval(remedy, {"pd": pd, "X": X})
    assert PlugInAUC(boosting()).fit(X.assign(issue_date=days), y).select(X.assign(issue_date=days)).any()


@pytest.mark.parametrize("form", ["%d.%m.%Y", "%m/%d/%Y", "%Y-%m-%d", "%Y/%m/%d", "%d.%m.%y %H:%M"])
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_dates_in_text_are_called_dates_and_the_remedy_has_their_format(library, form):
    pl = pytest.importorskip("polars")
    rows = X.assign(issue_date=X["issue_date"].dt.strftime(form))
    rows = pl.from_pandas(rows) if library == "polars" else rows
    with pytest.raises((TypeError, ValueError), match=r"X has dates in 'issue_date' \(.*; drop dates with ") as caught:
        PlugInAUC(boosting()).fit(rows, y)
    assert "category" not in str(caught.value)
    remedy = str(caught.value).rpartition("the days since a date: ")[2]
    if library == "polars":
        days = rows.select(eval(remedy, {"pl": pl}))["issue_date"].to_list()
    else:
        days = eval(remedy, {"pd": pd, "X": rows}).to_list()
    assert days == (X["issue_date"] - pd.Timestamp("2000-01-01")).dt.days.to_list()


def test_dates_that_can_be_read_in_two_ways_are_asked_about():
    rows = X.assign(issue_date=["03/01/2022", "04/02/2022"] * (len(X) // 2))
    with pytest.raises(ValueError, match=r"format='%d/%m/%Y'.*\(or with '%m/%d/%Y' if the month comes first\)$"):
        PlugInAUC(boosting()).fit(rows, y)


def test_days_since_1970_name_the_format_of_dates_that_are_not_iso():
    rows = pd.DataFrame({"day": ["03.01.2022", "31.01.2022", None]})
    with pytest.raises(ValueError, match=r"got '03.01.2022'.*pandas.to_datetime\(column, format='%d.%m.%Y'\)"):
        DaysSince1970().fit_transform(rows)


def test_dates_and_text_are_both_named():
    with pytest.raises(TypeError, match=r"text in 'kind' .* and dates in 'issue_date' .*category.*, and drop dates"):
        PlugInAUC(boosting()).fit(X.assign(kind="a"), y)


# ---- text in new rows ----


def with_marks(kind):
    words = pd.Series(np.where(np.arange(len(NUMBERS)) % 3 == 0, "a", "b"), dtype="string")
    words[::9] = pd.NA
    return NUMBERS.assign(kind=pd.Series(list(words), dtype=object) if kind == "object" else words.astype(kind).array)


@pytest.mark.parametrize("kind", ["string", "category"])
def test_the_remedy_for_text_with_the_na_of_pandas_works(kind):
    rows = with_marks(kind)
    with pytest.raises(
        (TypeError, ValueError), match=r"HistGradientBoosting\w+ must get .* 'kind' \(.*; pass X\."
    ) as caught:
        PlugInAUC(boosting()).fit(rows, y)
    categories = eval(str(caught.value).rpartition("; pass ")[2], {"X": rows, "object": object})
    assert PlugInAUC(boosting(), random_state=0).fit(categories, y).select(categories).any()


@pytest.mark.parametrize("kind", ["string", "category", "object"])
def test_an_encoder_that_meets_the_na_of_pandas_names_the_column_and_a_remedy_that_works(kind):
    rows = with_marks(kind)
    encode = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["kind"]), remainder="passthrough")
    model = make_pipeline(encode, boosting())
    message = r"must get missing values as NaN, and X has pandas' NA in 'kind' \(.*; pass X\.astype"
    with pytest.raises(TypeError, match=message) as caught:
        PlugInAUC(model).fit(rows, y)
    categories = eval(str(caught.value).rpartition("; pass ")[2], {"X": rows, "object": object})
    assert PlugInAUC(model, random_state=0).fit(categories, y).select(categories).any()


def test_numbers_that_come_as_text_in_new_rows_are_turned_back_into_numbers():
    clf = fitted(pytest.importorskip("lightgbm").LGBMClassifier(n_estimators=3, n_jobs=1, verbose=-1))
    rows = NUMBERS.astype({"age": str})
    with pytest.raises(
        ValueError, match=r"\(\w+\): [^;]*[^.;]; the fit had numbers there: pass pd.to_numeric\(X\['age"
    ):
        clf.select(rows)
    remedied = rows.assign(age=pd.to_numeric(rows["age"]))
    np.testing.assert_array_equal(clf.select(remedied), clf.select(NUMBERS))


def test_text_in_new_rows_that_is_no_number_gets_the_type_of_the_fit():
    rows = NUMBERS.astype({"age": str})
    rows.loc[0, "age"] = "n.a."
    message = r"type that it had in the fit: pd.to_numeric\(X\['age'\]\) if .* X\['age'\].astype\(X_fit\['age"
    with pytest.raises(ValueError, match=message):
        fitted().select(rows)


@pytest.mark.parametrize("wrap", [lambda model: model, lambda model: FixedThresholdClassifier(model, threshold=0.3)])
def test_a_score_column_speaks_for_itself(wrap):
    rows = NUMBERS.assign(segment="retail", kind="b")
    with pytest.raises(ValueError, match=r"the column 'segment' must hold numbers: .*; name another column$"):
        AUCross(wrap(ScoreColumn("segment"))).fit(rows, y)
