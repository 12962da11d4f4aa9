"""What every loader returns: rows, labels, which rows test, and where all of it comes from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

if TYPE_CHECKING:
    import pandas as pd

# The share of test rows where neither source nor time gives them, as in the paper.
TEST_SHARE = 0.25


class Split(NamedTuple):
    """Training and test rows of one data set."""

    X_train: Any
    X_test: Any
    y_train: NDArray[np.int64]
    y_test: NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """One data set of the paper.

    Attributes
    ----------
    name : str
        Name in Table 1 of the paper, one of ``PAPER_DATASETS``.
    X : DataFrame or ndarray of shape (n, height, width, 3), uint8
        The rows; images may be memory-mapped and are then read-only.
    y : ndarray of shape (n,), int64
        1 for the positive class.
    is_test : ndarray of shape (n,), bool, or None
        The test rows where the source or time gives them; None where the paper split at random.
    source : str
        Which file, from whom, the rows were read from.
    licence : str
        What the source says about use and redistribution.
    differences : tuple of str
        How these rows differ from the paper's, one sentence each.
    """

    name: str
    X: pd.DataFrame | NDArray[np.uint8]
    y: NDArray[np.int64]
    is_test: NDArray[np.bool_] | None
    source: str
    licence: str
    differences: tuple[str, ...]

    def __post_init__(self) -> None:
        lengths = {len(self.X), len(self.y), len(self.y if self.is_test is None else self.is_test)}
        if len(lengths) > 1:
            raise ValueError(f"X, y and is_test must have the same number of rows, got {sorted(lengths)}")

    def __repr__(self) -> str:
        split = "split at random" if self.is_test is None else f"{int(self.is_test.sum()):,} test rows"
        return f"Dataset({self.name!r}, {len(self.y):,} rows, {split}, {self.source})"

    def split(self, random_state: int = 42) -> Split:
        """Training and test rows as the paper has them, as far as they are known.

        Parameters
        ----------
        random_state : int, default=42
            Seed of the stratified split with a quarter of the rows for the test; not used where the test rows are
            given.

        Returns
        -------
        Split
        """
        if self.is_test is None:
            return self._draw(TEST_SHARE, random_state)
        train, test = _blocks(self.is_test)
        return Split(_rows(self.X, train), _rows(self.X, test), self.y[train], self.y[test])

    def random_split(self, random_state: int) -> Split:
        """Another split of the pooled rows, stratified, with as many test rows as :meth:`split` gives.

        It shows how much a result owes to one split. Where time gives the test rows it also takes the drift away.

        Parameters
        ----------
        random_state : int
            Seed.

        Returns
        -------
        Split
        """
        size = TEST_SHARE if self.is_test is None else int(self.is_test.sum())
        return self._draw(size, random_state)

    def _draw(self, test_size: float, random_state: int) -> Split:
        train, test = train_test_split(
            np.arange(len(self.y)), test_size=test_size, stratify=self.y, random_state=random_state
        )
        return Split(_rows(self.X, train), _rows(self.X, test), self.y[train], self.y[test])


def _blocks(is_test: NDArray[np.bool_]) -> tuple[Any, Any]:
    """Index of training and test rows: slices where the test rows come last, so that images are not copied."""
    n_train = int((~is_test).sum())
    if is_test[n_train:].all():
        return slice(0, n_train), slice(n_train, None)
    return np.flatnonzero(~is_test), np.flatnonzero(is_test)


def _rows(X: Any, index: Any) -> Any:
    return X.iloc[index] if hasattr(X, "iloc") else X[index]
