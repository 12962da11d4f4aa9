"""The log of decisions: one row a case, on the disk before the decision is handed out."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from aucross.core.bands import RejectionBand, check_coverage
from aucross.core.missing import is_missing
from aucross.core.ranking import check_scores
from aucross.deploy.fingerprints import model_fingerprint, rule_fingerprint
from aucross.deploy.log_files import (
    COLUMNS,
    NUMBER_COLUMNS,
    TEXT_COLUMNS,
    CsvStore,
    ParquetStore,
    RowStore,
    arrow_schema,
    end_of_last_line,
    log_library,
)
from aucross.estimators.base import SelectiveClassifier

LogFormat = Literal["csv", "parquet"]


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
        Name the rule and the model in every row; a file of :func:`aucross.deploy.save` names the same.

    See Also
    --------
    read_decisions : Read the log.

    Notes
    -----
    The columns:

    =====================  ==========================================================================================
    ``id``                 the case, as text
    ``score``              the selection score, on which the band lies
    ``decision``           ``accept`` or ``defer``
    ``lower``, ``upper``   the band: the row is deferred if its score lies between them, ends included; ``inf`` and
                           ``-inf`` for the empty band, nothing if no band decided
    ``target_coverage``    the coverage asked for
    ``rule_fingerprint``   what placed the band
    ``model_fingerprint``  what gave the score
    ``time``               UTC, to the microsecond
    =====================  ==========================================================================================

    When a call returns, its rows are on the disk. A call that is killed loses no row of an earlier one; of its own rows
    a CSV file may hold the first few, a Parquet folder holds all or none.

    CSV takes one writer at a time and needs no further library. Parquet (extra ``deploy``) takes any number of
    processes, but every call makes a file: log batches, not single cases. One log may be used by many threads.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from aucross import AUCross
    >>> from aucross.deploy import DecisionLog, read_decisions
    >>> X, y = make_classification(1000, flip_y=0.3, random_state=0)
    >>> clf = AUCross(LogisticRegression(), random_state=0).fit(X, y)
    >>> folder = tempfile.TemporaryDirectory()
    >>> with DecisionLog(Path(folder.name) / "decisions.csv", clf) as log:
    ...     selected = log.decide(["A-17", "A-18"], X[:2])
    >>> read_decisions(log.path)["decision"].tolist()
    ['accept', 'accept']
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
        self.rule_fingerprint = rule_fingerprint(clf)
        self.model_fingerprint = model_fingerprint(clf)
        self._clf = clf
        self._model, self._rule = clf.estimator_, clf.band_rule_
        self._lock = Lock()
        self._store: RowStore | None = (CsvStore if self.format == "csv" else ParquetStore)(self.path)

    def decide(
        self,
        ids: Any,
        X: Any,
        coverage: float | None = None,
        band_groups: Any = None,
        *,
        time: datetime | Sequence[datetime] | None = None,
        **options: Any,
    ) -> NDArray[np.bool_]:
        """Decide on rows, log the decisions and return them.

        Parameters
        ----------
        ids : array-like of shape (n_samples,)
            Name of each case; stored as text.
        X : array-like or frame of shape (n_samples, n_features)
            Rows to decide on.
        coverage : float in (0, 1], optional
            Target coverage; the classifier's own by default.
        band_groups : array-like of shape (n_samples,), optional
            Group of each row, if the bands were fitted per group.
        time : datetime or sequence of datetime, optional
            When the cases were decided, with a time zone; now by default.
        **options : dict
            Further arguments of ``clf.select``, such as ``capacity``. Then no band decides: ``lower``, ``upper`` and
            ``target_coverage`` stay empty.

        Returns
        -------
        ndarray of shape (n_samples,), bool
            As ``clf.select`` gives it.
        """
        score = self._clf.selection_score(X, coverage, band_groups)
        if any(value is not None for value in options.values()):
            selected = self._clf.select(X, coverage, band_groups, **options)
            self.append(ids, score, selected, coverage=None, time=time)
            return selected
        coverage = check_coverage(self._clf.coverage if coverage is None else coverage)
        lower, upper = self._ends(coverage, band_groups, len(score))
        selected = (score < lower) | (score > upper)
        self._write(ids, score, selected, ends=(lower, upper), coverage=coverage, time=time)
        return selected

    def append(
        self,
        ids: Any,
        score: ArrayLike,
        selected: ArrayLike,
        *,
        coverage: float | None,
        band_groups: Any = None,
        time: datetime | Sequence[datetime] | None = None,
    ) -> None:
        """Log decisions that were made before.

        Parameters
        ----------
        ids : array-like of shape (n_samples,)
            Name of each case; stored as text.
        score : array-like of shape (n_samples,)
            What ``clf.selection_score`` gave for the rows.
        selected : array-like of shape (n_samples,), bool
            What ``clf.select`` gave for the rows.
        coverage : float in (0, 1] or None
            The coverage that was asked for; its band is logged and must agree with `selected`. None if the rows were
            not decided by a band but, say, by a capacity.
        band_groups : array-like of shape (n_samples,), optional
            Group of each row, if the bands were fitted per group.
        time : datetime or sequence of datetime, optional
            When the cases were decided, with a time zone; now by default.
        """
        chosen = np.asarray(selected)
        if chosen.dtype != np.bool_ or chosen.ndim != 1:
            raise ValueError(
                f"selected must be a 1-d array of booleans, got shape {chosen.shape} of {chosen.dtype}; pass what "
                "select gave"
            )
        values = check_scores(score, len(chosen), name="score")
        if coverage is None:
            ends = (np.full(len(chosen), np.nan), np.full(len(chosen), np.nan))
        else:
            coverage = check_coverage(coverage)
            ends = self._ends(coverage, band_groups, len(chosen))
            _check_agrees(values, chosen, ends, coverage)
        self._write(ids, values, chosen, ends=ends, coverage=coverage, time=time)

    def close(self) -> None:
        """End the log; a CSV file can then be opened by another writer."""
        with self._lock:
            if self._store is not None:
                self._store.close()
            self._store = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _ends(self, coverage: float, band_groups: Any, n_rows: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Lower and upper end of each row's band."""
        if band_groups is None:
            band = self._clf.band(coverage)
            return np.full(n_rows, band.lower), np.full(n_rows, band.upper)
        groups = np.asarray(band_groups).tolist()
        if len(groups) != n_rows:
            raise ValueError(f"band_groups must hold one group per row, got {len(groups)} for {n_rows} rows")
        bands: dict[Any, RejectionBand] = {group: self._clf.band(coverage, group) for group in dict.fromkeys(groups)}
        lower = np.array([bands[group].lower for group in groups], dtype=np.float64)
        upper = np.array([bands[group].upper for group in groups], dtype=np.float64)
        return lower, upper

    def _write(
        self,
        ids: Any,
        score: NDArray[np.float64],
        selected: NDArray[np.bool_],
        *,
        ends: tuple[NDArray[np.float64], NDArray[np.float64]],
        coverage: float | None,
        time: Any,
    ) -> None:
        if self._clf.estimator_ is not self._model or self._clf.band_rule_ is not self._rule:
            raise ValueError("clf was fitted again after the log was opened; close the log and open it again")
        n_rows = len(score)
        columns = {
            "id": _checked_ids(ids, n_rows),
            "score": score,
            "decision": np.where(selected, "accept", "defer").astype(object),
            "lower": ends[0],
            "upper": ends[1],
            "target_coverage": np.full(n_rows, np.nan if coverage is None else coverage),
            "rule_fingerprint": np.full(n_rows, self.rule_fingerprint, dtype=object),
            "model_fingerprint": np.full(n_rows, self.model_fingerprint, dtype=object),
            "time": _checked_times(time, n_rows),
        }
        with self._lock:
            if self._store is None:
                raise ValueError(f"the log {self.path} is closed; open a new DecisionLog to write more")
            if n_rows:
                self._store.append(columns)


