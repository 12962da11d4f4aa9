from __future__ import annotations

import asyncio
import hmac
import html
import http.client
import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from xgboost import XGBClassifier

from aucross import AUCross, PlugIn, PlugInAUC, ScoreColumn
from aucross.cli.schema import Roles, Schema, save_model
from aucross.files import model_fingerprint, rule_fingerprint
from aucross.record import Record
from aucross.record.watching import watch
from aucross.serve import ServedModel, ServeOptions, make_app
from aucross.serve.decider import Decider
from aucross.serve.webhook import Webhook
from aucross.watch import CoverageKeeper, CoverageMonitor
from tests.cli.commands import aucross
from tests.serve.client import Client

COLUMNS = {"income": "number", "owner": "boolean", "since": "date", "branch <b>": "category"}
TOKEN = b"a token of sixteen bytes and more".replace(b" ", b"-")


def draw(n_rows=600, seed=0, shift=0.0):
    rng = np.random.default_rng(seed)
    branch = rng.choice(["north", "south", "west"], n_rows).astype(object)
    X = pd.DataFrame(
        {
            "income": rng.normal(size=n_rows) + shift,
            "owner": rng.integers(0, 2, n_rows).astype(float),
            "since": rng.integers(10_000, 20_000, n_rows).astype(float),
            "branch <b>": pd.Series(branch, dtype=object),
        }
    )
    y = (X["income"] + X["owner"] + (branch == "north") + rng.normal(size=n_rows) > 1).astype(int)
    return X, y.to_numpy()


X, y = draw()


def base():
    encode = ColumnTransformer(
        [("branch", OneHotEncoder(handle_unknown="ignore"), ["branch <b>"]), ("numbers", "passthrough", list(X)[:2])]
    )
    return make_pipeline(encode, LogisticRegression())


clf = PlugInAUC(base(), coverage=0.8, random_state=0).fit(X, y)
MODEL = ServedModel(clf, COLUMNS, ("paid", "unpaid"))


def as_json(X):
    """Rows as a caller writes them."""
    days = pd.Timestamp("1970-01-01") + pd.to_timedelta(X["since"], unit="D")
    return [
        {"income": income, "owner": bool(owner), "since": str(day.date()), "branch <b>": branch}
        for income, owner, day, branch in zip(X["income"], X["owner"], days, X["branch <b>"], strict=True)
    ]


ROWS = as_json(X)
JSON = {"Content-Type": "application/json"}


@contextmanager
def client_of(model, folder, **options):
    """A client of a server that records, and lets its callers choose the coverage unless told otherwise."""
    options = {"allow_coverage": True, **options}
    record = Record.open(folder / "cases.db", wait=0.2)
    with record, Client(make_app(model, ServeOptions(record=record, **options))) as client:
        yield client


@pytest.fixture
def client(tmp_path):
    with client_of(MODEL, tmp_path) as client:
        yield client


def recorded(path):
    """The cases of a record."""
    with Record.open(path) as record:
        return record.cases().to_pandas()


# ---- decisions ----


def test_many_rows_are_decided_as_the_classifier_does_and_logged(client, tmp_path):
    names = [f"case {row}" for row in range(600)]
    answer = client.post("/decisions", json={"rows": ROWS, "ids": names}).json()
    decisions = clf.decide(X)
    assert [each["decision"] == "automatic" for each in answer["decisions"]] == decisions.selected.tolist()
    np.testing.assert_allclose([each["score"] for each in answer["decisions"]], decisions.selection_score, rtol=1e-12)
    np.testing.assert_allclose([each["probability"] for each in answer["decisions"]], clf.predict_proba(X)[:, 1])
    expected = np.where(clf.predict(X) == 1, "unpaid", "paid").tolist()
    assert [each["prediction"] for each in answer["decisions"]] == expected
    log = recorded(tmp_path / "cases.db")
    assert log["id"].tolist() == names == [each["id"] for each in answer["decisions"]]
    assert log["decision"].tolist() == [each["decision"] for each in answer["decisions"]]
    assert {(each["lower"], each["upper"]) for each in answer["decisions"]} == {(clf.band().lower, clf.band().upper)}
    assert answer["decided_by"] == {
        "batch": log["batch"][0],
        "coverage": 0.8,
        "rule_fingerprint": rule_fingerprint(clf),
        "model_fingerprint": model_fingerprint(clf),
    }
    assert set(log["rule_fingerprint"]) == {answer["decided_by"]["rule_fingerprint"]}


def test_one_row_gets_the_same_answer_with_a_reason(client):
    for row, selected in enumerate(clf.select(X[:30])):
        answer = client.post("/decision", json={"row": ROWS[row], "id": "A"}).json()
        assert (answer["decision"], answer["id"]) == ("automatic" if selected else "review", "A")
        (told,) = clf.reasons(clf.decide(X[row : row + 1]), class_names={0: "paid", 1: "unpaid"})
        assert answer["reason"] == (told or None)
        assert (answer["reason"] is None) == selected


def test_another_coverage_can_be_asked_for_and_ids_are_made_where_none_are_given(client, tmp_path):
    answer = client.post("/decisions", json={"rows": ROWS[:50], "coverage": 0.5}).json()
    assert [each["decision"] == "automatic" for each in answer["decisions"]] == clf.select(X[:50], 0.5).tolist()
    assert len({each["id"] for each in answer["decisions"]}) == 50
    assert set(recorded(tmp_path / "cases.db")["coverage"]) == {0.5}
    full = client.post("/decision", json={"row": ROWS[0], "coverage": 1}).json()
    assert (full["decision"], full["lower"], full["upper"], full["reason"]) == ("automatic", None, None, None)


def test_confidence_is_called_so():
    model = ServedModel(PlugIn(base(), coverage=0.8, random_state=0).fit(X, y), COLUMNS, ("0", "1"))
    with Client(make_app(model)) as client:
        answers = client.post("/decisions", json={"rows": ROWS[:20]}).json()["decisions"]
    assert {each["lower"] for each in answers} == {None}
    reasons = [each["reason"] for each in answers if each["decision"] == "review"]
    assert reasons
    assert all(reason.startswith("the model is only ") for reason in reasons)


def test_missing_values_blanks_and_times_of_day_are_read_as_in_tables():
    row = {"income": None, "owner": None, "since": "2024-03-31T12:00:00", "branch <b>": " north "}
    blank = {**row, "since": "2024-03-31T12:00:00+02:00", "branch <b>": "  "}
    table = MODEL.table([MODEL.row_type(**each) for each in (row, blank, {**row, "since": "2024-03-31"})])
    spelled = MODEL.table([MODEL.row_type(**{**row, "branch <b>": text}) for text in ("NA", " null", "nan")])
    assert spelled["branch <b>"].isna().all()
    assert table["branch <b>"].tolist()[0] == "north"
    assert table.isna().to_numpy().tolist() == [
        [True, True, False, False],
        [True, True, False, True],
        [True, True, False, False],
    ]
    assert table["since"].tolist() == [19813.5, 19813 + 10 / 24, 19813.0]


# ---- what is refused ----

NO_DATE = "must be a date such as 2024-03-31, in the years 1 to 9999 of UTC"
NO_DATES = (
    *("20190331", "2024", "0", "-1", "1553990400", "1.5e9", "31.3.2024", "2024-3-1", "2024-02-30", "2024-W13-7"),
    *(
        "2024-03-31T",
        "2024-03-31T24:00",
        "2024-03-31T12:00:60",
        "2024-03-31+02:00",
        "12:00",
        "now",
        "",
        "NaT",
        "٢٠٢٤-03-31",
    ),
    *("9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+23:59", "0000-01-01", "10000-01-01", "2024-03-31T00:00+99:99"),
)


@pytest.mark.parametrize(
    ("change", "detail"),
    [
        ({"income": "12 secret"}, "row.income"),
        ({"income": True}, "row.income: must be a number"),
        ({"income": "1"}, "row.income: must be a number"),
        ({"income": 10**400}, "row.income: must be a finite number that double precision can hold"),
        ({"owner": 1}, "row.owner"),
        ({"since": 17}, "row.since: must be a date as text, such as 2024-03-31"),
        *(({"since": text}, f"row.since: {NO_DATE}") for text in NO_DATES),
        ({"branch <b>": 4}, "row.branch <b>"),
        ({"other": 1}, "row.other: Extra inputs are not permitted"),
    ],
)
def test_values_of_the_wrong_type_are_refused_by_name_and_not_repeated(client, change, detail):
    response = client.post("/decision", json={"row": {**ROWS[0], **change}})
    assert response.status_code == 422
    assert any(detail in each for each in response.json()["details"])
    assert "secret" not in response.text


