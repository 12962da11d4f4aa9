"""Mark the rows given to `fit`, to notice if they come back as test rows.

Each row sets one bit of a field, at a position given by a salted hash of its values::

    row ──► 64-bit hash ──► place        . . X . . . . . X . . X . . . .        one bit in eight is set

Rows that come back find their bits set. About one in eight new rows finds its bit set by chance, so a bit says nothing
about a single person, but a table with most bits set has been seen before. Neither values nor hashes of rows are kept,
only the sum of all hashes. The field is at most 128 KiB: if there are more rows, a sample is marked. The hash chooses
the sample, so it holds the same rows when they come back.

Rows that occur more than once in the fit are not marked, because new rows may naturally equal them. If most rows of a
table repeat, only the return of the whole table is noticed for sure, by the sum of the hashes.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln
from scipy.stats import binom, nbinom

from aucross.estimators.row_hash import Hashes, hash_rows
from aucross.estimators.types import Table
from aucross.frames import select_columns, text_names_of

# Bits for each marked row, and the most bits there are.
BITS_PER_ROW = 8
MOST_BITS = 2**20

# Rows count as seen only if chance explains so many marks with less than this probability, and if the share of the rows
# that it cannot explain is worth a word.
CHANCE = 1e-6
LEAST_SHARE = 0.02

# An odd factor, which carries the salt from the lower bits of a hash to its upper ones.
_ODD = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class RowsSeen:
    """Number of rows of a table that look like rows of the fit."""

    n_rows: int  # different rows that could be compared
    n_marked: int  # those whose mark is set
    by_chance: float  # share of new rows whose mark is set by chance
    n_twice: int = 0  # different rows that occur exactly twice in the fit, which leave no marks, or exactly twice here
    equal_each: float = 0.0  # new rows that equal a marked one for each of `n_twice`, at most, where rows repeat
    has_repeats: bool = False  # whether equal rows occurred in the fit, so that `share` is a least one
    is_whole: bool = False  # whether these are all rows of the fit and no others, and too many for that to be chance

    @property
    def share(self) -> float:
        """Estimated share of the distinct rows that were in the fit; a lower limit if rows repeat."""
        if self.is_whole:
            return 1.0
        if self.n_rows == 0 or self.by_chance >= 1:
            return 0.0
        n_beyond_chance = (self.n_marked - self.by_chance * self.n_rows) / (1.0 - self.by_chance)
        return max(n_beyond_chance - self.n_twice * self.equal_each, 0.0) / self.n_rows

    @property
    def is_noticed(self) -> bool:
        """Whether more rows are marked than chance and naturally equal rows explain.

        Rows can be equal by nature. Given how many values occur exactly twice in the fit or in these rows, the number
        of values that occur once in the fit and in these rows too is negative binomial.
        """
        if self.is_whole or self.share < LEAST_SHARE:
            return self.is_whole
        equal = np.arange(self.n_marked + 1)
        by_themselves = nbinom.pmf(equal, self.n_twice + 1, 1.0 / (1.0 + self.equal_each))
        by_chance = binom.sf(self.n_marked - equal - 1, self.n_rows, self.by_chance)
        beyond = nbinom.sf(self.n_marked, self.n_twice + 1, 1.0 / (1.0 + self.equal_each))
        return bool(by_themselves @ by_chance + beyond < CHANCE)


@dataclass(frozen=True, eq=False)
class TrainingMarks:
    """Compact marks of the rows given to `fit`, without their values."""

    salt: str  # makes the hashes of this fit unlike those of any other
    field: NDArray[np.uint8]  # the bits, eight in a byte
    sampled: float  # share of all hashes that are marked or looked up
    n_rows: int
    n_single: int  # rows that occurred once, which are marked
    n_twice: int
    total: int  # sum of the hashes of all rows
    columns: list[str] | None = None  # None for tables without names

    @classmethod
    def of(cls, X: Table, salt: str, hashes: Hashes | None = None) -> TrainingMarks | None:
        """Mark the rows; return None if there are too few to recognise a table."""
        columns, keys = text_names_of(X), _salted(hash_rows(X) if hashes is None else hashes, salt)
        if len(keys) < 2:
            return None
        values, counts = np.unique(keys, return_counts=True)
        # What occurs more than once in the fit will occur among new rows too, and says nothing.
        single = values[counts == 1]
        n_bits = 2 ** int(np.ceil(np.log2(max(BITS_PER_ROW * len(single), 64))))
        n_bits = min(n_bits, MOST_BITS)
        sampled = min(n_bits / (BITS_PER_ROW * max(len(single), 1)), 1.0)
        bits = np.zeros(n_bits, dtype=bool)
        bits[single[_is_sampled(single, sampled)] & np.uint64(n_bits - 1)] = True
        n_twice = int(np.count_nonzero(counts == 2))
        return cls(salt, np.packbits(bits), sampled, len(keys), len(single), n_twice, int(keys.sum()), columns)

    def seen_in(self, X: Table) -> RowsSeen:
        """Count the rows of a table whose bits are set; equal rows count once."""
        names = text_names_of(X)
        if self.columns is not None and names is not None and names != self.columns:
            if not set(self.columns) <= set(names) or len(set(names)) < len(names):
                return RowsSeen(0, 0, 1.0)
            X = select_columns(X, self.columns)
        keys = _salted(hash_rows(X), self.salt)
        equal_each = self.sampled * _equal_each(len(keys) / self.n_rows)
        is_whole = len(keys) == self.n_rows and int(keys.sum()) == self.total
        keys, counts = np.unique(keys, return_counts=True)
        if is_whole and _chance_of(counts) < CHANCE:
            return RowsSeen(len(keys), len(keys), 0.0, is_whole=True)
        n_twice = self.n_twice + int(np.count_nonzero(counts == 2))
        keys = keys[_is_sampled(keys, self.sampled)]
        bits = np.unpackbits(self.field).astype(bool)
        marked = int(bits[keys & np.uint64(len(bits) - 1)].sum())
        has_repeats = self.n_single < self.n_rows
        return RowsSeen(len(keys), marked, float(bits.mean()), n_twice, equal_each, has_repeats)


def _equal_each(ratio: float) -> float:
    """Return the largest ratio of values found once in the fit and also here to values found twice in one of the two.

    A value of probability p occurs a Poisson number of times in the fit, with mean a = np, and in these rows with mean
    `ratio` a. Rare values give 2 ratio / (1 + ratio²); the maximum over all p is larger.
    """
    here = ratio * (fit := np.geomspace(1e-3, 20.0, 400))
    once_and_here = fit * np.exp(-fit) * -np.expm1(-here)
    return float(np.max(once_and_here / (fit**2 * np.exp(-fit) / 2 + here**2 * np.exp(-here) / 2)))


def _chance_of(counts: NDArray[np.intp]) -> float:
    """Return an upper bound of the chance that new rows repeat the value counts of the fit exactly."""
    n_rows = counts.sum()
    return float(np.exp(gammaln(n_rows + 1) + (counts * np.log(counts / n_rows) - gammaln(counts + 1)).sum()))


def _is_sampled(keys: Hashes, share: float) -> NDArray[np.bool_]:
    """Return whether each hash is in the sample, by its upper half; the lower half chooses the bit."""
    return np.asarray((keys >> np.uint64(32)).astype(np.float64) < share * 2.0**32)


def _salted(hashes: Hashes, salt: str) -> Hashes:
    """Salt the hashes, so that they differ from hashes of other fits."""
    return (hashes ^ np.frombuffer(blake2b(salt.encode(), digest_size=8).digest(), dtype=np.uint64)) * _ODD
