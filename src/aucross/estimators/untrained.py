"""Base models made ready for training: instances, copies, and labels that they can read."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils.metaestimators import available_if

from aucross.core.ranking import FloatArray
from aucross.estimators.models import Delegating, model_offers
from aucross.estimators.types import Classifier, Column, Labels, Table


def refuse_no_object(estimator: Any, name: str) -> None:
    """Refuse a class, a name or a number given as a classifier; None stands for a default."""
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
    """Return an untrained copy of a model that can be trained on labels of these classes."""
    if _comes_from(estimator, "catboost"):
        # Its parameters are copies each time one asks for them, which clone takes for a fault.
        return type(estimator)(**estimator.get_params())
    is_numbered = np.array_equal(np.sort(classes), np.arange(len(classes)))
    return clone(estimator) if is_numbered or not _wants_numbers(estimator) else NumberedClasses(clone(estimator))


def _comes_from(estimator: Classifier, library: str) -> bool:
    return any(kind.__module__.partition(".")[0] == library for kind in type(estimator).__mro__)


def _wants_numbers(estimator: Classifier) -> bool:
    """Return whether a model takes only labels 0, 1, ...: XGBoost, also in a pipeline or a search."""
    if isinstance(estimator, Pipeline):
        return _wants_numbers(estimator.steps[-1][1])
    inner = getattr(estimator, "estimator", None)
    return _comes_from(estimator, "xgboost") or (inner is not None and _wants_numbers(inner))


class NumberedClasses(Delegating, ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Train a model on the numbers of the classes, and answer with their labels.

    XGBoost takes no labels but 0, 1, ...; with others it is found in ``estimator_.estimator_`` of a selective
    classifier.

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
        """Train on the number of each row's class.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Labels.
        **fit_params : dict
            Further arguments of the model's ``fit``; the labels of an ``eval_set`` are numbered, too.

        Returns
        -------
        self
        """
        self.classes_, numbers = np.unique(np.asarray(y), return_inverse=True)
        if fit_params.get("eval_set"):
            pairs = [(rows, np.searchsorted(self.classes_, labels)) for rows, labels in fit_params["eval_set"]]
            fit_params = {**fit_params, "eval_set": pairs}
        self.estimator_ = clone(self.estimator).fit(X, numbers, **fit_params)
        return self

    def predict(self, X: Table) -> Labels:
        """Predict a class label for every row.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Rows to label.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self.classes_[np.asarray(self.estimator_.predict(X), dtype=np.intp)]

    @available_if(model_offers("predict_proba"))
    def predict_proba(self, X: Table) -> FloatArray:
        """Return the probabilities of the model.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        return self.estimator_.predict_proba(X)

    @available_if(model_offers("decision_function"))
    def decision_function(self, X: Table) -> FloatArray:
        """Return the decision function of the model.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        return self.estimator_.decision_function(X)
