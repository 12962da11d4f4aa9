"""aucross predict: a model and a table of any size in, one decision per row out."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from aucross.cli.base_models import strange_values
from aucross.cli.column_kinds import output_labels
from aucross.cli.errors import UsageError
from aucross.cli.numbers import NumberFormat
from aucross.cli.output import check_writable, n_marked, table_writer
from aucross.cli.schema import load_model
from aucross.cli.screen import Screen
from aucross.cli.table_decisions import Ids, TableDecisions
from aucross.cli.table_files import check_table, format_of, open_table
from aucross.cli.train import check_coverage_option
from aucross.estimators.decisions import AUTOMATIC
from aucross.files.facts_beside import write_facts
from aucross.files.fingerprints import model_fingerprint, rule_fingerprint
from aucross.system.text import json_ready
from aucross.watch.keeper import CoverageKeeper


@dataclass(frozen=True)
class PredictOptions:
    """Options of `aucross predict`."""

    model: Path
    data: Path
    out: Path
    coverage: float | None = None
    capacity: int | None = None
    recalibrate: bool = False
    keep_coverage: bool = False
    id: str | None = None
    separator: str | None = None
    numbers: NumberFormat | None = None


def run_predict(options: PredictOptions, screen: Screen) -> dict[str, Any]:
    """Decide on every row of a table; return the content of the JSON document."""
    started = time.perf_counter()
    _check(options)
    clf, schema = load_model(options.model, options.numbers)
    table = open_table(options.data, options.separator)
    schema.check_columns(table, screen.note)
    strange = strange_values(clf, schema)
    keeper = CoverageKeeper(clf, options.coverage) if options.keep_coverage else None
    decisions = TableDecisions(
        clf,
        table,
        schema,
        Ids.of(table, options.id, schema.roles.id),
        # A CSV file keeps the spelling of the labels, Parquet has types.
        output_labels(schema.labels) if format_of(options.out) == "parquet" else pa.array(schema.labels),
        options.coverage,
        options.capacity,
        options.recalibrate,
        strange.add,
        keeper,
    )
    n_rows, n_automatic, n_without_score, n_formulas, weights = _write(decisions, options.out, screen)
    _write_facts(options, clf)
    for note in [*strange.notes(), *([] if keeper is None else [_on_level(keeper)])]:
        screen.note(note)
    if options.out.suffix.lower() == ".txt":
        screen.note(
            f"{options.out.name} is a CSV file, with commas between the values; .csv and .parquet say what they are"
        )
    if n_formulas:
        screen.note(
            f"{n_formulas:,} values of {decisions.ids.name!r} start like a formula of a spreadsheet and are written "
            "after an apostrophe; .parquet keeps them as they are"
        )
    if n_without_score:
        screen.note(
            f"{n_without_score:,} rows have no value of {schema.score!r}, or points far from those of the fit, and go "
            "to review without a prediction"
        )
    if not n_rows:
        screen.note(f"{table.path.name} has no rows below its header, and so has {options.out.name}")
    if options.capacity is not None and options.capacity < n_without_score:
        screen.note(f"they are more than the capacity of {options.capacity:,}, and no other row goes to review")
    if options.capacity is not None and options.capacity > n_rows:
        screen.note(f"the capacity of {options.capacity:,} exceeds the {n_rows:,} rows: all of them go to review")
    if schema.roles.weight is not None and schema.roles.weight not in table.names:
        screen.note(f"{table.path.name} has no column {schema.roles.weight!r} of weights: the coverage counts rows")
    coverage = n_automatic / n_rows if n_rows else None
    of_weight = None if weights is None or not weights[0] else weights[1] / weights[0]
    share = "" if coverage is None else f" (coverage {coverage:.3f})"
    if of_weight is not None:
        share = f" (coverage {of_weight:.3f} of {schema.roles.weight}, {coverage:.3f} of the rows)"
    screen.say(f"{n_rows:,} rows: {n_automatic:,} automatic{share}, {n_rows - n_automatic:,} for review.")
    screen.say(f"Decisions: {options.out}")
    return {
        "command": "predict",
        "model": str(options.model),
        "decisions": str(options.out),
        "rows": n_rows,
        "automatic": n_automatic,
        "review": n_rows - n_automatic,
        "without_score": n_without_score,
        "coverage": coverage,
        "coverage_of_weight": of_weight,
        "target_coverage": None if options.capacity is not None else (options.coverage or clf.coverage),
        "capacity": options.capacity,
        "recalibrated": options.recalibrate,
        "level": None if keeper is None else keeper.level,
        "seconds": time.perf_counter() - started,
    }


def _on_level(keeper: CoverageKeeper) -> str:
    return (
        f"the coverage of {keeper.coverage:g} was kept row by row; the level asked for ended at {keeper.level:.3f}, "
        "and one far from the coverage tells of drift"
    )


def _write_facts(options: PredictOptions, clf: Any) -> None:
    """Write the facts about the model and its bands to a file beside the decisions."""
    coverage = clf.coverage if options.coverage is None else options.coverage
    groups = clf.band_rule_.group_labels or (None,)
    bands = [clf.band(coverage, group) for group in groups]
    is_of_model = options.capacity is None and not options.recalibrate and not options.keep_coverage
    facts = {
        "batch": None,
        "model_fingerprint": model_fingerprint(clf),
        "rule_fingerprint": rule_fingerprint(clf),
        "coverage": None if options.capacity is not None else coverage,
        "capacity": options.capacity,
        "recalibrated": options.recalibrate,
        "coverage_kept": options.keep_coverage,
        "groups": None if groups == (None,) else list(groups),
        "bands": [None if band.is_empty else [band.lower, band.upper] for band in bands] if is_of_model else None,
    }
    write_facts(options.out, json_ready(facts))


def _check(options: PredictOptions) -> None:
    """Refuse options that cannot work, before any file is read."""
    check_coverage_option(options.coverage)
    if options.capacity is not None:
        if options.capacity < 0:
            raise UsageError(f"--capacity must be a number of rows, 0 or more, got {options.capacity}")
        if options.coverage is not None:
            raise UsageError("--coverage and --capacity both say how many rows to review; give one of them")
        if options.recalibrate:
            raise UsageError(
                "--recalibrate places a band to meet a coverage, and --capacity needs none; give one of them"
            )
    if options.keep_coverage and (options.capacity is not None or options.recalibrate):
        raise UsageError(
            "--keep-coverage moves the band from row to row, and --capacity and --recalibrate decide on all rows at "
            "once; give one of them"
        )
    format_of(options.out)
    check_table(options.data)
    check_writable(options.out)
    if options.data.is_dir() and options.out.resolve().is_relative_to(options.data.resolve()):
        raise UsageError(f"--out: {options.out} lies in the folder to read; name a file elsewhere")
    if options.out.resolve() in (options.data.resolve(), options.model.resolve()):
        raise UsageError(f"--out: {options.out} is a file to read; name another one")


def _write(
    decisions: TableDecisions, out: Path, screen: Screen
) -> tuple[int, int, int, int, tuple[float, float] | None]:
    """Write all decisions; return the numbers of rows, of automatic rows, of rows without a score and of formulas.

    Beside them the weight of all rows and that of the automatic ones, if rows have weights.
    """
    of_all = of_automatic = 0.0
    is_weighted = False
    n_rows = n_automatic = n_without_score = n_formulas = 0
    what = f"deciding on {decisions.table.path.name}"
    with screen.progress.rows(what) as progress, table_writer(out, decisions.columns) as writer:
        for batch, weight in decisions.batches():
            writer.write(batch)
            n_rows += batch.num_rows
            is_automatic = pc.equal(batch["decision"], AUTOMATIC)
            n_automatic += pc.sum(is_automatic).as_py()
            if weight is not None:
                is_weighted = True
                of_all += float(weight.sum())
                of_automatic += float(weight[is_automatic.to_numpy(zero_copy_only=False)].sum())
            n_without_score += batch["score"].null_count
            n_formulas += n_marked(batch[decisions.ids.name], out)
            progress(n_rows)
    return n_rows, n_automatic, n_without_score, n_formulas, (of_all, of_automatic) if is_weighted else None
