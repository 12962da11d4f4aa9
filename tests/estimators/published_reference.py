"""The four published methods, written a second time, slowly and row by row.

Nothing here uses `aucross`: folds and models come from scikit-learn, everything else from the definitions. Rows have
no weights. The words follow the paper's algorithms: bounds of the improving interval (Algorithm 1), cross-fitted bounds
blended with those of two random halves (Algorithm 2), thresholds on the confidence.
"""

from __future__ import annotations

from bisect import bisect_left
from fractions import Fraction
from math import floor, inf, sqrt

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, train_test_split

WHOLE_SHARE = 1 / sqrt(2)

Band = tuple[float, float]


class Published:
    """One fitted method: the model that answers, and a band for any coverage."""

    def __init__(self, model, band, held_out_scores):
        self.model = model
        self.band = band
        self.held_out_scores = held_out_scores

    def selects(self, scores: list[float], coverage: float) -> list[bool]:
        """Which of the scores lie outside the closed band."""
        lower, upper = self.band(coverage)
        return [score < lower or score > upper for score in scores]


# ---- who is scored ----


def cross_fitted(model, X, y, seed: int, folds: int = 5):
    """Out-of-fold scores, the rows in the order of the folds, two random halves of these rows, the refitted model."""
    random = np.random.RandomState(seed)
    rows: list[int] = []
    scores: list[float] = []
    for train, test in StratifiedKFold(folds, shuffle=True, random_state=random).split(X, y):
        fitted = clone(model).fit(X[train], y[train])
        rows.extend(test.tolist())
        scores.extend(fitted.predict_proba(X[test])[:, 1].tolist())
    labels = [bool(y[row] == 1) for row in rows]
    # The folds draw first, the halves after them.
    halves = [half.tolist() for _, half in StratifiedKFold(2, shuffle=True, random_state=random).split(labels, labels)]
    return labels, scores, halves, clone(model).fit(X, y)


def held_out(model, X, y, seed: int, share: float = 0.1):
    """Scores of a stratified hold-out part by a model trained on the rest."""
    train, test = train_test_split(np.arange(len(y)), test_size=share, stratify=y, random_state=seed)
    fitted = clone(model).fit(X[train], y[train])
    return [bool(y[row] == 1) for row in test], fitted.predict_proba(X[test])[:, 1].tolist(), fitted


# ---- bounds of the improving interval ----


def auc(labels: list[bool], scores: list[float]) -> Fraction:
    """Share of pairs in the right order, ties half, as an exact fraction."""
    negatives = sorted(score for score, label in zip(scores, labels, strict=True) if not label)
    won = Fraction(0)
    for score, label in zip(scores, labels, strict=True):
        if label:
            below = bisect_left(negatives, score)
            ties = sum(negative == score for negative in negatives[below:])
            won += below + Fraction(ties, 2)
    return won / (sum(labels) * len(negatives))


def bound_positions(labels: list[bool], scores: list[float]) -> tuple[int, int]:
    """0-based positions, in ascending order of scores, of the lower and the upper bound."""
    n_rows, n_positive = len(labels), sum(labels)
    area = auc(labels, scores)
    share_of_negatives = Fraction(n_rows - n_positive, n_rows)
    upper = floor(area * share_of_negatives * n_rows)
    from_the_top = [label for _, label in sorted(zip(scores, labels, strict=True), reverse=True)]
    positives_seen, n_rows_kept = 0, 0
    for label in from_the_top:
        positives_seen += label
        if positives_seen > area * n_positive + 1:
            break
        n_rows_kept += 1
    return _clip(n_rows - n_rows_kept, n_rows), _clip(upper, n_rows)


def bounds(labels: list[bool], scores: list[float]) -> tuple[float, float]:
    """Scores at the two positions."""
    ascending = sorted(scores)
    lower, upper = bound_positions(labels, scores)
    return ascending[lower], ascending[upper]


def blend(whole: float, halves: list[float]) -> float:
    """The estimate on all rows and the mean of those on two halves, in the proportion of least variance."""
    return WHOLE_SHARE * whole + (1 - WHOLE_SHARE) * sum(halves) / len(halves)


def centred_band(scores: list[float], centre: float, coverage: float) -> Band:
    """The rows up to half of the rejected share away from the centre in rank."""
    ascending = sorted(scores)
    half_width = len(scores) * (1 - coverage) / 2
    lower, upper = floor(centre - half_width), floor(centre + half_width)
    return ascending[_clip(lower, len(scores))], ascending[_clip(upper, len(scores))]


def _clip(position: int, n_rows: int) -> int:
    return min(max(position, 0), n_rows - 1)


def aucross(model, X, y, seed: int) -> Published:
    """AUCross as published."""
    labels, scores, halves, refitted = cross_fitted(model, X, y, seed)
    lower, upper = bounds(labels, scores)
    of_halves = [bounds([labels[i] for i in half], [scores[i] for i in half]) for half in halves]
    lower = blend(lower, [bound[0] for bound in of_halves])
    upper = blend(upper, [bound[1] for bound in of_halves])
    midpoint = (lower + upper) / 2
    centre = sum(score < midpoint for score in scores)
    return Published(refitted, lambda coverage: centred_band(scores, centre, coverage), scores)


def plug_in_auc(model, X, y, seed: int) -> Published:
    """PlugInAUC as published: centred at the mean of the two positions."""
    labels, scores, fitted = held_out(model, X, y, seed)
    lower, upper = bound_positions(labels, scores)
    return Published(fitted, lambda coverage: centred_band(scores, (lower + upper) / 2, coverage), scores)


# ---- thresholds on the confidence ----


def confidence(scores: list[float]) -> list[float]:
    """The probability of the class that is predicted."""
    return [max(score, 1 - score) for score in scores]


def highest_within_budget(confidences: list[float], coverage: float) -> float:
    """The highest confidence up to which rejecting every row keeps the coverage, -inf if there is none."""
    budget = len(confidences) * (1 - coverage) + 1e-9
    found = -inf
    for candidate in sorted(set(confidences)):
        if sum(value <= candidate for value in confidences) > budget:
            break
        found = candidate
    return found


def published_threshold(confidences: list[float], coverage: float) -> float:
    """The interpolated quantile of the paper, under which rows are rejected."""
    return float(np.quantile(confidences, 1 - coverage))


def plug_in(model, X, y, seed: int) -> Published:
    """PlugIn with the documented difference: the threshold is a row that the budget holds, not a point between rows."""
    _, scores, fitted = held_out(model, X, y, seed)
    values = confidence(scores)
    return Published(fitted, lambda coverage: (-inf, highest_within_budget(values, coverage)), values)


def scross(model, X, y, seed: int) -> Published:
    """SCross with the same difference; the blend never exceeds the threshold of all rows.

    A half so small that no row fits into its budget counts with its lowest confidence.
    """
    _, scores, halves, refitted = cross_fitted(model, X, y, seed)
    values = confidence(scores)

    def band(coverage: float) -> Band:
        whole = highest_within_budget(values, coverage)
        parts = [[values[i] for i in half] for half in halves]
        of_halves = [max(highest_within_budget(part, coverage), min(part)) for part in parts]
        return -inf, min(blend(whole, of_halves), whole)

    return Published(refitted, band, values)


METHODS = {"AUCross": aucross, "PlugInAUC": plug_in_auc, "SCross": scross, "PlugIn": plug_in}