@pytest.mark.parametrize(
    ("coverage", "detail"),
    [
        ("true", "coverage: must be a number"),
        ('"1"', "coverage: must be a number"),
        ("1" + "0" * 400, "coverage: must be a finite number that double precision can hold"),
        ("NaN", "coverage: must be a finite number that double precision can hold"),
        ("85", "coverage: coverage must be in (0, 1], got 85; for 85 % pass 0.85"),
        ("0", "coverage: coverage must be in (0, 1], got 0; 1 stands for all"),
    ],
)
@pytest.mark.parametrize("path", ["/decision", "/decisions"])
def test_a_coverage_that_is_no_share_is_refused_and_switches_nothing_off(client, coverage, detail, path):
    rows = f'"row": {json.dumps(ROWS[0])}' if path == "/decision" else f'"rows": {json.dumps(ROWS[:2])}'
    response = client.post(path, content=f'{{{rows}, "coverage": {coverage}}}', headers=JSON)
    assert (response.status_code, response.json()["details"]) == (422, [detail])


def test_whole_numbers_are_numbers_and_null_is_the_coverage_of_the_model(client):
    answer = client.post("/decision", json={"row": {**ROWS[0], "income": 2}, "coverage": None}).json()
    assert answer["score"] == pytest.approx(clf.scored(X[:1].assign(income=2.0)).score[0], rel=1e-12)
    assert answer["decided_by"]["coverage"] == 0.8


def test_an_id_that_stands_twice_in_a_request_is_refused_and_not_repeated(client, tmp_path):
    response = client.post("/decisions", json={"rows": ROWS[:3], "ids": ["secret", "b", "secret"]})
    assert response.status_code == 422
    assert response.json()["error"] == (
        "ids must differ within a request, got one for rows 0 and 2 (from 0); name each once"
    )
    assert len(recorded(tmp_path / "cases.db")) == 0


@pytest.mark.parametrize(("headers", "got"), [({}, "none"), ({"Content-Type": "text/plain"}, "another")])
def test_a_body_that_is_not_said_to_be_json_is_refused_by_its_header(client, headers, got):
    response = client.post("/decision", content=json.dumps({"row": ROWS[0]}), headers=headers)
    assert response.status_code == 422
    assert response.json()["details"] == [f"the header Content-Type must be application/json, got {got}"]


def test_malformed_json_is_called_so_with_its_place(client):
    response = client.post("/decision", content=b'{"row": ', headers=JSON)
    assert response.status_code == 422
    assert response.json()["details"] == ["body: must be JSON, and is none from character 8 on (Expecting value)"]


def test_missing_columns_wrong_ids_coverages_and_numbers_of_rows_are_refused(tmp_path):
    with client_of(MODEL, tmp_path, most_rows=3) as client:

        def status(path, **body):
            return client.post(path, json=body).status_code

        assert status("/decision", row={"income": 1.0}) == 422
        assert status("/decision", row=ROWS[0], id="two\nlines") == 422
        assert status("/decision", row=ROWS[0], id="") == 422
        assert status("/decision", row=ROWS[0], coverage=90) == 422
        assert status("/decisions", rows=[]) == 422
        assert status("/decisions", rows=ROWS[:4]) == 422
        assert client.post("/decisions", json={"rows": ROWS[:2], "ids": ["a"]}).json()["error"] == (
            "ids must name each row, got 1 for 2 rows"
        )
        assert client.post("/decision", content=b'{"row": ').status_code == 422
        assert client.post("/decision", content=b'{"row": {"income": NaN}}').status_code == 422
        assert client.get("/nowhere").json() == {"error": "Not Found", "details": []}
    assert len(recorded(tmp_path / "cases.db")) == 0


def test_models_that_cannot_be_served_are_refused():
    several = AUCross(LogisticRegression(), cv=2).fit(X[["income"]], np.arange(600) % 3)
    with pytest.raises(ValueError, match="two classes can be served, got 3"):
        ServedModel(several, {"income": "number"}, ("0", "1"))
    with pytest.raises(ValueError, match=r"band_group_column must be given .* got None; pass the column"):
        ServedModel(GROUPED, COLUMNS, ("0", "1"))
    with pytest.raises(ValueError, match=r"band_group_column must be given .* got 'branch <b>'; leave it out"):
        ServedModel(clf, COLUMNS, ("0", "1"), band_group_column="branch <b>")
    with pytest.raises(ValueError, match=r"categories must be of columns that the classifier reads, got \['town'\]"):
        ServedModel(clf, COLUMNS, ("0", "1"), categories={"town": ["A"]})
    with pytest.raises(ValueError, match=r"known_values must be of columns that the classifier reads, got \['town'\]"):
        ServedModel(clf, COLUMNS, ("0", "1"), known_values={"town": ["A"]})
    with pytest.raises(ValueError, match="groups must have a value for each group of the fit"):
        ServedModel(GROUPED, COLUMNS, ("0", "1"), band_group_column="branch <b>", band_groups={"north": "north"})


# ---- categories of pandas ----

CATEGORIES = {"branch": ["west", "south", "north"]}
KINDS = {"income": "number", "branch": "category"}  # XGBoost takes no names with brackets
WITH_CATEGORIES = pd.DataFrame({"income": X["income"], "branch": pd.Categorical(X["branch <b>"], CATEGORIES["branch"])})


@pytest.fixture(scope="module")
def boosted():
    boosting = XGBClassifier(n_estimators=5, max_depth=3, n_jobs=1, enable_categorical=True)
    return PlugInAUC(boosting, coverage=0.8, random_state=0).fit(WITH_CATEGORIES, y)


def test_a_model_that_fails_at_rows_of_the_columns_named_is_refused_at_the_start(boosted):
    model = ServedModel(boosted, KINDS, ("0", "1"))
    with pytest.raises(ValueError, match=r"clf must score a row of the columns .* pass the categories of those"):
        make_app(model)


def test_categories_are_restored_and_other_values_refused(boosted):
    model = ServedModel(boosted, KINDS, ("0", "1"), categories=CATEGORIES)
    table = WITH_CATEGORIES[:51].copy()
    table.loc[50, "branch"] = np.nan
    rows = [
        {**row, "branch": row["branch"] if isinstance(row["branch"], str) else None} for row in table.to_dict("records")
    ]
    with Client(make_app(model, ServeOptions(unfamiliar=None))) as client:
        answers = client.post("/decisions", json={"rows": rows}).json()["decisions"]
        refused = client.post("/decision", json={"row": {"income": 1, "branch": "east"}})
        page = client.get("/docs").text
    np.testing.assert_allclose([each["score"] for each in answers], boosted.scored(table).score)
    assert [each["decision"] == "automatic" for each in answers] == boosted.select(table).tolist()
    assert refused.status_code == 422
    (detail,) = refused.json()["details"]
    assert detail.startswith("row.branch: must be one of the categories of the fit, west, south, north; send rows")
    assert "&quot;branch&quot;: &quot;west&quot;" in page


def test_numbers_may_be_categories(boosted):
    table = X[["income", "owner"]].assign(owner=X["owner"].astype(int).astype("category"))
    clf = PlugInAUC(boosted.estimator, coverage=0.8, random_state=0).fit(table, y)
    model = ServedModel(
        clf, {"income": "number", "owner": "number"}, ("0", "1"), categories={"owner": table["owner"].cat.categories}
    )
    with Client(make_app(model)) as client:
        rows = table[:20].astype(float).to_dict("records")
        answers = client.post("/decisions", json={"rows": rows}).json()["decisions"]
        assert client.post("/decision", json={"row": {"income": 0, "owner": 7}}).status_code == 422
    np.testing.assert_allclose([each["score"] for each in answers], clf.scored(table[:20]).score)


# ---- a band for each group ----

