"""Rows with their scores, after each model has run once.

::

    X ──► models ──► ScoredRows ──► rule ──► Decisions
                     │ score, predicted        what people and models answered, for evaluation, report and log
                     └ rule_input              what the rule reads, and nothing else
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aucross.core.noise import without_noise
from aucross.core.ranking import FloatArray, IndexArray, effective_size

# Some rows of many: positions, or a slice, which copies nothing.
Rows = IndexArray | slice


@dataclass(frozen=True, eq=False)
class RuleInput:
    """The columns of scored rows that a rule reads.

    Attributes
    ----------
    columns : ndarray of shape (n, n_columns)
        One column with the score on which the band lies; several columns for rules that compare more than two classes.
    probabilities : ndarray of shape (n, n_classes) or None
        Probability of each class, for rules that need it.
    sample_weight : ndarray of shape (n,) or None
        Weights of the rows; None means 1 each.
    groups : ndarray of shape (n,) or None
        Group of each row, for rules with a band for each group.
    tie_breaker : ndarray of shape (n,) or None
        A number in [0, 1) for each row, made from its content, that orders rows of equal score, so that a band may cut
        through a tie. None keeps ties whole.
    known : ndarray of shape (n, n_classes) or None
        Known labels of rows on which a rule is placed again: 1 for the label of a row and 0 for other classes; NaN if
        the label is unknown.
    """

    columns: FloatArray
    probabilities: FloatArray | None = None
    sample_weight: FloatArray | None = None
    groups: NDArray[Any] | None = None
    tie_breaker: FloatArray | None = None
    known: FloatArray | None = None

    @classmethod
    def of_score(cls, score: FloatArray, sample_weight: FloatArray | None = None) -> RuleInput:
        """Make the input of a rule that reads one score."""
        return cls(score[:, None], sample_weight=sample_weight)

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def score(self) -> FloatArray:
        """The first column, the only one that most rules read, with ties broken if there is a tie breaker."""
        score = self.columns[:, 0]
        return score if self.tie_breaker is None else split_ties(score, self.tie_breaker)

    @property
    def may_be_tied(self) -> bool:
        """Whether a band may also reject rows beyond its last row that share its selection score.

        Also True if a rule reads several scores, or if tie breakers leave scores too close to separate.
        """
        if self.probabilities is not None or self.columns.shape[1] > 1 or self.tie_breaker is not None:
            return True
        return len(np.unique(self.score)) < len(self)

    def without_noise(self) -> RuleInput:
        """Return the rows for ranking, with equal scores in place of scores that differ only by noise."""
        probabilities = None if self.probabilities is None else without_noise(self.probabilities)
        return replace(self, columns=without_noise(self.columns), probabilities=probabilities)

    def take(self, rows: Rows) -> RuleInput:
        """Return some of the rows."""
        given = {part.name: getattr(self, part.name) for part in fields(self)}
        return replace(self, **{name: values[rows] for name, values in given.items() if values is not None})

    def share(self, chosen: NDArray[np.bool_]) -> float:
        """Return the share of the total weight that the chosen rows hold."""
        return float(np.average(chosen, weights=self.sample_weight))


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """Rows that each model of a classifier has scored once; everything after the models uses them.

    Made by ``clf.scored(X)``. Pass them in place of ``X`` to ``clf.decide`` and to every other function that takes
    rows.

    Attributes
    ----------
    score : ndarray of shape (n,) or (n, n_classes)
        Score of the positive class (of each class, if there are more than two) by the model that answers.
    classes : ndarray of shape (n_classes,)
        All labels; of two, the second is positive.
    is_probability : bool
        Whether the scores are probabilities; otherwise they are decision values.
    rule_input : RuleInput
        The columns that the rule reads.
    scored_by : str
        Name of the classifier's models and of how their scores are read; other classifiers refuse the rows.
    given_labels : ndarray of shape (n,) or None
        The predicted labels; None if the model predicts the class with the highest score.
    squared_weights : float or None
        Sum of the squared weights of the counted rows, if each entry stands for all rows of a score; None for plain
        rows.
    labels : ndarray of shape (n,) or None
        True labels, if they are known.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from aucross import AUCross
    >>> X, y = make_classification(1000, flip_y=0.3, random_state=0)
    >>> clf = AUCross(LogisticRegression(), random_state=0).fit(X, y)
    >>> scored = clf.scored(X)  # the model runs here, and only here
    >>> print(clf.select(scored, coverage=0.8).mean().round(1), clf.select(scored, coverage=0.6).mean().round(1))
    0.8 0.6
    """

    score: FloatArray
    classes: NDArray[Any]
    is_probability: bool
    rule_input: RuleInput
    scored_by: str = field(default="", repr=False)
    given_labels: NDArray[Any] | None = None
    squared_weights: float | None = None
    labels: NDArray[Any] | None = None

    def __len__(self) -> int:
        return len(self.score)

    def __repr__(self) -> str:
        return f"ScoredRows(n={len(self)}, classes={self.classes.tolist()})"

    @cached_property
    def predicted(self) -> NDArray[Any]:
        """The label that the model answers for each row."""
        if self.given_labels is not None:
            return self.given_labels
        return np.asarray(self.classes[predicted_class(self.score, is_probability=self.is_probability)])

    @property
    def positive(self) -> NDArray[np.bool_]:
        """Whether each labelled row belongs to the positive class."""
        return np.asarray(self.labels == self.classes[1])

    @property
    def answered_positive(self) -> NDArray[np.bool_]:
        """Whether each row is answered with the positive class."""
        return np.asarray(self.predicted == self.classes[1])

    @property
    def sample_weight(self) -> FloatArray | None:
        """Weights of the rows, if they have any."""
        return self.rule_input.sample_weight

    @property
    def n_counted(self) -> float | None:
        """Effective number of counted rows, if each entry stands for several; None for plain rows."""
        if self.squared_weights is None or self.sample_weight is None:
            return None
        return float(self.sample_weight.sum() ** 2 / self.squared_weights) if self.squared_weights > 0 else 0.0

    @property
    def n_effective(self) -> float:
        """Number of rows; with weights Kish's effective number."""
        if self.n_counted is not None:
            return self.n_counted
        return len(self) if self.sample_weight is None else effective_size(self.sample_weight)

    @property
    def band_groups(self) -> NDArray[Any] | None:
        """Group of each row, if the bands were fitted per group."""
        return self.rule_input.groups

    @property
    def confidence(self) -> FloatArray:
        """Probability of the class with the highest score, or the margin of its decision value."""
        return confidence_of(self.score, is_probability=self.is_probability)

    def take(self, rows: Rows) -> ScoredRows:
        """Return some of the rows."""
        return replace(
            self,
            score=self.score[rows],
            rule_input=self.rule_input.take(rows),
            given_labels=None if self.given_labels is None else self.given_labels[rows],
            labels=None if self.labels is None else self.labels[rows],
        )

    def with_rows(self, *, sample_weight: FloatArray | None, band_groups: NDArray[Any] | None) -> ScoredRows:
        """Return the rows with other weights and groups, if given."""
        given = {"sample_weight": sample_weight, "groups": band_groups}
        changes = {name: values for name, values in given.items() if values is not None}
        return replace(self, rule_input=replace(self.rule_input, **changes)) if changes else self

    @classmethod
    def concatenate(cls, batches: Sequence[ScoredRows]) -> ScoredRows:
        """Join batches of rows that one classifier scored, one after the other."""
        first = batches[0]
        if len(batches) == 1:
            return first
        if any(batch.scored_by != first.scored_by for batch in batches):
            raise ValueError("batches must be scored by one classifier, got several; score them again with one")
        columns, *others = (
            _joined([getattr(batch.rule_input, part.name) for batch in batches], part.name)
            for part in fields(RuleInput)
        )
        assert columns is not None
        return replace(
            first,
            score=np.concatenate([batch.score for batch in batches]),
            given_labels=_joined([batch.given_labels for batch in batches], "given_labels"),
            rule_input=RuleInput(columns, *others),
            labels=_joined([batch.labels for batch in batches], "labels"),
        )


