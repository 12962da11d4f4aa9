"""Selective classifiers for Dask collections, with the conventions of scikit-learn and lazy answers."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field
from functools import wraps
from numbers import Integral
from typing import Any, ClassVar, Self, TypeVar, cast

import numpy as np
import pandas as pd
from distributed import Client
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils.validation import check_is_fitted

from aucross.cluster.classifier import (
    evaluate_on_cluster,
    fit_on_cluster,
    promise_on_cluster,
    recalibrate_on_cluster,
    scored_part,
)
from aucross.cluster.dask.dask_boosters import is_distributed, local_model, without_client
from aucross.cluster.dask.dask_rows import DaskEngine, DaskRows, connected
from aucross.cluster.decision_folder import PartCounts
from aucross.cluster.decision_folder import write_decisions as _write_parts
from aucross.cluster.engine import Part
from aucross.core.bands import check_coverage
from aucross.core.rounding import ScoreRounding, Statistic, check_statistic
from aucross.estimators.auc import AUCross, PlugInAUC
from aucross.estimators.base import SelectiveClassifier
from aucross.estimators.confidence import SCross
from aucross.estimators.decisions import AUTOMATIC, REVIEW
from aucross.estimators.fitted import light_copy
from aucross.estimators.hashed_folds import HashedFolds
from aucross.estimators.labels import check_reject_label
from aucross.estimators.types import Classifier, Folds
from aucross.evaluation.promise import SelectivePromise
from aucross.evaluation.selective_evaluation import SelectiveEvaluation

Answer = TypeVar("Answer", bound=Callable[..., Any])

# Taken from by number: texts that pandas would make of an array take longer than a small model to score.
_DECISIONS = pd.Series([REVIEW, AUTOMATIC]).array


def _in_memory(method: Answer) -> Answer:
    """Return a method that calls the classifier in memory."""

    @wraps(method)
    def answer(self: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(self.to_local(), method.__name__)(*args, **kwargs)

    return cast(Answer, answer)


@dataclass(kw_only=True, eq=False, repr=False)
class DaskSelectiveClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Base class of the methods on a Dask cluster; its fields are their parameters."""

    # The classifier in memory, its parameters that have the same name here, and whether a model of all rows answers.
    local_class: ClassVar[type[Any]]
    local_parameters: ClassVar[tuple[str, ...]]
    refits: ClassVar[bool] = True

    estimator: Classifier = field(kw_only=False)
    coverage: float = 0.9
    cv: Folds = 5
    random_state: int | None = None
    statistic: Statistic = "auto"
    max_retries: int = 2
    client: Client | None = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None, band_groups: Any = None) -> Self:
        """Train on the cluster and place the bands.

        Parameters
        ----------
        X : Dask DataFrame or Array of shape (n_samples, n_features)
            Training rows.
        y, sample_weight, groups, band_groups : Dask Series or Array of shape (n_samples,)
            As for :class:`~aucross.AUCross`, with labels of two classes. Their partitions may differ from those of `X`,
            if rows and order are the same. Held-out intervals treat rows as independent, whatever their group.
        """
        client, method = connected(self.named_client()), self._method()
        if getattr(self, "coverage_confidence", None) is not None and sample_weight is not None:
            raise ValueError(
                "coverage_confidence must be None with sample_weight: the confidence is about a share of rows and does "
                f"not hold for a share of weight, got {method.coverage_confidence!r}; leave out one of the two"
            )
        rows = DaskRows.of(client, X, y=y, sample_weight=sample_weight, groups=groups, band_groups=band_groups)
        # The fitted classifier in memory, and how the scores that placed its bands were rounded.
        self.local_, _, self.rounding_ = fit_on_cluster(
            method,
            self.estimator,
            rows,
            refits=self.refits,
            statistic=self.statistic,
            attempts=self.max_retries + 1,
            classes=(0, 1) if is_distributed(self.estimator) else None,
        )
        return self

    def __sklearn_clone__(self) -> Self:
        # A clone shares the connection, which cannot be copied.
        plain = copy(self)
        plain.client, plain.estimator = None, without_client(self.estimator)
        twin: Self = BaseEstimator.__sklearn_clone__(plain)
        twin.client = self.client
        if plain.estimator is not self.estimator:
            twin.estimator.set_params(client=self.estimator.client)
        return twin

    def named_client(self) -> Client | None:
        """Return the client of this classifier or of the base classifier, if one was given."""
        with suppress(ValueError):  # of XGBoost, if there is no cluster
            return self.client or (self.estimator.client if is_distributed(self.estimator) else None)
        return None

    def _method(self) -> Any:
        check_coverage(self.coverage)
        check_statistic(self.statistic)
        if not isinstance(self.max_retries, Integral) or self.max_retries < 0:
            raise ValueError(f"max_retries must be a whole number of at least 0, got {self.max_retries!r}")
        folds = self.cv
        if isinstance(folds, Integral) and not isinstance(folds, bool):
            folds = HashedFolds(int(folds), seed=0 if self.random_state is None else self.random_state)
        if not isinstance(folds, HashedFolds):
            raise TypeError(
                f"cv must be a number of folds or HashedFolds, got {folds!r}: on a cluster a fold must follow from the "
                "row alone"
            )
        given = {name: getattr(self, name) for name in self.local_parameters}
        return self.local_class(local_model(self.estimator), cv=folds, **given)

    def to_local(self) -> Any:
        """Return the fitted classifier in memory, which decides on tables and can be stored by ``save``."""
        check_is_fitted(self, "local_")
        return self.local_

    classes_ = property(lambda self: self.to_local().classes_, doc="Class labels; the positive class is the second.")
    band_rule_ = property(lambda self: self.to_local().band_rule_, doc="Rule that gives the band for a coverage.")
    estimator_ = property(lambda self: self.to_local().estimator_, doc="The base classifier in memory, fitted.")

    band = _in_memory(SelectiveClassifier.band)
    expected_coverage = _in_memory(SelectiveClassifier.expected_coverage)
    coverage_for = _in_memory(SelectiveClassifier.coverage_for)
    held_out_auc = _in_memory(SelectiveClassifier.held_out_auc)

    def decide(self, X: Any, coverage: float | None = None, band_groups: Any = None) -> Any:
        """Decide for each row whether to use its prediction, as in memory.

        Returns
        -------
        Dask DataFrame
            The table of :class:`~aucross.Decisions`: ``score`` of the positive class, ``prediction``,
            ``selection_score``, ``decision`` (``"automatic"`` or ``"review"``), and the ends ``lower`` and ``upper`` of
            the row's band; lazy, with the index of a DataFrame.
        """
        rows, local = self._rows(X, band_groups), self.to_local()
        return rows.mapped(_decided, light_copy(local, coverage), _no_decisions(local.classes_))

    def select(self, X: Any, coverage: float | None = None, band_groups: Any = None) -> Any:
        """Return for each row whether to use its prediction, as a lazy collection of the same kind as `X`."""
        return self._answers(X, "select", pd.Series([], dtype=bool, name="selected"), coverage, band_groups)

    def predict_selective(
        self, X: Any, coverage: float | None = None, reject_label: Any = None, band_groups: Any = None
    ) -> Any:
        """Predict labels, with `reject_label` for rejected rows; a lazy collection of the same kind as `X`."""
        classes = self.to_local().classes_
        label = check_reject_label(reject_label, classes)
        return self._answers(X, "predict_selective", _no_labels(classes), coverage, band_groups, reject_label=label)

    def predict(self, X: Any) -> Any:
        """Predict a class label for every row, selected or not, as a lazy collection of the same kind as `X`."""
        local = self.to_local()
        like = _no_labels(local.classes_)
        return DaskRows.of(self.named_client(), X).mapped(_answered, (light_copy(local), "predict", like, {}), like)

    def predict_proba(self, X: Any) -> Any:
        """Return probabilities of the base classifier for every row, as a lazy Array with a column for each class."""
        return DaskRows.of(self.named_client(), X).mapped(_probabilities, self.to_local().estimator_, np.empty((0, 2)))

    def recalibrate(
        self, X: Any, *, label_shift: bool = False, sample_weight: Any = None, band_groups: Any = None
    ) -> Self:
        """Return a copy with the same model and with bands placed on unlabelled rows, as in memory."""
        local = self.to_local()
        rows = DaskRows.of(self.named_client(), X, sample_weight=sample_weight, band_groups=band_groups)
        again = copy(self)
        again.local_ = recalibrate_on_cluster(local, rows, label_shift=label_shift, rounding=self.rounding_)
        return again

    def _answers(
        self, X: Any, method: str, like: pd.Series, coverage: float | None, band_groups: Any, **options: Any
    ) -> Any:
        """Return a method's answer for each row as a collection, computed by the classifier in memory."""
        sent = light_copy(self.to_local(), coverage), method, like, options
        return self._rows(X, band_groups).mapped(_answered, sent, like)

    def _rows(self, X: Any, band_groups: Any) -> DaskRows:
        needs_groups = self.to_local().band_rule_.group_labels is not None
        if needs_groups != (band_groups is not None):
            remedy = "pass the group of each row" if needs_groups else "leave it out"
            raise ValueError(f"band_groups must be given if and only if the bands were fitted per group; {remedy}")
        return DaskRows.of(self.named_client(), X, band_groups=band_groups)


