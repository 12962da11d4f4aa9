"""Which code made each table of results, whether that is today's, and what the table cost.

    python -m experiments.stamps                     # every table: stamp, verdict, processor minutes
    python -m experiments.stamps confirm suite       # compute drawn cells of a table again and note how many agree
    python -m experiments.stamps run gate            # run the command of a table and stamp it; what it prints is kept
    python -m experiments.stamps made audit 12.5     # a command without pieces of work has just written its table

The stamp is a hash of code: of the module that makes the table, of everything that this imports from ``experiments``
and ``benchmarks``, of ``aucross.core`` and ``aucross.estimators``, and of the other parts of the library that are
imported there. Comments, docstrings and layout are no part of it. A table is *current* if its stamp is today's,
*confirmed* if drawn cells that were computed again with today's code gave the kept figures, else *stale*.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator
from dataclasses import asdict, dataclass, fields, replace
from datetime import date
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from experiments import markdown

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "experiments" / "results" / "stamps.csv"
ALWAYS = frozenset({"core", "estimators"})
# How work is kept, written and drawn changes no figure.
NOT_COUNTED = frozenset(
    f"experiments.{name}" for name in ("drawing", "finished", "markdown", "stamps", "stamps.kept", "store", "work")
)
TOLERANCE = 2e-5  # tables are kept with five digits


# ---- the hash ----


@lru_cache
def code_of(module: str, root: Path = ROOT) -> str:
    """The stamp of what a module of ``experiments`` or ``benchmarks`` computes; empty for other modules."""
    if _path(module, root) is None:
        return ""
    own, rooms = _imported(module, root)
    sources = [_path(name, root) for name in sorted(own - NOT_COUNTED)]
    for room in sorted(rooms | ALWAYS):
        sources += sorted((root / "src" / "aucross" / room).rglob("*.py"))
    text = "\n".join(_code(path) for path in sources if path is not None)
    return sha256(text.encode()).hexdigest()[:12]


def _imported(module: str, root: Path) -> tuple[set[str], set[str]]:
    """Own modules that a module needs, itself included, and the parts of the library that these import."""
    found, rooms, to_read = set(), set(), [module]
    parts = _parts_of_names(root)
    while to_read:
        name = to_read.pop()
        path = _path(name, root)
        if name in found or path is None:
            continue
        found.add(name)
        for source, names in _imports(path):
            if source == "aucross":
                rooms |= {parts[imported] for imported in names if imported in parts}
            elif source.startswith("aucross."):
                rooms.add(source.split(".")[1])
            else:
                to_read += [source, *(f"{source}.{imported}" for imported in names)]
    return found, rooms


def _path(module: str, root: Path) -> Path | None:
    if module.partition(".")[0] not in ("experiments", "benchmarks"):
        return None
    path = root.joinpath(*module.split("."))
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.exists()), None)


def _imports(path: Path) -> Iterator[tuple[str, list[str]]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module, [alias.name for alias in node.names]
        elif isinstance(node, ast.Import):
            yield from ((alias.name, []) for alias in node.names)


def _parts_of_names(root: Path) -> dict[str, str]:
    """The part of the library behind each name of ``aucross`` itself."""
    found = _imports(root / "src" / "aucross" / "__init__.py")
    return {name: source.split(".")[1] for source, names in found if source.startswith("aucross.") for name in names}


@lru_cache
def _code(path: Path) -> str:
    """The statements of a file without comments, docstrings and layout."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [line for line in node.body if not _is_text(line)] or [ast.Pass()]
    return ast.unparse(ast.fix_missing_locations(tree))


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


# ---- tables ----


@dataclass(frozen=True)
class Table:
    """Results that one module makes.

    Attributes
    ----------
    name : str
        Of the kind of work, or of the benchmark.
    module : str
        What makes it.
    command : str
        What a reader types to make it again.
    pages : tuple of str
        Pages that show it, as seen from ``docs/evidence``.
    files : tuple of str
        Files of results; none where the page itself holds the figures.
    """

    name: str
    module: str
    command: str
    pages: tuple[str, ...]
    files: tuple[str, ...] = ()


def _paper(name: str, module: str, pages: str, files: str) -> Table:
    paths = tuple(f"experiments/results/{file}.csv" for file in files.split())
    return Table(name, f"experiments.{module}", "make paper", tuple(pages.split()), paths)


def _benchmark(name: str, pages: str, files: str = "", arguments: str = "") -> Table:
    paths = tuple(f"benchmarks/results/{file}" for file in files.split())
    command = f"python -m benchmarks.{name} {arguments}".rstrip()
    return Table(name, f"benchmarks.{name}", command, tuple(pages.split()), paths)


def _suite(name: str, module: str, pages: str, files: str) -> Table:
    paths = tuple(f"experiments/results/{file}" for file in files.split())
    return Table(name, f"experiments.{module}", "make suite", tuple(pages.split()), paths)


