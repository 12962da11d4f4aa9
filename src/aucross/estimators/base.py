"""The contract of every estimator: a classifier that answers all rows, and a band that says which answers to use."""

from __future__ import annotations

import warnings
from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
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
from aucross.core.influence import PairwiseMetric
from aucross.core.ranking import FloatArray, check_scores, check_weights
from aucross.core.rules import BandRule
from aucross.estimators.band_groups import (
    check_band_groups,
    check_groups_given,
    groups_held_out,
    place_per_group,
    positions_by_group,
)
from aucross.estimators.coverage_for import (
    CoverageForAUC,
    HeldOutCurve,
    largest_coverage,
    pairwise_curve,
    tail_probability,
)
from aucross.estimators.frames import refuse_columns_that_abort
from aucross.estimators.held_out import RESPONSE_METHODS, HeldOutScores, Rows, TrainingRows, class_scores
from aucross.estimators.labels import check_classes, check_reject_label


@dataclass(frozen=True)
class Fitted:
    """What one method's `_fit` hands back: the model that answers, its held-out scores, how to place bands on them."""

    estimator: Any
    held_out: HeldOutScores
    place: Callable[[Rows], BandRule]
    attributes: Mapping[str, Any] = field(default_factory=dict)  # what only this method has, by name


def _base_offers(name: str) -> Any:
    """Condition for a delegated method: the base model, fitted if there is one, has it."""

    def check(self: SelectiveClassifier) -> bool:
        getattr(getattr(self, "estimator_", self.estimator), name)
        return True

    return check


class SelectiveClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator, metaclass=ABCMeta):
    """Base of all selective classifiers: validates, delegates to the base model, answers questions about the band.

    A subclass supplies ``_fit``, the steps of its algorithm. Where the band lies on something else than the score of
    the positive class it overrides ``_selection_score``, and where that needs more than one score per row ``_score``
    and ``_held_out_score``.
    """

    # Constructor parameters that every subclass has.
    estimator: Any
    coverage: float
    random_state: Any
    response_method: str

    band_rule_: Any  # a BandRule, or GroupBands if fitted per group

    @abstractmethod
    def _fit(self, training: TrainingRows, response_method: str, rng: np.random.RandomState) -> Fitted:
        """Run the method on checked rows; set nothing on `self`."""

    def _score(self, X: Any) -> FloatArray:
        """What the selection reads of new rows, for all coverages: here the score of the positive class."""
        return checked_scores(self.estimator_, X, self.response_method_, self.classes_)

    def _held_out_score(self) -> FloatArray:
        """The same for the held-out rows."""
        return self.held_out_.responses

    def _selection_score(self, score: FloatArray, coverage: float, rule: BandRule) -> FloatArray:  # noqa: ARG002
        """The score on which the rule's band for a coverage lies, from what `_score` gave."""
        return score

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None, band_groups: Any = None, **fit_params: Any
    ) -> Any:
        """Fit the base classifier and place the bands.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Training rows, handed to the base classifier as they are.
        y : array-like of shape (n_samples,)
            Labels; of two classes the positive one is the second in sorted order.
        sample_weight : array-like of shape (n_samples,), optional
            Weights for training, for the ranking and for the coverage.
        groups : array-like of shape (n_samples,), optional
            Rows of one group (say, of one customer) never stand on both sides of a split, if `cv` is an integer or
            a splitter that knows groups.
        band_groups : array-like of shape (n_samples,), optional
            A group for each row, of any column, feature or not. Each group gets a band of its own, so that all have
            the same coverage; `select` then needs the groups of its rows.
        **fit_params : dict
            Further arguments of the base classifier's ``fit``; those with one element per row are cut with the rows.

        Returns
        -------
        self
            The fitted classifier.
        """
        self._check_parameters()
        refuse_columns_that_abort(self.estimator, X)
        training = self._check_training_rows(X, y, sample_weight, groups, fit_params)
        response_method = self._resolve_response_method()
        band_groups = None if band_groups is None else check_band_groups(band_groups, len(training.y))
        fitted = self._fit(training, response_method, check_random_state(self.random_state))
        _warn_if_constant(fitted.held_out)
        held_out_groups = None if band_groups is None else groups_held_out(band_groups, fitted.held_out.rows)
        band_rule = (
            fitted.place(slice(None)) if held_out_groups is None else place_per_group(fitted.place, held_out_groups)
        )
        # Only now, so that a failure leaves an earlier fit as it was.
        self.estimator_ = fitted.estimator
        self.held_out_ = fitted.held_out
        self.band_rule_ = band_rule
        self.band_groups_ = held_out_groups
        self.classes_ = training.classes
        self.response_method_ = response_method
        for name, value in fitted.attributes.items():
            setattr(self, name, value)
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
        _check_lengths(X, y, groups)
        X, y, groups = indexable(X, y, groups)
        if not len(y):
            raise ValueError("X and y must not be empty: found array with 0 sample(s) while a minimum of 2 is required")
        classes = check_classes(y)
        weight = None if sample_weight is None else check_weights(sample_weight, len(y))
        return TrainingRows(X, y, classes, weight, groups, self._base_fit_params(weight, fit_params))

    def _base_fit_params(self, weight: FloatArray | None, fit_params: dict[str, Any]) -> dict[str, Any]:
        """What reaches the base model's fit: everything given, or what it requests if metadata routing is on."""
        given = fit_params if weight is None else {**fit_params, "sample_weight": weight}
        if get_config()["enable_metadata_routing"]:
            return dict(process_routing(self, "fit", **given).estimator.fit) if given else {}
        if weight is not None and not takes_weights(self.estimator):
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
        ndarray of shape (n_samples, n_classes)
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
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            With two classes, positive values speak for ``classes_[1]``.
        """
        check_is_fitted(self, "band_rule_")
        refuse_columns_that_abort(self.estimator_, X)
        return self.estimator_.decision_function(X)

    # ---- the selection: which answers to use ----

    def band(self, coverage: float | None = None, band_group: Any = None) -> RejectionBand:
        """The band of selection scores that is rejected.

        Parameters
        ----------
        coverage : float in (0, 1], optional
            Target share of rows to select; the constructor's `coverage` by default.
        band_group : label, optional
            The group whose band to return, if the bands were fitted per group.

        Returns
        -------
        RejectionBand
        """
        check_is_fitted(self, "band_rule_")
        check_groups_given(self.band_groups_ is not None, band_group is not None, "band_group")
        rule = self.band_rule_ if band_group is None else self.band_rule_.rule(band_group)
        return rule.band(self._coverage_in_force(coverage))

    def _coverage_in_force(self, coverage: float | None) -> float:
        return check_coverage(self.coverage if coverage is None else coverage)

    def selection_score(self, X: Any, coverage: float | None = None, band_groups: Any = None) -> FloatArray:
        """The score of each row on which the band lies.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Rows to score.
        coverage : float in (0, 1], optional
            Target coverage; methods that see more than one score per row have a selection score for each coverage.
        band_groups : array-like of shape (n_samples,), optional
            Group of each row, if the bands were fitted per group.

        Returns
        -------
        ndarray of shape (n_samples,)
            Finite float64 scores.
        """
        check_is_fitted(self, "band_rule_")
        score, coverage = self._score(X), self._coverage_in_force(coverage)
        selection_score = np.empty(len(score))
        for rows, rule in self._rules(band_groups, len(score)):
            selection_score[rows] = self._selection_score(score[rows], coverage, rule)
        return selection_score

    def select(self, X: Any, coverage: float | None = None, band_groups: Any = None) -> NDArray[np.bool_]:
        """Say for each row whether its prediction should be used.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Rows to decide on.
        coverage : float in (0, 1], optional
            Target share of rows to select; the constructor's `coverage` by default. Any value can be asked for
            after one fit.
        band_groups : array-like of shape (n_samples,), optional
            Group of each row, if the bands were fitted per group; an unseen group is an error.

        Returns
        -------
        ndarray of shape (n_samples,), bool
            True where the prediction should be used, False where the row goes to a person.
        """
        check_is_fitted(self, "band_rule_")
        return self.select_each(X, [self._coverage_in_force(coverage)], band_groups)[0]

    def select_each(self, X: Any, coverages: Iterable[float], band_groups: Any = None) -> NDArray[np.bool_]:
        """Decide for several coverages while scoring the rows only once.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Rows to decide on.
        coverages : iterable of float in (0, 1]
            Target coverages.
        band_groups : array-like of shape (n_samples,), optional
            Group of each row, if the bands were fitted per group.

        Returns
        -------
        ndarray of shape (n_coverages, n_samples), bool
            One row per coverage, each as :meth:`select` gives it.
        """
        check_is_fitted(self, "band_rule_")
        coverages = [check_coverage(coverage) for coverage in coverages]
        score = self._score(X)
        parts = self._rules(band_groups, len(score))
        selected = [self._selected(score, coverage, parts) for coverage in coverages]
        return np.array(selected, dtype=bool).reshape(len(coverages), len(score))

    def _rules(self, band_groups: Any, n_rows: int) -> list[tuple[Rows, BandRule]]:
        """Which rule decides on which rows."""
        check_groups_given(self.band_groups_ is not None, band_groups is not None, "band_groups")
        if band_groups is None:
            return [(slice(None), self.band_rule_)]
        positions = positions_by_group(check_band_groups(band_groups, n_rows))
        return [(rows, self.band_rule_.rule(group)) for group, rows in positions.items()]

    def _selected(self, score: FloatArray, coverage: float, parts: list[tuple[Rows, BandRule]]) -> NDArray[np.bool_]:
        selected = np.empty(len(score), dtype=bool)
        for rows, rule in parts:
            selected[rows] = rule.band(coverage).selects(self._selection_score(score[rows], coverage, rule))
        return selected

    def predict_selective(
        self, X: Any, coverage: float | None = None, reject_label: Any = None, band_groups: Any = None
    ) -> NDArray[Any]:
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
        band_groups : array-like of shape (n_samples,), optional
            Group of each row, if the bands were fitted per group.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels and marks, in the type of the labels.
        """
        check_is_fitted(self, "band_rule_")
        reject_label = check_reject_label(reject_label, self.classes_)
        selected = self.select(X, coverage, band_groups)
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
        placed on the same rows, which makes the answer slightly optimistic on small data. Weights count with Kish's
        effective number of rows, so that their unit does not matter. Coverages are tried from 1
        down to 0.01 in steps of 0.01; the first that reaches the target is refined to 0.0001.
        """
        check_is_fitted(self, "band_rule_")
        curve = self._held_out_curve(tail_probability(confidence))
        return largest_coverage(curve, auc=auc, confidence=confidence)

    def _metric(self) -> PairwiseMetric:
        """The metric that `coverage_for` speaks of: the AUC, or Hand and Till's M for more than two classes."""
        return PairwiseMetric(len(self.classes_))

    def _held_out_curve(self, alpha: float) -> HeldOutCurve:
        score = self._held_out_score()
        parts = self._rules(self.band_groups_, len(score))

        held_out = self.held_out_.of_effective_size()
        if len(self.classes_) > 2:
            return pairwise_curve(held_out, self._metric(), alpha, lambda c: self._selected(score, c, parts))

        def curve(coverage: float) -> tuple[float, float, float]:
            ranked = held_out.ranked(self._selected(score, coverage, parts))
            return (ranked.auc(), *ranked.auc_bounds(alpha))

        return curve


