"""A scorer with which GridSearchCV and other searches choose models by a metric of selected rows."""

from __future__ import annotations

import warnings
from typing import Any
from uuid import uuid4

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
from aucross.evaluation.inputs import check_selective
from aucross.evaluation.metric import as_metric

# By scorer the coverage of the first classifier that it has scored, None after a warning. A scorer that is sent to
# another process keeps its name.
_FIRST_COVERAGES: dict[str, float | None] = {}


class SelectiveScorer(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Callable ``scorer(clf, X, y, sample_weight=None)``; made by :func:`selective_scorer`.

    With metadata routing on, ``scorer.set_score_request(sample_weight=True)`` requests the weights of the test rows.

    Parameters
    ----------
    metric, coverage
        As for :func:`selective_scorer`.
    """

    def __init__(self, metric: MetricLike = "selective_auc", coverage: float | None = None) -> None:
        self.metric = metric
        self.coverage = coverage
        self._name = uuid4().hex

    def score(self, clf: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Score a fitted selective classifier; greater is better."""
        check_selective(clf)
        metric = _found(self.metric)
        coverage = clf.coverage if self.coverage is None else self.coverage
        # Classifiers of different coverages, each scored at its own as in a grid of coverages: say so once.
        if self.coverage is None and metric.name not in ("achieved_coverage", "coverage_error"):
            first = _FIRST_COVERAGES.setdefault(self._name, coverage)
            if first not in (None, coverage):
                _FIRST_COVERAGES[self._name] = None
                warnings.warn(
                    f"classifiers of coverage {first:g} and {coverage:g} are scored each at its own coverage, and such "
                    "scores do not compare: the lower the coverage, the better they are; pass one coverage for all, "
                    "as in selective_scorer(coverage=0.8), and leave coverage out of the grid, as one fit answers for "
                    "every coverage",
                    UserWarning,
                    stacklevel=2,
                )
        evaluation = evaluate_selective(
            clf, X, y, [coverage], metrics=[metric], sample_weight=sample_weight, n_bootstrap=0
        )
        return metric.as_score(float(evaluation.estimates[metric.name][0]))

    __call__ = score


def selective_scorer(metric: MetricLike = "selective_auc", coverage: float | None = None) -> SelectiveScorer:
    """Make a scorer for ``GridSearchCV(scoring=...)`` and ``cross_val_score``.

    Parameters
    ----------
    metric : str or callable, default="selective_auc"
        Name of a metric of :func:`evaluate_selective` (``"hand_till_m"`` or ``"auc_mu"`` for more than two classes), or
        a function of your own; higher values count as better unless it is a :class:`~aucross.evaluation.Metric` that
        says otherwise. Metrics that are better when lower get a minus sign; ``"coverage_error"`` and
        ``"base_rate_shift"``, which are best at 0, become minus their absolute value.
    coverage : float in (0, 1], optional
        Coverage to score at; each classifier's own by default. Compare classifiers only at the same coverage, because
        nearly every metric is better at a lower coverage.

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
