"""The evaluation of selections for more than two classes, with Hand-Till M and AUC-mu in the place of the AUC.

As with two classes each row has an influence: what it adds to coverage, accuracy and the ranking metrics. Those are
means of AUCs, one for each contest of two classes, and so the influence of a row is the mean of those in its contests.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from math import nan
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aucross.core.bounds import Ends, beta_quantile, interval, share_losses_of_units, sums_by_unit
from aucross.core.influence import PairwiseMetric
from aucross.core.ranking import FloatArray, IndexArray, RankedScores
from aucross.evaluation.catalogue import (
    METRICS,
    MULTICLASS_METRICS,
    MetricLike,
    draw_weights,
    measure,
    metrics_on_request,
)
from aucross.evaluation.inputs import (
    BoolArray,
    Weights,
    check_masks,
    check_probability,
    check_replicates,
    customer_numbers,
    row_weights,
    seed_from,
    weighted_mean,
)
from aucross.evaluation.multiclass import checked_classes
from aucross.evaluation.ranked_selection import left_out, share_influence
from aucross.evaluation.selective_evaluation import SelectiveEvaluation

# What the search calls the two ranking metrics.
_RANKING = {"hand_till_m": "auc", "auc_mu": "auc_mu"}


def evaluate_multiclass_selections(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    y_pred: ArrayLike,
    selections: Mapping[float, ArrayLike],
    *,
    classes: ArrayLike,
    metrics: Iterable[MetricLike] = (),
    sample_weight: Weights = None,
    customers: Any = None,
    n_bootstrap: int = 1000,
    confidence_level: float = 0.95,
    random_state: Any = None,
) -> SelectiveEvaluation:
    """Evaluate selections made by any method, for any number of classes.

    Parameters
    ----------
    y_true, y_pred, selections, sample_weight, customers, n_bootstrap, confidence_level, random_state
        As in :func:`aucross.evaluate_selections`; labels may be of any kind.
    y_prob : array-like of shape (n_samples, n_classes)
        Probabilities or other scores, one column for each of `classes`.
    classes : array-like of shape (n_classes,)
        Label of each column, such as ``clf.classes_``.
    metrics : iterable of callable, default=()
        Functions of your own ``metric(y_true, y_prob, selected, sample_weight=...)``, or a
        :class:`~aucross.evaluation.Metric` that reads something else.

    Returns
    -------
    SelectiveEvaluation
        With ``achieved_coverage``, ``coverage_error``, ``hand_till_m``, ``auc_mu``, ``selective_accuracy`` and
        `metrics`. The two ranking metrics are NaN where a class has no selected row; ``n_rarest`` counts the selected
        rows of the class that has the fewest.

    Examples
    --------
    >>> from aucross.evaluation import evaluate_multiclass_selections
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
    names, seed = np.asarray(classes), seed_from(random_state)
    labels, predicted = np.asarray(y_true), np.asarray(y_pred)
    score, number = checked_classes(labels, y_prob, names)
    if predicted.shape != labels.shape:
        raise ValueError(f"y_pred must hold one label per row, got shape {predicted.shape} for {len(labels)} rows")
    used = (weight := row_weights(sample_weight, len(labels))) > 0
    if not used.any():
        raise ValueError("there must be at least one row to evaluate on, got none")
    units = customer_numbers(customers, len(labels))
    rows = _MulticlassSelections(
        *(labels[used], predicted[used], number[used], score[used], weight[used]),
        None if units is None else np.unique(units[used], return_inverse=True)[1],
        {coverage: mask[used] for coverage, mask in check_masks(selections, len(labels)).items()},
    )
    masks, target = list(rows.selections.values()), np.array(list(rows.selections))
    read = {"y_true": rows.y_true, "y_score": rows.score, "y_pred": rows.y_pred, "classes": names}
    as_given = measure({name: METRICS[name] for name in _RANKING} | requested, masks, [rows.weight], read)
    estimates = {name: values[0] for name, values in as_given.items()}
    for name in ("achieved_coverage", "selective_accuracy"):
        sums = [[part.sum() for part in rows.share(name, coverage)] for coverage in rows.selections]
        of_all, lost = np.array(sums).T
        estimates[name] = np.divide(of_all - lost, of_all, out=np.full(len(of_all), nan), where=of_all > 0)
    estimates["coverage_error"] = estimates["achieved_coverage"] - target
    counts = np.array([np.bincount(rows.label[mask], minlength=len(names)) for mask in masks])
    weights = draw_weights(rows.weight, n_bootstrap, seed, rows.units)
    evaluation = SelectiveEvaluation(
        target_coverage=target,
        estimates={name: estimates[name] for name in (*MULTICLASS_METRICS, *requested)},
        replicates=measure(requested, masks, weights, read) if requested else {},
        n_selected=counts.sum(axis=1),
        n_rarest=counts.min(axis=1),
        confidence_level=confidence_level,
        drawn_from=(len(rows.label), seed),
        n_customers=None if rows.units is None else int(rows.units.max()) + 1,
    )
    if not n_bootstrap:
        return evaluation
    deviations, intervals, failure = {}, {}, (1.0 - confidence_level) / 2.0
    for name in MULTICLASS_METRICS:
        added = [rows.influence(name, coverage) for coverage in rows.selections]
        deviations[name] = np.array([np.sqrt(influence @ influence) for influence in added])
        ends = []
        for coverage, mean, deviation in zip(rows.selections, estimates[name], deviations[name], strict=True):
            if name not in _RANKING:
                ends.append(rows.ends_of_share(name, coverage, failure))
            elif np.isnan(mean) or deviation == 0.0:
                ends.append((mean, mean, 0.0))
            else:
                low, lost = (beta_quantile(float(side), float(deviation) ** 2, failure) for side in (mean, 1.0 - mean))
                ends.append((low, 1.0 - lost, 0.0))
        intervals[name] = Ends(*np.array(ends).T)
    influences = {name: partial(rows.influence, name) for name in MULTICLASS_METRICS}
    return replace(evaluation, deviations=deviations, intervals=intervals, influences=influences)


