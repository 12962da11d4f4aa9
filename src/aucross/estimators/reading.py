"""Convert model scores to the input of a rule.

A reader is fitted with the rule and reads held-out and new rows alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, SplineTransformer, StandardScaler

from aucross.core.influence import PairwiseMetric
from aucross.core.ranking import FloatArray
from aucross.core.rounding import ScoreRounding
from aucross.core.scored_rows import confidence_of
from aucross.estimators.types import Labels

# Score columns, and class probabilities where a rule reads them: the first two parts of a RuleInput.
Reading = tuple[FloatArray, FloatArray | None]


class Reader(Protocol):
    """Protocol for objects that convert scores of the answering and any second model to the input of a rule."""

    def read(self, score: FloatArray, second: FloatArray | None) -> Reading:
        """Return the score columns and the class probabilities."""


@dataclass(frozen=True)
class ScoreReader:
    """Reader that leaves the score of the positive class unchanged."""

    def read(self, score: FloatArray, second: FloatArray | None) -> Reading:  # noqa: ARG002
        """Return the score in one column."""
        return score[:, None], None

    def rounded(self, score: FloatArray, rounding: ScoreRounding) -> FloatArray:
        """Round scores so that the rule's input is rounded."""
        return rounding.round(score)


@dataclass(frozen=True)
class ConfidenceReader:
    """Reader that returns the model's confidence in the predicted class."""

    is_probability: bool

    def read(self, score: FloatArray, second: FloatArray | None) -> Reading:  # noqa: ARG002
        """Return the confidence in one column."""
        return confidence_of(score, is_probability=self.is_probability)[:, None], None

    def rounded(self, score: FloatArray, rounding: ScoreRounding) -> FloatArray:
        """Round scores of two classes so that the confidence is rounded.

        A confidence that rounds to 1/2 counts for the first class.
        """
        if not self.is_probability:
            return rounding.round(score)  # the same on both sides of 0
        confidence = rounding.round(confidence_of(score, is_probability=True))
        return np.where(score > 0.5, confidence, 1.0 - confidence)


# Readers that can round scores of two classes so that what a rule reads is rounded.
RoundingReader: TypeAlias = ScoreReader | ConfidenceReader


@dataclass(frozen=True)
class SelectionReader:
    """Reader that returns the selection score of a network."""

    def read(self, score: FloatArray, second: FloatArray | None) -> Reading:  # noqa: ARG002
        """Return the selection score in one column."""
        assert second is not None
        return second[:, None], None


@dataclass(frozen=True)
class ContestReader:
    """Reader for more than two classes; it returns scores that the metric compares, and calibrated probabilities."""

    metric: PairwiseMetric
    model: ProbabilityModel
    response_method: str

    def read(self, score: FloatArray, second: FloatArray | None) -> Reading:  # noqa: ARG002
        """Return the scores that the metric compares, and the class probabilities."""
        return self.metric.columns(score), self.model.predict(as_evidence(score, self.response_method))


@dataclass(frozen=True)
class GateReader:
    """Reader that returns the classifier's score, and class probabilities computed from it and the gate's score."""

    model: ProbabilityModel
    response_method: str
    gate_method: str

    def read(self, score: FloatArray, second: FloatArray | None) -> Reading:
        """Return the score and the class probabilities."""
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


# ---- class probabilities from the held-out scores of one or two models ----

# Enough to bend where calibration fails.
N_KNOTS = 8
# Knots of a curve for more than two classes, and the held-out rows beyond each of its ends, of a tenth of them at most.
# There every class has a curve on the score of every class, and eight knots from the lowest to the highest row bend so
# wildly where few rows lie that the surest rows came first in a queue. The gate, with two classes, keeps eight knots
# over all rows: its curves are borne out by more rows for each coefficient, and other ends hardly move its AUC.
KNOTS_OF_CLASSES = 3
ROWS_BEYOND_CURVES_OF_CLASSES = 20
# Log-odds of probabilities nearer to 0 and 1 than this say more about the model's leaves than about the row.
SMALLEST_PROBABILITY = 1e-6
# Twice the log-likelihood that a further score must add per coefficient. Noise adds 1 on average, and 2.5 in one of 200
# cases. A score that adds 2.5 to 4 may know something, but rules placed by it on less than a thousand rows cost AUC.
LEAST_RAISE = 4.0


