"""From held-out scores to the rule in force: placed by the method, corrected for its folds, made cautious."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import inf
from numbers import Integral
from typing import Any, Literal

import numpy as np

from aucross.core.band_rule import BandRule, GroupBands, positions_by_group, ungrouped
from aucross.core.cautious import Caution
from aucross.core.correction import Correction
from aucross.core.nested import NestedBands
from aucross.core.ranking import FloatArray, IndexArray, RankedScores
from aucross.core.rounding import ScoreRounding
from aucross.core.scored_rows import Rows, RuleInput
from aucross.core.targets import OptimalBands
from aucross.estimators.hashed_folds import HashedFolds
from aucross.estimators.held_out import HeldOutScores, ModelToFit, held_out_by_folds, is_never_trained
from aucross.estimators.progress import Step
from aucross.estimators.reading import Reader
from aucross.estimators.score_column import score_column_in
from aucross.estimators.splits import Split, fold_splits, halves_of
from aucross.estimators.training_rows import TrainingRows
from aucross.estimators.types import Folds, Generator
from aucross.estimators.warn import warn_user

CorrectCoverage = bool | Literal["auto"]
Ensemble = bool | Literal["judge"]

# Positions of two random halves of some rows; none where a method needs none.
Halves = tuple[IndexArray, ...]

# Above this many rows the shift is small, and not worth that all fold models score all rows.
MOST_ROWS_TO_CORRECT = 50_000

# Held-out rows from which on a group's band is placed by them alone, and those below which it has none.
OWN_BAND_ROWS = 200
FEWEST_GROUP_ROWS = 20

# Trainings that the path of a hold-out method costs beside the one that answers, each on four fifths of its rows.
PATH_FOLDS = 5


# An AUC is clearly below 0.5 if the upper end of its 95 % interval is.
_TAIL = 0.025

# Bands that take or leave a tie of this share of the weight, and are chosen one by one, need not be monotone.
LARGEST_TIE = 0.02


@dataclass(frozen=True)
class SeenRows:
    """Input of the rule from training rows, scored by models that were trained on them."""

    by_refit: RuleInput
    by_folds: RuleInput

    def of_group(self, group: Any, *, borrows: bool) -> SeenRows:
        """Return the rows of one group, with rows of others if it borrows."""
        n_own = int(np.sum(self.by_refit.groups == group))
        both = (self.by_refit, self.by_folds)
        return SeenRows(*(_of_group(rows, group, n_own if borrows else None) for rows in both))


def _of_group(rows: RuleInput, group: Any, n_own: int | None) -> RuleInput:
    """Return the rows of one group; if `n_own` is given, others top them up."""
    own = np.flatnonzero(rows.groups == group)
    if n_own is None:
        return ungrouped(rows, own)
    order, weight = with_borrowed_rows(own, len(rows), rows.sample_weight, n_own=n_own)
    return replace(ungrouped(rows, order), sample_weight=weight)


@dataclass(frozen=True)
class PlacingRows:
    """The held-out rows that place a rule: all of them, or those of one group.

    Attributes
    ----------
    held_out : HeldOutScores
        Labels, scores and weights.
    rows : RuleInput
        What the rule reads of them.
    reader : Reader
        What read it.
    halves : tuple of ndarray
        Positions of two random halves, for methods that blend them.
    seen : SeenRows or None
        The training rows, scored by models that have seen them, if the coverage is corrected.
    judged_apart : bool
        Whether another model judges a row than answers it.
    path : HeldOutScores or None
        Other rows, from which a path of bands may be taken, so that these rows need only say how far to go.
    rounding : ScoreRounding or None
        How the scores were rounded, if they were counted.
    """

    held_out: HeldOutScores
    rows: RuleInput
    reader: Reader
    halves: Halves = ()
    seen: SeenRows | None = None
    judged_apart: bool = False
    path: HeldOutScores | None = None
    rounding: ScoreRounding | None = None

    def smooth_ranking(self) -> RankedScores:
        """Rank the rows with isotonic labels; in a tie that may be cut, all rows have the same probability."""
        smooth = self.held_out.ranked_both_classes().isotonic()
        if self.rows.tie_breaker is None:
            return smooth
        entry = np.minimum(np.searchsorted(smooth.scores, self.held_out.scores), len(smooth) - 1)
        probability = (smooth.positives / (smooth.positives + smooth.negatives))[entry]
        return RankedScores.from_probabilities(probability, self.rows.score, self.rows.sample_weight)

    def part(self, group: Any, positions: IndexArray, halves: Halves, *, borrows: bool) -> PlacingRows:
        """Return the rows of one group, followed by all others with little weight if it borrows."""
        seen, weight = self.seen, self.rows.sample_weight
        if borrows:
            n_own = self.held_out.take(positions).n_rows  # a row that is scored several times is one row
            positions, weight = with_borrowed_rows(positions, len(self.rows), weight, n_own=n_own)
        held_out, rows = self.held_out.take(positions), ungrouped(self.rows, positions)
        return replace(
            self,
            held_out=replace(held_out, sample_weight=weight) if borrows else held_out,
            rows=replace(rows, sample_weight=weight) if borrows else rows,
            halves=halves,
            seen=None if seen is None else seen.of_group(group, borrows=borrows),
            path=None if self.path is None else _of_group_or_all(self.path, group),
        )


def with_borrowed_rows(
    own: IndexArray, n_rows: int, sample_weight: FloatArray | None, *, n_own: int | None = None
) -> tuple[IndexArray, FloatArray | None]:
    """Return the positions of a group's rows, then of all others, with weights that top up the group's.

    A band on few rows follows their noise, and one band for all follows the other groups. Together the rows count as
    `OWN_BAND_ROWS`: a group of 20 is placed by a tenth of its own rows and by nine tenths of the others, a group of
    `OWN_BAND_ROWS` or more by its own alone.
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


