"""Ranking metrics for more than two classes: Hand-Till M and AUC-mu.

Each asks how often the scores tell two rows of different classes apart, and with two classes each is the AUC::

    hand_till_m    one column:     is p_j higher in the row of class j than in the row of class k?
    auc_mu         two columns:    is p_j - p_k higher in the row of class j?

They are NaN (never 0) where one of the classes is missing among the selected rows. The pairs that remain are *not*
averaged: a selection that rejects every row of a hard class would then look better than one that keeps some.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aucross.core.ranking import FloatArray, IndexArray
from aucross.evaluation.inputs import Mask, Weights, check_selected, row_weights
from aucross.evaluation.metric import metric

# Differences of scores carry rounding: 0.3 - 0.1 and 0.2 - 0.0 should tie and do not as floats. Values closer than this
# share of the largest score, sixteen units in its last place, count as equal.
_ROUNDING = 2.0**-48


@metric(reads="class_scores", better="higher", label="Hand-Till M of the automatic cases")
def hand_till_m(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    selected: Mask = None,
    *,
    classes: ArrayLike | None = None,
    sample_weight: Weights = None,
) -> float:
    """Return Hand and Till's M of the selected rows: the mean AUC over all ordered pairs of classes.

    ``1 / (K (K - 1)) * sum over j != k of A(j | k)``, with A(j | k) the probability that a random row of class j has a
    higher p_j than a random row of class k, ties half. NaN if a class is missing among the selected rows.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Class labels of any kind.
    y_prob : array-like of shape (n, n_classes)
        Class probabilities, or any finite scores that are higher for rows more likely of the column's class.
    classes : array-like of shape (n_classes,), optional
        Label of each column, such as ``clf.classes_``; by default the labels found in `y_true`, sorted.

    Notes
    -----
    Hand & Till (2001). Without weights it is ``roc_auc_score(multi_class="ovo", average="macro")`` of scikit-learn,
    which refuses weights and, given `labels`, leaves classes without rows out of the mean. To do the same here, pass
    the columns of the other classes only, and say so beside the figure. With two classes and columns 1 - p and p it is
    the AUC of p, up to ties that rounding makes in 1 - p. Each pair of classes counts the same, whatever its share of
    the rows. Every column is sorted once, and one pass over it serves all pairs: O(n K log n).

    Examples
    --------
    >>> y_prob = [[0.6, 0.3, 0.1], [0.4, 0.4, 0.2], [0.3, 0.5, 0.2], [0.5, 0.3, 0.2], [0.1, 0.3, 0.6]]
    >>> round(hand_till_m(["a", "a", "b", "b", "c"], y_prob), 4)
    0.8542
    >>> hand_till_m(["a", "a", "b", "b", "c"], y_prob, [True, True, True, False, True])
    1.0
    """
    columns, label, weight = _selected_rows(y_true, y_prob, selected, classes, sample_weight)
    totals = np.bincount(label, weights=weight, minlength=len(columns))
    if not totals.all():
        return float("nan")
    won = [_pairs_won(column, label, weight, winner) for winner, column in enumerate(columns)]
    aucs = np.array(won) / np.outer(totals, totals)
    return _mean_auc(aucs[~np.eye(len(aucs), dtype=bool)])


@metric(reads="class_scores", better="higher", label="AUC-mu of the automatic cases")
def auc_mu(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    selected: Mask = None,
    *,
    classes: ArrayLike | None = None,
    sample_weight: Weights = None,
) -> float:
    """Return AUC-mu of the selected rows: the mean AUC of probability differences over pairs of classes.

    ``2 / (K (K - 1)) * sum over j < k of S(j, k)``, with S(j, k) the probability that a random row of class j has a
    higher p_j - p_k than a random row of class k, ties half. NaN if a class is missing among the selected rows.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Class labels of any kind.
    y_prob, classes
        As for :func:`hand_till_m`; other scores than probabilities must share one scale, as columns are subtracted.

    Notes
    -----
    Kleiman & Page (2019), with their default partition matrix. Where M asks one column at a time, AUC-mu asks which
    side of the border between two classes a row is on, so that rows which the highest probability classifies correctly
    are always in the right order: a perfect classifier has AUC-mu 1, and may have a lower M.

    Differences that agree up to rounding, 2^-48 of the largest score, count as ties: 0.3 - 0.1 is 0.2 - 0.0, as it
    should be for nearest neighbours or a small forest. Each pair sorts its own rows: O(n K log n) in all.

    Examples
    --------
    >>> from aucross.evaluation import auc_mu, hand_till_m
    >>> y_true, y_prob = ["a", "b", "c"], [[0.4, 0.3, 0.3], [0.45, 0.55, 0.0], [0.1, 0.2, 0.7]]
    >>> auc_mu(y_true, y_prob), round(hand_till_m(y_true, y_prob), 4)
    (1.0, 0.8333)
    """
    columns, label, weight = _selected_rows(y_true, y_prob, selected, classes, sample_weight)
    of_class = [np.flatnonzero(label == number) for number in range(len(columns))]
    if not all(map(len, of_class)):
        return float("nan")
    tolerance, aucs = _ROUNDING * float(np.abs(columns).max()), []
    for winner, loser in combinations(range(len(columns)), 2):
        met = np.concatenate((of_class[winner], of_class[loser]))
        difference, own = columns[winner, met] - columns[loser, met], weight[met]
        is_loser = np.repeat([0, 1], [len(of_class[winner]), len(of_class[loser])])
        won = _pairs_won(difference, is_loser, own, winner=0, tolerance=tolerance)[1]
        aucs.append(won / np.prod(np.bincount(is_loser, weights=own)))
    return _mean_auc(np.array(aucs))


# ---- arguments ----


def _selected_rows(
    y_true: ArrayLike, y_prob: ArrayLike, selected: Mask, classes: ArrayLike | None, sample_weight: Weights
) -> tuple[FloatArray, IndexArray, FloatArray]:
    """Return the scores, one row per class, the classes and the weights of the selected rows that carry weight."""
    score, label = checked_classes(y_true, y_prob, classes)
    weight = row_weights(sample_weight, len(label))
    kept = check_selected(selected, len(label)) & (weight > 0)
    return np.ascontiguousarray(score[kept].T), label[kept], weight[kept]


def checked_classes(y_true: ArrayLike, y_prob: ArrayLike, classes: ArrayLike | None) -> tuple[FloatArray, IndexArray]:
    """Return finite scores with a column per class, and the number of each row's class."""
    score = np.asarray(y_prob, dtype=np.float64)
    if score.ndim != 2 or score.shape[1] < 2:
        raise ValueError(
            f"y_prob must be of shape (n, n_classes) with two classes or more, got shape {score.shape}; pass all of "
            "predict_proba(X)"
        )
    finite = np.isfinite(score).all(axis=1)
    if not finite.all():
        raise ValueError(
            f"y_prob must be finite, got NaN or infinite values in {int((~finite).sum())} of {len(score)} rows, the "
            f"first in row {int(np.argmin(finite))}; repair the model or drop those rows"
        )
    label = _class_numbers(y_true, classes, score.shape[1])
    if len(score) != len(label):
        raise ValueError(f"y_prob must hold one row of scores per label, got {len(score)} for {len(label)} labels")
    return score, label


