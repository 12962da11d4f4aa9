"""The risk of selected rows over a falling confidence threshold, and the area under that curve.

Rows are selected from the most confident down. Rows of equal confidence enter together, as one point, because no
threshold separates them; so the curves do not depend on row order.

::

    risk │            ╭──●  every row selected
         │      ╭──●──╯
         │  ●─●─╯
         └──────────────────►  coverage

Four conventions for the area under the risk-coverage curve (AURC) are in use, and they differ in the second digit. For
rows in order of falling confidence, r_k the mean loss of the first k of n rows:

====================  ===============================================  ==========================  =================
convention            definition                                       row order within ties       in use at
====================  ===============================================  ==========================  =================
``grouped``           one point per distinct confidence, trapezoids;   irrelevant                  fd-shifts (which
                      the first risk extends down to coverage 0                                    prints it x 1000)
``mean``              (r_1 + ... + r_n) / n                            as given                    MAPIE, lm-polygraph
``trapezoid``         trapezoids from 1/n to 1, divided by 1 - 1/n     as given                    torch-uncertainty
``trapezoid_origin``  trapezoids with an extra point (0, 0)            as given                    FixSelective-
                                                                                                   Classification
====================  ===============================================  ==========================  =================

With weights a row of weight w stands for w equal rows, for fractional w too: the sum of r_k over the positions of one
row has a closed form in harmonic numbers, which are also defined between the integers. ``mean`` and the trapezoids over
rows therefore depend on the scale of the weights as they depend on n; scale weights to sum to the number of rows.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import digamma, entr

from aucross.core.ranking import FloatArray
from aucross.evaluation.inputs import Weights, loss_rows, weighted_mean
from aucross.evaluation.metric import described, metric

Convention = Literal["grouped", "mean", "trapezoid", "trapezoid_origin"]
Optimum = Literal["exact", "limit"]


class RiskCurve(NamedTuple):
    """Points of a risk curve, by rising coverage: rows with confidence >= threshold are selected."""

    coverage: FloatArray
    risk: FloatArray
    threshold: FloatArray


@described
def risk_coverage_curve(loss: ArrayLike, confidence: ArrayLike, *, sample_weight: Weights = None) -> RiskCurve:
    """Return the selective risk at each distinct confidence value.

    Named tuple ``(coverage, risk, threshold)``, with ``risk = sum(w * l) / sum(w)`` over selected rows (Geifman &
    El-Yaniv, 2017). Empty without rows. The largest coverage with a risk of at most r is ``curve.coverage[curve.risk <=
    r].max()``.

    Examples
    --------
    >>> curve = risk_coverage_curve([0, 1, 0, 1], [0.9, 0.8, 0.8, 0.6])
    >>> curve.coverage, curve.risk
    (array([0.25, 0.75, 1.  ]), array([0.        , 0.33333333, 0.5       ]))
    """
    selected, lost, threshold = _selected_and_lost(loss, confidence, sample_weight)
    return RiskCurve(selected / selected[-1:], lost / selected, threshold)


@described
def generalized_risk_curve(loss: ArrayLike, confidence: ArrayLike, *, sample_weight: Weights = None) -> RiskCurve:
    """Return the generalised risk at each distinct confidence: the loss of selected rows, spread over all rows.

    Named tuple ``(coverage, risk, threshold)``, with ``risk = sum of w * l over selected rows / sum of w over all
    rows`` (Traub et al., NeurIPS 2024): the probability that a row is selected and wrong, for 0/1 losses. Empty without
    rows.

    Examples
    --------
    >>> generalized_risk_curve([0, 1, 0, 1], [0.9, 0.8, 0.8, 0.6]).risk
    array([0.  , 0.25, 0.5 ])
    """
    selected, lost, threshold = _selected_and_lost(loss, confidence, sample_weight)
    return RiskCurve(selected / selected[-1:], lost / selected[-1:], threshold)


def _selected_and_lost(
    loss: ArrayLike, confidence: ArrayLike, sample_weight: Weights
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return weight and loss of the rows selected at each distinct confidence, from the highest down."""
    losses, confidences, weight = loss_rows(loss, confidence, sample_weight)
    negated, tie = np.unique(-confidences, return_inverse=True)
    selected, lost = (np.cumsum(np.bincount(tie, weights=part), dtype=np.float64) for part in (weight, weight * losses))
    return selected, lost, -negated