@dataclass(kw_only=True, eq=False, repr=False)
class DaskAUCross(DaskSelectiveClassifier):
    """Reject the band of cross-fitted scores whose rejection leaves the highest AUC, on a Dask cluster.

    Works as :class:`~aucross.AUCross` with ``cv=HashedFolds(5)``, for data on many machines.

    Parameters
    ----------
    estimator : classifier
        ``lightgbm.DaskLGBMClassifier`` or ``xgboost.dask.DaskXGBClassifier``, trained on all workers; or any
        scikit-learn classifier, trained on one worker, whose memory must hold the rows.
    coverage : float in (0, 1], default=0.9
        Share of rows to select by default; `select` and `band` take any other.
    placement, target, nested
        As for :class:`~aucross.AUCross`.
    cv : int or HashedFolds, default=5
        Folds by a hash of each row, which do not depend on the partitions.
    random_state : int, optional
        Seed of the folds, if `cv` is a number.
    statistic : {"auto", "exact", "binned"}, default="auto"
        How held-out scores are counted: ``"exact"`` counts distinct float32 scores; ``"binned"`` counts their top 20
        bits, so that memory does not grow with the rows. ``"auto"`` is exact up to 5 million rows.
    max_retries : int, default=2
        How often a distributed fit is repeated as a whole if a worker is lost.
    client : distributed.Client, optional
        The cluster; by default the client of the base classifier, if it has one, or the current client.

    Attributes
    ----------
    local_ : AUCross
        The classifier in memory, see :meth:`to_local`.
    rounding_ : ScoreRounding
        How scores were rounded when they were counted.

    Notes
    -----
    A band needs only the ranking of held-out scores, and rankings can be added: each partition is counted in place, and
    counts are merged in a tree. `ensemble`, `ties` and `coverage_confidence` of the cross-fitted methods need other
    models or the rows themselves, so they work in memory only. Two classes only.

    Examples
    --------
    >>> from aucross.cluster.dask import DaskAUCross
    >>> from distributed import Client
    >>> from lightgbm import DaskLGBMClassifier
    >>> client = Client(n_workers=2)  # doctest: +SKIP
    >>> clf = DaskAUCross(DaskLGBMClassifier(), coverage=0.8).fit(X, y)  # doctest: +SKIP
    >>> clf.decide(new).to_parquet("decisions")  # doctest: +SKIP
    """

    local_class: ClassVar[type[Any]] = AUCross
    local_parameters: ClassVar[tuple[str, ...]] = ("coverage", "placement", "target", "nested")

    placement: Any = "optimal"
    target: Any = "auc"
    nested: bool = False


