"""Scores counted as they stream by, in memory that does not grow with the rows."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from aucross.core.ranking import FloatArray, RankedScores
from aucross.core.rounding import ScoreRounding

# A score of 20 bits is its place in a table of this many counts; the sign and the exponent are part of it.
_N_PLACES = 2**20
_LARGEST = float(ScoreRounding(20).round(np.finfo(np.float32).max))

# Rankings of batches that are kept before they are merged, where each distinct score is an entry.
_MOST_PARTS = 16


class ScoreCounter:
    """Counts rows of each class by their rounded score, batch after batch.

    Parameters
    ----------
    bits : {20, 32}, default=20
        20 rounds to 20 bits of the float32 pattern, in a table of 16 MB for each of the sums. 32 counts distinct
        float32 scores, and grows with their number. See :class:`ScoreRounding`.
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
            self._add_part(self.rounding.round(score), positive, weight)
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

    def _add_part(self, score: FloatArray, positive: NDArray[np.bool_], weight: FloatArray | None) -> None:
        self._parts.append(RankedScores.from_labels(positive, score, weight))
        if len(self._parts) >= _MOST_PARTS:
            self._parts = [RankedScores.merge(self._parts)]


def _places(score: NDArray[np.floating]) -> NDArray[np.intp]:
    """Return the float32 pattern of each score, rounded to 20 bits, as a number."""
    if score.max() > _LARGEST or score.min() < -_LARGEST:
        score = score.clip(-_LARGEST, _LARGEST)
    pattern = score.astype(np.float32, copy=False).view(np.uint32)
    return ((pattern + np.uint32(0x800)) >> np.uint32(12)).astype(np.intp)