GROUPED = PlugInAUC(base(), coverage=0.8, holdout_size=0.4, random_state=0).fit(X, y, band_groups=X["branch <b>"])


def assert_decided_by_group(model, rows, groups):
    """Every row meets the band of its own group, beside rows of others in one request and alone."""
    with Client(make_app(model)) as client:
        answers = client.post("/decisions", json={"rows": rows}).json()["decisions"]
        alone = [client.post("/decision", json={"row": row}).json() for row in rows[:5]]
    expected = GROUPED.decide(X[: len(rows)], band_groups=groups)
    assert [each["decision"] == "automatic" for each in answers] == expected.selected.tolist()
    assert [each["lower"] for each in answers] == expected.lower.tolist()
    assert [(each["decision"], each["upper"]) for each in alone] == [
        (each["decision"], each["upper"]) for each in answers[:5]
    ]


def test_rows_meet_the_band_of_their_group_which_is_a_column_that_the_model_reads():
    model = ServedModel(GROUPED, COLUMNS, ("0", "1"), band_group_column="branch <b>")
    assert_decided_by_group(model, ROWS[:200], X["branch <b>"][:200])


@pytest.mark.parametrize("kind", ["number", "category"])
def test_a_group_may_stand_in_another_column_and_have_another_spelling(kind):
    numbers = {"north": 1.0, "south": 2.0, "west": 3.0}
    if kind == "category":
        columns, spelled = COLUMNS, {name: name.upper() for name in numbers}
    else:
        columns, spelled = {**COLUMNS, "code": "number"}, numbers
    model = ServedModel(
        GROUPED,
        columns,
        ("0", "1"),
        band_group_column="code",
        band_groups={value: name for name, value in spelled.items()},
    )
    # The model reads the column by name and leaves the rest alone, so another one changes no score.
    rows = [{**row, "code": spelled[row["branch <b>"]]} for row in ROWS[:200]]
    assert_decided_by_group(model, rows, X["branch <b>"][:200])
    assert model.row_type.model_json_schema()["properties"]["code"]["examples"] == [next(iter(spelled.values()))]


def test_a_key_with_another_group_is_another_request(tmp_path):
    model = ServedModel(GROUPED, COLUMNS, ("0", "1"), band_group_column="code")
    north, south = (GROUPED.select(X, band_groups=np.full(len(X), name, dtype=object)) for name in ("north", "south"))
    row, header = ROWS[np.flatnonzero(north != south)[0]], {"Idempotency-Key": "k"}
    with client_of(model, tmp_path) as client:
        first, again, other = (
            client.post("/decision", json={"row": {**row, "code": code}}, headers=header)
            for code in ("north", "north", "south")
        )
    assert first.json() == again.json()
    assert other.status_code == 409


@pytest.mark.parametrize("value", ["east", None, "", "NA"])
def test_a_row_without_a_group_that_has_a_band_gets_no_decision(value, tmp_path):
    model = ServedModel(GROUPED, COLUMNS, ("0", "1"), band_group_column="branch <b>")
    with client_of(model, tmp_path) as client:
        response = client.post("/decisions", json={"rows": [ROWS[0], {**ROWS[1], "branch <b>": value}]})
        assert response.status_code == 422
        assert client.get("/docs").text.count("<td>branch &lt;b&gt;</td><td>category</td><td>no</td>") == 1
    if value is not None:
        named = "one of the groups of the fit, " + ", ".join(GROUPED.band_rule_.group_labels)
        assert f"rows.1.branch <b>: must be {named}" in response.json()["details"][0]
    assert len(recorded(tmp_path / "cases.db")) == 0


async def in_small_pieces():
    for _ in range(20):
        yield b" " * 100


@pytest.mark.parametrize("in_pieces", [False, True])
def test_a_body_beyond_the_limit_is_refused_whether_or_not_its_size_is_told(in_pieces):
    with Client(make_app(MODEL, ServeOptions(most_bytes=1000))) as client:
        response = client.post("/decision", content=in_small_pieces() if in_pieces else b" " * 2000)
        assert response.status_code == 413
        assert "at most 1,000 bytes" in response.json()["error"]
        assert client.post("/decision", json={"row": ROWS[0]}).status_code == 200


def test_without_the_token_nothing_about_the_model_is_told(monkeypatch):
    compared = []
    compare = hmac.compare_digest
    monkeypatch.setattr("hmac.compare_digest", lambda *pair: compared.append(pair) or compare(*pair))
    with Client(make_app(MODEL, ServeOptions(token=TOKEN))) as client:
        for path in ("/openapi.json", "/metrics", "/nowhere"):
            assert client.get(path).status_code == 401
            assert client.get(path).headers["www-authenticate"] == "Bearer"
        page = client.get("/docs")
        assert (page.status_code, "Authorization: Bearer" in page.text) == (200, True)
        assert not any(html.escape(word) in page.text for word in (*COLUMNS, "unpaid", "80%"))
        for wrong in ("", "Bearer", f"Bearer {TOKEN.decode()}x", f"Basic {TOKEN.decode()}"):
            response = client.post("/decision", json={"row": ROWS[0]}, headers={"Authorization": wrong})
            assert response.status_code == 401
            assert TOKEN.decode() not in response.text
        assert client.get("/health").json() == {"status": "ok"}
        right = {"Authorization": f"Bearer {TOKEN.decode()}"}
        assert client.post("/decision", json={"row": ROWS[0]}, headers=right).status_code == 200
        assert "<td>income</td>" in client.get("/docs", headers=right).text
        assert 'aucross_refusals_total{reason="token"} 10.0' in client.get("/metrics", headers=right).text
        description = client.get("/openapi.json", headers=right).json()
    assert len(compared) == 15  # every request was compared in constant time
    assert description["components"]["securitySchemes"] == {"token": {"type": "http", "scheme": "bearer"}}
    assert [description["paths"][path]["post"]["security"] for path in ("/decision", "/decisions")] == [
        [{"token": []}]
    ] * 2
    assert "security" not in description["paths"]["/health"]["get"]


# ---- errors ----


class Failing:
    """A classifier whose model fails on some rows."""

    def __getattr__(self, name):
        return getattr(clf, name)

    def scored(self, rows, band_groups):
        if (rows["income"] > 100).any():
            raise ZeroDivisionError("secret of the model")
        return clf.scored(rows, band_groups=band_groups)


FAILING = ServedModel(Failing(), COLUMNS, ("0", "1"))


def test_callers_see_no_trace_of_an_error_and_the_log_of_the_server_does(monkeypatch, caplog):
    def failing(*_rows, **_options):
        raise ZeroDivisionError("secret of the model")

    with Client(make_app(MODEL)) as client:
        monkeypatch.setattr(type(clf), "scored", failing)
        response = client.post("/decision", json={"row": ROWS[0]})
    assert response.status_code == 500
    number = re.search("its number in the server's log is ([0-9a-f]{32})", response.json()["error"])[1]
    assert "secret" not in response.text
    assert number in caplog.text
    assert "secret of the model" in caplog.text


def decided_together(decider, *requests):
    """Send requests at the same moment and return what comes of each."""

    async def send():
        async with decider.working():
            return await asyncio.gather(*(decider.decide(*each) for each in requests), return_exceptions=True)

    return asyncio.run(send())


def typed(rows):
    return [MODEL.row_type(**row) for row in rows]


def test_rows_that_the_model_refuses_do_not_take_those_of_others_with_them(tmp_path):
    bad = typed([{**ROWS[0], "income": 1000.0}])
    first, failed, other = decided_together(
        Decider(FAILING),
        ("1", ["a", "b"], typed(ROWS[:2]), 0.8),
        ("2", ["c"], bad, 0.8),
        ("3", ["d"], typed(ROWS[2:3]), 0.5),
    )
    assert isinstance(failed, ZeroDivisionError)
    assert first.decisions.selected.tolist() == clf.select(X[:2]).tolist()
    assert other.decisions.selected.tolist() == clf.select(X[2:3], 0.5).tolist()


def test_requests_of_several_coverages_get_their_own_rows_back():
    requests = [(str(row), [str(row)], typed(ROWS[row : row + 1]), (0.8, 0.5)[row % 2]) for row in range(40)]
    outcomes = decided_together(Decider(MODEL), *requests)
    for row, outcome in enumerate(outcomes):
        assert outcome.decisions.coverage == (0.8, 0.5)[row % 2]
        assert outcome.scored.score == pytest.approx(clf.scored(X[row : row + 1]).score, rel=1e-12)


