"""The decision log as one CSV file.

::

    number,id,score,decision,...,time,checksum     one line a row, added at the end and forced to the disk

Lines are numbered, and the last field is a checksum of what stands before it, so that a reader can tell which lines are
whole and whether some are missing. A process that is killed in the middle leaves at most a torn last line, which is cut
off when the file is opened again.
"""

from __future__ import annotations

import csv
import io
import logging
import os
from collections.abc import Collection, Iterator
from contextlib import suppress
from datetime import datetime
from math import isnan, nan
from pathlib import Path
from typing import Any, BinaryIO
from zlib import crc32

import numpy as np

from aucross.record.log_rows import COLUMNS, NUMBER_COLUMNS, TEXT_COLUMNS, TRIAL, Columns, Damage, log_library
from aucross.system.spreadsheets import original_text, without_formula
from aucross.system.whole_files import sync_folder

logger = logging.getLogger(__name__)

_FIELDS = ("number", *COLUMNS, "checksum")
_HEADER = ",".join(_FIELDS).encode()
_BLOCK = 2**16

Row = tuple[Any, ...]


class CsvStore:
    """Rows in a CSV file with one writer at a time.

    Parameters
    ----------
    path : Path
        The file; it is made if missing. A torn last line is cut off.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path.absolute()  # the file stays the same if the process goes to another folder
        self._file: Any = open(path, "a+b", buffering=0)  # noqa: SIM115 - open as long as the log is
        try:
            _lock(self._file, path)
            self._check_header()
            self._cut_torn_line()
            self._end = self._length()
            if self._end == 0:
                self._write(_HEADER + b"\n")
                sync_folder(self._path.parent)
            self._last_number = _last_number(self._file, self._end)
        except BaseException:
            self._file.close()
            raise

    def append(self, columns: Columns) -> None:
        """Add rows; when this returns they are on the disk."""
        self._check_untouched()
        self._write(b"".join(_lines(columns, 1 + self._last_number)))
        self._last_number += len(columns["id"])

    def check(self) -> None:
        """Write something that is no line, force it to the disk and take it back: all else would be a guess."""
        self._check_untouched()
        end = self._end
        try:
            self._write(TRIAL)
            self._file.truncate(end)
        finally:
            self._end = end  # if it could not be taken back, the next row finds the file changed and is refused

    def close(self) -> None:
        """Close the file, which also ends the lock."""
        self._file.close()

    def _length(self) -> int:
        return os.fstat(self._file.fileno()).st_size

    def _check_header(self) -> None:
        """Refuse files of something else before a byte of them is changed."""
        self._file.seek(0)
        start = self._file.read(len(_HEADER) + 1)
        if start != (_HEADER + b"\n")[: len(start)]:
            raise ValueError(f"{_not_a_log(self._path)}; pass another path")

    def _cut_torn_line(self) -> None:
        length = self._length()
        whole = _end_of_last_line(self._file, length)
        if whole < length:
            logger.warning(
                "%s ended in the middle of a line: its last %d bytes are cut off", self._path, length - whole
            )
            self._file.truncate(whole)
            os.fsync(self._file.fileno())

    def _check_untouched(self) -> None:
        """Refuse to go on in a file that is no longer the one that was written."""
        remedy = "find out what changed it, then open a new DecisionLog"
        try:
            there = os.stat(self._path)
        except FileNotFoundError:
            raise FileNotFoundError(f"{self._path} was removed while the log was open; {remedy}") from None
        if not os.path.samestat(there, os.fstat(self._file.fileno())):
            raise OSError(f"{self._path} was replaced by another file while the log was open; {remedy}")
        if there.st_size != self._end:
            raise OSError(
                f"{self._path} was changed while the log was open: row {self._last_number:,} ended at byte "
                f"{self._end:,}, and the file has {there.st_size:,}; {remedy}"
            )

    def _write(self, content: bytes) -> None:
        try:
            left = memoryview(content)
            while left:
                left = left[self._file.write(left) :]
            os.fsync(self._file.fileno())
        except BaseException:
            with suppress(OSError):  # a full disk must not leave half a line for the next call to continue
                self._file.truncate(self._end)
            raise
        self._end += len(content)


def read_csv_log(path: Path) -> tuple[Any, list[Damage]]:
    """The rows of all whole lines as a frame, and what is not whole."""
    *lines, torn = path.read_bytes().split(b"\n")
    rows: dict[int, Row] = {}
    damages = [] if lines[:1] == [_HEADER] else [Damage("line 1", f"is not {_HEADER.decode()!r}")]
    # In a file as it was written, row n stands in line n + 1.
    distance = 1
    for place, line in enumerate(lines[1:], start=2):
        try:
            number, row = _numbered_row(line)
        except ValueError as error:
            damages.append(Damage(f"line {place}", str(error)))
            continue
        if number in rows:
            damages.append(Damage(f"line {place}", f"is row {number} once more"))
            continue
        if place - number < distance:
            reason = f"is row {number:,}: rows before it are missing ({distance - place + number:,})"
            damages.append(Damage(f"line {place}", reason))
        distance = place - number
        rows[number] = row
    # A log whose first line is damaged has whole lines below it; a file of something else has none.
    if lines[:1] != [_HEADER] and not rows:
        raise ValueError(_not_a_log(path))
    if torn:
        reason = "has no end: it is being written, its writer was killed, or the file was cut"
        damages.append(Damage(f"line {len(lines) + 1}", reason))
    return _as_frame(rows.values()), damages


def _lines(columns: Columns, first: int) -> Iterator[bytes]:
    """Rows as lines, numbered from ``first`` on."""
    values: dict[str, Any] = {name: columns[name].tolist() for name in TEXT_COLUMNS}
    values |= {name: [_csv_number(value) for value in columns[name].tolist()] for name in NUMBER_COLUMNS}
    values["id"] = [without_formula(text) for text in values["id"]]
    values["time"] = np.strings.add(np.datetime_as_string(columns["time"], unit="us"), "Z").tolist()
    text = io.StringIO()
    numbers = range(first, first + len(values["id"]))
    csv.writer(text, lineterminator="\n").writerows(zip(numbers, *(values[name] for name in COLUMNS), strict=True))
    for line in text.getvalue().encode().split(b"\n")[:-1]:
        yield line + b"," + _checksum(line) + b"\n"


def _csv_number(value: float) -> str:
    return "" if isnan(value) else repr(value)


def _checksum(line: bytes) -> bytes:
    return b"%08x" % crc32(line)


def _numbered_row(line: bytes) -> tuple[int, Row]:
    """Number and values of a whole line, or an error whose text ends a sentence about the line."""
    content, _, checksum = line.rpartition(b",")
    if checksum != _checksum(content):
        raise ValueError("differs from its checksum")
    try:
        fields = next(csv.reader([content.decode()], strict=True))
        number, name, score, decision, lower, upper, coverage, rule, model, moment = fields
        return int(number), (
            original_text(name),
            _float(score),
            decision,
            *(_float(lower), _float(upper), _float(coverage)),
            *(rule, model),
            datetime.fromisoformat(moment.removesuffix("Z")),
        )
    except (ValueError, csv.Error) as error:
        raise ValueError("has not the fields of a decision log") from error


def _float(text: str) -> float:
    # Reads back what repr wrote; parsers of CSV files may be wrong in the last digit.
    return float(text) if text else nan


def _last_number(file: BinaryIO, end: int) -> int:
    """Number of the last row; damaged lines after the last whole one count as rows."""
    size, start, lines = _BLOCK, end, [b""]
    while start > 0:
        start = max(end - size, 0)
        file.seek(start)
        lines = file.read(end - start).split(b"\n")[:-1]
        # The first may be the end of a line only, or the header.
        for n_after, line in enumerate(reversed(lines[1:])):
            with suppress(ValueError):
                return _numbered_row(line)[0] + n_after
        size *= 4
    return len(lines) - 1


def _as_frame(rows: Collection[Row]) -> Any:
    pandas = log_library("pandas")
    values = zip(*rows, strict=True) if rows else [()] * len(COLUMNS)
    columns: dict[str, Any] = {name: list(each) for name, each in zip(COLUMNS, values, strict=True)}
    columns |= {name: np.array(columns[name], dtype=np.float64) for name in NUMBER_COLUMNS}
    columns["time"] = pandas.Series(np.array(columns["time"], dtype="datetime64[us]")).dt.tz_localize("UTC")
    return pandas.DataFrame(columns)


def _not_a_log(path: Path) -> str:
    return f"{path} is not a decision log: its first line must be {_HEADER.decode()!r}"


def _end_of_last_line(file: BinaryIO, length: int) -> int:
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
