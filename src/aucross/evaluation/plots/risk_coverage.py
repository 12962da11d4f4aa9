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

from aucross.core.ranking import FloatArray
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
    pyplot,
)
from aucross.evaluation.risk_curves import RiskCurve, augrc, aurc, generalized_risk_curve, risk_coverage_curve
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
    coverage : array-like of shape (n_points,)
        Coverage reached.
    risk : array-like of shape (n_points,)
        Risk of the selected rows.
    low, high : array-like of shape (n_points,), optional
        Ends of the intervals.
    optimal : pair of array-like, optional
        Coverage and risk of the best order of the rows, those with the lowest loss first.
    area : float, optional
        Area under the curve, for the legend.
    kind : {"selective", "generalized"}, default="selective"
        Which risk it is, for the labels.
    confidence_level : float, default=0.95
        Level of the intervals, for the label of the axis.
    name : str, optional
        Name of the curve in the legend.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    line_ : matplotlib Line2D
        The curve.
    interval_ : matplotlib artist or None
        The area of the intervals.
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
        self._keep(coverage, (low, high), confidence_level, name)
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
        clf : SelectiveClassifier
            Fitted classifier of two or more classes. Its own selections are judged, whatever they are based on.
        X, y
            Test rows and their labels, as in :func:`aucross.evaluate_selective`.
        coverages : iterable of float in (0, 1], default=(1.0, 0.95, ..., 0.5)
            Target coverages.
        sample_weight, band_groups, n_bootstrap, confidence_level, random_state
            As in :func:`aucross.evaluate_selective`.
        ax, name, **kwargs
            As in :meth:`CoverageCurveDisplay.from_estimator`.
        """
        pyplot()
        evaluation = evaluate_selective(
            clf,
            X,
            y,
            coverages,
            sample_weight=sample_weight,
            band_groups=band_groups,
            n_bootstrap=n_bootstrap,
            confidence_level=confidence_level,
            random_state=random_state,
        )
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
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.
        ax, name, **kwargs
            As in :meth:`from_estimator`.
        """
        pyplot()
        curve = _curve(loss, confidence, kind, sample_weight)
        if not len(curve.risk):
            raise ValueError("loss must hold at least one row to draw, got none")
        area = (aurc if kind == "selective" else augrc)(loss, confidence, sample_weight=sample_weight)
        display = cls(
            curve.coverage,
            curve.risk,
            optimal=_best_order(loss, confidence, kind, sample_weight) if optimal else None,
            area=area,
            kind=kind,
            name=name,
        )
        return display.plot(ax, **kwargs)

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
            As in :meth:`from_estimator`.
        """
        pyplot()
        points = points_of(evaluation, "selective_accuracy")
        order = np.argsort(points["coverage"], kind="stable")
        risk, high, low = (
            None if points[name] is None else 1.0 - points[name][order] for name in ("value", "low", "high")
        )
        assert risk is not None
        level = evaluation.confidence_level
        display = cls(points["coverage"][order], risk, low=low, high=high, confidence_level=level, name=name)
        return display.plot(ax, **kwargs)

    def plot(self, ax: Any = None, name: str | None = None, **kwargs: Any) -> RiskCoverageDisplay:
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        name : str, optional
            Name in the legend; the one of the display by default.
        **kwargs : dict
            Arguments of the line.
        """
        ax = axes_for(ax)
        self.optimal_line_ = None
        if self.optimal is not None:
            options = {"color": LIGHT_GREY, "linewidth": 5, "solid_capstyle": "round", "label": "best order"}
            (self.optimal_line_,) = ax.plot(*self.optimal, zorder=2, **options)
        # A curve of one point is nothing but its mark.
        marks = {} if len(self.coverage) <= _POINTS_WITH_MARKS else {"marker": ""}
        level = self._draw(ax, self.risk, self._label(self.name if name is None else name), {**marks, **kwargs})
        ax.set(xlabel="coverage: share of rows selected", ylabel=_RISK_LABELS[self.kind] + level)
        ax.set_ylim(bottom=0)
        draw_grid(ax)
        return self._on(ax)

    def _label(self, name: str | None) -> str | None:
        if self.area is None:
            return name
        area = f"{_AREA_NAMES[self.kind]} {self.area:.4f}"
        return area if name is None else f"{name}: {area}"


def _checked_kind(kind: RiskKind) -> RiskKind:
    if kind not in get_args(RiskKind):
        raise ValueError(f'kind must be "selective" or "generalized", got {kind!r}')
    return kind


def _curve(loss: ArrayLike, confidence: ArrayLike, kind: RiskKind, sample_weight: ArrayLike | None) -> RiskCurve:
    curve = risk_coverage_curve if _checked_kind(kind) == "selective" else generalized_risk_curve
    return curve(loss, confidence, sample_weight=sample_weight)


def _best_order(
    loss: ArrayLike, confidence: ArrayLike, kind: RiskKind, sample_weight: ArrayLike | None
) -> tuple[FloatArray, FloatArray]:
    """Return the curve with the rows of least loss first, one after the other."""
    losses, _, weight = loss_rows(loss, confidence, sample_weight)
    order = np.argsort(losses, kind="stable")
    curve = _curve(losses[order], -np.arange(len(order)), kind, weight[order])
    return curve.coverage, curve.risk
