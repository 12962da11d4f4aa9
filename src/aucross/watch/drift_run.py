"""What a run of the monitor has seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from aucross.watch.drift_reference import Reference
from aucross.watch.sequential import SequentialMeanTest


@dataclass(frozen=True)
class DriftRun:
    """What a run has seen; plain numbers, replaced by each update.

    Attributes
    ----------
    tests : mapping of str to SequentialMeanTest
        By name: ``"coverage"``, the selected share; ``"auc"``, the AUC of the selected rows; ``"base_rate"``, their
        share of positives; ``"calibration"``, that share against their probabilities. What has nothing to be compared
        with is left out.
    counts : mapping of str to tuple of int
        Scores in each bin, by name of the score.
    last_rejected, same_rejected : int
        Rows rejected in the last batch, and how many batches in a row have rejected as many.
    unpaired_positives, unpaired_negatives : tuple of float
        Scores of selected rows with a label that wait for a row of the other class.
    """

    tests: Mapping[str, SequentialMeanTest]
    counts: Mapping[str, tuple[int, ...]]
    unpaired_positives: tuple[float, ...] = ()
    unpaired_negatives: tuple[float, ...] = ()
    last_rejected: int = -1
    same_rejected: int = 0

    @classmethod
    def new(cls, reference: Reference) -> DriftRun:
        """Start a run that has seen nothing."""
        limits = {"coverage": reference, "auc": reference.auc, "base_rate": reference.base_rate}
        tests = {
            name: SequentialMeanTest(each.low, each.high, each.level)
            for name, each in limits.items()
            if each is not None
        }
        if reference.base_rate is not None and reference.is_calibrated:
            # The difference lies between -1 and 1 and is 0 without drift; half of it and a half lies between 0 and 1.
            # What the held-out rows leave open of the share of positives they leave open of the difference at most.
            rate = reference.base_rate
            low, high = ((1 + limit - rate.expected) / 2 for limit in (rate.low, rate.high))
            tests["calibration"] = SequentialMeanTest(low, high, rate.level)
        return cls(tests, {name: (0,) * len(bins.expected) for name, bins in reference.bins.items()})

    def after(self, name: str, test: SequentialMeanTest, **others: Any) -> DriftRun:
        """Replace a test by its state after one more batch, and change other fields."""
        return replace(self, tests={**self.tests, name: test}, **others)
