"""Doubts about a fit, told as warnings: of its rows, and of its result."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator

from aucross.core.band_rule import BandRule
from aucross.core.ranking import FloatArray, RankedScores
from aucross.estimators.fitted import Fitted
from aucross.estimators.held_out import is_never_trained
from aucross.estimators.models import class_scores
from aucross.estimators.reach import warn_if_models_differ, warn_if_nothing_can_be_rejected, warn_if_out_of_reach
from aucross.estimators.row_hash import Hashes
from aucross.estimators.score_column import score_column_in
from aucross.estimators.training_rows import FEWEST_COPIES, ModelToFit, TrainingRows
from aucross.estimators.types import Classifier, Labels, Table
from aucross.frames import columns_of, take_rows, text_names_of
from aucross.system.text import percent, warn_user

# An AUC is clearly below 0.5 if the upper end of its 95 % interval is.
_TAIL = 0.025

# When a frozen model is held against a copy of itself: rows that it takes, an AUC that is nearly perfect, and by how
# much that of the copy must be lower, which is rare for honest models, even if trained on many more rows than these.
_FEWEST_TO_TRY, _MOST_TO_TRY = 100, 5000
_NEARLY_PERFECT, _LARGEST_GAP, _TAIL_OF_COPY = 0.97, 0.1, 0.01

# A smaller share of copies, and fewer of them, are not worth a sentence; a column in which so many different rows
# differ is continuous, so that rows that agree in it are copies.
LEAST_COPIED, FEWEST_COPIED, CONTINUOUS = 0.02, 10, 0.95


def warn_of_result(fitted: Fitted, coverage: float) -> None:
    """Warn of every doubt that a fit raises about its own result."""
    rule, held_out, n_rows = fitted.rule, fitted.held_out, fitted.n_placing_rows
    if not fitted.judges:  # fold models that judge new rows may differ: held-out rows were spread over them too
        warn_if_models_differ(rule, coverage, held_out.read_by(fitted.reader), held_out.folds)
    warn_if_constant(held_out.responses, "held-out", ties_are_split=fitted.ties_are_split)
    _warn_if_turned_round(fitted)
    warn_if_nothing_rejected(rule, coverage)
    warn_if_nothing_can_be_rejected(rule, coverage, n_rows)
    warn_if_out_of_reach(rule, coverage, n_rows, ties_are_split=fitted.ties_are_split)


def warn_of_rows(estimator: Classifier, training: TrainingRows, fitted: Fitted) -> None:
    """Warn if the model seems to know the rows that judge it, because it was trained on them or on copies."""
    marks = fitted.marks
    if is_never_trained(estimator):
        _warn_if_frozen_knows(estimator, training, fitted)
    elif training.groups is None and marks is not None and marks.n_single < (1 - LEAST_COPIED) * marks.n_rows:
        warn_if_copied(training.X, training.hashes, training.y)


def _warn_if_frozen_knows(estimator: Classifier, training: TrainingRows, fitted: Fitted) -> None:
    """Warn if a frozen model ranks the rows better than a newly trained copy ranks unseen rows.

    If the AUC is nearly perfect, a copy is trained on three quarters of a sample and scores the rest. The copy of an
    excellent model is good too; that of a model that has seen the rows is not.
    """
    if not isinstance(estimator, FrozenEstimator) or len(training.classes) != 2 or len(training.y) < _FEWEST_TO_TRY:
        return
    auc = fitted.held_out.ranked().auc()
    if not auc >= _NEARLY_PERFECT:
        return
    order = np.random.default_rng(0).permutation(len(training.y))[:_MOST_TO_TRY]
    train, test = np.split(order, [3 * len(order) // 4])
    model = getattr(estimator.estimator, "best_estimator_", estimator.estimator)  # no search is run again
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            copy = ModelToFit(model, fitted.response_method).train(training, train)
            unseen, method = take_rows(training.X, test), fitted.response_method
            scores = class_scores(copy, unseen, method, training.classes, is_fit=True)
        of_copy = RankedScores.from_labels(training.labels[test] == 1, scores)
        upper = of_copy.auc_bounds(_TAIL_OF_COPY)[1]
    except Exception:  # a model that cannot be trained here tells nothing
        return
    if auc - upper > _LARGEST_GAP:
        warn_user(
            f"the frozen model ranks the rows almost perfectly, with an AUC of {auc:.3f}, and a copy of it trained on "
            f"three quarters of them has {of_copy.auc():.3f} on the rest: if it was trained on these rows, coverage "
            "and figures of the fit are wrong; pass rows that are new to it, or the model without FrozenEstimator"
        )


def warn_if_copied(X: Table, hashes: Hashes, labels: Labels) -> None:
    """Warn if rows of continuous values repeat in X with their label, so that fold models would know the answers.

    Ignores rows of few distinct values, and rows whose continuous values are missing or all 0.
    """
    _, first, place, counts = np.unique(
        hashes ^ np.unique(labels, return_inverse=True)[1].astype(np.uint64),
        return_index=True,
        return_inverse=True,
        return_counts=True,
    )
    if np.sum(counts - 1) < max(FEWEST_COPIED, LEAST_COPIED * len(place)):
        return
    for column in _columns(X):
        values, times = np.unique(column[first], return_counts=True)
        if len(values) < CONTINUOUS * len(first):
            continue
        alone = np.isin(column[first], values[times == 1]) & (counts < FEWEST_COPIES)  # more are common rows
        n_copies = int(np.sum(counts[alone] - 1))
        if n_copies >= max(FEWEST_COPIED, LEAST_COPIED * len(place)):
            warn_user(
                f"{n_copies:,} of {len(place):,} rows ({percent(n_copies / len(place))}) are copies of others with the "
                "same label, so that models are tested on rows that they were trained on, and every figure of the fit "
                "is too good; drop them, as with X.drop_duplicates(), or pass groups, one for each different row"
            )
        return


def _columns(X: Table) -> Iterator[Any]:
    """Yield the columns of an array or a frame that hold numbers."""
    if text_names_of(X) is not None or (isinstance(X, np.ndarray) and X.ndim == 2):
        yield from (values for column in columns_of(X) if (values := np.asarray(column)).dtype.kind in "fiu")


def warn_if_nothing_rejected(rule: BandRule, coverage: float) -> None:
    """Warn if there are too few rows for any rejection at the coverage in force."""
    for group, part in rule.rules_by_group.items():
        if (few := part.too_few_rows(coverage)) is None:
            continue
        of_group = "" if group is None else f" of the group {group!r}"
        warn_user(
            f"{few.n_rows} rows{of_group} to place the band on are too few to keep a coverage of {coverage:g} with "
            f"confidence {few.confidence:g} if anything is rejected, so every row is selected; {few.enough} would do, "
            "or a lower coverage or coverage_confidence"
        )


def warn_if_constant(responses: FloatArray, kind: str, *, ties_are_split: bool = False) -> None:
    """Warn if all rows have one score."""
    if len(responses) < 2 or not (responses == responses[0]).all():
        return
    value = f"{responses[0]:g}" if responses.ndim == 1 else np.array2string(responses[0], precision=3)
    warn_user(
        f"all {kind} scores equal {value}: no row can be told from another, so "
        + ("rows are rejected at random" if ties_are_split else "every band is empty and every row is selected")
        + "; check the base model and its features"
    )


def _warn_if_turned_round(fitted: Fitted) -> None:
    """Warn if a score that is not trained here clearly speaks for the negative class.

    Trained models are left out, because cross-fitting pure noise gives an AUC below 0.5.
    """
    held_out, positive, column = fitted.held_out, fitted.classes[-1], score_column_in(fitted.estimator)
    is_given = column is not None or is_never_trained(fitted.estimator)
    if not is_given or len(np.unique(held_out.labels)) != 2 or held_out.responses.ndim > 1:
        return
    ranked = held_out.of_effective_size().ranked()
    _, upper = ranked.auc_bounds(_TAIL)
    if not upper < 0.5:  # NaN where a class has a single row
        return
    if column is None:
        remedy = "check the labels that it was trained on, or pass pos_label, if the other class is the positive one"
    elif not hasattr(column, "n_features_in_"):  # fitted from a ranking
        remedy = "rank 1 minus the probability, or minus the distance, or count the other label as positive"
    else:
        remedy = (
            f"pass higher_is_positive={not column.higher_is_positive} to ScoreColumn, or pos_label to both, if the "
            "other class is the positive one"
        )
    warn_user(
        f"the AUC of the held-out rows is {ranked.auc():.3f}, clearly below 0.5: high scores speak against the "
        f"positive class {(positive.item() if isinstance(positive, np.generic) else positive)!r}; {remedy}"
    )
