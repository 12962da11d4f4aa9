"""The band on the scores: where the classes lie, and which interval is rejected.

::

    rows │  ▄█▄        ┊▒▒▒▒▒▒▒┊
         │ ▟███▙▄      ┊▒rejected
         │▟█████████▄▄▄┊▒▒▒▒▒▒▒┊▄▄▄▄▄
         └─────────────┴───────┴──────►  score
                     lower   upper
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from aucross.core.bands import RejectionBand
from aucross.core.ranking import FloatArray
from aucross.evaluation.inputs import rank, selected_rows
from aucross.evaluation.plots.display import BLUE, DARK_GREY, SKY, VERMILLION, Display, as_floats
from aucross.system.text import percent


class BandDisplay(Display):
    """Histogram of the scores by class with the rejected interval.

    Parameters
    ----------
    edges : array-like of shape (n_bins + 1,)
        Ends of the bins of the histogram, ascending.
    negatives, positives : array-like of shape (n_bins,)
        Weight of each class in the bins.
    band : RejectionBand
        The rejected interval; if it is empty, a text says so.
    rejected_share : float
        Share of the weight that the band rejects.
    class_names : pair of str, default=("negative", "positive")
        Names in the legend.
    score_name : str, default="score"
        Label of the horizontal axis.

    Attributes
    ----------
    histograms_ : pair of matplotlib StepPatch
        Histograms of the negatives and of the positives.
    span_ : matplotlib Rectangle or None
        The shaded interval; None for the empty band.
    text_ : matplotlib Annotation
        Text on the band.

    Examples
    --------
    >>> from aucross.core import RejectionBand
    >>> from aucross.evaluation.plots import BandDisplay
    >>> display = BandDisplay([0, 0.5, 1], [8, 2], [1, 4], RejectionBand(0.4, 0.6), rejected_share=0.2)
    >>> display.densities()
    (array([1.6, 0.4]), array([0.4, 1.6]))
    """

    def __init__(
        self,
        edges: ArrayLike,
        negatives: ArrayLike,
        positives: ArrayLike,
        band: RejectionBand,
        *,
        rejected_share: float,
        class_names: tuple[str, str] = ("negative", "positive"),
        score_name: str = "score",
        name: str | None = None,
    ) -> None:
        self.edges = as_floats(edges, "edges")
        n_bins = (max(len(self.edges) - 1, 0),)
        self.negatives = as_floats(negatives, "negatives", n_bins)
        self.positives = as_floats(positives, "positives", n_bins)
        self.band, self.rejected_share = band, rejected_share
        self.class_names, self.score_name, self.name = class_names, score_name, name

    @classmethod
    def from_estimator(
        cls,
        clf: Any,
        X: Any,
        y: ArrayLike,
        coverage: float | None = None,
        *,
        band_group: Any = None,
        sample_weight: ArrayLike | None = None,
        class_names: tuple[str, str] | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> BandDisplay:
        """Draw the band of a fitted selective classifier of two classes.

        The histogram shows the selection score, on which the band lies: the score of the positive class for
        :class:`aucross.AUCross`, the confidence for :class:`aucross.SCross`, the influence for
        :class:`aucross.AUCGate`.

        Parameters
        ----------
        band_group : label, optional
            The group whose band to draw, if the bands were fitted per group; `X` should hold rows of that group.
        class_names : pair of str, optional
            Names of the negative and the positive class; the labels by default.
        **kwargs : dict
            `bins`, and arguments of :meth:`plot`; all other arguments are as for every display.
        """
        rows, name = cls._rows(clf, X, y, name, sample_weight=sample_weight)
        groups = None if band_group is None else [band_group] * len(rows)
        decisions = clf.decide(rows, coverage, groups)
        negative_name, positive_name = class_names or tuple(f"class {label}" for label in clf.fitted_.classes)
        names = {"score": f"score of {positive_name}", "confidence": "confidence in the answer"}
        return cls.from_predictions(
            rows.positive,
            decisions.selection_score,
            clf.band(decisions.coverage, band_group),
            sample_weight=rows.sample_weight,
            class_names=(negative_name, positive_name),
            score_name=names.get(clf.band_rule_.axis, "selection score"),
            name=name,
            **kwargs,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_score: ArrayLike,
        band: RejectionBand,
        *,
        bins: int | ArrayLike = 50,
        sample_weight: ArrayLike | None = None,
        class_names: tuple[str, str] = ("negative", "positive"),
        score_name: str = "score",
        ax: Any = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> BandDisplay:
        """Draw a band on given scores; arguments as for the class, for every display and for :meth:`plot`.

        Parameters
        ----------
        y_score : array-like of shape (n_samples,)
            Scores on which the band lies; rows of one class are drawn as well.
        bins : int or array-like, default=50
            Number of bins, or their ends.
        """
        positive, score, weight = selected_rows(y_true, y_score, None, sample_weight)
        if not len(score):
            raise ValueError("y_true must hold at least one row to draw, got none")
        if np.ndim(bins) == 0 and (not isinstance(bins, int | np.integer) or bins < 1):
            raise ValueError(f"bins must be a positive whole number or the ends of the bins, got {bins!r}")
        edges = np.histogram_bin_edges(score, bins)
        heights = [np.histogram(score[own], edges, weights=weight[own])[0] for own in (~positive, positive)]
        share = 1.0 - rank(positive, score, weight).coverage(band)
        names: dict[str, Any] = {"class_names": class_names, "score_name": score_name, "name": name}
        return cls(edges, heights[0], heights[1], band, rejected_share=share, **names).plot(ax, **kwargs)

    def densities(self) -> tuple[FloatArray, FloatArray]:
        """Return both histograms with an area of 1 each; 0 for a class without rows."""
        width = np.diff(self.edges)
        negatives, positives = (
            counts / (counts.sum() * width) if counts.sum() > 0 else counts
            for counts in (self.negatives, self.positives)
        )
        return negatives, positives

    def plot(self, ax: Any = None, name: str | None = None, *, density: bool = True, **kwargs: Any) -> BandDisplay:
        """Draw the histograms and the band.

        Parameters
        ----------
        ax, name
            As for every display.
        density : bool, default=True
            Whether each class has an area of 1. Otherwise heights count rows, and a rare class is hard to see.
        **kwargs : dict
            Arguments of the shaded interval.
        """
        ax = self._axes(ax)
        heights = self.densities() if density else (self.negatives, self.positives)
        fills: tuple[dict[str, Any], ...] = (
            {"facecolor": SKY, "alpha": 0.5, "edgecolor": BLUE},
            {"facecolor": "none", "hatch": "////", "edgecolor": VERMILLION},
        )
        # The outline tells the classes apart where they overlap; filling and hatching do so without colour.
        self.histograms_ = tuple(
            ax.stairs(values, self.edges, fill=True, linewidth=1, label=label, **fill)
            for values, label, fill in zip(heights, self.class_names, fills, strict=True)
        )
        for values, color, style in zip(heights, (BLUE, VERMILLION), ("-", "--"), strict=True):
            ax.stairs(values, self.edges, color=color, linewidth=1.5, linestyle=style)
        ax.set_xlim(self.edges[0], self.edges[-1])
        # Room for the words above the bars.
        ax.set_ylim(0, 1.3 * (max(float(values.max(initial=0.0)) for values in heights) or 1.0))
        self._draw_band(ax, kwargs)
        ax.set(
            xlabel=self.score_name, ylabel="density within the class" if density else "rows", title=name or self.name
        )
        return self._on(ax, grid="y", legend=True)

    def _draw_band(self, ax: Any, kwargs: dict[str, Any]) -> None:
        left, right = self.edges[0], self.edges[-1]
        lower, upper = (float(np.clip(end, left, right)) for end in (self.band.lower, self.band.upper))
        self.span_ = None
        if self.band.is_empty:
            lower, upper = left, right
        else:
            self.span_ = ax.axvspan(lower, upper, **{"color": "black", "alpha": 0.12, "linewidth": 0, **kwargs})
            for end in {self.band.lower, self.band.upper}:
                if np.isfinite(end):
                    ax.axvline(end, color=DARK_GREY, linewidth=1, linestyle=(0, (3, 2)))
        place = ((lower + upper) / 2 - left) / (right - left)
        # Near the border the words begin at one end of the band and grow inwards.
        x, side = (
            (lower, "left") if place < 0.15 else (upper, "right") if place > 0.85 else ((lower + upper) / 2, "center")
        )
        offset = ({"left": 6, "right": -6}.get(side, 0), 0)
        where = {"xycoords": ax.get_xaxis_transform(), "xytext": offset, "textcoords": "offset points"}
        box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "boxstyle": "round,pad=0.25"}
        look = {"ha": side, "multialignment": "center", "va": "top", "fontsize": "small", "bbox": box}
        self.text_ = ax.annotate(self.description, (x, 0.97), **where, **look)

    @property
    def description(self) -> str:
        """The band in words, for the picture."""
        if self.band.is_empty:
            return "empty band: nothing is rejected"
        low, high = f"{self.band.lower:.3g}", f"{self.band.upper:.3g}"
        if np.isfinite(self.band.lower):
            ends = f"{low} to {high}" if np.isfinite(self.band.upper) else f"from {low}"
        else:
            ends = f"up to {high}" if np.isfinite(self.band.upper) else "all scores"
        return f"rejected\n{ends}\n{percent(self.rejected_share)} of rows"
