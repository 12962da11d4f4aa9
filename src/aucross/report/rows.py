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
    weights: FloatArray  # 1 for each row if none were given
    coverages: tuple[float, ...]  # ascending; the last is 1
    selected: BoolArray  # of shape (n_coverages, n)
    used: NDArray[np.intp]  # which of the rows given these are
    n_given: int
    is_probability: bool
    customers: NDArray[np.intp] | None  # numbers of customers
    unscored: UnscoredRows | None  # further cases, which go to review
    # Of all cases, those without a score last.
    positive_of_all: BoolArray
    weight_of_all: FloatArray | None
    weights_of_all: FloatArray
    customers_of_all: NDArray[np.intp] | None
    n_customers: int | None

    def ranked(self, mask: BoolArray) -> RankedScores:
        """Rank some of the rows by their score."""
        return rank(self.positive[mask], self.score[mask], self.weights[mask])

    def selected_of_all(self, mask: BoolArray) -> BoolArray:
        """Extend a selection of scored rows to all cases; cases without a score are never selected."""
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
    is_positive, own_weight = positive[used], None if scored.sample_weight is None else weight[used]
    own_customers = None if units is None else units[used]
    of_all: tuple[Any, Any, Any] = is_positive, own_weight, own_customers
    if unscored is not None:
        of_all = (
            unscored.labels_after(is_positive),
            unscored.part_after(own_weight, "sample_weight"),
            unscored.part_after(own_customers, "customers"),
        )
    positive_of_all, weight_of_all, customers_of_all = of_all
    return ReportRows(
        positive=is_positive,
        predicted=scored.answered_positive[used],
        score=scored.score[used],
        confidence=scored.confidence[used],
        weight=own_weight,
        weights=row_weights(own_weight, len(used)),
        coverages=coverages,
        selected=selected,
        used=used,
        n_given=len(positive),
        is_probability=scored.is_probability,
        customers=own_customers,
        unscored=unscored,
        positive_of_all=positive_of_all,
        weight_of_all=weight_of_all,
        weights_of_all=row_weights(weight_of_all, len(positive_of_all)),
        n_customers=None if customers_of_all is None else len(np.unique(customers_of_all)),
        customers_of_all=customers_of_all,
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
