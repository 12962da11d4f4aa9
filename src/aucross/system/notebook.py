"""Show results in notebooks, as a sentence with a small table, and pass columns to other libraries by Arrow.

No colours of text or background are set, so that light and dark pages both work.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from math import isfinite, isnan
from typing import Any, NamedTuple

from aucross.system.libraries import import_library
from aucross.system.text import marked

# No line break within an interval, nor before a per cent sign.
_SPACE = "\N{NO-BREAK SPACE}"


# Texts of more characters may be broken into lines.
_LONG = 30
# Size of a picture of an interval, in pixels, and the colour of what it shows.
_WIDTH, _HEIGHT, _MARGIN = 90, 14, 5
_COLOUR = "#2f86c8"  # between the blue of the figures and white: seen on both


class Estimate(NamedTuple):
    """An estimate with its interval; NaN where there is none."""

    value: float
    low: float
    high: float

    @property
    def has_interval(self) -> bool:
        """Whether both ends are known."""
        return isfinite(self.low) and isfinite(self.high)


class Strip(NamedTuple):
    """Picture of an interval, on a scale shared by all rows of a table, with a line at a reference value."""

    estimate: Estimate
    scale: tuple[float, float]
    mark: float

    def svg(self) -> str:
        """Return the picture as SVG; empty if there is no interval."""
        if not (self.estimate.has_interval and isfinite(self.estimate.value)):
            return ""
        value, low, high = (self._place(number) for number in self.estimate)
        mark = self._place(self.mark)
        middle = _HEIGHT / 2
        return (
            f'<svg width="{_WIDTH}" height="{_HEIGHT}" role="img" aria-label="{_number(self.estimate.value)}">'
            f'<line x1="{mark}" y1="0" x2="{mark}" y2="{_HEIGHT}" stroke="currentColor" stroke-dasharray="2 2"/>'
            f'<line x1="{low}" y1="{middle}" x2="{high}" y2="{middle}" stroke="{_COLOUR}" stroke-width="3"/>'
            f'<circle cx="{value}" cy="{middle}" r="4" fill="{_COLOUR}"/></svg>'
        )

    def _place(self, number: float) -> float:
        start, end = self.scale
        share = (number - start) / (end - start) if end > start else 0.5
        return round(_MARGIN + (_WIDTH - 2 * _MARGIN) * share, 1)


def strips(estimates: Sequence[Estimate], mark: float) -> list[Strip]:
    """Return pictures of the intervals of a column, on one scale, with a dotted line at a reference value."""
    known = [number for estimate in estimates for number in estimate if isfinite(number)]
    known += [mark] if isfinite(mark) else []
    scale = (min(known, default=0.0), max(known, default=0.0))
    return [Strip(estimate, scale, mark) for estimate in estimates]


def result_html(sentence: str, rows: Sequence[Mapping[str, Any]], further: str = "") -> str:
    """Return a sentence, a table and further sentences as HTML for a notebook.

    Numbers are rounded to four decimals, intervals stand below their estimate, and texts are shown as they are.

    Examples
    --------
    >>> result_html("Two <b>rows</b>.", [])
    '<div><p><strong>Two &lt;b&gt;rows&lt;/b&gt;.</strong></p></div>'
    """
    parts = [f"<p><strong>{_safe(sentence)}</strong></p>"]
    if rows:
        head = "".join(_cell("th", name, like=value) for name, value in rows[0].items())
        body = "".join(f"<tr>{''.join(_cell('td', value, like=value) for value in row.values())}</tr>" for row in rows)
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        parts.append(f'<div style="overflow-x:auto">{table}</div>')
    if further:
        parts.append(f"<p>{_safe(further)}</p>")
    return f"<div>{''.join(parts)}</div>"


class InWords:
    """Base class of results that are printed as their `sentence`, also in notebooks."""

    sentence: Any

    def __str__(self) -> str:
        return str(self.sentence)

    def _repr_html_(self) -> str:
        return result_html(str(self), [])


def arrow_stream(columns: Mapping[str, Any], requested_schema: object | None) -> object:
    """Return columns as a stream of Arrow's C interface, for polars, DuckDB, pandas and pyarrow to read."""
    arrow = import_library("pyarrow", purpose="a result as an Arrow table", extra="arrow")
    return arrow.table(dict(columns)).__arrow_c_stream__(requested_schema)


def _cell(tag: str, value: Any, *, like: Any) -> str:
    """Return a cell of a table as HTML; text and pictures are left-aligned, numbers right-aligned."""
    side = "left" if isinstance(like, str | Strip) else "right"
    style = f"text-align:{side};vertical-align:top;padding:.2em .4em"
    if tag == "td" and not (isinstance(value, str) and len(value) > _LONG):
        style += ";white-space:nowrap"
    return f'<{tag} style="{style}">{_content(value)}</{tag}>'


def _content(value: Any) -> str:
    if isinstance(value, Strip):
        return value.svg()
    if isinstance(value, Estimate):
        interval = f"[{_number(value.low)},{_SPACE}{_number(value.high)}]"
        return _number(value.value) + (
            f'<br><span style="font-size:.8em">{interval}</span>' if value.has_interval else ""
        )
    if isinstance(value, float):
        return _number(value)
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else _safe(str(value))


def _safe(text: str) -> str:
    return escape(marked(text)).replace(" %", f"{_SPACE}%")


def _number(value: float) -> str:
    return "\N{EN DASH}" if isnan(value) else f"{value:.4f}"
