"""Results for notebooks and for other libraries: a sentence with a small table, and columns in Arrow's memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from math import isnan
from typing import Any

from aucross.system.libraries import import_library
from aucross.system.text import marked

# No line break within an interval.
_SPACE = "\N{NO-BREAK SPACE}"


def result_html(sentence: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """A sentence and a table, as a notebook shows them.

    Parameters
    ----------
    sentence : str
        What the result says.
    rows : sequence of mappings
        Rows of the table by name of the column; numbers are rounded to four decimals, and texts are shown as they are,
        whatever they contain.

    Returns
    -------
    str
        HTML.

    Examples
    --------
    >>> result_html("Two <b>rows</b>.", [])
    '<div><p>Two &lt;b&gt;rows&lt;/b&gt;.</p></div>'
    """
    parts = [f"<p>{_safe(sentence)}</p>"]
    if rows:
        head = "".join(_cell("th", name, like=value) for name, value in rows[0].items())
        body = "".join(f"<tr>{''.join(_cell('td', value, like=value) for value in row.values())}</tr>" for row in rows)
        parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")
    return f"<div>{''.join(parts)}</div>"


def with_interval(value: float, low: float, high: float) -> str:
    """An estimate with its interval, if it has one: ``0.8123 [0.8010, 0.8231]``."""
    return _number(value) if isnan(low) else f"{_number(value)}{_SPACE}[{_number(low)},{_SPACE}{_number(high)}]"


def arrow_stream(columns: Mapping[str, Any], requested_schema: object | None) -> object:
    """Columns as a stream of Arrow's C interface, which polars, DuckDB, pandas and pyarrow read without a copy.

    Parameters
    ----------
    columns : mapping of str to array or list
        The columns by name.
    requested_schema : capsule, optional
        As the interface defines it.

    Returns
    -------
    capsule
    """
    arrow = import_library("pyarrow", purpose="a result as an Arrow table", extra="deploy")
    return arrow.table(dict(columns)).__arrow_c_stream__(requested_schema)


def _cell(tag: str, value: Any, *, like: Any) -> str:
    """A cell of a table; texts are at the left, numbers at the right."""
    side = "left" if isinstance(like, str) else "right"
    return f'<{tag} style="text-align:{side};padding:.2em .8em">{_safe(_text(value))}</{tag}>'


def _safe(text: str) -> str:
    return escape(marked(text))


def _text(value: Any) -> str:
    if isinstance(value, float):
        return _number(value)
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _number(value: float) -> str:
    return "\N{EN DASH}" if isnan(value) else f"{value:.4f}"
