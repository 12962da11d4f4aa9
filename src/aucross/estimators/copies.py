"""Repeated rows in a table: one score decides on all of them, or they are copies by mistake.

Where 6 % of the applicants have no record at the credit bureau, 6 % of the rows are identical. Fold models give them K
scores and the model that answers gives them one: a band around one of the K holds a fifth of them, a band around the
one holds all. So these rows, and only these, place the band with the score that new copies of them will have. The model
has seen them, but a score that many copies share says little about the label of one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from aucross.core.ranking import IndexArray
from aucross.estimators.row_hash import Hashes
from aucross.estimators.types import Labels, Table
from aucross.estimators.warn import warn_user
from aucross.frames import columns_of, text_names_of
from aucross.system.text import percent

# Fewer copies could be learnt by heart, and a smaller share of the rows moves no coverage that anyone would notice.
FEWEST_COPIES, SMALLEST_SHARE = 30, 0.002

# A smaller share of copies, and fewer of them, are not worth a sentence; a column in which so many different rows
# differ is continuous, so that rows that agree in it are copies.
LEAST_COPIED, FEWEST_COPIED, CONTINUOUS = 0.02, 10, 0.95


def common_rows(hashes: Hashes) -> IndexArray:
    """Return the positions of rows with many copies, given a hash of each row."""
    _, place, counts = np.unique(hashes, return_inverse=True, return_counts=True)
    return np.flatnonzero(counts[place] >= max(FEWEST_COPIES, SMALLEST_SHARE * len(hashes)))


def warn_if_copied(X: Table, hashes: Hashes, labels: Labels) -> None:
    """Warn if rows of continuous values repeat in X with their label: fold models would know the answers.

    Rows of few values are equal by themselves, and so are those in which the continuous values are missing or all 0.
    """
    _, first, place, counts = np.unique(
        hashes ^ np.unique(labels, return_inverse=True)[1].astype(np.uint64),
        return_index=True,
        return_inverse=True,
        return_counts=True,
    )
    if np.sum(counts - 1) < max(FEWEST_COPIED, LEAST_COPIED * len(place)):
        return
    for column in _columns(X):
        values, times = np.unique(column[first], return_counts=True)
        if len(values) < CONTINUOUS * len(first):
            continue
        alone = np.isin(column[first], values[times == 1]) & (counts < FEWEST_COPIES)  # more are common rows
        n_copies = int(np.sum(counts[alone] - 1))
        if n_copies >= max(FEWEST_COPIED, LEAST_COPIED * len(place)):
            warn_user(
                f"{n_copies:,} of {len(place):,} rows ({percent(n_copies / len(place))}) are copies of others with the "
                "same label, so that models are tested on rows that they were trained on, and every figure of the fit "
                "is too good; drop them, as with X.drop_duplicates(), or pass groups, one for each different row"
            )
        return


def _columns(X: Table) -> Iterator[Any]:
    """Yield the columns of an array or a frame that hold numbers."""
    if text_names_of(X) is not None or (isinstance(X, np.ndarray) and X.ndim == 2):
        yield from (values for column in columns_of(X) if (values := np.asarray(column)).dtype.kind in "fiu")