def test_requests_that_wait_share_one_transaction(tmp_path):
    with Record.open(tmp_path / "cases.db") as record:
        requests = [(f"k{row}", [f"r{row}"], typed(ROWS[row : row + 1]), 0.8) for row in range(100)]
        decided_together(Decider(MODEL, record), *requests)
        assert record.head().transaction == 1
        assert record.verify().is_clean
    cases = recorded(tmp_path / "cases.db")
    assert cases["id"].tolist() == [f"r{row}" for row in range(100)]
    assert cases["batch"].tolist() == [f"k{row}" for row in range(100)]


def test_a_request_with_a_key_is_decided_once(client, tmp_path):
    body = {"rows": ROWS[:3]}
    first, again = (client.post("/decisions", json=body, headers={"Idempotency-Key": "k-1"}) for _ in range(2))
    assert first.json() == again.json()
    assert [each["id"] for each in first.json()["decisions"]] == ["k-1/0", "k-1/1", "k-1/2"]
    assert first.json()["decided_by"]["batch"] == "k-1"
    other = client.post("/decisions", json={"rows": ROWS[1:4]}, headers={"Idempotency-Key": "k-1"})
    assert other.status_code == 409
    assert re.search("batch 'k-1' was decided with inputs [0-9a-f]{64}, got inputs [0-9a-f]{64}", other.json()["error"])
    assert "decisions" not in other.json()
    elsewhere = client.post("/decisions", json={**body, "coverage": 0.5}, headers={"Idempotency-Key": "k-1"})
    assert elsewhere.status_code == 409
    for key in ("", "shadow:k-1"):
        assert client.post("/decision", json={"row": ROWS[0]}, headers={"Idempotency-Key": key}).status_code == 422
    assert len(recorded(tmp_path / "cases.db")) == 3


def test_callers_cannot_change_the_coverage_unless_the_server_lets_them(tmp_path):
    with client_of(MODEL, tmp_path, allow_coverage=False) as client:
        refused = client.post("/decision", json={"row": ROWS[0], "coverage": 1})
        assert refused.status_code == 403
        assert refused.json()["error"] == (
            "this server decides at coverage 0.8, and callers cannot change it; leave it out"
        )
        assert client.post("/decision", json={"row": ROWS[0], "coverage": 0.8}).status_code == 200
        assert client.post("/decision", json={"row": ROWS[0]}).status_code == 200
    assert set(recorded(tmp_path / "cases.db")["coverage"]) == {0.8}


def test_the_final_decision_can_be_asked_for(tmp_path):
    with client_of(MODEL, tmp_path) as client:
        client.post("/decisions", json={"rows": ROWS[:60], "ids": [f"c{row}" for row in range(60)]})
        place = int(np.argmin(clf.select(X[:60])))
        waiting = client.post("/final", json={"id": f"c{place}"}).json()
        assert (waiting["decision"], waiting["final_decision"], waiting["final_by"]) == ("review", None, None)
        with Record.open(tmp_path / "cases.db") as record:
            record.add_reviews([{"id": f"c{place}", "reviewer": "ann", "answer": "unpaid"}])
        told = client.post("/final", json={"id": f"c{place}", "batch": waiting["batch"]}).json()
        assert (told["final_decision"], told["final_by"]) == ("unpaid", "review")
        automatic = client.post("/final", json={"id": f"c{int(np.argmax(clf.select(X[:60])))}"}).json()
        assert automatic["final_by"] == "automatic"
        assert client.post("/final", json={"id": "nobody"}).status_code == 404
    with Client(make_app(MODEL)) as client:
        assert client.post("/final", json={"id": "c1"}).status_code == 404


def test_a_shadow_model_is_recorded_and_not_heard(tmp_path):
    shadow = clf.recalibrate(X[:200])
    with client_of(MODEL, tmp_path, shadow=shadow) as client:
        answers = client.post("/decisions", json={"rows": ROWS}).json()["decisions"]
    assert [each["decision"] == "automatic" for each in answers] == clf.select(X).tolist()
    with Record.open(tmp_path / "cases.db") as record:
        (compared,) = record.compare_shadow()
        assert record.verify().is_clean
    assert compared["shadow_automatic"] == shadow.select(X).sum()
    assert compared["same_decision"] == (shadow.select(X) == clf.select(X)).sum()


def test_a_model_of_columns_in_another_order_is_refused_before_the_first_request(tmp_path):
    names = ["income", "owner"]
    numbers = dict.fromkeys(names, "number")
    served = PlugInAUC(XGBClassifier(n_estimators=5), random_state=0).fit(X[names].to_numpy(), y)
    turned = PlugInAUC(XGBClassifier(n_estimators=5), random_state=0).fit(X[names[::-1]], y)
    with pytest.raises(ValueError, match="columns of the fit in their order"):
        make_app(ServedModel(turned, numbers, ("paid", "unpaid")))
    with Record.open(tmp_path / "cases.db") as record, pytest.raises(ValueError, match="columns of the fit in their"):
        make_app(ServedModel(served, numbers, ("paid", "unpaid")), ServeOptions(record=record, shadow=turned))


@pytest.fixture
def audit_key(tmp_path, monkeypatch):
    path = tmp_path / "audit-key"
    path.write_bytes(bytes(range(32)))
    monkeypatch.setenv("AUCROSS_AUDIT_KEY_FILE", str(path))


def test_audits_are_drawn_and_an_answer_does_not_tell_them_from_other_cases(tmp_path, audit_key):
    asked = {"rows": ROWS[:200], "ids": [f"A-{row}" for row in range(200)]}
    header = {"Idempotency-Key": "2026-10"}
    with client_of(MODEL, tmp_path, audit=0.3) as client:
        first, again = (client.post("/decisions", json=asked, headers=header).json() for _ in range(2))
        text = client.get("/metrics").text
    assert first == again
    cases = recorded(tmp_path / "cases.db").set_index("id").loc[asked["ids"]]
    audited = (cases["why"] == "audit").to_numpy()
    assert 20 < audited.sum() < 100
    assert (cases["would_be"] == clf.decide(X[:200]).decision).all()
    told = first["decisions"]
    assert [answer["decision"] for answer in told] == cases["decision"].tolist()
    review = [{**answer, "id": ""} for answer in told if answer["decision"] == "review"]
    assert len({str(answer) for answer in review}) == 1
    assert all(answer["score"] is not None for answer in told if answer["decision"] == "automatic")
    assert f'decision="review"}} {float(2 * len(review))}' in text


def test_a_server_does_not_take_audits_for_a_lower_coverage(tmp_path, audit_key):
    with client_of(MODEL, tmp_path, audit=0.5) as client:
        client.post("/decisions", json={"rows": ROWS[:200]})
        text = client.get("/metrics").text
    assert f"aucross_coverage {clf.select(X[:200]).mean()}" in text


def test_an_audit_without_a_record_or_a_key_is_refused_at_the_start(tmp_path, monkeypatch):
    monkeypatch.delenv("AUCROSS_AUDIT_KEY_FILE", raising=False)
    with pytest.raises(ValueError, match="audit must be None without a record"):
        ServeOptions(audit=0.02)
    with Record.open(tmp_path / "cases.db") as record, pytest.raises(ValueError, match="an audit needs a secret key"):
        make_app(MODEL, ServeOptions(record=record, audit=0.02))


