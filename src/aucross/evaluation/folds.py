"""Evaluation pooled over folds, for sets of a few hundred rows: every row is tested, by models that did not see it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from aucross.core.ranking import IndexArray
from aucross.evaluation.evaluate import DEFAULT_COVERAGES, evaluate_selections
from aucross.evaluation.inputs import check_coverages, row_weights, unit_numbers
from aucross.evaluation.judged_rows import check_two_classes, judge
from aucross.evaluation.results import SelectiveEvaluation


def evaluate_folds(
    folds: Iterable[tuple[Any, Any, ArrayLike]],
    y: ArrayLike,
    coverages: Iterable[float] = DEFAULT_COVERAGES,
    *,
    sample_weight: ArrayLike | None = None,
    groups: Any = None,
    **options: Any,
) -> SelectiveEvaluation:
    """Evaluate a selective classifier that was fitted anew for each of several test folds, all folds together.

    Parameters
    ----------
    folds : iterable of (clf, X_test, rows)
        A classifier of two classes, fitted without its test rows; the test rows, or what ``clf.scored`` made of them;
        and their numbers among all rows. A generator will do: one classifier at a time is kept.
    y : array-like of shape (n_samples,)
        Labels of all rows.
    coverages : iterable of float in (0, 1], default=(1, .99, .95, .90, .85, .80, .75)
        Target coverages.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of all rows.
    groups : array-like of shape (n_samples,), optional
        Rows that belong together. Keep them in one fold, as :class:`sklearn.model_selection.GroupKFold` does.
    **options : dict
        `metrics`, `n_bootstrap`, `confidence_level` and `random_state` of :func:`aucross.evaluate_selective`.

    Returns
    -------
    SelectiveEvaluation
        Of all tests together. A row that was tested in several repeats counts as one observation in the intervals.

    Notes
    -----
    What is estimated is the classifier *trained on as many rows as a fold leaves*, averaged over such training sets;
    the one trained on all rows is usually a little better. The intervals take the test rows for a sample. That the
    models of the folds share training rows is not in them; the guide on small data shows how often they held.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import RepeatedStratifiedKFold
    >>> from aucross import AUCross
    >>> from aucross.evaluation.folds import evaluate_folds
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
    units = unit_numbers(groups, len(labels))
    parts: dict[str, list[Any]] = {name: [] for name in ("rows", "positive", "score", "predicted")}
    selected: dict[float, list[Any]] = {coverage: [] for coverage in asked}
    for clf, tested, numbers in folds:
        check_two_classes(clf, "evaluate one class against the others")
        rows = _checked_numbers(clf, numbers, len(labels))
        judged = judge(clf, tested, labels[rows], sample_weight=weight[rows])
        for name, values in (("rows", rows), *((name, getattr(judged, name)) for name in list(parts)[1:])):
            parts[name].append(values)
        for coverage, mask in judged.selections(asked).items():
            selected[coverage].append(mask)
    if not parts["rows"]:
        raise ValueError("folds must hold at least one fold, got none; a generator can be read only once")
    together = {name: np.concatenate(values) for name, values in parts.items()}
    return evaluate_selections(
        together["positive"],
        together["score"],
        together["predicted"],
        {coverage: np.concatenate(masks) for coverage, masks in selected.items()},
        sample_weight=None if sample_weight is None else weight[together["rows"]],
        groups=together["rows"] if units is None else units[together["rows"]],
        **options,
    )


def _checked_numbers(clf: Any, numbers: ArrayLike, n_rows: int) -> IndexArray:
    """Row numbers of a fold; refused if there are so many that the classifier must have seen some of them."""
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
