"""From held-out scores to the rule in force: placed by the method, corrected for its folds, shrunk to a promise."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator

from aucross.core.correction import CorrectedBands, extrapolation_factor
from aucross.core.influence import InfluenceQuantiles
from aucross.core.promises import PromisedBands, may_be_tied, smallest_promising_size
from aucross.core.ranking import FloatArray
from aucross.core.rules import BandRule, GroupBands, ThresholdBands
from aucross.core.scored_rows import ScoredRows
from aucross.estimators.band_groups import place_per_group
from aucross.estimators.held_out import HeldOutScores, Rows, TrainingRows, cross_fit_scores

CorrectCoverage = bool | Literal["auto"]

# Above this many rows the shift is below 0.0015 of coverage (measured: 0.003 at 22,500), not worth two more fits.
MOST_ROWS_TO_CORRECT = 50_000


@dataclass(frozen=True)
class FewerFolds:
    """The training rows scored a second time, by models of fewer folds."""

    held_out: HeldOutScores
    score: FloatArray  # what the rule reads of them
    factor: float


@dataclass(frozen=True)
class Fitted:
    """What one method's `_fit` hands back: the model that answers, its held-out scores, how to place bands on them."""

    estimator: Any
    held_out: HeldOutScores
    score: FloatArray  # what the rule reads of the held-out rows
    place: Callable[[Rows], BandRule]
    attributes: Mapping[str, Any] = field(default_factory=dict)  # what only this method has, by name
    fewer_folds: FewerFolds | None = None

    def rule(self, band_groups: NDArray[Any] | None, confidence: float | None) -> BandRule | GroupBands:
        """The rule in force: for all rows, or one per group of `band_groups` (groups of the training rows)."""
        if band_groups is None:
            return self._rule_for(slice(None), slice(None), confidence)
        groups = band_groups[self.held_out.rows]

        def place(rows: Any) -> BandRule:
            group = groups[rows[0]]
            again: Rows = slice(None)
            if self.fewer_folds is not None:
                again = np.flatnonzero(band_groups[self.fewer_folds.held_out.rows] == group)
            return self._rule_for(rows, again, confidence)

        return place_per_group(place, groups)

    def _rule_for(self, rows: Rows, rows_of_fewer_folds: Rows, confidence: float | None) -> BandRule:
        scored = ScoredRows(self.score, self.held_out.sample_weight).take(rows)
        rule = self.place(rows)
        if self.fewer_folds is not None:
            again = ScoredRows(self.fewer_folds.score, self.fewer_folds.held_out.sample_weight)
            rule = CorrectedBands(rule, scored, again.take(rows_of_fewer_folds), self.fewer_folds.factor)
        if confidence is None:
            return rule
        return promised(rule, scored.score, len(np.unique(self.held_out.rows[rows])), confidence)


def promised(rule: BandRule, score: FloatArray, n_rows: int, confidence: float) -> PromisedBands:
    """Shrink what a rule rejects so that new rows keep the coverage with the given probability."""
    placed = rule.rule if isinstance(rule, CorrectedBands) else rule
    if isinstance(placed, InfluenceQuantiles):
        # Searched on other rows than those that place its threshold.
        n_rows = len(placed.rows.score)
    # A threshold always takes the lowest rows, a search takes those that happened to look best.
    is_fixed = isinstance(placed, ThresholdBands | InfluenceQuantiles)
    return PromisedBands(rule, n_rows, confidence, fixed=is_fixed, tied=may_be_tied(score))


def warn_if_nothing_promised(rule: BandRule | GroupBands, coverage: float) -> None:
    """Say so if there are too few rows for any rejection at the coverage in force."""
    rules = rule.rules if isinstance(rule, GroupBands) else {None: rule}
    for group, part in rules.items():
        if not isinstance(part, PromisedBands) or coverage == 1 or part.promised(coverage) < 1:
            continue
        needed = smallest_promising_size(coverage, part.confidence, fixed=part.fixed, tied=part.tied)
        of_group = "" if group is None else f" of the group {group!r}"
        warnings.warn(
            f"{part.n_rows} rows{of_group} to place the band on are too few to promise a coverage of {coverage:g} with "
            f"confidence {part.confidence:g} if anything is rejected, so every row is selected; {needed} would do, "
            "or a lower coverage or coverage_confidence",
            UserWarning,
            stacklevel=3,
        )


def warn_if_constant(responses: FloatArray, kind: str, stacklevel: int = 3) -> None:
    """Say so if no row can be told from another."""
    if len(responses) < 2 or not (responses == responses[0]).all():
        return
    value = f"{responses[0]:g}" if responses.ndim == 1 else np.array2string(responses[0], precision=3)
    warnings.warn(
        f"all {kind} scores equal {value}: no row can be told from another, so every band is empty and every row "
        "is selected; check the base model and its features",
        UserWarning,
        stacklevel=stacklevel,
    )


def check_nested(nested: Any) -> None:
    """Refuse what is neither yes nor no."""
    if not isinstance(nested, bool | np.bool_):
        raise ValueError(f"nested must be True or False, got {nested!r}")


def check_correct_coverage(correct_coverage: Any, cv: Any) -> None:
    """Refuse what is neither a yes, a no nor "auto", and a yes where it cannot be."""
    if not (isinstance(correct_coverage, bool) or correct_coverage == "auto"):
        raise ValueError(f'correct_coverage must be True, False or "auto", got {correct_coverage!r}')
    if correct_coverage is True and not isinstance(cv, Integral):
        raise ValueError(
            "correct_coverage=True needs a number of folds, because it extrapolates from two of them, got a cv of type "
            f'{type(cv).__name__}; pass cv=5, or correct_coverage="auto", which leaves other splits as they are'
        )


def folds_to_correct_with(training: TrainingRows, estimator: Any, cv: Any, correct_coverage: CorrectCoverage) -> int:
    """Number of fewer folds to score the rows with once more, 0 for no correction."""
    wanted = correct_coverage is True or (
        correct_coverage == "auto" and isinstance(cv, Integral) and len(training.y) <= MOST_ROWS_TO_CORRECT
    )
    if not wanted or isinstance(estimator, FrozenEstimator):  # a frozen model is the same in every fold
        return 0
    n_folds = 2 if cv > 2 else 3
    # Two folds can be followed by three only if there are enough rows, and groups.
    return 0 if correct_coverage == "auto" and _most_folds(training) < n_folds else n_folds


def score_with_fewer_folds(
    clf: Any,
    training: TrainingRows,
    response_method: str,
    rng: np.random.RandomState,
    *,
    correct_coverage: CorrectCoverage,
    readable: Callable[[HeldOutScores], FloatArray],
) -> FewerFolds | None:
    """Score the rows once more for the correction, if there is to be one; `readable` is what the rule reads of them."""
    n_folds = folds_to_correct_with(training, clf.estimator, clf.cv, correct_coverage)
    if n_folds == 0:
        return None
    held_out = cross_fit_scores(
        clf.estimator, training, cv=n_folds, response_method=response_method, rng=rng, n_jobs=clf.n_jobs
    )
    return FewerFolds(held_out, readable(held_out), extrapolation_factor(int(clf.cv), n_folds))


def _most_folds(training: TrainingRows) -> int:
    most = int(np.unique_counts(training.labels).counts.min())
    return most if training.groups is None else min(most, len(np.unique(np.asarray(training.groups))))
