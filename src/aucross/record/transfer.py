"""Export cases, import decisions from the folders of clusters, and copy whole records."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv, parquet
from sqlalchemy import Connection, inspect, select, text

from aucross.cluster.decision_folder import read_decisions
from aucross.estimators.decisions import AUTOMATIC
from aucross.files.signing import write_facts
from aucross.record import record_tables as tables
from aucross.record.canonical import as_text, canonical_rows
from aucross.record.chain import ROWS_AT_A_TIME, Chain, ChainHead, head_of, insert, rows_of
from aucross.record.database import Database, RecordError
from aucross.record.decided_rows import DecidedRows, batch_event, checked_batch_name, checked_ids
from aucross.system.text import without_formula
from aucross.system.whole_files import whole_file

_ENDINGS = (".csv", ".parquet", ".arrow")
# What is told of each batch beside an export.
_TOLD = ("name", "time", "method", "model_fingerprint", "rule_fingerprint", "coverage", "capacity")

# What a reviewer sees of a case for review. What the machine would have said of it appears with the answer. All other
# columns would tell an audit or a seeded case, whose outcome is known from the start, from another one: never shown.
SHOWN = (
    *("batch", "id", "case_number", "decided_at", "decision", "kept", "is_erased", "final_decision", "final_by"),
    *("coverage", "capacity", "model_fingerprint", "rule_fingerprint"),
    *("n_reviews", "review_number", "reviewer", "answer", "reason_code", "review_probability", "reviewed_at"),
    "reviews_differ",
)
WITH_ANSWER = "would_be", "prediction", "score", "selection_score", "lower", "upper", "level", "rank", "is_override"


# ---- reading ----


def condition(connection: Connection, batch: str | None) -> str:
    """Return an SQL condition for all cases, or for the cases of one batch, whose numbers are consecutive."""
    if batch is None:
        return "case_number > 0"
    b = tables.batches.c
    for first, n_rows in connection.execute(select(b.number, b.n_rows).where(b.shadow_of.is_(None), b.name == batch)):
        return f"case_number > {first} AND case_number <= {first + n_rows}"
    names = connection.execute(select(b.name).where(b.shadow_of.is_(None)).limit(5)).scalars()
    raise LookupError(f"there is no batch {batch!r}; the first ones are {', '.join(map(repr, names)) or 'none'}")


def read_cases(connection: Connection, batch: str | None, source: str = "cases") -> Any:
    """Read the view of cases, or another `source`, as an Arrow table; facts about a batch are read once per batch."""
    own, types = [name for name in tables.CASE_COLUMNS if name not in tables.BATCH_COLUMNS], tables.ARROW_TYPES
    schema, parts = pa.schema([(name, types[name]) for name in own]), []
    cursor: Any = connection.connection.cursor()
    where = condition(connection, batch)
    cursor.execute(f"SELECT {', '.join(own)} FROM {source} WHERE {where} ORDER BY case_number")
    while rows := cursor.fetchmany(500):  # so few at a time that the garbage collector sleeps
        columns = zip(own, zip(*rows, strict=True), strict=True)
        parts.append(pa.record_batch([pa.array(column, types[name]) for name, column in columns], schema=schema))
    cursor.close()
    cases = pa.Table.from_batches(parts, schema).combine_chunks()
    shared, of_batches = batches_of(connection), tables.BATCH_COLUMNS
    # The decisions of a batch follow it.
    numbers = np.array([row["number"] for row in shared], dtype=np.int64)
    place = pa.array(np.searchsorted(numbers, cases.column("case_number").to_numpy()) - 1)
    facts = {name: pa.array([row[own] for row in shared], types[name]) for name, own in of_batches.items()}
    joined = {name: values.take(place) for name, values in facts.items()}
    return pa.table({name: joined[name] if name in joined else cases.column(name) for name in tables.CASE_COLUMNS})


def batches_of(connection: Connection) -> list[dict[str, Any]]:
    """Read the facts about each batch, without shadow models, in the order of recording."""
    columns = [column for column in tables.batches.c if column.name != "digest"]
    query = select(*columns).where(tables.batches.c.shadow_of.is_(None)).order_by(tables.batches.c.number)
    return [dict(row) for row in connection.execute(query).mappings()]


# ---- out and in ----


def _without_formulas(table: Any) -> Any:
    """Return the table with an apostrophe before each text that a spreadsheet would run as a formula."""
    for place, name in enumerate(table.column_names):
        if table.schema.types[place] == pa.string():
            texts = [None if text is None else without_formula(text) for text in table.column(place).to_pylist()]
            table = table.set_column(place, name, pa.array(texts, pa.string()))
    return table


def decisions_in(folder: Path, *, batch: str, id_column: str, classes: Sequence[Any]) -> DecidedRows:
    """Read the decisions of a folder as a batch; see :meth:`Record.import_decisions`."""
    name = checked_batch_name(batch)
    manifest, table = read_decisions(folder)
    if id_column not in table.column_names:
        raise ValueError(f"id must name a column of the decisions, got {id_column!r}; they have {table.column_names}")
    words = table.column("decision").to_pylist()
    columns = {
        "prediction": [None if label is None else as_text(label) for label in table.column("prediction").to_pylist()],
        "score": table.column("score").to_pylist(),
        "would_be": words,
        "decision": words,
        "why": [None if word == AUTOMATIC else tables.BAND for word in words],
    }
    ids = checked_ids(table.column(id_column), table.num_rows)
    names, rows = canonical_rows({name: columns[name] for name in ("score", "prediction", "decision")})
    fingerprints = manifest["model_fingerprint"], manifest["rule_fingerprint"]
    event = batch_event(name, "imported", fingerprints, classes=map(as_text, classes), features=names, kept=())
    event |= {"coverage": manifest["coverage"], "capacity": None, "n_rows": table.num_rows}
    event["n_scored"] = table.num_rows - table.column("score").null_count
    event["n_would_be_automatic"] = words.count(AUTOMATIC)
    return DecidedRows(event, columns, ids, [None] * table.num_rows, rows)


def copy_record(connection: Connection, target: Database) -> None:
    """Copy all rows of a record into an empty database, in one transaction."""
    with target.writing() as copy:
        refuse_other_tables(copy, target.name)
        tables.create_tables(copy)
        for table in (*tables.APPENDED, *tables.SIDE_TABLES):
            rows = rows_of(connection, table)
            while part := list(map(tuple, islice(rows, ROWS_AT_A_TIME))):
                insert(copy, {table: part})


def refuse_other_tables(connection: Connection, name: str) -> None:
    """Refuse a database that already has tables, of a record or of another program."""
    there = set(inspect(connection).get_table_names())
    own = {table.name for table in (*tables.APPENDED, *tables.SIDE_TABLES)}
    if own <= there:
        raise RecordError(f"{name} holds a record already; name an empty database or a new file")
    if there & own or (there and connection.dialect.name == "sqlite"):
        raise RecordError(f"{name} is the database of another program; name another")


def blinded(table: Any) -> Any:
    """Return a table of cases without what their reviewers must not see."""
    is_final = table.column("final_decision").is_valid()
    is_automatic = pc.equal(table.column("decision"), AUTOMATIC)
    for place, name in enumerate(table.column_names):
        if name not in SHOWN:
            is_shown = is_final if name in WITH_ANSWER else is_automatic
            table = table.set_column(place, name, pc.if_else(is_shown, table.column(name), None))
    return table


def in_blind_order(rows: Sequence[Mapping[Any, Any]]) -> list[Mapping[Any, Any]]:
    """Sort cases for review; audits and seeded cases get random places, derived from salted commitments."""
    longest: dict[int, int] = {}
    for row in rows:
        longest[row["of"]] = max(longest.get(row["of"], 0), 0 if row["rank"] is None else row["rank"] + 1)

    def place(row: Mapping[str, Any]) -> tuple[int, float, int]:
        chance = int.from_bytes((row["inputs_commitment"] or b"")[:8], "big") / 2.0**64
        return row["of"], chance * longest[row["of"]] if row["rank"] is None else row["rank"], row["case_number"]

    return sorted(rows, key=place)


class ReadRecord(Chain):
    """Record with methods that read, export and copy it."""

    def cases(self, batch: str | None = None) -> Any:
        """Read the cases of one batch or all from the view ``cases``, as an Arrow table with one row for each case."""
        with self.reading() as connection:
            return read_cases(connection, batch)

    def queue(self, batch: str | None = None) -> Any:
        """Read the cases of one batch or all that wait for a person, in the order of review if there is one.

        Returns
        -------
        pyarrow.Table
            ``batch``, ``id``, ``case_number``, ``decided_at``, ``kept`` and the last ``answer``, which may say that the
            reviewer cannot decide or needs documents. An audit looks like any other case, and the machine's answer is
            not shown; :meth:`cases`, which shows both, is for those who do not review.
        """
        shown = ("batch", "id", "case_number", "decided_at", "kept", "answer")
        columns = ", ".join(f"every_case.{name}" for name in shown)
        with self.reading() as connection:
            query = f"""SELECT {columns}, d.batch AS of, d.rank, d.inputs_commitment FROM {tables.EVERY_CASE}
                JOIN decisions d ON d.number = case_number
                WHERE {condition(connection, batch)} AND final_decision IS NULL"""
            schema = pa.schema([(name, tables.ARROW_TYPES[name]) for name in shown])
            return pa.Table.from_pylist(in_blind_order(connection.execute(text(query)).mappings().all()), schema)

    def batches(self) -> list[dict[str, Any]]:
        """Read the facts about each batch, in the order of recording: counts, fingerprints, coverage or capacity.

        Seeded cases are left out of all counts.
        """
        query = f"SELECT batch, count(*) AS n FROM decisions WHERE why = '{tables.SEEDED}' GROUP BY batch"
        with self.reading() as connection:
            n_seeded = {row.batch: row.n for row in connection.execute(text(query))}
            return [{**row, "n_rows": row["n_rows"] - n_seeded.get(row["number"], 0)} for row in batches_of(connection)]

    def counts(self) -> dict[str, tuple[int, int, int, int]]:
        """Count the cases of each batch: automatic, reviewed, with an outcome, with contradicting outcomes."""
        query = """SELECT batch, count(CASE WHEN decision = 'automatic' THEN 1 END), count(nullif(n_reviews, 0)),
            count(nullif(n_outcomes, 0)), sum(outcomes_contradict) FROM cases GROUP BY batch"""
        with self.reading() as connection:
            found = connection.exec_driver_sql(query).fetchall()
        return {name: (*counted, int(contradict)) for name, *counted, contradict in found}

    def export(self, path: str | os.PathLike[str], batch: str | None = None, *, blind: bool = False) -> Path:
        """Write the cases to a file, with batches, fingerprints and the last hash in a second file beside it.

        Parameters
        ----------
        path : path-like
            The file, which must end in ``.csv``, ``.parquet`` or ``.arrow``.
        batch : str, optional
            The cases of one batch; all by default.
        blind : bool, default=False
            For reviewers: leave out the machine's answers to cases that wait for a person, and everything that
            distinguishes audits from other cases for review. Seeded cases are included and look like the others,
            because a gap would give them away.

        Returns
        -------
        Path
            The second file, named as the first plus ``.json``. It is signed if ``AUCROSS_KEY_FILE`` names a key.
        """
        path = Path(path)
        ending = path.suffix.lower()
        if ending not in _ENDINGS:
            raise ValueError(f"path must end in {', '.join(_ENDINGS)}, got {path.name!r}")
        # Of one state: what is written between two reads must not differ between the two files.
        with self.reading() as connection:
            table = read_cases(connection, batch, tables.EVERY_CASE if blind else "cases")
            head, batches = head_of(connection), batches_of(connection)
        table = blinded(table) if blind else table
        with whole_file(path) as file:
            os.chmod(file.name, 0o600)  # ids and kept columns are for its owner alone, as in the record
            if ending == ".csv":
                csv.write_csv(_without_formulas(table), file)
            elif ending == ".parquet":
                parquet.write_table(table, file, compression="zstd")
            else:
                with pa.ipc.new_file(file, table.schema) as writer:
                    writer.write_table(table)
        n_rows = Counter(table.column("batch").to_pylist())
        facts = {"record_id": head.record_id, "last_hash": str(head), "rows": table.num_rows}
        exported = [row for row in batches if row["name"] in n_rows]
        told = [{**{name: row[name] for name in _TOLD}, "n_rows": n_rows[row["name"]]} for row in exported]
        return write_facts(path, {**facts, "batches": told})

    def backup(self, path: str | os.PathLike[str]) -> ChainHead:
        """Copy the whole record from any database into a new SQLite file, and verify the copy.

        Returns
        -------
        ChainHead
            End of the copy's chain.
        """
        target = Path(path)
        if target.exists():
            raise RecordError(f"{target} is there already; name a new file")
        part = target.with_name(f".{target.name}.{uuid4().hex}.part")
        try:
            with Chain(part, wait=30.0, must_exist=False) as copy:
                with self.reading() as connection:
                    copy_record(connection, copy)
                found = copy.verify()
            if not found.is_clean:
                raise RecordError(
                    f"{target} was not written, because the record is not as it was written: {found.fault}"
                )
            os.replace(part, target)
        finally:
            for left in target.parent.glob(f"{part.name}*"):
                left.unlink()
        return found.head