def test_a_webhook_is_told_of_each_final_decision_once(tmp_path, monkeypatch):
    posted = []

    class Answer:
        def __enter__(self):
            return self

        def __exit__(self, *_):
            return False

    def post(request, timeout):
        if len(posted) == 1 and not request.data.endswith(b"again"):
            posted.append(None)
            raise OSError("away")
        posted.append((json.loads(request.data), request.get_header("Aucross-signature")))
        return Answer()

    monkeypatch.setattr("aucross.serve.webhook.urlopen", post)
    with Record.open(tmp_path / "cases.db") as record:
        record.decide(clf, X[:9], batch="b", ids=range(9), capacity=5)
        first, second = record.queue().to_pydict()["id"][:2]
        record.add_reviews([{"id": first, "reviewer": "ann", "answer": "0"}])
        webhook = Webhook(record, "https://example.invalid/hook", b"key")
        assert webhook.tell() == 0  # what was there before is known
        record.add_reviews([{"id": second, "reviewer": "ann", "answer": "1"}])
        assert webhook.tell() == 1
        assert webhook.tell() == 0
        record.add_reviews([{"id": first, "reviewer": "bob", "answer": "1"}])
        with pytest.raises(OSError, match="away"):
            webhook.tell()
        assert webhook.tell() == 1  # what failed is tried again
        record.add_reviews([{"id": second, "reviewer": "bob", "answer": "0"}])
        assert Webhook(record, "https://example.invalid/hook").tell() == 1  # what came while the server was down
        assert Webhook(record, "https://example.invalid/hook").tell() == 0
        assert record.verify().is_clean
        with record.reading() as connection:
            kept = connection.exec_driver_sql("SELECT DISTINCT who FROM told").scalars().all()
        assert len(kept) == 1
        assert "example" not in kept[0]  # the address may hold a secret
        for address in (
            "ftp://example.invalid",
            "http://localhost.example.invalid",
            "http://127.0.0.1@example.invalid",
        ):
            with pytest.raises(ValueError, match="must begin with https://"):
                Webhook(record, address)
        Webhook(record, "http://127.0.0.1:8080/hook")
    body, signature = posted[0]
    assert (body["id"], body["final_decision"], len(signature)) == (second, "1", 64)


def test_a_decision_that_cannot_be_recorded_is_not_given_and_health_comes_back(client, tmp_path):
    client.post("/decision", json={"row": ROWS[0], "id": "first"})
    other = sqlite3.connect(tmp_path / "cases.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    response = client.post("/decision", json={"row": ROWS[0], "id": "lost"})
    assert response.status_code == 503
    assert "could not be recorded" in response.json()["error"]
    assert "decision" not in response.json()
    assert client.get("/health").status_code == 503
    assert 'aucross_refusals_total{reason="record"} 1.0' in client.get("/metrics").text
    other.rollback()
    other.close()
    assert client.get("/health").json() == {"status": "ok"}
    assert client.post("/decision", json={"row": ROWS[0], "id": "second"}).status_code == 200
    assert recorded(tmp_path / "cases.db")["id"].tolist() == ["first", "second"]


# ---- what is told about the server ----


def metric(text, name):
    return float(re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)[1])


def test_metrics_tell_the_coverage_so_far_and_the_alarm_when_rows_drift(client):
    client.post("/decisions", json={"rows": ROWS})
    client.post("/decisions", json={"rows": ROWS[:10], "coverage": 0.5})  # not what is watched
    text = client.get("/metrics").text
    assert metric(text, "aucross_coverage") == pytest.approx(clf.select(X).mean())
    assert metric(text, "aucross_target_coverage") == 0.8
    assert metric(text, "aucross_coverage_alarm") == 0
    assert metric(text, 'aucross_requests_total{path="/decisions",status="200"}') == 2
    n_review = metric(text, 'aucross_decisions_total{decision="review"}')
    assert n_review == (~clf.select(X)).sum() + (~clf.select(X[:10], 0.5)).sum()
    drifted = as_json(draw(900, seed=1, shift=8.0)[0])
    client.post("/decisions", json={"rows": drifted})
    text = client.get("/metrics").text
    assert metric(text, "aucross_coverage_alarm") == 1
    assert metric(text, "aucross_coverage_evidence") > 20


def test_metrics_go_on_after_a_restart_where_there_is_a_record(tmp_path):
    drifted = as_json(draw(900, seed=1, shift=8.0)[0])
    with client_of(MODEL, tmp_path) as client:
        client.post("/decisions", json={"rows": drifted})
        evidence = metric(client.get("/metrics").text, "aucross_coverage_evidence")
    with client_of(MODEL, tmp_path) as client:
        assert metric(client.get("/metrics").text, "aucross_coverage_alarm") == 1
        assert metric(client.get("/metrics").text, "aucross_coverage_evidence") == pytest.approx(evidence)


# ---- a kept coverage ----


def test_a_server_keeps_its_coverage_where_rows_drift_and_tells_level_and_alarm(tmp_path):
    drifted = draw(1500, seed=1, shift=8.0)[0]
    assert abs(clf.select(drifted).mean() - 0.8) > 0.03
    with client_of(MODEL, tmp_path, allow_coverage=False, keep_coverage=True, unfamiliar=None) as client:
        answers = []
        for start in range(0, 1500, 500):
            rows = as_json(drifted[start : start + 500])
            answers += client.post("/decisions", json={"rows": rows}).json()["decisions"]
        text = client.get("/metrics").text
    kept = np.mean([each["decision"] == "automatic" for each in answers])
    assert abs(kept - 0.8) < abs(clf.select(drifted).mean() - 0.8) / 2
    assert metric(text, "aucross_coverage") == pytest.approx(kept)
    assert metric(text, "aucross_coverage_alarm") == CoverageMonitor(clf).update(drifted).alarm == 1
    level = metric(text, "aucross_keeper_level")
    n_automatic = sum(each["decision"] == "automatic" for each in answers)
    assert level == pytest.approx(0.8 + CoverageKeeper(clf).step * (1500 * 0.8 - n_automatic))


def test_the_monitor_of_the_record_sees_drift_that_a_keeper_hides(tmp_path):
    drifted = draw(1500, seed=1, shift=8.0)[0]
    with client_of(MODEL, tmp_path, allow_coverage=False, keep_coverage=True, unfamiliar=None) as client:
        client.post("/decisions", json={"rows": as_json(drifted[:1000])})
    with Record.open(tmp_path / "cases.db") as record:
        monitor, share, _ = watch(record, clf, labels=["paid", "unpaid"])
    assert share.run_share == clf.select(drifted[:1000]).mean()
    assert monitor.coverage_alarm


def test_a_request_that_comes_again_gets_the_decisions_of_its_first_time_and_counts_once(tmp_path):
    rows = as_json(draw(200, seed=1, shift=1.5)[0])
    with client_of(MODEL, tmp_path, allow_coverage=False, keep_coverage=True, unfamiliar=None) as client:
        first = client.post("/decisions", json={"rows": rows}, headers={"Idempotency-Key": "A"}).json()
        level = metric(client.get("/metrics").text, "aucross_keeper_level")
        client.post("/decisions", json={"rows": rows[:97]}, headers={"Idempotency-Key": "B"})
        moved = metric(client.get("/metrics").text, "aucross_keeper_level")
        again = client.post("/decisions", json={"rows": rows}, headers={"Idempotency-Key": "A"}).json()
        assert level != moved == metric(client.get("/metrics").text, "aucross_keeper_level")
    with client_of(MODEL, tmp_path, unfamiliar=None) as client:  # decides the same rows otherwise
        body = {"rows": rows}
        assert client.post("/decisions", json=body).json()["decisions"] != first["decisions"]
        without_keeper = client.post("/decisions", json=body, headers={"Idempotency-Key": "A"}).json()
    assert without_keeper == again == first


@pytest.mark.parametrize("audit", [None, 0.3])
def test_a_request_that_comes_again_is_the_same_where_the_band_has_moved(tmp_path, audit_key, audit):
    rows = [{**row, "branch <b>": None} if place % 2 else row for place, row in enumerate(ROWS[:200])]
    body, header = {"rows": rows}, {"Idempotency-Key": "A"}
    options = {"allow_coverage": False, "keep_coverage": True}
    with client_of(MODEL, tmp_path, **options, audit=audit) as client:
        first = client.post("/decisions", json=body, headers=header).json()
        client.post("/decisions", json={"rows": as_json(draw(200, seed=1, shift=8.0)[0])})
        again = client.post("/decisions", json=body, headers=header).json()
    assert again == first
    with client_of(MODEL, tmp_path, **options, audit=audit, unfamiliar=None) as client:
        assert client.post("/decisions", json=body, headers=header).status_code == 409
    with client_of(MODEL, tmp_path, **options, audit=None if audit else 0.3) as client:
        assert client.post("/decisions", json=body, headers=header).status_code == 409


