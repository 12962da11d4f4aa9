"""Coverage in weight, bands per group and dates, from a table to decisions and to Python."""

import datetime as dt
import json

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from aucross import evaluate_selective
from aucross.cli.app import run
from aucross.datasets import make_credit
from aucross.estimators import DaysSince1970
from aucross.evaluation import evaluate_groups, promise_selective
from aucross.files import load
from aucross.files.model_file import read_metadata
from aucross.report import render_markdown
from tests.cli.commands import aucross

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
        pd.Series(["1970-01-02T02:00+02:00", "1970-01-03 10:00:00-0200", None], dtype=object),
        pd.Series([dt.date(1970, 1, 2), dt.datetime(1970, 1, 3, 12), None], dtype=object),
        pd.Series([1.0, 2.5, np.nan]),
    ],
)
def test_dates_of_any_kind_are_days(values):
    days = DaysSince1970().fit_transform(
        pd.DataFrame({"date": values.to_numpy() if values.dtype == object else values})
    )
    assert np.array_equal(days, [[1.0], [2.5], [np.nan]], equal_nan=True)


@pytest.mark.parametrize("text", ["soon", "20190331", "2024", "0", "9999-12-31T23:59:59-23:59"])
def test_what_is_no_date_is_refused(text):
    with pytest.raises(ValueError, match="columns of dates must hold dates such as 2024-03-31, or days since 1970"):
        DaysSince1970().fit_transform(pd.DataFrame({"date": [text]}))


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


# ---- rows of one customer ----

CUSTOMERS = ["--target", "default", "--coverage", "0.8", "--base", "logistic", "--customer", "person"]


@pytest.fixture(scope="module")
def customers(tmp_path_factory):
    """Five rows of each of 300 people, alike within a person, and a model that was told so."""
    folder = tmp_path_factory.mktemp("customers")
    for seed, name in enumerate(("old.csv", "new.csv")):
        rng = np.random.default_rng(seed)
        person = np.repeat(np.arange(300), 5)
        risk = rng.normal(size=300)[person]
        rows = pd.DataFrame({"person": person, "debt": risk + rng.normal(0, 0.3, 1500), "age": rng.normal(size=1500)})
        rows["default"] = (risk + rng.normal(size=300)[person] > 0.8).astype(int)
        rows["region"] = np.where(person % 2, "north", "south")
        rows.to_csv(folder / name, index=False)
    command = ["fit", str(folder / "old.csv"), *CUSTOMERS, "--drop", "region", "--out", str(folder / "m.aucross")]
    assert run([*command, "--report", str(folder / "m.json"), "--quiet"]) == 0
    return folder


def documents(capsys, *command):
    capsys.readouterr()
    assert run([str(part) for part in (*command, "--json")]) == 0
    return json.loads(capsys.readouterr().out)


def at(rows, coverage=0.8):
    return next(row for row in rows if row["target_coverage"] == coverage)


def people_in(folder):
    rows = pd.read_csv(folder / "new.csv")
    return load(folder / "m.aucross"), rows[["debt", "age"]], rows["default"], rows["person"].astype(str)


def test_intervals_of_evaluate_draw_people_as_python_does(customers, capsys):
    found = at(documents(capsys, "evaluate", customers / "m.aucross", customers / "new.csv")["evaluation"])
    clf, X, y, person = people_in(customers)
    wanted = evaluate_selective(clf, X, y, [1.0, 0.8], customers=person, random_state=0).rows()[1]
    for name in ("selective_auc_low", "selective_auc_high", "achieved_coverage_low", "achieved_coverage_high"):
        assert found[name] == pytest.approx(wanted[name])
    by_row = evaluate_selective(clf, X, y, [1.0, 0.8], random_state=0).rows()[1]
    assert found["selective_auc_low"] < by_row["selective_auc_low"] - 0.01


def test_a_report_promises_by_people_and_says_so(customers, tmp_path, capsys):
    out = tmp_path / "r.json"
    documents(capsys, "report", customers / "m.aucross", customers / "new.csv", "--by", "region", "--out", out)
    said = json.loads(out.read_text())
    clf, X, y, person = people_in(customers)
    assert said["promise"]["sentence"] == str(promise_selective(clf, X, y, customers=person))
    assert said["data"]["n_customers"] == 300
    wanted = evaluate_selective(clf, X, y, [1.0, 0.8], customers=person, random_state=0).rows()[1]
    assert at(said["coverages"])["selective_auc_low"] == pytest.approx(wanted["selective_auc_low"])
    by_region = evaluate_groups(clf, X, y, pd.read_csv(customers / "new.csv")["region"], [0.8], customers=person)
    shown = {group["group"]: group["selective_auc_low"] for group in at(said["coverages"])["groups"]}
    for row in by_region.rows()[:2]:
        assert shown[row["group"]] == pytest.approx(row["selective_auc_low"])
    card = render_markdown(said)
    assert "95 %, 300 customers whose rows count together" in card
    assert "Rows of one customer count together: intervals and promise are those of 300 customers." in card


