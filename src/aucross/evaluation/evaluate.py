"""Evaluate selective classifiers: a table with one row per target coverage, with estimates and intervals.

Rows in memory, partitions of a cluster and query results of a warehouse become rankings, which the same code reads::

    clf, X, y ──► selections of rows ──► ranked once ─┐
    folds ──► rows of all folds together ──► ranked ──┼──► RankedSelection at each coverage ──► SelectiveEvaluation
    a ranking, and a band or a ranking of selected rows ┘
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from aucross.core.bands import RejectionBand
from aucross.core.bounds import Ends
from aucross.core.ranking import IndexArray, RankedScores
from aucross.core.scored_rows import ScoredRows, confidence_of
from aucross.evaluation.catalogue import (
    METRICS,
    MULTICLASS_METRICS,
    STANDARD_METRICS,
    MetricLike,
    draw_weights,
    measure,
    metrics_on_request,
)
from aucross.evaluation.inputs import (
    BoolArray,
    Weights,
    check_coverages,
    check_probability,
    check_replicates,
    check_two_classes,
    customer_numbers,
    label_rows,
    row_weights,
    seed_from,
    selections_at,
    weighted_mean,
)
from aucross.evaluation.multiclass import MulticlassSelections
from aucross.evaluation.ranked_selection import BinarySelections, RankedSelection, evaluation_of
from aucross.evaluation.selective_evaluation import SelectiveEvaluation

# All rows, to compare with, and the paper's coverages.
DEFAULT_COVERAGES = (1.0, 0.99, 0.95, 0.90, 0.85, 0.80, 0.75)

# Metrics on request that follow from the ranking.
_TOLD = ("selective_gini", "selective_risk", "positives_for_review")

# What says which scores are selected: a band, or the ranking of the selected rows.
Selection = RejectionBand | RankedScores


def evaluate_selective(
    clf: Any,
    X: Any,
    y: ArrayLike,
    coverages: Iterable[float] | None = None,
    *,
    capacity: int | Iterable[int] | None = None,
    metrics: Iterable[MetricLike] = (),
    sample_weight: Weights = None,
    band_groups: Any = None,
    customers: Any = None,
    n_bootstrap: int = 1000,
    confidence_level: float = 0.95,
    random_state: Any = None,
) -> SelectiveEvaluation:
    """Evaluate a fitted selective classifier on labelled rows that it was not fitted on.

    Parameters
    ----------
    clf : SelectiveClassifier
        Fitted classifier, for instance :class:`aucross.AUCross`.
    X : array-like or frame of shape (n_samples, n_features), or ScoredRows
        Test rows, or the result of ``clf.scored`` for them, so that models score each row only once.
    y : array-like of shape (n_samples,)
        Labels of the test rows, as in training.
    coverages : iterable of float in (0, 1], optional
        Target coverages, by default (1, .99, .95, .90, .85, .80, .75); at 1.0 every row is answered.
    capacity : int or iterable of int, optional
        Number of the test rows that people can review, given instead of `coverages`: exactly this number is rejected.
        The target coverage in the table is then the share of rows that are not rejected.
    metrics : iterable of str or callable, default=()
        Metrics beside coverage, AUC, gain of AUC over all rows, accuracy and positive rate: names of metrics in
        ``aucross.evaluation`` such as ``"selective_gini"``, functions of your own ``metric(y_true, y_score, selected,
        sample_weight=...)``, or a :class:`~aucross.evaluation.Metric` that takes other arguments. Columns are named
        after the functions, so the names must differ.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the rows; rows of weight 0 are ignored. Scored rows carry their own weights.
    band_groups : array-like of shape (n_samples,), optional
        Group of each row, for a classifier whose bands were fitted per group.
    customers : array-like of shape (n_samples,), optional
        The customer, patient or household that each row belongs to, by number or name. The intervals then allow for
        rows of one customer being alike.
    n_bootstrap : int, default=1000
        Bootstrap replicates for `metrics`; standard metrics need none. 0 gives estimates without intervals.
    confidence_level : float in (0, 1), default=0.95
        Level of the intervals, which reach from ``_low`` to ``_high``.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the bootstrap. To compare `metrics` of two evaluations of the same rows, give both the same seed.

    Returns
    -------
    SelectiveEvaluation
        ``to_frame()`` gives one row per target coverage. With more than two classes ``hand_till_m`` and ``auc_mu``
        replace the AUC, and `metrics` must be your own functions, whose `y_score` has a column per class.

    Notes
    -----
    Coverage, accuracy and positive rate have Clopper-Pearson intervals. The AUC has the Beta interval of
    :func:`promise_selective`, but its added row counts only two thirds here (see the guide on small data). The gain has
    the interval of a paired difference. Standard deviations come from the contribution of each row, or each
    customer, to a metric. Requested metrics have percentile intervals from bootstrap resamples of the rows.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from aucross import AUCross, evaluate_selective
    >>> X, y = make_classification(3000, flip_y=0.3, random_state=0)
    >>> clf = AUCross(LogisticRegression(), random_state=0).fit(X[:2000], y[:2000])
    >>> evaluate_selective(clf, X[2000:], y[2000:], coverages=[1.0, 0.8], random_state=0)
    target_coverage  achieved_coverage     coverage_error           selective_auc         auc_gain              ...
    1.00             1.000 [1.000, 1.000]  0.000 [0.000, ...
    0.80             ...
    """
    if coverages is not None and capacity is not None:
        raise ValueError(f"coverages and capacity must not both be given, got {coverages!r} and {capacity!r}")
    asked = [] if capacity is not None else check_coverages(DEFAULT_COVERAGES if coverages is None else coverages)
    rows = label_rows(clf, X, y, sample_weight=sample_weight, band_groups=band_groups)
    weight, labels = rows.sample_weight, rows.labels
    assert labels is not None
    found = np.unique(labels if weight is None else labels[weight > 0])
    if len(found) == 1:
        warnings.warn(
            f"y should hold rows of at least two classes, got {len(rows)} rows of {found.tolist()[0]!r} alone: the AUC "
            "compares rows of two classes and is NaN; pass rows of another class too",
            UserWarning,
            stacklevel=2,
        )
    selections = selections_at(clf, rows, asked) if capacity is None else _selections_within(clf, rows, capacity)
    checked: BinarySelections | MulticlassSelections
    if len(clf.classes_) == 2:
        columns = rows.positive, rows.score, rows.answered_positive
        units = customer_numbers(customers, len(rows))
        checked = BinarySelections(*columns, selections, weight, units).with_weight()
    else:
        given = {"classes": clf.classes_, "sample_weight": weight, "customers": customers}
        checked = MulticlassSelections.checked(labels, rows.score, rows.predicted, selections, **given)
    evaluation = _evaluate(checked, metrics, n_bootstrap, confidence_level, random_state)
    return replace(evaluation, at_least=asks_for_at_least(clf))


def _selections_within(clf: Any, rows: ScoredRows, capacity: int | Iterable[int]) -> dict[float, BoolArray]:
    """Return the rows selected for each review capacity, keyed by the share of the weight that is selected."""
    weight, selections = row_weights(rows.sample_weight, len(rows)), {}
    for number in capacity if isinstance(capacity, Iterable) else [capacity]:
        selected = clf.decide(rows, capacity=number).selected
        share = weighted_mean(selected, weight)
        if not share > 0:
            raise ValueError(
                f"capacity must leave rows to evaluate, got {number} of {len(rows)} rows; pass a smaller one"
            )
        selections[min(share, 1.0)] = selected
    if not selections:
        raise ValueError("capacity must be a number of rows or hold at least one, got none")
    return selections


def asks_for_at_least(clf: Any) -> bool:
    """Return whether a classifier guarantees its coverage, and therefore exceeds it on average."""
    return getattr(clf, "coverage_confidence", None) is not None


def evaluate_selections(
    y_true: ArrayLike,
    y_score: ArrayLike,
    y_pred: ArrayLike,
    selections: Mapping[float, ArrayLike],
    *,
    classes: ArrayLike | None = None,
    metrics: Iterable[MetricLike] = (),
    sample_weight: Weights = None,
    customers: Any = None,
    n_bootstrap: int = 1000,
    confidence_level: float = 0.95,
    random_state: Any = None,
) -> SelectiveEvaluation:
    """Evaluate selections made by any method, from labels, scores, predictions and masks.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        True and predicted labels: boolean, 0/1 or -1/1; with `classes`, labels of any kind.
    y_score : array-like of shape (n_samples,) or (n_samples, n_classes)
        Scores of the positive class; with `classes`, probabilities or other scores, one column for each class.
    selections : dict of float to array-like of shape (n_samples,), bool
        Mask of the selected rows for each target coverage.
    classes : array-like of shape (n_classes,), optional
        Label of each column of `y_score`, such as ``clf.classes_``, for any number of classes.
    metrics, sample_weight, customers, n_bootstrap, confidence_level, random_state
        As in :func:`evaluate_selective`.

    Returns
    -------
    SelectiveEvaluation
        As from :func:`evaluate_selective`. With `classes` the ranking metrics are ``hand_till_m`` and ``auc_mu``, NaN
        where a class has no selected row; ``n_rarest`` counts the selected rows of the class that has the fewest.

    Examples
    --------
    >>> import numpy as np
    >>> from aucross import evaluate_selections
    >>> y, score = np.array([0, 0, 1, 0, 1, 1]), np.array([0.1, 0.2, 0.3, 0.6, 0.7, 0.8])
    >>> sure = np.abs(score - 0.5) > 0.2
    >>> evaluate_selections(y, score, score > 0.5, {0.5: sure}, n_bootstrap=0).estimates["selective_auc"]
    array([1.])
    >>> y_prob = [[0.6, 0.3, 0.1], [0.4, 0.4, 0.2], [0.3, 0.5, 0.2], [0.5, 0.3, 0.2], [0.1, 0.3, 0.6]]
    >>> rows, masks = (["a", "a", "b", "b", "c"], y_prob, ["a", "a", "b", "a", "c"]), {0.8: np.arange(5) != 3}
    >>> evaluate_selections(*rows, masks, classes=["a", "b", "c"], n_bootstrap=0).estimates["hand_till_m"]
    array([1.])
    """
    given: dict[str, Any] = {"sample_weight": sample_weight, "customers": customers}
    rows: BinarySelections | MulticlassSelections
    if classes is None:
        rows = BinarySelections.checked(y_true, y_score, y_pred, selections, **given)
    else:
        rows = MulticlassSelections.checked(y_true, y_score, y_pred, selections, classes=classes, **given)
    return _evaluate(rows, metrics, n_bootstrap, confidence_level, random_state)


def _evaluate(
    rows: BinarySelections | MulticlassSelections,
    metrics: Iterable[MetricLike],
    n_bootstrap: int,
    confidence_level: float,
    random_state: Any,
) -> SelectiveEvaluation:
    """Compute standard metrics from the ranking of the rows, and requested metrics from the rows and resamples."""
    check_probability(confidence_level, "confidence_level", ends=False)
    check_replicates(n_bootstrap)
    has_two = isinstance(rows, BinarySelections)
    requested = metrics_on_request(metrics, two_classes=has_two) if metrics else {}
    standard, seed = STANDARD_METRICS if has_two else MULTICLASS_METRICS, seed_from(random_state)
    told = [name for name, metric in requested.items() if name in _TOLD and metric is METRICS[name]]
    evaluation = rows.evaluation((*standard, *told), confidence_level, with_intervals=n_bootstrap > 0, seed=seed)
    others = {name: metric for name, metric in requested.items() if name not in told}
    if not others:
        return evaluation
    masks = list(rows.selections.values())
    as_given = np.ones(len(masks[0])) if rows.weight is None else rows.weight
    measured = measure(others, masks, [as_given], rows.read)
    estimates = {**evaluation.estimates, **{name: values[0] for name, values in measured.items()}}
    return replace(
        evaluation,
        estimates={name: estimates[name] for name in (*standard, *requested)},
        replicates=measure(others, masks, draw_weights(as_given, n_bootstrap, seed, rows.units), rows.read),
    )


def evaluate_ranking(
    ranked: RankedScores,
    bands: Any,
    coverages: Iterable[float] | None = None,
    *,
    threshold: float | None = None,
    confidence_level: float = 0.95,
) -> SelectiveEvaluation:
    """Evaluate a selective classifier from a ranking of labelled test rows, without the rows.

    Parameters
    ----------
    ranked : RankedScores
        Ranking of test rows by the score of the classifier, with counts of rows or powers of their weights. The sum of
        the rankings of partitions is the ranking of all rows.
    bands : SelectiveClassifier, BandRule, or dict of float to RejectionBand or ranking
        Bands that select the rows. If the bands are not on the ranked score (a gate, a separate judge, bands per
        group), pass a dict of coverages to rankings of the *selected* rows.
    coverages : iterable of float in (0, 1], optional
        Target coverages; (1, .99, .95, .90, .85, .80, .75) by default, or the dict's keys.
    threshold : float, optional
        Rows with a score above it are predicted positive. By default 0.5, or 0 for a classifier whose scores are
        decision values.
    confidence_level : float in (0, 1), default=0.95
        Level of the intervals.

    Returns
    -------
    SelectiveEvaluation
        The numbers that :func:`aucross.evaluate_selective` gives on the rows; that function also offers more metrics,
        customers and comparisons.

    Notes
    -----
    Rows must be independent: a ranking does not show which rows belong to one customer, so intervals of such rows would
    be too narrow. Counts must be numbers of rows: amounts that are passed as counts cannot be recognised.

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
    >>> evaluation = evaluate_ranking(parts[1] + parts[2], rule, [1.0, 0.8])
    >>> print(evaluation.estimates["achieved_coverage"].round(2), evaluation.estimates["auc_gain"][1] > 0)
    [1.   0.81] True
    """
    given = bands if isinstance(bands, Mapping) else DEFAULT_COVERAGES
    asked = check_coverages(given if coverages is None else coverages)
    check_probability(confidence_level, "confidence_level", ends=False)
    if check_ranking(ranked).totals[:, 0].sum() == 0:
        raise ValueError("ranked must hold at least one row to evaluate on, got none")
    if threshold is None:
        threshold = 0.5 if _is_probability(bands) else 0.0
    is_positive = ranked.scores > float(threshold)

    def answered(part: RankedScores) -> RankedSelection:
        positives, negatives = part.class_powers
        wrong = positives[:, ~is_positive].sum(axis=1) + negatives[:, is_positive].sum(axis=1)
        return RankedSelection(part, wrong)

    everything = answered(ranked)
    parts = (replace(answered(part), all_rows=everything) for part in selected_at(ranked, bands, asked))
    ranked_parts = zip(asked, parts, strict=True), everything
    return evaluation_of(
        *ranked_parts, STANDARD_METRICS, confidence_level, lambda _, part: part.spread(), has_rows=False
    )


# ---- what selects among ranked scores ----


def selected_of(ranked: RankedScores, selection: Selection) -> RankedScores:
    """Return the ranking of the rows that a band or a ranking selects, with one entry per score of `ranked`."""
    if isinstance(selection, RejectionBand):
        return ranked.where(np.asarray(selection.selects(ranked.scores)))
    check_ranking(selection)
    place = np.searchsorted(ranked.scores, selection.scores)
    known = place < len(ranked.scores)
    known[known] = ranked.scores[place[known]] == selection.scores[known]
    powers = np.zeros((2, 4, len(ranked)))
    if known.all():
        powers[..., place] = selection.class_powers
    slack = 1.0 + 1e-9  # fractional weights are added up in another order
    if not known.all() or (powers > slack * ranked.class_powers).any():
        raise ValueError(
            "the ranking of selected rows must rank some of the rows of ranked, got scores or rows that are not "
            "among them; rank the same rows, with scores rounded alike"
        )
    if ranked.powers is not None or selection.powers is not None:
        return RankedScores.of_powers(ranked.scores, powers)
    return RankedScores(ranked.scores, *powers[:, 1])


def check_ranking(ranked: Any) -> RankedScores:
    """Return a ranking; refuse other objects, and a ranking that lacks the number of rows."""
    if not isinstance(ranked, RankedScores):
        raise TypeError(
            f"ranked must be a RankedScores, got {type(ranked).__name__}; make one with RankedScores.from_labels, or "
            "from the result of a query with read_ranking"
        )
    if not ranked.knows_rows:
        raise ValueError(
            "ranked must hold numbers of rows or powers of their weights, got sums of fractional weights alone, from "
            "which nobody can tell how many rows they are, and so how wide an interval must be; pass sample_weight to "
            "RankedScores.from_labels"
        )
    return ranked


def selected_at(ranked: RankedScores, bands: Any, coverages: list[float]) -> Iterable[RankedScores]:
    """Return the rows that a classifier, a rule or a mapping selects at each coverage."""
    if isinstance(bands, Mapping):
        return (selected_of(ranked, bands[coverage]) for coverage in coverages)
    rule = getattr(bands, "band_rule_", bands)
    if not hasattr(rule, "band"):
        raise TypeError(
            f"bands must be a fitted classifier, a rule, or a dict of coverages to bands, got {type(bands).__name__}; "
            "pass for instance {0.8: clf.band(0.8)}"
        )
    held_out = getattr(bands, "held_out_", None)
    if getattr(held_out, "tie_breaker", None) is not None:
        raise ValueError(
            'bands must take ties whole, got a classifier with ties="split", which tells tied rows apart by their '
            "content; rank the selected rows where they are and pass a dict of coverages to these rankings"
        )
    if rule.axis == "other" or rule.judged_apart or rule.group_labels is not None:
        raise ValueError(
            "bands must lie on the score that is ranked, alike for all rows, got a rule that judges rows by another "
            "score or has a band for each group; rank the selected rows where they are and pass a dict of coverages "
            "to these rankings"
        )
    scores = ranked.scores
    if rule.axis == "confidence":
        scores = confidence_of(scores, is_probability=_is_probability(bands))
    return (ranked.where(np.asarray(rule.band(coverage).selects(scores))) for coverage in coverages)


def _is_probability(bands: Any) -> bool:
    """Return whether the scores of a classifier are probabilities; True if it does not say."""
    return getattr(getattr(bands, "fitted_", None), "response_method", "predict_proba") == "predict_proba"


def evaluate_folds(
    folds: Iterable[tuple[Any, Any, ArrayLike]],
    y: ArrayLike,
    coverages: Iterable[float] = DEFAULT_COVERAGES,
    *,
    sample_weight: Weights = None,
    customers: Any = None,
    **options: Any,
) -> SelectiveEvaluation:
    """Evaluate a selective classifier that was fitted once per test fold, on all folds together.

    Parameters
    ----------
    folds : iterable of (clf, X_test, rows)
        A classifier of two classes, fitted without its test rows; the test rows, or the result of ``clf.scored`` for
        them; and their row numbers among all rows. A generator keeps only one classifier in memory.
    y : array-like of shape (n_samples,)
        Labels of all rows.
    coverages, sample_weight, customers, **options
        As in :func:`aucross.evaluate_selective`, for all rows. Keep the rows of a customer in one fold, as
        :class:`sklearn.model_selection.GroupKFold` does.

    Returns
    -------
    SelectiveEvaluation
        Evaluation of all test folds together. A row that was tested in several repeats counts as one observation in the
        intervals.

    Notes
    -----
    The result describes a classifier *trained on the rows outside one fold*, averaged over folds; the classifier
    trained on all rows is usually a little better. Each row tests one model and trains the others, so the AUC varies
    more than with independent rows, most of all if the signal is weak. How much more cannot be estimated from one data
    set. Intervals of the AUC are therefore widened by the factor n / (n - t) for folds of t of n rows. The factor was
    chosen by ``python -m benchmarks.intervals claims folds``.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import RepeatedStratifiedKFold
    >>> from aucross import AUCross
    >>> from aucross.evaluation import evaluate_folds
    >>> X, y = make_classification(300, flip_y=0.3, random_state=0)
    >>> cv = RepeatedStratifiedKFold(n_splits=5, n_repeats=2, random_state=0)
    >>> folds = (
    ...     (AUCross(LogisticRegression(), random_state=0).fit(X[train], y[train]), X[test], test)
    ...     for train, test in cv.split(X, y)
    ... )
    >>> evaluate_folds(folds, y, [0.8], random_state=0).estimates["selective_auc"].round(1)
    array([0.8])
    """
    asked, labels = check_coverages(coverages), np.asarray(y)
    weight = row_weights(sample_weight, len(labels))
    units = customer_numbers(customers, len(labels))
    tested: list[IndexArray] = []
    parts: list[tuple[Any, ...]] = []
    for clf, X, numbers in folds:
        check_two_classes(clf, "evaluate one class against the others")
        own = _checked_numbers(clf, numbers, len(labels))
        rows = label_rows(clf, X, labels[own], sample_weight=weight[own])
        tested.append(own)
        parts.append((rows.positive, rows.score, rows.answered_positive, *selections_at(clf, rows, asked).values()))
    if not tested:
        raise ValueError("folds must hold at least one fold, got none; a generator can be read only once")
    own = np.concatenate(tested)
    positive, score, predicted, *masks = (np.concatenate(column) for column in zip(*parts, strict=True))
    evaluation = evaluate_selections(
        *(positive, score, predicted, dict(zip(asked, masks, strict=True))),
        sample_weight=None if sample_weight is None else weight[own],
        customers=own if units is None else units[own],
        **options,
    )
    n_tested = len(own) / len(tested)
    if len(tested) == 1 or n_tested >= len(labels):
        return evaluation
    # The AUC and metrics that follow from it have wider intervals, both ends by one factor.
    intervals, factor = dict(evaluation.intervals), len(labels) / (len(labels) - n_tested)
    for name, least in (("selective_auc", 0.0), ("auc_gain", -1.0), ("selective_gini", -1.0)):
        if name in intervals:
            estimate, (low, high, step) = evaluation.estimates[name], intervals[name]
            low, high = (estimate + factor * (end - estimate) for end in (low, high))
            intervals[name] = Ends(np.maximum(low, least), np.minimum(high, 1.0), step)
    return replace(evaluation, intervals=intervals)


def _checked_numbers(clf: Any, numbers: ArrayLike, n_rows: int) -> IndexArray:
    """Return the row numbers of a fold; refuse a fold that certainly contains rows of the classifier's fit."""
    rows = np.asarray(numbers)
    if rows.ndim != 1 or rows.dtype.kind not in "iu" or len(np.unique(rows)) < len(rows):
        raise ValueError("the rows of a fold must be distinct row numbers, as the second part of cv.split(X, y)")
    if len(rows) and not 0 <= rows.min() <= rows.max() < n_rows:
        raise ValueError(f"the rows of a fold must be numbers from 0 to {n_rows - 1}, got {rows.min()} to {rows.max()}")
    trained = getattr(getattr(clf, "held_out_", None), "rows", None)
    if trained is not None and len(np.unique(trained)) + len(rows) > n_rows:
        raise ValueError(
            f"clf must not have seen its test rows, got {len(np.unique(trained))} rows of fit and {len(rows)} test "
            f"rows of {n_rows}; fit it on the first part of cv.split(X, y)"
        )
    return rows.astype(np.intp)
