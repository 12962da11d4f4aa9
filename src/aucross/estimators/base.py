"""Base of every estimator: a classifier that answers all rows, and a rule that says which answers to use."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any, ClassVar, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import check_is_fitted

from aucross.core.ranking import FloatArray
from aucross.estimators.column_names import refuse_columns_that_abort
from aucross.estimators.deciding import Deciding
from aucross.estimators.fitted import Fitted
from aucross.estimators.fitting import Fitting
from aucross.estimators.held_out import CrossFit, HoldOut, OutOfBag, is_never_trained
from aucross.estimators.models import Delegating, checked_response, labels_as_given
from aucross.estimators.types import Classifier, Ensemble, Folds, Labels, Table, Ties


class SelectiveClassifier(Fitting, Deciding, Delegating, ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Base of all selective classifiers: `fit` learns model and rule, `predict` answers, `select` picks rows.

    A subclass says where held-out scores come from, and which scores to reject; see :mod:`aucross.estimators.fitting`.
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
    def feature_names_in_(self) -> Labels:
        """Return the column names of X in `fit`, or else the names that the fitted model stores."""
        # LightGBM writes spaces as underscores, and CatBoost knows no names. A column of scores reads one column alone,
        # unless a hash of the whole row cuts through its ties.
        fitted: Fitted | None = self.__dict__.get("fitted_")
        names = None if fitted is None else fitted.columns.names
        if names is None or fitted is None or (len(names) != self.n_features_in_ and not fitted.ties_are_split):
            return super().feature_names_in_
        return np.asarray(names, dtype=object)

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
        fitted = self._state()
        fitted.check_columns(X)
        return labels_as_given(fitted.estimator, X)

    def _response(self, X: Table, response_method: str) -> FloatArray:
        fitted = self._state()
        fitted.check_columns(X)
        refuse_columns_that_abort(fitted.estimator, X)
        given = getattr(fitted.estimator, response_method)(X)
        checked_response(fitted.estimator, X, response_method, given)  # as given, but only what a decision could use
        return given


@dataclass(eq=False, repr=False)
class CrossFitted(SelectiveClassifier):
    """Base of methods that score rows by fold models; a model trained on all rows answers, or the fold models do."""

    estimator: Classifier
    _: KW_ONLY
    coverage: float = 0.9
    coverage_confidence: float | None = None
    cv: Folds = 5
    ensemble: Ensemble = False
    n_jobs: int | None = None
    random_state: Any = None
    ties: Ties = "whole"
    pos_label: Any = None

    _corrects_coverage: ClassVar[bool] = True

    def _source(self) -> CrossFit:
        if isinstance(self.cv, str):  # "oob"
            return OutOfBag(self.cv, rescores_copies=True, refits=False)
        judges = self._judged_by_folds()
        # The published bands stay where the fold models place them. Those that judge new rows leave nothing to correct.
        is_published = getattr(self, "placement", None) == "centered" or not self._corrects_coverage
        is_published = is_published and not judges
        return CrossFit(
            self.cv,
            self.n_jobs,
            rescores_copies=not is_published,
            compares=not is_published and not judges and isinstance(self.cv, Integral),
            keeps_folds=judges,
            refits=not (judges and self.ensemble is True),
        )

    def _judged_by_folds(self) -> bool:
        """Return whether fold models judge new rows, so that new and held-out scores have the same distribution.

        Promises and cuts through ties need this, because rows that have equal scores from a fold model may have
        different scores from a refitted model. Models that are never trained need no judges: all folds share them.
        """
        wanted = self.ensemble is not False or self.coverage_confidence is not None or self.ties == "split"
        return wanted and not all(is_never_trained(model) for model in self._trained_models())

    def _trained_models(self) -> list[Classifier]:
        return [self.estimator]

    def _check_parameters(self) -> None:
        super()._check_parameters()
        ensemble = self.ensemble
        if not (isinstance(ensemble, bool) or (isinstance(ensemble, str) and ensemble == "judge")):
            raise ValueError(f'ensemble must be True, False or "judge", got {ensemble!r}')
        if not isinstance(self.cv, str):
            return
        if self.cv != "oob":
            raise ValueError(f'cv must be a number of folds, a splitter, splits or "oob", got {self.cv!r}')
        if self._judged_by_folds():
            raise ValueError(
                'cv="oob" trains no fold models that could judge new rows, which an ensemble, a coverage_confidence '
                'and ties="split" need; leave these at their defaults, or pass cv=5'
            )


Method = TypeVar("Method", bound=CrossFitted)


def without_correction(clf: Method) -> Method:
    """Switch off the correction of the coverage, so that a classifier works exactly as the published method.

    Parameters
    ----------
    clf : AUCross, SCross or AUCGate
        A classifier that is not fitted yet.

    Returns
    -------
    classifier
        The classifier that was passed, changed in place; a clone of it corrects again.
    """
    clf.__dict__["_corrects_coverage"] = False
    return clf


@dataclass(eq=False, repr=False)
class HeldOut(SelectiveClassifier):
    """Base of methods with scores from one held-out part of the rows, which the answering model has not seen."""

    estimator: Classifier
    _: KW_ONLY
    coverage: float = 0.9
    coverage_confidence: float | None = None
    cv: Folds = None
    holdout_size: float = 0.1
    random_state: Any = None
    ties: Ties = "whole"
    pos_label: Any = None

    def _source(self) -> HoldOut:
        return HoldOut(self.cv, self.holdout_size)


def check_classifier(clf: Any) -> SelectiveClassifier:
    """Raise unless the object is a fitted selective classifier."""
    if not isinstance(clf, SelectiveClassifier):
        raise TypeError(
            f"clf must be a selective classifier such as AUCross, got {type(clf).__name__}; wrap the model: "
            "AUCross(model).fit(X, y)"
        )
    check_is_fitted(clf, "band_rule_")
    return clf
