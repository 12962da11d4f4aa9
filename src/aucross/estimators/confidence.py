"""Selective classifiers aimed at accuracy: they reject the least confident rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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
from aucross.estimators.review import ReviewFacts, confidence_reasons
from aucross.estimators.types import Classifier, Ensemble, Folds, Labels, Ties


class _ConfidenceThreshold(SelectiveClassifier):
    """Base of the confidence methods: the band lies on the confidence in the predicted class."""

    def _reader(
        self,
        held_out: HeldOutScores,  # noqa: ARG002
        classes: Labels,  # noqa: ARG002
        methods: Sequence[str],
    ) -> ConfidenceReader:
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
    ) -> ReviewFacts:
        rows = rows.take(rejected)
        confidence = rows.rule_input.score
        of_class = rows.score if rows.score.ndim == 1 else rows.score.max(axis=1, initial=-np.inf)
        # A margin says nothing about a probability.
        probability = of_class if rows.is_probability else np.full(len(rows), np.nan)
        worth = 1.0 - confidence if rows.is_probability else -confidence
        # A model with a threshold of its own may answer another class than the one it is surer of.
        surest = fitted.classes[predicted_class(rows.score, is_probability=rows.is_probability)]
        reasons = confidence_reasons(confidence, surest.tolist(), is_probability=rows.is_probability)
        return ReviewFacts(of_class, worth, probability, reasons)


class SCross(_ConfidenceThreshold, CrossFitted):
    """Wrap a classifier so that it abstains where it is least confident, with cross-fitted confidences.

    The rule most people use, max probability, with its threshold placed on out-of-fold rows. It raises the accuracy;
    on imbalanced data it usually lowers the AUC, for which there is :class:`AUCross`.

    Parameters
    ----------
    estimator : classifier
        Base classifier; confidence is the highest probability of ``predict_proba`` or, if it has none, the distance
        from the boundary of ``decision_function``. Wrap a trained one in :class:`sklearn.frozen.FrozenEstimator` and
        fit on rows that it has not seen.
    coverage : float in (0, 1], default=0.9
        Share of rows to select by default; `select` and `band` take any other.
    coverage_confidence : float in (0, 1), optional
        Reject less, so that new rows keep the coverage with this probability. For this the fold models are kept and
        one of them, drawn by a hash of the row, judges each new row, see :doc:`/howto/coverage-promise`. Without it the
        coverage is met on average. Excludes `sample_weight`.
    cv : int, splitter, iterable of splits or "oob", default=5
        An integer K means K stratified shuffled folds (with `groups`, folds that keep each group together);
        anything else is used as scikit-learn does.
        With K folds and up to 50,000 rows the coverage is corrected for differences between the fold models, which
        place the band, and the model trained on all rows, see :doc:`/howto/small-data`.
        ``"oob"`` trains a forest or a bagging model once and scores each row by
        the trees that have not seen it, see :doc:`/howto/small-data`.
    ensemble : bool or "judge", default=False
        What becomes of the K fold models. False lets go of them: the classifier is refitted on all rows, answers and
        judges. ``"judge"`` keeps them: the refitted classifier answers, and one fold model, drawn by a hash of the row,
        judges each new row. Then new rows have the coverage as closely as the number of training rows allows, also
        with networks and on small data. True lets their mean answer too: boosted trees usually rank better so. See
        :doc:`/howto/small-data`.
    n_jobs : int, optional
        Folds to fit at the same time.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds and of the two halves.
    ties : {"whole", "split"}, default="whole"
        What a band does with rows of equal score at its ends: it takes all or none of them, or it cuts through them by
        a hash of the row, so that any coverage can be reached, see :doc:`/howto/ties`.
    pos_label : label, optional
        The positive one of two classes. By default the higher category where `y` is an ordered Categorical of pandas,
        and else the second in sorted order. ``classes_`` and the columns of ``predict_proba`` stay sorted, as
        scikit-learn has them; scores, bands and evaluations are of the positive class.

    Attributes
    ----------
    estimator_ : classifier
        The base classifier, fitted on all rows; with ``ensemble=True`` the fold models, as a
        :class:`~aucross.estimators.FoldEnsemble`.
    judges_ : list of FoldEnsemble
        The fold models that judge new rows; only with an `ensemble` or a `coverage_confidence`.
    classes_ : ndarray of shape (n_classes,)
        Class labels, sorted; of two, the positive class is ``score_classes_[1]``.
    band_rule_ : BandRule
        Answers which band of confidences to reject for a coverage.
    held_out_ : HeldOutScores
        Out-of-fold scores of the training rows.
    n_features_in_ : int
        Number of features seen during fit, if the base classifier knows it.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features seen during fit, if the base classifier knows them.

    See Also
    --------
    PlugIn : Places the bands on one hold-out part instead of folds.
    AUCross : Rejects the band that raises the AUC.

    Notes
    -----
    The comparison method of that name in Pugnana and Ruggieri, "AUC-based Selective Classification", AISTATS 2023.

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

    def __init__(
        self,
        estimator: Classifier,
        *,
        coverage: float = 0.9,
        coverage_confidence: float | None = None,
        cv: Folds = 5,
        ensemble: Ensemble = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        ties: Ties = "whole",
        pos_label: Any = None,
    ) -> None:
        self.estimator = estimator
        self.coverage = coverage
        self.coverage_confidence = coverage_confidence
        self.cv = cv
        self.ensemble = ensemble
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.ties = ties
        self.pos_label = pos_label

    def _wants_halves(self, n_classes: int) -> bool:  # noqa: ARG002
        return True


