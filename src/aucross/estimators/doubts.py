"""Warn of doubts about the rows or the result of a fit."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator

from aucross.core.band_rule import BandRule
from aucross.core.cautious import Caution
from aucross.core.ranking import FloatArray, IndexArray, RankedScores
from aucross.core.scored_rows import RuleInput
from aucross.estimators.coverage_for import share_of_each_fold
from aucross.estimators.fitted import Fitted
from aucross.estimators.held_out import is_never_trained
from aucross.estimators.models import class_scores
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

# A coverage that is missed by less is not worth a sentence, nor is an AUC that falls by less.
_LEAST_GAP, _LEAST_LOSS = 0.02, 0.002
# Fewer scores than this share of the rows are few; the models of folds that have many differ by less than a tie.
_FEW_SCORES = 0.1
# A variance of shares this much above that of chance is rare: one in a hundred for five folds.
_FAR_FROM_CHANCE = 3.3
# A standard deviation between models that is not worth a sentence.
_LARGEST_DEVIATION = 0.03

# A smaller share of copies, and fewer of them, are not worth a sentence; a column in which so many different rows
# differ is continuous, so that rows that agree in it are copies.
LEAST_COPIED, FEWEST_COPIED, CONTINUOUS = 0.02, 10, 0.95


def warn_of_fit(clf: Any, fitted: Fitted, training: TrainingRows | None = None) -> None:
    """Warn of every doubt about the result of a fit and, if `training` is given, about its rows."""
    if training is not None:
        marks = fitted.marks
        if is_never_trained(clf.estimator):
            _warn_if_frozen_knows(clf.estimator, training, fitted)
        elif training.groups is None and marks is not None and marks.n_single < (1 - LEAST_COPIED) * marks.n_rows:
            _warn_if_copied(training.X, training.hashes, training.y)
    rule, held_out, n_rows, coverage = fitted.rule, fitted.held_out, fitted.n_placing_rows, clf.coverage
    if not fitted.judges:  # fold models that judge new rows may differ: held-out rows were spread over them too
        _warn_if_models_differ(rule, coverage, held_out.read_by(fitted.reader), held_out.folds)
    warn_if_constant(held_out.responses, "held-out", ties_are_split=fitted.ties_are_split)
    _warn_if_turned_round(fitted)
    warn_if_nothing_rejected(rule, coverage, n_rows)
    warn_if_out_of_reach(rule, coverage, n_rows, ties_are_split=fitted.ties_are_split)


def _warn_if_models_differ(rule: BandRule, coverage: float, held_out: RuleInput, folds: IndexArray | None) -> None:
    """Warn if fold models give few distinct scores and select very different shares of their rows.

    The refitted model may then select yet another share, which held-out scores cannot show.
    """
    if folds is None or coverage == 1.0 or len(np.unique(held_out.score)) > _FEW_SCORES * len(folds):
        return
    share, count = share_of_each_fold(rule.bands_of(held_out, coverage).selected, folds)
    by_chance = coverage * (1.0 - coverage) / count.min()
    if len(share) > 1 and np.var(share, ddof=1) > max(_FAR_FROM_CHANCE * by_chance, _LARGEST_DEVIATION**2):
        warn_user(
            f"the models of the folds select from {share.min():.3g} to {share.max():.3g} of their rows at a "
            f"coverage of {coverage:g}, because they have few scores, and so may the model trained on all rows; pass "
            'ensemble="judge" or ties="split", with which these models judge new rows, too'
        )


def _warn_if_frozen_knows(estimator: Classifier, training: TrainingRows, fitted: Fitted) -> None:
    """Warn if a frozen model ranks the rows better than a newly trained copy ranks unseen rows.

    If the AUC is nearly perfect, a copy is trained on three quarters of a sample and scores the rest. The copy of an
    excellent model scores well too; the copy of a model that has merely seen the rows does not.
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


