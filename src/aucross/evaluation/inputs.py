"""Checks of arguments: labels, masks, weights, losses, and labelled rows of a classifier.

Rows of weight 0 are dropped here, so that every tie, class and bin that a metric reads has weight.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from aucross.core.bands import check_coverage
from aucross.core.ranking import FloatArray, IndexArray, as_positive, check_scores, check_weights
from aucross.core.ranking import RankedScores as RankedScores  # noqa: PLC0414  (the report may read evaluation only)
from aucross.core.scored_rows import ScoredRows as ScoredRows  # noqa: PLC0414  (the report may read evaluation only)
from aucross.frames import categories_of, is_missing, numbers_of_units, other_order, refuse_missing, values_of
from aucross.system.text import percent

BoolArray = NDArray[np.bool_]
Mask = ArrayLike | None
Weights = ArrayLike | None

# Names of the line of all rows and of the group of rows whose value is missing.
ALL_ROWS = "(all rows)"
MISSING = "(missing)"

# Labels that change so often along the rows, and as in the fit, are those of the fit.
_FEWEST_CHANGES = 20


# ---- a classifier and labelled rows ----


class TrainingRowsWarning(UserWarning):
    """Some test rows were part of the fit, so that every figure is too good."""


def label_rows(
    clf: Any, X: Any, y: ArrayLike, *, sample_weight: Weights = None, band_groups: Any = None, warns: bool = True
) -> ScoredRows:
    """Score labelled rows unless they are scored already; refuse unknown labels, and warn about rows of the fit."""
    check_selective(clf)
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise ValueError(f"y must be 1-d, got shape {labels.shape}; pass np.ravel(y) for a single column")
    refuse_missing(labels, "y", "drop those rows")
    known = np.isin(labels, clf.classes_)
    if not known.all():
        unknown = list(dict.fromkeys(labels[~known].tolist()))  # np.unique cannot sort None among numbers
        raise ValueError(
            f"y must hold the classes of the training rows {clf.classes_.tolist()}, got also {unknown[:5]}, "
            f"the first in row {int(np.argmin(known))}; drop those rows, or write their labels as in training"
        )
    if (message := other_order(X, y=y, sample_weight=sample_weight, band_groups=band_groups)) is not None:
        warnings.warn(message, UserWarning, stacklevel=3)
    rows: ScoredRows = clf.scored(X, sample_weight=sample_weight, band_groups=band_groups)
    if len(labels) != len(rows):
        raise ValueError(f"y must hold one label per row of X, got {len(labels)} for {len(rows)} rows")
    if warns and (doubt := rows_of_fit(clf, X)[1]) is not None:
        warnings.warn(doubt, TrainingRowsWarning, stacklevel=3)
    return replace(rows, labels=labels)


def rows_of_fit(clf: Any, X: Any, rows: ScoredRows | None = None) -> tuple[float, str | None]:
    """Return the share of rows that were part of the fit, and a warning about it; 0 and None if none are found.

    First compare `X` with fingerprints of the training rows, then labels and scores of `rows` with those of the fit.
    """
    marks = getattr(getattr(clf, "fitted_", None), "marks", None)
    if marks is not None and X is not None and not isinstance(X, ScoredRows):
        seen = marks.seen_in(X)
        if seen.is_noticed:
            what = "different rows" if seen.has_repeats else "rows"
            return float(seen.share), (
                f"{'at least' if seen.has_repeats else 'about'} {percent(seen.share)} of the {what} took part in the "
                "fit of this classifier: on rows that trained the model or placed the band every figure is too good, "
                "and no bound holds; pass test rows"
            )
    if rows is not None and _repeats_labels_of_fit(getattr(clf, "held_out_", None), rows.positive, rows.score):
        return 1.0, (
            "X and y look like the rows that clf was fitted on: on rows that trained the model or placed the band no "
            "bound holds; pass test rows"
        )
    return 0.0, None


def _repeats_labels_of_fit(held_out: Any, positive: BoolArray, score: FloatArray) -> bool:
    """Return whether rows repeat the held-out labels and scores of a fit, or all of its labels, in the same order."""
    rows = getattr(held_out, "rows", None)
    if rows is None or len(rows) < _FEWEST_CHANGES or rows.max() >= len(positive):
        return False
    if not np.array_equal(positive[rows], held_out.labels == 1):
        return False
    if np.array_equal(score[rows], held_out.responses):
        return True
    # Labels in the same order are the same rows, unless they are sorted.
    return len(np.unique(rows)) == len(positive) and int(np.diff(positive).sum()) >= _FEWEST_CHANGES


def selections_at(clf: Any, rows: ScoredRows, coverages: Iterable[float]) -> dict[float, BoolArray]:
    """Return the rows that a classifier selects at each coverage."""
    return {coverage: clf.band_rule_.bands_of(rows.rule_input, coverage).selected for coverage in coverages}


def check_selective(clf: Any) -> None:
    """Refuse an object that is not a fitted selective classifier."""
    if not hasattr(clf, "scored"):
        raise TypeError(
            f"clf must be a selective classifier such as AUCross, got {type(clf).__name__}; wrap the model, with its "
            "preprocessing, as in AUCross(model), and of a search pass best_estimator_"
        )
    if not hasattr(clf, "fitted_"):
        check_is_fitted(clf)


def check_two_classes(clf: Any, remedy: str) -> None:
    """Refuse a classifier of more than two classes; `remedy` completes the error message."""
    check_selective(clf)
    if len(clf.classes_) != 2:
        raise ValueError(f"clf must have two classes, got {len(clf.classes_)}; {remedy}")


# ---- one value per row ----


def check_selected(selected: Mask, n_rows: int | None = None) -> BoolArray:
    """Return the mask of selected rows; None selects all of `n_rows` rows."""
    if selected is None and n_rows is not None:
        return np.ones(n_rows, dtype=bool)
    mask = np.asarray(selected)
    if mask.dtype != np.bool_:
        raise ValueError(
            f"selected must be a boolean mask, got dtype {mask.dtype}; pass selected == 1 for 0/1 marks, "
            "or np.isin(np.arange(n), selected) for row numbers"
        )
    if mask.ndim != 1:
        raise ValueError(f"selected must be 1-d, got shape {mask.shape}")
    if n_rows is not None and len(mask) != n_rows:
        raise ValueError(f"selected must hold one entry per row, got {len(mask)} for {n_rows} rows")
    return mask


def check_masks(selections: Mapping[float, ArrayLike], n_rows: int) -> dict[float, BoolArray]:
    """Return the selections with checked coverages and masks."""
    masks = dict(zip(check_coverages(selections), map(np.asarray, selections.values()), strict=True))
    for coverage, mask in masks.items():
        if mask.dtype != np.bool_ or mask.shape != (n_rows,):
            raise ValueError(
                f"the selection for coverage {coverage:g} must be a boolean mask with one entry per row, got dtype "
                f"{mask.dtype} and shape {mask.shape} for {n_rows} rows"
            )
    return masks


def check_answers(y_pred: ArrayLike, n_rows: int) -> BoolArray:
    """Return whether each row is predicted positive."""
    predicted = as_positive(y_pred, "y_pred")
    if len(predicted) != n_rows:
        raise ValueError(f"y_pred must hold one label per row, got {len(predicted)} for {n_rows} rows")
    return predicted


def customer_numbers(customers: Any, n_rows: int) -> IndexArray | None:
    """Return the number of each row's customer, counted from 0; None if rows are independent."""
    if customers is None:
        return None
    numbers = numbers_of_units(customers, n_rows, "customers")
    if n_rows and not numbers.any():
        raise ValueError("customers must hold at least two, got one: nothing shows how much customers differ")
    return numbers


