"""Base of all displays: matplotlib on demand, axes, and styles that do not rely on colour alone.

The colours are those of Okabe and Ito, which people with colour blindness can tell apart; every curve has a line style
and a marker of its own as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from aucross.core.ranking import FloatArray
from aucross.core.scored_rows import ScoredRows
from aucross.evaluation.inputs import check_two_classes, label_rows

BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"
DARK_GREY, GREY, LIGHT_GREY = "#444444", "#6E6E6E", "#CCCCCC"

LEGEND = {"frameon": True, "framealpha": 0.9, "edgecolor": "none", "fontsize": "small"}

_LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)))
CURVE_STYLES: tuple[dict[str, Any], ...] = tuple(
    {"color": color, "linestyle": line, "marker": marker}
    for color, line, marker in zip((BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY), _LINES, "os^DvP", strict=True)
)


class Display:
    """Base class of displays, with the arguments that all of them take.

    `clf`, `X`, `y`, `coverage`, `sample_weight`, `band_groups` and the options of intervals are as in
    :func:`aucross.evaluate_selective`; a single coverage is the classifier's own by default. `y_true` and `y_pred` are
    boolean, 0/1 or -1/1, and `y_score` is the score of the positive class.

    Parameters
    ----------
    name : str, optional
        Name in the legend or the title; with a classifier the name of its class by default.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default. A second display on the same axes gets the next style.
    **kwargs : dict
        Arguments of the main line or area, as matplotlib takes them.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn; with several panels, the first of them.
    axes_ : ndarray of matplotlib Axes
        All panels.
    """

    name: str | None = None

    @staticmethod
    def _rows(
        clf: Any, X: Any, y: ArrayLike, name: str | None, *, two_classes: bool = True, **options: Any
    ) -> tuple[ScoredRows, str]:
        """Check and score the labelled rows to draw; return them with the name of the display."""
        pyplot()
        if two_classes:
            check_two_classes(clf, "draw one class against the others with from_predictions")
        return label_rows(clf, X, y, **options), type(clf).__name__ if name is None else name

    @staticmethod
    def _axes(ax: Any, figsize: tuple[float, float] = (6.4, 4.4), layout: str = "constrained") -> Any:
        """Return the given axes, or the axes of a new figure."""
        return pyplot().subplots(figsize=figsize, layout=layout)[1] if ax is None else ax

    @staticmethod
    def _panels(ax: Any, n_panels: int, figsize: tuple[float, float], **options: Any) -> list[Any]:
        """Return one Axes object per panel: the given ones, or new ones in a new figure."""
        if ax is None:
            new = pyplot().subplots(1, n_panels, figsize=figsize, layout="constrained", squeeze=False, **options)[1]
            return list(new[0])
        panels: list[Any] = list(np.ravel(ax))
        if len(panels) != n_panels:
            raise ValueError(f"ax must hold one axes for each of {n_panels} panels, got {len(panels)}")
        return panels

    def _on(self, *panels: Any, grid: str = "both", legend: bool | None = None, **options: Any) -> Self:
        """Add a light grid and a legend to the panels; by default only panels with labelled lines get a legend."""
        for ax in panels:
            ax.grid(axis=grid, alpha=0.3)
            ax.set_axisbelow(True)
            if ax.get_legend_handles_labels()[1] if legend is None else legend:
                ax.legend(**{**LEGEND, **options})
        self.ax_, self.figure_, self.axes_ = panels[0], panels[0].figure, np.array(panels)
        return self


def pyplot() -> Any:
    """Return the module matplotlib.pyplot, or say which command installs it."""
    try:
        import matplotlib.pyplot as plt  # noqa: PLC0415  (an extra: only drawing needs it)
    except ImportError:
        raise ImportError('plots need matplotlib: pip install "aucross[plots]"') from None
    return plt


def next_style(ax: Any) -> dict[str, Any]:
    """Return the first style whose colour no line of the axes has yet, so that a second display looks different."""
    from matplotlib.colors import to_hex  # noqa: PLC0415

    used = {to_hex(line.get_color()).lower() for line in ax.get_lines()}
    free = (style for style in CURVE_STYLES if style["color"].lower() not in used)
    return next(free, CURVE_STYLES[len(ax.get_lines()) % len(CURVE_STYLES)])


def with_defaults(kwargs: Mapping[str, Any], **defaults: Any) -> dict[str, Any]:
    """Return the defaults of a line updated by `kwargs`, in which short names such as ``lw`` are spelled out."""
    from matplotlib.cbook import normalize_kwargs  # noqa: PLC0415
    from matplotlib.lines import Line2D  # noqa: PLC0415

    return {**defaults, **normalize_kwargs(dict(kwargs), Line2D)}


def as_floats(values: ArrayLike, name: str, shape: tuple[int, ...] | None = None) -> FloatArray:
    """Return a float64 array of the given shape, or a 1-d array if none is given."""
    array = np.asarray(values, dtype=np.float64)
    if shape is None and array.ndim != 1:
        raise ValueError(f"{name} must be 1-d, got shape {array.shape}")
    if shape is not None and array.shape != shape:
        raise ValueError(f"{name} must have shape {shape} like the other numbers, got {array.shape}")
    return array
