"""Values in one spelling, so that the bytes that are hashed agree for CSV, JSON, pandas, polars and Arrow.

Of a row of inputs, columns in the order of their names: for each a tag and eight bytes, then the texts. A number counts
by its value, so that 1, 1.0 and true are one; a date counts as days since 1970; NaN, NaT, NA and null are missing.

====  ======================================  ====================
tag   eight bytes                             after all heads
====  ======================================  ====================
n     the number, IEEE 754, little-endian
t     length of the text in UTF-8             the text
i     length of the digits                    a whole number beyond 2^53, in digits
m     zeros: the value is missing
====  ======================================  ====================

Of an event: all numbers in the order of the columns of its table, eight bytes each (IEEE 754 or 64-bit integers,
little-endian; a missing one is eight bytes of 255), then texts and bytes, each after its length in four bytes (a
missing one has a length of 2^32 - 1 and nothing after it).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from hashlib import blake2b, sha256
from math import isfinite
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Float, Integer, Table

from aucross.core.missing import is_missing
from aucross.frames import columns_of, days_of, names_of
from aucross.system.libraries import import_library

SALT_BYTES = 16
LONGEST_ID = 10_000
_EXACT = 2**53
_HEAD = np.dtype([("tag", "S1"), ("value", "<u8")])
_NOT_IN_TEXT = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
_NOTHING = b"\xff\xff\xff\xff"
# Eight bytes and tag of each value of a column, and the texts that follow.
_Heads = tuple[NDArray[np.uint64], Any, list[bytes] | None]


# ---- single values ----


def now() -> str:
    """Return the current time in UTC, to the microsecond."""
    return moment(datetime.now(UTC))


def moment(value: Any) -> str:
    """Return a time as text; a date is its midnight in UTC, and a time without a zone is taken as UTC."""
    try:
        if isinstance(value, str):
            value = datetime.fromisoformat(value.strip())
        elif isinstance(value, np.datetime64):
            value = value.astype("datetime64[us]").item()
    except ValueError:
        raise ValueError(f"a time must be written as 2026-10-31 or 2026-10-31T14:05:00+01:00, got {value!r}") from None
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    if not isinstance(value, datetime):
        raise ValueError(f"a time must be a date or a datetime, got {value!r}")
    value = value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    return value.isoformat(timespec="microseconds").replace("+00:00", "Z")


def as_text(value: Any) -> str:
    """Return a label or an id as text: whole numbers without a point, true and false as 1 and 0."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool | np.bool_):
        return str(int(value))
    if isinstance(value, Real) and not isinstance(value, Integral) and float(value).is_integer():
        return str(int(float(value)))
    return str(value)


def checked_texts(values: Iterable[Any], name: str, longest: int = LONGEST_ID) -> list[str]:
    """Return each value as text; refuse values that are missing, empty or long, or have control characters."""
    texts = [value if type(value) is str else "" if is_missing(value) else as_text(value) for value in values]
    if texts and (min(map(len, texts)) == 0 or max(map(len, texts)) > longest or _NOT_IN_TEXT.search("".join(texts))):
        for row, text in enumerate(texts):
            if fault := text_fault(text, longest):
                shown = repr(text if len(text) <= 60 else text[:57] + "...")
                raise ValueError(f"{name} must {fault}, got {shown} in row {row}")
    return texts


def text_fault(text: str, longest: int = LONGEST_ID) -> str | None:
    """Return what is wrong with a text that is used as a name; None if it is valid."""
    if not text:
        return "not be missing or empty"
    if len(text) > longest:
        return f"have at most {longest:,} characters"
    if _NOT_IN_TEXT.search(text):
        return "hold no control characters and only what UTF-8 can write"
    return None


def plain(value: Any) -> Any:
    """Return a kept value in a type that JSON knows."""
    if is_missing(value):
        return None
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and not isfinite(value):
        return str(value)
    return value if isinstance(value, str | int | float | bool) else str(value)


# ---- rows of inputs ----


def canonical_rows(table: Any) -> tuple[list[str], list[bytes]]:
    """Return the names of the columns of a table, sorted, and the canonical bytes of each row.

    Parameters
    ----------
    table : frame, Arrow table, array-like of shape (n, k) or mapping of str to sequence
        The inputs. The columns of an array are called x0, x1, ...
    """
    columns = _columns_of(table)
    names = sorted(columns)
    if not names:
        return [], []
    n_rows = len(columns[names[0]])
    heads = np.zeros((n_rows, len(names)), dtype=_HEAD)
    texts: list[list[bytes]] = []
    for at, name in enumerate(names):
        numbers, tags, column_texts = _heads_of(columns[name])
        heads["tag"][:, at], heads["value"][:, at] = tags, numbers
        if column_texts is not None:
            texts.append(column_texts)
    content, width = heads.tobytes(), _HEAD.itemsize * len(names)
    rows = [content[start : start + width] for start in range(0, width * n_rows, width)]
    return names, [b"".join(parts) for parts in zip(rows, *texts, strict=True)] if texts else rows