def read_decisions(path: str | os.PathLike[str]) -> Any:
    """Read a log of decisions.

    Parameters
    ----------
    path : path-like
        The CSV file or the folder of a :class:`DecisionLog`; it may be written at the same time. A torn last line and
        temporary files are left out.

    Returns
    -------
    pandas.DataFrame
        One row for each decision in the order of writing, with the columns that :class:`DecisionLog` lists: text,
        float64 and, for ``time``, UTC timestamps.
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"there is no decision log at {path}")
    table = _read_folder(path) if path.is_dir() else _read_csv(path)
    return table.astype({**dict.fromkeys(TEXT_COLUMNS, "str"), "time": "datetime64[us, UTC]"})


def _read_folder(path: Path) -> Any:
    arrow, parquet = log_library("pyarrow"), log_library("pyarrow.parquet")
    parts = [parquet.ParquetFile(part).read() for part in sorted(path.glob("part-*.parquet"))]
    return arrow.concat_tables([arrow_schema().empty_table(), *parts]).to_pandas()


def _read_csv(path: Path) -> Any:
    pandas = log_library("pandas")
    with open(path, "rb") as file:
        whole = end_of_last_line(file, os.fstat(file.fileno()).st_size)
        file.seek(0)
        lines = csv.reader(io.StringIO(file.read(whole).decode(), newline=""))
    if next(lines, None) != list(COLUMNS):
        raise ValueError(f"{path} is not a decision log: its first line must be {','.join(COLUMNS)!r}")
    rows = list(lines)
    for number, row in enumerate(rows):
        if len(row) != len(COLUMNS):
            raise ValueError(
                f"{path} must have {len(COLUMNS)} fields in each line, got {len(row)} in line {number + 2}"
            )
    columns: dict[str, Any] = dict(zip(COLUMNS, zip(*rows, strict=True) if rows else [()] * len(COLUMNS), strict=True))
    for name in NUMBER_COLUMNS:
        # By float, which reads back what repr wrote; parsers of CSV files may be wrong in the last digit.
        columns[name] = np.array([float(text) if text else np.nan for text in columns[name]], dtype=np.float64)
    moments = np.array([text.removesuffix("Z") for text in columns["time"]], dtype="datetime64[us]")
    columns["time"] = pandas.Series(moments).dt.tz_localize("UTC")
    return pandas.DataFrame(columns)


def _format_of(path: Path, asked: str | None) -> LogFormat:
    if asked not in (None, "csv", "parquet"):
        raise ValueError(f'format must be "csv" or "parquet", got {asked!r}')
    is_csv = path.suffix.lower() == ".csv" if asked is None else asked == "csv"
    if is_csv and path.is_dir():
        raise ValueError(f'{path} must be a file for format="csv", got a folder; pass another path')
    return "csv" if is_csv else "parquet"


def _check_agrees(
    score: NDArray[np.float64],
    selected: NDArray[np.bool_],
    ends: tuple[NDArray[np.float64], NDArray[np.float64]],
    coverage: float,
) -> None:
    lower, upper = ends
    other = selected != ((score < lower) | (score > upper))
    if other.any():
        raise ValueError(
            f"selected must follow from score and the band for coverage={coverage:g}, got {int(other.sum())} of "
            f"{len(score)} rows that do not, the first at position {int(np.argmax(other))}; pass the coverage and the "
            "band_groups that select had, or coverage=None if no band decided"
        )


def _checked_ids(ids: Any, n_rows: int) -> NDArray[Any]:
    values = list(ids.tolist() if hasattr(ids, "tolist") else ids)
    if isinstance(ids, str) or len(values) != n_rows:
        raise ValueError(f"ids must hold one name per row, got {len(values)} for {n_rows} rows; pass a list")
    texts = np.empty(n_rows, dtype=object)
    for row, value in enumerate(values):
        text = "" if is_missing(value) else str(value)
        # One line a row is what makes a torn line recognisable.
        if not text or any(character in text for character in "\r\n\0"):
            raise ValueError(f"ids must be neither missing nor empty nor hold line breaks, got {value!r} in row {row}")
        texts[row] = text
    return texts


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
