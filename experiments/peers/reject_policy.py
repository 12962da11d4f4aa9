"""calibrated-explanations: a conformal reject policy on probabilities calibrated by Venn-Abers.

A row is rejected if its prediction set holds both classes or none. The library is asked for a confidence, not for a
coverage, so the confidence is searched on the held rows.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from experiments.peers.probabilities import check_coverage, frozen_probabilities, probabilities, zero_or_one


@dataclass(frozen=True)
class RejectPolicy:
    """`WrapCalibratedExplainer` with ``RejectPolicy.FLAG``, at the confidence whose share of answers is nearest.

    The held rows calibrate, and the confidence is searched on them too.
    """

    n_confidences: int = 16
    name: ClassVar[str] = "calibrated-explanations policy"
    library: ClassVar[str] = "calibrated-explanations"
    heeds_coverage: ClassVar[bool] = True

    def select(self, model: Any, X_held: Any, y_held: ArrayLike, X_test: Any, coverage: float) -> NDArray[np.bool_]:
        """Say which rows of `X_test` get an answer; see `Peer.select`."""
        held, labels = probabilities(model, X_held), zero_or_one(model, y_held)
        from calibrated_explanations import WrapCalibratedExplainer  # noqa: PLC0415 - an extra

        with warnings.catch_warnings():
            # The library warns where every set holds both classes, which is an answer here.
            warnings.simplefilter("ignore", UserWarning)
            explainer = WrapCalibratedExplainer(frozen_probabilities())
            explainer.calibrate(held, labels)
            confidence = self._nearest(explainer, held, check_coverage(coverage))
            return _answered(explainer, probabilities(model, X_test), confidence)

    def _nearest(self, explainer: Any, held: NDArray[np.float64], coverage: float) -> float:
        # Below one half no set holds both classes; beyond 1 - 1/(n + 1) every set does.
        confidences = np.linspace(0.5, 1 - 1 / (len(held) + 1), self.n_confidences)
        shares = np.array([_answered(explainer, held, confidence).mean() for confidence in confidences])
        distance = np.abs(shares - coverage)
        # Of equally near ones the highest: it rejects rows between the classes rather than unusual ones.
        return float(confidences[np.flatnonzero(distance == distance.min())[-1]])


def _answered(explainer: Any, rows: NDArray[np.float64], confidence: float) -> NDArray[np.bool_]:
    from calibrated_explanations.core.reject.policy import RejectPolicy as Policy  # noqa: PLC0415 - an extra

    flagged = explainer.predict(rows, reject_policy=Policy.FLAG, reject_confidence=float(confidence))
    return ~np.asarray(flagged.rejected, dtype=bool)
