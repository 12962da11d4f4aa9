"""Tables of decisions, written batch by batch into files that appear whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from aucross.cli.column_kinds import is_text
from aucross.cli.table_files import DELIMITERS, format_of
from aucross.system.text import FORMULA, MARK, NEGATIVE_NUMBER
from aucross.system.whole_files import whole_file

_COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}


@contextmanager
def table_writer(path: Path, schema: pa.Schema) -> Iterator[Any]:
    """Yield a writer of batches of a table, in the format of the file's ending; the file appears whole or never."""
    table_format = format_of(path)
    with whole_file(path) as file:
        if table_format == "parquet":
            with pyarrow.parquet.ParquetWriter(file, schema, compression="zstd") as writer:
                yield writer
            return
        stream: Any = nullcontext(file)
        if (compression := _COMPRESSIONS.get(path.suffix.lower())) is not None:
            stream = pa.CompressedOutputStream(pa.PythonFile(_KeptOpen(file), "w"), compression)
        with stream as opened:
            yield _CsvWriter(opened, schema, "\t" if ".tsv" in path.name.lower() else ",")


class _KeptOpen:
    """A file that stays open when Arrow closes its stream, so that it can first be forced to the disk."""

    def __init__(self, file: Any) -> None:
        self.write = file.write
        self.flush = file.flush
        self.closed = False

    def close(self) -> None:
        """End the stream, but keep the file open."""
        self.closed = True


class _CsvWriter:
    """Writer of CSV lines: quotes only where a value needs them, and no text that a spreadsheet would run."""

    def __init__(self, stream: Any, schema: pa.Schema, delimiter: str) -> None:
        self._stream = stream
        self._delimiter = delimiter
        names = _quoted(_without_formulas(pa.array(schema.names, pa.string()))).to_pylist()
        stream.write((delimiter.join(names) + "\n").encode())

    def write(self, batch: pa.RecordBatch) -> None:
        """Append rows."""
        columns = []
        for column in batch.columns:
            text = pc.fill_null(column.cast(pa.string()), "")
            columns.append(_quoted(_without_formulas(text) if is_text(column.type) else text))
        last = pc.binary_join_element_wise(columns.pop(), "\n", "")
        lines = pc.binary_join_element_wise(*columns, last, self._delimiter)
        self._stream.write("".join(lines.to_pylist()).encode())


def n_marked(column: pa.Array, path: Path) -> int:
    """Return how many values of a column get an apostrophe because a spreadsheet would run them as formulas."""
    if format_of(path) == "parquet" or not is_text(column.type):
        return 0
    return pc.sum(_are_formulas(pc.fill_null(column.cast(pa.string()), ""))).as_py() or 0


def _without_formulas(text: pa.Array) -> pa.Array:
    """Put an apostrophe before each text of a column that a spreadsheet would run as a formula."""
    is_formula = _are_formulas(text)
    if not pc.any(is_formula).as_py():
        return text
    return pc.if_else(is_formula, pc.binary_join_element_wise(MARK, text, ""), text)


def _are_formulas(text: pa.Array) -> pa.Array:
    is_number = pc.match_substring_regex(text, rf"\A{NEGATIVE_NUMBER}\z")
    return pc.and_not(pc.match_substring_regex(text, FORMULA), is_number)


def _quoted(text: pa.Array) -> pa.Array:
    # A spreadsheet may part the values at another separator than ours, and would find formulas behind it.
    needs_quotes = pc.match_substring_regex(text, f'[{DELIMITERS}"\r\n]')
    if not pc.any(needs_quotes).as_py():
        return text
    doubled = pc.replace_substring(text, '"', '""')
    return pc.if_else(needs_quotes, pc.binary_join_element_wise('"', doubled, '"', ""), text)
