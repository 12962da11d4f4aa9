"""From rows to scored rows: each model runs once, and everything after the fit starts here.

::

    scored  X ──► models, once ──► reader ──► ScoredRows ──► decide (deciding.py)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from aucross.core.band_rule import BandRule
from aucross.core.ranking import FloatArray, RankedScores, check_weights
from aucross.core.scored_rows import RuleInput, ScoredRows, predicted_class
from aucross.estimators.band_groups import check_band_groups
from aucross.estimators.column_names import (
    refuse_one_row,
    refuse_other_columns,
    refuse_other_kinds,
    refuse_other_names,
)
from aucross.estimators.familiar import warn_of_strange_values
from aucross.estimators.fold_ensemble import FoldEnsemble, score_and_judge
from aucross.estimators.held_out import HeldOutScores
from aucross.estimators.labels import in_score_order
from aucross.estimators.one_fit import of_one_fit
from aucross.estimators.reading import Reader
from aucross.estimators.row_hash import tie_breaker_of
from aucross.estimators.score_column import ScoreColumn, score_column_in
from aucross.estimators.text_columns import explained
from aucross.estimators.types import Classifier, Column, Labels, Table
from aucross.frames import count_rows


class Scoring(ABC):
    """The part of a selective classifier that scores rows after the fit."""

    # What the fit leaves behind.
    estimator_: Classifier
    judges_: list[FoldEnsemble]  # one for each model, if others judge rows than answer them
    classes_: Labels
    positive_class_: Any  # where it is not the second of the classes
    response_method_: str
    reader_: Reader
    held_out_: HeldOutScores
    band_rule_: BandRule
    fit_columns_: list[str]  # names of the columns of the fit, where X had names
    fit_kinds_: dict[str, str]  # kinds of these columns, where they are numbers, categories or dates; none of an array
    fit_categories_: dict[str, list[str]]  # categories among them, where a model keeps them to itself
    mostly_missing_: list[str]  # numbers among them that few rows of the fit had
    unknown_at_fit_: dict[str, float]  # shares of values of the fit that an encoder does not know, where there are any

    @abstractmethod
    def predict(self, X: Table) -> Labels:
        """Predict a class label for every row."""

    @property
    def score_classes_(self) -> Labels:
        """Classes in the order of scores: of two the negative one, then the positive one.

        That is ``classes_``, which is sorted, unless ``pos_label`` or an ordered Categorical say otherwise.
        """
        return in_score_order(self.classes_, self.__dict__.get("positive_class_"))

    @property
    def score_column_(self) -> ScoreColumn | None:
        """The column of X that gives the score, in whose unit people know it; None if another model gives it.

        None, too, for a column that speaks for the negative class: its values are not scores of the positive one.
        """
        column = score_column_in(self.__dict__.get("estimator_"))
        return column if column is not None and column.speaks_for(self.score_classes_[1]) else None

    def _fitted_models(self) -> list[tuple[Any, str]]:
        """The models that score rows, each with the method that gives its scores."""
        return [(self.estimator_, self.response_method_)]

    def _check_fitted(self) -> None:
        # scikit-learn's check looks at the tags of all models inside, which takes longer than a decision on one row.
        if "band_rule_" not in self.__dict__:
            check_is_fitted(self, "band_rule_")

    @property
    def _reads_tables(self) -> bool:
        """Whether the fit had columns; some pipelines read texts, of which a list or a column is many rows."""
        return "fit_columns_" in self.__dict__ or any(hasattr(m, "n_features_in_") for m, _ in self._fitted_models())

    def _check_columns(self, X: Table) -> None:
        """Refuse rows whose columns are not those of the fit, where a model would take one column for another."""
        if self._reads_tables:
            refuse_one_row(X)
        if (score := score_column_in(self.estimator_)) is not None and count_rows(X) != 0:
            score.refuse_other_unit(X)
        if isinstance(X, np.ndarray) or count_rows(X) is None:  # a lazy frame, which is refused later
            return
        of_fit = self.__dict__.get("fit_columns_")
        if of_fit is not None and self._ties_are_split:
            refuse_other_names(X, of_fit)
        for model, method in self._fitted_models():
            # Files of earlier versions, and fits by an engine, know what their model knows.
            names = np.asarray(getattr(model, "feature_names_in_", ())).tolist() if of_fit is None else of_fit
            if names:
                refuse_other_columns(model, method, X, names)
            if (kinds := self.__dict__.get("fit_kinds_")) is not None:
                # A table without names was an array, which holds no dates or categories that a model reads.
                refuse_other_kinds(model, X, kinds, "number" if of_fit is None else None)
        models = [model for model, _ in self._fitted_models() if score_column_in(model) is None]
        if models:
            kinds, seldom = self.__dict__.get("fit_kinds_", {}), self.__dict__.get("mostly_missing_", ())
            numbers = [name for name, kind in kinds.items() if kind == "number" and name not in seldom]
            rare, categories = (self.__dict__.get(name, {}) for name in ("unknown_at_fit_", "fit_categories_"))
            warn_of_strange_values(models, X, rare, numbers, categories)

    @of_one_fit
    def scored(self, X: Table, *, sample_weight: Column = None, band_groups: Column = None) -> ScoredRows:
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
        No rows give no rows, without asking a model.

        A label follows from the scores of most models: it is the class of the highest. `fit` tries on rows near the
        boundary whether that is so, and only other models are asked for their labels in a second pass.
        """
        self._check_fitted()
        if isinstance(X, ScoredRows):
            self._check_own(X)
            rows = X
        else:
            self._check_columns(X)
            predicted = None if self.held_out_.answers_by_score or count_rows(X) == 0 else self.predict(X)
            rows = self._scored_rows(*self._run_models(X), predicted, self._tie_breaker_of(X))
        if sample_weight is None and band_groups is None:
            return rows
        return rows.with_rows(
            sample_weight=None if sample_weight is None else check_weights(sample_weight, len(rows)),
            band_groups=None if band_groups is None else check_band_groups(band_groups, len(rows)),
        )

    def _run_models(self, X: Table) -> tuple[FloatArray, FloatArray, FloatArray | None]:
        """Scores of the model that answers, of the one that judges, and of the second one where there is one."""
        if count_rows(X) == 0:  # most models refuse it
            n_classes = len(self.classes_)
            none = np.empty(0) if n_classes == 2 else np.empty((0, n_classes))
            return none, none, np.empty(0) if self.held_out_.second is not None else None
        scores = []
        for number, (model, method) in enumerate(self._fitted_models()):
            judge = self.judges_[number] if "judges_" in self.__dict__ else None
            try:
                scores.append(score_and_judge(model, judge, X, method, self.score_classes_))
            except Exception as error:
                clearer = explained(error, ("classifier", "gate")[number], model, X, is_fitted=True)
                if clearer is None:
                    raise
                raise clearer from error
        score, judged = scores[0]
        return score, judged, scores[1].judged if len(scores) > 1 else None

    def _read(self, X: Table, band_groups: Column) -> RuleInput:
        """What the rule reads of rows, which is all that a selection needs: no label, and nothing of them is kept."""
        if isinstance(X, ScoredRows) or band_groups is not None:
            return self.scored(X, band_groups=band_groups).rule_input
        self._check_fitted()
        self._check_columns(X)
        _, judged, second = self._run_models(X)
        return self._rule_input(judged, second, self._tie_breaker_of(X))

    @property
    def _ties_are_split(self) -> bool:
        """Whether the fit placed bands that may cut through ties."""
        return self.held_out_.tie_breaker is not None

    def _tie_breaker_of(self, X: Table) -> FloatArray | None:
        return tie_breaker_of(X) if self._ties_are_split else None

    def _rule_input(self, judged: FloatArray, second: FloatArray | None, tie_breaker: FloatArray | None) -> RuleInput:
        columns, probabilities = self.reader_.read(judged, second)
        return RuleInput(columns, probabilities, tie_breaker=tie_breaker)

    def _scored_rows(
        self,
        score: FloatArray,
        judged: FloatArray,
        second: FloatArray | None,
        predicted: Any = None,
        tie_breaker: FloatArray | None = None,
    ) -> ScoredRows:
        is_probability = self.response_method_ == "predict_proba"
        if predicted is None:
            predicted = self.score_classes_[predicted_class(score, is_probability=is_probability)]
        rule_input = self._rule_input(judged, second, tie_breaker)
        classes, scored_by = self.score_classes_, self._scorer_name()
        return ScoredRows(score, np.asarray(predicted), classes, is_probability, rule_input, scored_by)

    def _scorer_name(self) -> str:
        """The same for this classifier and all copies of it, recalibrated ones too; another for others."""
        return f"{type(self.reader_).__name__} {self.held_out_.fingerprint}"

    def _check_own(self, rows: ScoredRows) -> None:
        if rows.scored_by != self._scorer_name() or not np.array_equal(rows.classes, self.score_classes_):
            raise ValueError(
                "scored rows must come from this classifier or a recalibrated copy of it, got rows that another model "
                "scored; call scored(X) of this one"
            )

    @of_one_fit
    def scored_held_out(self) -> ScoredRows:
        """The held-out rows of the fit as scored rows, by the models that did not train on them.

        Returns
        -------
        ScoredRows
            With the weights and groups of the fit; ``held_out_.labels`` are their classes. ``predicted`` is the class
            of the highest score, also for a model with a threshold of its own.
        """
        self._check_fitted()
        held_out = self.held_out_
        scores = (held_out.responses, held_out.responses, held_out.second)
        rows = self._scored_rows(*scores, tie_breaker=held_out.tie_breaker)
        return rows.with_rows(sample_weight=held_out.sample_weight, band_groups=held_out.band_groups)

    @of_one_fit
    def scored_ranking(self, ranked: RankedScores) -> ScoredRows:
        """Rows that were counted by score elsewhere, as scored rows, for :meth:`recalibrate`.

        Parameters
        ----------
        ranked : RankedScores
            Numbers of rows at each score of this classifier, whatever their labels.

        Returns
        -------
        ScoredRows
            One row for each score.
        """
        self._check_fitted()
        if len(self.classes_) != 2 or self.band_rule_.judged_apart or self.held_out_.second is not None:
            raise ValueError("a ranking tells too little of rows for this classifier, which reads more than one score")
        rows = self._scored_rows(ranked.scores, ranked.scores, None)
        rule_input = replace(rows.rule_input, sample_weight=ranked.positives + ranked.negatives)
        return replace(rows, rule_input=rule_input, squared_weights=float(ranked.totals[:, 2].sum()))
