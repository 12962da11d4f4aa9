"""The summary as a model card in Markdown."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from aucross.report import formats, tables
from aucross.report.tables import Table
from aucross.system.text import exact_percent

# What Markdown or the HTML inside it would take for markup.
_MARKUP = re.compile(r"([\\`*_{}\[\]<>|#~])")


def render_markdown(summary: Mapping[str, Any]) -> str:
    """Render the report as a model card in Markdown, at the coverage in use.

    Parameters
    ----------
    summary : dict
        From :func:`build_summary`, or the same read back from JSON.

    Examples
    --------
    >>> from aucross.report import build_summary, render_markdown
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from aucross import AUCross
    >>> X, y = make_classification(2000, flip_y=0.3, random_state=0)
    >>> clf = AUCross(LogisticRegression(), random_state=0).fit(X[:1000], y[:1000])
    >>> card = render_markdown(build_summary(clf, X[1000:], y[1000:], title="Pilot"))
    >>> card.splitlines()[0]
    '# Pilot'
    """
    summary = formats.with_marks(summary)
    entry = summary["coverages"][tables.index_in_use(summary)]
    in_use = tables.numbers(summary, entry)[0].text
    guard = "within limits" if entry["base_rate"]["ok"] else "**limit exceeded**"
    method = "\n".join(f"- **{name}:** {_escaped(text)}" for name, text in tables.method_items(summary))
    columns = ("Number", "Value", f"{exact_percent(summary['method']['confidence'])} interval")
    numbers = Table(columns, [(found.label, found.text, found.interval) for found in tables.numbers(summary, entry)])
    parts = [
        f"# {_escaped(summary['title'])}",
        f"## Summary\n\n**{_escaped(tables.question(summary, entry))}**",
        _escaped(summary["sentence"]),
        f"**What can be promised.** {_escaped(summary['promise']['sentence'])}",
        f"**Who is treated differently.** {_escaped(tables.treatment_text(entry))}",
        f"**What can go wrong.** {_escaped(tables.go_wrong_text(summary, entry))}",
        *(f"**Warning:** {_escaped(warning)}." for warning in summary["promise"]["warnings"]),
        f"## Method\n\n{method}",
        f"## Numbers at coverage {in_use}\n\n{_table(numbers)}",
        f"## What becomes of the cases\n\n{_table(tables.lane_table(summary, entry))}",
        _table(tables.error_table(summary, entry)),
        f"## Coverages\n\n{_table(tables.coverage_table(summary))}",
        f"## Deciles of the automatic rows\n\n{_table(tables.decile_table(summary, entry))}",
        f"## Who goes to review\n\n{_table(tables.score_table(summary, entry))}",
        f"{_table(tables.feature_table(summary, entry))}\n\nDifferences are in standard deviations of the column.",
        *_groups(summary, entry),
        f"## Base-rate guard\n\nBase rate {guard}: {_escaped(entry['base_rate']['message'])}.",
        _table(tables.guard_table(summary, entry)),
        "## Limits\n\n" + "\n".join(f"- {_escaped(limit)}" for limit in summary["method"]["limits"]),
        f"## Command to regenerate\n\n{_code(summary['method']['command'])}",
    ]
    return "\n\n".join(parts) + "\n"


def _escaped(text: str) -> str:
    return _MARKUP.sub(r"\\\1", text).replace("\n", " ")


def _table(table: Table) -> str:
    if not table.rows:
        return "None."
    lines = [table.columns, ("---", *["---:"] * (len(table.columns) - 1))]
    marked = [tuple(_escaped(cell) for cell in row) for row in (table.columns, *table.rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (marked[0], lines[1], *marked[1:]))


def _groups(summary: Mapping[str, Any], entry: Mapping[str, Any]) -> list[str]:
    if not entry["groups"]:
        return []
    return [
        f"### Groups\n\n{_table(tables.group_table(summary, entry))}",
        *([_table(tables.gap_table(summary, entry))] if entry["group_gaps"] else []),
        *([_escaped(" ".join(summary["group_notes"]))] if summary.get("group_notes") else []),
        *([f"### Bands\n\n{_table(tables.band_table(summary, entry))}"] if len(entry["bands"]) > 1 else []),
    ]


def _code(command: str | None) -> str:
    if not command:
        return "Not recorded."
    # A fence longer than any run of backquotes inside.
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", command)), default=0))
    return f"{fence}\n{command}\n{fence}"
