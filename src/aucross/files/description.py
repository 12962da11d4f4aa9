"""Describe a fitted object: JSON that says what to build, and the arrays beside it.

A description is a list of entries. An entry refers only to earlier ones, by number, so there are no cycles and a reader
can build one entry after the other::

    [{"@array": "<f8", "shape": [3], "order": "C"},                             the first array
     {"@object": "aucross.RankedScores", "state": {"scores": {"@ref": 0}, ...}},
     {"@object": "aucross.OptimalBands", "state": {"ranked": {"@ref": 1}, "width": "full"}}]

Objects, arrays and everything else that may occur twice are entries. They contain plain values:

==================================  ========================================================================
value                               written as
==================================  ========================================================================
None, booleans, whole numbers, text  JSON
numbers                             JSON, or ``{"@float": "nan"}`` where JSON has no word
lists                               JSON
tuples, dictionaries, slices        ``{"@tuple": [...]}``, ``{"@dict": [[key, value], ...]}``, ``{"@slice": [...]}``
numbers of numpy                    ``{"@number": "float64", "value": 0.5}``
dates, times, spans, decimals       ``{"@date": "2024-03-31"}`` and the like
intervals of pandas                 ``{"@interval": [0, 1], "closed": "right"}``
types and functions from the list   ``{"@type": "numpy.float64"}``, ``{"@function": "numpy.log1p"}``
==================================  ========================================================================
"""

from __future__ import annotations

import re
import sys
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from functools import partial
from hashlib import sha256
from math import isfinite, prod
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from aucross.files import listed
from aucross.files.roles import NOT_STORED
from aucross.files.sklearn_names import OF_RUNS

MOST_DEPTH = 100

_UNITS = "Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as"
_STORED = re.compile(rf"\|b1|\|[iu]1|<[iu][248]|<f[248]|<c(8|16)|<[mM]8\[\d{{0,6}}({_UNITS})\]")
_MOST_DIMENSIONS = 32
_LARGEST_SIDE = 2**48

_LABELS = frozenset({str, int, float, bool, type(None), date, datetime, timedelta, Decimal})


@dataclass
class Description:
    """Builds the description of an object, entry by entry."""

    entries: list[Any] = field(default_factory=list)  # ready for JSON
    arrays: list[bytes] = field(default_factory=list)  # what the entries of arrays stand for, as .npy files
    digests: list[bytes] = field(default_factory=list)  # SHA-256 of each array
    unlisted: dict[str, Any] = field(default_factory=dict)  # what a reader refuses unless it is named as trusted
    libraries: set[str] = field(default_factory=set)  # packages that the classes come from
    _numbers: dict[int, int] = field(default_factory=dict, repr=False)  # of the entry of a value, by its identity
    _values: list[Any] = field(default_factory=list, repr=False)  # kept, so that no identity is given twice
    _open: list[int] = field(default_factory=list, repr=False)  # identities of what is being written
    _place: str = "the value"

    def node(self, value: Any) -> Any:
        """Return the JSON of a value, its node; objects and arrays become entries, and the node refers to them."""
        writer = _WRITERS.get(type(value)) or next(
            (write for kind, write in _FAMILIES if isinstance(value, kind)), None
        )
        if writer is not None:
            return writer(self, value)
        return _of_pandas(self, value) or self.reference(value, self._object)

    def reference(self, value: Any, entry: Callable[[Any], Any]) -> dict[str, int]:
        """Return a reference to a value's entry; write the entry when the value first occurs."""
        if id(value) not in self._numbers:
            if id(value) in self._open or len(self._open) > MOST_DEPTH:
                self.refuse(value, "it holds itself, or what it holds lies too deep")
            self._open.append(id(value))
            self.entries.append(entry(value))
            self._open.pop()
            self._numbers[id(value)] = len(self.entries) - 1
            self._values.append(value)
        return {"@ref": self._numbers[id(value)]}

    def refuse(self, value: Any, reason: str) -> NoReturn:
        """Refuse to store a value; name its place and the reason."""
        raise TypeError(f"{self._place} cannot be saved: {type(value).__name__} has no stored form: {reason}")

    # ---- objects ----

    def _object(self, value: Any) -> dict[str, Any]:
        name, known = listed.name_in_files(type(value))
        try:
            state = self._own_state(value) if known is None else known.form.state(value)
        except (TypeError, ValueError) as error:
            self.refuse(value, str(error))
        if known is None or known.needs_trust:
            self.unlisted[name] = type(value)
        self.libraries.add(name.partition(".")[0])
        before, nodes = self._place, {}
        for attribute, part in state.items():
            if attribute not in OF_RUNS:
                self._place = f"{type(value).__name__}.{attribute}"
                nodes[attribute] = self.node(None if attribute in NOT_STORED else part)
        self._place = before
        try:
            if known is not None:
                known.form.check_names(type(value), nodes)
        except ValueError as error:
            raise TypeError(f"{self._place} cannot be saved: {error}; delete it, or keep it in metadata") from error
        return {"@object": name, "state": nodes}

    def _own_state(self, value: Any) -> Mapping[str, Any]:
        """Return the attributes of an object whose class is not listed; loading it requires trusting the class."""
        cls = type(value)
        if getattr(sys.modules.get(cls.__module__), cls.__qualname__, None) is not cls:
            raise TypeError(f"its class is not found as {listed.full_name(cls)}")
        is_more = cls.__reduce__ is not object.__reduce__ or cls.__reduce_ex__ is not object.__reduce_ex__
        if is_more or not hasattr(value, "__dict__"):
            raise TypeError("it is made of more than attributes; turn it into plain values or arrays of numpy")
        return vars(value)

    def function_node(self, value: Any) -> dict[str, Any]:
        """Return the node of a function: its name and, for the body of a network, its options."""
        body: Any = value.func if isinstance(value, partial) and not value.args else None
        if getattr(body, "__module__", None) == "aucross.torch.networks" and body.__name__ in listed.BODIES:
            self.libraries.add("torch")
            return {"@body": body.__name__, "options": {key: self.node(part) for key, part in value.keywords.items()}}
        name = listed.function_name(value)
        if name in listed.FUNCTIONS:
            return {"@function": name}
        if name is None or "<" in name:
            self.refuse(value, f"{name or value} has no name to be found under; define a function with def in a module")
        self.unlisted[name] = value
        self.libraries.add(name.partition(".")[0])
        return {"@function": name}


