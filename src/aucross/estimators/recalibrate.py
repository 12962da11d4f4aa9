"""Unlabelled rows for a new placement: one table, or batches of which only the scores are kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from aucross.core.band_rule import BandRule
from aucross.core.scored_rows import ScoredRows
from aucross.estimators.placing import warn_if_constant
from aucross.estimators.types import Column, Table
from aucross.estimators.warn import warn_user

# Scores a table, with the weights and the groups of its rows.
Score = Callable[[Any, Any, Any], ScoredRows]


def place_on_unlabelled(rule: BandRule, rows: ScoredRows, *, label_shift: bool) -> BandRule:
    """Place a rule on scored rows; groups without rows keep theirs, and it is said which."""
    warn_if_constant(rows.score, "new", ties_are_split=rows.rule_input.tie_breaker is not None)
    placed = rule.placed_on(rows.rule_input, label_shift=label_shift)
    if rows.band_groups is not None and rule.group_labels is not None:
        known = set(rows.band_groups.tolist())
        if without := [group for group in rule.group_labels if group not in known]:
            warn_user(
                f"X holds no rows of {len(without)} groups, such as {without[0]!r}: they keep the bands of the fit"
            )
    return placed


def score_unlabelled(score: Score, X: Table, sample_weight: Column, band_groups: Column) -> ScoredRows:
    """Score one table, or an iterator of batches one after the other."""
    if isinstance(X, list | tuple) and X and getattr(X[0], "ndim", 0) == 2:
        raise ValueError(
            f"X must be a table or an iterator of batches, got a {type(X).__name__} of tables; pass iter(X)"
        )
    if not isinstance(X, Iterator):
        # Before scoring, because most models refuse no rows in words of their own.
        if _is_empty(X):
            raise ValueError("X must hold at least one row to place the bands on, got 0")
        return score(X, sample_weight, band_groups)
    if sample_weight is not None or band_groups is not None:
        raise ValueError(
            "sample_weight and band_groups must come with each batch if X is an iterator; yield tuples "
            "(X, sample_weight, band_groups), with None for what is not used"
        )
    parts = (_as_triple(batch) for batch in X)
    batches = [score(*part) for part in parts if not _is_empty(part[0])]
    if not batches:
        raise ValueError(
            "X must give at least one batch with rows, got none; an iterator can be used only once, make it again"
        )
    return ScoredRows.concatenate(batches)


def _as_triple(batch: Any) -> tuple[Any, Any, Any]:
    if not isinstance(batch, tuple):
        return batch, None, None
    if len(batch) > 3:
        raise ValueError(f"a batch must be X or a tuple (X, sample_weight, band_groups), got {len(batch)} parts")
    X, sample_weight, band_groups = (*batch, None, None)[:3]
    return X, sample_weight, band_groups


def _is_empty(X: Table) -> bool:
    if getattr(X, "shape", ()):
        return bool(X.shape[0] == 0)
    return hasattr(X, "__len__") and len(X) == 0  # what has no length is refused with a reason when it is scored
