"""More than two classes: the ranking metrics Hand-Till M and AUC-mu, and evaluations by these metrics.

Both measure how often the scores order two rows of different classes correctly; with two classes both are the AUC::

    hand_till_m    one column:     is p_j higher in the row of class j than in the row of class k?
    auc_mu         two columns:    is p_j - p_k higher in the row of class j?

They are NaN (never 0) if a class is missing among the selected rows. The remaining pairs of classes are *not* averaged:
otherwise a selection that rejects every row of a hard class would look better than one that keeps some.

Standard deviations use the influence of each row: its first-order contribution to a metric. A ranking metric is a mean
of AUCs over pairs of classes, so the influence of a row is the mean of its influences on these AUCs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from itertools import combinations
from math import nan
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aucross.core.bounds import Ends, beta_quantile, interval, share_losses_of_units, sums_by_unit
from aucross.core.influence import PairwiseMetric
from aucross.core.ranking import FloatArray, IndexArray, RankedScores
from aucross.evaluation.inputs import (
    BoolArray,
    Mask,
    Weights,
    check_masks,
    check_selected,
    customer_numbers,
    row_weights,
    weighted_mean,
)
from aucross.evaluation.metric import metric
from aucross.evaluation.ranked_selection import left_out, share_influence
from aucross.evaluation.selective_evaluation import SelectiveEvaluation

# Differences of scores carry rounding: 0.3 - 0.1 and 0.2 - 0.0 should tie and do not as floats. Values closer than this
# share of the largest score, sixteen units in its last place, count as equal.
_ROUNDING = 2.0**-48

# What the search calls the two ranking metrics.
_RANKING = {"hand_till_m": "auc", "auc_mu": "auc_mu"}


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
    higher p_j than a random row of class k, ties counting half. NaN if the selected rows lack a class.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Class labels of any kind.
    y_prob : array-like of shape (n, n_classes)
        Class probabilities, or any finite scores that are higher for rows more likely to belong to the column's class.
    classes : array-like of shape (n_classes,), optional
        Label of each column, such as ``clf.classes_``; by default the labels found in `y_true`, sorted.

    Notes
    -----
    Hand & Till (2001). Without weights it is ``roc_auc_score(multi_class="ovo", average="macro")`` of scikit-learn,
    which refuses weights and, given `labels`, leaves classes without rows out of the mean. To do the same here, pass
    only the columns of classes with rows, and say so beside the figure. With two classes and columns 1 - p and p, M is
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
    higher p_j - p_k than a random row of class k, ties counting half. NaN if the selected rows lack a class.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Class labels of any kind.
    y_prob, classes
        As for :func:`hand_till_m`; scores other than probabilities need one scale, because columns are subtracted.

    Notes
    -----
    Kleiman & Page (2019), with their default partition matrix. M compares rows in one column at a time; AUC-mu compares
    them by the difference of two columns. Rows that their highest probability classifies correctly are therefore always
    in the right order: a perfect classifier has AUC-mu 1, and may have a lower M.

    Differences that agree up to rounding, 2^-48 of the largest score, count as ties: 0.3 - 0.1 is 0.2 - 0.0, as it
    should be for nearest neighbours or a small forest. The rows of each pair are sorted: O(n K log n) in all.

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


def _selected_rows(
    y_true: ArrayLike, y_prob: ArrayLike, selected: Mask, classes: ArrayLike | None, sample_weight: Weights
) -> tuple[FloatArray, IndexArray, FloatArray]:
    """Return scores (one row per class), classes and weights of the selected rows that carry weight."""
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
    names = np.asarray(classes)
    place = {label: index for index, label in enumerate(names.ravel().tolist())}
    if names.shape != (n_classes,) or len(place) != n_classes:
        raise ValueError(
            f"classes must be 1-d with {n_classes} different labels, one per column of y_prob, got "
            f"{_some(names)} of shape {names.shape}; pass clf.classes_"
        )
    if unknown := [label for label in found.tolist() if label not in place]:
        raise ValueError(
            f"y_true must hold labels of classes={_some(names)} only, got {_some(unknown)}; add or drop them"
        )
    return np.array([place[label] for label in found.tolist()], dtype=np.intp)[number]


def _some(labels: ArrayLike) -> str:
    values = np.asarray(labels).ravel().tolist()
    return f"{values[:5]}"[:-1] + (", ...]" if len(values) > 5 else "]")


def _pairs_won(
    score: FloatArray, label: IndexArray, weight: FloatArray, winner: int, tolerance: float = 0.0
) -> FloatArray:
    """Return, for each class, the weight of its pairs in which a row of class `winner` scores higher; ties count half.

    One pass serves all classes: each row adds the weight of the rows of class `winner` with a higher score.
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


# ---- rows of an evaluation ----


