"""Record of decisions, reviews and outcomes."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

from sqlalchemy import Connection, delete, select, text

from aucross.audit.audit_draw import AuditDraw
from aucross.estimators.base import SelectiveClassifier
from aucross.files.signing import secret_key
from aucross.record import record_tables as tables
from aucross.record.adding import ReviewedRecord, cases_named
from aucross.record.audits import AuditedRecord, with_audit, with_seeded, with_strip
from aucross.record.canonical import as_text, now, shortened
from aucross.record.chain import FEW_ROWS, Appending
from aucross.record.database import Database, RecordError
from aucross.record.decided_rows import DecidedRows, RecordedBatch, append_batch, decide_rows
from aucross.record.transfer import ReadRecord, copy_record, decisions_in, refuse_other_tables

_LONGEST_AGE = 365_000


class Record(ReviewedRecord, AuditedRecord, ReadRecord):
    """A database of decisions, reviews and outcomes; rows are appended and never changed.

    Make or open a record with :meth:`open`. Many threads and processes may use one record at the same time.

    When a call that writes returns, its rows are on the disk; a call that is killed has written all of them or none.

    Attributes
    ----------
    name, path, engine : str, Path or None, Engine
        Name in messages, file of SQLite (None for PostgreSQL), and engine of SQLAlchemy.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from aucross import AUCross
    >>> from aucross.record import Record
    >>> X, y = make_classification(1000, flip_y=0.3, random_state=0)
    >>> clf = AUCross(LogisticRegression(), coverage=0.8, random_state=0).fit(X, y)
    >>> folder = tempfile.TemporaryDirectory()
    >>> record = Record.open(Path(folder.name) / "cases.db")
    >>> record.decide(clf, X[:100], batch="2026-10", ids=range(100))
    RecordedBatch('2026-10': 80 of 100 automatic)
    >>> record.decide(clf, X[:100], batch="2026-10", ids=range(100))  # a job that runs twice decides once
    RecordedBatch('2026-10': 80 of 100 automatic, recorded before)
    >>> record.verify().is_clean
    True
    >>> record.close()
    >>> folder.cleanup()
    """

    @classmethod
    def open(cls, source: str | os.PathLike[str], *, create: bool = True, wait: float = 30.0) -> Record:
        """Open a record, and make it if there is none; upgrade or refuse a record of another version.

        Parameters
        ----------
        source : path-like or str
            The path of a SQLite file, such as ``cases.db``. For PostgreSQL, the place of the database's address:
            ``env:NAME`` for an environment variable, or ``file:PATH`` for a file that only its owner may read.
        create : bool, default=True
            Whether to make a record if there is none.
        wait : float, default=30.0
            Seconds to wait while another program writes.
        """
        with ExitStack() as unless_opened:
            record = cls(source, wait=wait, must_exist=not create)
            unless_opened.callback(record.close)
            with record.reading() as connection:
                version = tables.version_of(connection)
            if version is None and not create:
                raise RecordError(f"{record.name} holds no record")
            if version not in (None, tables.VERSION - 1, tables.VERSION):
                known = f"this version of aucross knows {tables.VERSION} and upgrades {tables.VERSION - 1}"
                other = "a newer" if version > tables.VERSION else "an earlier"
                raise RecordError(f"{record.name} is of version {version}, and {known}; use {other} aucross")
            if version != tables.VERSION:
                with record.writing() as connection:
                    version = tables.version_of(connection)  # another program may have been faster
                    if version is None:
                        refuse_other_tables(connection, record.name)
                        tables.create_tables(connection)
                        new = {"version": tables.VERSION, "record_id": uuid4().hex, "time": now()}
                        connection.execute(tables.about.insert(), new)
                    elif version < tables.VERSION:
                        tables.upgrade(connection, now())
            unless_opened.pop_all()
        return record

    def __repr__(self) -> str:
        return f"Record({self.name})"

    # ---- decisions ----

    def decide(
        self,
        clf: SelectiveClassifier,
        X: Any,
        *,
        batch: str,
        ids: Any,
        coverage: float | None = None,
        capacity: int | None = None,
        band_groups: Any = None,
        keep: Sequence[str] | Mapping[str, Any] = (),
        labels: Sequence[str] | None = None,
        shadow: SelectiveClassifier | None = None,
        audit: float | None = None,
        audit_key: bytes | None = None,
        seeded: Mapping[Any, Any] | None = None,
        strip: float | None = None,
        unfamiliar: Literal["review"] | None = None,
    ) -> RecordedBatch:
        """Decide on a batch of rows once, and record the decisions before returning them.

        Parameters
        ----------
        clf : SelectiveClassifier
            The fitted classifier that decides.
        X : array-like or frame of shape (n_samples, n_features), or ScoredRows
            All rows of the batch. The record stores hashes that commit to the rows, not the rows themselves.
        batch : str
            Name of the batch, such as ``"2026-10"``.
        ids : array-like of shape (n_samples,)
            Name of each case, all different within the batch.
        coverage : float in (0, 1], optional
            Share to decide automatically; the classifier's own by default.
        capacity : int, optional
            Number of rows to send to review, in place of a coverage.
        band_groups : array-like of shape (n_samples,), optional
            Group of each row, if the bands were fitted per group.
        keep : sequence of str or mapping of str to array-like, default=()
            Columns of X, or of another table, to store beside the id; :meth:`erase` removes both.
        labels : sequence of str, optional
            Name of each of ``clf.classes_`` in the record; their text by default.
        shadow : SelectiveClassifier, optional
            A second model that decides beside the first; its decisions are recorded and never handed out.
        audit : float in (0, 1], optional
            Share of the automatic cases to draw at random and send to review, with their probabilities in the record.
        audit_key : bytes, optional
            Secret key of the draw; by default the content of the file in ``AUCROSS_AUDIT_KEY_FILE``.
        seeded : mapping of id to class, optional
            Known answers, by id, of cases that the team made up and put among the rows. They go to review, and only
            :meth:`detection_rate` counts them.
        strip : float in (0, 1), optional
            Share of cases, nearest to the edges of the band, for which a coin decides on review, so that
            :meth:`strip_effect` can measure the effect of review. The coin is drawn with `audit_key`. Cases without a
            score, or unlike the fitted rows, are left out.
        unfamiliar : "review", optional
            With ``"review"``, rows unlike the fitted rows go to a person, and their ``why`` is ``"unfamiliar"``.

        Returns
        -------
        RecordedBatch
            The decisions as recorded. A repeated call with the same rows, model, coverage and capacity returns them
            again.

        Raises
        ------
        ValueError
            If a batch of this name was decided with other inputs, or another model, coverage or capacity.
        """
        options: dict[str, Any] = {"batch": batch, "ids": ids, "coverage": coverage, "capacity": capacity}
        options |= {"band_groups": band_groups, "keep": keep, "labels": labels, "unfamiliar": unfamiliar}
        rows = decide_rows(clf, X, **options)
        if shadow is not None:
            rows = rows.beside(decide_rows(shadow, X, **options))
        if seeded:
            rows = with_seeded(rows, seeded)
        if strip is not None:
            rows = with_strip(rows, clf, X, strip, key=secret_key(audit_key), record=self.record_id)
        if audit is not None:
            rows = with_audit(rows, AuditDraw(clf, audit, secret_key(audit_key), coverage), self.record_id)
        return self._written(rows)

    def _written(self, rows: DecidedRows) -> RecordedBatch:
        (written,) = self.write([rows])
        if isinstance(written, ValueError):
            raise written
        return written

    def write(self, decided: Sequence[DecidedRows]) -> list[RecordedBatch | ValueError]:
        """Record several batches in one transaction; return each recorded batch, or the error that refuses it."""
        names = [each.event["name"] for each in decided]

        def append(appending: Appending) -> list[RecordedBatch | ValueError]:
            return [append_batch(appending, each) for each in decided]

        is_small = sum(map(len, decided)) <= FEW_ROWS and len(set(names)) == len(names)
        written = self.append_at_once(append) if is_small else None
        if written is None:
            with self.appending(names) as appending:
                written = append(appending)
        return written

    def check(self) -> None:
        """Raise the error that a decision would raise now, for instance because the database is locked or read-only."""
        with self.writing() as connection:
            # A row that is no case, and is gone when the block ends.
            connection.execute(tables.personal.insert(), {"case_number": 0, "batch": 0, "id": "", "salt": b""})
            connection.execute(delete(tables.personal).where(tables.personal.c.case_number == 0))

    # ---- reading ----

    def case(self, id: Any, batch: str | None = None) -> dict[str, Any]:  # noqa: A002
        """Read one case from the view; the batch is only needed if the id is in several batches.

        ``final_decision`` is None until somebody has decided.
        """
        with self.reading() as connection:
            found = cases_named(connection, [as_text(id)], batch).get(as_text(id), [])
            if len(found) != 1:
                said = f"is in {len(found)} batches; name one" if found else "is in no batch"
                raise LookupError(
                    f"the case {shortened(as_text(id))!r} {said if batch is None else f'is not in batch {batch!r}'}"
                )
            query = f"SELECT * FROM {tables.EVERY_CASE} WHERE case_number = {int(found[0].case_number)}"
            return dict(connection.exec_driver_sql(query).mappings().one())

    def compare_shadow(self) -> list[dict[str, Any]]:
        """Compare the decisions of shadow models with those that were handed out, batch by batch.

        Returns
        -------
        list of dict
            ``batch``, ``model_fingerprint`` of the shadow, ``rows``, ``automatic`` and ``shadow_automatic``, and how
            many rows have the ``same_decision`` and the ``same_prediction``.
        """
        query = """
            SELECT b.name AS batch, s.model_fingerprint, count(*) AS rows,
              sum(CASE WHEN d.would_be = 'automatic' THEN 1 ELSE 0 END) AS automatic,
              sum(CASE WHEN e.would_be = 'automatic' THEN 1 ELSE 0 END) AS shadow_automatic,
              sum(CASE WHEN d.would_be = e.would_be THEN 1 ELSE 0 END) AS same_decision,
              sum(CASE WHEN d.prediction = e.prediction THEN 1 ELSE 0 END) AS same_prediction
            FROM decisions e JOIN decisions d ON d.number = e.shadow_of JOIN batches b ON b.number = d.batch
            JOIN batches s ON s.number = e.batch
            WHERE d.why IS NULL OR d.why <> 'seeded' GROUP BY b.number, b.name, s.model_fingerprint ORDER BY b.number
        """
        with self.reading() as connection:
            return [dict(row) for row in connection.execute(text(query)).mappings()]

    # ---- personal data ----

    def erase(self, id: Any, batch: str | None = None) -> int:  # noqa: A002
        """Remove a case's id, kept columns, reason, notes and salts, in one batch or all; return the number of cases.

        The events stay, and :meth:`verify` finds no fault.
        """
        name = as_text(id)
        return self._erase(
            "asked", lambda at: [row.case_number for row in cases_named(at, [name], batch).get(name, [])]
        )

    def erase_older(self, days: float) -> int:
        """Remove the personal data of cases decided more than `days` ago; return the number of cases."""
        if not 0 <= days <= _LONGEST_AGE:
            raise ValueError(f"days must be an age from 0 to {_LONGEST_AGE:,}, got {days!r}")
        p, b = tables.personal.c, tables.batches.c
        query = select(p.case_number).join(tables.batches, b.number == p.batch).order_by(p.case_number)
        query = query.where(b.time < now(-86_400.0 * float(days)))
        return self._erase("retention", lambda at: list(at.execute(query).scalars()))

    def _erase(self, why: str, found: Callable[[Connection], list[int]]) -> int:
        with self.appending() as appending:
            numbers = found(appending.connection)
            appending.append(tables.erasures, [{"case_number": number, "why": why} for number in numbers])
            for start in range(0, len(numbers), 500):
                for table in (tables.notes, tables.personal):
                    part = table.c.case_number.in_(numbers[start : start + 500])
                    appending.connection.execute(delete(table).where(part))
        self.forget_removed_rows()  # also if nothing was found: an erasure before may have been killed, or met a reader
        return len(numbers)

    # ---- in and out ----

    def import_decisions(
        self,
        folder: str | os.PathLike[str],
        *,
        batch: str,
        id: str,  # noqa: A002
        classes: Sequence[Any],
    ) -> RecordedBatch:
        """Record the decisions in a folder, written by :func:`write_decisions` or a cluster, as one batch.

        Parameters
        ----------
        folder : path-like
            Folder of decisions, with its manifest.
        batch : str
            Name of the batch.
        id : str
            The column that names the cases.
        classes : sequence of two labels or more
            All classes; of two, the second is positive.
        """
        return self._written(decisions_in(Path(folder), batch=batch, id_column=id, classes=classes))

    @classmethod
    def restore(cls, backup: str | os.PathLike[str], source: str | os.PathLike[str]) -> Record:
        """Make a record from a backup, in an empty database or a new file.

        Parameters
        ----------
        backup : path-like
            File that :meth:`backup` wrote.
        source : path-like or str
            Place for the record, as in :meth:`open`; events, numbers and hashes stay as in the backup.
        """
        with cls.open(backup, create=False) as copy, Database(source, wait=30.0, must_exist=False) as target:
            found = copy.verify()
            if not found.is_clean:
                raise RecordError(f"{copy.name} is not as it was written, and nothing was restored: {found.fault}")
            with copy.reading() as connection:
                copy_record(connection, target)
        return cls.open(source, create=False)

    def grant(self, role: str) -> None:
        """Let a PostgreSQL role append and read events and remove rows of the side tables, but nothing else.

        Give writers this role, and use the owner's role only for upgrades.
        """
        if self.path is not None:
            raise ValueError("grant is for PostgreSQL; who may read and write a SQLite file, its mode says")
        if not re.fullmatch(r"[a-z_][a-z0-9_]{0,62}", role):
            raise ValueError(f"role must be the name of a role, got {role!r}")
        events, side = (", ".join(each.name for each in part) for part in (tables.APPENDED, tables.SIDE_TABLES))
        with self.writing() as connection:
            connection.exec_driver_sql(f"GRANT SELECT, INSERT ON {events} TO {role}")
            connection.exec_driver_sql(f"GRANT SELECT, INSERT, DELETE ON {side} TO {role}")
            connection.exec_driver_sql(f"GRANT SELECT ON cases TO {role}")
