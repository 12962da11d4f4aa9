"""The rows given to `fit`: checked, split together with everything that belongs to them, and passed to a model.

::

    cross-fitting (K = 3)                hold-out
    fold 1  [score][train ][train ]      [        train        ][score]
    fold 2  [train ][score][train ]
    fold 3  [train ][train ][score]      every score comes from a model that did not train on that row
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import ceil
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, check_cv, train_test_split
from sklearn.pipeline import Pipeline
from sklearn.utils import column_or_1d, indexable
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.validation import has_fit_parameter

from aucross.core.bands import check_coverage
from aucross.core.cautious import check_confidence
from aucross.core.ranking import FloatArray, IndexArray, check_weights, refuse_name_of_column
from aucross.estimators.column_names import refuse_repeated_names
from aucross.estimators.labels import check_classes, in_order, plain_labels
from aucross.estimators.models import refuse_no_object, untrained_copy
from aucross.estimators.row_hash import Hashes, hash_rows
from aucross.estimators.score_column import score_column_in
from aucross.estimators.text_columns import explained
from aucross.estimators.types import Classifier, Column, Folds, Generator, Labels, Table
from aucross.frames import check_band_groups, count_rows, numbers_of_units, other_order, take_rows
from aucross.system.text import warn_user

# Rows to train on and rows to score, of one model.
Split = tuple[IndexArray, IndexArray]

# Fewer copies could be learnt by heart, and a smaller share of the rows moves no coverage that anyone would notice.
FEWEST_COPIES, SMALLEST_SHARE = 30, 0.002


@dataclass(frozen=True)
class TrainingRows:
    """The rows given to `fit`, and everything that is split along with them.

    Rows with the same value of `groups` stay on one side of every split; each value of `band_groups` gets a band.
    `sample_weight` counts in the ranking and the coverage; `fit_params` are the arguments of the models, training
    weights included.
    """

    X: Table
    y: NDArray[Any]
    classes: Labels
    sample_weight: FloatArray | None = None
    groups: Column = None
    band_groups: Labels | None = None
    fit_params: Mapping[str, Any] = field(default_factory=dict)
    units: IndexArray | None = None  # number of each row's group

    @cached_property
    def labels(self) -> IndexArray:
        """Number of each row's class, in the order of `classes`."""
        order = np.argsort(self.classes)
        return order[np.searchsorted(self.classes[order], self.y)]

    @property
    def n_groups(self) -> int:
        """Number of different groups."""
        return len(np.unique(np.asarray(self.groups)))

    @cached_property
    def hashes(self) -> Hashes:
        """A hash of each row."""
        return hash_rows(self.X)

    @cached_property
    def common_rows(self) -> IndexArray:
        """Rows with many identical copies, more of which will come.

        If 6 % of the applicants have no record at the credit bureau, 6 % of the rows are identical. The K fold models
        give them K scores, the refitted model only one, so a band around one of the K scores would hold just a part of
        them. Hence these rows place the band by the score of the refitted model, which has seen them; but a score
        shared by many copies says little about the label of one.
        """
        _, place, counts = np.unique(self.hashes, return_inverse=True, return_counts=True)
        return np.flatnonzero(counts[place] >= max(FEWEST_COPIES, SMALLEST_SHARE * len(place)))

    def take(self, rows: IndexArray) -> TrainingRows:
        """Return some of the rows with all that belongs to them, except the arguments for models."""
        return TrainingRows(
            take_rows(self.X, rows),
            self.y[rows],
            self.classes,
            None if self.sample_weight is None else self.sample_weight[rows],
            None if self.groups is None else take_rows(self.groups, rows),
            None if self.band_groups is None else self.band_groups[rows],
        )


@dataclass(frozen=True)
class ModelToFit:
    """A model to train: the method that gives its scores, its arguments of ``fit``, and its purpose."""

    estimator: Classifier
    response_method: str
    fit_params: Mapping[str, Any] = field(default_factory=dict)
    role: Literal["classifier", "gate"] = "classifier"

    def train(self, training: TrainingRows, rows: IndexArray | None = None) -> Any:
        """Return a copy of the model, trained on the given rows, by default on all."""
        model = untrained_copy(self.estimator, training.classes)
        X, y, params = training.X, training.y, self.fit_params
        if rows is not None:
            missing = np.setdiff1d(training.classes, y[rows])
            if len(missing) and not isinstance(model, FrozenEstimator):
                raise ValueError(
                    f"every training part of cv must hold all classes, got one of {len(rows)} rows without "
                    f"{missing.tolist()}; pass other splits or groups, or fewer folds"
                )
            # As in scikit-learn, an argument with one element per row is cut with the rows.
            params = {
                name: take_rows(value, rows) if _has_an_element_for_each(len(y), value) else value
                for name, value in params.items()
            }
            X, y = take_rows(X, rows), y[rows]
        try:
            return model.fit(X, y, **params)
        except Exception as error:
            clearer = explained(error, self.role, model, training.X)
            if clearer is None and self.role == "gate" and isinstance(error, TypeError | ValueError):
                clearer = type(error)(
                    f"the gate {type(model).__name__} cannot be trained on these rows: {error}; pass a gate that takes "
                    "what the classifier takes, as in AUCGate(classifier, gate=pipeline), or prepare X for both"
                )
            if clearer is None:
                raise
            raise clearer from error


