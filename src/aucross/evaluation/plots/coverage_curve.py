"""Curves of AUC and risk over the coverage, with the best possible curve to compare.

::

    AUC  │            / ● Oracle                     risk │               ╭─●  every row answered
         │         / ●/   the rule                        │        ╭──●───╯
         │  ●──●─/                                        │  ●──●──╯
         │···················  all rows                   │
         └──────────────────►                             └──────────────────►
         1.0       0.8       0.6   coverage reached                       coverage
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike

from aucross.core import ThresholdBands
from aucross.core.ranking import FloatArray, RankedScores, as_positive, check_scores
from aucross.core.scored_rows import confidence_of
from aucross.evaluation.auc_metrics import oracle_curve
from aucross.evaluation.catalogue import words_for
from aucross.evaluation.evaluate import evaluate_selections, evaluate_selective
from aucross.evaluation.inputs import BoolArray, check_coverages, loss_rows
from aucross.evaluation.plots.display import DARK_GREY, GREY, LIGHT_GREY, Display, as_floats, next_style, with_defaults
from aucross.evaluation.risk_curves import augrc, aurc, generalized_risk_curve, risk_coverage_curve
from aucross.evaluation.selective_evaluation import SelectiveEvaluation
from aucross.system.text import exact_percent

# Dense enough for a line, few enough for a metric of your own with its replicates.
CURVE_COVERAGES = tuple(round(1.0 - 0.05 * step, 2) for step in range(11))

ORACLE, MAXIMUM_PROBABILITY, BEST_ORDER = "Oracle", "maximum probability", "best order"

Curve = tuple[FloatArray, FloatArray]
RiskKind = Literal["selective", "generalized"]

_REFERENCE_STYLES = {
    ORACLE: {"color": GREY, "linewidth": 6, "alpha": 0.5, "solid_capstyle": "round"},
    MAXIMUM_PROBABILITY: {"color": DARK_GREY, "linewidth": 1.2, "linestyle": (0, (4, 2)), "marker": "x", "ms": 5},
    BEST_ORDER: {"color": LIGHT_GREY, "linewidth": 5, "solid_capstyle": "round"},
}

# The name of the area under each kind of risk, and the label of the axis.
_RISKS = {
    "selective": ("AURC", "risk: mean loss of the selected rows"),
    "generalized": ("AUGRC", "generalised risk: loss of the selected rows\nspread over all rows"),
}

# More points than this are a line without marks.
_POINTS_WITH_MARKS = 40


class CurveDisplay(Display):
    """A curve over the coverage with its intervals, and further curves behind it.

    Parameters
    ----------
    coverage : array-like of shape (n_points,)
        Coverage reached.
    low, high : array-like of shape (n_points,), optional
        Ends of the intervals.
    confidence_level : float, default=0.95
        Level of the intervals, for the label of the axis.

    Attributes
    ----------
    line_ : matplotlib Line2D
        The curve.
    interval_ : matplotlib artist or None
        The area of the intervals.
    reference_lines_ : dict of str to matplotlib Line2D
        The further curves.
    """

    def __init__(
        self,
        coverage: ArrayLike,
        ends: tuple[ArrayLike | None, ArrayLike | None],
        references: Mapping[str, tuple[ArrayLike, ArrayLike]],
        confidence_level: float,
        name: str | None,
    ) -> None:
        self.coverage = as_floats(coverage, "coverage")
        if (ends[0] is None) != (ends[1] is None):
            raise ValueError("low and high must both be given or both be None, got one of them")
        self.low, self.high = (
            None if end is None else as_floats(end, which, self.coverage.shape)
            for which, end in zip(("low", "high"), ends, strict=True)
        )
        self.references = {
            label: (as_floats(x, f"coverage of {label}"), as_floats(y, f"value of {label}", np.shape(x)))
            for label, (x, y) in references.items()
        }
        self.confidence_level, self.name = confidence_level, name

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
        name: str | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the curve of a fitted selective classifier; further arguments as in :meth:`from_evaluation`."""
        rows, name = cls._rows(clf, X, y, name, two_classes=False, sample_weight=sample_weight, band_groups=band_groups)
        options = {"n_bootstrap": n_bootstrap, "confidence_level": confidence_level, "random_state": random_state}
        return cls.from_evaluation(evaluate_selective(clf, rows, y, coverages, **options), name=name, **kwargs)

    @classmethod
    @abstractmethod
    def from_evaluation(cls, evaluation: SelectiveEvaluation, **kwargs: Any) -> Self:
        """Draw the curve of an evaluation."""

    def _draw(self, ax: Any, values: FloatArray, label: str | None, line: dict[str, Any], words: str) -> None:
        """Draw the curve in the next free style, then its interval and the reference curves; name the vertical axis."""
        defaults = {**next_style(ax), "linewidth": 2, "markersize": 5, "label": label, "zorder": 3}
        (self.line_,) = ax.plot(self.coverage, values, **with_defaults(line, **defaults))
        self.interval_ = None
        if self.low is not None and np.isfinite(self.low).any():
            area = {"color": self.line_.get_color(), "alpha": 0.12, "linewidth": 0}
            self.interval_ = ax.fill_between(self.coverage, self.low, self.high, **area)
            words += f"\n(shaded: {exact_percent(self.confidence_level)} interval)"
        self.reference_lines_ = {
            reference: ax.plot(*points, label=reference, **{"zorder": 2, **_REFERENCE_STYLES.get(reference, {})})[0]
            for reference, points in self.references.items()
        }
        ax.set_ylabel(words)


