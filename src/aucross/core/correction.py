"""Coverage of a model trained on all rows, read from models that were trained on fewer.

Fold models see (K - 1)/K of the rows. With fewer rows many models score more extremely, so that the band placed on
out-of-fold scores holds more new rows than it should. The share of rows in a band moves with the number of training
rows m about like 1/m: measured at K and at fewer folds, it is a straight line in 1/(K - 1) which ends, at 0, with a
model that saw all rows::

    share of rows in the band

    all rows   x- - - -.
                        ` - K folds ._
                                       ` - - . _ fewer folds
    ───────────┼────────────┼─────────────────┼──────────►  1/(K - 1)
               0

The difference between the two numbers of folds is itself a sample, of rows and of models: a fold model that went astray
moves the share of all rows that it scored. On few rows the difference is mostly noise, and to follow noise is worse
than to correct nothing. So only what exceeds two of its standard errors counts, and what exceeds them little counts
little. The standard error adds up how the rows differ and how the folds do.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from sys import float_info
from typing import Any

import numpy as np

from aucross.core.band_rule import BandRule, WrappedRule
from aucross.core.bands import check_coverage
from aucross.core.ranking import FloatArray, IndexArray
from aucross.core.scored_rows import RuleInput

# Rejected shares at which the shift is measured; between them it is read off straight lines.
_KNOTS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9, 1.0)
# The shift hardly depends on the coverage, so a fixed point is reached at once; more rounds moved it by under 1e-4.
_ROUNDS = 2
# A difference below this many of its standard errors is not followed.
_ERRORS_TO_EXCEED = 2.0


def extrapolation_factor(n_folds: int, n_fewer_folds: int) -> float:
    """How far to go on, from fewer folds to K folds to all rows, in steps of their difference."""
    here, there = 1 / (n_folds - 1), 1 / (n_fewer_folds - 1)
    return here / (there - here)


@dataclass(frozen=True)
class CorrectedBands(WrappedRule):
    """A rule asked for another coverage, so that a model trained on all rows has the one that was asked for.

    Parameters
    ----------
    rule : BandRule
        Rule placed on the scores of K folds.
    rows : RuleInput
        The rows that placed it.
    fewer_folds : RuleInput
        The same rows in the same order, scored by models of fewer folds.
    factor : float
        See :func:`extrapolation_factor`.
    folds, numbers_of_fewer : ndarray of shape (n,), optional
        Number of the fold whose model scored each row, the first time and with fewer folds. Without them the noise is
        that of the rows alone.
    """

    rows: RuleInput
    fewer_folds: RuleInput
    factor: float
    folds: IndexArray | None = None
    numbers_of_fewer: IndexArray | None = None

    def coverage_to_ask(self, coverage: float) -> float:
        """Coverage on the rows that placed the rule at which new rows are expected to have the one asked for."""
        rejected = 1.0 - check_coverage(coverage)
        knot = min(bisect_right(_KNOTS, rejected), len(_KNOTS) - 1)
        low, high = _KNOTS[knot - 1], _KNOTS[knot]
        way = (rejected - low) / (high - low)
        asked = (1.0 - way) * self._share_to_ask(knot - 1) + way * self._share_to_ask(knot)
        return max(1.0 - asked, float_info.min)  # a coverage is never 0

    def coverage_reached(self, coverage: float) -> float:
        """The coverage asked for, and what the rule within could not reject because of ties."""
        asked = self.coverage_to_ask(coverage)
        return coverage + self.rule.expected_coverage(asked) - asked

    @cached_property
    def _shares(self) -> dict[int, float]:
        return {}

    def _share_to_ask(self, knot: int) -> float:
        # Threads may compute the same knot twice; both results are equal.
        if knot not in self._shares:
            self._shares[knot] = self._solve(knot) if 0 < knot < len(_KNOTS) - 1 else _KNOTS[knot]
        return self._shares[knot]

    def _solve(self, knot: int) -> float:
        below, rejected, above = _KNOTS[knot - 1 : knot + 2]
        asked = rejected
        for _ in range(_ROUNDS):
            _, followed = self._difference(1.0 - asked)
            shift = self.factor * followed
            # Half way to its neighbours a knot stops: nested bands stay nested.
            asked = min(max(rejected - shift, (below + rejected) / 2), (rejected + above) / 2)
        return asked

    def coverage_in_doubt(self, coverage: float, group: Any = None) -> float:  # noqa: ARG002
        """What the straight line says beyond what was followed, because it may be noise."""
        seen, followed = self._difference(self.coverage_to_ask(coverage))
        return abs(self.factor * (seen - followed))

    def _difference(self, coverage: float) -> tuple[float, float]:
        """By how much more rows K folds reject than fewer folds do, as seen, and shrunk by its own noise."""
        band = self.rule.band(coverage)
        here, there = (
            band.rejects(self.rule.selection_score(rows, coverage)).astype(float)
            for rows in (self.rows, self.fewer_folds)
        )
        weight = np.ones(len(here)) if self.rows.sample_weight is None else self.rows.sample_weight
        weight = weight / weight.sum()
        seen = float(weight @ (here - there))
        noise = float(weight**2 @ (here - there - seen) ** 2)
        noise += _between_folds(here, weight, self.folds) + _between_folds(there, weight, self.numbers_of_fewer)
        square, least = seen**2, _ERRORS_TO_EXCEED**2 * noise
        return seen, seen * (1.0 - least / square) if square > least else 0.0

    def place_anew(self, rows: RuleInput, *, label_shift: bool) -> BandRule:
        """Place the rule on other rows; scored by the model in use, they need no correction."""
        return self.rule.placed_on(rows, label_shift=label_shift)


def _between_folds(rejected: FloatArray, weight: FloatArray, folds: IndexArray | None) -> float:
    """Square of the standard error of the share rejected, if each fold is one observation."""
    if folds is None:
        return 0.0
    of_fold = np.bincount(folds, weights=weight)
    moved = np.bincount(folds, weights=weight * (rejected - weight @ rejected))  # the fold's part in the share
    n_folds = int((of_fold > 0).sum())
    return float(n_folds / (n_folds - 1) * (moved @ moved)) if n_folds > 1 else 0.0
