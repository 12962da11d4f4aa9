"""Regenerate the evidence: ``python -m experiments [--quick] [--jobs 2] [--output FOLDER]``, or ``make paper``.

``--figures`` trains nothing: it draws the figures anew from the tables that are there.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from experiments import claims, figures, pages, protocol, robustness, tables
from experiments.networks.budgets import NETWORK_DATASETS
from experiments.networks.results import BEST_FIRST, finished_studies, network_evidence
from experiments.networks.studies import Study
from experiments.plan import ALONE, Plan, full_plan, quick_plan
from experiments.table1 import data_table
from experiments.work import finish_all, results, seconds

HERE = Path(__file__).parent
DRAWN_TABLES = (
    *("data", "cells", "random_splits", "oracle_distance", "coverage_errors", "learning_curve", "oracle_optimism"),
    *("peers", "network_runs", "network_budgets"),
)


def main(arguments: list[str] | None = None) -> None:
    """Do what is missing, then write tables, pages and figures."""
    options = _options(arguments)
    output = options.output or HERE / ("results-quick" if options.quick else "results")
    if options.figures:
        draw_again(output)
        return
    plan = (quick_plan if options.quick else full_plan)(datasets_at_hand())
    finish_all([work for kind, works in plan.items() if kind not in ALONE for work in works], n_jobs=options.jobs)
    finish_all([work for kind in ALONE for work in plan[kind]], n_jobs=1)
    studies = finished_studies(("quick",) if options.quick else BEST_FIRST)
    write_results(plan, studies, output)
    if output == claims.RESULTS:
        claims.main()
    if missing := [name for name in NETWORK_DATASETS if name not in {study.dataset for study in studies}]:
        print(f"without the networks of {', '.join(missing)}: `make networks` trains them")
    minutes = seconds([work for works in plan.values() for work in works]) / 60
    print(f"written to {output}; the work took {minutes:.0f} minutes of one core")


def datasets_at_hand(names: Iterable[str] = protocol.DATASETS) -> list[str]:
    """Data sets that can be read or fetched; of the others the loader says what to do."""
    # In the project's own workplace the data lie beside the repository.
    if (beside := HERE.parents[1] / "shared" / "data").is_dir():
        os.environ.setdefault("AUCROSS_DATA", str(beside))
    found = []
    for name in names:
        try:
            protocol.load(name)
        except (FileNotFoundError, ConnectionError) as error:
            print(f"left out: {name}. {error}")
        else:
            found.append(name)
    if not found:
        raise SystemExit("no data set can be read: set AUCROSS_DATA to the folder with the paper's data sets")
    return found


def write_results(plan: Plan, studies: Iterable[Study], output: Path) -> None:
    """Tables as CSV, pages as Markdown, figures as PNG."""
    output.mkdir(parents=True, exist_ok=True)
    evidence = gather(plan, studies)
    for name, frame in evidence.items():
        frame.to_csv(output / f"{name}.csv", index=False, float_format="%.6g")
    pages.write_pages(evidence, output)
    figures.write_figures(evidence, output)


def draw_again(output: Path) -> None:
    """Figures from the tables in a folder; those that need rows of data stay as they are."""
    evidence = {name: pd.read_csv(path) for name in DRAWN_TABLES if (path := output / f"{name}.csv").exists()}
    figures.write_figures(evidence, output, with_rows=False)


def gather(plan: Plan, studies: Iterable[Study]) -> dict[str, pd.DataFrame]:
    """Every table of the evidence by the name of its file."""
    data, runs = data_table(), pd.DataFrame(results(plan["runs"]))
    networks = network_evidence(studies)
    cells = tables.paper_cells(runs, pd.DataFrame(results(plan["times"])), networks.get("network_runs"))
    return {
        "data": data,
        "cells": cells,
        "agreement": tables.agreement(cells),
        "agreement_summary": tables.agreement_summary(cells),
        "random_splits": robustness.over_splits(runs, data),
        "coverage_over_splits": robustness.coverage_over_splits(runs),
        "oracle_distance": robustness.nearest_to_oracle(runs),
        "win_counts": robustness.win_counts(runs),
        "gate_gain": robustness.gate_gain(runs),
        "coverage_errors": robustness.coverage_errors(runs),
        "learning_curve": robustness.learning_curve(runs),
        "oracle_optimism": robustness.oracle_optimism(pd.DataFrame(results(plan["optimism"]))),
        "peers": pd.DataFrame(results(plan["peers"])),
        "speed": pd.DataFrame(results(plan["speed"])),
        **networks,
    }


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two data sets and few splits, in less than five minutes")
    parser.add_argument("--figures", action="store_true", help="draw the figures again from the tables; train nothing")
    parser.add_argument("--jobs", type=int, default=2, help="runs side by side (default 2)")
    parser.add_argument("--output", type=Path, help="where to write (default experiments/results)")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
