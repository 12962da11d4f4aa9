"""Stamps of all tables: ``python -m experiments.stamps [run|confirm|made TABLE [NUMBER]]``; the package says more."""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from dataclasses import replace
from datetime import date

import numpy as np

from experiments.stamps import BY_NAME, FILE, ROOT, Stamp, code_of, keep, made_now, page, read_stamps
from experiments.stamps.kept import cells_of

CELLS = 4  # computed again by default


def confirm(table: str, n_cells: int = CELLS, seed: int = 0) -> Stamp:
    """Compute drawn cells again and keep what was found."""
    cells = cells_of(table)
    if not cells:
        raise SystemExit(f"{table} has no cells that can be computed one by one: run `{BY_NAME[table].command}`")
    drawn = np.random.default_rng(seed).permutation(len(cells))[:n_cells]
    agreed = 0
    for number in drawn:
        start = time.process_time()
        found = cells[number].agrees()
        agreed += found
        print(f"  {'agrees ' if found else 'DIFFERS'} {cells[number].name} ({time.process_time() - start:.0f} s)")
    today = code_of(BY_NAME[table].module)
    stamp = replace(
        read_stamps()[table],
        confirmed=agreed,
        drawn=len(drawn),
        confirmed_code=today,
        confirmed_on=str(date.today()),
    )
    keep(stamp)
    return stamp


def run(table: str) -> None:
    """Run the command of a table, keep what it prints beside the results, and stamp the table with its cost."""
    program, *words = BY_NAME[table].command.split()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable if program == "python" else program, *words]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(done.stdout)
    if done.returncode:
        raise SystemExit(f"`{BY_NAME[table].command}` ended with {done.returncode}: nothing is kept or stamped")
    if not BY_NAME[table].files:  # the page holds the figures, and this what they were taken from
        printed = ROOT / "benchmarks" / "results" / "printed" / f"{table}.txt"
        printed.parent.mkdir(parents=True, exist_ok=True)
        printed.write_text("\n".join(line.rstrip() for line in done.stdout.splitlines()) + "\n", encoding="utf-8")
    keep(made_now(table, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime))


def main(arguments: list[str] | None = None) -> None:
    """Print the verdicts and write them for the page, after running, confirming or stamping a table if asked."""
    parser = argparse.ArgumentParser(prog="python -m experiments.stamps", description=__doc__)
    parser.add_argument("action", nargs="?", choices=("show", "run", "confirm", "made"), default="show")
    parser.add_argument("table", nargs="?", choices=tuple(BY_NAME))
    parser.add_argument("number", nargs="?", type=float, help="cells to draw, or the processor minutes that it took")
    options = parser.parse_args(arguments)
    if options.action == "run":
        run(options.table)
    elif options.action == "confirm":
        print(confirm(options.table, int(options.number or CELLS)).verdict())
    elif options.action == "made":
        keep(made_now(options.table, 60 * (options.number if options.number is not None else float("nan"))))
    found = page()
    FILE.with_suffix(".md").write_text(found, encoding="utf-8")
    print(found)


if __name__ == "__main__":
    main()
