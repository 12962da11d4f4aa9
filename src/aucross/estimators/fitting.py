"""Fit a selective classifier: the steps from labelled rows to a rule, shared by all methods.

::

    X, y ──► held-out scores ──► reader ──► rule

Each method defines two things: where held-out scores come from (``_source``), and which scores to reject (``_place``).
Its ``_reader`` turns scores into the input of the rule.
"""

from __future__ import annotations

import logging
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from importlib.util import find_spec
from itertools import count
from typing import Any, cast

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from aucross.core.band_rule import BandRule, GroupBands, positions_by_group
from aucross.core.ranking import IndexArray, RankedScores
from aucross.core.rounding import ScoreRounding
from aucross.estimators.column_names import refuse_columns_that_abort, refuse_other_columns
from aucross.estimators.doubts import warn_of_fit
from aucross.estimators.fitted import Fitted, SeenColumns
from aucross.estimators.held_out import HeldOutScores, HeldOutSource, held_out_by_folds, is_never_trained
from aucross.estimators.models import response_method_of
from aucross.estimators.placing import Placing, draw_halves, draw_path_splits, naming_group
from aucross.estimators.reading import Reader, RoundingReader
from aucross.estimators.row_hash import tie_breaker_of
from aucross.estimators.score_counts import ScoreCounts
from aucross.estimators.training_marks import TrainingMarks
from aucross.estimators.training_rows import (
    ModelToFit,
    Split,
    TrainingRows,
    base_fit_params,
    check_shared_parameters,
    check_training_rows,
)
from aucross.estimators.types import Classifier, Column, Generator, Labels, Step, Table
from aucross.system.text import warn_user

logger = logging.getLogger(__name__)

# Callbacks tell of the trainings of a fit and the placing of its bands, as in clf.set_callbacks(ProgressBar()). Below
# scikit-learn 1.9 there are none, and the steps go to the log alone.
CallbackSupport: Any = object
with_callbacks: Any = lambda method: method  # noqa: E731  (a name with a type, not a function)
if find_spec("sklearn.callback") is not None:
    from sklearn import callback

    CallbackSupport, with_callbacks = callback.CallbackSupportMixin, callback.with_callbacks


