"""Evaluation and promise from a ranking, for rows that stay where they are: on a cluster, in a warehouse, in files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import nan, sqrt
from typing import Any, NamedTuple

import numpy as np

from aucross.core.added_row import lower_bound
from aucross.core.bands import check_coverage
from aucross.core.ranking import FloatArray, IndexArray
from aucross.evaluation.bootstrap import SelectionStatistics, share_of
from aucross.evaluation.evaluate import DEFAULT_COVERAGES, standard_metrics, with_intervals
from aucross.evaluation.inputs import BoolArray, check_coverages, check_probability, check_replicates, seed_from
from aucross.evaluation.intervals import intervals_of, losses_of_rejected
from aucross.evaluation.lower_bounds import shared_losses
from aucross.evaluation.promise import SelectivePromise, check_confidence, promise_of_bounds
from aucross.evaluation.ranked_selections import RankedClasses, Ranking, Selection, is_probability, selections_of
from aucross.evaluation.results import SelectiveEvaluation
from aucross.evaluation.selection_losses import Losses

# Scores are put into so many bins before they are resampled: within a bin rows of a class lose almost the same.
N_BINS = 512

# Drawn numbers at a time.
_DRAWS_AT_A_TIME = 2**20


def evaluate_ranking(
    ranked: Ranking,
    bands: Any,
    coverages: Iterable[float] | None = None,
    *,
    threshold: float | None = None,
    n_bootstrap: int = 1000,
    confidence_level: float = 0.95,
    random_state: Any = None,
) -> SelectiveEvaluation:
    """Evaluate a selective classifier from a ranking of labelled test rows, without the rows.

    Parameters
    ----------
    ranked : RankedScores or WeightedRanking
        Ranking of test rows by the score of the classifier, of numbers of rows. Rankings of partitions add up. If rows
        have weights, a :class:`~aucross.core.WeightedRanking`.
    bands : SelectiveClassifier, BandRule, or dict of float to RejectionBand or ranking
        What selects. If bands do not lie on the ranked score (a gate, a judge of its own, bands per group), a dict
        that has the ranking of the *selected* rows for each coverage.
    coverages : iterable of float in (0, 1], optional
        Target coverages; (1, .99, .95, .90, .85, .80, .75) by default, or those of the dict.
    threshold : float, optional
        Rows of a score above it are answered with the positive class. By default one half, or 0 for a classifier whose
        scores are decision values.
    n_bootstrap : int, default=1000
        Replicates; 0 gives estimates alone.
    confidence_level : float in (0, 1), default=0.95
        Level of the intervals.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the replicates.

    Returns
    -------
    SelectiveEvaluation
        With the estimates and intervals that :func:`aucross.evaluate_selective` gives on the same rows. The standard
        deviations and the interval of the gain come from other random numbers.

    See Also
    --------
    aucross.evaluate_selective : The same from rows, with more metrics, groups of rows and comparisons.

    Notes
    -----
    Rows must be independent of each other: a ranking does not tell which rows belong to one customer, so that for those
    the intervals would be too narrow. Numbers of rows that are weights in truth, such as amounts, cannot be told from
    counts either.

    The replicates count the rows of each class in up to 512 bins of scores anew, by Poisson numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from aucross.core import RankedScores, estimate_auc_bands
    >>> from aucross.evaluation import evaluate_ranking
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(3000) < 0.3
    >>> score = 1 / (1 + np.exp(1 - rng.normal(size=3000) - 1.5 * y))
    >>> parts = [RankedScores.from_labels(y[i::3], score[i::3]) for i in range(3)]
    >>> rule = estimate_auc_bands(parts[0])
    >>> evaluation = evaluate_ranking(parts[1] + parts[2], rule, [1.0, 0.8], random_state=0)
    >>> print(evaluation.estimates["achieved_coverage"].round(2), evaluation.estimates["auc_gain"][1] > 0)
    [1.   0.81] True
    """
    asked = check_coverages(_default_coverages(bands) if coverages is None else coverages)
    check_replicates(n_bootstrap)
    check_probability(confidence_level, "confidence_level", ends=False)
    everything = RankedClasses.of(ranked, needs_counts=n_bootstrap > 0)
    if everything.totals()[0][0] + everything.totals()[1][0] == 0:
        raise ValueError("ranked must hold at least one row to evaluate on, got none")
    selections = [*selections_of(everything, bands, asked), everything]
    is_positive = everything.scores > _threshold(bands, threshold)
    seed, target = seed_from(random_state), np.array(asked)
    estimates = standard_metrics(_estimates(selections, is_positive), target)
    found = list(_replicates(selections, is_positive, n_bootstrap, seed)) if n_bootstrap else []
    columns = {name: np.array([part[name] for part in found]).T for name in estimates if found and name in found[0]}
    columns["coverage_error"] = columns["achieved_coverage"] - target if found else np.empty((0, len(target)))
    counts = np.array([[int(total[0]) for total in part.totals()] for part in selections[:-1]])
    evaluation = SelectiveEvaluation(
        target_coverage=target,
        estimates={name: values[0] for name, values in estimates.items()},
        replicates={name: columns.get(name, np.empty((0, len(target)))) for name in estimates},
        n_positive=counts[:, 0],
        n_negative=counts[:, 1],
        confidence_level=confidence_level,
        has_rows=False,
    )
    if n_bootstrap < 2:
        return evaluation
    ends = intervals_of([_losses(part, everything, is_positive) for part in selections], confidence_level)
    is_everything = np.array([_is_everything(part, everything) for part in selections[:-1]])
    positives, negatives = everything.positives[1], everything.negatives[1]
    rejected = (positives + negatives - part.positives[1] - part.negatives[1] for part in selections[:-1])
    lost = losses_of_rejected(everything.scores, positives, negatives, rejected)
    return with_intervals(evaluation, ends, is_everything, lost)


def promise_ranking(
    ranked: Ranking,
    bands: Any,
    coverage: float | None = None,
    *,
    promised_coverage: float | None = None,
    confidence: float = 0.95,
) -> SelectivePromise:
    """Say how much of the coverage and of the AUC can be promised, from a ranking of test rows without the rows.

    Parameters
    ----------
    ranked : RankedScores or WeightedRanking
        As in :func:`evaluate_ranking`: rows that are independent of each other, like those to come, and were used
        neither to train nor to place the band.
    bands : SelectiveClassifier, BandRule, RejectionBand or ranking
        What selects: a band, or the ranking of the selected rows, or what has a band for `coverage`.
    coverage : float in (0, 1], optional
        Target coverage; that of the classifier by default.
    promised_coverage, confidence
        As in :func:`~aucross.evaluation.promise_selective`.

    Returns
    -------
    SelectivePromise
        The same as :func:`~aucross.evaluation.promise_selective` gives on the same rows.

    Examples
    --------
    >>> import numpy as np
    >>> from aucross.core import RankedScores, RejectionBand
    >>> from aucross.evaluation import promise_ranking
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(1000) < 0.3
    >>> ranked = RankedScores.from_labels(y, rng.normal(size=1000) + 1.5 * y)
    >>> print(promise_ranking(ranked, RejectionBand(0.5, 1.1)))
    At least 79.2 % of cases decided automatically, and an AUC of at least .862 among them, with 95 % confidence
    (1,000 test rows; 227 positives and 591 negatives automatic).
    """
    level = check_confidence(confidence)
    if promised_coverage is not None:
        promised_coverage = check_coverage(promised_coverage, "promised_coverage")
    everything = RankedClasses.of(ranked)
    selected, target = _one_selection(everything, bands, coverage)
    (positives, negatives), all_rows = selected.totals(), np.add(*everything.totals())
    if all_rows[0] == 0:
        raise ValueError("ranked must hold at least one row to promise from, got none")
    taken = positives + negatives
    failures = (1.0 - level, 1.0 - sqrt(level))
    share = shared_losses(all_rows, np.maximum(all_rows - taken, 0.0))
    auc = selected.auc_losses()
    promise = promise_of_bounds(
        (lower_bound(share, failures[0]), lower_bound(share, failures[1])),
        (nan, nan) if auc is None else (lower_bound(auc, failures[0]), lower_bound(auc, failures[1])),
        promised_coverage,
        confidence=level,
        achieved_coverage=float(taken[1] / all_rows[1]),
        selective_auc=_auc(selected),
        n_rows=int(all_rows[0]),
        n_selected=int(taken[0]),
        n_positive=int(positives[0]),
        n_negative=int(negatives[0]),
        method="delong",
        is_weighted=everything.is_weighted,
    )
    return replace(promise, target_coverage=target)


# ---- what selects ----


def _default_coverages(bands: Any) -> Iterable[float]:
    return bands if isinstance(bands, Mapping) else DEFAULT_COVERAGES


def _threshold(bands: Any, threshold: float | None) -> float:
    if threshold is None:
        return 0.5 if is_probability(bands) else 0.0
    return float(threshold)


def _one_selection(everything: RankedClasses, bands: Any, coverage: float | None) -> tuple[RankedClasses, float | None]:
    if isinstance(bands, Selection):
        target = None if coverage is None else check_coverage(coverage)
        return everything.selected(bands), target
    asked = getattr(bands, "coverage", None) if coverage is None else coverage
    if asked is None:
        raise ValueError("coverage must be given with a rule, got none; pass for instance 0.8")
    target = check_coverage(asked)
    return selections_of(everything, bands, [target])[0], target


def _is_everything(part: RankedClasses, everything: RankedClasses) -> bool:
    return all(np.array_equal(ours, theirs) for ours, theirs in zip(part[1:3], everything[1:3], strict=True))


# ---- numbers ----


def _losses(part: RankedClasses, everything: RankedClasses, is_positive: BoolArray) -> dict[str, Losses]:
    """What a selection loses, for the interval of each metric."""
    (positives, negatives), (all_positives, all_negatives) = part.totals(), everything.totals()
    taken, all_rows = positives + negatives, all_positives + all_negatives
    wrong = part.positives[:, ~is_positive].sum(axis=1) + part.negatives[:, is_positive].sum(axis=1)
    return {
        "achieved_coverage": part.share_losses(all_rows, np.add(*everything.minus(part).totals())),
        "selective_auc": part.auc_losses(),
        "selective_accuracy": part.share_losses(taken, wrong),
        "positive_rate": part.share_losses(taken, negatives),
    }


def _auc(part: RankedClasses) -> float:
    positives, negatives = (total[1] for total in part.totals())
    if min(positives, negatives) == 0:
        return nan
    return float(min(max(1.0 - part.positives[1] @ part.losses()[0] / positives, 0.0), 1.0))


def _estimates(selections: list[RankedClasses], is_positive: BoolArray) -> SelectionStatistics:
    """The metrics of each selection, the last of which takes all rows."""
    positives, negatives = (
        np.array([[part.totals()[side][1] for part in selections]], dtype=np.float64) for side in (0, 1)
    )
    right = np.array(
        [[part.positives[1, is_positive].sum() + part.negatives[1, ~is_positive].sum() for part in selections]]
    )
    taken = positives + negatives
    return SelectionStatistics(
        achieved_coverage=share_of(taken, np.broadcast_to(taken[:, -1:], taken.shape)),
        selective_auc=np.array([[_auc(part) for part in selections]]),
        selective_accuracy=share_of(right, taken),
        positive_rate=share_of(positives, taken),
        positives=positives,
    )


# ---- replicates ----


class _Cells(NamedTuple):
    """Rows of one selection, in cells of one class, one bin of scores and one answer, selected or not.

    Attributes
    ----------
    n_rows : ndarray of shape (n_cells,)
        Number of equal rows that have the weight and the squared weight of those of the cell.
    sums : ndarray of shape (n_cells, 9)
        What one of these rows adds to: weight of positives and of negatives, loss of positives and of negatives among
        all rows; the same four among the selected rows; weight of selected rows that are answered rightly.
    """

    n_rows: FloatArray
    sums: FloatArray

    @classmethod
    def of(cls, part: RankedClasses, everything: RankedClasses, is_positive: BoolArray) -> _Cells:
        bins = 2 * _bins(everything) + is_positive
        n_bins = int(bins.max()) + 1
        answered_positive = np.arange(n_bins) % 2 == 1
        among_all, among_selected = everything.losses(), part.losses()
        found = []
        for own, is_selected in ((part, True), (everything.minus(part), False)):
            for side, is_right in ((0, answered_positive), (1, ~answered_positive)):
                powers = own.negatives if side else own.positives
                lost = powers[1] * among_all[side], powers[1] * among_selected[side] * is_selected
                weight, squares, lost_in_all, lost_in_selected = (
                    np.bincount(bins, values, minlength=n_bins) for values in (powers[1], powers[2], *lost)
                )
                columns = np.zeros((10, n_bins))
                columns[0] = squares
                columns[1 + side], columns[3 + side] = weight, lost_in_all
                columns[5 + side], columns[7 + side] = weight * is_selected, lost_in_selected
                columns[9] = weight * is_right * is_selected
                found.append(columns[:, weight > 0])
        squares, *sums = np.concatenate(found, axis=1)
        weight = sums[0] + sums[1]
        n_rows = weight**2 / squares
        return cls(n_rows, np.array(sums).T / n_rows[:, None])

    def replicates(self, n_bootstrap: int, seed: int) -> FloatArray:
        """The sums in every replicate, an array of shape (9, n_bootstrap)."""
        rng = np.random.Generator(np.random.SFC64(seed))
        at_a_time = max(_DRAWS_AT_A_TIME // len(self.n_rows), 1)
        parts = []
        for first in range(0, n_bootstrap, at_a_time):
            size = (min(at_a_time, n_bootstrap - first), len(self.n_rows))
            parts.append(rng.poisson(self.n_rows, size).astype(np.float64) @ self.sums)
        return np.concatenate(parts).T


def _bins(everything: RankedClasses) -> IndexArray:
    """The bin of each score: bins hold equal shares of both classes."""
    middle = np.zeros(len(everything.scores))
    for weights in (everything.positives[1], everything.negatives[1]):
        middle += (np.cumsum(weights) - weights / 2.0) / (weights.sum() or 1.0) / 2.0
    return np.minimum(middle * N_BINS, N_BINS - 1).astype(np.intp)


def _resampled_auc(as_given: FloatArray, resampled: FloatArray) -> FloatArray:
    """AUC from weights and losses of both classes, to first order: each row adds what it loses to the rows as given."""
    positives, negatives, lost_by_positives, lost_by_negatives = resampled
    mean_loss = as_given[2] / as_given[0] if as_given[0] > 0 else nan
    loss = share_of(lost_by_positives, positives) + share_of(lost_by_negatives, negatives) - mean_loss
    return np.clip(1.0 - loss, 0.0, 1.0)


def _replicates(
    selections: Sequence[RankedClasses], is_positive: BoolArray, n_bootstrap: int, seed: int
) -> Iterator[dict[str, FloatArray]]:
    """The metrics of each selection in every replicate; the last takes all rows, and all are compared with it."""
    *parts, everything = selections
    for part in parts:
        cells = _Cells.of(part, everything, is_positive)
        as_given, found = cells.n_rows @ cells.sums, cells.replicates(n_bootstrap, seed)
        taken = found[4] + found[5]
        is_all = _is_everything(part, everything)
        auc = _resampled_auc(as_given[4:8], found[4:8])
        yield {
            "achieved_coverage": np.ones(n_bootstrap) if is_all else share_of(taken, found[0] + found[1]),
            "selective_auc": auc,
            "auc_gain": np.zeros(n_bootstrap) if is_all else auc - _resampled_auc(as_given[:4], found[:4]),
            "selective_accuracy": share_of(found[8], taken),
            "positive_rate": share_of(found[4], taken),
        }
