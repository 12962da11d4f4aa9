"""Scores from models that have not seen the row, and the ways to make them.

`CrossFit`, `CrossFitJudges`, `OutOfBag` and `HoldOut` are the sources. Another one is a class with the same three
methods; nothing else knows where held-out scores come from.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from hashlib import blake2b
from math import ceil, inf, log
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils.parallel import Parallel, delayed

from aucross.core.noise import without_noise
from aucross.core.ranking import FloatArray, IndexArray, RankedScores, effective_size
from aucross.core.scored_rows import Rows, RuleInput, predicted_class
from aucross.estimators.fold_ensemble import FoldEnsemble, Judged, judge
from aucross.estimators.models import answers_by_score, checked_scores, class_scores, place_of_positive
from aucross.estimators.progress import Step
from aucross.estimators.reading import Reader
from aucross.estimators.splits import Split, fold_splits, hold_out_split, rows_scored
from aucross.estimators.training_rows import TrainingRows
from aucross.estimators.types import Classifier, Folds, Generator, Labels
from aucross.estimators.warn import warn_user
from aucross.frames import take_rows

# Up to so many rows the refitted model and those of the folds are compared on all of them, each scored by all models.
# Of more rows so many are drawn, and each is scored by the refitted model and by one of the others, which tells more
# than fewer rows scored by all models in as many scores.
ALL_SEEN_ROWS, SAMPLED_SEEN_ROWS = 16_000, 10_000


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
    second : ndarray of shape (n,) or None
        What a second model says of the rows: the score of a gate, or the selection score of a network.
    band_groups : ndarray of shape (n,) or None
        Groups of the rows, if each has a band of its own.
    answers_by_score : bool
        Whether the model predicts the class of its highest score, tried on the rows nearest to the boundary.
    tie_breaker : ndarray of shape (n,) or None
        A number in [0, 1) for each row by which ties may be cut; None keeps them whole.
    folds : ndarray of shape (n,) or None
        Number of the split that scored each row.
    units : ndarray of shape (n,) or None
        Number of the group of `fit` that each row belongs to, such as a customer; None if every row stands for itself.
    """

    rows: IndexArray
    labels: IndexArray
    responses: FloatArray
    sample_weight: FloatArray | None = None
    second: FloatArray | None = None
    band_groups: Labels | None = None
    answers_by_score: bool = True
    tie_breaker: FloatArray | None = None
    folds: IndexArray | None = None
    units: IndexArray | None = None

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the scores, which differs for other models or other rows."""
        digest = blake2b(self.responses.tobytes(), digest_size=16)
        digest.update(b"" if self.second is None else self.second.tobytes())
        return digest.hexdigest()

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
        return RankedScores.from_labels(part.positive, part.scores, part.sample_weight, as_counts=True)

    def ranked_both_classes(self, name: str = "the held-out rows") -> RankedScores:
        """Rank the scores by label, refusing rows that lack one of two classes."""
        ranked = self.ranked()
        if min(ranked.total_positives, ranked.total_negatives) == 0:
            raise ValueError(
                f"{name} must hold both classes with weight above 0, got {ranked.total_positives:g} positives and "
                f"{ranked.total_negatives:g} negatives; pass a cv that scores rows of both classes, or other weights"
            )
        return ranked

    def ranked_correct(self, score: FloatArray, *, is_probability: bool) -> RankedScores:
        """Rank the rows by another score, with a correct prediction as the positive class."""
        correct = predicted_class(self.responses, is_probability=is_probability) == self.labels
        return RankedScores.from_labels(correct, score, self.sample_weight, as_counts=True)

    def read_by(self, reader: Reader) -> RuleInput:
        """Return the input of the rule."""
        read = reader.read(self.responses, self.second)
        return RuleInput(*read, self.sample_weight, self.band_groups, self.tie_breaker)

    def without_noise(self) -> HeldOutScores:
        """Return a copy with scores that differ only by noise made equal, for placing bands."""
        second = None if self.second is None else without_noise(self.second)
        return replace(self, responses=without_noise(self.responses), second=second)

    def with_tie_breaker(self, of_training_rows: FloatArray | None) -> HeldOutScores:
        """Return a copy with tie-breaking numbers, picked from those of all training rows."""
        return self if of_training_rows is None else replace(self, tie_breaker=of_training_rows[self.rows])

    def take(self, indices: Rows) -> HeldOutScores:
        """Return the scores at the given positions; a slice copies nothing."""
        parts: dict[str, Any] = {part.name: getattr(self, part.name) for part in fields(self)}
        taken: dict[str, Any] = {
            name: values[indices] for name, values in parts.items() if isinstance(values, np.ndarray)
        }
        return replace(self, **taken)

    def with_scores_of(self, other: HeldOutScores, rows: IndexArray) -> HeldOutScores:
        """Return a copy in which the given training rows have their scores from `other`."""
        rows = np.intersect1d(rows, other.rows)
        if not len(rows):
            return self
        places = np.flatnonzero(np.isin(self.rows, rows))
        first = np.zeros(int(max(self.rows.max(), other.rows.max())) + 1, dtype=np.intp)
        first[other.rows[::-1]] = np.arange(len(other.rows))[::-1]
        taken = first[self.rows[places]]
        responses = _with_values(self.responses, places, other.responses[taken])
        if self.second is None or other.second is None:
            return replace(self, responses=responses)
        return replace(self, responses=responses, second=_with_values(self.second, places, other.second[taken]))

    def with_weights_as_rows(self) -> HeldOutScores:
        """Return a copy with weights scaled to add up to the number of rows."""
        if self.sample_weight is None:
            return self
        n_rows = self.take(np.flatnonzero(self.sample_weight > 0)).n_rows
        return replace(self, sample_weight=self.sample_weight * (n_rows / self.sample_weight.sum()))

    def without_rows(self) -> HeldOutScores:
        """Return a copy without scores that keeps the fingerprint."""
        empty = self.take(slice(0, 0))
        empty.__dict__["fingerprint"] = self.fingerprint
        return empty

    @property
    def n_rows(self) -> int:
        """Number of rows; a row with several scores counts once."""
        return len(np.unique(self.rows))

    @property
    def rows_each(self) -> FloatArray:
        """Number of rows that each score stands for."""
        return np.ones(len(self.rows))

    @property
    def weight_of_rows(self) -> FloatArray | None:
        """Weights that make each row count once, however often it was scored; None if each was scored once."""
        times = np.bincount(self.rows)[self.rows]
        return None if (times == 1).all() else 1.0 / times

    @property
    def has_weights(self) -> bool:
        """Whether rows were given weights that differ."""
        if self.sample_weight is None:
            return False
        own = self.sample_weight * np.bincount(self.rows)[self.rows]
        return bool(np.ptp(own) > 1e-9 * own.max())

    @property
    def n_effective(self) -> float:
        """Kish's effective number of rows; a row with several scores counts once."""
        return effective_size(np.bincount(self.rows, weights=self.sample_weight))

    def of_effective_size(self) -> HeldOutScores:
        """Return a copy with the weights of each class scaled to Kish's effective number of rows."""
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


