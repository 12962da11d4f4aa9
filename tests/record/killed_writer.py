"""Writes to a record in child processes and kills each of them at a random moment.

Run as ``python killed_writer.py MODEL RECORD N_KILLS``. Prints a JSON list of what the children said to have written.
"""

import json
import os
import random
import signal
import sys
import time

import numpy as np

from aucross import load
from aucross.record import Record


def write_for_ever(clf, source, run, acknowledge):
    """Write one kind of event after the other, telling each once it is written."""
    rows = np.random.default_rng(run).normal(size=(200, clf.n_features_in_))
    record = Record.open(source)
    number = 0
    while True:
        batch = f"{run}-{number}"
        record.decide(clf, rows, batch=batch, ids=[f"{batch}-{row}" for row in range(200)], keep={"n": range(200)})
        os.write(acknowledge, f"decide {batch}\n".encode())
        record.decide(clf, rows[:1], batch=f"single-{batch}", ids=[f"single-{batch}"])
        os.write(acknowledge, f"decide single-{batch}\n".encode())
        record.add_reviews([{"id": f"{batch}-1", "reviewer": "ann", "answer": 1, "note": "n"}])
        os.write(acknowledge, f"reviews {batch}\n".encode())
        record.add_outcomes([{"id": f"{batch}-2", "outcome": 1}])
        os.write(acknowledge, f"outcomes {batch}\n".encode())
        record.erase(f"{batch}-3")
        os.write(acknowledge, f"erase {batch}\n".encode())
        number += 1


def kill_one(clf, source, run):
    """Start a child, kill it and return what it told."""
    receive, acknowledge = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(receive)
        write_for_ever(clf, source, run, acknowledge)
    os.close(acknowledge)
    with os.fdopen(receive, "rb") as told:
        # By what it has written, and not by the clock alone: every kind of write is reached on a busy machine, too.
        first = [told.readline() for _ in range(1 + run % 5)]
        time.sleep(random.Random(run).uniform(0, 0.05))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return [line.decode().split() for line in [*first, *told.read().splitlines()]]


if __name__ == "__main__":
    classifier = load(sys.argv[1])
    written = [each for run in range(int(sys.argv[3])) for each in kill_one(classifier, sys.argv[2], run)]
    print(json.dumps(written))  # noqa: T201
