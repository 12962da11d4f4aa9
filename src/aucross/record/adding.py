"""Read tables of reviews and outcomes, check them row by row, and append them."""

from __future__ import annotations

import json
import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from sqlalchemy import Connection, select

from aucross.frames import is_missing, rows_as_dicts
from aucross.record.canonical import SALT_BYTES, as_text, commitment, moment, shortened, text_fault
from aucross.record.chain import Appending, Chain
from aucross.record.record_tables import OPEN_ANSWERS, batches, notes, outcomes, personal, reviews

_FAULTS_SHOWN = 5


@dataclass(frozen=True)
class Added:
    """Result of adding a table of reviews or outcomes.

    Attributes
    ----------
    n_added, n_known, n_contradictions : int
        Number of rows added, of rows recorded before, and of added outcomes that contradict a known one.
    refused : tuple of str
        Why rows were refused, one text for each refused row.
    left_out : tuple of str
        Columns that were ignored.
    """

    n_added: int
    n_known: int = 0
    n_contradictions: int = 0
    refused: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    def __str__(self) -> str:
        parts = [f"{self.n_added:,} added"]
        if self.n_known:
            parts.append(f"{self.n_known:,} there already")
        if self.n_contradictions:
            parts.append(f"{self.n_contradictions:,} of them contradict an earlier outcome; both are kept")
        if self.refused:
            parts.append(f"{len(self.refused):,} refused: {_first_of(self.refused)}")
        return "; ".join(parts)


def _first_of(faults: Sequence[str]) -> str:
    more = len(faults) - _FAULTS_SHOWN
    return "; ".join(faults[:_FAULTS_SHOWN]) + (f"; and {more} more" if more > 0 else "")


def cases_named(connection: Connection, ids: Sequence[str], batch: str | None = None) -> dict[str, list[Any]]:
    """Return the cases of each id; a case has its number, its id, and the name and classes of its batch."""
    query = select(personal.c.id, personal.c.case_number, batches.c.name, batches.c.classes)
    query = query.join(batches, batches.c.number == personal.c.batch)
    if batch is not None:
        query = query.where(batches.c.name == batch)
    found: dict[str, list[Any]] = defaultdict(list)
    # A database refuses to look for what it cannot hold.
    for row in _among(connection, query, personal.c.id, [name for name in ids if text_fault(name) is None]):
        found[row.id].append(row)
    return found


def _among(connection: Connection, query: Any, column: Any, values: Sequence[Any]) -> Iterator[Any]:
    """Yield the rows of a query in which `column` has one of `values`; each query asks for 500 values."""
    for start in range(0, len(values), 500):
        yield from connection.execute(query.where(column.in_(values[start : start + 500])))


# ---- cells ----


def _name(value: Any) -> str:
    given = as_text(value).strip()
    if fault := text_fault(given, 200):
        raise ValueError(f"must {fault}")
    return given


def _note(value: Any) -> str:
    given = as_text(value)
    if fault := text_fault(re.sub("[\r\n\t]", " ", given)):
        raise ValueError(f"must {fault}")
    return given


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ValueError(f"must be a number, got {value!r}") from None


def _share(value: Any) -> float:
    if not 0 <= (given := _number(value)) <= 1:
        raise ValueError(f"must be in [0, 1], got {given:g}")
    return given


def _whole(value: Any) -> int:
    if not (given := _number(value)).is_integer():
        raise ValueError(f"must be a whole number, got {value!r}")
    return int(given)


def _truth(value: Any) -> int:
    known = {"1": 1, "true": 1, "yes": 1, "0": 0, "false": 0, "no": 0}
    if as_text(value).lower() not in known:
        raise ValueError(f"must be yes or no, got {value!r}")
    return known[as_text(value).lower()]


# What each column may hold; those up to the answer, or the outcome, must be there.
_Cells = Mapping[str, Callable[[Any], Any]]
_REVIEW: _Cells = {
    "id": as_text,
    "reviewer": _name,
    "answer": as_text,
    "batch": as_text,
    "reason_code": _name,
    "probability": _share,
    "time": moment,
    "note": _note,
    "saw_machine": _truth,
    "replaces": _whole,
}
_OUTCOME: _Cells = {"id": as_text, "outcome": as_text, "batch": as_text, "known_at": moment, "replaces": _whole}

# ---- tables ----


