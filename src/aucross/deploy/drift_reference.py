"""What a stream without drift looks like: the accepted share, the AUC and the score deciles to compare it with."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv
from sklearn.utils.validation import check_is_fitted

from aucross.core.bands import check_coverage
from aucross.core.ranking import FloatArray
from aucross.deploy.stability import ScoreBins
from aucross.estimators.auc import AUCross, PlugInAUC
from aucross.estimators.base import SelectiveClassifier

Tolerance = float | Literal["auto"]

# With tolerance="auto" this share of the false-alarm probability is for placement: that the limits, read from a limited
# number of reference rows, do not hold the truth. The rest is for the sequential test.
PLACEMENT_SHARE = 0.5

# With two classes the rules of these read the score of the positive class; others read it among more, or not at all.
_READ_THE_CLASS_SCORE = (AUCross, PlugInAUC)


@dataclass(frozen=True)
class Decisions:
    """Which rows a classifier answers, and the scores that it decides by.

    Attributes
    ----------
    selected : ndarray of shape (n,), bool
        Whether the prediction is used.
    scores : dict of str to ndarray of shape (n,)
        ``"score"`` is the score of the positive class of two, ``"selection_score"`` the one on which the band lies.
    """

    selected: NDArray[np.bool_]
    scores: dict[str, FloatArray]


def decide(clf: SelectiveClassifier, X: Any, coverage: float, band_groups: Any = None) -> Decisions:
    """The decisions of a classifier on new rows."""
    score = clf._score(X)
    if len(clf.classes_) > 2:
        return _decisions(clf, score, coverage, band_groups)
    return _decisions(clf, score, coverage, band_groups, _class_score(clf, X, score))


def _class_score(clf: SelectiveClassifier, X: Any, score: FloatArray) -> FloatArray:
    """Score of the positive class of two, from what the rule reads of the rows if that holds it."""
    if score.ndim == 2:
        return score[:, 0]
    return score if isinstance(clf, _READ_THE_CLASS_SCORE) else SelectiveClassifier._score(clf, X)


def decide_held_out(clf: SelectiveClassifier, coverage: float) -> Decisions:
    """The same for the held-out rows."""
    class_score = clf.held_out_.scores if len(clf.classes_) == 2 else None
    return _decisions(clf, clf._held_out_score(), coverage, clf.band_groups_, class_score)


def _decisions(
    clf: SelectiveClassifier, score: FloatArray, coverage: float, groups: Any, class_score: FloatArray | None = None
) -> Decisions:
    selection_score, selected = np.empty(len(score)), np.empty(len(score), dtype=bool)
    for rows, rule in clf._rules(groups, len(score)):
        selection_score[rows] = rule.selection_score(score[rows], coverage)
        selected[rows] = rule.band(coverage).selects(selection_score[rows])
    scores = {"selection_score": selection_score}
    return Decisions(selected, scores if class_score is None else {"score": class_score, **scores})


@dataclass(frozen=True)
class Reference:
    """What the stream is compared with; plain numbers, so that it can be written as JSON.

    Attributes
    ----------
    coverage : float
        Target coverage.
    share, n_rows : float
        Accepted share of the reference rows and their number; with weights the effective one.
    low, high : float
        Limits of the accepted share without drift.
    level : float
        False-alarm probability of the sequential test of the share.
    auc, auc_low, auc_level : float or None
        AUC of the selected held-out rows, its lower limit without drift and the false-alarm probability of its
        sequential test; None where there is no such AUC.
    bins : dict of str to ScoreBins
        Deciles of the reference scores by the name of the score, the one that the report puts first at the front.
    """

    coverage: float
    share: float
    n_rows: float
    low: float
    high: float
    level: float
    auc: float | None
    auc_low: float | None
    auc_level: float | None
    bins: dict[str, ScoreBins]


def reference_from(
    clf: SelectiveClassifier,
    *,
    coverage: float,
    false_alarm: float,
    tolerance: Tolerance,
    auc: float | None,
    auc_tolerance: Tolerance,
    rows: Any = None,
    band_groups: Any = None,
) -> Reference:
    """Read the reference from the held-out rows of a classifier, or from other rows without drift."""
    if rows is None:
        if hasattr(clf, "fitted_band_rule_"):
            raise ValueError(
                "reference must be given for a recalibrated classifier, because its bands were not placed on the "
                "held-out rows of the fit; pass reference=X, the rows given to recalibrate"
            )
        decisions, weight = decide_held_out(clf, coverage), clf.held_out_.sample_weight
        n_rows = clf.held_out_.n_effective
    else:
        decisions, weight = decide(clf, rows, coverage, band_groups), None
        n_rows = float(len(decisions.selected))
    share = float(np.average(decisions.selected, weights=weight))
    low, high, level = share_limits(coverage, share, n_rows, tolerance, false_alarm)
    bins = {
        name: ScoreBins.from_scores(values, weight, n_effective=n_rows)
        for name, values in _scores_to_watch(clf, decisions.scores).items()
    }
    auc, auc_low, auc_level = _auc_limits(clf, coverage, auc, auc_tolerance, false_alarm)
    return Reference(coverage, share, n_rows, low, high, level, auc, auc_low, auc_level, bins)


def _scores_to_watch(clf: SelectiveClassifier, scores: dict[str, FloatArray]) -> dict[str, FloatArray]:
    """One score where the band lies on the score of the positive class itself."""
    if not isinstance(clf, _READ_THE_CLASS_SCORE) or "score" not in scores:
        return scores
    is_same = np.array_equal(scores["score"], scores["selection_score"])
    return {"score": scores["score"]} if is_same else scores


def share_limits(
    coverage: float, share: float, n_rows: float, tolerance: Tolerance, false_alarm: float
) -> tuple[float, float, float]:
    """Limits of the accepted share without drift, and what is left of the false-alarm probability."""
    if tolerance != "auto":
        return max(coverage - tolerance, 0.0), min(coverage + tolerance, 1.0), false_alarm
    tail = PLACEMENT_SHARE * false_alarm / 2
    # The reference share differs from the target on purpose where ties, costs or a margin of safety keep rows: neither
    # it nor the target nor anything between them is drift.
    intervals = [_clopper_pearson(accepted * n_rows, n_rows, tail) for accepted in (coverage, share)]
    low, high = min(low for low, _ in intervals), max(high for _, high in intervals)
    return low, high, (1 - PLACEMENT_SHARE) * false_alarm


def _clopper_pearson(accepted: float, n_rows: float, tail: float) -> tuple[float, float]:
    """Interval for a share, each end of which fails with probability `tail`."""
    rejected = max(n_rows - accepted, 0.0)
    low = float(betaincinv(accepted, rejected + 1, tail)) if accepted > 0 else 0.0
    high = float(betaincinv(accepted + 1, rejected, 1 - tail)) if rejected > 0 else 1.0
    return low, high


def _auc_limits(
    clf: SelectiveClassifier, coverage: float, auc: float | None, tolerance: Tolerance, false_alarm: float
) -> tuple[float | None, float | None, float | None]:
    """AUC to compare with, its lower limit without drift, and what is left of the false-alarm probability."""
    if len(clf.classes_) > 2:
        return None, None, None
    if auc is not None:
        # An AUC that somebody states is no estimate, and has no error.
        return auc, max(auc - (0.0 if tolerance == "auto" else tolerance), 0.0), false_alarm
    value, low, _ = clf._held_out_curve(PLACEMENT_SHARE * false_alarm)(coverage)
    if isnan(low):
        return None, None, None
    if tolerance == "auto":
        return value, low, (1 - PLACEMENT_SHARE) * false_alarm
    return value, max(value - tolerance, 0.0), false_alarm


def check_classifier(clf: Any) -> SelectiveClassifier:
    """Refuse anything but a fitted selective classifier."""
    if not isinstance(clf, SelectiveClassifier):
        raise TypeError(
            f"clf must be a selective classifier such as AUCross, got {type(clf).__name__}; wrap the model: "
            "AUCross(model).fit(X, y)"
        )
    check_is_fitted(clf, "band_rule_")
    return clf


def check_tolerance(tolerance: Any, name: str) -> Tolerance:
    """``"auto"`` or a number in [0, 1)."""
    if isinstance(tolerance, str) and tolerance == "auto":
        return "auto"
    if not isinstance(tolerance, Real) or isinstance(tolerance, bool | np.bool_):
        raise TypeError(f'{name} must be "auto" or a number in [0, 1), got {tolerance!r}')
    if not 0 <= float(tolerance) < 1:
        raise ValueError(f'{name} must be "auto" or a number in [0, 1), got {tolerance}; 0.01 allows one percent point')
    return float(tolerance)


def check_false_alarm(false_alarm: Any) -> float:
    """A probability in (0, 1)."""
    if check_coverage(false_alarm, name="false_alarm") == 1:
        raise ValueError("false_alarm must be below 1, got 1; 0.05 lets one run in twenty alarm without drift")
    return float(false_alarm)
