"""What the displays read of a classifier: labels, scores, predictions and selections of the rows to draw."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from aucross.core.ranking import FloatArray
from aucross.evaluation.evaluate import check_selective, positive_labels, positive_scores_of
from aucross.evaluation.inputs import BoolArray


class LabelledScores(NamedTuple):
    """Whether each row is positive, and its score."""

    positive: BoolArray
    score: FloatArray


def labelled_scores(clf: Any, X: Any, y: ArrayLike) -> LabelledScores:
    """Labels and scores of rows by a fitted selective classifier of two classes."""
    check_selective(clf)
    if len(clf.classes_) != 2:
        raise ValueError(
            f"clf must have two classes, got {len(clf.classes_)}; draw one class against the others with "
            "from_predictions"
        )
    positive, score = positive_labels(clf, y), positive_scores_of(clf, X)
    if len(positive) != len(score):
        raise ValueError(f"y must hold one label per row of X, got {len(positive)} for {len(score)} rows")
    return LabelledScores(positive, score)


def selection_of(clf: Any, X: Any, coverage: float | None, band_groups: Any) -> BoolArray:
    """The rows that the classifier selects."""
    # Only where given: a classifier of another library need not know the argument.
    bands = {} if band_groups is None else {"band_groups": band_groups}
    return np.asarray(clf.select(X, coverage, **bands))


def coverage_in_force(clf: Any, coverage: float | None) -> float:
    """The coverage asked for, by default the one that the classifier was made with."""
    check_selective(clf)
    return float(clf.coverage if coverage is None else coverage)


def name_of(clf: Any, name: str | None) -> str:
    """The name given, or the class of the classifier."""
    return type(clf).__name__ if name is None else name
