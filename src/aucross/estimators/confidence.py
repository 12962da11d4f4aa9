"""Selective classifiers for accuracy: they reject the least confident rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aucross.core.band_rule import BandRule
from aucross.core.ranking import IndexArray
from aucross.core.rules import ThresholdBands
from aucross.core.scored_rows import Rows, ScoredRows, predicted_class
from aucross.estimators.base import CrossFitted, HeldOut, SelectiveClassifier
from aucross.estimators.fitted import Fitted
from aucross.estimators.held_out import HeldOutScores
from aucross.estimators.placing import Placing
from aucross.estimators.reading import ConfidenceReader
from aucross.estimators.reasons import Wording, confidence_reasons
from aucross.estimators.review import ReviewQueue
from aucross.estimators.shared_text import with_shared_text
from aucross.estimators.types import Labels


class _ConfidenceThreshold(SelectiveClassifier):
    """Base of the confidence methods: the band lies on the confidence in the predicted class."""

    def _reader(self, held_out: HeldOutScores, classes: Labels, methods: Sequence[str]) -> ConfidenceReader:  # noqa: ARG002
        return ConfidenceReader(methods[0] == "predict_proba")

    def _place(self, placing: Placing) -> BandRule:
        reader = placing.reader
        assert isinstance(reader, ConfidenceReader)
        # A blend of thresholds between two clumps would leave a clump out that the cut should go through.
        halves = placing.halves if placing.rows.tie_breaker is None else []
        parts: list[Rows] = [slice(None), *halves]
        whole, *of_halves = (
            placing.held_out.take(part).ranked_correct(placing.rows.score[part], is_probability=reader.is_probability)
            for part in parts
        )
        return ThresholdBands(whole, tuple(of_halves))

    def _review_facts(
        self,
        fitted: Fitted,
        rows: ScoredRows,
        rejected: IndexArray,
        rule: BandRule,  # noqa: ARG002
        wording: Wording,
    ) -> ReviewQueue:
        rows = rows.take(rejected)
        confidence = rows.rule_input.score
        of_class = rows.score if rows.score.ndim == 1 else rows.score.max(axis=1, initial=-np.inf)
        # A margin says nothing about a probability.
        probability = of_class if rows.is_probability else np.full(len(rows), np.nan)
        worth = 1.0 - confidence if rows.is_probability else -confidence
        # A model with a threshold of its own may answer another class than the one it is surer of.
        surest = fitted.classes[predicted_class(rows.score, is_probability=rows.is_probability)]
        labels, is_probability = surest.tolist(), rows.is_probability
        reasons = confidence_reasons(confidence, labels, is_probability=is_probability, names=wording.names)
        return ReviewQueue(rejected, of_class, worth, probability, tuple(reasons))


@with_shared_text
@dataclass(eq=False, repr=False)
class SCross(_ConfidenceThreshold, CrossFitted):
    """Let a classifier abstain where it is least confident; the threshold is placed on cross-fitted confidences.

    This is the most common rule, maximum probability. It raises the accuracy but, on imbalanced data, usually lowers
    the AUC; use :class:`AUCross` for the AUC.

    Parameters
    ----------
    {estimator and coverage}
    {confidence with folds}
    {folds}
    {ensemble}
    random_state : int, RandomState instance or None, default=None
        Seed of the folds and of the two halves.
    {ties and positive class}

    Attributes
    ----------
    {fitted folds}
    {features}

    See Also
    --------
    PlugIn : Places the bands on one hold-out part instead of folds.
    AUCross : Rejects the band that raises the AUC.

    Notes
    -----
    The comparison method of the same name in Pugnana and Ruggieri, "AUC-based Selective Classification", AISTATS 2023.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from aucross import SCross
    >>> X, y = make_classification(2000, flip_y=0.3, random_state=0)
    >>> clf = SCross(LogisticRegression(), coverage=0.8, random_state=0).fit(X, y)
    >>> print(clf.select(X).mean().round(1))
    0.8
    """

    def _wants(self, n_classes: int) -> tuple[bool, bool]:  # noqa: ARG002
        return True, False


@with_shared_text
@dataclass(eq=False, repr=False)
class PlugIn(_ConfidenceThreshold, HeldOut):
    """Let a classifier abstain where it is least confident; the threshold is placed on a hold-out part.

    The classifier is trained on one part of the rows; the confidence threshold is placed on the other part.

    Parameters
    ----------
    {estimator and coverage}
    coverage_confidence : float in (0, 1), optional
        Reject less, so that new rows keep the coverage with this probability. Exact for new rows from the population of
        the held-out ones. Without it the coverage is met on average. Excludes `sample_weight`.
    {held-out part}
    random_state : int, RandomState instance or None, default=None
        Seed of the split.
    {ties and positive class}

    Attributes
    ----------
    {fitted on a part}
    {features}

    See Also
    --------
    SCross : Places the bands on cross-fitted confidences of all rows.
    PlugInAUC : Rejects the band that raises the AUC.

    Notes
    -----
    The comparison method of the same name in Pugnana and Ruggieri, "AUC-based Selective Classification", AISTATS 2023.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from aucross import PlugIn
    >>> X, y = make_classification(5000, flip_y=0.3, random_state=0)
    >>> clf = PlugIn(LogisticRegression(), coverage=0.8, random_state=0).fit(X, y)
    >>> clf.band().lower
    -inf
    """
