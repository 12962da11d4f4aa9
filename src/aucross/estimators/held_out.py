"""Which rows train and which are scored: scores from models that have not seen the row.

::

    cross-fitting (K = 3)                hold-out
    fold 1  [score][train ][train ]      [        train        ][score]
    fold 2  [train ][score][train ]
    fold 3  [train ][train ][score]      every score comes from a model that did not train on that row
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import ceil
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, check_cv, train_test_split
from sklearn.pipeline import Pipeline
from sklearn.utils.parallel import Parallel, delayed

from aucross.core.ranking import FloatArray, IndexArray, RankedScores, effective_size

logger = logging.getLogger(__name__)

# Positions among held-out rows.
Rows = IndexArray | slice

RESPONSE_METHODS = ("predict_proba", "decision_function")


@dataclass(frozen=True)
class TrainingRows:
    """The rows given to `fit`, and what is cut along with them."""

    X: Any
    y: NDArray[Any]
    classes: NDArray[Any]
    sample_weight: FloatArray | None = None
    groups: Any = None
    fit_params: Mapping[str, Any] = field(default_factory=dict)

    @property
    def labels(self) -> IndexArray:
        """Number of each row's class, in the order of `classes`."""
        return np.searchsorted(self.classes, self.y)

    def fit(self, estimator: Any, rows: IndexArray | None = None) -> Any:
        """Train a clone of `estimator` on the given rows, all by default."""
        model = clone(estimator)
        if rows is None:
            return model.fit(self.X, self.y, **self.fit_params)
        missing = np.setdiff1d(self.classes, self.y[rows])
        if len(missing) and not isinstance(model, FrozenEstimator):
            raise ValueError(
                f"every training part of cv must hold all classes, got one of {len(rows)} rows without "
                f"{missing.tolist()}; pass other splits or groups, or fewer folds"
            )
        params = {name: self._cut(value, rows) for name, value in self.fit_params.items()}
        return model.fit(take_rows(self.X, rows), self.y[rows], **params)

    def _cut(self, value: Any, rows: IndexArray) -> Any:
        """Cut a fit parameter if it has one element per row (scikit-learn's rule)."""
        return take_rows(value, rows) if _count_elements(value) == len(self.y) else value


@dataclass(frozen=True)
class HeldOutScores:
    """Scores of training rows by models that did not train on them.

    Attributes
    ----------
    rows : ndarray of shape (n,)
        Row of the training data that each score belongs to. Time-series splits leave rows out; repeated splits
        score a row m times, each time with weight 1/m.
    labels : ndarray of shape (n,)
        Number of the row's class; 1 is the positive one of two.
    responses : ndarray of shape (n,) or (n, n_classes)
        Score of the positive class of two, or one score for each of more classes; float64.
    sample_weight : ndarray of shape (n,) or None
        Weights of the scores; None means 1 each.
    """

    rows: IndexArray
    labels: IndexArray
    responses: FloatArray
    sample_weight: FloatArray | None = None

    @property
    def positive(self) -> NDArray[np.bool_]:
        """Whether the row belongs to the positive class of two."""
        return np.asarray(self.labels == 1)

    @property
    def scores(self) -> FloatArray:
        """Score of the positive class of two."""
        return self.responses

    def ranked(self, selected: NDArray[np.bool_] | None = None) -> RankedScores:
        """Rank the scores by label, all or the selected ones."""
        part = self if selected is None else self.take(np.flatnonzero(selected))
        return RankedScores.from_labels(part.positive, part.scores, part.sample_weight)

    def ranked_both_classes(self, name: str = "the held-out rows") -> RankedScores:
        """Rank the scores by label, refusing rows that lack one of two classes."""
        ranked = self.ranked()
        if min(ranked.total_positives, ranked.total_negatives) == 0:
            raise ValueError(
                f"{name} must hold both classes with weight above 0, got {ranked.total_positives:g} positives and "
                f"{ranked.total_negatives:g} negatives; pass a cv that scores rows of both classes, or other weights"
            )
        return ranked

    def take(self, indices: Rows) -> HeldOutScores:
        """The scores at the given positions; a slice copies nothing."""
        weight = None if self.sample_weight is None else self.sample_weight[indices]
        return HeldOutScores(self.rows[indices], self.labels[indices], self.responses[indices], weight)

    def with_weights_as_rows(self) -> HeldOutScores:
        """The same with weights that add up to the number of rows."""
        if self.sample_weight is None:
            return self
        n_rows = len(np.unique(self.rows[self.sample_weight > 0]))
        return replace(self, sample_weight=self.sample_weight * (n_rows / self.sample_weight.sum()))

    @property
    def n_effective(self) -> float:
        """Kish's effective number of rows; several scores of one row are one row."""
        return effective_size(np.bincount(self.rows, weights=self.sample_weight))

    def of_effective_size(self) -> HeldOutScores:
        """The same with weights that add up, in each class, to Kish's effective number of rows."""
        if self.sample_weight is None:
            return self
        weight = self.sample_weight.copy()
        for label in np.unique(self.labels):
            of_class = self.labels == label
            # Several scores of one row are one row.
            per_row = np.bincount(self.rows[of_class], weights=weight[of_class])
            if (total := per_row.sum()) > 0:
                weight[of_class] *= effective_size(per_row) / total
        return replace(self, sample_weight=weight)


