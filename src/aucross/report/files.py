"""A report on disk: HTML, JSON or Markdown by the ending of the name, written whole or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from aucross.report.html import render_html
from aucross.report.markdown import render_markdown
from aucross.system.whole_files import write_whole


def render_json(summary: Mapping[str, Any]) -> str:
    """Render the summary as JSON, for programs and for rendering it again later; undefined numbers are null.

    Parameters
    ----------
    summary : dict
        From :func:`build_summary`.
    """
    return json.dumps(summary, indent=1, allow_nan=False, ensure_ascii=False) + "\n"


RENDERERS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    ".html": render_html,
    ".htm": render_html,
    ".json": render_json,
    ".md": render_markdown,
}


def write_report(summary: Mapping[str, Any], path: str | os.PathLike[str]) -> Path:
    """Write a report; the ending of the name chooses the form.

    Parameters
    ----------
    summary : dict
        From :func:`build_summary`.
    path : str or path
        A name that ends in ``.html``, ``.json`` or ``.md``. An existing file is replaced only once the new one is
        complete. It is returned.

    Examples
    --------
    >>> from aucross.report import write_report
    >>> write_report({}, "report.pdf")
    Traceback (most recent call last):
    ...
    ValueError: path must end in .html, .htm, .json or .md, got 'report.pdf'; for PDF print the HTML page
    """
    target = Path(path)
    render = RENDERERS.get(target.suffix.lower())
    if render is None:
        known = list(RENDERERS)
        hint = "; for PDF print the HTML page" if target.suffix.lower() == ".pdf" else ""
        raise ValueError(f"path must end in {', '.join(known[:-1])} or {known[-1]}, got {str(path)!r}{hint}")
    # Half of a pair of characters has no bytes of its own; its escape is what JSON has for it.
    write_whole(target, render(summary).encode(errors="backslashreplace"))
    return target
