"""Exports, imports and backups, on both databases."""

from __future__ import annotations

import json
import os
from uuid import uuid4

import numpy as np
import pandas as pd
import pyarrow.csv
import pyarrow.parquet
import pytest
from sklearn.linear_model import LogisticRegression
from sqlalchemy import text

from aucross import AUCross
from aucross.cluster import write_decisions
from aucross.record import Record, RecordError, transfer

READERS = {
    ".csv": lambda path: pd.read_csv(path, dtype={"id": str, "prediction": str}, converters={"score": float}),
    ".parquet": pd.read_parquet,
    ".arrow": lambda path: pyarrow.ipc.open_file(path).read_all().to_pandas(),
}


@pytest.fixture
def filled(record, clf, rows):
    ids = [f"A-{row}" for row in range(30)]
    ids[3] = "=1+1"
    record.decide(clf, rows[0][:30], batch="2026-10", ids=ids, keep={"name": ["=SUM(A1)"] * 30})
    record.decide(clf, rows[0][30:40], batch="2026-11", ids=range(10), capacity=4)
    record.add_reviews([{"id": "A-1", "reviewer": "ann", "answer": 1, "note": "n"}])
    record.add_outcomes([{"id": "A-1", "outcome": 1}])
    record.erase("A-2")
    return record


@pytest.mark.parametrize("ending", READERS)
def test_an_export_holds_the_cases_and_says_what_decided(filled, tmp_path, ending):
    beside = filled.export(tmp_path / f"cases{ending}")
    table = READERS[ending](tmp_path / f"cases{ending}")
    expected = filled.cases().to_pandas()
    assert list(table.columns) == list(expected.columns)
    assert os.stat(tmp_path / f"cases{ending}").st_mode & 0o777 == 0o600
    np.testing.assert_array_equal(table["score"], expected["score"])
    assert table["id"].tolist()[3] == ("'=1+1" if ending == ".csv" else "=1+1")
    facts = json.loads(beside.read_text())
    assert beside.name == f"cases{ending}.json"
    assert facts["last_hash"] == str(filled.head())
    assert [batch["name"] for batch in facts["batches"]] == ["2026-10", "2026-11"]
    assert facts["batches"][0]["model_fingerprint"] == expected["model_fingerprint"][0]
    assert (facts["rows"], "signature" in facts) == (40, False)


def test_an_export_is_of_one_state(filled, tmp_path, clf, rows, monkeypatch):
    head_of = transfer.head_of

    def another_batch_meanwhile(connection):
        found = head_of(connection)
        monkeypatch.setattr(transfer, "head_of", head_of)
        filled.decide(clf, rows[0][:5], batch="meanwhile", ids=range(5))
        return found

    before, n_cases = filled.head(), filled.cases().num_rows
    monkeypatch.setattr(transfer, "head_of", another_batch_meanwhile)
    facts = json.loads(filled.export(tmp_path / "cases.parquet").read_text())
    assert "meanwhile" not in {batch["name"] for batch in facts["batches"]}
    assert (facts["last_hash"], facts["rows"]) == (str(before), n_cases)


def test_an_export_of_one_batch_is_signed_where_there_is_a_key(filled, tmp_path, monkeypatch):
    (tmp_path / "key").write_text("0123456789abcdef0123")
    monkeypatch.setenv("AUCROSS_KEY_FILE", str(tmp_path / "key"))
    facts = json.loads(filled.export(tmp_path / "cases.csv", "2026-11").read_text())
    assert facts["rows"] == 10
    assert len(facts["signature"]) == 64
    with pytest.raises(ValueError, match=r"must end in \.csv, \.parquet, \.arrow, got 'cases\.xlsx'"):
        filled.export(tmp_path / "cases.xlsx")
    with pytest.raises(LookupError, match="there is no batch '2026-12'; the first ones are '2026-10', '2026-11'"):
        filled.export(tmp_path / "cases.csv", "2026-12")


def test_decisions_of_a_folder_are_imported_once(record, tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(600, 3)), columns=["a", "b", "c"])
    y = (X["a"] + rng.normal(size=600) > 0).astype(int)
    clf = AUCross(LogisticRegression(), coverage=0.8, random_state=0).fit(X, y)
    (tmp_path / "rows").mkdir()
    for part in range(3):
        rows = X[200 * part : 200 * part + 200].assign(case=range(200 * part, 200 * part + 200))
        rows.to_parquet(tmp_path / "rows" / f"{part}.parquet")
    write_decisions(clf, tmp_path / "rows", tmp_path / "decided", columns=["case"])
    options = {"batch": "cluster", "id": "case", "classes": [0, 1]}
    assert record.import_decisions(tmp_path / "decided", **options).is_new
    assert not record.import_decisions(tmp_path / "decided", **options).is_new
    cases = record.cases().to_pydict()
    assert cases["decision"] == ["automatic" if selected else "review" for selected in clf.select(X)]
    np.testing.assert_allclose(cases["score"], clf.scored(X).score, rtol=1e-12)
    assert record.add_outcomes([{"id": 7, "outcome": 1}]).n_added == 1
    assert record.verify().is_clean
    with pytest.raises(ValueError, match="id must name a column of the decisions, got 'name'"):
        record.import_decisions(tmp_path / "decided", batch="b", id="name", classes=[0, 1])
    (tmp_path / "decided" / "1.parquet").unlink()
    with pytest.raises(ValueError, match=r"is not finished: 1 parts are missing, such as 1\.parquet"):
        record.import_decisions(tmp_path / "decided", batch="b", id="case", classes=[0, 1])
    with pytest.raises(ValueError, match="must be a folder of decisions"):
        record.import_decisions(tmp_path / "rows", **options)


@pytest.mark.parametrize("to", ["sqlite", "postgresql"])
def test_a_backup_is_the_same_record_in_any_database(filled, tmp_path, monkeypatch, request, to, clf, rows):
    head = filled.backup(tmp_path / "copy.db")
    assert head == filled.head()
    assert os.stat(tmp_path / "copy.db").st_mode & 0o777 == 0o600
    source = tmp_path / "restored.db"
    if to == "postgresql":
        source = f"env:RESTORED_{uuid4().hex}"
        monkeypatch.setenv(source[4:], request.getfixturevalue("server").new_database())
    with Record.restore(tmp_path / "copy.db", source) as restored:
        assert restored.verify(head).is_clean
        assert restored.cases().equals(filled.cases())
        restored.decide(clf, rows[0][:5], batch="next", ids=range(100, 105))
        assert restored.verify(head).is_clean
        with pytest.raises(RecordError, match="nothing of a record is changed"), restored.appending() as appending:
            appending.connection.execute(text("DELETE FROM decisions"))
    with pytest.raises(RecordError, match="holds a record already"):
        Record.restore(tmp_path / "copy.db", source)
    assert sorted(path.name for path in tmp_path.glob("*copy*")) == ["copy.db"]


def test_a_backup_overwrites_nothing_and_copies_no_changed_record(tmp_path, clf, rows):
    with Record.open(tmp_path / "cases.db") as record:
        record.decide(clf, rows[0][:5], batch="a", ids=range(5))
        (tmp_path / "there.db").write_text("mine")
        with pytest.raises(RecordError, match="is there already"):
            record.backup(tmp_path / "there.db")
        with record.engine.begin() as connection:
            connection.execute(text("DROP TRIGGER decisions_update"))
            connection.execute(text("UPDATE decisions SET score = 0.5"))
        with pytest.raises(RecordError, match="the record is not as it was written: event 2"):
            record.backup(tmp_path / "copy.db")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cases.db", "there.db"]