class Fitting(ABC, CallbackSupport):
    """Base that fits selective classifiers."""

    # Constructor parameters that every method has.
    estimator: Classifier
    coverage: float
    coverage_confidence: float | None
    random_state: Any

    fitted_: Fitted

    # ---- the two choices of a method ----

    @abstractmethod
    def _source(self) -> HeldOutSource:
        """Return the source of held-out scores, which says which rows train and which are scored."""

    @abstractmethod
    def _reader(self, held_out: HeldOutScores, classes: Labels, methods: Sequence[str]) -> Reader:
        """Return the reader that turns scores, which come from these model methods, into the input of the rule."""

    @abstractmethod
    def _place(self, placing: Placing) -> BandRule:
        """Place the rule on held-out rows."""

    def _models(self, training: TrainingRows, rng: Generator) -> list[ModelToFit]:  # noqa: ARG002
        """Return the models to train, starting with the one that answers."""
        return [ModelToFit(self.estimator, response_method_of(self.estimator), base_fit_params(self, training))]

    def _wants(self, n_classes: int) -> tuple[bool, bool]:  # noqa: ARG002
        """Return whether two random halves are blended, and whether folds of the training rows place the band."""
        return False, False

    # ---- fit ----

    @with_callbacks
    def fit(
        self,
        X: Table,
        y: Column,
        sample_weight: Column = None,
        groups: Column = None,
        band_groups: Column = None,
        *,
        coverage_weight: Column = None,
        **fit_params: Any,
    ) -> Any:
        """Fit the base classifier and place the bands.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Training rows, handed to the base classifier as they are.
        y : array-like of shape (n_samples,)
            Labels. The positive one of two classes is `pos_label`; without it, the higher category of an ordered pandas
            Categorical, or else the second label in sorted order.
        sample_weight : array-like of shape (n_samples,), optional
            Weights for training; also for the ranking and the coverage, unless `coverage_weight` is given.
        groups : array-like of shape (n_samples,), optional
            Customer (or other unit) of each row. Rows of one unit stay on one side of every split, if `cv` is an
            integer or a splitter that uses groups, and count together in held-out intervals, such as the interval of
            `coverage_for`.
        band_groups : array-like of shape (n_samples,), optional
            Group of each row, from any column, feature or not. Each group gets a band of its own, so that all have the
            same coverage; `select` then needs the groups of its rows.
        coverage_weight : array-like of shape (n_samples,), optional
            Weights for the ranking and the coverage, not for training. With amounts of money the coverage is a share of
            money, while the models train without weights or with `sample_weight`.
        **fit_params : dict
            Further arguments of the base classifier's ``fit``; those with one element per row are split with the rows.

        Returns
        -------
        self
            The fitted classifier.
        """
        self._check_parameters()
        refuse_columns_that_abort(self.estimator, X)
        training = self._check_training_rows(
            X,
            y,
            sample_weight=sample_weight,
            groups=groups,
            band_groups=band_groups,
            coverage_weight=coverage_weight,
            fit_params=fit_params,
        )
        # Trainings inside a fit are not experiments of their own for MLflow.
        tracker = sys.modules.get("mlflow.utils.autologging_utils")
        with nullcontext() if tracker is None else tracker.disable_autologging():
            fitted = self._fit(training, check_random_state(self.random_state))
        warn_of_fit(self, fitted, training)
        # Only now and by one assignment: a failure leaves an earlier fit as it was, and whoever asks in another thread
        # meets one fit or the other.
        self.fitted_ = fitted
        return self

    def _fit(self, training: TrainingRows, rng: Generator) -> Fitted:
        """Run the steps of the method on checked rows, without setting anything on `self`."""
        # All random draws come first, so that no option changes where the bands lie.
        source, n_classes = self._source(), len(training.classes)
        splits = source.splits(training, rng)
        scored = np.concatenate([test for _, test in splits])
        models = self._models(training, rng)
        _check_splits_and_models(training, splits, scored, models)
        wants_halves, wants_path = self._wants(n_classes)
        half = draw_halves(training, scored, getattr(self, "cv", None), rng) if wants_halves else None
        path_splits = draw_path_splits(training, splits[0], rng) if wants_path else []
        n_trainings = len(models) * (len(splits) + source.refits + len(path_splits))
        with _fit_progress(self, n_steps=n_trainings + 1) as step:
            # 1. Held-out scores: models are trained, and score rows that they have not seen.
            trained = source.score(models, training, splits, step)
            held_out = trained.held_out
            if getattr(self, "ties", "whole") == "split":
                held_out = replace(held_out, tie_breaker=tie_breaker_of(training.X)[held_out.rows])
            # 2. Reader: what the rule reads of the scores, also of new rows.
            reader = self._reader(held_out, training.classes, [model.response_method for model in models])
            # 3. Rule, placed on what is read of the held-out rows.
            path = held_out_by_folds(models, training, path_splits, step) if path_splits else None
            with step("placing the bands"):
                seen = None if trained.seen is None else tuple(scores.read_by(reader) for scores in trained.seen)
                judged_apart = bool(trained.judges)
                placing = Placing.of(held_out, reader, half=half, path=path, seen=seen, judged_apart=judged_apart)
                rule = self._rule(placing)
        return Fitted(
            trained.models[0],
            reader,
            rule,
            held_out,
            training.classes,
            models[0].response_method,
            held_out.n_effective,
            gate=trained.models[1] if len(models) > 1 else None,
            judges=trained.judges,
            columns=SeenColumns.of(training.X, trained.models),
            marks=TrainingMarks.of(training.X, held_out.fingerprint, training.hashes),
            n_rows=len(training.y),
        )

    def _rule(self, placing: Placing) -> BandRule:
        """Place one rule on all rows, or one rule for each group."""
        confidence = self.coverage_confidence
        if placing.rows.groups is None:
            return placing.in_force(self._place(placing), confidence)
        rules = {}
        for group, positions in positions_by_group(placing.rows.groups).items():
            with naming_group(group, len(positions)):
                # A promise is about the group's own rows, and each of them counts as one.
                part = placing.part(group, positions, borrows=confidence is None)
                rules[group] = part.in_force(self._place(part), confidence)
        return GroupBands(rules)

    _check_parameters = check_shared_parameters
    _check_training_rows = check_training_rows


