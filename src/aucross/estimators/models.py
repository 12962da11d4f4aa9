"""Prepare base models for training, ask them for scores, and refuse scores that mean nothing."""

from __future__ import annotations

from math import inf, isfinite
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils.metaestimators import available_if

from aucross.core.ranking import FloatArray, check_scores
from aucross.core.scored_rows import confidence_of, predicted_class
from aucross.estimators.column_names import comes_from, refuse_columns_that_abort
from aucross.estimators.types import Classifier, Column, Labels, Table
from aucross.frames import count_rows, take_rows

RESPONSE_METHODS = ("predict_proba", "decision_function")

# Probabilities that float32 has rounded may lie so far beyond 0 and 1.
_ROUNDING = 1e-6

# Rows near the decision boundary on which it shows whether labels follow from scores.
_ROWS_TO_TRY = 256


def response_method_of(estimator: Classifier, role: str = "estimator") -> str:
    """Return the method that gives a model's scores: ``predict_proba`` or else ``decision_function``."""
    for method in RESPONSE_METHODS:
        if hasattr(estimator, method):
            return method
    raise TypeError(
        f"{role} must have predict_proba or decision_function, got {type(estimator).__name__}, which has neither: "
        "without scores there is nothing to rank; choose another model or wrap it in CalibratedClassifierCV"
    )


def labels_as_given(estimator: Classifier, X: Table) -> Labels:
    """Return the labels that a fitted model predicts, one for each row."""
    refuse_columns_that_abort(estimator, X)
    labels = estimator.predict(X)
    _refuse_other_rows(labels, X, f"{type(estimator).__name__}.predict")
    return labels


def answers_by_score(
    estimator: Classifier, X: Table, scores: FloatArray, response_method: str, classes: Labels
) -> bool:
    """Return whether a model predicts the class with the highest score, tested on rows near the boundary.

    If so, one pass gives both score and label; otherwise a second pass asks the model for labels.
    """
    is_probability = response_method == "predict_proba"
    near = np.arange(len(scores))
    if len(scores) > _ROWS_TO_TRY:
        # Partitioned, not sorted: sorting all rows takes a tenth of the time that a small model takes to score them.
        confidence = confidence_of(scores, is_probability=is_probability)
        near = np.argpartition(confidence, _ROWS_TO_TRY)[:_ROWS_TO_TRY]
    by_score = classes[predicted_class(scores[near], is_probability=is_probability)]
    return len(near) == 0 or np.array_equal(by_score, np.asarray(estimator.predict(take_rows(X, near))))


def class_scores(
    estimator: Classifier, X: Table, response_method: str, classes: Labels, *, is_fit: bool = False
) -> FloatArray:
    """Return probabilities or decision values as float64: of the positive class, or of each class if more than two.

    With `is_fit` the classes are checked; columns and finite scores are not, because the fit does this itself.
    """
    n_classes = len(classes)
    if n_classes > 2 and response_method == "decision_function":
        # One-against-one decision values for three classes look like one value per class.
        last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
        if getattr(last, "decision_function_shape", None) == "ovo":
            raise ValueError(
                f'{type(last).__name__} must score classes, not pairs of them, got decision_function_shape="ovo"; pass '
                'decision_function_shape="ovr"'
            )
    if is_fit:
        known = np.asarray(getattr(estimator, "classes_", classes))
        if not np.array_equal(np.sort(known), np.sort(classes)):
            raise ValueError(
                f"the base model was trained on the classes {known.tolist()}, but y has {classes.tolist()}; every "
                "training part of cv must hold all classes, and a frozen model must know the same labels"
            )
    elif not isinstance(X, np.ndarray):
        refuse_columns_that_abort(estimator, X)
    response = checked_response(estimator, X, response_method, is_fit=is_fit)
    if response.ndim == 2 and response.shape[1] == n_classes:
        return response[:, place_of_positive(estimator, classes)] if n_classes == 2 else response
    if response.ndim != 1 or n_classes > 2:
        raise ValueError(
            f"{type(estimator).__name__}.{response_method} must return one column for each of the {n_classes} "
            f"classes, or one score per row for two, got shape {response.shape}; wrap the model so that it does"
        )
    return response if place_of_positive(estimator, classes) == 1 else -response


def checked_response(
    estimator: Classifier, X: Table, response_method: str, given: Any = None, *, is_fit: bool = False
) -> FloatArray:
    """Return a model's response as float64, computed unless given; refuse NaN and infinity except in a fit."""
    given = getattr(estimator, response_method)(X) if given is None else given
    if isinstance(given, np.ma.MaskedArray):
        given = np.ma.filled(np.ma.asarray(given, dtype=np.float64), np.nan)
    # float64 on purpose: some libraries return float32, and bands are compared in float64.
    response = np.asarray(given, dtype=np.float64)
    name = f"{type(estimator).__name__}.{response_method}"
    _refuse_other_rows(response, X, name)
    lowest, highest = (float(response.min()), float(response.max())) if response.size else (0.0, 0.0)
    if not (is_fit or (isfinite(lowest) and isfinite(highest))):
        # An infinite score compares with any band, but means nothing.
        of_rows = response if response.ndim < 2 else np.where(np.isfinite(response).all(axis=1), 0.0, np.nan)
        check_scores(of_rows, of_rows.size, name="the scores of the base model")
    is_beyond = -inf < lowest < -_ROUNDING or 1.0 + _ROUNDING < highest < inf  # others are refused as not finite
    if is_beyond and response_method == "predict_proba":
        raise ValueError(
            f"{name} must return probabilities between 0 and 1, got {lowest:g} to {highest:g}; for scores of another "
            "kind wrap the model so that it has a decision_function and no predict_proba"
        )
    return response


