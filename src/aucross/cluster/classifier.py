"""Selective classifiers in memory for rows on a cluster, which are trained on, scored and counted where they lie.

::

    rows ──► fold of each row by a hash ──► a model for each fold ──► held-out scores, counted where the rows lie
                                                                       └─► merged ──► bands, placed as in memory

Only models and counts are sent between machines, so every function takes the classifier in memory and
:class:`ClusterRows`.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from aucross.cluster.engine import ClusterRows, LostWorkerError, Part, TrainedModel
from aucross.core.bands import check_coverage
from aucross.core.ranking import RankedScores, check_scores
from aucross.core.rounding import ScoreRounding, Statistic
from aucross.core.scored_rows import ScoredRows
from aucross.estimators.fitted import light_copy
from aucross.estimators.fitting import blends_halves, counts_of, fit_on_counts
from aucross.estimators.hashed_folds import HashedFolds
from aucross.estimators.held_out import HeldOutScores, is_never_trained
from aucross.estimators.labels import check_classes
from aucross.estimators.models import answers_by_score, class_scores, response_method_of
from aucross.estimators.score_counts import ScoreCounts, count_rows, merge_counted, weighed
from aucross.estimators.types import Labels
from aucross.evaluation.evaluate import DEFAULT_COVERAGES, asks_for_at_least, evaluate_ranking
from aucross.evaluation.inputs import TrainingRowsWarning, rows_of_fit
from aucross.evaluation.promise import SelectivePromise, promise_ranking
from aucross.evaluation.selective_evaluation import SelectiveEvaluation
from aucross.frames import check_band_groups, take_rows

logger = logging.getLogger(__name__)

# Rows that are fetched to see whether the classifier was fitted on them.
_ROWS_TO_LOOK_AT = 10_000


def fit_on_cluster(
    method: Any,
    estimator: Any,
    rows: ClusterRows,
    *,
    refits: bool,
    statistic: Statistic = "auto",
    attempts: int = 3,
    label: str = "y",
    classes: Sequence[Any] | None = None,
) -> tuple[Any, TrainedModel, ScoreRounding]:
    """Fit on a cluster; return the classifier in memory, the cluster's model, and the rounding of scores.

    Parameters
    ----------
    method : SelectiveClassifier
        The unfitted classifier in memory, around the in-memory counterpart of `estimator`; its `cv` is HashedFolds.
    estimator : classifier
        Classifier that the engine trains.
    rows : ClusterRows
        Training rows.
    refits : bool
        Whether a model trained on all rows answers; otherwise the model of the first split does.
    statistic, attempts
        `statistic` says how held-out scores are counted, `attempts` how often a fit is tried if workers are lost.
    label, classes
        `label` names the labels in messages; `classes` are the two labels that `estimator` takes, by default any two.
    """
    folds: HashedFolds = method.cv
    with rows.folded(folds, halves=blends_halves(method)) as folded:
        survey = folded.counted(_survey, folds.n_splits, _merge_surveys, reads=("y", "fold"))
        labels, n_rows = _check_survey(survey, folds, label, classes), int(survey[1].sum())

        def trained(without_fold: int | None = None) -> TrainedModel:
            for attempt in range(1, attempts + 1):
                try:
                    return folded.train(estimator, n_rows=n_rows, without_fold=without_fold)
                except LostWorkerError as error:
                    logger.warning(
                        "a worker was lost in attempt %d of %d to train a model (%s)", attempt, attempts, error
                    )
                    lost = error
            what = "all rows" if without_fold is None else f"fold {without_fold + 1} of {folds.n_splits}"
            raise LostWorkerError(
                f"the fit of {what} lost workers in each of {attempts} attempts, the last time with: {lost}; look at "
                "the logs of the workers, which most often ran out of memory, or allow more attempts"
            ) from lost

        n_models = folds.n_splits if refits else 1
        if is_never_trained(estimator):  # the same in every fold
            answering = trained()
            models = [answering] * n_models
        else:
            models = [trained(fold) for fold in range(n_models)]
            answering = trained() if refits else models[0]
        rounding = ScoreRounding.of_statistic(statistic, n_rows)
        held_out, scoring = folded.held_out(models)
        counting = method, scoring, response_method_of(method.estimator), labels, rounding
        counts, lowest, highest = held_out.counted(_count_held_out, counting, _merge_held_out)
    if (lowest == highest).all() and len(set(lowest)) > 1:
        # Each fold has its own constant, which tells rows of different folds apart and nothing else.
        raise ValueError(
            "the base model must tell rows apart, got one score for all rows of each fold; check the model and its "
            "features"
        )
    return fit_on_counts(method, answering.local, counts, classes=labels), answering, rounding


def fold_and_half(part: Part, how: tuple[HashedFolds, bool]) -> list[Any]:
    """Return the fold of each row and, if wanted, its half, by a hash of its group or, without groups, its features."""
    folds, halves = how
    placed = [folds.fold_of(part.X, groups=part.groups).astype(np.min_scalar_type(folds.n_splits))]
    return [*placed, folds.half_of(part.X, groups=part.groups).astype(np.uint8)] if halves else placed


# ---- before training: rows of each label in each fold ----


Survey = tuple[Any, Any]  # labels, and their numbers in the folds, of shape (n_labels, n_folds)


def _survey(part: Part, n_folds: int) -> Survey:
    labels, place = np.unique(np.asarray(part.y), return_inverse=True)
    cells = np.bincount(place * n_folds + part.fold, minlength=len(labels) * n_folds)
    return labels, cells.reshape(len(labels), n_folds)


def _merge_surveys(surveys: Sequence[Survey]) -> Survey:
    labels, counts = (np.concatenate(column) for column in zip(*surveys, strict=True))
    labels, place = np.unique(labels, return_inverse=True)
    merged = np.zeros((len(labels), counts.shape[1]), dtype=np.int64)
    np.add.at(merged, place, counts)
    return labels, merged


def _check_survey(survey: Survey, folds: HashedFolds, label: str, classes: Sequence[Any] | None) -> Labels:
    """Refuse rows on which no model can be trained; return the two labels."""
    labels, counts = survey
    folds.check_sizes(counts.sum(axis=0))
    if classes is not None and (others := int(counts[~np.isin(labels, classes)].sum())):
        raise ValueError(
            f"{label} must hold {classes[0]} and {classes[1]} only, got {others:,} rows with other or missing labels; "
            f"map them to {classes[0]} and {classes[1]}, or drop those rows"
        )
    found = check_classes(labels)
    if len(found) != 2:
        raise ValueError(
            f"{label} must hold two classes on a cluster, got {len(found)}: {found.tolist()[:5]}; fit more classes in "
            "memory"
        )
    if not (counts.sum(axis=1, keepdims=True) - counts).all():
        raise ValueError(
            f"every training part must hold both classes, got folds with {counts.tolist()} rows of "
            f"{found.tolist()}; pass fewer folds or more rows"
        )
    return found


# ---- after training: counts of held-out scores ----


# The method, the models of the folds, how they are asked, the classes, and how scores are rounded.
Counting = tuple[Any, Sequence[Any], str, Labels, ScoreRounding]


def _count_held_out(part: Part, counting: Counting) -> tuple[ScoreCounts, Any, Any] | None:
    """Score each row by the model that has not seen it; return the counts, and the score range of each model."""
    method, models, response_method, classes, rounding = counting
    held = np.flatnonzero(part.fold < len(models))
    if not len(held):
        return None
    scores, by_score = np.empty(len(part.fold)), True
    lowest, highest = np.full(len(models), np.inf), np.full(len(models), -np.inf)
    for fold, model in enumerate(models):
        own = np.flatnonzero(part.fold == fold)
        if not len(own):
            continue
        X = take_rows(part.X, own)
        of_fold = class_scores(model, X, response_method, classes, is_fit=True)
        scores[own] = check_scores(of_fold, len(own), name="the scores of the base model")
        by_score = by_score and answers_by_score(model, X, of_fold, response_method, classes)
        lowest[fold], highest[fold] = of_fold.min(), of_fold.max()
    weight = None if part.sample_weight is None else np.asarray(part.sample_weight, dtype=np.float64)[held]
    groups = None if part.band_groups is None else check_band_groups(take_rows(part.band_groups, held), len(held))
    labels = np.searchsorted(classes, np.asarray(part.y)[held])
    held_out = HeldOutScores(held, labels, scores[held], weight, None, groups, by_score)
    half = None if part.half is None else part.half[held]
    return counts_of(method, held_out, rounding, response_method=response_method, half=half), lowest, highest


def _merge_held_out(parts: Sequence[tuple[ScoreCounts, Any, Any]]) -> tuple[ScoreCounts, Any, Any]:
    counts, lowest, highest = zip(*parts, strict=True)
    return ScoreCounts.merge(counts), np.min(lowest, axis=0), np.max(highest, axis=0)


# ---- a fitted classifier on further rows ----


def scored_part(clf: Any, part: Part) -> ScoredRows:
    """Score some rows, with their weights and groups if they have any."""
    return weighed(clf.scored(part.X, band_groups=part.band_groups), part.sample_weight)


def recalibrate_on_cluster(
    clf: Any, rows: ClusterRows, *, label_shift: bool = False, rounding: ScoreRounding | None = None
) -> Any:
    """Place the bands of a fitted classifier on unlabelled rows, from counts of their rounded scores."""
    check_is_fitted(clf, "band_rule_")
    if clf.band_rule_.axis == "other" or len(clf.classes_) > 2:
        raise ValueError(
            "the bands must lie on the score or the confidence of two classes, because only counts of scores are "
            f"collected, got a {type(clf).__name__} that reads more; collect the rows and call clf.recalibrate(rows)"
        )
    sent = light_copy(clf), rounding or ScoreRounding()
    return clf.recalibrate(rows.counted(_count_unlabelled, sent, merge_counted), label_shift=label_shift)


def _count_unlabelled(part: Part, sent: tuple[Any, ScoreRounding]) -> ScoredRows:
    clf, rounding = sent
    return count_rows(scored_part(clf, part), clf.fitted_.reader, rounding)


class Rankings(NamedTuple):
    """Rankings of labelled rows, from which an evaluation is computed."""

    everything: RankedScores
    selected: Mapping[float, RankedScores]  # the rows that are decided automatically, by coverage
    n_unknown: int = 0  # rows whose label is none of the classifier's


def rank_on_cluster(
    clf: Any,
    rows: ClusterRows,
    coverages: Iterable[float],
    *,
    label: str = "y",
    rounding: ScoreRounding | None = None,
    promises: bool = False,
) -> Rankings:
    """Rank labelled rows by rounded scores in place: all rows, and those selected at each coverage.

    Warn if rows of the fit are among them; refuse such rows for a promise. `label` names the labels in messages.
    """
    check_is_fitted(clf, "band_rule_")
    if len(clf.classes_) != 2:
        raise ValueError(
            f"a ranking is one of two classes, got a classifier of {len(clf.classes_)}; collect the rows and call "
            "evaluate_selective"
        )
    if clf.fitted_.marks is not None:
        _, doubt = rows_of_fit(clf, rows.first(_ROWS_TO_LOOK_AT))
        if doubt is not None and promises:
            raise ValueError(doubt)
        if doubt is not None:
            warnings.warn(doubt, TrainingRowsWarning, stacklevel=4)
    # One pickle: the copies share the model.
    deciding = {check_coverage(coverage): light_copy(clf, coverage) for coverage in coverages}
    ranked = rows.counted(rank_part, (deciding, rounding or ScoreRounding()), merge_rankings)
    if ranked.n_unknown:
        raise ValueError(
            f"{label} must hold the labels of the fit {clf.classes_.tolist()} only, got {ranked.n_unknown:,} rows with "
            "others or without one; drop them or map them"
        )
    return ranked


def rank_part(part: Part, sent: tuple[Mapping[float, Any], ScoreRounding]) -> Rankings:
    """Rank the rows of a part; `sent` holds the classifier that decides at each coverage."""
    deciding, rounding = sent
    first = next(iter(deciding.values()))
    scored, labels = scored_part(first, part), np.asarray(part.y)
    score, weight, positive = rounding.round(scored.score), scored.sample_weight, labels == first.fitted_.classes[1]
    is_known = np.isin(labels, first.fitted_.classes)
    counts = is_known if weight is None else is_known & (weight > 0)

    def ranked(rows: Any) -> RankedScores:
        return RankedScores.from_labels(positive[rows], score[rows], None if weight is None else weight[rows])

    selected = {coverage: ranked(clf.decide(scored).selected & counts) for coverage, clf in deciding.items()}
    return Rankings(ranked(counts), selected, int((~is_known).sum()))


def merge_rankings(parts: Sequence[Rankings]) -> Rankings:
    """Rank the rows of all parts together."""
    everything, selected, n_unknown = zip(*parts, strict=True)
    merge = RankedScores.merge
    by_coverage = {coverage: merge([of_part[coverage] for of_part in selected]) for coverage in selected[0]}
    return Rankings(merge(everything), by_coverage, sum(n_unknown))


def evaluate_on_cluster(
    clf: Any, rows: ClusterRows, coverages: Iterable[float] | None = None, *, options: Mapping[str, Any], **ranking: Any
) -> SelectiveEvaluation:
    """Evaluate a classifier on labelled rows, with options of :func:`evaluate_ranking` and :func:`rank_on_cluster`."""
    asked = list(DEFAULT_COVERAGES if coverages is None else coverages)
    ranked = rank_on_cluster(clf, rows, asked, **ranking)
    threshold = 0.5 if clf.fitted_.response_method == "predict_proba" else 0.0
    evaluation = evaluate_ranking(ranked.everything, ranked.selected, asked, **{"threshold": threshold, **options})
    return replace(evaluation, at_least=asks_for_at_least(clf))


def promise_on_cluster(
    clf: Any, rows: ClusterRows, coverage: float | None = None, *, options: Mapping[str, Any], **ranking: Any
) -> SelectivePromise:
    """Say what can be promised from labelled rows, with options of :func:`promise_ranking`."""
    asked = check_coverage(clf.coverage if coverage is None else coverage)
    ranked = rank_on_cluster(clf, rows, [asked], promises=True, **ranking)
    return promise_ranking(ranked.everything, ranked.selected[asked], asked, **options)
