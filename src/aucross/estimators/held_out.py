"""First step of a fit: train models, and score each row by a model that has not seen it.

The sources `CrossFit`, `OutOfBag` and `HoldOut` decide which rows train and which are scored. A new source is a class
with the same members; no other code knows where held-out scores come from.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from hashlib import blake2b
from math import ceil, log
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils.parallel import Parallel, delayed

from aucross.core.noise import without_noise
from aucross.core.ranking import FloatArray, IndexArray, RankedScores, effective_size
from aucross.core.scored_rows import Rows, RuleInput, predicted_class
from aucross.estimators.fold_ensemble import FoldEnsemble, judge
from aucross.estimators.models import answers_by_score, class_scores, place_of_positive
from aucross.estimators.reading import Reader
from aucross.estimators.training_rows import ModelToFit, Split, TrainingRows, fold_splits, hold_out_split
from aucross.estimators.types import Classifier, Folds, Generator, Labels, Step
from aucross.frames import take_rows
from aucross.system.text import warn_user

# Above this many rows the refitted model differs little from those of the folds, and is not compared with them.
MOST_ROWS_TO_COMPARE = 50_000
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
        Training row of each score. Time-series splits leave rows out; repeated splits score a row m times, each with
        weight 1/m.
    labels : ndarray of shape (n,)
        Number of the row's class; 1 is the positive one of two.
    responses : ndarray of shape (n,) or (n, n_classes)
        Score of the positive class; with more than two classes, one score for each class. float64.
    sample_weight : ndarray of shape (n,) or None
        Weights of the scores; None means 1 each.
    second : ndarray of shape (n,) or None
        Output of a second model for the rows: the score of a gate, or the selection score of a network.
    band_groups : ndarray of shape (n,) or None
        Groups of the rows, if each has a band of its own.
    answers_by_score : bool
        Whether the model predicts the class with the highest score, as tested on the rows nearest to the boundary.
    tie_breaker : ndarray of shape (n,) or None
        Number in [0, 1) for each row that decides which rows of a tie are rejected; None keeps ties whole.
    folds : ndarray of shape (n,) or None
        Number of the split that scored each row.
    units : ndarray of shape (n,) or None
        Number of each row's unit, such as its customer, from `groups` of `fit`; None if all rows are independent.
    counts, squared_weight : ndarray of shape (n,) or None
        The number of rows, and the sum of their squared weights, if each entry stands for all rows of a score.
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
    counts: FloatArray | None = None
    squared_weight: FloatArray | None = None

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the scores (and of the weights, if an entry stands for many rows); it changes with model and rows."""
        digest = blake2b(self.responses.tobytes(), digest_size=16)
        further = self.second if self.counts is None else self.sample_weight
        digest.update(b"" if further is None else further.tobytes())
        return digest.hexdigest()

    @property
    def positive(self) -> NDArray[np.bool_]:
        """Whether each row belongs to the positive one of two classes."""
        return np.asarray(self.labels == 1)

    @property
    def scores(self) -> FloatArray:
        """Score of the positive one of two classes."""
        return self.responses

    def ranked(self, selected: NDArray[np.bool_] | None = None) -> RankedScores:
        """Rank all scores, or only the selected ones, together with their labels."""
        part = self if selected is None else self.take(np.flatnonzero(selected))
        return RankedScores.of_rows(part.labels == 1, part.responses, part.sample_weight, as_counts=True)

    def ranked_both_classes(self, name: str = "the held-out rows") -> RankedScores:
        """Rank the scores together with their labels; refuse rows that lack one of two classes."""
        return with_both_classes(self.ranked(), name)

    def ranked_correct(self, score: FloatArray, *, is_probability: bool) -> RankedScores:
        """Rank the rows by another score; rows that are predicted correctly count as positive."""
        correct = predicted_class(self.responses, is_probability=is_probability) == self.labels
        return RankedScores.of_rows(correct, score, self.sample_weight, as_counts=True)

    def read_by(self, reader: Reader) -> RuleInput:
        """Return the held-out rows in the form that a rule takes, read by `reader`."""
        read = reader.read(self.responses, self.second)
        return RuleInput(*read, self.sample_weight, self.band_groups, self.tie_breaker)

    def without_noise(self) -> HeldOutScores:
        """Return a copy for placing bands, in which scores that differ only by noise are equal."""
        second = None if self.second is None else without_noise(self.second)
        return replace(self, responses=without_noise(self.responses), second=second)

    def take(self, indices: Rows) -> HeldOutScores:
        """Return the scores at the given positions; a slice copies nothing."""
        parts: dict[str, Any] = {part.name: getattr(self, part.name) for part in fields(self)}
        taken: dict[str, Any] = {
            name: values[indices] for name, values in parts.items() if isinstance(values, np.ndarray)
        }
        return replace(self, **taken)

    def with_scores_of(self, other: HeldOutScores, rows: IndexArray) -> HeldOutScores:
        """Return a copy in which the given training rows take their scores from `other`."""
        rows = np.intersect1d(rows, other.rows)
        if not len(rows):
            return self
        places = np.flatnonzero(np.isin(self.rows, rows))
        first = np.zeros(int(max(self.rows.max(), other.rows.max())) + 1, dtype=np.intp)
        first[other.rows[::-1]] = np.arange(len(other.rows))[::-1]
        taken = first[self.rows[places]]
        responses, second = self.responses.copy(), self.second
        responses[places] = other.responses[taken]
        if second is not None and other.second is not None:
            second = second.copy()
            second[places] = other.second[taken]
        return replace(self, responses=responses, second=second)

    def with_weights_as_rows(self) -> HeldOutScores:
        """Return a copy with weights scaled to add up to the number of rows."""
        if self.sample_weight is None:
            return self
        n_rows = self.take(np.flatnonzero(self.sample_weight > 0)).n_rows
        return replace(self, sample_weight=self.sample_weight * (n_rows / self.sample_weight.sum()))

    def without_rows(self) -> HeldOutScores:
        """Return a copy that has no scores but keeps the fingerprint."""
        empty = self.take(slice(0, 0))
        empty.__dict__["fingerprint"] = self.fingerprint
        return empty

    @property
    def n_rows(self) -> int:
        """Number of rows; a row with several scores counts once."""
        return len(np.unique(self.rows)) if self.counts is None else int(self.counts.sum())

    @property
    def rows_each(self) -> FloatArray:
        """Number of rows that each score stands for."""
        return np.ones(len(self.rows)) if self.counts is None else self.counts

    @property
    def weight_of_rows(self) -> FloatArray | None:
        """Weights that make each row count once, even if it has several scores; None if no row has several."""
        if self.counts is not None:
            return self.counts
        times = np.bincount(self.rows)[self.rows]
        return None if (times == 1).all() else 1.0 / times

    @property
    def has_weights(self) -> bool:
        """Whether rows have different weights."""
        if self.sample_weight is None:
            return False
        if self.counts is not None:
            return self.n_effective < self.n_rows * (1 - 1e-9)
        own = self.sample_weight * np.bincount(self.rows)[self.rows]
        return bool(np.ptp(own) > 1e-9 * own.max())

    @property
    def n_effective(self) -> float:
        """Kish's effective number of rows; a row with several scores counts once."""
        if self.sample_weight is not None and self.squared_weight is not None:
            return float(self.sample_weight.sum() ** 2 / self.squared_weight.sum())
        return effective_size(np.bincount(self.rows, weights=self.sample_weight))

    def of_effective_size(self) -> HeldOutScores:
        """Return a copy with the weights of each class scaled to Kish's effective number of rows."""
        if self.sample_weight is None:
            return self
        weight = self.sample_weight.copy()
        for label in np.unique(self.labels):
            of_class = np.flatnonzero(self.labels == label)
            if (total := weight[of_class].sum()) > 0:
                weight[of_class] *= self.take(of_class).n_effective / total
        return replace(self, sample_weight=weight)


