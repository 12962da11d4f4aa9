"""From labelled rows to a rule: the steps of every method.

::

    X, y ──► held-out scores ──► reader ──► rule

A method is two choices: where held-out scores come from (``_source``) and where on them to reject (``_place``, with
``_reader`` for what the rule reads of a row).
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import Any, cast

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from aucross.core.band_rule import BandRule
from aucross.core.ranking import FloatArray, IndexArray, RankedScores
from aucross.core.rounding import ScoreRounding
from aucross.estimators.column_names import refuse_columns_that_abort, refuse_other_columns
from aucross.estimators.copies import LEAST_COPIED, warn_if_copied
from aucross.estimators.fit_arguments import check_shared_parameters, check_training_rows, resolve_response_method
from aucross.estimators.fitted import Fitted, SeenColumns
from aucross.estimators.fold_ensemble import Judged
from aucross.estimators.held_out import (
    CrossFitJudges,
    HeldOutScores,
    HeldOutSource,
    ModelToFit,
    is_never_trained,
    warn_if_frozen_knows,
)
from aucross.estimators.placing import (
    CorrectCoverage,
    Draws,
    PlacingRows,
    SeenRows,
    draw_halves,
    draw_path_splits,
    rule_in_force,
    score_path,
    warn_if_constant,
    warn_if_nothing_rejected,
    warn_if_turned_round,
)
from aucross.estimators.progress import CallbackSupport, fit_progress, with_callbacks
from aucross.estimators.reach import warn_if_models_differ, warn_if_nothing_can_be_rejected, warn_if_out_of_reach
from aucross.estimators.reading import Reader
from aucross.estimators.row_hash import tie_breaker_of
from aucross.estimators.score_counts import RoundingReader, ScoreCounts
from aucross.estimators.splits import rows_scored, warn_if_uneven
from aucross.estimators.training_marks import TrainingMarks
from aucross.estimators.training_rows import TrainingRows
from aucross.estimators.types import Classifier, Column, Generator, Labels, Table


class Fitting(ABC, CallbackSupport):
    """The part of a selective classifier that learns."""

    # Constructor parameters that every method has.
    estimator: Classifier
    coverage: float
    coverage_confidence: float | None
    random_state: Any
    response_method: str

    fitted_: Fitted

    # ---- the two choices of a method ----

    @abstractmethod
    def _source(self) -> HeldOutSource:
        """Return the source of held-out scores: which rows train and which are scored."""

    @abstractmethod
    def _reader(self, held_out: HeldOutScores, classes: Labels, models: Sequence[ModelToFit]) -> Reader:
        """Return what turns model scores into the input of the rule."""

    @abstractmethod
    def _place(self, placing: PlacingRows) -> BandRule:
        """Place the rule on held-out rows."""

    def _models(self, training: TrainingRows, response_method: str, rng: Generator) -> list[ModelToFit]:  # noqa: ARG002
        """Return the models to train, the one that answers first."""
        return [ModelToFit(self.estimator, training, response_method)]

    def _wants_halves(self, training: TrainingRows) -> bool:  # noqa: ARG002
        """Return whether the rule blends all rows with two random halves."""
        return False

    def _correction(self) -> CorrectCoverage:
        """Return whether to correct the coverage for differences between the refitted and the fold models."""
        return False

    def _wants_path(self, training: TrainingRows) -> bool:  # noqa: ARG002
        """Return whether folds of the training rows fix the place of the band."""
        return False

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
            Labels; of two classes the positive one is `pos_label`, or the higher one of an ordered Categorical of
            pandas, or the second in sorted order.
        sample_weight : array-like of shape (n_samples,), optional
            Weights for training, and for the ranking and the coverage if `coverage_weight` is not given.
        groups : array-like of shape (n_samples,), optional
            Rows of one group (say, of one customer) never stand on both sides of a split, if `cv` is an integer or
            a splitter that knows groups. Held-out intervals, as those of `coverage_for`, count them together.
        band_groups : array-like of shape (n_samples,), optional
            A group for each row, of any column, feature or not. Each group gets a band of its own, so that all have
            the same coverage; `select` then needs the groups of its rows.
        coverage_weight : array-like of shape (n_samples,), optional
            Weights for the ranking and for the coverage alone: with amounts of money the coverage is a share of money,
            and the models are trained without weights, or with those of `sample_weight`.
        **fit_params : dict
            Further arguments of the base classifier's ``fit``; those with one element per row are cut with the rows.

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
        response_method = resolve_response_method(self.estimator, self.response_method)
        with _without_autologging():
            fitted = self._fit(training, response_method, check_random_state(self.random_state))
        marks = TrainingMarks.of(X, fitted.held_out.fingerprint, training.hashes)
        models = [model for model, _ in fitted.models]
        fitted = replace(fitted, columns=SeenColumns.of(X, models), marks=marks, n_rows=len(training.y))
        if not fitted.judges:  # fold models that judge new rows may differ: held-out rows were spread over them too
            held_out = fitted.held_out
            warn_if_models_differ(fitted.rule, self.coverage, held_out.read_by(fitted.reader), held_out.folds)
        if is_never_trained(self.estimator):
            warn_if_frozen_knows(self.estimator, training, response_method, fitted.held_out)
        elif groups is None and marks is not None and marks.n_single < (1 - LEAST_COPIED) * marks.n_rows:
            warn_if_copied(X, training.hashes, training.y)
        return self._put_in_place(fitted)

    def _put_in_place(self, fitted: Fitted) -> Any:
        """Warn of doubts about a fit, then store it on the classifier."""
        rule, n_rows, ties_are_split = fitted.rule, fitted.n_placing_rows, fitted.ties_are_split
        warn_if_constant(fitted.held_out.responses, "held-out", ties_are_split=ties_are_split)
        warn_if_turned_round(fitted.estimator, fitted.held_out, fitted.classes[-1])
        warn_if_nothing_rejected(rule, self.coverage)
        warn_if_nothing_can_be_rejected(rule, self.coverage, n_rows)
        warn_if_out_of_reach(rule, self.coverage, n_rows, ties_are_split=ties_are_split)
        # Only now and by one assignment: a failure leaves an earlier fit as it was, and whoever asks in another thread
        # meets one fit or the other.
        self.fitted_ = fitted
        return self

    def _fit(self, training: TrainingRows, response_method: str, rng: Generator) -> Fitted:
        """Run the steps of the method on checked rows; set nothing on `self`."""
        source, tie_breaker = self._source(), self._tie_breaker(training.X)
        draws, models = self._draw(source, training, response_method, rng)
        n_trainings = source.n_trainings(draws.splits) + len(draws.path_splits)
        with fit_progress(self, n_steps=len(models) * n_trainings + 1) as step:
            fitted_models, held_out, seen = source.score(models, draws.splits, step)
            held_out = held_out.with_tie_breaker(tie_breaker)
            judges = [model.judges for model in fitted_models if isinstance(model, Judged)]
            answering = [model.answers if isinstance(model, Judged) else model for model in fitted_models]
            reader = self._reader(held_out, training.classes, models)
            path = score_path(models, draws, step)
            with step("placing the bands"):
                ranked = held_out.without_noise()
                placing = PlacingRows(
                    ranked,
                    ranked.read_by(reader).without_noise(),
                    reader,
                    seen=None if seen is None else SeenRows(*(scores.read_by(reader) for scores in seen)),
                    judged_apart=bool(judges),
                    path=None if path is None else path.without_noise(),
                )
                rule = rule_in_force(placing, draws.halves, self._place, self.coverage_confidence)
        gate = answering[1] if len(answering) > 1 else None
        placed_by = held_out.n_effective
        return Fitted(answering[0], reader, rule, held_out, training.classes, response_method, placed_by, gate, judges)

    def _tie_breaker(self, X: Table) -> FloatArray | None:
        """Return a number for each row, made from its content, that breaks ties; None if ties stay whole."""
        return tie_breaker_of(X) if getattr(self, "ties", "whole") == "split" else None

    def _draw(
        self, source: HeldOutSource, training: TrainingRows, response_method: str, rng: Generator
    ) -> tuple[Draws, list[ModelToFit]]:
        """Make all random draws at once, so that no option changes where the bands lie."""
        splits = source.splits(training, rng)
        scored = rows_scored(splits)
        _check_groups_held_out(training.band_groups, scored)
        models = self._models(training, response_method, rng)
        for model in models:
            _check_columns_of_frozen(model)
        if not all(is_never_trained(model.estimator) for model in models):
            warn_if_uneven(splits, len(training.y))
        halves = draw_halves(training, scored, getattr(self, "cv", None), rng) if self._wants_halves(training) else []
        path = draw_path_splits(training, splits[0], rng) if self._wants_path(training) else []
        return Draws(splits, halves, path), models

    def _check_parameters(self) -> None:
        check_shared_parameters(self)

    def _check_training_rows(self, X: Table, y: Column, **others: Any) -> TrainingRows:
        return check_training_rows(self, X, y, **others)


def _check_groups_held_out(groups: Labels | None, rows: IndexArray) -> None:
    """Refuse groups without a row that places a band."""
    without = set() if groups is None else set(groups.tolist()) - set(groups[rows].tolist())
    if without:
        raise ValueError(
            f"every group of band_groups must have held-out rows to place its band on, got none for "
            f"{sorted(map(str, without))}; pass a larger holdout_size, another cv, or merge small groups"
        )


@contextmanager
def _without_autologging() -> Iterator[None]:
    """Switch off MLflow's autologging: trainings inside a fit are not experiments of their own."""
    tracker = sys.modules.get("mlflow.utils.autologging_utils")
    with nullcontext() if tracker is None else tracker.disable_autologging():
        yield


