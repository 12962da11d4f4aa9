"""Keep a coverage with confidence: how many held-out rows may be rejected so that new rows keep it.

A band placed on n rows holds k of them. Its share of new rows is different, because the rows that placed it are a
sample. Replace every score by its quantile u among all scores: the n rows become n uniform points, which cut the line
from 0 to 1 into n + 1 spacings::

    0    u(1)  u(2)       u(i)  u(i+1)  ...  u(i+k-1)     u(n)   1
    ├─────┼─────┼── ... ────■──────■─── ... ────■─── ... ───┼─────┤
                            └─ a band from row to row ──┘
                               k rows, k - 1 spacings

The share of new rows in the band is the total length of its spacings, whose distribution does not depend on the scores.

==========================================  ===============================  ======================================
the band                                    holds at most                    law
==========================================  ===============================  ======================================
found by a search, anywhere                 k - 1 spacings                   the longest of all such blocks
found by a search, scores with ties         k + 1 spacings                   the same
the k lowest rows, a threshold              k spacings                       Beta(k, n + 1 - k)
the k lowest rows, scores with ties         k + 1 spacings                   Beta(k + 1, n - k)
==========================================  ===============================  ======================================

With ties many rows may share the end of a band, and the band reaches at most to the next row outside.

**The longest of all blocks** of m spacings exceeds d = 1 - coverage if and only if a window of length d, moved from 0
to 1, holds fewer than m rows at some place: there it is *short*. Rows leave and enter it in random order, so that the
reflection principle counts the orders in which it is short. Let two neighbouring windows hold a and b rows:

1. A window that moves by its own length and is long enough at both ends is short between them with probability
   P(a = m - 1) * E[(b - m)+ | a = m - 1].
2. A window that moves on is short for the first time at x with a density h(x). h falls with x, because the window must
   have been long enough for a longer time, and h(d) is known: it is the density with which the window loses a row that
   it needs.

So some window is short with probability at most 2 P(a < m) + (1.) + (1 - 2d) h(d): a few binomial terms for any n, no
simulation. The bound is tight: in simulations of 100 to 10,000 rows the true chance was within a twentieth of a bound
of .05. For d > 1/2 one shorter move is all there is; only windows short at both ends are then counted twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import exp
from numbers import Integral
from typing import TYPE_CHECKING

from scipy.special import betainc, gammaln, xlog1py, xlogy

from aucross.core.bands import check_coverage
from aucross.core.correction import CoverageMap
from aucross.core.scored_rows import RuleInput

if TYPE_CHECKING:
    from aucross.core.band_rule import BandRule

# Rows that a band may hold are counted in weights, whose sums carry rounding.
_ROUNDING = 1e-9


def rejections_that_keep(
    n_rows: int, coverage: float, confidence: float, *, fixed: bool = False, tied: bool = False
) -> int:
    """Return how many held-out rows a band may reject so that new rows keep the coverage with this confidence.

    Parameters
    ----------
    n_rows : int
        Independent held-out rows, of weight 1 each.
    coverage : float in (0, 1]
        Share of new rows to select.
    confidence : float in (0, 1)
        Probability, over the draw of the held-out rows, that the band selects at least this share of all new rows.
    fixed : bool, default=False
        Whether the place of the band is fixed in advance, such as the lowest scores for a threshold; this allows more
        rejections. False is valid for a band found by any search.
    tied : bool, default=False
        Whether different rows can have the same score; one row fewer may then be rejected, or two if not `fixed`.

    Returns
    -------
    int
        At most ``n_rows - 1``. 0 means that there are too few rows to reject any of them.

    Notes
    -----
    The number is valid for any distribution of the scores, with exactly this confidence if `fixed` and not `tied`, and
    otherwise with at least this confidence (see the top of this module). It is valid for one coverage at a time and for
    unweighted rows: with weights no such number exists, because a rare heavy row that the sample lacks can have any
    share of the weight.

    Examples
    --------
    >>> from aucross.core.cautious import rejections_that_keep
    >>> rejections_that_keep(1000, coverage=0.95, confidence=0.95)
    29
    >>> rejections_that_keep(1000, coverage=0.95, confidence=0.95, fixed=True)
    39
    >>> rejections_that_keep(100, coverage=0.95, confidence=0.95)
    0
    """
    n_rows, coverage, confidence = _check_n_rows(n_rows), check_coverage(coverage), check_confidence(confidence)
    rejected = 1.0 - coverage
    if rejected == 0 or n_rows < 2:
        return 0

    def stay_within(spacings: int) -> bool:
        # The first spacings are longer than the rejected share if fewer rows lie below it. Where this fixed block is
        # too long already, no look at all blocks is needed.
        if _at_most(spacings - 1, n_rows, rejected) > 1.0 - confidence:
            return False
        return fixed or _some_block_is_longer(n_rows, spacings, rejected) <= 1.0 - confidence

    spacings = largest_that(stay_within, n_rows)
    if spacings == 0:
        return 0  # one row alone is a band that no new row falls into
    more_rows = -1 if tied else int(not fixed)  # than the largest number of spacings that the band covers
    return min(max(spacings + more_rows, 0), n_rows - 1)


def smallest_size_that_keeps(coverage: float, confidence: float, *, fixed: bool = False, tied: bool = False) -> int:
    """Return the least number of held-out rows for which :func:`rejections_that_keep` is not 0.

    Parameters
    ----------
    coverage : float in (0, 1)
        Share of new rows to select.
    confidence : float in (0, 1)
        Probability with which new rows should keep the coverage.
    fixed, tied : bool, default=False
        As for :func:`rejections_that_keep`.

    Examples
    --------
    >>> from aucross.core.cautious import smallest_size_that_keeps
    >>> [smallest_size_that_keeps(coverage, confidence=0.95) for coverage in (0.99, 0.95, 0.9)]
    [984, 158, 69]
    """
    if check_coverage(coverage) == 1.0:
        raise ValueError("coverage must be below 1, got 1; at 1 no number of rows allows a rejection")

    def are_too_few(n_rows: int) -> bool:
        return rejections_that_keep(n_rows, coverage, confidence, fixed=fixed, tied=tied) == 0

    enough = 2
    while are_too_few(enough):
        enough *= 2
    return 1 + largest_that(are_too_few, enough - 1)


def check_confidence(confidence: object, name: str = "confidence") -> float:
    """Return `confidence` as a float in (0, 1); refuse anything else."""
    value = check_coverage(confidence, name=name)
    if value == 1.0:
        raise ValueError(f"{name} must be below 1, got 1: a sample makes nothing certain; pass 0.95")
    return value


def _check_n_rows(n_rows: object) -> int:
    if not isinstance(n_rows, Integral) or n_rows < 0:
        raise ValueError(f"n_rows must be a whole number of rows, got {n_rows!r}; pass len(scores)")
    return int(n_rows)


@dataclass(frozen=True)
class Caution(CoverageMap):
    """Map a requested coverage to a higher one, so that new rows keep the request with a given confidence.

    Parameters
    ----------
    n_rows : int
        Number of rows of weight 1 that place the rule.
    confidence : float in (0, 1)
        Probability that the selected share of new rows is at least the requested coverage.
    tied : bool, default=True
        Whether different rows can have the same selection score, as for :func:`rejections_that_keep`.

    Notes
    -----
    Exact if neither the model nor the selection score was fitted on the placing rows: held-out rows of a hold-out
    method, or new rows without labels. It is an approximation if fold models score the rows and a refitted model is
    used, and for rules that learn their selection score from the same rows (:class:`~aucross.core.InfluenceBands`).

    Examples
    --------
    >>> import numpy as np
    >>> from aucross.core import Caution, RankedScores, ThresholdBands
    >>> ranked = RankedScores.from_labels(np.ones(500), np.arange(500))
    >>> cautious = ThresholdBands(ranked, coverage_map=Caution(n_rows=500, confidence=0.95, tied=False))
    >>> ThresholdBands(ranked).band(0.9).upper, cautious.band(0.9).upper, cautious.coverage_to_place(0.9)
    (49.0, 38.0, 0.922)
    """

    n_rows: int
    confidence: float
    tied: bool = True

    def __post_init__(self) -> None:
        _check_n_rows(self.n_rows)
        check_confidence(self.confidence)

    def coverage_to_place(self, rule: BandRule, coverage: float) -> float:
        """Return the lowest coverage whose band holds no more rows than allowed; 1 if none may be rejected."""
        most = rejections_that_keep(self.n_rows, coverage, self.confidence, fixed=rule.is_fixed, tied=self.tied)
        rows = most
        if not self._holds_at_most(rule, most, most):
            rows = largest_that(lambda fewer: self._holds_at_most(rule, most, fewer), most - 1)
        return 1.0 - rows / self.n_rows if rows else 1.0

    def _holds_at_most(self, rule: BandRule, most: int, rows: int) -> bool:
        """Return whether the band for this number of rows stays within the allowed number despite ties."""
        if rule.ranking is None or rows == 0:
            return True  # rules on other scores keep their budget
        held = (1.0 - rule.ranking.coverage(rule.placed(1.0 - rows / self.n_rows))) * self.n_rows
        return held <= most + _ROUNDING * self.n_rows

    def expected_coverage(self, rule: BandRule, coverage: float) -> float:
        """Return the share of the placing rows that the band selects after its budget was reduced."""
        to_place = rule.coverage_to_place(coverage)
        return 1.0 if to_place == 1.0 else rule.share_selected(to_place)

    def rows_needed(self, rule: BandRule, coverage: float) -> int | None:
        """Return how many rows are needed before one may be rejected; None if there are enough or the coverage is 1."""
        if coverage == 1.0 or rule.coverage_to_place(coverage) < 1.0:
            return None
        return smallest_size_that_keeps(coverage, self.confidence, fixed=rule.is_fixed, tied=self.tied)

    def for_rows(self, rows: RuleInput) -> Caution:
        """Return the map for the same confidence and another number of rows of weight 1."""
        if rows.sample_weight is not None:
            raise ValueError(
                "sample_weight must be None for a rule with coverage_confidence: the confidence is about a share of "
                "rows; fit without coverage_confidence to place bands by weight"
            )
        return Caution(len(rows), self.confidence, tied=rows.may_be_tied)


# ---- laws of blocks of spacings ----


def _some_block_is_longer(n_rows: int, spacings: int, length: float) -> float:
    """Return an upper bound of the chance that, of n + 1 spacings, some `spacings` neighbours sum to over `length`."""
    ends_are_short = 2 * _at_most(spacings - 1, n_rows, length)
    if length > 0.5:
        return ends_are_short + _short_in_the_only_move(n_rows, spacings, length)
    return (
        ends_are_short
        + _short_in_a_full_move(n_rows, spacings, length)
        + (1 - 2 * length) * _density_of_short_after_a_move(n_rows, spacings, length)
    )


def _short_in_a_full_move(n_rows: int, spacings: int, length: float) -> float:
    """Return the chance that a window is short of rows while it moves by its own length, but not at either end.

    Short means fewer than m = `spacings` rows. Of the orders in which `left` rows leave and `entered` rows enter,
    c(left + entered, m - 1) make it short (reflect the count of rows at m - 1). Summed over all pairs with
    left + entered = s that is (s - 2m + 1) c(s, m - 1): as if for one pair with left = m - 1 and
    entered - m = s - 2m + 1.
    """
    remaining = n_rows - spacings + 1
    # (entered - m)+ as the shortfall of those that did not enter
    excess = _expected_shortfall(remaining - spacings, remaining, 1 - length / (1 - length))
    return _equals(spacings - 1, n_rows, length) * excess


def _short_in_the_only_move(n_rows: int, spacings: int, length: float) -> float:
    """Return the chance that a window longer than 1/2 is short of rows while it moves to the other end of [0, 1]."""
    outside = 1 - length
    return _equals(n_rows - spacings + 1, n_rows, outside) * _expected_shortfall(
        n_rows - spacings, spacings - 1, outside / length
    )


def _density_of_short_after_a_move(n_rows: int, spacings: int, length: float) -> float:
    """Return the density with which a window first becomes short of rows just after moving by its full length.

    A row leaves at that moment. Before, the count in the window must have fallen to m and never below: these are the
    orders that end there minus the reflected ones, c(s, m - 1) - c(s, m - 2).
    """
    others, share = n_rows - 1, length / (1 - length)
    orders = _equals(spacings - 1, others, length) * _at_least(spacings - 1, n_rows - spacings, share)
    reflected = _equals(spacings - 2, others, length) * _at_least(spacings, n_rows - spacings + 1, share)
    return n_rows * max(orders - reflected, 0.0)


def largest_that(holds: Callable[[int], bool], high: int) -> int:
    """Return the largest number up to `high` that meets a monotone condition; 0 if none."""
    low = 0
    while low < high:
        middle = (low + high + 1) // 2
        if holds(middle):
            low = middle
        else:
            high = middle - 1
    return low


# ---- the binomial distribution, with scipy.special alone ----


def _equals(count: int, trials: int, share: float) -> float:
    if not 0 <= count <= trials:
        return 0.0
    coefficient = gammaln(trials + 1) - gammaln(count + 1) - gammaln(trials - count + 1)
    return exp(coefficient + xlogy(count, share) + xlog1py(trials - count, -share))


def _at_most(count: int, trials: int, share: float) -> float:
    if count < 0:
        return 0.0
    return 1.0 if count >= trials else float(betainc(trials - count, count + 1, 1 - share))


def _at_least(count: int, trials: int, share: float) -> float:
    if count <= 0:
        return 1.0
    return 0.0 if count > trials else float(betainc(count, trials - count + 1, share))


def _expected_shortfall(goal: int, trials: int, share: float) -> float:
    if goal <= 0:
        return 0.0
    return goal * _at_most(goal, trials, share) - trials * share * _at_most(goal - 1, trials - 1, share)