# ---- plain values ----


def _number(description: Description, value: np.generic) -> dict[str, Any]:
    name = type(value).__name__
    if isinstance(value, np.datetime64 | np.timedelta64):
        return {"@moment": value.dtype.str, "value": int(value.astype(np.int64))}
    if name not in listed.NUMBERS:
        description.refuse(value, f"numpy's {name} is no number of the list")
    return {"@number": name, "value": description.node(value.item())}


def _type(description: Description, value: Any) -> dict[str, str]:
    if isinstance(value, np.dtype):
        kind, name, is_listed = "@dtype", value.str, is_stored_dtype(value.str) or value.kind in "OU"
    else:
        kind, name, is_listed = "@type", listed.full_name(value), listed.full_name(value) in listed.TYPES
    if not is_listed:
        description.refuse(value, f"{value if kind == '@dtype' else name} is no type of the list")
    return {kind: name}


def _datetime(description: Description, value: datetime) -> dict[str, str]:
    if value.tzinfo is not None and type(value.tzinfo) is not timezone:
        description.refuse(value, "its time zone is more than a distance from UTC; convert it to UTC")
    return {"@datetime": value.isoformat()}


def _of_pandas(description: Description, value: Any) -> dict[str, Any] | None:
    """Return the node of a pandas interval or missing value."""
    pandas = sys.modules.get("pandas")
    if pandas is not None and value is pandas.NA:
        return {"@missing": "pandas.NA"}
    if pandas is None or type(value) is not pandas.Interval:
        return None
    return {"@interval": _nodes(description, (value.left, value.right)), "closed": value.closed}


# ---- arrays ----


def _array(description: Description, value: NDArray[Any]) -> dict[str, int]:
    return description.reference(value, lambda values: _array_entry(description, np.asarray(values)))


def _array_entry(description: Description, values: NDArray[Any]) -> dict[str, Any]:
    if values.dtype.kind in "OU":
        items = values.ravel().tolist()
        if all(type(item) in _LABELS or listed.full_name(type(item)) == "pandas.Interval" for item in items):
            return _labels_entry(description, values, items)
        return {"@objects": _nodes(description, items), "shape": list(values.shape)}
    if not is_stored_dtype(values.dtype.newbyteorder("<").str):
        description.refuse(values, f"arrays of {values.dtype} are not stored")
    entry, content = array_file(values)
    description.arrays.append(content)
    description.digests.append(sha256(description.arrays[-1]).digest())
    return entry


def _labels_entry(description: Description, values: NDArray[Any], items: list[Any]) -> dict[str, Any]:
    """Return an entry of distinct labels and a code for each element; this takes a hundredth of the space."""
    numbers: dict[tuple[type, Any], int] = {}
    keys = [(float, repr(item)) if type(item) is float else (type(item), item) for item in items]
    codes = [numbers.setdefault(key, len(numbers)) for key in keys]
    distinct = [float(key) if kind is float else key for kind, key in numbers]
    smallest = np.min_scalar_type(max(len(numbers) - 1, 0))
    stored = np.array(codes, dtype=smallest).reshape(values.shape)
    return {
        "@labels": _nodes(description, distinct),
        "codes": _array(description, stored),
        "dtype": values.dtype.newbyteorder("<").str,
    }


