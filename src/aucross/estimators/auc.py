"""Selective classifiers for the AUC: they reject the band of scores in which the ranking makes its errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np

from aucross.core.band_rule import BandRule
from aucross.core.influence import ExpectedAUC, InfluenceBands, PairwiseMetric, worth_of_review
from aucross.core.nested import FixedPathBands
from aucross.core.ranking import IndexArray, RankedScores
from aucross.core.rules import OptimalBands, Placement, estimate_auc_bands
from aucross.core.scored_rows import Rows, ScoredRows
from aucross.core.targets import AUCTarget, Target, as_target
from aucross.estimators.base import CrossFitted, HeldOut, SelectiveClassifier
from aucross.estimators.fitted import Fitted
from aucross.estimators.held_out import HeldOutScores
from aucross.estimators.placing import Placing, best_auc_bands
from aucross.estimators.reading import ContestReader, ProbabilityModel, Reader, ScoreReader, as_evidence
from aucross.estimators.reasons import Wording, class_reasons
from aucross.estimators.review import ReviewQueue, facts_of_scores
from aucross.estimators.shared_text import with_shared_text
from aucross.estimators.training_rows import TrainingRows
from aucross.estimators.types import Column, Labels, Table


@dataclass(eq=False, repr=False)
class _AUCBands(SelectiveClassifier):
    """Base of the AUC methods: with two classes the band lies on the score of the positive class."""

    _: KW_ONLY
    placement: Placement | Callable[[RankedScores], BandRule] = "optimal"
    target: Any = "auc"
    nested: bool = False

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not isinstance(self.nested, bool | np.bool_):
            raise ValueError(f"nested must be True or False, got {self.nested!r}")
        if not callable(self.placement) and self.placement not in ("optimal", "centered"):
            raise ValueError(f'placement must be "optimal", "centered" or a rule, got {self.placement!r}')
        target = self._binary_target()
        if self.placement != "optimal" and not isinstance(target, AUCTarget):
            raise ValueError(
                f'target must be "auc" with placement={self.placement!r}, which is defined for the AUC alone, got '
                f'{self.target!r}; pass placement="optimal"'
            )
        if self.nested and not isinstance(target, AUCTarget):
            raise ValueError(f'nested must be False unless target is "auc" or "auc_mu", got target={self.target!r}')

    def _takes_many_classes(self) -> bool:
        return self.placement == "optimal" and isinstance(self.target, str) and self.target in ("auc", "auc_mu")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self._takes_many_classes()
        return tags

    def _check_training_rows(self, X: Table, y: Column, **others: Any) -> TrainingRows:
        training = super()._check_training_rows(X, y, **others)
        n_classes = len(training.classes)
        if n_classes > 2 and not self._takes_many_classes():
            raise ValueError(
                "Only binary classification is supported by this placement or target: "
                f'with {n_classes} classes placement must be "optimal" and target "auc" (Hand and Till\'s M) or '
                f'"auc_mu", got placement={self.placement!r} and target={self.target!r}'
            )
        return training

    def _binary_target(self) -> Target:
        return as_target("auc" if self.target == "auc_mu" else self.target)  # with two classes they are the same

    def _metric_of(self, classes: Labels) -> PairwiseMetric:
        return PairwiseMetric(len(classes), "auc_mu" if self.target == "auc_mu" else "auc")

    @property
    def probability_model_(self) -> ProbabilityModel:
        """Return the model of class probabilities given scores; only with more than two classes."""
        return self.fitted_.reader.model  # type: ignore[attr-defined]

    def _reader(self, held_out: HeldOutScores, classes: Labels, methods: Sequence[str]) -> Reader:
        if len(classes) == 2:
            return ScoreReader()
        _check_every_class(held_out, classes)
        evidence = as_evidence(held_out.responses, methods[0])
        model = ProbabilityModel.fit_classes(evidence, held_out.labels, held_out.sample_weight)
        return ContestReader(self._metric_of(classes), model, methods[0])

    def _place(self, placing: Placing) -> BandRule:
        if placing.rows.probabilities is not None:
            return self._place_by_influence(placing)
        target = self._binary_target()
        if callable(self.placement):
            rule = self.placement(placing.smooth_ranking())
            if isinstance(rule, BandRule):
                return rule
            raise TypeError(
                f"placement must turn a ranking into a BandRule, got {type(rule).__name__}; pass a subclass of BandRule"
            )
        if not isinstance(target, AUCTarget):
            return OptimalBands(placing.smooth_ranking(), target)
        if placing.path is not None:
            path = placing.path.ranked_both_classes("the rows that are trained on")
            return FixedPathBands(placing.smooth_ranking(), path.isotonic(), self.coverage if self.nested else None)
        if self.placement == "centered" and (centred := _centered_bands(placing)) is not None:
            return centred
        return best_auc_bands(placing, self.coverage, nested=self.nested)

    def _place_by_influence(self, placing: Placing) -> InfluenceBands:
        """Place bands on the influence of each row on the metric; for more than two classes."""
        if placing.half is not None:
            # Confidence needs rows that had no part in their own selection score: one half searches the influence, the
            # other places its threshold.
            searched, placed = placing.halves
            part = replace(placing, held_out=placing.held_out.take(searched), rows=placing.rows.take(searched))
            rule = self._place_by_influence(replace(part, half=None))
            return replace(rule, threshold_rows=placing.rows.take(placed), is_fixed=True)
        classes, rows = np.unique(placing.held_out.labels), placing.rows
        assert rows.probabilities is not None
        metric = self._metric_of(np.arange(rows.probabilities.shape[1]))
        if len(classes) < metric.n_classes:
            _check_every_class(placing.held_out, np.arange(metric.n_classes))
        objective = ExpectedAUC(rows.columns, rows.probabilities, metric.contests, rows.sample_weight)
        return InfluenceBands(
            objective,
            reference=self.coverage if self.nested else None,
            threshold_rows=None if rows.tie_breaker is None else rows,
        )

    def _review_facts(
        self, fitted: Fitted, rows: ScoredRows, rejected: IndexArray, rule: BandRule, wording: Wording
    ) -> ReviewQueue:
        read = rows.rule_input
        if read.probabilities is None:
            probability = rule.probability_at(read)
            if probability is None:
                probability = fitted.held_out.ranked().isotonic().probability_at(rows.score)
            return facts_of_scores(fitted, rows.score, rejected, probability, wording)
        worth = worth_of_review(read.columns, read.probabilities, fitted.metric.contests)
        of_rejected = read.probabilities[rejected]
        most = of_rejected.max(axis=1, initial=0.0)
        score = rows.score[rejected].max(axis=1, initial=-np.inf)
        reasons = class_reasons(of_rejected, fitted.classes.tolist(), wording.names)
        return ReviewQueue(rejected, score, worth[rejected], most, tuple(reasons))


def _centered_bands(placing: Placing) -> BandRule | None:
    """Place the bands as published: on all rows, and on each of two halves; return None if all scores are equal."""
    parts: list[Rows] = [slice(None), *placing.halves]
    # The published bounds count rows; weights of any unit are brought to as many.
    held_out = [placing.held_out.take(part).with_weights_as_rows() for part in parts]
    if placing.rows.tie_breaker is not None:
        score = placing.rows.score
        held_out = [replace(one, responses=score[part]) for one, part in zip(held_out, parts, strict=True)]
    whole, *halves = held_out
    of_halves = [half.ranked_both_classes("the held-out rows of each random half") for half in halves]
    ranked = whole.ranked_both_classes()
    # A band centred on the only score that there is would reject every row.
    return estimate_auc_bands(ranked, of_halves, placement="centered") if len(ranked) > 1 else None


def _check_every_class(held_out: HeldOutScores, classes: Labels) -> None:
    weight = np.bincount(held_out.labels, weights=held_out.sample_weight, minlength=len(classes))
    if (weight == 0).any():
        raise ValueError(
            "the held-out rows must hold every class with weight above 0, got none of "
            f"{classes[weight == 0].tolist()}; pass a cv that scores rows of all classes, or other weights"
        )


@with_shared_text
@dataclass(eq=False, repr=False)
class AUCross(_AUCBands, CrossFitted):
    """Let a classifier abstain where that raises the AUC; bands are placed on cross-fitted scores.

    Every training row is scored by a model that has not seen it (K-fold cross-fitting). The band is placed on these
    scores: the one whose rejection leaves the highest AUC at the chosen coverage. The classifier is then refitted on
    all rows. One fit serves every coverage.

    Parameters
    ----------
    {estimator and coverage}
    {confidence with folds}
    {placement}
    {folds}
    {ensemble}
    random_state : int, RandomState instance or None, default=None
        Seed of the folds and, for the centred placement, of the two halves.
    {ties and positive class}

    Attributes
    ----------
    {fitted folds}
    probability_model_ : ProbabilityModel
        Calibrated class probabilities from the scores; only with more than two classes.
    {features}

    See Also
    --------
    PlugInAUC : Places the bands on one hold-out part instead of folds, without refitting.
    SCross : Rejects the least confident rows, for accuracy rather than AUC.

    Notes
    -----
    Algorithm 2 of Pugnana and Ruggieri, "AUC-based Selective Classification", AISTATS 2023.

    If all held-out scores are equal, a warning is given, every band is empty and every row is selected.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from aucross import AUCross
    >>> X, y = make_classification(2000, flip_y=0.3, random_state=0)
    >>> clf = AUCross(LogisticRegression(), coverage=0.8, random_state=0).fit(X, y)
    >>> print(clf.select(X).mean().round(1), clf.select(X, coverage=0.5).mean().round(1))
    0.8 0.5
    """

    # NOTE[DIFF]: the paper centres the band between two bounds and leaves its optimal place as an open question; the
    # default here is the exact optimum on isotonic labels. ``placement="centered"`` gives the published algorithm.

    def _wants(self, n_classes: int) -> tuple[bool, bool]:  # noqa: ARG002
        return self.placement == "centered", False


@with_shared_text
@dataclass(eq=False, repr=False)
class PlugInAUC(_AUCBands, HeldOut):
    """Let a classifier abstain where that raises the AUC; bands are placed on the scores of a hold-out part.

    The classifier is trained on one part of the rows; the band is placed on its scores of the other part. This takes
    one training instead of the K + 1 of :class:`AUCross`, and leaves fewer rows for training and for placing. With
    `coverage_confidence` it takes six trainings: one of the model that answers, and five of fold models on the same
    training rows, which say where the band lies.

    Parameters
    ----------
    {estimator and coverage}
    coverage_confidence : float in (0, 1), optional
        Reject less, so that new rows keep the coverage with this probability. Exact with two classes, for new rows from
        the population of the held-out ones. Five more trainings then give out-of-fold scores of the training rows,
        which say where the band lies; the held-out rows only say how wide it is. See :doc:`/howto/promise`. Without it
        the coverage is met on average. Excludes `sample_weight`.
    {placement}
    {held-out part}
    random_state : int, RandomState instance or None, default=None
        Seed of the split.
    {ties and positive class}

    Attributes
    ----------
    {fitted on a part}
    probability_model_ : ProbabilityModel
        Calibrated class probabilities from the scores; only with more than two classes.
    {features}

    See Also
    --------
    AUCross : Places the bands on cross-fitted scores of all rows.
    PlugIn : Rejects the least confident rows, for accuracy rather than AUC.

    Notes
    -----
    The comparison method of the same name in Pugnana and Ruggieri, "AUC-based Selective Classification", AISTATS 2023.

    If all held-out scores are equal, a warning is given, every band is empty and every row is selected.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from aucross import PlugInAUC
    >>> X, y = make_classification(5000, flip_y=0.3, random_state=0)
    >>> clf = PlugInAUC(LogisticRegression(), coverage=0.8, random_state=0).fit(X, y)
    >>> clf.band() == clf.band(0.8)
    True
    """

    # NOTE[DIFF]: the default placement is the exact optimum on isotonic labels; ``placement="centered"`` is published.

    def _wants(self, n_classes: int) -> tuple[bool, bool]:
        if self.coverage_confidence is None:
            return False, False
        is_searched = self.placement == "optimal" and isinstance(self._binary_target(), AUCTarget)
        # Scores whose ties are split have an axis of their own, on which a path of other rows means nothing.
        return n_classes > 2, is_searched and n_classes == 2 and self.ties == "whole"