class CoverageCurveDisplay(CurveDisplay):
    """The AUC of the selected rows against the coverage reached.

    The horizontal axis is the achieved coverage, not the requested one, so that a rule gains nothing by rejecting more
    than it should. It runs from 1 (every row answered) on the left to lower coverages.

    Parameters
    ----------
    value : array-like of shape (n_points,)
        AUC, or another metric, of the selected rows. The line has a gap where it is NaN; if it is NaN everywhere, as
        for rows of one class, the picture says so.
    references : dict of str to pair of array-like, optional
        Further curves ``(coverage, value)`` by name, drawn behind: ``"Oracle"``, ``"maximum probability"`` or others.
    metric : str, default="selective_auc"
        Name of the metric in `value`, for the label of the axis.

    Examples
    --------
    >>> from aucross.evaluation.plots import CoverageCurveDisplay
    >>> display = CoverageCurveDisplay([1.0, 0.9, 0.8], [0.76, 0.78, 0.80], name="AUCross")
    >>> display.baseline
    0.76
    """

    def __init__(
        self,
        coverage: ArrayLike,
        value: ArrayLike,
        *,
        low: ArrayLike | None = None,
        high: ArrayLike | None = None,
        references: Mapping[str, tuple[ArrayLike, ArrayLike]] | None = None,
        metric: str = "selective_auc",
        confidence_level: float = 0.95,
        name: str | None = None,
    ) -> None:
        super().__init__(coverage, (low, high), references or {}, confidence_level, name)
        self.value = as_floats(value, "value", self.coverage.shape)
        self.metric = metric

    @classmethod
    def from_estimator(
        cls,
        clf: Any,
        X: Any,
        y: ArrayLike,
        coverages: Iterable[float] = CURVE_COVERAGES,
        *,
        oracle: bool = False,
        maximum_probability: bool = False,
        **kwargs: Any,
    ) -> Self:
        """Draw the AUC curve of a fitted selective classifier; with more than two classes, Hand and Till's M.

        Parameters
        ----------
        clf, X, y, coverages, **kwargs
            As for every display; further arguments go to the line.
        oracle : bool, default=False
            Whether to add the best band on these rows, found with their labels: no band of the score can lie above it.
        maximum_probability : bool, default=False
            Whether to add the curve of rejecting the rows whose predicted class is least probable (for decision values,
            the rows nearest to 0), with thresholds read from these rows.
        """
        coverages = check_coverages(coverages)
        if oracle or maximum_probability:
            given = {name: kwargs.pop(name, None) for name in ("sample_weight", "band_groups")}
            X, kwargs["name"] = cls._rows(clf, X, y, kwargs.get("name"), **given)
            confidence = X.confidence if maximum_probability else None
            own = X.positive, X.score
            kwargs["references"] = reference_curves(own, coverages, oracle, confidence, X.sample_weight)
        return super().from_estimator(clf, X, y, coverages, **kwargs)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_score: ArrayLike,
        selections: Mapping[float, ArrayLike],
        *,
        oracle: bool = False,
        maximum_probability: bool = False,
        sample_weight: ArrayLike | None = None,
        n_bootstrap: int = 1000,
        confidence_level: float = 0.95,
        random_state: Any = None,
        ax: Any = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the curve of selections made by any method.

        Parameters
        ----------
        y_true, y_score, sample_weight, n_bootstrap, confidence_level, random_state, ax, name, **kwargs
            As for every display.
        selections : dict of float to array-like of shape (n_samples,), bool
            Mask of the selected rows for each target coverage.
        oracle, maximum_probability
            As in :meth:`from_estimator`. Scores in [0, 1] count as probabilities, others as decision values with the
            boundary at 0.
        """
        positive = as_positive(y_true)
        score = check_scores(y_score, len(positive))
        options = {"n_bootstrap": n_bootstrap, "confidence_level": confidence_level, "random_state": random_state}
        # Labels stand for predictions: only the accuracy reads these, which is not drawn.
        evaluation = evaluate_selections(positive, score, positive, selections, sample_weight=sample_weight, **options)
        is_probability = bool(((score >= 0) & (score <= 1)).all())
        confidence = confidence_of(score, is_probability=is_probability) if maximum_probability else None
        references = reference_curves((positive, score), list(selections), oracle, confidence, sample_weight)
        return cls.from_evaluation(
            evaluation, metric="selective_auc", references=references, ax=ax, name=name, **kwargs
        )

    @classmethod
    def from_evaluation(
        cls,
        evaluation: SelectiveEvaluation,
        *,
        metric: str | None = None,
        references: Mapping[str, Curve] | None = None,
        ax: Any = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw a metric of an evaluation.

        Parameters
        ----------
        evaluation : SelectiveEvaluation
            Result of :func:`aucross.evaluate_selective` or :func:`aucross.evaluate_selections`.
        metric : str, optional
            One of its metrics; by default the AUC, or Hand and Till's M with more than two classes.
        references, ax, name, **kwargs
            As for the class and for every display.
        """
        if metric is None:
            metric = "selective_auc" if "selective_auc" in evaluation.estimates else "hand_till_m"
        if metric not in evaluation.estimates:
            raise ValueError(f"metric must be one of {list(evaluation.estimates)}, got {metric!r}")
        display = cls(**points_of(evaluation, metric), references=references, metric=metric, name=name)
        return display.plot(ax, **kwargs)

    def plot(self, ax: Any = None, name: str | None = None, **kwargs: Any) -> Self:
        """Draw the curve; `ax`, `name` and the arguments of the line are as for every display."""
        ax = self._axes(ax)
        if not np.isfinite(self.value).any():
            ax.annotate("undefined at every coverage", (0.5, 0.5), xycoords="axes fraction", ha="center")
        mark = "_all rows"  # the underscore keeps it out of the legend
        drawn = [line.get_ydata() for line in ax.get_lines() if line.get_label() == mark]
        if (value := self.baseline) is not None and not any(np.allclose(level, value) for level in drawn):
            place = {"xycoords": ax.get_yaxis_transform(), "xytext": (-4, 3), "textcoords": "offset points"}
            ax.annotate("all rows", (1, value), fontsize="small", color=DARK_GREY, ha="right", **place)
            ax.axhline(value, color=GREY, linestyle=":", linewidth=1.2, zorder=1, label=mark)
        self._draw(ax, self.value, self.name if name is None else name, kwargs, words_for(self.metric))
        ax.set_xlabel("coverage reached: share of automatic cases")
        ax.xaxis.set_inverted(True)
        return self._on(ax)

    @property
    def baseline(self) -> float | None:
        """Value with every row selected; None if the curve has no such point."""
        everything = np.flatnonzero((self.coverage == 1.0) & np.isfinite(self.value))
        return float(self.value[everything[0]]) if len(everything) else None


