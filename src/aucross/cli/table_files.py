"""Tables in files: CSV, plain or compressed, and Parquet, one file or a folder of them, whole or in batches.

Every column of a CSV file is read as text, which :mod:`aucross.cli.column_kinds` converts. So a code such as 007 stays
unchanged, and a batch of a large file is read like the whole file.
"""

from __future__ import annotations

import csv
import io
import os
import re
import stat
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from aucross.cli.errors import CommandError, UsageError, listed, nearest, one_line
from aucross.system.whole_files import LONGEST_NAME, followed, parquet_files, remove_orphans

Format = Literal["csv", "parquet"]

ENDINGS: dict[str, Format] = {
    **dict.fromkeys((".csv", ".csv.gz", ".csv.zst", ".tsv", ".tsv.gz", ".tsv.zst", ".txt"), "csv"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
}
DELIMITERS = ",;\t|"

# Bytes of a CSV file, and rows of a Parquet file, that are in memory at a time.
BLOCK_BYTES = 4 * 2**20
BATCH_ROWS = 50_000
_HEADER_BYTES = 2**20
_LONGEST_HEADER = 2**26
_LOOKS_LIKE_A_VALUE = re.compile(r"[+-]?[0-9][0-9.,:eE /-]*")


@dataclass(frozen=True)
class TableFile:
    """A table in a file or folder: its path and its columns."""

    path: Path
    format: Format
    sources: Mapping[str, str]  # name of each column, and the same as the file spells it
    delimiter: str = ","
    n_unnamed: int = 0
    parts: tuple[Path, ...] = ()  # the files of a folder; none if the path is the file

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that hold the rows, in their order."""
        return self.parts or (self.path,)

    @property
    def names(self) -> list[str]:
        """Names of the columns in the order of the file; columns without a name are not read."""
        return list(self.sources)

    def check_has(self, column: str | None, option: str) -> None:
        """Refuse a column that an option names and the table lacks."""
        if column is None or column in self.names:
            return
        # Without a header the first row stands in its place, which is for no screen.
        is_row = any(_LOOKS_LIKE_A_VALUE.fullmatch(name) for name in self.names)
        hint = "is its first line a line of column names?" if is_row else nearest(column, self.names)
        raise CommandError(f"{option}: {self.path.name} has no column {column!r}; {hint}")


def ending_of(path: Path) -> str | None:
    """Return the ending of a table's file name, such as .csv.gz; None if the name is not that of a table."""
    return next((ending for ending in ENDINGS if path.name.lower().endswith(ending)), None)


def format_of(path: Path) -> Format:
    """Return the format that the ending of a file name stands for."""
    if (ending := ending_of(path)) is not None:
        return ENDINGS[ending]
    raise CommandError(
        f"{path}: the ending says nothing about the format; use .csv, .csv.gz, .csv.zst, .tsv or .parquet"
    )


def check_readable(path: Path, kind: str = "file") -> None:
    """Refuse a path that is missing, not readable, or not a file."""
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise CommandError(f"there is no {kind} {path}; {_CHECK_PATH[kind]}") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or one_line(error)
        raise CommandError(f"cannot read {path}: {reason}; {_CHECK_PATH[kind]}") from None
    if stat.S_ISDIR(mode):
        raise CommandError(f"{path} is a folder; name the {kind} in it")
    if not stat.S_ISREG(mode):
        raise CommandError(f"{path} is a pipe or a device, and is read more than once; write its content to a file")
    if not os.access(path, os.R_OK):
        raise CommandError(f"no permission to read {path}; ask its owner for it")


def check_table(path: Path) -> None:
    """Refuse a path that is neither a readable file nor a folder of Parquet files."""
    for part in _parts(path) or (path,):
        check_readable(part)


def _parts(path: Path) -> tuple[Path, ...]:
    if not os.path.isdir(path):  # Path.is_dir raises where a name is too long
        return ()
    if parts := parquet_files(path):
        return tuple(parts)
    raise CommandError(f"{path} is a folder without Parquet files; name the file in it")


def check_writable(path: Path, option: str = "--out") -> None:
    """Refuse a file that cannot be written, before any work is done."""
    if (n_bytes := len(os.fsencode(path.name))) > LONGEST_NAME:
        raise UsageError(
            f"{option}: the name of the file has {n_bytes} bytes, and {LONGEST_NAME} is the most; shorten it"
        )
    try:
        target = followed(path)
        is_folder = path.is_dir()
    except (OSError, ValueError) as error:
        raise CommandError(f"{option}: no file can be written at {path}: {one_line(error)}; name another") from None
    if not target.parent.is_dir():
        raise CommandError(f"{option}: there is no folder {target.parent}; make it first")
    if is_folder:
        raise UsageError(f"{option}: {path} is a folder; name a file in it")
    if not os.access(target.parent, os.W_OK):
        raise CommandError(f"{option}: no permission to write in {target.parent}; choose another folder")
    if target.exists() and not target.is_file():
        raise UsageError(f"{option}: {path} is a pipe or a device, and the file must appear whole; name a file")
    if target.exists() and not os.access(target, os.W_OK):
        raise CommandError(f"{option}: {path} is write-protected; name another file")
    remove_orphans(target)


_CHECK_PATH = {"file": "check the path", "model file": "make one with `aucross fit`"}


def open_table(path: Path, separator: str | None = None) -> TableFile:
    """Read the format and columns of a file, or of a folder of Parquet files, without the rows."""
    if separator is not None:
        separator = {"tab": "\t", "\\t": "\t"}.get(separator.lower(), separator)
        if len(separator) != 1 or not separator.isascii() or separator.isalnum() or separator in '"\r\n\0':
            raise UsageError(f"--separator must be one character such as ; or the word tab, got {separator!r}")
    parts = _parts(path)
    table_format = "parquet" if parts else format_of(path)
    check_table(path)
    if table_format == "parquet":
        spelled, delimiter = _columns_of_all(parts or (path,)), ","
    else:
        with _reading(path):
            spelled, delimiter = _header(path, separator)
    names = [name.strip() for name in spelled]
    repeated = [name for name, count in Counter(names).items() if count > 1 and name]
    if repeated:
        raise CommandError(f"{path.name} has more than one column {listed(repeated)}; rename all but one")
    sources = {name: source for name, source in zip(names, spelled, strict=True) if name}
    return TableFile(path, table_format, sources, delimiter, len(names) - len(sources), parts)


def _columns_of_all(files: Sequence[Path]) -> list[str]:
    """Return the column names of Parquet files, which must all have the same columns."""
    found: list[str] | None = None
    for path in files:
        with _reading(path):
            names = pyarrow.parquet.read_schema(path).names
        found = names if found is None else found
        if odd := set(names) ^ set(found):
            raise CommandError(
                f"{path.name} and {files[0].name} must have the same columns, got {listed(sorted(odd))} in one of "
                "them; write the files of a folder alike"
            )
    return found or []


def read_table(table: TableFile) -> pa.Table:
    """Return all rows; refuse a table without rows, or one that does not fit in memory."""
    _check_fits_in_memory(table)
    if table.format == "parquet":
        spelled, tables = list(table.sources.values()), []
        for path in table.files:
            with _reading(path), pyarrow.parquet.ParquetFile(path) as file:
                tables.append(file.read(columns=spelled).select(spelled))
        with _reading(table.path):
            whole = tables[0] if len(tables) == 1 else pa.concat_tables(tables, promote_options="permissive")
    else:
        with _reading(table.path, table):
            whole = pyarrow.csv.read_csv(_stream(table.path), **_csv_options(table, table.names))
    if not whole.num_rows:
        raise CommandError(f"{table.path.name} has no rows below its header")
    return whole.select(list(table.sources.values())).rename_columns(table.names)


def _check_fits_in_memory(table: TableFile) -> None:
    """Refuse a table that takes more than half of the memory, because a fit needs more than its rows."""
    size, memory = table.path.stat().st_size, memory_bytes()
    if table.format == "parquet":
        size = 0
        for path in table.files:
            with _reading(path):
                about = pyarrow.parquet.read_metadata(path)
            size += sum(about.row_group(number).total_byte_size for number in range(about.num_row_groups))
    if memory is None or size <= memory / 2:
        return
    gigabytes = f"{size / 1e9:.3g} GB of values in {table.path.name}, and {memory / 1e9:.3g} GB of memory"
    remedy = (
        "run `aucross fit` with --engine dask or --engine spark, which keep a part of the rows at a time"
        if table.format == "parquet"
        else "write it as a folder of Parquet files, and run `aucross fit` with --engine dask or --engine spark"
    )
    raise CommandError(f"{gigabytes}: all rows are kept in memory here; {remedy}")


def memory_bytes() -> int | None:
    """Return the bytes of memory that this process may use, within its container's limit; None if unknown."""
    limits = []
    with suppress(ValueError, OSError, AttributeError):
        limits.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    with suppress(ValueError, OSError):  # "max" is no number
        limits.append(int(Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii")))
    return min(limits, default=None)


def read_batches(table: TableFile, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yield the given columns batch by batch, in the order of the file."""
    columns = [name for name in table.names if name in set(columns)]
    spelled = [table.sources[name] for name in columns]
    for path in table.files:
        with _reading(path, table), ExitStack() as opened:
            if table.format == "parquet":
                # Without buffers ahead of the reader a large row group is not in memory as a whole.
                whole = pyarrow.parquet.ParquetFile(path, pre_buffer=False, buffer_size=BLOCK_BYTES)
                batches = opened.enter_context(whole).iter_batches(BATCH_ROWS, columns=spelled, use_threads=False)
            else:
                batches = opened.enter_context(pyarrow.csv.open_csv(_stream(path), **_csv_options(table, columns)))
            for batch in batches:
                if batch.num_rows:
                    yield batch.select(spelled).rename_columns(columns)


def _stream(path: Path) -> Any:
    return pa.input_stream(str(path), compression="detect")


def _header(path: Path, separator: str | None) -> tuple[list[str], str]:
    """Return the column names exactly as in the file, and their separator."""
    with _stream(path) as stream:
        start = stream.read(_HEADER_BYTES)
        # Of a line that is cut, some columns would be missing in silence.
        while not re.search(rb"[^\r\n][\r\n]", start) and (more := stream.read(_HEADER_BYTES)):
            if len(start) >= _LONGEST_HEADER:
                raise CommandError(f"{path.name} has no end of its first line, that of column names; save it as CSV")
            start += more
    if b"\x00" in start:
        raise CommandError(f"{path.name} is not UTF-8 text; save it as CSV in UTF-8")
    text = start.decode("utf-8-sig", errors="replace")
    if not text.strip():
        raise CommandError(f"{path.name} is empty; a table starts with a line of column names")
    first_line = text.lstrip("\r\n").splitlines()[0]
    # A separator between quotes is part of a name.
    delimiter = separator or max(DELIMITERS, key=re.sub('"[^"]*"', "", first_line).count)
    names = next(row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row)
    if any("\ufffd" in name for name in names):
        raise CommandError(f"the column names of {path.name} are not UTF-8 text; save the file as CSV in UTF-8")
    return names, delimiter


def _csv_options(table: TableFile, columns: Sequence[str]) -> dict[str, Any]:
    spelled = [table.sources[name] for name in columns]
    return {
        "read_options": pyarrow.csv.ReadOptions(block_size=BLOCK_BYTES),
        "parse_options": pyarrow.csv.ParseOptions(delimiter=table.delimiter, newlines_in_values=True),
        "convert_options": pyarrow.csv.ConvertOptions(
            column_types={name: pa.string() for name in spelled}, include_columns=spelled
        ),
    }


def _odd_row(table: TableFile) -> str:
    """Return a description of the first malformed row; reads the file again without threads, to count rows."""
    found: list[Any] = []

    def remember(row: Any) -> str:
        found.append(row)
        return "error"

    reading = pyarrow.csv.ReadOptions(block_size=BLOCK_BYTES, use_threads=False)
    parsing = pyarrow.csv.ParseOptions(delimiter=table.delimiter, newlines_in_values=True, invalid_row_handler=remember)
    with (
        suppress(pa.ArrowInvalid),
        pyarrow.csv.open_csv(_stream(table.path), read_options=reading, parse_options=parsing) as reader,
    ):
        for _ in reader:
            pass
    told = "a row has more or fewer values than the header"
    if found:
        row = found[0]
        told = f"row {row.number - 2} has {row.actual_columns} values, and the header has {row.expected_columns}"
    return f"{told}; correct that line, or put values that contain the separator in quotes"


@contextmanager
def _reading(path: Path, table: TableFile | None = None) -> Iterator[None]:
    """Raise an error that says which file could not be read and why; name an odd row by number, never by values."""
    try:
        yield
    except (pa.ArrowException, OSError, EOFError, UnicodeError, csv.Error) as error:
        is_odd = table is not None and table.format == "csv" and "columns, got" in str(error)
        reason = _odd_row(table) if is_odd and table is not None else _without_data(error)
        raise CommandError(f"cannot read {path.name}: {reason}") from (None if is_odd else error)


def _without_data(error: Exception) -> str:
    """Return the fault in a file and the remedy, without quoting any of its content."""
    text = str(error)
    if isinstance(error, PermissionError):
        return "no permission; ask its owner for it"
    if "UTF8" in text or "utf" in text.casefold():
        return "it is not UTF-8 text; save it as CSV in UTF-8"
    if "straddling" in text or "field larger" in text:
        return (
            f"a row is longer than {BLOCK_BYTES // 2**20} MB, perhaps because a quote is never closed; close it, or "
            "shorten the row"
        )
    return "it is damaged or no such file; check that the file is whole and of the format that its ending says"