OF_SUITE = (
    "cells.csv.gz by_size.csv choosing_again.csv choosing_check.csv choosing_every.csv choosing_gate.csv "
    "choosing_lines.csv choosing_methods.csv choosing_situations.csv choosing_wrong.csv comparisons.csv costs.csv "
    "expected.csv families.csv losses.csv ranks.csv same_model.csv sets.csv"
)
TABLES: tuple[Table, ...] = (
    _paper(
        "runs",
        "runs",
        "tables studies",
        "cells agreement agreement_summary random_splits coverage_over_splits oracle_distance win_counts gate_gain "
        "coverage_errors learning_curve",
    ),
    _paper("optimism", "optimism", "studies", "oracle_optimism"),
    _paper("peers", "peer_runs", "peers", "peers"),
    _paper("speed", "speed", "tables", "speed"),
    _paper("data", "table1", "data tables", "data"),
    _suite("suite", "suite.runs", "suite", " ".join(f"suite/{file}" for file in OF_SUITE.split())),
    _suite("suite-deferral", "suite.deferral", "suite", "suite/deferral.csv"),
    Table(
        "without_time",
        "experiments.suite.without_time",
        "python -m experiments.suite.without_time",
        ("suite",),
        ("experiments/results/suite/without_time.csv",),
    ),
    *(
        _suite(f"columns-{name}", f"columns.{name}", "columns", f"columns/{name}.csv")
        for name in ("alerts", "groups", "over_time", "patients", "weights")
    ),
    Table(
        "networks",
        "experiments.networks.studies",
        "make networks",
        ("networks", "tables"),
        tuple(
            f"experiments/results/{n}.csv" for n in ("network_budgets", "network_models", "network_runs", "networks")
        ),
    ),
    Table(
        "network-seeds",
        "experiments.networks.seeds",
        "make networks",
        ("networks",),
        ("experiments/results/network_seeds.csv",),
    ),
    Table(
        "deferral",
        "experiments.deferral",
        "python -m experiments.deferral",
        ("../explanation/review",),
        ("experiments/results/deferral.csv",),
    ),
    _benchmark("crossfit_coverage", "crossfit", "crossfit_coverage.csv crossfit_promise.csv", "run"),
    _benchmark("intervals", "intervals promises", "intervals.csv"),
    _benchmark("keeper", "drift", "keeper.csv", "scores"),
    _benchmark("audit", "../explanation/audit", "audit.csv"),
    _benchmark("operations", "numbers promises", "operations.csv"),
    _benchmark("unfamiliar", "reviews", "unfamiliar.csv"),
    _benchmark("desk", "../howto/record", "desk.md"),
    _benchmark("onnx_suite", "../howto/other-systems", "onnx_suite.csv"),
    *(
        _benchmark(name, pages)
        for name, pages in {
            "auc_promise": "promises",
            "promise_coverage": "promises",
            "coverage_promise": "promises",
            "recalibrate": "drift",
            "base_rate": "../howto/groups",
            "streams": "drift",
            "drift_alarm": "drift",
            "reasons": "reviews",
            "strip": "../explanation/review",
            "earned": "../explanation/review",
            "physicians": "../explanation/review",
            "heavy_ties": "crossfit numbers",
            "gate": "../howto/gate",
            "groups_adult": "../howto/groups",
            "dask_scale": "speed",
            "spark_scale": "speed",
            "serve_load": "speed",
            "corridor": "speed",
            "out_of_core": "speed",
            "torch_speed": "networks",
            "ratios": "speed",
            "install": "speed",
            "record": "../howto/record",
        }.items()
    ),
)
BY_NAME = {table.name: table for table in TABLES}


# ---- stamps ----


@dataclass(frozen=True)
class Stamp:
    """What is known of the making of a table.

    Attributes
    ----------
    table : str
        Name of the table.
    code : str
        Hash of the code that made it; empty if nobody knows, "mixed" if its cells are of several.
    version, made : str
        Version of the library and day.
    minutes : float
        Processor minutes; NaN if they were not counted.
    cells, planned : int
        How many cells that code made, of how many that the table has.
    confirmed, drawn : int
        How many cells agreed, of how many that were computed again.
    confirmed_code, confirmed_on : str
        With which code, on which day.
    """

    table: str
    code: str = ""
    version: str = ""
    made: str = ""
    minutes: float = float("nan")
    cells: int = 0
    planned: int = 0
    confirmed: int = 0
    drawn: int = 0
    confirmed_code: str = ""
    confirmed_on: str = ""

    def verdict(self) -> str:
        """Whether today's code stands behind the table."""
        today = code_of(BY_NAME[self.table].module)
        if self.code == today:
            return "current"
        checked = self.drawn > 0 and self.confirmed_code == today
        found = f"{self.confirmed} of {self.drawn} drawn cells agree"
        if self.cells < self.planned:
            of_these = f"; of these {found}" if checked else ""
            return f"stale; {self.cells} of {self.planned} cells made again on {self.made}{of_these}"
        if checked:
            return f"confirmed: {found}" if self.is_confirmed else f"**stale: only {found}**"
        if self.drawn:
            return f"stale; on {self.confirmed_on} {found}"
        return "stale"

    @property
    def is_confirmed(self) -> bool:
        """Whether all cells that were computed again agreed."""
        return 0 < self.drawn == self.confirmed


