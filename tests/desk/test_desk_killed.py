"""Fifty people at a desk that is killed, and whose database is stopped: no acknowledged answer is lost or doubled."""

from __future__ import annotations

import asyncio
import random
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from aucross.desk import Desk
from aucross.record import Record
from tests.desk.reviewers import Reviewers, wrong_with

KILLED = Path(__file__).with_name("killed_desk.py")


@pytest.fixture
def record(source, clf, loans, full_size):
    """A record of which nearly all cases wait for people."""
    n_rows = 4_000 if full_size else 300
    rows = clf.scored(loans[0].sample(n_rows, replace=True, random_state=0))
    with Record.open(source) as opened:
        opened.decide(clf, rows, batch="2026-01", ids=[f"A-{row}" for row in range(n_rows)], coverage=0.05)
        yield opened


@contextmanager
def running_desk(source):
    """A desk in a process of its own: its port, and a function that kills and replaces it."""
    with socket.create_server(("127.0.0.1", 0), backlog=200) as listener:
        listener.set_inheritable(True)
        command = [sys.executable, str(KILLED), str(source), str(listener.fileno())]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, pass_fds=[listener.fileno()])

        def kill():
            process.stdin.write(b"\n")
            process.stdin.flush()

        try:
            yield listener.getsockname()[1], kill
        finally:
            process.stdin.close()
            process.wait(60)


async def attacked_work(reviewers, attack, n_attacks, most_answers):
    """Let people work and attack after every few answers, counted and not timed, so that a busy machine is as good."""
    work, drawn, done = asyncio.create_task(reviewers.work()), random.Random(0), 0
    for _ in range(n_attacks):
        goal = len(reviewers.answers) + drawn.randint(5, most_answers)
        while len(reviewers.answers) < goal and not work.done():
            await asyncio.sleep(0.002)
        if not work.done():
            await asyncio.to_thread(attack)
            done += 1
    goal = len(reviewers.answers) + most_answers // 3
    while len(reviewers.answers) < goal and not work.done():
        await asyncio.sleep(0.01)
    reviewers.stop()
    await work
    return done


def work_under(attack_of, source, record, n_attacks, n_people):
    """Let people work while the desk or its database is attacked; return how often, and the people."""
    with running_desk(source) as (port, kill):
        reviewers = Reviewers(Desk(record), port, n_people)
        return asyncio.run(attacked_work(reviewers, attack_of(kill), n_attacks, n_people + 10)), reviewers


def test_the_faults_of_a_desk_are_noticed(record):
    record.add_reviews([{"id": "A-0", "reviewer": "P0", "answer": 1, "saw_machine": 0}])
    Desk(record)  # makes the tables of the queue, which is empty
    number = record.cases().to_pylist()[0]["case_number"]
    found = list(wrong_with(record, [(number, "P0", "first", "0"), (number, "P0", "last", "1")]))
    assert sum("the record has" in sentence for sentence in found) == 2
    assert any("forgotten" in sentence for sentence in found)


@pytest.mark.attack("desk, killed under load", everyday="sqlite")
def test_a_desk_that_is_killed_loses_and_doubles_no_answer(source, record, attacked, full_size):
    n_kills, n_people = (25, 50) if full_size else (1, 5)
    done, reviewers = work_under(lambda kill: kill, source, record, n_kills, n_people)
    assert done == n_kills
    assert reviewers.n_again > 0
    assert reviewers.n_refused == 0
    attacked(n_kills, wrong_with(record, reviewers.answers))


@pytest.mark.attack("desk, database stopped under load", everyday=False)
@pytest.mark.parametrize("source", ["postgresql"], indirect=True)
def test_a_database_that_is_stopped_loses_and_doubles_no_answer(source, server, record, attacked):
    n_stops, n_people = 10, 50

    def stop():
        server.stop_at_once()
        server.start()

    done, reviewers = work_under(lambda _: stop, source, record, n_stops, n_people)
    assert done == n_stops
    assert reviewers.n_again > 0
    attacked(n_stops, wrong_with(record, reviewers.answers))
