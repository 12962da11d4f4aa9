"""Risk against coverage: how often answers are wrong, the fewer rows are answered.

::

    risk │               ╭─●  every row answered
         │        ╭──●───╯
         │  ●──●──╯
         └──────────────────►  coverage
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from aucross.evaluation.evaluate import evaluate_selective
from aucross.evaluation.inputs import loss_rows
from aucross.evaluation.plots.coverage_curve import CURVE_COVERAGES
from aucross.evaluation.plots.display import (
    LIGHT_GREY,
    CurveDisplay,
    as_floats,
    axes_for,
    draw_grid,
    name_of,
    points_of,
    rows_to_draw,
)
from aucross.evaluation.risk_curves import augrc, aurc, generalized_risk_curve, risk_coverage_curve
from aucross.evaluation.selective_evaluation import SelectiveEvaluation

RiskKind = Literal["selective", "generalized"]

_RISK_LABELS = {
    "selective": "risk: mean loss of the selected rows",
    "generalized": "generalised risk: loss of the selected rows\nspread over all rows",
}
_AREA_NAMES = {"selective": "AURC", "generalized": "AUGRC"}

# More points than this are a line without marks.
_POINTS_WITH_MARKS = 40


class RiskCoverageDisplay(CurveDisplay):
    """The risk of the selected rows against the coverage.

    Parameters
    ----------
    risk : array-like of shape (n_points,)
        Risk of the selected rows.
    optimal : pair of array-like, optional
        Coverage and risk of the best order of the rows, those with the lowest loss first.
    area : float, optional
        Area under the curve, for the legend.
    kind : {"selective", "generalized"}, default="selective"
        Which risk it is, for the labels.

    Attributes
    ----------
    optimal_line_ : matplotlib Line2D or None
        The best order.

    Examples
    --------
    >>> from aucross.evaluation import risk_coverage_curve
    >>> from aucross.evaluation.plots import RiskCoverageDisplay
    >>> curve = risk_coverage_curve([0, 1, 0, 1], [0.9, 0.8, 0.8, 0.6])
    >>> RiskCoverageDisplay(curve.coverage, curve.risk).risk
    array([0.        , 0.33333333, 0.5       ])
    """

    def __init__(
        self,
        coverage: ArrayLike,
        risk: ArrayLike,
        *,
        low: ArrayLike | None = None,
        high: ArrayLike | None = None,
        optimal: tuple[ArrayLike, ArrayLike] | None = None,
        area: float | None = None,
        kind: RiskKind = "selective",
        confidence_level: float = 0.95,
        name: str | None = None,
    ) -> None:
        super().__init__(coverage, low, high, confidence_level, name)
        self.risk = as_floats(risk, "risk", self.coverage.shape)
        self.optimal = (
            None
            if optimal is None
            else (as_floats(optimal[0], "optimal"), as_floats(optimal[1], "optimal", np.shape(optimal[0])))
        )
        self.area = area
        self.kind = _checked_kind(kind)

    @classmethod
    def from_estimator(
        cls,
        clf: Any,
        X: Any,
        y: ArrayLike,
        coverages: Iterable[float] = CURVE_COVERAGES,
        *,
        sample_weight: ArrayLike | None = None,
        band_groups: Any = None,
        n_bootstrap: int = 1000,
        confidence_level: float = 0.95,
        random_state: Any = None,
        ax: Any = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> RiskCoverageDisplay:
        """Draw the share of wrong labels among the rows that a fitted selective classifier selects.

        Parameters
        ----------
        clf, X, y, coverages, sample_weight, band_groups, n_bootstrap, confidence_level, random_state, ax, name
            As for every display; further arguments are those of the line.
        """
        rows = rows_to_draw(clf, X, y, two_classes=False, sample_weight=sample_weight, band_groups=band_groups)
        options = {"n_bootstrap": n_bootstrap, "confidence_level": confidence_level, "random_state": random_state}
        evaluation = evaluate_selective(clf, rows, y, coverages, **options)
        return cls.from_evaluation(evaluation, ax=ax, name=name_of(clf, name), **kwargs)

    @classmethod
    def from_predictions(
        cls,
        loss: ArrayLike,
        confidence: ArrayLike,
        *,
        kind: RiskKind = "selective",
        optimal: bool = False,
        sample_weight: ArrayLike | None = None,
        ax: Any = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> RiskCoverageDisplay:
        """Draw the risk at every threshold of a confidence.

        Parameters
        ----------
        loss : array-like of shape (n_samples,)
            Loss of each row, not negative; ``y_pred != y_true`` in the usual case.
        confidence : array-like of shape (n_samples,)
            Finite confidences; the highest are selected first.
        kind : {"selective", "generalized"}, default="selective"
            The mean loss of the selected rows with the AURC in the legend, or this loss spread over all rows with the
            AUGRC.
        optimal : bool, default=False
            Add the best order of the rows.
        sample_weight, ax, name, **kwargs
            As for every display.
        """
        is_selective = _checked_kind(kind) == "selective"
        curve_of = risk_coverage_curve if is_selective else generalized_risk_curve
        curve = curve_of(loss, confidence, sample_weight=sample_weight)
        if not len(curve.risk):
            raise ValueError("loss must hold at least one row to draw, got none")
        area = (aurc if is_selective else augrc)(loss, confidence, sample_weight=sample_weight)
        best = None
        if optimal:
            losses, _, weight = loss_rows(loss, confidence, sample_weight)
            order = np.argsort(losses, kind="stable")
            best = curve_of(losses[order], -np.arange(len(order)), sample_weight=weight[order])[:2]
        return cls(curve.coverage, curve.risk, optimal=best, area=area, kind=kind, name=name).plot(ax, **kwargs)

    @classmethod
    def from_evaluation(
        cls, evaluation: SelectiveEvaluation, *, ax: Any = None, name: str | None = None, **kwargs: Any
    ) -> RiskCoverageDisplay:
        """Draw 1 minus the accuracy of an evaluation.

        Parameters
        ----------
        evaluation : SelectiveEvaluation
            Result of :func:`aucross.evaluate_selective` or :func:`aucross.evaluate_selections`.
        ax, name, **kwargs
            As for every display.
        """
        points = points_of(evaluation, "selective_accuracy")
        order = np.argsort(points["coverage"], kind="stable")
        risk = 1.0 - points["value"][order]
        high, low = (None if points[end] is None else 1.0 - points[end][order] for end in ("low", "high"))
        level = evaluation.confidence_level
        display = cls(points["coverage"][order], risk, low=low, high=high, confidence_level=level, name=name)
        return display.plot(ax, **kwargs)

    def plot(self, ax: Any = None, name: str | None = None, **kwargs: Any) -> RiskCoverageDisplay:
        """Draw the curve; `ax`, `name` and the arguments of the line are as for every display."""
        ax = axes_for(ax)
        self.optimal_line_ = None
        if self.optimal is not None:
            options = {"color": LIGHT_GREY, "linewidth": 5, "solid_capstyle": "round", "label": "best order"}
            (self.optimal_line_,) = ax.plot(*self.optimal, zorder=2, **options)
        # A curve of one point is nothing but its mark.
        marks = {} if len(self.coverage) <= _POINTS_WITH_MARKS else {"marker": ""}
        label = self.name if name is None else name
        if self.area is not None:
            area = f"{_AREA_NAMES[self.kind]} {self.area:.4f}"
            label = area if label is None else f"{label}: {area}"
        level = self._draw(ax, self.risk, label, {**marks, **kwargs})
        ax.set(xlabel="coverage: share of rows selected", ylabel=_RISK_LABELS[self.kind] + level)
        ax.set_ylim(bottom=0)
        draw_grid(ax)
        return self._on(ax)


def _checked_kind(kind: RiskKind) -> RiskKind:
    if kind not in get_args(RiskKind):
        raise ValueError(f'kind must be "selective" or "generalized", got {kind!r}')
    return kind
