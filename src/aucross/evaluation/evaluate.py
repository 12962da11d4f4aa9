"""One tidy row per target coverage: what was reached, how good it is, and how sure that is."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aucross.core.scored_rows import ScoredRows
from aucross.evaluation.bootstrap import draw_weights
from aucross.evaluation.catalogue import (
    METRICS,
    STANDARD_METRICS,
    MetricLike,
    listed_metrics,
    measure_anew,
    metrics_on_request,
)
from aucross.evaluation.evaluated_rows import EvaluatedRows
from aucross.evaluation.inputs import check_coverages, check_probability, check_replicates, seed_from
from aucross.evaluation.judged_rows import check_selective, judge
from aucross.evaluation.multiclass_evaluate import evaluate_multiclass_selections
from aucross.evaluation.results import SelectiveComparison, SelectiveEvaluation

# All rows, to compare with, and the paper's coverages.
DEFAULT_COVERAGES = (1.0, 0.99, 0.95, 0.90, 0.85, 0.80, 0.75)

# Metrics on request that follow from the ranking.
_TOLD = ("selective_gini", "selective_risk", "positives_for_review")


def evaluate_selective(
    clf: Any,
    X: Any,
    y: ArrayLike,
    coverages: Iterable[float] = DEFAULT_COVERAGES,
    *,
    metrics: Iterable[MetricLike] = (),
    sample_weight: ArrayLike | None = None,
    band_groups: Any = None,
    groups: Any = None,
    n_bootstrap: int = 1000,
    confidence_level: float = 0.95,
    random_state: Any = None,
) -> SelectiveEvaluation:
    """Evaluate a fitted selective classifier on labelled rows that it was not fitted on.

    Parameters
    ----------
    clf : SelectiveClassifier
        Fitted classifier, for instance :class:`aucross.AUCross`.
    X : array-like or frame of shape (n_samples, n_features), or ScoredRows
        Test rows, or what ``clf.scored`` made of them; each model sees a row once.
    y : array-like of shape (n_samples,)
        Their labels, as in training.
    coverages : iterable of float in (0, 1], default=(1, .99, .95, .90, .85, .80, .75)
        Target coverages; 1.0 is the classifier that answers every row.
    metrics : iterable of str or callable, default=()
        Metrics beyond coverage, AUC, its gain over all rows, accuracy and positive rate: names of metrics in
        ``aucross.evaluation`` such as ``"selective_gini"``, functions of your own
        ``metric(y_true, y_score, selected, sample_weight=...)``, or a :class:`~aucross.evaluation.Metric` that reads
        something else. The names of the functions name the columns, so they must differ.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the rows; a row of weight 0 takes no part. Scored rows bring their own.
    band_groups : array-like of shape (n_samples,), optional
        Group of each row, for a classifier whose bands were fitted per group.
    groups : array-like of shape (n_samples,), optional
        Rows that belong together, such as the loans of one customer: the number or name of the customer. Groups are
        then drawn and counted as one, so that the intervals are as wide as they must be.
    n_bootstrap : int, default=1000
        Bootstrap replicates of `metrics`; the others need none. 0 gives estimates alone.
    confidence_level : float in (0, 1), default=0.95
        Level of the intervals ``_low`` to ``_high``.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the bootstrap. Evaluations of the same rows with the same seed are paired in `metrics` too.

    Returns
    -------
    SelectiveEvaluation
        ``to_frame()`` gives one row per target coverage. With more than two classes ``hand_till_m`` and ``auc_mu``
        stand in the place of the AUC, and `metrics` are functions of your own, whose `y_score` has a column per class.

    Notes
    -----
    The intervals of coverage, accuracy and positive rate are those of Clopper and Pearson. That of the AUC is the Beta
    interval of the promise with a milder added row, see the guide on small data; that of the gain is a paired
    difference. Standard deviations are those of sums over rows, or over `groups`: each row adds to a metric what the
    ranking says of its score and class. Metrics on request are computed anew on resamples of the rows and have their
    percentiles.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from aucross import AUCross, evaluate_selective
    >>> X, y = make_classification(3000, flip_y=0.3, random_state=0)
    >>> clf = AUCross(LogisticRegression(), random_state=0).fit(X[:2000], y[:2000])
    >>> evaluate_selective(clf, X[2000:], y[2000:], coverages=[1.0, 0.8], random_state=0)
    target_coverage  achieved_coverage     coverage_error           selective_auc         auc_gain              ...
    1.00             1.000 [1.000, 1.000]  0.000 [0.000, ...
    0.80             ...
    """
    coverages = check_coverages(coverages)
    rows = judge(clf, X, y, sample_weight=sample_weight, band_groups=band_groups)
    _warn_of_one_class(rows.labels if rows.sample_weight is None else rows.labels[rows.sample_weight > 0])
    options: dict[str, Any] = {
        "metrics": metrics,
        "sample_weight": rows.sample_weight,
        "groups": groups,
        "n_bootstrap": n_bootstrap,
        "confidence_level": confidence_level,
        "random_state": random_state,
    }
    selections = rows.selections(coverages)
    if len(clf.classes_) == 2:
        evaluation = evaluate_selections(rows.positive, rows.score, rows.predicted, selections, **options)
    else:
        evaluation = evaluate_multiclass_selections(
            rows.labels, rows.score, rows.scored.predicted, selections, classes=clf.classes_, **options
        )
    return replace(evaluation, at_least=asks_for_at_least(clf))


def asks_for_at_least(clf: Any) -> bool:
    """Whether a classifier promises its coverage, and reaches more on average."""
    return getattr(clf, "coverage_confidence", None) is not None


def _warn_of_one_class(labels: NDArray[Any]) -> None:
    """Say why the AUC is NaN where all rows are of one class."""
    classes = np.unique(labels).tolist()
    if len(classes) == 1:
        warnings.warn(
            f"y should hold rows of at least two classes, got {len(labels)} rows of {classes[0]!r} alone: the AUC "
            "compares rows of two classes and is NaN; pass rows of another class too",
            UserWarning,
            stacklevel=3,
        )


def evaluate_selections(
    y_true: ArrayLike,
    y_score: ArrayLike,
    y_pred: ArrayLike,
    selections: Mapping[float, ArrayLike],
    *,
    metrics: Iterable[MetricLike] = (),
    sample_weight: ArrayLike | None = None,
    groups: Any = None,
    n_bootstrap: int = 1000,
    confidence_level: float = 0.95,
    random_state: Any = None,
) -> SelectiveEvaluation:
    """Evaluate selections that were made anywhere, from labels, scores, predictions and masks.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        True and predicted labels: boolean, 0/1 or -1/1.
    y_score : array-like of shape (n_samples,)
        Scores of the positive class.
    selections : dict of float to array-like of shape (n_samples,), bool
        For each target coverage the mask of selected rows.
    metrics, sample_weight, groups, n_bootstrap, confidence_level, random_state
        As in :func:`evaluate_selective`.

    Returns
    -------
    SelectiveEvaluation

    Examples
    --------
    >>> import numpy as np
    >>> from aucross import evaluate_selections
    >>> y, score = np.array([0, 0, 1, 0, 1, 1]), np.array([0.1, 0.2, 0.3, 0.6, 0.7, 0.8])
    >>> sure = np.abs(score - 0.5) > 0.2
    >>> evaluate_selections(y, score, score > 0.5, {0.5: sure}, n_bootstrap=0).estimates["selective_auc"]
    array([1.])
    """
    rows, _ = EvaluatedRows.checked(y_true, y_score, y_pred, selections, sample_weight=sample_weight, groups=groups)
    check_probability(confidence_level, "confidence_level", ends=False)
    requested = metrics_on_request(metrics, two_classes=True)
    check_replicates(n_bootstrap)
    seed = seed_from(random_state)
    # What the ranking tells need not be computed anew.
    told = [name for name, metric in requested.items() if name in _TOLD and metric is METRICS[name]]
    evaluation = rows.evaluation(
        (*STANDARD_METRICS, *told), confidence_level, with_intervals=n_bootstrap > 0, seed=seed
    )
    anew = {name: metric for name, metric in requested.items() if name not in told}
    if not anew:
        return evaluation
    masks = np.array(list(rows.selections.values()))
    read = {"y_true": rows.positive, "y_score": rows.score, "y_pred": rows.predicted}
    as_given = np.ones(len(rows.positive)) if rows.weight is None else rows.weight
    measured = measure_anew(anew, masks, iter([as_given]), read)
    estimates = {**evaluation.estimates, **{name: values[0] for name, values in measured.items()}}
    return replace(
        evaluation,
        estimates={name: estimates[name] for name in (*STANDARD_METRICS, *requested)},
        replicates=measure_anew(anew, masks, draw_weights(as_given, n_bootstrap, seed, rows.units), read),
    )


def compare_selective(
    first: Any,
    second: Any,
    X: Any,
    y: ArrayLike,
    coverages: Iterable[float] = DEFAULT_COVERAGES,
    *,
    metrics: Iterable[MetricLike] = (),
    sample_weight: ArrayLike | None = None,
    band_groups: Any = None,
    groups: Any = None,
    n_bootstrap: int = 1000,
    confidence_level: float = 0.95,
    random_state: Any = None,
) -> SelectiveComparison:
    """Compare two fitted selective classifiers on the same rows, row by row.

    Parameters
    ----------
    first, second : SelectiveClassifier
        Fitted classifiers; differences are first minus second.
    X : array-like or frame of shape (n_samples, n_features), or pair of ScoredRows
        Test rows, or what each of the two made of them: ``(first.scored(X), second.scored(X))``.
    y, coverages, metrics, sample_weight, groups, n_bootstrap, confidence_level, random_state
        As in :func:`evaluate_selective`.
    band_groups : array-like of shape (n_samples,), optional
        Group of each row, for whichever classifier was fitted with groups.

    Returns
    -------
    SelectiveComparison
        ``to_frame()`` gives one row per target coverage and metric. Look at ``achieved_coverage`` beside the AUC: a
        rule that selects fewer rows than asked has an easier task.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from aucross import AUCross, SCross, compare_selective
    >>> X, y = make_classification(3000, weights=[0.9], flip_y=0.3, random_state=0)
    >>> base = LogisticRegression()
    >>> ours, usual = (kind(base, random_state=0).fit(X[:2000], y[:2000]) for kind in (AUCross, SCross))
    >>> comparison = compare_selective(ours, usual, X[2000:], y[2000:], coverages=[0.8], random_state=0)
    >>> [row["difference"] > 0 for row in comparison.rows() if row["metric"] == "selective_auc"]
    [True]
    """
    # Read once: an iterator would be used up by the first evaluation.
    coverages, metrics = check_coverages(coverages), listed_metrics(metrics)
    seed = seed_from(random_state)
    for clf in (first, second):
        check_selective(clf)
    one, other = (
        evaluate_selective(
            clf,
            rows,
            y,
            coverages,
            metrics=metrics,
            sample_weight=sample_weight,
            band_groups=band_groups if clf.band_rule_.group_labels is not None else None,
            groups=groups,
            n_bootstrap=n_bootstrap,
            confidence_level=confidence_level,
            random_state=seed,
        )
        for clf, rows in zip((first, second), _rows_of_each(X), strict=True)
    )
    return replace(one.minus(other), names=_names(first, second))


def _names(first: Any, second: Any) -> tuple[str, str]:
    """What a table calls two classifiers: their classes, told apart where they are of one."""
    ours, theirs = type(first).__name__, type(second).__name__
    return (ours, theirs) if ours != theirs else (f"first {ours}", f"second {theirs}")


def _rows_of_each(X: Any) -> tuple[Any, Any]:
    """The rows of the first and of the second classifier: a pair of scored rows, or the same rows for both."""
    is_pair = isinstance(X, tuple) and len(X) == 2 and all(isinstance(rows, ScoredRows) for rows in X)
    return X if is_pair else (X, X)
