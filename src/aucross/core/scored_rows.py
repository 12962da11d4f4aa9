"""Rows as a rule sees them: one or more scores each, and a weight."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aucross.core.ranking import FloatArray, IndexArray


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """What a rule reads of rows, and their weights.

    Attributes
    ----------
    score : ndarray of shape (n,) or (n, n_columns)
        One score, or several, per row.
    sample_weight : ndarray of shape (n,) or None
        Weights of the rows.
    """

    score: FloatArray
    sample_weight: FloatArray | None = None

    def take(self, rows: slice | IndexArray) -> ScoredRows:
        """Some of the rows."""
        return ScoredRows(self.score[rows], None if self.sample_weight is None else self.sample_weight[rows])

    def share(self, chosen: NDArray[np.bool_]) -> float:
        """Share of the weight of the chosen rows."""
        return float(np.average(chosen, weights=self.sample_weight))
