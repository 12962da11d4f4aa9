"""Where logged decisions are kept: one CSV file, or a folder of Parquet files.

::

    decisions.csv                    one line a row, added at the end and forced to the disk
    decisions/part-<time>-<id>.parquet    one file a call, renamed into place when it is whole

A process that is killed in the middle leaves at most a torn last line, which is cut off when the file is opened again,
or a hidden temporary file, which nobody reads.
"""

from __future__ import annotations

import csv
import io
import logging
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from math import isnan
from pathlib import Path
from typing import Any, BinaryIO, Protocol
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from aucross.system.files import sync_folder, write_whole
from aucross.system.libraries import import_library

logger = logging.getLogger(__name__)

TEXT_COLUMNS = ("id", "decision", "rule_fingerprint", "model_fingerprint")
NUMBER_COLUMNS = ("score", "lower", "upper", "target_coverage")
COLUMNS = (
    "id",
    "score",
    "decision",
    "lower",
    "upper",
    "target_coverage",
    "rule_fingerprint",
    "model_fingerprint",
    "time",
)

# Temporary files of a writer that is at work are younger.
_OLD_SECONDS = 3600.0
_BLOCK = 2**16

Columns = Mapping[str, NDArray[Any]]


class RowStore(Protocol):
    """Keeps rows on the disk."""

    def append(self, columns: Columns) -> None:
        """Add rows; when this returns they are on the disk."""
        ...

    def close(self) -> None:
        """Give the files free."""
        ...


class CsvStore:
    """Rows in a CSV file with one writer at a time.

    Parameters
    ----------
    path : Path
        The file; it is made if missing. A torn last line is cut off.
    """

    _HEADER = (",".join(COLUMNS) + "\n").encode()

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file: Any = open(path, "a+b", buffering=0)  # noqa: SIM115 - open as long as the log is
        try:
            _lock(self._file, path)
            self._check_header()
            self._cut_torn_line()
            if self._length() == 0:
                self._write(self._HEADER)
                sync_folder(path.parent)
        except BaseException:
            self._file.close()
            raise

    def append(self, columns: Columns) -> None:
        """Add rows; when this returns they are on the disk."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        numbers = {name: [_csv_number(value) for value in columns[name].tolist()] for name in NUMBER_COLUMNS}
        times = np.strings.add(np.datetime_as_string(columns["time"], unit="us"), "Z").tolist()
        texts = {name: columns[name].tolist() for name in TEXT_COLUMNS}
        values = {**texts, **numbers, "time": times}
        writer.writerows(zip(*(values[name] for name in COLUMNS), strict=True))
        self._write(text.getvalue().encode())

    def close(self) -> None:
        """Close the file, which also ends the lock."""
        self._file.close()

    def _length(self) -> int:
        return os.fstat(self._file.fileno()).st_size

    def _check_header(self) -> None:
        """Refuse files of something else before a byte of them is changed."""
        self._file.seek(0)
        start = self._file.read(len(self._HEADER))
        if start != self._HEADER[: len(start)]:
            raise ValueError(
                f"{self.path} is not a decision log: its first line must be {','.join(COLUMNS)!r}; pass another path"
            )

    def _cut_torn_line(self) -> None:
        length = self._length()
        whole = end_of_last_line(self._file, length)
        if whole < length:
            logger.warning("%s ended in the middle of a line: its last %d bytes are cut off", self.path, length - whole)
            self._file.truncate(whole)
            os.fsync(self._file.fileno())

    def _write(self, content: bytes) -> None:
        length = self._length()
        try:
            left = memoryview(content)
            while left:
                left = left[self._file.write(left) :]
            os.fsync(self._file.fileno())
        except BaseException:
            with suppress(OSError):  # a full disk must not leave half a line for the next call to continue
                self._file.truncate(length)
            raise


def _csv_number(value: float) -> str:
    return "" if isnan(value) else repr(value)


def end_of_last_line(file: BinaryIO, length: int) -> int:
    """Number of bytes up to and with the last line break."""
    stop = length
    while stop > 0:
        start = max(stop - _BLOCK, 0)
        file.seek(start)
        place = file.read(stop - start).rfind(b"\n")
        if place >= 0:
            return start + place + 1
        stop = start
    return 0


def _lock(file: Any, path: Path) -> None:
    """Keep other writers out; the system gives the lock free when this process ends, however it ends."""
    try:
        if os.name == "nt":
            import msvcrt  # noqa: PLC0415 - exists on Windows only

            file.seek(2**30)  # a byte that nobody reads
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        else:
            import fcntl  # noqa: PLC0415 - exists on POSIX systems only

            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise BlockingIOError(
            f"{path} is open in another DecisionLog, and a CSV file has one writer at a time; close that log, or pass "
            "a folder for Parquet files, which takes many"
        ) from error


class ParquetStore:
    """Rows in a folder of Parquet files, one for each call; many processes may write at the same time.

    Parameters
    ----------
    path : Path
        The folder; it is made if missing. Temporary files left by killed writers are removed when they are old.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        log_library("pyarrow.parquet")
        if path.exists() and not path.is_dir():
            raise ValueError(
                f'{path} must be a folder for Parquet files, got a file; pass format="csv" or another path'
            )
        path.mkdir(parents=True, exist_ok=True)
        self._remove_old_temporaries()

    def append(self, columns: Columns) -> None:
        """Add rows as one more file; when this returns it is on the disk."""
        parquet = log_library("pyarrow.parquet")
        buffer = io.BytesIO()
        parquet.write_table(as_arrow(columns), buffer)
        # Names in order of time, and never twice.
        now = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
        write_whole(self.path / f"part-{now}-{uuid4().hex}.parquet", buffer.getvalue())

    def close(self) -> None:
        """Nothing is open between two calls."""

    def _remove_old_temporaries(self) -> None:
        for leftover in self.path.glob(".part-*.tmp"):
            with suppress(FileNotFoundError):  # another process removes it too
                if time.time() - leftover.stat().st_mtime > _OLD_SECONDS:
                    leftover.unlink()


def log_library(module: str) -> Any:
    """A library that reads or writes logs."""
    return import_library(module, purpose="the decision log", extra="deploy")


def arrow_schema() -> Any:
    """Types of the columns in Parquet files."""
    arrow = log_library("pyarrow")
    types = {
        **dict.fromkeys(TEXT_COLUMNS, arrow.string()),
        **dict.fromkeys(NUMBER_COLUMNS, arrow.float64()),
        "time": arrow.timestamp("us", tz="UTC"),
    }
    return arrow.schema([(name, types[name]) for name in COLUMNS])


def as_arrow(columns: Columns) -> Any:
    """Rows as an Arrow table; NaN becomes a missing value."""
    arrow = log_library("pyarrow")
    schema = arrow_schema()
    arrays = [arrow.array(columns[name], type=schema.field(name).type, from_pandas=True) for name in COLUMNS]
    return arrow.Table.from_arrays(arrays, schema=schema)