def test_the_counts_of_a_keeper_are_those_of_all_servers_of_a_record_and_outlive_them(tmp_path):
    drifted = as_json(draw(600, seed=1, shift=8.0)[0])
    options = {"keep_coverage": True, "unfamiliar": None}

    def level(client):
        return metric(client.get("/metrics").text, "aucross_keeper_level")

    def level_of_record(folder):
        cases = recorded(folder / "cases.db")
        return 0.8 + CoverageKeeper(clf).step * (len(cases) * 0.8 - (cases["would_be"] == "automatic").sum())

    with Record.open(tmp_path / "cases.db") as one, Record.open(tmp_path / "cases.db") as two:
        with (
            Client(make_app(MODEL, ServeOptions(record=one, **options))) as first,
            Client(make_app(MODEL, ServeOptions(record=two, **options))) as second,
        ):
            for start in range(0, 400, 100):
                client = (first, second)[start // 100 % 2]
                client.post("/decisions", json={"rows": drifted[start : start + 100]})
            assert level(second) == pytest.approx(level_of_record(tmp_path))
        with Client(make_app(MODEL, ServeOptions(record=one, **options))) as restarted:
            assert level(restarted) == pytest.approx(level_of_record(tmp_path))
            restarted.post("/decisions", json={"rows": drifted[400:]})
            assert level(restarted) == pytest.approx(level_of_record(tmp_path))
    cases = recorded(tmp_path / "cases.db")
    kept = (cases["decision"] == "automatic").mean()
    step = CoverageKeeper(clf).step
    assert abs(kept - 0.8) <= (1 + step) / (step * len(cases))
    # Counts that were lost between servers would begin again at the target.
    assert len(cases) == 600
    assert abs(cases["level"].iloc[-1] - 0.8) > 0.05


def test_two_servers_that_decide_at_one_time_keep_the_coverage_within_the_bound_of_their_delay(tmp_path, monkeypatch):
    # Before the first server writes, the second decides as many rows: neither knows of the other's last request.
    drifted, size = as_json(draw(1200, seed=1, shift=8.0)[0]), 40
    options = {"keep_coverage": True, "unfamiliar": None}
    with Record.open(tmp_path / "cases.db") as one, Record.open(tmp_path / "cases.db") as two:
        services = [make_app(MODEL, ServeOptions(record=record, **options)) for record in (one, two)]
        with Client(services[0]) as first, Client(services[1]) as second:
            parts = iter([drifted[start : start + size] for start in range(0, 1200, size)])
            write = one.write

            def late(batches):
                with ThreadPoolExecutor(1) as other:
                    other.submit(second.post, "/decisions", json={"rows": next(parts)}).result().raise_for_status()
                return write(batches)

            monkeypatch.setattr(one, "write", late)
            for part in parts:
                first.post("/decisions", json={"rows": part}).raise_for_status()
            level = metric(first.get("/metrics").text, "aucross_keeper_level")
    cases = recorded(tmp_path / "cases.db").sort_values("case_number")
    would_be, step = (cases["would_be"] == "automatic").to_numpy(), CoverageKeeper(clf).step
    n_rows = np.arange(size, 1201, size)
    owed = n_rows * 0.8 - np.cumsum(would_be)[size - 1 :: size]
    assert level == pytest.approx(0.8 + step * owed[-1])
    # Both requests of a pair began with what the pair before had left.
    levels = cases["level"].to_numpy().reshape(-1, 2, size)
    begun = 0.8 + step * np.array([0, *owed[1:-1:2]])
    assert np.isclose(levels, begun[:, None, None]).any(axis=2).all()
    assert (np.abs(owed) <= 1 / step + size + 1).all()
    # The level has had to rise, and the share of the last half is near the target, which the band of the fit is not.
    kept, fitted = would_be[600:].mean(), clf.select(draw(1200, seed=1, shift=8.0)[0])[600:].mean()
    assert abs(kept - 0.8) < abs(fitted - 0.8) / 2


def test_a_keeper_decides_nothing_where_its_counts_cannot_be_read(tmp_path, monkeypatch):
    with client_of(MODEL, tmp_path, allow_coverage=False, keep_coverage=True) as client:

        def fail(*_):
            raise OSError("the disk is gone")

        monkeypatch.setattr("aucross.serve.decider.kept_counts", fail)
        assert client.post("/decision", json={"row": ROWS[0]}).status_code == 503


# ---- rows unlike those of the fit ----


def test_a_row_unlike_those_of_the_fit_goes_to_review_and_the_record_says_why(tmp_path):
    row = next(row for row, selected in zip(ROWS, clf.select(X), strict=True) if selected)
    with client_of(MODEL, tmp_path) as client:
        answers = client.post("/decisions", json={"rows": [row, {**row, "income": 1e9}, {**row, "branch <b>": None}]})
    answers = answers.json()["decisions"]
    assert [each["decision"] for each in answers] == ["automatic", "review", "review"]
    log = recorded(tmp_path / "cases.db")
    assert log["reason"].fillna("").tolist() == [each["reason"] or "" for each in answers]
    assert "unlike the rows of the fit: income 1e+09 lies outside of " in log["reason"][1]
    assert "branch <b> is missing and never was" in log["reason"][2]
    assert log["decision"].tolist() == ["automatic", "review", "review"]


def test_the_band_decides_unlike_rows_where_the_server_is_told_so(tmp_path):
    row = {**ROWS[0], "income": 1e9}
    alike = pd.DataFrame([{**X.iloc[0], "income": 1e9}]).astype(X.dtypes)
    with client_of(MODEL, tmp_path, unfamiliar=None) as client:
        answer = client.post("/decision", json={"row": row}).json()
    assert (answer["decision"] == "automatic") == clf.select(alike)[0]
    with pytest.raises(ValueError, match='unfamiliar must be "review" or None'):
        ServeOptions(unfamiliar="reject")


def test_a_kept_coverage_is_not_for_callers_to_choose():
    with pytest.raises(ValueError, match="keep_coverage must be False where callers may ask for another coverage"):
        ServeOptions(keep_coverage=True, allow_coverage=True)


def test_the_target_of_a_weighted_model_is_a_share_of_rows_as_the_coverage_is():
    weight = np.where(X["income"] > 0.5, 10.0, 1.0)
    weighted = PlugInAUC(LogisticRegression(), coverage=0.8, random_state=0)
    weighted.fit(X[["income", "owner"]], y, coverage_weight=weight)
    reference = CoverageMonitor(weighted).reference
    assert abs(reference.share - 0.8) > 0.02
    with Client(make_app(ServedModel(weighted, {"income": "number", "owner": "boolean"}, ("0", "1")))) as client:
        text = client.get("/metrics").text
    assert metric(text, "aucross_target_coverage") == reference.share
    assert "# HELP aucross_target_coverage Share of rows that should be decided automatically: the coverage" in text


def test_the_description_has_the_columns_and_the_page_nothing_from_elsewhere(client):
    row = client.get("/openapi.json").json()["components"]["schemas"]["Row"]
    assert list(row["properties"]) == row["required"] == list(COLUMNS)
    assert row["properties"]["owner"]["description"] == "true or false, or null if it is missing"
    page = client.get("/docs").text
    assert "<td>branch &lt;b&gt;</td><td>category</td>" in page
    assert "http" not in page
    assert "<script" not in page
    example = json.loads(html.unescape(re.search(r"POST /decision\n(.*)</pre>", page, re.DOTALL)[1]))
    assert client.post("/decision", json=example).status_code == 200


# ---- the command ----


@pytest.fixture(scope="module")
def model_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("served") / "model.aucross"
    save_model(clf, path, Schema(COLUMNS, ("paid", "unpaid"), Roles("default")))
    return path


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "example.invalid", "192.168.1.7"])
def test_other_machines_may_ask_only_with_a_token(model_file, host):
    result = aucross("serve", model_file, "--host", host)
    assert result.exit_code == 2
    assert f"--host: {host} lets other machines ask, and without a token any of them could" in result.stderr