def read_stamps(path: Path | None = None) -> dict[str, Stamp]:
    """The kept stamps, and an empty one for each table that has none."""
    texts = {field.name: str for field in fields(Stamp) if field.type == "str"}
    path = path or FILE
    kept = pd.read_csv(path, dtype=texts, keep_default_na=False, na_values={"minutes": [""]}) if path.exists() else None
    found = {} if kept is None else {row["table"]: Stamp(**row) for row in kept.to_dict("records")}  # type: ignore[misc]
    return {table.name: found.get(table.name, Stamp(table.name)) for table in TABLES}


def keep(stamp: Stamp, path: Path | None = None) -> None:
    """Put one stamp into the file."""
    path = path or FILE
    stamps = {**read_stamps(path), stamp.table: stamp}
    pd.DataFrame(asdict(each) for each in stamps.values()).to_csv(path, index=False, float_format="%.4g")


def version() -> str:
    """Version of the library in this tree, as the build reads it."""
    text = (ROOT / "src" / "aucross" / "__init__.py").read_text(encoding="utf-8")
    return text.partition('__version__ = "')[2].partition('"')[0]


def made_now(table: str, seconds: float) -> Stamp:
    """The stamp of a table that was written just now."""
    return Stamp(table, code_of(BY_NAME[table].module), version(), str(date.today()), seconds / 60)


def stamp_works(kind: str, works: Collection[Any]) -> None:
    """Stamp a table that is made of pieces of work; not at all if none of them is finished."""
    stored = [result for work in works if (result := work.stored()) is not None]
    if not stored:
        return
    codes, kept = {result.code for result in stored}, read_stamps()[kind]
    code = codes.pop() if len(codes) == 1 and len(stored) == len(works) else "mixed"
    made = made_now(kind, sum(result.seconds for result in stored))
    found = {name: getattr(kept, name) for name in ("confirmed", "drawn", "confirmed_code", "confirmed_on")}
    keep(replace(made, code=code, cells=len(stored), planned=len(works), **found))


def accepts(kind: str, code: str) -> bool:
    """Whether a cell of this code need not be computed again: it is today's, or today's code gave the drawn cells."""
    if kind not in BY_NAME:
        return True
    today, stamp = code_of(BY_NAME[kind].module), read_stamps()[kind]
    return code == today or (stamp.is_confirmed and stamp.confirmed_code == today)


# ---- cells computed again ----


@dataclass(frozen=True)
class KeptCell:
    """Kept lines of one cell, and how they are made."""

    name: str
    lines: pd.DataFrame
    again: Callable[[], pd.DataFrame]

    def agrees(self) -> bool:
        """Whether today's code gives the kept figures; seconds are no figures."""
        return same_figures(self.lines, self.again())


def same_figures(kept: pd.DataFrame, again: pd.DataFrame) -> bool:
    """Whether two tables have equal texts and numbers that agree to five digits."""
    names = [name for name in kept if "seconds" not in str(name) and name in again]
    if len(kept) != len(again) or not names:
        return False
    for name in names:
        left, right = (frame[name].reset_index(drop=True) for frame in (kept, again))
        numbers = [pd.to_numeric(values, errors="coerce").to_numpy(float) for values in (left, right)]
        if not np.isnan(numbers[0]).all():
            # A difference of two figures of five digits keeps their absolute error.
            if not np.allclose(*numbers, rtol=TOLERANCE, atol=TOLERANCE / 10, equal_nan=True):
                return False
        elif not (left.fillna("").astype(str) == right.fillna("").astype(str)).all():
            return False
    return True


# ---- page ----


def page() -> str:
    """Every table with its stamp, verdict and cost, as it is today."""
    lines = []
    for name, stamp in read_stamps().items():
        table = BY_NAME[name]
        minutes = "" if np.isnan(stamp.minutes) else f"{stamp.minutes:.1f}"
        made = f"`{stamp.code or 'unknown'}` {stamp.made}".rstrip()
        where = ", ".join(f"[{page.split('/')[-1]}]({page}.md)" for page in table.pages)
        lines.append([name, where, made, stamp.verdict(), minutes, f"`{table.command}`"])
    counts = pd.Series([line[3].replace("*", "").split(":")[0].split(";")[0] for line in lines]).value_counts()
    told = ", ".join(f"{counts.get(word, 0)} {word}" for word in ("current", "confirmed", "stale"))
    table_of = markdown.table(["table", "pages", "made by", "verdict", "processor minutes", "command"], lines)
    return f"**{told}**, of {len(lines)} tables, on {date.today()} with version {version()}.\n\n{table_of}"
