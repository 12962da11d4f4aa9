"""The decision log as a folder of Parquet files.

::

    decisions/part-<number>-<writer>-<checksum>.parquet    one file a call, renamed into place when it is whole

The number is one more than that of every part that was there when the call began: parts in the order of their names are
parts in the order of writing, whatever the clock says, and a number that no part has tells that a part is missing. Only
calls of several writers at the same moment may take the same number; then the name of the writer keeps them apart. A
process that is killed leaves at most a hidden temporary file, which nobody reads.
"""

from __future__ import annotations

import io
import os
import re
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any
from uuid import uuid4

from aucross.record.log_rows import COLUMNS, NUMBER_COLUMNS, TEXT_COLUMNS, TRIAL, Columns, Damage, log_library
from aucross.system.whole_files import write_whole

_PART = re.compile(r"part-(?P<number>\d{10,})-(?P<writer>[0-9a-f]{8})-(?P<checksum>[0-9a-f]{16})\.parquet")

# Temporary files of a writer that is at work are younger.
_OLD_SECONDS = 3600.0


class ParquetStore:
    """Rows in a folder of Parquet files, one for each call; many processes may write at the same time.

    Parameters
    ----------
    path : Path
        The folder; it is made if missing. Temporary files left by killed writers are removed when they are old.
    """

    def __init__(self, path: Path) -> None:
        log_library("pyarrow.parquet")
        if path.exists() and not path.is_dir():
            raise ValueError(
                f'{path} must be a folder for Parquet files, got a file; pass format="csv" or another path'
            )
        path.mkdir(parents=True, exist_ok=True)
        self._path = path.resolve()  # the folder stays the same if the process goes to another one
        self._writer = uuid4().hex[:8]
        self._sizes: dict[str, int] = {}
        self._last_number = 0
        self._look_again()
        self._remove_old_temporaries()

    def append(self, columns: Columns) -> None:
        """Add rows as one more file; when this returns it is on the disk."""
        self._look_again()
        number = 1 + self._last_number
        buffer = io.BytesIO()
        log_library("pyarrow.parquet").write_table(_as_arrow(columns), buffer)
        content = buffer.getvalue()
        start = f"{number:010d}-{self._writer}"
        name = f"part-{start}-{_checksum(start, content)}.parquet"
        write_whole(self._path / name, content)
        self._sizes[name], self._last_number = len(content), number

    def check(self) -> None:
        """Write a file that nobody reads, force it to the disk and remove it: all else would be a guess."""
        self._look_again()
        # Named as the temporary files are, so that one of a killed process is removed as they are.
        with NamedTemporaryFile(dir=self._path, prefix=".part-", suffix=".tmp") as file:
            file.write(TRIAL)
            file.flush()
            os.fsync(file.fileno())

    def close(self) -> None:
        """Nothing is open between two calls."""

    def _look_again(self) -> None:
        """See which parts there are, and that all that were there before still are, in full length."""
        remedy = "find out what changed it, then open a new DecisionLog"
        try:
            now = _part_sizes(self._path)
        except FileNotFoundError:
            raise FileNotFoundError(f"{self._path} was removed while the log was open; {remedy}") from None
        for name, size in self._sizes.items():
            if name not in now:
                raise FileNotFoundError(f"{self._path / name} was removed while the log was open; {remedy}")
            if now[name] != size:
                raise OSError(
                    f"{self._path / name} was changed while the log was open: it had {size:,} bytes and has "
                    f"{now[name]:,}; {remedy}"
                )
        self._last_number = max([self._last_number, *_numbers(now.keys() - self._sizes.keys())])
        self._sizes = now

    def _remove_old_temporaries(self) -> None:
        for leftover in self._path.glob(".part-*.tmp"):
            with suppress(FileNotFoundError):  # another process removes it too
                if time.time() - leftover.stat().st_mtime > _OLD_SECONDS:
                    leftover.unlink()


def read_parquet_log(path: Path) -> tuple[Any, list[Damage]]:
    """The rows of all whole parts as a frame, in the order of writing, and what is not whole."""
    tables, damages = [_arrow_schema().empty_table()], []
    names = sorted(part.name for part in path.glob("part-*.parquet"))
    for name in names:
        try:
            tables.append(_whole_part(path / name))
        except (ValueError, OSError) as error:
            damages.append(Damage(name, str(error)))
    damages += [Damage(which, "missing") for which in _missing_parts(sorted({*_numbers(names)}))]
    return log_library("pyarrow").concat_tables(tables).to_pandas(), damages


def _whole_part(part: Path) -> Any:
    """The rows of a part, or an error whose text ends a sentence about it."""
    name = _PART.fullmatch(part.name)
    if name is None:
        raise ValueError("has a name that the log gives to no part")
    try:
        content = part.read_bytes()
    except OSError as error:
        raise OSError(f"cannot be read ({error.strerror})") from error
    if _checksum(f"{name['number']}-{name['writer']}", content) != name["checksum"]:
        raise ValueError("differs from its checksum")
    try:
        table = log_library("pyarrow.parquet").ParquetFile(io.BytesIO(content)).read()
    except (OSError, ValueError) as error:  # pyarrow's own errors are of these types
        raise ValueError("is no Parquet file") from error
    if table.schema != _arrow_schema():
        raise ValueError("has other columns than a decision log")
    return table


def _checksum(start: str, content: bytes) -> str:
    # With the start of the name, so that a part under another number is not taken for whole.
    return sha256(start.encode() + content).hexdigest()[:16]


def _part_sizes(path: Path) -> dict[str, int]:
    with os.scandir(path) as entries:
        return {entry.name: entry.stat().st_size for entry in entries if entry.name.startswith("part-")}


def _numbers(names: Iterable[str]) -> Iterator[int]:
    for name in names:
        if match := _PART.fullmatch(name):
            yield int(match["number"])


def _missing_parts(numbers: list[int]) -> Iterator[str]:
    """Say which numbers from 1 on are not there: "part 3 is", "parts 5 to 7 are"."""
    for before, after in zip([0, *numbers], numbers, strict=False):
        if after == before + 2:
            yield f"part {before + 1} is"
        elif after > before + 2:
            yield f"parts {before + 1} to {after - 1} are"


def _arrow_schema() -> Any:
    """Types of the columns in Parquet files."""
    arrow = log_library("pyarrow")
    types = {
        **dict.fromkeys(TEXT_COLUMNS, arrow.string()),
        **dict.fromkeys(NUMBER_COLUMNS, arrow.float64()),
        "time": arrow.timestamp("us", tz="UTC"),
    }
    return arrow.schema([(name, types[name]) for name in COLUMNS])


def _as_arrow(columns: Columns) -> Any:
    """Rows as an Arrow table; NaN becomes a missing value."""
    arrow = log_library("pyarrow")
    schema = _arrow_schema()
    arrays = [arrow.array(columns[name], type=schema.field(name).type, from_pandas=True) for name in COLUMNS]
    return arrow.Table.from_arrays(arrays, schema=schema)
