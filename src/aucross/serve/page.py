"""A page that says how to ask: no scripts, and nothing from elsewhere, so that it works without a network."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape

from aucross.serve.rows import ServedModel, example_row

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1c2733}"
    "table{border-collapse:collapse}td,th{border:1px solid #c3ced8;padding:.3rem .6rem;text-align:left}"
    "pre{background:#f2f5f8;padding:1rem;overflow:auto}"
    "@media(prefers-color-scheme:dark){body{background:#12181f;color:#dfe7ee}pre{background:#1d2630}}"
)
# A browser sends no token of this kind, so that whoever reads this has come without one.
_TOKEN = (
    "<p>Send the token of this server with each request: <code>Authorization: Bearer ...</code>. With it, this page "
    "lists the columns of a row, too: <code>curl -H &quot;Authorization: Bearer $(cat FILE)&quot; .../docs</code></p>"
)
_PATHS = {
    "POST /decision": "decides on one row",
    "POST /decisions": "decides on many rows; the answers have their order",
    "GET /openapi.json": "this page for programs: types of requests and answers",
    "GET /metrics": "numbers for Prometheus: requests, refusals, decisions, coverage so far, alarm",
    "GET /health": "whether decisions can be given",
}


def page(model: ServedModel | None, needs_token: bool) -> str:
    """The page as HTML; without a model, for a caller who has sent no token, it says only how to ask."""
    token = _TOKEN if needs_token else ""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>aucross: how to ask</title>'
        f"<style>{_STYLE}</style></head><body><h1>How to ask for decisions</h1>"
        f"<p>Rows are decided automatically or go to review.</p>{token}"
        f"<h2>Paths</h2>{_table(('path', 'what it does'), list(_PATHS.items()))}"
        f"{'' if model is None else _about(model)}</body></html>"
    )


def _about(model: ServedModel) -> str:
    example = json.dumps({"id": "A-17", "row": example_row(model)}, indent=2, ensure_ascii=False)
    columns = [(name, kind, "yes" if model.may_be_null(name) else "no") for name, kind in model.fields.items()]
    return (
        f"<h2>Columns of a row</h2>{_table(('name', 'type', 'may be null'), columns)}"
        f"<p>The labels are {escape(model.labels[0])} and {escape(model.labels[1])}; unless a request says otherwise, "
        f"{model.clf.coverage:.0%} of the rows should be automatic.</p>"
        f"<h2>Example</h2><pre>POST /decision\n{escape(example)}</pre>"
    )


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    body = "".join("<tr>" + "".join(f"<td>{escape(value)}</td>" for value in row) + "</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"