def row_weights(sample_weight: Weights, n_rows: int) -> FloatArray:
    """Return checked weights; 1 for every row by default."""
    return np.ones(n_rows) if sample_weight is None else check_weights(sample_weight, n_rows)


# ---- groups of rows ----


class GroupColumn(NamedTuple):
    """Group labels in the order of the report, and the group number of each row."""

    labels: tuple[Any, ...]
    codes: IndexArray

    def members(self) -> list[IndexArray]:
        """Return row numbers of each group, ascending."""
        order = np.argsort(self.codes, kind="stable")
        sizes = np.bincount(self.codes, minlength=len(self.labels))
        return np.split(order, np.cumsum(sizes)[:-1])

    def take(self, kept: BoolArray | IndexArray) -> GroupColumn:
        """Keep some of the rows, and drop groups that are left empty."""
        present, codes = np.unique(self.codes[kept], return_inverse=True)
        return GroupColumn(tuple(self.labels[code] for code in present), codes)


def group_column(by: Any, n_rows: int) -> GroupColumn:
    """Read a column of group labels: any array, list or series; missing values become the group ``"(missing)"``.

    Groups follow the order of a pandas categorical, or else are sorted; missing ones come last. A GroupColumn is
    returned unchanged.
    """
    if isinstance(by, GroupColumn):
        return by
    if isinstance(by, str) or not isinstance(by, Iterable):
        raise TypeError(f"by must be a column with one value per row, got {by!r}; pass the column itself")
    if len(shape := getattr(by, "shape", (0,))) != 1:
        raise ValueError(f"by must be 1-d, got shape {tuple(shape)}; pass a single column")
    values = [MISSING if is_missing(value) else value for value in values_of(by)]
    if len(values) != n_rows:
        raise ValueError(f"by must hold one value per row, got {len(values)} for {n_rows} rows")
    try:
        found = set(values)
    except TypeError:
        raise TypeError("by must hold one value per row, got lists or arrays inside; pass a single column") from None
    if ALL_ROWS in found:
        raise ValueError(f"by must not hold {ALL_ROWS!r}, the name of the line of all rows; rename that group")
    if n_rows and found == {MISSING}:
        raise ValueError(f"by must hold at least one value, got {n_rows} missing ones; choose another column")
    labels, categories = list(found - {MISSING}), categories_of(by)
    if categories is not None:
        labels = [label for label in categories if label in found]
    else:
        try:
            labels.sort()
        except TypeError:  # numbers among strings
            labels.sort(key=lambda label: (type(label).__name__, str(label)))
    labels += [MISSING] * (MISSING in found)
    code_of = {label: code for code, label in enumerate(labels)}
    return GroupColumn(tuple(labels), np.array([code_of[value] for value in values], dtype=np.intp))


