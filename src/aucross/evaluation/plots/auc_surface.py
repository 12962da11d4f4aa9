"""The AUC as a function of both ends of the band: the space in which a band is searched (the paper's Figure 4).

Every band is a point, given by its lower and upper end. The grid consists of bins of equal weight, or of one bin for
each score if there are few scores. A band begins with one bin and ends with another; the bands that keep the coverage
form a strip along the diagonal::

    upper │        /░░/
          │     /░░░/       ░ bands that keep the coverage
          │  /░░★/          ★ the Oracle, the best of them
          │/░░/
          └────────────►  lower
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from aucross.core import best_band
from aucross.core.bands import RejectionBand, check_coverage
from aucross.core.ranking import FloatArray, RankedScores
from aucross.core.search import rejection_budget
from aucross.evaluation.inputs import check_both_classes
from aucross.evaluation.metric import described
from aucross.evaluation.plots.display import GREY, LIGHT_GREY, ORANGE, VERMILLION, Display
from aucross.system.text import percent

Scale = Literal["rank", "score"]

# On a coarse grid lines of equal AUC would only cut corners.
_BINS_WITH_CONTOURS = 50

# The strip should be so many bins wide, within what can be drawn fast.
_BINS_ACROSS, _FEWEST_BINS, _MOST_BINS = 40, 300, 600

_MARKERS = (("*", 240), ("o", 80), ("s", 70), ("D", 60), ("^", 80), ("v", 80))
_FILLS = ("white", VERMILLION, ORANGE)


@dataclass(frozen=True, eq=False)
class AUCSurface:
    """AUC of the selected rows for bands on a grid of quantiles.

    Attributes
    ----------
    lower, upper : ndarray of shape (n_bins,)
        Lower and upper ends of the bands: the lowest and the highest score of each bin.
    rank_edges : ndarray of shape (n_bins + 1,)
        Share of the weight below each bin, with 1 at the end.
    auc : ndarray of shape (n_bins, n_bins)
        ``auc[j, i]`` belongs to the band from ``lower[i]`` to ``upper[j]``: the AUC of the rows outside it. NaN where
        the band is infeasible: no band (i > j), one that rejects more than `coverage` allows, or one that leaves a
        single class.
    coverage : float
        Least share of the weight that a band must leave.
    """

    lower: FloatArray
    upper: FloatArray
    rank_edges: FloatArray
    auc: FloatArray
    coverage: float

    @property
    def best(self) -> float:
        """Highest AUC on the grid; the Oracle, which is not limited to the grid, may be higher."""
        return float(np.nanmax(self.auc))


@described
def auc_surface(
    y_true: ArrayLike,
    y_score: ArrayLike,
    coverage: float,
    *,
    n_bins: int | None = None,
    sample_weight: ArrayLike | None = None,
) -> AUCSurface:
    """Compute the AUC of the selected rows for all bands of a grid that keep the coverage.

    Prefix sums give the AUC of each band in O(1); tied rows stay together. Both classes must occur.

    Parameters
    ----------
    coverage : float in (0, 1)
        Least share of the weight to select.
    n_bins : int, optional
        Number of bins of the scores; by default 300 to 600, more for a higher coverage. If there are fewer distinct
        scores, each is a bin and the surface is exact.

    Examples
    --------
    >>> from aucross.evaluation.plots import auc_surface
    >>> surface = auc_surface([0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], coverage=0.8)
    >>> surface.auc.shape, surface.best, float(surface.auc[2, 2])
    ((6, 6), 1.0, 1.0)
    """
    ranked = check_both_classes(RankedScores.from_labels(y_true, y_score, sample_weight), "the AUC")
    if check_coverage(coverage) == 1.0:
        raise ValueError("coverage must be below 1 for a surface, got 1: only the empty band selects every row")
    if n_bins is None:
        n_bins = int(np.clip(_BINS_ACROSS / (1.0 - coverage), _FEWEST_BINS, _MOST_BINS))
    if not isinstance(n_bins, int | np.integer) or n_bins < 1:
        raise ValueError(f"n_bins must be a positive whole number or None, got {n_bins!r}")
    # The entries at which bins of about equal weight begin, and the number of entries.
    edges = np.arange(len(ranked) + 1)
    if len(ranked) > n_bins:
        places = np.searchsorted(ranked.weight_below, np.linspace(0.0, ranked.total, int(n_bins) + 1)[:-1])
        edges = np.unique(np.append(places, len(ranked)))
    starts, stops = np.meshgrid(edges[:-1], edges[1:])
    won, kept = ranked.pairs(starts, stops)
    rejected = ranked.weight_below[stops] - ranked.weight_below[starts]
    feasible = (starts < stops) & (kept > 0) & (rejected <= rejection_budget(ranked.total, coverage))
    if not feasible.any():
        raise ValueError(
            f"coverage {coverage:g} leaves no band to draw: of the {len(ranked)} distinct scores none can be rejected "
            f"within {percent(1 - coverage)} of the weight without parting a tie or losing a class; ask for a lower "
            "coverage"
        )
    auc = np.full(starts.shape, np.nan)
    np.divide(won, kept, out=auc, where=feasible)
    lower, upper, below = ranked.scores[edges[:-1]], ranked.scores[edges[1:] - 1], ranked.weight_below[edges]
    return AUCSurface(lower, upper, below / ranked.total, np.clip(auc, 0.0, 1.0), float(coverage))


class AUCSurfaceDisplay(Display):
    """Picture of the AUC over the lower and upper end of the band, with marks of given bands.

    Parameters
    ----------
    surface : AUCSurface
        From :func:`auc_surface`.
    bands : dict of str to RejectionBand
        Bands to mark, in the order of the legend.
    ranked : RankedScores
        The rows, for the place and the AUC of each mark.

    Attributes
    ----------
    surface_ : matplotlib QuadMesh
        The coloured cells.
    marks_ : dict of str to matplotlib PathCollection
        The marks of the bands; an empty band is named in the legend only.
    colorbar_ : matplotlib Colorbar
        The scale of the AUC.

    Examples
    --------
    >>> from aucross.core import RankedScores, RejectionBand
    >>> from aucross.evaluation.plots import AUCSurfaceDisplay, auc_surface
    >>> y, score = [0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    >>> ranked = RankedScores.from_labels(y, score)
    >>> display = AUCSurfaceDisplay(auc_surface(y, score, 0.8), {"mine": RejectionBand(0.3, 0.3)}, ranked)
    >>> display.place(display.bands["mine"], scale="rank")
    (0.41666666666666663, 0.41666666666666663)
    """

    def __init__(
        self, surface: AUCSurface, bands: Mapping[str, RejectionBand], ranked: RankedScores, *, name: str | None = None
    ) -> None:
        self.surface, self.bands, self.ranked, self.name = surface, dict(bands), ranked, name

    @classmethod
    def from_estimator(
        cls,
        clf: Any,
        X: Any,
        y: ArrayLike,
        coverage: float | None = None,
        *,
        bands: Mapping[str, RejectionBand] | None = None,
        sample_weight: ArrayLike | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> AUCSurfaceDisplay:
        """Draw the surface on labelled rows, with the band of a fitted selective classifier.

        The band must lie on the classifier's own score, as with :class:`aucross.AUCross`; the coverage must be below 1.
        Further arguments go to :meth:`from_predictions`.
        """
        rows, name = cls._rows(clf, X, y, name, sample_weight=sample_weight)
        coverage = clf.coverage if coverage is None else coverage
        if clf.band_rule_.axis != "score":
            raise ValueError(
                f"clf must place its band on its own score, as AUCross does, got {type(clf).__name__}, whose band lies "
                "on another; draw it with BandDisplay"
            )
        marked = {name: clf.band(coverage), **(bands or {})}
        options = {"bands": marked, "sample_weight": rows.sample_weight, **kwargs}
        return cls.from_predictions(rows.positive, rows.score, coverage, **options)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_score: ArrayLike,
        coverage: float,
        *,
        bands: Mapping[str, RejectionBand] | None = None,
        oracle: bool = True,
        n_bins: int | None = None,
        sample_weight: ArrayLike | None = None,
        ax: Any = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> AUCSurfaceDisplay:
        """Draw the surface for labels and scores; arguments as in :func:`auc_surface` and :meth:`plot`.

        Parameters
        ----------
        bands : dict of str to RejectionBand, optional
            Bands to mark.
        oracle : bool, default=True
            Whether to mark the best band on these rows.
        """
        surface = auc_surface(y_true, y_score, coverage, n_bins=n_bins, sample_weight=sample_weight)
        ranked = RankedScores.from_labels(y_true, y_score, sample_weight)
        marked = {"Oracle": best_band(ranked, coverage, width="any")} if oracle else {}
        return cls(surface, {**marked, **(bands or {})}, ranked, name=name).plot(ax, **kwargs)

    def place(self, band: RejectionBand, *, scale: Scale = "rank") -> tuple[float, float]:
        """Return the place of a band on the axes: its lowest and highest rejected score or rank; NaN if empty."""
        start, stop = self.ranked.block(band)
        if start == stop:
            return float("nan"), float("nan")
        if scale == "score":
            return float(self.ranked.scores[start]), float(self.ranked.scores[stop - 1])
        # A score takes the ranks of all its rows, of which this is the middle.
        below = self.ranked.weight_below / self.ranked.total
        return float(below[start] + below[start + 1]) / 2, float(below[stop - 1] + below[stop]) / 2

    def plot(
        self, ax: Any = None, name: str | None = None, *, scale: Scale = "rank", cmap: str = "cividis", **kwargs: Any
    ) -> AUCSurfaceDisplay:
        """Draw the surface and the marks.

        Parameters
        ----------
        ax, name
            As for every display.
        scale : {"rank", "score"}, default="rank"
            Scale of the axes: ranks, which give the strip a constant width, or scores, as in the paper. Both axes are
            labelled with scores.
        cmap : str, default="cividis"
            Colour map; the colours of the default have the same order for readers with and without colour vision.
        **kwargs : dict
            Arguments of the coloured cells.
        """
        if scale not in get_args(Scale):
            raise ValueError(f'scale must be "rank" or "score", got {scale!r}')
        # Compressed: axes of equal aspect would push their label out of a constrained figure.
        ax = self._axes(ax, (6.8, 5.4), layout="compressed")
        edges = self.surface.rank_edges, self.surface.rank_edges
        if scale == "score":
            edges = _edges_between(self.surface.lower), _edges_between(self.surface.upper)
        self._draw_surface(ax, edges, cmap, kwargs)
        ends = (min(edges[0][0], edges[1][0]), max(edges[0][-1], edges[1][-1]))
        ax.plot(ends, ends, color=GREY, linewidth=1, zorder=1)
        by_rank = " (axis by rank)" if scale == "rank" else ""
        ax.set(xlabel=f"lower end of the band: score{by_rank}", ylabel=f"upper end of the band: score{by_rank}")
        ax.set(xlim=ends, ylim=ends, aspect="equal", title=self.name if name is None else name)
        if scale == "rank":
            ranks = np.linspace(0.0, 1.0, 6)
            # Adding 0 turns -0 into 0.
            scores = [f"{self.ranked.score_at(rank * self.ranked.total) + 0.0:.2g}" for rank in ranks]
            ax.set_xticks(ranks, scores)
            ax.set_yticks(ranks, scores)
        self.marks_ = {}
        for number, (label, band) in enumerate(self.bands.items()):
            marker, size = _MARKERS[number % len(_MARKERS)]
            place = self.place(band, scale=scale)
            rejects = "rejects nothing" if np.isnan(place[0]) else f"coverage {self.ranked.coverage(band):.3f}"
            look = {"facecolor": _FILLS[number % len(_FILLS)], "edgecolor": "black", "linewidth": 1.2, "zorder": 5}
            words = f"{label}: AUC {self.ranked.auc(band):.4f}, {rejects}"
            self.marks_[label] = ax.scatter(*place, s=size, marker=marker, label=words, **look)
        # Below the diagonal there are no bands.
        return self._on(ax, legend=bool(self.bands), loc="lower right")

    def _draw_surface(self, ax: Any, edges: tuple[FloatArray, FloatArray], cmap: str, kwargs: dict[str, Any]) -> None:
        from matplotlib import colormaps  # noqa: PLC0415

        auc = np.ma.masked_invalid(self.surface.auc)
        low, high, extend = float(np.nanmin(self.surface.auc)), self.surface.best, "neither"
        if low < (all_rows := self.ranked.auc()) < high - 1e-9:
            low, extend = all_rows, "min"
        elif high - low <= 1e-9:  # the scale needs a length, also where all bands are equally good
            low, high = low - 1e-3, high + 1e-3
        # One colour for all bands that gain nothing leaves the others more of the scale.
        colors = colormaps[cmap].with_extremes(under=LIGHT_GREY)
        options = {"cmap": colors, "vmin": low, "vmax": high, "rasterized": True, **kwargs}
        self.surface_ = ax.pcolormesh(*edges, auc, **options)
        words = "AUC of the selected rows" + ("\n(grey: no gain over all rows)" if extend == "min" else "")
        self.colorbar_ = ax.figure.colorbar(self.surface_, ax=ax, label=words, extend=extend)
        self.colorbar_.formatter.set_useOffset(False)
        if min(auc.shape) >= _BINS_WITH_CONTOURS:
            x, y = ((ends[1:] + ends[:-1]) / 2 for ends in edges)
            ax.contour(x, y, auc, levels=np.linspace(low, high, 10)[1:-1], colors="white", linewidths=0.5)


def _edges_between(scores: FloatArray) -> FloatArray:
    """Return the edges of cells around ascending scores, half-way to the neighbours."""
    if len(scores) == 1:
        return np.array([scores[0] - 0.5, scores[0] + 0.5])
    middle = (scores[1:] + scores[:-1]) / 2
    return np.concatenate(([2 * scores[0] - middle[0]], middle, [2 * scores[-1] - middle[-1]]))
