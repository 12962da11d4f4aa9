"""Regenerate the evidence: ``python -m experiments [--quick] [--jobs 2] [--output FOLDER]``, or ``make paper``.

Finished runs are kept in ``experiments/results/finished`` with the stamp of the code that made them. Those whose stamp
is today's are not done again, on this machine or another. ``--plan`` says how many these are, and ``--keep`` counts
those of other code as done, too. ``--write-only`` puts what is finished into the tables and leaves their other lines as
they are. ``--figures`` draws the figures anew from the tables that are there.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd

from experiments import claims, figures, finished, pages, protocol, robustness, stamps, tables
from experiments.networks.budgets import NETWORK_DATASETS
from experiments.networks.results import BEST_FIRST, finished_studies, network_evidence
from experiments.networks.studies import Study
from experiments.plan import ALONE, Plan, full_plan, quick_plan
from experiments.protocol import Run
from experiments.published_cells import KEYS
from experiments.table1 import data_table
from experiments.work import Work, finish_all, results, seconds

HERE = Path(__file__).parent
NETWORK_TABLES = ("network_runs", "networks", "network_models", "network_budgets")
TABLES_OF_PAGES = (
    *("data", "cells", "random_splits", "coverage_over_splits", "oracle_distance", "win_counts", "gate_gain"),
    *("coverage_errors", "learning_curve", "oracle_optimism", "peers", "speed", *NETWORK_TABLES),
)
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
    kept = output / finished.FOLDER.name
    for kind, works in plan.items():
        finished.take_over(works, kept / f"{kind}.csv.gz")
    if options.plan:
        print(told(plan))
        return
    try:
        if not options.write_only:
            together = [work for kind, works in plan.items() if kind not in ALONE for work in works]
            finish_all(together, n_jobs=options.jobs, keep=options.keep)
            finish_all([work for kind in ALONE for work in plan[kind]], n_jobs=1, keep=options.keep)
    finally:
        for kind, works in plan.items():
            finished.write(works, kept / f"{kind}.csv.gz")
    studies = finished_studies(("quick",) if options.quick else BEST_FIRST)
    write_results(plan, studies, output)
    if output == claims.RESULTS:
        claims.main()
    if missing := [name for name in NETWORK_DATASETS if name not in {study.dataset for study in studies}]:
        print(f"without the networks of {', '.join(missing)}: `make networks` trains them")
    minutes = seconds([work for works in plan.values() for work in works if work.stored() is not None]) / 60
    print(f"written to {output}; the work took {minutes:.0f} minutes of one core")


def told(plan: Plan) -> str:
    """How many works of each kind are done, by today's code and by other, and how long the others will take."""
    lines = []
    for kind, works in plan.items():
        stored = [work.stored() for work in works]
        cost = [result.seconds for result in stored if result is not None]
        current = sum(work.is_current() for work in works)
        left = (
            f", about {(len(works) - current) * sum(cost) / len(cost) / 60:.0f} processor minutes left" if cost else ""
        )
        lines.append(f"{kind}: {current} of {len(works)} done, {len(cost) - current} more by other code{left}")
    return "\n".join(lines)


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
    kept = {name: pd.read_csv(path) for name in TABLES_OF_PAGES if (path := output / f"{name}.csv").exists()}
    made = {name: frame for name, frame in gather(plan, studies, output).items() if not frame.empty}
    evidence = {**kept, **{name: merged(name, frame, kept.get(name)) for name, frame in made.items()}}
    evidence["agreement"] = tables.agreement(evidence["cells"])
    evidence["agreement_summary"] = tables.agreement_summary(evidence["cells"])
    for name, frame in evidence.items():
        frame.to_csv(output / f"{name}.csv", index=False, float_format="%.6g")
    if output == claims.RESULTS:
        for kind in ("runs", "peers", "optimism", "speed"):
            stamps.stamp_works(kind, plan[kind])
        (output / "renewed.md").write_text(renewed(plan["runs"]), encoding="utf-8")
    pages.write_pages(evidence, output)
    figures.write_figures(evidence, output)


def renewed(works: Sequence[Work]) -> str:
    """A sentence on which runs today's tables hold, and which lines are older."""
    whole = whole_groups(works)
    if len(whole) == len(works):
        return "All runs behind this page were made by the code of one stamp.\n"
    groups: dict[str, list[str]] = {}
    for work in whole:
        key = work.argument.key
        what = "the paper's split" if key["split"] == "paper" else "random splits"
        folds = "" if key["cv"] == 5 else f", {key['cv']} folds"
        rows = "" if key["n_train"] is None else f", {key['n_train']:,} rows"
        groups.setdefault(f"{what}, {key['classifier']}{folds}{rows}", []).append(key["dataset"])
    told = "".join(f"- {name}: {', '.join(dict.fromkeys(sets))}\n" for name, sets in sorted(groups.items()))
    return (
        f"**{len(whole)} of {len(works)} runs were made again by today's code; the other lines are of 2026-11-16.** "
        'There "AUCross optimal" and "AUCGate" have the former correction of coverage, which trained two more models '
        "on half of the rows, and figures of the bootstrap are its means, which differ from the estimates that stand "
        f"here now by .0005 at most. `make paper` goes on from here. Made again are:\n\n{told}"
    )


