"""Splits: the rows that train and the rows that are scored.

::

    cross-fitting (K = 3)                hold-out
    fold 1  [score][train ][train ]      [        train        ][score]
    fold 2  [train ][score][train ]
    fold 3  [train ][train ][score]      every score comes from a model that did not train on that row
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, check_cv, train_test_split

from aucross.core.ranking import IndexArray
from aucross.estimators.training_rows import TrainingRows, check_class_sizes
from aucross.estimators.types import Folds, Generator
from aucross.system.text import warn_user

# Rows to train on and rows to score, of one model.
Split = tuple[IndexArray, IndexArray]


def rows_scored(splits: Sequence[Split]) -> IndexArray:
    """Return the rows scored by the models of all splits, one split after the other."""
    return np.concatenate([test for _, test in splits])


def halves_of(labels: IndexArray, rng: Generator) -> tuple[IndexArray, IndexArray]:
    """Return the positions of two random halves with the same share of each class."""
    # A class of one row cannot be in both halves.
    can_stratify = 1 not in np.unique_counts(labels).counts
    labels = labels if can_stratify else np.zeros(len(labels), dtype=int)
    (_, first), (_, second) = StratifiedKFold(2, shuffle=True, random_state=rng).split(labels, labels)
    return first, second


def fold_splits(training: TrainingRows, cv: Folds, rng: Generator) -> Iterator[Split]:
    """Yield pairs of training and scored rows: K stratified shuffled folds, or those of `cv`."""
    if isinstance(cv, Integral):
        splitter = _stratified_folds(training, cv, rng)
    else:
        splitter = check_cv(cv, training.y, classifier=True)
    has_splits = False
    for split in splitter.split(training.X, training.y, training.groups):
        has_splits = True
        parts = [np.asarray(part) for part in split]  # positions, or masks
        train, test = (np.flatnonzero(part) if part.dtype == np.bool_ else part for part in parts)
        yield train, test
    if not has_splits:
        raise ValueError("cv must give at least one split, got none; an iterator can be used only once, pass a list")


def warn_if_uneven(splits: Sequence[Split], n_rows: int) -> None:
    """Warn if some models train on far fewer rows than others, as with splits in the order of time."""
    sizes = [len(train) for train, _ in splits]
    if max(sizes) >= 2 * min(sizes):
        warn_user(
            f"cv trains models on {min(sizes)} to {max(sizes)} of {n_rows} rows, as splits in the order of time do: "
            "such different models score on different scales, and new rows can have another coverage than asked "
            "for; use a hold-out method with the latest rows held out, such as PlugInAUC(model, cv=[(earlier, latest)])"
        )


def _stratified_folds(training: TrainingRows, n_folds: Any, rng: Generator) -> StratifiedKFold | StratifiedGroupKFold:
    if n_folds < 2:
        raise ValueError(f"cv must be at least 2 folds, got {n_folds!r}; pass cv=5")
    check_class_sizes(
        training,
        at_least=int(n_folds),
        reason=f"{n_folds} folds need one of each class in every fold",
        remedy=f"pass fewer than {n_folds} folds or more rows of this class",
    )
    if training.groups is None:
        return StratifiedKFold(int(n_folds), shuffle=True, random_state=rng)
    # scikit-learn refuses this from 1.9 on only, and before gives folds without rows.
    if (n_groups := _n_groups(training)) < n_folds:
        raise ValueError(
            f"cv must not be greater than the number of groups: {n_groups}, got {n_folds}; "
            "pass fewer folds or more groups"
        )
    return StratifiedGroupKFold(int(n_folds), shuffle=True, random_state=rng)


def _n_groups(training: TrainingRows) -> int:
    return len(np.unique(np.asarray(training.groups)))


def hold_out_split(training: TrainingRows, cv: Folds, holdout_size: float, rng: Generator) -> Split:
    """Return one split: stratified and of the given size, or the first of `cv`."""
    if cv is not None:
        return next(fold_splits(training, cv, rng))
    check_class_sizes(
        training,
        at_least=2,
        reason="one to train on and one to hold out are needed",
        remedy="pass more rows of this class",
    )
    if training.groups is not None:
        # Folds of about the size asked for keep each group on one side; there are no more folds than groups.
        n_folds = max(2, min(round(1 / holdout_size), _n_groups(training)))
        return next(fold_splits(training, n_folds, rng))
    n_rows = len(training.y)
    # The paper's share, but never fewer rows than classes on either side, on which a stratified split insists.
    n_classes = len(training.classes)
    n_held_out = min(max(ceil(holdout_size * n_rows), n_classes), n_rows - n_classes)
    train, test = train_test_split(np.arange(n_rows), test_size=n_held_out, stratify=training.y, random_state=rng)
    return _with_all_classes(training.labels, train, test)


def _with_all_classes(labels: IndexArray, train: IndexArray, test: IndexArray) -> Split:
    """Move one row of each class that is so rare that the split put it on one side only."""
    for label in np.unique(labels):
        test, train = _lend_row(train, test, labels == label)
        train, test = _lend_row(test, train, labels == label)
    return train, test


def _lend_row(lender: IndexArray, borrower: IndexArray, of_class: NDArray[np.bool_]) -> tuple[IndexArray, IndexArray]:
    """Move one row of a class to the side that has none; return that side first."""
    if of_class[borrower].any():
        return borrower, lender
    moved = lender[of_class[lender]][:1]  # rows are shuffled, so the first is a random one
    return np.append(borrower, moved), np.setdiff1d(lender, moved, assume_unique=True)
