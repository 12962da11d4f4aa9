"""Bands per group: which rows belong to which group, and a rule placed on each group's held-out rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aucross.core.missing import is_missing
from aucross.core.ranking import IndexArray
from aucross.core.rules import BandRule, GroupBands


def check_band_groups(band_groups: Any, n_rows: int) -> NDArray[Any]:
    """Groups as a 1-d array with one entry per row and none missing."""
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


def check_groups_given(fitted: bool, given: bool, name: str) -> None:
    """Refuse groups for bands that know none, and the other way round."""
    if fitted and not given:
        raise ValueError(f"{name} must be given: the bands were fitted per group, so a row needs its group")
    if given and not fitted:
        raise ValueError(
            f"{name} must not be given: the bands were fitted without groups; call fit(..., band_groups=...)"
        )


def groups_held_out(groups: NDArray[Any], rows: IndexArray) -> NDArray[Any]:
    """Groups of the held-out rows; each group of the training rows must be among them."""
    without = set(groups.tolist()) - set(groups[rows].tolist())
    if without:
        raise ValueError(
            f"every group of band_groups must have held-out rows to place its band on, got none for "
            f"{sorted(map(str, without))}; pass a larger holdout_size, another cv, or merge small groups"
        )
    return groups[rows]


def positions_by_group(groups: NDArray[Any]) -> dict[Any, IndexArray]:
    """Positions of the rows of each group, groups in order of appearance."""
    codes: dict[Any, int] = {}
    numbers = np.array([codes.setdefault(group, len(codes)) for group in groups.tolist()], dtype=np.intp)
    return {group: np.flatnonzero(numbers == code) for group, code in codes.items()}


def place_per_group(place: Callable[[IndexArray], BandRule], groups: NDArray[Any]) -> GroupBands:
    """Place a rule on the held-out rows of each group; errors name the group."""
    rules = {}
    for group, rows in positions_by_group(groups).items():
        try:
            rules[group] = place(rows)
        except ValueError as error:
            raise ValueError(
                f"no band can be placed for the group {group!r} with {len(rows)} held-out rows: {error}; merge it with "
                "another group"
            ) from error
    return GroupBands(rules)
