"""Draw the logo: a distribution of scores whose middle band is cut out (``python docs/draw_logo.py``)."""

from __future__ import annotations

from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent / "_static"
# Low scores, the band, high scores; the band is grey because nobody has decided it yet.
THEMES = {"light": ("#0072b2", "#9aa4b2", "#d55e00"), "dark": ("#56b4e9", "#7d8794", "#f0a05a")}
BAND = (20.5, 29.5)
BOTTOM, HEIGHT = 43.0, 37.0


def height_at(x: np.ndarray) -> np.ndarray:
    """A curve with its top left of the middle, as scores of rare events have it."""
    return BOTTOM - HEIGHT * np.exp(-0.5 * ((x - 20) / np.where(x < 20, 7.2, 11.0)) ** 2)


def part(left: float, right: float, fill: str, extra: str = "") -> str:
    x = np.linspace(left, right, 24)
    top = " ".join(f"L{a:.1f} {b:.1f}" for a, b in zip(x, height_at(x), strict=True))
    return f'<path d="M{left} {BOTTOM} {top} L{right} {BOTTOM}Z" fill="{fill}" {extra}/>'


def drawing(colours: tuple[str, str, str]) -> str:
    low, band, high = colours
    gap = 1.6
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 48 48" role="img"><title>aucross</title>'
        + part(2, BAND[0] - gap, low)
        + part(*BAND, "none", f'stroke="{band}" stroke-width="1.6" stroke-dasharray="3 2.4" stroke-linejoin="round"')
        + part(BAND[1] + gap, 46, high)
        + "</svg>\n"
    )


if __name__ == "__main__":
    for name, colours in THEMES.items():
        (FOLDER / f"logo-{name}.svg").write_text(drawing(colours), encoding="utf-8")
