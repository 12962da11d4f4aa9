"""Writes decision logs in child processes and kills each of them at a random moment.

Run as ``python killed_writer.py FILE_OF_A_CLASSIFIER LOG N_KILLS``. Prints a JSON list: how many batches each child
said to have written before it was killed.
"""

import json
import os
import random
import signal
import sys
import time

import numpy as np
import pyarrow.parquet  # noqa: F401 - here and not in every child

from aucross.files.model_file import load
from aucross.record.log import DecisionLog

BATCH = 400


def write_for_ever(clf, path, run, acknowledge):
    """Log batch after batch, telling the number of each once it is written."""
    rng = np.random.default_rng(run)
    with DecisionLog(path, clf) as log:
        batch = 0
        while True:
            ids = [f'{run}-{batch}-{row} "Ümlaut, comma"' for row in range(BATCH)]
            log.decide(ids, rng.normal(size=(BATCH, clf.n_features_in_)), 0.7)
            batch += 1
            os.write(acknowledge, f"{batch}\n".encode())


def kill_one(clf, path, run):
    """Start a child, kill it and return the number of batches it told."""
    receive, acknowledge = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(receive)
        write_for_ever(clf, path, run, acknowledge)
    os.close(acknowledge)
    with os.fdopen(receive, "rb") as told:
        told.readline()  # it is at work
        time.sleep(random.Random(run).uniform(0, 0.08))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return 1 + len(told.read().splitlines())


if __name__ == "__main__":
    classifier = load(sys.argv[1])
    counts = [kill_one(classifier, sys.argv[2], run) for run in range(int(sys.argv[3]))]
    print(json.dumps(counts))  # noqa: T201
