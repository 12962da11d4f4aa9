"""The evaluation of selections for more than two classes: the same table, with Hand-Till M and AUC-mu for the AUC.

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

from aucross.core.bounds import (
    Ends,
    LossSums,
    beta_quantile,
    interval,
    share_losses,
    share_losses_of_units,
    sums_by_unit,
)
from aucross.core.influence import PairwiseMetric
from aucross.core.ranking import FloatArray, IndexArray, RankedScores
from aucross.evaluation.bootstrap import draw_weights
from aucross.evaluation.catalogue import METRICS, MULTICLASS_METRICS, MetricLike, measure_anew, metrics_on_request
from aucross.evaluation.evaluated_rows import left_out
from aucross.evaluation.inputs import (
    BoolArray,
    check_coverages,
    check_masks,
    check_probability,
    check_replicates,
    row_weights,
    seed_from,
    unit_numbers,
    weighted_mean,
)
from aucross.evaluation.multiclass import check_columns, class_numbers
from aucross.evaluation.results import SelectiveEvaluation

# What the search calls the two ranking metrics.
_RANKING = {"hand_till_m": "auc", "auc_mu": "auc_mu"}
_TINY = float(np.finfo(float).tiny)


class MulticlassRows(NamedTuple):
    """Checked rows that carry weight."""

    y_true: NDArray[Any]
    y_pred: NDArray[Any]
    label: IndexArray  # number of the true class
    score: FloatArray  # of shape (n, n_classes)
    weight: FloatArray
    units: IndexArray | None
    selections: Mapping[float, BoolArray]

    def influence(self, name: str, coverage: float) -> FloatArray:
        """What each row, or each unit, adds to a metric at a coverage, to first order."""
        mask = self.selections[coverage]
        if name in _RANKING:
            added = self._influence_on_ranking(name, mask)
        else:
            among, counted = self.share(name, mask)
            weight = self.weight * among
            added = left_out(weight, max(float(weight.sum()), _TINY)) * (counted - weighted_mean(counted, weight))
        return added if self.units is None else sums_by_unit(self.units, added)

    def share(self, name: str, mask: BoolArray) -> tuple[BoolArray, BoolArray]:
        """The rows that a share is about, and those of them that count."""
        if name == "selective_accuracy":
            return mask, np.asarray(self.y_true == self.y_pred)
        return np.ones(len(mask), dtype=bool), mask

    def _influence_on_ranking(self, name: str, mask: BoolArray) -> FloatArray:
        n_classes = self.score.shape[1]
        metric = PairwiseMetric(n_classes, _RANKING[name])
        # With two classes the metric reads the score of the second alone.
        columns = metric.columns(self.score if n_classes > 2 else self.score[:, 1])
        of_class = [np.flatnonzero(mask & (self.label == number)) for number in range(n_classes)]
        if not all(map(len, of_class)):
            return np.full(len(mask), np.nan)
        added = np.zeros(len(mask))
        for contest in metric.contests:
            rows = np.concatenate((of_class[contest.winner], of_class[contest.loser]))
            wins = np.arange(len(rows)) < len(of_class[contest.winner])
            score, weight = columns[rows, contest.column], self.weight[rows]
            ranked = RankedScores.from_labels(wins, score, weight)
            loss = np.where(wins, *(values[np.searchsorted(ranked.scores, score)] for values in ranked.losses))
            mean, total = weighted_mean(loss[wins], weight[wins]), np.where(wins, *ranked.totals[:, 1].tolist())
            added[rows] += left_out(weight, total) * (mean - loss)
        return added / len(metric.contests)

    def losses(self, name: str, mask: BoolArray) -> LossSums | None:
        """What the interval of a share is read from; None without rows."""
        among, counted = self.share(name, mask)
        sides = [np.flatnonzero(among), np.flatnonzero(among & ~counted)]
        if self.units is not None:
            n_units = int(self.units.max()) + 1
            weight, lost = (sums_by_unit(self.units[rows], self.weight[rows], n_units) for rows in sides)
            return share_losses_of_units(weight, lost)
        powers = np.stack([self.weight**power for power in range(4)])
        return share_losses(*(powers[:, rows].sum(axis=1) for rows in sides))


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
    check_coverages(selections)
    names = np.asarray(classes)
    rows = _checked_rows(y_true, y_prob, y_pred, names, selections, sample_weight=sample_weight, groups=groups)
    masks, seed = np.array(list(rows.selections.values())), seed_from(random_state)
    read = {"y_true": rows.y_true, "y_score": rows.score, "y_pred": rows.y_pred, "classes": names}
    ranking = {name: METRICS[name] for name in _RANKING}
    as_given = measure_anew(ranking | requested, masks, iter([rows.weight]), read)
    target = np.array(list(rows.selections))
    estimates = {name: values[0] for name, values in as_given.items()}
    shares = [[_share(rows, name, mask) for mask in masks] for name in ("achieved_coverage", "selective_accuracy")]
    coverage, accuracy = np.array(shares)
    estimates |= {"achieved_coverage": coverage, "coverage_error": coverage - target, "selective_accuracy": accuracy}
    weights = draw_weights(rows.weight, n_bootstrap, seed, rows.units)
    counts = np.array([np.bincount(rows.label[mask], minlength=len(names)) for mask in masks])
    evaluation = SelectiveEvaluation(
        target_coverage=target,
        estimates={name: estimates[name] for name in (*MULTICLASS_METRICS, *requested)},
        replicates=measure_anew(requested, masks, weights, read) if requested else {},
        n_selected=counts.sum(axis=1),
        n_rarest=counts.min(axis=1),
        confidence_level=confidence_level,
        drawn_from=(len(rows.label), seed),
        n_units=None if rows.units is None else int(rows.units.max()) + 1,
    )
    return _with_intervals(evaluation, rows) if n_bootstrap else evaluation


def _share(rows: MulticlassRows, name: str, mask: BoolArray) -> float:
    among, counted = rows.share(name, mask)
    return weighted_mean(counted[among], rows.weight[among])


def _with_intervals(evaluation: SelectiveEvaluation, rows: MulticlassRows) -> SelectiveEvaluation:
    """Add standard deviations and intervals: of shares those of two classes, of ranking metrics Beta intervals."""
    failure = (1.0 - evaluation.confidence_level) / 2.0
    deviations, intervals = {}, {}
    for name in MULTICLASS_METRICS:
        added = [rows.influence(name, coverage) for coverage in rows.selections]
        deviations[name] = np.array([np.sqrt(influence @ influence) for influence in added])
        if name in _RANKING:
            found = [
                _ends_of_ranking(*pair, failure)
                for pair in zip(evaluation.estimates[name].tolist(), deviations[name].tolist(), strict=True)
            ]
        else:
            found = [_ends_of_share(rows, name, coverage, failure) for coverage in rows.selections]
        intervals[name] = Ends(*np.array(found).T)
    influences = {name: partial(rows.influence, name) for name in MULTICLASS_METRICS}
    return replace(evaluation, deviations=deviations, intervals=intervals, influences=influences)


def _ends_of_ranking(estimate: float, deviation: float, failure: float) -> tuple[float, float, float]:
    if np.isnan(estimate) or deviation == 0.0:
        return estimate, estimate, 0.0
    low, lost = (beta_quantile(mean, deviation**2, failure) for mean in (estimate, 1.0 - estimate))
    return low, 1.0 - lost, 0.0


def _ends_of_share(rows: MulticlassRows, name: str, coverage: float, failure: float) -> tuple[float, float, float]:
    mask, less = rows.selections[coverage], coverage if name == "coverage_error" else 0.0
    if name != "selective_accuracy" and coverage == 1.0 and mask.all():
        return 1.0 - less, 1.0 - less, 0.0  # asked for everything, a classifier selects everything
    losses = rows.losses(name, mask)
    if losses is None:
        return nan, nan, nan
    low, high = interval(losses, failure)
    return low - less, high - less, losses.share_of_added_unit()


def _checked_rows(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    y_pred: ArrayLike,
    classes: NDArray[Any],
    selections: Mapping[float, ArrayLike],
    *,
    sample_weight: ArrayLike | None,
    groups: Any,
) -> MulticlassRows:
    """The rows that carry weight."""
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
    masks = check_masks(selections, len(number))[:, used]
    units = unit_numbers(groups, len(number))
    return MulticlassRows(
        labels[used],
        predicted[used],
        number[used],
        score[used],
        weight[used],
        None if units is None else np.unique(units[used], return_inverse=True)[1],
        dict(zip(selections, masks, strict=True)),
    )