def _masked_array(description: Description, value: Any) -> dict[str, int]:
    return description.reference(
        value,
        lambda masked: {
            "@masked": _array(description, masked.data),
            "mask": _array(description, np.ma.getmaskarray(masked)),
            "fill": description.node(masked.fill_value),
        },
    )


def _nodes(description: Description, values: Iterable[Any]) -> list[Any]:
    return [description.node(value) for value in values]


_WRITERS: dict[type, Callable[[Description, Any], Any]] = {
    **dict.fromkeys((type(None), bool, int, str), lambda _, value: value),
    float: lambda _, value: value if isfinite(value) else {"@float": repr(value)},
    list: _nodes,
    tuple: lambda description, value: {"@tuple": _nodes(description, value)},
    # Pairs, because the keys of JSON objects are text and groups may be numbers, booleans or dates.
    **dict.fromkeys(
        (dict, OrderedDict, defaultdict),
        lambda description, value: {"@dict": [_nodes(description, pair) for pair in value.items()]},
    ),
    slice: lambda description, value: {"@slice": _nodes(description, (value.start, value.stop, value.step))},
    date: lambda _, value: {"@date": value.isoformat()},
    datetime: _datetime,
    timedelta: lambda _, value: {"@timedelta": [value.days, value.seconds, value.microseconds]},
    Decimal: lambda _, value: {"@decimal": str(value)},
    **dict.fromkeys((np.ndarray, np.memmap), _array),
    np.ma.MaskedArray: _masked_array,
}
# Kinds with many types.
_FAMILIES: tuple[tuple[Any, Callable[[Description, Any], Any]], ...] = (
    (np.generic, _number),
    ((np.dtype, type), _type),
    (listed.FUNCTION_TYPES, Description.function_node),
    (
        Iterator,
        lambda description, value: description.refuse(
            value, "it can be read only once; pass a list, or for splits set_params(cv=5), and save again"
        ),
    ),
)


# ---- arrays as .npy files, which any tool can read ----

# They hold plain numbers only, and are read without a parser: a file must start with exactly the bytes that would have
# been written for the type and the shape that its entry states, so that no header is ever interpreted.


def is_stored_dtype(name: Any) -> bool:
    """Return whether arrays of a numpy type are stored: numbers, booleans, dates and time spans."""
    return isinstance(name, str) and _STORED.fullmatch(name) is not None


def array_file(values: NDArray[Any]) -> tuple[dict[str, Any], bytes]:
    """Return the entry that describes an array, and its .npy file."""
    little_endian = values.astype(values.dtype.newbyteorder("<"), copy=False)
    order: Any = "F" if values.flags.f_contiguous and not values.flags.c_contiguous else "C"
    entry = {"@array": little_endian.dtype.str, "shape": list(values.shape), "order": order}
    return entry, _prefix(entry) + little_endian.tobytes(order=order)


def is_shape(shape: Any) -> bool:
    """Return whether a value is a list of sizes."""
    return (
        isinstance(shape, list)
        and len(shape) <= _MOST_DIMENSIONS
        and all(type(side) is int and 0 <= side <= _LARGEST_SIDE for side in shape)
    )


def checked_size(entry: dict[str, Any], content: bytes | bytearray) -> int:
    """Return the size of an array in bytes; refuse anything but a .npy file of the described shape and type."""
    if not is_stored_dtype(entry["@array"]):
        raise ValueError("an array must have a type of numbers, a shape and an order")
    if entry["order"] not in ("C", "F") or not is_shape(entry["shape"]):
        raise ValueError("an array must have a list of sizes as its shape, and be stored by row or by column")
    size, prefix = prod(entry["shape"]) * np.dtype(entry["@array"]).itemsize, _prefix(entry)
    if len(content) != len(prefix) + size or not content.startswith(prefix):
        raise ValueError("an array must have the type, the shape and the size that are described")
    if entry["@array"] == "|b1" and np.frombuffer(content, dtype=np.uint8, offset=len(prefix)).max(initial=0) > 1:
        raise ValueError("an array of booleans must hold zeros and ones")
    return size


def array_of(entry: dict[str, Any], content: bytearray) -> NDArray[Any]:
    """Return the array in a checked .npy file; it shares the memory of `content`."""
    values = np.frombuffer(content, dtype=entry["@array"], offset=len(_prefix(entry)))
    return values.reshape(entry["shape"], order=entry["order"])


def _prefix(entry: dict[str, Any]) -> bytes:
    is_by_column, shape = entry["order"] == "F", tuple(entry["shape"])
    text = f"{{'descr': '{entry['@array']}', 'fortran_order': {is_by_column}, 'shape': {shape}, }}"
    padding = -(10 + len(text) + 1) % 64
    header = text.encode() + b" " * padding + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
