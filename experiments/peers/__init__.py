"""Neighbouring libraries, asked to abstain on the same rows, with the same scores, at the same coverages.

Each peer takes a fitted classifier, rows that it has not trained on and new rows, and says which of the new rows it
would answer. What a library cannot be asked directly is reached as its users would reach it, and the class says how.
`docs/evidence/peers.md` says what each of them can and cannot express.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from experiments.peers.fallback import Anomalies, FallbackRate, ThresholdPerClass, TunedFallbackThreshold
from experiments.peers.ranked_batch import MaxProbability, WindowPriority
from experiments.peers.reject_policy import RejectPolicy
from experiments.peers.risk_control import GuaranteedCoverage, GuaranteedPrecisions, MatchedRisk, PredictionSets
from experiments.peers.tuned_threshold import TunedDecisionThreshold

__all__ = [
    "PEERS",
    "Anomalies",
    "FallbackRate",
    "GuaranteedCoverage",
    "GuaranteedPrecisions",
    "MatchedRisk",
    "MaxProbability",
    "Peer",
    "PredictionSets",
    "RejectPolicy",
    "ThresholdPerClass",
    "TunedDecisionThreshold",
    "TunedFallbackThreshold",
    "WindowPriority",
    "installed_peers",
]

MODULES = {
    "scikit-fallback": "skfb",
    "MAPIE": "mapie",
    "scikit-learn": "sklearn",
    "abstention": "abstention",
    "calibrated-explanations": "calibrated_explanations",
}


class Peer(Protocol):
    """A way to abstain with another library.

    Attributes
    ----------
    name : str
        Short name for tables, unique.
    library : str
        The library it comes from.
    heeds_coverage : bool
        Whether `coverage` has any effect. Otherwise the library goes to an operating point of its own.
    """

    @property
    def name(self) -> str: ...  # noqa: D102 - described above

    @property
    def library(self) -> str: ...  # noqa: D102

    @property
    def heeds_coverage(self) -> bool: ...  # noqa: D102

    def select(self, model: Any, X_held: Any, y_held: ArrayLike, X_test: Any, coverage: float) -> NDArray[np.bool_]:
        """Say which rows of `X_test` get an answer.

        Parameters
        ----------
        model : fitted binary classifier with `predict_proba`
            It is used as it is, never trained again.
        X_held, y_held : array-like or frame of n_held rows, labels
            Rows that the model has not trained on, on which the peer may place its thresholds.
        X_test : array-like or frame of n_test rows
            Rows to answer or not.
        coverage : float in (0, 1]
            The share of rows to answer, as far as the peer can be asked for it.

        Returns
        -------
        ndarray of n_test booleans
            True where the row is answered.
        """
        ...


# Those of the study of the paper's tables; the suite of further data sets names its own.
PEERS: tuple[Peer, ...] = (
    FallbackRate(),
    ThresholdPerClass(),
    TunedFallbackThreshold(),
    Anomalies(),
    MatchedRisk("accuracy"),
    MatchedRisk("precision"),
    PredictionSets(),
    GuaranteedCoverage(),
    GuaranteedPrecisions(),
    TunedDecisionThreshold(),
)


def installed_peers() -> tuple[Peer, ...]:
    """Those of `PEERS` whose library can be imported; ``pip install "aucross[experiments]"`` brings all."""
    return tuple(peer for peer in PEERS if find_spec(MODULES[peer.library]) is not None)
