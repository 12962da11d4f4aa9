"""The chain: each transaction holds a hash over its events and the hash before it.

::

    transaction n-1  hash ──┐
    transaction n    previous hash, number, first event, time, digests of its events ──► hash ──► transaction n+1
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from sqlalchemy import Connection, Table, select
from sqlalchemy.sql import quoted_name

from aucross.record.canonical import commitments, event_digests, first_hash, now, personal_rows, transaction_hash
from aucross.record.database import RecordError
from aucross.record.event_tables import (
    EVENTS,
    about,
    decisions,
    erasures,
    missing_guards,
    notes,
    personal,
    reviews,
    side_row_astray,
    strange_value,
    transactions,
)

# Events that are hashed and inserted at a time.
ROWS_AT_A_TIME = 10_000

# Clocks of two machines differ; a clock further behind than this was set back.
_CLOCK_DIFFERENCE = timedelta(minutes=1)


@dataclass(frozen=True)
class ChainHead:
    """End of a chain; a copy kept elsewhere shows whether the record up to here was cut or rewritten.

    Attributes
    ----------
    record_id : str
        Names the record.
    transaction : int
        Number of the last transaction; 0 of an empty record.
    hash : str
        Its hash, 64 hexadecimal digits.
    """

    record_id: str
    transaction: int
    hash: str

    def __str__(self) -> str:
        return f"{self.transaction}:{self.hash}"


class Appending:
    """Transaction that appends events to the database and holds the lock of the chain.

    Parameters
    ----------
    connection : Connection
        Of :meth:`Database.writing`.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.time = now()
        columns = transactions.c
        last = connection.execute(_LAST).first()
        if last is None:
            record_id = connection.execute(select(about.c.record_id).limit(1)).scalar_one()
            self._number, self._previous, self.next_event = 1, first_hash(record_id), 1
        else:
            self._number, self._previous = last.number + 1, bytes(last.hash)
            self.next_event = last.first_event + last.n_events
            _check_clock(last.time, self.time)
        self._first_event = self.next_event
        self._digests: list[bytes] = []
        self._columns = [column.name for column in columns]

    def append(self, table: Table, columns: Mapping[str, Any], n_rows: int) -> int:
        """Append events to a table; return the number of the first.

        Parameters
        ----------
        table : Table
            Where they go.
        columns : mapping of str to sequence
            Values by the name of the column; a column that is left out stays empty.
        n_rows : int
            Number of events.
        """
        first = self.next_event
        for start in range(0, n_rows, ROWS_AT_A_TIME):
            stop = min(start + ROWS_AT_A_TIME, n_rows)
            part: dict[str, Any] = {column.name: (None,) * (stop - start) for column in table.columns}
            part |= {name: values[start:stop] for name, values in columns.items()}
            part["number"] = np.arange(first + start, first + stop)
            part["digest"] = event_digests(table, part, stop - start)
            self._digests += part["digest"]
            insert(self.connection, table, part)
        self.next_event += n_rows
        return first

    def finish(self) -> None:
        """Close the chain over the appended events; do nothing if there are none."""
        if not self._digests:
            return
        place = self._number, self._first_event
        made = transaction_hash(self._previous, *place, self.time, self._digests)
        row = (*place, len(self._digests), self.time, self._previous, made)
        insert(self.connection, transactions, {name: [value] for name, value in zip(self._columns, row, strict=True)})


_LAST = select(transactions).order_by(transactions.c.number.desc()).limit(1)
_STATEMENTS: dict[tuple[str, str], str] = {}


