"""The evaluation of selections for more than two classes: the same table, with Hand-Till M and AUC-mu for the AUC.

As with two classes nothing is sorted again in a bootstrap replicate. Every score column is sorted once; a replicate
changes weights, and the pairs won follow from prefix sums over the rows of the winning class.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aucross.core.influence import Contest, PairwiseMetric
from aucross.core.ranking import FloatArray, IndexArray
from aucross.evaluation.bootstrap import draw_counts, share_of
from aucross.evaluation.catalogue import (
    METRICS,
    MULTICLASS_METRICS,
    AnyMetric,
    MetricLike,
    measure_anew,
    metrics_on_request,
)
from aucross.evaluation.inputs import (
    BoolArray,
    check_coverages,
    check_masks,
    check_probability,
    check_replicates,
    row_weights,
    seed_from,
    unit_numbers,
)
from aucross.evaluation.multiclass import check_columns, class_numbers
from aucross.evaluation.results import SelectiveEvaluation

# What the search calls the two ranking metrics.
_RANKING = {"hand_till_m": "auc", "auc_mu": "auc_mu"}


class MulticlassRows(NamedTuple):
    """Checked rows that carry weight."""

    y_true: NDArray[Any]
    y_pred: NDArray[Any]
    label: IndexArray  # number of the true class
    score: FloatArray  # of shape (n, n_classes)
    sample_weight: FloatArray | None

    def weight(self, count: NDArray[Any]) -> FloatArray:
        """Weight of each row that was drawn so often."""
        return count.astype(np.float64) if self.sample_weight is None else count * self.sample_weight


def evaluate_multiclass_selections(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    y_pred: ArrayLike,
    selections: Mapping[float, ArrayLike],
    *,
    classes: ArrayLike,
    metrics: Iterable[MetricLike] = (),
    sample_weight: ArrayLike | None = None,
    groups: Any = None,
    n_bootstrap: int = 1000,
    confidence_level: float = 0.95,
    random_state: Any = None,
) -> SelectiveEvaluation:
    """Evaluate selections that were made anywhere, for any number of classes.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        True and predicted labels.
    y_prob : array-like of shape (n_samples, n_classes)
        Probabilities or other scores, one column for each of `classes`.
    selections : dict of float to array-like of shape (n_samples,), bool
        For each target coverage the mask of selected rows.
    classes : array-like of shape (n_classes,)
        Label of each column, such as ``clf.classes_``.
    metrics : iterable of callable, default=()
        Functions of your own ``metric(y_true, y_prob, selected, sample_weight=...)``, or a
        :class:`~aucross.evaluation.Metric` that reads something else.
    sample_weight, groups, n_bootstrap, confidence_level, random_state
        As in :func:`aucross.evaluate_selective`.

    Returns
    -------
    SelectiveEvaluation
        With ``achieved_coverage``, ``coverage_error``, ``hand_till_m``, ``auc_mu``, ``selective_accuracy`` and
        `metrics`. The two ranking metrics are NaN where a class has no selected row; ``n_rarest`` counts the selected
        rows of the class that has the fewest.

    Examples
    --------
    >>> from aucross.evaluation.multiclass_evaluate import evaluate_multiclass_selections
    >>> y = ["a", "a", "b", "b", "c"]
    >>> y_prob = [[0.6, 0.3, 0.1], [0.4, 0.4, 0.2], [0.3, 0.5, 0.2], [0.5, 0.3, 0.2], [0.1, 0.3, 0.6]]
    >>> y_pred = ["a", "a", "b", "a", "c"]
    >>> masks = {1.0: [True] * 5, 0.8: [True, True, True, False, True]}
    >>> result = evaluate_multiclass_selections(y, y_prob, y_pred, masks, classes=["a", "b", "c"], n_bootstrap=0)
    >>> result.estimates["hand_till_m"].round(4)
    array([0.8542, 1.    ])
    """
    requested = metrics_on_request(metrics, two_classes=False)
    check_probability(confidence_level, "confidence_level", ends=False)
    check_replicates(n_bootstrap)
    target, names = np.array(check_coverages(selections)), np.asarray(classes)
    rows, used = _checked_rows(y_true, y_prob, y_pred, names, sample_weight)
    masks = check_masks(selections, len(used))[:, used]
    n_rows, seed = len(rows.label), seed_from(random_state)
    # On the rows as given by definition, in replicates from columns that are sorted once: the same up to rounding.
    ranking = {name: METRICS[name] for name in _RANKING}
    pairs = {name: _RankedPairs.of(rows, PairwiseMetric(len(names), kind)) for name, kind in _RANKING.items()}
    as_given = np.ones((1, n_rows), dtype=np.intp)
    estimates = _measure(rows, masks, target, iter(as_given), {})
    estimates |= _requested_metrics(rows, masks, names, ranking | requested, iter(as_given))
    units = unit_numbers(groups, len(used))
    units = None if units is None else np.unique(units[used], return_inverse=True)[1]
    draws = partial(draw_counts, n_rows, n_bootstrap, seed, units)
    replicates = _measure(rows, masks, target, draws(), pairs)
    if requested:
        replicates |= _requested_metrics(rows, masks, names, requested, draws())
    counts = np.array([np.bincount(rows.label[mask], minlength=len(names)) for mask in masks])
    return SelectiveEvaluation(
        target_coverage=target,
        estimates={name: estimates[name][0] for name in (*MULTICLASS_METRICS, *requested)},
        replicates=replicates,
        n_selected=counts.sum(axis=1),
        n_rarest=counts.min(axis=1),
        confidence_level=confidence_level,
        drawn_from=(n_rows, seed),
        n_units=None if units is None else len(np.unique(units)),
    )


def _checked_rows(
    y_true: ArrayLike, y_prob: ArrayLike, y_pred: ArrayLike, classes: NDArray[Any], sample_weight: ArrayLike | None
) -> tuple[MulticlassRows, BoolArray]:
    """The rows that carry weight, and which these are."""
    score, labels, predicted = check_columns(y_prob), np.asarray(y_true), np.asarray(y_pred)
    number = class_numbers(labels, classes, score.shape[1])
    if len(score) != len(number):
        raise ValueError(f"y_prob must hold one row of scores per label, got {len(score)} for {len(number)} labels")
    if predicted.shape != labels.shape:
        raise ValueError(f"y_pred must hold one label per row, got shape {predicted.shape} for {len(labels)} rows")
    weight = row_weights(sample_weight, len(number))
    used = weight > 0
    if not used.any():
        raise ValueError("there must be at least one row to evaluate on, got none")
    kept = None if sample_weight is None else weight[used]
    return MulticlassRows(labels[used], predicted[used], number[used], score[used], kept), used


def _requested_metrics(
    rows: MulticlassRows,
    masks: BoolArray,
    classes: NDArray[Any],
    requested: Mapping[str, AnyMetric],
    counts: Iterator[NDArray[Any]],
) -> dict[str, FloatArray]:
    """Metrics that are computed anew from the rows of each weighting."""
    read = {"y_true": rows.y_true, "y_score": rows.score, "y_pred": rows.y_pred, "classes": classes}
    return measure_anew(requested, masks, (rows.weight(count) for count in counts), read)


def _measure(
    rows: MulticlassRows,
    masks: BoolArray,
    target: FloatArray,
    counts: Iterator[NDArray[Any]],
    pairs: Mapping[str, _RankedPairs],
) -> dict[str, FloatArray]:
    """Metrics under every weighting of the rows: arrays of shape (n_weightings, n_coverages)."""
    sums, ranking, is_correct = [], [], rows.y_true == rows.y_pred
    for count in counts:
        weights = rows.weight(count) * masks
        whole = rows.weight(count).sum()
        sums.append([(weight.sum(), weight @ is_correct, whole) for weight in weights])
        ranking.append([[metric.value(weight) for weight in weights] for metric in pairs.values()])
    selected, correct, whole = np.array(sums, dtype=np.float64).reshape(len(sums), len(masks), 3).transpose(2, 0, 1)
    # All rows are all rows, whatever the order in which their weights are added up.
    achieved = np.where(masks.all(axis=1), 1.0, share_of(selected, whole))
    measured = {
        "achieved_coverage": achieved,
        "coverage_error": achieved - target,
        "selective_accuracy": share_of(correct, selected),
    }
    values = np.array(ranking, dtype=np.float64).reshape(len(ranking), len(pairs), len(masks))
    return measured | {name: values[:, index] for index, name in enumerate(pairs)}


@dataclass(frozen=True, eq=False)
class _RankedColumn:
    """Rows that meet in one score column: those of the winning class, sorted, and the others with their places."""

    contests: tuple[Contest, ...]
    winners: IndexArray  # rows, by ascending score
    others: IndexArray
    other_label: IndexArray
    winners_below: IndexArray  # per other row: number of winners with a lower score
    winners_up_to: IndexArray  # the same, winners of equal score included

    @classmethod
    def of(cls, label: IndexArray, score: FloatArray, contests: tuple[Contest, ...]) -> _RankedColumn:
        winners = np.flatnonzero(label == contests[0].winner)
        winners = winners[np.argsort(score[winners])]
        others = np.flatnonzero(np.isin(label, [contest.loser for contest in contests]))
        below, up_to = (np.searchsorted(score[winners], score[others], side=side) for side in ("left", "right"))
        return cls(contests, winners, others, label[others], below, up_to)

    def aucs(self, weight: FloatArray, totals: FloatArray) -> list[float]:
        """The AUC of each contest in this column."""
        below = np.zeros(len(self.winners) + 1)
        np.cumsum(weight.take(self.winners), out=below[1:])
        above = below[-1] - (below.take(self.winners_below) + below.take(self.winners_up_to)) / 2  # ties half
        won = np.bincount(self.other_label, weights=weight.take(self.others) * above, minlength=len(totals))
        return [won[contest.loser] / (totals[contest.loser] * totals[contest.winner]) for contest in self.contests]


@dataclass(frozen=True, eq=False)
class _RankedPairs:
    """A ranking metric of rows whose weights change and whose scores do not."""

    label: IndexArray
    n_classes: int
    columns: tuple[_RankedColumn, ...]

    @classmethod
    def of(cls, rows: MulticlassRows, metric: PairwiseMetric) -> _RankedPairs:
        by_column: dict[int, list[Contest]] = {}
        for contest in metric.contests:
            by_column.setdefault(contest.column, []).append(contest)
        # With two classes the metric reads the score of the second alone.
        columns = metric.columns(rows.score if metric.n_classes > 2 else rows.score[:, 1])
        return cls(
            rows.label,
            metric.n_classes,
            tuple(
                _RankedColumn.of(rows.label, columns[:, column], tuple(contests))
                for column, contests in by_column.items()
            ),
        )

    def value(self, weight: FloatArray) -> float:
        """The metric under these weights; NaN without one of the classes."""
        totals = np.asarray(np.bincount(self.label, weights=weight, minlength=self.n_classes), dtype=np.float64)
        if not (totals > 0).all():
            return float("nan")
        aucs = [auc for column in self.columns for auc in column.aucs(weight, totals)]
        return float(np.clip(aucs, 0.0, 1.0).mean())
