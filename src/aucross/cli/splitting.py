"""Which labelled rows are kept away from the fit to judge it: at random, the latest, or those of another file."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedGroupKFold, train_test_split

from aucross.cli.errors import CommandError, UsageError
from aucross.cli.schema import LabelledRows


def split_rows(
    rows: LabelledRows, test_size: float, seed: int, score: str | None = None
) -> tuple[LabelledRows, LabelledRows]:
    """Training and test rows: by time if there is one, else by groups if there are any, else at random.

    Rows without a given score are split as all others, and then set apart: the test part needs its share of them.
    """
    if not 0 < test_size < 1:
        raise UsageError(f"--test-size must be a share in (0, 1), got {test_size:g}; pass 0.25 for a quarter")
    if rows.times is not None:
        train, test = _by_time(rows.times, test_size)
    elif rows.groups is not None:
        train, test = _by_group(rows.y, rows.groups, test_size, seed)
    else:
        train, test = _at_random(rows.y, test_size, seed)
    parts = rows.take(train).unscored_apart(score), rows.take(test).unscored_apart(score)
    for name, part in zip(("training", "test"), parts, strict=True):
        check_both_classes(part, f"the {name} part", "choose another split with --test-size, --time-column or --test")
    return parts


def check_both_classes(rows: LabelledRows, what: str, remedy: str) -> None:
    """Refuse rows on which no AUC is defined."""
    n_positive = int(rows.y.sum())
    if n_positive in (0, len(rows)):
        raise CommandError(f"{what} of {len(rows)} rows must hold both classes, got {n_positive} positives; {remedy}")


def check_some_groups(rows: LabelledRows, column: str | None, what: str) -> None:
    """Refuse rows of a single group, from which nobody can tell how much groups differ."""
    if rows.groups is not None and len(np.unique(rows.groups)) < 2:
        raise CommandError(
            f"--group: {what} must hold at least two groups of {column!r} for intervals, got one; add rows of others, "
            "or leave the column out"
        )


def check_groups_to_train(groups: NDArray[Any], fewest: int, column: str | None) -> None:
    """Refuse fewer groups than folds or parts, each of which needs groups of its own."""
    if (n_groups := len(np.unique(groups))) < fewest:
        raise CommandError(
            f"--group: the training rows must hold at least {fewest} groups of {column!r}, one for each fold, got "
            f"{n_groups}; add rows of others, or leave the column out with --drop instead"
        )


def _at_random(y: NDArray[Any], test_size: float, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    rarest = int(min(np.bincount(y, minlength=2)))
    if rarest < 2:
        raise CommandError(f"each class needs at least 2 rows, got {rarest} of one; add rows of that class")
    n_test = min(max(round(test_size * len(y)), 2), len(y) - 2)
    train, test = train_test_split(np.arange(len(y)), test_size=n_test, stratify=y, random_state=seed)
    return np.sort(train), np.sort(test)


def _by_time(times: NDArray[np.float64], test_size: float) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The latest rows are the test part; rows of the same moment stay together."""
    start = np.sort(times)[len(times) - max(1, round(test_size * len(times)))]
    train, test = np.flatnonzero(times < start), np.flatnonzero(times >= start)
    if not len(train):
        raise CommandError(
            "--time-column: too many rows share the first moment to split them by time; use a finer column, or a "
            "smaller --test-size"
        )
    return train, test


def _by_group(
    y: NDArray[Any], groups: NDArray[Any], test_size: float, seed: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Folds of about the size asked for keep each group on one side."""
    n_groups = len(np.unique(groups))
    if n_groups < 2:
        raise CommandError(f"--group: {n_groups} group cannot be split into two parts; pass a test file with --test")
    folds = StratifiedGroupKFold(max(2, min(round(1 / test_size), n_groups)), shuffle=True, random_state=seed)
    return next(folds.split(np.zeros(len(y)), y, groups))
