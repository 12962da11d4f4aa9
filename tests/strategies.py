"""Random rows for property tests, with ties and weights."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from numpy.typing import NDArray

property_test = settings()  # those of tests/conftest.py

coverages = st.floats(min_value=0.05, max_value=1.0)

# Few distinct values, so that ties are the rule; binary fractions, so that sums are exact.
_tied_scores = st.integers(-4, 4).map(lambda eighths: eighths / 8)
counts = st.integers(0, 3).map(float)
fractional_weights = st.floats(min_value=0.01, max_value=100.0)
no_weights = st.just(1.0)


class Rows(NamedTuple):
    """Labelled, scored and weighted rows."""

    labels: NDArray[np.bool_]
    scores: NDArray[np.float64]
    weights: NDArray[np.float64]

    def take(self, index) -> Rows:
        """The rows at `index`, which may repeat rows or leave some out."""
        return Rows(self.labels[index], self.scores[index], self.weights[index])

    @property
    def has_both_classes(self) -> bool:
        """Whether each class has weight."""
        return bool((self.labels & (self.weights > 0)).any() and (~self.labels & (self.weights > 0)).any())


@st.composite
def rows(draw, weights=counts, min_size=1, max_size=14, both_classes=False, distinct=False):
    """Rows with tied scores (or distinct ones) and at least one weight above 0."""
    row = st.tuples(st.booleans(), _tied_scores, weights)
    drawn = draw(st.lists(row, min_size=max(min_size, 2 if both_classes else 1), max_size=max_size))
    labels, scores, weight = (np.array(column) for column in zip(*drawn, strict=True))
    if distinct:
        scores = np.array(draw(st.permutations(range(len(drawn))))) / 8
    if both_classes:
        labels[:2] = True, False
        weight[:2] = np.maximum(weight[:2], 1.0)
    weight[0] = max(weight[0], 1.0)
    return Rows(labels, scores, weight)


@st.composite
def bands_between(draw, values=_tied_scores):
    """Ends of a closed band, or of the empty one."""
    if draw(st.integers(0, 5)) == 0:
        return np.inf, -np.inf
    lower, upper = sorted((draw(values), draw(values)))
    return lower, upper
