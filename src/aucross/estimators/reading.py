"""From what the models say of rows to what a rule reads.

A reader is fitted with the rule and reads held-out and new rows alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from aucross.core.influence import PairwiseMetric
from aucross.core.ranking import FloatArray
from aucross.core.rounding import ScoreRounding
from aucross.core.scored_rows import confidence_of
from aucross.estimators.probability import ProbabilityModel, as_evidence

# Score columns, and class probabilities where a rule reads them: the first two parts of a RuleInput.
Reading = tuple[FloatArray, FloatArray | None]


class Reader(Protocol):
    """Turns the score of the model that answers, and what a second model says, into what a rule reads."""

    def read(self, score: FloatArray, second: FloatArray | None) -> Reading:
        """Return score columns and class probabilities."""


@dataclass(frozen=True)
class ScoreReader:
    """The rule reads the score of the positive class as it is."""

    def read(self, score: FloatArray, second: FloatArray | None) -> Reading:  # noqa: ARG002
        """Return the score in one column."""
        return score[:, None], None

    def rounded(self, score: FloatArray, rounding: ScoreRounding) -> FloatArray:
        """Round scores so that what a rule reads of them is rounded."""
        return rounding.round(score)


@dataclass(frozen=True)
class ConfidenceReader:
    """The rule reads how sure the model is of the class that it predicts."""

    is_probability: bool

    def read(self, score: FloatArray, second: FloatArray | None) -> Reading:  # noqa: ARG002
        """Return the confidence in one column."""
        return confidence_of(score, is_probability=self.is_probability)[:, None], None

    def rounded(self, score: FloatArray, rounding: ScoreRounding) -> FloatArray:
        """Round scores of two classes so that the confidence, which a rule reads of them, is rounded.

        The confidence of a probability p is rounded and put back on the side of p, which loses no digit. A row whose
        confidence rounds to 1/2 has no side left and counts as of the first class.
        """
        if not self.is_probability:
            return rounding.round(score)  # the same on both sides of 0
        confidence = rounding.round(confidence_of(score, is_probability=True))
        return np.where(score > 0.5, confidence, 1.0 - confidence)


@dataclass(frozen=True)
class SelectionReader:
    """The rule reads the selection score of a network."""

    def read(self, score: FloatArray, second: FloatArray | None) -> Reading:  # noqa: ARG002
        """Return the selection score in one column."""
        assert second is not None
        return second[:, None], None


@dataclass(frozen=True)
class ContestReader:
    """With more than two classes the rule reads the scores that classes compete in, and calibrated probabilities."""

    metric: PairwiseMetric
    model: ProbabilityModel
    response_method: str

    def read(self, score: FloatArray, second: FloatArray | None) -> Reading:  # noqa: ARG002
        """Return the columns of the metric beside the class probabilities."""
        return self.metric.columns(score), self.model.predict(as_evidence(score, self.response_method))


@dataclass(frozen=True)
class GateReader:
    """The rule reads the score of the classifier, and probabilities that take the gate's score into account."""

    model: ProbabilityModel
    response_method: str
    gate_method: str

    def read(self, score: FloatArray, second: FloatArray | None) -> Reading:
        """Return the score beside the class probabilities."""
        assert second is not None
        evidence = gate_evidence(score, self.response_method, second, self.gate_method)
        return score[:, None], self.model.predict(evidence)

    @property
    def uses_gate(self) -> bool:
        """Whether the gate adds to what the score of the classifier says."""
        return 1 in self.model.columns


def gate_evidence(score: FloatArray, method: str, gate_score: FloatArray, gate_method: str) -> FloatArray:
    """Log-odds or decision values of classifier and gate side by side."""
    return np.column_stack((as_evidence(score, method), as_evidence(gate_score, gate_method)))
