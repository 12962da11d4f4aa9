"""The report per group: who is rejected, how good the rest is, and how far the groups are apart.

All groups are read from the same resamples of all rows, so that a difference between two groups has a paired
interval::

    resample of all rows ──┬──► rows of group A ──► coverage, AUC, ... ──┐
                           ├──► rows of group B ──► coverage, AUC, ... ──┼──► gap of this resample
                           └──► all rows ─────────► coverage, AUC, ...   ┘
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from aucross.core.ranking import FloatArray, IndexArray, as_positive, check_scores, check_weights
from aucross.evaluation.bootstrap import RankedSelections, SelectionStatistics, share_of, statistics_of
from aucross.evaluation.catalogue import GROUP_METRICS
from aucross.evaluation.evaluate import DEFAULT_COVERAGES, evaluate_selections, with_row_intervals
from aucross.evaluation.group_column import GroupColumn, group_column
from aucross.evaluation.group_results import CountedShares, GroupEvaluation
from aucross.evaluation.inputs import BoolArray, EvaluationRows, check_coverages, check_masks, seed_from, unit_numbers
from aucross.evaluation.judged_rows import check_two_classes, judge
from aucross.evaluation.lower_bounds import has_weights
from aucross.evaluation.resampling import resampled_statistics
from aucross.evaluation.results import SelectiveEvaluation


def evaluate_groups(
    clf: Any,
    X: Any,
    y: ArrayLike,
    by: Any,
    coverages: Iterable[float] = DEFAULT_COVERAGES,
    *,
    band_groups: Any = None,
    sample_weight: ArrayLike | None = None,
    groups: Any = None,
    n_bootstrap: int = 1000,
    confidence_level: float = 0.95,
    random_state: Any = None,
) -> GroupEvaluation:
    """Evaluate a fitted selective classifier in each group of the rows.

    Parameters
    ----------
    clf : SelectiveClassifier
        Fitted classifier of two classes, for instance :class:`aucross.AUCross`.
    X : array-like or frame of shape (n_samples, n_features), or ScoredRows
        Test rows.
    y : array-like of shape (n_samples,)
        Their labels, as in training.
    by : array-like or series of shape (n_samples,)
        The group of each row: strings, numbers, categories. It need not be a feature. Missing values form the group
        ``"(missing)"``. Every distinct value is a group, so cut a continuous column into bands first.
    coverages : iterable of float in (0, 1], default=(1, .99, .95, .90, .85, .80, .75)
        Target coverages.
    band_groups : array-like of shape (n_samples,), optional
        Group of each row, for a classifier whose bands were fitted per group.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the rows; a row of weight 0 takes no part.
    groups : array-like of shape (n_samples,), optional
        Rows that belong together, such as the loans of one customer, as in :func:`aucross.evaluate_selective`; not to
        be confused with `by`, the groups of the report.
    n_bootstrap : int, default=1000
        Bootstrap replicates; 0 gives estimates alone.
    confidence_level : float in (0, 1), default=0.95
        Level of the intervals ``_low`` to ``_high``.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the bootstrap. Evaluations of the same rows with the same seed are paired.

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
    >>> report = evaluate_groups(clf, X[2000:], y[2000:], region, [0.8], n_bootstrap=100, random_state=0)
    >>> [(row["group"], row["n"]) for row in report.rows()]
    [('north', 500), ('south', 500), ('(all rows)', 1000)]
    """
    coverages = check_coverages(coverages)
    check_two_classes(clf, "for one class against the others pass masks to evaluate_group_selections")
    rows = judge(clf, X, y, sample_weight=sample_weight, band_groups=band_groups)
    return evaluate_group_selections(
        rows.positive,
        rows.score,
        rows.predicted,
        rows.selections(coverages),
        by,
        sample_weight=rows.sample_weight,
        groups=groups,
        n_bootstrap=n_bootstrap,
        confidence_level=confidence_level,
        random_state=random_state,
    )


def evaluate_group_selections(
    y_true: ArrayLike,
    y_score: ArrayLike,
    y_pred: ArrayLike,
    selections: Mapping[float, ArrayLike],
    by: Any,
    *,
    sample_weight: ArrayLike | None = None,
    groups: Any = None,
    n_bootstrap: int = 1000,
    confidence_level: float = 0.95,
    random_state: Any = None,
) -> GroupEvaluation:
    """Evaluate selections that were made anywhere, in each group of the rows.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        True and predicted labels: boolean, 0/1 or -1/1.
    y_score : array-like of shape (n_samples,)
        Scores of the positive class.
    selections : dict of float to array-like of shape (n_samples,), bool
        For each target coverage the mask of selected rows.
    by, sample_weight, groups, n_bootstrap, confidence_level, random_state
        As in :func:`evaluate_groups`.

    Returns
    -------
    GroupEvaluation

    Examples
    --------
    >>> import numpy as np
    >>> from aucross.evaluation.groups import evaluate_group_selections
    >>> y, score = np.array([0, 0, 1, 0, 1, 1]), np.array([0.1, 0.2, 0.3, 0.6, 0.7, 0.8])
    >>> sure, side = np.abs(score - 0.5) > 0.15, ["left", "left", "left", "right", "right", "right"]
    >>> evaluate_group_selections(y, score, score > 0.5, {0.8: sure}, side, n_bootstrap=0)
    group       n  target_coverage  achieved_coverage  selective_auc  selective_accuracy  positive_rate  positives_...
    left        3  0.80             1.000              1.000          0.667               0.333          0.000
    right       3  0.80             0.667              nan            1.000               1.000          0.000
    (all rows)  6  0.80             0.833              1.000          0.800               0.600          0.000
    """
    positive = as_positive(y_true)
    column = group_column(by, len(positive))
    seed = seed_from(random_state)
    overall = evaluate_selections(  # it checks all other arguments
        positive,
        y_score,
        y_pred,
        selections,
        sample_weight=sample_weight,
        groups=groups,
        n_bootstrap=n_bootstrap,
        confidence_level=confidence_level,
        random_state=seed,
    )
    weight = None if sample_weight is None else check_weights(sample_weight, len(positive))
    used = np.ones(len(positive), dtype=bool) if weight is None else weight > 0
    rows = EvaluationRows(positive, check_scores(y_score, len(positive)), as_positive(y_pred, "y_pred"), weight)
    masks = check_masks(selections, len(positive))[:, used]
    units = unit_numbers(groups, len(positive))
    units = None if units is None else np.unique(units[used], return_inverse=True)[1]
    return _assembled(rows.take(used), masks, column.take(used), overall, units)


def _assembled(
    rows: EvaluationRows,
    masks: BoolArray,
    column: GroupColumn,
    overall: SelectiveEvaluation,
    units: IndexArray | None,
) -> GroupEvaluation:
    """Measure every group on the rows as given and on the draws of all rows, and put the report together."""
    members = column.members()
    # One more selection takes all rows: what is positive there is what could be rejected.
    selections = np.vstack((masks, np.ones(len(column.codes), dtype=bool)))
    rankings = [RankedSelections.of(rows, selections, own) for own in members]
    estimates, all_rejected = _measure(statistics_of(rankings, iter([np.ones(len(column.codes), dtype=np.intp)])))
    n_bootstrap, (_, seed) = len(overall.replicates["selective_auc"]), overall.drawn_from or (0, 0)
    replicates, all_rejected_replicates = _measure(resampled_statistics(rankings, n_bootstrap, seed, units))
    evaluations = []
    for number, own in enumerate(members):
        n_positive = np.count_nonzero((masks & rows.positive)[:, own], axis=1)
        evaluation = replace(  # coverages, level and draws are those of all rows
            overall,
            estimates={name: values[number, 0] for name, values in estimates.items()},
            replicates={name: values[number] for name, values in replicates.items()},
            n_positive=n_positive,
            n_negative=np.count_nonzero(masks[:, own], axis=1) - n_positive,
        )
        evaluations.append(with_row_intervals(evaluation, rankings[number], units))
    overall = replace(
        overall,
        estimates=_in_order({**overall.estimates, "positives_for_review": all_rejected[0]}),
        replicates=_in_order({**overall.replicates, "positives_for_review": all_rejected_replicates}),
    )
    overall = with_row_intervals(overall, RankedSelections.of(rows, selections), units)
    return GroupEvaluation(
        column.labels,
        np.array([len(own) for own in members]),
        tuple(evaluations),
        overall,
        shares=_counted_shares(rows, masks, members),
        rows_count_alike=units is None and (rows.sample_weight is None or not has_weights(rows.sample_weight)),
    )


def _counted_shares(rows: EvaluationRows, masks: BoolArray, members: Sequence[IndexArray]) -> dict[str, CountedShares]:
    """The counts of the four metrics that are shares of rows."""

    def counts(of_rows: BoolArray) -> IndexArray:
        return np.array([np.count_nonzero(of_rows[:, own], axis=1) for own in members])

    positives = np.broadcast_to(rows.positive, masks.shape)
    n_selected, n_positives = counts(masks), counts(positives)
    n_selected_positives = counts(masks & positives)
    n_rows = counts(np.broadcast_to(True, masks.shape))
    return {
        "achieved_coverage": CountedShares(n_rows, n_selected),
        "selective_accuracy": CountedShares(n_selected, counts(masks & rows.correct)),
        "positive_rate": CountedShares(n_selected, n_selected_positives),
        "positives_for_review": CountedShares(n_positives, n_positives - n_selected_positives),
    }


def _in_order(metrics: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    return {name: metrics[name] for name in GROUP_METRICS}


def _measure(found: Sequence[SelectionStatistics]) -> tuple[dict[str, FloatArray], FloatArray]:
    """All metrics of all groups under every weighting, and the share of positives rejected among all rows.

    The metrics are arrays of shape (n_groups, n_weightings, n_coverages), the share has no groups.
    """
    metrics = {name: np.array([getattr(part, name)[:, :-1] for part in found]) for name in GROUP_METRICS[:-1]}
    positives = np.array([part.positives for part in found])
    return {**metrics, "positives_for_review": _rejected(positives)}, _rejected(positives.sum(axis=0))


def _rejected(positives: FloatArray) -> FloatArray:
    """Share of the positives (last column) that each selection (the other columns) leaves out."""
    return 1.0 - share_of(positives[..., :-1], positives[..., -1:])