# ---- rows of a metric ----


def selected_rows(
    y_true: ArrayLike, y_score: ArrayLike, selected: Mask, sample_weight: Weights
) -> tuple[BoolArray, FloatArray, FloatArray]:
    """Return labels, scores and weights of the selected rows that carry weight."""
    positive = as_positive(y_true)
    score = check_scores(y_score, len(positive))
    weight = row_weights(sample_weight, len(positive))
    kept = check_selected(selected, len(positive)) & (weight > 0)
    return positive[kept], score[kept], weight[kept]


def ranked_rows(
    y_true: ArrayLike, y_score: ArrayLike, selected: Mask = None, sample_weight: Weights = None
) -> RankedScores:
    """Return the ranking of the selected rows that carry weight."""
    return rank(*selected_rows(y_true, y_score, selected, sample_weight))


def rank(positive: BoolArray, score: FloatArray, weight: FloatArray) -> RankedScores:
    """Return the ranking of checked rows; there may be no rows."""
    return RankedScores.of_rows(positive, score, weight if len(weight) else None)


def answered_rows(
    y_true: ArrayLike, y_pred: ArrayLike, selected: Mask, sample_weight: Weights
) -> tuple[BoolArray, BoolArray, BoolArray, FloatArray]:
    """Return labels, predictions, selection mask and weights of the rows that carry weight."""
    positive = as_positive(y_true)
    predicted = check_answers(y_pred, len(positive))
    mask = check_selected(selected, len(positive))
    weight = row_weights(sample_weight, len(positive))
    kept = weight > 0
    return positive[kept], predicted[kept], mask[kept], weight[kept]