def _with_values(values: FloatArray, places: IndexArray, taken: FloatArray) -> FloatArray:
    values = values.copy()
    values[places] = taken
    return values


class ModelScores(NamedTuple):
    """Scores of rows by one model, or by one model per fold, and whether the labels follow from them."""

    scores: FloatArray
    answers_by_score: bool


class ModelToFit(NamedTuple):
    """A model, the rows it is trained on and the method that gives its scores."""

    estimator: Classifier
    training: TrainingRows
    response_method: str
    answers: bool = True  # a gate does not


class SeenScores(NamedTuple):
    """Scores of training rows by models that were trained on them."""

    by_refit: HeldOutScores
    by_folds: HeldOutScores  # a row counts 1/m for each of the m fold models that have seen it


class Trained(NamedTuple):
    """The models that will answer and the held-out scores.

    A model whose rows are judged by others comes with them, as :class:`~aucross.estimators.fold_ensemble.Judged`.
    """

    models: list[Any]
    held_out: HeldOutScores
    seen: SeenScores | None = None  # if the coverage is to be corrected


class HeldOutSource(Protocol):
    """Base of the ways to get held-out scores: which rows train and which are scored."""

    def splits(self, training: TrainingRows, rng: Generator) -> list[Split]:
        """Draw the rows that train and the rows that are scored."""

    def n_trainings(self, splits: Sequence[Split]) -> int:
        """Return the number of trainings of each model."""

    def score(self, models: Sequence[ModelToFit], splits: Sequence[Split], step: Step) -> Trained:
        """Train the models and score the rows."""


