"""Bands whose place comes from some rows and whose width comes from others.

A search that places a band on the rows that also say how wide it may be has to pay for every place that it could have
picked. Here the place is settled before the second rows are looked at::

    first rows    labels and scores ──► one path of growing bands           [ 5 ] [ 4 5 ] [ 4 5 6 ] ...
    second rows   scores ──► how far along the path they lie ──► where to stop

On the path a row has one number, its *depth*: how far the bands have grown when they reach it. To stop somewhere on the
path is to set a threshold on the depth, and a threshold on a score that was fixed in advance has a Beta law.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aucross.core.band_rule import RankedRule
from aucross.core.bands import RejectionBand, check_coverage
from aucross.core.label_shift import expected_ranking, with_new_shares
from aucross.core.nested import NestedBands
from aucross.core.noise import kept_clear
from aucross.core.ranking import IndexArray, RankedScores
from aucross.core.scored_rows import RuleInput
from aucross.core.search import rejection_budget
from aucross.core.targets import OptimalBands


@dataclass(frozen=True)
class FixedPathBands(RankedRule):
    """Bands along a path fixed by other rows; the ranked rows only decide how wide the band is.

    Parameters
    ----------
    ranked : RankedScores
        The rows that say where to stop. On these rows the coverage never falls below the target.
    path : RankedScores
        Other rows, from which the path is taken as by :class:`~aucross.core.NestedBands`.
    reference : float in (0, 1], optional
        The coverage whose best band every path goes through. By default each coverage has a path through its own best
        band, so that bands of different coverages need not be nested.

    Examples
    --------
    >>> from aucross.core import FixedPathBands, RankedScores
    >>> path = RankedScores.from_labels([0, 0, 1, 0, 1, 1], [10, 20, 30, 40, 50, 60]).isotonic()
    >>> others = RankedScores.from_labels([0, 0, 0, 1, 1], [15, 25, 33, 38, 55])
    >>> FixedPathBands(others, path).band(coverage=0.6)
    RejectionBand(lower=30.0, upper=38.0)
    """

    path: RankedScores
    reference: float | None = None

    def __post_init__(self) -> None:
        if self.reference is not None:
            check_coverage(self.reference, name="reference")

    @property
    def is_fixed(self) -> bool:
        """Whether the place is fixed in advance: True, the path does not depend on the ranked rows."""
        return True

    def place(self, coverage: float) -> RejectionBand:
        """Return the widest band of the path that selects at least `coverage` of the ranked weight."""
        path = NestedBands(self.path, coverage if self.reference is None else self.reference)
        depth = path.depth(self.ranked.scores)
        order = np.argsort(depth, kind="stable")
        weight = (self.ranked.positives + self.ranked.negatives)[order]
        within = np.searchsorted(np.cumsum(weight), rejection_budget(self.ranked, coverage), side="right")
        # Beyond the last band of the path a class of its rows would be gone.
        reached = np.searchsorted(depth[order], path.greatest_depth, side="right")
        count = min(int(within), int(reached), max(len(self.ranked) - 1, 0))
        if count == 0:
            return RejectionBand()
        taken = self.ranked.scores[order[:count]]
        band = path.band_of_depth(float(depth[order[count - 1]]))
        # The last row taken lies at the end of the band, where rounding must not leave it out.
        return RejectionBand(min(band.lower, float(taken.min())), max(band.upper, float(taken.max())))

    def clear_of_noise(self, band: RejectionBand) -> RejectionBand:
        """Return the band with ends that keep clear of the scores of both kinds of rows."""
        return kept_clear(super().clear_of_noise(band), self.path.scores, self.path.noise)

    def place_anew(self, rows: RuleInput, *, label_shift: bool) -> FixedPathBands:
        """Follow this path on other rows; after a label shift its rows are weighted by the new class shares."""
        path = with_new_shares(self.path, self.ranked, rows) if label_shift else self.path
        return FixedPathBands(expected_ranking(self.ranked, rows, label_shift=label_shift), path, self.reference)

    def rows_to_reject(self, rows: RuleInput, capacity: int, order: IndexArray) -> IndexArray:
        """Take the rows that the rule without a path takes, because an exact number of rows needs no promise."""
        searched = OptimalBands(self.ranked) if self.reference is None else NestedBands(self.ranked, self.reference)
        return searched.rows_to_reject(rows, capacity, order)
