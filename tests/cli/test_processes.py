"""The command as a process: its exit codes, what it loads, and what is left when it is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from aucross.cli.app import app
from tests.cli.commands import N_ROWS

COMMANDS = ("fit", "evaluate", "predict", "compare", "report", "serve", "demo", "walkthrough")
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "120"}


def process(*arguments: object, code: str | None = None) -> subprocess.CompletedProcess[str]:
    start = ["-m", "aucross"] if code is None else ["-c", code]
    command = [sys.executable, *start, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=ENVIRONMENT)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_shows_an_example(command):
    result = CliRunner().invoke(app, [command, "--help"])
    assert result.exit_code == 0
    assert f"Example:\n    aucross {command}" in result.stdout


def test_help_lists_all_commands_and_loads_nothing_slow():
    code = """
import sys
from aucross.cli import main
sys.argv = ["aucross", "--help"]
try:
    main()
except SystemExit as end:
    assert end.code == 0
slow = ("numpy", "sklearn", "pandas", "pyarrow", "rich.console", "aucross.cli.fit", "aucross.cli.train")
print("loaded:", *{name for name in slow if name in sys.modules})
"""
    run = process(code=code)
    assert run.returncode == 0, run.stderr
    assert all(f"  {command} " in run.stdout for command in COMMANDS)
    assert run.stdout.splitlines()[-1] == "loaded:"


def test_wrong_usage_ends_with_2_and_says_what_is_missing():
    result = CliRunner().invoke(app, ["fit", "loans.csv"])
    assert result.exit_code == 2
    assert "Missing option '--target'" in result.stderr
    assert result.stdout == ""


def test_without_the_extra_one_sentence_says_how_to_install_it():
    code = """
import sys

class NotInstalled:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "typer":
            raise ModuleNotFoundError("No module named 'typer'", name="typer")

sys.meta_path.insert(0, NotInstalled())
from aucross.cli import main
main()
"""
    run = process(code=code)
    assert run.returncode == 1
    assert run.stderr == 'the command line needs typer, which is not installed: pip install "aucross[cli]"\n'


# An area of the attacks.
LONG = "commands and workers killed, and large tables"
N_LARGE = 240_000


@pytest.fixture(scope="module")
def large(tmp_path_factory, folder):
    """The loans over and over: a table that takes predict a second or two."""
    path = tmp_path_factory.mktemp("large") / "large.csv"
    header, _, rows = (folder / "loans.csv").read_text().partition("\n")
    path.write_text(f"{header}\n{rows * (N_LARGE // N_ROWS)}")
    return path


def wait_until_it_writes(running, folder):
    """Wait until the hidden file that becomes the output has content."""
    for _ in range(6000):
        if any(path.stat().st_size for path in folder.glob(".decisions*.tmp")):
            return
        assert running.poll() is None, running.communicate()
        time.sleep(0.05)
    running.kill()  # lest it be waited for
    raise AssertionError("nothing was written within five minutes")


# Waits before the output takes its name, lest it be finished before the signal comes; and hears Ctrl-C even where the
# tests run in the background of a shell, which turns it off.
NEVER_DONE = """
import os, signal, time
os.replace = lambda *_: time.sleep(600)
signal.signal(signal.SIGINT, signal.default_int_handler)
from aucross.cli import main
main()
"""


@pytest.mark.parametrize(
    ("number", "code"),
    [
        pytest.param(signal.SIGKILL, -signal.SIGKILL, marks=pytest.mark.attack(LONG, everyday=False)),
        (signal.SIGINT, 130),
        pytest.param(signal.SIGTERM, 143, marks=pytest.mark.attack(LONG, everyday=False)),
    ],
)
def test_predict_killed_in_the_middle_leaves_the_old_output(folder, tmp_path, number, code):
    out = tmp_path / "decisions.csv"
    if number != signal.SIGTERM:
        out.write_text("old")
    command = [sys.executable, "-c", NEVER_DONE, "predict", folder / "model.aucross", folder / "new.csv", "--out", out]
    with subprocess.Popen(list(map(str, command)), stderr=subprocess.PIPE, text=True, env=ENVIRONMENT) as running:
        wait_until_it_writes(running, tmp_path)
        running.send_signal(number)
        _, errors = running.communicate(timeout=60)
    assert running.returncode == code
    if number == signal.SIGTERM:
        assert not out.exists()
    else:
        assert out.read_text() == "old"
    if number == signal.SIGINT:
        assert errors == "stopped: nothing was left half-written\n"
    if number != signal.SIGKILL:
        assert [path.name for path in tmp_path.iterdir() if path != out] == []


PEAK = """
import resource, sys
from aucross.cli.app import run
code = run(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
sys.exit(code)
"""


def peak_megabytes(folder, data, out) -> int:
    run = process("predict", folder / "model.aucross", data, "--out", out, "--quiet", "--json", code=PEAK)
    assert run.returncode == 0, run.stderr
    return int(run.stdout.splitlines()[-1])


@pytest.mark.attack(LONG, everyday=False)
def test_memory_does_not_grow_with_the_table(folder, large, tmp_path):
    few = tmp_path / "few.csv"
    with large.open() as rows, few.open("w") as part:
        part.writelines(line for line, _ in zip(rows, range(25_001), strict=False))
    small, great = peak_megabytes(folder, few, tmp_path / "a.csv"), peak_megabytes(folder, large, tmp_path / "b.csv")
    assert great < small + 60
    scores = pd.read_csv(tmp_path / "b.csv", usecols=["score"])["score"]
    assert len(scores) == N_LARGE
    assert np.isfinite(scores).all()
