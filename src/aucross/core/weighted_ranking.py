"""A ranking of rows whose weights differ, with what their spread is read from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike

from aucross.core.ranking import RankedScores, as_positive, check_scores, check_weights


@dataclass(frozen=True, eq=False)
class WeightedRanking:
    """Rankings of the same rows by their number, weight, squared weight and cubed weight.

    Weights alone do not say how sure a number is: ten rows of weight 1 say more than one row of weight 10. Evaluations
    and promises from a ranking read the squares and cubes for that. Like rankings, these add up.

    Attributes
    ----------
    rows, weight, squares, cubes : RankedScores
        Sums, at each score, of weight to the power 0, 1, 2 and 3. All have the same scores.

    Examples
    --------
    >>> from aucross.core import WeightedRanking
    >>> first = WeightedRanking.from_labels([0, 1, 0, 1], [0.1, 0.4, 0.4, 0.8], [2, 1, 3, 1])
    >>> second = WeightedRanking.from_labels([0], [0.4], [1])
    >>> together = first + second
    >>> together.rows.negatives, together.weight.negatives, together.squares.negatives
    (array([1., 2., 0.]), array([2., 4., 0.]), array([ 4., 10.,  0.]))
    """

    rows: RankedScores
    weight: RankedScores
    squares: RankedScores
    cubes: RankedScores

    def __post_init__(self) -> None:
        for part in (self.weight, self.squares, self.cubes):
            if not np.array_equal(part.scores, self.rows.scores):
                raise ValueError(
                    "rows, weight, squares and cubes must rank the same rows, got different scores; "
                    "WeightedRanking.from_labels ranks them together"
                )

    @classmethod
    def from_labels(cls, y_true: ArrayLike, y_score: ArrayLike, sample_weight: ArrayLike) -> WeightedRanking:
        """Rank labelled rows with weights.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            True for positive rows: boolean, 0/1 or -1/1.
        y_score : array-like of shape (n,)
            Finite scores, higher for rows that are more likely positive.
        sample_weight : array-like of shape (n,)
            Weights, not negative; rows of weight 0 are left out.

        Returns
        -------
        WeightedRanking
        """
        positive = as_positive(y_true)
        score, weight = check_scores(y_score, len(positive)), check_weights(sample_weight, len(positive))
        used = weight > 0
        positive, score, weight = positive[used], score[used], weight[used]
        if not len(weight):
            return cls.merge([])
        return cls(*(RankedScores.from_labels(positive, score, weight**power) for power in range(4)))

    @classmethod
    def merge(cls, rankings: Iterable[WeightedRanking]) -> WeightedRanking:
        """Rank the rows of all rankings together, as :meth:`RankedScores.merge` does."""
        parts = list(rankings)
        return cls(*(RankedScores.merge(getattr(part, power.name) for part in parts) for power in fields(cls)))

    def __add__(self, other: WeightedRanking) -> WeightedRanking:
        return self.merge((self, other)) if isinstance(other, WeightedRanking) else NotImplemented

    def __len__(self) -> int:
        return len(self.rows)
