"""What is run in the suite: families of models, splits, how many rows, and the list of cells.

A *cell* is one data set, one family of models and one split. All methods and peers are measured in it at all coverages,
and every model is trained once. Cells are independent of each other and kept one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier
from numpy.typing import NDArray
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from xgboost import XGBClassifier

from experiments.suite.sets import SuiteSet, load
from experiments.work import Named

COVERAGES = (0.95, 0.9, 0.8, 0.7)
# Ten were planned; `--splits 10` goes on from the table of these.
N_SPLITS = 9
SEED = 42  # of the models; the split seeds everything else

# At most so many rows train and test, so that the suite ends within three hours of two cores.
MOST_TRAINED = 8_000
MOST_TRAINED_OF: Mapping[str, int] = {"RandForest": 4_000}  # three times as slow as the others
MOST_TESTED = 8_000
TEST_SHARE = 0.25
# Of a set in time each split draws another such share of the rows on either side of the cut.
DRAWN_SHARE = 0.8


def numbers_of(X: pd.DataFrame) -> list[str]:
    """Names of the columns of numbers. A function and no selector object, whose text names no parameter."""
    return list(X.select_dtypes("number"))


def categories_of(X: pd.DataFrame) -> list[str]:
    """Names of the columns of categories."""
    return list(X.select_dtypes("category"))


def _one_hot_and_scaled() -> Any:
    """Numbers imputed by the median, with a column that says so, and scaled; categories one-hot."""
    numbers = make_pipeline(
        SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True), StandardScaler()
    )
    # A level that is missing is a level; levels of less than one row in a hundred share a column.
    levels = OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=0.01, sparse_output=False)
    return make_column_transformer((numbers, numbers_of), (levels, categories_of))


def _coded() -> Any:
    """Categories as codes; the trees of scikit-learn take missing values as they are."""
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2)
    return make_column_transformer((codes, categories_of), remainder="passthrough")


# The libraries' defaults, but for what is said here. One thread each: cells are run side by side.
FAMILIES: Mapping[str, Callable[[], Any]] = {
    "LightGBM": lambda: LGBMClassifier(random_state=SEED, n_jobs=1, verbose=-1),
    "XGBoost": lambda: XGBClassifier(random_state=SEED, n_jobs=1, enable_categorical=True),
    "RandForest": lambda: make_pipeline(_coded(), RandomForestClassifier(random_state=SEED, n_jobs=1)),
    "Logistic": lambda: make_pipeline(_one_hot_and_scaled(), LogisticRegression(max_iter=1000)),
    # Stops when a tenth of the rows, held out, is no better for five passes.
    "MLP": lambda: make_pipeline(
        _one_hot_and_scaled(),
        MLPClassifier((64,), early_stopping=True, n_iter_no_change=5, max_iter=100, random_state=SEED),
    ),
}
# Where the gate is measured, and the model that decides there when to abstain.
GATED = "Logistic"
GATE = "LightGBM"
# The reject policy calibrates anew for every confidence that is tried, so it takes part in fewer splits.
N_SPLITS_OF_SLOW_PEERS = 3


class Rows(NamedTuple):
    """Training and test rows of a cell."""

    X_train: pd.DataFrame
    X_test: pd.DataFrame
    y_train: NDArray[np.int64]
    y_test: NDArray[np.int64]
    groups: NDArray[np.int64] | None


@dataclass(frozen=True, order=True)
class Cell(Named):
    """One unit of work; the order of the values is the order in which cells are run."""

    split: int
    dataset: str
    family: str

    def rows(self) -> Rows:
        """Training and test rows."""
        return split_rows(load(self.dataset), self.split, MOST_TRAINED_OF.get(self.family, MOST_TRAINED))


def all_cells(
    datasets: Iterable[str], families: Iterable[str] = tuple(FAMILIES), n_splits: int = N_SPLITS
) -> Iterator[Cell]:
    """Split by split, so that a run that is interrupted has every set and every family."""
    families = list(families)
    for split in range(n_splits):
        for dataset in datasets:
            for family in families:
                yield Cell(split, dataset, family)


def split_rows(of: SuiteSet, split: int, most_trained: int = MOST_TRAINED) -> Rows:
    """Draw the rows of a split.

    At random: a stratified quarter tests. With customers: customers are drawn, and all their rows go with them. In
    time: one cut, and each split draws training rows before it and test rows after it.
    """
    if of.earlier is not None and of.later is not None:
        train, test = (
            _drawn(of.y, side, round(min(most, DRAWN_SHARE * len(side))), split)
            for side, most in ((of.earlier, most_trained), (of.later, MOST_TESTED))
        )
    elif of.groups is not None:
        train, test = _whole_groups(of.groups, split, most_trained)
    else:
        n_test = round(min(MOST_TESTED, TEST_SHARE * len(of.y)))
        n_train = min(most_trained, len(of.y) - n_test)
        train, test = train_test_split(
            np.arange(len(of.y)), train_size=n_train, test_size=n_test, stratify=of.y, random_state=split
        )
    groups = None if of.groups is None else of.groups[train]
    X_train, X_test = (of.X.iloc[side].reset_index(drop=True) for side in (train, test))
    return Rows(X_train, X_test, of.y[train], of.y[test], groups)


def _drawn(y: NDArray[np.int64], rows: NDArray[np.intp], n_drawn: int, split: int) -> NDArray[np.intp]:
    return train_test_split(rows, train_size=n_drawn, stratify=y[rows], random_state=split)[0]


def _whole_groups(
    groups: NDArray[np.int64], split: int, most_trained: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Groups in random order: the first make up the test rows, the following ones the training rows."""
    order = np.random.default_rng(split).permutation(int(groups.max()) + 1)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    last_row = np.cumsum(np.bincount(place[groups], minlength=len(order)))
    n_test = round(min(MOST_TESTED, TEST_SHARE * len(groups)))
    n_tested = int(np.searchsorted(last_row, n_test, side="right"))
    n_until_trained = int(np.searchsorted(last_row, last_row[n_tested - 1] + most_trained, side="right"))
    where = place[groups]
    return np.flatnonzero((where >= n_tested) & (where < n_until_trained)), np.flatnonzero(where < n_tested)
