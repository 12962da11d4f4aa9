"""How sure the numbers are: intervals for coverage and AUC, a bound for the risk, the stability of bands.

These are closed forms for one sample of independent rows; weighted coverage, gains and clustered rows need the
bootstrap.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, log2, sqrt
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri
from scipy.stats import beta, binomtest

from aucross.core.bands import RejectionBand
from aucross.core.ranking import FloatArray
from aucross.evaluation.inputs import answered_rows, check_probability, check_selected, scored_rows

CoverageMethod = Literal["clopper-pearson", "wilson"]
Side = Literal["both", "lower", "upper"]


class Interval(NamedTuple):
    """Ends of a confidence interval."""

    lower: float
    upper: float


class BandStability(NamedTuple):
    """Standard deviation and range of both ends of a band over folds or replicates."""

    lower_sd: float
    lower_range: float
    upper_sd: float
    upper_range: float


_UNKNOWN = Interval(float("nan"), float("nan"))


def coverage_interval(
    selected: ArrayLike, *, level: float = 0.95, method: CoverageMethod = "clopper-pearson"
) -> Interval:
    """Confidence interval for the coverage on new rows.

    Parameters
    ----------
    selected : array-like of shape (n,), bool
        True for the rows whose prediction is used, on rows that did not place the band.
    level : float in (0, 1), default=0.95
        Confidence level.
    method : {"clopper-pearson", "wilson"}, default="clopper-pearson"
        ``"clopper-pearson"`` never covers less than `level`; ``"wilson"`` is shorter and covers `level` on average.

    Returns
    -------
    Interval
        Named tuple ``(lower, upper)``; NaN without rows.

    Notes
    -----
    Clopper-Pearson inverts the binomial tails: its ends are the Beta quantiles ``B(alpha/2; k, n-k+1)`` and
    ``B(1-alpha/2; k+1, n-k)`` for k of n rows selected. Wilson inverts the score test. Both are for counts: with
    weights take the bootstrap.

    Examples
    --------
    >>> from aucross.evaluation import coverage_interval
    >>> lower, upper = coverage_interval([True] * 90 + [False] * 10)
    >>> print(f"{lower:.4f} to {upper:.4f}")
    0.8238 to 0.9510
    """
    if method not in ("clopper-pearson", "wilson"):
        raise ValueError(f'method must be "clopper-pearson" or "wilson", got {method!r}')
    confidence_level = check_probability(level, "level", ends=False)
    mask = check_selected(selected)
    if len(mask) == 0:
        return _UNKNOWN
    if method == "wilson":
        return wilson_interval(float(mask.mean()), len(mask), confidence_level)
    interval = binomtest(int(mask.sum()), len(mask)).proportion_ci(confidence_level, method="exact")
    return Interval(float(interval.low), float(interval.high))


def wilson_interval(rate: float, n_rows: float, level: float) -> Interval:
    """Wilson's confidence interval for a rate that was observed on so many rows, with weights the effective number."""
    z = float(ndtri((1 + level) / 2))
    middle = rate + z * z / (2 * n_rows)
    margin = z * sqrt(rate * (1 - rate) / n_rows + (z / (2 * n_rows)) ** 2)
    low, high = ((middle + side * margin) / (1 + z * z / n_rows) for side in (-1, 1))
    # Rounding must not push an end beyond the rate or beyond 0 and 1.
    return Interval(min(max(low, 0.0), rate), max(min(high, 1.0), rate))


def auc_interval(
    y_true: ArrayLike,
    y_score: ArrayLike,
    selected: ArrayLike | None = None,
    *,
    level: float = 0.95,
    side: Side = "both",
    sample_weight: ArrayLike | None = None,
) -> Interval:
    """DeLong's confidence interval for the AUC of the selected rows.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        True for positive rows: boolean, 0/1 or -1/1.
    y_score : array-like of shape (n,)
        Finite scores, higher for rows that are more likely positive.
    selected : array-like of shape (n,), bool, optional
        True for the rows whose prediction is used; all rows by default. The band must come from other rows.
    level : float in (0, 1), default=0.95
        Confidence level.
    side : {"both", "lower", "upper"}, default="both"
        ``"lower"`` is the bound to promise: the AUC is above it with confidence `level`; the other end is 1.
        ``"upper"`` is the reverse.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows; a weight counts as that many equal rows.

    Returns
    -------
    Interval
        Named tuple ``(lower, upper)``, cut off at 0 and 1; NaN if a class has no more than one selected row.

    Notes
    -----
    DeLong, DeLong & Clarke-Pearson (1988): ``AUC +- z * se``. For perfectly separated classes the standard error is 0
    and would promise an AUC of 1. Then the bound is ``alpha^(1/m)`` with m the smaller class: m disjoint pairs are
    independent, and an AUC of A orders all of them with probability A^m at most. An AUC of 0 is treated alike. Close
    to 1 and with few rows in a class the interval is too short; the bootstrap shares that weakness.

    Examples
    --------
    >>> from aucross.evaluation import auc_interval
    >>> y_true, y_score = [0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    >>> lower, upper = auc_interval(y_true, y_score)
    >>> print(f"{lower:.4f} to {upper:.4f}")
    0.5809 to 1.0000
    """
    if side not in ("both", "lower", "upper"):
        raise ValueError(f'side must be "both", "lower" or "upper", got {side!r}')
    alpha = 1.0 - check_probability(level, "level", ends=False)
    ranked = scored_rows(y_true, y_score, selected, sample_weight).ranked()
    if np.isnan(ranked.auc_standard_error()):
        return _UNKNOWN
    lower, upper = ranked.auc_bounds(alpha / 2 if side == "both" else alpha)
    return Interval(0.0 if side == "upper" else lower, 1.0 if side == "lower" else upper)