def confidence_of(score: FloatArray, *, is_probability: bool) -> FloatArray:
    """Return a model's confidence in the predicted class: its probability.

    For decision values, it is the distance from the boundary or, with more than two classes, the lead over the second.
    """
    if score.ndim == 1:
        return np.maximum(score, 1.0 - score) if is_probability else np.abs(score)
    if is_probability:
        return np.asarray(score.max(axis=1))
    second, first = np.partition(score, -2, axis=1)[:, -2:].T
    return np.asarray(first - second)


def predicted_class(score: FloatArray, *, is_probability: bool) -> IndexArray:
    """Return the number of the class with the highest score; the first of two classes with equal scores."""
    if score.ndim == 1:
        return (score > (0.5 if is_probability else 0.0)).astype(np.intp)
    return np.asarray(score.argmax(axis=1))


# Binary digits at the end of a score that tell tied rows apart: 16.8 million of them, and 28 digits stay the score's.
_TIE_DIGITS = 24
# A score nearer to 0 has no such digits to spare.
_SMALLEST_SCORE = 1e-150


def split_ties(score: FloatArray, tie_breaker: FloatArray) -> FloatArray:
    """Break ties by replacing the last 24 binary digits of each rounded score by those of the row's tie breaker.

    Scores change by less than 6e-9 of their size, so only scores that close may change places. Scores within 1e-150 of
    0 count as 0. Scores are rounded, not cut off, so that a score such as 1/4 with noise in its last digits stays one
    score. Tie breakers are numbers in [0, 1).
    """
    digits = (tie_breaker * 2.0**_TIE_DIGITS).astype(np.int64)
    pattern = np.ascontiguousarray(score).view(np.int64) + (1 << _TIE_DIGITS - 1)
    with_digits = (pattern >> _TIE_DIGITS << _TIE_DIGITS | digits).view(np.float64)
    return np.where(np.abs(score) < _SMALLEST_SCORE, tie_breaker * _SMALLEST_SCORE, with_digits)


def _joined(parts: Sequence[NDArray[Any] | None], name: str) -> NDArray[Any] | None:
    given = [part for part in parts if part is not None]
    if given and len(given) < len(parts):
        name = name.replace("sample_weight", "weights")
        raise ValueError(f"every batch must have {name} or none, got {len(given)} of {len(parts)} with {name}")
    return np.concatenate(given) if given else None
