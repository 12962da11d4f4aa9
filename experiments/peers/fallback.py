"""scikit-fallback: thresholds on the probability of the predicted class, and anomaly detection.

A threshold t0 for rows predicted as 0 and t1 for rows predicted as 1 reject an interval of scores p that holds 0.5 or
ends there::

    answer 0      reject      answer 1
    ───────────┤■■■■■■■■├──────────────►  p
            1 - t0  0.5  t1

One threshold for both classes makes it symmetric around 0.5.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import IsolationForest
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from experiments.peers.probabilities import (
    FloatArray,
    check_coverage,
    frozen_probabilities,
    probabilities,
    zero_or_one,
)

LIBRARY = "scikit-fallback"


@contextmanager
def _own_warning_filters() -> Iterator[None]:
    """Importing skfb resets the warning filters of the whole process; put them back."""
    with warnings.catch_warnings():
        yield


@dataclass(frozen=True)
class FallbackRate:
    """`RateFallbackClassifierCV`: reject the share 1 - coverage with the lowest probability of the predicted class.

    The one class of the library that is asked for a coverage. Its threshold is the mean of the quantiles of five parts
    of the held rows.
    """

    name: ClassVar[str] = "scikit-fallback rate"
    library: ClassVar[str] = LIBRARY
    heeds_coverage: ClassVar[bool] = True

    def select(self, model: Any, X_held: Any, y_held: ArrayLike, X_test: Any, coverage: float) -> NDArray[np.bool_]:
        """Say which rows of `X_test` get an answer; see `Peer.select`."""
        with _own_warning_filters():
            from skfb.estimators import RateFallbackClassifierCV  # noqa: PLC0415 - an extra
        rejector = RateFallbackClassifierCV(
            frozen_probabilities(), fallback_rate=1 - check_coverage(coverage), cv=5, fallback_mode="store"
        )
        rejector.fit(probabilities(model, X_held), zero_or_one(model, y_held))
        return _answered(rejector.predict(probabilities(model, X_test)))


@dataclass(frozen=True)
class ThresholdPerClass:
    """`MultiThresholdFallbackClassifier`: one threshold for each predicted class, the pair with the best AUC.

    The library cannot be asked for a coverage here, and its own search of pairs looks at accuracy. A user after the AUC
    tries pairs of thresholds that keep the coverage on the held rows, and takes the one with the highest AUC on the
    held rows that it answers, as `skfb.metrics.prediction_quality` gives it. This is the closest that the library comes
    to a band placed for the AUC: the same search, over the bands that hold 0.5 or end there.
    """

    n_pairs: int = 41
    name: ClassVar[str] = "scikit-fallback class thresholds"
    library: ClassVar[str] = LIBRARY
    heeds_coverage: ClassVar[bool] = True

    def select(self, model: Any, X_held: Any, y_held: ArrayLike, X_test: Any, coverage: float) -> NDArray[np.bool_]:
        """Say which rows of `X_test` get an answer; see `Peer.select`."""
        with _own_warning_filters():
            from skfb.estimators import MultiThresholdFallbackClassifier  # noqa: PLC0415 - an extra
        held, labels = probabilities(model, X_held), zero_or_one(model, y_held)
        rejector = MultiThresholdFallbackClassifier(frozen_probabilities(), thresholds=(0.0, 0.0))
        pairs = threshold_pairs(held, check_coverage(coverage), self.n_pairs)
        aucs = [_auc_of_answered(labels, held, rejector.set_params(thresholds=pair).predict(held)) for pair in pairs]
        rejector.set_params(thresholds=pairs[int(np.argmax(aucs))])
        return _answered(rejector.predict(probabilities(model, X_test)))


@dataclass(frozen=True)
class TunedFallbackThreshold:
    """`ThresholdFallbackClassifierCV`: the threshold with the best score of the library's own on the held rows.

    Heeds no coverage. The score is `predict_reject_recall_score`, the mean of the share of right answers accepted and
    the share of wrong answers rejected. With the default, `predict_reject_accuracy_score`, rejecting a row counts as
    right only where the answer is wrong, which with two classes pays on rows below 0.5, of which there are none.
    """

    n_thresholds: int = 19
    name: ClassVar[str] = "scikit-fallback tuned threshold"
    library: ClassVar[str] = LIBRARY
    heeds_coverage: ClassVar[bool] = False

    def select(self, model: Any, X_held: Any, y_held: ArrayLike, X_test: Any, coverage: float) -> NDArray[np.bool_]:
        """Say which rows of `X_test` get an answer; see `Peer.select`."""
        with _own_warning_filters():
            from skfb.estimators import ThresholdFallbackClassifierCV  # noqa: PLC0415 - an extra
            from skfb.metrics import predict_reject_recall_score  # noqa: PLC0415
        check_coverage(coverage)
        rejector = ThresholdFallbackClassifierCV(
            frozen_probabilities(), thresholds=self.n_thresholds, cv=5, scoring=predict_reject_recall_score
        )
        rejector.fit(probabilities(model, X_held), zero_or_one(model, y_held))
        return _answered(rejector.predict(probabilities(model, X_test)))


@dataclass(frozen=True)
class Anomalies:
    """`AnomalyFallbackClassifier`: reject the rows whose features are unusual, whatever the model says.

    Asked for a coverage through the detector, scikit-learn's isolation forest, whose `contamination` is at most one
    half. The detector is fitted on the features of the held rows; columns that are not numbers become codes.
    """

    name: ClassVar[str] = "scikit-fallback anomalies"
    library: ClassVar[str] = LIBRARY
    heeds_coverage: ClassVar[bool] = True

    def select(self, model: Any, X_held: Any, y_held: ArrayLike, X_test: Any, coverage: float) -> NDArray[np.bool_]:  # noqa: ARG002 - every peer takes the same
        """Say which rows of `X_test` get an answer; see `Peer.select`."""
        with _own_warning_filters():
            from skfb.estimators import AnomalyFallbackClassifier  # noqa: PLC0415 - an extra
        if check_coverage(coverage) < 0.5:
            raise ValueError(
                f"coverage must be at least 0.5 for an isolation forest, got {coverage}; see contamination"
            )
        if coverage == 1:
            return np.ones(len(probabilities(model, X_test)), dtype=bool)
        detector = _detector(X_held, contamination=1 - coverage).fit(X_held)
        # predict would turn a frame into an array first; predict_proba passes it on.
        return _answered(AnomalyFallbackClassifier(FrozenEstimator(model), detector).predict_proba(X_test))


def threshold_pairs(held: FloatArray, coverage: float, n_pairs: int) -> list[tuple[float, float]]:
    """Pairs of thresholds that reject the share 1 - coverage of the held rows, around or beside 0.5.

    Parameters
    ----------
    held : ndarray of shape (n_held, 2)
        Probabilities of both classes.
    coverage : float in (0, 1]
        Share of the held rows to answer.
    n_pairs : int
        At most so many pairs, equally far apart in rank.

    Returns
    -------
    list of (float, float)
        Thresholds for the rows predicted as 0 and as 1. Equal scores can make a pair answer more rows.
    """
    ascending = held[np.argsort(held[:, 1], kind="stable")]
    n_rows, n_rejected = len(held), round((1 - coverage) * len(held))
    if n_rejected == 0:
        return [(0.0, 0.0)]
    # A tie of the two classes is predicted as 0, as argmax has it.
    n_zeros = int(np.count_nonzero(ascending.argmax(axis=1) == 0))
    first, last = max(0, n_zeros - n_rejected), min(n_zeros, n_rows - n_rejected)
    starts = np.unique(np.linspace(first, last, n_pairs).round().astype(int))
    # A row is rejected below the threshold and answered at it: take the probability of the next row outside.
    zero_outside = np.concatenate(([np.inf], ascending[:, 0]))
    one_outside = np.concatenate((ascending[:, 1], [np.inf]))
    return [(float(zero_outside[start]), float(one_outside[start + n_rejected])) for start in starts]


def _answered(predictions: Any) -> NDArray[np.bool_]:
    """The mask that scikit-fallback stores with its predictions, turned around."""
    mask = np.asarray(predictions.get_dense_neg_fallback_mask(), dtype=bool)
    return mask if len(mask) == len(predictions) else np.ones(len(predictions), dtype=bool)


def _auc_of_answered(labels: NDArray[np.int64], held: FloatArray, predictions: Any) -> float:
    from skfb.core.array import fbarray  # noqa: PLC0415 - an extra
    from skfb.metrics import prediction_quality  # noqa: PLC0415

    if len(np.unique(labels[_answered(predictions)])) < 2:
        return -np.inf
    return float(prediction_quality(labels, fbarray(held[:, 1], ~_answered(predictions)), roc_auc_score))


def _detector(X: Any, contamination: float) -> Any:
    forest = IsolationForest(contamination=contamination, random_state=0)
    if not hasattr(X, "columns"):
        return forest
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-1)
    encoder = make_column_transformer((codes, make_column_selector(dtype_exclude="number")), remainder="passthrough")
    return make_pipeline(encoder, forest)
