"""Tables as Markdown, and figures the way the paper prints them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd


def table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines) + "\n"


def title(text: str) -> str:
    """The title of a table: no heading, because tables are folded away and a heading cannot be inside of a fold."""
    return f"**{text}**\n"


def frame(data: pd.DataFrame) -> str:
    """A data frame whose cells are ready to print."""
    return table(list(data.columns), data.itertuples(index=False))


def figure(value: float | None, digits: int = 3) -> str:
    """A number without its leading zero: .943, -.002; a dash where there is none."""
    if value is None or pd.isna(value):
        return "-"
    text = f"{value:.{digits}f}"
    return text.replace("0.", ".", 1) if text.lstrip("-").startswith("0.") else text


def signed(value: float, digits: int = 3) -> str:
    """The same with its sign."""
    return figure(value, digits) if value < 0 else f"+{figure(value, digits)}"


def share(part: float, digits: int = 0) -> str:
    """A share in per cent."""
    return f"{100 * part:.{digits}f} %"


def interval(mean: float, low: float, high: float, digits: int = 3) -> str:
    """A mean with its interval."""
    return f"{figure(mean, digits)} [{figure(low, digits)}, {figure(high, digits)}]"
