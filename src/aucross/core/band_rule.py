"""The base class of every rule; a rule gives the band to reject for a coverage, and facts about this band.

A new rule is one new class: a frozen dataclass with :meth:`BandRule.place` and :meth:`BandRule.place_anew`. Everything
else has a default, and no caller has to check which class a rule is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from aucross.core.bands import RejectionBand, check_coverage
from aucross.core.capacity import rows_around_band, share_of_groups
from aucross.core.correction import CoverageMap
from aucross.core.noise import kept_clear
from aucross.core.ranking import FloatArray, IndexArray, RankedScores
from aucross.core.rounding import ScoreRounding
from aucross.core.scored_rows import Rows, RuleInput

Found = TypeVar("Found")

# On what a band lies: the score of the positive class, the confidence in the predicted class, or something that takes
# the models to compute.
Axis = Literal["score", "confidence", "other"]

# Answers that a rule keeps: a coverage is placed once, and far fewer than this are in use.
_MOST_KEPT = 4000


class RowBands(NamedTuple):
    """The selection score of each row and the ends of its band."""

    selection_score: FloatArray
    lower: FloatArray
    upper: FloatArray

    @property
    def selected(self) -> NDArray[np.bool_]:
        """Mask of the rows outside of their band; a score that is not a number counts as inside."""
        is_below: NDArray[np.bool_] = self.selection_score < self.lower
        return is_below | (self.selection_score > self.upper)


@dataclass(frozen=True)
class BandRule(ABC):
    """Base of all rules that turn a coverage into the band to reject.

    A subclass says where it places a band for a coverage. The base places each coverage once, applies the coverage map,
    and widens a band of rounded scores to unrounded ones. :meth:`band`, :meth:`selection_score` and
    :meth:`expected_coverage` check the coverage; every other method expects a coverage that was checked before.

    Parameters
    ----------
    is_replaced : bool, default=False
        Whether the bands were placed again after the fit, on rows without labels.
    judged_apart : bool, default=False
        Whether one model judges a row and another one answers it; the band then lies on the score of the judge.
    coverage_map : CoverageMap, optional
        Converts the requested coverage to the coverage that a band is placed for; by default they are equal.
    rounding : ScoreRounding, optional
        How the scores that placed the rule were rounded.
    """

    is_replaced: bool = field(default=False, kw_only=True, repr=False)
    judged_apart: bool = field(default=False, kw_only=True, repr=False)
    coverage_map: CoverageMap | None = field(default=None, kw_only=True, repr=False)
    rounding: ScoreRounding | None = field(default=None, kw_only=True, repr=False)

    # ---- what a rule does, for the coverage that it is placed for ----

    @abstractmethod
    def place(self, coverage: float) -> RejectionBand:
        """Find the band for a checked coverage in (0, 1); called once per coverage."""

    @abstractmethod
    def place_anew(self, rows: RuleInput, *, label_shift: bool) -> BandRule:
        """Return a rule of this kind, placed on other, unlabelled rows."""

    def scores_of(self, rows: RuleInput, coverage: float) -> FloatArray:  # noqa: ARG002
        """Return the score that the band for a coverage applies to."""
        return rows.score

    def share_selected(self, coverage: float) -> float:
        """Return the selected share of the rows that placed the band; ties can make it larger than requested.

        By default this is the coverage itself; a rule that stores these rows counts them instead.
        """
        return coverage

    def auc_gain(self, coverage: float) -> float | None:  # noqa: ARG002
        """Return the AUC gain on the rows that placed the band: selected rows minus all; None for other targets."""
        return None

    def rows_to_reject(self, rows: RuleInput, capacity: int, order: IndexArray) -> IndexArray:
        """Return the positions of exactly `capacity` rows to reject; `order` breaks ties.

        By default these are the rows nearest in rank to the middle of the band placed on the given rows.
        """
        if not 0 < capacity < len(rows):
            return np.arange(min(capacity, len(rows)))
        band = self.place_anew(rows, label_shift=False).placed(1.0 - capacity / len(rows))
        return rows_around_band(rows.score, band, capacity, order)

    def clear_of_noise(self, band: RejectionBand) -> RejectionBand:
        """Return the band with its ends moved away from known scores, out of reach of their noise."""
        return band

    # ---- what a rule states about itself ----

    @property
    def lies_on(self) -> Axis:
        """The kind of score that the bands lie on, if the same model answers and judges."""
        return "score"

    @property
    def is_fixed(self) -> bool:
        """Whether the place of the band is fixed in advance (the lowest scores) instead of searched."""
        return False

    @property
    def ranking(self) -> RankedScores | None:
        """The ranking that the bands were placed on; None for rules that lie on other scores."""
        return None

    @property
    def n_placing_rows(self) -> int | None:
        """Number of rows that place the bands; None if all given rows do."""
        return None

    @property
    def group_labels(self) -> tuple[Any, ...] | None:
        """Groups with bands of their own, in the order of the fit; None if all rows share one band."""
        return None if None in self.rules_by_group else tuple(self.rules_by_group)

    @property
    def rules_by_group(self) -> Mapping[Any, BandRule]:
        """The rule of each group; if all rows share one rule, that rule under the key None."""
        return {None: self}

    def probability_at(self, rows: RuleInput) -> FloatArray | None:  # noqa: ARG002
        """Return the probability of the positive class from the placing rows; None if unknown."""
        return None

    # ---- what everyone asks, for the coverage that is asked for ----

    @property
    def axis(self) -> Axis:
        """The kind of score that the bands lie on; "other" if a judge's score is needed to apply them."""
        return "other" if self.judged_apart else self.lies_on

    def coverage_to_place(self, coverage: float) -> float:
        """Return the coverage to place the band for, so that new rows reach the requested coverage."""
        if (to_place := self.coverage_map) is None:
            return coverage
        return self._once("to_place", coverage, lambda: to_place.coverage_to_place(self, coverage))

    def band(self, coverage: float, group: Any = None) -> RejectionBand:
        """Return the band for a target coverage in (0, 1], of one group if the bands were fitted per group."""
        rule = self.rule(group)
        return rule.placed(rule.coverage_to_place(check_coverage(coverage)))

    def rule(self, group: Any = None) -> BandRule:
        """Return the rule of one group, or the only rule without groups; raise for a group unknown to the fit."""
        if group is not None:
            raise ValueError(_no_groups("band_group"))
        return self

    def placed(self, coverage: float) -> RejectionBand:
        """Return the band placed for a coverage, without the coverage map; coverage 1 rejects nothing."""

        def place() -> RejectionBand:
            band = self.clear_of_noise(self.place(coverage))
            return band if self.rounding is None else self.rounding.widen(band)

        return RejectionBand() if coverage == 1.0 else self._once("band", coverage, place)

    def selection_score(self, rows: RuleInput, coverage: float) -> FloatArray:
        """Return the score that the band for a coverage applies to."""
        return self.scores_of(rows, self.coverage_to_place(check_coverage(coverage)))

    def expected_coverage(self, coverage: float, group: Any = None) -> float:
        """Return the share of new rows, or of new rows of one group, that the band for a coverage should select."""
        coverage, rule = check_coverage(coverage), self.rule(group)
        mapped = rule.coverage_map
        expected = rule.share_selected if mapped is None else partial(mapped.expected_coverage, rule)
        return rule._once("expected", coverage, lambda: min(max(expected(coverage), 0.0), 1.0))

    def placed_on(self, rows: RuleInput, *, label_shift: bool = False) -> BandRule:
        """Return a rule of this kind, placed on other, unlabelled rows.

        With `label_shift`, the share of positives is estimated from the scores, because it may have changed.
        """
        self.parts(rows)  # refuses groups that are missing or of no use
        rounded = rows if self.rounding is None else replace(rows, columns=self.rounding.round(rows.columns))
        return replace(
            self.place_anew(rounded, label_shift=label_shift),
            is_replaced=True,
            judged_apart=self.judged_apart,
            coverage_map=None if self.coverage_map is None else self.coverage_map.for_rows(rows),
            rounding=self.rounding,
        )

    def parts(self, rows: RuleInput) -> list[tuple[Rows, BandRule]]:
        """Return pairs of rows and the rule that decides on them."""
        if rows.groups is not None:
            raise ValueError(_no_groups("band_groups"))
        return [(slice(None), self)]

    def bands_of(self, rows: RuleInput, coverage: float) -> RowBands:
        """Return the selection score and the band of each row."""
        self.parts(rows)  # refuses groups
        to_place = self.coverage_to_place(coverage)
        band, score = self.placed(to_place), self.scores_of(rows, to_place)
        # One band for all rows: each end is stored once, however many rows there are.
        return RowBands(score, np.broadcast_to(band.lower, len(score)), np.broadcast_to(band.upper, len(score)))

    def _once(self, what: str, coverage: float, find: Callable[[], Found]) -> Found:
        """Return the stored result for a coverage, or compute and store it."""
        known: dict[tuple[str, float], Found] = self.__dict__.setdefault("_known", {})
        if (what, coverage) in known:
            return known[what, coverage]
        found = find()
        if len(known) >= _MOST_KEPT:
            known.clear()
        known[what, coverage] = found  # threads may find the same twice; both are equal
        return found

    def __getstate__(self) -> dict[str, Any]:
        # What is kept beside the fields is cheap to compute again and would swell a pickle.
        return {part.name: getattr(self, part.name) for part in fields(self)}


