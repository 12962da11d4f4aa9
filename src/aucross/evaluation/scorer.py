"""A scorer for model selection: GridSearchCV and friends choose by the metric over selected rows."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from aucross.core.bands import check_coverage
from aucross.evaluation.catalogue import (
    METRICS,
    METRICS_ON_REQUEST,
    MULTICLASS_METRICS,
    STANDARD_METRICS,
    AnyMetric,
    MetricLike,
)
from aucross.evaluation.evaluate import evaluate_selective
from aucross.evaluation.judged_rows import check_selective
from aucross.evaluation.metrics import as_metric


class SelectiveScorer(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Callable ``scorer(clf, X, y, sample_weight=None)``; made by :func:`selective_scorer`.

    With metadata routing on, ``scorer.set_score_request(sample_weight=True)`` asks for the weights of the test rows.

    Parameters
    ----------
    metric, coverage
        As for :func:`selective_scorer`.
    """

    def __init__(self, metric: MetricLike = "selective_auc", coverage: float | None = None) -> None:
        self.metric = metric
        self.coverage = coverage

    def __call__(self, clf: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Score a fitted selective classifier; greater is better."""
        return self.score(clf, X, y, sample_weight)

    def score(self, clf: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Score a fitted selective classifier; greater is better."""
        check_selective(clf)
        metric = _found(self.metric)
        coverage = clf.coverage if self.coverage is None else self.coverage
        evaluation = evaluate_selective(
            clf, X, y, [coverage], metrics=[metric], sample_weight=sample_weight, n_bootstrap=0
        )
        return metric.as_score(float(evaluation.estimates[metric.name][0]))


def selective_scorer(metric: MetricLike = "selective_auc", coverage: float | None = None) -> SelectiveScorer:
    """Make a scorer for ``GridSearchCV(scoring=...)`` and ``cross_val_score``.

    Parameters
    ----------
    metric : str or callable, default="selective_auc"
        Name of a metric of :func:`evaluate_selective`, with more than two classes ``"hand_till_m"`` or ``"auc_mu"``; or
        a function of your own as there, the higher the better unless it is a :class:`~aucross.evaluation.Metric` that
        says otherwise. A metric that is better when lower is returned with a minus; ``"coverage_error"`` and
        ``"base_rate_shift"``, which are best at 0, as minus their absolute value.
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
    _found(metric).as_score(0.0)  # refuses a metric that has no better side
    return SelectiveScorer(metric, None if coverage is None else check_coverage(coverage))


def _found(metric: MetricLike) -> AnyMetric:
    known = sorted({*STANDARD_METRICS, *METRICS_ON_REQUEST, *MULTICLASS_METRICS})
    if callable(metric):
        return as_metric(metric)
    if metric not in known:
        raise ValueError(f"metric must be a function or one of {known}, got {metric!r}")
    return METRICS[metric]