def _check_columns_of_frozen(model: ModelToFit) -> None:
    """Refuse rows whose columns differ from those that a frozen model was trained on."""
    names = getattr(model.estimator, "feature_names_in_", None) if is_never_trained(model.estimator) else None
    if names is not None:
        refuse_other_columns(model.estimator, model.response_method, model.training.X, np.asarray(names).tolist())


def fit_on_counts(clf: Any, model: Any, counts: ScoreCounts, *, classes: Column) -> Any:
    """Place the bands of a classifier on counts of held-out scores, for a model that is already trained.

    For data that lie elsewhere: an engine trains, scores and counts, and the classifier needs none of the rows.

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
        The given one, fitted.
    """
    clf._check_parameters()
    if getattr(clf, "ties", "whole") == "split":
        raise ValueError('ties must be "whole" where scores are counted, got "split", which needs the rows')
    if any(getattr(one, "pos_label", None) is not None for one in (clf, clf.estimator)):
        raise ValueError("pos_label must be None where scores are counted: the second of the classes is positive")
    if isinstance(clf._source(), CrossFitJudges):
        raise ValueError(
            "ensemble must be False and coverage_confidence None where scores are counted, because fold models "
            "would have to judge new rows; use a hold-out method for a promise with confidence"
        )
    labels = np.asarray(classes)
    if labels.shape != (2,):
        raise ValueError(f"classes must be two labels, got {labels.tolist()}; more classes are fitted in memory")
    response_method, held_out = resolve_response_method(model, clf.response_method), counts.held_out()
    reader = clf._reader(held_out, labels, [ModelToFit(model, _no_rows(labels), response_method)])
    ranked = held_out.without_noise()
    rows = PlacingRows(ranked, ranked.read_by(reader).without_noise(), reader, rounding=counts.rounding)
    rule = rule_in_force(rows, counts.halves(), clf._place, clf.coverage_confidence)
    return clf._put_in_place(Fitted(model, reader, rule, held_out, labels, response_method, held_out.n_effective))