def _of_group_or_all(path: HeldOutScores, group: Any) -> HeldOutScores:
    """Return the rows of one group, or all rows if the group lacks a class: any fixed path will do."""
    assert path.band_groups is not None
    own = path.take(np.flatnonzero(path.band_groups == group))
    return own if len(np.unique(own.labels)) > 1 else path


@dataclass(frozen=True)
class Draws:
    """Random draws of a fit outside the models, made before anything is placed, so that no option changes them.

    Attributes
    ----------
    splits : list of Split
        Which rows train and which are scored.
    halves : list of Halves
        Two halves of the held-out rows, or of those of each group.
    path_splits : list of Split
        Folds of the rows that are trained on, from which a path of bands is taken; empty without one.
    """

    splits: list[Split]
    halves: list[Halves]
    path_splits: list[Split]


def draw_halves(training: TrainingRows, rows: IndexArray, cv: Folds, rng: Generator) -> list[Halves]:
    """Draw two random halves of the held-out rows, or of those of each group in order of appearance.

    Folds by a hash come with halves by a hash, which are the same on every engine.
    """
    labels = training.labels[rows]
    half = cv.half_of(training.X, groups=training.groups)[rows] if isinstance(cv, HashedFolds) else None
    parts: dict[Any, Rows] = {None: slice(None)}
    if training.band_groups is not None:
        parts = {**positions_by_group(training.band_groups[rows])}
    halves: list[Halves] = []
    for group, positions in parts.items():
        with naming_group(group, len(labels[positions])):
            halves.append(halves_of(labels[positions], rng) if half is None else as_halves(half[positions]))
    return halves


def as_halves(half: IndexArray) -> Halves:
    """Return the positions of the rows of each half, given the number of each row's half."""
    return np.flatnonzero(half == 0), np.flatnonzero(half == 1)


def best_auc_bands(placing: PlacingRows, coverage: float, *, nested: bool) -> OptimalBands | NestedBands:
    """Return the bands of highest AUC on isotonic labels: independent, or nested through that of a coverage.

    Where a tie holds much of the weight they are nested in any case: the best bands of two coverages would take other
    ties, and the lower coverage could select more.
    """
    smooth = placing.smooth_ranking()
    if nested or _largest_tie(placing, smooth) > LARGEST_TIE:
        return NestedBands(smooth, coverage)
    return OptimalBands(smooth)


def _largest_tie(placing: PlacingRows, ranked: RankedScores) -> float:
    """Return the share of the weight at the heaviest score that several rows have."""
    rows, rows_each = placing.rows, placing.held_out.rows_each
    if len(ranked) == rows_each.sum():
        return 0.0
    _, entry = np.unique(rows.score, return_inverse=True)
    count, weight = np.bincount(entry, weights=rows_each), np.bincount(entry, weights=rows.sample_weight)
    return float((weight * (count > 1)).max() / weight.sum())