def cross_fit_scores(
    estimator: Any, training: TrainingRows, *, cv: Any, response_method: str, rng: Any, n_jobs: int | None = None
) -> HeldOutScores:
    """Score every row by the model of the folds that it is not in."""
    splits = list(fold_splits(training, cv, rng))
    estimator = _trained_as_on_all_rows(estimator, len(training.y))
    fit_and_score = delayed(_fit_and_score)
    scores = Parallel(n_jobs=n_jobs)(
        fit_and_score(estimator, training, train, test, response_method) for train, test in splits
    )
    if all((fold == fold[0]).all() for fold in scores if len(fold)):
        # Each fold has its own constant, which tells rows of different folds apart and nothing else.
        constant = np.mean([fold[0] for fold in scores if len(fold)], axis=0)
        scores = [np.full(fold.shape, constant) for fold in scores]
    return _held_out(training, np.concatenate([test for _, test in splits]), np.concatenate(scores))


def _trained_as_on_all_rows(estimator: Any, n_rows: int) -> Any:
    """A model that chooses by the number of rows whether to stop early must choose for a fold as for all rows.

    Otherwise the folds of 12,000 rows train one kind of model and the refit another: scikit-learn's histogram boosting
    stops early above 10,000 rows, and its coverage was 0.04 short.
    """
    if isinstance(estimator, FrozenEstimator):
        return estimator
    undecided = [
        name
        for name, value in estimator.get_params().items()
        if (name == "early_stopping" or name.endswith("__early_stopping"))
        and isinstance(value, str)
        and value == "auto"
    ]
    return clone(estimator).set_params(**dict.fromkeys(undecided, n_rows > 10_000)) if undecided else estimator


def hold_out_scores(
    estimator: Any, training: TrainingRows, *, cv: Any, holdout_size: float, response_method: str, rng: Any
) -> tuple[Any, HeldOutScores]:
    """Train on one part of the rows and score the other; return the model too."""
    train, test = hold_out_split(training, cv, holdout_size, rng)
    model = training.fit(estimator, train)
    scores = class_scores(model, take_rows(training.X, test), response_method, training.classes)
    return model, _held_out(training, test, scores)


def stratified_halves(held_out: HeldOutScores, rng: Any) -> tuple[HeldOutScores, HeldOutScores]:
    """Split scores at random into two halves with the same share of positives."""
    first, second = (held_out.take(indices) for indices in halves_of(held_out.labels, rng))
    return first, second


def halves_of(labels: IndexArray, rng: Any) -> tuple[IndexArray, IndexArray]:
    """Positions of two random halves with the same share of each class."""
    # A class of one row cannot be in both halves.
    can_stratify = 1 not in np.unique_counts(labels).counts
    labels = labels if can_stratify else np.zeros(len(labels), dtype=int)
    (_, first), (_, second) = StratifiedKFold(2, shuffle=True, random_state=rng).split(labels, labels)
    return first, second


