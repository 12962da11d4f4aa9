"""Rows for placing bands again, with or without labels: one table, or batches of which only scores are kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from aucross.core.band_rule import BandRule, positions_by_group
from aucross.core.label_shift import LabelShift, estimate_class_shift, estimate_label_shift
from aucross.core.ranking import FloatArray, RankedScores
from aucross.core.scored_rows import ScoredRows
from aucross.estimators.doubts import warn_if_constant
from aucross.estimators.held_out import HeldOutScores
from aucross.estimators.placing import FEWEST_GROUP_ROWS
from aucross.estimators.reading import Reader
from aucross.estimators.types import Column, Labels, Table
from aucross.frames import count_rows, is_missing, values_of
from aucross.system.text import warn_user

# Scores a table, with the weights and the groups of its rows.
Score = Callable[[Any, Any, Any], ScoredRows]


def known_labels(y: Column, X: Table, classes: Labels) -> FloatArray:
    """Return a column for each given class: 1 for rows of this class, 0 for others, NaN where the label is missing."""
    if isinstance(X, Iterator | RankedScores):
        raise ValueError("y needs X as one table, got an iterator or a ranking; pass all rows at once, or no y")
    labels = values_of(y)
    if len(labels) != (n_rows := count_rows(X) or len(X)):
        raise ValueError(f"y must hold one label per row, got {len(labels)} for {n_rows} rows; pass None where unknown")
    known = np.full((len(labels), len(classes)), np.nan)
    place_of = {label: place for place, label in enumerate(classes.tolist())}
    for row, label in enumerate(labels):
        if is_missing(label):
            continue
        if label not in place_of:
            raise ValueError(
                f"y must hold classes of the fit, or None where a label is not known, got {label!r} in row {row}; the "
                f"classes are {classes.tolist()}"
            )
        known[row] = 0.0
        known[row, place_of[label]] = 1.0
    return known


def place_again(rule: BandRule, rows: ScoredRows, known: FloatArray | None, *, label_shift: bool) -> BandRule:
    """Place a rule on scored rows; groups without rows keep their bands, and a warning names one of them."""
    warn_if_constant(rows.score, "new", ties_are_split=rows.rule_input.tie_breaker is not None)
    placed = rule.placed_on(replace(rows.rule_input.without_noise(), known=known), label_shift=label_shift)
    if rows.band_groups is not None and rule.group_labels is not None:
        there = set(rows.band_groups.tolist())
        if without := [group for group in rule.group_labels if group not in there]:
            warn_user(
                f"X holds no rows of {len(without)} groups, such as {without[0]!r}: they keep the bands of the fit"
            )
    return placed


def label_shift_of(held_out: HeldOutScores, reader: Reader, rows: ScoredRows) -> LabelShift | None:
    """Estimate the class shares of new rows, and warn if unreliable; None if the bands do not depend on them."""
    known, labels = np.unique(held_out.labels, return_inverse=True)
    if len(rows.classes) > 2:
        before, after = held_out.read_by(reader).probabilities, rows.rule_input.probabilities
        if before is None or after is None:
            return None  # confidence methods read no such probabilities
        shift = estimate_class_shift(before, labels, after, held_out.sample_weight, rows.sample_weight)
    elif len(known) == 2:
        shift = estimate_label_shift(held_out.ranked(), rows.score, rows.sample_weight, n_counted=rows.n_counted)
    else:
        return None
    if not shift.is_plausible:
        warn_user(f"label_shift: {shift} Place the bands without label_shift, or on rows with labels")
    return shift


def refuse_too_few(rows: ScoredRows, coverage: float) -> None:
    """Refuse too few rows to place a band: an empty band would make all later rows automatic."""
    if rows.band_groups is None:
        _refuse_number(rows.n_effective, coverage, "", "pass more rows, such as those of a longer time")
        return
    weight = np.ones(len(rows)) if rows.sample_weight is None else rows.sample_weight
    for group, positions in positions_by_group(rows.band_groups).items():
        # By its share of the weight, because a counted row stands for several.
        n_rows = rows.n_effective * float(weight[positions].sum() / weight.sum())
        remedy = "pass more of them, or none, and it keeps the bands of the fit"
        _refuse_number(n_rows, coverage, f" of the group {group!r}", remedy)


def _refuse_number(n_rows: float, coverage: float, of_group: str, remedy: str) -> None:
    rounding = 1e-6
    if n_rows < FEWEST_GROUP_ROWS - rounding:
        raise ValueError(
            f"X must hold at least {FEWEST_GROUP_ROWS} rows{of_group} to place a band on, got {n_rows:.4g}; {remedy}"
        )
    if (1.0 - coverage) * n_rows < 1.0 - rounding and coverage < 1.0:
        raise ValueError(
            f"X must hold at least {1.0 / (1.0 - coverage):.0f} rows{of_group} to place a band on for a coverage of "
            f"{coverage:g}, got {n_rows:.4g}, of which it rejects none; {remedy}"
        )


def score_unlabelled(score: Score, X: Table, sample_weight: Column, band_groups: Column) -> ScoredRows:
    """Score one table, or the batches of an iterator one by one."""
    if isinstance(X, list | tuple) and X and getattr(X[0], "ndim", 0) == 2:
        raise ValueError(
            f"X must be a table or an iterator of batches, got a {type(X).__name__} of tables; pass iter(X)"
        )
    if not isinstance(X, Iterator):
        # Before scoring, because most models refuse no rows in words of their own.
        if count_rows(X) == 0:
            raise ValueError("X must hold at least one row to place the bands on, got 0")
        return score(X, sample_weight, band_groups)
    if sample_weight is not None or band_groups is not None:
        raise ValueError(
            "sample_weight and band_groups must come with each batch if X is an iterator; yield tuples "
            "(X, sample_weight, band_groups), with None for what is not used"
        )
    batches = []
    for batch in X:
        parts = batch if isinstance(batch, tuple) else (batch,)
        if len(parts) > 3:
            raise ValueError(f"a batch must be X or a tuple (X, sample_weight, band_groups), got {len(parts)} parts")
        if count_rows(parts[0]) != 0:
            batches.append(score(*(*parts, None, None)[:3]))
    if not batches:
        raise ValueError(
            "X must give at least one batch with rows, got none; an iterator can be used only once, make it again"
        )
    return ScoredRows.concatenate(batches)
