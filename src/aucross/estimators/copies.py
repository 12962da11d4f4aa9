"""Rows that stand in a table again and again: one score decides on all of them.

Where 6 % of the applicants have no record at the credit bureau, 6 % of the rows are identical. Fold models give them K
scores and the model that answers gives them one: a band around one of the K holds a fifth of them, a band around the
one holds all. So these rows, and only these, place the band with the score that new copies of them will have. The model
has seen them, but a score that many copies share says little about the label of one.
"""

from __future__ import annotations

import numpy as np

from aucross.core.ranking import IndexArray
from aucross.estimators.row_hash import hash_rows
from aucross.estimators.types import Table

# Fewer copies could be learnt by heart, and a smaller share of the rows moves no coverage that anyone would notice.
FEWEST_COPIES, SMALLEST_SHARE = 30, 0.002


def common_rows(X: Table, n_rows: int) -> IndexArray:
    """Positions of the rows of which X holds many copies."""
    if n_rows < FEWEST_COPIES:
        return np.empty(0, dtype=np.intp)
    _, place, counts = np.unique(hash_rows(X), return_inverse=True, return_counts=True)
    return np.flatnonzero(counts[place] >= max(FEWEST_COPIES, SMALLEST_SHARE * n_rows))