def _no_groups(name: str) -> str:
    return f"{name} must not be given: the bands were fitted without groups; call fit(..., band_groups=...)"


def _needs_group(name: str) -> str:
    return f"{name} must be given: the bands were fitted per group, so a row needs its group"


@dataclass(frozen=True)
class RankedRule(BandRule):
    """A rule placed on a ranking of one score.

    Parameters
    ----------
    ranked : RankedScores
        The rows that place the bands.
    """

    ranked: RankedScores

    @property
    def ranking(self) -> RankedScores:
        """The ranking that the bands were placed on."""
        return self.ranked

    def clear_of_noise(self, band: RejectionBand) -> RejectionBand:
        """Return the band with ends that keep clear of the ranked scores."""
        return kept_clear(band, self.ranked.scores, self.ranked.noise)

    def share_selected(self, coverage: float) -> float:
        """Return the share of the weight that the band selects."""
        return self.ranked.coverage(self.placed(coverage)) if self.ranked.total > 0 else coverage

    def gain_of_ranked(self, coverage: float) -> float:
        """Return the AUC of the ranked rows that the band selects minus the AUC of all."""
        return self._once("gain", coverage, lambda: self.ranked.auc(self.placed(coverage)) - self.ranked.auc())

    def probability_at(self, rows: RuleInput) -> FloatArray | None:
        """Return the share of positives at each score."""
        return self.ranked.probability_at(self.ranked_score(rows))

    def ranked_score(self, rows: RuleInput) -> FloatArray:
        """Return the score of each row, rounded in the way the ranked scores were."""
        return rows.score if self.rounding is None else self.rounding.round(rows.score)


