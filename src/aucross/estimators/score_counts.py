"""Held-out scores of many rows as counts, which suffice to place a band.

::

    partition ──► held-out scores, rounded ──► ScoreCounts ─┐
    partition ──► held-out scores, rounded ──► ScoreCounts ─┼─ merge ──► fit_on_counts(clf, model, counts)
    partition ──► ...                                      ─┘

Rows of equal score become one entry with their total weight, and entries of partitions can be added in any order. So
rows are counted where they are stored; only counts and models are sent between machines.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from aucross.core.band_rule import positions_by_group
from aucross.core.ranking import IndexArray, RankedScores
from aucross.core.rounding import ScoreRounding
from aucross.core.scored_rows import RuleInput, ScoredRows
from aucross.estimators.held_out import HeldOutScores
from aucross.estimators.reading import RoundingReader

# Weights are added up over partitions, so none of them may be brought to another scale on its own.
_LARGEST_WEIGHT = 1e30


@dataclass(frozen=True)
class ScoreCounts:
    """Number of rows of each class at each held-out score, for each group and half.

    :meth:`of` counts the rows of one partition, :meth:`merge` combines partitions.

    Attributes
    ----------
    rounding : ScoreRounding
        How scores were rounded.
    rankings : mapping of (group, half) to RankedScores
        The counts; the group is None if rows have no groups, and the half is None if rows have no halves.
    answers_by_score : bool
        Whether the model predicts the class with the highest score.
    """

    rounding: ScoreRounding
    rankings: Mapping[tuple[Any, int | None], RankedScores] = field(default_factory=dict)
    answers_by_score: bool = True

    @classmethod
    def of(
        cls, held_out: HeldOutScores, reader: RoundingReader, rounding: ScoreRounding, half: IndexArray | None = None
    ) -> ScoreCounts:
        """Count the held-out scores of some rows of two classes; `half` is 0 or 1 if halves are blended."""
        if held_out.sample_weight is not None:
            check_scale(held_out.sample_weight)
            used = np.flatnonzero(held_out.sample_weight)
            held_out, half = held_out.take(used), None if half is None else half[used]
        score = reader.rounded(held_out.responses, rounding)
        rankings = {}
        for key, rows in _parts(held_out.band_groups, half, len(score)):
            weight = None if held_out.sample_weight is None else held_out.sample_weight[rows]
            rankings[key] = RankedScores.from_labels(held_out.positive[rows], score[rows], weight)
        return cls(rounding, rankings, held_out.answers_by_score)

    @classmethod
    def from_ranking(cls, ranked: RankedScores) -> ScoreCounts:
        """Build from counts made elsewhere, for instance by a query.

        If all scores fit in 20 bits, they stay rounded to 20 bits; otherwise they are rounded to float32.
        """
        if not ranked.knows_rows:
            raise ValueError(
                "ranked must hold numbers of rows or powers of weights, got sums of fractional weights, which do not "
                "tell how many rows they are; rank with RankedScores.from_labels, or query with a weight"
            )
        rounding = ScoreRounding(20)
        if not np.array_equal(rounding.round(ranked.scores), ranked.scores):
            rounding = ScoreRounding(32)
        scores, place = np.unique(rounding.round(ranked.scores), return_inverse=True)
        if not len(scores):
            return cls(rounding)
        starts = np.flatnonzero(np.diff(place, prepend=-1))
        if ranked.powers is not None:
            rounded = RankedScores.of_powers(scores, np.add.reduceat(ranked.powers, starts, axis=-1))
        else:
            rounded = RankedScores(
                scores, *(np.add.reduceat(counts, starts) for counts in (ranked.positives, ranked.negatives))
            )
        return cls(rounding, {(None, None): rounded})

    @classmethod
    def merge(cls, counts: Iterable[ScoreCounts]) -> ScoreCounts:
        """Add up the counts of different rows; needs at least one."""
        parts = list(counts)
        if len({part.rounding for part in parts}) != 1:
            raise ValueError("counts must be of scores that were rounded in one way, got none or several; count again")
        together: dict[Any, list[RankedScores]] = {}
        for part in parts:
            for key, rankings in part.rankings.items():
                together.setdefault(key, []).append(rankings)
        merged = {key: RankedScores.merge(rankings) for key, rankings in together.items()}
        return cls(parts[0].rounding, merged, all(part.answers_by_score for part in parts))

    def held_out(self) -> tuple[HeldOutScores, IndexArray | None]:
        """Return the held-out scores, one for each distinct score of each class, group and half, and their halves."""
        arrival = list(dict.fromkeys(group for group, _ in self.rankings))
        keys = sorted(self.rankings, key=lambda key: (arrival.index(key[0]), key[1] or 0))
        if not keys:
            raise ValueError("counts must hold rows to place a band on, got none; pass rows with weight above 0")
        entries = [_entries(self.rankings[key]) for key in keys]
        labels, responses, rows_each, weight, squared_weight = map(np.concatenate, zip(*entries, strict=True))
        key_of_entry, groups = np.repeat(np.arange(len(keys)), [len(part[0]) for part in entries]), None
        if arrival != [None]:
            groups = np.empty(len(keys), dtype=object)
            groups[:] = [group for group, _ in keys]
            groups = groups[key_of_entry]
        held_out = HeldOutScores(
            np.arange(len(labels)),
            labels.astype(np.intp),
            responses,
            weight,
            band_groups=groups,
            answers_by_score=self.answers_by_score,
            counts=rows_each,
            squared_weight=squared_weight,
        )
        halves = [half for _, half in keys]
        return held_out, None if None in halves else np.array(halves, dtype=np.intp)[key_of_entry]

    def ranking(self) -> RankedScores:
        """Return the ranking of all rows on which bands are placed."""
        ranked = RankedScores.merge(self.rankings.values())
        return RankedScores(ranked.scores, ranked.positives, ranked.negatives)

    @property
    def n_rows(self) -> int:
        """Number of counted rows."""
        return int(sum(ranked.totals[:, 0].sum() for ranked in self.rankings.values()))


def count_rows(scored: ScoredRows, reader: RoundingReader, rounding: ScoreRounding) -> ScoredRows:
    """Count scored rows of two classes, without labels."""
    weight = np.ones(len(scored)) if scored.sample_weight is None else scored.sample_weight
    score = reader.rounded(scored.score, rounding)
    rows = replace(scored.rule_input, columns=reader.read(score, None)[0], sample_weight=weight)
    return _together(replace(scored, score=score, rule_input=rows), float(weight @ weight))


def merge_counted(parts: Iterable[ScoredRows]) -> ScoredRows:
    """Add up the counts of different rows."""
    together = list(parts)
    return _together(ScoredRows.concatenate(together), sum(part.squared_weights or 0.0 for part in together))


def _together(rows: ScoredRows, squares: float) -> ScoredRows:
    assert rows.sample_weight is not None
    first, sums = [], []
    for _, positions in _parts(rows.band_groups, None, len(rows)):
        _, starts, entry = np.unique(rows.score[positions], return_index=True, return_inverse=True)
        first.append(np.arange(len(rows))[positions][starts])
        sums.append(np.bincount(entry, weights=rows.sample_weight[positions], minlength=len(starts)))
    taken = rows.take(np.concatenate(first) if first else np.empty(0, dtype=np.intp))
    rule_input: RuleInput = replace(taken.rule_input, sample_weight=np.concatenate([np.empty(0), *sums]))
    return replace(taken, rule_input=rule_input, squared_weights=squares)


def weighed(scored: ScoredRows, weight: ArrayLike | None) -> ScoredRows:
    """Attach unscaled weights to the scored rows of a partition; scaling needs all partitions."""
    if weight is None:
        return scored
    weight = np.asarray(weight, dtype=np.float64)
    check_scale(weight)
    return scored.with_rows(sample_weight=weight, band_groups=None)


def check_scale(weight: ArrayLike) -> None:
    """Refuse negative, non-finite, tiny or huge weights."""
    weight = np.asarray(weight)
    largest = weight.max(initial=0.0)
    if (
        not np.isfinite(weight).all()
        or (weight < 0).any()
        or not (largest == 0 or 1 / _LARGEST_WEIGHT <= largest <= _LARGEST_WEIGHT)
    ):
        raise ValueError(
            "sample_weight must be finite, not negative and of a size between 1e-30 and 1e30, because weights of "
            f"partitions are added up, got {weight.min():g} to {largest:g}; divide all weights by one number"
        )


def _parts(groups: Any, half: IndexArray | None, n_rows: int) -> Iterable[tuple[tuple[Any, int | None], Any]]:
    """Yield each key (group, half) with the rows that belong to it."""
    by_group = {None: np.arange(n_rows)} if groups is None else positions_by_group(groups)
    for group, positions in by_group.items():
        if half is None:
            yield (group, None), positions
            continue
        for number in (0, 1):
            if len(chosen := positions[half[positions] == number]):
                yield (group, number), chosen


def _entries(ranked: RankedScores) -> tuple[Any, ...]:
    """Return label, score, number of rows, weight and squared weight of each entry, positives first."""
    columns = [
        (np.full(len(used), label), ranked.scores[used], *powers[:3, used])
        for label, powers in zip((1, 0), ranked.class_powers, strict=True)
        for used in [np.flatnonzero(powers[0] > 0)]
    ]
    return tuple(np.concatenate(column) for column in zip(*columns, strict=True))