class RiskCoverageDisplay(CurveDisplay):
    """The risk of the selected rows against the coverage.

    Parameters
    ----------
    risk : array-like of shape (n_points,)
        Risk of the selected rows.
    optimal : pair of array-like, optional
        Coverage and risk for the best order of the rows, which begins with the lowest loss.
    area : float, optional
        Area under the curve, for the legend.
    kind : {"selective", "generalized"}, default="selective"
        Kind of risk, for the labels.

    Attributes
    ----------
    optimal_line_ : matplotlib Line2D or None
        The curve of the best order.

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
        best = {} if optimal is None else {BEST_ORDER: optimal}
        super().__init__(coverage, (low, high), best, confidence_level, name)
        self.risk = as_floats(risk, "risk", self.coverage.shape)
        self.optimal = self.references.get(BEST_ORDER)
        self.area, self.kind = area, _checked_kind(kind)

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
    ) -> Self:
        """Draw the risk at every threshold of a confidence.

        Parameters
        ----------
        loss : array-like of shape (n_samples,)
            Loss of each row, not negative; ``y_pred != y_true`` in the usual case.
        confidence : array-like of shape (n_samples,)
            Finite confidences; the highest are selected first.
        kind : {"selective", "generalized"}, default="selective"
            ``"selective"`` draws the mean loss of the selected rows, with the AURC in the legend; ``"generalized"``
            draws their loss spread over all rows, with the AUGRC.
        optimal : bool, default=False
            Whether to add the curve of the best order of the rows.
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
    ) -> Self:
        """Draw the share of wrong labels among the selected rows of an evaluation; arguments as for every display."""
        points = points_of(evaluation, "selective_accuracy")
        order = np.argsort(points["coverage"], kind="stable")
        risk = 1.0 - points["value"][order]
        high, low = (None if points[end] is None else 1.0 - points[end][order] for end in ("low", "high"))
        level = evaluation.confidence_level
        display = cls(points["coverage"][order], risk, low=low, high=high, confidence_level=level, name=name)
        return display.plot(ax, **kwargs)

    def plot(self, ax: Any = None, name: str | None = None, **kwargs: Any) -> Self:
        """Draw the curve; `ax`, `name` and the arguments of the line are as for every display."""
        ax = self._axes(ax)
        # A curve of one point is nothing but its mark.
        marks = {} if len(self.coverage) <= _POINTS_WITH_MARKS else {"marker": ""}
        label = self.name if name is None else name
        if self.area is not None:
            area = f"{_RISKS[self.kind][0]} {self.area:.4f}"
            label = area if label is None else f"{label}: {area}"
        self._draw(ax, self.risk, label, {**marks, **kwargs}, _RISKS[self.kind][1])
        self.optimal_line_ = self.reference_lines_.get(BEST_ORDER)
        ax.set_xlabel("coverage: share of rows selected")
        ax.set_ylim(bottom=0)
        return self._on(ax)