def check_shared_parameters(clf: Any) -> None:
    """Refuse constructor parameters that cannot work, before any training."""
    refuse_no_object(getattr(clf, "estimator", None), "estimator")
    check_coverage(clf.coverage)
    confidence = clf.coverage_confidence
    if confidence is not None:
        check_confidence(confidence, "coverage_confidence")
    ties = getattr(clf, "ties", "whole")
    if not isinstance(ties, str) or ties not in ("whole", "split"):
        raise ValueError(
            f'ties must be "whole" or "split", got {ties!r}; "split" cuts through ties by a hash of the row'
        )
    holdout_size = getattr(clf, "holdout_size", 0.1)
    if not isinstance(holdout_size, Real):
        raise TypeError(f"holdout_size must be a number in (0, 1), got {holdout_size!r}; pass 0.1 for a tenth")
    if not 0.0 < float(holdout_size) < 1.0:
        raise ValueError(f"holdout_size must be a share in (0, 1), got {holdout_size}; pass 0.1 for a tenth")


def check_training_rows(
    clf: Any,
    X: Table,
    y: Column,
    *,
    sample_weight: Column,
    groups: Column,
    band_groups: Column,
    coverage_weight: Column,
    fit_params: dict[str, Any],
) -> TrainingRows:
    """Return checked rows: equal lengths, at least two classes, usable weights."""
    if y is None:
        raise ValueError(f"This {type(clf).__name__} estimator requires y to be passed, but the target y is None")
    given, y = y, column_or_1d(plain_labels(y), warn=True)
    refuse_name_of_column(groups, "groups")
    for name, rows in (("X", X), ("groups", groups)):
        n_rows = count_rows(rows)
        if n_rows is not None and n_rows != len(y):  # scikit-learn knows what to say about those without a length
            raise ValueError(
                f"{name} and y must have the same number of rows, got {n_rows} and {len(y)}; "
                "check the join or the filter that made them"
            )
    beside = {"sample_weight": sample_weight, "groups": groups, "band_groups": band_groups}
    if (message := other_order(X, y=given, **beside, coverage_weight=coverage_weight)) is not None:
        warn_user(message)
    refuse_repeated_names(X)
    X, y, groups = indexable(X, y, groups)
    if not len(y):
        raise ValueError("X and y must not be empty: found array with 0 sample(s) while a minimum of 2 is required")
    classes = check_classes(y)
    # Rows without a group are refused: they would be one customer, all in one fold.
    units = None if groups is None else numbers_of_units(groups, len(y))
    classes = in_order(classes, getattr(clf, "pos_label", None), given)
    if (column := score_column_in(clf.estimator)) is not None:  # of a fold, the error would count other rows
        column.check_column(X, classes if column is clf.estimator else ())
    weight = None if sample_weight is None else check_weights(sample_weight, len(y))
    counted = weight if coverage_weight is None else check_weights(coverage_weight, len(y), name="coverage_weight")
    if counted is not None and clf.coverage_confidence is not None:
        raise ValueError(
            "coverage_confidence must be None with sample_weight or coverage_weight: the confidence is about a share "
            "of rows and does not "
            f"hold for a share of weight, got {clf.coverage_confidence!r}; leave out one of the two"
        )
    bands = None if band_groups is None else check_band_groups(band_groups, len(y))
    for_models = fit_params if weight is None else {**fit_params, "sample_weight": weight}
    return TrainingRows(X, y, classes, counted, groups, bands, for_models, units)


def base_fit_params(clf: Any, training: TrainingRows) -> Mapping[str, Any]:
    """Return the arguments of the base model's fit: all, or those requested by metadata routing."""
    given = training.fit_params
    if get_config()["enable_metadata_routing"]:
        return dict(process_routing(clf, "fit", **given).estimator.fit) if given else {}
    if "sample_weight" in given and not takes_weights(clf.estimator):
        raise ValueError(
            f"sample_weight cannot reach the base model: {type(clf.estimator).__name__}.fit has no argument of "
            "that name; if a step inside takes weights, call sklearn.set_config(enable_metadata_routing=True) and "
            ".set_fit_request(sample_weight=True) on that step"
        )
    return given


