"""A chain of transactions: each holds a hash over its events and the previous hash.

::

    transaction n-1  hash ──┐
    transaction n    previous hash, number, first event, time, digests of its events ──► hash ──► transaction n+1
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

import numpy as np
from sqlalchemy import Column, Connection, Float, Table
from sqlalchemy.exc import DBAPIError, IntegrityError

from aucross.record import record_tables as tables
from aucross.record.canonical import SALT_BYTES, commitment, event_digest, first_hash, now, transaction_hash
from aucross.record.database import CHAIN_LOCK, Database, RecordError

# Events that are hashed and inserted at a time.
ROWS_AT_A_TIME = 10_000

# So few rows of a table are inserted by PostgreSQL without COPY.
FEW_ROWS = 20

# Clocks of two machines differ; a clock further behind than this was set back.
_CLOCK_DIFFERENCE = timedelta(minutes=1)

_LAST = """SELECT a.record_id, t.* FROM (SELECT record_id FROM about LIMIT 1) a
    LEFT JOIN (SELECT * FROM transactions ORDER BY number DESC LIMIT 1) t ON t.number IS NOT NULL"""


@dataclass(frozen=True)
class ChainHead:
    """End of a chain; a copy kept elsewhere shows later whether the record was cut or rewritten.

    Attributes
    ----------
    record_id, hash : str
        Name of the record, and hash of its last transaction, 64 hexadecimal digits.
    transaction : int
        Number of the last transaction; 0 for an empty record.
    """

    record_id: str
    transaction: int
    hash: str

    def __str__(self) -> str:
        return f"{self.transaction}:{self.hash}"


def head_of(connection: Connection) -> ChainHead:
    """Return the end of the chain."""
    (last,) = _fetched(connection, _LAST)
    # Somebody may have put text there, of which verify tells.
    made = first_hash(last["record_id"]) if last["number"] is None else last["hash"]
    return ChainHead(last["record_id"], last["number"] or 0, made.hex() if isinstance(made, bytes) else str(made))


def _fetched(connection: Connection, query: str, values: Sequence[Any] = ()) -> list[dict[str, Any]]:
    """Fetch the rows of a query directly from the driver, in a third of the time that SQLAlchemy takes."""
    driver: Any = connection.connection.driver_connection
    cursor = driver.execute(query, values)
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


class Appending:
    """Transaction that appends events; only one is open at a time.

    Attributes
    ----------
    connection : Connection
        Connection of :meth:`Database.writing`.
    time : str
        Time of all its events.
    end : mapping
        Row of the last transaction with the id of the record; once finished, the row of this transaction.
    known : dict of str to dict
        Known batches by name: those that were looked up, and those that were appended.
    """

    def __init__(self, connection: Connection, end: Mapping[Any, Any], known: Iterable[Mapping[Any, Any]] = ()) -> None:
        self.connection, self.time, self.end = connection, now(), end
        self.known = {row["name"]: row for row in known}
        self._number, self.next_event, self._previous = 1, 1, first_hash(end["record_id"])
        if end["number"] is not None:
            self._number, self._previous = end["number"] + 1, end["hash"]
            self.next_event = end["first_event"] + end["n_events"]
            if datetime.fromisoformat(end["time"]) - datetime.fromisoformat(self.time) > _CLOCK_DIFFERENCE:
                raise RecordError(
                    f"the clock says {self.time}, and the record was last written at {end['time']}; it was set back: "
                    "set it right"
                )
        self._first_event = self.next_event
        self._digests: list[bytes] = []
        self._waiting: dict[Table, list[tuple[Any, ...]]] = {}

    def append(self, table: Table, events: Sequence[Mapping[str, Any]]) -> int:
        """Append events to a table and return the number of the first; a missing time becomes the transaction's."""
        columns = {name: [event.get(name) for event in events] for name in table.columns.keys()[1:-1]}
        if "time" in columns:
            columns["time"] = [time or self.time for time in columns["time"]]
        return self.append_columns(table, columns, len(events))

    def append_columns(self, table: Table, columns: Mapping[str, Any], n_rows: int) -> int:
        """Append events given as columns and return the number of the first; columns left out stay empty."""
        first, (_, *described, _) = self.next_event, table.columns
        names = ["number", *(column.name for column in described)]
        for start in range(0, n_rows, ROWS_AT_A_TIME):
            stop = min(start + ROWS_AT_A_TIME, n_rows)
            listed = [_listed(column, columns.get(column.name), start, stop) for column in described]
            rows = list(zip(range(first + start, first + stop), *listed, strict=True))
            digests = [event_digest(table.name, names, row) for row in rows]
            self.insert(table, [(*row, digest) for row, digest in zip(rows, digests, strict=True)])
            self._digests += digests
        self.next_event += n_rows
        return first

    def insert(self, table: Table, rows: Sequence[tuple[Any, ...]]) -> None:
        """Insert complete rows into a table; they are sent once many have gathered, by :meth:`flush`, or at the end."""
        self._waiting.setdefault(table, []).extend(rows)
        if len(self._waiting[table]) >= ROWS_AT_A_TIME:
            self.flush()

    def flush(self, *, at_once: bool = False) -> None:
        """Send the waiting rows to the database, so that they can be read; see :func:`insert`."""
        waiting, self._waiting = self._waiting, {}
        insert(self.connection, waiting, at_once=at_once)

    def finish(self, *, at_once: bool = False) -> None:
        """Close the chain over the appended events; do nothing if there are none."""
        if self._digests:
            place = self._number, self._first_event
            made = transaction_hash(self._previous, *place, self.time, self._digests)
            row = (*place, len(self._digests), self.time, self._previous, made)
            self.insert(tables.transactions, [row])
            self.flush(at_once=at_once)
            made_of = zip(tables.transactions.columns.keys(), row, strict=True)
            self.end = {"record_id": self.end["record_id"], **dict(made_of)}


