"""Tables of the record, triggers that forbid changes to them, and the view with one row for each case.

::

    transactions   number, hash of its events, hash before it        one writer at a time appends one
    batches        what decided, and how                             events: appended, never changed
    decisions      one row a case (and one for a shadow model)
    reviews, outcomes, erasures, told
    personal       id, kept columns and salt of a case               the side tables: the only rows that can be removed
    notes          text that a reviewer wrote

Each event has a number. The numbers of all tables together are 1, 2, 3, ... without a gap; a case is known by the
number of its decision, and the decisions of a batch follow it. Hashes, view, exports and Arrow types follow from the
columns that are declared here.
"""

from __future__ import annotations

from typing import Any

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
    case,
    func,
    inspect,
    or_,
    select,
    text,
)

from aucross.estimators.decisions import AUTOMATIC, REVIEW
from aucross.system.libraries import import_library

# Raise it with every change of the tables, and add to UPGRADES what makes one of the version before.
VERSION = 2

# Answers of a reviewer that leave the case open.
OPEN_ANSWERS = CANNOT_DECIDE, NEEDS_DOCUMENTS = "cannot decide", "needs documents"

# Why a case goes to a person.
BAND, CAPACITY, AUDIT, SEEDED, NO_SCORE, UNFAMILIAR = "band", "capacity", "audit", "seeded", "no score", "unfamiliar"

metadata = MetaData()
# SQLite gives the row number itself only to a column of this very type.
_NUMBER = BigInteger().with_variant(Integer, "sqlite")
_DOUBLE = Float(53)


def _number(name: str, **options: Any) -> Column[int]:
    return Column(name, _NUMBER, **options)


def _key(name: str) -> Column[int]:
    return _number(name, primary_key=True, autoincrement=False)


def _event_table(name: str, *columns: Column[Any]) -> Table:
    return Table(name, metadata, _key("number"), *columns, Column("digest", LargeBinary, nullable=False))


