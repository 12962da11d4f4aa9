"""The contract of every estimator: a classifier that answers all rows, and a band that says which answers to use.

::

    fit     X, y ──► held-out scores ──► reader ──► rule
    scored  X ──► models, once ──► reader ──► ScoredRows
    decide  ScoredRows ──► rule ──► Decisions          select, predict_selective, review_queue ... all come through here
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from aucross.core.band_rule import BandRule
from aucross.core.bands import RejectionBand, check_coverage
from aucross.core.capacity import check_capacity
from aucross.core.decisions import Decisions
from aucross.core.influence import PairwiseMetric
from aucross.core.ranking import FloatArray, IndexArray, check_weights
from aucross.core.scored_rows import RuleInput, ScoredRows, confidence_of, predicted_class
from aucross.estimators.band_groups import check_band_groups, check_groups_held_out
from aucross.estimators.coverage_for import (
    CoverageForAUC,
    HeldOutCurve,
    largest_coverage,
    pairwise_curve,
    tail_probability,
)
from aucross.estimators.frames import refuse_columns_that_abort
from aucross.estimators.held_out import CrossFit, HeldOutScores, HeldOutSource, HoldOut, ModelToFit
from aucross.estimators.labels import check_reject_label
from aucross.estimators.models import answers_by_score, checked_scores
from aucross.estimators.placing import (
    CorrectCoverage,
    Draws,
    PlacingRows,
    check_correct_coverage,
    draw_fewer_splits,
    draw_halves,
    rule_in_force,
    score_again,
    warn_if_constant,
    warn_if_nothing_rejected,
)
from aucross.estimators.reading import Reader
from aucross.estimators.recalibrate import place_on_unlabelled, score_unlabelled
from aucross.estimators.review import ReviewFacts, ReviewQueue, check_ids, order_of, queue_of
from aucross.estimators.splits import rows_scored
from aucross.estimators.training import check_shared_parameters, check_training_rows, resolve_response_method
from aucross.estimators.training_rows import TrainingRows, take_rows

# Rows near the decision boundary on which `fit` finds out whether labels follow from scores.
_ROWS_TO_PROBE = 256


def _base_offers(name: str) -> Any:
    """Condition for a delegated method: the base model, fitted if there is one, has it."""

    def check(self: SelectiveClassifier) -> bool:
        getattr(getattr(self, "estimator_", self.estimator), name)
        return True

    return check


@dataclass(frozen=True)
class Fitted:
    """What the steps of a fit give, before any of it is put on the classifier."""

    models: Sequence[Any]  # the one that answers first
    held_out: HeldOutScores
    reader: Reader
    rule: BandRule
    attributes: dict[str, Any]  # what only one method has, by name


class SelectiveClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator, metaclass=ABCMeta):
    """Base of all selective classifiers: validates, delegates to the base model, answers questions about the band.

    A method is two choices: where held-out scores come from (``_source``) and where on them to reject (``_place``, with
    ``_reader`` for what the rule reads of a row).
    """

    # Constructor parameters that every subclass has.
    estimator: Any
    coverage: float
    coverage_confidence: float | None
    random_state: Any
    response_method: str

    band_rule_: BandRule
    fitted_band_rule_: BandRule  # of a recalibrated copy: the rule that the fit placed
    reader_: Reader
    held_out_: HeldOutScores

    # ---- the two choices of a method ----

    @abstractmethod
    def _source(self) -> HeldOutSource:
        """Who trains and who is scored."""

    @abstractmethod
    def _reader(self, held_out: HeldOutScores, classes: NDArray[Any], models: Sequence[ModelToFit]) -> Reader:
        """Say what the rule reads of a row."""

    @abstractmethod
    def _place(self, placing: PlacingRows) -> BandRule:
        """Say where to reject, for rows that were held out."""

    @abstractmethod
    def _review_facts(self, rows: ScoredRows, deferred: IndexArray, rule: BandRule) -> ReviewFacts:
        """Say what a person is told about the deferred ones of some rows that share a rule."""

    def _models(self, training: TrainingRows, response_method: str, rng: Any) -> list[ModelToFit]:  # noqa: ARG002
        """The models that see every row, the one that answers first."""
        return [ModelToFit(self.estimator, training, response_method)]

    def _fitted_models(self) -> list[tuple[Any, str]]:
        """The same after the fit, with the method that gives their scores."""
        return [(self.estimator_, self.response_method_)]

    def _wants_halves(self, training: TrainingRows) -> bool:  # noqa: ARG002
        """Whether the rule blends the rows with two random halves of them."""
        return False

    def _correction(self) -> CorrectCoverage:
        """Whether the coverage is corrected for models that saw fewer rows than the one that answers."""
        return False

    # ---- fit ----

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
        training = self._check_training_rows(
            X, y, sample_weight=sample_weight, groups=groups, band_groups=band_groups, fit_params=fit_params
        )
        response_method = resolve_response_method(self.estimator, self.response_method)
        fitted = self._fit(training, response_method, check_random_state(self.random_state))
        warn_if_constant(fitted.held_out.responses, "held-out")
        warn_if_nothing_rejected(fitted.rule, self.coverage)
        # Only now and in one step, so that a failure leaves an earlier fit as it was.
        self.__dict__.pop("fitted_band_rule_", None)
        self.__dict__.update(
            estimator_=fitted.models[0],
            held_out_=fitted.held_out,
            reader_=fitted.reader,
            band_rule_=fitted.rule,
            classes_=training.classes,
            response_method_=response_method,
            answers_by_score_=_probe_answers(fitted.models[0], fitted.held_out, training, response_method),
            **fitted.attributes,
        )
        return self

    def _fit(self, training: TrainingRows, response_method: str, rng: np.random.RandomState) -> Fitted:
        """Run the steps of the method on checked rows; set nothing on `self`."""
        source = self._source()
        draws, models = self._draw(source, training, response_method, rng)
        fitted_models, held_out = source.score(models, draws.splits)
        return self._place_rule(fitted_models, held_out, draws, models)

    def _draw(
        self, source: HeldOutSource, training: TrainingRows, response_method: str, rng: np.random.RandomState
    ) -> tuple[Draws, list[ModelToFit]]:
        """Make all random draws; nothing is drawn after this."""
        splits = source.splits(training, rng)
        scored = rows_scored(splits)
        check_groups_held_out(training.band_groups, scored)
        models = self._models(training, response_method, rng)
        halves = draw_halves(training, scored, rng) if self._wants_halves(training) else []
        fewer = draw_fewer_splits(training, self.estimator, getattr(self, "cv", None), self._correction(), rng)
        return Draws(splits, halves, fewer), models

    def _place_rule(
        self, fitted_models: Sequence[Any], held_out: HeldOutScores, draws: Draws, models: Sequence[ModelToFit]
    ) -> Fitted:
        reader = self._reader(held_out, models[0].training.classes, models)
        fewer_folds, factor = score_again(self._source(), models, draws.fewer_splits, reader)
        placing = PlacingRows(held_out, held_out.read_by(reader), reader, fewer_folds=fewer_folds, factor=factor)
        rule = rule_in_force(placing, draws.halves, self._place, self.coverage_confidence)
        return Fitted(fitted_models, held_out, reader, rule, self._further_attributes(fitted_models, held_out))

    def _further_attributes(self, fitted_models: Sequence[Any], held_out: HeldOutScores) -> dict[str, Any]:  # noqa: ARG002
        """Fitted attributes that only one method has, by name."""
        return {}

    def _check_parameters(self) -> None:
        check_shared_parameters(self)

    def _check_training_rows(self, X: Any, y: Any, **others: Any) -> TrainingRows:
        return check_training_rows(self, X, y, **others)

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

    # ---- the door: rows are scored once, then decided on ----

    def scored(self, X: Any, *, sample_weight: Any = None, band_groups: Any = None) -> ScoredRows:
        """Run each model once on the rows and keep what everything else needs.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features), or ScoredRows
            Rows to score. Rows that this classifier has scored are returned as they are.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows, for evaluation and for placing bands anew.
        band_groups : array-like of shape (n_samples,), optional
            Group of each row, if the bands were fitted per group.

        Returns
        -------
        ScoredRows
            Takes the place of `X` in :meth:`decide`, :meth:`select`, :meth:`review_queue`, :meth:`recalibrate`, in the
            functions that evaluate and in the monitor and the log, none of which runs a model again.

        Notes
        -----
        A label follows from the scores of most models: it is the class of the highest. `fit` tries on rows near the
        boundary whether that is so, and only other models are asked for their labels in a second pass.
        """
        check_is_fitted(self, "band_rule_")
        if isinstance(X, ScoredRows):
            self._check_own(X)
            rows = X
        else:
            score, second = self._run_models(X)
            rows = self._scored_rows(score, second, None if self.answers_by_score_ else self.predict(X))
        return rows.with_rows(
            sample_weight=None if sample_weight is None else check_weights(sample_weight, len(rows)),
            band_groups=None if band_groups is None else check_band_groups(band_groups, len(rows)),
        )

    def _run_models(self, X: Any) -> tuple[FloatArray, FloatArray | None]:
        """Scores of the model that answers, and of the second one where there is one."""
        scores = [checked_scores(model, X, method, self.classes_) for model, method in self._fitted_models()]
        return scores[0], scores[1] if len(scores) > 1 else None

    def _scored_rows(self, score: FloatArray, second: FloatArray | None, predicted: Any = None) -> ScoredRows:
        is_probability = self.response_method_ == "predict_proba"
        if predicted is None:
            predicted = self.classes_[predicted_class(score, is_probability=is_probability)]
        rule_input = RuleInput(*self.reader_.read(score, second))
        return ScoredRows(score, np.asarray(predicted), self.classes_, is_probability, rule_input, self.estimator_)

    def _check_own(self, rows: ScoredRows) -> None:
        is_foreign = rows.scored_by is not None and rows.scored_by is not self.estimator_
        if is_foreign or not np.array_equal(rows.classes, self.classes_):
            raise ValueError(
                "scored rows must come from this classifier or a recalibrated copy of it, got rows that another model "
                "scored; call scored(X) of this one"
            )

    def scored_held_out(self) -> ScoredRows:
        """The held-out rows of the fit as scored rows, by the models that did not train on them.

        Returns
        -------
        ScoredRows
            With the weights and groups of the fit; ``held_out_.labels`` are their classes.
        """
        check_is_fitted(self, "band_rule_")
        held_out = self.held_out_
        rows = self._scored_rows(held_out.responses, held_out.second)
        return rows.with_rows(sample_weight=held_out.sample_weight, band_groups=held_out.band_groups)

    def decide(
        self,
        X: Any,
        coverage: float | None = None,
        band_groups: Any = None,
        *,
        capacity: int | None = None,
        ids: Any = None,
    ) -> Decisions:
        """Decide for each row whether its prediction is used, by a coverage or by a capacity.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features), or ScoredRows
            Rows to decide on.
        coverage : float in (0, 1], optional
            Target share of rows to select; the constructor's `coverage` by default. Any value can be asked for
            after one fit.
        band_groups : array-like of shape (n_samples,), optional
            Group of each row, if the bands were fitted per group; an unseen group is an error.
        capacity : int, optional
            Reject exactly this many of the rows: 0 rejects none, more than there are rejects all. Excludes `coverage`.
        ids : array-like of shape (n_samples,), optional
            Ids, all different, that decide between rows of equal score if `capacity` is given. Without them such rows
            are interchangeable and their position decides.

        Returns
        -------
        Decisions
            Which rows are selected, the score on which the band lies, and the band of each row; with a capacity the
            order of review and a reason for each rejected row.
        """
        rows = self.scored(X, band_groups=band_groups)
        if capacity is not None:
            return self._decide_by_capacity(rows, capacity, coverage, ids)
        if ids is not None:
            raise ValueError("ids must not be given without capacity: a band never cuts through a tie")
        coverage = self._coverage_in_force(coverage)
        selection_score, lower, upper = self.band_rule_.bands_of(rows.rule_input, coverage)
        selected = (selection_score < lower) | (selection_score > upper)
        return Decisions(selected, selection_score, coverage, lower, upper, decided_by=self.band_rule_)

    def _decide_by_capacity(self, rows: ScoredRows, capacity: int, coverage: Any, ids: Any) -> Decisions:
        if coverage is not None:
            raise ValueError(
                f"coverage and capacity must not both be given, got {coverage!r} and {capacity!r}; leave out one"
            )
        queue = self._review(rows, capacity, ids)
        selected, rank = np.ones(len(rows), dtype=bool), np.full(len(rows), -1)
        selected[queue.row] = False
        rank[queue.row] = np.arange(len(queue))
        reason = np.full(len(rows), "", dtype=object)
        reason[queue.row] = queue.reason
        selection_score = self.band_rule_.selection_score(rows.rule_input, check_coverage(self.coverage))
        return Decisions(
            selected,
            selection_score,
            capacity=check_capacity(capacity),
            rank=rank,
            reason=tuple(reason.tolist()),
            decided_by=self.band_rule_,
        )

    def _review(self, rows: ScoredRows, capacity: int, ids: Any) -> ReviewQueue:
        """The rows to review, in their order; a capacity counts rows, whatever their weight."""
        capacity = check_capacity(capacity)
        names = None if ids is None else check_ids(ids, len(rows))
        order = np.arange(len(rows)) if names is None else order_of(names)
        unweighted = replace(rows.rule_input, sample_weight=None)
        is_deferred = np.zeros(len(rows), dtype=bool)
        is_deferred[self.band_rule_.rows_to_defer(unweighted, capacity, order)] = True
        positions, facts = [], []
        for part, rule in self.band_rule_.parts(unweighted):
            deferred = np.flatnonzero(is_deferred[part])
            positions.append(np.arange(len(rows))[part][deferred])
            facts.append(self._review_facts(rows.take(part), deferred, rule))
        return queue_of(np.concatenate(positions), facts, names)

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
        return self.band_rule_.band(self._coverage_in_force(coverage), band_group)

    def _coverage_in_force(self, coverage: float | None) -> float:
        return check_coverage(self.coverage if coverage is None else coverage)

    def selection_score(self, X: Any, coverage: float | None = None, band_groups: Any = None) -> FloatArray:
        """The score of each row on which the band lies.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features), or ScoredRows
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
        return self.decide(X, coverage, band_groups).selection_score

    def select(
        self,
        X: Any,
        coverage: float | None = None,
        band_groups: Any = None,
        *,
        capacity: int | None = None,
        ids: Any = None,
    ) -> NDArray[np.bool_]:
        """Say for each row whether its prediction should be used.

        Parameters
        ----------
        X, coverage, band_groups, capacity, ids
            As for :meth:`decide`.

        Returns
        -------
        ndarray of shape (n_samples,), bool
            True where the prediction should be used, False where the row goes to a person.
        """
        return self.decide(X, coverage, band_groups, capacity=capacity, ids=ids).selected

    def select_each(self, X: Any, coverages: Iterable[float], band_groups: Any = None) -> NDArray[np.bool_]:
        """Decide for several coverages while scoring the rows only once.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features), or ScoredRows
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
        coverages = [check_coverage(coverage) for coverage in coverages]
        rows = self.scored(X, band_groups=band_groups)
        self.band_rule_.parts(rows.rule_input)  # refuses missing groups, also for no coverage at all
        selected = [self.decide(rows, coverage).selected for coverage in coverages]
        return np.array(selected, dtype=bool).reshape(len(coverages), len(rows))

    def review_queue(self, X: Any, capacity: int, *, ids: Any = None, band_groups: Any = None) -> ReviewQueue:
        """List the rows that a person should review, most valuable first, each with a reason.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features), or ScoredRows
            The rows at hand, today's cases for instance.
        capacity : int
            Number of rows that can be reviewed; more than there are means all.
        ids : array-like of shape (n_samples,), optional
            Ids, all different; they decide between rows of equal score or worth, and stand in the queue.
        band_groups : array-like of shape (n_samples,), optional
            Group of each row, if the bands were fitted per group. Groups share the capacity by their size.

        Returns
        -------
        ReviewQueue
            The rows that ``select(X, capacity=capacity)`` rejects.

        Notes
        -----
        The AUC methods take the neighbours by score whose rejection leaves the highest expected AUC of this batch; with
        a gate or more than two classes they take the rows of lowest influence. The confidence methods take the least
        confident rows. With ``nested=True`` rows are taken in an order that does not depend on the capacity, so a
        larger capacity only adds rows.
        """
        return self._review(self.scored(X, band_groups=band_groups), capacity, ids)

    def recalibrate(
        self, X: Any, *, label_shift: bool = False, sample_weight: Any = None, band_groups: Any = None
    ) -> Self:
        """Place the bands anew on rows without labels, such as the cases of last month.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features), ScoredRows or iterator of batches
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
        rows = score_unlabelled(self._scored_batch, X, sample_weight, band_groups)
        recalibrated = copy(self)
        # From the rule of the fit, also when called again: probabilities read off a batch would only lose.
        recalibrated.fitted_band_rule_ = getattr(self, "fitted_band_rule_", self.band_rule_)
        recalibrated.band_rule_ = place_on_unlabelled(recalibrated.fitted_band_rule_, rows, label_shift=label_shift)
        warn_if_nothing_rejected(recalibrated.band_rule_, self.coverage)
        return recalibrated

    def _scored_batch(self, X: Any, sample_weight: Any, band_groups: Any) -> ScoredRows:
        return self.scored(X, sample_weight=sample_weight, band_groups=band_groups)

    def predict_selective(
        self, X: Any, coverage: float | None = None, reject_label: Any = None, band_groups: Any = None
    ) -> NDArray[Any]:
        """Labels in one column, with a mark on the rejected rows.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features), or ScoredRows
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
        rows = self.scored(X, band_groups=band_groups)
        selected, labels = self.decide(rows, coverage).selected, rows.predicted
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

    def held_out_auc(self, coverage: float | None = None, *, confidence: float = 0.95) -> tuple[float, float, float]:
        """AUC of the held-out rows that are selected at a coverage, with its confidence limits.

        Parameters
        ----------
        coverage : float in (0, 1], optional
            Target coverage; the constructor's by default.
        confidence : float in (0, 1), default=0.95
            Confidence of the interval.

        Returns
        -------
        tuple of float
            AUC (with more than two classes Hand and Till's M), lower and upper limit; NaN where a class is missing.
        """
        check_is_fitted(self, "band_rule_")
        return self._held_out_curve(tail_probability(confidence))(self._coverage_in_force(coverage))

    def _metric(self) -> PairwiseMetric:
        """The metric that `coverage_for` speaks of: the AUC, or Hand and Till's M for more than two classes."""
        return PairwiseMetric(len(self.classes_))

    def _held_out_curve(self, alpha: float) -> HeldOutCurve:
        rows, held_out = self.scored_held_out(), self.held_out_.of_effective_size()
        if len(self.classes_) > 2:
            return pairwise_curve(held_out, self._metric(), alpha, lambda c: self.decide(rows, c).selected)
        if self.band_rule_.axis == "score" and self.band_rule_.group_labels is None:
            # One ranking answers for every band on the score itself.
            ranked = held_out.ranked()
            return lambda c: (ranked.auc(self.band(c)), *ranked.auc_bounds(alpha, self.band(c)))

        def curve(coverage: float) -> tuple[float, float, float]:
            ranked = held_out.ranked(self.decide(rows, coverage).selected)
            return (ranked.auc(), *ranked.auc_bounds(alpha))

        return curve


class CrossFitted(SelectiveClassifier):
    """The methods whose scores come from folds; the model that answers is trained on all rows."""

    cv: Any
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

    cv: Any
    holdout_size: float

    def _source(self) -> HoldOut:
        return HoldOut(self.cv, self.holdout_size)


def _probe_answers(model: Any, held_out: HeldOutScores, training: TrainingRows, response_method: str) -> bool:
    """Whether the labels of a model follow from its scores, tried where it would show."""
    is_probability = response_method == "predict_proba"
    near = np.argsort(confidence_of(held_out.responses, is_probability=is_probability), kind="stable")[:_ROWS_TO_PROBE]
    return answers_by_score(model, take_rows(training.X, held_out.rows[near]), response_method, training.classes)
