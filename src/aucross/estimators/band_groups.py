"""Groups of rows that get a band each: one label per row, none missing, all among the held-out rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from aucross.core.missing import is_missing, refuse_name_of_column
from aucross.core.ranking import IndexArray
from aucross.estimators.types import Column, Labels


def check_band_groups(band_groups: Column, n_rows: int) -> Labels:
    """Groups as a 1-d array with one entry per row and none missing."""
    refuse_name_of_column(band_groups, "band_groups")
    groups = np.asarray(band_groups)
    if groups.dtype.kind == "U" and not isinstance(band_groups, np.ndarray):
        groups = np.asarray(band_groups, dtype=object)  # numpy would write a missing value as the text "nan"
    if groups.shape != (n_rows,):
        raise ValueError(f"band_groups must hold one group per row, got shape {groups.shape} for {n_rows} rows")
    missing = np.array([is_missing(group) for group in groups.tolist()], dtype=bool)
    if missing.any():
        raise ValueError(
            f"band_groups must not contain missing values, got {int(missing.sum())} of {n_rows}, the first in row "
            f'{int(np.argmax(missing))}; give these rows a group of their own, such as "unknown"'
        )
    return groups


def check_groups_held_out(groups: NDArray[Any] | None, rows: IndexArray) -> None:
    """Refuse groups none of whose rows place a band."""
    without = set() if groups is None else set(groups.tolist()) - set(groups[rows].tolist())
    if without:
        raise ValueError(
            f"every group of band_groups must have held-out rows to place its band on, got none for "
            f"{sorted(map(str, without))}; pass a larger holdout_size, another cv, or merge small groups"
        )
