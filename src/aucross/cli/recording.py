"""Longer commands of a record: record decisions, add reviews and outcomes, place bands on new rows."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aucross.cli.base_models import strange_values
from aucross.cli.column_kinds import label_text
from aucross.cli.command_options import PredictOptions
from aucross.cli.errors import CommandError, UsageError, opened
from aucross.cli.output import table_writer
from aucross.cli.predict import UNLIKE, Ids
from aucross.cli.schema import Schema, band_groups_of, features_of, load_model, load_model_with_facts, save_model
from aucross.cli.screen import Screen
from aucross.cli.table_files import check_table, check_writable, ending_of, open_table, read_batches
from aucross.cli.train import check_coverage_option
from aucross.estimators.decisions import AUTOMATIC
from aucross.files.signing import write_facts
from aucross.system.text import original_text

_WRITTEN = ("id", "score", "prediction", "decision", "why", "rank", "reason", "lower", "upper")


def run_recorded_predict(options: PredictOptions, record: str, batch_name: str, screen: Screen) -> dict[str, Any]:
    """Decide on all rows of a table as one batch of a record; return the content of the JSON document."""
    started, keep = time.perf_counter(), options.keep or ()
    check_coverage_option(options.coverage)
    if options.capacity is not None and (options.coverage is not None or options.capacity < 0):
        raise UsageError("--capacity must be a number of rows, 0 or more, and excludes --coverage")
    check_table(options.data)
    if options.out is not None:
        check_writable(options.out)
    clf, schema = load_model(options.model, options.numbers)
    table = open_table(options.data, options.separator)
    schema.check_columns(table, screen.note)
    ids = Ids.of(table, options.id_column, schema.roles.id)
    if not ids.is_column:
        raise UsageError("--id: a record needs a column that names the cases, by which outcomes are told; name one")
    for name in keep:
        table.check_has(name, "--keep")
    rows = _all_rows(table, [*schema.columns, ids.name, schema.roles.band_group, *keep])
    X = features_of(rows, schema)
    strange = strange_values(clf, schema)
    strange.add(X)
    shadow = load_shadow(options.shadow, schema, options.numbers)
    with opened(record, create=True) as found:
        batch = found.decide(
            clf,
            X,
            batch=batch_name,
            ids=rows.column(ids.name).cast(pa.string()).to_pylist(),
            coverage=options.coverage,
            capacity=options.capacity,
            band_groups=band_groups_of(rows, schema),
            keep={name: rows.column(name).to_pylist() for name in keep},
            labels=schema.labels,
            shadow=shadow,
            audit=options.audit,
            strip=options.strip,
            unfamiliar=None if options.decide_unfamiliar or options.capacity is not None else "review",
        )
        head = str(found.head())
    for note in strange.notes():
        screen.note(note)
    if n_unlike := list(batch.columns["why"]).count("unfamiliar"):
        screen.note(
            f"{n_unlike:,} rows are {UNLIKE} and go to review, where the band would have decided them; their reasons "
            "say in what"
        )
    if not batch.is_new:
        screen.note(f"batch {batch.name!r} was recorded at {batch.time} already; these are its decisions")
    n_rows, n_automatic = len(batch), int(batch.selected.sum())
    share = f" (coverage {n_automatic / n_rows:.3f})" if n_rows else ""
    screen.say(f"{n_rows:,} rows: {n_automatic:,} automatic{share}, {n_rows - n_automatic:,} for review.")
    screen.say(f"Recorded as batch {batch.name} of {record}; last hash {head}.")
    if options.out is not None:
        _write_decisions(options.out, batch, record)
        screen.say(f"Decisions: {options.out}")
    return {
        "command": "predict",
        "model": str(options.model),
        "record": record,
        "batch": batch.name,
        "is_new": batch.is_new,
        "last_hash": head,
        "decisions": None if options.out is None else str(options.out),
        "rows": n_rows,
        "automatic": n_automatic,
        "review": n_rows - n_automatic,
        "target_coverage": batch.coverage,
        "capacity": batch.capacity,
        "seconds": time.perf_counter() - started,
    }


def load_shadow(path: Path | None, schema: Schema, numbers: Any = None) -> Any:
    """Return a second model, or None without a path; refuse one with other columns or labels."""
    if path is None:
        return None
    clf, other = load_model(path, numbers)
    if list(other.columns.items()) != list(schema.columns.items()) or other.labels != schema.labels:
        raise UsageError("--shadow: the two models must read the same columns and answer with the same labels")
    return clf


def _all_rows(table: Any, columns: list[str | None]) -> pa.Table:
    wanted = list(dict.fromkeys(name for name in columns if name is not None and name in table.names))
    batches = list(read_batches(table, wanted))
    if not batches:
        raise CommandError(f"{table.path.name} has no rows below its header; there is nothing to record")
    return pa.Table.from_batches(batches).combine_chunks()


def _write_decisions(out: Path, batch: Any, record: str) -> None:
    table = batch.to_arrow().select(_WRITTEN)
    if {"audit_probability", "strip_probability"} & set(batch.columns):
        # Whoever reviews must not see which cases were drawn: nothing is told of a case for review but that it is one.
        waits = pc.not_equal(table.column("decision"), AUTOMATIC)
        for place, name in enumerate(_WRITTEN):
            if name not in ("id", "decision"):
                column = table.column(name)
                table = table.set_column(place, name, pc.if_else(waits, pa.scalar(None, column.type), column))
    with table_writer(out, table.schema) as writer:
        for part in table.to_batches():
            writer.write(part)
    bands = sorted({(row["lower"], row["upper"]) for row in table.select(["lower", "upper"]).to_pylist()}, key=str)
    names = ("model_fingerprint", "rule_fingerprint", "coverage", "capacity")
    facts = {"record": record, "batch": batch.name, **{name: getattr(batch, name) for name in names}}
    facts["bands"] = [[None if end is None or np.isinf(end) else end for end in band] for band in bands]
    write_facts(out, facts)


# ---- what people and time add ----


def run_add(
    kind: str, record: str, data: Path, screen: Screen, *, batch: str | None, skip_faulty: bool
) -> dict[str, Any]:
    """Add a table of reviews or outcomes to a record."""
    check_table(data)
    table = open_table(data)
    rows = _all_rows(table, list(table.names)).to_pylist()
    rows = [{name: original_text(v) if isinstance(v, str) else v for name, v in row.items()} for row in rows]
    with opened(record) as found:
        add = found.add_reviews if kind == "reviews" else found.add_outcomes
        added = add(rows, batch=batch, skip_faulty=skip_faulty)
    if added.left_out:
        screen.note(f"columns that are not read: {', '.join(added.left_out)}")
    screen.say(f"{kind.capitalize()}: {added}.")
    return {
        "command": f"add-{kind}",
        "record": record,
        "added": added.n_added,
        "known": added.n_known,
        "contradictions": added.n_contradictions,
        "refused": list(added.refused),
    }


def run_recalibrate(
    model: Path,
    data: Path,
    out: Path,
    screen: Screen,
    *,
    target: str | None,
    record: str | None,
    batch: str | None,
    separator: str | None,
) -> dict[str, Any]:
    """Place the bands of a model on the rows of a table, and write the new model."""
    if ending_of(out) is not None:
        raise UsageError(f"--out: {out} is a table; name a model file such as model-october.aucross")
    if target is not None and record is not None:
        raise UsageError("labels are in a column of the table (--target) or in a record (--record), not in both")
    check_writable(out)
    check_table(data)
    clf, schema, facts = load_model_with_facts(model)
    table = open_table(data, separator)
    schema.check_columns(table, screen.note)
    if target is not None:
        table.check_has(target, "--target")
    ids = None if record is None else Ids.of(table, None, schema.roles.id)
    if ids is not None and not ids.is_column:
        raise UsageError("--record: outcomes are told by the id of a case, and the model knows no column of ids")
    rows = _all_rows(table, [*schema.columns, schema.roles.band_group, target, None if ids is None else ids.name])
    X = features_of(rows, schema)
    words = None if target is None else label_text(rows.column(target)).to_pylist()
    if record is not None and ids is not None:
        with opened(record) as found:
            cases = found.cases(batch).select(["id", "outcome"]).drop_null().to_pylist()
        outcomes: dict[str, str] = {}
        for case in cases:
            if outcomes.setdefault(case["id"], case["outcome"]) != case["outcome"]:
                raise CommandError(
                    f"{record}: {case['id']!r} has other outcomes in other batches; name one with --batch"
                )
        words = [outcomes.get(name) for name in rows.column(ids.name).cast(pa.string()).to_pylist()]
    labels = None if words is None else _classes_of(words, clf, schema)
    placed = clf.recalibrate(X, labels, band_groups=band_groups_of(rows, schema))
    # What was measured at the fit was measured with the bands of the fit.
    kept = {name: facts[name] for name in ("n_categories", "random_state") if name in facts}
    placed_on = {"table": data.name, "rows": len(X)}
    placed_on |= {} if labels is None else {"labelled": sum(label is not None for label in labels)}
    save_model(placed, out, schema, **kept, placed_on=placed_on, placed_from=model.name)
    with_labels = "" if labels is None else f", {placed_on['labelled']:,} of them with a label"
    screen.say(f"Bands placed on {len(X):,} rows of {data.name}{with_labels}.")
    if clf.band_rule_.group_labels is None:
        before, now = clf.band(), placed.band()
        screen.say(f"Before: {before.lower:.6g} to {before.upper:.6g}; now: {now.lower:.6g} to {now.upper:.6g}.")
    screen.note("figures of the fit are left out: they were measured with the bands of the fit")
    screen.say(f"Model: {out}")
    return {"command": "recalibrate", "model": str(out), "placed_on": placed_on}


def _classes_of(words: list[str | None], clf: Any, schema: Any) -> list[Any]:
    """Return the class that each word names; None for missing words."""
    class_of = dict(zip(schema.labels, clf.classes_.tolist(), strict=True))
    if unknown := sorted({word for word in words if word is not None and word not in class_of}):
        raise CommandError(
            f"labels must be {' or '.join(class_of)}, or empty where they are unknown, got {unknown[0]!r}"
        )
    return [None if word is None else class_of[word] for word in words]
