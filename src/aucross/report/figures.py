"""The charts of the page as plain plotly figures, and what the slider changes in them.

Each chart is a figure (traces and layout, as plotly's JavaScript takes them) and one frame per coverage: the traces
and parts of the layout that are different there. Colours are those of Okabe and Ito, and no two lines or areas differ
by colour alone: lines have dashes of their own, rejected rows are hatched.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from math import log
from typing import Any, NamedTuple

from aucross.report.tables import (
    Entry,
    Summary,
    all_rows,
    band_text,
    index_in_use,
    negative_name,
    positive_name,
)
from aucross.system.text import exact_percent

BLUE, VERMILION, GREEN, GREY, INK = "#0072B2", "#D55E00", "#009E73", "#6b7280", "#1f2933"
_BAND = "rgba(31, 41, 51, 0.10)"
_GRID = "#e3e7eb"
# Probabilities to mark on a scale of log-odds.
_MARKS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995)

Figure = dict[str, Any]
Frame = dict[str, Any]


class Chart(NamedTuple):
    """A figure and its frames, one per coverage."""

    figure: Figure
    frames: list[Frame]


def charts(summary: Summary) -> dict[str, Chart]:
    """All charts of the page by name."""
    drawn = {
        "distribution": distribution_chart(summary),
        "roc": roc_chart(summary),
        "cap": cap_chart(summary),
        "auc_coverage": auc_coverage_chart(summary),
    }
    if summary["score"]["kind"] == "probability":
        drawn["calibration"] = calibration_chart(summary)
    return drawn


def _axis(**options: Any) -> dict[str, Any]:
    """Return an axis without a title: the page writes it beside the chart, where long names of classes can wrap."""
    return {
        "gridcolor": _GRID,
        "linecolor": GREY,
        "zeroline": False,
        "fixedrange": True,
        "automargin": True,
        **options,
    }


def _layout(**options: Any) -> dict[str, Any]:
    return {
        "margin": {"l": 46, "r": 14, "t": 10, "b": 28},
        "font": {"family": "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif", "size": 13, "color": INK},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "showlegend": False,
        "dragmode": False,
        "hovermode": "closest",
        "hoverlabel": {"bgcolor": "#ffffff", "bordercolor": GREY, "font": {"color": INK}},
        **options,
    }


def _line(x: Any, y: Any, color: str, dash: str = "solid", width: float = 2.5, **options: Any) -> dict[str, Any]:
    line = {"color": color, "dash": dash, "width": width}
    return {"type": "scatter", "mode": "lines", "x": x, "y": y, "line": line, "hoverinfo": "skip", **options}


def _chart(figure: Figure, summary: Summary, frame: Callable[[Entry], Frame]) -> Chart:
    """Return a chart that starts at the coverage in use."""
    frames = [frame(entry) for entry in summary["coverages"]]
    start = frames[index_in_use(summary)]
    traces = [{**trace, **start["traces"].get(str(number), {})} for number, trace in enumerate(figure["data"])]
    return Chart({"data": traces, "layout": {**figure["layout"], **start.get("layout", {})}}, frames)


# ---- the scores, class by class, and the band ----


def position(score: float, scale: str) -> float:
    """Where a score stands on the axis."""
    if scale == "linear":
        return score
    inside = min(max(score, 1e-6), 1 - 1e-6)  # 0 and 1 would stand at infinity
    return log(inside / (1 - inside))


def distribution_chart(summary: Summary) -> Chart:
    """Scores of each class, automatic rows filled and rejected rows hatched, with the band over both."""
    score = summary["score"]
    edges = [position(edge, score["scale"]) for edge in score["bin_edges"]]
    bars = {
        "x": [(left + right) / 2 for left, right in pairwise(edges)],
        "width": [right - left for left, right in pairwise(edges)],
    }
    traces = []
    for axis, name, color in (("y", positive_name(summary), VERMILION), ("y2", negative_name(summary), BLUE)):
        for rejected in (False, True):
            state = "review" if rejected else "automatic"
            hover = f"%{{y:.1%}} of {_safe(name)} {state}<extra></extra>"
            marker = {"color": color, "line": {"color": color, "width": 0.8 if rejected else 0}}
            if rejected:
                hatch = {"shape": "/", "fgcolor": color, "bgcolor": "#ffffff", "size": 5, "solidity": 0.35}
                marker = {**marker, "color": "#ffffff", "pattern": hatch}
            traces.append({"type": "bar", "yaxis": axis, "marker": marker, "hovertemplate": hover, **bars})
    shown = _range_with_rows(edges, score["shares"])
    panels = [_panel_label(positive_name(summary), "y domain"), _panel_label(negative_name(summary), "y2 domain")]
    top = {"tickformat": ".0%", "rangemode": "tozero", "nticks": 5}
    layout = _layout(
        barmode="stack",
        bargap=0,
        margin={"l": 46, "r": 14, "t": 26, "b": 30},
        xaxis=_axis(range=shown, anchor="y2", showgrid=False, ticks="outside") | _score_ticks(score["scale"], shown),
        yaxis=_axis(domain=[0.53, 1.0], **top),
        yaxis2=_axis(domain=[0.0, 0.47], **top),
    )

    def frame(entry: Entry) -> Frame:
        heights = []
        for name in ("positive", "negative"):
            rejected = entry["review_shares"][name]
            answered = [max(0.0, a - d) for a, d in zip(score["shares"][name], rejected, strict=True)]
            heights += [answered, rejected]
        traces = {str(number): {"y": y} for number, y in enumerate(heights)}
        shapes, labels = _band_marks(summary, entry, shown)
        return {"traces": traces, "layout": {"shapes": shapes, "annotations": [*panels, *labels]}}

    return _chart({"data": traces, "layout": layout}, summary, frame)


def _score_ticks(scale: str, shown: list[float]) -> dict[str, Any]:
    if scale == "linear":
        return {}
    marks: list[float] = []
    for mark in _MARKS:
        # Far enough apart for the narrowest screen.
        free = position(marks[-1], scale) + (shown[1] - shown[0]) / 8 if marks else shown[0]
        if free <= position(mark, scale) <= shown[1]:
            marks.append(mark)
    positions, texts = [position(mark, scale) for mark in marks], [f"{mark:g}" for mark in marks]
    return {"tickangle": 0, "tickvals": positions, "ticktext": texts}


def _range_with_rows(edges: list[float], shares: Mapping[str, list[float]]) -> list[float]:
    held = [number for number, both in enumerate(zip(*shares.values(), strict=True)) if max(both) > 0]
    return [edges[held[0]], edges[held[-1] + 1]]


def _panel_label(name: str, panel: str) -> dict[str, Any]:
    short = name if len(name) <= 28 else name[:27] + "\N{HORIZONTAL ELLIPSIS}"
    place = {"x": 1.0, "xref": "paper", "xanchor": "right", "y": 1.0, "yref": panel, "yanchor": "top"}
    return {"text": f"<b>{_safe(short)}</b>", "showarrow": False, "bgcolor": "rgba(255, 255, 255, 0.8)", **place}


def _band_marks(summary: Summary, entry: Entry, shown: list[float]) -> tuple[list[Any], list[Any]]:
    """Return the band as a shaded, labelled area with dashed ends; nothing where no single interval is rejected."""
    bands = [band for band in entry["bands"] if not band["empty"]]
    if len(entry["bands"]) != 1 or not bands:
        return [], []
    band, scale = bands[0], summary["score"]["scale"]
    ends = [
        end if band[name] is None else position(band[name], scale)
        for name, end in zip(("lower", "upper"), shown, strict=True)
    ]
    edge = {"type": "line", "yref": "paper", "y0": 0, "y1": 1, "line": {"color": INK, "width": 1.5, "dash": "dash"}}
    area = {"type": "rect", "yref": "paper", "y0": 0, "y1": 1, "fillcolor": _BAND, "line": {"width": 0}}
    middle = (sum(ends) / 2 - shown[0]) / (shown[1] - shown[0])
    label = {
        "text": f"review: {band_text(summary, entry)}",
        "x": min(1.0, max(0.0, middle)),
        "xref": "paper",
        "xanchor": "left" if middle < 0.3 else "right" if middle > 0.7 else "center",
        "y": 1.0,
        "yref": "paper",
        "yanchor": "bottom",
        "showarrow": False,
        "font": {"size": 13, "color": INK},
    }
    shapes = [{**area, "x0": ends[0], "x1": ends[1], "layer": "below"}]
    shapes += [{**edge, "x0": end, "x1": end} for end in ends]
    return shapes, [label]


# ---- ROC and CAP ----


def roc_chart(summary: Summary) -> Chart:
    """ROC curve of the automatic rows against that of all rows."""
    everyone = all_rows(summary)["curve"]
    traces = [
        _line([0, 1], [0, 1], GREY, "dot", 1),
        _line(everyone["false_positive_rate"], everyone["true_positive_rate"], INK, "dash", 2),
        _line([], [], BLUE, hoverinfo="x+y"),
    ]
    layout = _layout(
        xaxis=_axis(range=[0, 1], tickformat=".0%"),
        yaxis=_axis(range=[0, 1.005], tickformat=".0%"),
    )

    def frame(entry: Entry) -> Frame:
        curve = entry["curve"] or {"false_positive_rate": [], "true_positive_rate": []}
        return {"traces": {"2": {"x": curve["false_positive_rate"], "y": curve["true_positive_rate"]}}}

    return _chart({"data": traces, "layout": layout}, summary, frame)


def cap_chart(summary: Summary) -> Chart:
    """CAP curve (cumulative accuracy profile) of the automatic rows against that of all rows."""
    everyone = all_rows(summary)["curve"]
    traces = [
        _line([0, 1], [0, 1], GREY, "dot", 1),
        _line([], [], GREY, "dashdot", 1.5),
        _line(everyone["rows"], everyone["true_positive_rate"], INK, "dash", 2),
        _line([], [], BLUE, hoverinfo="x+y"),
    ]
    layout = _layout(
        xaxis=_axis(range=[0, 1], tickformat=".0%"),
        yaxis=_axis(range=[0, 1.005], tickformat=".0%"),
    )

    def frame(entry: Entry) -> Frame:
        curve = entry["curve"]
        if curve is None:
            return {"traces": {"1": {"x": [], "y": []}, "3": {"x": [], "y": []}}}
        perfect = {"x": [0, curve["positive_rate"], 1], "y": [0, 1, 1]}
        return {"traces": {"1": perfect, "3": {"x": curve["rows"], "y": curve["true_positive_rate"]}}}

    return _chart({"data": traces, "layout": layout}, summary, frame)


# ---- AUC against coverage ----


def auc_coverage_chart(summary: Summary) -> Chart:
    """AUC at every coverage with its interval, beside the Oracle and rejection by maximum probability."""
    entries = summary["coverages"]
    column = {
        name: [entry[name] for entry in entries]
        for name in ("target_coverage", "selective_auc", "oracle_auc", "max_probability_auc")
    }
    x = column["target_coverage"]
    everyone = [all_rows(summary)["selective_auc"]] * len(x)
    hover = "coverage %{x:.0%}<br>AUC %{y:.4f}<extra></extra>"
    traces = [
        *_interval_area(entries),
        _line(x, everyone, INK, "dash", 1.5),
        _line(x, column["max_probability_auc"], VERMILION, "dashdot", 2.5),
        _line(x, column["selective_auc"], BLUE, hoverinfo="x+y", hovertemplate=hover),
        # The Oracle often lies on the curve: open marks stay visible over the line.
        _line(x, column["oracle_auc"], GREEN, "dot", 1.5, mode="lines+markers", marker=_oracle_marks(x)),
        {
            "type": "scatter",
            "mode": "markers",
            "marker": {"size": 13, "color": BLUE, "line": {"color": "#ffffff", "width": 2}},
            "hoverinfo": "skip",
        },
    ]
    layout = _layout(
        hovermode="x",
        xaxis=_axis(range=[x[0] - 0.012, 1.012], tickformat=".0%", dtick=0.1),
        yaxis=_axis(tickformat=".2f"),
    )

    def frame(entry: Entry) -> Frame:
        at = entry["target_coverage"]
        line = {"type": "line", "yref": "paper", "y0": 0, "y1": 1, "x0": at, "x1": at, "layer": "below"}
        shapes = [{**line, "line": {"color": GREY, "width": 1, "dash": "dot"}}]
        return {"traces": {"6": {"x": [at], "y": [entry["selective_auc"]]}}, "layout": {"shapes": shapes}}

    return _chart({"data": traces, "layout": layout}, summary, frame)


def _oracle_marks(coverages: list[float]) -> dict[str, Any]:
    """Open diamonds in steps of 5 %."""
    sizes = [10 if round(100 * coverage, 6) % 5 == 0 else 0 for coverage in coverages]
    return {"symbol": "diamond-open", "size": sizes, "color": GREEN, "opacity": 1, "line": {"width": 2, "color": GREEN}}


def _interval_area(entries: list[Entry]) -> list[dict[str, Any]]:
    known = [entry for entry in entries if entry["selective_auc_low"] is not None]
    x = [entry["target_coverage"] for entry in known]
    low, high = ([entry[f"selective_auc_{end}"] for entry in known] for end in ("low", "high"))
    edge = "rgba(0, 114, 178, 0.35)"
    return [
        _line(x, low, edge, width=1),
        _line(x, high, edge, width=1, fill="tonexty", fillcolor="rgba(0, 114, 178, 0.15)"),
    ]


# ---- calibration ----


def calibration_chart(summary: Summary) -> Chart:
    """Mean score and observed rate of each decile of the automatic rows."""
    level = exact_percent(summary["method"]["confidence"])
    hover = f"mean score %{{x:.4f}}<br>observed %{{y:.4f}}<br>interval {level}<extra></extra>"
    highest = max(
        max(part["mean_score"], part["observed_rate_high"])
        for entry in summary["coverages"]
        for part in entry["deciles"]
    )
    top = min(1.0, 1.04 * highest)
    points = {
        "type": "scatter",
        "mode": "markers",
        "marker": {"size": 10, "color": BLUE, "symbol": "circle", "line": {"color": "#ffffff", "width": 1}},
        "hovertemplate": hover,
    }
    layout = _layout(
        xaxis=_axis(range=[0, top], tickformat=".0%"),
        yaxis=_axis(range=[0, top], tickformat=".0%"),
    )

    def frame(entry: Entry) -> Frame:
        parts = entry["deciles"]
        rate = [part["observed_rate"] for part in parts]
        bars = {
            "type": "data",
            "symmetric": False,
            "array": [part["observed_rate_high"] - part["observed_rate"] for part in parts],
            "arrayminus": [part["observed_rate"] - part["observed_rate_low"] for part in parts],
            "color": BLUE,
            "thickness": 1.5,
            "width": 4,
        }
        return {"traces": {"1": {"x": [part["mean_score"] for part in parts], "y": rate, "error_y": bars}}}

    return _chart({"data": [_line([0, top], [0, top], INK, "dash", 1.5), points], "layout": layout}, summary, frame)


def _safe(text: str) -> str:
    """Text that plotly shows as it is: it reads some tags and entities in labels, and %{...} in hover texts."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("%{", "% {")