def insert(connection: Connection, table: Table, columns: Mapping[str, Any]) -> None:
    """Insert rows that are given by column, in the fastest way of each database."""
    names = [name for name in (column.name for column in table.columns) if name in columns]
    rows = list(zip(*(_python(columns[name]) for name in names), strict=True))
    dialect = connection.dialect.name
    statement = _STATEMENTS.get((dialect, table.name))
    if statement is None:
        listed = ", ".join(quoted_name(name, None) for name in names)
        marks = ", ".join(["?" if dialect == "sqlite" else "%s"] * len(names))
        statement = f"INSERT INTO {table.name} ({listed}) VALUES ({marks})"
        if len(names) == len(table.columns):
            _STATEMENTS[dialect, table.name] = statement
    if dialect == "postgresql" and len(rows) > 20:
        listed = ", ".join(names)
        cursor: Any = connection.connection.cursor()
        with cursor, cursor.copy(f"COPY {table.name} ({listed}) FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
        return
    connection.exec_driver_sql(statement, rows if len(rows) > 1 else rows[0])


def _python(values: Any) -> Sequence[Any]:
    """Return values as a driver takes them; NaN, which SQLite would store as NULL, becomes None."""
    if not isinstance(values, np.ndarray):
        return values
    listed: list[Any] = values.tolist()
    if values.dtype.kind == "f" and np.isnan(values).any():
        return [None if value != value else value for value in listed]  # noqa: PLR0124
    return listed


def _check_clock(last: str, time: str) -> None:
    behind = datetime.fromisoformat(last) - datetime.fromisoformat(time)
    if behind > _CLOCK_DIFFERENCE:
        raise RecordError(
            f"the clock says {time}, and the record was last written at {last}; it was set back: set it right"
        )


def head_of(connection: Connection) -> ChainHead:
    """Return the end of the chain."""
    record_id = connection.execute(select(about.c.record_id).limit(1)).scalar_one()
    last = connection.execute(_LAST).first()
    if last is None:
        return ChainHead(record_id, 0, first_hash(record_id).hex())
    # Somebody may have put text there, of which verify tells.
    return ChainHead(record_id, last.number, last.hash if isinstance(last.hash, str) else bytes(last.hash).hex())


# ---- verifying ----


@dataclass(frozen=True)
class Verification:
    """Result of reading the whole chain.

    Attributes
    ----------
    head : ChainHead
        Where the chain ends.
    n_transactions, n_events : int
        What was read.
    fault : str or None
        The first thing that is wrong; None if nothing is.
    """

    head: ChainHead
    n_transactions: int
    n_events: int
    fault: str | None

    @property
    def is_clean(self) -> bool:
        """Whether nothing is wrong."""
        return self.fault is None

    def __str__(self) -> str:
        if self.fault is not None:
            return f"NOT AS WRITTEN: {self.fault}"
        return (
            f"{self.n_events:,} events in {self.n_transactions:,} transactions are as they were written. Last hash "
            f"{self.head}; keep it elsewhere, so that nobody can cut the end unseen."
        )


def verify(connection: Connection, expected: str | None = None) -> Verification:
    """Read the whole record and name the first event that was edited, removed or inserted.

    Parameters
    ----------
    connection : Connection
        Of :meth:`Database.reading`.
    expected : str, optional
        A last hash that was kept elsewhere, as ``transaction:hash`` or the hash alone.
    """
    counts = [0, 0]
    fault = _fault_of_values(connection) or _fault_of_chain(connection, counts)
    fault = fault or _fault_of_side_tables(connection) or side_row_astray(connection)
    if fault is None and (gone := missing_guards(connection)):
        fault = f"triggers that refuse changes, or the view of the cases, were removed or changed: {', '.join(gone)}"
    if fault is None and expected is not None:
        fault = _fault_of_head(connection, expected)
    return Verification(head_of(connection), counts[0], counts[1], fault)


def _fault_of_head(connection: Connection, expected: str) -> str | None:
    number, _, digits = expected.strip().rpartition(":")
    try:
        wanted = bytes.fromhex(digits)
    except ValueError:
        return f"{expected!r} is no hash of a transaction; pass one that verify printed"
    row = connection.execute(select(transactions.c.number).where(transactions.c.hash == wanted)).first()
    record_id = connection.execute(select(about.c.record_id).limit(1)).scalar_one()
    if row is not None or wanted == first_hash(record_id):
        return None
    place = f"transaction {number}" if number else "the transaction"
    return f"{place} whose hash was kept elsewhere is not in the record: its end was cut, or it was written again"


def _fault_of_values(connection: Connection) -> str | None:
    found = strange_value(connection)
    if found is None:
        return None
    table, number = found
    what = "event" if table in {each.name for each in EVENTS} else "row"
    return f"{what} {number} ({table}) was edited or inserted: it has a value that is never written there"


def _fault_of_chain(connection: Connection, counts: list[int]) -> str | None:
    """Return the first fault of transactions and events, None if there is none; count those before it in `counts`."""
    record_id = connection.execute(select(about.c.record_id).limit(1)).scalar_one()
    previous, number, next_event = first_hash(record_id), 1, 1
    events = heapq.merge(*(_events_of(connection, table) for table in EVENTS))
    for row in _transactions(connection):
        if row.number != number or row.first_event != next_event:
            return f"transaction {number}, with event {next_event}, was removed"
        if bytes(row.previous_hash) != previous:
            return f"transaction {number} does not follow the one before it: a transaction was removed or edited"
        digests = []
        for expected in range(next_event, next_event + row.n_events):
            found, kind, made, stored = next(events, (None, "", b"", b""))
            if found != expected:
                return _wrong_number(found, expected, kind)
            if made != stored:
                return f"event {found} ({kind}) was edited"
            digests.append(made)
        if transaction_hash(previous, number, next_event, row.time, digests) != bytes(row.hash):
            return f"transaction {number} (events {next_event} to {next_event + row.n_events - 1}) was edited"
        previous, number, next_event = bytes(row.hash), number + 1, next_event + row.n_events
        counts[0], counts[1] = counts[0] + 1, counts[1] + row.n_events
    found, kind, *_ = next(events, (None, ""))
    return None if found is None else f"event {found} ({kind}) was inserted, or its transaction removed"


def _transactions(connection: Connection) -> Iterator[Any]:
    number, found = transactions.c.number, None
    while rows := connection.execute(
        select(transactions).where(number > (0 if found is None else found)).order_by(number).limit(ROWS_AT_A_TIME)
    ).fetchall():
        yield from rows
        found = rows[-1].number


def _wrong_number(found: int | None, expected: int, kind: str) -> str:
    if found is not None and found < expected:
        return f"event {found} ({kind}) was inserted: its number is taken"
    return f"event {expected} was removed"


def _events_of(connection: Connection, table: Table) -> Iterator[tuple[int, str, bytes, bytes]]:
    """Yield number, table, computed digest and stored digest of each event, in their order."""
    names = [column.name for column in table.columns]
    last = 0
    while True:  # by number, because one connection streams one result
        query = select(table).where(table.c.number > last).order_by(table.c.number).limit(ROWS_AT_A_TIME)
        rows = connection.execute(query).fetchall()
        if not rows:
            return
        columns = {
            name: [bytes(value) if isinstance(value, memoryview) else value for value in values]
            for name, values in zip(names, zip(*rows, strict=True), strict=True)
        }
        stored = columns.pop("digest")
        made = event_digests(table, columns, len(rows))
        yield from zip(columns["number"], [table.name] * len(rows), made, stored, strict=True)
        last = int(columns["number"][-1])


def _fault_of_side_tables(connection: Connection) -> str | None:
    """Return the first id, kept column or note that was edited, or removed without an erasure; None without a fault."""
    last = 0
    while True:
        query = (
            select(decisions.c.number, decisions.c.personal_commitment, personal, erasures.c.number.label("erasure"))
            .outerjoin(personal, personal.c.case_number == decisions.c.number)
            .outerjoin(erasures, erasures.c.case_number == decisions.c.number)
            .where(decisions.c.number > last, decisions.c.personal_commitment.is_not(None))
            .order_by(decisions.c.number)
            .limit(ROWS_AT_A_TIME)
        )
        rows = connection.execute(query).fetchall()
        if not rows:
            break
        there = [row for row in rows if row.case_number is not None]
        made = commitments(
            personal_rows([row.id for row in there], [row.kept for row in there]), [bytes(row.salt) for row in there]
        )
        edited = {row.number for row, value in zip(there, made, strict=True) if value != bytes(row.personal_commitment)}
        for row in rows:
            if row.number in edited:
                return f"the id or the kept columns of case {row.number} were edited"
            if row.case_number is None and row.erasure is None:
                return f"the id of case {row.number} was removed without an erasure"
        last = rows[-1].number
    return _fault_of_notes(connection)


def _fault_of_notes(connection: Connection) -> str | None:
    query = select(
        reviews.c.number, reviews.c.note_commitment, notes.c.note, notes.c.salt, erasures.c.number.label("e")
    )
    query = (
        query.outerjoin(notes, notes.c.review == reviews.c.number)
        .outerjoin(erasures, erasures.c.case_number == reviews.c.case_number)
        .where(reviews.c.note_commitment.is_not(None))
        .order_by(reviews.c.number)
    )
    for row in connection.execute(query):
        if row.note is None and row.e is None:
            return f"the note of review {row.number} was removed without an erasure"
        if row.note is not None:
            made = commitments([row.note.encode()], [bytes(row.salt)])[0]
            if made != bytes(row.note_commitment):
                return f"the note of review {row.number} was edited"
    return None
