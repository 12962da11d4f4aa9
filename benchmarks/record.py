"""What a record costs beside the database alone: writing batches, a single decision, reading all cases.

``python -m benchmarks.record`` takes minutes; ``--rows 100000`` less. PostgreSQL is measured where its server is
installed. Each figure is the median of the ratios of three rounds, ours and the plain one in turn.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from pathlib import Path

import pyarrow as pa
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sqlalchemy import MetaData, create_engine, insert, text

from aucross import AUCross
from aucross.record import Record
from aucross.record.record_tables import decisions, personal

BATCH = 10_000


def plain_tables(record):
    """An engine of SQLAlchemy's own, and the columns of decisions and side table in tables without triggers."""
    engine, metadata = create_engine(record.engine.url), MetaData()
    copies = [table.to_metadata(metadata, name=f"plain_{table.name}") for table in (decisions, personal)]
    for copy in copies:
        for index in copy.indexes:
            index.name = f"plain_{index.name}"
    metadata.create_all(engine)
    return engine, copies


def rows_of(record, table, batch):
    """The rows of a batch as SQLAlchemy takes them."""
    key = "batch"
    with record.reading() as connection:
        query = text(f"SELECT * FROM {table} WHERE {key} = (SELECT number FROM batches WHERE name = :name)")
        return [dict(row) for row in connection.execute(query, {"name": batch}).mappings()]


def measure_batches(record, clf, X, n_rows, rounds=3):
    scored = clf.scored(X)
    engine, copies = plain_tables(record)
    ratios, number = [], 0
    for _ in range(rounds):
        ours = plain = 0.0
        for _ in range(max(n_rows // rounds // BATCH, 1)):
            name, number = f"b{number}", number + 1
            ids = [f"{name}-{row}" for row in range(BATCH)]
            start = time.perf_counter()
            record.decide(clf, scored, batch=name, ids=ids)
            ours += time.perf_counter() - start
            values = [rows_of(record, table.name, name) for table in (decisions, personal)]
            start = time.perf_counter()
            with engine.begin() as connection:
                for copy, rows in zip(copies, values, strict=True):
                    connection.execute(insert(copy), rows)
            plain += time.perf_counter() - start
        ratios.append(ours / plain)
    print(f"  batches of {BATCH:,}: {statistics.median(ratios):.2f} x SQLAlchemy's bulk insert of the same columns")


def measure_single(record, clf, X, what, rounds=300):
    scored = [clf.scored(X[row : row + 1]) for row in range(3)]
    engine, copies = plain_tables(record)
    ours, plain, processor = [], [], []
    record.decide(clf, scored[0], batch=f"{what} warm", ids=["x"])
    for number in range(rounds):
        start, used = time.perf_counter(), time.process_time()
        record.decide(clf, scored[number % 3], batch=f"{what} {number}", ids=[number])
        ours.append(time.perf_counter() - start)
        processor.append(time.process_time() - used)
        row = rows_of(record, "decisions", f"{what} {number}")[0]
        start = time.perf_counter()
        with engine.begin() as connection:
            connection.execute(insert(copies[0]), row)
        plain.append(time.perf_counter() - start)
    ratio = statistics.median(ours) / statistics.median(plain)
    took = f"{1e3 * statistics.median(ours):.2f} ms, {1e3 * statistics.median(processor):.2f} ms of our processor time"
    print(f"  one decision, {what}: {ratio:.2f} x a bare insert and commit ({took})")


def measure_reading(record, rounds=3):
    ratios = []
    for _ in range(rounds):
        start = time.perf_counter()
        table = record.cases()
        ours = time.perf_counter() - start
        with record.reading() as connection:
            cursor = connection.connection.cursor()
            start = time.perf_counter()
            cursor.execute("SELECT * FROM cases ORDER BY case_number")
            n_rows = len(cursor.fetchall())
            plain = time.perf_counter() - start
        assert n_rows == table.num_rows
        assert isinstance(table, pa.Table)
        ratios.append(ours / plain)
    print(f"  reading {n_rows:,} cases into Arrow: {statistics.median(ratios):.2f} x the SELECT of the view")


def measure(source, n_rows, rounds):
    X, y = make_classification(BATCH, flip_y=0.3, random_state=0)
    clf = AUCross(LogisticRegression(), coverage=0.8, random_state=0).fit(X[:2000], y[:2000])
    forest = RandomForestClassifier(500, max_depth=4, random_state=0)
    judged = AUCross(forest, coverage=0.8, cv=2, ensemble="judge", random_state=0).fit(X[:1000], y[:1000])
    with Record.open(source) as record:
        measure_batches(record, clf, X, n_rows)
        measure_reading(record)
    with Record.open(source) as record:
        measure_single(record, clf, X, "logistic regression", rounds)
        measure_single(record, judged, X, "forest of 500 with judges", rounds)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--single", type=int, default=300)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print("SQLite")
        measure(Path(folder) / "cases.db", options.rows, options.single)
    from tests.record.postgres_server import PostgresServer, programs  # noqa: PLC0415

    if programs() is None:
        print("PostgreSQL is not installed")
        return
    server = PostgresServer()
    try:
        os.environ["RECORD_URL"] = server.new_database()
        print("PostgreSQL")
        measure("env:RECORD_URL", options.rows, options.single)
    finally:
        server.close()


if __name__ == "__main__":
    main()
