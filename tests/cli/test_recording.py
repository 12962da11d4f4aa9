"""The month from the shell: decide into a record, work through it, look at it, keep it."""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from aucross import CoverageKeeper, PlugInAUC, load
from aucross.cli.recording import _all_rows
from aucross.cli.schema import features_of, load_model
from aucross.cli.table_files import open_table
from aucross.cluster import write_decisions
from aucross.datasets import make_credit
from aucross.record import Record, watch
from aucross.record.decided_rows import decided_rows
from tests.cli.commands import QUICK, aucross

pytest.importorskip("sqlalchemy", reason='needs SQLAlchemy: pip install "aucross[record]"')
pytestmark = pytest.mark.usefixtures("no_column_reasons")


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A model, and the tables of a month: cases, reviews and outcomes."""
    folder = tmp_path_factory.mktemp("recording")
    loans = make_credit(1600, random_state=0).frame
    loans.insert(0, "loan", [f"{number:06d}" for number in range(len(loans))])
    loans[:1200].to_csv(folder / "loans.csv", index=False)
    october = loans[1200:].reset_index(drop=True)
    october.drop(columns="default").to_csv(folder / "october.csv", index=False)
    reviews = pd.DataFrame({"id": october["loan"][:40], "reviewer": "ann", "answer": october["default"][:40]})
    reviews.assign(colour="red").to_csv(folder / "reviews.csv", index=False)
    outcomes = pd.DataFrame({"id": october["loan"], "outcome": october["default"], "known_at": "2027-10-01"})
    outcomes.to_csv(folder / "outcomes.csv", index=False)
    options = ("--target", "default", "--id", "loan", "--coverage", "0.8", "--out", folder / "model.aucross")
    assert aucross("fit", folder / "loans.csv", *options, *QUICK).exit_code == 0
    return folder


@pytest.fixture
def folder(fitted, tmp_path, monkeypatch):
    for path in fitted.iterdir():
        shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def told(*arguments, code=0):
    """The JSON document of a command."""
    result = aucross(*arguments, "--json")
    assert result.exit_code == code, result.stderr
    return json.loads(result.stdout)


def decided(*more):
    return told("predict", "model.aucross", "october.csv", "--record", "cases.db", "--batch", "2026-10", *more)


def test_the_monitor_says_which_batches_it_does_not_count(folder):
    decided()
    assert told("monitor", "cases.db", "model.aucross")["notes"] == []
    decide = ("predict", "model.aucross", "october.csv", "--record", "cases.db", "--batch", "few", "--capacity", "9")
    assert told(*decide)["review"] == 9
    watched = told("monitor", "cases.db", "model.aucross")
    assert watched["tests"]["coverage"]["n_values"] == 400
    assert watched["notes"] == [
        "1 of 2 batches are not counted: another model, rule or coverage, or a capacity, decided them"
    ]


def test_the_monitor_tells_the_level_of_a_keeper(folder):
    clf, schema = load_model(Path("model.aucross"))
    october = features_of(_all_rows(open_table(Path("october.csv")), list(schema.columns)), schema)
    decisions = CoverageKeeper(clf).decide(october)
    ids, has_score = [str(row) for row in range(len(october))], np.ones(len(october), dtype=bool)
    rows = decided_rows("kept", clf, ids, decisions, scored=decisions.scored, has_score=has_score, labels=["0", "1"])
    with Record.open("cases.db") as record:
        record.write([rows])
    n_selected = int(decisions.selected.sum())
    told_of = told("monitor", "cases.db", "model.aucross")
    assert told_of["keeper_level"] == pytest.approx(0.8 + 0.01 * (400 * 0.8 - n_selected))
    assert told_of["tests"]["coverage"]["mean"] == clf.decide(october).selected.mean()
    shown = aucross("monitor", "cases.db", "model.aucross").stdout
    assert f"A keeper asks for a coverage of {told_of['keeper_level']:.3f} to keep 0.800 of 400 cases" in shown
    decided()
    assert told("monitor", "cases.db", "model.aucross")["keeper_level"] == told_of["keeper_level"]


def test_a_batch_without_rows_and_labels_of_other_words(folder):
    X, y = make_classification(300, flip_y=0.3, random_state=0)
    clf = PlugInAUC(LogisticRegression(), coverage=0.8, random_state=0).fit(X, y)
    with Record.open("cases.db") as record:
        record.decide(clf, X[:0], batch="none", ids=[])
        record.decide(clf, X[:9], batch="some", ids=range(9))
        record.add_outcomes([{"id": 1, "outcome": 1}])
        with pytest.raises(ValueError, match=r"labels must be what the record calls .* it has outcomes \['1'\]"):
            watch(record, clf, labels=["no", "yes"])
    assert [batch["n_rows"] for batch in told("show", "cases.db")["batches"]] == [0, 9]


def test_an_audit_from_the_shell(folder, monkeypatch):
    refused = aucross("predict", "model.aucross", "october.csv", "--out", "decisions.csv", "--audit", "0.5")
    assert "--audit" in refused.stderr
    asked = ("predict", "model.aucross", "october.csv", "--record", "cases.db", "--batch", "b", "--audit", "0.5")
    assert "AUCROSS_AUDIT_KEY_FILE" in aucross(*asked).stderr
    Path("key").write_bytes(bytes(range(32)))
    monkeypatch.setenv("AUCROSS_AUDIT_KEY_FILE", "key")
    made = told(*asked, "--out", "decisions.csv")
    written = pd.read_csv("decisions.csv")
    waits = written["decision"] == "review"
    assert waits.sum() == made["review"] > 150
    assert written.loc[waits].drop(columns=["id", "decision"]).isna().all(axis=None)
    assert written.loc[~waits, "score"].notna().all()
    told("queue", "cases.db", "--out", "queue.csv")
    assert not {"why", "reason", "score", "rank"} & set(pd.read_csv("queue.csv"))
    assert told("audit", "cases.db")["problem"].startswith("no audited case has a label yet")
    told("add-outcomes", "cases.db", "outcomes.csv")
    found = told("audit", "cases.db", "--labels", "outcomes", "--model", "model.aucross", "--anytime")
    assert found["low"] < found["auc"] < found["high"]
    assert "labels drawn evenly" in found["sentence"]
    told("export", "cases.db", "--out", "blind.csv", "--blind")
    blind = pd.read_csv("blind.csv")
    assert blind.loc[blind["decision"] == "review", "score"].isna().all()


def test_a_strip_and_the_coverage_that_is_earned_from_the_shell(folder, monkeypatch):
    refused = aucross("predict", "model.aucross", "october.csv", "--out", "decisions.csv", "--strip", "0.2")
    assert "--strip" in refused.stderr
    Path("key").write_bytes(bytes(range(32)))
    monkeypatch.setenv("AUCROSS_AUDIT_KEY_FILE", "key")
    drawn = ("--coverage", "0.6", "--audit", "0.5", "--strip", "0.2")
    told(
        *("predict", "model.aucross", "october.csv", "--record", "cases.db", "--batch", "b", "--out", "decisions.csv"),
        *drawn,
    )
    written = pd.read_csv("decisions.csv")
    assert (written["why"] == "strip").any()  # of automatic cases; nothing is told of those that wait
    assert written.loc[written["decision"] == "review", "why"].isna().all()
    n_automatic = (written["decision"] == "automatic").sum()
    assert f"{len(written)}    {n_automatic} " in aucross("show", "cases.db").stdout
    told("add-outcomes", "cases.db", "outcomes.csv")
    earned = told("next-coverage", "cases.db", "model.aucross", "--auc", "0.99")
    assert earned["sentence"].startswith("Keep 60% automatic") or earned["sentence"].startswith("Narrow from 60%")
    assert len(earned["steps"]) == 6


def test_a_month_from_the_shell(folder):
    first = decided()
    assert (first["rows"], first["is_new"]) == (400, True)
    again = decided("--out", "decisions.csv")
    assert (again["is_new"], again["last_hash"]) == (False, first["last_hash"])
    queue = told("queue", "cases.db", "--out", "queue.csv")
    assert queue["cases"] == first["review"] == len(pd.read_csv("queue.csv"))
    reviews = told("add-reviews", "cases.db", "reviews.csv")
    assert (reviews["added"], reviews["notes"]) == (40, ["columns that are not read: colour"])
    assert told("add-reviews", "cases.db", "reviews.csv")["known"] == 40
    assert told("add-outcomes", "cases.db", "outcomes.csv")["added"] == 400
    watched = told("monitor", "cases.db", "model.aucross")
    assert watched["tests"]["coverage"]["n_values"] == 400
    assert watched["tests"]["auc"]["n_values"] > 20
    shown = told("show", "cases.db")
    assert [batch["name"] for batch in shown["batches"]] == ["2026-10"]
    verified = told("verify", "cases.db", "--expect", first["last_hash"])
    assert verified["last_hash"] == shown["last_hash"]
    told("export", "cases.db", "--out", "cases.parquet")
    assert len(pd.read_parquet("cases.parquet")) == 400
    assert told("backup", "cases.db", "copy.db")["last_hash"] == verified["last_hash"]
    assert told("restore", "copy.db", "other.db")["last_hash"] == verified["last_hash"]
    assert told("erase", "cases.db", "001203")["erased"] == 1
    assert told("erase", "cases.db", "--older-than", "0")["erased"] == 399
    told("verify", "cases.db", "--expect", first["last_hash"])


def test_rows_unlike_those_of_the_fit_go_to_review_and_the_record_says_why(folder):
    found = decided("--out", "recorded.csv")
    recorded = pd.read_csv("recorded.csv")
    plain = told("predict", "model.aucross", "october.csv", "--out", "plain.csv")
    would = pd.read_csv("plain.csv")["decision"]
    is_sent = recorded["why"] == "unfamiliar"
    assert is_sent.sum() > 0
    assert ((recorded["decision"] == "review") == (is_sent | (would == "review"))).all()
    assert recorded["reason"][is_sent].str.startswith("unlike the rows of the fit: ").all()
    assert any(note.startswith(f"{is_sent.sum()} rows are unlike those of the fit") for note in found["notes"])
    # Without a record the band decides them, and is not silent about it.
    assert plain["automatic_unfamiliar"] == is_sent.sum()
    assert any(note.startswith(f"{is_sent.sum()} of the automatic rows are unlike") for note in plain["notes"])


def test_decisions_of_the_record_are_those_of_the_model(folder):
    decided("--out", "recorded.csv", "--decide-unfamiliar")
    plain = told("predict", "model.aucross", "october.csv", "--out", "plain.csv")
    recorded = pd.read_csv("recorded.csv")
    expected = pd.read_csv("plain.csv")
    assert recorded["decision"].tolist() == expected["decision"].tolist()
    assert recorded["prediction"].tolist() == expected["prediction"].tolist()
    assert recorded["score"].tolist() == pytest.approx(expected["score"].tolist(), rel=1e-12)
    facts, plain_facts = (json.loads((folder / f"{name}.csv.json").read_text()) for name in ("recorded", "plain"))
    assert facts["batch"] == "2026-10"
    for name, known in (("recorded", facts), ("plain", plain_facts)):
        assert known["sha256"] == hashlib.sha256((folder / f"{name}.csv").read_bytes()).hexdigest()
    assert facts["bands"] == plain_facts["bands"]
    for name in ("model_fingerprint", "rule_fingerprint", "coverage"):
        assert facts[name] == plain_facts[name]
    assert plain["rows"] == 400


def test_a_recalibrated_model_is_a_model_file_without_the_figures_of_the_fit(folder):
    told("recalibrate", "model.aucross", "october.csv", "--out", "october.aucross")
    before, after = load("model.aucross"), load("october.aucross")
    assert after.band() != before.band()
    shown = told("show", "october.aucross")
    assert shown["placed_on"] == {"table": "october.csv", "rows": 400}
    assert "evaluation" not in shown
    assert told("predict", "october.aucross", "october.csv", "--out", "d.csv")["coverage"] == pytest.approx(
        0.8, abs=0.01
    )
    refused = aucross("predict", "october.aucross", "october.csv", "--record", "cases.db", "--batch", "x")
    assert refused.exit_code == 0
    result = aucross("predict", "model.aucross", "october.csv", "--record", "cases.db", "--batch", "x")
    assert result.exit_code == 1
    assert "batch 'x' was decided with rule" in result.stderr


def test_a_model_is_recalibrated_with_labels_of_a_column_or_of_the_record(folder):
    october, outcomes = pd.read_csv("october.csv", dtype={"loan": str}), pd.read_csv("outcomes.csv")
    labels = outcomes["outcome"].where(outcomes.index % 2 == 0)
    october.assign(default=labels).to_csv("labelled.csv", index=False)
    options = ("--target", "default", "--out", "column.aucross")
    made = told("recalibrate", "model.aucross", "labelled.csv", *options)
    assert made["placed_on"] == {"table": "labelled.csv", "rows": 400, "labelled": 200}
    decided()
    outcomes[outcomes.index % 2 == 0].to_csv("half.csv", index=False)
    pd.read_csv("half.csv").assign(id=october["loan"][::2].tolist()).to_csv("half.csv", index=False)
    told("add-outcomes", "cases.db", "half.csv")
    options = ("--record", "cases.db", "--out", "record.aucross")
    made = told("recalibrate", "model.aucross", "october.csv", *options)
    assert made["placed_on"] == {"table": "october.csv", "rows": 400, "labelled": 200}
    told("recalibrate", "model.aucross", "october.csv", "--out", "without.aucross")
    assert load("column.aucross").band() == load("record.aucross").band() != load("without.aucross").band()
    assert told("show", "record.aucross")["placed_on"]["labelled"] == 200
    told("predict", "model.aucross", "october.csv", "--record", "cases.db", "--batch", "later", "--coverage", "0.5")
    one = pd.DataFrame({"id": [october["loan"][0]], "outcome": [1 - outcomes["outcome"][0]], "batch": ["later"]})
    one.to_csv("one.csv", index=False)
    told("add-outcomes", "cases.db", "one.csv")
    refused = aucross("recalibrate", "model.aucross", "october.csv", *options)
    assert "has other outcomes in other batches; name one with --batch" in refused.stderr
    made = told("recalibrate", "model.aucross", "october.csv", *options, "--batch", "later")
    assert made["placed_on"]["labelled"] == 1
    october.assign(default="maybe").to_csv("wrong.csv", index=False)
    refused = aucross("recalibrate", "model.aucross", "wrong.csv", "--target", "default", "--out", "x.aucross")
    assert refused.exit_code == 1
    assert "labels must be 0 or 1, or empty where they are unknown, got 'maybe'" in refused.stderr


def test_decisions_of_a_folder_are_recorded_from_the_shell(folder):
    features = pd.DataFrame(np.random.default_rng(0).normal(size=(400, 2)), columns=["a", "b"])
    labels = pd.read_csv("outcomes.csv")["outcome"]
    clf = PlugInAUC(LogisticRegression(), coverage=0.8, random_state=0).fit(features, labels)
    (folder / "rows").mkdir()
    features.assign(loan=range(400)).to_parquet("rows/a.parquet")
    write_decisions(clf, "rows", "decided", columns=["loan"])
    options = ("--batch", "cluster", "--id", "loan", "--classes", "0,1")
    assert told("import-decisions", "cases.db", "decided", *options)["rows"] == 400
    assert told("import-decisions", "cases.db", "decided", *options)["notes"] != []
    with Record.open("cases.db") as record:
        assert record.cases("cluster").num_rows == 400
    assert aucross("import-decisions", "cases.db", "rows", *options).exit_code == 1


def test_a_shadow_model_is_compared_by_one_command(folder):
    told("recalibrate", "model.aucross", "october.csv", "--out", "october.aucross")
    decided("--shadow", "october.aucross", "--keep", "region")
    other = ("--record", "cases.db", "--batch", "2026-10", "--keep", "region", "--shadow", "model.aucross")
    refused = aucross("predict", "model.aucross", "october.csv", *other)
    assert refused.exit_code == 1
    assert "batch '2026-10' was decided with shadow" in refused.stderr
    decided("--keep", "region")  # without a shadow it is the batch as it is recorded
    (compared,) = told("compare-shadow", "cases.db")["batches"]
    assert compared["rows"] == compared["same_prediction"] == 400
    assert compared["shadow_automatic"] == pytest.approx(320, abs=4)
    with Record.open("cases.db") as record:
        assert set(json.loads(record.cases().to_pydict()["kept"][0])) == {"region"}


FAULTS = [
    (("predict", "model.aucross", "october.csv"), "--out must name the file"),
    (("predict", "model.aucross", "october.csv", "--batch", "a"), "--record and --batch belong together"),
    (("predict", "model.aucross", "october.csv", "--out", "x.csv", "--keep", "age"), "belong together"),
    (
        ("predict", "model.aucross", "october.csv", "--record", "r.db", "--batch", "a", "--id", "row"),
        "--id: a record needs",
    ),
    (("queue", "no.db"), "there is no record at no.db"),
    (("verify", "october.csv"), "it is no SQLite database"),
    (("queue", "postgresql://a:secret@b/c"), "must not be an argument"),
    (("show", "env:NOT_SET"), "there is no environment variable NOT_SET"),
    (("erase", "cases.db"), "name the id of a person"),
    (("erase", "cases.db", "nobody"), "has no case 'nobody'"),
    (("queue", "cases.db", "--batch", "1999"), "there is no batch '1999'; the first ones are '2026-10'"),
    (("compare-shadow", "cases.db"), "has no decisions of a shadow model"),
    (("add-outcomes", "cases.db", "october.csv"), "must have the columns id, outcome, and has no id, outcome"),
    (("recalibrate", "model.aucross", "october.csv", "--out", "x.csv"), "name a model file"),
]


def test_what_cannot_be_done_is_said_in_one_line(folder):
    decided()
    for arguments, said in FAULTS:
        result = aucross(*arguments)
        assert result.exit_code in (1, 2), arguments
        assert said in result.stderr, f"{arguments}: {result.stderr}"
        assert "secret" not in result.stderr
        assert "Traceback" not in result.stderr
    assert not (folder / "no.db").exists()


def test_faulty_rows_stop_the_file_or_are_left_out_as_the_user_chose(folder):
    decided()
    pd.DataFrame({"id": ["001201", "gone"], "outcome": [1, 1]}).to_csv("some.csv", index=False)
    result = aucross("add-outcomes", "cases.db", "some.csv")
    assert result.exit_code == 1
    assert "nothing was added: row 2 ('gone'): no decision on this id is recorded" in result.stderr
    added = told("add-outcomes", "cases.db", "some.csv", "--skip-faulty")
    assert (added["added"], len(added["refused"])) == (1, 1)


def test_a_changed_record_ends_verify_with_an_error(folder):
    decided()
    connection = sqlite3.connect("cases.db")
    connection.execute("DROP TRIGGER decisions_update")
    connection.execute("UPDATE decisions SET decision = 'automatic' WHERE decision = 'review'")
    connection.commit()
    connection.close()
    result = aucross("verify", "cases.db")
    assert result.exit_code == 1
    assert "(decisions) was edited" in result.stderr
