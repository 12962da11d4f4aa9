"""Coverage and AUC of new rows without labels: an estimate that rests on an assumption."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aucross.core.ranking import FloatArray, RankedScores
from aucross.core.scored_rows import ScoredRows
from aucross.estimators import SelectiveClassifier
from aucross.estimators.types import Column, Table
from aucross.system.notebook import InWords


@dataclass(frozen=True)
class SelectiveEstimate(InWords):
    """Expected figures of new rows if scores still mean what they meant at the fit; made by :func:`estimate_selective`.

    Attributes
    ----------
    coverage, auc, selective_auc, known_auc, known_selective_auc, n_rows : float, int
        Share of automatic rows (counted), expected AUC of all and of automatic rows, then both AUCs on held-out rows
        of the fit, and the number of new rows.
    """

    coverage: float
    auc: float
    selective_auc: float
    known_auc: float
    known_selective_auc: float
    n_rows: int

    @property
    def sentence(self) -> str:
        """The estimate, and what it cannot see."""
        return (
            f"Estimated without labels: {self.coverage:.1%} of {self.n_rows:,} new cases are automatic, with an AUC "
            f"of about {self.selective_auc:.3f} (all cases {self.auc:.3f}). This assumes that a score means what it "
            f"meant at the fit. If the meaning of the features has changed, it is no better than the last known AUC, "
            f"{self.known_selective_auc:.3f} (all cases {self.known_auc:.3f}); only an audit measures it."
        )


def estimate_selective(
    clf: SelectiveClassifier, X_new: Table, coverage: float | None = None, band_groups: Column = None
) -> SelectiveEstimate:
    """Estimate coverage, AUC and selective AUC of new rows that have no labels.

    Parameters
    ----------
    clf : SelectiveClassifier
        Fitted classifier of two classes.
    X_new : array-like or frame of shape (n_samples, n_features), or ScoredRows
        New rows; scored rows may have weights.
    coverage, band_groups
        Target coverage, the classifier's own by default, and the group of each row, if bands were fitted per group.

    Returns
    -------
    SelectiveEstimate
        With a ``sentence`` that says what it assumes.

    Notes
    -----
    Each new row counts as positive with the share of positives among held-out rows of its score, or with the
    probability of the gate. This misses changes in what the features *mean*; use :func:`audited_auc` to measure.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from aucross import AUCross
    >>> from aucross.audit import estimate_selective
    >>> X, y = make_classification(4000, flip_y=0.3, random_state=0)
    >>> clf = AUCross(LogisticRegression(), coverage=0.8, random_state=0).fit(X[:2000], y[:2000])
    >>> estimate = estimate_selective(clf, X[2000:])
    >>> print(round(estimate.coverage, 1), estimate.selective_auc > estimate.auc)
    0.8 True
    """
    if len(clf.classes_) > 2:
        raise ValueError(f"clf must tell two classes apart, got {len(clf.classes_)} classes; there is no single AUC")
    rows = clf.scored(X_new, band_groups=band_groups)
    if not len(rows):
        raise ValueError("X_new must hold at least one row, got none")
    known = clf.held_out_.ranked_both_classes()
    selected, probability = clf.decide(rows, coverage).selected, expected_probability(known.isotonic(), rows)
    weight = np.ones(len(rows)) if rows.sample_weight is None else rows.sample_weight
    masks = np.ones(len(rows), dtype=bool), selected
    expected = [RankedScores.from_probabilities(probability[own], rows.score[own], weight[own]).auc() for own in masks]
    known_selective = clf.held_out_.ranked(clf.decide(clf.fitted_.scored_held_out(), coverage).selected).auc()
    share = float(weight @ selected / weight.sum())
    return SelectiveEstimate(share, expected[0], expected[1], known.auc(), known_selective, len(rows))


def expected_auc(clf: SelectiveClassifier, score: FloatArray) -> float:
    """Return the expected AUC of scores, if rows are positive as often as held-out rows of the same score."""
    known = clf.held_out_.ranked_both_classes().isotonic()
    return RankedScores.from_probabilities(known.probability_at(score), score).auc()


def expected_probability(isotonic: RankedScores, rows: ScoredRows) -> FloatArray:
    """Return the probability that each row is positive: from the gate, or from held-out rows of the same score."""
    of_gate = rows.rule_input.probabilities
    return isotonic.probability_at(rows.score) if of_gate is None else of_gate[:, 1]
