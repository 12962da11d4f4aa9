"""Reviews and outcomes: tables of them are read, checked row by row, and appended."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Table, select

from aucross.core.missing import is_missing
from aucross.frames import rows_as_dicts
from aucross.record.canonical import SALT_BYTES, as_text, commitments, moment, text_fault
from aucross.record.chain import Appending, insert
from aucross.record.event_tables import OPEN_ANSWERS, batches, notes, outcomes, personal, reviews

REVIEW_COLUMNS = (
    *("id", "batch", "reviewer", "answer", "reason_code", "probability", "time", "note", "saw_machine", "replaces"),
)
OUTCOME_COLUMNS = ("id", "batch", "outcome", "known_at", "replaces")
_FAULTS_SHOWN = 5


@dataclass(frozen=True)
class Added:
    """Result of adding a table of reviews or outcomes.

    Attributes
    ----------
    n_added, n_known : int
        Rows that were added, and rows that the record had already.
    n_contradictions : int
        Added outcomes that differ from one that was known; both are kept.
    refused : tuple of str
        Why each of the other rows was refused.
    left_out : tuple of str
        Columns that were not read.
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
            parts.append(f"{len(self.refused):,} refused: {_listed(self.refused)}")
        return "; ".join(parts)


def cases_named(connection: Connection, ids: Sequence[str], batch: str | None = None) -> dict[str, list[Any]]:
    """Return the cases of each id: number of the case, name and classes of its batch."""
    found: dict[str, list[Any]] = defaultdict(list)
    query = select(personal.c.id, personal.c.case_number, batches.c.name, batches.c.classes).join(
        batches, batches.c.number == personal.c.batch
    )
    if batch is not None:
        query = query.where(batches.c.name == batch)
    for start in range(0, len(ids), 500):
        for row in connection.execute(query.where(personal.c.id.in_(ids[start : start + 500]))):
            found[row.id].append(row)
    return found


def add_reviews(appending: Appending, rows: Any, batch: str | None, *, skip_faulty: bool) -> Added:
    """Append reviews; see :meth:`Record.add_reviews`."""
    table = _Table(appending.connection, rows, REVIEW_COLUMNS, ("id", "reviewer", "answer"), batch)
    known = _events_of(appending.connection, reviews, table.case_numbers())
    same = ("reviewer", "answer", "reason_code", "probability")
    here: set[tuple[Any, ...]] = set()
    replaced_here: set[int] = set()

    def event(row: Mapping[str, Any], case: Any) -> dict[str, Any] | None:
        answer, probability = as_text(row["answer"]), _number(row["probability"], "probability")
        if answer not in OPEN_ANSWERS and answer not in json.loads(case.classes):
            allowed = ", ".join(map(repr, (*json.loads(case.classes), *OPEN_ANSWERS)))
            raise ValueError(f"answer must be one of {allowed}, got {answer!r}")
        if probability is not None and not 0 <= probability <= 1:
            raise ValueError(f"probability must be in [0, 1], got {probability:g}")
        made = {
            "case_number": case.case_number,
            "reviewer": _text(row["reviewer"], "reviewer", 200),
            "answer": answer,
            "reason_code": None if row["reason_code"] is None else _text(row["reason_code"], "reason_code", 200),
            "probability": probability,
            "saw_machine": _truth(row["saw_machine"], "saw_machine"),
            "time": appending.time if row["time"] is None else moment(row["time"]),
            "note": None if row["note"] is None else as_text(row["note"]),
        }
        if made["note"] is not None and (fault := text_fault(made["note"].replace("\n", " ").replace("\t", " "))):
            raise ValueError(f"note must {fault}")
        # A review with a time of its own is another one than that of another time.
        compared = same if row["time"] is None else (*same, "time")
        replaces = _whole(row["replaces"], "replaces")
        equal = [old for old in known[case.case_number] if all(getattr(old, name) == made[name] for name in compared)]
        made["replaces"] = replaces
        key = tuple(made.values())
        if key in here or (equal and (replaces is None or replaces in {old.replaces for old in equal})):
            return None
        _check_replaced(replaces, known[case.case_number], replaced_here)
        here.add(key)
        return made

    events, faults, n_known = table.checked(event)
    _refuse(faults, len(events), skip_faulty=skip_faulty)
    _append_reviews(appending, events)
    return Added(len(events), n_known, 0, tuple(faults), table.left_out)