def test_short_tokens_and_ports_in_use_are_refused(model_file, tmp_path):
    (tmp_path / "token").write_text("short\n")
    assert "at least 16" in aucross("serve", model_file, "--token-file", tmp_path / "token").stderr
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        result = aucross("serve", model_file, "--port", taken.getsockname()[1])
    assert result.exit_code == 1
    assert "cannot listen at 127.0.0.1" in result.stderr
    assert "--port must be in 0 to 65535" in aucross("serve", model_file, "--port", 70_000).stderr


def test_a_record_that_cannot_be_opened_is_one_line_before_an_address_is_told(model_file, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "foreign").write_text("a,b\n1,2\n" * 100)
    texts = {"folder": "is a folder", "foreign": "it is no SQLite database", "no/cases.db": "there is no folder"}
    for name, text in texts.items():
        result = aucross("serve", model_file, "--port", 0, "--record", tmp_path / name)
        assert (result.exit_code, result.stdout) == (1, ""), name
        lines = [line for line in result.stderr.splitlines() if not line.startswith("note: every program")]
        assert len(lines) == 1
        assert lines[0].startswith("error: ")
        assert text in lines[0]
    for option in ("--shadow", "--webhook-file"):
        assert "need --record" in aucross("serve", model_file, option, model_file).stderr


def test_json_tells_the_address_in_one_line(model_file, tmp_path, monkeypatch):
    monkeypatch.setattr("uvicorn.Server.run", lambda self, sockets: None)
    (tmp_path / "hook").write_text("https://example.invalid/secret\n")
    options = ("--record", tmp_path / "cases.db", "--shadow", model_file, "--webhook-file", tmp_path / "hook")
    result = aucross("serve", model_file, "--port", 0, *options, "--json")
    (line,) = result.stdout.splitlines()
    told = json.loads(line)
    assert re.fullmatch(r"http://127\.0\.0\.1:[1-9]\d*", told["address"])
    assert told["record"] == str(tmp_path / "cases.db")
    (tmp_path / "hook").write_text("ftp://example.invalid/secret\n")
    refused = aucross("serve", model_file, "--port", 0, *options)
    assert "--webhook-file: the address of a webhook must begin with https://" in refused.stderr
    assert "secret" not in refused.stderr


def save_with_groups(path, kind, groups):
    """A model as `aucross fit --band-group group` makes it; its pipeline does not look at that column."""
    grouped = PlugInAUC(base(), coverage=0.8, holdout_size=0.4, random_state=0)
    grouped.fit(X.assign(group=0), y, band_groups=groups)
    roles = Roles("default", band_group="group")
    save_model(grouped, path, Schema({**COLUMNS, "group": kind}, ("paid", "unpaid"), roles))
    return grouped


@pytest.mark.parametrize(
    ("kind", "spelled"),
    [
        ("number", ["1", "2.50", "1000"]),
        ("category", ["a", "b", "c"]),
        ("date", ["2024-03-31", "2024-04-30", "2024-05-31"]),
    ],
)
def test_the_command_serves_groups_as_the_table_spells_them(tmp_path, monkeypatch, kind, spelled):
    groups = np.resize(spelled, len(X))
    grouped = save_with_groups(tmp_path / "model", kind, groups)
    apps = []
    monkeypatch.setattr("uvicorn.Server.run", lambda self, sockets: apps.append(self.config.app))
    result = aucross("serve", tmp_path / "model", "--port", 0)
    assert result.exit_code == 0, result.stderr
    sent = [float(group) if kind == "number" else group for group in groups]
    rows = [{**row, "group": group} for row, group in zip(ROWS[:60], sent, strict=False)]
    with Client(apps[0]) as client:
        answers = client.post("/decisions", json={"rows": rows}).json()["decisions"]
        assert client.post("/decision", json={"row": {**rows[0], "group": None}}).status_code == 422
    expected = grouped.decide(X[:60].assign(group=0), band_groups=groups[:60])
    assert [(each["lower"], each["upper"]) for each in answers] == list(
        zip(expected.lower, expected.upper, strict=True)
    )


def test_groups_that_a_request_cannot_tell_apart_are_refused(tmp_path):
    save_with_groups(tmp_path / "model", "number", np.resize(["1", "1.0"], len(X)))
    result = aucross("serve", tmp_path / "model")
    assert result.exit_code == 1
    assert "spell each group in one way, or fit without --band-group" in " ".join(result.stderr.split())


@pytest.mark.parametrize(
    "options",
    [
        ("--base", "hgb", "--method", "plugin-auc"),
        ("--base", "logistic", "--method", "plugin-auc", "--ties", "split"),
        ("--score", "income", "--threshold", 0, "--method", "gate"),
    ],
    ids=["codes", "indicators", "gate"],
)
def test_the_command_refuses_categories_that_the_fit_has_not_seen(tmp_path, monkeypatch, options):
    rare = np.where(np.arange(600) < 3, "hermit", X["branch <b>"])
    table = pd.DataFrame({"income": X["income"], "branch": X["branch <b>"], "town": rare, "default": y})
    table.to_csv(tmp_path / "table.csv", index=False)
    arguments = ("--target", "default", *options, "--out", tmp_path / "model", "--test", tmp_path / "table.csv")
    fitted = aucross("fit", tmp_path / "table.csv", *arguments, "--no-report")
    assert fitted.exit_code == 0, fitted.stderr
    predicted = aucross("predict", tmp_path / "model", tmp_path / "table.csv", "--out", tmp_path / "decisions.csv")
    assert predicted.exit_code == 0, predicted.stderr
    apps = []
    monkeypatch.setattr("uvicorn.Server.run", lambda self, sockets: apps.append(self.config.app))
    assert aucross("serve", tmp_path / "model", "--port", 0).exit_code == 0
    rows = table.drop(columns="default").to_dict("records")
    with Client(apps[0]) as client:
        answers = client.post("/decisions", json={"rows": rows}).json()["decisions"]
        unseen = client.post("/decision", json={"row": {**rows[0], "branch": "martian"}})
        missing = client.post("/decision", json={"row": {**rows[0], "branch": None}})
        # Which rare ones there were the file does not say: they count as at the fit, and a person decides.
        among_rare = client.post("/decision", json={"row": {**rows[0], "town": "martian"}})
    decided = [each["decision"] for each in answers]
    assert decided[3:] == pd.read_csv(tmp_path / "decisions.csv")["decision"].tolist()[3:]
    assert {*decided[:3], among_rare.json()["decision"]} == {"review"}
    assert "town 'martian' is new or rare" in among_rare.json()["reason"]
    assert unseen.status_code == 422
    (detail,) = unseen.json()["details"]
    assert detail.startswith("row.branch: must be one of the categories of the fit, north, south, west; send rows")
    assert (missing.status_code, among_rare.status_code) == (200, 200)


# ---- a score that is a column ----

rng = np.random.default_rng(3)
RISK = rng.normal(size=1500)
POINTS = pd.DataFrame({"points": np.round(450 - 40 * RISK)})
DEFAULTS = (rng.random(1500) < 1 / (1 + np.exp(1.5 - RISK))).astype(int)
VENDOR = AUCross(ScoreColumn("points", threshold=420, higher_is_positive=False), coverage=0.8, random_state=0)
VENDOR.fit(POINTS, DEFAULTS)


def test_the_example_is_one_that_a_column_of_probabilities_takes():
    probability = clf.predict_proba(X)[:, [1]]
    scores = PlugInAUC(ScoreColumn("p"), coverage=0.8, random_state=0).fit(pd.DataFrame(probability, columns=["p"]), y)
    model = ServedModel(scores, {"p": "number"}, ("0", "1"), required="p")
    with Client(make_app(model)) as client:
        assert client.post("/decision", json={"row": model.example_row()}).json()["score"] == 0.5


def test_a_score_in_points_is_answered_in_points_and_logged_as_a_distance_from_the_threshold(tmp_path):
    lower, upper = sorted(VENDOR.estimator_.column_value([VENDOR.band().lower, VENDOR.band().upper]).tolist())
    sent = [lower - 1, lower, upper, upper + 1]
    model = ServedModel(VENDOR, {"points": "number"}, ("paid", "default"))
    with client_of(model, tmp_path) as client:
        answers = client.post("/decisions", json={"rows": [{"points": points} for points in sent]}).json()["decisions"]
        page = client.get("/docs").text
    assert [each["score"] for each in answers] == sent
    assert {(each["lower"], each["upper"]) for each in answers} == {(lower, upper)}
    assert [each["decision"] for each in answers] == ["automatic", "review", "review", "automatic"]
    for points, answer in zip(sent[1:3], answers[1:3], strict=True):
        range_ = f"score {points:.0f} lies in the review range {lower:.0f} to {upper:.0f}; "
        assert answer["reason"].startswith(range_)
    assert [answer["reason"] is None for answer in answers] == [True, False, False, True]
    assert "&quot;points&quot;: 340.0" in page  # the lowest of the fit
    assert recorded(tmp_path / "cases.db")["score"].tolist() == [420 - points for points in sent]


