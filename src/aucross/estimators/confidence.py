"""Selective classifiers aimed at accuracy: they reject the least confident rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from aucross.core.ranking import FloatArray, IndexArray, RankedScores
from aucross.core.rules import BandRule, estimate_threshold_bands
from aucross.estimators.base import SelectiveClassifier
from aucross.estimators.held_out import (
    HeldOutScores,
    Rows,
    TrainingRows,
    cross_fit_scores,
    hold_out_scores,
    stratified_halves,
    take_rows,
)
from aucross.estimators.placing import (
    CorrectCoverage,
    Fitted,
    check_correct_coverage,
    score_with_fewer_folds,
)
from aucross.estimators.review import ReviewFacts, confidence_reasons


class _ConfidenceThreshold(SelectiveClassifier):
    """What the confidence methods share: the band lies on the confidence in the predicted class."""

    def _score(self, X: Any) -> FloatArray:
        return _confidence(super()._score(X), self.response_method_)

    def _held_out_score(self) -> FloatArray:
        return _confidence(super()._held_out_score(), self.response_method_)

    def _review_facts(
        self,
        X: Any,
        score: FloatArray,
        part: IndexArray,  # noqa: ARG002
        rows: IndexArray,
        rule: Any,  # noqa: ARG002
    ) -> ReviewFacts:
        confidence = score[rows]
        is_probability = self.response_method_ == "predict_proba"
        responses = super()._score(take_rows(X, rows)) if len(rows) else np.zeros(0)
        if responses.ndim == 1:
            predicted = responses > (0.5 if is_probability else 0.0)
            of_class = responses
        else:
            predicted = responses.argmax(axis=1)
            of_class = responses.max(axis=1)
        labels = self.classes_[predicted.astype(int)].tolist()
        # A margin says nothing about a probability.
        probability = of_class if is_probability else np.full(len(rows), np.nan)
        worth = 1.0 - confidence if is_probability else -confidence
        reasons = confidence_reasons(confidence, labels, is_probability=is_probability)
        return ReviewFacts(of_class, worth, probability, reasons)


def _confidence(response: FloatArray, response_method: str) -> FloatArray:
    """The probability of the predicted class, or the distance of decision values from the decision boundary."""
    if response.ndim == 1:
        return np.maximum(response, 1.0 - response) if response_method == "predict_proba" else np.abs(response)
    if response_method == "predict_proba":
        return response.max(axis=1)
    second, first = np.partition(response, -2, axis=1)[:, -2:].T
    return first - second


def _ranked_confidence(held_out: HeldOutScores, response_method: str) -> RankedScores:
    """Rank the confidences, with a correct prediction as the positive class."""
    boundary = 0.5 if response_method == "predict_proba" else 0.0
    response = held_out.responses
    predicted = response > boundary if response.ndim == 1 else response.argmax(axis=1)
    confidence = _confidence(response, response_method)
    return RankedScores.from_labels(predicted == held_out.labels, confidence, held_out.sample_weight)


class SCross(_ConfidenceThreshold):
    """Wrap a classifier so that it abstains where it is least confident, with cross-fitted confidences.

    The rule most people use, max probability, with its threshold placed on out-of-fold rows. It raises the accuracy;
    on imbalanced data it usually lowers the AUC, for which there is :class:`AUCross`.

    Parameters
    ----------
    estimator : classifier
        Base classifier with ``predict_proba`` or ``decision_function``. Wrap a trained one in
        :class:`sklearn.frozen.FrozenEstimator` and fit on rows that it has not seen.
    coverage : float in (0, 1], default=0.9
        Share of rows to select by default; `select` and `band` take any other.
    coverage_confidence : float in (0, 1), optional
        Reject less, so that new rows keep the coverage with this probability. Approximate for cross-fitted scores, see
        :doc:`/howto/coverage-promise`. Without it the coverage is met on average. Excludes `sample_weight`.
    cv : int, splitter or iterable of splits, default=5
        An integer K means K stratified shuffled folds (with `groups`, folds that keep each group together);
        anything else is used as scikit-learn does.
    correct_coverage : bool or "auto", default="auto"
        Whether to score the training rows once more with fewer folds and to extrapolate how many new rows fall into a
        band when the model has seen all rows. Without it the coverage runs short on small data. It costs two
        trainings on half of the rows. ``"auto"`` does so up to 50,000 rows if `cv` is a number of folds.
    n_jobs : int, optional
        Folds to fit at the same time.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds and of the two halves.
    response_method : {"auto", "predict_proba", "decision_function"}, default="auto"
        Where scores come from; confidence is the probability of the predicted class or the distance from the
        decision boundary.
        Decision values of different folds share no scale, so the coverage on new rows can be far from the target:
        prefer probabilities (:class:`~sklearn.calibration.CalibratedClassifierCV`) or a hold-out method.

    Attributes
    ----------
    estimator_ : classifier
        The base classifier, fitted on all rows.
    classes_ : ndarray of shape (n_classes,)
        Class labels; of two, the positive class is ``classes_[1]``.
    band_rule_ : BandRule
        Answers which band of confidences to reject for a coverage.
    held_out_ : HeldOutScores
        Out-of-fold scores of the training rows.
    response_method_ : str
        The method of the base classifier in use.
    n_features_in_ : int
        Number of features seen during fit, if the base classifier knows it.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features seen during fit, if the base classifier knows them.

    See Also
    --------
    PlugIn : The same with one hold-out part instead of folds.
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
    >>> print(clf.select(X).mean().round(2))
    0.8
    """

    def __init__(
        self,
        estimator: Any,
        *,
        coverage: float = 0.9,
        coverage_confidence: float | None = None,
        cv: Any = 5,
        correct_coverage: CorrectCoverage = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        response_method: str = "auto",
    ) -> None:
        self.estimator = estimator
        self.coverage = coverage
        self.coverage_confidence = coverage_confidence
        self.cv = cv
        self.correct_coverage = correct_coverage
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.response_method = response_method

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_correct_coverage(self.correct_coverage, self.cv)

    def _fit(self, training: TrainingRows, response_method: str, rng: np.random.RandomState) -> Fitted:
        held_out = cross_fit_scores(
            self.estimator, training, cv=self.cv, response_method=response_method, rng=rng, n_jobs=self.n_jobs
        )

        def place(rows: Rows) -> BandRule:
            part = held_out.take(rows)
            halves = [_ranked_confidence(half, response_method) for half in stratified_halves(part, rng)]
            return estimate_threshold_bands(_ranked_confidence(part, response_method), halves)

        return Fitted(
            training.fit(self.estimator),
            held_out,
            _confidence(held_out.responses, response_method),
            place,
            fewer_folds=score_with_fewer_folds(
                self,
                training,
                response_method,
                rng,
                correct_coverage=self.correct_coverage,
                readable=lambda again: _confidence(again.responses, response_method),
            ),
        )


class PlugIn(_ConfidenceThreshold):
    """Wrap a classifier so that it abstains where it is least confident, with hold-out confidences.

    The classifier is trained on one part of the rows; the confidence threshold is placed on the other part.

    Parameters
    ----------
    estimator : classifier
        Base classifier with ``predict_proba`` or ``decision_function``. Wrap a trained one in
        :class:`sklearn.frozen.FrozenEstimator` and fit on rows that it has not seen.
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
    response_method : {"auto", "predict_proba", "decision_function"}, default="auto"
        Where scores come from; confidence is the probability of the predicted class or the distance from the
        decision boundary.

    Attributes
    ----------
    estimator_ : classifier
        The base classifier, fitted on the rows that were not held out.
    classes_ : ndarray of shape (n_classes,)
        Class labels; of two, the positive class is ``classes_[1]``.
    band_rule_ : BandRule
        Answers which band of confidences to reject for a coverage.
    held_out_ : HeldOutScores
        Scores of the rows held out.
    response_method_ : str
        The method of the base classifier in use.
    n_features_in_ : int
        Number of features seen during fit, if the base classifier knows it.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features seen during fit, if the base classifier knows them.

    See Also
    --------
    SCross : The same with cross-fitted confidences of all rows.
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
        estimator: Any,
        *,
        coverage: float = 0.9,
        coverage_confidence: float | None = None,
        cv: Any = None,
        holdout_size: float = 0.1,
        random_state: Any = None,
        response_method: str = "auto",
    ) -> None:
        self.estimator = estimator
        self.coverage = coverage
        self.coverage_confidence = coverage_confidence
        self.cv = cv
        self.holdout_size = holdout_size
        self.random_state = random_state
        self.response_method = response_method

    def _fit(self, training: TrainingRows, response_method: str, rng: np.random.RandomState) -> Fitted:
        model, held_out = hold_out_scores(
            self.estimator,
            training,
            cv=self.cv,
            holdout_size=self.holdout_size,
            response_method=response_method,
            rng=rng,
        )

        def place(rows: Rows) -> BandRule:
            return estimate_threshold_bands(_ranked_confidence(held_out.take(rows), response_method))

        return Fitted(model, held_out, _confidence(held_out.responses, response_method), place)