def _class_numbers(y_true: ArrayLike, classes: ArrayLike | None, n_classes: int) -> IndexArray:
    """Return the number of each row's class: its place in `classes`, or among the sorted labels."""
    labels = np.asarray(y_true)
    if labels.ndim != 1:
        raise ValueError(f"y_true must be 1-d, got shape {labels.shape}; pass labels, not one column per class")
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        raise ValueError(f"y_true must not hold NaN, got {int(np.isnan(labels).sum())}; drop the rows without a label")
    try:
        found, number = np.unique(labels, return_inverse=True)
    except TypeError:  # None among strings, say
        raise ValueError(
            "y_true must hold labels of one kind, got some that cannot be sorted; drop the rows without a label"
        ) from None
    if classes is None:
        if len(found) != n_classes and len(labels):
            raise ValueError(
                f"y_true must hold {n_classes} classes, one per column of y_prob, got {len(found)}: {_some(found)}; "
                "pass classes=clf.classes_ if some have no rows"
            )
        return number
    return _places(found, np.asarray(classes), n_classes)[number]


def _places(found: NDArray[np.generic], names: NDArray[np.generic], n_classes: int) -> IndexArray:
    """Return the place of each label among the names of the classes."""
    place = {label: index for index, label in enumerate(names.ravel().tolist())}
    if names.shape != (n_classes,) or len(place) != n_classes:
        raise ValueError(
            f"classes must be 1-d with {n_classes} different labels, one per column of y_prob, got "
            f"{_some(names)} of shape {names.shape}; pass clf.classes_"
        )
    unknown = [label for label in found.tolist() if label not in place]
    if unknown:
        raise ValueError(
            f"y_true must hold labels of classes={_some(names)} only, got {_some(unknown)}; add or drop them"
        )
    return np.array([place[label] for label in found.tolist()], dtype=np.intp)


def _some(labels: ArrayLike) -> str:
    values = np.asarray(labels).ravel().tolist()
    return f"{values[:5]}"[:-1] + (", ...]" if len(values) > 5 else "]")


# ---- pairs ----


def _pairs_won(
    score: FloatArray, label: IndexArray, weight: FloatArray, winner: int, tolerance: float = 0.0
) -> FloatArray:
    """Return the weight of the pairs in which a row of class `winner` beats a row of each class, ties half.

    One pass for all classes: each row adds the weight of the winners above it.
    """
    order = np.argsort(score)
    label, weight = label[order], weight[order]
    # For rows of other classes, "up to here" and "below" are the same as long as nothing ties.
    winners_below = np.cumsum(np.where(label == winner, weight, 0.0))
    all_winners = winners_below[-1]
    starts = np.append(0, np.flatnonzero(np.diff(score[order]) > tolerance) + 1)
    if len(starts) < len(score):
        stops = np.append(starts[1:], len(score))
        up_to = winners_below[stops - 1]
        winners_below = np.repeat((np.append(0.0, up_to[:-1]) + up_to) / 2, stops - starts)
    return np.asarray(np.bincount(label, weights=weight * (all_winners - winners_below)), dtype=np.float64)


def _mean_auc(aucs: FloatArray) -> float:
    # Sums of fractional weights can round to a little more than 1.
    return float(np.clip(aucs, 0.0, 1.0).mean())
