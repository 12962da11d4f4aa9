"""The result of a fit as one value, and the scoring of new rows by it.

::

    scored  X ──► models, once ──► reader ──► ScoredRows ──► decide (deciding.py)
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from aucross.core.band_rule import BandRule, GroupBands
from aucross.core.bands import RejectionBand, check_coverage
from aucross.core.influence import PairwiseMetric
from aucross.core.label_shift import LabelShift
from aucross.core.ranking import FloatArray, RankedScores, check_weights
from aucross.core.scored_rows import RuleInput, ScoredRows
from aucross.estimators.column_names import refuse_one_row, refuse_other_columns, refuse_other_kinds, refuse_other_names
from aucross.estimators.fold_ensemble import FoldEnsemble, judge, score_by_all
from aucross.estimators.held_out import HeldOutScores
from aucross.estimators.models import class_scores, labels_as_given
from aucross.estimators.reading import ContestReader, Reader
from aucross.estimators.row_hash import tie_breaker_of
from aucross.estimators.score_column import ScoreColumn, score_column_in
from aucross.estimators.strange_values import (
    categories_of_trees,
    mostly_missing,
    shares_unknown,
    unlike_the_fit,
    values_seen,
    warn_of_strange_values,
)
from aucross.estimators.text_columns import explained
from aucross.estimators.training_marks import TrainingMarks
from aucross.estimators.types import Classifier, Column, Labels, Table
from aucross.frames import check_band_groups, count_rows, kinds_of, text_names_of

# Whether the names and kinds of columns are checked; a service that makes the table itself checks them once.
_checks_names: ContextVar[bool] = ContextVar("_checks_names", default=True)


@contextmanager
def names_checked_before() -> Iterator[None]:
    """Score tables without comparing their columns with those of the fit, in this thread and inside this context."""
    token = _checks_names.set(False)
    try:
        yield
    finally:
        _checks_names.reset(token)


@dataclass(frozen=True)
class SeenColumns:
    """Facts about the columns of the fit, by which new rows are checked."""

    names: Sequence[str] | None = None  # where X had names
    kinds: Mapping[str, str] | None = None  # number, category or date, of columns with names
    categories: Mapping[str, list[str]] = field(default_factory=dict)  # where a model keeps them to itself
    mostly_missing: Sequence[str] = ()  # numbers that few rows of the fit had
    unknown_shares: Mapping[str, float] = field(default_factory=dict)  # of values that an encoder does not know
    ranges: Mapping[str, list[float]] = field(default_factory=dict)  # of nearly all numbers, rounded outwards
    values: Mapping[str, list[str]] = field(default_factory=dict)  # of columns whose every value many rows share
    never_missing: Sequence[str] = ()

    @classmethod
    def of(cls, X: Table, models: Sequence[Any]) -> SeenColumns:
        """Collect the facts from the rows of a fit and from the fitted models."""
        if (names := text_names_of(X)) is None:
            return cls(kinds={})  # columns are known by their names alone
        unknown = {name: share for name, share in shares_unknown(models, X).items() if share}
        is_read = any(score_column_in(model) is None for model in models)
        ranges, values, whole = values_seen(X) if is_read else ({}, {}, [])
        few = mostly_missing(X, set(whole))
        return cls(names, kinds_of(X), categories_of_trees(models, X), few, unknown, ranges, values, whole)

    def unlike(self, X: Table) -> NDArray[Any]:
        """Return how each row is unlike the rows of the fit; an empty text for familiar rows."""
        return unlike_the_fit(X, self.ranges, self.values, self.never_missing)


def unlike_rows(fitted: Fitted, X: Table, unfamiliar: Any, *capacities: Any) -> NDArray[Any]:
    """Return how each row of a frame is unlike the fit; refuse frames that cannot be compared."""
    if unfamiliar != "review":
        raise ValueError(f'unfamiliar must be "review" or None, got {unfamiliar!r}')
    if any(capacity is not None for capacity in capacities):
        raise ValueError(
            'unfamiliar must be None with a capacity, got "review": it would send more rows than asked for'
        )
    if text_names_of(X) is None or fitted.columns.names is None:
        raise ValueError(
            f'unfamiliar="review" needs a frame with the column names of the fit, got {type(X).__name__}; fit and '
            "decide on a frame"
        )
    return fitted.columns.unlike(X)


@dataclass(frozen=True, eq=False)
class Fitted:
    """The immutable result of a fit; another fit replaces it.

    To learn later whether the classifier was fitted again, keep a reference and test ``clf.fitted_ is kept``.
    """

    estimator: Any  # the fitted model that answers
    reader: Reader  # turns scores of models into what the rule reads
    rule: BandRule
    held_out: HeldOutScores
    classes: Labels  # in the order of scores; of two, the second is positive
    response_method: str  # the method of the model that gives scores
    n_placing_rows: float  # rows that placed the bands; with weights Kish's effective number
    gate: Any = None  # the second model, where one decides when to reject
    judges: Sequence[FoldEnsemble] = ()  # for each model the fold models that judge rows, if others answer
    columns: SeenColumns = field(default_factory=SeenColumns)
    marks: TrainingMarks | None = None  # by which rows of the fit are recognised
    n_rows: int | None = None  # rows given to the fit; None if they lay elsewhere
    rule_of_fit: BandRule | None = None  # in a recalibrated copy the rule that the fit placed
    label_shift: LabelShift | None = None  # in a copy recalibrated with one: the shares of the classes

    @cached_property
    def models(self) -> list[tuple[Any, str]]:
        """Return the models that score rows, each with the name of the method that gives the scores."""
        gate = [] if self.gate is None else [(self.gate, self.reader.gate_method)]  # type: ignore[attr-defined]
        return [(self.estimator, self.response_method), *gate]

    @property
    def metric(self) -> PairwiseMetric:
        """Return the multiclass metric for which the bands were placed."""
        return self.reader.metric if isinstance(self.reader, ContestReader) else PairwiseMetric(len(self.classes))

    @property
    def is_whole(self) -> bool:
        """Return whether all parts have the right types; parts that were read from a file may have others."""
        kinds = ((self.rule, BandRule), (self.held_out, HeldOutScores), (self.columns, SeenColumns))
        are_right = all(isinstance(part, kind) for part, kind in kinds) and hasattr(self.reader, "read")
        return are_right and type(self.classes) is np.ndarray and isinstance(self.judges, list | tuple)

    @property
    def ties_are_split(self) -> bool:
        """Whether the fit placed bands that may cut through ties."""
        return self.held_out.tie_breaker is not None

    @property
    def score_column(self) -> ScoreColumn | None:
        """Return the column of X that gives the score in its own unit.

        None if a model gives the score, or if high values speak for the negative class.
        """
        column = self._column
        return column if column is not None and column.speaks_for(self.classes[1]) else None

    @cached_property
    def _column(self) -> ScoreColumn | None:
        return score_column_in(self.estimator)

    @cached_property
    def scorer(self) -> str:
        """Identity of the scoring model and its reader; only copies and recalibrated classifiers share it."""
        return f"{type(self.reader).__name__} {self.held_out.fingerprint}"

    # ---- columns ----

    def check_columns(self, X: Table) -> None:
        """Refuse rows whose columns differ from those of the fit, if a model might confuse them."""
        seen, models, compares = self.columns, self.models, _checks_names.get()
        # Some pipelines read texts, of which a list or a column is many rows.
        reads_columns = seen.names is not None or any(hasattr(model, "n_features_in_") for model, _ in models)
        if compares and reads_columns and not (isinstance(X, np.ndarray) and X.ndim == 2):
            refuse_one_row(X)
        if self._column is not None and count_rows(X) != 0:
            self._column.refuse_other_unit(X)
        if not compares or isinstance(X, np.ndarray) or count_rows(X) is None:  # a lazy frame, which is refused later
            return
        self.check_names(X)
        reading = [model for model, _ in models if score_column_in(model) is None]
        if reading:
            kinds = seen.kinds or {}
            numbers = [name for name, kind in kinds.items() if kind == "number" and name not in seen.mostly_missing]
            warn_of_strange_values(reading, X, seen.unknown_shares, numbers, seen.categories)

    def check_names(self, X: Table) -> None:
        """Refuse a table whose columns have other names, another order or other kinds than those of the fit."""
        seen = self.columns
        if seen.names is not None and self.held_out.tie_breaker is not None:
            refuse_other_names(X, seen.names)
        for model, method in self.models:
            # Fits by an engine know what their model knows.
            known = (
                seen.names if seen.names is not None else np.asarray(getattr(model, "feature_names_in_", ())).tolist()
            )
            if known:
                refuse_other_columns(model, method, X, known)
            if seen.kinds is not None:
                # A table without names was an array, which holds no dates or categories that a model reads.
                refuse_other_kinds(model, X, seen.kinds, "number" if seen.names is None else None)

    # ---- scored rows ----

    def scored_rows(
        self,
        score: FloatArray,
        judged: FloatArray,
        second: FloatArray | None,
        labels: Any = None,
        tie_breaker: FloatArray | None = None,
    ) -> ScoredRows:
        """Combine the scores of rows with the columns that the rule reads."""
        columns, probabilities = self.reader.read(judged, second)
        return ScoredRows(
            score,
            self.classes,
            self.response_method == "predict_proba",
            RuleInput(columns, probabilities, tie_breaker=tie_breaker),
            self.scorer,
            None if labels is None else np.asarray(labels),
        )

    def scored_held_out(self) -> ScoredRows:
        """Return the held-out rows of the fit, with weights and groups; predictions are the highest-scored classes."""
        held_out = self.held_out
        scores = (held_out.responses, held_out.responses, held_out.second)
        rows = self.scored_rows(*scores, tie_breaker=held_out.tie_breaker)
        return rows.with_rows(sample_weight=held_out.sample_weight, band_groups=held_out.band_groups)

    def scored_ranking(self, ranked: RankedScores) -> ScoredRows:
        """Return one unlabelled row for each score of a ranking that was counted elsewhere."""
        if len(self.classes) != 2 or self.rule.judged_apart or self.held_out.second is not None:
            raise ValueError("a ranking tells too little of rows for this classifier, which reads more than one score")
        rows = self.scored_rows(ranked.scores, ranked.scores, None)
        rule_input = replace(rows.rule_input, sample_weight=ranked.positives + ranked.negatives)
        return replace(rows, rule_input=rule_input, squared_weights=float(ranked.totals[:, 2].sum()))

    def check_own(self, rows: ScoredRows) -> None:
        """Raise if another classifier scored the rows."""
        if rows.scored_by != self.scorer or not np.array_equal(rows.classes, self.classes):
            raise ValueError(
                "scored rows must come from this classifier or a recalibrated copy of it, got rows that another model "
                "scored; call scored(X) of this one"
            )


class Scoring(ABC):
    """Base that scores rows after the fit.

    Each call reads ``fitted_`` once, so that it uses a single fit even if another thread refits meanwhile.
    """

    fitted_: Fitted

    def __sklearn_is_fitted__(self) -> bool:
        return "fitted_" in self.__dict__

    def _state(self) -> Fitted:
        """Return the result of the fit; raise if there is none."""
        fitted: Fitted | None = self.__dict__.get("fitted_")
        if fitted is None:
            check_is_fitted(self)
        assert fitted is not None
        return fitted

    @property
    def estimator_(self) -> Classifier:
        """The fitted model that answers."""
        return self.fitted_.estimator

    @property
    def judges_(self) -> list[FoldEnsemble]:
        """Return, for each model, the fold models that judge new rows; raise if the answering models also judge."""
        if not self.fitted_.judges:
            raise AttributeError(f"{type(self).__name__} has no attribute 'judges_': the models that answer also judge")
        return list(self.fitted_.judges)

    @property
    def classes_(self) -> Labels:
        """Class labels, sorted."""
        return np.sort(self.fitted_.classes)

    @property
    def held_out_(self) -> HeldOutScores:
        """Scores of training rows by models that did not train on them."""
        return self.fitted_.held_out

    @property
    def band_rule_(self) -> BandRule:
        """The rule that gives the band to reject for each coverage."""
        return self.fitted_.rule

    def scored(self, X: Table, *, sample_weight: Column = None, band_groups: Column = None) -> ScoredRows:
        """Run each model once on the rows and keep the scores for all later questions.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features), or ScoredRows
            Rows to score. Rows that this classifier has scored are returned as they are.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows, for evaluation and for placing bands on them.
        band_groups : array-like of shape (n_samples,), optional
            Group of each row, if the bands were fitted per group.

        Returns
        -------
        ScoredRows
            Pass it in place of `X` to :meth:`decide`, :meth:`select`, :meth:`review_queue`, :meth:`recalibrate`, to the
            functions that evaluate, to the monitor and to the log; none of them runs a model again.

        Notes
        -----
        Most models predict the class with the highest score. `fit` tests this on rows near the boundary; only models
        that fail the test are asked for their labels in a second pass.
        """
        return self._scored(self._state(), X, sample_weight, band_groups)

    def _scored(self, fitted: Fitted, X: Table, sample_weight: Column = None, band_groups: Column = None) -> ScoredRows:
        if isinstance(X, ScoredRows):
            fitted.check_own(X)
            rows = X
        else:
            fitted.check_columns(X)
            labels, second = None, fitted.held_out.second
            if count_rows(X) == 0:  # most models refuse it
                score = judged = np.empty(0) if len(fitted.classes) == 2 else np.empty((0, len(fitted.classes)))
                second = None if second is None else np.empty(0)
            else:
                if not fitted.held_out.answers_by_score:
                    labels = labels_as_given(fitted.estimator, X)
                score, judged, second = self._run_models(fitted, X)
            tie_breaker = None if fitted.held_out.tie_breaker is None else tie_breaker_of(X)
            rows = fitted.scored_rows(score, judged, second, labels, tie_breaker)
        if sample_weight is None and band_groups is None:
            return rows
        return rows.with_rows(
            sample_weight=None if sample_weight is None else check_weights(sample_weight, len(rows)),
            band_groups=None if band_groups is None else check_band_groups(band_groups, len(rows)),
        )

    def _run_models(self, fitted: Fitted, X: Table) -> tuple[FloatArray, FloatArray, FloatArray | None]:
        """Return the scores of the answering model, of the judge and of the second model, if there is one."""
        scores = []
        for number, (model, method) in enumerate(fitted.models):
            judges = fitted.judges[number] if fitted.judges else None
            try:
                if judges is model:
                    scores.append(score_by_all(judges, X))
                else:
                    score = class_scores(model, X, method, fitted.classes)
                    scores.append((score, score if judges is None else judge(judges, X)))
            except Exception as error:
                clearer: Any = explained(error, ("classifier", "gate")[number], model, X, is_fitted=True)
                if clearer is None:
                    raise
                raise clearer from error
        score, judged = scores[0]
        return score, judged, scores[1][1] if len(scores) > 1 else None


# ---- a copy for workers: it decides at one coverage and keeps no training rows ----


@dataclass(frozen=True)
class PlacedBand(BandRule):
    """A band that was placed elsewhere and is returned for every coverage."""

    fixed_band: RejectionBand

    def place(self, coverage: float) -> RejectionBand:  # noqa: ARG002
        """Return the band."""
        return self.fixed_band

    def place_anew(self, rows: RuleInput, *, label_shift: bool) -> BandRule:  # noqa: ARG002
        """Refuse, because the rows that placed the band are not here."""
        raise ValueError("a light copy cannot be placed on other rows; recalibrate the classifier that it is a copy of")


def light_copy(clf: Any, coverage: float | None = None) -> Any:
    """Copy a fitted classifier for one coverage, leaving out what only other coverages need."""
    light = copy(clf)
    light.coverage = check_coverage(clf.coverage if coverage is None else coverage)
    held_out, rule = clf.held_out_.without_rows(), _placed(clf.band_rule_, light.coverage)
    light.fitted_ = replace(clf.fitted_, held_out=held_out, rule=rule, rule_of_fit=None, marks=None)
    return light


def _placed(rule: BandRule, coverage: float) -> BandRule:
    if isinstance(rule, GroupBands):
        return GroupBands({group: _placed(part, coverage) for group, part in rule.rules.items()})
    # On another axis the selection score itself takes the rule to compute.
    return rule if rule.axis == "other" else PlacedBand(rule.band(coverage))