@dataclass(frozen=True)
class CrossFit:
    """Cross-fitting: fold models score the rows held out from them, and models trained on all rows answer.

    Parameters
    ----------
    cv : int, splitter or iterable of splits
        Folds.
    n_jobs : int, optional
        Folds to fit at the same time.
    scores_copies_anew : bool, default=False
        Whether rows of which there are many copies get the score that new copies will have, see
        :mod:`aucross.estimators.copies`.
    most_rows_to_compare : float, default=0
        Up to how many rows the fold models also score the rows that they were trained on, and the models that answer
        theirs, so that the two can be compared, see :mod:`aucross.core.correction`. Infinity insists on it.
    """

    cv: Folds
    n_jobs: int | None = None
    scores_copies_anew: bool = False
    most_rows_to_compare: float = 0

    def splits(self, training: TrainingRows, rng: Generator) -> list[Split]:
        """Draw the folds."""
        return list(fold_splits(training, self.cv, rng))

    def n_trainings(self, splits: Sequence[Split]) -> int:
        """Return the number of folds plus one for the model trained on all rows."""
        return len(splits) + 1

    def score(self, models: Sequence[ModelToFit], splits: Sequence[Split], step: Step) -> Trained:
        """Score the folds, then train on all rows."""
        training, compares = models[0].training, self._compares(models, splits)
        compared = rows_to_compare(len(training.y)) if compares else np.empty(0, dtype=np.intp)
        seen = _seen_by_each(splits, compared, len(training.y))
        folds = [self._each_fold(model, splits, step, _fit_and_score_seen, seen) for model in models]
        held_out = _held_out(training, splits, [_of_all_folds([scores for scores, _ in each]) for each in folds])
        fitted = self._refitted(models, step)
        held_out = self._with_copies(held_out, models, fitted)
        if not compares:
            return Trained(fitted, held_out)
        of_folds = [_of_all_folds([part for _, part in each if part is not None]) for each in folds]
        of_refit = [_scores_of(*each, compared, are_seen=True) for each in zip(models, fitted, strict=True)]
        if not all(np.isfinite(one.scores).all() for one in (*of_folds, *of_refit)):
            self._do_without_comparison()
            return Trained(fitted, held_out)
        by_folds = _held_out(training, [(rows, rows) for rows in seen], of_folds)
        by_refit = _held_out(training, [(compared, compared)], of_refit)
        # Copies of which there are many have the score of the refit everywhere: no shift is to be measured on them.
        by_folds = by_folds.with_scores_of(by_refit, training.common_rows)
        return Trained(fitted, held_out, SeenScores(by_refit, by_folds))

    def _compares(self, models: Sequence[ModelToFit], splits: Sequence[Split]) -> bool:
        """Return whether to compare refit and folds: not if no model is trained or if splits leave out rows."""
        n_rows = len(models[0].training.y)
        if n_rows > self.most_rows_to_compare or all(is_never_trained(model.estimator) for model in models):
            return False
        n_seen = len(np.unique(rows_scored(_seen(splits))))
        if n_seen < n_rows and self.most_rows_to_compare == inf:
            raise ValueError(
                "correct_coverage=True needs splits that train on every row at least once, but "
                f'{n_rows - n_seen} of {n_rows} rows are in no training part; pass cv=5, or correct_coverage="auto"'
            )
        return n_seen == n_rows

    def _do_without_comparison(self) -> None:
        """Raise or warn that models cannot score the rows that they were trained on."""
        message = "the base model gives scores that are not finite to rows that it was trained on"
        if self.most_rows_to_compare == inf:
            raise ValueError(f"correct_coverage must not be True: {message}; pass correct_coverage=False")
        warn_user(f"{message}, so the coverage is not corrected; pass correct_coverage=False, or another model")

    def _refitted(self, models: Sequence[ModelToFit], step: Step) -> list[Any]:
        fitted = []
        for model in models:
            with step("training on all rows"):
                fitted.append(model.training.train(model.estimator))
        return fitted

    def _each_fold(
        self, model: ModelToFit, splits: Sequence[Split], step: Step, run: Any, *of_each: Sequence[Any]
    ) -> list[Any]:
        model = model._replace(estimator=trained_as_on_all_rows(model.estimator, len(model.training.y)))
        # As they come, so that each fold can be told when it is done.
        calls = (delayed(run)(model, *arguments) for arguments in zip(splits, *of_each, strict=True))
        results = Parallel(n_jobs=self.n_jobs, return_as="generator")(calls)
        folds = []
        for number, (train, _) in enumerate(splits, start=1):
            with step(f"fold {number} of {len(splits)}, training on {len(train)} rows"):
                folds.append(next(results))
        return folds

    def _with_copies(
        self, held_out: HeldOutScores, models: Sequence[ModelToFit], fitted: Sequence[Any]
    ) -> HeldOutScores:
        """Give rows with many copies the score that new copies will have."""
        training = models[0].training
        if not self.scores_copies_anew or not len(training.common_rows):
            return held_out
        rows = training.common_rows
        X = take_rows(training.X, rows)
        scores = [
            judge(each, X)
            if isinstance(each, FoldEnsemble)
            else checked_scores(each, X, model.response_method, training.classes)
            for model, each in zip(models, fitted, strict=True)
        ]
        of_copies = HeldOutScores(rows, training.labels[rows], scores[0], second=scores[1] if len(scores) > 1 else None)
        return held_out.with_scores_of(of_copies, rows)


