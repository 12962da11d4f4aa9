"""Held-out scores of a cluster: the fold of each row, what is known before training, and the counts of each partition.

::

    partition ──► its folds, kept ──► rows of each label in each fold ──► merged in a tree, checked
              └─► scored by the models that have not seen its rows ──► counts ──► merged in a tree
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from dask.delayed import Delayed, delayed
from distributed import Client

from aucross.core.ranking import check_scores
from aucross.core.rounding import ScoreRounding
from aucross.dask.partitions import Rows, merged_in_a_tree
from aucross.dask.training import is_distributed
from aucross.estimators.band_groups import check_band_groups
from aucross.estimators.hashed_folds import HashedFolds
from aucross.estimators.held_out import HeldOutScores
from aucross.estimators.models import answers_by_score, class_scores
from aucross.estimators.score_counts import ScoreCounts
from aucross.estimators.types import Labels
from aucross.frames import take_rows


class Counting(NamedTuple):
    """What counting needs beside rows and models."""

    method: Any
    response_method: str
    classes: Labels
    rounding: ScoreRounding
    folds: HashedFolds


class Survey(NamedTuple):
    """What is known of the rows before anything is trained: rows of each label in each fold."""

    labels: Any
    counts: Any  # of shape (n_labels, n_folds)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.counts.sum())


def with_folds(client: Client, parts: list[Delayed], folds: HashedFolds) -> list[Delayed]:
    """Number of the fold of each row, a task for each partition; computed once and kept by the workers.

    A byte or two for each row: every training and the counting would hash all rows again. A worker that is lost takes
    its numbers along, and they are computed again.
    """
    place = delayed(_folds_of, pure=True)
    return list(client.persist([place(part, folds) for part in parts]))


def _folds_of(rows: Rows, folds: HashedFolds) -> Any:
    return folds.fold_of(rows.X, groups=rows.groups).astype(np.min_scalar_type(folds.n_splits))


# ---- before training ----


def surveyed(client: Client, parts: list[Delayed], fold_of: list[Delayed], folds: HashedFolds) -> Survey:
    """Count the rows of each label in each fold."""
    look = delayed(_survey, pure=True)
    looks = [look(part, fold, folds.n_splits) for part, fold in zip(parts, fold_of, strict=True)]
    return client.compute(merged_in_a_tree(_merge_surveys, looks)).result()


def _survey(rows: Rows, fold: Any, n_folds: int) -> Survey:
    labels, place = np.unique(np.asarray(rows.y), return_inverse=True)
    cells = np.bincount(place * n_folds + fold, minlength=len(labels) * n_folds)
    return Survey(labels, cells.reshape(len(labels), n_folds))


def _merge_surveys(surveys: list[Survey]) -> Survey:
    filled = [survey for survey in surveys if len(survey.labels)] or surveys[:1]
    labels = np.unique(np.concatenate([survey.labels for survey in filled]))
    counts = np.zeros((len(labels), filled[0].counts.shape[1]), dtype=np.int64)
    for survey in filled:
        counts[np.searchsorted(labels, survey.labels)] += survey.counts
    return Survey(labels, counts)


def check_survey(survey: Survey, classes: Labels, folds: HashedFolds, estimator: Any) -> None:
    """Refuse rows that no model could be trained on."""
    if len(classes) != 2:
        raise ValueError(
            f"y must hold two classes on a cluster, got {len(classes)}: {classes.tolist()[:5]}; fit more classes in "
            "memory"
        )
    folds.check_sizes(survey.counts.sum(axis=0))
    outside = survey.counts.sum(axis=1, keepdims=True) - survey.counts
    if not outside.all():
        raise ValueError(
            f"every training part must hold both classes, got folds with {survey.counts.tolist()} rows of "
            f"{classes.tolist()}; pass fewer folds or more rows"
        )
    if is_distributed(estimator) and classes.tolist() != [0, 1]:
        raise ValueError(
            f"y must hold 0 and 1 for {type(estimator).__name__}, got {classes.tolist()}; pass "
            f"(y == {classes.tolist()[1]!r}).astype(int)"
        )


# ---- after training ----


def counted(
    client: Client, parts: list[Delayed], fold_of: list[Delayed], models: Delayed, counting: Counting
) -> ScoreCounts:
    """Score every partition by the models, one for each fold, that have not seen its rows, and count the scores."""
    count, sent = delayed(_count, pure=True), delayed(counting, traverse=False)
    counts = [count(part, fold, models, sent) for part, fold in zip(parts, fold_of, strict=True)]
    merged, ranges = client.compute(merged_in_a_tree(_merge_counts, counts)).result()
    _refuse_constant(ranges)
    return merged


def _count(
    rows: Rows, fold: Any, models: list[Any], counting: Counting
) -> tuple[ScoreCounts, list[tuple[float, float]]]:
    """Count the held-out scores of a partition; with the lowest and the highest score of each model."""
    scores, by_score, ranges = np.zeros(len(fold)), True, []
    for number, model in enumerate(models):
        own = np.flatnonzero(fold == number)
        if not len(own):
            ranges.append((np.inf, -np.inf))
            continue
        X = take_rows(rows.X, own)
        of_fold = class_scores(model, X, counting.response_method, counting.classes)
        scores[own] = check_scores(of_fold, len(own), name="the scores of the base model")
        by_score = by_score and answers_by_score(model, X, of_fold, counting.response_method, counting.classes)
        ranges.append((float(of_fold.min()), float(of_fold.max())))
    held = np.flatnonzero(fold < len(models))
    weight = None if rows.sample_weight is None else np.asarray(rows.sample_weight, dtype=np.float64)[held]
    groups = None if rows.band_groups is None else check_band_groups(take_rows(rows.band_groups, held), len(held))
    labels = np.searchsorted(counting.classes, np.asarray(rows.y)[held])
    held_out = HeldOutScores(held, labels, scores[held], weight, None, groups, by_score)
    half = counting.folds.half_of(rows.X, groups=rows.groups)[held] if counting.method.blends_halves else None
    response_method = counting.response_method
    return counting.method.counts_of(held_out, counting.rounding, response_method=response_method, half=half), ranges


def _merge_counts(parts: list[tuple[ScoreCounts, Any]]) -> tuple[ScoreCounts, list[tuple[float, float]]]:
    lows, highs = (np.array([[model[end] for model in ranges] for _, ranges in parts]) for end in (0, 1))
    ranges = list(zip(lows.min(axis=0).tolist(), highs.max(axis=0).tolist(), strict=True))
    return ScoreCounts.merge([counts for counts, _ in parts]), ranges


def _refuse_constant(ranges: list[tuple[float, float]]) -> None:
    if len(ranges) > 1 and all(low == high for low, high in ranges) and len(set(ranges)) > 1:
        # Each fold has its own constant, which tells rows of different folds apart and nothing else.
        raise ValueError(
            "the base model must tell rows apart, got one score for all rows of each fold; check the model and its "
            "features"
        )
