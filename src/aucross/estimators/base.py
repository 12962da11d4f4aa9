"""The contract of every estimator: a classifier that answers all rows, and a rule that says which answers to use."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.metaestimators import available_if

from aucross.core.ranking import FloatArray
from aucross.estimators.deciding import Deciding
from aucross.estimators.fitting import Fitting
from aucross.estimators.frames import refuse_columns_that_abort
from aucross.estimators.held_out import CrossFit, HoldOut
from aucross.estimators.placing import CorrectCoverage, check_correct_coverage
from aucross.estimators.types import Folds, Labels, Table


def _base_offers(name: str) -> Any:
    """Condition for a delegated method: the base model, fitted if there is one, has it."""

    def check(self: SelectiveClassifier) -> bool:
        getattr(getattr(self, "estimator_", self.estimator), name)
        return True

    return check


class SelectiveClassifier(Fitting, Deciding, ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Base of all selective classifiers: `fit` learns a model and a rule, `predict` answers, `select` says where.

    A subclass says where held-out scores come from and where on them to reject, see :mod:`aucross.estimators.fitting`.
    """

    def get_metadata_routing(self) -> MetadataRouter:
        """Say which metadata this estimator uses itself and which it passes on."""
        to_fit = MethodMapping().add(caller="fit", callee="fit")
        return MetadataRouter(owner=self).add_self_request(self).add(estimator=self.estimator, method_mapping=to_fit)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        return tags

    @property
    def n_features_in_(self) -> int:
        """Number of features that the base classifier saw."""
        return self._fitted_base("n_features_in_")

    @property
    def feature_names_in_(self) -> Labels:
        """Names of the features that the base classifier saw, where it knows them."""
        return self._fitted_base("feature_names_in_")

    def _fitted_base(self, name: str) -> Any:
        if not hasattr(self, "estimator_"):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r} before fit")
        return getattr(self.estimator_, name)

    # ---- the classifier: it answers every row ----

    def predict(self, X: Table) -> Labels:
        """Predict a class label for every row, whether it is selected or not.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Rows to label.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels of the base classifier; :meth:`select` says which to use.
        """
        self._check_fitted()
        refuse_columns_that_abort(self.estimator_, X)
        return self.estimator_.predict(X)

    @available_if(_base_offers("predict_proba"))
    def predict_proba(self, X: Table) -> FloatArray:
        """Probabilities of the base classifier for every row.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probability of each class, in the order of ``classes_``.
        """
        self._check_fitted()
        refuse_columns_that_abort(self.estimator_, X)
        return self.estimator_.predict_proba(X)

    @available_if(_base_offers("decision_function"))
    def decision_function(self, X: Table) -> FloatArray:
        """Decision function of the base classifier for every row.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            With two classes, positive values speak for ``classes_[1]``.
        """
        self._check_fitted()
        refuse_columns_that_abort(self.estimator_, X)
        return self.estimator_.decision_function(X)


class CrossFitted(SelectiveClassifier):
    """The methods whose scores come from folds; the model that answers is trained on all rows."""

    cv: Folds
    n_jobs: int | None
    correct_coverage: CorrectCoverage

    def _source(self) -> CrossFit:
        return CrossFit(self.cv, self.n_jobs)

    def _correction(self) -> CorrectCoverage:
        return self.correct_coverage

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_correct_coverage(self.correct_coverage, self.cv)


class HeldOut(SelectiveClassifier):
    """The methods whose scores come from one part of the rows; the model that answers has not seen that part."""

    cv: Folds
    holdout_size: float

    def _source(self) -> HoldOut:
        return HoldOut(self.cv, self.holdout_size)