@metric(reads="losses", better="lower", label="area under risk over coverage (AURC)")
def aurc(
    loss: ArrayLike, confidence: ArrayLike, *, convention: Convention = "grouped", sample_weight: Weights = None
) -> float:
    """Return the area under the risk-coverage curve; lower is better.

    NaN without rows; for ``"trapezoid"`` also with a single row.

    Notes
    -----
    Geifman, Uziel & El-Yaniv (ICLR 2019); finite-sample estimators: Zhou et al. (ICML 2025). ``"mean"`` equals
    ``sum_i l_(i) * (H_n - H_{i-1}) / n`` with H the harmonic numbers.

    Examples
    --------
    >>> confidence = [0.99, 0.95, 0.9, 0.9, 0.9, 0.8, 0.7, 0.7, 0.6, 0.55]
    >>> errors = [0, 0, 1, 0, 0, 0, 1, 0, 1, 1]
    >>> for convention in ("grouped", "mean", "trapezoid", "trapezoid_origin"):
    ...     print(f"{convention}: {aurc(errors, confidence, convention=convention):.4f}")
    grouped: 0.1558
    mean: 0.2219
    trapezoid: 0.2243
    trapezoid_origin: 0.2019
    """
    _check_convention(convention)
    if convention == "grouped":
        curve = risk_coverage_curve(loss, confidence, sample_weight=sample_weight)
        if len(curve.risk) == 0:
            return float("nan")
        coverage, risk = np.append(0.0, curve.coverage), np.append(curve.risk[0], curve.risk)
        return float(np.trapezoid(risk, coverage))
    losses, confidences, weight = loss_rows(loss, confidence, sample_weight)
    order = np.argsort(-confidences, kind="stable")  # stable: tied rows stay as given
    return _area_of_ordered(losses[order], weight[order], convention)


@described
def optimal_aurc(
    loss: ArrayLike, *, convention: Convention = "grouped", optimum: Optimum = "exact", sample_weight: Weights = None
) -> float:
    """Return the AURC of the best confidence for given losses: rows selected in order of rising loss.

    NaN without rows.

    Notes
    -----
    For 0/1 losses with m errors among n rows and r = m / n, the exact optimum with ``"mean"`` is
    ``sum_k max(0, (k - (n - m)) / k) / n`` and the limit is ``r + (1 - r) * log(1 - r)``, which fd-shifts uses.
    Geifman, Uziel & El-Yaniv (ICLR 2019).

    Examples
    --------
    >>> round(optimal_aurc([0, 1, 0, 1], convention="mean"), 4)  # (0 + 0 + 1/3 + 2/4) / 4
    0.2083
    >>> round(optimal_aurc([0, 1, 0, 1], optimum="limit"), 4)
    0.1534
    """
    _check_convention(convention)
    if optimum not in get_args(Optimum):
        raise ValueError(f'optimum must be "exact" or "limit", got {optimum!r}')
    losses, _, weight = loss_rows(loss, None, sample_weight)
    order = np.argsort(losses)
    losses, weight = losses[order], weight[order]
    if optimum == "exact":
        return _area_of_ordered(losses, weight, convention)
    if len(losses) == 0:
        return float("nan")
    # A loss at coverage t counts in the risk of all coverages above t: the integral of 1/c from t to 1 is -log(t).
    ends = np.append(0.0, np.cumsum(weight) / weight.sum())
    ends[-1] = 1.0
    return float(losses @ np.diff(ends + entr(ends)))


@metric(reads="losses", better="lower", label="AURC above the best confidence (E-AURC)")
def excess_aurc(
    loss: ArrayLike,
    confidence: ArrayLike,
    *,
    convention: Convention = "grouped",
    optimum: Optimum = "exact",
    sample_weight: Weights = None,
) -> float:
    """Return the excess AURC (E-AURC; Geifman, Uziel & El-Yaniv, 2019): the AURC minus the optimal AURC.

    0 for the best distinct confidences if the optimum is exact; NaN without rows. With ``"grouped"``, ties can give
    values slightly below 0, because a straight line between two points lies below the curve.

    Examples
    --------
    >>> print(f"{excess_aurc([0, 1, 0, 1], [0.9, 0.8, 0.7, 0.6]):.4f}")
    0.1250
    """
    area = aurc(loss, confidence, convention=convention, sample_weight=sample_weight)
    return area - optimal_aurc(loss, convention=convention, optimum=optimum, sample_weight=sample_weight)


