"""Keep the selected share of a stream at a target, for any sequence of scores.

::

    rows, selected ──► level = target + step * (rows * target - selected)
    level ──► band of that coverage ──► the next row is selected or not ──► rows, selected

The state is two counts, so counts of several writers can be added. A level of 0 or less rejects every row, and a level
of 1 or more selects every row. The level is never clipped; the bound on the coverage depends on that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import inf
from numbers import Integral, Real
from threading import Lock
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from aucross.core.band_rule import BandRule, RowBands
from aucross.core.bands import check_coverage
from aucross.core.ranking import FloatArray
from aucross.core.scored_rows import RuleInput, ScoredRows
from aucross.estimators.base import check_classifier
from aucross.estimators.decisions import Decisions
from aucross.estimators.fitted import unlike_rows
from aucross.estimators.review import check_ids
from aucross.estimators.row_hash import Hashes, hash_rows
from aucross.estimators.types import Column, Labels, Table
from aucross.system.text import warn_user

# Bands are placed for so many coverages at most, because placing one takes a millisecond.
GRID = 1000
# By the evidence of `python -m benchmarks.keeper`.
STEP = 0.01
# Rows that are stepped through at a time; each level that occurs is asked for all of them at once.
_BLOCK = 4096

# Counts of one keeper are added to by several threads.
_ADDING = Lock()


@dataclass(frozen=True)
class KeptCounts:
    """Counts of a keeper; the counts of several writers can be added.

    Attributes
    ----------
    rows, selected : int
        Rows that moved the level, and how many of them were selected.
    held : int
        Rows that did not move the level, because it was at a limit set by the user.
    """

    rows: int = 0
    selected: int = 0
    held: int = 0

    def __add__(self, other: KeptCounts) -> KeptCounts:
        return KeptCounts(self.rows + other.rows, self.selected + other.selected, self.held + other.held)


class CoverageKeeper:
    """Keep the selected share of a stream at a target, for any sequence of rows.

    Each row is decided at the level ``coverage + step * (rows * coverage - selected)``, which uses the numbers of rows
    and of selected rows so far: if too few were selected, the level rises. After *T* rows the selected share is within
    ``(1 + step) / (step * T)`` of the target, for drifting and for hostile sequences.

    Parameters
    ----------
    clf : SelectiveClassifier
        A fitted classifier. It is not changed.
    coverage : float in (0, 1], optional
        The share to keep; the classifier's coverage by default.
    step : float in (0, 1], default=0.01
        How far one row moves the level. A larger step reacts faster, but the level varies more.
    limits : pair of float, default=(0, 1)
        Smallest and largest level to use. With ``(0, 0.9)`` no band for a coverage above .9 is used. While the
        level is at a limit, rows that would push it further are not counted, so that it can leave the limit at once;
        the bound on the selected share is then lost, and a warning says so.
    counts : KeptCounts, optional
        Final counts of an earlier keeper, to continue from.

    Attributes
    ----------
    counts : KeptCounts
        Counts so far.
    level : float
        The level at which the next row is decided, not clipped. It is near the target without drift.

    See Also
    --------
    aucross.SelectiveClassifier.recalibrate : Places the band on a whole batch, where the share is exact.
    CoverageMonitor : Detects drift, which a constant selected share hides.

    Notes
    -----
    The page on drift has the proof and the effect of delay, several writers and limits on the bound. Rows of one call
    are processed in the order of a hash of their values, so that their order in a file has no effect. The keeper counts
    the decision of the band, even for rows that go to a person for another reason, and ignores weights. Bands per group
    share one level.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from aucross import AUCross, CoverageKeeper
    >>> X, y = make_classification(8000, flip_y=0.3, random_state=0)
    >>> clf = AUCross(LogisticRegression(), coverage=0.8, random_state=0).fit(X[:4000], y[:4000])
    >>> drifted = 0.4 * X[4000:]
    >>> print(clf.select(drifted).mean().round(2))
    0.46
    >>> keeper = CoverageKeeper(clf)
    >>> print(keeper.decide(drifted).selected.mean().round(2))
    0.8
    """

    def __init__(
        self,
        clf: Any,
        coverage: float | None = None,
        *,
        step: float = STEP,
        limits: tuple[float, float] = (0.0, 1.0),
        counts: KeptCounts | None = None,
    ) -> None:
        self.clf = check_classifier(clf)
        self.coverage = check_coverage(clf.coverage if coverage is None else coverage)
        if not isinstance(step, Real) or isinstance(step, bool) or not 0.0 < step <= 1.0:
            raise ValueError(f"step must be in (0, 1], got {step!r}; pass for example {STEP}")
        self.step: float = float(step)
        are_two = np.shape(limits) == (2,) and all(isinstance(end, Real) for end in limits)
        if not are_two or not 0.0 <= limits[0] <= self.coverage <= limits[1] <= 1.0:
            raise ValueError(
                f"limits must be two numbers in [0, 1] with the coverage of {self.coverage:g} between them, got "
                f"{limits!r}; (0, 1) sets no limits"
            )
        self.limits: tuple[float, float] = (float(limits[0]), float(limits[1]))
        self.counts: KeptCounts = KeptCounts() if counts is None else _checked_counts(counts)

    def __repr__(self) -> str:
        counts = self.counts
        return (
            f"CoverageKeeper(coverage={self.coverage:g}, level={self.level:.3f}, {counts.selected:,} of "
            f"{counts.rows:,} rows selected" + (f", {counts.held:,} held by a limit)" if counts.held else ")")
        )

    @property
    def level(self) -> float:
        """The level at which the next row is decided."""
        counts = self.counts
        return self.coverage + self.step * (counts.rows * self.coverage - counts.selected)

    def bound(self, delay: int = 0) -> float:
        """Return the largest possible distance between the selected share and the target.

        Parameters
        ----------
        delay : int, default=0
            Largest number of rows decided before an earlier row was counted, by other writers or simultaneous calls.

        Returns
        -------
        float
            ``(1 + step * (delay + 1)) / (step * rows)``; infinite before the first row, and once a row was decided at
            a limit.
        """
        counts = self.counts
        if isinstance(delay, bool) or not isinstance(delay, Integral) or delay < 0:
            raise ValueError(f"delay must be a number of rows, 0 or more, got {delay!r}; 0 stands for one writer")
        if not counts.rows or counts.held:
            return inf
        return (1.0 + self.step * (delay + 1)) / (self.step * counts.rows)

    def add(self, counts: KeptCounts) -> None:
        """Add the counts of another keeper, such as one on another server."""
        with _ADDING:
            self.counts += _checked_counts(counts)

    def decide(
        self, X: Table, band_groups: Column = None, *, ids: Column = None, unfamiliar: Literal["review"] | None = None
    ) -> Decisions:
        """Decide rows one after the other, each at the current level, and count them.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features), or ScoredRows
            Rows to decide. Scored rows are processed in the order of a hash of their scores, and ties by `ids`.
        band_groups : array-like of shape (n_samples,), optional
            Group of each row, if the bands were fitted per group.
        ids : array-like of shape (n_samples,), optional
            Unique ids for the table of decisions.
        unfamiliar : "review", optional
            Send rows unlike the training rows to a person. The keeper still counts the decision of the band for them.

        Returns
        -------
        Decisions
            Decisions with the level and the band of each row; ``counted`` holds the counts that this call added.
        """
        unlike = None if unfamiliar is None else unlike_rows(self.clf.fitted_, X, unfamiliar)
        rows = self.clf.scored(X, band_groups=band_groups)
        names = None if ids is None else check_ids(ids, len(rows))
        decisions = self.decided(rows, hash_rows(rows.rule_input.columns if isinstance(X, ScoredRows) else X), names)
        counted = KeptCounts(*decisions.counted or ())
        if counted.held and not self.counts.held:
            low, high = self.limits
            warn_user(
                f"a limit held the level, which is to stay within {low:g} and {high:g}: the selected share can leave "
                f"the target of {self.coverage:g} for as long as it does"
            )
        self.add(counted)
        return decisions if unlike is None else decisions.with_unfamiliar(unlike)

    def decided(self, rows: ScoredRows, hashes: Hashes, names: Labels | None = None) -> Decisions:
        """Decide scored rows in the order of a hash of values and names, without counting them.

        Simultaneous calls start from the same counts, which has the effect of a delay.
        """
        order = np.lexsort((hashes if names is None else hash_rows(names[:, None]), hashes))
        start, counted, rule = self.counts, KeptCounts(), self.clf.band_rule_
        level, selected = np.empty(len(rows)), np.empty(len(rows), dtype=bool)
        score, lower, upper = np.empty((3, len(rows)))
        for first in range(0, len(rows), _BLOCK):
            block = order[first : first + _BLOCK]
            bands, selects = _by_level(rule, rows.rule_input.take(block))
            level[block], selected[block], more = self.follow(start + counted, len(block), selects)
            counted += more
            places = np.rint(np.clip(level[block], *self.limits) * GRID)
            for place in np.unique(places):
                here = places == place
                for column, values in zip((score, lower, upper), bands(int(place)), strict=True):
                    column[block[here]] = values[here]
        counts = (counted.rows, counted.selected, counted.held)
        made: dict[str, Any] = {"scored": rows, "id": names, "decided_by": rule, "level": level, "counted": counts}
        return Decisions(selected, score, self.coverage, lower, upper, **made)

    def follow(
        self, counts: KeptCounts, n_rows: int, selects: Callable[[int, int], bool]
    ) -> tuple[FloatArray, NDArray[np.bool_], KeptCounts]:
        """Decide rows one by one from given counts; return the levels, which rows are selected, and the added counts.

        `selects(row, level)` returns whether a row is selected at a level in thousandths, from 1 to 999.
        """
        target, step, (low, high) = self.coverage, self.step, self.limits
        asked, picked = np.empty(n_rows), np.empty(n_rows, dtype=bool)
        n, k, held = counts.rows, counts.selected, 0
        for row in range(n_rows):
            level = target + step * (n * target - k)
            place = round(min(max(level, low), high) * GRID)
            is_selected = place == GRID or (place > 0 and selects(row, place))
            asked[row], picked[row] = level, is_selected
            # Beyond a limit only what brings the level back is counted, or it would stay there long after its time.
            if (level >= high and high < 1.0 and not is_selected) or (level <= low and low > 0.0 and is_selected):
                held += 1
            else:
                n, k = n + 1, k + is_selected
        return asked, picked, KeptCounts(n - counts.rows, k - counts.selected, held)


def _checked_counts(counts: Any) -> KeptCounts:
    """Return counts unchanged; refuse values that no keeper can have counted."""
    if not isinstance(counts, KeptCounts) or not (0 <= counts.selected <= counts.rows and counts.held >= 0):
        raise ValueError(
            f"counts must be KeptCounts with selected from 0 to rows, got {counts!r}; pass `counts` of another keeper"
        )
    return counts


def _by_level(rule: BandRule, rows: RuleInput) -> tuple[Callable[[int], RowBands], Callable[[int, int], bool]]:
    """Return two cached functions of a level in thousandths: the bands of all rows, and whether a row is selected."""

    @cache
    def bands(place: int) -> RowBands:
        found = rule.bands_of(rows, max(place, 1) / GRID)
        # Level 0 rejects every score.
        ends = np.broadcast_to(np.array([[-inf], [inf]]), (2, len(rows)))
        return found if place else RowBands(found.selection_score, *ends)

    selected = cache(lambda place: bands(place).selected.tolist())
    return bands, lambda row, place: selected(place)[row]