def _append_reviews(appending: Appending, events: Sequence[Mapping[str, Any]]) -> None:
    if not events:
        return
    salts = [os.urandom(SALT_BYTES) for _ in events]
    committed = [
        None if event["note"] is None else commitments([event["note"].encode()], [salt])[0]
        for event, salt in zip(events, salts, strict=True)
    ]
    columns = {name: [event[name] for event in events] for name in events[0] if name != "note"}
    first = appending.append(reviews, {**columns, "note_commitment": committed}, len(events))
    with_note = [at for at, event in enumerate(events) if event["note"] is not None]
    if with_note:
        side = {
            "review": [first + at for at in with_note],
            "case_number": [events[at]["case_number"] for at in with_note],
            "note": [events[at]["note"] for at in with_note],
            "salt": [salts[at] for at in with_note],
        }
        insert(appending.connection, notes, side)


def add_outcomes(appending: Appending, rows: Any, batch: str | None, *, skip_faulty: bool) -> Added:
    """Append outcomes; see :meth:`Record.add_outcomes`."""
    table = _Table(appending.connection, rows, OUTCOME_COLUMNS, ("id", "outcome"), batch)
    known = _events_of(appending.connection, outcomes, table.case_numbers())
    seen: set[int] = set()
    n_contradictions = 0

    def event(row: Mapping[str, Any], case: Any) -> dict[str, Any] | None:
        nonlocal n_contradictions
        value = as_text(row["outcome"])
        if value not in json.loads(case.classes):
            allowed = ", ".join(map(repr, json.loads(case.classes)))
            raise ValueError(f"outcome must be one of {allowed}, got {value!r}")
        if case.case_number in seen:
            raise ValueError("this table has two outcomes of the case; keep the right one")
        replaces = _whole(row["replaces"], "replaces")
        if replaces is not None and (replaces, value) in {
            (old.replaces, old.outcome) for old in known[case.case_number]
        }:
            seen.add(case.case_number)
            return None
        _check_replaced(replaces, known[case.case_number], set())
        replaced = {old.replaces for old in known[case.case_number]} | {replaces}
        values = {old.outcome for old in known[case.case_number] if old.number not in replaced}
        known_at = appending.time if row["known_at"] is None else moment(row["known_at"])
        seen.add(case.case_number)
        # A table that is added again after a correction must not bring back what was corrected.
        is_old = row["known_at"] is not None and (value, known_at) in {
            (old.outcome, old.known_at) for old in known[case.case_number]
        }
        if replaces is None and (value in values or is_old):
            return None
        n_contradictions += bool(values - {value})
        made = {"case_number": case.case_number, "outcome": value, "known_at": known_at}
        return {**made, "time": appending.time, "replaces": replaces}

    events, faults, n_known = table.checked(event)
    _refuse(faults, len(events), skip_faulty=skip_faulty)
    if events:
        appending.append(outcomes, {name: [event[name] for event in events] for name in events[0]}, len(events))
    return Added(len(events), n_known, n_contradictions, tuple(faults), table.left_out)


