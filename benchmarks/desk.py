"""Fifty people at a desk: answers a second and latency, beside a bare page that reads and writes one row.

    python -m benchmarks.desk [--minutes 5] [--people 50] [--cases 40000] [--out FILE]

The desk and a bare FastAPI page run in processes of their own on the loopback address, on one database through one
driver, first SQLite and then PostgreSQL where its server is installed. They are asked in turns: a minute of work at the
desk, then ten seconds of the bare page, by as many callers, each on a connection of their own. At the desk a person
takes a case, looks at it, answers, sees what the machine says, gives the last word and comes back to the queue: six
requests, two answers. Nobody stops to think, so that the desk is as busy as it can be. Afterwards what was acknowledged
is compared with the record. `--out benchmarks/results/desk.md` writes the table that the page of the record shows.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import socket
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

import numpy as np
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from aucross import PlugInAUC
from aucross.desk import Desk
from aucross.desk.work import Rules, Work
from aucross.record import Record
from tests.desk.reviewers import Connection, Reviewers, wrong_with

DESK_SECONDS, BARE_SECONDS = 60.0, 10.0
KINDS = ("answer", "next", "case", "queue")

# What people write by hand, on the engine of the record: the settings of the database are the same.
BARE = """
import socket, sys
import uvicorn
from fastapi import FastAPI
from fastapi.responses import HTMLResponse
from sqlalchemy import text
from aucross.record import Record

record, app = Record.open(sys.argv[1]), FastAPI()

@app.post("/row/{number}")
def row(number: int):
    with record.engine.connect() as connection:
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        seen = connection.execute(text("SELECT seen FROM bare WHERE number = :number"), {"number": number}).scalar()
        connection.execute(text("UPDATE bare SET seen = seen + 1 WHERE number = :number"), {"number": number})
        connection.commit()
    return HTMLResponse(f"<!doctype html><title>Row</title><p>Row {number} was seen {seen} times.</p>")

config = uvicorn.Config(app, log_config=None, access_log=False)
uvicorn.Server(config).run(sockets=[socket.socket(fileno=int(sys.argv[2]))])
"""
SERVED = """
import socket, sys
import uvicorn
from aucross.desk import Desk, create_desk
from aucross.record import Record

config = uvicorn.Config(create_desk(Desk(Record.open(sys.argv[1]))), log_config=None, access_log=False)
uvicorn.Server(config).run(sockets=[socket.socket(fileno=int(sys.argv[2]))])
"""


@contextmanager
def served(script, source):
    """A server in a process of its own: its port."""
    with socket.create_server(("127.0.0.1", 0), backlog=200) as listener:
        listener.set_inheritable(True)
        command = [sys.executable, "-c", script, str(source), str(listener.fileno())]
        process = subprocess.Popen(command, pass_fds=[listener.fileno()])
        try:
            yield listener.getsockname()[1]
        finally:
            process.kill()
            process.wait()


async def work_for(reviewers, seconds):
    """Let people work for a time; return how long it took until the last had finished a case."""
    start = perf_counter()
    reviewers.start()
    asyncio.get_running_loop().call_later(seconds, reviewers.stop)
    await reviewers.work()
    return perf_counter() - start


async def ask_bare(port, n_people, seconds):
    """Ask the bare page for a time; return the seconds of each request."""
    found, end = [], perf_counter() + seconds

    async def caller(number):
        connection = Connection(port, "")
        while (start := perf_counter()) < end:
            status, _, _ = await connection.ask("POST", f"/row/{number}", {})
            assert status == 200, status
            found.append(perf_counter() - start)
        await connection.close()

    await asyncio.gather(*map(caller, range(n_people)))
    return found


def measure(source, options):
    """Return the cells of a database's line, and what is wrong with its record."""
    X, y = make_classification(12_000, flip_y=0.3, random_state=0)
    clf = PlugInAUC(LogisticRegression(), coverage=0.8).fit(X[:2000], y[:2000])
    scored, most = clf.scored(X[2000:]), 10_000
    with Record.open(source) as record:
        for batch in range(-(-options.cases // most)):
            ids = [f"{batch}-{row}" for row in range(most)]
            record.decide(clf, scored, batch=f"2026-{batch:02}", ids=ids, coverage=0.05, keep={"amount": ids})
        with record.writing() as connection:
            connection.exec_driver_sql("CREATE TABLE bare (number INTEGER PRIMARY KEY, seen INTEGER)")
            for number in range(options.people):
                connection.exec_driver_sql(f"INSERT INTO bare VALUES ({number}, 0)")
        desk = Desk(record)
        Work(desk, Rules()).take_in()
        with served(SERVED, source) as port, served(BARE, source) as bare_port:
            reviewers, bare, worked = Reviewers(desk, port, options.people), [], 0.0
            asyncio.run(work_for(reviewers, 2.0))
            asyncio.run(ask_bare(bare_port, options.people, 1.0))
            reviewers.seconds.clear()
            n_before = len(reviewers.answers)
            while worked < 60.0 * options.minutes:
                worked += asyncio.run(work_for(reviewers, min(DESK_SECONDS, 60.0 * options.minutes - worked)))
                bare += asyncio.run(ask_bare(bare_port, options.people, BARE_SECONDS))
                print(f"  {worked:.0f} s, {len(reviewers.answers) - n_before} answers", file=sys.stderr, flush=True)
        wrong = list(wrong_with(record, reviewers.answers))
    late = {kind: 1e3 * float(np.quantile(reviewers.seconds[kind], 0.99)) for kind in KINDS}
    bare_late, n_answers = 1e3 * float(np.quantile(bare, 0.99)), len(reviewers.answers) - n_before
    cells = {
        "answers": f"{n_answers:,}",
        "answers a second": f"{n_answers / worked:.0f}",
        "99 % of answers within": f"{late['answer']:.0f} ms",
        "of next cases": f"{late['next']:.0f} ms",
        "of looks at a case": f"{late['case']:.0f} ms",
        "of looks at the queue": f"{late['queue']:.0f} ms",
        "of bare pages": f"{bare_late:.0f} ms",
        "answer / bare page": f"{late['answer'] / bare_late:.2f}",
        "lost, doubled or refused": str(len(wrong) + reviewers.n_refused),
    }
    return cells, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--people", type=int, default=50)
    parser.add_argument("--cases", type=int, default=40_000)
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    from tests.record.postgres_server import PostgresServer, programs  # noqa: PLC0415

    lines = {}
    with tempfile.TemporaryDirectory() as folder:
        lines["SQLite"], faults = measure(Path(folder) / "cases.db", options)
    if programs() is not None:
        server = PostgresServer()
        try:
            os.environ["DESK_RECORD"] = server.new_database()
            lines["PostgreSQL"], more = measure("env:DESK_RECORD", options)
            faults += more
        finally:
            server.close()
    text = f"| | {' | '.join(lines)} |\n|---|{'---|' * len(lines)}\n"
    for name in lines["SQLite"]:
        text += f"| {name} | {' | '.join(cells[name] for cells in lines.values())} |\n"
    print(text, *faults[:20], sep="\n")
    if options.out is not None:
        options.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
