"""How much is selected, and whom the selection leaves out: coverage, class counts and base rates."""

from __future__ import annotations

from typing import NamedTuple

from numpy.typing import ArrayLike

from aucross.core.bands import check_coverage
from aucross.core.ranking import as_positive
from aucross.evaluation.inputs import check_selected, row_weights, weighted_mean
from aucross.evaluation.metrics import metric


class ClassCounts(NamedTuple):
    """Positives and negatives among the selected rows."""

    n_positive: float
    n_negative: float


@metric(reads="selection", better="higher", label="coverage reached")
def achieved_coverage(selected: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    """Coverage: the share of the weight that is selected.

    Parameters
    ----------
    selected : array-like of shape (n,), bool
        True for the rows whose prediction is used.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.

    Returns
    -------
    float
        ``sum(w * selected) / sum(w)``; NaN without rows.

    Notes
    -----
    El-Yaniv & Wiener (2010).

    Examples
    --------
    >>> from aucross.evaluation import achieved_coverage
    >>> achieved_coverage([True, True, False, True])
    0.75
    """
    mask = check_selected(selected)
    return weighted_mean(mask, row_weights(sample_weight, len(mask)))


@metric(reads="selection", better="zero", label="coverage reached minus coverage asked for")
def coverage_error(selected: ArrayLike, target_coverage: float, sample_weight: ArrayLike | None = None) -> float:
    """Coverage reached minus coverage asked for; negative if too few rows are selected.

    Parameters
    ----------
    selected : array-like of shape (n,), bool
        True for the rows whose prediction is used.
    target_coverage : float in (0, 1]
        Coverage asked for.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.

    Returns
    -------
    float
        ``achieved_coverage - target_coverage``; NaN without rows. Its absolute value is the coverage violation,
        tabulated per method by Pugnana & Ruggieri (2023) through the empirical coverage.

    Examples
    --------
    >>> from aucross.evaluation import coverage_error
    >>> coverage_error([True, True, False, True], 0.5)
    0.25
    """
    return achieved_coverage(selected, sample_weight) - check_coverage(target_coverage, "target_coverage")


def selected_counts(
    y_true: ArrayLike, selected: ArrayLike | None = None, *, sample_weight: ArrayLike | None = None
) -> ClassCounts:
    """Number of positives and of negatives among the selected rows, to be reported beside every selective AUC.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        True for positive rows: boolean, 0/1 or -1/1.
    selected : array-like of shape (n,), bool, optional
        True for the rows whose prediction is used; all rows by default.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows; the counts then are sums of weights.

    Returns
    -------
    ClassCounts
        Named tuple ``(n_positive, n_negative)``: integers without weights, floats with them.

    Examples
    --------
    >>> from aucross.evaluation import selected_counts
    >>> selected_counts([0, 1, 1, 0], [True, True, True, False])
    ClassCounts(n_positive=2, n_negative=1)
    """
    positive = as_positive(y_true)
    mask = check_selected(selected, len(positive))
    if sample_weight is None:
        return ClassCounts(int((mask & positive).sum()), int((mask & ~positive).sum()))
    weight = row_weights(sample_weight, len(positive))
    return ClassCounts(float(weight[mask & positive].sum()), float(weight[mask & ~positive].sum()))


@metric(reads="outcomes", better=None, label="rate of {positive} among the automatic cases")
def positive_rate(
    y_true: ArrayLike, selected: ArrayLike | None = None, *, sample_weight: ArrayLike | None = None
) -> float:
    """Share of positives among the selected rows.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        True for positive rows: boolean, 0/1 or -1/1.
    selected : array-like of shape (n,), bool, optional
        True for the rows whose prediction is used; all rows by default.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.

    Returns
    -------
    float
        ``sum(w * selected * y) / sum(w * selected)``; NaN if nothing is selected.

    Notes
    -----
    Reported for every coverage by Pugnana & Ruggieri (2023).

    Examples
    --------
    >>> from aucross.evaluation import positive_rate
    >>> positive_rate([0, 1, 1, 0], [True, True, False, True])
    0.3333333333333333
    """
    counts = selected_counts(y_true, selected, sample_weight=sample_weight)
    total = counts.n_positive + counts.n_negative
    return counts.n_positive / total if total > 0 else float("nan")


@metric(reads="outcomes", better="zero", label="rate of {positive}, automatic cases minus all cases")
def base_rate_shift(
    y_true: ArrayLike, selected: ArrayLike | None = None, *, sample_weight: ArrayLike | None = None
) -> float:
    """Positive rate of the selected rows minus that of all rows.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        True for positive rows: boolean, 0/1 or -1/1.
    selected : array-like of shape (n,), bool, optional
        True for the rows whose prediction is used; all rows by default.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.

    Returns
    -------
    float
        Negative if positives are rejected more often than negatives; NaN if nothing is selected.

    Notes
    -----
    The difference of two positive rates of Pugnana & Ruggieri (2023).

    Examples
    --------
    >>> from aucross.evaluation import base_rate_shift
    >>> base_rate_shift([0, 1, 1, 0], [True, True, False, False])
    0.0
    """
    overall = positive_rate(y_true, sample_weight=sample_weight)
    return positive_rate(y_true, selected, sample_weight=sample_weight) - overall


@metric(reads="outcomes", better="lower", label="share of {positive} sent to review")
def positives_for_review(
    y_true: ArrayLike, selected: ArrayLike | None = None, *, sample_weight: ArrayLike | None = None
) -> float:
    """Share of all positives that are rejected.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        True for positive rows: boolean, 0/1 or -1/1.
    selected : array-like of shape (n,), bool, optional
        True for the rows whose prediction is used; all rows by default.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.

    Returns
    -------
    float
        ``1 - sum(w * selected * y) / sum(w * y)``; NaN without positives.

    Notes
    -----
    In credit and medicine, the share of defaults or of cases that the review has to catch.

    Examples
    --------
    >>> from aucross.evaluation import positives_for_review
    >>> positives_for_review([0, 1, 1, 0, 1, 1], [True, True, False, True, True, True])
    0.25
    """
    positive = as_positive(y_true)
    weight = row_weights(sample_weight, len(positive))
    rejected = ~check_selected(selected, len(positive))
    return weighted_mean(rejected[positive], weight[positive])
