"""The report per group: who is rejected, how good the rest is, and how far the groups are apart.

Each row adds to the metrics of its group and to those of all rows, so that a difference between two groups, or between
a group and all rows, has a paired interval.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from aucross.core.bounds import has_weights
from aucross.evaluation.catalogue import GROUP_METRICS
from aucross.evaluation.evaluate import DEFAULT_COVERAGES
from aucross.evaluation.group_evaluation import GroupEvaluation
from aucross.evaluation.inputs import (
    check_coverages,
    check_probability,
    check_two_classes,
    group_column,
    label_rows,
    row_weights,
    selections_at,
)
from aucross.evaluation.ranked_selection import RankedRows


def evaluate_groups(
    clf: Any,
    X: Any,
    y: ArrayLike,
    by: Any,
    coverages: Iterable[float] = DEFAULT_COVERAGES,
    *,
    band_groups: Any = None,
    sample_weight: ArrayLike | None = None,
    customers: Any = None,
    with_intervals: bool = True,
    confidence_level: float = 0.95,
) -> GroupEvaluation:
    """Evaluate a fitted selective classifier in each group of the rows.

    Parameters
    ----------
    clf : SelectiveClassifier
        Fitted classifier of two classes, for instance :class:`aucross.AUCross`.
    X, y, coverages, band_groups, sample_weight, customers, confidence_level
        As in :func:`aucross.evaluate_selective`.
    by : array-like or series of shape (n_samples,)
        The group of each row: strings, numbers, categories. It need not be a feature. Missing values form the group
        ``"(missing)"``. Every distinct value is a group, so cut a continuous column into bands first.
    with_intervals : bool, default=True
        Whether to compute intervals; False gives estimates alone.

    Returns
    -------
    GroupEvaluation
        ``to_frame()`` gives one row per target coverage and group, ``gaps()`` and ``differences(reference)`` how far
        the groups are apart.

    See Also
    --------
    BaseRateGuard : Warns when the selection shifts the share of positives, in all or in each group.

    Notes
    -----
    The AUC of a group compares its positives with its negatives only. Groups can each be ranked well and still stand
    against each other in the wrong order, which the line of all rows would show.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from aucross import AUCross
    >>> from aucross.evaluation.groups import evaluate_groups
    >>> X, y = make_classification(3000, flip_y=0.3, random_state=0)
    >>> clf = AUCross(LogisticRegression(), random_state=0).fit(X[:2000], y[:2000])
    >>> region = ["north" if row[0] > 0 else "south" for row in X[2000:]]
    >>> report = evaluate_groups(clf, X[2000:], y[2000:], region, [0.8])
    >>> [(row["group"], row["n"]) for row in report.rows()]
    [('north', 500), ('south', 500), ('(all rows)', 1000)]
    """
    coverages = check_coverages(coverages)
    check_two_classes(clf, "for one class against the others pass masks to evaluate_group_selections")
    rows = label_rows(clf, X, y, sample_weight=sample_weight, band_groups=band_groups)
    return evaluate_group_selections(
        rows.positive,
        rows.score,
        rows.answered_positive,
        selections_at(clf, rows, coverages),
        by,
        sample_weight=rows.sample_weight,
        customers=customers,
        with_intervals=with_intervals,
        confidence_level=confidence_level,
    )


def evaluate_group_selections(
    y_true: ArrayLike,
    y_score: ArrayLike,
    y_pred: ArrayLike,
    selections: Mapping[float, ArrayLike],
    by: Any,
    *,
    sample_weight: ArrayLike | None = None,
    customers: Any = None,
    with_intervals: bool = True,
    confidence_level: float = 0.95,
) -> GroupEvaluation:
    """Evaluate selections made by any method, in each group of the rows.

    Parameters
    ----------
    y_true, y_score, y_pred, selections
        As in :func:`aucross.evaluate_selections`.
    by, sample_weight, customers, with_intervals, confidence_level
        As in :func:`evaluate_groups`.

    Examples
    --------
    >>> import numpy as np
    >>> from aucross.evaluation.groups import evaluate_group_selections
    >>> y, score = np.array([0, 0, 1, 0, 1, 1]), np.array([0.1, 0.2, 0.3, 0.6, 0.7, 0.8])
    >>> sure, side = np.abs(score - 0.5) > 0.15, ["left", "left", "left", "right", "right", "right"]
    >>> evaluate_group_selections(y, score, score > 0.5, {0.8: sure}, side, with_intervals=False)
    group       n  target_coverage  achieved_coverage  selective_auc  selective_accuracy  positive_rate  positives_...
    left        3  0.80             1.000              1.000          0.667               0.333          0.000
    right       3  0.80             0.667              nan            1.000               1.000          0.000
    (all rows)  6  0.80             0.833              1.000          0.800               0.600          0.000
    """
    check_probability(confidence_level, "confidence_level", ends=False)
    n_rows = len(np.asarray(y_true))
    column = group_column(by, n_rows)
    rows = RankedRows.checked(y_true, y_score, y_pred, selections, sample_weight=sample_weight, customers=customers)
    column = column.take(row_weights(sample_weight, n_rows) > 0)
    members = column.members()
    overall, *evaluations = (
        part.evaluation(GROUP_METRICS, confidence_level, with_intervals=with_intervals, seed=0)
        for part in (rows, *(replace(rows, members=own) for own in members))
    )
    return GroupEvaluation(
        column.labels,
        np.array([len(own) for own in members]),
        tuple(evaluations),
        overall,
        rows_count_alike=rows.units is None and (rows.weight is None or not has_weights(rows.weight)),
    )