class _MulticlassSelections(NamedTuple):
    """Rows that carry weight, and which of them are selected at each coverage."""

    y_true: NDArray[Any]
    y_pred: NDArray[Any]
    label: IndexArray  # number of the true class
    score: FloatArray  # of shape (n, n_classes)
    weight: FloatArray
    units: IndexArray | None
    selections: Mapping[float, BoolArray]

    def _by_unit(self, values: FloatArray) -> FloatArray:
        return values if self.units is None else sums_by_unit(self.units, values)

    def share(self, name: str, coverage: float) -> tuple[FloatArray, FloatArray]:
        """Return each row's weight in the denominator of a share, and its weight in the part that does not count."""
        mask = self.selections[coverage]
        if name == "selective_accuracy":
            return self.weight * mask, self.weight * (mask & (self.y_true != self.y_pred))
        return self.weight, self.weight * ~mask

    def ends_of_share(self, name: str, coverage: float, failure: float) -> tuple[float, float, float]:
        """Return the interval of a share, as with two classes."""
        less = coverage if name == "coverage_error" else 0.0
        if name != "selective_accuracy" and coverage == 1.0 and self.selections[coverage].all():
            return 1.0 - less, 1.0 - less, 0.0  # asked for everything, a classifier selects everything
        losses = share_losses_of_units(*map(self._by_unit, self.share(name, coverage)))
        if losses is None:
            return nan, nan, nan
        low, high = interval(losses, failure)
        return low - less, high - less, losses.share_of_added_unit()

    def influence(self, name: str, coverage: float) -> FloatArray:
        """Return the contribution of each row, or each unit, to a metric at a coverage, to first order."""
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
