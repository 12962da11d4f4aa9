"""The command line from outside: paper data as CSV, overhead against library calls, memory on five million rows.

    python -m benchmarks.command_line
    python -m benchmarks.command_line paper overhead memory      # or some of the three parts

Every figure is taken from processes that know nothing of each other: the command `python -m aucross` and, for the
overhead, a script that makes the same library calls.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, NamedTuple

import pandas as pd
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from aucross.datasets import make_credit
from benchmarks.paper_data import FOLDER, NAMES

SEED = 0
COVERAGE = 0.9
N_LARGE = 5_000_000
REPEATS = 3
# One thread: the machine may have other work.
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}

LIBRARY_CALLS = """
import sys
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from aucross import AUCross, evaluate_selective
from aucross.files.model_file import save

train, test = (pd.read_csv(path) for path in sys.argv[1:3])
y_train, y_test = train.pop("target"), test.pop("target")
clf = AUCross(HistGradientBoostingClassifier(random_state=0), coverage=0.9, random_state=0).fit(train, y_train)
coverages = [1.0, 0.99, 0.95, 0.90, 0.85, 0.80, 0.75]
print(evaluate_selective(clf, test, y_test, coverages, random_state=0))
save(clf, sys.argv[3])
"""


class Run(NamedTuple):
    """A process that has ended: its output, wall and processor seconds, and most memory at a time."""

    output: str
    seconds: float
    processor_seconds: float
    peak_megabytes: float


def run(command: Sequence[object]) -> Run:
    start = perf_counter()
    with subprocess.Popen(
        [sys.executable, *map(str, command)], stdout=subprocess.PIPE, text=True, env=ENVIRONMENT
    ) as process:
        assert process.stdout is not None
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command} ended with {process.returncode}")
    seconds = perf_counter() - start
    return Run(output, seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def aucross(*arguments: object) -> tuple[dict[str, Any], Run]:
    done = run(["-m", "aucross", *arguments, "--quiet", "--json"])
    return json.loads(done.output), done


def write_csv(name: str, folder: Path) -> tuple[Path, Path]:
    """Training and test rows as CSV, raw: categories are words, blanks are missing."""
    if name == "Adult":
        parts = [pd.read_parquet(FOLDER / f"adult_{part}.parquet") for part in ("train", "test")]
    else:
        table = pd.read_parquet(FOLDER / f"{name.lower()}.parquet")
        parts = train_test_split(table, test_size=0.25, stratify=table["target"], random_state=42)
    train, test = paths = folder / f"{name}_train.csv", folder / f"{name}_test.csv"
    for path, part in zip(paths, parts, strict=True):
        part.to_csv(path, index=False)
    return train, test


def paper_data(folder: Path) -> None:
    """Fit and predict from the command line alone; the AUCs are computed from the decisions it wrote."""
    print(f"\n-- paper data as CSV: fit (hgb, AUCross, coverage {COVERAGE}, seed {SEED}), predict on the test rows")
    header = f"{'data':12}{'train':>9}{'test':>8}{'AUC of all':>12}{'reached':>9}{'AUC of automatic':>18}"
    print(f"{header}{'fit s':>8}{'predict s':>11}")
    for name in NAMES:
        train, test = write_csv(name, folder)
        model, decisions = folder / f"{name}.aucross", folder / f"{name}.csv"
        options = ("--target", "target", "--coverage", COVERAGE, "--seed", SEED, "--out", model, "--no-report")
        fitted, fit = aucross("fit", train, "--test", test, *options)
        _, predict = aucross("predict", model, test, "--out", decisions)
        y, decided = pd.read_csv(test)["target"], pd.read_csv(decisions)
        automatic = decided["decision"] == "automatic"
        auc, of_automatic = roc_auc_score(y, decided["score"]), roc_auc_score(y[automatic], decided["score"][automatic])
        print(
            f"{name:12}{fitted['n_train']:>9,}{len(y):>8,}{auc:>12.4f}{automatic.mean():>9.3f}{of_automatic:>18.4f}"
            f"{fit.seconds:>8.1f}{predict.seconds:>11.1f}"
        )


def overhead(folder: Path) -> None:
    """The command against a script of library calls: read, fit, evaluate, save; the fastest of several runs each."""
    train, test = write_csv("GiveMe", folder)
    script = folder / "library_calls.py"
    script.write_text(LIBRARY_CALLS, encoding="utf-8")
    command = ("fit", train, "--test", test, "--target", "target", "--coverage", COVERAGE, "--no-report")
    runs: dict[str, list[Run]] = {"library": [], "command": []}
    for _ in range(REPEATS):  # in turn, so that other work on the machine falls on both
        runs["library"].append(run([script, train, test, folder / "library.aucross"]))
        runs["command"].append(aucross(*command, "--out", folder / "command.aucross")[1])
    print(f"\n-- overhead of `aucross fit` on GiveMe (hgb, AUCross): fastest of {REPEATS} runs each, one thread")
    print(f"{'':10}{'wall s':>9}{'processor s':>13}")
    fastest = {
        name: (min(one.seconds for one in done), min(one.processor_seconds for one in done))
        for name, done in runs.items()
    }
    for name, (wall, processor) in fastest.items():
        print(f"{name:10}{wall:>9.2f}{processor:>13.2f}")
    wall, processor = (ours / theirs for ours, theirs in zip(fastest["command"], fastest["library"], strict=True))
    print(f"{'ratio':10}{wall:>9.3f}{processor:>13.3f}")


def memory(folder: Path) -> None:
    """Most memory of `aucross predict` on a large table, for each way to decide."""
    loans, large = folder / "loans.csv", folder / "large.csv"
    table = make_credit(20_000, random_state=SEED).frame.drop(columns="issue_date")
    target = table.columns[-1]
    table.to_csv(loans, index=False)
    header, _, rows = table.drop(columns=target).to_csv(index=False).partition("\n")
    with large.open("w", encoding="utf-8") as file:
        file.write(header + "\n")
        for _ in range(N_LARGE // len(table)):
            file.write(rows)
    print(f"\n-- predict on {N_LARGE:,} rows of 19 columns, {large.stat().st_size / 2**20:,.0f} MB of CSV")
    print(f"{'base':10}{'decision':16}{'wall s':>9}{'peak MB':>9}{'reached':>9}")
    for base, options in (
        ("logistic", ()),
        ("hgb", ()),
        ("logistic", ("--recalibrate",)),
        ("logistic", ("--capacity", 500_000)),
    ):
        model = folder / f"{base}.aucross"
        if not model.exists():
            method = ("--base", base, "--method", "plugin-auc", "--no-report")
            aucross("fit", loans, "--target", target, *method, "--out", model)
        found, done = aucross("predict", model, large, "--out", folder / "decisions.csv", *options)
        how = " ".join(map(str, options)) or "as fitted"
        print(f"{base:10}{how:16}{done.seconds:>9.1f}{done.peak_megabytes:>9.0f}{found['coverage']:>9.3f}")
        if found["rows"] != N_LARGE:
            raise SystemExit(f"{found['rows']:,} of {N_LARGE:,} rows were decided on")


PARTS = {"paper": paper_data, "overhead": overhead, "memory": memory}


def main(names: Sequence[str] = tuple(PARTS)) -> None:
    for name in names:
        with TemporaryDirectory() as folder:
            PARTS[name](Path(folder))


if __name__ == "__main__":
    main(sys.argv[1:] or tuple(PARTS))
