"""Paired comparison of several classifiers on the same test rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from numpy.typing import ArrayLike

from aucross.core.scored_rows import ScoredRows
from aucross.evaluation.catalogue import MetricLike, listed_metrics
from aucross.evaluation.evaluate import evaluate_selective
from aucross.evaluation.inputs import Weights, check_coverages, check_selective, seed_from
from aucross.evaluation.selective_evaluation import SelectiveComparison


def compare_selective(
    classifiers: Mapping[str, Any] | Sequence[Any],
    X: Any,
    y: ArrayLike,
    coverages: Iterable[float] | None = None,
    *,
    reference: str | None = None,
    capacity: int | Iterable[int] | None = None,
    metrics: Iterable[MetricLike] = (),
    sample_weight: Weights = None,
    band_groups: Any = None,
    customers: Any = None,
    n_bootstrap: int = 1000,
    confidence_level: float = 0.95,
    random_state: Any = None,
) -> SelectiveComparison:
    """Compare fitted selective classifiers on the same test rows, with paired intervals.

    Parameters
    ----------
    classifiers : dict of str to SelectiveClassifier, or sequence of SelectiveClassifier
        Two or more fitted classifiers with their names; in a sequence, each is named after its class.
    X : array-like or frame of shape (n_samples, n_features), or sequence of ScoredRows
        Test rows, or the scored rows of each classifier: ``[clf.scored(X) for clf in classifiers]``.
    y, coverages, capacity, metrics, sample_weight, band_groups, customers, n_bootstrap, confidence_level, random_state
        As in :func:`evaluate_selective`; only classifiers that were fitted with groups use `band_groups`.
    reference : str, optional
        Name of the classifier that the others are compared with, by default the first. A difference is the value of
        another classifier minus the value of the reference.

    Returns
    -------
    SelectiveComparison
        ``to_frame()`` gives one row per target coverage, metric and classifier; ``advice()`` sums it up in a sentence.
        Look at ``achieved_coverage`` beside the AUC: a rule that selects fewer rows than requested has an easier task.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from aucross import AUCross, SCross, compare_selective
    >>> X, y = make_classification(3000, weights=[0.9], flip_y=0.3, random_state=0)
    >>> usual, ours = (kind(LogisticRegression(), random_state=0).fit(X[:2000], y[:2000]) for kind in (SCross, AUCross))
    >>> comparison = compare_selective([usual, ours], X[2000:], y[2000:], coverages=[0.8], random_state=0)
    >>> comparison
    metric         classifier  reference  target_coverage  value  reference_value  difference
    selective_auc  AUCross     SCross     0.80             ...
    >>> print(comparison.advice())
    The highest AUC of automatic cases is ..., of AUCross; it is clearly above SCross (95 % interval of the ...
    """
    if isinstance(classifiers, Mapping):
        named = dict(classifiers)
    elif isinstance(classifiers, Sequence):  # those of one class are numbered
        kinds = [type(clf).__name__ for clf in classifiers]
        numbers = [
            f" {kinds[: place + 1].count(kind)}" if kinds.count(kind) > 1 else "" for place, kind in enumerate(kinds)
        ]
        named = {kind + number: clf for kind, number, clf in zip(kinds, numbers, classifiers, strict=True)}
    else:
        raise TypeError(
            f"classifiers must be a list of fitted classifiers or a dict of names to them, got "
            f"{type(classifiers).__name__}; pass [first, second]"
        )
    if len(named) < 2:
        raise ValueError(f"classifiers must hold two classifiers or more, got {len(named)}")
    for clf in named.values():
        check_selective(clf)
    is_scored = isinstance(X, list | tuple) and any(isinstance(rows, ScoredRows) for rows in X)
    if is_scored and len(X) != len(named):
        raise ValueError(f"X must hold the scored rows of each of {len(named)} classifiers, got {len(X)}")
    # Read once: an iterator would be used up by the first evaluation.
    asked = None if coverages is None else check_coverages(coverages)
    capacity = list(capacity) if isinstance(capacity, Iterable) else capacity
    metrics, seed = listed_metrics(metrics), seed_from(random_state)
    evaluations = {
        name: evaluate_selective(
            *(clf, rows, y, asked),
            capacity=capacity,
            metrics=metrics,
            sample_weight=sample_weight,
            band_groups=band_groups if clf.band_rule_.group_labels is not None else None,
            customers=customers,
            n_bootstrap=n_bootstrap,
            confidence_level=confidence_level,
            random_state=seed,
        )
        for (name, clf), rows in zip(named.items(), X if is_scored else [X] * len(named), strict=True)
    }
    return SelectiveComparison(evaluations, next(iter(named)) if reference is None else reference)
