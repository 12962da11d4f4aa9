"""Work at the desk: which case is next, who holds it, what was answered.

A case is held by one person for a time. Cases stand in one order in which audits, and other cases that the band would
have decided, cannot be told from the rest: their places are drawn.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import SystemRandom
from typing import Any

from sqlalchemy import Connection, RowMapping, and_, case, delete, exists, func, insert, or_, select, update

from aucross.desk.people import Desk, Person, known_batches, looks, now, open_cases
from aucross.estimators.decisions import REVIEW
from aucross.record.record_tables import (
    BAND,
    CAPACITY,
    OPEN_ANSWERS,
    batches,
    decisions,
    outcomes,
    personal,
    reviews,
)

_RANDOM = SystemRandom()
# Similar cases that are shown after the answer.
_SIMILAR = 5
# Cases of the queue that a page lists.
_LISTED = 50


class TakenError(ValueError):
    """The case is held by somebody else, or no longer needs an answer."""


@dataclass(frozen=True)
class Rules:
    """How a team works.

    Attributes
    ----------
    hold_minutes : float
        How long a case is held by the person who opened it.
    second_share : float
        Share of cases that two people answer.
    shows_machine : bool
        Whether score, band and prediction are shown before the answer; audits are then no longer blind.
    keeps_looks : bool
        Whether each look at a case is recorded.
    """

    hold_minutes: float = 30.0
    second_share: float = 0.0
    shows_machine: bool = False
    keeps_looks: bool = True

    def n_needed(self) -> int:
        """Draw how many people must answer a case."""
        return 1 + (_RANDOM.random() < self.second_share)


class Work:
    """The cases of a desk.

    Parameters
    ----------
    desk : Desk
        People and tables.
    rules : Rules
        How the team works.
    """

    def __init__(self, desk: Desk, rules: Rules) -> None:
        self.desk = desk
        self.record = desk.record
        self.rules = rules

    # ---- the queue ----

    def take_in(self) -> int:
        """Add the cases of new batches to the work queue; return how many."""
        with self.record.reading() as connection:
            if not self._new_batches(connection):
                return 0
        with self.record.writing() as connection:
            return sum(self._take_in(connection, batch) for batch in self._new_batches(connection))

    @staticmethod
    def _new_batches(connection: Connection) -> list[int]:
        is_new = batches.c.number.not_in(select(known_batches.c.batch))
        asked = select(batches.c.number).where(batches.c.shadow_of.is_(None), is_new)
        return [number for (number,) in connection.execute(asked.order_by(batches.c.number))]

    def _take_in(self, connection: Connection, batch: int) -> int:
        d = decisions.c
        of_batch = and_(d.batch == batch, d.shadow_of.is_(None), d.decision == REVIEW)
        columns = (d.number, d.rank, d.why, d.selection_score, d.lower, d.upper)
        rows = connection.execute(select(*columns).where(of_batch, _n_answers(d.number) == 0)).all()
        ordinary = sorted((row for row in rows if row.why in {BAND, CAPACITY}), key=_worth)
        places = {row.number: (place + 0.5) / len(ordinary) for place, row in enumerate(ordinary)}
        taken = [
            {
                "case_number": row.number,
                "batch": batch,
                # Whatever is here for another reason is mixed in by chance, so that no place tells of it.
                "place": batch + places.get(row.number, _RANDOM.random()),
                "needed": self.rules.n_needed(),
            }
            for row in rows
        ]
        connection.execute(insert(known_batches).values(batch=batch))
        if taken:
            connection.execute(insert(open_cases), taken)
        return len(taken)

    def _open_for(self, person: Person, batch: str | None = None, older_than_days: float | None = None) -> Any:
        """Return the query of the cases that a person may take, in the order of work."""
        o = open_cases.c
        is_free = or_(o.claimed_by.is_(None), o.claimed_until <= now(), o.claimed_by == person.name)
        has_answered = exists().where(
            reviews.c.case_number == o.case_number,
            reviews.c.reviewer == person.name,
            reviews.c.answer.not_in(OPEN_ANSWERS),
            _stands(),
        )
        asked = select(o.case_number, o.batch, batches.c.name, batches.c.time, o.claimed_by, o.due).join(
            batches, batches.c.number == o.batch
        )
        asked = asked.where(is_free, ~has_answered, _n_answers(o.case_number) < o.needed)
        if batch:
            asked = asked.where(batches.c.name == batch)
        if older_than_days is not None:
            before = datetime.now(UTC) - timedelta(days=older_than_days)
            asked = asked.where(batches.c.time <= before.strftime("%Y-%m-%dT%H:%M:%S.%fZ"))
        mine_first = case((o.claimed_by == person.name, 0), else_=1)
        return asked.order_by(mine_first, o.due.is_(None), o.due, o.place)

    def queue(
        self, person: Person, batch: str | None = None, older_than_days: float | None = None
    ) -> tuple[int, list[dict[str, Any]]]:
        """Return how many cases a person may take, and the first of them."""
        self.take_in()
        asked = self._open_for(person, batch, older_than_days)
        with self.record.reading() as connection:
            count = connection.execute(select(func.count()).select_from(asked.order_by(None).subquery())).scalar_one()
            rows = connection.execute(asked.limit(_LISTED)).mappings().all()
            ids = self._ids(connection, [row["case_number"] for row in rows])
        return count, [{**row, "id": ids.get(row["case_number"])} for row in rows]

    def batches(self) -> list[str]:
        """Return the names of batches with open cases."""
        self.take_in()
        asked = select(batches.c.name).join(open_cases, open_cases.c.batch == batches.c.number)
        with self.record.reading() as connection:
            found = connection.execute(asked.distinct().order_by(batches.c.name))
            return [name for (name,) in found]

    @staticmethod
    def _ids(connection: Connection, numbers: Sequence[int]) -> dict[int, str]:
        asked = select(personal.c.case_number, personal.c.id).where(personal.c.case_number.in_(numbers))
        return dict(connection.execute(asked).all())

    def done_today(self, person: Person) -> int:
        """Return how many cases a person has answered today."""
        asked = select(func.count(reviews.c.case_number.distinct())).where(
            reviews.c.reviewer == person.name, reviews.c.time >= now()[:10], _stands()
        )
        with self.record.reading() as connection:
            return int(connection.execute(asked).scalar_one())

    # ---- one case ----

    def next_case(self, person: Person, batch: str | None = None, older_than_days: float | None = None) -> int | None:
        """Claim the next case for a person; return its number, or None if none is open."""
        self.take_in()
        with self.record.writing() as connection:
            found = connection.execute(self._open_for(person, batch, older_than_days).limit(1)).first()
            if found is not None:
                self._claim(connection, found.case_number, person)
                return int(found.case_number)
        return None

    def claim(self, number: int, person: Person) -> None:
        """Claim one case for a person, or raise `TakenError`."""
        with self.record.writing() as connection:
            asked = self._open_for(person).where(open_cases.c.case_number == number)
            if connection.execute(asked).first() is None:
                raise TakenError("this case is with somebody else, or has been decided; take the next one")
            self._claim(connection, number, person)

    def _claim(self, connection: Connection, number: int, person: Person) -> None:
        held = {"claimed_by": person.name, "claimed_until": now(60.0 * self.rules.hold_minutes)}
        connection.execute(update(open_cases).where(open_cases.c.case_number == number).values(**held))

    def give_back(self, number: int, person: Person, *, to: str | None = None, due: str | None = None) -> None:
        """Return a claimed case to the queue, or hand it to a colleague, optionally with a due date."""
        if to is not None and to not in {other.name for other in self.desk.people() if other.role == person.role}:
            raise ValueError(f"nobody who decides cases here is called {to!r}")
        if due is not None:
            due = datetime.strptime(due, "%Y-%m-%d").replace(tzinfo=UTC).strftime("%Y-%m-%d")
        until = None if to is None else now(7 * 86_400.0)
        values = {"claimed_by": to, "claimed_until": until} | ({} if due is None else {"due": due})
        mine = and_(open_cases.c.case_number == number, open_cases.c.claimed_by == person.name)
        with self.record.writing() as connection:
            if not connection.execute(update(open_cases).where(mine).values(**values)).rowcount:
                raise TakenError("this case is not with you")

    @staticmethod
    def _is_done(connection: Connection, number: int) -> bool:
        o = open_cases.c
        lacks = select(_n_answers(o.case_number) < o.needed).where(o.case_number == number)
        return not connection.execute(lacks).scalar()

    def show(self, number: int, person: Person) -> dict[str, Any]:
        """Return what a person may see of a case that they hold or have answered.

        Before the answer, that is the id and the kept columns; afterwards also the machine's answer.
        """
        shown = self._read(number, person)
        if self.rules.keeps_looks:
            look = {"case_number": number, "name": person.name, "saw_machine": int("machine" in shown), "time": now()}
            with self.record.writing() as connection:
                connection.execute(insert(looks).values(**look))
        return shown

    def _read(self, number: int, person: Person) -> dict[str, Any]:
        d, b, p = decisions.c, batches.c, personal.c
        asked = (
            select(d.number, p.id, p.kept, b.name.label("batch"), b.time, b.classes, d.prediction, d.score)
            .add_columns(d.selection_score, d.lower, d.upper, d.reason, open_cases.c.claimed_by, open_cases.c.due)
            .join(batches, b.number == d.batch)
            .outerjoin(personal, p.case_number == d.number)
            .outerjoin(open_cases, open_cases.c.case_number == d.number)
            .where(d.number == number, d.decision == REVIEW, d.shadow_of.is_(None))
        )
        with self.record.reading() as connection:
            row = connection.execute(asked).mappings().first()
            if row is None:
                raise TakenError("there is no such case for review")
            given = self._answers_of(connection, number, person)
            if row["claimed_by"] != person.name and not given:
                raise TakenError("this case is with somebody else, or has been decided; take the next one")
            # Once a person has answered, what the machine says has been seen, whatever they do afterwards.
            shows = bool(given) or self.rules.shows_machine
            similar = self._similar(connection, row) if given else []
            standing = [answer for answer in given if answer["stands"]]
        shown = {
            "number": row["number"],
            "id": row["id"],
            "batch": row["batch"],
            "decided_at": row["time"],
            "due": row["due"],
            "kept": json.loads(row["kept"]) if row["kept"] else {},
            "classes": [str(label) for label in json.loads(row["classes"])],
            "answer": standing[-1] if standing else None,
        }
        if shows:
            names = ("prediction", "score", "selection_score", "lower", "upper", "reason")
            shown["machine"] = {name: row[name] for name in names} | {"similar": similar}
        return shown

    @staticmethod
    def _answers_of(connection: Connection, number: int, person: Person) -> list[dict[str, Any]]:
        """Return all of a person's answers on a case, including replaced ones; "cannot decide" does not count."""
        r = reviews.c
        stands = case((_stands(), 1), else_=0).label("stands")
        asked = select(r.number, r.answer, r.saw_machine, r.reason_code, r.probability, r.time, stands).where(
            r.case_number == number, r.reviewer == person.name, r.answer.not_in(OPEN_ANSWERS)
        )
        return [dict(row) for row in connection.execute(asked.order_by(r.number)).mappings()]

    @staticmethod
    def _similar(connection: Connection, row: RowMapping) -> list[dict[str, Any]]:
        """Return recent cases with outcomes whose scores are nearest."""
        if row["selection_score"] is None:
            return []
        distance = func.abs(decisions.c.selection_score - row["selection_score"])
        asked = (
            select(decisions.c.selection_score, decisions.c.prediction, outcomes.c.outcome)
            .join(outcomes, outcomes.c.case_number == decisions.c.number)
            .where(decisions.c.shadow_of.is_(None), decisions.c.number != row["number"])
            .order_by(distance, decisions.c.number.desc())
            .limit(_SIMILAR)
        )
        return [dict(found) for found in connection.execute(asked).mappings()]

    def answer(self, number: int, person: Person, given: Mapping[str, Any]) -> bool:
        """Record an answer of a person to a case that they hold; return whether it is their last word.

        The first answer is given before the machine's is seen, unless the team shows it. A later answer, given after
        seeing it, replaces the first; both stay in the record.

        Parameters
        ----------
        number : int
            The case.
        person : Person
            Who answers.
        given : mapping
            ``answer``, and where they are given ``reason_code``, ``probability`` and ``note``.
        """
        shown = self._read(number, person)
        before = shown["answer"]
        if before is None:
            self.claim(number, person)
        row = {name: given[name] for name in ("answer", "reason_code", "probability", "note") if given.get(name)}
        row |= {"id": shown["id"], "batch": shown["batch"], "reviewer": person.name}
        row["saw_machine"] = int("machine" in shown)
        if before is not None:
            row["replaces"] = before["number"]
        self.record.add_reviews([row])
        is_last = bool(row["saw_machine"]) or row["answer"] in OPEN_ANSWERS
        with self.record.writing() as connection:
            if self._is_done(connection, number):
                connection.execute(delete(open_cases).where(open_cases.c.case_number == number))
                return is_last
            # A second answer is for somebody else; a case that cannot be decided yet goes to the end.
            values: dict[str, Any] = {"claimed_by": None, "claimed_until": None}
            if row["answer"] in OPEN_ANSWERS:
                values["place"] = select(func.max(open_cases.c.place)).scalar_subquery() + 1.0
            connection.execute(update(open_cases).where(open_cases.c.case_number == number).values(**values))
        return is_last

    def mine(self, person: Person) -> list[dict[str, Any]]:
        """Return the last answers of a person."""
        r = reviews.c
        asked = (
            select(r.number, r.case_number, r.answer, r.reason_code, r.time, r.saw_machine, personal.c.id)
            .outerjoin(personal, personal.c.case_number == r.case_number)
            .where(r.reviewer == person.name, _stands())
            .order_by(r.number.desc())
            .limit(_LISTED)
        )
        with self.record.reading() as connection:
            return [dict(row) for row in connection.execute(asked).mappings()]

    def undo(self, review: int, person: Person) -> int:
        """Take an answer back by an event that replaces it with "cannot decide"; return the case, which opens again."""
        r = reviews.c
        asked = select(r.case_number, personal.c.id, batches.c.name, decisions.c.batch).where(
            r.number == review,
            r.reviewer == person.name,
            _stands(),
            personal.c.case_number == r.case_number,
            decisions.c.number == r.case_number,
            batches.c.number == decisions.c.batch,
        )
        with self.record.reading() as connection:
            found = connection.execute(asked).first()
        if found is None:
            raise TakenError("this answer is not yours, or was replaced before")
        row = {"id": found.id, "batch": found.name, "reviewer": person.name, "answer": OPEN_ANSWERS[0]}
        self.record.add_reviews([{**row, "replaces": review, "reason_code": "undone", "saw_machine": 1}])
        place = {"case_number": found.case_number, "batch": found.batch, "place": found.batch + _RANDOM.random()}
        place["needed"] = self.rules.n_needed()
        held = {"claimed_by": person.name, "claimed_until": now(60.0 * self.rules.hold_minutes)}
        with self.record.writing() as connection:
            connection.execute(delete(open_cases).where(open_cases.c.case_number == found.case_number))
            connection.execute(insert(open_cases).values(**place, **held))
        return int(found.case_number)


def _n_answers(number: Any) -> Any:
    """Return the number of people with an answer to a case that no later review replaced."""
    answers = select(func.count(reviews.c.reviewer.distinct()))
    answers = answers.where(reviews.c.case_number == number, reviews.c.answer.not_in(OPEN_ANSWERS), _stands())
    return answers.scalar_subquery()


def _stands() -> Any:
    """Return the SQL condition that no later review replaces this one."""
    later = reviews.alias("later")
    return ~exists().where(later.c.replaces == reviews.c.number)


def _worth(row: Any) -> tuple[float, float]:
    """Return the position of a case in its batch: by rank, or else the deepest in the band first."""
    if row.rank is not None:
        return (0.0, float(row.rank))
    if row.selection_score is None or row.lower is None or row.upper is None:
        return (2.0, float(row.number))
    return (1.0, -min(row.selection_score - row.lower, row.upper - row.selection_score))