def fold_splits(training: TrainingRows, cv: Any, rng: Any) -> Iterator[tuple[IndexArray, IndexArray]]:
    """Pairs of training and scored rows: K stratified shuffled folds, or whatever `cv` says."""
    if isinstance(cv, Integral):
        splitter = _stratified_folds(training, cv, rng)
    else:
        splitter = check_cv(cv, training.y, classifier=True)
    has_splits = False
    for split in splitter.split(training.X, training.y, training.groups):
        has_splits = True
        train, test = (_as_positions(part) for part in split)
        yield train, test
    if not has_splits:
        raise ValueError("cv must give at least one split, got none; an iterator can be used only once, pass a list")


def _stratified_folds(training: TrainingRows, n_folds: Any, rng: Any) -> StratifiedKFold | StratifiedGroupKFold:
    if n_folds < 2:
        raise ValueError(f"cv must be at least 2 folds, got {n_folds!r}; pass cv=5")
    check_class_sizes(
        training,
        at_least=int(n_folds),
        reason=f"{n_folds} folds need one of each class in every fold",
        remedy=f"pass fewer than {n_folds} folds or more rows of this class",
    )
    kind = StratifiedKFold if training.groups is None else StratifiedGroupKFold
    return kind(int(n_folds), shuffle=True, random_state=rng)


def _as_positions(part: Any) -> IndexArray:
    """Row numbers of one side of a split that may be given as a mask."""
    part = np.asarray(part)
    return np.flatnonzero(part) if part.dtype == np.bool_ else part


def hold_out_split(training: TrainingRows, cv: Any, holdout_size: float, rng: Any) -> tuple[IndexArray, IndexArray]:
    """One split: stratified and of the given size, or the first of `cv`."""
    if cv is not None:
        return next(fold_splits(training, cv, rng))
    check_class_sizes(
        training,
        at_least=2,
        reason="one to train on and one to hold out are needed",
        remedy="pass more rows of this class",
    )
    if training.groups is not None:
        # Folds of about the size asked for keep each group on one side; there are no more folds than groups.
        n_folds = max(2, min(round(1 / holdout_size), len(np.unique(np.asarray(training.groups)))))
        return next(fold_splits(training, n_folds, rng))
    n_rows = len(training.y)
    # The paper's share, but never fewer rows than classes on either side, on which a stratified split insists.
    n_classes = len(training.classes)
    n_held_out = min(max(ceil(holdout_size * n_rows), n_classes), n_rows - n_classes)
    train, test = train_test_split(np.arange(n_rows), test_size=n_held_out, stratify=training.y, random_state=rng)
    return _with_all_classes(training.labels, train, test)


def _with_all_classes(labels: IndexArray, train: IndexArray, test: IndexArray) -> tuple[IndexArray, IndexArray]:
    """Move one row of each class so rare that the split gave it to one side only."""
    for label in np.unique(labels):
        test, train = _lend_row(train, test, labels == label)
        train, test = _lend_row(test, train, labels == label)
    return train, test


def _lend_row(lender: IndexArray, borrower: IndexArray, of_class: NDArray[np.bool_]) -> tuple[IndexArray, IndexArray]:
    """Give one row of a class to the side that has none; return the borrower first."""
    if of_class[borrower].any():
        return borrower, lender
    moved = lender[of_class[lender]][:1]  # rows are shuffled, so the first is a random one
    return np.append(borrower, moved), np.setdiff1d(lender, moved, assume_unique=True)


def check_class_sizes(training: TrainingRows, *, at_least: int, reason: str, remedy: str) -> None:
    """Refuse classes with too few rows."""
    counts = [int(np.sum(training.y == label)) for label in training.classes]
    rarest = int(np.argmin(counts))
    if counts[rarest] < at_least:
        raise ValueError(
            f"every class must have at least {at_least} rows because {reason}; class "
            f"{training.classes.tolist()[rarest]!r} has {counts[rarest]} (X has {_shape_of(training.X)}); {remedy}"
        )