class DaskSCross(DaskSelectiveClassifier):
    """Reject the rows of least cross-fitted confidence, on a Dask cluster.

    Works as :class:`~aucross.SCross` with ``cv=HashedFolds(5)``, for data on many machines.

    Parameters
    ----------
    estimator, coverage, cv, random_state, statistic, max_retries, client
        As for :class:`DaskAUCross`. Confidences lie between 1/2 and 1, where 20 bits distinguish 2,048 values:
        ``statistic="binned"`` meets the coverage to about 0.001.
    """

    local_class = SCross
    local_parameters = ("coverage",)


@dataclass(kw_only=True, eq=False, repr=False)
class DaskPlugInAUC(DaskAUCross):
    """Reject the band of hold-out scores whose rejection leaves the highest AUC, on a Dask cluster.

    This takes one training instead of six. If there are many rows, a tenth of them places the band as well as all.
    Works as :class:`~aucross.PlugInAUC` with ``cv=HashedFolds(10)``, for data on many machines.

    Parameters
    ----------
    estimator, coverage, placement, target, nested, random_state, statistic, max_retries, client
        As for :class:`DaskAUCross`.
    coverage_confidence : float in (0, 1), optional
        Reject less, so that new rows keep the coverage with this probability. Not possible with `sample_weight`.
    cv : int or HashedFolds, default=10
        Number of folds, the first of which is held out.
    """

    local_class = PlugInAUC
    local_parameters = (*DaskAUCross.local_parameters, "coverage_confidence")
    refits = False

    coverage_confidence: float | None = None
    cv: Folds = 10