def with_both_classes(ranked: RankedScores, name: str = "the held-out rows") -> RankedScores:
    """Return the ranking, or refuse it if one of two classes is missing."""
    if min(ranked.total_positives, ranked.total_negatives) == 0:
        raise ValueError(
            f"{name} must hold both classes with weight above 0, got {ranked.total_positives:g} positives and "
            f"{ranked.total_negatives:g} negatives; pass a cv that scores rows of both classes, or other weights"
        )
    return ranked


class Trained(NamedTuple):
    """Result of a source: the models that will answer (classifier, gate) and the held-out scores."""

    models: list[Any]
    held_out: HeldOutScores
    judges: list[FoldEnsemble] = []  # noqa: RUF012  for each model the fold models that judge new rows, if these do
    # To correct the coverage: rows scored by models that have seen them, the refitted ones and those of the folds; of
    # the latter a row counts 1/m for each of m models that have seen it.
    seen: tuple[HeldOutScores, HeldOutScores] | None = None


@dataclass(frozen=True)
class CrossFit:
    """Source of held-out scores by cross-fitting: each fold model scores the rows held out from its training."""

    cv: Folds
    n_jobs: int | None = None
    rescores_copies: bool = False  # whether rows of many copies get the score that new copies will have
    compares: bool = False  # whether refitted and fold models score rows that they have seen, to correct the coverage
    keeps_folds: bool = False  # whether fold models are kept to judge new rows
    refits: bool = True  # whether models trained on all rows answer, or the fold models together

    def splits(self, training: TrainingRows, rng: Generator) -> list[Split]:
        """Draw the folds."""
        return list(fold_splits(training, self.cv, rng))

    def score(
        self, models: Sequence[ModelToFit], training: TrainingRows, splits: Sequence[Split], step: Step
    ) -> Trained:
        """Score the folds, train on all rows, and compare fold models and refitted model on rows that trained both."""
        n_rows = len(training.y)
        is_compared = self.compares and n_rows <= MOST_ROWS_TO_COMPARE
        is_compared = is_compared and not all(is_never_trained(model.estimator) for model in models)
        compared = rows_to_compare(n_rows) if is_compared else np.empty(0, dtype=np.intp)
        has_seen = np.zeros((len(splits), n_rows), dtype=bool)
        for of_fold, (train, _) in zip(has_seen, splits, strict=True):
            of_fold[train] = True
        has_seen = has_seen[:, compared]
        if n_rows > ALL_SEEN_ROWS:
            # Models take turns: of those that have seen a row, the one whose turn it is scores it.
            turn = np.arange(len(compared)) % np.maximum(has_seen.sum(axis=0), 1)
            has_seen &= has_seen.cumsum(axis=0) - 1 == turn
        seen = [compared[of_fold] for of_fold in has_seen]
        folds = [list(self._each_fold(model, training, splits, seen, step)) for model in models]
        held_out = _held_out(training, splits, [_of_all_folds([fold.scores for fold in each]) for each in folds])
        by_score = all(fold.answers_by_score for fold in folds[0])
        held_out = replace(held_out, answers_by_score=by_score)
        judges: list[FoldEnsemble] = []
        for model, each in zip(models, folds, strict=True) if self.keeps_folds else ():
            assert held_out.folds is not None
            weights = np.bincount(held_out.folds, held_out.sample_weight)
            by_score = all(fold.answers_by_score for fold in each)
            ensemble = FoldEnsemble(model.estimator, response_method=model.response_method)
            fitted_folds = [fold.model for fold in each]
            judges.append(ensemble.combine(fitted_folds, training.classes, weights, answers_by_score=by_score))
        fitted: list[Any] = []
        for number, model in enumerate(models):
            if self.refits:
                with step("training on all rows"):
                    fitted.append(model.train(training))
            else:
                fitted.append(model.train(training) if is_never_trained(model.estimator) else judges[number])
        held_out = self._with_copies(held_out, models, training, judges or fitted)
        if not is_compared:
            return Trained(fitted, held_out, judges)
        of_folds = [_of_all_folds([fold.of_seen for fold in each if len(fold.of_seen)]) for each in folds]
        of_refit = [
            class_scores(each, take_rows(training.X, compared), model.response_method, training.classes, is_fit=True)
            for model, each in zip(models, fitted, strict=True)
        ]
        if not all(np.isfinite(scores).all() for scores in (*of_folds, *of_refit)):
            warn_user(
                "the base model gives scores that are not finite to rows that it was trained on, so the coverage is "
                'not corrected; pass ensemble="judge", with which fold models judge new rows, or another model'
            )
            return Trained(fitted, held_out, judges)
        by_folds = _held_out(training, [(rows, rows) for rows in seen], of_folds)
        by_refit = _held_out(training, [(compared, compared)], of_refit)
        # Copies of which there are many have the score of the refit everywhere: no shift is to be measured on them.
        by_folds = by_folds.with_scores_of(by_refit, training.common_rows)
        return Trained(fitted, held_out, judges, (by_refit, by_folds))

    def _each_fold(
        self, model: ModelToFit, training: TrainingRows, splits: Sequence[Split], seen: Sequence[IndexArray], step: Step
    ) -> Iterator[_Fold]:
        model = replace(model, estimator=trained_as_on_all_rows(model.estimator, len(training.y)))
        # As they come, so that each fold can be told when it is done.
        calls = (
            delayed(_run_fold)(model, training, *each, keeps=self.keeps_folds)
            for each in zip(splits, seen, strict=True)
        )
        results = Parallel(n_jobs=self.n_jobs, return_as="generator")(calls)
        for number, (train, _) in enumerate(splits, start=1):
            with step(f"fold {number} of {len(splits)}, training on {len(train)} rows"):
                yield next(results)

    def _with_copies(
        self, held_out: HeldOutScores, models: Sequence[ModelToFit], training: TrainingRows, judging: Sequence[Any]
    ) -> HeldOutScores:
        """Give rows with many copies the score that new copies will get from the refitted model."""
        if not self.rescores_copies or not len(rows := training.common_rows):
            return held_out
        X = take_rows(training.X, rows)
        scores = [
            judge(each, X)
            if isinstance(each, FoldEnsemble)
            else class_scores(each, X, model.response_method, training.classes)
            for model, each in zip(models, judging, strict=True)
        ]
        of_copies = HeldOutScores(rows, training.labels[rows], scores[0], second=scores[1] if len(scores) > 1 else None)
        return held_out.with_scores_of(of_copies, rows)


