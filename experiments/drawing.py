"""How the figures of the evidence look: readable at the width of a page, and on a telephone."""

from __future__ import annotations

from contextlib import AbstractContextManager
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

# A page of 1,440 pixels shows a figure 720 pixels wide, a telephone of 390 shows it 358 wide: letters of 11 points then
# have 17 and 8.5 pixels, so no figure may be wider than this.
WIDTH = 6.4
DPI = 170
N_COLOURS = 128
OURS_COLOUR, OTHER_COLOUR, LOSS_COLOUR, GREY = "#1b6ca8", "#e08e0b", "#c8402f", "#8a8f98"
STYLE: dict[str, Any] = {
    "font.size": 11,
    "axes.titlesize": 11,
    "axes.labelsize": 11,
    "xtick.labelsize": 10.5,
    "ytick.labelsize": 10.5,
    "legend.fontsize": 10.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#eaeaea",
}


def page_style() -> AbstractContextManager[None]:
    """Draw and write inside of this."""
    return mpl.rc_context(STYLE)  # type: ignore[arg-type]  # the keys are checked when they are set


def write_figure(figure: Figure, path: Path) -> None:
    """Write a PNG without date and version inside: the same evidence gives the same bytes.

    Lines, markers and letters need few colours; with a palette of them the file has a third of the size.
    """
    FigureCanvasAgg(figure)
    with BytesIO() as drawn:
        figure.savefig(drawn, dpi=DPI, metadata={"Software": None})
        Image.open(drawn).convert("RGB").quantize(N_COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)


def legend_below(figure: Figure, axes: Axes, columns: int) -> None:
    """The legend under all panels, where it covers no data."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False)


def legend_in(empty: Axes, axes: Axes) -> None:
    """The legend in a panel that has no data of its own."""
    empty.set_axis_off()
    empty.legend(*axes.get_legend_handles_labels(), loc="center", frameon=False)
