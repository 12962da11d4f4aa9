"""Last step of a fit: place a rule on held-out rows, and correct its coverage for folds or let it reject less."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from aucross.core.band_rule import BandRule, positions_by_group, ungrouped
from aucross.core.cautious import Caution
from aucross.core.correction import Correction
from aucross.core.nested import NestedBands
from aucross.core.ranking import FloatArray, IndexArray, RankedScores
from aucross.core.rounding import ScoreRounding
from aucross.core.rules import OptimalBands
from aucross.core.scored_rows import RuleInput
from aucross.estimators.hashed_folds import HashedFolds
from aucross.estimators.held_out import HeldOutScores, with_both_classes
from aucross.estimators.reading import Reader
from aucross.estimators.training_rows import Split, TrainingRows, fold_splits, halves_of
from aucross.estimators.types import Folds, Generator

# Held-out rows from which on a group's band is placed by them alone, and those below which it has none.
OWN_BAND_ROWS = 200
FEWEST_GROUP_ROWS = 20

# Trainings that the path of a hold-out method costs beside the one that answers, each on four fifths of its rows.
PATH_FOLDS = 5

# Bands that take or leave a tie of this share of the weight, and are chosen one by one, need not be monotone.
LARGEST_TIE = 0.02


# ---- draws, made before anything is trained ----


def draw_halves(training: TrainingRows, rows: IndexArray, cv: Folds, rng: Generator) -> IndexArray:
    """Assign each held-out row to half 0 or 1, at random within each group.

    With folds from a hash, halves come from a hash too, so that they agree on every engine.
    """
    if isinstance(cv, HashedFolds):
        return cv.half_of(training.X, groups=training.groups)[rows]
    labels, half = training.labels[rows], np.zeros(len(rows), dtype=np.intp)
    parts: dict[Any, IndexArray] = {None: np.arange(len(rows))}
    if training.band_groups is not None:
        parts = positions_by_group(training.band_groups[rows])
    for group, positions in parts.items():
        with naming_group(group, len(positions)):
            _, second = halves_of(labels[positions], rng)
        half[positions[second]] = 1
    return half


def draw_path_splits(training: TrainingRows, split: Split, rng: Generator) -> list[Split]:
    """Draw folds of the training rows, whose scores say where a band lies; return none if a class has too few rows."""
    train = np.setdiff1d(*split)  # splits of one's own may hold out rows that they train on
    part = training.take(train)
    n_folds = min(PATH_FOLDS, int(np.bincount(part.labels, minlength=len(part.classes)).min()))
    if part.groups is not None:
        n_folds = min(n_folds, part.n_groups)
    if n_folds < 2:
        return []
    return [(train[others], train[scored]) for others, scored in fold_splits(part, n_folds, rng)]


# ---- what places a rule ----


@dataclass(frozen=True)
class Placing:
    """Data that place a rule: all held-out rows, or those of one group."""

    held_out: HeldOutScores
    rows: RuleInput  # what the rule reads of them
    reader: Reader
    half: IndexArray | None = None  # of each row, 0 or 1, for methods that blend rows with two halves; -1 is neither
    path: HeldOutScores | None = None  # other rows that fix a path of bands; these then only say how far to go
    seen: tuple[RuleInput, RuleInput] | None = None  # training rows, scored by the refitted and by the fold models
    judged_apart: bool = False
    rounding: ScoreRounding | None = None  # of scores that were counted
    counted: RankedScores | None = None  # the ranking of these rows, where they were counted

    @classmethod
    def of(
        cls, held_out: HeldOutScores, reader: Reader, *, path: HeldOutScores | None = None, **others: Any
    ) -> Placing:
        """Prepare held-out rows; scores that differ only by noise become equal."""
        clear = held_out.without_noise()
        path = None if path is None else path.without_noise()
        if clear.responses is not held_out.responses:
            others["counted"] = None  # scores of the ranking differ by noise
        return cls(clear, clear.read_by(reader).without_noise(), reader, path=path, **others)

    @property
    def halves(self) -> list[IndexArray]:
        """Positions of the two halves; none if the method does not use them."""
        return [] if self.half is None else [np.flatnonzero(self.half == number) for number in (0, 1)]

    def smooth_ranking(self) -> RankedScores:
        """Rank the rows with isotonic probabilities as labels; rows of a tie share one, even if the tie is cut."""
        ranked = self.held_out.ranked() if self.counted is None else self.counted
        smooth = with_both_classes(ranked).isotonic()
        if self.rows.tie_breaker is None:
            return smooth
        entry = np.minimum(np.searchsorted(smooth.scores, self.held_out.scores), len(smooth) - 1)
        probability = (smooth.positives / (smooth.positives + smooth.negatives))[entry]
        return RankedScores.from_probabilities(probability, self.rows.score, self.rows.sample_weight)

    def part(self, group: Any, positions: IndexArray, *, borrows: bool) -> Placing:
        """Return the rows of one group; a small group also borrows all other rows, with little weight."""
        weight, own, half = self.rows.sample_weight, self.held_out.take(positions), self.half
        half = None if half is None else half[positions]
        if borrows:
            if (n_rows := own.n_rows) < FEWEST_GROUP_ROWS:
                raise ValueError(f"a band of its own needs at least {FEWEST_GROUP_ROWS} held-out rows, got {n_rows}")
            if len(np.unique(own.labels)) < len(np.unique(self.held_out.labels)):
                own.ranked_both_classes()
            # A row that is scored several times is one row.
            positions, weight = with_borrowed_rows(positions, len(self.rows), weight, n_own=own.n_rows)
            own = replace(self.held_out.take(positions), sample_weight=weight)
            half = None if half is None else np.append(half, np.full(len(positions) - len(half), -1))
        rows, seen, path = ungrouped(self.rows, positions), self.seen, self.path
        if seen is not None:
            n_seen = int(np.sum(seen[0].groups == group)) if borrows else None
            seen = _of_group(seen[0], group, n_seen), _of_group(seen[1], group, n_seen)
        if path is not None:  # of the group, or of all rows if it lacks a class
            of_group = path.take(np.flatnonzero(path.band_groups == group))
            path = of_group if len(np.unique(of_group.labels)) > 1 else path
        return replace(
            self,
            held_out=own,
            rows=replace(rows, sample_weight=weight) if borrows else rows,
            half=half,
            path=path,
            seen=seen,
            counted=None,
        )

    def in_force(self, rule: BandRule, confidence: float | None) -> BandRule:
        """Return the rule for new rows: its coverage is corrected for folds, or it rejects less to keep a promise."""
        rule = replace(rule, judged_apart=self.judged_apart, rounding=self.rounding)
        if self.seen is not None:
            return replace(rule, coverage_map=Correction.of_seen_rows(rule, *self.seen))
        if confidence is None:
            return rule
        # Repeated splits score a row several times, which is one row all the same.
        n_rows = self.held_out.n_rows if rule.n_placing_rows is None else rule.n_placing_rows
        return replace(rule, coverage_map=Caution(n_rows, confidence, tied=self.rows.may_be_tied))


def _of_group(rows: RuleInput, group: Any, n_own: int | None) -> RuleInput:
    """Return the rows of one group; if `n_own` is given, add rows of other groups."""
    own = np.flatnonzero(rows.groups == group)
    if n_own is None:
        return ungrouped(rows, own)
    order, weight = with_borrowed_rows(own, len(rows), rows.sample_weight, n_own=n_own)
    return replace(ungrouped(rows, order), sample_weight=weight)


def with_borrowed_rows(
    own: IndexArray, n_rows: int, sample_weight: FloatArray | None, *, n_own: int | None = None
) -> tuple[IndexArray, FloatArray | None]:
    """Return positions (first a group's rows, then all others) and weights by which other rows fill up a small group.

    A band on few rows follows their noise, so rows of other groups fill the weight up to `OWN_BAND_ROWS` rows. A group
    of that size or more uses its own rows alone.
    """
    others = np.setdiff1d(np.arange(n_rows), own)
    weight = np.ones(n_rows) if sample_weight is None else sample_weight
    n_own = len(own) if n_own is None else n_own
    missing = OWN_BAND_ROWS - n_own
    if missing <= 0 or not len(others) or weight[others].sum() == 0:
        return own, None if sample_weight is None else sample_weight[own]
    # In units of the group's own weight, whatever its scale.
    topped_up = weight[others] * (missing * weight[own].sum() / n_own / weight[others].sum())
    return np.concatenate((own, others)), np.concatenate((weight[own], topped_up))


@contextmanager
def naming_group(group: Any, n_rows: int) -> Iterator[None]:
    """Add the name of the group to errors about its rows."""
    try:
        yield
    except ValueError as error:
        if group is None:
            raise
        raise ValueError(
            f"no band can be placed for the group {group!r} with {n_rows} held-out rows: {error}; merge it with "
            "another group"
        ) from error


def best_auc_bands(placing: Placing, coverage: float, *, nested: bool) -> OptimalBands | NestedBands:
    """Return the bands with the highest AUC on isotonic probabilities: independent, or nested around one coverage.

    They are always nested if one tie holds much of the weight, because otherwise a lower coverage could select more
    rows.
    """
    smooth, rows, rows_each = placing.smooth_ranking(), placing.rows, placing.held_out.rows_each
    if not nested and len(smooth) < rows_each.sum():
        # The share of the weight at the heaviest score that several rows have.
        _, entry = np.unique(rows.score, return_inverse=True)
        count, weight = np.bincount(entry, weights=rows_each), np.bincount(entry, weights=rows.sample_weight)
        nested = (weight * (count > 1)).max() / weight.sum() > LARGEST_TIE
    return NestedBands(smooth, coverage) if nested else OptimalBands(smooth)