def _checked(
    appending: Appending,
    rows: Any,
    batch: str | None,
    is_known: Callable[[dict[str, Any], Sequence[Any]], bool],
    *,
    skip_faulty: bool,
    outcome: bool = False,
) -> tuple[list[dict[str, Any]], Added]:
    """Check rows and return the new events; `is_known` says if an event is among the earlier ones of its case."""
    table, cells = (outcomes, _OUTCOME) if outcome else (reviews, _REVIEW)
    needed = list(cells)[: 2 if outcome else 3]
    given, columns = _rows_and_columns(rows, needed)
    ids = {as_text(row["id"]) for row in given if not _is_blank(row.get("id"))}
    cases = cases_named(appending.connection, sorted(ids))
    numbers = [case.case_number for found in cases.values() for case in found]
    known: dict[int, list[Any]] = defaultdict(list)
    for old in _among(appending.connection, select(table), table.c.case_number, numbers):
        known[old.case_number].append(old)
    replaced = {old.replaces for found in known.values() for old in found}

    def event_of(row: Mapping[str, Any]) -> dict[str, Any] | None:
        read = {name: _cell(name, cells[name], row.get(name), is_needed=name in needed) for name in cells}
        case = _only_case(cases.get(read["id"], []), read["batch"] or batch)
        allowed = (*json.loads(case.classes), *(() if outcome else OPEN_ANSWERS))
        if read[needed[-1]] not in allowed:
            raise ValueError(f"{needed[-1]} must be one of {', '.join(map(repr, allowed))}, got {read[needed[-1]]!r}")
        made, earlier, wrong = {**read, "case_number": case.case_number}, known[case.case_number], read["replaces"]
        if is_known(made, earlier):
            return None
        if wrong is not None and wrong not in {old.number for old in earlier}:
            raise ValueError(f"replaces must be the number of an earlier one of the same case, got {wrong}")
        if wrong is not None and wrong in replaced:
            raise ValueError(f"number {wrong} was replaced before; name the last one")
        replaced.add(wrong)
        return made

    events, faults = [], []
    for number, row in enumerate(given, start=1):
        try:
            events.append(event_of(row))
        except ValueError as error:
            name = "" if _is_blank(row.get("id")) else f" ({shortened(as_text(row['id']))!r})"
            faults.append(f"row {number}{name}: {error}")
    made = [event for event in events if event is not None]
    if faults and not skip_faulty:
        total = len(faults) + len(events)
        raise ValueError(f"{len(faults)} of {total} rows are refused, and nothing was added: {_first_of(faults)}")
    left_out = tuple(name for name in columns if name not in cells)
    return made, Added(len(made), len(events) - len(made), 0, tuple(faults), left_out)


def _rows_and_columns(rows: Any, needed: Sequence[str]) -> tuple[list[dict[str, Any]], list[str]]:
    if isinstance(rows, Mapping | str):
        raise TypeError(f"rows must be a table or a list of mappings, got {type(rows).__name__}; pass [row]")
    given = rows_as_dicts(rows)
    columns = list(dict.fromkeys(str(name) for row in given for name in row))
    if given and (missing := [name for name in needed if name not in columns]):
        raise ValueError(
            f"the table must have the columns {', '.join(needed)}, and has no {', '.join(missing)}; it has "
            f"{', '.join(columns[:20])}"
        )
    return given, columns


def _is_blank(value: Any) -> bool:
    return is_missing(value) or (isinstance(value, str) and not value.strip())


def _cell(name: str, read: Callable[[Any], Any], value: Any, *, is_needed: bool) -> Any:
    if _is_blank(value):
        if is_needed:
            raise ValueError(f"{name} is missing")
        return None
    try:
        return read(value)
    except ValueError as error:
        raise ValueError(f"{name} {error}" if str(error).startswith("must") else str(error)) from None


def _only_case(cases: Sequence[Any], batch: str | None) -> Any:
    cases = [case for case in cases if batch in (None, case.name)]
    if not cases:
        raise ValueError("no decision on this id is recorded" + ("" if batch is None else f" in batch {batch!r}"))
    if len(cases) > 1:
        raise ValueError(f"the id is in {len(cases)} batches; name the batch")
    return cases[0]