class _Fold(NamedTuple):
    """Result of one fold: model, held-out scores, scores of training rows, and whether labels follow from scores."""

    scores: FloatArray
    answers_by_score: bool
    of_seen: FloatArray
    model: Any


def _run_fold(model: ModelToFit, training: TrainingRows, split: Split, seen: IndexArray, *, keeps: bool) -> _Fold:
    train, test = split
    fitted = model.train(training, train)
    scores, by_score = _tried_scores(model, fitted, training, test)
    of_seen, method = np.empty(0), model.response_method
    if len(seen):
        of_seen = class_scores(fitted, take_rows(training.X, seen), method, training.classes, is_fit=True)
    return _Fold(scores, by_score, of_seen, fitted if keeps else None)


def held_out_by_folds(
    models: Sequence[ModelToFit], training: TrainingRows, splits: Sequence[Split], step: Step
) -> HeldOutScores:
    """Score the rows by fold models, without keeping the models."""
    no_rows = [np.empty(0, dtype=np.intp)] * len(splits)
    folds = [CrossFit(None)._each_fold(model, training, splits, no_rows, step) for model in models]
    return _held_out(training, splits, [_of_all_folds([fold.scores for fold in each]) for each in folds])


# Each tree leaves out 1/e of the rows. So many of a thousand fits may leave a row that no tree has left out.
_FITS_WITH_ROW_IN_ALL_BAGS = 1e-3
# Out-of-bag scores average fewer trees than the forest does, so that more of them are exactly 0. Where a third of the
# rows or more have one score, that is another law: asked for .80 of rows with 1 % positives, .60 was reached.
_LARGEST_TIE_OF_BAGS = 1 / 3


