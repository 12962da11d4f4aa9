"""Round scores to few digits before they are counted, and widen bands to unrounded scores.

Scores of many rows are rounded before they are counted, so that the number of entries stays small::

    float64 score ──► float32 ──► 20 bits of it          sign, exponent and 11 binary digits of 23
                      bits=32     bits=20

Rounding keeps the order of scores, so the scores that round into a band are an interval of float64 numbers. The band is
widened to this interval once, when it is placed. After that unrounded scores are compared, in Python, SQL or any other
system, with the same result as rounded ones::

    rounded       ─────┤■■■■■■■■■■■■■├─────►  score
    unrounded     ───┤■■■■■■■■■■■■■■■■■├───►  every score that rounds into the band, and no other
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, nextafter
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aucross.core.bands import RejectionBand
from aucross.core.ranking import FloatArray, RankedScores

_EXACT, _SHORT = 32, 20

# How scores of many rows are counted: as float32, by their top 20 bits, or whichever suits the number of rows.
Statistic = Literal["auto", "exact", "binned"]

# Up to so many rows "auto" counts distinct float32 scores, which takes at most 24 bytes a row where counts meet.
MOST_ROWS_EXACT = 5_000_000

_LARGEST = {_EXACT: float(np.finfo(np.float32).max), _SHORT: float(np.uint32(0x7F7FF000).view(np.float32))}

# A score of 20 bits is its place in a table of this many counts; the sign and the exponent are part of it.
_N_PLACES = 2**20

# Rankings of batches that are kept before they are merged, where each distinct score is an entry.
_MOST_PARTS = 16


@dataclass(frozen=True)
class ScoreRounding:
    """A rounding of scores, applied before they are counted.

    Parameters
    ----------
    bits : {32, 20}, default=32
        32 rounds to the nearest float32. 20 rounds that float32 to its top 20 bits, its sign, exponent and 11 of 23
        binary digits: no more than about a million different scores exist, of which 65 thousand lie between 2**-32 and
        1. They are rounded, not cut off, so that a score such as 1/4 lies in the middle of the scores that round to it.

    Notes
    -----
    Finite scores beyond the range become the largest number of float32, or of its 20 bits; -0 becomes 0.

    Examples
    --------
    >>> from aucross.core import RejectionBand, ScoreRounding
    >>> rounding = ScoreRounding(20)
    >>> rounding.round([0.1, 0.100001, 0.2])
    array([0.1000061 , 0.1000061 , 0.20001221])
    >>> band = rounding.widen(RejectionBand(*rounding.round([0.1, 0.1])))
    >>> band.rejects([0.0999, 0.1, 0.100001, 0.1001])
    array([False,  True,  True, False])
    """

    bits: int = _EXACT

    def __post_init__(self) -> None:
        if isinstance(self.bits, bool) or self.bits not in (_EXACT, _SHORT):
            raise ValueError(f"bits must be 32 or 20, got {self.bits!r}; 32 counts distinct float32 scores")

    @classmethod
    def of_statistic(cls, statistic: Statistic, n_rows: int) -> ScoreRounding:
        """Choose the rounding: float32 if "exact", 20 bits if "binned"; "auto" is exact up to 5 million rows."""
        check_statistic(statistic)
        is_exact = statistic == "exact" or (statistic == "auto" and n_rows <= MOST_ROWS_EXACT)
        return cls(_EXACT if is_exact else _SHORT)

    def round(self, scores: ArrayLike) -> FloatArray:
        """Round scores.

        Parameters
        ----------
        scores : array-like
            Scores of any kind of float. NaN and infinite ones stay as they are.

        Returns
        -------
        ndarray of the same shape, float64
            Rounded scores. Rounding keeps their order and leaves rounded scores as they are.
        """
        values = np.asarray(scores, dtype=np.float64)
        largest = _LARGEST[self.bits]
        nearest = np.where(np.isfinite(values), values.clip(-largest, largest), values).astype(np.float32)
        if self.bits == _SHORT:
            # Rounded, NaN could become infinite.
            pattern = (nearest.view(np.uint32) + np.uint32(0x800)) & np.uint32(0xFFFFF000)
            nearest = np.where(np.isnan(nearest), nearest, pattern.view(np.float32))
        return nearest.astype(np.float64) + 0.0  # -0 becomes 0

    def widen(self, band: RejectionBand) -> RejectionBand:
        """Return the band of all unrounded scores that round into `band`.

        Parameters
        ----------
        band : RejectionBand
            Band of rounded scores.

        Returns
        -------
        RejectionBand
            Its ends are the smallest and the largest float64 that round into the band. Infinite ends and the empty band
            are unchanged; a band that no score rounds into becomes empty.
        """
        return band_of_values(lambda score: float(self.round(score)), band)


def band_of_values(
    score_of: Callable[[float], float],
    band: RejectionBand,
    *,
    rises: bool = True,
    lowest: float = -inf,
    highest: float = inf,
) -> RejectionBand:
    """Return the band of all values whose score lies in a band, if the score never falls as the value rises.

    It rejects exactly the values whose score `band` rejects: its ends are the smallest and the largest such float64
    between `lowest` and `highest`. Infinite ends stay infinite. ``rises=False`` is for scores that never rise.
    """
    if band.is_empty:
        return band
    if not rises:
        turned = RejectionBand(-band.upper, -band.lower)
        return band_of_values(lambda value: -score_of(value), turned, lowest=lowest, highest=highest)
    lower = _first(lambda value: score_of(value) >= band.lower, lowest, highest) if band.lower > -inf else -inf
    # Below the smallest whose score is above the end lies the largest whose score is not.
    beyond = _first(lambda value: score_of(value) > band.upper, lowest, highest) if band.upper < inf else None
    upper = inf if beyond is None else nextafter(beyond, -inf)
    return RejectionBand(lower, upper) if lower <= upper else RejectionBand()


def _first(holds: Callable[[float], bool], lowest: float, highest: float) -> float:
    """Return the smallest float64 from which `holds` is true; the float64 after `highest` if there is none."""
    low, high = _place_of(lowest), _place_of(nextafter(highest, inf))
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(_float_at(middle)) else (middle + 1, high)
    return _float_at(low)


def check_statistic(statistic: str) -> None:
    """Refuse an unknown way of counting scores."""
    if statistic not in ("auto", "exact", "binned"):
        raise ValueError(f'statistic must be "auto", "exact" or "binned", got {statistic!r}; "auto" suits most')


def _place_of(value: float) -> int:
    """Return the position of a float64 in the order of all float64: 0 for 0, negative for negative numbers."""
    magnitude = int(np.float64(abs(value)).view(np.int64))
    return -magnitude if value < 0 else magnitude


def _float_at(place: int) -> float:
    magnitude = float(np.int64(abs(place)).view(np.float64))
    return -magnitude if place < 0 else magnitude


class ScoreCounter:
    """Counts the rows of each class at each rounded score, batch by batch.

    Parameters
    ----------
    bits : {20, 32}, default=20
        20 rounds to 20 bits of the float32 pattern, in a table of 16 MB for each of the sums. 32 counts distinct
        float32 scores; its memory grows with their number. See :class:`ScoreRounding`.
    weighted : bool, default=False
        Whether rows have weights.

    Examples
    --------
    >>> import numpy as np
    >>> from aucross.core import ScoreCounter
    >>> counter = ScoreCounter()
    >>> for batch in range(3):
    ...     counter.add(np.array([0.1, 0.9, 0.9]), np.array([False, False, True]))
    >>> counter.ranking()
    RankedScores(2 distinct scores, 3 positives, 6 negatives)
    """

    def __init__(self, bits: Literal[20, 32] = 20, *, weighted: bool = False) -> None:
        self.rounding = ScoreRounding(bits)
        self.weighted = weighted
        self._tables: list[NDArray[np.int64] | FloatArray] = []
        self._parts: list[RankedScores] = []

    def add(self, score: NDArray[np.floating], positive: NDArray[np.bool_], weight: FloatArray | None = None) -> None:
        """Count some rows with finite scores, and with weights above 0 if the counter has weights."""
        if (weight is not None) != self.weighted:
            raise ValueError(f"weight must be given if and only if weighted is True, got weighted={self.weighted}")
        if not len(score):
            return
        if self.rounding.bits == 32:
            self._parts.append(RankedScores.from_labels(positive, self.rounding.round(score), weight))
            if len(self._parts) >= _MOST_PARTS:
                self._parts = [RankedScores.merge(self._parts)]
            return
        powers = [None] if weight is None else [None, weight, weight**2, weight**3]
        place = _places(score) * 2 + positive
        for number, power in enumerate(powers):
            counted = np.bincount(place, power, minlength=2 * _N_PLACES)
            if number == len(self._tables):
                self._tables.append(counted)
            else:
                self._tables[number] += counted

    def ranking(self) -> RankedScores:
        """Return the ranking of all rows so far."""
        if self.rounding.bits == 32 or not self._tables:
            return RankedScores.merge(self._parts)
        used = np.flatnonzero(self._tables[0].reshape(-1, 2).any(axis=1))
        values = (used.astype(np.uint32) << np.uint32(12)).view(np.float32).astype(np.float64) + 0.0
        scores, place = np.unique(values, return_inverse=True)  # -0 and 0 are one score
        columns = (table.reshape(-1, 2)[used].T for table in self._tables)
        sums = np.array([[np.bincount(place, column) for column in pair[::-1]] for pair in columns], dtype=np.float64)
        return RankedScores.of_powers(scores, sums.swapaxes(0, 1)) if self.weighted else RankedScores(scores, *sums[0])


def _places(score: NDArray[np.floating]) -> NDArray[np.intp]:
    """Return the float32 pattern of each score, rounded to 20 bits, as a number."""
    if score.max() > _LARGEST[_SHORT] or score.min() < -_LARGEST[_SHORT]:
        score = score.clip(-_LARGEST[_SHORT], _LARGEST[_SHORT])
    pattern = score.astype(np.float32, copy=False).view(np.uint32)
    return ((pattern + np.uint32(0x800)) >> np.uint32(12)).astype(np.intp)