def held_out_by_folds(models: Sequence[ModelToFit], splits: Sequence[Split], step: Step) -> HeldOutScores:
    """Score the rows by fold models only, which are not kept."""
    folds = [CrossFit(None)._each_fold(model, splits, step, _fit_score_and_keep) for model in models]
    return _held_out(models[0].training, splits, [_of_all_folds([scores for scores, _ in each]) for each in folds])


@dataclass(frozen=True)
class CrossFitJudges(CrossFit):
    """Cross-fitting that keeps the fold models, to judge new rows.

    One of them, drawn by a hash of the row, judges a new row, see :mod:`aucross.estimators.fold_ensemble`.

    Parameters
    ----------
    refits : bool, default=True
        Whether models trained on all rows answer; otherwise the fold models answer together.
    """

    refits: bool = True

    def n_trainings(self, splits: Sequence[Split]) -> int:
        """Return the number of folds, plus one if a model trained on all rows answers."""
        return len(splits) + self.refits

    def score(self, models: Sequence[ModelToFit], splits: Sequence[Split], step: Step) -> Trained:
        """Score the folds and keep their models."""
        folds = [self._each_fold(model, splits, step, _fit_score_and_keep) for model in models]
        scores = [_of_all_folds([scores for scores, _ in each]) for each in folds]
        held_out = _held_out(models[0].training, splits, scores)
        ends = np.cumsum([len(test) for _, test in splits])
        weight = np.ones(len(held_out.rows)) if held_out.sample_weight is None else held_out.sample_weight
        judges = [
            FoldEnsemble.of_folds(
                model.estimator,
                model.response_method,
                [fitted for _, fitted in each],
                classes=model.training.classes,
                held_out_weights=[float(part.sum()) for part in np.split(weight, ends[:-1])],
                answers_by_score=of_model.answers_by_score,
            )
            for model, each, of_model in zip(models, folds, scores, strict=True)
        ]
        answering = self._refitted(models, step) if self.refits else _kept_as_given(models, judges)
        answering = [Judged(*each) for each in zip(answering, judges, strict=True)]
        return Trained(answering, self._with_copies(held_out, models, judges))


# When a frozen model is held against a copy of itself: rows that it takes, an AUC that is nearly perfect, and by how
# much that of the copy must be lower, which is rare for honest models, even if trained on many more rows than these.
_FEWEST_TO_TRY, _MOST_TO_TRY = 100, 5000
_NEARLY_PERFECT, _LARGEST_GAP, _TAIL = 0.97, 0.1, 0.01

