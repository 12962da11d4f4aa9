"""Work at the desk: which case is next, who holds it, and how it was answered.

One person at a time holds a case, for some minutes. Audits and other cases that the band would have decided get random
places in the order, so that nobody can tell them from the rest. An answer and its effect on the order are one
transaction, so a case is open exactly as long as it needs an answer.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from hashlib import sha256
from random import SystemRandom
from typing import Any

import sqlalchemy as sa

from aucross.desk.people import UNDONE, Desk, Person, known_batches, looks, open_cases
from aucross.estimators.decisions import REVIEW
from aucross.record import record_tables as tables
from aucross.record.adding import add_reviews
from aucross.record.canonical import now
from aucross.record.chain import Appending

_RANDOM = SystemRandom()
# Similar cases that are shown after the answer, and the last outcomes among which they are looked for.
_MOST_SIMILAR, _RECENT = 5, 500
# Cases, answers, audits, batches and groups that a page lists.
LISTED = 25
_FREE: Mapping[str, Any] = {"claimed_by": None, "claimed_until": None}
_TAKEN = "this case is with somebody else, or has been decided; take the next one"


_b, _d, _o, _p = tables.batches.c, tables.decisions.c, open_cases.c, tables.personal.c
_r, _later = tables.reviews.c, tables.reviews.alias("later")
# No later review replaces this one; those that do are of the same case, by which an index finds them.
_STANDS = ~sa.exists().where(_later.c.case_number == _r.case_number, _later.c.replaces == _r.number)
_IS_ANSWER = sa.and_(_r.answer.not_in(tables.OPEN_ANSWERS), _STANDS)

# Whose open case it is, for the person of `_of`.
_me, _now = sa.bindparam("me", type_=sa.Text), sa.bindparam("now", type_=sa.Text)
_IS_MINE = _o.claimed_by == _me
_IS_HELD = sa.and_(_o.claimed_by > "", _o.claimed_by != _me, _o.claimed_until > _now)
_IS_FREE = sa.or_(_o.claimed_by.is_(None), sa.and_(_o.claimed_by != _me, _o.claimed_until <= _now))
_NOT_ANSWERED = sa.or_(
    _o.needed == 1, ~sa.exists().where(_r.case_number == _o.case_number, _r.reviewer == _me, _IS_ANSWER)
)


def _n_answers(number: Any) -> Any:
    """Return the number of people whose answer to a case has not been replaced."""
    answers = sa.select(sa.func.count(_r.reviewer.distinct())).where(_r.case_number == number, _IS_ANSWER)
    return answers.scalar_subquery()


# Statements are built once: to build one takes longer than to run it.
_number = sa.bindparam("number", type_=sa.BigInteger)
_CASE = (
    sa.select(_d.number, _d.batch, _p.id, _p.kept, _b.name, _b.time, _b.classes)
    .add_columns(_d.prediction, _d.score, _d.selection_score, _d.lower, _d.upper)
    .add_columns(_p.reason, _p.contributions, _o.claimed_by, _o.due)
    .join(tables.batches, _b.number == _d.batch)
    .outerjoin(tables.personal, _p.case_number == _d.number)
    .outerjoin(open_cases, _o.case_number == _d.number)
    .where(_d.number == _number, _d.decision == REVIEW, _d.shadow_of.is_(None))
)
_ANSWERS = (
    sa.select(_r.number, _r.answer, _r.saw_machine, _r.reason_code, _r.probability, _r.time, tables.notes.c.note)
    .add_columns(sa.case((_STANDS, 1), else_=0).label("stands"))
    .outerjoin(tables.notes, tables.notes.c.review == _r.number)
    .where(_r.case_number == _number, _r.reviewer == _me, _r.answer.not_in(tables.OPEN_ANSWERS))
    .order_by(_r.number)
)
_outcome, _changed = tables.outcomes.c, tables.outcomes.alias("later").c
_LAST_OUTCOMES = (
    sa.select(_outcome.case_number, _outcome.outcome, _outcome.known_at)
    .where(~sa.exists().where(_changed.case_number == _outcome.case_number, _changed.replaces == _outcome.number))
    .order_by(_outcome.number.desc())
    .limit(_RECENT)
    .subquery()
)
_SIMILAR = (
    sa.select(_d.selection_score, _d.prediction, _LAST_OUTCOMES.c.outcome, _LAST_OUTCOMES.c.known_at)
    .join(_LAST_OUTCOMES, _LAST_OUTCOMES.c.case_number == _d.number)
    .where(_d.shadow_of.is_(None), _d.number != _number, _d.why.is_distinct_from(tables.SEEDED))
    .where(_d.selection_score.is_not(None))
    .order_by(sa.func.abs(_d.selection_score - sa.bindparam("score", type_=sa.Float(53))), _d.number.desc())
    .limit(_MOST_SIMILAR)
)


# The queue: what came since an event, and what is over.
_LAST_TRANSACTION = sa.select(tables.transactions).order_by(tables.transactions.c.number.desc()).limit(1)
_NEW_BATCHES = (
    sa.select(_b.number)
    .where(_b.shadow_of.is_(None), _b.number > _number)
    .where(_b.number.not_in(sa.select(known_batches.c.batch)))
    .order_by(_b.number)
)
# Two questions, of which a database looks at the cases of new events alone; of one with OR it looks at every open case.
_e, _OPEN_NUMBERS = tables.erasures.c, sa.select(_o.case_number)
_ANSWERED = _OPEN_NUMBERS.where(
    _o.case_number.in_(sa.select(_r.case_number).where(_r.number > _number)), _n_answers(_o.case_number) >= _o.needed
)
_ERASED = _OPEN_NUMBERS.where(_o.case_number.in_(sa.select(_e.case_number).where(_e.number > _number)))
# The queue in three parts: each is read along an index; one order over all would sort it for a single case.
_OPEN = sa.select(_o.case_number, _o.due).where(_NOT_ANSWERED).limit(sa.bindparam("most", type_=sa.Integer))
_IN_ORDER = (
    _OPEN.where(_IS_MINE).order_by(_o.due.is_(None), _o.due, _o.place),
    _OPEN.where(_IS_FREE, _o.due > "").order_by(_o.due, _o.place),
    _OPEN.where(_IS_FREE, _o.due.is_(None)).order_by(_o.place),
)
# In PostgreSQL several people take a case at once; whoever is later passes over what others are taking.
_TO_TAKE = tuple(each.with_for_update(skip_locked=True) for each in _IN_ORDER)
# All cases, those that others hold, and those that wait for another answer than this person's.
_ALL = sa.select(sa.func.count()).select_from(open_cases)
_COUNTS = (_ALL, _ALL.where(_IS_HELD), _ALL.where(_o.needed > 1, sa.or_(_IS_MINE, _IS_FREE), ~_NOT_ANSWERED))
_NAMED = (
    sa.select(_p.case_number, _p.id, _b.name, _b.time)
    .join(tables.batches, _b.number == _p.batch)
    .where(_p.case_number.in_(sa.bindparam("numbers", expanding=True)))
)
_BATCHES = sa.select(_b.name).where(sa.exists().where(_o.batch == _b.number))
_BATCHES = _BATCHES.order_by(_b.number.desc()).limit(LISTED)
# Along the key from its end, so that only the reviews of today are read.
_YESTERDAY = sa.select(_r.number).where(_r.time < _now).order_by(_r.number.desc()).limit(1).scalar_subquery()
_OWN = sa.case((_r.reviewer == _me, _r.case_number)).distinct()
_TODAY = sa.select(sa.func.count(_r.case_number.distinct()), sa.func.count(_OWN)).where(
    _r.number > sa.func.coalesce(_YESTERDAY, 0), _IS_ANSWER
)
_DUE = _ALL.where(_o.due > "", _o.due <= _now)
# One case. While its answer is recorded nobody takes it.
_HOLD = sa.select(_o.case_number).where(_o.case_number == _number).with_for_update()
_LOOK = sa.insert(looks)
_CLAIM = sa.update(open_cases).where(_o.case_number == _number, sa.or_(_IS_MINE, _IS_FREE), _NOT_ANSWERED)
_CLAIM = _CLAIM.values(claimed_by=sa.bindparam("claimed_by"), claimed_until=sa.bindparam("claimed_until"))
_NEEDED = sa.select(_o.needed).where(_o.case_number == _number).scalar_subquery()
_STANDING = sa.select(_NEEDED, _n_answers(_number))
_CLOSE = sa.delete(open_cases).where(_o.case_number == _number)


def _of(person: Person) -> dict[str, str]:
    return {"me": person.name, "now": now()}


def _numbers(connection: sa.Connection, asked: sa.Select[Any], known: int) -> list[int]:
    """Return the numbers of batches or cases with events later than event `known`."""
    return list(connection.execute(asked, {"number": known}).scalars())


class TakenError(ValueError):
    """Error for a case that somebody else holds, or that needs no further answer."""


@dataclass(frozen=True)
class Rules:
    """How a team works.

    Attributes
    ----------
    hold_minutes : float
        Minutes for which a case is held by the person who opened it.
    second_share : float
        Share of cases that two people answer.
    large : tuple of str and float, optional
        A kept column and an amount: if a person contradicts the machine on a case of at least this amount, a second
        person answers it, too. A case without a readable amount counts as large.
    by : str, optional
        A kept column by which people can filter the queue.
    shows_machine : bool
        Whether score, band and prediction are shown before the answer; audits are then no longer blind.
    keeps_looks : bool
        Whether each look at a case is recorded.
    """

    hold_minutes: float = 30.0
    second_share: float = 0.0
    large: tuple[str, float] | None = None
    by: str | None = None
    shows_machine: bool = False
    keeps_looks: bool = True

    def n_needed(self) -> int:
        """Draw how many people must answer a case."""
        return 1 + (_RANDOM.random() < self.second_share)

    def is_large(self, kept: Mapping[str, Any]) -> bool:
        """Return whether a case has a large amount; an amount that cannot be read counts as large."""
        if self.large is None:
            return False
        try:
            return not float(kept[self.large[0]]) < self.large[1]
        except (KeyError, TypeError, ValueError):
            return True


@dataclass(frozen=True)
class Wanted:
    """A filter of the queue: by batch, by days of waiting, and by group, given by its key."""

    batch: str | None = None
    days: float | None = None
    group: str | None = None


ANY = Wanted()


def group_key(value: str) -> str:
    """Return a key for a group, because web addresses must not hold its value, which may be personal."""
    return sha256(value.encode()).hexdigest()[:16]


class Work:
    """The cases of a desk and the work on them."""

    def __init__(self, desk: Desk, rules: Rules) -> None:
        self.desk = desk
        self.record = desk.record
        self.rules = rules
        # The last event of the record that the queue knows.
        self._known = 0

    # ---- the queue ----

    def take_in(self) -> None:
        """Update the queue from the record: add cases of new batches, drop cases decided or erased elsewhere."""
        with self.record.reading() as connection:
            last = connection.execute(_LAST_TRANSACTION).first()
            event = 0 if last is None else last.first_event + last.n_events - 1
            known = self._known
            if event == known:
                return
            is_behind = any(_numbers(connection, asked, known) for asked in (_NEW_BATCHES, _ANSWERED, _ERASED))
        if is_behind:
            with self.record.writing() as connection:
                for batch in _numbers(connection, _NEW_BATCHES, known):
                    self._take_in(connection, batch)
                for asked in (_ANSWERED, _ERASED):
                    if settled := _numbers(connection, asked, known):
                        connection.execute(sa.delete(open_cases).where(_o.case_number.in_(settled)))
        self._known = event

    def _take_in(self, connection: sa.Connection, batch: int) -> None:
        of_batch = sa.and_(_d.batch == batch, _d.shadow_of.is_(None), _d.decision == REVIEW)
        columns = (_d.number, _d.rank, _d.why, _d.selection_score, _d.lower, _d.upper)
        rows = connection.execute(sa.select(*columns).where(of_batch, _n_answers(_d.number) == 0)).all()
        ordinary = sorted((row for row in rows if row.why in {tables.BAND, tables.CAPACITY}), key=_worth)
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
        connection.execute(sa.insert(known_batches).values(batch=batch))
        if taken:
            connection.execute(sa.insert(open_cases), taken)
            if connection.dialect.name == "postgresql":
                # Until it has counted them, it sorts all open cases to find the next one.
                connection.exec_driver_sql(f"ANALYZE {open_cases.name}")

    def _wanted(self, connection: sa.Connection, wanted: Wanted) -> list[Any]:
        """Return the SQL conditions of a filter."""
        found = list[Any]()
        if wanted.batch is not None:
            found.append(_o.batch.in_(sa.select(_b.number).where(_b.name == wanted.batch)))
        if wanted.days is not None:
            before = now(-86_400.0 * wanted.days)
            found.append(_o.batch.in_(sa.select(_b.number).where(_b.time <= before)))
        if wanted.group is not None and self.rules.by is not None:
            value = {group_key(value): value for value in self._groups(connection)}.get(wanted.group)
            # A group may have no open cases any more; nothing is listed then.
            of_group = sa.false() if value is None else self._group_of(connection) == value
            found.append(sa.exists().where(_p.case_number == _o.case_number, of_group))
        return found

    def _in_order(
        self, connection: sa.Connection, person: Person, wanted: Wanted, most: int, *, is_taken: bool = False
    ) -> list[dict[str, Any]]:
        """Return the first cases that a person may take: cases they hold, then cases with a due day, then others."""
        found, among = list[dict[str, Any]](), self._wanted(connection, wanted)
        for asked in _TO_TAKE if is_taken else _IN_ORDER:
            if len(found) < most:
                limited = {**_of(person), "most": most - len(found)}
                rows = connection.execute(asked.where(*among) if among else asked, limited)
                found += [dict(row) for row in rows.mappings()]
        return found

    def queue(self, person: Person, wanted: Wanted = ANY, page: int = 0) -> tuple[int, list[dict[str, Any]]]:
        """Return the number of cases that a person may take, and the cases on one page; pages count from 0."""
        self.take_in()
        with self.record.reading() as connection:
            return self._queue(connection, person, wanted, page)

    def _queue(
        self, connection: sa.Connection, person: Person, wanted: Wanted, page: int
    ) -> tuple[int, list[dict[str, Any]]]:
        among = self._wanted(connection, wanted)
        counts = [each.where(*among) if among else each for each in _COUNTS]
        all_open, held, answered = (connection.execute(each, _of(person)).scalar_one() for each in counts)
        listed = self._in_order(connection, person, wanted, LISTED * (page + 1))[LISTED * page :]
        rows = {row["case_number"]: row for row in listed}
        for named in connection.execute(_NAMED, {"numbers": list(rows)}).mappings():
            rows[named["case_number"]] |= named
        return all_open - held - answered, list(rows.values())

    def overview(self, person: Person, wanted: Wanted, page: int) -> dict[str, Any]:
        """Return what the page of the queue shows: cases, what was done today, and what the filters offer."""
        self.take_in()
        day = {"me": person.name, "now": now()[:10]}
        with self.record.reading() as connection:
            count, cases = self._queue(connection, person, wanted, page)
            team, mine = connection.execute(_TODAY, day).one()
            today = {"team": team, "mine": mine, "due": connection.execute(_DUE, day).scalar_one()}
            batches, groups = list(connection.execute(_BATCHES).scalars()), self._groups(connection)
        return {"count": count, "cases": cases, "today": today, "batches": batches, "groups": groups}

    def _group_of(self, connection: sa.Connection) -> Any:
        assert self.rules.by is not None
        if connection.dialect.name == "sqlite":
            return sa.cast(sa.func.json_extract(_p.kept, f"$.{json.dumps(self.rules.by)}"), sa.Text)
        return sa.func.json_extract_path_text(sa.cast(_p.kept, sa.JSON), self.rules.by)

    def _groups(self, connection: sa.Connection) -> list[str]:
        if self.rules.by is None:
            return []
        value = self._group_of(connection)
        asked = sa.select(value).join(open_cases, _o.case_number == _p.case_number)
        found = connection.execute(asked.where(value.is_not(None)).distinct().order_by(value).limit(LISTED))
        return [str(value) for (value,) in found]

    # ---- one case ----

    def next_case(self, person: Person, wanted: Wanted = ANY) -> int | None:
        """Claim the next case for a person; return its number, or None if none is open."""
        self.take_in()
        with self.record.noting() as connection:
            for found in self._in_order(connection, person, wanted, 1, is_taken=True):
                self._claim(connection, found["case_number"], person)
                return int(found["case_number"])
        return None

    def claim(self, number: int, person: Person) -> None:
        """Claim one case for a person, or raise `TakenError`."""
        with self.record.noting() as connection:
            self._claim(connection, number, person)

    def _claim(self, connection: sa.Connection, number: int, person: Person) -> None:
        if not connection.execute(_CLAIM, {**_of(person), "number": number, **self._held_by(person)}).rowcount:
            raise TakenError(_TAKEN)

    def _held_by(self, person: Person) -> dict[str, str]:
        return {"claimed_by": person.name, "claimed_until": now(60.0 * self.rules.hold_minutes)}

    def give_back(self, number: int, person: Person, *, to: str | None = None, due: str | None = None) -> None:
        """Return a claimed case to the queue, or pass it to a colleague, optionally with a due date."""
        if to is not None and to not in {other.name for other in self.desk.people() if other.role == person.role}:
            raise ValueError(f"nobody who decides cases here is called {to!r}")
        if due is not None:
            try:
                due = date.fromisoformat(due).isoformat()
            except ValueError:
                raise ValueError(f"the due day must be written as 2026-12-24, got {due!r}") from None
        mine = sa.and_(_o.case_number == number, _o.claimed_by == person.name)
        with self.record.writing() as connection:
            # Who has answered it cannot take it; nobody is told, since second reviews are blind.
            can_take = sa.select(_o.case_number).where(_o.case_number == number, _NOT_ANSWERED)
            if to is not None and connection.execute(can_take, {"me": to}).first() is None:
                to = None
            until = None if to is None else now(7 * 86_400.0)
            values = {"claimed_by": to, "claimed_until": until} | ({} if due is None else {"due": due})
            if not connection.execute(sa.update(open_cases).where(mine).values(**values)).rowcount:
                raise TakenError("this case is not with you")

    def show(self, number: int, person: Person) -> dict[str, Any]:
        """Return what a person may see of a case that they hold or have answered.

        Before they answer, they see the id and the kept columns; afterwards also the machine's answer.
        """
        if not self.rules.keeps_looks:
            with self.record.reading() as connection:
                return self._read(connection, number, person)[0]
        with self.record.noting() as connection:
            shown, _ = self._read(connection, number, person)
            look = {"case_number": number, "name": person.name, "saw_machine": int("machine" in shown), "time": now()}
            connection.execute(_LOOK, look)
        return shown

    def _read(self, connection: sa.Connection, number: int, person: Person) -> tuple[dict[str, Any], sa.RowMapping]:
        """Return what a person may see of a case, and the recorded decision on it."""
        row = connection.execute(_CASE, {"number": number}).mappings().first()
        if row is None:
            raise TakenError("there is no such case for review")
        # All of this person's answers, including replaced ones; "cannot decide" does not count.
        answers = connection.execute(_ANSWERS, {"number": number, "me": person.name})
        given = [dict(answer) for answer in answers.mappings()]
        if row["claimed_by"] != person.name and not given:
            raise TakenError(_TAKEN)
        standing = [answer for answer in given if answer.pop("stands")]
        names = {"number": "number", "id": "id", "batch": "name", "decided_at": "time", "due": "due"}
        shown = {
            **{name: row[own] for name, own in names.items()},
            "kept": json.loads(row["kept"]) if row["kept"] else {},
            "classes": [str(label) for label in json.loads(row["classes"])],
            "answer": standing[-1] if standing else None,
        }
        # Once a person has answered, what the machine says has been seen, whatever they do afterwards.
        if given or self.rules.shows_machine:
            told = ("prediction", "score", "selection_score", "lower", "upper", "reason")
            near = {"number": number, "score": row["selection_score"]}
            similar = connection.execute(_SIMILAR, near).mappings() if given and near["score"] is not None else ()
            shown["machine"] = {name: row[name] for name in told} | {"similar": [dict(each) for each in similar]}
            shown["machine"]["contributions"] = json.loads(row["contributions"] or "[]")
        return shown, row

    def answer(self, number: int, person: Person, given: Mapping[str, Any]) -> bool:
        """Record a person's answer to a case that they hold; return whether it is their last word.

        People give their first answer before they see the machine's answer, unless the rules show it earlier. An answer
        given afterwards `replaces` the first one, by its number; both stay in the record. An answer that is sent twice
        counts once.
        """
        replaces, code, probability = (given.get(name) for name in ("replaces", "reason_code", "probability"))
        if not given.get("answer"):
            raise ValueError("choose an answer")
        if code and code not in self.desk.reasons():
            raise ValueError(f"{code!r} is not on the list of reasons")
        if probability is not None and not 0.0 <= probability <= 1.0:
            raise ValueError(f"the probability must be a number from 0 to 1, got {probability:g}")
        with self.record.appending() as appending:
            connection = appending.connection
            connection.execute(_HOLD, {"number": number})
            shown, decision = self._read(connection, number, person)
            before = shown["answer"]
            if replaces != (before and before["number"]):
                if before is not None and before["answer"] == given["answer"]:
                    return replaces is not None
                raise TakenError("your answer to this case was changed on another page; open it again")
            if before is None:
                self._claim(connection, number, person)
            row = {name: given.get(name) for name in ("answer", "reason_code", "probability", "note", "replaces")}
            row["saw_machine"] = int("machine" in shown)
            self._append(appending, decision, person, row)
            is_open = given["answer"] in tables.OPEN_ANSWERS
            is_override = not is_open and decision["prediction"] not in {None, given["answer"]}
            needed = 1 + (is_override and self.rules.is_large(shown["kept"]))
            is_mine = before is None or decision["claimed_by"] == person.name
            self._settle(connection, decision, needed, _FREE if is_mine else {}, to_the_end=is_open)
        return bool(row["saw_machine"]) or is_open

    @staticmethod
    def _append(appending: Appending, decision: sa.RowMapping, person: Person, row: dict[str, Any]) -> None:
        # With a time of its own an answer is another one than an equal one before it, which was undone.
        row |= {"id": decision["id"], "batch": decision["name"], "reviewer": person.name, "time": appending.time}
        try:
            add_reviews(appending, [row], None, skip_faulty=False)
        except ValueError as error:
            raise ValueError(str(error).rpartition("'): ")[2]) from None
        appending.flush()

    @staticmethod
    def _settle(
        connection: sa.Connection, decision: sa.RowMapping, needed: int, claim: Mapping[str, Any], *, to_the_end: bool
    ) -> None:
        """Close a case that has enough answers; otherwise keep it in the queue, or put it back there."""
        number = decision["number"]
        found, n_answers = connection.execute(_STANDING, {"number": number}).one()
        needed = max(needed, found or 1)
        if n_answers >= needed:
            connection.execute(_CLOSE, {"number": number})
            return
        values: dict[str, Any] = {"needed": needed, **claim}
        if to_the_end or found is None:
            last = connection.execute(sa.select(sa.func.max(_o.place))).scalar()
            values["place"] = decision["batch"] + 1.0 if last is None else last + 1.0
        if found is None:
            connection.execute(sa.insert(open_cases).values(case_number=number, batch=decision["batch"], **values))
        else:
            connection.execute(sa.update(open_cases).where(_o.case_number == number).values(**values))

    def mine(self, person: Person, page: int = 0) -> list[dict[str, Any]]:
        """Return the answers of a person on one page, where page 0 has the latest."""
        asked = (
            sa.select(_r.number, _r.case_number, _r.answer, _r.reason_code, _r.time, _r.saw_machine, _p.id)
            .outerjoin(tables.personal, _p.case_number == _r.case_number)
            .where(_r.reviewer == person.name, _STANDS)
            .order_by(_r.number.desc())
        )
        return self._listed(asked, page)

    def audits(self, page: int = 0) -> list[dict[str, Any]]:
        """Return the automatic cases drawn for an audit on one page, the latest first."""
        names = ("id", "batch", "decided_at", "audit_probability", "prediction", "answer", "outcome")
        cases = sa.table("cases", *map(sa.column, (*names, "why", "case_number")))
        asked = sa.select(*(cases.c[name] for name in names)).where(cases.c.why == tables.AUDIT)
        return self._listed(asked.order_by(cases.c.case_number.desc()), page)

    def _listed(self, asked: sa.Select[Any], page: int) -> list[dict[str, Any]]:
        with self.record.reading() as connection:
            found = connection.execute(asked.limit(LISTED).offset(LISTED * page))
            return [dict(row) for row in found.mappings()]

    def undo(self, review: int, person: Person) -> int:
        """Replace an answer by the event "cannot decide", which opens its case again; return the case's number."""
        asked = sa.select(_r.case_number).where(_r.number == review, _r.reviewer == person.name, _IS_ANSWER)
        with self.record.appending() as appending:
            connection = appending.connection
            number = connection.execute(asked).scalar()
            if number is None:
                raise TakenError("this answer is not yours, or was replaced before")
            connection.execute(_HOLD, {"number": number})
            _, decision = self._read(connection, number, person)
            row = {"answer": tables.OPEN_ANSWERS[0], "replaces": review, "reason_code": UNDONE, "saw_machine": 1}
            self._append(appending, decision, person, row)
            n_others = connection.execute(sa.select(_n_answers(number))).scalar_one()
            # It opens with this person, unless somebody is at its second review.
            claim = {} if decision["claimed_by"] else self._held_by(person)
            self._settle(connection, decision, n_others + 1, claim, to_the_end=False)
        return int(number)


def _worth(row: Any) -> tuple[float, float]:
    """Return the position of a case in its batch: by rank or, without ranks, from the middle of the band outwards."""
    if row.rank is not None:
        return (0.0, float(row.rank))
    if row.selection_score is None or row.lower is None or row.upper is None:
        return (2.0, float(row.number))
    return (1.0, -min(row.selection_score - row.lower, row.upper - row.selection_score))