def rule_in_force(
    placing: PlacingRows, halves: Sequence[Halves], place: Callable[[PlacingRows], BandRule], confidence: float | None
) -> BandRule:
    """Place one rule on all rows, or one for each group on its rows."""
    each_halves = iter(halves)  # none for methods that need none
    if placing.rows.groups is None:
        return _rule_for(replace(placing, halves=next(each_halves, ())), place, confidence)
    rules = {}
    for group, positions in positions_by_group(placing.rows.groups).items():
        with naming_group(group, len(positions)):
            if confidence is None:
                _check_group_size(placing, positions)
            # A promise is about the group's own rows, and each of them counts as one.
            part = placing.part(group, positions, next(each_halves, ()), borrows=confidence is None)
            rules[group] = _rule_for(part, place, confidence)
    return GroupBands(rules)


def _check_group_size(placing: PlacingRows, positions: IndexArray) -> None:
    own = placing.held_out.take(positions)
    if (n_rows := own.n_rows) < FEWEST_GROUP_ROWS:
        raise ValueError(f"a band of its own needs at least {FEWEST_GROUP_ROWS} held-out rows, got {n_rows}")
    if len(np.unique(own.labels)) < len(np.unique(placing.held_out.labels)):
        own.ranked_both_classes()


def _rule_for(placing: PlacingRows, place: Callable[[PlacingRows], BandRule], confidence: float | None) -> BandRule:
    rule = replace(place(placing), judged_apart=placing.judged_apart, rounding=placing.rounding)
    if (seen := placing.seen) is not None:
        return replace(rule, coverage_map=Correction.of_seen_rows(rule, seen.by_refit, seen.by_folds))
    if confidence is None:
        return rule
    # Repeated splits score a row several times, which is one row all the same.
    n_rows = placing.held_out.n_rows if rule.n_placing_rows is None else rule.n_placing_rows
    return replace(rule, coverage_map=Caution(n_rows, confidence, tied=placing.rows.may_be_tied))


@contextmanager
def naming_group(group: Any, n_rows: int) -> Iterator[None]:
    """Add the name of a group to errors about its rows."""
    try:
        yield
    except ValueError as error:
        if group is None:
            raise
        raise ValueError(
            f"no band can be placed for the group {group!r} with {n_rows} held-out rows: {error}; merge it with "
            "another group"
        ) from error


def warn_if_nothing_rejected(rule: BandRule, coverage: float) -> None:
    """Warn if there are too few rows for any rejection at the coverage in force."""
    for group, part in rule.rules_by_group.items():
        if (few := part.too_few_rows(coverage)) is None:
            continue
        of_group = "" if group is None else f" of the group {group!r}"
        warn_user(
            f"{few.n_rows} rows{of_group} to place the band on are too few to keep a coverage of {coverage:g} with "
            f"confidence {few.confidence:g} if anything is rejected, so every row is selected; {few.enough} would do, "
            "or a lower coverage or coverage_confidence"
        )


def warn_if_constant(responses: FloatArray, kind: str, *, ties_are_split: bool = False) -> None:
    """Warn if all rows have one score."""
    if len(responses) < 2 or not (responses == responses[0]).all():
        return
    value = f"{responses[0]:g}" if responses.ndim == 1 else np.array2string(responses[0], precision=3)
    warn_user(
        f"all {kind} scores equal {value}: no row can be told from another, so "
        + ("rows are rejected at random" if ties_are_split else "every band is empty and every row is selected")
        + "; check the base model and its features"
    )


