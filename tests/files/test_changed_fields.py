"""Model files with changed fields: whatever stands in them, no file ends the process, stops it or imports anything."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]


@pytest.mark.attack("model file, fields changed")
def test_no_changed_field_ends_or_stops_the_process(full_size, attacked):
    n_files = 20_000 if full_size else 30
    # With one thread a process may be forked at any time.
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    environment["PYTHONPATH"] = os.pathsep.join([str(TESTS.parent), *filter(None, sys.path)])
    command = [sys.executable, str(TESTS / "files" / "changed_fields.py"), "0", str(n_files)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    *wrong, last = done.stdout.splitlines() or [""]
    assert last.startswith(f"{n_files} files, "), done.stderr
    # Of the files that are changed in one place many can be loaded: it is the rest that is refused.
    assert int(last.split()[-2]) > n_files // 5, last
    attacked(n_files, wrong)
