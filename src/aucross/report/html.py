"""The summary as one HTML file that includes its styles, script, data and pictures."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from importlib import import_module
from importlib.resources import files
from typing import Any

from aucross.report import formats, tables
from aucross.report.charts import Chart, charts
from aucross.system.text import exact_percent


def render_html(summary: Mapping[str, Any]) -> str:
    """Render the report as one page of less than 1 MB with a slider for the coverage; it loads nothing from a server.

    Parameters
    ----------
    summary : dict
        From :func:`build_summary`, or the same read back from JSON.

    Examples
    --------
    >>> from aucross.report import build_summary, render_html
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from aucross import AUCross
    >>> X, y = make_classification(2000, flip_y=0.3, random_state=0)
    >>> clf = AUCross(LogisticRegression(), random_state=0).fit(X[:1000], y[:1000])
    >>> page = render_html(build_summary(clf, X[1000:], y[1000:], title="Pilot"))
    >>> page.startswith("<!doctype html>"), "<title>Pilot</title>" in page
    (True, True)
    """
    try:
        jinja2, markupsafe = import_module("jinja2"), import_module("markupsafe")
    except ImportError as error:
        raise ImportError('the HTML report needs jinja2; install it with: pip install "aucross[report]"') from error
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    style, script = _part("style.css"), _part("script.js")
    summary = formats.with_marks(summary)
    drawn = charts(summary)
    # The browser may run this script and apply this sheet, and may neither run, apply nor load anything else.
    policy = (
        f"default-src 'none'; script-src {_source(script)}; style-src {_source(style)}; img-src data:; "
        "connect-src 'none'; form-action 'none'; base-uri 'none'"
    )
    page: str = environment.from_string(_part("template.html")).render(
        **_texts(summary),
        policy=policy,
        style=markupsafe.Markup(style),
        script=markupsafe.Markup(script),
        charts={name: markupsafe.Markup(chart.svg) for name, chart in drawn.items()},
        page_data=markupsafe.Markup(_json_in_html(page_data(summary, drawn))),
    )
    return page.strip() + "\n"


def _source(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _part(name: str) -> str:
    return files("aucross.report").joinpath(name).read_text(encoding="utf-8")


def _json_in_html(data: Any) -> str:
    """Return JSON that no HTML parser can mistake for markup."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"), ensure_ascii=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def page_data(summary: Mapping[str, Any], drawn: Mapping[str, Chart]) -> dict[str, Any]:
    """Return the data for the page's script: every text, table and chart mark at every coverage.

    Python rounds the numbers, because JavaScript rounds halves differently.
    """
    entries = summary["coverages"]
    bars = _bars(summary)
    steps = [
        {
            "fields": fields(summary, entry),
            "tables": {name: table.rows for name, table in moving_tables(summary, entry).items()},
            "bars": bars[index],
            "marks": {name: given for chart in drawn.values() for name, given in chart.marks[index].items()},
            "guard_ok": entry["base_rate"]["ok"],
            "someone_reviewed": entry["n_review"] > 0,
        }
        for index, entry in enumerate(entries)
    ]
    return {
        "coverages": [entry["target_coverage"] for entry in entries],
        "start": tables.index_in_use(summary),
        "steps": steps,
    }


def fields(summary: Mapping[str, Any], entry: Mapping[str, Any]) -> dict[str, str]:
    """Return the texts at one coverage, by their keys on the page."""
    texts = {"question": tables.question(summary, entry), "sides": tables.sides_text(summary, entry)}
    texts |= {"treatment": tables.treatment_text(entry), "go_wrong": tables.go_wrong_text(summary, entry)}
    for number in (*tables.tiles(summary, entry), *tables.numbers(summary, entry)):
        texts[number.key] = number.text
        if number.interval:
            texts[f"{number.key}_interval"] = number.interval
    ok, message = entry["base_rate"]["ok"], entry["base_rate"]["message"]
    return texts | {
        "guard_sign": "✓" if ok else "▲",
        "guard_verdict": "Within limits:" if ok else "Limit exceeded:",
        "guard_message": f"{message}.",
    }


def moving_tables(summary: Mapping[str, Any], entry: Mapping[str, Any]) -> dict[str, tables.Table]:
    """Return the tables that change with the coverage."""
    return {
        "lanes": tables.lane_table(summary, entry),
        "errors": tables.error_table(summary, entry),
        "bands": tables.band_table(summary, entry),
        "deciles": tables.decile_table(summary, entry),
        "scores": tables.score_table(summary, entry),
        "features": tables.feature_table(summary, entry),
        "groups": tables.group_table(summary, entry),
        "gaps": tables.gap_table(summary, entry),
        "guard": tables.guard_table(summary, entry),
    }


def _bars(summary: Mapping[str, Any]) -> list[list[tuple[float, float]]]:
    """Return start and length of each feature's bar at each coverage, in per cent of the width, with zero at 50."""
    all_differences = [
        [feature["standardised_difference"] for feature in entry["features"]] for entry in summary["coverages"]
    ]
    largest = max((abs(value) for row in all_differences for value in row), default=1.0) or 1.0
    return [
        [(round(50 + min(0.0, size), 2), round(abs(size), 2)) for size in (50 * value / largest for value in row)]
        for row in all_differences
    ]


def _texts(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Return the texts that the page shows at first, at the coverage in use, whether or not its script runs."""
    entry = summary["coverages"][tables.index_in_use(summary)]
    coverages = [each["target_coverage"] for each in summary["coverages"]]
    on_grid = len(coverages) == 51
    return {
        "summary": summary,
        "start": entry,
        "fields": fields(summary, entry),
        "tiles": tables.tiles(summary, entry),
        "numbers": tables.numbers(summary, entry),
        "tables": {**moving_tables(summary, entry), "coverages": tables.coverage_table(summary)},
        "bars": _bars(summary)[tables.index_in_use(summary)],
        "method": tables.method_items(summary),
        "coverages": coverages,
        # A coverage between two steps is a step too, so the slider must be able to stand anywhere.
        "step": "0.01" if on_grid else "any",
        "positive": tables.class_name(summary),
        "negative": tables.class_name(summary, "negative"),
        "score_title": f"score: {tables.score_words(summary)}",
        **tables.direction_words(summary),
        "level": exact_percent(summary["method"]["confidence"]),
        "has_intervals": summary["method"]["with_intervals"],
        "rows_text": formats.count(summary["data"]["n"]),
        "unit": "weight" if summary["data"]["weighted"] else "rows",
        "model_name": summary["method"]["model"].partition("(")[0],
        "all_gini": formats.area(summary["coverages"][-1]["selective_gini"]),
    }
