"""Map the requested coverage to the one that is placed: the correction for a model that is trained on all rows.

Fold models place the band, but a model refitted on all rows decides on new rows. It saw more rows and differs by
chance, so the band holds another share of its scores. No row is left that this model did not train on, to measure the
share. But its chance differences from the fold models (scores closer together, or farther apart) also show on training
rows. So the share of new rows in the band is about::

      share of the held-out rows, scored by the fold models
    + share of the training rows, scored by the refitted model
    - share of the training rows, scored by the fold models

Scores of training rows are more extreme than others. If the fold models put very different shares of training and of
held-out rows into the band, the difference of the last two lines is less reliable and counts less. It changes a share
by at most half, because a nearly perfect model has too few scores in the middle.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from sys import float_info
from typing import TYPE_CHECKING

import numpy as np

from aucross.core.scored_rows import RuleInput

if TYPE_CHECKING:
    from aucross.core.band_rule import BandRule

# Rejected shares at which the shift is measured; between them it is read off straight lines.
_KNOTS = (0.02, 0.05, 0.1, 0.15, 0.2, 0.275, 0.35, 0.5, 0.7, 0.9)
# A share is changed by at most this part of it.
_LARGEST_CHANGE = 0.5
# Shares that a refitted model rejects grow with those of the fold models at least by this part of them.
_LEAST_SLOPE = 0.05


class CoverageMap(ABC):
    """Maps the requested coverage to the coverage to place a rule for, so that new rows reach the requested one.

    :class:`Correction` for a refitted model and :class:`~aucross.core.Caution` for a promise are such maps.
    """

    @abstractmethod
    def coverage_to_place(self, rule: BandRule, coverage: float) -> float:
        """Return the coverage to place the rule for."""

    @abstractmethod
    def expected_coverage(self, rule: BandRule, coverage: float) -> float:
        """Return the share of new rows that should be selected if this coverage is requested."""

    def for_rows(self, rows: RuleInput) -> CoverageMap | None:  # noqa: ARG002
        """Return the map for a rule placed on other rows, scored by the model in use; by default no correction."""
        return None


@dataclass(frozen=True)
class Correction(CoverageMap):
    """A map of coverages for a model trained on all rows, so that new rows reach the requested coverage.

    Parameters
    ----------
    shifts : tuple of float
        Share of new rows that the refitted model rejects, minus their share of held-out rows, for bands that reject 2,
        5, 10, 15, 20, 27.5, 35, 50, 70 and 90 % of the held-out rows; see :meth:`of_seen_rows`.
    """

    shifts: tuple[float, ...]

    @classmethod
    def of_seen_rows(cls, rule: BandRule, by_refit: RuleInput, by_folds: RuleInput) -> Correction:
        """Measure the shifts on training rows."""
        shifts = []
        for rejected in _KNOTS:
            band, held_out = rule.placed(1.0 - rejected), 1.0 - rule.share_selected(1.0 - rejected)
            refit, folds = (
                rows.share(band.rejects(rule.scores_of(rows, 1.0 - rejected))) for rows in (by_refit, by_folds)
            )
            most, shift = _LARGEST_CHANGE * rejected, 0.0
            if min(folds, held_out) > 0.0:
                shift = (refit - folds) * min(folds / held_out, held_out / folds)
            shifts.append(min(max(shift, -most), most))
        return cls(tuple(shifts))

    def coverage_to_place(self, rule: BandRule, coverage: float) -> float:  # noqa: ARG002
        """Return the coverage of the placing rows at which new rows should have the requested coverage."""
        knots = np.array((0.0, *_KNOTS, 1.0))
        # The share of new rows that each knot rejects: a wider band rejects more of them.
        steps = np.diff(knots + np.array((0.0, *self.shifts, 0.0)))
        steps = np.maximum(steps, _LEAST_SLOPE * np.diff(knots))
        reached = np.concatenate(([0.0], np.cumsum(steps) / steps.sum()))
        rejected = np.interp(1.0 - coverage, reached, knots)
        return max(1.0 - float(rejected), float_info.min)  # a coverage is never 0

    def expected_coverage(self, rule: BandRule, coverage: float) -> float:
        """Return the requested coverage plus the share that ties keep from being rejected."""
        to_place = rule.coverage_to_place(coverage)
        return coverage + rule.share_selected(to_place) - to_place
