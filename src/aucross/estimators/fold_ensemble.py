"""Models of all folds: one of them judges each row, and together they may answer it.

::

    row ──► fold model drawn by a hash ──► what the rule reads
        ──► all fold models ──► mean  ──► the answer, unless a model trained on all rows answers

No model has seen the rows that it scores: a training row is scored by the model of its fold, a new row by a model that
a hash draws. Both kinds of scores therefore have the same distribution: a band contains the same share of out-of-fold
scores and of new scores, even if the model would change with more rows or another seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from aucross.core.ranking import FloatArray, IndexArray
from aucross.core.scored_rows import predicted_class
from aucross.estimators.models import Delegating, checked_response, class_scores
from aucross.estimators.row_hash import hash_rows
from aucross.estimators.types import Classifier, Labels, Table
from aucross.frames import take_rows


class FoldEnsemble(Delegating, ClassifierMixin, BaseEstimator):
    """Classifier that answers with the mean of all fold models; ``ensemble=True`` leaves it in ``estimator_``.

    Parameters
    ----------
    estimator : classifier
        The base classifier as it was given.
    response_method : {"predict_proba", "decision_function"}, default="predict_proba"
        Method of the models whose mean output decides the label.

    Attributes
    ----------
    estimators_ : list of classifiers
        One model for each split of `cv`, trained on the rows outside it.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    shares_ : ndarray of shape (n_models,)
        Share of the held-out rows that each model scored; it judges the same share of new rows.
    answers_by_score_ : bool
        Whether the label is the class with the highest mean; otherwise the models vote.
    """

    estimators_: list[Any]
    classes_: Labels
    shares_: FloatArray
    answers_by_score_: bool
    positive_class_: Any  # where it is not the second in sorted order

    def __init__(self, estimator: Classifier, *, response_method: str = "predict_proba") -> None:
        self.estimator = estimator
        self.response_method = response_method

    def combine(
        self, fitted: Sequence[Any], classes: Labels, weights: NDArray[Any], *, answers_by_score: bool
    ) -> FoldEnsemble:
        """Combine fitted models into an ensemble; `weights` say how many rows each of them scored."""
        self.estimators_, self.classes_ = list(fitted), np.sort(classes)
        if not np.array_equal(classes, self.classes_):
            self.positive_class_ = classes[1]
        self.shares_, self.answers_by_score_ = weights / weights.sum(), answers_by_score
        return self

    @property
    def score_classes_(self) -> Labels:
        """Classes in the order of the scores; of two classes, the positive one is second."""
        is_turned = vars(self).get("positive_class_", self.classes_[-1]) == self.classes_[0]
        return self.classes_[::-1] if is_turned and len(self.classes_) == 2 else self.classes_

    def _fitted_model(self) -> Any:
        return self.estimators_[0]  # what one saw and has, all did and have

    def _response(self, X: Table, response_method: str) -> FloatArray:
        return _mean([checked_response(model, X, response_method, is_fit=True) for model in self.estimators_])

    def predict(self, X: Table) -> Labels:
        """Predict the class with the highest mean; models with thresholds of their own vote."""
        if self.answers_by_score_:
            is_probability = self.response_method == "predict_proba"
            return self.score_classes_[predicted_class(score_by_all(self, X)[0], is_probability=is_probability)]
        votes = [np.asarray(model.predict(X))[:, None] == self.classes_ for model in self.estimators_]
        return self.classes_[np.sum(votes, axis=0).argmax(axis=1)]

    def judges_of(self, X: Table) -> IndexArray:
        """Draw the number of each row's judge by a hash of all values of the row."""
        if len(self.shares_) != len(self.estimators_) or not np.isclose(self.shares_.sum(), 1.0):
            raise ValueError(
                f"shares_ must hold a share for each of the {len(self.estimators_)} models, 1 in all, got "
                f"{self.shares_.tolist()}; fit again, or load a file that was not changed"
            )
        drawn = hash_rows(X) / 2.0**64
        return np.minimum(np.searchsorted(self.shares_.cumsum(), drawn, side="right"), len(self.shares_) - 1)


def score_by_all(ensemble: FoldEnsemble, X: Table) -> tuple[FloatArray, FloatArray]:
    """Return the mean score of all fold models, and the score that each row's judge gives."""
    classes = ensemble.score_classes_
    scores = [class_scores(each, X, ensemble.response_method, classes) for each in ensemble.estimators_]
    return _mean(scores), np.stack(scores)[ensemble.judges_of(X), np.arange(len(scores[0]))]


def judge(ensemble: FoldEnsemble, X: Table) -> FloatArray:
    """Return the score that each row's judge gives; no other model scores the row."""
    judges = ensemble.judges_of(X)
    n_classes = len(ensemble.classes_)
    judged = np.empty(len(judges) if n_classes == 2 else (len(judges), n_classes))
    for number, model in enumerate(ensemble.estimators_):
        if len(rows := np.flatnonzero(judges == number)):
            part = take_rows(X, rows)
            judged[rows] = class_scores(model, part, ensemble.response_method, ensemble.score_classes_)
    return judged


def _mean(values: Sequence[FloatArray]) -> FloatArray:
    # One after the other, so that it is the same to the last digit in any batch.
    return sum(values[1:], start=values[0]) / len(values)