@dataclass(frozen=True)
class OutOfBag(CrossFit):
    """Source of out-of-bag scores: each row is scored by the trees that have not seen it; the whole forest answers."""

    def splits(self, training: TrainingRows, rng: Generator) -> list[Split]:  # noqa: ARG002
        """Return a single split in which all rows both train and are scored, as no tree scores a row it has seen."""
        if training.groups is not None:
            raise ValueError(
                'groups must be None with cv="oob": a bag leaves out rows and not groups, so that trees score rows '
                "whose group they have seen; pass cv=5"
            )
        rows = np.arange(len(training.y))
        return [(rows, rows)]

    def score(
        self, models: Sequence[ModelToFit], training: TrainingRows, splits: Sequence[Split], step: Step
    ) -> Trained:
        """Train once and read the out-of-bag scores."""
        for model in models:
            _check_leaves_rows_out(model, len(training.y))
        fitted, scores = [], []
        for model in models:
            with step("training on all rows"):
                trained = replace(model, estimator=clone(model.estimator).set_params(oob_score=True)).train(training)
            scores.append(_scores_out_of_bag(training, trained))
            # What answers is the model as it was given; the scores of all training rows are kept elsewhere.
            del trained.oob_score_, trained.oob_decision_function_
            fitted.append(trained.set_params(oob_score=model.estimator.oob_score))
        held_out = _held_out(training, splits, scores)
        _, by_score = _tried_scores(models[0], fitted[0], training, held_out.rows)
        held_out = replace(held_out, answers_by_score=by_score)
        return Trained(fitted, self._with_copies(held_out, models, training, fitted))


def _check_leaves_rows_out(model: ModelToFit, n_rows: int) -> None:
    estimator = model.estimator
    leaves_rows_out = hasattr(estimator, "oob_score") and getattr(estimator, "bootstrap", False)
    if not leaves_rows_out or is_never_trained(estimator):
        raise ValueError(
            'cv="oob" needs a forest or a bagging model with bootstrap=True, whose trees each leave rows out, got '
            f"{type(estimator).__name__} as the {model.role}; pass cv=5"
        )
    fewest = ceil(log(n_rows / _FITS_WITH_ROW_IN_ALL_BAGS) / -log(1 - np.exp(-1)))
    if estimator.n_estimators < fewest:
        raise ValueError(
            f'cv="oob" needs n_estimators of at least {fewest} for {n_rows} rows, so that some tree leaves each row '
            f"out, got {estimator.n_estimators}; train more trees, or pass cv=5"
        )