def _checked_kind(kind: RiskKind) -> RiskKind:
    if kind not in get_args(RiskKind):
        raise ValueError(f'kind must be "selective" or "generalized", got {kind!r}')
    return kind


def points_of(evaluation: SelectiveEvaluation, metric: str) -> dict[str, Any]:
    """Return the coverage reached, a metric and its interval at each coverage, from full coverage down."""
    # So that the line does not jump.
    order = np.argsort(-evaluation.target_coverage, kind="stable")
    ends = evaluation.spread(metric)
    return {
        "coverage": evaluation.estimates["achieved_coverage"][order],
        "value": evaluation.estimates[metric][order],
        "low": ends[f"{metric}_low"][order] if evaluation.has_intervals else None,
        "high": ends[f"{metric}_high"][order] if evaluation.has_intervals else None,
        "confidence_level": evaluation.confidence_level,
    }


def reference_curves(
    rows: tuple[BoolArray, FloatArray],
    coverages: Iterable[float],
    oracle: bool,
    confidence: FloatArray | None,
    sample_weight: ArrayLike | None,
) -> dict[str, Curve]:
    """Return reference curves by name: of the best bands on labelled rows, and of rejecting the least confident."""
    coverages = sorted(coverages, reverse=True)
    curves: dict[str, Curve] = {}
    if oracle:
        curves[ORACLE] = oracle_curve(*rows, coverages, sample_weight=sample_weight)
    if confidence is not None:
        rule = ThresholdBands(RankedScores.from_labels(rows[0], confidence, sample_weight))
        masks = [rule.band(coverage).selects(confidence) for coverage in coverages]
        evaluation = evaluate_selections(
            *rows, rows[0], dict(zip(coverages, masks, strict=True)), sample_weight=sample_weight, n_bootstrap=0
        )
        curves[MAXIMUM_PROBABILITY] = evaluation.estimates["achieved_coverage"], evaluation.estimates["selective_auc"]
    return curves