class PlugIn(_ConfidenceThreshold, HeldOut):
    """Wrap a classifier so that it abstains where it is least confident, with hold-out confidences.

    The classifier is trained on one part of the rows; the confidence threshold is placed on the other part.

    Parameters
    ----------
    estimator : classifier
        Base classifier; confidence is the highest probability of ``predict_proba`` or, if it has none, the distance
        from the boundary of ``decision_function``. Wrap a trained one in :class:`sklearn.frozen.FrozenEstimator` and
        fit on rows that it has not seen.
    coverage : float in (0, 1], default=0.9
        Share of rows to select by default; `select` and `band` take any other.
    coverage_confidence : float in (0, 1), optional
        Reject less, so that new rows keep the coverage with this probability. Exact, whichever band the search picks,
        for new rows from the population of the held-out ones. Without it the coverage is met on average. Excludes
        `sample_weight`.
    cv : int, splitter or iterable of splits, optional
        None holds out one stratified part of `holdout_size`, with at least one row of each class; of anything else
        the first split is used.
    holdout_size : float in (0, 1), default=0.1
        Share of rows held out if `cv` is None.
    random_state : int, RandomState instance or None, default=None
        Seed of the split.
    ties : {"whole", "split"}, default="whole"
        What a band does with rows of equal score at its ends: it takes all or none of them, or it cuts through them by
        a hash of the row, so that any coverage can be reached, see :doc:`/howto/ties`.
    pos_label : label, optional
        The positive one of two classes. By default the higher category where `y` is an ordered Categorical of pandas,
        and else the second in sorted order. ``classes_`` and the columns of ``predict_proba`` stay sorted, as
        scikit-learn has them; scores, bands and evaluations are of the positive class.

    Attributes
    ----------
    estimator_ : classifier
        The base classifier, fitted on the rows that were not held out.
    classes_ : ndarray of shape (n_classes,)
        Class labels, sorted; of two, the positive class is ``score_classes_[1]``.
    band_rule_ : BandRule
        Answers which band of confidences to reject for a coverage.
    held_out_ : HeldOutScores
        Scores of the rows held out.
    n_features_in_ : int
        Number of features seen during fit, if the base classifier knows it.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features seen during fit, if the base classifier knows them.

    See Also
    --------
    SCross : Places the bands on cross-fitted confidences of all rows.
    PlugInAUC : Rejects the band that raises the AUC.

    Notes
    -----
    The comparison method of that name in Pugnana and Ruggieri, "AUC-based Selective Classification", AISTATS 2023.

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

    def __init__(
        self,
        estimator: Classifier,
        *,
        coverage: float = 0.9,
        coverage_confidence: float | None = None,
        cv: Folds = None,
        holdout_size: float = 0.1,
        random_state: Any = None,
        ties: Ties = "whole",
        pos_label: Any = None,
    ) -> None:
        self.estimator = estimator
        self.coverage = coverage
        self.coverage_confidence = coverage_confidence
        self.cv = cv
        self.holdout_size = holdout_size
        self.random_state = random_state
        self.ties = ties
        self.pos_label = pos_label