@pytest.mark.parametrize("points", [45.0, 900.0, -450.0])
def test_points_of_another_unit_are_not_decided_one_by_one(points):
    model = ServedModel(VENDOR, {"points": "number"}, ("paid", "default"))
    with Client(make_app(model)) as client:
        alone = client.post("/decision", json={"row": {"points": points}}).json()
        rows = [{"points": each} for each in (points, 350.0, *[450.0] * 10)]
        answers = client.post("/decisions", json={"rows": rows}).json()["decisions"]
    for answer in (alone, answers[0]):
        assert (answer["decision"], answer["score"]) == ("review", None)
        assert answer["reason"] == "the case has no score: it is missing, or far from all of the fit"
    assert answers[1]["decision"] == "automatic"


def test_where_no_points_go_to_review_there_are_no_ends():
    model = ServedModel(VENDOR, {"points": "number"}, ("paid", "default"))
    with Client(make_app(model, ServeOptions(allow_coverage=True))) as client:
        full = client.post("/decision", json={"row": {"points": 400}, "coverage": 1}).json()
    assert (full["decision"], full["lower"], full["upper"], full["reason"]) == ("automatic", None, None, None)


def test_points_in_a_tie_that_is_cut_are_placed_as_they_were_decided():
    split = AUCross(VENDOR.estimator, coverage=0.8, ties="split", random_state=0).fit(POINTS, DEFAULTS)
    model = ServedModel(split, {"points": "number"}, ("paid", "default"))
    with Client(make_app(model)) as client:
        rows = POINTS[:300].to_dict("records")
        answers = client.post("/decisions", json={"rows": rows}).json()["decisions"]
    assert [each["decision"] == "review" for each in answers] == [
        "review range" in (each["reason"] or "") for each in answers
    ]
    np.testing.assert_allclose([each["score"] for each in answers], POINTS["points"][:300], rtol=1e-8)


def test_a_case_without_a_score_goes_to_review_as_predict_sends_it(tmp_path):
    model = ServedModel(VENDOR, {"points": "number"}, ("paid", "default"))
    rows = [{"points": None}, {"points": 600}, {"points": None}, {"points": 300}]
    with client_of(model, tmp_path) as client:
        answers = client.post("/decisions", json={"rows": rows, "ids": list("abcd")}).json()["decisions"]
        alone = client.post("/decision", json={"row": {"points": None}, "coverage": 1, "id": "e"}).json()
        text = client.get("/metrics").text
        column = client.get("/openapi.json").json()["components"]["schemas"]["Row"]["properties"]["points"]
    assert [(each["id"], each["decision"]) for each in answers] == [
        ("a", "review"),
        ("b", "automatic"),
        ("c", "review"),
        ("d", "automatic"),
    ]
    assert [each["prediction"] for each in answers] == [None, "paid", None, "default"]
    assert [each["score"] for each in answers] == [None, 600, None, 300]
    for each in (answers[0], answers[2], alone):
        assert each["reason"] == "the case has no score: it is missing, or far from all of the fit"
        assert [each[name] for name in ("probability", "lower", "upper")] == [None] * 3
    assert alone["decision"] == "review"
    log = recorded(tmp_path / "cases.db")
    assert log["why"].fillna("").tolist() == ["no score", "", "no score", "", "no score"]
    assert log["decision"].tolist() == ["review", "automatic", "review", "automatic", "review"]
    assert log["score"].isna().tolist() == [True, False, True, False, True]
    assert log["coverage"].tolist() == [0.8, 0.8, 0.8, 0.8, 1.0]
    assert column["description"] == "a number, or null if it is missing: then the row goes to review"
    # What is watched has a score, as the rows of the fit have.
    assert metric(text, "aucross_coverage") == 1.0
    assert metric(text, "aucross_rows_without_score_total") == 3
    assert metric(text, 'aucross_decisions_total{decision="review"}') == 3


def test_requests_with_and_without_scores_that_wait_together_get_their_own_rows_back():
    model = ServedModel(VENDOR, {"points": "number"}, ("paid", "default"))

    def request(name, coverage, *points):
        return (
            name,
            [f"{name}{row}" for row in range(len(points))],
            [model.row_type(points=one) for one in points],
            coverage,
        )

    requests = (request("a", 0.8, None, 500), request("b", 0.5, None), request("c", 0.8, 450, None, 300))
    outcomes = decided_together(Decider(model), *requests)
    assert [outcome.has_score.tolist() for outcome in outcomes] == [[False, True], [False], [True, False, True]]
    scores = [None if outcome.scored is None else outcome.scored.score.tolist() for outcome in outcomes]
    assert scores == [[-80.0], None, [-30.0, 120.0]]
    for outcome in outcomes:
        assert not outcome.decisions.selected[~outcome.has_score].any()


def test_a_score_that_is_a_position_may_be_missing_too():
    table = POINTS.assign(other=1.0)[["other", "points"]]
    by_place = AUCross(ScoreColumn(1, threshold=420, higher_is_positive=False), random_state=0).fit(table, DEFAULTS)
    model = ServedModel(by_place, {"other": "number", "points": "number"}, ("paid", "default"))
    with Client(make_app(model)) as client:
        answer = client.post("/decision", json={"row": {"other": 1, "points": None}}).json()
    assert answer["decision"] == "review"


class Server:
    """A server in a process of its own, on a port that the system chose."""

    def __init__(self, model_file, log, *options):
        command = [sys.executable, "-m", "aucross", "serve", model_file, "--port", 0, "--record", log, *options]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            [str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        )
        line = self.process.stdout.readline()
        assert line.startswith("Deciding at http://127.0.0.1:"), line + self.process.stderr.read()
        self.port = int(re.search(r"127\.0\.0\.1:(\d+)", line)[1])

    def kill(self, number=signal.SIGKILL):
        self.process.send_signal(number)
        self.process.communicate(timeout=60)


def ask_until_killed(port, worker, answers, enough):
    """Ask for one row after the other; note what was acknowledged."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    with closing(connection):
        ask_on(connection, worker, answers, enough)


def ask_on(connection, worker, answers, enough):
    for number in range(10_000):
        name = f"{worker}-{number}"
        body = json.dumps({"row": ROWS[number % 600], "id": name})
        try:
            connection.request("POST", "/decision", body, JSON)
            answer = json.loads(connection.getresponse().read())
        except (OSError, http.client.HTTPException, ValueError):
            return
        answers[name] = answer["decision"]
        if len(answers) >= 40:
            enough.set()


def test_killed_under_load_a_server_loses_no_decision_that_it_has_given(model_file, tmp_path):
    server = Server(model_file, tmp_path / "cases.db")
    answers, enough = {}, threading.Event()
    with ThreadPoolExecutor(8) as pool:
        for worker in range(8):
            pool.submit(ask_until_killed, server.port, worker, answers, enough)
        is_enough = enough.wait(60)
        server.kill()
    assert is_enough
    assert len(answers) >= 40
    with Record.open(tmp_path / "cases.db") as record:
        assert record.verify().is_clean
    log = recorded(tmp_path / "cases.db").set_index("id")["decision"]
    assert {name: log.get(name) for name in answers} == answers
    # The next server goes on where this one was killed.
    again = Server(model_file, tmp_path / "cases.db")
    connection = http.client.HTTPConnection("127.0.0.1", again.port, timeout=60)
    with closing(connection):
        connection.request("POST", "/decision", json.dumps({"row": ROWS[0], "id": "after"}), JSON)
        status = connection.getresponse().status
    again.kill(signal.SIGTERM)
    assert status == 200
    assert "after" in set(recorded(tmp_path / "cases.db")["id"])