def _columns_of(table: Any) -> Mapping[str, Any]:
    if isinstance(table, Mapping):
        return {str(name): values for name, values in table.items()}
    names, columns = names_of(table), list(columns_of(table))
    names = [f"x{place}" for place in range(len(columns))] if names is None else [str(name) for name in names]
    return dict(zip(names, columns, strict=True))


def _heads_of(column: Any) -> _Heads:
    """Return eight bytes and the tag of each value, and the bytes after the heads if some values are text."""
    if isinstance(column, np.ndarray) and column.dtype.kind in "biuf":
        return _numbers_of(column)
    values = column if isinstance(column, list) else _arrow_of(column)
    if isinstance(values, list):
        return _texts_of(values)
    arrow = import_library("pyarrow", purpose="the record", extra="record")
    kind = values.type
    if arrow.types.is_timestamp(kind) or arrow.types.is_date(kind):
        return _numbers_of(days_of(values.cast(arrow.timestamp("us")).to_numpy(zero_copy_only=False)))
    if arrow.types.is_integer(kind) or arrow.types.is_floating(kind) or arrow.types.is_boolean(kind):
        values = values.cast(arrow.int8()) if arrow.types.is_boolean(kind) else values
        if not values.null_count:
            return _numbers_of(values.to_numpy(zero_copy_only=False))
        if not arrow.types.is_integer(kind) or not _is_beyond(values.fill_null(0).to_numpy(zero_copy_only=False)):
            return _numbers_of(values.cast(arrow.float64()).to_numpy(zero_copy_only=False))
    return _texts_of(values.to_pylist())


def _arrow_of(column: Any) -> Any:
    """Return a column as an Arrow array without encoding; as a list if its values have several types."""
    arrow = import_library("pyarrow", purpose="the record", extra="record")
    column = column.to_arrow() if hasattr(column, "to_arrow") else column  # polars
    try:
        is_arrow = isinstance(column, arrow.ChunkedArray | arrow.Array)
        values = column if is_arrow else arrow.array(column, from_pandas=True)
    except (arrow.ArrowInvalid, arrow.ArrowTypeError, arrow.ArrowNotImplementedError):
        return list(column)
    values = values.combine_chunks() if isinstance(values, arrow.ChunkedArray) else values
    return values.dictionary_decode() if arrow.types.is_dictionary(values.type) else values


def _is_beyond(numbers: NDArray[Any]) -> bool:
    """Return whether some whole numbers are too large for float64 to hold exactly."""
    return bool(len(numbers)) and max(abs(int(numbers.min())), abs(int(numbers.max()))) > _EXACT


def _numbers_of(numbers: NDArray[Any]) -> _Heads:
    if numbers.dtype.kind in "iu" and _is_beyond(numbers):
        return _texts_of(numbers.tolist())
    numbers = numbers.astype(np.float64) + 0.0  # -0 becomes 0
    is_missing_number = np.isnan(numbers)
    numbers[is_missing_number] = 0.0
    return numbers.view(np.uint64), np.where(is_missing_number, b"m", b"n"), None


def _texts_of(values: Sequence[Any]) -> _Heads:
    heads = [_head(value) for value in values]
    numbers = np.array([number for _, number, _ in heads], dtype=np.uint64)
    texts = [text for *_, text in heads]
    return numbers, np.array([tag for tag, *_ in heads], dtype="S1"), texts if any(texts) else None


def _head(value: Any) -> tuple[bytes, int, bytes]:
    if isinstance(value, str):
        content = value.encode("utf-8", "surrogatepass")
        return b"t", len(content), content
    if is_missing(value):
        return b"m", 0, b""
    if isinstance(value, date | np.datetime64):
        value = float(days_of(np.array([value]))[0])
    if isinstance(value, Integral) and abs(int(value)) > _EXACT:
        digits = str(int(value)).encode()
        return b"i", len(digits), digits
    if isinstance(value, Real | np.bool_) or type(value).__name__ == "Decimal":
        return b"n", int(np.float64(float(value) + 0.0).view(np.uint64)), b""
    return _head(str(value))