about = Table(
    "about",
    metadata,
    _key("version"),
    Column("record_id", Text, nullable=False),
    Column("time", Text, nullable=False),
)
transactions = Table(
    "transactions",
    metadata,
    _key("number"),
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
    Column("level", _DOUBLE),  # that a keeper of the coverage asked for
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
# Reviews up to which another program was told of final decisions.
told = _event_table(
    "told", Column("who", Text, nullable=False), _number("review", nullable=False), Column("time", Text, nullable=False)
)
# Of both side tables the first column names an event, the last is the salt, and the event commits to those between.
personal = Table(
    "personal",
    metadata,
    _key("case_number"),
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
    _key("review"),
    _number("case_number", nullable=False, index=True),
    Column("note", Text, nullable=False),
    Column("salt", LargeBinary, nullable=False),
)

EVENTS = (batches, decisions, reviews, outcomes, erasures, told)
SIDE_TABLES = (personal, notes)
APPENDED = (about, transactions, *EVENTS)


# ---- the view ----


def _standing(table: Table) -> Any:
    """Return the SQL condition that no other review or outcome replaces this one."""
    return table.c.number.not_in(select(table.c.replaces).where(table.c.replaces.is_not(None)))


_answers = reviews.c.answer.not_in(OPEN_ANSWERS)
_r = (
    select(
        reviews.c.case_number,
        func.count().label("n_reviews"),
        func.max(reviews.c.number).label("last"),
        func.max(case((_answers, reviews.c.number))).label("last_answer"),
        func.count(case((_answers, reviews.c.answer)).distinct()).label("n_answers"),
    )
    .where(_standing(reviews))
    .group_by(reviews.c.case_number)
    .subquery("r")
)
_o = (
    select(
        outcomes.c.case_number,
        func.count().label("n_outcomes"),
        func.count(outcomes.c.outcome.distinct()).label("n_values"),
        func.min(outcomes.c.outcome).label("outcome"),
        func.min(outcomes.c.known_at).label("known_at"),
    )
    .where(_standing(outcomes))
    .group_by(outcomes.c.case_number)
    .subquery("o")
)
_b, _d, _p, _l, _a = batches.c, decisions.c, personal.c, reviews.alias("l"), reviews.alias("a")
_is_automatic = _d.decision == AUTOMATIC
_EVERY_CASE = (
    select(
        _b.name.label("batch"),
        _p.id,
        _d.number.label("case_number"),
        _b.time.label("decided_at"),
        *(_d.decision, _d.why, _d.would_be, _d.prediction, _d.score, _d.selection_score, _d.lower, _d.upper, _d.level),
        *(_b.coverage, _b.capacity, _d.rank, _d.reason, _d.audit_probability, _d.strip_probability),
        *(_b.model_fingerprint, _b.rule_fingerprint),
        _p.kept,
        func.coalesce(_r.c.n_reviews, 0).label("n_reviews"),
        _l.c.number.label("review_number"),
        _l.c.reviewer,
        _l.c.answer,
        _l.c.reason_code,
        _l.c.probability.label("review_probability"),
        _l.c.time.label("reviewed_at"),
        case((_r.c.n_answers > 1, 1), else_=0).label("reviews_differ"),
        case(
            (or_(_a.c.answer.is_(None), _d.prediction.is_(None)), None), (_a.c.answer == _d.prediction, 0), else_=1
        ).label("is_override"),
        func.coalesce(_o.c.n_outcomes, 0).label("n_outcomes"),
        case((_o.c.n_values == 1, _o.c.outcome)).label("outcome"),
        _o.c.known_at.label("outcome_known_at"),
        case((_o.c.n_values > 1, 1), else_=0).label("outcomes_contradict"),
        case((_a.c.answer.is_not(None), _a.c.answer), (_is_automatic, _d.prediction)).label("final_decision"),
        case((_a.c.answer.is_not(None), REVIEW), (_is_automatic, AUTOMATIC)).label("final_by"),
        case((_p.case_number.is_(None), 1), else_=0).label("is_erased"),
    )
    .select_from(decisions)
    .join(batches, _b.number == _d.batch)
    .outerjoin(personal, _p.case_number == _d.number)
    .outerjoin(_r, _r.c.case_number == _d.number)
    .outerjoin(_l, _l.c.number == _r.c.last)
    .outerjoin(_a, _a.c.number == _r.c.last_answer)
    .outerjoin(_o, _o.c.case_number == _d.number)
    .where(_d.shadow_of.is_(None))
)
CASES = _EVERY_CASE.where(or_(_d.why.is_(None), _d.why != SEEDED))  # seeded cases enter no figure and no export
# The columns of the view with their types, and those that all cases of a batch share with their names in its table.
CASE_COLUMNS = {column.name: column.type for column in CASES.selected_columns}
BATCH_COLUMNS = {
    column.name: getattr(column, "element", column).name
    for column in CASES.selected_columns
    if getattr(getattr(column, "element", column), "table", None) is batches
}


def every_case(connection: Connection) -> str:
    """Return SQL to use in place of the view that includes seeded cases, for reviewers."""
    made = _EVERY_CASE.compile(dialect=connection.dialect, compile_kwargs={"literal_binds": True})
    return f"({made}) every_case"


# ---- what is made in a database besides tables ----

_SAID = "the record is append-only: nothing of it is changed or removed"
_REFUSE = f" BEGIN RAISE EXCEPTION '{_SAID}'; END "


def guards(dialect: Dialect) -> dict[str, str]:
    """Return the statements that make the view and the triggers which refuse changes, by name."""
    view = str(CASES.compile(dialect=dialect, compile_kwargs={"literal_binds": True}))
    made = {"cases": f"CREATE VIEW cases AS {view}"}
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
    """Return the names of triggers, and of the view, that were removed, added or changed."""
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


def create(connection: Connection) -> None:
    """Make all tables, the view, and the triggers that refuse changes, in an empty database."""
    metadata.create_all(connection)
    for statement in guards(connection.dialect).values():
        connection.exec_driver_sql(statement)


def version_of(connection: Connection) -> int | None:
    """Return the version of the tables in a database; None if there are none."""
    if not inspect(connection).has_table(about.name):
        return None
    return connection.execute(select(func.max(about.c.version))).scalar()


# What makes tables of a version of those of the version before, besides tables that are new.
UPGRADES: dict[int, tuple[str, ...]] = {2: ("ALTER TABLE decisions ADD COLUMN level DOUBLE PRECISION",)}


def upgrade(connection: Connection, version: int, time: str) -> None:
    """Upgrade tables of an earlier version to this one; their events stay as they are."""
    before = inspect(connection).get_table_names()
    record_id = connection.execute(select(about.c.record_id).limit(1)).scalar()
    connection.execute(text("DROP VIEW IF EXISTS cases"))
    for later in range(version + 1, VERSION + 1):
        for statement in UPGRADES[later]:
            connection.execute(text(statement))
        connection.execute(about.insert(), {"version": later, "record_id": record_id, "time": time})
    metadata.create_all(connection)
    for name, statement in guards(connection.dialect).items():
        if name.rpartition("_")[0] not in before:  # the view, and triggers of tables that are new
            connection.exec_driver_sql(statement)


def arrow_types() -> dict[str, Any]:
    """Return the Arrow type of each column of a case."""
    arrow = import_library("pyarrow", purpose="the record", extra="record")
    numbers = ((Integer, arrow.int64()), (Float, arrow.float64()))
    return {
        name: next((made for kind, made in numbers if isinstance(own, kind)), arrow.string())
        for name, own in CASE_COLUMNS.items()
    }