@metric(reads="losses", better="lower", label="normalised AURC (NAURC)")
def normalized_aurc(
    loss: ArrayLike,
    confidence: ArrayLike,
    *,
    convention: Convention = "grouped",
    optimum: Optimum = "exact",
    sample_weight: Weights = None,
) -> float:
    """Return the normalised AURC (NAURC): 0 for the best confidence, 1 for confidence that says nothing.

    ``(AURC - optimal) / (r - optimal)`` with r the mean loss (Cattelan & Silva, UAI 2024); NaN without rows and where
    all losses are equal.

    Examples
    --------
    >>> normalized_aurc([0, 1, 0, 1], [0.5, 0.5, 0.5, 0.5])
    1.0
    >>> round(normalized_aurc([0, 1, 0, 1], [0.9, 0.8, 0.7, 0.6]), 4)
    0.3529
    """
    losses, _, weight = loss_rows(loss, None, sample_weight)
    area = aurc(loss, confidence, convention=convention, sample_weight=sample_weight)
    best = optimal_aurc(loss, convention=convention, optimum=optimum, sample_weight=sample_weight)
    if not len(losses) or np.ptp(losses) == 0:
        return float("nan")
    return (area - best) / (weighted_mean(losses, weight) - best)


@metric(reads="losses", better="lower", label="area under generalised risk over coverage (AUGRC)")
def augrc(loss: ArrayLike, confidence: ArrayLike, *, sample_weight: Weights = None) -> float:
    """Return the area under the generalised-risk-coverage curve; lower is better.

    The area is the sum of trapezoids from (0, 0); it equals the mean over all orders of tied rows. NaN without rows.

    Notes
    -----
    Traub et al. (NeurIPS 2024). For 0/1 losses it equals ``(1 - AUROC_f) * a * (1 - a) + (1 - a)^2 / 2`` with a the
    accuracy and AUROC_f the AUC of correctness by confidence; the optimum is ``(1 - a)^2 / 2``.

    Examples
    --------
    >>> augrc([0, 1, 0, 1], [0.9, 0.8, 0.7, 0.6])
    0.1875
    """
    curve = generalized_risk_curve(loss, confidence, sample_weight=sample_weight)
    if len(curve.risk) == 0:
        return float("nan")
    return float(np.trapezoid(np.append(0.0, curve.risk), np.append(0.0, curve.coverage)))


def _check_convention(convention: str) -> None:
    if convention not in get_args(Convention):
        raise ValueError(f"convention must be one of {', '.join(get_args(Convention))}, got {convention!r}")


def _area_of_ordered(loss: FloatArray, weight: FloatArray, convention: Convention) -> float:
    """Return the area for rows in order of selection, with one point of the curve for each row.

    Every convention is the sum of the risks at the positions 1 ... W plus a correction at the ends; a row of weight w
    takes w positions. Inside a row of loss l that starts after a positions with summed loss L, the risk at position j
    is ``(L + (j - a) * l) / j = l + (L - a * l) / j``; summed over the row's positions a + 1 ... b this is ``l * (b -
    a) + (L - a * l) * (H_b - H_a)``.
    """
    if len(loss) == 0:
        return float("nan")
    stop = np.cumsum(weight)
    start = stop - weight
    lost_before = np.cumsum(weight * loss) - weight * loss
    # digamma(x + 1) is the harmonic number H_x less a constant; one position is 1 / b without rounding.
    harmonic = np.where(weight == 1, 1 / stop, digamma(stop + 1) - digamma(start + 1))
    summed = float((loss * weight + (lost_before - start * loss) * harmonic).sum())
    total, first, last = float(weight.sum()), float(loss[0]), weighted_mean(loss, weight)
    if convention == "mean":
        return summed / total
    if convention == "grouped":
        return (summed + (first - last) / 2) / total
    if convention == "trapezoid_origin":
        return (summed - last / 2) / total
    return (summed - (first + last) / 2) / (total - 1) if total > 1 else float("nan")