def warn_if_turned_round(model: Any, held_out: HeldOutScores, positive: Any) -> None:
    """Warn if a score that is not trained here clearly speaks for the negative class.

    Models that are trained are left out: of pure noise, folds with fewer positives than the rest give an AUC below 0.5.
    """
    column = score_column_in(model)
    is_given = column is not None or is_never_trained(model)
    if not is_given or len(np.unique(held_out.labels)) != 2 or held_out.responses.ndim > 1:
        return
    ranked = held_out.of_effective_size().ranked()
    _, upper = ranked.auc_bounds(_TAIL)
    if not upper < 0.5:  # NaN where a class has a single row
        return
    if column is None:
        remedy = "check the labels that it was trained on, or pass pos_label, if the other class is the positive one"
    elif not hasattr(column, "n_features_in_"):  # fitted from a ranking
        remedy = "rank 1 minus the probability, or minus the distance, or count the other label as positive"
    else:
        remedy = (
            f"pass higher_is_positive={not column.higher_is_positive} to ScoreColumn, or pos_label to both, if the "
            "other class is the positive one"
        )
    warn_user(
        f"the AUC of the held-out rows is {ranked.auc():.3f}, clearly below 0.5: high scores speak against the "
        f"positive class {(positive.item() if isinstance(positive, np.generic) else positive)!r}; {remedy}"
    )


def check_nested(nested: Any) -> None:
    """Refuse a value of `nested` other than True or False."""
    if not isinstance(nested, bool | np.bool_):
        raise ValueError(f"nested must be True or False, got {nested!r}")


# ---- who judges, and the correction for another model than that of the folds ----


def check_ensemble(ensemble: Any) -> None:
    """Refuse a value of `ensemble` other than True, False or "judge"."""
    if not (isinstance(ensemble, bool) or (isinstance(ensemble, str) and ensemble == "judge")):
        raise ValueError(f'ensemble must be True, False or "judge", got {ensemble!r}')


def is_out_of_bag(cv: Folds) -> bool:
    """Return whether held-out scores come from the trees of one forest that have not seen the row."""
    return isinstance(cv, str) and cv == "oob"


def check_out_of_bag(cv: Folds, *, judged_by_folds: bool) -> None:
    """Refuse options that need fold models if there are none, and texts other than "oob"."""
    if isinstance(cv, str) and cv != "oob":
        raise ValueError(f'cv must be a number of folds, a splitter, splits or "oob", got {cv!r}')
    if is_out_of_bag(cv) and judged_by_folds:
        raise ValueError(
            'cv="oob" trains no fold models that could judge new rows, which an ensemble, a coverage_confidence and '
            'ties="split" need; leave these at their defaults, or pass cv=5'
        )


def check_correct_coverage(correct_coverage: Any, cv: Folds, *, judged_by_folds: bool) -> None:
    """Refuse values other than True, False and "auto", and True if nothing can be corrected."""
    if not (isinstance(correct_coverage, bool) or correct_coverage == "auto"):
        raise ValueError(f'correct_coverage must be True, False or "auto", got {correct_coverage!r}')
    if correct_coverage is True and judged_by_folds:
        raise ValueError(
            "correct_coverage must not be True with an ensemble or a coverage_confidence: fold models judge new rows "
            'as they judge training rows, so there is nothing to correct; leave it at "auto"'
        )
    if correct_coverage is True and is_out_of_bag(cv):
        raise ValueError(
            'correct_coverage must not be True with cv="oob", which trains no fold models to compare the forest with; '
            'pass cv=5, or leave it at "auto"'
        )


def most_rows_to_correct(correct_coverage: CorrectCoverage, cv: Folds) -> float:
    """Return the largest number of rows for which the coverage is corrected."""
    if correct_coverage == "auto":
        return MOST_ROWS_TO_CORRECT if isinstance(cv, Integral) else 0
    return inf if correct_coverage else 0


def _most_folds(training: TrainingRows) -> int:
    most = int(np.bincount(training.labels, minlength=len(training.classes)).min())
    return most if training.groups is None else min(most, len(np.unique(np.asarray(training.groups))))


# ---- the path that fixes the place of a band before the held-out rows are looked at ----


def draw_path_splits(training: TrainingRows, split: Split, rng: Generator) -> list[Split]:
    """Draw folds of the training rows; none if a class has too few of them."""
    train = np.setdiff1d(*split)  # splits of one's own may hold out rows that they train on
    part = training.take(train)
    n_folds = min(PATH_FOLDS, _most_folds(part))
    if n_folds < 2:
        return []
    return [(train[others], train[scored]) for others, scored in fold_splits(part, n_folds, rng)]


def score_path(models: Sequence[ModelToFit], draws: Draws, step: Step) -> HeldOutScores | None:
    """Score the training rows by models that have not seen them, if they are to fix a path."""
    return held_out_by_folds(models, draws.path_splits, step) if draws.path_splits else None
