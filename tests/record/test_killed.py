"""Writers that are killed and databases that are stopped in the middle: nothing acknowledged is lost or doubled."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from aucross import save
from aucross.record import Record, RecordError, chain

WRITER = Path(__file__).with_name("killed_writer.py")


def size_of(batch):
    """Rows of a batch: single decisions go to PostgreSQL in another way than many."""
    return 1 if batch.startswith("single") else 200


def wrong_with(source, acknowledged):
    """A sentence on each acknowledged write that is not in the record exactly once."""
    with Record.open(source) as record:
        found = record.verify()
        if not found.is_clean:
            yield f"verify: {found.fault}"
        cases = record.cases().to_pydict()
        sizes = {}
        for batch in cases["batch"]:
            sizes[batch] = sizes.get(batch, 0) + 1
        by_case = {
            (batch, name): (reviews, outcomes, erased)
            for batch, name, reviews, outcomes, erased in zip(
                cases["batch"], cases["id"], cases["n_reviews"], cases["n_outcomes"], cases["is_erased"], strict=True
            )
        }
    for kind, batch in acknowledged:
        if kind == "decide" and sizes.get(batch) != size_of(batch):
            yield f"batch {batch} has {sizes.get(batch)} cases"
        elif kind == "reviews" and by_case.get((batch, f"{batch}-1"), (0,))[0] != 1:
            yield f"the review of {batch} is not there once"
        elif kind == "outcomes" and by_case.get((batch, f"{batch}-2"), (0, 0))[1] != 1:
            yield f"the outcome of {batch} is not there once"
        elif kind == "erase" and (batch, f"{batch}-3") in by_case:
            yield f"the erased case of {batch} is there"
    yield from (f"batch {batch} is half-written: {size}" for batch, size in sizes.items() if size != size_of(batch))


def test_the_faults_of_a_record_are_noticed(tmp_path, clf, rows):
    with Record.open(tmp_path / "cases.db") as record:
        record.decide(clf, rows[0][:200], batch="a", ids=[f"a-{row}" for row in range(200)])
    assert list(wrong_with(tmp_path / "cases.db", [("decide", "a")])) == []
    assert len(list(wrong_with(tmp_path / "cases.db", [("decide", "b"), ("reviews", "a"), ("erase", "a")]))) == 3


@pytest.mark.attack("record, writer killed", everyday="sqlite")
def test_killed_writers_lose_and_double_nothing(source, clf, tmp_path, attacked, full_size):
    save(clf, tmp_path / "model.aucross")
    Record.open(source).close()
    n_kills = 200 if full_size else 5
    run = subprocess.run(
        [sys.executable, str(WRITER), str(tmp_path / "model.aucross"), str(source), str(n_kills)],
        stdout=subprocess.PIPE,
        check=True,
    )
    acknowledged = [tuple(each) for each in json.loads(run.stdout)]
    assert len({kind for kind, _ in acknowledged}) == 4
    attacked(n_kills, wrong_with(source, acknowledged))


@pytest.mark.attack("record, database stopped")
def test_a_database_that_is_stopped_under_load_loses_nothing(server, clf, rows, monkeypatch, attacked, full_size):
    name = f"RECORD_{uuid4().hex}"
    monkeypatch.setenv(name, server.new_database())
    Record.open(f"env:{name}").close()
    acknowledged, stopping = [], threading.Event()
    pause = 0 if full_size else 0.05  # every day the record stays small, however long the server takes to start

    def load(worker):
        record, number = Record.open(f"env:{name}", wait=20), 0
        while not stopping.is_set():
            batch = f"{worker}-{number}"
            n_rows = size_of(batch)
            try:
                record.decide(clf, rows[0][:n_rows], batch=batch, ids=[f"{batch}-{row}" for row in range(n_rows)])
            except RecordError:
                time.sleep(0.05)  # it is tried again, and counts once
                continue
            acknowledged.append(("decide", batch))
            number += 1
            time.sleep(pause)
        record.close()

    workers = [threading.Thread(target=load, args=(worker,)) for worker in ("single", "a", "b")]
    for worker in workers:
        worker.start()
    n_stops = 20 if full_size else 1
    for number in range(n_stops):
        time.sleep(random.Random(number).uniform(0.3, 0.9))
        server.stop_at_once()
        server.start()
    stopping.set()
    for worker in workers:
        worker.join()
    assert len(acknowledged) >= n_stops
    attacked(n_stops, wrong_with(f"env:{name}", acknowledged))


# ---- faults ----


def decide(record, clf, rows, batch):
    return record.decide(clf, rows[0][:200], batch=batch, ids=range(200))


@pytest.fixture
def small_disk(tmp_path):
    """A file system of two megabytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if made.returncode:
        pytest.skip("needs the right to mount a small tmpfs")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk_is_one_sentence_and_nothing_is_half_written(small_disk, clf, rows):
    record = Record.open(small_disk / "cases.db")
    told, n_batches = None, 0
    while told is None:
        try:
            decide(record, clf, rows, f"b{n_batches}")
            n_batches += 1
        except RecordError as error:
            told = str(error)
    assert told == "cases.db: the disk is full; make room and try again"
    record.close()
    copy = small_disk.parent / "copy.db"
    for path in small_disk.glob("cases.db*"):
        shutil.copy(path, copy.with_name(path.name.replace("cases", "copy")))
    with Record.open(copy) as record:
        assert record.verify().is_clean
        assert record.cases().num_rows == 200 * n_batches


