"""The rows of a report: labels, scores, weights and the selection at every coverage, checked once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aucross.evaluation.evaluate import check_selective, positive_labels, positive_scores_of
from aucross.evaluation.inputs import confidence_of, row_weights

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

# The steps of the slider.
GRID = tuple(round(step / 100, 2) for step in range(50, 101))


@dataclass(frozen=True, eq=False)
class ReportRows:
    """Labelled test rows with the answers and the selections of a classifier; rows of weight 0 are left out.

    Attributes
    ----------
    positive, predicted : ndarray of shape (n,), bool
        True label and answer.
    score : ndarray of shape (n,)
        Score of the positive class.
    weight : ndarray of shape (n,) or None
        Weights, if any were given.
    coverages : tuple of float
        Target coverages, ascending; the last is 1.
    selected : ndarray of shape (n_coverages, n), bool
        The rows that are answered, for each coverage.
    used : ndarray of shape (n_given,), bool, or of row numbers
        Which of the rows given these are.
    is_probability : bool
        Whether the scores are probabilities.
    """

    positive: BoolArray
    predicted: BoolArray
    score: FloatArray
    weight: FloatArray | None
    coverages: tuple[float, ...]
    selected: BoolArray
    used: BoolArray | NDArray[np.intp]
    is_probability: bool

    @cached_property
    def weights(self) -> FloatArray:
        """The weights, 1 for each row where none were given."""
        return row_weights(self.weight, len(self.positive))

    @cached_property
    def confidence(self) -> FloatArray:
        """Probability of the predicted class, or the distance of a decision value from the boundary."""
        return confidence_of(self.score, is_probability=self.is_probability)

    @cached_property
    def least_confident_first(self) -> NDArray[np.intp]:
        """Row numbers by ascending confidence; rows of equal confidence in their order in the data."""
        return np.argsort(self.confidence, kind="stable")

    @cached_property
    def weight_of_least_confident(self) -> FloatArray:
        """Weight of the first i + 1 of them."""
        return np.cumsum(self.weights[self.least_confident_first])

    @cached_property
    def order(self) -> NDArray[np.intp]:
        """Row numbers by ascending score."""
        return np.argsort(self.score, kind="stable")

    @cached_property
    def by_score(self) -> ReportRows:
        """The same rows by ascending score: what reads them at 51 coverages need not sort them 51 times."""
        return replace(
            self,
            positive=self.positive[self.order],
            predicted=self.predicted[self.order],
            score=self.score[self.order],
            weight=None if self.weight is None else self.weight[self.order],
            selected=self.selected[:, self.order],
            used=np.flatnonzero(self.used)[self.order],
        )


def read_rows(
    clf: Any, X: Any, y: ArrayLike, coverage: float, *, sample_weight: ArrayLike | None = None, band_groups: Any = None
) -> ReportRows:
    """Score the rows once, select at every coverage of the grid, and check what a report needs."""
    check_selective(clf)
    if len(clf.classes_) != 2:
        raise ValueError(
            f"clf must have two classes for a report, got {len(clf.classes_)}: ROC and CAP curves know two; "
            "evaluate_selective tabulates more"
        )
    positive, score = positive_labels(clf, y), positive_scores_of(clf, X)
    if len(positive) != len(score):
        raise ValueError(f"y must hold one label per row of X, got {len(positive)} for {len(score)} rows")
    used = row_weights(sample_weight, len(positive)) > 0
    if positive[used].all() or not positive[used].any():
        found = clf.classes_[int(positive[used].any())]
        raise ValueError(f"y must hold both classes for a report, got {found!r} alone; take more rows")
    coverages = tuple(sorted({*GRID, coverage}))
    # Only where given: a classifier of another library need not know the argument.
    bands = {} if band_groups is None else {"band_groups": band_groups}
    selected = np.asarray(clf.select_each(X, coverages, **bands))[:, used]
    if not selected[-1].all():
        raise ValueError(
            f"clf must answer every row at coverage 1, got {int((~selected[-1]).sum())} deferred: gains are "
            "differences from all rows"
        )
    return ReportRows(
        positive=positive[used],
        predicted=(np.asarray(clf.predict(X)) == clf.classes_[1])[used],
        score=score[used],
        weight=None if sample_weight is None else row_weights(sample_weight, len(positive))[used],
        coverages=coverages,
        selected=selected,
        used=used,
        is_probability=getattr(clf, "response_method_", "predict_proba") == "predict_proba"
        and hasattr(clf, "predict_proba"),
    )
