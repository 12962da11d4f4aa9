"""Cases without a score: they are never decided automatically, so every share of all cases must count them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from aucross.core.ranking import FloatArray, as_positive, check_weights
from aucross.evaluation.evaluate import evaluate_selections
from aucross.evaluation.groups import GroupEvaluation, evaluate_group_selections
from aucross.evaluation.inputs import BoolArray
from aucross.evaluation.selective_evaluation import SelectiveEvaluation
from aucross.system.text import plural

_OF_ALL_CASES = ("achieved_coverage", "coverage_error")


@dataclass(frozen=True, eq=False)
class UnscoredRows:
    """Labelled cases without a score, such as applicants whom a vendor does not know; each of them goes to review.

    Parameters
    ----------
    positive : array-like of shape (n,)
        True for positive cases: boolean, 0/1 or -1/1.
    sample_weight : array-like of shape (n,), optional
        Weights of these cases, if the cases with a score have weights.
    customers : array-like of shape (n,), optional
        Customer of each case, if customers are given for the cases with a score.
    by : array-like of shape (n,), optional
        Group of each case, for tables by group.

    Examples
    --------
    >>> from aucross.evaluation.unscored import UnscoredRows
    >>> print(UnscoredRows([0, 1, 0]).sentence(20))
    3 of 20 cases have no score: they go to review, and the coverage counts them; the AUC is that of the others.
    """

    positive: ArrayLike
    sample_weight: ArrayLike | None = None
    customers: Any = None
    by: Any = None

    def __len__(self) -> int:
        return len(np.asarray(self.positive))

    def sentence(self, n_cases: int) -> str:
        """Return a sentence on how many of all cases have no score, and what happens to them."""
        become = "have no score: they go to review, and the coverage counts them"
        if len(self) == 1:
            become = "has no score: it goes to review, and the coverage counts it"
        return f"{len(self):,} of {n_cases:,} {plural('case', n_cases)} {become}; the AUC is that of the others."

    def with_weight(self) -> UnscoredRows:
        """Return the cases that carry weight."""
        if self.sample_weight is None:
            return self
        # Beside a row of weight 1, because they may all weigh nothing.
        weight = check_weights(np.append(1.0, self.sample_weight), len(self) + 1)[1:]
        used = weight > 0
        # As lists: an array would spell missing values.
        customers, by = (None if part is None else list(compress(part, used)) for part in (self.customers, self.by))
        return UnscoredRows(np.asarray(self.positive)[used], weight[used], customers, by)

    def labels_after(self, positive: BoolArray) -> BoolArray:
        """Append the labels of the unscored rows to those of the scored rows."""
        return np.concatenate((positive, as_positive(self.positive)))

    def unselected_after(self, selected: BoolArray) -> BoolArray:
        """Append the unscored rows, not selected, to one or more selection masks of the scored rows."""
        return np.concatenate((selected, np.zeros((*selected.shape[:-1], len(self)), dtype=bool)), axis=-1)

    def part_after(self, values: Any, name: Literal["sample_weight", "customers", "by"]) -> Any:
        """Append a column of the unscored rows to the same column of the scored rows; None if neither has it.

        Refuse a column that only the scored rows or only the unscored rows have.
        """
        own = getattr(self, name)
        if (values is None) != (own is None):
            raise ValueError(f"unscored must have {name} where the scored rows have, and only there; pass both or none")
        if own is None or name == "by":
            return None if own is None else [*values, *own]
        together = np.asarray([*values, *own])
        # An array of text would spell missing values.
        return together if together.dtype.kind in "biuf" else np.array([*values, *own], dtype=object)


def count_unscored(
    evaluation: SelectiveEvaluation,
    selected: Sequence[BoolArray] | BoolArray,
    positive: BoolArray,
    unscored: UnscoredRows,
    *,
    sample_weight: FloatArray | None = None,
    customers: Any = None,
) -> SelectiveEvaluation:
    """Add cases without a score to the coverage of an evaluation; other metrics count scored rows only.

    `selected` holds the scored rows that each coverage of the evaluation selects, `positive` their labels.
    """
    labels = unscored.labels_after(positive)
    nothing = np.zeros(len(labels))  # of scores and answers the coverage knows nothing
    masks = unscored.unselected_after(np.asarray(selected))
    of_all = evaluate_selections(
        *(labels, nothing, nothing > 0, dict(zip(evaluation.target_coverage.tolist(), masks, strict=True))),
        sample_weight=unscored.part_after(sample_weight, "sample_weight"),
        customers=unscored.part_after(customers, "customers"),
        n_bootstrap=1 if evaluation.has_intervals else 0,
        confidence_level=evaluation.confidence_level,
    )
    parts: dict[str, Any] = {}
    for part in ("estimates", "deviations", "intervals", "influences"):
        found = getattr(of_all, part)
        parts[part] = {**getattr(evaluation, part), **{name: found[name] for name in _OF_ALL_CASES if name in found}}
    return replace(evaluation, **parts)


def evaluate_groups_of_all(
    positive: BoolArray,
    score: FloatArray,
    predicted: BoolArray,
    selections: Mapping[float, BoolArray],
    by_of_all: Any,
    *,
    unscored: UnscoredRows | None,
    sample_weight: FloatArray | None = None,
    customers: Any = None,
    **options: Any,
) -> GroupEvaluation:
    """Evaluate selections of scored rows in each group of all cases, as :func:`evaluate_group_selections` does.

    `by_of_all` holds the group of each case, with unscored cases last; all other columns hold scored rows only.
    """
    if unscored is not None:
        positive, n_more = unscored.labels_after(positive), len(unscored)
        score, predicted = np.append(score, np.zeros(n_more)), np.append(predicted, np.zeros(n_more, dtype=bool))
        selections = {coverage: unscored.unselected_after(mask) for coverage, mask in selections.items()}
        customers = unscored.part_after(customers, "customers")
        sample_weight = unscored.part_after(sample_weight, "sample_weight")
    return evaluate_group_selections(
        positive, score, predicted, selections, by_of_all, sample_weight=sample_weight, customers=customers, **options
    )
