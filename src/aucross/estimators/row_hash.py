"""Hash each row by its values alone, so that equal rows have equal numbers in any table or batch.

This number makes choices that must look random but be repeatable, such as which model judges a row::

    row ──► every value, mixed with the place of its column ──► sum ──► 64 bits

Numbers are hashed by value: 1, 1.0 and True are equal, in an array, a sparse matrix or a frame of any library.
Everything else is hashed as text. All columns count, in order.
"""

from __future__ import annotations

from hashlib import blake2b
from math import prod
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from aucross.estimators.types import Table
from aucross.frames import columns_of, is_missing, names_of

Hashes = NDArray[np.uint64]

# Values mixed at a time: whole rows of an array, so that memory does not grow with the table.
_BLOCK = 1 << 20

# Odd constants of the mixer splitmix64 (Steele, Lea and Flood, 2014), whose outputs pass for random bits.
_STEP, _FIRST, _SECOND = (np.uint64(c) for c in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))

# Another odd constant, of a multiplicative generator (Steele and Vigna, 2022), for the choice between tied rows.
_FOR_TIES = np.uint64(0xD1342543DE82EF95)

# And one for choices by a seed, from a table of L'Ecuyer (1999).
_FOR_SEEDS = np.uint64(2862933555777941757)


def hash_rows(X: Table) -> Hashes:
    """Return a 64-bit hash of each row."""
    if issparse(X):
        return _mixed(_sums_of_sparse(X))
    if names_of(X) is None:  # an array, all of it at once
        try:
            values = np.asarray(X)
        except ValueError:  # rows of different lengths
            values = np.empty(len(X), dtype=object)
            values[:] = [str(row) for row in X]
        return _mixed(_sums(_bits(values.reshape(len(values), prod(values.shape[1:]))), 0))
    sums: Hashes | None = None
    for place, column in enumerate(columns_of(X)):
        part = _sums(_bits(column), place)
        sums = part if sums is None else sums + part
    return _mixed(np.empty(0, dtype=np.uint64) if sums is None else sums)


def tie_breaker_of(X: Table) -> NDArray[np.float64]:
    """Return a number in [0, 1) for each row, uniform over different rows, that breaks ties of the score.

    It is the row's hash times an odd constant, which makes it independent of other choices from the same hash.
    """
    return ((hash_rows(X) * _FOR_TIES) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def mixed_with(bits: Hashes, seed: int) -> Hashes:
    """Mix a seed into the hash of each row, so that choices from the new hash are independent of others.

    The seed is itself hashed first, because neighbouring seeds would only shift the bits.
    """
    return _mixed(bits * _FOR_SEEDS + _mixed(np.array([seed % 2**64], dtype=np.uint64) + _STEP))


def _bits(column: Any) -> Hashes:
    """Return the bits of each value; the bits of 0 are 0, because a sparse matrix leaves zeros out."""
    values = np.asarray(column)
    if values.dtype.kind in "mM":
        return values.astype(values.dtype.kind + "8[ns]").view(np.uint64)
    if values.dtype.kind in "biuf":
        # Adding 0 turns -0 into 0, which is equal to it.
        numbers = values.astype(np.float64) + 0.0
        return np.where(np.isnan(numbers), np.nan, numbers).view(np.uint64)
    known: dict[Any, int] = {}
    bits = [_bits_of_object(value, known) for value in values.ravel().tolist()]
    return np.array(bits, dtype=np.uint64).reshape(values.shape)


def _bits_of_object(value: Any, known: dict[Any, int]) -> int:
    try:
        if value in known:
            return known[value]
    except TypeError:  # cannot be a key
        return _bits_of_text(str(value))
    if is_missing(value):
        bits = int(np.float64(np.nan).view(np.uint64))
    elif isinstance(value, Real):
        bits = int(np.float64(float(value) + 0.0).view(np.uint64))
    else:
        bits = _bits_of_text(value if isinstance(value, str) else str(value))
    known[value] = bits
    return bits


def _bits_of_text(text: str) -> int:
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def _sums(bits: Hashes, first_place: int) -> Hashes:
    """Return the sum over each row's values, each mixed with the position of its column."""
    if bits.ndim == 1:
        bits = bits[:, None]
    steps = (np.arange(first_place, first_place + bits.shape[1]).astype(np.uint64) + np.uint64(1)) * _STEP
    n_rows = max(1, _BLOCK // max(1, bits.shape[1]))
    sums = np.empty(len(bits), dtype=np.uint64)
    for start in range(0, len(bits), n_rows):
        block = bits[start : start + n_rows]
        sums[start : start + n_rows] = np.where(block == 0, np.uint64(0), _mixed(block + steps)).sum(axis=1)
    return sums


def _sums_of_sparse(X: Any) -> Hashes:
    rows = X.tocsr().tocoo()  # adds up what stands twice
    bits = _bits(rows.data)
    steps = (rows.coords[1].astype(np.uint64) + np.uint64(1)) * _STEP
    values = np.where(bits == 0, np.uint64(0), _mixed(bits + steps))
    sums = np.zeros(X.shape[0], dtype=np.uint64)
    np.add.at(sums, rows.coords[0], values)
    return sums


def _mixed(bits: Hashes) -> Hashes:
    bits = (bits ^ (bits >> np.uint64(30))) * _FIRST
    bits = (bits ^ (bits >> np.uint64(27))) * _SECOND
    return bits ^ (bits >> np.uint64(31))
