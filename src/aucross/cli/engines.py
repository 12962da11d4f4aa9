"""Fit, predict and evaluate on folders of Parquet where a cluster has the rows: ``aucross.cluster`` does the work."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from aucross.cli.base_models import Features, check_installed, make_model
from aucross.cli.errors import CommandError, UsageError, listed
from aucross.cli.judging import CONFIDENCE, by_weight, conclusion, coverages_with, show_evaluation
from aucross.cli.names import Base, EngineName, Method
from aucross.cli.schema import Roles, Schema, load_model, save_model, signing_key
from aucross.cli.screen import Screen
from aucross.cli.train import check_coverage_option
from aucross.cluster.classifier import fit_on_cluster, rank_on_cluster
from aucross.cluster.engine import ClusterRows, Engine
from aucross.estimators.auc import AUCross, PlugInAUC
from aucross.estimators.confidence import SCross
from aucross.estimators.hashed_folds import HashedFolds
from aucross.evaluation import SelectiveEvaluation, evaluate_ranking
from aucross.record import write_decisions
from aucross.system.text import exact_percent

_METHODS: dict[Method, Any] = {Method.AUCROSS: AUCross, Method.PLUGIN_AUC: PlugInAUC, Method.SCROSS: SCross}


@contextmanager
def open_engine(name: EngineName, scheduler: str | None, screen: Screen) -> Iterator[Engine]:
    """Connect to a cluster, or start one on this machine."""
    try:
        module = import_module(f"aucross.cluster.{name}.{name}_rows")
    except ModuleNotFoundError as error:
        raise CommandError(str(error)) from error
    with ExitStack() as stack:
        try:
            engine = stack.enter_context(module.open_engine(scheduler))
        except ConnectionError as error:
            option = "--scheduler" if scheduler else f"--engine {name}"
            raise CommandError(f"{option}: {error}") from error
        screen.note(engine.about)
        yield engine


# ---- fit ----


@dataclass(frozen=True, kw_only=True)
class EngineFitOptions:
    """Options of `aucross fit --engine`."""

    engine: EngineName
    scheduler: str | None
    data: Path
    roles: Roles
    out: Path
    coverage: float = 0.9
    base: Base | None = None
    method: Method = Method.AUCROSS
    test: Path | None = None
    test_size: float = 0.25
    drop: Sequence[str] = ()
    seed: int = 0
    command: str | None = None

    def check(self) -> None:
        """Refuse options that cannot work, before any file is read."""
        check_coverage_option(self.coverage)
        if self.method not in _METHODS:
            raise UsageError(
                f"--engine knows the methods {listed([str(method) for method in _METHODS])}, got {self.method}"
            )
        if self.roles.time is not None:
            raise UsageError("--time-column is not for --engine; put the latest rows into a folder and pass --test")
        if not 0 < self.test_size < 1:
            raise UsageError(f"--test-size must be a share in (0, 1), got {self.test_size:g}; pass 0.25 for a quarter")
        signing_key()


def run_engine_fit(options: EngineFitOptions, screen: Screen) -> dict[str, Any]:
    """Fit on a folder of Parquet on a cluster, test and save; return the content of the JSON document."""
    started = time.perf_counter()
    options.check()
    schema = _schema_of(options.data, options.roles, options.drop)
    folds = None if options.test else HashedFolds(max(2, round(1 / options.test_size)), seed=options.seed + 1)
    with open_engine(options.engine, options.scheduler, screen) as engine:
        base = options.base or Base(engine.boosters[0])
        rows = test = _rows(engine, options.data, schema, options.roles.group)
        if folds is not None:
            rows, test = rows.taken(folds, first=False), rows.taken(folds, first=True)
        with screen.progress.wait(f"fitting {options.method} with {base} on {options.data.name}"):
            clf = _fitted(engine, rows, schema, options, base)
        seconds = time.perf_counter() - started
        if options.test is not None:
            test = _rows(engine, options.test, schema)
        tested = options.test or options.data
        evaluation, n_test = _evaluated(clf, test, tested, schema.roles, options.coverage, screen=screen)
    split = options.test.name if options.test else f"{exact_percent(1 / folds.n_splits)} by a hash of the row"  # type: ignore[union-attr]
    sentence = conclusion(evaluation, options.coverage, is_weighted=options.roles.weight is not None)
    facts: dict[str, Any] = {
        "method": str(options.method),
        "base": str(base),
        "engine": str(options.engine),
        "coverage": options.coverage,
        "seed": options.seed,
        "data": options.data.name,
        "fit_command": options.command,
        "n_train": clf.held_out_.n_rows if options.method is not Method.PLUGIN_AUC else None,
        "n_test": n_test,
        "split": split,
        "seconds_of_fit": seconds,
        "evaluation": evaluation.rows(),
        "conclusion": sentence,
    }
    save_model(clf, options.out, schema, **facts)
    weighted = by_weight(options.roles.weight is not None)
    show_evaluation(screen, evaluation, f"{n_test:,} test rows{weighted} ({split})", options.coverage)
    screen.say(sentence)
    screen.say(f"Model: {options.out}")
    return {
        "command": "fit",
        "model": str(options.out),
        "report": None,
        "columns": dict(schema.columns),
        **facts,
        "seconds": time.perf_counter() - started,
    }


def _rows(engine: Engine, folder: Path, schema: Schema, groups: str | None = None) -> ClusterRows:
    return engine.read(str(folder), list(schema.columns), schema.roles.target, schema.roles.weight, groups)


def _fitted(engine: Engine, rows: ClusterRows, schema: Schema, options: EngineFitOptions, base: Base) -> Any:
    """Fit on the cluster: boosters of the engine on all workers, other models in the memory of one process."""
    check_installed(base)
    if base in engine.boosters:
        estimator, local = engine.booster(base, options.seed)
    elif options.roles.weight is not None:
        boosters = " or ".join(engine.boosters)
        raise CommandError(f"--weight with --engine {options.engine} needs --base {boosters}, got --base {base}")
    else:
        estimator = local = make_model(base, Features(list(schema.columns), {}), seed=options.seed)
    refits = options.method.cross_fits
    folds = HashedFolds(5 if refits else 10, seed=options.seed)
    method = _METHODS[options.method](local, coverage=options.coverage, cv=folds)
    label = f"the column {options.roles.target!r}"
    return fit_on_cluster(method, estimator, rows, refits=refits, label=label, classes=(0, 1)).local


def _schema_of(folder: Path, roles: Roles, drop: Sequence[str]) -> Schema:
    """Return the columns of a folder of Parquet; features must be numbers or booleans."""
    schema = _arrow_schema(folder)
    for option, name in (
        ("--target", roles.target),
        ("--weight", roles.weight),
        ("--group", roles.group),
        ("--id", roles.id),
    ):
        if name is not None and name not in schema.names:
            raise CommandError(f"{option}: {folder.name} has no column {name!r}; it has {listed(schema.names)}")
    features = [name for name in schema.names if name not in {*roles.named, *drop} and not name.startswith("__")]
    kinds: dict[str, Any] = {}
    for name in features:
        kind = schema.field(name).type
        if pa.types.is_boolean(kind):
            kinds[name] = "boolean"
        elif pa.types.is_integer(kind) or pa.types.is_floating(kind):
            kinds[name] = "number"
        else:
            raise CommandError(
                f"column {name!r} of {folder.name} is of type {kind}, and --engine reads numbers and booleans; encode "
                f"it in the table, or leave it out with --drop {name}"
            )
    if not kinds:
        raise CommandError(f"{folder.name} has no column left to learn from; drop fewer, or add some")
    target = schema.field(roles.target).type
    if not (pa.types.is_boolean(target) or pa.types.is_integer(target)):
        raise CommandError(
            f"--target: column {roles.target!r} must hold 0 and 1 with --engine, got {target}; write it so in the table"
        )
    return Schema(kinds, ("0", "1"), roles, tuple(drop))


def _arrow_schema(folder: Path) -> Any:
    files = sorted(path for path in folder.glob("*.parquet") if path.name[0] not in "._") if folder.is_dir() else []
    if not files:
        raise CommandError(
            f"--engine reads a folder of Parquet files, got {folder}; write the table as such, or leave out --engine"
        )
    return pq.read_schema(files[0])


# ---- evaluate and predict ----


def run_engine_evaluate(
    engine: EngineName,
    scheduler: str | None,
    *,
    model: Path,
    data: Path,
    coverage: float | None,
    screen: Screen,
) -> dict[str, Any]:
    """Test a model on a folder of labelled rows; return the content of the JSON document."""
    started = time.perf_counter()
    check_coverage_option(coverage)
    clf, schema = load_model(model)
    asked = clf.coverage if coverage is None else coverage
    _check_columns(data, [*schema.columns, schema.roles.target])
    with open_engine(engine, scheduler, screen) as opened:
        rows = _rows(opened, data, schema)
        evaluation, n_rows = _evaluated(clf, rows, data, schema.roles, asked, screen=screen)
    sentence = conclusion(evaluation, asked, is_weighted=schema.roles.weight is not None)
    weighted = by_weight(schema.roles.weight is not None)
    show_evaluation(screen, evaluation, f"{n_rows:,} rows of {data.name}{weighted}", asked)
    screen.say(sentence)
    return {
        "command": "evaluate",
        "model": str(model),
        "data": str(data),
        "engine": str(engine),
        "n_rows": n_rows,
        "coverage": asked,
        "evaluation": evaluation.rows(),
        "groups": None,
        "conclusion": sentence,
        "seconds": time.perf_counter() - started,
    }


def run_engine_predict(
    engine: EngineName,
    scheduler: str | None,
    *,
    model: Path,
    data: Path,
    out: Path,
    coverage: float | None,
    id_column: str | None,
    screen: Screen,
) -> dict[str, Any]:
    """Decide on every row of a folder, file by file; return the content of the JSON document."""
    started = time.perf_counter()
    check_coverage_option(coverage)
    clf, schema = load_model(model)
    name = id_column or schema.roles.id
    columns = [] if name is None else [name]
    _check_columns(data, [*schema.columns, *columns])
    with (
        open_engine(engine, scheduler, screen) as opened,
        screen.progress.parts(f"deciding on {data.name}") as told,
    ):
        counts = write_decisions(clf, data, out, coverage=coverage, columns=columns, run=opened.run_parts(told))
    n_rows, n_automatic = sum(part.rows for part in counts), sum(part.automatic for part in counts)
    reached = n_automatic / n_rows if n_rows else None
    share = "" if reached is None else f" (coverage {reached:.3f})"
    screen.say(f"{n_rows:,} rows: {n_automatic:,} automatic{share}, {n_rows - n_automatic:,} for review.")
    screen.say(f"Decisions: {out}")
    return {
        "command": "predict",
        "model": str(model),
        "decisions": str(out),
        "engine": str(engine),
        "rows": n_rows,
        "automatic": n_automatic,
        "review": n_rows - n_automatic,
        "coverage": reached,
        "target_coverage": coverage or clf.coverage,
        "seconds": time.perf_counter() - started,
    }


def _evaluated(
    clf: Any, rows: ClusterRows, folder: Path, roles: Roles, coverage: float, *, screen: Screen
) -> tuple[SelectiveEvaluation, int]:
    coverages = coverages_with([coverage])
    with screen.progress.wait(f"ranking the rows of {folder.name}"):
        ranked = rank_on_cluster(clf, rows, coverages, label=roles.target)
    if roles.group is not None:
        screen.note(
            f"--engine: the intervals count each row by itself, though rows of one {roles.group!r} belong together, "
            "and are too narrow"
        )
    everything = ranked.everything
    n_positive, n_negative = everything.totals[:, 0].tolist()
    if min(n_positive, n_negative) == 0:
        raise CommandError(
            f"the test rows of {folder.name} must hold both classes, got {n_positive:g} positives of "
            f"{n_positive + n_negative:g}; pass other rows"
        )
    evaluation = evaluate_ranking(everything, ranked.selected, coverages, confidence_level=CONFIDENCE)
    return evaluation, int(n_positive + n_negative)


def _check_columns(folder: Path, columns: Sequence[str]) -> None:
    known = _arrow_schema(folder).names
    if missing := [name for name in columns if name not in known]:
        raise CommandError(f"{folder.name} lacks {listed(missing)}, which the model reads; add what is missing")
