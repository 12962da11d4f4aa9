"""The methods on a Dask cluster: each is one in memory, with other places for its rows."""

from __future__ import annotations

from typing import Any, Self

from distributed import Client

from aucross.core.rounding import Statistic
from aucross.dask.base import DaskSelectiveClassifier
from aucross.dask.training import ClusterTraining
from aucross.estimators.auc import AUCross, PlugInAUC
from aucross.estimators.confidence import SCross
from aucross.estimators.held_out import is_never_trained
from aucross.estimators.types import Classifier, Folds


class _CrossFitted(DaskSelectiveClassifier):
    """Every row is scored by the model of the folds that it is not in; a model trained on all rows answers."""

    def _trained(self, training: ClusterTraining, n_folds: int) -> tuple[list[Any], Any]:
        if is_never_trained(self.estimator):  # the same in every fold
            model = training.model()
            return [model] * n_folds, model
        return [training.model(without_fold=fold) for fold in range(n_folds)], training.model()


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
        The cluster; that of the base classifier, if it has one, or the current client by default.

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

    def _trained(self, training: ClusterTraining, n_folds: int) -> tuple[list[Any], Any]:  # noqa: ARG002
        model = training.model(without_fold=0)
        return [model], model