@dataclass(frozen=True)
class ProbabilityModel:
    """Logistic regression on splines of scores: each score has a curve, and the curves add up."""

    models: tuple[Any, ...]  # one spline basis per column, then the regression
    columns: tuple[int, ...]  # columns that vary

    @classmethod
    def fit(
        cls,
        evidence: FloatArray,
        labels: Labels,
        sample_weight: FloatArray | None = None,
        *,
        columns: Sequence[int] | None = None,
        n_knots: int = N_KNOTS,
        rows_beyond: int = 0,
    ) -> ProbabilityModel:
        """Fit on held-out rows, given labels and the models' log-odds or decision values.

        Constant columns are left out. Each curve is constant beyond both ends of its spline; `rows_beyond` rows lie
        beyond each end (a tenth of the rows at most).
        """
        if sample_weight is not None:
            used = sample_weight > 0
            evidence, labels, sample_weight = evidence[used], labels[used], sample_weight[used]
            # The ridge must not depend on the unit of the weights: those that sum to 1 would leave no curve at all.
            sample_weight = sample_weight / sample_weight.mean()
        columns = range(evidence.shape[1]) if columns is None else columns
        columns = tuple(column for column in columns if np.ptp(evidence[:, column]) > 0)
        bases = [_basis(evidence[:, [column]], n_knots, rows_beyond) for column in columns]
        regression = LogisticRegression(max_iter=500)
        features = _features(bases, columns, evidence)
        regression.fit(features, labels, sample_weight=sample_weight)
        return cls((*bases, regression), columns)

    @classmethod
    def fit_classes(
        cls, evidence: FloatArray, labels: Labels, sample_weight: FloatArray | None = None
    ) -> ProbabilityModel:
        """Fit on held-out rows of more than two classes, with smoother curves than for two."""
        return cls.fit(
            evidence, labels, sample_weight, n_knots=KNOTS_OF_CLASSES, rows_beyond=ROWS_BEYOND_CURVES_OF_CLASSES
        )

    def predict(self, evidence: FloatArray) -> FloatArray:
        """Return the probability of every class, shape (n, n_classes)."""
        *bases, regression = self.models
        if not len(evidence):
            return np.empty((0, len(regression.classes_)))
        return regression.predict_proba(_features(bases, self.columns, evidence))

    def log_likelihood(self, evidence: FloatArray, labels: Labels, sample_weight: FloatArray | None = None) -> float:
        """Return the mean log-probability of the true classes of the rows."""
        classes = self.models[-1].classes_
        of_label = self.predict(evidence)[np.arange(len(labels)), np.searchsorted(classes, labels)]
        return float(np.average(np.log(np.maximum(of_label, np.finfo(float).tiny)), weights=sample_weight))


def fit_with_further_score(
    evidence: FloatArray, labels: Labels, sample_weight: FloatArray | None = None, *, n_effective: float
) -> ProbabilityModel:
    """Fit on both columns, or only on the first if the second does not clearly raise the likelihood.

    `n_effective` is the effective number of weighted rows.
    """
    both, first = (ProbabilityModel.fit(evidence, labels, sample_weight, columns=part) for part in ((0, 1), (0,)))
    before, after = (model.log_likelihood(evidence, labels, sample_weight) for model in (first, both))
    raised, n_more = 2 * n_effective * (after - before), both.models[-1].coef_.size - first.models[-1].coef_.size
    return both if raised > LEAST_RAISE * n_more else first


def _basis(column: FloatArray, n_knots: int, rows_beyond: int) -> Any:
    """Return the spline basis of one column, or the column unchanged if it has too few values."""
    end = min(rows_beyond / len(column), 0.1)
    knots = np.unique(np.quantile(column, np.linspace(end, 1 - end, n_knots)))
    if len(knots) == 2 and rows_beyond:  # most rows have one value, so that the knots are taken from the values
        values = np.unique(np.clip(column, *knots))
        knots = np.unique(np.quantile(values, np.linspace(0, 1, n_knots)))
    if len(knots) < 3:
        basis = FunctionTransformer()
    else:
        # Constant outside: where knots lie close together the slope at the end of the range means nothing.
        basis = SplineTransformer(knots=knots[:, None], degree=3, extrapolation="constant")
    return make_pipeline(basis, StandardScaler()).fit(column)


def _features(bases: list[Any], columns: tuple[int, ...], evidence: FloatArray) -> FloatArray:
    parts = [basis.transform(evidence[:, [column]]) for basis, column in zip(bases, columns, strict=True)]
    return np.hstack(parts) if parts else np.zeros((len(evidence), 1))


def as_evidence(score: FloatArray, response_method: str) -> FloatArray:
    """Return the log-odds of probabilities; return decision values unchanged."""
    if response_method != "predict_proba":
        return score
    probability = np.clip(score, SMALLEST_PROBABILITY, 1 - SMALLEST_PROBABILITY)
    return np.log(probability / (1 - probability))
