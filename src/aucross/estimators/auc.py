"""Selective classifiers aimed at the AUC: they reject a band of scores in which ranking errors are made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from aucross.core.rules import BandRule, Placement, estimate_auc_bands
from aucross.estimators.base import Fitted, SelectiveClassifier
from aucross.estimators.coverage_for import HeldOutCurve
from aucross.estimators.held_out import (
    HeldOutScores,
    TrainingRows,
    cross_fit_scores,
    hold_out_scores,
    stratified_halves,
)


class _AUCBands(SelectiveClassifier):
    """What the AUC methods share: the band lies on the score of the positive class."""

    placement: Placement

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.placement not in ("optimal", "centered"):
            raise ValueError(f'placement must be "optimal" or "centered", got {self.placement!r}')

    def _place_bands(self, held_out: HeldOutScores, halves: Sequence[HeldOutScores] = ()) -> BandRule:
        whole, *rankings = (part.ranked() for part in (held_out, *halves))
        for ranked in (whole, *rankings):
            if min(ranked.total_positives, ranked.total_negatives) == 0:
                raise ValueError(
                    f"the held-out rows{'' if ranked is whole else ' of each random half'} must hold both classes with "
                    f"weight above 0, got {ranked.total_positives:g} positives and {ranked.total_negatives:g} "
                    "negatives; pass a cv that scores rows of both classes, or other weights"
                )
        # A band centred on the only score that there is would reject every row.
        return estimate_auc_bands(whole, rankings, placement=self.placement if len(whole) > 1 else "optimal")

    def _held_out_curve(self) -> HeldOutCurve:
        ranked = self.held_out_.ranked()

        def curve(coverage: float) -> tuple[float, float]:
            band = self.band_rule_.band(coverage)
            return ranked.auc(band), ranked.auc_standard_error(band)

        return curve


class AUCross(_AUCBands):
    """Wrap a classifier so that it abstains where that raises the AUC, with cross-fitted scores.

    Every training row is scored by a model that has not seen it (K-fold cross-fitting). On these scores the band is
    placed whose rejection leaves the highest AUC for the coverage asked for. The classifier is then refitted on all
    rows. One fit serves every coverage.

    Parameters
    ----------
    estimator : classifier
        Base classifier with ``predict_proba`` or ``decision_function``. Wrap a trained one in
        :class:`sklearn.frozen.FrozenEstimator` and fit on rows that it has not seen.
    coverage : float in (0, 1], default=0.9
        Share of rows to select by default; `select` and `band` take any other.
    placement : {"optimal", "centered"}, default="optimal"
        How the band is placed: ``"optimal"`` searches the best band exactly, on isotonic labels; ``"centered"`` is
        the published algorithm.
    cv : int, splitter or iterable of splits, default=5
        An integer K means K stratified shuffled folds (with `groups`, folds that keep each group together);
        anything else is used as scikit-learn does. Rows that no split scores do not take part in placing the band;
        rows scored m times count 1/m each time.
    n_jobs : int, optional
        Folds to fit at the same time.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds and, for the centred placement, of the two halves.
    response_method : {"auto", "predict_proba", "decision_function"}, default="auto"
        Where scores come from; ``"auto"`` takes the first that the base classifier has.

    Attributes
    ----------
    estimator_ : classifier
        The base classifier, fitted on all rows.
    classes_ : ndarray of shape (2,)
        Class labels; the positive class is ``classes_[1]``.
    band_rule_ : BandRule
        Answers which band to reject for a coverage.
    held_out_ : HeldOutScores
        Out-of-fold scores of the training rows.
    response_method_ : str
        The method of the base classifier in use.
    n_features_in_ : int
        Number of features seen during fit, if the base classifier knows it.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features seen during fit, if the base classifier knows them.

    See Also
    --------
    PlugInAUC : The same with one hold-out part instead of folds, without refitting.
    SCross : Rejects the least confident rows, for accuracy rather than AUC.

    Notes
    -----
    Algorithm 2 of Pugnana and Ruggieri, "AUC-based Selective Classification", AISTATS 2023.

    NOTE[DIFF]: the paper centres the band between two bounds and leaves its optimal place as an open question; the
    default here is the exact optimum on isotonic labels. ``placement="centered"`` gives the published algorithm.

    If all held-out scores are equal, a warning is given, every band is empty and every row is selected.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from aucross import AUCross
    >>> X, y = make_classification(2000, flip_y=0.3, random_state=0)
    >>> clf = AUCross(LogisticRegression(), coverage=0.8, random_state=0).fit(X, y)
    >>> print(clf.select(X).mean().round(2), clf.select(X, coverage=0.5).mean().round(2))
    0.81 0.5
    """

    def __init__(
        self,
        estimator: Any,
        *,
        coverage: float = 0.9,
        placement: Placement = "optimal",
        cv: Any = 5,
        n_jobs: int | None = None,
        random_state: Any = None,
        response_method: str = "auto",
    ) -> None:
        self.estimator = estimator
        self.coverage = coverage
        self.placement = placement
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.response_method = response_method

    def _fit(self, training: TrainingRows, response_method: str, rng: np.random.RandomState) -> Fitted:
        held_out = cross_fit_scores(
            self.estimator, training, cv=self.cv, response_method=response_method, rng=rng, n_jobs=self.n_jobs
        )
        halves = stratified_halves(held_out, rng) if self.placement == "centered" else ()
        rule = self._place_bands(held_out, halves)
        return Fitted(training.fit(self.estimator), held_out, rule)


class PlugInAUC(_AUCBands):
    """Wrap a classifier so that it abstains where that raises the AUC, with hold-out scores.

    The classifier is trained on one part of the rows; the band is placed on its scores of the other part. One
    training instead of the K + 1 of :class:`AUCross`, at the price of fewer rows for training and for placing.

    Parameters
    ----------
    estimator : classifier
        Base classifier with ``predict_proba`` or ``decision_function``. Wrap a trained one in
        :class:`sklearn.frozen.FrozenEstimator` and fit on rows that it has not seen.
    coverage : float in (0, 1], default=0.9
        Share of rows to select by default; `select` and `band` take any other.
    placement : {"optimal", "centered"}, default="optimal"
        How the band is placed: ``"optimal"`` searches the best band exactly, on isotonic labels; ``"centered"`` is
        the published algorithm.
    cv : int, splitter or iterable of splits, optional
        None holds out one stratified part of `holdout_size`, with at least one row of each class; of anything else
        the first split is used.
    holdout_size : float in (0, 1), default=0.1
        Share of rows held out if `cv` is None.
    random_state : int, RandomState instance or None, default=None
        Seed of the split.
    response_method : {"auto", "predict_proba", "decision_function"}, default="auto"
        Where scores come from; ``"auto"`` takes the first that the base classifier has.

    Attributes
    ----------
    estimator_ : classifier
        The base classifier, fitted on the rows that were not held out.
    classes_ : ndarray of shape (2,)
        Class labels; the positive class is ``classes_[1]``.
    band_rule_ : BandRule
        Answers which band to reject for a coverage.
    held_out_ : HeldOutScores
        Scores of the rows held out.
    response_method_ : str
        The method of the base classifier in use.
    n_features_in_ : int
        Number of features seen during fit, if the base classifier knows it.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features seen during fit, if the base classifier knows them.

    See Also
    --------
    AUCross : The same with cross-fitted scores of all rows.
    PlugIn : Rejects the least confident rows, for accuracy rather than AUC.

    Notes
    -----
    The comparison method of that name in Pugnana and Ruggieri, "AUC-based Selective Classification", AISTATS 2023.

    NOTE[DIFF]: the default placement is the exact optimum on isotonic labels; ``placement="centered"`` is published.

    If all held-out scores are equal, a warning is given, every band is empty and every row is selected.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from aucross import PlugInAUC
    >>> X, y = make_classification(5000, flip_y=0.3, random_state=0)
    >>> clf = PlugInAUC(LogisticRegression(), coverage=0.8, random_state=0).fit(X, y)
    >>> clf.band() == clf.band(0.8)
    True
    """

    def __init__(
        self,
        estimator: Any,
        *,
        coverage: float = 0.9,
        placement: Placement = "optimal",
        cv: Any = None,
        holdout_size: float = 0.1,
        random_state: Any = None,
        response_method: str = "auto",
    ) -> None:
        self.estimator = estimator
        self.coverage = coverage
        self.placement = placement
        self.cv = cv
        self.holdout_size = holdout_size
        self.random_state = random_state
        self.response_method = response_method

    def _fit(self, training: TrainingRows, response_method: str, rng: np.random.RandomState) -> Fitted:
        model, held_out = hold_out_scores(
            self.estimator,
            training,
            cv=self.cv,
            holdout_size=self.holdout_size,
            response_method=response_method,
            rng=rng,
        )
        return Fitted(model, held_out, self._place_bands(held_out))