def test_the_test_part_of_a_fit_counts_people(customers):
    said = json.loads((customers / "m.json").read_text())
    assert said["promise"]["n_customers"] == said["data"]["n_customers"] == said["data"]["n"] / 5
    assert at(read_metadata(customers / "m.aucross")["evaluation"])["selective_auc_low"] == pytest.approx(
        at(said["coverages"])["selective_auc_low"]
    )


def test_compare_counts_people(customers, capsys):
    tables = ("compare", customers / "old.csv", "--test", customers / "new.csv", "--method", "plugin-auc")
    lows = []
    for name in ("--customer", "--drop"):
        options = [name if part == "--customer" else part for part in CUSTOMERS]
        lows.append(documents(capsys, *tables, *options, "--drop", "region")["comparison"][0]["selective_auc_low"])
    assert lows[0] < lows[1] - 0.01


@pytest.mark.parametrize("command", ["evaluate", "report"])
def test_the_target_is_no_column_of_customers(customers, tmp_path, command):
    out = ("--out", tmp_path / "r.md") if command == "report" else ()
    result = aucross(command, customers / "m.aucross", customers / "new.csv", "--customer", "default", *out)
    assert result.exit_code == 2
    assert "--customer default: the target cannot be the column of customers" in result.stderr


def test_evaluate_and_report_can_name_the_customers(customers, tmp_path, capsys):
    renamed = pd.read_csv(customers / "new.csv").rename(columns={"person": "client"})
    renamed.to_csv(tmp_path / "new.csv", index=False)
    with_customers = documents(capsys, "evaluate", customers / "m.aucross", customers / "new.csv")
    named = documents(capsys, "evaluate", customers / "m.aucross", tmp_path / "new.csv", "--customer", "client")
    assert named["evaluation"] == with_customers["evaluation"]
    assert named["notes"] == []
    without = documents(capsys, "evaluate", customers / "m.aucross", tmp_path / "new.csv")
    assert any("no column 'person' with a customer in every row" in note for note in without["notes"])
    assert without["evaluation"] != with_customers["evaluation"]
    out = tmp_path / "r.json"
    documents(capsys, "report", customers / "m.aucross", tmp_path / "new.csv", "--customer", "client", "--out", out)
    assert json.loads(out.read_text())["data"]["n_customers"] == 300


@pytest.mark.parametrize(
    ("n_people", "has_test", "method", "message"),
    [
        (
            2,
            False,
            "aucross",
            "the test part must hold at least two customers in 'person' for intervals, got one; add rows",
        ),
        (
            3,
            True,
            "aucross",
            "the training rows must hold at least 5 customers in 'person', one for each fold, got 3; add",
        ),
        (
            1,
            True,
            "plugin-auc",
            "the training rows must hold at least 2 customers in 'person', one for each fold",
        ),
    ],
)
def test_too_few_customers_are_refused_in_words_of_the_command_line(
    customers, tmp_path, capsys, n_people, has_test, method, message
):
    rows = pd.read_csv(customers / "old.csv")
    rows.assign(person=np.arange(len(rows)) % n_people).to_csv(tmp_path / "few.csv", index=False)
    test = ["--test", customers / "new.csv"] if has_test else []
    command = ["fit", tmp_path / "few.csv", *CUSTOMERS, *test, "--method", method, "--out", tmp_path / "m.aucross"]
    assert run([str(part) for part in command]) == 1
    assert f"error: --customer: {message}" in capsys.readouterr().err


def test_one_customer_of_test_rows_is_refused_if_it_was_asked_for(customers, tmp_path, capsys):
    pd.read_csv(customers / "new.csv").assign(branch=1).to_csv(tmp_path / "new.csv", index=False)
    command = ["evaluate", customers / "m.aucross", tmp_path / "new.csv", "--customer", "branch"]
    assert run([str(part) for part in command]) == 1
    assert "new.csv must hold at least two customers in 'branch' for intervals, got one" in capsys.readouterr().err
