"""Selective classifiers over partitions: rows are trained on, scored and counted where they lie.

::

    X, y ──► folds by a hash ──► models, one fit at a time ──► counts of each partition ──► merged in a tree
                                                                                             │
    in memory                                                clf.fit_on_counts(model, counts) ◄┘
    new rows ──► a light copy of that classifier decides on each partition

Only where rows lie differs. The bands are placed by the in-memory classifier, which :meth:`to_local` gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from numbers import Integral
from typing import Any, ClassVar, Self
from uuid import uuid4

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.delayed import Delayed, delayed
from distributed import Client, default_client
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils.validation import check_is_fitted

from aucross.core.bands import RejectionBand, check_coverage
from aucross.core.rounding import ScoreRounding, Statistic, check_statistic
from aucross.dask.counting import Counting, check_survey, counted, surveyed, with_folds
from aucross.dask.deciding import (
    count_unlabelled,
    decide,
    empty_decisions,
    empty_labels,
    merge_filled,
    predict,
    predict_proba,
    predict_selective,
    rank,
    select,
)
from aucross.dask.partitions import check_collection, merged_in_a_tree, partitions_of, pieces_of
from aucross.dask.training import ClusterTraining, is_distributed, local_model, without_client
from aucross.estimators.coverage_for import CoverageForAUC
from aucross.estimators.hashed_folds import HashedFolds
from aucross.estimators.held_out import trained_as_on_all_rows
from aucross.estimators.labels import check_classes, check_reject_label
from aucross.estimators.light_copy import light_copy
from aucross.estimators.rankings_by_coverage import RankingsByCoverage
from aucross.estimators.reach import ExpectedCoverage
from aucross.estimators.training import resolve_response_method
from aucross.estimators.types import Classifier, Folds, Labels


class DaskSelectiveClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """What the methods share on a cluster."""

    estimator: Classifier
    coverage: float
    cv: Folds
    random_state: int | None
    response_method: str
    statistic: Statistic
    max_retries: int
    client: Client | None

    # The classifier in memory, and its parameters that have the same name here.
    local_class: ClassVar[type[Any]]
    local_parameters: ClassVar[tuple[str, ...]]

    local_: Any  # the fitted classifier in memory
    rounding_: ScoreRounding  # of the scores that placed its bands

    # ---- fit ----

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None, band_groups: Any = None) -> Self:
        """Train on the cluster and place the bands.

        Parameters
        ----------
        X : Dask DataFrame or Array of shape (n_samples, n_features)
            Training rows.
        y : Dask Series or Array of shape (n_samples,)
            Labels of two classes. It may be cut into other partitions than `X`, if it holds the same rows in the same
            order.
        sample_weight : Dask Series or Array of shape (n_samples,), optional
            Weights for training, for the ranking and for the coverage.
        groups : Dask Series or Array of shape (n_samples,), optional
            The key of each row: rows with the same key share a fold. Held-out intervals count each row by itself.
        band_groups : Dask Series or Array of shape (n_samples,), optional
            Group of each row; each gets a band of its own.

        Returns
        -------
        self
            The fitted classifier.
        """
        client, folds = self._client(), self._folds()
        method = self._method()
        check_statistic(self.statistic)
        rows = partitions_of(client, X, y=y, sample_weight=sample_weight, groups=groups, band_groups=band_groups)
        fold_of = with_folds(client, rows.parts, folds)
        survey = surveyed(client, rows.parts, fold_of, folds)
        classes = check_classes(survey.labels)
        check_survey(survey, classes, folds, self.estimator)
        rounding = ScoreRounding.of_statistic(self.statistic, survey.n_rows)
        response_method = resolve_response_method(method.estimator, self.response_method)
        base = self.estimator
        if not is_distributed(base):
            base = trained_as_on_all_rows(base, survey.n_rows)
        training = ClusterTraining(client, base, rows, fold_of, classes, self.max_retries)
        models, final = self._trained(training, folds.n_splits)
        counting = Counting(method, response_method, classes, rounding, folds)
        counts = counted(client, rows.parts, fold_of, sent_model(models), counting)
        self.local_ = method.fit_on_counts(final, counts, classes=classes)
        self.rounding_ = rounding
        return self

    def _trained(self, training: ClusterTraining, n_folds: int) -> tuple[list[Any], Any]:
        """The models that score the folds, and the one that answers."""
        raise NotImplementedError

    def __sklearn_clone__(self) -> Self:
        # A clone shares the connection, which cannot be copied.
        plain = copy(self)
        plain.client, plain.estimator = None, without_client(self.estimator)
        twin: Self = BaseEstimator.__sklearn_clone__(plain)
        twin.client = self.client
        if plain.estimator is not self.estimator:
            twin.estimator.set_params(client=self.estimator.client)
        return twin

    def _client(self) -> Client:
        base = getattr(self, "estimator", None)
        try:
            of_base = base.client if base is not None and is_distributed(base) else None
            return self.client or of_base or default_client()
        except ValueError:
            raise ValueError(
                "client must be given or started: there is no connection to a Dask cluster; call "
                "distributed.Client() for one on this machine, or distributed.Client(address)"
            ) from None

    def _folds(self) -> HashedFolds:
        seed = 0 if self.random_state is None else self.random_state
        if isinstance(self.cv, Integral) and not isinstance(self.cv, bool):
            return HashedFolds(int(self.cv), seed=seed)
        if isinstance(self.cv, HashedFolds):
            return self.cv
        raise TypeError(
            f"cv must be a number of folds or HashedFolds, got {self.cv!r}: on a cluster a fold must follow from the "
            "row alone"
        )

    def _method(self) -> Any:
        """The classifier in memory, unfitted."""
        check_coverage(self.coverage)
        if not isinstance(self.max_retries, Integral) or self.max_retries < 0:
            raise ValueError(f"max_retries must be a whole number of at least 0, got {self.max_retries!r}")
        given = {name: getattr(self, name) for name in self.local_parameters}
        return self.local_class(local_model(self.estimator), cv=self._folds(), **given)

    # ---- the classifier in memory ----

    @classmethod
    def of_local(cls, local: Any, client: Client | None = None) -> DaskSelectiveClassifier:
        """A classifier that was fitted in memory, for decisions and evaluations on collections.

        Parameters
        ----------
        local : SelectiveClassifier
            A fitted classifier of two classes.
        client : distributed.Client, optional
            The cluster; the current client by default.

        Returns
        -------
        DaskSelectiveClassifier
        """
        check_is_fitted(local, "band_rule_")
        clf = cls()
        clf.client, clf.coverage = client, local.coverage
        # Test rows are counted as float32 scores, whatever placed the bands.
        clf.local_, clf.rounding_ = local, ScoreRounding()
        return clf

    def to_local(self) -> Any:
        """The classifier in memory, fitted: it decides on tables, and ``save`` stores it.

        Returns
        -------
        SelectiveClassifier
        """
        check_is_fitted(self, "local_")
        return self.local_

    @property
    def classes_(self) -> Labels:
        """Class labels; the positive class is the second."""
        return self._fitted("classes_")

    @property
    def band_rule_(self) -> Any:
        """Answers which band to reject for a coverage."""
        return self._fitted("band_rule_")

    @property
    def estimator_(self) -> Any:
        """The base classifier in memory, fitted."""
        return self._fitted("estimator_")

    def _fitted(self, name: str) -> Any:
        if "local_" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r} before fit")
        return getattr(self.local_, name)

    def band(self, coverage: float | None = None, band_group: Any = None) -> RejectionBand:
        """The band of scores that is rejected, as in memory.

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
        return self.to_local().band(coverage, band_group)

    def expected_coverage(self, coverage: float | None = None, band_group: Any = None) -> ExpectedCoverage:
        """The coverage that new rows should have, with its error, as in memory."""
        return self.to_local().expected_coverage(coverage, band_group)

    def coverage_for(self, *, auc: float, confidence: float = 0.95) -> CoverageForAUC:
        """Find the largest coverage at which the held-out AUC of the selected rows reaches a target, as in memory."""
        return self.to_local().coverage_for(auc=auc, confidence=confidence)

    def held_out_auc(self, coverage: float | None = None, *, confidence: float = 0.95) -> tuple[float, float, float]:
        """AUC of the held-out rows that are selected at a coverage, with its confidence limits, as in memory."""
        return self.to_local().held_out_auc(coverage, confidence=confidence)

    # ---- collections in, collections out ----

    def decide(self, X: Any, coverage: float | None = None, band_groups: Any = None) -> Any:
        """Decide for each row whether its prediction is used.

        Parameters
        ----------
        X : Dask DataFrame or Array of shape (n_samples, n_features)
            Rows to decide on.
        coverage : float in (0, 1], optional
            Target share of rows to select; the constructor's `coverage` by default.
        band_groups : Dask Series or Array of shape (n_samples,), optional
            Group of each row, if the bands were fitted per group.

        Returns
        -------
        Dask DataFrame
            ``score`` of the positive class, ``prediction``, ``decision`` (``"automatic"`` or ``"review"``), and the
            ends ``lower`` and ``upper`` of the row's band; lazy, with the index of a DataFrame.
        """
        return self._mapped(decide, X, coverage, band_groups, empty_decisions(self.to_local().classes_))

    def select(self, X: Any, coverage: float | None = None, band_groups: Any = None) -> Any:
        """Say for each row whether its prediction should be used.

        Parameters
        ----------
        X, coverage, band_groups
            As for :meth:`decide`.

        Returns
        -------
        Dask Series or Array of bool
            Of the kind of `X`; lazy.
        """
        return self._mapped(select, X, coverage, band_groups, pd.Series([], dtype=bool, name="selected"))

    def predict_selective(
        self, X: Any, coverage: float | None = None, reject_label: Any = None, band_groups: Any = None
    ) -> Any:
        """Labels in one column, with a mark on the rejected rows.

        Parameters
        ----------
        X, coverage, band_groups
            As for :meth:`decide`.
        reject_label : label, optional
            Mark of rejected rows, as in memory.

        Returns
        -------
        Dask Series or Array
            Of the kind of `X`; lazy.
        """
        mark = check_reject_label(reject_label, self.to_local().classes_)
        return self._mapped(predict_selective, X, coverage, band_groups, empty_labels(self.classes_), mark)

    def predict(self, X: Any) -> Any:
        """Predict a class label for every row, whether it is selected or not; a lazy collection of the kind of `X`."""
        return self._mapped(predict, X, None, None, empty_labels(self.to_local().classes_))

    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the base classifier for every row; a lazy Array with a column for each class."""
        check_collection(X, "X")
        model = sent_model(self.to_local().estimator_)
        blocks = [
            da.from_delayed(delayed(predict_proba)(model, piece), (np.nan, len(self.classes_)), dtype=np.float64)
            for piece in pieces_of(X)
        ]
        return da.concatenate(blocks, allow_unknown_chunksizes=True)

    def recalibrate(
        self, X: Any, *, label_shift: bool = False, sample_weight: Any = None, band_groups: Any = None
    ) -> Self:
        """Place the bands anew on rows without labels.

        Parameters
        ----------
        X : Dask DataFrame or Array of shape (n_samples, n_features)
            Unlabelled rows.
        label_shift : bool, default=False
            Whether the share of positives may have changed since the fit, as in memory.
        sample_weight : Dask Series or Array of shape (n_samples,), optional
            Weights of the rows in the coverage.
        band_groups : Dask Series or Array of shape (n_samples,), optional
            Group of each row, if the bands were fitted per group.

        Returns
        -------
        DaskSelectiveClassifier
            A copy with other bands and the same model; the original is unchanged.
        """
        client, local = self._client(), self.to_local()
        rows = partitions_of(client, X, sample_weight=sample_weight, band_groups=band_groups)
        decider, count = sent_model(light_copy(local)), delayed(count_unlabelled, pure=True)
        parts = [count(part, decider, self.rounding_) for part in rows.parts]
        again = copy(self)
        again.local_ = local.recalibrate(_merged(client, parts, "place the bands on"), label_shift=label_shift)
        return again

    def rankings(
        self, X: Any, y: Any, coverages: Sequence[float] = (), *, sample_weight: Any = None, band_groups: Any = None
    ) -> RankingsByCoverage:
        """Rank labelled rows by their score where they lie: all that an evaluation needs.

        Parameters
        ----------
        X : Dask DataFrame or Array of shape (n_samples, n_features)
            Test rows.
        y : Dask Series or Array of shape (n_samples,)
            Their labels.
        coverages : sequence of float in (0, 1], default=()
            Target coverages.
        sample_weight : Dask Series or Array of shape (n_samples,), optional
            Their weights.
        band_groups : Dask Series or Array of shape (n_samples,), optional
            Group of each row, if the bands were fitted per group.

        Returns
        -------
        RankingsByCoverage
            The ranking of all rows, and that of the selected ones for each coverage. Scores are rounded as in the fit.
        """
        client, local = self._client(), self.to_local()
        rows = partitions_of(client, X, y=y, sample_weight=sample_weight, band_groups=band_groups)
        # One pickle: the copies share the model. Without a coverage to decide at, one of them scores.
        asked = {check_coverage(coverage): light_copy(local, coverage) for coverage in coverages or [local.coverage]}
        deciding, ranked = sent_model(asked), delayed(rank, pure=True)
        parts = [ranked(part, deciding, self.rounding_) for part in rows.parts]
        found: RankingsByCoverage = _merged(client, parts, "rank")
        found.check_labels("y", local.classes_)
        return found

    def _mapped(self, function: Any, X: Any, coverage: float | None, band_groups: Any, meta: Any, *further: Any) -> Any:
        """Apply a function to each partition, with a light copy of the classifier; lazy."""
        check_collection(X, "X")
        local = self.to_local()
        needs_groups = local.band_rule_.group_labels is not None and function is not predict
        if needs_groups != (band_groups is not None):
            remedy = "pass the group of each row" if needs_groups else "leave it out"
            raise ValueError(f"band_groups must be given if and only if the bands were fitted per group; {remedy}")
        decider = sent_model(light_copy(local, coverage))
        if band_groups is None:
            pieces = [(piece, None) for piece in pieces_of(X)]
        else:
            rows = partitions_of(self._client(), X, band_groups=band_groups)
            pieces = [
                (delayed(lambda part: part.X)(part), delayed(lambda part: part.band_groups)(part))
                for part in rows.parts
            ]
        apply = delayed(function, pure=True)
        parts = [apply(decider, piece, groups, *further) for piece, groups in pieces]
        if isinstance(X, dd.DataFrame) or isinstance(meta, pd.DataFrame):
            divisions = X.divisions if isinstance(X, dd.DataFrame) and len(parts) == X.npartitions else None
            known = divisions is not None and None not in divisions
            return dd.from_delayed(parts, meta=meta, divisions=divisions if known else None, verify_meta=False)
        values = delayed(np.asarray)
        blocks = [da.from_delayed(values(part), (np.nan,), dtype=meta.dtype) for part in parts]
        return da.concatenate(blocks, allow_unknown_chunksizes=True)


def sent_model(model: Any) -> Delayed:
    """A model as a part of the graph: any worker can have it again from the scheduler, so none of them can lose it."""
    return delayed(model, name=f"aucross-model-{uuid4().hex}", traverse=False)


def _merged(client: Client, parts: list[Delayed], purpose: str) -> Any:
    found = client.compute(merged_in_a_tree(merge_filled, parts)).result()
    if found is None:
        raise ValueError(f"X must hold at least one row to {purpose}, got 0")
    return found
