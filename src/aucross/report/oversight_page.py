"""The oversight report as one HTML page, as Markdown and as JSON."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Mapping
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

from aucross.report import formats
from aucross.system.libraries import import_library
from aucross.system.text import marked
from aucross.system.whole_files import write_whole

# The five questions of a committee, and the tables that answer each.
QUESTIONS = {
    "What is decided?": ("months", "answers", "why_reviewed", "time_to_review", "drift"),
    "How well?": ("label_free", "right_answers", "costs", "upheld", "strip"),
    "How do people decide?": ("second_reviews", "machine_shown", "seeded"),
    "Who changes what?": ("overrides", "reasons", "reviewers"),
    "Who is treated differently?": (),
    "What changed, and can the record be trusted?": ("changes", "approvals", "contradictions"),
}
_FORMATS = {"count": formats.count, "share": formats.percent, "area": formats.area}
_AMOUNTS = ("hours", "cost")


def write_oversight(found: Mapping[str, Any], path: Path) -> Path:
    """Write an oversight report as ``.html``, ``.md`` or ``.json``, by the ending of the path.

    Parameters
    ----------
    found : mapping
        From :func:`build_oversight`.
    path : Path
        File to write.

    Returns
    -------
    Path
        The written file.
    """
    writers: dict[str, Callable[[Mapping[str, Any]], str]] = {".html": render_oversight, ".md": _markdown}
    writers[".json"] = lambda told: json.dumps(told, indent=1)
    if path.suffix not in writers:
        raise ValueError(f"path must end in .html, .md or .json, got {path.name!r}")
    write_whole(path, (writers[path.suffix](found).rstrip() + "\n").encode())
    return path


def render_oversight(found: Mapping[str, Any]) -> str:
    """Render the oversight report as one page that loads nothing and runs no script.

    Parameters
    ----------
    found : mapping
        From :func:`build_oversight`.

    Returns
    -------
    str
        The page.
    """
    jinja2 = import_library("jinja2", purpose="the oversight report", extra="report")
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    inside = {**_shown(found), "style": _part("style.css"), "policy": oversight_policy()}
    page: str = environment.from_string(_part("oversight.html")).render(**inside)
    return page


def oversight_policy() -> str:
    """Return the page's content security policy: it allows the style sheet, but no scripts and no other loading."""
    known = b64encode(sha256(_part("style.css").encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{known}'; form-action 'none'; base-uri 'none'"


def _part(name: str) -> str:
    return files("aucross.report").joinpath(name).read_text("utf-8")


def _shown(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the texts that page and Markdown show, in the order of the committee's questions."""
    tables = {table["name"]: _text_table(table) for table in found["tables"]}
    asked = {question: [tables.pop(name) for name in names if name in tables] for question, names in QUESTIONS.items()}
    asked["Who is treated differently?"] = list(tables.values())
    tiles = [
        {**tile, "value": formats.UNKNOWN if tile["value"] is None else _FORMATS[tile["kind"]](tile["value"])}
        for tile in found["headline"]
    ]
    effect, drift, is_kept = found["effect"], found["drift"]["p_value"], found["promise"]["is_kept"]
    kinds = {
        "decided": "note",
        "audit": "note",
        "promise": _kind(is_kept, is_bad=is_kept is False),
        "treatment": "note",
        "risks": "note",
        "effect": _kind_of_effect(effect),
        "ranking": "note",
        "strip": _kind_of_effect(found["strip"]),
        "trend": "note",
        "drift": _kind(drift, is_bad=drift is not None and drift <= 0.05),
        "integrity": _kind(1, is_bad=not found["integrity"]["is_clean"]),
    }
    answers = [
        {"question": each["question"], "sentence": marked(each["sentence"]), "sql": each.get("sql"), "kind": kind}
        for each, kind in ((found[name], kind) for name, kind in kinds.items())
    ]
    head = {"title": marked(found["title"]), "made_at": found["made_at"]}
    return head | {"tiles": tiles, "answers": answers, "first": list(kinds).index("effect"), "asked": asked}


def _kind(known: float | None, *, is_bad: bool) -> str:
    return "note" if known is None else "verdict alarm" if is_bad else "verdict ok"


def _kind_of_effect(effect: Mapping[str, Any]) -> str:
    """Return the style of the effect: green if review helps, red if it harms, neutral if no change is seen."""
    low, high = effect.get("low"), effect.get("high")
    return "note" if low is None or high is None or low <= 0.0 <= high else _kind(low, is_bad=high < 0.0)


def _text_table(table: Mapping[str, Any]) -> dict[str, Any]:
    names = [name.replace("_", " ") for name in table["columns"]]
    rows = [[_text(name, value) for name, value in zip(table["columns"], row, strict=True)] for row in table["rows"]]
    told = {"question": table["question"], "sql": table["sql"], "note": table.get("note")}
    return told | {"columns": names, "rows": rows}


def _text(name: str, value: Any) -> str:
    if value is None:
        return formats.UNKNOWN
    if isinstance(value, str):
        return marked(value[:16] if name in {"model", "rule", "time"} else value)
    if isinstance(value, int):
        return formats.count(value)
    if name in {"mean_score", "expected_auc"}:
        return formats.area(value)
    if "planned" in name:
        return formats.count(round(value))
    return f"{value:,.2f}" if any(word in name for word in _AMOUNTS) else formats.percent(value)


def _markdown(found: Mapping[str, Any]) -> str:
    shown = _shown(found)
    lines = [f"# {_cell(shown['title'])}", "", f"Made {shown['made_at']}.", ""]
    lines += [f"- **{tile['value']}** {tile['name']} ({tile['note'] or 'so far'})" for tile in shown["tiles"]]
    for answer in shown["answers"]:
        lines += ["", f"**{answer['question']}** {_cell(answer['sentence'])}"]
    for question, tables in shown["asked"].items():
        lines += ["", f"## {question}"] if tables else []
        for table in tables:
            lines += ["", _cell(table["question"]), "", _line(table["columns"]), _line("---" for _ in table["columns"])]
            lines += [_line(row) for row in table["rows"]]
            lines += ["", table["note"]] if table["note"] else []
            lines += ["", "```sql", table["sql"], "```"]
    return "\n".join(lines)


def _line(cells: Any) -> str:
    return "| " + " | ".join(_cell(cell) for cell in cells) + " |"


def _cell(text: str) -> str:
    return "".join(f"\\{character}" if character in "|<>[]`*_\\" else character for character in text).replace(
        "\n", " "
    )
