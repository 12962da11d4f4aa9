"""Run the suite: ``python -m experiments.suite [--quick] [--plan] [--jobs 2] [--output FOLDER]``, or ``make suite``."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from experiments import claims
from experiments.suite import sets
from experiments.suite.deferral import N_SPLITS as DEFERRAL_SPLITS
from experiments.suite.deferral import deferral_works, write_deferral
from experiments.suite.plan import full_plan, quick_plan, told
from experiments.suite.protocol import N_SPLITS
from experiments.suite.results import take_over, write_results
from experiments.work import finish_all

HERE = Path(__file__).parents[1]


def main(arguments: list[str] | None = None) -> None:
    """Do what is missing, then write the table, the figures and the page."""
    options = _options(arguments)
    datasets = sets_at_hand()
    works = quick_plan(datasets) if options.quick else full_plan(datasets, options.splits)
    output = options.output or HERE / ("results-quick" if options.quick else "results") / "suite"
    if taken := take_over(works, output):
        print(f"{taken} cells are taken from {output}, which ran under the same settings")
    print(told(works, options.jobs))
    if options.plan:
        return
    deferral = deferral_works(2 if options.quick else DEFERRAL_SPLITS) if "Adult" in datasets else []
    if not options.write_only:
        finish_all([*deferral, *works], n_jobs=options.jobs, keep=options.keep)
    done = [work for work in works if work.stored() is not None]
    write_results(done, {name: sets.described(name) for name in datasets}, len(works), output)
    if deferral := [work for work in deferral if work.stored() is not None]:
        write_deferral(deferral, output)
    if output == claims.RESULTS / "suite":
        claims.main()  # the summary of all evidence counts these sets, too
    print(f"written to {output}")


def sets_at_hand() -> list[str]:
    """Sets whose rows are there; the others are named."""
    # In the project's own workplace the data lie beside the repository.
    if (beside := HERE.parents[1] / "shared" / "data").is_dir():
        os.environ.setdefault("AUCROSS_DATA", str(beside))
    found = []
    for name in sets.NAMES:
        try:
            sets.check_there(name)
        except (FileNotFoundError, ConnectionError):
            continue
        found.append(name)
    if missing := [name for name in sets.NAMES if name not in found]:
        print(f"left out, no rows: {', '.join(missing)}")
    if not found:
        raise SystemExit("no data set can be read: set AUCROSS_DATA to the folder that holds suite/")
    return found


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m experiments.suite", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="six sets, two families and three splits, in five minutes")
    parser.add_argument("--plan", action="store_true", help="say what is done and how long the rest takes, then stop")
    parser.add_argument("--write-only", action="store_true", help="write the results of the cells that are done")
    parser.add_argument("--keep", action="store_true", help="do not repeat cells that other code made")
    parser.add_argument("--splits", type=int, default=N_SPLITS, help=f"splits of each set (default {N_SPLITS})")
    parser.add_argument("--jobs", type=int, default=2, help="cells side by side (default 2)")
    parser.add_argument("--output", type=Path, help="where to write (default experiments/results/suite)")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