# Each tree leaves out 1/e of the rows. So many of a thousand fits may leave a row that no tree has left out.
_FITS_WITH_ROW_IN_ALL_BAGS = 1e-3
# Out-of-bag scores average fewer trees than the forest does, so that more of them are exactly 0. Where a third of the
# rows or more have one score, that is another law: asked for .80 of rows with 1 % positives, .60 was reached.
_LARGEST_TIE_OF_BAGS = 1 / 3


@dataclass(frozen=True)
class OutOfBag(CrossFit):
    """Out-of-bag scores: each row is scored by the trees of a forest that have not seen it; the forest answers."""

    def splits(self, training: TrainingRows, rng: Generator) -> list[Split]:  # noqa: ARG002
        """Return one split in which all rows train and are scored: the bags keep them apart."""
        if training.groups is not None:
            raise ValueError(
                'groups must be None with cv="oob": a bag leaves out rows and not groups, so that trees score rows '
                "whose group they have seen; pass cv=5"
            )
        rows = np.arange(len(training.y))
        return [(rows, rows)]

    def n_trainings(self, splits: Sequence[Split]) -> int:  # noqa: ARG002
        """Return 1: the forest is trained once."""
        return 1

    def score(self, models: Sequence[ModelToFit], splits: Sequence[Split], step: Step) -> Trained:
        """Train once and read the out-of-bag scores."""
        for model in models:
            _check_leaves_rows_out(model)
        fitted, scores = [], []
        for model in models:
            with step("training on all rows"):
                trained = model.training.train(clone(model.estimator).set_params(oob_score=True))
            scores.append(_scores_out_of_bag(model, trained))
            # What answers is the model as it was given; the scores of all training rows are kept elsewhere.
            del trained.oob_score_, trained.oob_decision_function_
            fitted.append(trained.set_params(oob_score=model.estimator.oob_score))
        return Trained(fitted, self._with_copies(_held_out(models[0].training, splits, scores), models, fitted))


def _check_leaves_rows_out(model: ModelToFit) -> None:
    estimator, n_rows = model.estimator, len(model.training.y)
    leaves_rows_out = hasattr(estimator, "oob_score") and getattr(estimator, "bootstrap", False)
    if not leaves_rows_out or is_never_trained(estimator):
        raise ValueError(
            'cv="oob" needs a forest or a bagging model with bootstrap=True, whose trees each leave rows out, got '
            f"{type(estimator).__name__} as {'the classifier' if model.answers else 'the gate'}; pass cv=5"
        )
    if model.response_method != "predict_proba":
        raise ValueError(
            f'response_method must be "predict_proba" with cv="oob", got {model.response_method!r}: out-of-bag scores '
            "are probabilities"
        )
    fewest = ceil(log(n_rows / _FITS_WITH_ROW_IN_ALL_BAGS) / -log(1 - np.exp(-1)))
    if estimator.n_estimators < fewest:
        raise ValueError(
            f'cv="oob" needs n_estimators of at least {fewest} for {n_rows} rows, so that some tree leaves each row '
            f"out, got {estimator.n_estimators}; train more trees, or pass cv=5"
        )


def _scores_out_of_bag(model: ModelToFit, trained: Any) -> ModelScores:
    training = model.training
    of_classes = np.asarray(trained.oob_decision_function_, dtype=np.float64)
    scored = np.isclose(of_classes.sum(axis=1), 1.0)  # a row that every tree has seen has zeros or NaN
    if not scored.all():
        raise ValueError(
            f'cv="oob" must score every row, but all trees have seen {int((~scored).sum())} of {len(scored)} rows; '
            "train more trees, give each a smaller max_samples, or pass cv=5"
        )
    is_binary = len(training.classes) == 2
    scores = of_classes[:, place_of_positive(trained, training.classes)] if is_binary else of_classes
    tie = np.unique(scores, axis=0, return_counts=True)[1].max() / len(scores)
    if tie >= _LARGEST_TIE_OF_BAGS and tie < 1:  # a constant score is told of elsewhere
        raise ValueError(
            f"{tie:.0%} of the out-of-bag scores are equal, and the whole forest would tell more of these rows apart: "
            "the coverage of new rows would not be the one asked for; pass cv=5"
        )
    rows = np.arange(len(training.y))
    return ModelScores(scores, _scores_of(model, trained, rows).answers_by_score)


