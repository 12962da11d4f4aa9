"""Unlabelled rows for a new placement: one table, or batches of which only the scores are kept."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aucross.core.ranking import FloatArray, check_weights
from aucross.core.rules import BandRule, GroupBands
from aucross.estimators.band_groups import check_band_groups, check_groups_given, positions_by_group
from aucross.estimators.placing import warn_if_constant


@dataclass(frozen=True)
class UnlabelledRows:
    """What a rule reads of new rows, with their weights and groups."""

    score: FloatArray
    sample_weight: FloatArray | None
    band_groups: NDArray[Any] | None

    def place(self, rule: BandRule | GroupBands, *, label_shift: bool) -> BandRule | GroupBands:
        """Place a rule, or that of each group, on these rows; groups without rows keep theirs."""
        warn_if_constant(self.score, "new", stacklevel=4)
        if not isinstance(rule, GroupBands):
            return rule.placed_on(self.score, self.sample_weight, label_shift=label_shift)
        assert self.band_groups is not None
        positions = positions_by_group(self.band_groups)
        rules = dict(rule.rules)
        for group, rows in positions.items():
            weight = None if self.sample_weight is None else self.sample_weight[rows]
            rules[group] = rule.rule(group).placed_on(self.score[rows], weight, label_shift=label_shift)
        if without := [group for group in rules if group not in positions]:
            warnings.warn(
                f"X holds no rows of {len(without)} groups, such as {without[0]!r}: they keep the bands of the fit",
                UserWarning,
                stacklevel=3,
            )
        return GroupBands(rules)


def score_unlabelled(
    score: Callable[[Any], FloatArray], X: Any, sample_weight: Any, band_groups: Any, *, has_groups: bool
) -> UnlabelledRows:
    """Score one table, or an iterator of batches one after the other."""
    if isinstance(X, list | tuple) and X and getattr(X[0], "ndim", 0) == 2:
        raise ValueError(
            f"X must be a table or an iterator of batches, got a {type(X).__name__} of tables; pass iter(X)"
        )
    if not isinstance(X, Iterator):
        return _scored(score, X, sample_weight, band_groups, has_groups=has_groups)
    if sample_weight is not None or band_groups is not None:
        raise ValueError(
            "sample_weight and band_groups must come with each batch if X is an iterator; yield tuples "
            "(X, sample_weight, band_groups), with None for what is not used"
        )
    parts = (_as_triple(batch) for batch in X)
    batches = [_scored(score, *part, has_groups=has_groups) for part in parts if not _is_empty(part[0])]
    if not batches:
        raise ValueError(
            "X must give at least one batch with rows, got none; an iterator can be used only once, make it again"
        )
    weighted = [batch.sample_weight is not None for batch in batches]
    if any(weighted) and not all(weighted):
        raise ValueError(f"every batch must have weights or none, got {sum(weighted)} of {len(batches)} with weights")
    return UnlabelledRows(
        np.concatenate([batch.score for batch in batches]),
        np.concatenate([batch.sample_weight for batch in batches]) if all(weighted) else None,
        np.concatenate([batch.band_groups for batch in batches]) if has_groups else None,
    )


def _as_triple(batch: Any) -> tuple[Any, Any, Any]:
    if not isinstance(batch, tuple):
        return batch, None, None
    if len(batch) > 3:
        raise ValueError(f"a batch must be X or a tuple (X, sample_weight, band_groups), got {len(batch)} parts")
    X, sample_weight, band_groups = (*batch, None, None)[:3]
    return X, sample_weight, band_groups


def _is_empty(X: Any) -> bool:
    if getattr(X, "shape", ()):
        return bool(X.shape[0] == 0)
    return hasattr(X, "__len__") and len(X) == 0  # what has no length is refused with a reason when it is scored


def _scored(
    score: Callable[[Any], FloatArray], X: Any, sample_weight: Any, band_groups: Any, *, has_groups: bool
) -> UnlabelledRows:
    check_groups_given(has_groups, band_groups is not None, "band_groups")
    # Before scoring, because most models refuse no rows in words of their own.
    if _is_empty(X):
        raise ValueError("X must hold at least one row to place the bands on, got 0")
    scores = score(X)
    return UnlabelledRows(
        scores,
        None if sample_weight is None else check_weights(sample_weight, len(scores)),
        None if band_groups is None else check_band_groups(band_groups, len(scores)),
    )