def commitments(rows: Sequence[bytes], salts: Sequence[bytes], names: Sequence[str] = ()) -> list[bytes]:
    """Return a keyed hash of each row, from which the row cannot be guessed once the salt is gone."""
    prefix = "\0".join(names).encode()
    return [blake2b(prefix + row, key=salt, digest_size=32).digest() for row, salt in zip(rows, salts, strict=True)]


def personal_rows(ids: Sequence[str], kept: Sequence[str | None]) -> list[bytes]:
    """Return the id and kept columns of each case as bytes, for its commitment."""
    encoded = [name.encode() for name in ids]
    if not any(kept):
        return [len(name).to_bytes(8, "little") + name for name in encoded]
    return [
        len(name).to_bytes(8, "little") + name + (b"" if more is None else more.encode())
        for name, more in zip(encoded, kept, strict=True)
    ]


def kept_rows(columns: Mapping[str, Sequence[Any]], n_rows: int) -> Sequence[str | None]:
    """Return the kept columns of each row as JSON text; None if there are none."""
    names = list(columns)
    if not names:
        return [None] * n_rows
    return [
        json.dumps(dict(zip(names, map(plain, values), strict=True)), ensure_ascii=False)
        for values in zip(*columns.values(), strict=True)
    ]


# ---- events ----


def event_digests(table: Table, columns: Mapping[str, Any], n_rows: int) -> list[bytes]:
    """Return the digest of each of some events of a table.

    Parameters
    ----------
    table : Table
        Where the events are stored.
    columns : mapping of str to sequence
        Values of each column of the table but the digest; None stands for a missing value.
    n_rows : int
        Number of events.
    """
    hashed = [column for column in table.columns if column.name != "digest"]
    first = [column for column in hashed if "since" not in column.info]
    numeric = [column for column in first if isinstance(column.type, Integer | Float)]
    heads = np.empty((n_rows, len(numeric)), dtype="<u8")
    for at, column in enumerate(numeric):
        heads[:, at] = _eight_bytes(columns[column.name], is_float=isinstance(column.type, Float), n_rows=n_rows)
    content, width = heads.tobytes(), 8 * len(numeric)
    parts = [content[start : start + width] for start in range(0, width * n_rows, width)]
    others = [_lengthened(columns[column.name]) for column in first if column not in numeric]
    later = [column.name for column in hashed if "since" in column.info]
    if later:
        others.append([_later(later, values) for values in zip(*(columns[name] for name in later), strict=True)])
    prefix = table.name.encode() + b"\0"
    return [sha256(prefix + b"".join(row)).digest() for row in zip(parts, *others, strict=True)]


def _eight_bytes(values: Any, *, is_float: bool, n_rows: int) -> NDArray[np.uint64]:
    """Return numbers as eight bytes each; None, and NaN among floats, as eight bytes of 255."""
    array = np.asarray(values, dtype=None if isinstance(values, np.ndarray) else object)
    if array.dtype == object:
        missing = np.array([value is None or value != value for value in array], dtype=bool)  # noqa: PLR0124
        array = np.where(missing, 0, array)
    else:
        missing = np.isnan(array) if array.dtype.kind == "f" else np.zeros(n_rows, dtype=bool)
    if is_float:
        content = np.ascontiguousarray(array.astype("<f8") + 0.0).view(np.uint64)
    else:
        content = np.ascontiguousarray(np.where(missing, 0, array).astype("<i8")).view(np.uint64)
    return np.where(missing, np.uint64(2**64 - 1), content)


def _lengthened(values: Sequence[str | bytes | None]) -> list[bytes]:
    """Return texts and bytes, each after its length; a repeated value is encoded once."""
    known: dict[Any, bytes] = {None: _NOTHING}
    made = []
    for value in values:
        found = known.get(value)
        if found is None:
            content = value.encode() if isinstance(value, str) else bytes(value)  # type: ignore[arg-type]
            found = len(content).to_bytes(4, "little") + content
            if len(known) < 1000:
                known[value] = found
        made.append(found)
    return made


def _later(names: Sequence[str], values: Sequence[Any]) -> bytes:
    given = {name: plain(value) for name, value in zip(names, values, strict=True) if value is not None}
    return json.dumps(given, sort_keys=True).encode() if given else b""


def transaction_hash(previous: bytes, number: int, first_event: int, time: str, digests: Sequence[bytes]) -> bytes:
    """Return the hash of a transaction: over the hash before it, its place, its time and its events."""
    head = json.dumps([number, first_event, len(digests), time]).encode()
    return sha256(b"".join((previous, head, b"\0", *digests))).digest()


def first_hash(record_id: str) -> bytes:
    """Return the hash before the first transaction, which names the record, so that no other record can follow it."""
    return sha256(f"aucross record {record_id}".encode()).digest()
