"""A short name for the content of rows: the same for the same values in the same order, however they are stored.

Files that were cut into other batches, compressed otherwise or written by another library have the same digest if they
hold the same rows. Numbers count by their value (1, 1.0 and True are one), a missing number is NaN, a category is what
it stands for, and everything else counts by its text.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aucross.system.libraries import import_library

# Whole numbers up to here are numbers of float64, too.
_EXACT = 2**53


class RowsDigest:
    """The digest of some columns, whose names and order count, fed batch by batch."""

    def __init__(self, names: Sequence[str]) -> None:
        self._n_rows = 0
        # Of each column the values, and what tells them apart: the lengths of texts, and numbers beyond float64.
        self._digests = {name: (sha256(), sha256()) for name in names}

    def add(self, batch: Any) -> None:
        """Add the rows of an Arrow batch that has these columns."""
        for name, (values, further) in self._digests.items():
            column = _plain(batch.column(name))
            is_null = column.is_null(nan_is_null=True).to_numpy(zero_copy_only=False)
            if column.type == _arrow().large_binary():
                content, lengths = _joined(column.fill_null(b""))
                values.update(content)
                further.update(np.where(is_null, -1, lengths).data)
                continue
            numbers = column.fill_null(0).to_numpy(zero_copy_only=False)
            values.update(np.where(is_null, np.nan, numbers.astype(np.float64) + 0.0).data)  # -0 becomes 0
            if numbers.dtype.kind in "iu" and len(large := np.flatnonzero((numbers > _EXACT) | (numbers < -_EXACT))):
                further.update((large + self._n_rows).data)
                further.update(numbers[large].data)
        self._n_rows += batch.num_rows

    def hexdigest(self) -> str:
        """Return the digest of all rows so far, 64 hexadecimal digits."""
        whole = sha256(str(self._n_rows).encode())
        for name, parts in self._digests.items():
            whole.update(repr((name, *(part.hexdigest() for part in parts))).encode())
        return whole.hexdigest()


def _plain(column: Any) -> Any:
    """Return a column as numbers, or as the bytes of texts; no encoding is left."""
    arrow = _arrow()
    if arrow.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if arrow.types.is_floating(kind):
        return column.cast(arrow.float64())
    if arrow.types.is_integer(kind) or arrow.types.is_boolean(kind):
        return column.cast(arrow.int8()) if arrow.types.is_boolean(kind) else column
    if not (arrow.types.is_string(kind) or arrow.types.is_large_string(kind)):
        texts = [None if value is None else str(value) for value in column.to_pylist()]
        column = arrow.array(texts, type=arrow.large_string())
    return column.cast(arrow.large_binary())


def _joined(column: Any) -> tuple[bytes | memoryview, NDArray[np.int64]]:
    """Return the texts of a column one after the other, and their lengths."""
    _, offsets, content = column.buffers()
    ends = np.frombuffer(offsets, dtype=np.int64)[column.offset : column.offset + len(column) + 1]
    return b"" if content is None else memoryview(content)[ends[0] : ends[-1]], np.diff(ends)


def _arrow() -> Any:
    return import_library("pyarrow", purpose="a folder of decisions", extra="arrow")
