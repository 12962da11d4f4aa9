"""Coverage in weight, bands per group and dates, from a table to decisions and to Python."""

import datetime as dt
import json

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from aucross.cli.app import run
from aucross.datasets import make_credit
from aucross.deploy import load
from aucross.estimators import DaysSince1970

FIT = ["--target", "default", "--coverage", "0.8", "--no-report"]


@pytest.fixture(scope="module")
def loans():
    columns = ["region", "income", "age", "debt_to_income", "loan_amount", "issue_date", "default"]
    return make_credit(1500).frame[columns]


def fitted(folder, loans, *options, base="hgb", method="plugin-auc"):
    loans.to_csv(folder / "loans.csv", index=False)
    command = ["fit", str(folder / "loans.csv"), *FIT, "--base", base, "--method", method]
    command += ["--out", str(folder / "m.aucross"), *options]
    assert run([*command, "--quiet"]) == 0
    return folder / "m.aucross"


def predicted(capsys, model, table, out, *options):
    capsys.readouterr()
    assert run(["predict", str(model), str(table), "--out", str(out), "--json", *options]) == 0
    return json.loads(capsys.readouterr().out), pd.read_csv(out)


# ---- weights ----


@pytest.mark.parametrize("options", [(), ("--recalibrate",), ("--capacity", "100")])
def test_the_coverage_of_a_weighted_model_is_told_in_weight(loans, tmp_path, capsys, options):
    model = fitted(tmp_path, loans.drop(columns="issue_date"), "--weight", "loan_amount")
    said, decisions = predicted(capsys, model, tmp_path / "loans.csv", tmp_path / "d.csv", *options)
    automatic = (decisions["decision"] == "automatic").to_numpy()
    wanted = np.average(automatic, weights=loans["loan_amount"])
    assert said["coverage_of_weight"] == pytest.approx(wanted)
    assert said["coverage"] == automatic.mean()
    assert said["coverage_of_weight"] != said["coverage"]


def test_bands_placed_anew_have_the_coverage_in_weight(loans, tmp_path, capsys):
    model = fitted(tmp_path, loans.drop(columns="issue_date"), "--weight", "loan_amount")
    said, _ = predicted(capsys, model, tmp_path / "loans.csv", tmp_path / "d.csv", "--recalibrate")
    assert said["coverage_of_weight"] == pytest.approx(0.8, abs=0.01)


def test_the_words_name_the_column_of_weights_or_say_that_it_is_missing(loans, tmp_path, capsys):
    model = fitted(tmp_path, loans.drop(columns="issue_date"), "--weight", "loan_amount")
    command = ["predict", str(model), str(tmp_path / "loans.csv"), "--out", str(tmp_path / "d.csv")]
    assert run(command) == 0
    assert " of loan_amount, " in capsys.readouterr().out
    loans.drop(columns="loan_amount").to_csv(tmp_path / "loans.csv", index=False)
    assert run(command) == 0
    captured = capsys.readouterr()
    assert "no column 'loan_amount' of weights: the coverage counts rows" in captured.out + captured.err


# ---- groups ----

GROUPED = {"base": "logistic", "method": "aucross"}


def test_each_group_gets_the_coverage(loans, tmp_path, capsys):
    model = fitted(tmp_path, loans.drop(columns="issue_date"), "--band-group", "region", "--by", "region", **GROUPED)
    _, decisions = predicted(capsys, model, tmp_path / "loans.csv", tmp_path / "d.csv")
    by_file = (decisions["decision"] == "automatic").to_numpy()
    clf = load(model)
    features = loans.drop(columns=["issue_date", "default"])
    by_clf = clf.select(features, band_groups=loans["region"].astype(str).to_numpy())
    assert set(clf.band_rule_.group_labels) == set(loans["region"])
    assert np.array_equal(by_file, by_clf)
    _, reviewed = predicted(capsys, model, tmp_path / "loans.csv", tmp_path / "d.csv", "--capacity", "150")
    assert (reviewed["decision"] == "review").sum() == 150


