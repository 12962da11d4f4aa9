"""Folds from a hash of each row, which do not depend on how a table is cut, sorted or spread over machines.

::

    row ──► its key, or all its values ──► 64 bits ──► fold 0 ... K - 1        no other row is looked at
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np

from aucross.core.ranking import IndexArray
from aucross.estimators.row_hash import Hashes, hash_rows, mixed_with
from aucross.estimators.training_rows import Split
from aucross.estimators.types import Column, Table
from aucross.frames import is_missing, names_of

# Added to the seed of the folds, far from any that somebody passes.
_FOR_HALVES = 2**63


@dataclass(frozen=True)
class HashedFolds:
    """Assign each row to a fold by a hash of the row alone, so that equal rows share a fold on every engine.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds.
    key : str, optional
        Column that names a row, such as the number of a loan or of a customer: rows with the same key share a fold. The
        column stays in the table, so the model trains on it; pass a key that is no feature as `groups` of ``fit``
        instead. If None, all columns are hashed.
    seed : int, default=0
        Another number gives other folds.

    Notes
    -----
    A row falls into each fold with the same probability, whatever its class. So folds are stratified up to chance: each
    of K folds gets n/K of the n rows of a class, with a standard error below the square root of n/K.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from aucross import AUCross, HashedFolds
    >>> X, y = make_classification(1000, flip_y=0.3, random_state=0)
    >>> folds = HashedFolds(5)
    >>> bool((folds.fold_of(X)[500:] == folds.fold_of(X[500:])).all())
    True
    >>> clf = AUCross(LogisticRegression(), cv=folds, random_state=0).fit(X, y)
    """

    n_splits: int = 5
    key: str | None = field(default=None, kw_only=True)
    seed: int = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        _check_whole("n_splits", self.n_splits, at_least=2, remedy="pass 5")
        _check_whole("seed", self.seed, at_least=0, remedy="pass 0")
        if self.key is not None and not isinstance(self.key, str):
            raise TypeError(f"key must be the name of one column or None, got {self.key!r}")

    def get_n_splits(self, X: Table = None, y: Column = None, groups: Column = None) -> int:  # noqa: ARG002
        """Return the number of folds; scikit-learn calls this method of a splitter."""
        return self.n_splits

    def fold_of(self, X: Table, y: Column = None, groups: Column = None) -> IndexArray:  # noqa: ARG002
        """Return the fold that scores each row; any part of a table can be passed alone.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Rows.
        y : ignored
            The fold does not depend on the class: rows of one key stay together.
        groups : array-like of shape (n_samples,), optional
            The key of each row, in place of `key`.

        Returns
        -------
        ndarray of shape (n_samples,)
            Numbers from 0 to ``n_splits - 1``.
        """
        bits = mixed_with(self._bits(X, groups), self.seed)
        return (bits % np.uint64(self.n_splits)).astype(np.intp)

    def half_of(self, X: Table, y: Column = None, groups: Column = None) -> IndexArray:  # noqa: ARG002
        """Return a random half (0 or 1) for each row, independent of its fold; arguments as in :meth:`fold_of`."""
        # Folds use the low bits of what this seed gives; the halves take another seed.
        bits = mixed_with(self._bits(X, groups), self.seed + _FOR_HALVES)
        return (bits >> np.uint64(63)).astype(np.intp)

    def split(self, X: Table, y: Column = None, groups: Column = None) -> Iterator[Split]:
        """Yield, for each fold of :meth:`fold_of`, the rows to train on and the rows to score."""
        folds = self.fold_of(X, y, groups)
        self.check_sizes(np.bincount(folds, minlength=self.n_splits))
        for fold in range(self.n_splits):
            yield np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)

    def check_sizes(self, n_rows: IndexArray) -> None:
        """Refuse empty folds, given the number of rows in each."""
        if not np.all(n_rows):
            raise ValueError(
                f"every fold must have rows, got {np.asarray(n_rows).tolist()} in {self.n_splits} folds; pass fewer "
                "folds, or a key that differs between more rows"
            )

    def _bits(self, X: Table, groups: Column) -> Hashes:
        if groups is not None:
            return _hash_keys(groups, "groups")
        if self.key is None:
            return hash_rows(X)
        names = names_of(X) or []
        if self.key not in names:
            raise ValueError(
                f"key must be a column of X, got {self.key!r} for a table with {names[:10]}; pass None to take "
                "all columns, or the keys as groups"
            )
        return _hash_keys(X[self.key], f"the key {self.key!r}")


def _hash_keys(keys: Any, name: str) -> Hashes:
    keys = np.asarray(keys)
    missing = sum(map(is_missing, keys.tolist())) if keys.dtype.kind not in "biu" else 0
    if missing:
        # They would share one fold, which could then hold most rows.
        raise ValueError(
            f"{name} must not be missing, got {missing} of {len(keys)} rows without; give each of them a key of its own"
        )
    return hash_rows(keys)


def _check_whole(name: str, value: Any, *, at_least: int, remedy: str) -> None:
    if not isinstance(value, Integral) or isinstance(value, bool) or value < at_least:
        raise ValueError(f"{name} must be a whole number of at least {at_least}, got {value!r}; {remedy}")