@dataclass(frozen=True)
class HoldOut:
    """Hold-out: the models are trained on one part of the rows and score the other.

    Parameters
    ----------
    cv : int, splitter or iterable of splits, optional
        None holds out one stratified part; of anything else the first split is used.
    holdout_size : float in (0, 1), default=0.1
        Share of rows held out if `cv` is None.
    """

    cv: Folds = None
    holdout_size: float = 0.1

    def splits(self, training: TrainingRows, rng: Generator) -> list[Split]:
        """Draw the part that is held out."""
        return [hold_out_split(training, self.cv, self.holdout_size, rng)]

    def n_trainings(self, splits: Sequence[Split]) -> int:  # noqa: ARG002
        """Return 1: each model is trained once."""
        return 1

    def score(self, models: Sequence[ModelToFit], splits: Sequence[Split], step: Step) -> Trained:
        """Train on one part and score the other."""
        ((train, test),) = splits
        fitted = []
        for model in models:
            with step(f"training on {len(train)} rows"):
                fitted.append(model.training.train(model.estimator, train))
        scores = [_scores_of(model, trained, test) for model, trained in zip(models, fitted, strict=True)]
        return Trained(fitted, _held_out(models[0].training, splits, scores))


def _kept_as_given(models: Sequence[ModelToFit], judges: Sequence[FoldEnsemble]) -> list[Any]:
    """Return the fold models of each model, or the model itself if it is never trained."""
    return [
        model.training.train(model.estimator) if is_never_trained(model.estimator) else each
        for model, each in zip(models, judges, strict=True)
    ]


def is_never_trained(estimator: Classifier) -> bool:
    """Return whether training leaves a model unchanged: a frozen one, or a column of scores."""
    return isinstance(estimator, FrozenEstimator) or getattr(estimator, "trains_nothing", False)