def class_scores(estimator: Any, X: Any, response_method: str, classes: NDArray[Any]) -> FloatArray:
    """Probabilities or decision values as float64: of the positive one of two classes, or of each of more."""
    known = np.asarray(getattr(estimator, "classes_", classes))
    if not np.array_equal(known, classes):
        raise ValueError(
            f"the base model was trained on the classes {known.tolist()}, but y has {classes.tolist()}; every "
            "training part of cv must hold all classes, and a frozen model must know the same labels"
        )
    _refuse_one_against_one(estimator, response_method, len(classes))
    # float64 on purpose: some libraries return float32, and bands are compared in float64.
    response = np.asarray(getattr(estimator, response_method)(X), dtype=np.float64)
    if response.ndim == 2 and response.shape[1] == len(classes):
        return response[:, 1] if len(classes) == 2 else response
    if response.ndim != 1 or len(classes) > 2:
        raise ValueError(
            f"{type(estimator).__name__}.{response_method} must return one column for each of the {len(classes)} "
            f"classes, or one score per row for two, got shape {response.shape}; wrap the model so that it does"
        )
    return response


def _refuse_one_against_one(estimator: Any, response_method: str, n_classes: int) -> None:
    """Three classes have three pairs: decision values of pairs would pass for those of classes."""
    if isinstance(estimator, Pipeline):
        estimator = estimator.steps[-1][1]
    is_pairwise = getattr(estimator, "decision_function_shape", None) == "ovo"
    if is_pairwise and response_method == "decision_function" and n_classes > 2:
        raise ValueError(
            f'{type(estimator).__name__} must score classes, not pairs of them, got decision_function_shape="ovo"; '
            'pass decision_function_shape="ovr"'
        )


def take_rows(X: Any, rows: IndexArray) -> Any:
    """Rows of an array, a sparse matrix, a pandas or polars frame or a sequence, in their own type."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if type(X).__module__.startswith("pyarrow"):  # its tables have a shape, but brackets choose columns
        return X.take(rows)
    if hasattr(X, "shape"):
        return X[rows]
    return [X[row] for row in rows]


def _shape_of(X: Any) -> str:
    names = ("n_samples", "n_features")
    return ", ".join(f"{name}={size}" for name, size in zip(names, np.shape(X), strict=False))


def _count_elements(value: Any) -> int | None:
    """Length of anything that can be cut with the rows; None for single values, text and mappings."""
    if isinstance(value, str | Mapping) or not hasattr(value, "__getitem__"):
        return None
    if hasattr(value, "shape"):
        return value.shape[0] if value.shape else None  # numpy's single values have an empty shape
    return len(value) if hasattr(value, "__len__") else None


def _fit_and_score(
    estimator: Any, training: TrainingRows, train: IndexArray, test: IndexArray, response_method: str
) -> FloatArray:
    logger.debug("cross-fitting: training on %d rows to score %d others", len(train), len(test))
    model = training.fit(estimator, train)
    return class_scores(model, take_rows(training.X, test), response_method, training.classes)


def _held_out(training: TrainingRows, rows: IndexArray, scores: FloatArray) -> HeldOutScores:
    weight = None if training.sample_weight is None else training.sample_weight[rows]
    times_scored = np.bincount(rows, minlength=len(training.y))[rows]
    if (times_scored > 1).any():
        weight = (1.0 if weight is None else weight) / times_scored
    finite = np.isfinite(scores) if scores.ndim == 1 else np.isfinite(scores).all(axis=1)
    if not finite.all():
        raise ValueError(
            f"the scores of the base model must be finite, got {int((~finite).sum())} NaN or infinite values among "
            f"{len(scores)}, the first for training row {rows[np.argmin(finite)]}; repair the model or impute its "
            "features"
        )
    return HeldOutScores(rows, training.labels[rows], scores, weight)