def _scores_out_of_bag(training: TrainingRows, trained: Any) -> FloatArray:
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
    return scores


@dataclass(frozen=True)
class HoldOut:
    """Source of hold-out scores: models train on one part of the rows and score the other; `cv` may give the split."""

    cv: Folds = None
    holdout_size: float = 0.1
    keeps_folds: ClassVar[bool] = False
    refits: ClassVar[bool] = False

    def splits(self, training: TrainingRows, rng: Generator) -> list[Split]:
        """Draw the rows to hold out."""
        return [hold_out_split(training, self.cv, self.holdout_size, rng)]

    def score(
        self, models: Sequence[ModelToFit], training: TrainingRows, splits: Sequence[Split], step: Step
    ) -> Trained:
        """Train on one part and score the other."""
        ((train, test),) = splits
        fitted, scores = [], []
        for model in models:
            with step(f"training on {len(train)} rows"):
                fitted.append(model.train(training, train))
            scores.append(_tried_scores(model, fitted[-1], training, test))
        held_out = _held_out(training, splits, [of_model for of_model, _ in scores])
        return Trained(fitted, replace(held_out, answers_by_score=scores[0][1]))


HeldOutSource: TypeAlias = CrossFit | HoldOut


def is_never_trained(estimator: Classifier) -> bool:
    """Return whether training leaves a model unchanged, as with a frozen model or a column of scores."""
    return isinstance(estimator, FrozenEstimator) or getattr(estimator, "trains_nothing", False)


def trained_as_on_all_rows(estimator: Classifier, n_rows: int) -> Any:
    """Return the model with early stopping switched on or off, whichever it would choose for all rows.

    Otherwise the fold models may train differently from the refitted model. scikit-learn's histogram boosting stops
    early above 10,000 rows; with 12,000 rows the coverage was 0.04 too low.
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
    """Return the rows on which the refitted model is compared with the fold models: a fixed sample, or all if few."""
    if n_rows <= ALL_SEEN_ROWS:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(n_rows).choice(n_rows, SAMPLED_SEEN_ROWS, replace=False))


def _of_all_folds(scores: Sequence[FloatArray]) -> FloatArray:
    if all((fold == fold[0]).all() for fold in scores if len(fold)):
        # Each fold has its own constant, which tells rows of different folds apart and nothing else.
        constant = np.mean([fold[0] for fold in scores if len(fold)], axis=0)
        scores = [np.full(fold.shape, constant) for fold in scores]
    return np.concatenate(scores)


def _tried_scores(
    model: ModelToFit, fitted: Classifier, training: TrainingRows, rows: IndexArray
) -> tuple[FloatArray, bool]:
    """Score unseen rows; for an answering model, also test whether its labels follow from its scores."""
    X, method, classes = take_rows(training.X, rows), model.response_method, training.classes
    scores = class_scores(fitted, X, method, classes, is_fit=True)
    return scores, model.role == "classifier" and answers_by_score(fitted, X, scores, method, classes)


def _held_out(training: TrainingRows, splits: Sequence[Split], scores: Sequence[FloatArray]) -> HeldOutScores:
    """Combine the scores of one or two models with the labels, weights and groups of their rows."""
    rows = np.concatenate([test for _, test in splits])
    weight = None if training.sample_weight is None else training.sample_weight[rows]
    times_scored = np.bincount(rows, minlength=len(training.y))[rows]
    if (times_scored > 1).any():
        weight = (1.0 if weight is None else weight) / times_scored
    for of_model in scores:
        finite = np.isfinite(of_model) if of_model.ndim == 1 else np.isfinite(of_model).all(axis=1)
        if not finite.all():
            raise ValueError(
                f"the scores of the base model must be finite, got {int((~finite).sum())} NaN or infinite values among "
                f"{len(rows)}, the first for training row {rows[np.argmin(finite)]}; repair the model or impute its "
                "features"
            )
    return HeldOutScores(
        rows,
        training.labels[rows],
        scores[0],
        weight,
        second=scores[1] if len(scores) > 1 else None,
        band_groups=None if training.band_groups is None else training.band_groups[rows],
        folds=np.repeat(np.arange(len(splits)), [len(test) for _, test in splits]),
        units=None if training.units is None else training.units[rows],
    )
