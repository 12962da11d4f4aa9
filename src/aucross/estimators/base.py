"""The contract of every estimator: a classifier that answers all rows, and a band that says which answers to use."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Iterable
from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from aucross.core.bands import RejectionBand, check_coverage
from aucross.core.capacity import check_capacity, share_of_groups
from aucross.core.influence import PairwiseMetric
from aucross.core.ranking import FloatArray, IndexArray, check_scores
from aucross.core.rules import BandRule, placed_rule
from aucross.estimators.band_groups import (
    check_band_groups,
    check_groups_given,
    groups_held_out,
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
from aucross.estimators.held_out import Rows, TrainingRows, class_scores
from aucross.estimators.labels import check_reject_label
from aucross.estimators.placing import Fitted, warn_if_constant, warn_if_nothing_promised
from aucross.estimators.recalibrate import score_unlabelled
from aucross.estimators.review import ReviewFacts, ReviewQueue, check_tie_breaker, order_of, queue_of
from aucross.estimators.training import check_shared_parameters, check_training_rows, resolve_response_method


def _base_offers(name: str) -> Any:
    """Condition for a delegated method: the base model, fitted if there is one, has it."""

    def check(self: SelectiveClassifier) -> bool:
        getattr(getattr(self, "estimator_", self.estimator), name)
        return True

    return check


class SelectiveClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator, metaclass=ABCMeta):
    """Base of all selective classifiers: validates, delegates to the base model, answers questions about the band.

    A subclass supplies ``_fit``, the steps of its algorithm. Where its rule reads something else than the score of the
    positive class it overrides ``_score`` and ``_held_out_score``.
    """

    # Constructor parameters that every subclass has.
    estimator: Any
    coverage: float
    coverage_confidence: float | None
    random_state: Any
    response_method: str

    band_rule_: Any  # a BandRule, or GroupBands if fitted per group
    fitted_band_rule_: Any  # of a recalibrated copy: the rule that the fit placed

    @abstractmethod
    def _fit(self, training: TrainingRows, response_method: str, rng: np.random.RandomState) -> Fitted:
        """Run the method on checked rows; set nothing on `self`."""

    def _score(self, X: Any) -> FloatArray:
        """What the selection reads of new rows, for all coverages: here the score of the positive class."""
        return checked_scores(self.estimator_, X, self.response_method_, self.classes_)

    def _held_out_score(self) -> FloatArray:
        """The same for the held-out rows."""
        return self.held_out_.responses

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
        response_method = resolve_response_method(self.estimator, self.response_method)
        band_groups = None if band_groups is None else check_band_groups(band_groups, len(training.y))
        fitted = self._fit(training, response_method, check_random_state(self.random_state))
        warn_if_constant(fitted.held_out.responses, "held-out")
        held_out_groups = None if band_groups is None else groups_held_out(band_groups, fitted.held_out.rows)
        band_rule = fitted.rule(band_groups, self.coverage_confidence)
        warn_if_nothing_promised(band_rule, self.coverage)
        # Only now, so that a failure leaves an earlier fit as it was.
        self.estimator_ = fitted.estimator
        self.held_out_ = fitted.held_out
        self.band_rule_ = band_rule
        self.__dict__.pop("fitted_band_rule_", None)
        self.band_groups_ = held_out_groups
        self.classes_ = training.classes
        self.response_method_ = response_method
        for name, value in fitted.attributes.items():
            setattr(self, name, value)
        return self

    def _check_parameters(self) -> None:
        check_shared_parameters(self)

    def _check_training_rows(
        self, X: Any, y: Any, sample_weight: Any, groups: Any, fit_params: dict[str, Any]
    ) -> TrainingRows:
        return check_training_rows(self, X, y, sample_weight, groups=groups, fit_params=fit_params)

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
            selection_score[rows] = rule.selection_score(score[rows], coverage)
        return selection_score

    def select(
        self,
        X: Any,
        coverage: float | None = None,
        band_groups: Any = None,
        *,
        capacity: int | None = None,
        tie_breaker: Any = None,
    ) -> NDArray[np.bool_]:
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
        capacity : int, optional
            Reject exactly so many of these rows, whatever share they are: 0 rejects none, more than there are rejects
            all. See :meth:`review_queue`. Excludes `coverage`.
        tie_breaker : array-like of shape (n_samples,), optional
            Ids, all different, that decide between rows of equal score if `capacity` is given. Without them such rows
            are interchangeable and their position decides.

        Returns
        -------
        ndarray of shape (n_samples,), bool
            True where the prediction should be used, False where the row goes to a person.
        """
        check_is_fitted(self, "band_rule_")
        if capacity is None:
            if tie_breaker is not None:
                raise ValueError("tie_breaker must not be given without capacity: a band never cuts through a tie")
            return self.select_each(X, [self._coverage_in_force(coverage)], band_groups)[0]
        if coverage is not None:
            raise ValueError(
                f"coverage and capacity must not both be given, got {coverage!r} and {capacity!r}; leave out one"
            )
        score = self._score(X)
        selected = np.ones(len(score), dtype=bool)
        ids = None if tie_breaker is None else check_tie_breaker(tie_breaker, len(score))
        for rows, _ in self._deferred(score, capacity, ids, band_groups):
            selected[rows] = False
        return selected

    def _deferred(
        self, score: FloatArray, capacity: int, ids: NDArray[Any] | None, band_groups: Any
    ) -> list[tuple[IndexArray, BandRule]]:
        """Positions of the rows to reject, with the rule that chose them; groups share a capacity by their size."""
        positions = np.arange(len(score))
        order = positions if ids is None else order_of(ids)
        parts = [(positions[rows], placed_rule(rule)) for rows, rule in self._rules(band_groups, len(score))]
        shares = share_of_groups([len(rows) for rows, _ in parts], check_capacity(capacity))
        return [
            (rows[rule.rows_to_defer(score[rows], share, order[rows])], rule)
            for (rows, rule), share in zip(parts, shares, strict=True)
        ]

    def review_queue(self, X: Any, capacity: int, *, tie_breaker: Any = None, band_groups: Any = None) -> ReviewQueue:
        """List exactly so many rows for review, the one whose review is worth most first, each with a reason.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            The rows at hand, today's cases for instance.
        capacity : int
            Number of rows that can be reviewed; more than there are means all.
        tie_breaker : array-like of shape (n_samples,), optional
            Ids, all different; they decide between rows of equal score or worth, and stand in the queue.
        band_groups : array-like of shape (n_samples,), optional
            Group of each row, if the bands were fitted per group. Groups share the capacity by their size.

        Returns
        -------
        ReviewQueue
            The rows that ``select(X, capacity=capacity)`` rejects.

        Notes
        -----
        Which rows: of the AUC methods the neighbours by score whose rejection leaves the highest expected AUC of this
        batch; with a gate or more than two classes the rows of lowest influence; of the confidence methods the least
        confident. With ``nested=True`` rows are taken in an order that does not depend on the capacity, so that a
        larger one only adds rows.
        """
        check_is_fitted(self, "band_rule_")
        score = self._score(X)
        ids = None if tie_breaker is None else check_tie_breaker(tie_breaker, len(score))
        deferred = self._deferred(score, capacity, ids, band_groups)
        everyone = self._rules(band_groups, len(score))
        facts = [
            self._review_facts(X, score, np.arange(len(score))[part], rows, rule)
            for (part, _), (rows, rule) in zip(everyone, deferred, strict=True)
        ]
        return queue_of(np.concatenate([rows for rows, _ in deferred]), facts, ids)

    @abstractmethod
    def _review_facts(self, X: Any, score: FloatArray, part: IndexArray, rows: IndexArray, rule: Any) -> ReviewFacts:
        """What a person is told about the rejected rows; `part` are the rows that the rule chose from."""

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
        parts = {group: (rows, self.band_rule_.rule(group)) for group, rows in positions.items()}
        # In the order of the fit, so that it does not matter in which order the rows come.
        return [parts[group] for group in self.band_rule_.rules if group in parts]

    def _selected(self, score: FloatArray, coverage: float, parts: list[tuple[Rows, BandRule]]) -> NDArray[np.bool_]:
        selected = np.empty(len(score), dtype=bool)
        for rows, rule in parts:
            selected[rows] = rule.band(coverage).selects(rule.selection_score(score[rows], coverage))
        return selected

    def recalibrate(
        self, X: Any, *, label_shift: bool = False, sample_weight: Any = None, band_groups: Any = None
    ) -> Self:
        """Place the bands anew on rows without labels, such as the cases of last month.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features), or iterator of batches
            Unlabelled rows. Of an iterator (a generator, say, that reads a file) each batch is scored and let go: only
            the scores are kept. A batch is a table or a tuple ``(X, sample_weight, band_groups)``.
        label_shift : bool, default=False
            Whether the share of positives may have changed since the fit, while positives and negatives each still
            look as they did. It is then estimated from the scores and the probabilities are corrected.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows in the coverage.
        band_groups : array-like of shape (n_samples,), optional
            Group of each row, if the bands were fitted per group; groups without rows keep their bands.

        Returns
        -------
        SelectiveClassifier
            A copy with other bands and the same model; the original is unchanged. The copy keeps the rule of the fit
            as ``fitted_band_rule_``, and starts from it when it is recalibrated in turn.

        Notes
        -----
        Coverage depends on the scores alone, and the best band depends on labels only through the probability of
        being positive at each score. So the new rows are scored, weighted with the fitted probabilities, and the search
        is made again (methods of the AUC, also with a gate or more than two classes); confidence methods take the new
        quantile, and a centred band keeps the score of its centre. On the rows given the coverage is exact, up to ties.
        """
        check_is_fitted(self, "band_rule_")
        if not isinstance(label_shift, bool | np.bool_):
            raise ValueError(f"label_shift must be True or False, got {label_shift!r}")
        rows = score_unlabelled(self._score, X, sample_weight, band_groups, has_groups=self.band_groups_ is not None)
        recalibrated = copy(self)
        # From the rule of the fit, also when called again: probabilities read off a batch would only lose.
        recalibrated.fitted_band_rule_ = getattr(self, "fitted_band_rule_", self.band_rule_)
        recalibrated.band_rule_ = rows.place(recalibrated.fitted_band_rule_, label_shift=label_shift)
        warn_if_nothing_promised(recalibrated.band_rule_, self.coverage)
        return recalibrated

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


def checked_scores(estimator: Any, X: Any, response_method: str, classes: NDArray[Any]) -> FloatArray:
    """Scores of new rows by a fitted model, refused where the fit would have refused them."""
    refuse_columns_that_abort(estimator, X)
    scores = class_scores(estimator, X, response_method, classes)
    # An infinite score compares with any band, but means nothing.
    check_scores(scores.ravel(), scores.size, name="the scores of the base model")
    return scores
