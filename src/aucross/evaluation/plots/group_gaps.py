"""Plot of coverage, AUC and other metrics in each group, with intervals and the gap that chance explains.

::

                     coverage            AUC of selected rows
    to 25        ├──●──┤     ┊              ├────●───┊┤
    26 to 50            ├●┤  ┊                     ├─●─┤
    over 50                  ┊├●┤                    ┊ ├──●──┤
                          all rows                all rows
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from aucross.core.ranking import FloatArray
from aucross.evaluation.catalogue import GROUP_METRICS, words_for
from aucross.evaluation.groups import GroupEvaluation, evaluate_group_selections, evaluate_groups
from aucross.evaluation.metrics import achieved_coverage
from aucross.evaluation.plots.display import CURVE_STYLES, DARK_GREY, Display, as_floats, with_defaults

DEFAULT_METRICS = ("achieved_coverage", "selective_auc")

# How far apart displays on the same axes are drawn, in lines.
_DODGE = 0.22

# Where the legend stands.
_ABOVE: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0, 1), "borderaxespad": 0.2, "handletextpad": 0.3}


class GroupGapDisplay(Display):
    """Metrics of each group as dots with intervals, one panel per metric.

    Parameters
    ----------
    groups : sequence of str
        Names of the groups, from the top down.
    values : dict of str to array-like of shape (n_groups,)
        The metrics to draw; a NaN is written as "undefined".
    low, high : dict of str to array-like of shape (n_groups,), optional
        Ends of the intervals of each metric.
    overall : dict of str to float, optional
        Each metric on all rows, drawn as a vertical line.
    gaps : dict of str to (gap, gap_by_chance), optional
        For each metric the largest difference between two groups, and the largest that chance explains.
    n : array-like of shape (n_groups,), optional
        Rows of each group, written beside its name.
    confidence_level : float, default=0.95
        Level of the intervals.

    Attributes
    ----------
    points_ : dict of str to matplotlib ErrorbarContainer
        Dots and intervals of each metric.

    Examples
    --------
    >>> from aucross.evaluation.plots import GroupGapDisplay
    >>> display = GroupGapDisplay(["young", "old"], {"achieved_coverage": [0.7, 0.9]}, n=[100, 300])
    >>> display.group_labels
    ['young (n = 100)', 'old (n = 300)']
    """

    def __init__(
        self,
        groups: Sequence[Any],
        values: Mapping[str, ArrayLike],
        *,
        low: Mapping[str, ArrayLike] | None = None,
        high: Mapping[str, ArrayLike] | None = None,
        overall: Mapping[str, float] | None = None,
        gaps: Mapping[str, tuple[float, float]] | None = None,
        n: ArrayLike | None = None,
        confidence_level: float = 0.95,
        name: str | None = None,
    ) -> None:
        self.groups = tuple(groups)
        if not values:
            raise ValueError("values must hold at least one metric to draw, got none")
        self.values = self._columns(values)
        self.low, self.high = (self._columns(ends or {}) for ends in (low, high))
        self.overall, self.gaps = dict(overall or {}), dict(gaps or {})
        self.left_out: frozenset[int] = frozenset()  # numbers of groups that the gaps do not compare
        self.n = None if n is None else as_floats(n, "n", (len(self.groups),)).astype(np.intp)
        self.confidence_level, self.name = confidence_level, name

    def _columns(self, metrics: Mapping[str, ArrayLike]) -> dict[str, FloatArray]:
        return {metric: as_floats(values, metric, (len(self.groups),)) for metric, values in metrics.items()}

    @classmethod
    def from_estimator(
        cls,
        clf: Any,
        X: Any,
        y: ArrayLike,
        by: Any,
        coverage: float | None = None,
        *,
        band_groups: Any = None,
        sample_weight: ArrayLike | None = None,
        with_intervals: bool = True,
        confidence_level: float = 0.95,
        name: str | None = None,
        **kwargs: Any,
    ) -> GroupGapDisplay:
        """Draw the groups of a fitted selective classifier.

        Arguments are as in :func:`aucross.evaluation.evaluate_groups` and :meth:`from_evaluation`.
        """
        rows, name = cls._rows(clf, X, y, name, sample_weight=sample_weight, band_groups=band_groups)
        asked = [clf.coverage if coverage is None else coverage]
        options: dict[str, Any] = {"with_intervals": with_intervals, "confidence_level": confidence_level}
        evaluation = evaluate_groups(clf, rows, y, by, asked, **options)
        return cls.from_evaluation(evaluation, name=name, **kwargs)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_score: ArrayLike,
        y_pred: ArrayLike,
        selected: ArrayLike,
        by: Any,
        *,
        sample_weight: ArrayLike | None = None,
        with_intervals: bool = True,
        confidence_level: float = 0.95,
        **kwargs: Any,
    ) -> GroupGapDisplay:
        """Draw the groups of a selection made by any method, given as the mask `selected`.

        Arguments are as in :func:`aucross.evaluation.evaluate_group_selections` and :meth:`from_evaluation`.
        """
        reached = achieved_coverage(selected, sample_weight)
        if not reached > 0:
            raise ValueError("selected must select at least one row with weight, got none; nothing could be compared")
        options: dict[str, Any] = {"with_intervals": with_intervals, "confidence_level": confidence_level}
        evaluation = evaluate_group_selections(
            *(y_true, y_score, y_pred, {min(reached, 1.0): selected}, by), sample_weight=sample_weight, **options
        )
        return cls.from_evaluation(evaluation, **kwargs)

    @classmethod
    def from_evaluation(
        cls,
        evaluation: GroupEvaluation,
        coverage: float | None = None,
        *,
        metrics: Sequence[str] = DEFAULT_METRICS,
        ax: Any = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> GroupGapDisplay:
        """Draw the groups of an evaluation.

        Parameters
        ----------
        evaluation : GroupEvaluation
            Result of :func:`aucross.evaluation.evaluate_groups`.
        coverage : float, optional
            Which of its target coverages to draw; may be left out if it has only one.
        metrics : sequence of str, default=("achieved_coverage", "selective_auc")
            Metrics of :func:`aucross.evaluation.evaluate_groups` to draw, one panel for each.
        ax : matplotlib Axes or sequence of them, optional
            One per metric; a new figure by default. A second display on the same axes gets the next style.
        name, **kwargs
            As for every display.
        """
        for metric in metrics:
            if metric not in GROUP_METRICS:
                raise ValueError(f"metrics must be from {list(GROUP_METRICS)}, got {metric!r}")
        asked = evaluation.overall.target_coverage
        matches = np.flatnonzero(np.isclose(asked, np.nan if coverage is None else coverage, rtol=0, atol=1e-9))
        if coverage is None and len(asked) == 1:
            matches = np.array([0])
        if not len(matches):
            raise ValueError(f"coverage must be one of {asked.tolist()}, got {coverage}")
        index, n_groups = int(matches[0]), len(evaluation.groups)
        *rows, overall = evaluation.rows()[index * (n_groups + 1) : (index + 1) * (n_groups + 1)]
        large = evaluation.large_groups()
        records = evaluation.gaps().rows()[index * len(GROUP_METRICS) : (index + 1) * len(GROUP_METRICS)]
        # A single group has no gap, and small ones have none that is worth a title.
        compared = [row for row in records if row["n_groups"] > 1 and len(large)]
        display = cls(
            evaluation.groups,
            {metric: [row[metric] for row in rows] for metric in metrics},
            low={metric: [row[f"{metric}_low"] for row in rows] for metric in metrics},
            high={metric: [row[f"{metric}_high"] for row in rows] for metric in metrics},
            overall={metric: overall[metric] for metric in metrics},
            gaps={row["metric"]: (row["gap"], row["gap_by_chance"]) for row in compared},
            n=evaluation.n,
            confidence_level=evaluation.overall.confidence_level,
            name=name,
        )
        if len(large):
            display.left_out = frozenset(range(len(evaluation.groups))) - frozenset(large.tolist())
        return display.plot(ax, **kwargs)

    @property
    def group_labels(self) -> list[str]:
        """Names of the groups with their sizes, if known, and a note on groups too small to be compared."""
        if self.n is None:
            return [str(group) for group in self.groups]
        ends = [", not in the gap" if number in self.left_out else "" for number in range(len(self.groups))]
        return [f"{group} (n = {size}{end})" for group, size, end in zip(self.groups, self.n, ends, strict=True)]

    def plot(self, ax: Any = None, name: str | None = None, **kwargs: Any) -> GroupGapDisplay:
        """Draw one panel per metric; `ax` is an axes or a sequence of axes, the rest as for every display."""
        size = (1.6 + 3.6 * len(self.values), 1.6 + 0.5 * len(self.groups))
        panels = self._panels(ax, len(self.values), size, sharey=True)
        label = self.name if name is None else name
        self.points_ = {
            metric: self._draw_panel(panel, metric, label, kwargs)
            for panel, metric in zip(panels, self.values, strict=True)
        }
        panels[0].set_yticks(np.arange(len(self.groups)), self.group_labels)
        panels[0].set_ylim(len(self.groups) - 0.4, -0.5)
        return self._on(*panels, grid="x", **_ABOVE)

    def _draw_panel(self, ax: Any, metric: str, name: str | None, kwargs: dict[str, Any]) -> Any:
        number = len(ax.containers)  # of displays that are there already
        style = CURVE_STYLES[number % len(CURVE_STYLES)]
        values = self.values[metric]
        place = np.arange(len(values)) + _DODGE * number
        options = with_defaults(kwargs, color=style["color"], marker=style["marker"], linestyle="none", markersize=7)
        gap, by_chance = self.gaps.get(metric, (np.nan, np.nan))
        words = "" if np.isnan(gap) else f"gap {gap:.3f}"
        words += "" if np.isnan(by_chance) else f", by chance under {by_chance:.3f}"
        label, bars = ": ".join(part for part in (name, words) if part) or None, None
        if metric in self.low and metric in self.high:
            # Percentile intervals need not hold the estimate; bars cannot be negative.
            bars = np.nan_to_num(np.maximum([values - self.low[metric], self.high[metric] - values], 0.0))
        points = ax.errorbar(values, place, xerr=bars, capsize=3, elinewidth=1.6, label=label, zorder=3, **options)
        if np.isfinite(overall := self.overall.get(metric, np.nan)):
            line = {"color": options["color"], "linestyle": style["linestyle"], "linewidth": 1.2, "alpha": 0.7}
            ax.axvline(overall, zorder=1, label="all rows" if number == 0 else None, **line)
        for undefined in place[np.isnan(values)]:
            where = {"xycoords": ax.get_yaxis_transform(), "ha": "center", "va": "center"}
            ax.annotate("undefined", (0.5, undefined), fontsize="small", color=DARK_GREY, **where)
        ax.set_xlabel(words_for(metric))
        return points