class MulticlassSelections(NamedTuple):
    """Labels, scores, predictions and selections of rows with any number of classes, without rows of weight 0."""

    y_true: NDArray[Any]
    y_pred: NDArray[Any]
    label: IndexArray  # number of the true class
    score: FloatArray  # of shape (n, n_classes)
    classes: NDArray[Any]
    weight: FloatArray
    units: IndexArray | None
    selections: Mapping[float, BoolArray]

    @classmethod
    def checked(
        cls,
        y_true: ArrayLike,
        y_prob: ArrayLike,
        y_pred: ArrayLike,
        selections: Mapping[float, ArrayLike],
        *,
        classes: ArrayLike,
        sample_weight: Weights,
        customers: object,
    ) -> MulticlassSelections:
        """Check the arguments of an evaluation; leave out rows of weight 0."""
        labels, predicted, names = np.asarray(y_true), np.asarray(y_pred), np.asarray(classes)
        score, number = checked_classes(labels, y_prob, names)
        if predicted.shape != labels.shape:
            raise ValueError(f"y_pred must hold one label per row, got shape {predicted.shape} for {len(labels)} rows")
        used = (weight := row_weights(sample_weight, len(labels))) > 0
        if not used.any():
            raise ValueError("there must be at least one row to evaluate on, got none")
        units = customer_numbers(customers, len(labels))
        return cls(
            *(labels[used], predicted[used], number[used], score[used], names, weight[used]),
            None if units is None else np.unique(units[used], return_inverse=True)[1],
            {coverage: mask[used] for coverage, mask in check_masks(selections, len(labels)).items()},
        )

    @property
    def read(self) -> dict[str, Any]:
        """Columns of the rows that metrics read."""
        return {"y_true": self.y_true, "y_score": self.score, "y_pred": self.y_pred, "classes": self.classes}

    def evaluation(
        self, names: Iterable[str], confidence_level: float, *, with_intervals: bool, seed: int
    ) -> SelectiveEvaluation:
        """Compute the named metrics of every selection."""
        names, masks, target = list(names), list(self.selections.values()), np.array(list(self.selections))
        options = {"classes": self.classes, "sample_weight": self.weight}
        estimates = {
            metric.name: np.array([metric(self.y_true, self.score, mask, **options) for mask in masks])
            for metric in (hand_till_m, auc_mu)
        }
        for name in ("achieved_coverage", "selective_accuracy"):
            sums = [[part.sum() for part in self.share(name, coverage)] for coverage in self.selections]
            of_all, lost = np.array(sums).T
            estimates[name] = np.divide(of_all - lost, of_all, out=np.full(len(of_all), nan), where=of_all > 0)
        estimates["coverage_error"] = estimates["achieved_coverage"] - target
        counts = np.array([np.bincount(self.label[mask], minlength=len(self.classes)) for mask in masks])
        deviations, intervals = {}, {}
        for name in names if with_intervals else ():
            added = [self.influence(name, coverage) for coverage in self.selections]
            deviations[name] = np.array([np.sqrt(influence @ influence) for influence in added])
            ends = [
                self._ends(name, *found, (1.0 - confidence_level) / 2.0)
                for found in zip(self.selections, estimates[name].tolist(), deviations[name].tolist(), strict=True)
            ]
            intervals[name] = Ends(*np.array(ends).T)
        return SelectiveEvaluation(
            target_coverage=target,
            estimates={name: estimates[name] for name in names},
            n_selected=counts.sum(axis=1),
            n_rarest=counts.min(axis=1),
            confidence_level=confidence_level,
            drawn_from=(len(self.label), seed),
            n_customers=None if self.units is None else int(self.units.max()) + 1,
            deviations=deviations,
            intervals=intervals,
            influences={name: partial(self.influence, name) for name in deviations},
        )

    def _by_unit(self, values: FloatArray) -> FloatArray:
        return values if self.units is None else sums_by_unit(self.units, values)

    def share(self, name: str, coverage: float) -> tuple[FloatArray, FloatArray]:
        """Return each row's weight in the denominator of a share, and the part of it that the numerator leaves out."""
        mask = self.selections[coverage]
        if name == "selective_accuracy":
            return self.weight * mask, self.weight * (mask & (self.y_true != self.y_pred))
        return self.weight, self.weight * ~mask

    def _ends(
        self, name: str, coverage: float, mean: float, deviation: float, failure: float
    ) -> tuple[float, float, float]:
        """Return both ends of the interval of a metric, and how far one more row could move the metric."""
        if name in _RANKING:
            if np.isnan(mean) or deviation == 0.0:
                return mean, mean, 0.0
            low, lost = (beta_quantile(side, deviation**2, failure) for side in (mean, 1.0 - mean))
            return low, 1.0 - lost, 0.0
        less = coverage if name == "coverage_error" else 0.0
        if name != "selective_accuracy" and coverage == 1.0 and self.selections[coverage].all():
            return 1.0 - less, 1.0 - less, 0.0  # asked for everything, a classifier selects everything
        losses = share_losses_of_units(*map(self._by_unit, self.share(name, coverage)))
        if losses is None:
            return nan, nan, nan
        low, high = interval(losses, failure)
        return low - less, high - less, losses.share_of_added_unit()

    def influence(self, name: str, coverage: float) -> FloatArray:
        """Return the first-order contribution of each row or customer to a metric at a coverage."""
        if name not in _RANKING:
            return self._by_unit(share_influence(*self.share(name, coverage)))
        mask, n_classes = self.selections[coverage], self.score.shape[1]
        metric = PairwiseMetric(n_classes, _RANKING[name])
        # With two classes the metric reads the score of the second alone.
        columns = metric.columns(self.score if n_classes > 2 else self.score[:, 1])
        of_class = [np.flatnonzero(mask & (self.label == number)) for number in range(n_classes)]
        if not all(map(len, of_class)):
            return self._by_unit(np.full(len(mask), nan))
        added = np.zeros(len(mask))
        for contest in metric.contests:
            rows = np.concatenate((of_class[contest.winner], of_class[contest.loser]))
            wins = np.arange(len(rows)) < len(of_class[contest.winner])
            score, weight = columns[rows, contest.column], self.weight[rows]
            ranked = RankedScores.from_labels(wins, score, weight)
            loss = ranked.losses_of(wins, score)
            mean, total = weighted_mean(loss[wins], weight[wins]), np.where(wins, *ranked.totals[:, 1].tolist())
            added[rows] += left_out(weight, total) * (mean - loss)
        return self._by_unit(added / len(metric.contests))
