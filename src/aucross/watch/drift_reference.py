"""Reference values of a stream without drift: selected share, AUC, share of positives and score deciles."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isnan
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from aucross.core.band_rule import BandRule
from aucross.core.bands import check_coverage
from aucross.core.bounds import auc_lower_bound
from aucross.core.correction import Correction
from aucross.core.ranking import FloatArray, RankedScores
from aucross.core.scored_rows import ScoredRows
from aucross.estimators.base import SelectiveClassifier
from aucross.estimators.coverage_for import variance_between_folds
from aucross.estimators.decisions import Decisions
from aucross.estimators.held_out import HeldOutScores
from aucross.watch.stability import ScoreBins

Tolerance = float | Literal["auto"]

# With tolerance="auto" this share of the false-alarm probability is for placement: that the limits, read from a limited
# number of reference rows, do not hold the truth. The rest is for the sequential test.
PLACEMENT_SHARE = 0.5
# Fewer distinct scores than this share of the rows are ties.
_TIED = 0.5


def watched_scores(rows: ScoredRows, decisions: Decisions, rule: BandRule) -> dict[str, FloatArray]:
    """Return the watched scores by name: the score of the positive class, and the score on which the band lies.

    The score of the positive class is left out with more than two classes, and if a separate model judges the rows,
    because held-out rows then have only the judge's score. The second score is left out if it is the same as the first.
    """
    scores = {"score": rows.score, "selection_score": decisions.selection_score}
    if rows.score.ndim > 1 or rule.judged_apart:
        del scores["score"]
    elif rule.axis == "score":
        del scores["selection_score"]
    return scores


@dataclass(frozen=True)
class Limits:
    """Limits of the mean of a tested stream without drift."""

    expected: float
    low: float
    high: float
    level: float  # false-alarm probability of the sequential test

    @classmethod
    def within(cls, expected: float, tolerance: Tolerance, level: float) -> Limits:
        """Return limits with a tolerance on both sides; ``"auto"`` means 0, since a stated value has no error."""
        margin = 0.0 if tolerance == "auto" else tolerance
        return cls(expected, max(expected - margin, 0.0), min(expected + margin, 1.0), level)


@dataclass(frozen=True)
class Reference:
    """Values that the stream is compared with, as plain numbers that can be written as JSON."""

    coverage: float  # the target
    share: float  # selected share of the reference rows
    n_rows: float  # their number; with weights the effective one
    low: float  # limits of the selected share without drift
    high: float
    level: float  # false-alarm probability of the sequential test of the share
    # Of selected held-out rows; None if undefined. The upper limit of the AUC is 1: only a low one gives an alarm.
    auc: Limits | None
    base_rate: Limits | None
    is_calibrated: bool  # whether labels are compared with the probabilities that held-out rows give to their scores
    # Whether the fit had weights. Share and limits then count rows, not weight, and the target is the held-out share.
    is_weighted: bool
    bins: dict[str, ScoreBins]  # deciles of the reference by name of the score, the first of a report at the front


def reference_from(
    clf: SelectiveClassifier,
    *,
    coverage: float,
    false_alarm: float,
    tolerance: Tolerance,
    auc: float | None,
    auc_tolerance: Tolerance,
    base_rate: float | None = None,
    base_rate_tolerance: Tolerance = "auto",
    rows: Any = None,
    band_groups: Any = None,
) -> Reference:
    """Compute the reference from the held-out rows of a classifier, or from other rows without drift."""
    if rows is None:
        if clf.band_rule_.is_replaced:
            raise ValueError(
                "reference must be given for a recalibrated classifier, because its bands were not placed on the "
                "held-out rows of the fit; pass reference=X, the rows given to recalibrate"
            )
        scored, weight, n_rows = clf.fitted_.scored_held_out(), clf.held_out_.weight_of_rows, clf.held_out_.n_effective
    else:
        scored, weight = clf.scored(rows, band_groups=band_groups), None
        n_rows = float(len(scored))
    decisions = clf.decide(scored, coverage)
    # A classifier fitted with weights keeps a share of weight; the stream is counted in rows, and so is the reference.
    is_weighted = rows is None and clf.held_out_.has_weights
    share = float(np.average(decisions.selected, weights=weight))
    # The band was placed on the scores of fold models and now meets those of another one. A correction of the coverage
    # takes out what they differ by, but where scores are few: whole leaves lie on either side of the band.
    folds = None if rows is not None or clf.band_rule_.judged_apart else clf.held_out_.folds
    has_ties = len(np.unique(decisions.selection_score)) < _TIED * len(scored)
    is_corrected = all(isinstance(part.coverage_map, Correction) for part in clf.band_rule_.rules_by_group.values())
    if is_corrected and not has_ties:
        folds = None
    between = 0.0 if folds is None else variance_between_folds(decisions.selected, folds)
    target = share if is_weighted else coverage
    limits = share_limits(target, share, n_rows, tolerance, false_alarm, between=between)
    bins = {
        name: ScoreBins.from_scores(values, weight, n_effective=n_rows)
        for name, values in watched_scores(scored, decisions, clf.band_rule_).items()
    }
    labelled = None if rows is not None or len(clf.classes_) > 2 else _selected_held_out(clf, coverage)
    of_auc = _auc_limits(clf, coverage, auc, auc_tolerance, false_alarm)
    of_rate = _base_rate_limits(labelled, base_rate, base_rate_tolerance, false_alarm)
    marks = {"is_calibrated": labelled is not None, "is_weighted": is_weighted}
    return Reference(coverage, share, n_rows, *limits, of_auc, of_rate, **marks, bins=bins)


def ranked_rows(held_out: HeldOutScores, selected: NDArray[np.bool_] | None = None) -> RankedScores:
    """Rank all or selected held-out rows of two classes, each counted once whatever its weight."""
    part = held_out if selected is None else held_out.take(np.flatnonzero(selected))
    return RankedScores.from_labels(part.positive, part.scores, part.weight_of_rows, as_counts=True)


def _selected_held_out(clf: SelectiveClassifier, coverage: float) -> RankedScores:
    return ranked_rows(clf.held_out_, clf.decide(clf.fitted_.scored_held_out(), coverage).selected)


def share_limits(
    coverage: float, share: float, n_rows: float, tolerance: Tolerance, false_alarm: float, *, between: float = 0.0
) -> tuple[float, float, float]:
    """Return the limits of the selected share without drift, and the false-alarm probability left for the test.

    `between` is the variance of the share between fold models, given if new rows are scored by another model.
    """
    if tolerance != "auto":
        return max(coverage - tolerance, 0.0), min(coverage + tolerance, 1.0), false_alarm
    tail = PLACEMENT_SHARE * false_alarm / 2
    # The reference share differs from the target on purpose where ties, costs or a margin of safety keep rows: neither
    # it nor the target nor anything between them is drift.
    # So many rows have a share that varies by chance as this one does by chance and between models.
    by_chance = max(share * (1.0 - share), 1.0 / (n_rows + 2.0))
    n_alike = by_chance / (by_chance / n_rows + between)
    intervals = [_interval(selected * n_alike, n_alike, tail) for selected in (coverage, share)]
    low, high = min(low for low, _ in intervals), max(high for _, high in intervals)
    return low, high, (1 - PLACEMENT_SHARE) * false_alarm


def _interval(selected: float, n_rows: float, tail: float) -> tuple[float, float]:
    """Return an interval for the selected share of new rows; each end fails with probability `tail`.

    A band that holds k of n rows covers k - 1 of their n + 1 spacings, and with ties at most k + 1. Clopper and
    Pearson's interval counts k and k + 1, so its upper end is too low for few rows.
    """
    rejected = max(n_rows - selected, 0.0)
    low = float(betaincinv(selected, rejected + 1, tail)) if selected > 0 else 0.0
    high = float(betaincinv(selected + 2, rejected - 1, 1 - tail)) if rejected > 1 else 1.0
    return low, high


def _auc_limits(
    clf: SelectiveClassifier, coverage: float, auc: float | None, tolerance: Tolerance, false_alarm: float
) -> Limits | None:
    if len(clf.classes_) > 2:
        return None
    if auc is None:
        ranked = _selected_held_out(clf, coverage)
        auc, low = ranked.auc(), auc_lower_bound(ranked, PLACEMENT_SHARE * false_alarm)
        if isnan(low):
            return None
        if tolerance == "auto":
            return Limits(auc, low, 1.0, (1 - PLACEMENT_SHARE) * false_alarm)
    return replace(Limits.within(auc, tolerance, false_alarm), high=1.0)


def _base_rate_limits(
    labelled: RankedScores | None, base_rate: float | None, tolerance: Tolerance, false_alarm: float
) -> Limits | None:
    if base_rate is None:
        if labelled is None or labelled.total < 1:
            return None
        positives, total = labelled.total_positives, labelled.total
        base_rate = positives / total
        if tolerance == "auto":
            tail = PLACEMENT_SHARE * false_alarm / 2
            low = float(betaincinv(positives, total - positives + 1, tail)) if positives > 0 else 0.0
            high = float(betaincinv(positives + 1, total - positives, 1 - tail)) if positives < total else 1.0
            return Limits(base_rate, low, high, (1 - PLACEMENT_SHARE) * false_alarm)
    return Limits.within(base_rate, tolerance, false_alarm)


def check_tolerance(tolerance: Any, name: str) -> Tolerance:
    """Return a tolerance, ``"auto"`` or a number in [0, 1); refuse anything else."""
    if isinstance(tolerance, str) and tolerance == "auto":
        return "auto"
    if not isinstance(tolerance, Real) or isinstance(tolerance, bool | np.bool_):
        raise TypeError(f'{name} must be "auto" or a number in [0, 1), got {tolerance!r}')
    if not 0 <= float(tolerance) < 1:
        raise ValueError(f'{name} must be "auto" or a number in [0, 1), got {tolerance}; 0.01 allows one percent point')
    return float(tolerance)


def check_false_alarm(false_alarm: Any) -> float:
    """Return a false-alarm probability, a number in (0, 1); refuse other values."""
    if check_coverage(false_alarm, name="false_alarm") == 1:
        raise ValueError("false_alarm must be below 1, got 1; 0.05 lets one run in twenty alarm without drift")
    return float(false_alarm)