def test_a_locked_record_is_one_sentence(source, clf, rows):
    with Record.open(source, wait=0.1) as record, Record.open(source) as other:
        with (
            other.writing(),
            pytest.raises(RecordError, match="another program is writing to it; try again when it has ended"),
        ):
            decide(record, clf, rows, "a")
        assert decide(record, clf, rows, "a").is_new


def test_a_read_only_database_of_postgresql_is_one_sentence(server, clf, rows, monkeypatch):
    address = server.new_database()
    monkeypatch.setenv("RECORD_URL", address)
    Record.open("env:RECORD_URL").close()
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"ALTER DATABASE {address.rpartition('/')[2]} SET default_transaction_read_only = on")
    with Record.open("env:RECORD_URL") as record:
        for n_rows in (1, 200):
            ids = [f"Mustermann-{row}" for row in range(n_rows)]
            with pytest.raises(RecordError, match="it is read-only; allow writing, or name another"):
                record.decide(clf, rows[0][:n_rows], batch="a", ids=ids)
    # The server writes statements that fail to its log: they must not name a person.
    log = server.log()
    assert "cannot execute INSERT in a read-only transaction" in log
    assert "Mustermann" not in log


def test_a_read_only_record_can_be_read_and_says_so_when_written(tmp_path, clf, rows, monkeypatch):
    with Record.open(tmp_path / "cases.db") as record:
        decide(record, clf, rows, "a")
        with record.engine.connect() as connection:
            connection.connection.execute("PRAGMA query_only = ON")
            connection.connection.commit()
        with pytest.raises(RecordError, match="it is read-only; allow writing, or name another"):
            decide(record, clf, rows, "b")
        assert record.cases().num_rows == 200


def test_a_record_on_a_read_only_disk_is_one_sentence(small_disk, clf, rows):
    with Record.open(small_disk / "cases.db") as record:
        decide(record, clf, rows, "a")
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with (
        pytest.raises(RecordError, match=r"cases\.db: (it is read-only|its file cannot be read or written)"),
        Record.open(small_disk / "cases.db") as record,
    ):
        decide(record, clf, rows, "b")
    subprocess.run(["mount", "-o", "remount,rw", str(small_disk)], check=True)
    with Record.open(small_disk / "cases.db") as record:
        assert [batch["name"] for batch in record.batches()] == ["a"]
        assert record.verify().is_clean


def test_a_clock_that_was_set_back_is_refused(record, clf, rows, monkeypatch):
    decide(record, clf, rows, "a")
    monkeypatch.setattr(chain, "now", lambda: "2020-01-01T00:00:00.000000Z")
    with pytest.raises(RecordError, match=r"the clock says 2020-01-01.*it was set back: set it right"):
        decide(record, clf, rows, "b")
    assert [batch["name"] for batch in record.batches()] == ["a"]


def test_two_writers_take_turns(source, clf, rows):
    faults = []

    def write(worker):
        try:
            with Record.open(source) as record:
                for number in range(5):
                    decide(record, clf, rows, f"{worker}-{number}")
                    decide(record, clf, rows, f"both-{number}")
        except Exception as error:
            faults.append(error)

    workers = [threading.Thread(target=write, args=(worker,)) for worker in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert faults == []
    with Record.open(source) as record:
        assert len(record.batches()) == 20
        assert record.verify().is_clean