def draw_again(output: Path) -> None:
    """Figures from the tables in a folder; those that need rows of data stay as they are."""
    evidence = {name: pd.read_csv(path) for name in DRAWN_TABLES if (path := output / f"{name}.csv").exists()}
    figures.write_figures(evidence, output, with_rows=False)


# What names a line of a table that some works of a plan can renew while the others keep theirs.
KEYS_OF: dict[str, list[str]] = {
    "cells": KEYS,
    "random_splits": ["dataset", "target_coverage", "method", "metric"],
    "coverage_over_splits": ["dataset", "method"],
    "oracle_distance": ["dataset", "target_coverage"],
    "gate_gain": ["classifier", "dataset", "target_coverage"],
    "coverage_errors": ["dataset", "classifier", "cv", "method"],
    "learning_curve": ["dataset", "n_train", "method"],
    "oracle_optimism": ["dataset", "n_test"],
    "peers": ["dataset", "classifier", "peer", "target_coverage"],
}


def merged(name: str, made: pd.DataFrame, kept: pd.DataFrame | None) -> pd.DataFrame:
    """The lines that were made, and the kept lines of works that are not finished, in the order of the kept table."""
    if name not in KEYS_OF or kept is None:
        return made
    keys = KEYS_OF[name]
    of_made, of_kept = (
        frame[keys].astype(object).where(frame[keys].notna(), None).apply(tuple, axis=1) for frame in (made, kept)
    )
    is_old = ~of_kept.isin(set(of_made))
    found, names = pd.concat([made, kept[is_old]]), pd.concat([of_made, of_kept[is_old]])
    place = {key: number for number, key in enumerate(of_kept)}
    order = names.map(place).fillna(len(place)).argsort(kind="stable")
    found = found.iloc[order].reset_index(drop=True)
    return found.astype({"n_splits": "Int64"}) if "n_splits" in found else found


def gather(plan: Plan, studies: Iterable[Study], output: Path) -> dict[str, pd.DataFrame]:
    """Every table of the evidence by the name of its file, from works whose whole group is finished."""
    data, done = data_table(), whole_groups(plan["runs"])
    runs = pd.DataFrame(results(done)) if done else pd.DataFrame(columns=list(Run("").key))
    networks = network_evidence(studies) or {
        path.stem: pd.read_csv(path) for name in NETWORK_TABLES if (path := output / f"{name}.csv").exists()
    }
    others = {
        kind: pd.DataFrame(results([work for work in plan[kind] if work.stored() is not None]))
        for kind in ("times", "optimism", "peers", "speed")
    }
    by_paper, at_random = runs["split"] == "paper", (runs["split"] == "random") & (runs["cv"] == 5)
    compared = at_random & (runs["classifier"] == "LightGBM") & runs["n_train"].isna()
    found = {"data": data, "peers": others["peers"], "speed": others["speed"], **networks}
    if by_paper.any():
        times = (
            others["times"]
            if len(others["times"])
            else runs.head(0).drop(columns="target_coverage").assign(seconds=float("nan"))
        )
        found["cells"] = tables.paper_cells(runs, times, networks.get("network_runs"))
    if compared.any():
        found["random_splits"] = robustness.over_splits(runs, data)
        found["coverage_over_splits"] = robustness.coverage_over_splits(runs)
        found["oracle_distance"] = robustness.nearest_to_oracle(runs)
    if len(done) == len(plan["runs"]):
        found["win_counts"] = robustness.win_counts(runs)
    if (at_random & (runs["classifier"] != "LightGBM")).any():
        found["gate_gain"] = robustness.gate_gain(runs)
        found["coverage_errors"] = robustness.coverage_errors(runs)
    if compared.any() and runs["n_train"].notna().any():
        found["learning_curve"] = robustness.learning_curve(runs)
    if not others["optimism"].empty:
        found["oracle_optimism"] = robustness.oracle_optimism(others["optimism"])
    return found


def whole_groups(works: Iterable[Work]) -> list[Work]:
    """Works of which every split is finished, so that no mean is one of fewer splits than its table says."""
    groups: dict[tuple[object, ...], list[Work]] = {}
    for work in works:
        groups.setdefault(tuple(value for name, value in work.argument.key.items() if name != "seed"), []).append(work)
    return [work for group in groups.values() if all(work.stored() is not None for work in group) for work in group]


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two data sets and few splits, in less than five minutes")
    parser.add_argument("--figures", action="store_true", help="draw the figures again from the tables; train nothing")
    parser.add_argument("--plan", action="store_true", help="say what is done and how long the rest takes, then stop")
    parser.add_argument("--keep", action="store_true", help="do not repeat runs that other code made")
    parser.add_argument("--write-only", action="store_true", help="train nothing; write what is finished")
    parser.add_argument("--jobs", type=int, default=2, help="runs side by side (default 2)")
    parser.add_argument("--output", type=Path, help="where to write (default experiments/results)")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
