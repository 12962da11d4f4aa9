"""The contract of every estimator: a classifier that answers all rows, and a band that says which answers to use."""

from __future__ import annotations

import warnings
from abc import ABCMeta, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state, column_or_1d, get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from aucross.core.bands import RejectionBand, check_coverage
from aucross.core.ranking import FloatArray, check_scores, check_weights
from aucross.core.rules import BandRule
from aucross.estimators.coverage_for import CoverageForAUC, HeldOutCurve, largest_coverage
from aucross.estimators.frames import refuse_columns_that_abort
from aucross.estimators.held_out import RESPONSE_METHODS, HeldOutScores, TrainingRows, positive_scores
from aucross.estimators.labels import check_reject_label, two_classes


@dataclass(frozen=True)
class Fitted:
    """What one method's `_fit` hands back: the model that answers, its held-out scores, where to reject."""

    estimator: Any
    held_out: HeldOutScores
    band_rule: BandRule


def _base_offers(name: str) -> Any:
    """Condition for a delegated method: the base model, fitted if there is one, has it."""

    def check(self: SelectiveClassifier) -> bool:
        getattr(getattr(self, "estimator_", self.estimator), name)
        return True

    return check


class SelectiveClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator, metaclass=ABCMeta):
    """Base of all selective classifiers: validates, delegates to the base model, answers questions about the band.

    A subclass supplies ``_fit``, the steps of its algorithm, and may override ``_selection_score`` where the band
    lies on something else than the score of the positive class.
    """

    # Constructor parameters that every subclass has.
    estimator: Any
    coverage: float
    random_state: Any
    response_method: str

    @abstractmethod
    def _fit(self, training: TrainingRows, response_method: str, rng: np.random.RandomState) -> Fitted:
        """Run the method on checked rows; set nothing on `self`."""

    def _selection_score(self, scores: FloatArray, response_method: str) -> FloatArray:  # noqa: ARG002
        """The score on which the band is placed, from the score of the positive class."""
        return scores

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None, **fit_params: Any) -> Any:
        """Fit the base classifier and place the bands.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Training rows, handed to the base classifier as they are.
        y : array-like of shape (n_samples,)
            Labels of two classes; the positive class is the second in sorted order.
        sample_weight : array-like of shape (n_samples,), optional
            Weights for training, for the ranking and for the coverage.
        groups : array-like of shape (n_samples,), optional
            Rows of one group (say, of one customer) never stand on both sides of a split.
        **fit_params : dict
            Further arguments of the base classifier's ``fit``; those with one element per row are cut with the rows.

        Returns
        -------
        self
            The fitted classifier.
        """
        self._check_parameters()
        training = self._check_training_rows(X, y, sample_weight, groups, fit_params)
        response_method = self._resolve_response_method()
        refuse_columns_that_abort(self.estimator, training.X)
        fitted = self._fit(training, response_method, check_random_state(self.random_state))
        _warn_if_constant(fitted.held_out)
        # Only now, so that a failure leaves an earlier fit as it was.
        self.estimator_ = fitted.estimator
        self.held_out_ = fitted.held_out
        self.band_rule_ = fitted.band_rule
        self.classes_ = training.classes
        self.response_method_ = response_method
        return self

    def _check_parameters(self) -> None:
        """Refuse constructor parameters that cannot work, before anything is trained."""
        check_coverage(self.coverage)
        holdout_size = getattr(self, "holdout_size", 0.1)
        if not isinstance(holdout_size, Real):
            raise TypeError(f"holdout_size must be a number in (0, 1), got {holdout_size!r}; pass 0.1 for a tenth")
        if not 0.0 < float(holdout_size) < 1.0:
            raise ValueError(f"holdout_size must be a share in (0, 1), got {holdout_size}; pass 0.1 for a tenth")

    def _check_training_rows(
        self, X: Any, y: Any, sample_weight: Any, groups: Any, fit_params: dict[str, Any]
    ) -> TrainingRows:
        if y is None:
            raise ValueError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None")
        y = column_or_1d(y, warn=True)
        X, y, groups = indexable(X, y, groups)
        if not len(y):
            raise ValueError("X and y must not be empty: found array with 0 sample(s) while a minimum of 2 is required")
        classes = two_classes(y)
        weight = None if sample_weight is None else check_weights(sample_weight, len(y))
        return TrainingRows(X, y, classes, weight, groups, self._base_fit_params(weight, fit_params))

    def _base_fit_params(self, weight: FloatArray | None, fit_params: dict[str, Any]) -> dict[str, Any]:
        """What reaches the base model's fit: everything given, or what it requests if metadata routing is on."""
        given = fit_params if weight is None else {**fit_params, "sample_weight": weight}
        if get_config()["enable_metadata_routing"]:
            return dict(process_routing(self, "fit", **given).estimator.fit) if given else {}
        if weight is not None and not _takes_weights(self.estimator):
            raise ValueError(
                f"sample_weight cannot reach the base model: {type(self.estimator).__name__}.fit has no argument of "
                "that name; if a step inside takes weights, call sklearn.set_config(enable_metadata_routing=True) and "
                ".set_fit_request(sample_weight=True) on that step"
            )
        return given

    def _resolve_response_method(self) -> str:
        """The method of the base model that gives the scores."""
        if self.response_method not in ("auto", *RESPONSE_METHODS):
            raise ValueError(
                f'response_method must be "auto", "predict_proba" or "decision_function", got {self.response_method!r}'
            )
        wanted = RESPONSE_METHODS if self.response_method == "auto" else (self.response_method,)
        for method in wanted:
            if hasattr(self.estimator, method):
                return method
        raise TypeError(
            f"estimator must have {' or '.join(wanted)}, got {type(self.estimator).__name__}, which has not: without "
            "scores there is nothing to rank; choose another model or wrap it in CalibratedClassifierCV"
        )

    def get_metadata_routing(self) -> MetadataRouter:
        """Say which metadata this estimator uses itself and which it passes on."""
        to_fit = MethodMapping().add(caller="fit", callee="fit")
        return MetadataRouter(owner=self).add_self_request(self).add(estimator=self.estimator, method_mapping=to_fit)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        tags.classifier_tags.multi_class = False
        return tags

    @property
    def n_features_in_(self) -> int:
        """Number of features that the base classifier saw."""
        return self._fitted_base("n_features_in_")

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the features that the base classifier saw, where it knows them."""
        return self._fitted_base("feature_names_in_")

    def _fitted_base(self, name: str) -> Any:
        if not hasattr(self, "estimator_"):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r} before fit")
        return getattr(self.estimator_, name)

    # ---- the classifier: it answers every row ----

    def predict(self, X: Any) -> NDArray[Any]:
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
        check_is_fitted(self, "band_rule_")
        refuse_columns_that_abort(self.estimator_, X)
        return self.estimator_.predict(X)

    @available_if(_base_offers("predict_proba"))
    def predict_proba(self, X: Any) -> FloatArray:
        """Probabilities of the base classifier for every row.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Probability of each class, in the order of ``classes_``.
        """
        check_is_fitted(self, "band_rule_")
        refuse_columns_that_abort(self.estimator_, X)
        return self.estimator_.predict_proba(X)

    @available_if(_base_offers("decision_function"))
    def decision_function(self, X: Any) -> FloatArray:
        """Decision function of the base classifier for every row.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        ndarray of shape (n_samples,)
            Positive values speak for ``classes_[1]``.
        """
        check_is_fitted(self, "band_rule_")
        refuse_columns_that_abort(self.estimator_, X)
        return self.estimator_.decision_function(X)

    # ---- the selection: which answers to use ----

    def band(self, coverage: float | None = None) -> RejectionBand:
        """The band of selection scores that is rejected.

        Parameters
        ----------
        coverage : float in (0, 1], optional
            Target share of rows to select; the constructor's `coverage` by default.

        Returns
        -------
        RejectionBand
        """
        check_is_fitted(self, "band_rule_")
        return self.band_rule_.band(check_coverage(self.coverage if coverage is None else coverage))

    def selection_score(self, X: Any, coverage: float | None = None) -> FloatArray:  # noqa: ARG002
        """The score of each row on which the band lies.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Rows to score.
        coverage : float in (0, 1], optional
            Target coverage; here the score is the same for all of them.

        Returns
        -------
        ndarray of shape (n_samples,)
            Finite float64 scores.
        """
        check_is_fitted(self, "band_rule_")
        refuse_columns_that_abort(self.estimator_, X)
        scores = positive_scores(self.estimator_, X, self.response_method_, self.classes_)
        # An infinite score compares with any band, but the fit would have refused it.
        check_scores(scores, len(scores), name="the scores of the base model")
        return self._selection_score(scores, self.response_method_)

    def select(self, X: Any, coverage: float | None = None) -> NDArray[np.bool_]:
        """Say for each row whether its prediction should be used.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Rows to decide on.
        coverage : float in (0, 1], optional
            Target share of rows to select; the constructor's `coverage` by default. Any value can be asked for
            after one fit.

        Returns
        -------
        ndarray of shape (n_samples,), bool
            True where the prediction should be used, False where the row goes to a person.
        """
        band = self.band(coverage)
        return band.selects(self.selection_score(X, coverage))

    def select_each(self, X: Any, coverages: Iterable[float]) -> NDArray[np.bool_]:
        """Decide for several coverages while scoring the rows only once.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Rows to decide on.
        coverages : iterable of float in (0, 1]
            Target coverages.

        Returns
        -------
        ndarray of shape (n_coverages, n_samples), bool
            One row per coverage, each as :meth:`select` gives it.
        """
        bands = [self.band(coverage) for coverage in coverages]
        scores = self.selection_score(X)
        return np.array([band.selects(scores) for band in bands]).reshape(len(bands), len(scores))

    def predict_selective(self, X: Any, coverage: float | None = None, reject_label: Any = None) -> NDArray[Any]:
        """Labels in one column, with a mark on the rejected rows.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Rows to label.
        coverage : float in (0, 1], optional
            Target share of rows to select; the constructor's `coverage` by default.
        reject_label : label, optional
            Mark of rejected rows, of the type of the labels but none of them. By default -1 for integer and
            ``"reject"`` for string labels; other labels need it given.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels and marks, in the type of the labels.
        """
        check_is_fitted(self, "band_rule_")
        reject_label = check_reject_label(reject_label, self.classes_)
        selected = self.select(X, coverage)
        labels = np.asarray(self.predict(X))
        # Strings of fixed width would be cut off without the wider type; numbers keep theirs.
        is_fixed_width = labels.dtype.kind == "U"
        marked = labels.astype(np.result_type(labels, np.asarray(reject_label)) if is_fixed_width else labels.dtype)
        marked[~selected] = reject_label
        return marked

    def coverage_for(self, *, auc: float, confidence: float = 0.95) -> CoverageForAUC:
        """Find the largest coverage at which the held-out AUC of the selected rows reaches a target.

        Parameters
        ----------
        auc : float in (0, 1]
            AUC to reach.
        confidence : float in (0, 1), default=0.95
            Confidence of the interval around the coverage.

        Returns
        -------
        CoverageForAUC
            ``coverage`` with ``low`` and ``high``; 0 where no coverage reaches the target.

        Notes
        -----
        The interval turns DeLong's interval for the AUC around: `low` is the largest coverage whose lower limit
        reaches the target, `high` the largest whose upper limit does. The scores are held out, but the bands were
        placed on the same rows, which makes the answer slightly optimistic on small data. Coverages are tried from 1
        down to 0.01 in steps of 0.01; the first that reaches the target is refined to 0.0001.
        """
        check_is_fitted(self, "band_rule_")
        return largest_coverage(self._held_out_curve(), auc=auc, confidence=confidence)

    def _held_out_curve(self) -> HeldOutCurve:
        selection_scores = self._selection_score(self.held_out_.scores, self.response_method_)

        def curve(coverage: float) -> tuple[float, float]:
            ranked = self.held_out_.ranked(self.band_rule_.band(coverage).selects(selection_scores))
            return ranked.auc(), ranked.auc_standard_error()

        return curve


def _warn_if_constant(held_out: HeldOutScores) -> None:
    if (held_out.scores == held_out.scores[0]).all():
        warnings.warn(
            f"all held-out scores equal {held_out.scores[0]:g}: no row can be told from another, so every band is "
            "empty and every row is selected; check the base model and its features",
            UserWarning,
            stacklevel=3,
        )


def _takes_weights(estimator: Any) -> bool:
    """Whether sample_weight can be given to fit without metadata routing."""
    if isinstance(estimator, FrozenEstimator):
        return True  # it is not trained: the weights count in ranking and coverage only
    if isinstance(estimator, Pipeline):
        return False  # it takes any keyword and then refuses this one
    return has_fit_parameter(estimator, "sample_weight")
