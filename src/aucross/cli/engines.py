"""Fit, predict and evaluate on folders of Parquet on a cluster; ``aucross.cluster`` does the work."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from aucross.cli import judging
from aucross.cli.base_models import METHODS, Features, check_installed, make_model
from aucross.cli.command_options import Base, EngineOptions, EvaluateOptions, FitOptions, Method, PredictOptions, Roles
from aucross.cli.errors import CommandError, UsageError, listed
from aucross.cli.fit import document_of_fit, facts_of_fit
from aucross.cli.predict import tell_decisions
from aucross.cli.schema import Schema, load_model, save_model
from aucross.cli.screen import Screen
from aucross.cli.table_files import TableFile, open_table
from aucross.cli.train import check_coverage_option, check_test_size
from aucross.cluster import write_decisions
from aucross.cluster.classifier import fit_on_cluster, rank_on_cluster
from aucross.cluster.engine import ClusterRows, Engine
from aucross.estimators.hashed_folds import HashedFolds
from aucross.evaluation import SelectiveEvaluation, evaluate_ranking
from aucross.files.signing import signing_key
from aucross.system.text import exact_percent
from aucross.system.whole_files import parquet_files

_METHODS = (Method.AUCROSS, Method.PLUGIN_AUC, Method.SCROSS)


@contextmanager
def open_engine(options: EngineOptions, screen: Screen) -> Iterator[Engine]:
    """Connect to a cluster, or start one on this machine."""
    name, scheduler = options.engine, options.scheduler
    module = import_module(f"aucross.cluster.{name}.{name}_rows")
    with ExitStack() as stack:
        try:
            engine = stack.enter_context(module.open_engine(scheduler))
        except ConnectionError as error:
            option = "--scheduler" if scheduler else f"--engine {name}"
            raise CommandError(f"{option}: {error}") from error
        screen.note(engine.about)
        yield engine


# ---- fit ----


def run_engine_fit(options: FitOptions, screen: Screen) -> dict[str, Any]:
    """Fit on a folder of Parquet on a cluster, test and save; return the content of the JSON document."""
    started = time.perf_counter()
    check_coverage_option(options.coverage)
    if options.method not in _METHODS:
        raise UsageError(f"--engine knows the methods {listed(map(str, _METHODS))}, got {options.method}")
    if options.time_column is not None:
        raise UsageError("--time-column is not for --engine; put the latest rows into a folder and pass --test")
    check_test_size(options.test_size)
    signing_key()
    roles = options.roles
    schema = _schema_of(options)
    folds = None if options.test else HashedFolds(max(2, round(1 / options.test_size)), seed=options.seed + 1)
    with open_engine(options, screen) as engine:
        base = options.base or Base(engine.boosters[0])
        rows = test = _rows(engine, options.data, schema, roles.customer)
        if folds is not None:
            rows, test = rows.taken(folds, first=False), rows.taken(folds, first=True)
        with screen.working(f"fitting {options.method} with {base} on {options.data.name}"):
            clf = _fitted(engine, rows, schema, options, base)
        seconds = time.perf_counter() - started
        if options.test is not None:
            test = _rows(engine, options.test, schema)
        evaluation, n_test = _evaluated(
            clf, test, options.test or options.data, roles, coverage=options.coverage, screen=screen
        )
    split = options.test.name if options.test else f"{exact_percent(1 / folds.n_splits)} by a hash of the row"  # type: ignore[union-attr]
    n_train = clf.held_out_.n_rows if options.method is not Method.PLUGIN_AUC else None
    sentence = judging.conclusion(evaluation, options.coverage, is_weighted=roles.weight is not None)
    counted = {"base": str(base), "engine": str(options.engine), "n_train": n_train, "n_test": n_test, "split": split}
    facts = facts_of_fit(options, screen, evaluation, **counted, seconds_of_fit=seconds, conclusion=sentence)
    save_model(clf, options.model, schema, **facts)
    weighted = "" if roles.weight is None else judging.BY_WEIGHT
    judging.show_evaluation(screen, evaluation, f"{n_test:,} test rows{weighted} ({split})", options.coverage)
    screen.say(sentence)
    screen.say(f"Model: {options.model}")
    return document_of_fit(options, schema, facts, started, report=None)


def _rows(engine: Engine, folder: Path, schema: Schema, customer: str | None = None) -> ClusterRows:
    return engine.read(str(folder), list(schema.columns), schema.roles.target, schema.roles.weight, customer)


def _fitted(engine: Engine, rows: ClusterRows, schema: Schema, options: FitOptions, base: Base) -> Any:
    """Fit on the cluster: all workers train the engine's boosters, one process trains other models in memory."""
    check_installed(base)
    if base in engine.boosters:
        estimator, local = engine.booster(base, options.seed)
    elif options.weight is not None:
        boosters = " or ".join(engine.boosters)
        raise CommandError(f"--weight with --engine {options.engine} needs --base {boosters}, got --base {base}")
    else:
        estimator = local = make_model(base, Features(list(schema.columns), {}), seed=options.seed)
    refits = options.method.cross_fits
    folds = HashedFolds(5 if refits else 10, seed=options.seed)
    method = METHODS[options.method](local, coverage=options.coverage, cv=folds)
    label = f"the column {options.target!r}"
    return fit_on_cluster(method, estimator, rows, refits=refits, label=label, classes=(0, 1))[0]


