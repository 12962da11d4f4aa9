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
from typing import Any, ClassVar, Literal, NamedTuple, Self
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
from aucross.core.decisions import AUTOMATIC, REVIEW
from aucross.core.ranking import RankedScores, check_scores
from aucross.core.rounding import ScoreRounding
from aucross.core.weighted_ranking import WeightedRanking
from aucross.dask.partitions import Partitions, Rows, check_collection, merged_in_a_tree, partitions_of, pieces_of
from aucross.dask.training import is_distributed, local_model, train
from aucross.deploy.light_copy import light_copy
from aucross.estimators.auc import AUCross, PlugInAUC
from aucross.estimators.band_groups import check_band_groups
from aucross.estimators.confidence import SCross
from aucross.estimators.coverage_for import CoverageForAUC
from aucross.estimators.hashed_folds import HashedFolds
from aucross.estimators.held_out import HeldOutScores, is_never_trained, trained_as_on_all_rows
from aucross.estimators.labels import check_classes, check_reject_label
from aucross.estimators.models import answers_by_score, class_scores
from aucross.estimators.reach import ExpectedCoverage
from aucross.estimators.score_counts import CountedRows, ScoreCounts, check_scale
from aucross.estimators.training import resolve_response_method
from aucross.estimators.training_rows import take_rows
from aucross.estimators.types import Classifier, Folds, Labels

Statistic = Literal["auto", "exact", "binned"]

# Up to so many rows "auto" counts distinct float32 scores: at most 120 MB on the driver.
EXACT_ROWS = 5_000_000


class _Task(NamedTuple):
    """What counting needs beside rows and models."""

    method: Any
    response_method: str
    classes: Labels
    rounding: ScoreRounding


