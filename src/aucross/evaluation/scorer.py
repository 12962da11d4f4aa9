"""A scorer for model selection: GridSearchCV and friends choose by the metric over selected rows."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from aucross.core.bands import check_coverage
from aucross.evaluation.evaluate import METRICS_ON_REQUEST, STANDARD_METRICS, check_selective, evaluate_selective
from aucross.evaluation.multiclass_evaluate import MULTICLASS_METRICS

# Metrics of which less is better get the opposite sign, so that the scorer's larger value is the better one.
_LOSSES = (
    "expected_calibration_error",
    "oracle_gap",
    "positives_deferred",
    "selective_brier",
    "selective_log_loss",
    "selective_risk",
)

# Metrics that are best at 0 and can miss it on both sides.
_DEVIATIONS = ("base_rate_shift", "coverage_error")


class SelectiveScorer(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Callable ``scorer(clf, X, y, sample_weight=None)``; made by :func:`selective_scorer`.

    With metadata routing on, ``scorer.set_score_request(sample_weight=True)`` asks for the weights of the test rows.
    """

    def __init__(self, metric: str = "selective_auc", coverage: float | None = None) -> None:
        self.metric = metric
        self.coverage = coverage

    def __call__(self, clf: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Score a fitted selective classifier; greater is better."""
        return self.score(clf, X, y, sample_weight)

    def score(self, clf: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Score a fitted selective classifier; greater is better."""
        check_selective(clf)
        coverage = clf.coverage if self.coverage is None else self.coverage
        metrics = [self.metric] if self.metric in METRICS_ON_REQUEST else []
        evaluation = evaluate_selective(
            clf, X, y, [coverage], metrics=metrics, sample_weight=sample_weight, n_bootstrap=0
        )
        if self.metric not in evaluation.estimates:
            raise ValueError(
                f"metric must be one of {sorted(evaluation.estimates)} for a classifier of "
                f"{len(clf.classes_)} classes, got {self.metric!r}"
            )
        value = float(evaluation.estimates[self.metric][0])
        if self.metric in _DEVIATIONS:
            return -abs(value)
        return -value if self.metric in _LOSSES else value


def selective_scorer(metric: str = "selective_auc", coverage: float | None = None) -> SelectiveScorer:
    """Make a scorer for ``GridSearchCV(scoring=...)`` and ``cross_val_score``.

    Parameters
    ----------
    metric : str, default="selective_auc"
        Name of a metric of :func:`evaluate_selective`; with more than two classes ``"hand_till_m"`` or ``"auc_mu"``.
        Those of which less is better are returned with a minus;
        ``"coverage_error"`` and ``"base_rate_shift"``, which are best at 0, as minus their absolute value.
    coverage : float in (0, 1], optional
        Coverage to score at; by default the one in the classifier's constructor.

    Returns
    -------
    SelectiveScorer

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import GridSearchCV
    >>> from aucross import AUCross, selective_scorer
    >>> X, y = make_classification(600, random_state=0)
    >>> grid = {"estimator__C": [0.01, 1.0]}
    >>> search = GridSearchCV(
    ...     AUCross(LogisticRegression(), random_state=0), grid, scoring=selective_scorer(coverage=0.8), cv=3
    ... ).fit(X, y)
    >>> sorted(search.best_params_)
    ['estimator__C']
    """
    known = {*STANDARD_METRICS, *METRICS_ON_REQUEST, *MULTICLASS_METRICS}
    if metric not in known:
        raise ValueError(f"metric must be one of {sorted(known)}, got {metric!r}")
    return SelectiveScorer(metric, None if coverage is None else check_coverage(coverage))
