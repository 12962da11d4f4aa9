"""The rows of a report: labels, scores, weights and the selection at every coverage, checked once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aucross.evaluation.inputs import RankedScores, ScoredRows, customer_numbers, rank, row_weights, selections_at
from aucross.evaluation.unscored import UnscoredRows

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

# The steps of the slider.
GRID = tuple(round(step / 100, 2) for step in range(50, 101))


@dataclass(frozen=True, eq=False)
class ReportRows:
    """Labelled test rows in ascending order of score, with a classifier's answers and selections.

    Rows of weight 0 are left out.
    """

    positive: BoolArray
    predicted: BoolArray
    score: FloatArray
    confidence: FloatArray  # of the answer: its probability, or the distance of a decision value from the boundary
    weight: FloatArray | None
    coverages: tuple[float, ...]  # ascending; the last is 1
    selected: BoolArray  # of shape (n_coverages, n)
    used: NDArray[np.intp]  # which of the rows given these are
    n_given: int
    is_probability: bool
    customers: NDArray[np.intp] | None = None  # numbers of customers
    unscored: UnscoredRows | None = None  # further cases, which go to review

    @cached_property
    def weights(self) -> FloatArray:
        """Weights of the rows, 1 for each row if none were given."""
        return row_weights(self.weight, len(self.positive))

    def ranked(self, mask: BoolArray) -> RankedScores:
        """Rank some of the rows by their score."""
        return rank(self.positive[mask], self.score[mask], self.weights[mask])

    @property
    def positive_of_all(self) -> BoolArray:
        """Labels of all cases, those without a score last."""
        return self.positive if self.unscored is None else self.unscored.labels_after(self.positive)

    @property
    def weight_of_all(self) -> FloatArray | None:
        """Weights of all cases; None if none were given."""
        return self.weight if self.unscored is None else self.unscored.part_after(self.weight, "sample_weight")

    @cached_property
    def weights_of_all(self) -> FloatArray:
        """Weights of all cases, 1 for each case if none were given."""
        return row_weights(self.weight_of_all, len(self.positive_of_all))

    @property
    def customers_of_all(self) -> NDArray[np.intp] | None:
        """Customers of all cases; None if none were given."""
        return self.customers if self.unscored is None else self.unscored.part_after(self.customers, "customers")

    @property
    def n_customers(self) -> int | None:
        """Number of customers of the cases, if any were given."""
        customers = self.customers_of_all
        return None if customers is None else len(np.unique(customers))

    def selected_of_all(self, mask: BoolArray) -> BoolArray:
        """Return a selection as one among all cases; cases without a score are never selected."""
        return mask if self.unscored is None else self.unscored.unselected_after(mask)

    @cached_property
    def least_confident_first(self) -> NDArray[np.intp]:
        """Return row numbers by ascending confidence; ties keep the order of the data."""
        return np.lexsort((self.used, self.confidence))

    @cached_property
    def weight_of_least_confident(self) -> FloatArray:
        """Total weight of the i + 1 least confident rows, for each i."""
        return np.cumsum(self.weights[self.least_confident_first])


def read_rows(
    clf: Any, scored: ScoredRows, coverage: float, customers: Any = None, unscored: UnscoredRows | None = None
) -> ReportRows:
    """Select labelled rows at every coverage of the grid, and check that a report can be made."""
    positive = scored.positive
    weight = row_weights(scored.sample_weight, len(positive))
    used = np.flatnonzero(weight > 0)
    used = used[np.argsort(scored.score[used], kind="stable")]
    if positive[used].all() or not positive[used].any():
        found = scored.classes[int(positive[used].any())]
        raise ValueError(f"y must hold both classes for a report, got {found!r} alone; take more rows")
    coverages = tuple(sorted({*GRID, coverage}))
    selected = np.array(list(selections_at(clf, scored, coverages).values()))[:, used]
    if not selected[-1].all():
        raise ValueError(
            f"clf must answer every row at coverage 1, got {int((~selected[-1]).sum())} rejected: gains are "
            "differences from all rows"
        )
    units, unscored = _units(customers, len(positive), unscored)
    return ReportRows(
        positive=positive[used],
        predicted=scored.answered_positive[used],
        score=scored.score[used],
        confidence=scored.confidence[used],
        weight=None if scored.sample_weight is None else weight[used],
        coverages=coverages,
        selected=selected,
        used=used,
        n_given=len(positive),
        is_probability=scored.is_probability,
        customers=None if units is None else units[used],
        unscored=unscored,
    )


def _units(
    customers: Any, n_rows: int, unscored: UnscoredRows | None
) -> tuple[NDArray[np.intp] | None, UnscoredRows | None]:
    """Return the number of each row's customer, and the unscored cases of positive weight with their customers."""
    if unscored is None or not len(unscored):
        return customer_numbers(customers, n_rows), None
    of_all = unscored.part_after(customers, "customers")
    units = customer_numbers(of_all, n_rows + len(unscored))
    own = None if units is None else units[n_rows:]
    with_weight = replace(unscored, customers=own).with_weight()
    return None if units is None else units[:n_rows], with_weight if len(with_weight) else None
