"""Tables of the record, triggers that forbid changes to them, and the view with one row for each case.

::

    transactions   number, hash of its events, hash before it        one writer at a time appends one
    batches        what decided, and how                             events: appended, never changed
    decisions      one row a case (and one for a shadow model)
    reviews, outcomes, erasures, told, approvals
    personal       id, kept columns and salt of a case               the side tables: the only rows that can be removed
    notes          text that a reviewer wrote

Each event has a number. Over all tables, the numbers are 1, 2, 3, ... without a gap; a case has the number of its
decision, and the decisions of a batch follow the batch. Hashes, view, exports and Arrow types are derived from the
columns declared here.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Dialect,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    func,
    inspect,
    select,
    text,
)

from aucross.estimators.decisions import AUTOMATIC, REVIEW
from aucross.record.database import RecordError

# Raise it with a change of tables that were released, and make `upgrade` lead there from the version before.
VERSION = 6

# Answers of a reviewer that leave the case open.
OPEN_ANSWERS = CANNOT_DECIDE, NEEDS_DOCUMENTS = "cannot decide", "needs documents"

# Why a case goes to a person.
BAND, CAPACITY, AUDIT, SEEDED, NO_SCORE, UNFAMILIAR = "band", "capacity", "audit", "seeded", "no score", "unfamiliar"
STRIP = "strip"  # or, at an edge of the band, to the machine

metadata = MetaData()
# SQLite gives the row number itself only to a column of this very type.
_TYPES: dict[str, Any] = {"number": BigInteger().with_variant(Integer, "sqlite"), "double": Float(53)}
_TYPES |= {"text": Text(), "bytes": LargeBinary(), "small": Integer()}


def table_of(name: str, described: str, beside: MetaData = metadata) -> Table:
    """Make a table; `described` lists name, type (``?`` if values may be missing) and index of each column, key first.

    A key with ``autoincrement`` gets its numbers from the database.
    """
    columns: list[Column[Any]] = []
    for each in described.split(","):
        column, kind, *index = each.split()
        made: dict[str, Any] = {"primary_key": not columns, "autoincrement": False, "nullable": kind.endswith("?")}
        made |= dict.fromkeys(index, True)
        columns.append(Column(column, _TYPES[kind.rstrip("?")], **made))
    return Table(name, beside, *columns)


def _event_table(name: str, described: str) -> Table:
    return table_of(name, f"number number, {described}, digest bytes")


about = table_of("about", "version number, record_id text, time text")
transactions = table_of(
    "transactions",
    "number number, first_event number, n_events number, time text, previous_hash bytes unique, hash bytes unique",
)
batches = _event_table(
    "batches",
    """name text unique, time text, method text?, model_fingerprint text, rule_fingerprint text, classes text,
    features text?, kept text?, coverage double?, capacity number?, n_rows number, n_scored number,
    n_would_be_automatic number, shadow_of number?""",
)
# The level is the one that a keeper of the coverage asked for.
decisions = _event_table(
    "decisions",
    """batch number, shadow_of number?, prediction text?, score double?, selection_score double?, lower double?,
    upper double?, rank number?, would_be text, decision text, why text?, audit_probability double?,
    strip_probability double?, personal_commitment bytes?, inputs_commitment bytes?, level double?""",
)
reviews = _event_table(
    "reviews",
    """case_number number index, reviewer text, answer text, reason_code text?, probability double?,
    saw_machine number?, time text, replaces number?, note_commitment bytes?""",
)
outcomes = _event_table(
    "outcomes", "case_number number index, outcome text, known_at text, time text, replaces number?"
)
erasures = _event_table("erasures", "case_number number unique, why text, time text")
# Reviews up to which another program was told of final decisions.
told = _event_table("told", "who text, review number, time text")
# Of both side tables the first column names an event, the last is the salt, and the event commits to those between.
# A reason names values of the case; contributions are of columns to it, in JSON.
personal = table_of(
    "personal", "case_number number, batch number, id text, kept text?, reason text?, contributions text?, salt bytes"
)
# An ordinary index of PostgreSQL takes no id of more than 2,700 bytes.
Index("ix_personal_id", personal.c.id, postgresql_using="hash")
notes = table_of("notes", "review number, case_number number index, note text, salt bytes")

# Who allowed a change, such as a wider coverage.
approvals = _event_table("approvals", "who text, what text, time text")

EVENTS = (batches, decisions, reviews, outcomes, erasures, told, approvals)
SIDE_TABLES = (personal, notes)
APPENDED = (about, transactions, *EVENTS)


# ---- the view ----


# Whether a review decides the case.
IS_ANSWER = f"answer NOT IN ('{CANNOT_DECIDE}', '{NEEDS_DOCUMENTS}')"
# Columns of the view: of a batch (b), a decision (d), a person (p), the last review (l) and outcomes (o), and derived.
_COLUMNS = f"""b.name AS batch; p.id; d.number AS case_number; b.time AS decided_at; d.decision; d.why; d.would_be;
d.prediction; d.score; d.selection_score; d.lower; d.upper; d.level; b.coverage; b.capacity; d.rank;
p.reason; p.contributions; d.audit_probability; d.strip_probability; b.model_fingerprint; b.rule_fingerprint; p.kept;
coalesce(r.n_reviews, 0) AS n_reviews; l.number AS review_number; l.reviewer; l.answer; l.reason_code;
l.probability AS review_probability; l.time AS reviewed_at;
CASE WHEN r.n_answers > 1 THEN 1 ELSE 0 END AS reviews_differ;
CASE WHEN a.answer IS NULL OR d.prediction IS NULL THEN NULL
  WHEN a.answer = d.prediction THEN 0 ELSE 1 END AS is_override;
