"""Arguments of the metrics turned into checked arrays: labels, masks, weights, losses, confidences.

Rows of weight 0 are dropped here, so that no metric meets a tie, a class or a bin that carries no weight.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aucross.core.bands import check_coverage
from aucross.core.ranking import FloatArray, IndexArray, RankedScores, as_positive, check_scores, check_weights
from aucross.core.units import numbers_of_units

BoolArray = NDArray[np.bool_]


class SelectedRows(NamedTuple):
    """The selected rows of a metric that reads scores."""

    positive: BoolArray
    score: FloatArray
    weight: FloatArray

    def ranked(self) -> RankedScores:
        """The same rows, sorted and with equal scores merged."""
        # An empty selection is a valid ranking; only an empty weight array is refused.
        return RankedScores.from_labels(self.positive, self.score, self.weight if len(self.weight) else None)

    def take(self, rows: BoolArray | IndexArray) -> SelectedRows:
        """Some of the rows, or the rows in another order."""
        return SelectedRows(self.positive[rows], self.score[rows], self.weight[rows])


class LossRows(NamedTuple):
    """All rows of a metric that reads losses and confidences."""

    loss: FloatArray
    confidence: FloatArray
    weight: FloatArray


def check_selected(selected: ArrayLike | None, n_rows: int | None = None) -> BoolArray:
    """The mask of selected rows; None selects all of `n_rows` rows."""
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


def unit_numbers(groups: Any, n_rows: int) -> IndexArray | None:
    """Numbers from 0 on of the units that rows belong to, such as customers; None if every row stands for itself."""
    if groups is None:
        return None
    numbers = numbers_of_units(groups, n_rows)
    if n_rows and not numbers.any():
        raise ValueError("groups must hold at least two units, got one: nothing shows how much units differ")
    return numbers


def check_coverages(coverages: Iterable[float]) -> list[float]:
    """Target coverages as a list of checked numbers without repeats."""
    if not isinstance(coverages, Iterable):
        raise TypeError(f"coverages must be a list of target coverages, got {coverages!r}; pass [{coverages!r}]")
    checked = [check_coverage(coverage, "each of coverages") for coverage in coverages]
    if not checked:
        raise ValueError("coverages must hold at least one target coverage, got none")
    if len(set(checked)) < len(checked):
        raise ValueError(f"coverages must not repeat, got {checked}")
    return checked


def check_replicates(n_bootstrap: int) -> None:
    """Refuse a number of bootstrap replicates that is none."""
    if not isinstance(n_bootstrap, Integral) or n_bootstrap < 0:
        raise ValueError(f"n_bootstrap must be a whole number, 0 or more, got {n_bootstrap!r}")


def check_masks(selections: Mapping[float, ArrayLike], n_rows: int) -> BoolArray:
    """The selections as one array, a row for each."""
    masks = [np.asarray(mask) for mask in selections.values()]
    for coverage, mask in zip(selections, masks, strict=True):
        if mask.dtype != np.bool_ or mask.shape != (n_rows,):
            raise ValueError(
                f"the selection for coverage {coverage:g} must be a boolean mask with one entry per row, got dtype "
                f"{mask.dtype} and shape {mask.shape} for {n_rows} rows"
            )
    return np.array(masks)


def seed_from(random_state: Any) -> int:
    """One integer from whatever the caller uses for randomness."""
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


def check_probability(value: float, name: str, *, ends: bool = True) -> float:
    """Return a number in [0, 1], or in (0, 1) without the ends."""
    number = float(value)
    if (0.0 <= number <= 1.0) if ends else (0.0 < number < 1.0):
        return number
    interval = "[0, 1]" if ends else "(0, 1)"
    hint = f"; for {number:g} % pass {number / 100:g}" if 1.0 < number <= 100.0 else ""
    raise ValueError(f"{name} must be in {interval}, got {number:g}{hint}")


def row_weights(sample_weight: ArrayLike | None, n_rows: int) -> FloatArray:
    """Checked weights; 1 for every row by default."""
    return np.ones(n_rows) if sample_weight is None else check_weights(sample_weight, n_rows)


def selected_rows(
    y_true: ArrayLike, y_score: ArrayLike, selected: ArrayLike | None, sample_weight: ArrayLike | None
) -> SelectedRows:
    """Check the arguments of a metric over scores and keep the selected rows that carry weight."""
    positive = as_positive(y_true)
    score = check_scores(y_score, len(positive))
    weight = row_weights(sample_weight, len(positive))
    kept = check_selected(selected, len(positive)) & (weight > 0)
    return SelectedRows(positive[kept], score[kept], weight[kept])


def answered_rows(
    y_true: ArrayLike, y_pred: ArrayLike, selected: ArrayLike | None, sample_weight: ArrayLike | None
) -> tuple[BoolArray, BoolArray, BoolArray, FloatArray]:
    """Labels, answers, selection and weights of the rows that carry weight, for a metric over predicted labels."""
    positive = as_positive(y_true)
    predicted = as_positive(y_pred, "y_pred")
    if len(predicted) != len(positive):
        raise ValueError(f"y_pred must hold one label per row, got {len(predicted)} for {len(positive)} rows")
    mask = check_selected(selected, len(positive))
    weight = row_weights(sample_weight, len(positive))
    kept = weight > 0
    return positive[kept], predicted[kept], mask[kept], weight[kept]


def loss_rows(loss: ArrayLike, confidence: ArrayLike, sample_weight: ArrayLike | None) -> LossRows:
    """Check losses (finite, not negative) and confidences and keep the rows that carry weight."""
    losses = np.asarray(loss, dtype=np.float64)
    if losses.ndim != 1:
        raise ValueError(f"loss must be 1-d, got shape {losses.shape}")
    losses = check_scores(losses, len(losses), "loss")
    if (losses < 0).any():
        raise ValueError(f"loss must not be negative, got {losses.min():g} in row {int(np.argmin(losses))}")
    weight = row_weights(sample_weight, len(losses))
    confidences = check_scores(confidence, len(losses), "confidence")
    kept = weight > 0
    return LossRows(losses[kept], confidences[kept], weight[kept])


def weighted_mean(values: NDArray[np.generic], weight: FloatArray) -> float:
    """Mean of values by weight; NaN without rows."""
    total = float(weight.sum())
    # The same summation above and below the line: the mean of ones is exactly 1.
    return float((np.asarray(values, dtype=np.float64) * weight).sum()) / total if total > 0 else float("nan")


def check_both_classes(ranked: RankedScores, purpose: str) -> RankedScores:
    """Refuse rows of one class for a picture that would be empty."""
    if min(ranked.total_positives, ranked.total_negatives) == 0:
        raise ValueError(
            f"y_true must hold both classes, got {ranked.total_positives:g} positives and "
            f"{ranked.total_negatives:g} negatives; {purpose} needs both"
        )
    return ranked


def looks_like_probability(score: FloatArray) -> bool:
    """Whether all scores lie in [0, 1]."""
    return bool(((score >= 0) & (score <= 1)).all())
