"""What every loader returns: rows, labels, which rows test, and where all of it comes from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

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
        Name in Table 1 of the paper.
    X : DataFrame or ndarray of shape (n, height, width, 3), uint8
        The rows; images are memory-mapped and read-only.
    y : ndarray of shape (n,), int64
        1 for the positive class.
    is_test : ndarray of shape (n,), bool, or None
        The test rows where the source or time gives them; None where the paper split at random.
    source : str
        Which file, from whom, the rows were read from.
    differences : tuple of str
        How these rows differ from the paper's, one sentence each.
    """

    name: str
    X: pd.DataFrame | NDArray[np.uint8]
    y: NDArray[np.int64]
    is_test: NDArray[np.bool_] | None
    source: str
    differences: tuple[str, ...]

    def split(self, random_state: int = 42) -> Split:
        """Training and test rows as the paper has them, as far as they are known.

        Where the test rows are not given they are a stratified quarter, drawn with the seed.
        """
        if self.is_test is None:
            return self._draw(TEST_SHARE, random_state)
        n_train = int((~self.is_test).sum())
        if self.is_test[:n_train].any():
            return self._take(np.flatnonzero(~self.is_test), np.flatnonzero(self.is_test))
        return self._take(slice(0, n_train), slice(n_train, None))  # slices do not copy the images

    def random_split(self, random_state: int) -> Split:
        """Another split of the pooled rows, stratified, with as many test rows as :meth:`split` gives.

        It shows how much a result owes to one split. Where time gives the test rows it also takes the drift away.
        """
        return self._draw(TEST_SHARE if self.is_test is None else int(self.is_test.sum()), random_state)

    def _draw(self, test_size: float, random_state: int) -> Split:
        rows = np.arange(len(self.y))
        return self._take(*train_test_split(rows, test_size=test_size, stratify=self.y, random_state=random_state))

    def _take(self, train: Any, test: Any) -> Split:
        X: Any = self.X.iloc if isinstance(self.X, pd.DataFrame) else self.X
        return Split(X[train], X[test], self.y[train], self.y[test])
