"""The log of decisions: one row a case, on the disk before the decision is handed out."""

from __future__ import annotations

import os
import textwrap
import warnings
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from aucross.core.missing import is_missing
from aucross.estimators.base import SelectiveClassifier
from aucross.estimators.decisions import Decisions
from aucross.files.fingerprints import fitted_parts, model_fingerprint, rule_fingerprint, same_parts
from aucross.record.log_csv import CsvStore, read_csv_log
from aucross.record.log_parquet import ParquetStore, read_parquet_log
from aucross.record.log_rows import TEXT_COLUMNS, LogDamageWarning, RowStore, damage_message

LogFormat = Literal["csv", "parquet"]

# Readers of CSV files take no field of any length.
_LONGEST_ID = 10_000


class DecisionLog:
    """Write decisions to a log that survives a kill at any moment.

    Parameters
    ----------
    path : path-like
        A file that ends in ``.csv``, or a folder for Parquet files. Both are made if missing and continued otherwise.
    clf : SelectiveClassifier
        The fitted classifier that decides.
    format : {"csv", "parquet"}, optional
        By default read off the path.

    Attributes
    ----------
    path : Path
        Where the log is.
    format : str
        Its format.
    rule_fingerprint, model_fingerprint : str
        Name the rule and the model in every row; a file of :func:`~aucross.save` names the same.

    See Also
    --------
    read_decisions : Read the log.

    Notes
    -----
    The columns:

    =====================  ==========================================================================================
    ``id``                 the case, as text
    ``score``              the selection score, on which the band lies; of a ``ScoreColumn`` in points the distance from
                           its threshold, positive on the side of the positive class; nothing for a case without a
                           score, which a server sends to review
    ``decision``           ``automatic`` if the answer of the model is used, ``review`` if a person decides
    ``lower``, ``upper``   the band: the row goes to review if its score lies between them, ends included; ``inf`` and
                           ``-inf`` for the empty band, nothing if no band decided
    ``target_coverage``    the coverage asked for
    ``rule_fingerprint``   what placed the band
    ``model_fingerprint``  what gave the score
    ``time``               UTC, to the microsecond
    =====================  ==========================================================================================

    When a call returns, its rows are on the disk. A call that is killed loses no row of an earlier one; of its own rows
    a CSV file may hold the first few, a Parquet folder holds all or none. A call raises an error and writes nothing if
    the file, the folder or a part was removed, cut or replaced since the call before, or if the classifier was fitted
    again. The fingerprints are computed from the classifier when the log is opened.

    A CSV file has two more columns, ``number`` (of the row) and ``checksum`` (CRC-32 of what stands before it in the
    line); the name of a Parquet part has its number and a checksum. In a CSV file an id that a spreadsheet would run as
    a formula (``=1+1``) stands after an apostrophe; :func:`read_decisions` gives it back as it was. Parquet keeps every
    id as it is.

    CSV takes one writer at a time and needs no further library. Parquet (extra ``arrow``) takes any number of
    processes, but every call makes a file: log batches, not single cases. One log may be used by many threads.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from aucross import AUCross
    >>> from aucross.record import DecisionLog, read_decisions
    >>> X, y = make_classification(1000, flip_y=0.3, random_state=0)
    >>> clf = AUCross(LogisticRegression(), random_state=0).fit(X, y)
    >>> folder = tempfile.TemporaryDirectory()
    >>> with DecisionLog(Path(folder.name) / "decisions.csv", clf) as log:
    ...     selected = log.decide(["A-17", "A-18"], X[:2])
    >>> read_decisions(log.path)["decision"].tolist()
    ['automatic', 'automatic']
    >>> folder.cleanup()
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        clf: SelectiveClassifier,
        *,
        format: LogFormat | None = None,  # noqa: A002
    ) -> None:
        check_is_fitted(clf, "band_rule_")
        self.path = Path(path)
        self.format = _format_of(self.path, format)
        self._parts = fitted_parts(clf)
        self.rule_fingerprint = rule_fingerprint(clf)
        self.model_fingerprint = model_fingerprint(clf)
        self._clf = clf
        self._lock = Lock()
        self._store: RowStore | None = (CsvStore if self.format == "csv" else ParquetStore)(self.path)

    def decide(
        self,
        ids: Any,
        X: Any,
        coverage: float | None = None,
        band_groups: Any = None,
        *,
        capacity: int | None = None,
        time: datetime | Sequence[datetime] | None = None,
    ) -> NDArray[np.bool_]:
        """Decide on rows, log the decisions and return them.

        Parameters
        ----------
        ids : array-like of shape (n_samples,)
            Name of each case; stored as text. With a capacity they also decide between rows of equal score.
        X : array-like or frame of shape (n_samples, n_features), or ScoredRows
            Rows to decide on.
        coverage : float in (0, 1], optional
            Target coverage; the classifier's own by default.
        band_groups : array-like of shape (n_samples,), optional
            Group of each row, if the bands were fitted per group.
        capacity : int, optional
            Send exactly this many rows to review. Then no band decides: ``lower``, ``upper`` and ``target_coverage``
            stay empty.
        time : datetime or sequence of datetime, optional
            When the cases were decided, with a time zone; now by default.

        Returns
        -------
        ndarray of shape (n_samples,), bool
            As ``clf.select`` gives it.
        """
        # As text, because names of one log may be of several types.
        names = None if capacity is None else _checked_ids(ids, None)
        decisions = self._clf.decide(X, coverage, band_groups, capacity=capacity, ids=names)
        self.append(ids, decisions, time=time)
        return decisions.selected

    def append(self, ids: Any, decisions: Decisions, *, time: datetime | Sequence[datetime] | None = None) -> None:
        """Log decisions that were made before.

        Parameters
        ----------
        ids : array-like of shape (n_samples,)
            Name of each case; stored as text.
        decisions : Decisions
            What ``clf.decide`` gave for the rows.
        time : datetime or sequence of datetime, optional
            When the cases were decided, with a time zone; now by default.
        """
        if not isinstance(decisions, Decisions):
            raise TypeError(f"decisions must be what clf.decide(X) gave, got {type(decisions).__name__}")
        self._check_fingerprints()
        if decisions.decided_by is not self._clf.band_rule_:
            raise ValueError("decisions must be made by the classifier of this log, got those of another; decide again")
        n_rows = len(decisions)
        nothing = np.full(n_rows, np.nan)
        columns = {
            "id": _checked_ids(ids, n_rows),
            "score": decisions.selection_score,
            "decision": decisions.decision.astype(object),
            "lower": nothing if decisions.lower is None else decisions.lower,
            "upper": nothing if decisions.upper is None else decisions.upper,
            "target_coverage": nothing if decisions.coverage is None else np.full(n_rows, decisions.coverage),
            "rule_fingerprint": np.full(n_rows, self.rule_fingerprint, dtype=object),
            "model_fingerprint": np.full(n_rows, self.model_fingerprint, dtype=object),
            "time": _checked_times(time, n_rows),
        }
        with self._lock:
            store = self._open_store()
            if n_rows:
                store.append(columns)

    def check(self) -> None:
        """Raise the error that a decision would meet now, of a full disk for instance; no row is written.

        Something that is no row is written and taken back, so that a server can tell when its log is well again.
        """
        self._check_fingerprints()
        with self._lock:
            self._open_store().check()

    def close(self) -> None:
        """End the log; a CSV file can then be opened by another writer."""
        with self._lock:
            if self._store is not None:
                self._store.close()
            self._store = None

    def _open_store(self) -> RowStore:
        if self._store is None:
            raise ValueError(f"the log {self.path} is closed; open a new DecisionLog to write more")
        return self._store

    def _check_fingerprints(self) -> None:
        """Refuse rows of a classifier that is no longer the one which the log names."""
        parts = fitted_parts(self._clf)
        # Fingerprints take long, and the objects that a model consists of are others after a fit.
        if same_parts(parts, self._parts):
            return
        now = rule_fingerprint(self._clf), model_fingerprint(self._clf)
        if now != (self.rule_fingerprint, self.model_fingerprint):
            raise ValueError("clf was fitted again after the log was opened; close the log and open it again")
        self._parts = parts

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def read_decisions(path: str | os.PathLike[str], *, on_damage: Literal["warn", "raise"] = "warn") -> Any:
    """Read a log of decisions: all that is whole of it.

    Parameters
    ----------
    path : path-like
        The CSV file or the folder of a :class:`DecisionLog`; it may be written at the same time. Temporary files are
        left out.
    on_damage : {"warn", "raise"}, default="warn"
        What to do if a line or a part is not as it was written, or missing. ``"warn"`` leaves it out and names it in a
        :class:`LogDamageWarning`, ``"raise"`` names it in a ``ValueError``.

    Returns
    -------
    pandas.DataFrame
        One row for each decision in the order of writing, with the columns that :class:`DecisionLog` lists: text,
        float64 and, for ``time``, UTC timestamps. Ids are those that were logged.

    Warns
    -----
    LogDamageWarning
        If the log is damaged. Rows missing at the end leave no trace, unless the last line is torn.
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"there is no decision log at {path}")
    if on_damage not in ("warn", "raise"):
        raise ValueError(f'on_damage must be "warn" or "raise", got {on_damage!r}')
    table, damages = read_parquet_log(path) if path.is_dir() else read_csv_log(path)
    if damages and on_damage == "raise":
        raise ValueError(damage_message(path, damages))
    if damages:
        warnings.warn(LogDamageWarning(path, damages), stacklevel=2)
    return table.astype({**dict.fromkeys(TEXT_COLUMNS, "str"), "time": "datetime64[us, UTC]"})


