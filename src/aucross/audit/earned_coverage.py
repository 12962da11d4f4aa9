"""Earned coverage: automate more cases once labels show that the higher coverage keeps the promised AUC.

Labels outside the band come from audits, labels inside it from reviewed cases with known outcomes; each label became
known with a known probability. For each coverage on a fixed list, the mean AUC over the labelled periods has a lower
bound that holds at all times, so a committee may look every month. The coverage moves one step up if the bound of the
next step reaches the promised AUC. If the bound of the present step does not reach it, the coverage falls back to
the highest lower step whose bound does.

If the AUC falls with the coverage, the first wrong step up is always to the lowest coverage that breaks the promise. So
the confidence that holds for one step holds for all steps together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import inf, nan, pi, sqrt

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import ndtr

from aucross.audit.audited_auc import audited_auc
from aucross.core.cautious import check_confidence
from aucross.core.ranking import FloatArray, effective_size
from aucross.system.notebook import InWords

# Effective labels of a class in a block of periods before its AUC counts as one further piece of evidence.
FEWEST_OF_A_BLOCK = 30

# Share of the probability of a wrong step that is spent as if AUCs of blocks were normal: they are skewed, and look
# more certain when they are too high (`python -m benchmarks.earned`). Blocks after which half of it is spent. Points at
# which sums of errors are held.
_SPENT_AS_NORMAL = 0.6
_HALF_SPENT = 12
_NODES = np.polynomial.legendre.leggauss(128)


@dataclass(frozen=True, eq=False)
class LabelledPeriod:
    """Cases of one period, such as a month.

    Attributes
    ----------
    y_score : array-like of shape (n,)
        Score of each case.
    y_known : array-like of shape (n,)
        Outcome of each case, 0 or 1; NaN where none is known.
    probability : array-like of shape (n,)
        Probability with which the outcome of each case became known, in (0, 1]: the audit probability, or 1 for
        reviewed cases if all of them are followed up.
    selected : array-like of shape (n, n_steps), bool
        Whether each case would be automatic at each coverage of the list.
    """

    y_score: ArrayLike
    y_known: ArrayLike
    probability: ArrayLike
    selected: ArrayLike


@dataclass(frozen=True)
class CoverageStep:
    """Evidence for one coverage: the mean AUC over labelled periods, and a lower bound that holds at all times.

    Attributes
    ----------
    coverage : float
        Share of automatic cases.
    auc, low : float
        Mean AUC and its lower bound; NaN and ``-inf`` while there are too few labels.
    n_blocks : int
        Blocks of periods with enough labels.
    """

    coverage: float
    auc: float
    low: float
    n_blocks: int


@dataclass(frozen=True)
class EarnedCoverage(InWords):
    """Coverage for the next period; made by :func:`next_coverage`.

    Attributes
    ----------
    coverage : float
        Coverage for the next period.
    present : float
        Coverage of the last period.
    auc : float
        The promised AUC.
    steps : tuple of CoverageStep
        Evidence for each coverage of the list.
    confidence_level : float
        Confidence of the lower bounds.
    n_open : int
        Periods that are not counted yet, because outcomes are missing.
    """

    coverage: float
    present: float
    auc: float
    steps: tuple[CoverageStep, ...]
    confidence_level: float
    n_open: int = 0

    @property
    def sentence(self) -> str:
        """The decision and its reason, for a committee to sign."""
        periods = "1 period" if self.n_open == 1 else f"{self.n_open} periods"
        waits = f" Outcomes of {periods} are not complete yet." if self.n_open else ""
        return self._decision + waits

    @property
    def _decision(self) -> str:
        shown, promise = {step.coverage: step for step in self.steps}, f"{self.auc:.3f} is promised."
        step, present = shown[max(self.present, self.coverage)], f"{self.present:.0%}"
        if self.coverage != self.present:
            narrower = ("Narrow", f"at {present}", " only")
            verb, where, only = narrower if self.coverage < self.present else ("Widen", "there", "")
            move = f"{verb} from {present} to {self.coverage:.0%} automatic"
            if not step.n_blocks:
                return f"{move}: too few labels so far to show that {present} keeps the promise; {promise}"
            at_least = f"with {self.confidence_level:.0%} confidence at all times, at least {step.low:.3f}{only}"
            return f"{move}: {where} the mean AUC is {step.auc:.3f} and, {at_least}; {promise}"
        keep, wider = f"Keep {present} automatic", [s for s in self.steps if s.coverage > self.present]
        if not wider:
            return f"{keep}: it is the widest coverage on the list."
        if not wider[0].n_blocks:
            return f"{keep}: too few labels so far to judge {wider[0].coverage:.0%}."
        return (
            f"{keep}: at {wider[0].coverage:.0%} the mean AUC is {wider[0].auc:.3f} and at least {wider[0].low:.3f}; "
            f"{promise}"
        )


def next_coverage(
    periods: Iterable[LabelledPeriod],
    *,
    auc: float,
    present: float,
    coverages: Sequence[float] = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
    confidence_level: float = 0.95,
    n_open: int = 0,
) -> EarnedCoverage:
    """Return the coverage for the next period, given the labels of past periods.

    Parameters
    ----------
    periods : iterable of LabelledPeriod
        Cases of past periods whose outcomes are complete, in order of time.
    auc : float in (0, 1)
        The promised AUC of automatic decisions.
    present : float
        Coverage of the last period, one of `coverages`.
    coverages : sequence of float
        Coverages to choose from, ascending; the first is the starting point and needs no evidence.
    confidence_level : float in (0, 1), default=0.95
        Probability that no step up is ever wrong.
    n_open : int, default=0
        Number of periods left out because outcomes are missing, for the sentence.

    Returns
    -------
    EarnedCoverage
        With ``coverage``, the evidence of each step and a ``sentence``.

    Notes
    -----
    A step up is wrong if the mean AUC over the labelled periods at the wider coverage is below the promise. After a
    sudden change the mean follows slowly and labels come late; use the monitor to detect such a change.
    """
    level, promise = check_confidence(confidence_level, "confidence_level"), check_confidence(auc, "auc")
    listed = [float(coverage) for coverage in coverages]
    if listed != sorted(set(listed)) or not listed or not 0.0 < listed[0] <= listed[-1] <= 1.0:
        raise ValueError(f"coverages must ascend within (0, 1], got {list(coverages)!r}")
    if present not in listed:
        raise ValueError(f"present must be one of coverages, {listed}, got {present!r}")
    known = list(periods)
    for number, period in enumerate(known):
        if np.shape(period.selected) != (len(np.asarray(period.y_score)), len(listed)):
            raise ValueError(
                f"selected must hold one boolean for each case and coverage, got shape {np.shape(period.selected)} for "
                f"{len(np.asarray(period.y_score))} cases and {len(listed)} coverages in period {number}"
            )
    steps = tuple(_step(known, column, coverage, 1.0 - level) for column, coverage in enumerate(listed))
    at = listed.index(present)
    chosen = at
    if at + 1 < len(steps) and steps[at + 1].low >= promise:
        chosen = at + 1
    elif steps[at].low < promise:
        chosen = max((place for place in range(1, at) if steps[place].low >= promise), default=0)
    return EarnedCoverage(listed[chosen], present, promise, steps, level, n_open)


def _step(periods: Sequence[LabelledPeriod], column: int, coverage: float, failure: float) -> CoverageStep:
    """Return the evidence for one coverage; periods are joined into blocks with enough labels each."""
    blocks, waiting = [], []
    for period in periods:
        waiting.append(period)
        if (block := _block(tuple(waiting), column, coverage)) is not None:
            blocks.append(block)
            waiting = []
    if not blocks:
        return CoverageStep(coverage, nan, -inf, 0)
    aucs, variances = zip(*blocks, strict=True)
    mean = float(np.mean(aucs))
    return CoverageStep(
        coverage, mean, mean - _spent_until(variances, _SPENT_AS_NORMAL * failure)[0] / len(aucs), len(aucs)
    )


def _block(periods: tuple[LabelledPeriod, ...], column: int, coverage: float) -> tuple[float, float] | None:
    """Return the AUC and its variance for a block of periods at one coverage; None if it has too few labels."""
    rows = []
    for period in periods:
        own = np.asarray(period.selected, dtype=bool)[:, column]
        columns = (period.y_score, period.y_known, period.probability)
        rows.append([np.asarray(values, dtype=np.float64)[own] for values in columns])
    score, label, probability = (np.concatenate(parts) for parts in zip(*rows, strict=True))
    for value in (0.0, 1.0):
        weight = 1.0 / probability[label == value]
        if not len(weight) or effective_size(weight) < FEWEST_OF_A_BLOCK:
            return None
    found = audited_auc(score, label, probability)
    if found.problem:
        raise ValueError(
            f"periods must hold the outcomes that their probabilities stand for: at coverage {coverage:g} "
            f"{found.problem}; leave out periods whose outcomes are not complete"
        )
    # Labels without a single pair in the wrong order have no spread; the interval says how far they may mislead.
    return found.auc, (found.standard_error or (found.auc - found.low) / 1.96) ** 2


@lru_cache(maxsize=4096)
def _spent_until(variances: tuple[float, ...], failure: float) -> tuple[float, FloatArray, FloatArray]:
    """Return the boundary for the sum of errors after the last block, and the distribution of sums that crossed none.

    Error spending of Lan and DeMets (1983): after k blocks the sum has crossed a boundary with probability ``failure
    k^2 / (k^2 + 144)``, which stays below `failure` for every k. The distribution is given by points and their mass.
    """
    if not variances:
        return inf, np.zeros(1), np.ones(1)
    _, before, mass = _spent_until(variances[:-1], failure)
    # A block that adds next to nothing would fall between the points: it counts as more.
    spread = sqrt(max(variances[-1], sum(variances[:-1]) / 150.0))
    span = 6.0 * (sqrt(sum(variances)) + spread)
    spent = [failure * k**2 / (k**2 + _HALF_SPENT**2) for k in (len(variances) - 1, len(variances))]
    end = brentq(lambda at: float(mass @ ndtr((before - at) / spread)) - (spent[1] - spent[0]), -span, span)
    nodes, weights = _NODES
    points = end + (nodes - 1.0) / 2.0 * (end + span)
    density = np.exp(-0.5 * np.square((points[:, None] - before) / spread)) @ mass / (spread * sqrt(2.0 * pi))
    return end, points, weights / 2.0 * (end + span) * density
