"""The pieces of work of the suite, and how long they will take."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from statistics import median

from experiments.peers import MODULES
from experiments.suite import protocol
from experiments.suite.methods import OURS, PEERS, SLOW_PEERS
from experiments.suite.protocol import FAMILIES, N_SPLITS, Cell, all_cells
from experiments.suite.runs import run_cell
from experiments.suite.sets import PAPER, file_of
from experiments.trained_once import parameters_of
from experiments.work import Work

KIND = "suite"
LIBRARIES = ("lightgbm", "xgboost-cpu", "scikit-learn", "numpy")
# Small and middle-sized, rare and frequent positives, with time and with customers.
QUICK_SETS = ("german_credit", "stroke", "hmeq", "telco_churn", "ne_weather", "bank_marketing")
QUICK_FAMILIES = ("LightGBM", "Logistic")


def full_plan(datasets: Collection[str], n_splits: int = N_SPLITS) -> list[Work]:
    """Every family on every set."""
    return works_of(all_cells(datasets, n_splits=n_splits))


def quick_plan(datasets: Collection[str]) -> list[Work]:
    """Six sets, two families and three splits: the shape of every result in less than five minutes."""
    return works_of(all_cells([name for name in QUICK_SETS if name in datasets], QUICK_FAMILIES, 3))


def works_of(cells: Iterable[Cell]) -> list[Work]:
    """Cells as pieces of work, kept under everything that they depend on."""
    return [Work(KIND, cell, run_cell, settings_of(cell.dataset, cell.family)) for cell in cells]


@lru_cache
def settings_of(dataset: str, family: str) -> str:
    """Everything besides its name that a cell depends on; how results are analysed is no part of it."""
    models = {name: parameters_of(FAMILIES[name]()) for name in sorted({family, protocol.GATE})}
    methods = (*OURS, *(peer.name for peer in (*PEERS, *SLOW_PEERS)))
    numbers = (
        protocol.COVERAGES,
        protocol.MOST_TRAINED_OF.get(family, protocol.MOST_TRAINED),
        protocol.MOST_TESTED,
        protocol.TEST_SHARE,
        protocol.DRAWN_SHARE,
        protocol.N_SPLITS_OF_SLOW_PEERS,
    )
    libraries = [f"{name} {_version(name)}" for name in (*LIBRARIES, *MODULES)]
    size = 0 if dataset in PAPER else file_of(dataset).stat().st_size
    return repr((dataset, size, numbers, methods, models, libraries))


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return "absent"


def told(works: Collection[Work], n_jobs: int) -> str:
    """How many cells are done, and how long the others will take by the time that those took."""
    stored = [(work.argument, work.stored()) for work in works]
    done: dict[str, list[float]] = {}
    for cell, result in stored:
        if result is not None:
            done.setdefault(cell.family, []).append(result.seconds)  # type: ignore[attr-defined]
    lines = [f"{len(works)} cells: one data set, one family of models and one split each"]
    left = 0.0
    for family in FAMILIES:
        n_cells = sum(cell.family == family for cell, _ in stored)  # type: ignore[attr-defined]
        found = done.get(family, [])
        per_cell = f"{median(found):.1f} s each in the middle" if found else "not timed yet"
        lines.append(f"  {family}: {len(found)} of {n_cells} done, {per_cell}")
        left += (n_cells - len(found)) * (median(found) if found else 0.0)
    if done:
        lines.append(f"left: about {left / 60 / n_jobs:.0f} minutes with {n_jobs} side by side")
    return "\n".join(lines)
