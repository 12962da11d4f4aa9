"""Scores of classifier and reviewers together: reviewers decide the rejected rows, then any metric rates all rows.

::

    selected rows   the classifier's decision ──┐
                                                ├──► one decision per row ──► metric over all rows
    rejected rows   the reviewer's decision ────┘
                    given, or right with an assumed probability

A selective metric rewards a classifier for rejecting hard rows; the team score also counts how reviewers decide them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import accuracy_score, balanced_accuracy_score, hamming_loss, recall_score, zero_one_loss

from aucross.core.ranking import FloatArray, check_weights
from aucross.evaluation.inputs import BoolArray, check_probability, check_selected
from aucross.evaluation.metric import inside_partials
from aucross.evaluation.metrics import expected_cost, selective_accuracy, selective_risk
from aucross.frames import index_of, is_missing

LabelMetric = Callable[..., float]
LabelArray = NDArray[Any]

# Weighted means over rows, or over the rows of one true class: linear in the decisions as long as y_true stays.
LINEAR_METRICS: tuple[LabelMetric, ...] = (
    accuracy_score,
    balanced_accuracy_score,
    expected_cost,
    hamming_loss,
    recall_score,
    selective_accuracy,
    selective_risk,
    zero_one_loss,
)


def team_predictions(y_pred: ArrayLike, selected: ArrayLike, *, reviewer_labels: ArrayLike) -> LabelArray:
    """Return the decisions of the team: the classifier's for selected rows, the reviewers' for the others.

    Parameters
    ----------
    y_pred : array-like of shape (n,)
        Decisions of the classifier for all rows.
    selected : array-like of shape (n,), bool
        True for the rows whose prediction is used.
    reviewer_labels : array-like of shape (n,) or (n_rejected,)
        Decisions of the reviewers, for all rows (values at selected rows are not read and may be missing) or for the
        rejected rows alone, in the order of these rows.

    Returns
    -------
    ndarray of shape (n,)
        One decision per row, in the type of `y_pred` (strings as long as needed).

    Examples
    --------
    >>> from aucross.evaluation.team import team_predictions
    >>> team_predictions([0, 1, 1, 0], [True, True, False, False], reviewer_labels=[None, None, 0, 1])
    array([0, 1, 0, 1])
    >>> team_predictions([0, 1, 1, 0], [True, True, False, False], reviewer_labels=[0, 1])
    array([0, 1, 0, 1])
    """
    predicted = _check_labels(y_pred, "y_pred")
    rejected = ~check_selected(selected, len(predicted))
    return _reviewed(predicted, rejected, reviewer_labels, y_pred=y_pred, selected=selected)


def team_score(
    metric: LabelMetric,
    y_true: ArrayLike,
    y_pred: ArrayLike,
    selected: ArrayLike,
    *,
    reviewer_labels: ArrayLike | None = None,
    reviewer_accuracy: float | Mapping[Any, float] | None = None,
    sample_weight: ArrayLike | None = None,
    linear: bool | None = None,
    n_draws: int = 200,
    random_state: Any = None,
    **metric_params: Any,
) -> float:
    """Score classifier and reviewers together, by any metric over all rows.

    Parameters
    ----------
    metric : callable
        ``metric(y_true, y_pred, **metric_params)`` that returns a number, for instance
        :func:`sklearn.metrics.f1_score`; it gets `sample_weight` where there are weights.
    y_true : array-like of shape (n,)
        True labels.
    y_pred, selected, reviewer_labels
        As in :func:`team_predictions`; either `reviewer_labels` or `reviewer_accuracy`.
    reviewer_accuracy : float in [0, 1] or mapping of label to float, optional
        Assumed probability that a reviewer decides a rejected row rightly, for all rows or for each true class. A wrong
        decision is any of the other labels of `y_true`, each with the same probability. Rows are decided
        independently.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    linear : bool, optional
        Whether the metric is a weighted mean over the rows, or over the rows of a true class. Its expectation under
        `reviewer_accuracy` is then computed without random draws; such a metric must take `sample_weight`. By default,
        True for the linear metrics of scikit-learn and of this package, and False for others.
    n_draws : int, default=200
        Number of draws of the reviewers' decisions for metrics that are not linear.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the draws.
    **metric_params : dict
        Further arguments of the metric.

    Returns
    -------
    float
        The metric with the reviewers' labels; with an assumed accuracy its expectation, exact for linear metrics and
        the mean of the draws for others.

    Notes
    -----
    This is the usual score in work on learning to defer. The score includes no fee for a review, because the reviewers'
    decisions count like any other: with :func:`~aucross.evaluation.expected_cost` pass ``review_cost=0`` and add the
    fee times the share of rejected rows.

    Reviewers who see only hard rows may be less accurate than on average: prefer labels of reviewed rows, or an
    accuracy measured on reviewed rows, to an overall accuracy.

    Examples
    --------
    Two of six rows are rejected; the classifier is wrong on one of the others:

    >>> from sklearn.metrics import accuracy_score, f1_score
    >>> from aucross.evaluation.team import team_score
    >>> y_true, y_pred = [0, 0, 1, 1, 0, 1], [0, 0, 0, 1, 1, 1]
    >>> selected = [True, True, False, True, True, False]
    >>> round(team_score(accuracy_score, y_true, y_pred, selected, reviewer_accuracy=0.9), 4)
    0.8
    >>> round(team_score(f1_score, y_true, y_pred, selected, reviewer_labels=[0, 0, 1, 0, 0, 1]), 4)
    0.8571
    """
    if not callable(metric):
        raise ValueError(
            f"metric must be a function such as sklearn.metrics.accuracy_score, got {metric!r}; for a scorer or a name "
            "pass the metric function behind it"
        )
    true = _check_labels(y_true, "y_true")
    predicted = _check_labels(y_pred, "y_pred", len(true))
    weight = None if sample_weight is None else check_weights(sample_weight, len(true))
    rejected = ~check_selected(selected, len(true))
    if (reviewer_labels is None) == (reviewer_accuracy is None):
        given = "both" if reviewer_labels is not None else "neither"
        raise ValueError(
            f"either reviewer_labels or reviewer_accuracy must be given, got {given}; pass the labels if rows were "
            "reviewed, else an assumed accuracy such as 0.9"
        )

    def score(y_true: LabelArray, y_team: LabelArray, weight: FloatArray | None) -> float:
        weights = {} if weight is None else {"sample_weight": weight}
        return float(metric(y_true, y_team, **weights, **metric_params))

    if reviewer_labels is not None:
        originals = {"y_true": y_true, "y_pred": y_pred, "selected": selected}
        return score(true, _reviewed(predicted, rejected, reviewer_labels, **originals), weight)
    classes, probability = _label_probabilities(true, rejected, reviewer_accuracy)
    if inside_partials(metric) in LINEAR_METRICS if linear is None else linear:
        # Each rejected row occurs with every label, weighted by its probability.
        weight = np.ones(len(true)) if weight is None else weight
        kept, others = ~rejected, np.repeat(true[rejected], len(classes))
        shares = (weight[rejected, None] * probability).ravel()
        return score(
            np.concatenate((true[kept], others)),
            np.concatenate((predicted[kept], np.tile(classes, np.count_nonzero(rejected)))),
            np.concatenate((weight[kept], shares)),
        )
    if not isinstance(n_draws, Integral) or n_draws < 1:
        raise ValueError(f"n_draws must be a positive integer, got {n_draws!r}")
    is_legacy = isinstance(random_state, np.random.RandomState)
    rng = np.random.default_rng(random_state.randint(2**31 - 1) if is_legacy else random_state)
    scores = []
    for _ in range(int(n_draws)):
        drawn = rng.random(len(probability))
        # Cumulative probabilities may end a little below 1; the last label takes the rest.
        choice = (drawn[:, None] >= np.cumsum(probability, axis=1)[:, :-1]).sum(axis=1)
        scores.append(score(true, _with_reviews(predicted, rejected, classes[choice]), weight))
    return float(np.mean(scores))


def _check_labels(values: ArrayLike, name: str, n_rows: int | None = None) -> LabelArray:
    labels = np.asarray(values)
    if labels.ndim != 1:
        raise ValueError(f"{name} must be 1-d, got shape {labels.shape}")
    if n_rows is not None and len(labels) != n_rows:
        raise ValueError(f"{name} must hold one label per row, got {len(labels)} for {n_rows} rows")
    return labels


def _reviewed(predicted: LabelArray, rejected: BoolArray, reviewer_labels: Any, **given: Any) -> LabelArray:
    """Merge the reviewers' labels, given for all rows or only for rejected ones, with the classifier's labels."""
    reviews = _check_labels(reviewer_labels, "reviewer_labels")
    if len(reviews) == len(rejected):
        reviews, given = reviews[rejected], {}
    elif len(reviews) != (n_rejected := np.count_nonzero(rejected)):
        raise ValueError(
            f"reviewer_labels must hold one label per row, or one per rejected row, got {len(reviews)} for "
            f"{len(rejected)} rows, {n_rejected} of them rejected"
        )
    # A few labels are easily in the order in which people reviewed them, where an index tells.
    own = index_of(reviewer_labels)
    for name, rows in given.items():
        if own is not None and (index := index_of(rows)) is not None and not own.equals(index[rejected]):
            raise ValueError(
                "reviewer_labels must hold the rejected rows in their order, got other index labels; pass "
                f"reviewer_labels.loc[{name}.index[~selected]], or reviewer_labels.to_numpy() if the order is right"
            )
    missing = np.array([is_missing(review) for review in reviews.tolist()], dtype=bool)
    if missing.any():
        raise ValueError(
            f"reviewer_labels must hold a label for every rejected row, got {int(missing.sum())} missing of "
            f"{len(reviews)}, the first in row {int(np.flatnonzero(rejected)[np.argmax(missing)])}"
        )
    # Placeholders such as NaN and None change the type of the array; the labels themselves must fit.
    labels, kind = np.array(reviews.tolist()) if len(reviews) else reviews, predicted.dtype
    kinds = {labels.dtype.kind, kind.kind}
    is_same = not len(labels) or kind.kind == "O" or kinds == {"U"}
    if not is_same and ("U" in kinds or not np.array_equal(labels.astype(kind), labels)):
        raise ValueError(
            f"reviewer_labels must hold labels of the type of y_pred ({predicted.dtype}), got values such as "
            f"{reviews[:3].tolist()}"
        )
    return _with_reviews(predicted, rejected, labels if is_same else labels.astype(kind))


def _with_reviews(predicted: LabelArray, rejected: BoolArray, reviews: LabelArray) -> LabelArray:
    """Merge the reviewers' decisions, one for each rejected row, with the classifier's decisions."""
    decisions = predicted.astype(np.result_type(predicted, reviews)) if len(reviews) else predicted.copy()
    decisions[rejected] = reviews
    return decisions


def _label_probabilities(
    true: LabelArray, is_rejected: BoolArray, reviewer_accuracy: Any
) -> tuple[LabelArray, FloatArray]:
    """Return the labels, and the probability that a reviewer chooses each of them, for each rejected row."""
    classes, codes = np.unique(true, return_inverse=True)
    labels = classes.tolist()
    given = reviewer_accuracy if isinstance(reviewer_accuracy, Mapping) else dict.fromkeys(labels, reviewer_accuracy)
    if missing := [label for label in labels if label not in given]:
        raise ValueError(
            f"reviewer_accuracy must have an accuracy for every label, got none for {missing}; the labels are {labels}"
        )
    for value in (given[label] for label in labels):
        if not isinstance(value, Real) or isinstance(value, bool | np.bool_):
            raise ValueError(f"reviewer_accuracy must be a number in [0, 1] or a mapping to numbers, got {value!r}")
    accuracy = np.array([check_probability(float(given[label]), "reviewer_accuracy") for label in labels])
    if is_rejected.any() and len(classes) < 2 and (accuracy < 1).any():
        raise ValueError(
            f"y_true must hold at least two labels, got {labels}: a reviewer who errs needs another label; "
            "pass reviewer_labels"
        )
    by_class = np.repeat(((1 - accuracy) / max(len(classes) - 1, 1))[:, None], len(classes), axis=1)
    np.fill_diagonal(by_class, accuracy)
    return classes, by_class[codes[is_rejected]]