def warn_if_frozen_knows(
    estimator: Classifier, training: TrainingRows, response_method: str, held_out: HeldOutScores
) -> None:
    """Warn if a frozen model seems to have been trained on the rows: it ranks them better than a copy does new ones.

    Nothing tells on which rows it was trained. So if its AUC is nearly perfect, a copy is trained on three quarters of
    the rows, or of a sample of them, and scores the others. Of an excellent model the copy is good, too.
    """
    if not isinstance(estimator, FrozenEstimator) or len(training.classes) != 2 or len(training.y) < _FEWEST_TO_TRY:
        return
    auc = held_out.ranked().auc()
    if not auc >= _NEARLY_PERFECT:
        return
    order = np.random.default_rng(0).permutation(len(training.y))[:_MOST_TO_TRY]
    train, test = np.split(order, [3 * len(order) // 4])
    model = getattr(estimator.estimator, "best_estimator_", estimator.estimator)  # no search is run again
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            copy = replace(training, fit_params={}).train(model, train)
            scores = class_scores(copy, take_rows(training.X, test), response_method, training.classes)
        of_copy = RankedScores.from_labels(training.labels[test] == 1, scores)
        upper = of_copy.auc_bounds(_TAIL)[1]
    except Exception:  # a model that cannot be trained here tells nothing
        return
    if auc - upper > _LARGEST_GAP:
        warn_user(
            f"the frozen model ranks the rows almost perfectly, with an AUC of {auc:.3f}, and a copy of it trained on "
            f"three quarters of them has {of_copy.auc():.3f} on the rest: if it was trained on these rows, coverage "
            "and figures of the fit are wrong; pass rows that are new to it, or the model without FrozenEstimator"
        )


def trained_as_on_all_rows(estimator: Classifier, n_rows: int) -> Any:
    """Return the model with early stopping fixed to the choice that it would make for all rows.

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


def rows_to_compare(n_rows: int) -> IndexArray:
    """Return the rows on which to compare the refitted with the fold models: all of few, a fixed draw of many."""
    if n_rows <= ALL_SEEN_ROWS:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(n_rows).choice(n_rows, SAMPLED_SEEN_ROWS, replace=False))


def _seen_by_each(splits: Sequence[Split], compared: IndexArray, n_rows: int) -> list[IndexArray]:
    """Return the rows to compare that each fold model scores: all it has seen, or its part of them."""
    seen = [np.intersect1d(compared, train) for train, _ in splits]
    if n_rows <= ALL_SEEN_ROWS:
        return seen
    has_seen = np.array([np.isin(compared, rows) for rows in seen])
    # Models take turns: of those that have seen a row, the one whose turn it is.
    turn = np.arange(len(compared)) % np.maximum(has_seen.sum(axis=0), 1)
    is_taken = has_seen & (has_seen.cumsum(axis=0) - 1 == turn)
    return [compared[taken] for taken in is_taken]


def _fit_and_score_seen(model: ModelToFit, split: Split, seen: IndexArray) -> tuple[ModelScores, ModelScores | None]:
    """Score the held-out rows and, if given, some rows that the model was trained on."""
    scores, fitted = _fit_score_and_keep(model, split)
    return scores, _scores_of(model, fitted, seen, are_seen=True) if len(seen) else None


def _fit_score_and_keep(model: ModelToFit, split: Split) -> tuple[ModelScores, Any]:
    train, test = split
    fitted = model.training.train(model.estimator, train)
    return _scores_of(model, fitted, test), fitted


def _seen(splits: Sequence[Split]) -> list[Split]:
    """Return the splits with training and held-out rows swapped."""
    return [(test, train) for train, test in splits]


def _of_all_folds(folds: Sequence[ModelScores]) -> ModelScores:
    scores = [fold.scores for fold in folds]
    if all((fold == fold[0]).all() for fold in scores if len(fold)):
        # Each fold has its own constant, which tells rows of different folds apart and nothing else.
        constant = np.mean([fold[0] for fold in scores if len(fold)], axis=0)
        scores = [np.full(fold.shape, constant) for fold in scores]
    return ModelScores(np.concatenate(scores), all(fold.answers_by_score for fold in folds))


def _scores_of(model: ModelToFit, fitted: Classifier, rows: IndexArray, *, are_seen: bool = False) -> ModelScores:
    """Score some training rows, and test on unseen ones whether the labels follow from the scores."""
    X, classes, method = take_rows(model.training.X, rows), model.training.classes, model.response_method
    scores = class_scores(fitted, X, method, classes)
    is_tried = model.answers and not are_seen
    return ModelScores(scores, is_tried and answers_by_score(fitted, X, scores, method, classes))


def _held_out(training: TrainingRows, splits: Sequence[Split], scores: Sequence[ModelScores]) -> HeldOutScores:
    """Combine the scores of one or two models with the labels, weights and groups of their rows."""
    rows = rows_scored(splits)
    weight = None if training.sample_weight is None else training.sample_weight[rows]
    times_scored = np.bincount(rows, minlength=len(training.y))[rows]
    if (times_scored > 1).any():
        weight = (1.0 if weight is None else weight) / times_scored
    for one in scores:
        _refuse_infinite(one.scores, rows)
    second = scores[1].scores if len(scores) > 1 else None
    groups = None if training.band_groups is None else training.band_groups[rows]
    return HeldOutScores(
        rows,
        training.labels[rows],
        scores[0].scores,
        weight,
        second,
        groups,
        scores[0].answers_by_score,
        folds=np.repeat(np.arange(len(splits)), [len(test) for _, test in splits]),
        units=None if training.units is None else training.units[rows],
    )


def _refuse_infinite(scores: FloatArray, rows: IndexArray) -> None:
    finite = np.isfinite(scores) if scores.ndim == 1 else np.isfinite(scores).all(axis=1)
    if not finite.all():
        raise ValueError(
            f"the scores of the base model must be finite, got {int((~finite).sum())} NaN or infinite values among "
            f"{len(scores)}, the first for training row {rows[np.argmin(finite)]}; repair the model or impute its "
            "features"
        )
