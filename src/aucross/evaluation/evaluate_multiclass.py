"""The evaluation of selections for more than two classes, with Hand-Till M and AUC-mu in the place of the AUC.

As with two classes each row has an influence: what it adds to coverage, accuracy and the ranking metrics. Those are
means of AUCs, one for each contest of two classes, and so the influence of a row is the mean of those in its contests.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from math import nan
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aucross.core.bounds import Ends, beta_quantile, interval, share_losses_of_units, sums_by_unit
from aucross.core.influence import PairwiseMetric
from aucross.core.ranking import FloatArray, IndexArray, RankedScores
from aucross.evaluation.catalogue import METRICS, measure
from aucross.evaluation.inputs import BoolArray, Weights, check_masks, customer_numbers, row_weights, weighted_mean
from aucross.evaluation.multiclass import checked_classes
from aucross.evaluation.ranked_selection import left_out, share_influence
from aucross.evaluation.selective_evaluation import SelectiveEvaluation

# What the search calls the two ranking metrics.
_RANKING = {"hand_till_m": "auc", "auc_mu": "auc_mu"}


class MulticlassRows(NamedTuple):
    """Labelled, scored and answered rows of any number of classes with their selections; all weigh something."""

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
    ) -> MulticlassRows:
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
        """What metrics read of the rows."""
        return {"y_true": self.y_true, "y_score": self.score, "y_pred": self.y_pred, "classes": self.classes}

    def evaluation(
        self, names: Iterable[str], confidence_level: float, *, with_intervals: bool, seed: int
    ) -> SelectiveEvaluation:
        """Evaluate some metrics of the selections."""
        names, masks, target = list(names), list(self.selections.values()), np.array(list(self.selections))
        as_given = measure({name: METRICS[name] for name in _RANKING}, masks, [self.weight], self.read)
        estimates = {name: values[0] for name, values in as_given.items()}
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
        """Return each row's weight in the denominator of a share, and its weight in the part that does not count."""
        mask = self.selections[coverage]
        if name == "selective_accuracy":
            return self.weight * mask, self.weight * (mask & (self.y_true != self.y_pred))
        return self.weight, self.weight * ~mask

    def _ends(
        self, name: str, coverage: float, mean: float, deviation: float, failure: float
    ) -> tuple[float, float, float]:
        """Return the interval of a metric, that of a share as with two classes, and the step of one more row."""
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