def _folder(path: Path) -> TableFile:
    """Return the table in a folder of Parquet files; engines read no other files."""
    if not path.is_dir() or not parquet_files(path):
        raise CommandError(
            f"--engine reads a folder of Parquet files, got {path}; write the table as such, or leave out --engine"
        )
    return open_table(path)


def _schema_of(options: FitOptions) -> Schema:
    """Return the columns of a folder of Parquet; features must be numbers or booleans."""
    table, roles, drop = _folder(options.data), options.roles, options.drop or ()
    roles.check(table, drop)
    types = pq.read_schema(table.files[0])
    kinds: dict[str, Any] = {}
    for name in types.names:
        kind = types.field(name).type
        if name in {*roles.named, *drop} or name.startswith("__"):
            continue
        if not (pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            raise CommandError(
                f"column {name!r} of {table.path.name} is of type {kind}, and --engine reads numbers and booleans; "
                f"encode it in the table, or leave it out with --drop {name}"
            )
        kinds[name] = "boolean" if pa.types.is_boolean(kind) else "number"
    if not kinds:
        raise CommandError(f"{table.path.name} has no column left to learn from; drop fewer, or add some")
    target = types.field(roles.target).type
    if not (pa.types.is_boolean(target) or pa.types.is_integer(target)):
        raise CommandError(
            f"--target: column {roles.target!r} must hold 0 and 1 with --engine, got {target}; write it so in the table"
        )
    return Schema(kinds, ("0", "1"), roles, tuple(drop))


# ---- evaluate and predict ----


def run_engine_evaluate(options: EvaluateOptions, screen: Screen) -> dict[str, Any]:
    """Test a model on a folder of labelled rows; return the content of the JSON document."""
    started = time.perf_counter()
    check_coverage_option(options.coverage)
    clf, schema = load_model(options.model)
    asked, is_weighted = options.coverage or clf.coverage, schema.roles.weight is not None
    table = _folder(options.data)
    schema.check_columns(table, screen.note)
    table.check_has(schema.roles.target, "the target of the model")
    with open_engine(options, screen) as opened:
        rows = _rows(opened, options.data, schema)
        evaluation, n_rows = _evaluated(clf, rows, options.data, schema.roles, coverage=asked, screen=screen)
    title = f"{n_rows:,} rows of {options.data.name}{judging.BY_WEIGHT if is_weighted else ''}"
    judging.show_evaluation(screen, evaluation, title, asked)
    sentence = judging.conclusion(evaluation, asked, is_weighted=is_weighted)
    screen.say(sentence)
    facts = {"coverage": asked, "n_rows": n_rows, "engine": str(options.engine), "groups": None}
    return judging.document_of_evaluation(options, started, evaluation, **facts, conclusion=sentence)


def run_engine_predict(options: PredictOptions, out: Path, screen: Screen) -> dict[str, Any]:
    """Decide on every row of a folder, file by file; return the content of the JSON document."""
    started = time.perf_counter()
    check_coverage_option(options.coverage)
    clf, schema = load_model(options.model)
    name = options.id_column or schema.roles.id
    columns = [] if name is None else [name]
    table = _folder(options.data)
    schema.check_columns(table, screen.note)
    table.check_has(name, "--id")
    with (
        open_engine(options, screen) as opened,
        screen.working(f"deciding on {options.data.name}", "{task.completed} of {task.total} files") as told,
    ):
        run = opened.run_parts(told)
        counts = write_decisions(clf, options.data, out, coverage=options.coverage, columns=columns, run=run)
    found = sum(part.rows for part in counts), sum(part.automatic for part in counts)
    document = tell_decisions(screen, options, out, clf, found)
    return document | {"engine": str(options.engine), "seconds": time.perf_counter() - started}


def _evaluated(
    clf: Any, rows: ClusterRows, folder: Path, roles: Roles, *, coverage: float, screen: Screen
) -> tuple[SelectiveEvaluation, int]:
    coverages = judging.coverages_with([coverage])
    with screen.working(f"ranking the rows of {folder.name}"):
        ranked = rank_on_cluster(clf, rows, coverages, label=roles.target)
    if roles.customer is not None:
        screen.note(
            f"--engine: the intervals count each row by itself, though rows of one {roles.customer!r} belong together, "
            "and are too narrow"
        )
    everything = ranked.everything
    n_positive, n_negative = everything.totals[:, 0].tolist()
    if min(n_positive, n_negative) == 0:
        raise CommandError(
            f"the test rows of {folder.name} must hold both classes, got {n_positive:g} positives of "
            f"{n_positive + n_negative:g}; pass other rows"
        )
    evaluation = evaluate_ranking(everything, ranked.selected, coverages, confidence_level=judging.CONFIDENCE)
    return evaluation, int(n_positive + n_negative)
