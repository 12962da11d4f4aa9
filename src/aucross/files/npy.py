"""Arrays as .npy files, of plain numbers only, and read without a parser.

Any tool can read what is written here. What is read must start with exactly the bytes that would have been written for
the type and the shape that the description of the file states, so that no header is ever interpreted.
"""

from __future__ import annotations

import re
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

_UNITS = "Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as"
_STORED = re.compile(rf"\|b1|\|[iu]1|<[iu][248]|<f[248]|<c(8|16)|<[mM]8\[\d{{0,6}}({_UNITS})\]")
_MOST_DIMENSIONS = 32
_LARGEST_SIDE = 2**48


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
    """Whether a value is a list of sizes."""
    return (
        isinstance(shape, list)
        and len(shape) <= _MOST_DIMENSIONS
        and all(type(side) is int and 0 <= side <= _LARGEST_SIDE for side in shape)
    )


def checked_size(entry: dict[str, Any], content: bytes | bytearray) -> int:
    """Return the bytes of an array; refuse anything but a .npy file of the promised shape and type."""
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
    """Return the array of a checked .npy file, which shares its memory."""
    values = np.frombuffer(content, dtype=entry["@array"], offset=len(_prefix(entry)))
    return values.reshape(entry["shape"], order=entry["order"])


def _prefix(entry: dict[str, Any]) -> bytes:
    is_by_column, shape = entry["order"] == "F", tuple(entry["shape"])
    text = f"{{'descr': '{entry['@array']}', 'fortran_order': {is_by_column}, 'shape': {shape}, }}"
    padding = -(10 + len(text) + 1) % 64
    header = text.encode() + b" " * padding + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
