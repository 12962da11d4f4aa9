"""One tidy row per target coverage: what was reached, how good it is, and how sure that is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from aucross.core.bands import check_coverage
from aucross.core.ranking import FloatArray, as_positive, check_scores, check_weights
from aucross.evaluation.auc_metrics import (
    auc_gain,
    oracle_gap,
    selective_average_precision,
    selective_gini,
    selective_ks,
    selective_partial_auc,
)
from aucross.evaluation.bootstrap import RankedSelections, draw_counts
from aucross.evaluation.calibration import expected_calibration_error, selective_brier, selective_log_loss
from aucross.evaluation.coverage import base_rate_shift, positives_deferred
from aucross.evaluation.decisions import (
    selective_risk,
)
from aucross.evaluation.inputs import BoolArray, EvaluationRows, check_probability
from aucross.evaluation.results import SelectiveComparison, SelectiveEvaluation

# The paper's coverages.
DEFAULT_COVERAGES = (0.99, 0.95, 0.90, 0.85, 0.80, 0.75)

# Read from prefix sums for all replicates at once; always part of an evaluation.
STANDARD_METRICS = ("achieved_coverage", "coverage_error", "selective_auc", "selective_accuracy", "positive_rate")

Metric = Callable[..., float]


def _of_scores(metric: Metric) -> Metric:
    return lambda rows, selected, weight: metric(rows.positive, rows.score, selected, sample_weight=weight)


def _of_labels(metric: Metric) -> Metric:
    return lambda rows, selected, weight: metric(rows.positive, rows.predicted, selected, sample_weight=weight)


def _of_selection(metric: Metric) -> Metric:
    return lambda rows, selected, weight: metric(rows.positive, selected, sample_weight=weight)


# Each function with the way it is called; a function and its name are the same request.
_MEASURES: Mapping[Metric, Metric] = {
    **{
        metric: _of_scores(metric)
        for metric in (
            auc_gain,
            expected_calibration_error,
            oracle_gap,
            selective_average_precision,
            selective_brier,
            selective_gini,
            selective_ks,
            selective_log_loss,
            selective_partial_auc,
        )
    },
    **{metric: _of_labels(metric) for metric in (selective_risk,)},
    **{metric: _of_selection(metric) for metric in (base_rate_shift, positives_deferred)},
}

# Metrics on request: computed anew in every replicate, hence slower than the standard ones.
METRICS_ON_REQUEST: Mapping[str, Metric] = {metric.__name__: measure for metric, measure in _MEASURES.items()}


def evaluate_selective(
    clf: Any,
    X: Any,
    y: ArrayLike,
    coverages: Iterable[float] = DEFAULT_COVERAGES,
    *,
    metrics: Iterable[str | Metric] = (),
    sample_weight: ArrayLike | None = None,
    band_groups: Any = None,
    n_bootstrap: int = 1000,
    confidence_level: float = 0.95,
    random_state: Any = None,
) -> SelectiveEvaluation:
    """Evaluate a fitted selective classifier on labelled rows that it was not fitted on.

    Parameters
    ----------
    clf : SelectiveClassifier
        Fitted classifier, for instance :class:`aucross.AUCross`.
    X : array-like or frame of shape (n_samples, n_features)
        Test rows.
    y : array-like of shape (n_samples,)
        Their labels, as in training.
    coverages : iterable of float in (0, 1], default=(.99, .95, .90, .85, .80, .75)
        Target coverages; add 1.0 for the classifier without abstention.
    metrics : iterable of str or callable, default=()
        Metrics beyond coverage, AUC, accuracy and positive rate: names of functions in :mod:`aucross.evaluation`
        such as ``"selective_gini"``, or functions ``metric(y_true, y_score, selected, sample_weight=...)``. The
        names of the functions name the columns, so they must differ.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the rows; a row of weight 0 takes no part.
    band_groups : array-like of shape (n_samples,), optional
        Group of each row, for a classifier whose bands were fitted per group.
    n_bootstrap : int, default=1000
        Bootstrap replicates; 0 gives estimates alone.
    confidence_level : float in (0, 1), default=0.95
        Level of the percentile intervals ``_low`` to ``_high``.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the bootstrap. Evaluations of the same rows with the same seed are paired.

    Returns
    -------
    SelectiveEvaluation
        ``to_frame()`` gives one row per target coverage. With more than two classes ``hand_till_m`` and ``auc_mu``
        stand in the place of the AUC, and no `metrics` can be added.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from aucross import AUCross, evaluate_selective
    >>> X, y = make_classification(3000, flip_y=0.3, random_state=0)
    >>> clf = AUCross(LogisticRegression(), random_state=0).fit(X[:2000], y[:2000])
    >>> evaluate_selective(clf, X[2000:], y[2000:], coverages=[1.0, 0.8], random_state=0)
    target_coverage  achieved_coverage     coverage_error      selective_auc       selective_accuracy  positive_rate
    1.00             1.000 [1.000, 1.000]  0.000 [0.000, ...
    0.80             ...
    """
    coverages = check_coverages(coverages)
    check_selective(clf)
    if len(clf.classes_) > 2:
        return _evaluate_multiclass(
            clf,
            X,
            y,
            coverages,
            band_groups,
            metrics=metrics,
            sample_weight=sample_weight,
            n_bootstrap=n_bootstrap,
            confidence_level=confidence_level,
            random_state=random_state,
        )
    positive, score = positive_labels(clf, y), positive_scores_of(clf, X)
    if len(positive) != len(score):
        raise ValueError(f"y must hold one label per row of X, got {len(positive)} for {len(score)} rows")
    return evaluate_selections(
        positive,
        score,
        np.asarray(clf.predict(X)) == clf.classes_[1],
        dict(zip(coverages, _select_each(clf, X, coverages, band_groups), strict=True)),
        metrics=metrics,
        sample_weight=sample_weight,
        n_bootstrap=n_bootstrap,
        confidence_level=confidence_level,
        random_state=random_state,
    )


def _select_each(clf: Any, X: Any, coverages: list[float], band_groups: Any) -> BoolArray:
    selected: BoolArray = clf.select_each(X, coverages, *(() if band_groups is None else (band_groups,)))
    return selected


def _evaluate_multiclass(
    clf: Any, X: Any, y: ArrayLike, coverages: list[float], band_groups: Any, **options: Any
) -> SelectiveEvaluation:
    # That module takes its checks from this one.
    from aucross.evaluation.multiclass_evaluate import evaluate_multiclass_selections  # noqa: PLC0415

    labels, score = _known_labels(clf, y), _scores_of(clf, X)
    if len(labels) != len(score):
        raise ValueError(f"y must hold one label per row of X, got {len(labels)} for {len(score)} rows")
    selections = dict(zip(coverages, _select_each(clf, X, coverages, band_groups), strict=True))
    return evaluate_multiclass_selections(labels, score, clf.predict(X), selections, classes=clf.classes_, **options)


def evaluate_selections(
    y_true: ArrayLike,
    y_score: ArrayLike,
    y_pred: ArrayLike,
    selections: Mapping[float, ArrayLike],
    *,
    metrics: Iterable[str | Metric] = (),
    sample_weight: ArrayLike | None = None,
    n_bootstrap: int = 1000,
    confidence_level: float = 0.95,
    random_state: Any = None,
) -> SelectiveEvaluation:
    """Evaluate selections that were made anywhere, from labels, scores, predictions and masks.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        True and predicted labels: boolean, 0/1 or -1/1.
    y_score : array-like of shape (n_samples,)
        Scores of the positive class.
    selections : dict of float to array-like of shape (n_samples,), bool
        For each target coverage the mask of selected rows.
    metrics, sample_weight, n_bootstrap, confidence_level, random_state
        As in :func:`evaluate_selective`.

    Returns
    -------
    SelectiveEvaluation

    Examples
    --------
    >>> import numpy as np
    >>> from aucross import evaluate_selections
    >>> y, score = np.array([0, 0, 1, 0, 1, 1]), np.array([0.1, 0.2, 0.3, 0.6, 0.7, 0.8])
    >>> sure = np.abs(score - 0.5) > 0.2
    >>> evaluate_selections(y, score, score > 0.5, {0.5: sure}, n_bootstrap=0).estimates["selective_auc"]
    array([1.])
    """
    rows = _check_rows(y_true, y_score, y_pred, sample_weight)
    target = np.array(check_coverages(selections))
    rows, masks = _with_weight(rows, check_masks(selections, len(rows.positive)))
    check_probability(confidence_level, "confidence_level", ends=False)
    requested = _named_metrics(metrics)
    check_replicates(n_bootstrap)
    seed = seed_from(random_state)
    n_rows = len(rows.positive)
    ranked = RankedSelections.of(rows, masks)

    def measure(counts: Callable[[], Iterator[NDArray[Any]]]) -> dict[str, FloatArray]:
        standard = _standard_metrics(ranked, target, counts())
        # Drawn a second time, from the same seed: keeping all counts would take n_bootstrap times the rows.
        return standard | (_requested_metrics(rows, masks, requested, counts()) if requested else {})

    estimates = measure(lambda: iter([np.ones(n_rows, dtype=np.intp)]))
    return SelectiveEvaluation(
        target_coverage=target,
        estimates={name: values[0] for name, values in estimates.items()},
        replicates=measure(lambda: draw_counts(n_rows, n_bootstrap, seed)),
        n_positive=np.count_nonzero(masks & rows.positive, axis=1),
        n_negative=np.count_nonzero(masks & ~rows.positive, axis=1),
        confidence_level=confidence_level,
        drawn_from=(n_rows, seed),
    )


def compare_selective(
    first: Any,
    second: Any,
    X: Any,
    y: ArrayLike,
    coverages: Iterable[float] = DEFAULT_COVERAGES,
    *,
    metrics: Iterable[str | Metric] = (),
    sample_weight: ArrayLike | None = None,
    band_groups: Any = None,
    n_bootstrap: int = 1000,
    confidence_level: float = 0.95,
    random_state: Any = None,
) -> SelectiveComparison:
    """Compare two fitted selective classifiers on the same rows with a paired bootstrap.

    Parameters
    ----------
    first, second : SelectiveClassifier
        Fitted classifiers; differences are first minus second.
    X, y, coverages, metrics, sample_weight, n_bootstrap, confidence_level, random_state
        As in :func:`evaluate_selective`.
    band_groups : array-like of shape (n_samples,), optional
        Group of each row, for whichever classifier was fitted with groups.

    Returns
    -------
    SelectiveComparison
        ``to_frame()`` gives one row per target coverage and metric. Look at ``achieved_coverage`` beside the AUC: a
        rule that accepts fewer rows than asked has an easier task.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from aucross import AUCross, SCross, compare_selective
    >>> X, y = make_classification(3000, weights=[0.9], flip_y=0.3, random_state=0)
    >>> base = LogisticRegression()
    >>> ours, usual = (kind(base, random_state=0).fit(X[:2000], y[:2000]) for kind in (AUCross, SCross))
    >>> comparison = compare_selective(ours, usual, X[2000:], y[2000:], coverages=[0.8], random_state=0)
    >>> [row["difference"] > 0 for row in comparison.rows() if row["metric"] == "selective_auc"]
    [True]
    """
    # Read once: an iterator would be used up by the first evaluation.
    coverages, metrics = check_coverages(coverages), _listed(metrics)
    seed = seed_from(random_state)
    one, other = (
        evaluate_selective(
            clf,
            X,
            y,
            coverages,
            metrics=metrics,
            sample_weight=sample_weight,
            band_groups=band_groups if clf.band_rule_.group_labels is not None else None,
            n_bootstrap=n_bootstrap,
            confidence_level=confidence_level,
            random_state=seed,
        )
        for clf in (first, second)
    )
    return one.minus(other)


def _standard_metrics(
    ranked: RankedSelections, target: FloatArray, counts: Iterator[NDArray[Any]]
) -> dict[str, FloatArray]:
    """The metrics of every evaluation under each weighting of the rows: arrays of shape (n_weightings, n_coverages)."""
    found = ranked.statistics(counts)
    return {
        "achieved_coverage": found.achieved_coverage,
        "coverage_error": found.achieved_coverage - target,
        "selective_auc": found.selective_auc,
        "selective_accuracy": found.selective_accuracy,
        "positive_rate": found.positive_rate,
    }


def _requested_metrics(
    rows: EvaluationRows, masks: BoolArray, requested: Mapping[str, Metric], counts: Iterator[NDArray[Any]]
) -> dict[str, FloatArray]:
    """The same for metrics that are computed anew from the rows of each weighting."""
    values = np.array(
        [
            [[metric(rows, mask, _weight(rows, count)) for mask in masks] for metric in requested.values()]
            for count in counts
        ],
        dtype=np.float64,
    ).reshape(-1, len(requested), len(masks))
    return {name: values[:, index] for index, name in enumerate(requested)}


def _weight(rows: EvaluationRows, count: NDArray[Any]) -> FloatArray:
    return count.astype(np.float64) if rows.sample_weight is None else count * rows.sample_weight


def _listed(metrics: Iterable[str | Metric] | str | Metric) -> list[str | Metric]:
    return [metrics] if isinstance(metrics, str) or callable(metrics) else list(metrics)


def _named_metrics(metrics: Iterable[str | Metric]) -> dict[str, Metric]:
    named: dict[str, Metric] = {}
    for metric in _listed(metrics):
        if callable(metric):
            name, measure = _measure_of(metric)
            if name in STANDARD_METRICS or named.get(name, measure) is not measure:
                raise ValueError(
                    f"metrics must have names of their own, got a second metric called {name!r}; give the function "
                    f"another name; {', '.join(STANDARD_METRICS)} are always there"
                )
            named[name] = measure
        elif metric in METRICS_ON_REQUEST:
            named[metric] = METRICS_ON_REQUEST[metric]
        elif metric not in STANDARD_METRICS:
            raise ValueError(
                f"metrics must be functions or names from {sorted(METRICS_ON_REQUEST)}, got {metric!r}; "
                f"{', '.join(STANDARD_METRICS)} are always there"
            )
    return named


def _measure_of(metric: Metric) -> tuple[str, Metric]:
    """Name of a function and the way to call it; our own know whether they read scores, labels or the selection."""
    name = getattr(getattr(metric, "func", metric), "__name__", repr(metric))  # a partial is called like its function
    # Compared one by one: a callable object need not be hashable.
    return name, next((measure for ours, measure in _MEASURES.items() if ours is metric), _of_scores(metric))


def check_coverages(coverages: Iterable[float]) -> list[float]:
    """Target coverages as a list of checked numbers without repeats."""
    if not isinstance(coverages, Iterable):
        raise TypeError(f"coverages must be a list of target coverages, got {coverages!r}; pass [{coverages!r}]")
    checked = [check_coverage(coverage, "each of coverages") for coverage in coverages]
    if not checked:
        raise ValueError("coverages must hold at least one target coverage, got none")
    if len(set(checked)) < len(checked):
        raise ValueError(f"coverages must not repeat, got {checked}")
    return checked


def _check_rows(
    y_true: ArrayLike, y_score: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None
) -> EvaluationRows:
    positive, predicted = as_positive(y_true), as_positive(y_pred, "y_pred")
    n_rows = len(positive)
    if len(predicted) != n_rows:
        raise ValueError(f"y_pred must hold one label per row, got {len(predicted)} for {n_rows} rows")
    if n_rows == 0:
        raise ValueError("there must be at least one row to evaluate on, got none")
    weight = None if sample_weight is None else check_weights(sample_weight, n_rows)
    return EvaluationRows(positive, check_scores(y_score, n_rows), predicted, weight)


def _with_weight(rows: EvaluationRows, masks: BoolArray) -> tuple[EvaluationRows, BoolArray]:
    """Leave out rows of weight 0, from draws and counts too: no replicate can then be without weight."""
    if rows.sample_weight is None or (used := rows.sample_weight > 0).all():
        return rows, masks
    return rows.take(used), masks[:, used]


def check_replicates(n_bootstrap: int) -> None:
    """Refuse a number of bootstrap replicates that is none."""
    if not isinstance(n_bootstrap, Integral) or n_bootstrap < 0:
        raise ValueError(f"n_bootstrap must be a whole number, 0 or more, got {n_bootstrap!r}")


def check_masks(selections: Mapping[float, ArrayLike], n_rows: int) -> BoolArray:
    """The selections as one array, a row for each."""
    masks = [np.asarray(mask) for mask in selections.values()]
    for coverage, mask in zip(selections, masks, strict=True):
        if mask.dtype != np.bool_ or mask.shape != (n_rows,):
            raise ValueError(
                f"the selection for coverage {coverage:g} must be a boolean mask with one entry per row, got dtype "
                f"{mask.dtype} and shape {mask.shape} for {n_rows} rows"
            )
    return np.array(masks)


def check_selective(clf: Any) -> None:
    """Refuse what is no selective classifier, or not a fitted one."""
    if not hasattr(clf, "select_each"):
        raise TypeError(
            f"clf must be a selective classifier such as AUCross, got {type(clf).__name__}; wrap the model, with its "
            "preprocessing, as in AUCross(model), and of a search pass best_estimator_"
        )
    check_is_fitted(clf)


def positive_labels(clf: Any, y: ArrayLike) -> BoolArray:
    """Whether each row is of the positive class; labels that the classifier does not know are refused."""
    return np.asarray(_known_labels(clf, y) == clf.classes_[1])


def _known_labels(clf: Any, y: ArrayLike) -> NDArray[Any]:
    """The labels as an array; those that the classifier does not know are refused."""
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise ValueError(f"y must be 1-d, got shape {labels.shape}; pass np.ravel(y) for a single column")
    known = np.isin(labels, clf.classes_)
    if not known.all():
        unknown = list(dict.fromkeys(labels[~known].tolist()))  # np.unique cannot sort None among numbers
        raise ValueError(
            f"y must hold the classes of the training rows {clf.classes_.tolist()}, got also {unknown[:5]}"
        )
    return labels


def positive_scores_of(clf: Any, X: Any) -> FloatArray:
    """Scores whose AUC is reported: those of the classifier that answers, by the method it was told to use."""
    scores = _scores_of(clf, X)
    return scores if scores.ndim == 1 else scores[:, 1]


def _scores_of(clf: Any, X: Any) -> FloatArray:
    if getattr(clf, "response_method_", "predict_proba") == "predict_proba" and hasattr(clf, "predict_proba"):
        return np.asarray(clf.predict_proba(X), dtype=np.float64)
    return np.asarray(clf.decision_function(X), dtype=np.float64)


def seed_from(random_state: Any) -> int:
    """One integer from whatever the caller uses for randomness."""
    if isinstance(random_state, int | np.integer):
        if random_state < 0:
            raise ValueError(f"random_state must not be negative, got {random_state}")
        return int(random_state)
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**32))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    raise ValueError(f"random_state must be an integer, a Generator, a RandomState or None, got {random_state!r}")