@dataclass(frozen=True)
class GroupBands(BandRule):
    """A separate rule for each group of rows, so that every group has the requested coverage.

    Parameters
    ----------
    rules : mapping of group to BandRule
        The groups and their rules.
    """

    rules: Mapping[Any, BandRule]

    def __post_init__(self) -> None:
        object.__setattr__(self, "judged_apart", any(rule.judged_apart for rule in self.rules.values()))

    def place(self, coverage: float) -> RejectionBand:  # noqa: ARG002
        """Refuse, because each group has its own band."""
        raise ValueError(_needs_group("band_group"))

    def rule(self, group: Any = None) -> BandRule:
        """Return the rule of one group; raise for a group unknown to the fit."""
        if group is None:
            raise ValueError(_needs_group("band_group"))
        if group not in self.rules:
            known = ", ".join(repr(known) for known in list(self.rules)[:10])
            raise ValueError(
                f"band_groups must hold only groups seen in fit ({known}), got {group!r}; map it to one of them or fit "
                "again with rows of this group"
            )
        return self.rules[group]

    def parts(self, rows: RuleInput) -> list[tuple[Rows, BandRule]]:
        """Return the rows of each group with its rule; groups come in the order of the fit, not of the rows."""
        positions = positions_by_group(_groups_of(rows))
        rules = {group: self.rule(group) for group in positions}
        return [(positions[group], rules[group]) for group in self.rules if group in positions]

    def selection_score(self, rows: RuleInput, coverage: float) -> FloatArray:
        """Return the selection score of each row by the rule of its group."""
        return self.bands_of(rows, check_coverage(coverage)).selection_score

    def bands_of(self, rows: RuleInput, coverage: float) -> RowBands:
        """Return the selection score and the band of each row, by the rule of its group."""
        bands = RowBands(*(np.empty(len(rows)) for _ in RowBands._fields))
        for positions, rule in self.parts(rows):
            for whole, part in zip(bands, rule.bands_of(ungrouped(rows, positions), coverage), strict=True):
                whole[positions] = part
        return bands

    def place_anew(self, rows: RuleInput, *, label_shift: bool) -> GroupBands:
        """Place the rule of each group on its rows; groups without rows keep their rules."""
        placed = {
            group: self.rule(group).placed_on(ungrouped(rows, positions), label_shift=label_shift)
            for group, positions in positions_by_group(_groups_of(rows)).items()
        }
        return GroupBands({**self.rules, **placed})

    def rows_to_reject(self, rows: RuleInput, capacity: int, order: IndexArray) -> IndexArray:
        """Choose the rows of every group, dividing the capacity by the sizes of the groups."""
        parts = self.parts(rows)
        shares = share_of_groups([len(rows.columns[positions]) for positions, _ in parts], capacity)
        taken = [
            np.arange(len(rows))[positions][rule.rows_to_reject(ungrouped(rows, positions), share, order[positions])]
            for (positions, rule), share in zip(parts, shares, strict=True)
        ]
        return np.sort(np.concatenate(taken)) if taken else np.empty(0, dtype=np.intp)

    @property
    def lies_on(self) -> Axis:
        """The kind of score that the bands of all groups lie on; "other" if groups differ."""
        axes = {rule.lies_on for rule in self.rules.values()}
        return axes.pop() if len(axes) == 1 else "other"

    @property
    def is_fixed(self) -> bool:
        """Whether the place of every band is fixed in advance."""
        return all(rule.is_fixed for rule in self.rules.values())

    @property
    def rules_by_group(self) -> Mapping[Any, BandRule]:
        """The rule of each group."""
        return self.rules


def _groups_of(rows: RuleInput) -> Any:
    if rows.groups is None:
        raise ValueError(_needs_group("band_groups"))
    return rows.groups


def ungrouped(rows: RuleInput, positions: Rows) -> RuleInput:
    """Return some of the rows without their groups, for the rule of one group."""
    return replace(rows.take(positions), groups=None)


def positions_by_group(groups: Any) -> dict[Any, IndexArray]:
    """Return the positions of the rows of each group, groups in order of appearance."""
    codes: dict[Any, int] = {}
    numbers = np.array([codes.setdefault(group, len(codes)) for group in groups.tolist()], dtype=np.intp)
    return {group: np.flatnonzero(numbers == code) for group, code in codes.items()}
