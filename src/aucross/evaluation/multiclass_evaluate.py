"""The evaluation of selections for more than two classes: the same table, with Hand-Till M and AUC-mu for the AUC.

As with two classes nothing is sorted again in a bootstrap replicate. Every score column is sorted once; a replicate
changes weights, and the pairs won follow from prefix sums over the rows of the winning class.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aucross.core.influence import Contest, PairwiseMetric
from aucross.core.ranking import FloatArray, IndexArray, check_weights
from aucross.evaluation.bootstrap import draw_counts, share_of
from aucross.evaluation.evaluate import check_coverages, check_masks, check_replicates, seed_from
from aucross.evaluation.inputs import BoolArray, check_probability
from aucross.evaluation.multiclass import auc_mu, hand_till_m
from aucross.evaluation.results import SelectiveEvaluation

# Always part of an evaluation of more than two classes.
MULTICLASS_METRICS = ("achieved_coverage", "coverage_error", "hand_till_m", "auc_mu", "selective_accuracy")

# What the search calls the two ranking metrics.
_RANKING = {"hand_till_m": "auc", "auc_mu": "auc_mu"}


class MulticlassRows(NamedTuple):
    """Checked rows that carry weight."""

    label: IndexArray  # number of the class
    score: FloatArray  # of shape (n, n_classes)
    correct: BoolArray
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
    metrics: Iterable[str] = (),
    sample_weight: ArrayLike | None = None,
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
    metrics : iterable of str, default=()
        Accepted so that a call fits any number of classes; the metrics are always those under Returns.
    sample_weight, n_bootstrap, confidence_level, random_state
        As in :func:`aucross.evaluate_selective`.

    Returns
    -------
    SelectiveEvaluation
        With ``achieved_coverage``, ``coverage_error``, ``hand_till_m``, ``auc_mu`` and ``selective_accuracy``. The two
        ranking metrics are NaN where a class has no selected row; ``n_rarest`` counts the selected rows of the class
        that has the fewest.

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
    _refuse_other_metrics(metrics)
    check_probability(confidence_level, "confidence_level", ends=False)
    check_replicates(n_bootstrap)
    target = np.array(check_coverages(selections))
    labels, names, score = np.asarray(y_true), np.asarray(classes), np.asarray(y_prob, dtype=np.float64)
    masks = check_masks(selections, len(labels))
    weight = None if sample_weight is None else check_weights(sample_weight, len(labels))
    # The metrics check labels, classes and scores.
    ranking = {
        metric.__name__: np.array([metric(labels, score, mask, classes=names, sample_weight=weight) for mask in masks])
        for metric in (hand_till_m, auc_mu)
    }
    used = slice(None) if weight is None else weight > 0
    correct = _check_predicted(y_pred, labels) == labels
    rows = MulticlassRows(
        _class_numbers(labels[used], names), score[used], correct[used], None if weight is None else weight[used]
    )
    masks = masks[:, used]
    n_rows, seed = len(rows.label), seed_from(random_state)
    if n_rows == 0:
        raise ValueError("there must be at least one row to evaluate on, got none")
    as_given = _measure(rows, masks, target, iter([np.ones(n_rows, dtype=np.intp)]), {})
    counts = np.array([np.bincount(rows.label[mask], minlength=len(names)) for mask in masks])
    estimates = {name: values[0] for name, values in as_given.items()} | ranking
    pairs = {name: _RankedPairs.of(rows, PairwiseMetric(len(names), kind)) for name, kind in _RANKING.items()}
    return SelectiveEvaluation(
        target_coverage=target,
        estimates={name: estimates[name] for name in MULTICLASS_METRICS},
        replicates=_measure(rows, masks, target, draw_counts(n_rows, n_bootstrap, seed), pairs),
        n_selected=counts.sum(axis=1),
        n_rarest=counts.min(axis=1),
        confidence_level=confidence_level,
        drawn_from=(n_rows, seed),
    )


def _refuse_other_metrics(metrics: Iterable[Any]) -> None:
    listed = [metrics] if isinstance(metrics, str) or callable(metrics) else list(metrics)
    for metric in listed:
        name = getattr(metric, "__name__", metric)
        if name not in MULTICLASS_METRICS:
            raise ValueError(
                f"metrics for more than two classes are always {', '.join(MULTICLASS_METRICS)}, got {name!r}; leave it "
                "out, or compute it on the rows of clf.select(X)"
            )


def _check_predicted(y_pred: ArrayLike, labels: NDArray[Any]) -> NDArray[Any]:
    predicted = np.asarray(y_pred)
    if predicted.shape != labels.shape:
        raise ValueError(f"y_pred must hold one label per row, got shape {predicted.shape} for {len(labels)} rows")
    return predicted


def _class_numbers(labels: NDArray[Any], names: NDArray[Any]) -> IndexArray:
    order = np.argsort(names)
    return np.asarray(order[np.searchsorted(names[order], labels)])


def _measure(
    rows: MulticlassRows,
    masks: BoolArray,
    target: FloatArray,
    counts: Iterator[NDArray[Any]],
    pairs: Mapping[str, _RankedPairs],
) -> dict[str, FloatArray]:
    """Metrics under every weighting of the rows: arrays of shape (n_weightings, n_coverages)."""
    sums, ranking = [], []
    for count in counts:
        weights = rows.weight(count) * masks
        whole = rows.weight(count).sum()
        sums.append([(weight.sum(), weight @ rows.correct, whole) for weight in weights])
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