def _warn_if_copied(X: Table, hashes: Hashes, labels: Labels) -> None:
    """Warn if X repeats many rows of continuous values with their labels, so that fold models have seen the answers.

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
    is_table = text_names_of(X) is not None or (isinstance(X, np.ndarray) and X.ndim == 2)
    columns = (np.asarray(column) for column in (columns_of(X) if is_table else ()))
    for column in (values for values in columns if values.dtype.kind in "fiu"):
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


def warn_if_nothing_rejected(rule: BandRule, coverage: float, n_rows: float | None = None) -> None:
    """Warn if nothing is rejected because rows are too few: for a promise, or for one of `n_rows` to be rejected."""
    parts = rule.rules_by_group
    totals = [0.0 if part.ranking is None else part.ranking.total for part in parts.values()]
    for (group, part), total in zip(parts.items(), totals, strict=True):
        promise = part.coverage_map if isinstance(part.coverage_map, Caution) else None
        if promise is not None and (enough := promise.rows_needed(part, coverage)) is not None:
            of_group = "" if group is None else f" of the group {group!r}"
            warn_user(
                f"{promise.n_rows} rows{of_group} to place the band on are too few to keep a coverage of {coverage:g} "
                f"with confidence {promise.confidence:g} if anything is rejected, so every row is selected; {enough} "
                "would do, or a lower coverage or coverage_confidence"
            )
        elif n_rows is not None and coverage < 1.0 and (part.ranking is None or len(part.ranking) > 1):
            n_own = n_rows * (total / sum(totals) if min(totals) > 0 else 1.0)
            is_less = (1.0 - coverage) * n_own < 1.0 - 1e-9  # 0.1 of 10 rows is one, whatever 1 - 0.9 is
            if n_own >= 2.0 and is_less and part.expected_coverage(coverage) == 1.0:
                of_group = "" if group is None else f" for the group {group!r}"
                warn_user(
                    f"a coverage of {coverage:g} leaves less than one of the {n_own:.0f} rows that place the band for "
                    f"review{of_group}, so that the band is empty and every row is selected; fit on more rows, hold "
                    "out more of them (a larger holdout_size, or AUCross or SCross, which hold out every row), or pass "
                    "a lower coverage"
                )


def warn_if_out_of_reach(rule: BandRule, coverage: float, n_rows: float, *, ties_are_split: bool) -> None:
    """Warn if a coverage cannot be reached, with the reason, the coverage to expect and the remedy.

    A band takes all rows of a score or none, so a model that gives many rows one score (a small tree, ten rating
    grades, rows without a bureau record) can reach few coverages. The band takes the lowest reachable coverage that
    is not below the request, so that no more rows go to review than requested.
    """
    if coverage == 1.0 or n_rows < 2:  # one row is selected
        return
    for group, part in rule.rules_by_group.items():
        of_group = "" if group is None else f" for the group {group!r}"
        expected, to_place, ranked = part.expected_coverage(coverage), part.coverage_to_place(coverage), part.ranking
        # Without ties a promise would select more than was asked for.
        aimed_at = to_place if isinstance(part.coverage_map, Caution) else coverage
        if ranked is not None and len(ranked) < 2:
            continue  # a single score, of which `warn_if_constant` tells
        weight = None if ranked is None else ranked.positives + ranked.negatives
        clump = ""
        if ranked is not None and weight is not None and ranked.total > 0:
            most = int(np.argmax(weight))
            share, score = weight[most] / ranked.total, ranked.scores[most]
            clump = f", and {share:.3g} of the rows have the score {score:.6g}"
        gap = abs(expected - aimed_at)
        is_missed = aimed_at < 1.0 and gap > max(_LEAST_GAP, 2.0 / n_rows)
        if coverage * n_rows < 1.0:
            warn_user(
                f"a coverage of {coverage:g} is less than one of the {n_rows:.0f} rows that place the band, so that "
                f"about {expected:.3g} is selected{of_group}; pass a higher coverage, or fit on more rows"
            )
        # What is missed for another reason, as by a centred band that ends at the last row, is not for ties to mend.
        elif is_missed and (ranked is None or weight is None or weight.max(initial=0.0) > gap / 2 * ranked.total):
            remedy = (
                "give X a column that tells such rows apart, an id for instance, which the model does not read"
                if ties_are_split
                else 'pass ties="split" to cut through ties by a hash of the row'
            )
            lower = () if ranked is None else np.arange(coverage - 0.02, 0.0, -0.02).round(6).tolist()
            reached = (part.expected_coverage(at) for at in lower)
            other = next((share for share in reached if share < min(coverage, expected)), None)
            remedy += f", or a coverage that can be reached, such as {other:.3g}" if other else ""
            warn_user(
                f"a coverage of {coverage:g} cannot be reached{of_group}, {expected:.3g} is expected: a band takes all "
                f"rows of a score or none{clump}; {remedy}"
            )
        if not ties_are_split and (gain := part.auc_gain(to_place)) is not None and gain < -_LEAST_LOSS:
            warn_user(
                f"a coverage of {coverage:g} lowers the AUC{of_group} by {-gain:.3g} on the rows that place the "
                f"band: it takes all rows of a score or none{clump}; pass "
                'ties="split" to cut through ties by a hash of the row, or coverage=1.0'
            )


def warn_if_constant(responses: FloatArray, kind: str, *, ties_are_split: bool = False) -> None:
    """Warn if all rows have the same score."""
    if len(responses) < 2 or not (responses == responses[0]).all():
        return
    value = f"{responses[0]:g}" if responses.ndim == 1 else np.array2string(responses[0], precision=3)
    warn_user(
        f"all {kind} scores equal {value}: no row can be told from another, so "
        + ("rows are rejected at random" if ties_are_split else "every band is empty and every row is selected")
        + "; check the base model and its features"
    )


def _warn_if_turned_round(fitted: Fitted) -> None:
    """Warn if an existing score clearly speaks for the negative class.

    Models that are trained here are not tested, because cross-fitting pure noise gives an AUC below 0.5.
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
