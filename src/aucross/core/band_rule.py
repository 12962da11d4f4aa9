"""What every rule answers: which band to reject for a coverage, and what others need to know of the rule.

A new rule is one new class: a frozen dataclass with :meth:`BandRule.place` and :meth:`BandRule.place_anew`. Everything
else has a default, and nothing outside asks what kind of rule it is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aucross.core.bands import RejectionBand, check_coverage
from aucross.core.capacity import rows_around_band, share_of_groups
from aucross.core.noise import kept_clear
from aucross.core.ranking import FloatArray, IndexArray, RankedScores
from aucross.core.scored_rows import Rows, RuleInput

# On what a band lies: the score of the positive class, the confidence in the predicted class, or something that takes
# the models to compute.
Axis = Literal["score", "confidence", "other"]

# Bands that a rule keeps: a coverage is placed once, and far fewer than this are in use.
_MOST_KEPT = 1000


class RowBands(NamedTuple):
    """The selection score of each row and the ends of its band."""

    selection_score: FloatArray
    lower: FloatArray
    upper: FloatArray

    @property
    def selected(self) -> NDArray[np.bool_]:
        """Mask of the rows outside of their band; a score that is no number is inside."""
        return outside(self.selection_score, self.lower, self.upper)


def outside(score: FloatArray, lower: FloatArray | float, upper: FloatArray | float) -> NDArray[np.bool_]:
    """Mask of the scores outside of a band whose ends belong to it; a score that is no number is inside."""
    is_below: NDArray[np.bool_] = score < lower
    return is_below | (score > upper)


class TooFewRows(NamedTuple):
    """Why a promise rejects nothing: so many rows place the band, and for this confidence so many would do."""

    n_rows: int
    confidence: float
    enough: int


@dataclass(frozen=True)
class BandRule(ABC):
    """Anything that turns a coverage into the band to reject.

    Parameters
    ----------
    is_replaced : bool, default=False
        Whether the bands were placed anew, on rows without labels, after the fit.
    """

    is_replaced: bool = field(default=False, kw_only=True, repr=False)

    # ---- what a rule does ----

    @abstractmethod
    def place(self, coverage: float) -> RejectionBand:
        """Find the band for a checked coverage in (0, 1]; :meth:`band` asks once for each."""

    @abstractmethod
    def place_anew(self, rows: RuleInput, *, label_shift: bool) -> BandRule:
        """Return the same kind of rule for other rows, whose labels are not known."""

    def selection_score(self, rows: RuleInput, coverage: float) -> FloatArray:  # noqa: ARG002
        """Return the score of rows on which the band for a coverage lies."""
        return rows.score

    def rows_to_reject(self, rows: RuleInput, capacity: int, order: IndexArray) -> IndexArray:
        """Return the positions of exactly `capacity` of the given rows; rows of equal score go by `order`.

        By default those nearest in rank to the middle of the band that the rule places on the given rows.
        """
        if not 0 < capacity < len(rows):
            return np.arange(min(capacity, len(rows)))
        band = self.placed_on(rows).band(1.0 - capacity / len(rows))
        return rows_around_band(rows.score, band, capacity, order)

    def clear_of_noise(self, band: RejectionBand) -> RejectionBand:
        """Return the band with ends that no known score can pass by its last digits; as it is if a rule knows none."""
        return band

    # ---- what a rule states about itself ----

    @property
    def axis(self) -> Axis:
        """On what the bands lie."""
        return "score"

    @property
    def is_fixed(self) -> bool:
        """Whether the place of the band is fixed in advance (the lowest scores), not found by a search."""
        return False

    @property
    def judged_apart(self) -> bool:
        """Whether another model judges a row than answers it: held-out scores are then not those of the answer."""
        return False

    @property
    def ranking(self) -> RankedScores | None:
        """The ranking that the bands were placed on; None for rules that lie on other scores."""
        return None

    @property
    def n_placing_rows(self) -> int | None:
        """Number of rows that place the bands; None if that is all rows given."""
        return None

    @property
    def group_labels(self) -> tuple[Any, ...] | None:
        """Groups that have bands of their own; None if all rows share one."""
        return None

    @property
    def rules_by_group(self) -> Mapping[Any, BandRule]:
        """The rule of each group; the rule itself under None if all rows share one."""
        return {None: self}

    @property
    def innermost(self) -> BandRule:
        """The rule that was placed on rows, without those that ask it for another coverage."""
        return self

    def probability_at(self, rows: RuleInput) -> FloatArray | None:  # noqa: ARG002
        """Probability of being positive, as the rows that placed the bands bear it out; None if they do not tell."""
        return None

    def auc_gain(self, coverage: float) -> float | None:  # noqa: ARG002
        """AUC of the rows that the band selects minus that of all rows that placed it; None if it aims elsewhere."""
        return None

    def coverage_reached(self, coverage: float) -> float:
        """Share of the rows that placed the bands that are selected: more than was asked for where ties are in the way.

        By default the coverage itself; a rule that knows the rows that placed it counts them.
        """
        return coverage

    def coverage_aimed_at(self, coverage: float) -> float:
        """Coverage that a band without ties would have: above the one asked for where a promise holds back."""
        return coverage

    def too_few_rows(self, coverage: float) -> TooFewRows | None:  # noqa: ARG002
        """What a promise lacks if it may reject nothing at a coverage below 1; None if nothing is lacking."""
        return None

    # ---- what everyone asks ----

    def expected_coverage(self, coverage: float, group: Any = None) -> float:
        """Share of new rows that the band for a coverage in (0, 1] should select, of one group if there are groups."""
        coverage = check_coverage(coverage)
        if group is not None:
            raise ValueError(_no_groups("band_group"))
        if (reached := self._reached.get(coverage)) is None:
            self._reached[coverage] = reached = min(max(self.coverage_reached(coverage), 0.0), 1.0)
        return reached

    def expected_auc_gain(self, coverage: float) -> float | None:
        """Return :meth:`auc_gain`, found once for each coverage: every decision at a coverage asks for it."""
        if coverage not in self._gains:
            self._gains[coverage] = self.auc_gain(coverage)
        return self._gains[coverage]

    def band(self, coverage: float, group: Any = None) -> RejectionBand:
        """Return the band for a target coverage in (0, 1], of one group if the bands were fitted per group."""
        coverage = check_coverage(coverage)
        if group is not None:
            raise ValueError(_no_groups("band_group"))
        if (band := self._bands.get(coverage)) is None:
            band = self.clear_of_noise(self.place(coverage))
            if len(self._bands) >= _MOST_KEPT:
                self._bands.clear()
            self._bands[coverage] = band  # threads may place the same band twice; both are equal
        return band

    def placed_on(self, rows: RuleInput, *, label_shift: bool = False) -> BandRule:
        """Return the same kind of rule placed on other rows, whose labels are not known.

        With `label_shift` the share of positives may have changed, and is estimated from the scores.
        """
        self.parts(rows)  # refuses groups that are missing or of no use
        return replace(self.place_anew(rows, label_shift=label_shift), is_replaced=True)

    def parts(self, rows: RuleInput) -> list[tuple[Rows, BandRule]]:
        """Which rule decides on which rows."""
        if rows.groups is not None:
            raise ValueError(_no_groups("band_groups"))
        return [(slice(None), self)]

    def bands_of(self, rows: RuleInput, coverage: float) -> RowBands:
        """Return the selection score and the band of each row."""
        self.parts(rows)  # refuses groups, which are of no use here
        band = self.band(coverage)
        lower, upper = np.empty((2, len(rows)))
        lower.fill(band.lower)
        upper.fill(band.upper)
        return RowBands(self.selection_score(rows, coverage), lower, upper)

    def selects(self, rows: RuleInput, coverage: float) -> NDArray[np.bool_]:
        """Mask of the rows that are selected, as by :meth:`bands_of`, without a band for each row."""
        if rows.groups is not None:
            self.parts(rows)  # refuses them: they are of no use here
        band = self.band(coverage)
        return outside(self.selection_score(rows, coverage), band.lower, band.upper)

    @cached_property
    def _bands(self) -> dict[float, RejectionBand]:
        return {}

    @cached_property
    def _reached(self) -> dict[float, float]:
        return {}

    @cached_property
    def _gains(self) -> dict[float, float | None]:
        return {}

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

    def coverage_reached(self, coverage: float) -> float:
        """Share of the ranked weight that the band selects."""
        return self.ranked.coverage(self.band(coverage)) if self.ranked.total > 0 else coverage

    def probability_at(self, rows: RuleInput) -> FloatArray | None:
        """Share of positives at each score."""
        return self.ranked.probability_at(rows.score)


@dataclass(frozen=True)
class AucRule(RankedRule):
    """A ranked rule whose bands are searched for the highest AUC of the ranked score."""

    def auc_gain(self, coverage: float) -> float:
        """AUC of the ranked rows that the band selects minus that of all."""
        return self.ranked.auc(self.band(coverage)) - self.ranked.auc()


@dataclass(frozen=True)
class WrappedRule(BandRule):
    """A rule that asks another one for another coverage, and is like it in everything else.

    Parameters
    ----------
    rule : BandRule
        The rule within.
    """

    rule: BandRule

    @abstractmethod
    def coverage_to_ask(self, coverage: float) -> float:
        """Coverage that is asked of the rule within."""

    def place(self, coverage: float) -> RejectionBand:
        """Return the band of the rule within for the coverage that is asked of it."""
        return self.rule.band(self.coverage_to_ask(coverage))

    def selection_score(self, rows: RuleInput, coverage: float) -> FloatArray:
        """Return the selection score of the rule within, for the coverage that is asked of it."""
        if (asked := self._asked.get(coverage)) is None:
            if len(self._asked) >= _MOST_KEPT:
                self._asked.clear()
            self._asked[coverage] = asked = self.coverage_to_ask(coverage)
        return self.rule.selection_score(rows, asked)

    @cached_property
    def _asked(self) -> dict[float, float]:
        return {}

    def coverage_reached(self, coverage: float) -> float:
        """Return the coverage of the rule within, for the coverage that is asked of it."""
        return self.rule.expected_coverage(self.coverage_to_ask(coverage))

    def rows_to_reject(self, rows: RuleInput, capacity: int, order: IndexArray) -> IndexArray:
        """Return the rows that the rule within takes: a number of rows needs no other coverage."""
        return self.rule.rows_to_reject(rows, capacity, order)

    @property
    def axis(self) -> Axis:
        """On what the bands lie."""
        return self.rule.axis

    @property
    def is_fixed(self) -> bool:
        """Whether the place of the band is fixed in advance."""
        return self.rule.is_fixed

    @property
    def judged_apart(self) -> bool:
        """Whether another model judges a row than answers it."""
        return self.rule.judged_apart

    @property
    def ranking(self) -> RankedScores | None:
        """The ranking of the rule within."""
        return self.rule.ranking

    @property
    def n_placing_rows(self) -> int | None:
        """Number of rows that place the bands; None if that is all rows given."""
        return self.rule.n_placing_rows

    @property
    def innermost(self) -> BandRule:
        """The rule that was placed on rows."""
        return self.rule.innermost

    def auc_gain(self, coverage: float) -> float | None:
        """Return the gain of the rule within, for the coverage that is asked of it."""
        return self.rule.auc_gain(self.coverage_to_ask(coverage))

    def probability_at(self, rows: RuleInput) -> FloatArray | None:
        """Probability of being positive, as the rule within tells it."""
        return self.rule.probability_at(rows)


@dataclass(frozen=True)
class JudgeBands(WrappedRule):
    """Bands on what a judge says of a row, who is not the model that answers it.

    The rule within reads the judge's score. A system that has only the answer cannot apply the bands.
    """

    def coverage_to_ask(self, coverage: float) -> float:
        """The coverage asked for."""
        return coverage

    @property
    def axis(self) -> Axis:
        """Not the score that is answered with."""
        return "other"

    @property
    def judged_apart(self) -> bool:
        """Another model judges a row than answers it."""
        return True

    def place_anew(self, rows: RuleInput, *, label_shift: bool) -> BandRule:
        """Place the rule within on other rows, whose judges are drawn in the same way."""
        return JudgeBands(self.rule.placed_on(rows, label_shift=label_shift))


@dataclass(frozen=True)
class GroupBands(BandRule):
    """A rule of its own for each group of rows, so that every group has the coverage asked for.

    Parameters
    ----------
    rules : mapping of group to BandRule
        The groups and their rules.
    """

    rules: Mapping[Any, BandRule]

    def place(self, coverage: float) -> RejectionBand:  # noqa: ARG002
        """Refuse: there is a band for each group and none for all."""
        raise ValueError(_needs_group("band_group"))

    def band(self, coverage: float, group: Any = None) -> RejectionBand:
        """Return the band of one group."""
        return self.place(coverage) if group is None else self.rule(group).band(coverage)

    def expected_coverage(self, coverage: float, group: Any = None) -> float:
        """Share of new rows of one group that its band should select."""
        if group is None:
            raise ValueError(_needs_group("band_group"))
        return self.rule(group).expected_coverage(coverage)

    def rule(self, group: Any) -> BandRule:
        """The rule of one group; an unseen group is an error that names it."""
        if group not in self.rules:
            known = ", ".join(repr(known) for known in list(self.rules)[:10])
            raise ValueError(
                f"band_groups must hold only groups seen in fit ({known}), got {group!r}; map it to one of them or fit "
                "again with rows of this group"
            )
        return self.rules[group]

    def parts(self, rows: RuleInput) -> list[tuple[Rows, BandRule]]:
        """Which rule decides on which rows, in the order of the fit, so that the order of the rows does not matter."""
        positions = positions_by_group(_groups_of(rows))
        rules = {group: self.rule(group) for group in positions}
        return [(positions[group], rules[group]) for group in self.rules if group in positions]

    def selection_score(self, rows: RuleInput, coverage: float) -> FloatArray:
        """Return the selection score of each row by the rule of its group."""
        return self.bands_of(rows, coverage).selection_score

    def bands_of(self, rows: RuleInput, coverage: float) -> RowBands:
        """Return the selection score and the band of each row, by the rule of its group."""
        bands = RowBands(*(np.empty(len(rows)) for _ in RowBands._fields))
        for positions, rule in self.parts(rows):
            for whole, part in zip(bands, rule.bands_of(ungrouped(rows, positions), coverage), strict=True):
                whole[positions] = part
        return bands

    def selects(self, rows: RuleInput, coverage: float) -> NDArray[np.bool_]:
        """Mask of the rows that the rule of their group selects."""
        return self.bands_of(rows, coverage).selected

    def place_anew(self, rows: RuleInput, *, label_shift: bool) -> GroupBands:
        """Place the rule of each group on its rows; groups without rows keep theirs."""
        placed = {
            group: self.rule(group).placed_on(ungrouped(rows, positions), label_shift=label_shift)
            for group, positions in positions_by_group(_groups_of(rows)).items()
        }
        return GroupBands({**self.rules, **placed})

    def rows_to_reject(self, rows: RuleInput, capacity: int, order: IndexArray) -> IndexArray:
        """Return rows of every group: groups share the capacity by their size."""
        parts = self.parts(rows)
        shares = share_of_groups([len(rows.columns[positions]) for positions, _ in parts], capacity)
        taken = [
            np.arange(len(rows))[positions][rule.rows_to_reject(ungrouped(rows, positions), share, order[positions])]
            for (positions, rule), share in zip(parts, shares, strict=True)
        ]
        return np.sort(np.concatenate(taken)) if taken else np.empty(0, dtype=np.intp)

    @property
    def axis(self) -> Axis:
        """On what the bands of all groups lie."""
        axes = {rule.axis for rule in self.rules.values()}
        return axes.pop() if len(axes) == 1 else "other"

    @property
    def is_fixed(self) -> bool:
        """Whether the place of every band is fixed in advance."""
        return all(rule.is_fixed for rule in self.rules.values())

    @property
    def judged_apart(self) -> bool:
        """Whether another model judges a row than answers it."""
        return any(rule.judged_apart for rule in self.rules.values())

    @property
    def group_labels(self) -> tuple[Any, ...]:
        """The groups in the order of the fit."""
        return tuple(self.rules)

    @property
    def rules_by_group(self) -> Mapping[Any, BandRule]:
        """The rule of each group."""
        return self.rules


def _groups_of(rows: RuleInput) -> Any:
    if rows.groups is None:
        raise ValueError(_needs_group("band_groups"))
    return rows.groups


def ungrouped(rows: RuleInput, positions: Rows) -> RuleInput:
    """Some of the rows, for a rule that knows no groups."""
    return replace(rows.take(positions), groups=None)


def positions_by_group(groups: Any) -> dict[Any, IndexArray]:
    """Positions of the rows of each group, groups in order of appearance."""
    codes: dict[Any, int] = {}
    numbers = np.array([codes.setdefault(group, len(codes)) for group in groups.tolist()], dtype=np.intp)
    return {group: np.flatnonzero(numbers == code) for group, code in codes.items()}
