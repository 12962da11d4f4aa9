"""Cumulative accuracy profile (CAP) before and after rejection, the picture behind the paper's proofs.

Rows are taken from the highest score down; the curve counts the positives among them. Equal scores enter together, as
one straight piece. A is the area between the curve and the diagonal, A + B the area for a perfect ranking, and the Gini
coefficient is A / (A + B) = 2 * AUC - 1::

    positives │   ╭────────── perfect
              │  /   B  __──
              │ /  __──    /
              │/_──   A  /
              └───────────────►  rows by falling score
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from aucross.evaluation.auc_metrics import CAPCurve, cap_curve, profile_of
from aucross.evaluation.inputs import check_both_classes, check_selected, rank, row_weights, selected_rows
from aucross.evaluation.plots.display import (
    BLUE,
    DARK_GREY,
    GREY,
    LEGEND,
    LIGHT_GREY,
    VERMILLION,
    Display,
    with_defaults,
)
from aucross.system.text import percent

# Up to so many rows the pair of panels shows the cells that the proofs count.
_ROWS_WITH_CELLS = 40


class CAPDisplay(Display):
    """Cumulative accuracy profile of all rows and of the selected ones.

    Parameters
    ----------
    before : CAPCurve
        Profile of all rows.
    after : CAPCurve, optional
        Profile of the selected rows.
    removed : array-like of shape (n_points - 1,), bool, optional
        Which pieces of the curve `before` are rejected, for :meth:`plot_removal`.

    Attributes
    ----------
    line_ : matplotlib Line2D
        The profile of all rows.
    selected_line_ : matplotlib Line2D or None
        The profile of the selected rows.

    Notes
    -----
    If the selected rows hold no positives, their profile is undefined and is not drawn; if they hold no negatives, it
    is the diagonal. In both cases the AUC is undefined, and the legend says so.

    Examples
    --------
    >>> from aucross.evaluation.plots import CAPDisplay, cap_curve
    >>> y, score = [0, 1, 0, 1], [0.1, 0.3, 0.5, 0.9]
    >>> display = CAPDisplay(cap_curve(y, score), cap_curve(y, score, [True, False, True, True]))
    >>> display.before.gini, display.after.gini
    (0.5, 1.0)
    """

    def __init__(
        self,
        before: CAPCurve,
        after: CAPCurve | None = None,
        *,
        removed: ArrayLike | None = None,
        name: str | None = None,
    ) -> None:
        self.before, self.after, self.name = before, after, name
        self.removed = None if removed is None else check_selected(removed, len(before.rows) - 1)

    @classmethod
    def from_estimator(
        cls,
        clf: Any,
        X: Any,
        y: ArrayLike,
        coverage: float | None = None,
        *,
        band_groups: Any = None,
        sample_weight: ArrayLike | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> CAPDisplay:
        """Draw the profiles of a fitted selective classifier of two classes; arguments as in every display.

        Further arguments are `removal` and `ax` of :meth:`from_predictions` and all arguments of :meth:`plot`.
        """
        rows, name = cls._rows(clf, X, y, name, sample_weight=sample_weight, band_groups=band_groups)
        options = {"sample_weight": rows.sample_weight, "name": name, **kwargs}
        return cls.from_predictions(rows.positive, rows.score, clf.decide(rows, coverage).selected, **options)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_score: ArrayLike,
        selected: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        removal: bool = False,
        ax: Any = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> CAPDisplay:
        """Draw the profiles of labels and scores.

        Parameters
        ----------
        y_true, y_score, sample_weight, name
            As for every display; both classes must occur.
        selected : array-like of shape (n_samples,), bool, optional
            Mask of the selected rows; without it only the profile of all rows is drawn.
        removal : bool, default=False
            Whether to draw the two panels of :meth:`plot_removal` instead.
        ax : matplotlib Axes, optional
            Where to draw; with `removal` a pair of Axes. A new figure by default.
        **kwargs : dict
            Arguments of :meth:`plot`.
        """
        positive, score, weight = selected_rows(y_true, y_score, None, sample_weight)
        ranked = check_both_classes(rank(positive, score, weight), "the cumulative accuracy profile")
        after, removed = None, None
        if selected is not None:
            mask = check_selected(selected, len(np.asarray(y_true)))
            after = cap_curve(y_true, y_score, mask, sample_weight=sample_weight)
            # Which distinct scores are rejected, from the highest down; None if rows of equal score are split.
            distinct, entry = np.unique(-score, return_inverse=True)
            kept = mask[row_weights(sample_weight, len(mask)) > 0]
            n_kept, n_rows = (np.bincount(entry, weights, len(distinct)) for weights in (kept, None))
            removed = n_kept == 0 if ((n_kept == 0) | (n_kept == n_rows)).all() else None
        display = cls(profile_of(ranked), after, removed=removed, name=name)
        return display.plot_removal(ax) if removal else display.plot(ax, **kwargs)

    def plot(
        self, ax: Any = None, name: str | None = None, *, relative: bool = True, areas: bool = False, **kwargs: Any
    ) -> CAPDisplay:
        """Draw both profiles into one picture, with the perfect and the random ranking.

        Parameters
        ----------
        ax, name
            As for every display.
        relative : bool, default=True
            Whether the axes show shares of rows and of positives; otherwise numbers, as in the paper's Figure 1.
        areas : bool, default=False
            Whether to mark the areas A and B, of which A / (A + B) is the Gini coefficient. They belong to the selected
            rows, or to all rows if there is no selection.
        **kwargs : dict
            Arguments of the line of the selected rows, or of all rows if there is no selection.
        """
        ax = self._axes(ax, (5.6, 5.2))
        first = {"color": DARK_GREY, "linestyle": "--"} if self.after is not None else {"color": BLUE}
        given = kwargs if self.after is None else {}
        self.line_ = _draw_profile(
            ax, self.before, relative, f"all rows: {_quality(self.before)}", line=with_defaults(given, **first)
        )
        self.selected_line_ = None
        if self.after is not None:
            share = f"selected rows, {percent(self.after.n_rows / self.before.n_rows)}: {_quality(self.after)}"
            self.selected_line_ = _draw_profile(ax, self.after, relative, share, line=with_defaults(kwargs, color=BLUE))
        if areas:
            _draw_areas(ax, self.after or self.before, relative)
        _finish(ax, self.before, relative)
        ax.set_title(self.name if name is None else name)
        return self._on(ax, legend=True, loc="lower right")

    def plot_removal(self, ax: Any = None) -> CAPDisplay:
        """Draw the cells of the profile that rejection removes, and the profile after it: the paper's Figures 2 and 3.

        Rejecting a row removes its column under the curve; rejecting a positive also removes the cells to the right of
        its step. The grey cells of the left panel are removed and the rest closed up, which gives the right panel.

        Parameters
        ----------
        ax : pair of matplotlib Axes, optional
            Where to draw; a new figure by default.
        """
        if self.after is None or self.removed is None:
            raise ValueError(
                "plot_removal needs a selection that takes or leaves rows of equal score together, as a band does; "
                "without it there are no cells to take out, use plot()"
            )
        panels = self._panels(ax, 2, (9.6, 4.6))
        _shade_removed(panels[0], self.before, self.removed)
        lines, blue = [], {"color": BLUE}
        for panel, curve, title in zip(panels, (self.before, self.after), ("before", "after"), strict=True):
            lines.append(_draw_profile(panel, curve, False, "profile", line=blue, perfect_color=DARK_GREY))
            _finish(panel, curve, False)
            panel.set_title(f"{title} rejection: {_quality(curve)}", fontsize="medium")
            if self.before.n_rows <= _ROWS_WITH_CELLS:
                thin = {"color": GREY, "linewidth": 0.4, "alpha": 0.5, "zorder": 1.5}
                panel.vlines(np.arange(curve.n_rows + 1), 0, curve.n_positives, **thin)
                panel.hlines(np.arange(curve.n_positives + 1), 0, curve.n_rows, **thin)
        self.line_, self.selected_line_ = lines
        # In the right panel, where it hides nothing.
        panels[1].legend(*panels[0].get_legend_handles_labels(), loc="lower right", **LEGEND)
        return self._on(*panels, legend=False)


def _quality(curve: CAPCurve) -> str:
    return "AUC undefined" if np.isnan(curve.auc) else f"AUC {curve.auc:.3f}, Gini {curve.gini:.3f}"


def _draw_profile(
    ax: Any, curve: CAPCurve, relative: bool, label: str, *, line: dict[str, Any], perfect_color: str | None = None
) -> Any:
    options = {"linewidth": 2, "label": label, "zorder": 3, **line}
    (drawn,) = ax.plot(*curve.points(relative=relative), **options)
    color = perfect_color or drawn.get_color()
    ax.plot(*curve.perfect.points(relative=relative), color=color, linewidth=1, linestyle=":", zorder=2)
    return drawn


def _draw_areas(ax: Any, curve: CAPCurve, relative: bool) -> None:
    """Shade and name the areas between the curve and the diagonal (A), and between it and the perfect ranking (B)."""
    x, y = curve.points(relative=relative)
    if not np.isfinite(y).all() or np.isnan(curve.auc):
        return
    perfect_x, perfect_y = curve.perfect.points(relative=relative)
    grid = np.union1d(x, perfect_x)
    own, best = np.interp(grid, x, y), np.interp(grid, perfect_x, perfect_y)
    chance = grid * (perfect_y[-1] / perfect_x[-1])
    for name, low, high, color, hatch in (("A", chance, own, BLUE, None), ("B", own, best, VERMILLION, "...")):
        ax.fill_between(grid, low, high, facecolor=color, edgecolor=color, alpha=0.15, hatch=hatch, linewidth=0)
        widest = int(np.argmax(np.abs(high - low)))
        if abs(high[widest] - low[widest]) < 1e-9:
            continue  # no area, no name
        box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "boxstyle": "circle,pad=0.15"}
        middle = (low[widest] + high[widest]) / 2
        ax.text(grid[widest], middle, name, ha="center", va="center", weight="bold", bbox=box)


def _shade_removed(ax: Any, curve: CAPCurve, removed: NDArray[np.bool_]) -> None:
    """Shade columns under the rejected pieces, and strips to the right of their steps."""
    grey = {"color": LIGHT_GREY, "linewidth": 0, "zorder": 1}
    ax.fill_between([], [], **grey, label="cells taken out")
    # Neighbours are one area: thousands of slivers would leave gaps between them.
    steps = np.flatnonzero(np.diff(removed.astype(np.int8), prepend=0, append=0))
    for start, stop in steps.reshape(-1, 2):
        x, y = curve.rows[start : stop + 1], curve.positives[start : stop + 1]
        ax.fill_between(x, 0, y, **grey)
        if y[-1] > y[0]:
            ax.fill_betweenx(y, x, curve.n_rows, **grey)


def _finish(ax: Any, curve: CAPCurve, relative: bool) -> None:
    end = (1.0, 1.0) if relative else (curve.n_rows, curve.n_positives)
    ax.plot((0, end[0]), (0, end[1]), color=GREY, linewidth=1, linestyle=(0, (6, 3)), label="random ranking", zorder=2)
    ax.plot([], [], color=GREY, linewidth=1, linestyle=":", label="perfect ranking")
    kind = "share" if relative else "number"
    ax.set(xlabel=f"{kind} of rows, by falling score", ylabel=f"{kind} of positives among them")
    ax.set(xlim=(0, end[0] or 1.0), ylim=(0, 1.03 * end[1] or 1.0))  # nothing selected: an empty picture
    if relative:
        ax.set_aspect("equal")
    else:
        ax.locator_params(integer=True)
