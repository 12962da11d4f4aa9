"""The record on SQLite and on PostgreSQL: the same tests on both."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import stat
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import psycopg
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sqlalchemy import event, text

from aucross import AUCross, ScoreColumn
from aucross.record import Record, RecordError, canonical, chain, database
from aucross.record.canonical import canonical_rows
from aucross.record.record_tables import APPENDED, CASE_COLUMNS, EVENTS, VERSION, batches, told
from tests.record.postgres_server import PASSWORD


def decide(record, clf, rows, batch="2026-10", n=60, **options):
    return record.decide(clf, rows[0][:n], batch=batch, ids=[f"A-{row}" for row in range(n)], **options)


def changed(source, statements, monkeypatch=None):
    """Change a record behind its back, as somebody with all rights could: without the triggers."""
    record = Record.open(source)
    with record.engine.connect() as connection:
        if connection.dialect.name == "sqlite":
            names = connection.execute(text("SELECT name FROM sqlite_master WHERE type = 'trigger'")).scalars().all()
            kept = connection.execute(text("SELECT sql FROM sqlite_master WHERE type = 'trigger'")).scalars().all()
            for name in names:
                connection.execute(text(f"DROP TRIGGER {name}"))
        else:
            connection.execute(text("SET session_replication_role = replica"))
            kept = []
        for statement in statements:
            connection.execute(text(statement))
        dropped = [statement.removeprefix("DROP TABLE ") for statement in statements if "DROP TABLE" in statement]
        for statement in kept:
            if not any(f" ON {name} " in statement for name in dropped):
                connection.execute(text(statement))
        connection.commit()
    record.close()


# ---- deciding ----


def test_decisions_are_those_of_the_classifier(record, clf, rows):
    decided = decide(record, clf, rows)
    expected = clf.decide(rows[0][:60])
    np.testing.assert_array_equal(decided.selected, expected.selected)
    cases = record.cases().to_pydict()
    assert cases["id"] == [f"A-{row}" for row in range(60)]
    assert cases["selection_score"] == expected.selection_score.tolist()
    assert cases["score"] == clf.scored(rows[0][:60]).score.tolist()
    assert cases["prediction"] == [str(label) for label in clf.predict(rows[0][:60])]
    assert set(cases["lower"]) == {clf.band().lower}
    assert cases["decision"] == ["automatic" if selected else "review" for selected in expected.selected]
    assert cases["why"] == [None if selected else "band" for selected in expected.selected]
    assert list(record.cases().column_names) == list(CASE_COLUMNS)


def test_a_capacity_gives_ranks_and_reasons(record, clf, rows):
    decided = decide(record, clf, rows, capacity=7)
    assert int((~decided.selected).sum()) == 7
    queue = record.queue("2026-10").to_pydict()
    ids = np.array([f"A-{row}" for row in range(60)])
    assert queue["id"] == clf.review_queue(rows[0][:60], 7, ids=ids).id.tolist()
    cases = record.cases().to_pandas().set_index("id").loc[queue["id"]]
    assert cases["reason"].str.contains("review range").all()
    assert set(cases["why"]) == {"capacity"}


def test_an_error_of_the_driver_is_a_sentence_without_a_persons_data(record, clf, rows, monkeypatch):
    insert = chain.insert

    def without_digest(connection, waiting, **options):
        insert(connection, {table: [(*row[:-1], None) for row in rows] for table, rows in waiting.items()}, **options)

    monkeypatch.setattr(chain, "insert", without_digest)
    with pytest.raises(RecordError, match="the database refused it") as error:
        decide(record, clf, rows)
    assert "A-" not in str(error.value)
    assert record.head().transaction == 0


def test_a_batch_is_decided_once(record, clf, rows):
    first = decide(record, clf, rows)
    head = record.head()
    again = decide(record, clf, rows)
    assert (first.is_new, again.is_new) == (True, False)
    assert record.head() == head
    assert first.to_arrow().equals(again.to_arrow())
    assert record.cases().num_rows == 60


def test_few_rows_are_one_message_to_postgresql_whoever_wrote_before(server, monkeypatch, clf, rows):
    monkeypatch.setenv("RECORD_URL", server.new_database())
    sent = []

    def one(record, batch):
        return decide(record, clf, rows, batch=batch, n=2, shadow=clf, seeded={"A-1": "1"})

    with Record.open("env:RECORD_URL") as record, Record.open("env:RECORD_URL") as other:
        event.listen(record.engine, "before_cursor_execute", lambda *given: sent.append(given[2].split()[0]))
        n_sent = []
        for number in range(3):
            one(record, f"b{number}")
            n_sent.append(len(sent))
        assert n_sent[2] - n_sent[1] == n_sent[1] - n_sent[0] == 1 < n_sent[0]
        one(other, "b3")
        assert one(record, "b4").is_new  # the chain went on, and so does this record
        assert not one(record, "b1").is_new
        one(other, "b5")
        assert not one(record, "b5").is_new
        assert (record.head(), record.head().transaction) == (other.head(), 6)
        names = [f"b{number}" for number in range(6)]
        assert [batch["name"] for batch in record.batches()] == names
        assert record.verify().is_clean
        assert not one(record, "b0").is_new
    assert not re.search(r"\(b[0-9]\)", server.log())  # which names no batch, though one was sent again


def test_a_pooler_that_shares_connections_and_drops_their_settings_does_no_harm(server, monkeypatch, clf, rows):
    monkeypatch.setenv("RECORD_URL", server.new_database())
    with Record.open("env:RECORD_URL") as record:
        for number in range(9):
            decide(record, clf, rows, batch=f"b{number}", n=1)
        with record.engine.connect() as connection:
            assert connection.execute(text("SELECT count(*) FROM pg_prepared_statements")).scalar() == 0
            connection.execute(text("SET default_transaction_isolation = 'repeatable read'"))
        with record.writing() as connection:
            assert connection.execute(text("SHOW default_transaction_isolation")).scalar() == "repeatable read"
            assert connection.execute(text("SHOW transaction_isolation")).scalar() == "read committed"


def test_a_record_whose_end_was_lost_under_a_running_process_goes_on_from_what_is_there(source, clf, rows):
    with Record.open(source) as record:
        decide(record, clf, rows, batch="b0", n=1)
        decide(record, clf, rows, batch="b1", n=1)
        lost = [f"DELETE FROM {name} WHERE number > 2" for name in ("batches", "decisions")]
        lost += ["DELETE FROM personal WHERE case_number > 2", "DELETE FROM transactions WHERE number = 2"]
        changed(source, lost)
        assert decide(record, clf, rows, batch="b2", n=1).is_new
        assert record.verify().fault is None
        assert [batch["name"] for batch in record.batches()] == ["b0", "b2"]


def test_a_batch_run_again_in_another_order_gives_each_row_its_own_decision(record, clf, rows):
    first = decide(record, clf, rows)
    order = np.random.default_rng(0).permutation(60)
    again = record.decide(clf, rows[0][:60][order], batch="2026-10", ids=[f"A-{row}" for row in order])
    assert not again.is_new
    assert list(again.columns["score"]) == list(np.array(first.columns["score"])[order])


@pytest.mark.parametrize("other", ["coverage", "capacity", "inputs", "ids", "keep", "rule", "model"])
def test_a_batch_with_anything_else_is_refused_with_both(record, clf, rows, other):
    decide(record, clf, rows)
    X, ids, options, who = rows[0][:60].copy(), [f"A-{row}" for row in range(60)], {}, clf
    if other in ("coverage", "capacity"):
        options[other] = 0.7 if other == "coverage" else 5
    elif other == "inputs":
        X[7, 3] += 1e-9
    elif other == "ids":
        ids[7] = "B-7"
    elif other == "keep":
        options["keep"] = {"branch": ["north"] * 60}
    elif other == "rule":
        who = clf.recalibrate(rows[0][500:])
    else:
        who = clone(clf).fit(rows[0][1:], rows[1][1:])
    word = {"ids": "inputs", "keep": "kept columns"}.get(other, other)
    before = "coverage" if other == "capacity" else word
    head = record.head()
    with pytest.raises(ValueError, match=f"was decided with {before} .*, got {word} ") as error:
        record.decide(who, X, batch="2026-10", ids=ids, **options)
    assert "a batch is decided once" in str(error.value)
    assert record.head() == head


def test_a_batch_with_other_groups_seeded_or_unfamiliar_cases_is_refused(record, rows):
    frame = pd.DataFrame(rows[0], columns=[f"c{place}" for place in range(20)])
    groups = np.where(rows[0][:, 0] > 0, "a", "b")
    clf = AUCross(LogisticRegression(), coverage=0.8, random_state=0).fit(frame, rows[1], band_groups=groups)
    own = frame[:40].assign(c3=[99.0] + [0.0] * 39)
    options = {"band_groups": groups[:40], "seeded": {"3": "1"}, "unfamiliar": "review"}

    def again(**others):
        return record.decide(clf, own, batch="2026-10", ids=range(40), **options | others)

    assert [again().is_new, again().is_new] == [True, False]
    with pytest.raises(ValueError, match=r"was decided with inputs .*, got inputs "):
        again(band_groups=groups[:40][::-1])
    for seeded in ({"3": "0"}, {"4": "1"}, None):
        with pytest.raises(ValueError, match=r"was decided with seeded cases .*, got seeded cases "):
            again(seeded=seeded)
    with pytest.raises(ValueError, match="was decided with unfamiliar cases 1, got unfamiliar cases 0"):
        again(unfamiliar=None)


@pytest.mark.parametrize("labels", [["a"], ["a", "a"], ["a", "cannot decide"], ["a", "b\x00"], ["a", "\ud800"]])
def test_labels_that_cannot_be_told_apart_are_refused(record, clf, rows, labels):
    with pytest.raises(ValueError, match=r"labels must (be 2 different names|hold no control)"):
        decide(record, clf, rows, labels=labels)
    assert record.batches() == []


def test_doubled_ids_are_refused_and_nothing_is_written(record, clf, rows):
    with pytest.raises(ValueError, match="'a' in rows 0 and 2; drop repeated rows"):
        record.decide(clf, rows[0][:3], batch="b", ids=["a", "b", "a"])
    assert record.batches() == []


@pytest.mark.parametrize(
    ("ids", "said"),
    [
        (["a\nb", "c"], "hold no control characters"),
        (["a\x00b", "c"], "hold no control characters"),
        (["\ud800", "c"], "only what UTF-8 can write"),
        (["", "c"], "not be missing or empty"),
        ([None, "c"], "not be missing or empty"),
        (["x" * 10_001, "c"], "at most 10,000 characters"),
        (["a"], "one name per row, got 1 for 2 rows"),
    ],
)
def test_ids_that_cannot_name_a_case_are_refused_in_a_sentence(record, clf, rows, ids, said):
    with pytest.raises(ValueError, match=said):
        record.decide(clf, rows[0][:2], batch="b", ids=ids)
    assert record.batches() == []


@pytest.mark.parametrize("name", ["x" * 10_000, "=1+1", "Ünïcødé 🦆", "a'b\"c; DROP TABLE cases", "%s {} ?"])
def test_any_other_id_comes_back_as_it_was(record, clf, rows, name):
    record.decide(clf, rows[0][:2], batch="b", ids=[name, "other"], keep={name[:100]: [name, None]})
    assert record.cases().to_pydict()["id"] == [name, "other"]
    record.add_reviews([{"id": name, "reviewer": name[:200], "answer": 1, "note": name}])
    assert record.case(name)["final_decision"] == "1"
    assert json.loads(record.case(name)["kept"]) == {name[:100]: name}
    assert record.verify().is_clean


def test_rows_without_a_score_go_to_review_and_say_why(record):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"pd": rng.uniform(0.01, 0.99, 400)})
    y = (rng.uniform(size=400) < X["pd"]).astype(int)
    clf = AUCross(ScoreColumn("pd"), coverage=0.7).fit(X, y)
    new = X[:10].copy()
    new.loc[[2, 5], "pd"] = np.nan
    record.decide(clf, new, batch="a", ids=range(10))
    record.decide(clf, new, batch="b", ids=range(10), capacity=3)
    for batch in "ab":
        cases = record.cases(batch).to_pydict()
        assert [cases["why"][row] for row in (2, 5)] == ["no score"] * 2
        assert [cases["prediction"][row] for row in (2, 5)] == [None] * 2
        assert cases["score"][2] is None
    assert record.cases("b").to_pydict()["decision"].count("review") == 3
    assert not record.decide(clf, new, batch="a", ids=range(10)).is_new
    assert record.verify().is_clean


@pytest.mark.parametrize(("capacity", "error"), [(-1, ValueError), (2.5, TypeError), (True, TypeError)])
def test_a_capacity_that_is_no_number_of_rows_is_refused(record, clf, rows, capacity, error):
    with pytest.raises(error, match="capacity must"):
        decide(record, clf, rows, capacity=capacity)
    assert record.batches() == []


def test_infinite_ends_of_an_empty_band_are_kept(record, clf, rows):
    decide(record, clf, rows, coverage=1.0)
    cases = record.cases().to_pydict()
    assert (cases["lower"][0], cases["upper"][0]) == (np.inf, -np.inf)
    assert record.verify().is_clean


def test_a_refitted_classifier_has_other_fingerprints(record, rows):
    clf = AUCross(LogisticRegression(), random_state=0).fit(*rows)
    first = record.decide(clf, rows[0][:5], batch="a", ids=range(5))
    clf.fit(rows[0][100:], rows[1][100:])
    second = record.decide(clf, rows[0][:5], batch="b", ids=range(5))
    assert first.model_fingerprint != second.model_fingerprint


def test_shadow_decisions_are_recorded_and_never_handed_out(record, clf, rows):
    shadow = clone(clf).set_params(coverage=0.5).fit(rows[0][500:], rows[1][500:])
    decided = decide(record, clf, rows, shadow=shadow)
    np.testing.assert_array_equal(decided.selected, clf.select(rows[0][:60]))
    assert record.cases().num_rows == 60
    with record.reading() as connection:
        query = "SELECT score FROM decisions WHERE shadow_of IS NOT NULL ORDER BY shadow_of"
        scores = connection.execute(text(query)).scalars().all()
    assert scores == shadow.scored(rows[0][:60]).score.tolist()
    assert [batch["name"] for batch in record.batches()] == ["2026-10"]
    assert record.verify().is_clean


def test_a_rerun_with_another_shadow_is_refused(record, clf, rows):
    shadow = clone(clf).set_params(coverage=0.5).fit(rows[0][500:], rows[1][500:])
    decide(record, clf, rows, shadow=shadow)
    assert not decide(record, clf, rows, shadow=shadow).is_new
    assert not decide(record, clf, rows).is_new
    with pytest.raises(ValueError, match=r"was decided with shadow .*, got shadow "):
        decide(record, clf, rows, shadow=clf)
    decide(record, clf, rows, batch="plain")
    with pytest.raises(ValueError, match="was decided with shadow none, got shadow "):
        decide(record, clf, rows, batch="plain", shadow=shadow)


# ---- the same row from any table ----


def test_rows_have_the_same_canonical_bytes_from_every_table():
    frame = pd.DataFrame(
        {
            "income": [1.5, np.nan, 3.0],
            "n": [1, 2, 2**60],
            "branch": ["north", None, "süd"],
            "is_new": [True, False, True],
            "since": pd.to_datetime(["2024-03-31", None, "2024-04-01"]),
        }
    )
    days = [19813.0, None, 19814.0]
    records = [
        {"since": day, "is_new": flag, "branch": branch, "n": n, "income": income}
        for day, flag, branch, n, income in zip(
            days, [True, False, True], ["north", None, "süd"], [1, 2, 2**60], [1.5, None, 3], strict=True
        )
    ]
    from_json = {name: [row[name] for row in records] for name in records[0]}
    tables = {
        "pandas": frame,
        "categories": frame.assign(branch=frame["branch"].astype("category"), is_new=frame["is_new"].astype(int)),
        "objects": frame.astype(object),
        "polars": pl.from_pandas(frame),
        "arrow": pa.Table.from_pandas(frame, preserve_index=False),
        "json": from_json,
        "other order": frame[frame.columns[::-1]],
    }
    expected = canonical_rows(tables["pandas"])
    for name, table in tables.items():
        assert canonical_rows(table) == expected, name
    changed = frame.copy()
    changed.loc[0, "branch"] = "north "
    assert canonical_rows(changed)[1][0] != expected[1][0]
    assert canonical_rows(changed)[1][1:] == expected[1][1:]


def test_a_frame_read_from_a_csv_file_has_the_same_bytes(tmp_path):
    frame = pd.DataFrame({"a": [0.1, -0.0, 1e300], "b": ["x", "y", "z"]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert canonical_rows(pd.read_csv(tmp_path / "t.csv")) == canonical_rows(frame)
    assert canonical_rows(np.array([[1.0, 2.0]])) == canonical_rows(pd.DataFrame({"x0": [1], "x1": [2]}))


# ---- reviews and outcomes ----


def test_reviews_give_the_final_decision(record, clf, rows):
    decide(record, clf, rows, capacity=10)
    first, second, third = record.queue().to_pydict()["id"][:3]
    other = {"0": "1", "1": "0"}[record.case(first)["prediction"]]
    added = record.add_reviews(
        [
            {
                "id": first,
                "reviewer": "ann",
                "answer": other,
                "reason_code": "income",
                "probability": 0.7,
                "note": "hm,\r\n\tno",
            },
            {"id": second, "reviewer": "ann", "answer": "needs documents"},
            {"id": third, "reviewer": "bob", "answer": record.case(third)["prediction"]},
        ]
    )
    assert (added.n_added, added.refused) == (3, ())
    case = record.case(first)
    assert (case["final_decision"], case["final_by"], case["is_override"]) == (other, "review", 1)
    assert (case["reason_code"], case["review_probability"]) == ("income", 0.7)
    assert record.case(second)["final_decision"] is None
    assert record.case(third)["is_override"] == 0
    waiting = record.queue().to_pydict()["id"]
    assert len(waiting) == 8
    assert second in waiting
    assert record.verify().is_clean


def test_a_second_review_and_a_correction(record, clf, rows):
    decide(record, clf, rows)
    record.add_reviews([{"id": "A-1", "reviewer": "ann", "answer": 1}])
    record.add_reviews([{"id": "A-1", "reviewer": "bob", "answer": 0}])
    case = record.case("A-1")
    assert (case["n_reviews"], case["reviews_differ"], case["final_decision"]) == (2, 1, "0")
    record.add_reviews([{"id": "A-1", "reviewer": "bob", "answer": 1, "replaces": case["review_number"]}])
    case = record.case("A-1")
    assert (case["n_reviews"], case["reviews_differ"], case["final_decision"]) == (2, 0, "1")
    with pytest.raises(ValueError, match="was replaced before"):
        record.add_reviews([{"id": "A-1", "reviewer": "bob", "answer": 0, "replaces": case["review_number"] - 1}])
    with pytest.raises(ValueError, match="an earlier one of the same case"):
        record.add_reviews([{"id": "A-2", "reviewer": "bob", "answer": 0, "replaces": case["review_number"]}])


def test_a_table_that_is_added_twice_counts_once(record, clf, rows):
    decide(record, clf, rows)
    reviews = pd.DataFrame({"id": ["A-1", "A-2"], "reviewer": "ann", "answer": [1, 0], "extra": 7})
    outcomes = pl.DataFrame({"id": ["A-1", "A-2"], "outcome": [1, 0], "known_at": ["2027-10-01", "2027-10-02"]})
    assert record.add_reviews(reviews).n_added == 2
    assert record.add_outcomes(outcomes).n_added == 2
    again = record.add_reviews(reviews)
    assert (again.n_added, again.n_known, again.left_out) == (0, 2, ("extra",))
    assert record.add_outcomes(outcomes).n_known == 2
    assert record.case("A-1")["n_reviews"] == 1
    assert record.case("A-1")["outcome_known_at"] == "2027-10-01T00:00:00.000000Z"


def test_a_row_that_stands_twice_in_a_table_counts_once(record, clf, rows):
    decide(record, clf, rows)
    review = {"id": "A-1", "reviewer": "ann", "answer": 1}
    added = record.add_reviews([review, review, {**review, "reviewer": "bob"}])
    assert (added.n_added, added.n_known, record.case("A-1")["n_reviews"]) == (2, 1, 2)


def test_a_review_with_another_time_is_another_review(record, clf, rows):
    decide(record, clf, rows)
    answers = [("needs documents", "2026-11-01"), ("1", "2026-11-02"), ("needs documents", "2026-11-03")]
    reviews = [{"id": "A-1", "reviewer": "ann", "answer": answer, "time": time} for answer, time in answers]
    assert [record.add_reviews([review]).n_added for review in reviews] == [1, 1, 1]
    assert record.add_reviews(reviews).n_known == 3
    assert record.case("A-1")["answer"] == "needs documents"


def test_a_table_of_corrections_that_is_added_twice_counts_once(record, clf, rows):
    decide(record, clf, rows)
    outcome = {"id": "A-1", "outcome": 1, "known_at": "2027-10-01"}
    record.add_reviews([{"id": "A-1", "reviewer": "ann", "answer": 1}])
    record.add_outcomes([outcome])
    number = record.case("A-1")["review_number"]
    review = {"id": "A-1", "reviewer": "ann", "answer": 0, "replaces": number}
    right = {"id": "A-1", "outcome": 0, "known_at": "2027-10-05", "replaces": number + 1}
    assert [record.add_reviews([review]).n_added for _ in range(2)] == [1, 0]
    assert [record.add_outcomes([right]).n_added for _ in range(2)] == [1, 0]
    assert record.add_outcomes([outcome]).n_added == 0  # the first table again does not bring back what was wrong
    case = record.case("A-1")
    assert (case["final_decision"], case["outcome"], case["n_reviews"], case["n_outcomes"]) == ("0", "0", 1, 1)
    two = [{**review, "replaces": number + 2, "answer": answer} for answer in (1, "cannot decide")]
    with pytest.raises(ValueError, match=r"row 2 .*was replaced before"):
        record.add_reviews(two)
    with pytest.raises(ValueError, match=r"replaces must be a whole number, got 1\.5"):
        record.add_reviews([{**review, "replaces": 1.5}])


def test_outcomes_that_contradict_are_kept_and_shown(record, clf, rows):
    decide(record, clf, rows)
    record.add_outcomes([{"id": "A-1", "outcome": 1}])
    added = record.add_outcomes([{"id": "A-1", "outcome": 0}, {"id": "A-2", "outcome": 0}])
    assert (added.n_added, added.n_contradictions) == (2, 1)
    case = record.case("A-1")
    assert (case["outcome"], case["n_outcomes"], case["outcomes_contradict"]) == (None, 2, 1)
    with record.reading() as connection:
        number = connection.execute(text("SELECT max(number) FROM outcomes WHERE outcome = '0'")).scalar() - 1
    record.add_outcomes([{"id": "A-1", "outcome": 1, "replaces": number}])
    assert record.case("A-1")["outcome"] == "1"


def test_a_verdict_is_no_outcome(record, clf, rows):
    decide(record, clf, rows)
    record.add_reviews([{"id": "A-1", "reviewer": "ann", "answer": 1}])
    assert record.case("A-1")["outcome"] is None
    with pytest.raises(ValueError, match="must have the columns id, outcome, and has no outcome"):
        record.add_outcomes([{"id": "A-1", "reviewer": "ann", "answer": 1}])


FAULTY = [
    ({"id": "Z-9", "reviewer": "ann", "answer": 1}, "'Z-9'\\): no decision on this id is recorded"),
    ({"id": "A-1", "reviewer": "ann", "answer": 7}, "answer must be one of '0', '1', 'cannot decide'"),
    ({"id": "A-1", "reviewer": None, "answer": 1}, "reviewer is missing"),
    ({"id": "A-1", "reviewer": "ann", "answer": 1, "probability": 1.5}, "must be in \\[0, 1\\], got 1.5"),
    ({"id": "A-1", "reviewer": "ann", "answer": 1, "probability": float("inf")}, "must be in"),
    ({"id": "A-1", "reviewer": "ann", "answer": 1, "time": "yesterday"}, "written as 2026-10-31"),
    ({"id": "A-1", "reviewer": "ann", "answer": 1, "time": "0001-01-01T00:00+05:00"}, "written as 2026-10-31"),
    ({"id": "\ud800", "reviewer": "ann", "answer": 1}, "no decision on this id is recorded"),
    ({"id": "A-1", "reviewer": "a\nb", "answer": 1}, "hold no control characters"),
    ({"id": "A-1", "reviewer": "ann", "answer": 1, "batch": "2026-11"}, "recorded in batch '2026-11'"),
    ({"id": "A-1", "reviewer": "ann", "answer": 1, "saw_machine": "perhaps"}, "must be yes or no"),
]


@pytest.mark.parametrize(("row", "said"), FAULTY)
def test_a_faulty_review_is_refused_by_name_and_the_rest_is_taken_or_nothing(record, clf, rows, row, said):
    decide(record, clf, rows)
    table = [{"id": "A-2", "reviewer": "ann", "answer": 1}, row]
    with pytest.raises(ValueError, match=f"1 of 2 rows are refused, and nothing was added: row 2.*{said}"):
        record.add_reviews(table)
    assert record.case("A-2")["n_reviews"] == 0
    added = record.add_reviews(table, skip_faulty=True)
    assert (added.n_added, len(added.refused)) == (1, 1)
    assert record.verify().is_clean


def test_two_outcomes_of_a_case_in_one_table_are_refused(record, clf, rows):
    decide(record, clf, rows)
    table = [{"id": "A-1", "outcome": 1}, {"id": "A-1", "outcome": 0}]
    with pytest.raises(ValueError, match="row 2 \\('A-1'\\): this table has two outcomes of the case"):
        record.add_outcomes(table)
    with pytest.raises(ValueError, match="outcome must be one of '0', '1', got 'cannot decide'"):
        record.add_outcomes([{"id": "A-1", "outcome": "cannot decide"}])


def test_an_id_in_two_batches_needs_the_name_of_one(record, clf, rows):
    decide(record, clf, rows, batch="a")
    decide(record, clf, rows, batch="b")
    with pytest.raises(ValueError, match="the id is in 2 batches; name the batch"):
        record.add_reviews([{"id": "A-1", "reviewer": "ann", "answer": 1}])
    with pytest.raises(LookupError, match="is in 2 batches"):
        record.case("A-1")
    record.add_reviews([{"id": "A-1", "reviewer": "ann", "answer": 1, "batch": "b"}])
    record.add_outcomes([{"id": "A-1", "outcome": 1}], batch="a")
    assert [record.case("A-1", batch)["n_reviews"] for batch in "ab"] == [0, 1]
    assert [record.case("A-1", batch)["outcome"] for batch in "ab"] == ["1", None]


def test_what_the_driver_alone_wrote_is_kept(record):
    with record.writing() as connection:
        driver = connection.connection.driver_connection
        driver.execute("CREATE TABLE mine (a integer)")
        driver.execute("INSERT INTO mine VALUES (3)")
    with record.reading() as connection:
        assert connection.execute(text("SELECT a FROM mine")).scalars().all() == [3]


# ---- nobody changes the past ----


@pytest.mark.parametrize("table", [table.name for table in APPENDED])
def test_updates_and_deletions_are_refused(record, clf, rows, table):
    decide(record, clf, rows)
    record.add_reviews([{"id": "A-1", "reviewer": "ann", "answer": 1}])
    record.add_outcomes([{"id": "A-1", "outcome": 1}])
    record.erase("A-3")
    with record.appending() as appending:
        appending.append(told, [{"who": "x", "review": 0}])
    record.allow("the committee", "80% automatic")
    column = "version" if table == "about" else "number"
    changes = [f"UPDATE {table} SET {column} = {column}", f"DELETE FROM {table}"]
    if record.path is None:
        changes += [f"TRUNCATE {table}", f"TRUNCATE {table} CASCADE"]
    else:
        changes += [f"INSERT OR REPLACE INTO {table} SELECT * FROM {table}"]
    for change in changes:
        with (
            pytest.raises(RecordError, match="nothing of a record is changed"),
            record.appending() as appending,
        ):
            appending.connection.execute(text(change))
    assert record.verify().is_clean


def test_sqlite_refuses_a_replacement_also_without_recursive_triggers(tmp_path, clf, rows):
    with Record.open(tmp_path / "cases.db") as record:
        decide(record, clf, rows)
    connection = sqlite3.connect(tmp_path / "cases.db")
    assert connection.execute("PRAGMA recursive_triggers").fetchone() == (0,)
    for change in (
        "INSERT OR REPLACE INTO decisions SELECT * FROM decisions WHERE number = 5",
        f"INSERT OR REPLACE INTO batches SELECT 900, {', '.join(batches.c.keys()[1:])} FROM batches",
    ):
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            connection.execute(change)
    connection.close()


EDITS = {
    "a score": ("UPDATE decisions SET score = score + 1e-9 WHERE number = 5", "event 5 \\(decisions\\) was edited"),
    "a decision": ("UPDATE decisions SET decision = 'other' WHERE number = 5", "event 5 \\(decisions\\) was edited"),
    "a coverage": ("UPDATE batches SET coverage = 0.9", "event 1 \\(batches\\) was edited"),
    "a fingerprint": ("UPDATE batches SET model_fingerprint = rule_fingerprint", "event 1 \\(batches\\) was edited"),
    "a keeper's level": ("UPDATE decisions SET level = 0.5 WHERE number = 5", "event 5 \\(decisions\\) was edited"),
    "a commitment": ("UPDATE decisions SET inputs_commitment = NULL WHERE number = 9", "event 9 "),
    "a review": ("UPDATE reviews SET answer = '0'", "event 62 \\(reviews\\) was edited"),
    "a reviewer": ("UPDATE reviews SET reviewer = 'bob'", "event 62 \\(reviews\\) was edited"),
    "an outcome": ("UPDATE outcomes SET outcome = '0'", "event 63 \\(outcomes\\) was edited"),
    "the time of an outcome": ("UPDATE outcomes SET known_at = '2020'", "event 63 \\(outcomes\\) was edited"),
    "an event removed": ("DELETE FROM decisions WHERE number = 7", "event 7 was removed"),
    "a review removed": ("DELETE FROM reviews", "event 62 was removed"),
    "a batch removed": ("DELETE FROM batches", "event 1 was removed"),
    "the last event removed": ("DELETE FROM outcomes", "event 63 was removed"),
    "an event inserted": (
        "INSERT INTO outcomes SELECT 64, case_number, '0', known_at, time, replaces, digest FROM outcomes",
        "event 64 \\(outcomes\\) was inserted",
    ),
    "an event inserted between": (
        "INSERT INTO outcomes SELECT 5, case_number, '0', known_at, time, replaces, digest FROM outcomes",
        "event 5 \\(outcomes\\) was (inserted|edited)",
    ),
    "a time of a transaction": (
        "UPDATE transactions SET time = '2020' WHERE number = 2",
        "transaction 2 .* was edited",
    ),
    "a hash": (
        "UPDATE transactions SET hash = (SELECT digest FROM decisions WHERE number = 5) WHERE number = 3",
        "transaction 3 .* was edited",
    ),
    "an id": (
        "UPDATE personal SET id = 'B-1' WHERE id = 'A-1'",
        "the id, a kept column or the reason of case 3 was edited",
    ),
    "a kept column": (
        "UPDATE personal SET kept = NULL WHERE id = 'A-1'",
        "the id, a kept column or the reason of case 3 was edited",
    ),
    "an id removed": (
        "DELETE FROM personal WHERE id = 'A-1'",
        "case 3 was removed without an erasure",
    ),
    "a note": ("UPDATE notes SET note = 'other'", "the note of review 62 was edited"),
    "a note removed": ("DELETE FROM notes", "the note of review 62 was removed without an erasure"),
    "nothing made -1": ("UPDATE decisions SET shadow_of = -1 WHERE number = 9", "event 9 \\(decisions\\) was edited"),
    "an event before the first": (
        "INSERT INTO reviews SELECT 0, case_number, 'x', '0', NULL, NULL, NULL, time, NULL, NULL, digest FROM reviews",
        "event 0 \\(reviews\\) was inserted",
    ),
    "a transaction before the first": (
        "INSERT INTO transactions SELECT -1, 0, 0, '2020', digest, digest FROM decisions WHERE number = 5",
        "transaction -1 was inserted",
    ),
    "the batch of an id": (
        "UPDATE personal SET batch = 2 WHERE id = 'A-1'",
        "the id, a kept column or the reason of case 3 was edited",
    ),
    "an id inserted": (
        "INSERT INTO personal SELECT 999, batch, 'B', kept, reason, contributions, salt FROM personal WHERE id = 'A-1'",
        "case 999 belongs to no event",
    ),
    "the case of a note": ("UPDATE notes SET case_number = 4", "the note of review 62 was edited"),
    "a note inserted": (
        "INSERT INTO notes SELECT 999, case_number, note, salt FROM notes",
        "the note of review 999 belongs to no event",
    ),
}


@pytest.mark.attack("record, changed behind its back")
@pytest.mark.parametrize(("statement", "said"), EDITS.values(), ids=EDITS)
def test_verify_names_what_was_changed(source, clf, rows, statement, said):
    with Record.open(source) as record:
        decide(record, clf, rows, keep={"branch": ["north"] * 60}, coverage=0.7)
        record.add_reviews([{"id": "A-1", "reviewer": "ann", "answer": 1, "note": "hm"}])
        record.add_outcomes([{"id": "A-1", "outcome": 1}])
        assert record.verify().is_clean
    changed(source, [statement])
    with Record.open(source) as record:
        found = record.verify()
    assert found.fault is not None
    assert re.search(said, found.fault), found.fault


@pytest.mark.attack("record, values of other types")
@pytest.mark.parametrize(
    ("statement", "said"),
    {
        "text for a number": ("UPDATE decisions SET score = 'abc' WHERE number = 5", "event 5 (decisions)"),
        "bytes for text": ("UPDATE decisions SET prediction = CAST(prediction AS BLOB)", "event 2 (decisions)"),
        "a number beside its own": ("UPDATE reviews SET case_number = case_number + 0.5", "event 62 (reviews)"),
        "text for a hash": ("UPDATE transactions SET hash = 'abc' WHERE number = 2", "transaction 2 (events 62 to 62)"),
        "bytes for an id": (
            "UPDATE personal SET id = CAST(id AS BLOB) WHERE id = 'A-1'",
            "the id, a kept column or the reason of case 3",
        ),
        "text for a salt": (
            "UPDATE personal SET salt = 'abc' WHERE id = 'A-1'",
            "the id, a kept column or the reason of case 3",
        ),
        "a number for a salt": ("UPDATE notes SET salt = 99999999999", "the note of review 62"),
    }.values(),
)
def test_sqlite_verifies_the_types_of_values_too(tmp_path, clf, rows, statement, said):
    with Record.open(tmp_path / "cases.db") as record:
        decide(record, clf, rows)
        record.add_reviews([{"id": "A-1", "reviewer": "ann", "answer": 1, "note": "hm"}])
        assert record.verify().is_clean
    changed(tmp_path / "cases.db", [statement])
    with Record.open(tmp_path / "cases.db") as record:
        found = record.verify()
    assert found.fault == f"{said} was edited"


def test_what_was_erased_and_is_put_back_is_found(source, clf, rows):
    with Record.open(source) as record:
        decide(record, clf, rows)
        with record.reading() as connection:
            before = connection.execute(text("SELECT * FROM personal WHERE id = 'A-1'")).mappings().one()
        record.erase("A-1")
        assert record.verify().is_clean
        with record.appending() as appending:
            query = text("INSERT INTO personal (case_number, batch, id, kept, salt) VALUES (:n, :b, :i, NULL, :s)")
            values = {"n": before["case_number"], "b": before["batch"], "i": "A-1", "s": before["salt"]}
            appending.connection.execute(query, values)
        assert record.verify().fault == "the id, a kept column or the reason of case 3 is there, although it was erased"


@pytest.mark.parametrize(
    ("statements", "name"),
    [
        (["DROP VIEW cases", "CREATE VIEW cases AS SELECT * FROM decisions WHERE number > 9"], "cases"),
        (
            [
                "DROP TRIGGER decisions_update",
                "CREATE TRIGGER decisions_update BEFORE UPDATE ON decisions WHEN 0 BEGIN SELECT 1; END",
            ],
            "decisions_update",
        ),
    ],
)
def test_a_view_or_trigger_that_says_something_else_is_found(tmp_path, clf, rows, statements, name):
    with Record.open(tmp_path / "cases.db") as record:
        decide(record, clf, rows)
    connection = sqlite3.connect(tmp_path / "cases.db")
    for statement in statements:
        connection.execute(statement)
    connection.close()
    with Record.open(tmp_path / "cases.db") as record:
        assert f"the view of the cases, were removed or changed: {name}" in str(record.verify())
        if name == "cases":
            with pytest.raises(RecordError, match="the database refused it"):
                record.cases()


POSTGRES_CHANGES = {
    "function": (
        "CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$",
        "about_stays, approvals_stays, batches_stays, decisions_stays",
    ),
    "disabled": ("ALTER TABLE decisions DISABLE TRIGGER decisions_stays", "decisions_stays"),
    "narrowed": (
        """DROP TRIGGER decisions_stays ON decisions; CREATE TRIGGER decisions_stays BEFORE UPDATE ON decisions
        FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()""",
        "decisions_stays",
    ),
    "added": (
        "CREATE TRIGGER quiet BEFORE INSERT ON reviews FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()",
        "quiet",
    ),
    "view": ("ALTER VIEW cases RENAME TO old; CREATE VIEW cases AS SELECT * FROM old WHERE case_number > 9", "cases"),
}


@pytest.mark.parametrize(("change", "names"), POSTGRES_CHANGES.values(), ids=POSTGRES_CHANGES)
def test_postgresql_compares_triggers_and_view_with_what_was_made(server, monkeypatch, clf, rows, change, names):
    monkeypatch.setenv("RECORD_URL", server.new_database())
    with Record.open("env:RECORD_URL") as record:
        decide(record, clf, rows)
        assert record.verify().is_clean
        with record.engine.begin() as connection:
            connection.exec_driver_sql(change)
        assert f"were removed or changed: {names}" in str(record.verify())


def test_a_trigger_that_was_added_is_found(tmp_path, clf, rows):
    with Record.open(tmp_path / "cases.db") as record:
        decide(record, clf, rows)
        with record.engine.begin() as connection:
            connection.exec_driver_sql("CREATE TRIGGER quiet BEFORE INSERT ON reviews BEGIN SELECT RAISE(IGNORE); END")
        assert "were removed or changed: quiet" in str(record.verify())


def test_a_cut_end_is_found_with_the_last_hash_kept_elsewhere(source, clf, rows):
    with Record.open(source) as record:
        decide(record, clf, rows)
        before = record.head()
        record.add_outcomes([{"id": "A-1", "outcome": 1}])
        kept = record.head()
        assert record.verify(before).is_clean
        assert record.verify(kept).is_clean
    changed(source, ["DELETE FROM outcomes", "DELETE FROM transactions WHERE number = 2"])
    with Record.open(source) as record:
        assert record.verify().is_clean  # nothing inside tells of it
        assert record.verify(before).is_clean
        found = record.verify(kept)
    assert "transaction 2 whose hash was kept elsewhere is not in the record" in str(found)


def test_a_removed_trigger_is_found(tmp_path, clf, rows):
    with Record.open(tmp_path / "cases.db") as record:
        decide(record, clf, rows)
    connection = sqlite3.connect(tmp_path / "cases.db")
    connection.execute("DROP TRIGGER decisions_update")
    connection.close()
    with Record.open(tmp_path / "cases.db") as record:
        assert "were removed or changed: decisions_update" in str(record.verify())


def test_each_transaction_follows_the_one_before(record, clf, rows):
    for batch in "abc":
        decide(record, clf, rows, batch=batch, n=3)
    with record.reading() as connection:
        found = connection.execute(text("SELECT previous_hash, hash FROM transactions ORDER BY number")).fetchall()
    hashes = [bytes(row.hash) for row in found]
    assert [bytes(row.previous_hash) for row in found[1:]] == hashes[:-1]
    assert record.head().hash == hashes[-1].hex()


# ---- personal data ----


def test_erasing_a_person_breaks_no_chain(record, clf, rows):
    for batch in ("a", "b"):
        decide(record, clf, rows, batch=batch, keep={"name": [f"Person {row}" for row in range(60)]})
    record.add_reviews([{"id": "A-1", "batch": "a", "reviewer": "ann", "answer": 1, "note": "secret"}])
    assert record.erase("A-1", "b") == 1
    assert record.erase("A-1") == 1
    assert record.erase("A-1") == 0
    assert record.verify().is_clean
    cases = record.cases("a").to_pydict()
    assert (cases["id"][1], cases["kept"][1], cases["is_erased"][1]) == (None, None, 1)
    assert cases["answer"][1] == "1"  # the event stays
    with record.reading() as connection:
        left = connection.execute(text("SELECT count(*) FROM personal WHERE id = 'A-1'")).scalar()
        assert (left, connection.execute(text("SELECT count(*) FROM notes")).scalar()) == (0, 0)
    with pytest.raises(ValueError, match="no decision on this id is recorded"):
        record.add_reviews([{"id": "A-1", "reviewer": "ann", "answer": 1}])
    with pytest.raises(ValueError, match="1 of its cases were erased since"):
        decide(record, clf, rows, batch="a", keep={"name": [f"Person {row}" for row in range(60)]})


def test_nothing_of_an_erased_person_is_left_in_the_files_of_sqlite(tmp_path, clf, rows):
    marks = [b"Mustermann-4711", b"Erika geb. Gabler", b"lives in the Heidestrasse"]
    record = Record.open(tmp_path / "cases.db")
    ids = [f"A-{row}" for row in range(400)]
    ids[7], kept = marks[0].decode(), ["nobody"] * 400
    kept[7] = marks[1].decode() * 300  # over several pages
    record.decide(clf, rows[0][:400], batch="a", ids=ids, keep={"name": kept})
    record.add_reviews([{"id": ids[7], "reviewer": "ann", "answer": 1, "note": marks[2].decode()}])

    def content():
        return b"".join(path.read_bytes() for path in sorted(tmp_path.iterdir()))

    assert all(mark in content() for mark in marks)
    record.erase(ids[7])
    assert [mark for mark in marks if mark in content()] == []
    record.close()
    assert [mark for mark in marks if mark in content()] == []


@pytest.mark.filterwarnings("ignore:column .branch.")
def test_values_that_a_reason_names_are_erased_with_the_case(tmp_path, rows):
    frame = pd.DataFrame(rows[0], columns=[f"c{place}" for place in range(20)])
    frame["branch"] = "north"
    own = frame[:30].assign(branch="Heidestrasse 17")
    one_hot = OneHotEncoder(handle_unknown="ignore")
    by_branch = make_column_transformer((one_hot, ["branch"]), remainder="passthrough")
    clf = AUCross(make_pipeline(by_branch, LogisticRegression()), coverage=0.8, random_state=0)
    with Record.open(tmp_path / "cases.db") as record:
        record.decide(clf.fit(frame, rows[1]), own, batch="a", ids=range(30), shadow=clf, unfamiliar="review")
        assert any("Heidestrasse 17" in (reason or "") for reason in record.cases().to_pydict()["reason"])
        assert record.erase_older(0) == 30
        assert set(record.cases().to_pydict()["reason"]) == {None}
        assert record.verify().is_clean
    assert b"Heidestrasse" not in (tmp_path / "cases.db").read_bytes()


def test_a_reader_that_holds_on_to_erased_rows_is_told_of(tmp_path, clf, rows, monkeypatch):
    moments = iter(range(0, 1000, 6))
    monkeypatch.setattr(database, "monotonic", lambda: next(moments))
    with Record.open(tmp_path / "cases.db", wait=0.1) as record:
        decide(record, clf, rows)
        with record.reading() as connection:
            connection.execute(text("SELECT count(*) FROM personal")).scalar()
            with pytest.raises(RecordError, match="the rows are erased, but a program that reads"):
                record.erase("A-1")
        assert (tmp_path / "cases.db-wal").stat().st_size > 0
        assert record.erase("A-1") == 0  # run again, as the error says: the copy goes now
        assert (tmp_path / "cases.db-wal").stat().st_size == 0
        assert record.verify().is_clean


def test_old_cases_are_erased_by_age(record, clf, rows, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(chain, "now", lambda: canonical.moment(datetime(2020, 1, 1, tzinfo=UTC)))
        decide(record, clf, rows, batch="old")
    decide(record, clf, rows, batch="new", n=10)
    assert record.erase_older(days=365) == 60
    assert record.erase_older(days=365) == 0
    assert set(record.cases("old").to_pydict()["is_erased"]) == {1}
    assert set(record.cases("new").to_pydict()["is_erased"]) == {0}
    assert record.verify().is_clean
    for days in (-1, 1e9, float("nan")):
        with pytest.raises(ValueError, match="days must be an age from 0 to 365,000, got"):
            record.erase_older(days)


# ---- opening ----


def test_an_empty_file_that_was_there_becomes_its_owners_alone(tmp_path):
    (tmp_path / "cases.db").touch(0o644)
    Record.open(tmp_path / "cases.db").close()
    assert stat.S_IMODE((tmp_path / "cases.db").stat().st_mode) == 0o600


def test_the_file_is_its_owners_alone(tmp_path, clf, rows):
    with Record.open(tmp_path / "cases.db") as record:
        decide(record, clf, rows)
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
        assert modes == dict.fromkeys(("cases.db", "cases.db-wal", "cases.db-shm"), 0o600)
        with record.reading() as connection:
            for pragma, value in {"journal_mode": "wal", "synchronous": 2, "secure_delete": 1}.items():
                assert connection.execute(text(f"PRAGMA {pragma}")).scalar() == value


def test_the_address_of_a_server_is_no_argument_and_stands_in_no_error(tmp_path, monkeypatch):
    secret = f"postgresql://owner:{PASSWORD.replace(' ', '%20')}@127.0.0.1:1/none"
    with pytest.raises(ValueError, match="must not be an argument") as error:
        Record.open(secret)
    assert "none" not in str(error.value)
    monkeypatch.setenv("RECORD_URL", secret)
    with pytest.raises(RecordError, match="cannot be reached") as error:
        Record.open("env:RECORD_URL")
    assert "127.0.0.1" not in str(error.value)
    assert "password" not in "".join(map(str, (error.value, error.value.__cause__)))
    (tmp_path / "url").write_text(secret)
    os.chmod(tmp_path / "url", 0o644)
    with pytest.raises(ValueError, match="others may read this file; run: chmod 600"):
        Record.open(f"file:{tmp_path / 'url'}")
    os.chmod(tmp_path / "url", 0o600)
    with pytest.raises(RecordError, match="cannot be reached"):
        Record.open(f"file:{tmp_path / 'url'}")
    with pytest.raises(ValueError, match="there is no environment variable NOT_THERE"):
        Record.open("env:NOT_THERE")
    for wrong in ("mysql://a:b@c/d", "postgresql://a:b@c:secret/d", "postgresql://a:secret@[::1/d"):
        monkeypatch.setenv("RECORD_URL", wrong)
        with pytest.raises(ValueError, match="address of a PostgreSQL database: postgresql://user:password@host/name"):
            Record.open("env:RECORD_URL")


def test_the_record_is_read_from_a_file_that_names_it(server, tmp_path, clf, rows):
    (tmp_path / "url").write_text(server.new_database() + "\n")
    os.chmod(tmp_path / "url", 0o600)
    with Record.open(f"file:{tmp_path / 'url'}") as record:
        assert decide(record, clf, rows).is_new


def test_other_files_are_refused_in_a_sentence(tmp_path):
    (tmp_path / "text.db").write_text("no database at all, but some text that is long enough" * 10)
    with pytest.raises(RecordError, match=r"text\.db: it is no SQLite database, or it is damaged"):
        Record.open(tmp_path / "text.db")
    other = sqlite3.connect(tmp_path / "other.db")
    other.execute("CREATE TABLE mine (a)")
    other.commit()
    other.close()
    with pytest.raises(RecordError, match="the database of another program"):
        Record.open(tmp_path / "other.db")
    with pytest.raises(RecordError, match="is a folder"):
        Record.open(tmp_path)
    with pytest.raises(RecordError, match="there is no record at"):
        Record.open(tmp_path / "missing.db", create=False)
    assert not (tmp_path / "missing.db").exists()
    with pytest.raises(RecordError, match="there is no folder"):
        Record.open(tmp_path / "no" / "cases.db")


def test_a_network_file_system_is_refused(tmp_path, monkeypatch):
    lines = f"/dev/sda1 / ext4 rw 0 0\nserver:/x {tmp_path} nfs4 rw 0 0\n"
    monkeypatch.setattr(database.Path, "read_text", lambda *_, **__: lines)
    with pytest.raises(RecordError, match=r"network file system \(nfs4\)"):
        Record.open(tmp_path / "cases.db")


@pytest.mark.parametrize(("version", "use"), [(VERSION + 1, "a newer"), (VERSION - 2, "an earlier")])
def test_a_record_of_another_version_is_refused(source, version, use):
    Record.open(source).close()
    changed(source, [f"UPDATE about SET version = {version}"])
    said = (
        f"is of version {version}, and this version of aucross knows {VERSION} and upgrades {VERSION - 1}; use {use} "
    )
    with pytest.raises(RecordError, match=said):
        Record.open(source)


def test_a_record_of_the_version_before_is_upgraded(source, clf, rows):
    def decide_all(record):
        return decide(record, clf, rows, seeded={"A-3": "1"})

    with Record.open(source) as record:
        decide_all(record)
        shown = record.cases()
    before = ["DROP VIEW cases", "CREATE VIEW cases AS SELECT number AS case_number FROM decisions"]
    before += [f"ALTER TABLE decisions ADD COLUMN {column} TEXT" for column in ("reason", "contributions")]
    changed(source, [*before, f"UPDATE about SET version = {VERSION - 1}"])
    with Record.open(source) as record:
        assert record.verify().is_clean
        assert record.cases().equals(shown)
        assert shown.num_rows == 59
        assert not decide_all(record).is_new
        decide(record, clf, rows, batch="2026-11")
        assert record.verify().is_clean
        with record.reading() as connection:
            versions = connection.execute(text("SELECT version FROM about ORDER BY 1")).scalars().all()
        assert versions == [VERSION - 1, VERSION]
    Record.open(source).close()


def test_a_record_that_the_version_before_wrote_is_upgraded_and_restored(tmp_path, source, clf, rows):
    written = sqlite3.connect(tmp_path / "version_5.db")
    written.executescript(Path(__file__).with_name("version_5.sql").read_text())
    written.close()
    with Record.restore(tmp_path / "version_5.db", source) as record:
        case = record.case("A-1")
        assert case["reason"].startswith("score 0.414 lies in the review range")
        assert (case["answer"], case["outcome"], json.loads(case["kept"])) == ("1", "1", {"branch": "south"})
        assert record.cases().to_pydict()["is_erased"] == [0, 0, 1]
        decide(record, clf, rows, batch="2026-11")
        assert record.erase("A-1", "2026-10") == 1
        assert record.verify().is_clean


def test_a_record_whose_reasons_cannot_be_erased_is_not_upgraded(source, clf, rows):
    with Record.open(source) as record:
        decide(record, clf, rows)
    before = [f"ALTER TABLE decisions ADD COLUMN {column} TEXT" for column in ("reason", "contributions")]
    changed(source, [*before, "UPDATE decisions SET reason = 'lives in Hamburg' WHERE number < 5"])
    changed(source, [f"UPDATE about SET version = {VERSION - 1}"])
    with pytest.raises(RecordError, match="3 decisions were written by version 4, whose reasons cannot be erased"):
        Record.open(source)


def test_a_role_may_append_and_read_and_nothing_else(server, monkeypatch, clf, rows):
    address = server.new_database()
    monkeypatch.setenv("OWNER", address)
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS writer")
        connection.execute("CREATE ROLE writer LOGIN PASSWORD 'writes'")
    with Record.open("env:OWNER") as record:
        record.grant("writer")
        with pytest.raises(ValueError, match="role must be the name of a role"):
            record.grant("writer; DROP TABLE about")
    monkeypatch.setenv("WRITER", server.address(address.rpartition("/")[2], "writer", "writes"))
    with Record.open("env:WRITER") as record:
        decide(record, clf, rows)
        record.add_reviews([{"id": "A-1", "reviewer": "ann", "answer": 1, "note": "n"}])
        record.erase("A-2")
        assert record.verify().is_clean
        for change in (
            *(f"UPDATE {table.name} SET number = number" for table in EVENTS),
            "DELETE FROM decisions",
            "TRUNCATE decisions",
            "ALTER TABLE decisions DISABLE TRIGGER ALL",
            "DROP VIEW cases",
            "UPDATE personal SET id = 'x'",
        ):
            with pytest.raises(RecordError), record.appending() as appending:
                appending.connection.execute(text(change))
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("DROP OWNED BY writer")
        connection.execute("DROP ROLE writer")