def _refuse_other_rows(response: Any, X: Table, name: str) -> None:
    n_given, n_rows = count_rows(response), count_rows(X)
    if None not in (n_given, n_rows) and n_given != n_rows:
        raise ValueError(
            f"{name} must return one entry for each row, got {n_given} for {n_rows} rows; wrap the model so that it "
            "keeps all rows in their order"
        )


def place_of_positive(estimator: Classifier, classes: Labels) -> int:
    """Return the column of a two-class model that holds the positive class, which is the second of `classes`."""
    known = getattr(estimator, "classes_", None)
    return int(classes[0] < classes[1] if known is None else known[1] == classes[1])


# ---- what a classifier takes over from the model inside it ----


def model_offers(name: str) -> Any:
    """Return a check for ``available_if``: whether the model, fitted or not, has a method of this name."""

    def check(self: Delegating) -> bool:
        model = self._fitted_model()
        getattr(self.estimator if model is None else model, name)
        return True

    return check


class Delegating:
    """Base of classifiers that wrap a model, fitted as ``estimator_``."""

    estimator: Classifier

    @property
    def n_features_in_(self) -> int:
        """Number of features that the fitted model saw."""
        return self._seen("n_features_in_")

    @property
    def feature_names_in_(self) -> Labels:
        """Names of the features that the fitted model saw, if it stores them."""
        return self._seen("feature_names_in_")

    def _seen(self, name: str) -> Any:
        if (model := self._fitted_model()) is None:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r} before fit")
        return getattr(model, name)

    def _fitted_model(self) -> Any:
        return getattr(self, "estimator_", None)

    def _response(self, X: Table, response_method: str) -> FloatArray:
        """Return the response of the fitted model to one of its methods."""
        return getattr(self._fitted_model(), response_method)(X)

    @available_if(model_offers("predict_proba"))
    def predict_proba(self, X: Table) -> FloatArray:
        """Return the model's class probabilities for every row; the mean, if there are several models.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probability of each class, in the order of ``classes_``.
        """
        return self._response(X, "predict_proba")

    @available_if(model_offers("decision_function"))
    def decision_function(self, X: Table) -> FloatArray:
        """Return the model's decision function for every row; the mean, if there are several models.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            With two classes, positive values speak for ``classes_[1]``.
        """
        return self._response(X, "decision_function")


# ---- models made ready for training ----


def refuse_no_object(estimator: Any, name: str) -> None:
    """Refuse a class, a name or a number in place of a classifier; None means the default."""
    if isinstance(estimator, type):
        raise TypeError(
            f"{name} must be a classifier, got the class {estimator.__name__}; pass an object of it, "
            f"{name}={estimator.__name__}()"
        )
    if estimator is None or hasattr(estimator, "fit"):
        return
    given = f"the string {estimator!r}" if isinstance(estimator, str) else repr(estimator)
    raise TypeError(
        f"{name} must be a classifier object, got {given}; pass an object such as {name}=LogisticRegression()"
    )


def untrained_copy(estimator: Classifier, classes: Labels) -> Any:
    """Return an untrained copy of a model that takes labels of these classes."""
    if comes_from(estimator, "catboost"):
        # Its parameters are copies each time one asks for them, which clone takes for a fault.
        return type(estimator)(**estimator.get_params())
    is_numbered = np.array_equal(np.sort(classes), np.arange(len(classes)))
    return clone(estimator) if is_numbered or not _wants_numbers(estimator) else NumberedClasses(clone(estimator))


def _wants_numbers(estimator: Classifier) -> bool:
    """Return whether a model takes only labels 0, 1, ..., as XGBoost does, also in a pipeline or a search."""
    if isinstance(estimator, Pipeline):
        return _wants_numbers(estimator.steps[-1][1])
    inner = getattr(estimator, "estimator", None)
    return comes_from(estimator, "xgboost") or (inner is not None and _wants_numbers(inner))


class NumberedClasses(Delegating, ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Train a model on numbered classes, and answer with their labels.

    XGBoost only takes labels 0, 1, ...; for other labels, a selective classifier wraps it in this class and holds the
    XGBoost model in ``estimator_.estimator_``.

    Parameters
    ----------
    estimator : classifier
        A model that takes whole numbers from 0 as labels.

    Attributes
    ----------
    estimator_ : classifier
        The fitted model.
    classes_ : ndarray of shape (n_classes,)
        Class labels, sorted.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from aucross.estimators import NumberedClasses
    >>> NumberedClasses(LogisticRegression()).fit([[0], [1]], ["bad", "good"]).predict([[2]])
    array(['good'], dtype='<U4')
    """

    def __init__(self, estimator: Classifier) -> None:
        self.estimator = estimator

    def fit(self, X: Table, y: Column, **fit_params: Any) -> NumberedClasses:
        """Train on class numbers in place of labels, also in an ``eval_set``."""
        self.classes_, numbers = np.unique(np.asarray(y), return_inverse=True)
        if fit_params.get("eval_set"):
            pairs = [(rows, np.searchsorted(self.classes_, labels)) for rows, labels in fit_params["eval_set"]]
            fit_params = {**fit_params, "eval_set": pairs}
        self.estimator_ = clone(self.estimator).fit(X, numbers, **fit_params)
        return self

    def predict(self, X: Table) -> Labels:
        """Predict a class label for every row."""
        return self.classes_[np.asarray(self.estimator_.predict(X), dtype=np.intp)]