def takes_weights(estimator: Classifier) -> bool:
    """Return whether fit takes sample_weight without metadata routing."""
    if isinstance(estimator, FrozenEstimator):
        return True  # it is not trained: the weights count in ranking and coverage only
    if isinstance(estimator, Pipeline):
        return False  # it takes any keyword and then refuses this one
    return has_fit_parameter(estimator, "sample_weight")


def check_class_sizes(training: TrainingRows, *, at_least: int, reason: str, remedy: str) -> None:
    """Refuse classes with too few rows."""
    counts = [int(np.sum(training.y == label)) for label in training.classes]
    rarest = int(np.argmin(counts))
    if counts[rarest] < at_least:
        sizes = zip(("n_samples", "n_features"), np.shape(training.X), strict=False)
        shape = ", ".join(f"{name}={size}" for name, size in sizes)
        raise ValueError(
            f"every class must have at least {at_least} rows because {reason}; class "
            f"{training.classes.tolist()[rarest]!r} has {counts[rarest]} (X has {shape}); {remedy}"
        )


def _has_an_element_for_each(n_rows: int, value: Any) -> bool:
    """Return whether an argument has one element per row; single values, text and mappings do not."""
    if isinstance(value, str | Mapping) or not hasattr(value, "__getitem__"):
        return False
    return count_rows(value) == n_rows


# ---- splits ----


def halves_of(labels: IndexArray, rng: Generator) -> tuple[IndexArray, IndexArray]:
    """Return the positions of two random halves with equal shares of each class."""
    # A class of one row cannot be in both halves.
    can_stratify = 1 not in np.unique_counts(labels).counts
    labels = labels if can_stratify else np.zeros(len(labels), dtype=int)
    (_, first), (_, second) = StratifiedKFold(2, shuffle=True, random_state=rng).split(labels, labels)
    return first, second


def fold_splits(training: TrainingRows, cv: Any, rng: Generator) -> Iterator[Split]:
    """Yield training and scored rows of each fold of `cv`; folds are stratified and shuffled if `cv` is a number."""
    if not isinstance(cv, Integral):
        splitter = check_cv(cv, training.y, classifier=True)
    else:
        if (n_folds := int(cv)) < 2:
            raise ValueError(f"cv must be at least 2 folds, got {cv!r}; pass cv=5")
        check_class_sizes(
            training,
            at_least=n_folds,
            reason=f"{cv} folds need one of each class in every fold",
            remedy=f"pass fewer than {cv} folds or more rows of this class",
        )
        # scikit-learn refuses this from 1.9 on only, and before gives folds without rows.
        if training.groups is not None and (n_groups := training.n_groups) < n_folds:
            raise ValueError(
                f"cv must not be greater than the number of groups: {n_groups}, got {cv}; pass fewer folds or more "
                "groups"
            )
        kind = StratifiedKFold if training.groups is None else StratifiedGroupKFold
        splitter = kind(n_folds, shuffle=True, random_state=rng)
    has_splits = False
    for split in splitter.split(training.X, training.y, training.groups):
        has_splits = True
        parts = [np.asarray(part) for part in split]  # positions, or masks
        train, test = (np.flatnonzero(part) if part.dtype == np.bool_ else part for part in parts)
        yield train, test
    if not has_splits:
        raise ValueError("cv must give at least one split, got none; an iterator can be used only once, pass a list")


def hold_out_split(training: TrainingRows, cv: Folds, holdout_size: float, rng: Generator) -> Split:
    """Return one split: stratified with the given size, or the first of `cv`."""
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
        n_folds = max(2, min(round(1 / holdout_size), training.n_groups))
        return next(fold_splits(training, n_folds, rng))
    n_rows = len(training.y)
    # The paper's share, but never fewer rows than classes on either side, on which a stratified split insists.
    n_classes = len(training.classes)
    n_held_out = min(max(ceil(holdout_size * n_rows), n_classes), n_rows - n_classes)
    train, test = train_test_split(np.arange(n_rows), test_size=n_held_out, stratify=training.y, random_state=rng)
    # One row moves of each class that is so rare that the split put it on one side only.
    for label in range(n_classes):
        of_class = training.labels == label
        for _ in ("test", "train"):
            if not of_class[test].any():
                moved = train[of_class[train]][:1]  # rows are shuffled, so the first is a random one
                test, train = np.append(test, moved), np.setdiff1d(train, moved, assume_unique=True)
            train, test = test, train
    return train, test
