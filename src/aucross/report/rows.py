"""The rows of a report: labels, scores, weights and the selection at every coverage, checked once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from aucross.evaluation.inputs import row_weights
from aucross.evaluation.judged_rows import JudgedRows

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

# The steps of the slider.
GRID = tuple(round(step / 100, 2) for step in range(50, 101))


@dataclass(frozen=True, eq=False)
class ReportRows:
    """Labelled test rows with the answers and the selections of a classifier; rows of weight 0 are left out.

    Attributes
    ----------
    positive, predicted : ndarray of shape (n,), bool
        True label and answer.
    score : ndarray of shape (n,)
        Score of the positive class.
    confidence : ndarray of shape (n,)
        Probability of the predicted class, or the distance of a decision value from the boundary.
    weight : ndarray of shape (n,) or None
        Weights, if any were given.
    coverages : tuple of float
        Target coverages, ascending; the last is 1.
    selected : ndarray of shape (n_coverages, n), bool
        The rows that are answered, for each coverage.
    used : ndarray of shape (n_given,), bool, or of row numbers
        Which of the rows given these are.
    is_probability : bool
        Whether the scores are probabilities.
    """

    positive: BoolArray
    predicted: BoolArray
    score: FloatArray
    confidence: FloatArray
    weight: FloatArray | None
    coverages: tuple[float, ...]
    selected: BoolArray
    used: BoolArray | NDArray[np.intp]
    is_probability: bool

    @cached_property
    def weights(self) -> FloatArray:
        """The weights, 1 for each row where none were given."""
        return row_weights(self.weight, len(self.positive))

    @cached_property
    def least_confident_first(self) -> NDArray[np.intp]:
        """Row numbers by ascending confidence; rows of equal confidence in their order in the data."""
        return np.argsort(self.confidence, kind="stable")

    @cached_property
    def weight_of_least_confident(self) -> FloatArray:
        """Weight of the first i + 1 of them."""
        return np.cumsum(self.weights[self.least_confident_first])

    @cached_property
    def order(self) -> NDArray[np.intp]:
        """Row numbers by ascending score."""
        return np.argsort(self.score, kind="stable")

    @cached_property
    def by_score(self) -> ReportRows:
        """The same rows by ascending score: what reads them at 51 coverages need not sort them 51 times."""
        return replace(
            self,
            positive=self.positive[self.order],
            predicted=self.predicted[self.order],
            score=self.score[self.order],
            confidence=self.confidence[self.order],
            weight=None if self.weight is None else self.weight[self.order],
            selected=self.selected[:, self.order],
            used=np.flatnonzero(self.used)[self.order],
        )


def read_rows(judged: JudgedRows, coverage: float) -> ReportRows:
    """Select at every coverage of the grid, and check what a report needs."""
    positive = judged.positive
    weight = row_weights(judged.sample_weight, len(positive))
    used = weight > 0
    if positive[used].all() or not positive[used].any():
        found = judged.scored.classes[int(positive[used].any())]
        raise ValueError(f"y must hold both classes for a report, got {found!r} alone; take more rows")
    coverages = tuple(sorted({*GRID, coverage}))
    selected = np.array(list(judged.selections(coverages).values()))[:, used]
    if not selected[-1].all():
        raise ValueError(
            f"clf must answer every row at coverage 1, got {int((~selected[-1]).sum())} rejected: gains are "
            "differences from all rows"
        )
    return ReportRows(
        positive=positive[used],
        predicted=judged.predicted[used],
        score=judged.score[used],
        confidence=judged.scored.confidence[used],
        weight=None if judged.sample_weight is None else weight[used],
        coverages=coverages,
        selected=selected,
        used=used,
        is_probability=judged.scored.is_probability,
    )
