"""The commands of a record and their options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from aucross.cli.app import command
from aucross.cli.command_options import Data, Model, Separator
from aucross.cli.screen import Screen

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
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write all of them, with kept columns.")
    ] = None,
) -> dict[str, Any]:
    """List the cases that wait for a person."""
    from aucross.cli.recording import run_queue  # noqa: PLC0415

    return run_queue(record, batch, out, screen)


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
    from aucross.cli.recording import run_monitor  # noqa: PLC0415

    return run_monitor(record, model, screen)


@command("aucross audit cases.db --model model.aucross")
def audit(
    screen: Screen,
    *,
    record: RecordSource,
    batch: BatchName = None,
    model: Annotated[
        Path | None, typer.Option("--model", metavar="MODEL", help="Its held-out rows make the estimate more precise.")
    ] = None,
    labels: Annotated[
        str, typer.Option("--labels", metavar="reviews|outcomes", help="What the labels are.")
    ] = "reviews",
    sensitivity: Annotated[float, typer.Option("--sensitivity", help="Share of positives that reviewers find.")] = 1.0,
    specificity: Annotated[float, typer.Option("--specificity", help="Share of negatives that they call so.")] = 1.0,
    anytime: Annotated[bool, typer.Option("--anytime", help="Hold at all looks together; wider.")] = False,
) -> dict[str, Any]:
    """Say how good the automatic decisions are, from the labels of cases that were drawn for audit."""
    from aucross.cli.recording import run_audit  # noqa: PLC0415

    errors = {"sensitivity": sensitivity, "specificity": specificity}
    return run_audit(record, model, labels, batch, screen, anytime=anytime, **errors)


@command("aucross recalibrate model.aucross october.csv --out october.aucross")
def recalibrate(
    screen: Screen,
    *,
    model: Model,
    data: Data,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The model with its new bands.")],
    target: Annotated[
        str | None, typer.Option("--target", metavar="COLUMN", help="Labels, empty where they are not known.")
    ] = None,
    record: Annotated[
        str | None, typer.Option("--record", metavar="RECORD", help="Take labels from the outcomes of this record.")
    ] = None,
    separator: Separator = None,
) -> dict[str, Any]:
    """Place the bands of a model on new rows, with labels where there are any, and write the model that comes of it."""
    from aucross.cli.recording import run_recalibrate  # noqa: PLC0415

    return run_recalibrate(model, data, out, screen, target=target, record=record, separator=separator)


@command("aucross import-decisions cases.db decided --batch 2026-10 --id loan --classes no,yes")
def import_decisions(
    screen: Screen,
    *,
    record: RecordSource,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Decisions of a cluster, with their manifest.")],
    batch: Annotated[str, typer.Option("--batch", metavar="NAME", help="Name of the batch.")],
    id_column: Annotated[str, typer.Option("--id", metavar="COLUMN", help="The column that names the cases.")],
    classes: Annotated[
        str, typer.Option("--classes", metavar="A,B", help="All classes; the second of two is positive.")
    ],
) -> dict[str, Any]:
    """Record the decisions that a cluster wrote into a folder, as one batch."""
    from aucross.cli.recording import run_import  # noqa: PLC0415

    return run_import(record, folder, screen, batch=batch, id_column=id_column, classes=classes)


@command("aucross compare-shadow cases.db")
def compare_shadow(screen: Screen, *, record: RecordSource) -> dict[str, Any]:
    """Compare what a shadow model decided with what was handed out."""
    from aucross.cli.recording import run_shadow  # noqa: PLC0415

    return run_shadow(record, screen)


@command("aucross show cases.db")
def show(
    screen: Screen,
    *,
    path: Annotated[str, typer.Argument(metavar="FILE", help="A model file (.aucross) or a record.")],
) -> dict[str, Any]:
    """Say what a model file or a record holds."""
    from aucross.cli.recording import run_show  # noqa: PLC0415

    return run_show(path, screen)


@command("aucross verify cases.db --expect 3:5f0c...")
def verify(
    screen: Screen,
    *,
    record: RecordSource,
    expect: Annotated[
        str | None, typer.Option("--expect", metavar="HASH", help="A last hash that was kept elsewhere.")
    ] = None,
) -> dict[str, Any]:
    """Read a whole record and name the first event that was edited, removed or inserted."""
    from aucross.cli.recording import run_verify  # noqa: PLC0415

    return run_verify(record, expect, screen)


@command("aucross export cases.db --out cases.parquet")
def export(
    screen: Screen,
    *,
    record: RecordSource,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="CSV, Parquet or Arrow by the ending.")],
    batch: BatchName = None,
    blind: Annotated[
        bool, typer.Option("--blind", help="Leave out what the machine said of cases that wait for a person.")
    ] = False,
) -> dict[str, Any]:
    """Write the cases to a file, one row each, with batches, fingerprints and the last hash beside it."""
    from aucross.cli.recording import run_export  # noqa: PLC0415

    return run_export(record, out, batch, screen, blind=blind)


@command("aucross erase cases.db A-17")
def erase(
    screen: Screen,
    *,
    record: RecordSource,
    name: Annotated[str | None, typer.Argument(metavar="ID", help="The person, in all batches.")] = None,
    batch: BatchName = None,
    older_than: Annotated[
        float | None, typer.Option("--older-than", metavar="DAYS", help="All cases decided longer ago instead.")
    ] = None,
) -> dict[str, Any]:
    """Erase ids, kept columns and notes of a person, or of all cases of an age; decisions stay, without a name."""
    from aucross.cli.recording import run_erase  # noqa: PLC0415

    return run_erase(record, name, batch, older_than, screen)


@command("aucross backup cases.db cases-2026-10.db")
def backup(
    screen: Screen,
    *,
    record: RecordSource,
    out: Annotated[Path, typer.Argument(metavar="FILE", help="A new file.")],
) -> dict[str, Any]:
    """Copy a record into a new SQLite file, whatever database it is in, and verify the copy."""
    from aucross.cli.recording import run_backup  # noqa: PLC0415

    return run_backup(record, out, screen)


@command("aucross restore cases-2026-10.db cases.db")
def restore(
    screen: Screen,
    *,
    backup_file: Annotated[Path, typer.Argument(metavar="BACKUP", help="What `aucross backup` wrote.")],
    record: RecordSource,
) -> dict[str, Any]:
    """Make a record of a backup, in a new file or an empty database."""
    from aucross.cli.recording import run_restore  # noqa: PLC0415

    return run_restore(backup_file, record, screen)