def sgr_bound(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    selected: ArrayLike | None = None,
    *,
    delta: float = 0.05,
    n_steps: int | None = None,
) -> float:
    """Upper bound for the selective risk on new rows, valid for a threshold that was searched on these rows.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        True for positive rows: boolean, 0/1 or -1/1.
    y_pred : array-like of shape (n,)
        Predicted labels in the same form.
    selected : array-like of shape (n,), bool, optional
        True for the rows whose prediction is used; all rows by default.
    delta : float in (0, 1), default=0.05
        Probability with which the bound may fail.
    n_steps : int, optional
        Number of thresholds that were tried, which share `delta`. The default, ``ceil(log2(n))``, is that of a binary
        search over n rows; pass 1 if the threshold was fixed beforehand.

    Returns
    -------
    float
        The smallest b for which at most the observed number of errors has probability ``delta / n_steps`` or less, if
        the risk were b. NaN if nothing is selected.

    Notes
    -----
    Selection with guaranteed risk, Geifman & El-Yaniv (2017). With k errors among m selected rows it is the Beta
    quantile ``B(1 - delta / n_steps; k + 1, m - k)``, the one-sided Clopper-Pearson bound; 1 if every row is wrong.

    Examples
    --------
    >>> from aucross.evaluation import sgr_bound
    >>> y_true, y_pred = [0, 1] * 50, [0, 1] * 48 + [1, 0, 0, 1]
    >>> selected = [True] * 98 + [False] * 2
    >>> round(sgr_bound(y_true, y_pred, selected), 4), round(sgr_bound(y_true, y_pred, selected, n_steps=1), 4)
    (0.087, 0.0628)
    """
    failure = check_probability(delta, "delta", ends=False)
    rows = answered_rows(y_true, y_pred, selected, None)
    if n_steps is not None and n_steps < 1:
        raise ValueError(f"n_steps must be at least 1, got {n_steps}; pass 1 for a threshold fixed beforehand")
    n_selected = int(rows.selected.sum())
    if n_selected == 0:
        return float("nan")
    n_errors = int((rows.selected & ~rows.correct).sum())
    steps = n_steps or max(ceil(log2(len(rows.selected))), 1)
    if n_errors == n_selected:
        return 1.0
    return float(beta.ppf(1.0 - failure / steps, n_errors + 1, n_selected - n_errors))


def band_stability(bands: Sequence[RejectionBand]) -> BandStability:
    """Spread of the ends of bands that were placed on different folds, splits or replicates.

    Parameters
    ----------
    bands : sequence of RejectionBand
        Bands for one target coverage.

    Returns
    -------
    BandStability
        Named tuple ``(lower_sd, lower_range, upper_sd, upper_range)``: sample standard deviation (NaN for one band) and
        largest minus smallest value. Ends that are infinite in all bands do not move; if only some are infinite, the
        spread is NaN.

    Notes
    -----
    The question behind it, how far a tuned threshold moves from fold to fold, is raised in scikit-learn#34595.

    Examples
    --------
    >>> from aucross import RejectionBand
    >>> from aucross.evaluation import band_stability
    >>> band_stability([RejectionBand(0.25, 0.5), RejectionBand(0.25, 0.75), RejectionBand(0.25, 1.0)])
    BandStability(lower_sd=0.0, lower_range=0.0, upper_sd=0.25, upper_range=0.5)
    """
    if len(bands) == 0:
        raise ValueError("bands must hold at least one RejectionBand, got none")
    lower = np.array([band.lower for band in bands])
    upper = np.array([band.upper for band in bands])
    return BandStability(*_spread(lower), *_spread(upper))


def _spread(ends: FloatArray) -> tuple[float, float]:
    if (ends == ends[0]).all():
        return (0.0 if len(ends) > 1 else float("nan")), 0.0
    if not np.isfinite(ends).all():
        return float("nan"), float("nan")
    return float(ends.std(ddof=1)), float(np.ptp(ends))
