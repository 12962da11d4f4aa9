"""Targets of the search other than the AUC: the best band by another measure.

A band is a block [l, u) of the m entries of a ranking, its weight is limited by the coverage (see
:mod:`aucross.core.search`). The *widest* blocks are those that no other block inside the budget contains.

===================  =======================  ==================  ======  ===========================================
target               name                     searched            result  cost after sorting
===================  =======================  ==================  ======  ===========================================
`AUCTarget`          ``"auc"``                all widest blocks   exact   O(m)
`ExpectedCost`       (needs its costs)        all blocks          exact   O(m log m)
`KolmogorovSmirnov`  ``"ks"``                 all widest blocks   exact   O(m log m)
`PartialAUC`         ``"partial_auc"``        all widest blocks   exact   O(m log m)
`AveragePrecision`   ``"average_precision"``  all widest blocks   exact   O(m) if all blocks weigh the same, otherwise
                                                                          O(m k) with a few k, at worst O(m^2)
===================  =======================  ==================  ======  ===========================================

"Exact" means that no searched block is better by more than rounding (1e-12). Widest blocks are searched for the
reason that the AUC has: a narrower one that happens to be best on the rows at hand does not stay best. Cost is
different, because a row that is cheaper to decide than to review should be decided whatever the budget.

Why each search is exact is said where it is done. Every target but the cost is a ratio whose denominators change with
the block, and needs rows of both classes outside of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, get_args, runtime_checkable

from aucross.core.band_rule import RankedRule
from aucross.core.bands import RejectionBand
from aucross.core.capacity import best_rows
from aucross.core.label_shift import expected_ranking
from aucross.core.ranking import IndexArray, RankedScores
from aucross.core.ranking_targets import AveragePrecision, KolmogorovSmirnov, PartialAUC
from aucross.core.scored_rows import RuleInput
from aucross.core.search import Width, best_band

TargetName = Literal["auc", "ks", "average_precision", "partial_auc"]


@runtime_checkable
class Target(Protocol):
    """A number that a band is placed to raise."""

    def value(self, ranked: RankedScores, band: RejectionBand | None = None) -> float:
        """Return the target of the rows of `ranked` after rejecting `band` (nothing by default)."""
        ...

    def best_band(self, ranked: RankedScores, coverage: float) -> RejectionBand:
        """Return the best band that selects at least `coverage` of the ranked weight."""
        ...


def best_band_for(ranked: RankedScores, coverage: float, target: TargetName | Target = "auc") -> RejectionBand:
    """Find the best band for a target among those that keep the coverage on the ranked rows.

    Parameters
    ----------
    ranked : RankedScores
        Rows to place the band on; with :meth:`RankedScores.isotonic` labels the band generalises better.
    coverage : float in (0, 1]
        Least share of the weight to select. It holds exactly, ties included.
    target : {"auc", "ks", "average_precision", "partial_auc"} or Target, default="auc"
        Target to maximise. ``"partial_auc"`` stands for ``PartialAUC(max_fpr=0.1)``; costs are given as
        ``ExpectedCost(...)``.

    Returns
    -------
    RejectionBand
        The empty band if the coverage is 1 or a tie fills more than the budget everywhere; of costs, also if every
        review costs more than it saves.

    Examples
    --------
    >>> from aucross.core import ExpectedCost, RankedScores, best_band_for
    >>> ranked = RankedScores([0.1, 0.3, 0.5, 0.7, 0.9], [1, 3, 5, 7, 9], [9, 7, 5, 3, 1])
    >>> best_band_for(ranked, 0.5, "ks")
    RejectionBand(lower=0.5, upper=0.7)
    >>> best_band_for(ranked, 0.5, ExpectedCost(review=0.4))
    RejectionBand(lower=0.5, upper=0.5)
    """
    return as_target(target).best_band(ranked, coverage)


def as_target(target: object) -> Target:
    """Return the target that a name stands for, or the target itself, or say what is wrong with it."""
    if isinstance(target, str) and target in _NAMED:
        return _NAMED[target]
    if isinstance(target, Target) and not isinstance(target, type):
        return target
    names = ", ".join(f'"{name}"' for name in get_args(TargetName))
    needs_costs = " (the costs must be given)" if target == "expected_cost" else ""
    raise ValueError(
        f"target must be one of {names} or a target such as ExpectedCost(review=0.1), got {target!r}{needs_costs}"
    )


@dataclass(frozen=True)
class OptimalBands(RankedRule):
    """The best band for each coverage, for the AUC or another target, searched on a ranking.

    On true labels and for the AUC this is the paper's Oracle. On isotonic labels, as
    :func:`~aucross.core.estimate_auc_bands` places it, it generalises to new rows. Bands of different coverages need
    not be nested.

    Parameters
    ----------
    ranked : RankedScores
        Rows to place the bands on. On these rows the coverage never falls below the one asked for.
    target : {"auc", "ks", "average_precision", "partial_auc"} or Target, default="auc"
        Target to maximise, see :func:`best_band_for`.

    Examples
    --------
    >>> from aucross.core import OptimalBands, RankedScores
    >>> ranked = RankedScores.from_labels([0, 0, 1, 0, 1, 1], [10, 20, 30, 40, 50, 60])
    >>> OptimalBands(ranked.isotonic()).band(coverage=0.6)
    RejectionBand(lower=30.0, upper=40.0)
    >>> OptimalBands(ranked.isotonic(), "ks").band(coverage=0.6)
    RejectionBand(lower=30.0, upper=40.0)
    """

    target: TargetName | Target = "auc"

    def __post_init__(self) -> None:
        object.__setattr__(self, "target", as_target(self.target))

    def place(self, coverage: float) -> RejectionBand:
        """Return the best band that selects at least `coverage` of the ranked weight."""
        assert not isinstance(self.target, str)  # names were replaced
        return self.target.best_band(self.ranked, coverage)

    def auc_gain(self, coverage: float) -> float | None:
        """Return the AUC of the ranked rows that the band selects minus that of all; None for other targets."""
        return self.gain_of_ranked(coverage) if isinstance(self.target, AUCTarget) else None

    def place_anew(self, rows: RuleInput, *, label_shift: bool) -> OptimalBands:
        """Search again on other rows, with the probability of being positive read off this ranking by score."""
        return OptimalBands(expected_ranking(self.ranked, rows, label_shift=label_shift), self.target)

    def rows_to_reject(self, rows: RuleInput, capacity: int, order: IndexArray) -> IndexArray:
        """Take neighbours by score whose rejection leaves the highest expected AUC, or the best target."""
        if not isinstance(self.target, AUCTarget):
            return super().rows_to_reject(rows, capacity, order)
        return best_rows(rows.score, self.ranked.probability_at(rows.score), capacity, order)


@dataclass(frozen=True)
class AUCTarget:
    """The AUC of the selected rows.

    Parameters
    ----------
    width : {"full", "any"}, default="full"
        Which bands to search, see :func:`aucross.core.best_band`. New rows need the full width: a narrower band that
        happens to be best on the held-out rows does not stay best.
    """

    width: Width = "full"

    def value(self, ranked: RankedScores, band: RejectionBand | None = None) -> float:
        """Return the AUC after rejecting `band`; NaN if a class is missing."""
        return ranked.auc(band)

    def best_band(self, ranked: RankedScores, coverage: float) -> RejectionBand:
        """Return the band of highest AUC that selects at least `coverage` of the weight."""
        return best_band(ranked, coverage, width=self.width)


_NAMED: dict[str, Target] = {
    "auc": AUCTarget(),
    "ks": KolmogorovSmirnov(),
    "average_precision": AveragePrecision(),
    "partial_auc": PartialAUC(),
}