def test_groups_need_not_be_features_and_can_be_reported(loans, tmp_path, capsys):
    rows = loans.drop(columns="issue_date")
    model = fitted(tmp_path, rows, "--band-group", "region", "--drop", "region", **GROUPED)
    assert "region" not in load(model).feature_names_in_
    fresh = make_credit(800, random_state=1).frame[rows.columns]
    fresh.to_csv(tmp_path / "new.csv", index=False)
    assert run(["evaluate", str(model), str(tmp_path / "new.csv"), "--quiet"]) == 0
    assert run(["report", str(model), str(tmp_path / "new.csv"), "--out", str(tmp_path / "r.html"), "--quiet"]) == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows.drop(columns="region"), "has no column 'region', whose groups have bands of their own"),
        (lambda rows: rows.assign(region="atlantis"), "must hold groups that were seen at the fit, got 'atlantis'"),
        (lambda rows: rows.assign(region=None), "--band-group: column 'region' has 1,?500 rows without a value"),
    ],
)
def test_rows_without_a_band_are_refused(loans, tmp_path, capsys, change, message):
    rows = loans.drop(columns="issue_date")
    model = fitted(tmp_path, rows, "--band-group", "region", "--drop", "region", **GROUPED)
    change(rows).to_csv(tmp_path / "new.csv", index=False)
    assert run(["predict", str(model), str(tmp_path / "new.csv"), "--out", str(tmp_path / "d.csv")]) == 1
    import re  # noqa: PLC0415

    assert re.search(message, capsys.readouterr().err)


# ---- dates ----


@pytest.mark.parametrize("base", ["hgb", "logistic", "lightgbm", "xgboost", "forest"])
def test_a_model_of_a_table_with_dates_takes_dates_in_python(base, loans, tmp_path, capsys):
    model = fitted(tmp_path, loans, base=base)
    _, decisions = predicted(capsys, model, tmp_path / "loans.csv", tmp_path / "d.csv")
    clf, features = load(model), loans.drop(columns="default")
    assert features["issue_date"].dtype.kind == "M"
    for given in (features, features.astype({"issue_date": "str"})):
        assert np.array_equal(clf.select(given), decisions["decision"] == "automatic")
        assert np.allclose(clf.predict_proba(given)[:, 1], decisions["score"])


@pytest.mark.parametrize(
    "values",
    [
        pd.to_datetime(["1970-01-02 00:00", "1970-01-03 12:00", None]).to_series(),
        pd.to_datetime(["1970-01-02 00:00", "1970-01-03 12:00", None])
        .tz_localize("UTC")
        .tz_convert("Asia/Tokyo")
        .to_series(),
        pd.Series(["1970-01-02", "1970-01-03T12:00", None]),
        pd.Series(["1970-01-02Z", " 1970-01-03T12:00:00Z", ""], dtype=object),
        pd.Series([dt.date(1970, 1, 2), dt.datetime(1970, 1, 3, 12), None], dtype=object),
        pd.Series([1.0, 2.5, np.nan]),
    ],
)
def test_dates_of_any_kind_are_days(values):
    days = DaysSince1970().fit_transform(
        pd.DataFrame({"date": values.to_numpy() if values.dtype == object else values})
    )
    assert np.array_equal(days, [[1.0], [2.5], [np.nan]], equal_nan=True)


def test_what_is_no_date_is_refused():
    with pytest.raises(ValueError, match="columns of dates must hold dates such as 2024-03-31, or days since 1970"):
        DaysSince1970().fit_transform(pd.DataFrame({"date": ["soon"]}))


# ---- missing values ----


def test_the_logistic_base_sees_what_is_missing(tmp_path, capsys):
    rng = np.random.default_rng(0)
    y = rng.random(1000) < 0.3
    rows = pd.DataFrame({"x": np.where(rng.random(1000) < np.where(y, 0.8, 0.1), np.nan, rng.normal(size=1000))})
    model = fitted(tmp_path, rows.assign(default=y.astype(int)), base="logistic")
    clf = load(model)
    assert isinstance(clf.estimator_[-1], LogisticRegression)
    assert clf.estimator_[-1].coef_.shape == (1, 2)
    score = clf.predict_proba(rows)[:, 1]
    assert score[rows["x"].isna()].min() > score[rows["x"].notna()].max()