def _check_lengths(X: Any, y: NDArray[Any], groups: Any) -> None:
    for name, rows in (("X", X), ("groups", groups)):
        if rows is None or (not hasattr(rows, "__len__") and not hasattr(rows, "shape")):
            continue  # scikit-learn knows what to say about those
        n_rows = rows.shape[0] if getattr(rows, "shape", ()) else len(rows)
        if n_rows != len(y):
            raise ValueError(
                f"{name} and y must have the same number of rows, got {n_rows} and {len(y)}; "
                "check the join or the filter that made them"
            )


def _warn_if_constant(held_out: HeldOutScores) -> None:
    responses = held_out.responses
    if (responses == responses[0]).all():
        value = f"{responses[0]:g}" if responses.ndim == 1 else np.array2string(responses[0], precision=3)
        warnings.warn(
            f"all held-out scores equal {value}: no row can be told from another, so every band is empty and every row "
            "is selected; check the base model and its features",
            UserWarning,
            stacklevel=3,
        )


def checked_scores(estimator: Any, X: Any, response_method: str, classes: NDArray[Any]) -> FloatArray:
    """Scores of new rows by a fitted model, refused where the fit would have refused them."""
    refuse_columns_that_abort(estimator, X)
    scores = class_scores(estimator, X, response_method, classes)
    # An infinite score compares with any band, but means nothing.
    check_scores(scores.ravel(), scores.size, name="the scores of the base model")
    return scores


def takes_weights(estimator: Any) -> bool:
    """Whether sample_weight can be given to fit without metadata routing."""
    if isinstance(estimator, FrozenEstimator):
        return True  # it is not trained: the weights count in ranking and coverage only
    if isinstance(estimator, Pipeline):
        return False  # it takes any keyword and then refuses this one
    return has_fit_parameter(estimator, "sample_weight")