coalesce(o.n_outcomes, 0) AS n_outcomes; CASE WHEN o.n_values = 1 THEN o.outcome END AS outcome;
o.known_at AS outcome_known_at; CASE WHEN o.n_values > 1 THEN 1 ELSE 0 END AS outcomes_contradict;
coalesce(a.answer, CASE WHEN d.decision = '{AUTOMATIC}' THEN d.prediction END) AS final_decision;
CASE WHEN a.answer IS NOT NULL THEN '{REVIEW}' WHEN d.decision = '{AUTOMATIC}' THEN '{AUTOMATIC}' END AS final_by;
CASE WHEN p.case_number IS NULL THEN 1 ELSE 0 END AS is_erased"""
_PARTS = [each.strip().rpartition(" AS ") for each in _COLUMNS.split(";")]
CASE_COLUMNS = {name.rpartition(".")[2]: origin or name for origin, _, name in _PARTS}
# Those that all cases of a batch share, with their names in its table.
BATCH_COLUMNS = {name: origin[2:] for name, origin in CASE_COLUMNS.items() if origin.startswith("b.")}
_TABLES = {"b": batches, "d": decisions, "p": personal, "l": reviews, "o": outcomes}


def _arrow_type(origin: str) -> Any:
    alias, _, column = origin.partition(".")
    if alias not in _TABLES:
        return pa.int64() if origin.endswith((" 0)", "0 END", "1 END")) else pa.string()
    kind = _TABLES[alias].c[column].type
    return pa.float64() if isinstance(kind, Float) else pa.int64() if isinstance(kind, Integer) else pa.string()


ARROW_TYPES = {name: _arrow_type(origin) for name, origin in CASE_COLUMNS.items()}
_EVERY_CASE = f"""SELECT {", ".join(f"{origin} AS {name}" for name, origin in CASE_COLUMNS.items())}
FROM decisions d JOIN batches b ON b.number = d.batch LEFT JOIN personal p ON p.case_number = d.number
LEFT JOIN (SELECT case_number, count(*) AS n_reviews, max(number) AS last,
    max(CASE WHEN {IS_ANSWER} THEN number END) AS last_answer,
    count(DISTINCT CASE WHEN {IS_ANSWER} THEN answer END) AS n_answers FROM reviews
    WHERE number NOT IN (SELECT replaces FROM reviews WHERE replaces IS NOT NULL) GROUP BY case_number
) r ON r.case_number = d.number
LEFT JOIN reviews l ON l.number = r.last LEFT JOIN reviews a ON a.number = r.last_answer
LEFT JOIN (SELECT case_number, count(*) AS n_outcomes, count(DISTINCT outcome) AS n_values, min(outcome) AS outcome,
    min(known_at) AS known_at FROM outcomes
    WHERE number NOT IN (SELECT replaces FROM outcomes WHERE replaces IS NOT NULL) GROUP BY case_number
) o ON o.case_number = d.number
WHERE d.shadow_of IS NULL"""
# In place of the view, for those who review: with seeded cases, which enter no figure and no export.
EVERY_CASE = f"({_EVERY_CASE}) every_case"


# ---- what is made in a database besides tables ----

_SAID = "the record is append-only: nothing of it is changed or removed"
_REFUSE = f" BEGIN RAISE EXCEPTION '{_SAID}'; END "


def guards(dialect: Dialect) -> dict[str, str]:
    """Return the statements that create the view and the triggers that refuse changes, by name."""
    made = {"cases": f"CREATE VIEW cases AS {_EVERY_CASE} AND (d.why IS NULL OR d.why <> '{SEEDED}')"}
    if dialect.name == "postgresql":
        function = "CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS"
        made["refuse_change"] = f"{function} $${_REFUSE}$$"
        for table in APPENDED:
            made[f"{table.name}_stays"] = (
                f"CREATE TRIGGER {table.name}_stays BEFORE UPDATE OR DELETE OR TRUNCATE ON {table.name} "
                "FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()"
            )
        return made
    for table in APPENDED:
        key, refused = next(iter(table.primary_key)).name, f"BEGIN SELECT RAISE(ABORT, '{_SAID}'); END"
        # INSERT OR REPLACE deletes without asking the trigger of deletions, unless recursive triggers are on.
        unique = [column.name for column in table.columns if column.unique]
        there = [f"NEW.{key} <= (SELECT max({key}) FROM {table.name})"]
        there += [f"EXISTS (SELECT 1 FROM {table.name} WHERE {name} = NEW.{name})" for name in unique]
        for change, when in {"UPDATE": "", "DELETE": "", "INSERT": f"WHEN {' OR '.join(there)} "}.items():
            name = f"{table.name}_{change.lower()}"
            made[name] = f"CREATE TRIGGER {name} BEFORE {change} ON {table.name} {when}{refused}"
    return made


def changed_guards(connection: Connection) -> list[str]:
    """Return the names of triggers and views that were removed, added or changed."""
    made = guards(connection.dialect)
    if connection.dialect.name == "sqlite":
        query = "SELECT name, sql FROM sqlite_master WHERE type IN ('trigger', 'view')"
        found = {row.name: row.sql for row in connection.execute(text(query))}
        return sorted(name for name in {*made, *found} if made.get(name) != found.get(name))
    # PostgreSQL keeps what it understood. 58: before update, delete or truncate, once a statement.
    query = """SELECT t.tgname, t.tgtype = 58 AND t.tgqual IS NULL AND t.tgenabled IN ('O', 'A') AND p.prosrc = :body
        AND p.proname = 'refuse_change' AND t.tgname = c.relname || '_stays' AS is_whole
        FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_proc p ON p.oid = t.tgfoid
        WHERE NOT t.tgisinternal
        AND c.relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = CAST('about' AS regclass))"""
    whole = {row.tgname: row.is_whole for row in connection.execute(text(query), {"body": _REFUSE})}
    triggers = {name for name in made if name.endswith("_stays")}
    changed = [name for name in {*triggers, *whole} if name not in triggers or not whole.get(name)]
    with connection.begin_nested() as trial:
        connection.execute(text(made["cases"].replace("VIEW cases", "TEMPORARY VIEW as_made", 1)))
        definitions = "SELECT pg_get_viewdef(to_regclass('cases')), pg_get_viewdef(to_regclass('as_made'))"
        there, expected = connection.execute(text(definitions)).one()
        trial.rollback()
    return sorted(changed + ["cases"] * (there != expected))


def create_tables(connection: Connection) -> None:
    """Make all tables, the view, and the triggers that refuse changes, in an empty database."""
    metadata.create_all(connection)
    for statement in guards(connection.dialect).values():
        connection.exec_driver_sql(statement)


def version_of(connection: Connection) -> int | None:
    """Return the version of the tables in a database; None if there are none."""
    if not inspect(connection).has_table(about.name):
        return None
    return connection.execute(select(func.max(about.c.version))).scalar()


def upgrade(connection: Connection, time: str) -> None:
    """Upgrade tables of the previous version, in which decisions had columns for reasons that cannot be erased."""
    used = "SELECT count(*) FROM decisions WHERE reason IS NOT NULL OR contributions IS NOT NULL"
    if n_used := connection.execute(text(used)).scalar():
        raise RecordError(
            f"{n_used:,} decisions were written by version 4, whose reasons cannot be erased; keep this record as it "
            "is, and begin another"
        )
    connection.execute(text("DROP VIEW cases"))
    for column in ("reason", "contributions"):
        connection.execute(text(f"ALTER TABLE decisions DROP COLUMN {column}"))
    connection.exec_driver_sql(guards(connection.dialect)["cases"])
    record_id = connection.execute(select(about.c.record_id).limit(1)).scalar()
    connection.execute(about.insert(), {"version": VERSION, "record_id": record_id, "time": time})
