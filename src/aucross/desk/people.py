"""People with personal links, their roles and sessions, and the tables of the desk beside the record.

There are no passwords. A link holds a random token; the database has its hash only. Links expire and can be revoked.
Unlike the tables of the record, the desk's tables are changed in place; the record does not need them.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import sqlalchemy as sa

from aucross.record import Record
from aucross.record.canonical import now
from aucross.record.record_tables import table_of

REVIEWER, VALIDATOR = ROLES = ("reviewer", "validator")
_LONGEST_NAME = 100
# The reason of an answer that was taken back.
UNDONE = "undone"

metadata = sa.MetaData()
people = table_of("desk_people", "name text, role text, token_hash bytes? unique, expires text", metadata)
sessions = table_of("desk_sessions", "token_hash bytes, name text, expires text", metadata)
# Batches whose cases were put into the order of work.
known_batches = table_of("desk_batches", "batch number", metadata)
# Open cases in the order of work, with the people who must answer each; a case leaves when it needs no further answer.
open_cases = table_of(
    "desk_open",
    """case_number number, batch number index, place double index, needed small index, claimed_by text? index,
    claimed_until text?, due text?""",
    metadata,
)
sa.Index("ix_desk_open_due_place", open_cases.c.due, open_cases.c.place)
# Each look at a case.
_LOOK = "number number autoincrement, case_number number index, saw_machine small, name text, time text"
looks = table_of("desk_looks", _LOOK, metadata)
# Reason codes that the team may give; the last line of a code says whether it is in use.
_CODE = "number number autoincrement, code text, is_used small, name text, time text"
reason_codes = table_of("desk_reason_codes", _CODE, metadata)


# Statements are built once: to build one takes longer than to run it.
_key: sa.BindParameter[Any] = sa.bindparam("key")
_now = sa.bindparam("now", type_=sa.Text)
_PEOPLE = sa.select(people.c.name, people.c.role).where(people.c.token_hash.is_not(None))
_BY_LINK = _PEOPLE.where(people.c.token_hash == _key, people.c.expires > _now)
_BY_SESSION = _PEOPLE.join(sessions, sessions.c.name == people.c.name)
_BY_SESSION = _BY_SESSION.where(sessions.c.token_hash == _key, sessions.c.expires > _now)
_BY_NAME = _PEOPLE.where(people.c.name == _key)
_EVERYBODY = _PEOPLE.where(people.c.expires > _now).order_by(people.c.name)
_LAST_CHANGES = sa.select(sa.func.max(reason_codes.c.number)).group_by(reason_codes.c.code)
_REASONS = sa.select(reason_codes.c.code).where(reason_codes.c.number.in_(_LAST_CHANGES), reason_codes.c.is_used == 1)
_REASONS = _REASONS.order_by(reason_codes.c.code)


@dataclass(frozen=True)
class Person:
    """Somebody who works at the desk.

    Attributes
    ----------
    name : str
        Name of the person in reviews.
    role : {"reviewer", "validator"}
        A reviewer decides cases; a validator sees numbers and decides nothing.
    """

    name: str
    role: str


def hashed(token: str) -> bytes:
    """Return the hash of a token, which the database stores."""
    return sha256(token.encode()).digest()


def form_token(session: str) -> str:
    """Return the token that the forms of a session carry; other sites cannot know it."""
    return hmac.new(session.encode(), b"form", sha256).hexdigest()


def _person(connection: sa.Connection, asked: sa.Select[Any], **values: Any) -> Person | None:
    row = connection.execute(asked, values).first()
    return None if row is None else Person(*row)


class Desk:
    """People, sessions and reason codes beside a record.

    Parameters
    ----------
    record : Record
        The record whose cases are decided.
    link_days : float, default=30
        Days until a personal link expires.
    session_hours : float, default=12
        Hours until a session ends.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from aucross.desk import Desk
    >>> from aucross.record import Record
    >>> with tempfile.TemporaryDirectory() as folder, Record.open(Path(folder) / "cases.db") as record:
    ...     desk = Desk(record)
    ...     token = desk.add_person("Ann", "reviewer")
    ...     print(desk.people())
    [Person(name='Ann', role='reviewer')]
    """

    def __init__(self, record: Record, *, link_days: float = 30.0, session_hours: float = 12.0) -> None:
        self.record = record
        self.link_seconds = 86_400.0 * link_days
        self.session_seconds = 3_600.0 * session_hours
        with record.writing() as connection:
            metadata.create_all(connection)

    # ---- people ----

    def add_person(self, name: str, role: str) -> str:
        """Add a person, or give a person a new link; return the link's token, which is not stored.

        Parameters
        ----------
        name : str
            Name of the person in reviews.
        role : {"reviewer", "validator"}
            Role, which decides what the person may do.

        Returns
        -------
        str
            The token; earlier links and sessions of the person end.
        """
        if role not in ROLES:
            raise ValueError(f"role must be 'reviewer' or 'validator', got {role!r}")
        if not name.strip() or len(name) > _LONGEST_NAME or not name.isprintable():
            raise ValueError(f"name must be printable and have 1 to {_LONGEST_NAME} characters, got {name[:40]!r}")
        token = secrets.token_urlsafe(32)
        row = {"role": role, "token_hash": hashed(token), "expires": now(self.link_seconds)}
        with self.record.writing() as connection:
            self._end(connection, name)
            if not connection.execute(sa.update(people).where(people.c.name == name).values(**row)).rowcount:
                connection.execute(sa.insert(people).values(name=name, **row))
        return token

    def revoke(self, name: str) -> None:
        """End the link and all sessions of a person, and give their claimed cases back."""
        with self.record.writing() as connection:
            self._end(connection, name)
            changed = connection.execute(sa.update(people).where(people.c.name == name).values(token_hash=None))
            if not changed.rowcount:
                raise ValueError(f"nobody at this desk is called {name!r}")

    @staticmethod
    def _end(connection: sa.Connection, name: str) -> None:
        connection.execute(sa.delete(sessions).where(sessions.c.name == name))
        released = {"claimed_by": None, "claimed_until": None}
        connection.execute(sa.update(open_cases).where(open_cases.c.claimed_by == name).values(**released))

    def people(self) -> list[Person]:
        """Return everybody whose link is valid."""
        return self.team()[0]

    def team(self) -> tuple[list[Person], list[str]]:
        """Return everybody whose link is valid, and the reason codes in use."""
        with self.record.reading() as connection:
            everybody = [Person(*row) for row in connection.execute(_EVERYBODY, {"now": now()})]
            return everybody, list(connection.execute(_REASONS).scalars())

    # ---- who asks ----

    def enter(self, token: str) -> str | None:
        """Start a session for a link and return its token, or None if the link is not valid."""
        session = secrets.token_urlsafe(32)
        with self.record.writing() as connection:
            person = _person(connection, _BY_LINK, key=hashed(token), now=now())
            if person is None:
                return None
            connection.execute(sa.delete(sessions).where(sessions.c.expires <= now()))
            row = {"token_hash": hashed(session), "name": person.name, "expires": now(self.session_seconds)}
            connection.execute(sa.insert(sessions).values(**row))
        return session

    def leave(self, session: str) -> None:
        """End a session."""
        with self.record.writing() as connection:
            connection.execute(sa.delete(sessions).where(sessions.c.token_hash == hashed(session)))

    def holder(self, token: str) -> Person | None:
        """Return the person whose link has this token; None if the token is wrong, expired or revoked."""
        with self.record.reading() as connection:
            return _person(connection, _BY_LINK, key=hashed(token), now=now())

    def session_of(self, session: str) -> Person | None:
        """Return the person of a session; None if the session is unknown or over, or the link was revoked."""
        with self.record.reading() as connection:
            return _person(connection, _BY_SESSION, key=hashed(session), now=now())

    def named(self, name: str) -> Person | None:
        """Return the person whom a proxy names; None if the name is unknown."""
        with self.record.reading() as connection:
            return _person(connection, _BY_NAME, key=name)

    # ---- reason codes ----

    def reasons(self) -> list[str]:
        """Return the reason codes in use."""
        return self.team()[1]

    def set_reason(self, code: str, *, is_used: bool, person: Person) -> None:
        """Add or remove a reason code; the database keeps who did it and when."""
        code = code.strip()
        if is_used and code == UNDONE:
            raise ValueError(f"{UNDONE!r} is what the desk itself gives as a reason where an answer is taken back")
        if not code or len(code) > _LONGEST_NAME or not code.isprintable():
            raise ValueError(f"a reason code must be printable and have 1 to {_LONGEST_NAME} characters")
        row: Mapping[str, Any] = {"code": code, "is_used": int(is_used), "name": person.name, "time": now()}
        with self.record.writing() as connection:
            connection.execute(sa.insert(reason_codes).values(**row))