def _format_of(path: Path, asked: str | None) -> LogFormat:
    if asked not in (None, "csv", "parquet"):
        raise ValueError(f'format must be "csv" or "parquet", got {asked!r}')
    is_csv = path.suffix.lower() == ".csv" if asked is None else asked == "csv"
    if is_csv and path.is_dir():
        raise ValueError(f'{path} must be a file for format="csv", got a folder; pass another path')
    return "csv" if is_csv else "parquet"


def _checked_ids(ids: Any, n_rows: int | None) -> NDArray[Any]:
    values = list(ids.tolist() if hasattr(ids, "tolist") else ids)
    n_rows = len(values) if n_rows is None else n_rows
    if isinstance(ids, str) or len(values) != n_rows:
        raise ValueError(f"ids must hold one name per row, got {len(values)} for {n_rows} rows; pass a list")
    texts = np.empty(n_rows, dtype=object)
    for row, value in enumerate(values):
        texts[row] = "" if is_missing(value) else str(value)
        if fault := _id_fault(texts[row]):
            raise ValueError(f"ids must {fault}, got {textwrap.shorten(repr(value), 80)} in row {row}")
    return texts


def _id_fault(text: str) -> str | None:
    # One line a row is what makes a torn line recognisable.
    if not text or any(character in text for character in "\r\n\0"):
        return "be neither missing nor empty nor hold line breaks"
    if len(text) > _LONGEST_ID:
        return f"have at most {_LONGEST_ID:,} characters"
    try:
        text.encode()
    except UnicodeEncodeError:
        return "be text that UTF-8 can write"
    return None


def _checked_times(time: Any, n_rows: int) -> NDArray[np.datetime64]:
    if time is None:
        time = datetime.now(UTC)
    if isinstance(time, datetime):
        return np.full(n_rows, _as_utc(time))
    times = np.array([_as_utc(moment) for moment in time], dtype="datetime64[us]")
    if len(times) != n_rows:
        raise ValueError(f"time must be one datetime or one per row, got {len(times)} for {n_rows} rows")
    return times


def _as_utc(moment: Any) -> np.datetime64:
    if not isinstance(moment, datetime) or moment.tzinfo is None:
        raise ValueError(f"time must be a datetime with a time zone, got {moment!r}; pass datetime.now(UTC)")
    return np.datetime64(moment.astimezone(UTC).replace(tzinfo=None), "us")