def counts_of(
    clf: Any,
    held_out: HeldOutScores,
    rounding: ScoreRounding,
    *,
    response_method: str,
    half: IndexArray | None = None,
) -> ScoreCounts:
    """Count the held-out scores of some rows, for :func:`fit_on_counts`.

    Parameters
    ----------
    clf : SelectiveClassifier
        The method that will be fitted.
    held_out : HeldOutScores
        Rows of two classes, those of one partition for instance.
    rounding : ScoreRounding
        How to round scores.
    response_method : str
        The method of the model that gave them.
    half : ndarray of shape (n,), optional
        Half of each row by :meth:`HashedFolds.half_of`, where :func:`blends_halves` says that it is used.

    Returns
    -------
    ScoreCounts
        Counts of different rows add up: :meth:`ScoreCounts.merge`.
    """
    classes = np.arange(2)
    reader = clf._reader(held_out, classes, [ModelToFit(clf.estimator, _no_rows(classes), response_method)])
    return ScoreCounts.of(held_out, cast("RoundingReader", reader), rounding, half)


def blends_halves(clf: Any) -> bool:
    """Return whether the rule of a two-class classifier blends all rows with two halves."""
    return bool(clf._wants_halves(_no_rows(np.arange(2))))


def classifier_from_ranking(clf: Any, ranked: RankedScores, *, classes: Column = (0, 1)) -> Any:
    """Return a fitted classifier with bands placed on a ranking of an existing score, without any rows.

    Parameters
    ----------
    clf : SelectiveClassifier
        The method and its parameters; it stays as it is. Its base classifier must be a :class:`~aucross.ScoreColumn`,
        whose column holds what was ranked.
    ranked : RankedScores
        Numbers of rows of each class at each value of the score: the result of
        :func:`~aucross.export.ranking_query`, or rankings of parts, added up.
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


def _no_rows(classes: Labels) -> TrainingRows:
    """Return an empty table that stands for rows stored elsewhere."""
    return TrainingRows(np.empty((0, 0)), classes[:0], classes)
