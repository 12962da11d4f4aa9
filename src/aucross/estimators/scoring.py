"""From rows to scored rows: each model runs once, and everything after the fit starts here.

::

    scored  X ──► models, once ──► reader ──► ScoredRows ──► decide (deciding.py)
"""

from __future__ import annotations

from abc import ABC
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from aucross.core.band_rule import BandRule
from aucross.core.missing import check_band_groups
from aucross.core.ranking import FloatArray, check_weights
from aucross.core.scored_rows import ScoredRows
from aucross.estimators.fitted import Fitted
from aucross.estimators.fold_ensemble import FoldEnsemble, judge, score_by_all
from aucross.estimators.held_out import HeldOutScores
from aucross.estimators.models import checked_scores, labels_as_given
from aucross.estimators.row_hash import tie_breaker_of
from aucross.estimators.text_columns import explained
from aucross.estimators.types import Classifier, Column, Labels, Table
from aucross.frames import count_rows


class Scoring(ABC):
    """The part of a selective classifier that scores rows after the fit.

    Each call reads ``fitted_`` once, so that it sees a single fit even if another thread fits meanwhile.
    """

    fitted_: Fitted

    def __sklearn_is_fitted__(self) -> bool:
        return "fitted_" in self.__dict__

    def _state(self) -> Fitted:
        """Return the result of the fit; raise before the fit."""
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
        """The fold models that judge new rows, for each model; only if other models answer."""
        if not self.fitted_.judges:
            raise AttributeError(f"{type(self).__name__} has no attribute 'judges_': the models that answer also judge")
        return list(self.fitted_.judges)

    @property
    def classes_(self) -> Labels:
        """Class labels, sorted."""
        return np.sort(self.fitted_.classes)

    @property
    def score_classes_(self) -> Labels:
        """Classes in the order of scores: of two, the negative one first.

        Equals the sorted ``classes_`` unless ``pos_label`` or an ordered Categorical change the order.
        """
        return self.fitted_.classes

    @property
    def held_out_(self) -> HeldOutScores:
        """Scores of training rows by models that did not train on them."""
        return self.fitted_.held_out

    @property
    def band_rule_(self) -> BandRule:
        """The rule that gives the band to reject for a coverage."""
        return self.fitted_.rule

    def scored(self, X: Table, *, sample_weight: Column = None, band_groups: Column = None) -> ScoredRows:
        """Run each model once on the rows and keep what everything else needs.

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
            Takes the place of `X` in :meth:`decide`, :meth:`select`, :meth:`review_queue`, :meth:`recalibrate`, in the
            functions that evaluate and in the monitor and the log, none of which runs a model again.

        Notes
        -----
        No rows give no rows, without asking a model.

        A label follows from the scores of most models: it is the class of the highest. `fit` tries on rows near the
        boundary whether that is so, and only other models are asked for their labels in a second pass.
        """
        return self._scored(self._state(), X, sample_weight, band_groups)

    def _scored(self, fitted: Fitted, X: Table, sample_weight: Column = None, band_groups: Column = None) -> ScoredRows:
        if isinstance(X, ScoredRows):
            fitted.check_own(X)
            rows = X
        else:
            fitted.check_columns(X)
            asks = not (fitted.held_out.answers_by_score or count_rows(X) == 0)
            labels = labels_as_given(fitted.estimator, X) if asks else None
            tie_breaker = tie_breaker_of(X) if fitted.ties_are_split else None
            rows = fitted.scored_rows(*self._run_models(fitted, X), labels, tie_breaker)
        if sample_weight is None and band_groups is None:
            return rows
        return rows.with_rows(
            sample_weight=None if sample_weight is None else check_weights(sample_weight, len(rows)),
            band_groups=None if band_groups is None else check_band_groups(band_groups, len(rows)),
        )

    def _run_models(self, fitted: Fitted, X: Table) -> tuple[FloatArray, FloatArray, FloatArray | None]:
        """Return the scores of the answering model, of the judge and, if there is one, of the second model."""
        if count_rows(X) == 0:  # most models refuse it
            n_classes = len(fitted.classes)
            none = np.empty(0) if n_classes == 2 else np.empty((0, n_classes))
            return none, none, np.empty(0) if fitted.held_out.second is not None else None
        scores = []
        for number, (model, method) in enumerate(fitted.models):
            judges = fitted.judges[number] if fitted.judges else None
            try:
                if judges is model:
                    scores.append(score_by_all(judges, X))
                else:
                    score = checked_scores(model, X, method, fitted.classes)
                    scores.append((score, score if judges is None else judge(judges, X)))
            except Exception as error:
                clearer: Any = explained(error, ("classifier", "gate")[number], model, X, is_fitted=True)
                if clearer is None:
                    raise
                raise clearer from error
        score, judged = scores[0]
        return score, judged, scores[1][1] if len(scores) > 1 else None