class _Table:
    """Rows of a table of reviews or outcomes, with the cases that they name."""

    def __init__(
        self, connection: Connection, rows: Any, names: Sequence[str], needed: Sequence[str], batch: str | None
    ) -> None:
        given = _mappings(rows)
        columns = list(dict.fromkeys(name for row in given for name in row))
        if given and (missing := [name for name in needed if name not in columns]):
            raise ValueError(
                f"the table must have the columns {', '.join(needed)}, and has no {', '.join(missing)}; it has "
                f"{', '.join(map(str, columns[:20]))}"
            )
        self.left_out = tuple(str(name) for name in columns if name not in names)
        self._needed = needed
        self._rows = [{name: None if _is_blank(row.get(name)) else row[name] for name in names} for row in given]
        self._batches = [batch if row["batch"] is None else as_text(row["batch"]) for row in self._rows]
        ids = {as_text(row["id"]) for row in self._rows if row["id"] is not None}
        self._cases = cases_named(connection, sorted(ids))

    def case_numbers(self) -> list[int]:
        """Return the numbers of all cases that are named."""
        return [case.case_number for cases in self._cases.values() for case in cases]

    def checked(
        self, event: Callable[[Mapping[str, Any], Any], dict[str, Any] | None]
    ) -> tuple[list[dict[str, Any]], list[str], int]:
        """Return the events of the rows, the reasons for refused rows, and how many rows are in the record already."""
        events, faults, n_known = [], [], 0
        for number, row in enumerate(self._rows, start=1):
            try:
                made = event(row, self._case_of(row, self._batches[number - 1]))
            except ValueError as error:
                name = "" if row["id"] is None else f" ({_shortened(as_text(row['id']))!r})"
                faults.append(f"row {number}{name}: {error}")
                continue
            n_known += made is None
            if made is not None:
                events.append(made)
        return events, faults, n_known

    def _case_of(self, row: Mapping[str, Any], batch: str | None) -> Any:
        for name in self._needed:
            if row[name] is None:
                raise ValueError(f"{name} is missing")
        cases = self._cases.get(as_text(row["id"]), [])
        if batch is not None:
            cases = [case for case in cases if case.name == batch]
        if not cases:
            raise ValueError("no decision on this id is recorded" + ("" if batch is None else f" in batch {batch!r}"))
        if len(cases) > 1:
            raise ValueError(f"the id is in {len(cases)} batches; name the batch")
        return cases[0]


def _mappings(rows: Any) -> Sequence[Mapping[str, Any]]:
    if isinstance(rows, Mapping | str):
        raise TypeError(f"rows must be a table or a list of mappings, got {type(rows).__name__}; pass [row]")
    return rows_as_dicts(rows)


def _events_of(connection: Connection, table: Table, cases: Sequence[int]) -> Mapping[int, list[Any]]:
    """Return the events that a table of the record already holds for some cases, by case."""
    found: dict[int, list[Any]] = defaultdict(list)
    for start in range(0, len(cases), 500):
        for row in connection.execute(select(table).where(table.c.case_number.in_(cases[start : start + 500]))):
            found[row.case_number].append(row)
    return found


def _refuse(faults: Sequence[str], n_others: int, *, skip_faulty: bool) -> None:
    if faults and not skip_faulty:
        raise ValueError(
            f"{len(faults)} of {len(faults) + n_others} rows are refused, and nothing was added: {_listed(faults)}"
        )


def _listed(faults: Sequence[str]) -> str:
    more = len(faults) - _FAULTS_SHOWN
    return "; ".join(faults[:_FAULTS_SHOWN]) + (f"; and {more} more" if more > 0 else "")


def _whole(value: Any, name: str) -> int | None:
    number = _number(value, name)
    if number is None or number.is_integer():
        return None if number is None else int(number)
    raise ValueError(f"{name} must be a whole number, got {value!r}")


def _check_replaced(number: int | None, known: Iterable[Any], here: set[int]) -> None:
    """Refuse to correct anything but an earlier event of the same case that no other has corrected."""
    if number is None:
        return
    known = list(known)
    if number not in {row.number for row in known}:
        raise ValueError(f"replaces must be the number of an earlier one of the same case, got {number}")
    if number in {row.replaces for row in known} | here:
        raise ValueError(f"number {number} was replaced before; name the last one")
    here.add(number)


def _is_blank(value: Any) -> bool:
    return is_missing(value) or (isinstance(value, str) and not value.strip())


def _text(value: Any, name: str, longest: int) -> str:
    given = as_text(value).strip()
    if fault := text_fault(given, longest):
        raise ValueError(f"{name} must {fault}")
    return given


def _number(value: Any, name: str) -> float | None:
    if value is None:
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a number, got {value!r}") from None


def _truth(value: Any, name: str) -> int | None:
    if value is None:
        return None
    known = {"1": 1, "true": 1, "yes": 1, "0": 0, "false": 0, "no": 0}
    if as_text(value).lower() not in known:
        raise ValueError(f"{name} must be yes or no, got {value!r}")
    return known[as_text(value).lower()]


def _shortened(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."
