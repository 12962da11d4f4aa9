"""Ways to abstain that rank the new rows themselves, as a batch, and keep the share asked for.

They reach the coverage exactly on the batch, and cannot decide on one row alone.

`abstention` (Alexandari, Shrikumar and Kundaje) gives each row of a batch a priority. Its method for the AUC takes
calibrated probabilities in the place of labels, computes for every window of as many rows as are to be rejected what
the AUC would be without it, and gives a row the best of its windows.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from dataclasses import dataclass
from math import ceil
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from experiments.peers.probabilities import FloatArray, check_coverage, probabilities, zero_or_one


@dataclass(frozen=True)
class MaxProbability:
    """Reject the rows of the batch whose predicted class has the lowest probability: no library, and no held rows."""

    name: ClassVar[str] = "max probability"
    library: ClassVar[str] = "none"
    heeds_coverage: ClassVar[bool] = True

    def select(self, model: Any, X_held: Any, y_held: ArrayLike, X_test: Any, coverage: float) -> NDArray[np.bool_]:  # noqa: ARG002 - every peer takes the same
        """Say which rows of `X_test` get an answer; see `Peer.select`."""
        return _lowest(-probabilities(model, X_test).max(axis=1), check_coverage(coverage))


@dataclass(frozen=True)
class WindowPriority:
    """`EstWindowAbstDeltaAuroc` of abstention, on probabilities calibrated by its `PlattScaling` on the held rows.

    As in the library's own example for two classes; of its two calibrators it calls Platt's the safer. The library
    expects the value before the last nonlinearity, here the logarithm of the odds.
    """

    name: ClassVar[str] = "abstention AUC window"
    library: ClassVar[str] = "abstention"
    heeds_coverage: ClassVar[bool] = True

    def select(self, model: Any, X_held: Any, y_held: ArrayLike, X_test: Any, coverage: float) -> NDArray[np.bool_]:
        """Say which rows of `X_test` get an answer; see `Peer.select`."""
        with warnings.catch_warnings():
            # Its first import asks for scipy.misc, which warns that it will be gone.
            warnings.simplefilter("ignore", DeprecationWarning)
            from abstention.abstention import EstWindowAbstDeltaAuroc  # noqa: PLC0415 - an extra
            from abstention.calibration import PlattScaling  # noqa: PLC0415
        held, test = (_log_odds(probabilities(model, rows)[:, 1]) for rows in (X_held, X_test))
        n_rejected = len(test) - ceil(len(test) * check_coverage(coverage))
        if n_rejected == 0:
            return np.ones(len(test), dtype=bool)
        with contextlib.redirect_stdout(io.StringIO()):  # it prints its coefficients
            calibrated = PlattScaling()(valid_preacts=held, valid_labels=zero_or_one(model, y_held))(test)
        window = EstWindowAbstDeltaAuroc(num_to_abstain_on=n_rejected, return_max_across_windows=True)
        return _lowest(window()(posterior_probs=calibrated), coverage)


def _lowest(priority: FloatArray, coverage: float) -> NDArray[np.bool_]:
    """The share of rows with the lowest priority for abstention, as many as the library's own evaluation keeps."""
    selected = np.zeros(len(priority), dtype=bool)
    selected[np.argsort(priority, kind="stable")[: ceil(len(priority) * coverage)]] = True
    return selected


def _log_odds(score: FloatArray) -> FloatArray:
    inside = np.clip(score, 1e-6, 1 - 1e-6)
    return np.log(inside / (1 - inside))