def evaluate_selective(
    clf: Any,
    X: Any,
    y: Any,
    coverages: Iterable[float] | None = None,
    *,
    sample_weight: Any = None,
    band_groups: Any = None,
    **options: Any,
) -> SelectiveEvaluation:
    """Compute metrics at several coverages for labelled rows of a cluster, as :func:`aucross.evaluate_selective` does.

    Rows are ranked in place, and only rankings are sent.

    Parameters
    ----------
    clf : DaskAUCross, DaskPlugInAUC, DaskSCross or SelectiveClassifier
        A fitted classifier, on a cluster or in memory.
    X, y, coverages, sample_weight, band_groups
        As in :func:`aucross.evaluate_selective`; rows of the same form as in the fit, but not the rows of the fit.
    **options : dict
        ``threshold`` and ``confidence_level`` of :func:`aucross.evaluation.evaluate_ranking`.
    """
    local, client, rounding = _local_of(clf)
    rows = DaskRows.of(client, X, y=y, sample_weight=sample_weight, band_groups=band_groups)
    return evaluate_on_cluster(local, rows, coverages, options=options, rounding=rounding)


def promise_selective(
    clf: Any,
    X: Any,
    y: Any,
    coverage: float | None = None,
    *,
    sample_weight: Any = None,
    band_groups: Any = None,
    **options: Any,
) -> SelectivePromise:
    """Promise a coverage and an AUC, as :func:`~aucross.evaluation.promise_selective` does in memory.

    Parameters
    ----------
    clf, X, y, sample_weight, band_groups
        As for :func:`evaluate_selective`.
    coverage : float in (0, 1], optional
        Target coverage; the classifier's by default.
    **options : dict
        ``promised_coverage`` and ``confidence`` of :func:`aucross.evaluation.promise_ranking`.
    """
    local, client, rounding = _local_of(clf)
    rows = DaskRows.of(client, X, y=y, sample_weight=sample_weight, band_groups=band_groups)
    return promise_on_cluster(local, rows, coverage, options=options, rounding=rounding)


def write_decisions(
    clf: Any,
    source: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    *,
    coverage: float | None = None,
    columns: Sequence[str] = (),
    band_groups: str | None = None,
    client: Client | None = None,
) -> list[PartCounts]:
    """Let the workers decide on every row of a folder of Parquet files, as :func:`aucross.cluster.write_decisions`.

    Parameters
    ----------
    clf
        As for :func:`evaluate_selective`.
    source, folder, coverage, columns, band_groups
        As in :func:`aucross.cluster.write_decisions`; all workers must see the folders under these paths.
    client : distributed.Client, optional
        The cluster; the current client by default.
    """
    local, own, _ = _local_of(clf)
    run = DaskEngine(connected(client or own)).run_parts()
    return _write_parts(local, source, folder, coverage=coverage, columns=columns, band_groups=band_groups, run=run)


def _local_of(clf: Any) -> tuple[Any, Client | None, ScoreRounding | None]:
    """Return the classifier in memory, its own client, and the rounding of its scores."""
    is_local = not isinstance(clf, DaskSelectiveClassifier)
    return (clf, None, None) if is_local else (clf.to_local(), clf.named_client(), clf.rounding_)


def _decided(part: Part, clf: Any) -> pd.DataFrame:
    if not len(part.X):
        return _no_decisions(clf.classes_).set_index(_index_of(part))
    decisions = clf.decide(scored_part(clf, part))
    decision = _DECISIONS.take(decisions.selected.view(np.int8))
    return pd.DataFrame({**decisions.columns(), "decision": decision}, index=_index_of(part))


def _answered(part: Part, sent: tuple[Any, str, pd.Series, dict[str, Any]]) -> Any:
    clf, method, like, options = sent
    if part.band_groups is not None:
        options = {**options, "band_groups": part.band_groups}
    values = getattr(clf, method)(part.X, **options) if len(part.X) else like.to_numpy()
    return pd.Series(values, index=_index_of(part), name=like.name)


def _probabilities(part: Part, model: Any) -> Any:
    return np.asarray(model.predict_proba(part.X), dtype=np.float64) if len(part.X) else np.empty((0, 2))


def _no_labels(classes: Any) -> pd.Series:
    label = np.empty(0, dtype=classes.dtype)
    return pd.Series(label.astype(object) if label.dtype.kind == "U" else label, name="prediction")


def _no_decisions(classes: Any) -> pd.DataFrame:
    names, nothing = ("score", "prediction", "selection_score", "decision", "lower", "upper"), np.empty(0)
    columns = {**dict.fromkeys(names, nothing), "prediction": _no_labels(classes), "decision": _DECISIONS[:0]}
    return pd.DataFrame(columns)


def _index_of(part: Part) -> Any:
    return part.X.index if isinstance(part.X, pd.DataFrame) else None
