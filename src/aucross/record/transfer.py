"""Cases to files, decisions of clusters from folders, and whole records to other databases."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, inspect, select

from aucross.estimators.decisions import AUTOMATIC
from aucross.files.signing import write_facts
from aucross.record.canonical import as_text, canonical_rows
from aucross.record.chain import ROWS_AT_A_TIME, ChainHead, insert
from aucross.record.database import Database, RecordError
from aucross.record.decided_rows import PreparedBatch, checked_batch_name, checked_ids
from aucross.record.decision_folder import FORMAT, MANIFEST
from aucross.record.event_tables import APPENDED, BAND, SIDE_TABLES, create
from aucross.system.libraries import import_library
from aucross.system.spreadsheets import without_formula
from aucross.system.whole_files import whole_file

_ENDINGS = (".csv", ".parquet", ".arrow")


def checked_export(path: Path) -> Path:
    """Return the path of an export, or refuse it."""
    if path.suffix.lower() not in _ENDINGS:
        raise ValueError(f"path must end in {', '.join(_ENDINGS)}, got {path.name!r}")
    return path


def export_cases(path: Path, head: ChainHead, table: Any, batches: Sequence[Mapping[str, Any]]) -> Path:
    """Write cases to a file and what it holds to a second one; as :meth:`Record.export` says."""
    ending = path.suffix.lower()
    arrow = import_library("pyarrow", purpose="an export", extra="record")
    with whole_file(path) as file:
        if ending == ".csv":
            import_library("pyarrow.csv", purpose="an export", extra="record").write_csv(_without_formulas(table), file)
        elif ending == ".parquet":
            parquet = import_library("pyarrow.parquet", purpose="an export", extra="record")
            parquet.write_table(table, file, compression="zstd")
        else:
            with arrow.ipc.new_file(file, table.schema) as writer:
                writer.write_table(table)
    names = set(table.column("batch").to_pylist())
    facts = {
        "record_id": head.record_id,
        "last_hash": str(head),
        "rows": table.num_rows,
        "batches": [_facts_of(row) for row in batches if row["name"] in names],
    }
    return write_facts(path, facts)


def _facts_of(batch: Mapping[str, Any]) -> dict[str, Any]:
    named = ("name", "time", "method", "model_fingerprint", "rule_fingerprint", "coverage", "capacity", "n_rows")
    return {name: batch[name] for name in named}


def _without_formulas(table: Any) -> Any:
    """Return the table with an apostrophe before each text that a spreadsheet would run."""
    arrow = import_library("pyarrow", purpose="an export", extra="record")
    columns = []
    for column in table.columns:
        if column.type != arrow.string():
            columns.append(column)
            continue
        texts = [None if text is None else without_formula(text) for text in column.to_pylist()]
        columns.append(arrow.array(texts, arrow.string()))
    return arrow.table(columns, names=table.column_names)


def decisions_in(folder: Path, *, batch: str, id_column: str, classes: Sequence[Any]) -> PreparedBatch:
    """Read the decisions of a folder as a batch; see :meth:`Record.import_decisions`."""
    arrow = import_library("pyarrow", purpose="an import", extra="record")
    parquet = import_library("pyarrow.parquet", purpose="an import", extra="record")
    name = checked_batch_name(batch)
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        manifest = {}
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise ValueError(f"{folder} must be a folder of decisions with {MANIFEST}, as write_decisions makes it")
    if missing := [part for part in manifest["names"] if not (folder / part).exists()]:
        raise ValueError(f"{folder} is not finished: {len(missing)} parts are missing, such as {missing[0]}")
    table = arrow.concat_tables([parquet.read_table(folder / part) for part in manifest["names"]])
    if id_column not in table.column_names:
        raise ValueError(f"id must name a column of the decisions, got {id_column!r}; they have {table.column_names}")
    words = table.column("decision").to_pylist()
    score = table.column("score").to_pylist()
    columns = {
        "prediction": [None if label is None else as_text(label) for label in table.column("prediction").to_pylist()],
        "score": score,
        "would_be": words,
        "decision": words,
        "why": [None if word == AUTOMATIC else BAND for word in words],
    }
    columns |= {name: [None] * len(words) for name in ("selection_score", "lower", "upper", "rank", "reason")}
    ids = checked_ids(table.column(id_column), table.num_rows)
    names, rows = canonical_rows({name: columns[name] for name in ("score", "prediction", "decision")})
    event = {
        "name": name,
        "method": "imported",
        "model_fingerprint": manifest["model_fingerprint"],
        "rule_fingerprint": manifest["rule_fingerprint"],
        "classes": json.dumps([as_text(label) for label in classes]),
        "features": json.dumps(names),
        "kept": "[]",
        "coverage": manifest["coverage"],
        "capacity": None,
        "n_rows": table.num_rows,
        "n_scored": table.num_rows - table.column("score").null_count,
        "n_would_be_automatic": words.count(AUTOMATIC),
    }
    return PreparedBatch(event, columns, ids, [None] * table.num_rows, names, rows)


def copy_record(connection: Connection, target: Database) -> None:
    """Copy all rows of a record into an empty database, in one transaction."""
    with target.writing() as copy:
        refuse_other_tables(copy, target.name)
        create(copy)
        for table in (*APPENDED, *SIDE_TABLES):
            key = next(iter(table.primary_key))
            names, last = [column.name for column in table.columns], 0
            while rows := connection.execute(
                select(table).where(key > last).order_by(key).limit(ROWS_AT_A_TIME)
            ).fetchall():
                insert(copy, table, dict(zip(names, zip(*rows, strict=True), strict=True)))
                last = int(rows[-1][names.index(key.name)])


def refuse_other_tables(connection: Connection, name: str) -> None:
    """Refuse a database in which another program, or a record, has tables."""
    there = set(inspect(connection).get_table_names())
    own = {table.name for table in (*APPENDED, *SIDE_TABLES)}
    if own <= there:
        raise RecordError(f"{name} holds a record already; name an empty database or a new file")
    if there & own or (there and connection.dialect.name == "sqlite"):
        raise RecordError(f"{name} is the database of another program; name another")