def _check_splits_and_models(
    training: TrainingRows, splits: Sequence[Split], scored: IndexArray, models: Sequence[ModelToFit]
) -> None:
    """Refuse groups without held-out rows and columns unknown to a frozen model; warn of uneven splits."""
    groups = training.band_groups
    if groups is not None and (without := set(groups.tolist()) - set(groups[scored].tolist())):
        raise ValueError(
            f"every group of band_groups must have held-out rows to place its band on, got none for "
            f"{sorted(map(str, without))}; pass a larger holdout_size, another cv, or merge small groups"
        )
    frozen = [model for model in models if is_never_trained(model.estimator)]
    for model in frozen:
        if (names := getattr(model.estimator, "feature_names_in_", None)) is not None:
            refuse_other_columns(model.estimator, model.response_method, training.X, np.asarray(names).tolist())
    sizes = [len(train) for train, _ in splits]
    if len(frozen) < len(models) and max(sizes) >= 2 * min(sizes):
        warn_user(
            f"cv trains models on {min(sizes)} to {max(sizes)} of {len(training.y)} rows, as splits in the order of "
            "time do: such different models score on different scales, and new rows can have another coverage than "
            "asked for; use a hold-out method with the latest rows held out, such as PlugInAUC(model, cv=[(earlier, "
            "latest)])"
        )


@contextmanager
def _fit_progress(clf: Any, n_steps: int) -> Iterator[Step]:
    """Report the current step of a fit to the callbacks of `clf` and to the log."""
    begun = count(1)
    start = getattr(clf, "_init_callback_context", None)
    root = None if start is None else start(max_subtasks=n_steps).call_on_fit_task_begin(estimator=clf)

    @contextmanager
    def step(name: str) -> Iterator[None]:
        logger.debug("step %d of %d: %s", next(begun), n_steps, name)
        context = None if root is None else root.subcontext(task_name=name).call_on_fit_task_begin(estimator=clf)
        yield
        if context is not None:
            context.call_on_fit_task_end(estimator=clf)

    yield step
    if root is not None:
        root.call_on_fit_task_end(estimator=clf)


# ---- without rows: counts of held-out scores ----


def fit_on_counts(clf: Any, model: Any, counts: ScoreCounts, *, classes: Column) -> Any:
    """Fit a classifier to counts of held-out scores, with a model that is already trained.

    Use it for data that stay elsewhere: an engine trains, scores and counts there, so the classifier needs no rows.

    Parameters
    ----------
    clf : SelectiveClassifier
        The method and its parameters.
    model : classifier
        The fitted model that will answer.
    counts : ScoreCounts
        Held-out scores of two classes, by models that did not train on their rows; see :func:`counts_of`.
    classes : array-like of shape (2,)
        The labels in sorted order; the second is positive.

    Returns
    -------
    SelectiveClassifier
        The classifier that was passed, now fitted.
    """
    clf._check_parameters()
    if getattr(clf, "ties", "whole") == "split":
        raise ValueError('ties must be "whole" where scores are counted, got "split", which needs the rows')
    if any(getattr(one, "pos_label", None) is not None for one in (clf, clf.estimator)):
        raise ValueError("pos_label must be None where scores are counted: the second of the classes is positive")
    if clf._source().keeps_folds:
        raise ValueError(
            "ensemble must be False and coverage_confidence None where scores are counted, because fold models "
            "would have to judge new rows; use a hold-out method for a promise with confidence"
        )
    labels = np.asarray(classes)
    if labels.shape != (2,):
        raise ValueError(f"classes must be two labels, got {labels.tolist()}; more classes are fitted in memory")
    response_method, (held_out, half) = response_method_of(model), counts.held_out()
    reader = clf._reader(held_out, labels, [response_method])
    placing = Placing.of(held_out, reader, half=half, rounding=counts.rounding, counted=counts.ranking())
    rule = clf._rule(placing)
    fitted = Fitted(model, reader, rule, held_out, labels, response_method, held_out.n_effective)
    warn_of_fit(clf, fitted)
    clf.fitted_ = fitted
    return clf


