"""The commands of a record and their options."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from aucross.cli.app import command
from aucross.cli.command_options import Data, Model, Separator
from aucross.cli.errors import CommandError, UsageError, opened
from aucross.cli.screen import Screen
from aucross.system.libraries import import_library

# Cases of a queue that are shown; --out writes all.
_CASES_SHOWN = 20
_SHOWN = ("batch", "id", "decided_at")

RecordSource = Annotated[
    str, typer.Argument(metavar="RECORD", help="A file such as cases.db; env:NAME or file:PATH for PostgreSQL.")
]
BatchName = Annotated[str | None, typer.Option("--batch", metavar="NAME", help="Cases of this batch only.")]
SkipFaulty = Annotated[
    bool, typer.Option("--skip-faulty", help="Take the other rows if some are refused; by default nothing is taken.")
]


@command("aucross queue cases.db --batch 2026-10 --out queue.csv")
def queue(
    screen: Screen,
    *,
    record: RecordSource,
    batch: BatchName = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write all of them, with kept columns.")] = None,
) -> dict[str, Any]:
    """List the cases that wait for a person."""
    from aucross.cli.output import table_writer  # noqa: PLC0415
    from aucross.cli.table_files import check_writable  # noqa: PLC0415

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


@command("aucross add-reviews cases.db reviews.csv")
def add_reviews(
    screen: Screen, *, record: RecordSource, data: Data, batch: BatchName = None, skip_faulty: SkipFaulty = False
) -> dict[str, Any]:
    """Add what people answered: a table with id, reviewer and answer.

    An answer is a class, "cannot decide" or "needs documents". Further columns, where they are known: batch,
    reason_code, probability, time, note, saw_machine, and replaces, the review_number of a review that is corrected.
    """
    from aucross.cli.recording import run_add  # noqa: PLC0415

    return run_add("reviews", record, data, screen, batch=batch, skip_faulty=skip_faulty)


@command("aucross add-outcomes cases.db outcomes.csv")
def add_outcomes(
    screen: Screen, *, record: RecordSource, data: Data, batch: BatchName = None, skip_faulty: SkipFaulty = False
) -> dict[str, Any]:
    """Add what came true: a table with id and outcome.

    Further columns, where they are known: batch, known_at, and replaces, the number of an outcome that is corrected.
    """
    from aucross.cli.recording import run_add  # noqa: PLC0415

    return run_add("outcomes", record, data, screen, batch=batch, skip_faulty=skip_faulty)


@command("aucross monitor cases.db model.aucross")
def monitor(screen: Screen, *, record: RecordSource, model: Model) -> dict[str, Any]:
    """Say whether the automatic share, and with outcomes the AUC, are as they should be."""
    from aucross.cli.schema import load_model  # noqa: PLC0415
    from aucross.files.model_file import read_header  # noqa: PLC0415
    from aucross.watch.keeper import CoverageKeeper  # noqa: PLC0415

    clf, schema = load_model(model)
    part: Any = import_library("aucross.record.watching", purpose="the monitor", extra="record")
    with opened(record) as found:
        monitor, share, labels = part.watch(found, clf, labels=schema.labels)
        batches, header = found.batches(), read_header(model)
        counts = part.kept_counts(found, clf, monitor.reference.coverage)[0]
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
    level = CoverageKeeper(clf, monitor.reference.coverage, counts=counts).level if counts.rows else None
    if level is not None:
        target = f"to keep {monitor.reference.coverage:.3f} of {counts.rows:,} cases"
        screen.say(f"A keeper asks for a coverage of {level:.3f} {target}; above is what the band of the fit would do.")
    return {"command": "monitor", "record": record, "model": str(model), "keeper_level": level, **monitor.to_dict()}


@command("aucross audit cases.db --model model.aucross")
def audit(
    screen: Screen,
    *,
    record: RecordSource,
    batch: BatchName = None,
    model: Annotated[
        Path | None, typer.Option(metavar="MODEL", help="Its held-out rows make the estimate more precise.")
    ] = None,
    labels: Annotated[str, typer.Option(metavar="reviews|outcomes", help="What the labels are.")] = "reviews",
    sensitivity: Annotated[float, typer.Option(help="Share of positives that reviewers find.")] = 1.0,
    specificity: Annotated[float, typer.Option(help="Share of negatives that they call so.")] = 1.0,
    anytime: Annotated[bool, typer.Option("--anytime", help="Hold at all looks together; wider.")] = False,
) -> dict[str, Any]:
    """Say how good the automatic decisions are, from the labels of cases that were drawn for audit."""
    from aucross.cli.schema import load_model  # noqa: PLC0415

    clf = None if model is None else load_model(model)[0]
    errors = {"sensitivity": sensitivity, "specificity": specificity}
    with opened(record) as found:
        result = found.audited_auc(labels, batch=batch, clf=clf, anytime=anytime, **errors)
        rates = dict(zip(("sensitivity", "specificity"), found.detection_rate(), strict=True))
    screen.say(result.sentence)
    for name, rate in rates.items():
        if rate.n_answered:
            ends = f"{rate.low:.0%} to {rate.high:.0%}"
            screen.say(f"Reviewers on {rate.n_answered:,} seeded cases: {name} {rate.rate:.0%} ({ends}).")
    return {"command": "audit", "record": record, "labels": labels, "sentence": result.sentence, **asdict(result)}


@command('aucross allow cases.db --who "Risk committee" --what "70% automatic"')
def allow(
    screen: Screen,
    *,
    record: RecordSource,
    who: Annotated[str, typer.Option(metavar="NAME", help="Who allows the change.")],
    what: Annotated[str, typer.Option(metavar="TEXT", help="What is allowed.")],
) -> dict[str, Any]:
    """Record who allows a change of model, rule or coverage, before it is made."""
    with opened(record) as found:
        found.allow(who, what)
    screen.say(f"Recorded: {who} allows {what}.")
    return {"command": "allow", "record": record, "who": who, "what": what}


@command("aucross next-coverage cases.db model.aucross --auc 0.8")
def next_coverage(
    screen: Screen,
    *,
    record: RecordSource,
    model: Model,
    auc: Annotated[float, typer.Option(metavar="AUC", help="AUC that is promised for automatic decisions.")],
    by_month: Annotated[bool, typer.Option("--by-month", help="Months are the periods, instead of batches.")] = False,
) -> dict[str, Any]:
    """Say which coverage the outcomes have earned: wider, narrower or the present one, with the reason."""
    from aucross.cli.schema import load_model  # noqa: PLC0415

    with opened(record) as found:
        earned = found.next_coverage(load_model(model)[0], auc=auc, period="month" if by_month else "batch")
    screen.say(earned.sentence)
    return {"command": "next-coverage", "record": record, "sentence": earned.sentence, **asdict(earned)}


@command("aucross recalibrate model.aucross october.csv --out october.aucross")
def recalibrate(
    screen: Screen,
    *,
    model: Model,
    data: Data,
    out: Annotated[Path, typer.Option(metavar="FILE", help="The model with its new bands.")],
    target: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Labels, empty where they are not known.")
    ] = None,
    record: Annotated[
        str | None, typer.Option(metavar="RECORD", help="Take labels from the outcomes of this record.")
    ] = None,
    batch: BatchName = None,
    separator: Separator = None,
) -> dict[str, Any]:
    """Place the bands of a model on new rows, with their labels if any, and write the resulting model."""
    from aucross.cli.recording import run_recalibrate  # noqa: PLC0415

    return run_recalibrate(model, data, out, screen, target=target, record=record, batch=batch, separator=separator)


@command("aucross import-decisions cases.db decided --batch 2026-10 --id loan --classes no,yes")
def import_decisions(
    screen: Screen,
    *,
    record: RecordSource,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Decisions of a cluster, with their manifest.")],
    batch: Annotated[str, typer.Option(metavar="NAME", help="Name of the batch.")],
    id_column: Annotated[str, typer.Option("--id", metavar="COLUMN", help="The column that names the cases.")],
    classes: Annotated[str, typer.Option(metavar="A,B", help="All classes; the second of two is positive.")],
) -> dict[str, Any]:
    """Record the decisions that a cluster wrote into a folder, as one batch."""
    with opened(record, create=True) as found:
        written = found.import_decisions(folder, batch=batch, id=id_column, classes=classes.split(","))
    if not written.is_new:
        screen.note(f"batch {written.name!r} was recorded at {written.time} already")
    n_automatic = int(written.selected.sum())
    screen.say(f"{len(written):,} decisions of {folder.name}, {n_automatic:,} automatic, are batch {written.name}.")
    return {"command": "import-decisions", "record": record, "batch": written.name, "rows": len(written)}


@command("aucross compare-shadow cases.db")
def compare_shadow(screen: Screen, *, record: RecordSource) -> dict[str, Any]:
    """Compare the decisions of a shadow model with the decisions in force."""
    with opened(record) as found:
        compared = found.compare_shadow()
    if not compared:
        raise CommandError(f"{record} has no decisions of a shadow model; pass --shadow MODEL to predict or serve")
    header = ("batch", "rows", "automatic", "shadow automatic", "same decision", "same prediction")
    screen.table("Shadow model", header, [[str(row[name.replace(" ", "_")]) for name in header] for row in compared])
    return {"command": "compare-shadow", "record": record, "batches": compared}


@command("aucross show cases.db")
def show(
    screen: Screen, *, path: Annotated[str, typer.Argument(metavar="FILE", help="A model file (.aucross) or a record.")]
) -> dict[str, Any]:
    """Say what a model file or a record holds."""
    from aucross.files.model_file import read_header  # noqa: PLC0415

    if Path(path).suffix == ".aucross":
        header = read_header(Path(path))
        facts = {"model_fingerprint": header.model_fingerprint, "rule_fingerprint": header.rule_fingerprint}
        facts |= {
            name: header.metadata[name] for name in header.metadata if name not in ("columns", "versions", "familiar")
        }
        for name, value in facts.items():
            if name != "evaluation":  # a table, which --json has
                screen.say(f"{name}: {value}")
        return {"command": "show", "model": path, **facts}
    with opened(path) as found:
        batches, head, counts = found.batches(), str(found.head()), found.counts()
    rows = []
    for batch in batches:
        asked = f"coverage {batch['coverage']:g}" if batch["capacity"] is None else f"capacity {batch['capacity']}"
        *counted, _ = counts.get(batch["name"], (0, 0, 0, 0))  # a batch may have no rows
        numbers = batch["n_rows"], *counted
        rows.append([batch["name"], asked, *(f"{n:,}" for n in numbers), batch["model_fingerprint"][:12]])
    screen.table(f"{path}", ("batch", "asked", "rows", "automatic", "reviewed", "outcomes", "model"), rows[-50:])
    if n_contradictions := sum(contradict for *_, contradict in counts.values()):
        screen.note(f"{n_contradictions:,} cases have outcomes that contradict each other")
    screen.say(f"Last hash {head}.")
    return {"command": "show", "record": path, "last_hash": head, "batches": batches}


@command("aucross verify cases.db --expect 3:5f0c...")
def verify(
    screen: Screen,
    *,
    record: RecordSource,
    expect: Annotated[str | None, typer.Option(metavar="HASH", help="A last hash that was kept elsewhere.")] = None,
) -> dict[str, Any]:
    """Read a whole record and name the first event that was edited, removed or inserted."""
    with opened(record) as found:
        result = found.verify(expect)
    screen.say(str(result))
    if not result.is_clean:
        raise CommandError(f"{record}: {result.fault}")
    return {"command": "verify", "record": record, "last_hash": str(result.head), "events": result.n_events}


@command("aucross export cases.db --out cases.parquet")
def export(
    screen: Screen,
    *,
    record: RecordSource,
    out: Annotated[Path, typer.Option(metavar="FILE", help="CSV, Parquet or Arrow by the ending.")],
    batch: BatchName = None,
    blind: Annotated[
        bool, typer.Option("--blind", help="Leave out what the machine said of cases that wait for a person.")
    ] = False,
) -> dict[str, Any]:
    """Write the cases to a file, one row each, with batches, fingerprints and the last hash beside it."""
    from aucross.cli.table_files import check_writable  # noqa: PLC0415

    check_writable(out)
    with opened(record) as found:
        beside = found.export(out, batch, blind=blind)
    screen.say(f"Cases: {out}, described by {beside.name}")
    return {"command": "export", "record": record, "cases": str(out), "facts": str(beside)}


@command("aucross erase cases.db A-17")
def erase(
    screen: Screen,
    *,
    record: RecordSource,
    name: Annotated[str | None, typer.Argument(metavar="ID", help="The person, in all batches.")] = None,
    batch: BatchName = None,
    older_than: Annotated[
        float | None, typer.Option(metavar="DAYS", help="All cases decided longer ago instead.")
    ] = None,
) -> dict[str, Any]:
    """Erase ids, kept columns and notes of a person, or of all cases of an age; decisions stay, without a name."""
    if (name is None) == (older_than is None):
        raise UsageError("name the id of a person, or an age with --older-than, and not both")
    with opened(record) as found:
        n_erased = found.erase(name, batch) if older_than is None else found.erase_older(older_than)
    if not n_erased and older_than is None:
        raise CommandError(f"{record} has no case {name!r}; nothing was erased")
    erased = "ids, kept columns, reasons, notes and salts"
    screen.say(f"Cases erased: {n_erased:,} ({erased}). Backups and exports hold them still.")
    return {"command": "erase", "record": record, "erased": n_erased}


@command("aucross backup cases.db cases-2026-10.db")
def backup(
    screen: Screen, *, record: RecordSource, out: Annotated[Path, typer.Argument(metavar="FILE", help="A new file.")]
) -> dict[str, Any]:
    """Copy a record into a new SQLite file, whatever database it is in, and verify the copy."""
    with opened(record) as found:
        head = str(found.backup(out))
    screen.say(f"Backup: {out}, last hash {head}")
    return {"command": "backup", "record": record, "backup": str(out), "last_hash": head}


@command("aucross restore cases-2026-10.db cases.db")
def restore(
    screen: Screen,
    *,
    backup_file: Annotated[Path, typer.Argument(metavar="BACKUP", help="What `aucross backup` wrote.")],
    record: RecordSource,
) -> dict[str, Any]:
    """Make a record of a backup, in a new file or an empty database."""
    with opened(record, backup=backup_file) as found:
        head = str(found.head())
    screen.say(f"Restored: {record}, last hash {head}")
    return {"command": "restore", "record": record, "last_hash": head}
