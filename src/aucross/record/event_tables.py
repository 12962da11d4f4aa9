"""Tables of the record, triggers that forbid changes to them, and the view with one row for each case.

::

    transactions   number, hash of its events, hash before it        one writer at a time appends one
    batches        what decided, and how                             events: appended, never changed
    decisions      one row a case (and one for a shadow model)
    reviews, outcomes, erasures
    personal       id, kept columns and salt of a case               the side tables: the only rows that can be removed
    notes          text that a reviewer wrote

Each event has a number. The numbers of all tables together are 1, 2, 3, ... without a gap; a case is known by the
number of its decision.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    inspect,
    select,
    text,
)

from aucross.estimators.decisions import AUTOMATIC
from aucross.system.libraries import import_library

# Raise it with every change of the tables, and add to UPGRADES what makes one of the version before.
VERSION = 2

# Answers of a reviewer that leave the case open.
CANNOT_DECIDE, NEEDS_DOCUMENTS = "cannot decide", "needs documents"
OPEN_ANSWERS = (CANNOT_DECIDE, NEEDS_DOCUMENTS)

# Why a case goes to a person.
BAND, CAPACITY, AUDIT, NO_SCORE, UNFAMILIAR = "band", "capacity", "audit", "no score", "unfamiliar"
WHYS = (BAND, CAPACITY, AUDIT, NO_SCORE, UNFAMILIAR)

metadata = MetaData()
# SQLite gives the row number itself only to a column of this very type.
_NUMBER = BigInteger().with_variant(Integer, "sqlite")
_DOUBLE = Float(53)


def _number(name: str, **options: Any) -> Column[int]:
    return Column(name, _NUMBER, **options)


def _event_table(name: str, *columns: Column[Any]) -> Table:
    first = _number("number", primary_key=True, autoincrement=False)
    return Table(name, metadata, first, *columns, Column("digest", LargeBinary, nullable=False))


about = Table(
    "about",
    metadata,
    _number("version", primary_key=True, autoincrement=False),
    Column("record_id", Text, nullable=False),
    Column("time", Text, nullable=False),
)

transactions = Table(
    "transactions",
    metadata,
    _number("number", primary_key=True, autoincrement=False),
    _number("first_event", nullable=False),
    _number("n_events", nullable=False),
    Column("time", Text, nullable=False),
    Column("previous_hash", LargeBinary, nullable=False, unique=True),
    Column("hash", LargeBinary, nullable=False, unique=True),
)

batches = _event_table(
    "batches",
    Column("name", Text, nullable=False, unique=True),
    Column("time", Text, nullable=False),
    Column("method", Text),
    Column("model_fingerprint", Text, nullable=False),
    Column("rule_fingerprint", Text, nullable=False),
    Column("classes", Text, nullable=False),
    Column("features", Text),
    Column("kept", Text),
    Column("coverage", _DOUBLE),
    _number("capacity"),
    _number("n_rows", nullable=False),
    _number("n_scored", nullable=False),
    _number("n_would_be_automatic", nullable=False),
    _number("shadow_of"),
    # The level that a keeper of the coverage had asked for.
    Column("level", _DOUBLE, info={"since": 2}),
)

decisions = _event_table(
    "decisions",
    _number("batch", nullable=False),
    _number("shadow_of"),
    Column("prediction", Text),
    Column("score", _DOUBLE),
    Column("selection_score", _DOUBLE),
    Column("lower", _DOUBLE),
    Column("upper", _DOUBLE),
    _number("rank"),
    Column("reason", Text),
    Column("would_be", Text, nullable=False),
    Column("decision", Text, nullable=False),
    Column("why", Text),
    Column("audit_probability", _DOUBLE),
    Column("strip_probability", _DOUBLE),
    Column("personal_commitment", LargeBinary),
    Column("inputs_commitment", LargeBinary),
)

reviews = _event_table(
    "reviews",
    _number("case_number", nullable=False, index=True),
    Column("reviewer", Text, nullable=False),
    Column("answer", Text, nullable=False),
    Column("reason_code", Text),
    Column("probability", _DOUBLE),
    _number("saw_machine"),
    Column("time", Text, nullable=False),
    _number("replaces"),
    Column("note_commitment", LargeBinary),
)

outcomes = _event_table(
    "outcomes",
    _number("case_number", nullable=False, index=True),
    Column("outcome", Text, nullable=False),
    Column("known_at", Text, nullable=False),
    Column("time", Text, nullable=False),
    _number("replaces"),
)

erasures = _event_table(
    "erasures",
    _number("case_number", nullable=False, unique=True),
    Column("why", Text, nullable=False),
    Column("time", Text, nullable=False),
)

personal = Table(
    "personal",
    metadata,
    _number("case_number", primary_key=True, autoincrement=False),
    _number("batch", nullable=False),
    Column("id", Text, nullable=False),
    Column("kept", Text),
    Column("salt", LargeBinary, nullable=False),
)
# An ordinary index of PostgreSQL takes no id of more than 2,700 bytes.
Index("ix_personal_id", personal.c.id, postgresql_using="hash")

notes = Table(
    "notes",
    metadata,
    _number("review", primary_key=True, autoincrement=False),
    _number("case_number", nullable=False, index=True),
    Column("note", Text, nullable=False),
    Column("salt", LargeBinary, nullable=False),
)

EVENTS = (batches, decisions, reviews, outcomes, erasures)
SIDE_TABLES = (personal, notes)
APPENDED = (about, transactions, *EVENTS)

_OPEN = ", ".join(f"'{answer}'" for answer in OPEN_ANSWERS)

# Columns of the view in their order: where each comes from.
CASE_COLUMNS: dict[str, str] = {
    "batch": "b.name",
    "id": "p.id",
    "case_number": "d.number",
    "decided_at": "b.time",
    "decision": "d.decision",
    "why": "d.why",
    "would_be": "d.would_be",
    "prediction": "d.prediction",
    "score": "d.score",
    "selection_score": "d.selection_score",
    "lower": "d.lower",
    "upper": "d.upper",
    "coverage": "b.coverage",
    "capacity": "b.capacity",
    "rank": "d.rank",
    "reason": "d.reason",
    "audit_probability": "d.audit_probability",
    "strip_probability": "d.strip_probability",
    "model_fingerprint": "b.model_fingerprint",
    "rule_fingerprint": "b.rule_fingerprint",
    "kept": "p.kept",
    "n_reviews": "coalesce(r.n_reviews, 0)",
    "review_number": "l.number",
    "reviewer": "l.reviewer",
    "answer": "l.answer",
    "reason_code": "l.reason_code",
    "review_probability": "l.probability",
    "reviewed_at": "l.time",
    "reviews_differ": "CASE WHEN r.n_answers > 1 THEN 1 ELSE 0 END",
    "is_override": "CASE WHEN a.answer IS NULL OR d.prediction IS NULL THEN NULL "
    "WHEN a.answer = d.prediction THEN 0 ELSE 1 END",
    "n_outcomes": "coalesce(o.n_outcomes, 0)",
    "outcome": "CASE WHEN o.n_values = 1 THEN o.outcome END",
    "outcome_known_at": "o.known_at",
    "outcomes_contradict": "CASE WHEN o.n_values > 1 THEN 1 ELSE 0 END",
    "final_decision": f"CASE WHEN a.answer IS NOT NULL THEN a.answer WHEN d.decision = '{AUTOMATIC}' "
    "THEN d.prediction END",
    "final_by": f"CASE WHEN a.answer IS NOT NULL THEN 'review' WHEN d.decision = '{AUTOMATIC}' THEN '{AUTOMATIC}' END",
    "is_erased": "CASE WHEN p.case_number IS NULL THEN 1 ELSE 0 END",
}

# Of these the ones that hold no text.
_WHOLE = (
    *("case_number", "capacity", "rank", "n_reviews", "review_number", "reviews_differ", "is_override", "n_outcomes"),
    *("outcomes_contradict", "is_erased"),
)
_FLOATS = (
    *("score", "selection_score", "lower", "upper", "coverage", "audit_probability", "strip_probability"),
    "review_probability",
)

# A review or an outcome that another one replaces no longer counts.
_CASES = f"""
CREATE VIEW cases AS
SELECT {", ".join(f"{source} AS {name}" for name, source in CASE_COLUMNS.items())}
FROM decisions d
JOIN batches b ON b.number = d.batch
LEFT JOIN personal p ON p.case_number = d.number
LEFT JOIN (
  SELECT case_number, count(*) AS n_reviews, max(number) AS last,
    max(CASE WHEN answer NOT IN ({_OPEN}) THEN number END) AS last_answer,
    count(DISTINCT CASE WHEN answer NOT IN ({_OPEN}) THEN answer END) AS n_answers
  FROM reviews WHERE number NOT IN (SELECT replaces FROM reviews WHERE replaces IS NOT NULL) GROUP BY case_number
) r ON r.case_number = d.number
LEFT JOIN reviews l ON l.number = r.last
LEFT JOIN reviews a ON a.number = r.last_answer
LEFT JOIN (
  SELECT case_number, count(*) AS n_outcomes, count(DISTINCT outcome) AS n_values, min(outcome) AS outcome,
    min(known_at) AS known_at
  FROM outcomes WHERE number NOT IN (SELECT replaces FROM outcomes WHERE replaces IS NOT NULL) GROUP BY case_number
) o ON o.case_number = d.number
WHERE d.shadow_of IS NULL
"""


def arrow_types() -> Mapping[str, Any]:
    """Return the Arrow type of each column of a case; text by default."""
    arrow = import_library("pyarrow", purpose="the record", extra="record")

    class Types(dict[str, Any]):
        def __missing__(self, name: str) -> Any:
            return arrow.string()

    return Types({**dict.fromkeys(_WHOLE, arrow.int64()), **dict.fromkeys(_FLOATS, arrow.float64())})


def create(connection: Connection) -> None:
    """Make all tables, the view, and the triggers that refuse changes, in an empty database."""
    metadata.create_all(connection)
    connection.execute(text(_CASES))
    for statement in triggers(connection.dialect.name).values():
        connection.execute(text(statement))


def triggers(dialect: str) -> dict[str, str]:
    """Return the statements that make the triggers of a database, by name of trigger or function."""
    said = "the record is append-only: nothing of it is changed or removed"
    made = {}
    if dialect == "postgresql":
        made["refuse_change()"] = (
            "CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN RAISE EXCEPTION '{said}'; END $$"
        )
        for table in APPENDED:
            made[f"{table.name}_stays"] = (
                f"CREATE TRIGGER {table.name}_stays BEFORE UPDATE OR DELETE OR TRUNCATE ON {table.name} "
                "FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()"
            )
        return made
    for table in APPENDED:
        for change in ("UPDATE", "DELETE"):
            name = f"{table.name}_{change.lower()}"
            made[name] = (
                f"CREATE TRIGGER {name} BEFORE {change} ON {table.name} BEGIN SELECT RAISE(ABORT, '{said}'); END"
            )
        # INSERT OR REPLACE deletes without asking the trigger above, unless recursive triggers are on.
        name, key = f"{table.name}_replace", next(iter(table.primary_key)).name
        there = [f"NEW.{key} <= (SELECT max({key}) FROM {table.name})"]
        there += [
            f"EXISTS (SELECT 1 FROM {table.name} WHERE {column.name} = NEW.{column.name})"
            for column in table.columns
            if column.unique
        ]
        made[name] = (
            f"CREATE TRIGGER {name} BEFORE INSERT ON {table.name} WHEN {' OR '.join(there)} "
            f"BEGIN SELECT RAISE(ABORT, '{said}'); END"
        )
    return made


def missing_guards(connection: Connection) -> list[str]:
    """Return the names of triggers, and of the view, that have been removed or made to say something else."""
    made = {name: said for name, said in triggers(connection.dialect.name).items() if not name.endswith("()")}
    if connection.dialect.name == "postgresql":
        query = "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal AND tgenabled NOT IN ('D', 'R')"
        there = set(connection.execute(text(query)).scalars())
        return [name for name in made if name not in there]
    query = "SELECT name, sql FROM sqlite_master WHERE type IN ('trigger', 'view')"
    found = {row.name: row.sql.split() for row in connection.execute(text(query))}
    return [name for name, said in {**made, "cases": _CASES}.items() if found.get(name) != said.split()]


def strange_value(connection: Connection) -> tuple[str, int] | None:
    """Return table and number of a row with a value that this package never writes; None if there is none.

    A digest does not tell a missing number from -1, a text from its bytes, or 5 from 5.5, and SQLite stores any of
    them in any column.
    """
    stored = {int: "integer", float: "real", str: "text", bytes: "blob"}
    is_sqlite = connection.dialect.name == "sqlite"
    for table in (*APPENDED, *SIDE_TABLES):
        key, tests = next(iter(table.primary_key)), []
        for column in table.columns:
            kind = column.type.python_type
            if is_sqlite:
                tests.append(f"typeof({column.name}) NOT IN ('{stored[kind]}', 'null')")
            if kind is int:
                tests.append(f"{column.name} < {1 if column is key else 0}")
            if kind is float and not is_sqlite:
                tests.append(f"{column.name} = 'NaN'")
        query = f"SELECT min({key.name}) FROM {table.name} WHERE {' OR '.join(tests)}"
        number = connection.execute(text(query)).scalar()
        if number is not None:
            return table.name, int(number)
    return None


# Rows of the side tables that belong to no event, or to an event that says otherwise.
_ASTRAY = {
    "the id of case {} belongs to no decision, or to another batch: it was inserted or edited": """
        SELECT min(p.case_number) FROM personal p LEFT JOIN decisions d ON d.number = p.case_number
        WHERE d.number IS NULL OR d.batch <> p.batch OR d.personal_commitment IS NULL""",
    "the id of case {} is there, although it was erased": """
        SELECT min(p.case_number) FROM personal p JOIN erasures e ON e.case_number = p.case_number""",
    "the note of review {} belongs to no review that has one, or to another case: it was inserted or edited": """
        SELECT min(n.review) FROM notes n LEFT JOIN reviews r ON r.number = n.review
        WHERE r.number IS NULL OR r.case_number <> n.case_number OR r.note_commitment IS NULL""",
    "the note of review {} is there, although its case was erased": """
        SELECT min(n.review) FROM notes n JOIN erasures e ON e.case_number = n.case_number""",
}


def side_row_astray(connection: Connection) -> str | None:
    """Return what is wrong with a row of a side table that no event accounts for; None if nothing is."""
    for sentence, query in _ASTRAY.items():
        number = connection.execute(text(query)).scalar()
        if number is not None:
            return sentence.format(number)
    return None


def version_of(connection: Connection) -> int | None:
    """Return the version of the tables in a database; None if there are none."""
    if not inspect(connection).has_table(about.name):
        return None
    return connection.execute(select(about.c.version).order_by(about.c.version.desc()).limit(1)).scalar()


def upgrade(connection: Connection, version: int, time: str) -> None:
    """Upgrade tables of an earlier version to this one; their events stay as they are."""
    record_id = connection.execute(select(about.c.record_id).limit(1)).scalar()
    connection.execute(text("DROP VIEW cases"))
    for later in range(version + 1, VERSION + 1):
        for statement in UPGRADES[later]:
            connection.execute(text(statement))
        connection.execute(about.insert(), {"version": later, "record_id": record_id, "time": time})
    connection.execute(text(_CASES))


# What makes tables of a version of those of the version before. A column that is added is part of the digest of an
# event only where it has a value, so that the digests of earlier events stay right.
UPGRADES: dict[int, tuple[str, ...]] = {2: ("ALTER TABLE batches ADD COLUMN level DOUBLE PRECISION",)}