def counts_of(
    clf: Any, held_out: HeldOutScores, rounding: ScoreRounding, *, response_method: str, half: IndexArray | None = None
) -> ScoreCounts:
    """Count the held-out scores of some rows, for use in :func:`fit_on_counts`.

    Parameters
    ----------
    clf : SelectiveClassifier
        The method that will be fitted.
    held_out : HeldOutScores
        Rows of two classes, for instance those of one partition.
    rounding : ScoreRounding
        How to round scores.
    response_method : str
        The method of the model that gave the scores.
    half : ndarray of shape (n,), optional
        Half of each row from :meth:`HashedFolds.half_of`; needed if :func:`blends_halves` is true.

    Returns
    -------
    ScoreCounts
        Counts of different rows can be added by :meth:`ScoreCounts.merge`.
    """
    reader = clf._reader(held_out, np.arange(2), [response_method])
    return ScoreCounts.of(held_out, cast("RoundingReader", reader), rounding, half)


def blends_halves(clf: Any) -> bool:
    """Return whether the rule of a two-class classifier combines a band on all rows with bands on two halves."""
    return bool(clf._wants(2)[0])


def classifier_from_ranking(clf: Any, ranked: RankedScores, *, classes: Column = (0, 1)) -> Any:
    """Fit a classifier to a ranking of an existing score, without any rows.

    Parameters
    ----------
    clf : SelectiveClassifier
        The method and its parameters; it is not changed. Its base classifier must be a :class:`~aucross.ScoreColumn`,
        whose column holds the ranked score.
    ranked : RankedScores
        Numbers of rows of each class at each value of the score: the result of :func:`~aucross.export.ranking_query`,
        or the sum of the rankings of parts.
    classes : array-like of shape (2,), default=(0, 1)
        The labels in sorted order; the second is positive.

    Returns
    -------
    SelectiveClassifier
        A copy of `clf`, fitted.

    Examples
    --------
    >>> from aucross import AUCross, ScoreColumn
    >>> from aucross.core import RankedScores
    >>> from aucross.estimators import classifier_from_ranking
    >>> ranked = RankedScores([0.1, 0.2, 0.3, 0.4, 0.5], [5, 20, 25, 30, 45], [95, 80, 75, 70, 55])
    >>> clf = classifier_from_ranking(AUCross(ScoreColumn("pd"), coverage=0.8), ranked)
    >>> print(clf.band().rejects([0.1, 0.2, 0.3, 0.4, 0.5]).sum())
    1
    """
    if not hasattr(clf.estimator, "fit_without_rows"):
        raise TypeError(
            f"estimator must be a ScoreColumn to be fitted from a ranking, got {type(clf.estimator).__name__}, "
            "which learns from rows; pass ScoreColumn(column)"
        )
    if blends_halves(clf):
        raise ValueError(
            f"{type(clf).__name__} must not blend halves of the rows, which a ranking does not tell apart; pass "
            'placement="optimal", or use a hold-out method'
        )
    model = clone(clf.estimator).fit_without_rows(classes)
    return fit_on_counts(clone(clf), model, ScoreCounts.from_ranking(ranked), classes=model.classes_)
