"""One spelling for values, so that hashes agree for CSV, JSON, pandas, polars, Arrow and both databases.

An event is hashed as JSON: the name of its table, and its columns by name without missing ones. Bytes become a list of
one hexadecimal text. So a column that is added later does not change the hashes of earlier events. A row of inputs is
hashed in two parts: first its numbers in the order of the column names, eight bytes each (IEEE 754, little-endian, NaN
if there is none); then, as JSON by name, texts and whole numbers beyond 2^53. Numbers are hashed by value, so that 1,
1.0 and true are equal; dates are days since 1970; NaN, NaT, NA and null are missing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from hashlib import blake2b, sha256
from math import isfinite
from numbers import Integral, Real
from typing import Any

import numpy as np

from aucross.core.ranking import FloatArray
from aucross.frames import columns_of, days_of, is_missing, names_of, values_of

SALT_BYTES = 16
LONGEST_ID = 10_000
# Whole numbers up to here are exact as float64.
_EXACT = 2**53
_NOT_IN_TEXT = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")


def now(later: float = 0.0) -> str:
    """Return the current time in UTC as sortable text, to the microsecond, plus an optional number of seconds."""
    return moment(datetime.now(UTC) + timedelta(seconds=later))


def moment(value: Any) -> str:
    """Return a time as text; a date becomes its midnight in UTC, and a time without a zone is read as UTC."""
    try:
        if isinstance(value, str):
            value = datetime.fromisoformat(value.strip())
        elif isinstance(value, np.datetime64):
            value = value.astype("datetime64[us]").item()
        if isinstance(value, date) and not isinstance(value, datetime):
            value = datetime(value.year, value.month, value.day)
        value = value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    except (AttributeError, OverflowError, ValueError):
        raise ValueError(f"a time must be written as 2026-10-31 or 2026-10-31T14:05:00+01:00, got {value!r}") from None
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


def shortened(text: str) -> str:
    """Shorten a long text for a message."""
    return text if len(text) <= 60 else text[:57] + "..."


def text_fault(text: str, longest: int = LONGEST_ID) -> str | None:
    """Return the rule for names that a text breaks, to be read after "must"; None if it breaks none."""
    if not text:
        return "not be missing or empty"
    if len(text) > longest:
        return f"have at most {longest:,} characters"
    if _NOT_IN_TEXT.search(text):
        return "hold no control characters and only what UTF-8 can write"
    return None


def checked_texts(values: Iterable[Any], name: str, longest: int = LONGEST_ID) -> list[str]:
    """Return each value as text; refuse missing, empty or long values and control characters."""
    texts = [value if type(value) is str else "" if is_missing(value) else as_text(value) for value in values]
    for row, text in enumerate(texts):
        if fault := text_fault(text, longest):
            raise ValueError(f"{name} must {fault}, got {shortened(text)!r} in row {row}")
    return texts


def plain(value: Any) -> Any:
    """Return a kept value as a type that JSON can hold."""
    if is_missing(value):
        return None
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and not isfinite(value):
        return str(value)
    return value if isinstance(value, str | int | float | bool) else str(value)


# ---- rows of inputs ----


def canonical_rows(table: Any) -> tuple[list[str], list[bytes]]:
    """Return the sorted column names of a table (x0, x1, ... for an array), and the canonical bytes of each row."""
    if isinstance(table, Mapping):
        columns = {str(name): values for name, values in table.items()}
    else:
        known, listed = names_of(table), list(columns_of(table))
        columns = dict(zip(map(str, known or (f"x{place}" for place in range(len(listed)))), listed, strict=True))
    names = sorted(columns)
    if not names:
        return [], []
    numbers = np.empty((len(columns[names[0]]), len(names)), dtype="<f8")
    others: dict[int, dict[str, Any]] = {}
    for at, name in enumerate(names):
        numbers[:, at], of_column = _cells(columns[name])
        for row, value in of_column.items():
            others.setdefault(row, {})[name] = value
    numbers += 0.0  # -0 becomes 0
    numbers[np.isnan(numbers)] = np.nan  # of all NaN one
    content, width = numbers.tobytes(), 8 * len(names)
    rows = [content[start : start + width] for start in range(0, len(content), width)]
    for row, values in others.items():
        rows[row] += json.dumps(values, sort_keys=True).encode()
    return names, rows


def _cells(column: Any) -> tuple[FloatArray, dict[int, str | int]]:
    """Return the cells of a column as numbers, and, by row, the cells that a number cannot represent exactly."""
    array = column.to_numpy() if hasattr(column, "to_numpy") else column
    kind = array.dtype.kind if isinstance(array, np.ndarray) else ""
    if kind == "M" or getattr(getattr(column, "dtype", None), "tz", None) is not None:
        return days_of(column if hasattr(column, "dt") else array), {}
    if kind == "b" or (kind in tuple("iuf") and not (np.abs(array) > _EXACT).any()):
        return array.astype(np.float64), {}
    values = values_of(column)
    numbers, others = np.full(len(values), np.nan), dict[int, str | int]()
    for row, value in enumerate(values):
        if isinstance(value, str):
            others[row] = value
        elif is_missing(value):
            continue
        elif isinstance(value, date | np.datetime64):
            numbers[row] = days_of(np.array([value]))[0]
        elif isinstance(value, Integral) and abs(int(value)) > _EXACT:
            others[row] = int(value)
        elif isinstance(value, Real | np.bool_ | Decimal):
            numbers[row] = float(value)
        else:
            others[row] = str(value)
    return numbers, others


# ---- hashes ----

_json = json.JSONEncoder(default=lambda value: [bytes(value).hex()]).encode


def event_digest(table: str, names: Sequence[str], row: Sequence[Any]) -> bytes:
    """Return the digest of an event, computed from the name of its table and its columns that are not missing."""
    given = {name: value for name, value in zip(names, row, strict=True) if value is not None}
    return sha256(_json([table, given]).encode()).digest()


def transaction_hash(previous: bytes, number: int, first_event: int, time: str, digests: Sequence[bytes]) -> bytes:
    """Return the hash of a transaction, computed from the previous hash, its position, its time and its events."""
    head = _json([number, first_event, len(digests), time]).encode()
    return sha256(b"".join((previous, head, b"\0", *digests))).digest()


def first_hash(record_id: str) -> bytes:
    """Return the hash at the start of a chain, computed from the record's id, so that no chain fits another record."""
    return sha256(f"aucross record {record_id}".encode()).digest()


def commitment(content: bytes | Sequence[Any], salt: bytes) -> bytes:
    """Return a keyed hash of bytes or values; without the salt, nobody can guess the content from it."""
    return blake2b(
        content if isinstance(content, bytes) else _json(content).encode(), key=salt, digest_size=32
    ).digest()