class _Survey(NamedTuple):
    """What is known of the rows before anything is trained: rows of each label in each fold."""

    labels: Any
    counts: Any  # of shape (n_labels, n_folds)

    @property
    def n_rows(self) -> int:
        return int(self.counts.sum())


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
            The key of each row: rows with the same key share a fold.
        band_groups : Dask Series or Array of shape (n_samples,), optional
            Group of each row; each gets a band of its own.

        Returns
        -------
        self
            The fitted classifier.
        """
        client, folds = self._client(), self._folds()
        method = self._method()
        rows = partitions_of(client, X, y=y, sample_weight=sample_weight, groups=groups, band_groups=band_groups)
        survey = _surveyed(client, rows, folds)
        classes = check_classes(survey.labels)
        _check_survey(survey, classes, folds, self.estimator)
        response_method = resolve_response_method(method.estimator, self.response_method)
        models, final = self._trained(client, rows, folds, classes, survey.n_rows)
        task = _Task(method, response_method, classes, self._rounding(survey.n_rows))
        counts = self._counted(client, rows, models, folds, task)
        self.local_ = method.fit_on_counts(final, counts, classes=classes)
        self.rounding_ = task.rounding
        return self

    def _trained(
        self, client: Client, rows: Partitions, folds: HashedFolds, classes: Labels, n_rows: int
    ) -> tuple[list[Any], Any]:
        """The models that score the folds, and the one that answers."""
        raise NotImplementedError

    def _train(
        self, client: Client, rows: Partitions, classes: Labels, n_rows: int, without: tuple[HashedFolds, int] | None
    ) -> Any:
        estimator = self.estimator if is_distributed(self.estimator) else trained_as_on_all_rows(self.estimator, n_rows)
        return train(client, estimator, rows, classes, without_fold=without, max_retries=self.max_retries)

    def _counted(
        self, client: Client, rows: Partitions, models: list[Any], folds: HashedFolds, task: _Task
    ) -> ScoreCounts:
        """Score every partition by the models that have not seen its rows, and count the scores."""
        sent = [sent_model(model) for model in models]
        count = delayed(_count, pure=True)
        parts = [count(part, sent, folds, delayed(task, traverse=False)) for part in rows.parts]
        counts, ranges = client.compute(merged_in_a_tree(_merge_counts, parts)).result()
        _refuse_constant(ranges)
        return counts

    def _client(self) -> Client:
        if self.client is not None:
            return self.client
        try:
            return default_client()
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

    def _rounding(self, n_rows: int) -> ScoreRounding:
        if self.statistic not in ("auto", "exact", "binned"):
            raise ValueError(f'statistic must be "auto", "exact" or "binned", got {self.statistic!r}')
        is_exact = self.statistic == "exact" or (self.statistic == "auto" and n_rows <= EXACT_ROWS)
        return ScoreRounding(32 if is_exact else 20)

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
        meta = pd.DataFrame(
            {
                "score": np.empty(0),
                "prediction": self._label_meta(),
                "decision": np.empty(0, dtype=object),
                "lower": np.empty(0),
                "upper": np.empty(0),
            }
        )
        return self._mapped(_decide, X, coverage, band_groups, meta)

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
        return self._mapped(_select, X, coverage, band_groups, pd.Series([], dtype=bool, name="selected"))

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
        mark = check_reject_label(reject_label, self._fitted("classes_"))
        return self._mapped(_predict_selective, X, coverage, band_groups, self._label_meta(), mark)

    def predict(self, X: Any) -> Any:
        """Predict a class label for every row, whether it is selected or not; a lazy collection of the kind of `X`."""
        return self._mapped(_predict, X, None, None, self._label_meta())

    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the base classifier for every row; a lazy Array with a column for each class."""
        check_collection(X, "X")
        model = sent_model(self.to_local().estimator_)
        blocks = [
            da.from_delayed(delayed(_predict_proba)(model, piece), (np.nan, len(self.classes_)), dtype=np.float64)
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
        decider, count = sent_model(light_copy(local)), delayed(_count_unlabelled, pure=True)
        parts = [count(part, decider, self.rounding_) for part in rows.parts]
        counted = client.compute(merged_in_a_tree(_merge_rows, parts)).result()
        if counted is None:
            raise ValueError("X must hold at least one row to place the bands on, got 0")
        again = copy(self)
        again.local_ = local.recalibrate(counted, label_shift=label_shift)
        return again

    def rankings(
        self, X: Any, y: Any, coverages: Sequence[float] = (), *, sample_weight: Any = None, band_groups: Any = None
    ) -> dict[float | None, Any]:
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
        dict of float to RankedScores or WeightedRanking
            The ranking of all rows under None, and that of the selected ones for each coverage. Scores are rounded as
            in the fit.
        """
        client, local = self._client(), self.to_local()
        rows = partitions_of(client, X, y=y, sample_weight=sample_weight, band_groups=band_groups)
        deciders = sent_model({coverage: light_copy(local, coverage) for coverage in (*coverages, local.coverage)})
        rank = delayed(_rank, pure=True)
        parts = [rank(part, deciders, tuple(coverages), self.rounding_) for part in rows.parts]
        return client.compute(merged_in_a_tree(_merge_rankings, parts)).result()

    def _label_meta(self) -> Any:
        label = np.empty(0, dtype=self._fitted("classes_").dtype)
        return pd.Series(label.astype(object) if label.dtype.kind == "U" else label, name="prediction")

    def _mapped(self, function: Any, X: Any, coverage: float | None, band_groups: Any, meta: Any, *further: Any) -> Any:
        """Apply a function to each partition, with a light copy of the classifier; lazy."""
        check_collection(X, "X")
        local = self.to_local()
        needs_groups = local.band_rule_.group_labels is not None and function is not _predict
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


class _CrossFitted(DaskSelectiveClassifier):
    """Every row is scored by the model of the folds that it is not in; a model trained on all rows answers."""

    def _trained(
        self, client: Client, rows: Partitions, folds: HashedFolds, classes: Labels, n_rows: int
    ) -> tuple[list[Any], Any]:
        if is_never_trained(self.estimator):  # the same in every fold
            model = self._train(client, rows, classes, n_rows, None)
            return [model] * folds.n_splits, model
        models = [self._train(client, rows, classes, n_rows, (folds, fold)) for fold in range(folds.n_splits)]
        return models, self._train(client, rows, classes, n_rows, None)


class DaskAUCross(_CrossFitted):
    """Reject the band of scores whose rejection leaves the highest AUC, with cross-fitted scores, on a Dask cluster.

    The same as :class:`~aucross.AUCross` with ``cv=HashedFolds(5)`` in memory, for data that lie on many machines.

    Parameters
    ----------
    estimator : classifier
        ``lightgbm.DaskLGBMClassifier`` or ``xgboost.dask.DaskXGBClassifier``, trained on all workers, or any
        scikit-learn classifier, which is trained on one worker, on rows that fit into its memory.
    coverage : float in (0, 1], default=0.9
        Share of rows to select by default; `select` and `band` take any other.
    placement, target, nested
        As for :class:`~aucross.AUCross`.
    cv : int or HashedFolds, default=5
        Folds by a hash of each row: they do not depend on how the data are cut.
    random_state : int, optional
        Seed of the folds, if `cv` is a number.
    response_method : {"auto", "predict_proba", "decision_function"}, default="auto"
        Where scores come from.
    statistic : {"auto", "exact", "binned"}, default="auto"
        How held-out scores are counted: ``"exact"`` counts distinct float32 scores, ``"binned"`` their top 20 bits, of
        which there are few however many rows are counted. ``"auto"`` is exact up to 5 million rows.
    max_retries : int, default=2
        How often a distributed fit is repeated as a whole if a worker is lost.
    client : distributed.Client, optional
        The cluster; the current client by default.

    Attributes
    ----------
    local_ : AUCross
        The classifier in memory, see :meth:`to_local`.
    rounding_ : ScoreRounding
        How scores were rounded when they were counted.

    See Also
    --------
    aucross.AUCross : The same in memory.

    Notes
    -----
    A band needs only the ranking of held-out scores, and rankings add up: each partition is counted where it lies, and
    counts are merged in a tree. So `correct_coverage`, `ensemble`, `ties` and `coverage_confidence` of the cross-fitted
    methods stay in memory: they need other models or the rows themselves. Two classes only.

    Examples
    --------
    >>> import dask.array as da
    >>> from aucross.dask import DaskAUCross
    >>> from distributed import Client
    >>> from lightgbm import DaskLGBMClassifier
    >>> client = Client(n_workers=2)  # doctest: +SKIP
    >>> clf = DaskAUCross(DaskLGBMClassifier(), coverage=0.8).fit(X, y)  # doctest: +SKIP
    >>> clf.decide(new).to_parquet("decisions")  # doctest: +SKIP
    """

    local_class = AUCross
    local_parameters = ("coverage", "placement", "target", "nested", "response_method")

    def __init__(
        self,
        estimator: Classifier,
        *,
        coverage: float = 0.9,
        placement: Any = "optimal",
        target: Any = "auc",
        nested: bool = False,
        cv: Folds = 5,
        random_state: int | None = None,
        response_method: str = "auto",
        statistic: Statistic = "auto",
        max_retries: int = 2,
        client: Client | None = None,
    ) -> None:
        self.estimator = estimator
        self.coverage = coverage
        self.placement = placement
        self.target = target
        self.nested = nested
        self.cv = cv
        self.random_state = random_state
        self.response_method = response_method
        self.statistic = statistic
        self.max_retries = max_retries
        self.client = client


class DaskSCross(_CrossFitted):
    """Reject the least confident rows, with cross-fitted confidences, on a Dask cluster.

    The same as :class:`~aucross.SCross` with ``cv=HashedFolds(5)`` in memory.

    Parameters
    ----------
    estimator, coverage, cv, random_state, response_method, statistic, max_retries, client
        As for :class:`DaskAUCross`. Confidences lie between 1/2 and 1, where 20 bits tell 2,048 of them apart: with
        ``statistic="binned"`` the coverage is met to about 0.001.

    Attributes
    ----------
    local_ : SCross
        The classifier in memory, see :meth:`to_local`.
    rounding_ : ScoreRounding
        How confidences were rounded when they were counted.
    """

    local_class = SCross
    local_parameters = ("coverage", "response_method")

    def __init__(
        self,
        estimator: Classifier,
        *,
        coverage: float = 0.9,
        cv: Folds = 5,
        random_state: int | None = None,
        response_method: str = "auto",
        statistic: Statistic = "auto",
        max_retries: int = 2,
        client: Client | None = None,
    ) -> None:
        self.estimator = estimator
        self.coverage = coverage
        self.cv = cv
        self.random_state = random_state
        self.response_method = response_method
        self.statistic = statistic
        self.max_retries = max_retries
        self.client = client


class DaskPlugInAUC(DaskSelectiveClassifier):
    """Reject the band of scores whose rejection leaves the highest AUC, with hold-out scores, on a Dask cluster.

    One training instead of six: on many rows a tenth of them places the band as well as all. The same as
    :class:`~aucross.PlugInAUC` with ``cv=HashedFolds(10)`` in memory.

    Parameters
    ----------
    estimator, coverage, placement, target, nested, random_state, response_method, statistic, max_retries, client
        As for :class:`DaskAUCross`.
    coverage_confidence : float in (0, 1), optional
        Reject less, so that new rows keep the coverage with this probability. Excludes `sample_weight`.
    cv : int or HashedFolds, default=10
        The first of so many folds is held out.

    Attributes
    ----------
    local_ : PlugInAUC
        The classifier in memory, see :meth:`to_local`.
    rounding_ : ScoreRounding
        How scores were rounded when they were counted.
    """

    local_class = PlugInAUC
    local_parameters = ("coverage", "placement", "target", "nested", "coverage_confidence", "response_method")

    def __init__(
        self,
        estimator: Classifier,
        *,
        coverage: float = 0.9,
        placement: Any = "optimal",
        target: Any = "auc",
        nested: bool = False,
        coverage_confidence: float | None = None,
        cv: Folds = 10,
        random_state: int | None = None,
        response_method: str = "auto",
        statistic: Statistic = "auto",
        max_retries: int = 2,
        client: Client | None = None,
    ) -> None:
        self.estimator = estimator
        self.coverage = coverage
        self.placement = placement
        self.target = target
        self.nested = nested
        self.coverage_confidence = coverage_confidence
        self.cv = cv
        self.random_state = random_state
        self.response_method = response_method
        self.statistic = statistic
        self.max_retries = max_retries
        self.client = client

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None, band_groups: Any = None) -> Self:
        """Train on the cluster and place the bands; see :meth:`DaskAUCross.fit`."""
        if self.coverage_confidence is not None and sample_weight is not None:
            raise ValueError(
                "coverage_confidence must be None with sample_weight: the confidence is about a share of rows and does "
                f"not hold for a share of weight, got {self.coverage_confidence!r}; leave out one of the two"
            )
        return super().fit(X, y, sample_weight, groups, band_groups)

    def _trained(
        self, client: Client, rows: Partitions, folds: HashedFolds, classes: Labels, n_rows: int
    ) -> tuple[list[Any], Any]:
        model = self._train(client, rows, classes, n_rows, (folds, 0))
        return [model], model


def sent_model(model: Any) -> Delayed:
    """A model as a part of the graph: any worker can have it again from the scheduler, so none of them can lose it."""
    return delayed(model, name=f"aucross-model-{uuid4().hex}", traverse=False)


# ---- what runs where rows lie ----


def _surveyed(client: Client, rows: Partitions, folds: HashedFolds) -> _Survey:
    look = delayed(_survey, pure=True)
    return client.compute(merged_in_a_tree(_merge_surveys, [look(part, folds) for part in rows.parts])).result()


def _survey(rows: Rows, folds: HashedFolds) -> _Survey:
    labels, place = np.unique(np.asarray(rows.y), return_inverse=True)
    counts = np.zeros((len(labels), folds.n_splits), dtype=np.int64)
    if len(labels):
        np.add.at(counts, (place, folds.fold_of(rows.X, groups=rows.groups)), 1)
    return _Survey(labels, counts)


def _merge_surveys(surveys: list[_Survey]) -> _Survey:
    filled = [survey for survey in surveys if len(survey.labels)] or surveys[:1]
    labels = np.unique(np.concatenate([survey.labels for survey in filled]))
    counts = np.zeros((len(labels), filled[0].counts.shape[1]), dtype=np.int64)
    for survey in filled:
        counts[np.searchsorted(labels, survey.labels)] += survey.counts
    return _Survey(labels, counts)


def _check_survey(survey: _Survey, classes: Labels, folds: HashedFolds, estimator: Any) -> None:
    if len(classes) != 2:
        raise ValueError(
            f"y must hold two classes on a cluster, got {len(classes)}: {classes.tolist()[:5]}; fit more classes in "
            "memory"
        )
    folds.check_sizes(survey.counts.sum(axis=0))
    outside = survey.counts.sum(axis=1, keepdims=True) - survey.counts
    if not outside.all():
        raise ValueError(
            f"every training part must hold both classes, got folds with {survey.counts.tolist()} rows of "
            f"{classes.tolist()}; pass fewer folds or more rows"
        )
    if is_distributed(estimator) and classes.tolist() != [0, 1]:
        raise ValueError(
            f"y must hold 0 and 1 for {type(estimator).__name__}, got {classes.tolist()}; pass "
            f"(y == {classes.tolist()[1]!r}).astype(int)"
        )


def _count(
    rows: Rows, models: list[Any], folds: HashedFolds, task: _Task
) -> tuple[ScoreCounts, list[tuple[float, float]]]:
    """Count the held-out scores of a partition; with the lowest and the highest score of each model."""
    fold = folds.fold_of(rows.X, groups=rows.groups)
    half = folds.half_of(rows.X, groups=rows.groups) if task.method.blends_halves else None
    scores, by_score, ranges = np.zeros(len(fold)), True, []
    for number, model in enumerate(models):
        own = np.flatnonzero(fold == number)
        if not len(own):
            ranges.append((np.inf, -np.inf))
            continue
        X = take_rows(rows.X, own)
        of_fold = class_scores(model, X, task.response_method, task.classes)
        scores[own] = check_scores(of_fold, len(own), name="the scores of the base model")
        by_score = by_score and answers_by_score(model, X, of_fold, task.response_method, task.classes)
        ranges.append((float(of_fold.min()), float(of_fold.max())))
    held = np.flatnonzero(fold < len(models))
    weight = None if rows.sample_weight is None else np.asarray(rows.sample_weight, dtype=np.float64)[held]
    groups = None if rows.band_groups is None else check_band_groups(take_rows(rows.band_groups, held), len(held))
    labels = np.searchsorted(task.classes, np.asarray(rows.y)[held])
    held_out = HeldOutScores(held, labels, scores[held], weight, None, groups, by_score)
    half = None if half is None else half[held]
    counts = task.method.counts_of(held_out, task.rounding, response_method=task.response_method, half=half)
    return counts, ranges


def _merge_counts(parts: list[tuple[ScoreCounts, Any]]) -> tuple[ScoreCounts, list[tuple[float, float]]]:
    lows, highs = (np.array([[model[end] for model in ranges] for _, ranges in parts]) for end in (0, 1))
    ranges = list(zip(lows.min(axis=0).tolist(), highs.max(axis=0).tolist(), strict=True))
    return ScoreCounts.merge([counts for counts, _ in parts]), ranges


def _refuse_constant(ranges: list[tuple[float, float]]) -> None:
    if len(ranges) > 1 and all(low == high for low, high in ranges) and len(set(ranges)) > 1:
        # Each fold has its own constant, which tells rows of different folds apart and nothing else.
        raise ValueError(
            "the base model must tell rows apart, got one score for all rows of each fold; check the model and its "
            "features"
        )


def _count_unlabelled(rows: Rows, decider: Any, rounding: ScoreRounding) -> CountedRows | None:
    if not len(rows.X):
        return None
    weight = None if rows.sample_weight is None else np.asarray(rows.sample_weight, dtype=np.float64)
    scored = decider.scored(rows.X, sample_weight=weight, band_groups=rows.band_groups)
    return CountedRows.of(scored, decider.reader_, rounding)


def _merge_rows(parts: list[CountedRows | None]) -> CountedRows | None:
    filled = [part for part in parts if part is not None]
    return CountedRows.merge(filled) if filled else None


def _rank(
    rows: Rows, deciders: dict[float, Any], coverages: tuple[float, ...], rounding: ScoreRounding
) -> dict[float | None, Any]:
    """Rankings of a partition: of all rows, and of those that are selected at each coverage."""
    labels, weight = np.asarray(rows.y), None
    decider = next(iter(deciders.values()))
    if (unknown := ~np.isin(labels, decider.classes_)).any():
        raise ValueError(f"y must hold the labels of the fit {decider.classes_.tolist()}, got {labels[unknown][0]!r}")
    if rows.sample_weight is not None:
        weight = np.asarray(rows.sample_weight, dtype=np.float64)
        check_scale(weight)
    everything = np.ones(len(labels), dtype=bool)
    if not len(labels):
        selections, score = dict.fromkeys((None, *coverages), everything), np.empty(0)
    else:
        scored = decider.scored(rows.X, band_groups=rows.band_groups)
        score = rounding.round(scored.score)
        selections = {None: everything, **{at: deciders[at].decide(scored).selected for at in coverages}}
    positive = labels == decider.score_classes_[1]
    return {
        at: RankedScores.from_labels(positive[mask], score[mask])
        if weight is None
        else _weighted(positive, score, weight, mask & (weight > 0))
        for at, mask in selections.items()
    }


def _weighted(positive: Any, score: Any, weight: Any, used: Any) -> WeightedRanking:
    if not used.any():
        return WeightedRanking.merge([])
    return WeightedRanking.from_labels(positive[used], score[used], weight[used])


def _merge_rankings(parts: list[dict[float | None, Any]]) -> dict[float | None, Any]:
    return {at: type(parts[0][at]).merge([part[at] for part in parts]) for at in parts[0]}


def _decided(decider: Any, X: Any, groups: Any) -> tuple[Any, Any]:
    scored = decider.scored(X, band_groups=groups)
    return scored, decider.decide(scored)


def _index_of(X: Any) -> Any:
    return X.index if isinstance(X, pd.DataFrame) else None


def _decide(decider: Any, X: Any, groups: Any) -> pd.DataFrame:
    if not len(X):
        empty = {"score": 0.0, "prediction": decider.classes_[0], "decision": "", "lower": 0.0, "upper": 0.0}
        return pd.DataFrame([empty], index=None)[:0].set_index(_index_of(X))
    scored, decisions = _decided(decider, X, groups)
    columns = {
        "score": scored.score,
        "prediction": scored.predicted,
        "decision": np.where(decisions.selected, AUTOMATIC, REVIEW),
        "lower": decisions.lower,
        "upper": decisions.upper,
    }
    return pd.DataFrame(columns, index=_index_of(X))


def _select(decider: Any, X: Any, groups: Any) -> pd.Series:
    selected = _decided(decider, X, groups)[1].selected if len(X) else np.empty(0, dtype=bool)
    return pd.Series(selected, index=_index_of(X), name="selected")


def _predict_selective(decider: Any, X: Any, groups: Any, mark: Any) -> pd.Series:
    labels = decider.predict_selective(X, reject_label=mark, band_groups=groups) if len(X) else decider.classes_[:0]
    return pd.Series(labels, index=_index_of(X), name="prediction")


def _predict(decider: Any, X: Any, groups: Any) -> pd.Series:  # noqa: ARG001
    labels = decider.predict(X) if len(X) else decider.classes_[:0]
    return pd.Series(labels, index=_index_of(X), name="prediction")


def _predict_proba(model: Any, X: Any) -> Any:
    return np.asarray(model.predict_proba(X), dtype=np.float64) if len(X) else np.empty((0, 2))
