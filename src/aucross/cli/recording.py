"""The commands of a record: decide into it, work through it, look at it, keep it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from aucross.cli.base_models import strange_values
from aucross.cli.column_kinds import label_text
from aucross.cli.errors import CommandError, UsageError, one_line
from aucross.cli.numbers import NumberFormat
from aucross.cli.output import check_writable, table_writer
from aucross.cli.predict import Ids
from aucross.cli.schema import band_groups_of, features_of, load_model, load_model_with_facts, save_model
from aucross.cli.screen import Screen
from aucross.cli.table_files import check_table, ending_of, open_table, read_batches
from aucross.cli.train import check_coverage_option
from aucross.estimators.decisions import AUTOMATIC
from aucross.files.model_file import read_header
from aucross.files.signing import write_facts
from aucross.system.libraries import import_library
from aucross.system.text import original_text

# Cases of a queue that are shown; --out writes all.
_CASES_SHOWN = 20
_SHOWN = ("batch", "id", "decided_at")
_WRITTEN = ("id", "score", "prediction", "decision", "why", "rank", "reason", "lower", "upper")


@contextmanager
def opened(source: str, *, create: bool = False) -> Iterator[Any]:
    """Open the record that a command names; report its errors as those of the command."""
    record: Any = import_library("aucross.record", purpose="a record", extra="record")
    try:
        with record.Record.open(source, create=create) as found:
            yield found
    except (record.RecordError, LookupError) as error:
        raise CommandError(one_line(error.args[0] if error.args else error)) from None


@dataclass(frozen=True)
class RecordedPredict:
    """Options of `aucross predict --record`."""

    model: Path
    data: Path
    record: str
    batch: str
    out: Path | None = None
    coverage: float | None = None
    capacity: int | None = None
    id: str | None = None
    keep: tuple[str, ...] = ()
    shadow: Path | None = None
    separator: str | None = None
    numbers: NumberFormat | None = None
    audit: float | None = None
    decide_unfamiliar: bool = False


def run_recorded_predict(options: RecordedPredict, screen: Screen) -> dict[str, Any]:
    """Decide on all rows of a table as one batch of a record; return the content of the JSON document."""
    started = time.perf_counter()
    check_coverage_option(options.coverage)
    if options.capacity is not None and (options.coverage is not None or options.capacity < 0):
        raise UsageError("--capacity must be a number of rows, 0 or more, and excludes --coverage")
    check_table(options.data)
    if options.out is not None:
        check_writable(options.out)
    clf, schema = load_model(options.model, options.numbers)
    table = open_table(options.data, options.separator)
    schema.check_columns(table, screen.note)
    ids = Ids.of(table, options.id, schema.roles.id)
    if not ids.is_column:
        raise UsageError(
            "--id: a record needs a column that names the cases, because outcomes are told by it; name one"
        )
    for name in options.keep:
        table.check_has(name, "--keep")
    rows = _all_rows(table, [*schema.columns, ids.name, schema.roles.band_group, *options.keep])
    X = features_of(rows, schema)
    strange = strange_values(clf, schema)
    strange.add(X)
    shadow = None
    if options.shadow is not None:
        shadow, other = load_model(options.shadow, options.numbers)
        if list(other.columns) != list(schema.columns) or other.labels != schema.labels:
            raise UsageError("--shadow: the two models must read the same columns and answer with the same labels")
    with opened(options.record, create=True) as record:
        batch = record.decide(
            clf,
            X,
            batch=options.batch,
            ids=rows.column(ids.name).cast(pa.string()).to_pylist(),
            coverage=options.coverage,
            capacity=options.capacity,
            band_groups=band_groups_of(rows, schema),
            keep={name: rows.column(name).to_pylist() for name in options.keep},
            labels=schema.labels,
            shadow=shadow,
            audit=options.audit,
            unfamiliar=None if options.decide_unfamiliar or options.capacity is not None else "review",
        )
        head = str(record.head())
    for note in [*strange.notes(), *_on_unfamiliar(batch)]:
        screen.note(note)
    if not batch.is_new:
        screen.note(f"batch {batch.name!r} was recorded at {batch.time} already; these are its decisions")
    n_rows, n_automatic = len(batch), int(batch.selected.sum())
    share = f" (coverage {n_automatic / n_rows:.3f})" if n_rows else ""
    screen.say(f"{n_rows:,} rows: {n_automatic:,} automatic{share}, {n_rows - n_automatic:,} for review.")
    screen.say(f"Recorded as batch {batch.name} of {options.record}; last hash {head}.")
    if options.out is not None:
        _write_decisions(options.out, batch, options.record)
        screen.say(f"Decisions: {options.out}")
    return {
        "command": "predict",
        "model": str(options.model),
        "record": options.record,
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


def _on_unfamiliar(batch: Any) -> list[str]:
    """Return a note on rows that went to review because they are unlike those of the fit, if there are any."""
    n_unlike = list(batch.columns["why"]).count("unfamiliar")
    note = (
        f"{n_unlike:,} rows are unlike those of the fit (a new category, a number out of range, a column missing that "
        "never was) and go to review, where the band would have decided them; their reasons say in what"
    )
    return [note] if n_unlike else []


def _all_rows(table: Any, columns: list[str | None]) -> pa.Table:
    wanted = list(dict.fromkeys(name for name in columns if name is not None and name in table.names))
    batches = list(read_batches(table, wanted))
    if not batches:
        raise CommandError(f"{table.path.name} has no rows below its header; there is nothing to record")
    return pa.Table.from_batches(batches).combine_chunks()


def _write_decisions(out: Path, batch: Any, record: str) -> None:
    table = batch.to_arrow().select(_WRITTEN)
    if "audit_probability" in batch.columns:
        # Whoever reviews must not see which cases are audits: nothing is told of a case for review but that it is one.
        waits = pc.not_equal(table.column("decision"), AUTOMATIC)
        for place, name in enumerate(_WRITTEN):
            if name not in ("id", "decision"):
                column = table.column(name)
                table = table.set_column(place, name, pc.if_else(waits, pa.scalar(None, column.type), column))
    with table_writer(out, table.schema) as writer:
        for part in table.to_batches():
            writer.write(part)
    bands = sorted({(row["lower"], row["upper"]) for row in table.select(["lower", "upper"]).to_pylist()}, key=str)
    facts = {
        "record": record,
        "batch": batch.name,
        "model_fingerprint": batch.model_fingerprint,
        "rule_fingerprint": batch.rule_fingerprint,
        "coverage": batch.coverage,
        "capacity": batch.capacity,
        "bands": [[None if end is None or np.isinf(end) else end for end in band] for band in bands],
    }
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
    for sentence in added.refused[:10]:
        screen.note(f"refused: {sentence}")
    screen.say(f"{kind.capitalize()}: {added}.")
    return {
        "command": f"add-{kind}",
        "record": record,
        "added": added.n_added,
        "known": added.n_known,
        "contradictions": added.n_contradictions,
        "refused": list(added.refused),
    }


def run_queue(record: str, batch: str | None, out: Path | None, screen: Screen) -> dict[str, Any]:
    """Show the cases that wait for a person, or write them to a file."""
    with opened(record) as found:
        table = found.queue(batch)
    if out is not None:
        check_writable(out)
        with table_writer(out, table.schema) as writer:
            for part in table.to_batches():
                writer.write(part)
        out.chmod(0o600)  # ids and kept columns, as in the record
    shown = table.slice(0, _CASES_SHOWN).select(_SHOWN).to_pylist()
    more = f"; the first {_CASES_SHOWN} are shown" if table.num_rows > _CASES_SHOWN else ""
    screen.say(f"{table.num_rows:,} cases wait for a person{more}.")
    if shown:
        screen.table("", _SHOWN, [[str(row[name] or "") for name in _SHOWN] for row in shown])
    if out is not None:
        screen.say(f"Queue: {out}")
    return {"command": "queue", "record": record, "cases": table.num_rows, "queue": None if out is None else str(out)}


def run_erase(record: str, name: str | None, batch: str | None, older: float | None, screen: Screen) -> dict[str, Any]:
    """Erase personal data of one case, or of all cases older than an age."""
    if (name is None) == (older is None):
        raise UsageError("name the id of a person, or an age with --older-than, and not both")
    with opened(record) as found:
        n_erased = found.erase(name, batch) if older is None else found.erase_older(older)
    if not n_erased and older is None:
        raise CommandError(f"{record} has no case {name!r}; nothing was erased")
    screen.say(f"{n_erased:,} cases erased: ids, kept columns, notes and salts. Backups and exports hold them still.")
    return {"command": "erase", "record": record, "erased": n_erased}


# ---- looking ----


def run_monitor(record: str, model: Path, screen: Screen) -> dict[str, Any]:
    """Say whether coverage and AUC of the decisions of a model are as expected."""
    clf, schema = load_model(model)
    part: Any = import_library("aucross.record", purpose="the monitor", extra="record")
    with opened(record) as found:
        monitor, share, labels = part.watch(found, clf, labels=schema.labels)
        batches, header = found.batches(), read_header(model)
    if share is None:
        raise CommandError(f"{record} has no batch that {model.name} decided by its coverage; a capacity tells nothing")
    for report in (share, labels):
        if report is not None:
            for line in report.message.splitlines():
                screen.say(line)
    watched = (header.model_fingerprint, header.rule_fingerprint, monitor.reference.coverage)
    n_others = sum(
        (batch["model_fingerprint"], batch["rule_fingerprint"], batch["coverage"]) != watched for batch in batches
    )
    if n_others:
        others = "another model, rule or coverage, or a capacity, decided them"
        screen.note(f"{n_others:,} of {len(batches):,} batches are not counted: {others}")
    if labels is None:
        screen.say("No outcomes yet: the AUC of the automatic cases is not watched.")
    return {"command": "monitor", "record": record, "model": str(model), **monitor.to_dict()}


def run_audit(
    record: str, model: Path | None, labels: str, batch: str | None, screen: Screen, **options: Any
) -> dict[str, Any]:
    """Say how good the automatic decisions are, from the cases drawn for audit, and how reviewers find seeded ones."""
    clf = None if model is None else load_model(model)[0]
    with opened(record) as found:
        result = found.audited_auc(labels, batch=batch, clf=clf, **options)
        rates = dict(zip(("sensitivity", "specificity"), found.detection_rate(), strict=True))
    screen.say(result.sentence)
    for name, rate in rates.items():
        if rate.n_answered:
            ends = f"{rate.low:.0%} to {rate.high:.0%}"
            screen.say(f"Reviewers on {rate.n_answered:,} seeded cases: {name} {rate.rate:.0%} ({ends}).")
    return {"command": "audit", "record": record, "labels": labels, "sentence": result.sentence, **asdict(result)}


def run_shadow(record: str, screen: Screen) -> dict[str, Any]:
    """Compare the decisions of a shadow model with those that were handed out."""
    with opened(record) as found:
        compared = found.compare_shadow()
    if not compared:
        raise CommandError(f"{record} has no decisions of a shadow model; pass --shadow MODEL to predict or serve")
    header = ("batch", "rows", "automatic", "shadow automatic", "same decision", "same prediction")
    screen.table("Shadow model", header, [[str(row[name.replace(" ", "_")]) for name in header] for row in compared])
    return {"command": "compare-shadow", "record": record, "batches": compared}


def run_show(path: str, screen: Screen) -> dict[str, Any]:
    """Say what a model file or a record holds."""
    if Path(path).suffix == ".aucross":
        header = read_header(Path(path))
        facts = {"model_fingerprint": header.model_fingerprint, "rule_fingerprint": header.rule_fingerprint}
        facts |= {
            name: header.metadata[name] for name in header.metadata if name not in ("columns", "versions", "familiar")
        }
        for name, value in facts.items():
            screen.say(f"{name}: {value}")
        return {"command": "show", "model": path, **facts}
    with opened(path) as found:
        batches, head = found.batches(), str(found.head())
        cases = found.cases()
    counts = pd.DataFrame(cases.select(["batch", "n_reviews", "n_outcomes", "outcomes_contradict"]).to_pandas())
    by_batch = counts.assign(reviewed=counts["n_reviews"] > 0, known=counts["n_outcomes"] > 0).groupby("batch").sum()
    by_batch = by_batch.reindex([batch["name"] for batch in batches], fill_value=0)  # a batch may have no rows
    rows = []
    for batch in batches:
        of_batch = by_batch.loc[batch["name"]]
        asked = f"coverage {batch['coverage']:g}" if batch["capacity"] is None else f"capacity {batch['capacity']}"
        numbers = batch["n_rows"], batch["n_would_be_automatic"], of_batch["reviewed"], of_batch["known"]
        rows.append([batch["name"], asked, *(f"{int(n):,}" for n in numbers), batch["model_fingerprint"][:12]])
    screen.table(f"{path}", ("batch", "asked", "rows", "automatic", "reviewed", "outcomes", "model"), rows[-50:])
    if n_contradictions := int(counts["outcomes_contradict"].sum()):
        screen.note(f"{n_contradictions:,} cases have outcomes that contradict each other")
    screen.say(f"Last hash {head}.")
    return {"command": "show", "record": path, "last_hash": head, "batches": batches}


# ---- keeping ----


def run_verify(record: str, expected: str | None, screen: Screen) -> dict[str, Any]:
    """Say whether a record is unchanged since it was written; exit with 1 if it is not."""
    with opened(record) as found:
        result = found.verify(expected)
    screen.say(str(result))
    if not result.is_clean:
        raise CommandError(f"{record}: {result.fault}")
    return {"command": "verify", "record": record, "last_hash": str(result.head), "events": result.n_events}


def run_export(record: str, out: Path, batch: str | None, screen: Screen, *, blind: bool) -> dict[str, Any]:
    """Write the cases of a record to a file."""
    check_writable(out)
    with opened(record) as found:
        beside = found.export(out, batch, blind=blind)
    screen.say(f"Cases: {out}, described by {beside.name}")
    return {"command": "export", "record": record, "cases": str(out), "facts": str(beside)}


def run_backup(record: str, out: Path, screen: Screen) -> dict[str, Any]:
    """Copy a record into a new file."""
    with opened(record) as found:
        head = str(found.backup(out))
    screen.say(f"Backup: {out}, last hash {head}")
    return {"command": "backup", "record": record, "backup": str(out), "last_hash": head}


def run_restore(backup: Path, record: str, screen: Screen) -> dict[str, Any]:
    """Make a record from a backup."""
    part: Any = import_library("aucross.record", purpose="a record", extra="record")
    try:
        with part.Record.restore(backup, record) as found:
            head = str(found.head())
    except part.RecordError as error:
        raise CommandError(one_line(error)) from None
    screen.say(f"Restored: {record}, last hash {head}")
    return {"command": "restore", "record": record, "last_hash": head}


def run_import(
    record: str, folder: Path, screen: Screen, *, batch: str, id_column: str, classes: str
) -> dict[str, Any]:
    """Record the decisions that a cluster wrote into a folder, as one batch."""
    with opened(record, create=True) as found:
        written = found.import_decisions(folder, batch=batch, id=id_column, classes=classes.split(","))
    if not written.is_new:
        screen.note(f"batch {written.name!r} was recorded at {written.time} already")
    n_automatic = int(written.selected.sum())
    screen.say(f"{len(written):,} decisions of {folder.name}, {n_automatic:,} automatic, are batch {written.name}.")
    return {"command": "import-decisions", "record": record, "batch": written.name, "rows": len(written)}


def run_recalibrate(
    model: Path, data: Path, out: Path, screen: Screen, *, target: str | None, record: str | None, separator: str | None
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
            cases = found.cases().select(["id", "outcome"]).to_pylist()
        outcomes = {case["id"]: case["outcome"] for case in cases if case["outcome"] is not None}
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
    """Return the class that each word means; None where it is missing."""
    class_of = dict(zip(schema.labels, clf.classes_.tolist(), strict=True))
    if unknown := sorted({word for word in words if word is not None and word not in class_of}):
        raise CommandError(
            f"labels must be {' or '.join(class_of)}, or empty where they are unknown, got {unknown[0]!r}"
        )
    return [None if word is None else class_of[word] for word in words]