def loss_rows(
    loss: ArrayLike, confidence: ArrayLike | None, sample_weight: Weights
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return losses (finite, not negative), confidences and weights of the rows that carry weight."""
    losses = np.asarray(loss, dtype=np.float64)
    if losses.ndim != 1:
        raise ValueError(f"loss must be 1-d, got shape {losses.shape}")
    losses = check_scores(losses, len(losses), "loss")
    if (losses < 0).any():
        raise ValueError(f"loss must not be negative, got {losses.min():g} in row {int(np.argmin(losses))}")
    weight = row_weights(sample_weight, len(losses))
    confidences = check_scores(np.zeros(len(losses)) if confidence is None else confidence, len(losses), "confidence")
    kept = weight > 0
    return losses[kept], confidences[kept], weight[kept]


def weighted_mean(values: NDArray[np.generic], weight: FloatArray) -> float:
    """Return the weighted mean of values; NaN without rows."""
    total = float(weight.sum())
    # The same summation above and below the line: the mean of ones is exactly 1.
    return float((np.asarray(values, dtype=np.float64) * weight).sum()) / total if total > 0 else float("nan")


def check_both_classes(ranked: RankedScores, purpose: str) -> RankedScores:
    """Refuse rows of a single class; `purpose` names in the error what needs both."""
    if min(ranked.total_positives, ranked.total_negatives) == 0:
        raise ValueError(
            f"y_true must hold both classes, got {ranked.total_positives:g} positives and "
            f"{ranked.total_negatives:g} negatives; {purpose} needs both"
        )
    return ranked


# ---- numbers ----


def check_coverages(coverages: Iterable[float]) -> list[float]:
    """Return target coverages as a list of checked numbers without repeats."""
    if not isinstance(coverages, Iterable):
        raise TypeError(f"coverages must be a list of target coverages, got {coverages!r}; pass [{coverages!r}]")
    checked = [check_coverage(coverage, "each of coverages") for coverage in coverages]
    if not checked:
        raise ValueError("coverages must hold at least one target coverage, got none")
    if len(set(checked)) < len(checked):
        raise ValueError(f"coverages must not repeat, got {checked}")
    return checked


def check_replicates(n_bootstrap: int) -> None:
    """Refuse an invalid number of bootstrap replicates."""
    if not isinstance(n_bootstrap, Integral) or n_bootstrap < 0:
        raise ValueError(f"n_bootstrap must be a whole number, 0 or more, got {n_bootstrap!r}")


def check_probability(value: float, name: str, *, ends: bool = True) -> float:
    """Return a number in [0, 1], or in (0, 1) without the ends."""
    number = float(value)
    if (0.0 <= number <= 1.0) if ends else (0.0 < number < 1.0):
        return number
    interval = "[0, 1]" if ends else "(0, 1)"
    hint = f"; for {number:g} % pass {number / 100:g}" if 1.0 < number <= 100.0 else ""
    raise ValueError(f"{name} must be in {interval}, got {number:g}{hint}")


def seed_from(random_state: Any) -> int:
    """Return an integer seed from an integer, a generator, a RandomState or None."""
    if isinstance(random_state, int | np.integer):
        if random_state < 0:
            raise ValueError(f"random_state must not be negative, got {random_state}")
        return int(random_state)
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**32))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    raise ValueError(f"random_state must be an integer, a Generator, a RandomState or None, got {random_state!r}")