def _listed(column: Column[Any], values: Any, start: int, stop: int) -> Sequence[Any]:
    """Return part of a column as drivers return it: NaN, which SQLite stores as NULL, becomes None."""
    if values is None:
        return (None,) * (stop - start)
    part = values[start:stop]
    part = part.tolist() if isinstance(part, np.ndarray) else part
    if isinstance(column.type, Float):
        return [None if value is None or value != value else value + 0.0 for value in part]  # noqa: PLR0124
    return part


def insert(
    connection: Connection, waiting: Mapping[Table, Sequence[tuple[Any, ...]]], *, at_once: bool = False
) -> None:
    """Insert complete rows; PostgreSQL gets tables of few rows, or all tables if `at_once`, in one message."""
    driver: Any = connection.connection.driver_connection
    is_sqlite, few = connection.dialect.name == "sqlite", list[tuple[str, list[Any]]]()
    for table, rows in waiting.items():
        into = f"{table.name} ({', '.join(table.columns.keys())})"
        marks = f"({', '.join(['?' if is_sqlite else '%s'] * len(table.columns))})"
        if is_sqlite:
            driver.executemany(f"INSERT INTO {into} VALUES {marks}", rows)
        elif len(rows) > FEW_ROWS and not at_once:
            with driver.cursor() as cursor, cursor.copy(f"COPY {into} FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
        elif rows:
            few.append(
                (f"INSERT INTO {into} VALUES {', '.join([marks] * len(rows))}", [v for row in rows for v in row])
            )
    if few:
        # Values go apart from the statement, which a server may show to others and write to its log. The last insertion
        # is made first, after the lock is taken, and fails where a batch is known: the log then names no batch, either.
        # It also fails where the transaction before is gone, as after a restore under a running process.
        statement, values = few.pop()
        is_new = f"CAST({CHAIN_LOCK} AS text) = '' AND NOT EXISTS (SELECT 1 FROM batches WHERE name = ANY(%s))"
        asked: list[Any] = [[row[1] for row in waiting.get(tables.batches, ())] if at_once else []]
        for number, *_, previous, _ in waiting[tables.transactions] if at_once else ():
            if number > 1:
                is_new += " AND EXISTS (SELECT 1 FROM transactions WHERE hash = %s)"
                asked.append(previous)
        statement = statement.replace("%s", f"CASE WHEN {is_new} THEN %s END", 1)
        before = ", ".join(f"w{place} AS ({other})" for place, (other, _) in enumerate(few))
        values = [*(value for _, own in few for value in own), *asked, *values]
        connection.exec_driver_sql(f"WITH {before} {statement}" if before else statement, tuple(values))


def rows_of(connection: Connection, table: Table) -> Iterator[Any]:
    """Yield the rows of a table in the order of its key, with values as the driver returns them."""
    names = table.columns.keys()
    return _in_order(connection, f"SELECT {', '.join(names)} FROM {table.name} WHERE", names[0])


def _in_order(connection: Connection, query: str, key: str) -> Iterator[Any]:
    """Yield the rows of a query in the order of its key, fetched chunk by chunk."""
    last = -(2**63)
    while rows := connection.exec_driver_sql(
        f"{query} {key} > {last} ORDER BY {key} LIMIT {ROWS_AT_A_TIME}"
    ).fetchall():
        yield from rows
        last = rows[-1][0]


# ---- verifying ----


@dataclass(frozen=True)
class Verification:
    """Result of reading the whole chain.

    Attributes
    ----------
    head : ChainHead
        End of the chain.
    n_transactions, n_events : int
        Numbers of transactions and events that were read.
    fault : str or None
        The first fault that was found; None if there is none.
    """

    head: ChainHead
    n_transactions: int
    n_events: int
    fault: str | None

    @property
    def is_clean(self) -> bool:
        """Whether no fault was found."""
        return self.fault is None

    def __str__(self) -> str:
        if self.fault is not None:
            return f"NOT AS WRITTEN: {self.fault}"
        return (
            f"{self.n_events:,} events in {self.n_transactions:,} transactions are as they were written. Last hash "
            f"{self.head}; keep it elsewhere, so that nobody can cut the end unseen."
        )


class Chain(Database):
    """A database whose transactions form a chain."""

    @cached_property
    def record_id(self) -> str:
        """Unique name of the record."""
        return self.head().record_id

    # The last transaction that this process has written, and whether nobody else was found to have written since.
    _end: Mapping[Any, Any] | None = None
    _is_alone = True

    @contextmanager
    def appending(self, batches: Sequence[str] = ()) -> Iterator[Appending]:
        """Open a transaction that appends events, and look up batches; all is on the disk when the block ends."""
        with self.writing() as connection:
            marks = ", ".join(["%s" if self.path is None else "?"] * len(batches)) or "NULL"
            known = _fetched(connection, f"SELECT * FROM batches WHERE name IN ({marks})", batches)
            (end,) = _fetched(connection, _LAST)
            self._is_alone = self._end is None or self._end["hash"] == end["hash"]
            appending = Appending(connection, end, known)
            yield appending
            appending.finish()
        self._end = appending.end

    def append_at_once(self, append: Callable[[Appending], list[Any]]) -> list[Any] | None:
        """Append a few events of new batches to PostgreSQL in one message; return None if this is impossible.

        This process assumes that its own last transaction is still the end of the chain. If another process has written
        since, or one of the batches exists, the database refuses the message and writes nothing. If several processes
        take turns, nothing is tried.
        """
        if self.path is not None or self._end is None or not self._is_alone:
            return None
        with self.in_words(), self.engine.connect() as connection:
            appending = Appending(connection, self._end)
            made = append(appending)
            try:
                appending.finish(at_once=True)
            except DBAPIError as error:
                # After a lost connection nobody knows whether it was written; whoever looks for the batches does.
                if not isinstance(error, IntegrityError) and not error.connection_invalidated:
                    raise
                return None
        self._end = appending.end
        return made

    def head(self) -> ChainHead:
        """Return the end of the chain; a copy kept elsewhere shows later whether the end was cut."""
        with self.reading() as connection:
            return head_of(connection)

    def verify(self, expected: str | ChainHead | None = None) -> Verification:
        """Read the whole record and name the first event that was edited, removed or inserted.

        Parameters
        ----------
        expected : str or ChainHead, optional
            An end of the chain that was kept elsewhere; the record must contain it.
        """
        with self.reading() as connection:
            counts, kept = {"n_transactions": 0, "n_events": 0}, None if expected is None else str(expected)
            faults = (_chain_faults(connection, counts), _side_faults(connection), _head_faults(connection, kept))
            fault = next((fault for kind in faults for fault in kind), None)
            return Verification(head_of(connection), **counts, fault=fault)


def _chain_faults(connection: Connection, counts: dict[str, int]) -> Iterator[str]:
    """Yield the faults of transactions and events in order, and count the valid ones."""
    previous = first_hash(head_of(connection).record_id)
    number, due = 1, 1
    events = heapq.merge(*(_events_of(connection, table) for table in tables.EVENTS))
    for row in rows_of(connection, tables.transactions):
        if row.number < number:
            yield f"transaction {row.number} was inserted"
        if row.number > number or row.first_event != due:
            yield f"transaction {number}, with event {due}, was removed"
        if row.previous_hash != previous:
            yield f"transaction {number} does not follow the one before it: a transaction was removed or edited"
        digests = []
        for _ in range(row.n_events if isinstance(row.n_events, int) else 0):
            found, kind, made, stored = next(events, (2**63, "", b"", b""))
            if found > due:
                yield f"event {due} was removed"
            if found < due:
                yield f"event {found} ({kind}) was inserted: its number is taken"
            if made != stored:
                yield f"event {found} ({kind}) was edited"
            digests.append(made)
            due += 1
        if transaction_hash(previous, number, row.first_event, row.time, digests) != row.hash:
            yield f"transaction {number} (events {row.first_event} to {due - 1}) was edited"
        previous, number = row.hash, number + 1
        counts["n_transactions"], counts["n_events"] = number - 1, due - 1
    yield from (f"event {found} ({kind}) was inserted, or its transaction removed" for found, kind, *_ in events)


def _head_faults(connection: Connection, expected: str | None) -> Iterator[str]:
    number, _, digits = (expected or "").strip().lower().rpartition(":")
    known = (row.hash for row in rows_of(connection, tables.transactions))
    first = first_hash(head_of(connection).record_id)
    if expected is not None and digits not in {made.hex() for made in (first, *known)}:
        place = f"transaction {number}" if number else "the transaction"
        yield f"{place} whose hash was kept elsewhere is not in the record: its end was cut, or it was written again"


def _events_of(connection: Connection, table: Table) -> Iterator[tuple[int, str, bytes, bytes]]:
    """Yield number, table, computed digest and stored digest of each event, in order."""
    *names, _ = table.columns.keys()
    for row in rows_of(connection, table):
        yield row[0], table.name, event_digest(table.name, names, row[:-1]), row[-1]


# What is kept beside the events: in which table, for which events, under which commitment, of which case.
_BESIDE = (
    ("the id, a kept column or the reason of case", tables.personal, tables.decisions, "personal_commitment", "number"),
    ("the note of review", tables.notes, tables.reviews, "note_commitment", "case_number"),
)


def beside_commitment(content: Sequence[Any], salt: bytes) -> bytes:
    """Return the commitment to the data beside an event; columns of later versions count if one has a value."""
    return commitment(content if any(value is not None for value in content[3:]) else content[:3], salt)


def _side_faults(connection: Connection) -> Iterator[str]:
    """Yield each id, kept column or note that differs from its event's commitment, and any changed trigger or view."""
    for what, side, events, committed, of_case in _BESIDE:
        key = side.columns.keys()[0]
        beside = ", ".join(f"s.{name}" for name in side.columns.keys())  # noqa: SIM118
        query = (
            f"SELECT e.number, e.{committed}, x.number, {beside} FROM {events.name} e "
            f"LEFT JOIN {side.name} s ON s.{key} = e.number LEFT JOIN erasures x ON x.case_number = e.{of_case} "
            f"WHERE e.{committed} IS NOT NULL AND"
        )
        for number, stored, erasure, there, *content, salt in _in_order(connection, query, "e.number"):
            if there is None and erasure is None:
                yield f"{what} {number} was removed without an erasure"
            elif there is not None and erasure is not None:
                yield f"{what} {number} is there, although it was erased"
            elif there is not None:
                is_salt = isinstance(salt, bytes) and len(salt) == SALT_BYTES
                if not is_salt or beside_commitment(content, salt) != stored:
                    yield f"{what} {number} was edited"
        query = f"SELECT min(s.{key}) FROM {side.name} s LEFT JOIN {events.name} e ON e.number = s.{key} "
        astray = connection.exec_driver_sql(f"{query} WHERE e.number IS NULL OR e.{committed} IS NULL").scalar()
        if astray is not None:
            yield f"{what} {astray} belongs to no event: it was inserted"
    if changed := tables.changed_guards(connection):
        yield f"triggers that refuse changes, or the view of the cases, were removed or changed: {', '.join(changed)}"
