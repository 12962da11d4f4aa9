"""The database of a record, SQLite in one file or PostgreSQL: connections, locks, and errors in one sentence."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from threading import Lock
from time import monotonic, sleep
from typing import Any, Self

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError
from sqlalchemy.pool import QueuePool

# File systems over a network, on which SQLite's locks do not hold.
_NETWORK = ("nfs", "cifs", "smb", "afs", "9p", "ceph", "lustre", "gluster", "fuse.sshfs", "fuse.s3fs", "beegfs")

# What the only writer of PostgreSQL holds; any number will do, as long as all writers take the same one.
CHAIN_LOCK = "pg_advisory_xact_lock(7266338055106914)"


class RecordError(Exception):
    """Error in reading or writing the record; the text says why, and nothing is half written."""


class Database:
    """Connections to a record; `name` stands for it in messages, `path` is its SQLite file (None for PostgreSQL).

    `source` and `wait` are as in :meth:`Record.open`; with `must_exist` a missing SQLite file is an error.
    """

    def __init__(self, source: str | os.PathLike[str], *, wait: float, must_exist: bool) -> None:
        url = _address(os.fspath(source))
        self.path: Path | None = Path(source) if url is None else None
        # Whose turn it is among the writers of this process, and for how many seconds they wait.
        self._turn, self._wait = Lock(), wait
        self.name = self.path.name if self.path is not None else "the record in PostgreSQL"
        # Personal data must not stand in errors.
        options: dict[str, Any] = {"hide_parameters": True, "poolclass": QueuePool}
        if self.path is not None:
            _check_file(self.path, must_exist=must_exist)
            options["connect_args"] = {"timeout": wait, "check_same_thread": False}
        else:
            options["isolation_level"] = "AUTOCOMMIT"
            # Whatever the server's own setting is: what is acknowledged must be on its disk, and whoever waited for the
            # lock must see what was written meanwhile.
            settings = {"synchronous_commit": "on", "lock_timeout": f"{round(1000 * wait)}ms"}
            settings["default_transaction_isolation"] = r"read\ committed"
            told = " ".join(f"-c {name}={value}" for name, value in settings.items())
            # A pooler may give each transaction another connection, which knows no statement that was prepared before.
            options["connect_args"] = {"options": told, "prepare_threshold": None}
        self.engine: Engine = create_engine(url or URL.create("sqlite", database=str(self.path)), **options)
        if self.path is not None:
            event.listen(self.engine, "connect", _prepare_sqlite)

    def reading(self) -> AbstractContextManager[Connection]:
        """Open a connection that sees one state of the record throughout."""
        return self._transaction("BEGIN" if self.path is not None else "BEGIN ISOLATION LEVEL REPEATABLE READ")

    def writing(self) -> AbstractContextManager[Connection]:
        """Open a transaction as the only writer; its changes are on the disk when the block ends."""
        if self.path is not None:
            return self._in_turn("FULL")
        # A writer that read before it takes the lock could find that another one has written since.
        return self._transaction("BEGIN ISOLATION LEVEL READ COMMITTED", f"SELECT {CHAIN_LOCK}")

    def noting(self) -> AbstractContextManager[Connection]:
        """Open a transaction for tables beside the events, such as who holds a case.

        In PostgreSQL others may write at the same time. SQLite does not wait for the disk: a loss of power may
        undo the last transactions. Each is undone as a whole, and all later ones with it.
        """
        if self.path is not None:
            return self._in_turn("NORMAL")
        return self._transaction("BEGIN ISOLATION LEVEL READ COMMITTED")

    @contextmanager
    def _in_turn(self, synchronous: str) -> Iterator[Connection]:
        """Open a transaction of SQLite as the only writer, and queue the writers of this process.

        SQLite has no queue: a waiting writer tries again after up to a tenth of a second, and other writers may be
        faster each time.
        """
        if not self._turn.acquire(timeout=self._wait):
            raise RecordError(f"{self.name}: another program is writing to it; try again when it has ended")
        try:
            with self._transaction(f"PRAGMA synchronous = {synchronous}", "BEGIN IMMEDIATE") as connection:
                yield connection
        finally:
            self._turn.release()

    @contextmanager
    def _transaction(self, begin: str, *more: str) -> Iterator[Connection]:
        with self.in_words(), ExitStack() as opened:
            connection = opened.enter_context(self.engine.connect())
            try:
                connection.exec_driver_sql(begin)
            except DBAPIError as error:
                if not error.connection_invalidated:
                    raise
                # The server was started again since, and nothing was asked of it yet.
                connection = opened.enter_context(self.engine.connect())
                connection.exec_driver_sql(begin)
            for statement in more:
                connection.exec_driver_sql(statement)
            yield connection
            # Of the driver, because SQLAlchemy takes no connection in autocommit mode to be in a transaction.
            connection.connection.commit()

    def forget_removed_rows(self) -> None:
        """Clear removed rows from the files of SQLite, once no reader uses them."""
        until, is_busy = monotonic() + 10, self.path is not None
        while is_busy:
            with self.in_words(), self.engine.connect() as connection:
                is_busy = connection.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
            if is_busy and monotonic() > until:
                raise RecordError(
                    f"{self.name}: the rows are erased, but a program that reads the record keeps a copy in its log "
                    "file; end it, then run the erasure again"
                )
            sleep(0.1 * is_busy)

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @contextmanager
    def in_words(self) -> Iterator[None]:
        """Raise errors of the database as `RecordError`, with a plain sentence."""
        try:
            yield
        except (SQLAlchemyError, self.engine.dialect.loaded_dbapi.Error) as error:
            # The driver's own come from cursors that read and copy many rows; their text may hold a person's data.
            raise RecordError(_sentence(error, self.name)) from None


def _address(source: str) -> URL | None:
    """Return the address of a server from the variable or file that `source` names; None for a path."""
    if "://" in source or source.startswith("postgresql"):
        raise ValueError(
            "the address of a database must not be an argument, which others can see; put it into an environment "
            "variable and pass env:NAME, or into a file that only you can read and pass file:PATH"
        )
    kind, _, name = source.partition(":")
    if kind == "env":
        content = os.environ.get(name)
        if not content:
            raise ValueError(
                f"{source}: there is no environment variable {name}; set it to the address of the database"
            )
    elif kind == "file":
        try:
            if Path(name).stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
                raise ValueError(f"{source}: others may read this file; run: chmod 600 {name}")
            content = Path(name).read_text(encoding="utf-8", errors="replace").strip()
        except OSError as error:
            raise ValueError(f"{source}: the file cannot be read ({error.strerror})") from None
    else:
        return None
    try:
        url = make_url(content)
    except (ArgumentError, ValueError):  # of a port that is no number
        url = URL.create("none")
    if url.get_backend_name() not in ("postgresql", "postgres"):
        raise ValueError(
            f"{source} must hold the address of a PostgreSQL database: postgresql://user:password@host/name"
        )
    return url.set(drivername="postgresql+psycopg")


def _check_file(path: Path, *, must_exist: bool) -> None:
    """Refuse a path that cannot be the file of a record; make a new file, which only its owner may read."""
    if path.is_dir():
        raise RecordError(f"{path} is a folder; name a file such as {path / 'cases.db'}")
    if not path.parent.is_dir():
        raise RecordError(f"there is no folder {path.parent}; make it first")
    if kind := _network_file_system(path.parent):
        raise RecordError(
            f"{path} lies on a network file system ({kind}), where locks of SQLite do not hold; use a local disk, or "
            "PostgreSQL"
        )
    if must_exist and not path.exists():
        raise RecordError(f"there is no record at {path}")
    try:
        if not path.exists() or not path.stat().st_size:  # also an empty file that somebody made for it
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
            path.chmod(0o600)
    except OSError as error:
        raise RecordError(f"{path} cannot be made ({error.strerror}); name a file elsewhere") from None


def _network_file_system(folder: Path) -> str | None:
    try:
        mounts = Path("/proc/self/mounts").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:  # no Linux
        return None
    folder = folder.resolve()
    found = [line.split()[1:3] for line in mounts if len(line.split()) > 2]
    inside = [(len(where), kind) for where, kind in found if folder.is_relative_to(where.replace("\\040", " "))]
    kind = max(inside, default=(0, ""))[1]
    return kind if kind.startswith(_NETWORK) else None


def _prepare_sqlite(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # transactions are begun above
    settings = {"journal_mode": "WAL", "synchronous": "FULL", "trusted_schema": "OFF"}
    settings |= dict.fromkeys(("recursive_triggers", "secure_delete"), "ON")
    for name, value in settings.items():
        connection.execute(f"PRAGMA {name} = {value}")


# What databases say, in the words of this package; the first that fits.
_SENTENCES = (
    (("database or disk is full", "no space left", "sqlite_full"), "the disk is full; make room and try again"),
    (("readonly database", "read-only", "readonly"), "it is read-only; allow writing, or name another"),
    (
        ("database is locked", "lock timeout", "sqlite_busy", "lock_not_available"),
        "another program is writing to it; try again when it has ended",
    ),
    (("not a database", "malformed"), "it is no SQLite database, or it is damaged; restore a backup"),
    (("append-only",), "nothing of a record is changed or removed: add an event that corrects the earlier one"),
    (("permission denied", "insufficient privilege"), "the role of the database may not do that; ask its owner"),
    (
        ("disk i/o error", "unable to open database"),
        "its file cannot be read or written; look at the disk and its rights",
    ),
    (
        ("connection", "server closed", "could not connect", "terminating", "shutting down", "starting up", "eof"),
        "the database cannot be reached or has ended the connection; try again when it runs",
    ),
)


def _sentence(error: Exception, name: str) -> str:
    cause = getattr(error, "orig", None) or error
    told = f"{cause} {getattr(cause, 'sqlite_errorname', '')}".lower()
    for signs, sentence in _SENTENCES:
        if any(sign in told for sign in signs):
            return f"{name}: {sentence}"
    # The text of the library may hold an address or a person's data.
    code = getattr(cause, "sqlite_errorname", None) or getattr(cause, "sqlstate", None) or type(cause).__name__
    is_refusal = isinstance(error, DBAPIError) or not isinstance(error, SQLAlchemyError)
    kind = "the database refused it" if is_refusal else "the database cannot be used"
    return f"{name}: {kind} ({code})"
