"""From model scores to the input of a rule.

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
    """Turns the score of the model that answers, and that of a second model, into the input of a rule."""

    def read(self, score: FloatArray, second: FloatArray | None) -> Reading:
        """Return score columns and class probabilities."""


@dataclass(frozen=True)
class ScoreReader:
    """Reader of the score of the positive class, unchanged."""

    def read(self, score: FloatArray, second: FloatArray | None) -> Reading:  # noqa: ARG002
        """Return the score in one column."""
        return score[:, None], None

    def rounded(self, score: FloatArray, rounding: ScoreRounding) -> FloatArray:
        """Round scores so that the rule's input is rounded."""
        return rounding.round(score)


@dataclass(frozen=True)
class ConfidenceReader:
    """Reader of the model's confidence in the class that it predicts."""

    is_probability: bool

    def read(self, score: FloatArray, second: FloatArray | None) -> Reading:  # noqa: ARG002
        """Return the confidence in one column."""
        return confidence_of(score, is_probability=self.is_probability)[:, None], None

    def rounded(self, score: FloatArray, rounding: ScoreRounding) -> FloatArray:
        """Round scores of two classes so that the confidence is rounded.

        The confidence of a probability p is rounded and put back on the side of p, which loses no digit. A row whose
        confidence rounds to 1/2 has no side left and counts as of the first class.
        """
        if not self.is_probability:
            return rounding.round(score)  # the same on both sides of 0
        confidence = rounding.round(confidence_of(score, is_probability=True))
        return np.where(score > 0.5, confidence, 1.0 - confidence)


@dataclass(frozen=True)
class SelectionReader:
    """Reader of the selection score of a network."""

    def read(self, score: FloatArray, second: FloatArray | None) -> Reading:  # noqa: ARG002
        """Return the selection score in one column."""
        assert second is not None
        return second[:, None], None


@dataclass(frozen=True)
class ContestReader:
    """Reader for more than two classes: the scores in which classes compete, and calibrated probabilities."""

    metric: PairwiseMetric
    model: ProbabilityModel
    response_method: str

    def read(self, score: FloatArray, second: FloatArray | None) -> Reading:  # noqa: ARG002
        """Return the columns of the metric beside the class probabilities."""
        return self.metric.columns(score), self.model.predict(as_evidence(score, self.response_method))


@dataclass(frozen=True)
class GateReader:
    """Reader of the classifier's score, and of probabilities that include the gate's score."""

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
        """Whether the gate adds information to the score of the classifier."""
        return 1 in self.model.columns


def gate_evidence(score: FloatArray, method: str, gate_score: FloatArray, gate_method: str) -> FloatArray:
    """Return log-odds or decision values of classifier and gate side by side."""
    return np.column_stack((as_evidence(score, method), as_evidence(gate_score, gate_method)))
