"""AUC against coverage: what is gained by not answering some rows, and what could be gained at most.

::

    AUC  │            / ● Oracle
         │         / ●/   the rule, with its interval
         │  ●──●─/
         │···················  all rows
         └──────────────────►
         1.0       0.8       0.6   coverage reached
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from aucross.core import ThresholdBands
from aucross.core.ranking import FloatArray, RankedScores, as_positive, check_scores
from aucross.core.scored_rows import confidence_of
from aucross.evaluation.auc_metrics import oracle_curve
from aucross.evaluation.catalogue import words_for
from aucross.evaluation.evaluate import evaluate_selections, evaluate_selective
from aucross.evaluation.inputs import BoolArray, check_coverages
from aucross.evaluation.plots.display import (
    DARK_GREY,
    GREY,
    CurveDisplay,
    as_floats,
    axes_for,
    draw_grid,
    name_of,
    points_of,
    rows_to_draw,
)
from aucross.evaluation.selective_evaluation import SelectiveEvaluation

# Dense enough for a line, few enough for a metric of your own with its replicates.
CURVE_COVERAGES = tuple(round(1.0 - 0.05 * step, 2) for step in range(11))

ORACLE, MAXIMUM_PROBABILITY = "Oracle", "maximum probability"

Curve = tuple[FloatArray, FloatArray]


_REFERENCE_STYLES = {
    ORACLE: {"color": GREY, "linewidth": 6, "alpha": 0.5, "solid_capstyle": "round"},
    MAXIMUM_PROBABILITY: {"color": DARK_GREY, "linewidth": 1.2, "linestyle": (0, (4, 2)), "marker": "x", "ms": 5},
}


class CoverageCurveDisplay(CurveDisplay):
    """The AUC of the selected rows against the coverage reached.

    The horizontal axis is the coverage reached, not the one asked for, so that a rule gains nothing by rejecting more
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

    Attributes
    ----------
    reference_lines_ : dict of str to matplotlib Line2D
        The further curves.

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
        super().__init__(coverage, low, high, confidence_level, name)
        self.value = as_floats(value, "value", self.coverage.shape)
        self.references = {
            label: (as_floats(x, "coverage of a reference"), as_floats(y, "value of a reference", np.shape(x)))
            for label, (x, y) in (references or {}).items()
        }
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
        sample_weight: ArrayLike | None = None,
        band_groups: Any = None,
        n_bootstrap: int = 1000,
        confidence_level: float = 0.95,
        random_state: Any = None,
        ax: Any = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> CoverageCurveDisplay:
        """Draw the curve of a fitted selective classifier; with more than two classes, that of Hand and Till's M.

        Parameters
        ----------
        clf, X, y, coverages, sample_weight, band_groups, n_bootstrap, confidence_level, random_state, ax, name
            As for every display; further arguments are those of the line.
        oracle : bool, default=False
            Add the best band on these rows, found with their labels: no band of the score can lie above it.
        maximum_probability : bool, default=False
            Add the rejection of the rows whose predicted class is least probable (of decision values: nearest to 0),
            with thresholds read from these rows.
        """
        coverages, references, has_references = check_coverages(coverages), {}, oracle or maximum_probability
        rows = rows_to_draw(
            *(clf, X, y), two_classes=has_references, sample_weight=sample_weight, band_groups=band_groups
        )
        if has_references:
            confidence = rows.confidence if maximum_probability else None
            references = reference_curves(
                (rows.positive, rows.score), coverages, oracle, confidence, rows.sample_weight
            )
        options = {"n_bootstrap": n_bootstrap, "confidence_level": confidence_level, "random_state": random_state}
        evaluation = evaluate_selective(clf, rows, y, coverages, **options)
        return cls._of(evaluation, None, name_of(clf, name), references).plot(ax, **kwargs)

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
    ) -> CoverageCurveDisplay:
        """Draw the curve of selections made by any method.

        Parameters
        ----------
        y_true, y_score, sample_weight, n_bootstrap, confidence_level, random_state, ax, name, **kwargs
            As for every display.
        selections : dict of float to array-like of shape (n_samples,), bool
            For each target coverage the mask of selected rows.
        oracle, maximum_probability
            As in :meth:`from_estimator`. Scores in [0, 1] count as probabilities, others as decision values with the
            boundary at 0.
        """
        positive = as_positive(y_true)
        score = check_scores(y_score, len(positive))
        evaluation = evaluate_selections(
            positive,
            score,
            positive,  # predicted labels: only the accuracy reads them, which is not drawn
            selections,
            sample_weight=sample_weight,
            n_bootstrap=n_bootstrap,
            confidence_level=confidence_level,
            random_state=random_state,
        )
        is_probability = bool(((score >= 0) & (score <= 1)).all())
        confidence = confidence_of(score, is_probability=is_probability) if maximum_probability else None
        references = reference_curves((positive, score), list(selections), oracle, confidence, sample_weight)
        return cls._of(evaluation, "selective_auc", name, references).plot(ax, **kwargs)

    @classmethod
    def from_evaluation(
        cls,
        evaluation: SelectiveEvaluation,
        *,
        metric: str | None = None,
        ax: Any = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> CoverageCurveDisplay:
        """Draw a metric of an evaluation.

        Parameters
        ----------
        evaluation : SelectiveEvaluation
            Result of :func:`aucross.evaluate_selective` or :func:`aucross.evaluate_selections`.
        metric : str, optional
            One of its metrics; by default the AUC, or Hand and Till's M with more than two classes.
        ax, name, **kwargs
            As for every display.
        """
        return cls._of(evaluation, metric, name, {}).plot(ax, **kwargs)

    @classmethod
    def _of(
        cls, evaluation: SelectiveEvaluation, metric: str | None, name: str | None, references: Mapping[str, Curve]
    ) -> CoverageCurveDisplay:
        if metric is None:
            metric = "selective_auc" if "selective_auc" in evaluation.estimates else "hand_till_m"
        if metric not in evaluation.estimates:
            raise ValueError(f"metric must be one of {list(evaluation.estimates)}, got {metric!r}")
        return cls(**points_of(evaluation, metric), references=references, metric=metric, name=name)

    def plot(self, ax: Any = None, name: str | None = None, **kwargs: Any) -> CoverageCurveDisplay:
        """Draw the curve; `ax`, `name` and the arguments of the line are as for every display."""
        ax = axes_for(ax)
        if not np.isfinite(self.value).any():
            ax.annotate("undefined at every coverage", (0.5, 0.5), xycoords="axes fraction", ha="center")
        if self.baseline is not None:
            _draw_level(ax, self.baseline, "all rows")
        level = self._draw(ax, self.value, self.name if name is None else name, kwargs)
        self.reference_lines_ = {
            reference: ax.plot(*points, label=reference, **{"zorder": 2, **_REFERENCE_STYLES.get(reference, {})})[0]
            for reference, points in self.references.items()
        }
        ax.set(xlabel="coverage reached: share of automatic cases", ylabel=words_for(self.metric) + level)
        ax.xaxis.set_inverted(True)
        draw_grid(ax)
        return self._on(ax)

    @property
    def baseline(self) -> float | None:
        """Value with every row selected; None if the curve has no such point."""
        everything = np.flatnonzero((self.coverage == 1.0) & np.isfinite(self.value))
        return float(self.value[everything[0]]) if len(everything) else None


def _draw_level(ax: Any, value: float, text: str) -> None:
    """Draw a labelled dotted horizontal line, unless the axes have that line already."""
    mark = f"_{text}"  # the underscore keeps it out of the legend
    if any(line.get_label() == mark and np.allclose(line.get_ydata(), value) for line in ax.get_lines()):
        return
    place = {"xycoords": ax.get_yaxis_transform(), "xytext": (-4, 3), "textcoords": "offset points", "ha": "right"}
    ax.annotate(text, (1, value), fontsize="small", color=DARK_GREY, **place)
    ax.axhline(value, color=GREY, linestyle=":", linewidth=1.2, zorder=1, label=mark)


def reference_curves(
    rows: tuple[BoolArray, FloatArray],
    coverages: Iterable[float],
    oracle: bool,
    confidence: FloatArray | None,
    sample_weight: ArrayLike | None,
) -> dict[str, Curve]:
    """Return the named reference curves: the best bands on labelled rows, or rejecting the least confident rows."""
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
