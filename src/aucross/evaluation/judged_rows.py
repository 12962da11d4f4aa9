"""Labelled rows that a classifier has scored, once: what every evaluation of a classifier starts from.

::

    clf, X, y ──► judge ──► JudgedRows ──┬──► labels, scores, answers, weights
                  scored(X), once        └──► selections at any coverage, without a model
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from aucross.core.missing import refuse_missing_labels
from aucross.core.ranking import FloatArray
from aucross.core.scored_rows import ScoredRows
from aucross.evaluation.inputs import BoolArray
from aucross.frames import other_order
from aucross.system.text import percent


class TrainingRowsWarning(UserWarning):
    """Rows that took part in the fit came back as test rows, on which every figure is too good."""


@dataclass(frozen=True, eq=False)
class JudgedRows:
    """Rows that each model of a classifier has seen once, and their labels.

    Attributes
    ----------
    clf : SelectiveClassifier
        The classifier.
    scored : ScoredRows
        The rows, with their weights and groups.
    labels : ndarray of shape (n,)
        Labels as in training.
    features : array-like or frame of shape (n, n_features) or None
        The rows before they were scored, if they were given.
    share_of_fit : float
        Estimated share of the rows that took part in the fit, 0 if it is not more than chance explains.
    doubt : str or None
        The same in a sentence, None if it is 0.
    """

    clf: Any
    scored: ScoredRows
    labels: NDArray[Any]
    features: Any = None
    share_of_fit: float = 0.0
    doubt: str | None = None

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def positive(self) -> BoolArray:
        """Whether each row is of the positive class."""
        return np.asarray(self.labels == self.scored.classes[1])

    @property
    def score(self) -> FloatArray:
        """Scores of the model that answers."""
        return self.scored.score

    @property
    def predicted(self) -> BoolArray:
        """Whether each row is answered with the positive class."""
        return np.asarray(self.scored.predicted == self.scored.classes[1])

    @property
    def sample_weight(self) -> FloatArray | None:
        """Weights of the rows, if they have any."""
        return self.scored.sample_weight

    def selections(self, coverages: Iterable[float]) -> dict[float, BoolArray]:
        """The rows that the classifier selects at each coverage."""
        coverages = list(coverages)
        return dict(zip(coverages, self.clf.select_each(self.scored, coverages), strict=True))


def judge(
    clf: Any,
    X: Any,
    y: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    band_groups: Any = None,
    features: Any = None,
    warns: bool = True,
) -> JudgedRows:
    """Score labelled rows, or take scored ones as they are; labels that the classifier does not know are refused.

    Rows that took part in the fit are warned of, or only noted; for scored rows they are found in `features`, if given.
    """
    check_selective(clf)
    labels = _known_labels(clf, y)
    if (message := other_order(X, y=y, sample_weight=sample_weight, band_groups=band_groups)) is not None:
        warnings.warn(message, UserWarning, stacklevel=3)
    scored = clf.scored(X, sample_weight=sample_weight, band_groups=band_groups)
    if len(labels) != len(scored):
        raise ValueError(f"y must hold one label per row of X, got {len(labels)} for {len(scored)} rows")
    given = features if isinstance(X, ScoredRows) else X
    share, doubt = rows_of_fit(clf, given)
    if warns and doubt is not None:
        warnings.warn(doubt, TrainingRowsWarning, stacklevel=3)
    return JudgedRows(clf, scored, labels, None if isinstance(X, ScoredRows) else X, share, doubt)


def warn_of_rows_of_fit(clf: Any, X: Any) -> None:
    """Say so if rows took part in the fit, shuffled or in part.

    Parameters
    ----------
    clf : SelectiveClassifier
        Fitted classifier. One that was stored by an earlier version has no marks of its rows, and nothing is noticed.
    X : array-like or frame of shape (n_samples, n_features) or None
        Rows as they would be scored.
    """
    if (doubt := rows_of_fit(clf, X)[1]) is not None:
        warnings.warn(doubt, TrainingRowsWarning, stacklevel=3)


def rows_of_fit(clf: Any, X: Any) -> tuple[float, str | None]:
    """The share of the rows that took part in the fit, and a sentence about it; 0 and None if none are noticed."""
    marks = getattr(clf, "training_marks_", None)
    if marks is None or X is None:
        return 0.0, None
    seen = marks.seen_in(X)
    if not seen.is_noticed:
        return 0.0, None
    what = "different rows" if seen.has_repeats else "rows"
    return float(seen.share), (
        f"{'at least' if seen.has_repeats else 'about'} {percent(seen.share)} of the {what} took part in the fit of "
        "this classifier: on rows that trained the model or placed the band every figure is too good, and no bound "
        "holds; pass test rows"
    )


def judge_to_draw(clf: Any, X: Any, y: ArrayLike, **options: Any) -> JudgedRows:
    """The same for a display of two classes."""
    check_two_classes(clf, "draw one class against the others with from_predictions")
    return judge(clf, X, y, **options)


def check_selective(clf: Any) -> None:
    """Refuse what is no selective classifier, or not a fitted one."""
    if not hasattr(clf, "scored"):
        raise TypeError(
            f"clf must be a selective classifier such as AUCross, got {type(clf).__name__}; wrap the model, with its "
            "preprocessing, as in AUCross(model), and of a search pass best_estimator_"
        )
    check_is_fitted(clf)


def check_two_classes(clf: Any, remedy: str) -> None:
    """Refuse a classifier of more than two classes, which `remedy` says what to do with."""
    check_selective(clf)
    if len(clf.classes_) != 2:
        raise ValueError(f"clf must have two classes, got {len(clf.classes_)}; {remedy}")


def _known_labels(clf: Any, y: ArrayLike) -> NDArray[Any]:
    """The labels as an array; those that the classifier does not know are refused."""
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise ValueError(f"y must be 1-d, got shape {labels.shape}; pass np.ravel(y) for a single column")
    refuse_missing_labels(labels)
    known = np.isin(labels, clf.classes_)
    if not known.all():
        unknown = list(dict.fromkeys(labels[~known].tolist()))  # np.unique cannot sort None among numbers
        raise ValueError(
            f"y must hold the classes of the training rows {clf.classes_.tolist()}, got also {unknown[:5]}, "
            f"the first in row {int(np.argmin(known))}; drop those rows, or write their labels as in training"
        )
    return labels