def add_reviews(appending: Appending, rows: Any, batch: str | None, *, skip_faulty: bool) -> Added:
    """Append reviews within a transaction; see :meth:`Record.add_reviews`."""
    here: set[tuple[Any, ...]] = set()

    def is_known(made: dict[str, Any], known: Sequence[Any]) -> bool:
        # A review with a time of its own is another one than that of another time.
        same = ["reviewer", "answer", "reason_code", "probability"] + ["time"] * (made["time"] is not None)
        equal = [old for old in known if all(getattr(old, name) == made[name] for name in same)]
        key = tuple(made.values())
        is_repeated = key in here or (bool(equal) and made["replaces"] in {None, *(old.replaces for old in equal)})
        here.add(key)
        return is_repeated

    events, added = _checked(appending, rows, batch, is_known, skip_faulty=skip_faulty)
    salts = [None if event["note"] is None else os.urandom(SALT_BYTES) for event in events]
    for made, salt in zip(events, salts, strict=True):
        made["note_commitment"] = salt and commitment((made["case_number"], made["note"]), salt)
    numbers = count(appending.append(reviews, events))
    side = [
        (number, made["case_number"], made["note"], salt)
        for number, made, salt in zip(numbers, events, salts, strict=False)
        if salt is not None
    ]
    appending.insert(notes, side)
    return added


def add_outcomes(appending: Appending, rows: Any, batch: str | None, *, skip_faulty: bool) -> Added:
    """Append outcomes within a transaction; see :meth:`Record.add_outcomes`."""
    seen: set[int] = set()
    contradicting: set[int] = set()

    def is_known(made: dict[str, Any], known: Sequence[Any]) -> bool:
        number, value = made["case_number"], made["outcome"]
        if number in seen:
            raise ValueError("this table has two outcomes of the case; keep the right one")
        seen.add(number)
        replaced = {old.replaces for old in known} | {made["replaces"]}
        standing = {old.outcome for old in known if old.number not in replaced}
        if standing - {value}:
            contradicting.add(number)
        if made["replaces"] is not None:
            return (made["replaces"], value) in {(old.replaces, old.outcome) for old in known}
        # A table that is added again after a correction must not bring back what was corrected.
        return value in standing or (value, made["known_at"]) in {(old.outcome, old.known_at) for old in known}

    events, added = _checked(appending, rows, batch, is_known, skip_faulty=skip_faulty, outcome=True)
    appending.append(outcomes, [{**event, "known_at": event["known_at"] or appending.time} for event in events])
    return replace(added, n_contradictions=len(contradicting & {event["case_number"] for event in events}))


class ReviewedRecord(Chain):
    """Record with methods that add reviews and outcomes."""

    def add_reviews(self, rows: Any, *, batch: str | None = None, skip_faulty: bool = False) -> Added:
        """Add the answers of reviewers.

        Parameters
        ----------
        rows : frame, Arrow table or iterable of mappings
            Columns ``id``, ``reviewer`` and ``answer`` (a class, ``"cannot decide"`` or ``"needs documents"``), and, if
            known, ``batch``, ``reason_code``, ``probability`` (of the positive class), ``time``, ``note``,
            ``saw_machine`` (whether the reviewer saw the machine's answer first) and ``replaces`` (the number of the
            review that this one corrects). Other columns are ignored.
        batch : str, optional
            Batch of the rows that name none; not needed for ids that occur in one batch only.
        skip_faulty : bool, default=False
            Whether to add the valid rows if others are refused. By default a refused row means that nothing is added.

        Returns
        -------
        Added
            How many rows were added, were recorded before, or were refused, and why.
        """
        with self.appending() as appending:
            return add_reviews(appending, rows, batch, skip_faulty=skip_faulty)

    def add_outcomes(self, rows: Any, *, batch: str | None = None, skip_faulty: bool = False) -> Added:
        """Add the outcomes of cases.

        Parameters
        ----------
        rows : frame, Arrow table or iterable of mappings
            Columns ``id`` and ``outcome`` (a class) and, if known, ``batch``, ``known_at`` (when the outcome became
            known; now by default) and ``replaces`` (the number of the outcome that this one corrects).
        batch, skip_faulty
            As for :meth:`add_reviews`.

        Returns
        -------
        Added
            How many outcomes were added, and how many contradict a known outcome. Contradicting outcomes are all kept.
        """
        with self.appending() as appending:
            return add_outcomes(appending, rows, batch, skip_faulty=skip_faulty)
