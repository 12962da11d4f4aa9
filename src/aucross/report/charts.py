"""Draw the charts of the page as plain SVG, and list what the slider changes in them.

A chart is drawn once, at the coverage in use, and needs no script. Its *marks* are the elements that move: the script
of the page sets their attributes, which are listed for each coverage. Colours are those of the style sheet (Okabe and
Ito, lighter on dark screens), and no two lines or areas differ by colour alone: each line has its own dashes, and cases
for review are hatched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from itertools import pairwise
from math import log
from typing import NamedTuple

import numpy as np

from aucross.report.tables import Entry, Summary, band_text, class_name, index_in_use

# Probabilities to mark on a scale of log-odds.
_MARKS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995)

# Attributes of the moving elements of a chart at one coverage, by name; "text" is what stands in an element.
Marks = dict[str, dict[str, str]]


class Chart(NamedTuple):
    """A picture at the coverage in use, and its marks at every coverage."""

    svg: str
    marks: list[Marks]


class Area(NamedTuple):
    """A part of a picture with axes: the ranges of the numbers, and the pixels at their ends."""

    x: tuple[float, float]
    y: tuple[float, float]
    left: float
    right: float
    top: float
    bottom: float

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Return the pixel position of a point."""
        across = (x - self.x[0]) / (self.x[1] - self.x[0])
        up = (y - self.y[0]) / (self.y[1] - self.y[0])
        return self.left + across * (self.right - self.left), self.bottom - up * (self.bottom - self.top)

    def line(self, x: Iterable[float], y: Iterable[float | None]) -> str:
        """Return a path through points, with gaps at None."""
        path, pen = [], "M"
        for across, up in zip(x, y, strict=True):
            if up is None:
                pen = "M"
                continue
            path.append(f"{pen}{_points(*self.at(across, up))}")
            pen = "L"
        return "".join(path)

    def bars(self, edges: Sequence[float], heights: Iterable[float], below: Iterable[float] | None = None) -> str:
        """Return a path of bars between edges, stacked on others or standing on the axis."""
        path = []
        for (start, end), height, base in zip(pairwise(edges), heights, below or [0.0] * len(edges), strict=False):
            if height > 0:
                (left, bottom), (right, top) = self.at(start, base), self.at(end, base + height)
                path.append(f"M{_points(left, bottom)}V{_short(top)}H{_short(right)}V{_short(bottom)}Z")
        return "".join(path)

    def axes(self, x_ticks: Mapping[float, str], y_ticks: Mapping[float, str]) -> str:
        """Return the lines of the grid and the numbers beside them."""
        drawn = [f'<path class="base" d="M{_points(self.left, self.bottom)}H{_short(self.right)}"/>']
        for value, text in y_ticks.items():
            _, up = self.at(self.x[0], value)
            drawn.append(f'<path class="grid" d="M{_points(self.left, up)}H{_short(self.right)}"/>')
            drawn.append(_tick(self.left - 7, up + 5, "end", text))
        for value, text in x_ticks.items():
            across, _ = self.at(value, self.y[0])
            drawn.append(f'<path class="axis-tick" d="M{_points(across, self.bottom)}v6"/>')
            drawn.append(_tick(across, self.bottom + 24, "middle", text))
        return "".join(drawn)


def _tick(across: float, up: float, anchor: str, text: str) -> str:
    return f'<text class="tick" x="{_short(across)}" y="{_short(up)}" text-anchor="{anchor}">{text}</text>'


def _short(number: float) -> str:
    text = f"{number:.1f}"
    return text.removesuffix(".0")


def _points(across: float, up: float) -> str:
    return f"{_short(across)} {_short(up)}"


def _percents(values: Iterable[float]) -> dict[float, str]:
    return {value: f"{round(100 * value, 6):g}\N{NO-BREAK SPACE}%" for value in values}


def _round_ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Return at most `most` round numbers between two limits."""
    span = high - low
    step = 10.0 ** np.floor(np.log10(span / most))
    step = next(step * factor for factor in (1, 2, 2.5, 5, 10, 20) if span / (step * factor) <= most)
    return [round(number * step, 10) for number in range(int(np.ceil(low / step - 1e-9)), int(high / step + 1e-9) + 1)]


def _drawn(
    summary: Summary,
    name: str,
    size: tuple[int, int],
    parts: Iterable[str | tuple[str, str]],
    move: Callable[[Entry], Marks],
) -> Chart:
    """Return a chart of fixed parts and marks; each mark is a tag with a class and a name."""
    marks = [{f"{name}-{mark}": given for mark, given in move(entry).items()} for entry in summary["coverages"]]
    start = marks[index_in_use(summary)]
    texts = []
    for part in parts:
        if isinstance(part, str):
            texts.append(part)
            continue
        tag, mark = part[0], f"{name}-{part[1]}"
        attributes = "".join(f' {key}="{escape(value)}"' for key, value in start[mark].items() if key != "text")
        texts.append(f'<{tag} data-mark="{mark}"{attributes}>{escape(start[mark].get("text", ""))}</{tag.split()[0]}>')
    return Chart(
        f'<svg class="picture" viewBox="0 0 {size[0]} {size[1]}" aria-hidden="true">{"".join(texts)}</svg>', marks
    )


def charts(summary: Summary) -> dict[str, Chart]:
    """Return all charts of the page by name."""
    drawn = {
        "distribution": distribution_chart(summary),
        "roc": _curve_chart(summary, "roc", "false_positive_rate"),
        "cap": _curve_chart(summary, "cap", "rows"),
        "auc_coverage": auc_coverage_chart(summary),
    }
    if summary["score"]["kind"] == "probability":
        drawn["calibration"] = calibration_chart(summary)
    return drawn


# ---- the scores, class by class, and the band ----


def position(score: float, scale: str) -> float:
    """Return the position of a score on the axis."""
    if scale == "linear":
        return score
    inside = min(max(score, 1e-6), 1 - 1e-6)  # 0 and 1 would stand at infinity
    return log(inside / (1 - inside))


def distribution_chart(summary: Summary) -> Chart:
    """Draw the scores of each class, with automatic cases filled, cases for review hatched, and the band over both."""
    score = summary["score"]
    scale, edges = score["scale"], [position(edge, score["scale"]) for edge in score["bin_edges"]]
    held = [number for number, both in enumerate(zip(*score["shares"].values(), strict=True)) if max(both) > 0]
    shown = (edges[held[0]], edges[held[-1] + 1])
    # Bins that end with the band are narrower or wider than others: the height is a share for the width of most.
    width = edges[1] - edges[0]
    areas: dict[str, Area] = {}
    parts: list[str | tuple[str, str]] = []
    for kind, top, called in (
        ("positive", 36, class_name(summary)),
        ("negative", 196, class_name(summary, "negative")),
    ):
        area = areas[kind] = Area(shown, (0.0, 1.2 * max(score["shares"][kind])), 70, 632, top, top + 140)
        ticks = _percents(_round_ticks(0.0, area.y[1], 4))
        parts.append(area.axes(_score_ticks(scale, shown) if kind == "negative" else {}, ticks))
        short = called if len(called) <= 28 else called[:27] + "\N{HORIZONTAL ELLIPSIS}"
        parts += [(f'path class="{kind} automatic"', kind), (f'path class="{kind} review"', f"{kind}-review")]
        parts.append(f'<text class="panel" x="628" y="{top + 16}" text-anchor="end">{escape(short)}</text>')
    marks = [('path class="band"', "band"), ('path class="band-ends"', "ends"), ('text class="label"', "label")]
    hatches = "".join(
        f'<pattern id="hatch-{kind}" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
        f'<rect class="paper" width="6" height="6"/><path class="hatch {kind}" d="M0 3H6"/></pattern>'
        for kind in areas
    )

    def move(entry: Entry) -> Marks:
        moved: Marks = {}
        own = [position(edge, scale) for edge in entry["bin_edges"]]
        scales = [width / max(right - left, 1e-9 * width) for left, right in pairwise(own)]
        for kind, area in areas.items():
            columns = zip(entry["shares"][kind], entry["review_shares"][kind], scales, strict=True)
            # A bin of few scores can be higher than the picture.
            tall = [(min(all_ * more, area.y[1]), min(part * more, area.y[1])) for all_, part, more in columns]
            automatic, review = [max(0.0, all_ - part) for all_, part in tall], [part for _, part in tall]
            moved[kind] = {"d": area.bars(own, automatic)}
            moved[f"{kind}-review"] = {"d": area.bars(own, review, automatic)}
        return moved | _band_marks(summary, entry, areas["positive"])

    return _drawn(
        summary, "distribution", (660, 368), [f"<defs>{hatches}</defs>", *marks[:1], *parts, *marks[1:]], move
    )


def _score_ticks(scale: str, shown: tuple[float, float]) -> dict[float, str]:
    if scale == "linear":
        return {tick: f"{tick:g}" for tick in _round_ticks(*shown)}
    ticks: dict[float, str] = {}
    for mark in _MARKS:
        # Far enough apart for the narrowest screen.
        free = max(ticks) + (shown[1] - shown[0]) / 7 if ticks else shown[0]
        if free <= position(mark, scale) <= shown[1]:
            ticks[position(mark, scale)] = f"{mark:g}"
    return ticks


def _band_marks(summary: Summary, entry: Entry, area: Area) -> Marks:
    """Return the band as a shaded, labelled area with dashed ends; empty unless rejected scores are one interval."""
    bands = [band for band in entry["bands"] if not band["empty"]]
    if len(entry["bands"]) != 1 or not bands:
        return {"band": {"d": ""}, "ends": {"d": ""}, "label": {"x": "0", "y": "0", "text": ""}}
    given = zip((bands[0]["lower"], bands[0]["upper"]), area.x, strict=True)
    ends = [end if place is None else position(place, summary["score"]["scale"]) for place, end in given]
    left, right = (_short(area.at(min(max(end, area.x[0]), area.x[1]), 0.0)[0]) for end in ends)
    middle = (float(left) + float(right)) / 2
    anchor = "start" if middle < 220 else "end" if middle > 480 else "middle"
    at = {"start": left, "end": right, "middle": _short(middle)}[anchor]
    words = f"review: {band_text(summary, entry)}"
    return {
        "band": {"d": f"M{left} 28H{right}V336H{left}Z"},
        "ends": {"d": f"M{left} 28V336M{right} 28V336"},
        "label": {"x": at, "y": "20", "text-anchor": anchor, "text": words},
    }


def _curve_chart(summary: Summary, name: str, across: str) -> Chart:
    """Draw the ROC or CAP curve of the automatic cases beside the curve of all cases."""
    area, everyone = Area((0.0, 1.0), (0.0, 1.0), 70, 414, 12, 330), summary["coverages"][-1]["curve"]
    quarters = (0.0, 0.25, 0.5, 0.75, 1.0)
    parts: list[str | tuple[str, str]] = [
        area.axes(_percents(quarters), _percents(quarters)),
        f'<path class="line no-ranking" d="{area.line((0, 1), (0, 1))}"/>',
        *([('path class="line perfect"', "perfect")] if name == "cap" else []),
        f'<path class="line all" d="{area.line(everyone[across], everyone["true_positive_rate"])}"/>',
        ('path class="line own"', "own"),
    ]

    def move(entry: Entry) -> Marks:
        curve = entry["curve"]
        moved = {"own": {"d": "" if curve is None else area.line(curve[across], curve["true_positive_rate"])}}
        if name == "cap":
            moved["perfect"] = {"d": "" if curve is None else area.line((0, curve["positive_rate"], 1), (0, 1, 1))}
        return moved

    return _drawn(summary, name, (444, 362), parts, move)


def auc_coverage_chart(summary: Summary) -> Chart:
    """Draw the AUC at every coverage with its interval, beside the Oracle and rejection by maximum probability."""
    entries = summary["coverages"]
    names = ("selective_auc", "oracle_auc", "max_probability_auc", "selective_auc_low", "selective_auc_high")
    column = {name: [entry[name] for entry in entries] for name in names}
    known = [value for values in column.values() for value in values if value is not None] or [0.5, 1.0]
    margin = max(0.04 * (max(known) - min(known)), 1e-3)
    x = [entry["target_coverage"] for entry in entries]
    area = Area((x[0] - 0.01, 1.01), (min(known) - margin, max(known) + margin), 70, 632, 12, 290)
    tens = [step / 10 for step in range(1, 11) if step / 10 >= x[0]]
    ticks = _round_ticks(*area.y, 5)
    parts: list[str | tuple[str, str]] = [area.axes(_percents(tens), {tick: f"{tick:.4g}" for tick in ticks})]
    inside = [entry for entry in entries if entry["selective_auc_low"] is not None]
    if inside:
        own = [entry["target_coverage"] for entry in inside]
        there = area.line(own, [entry["selective_auc_low"] for entry in inside])
        back = area.line(own[::-1], [entry["selective_auc_high"] for entry in inside[::-1]])
        parts.append(f'<path class="interval-area" d="{there}L{back[1:]}Z"/>')
    parts += [
        ('path class="here"', "here"),
        f'<path class="line all" d="{area.line(x, [summary["coverages"][-1]["selective_auc"]] * len(x))}"/>',
        f'<path class="line rival" d="{area.line(x, column["max_probability_auc"])}"/>',
        f'<path class="line own" d="{area.line(x, column["selective_auc"])}"/>',
        # The best band often lies on the curve: open marks stay visible over the line.
        f'<path class="line best" d="{area.line(x, column["oracle_auc"])}"/>',
    ]
    for coverage, best in zip(x, column["oracle_auc"], strict=True):
        if best is not None and round(100 * coverage, 6) % 5 == 0:
            across, up = area.at(coverage, best)
            parts.append(f'<path class="diamond" d="M{_points(across, up - 5)}l5 5-5 5-5-5Z"/>')
    parts.append(('circle class="dot" r="7"', "dot"))

    def move(entry: Entry) -> Marks:
        across, up = area.at(entry["target_coverage"], entry["selective_auc"] or area.y[0])
        there = "visible" if entry["selective_auc"] is not None else "hidden"
        dot = {"cx": _short(across), "cy": _short(up), "visibility": there}
        return {"here": {"d": f"M{_short(across)} 12V290"}, "dot": dot}

    return _drawn(summary, "auc_coverage", (664, 322), parts, move)


def calibration_chart(summary: Summary) -> Chart:
    """Draw mean score and observed rate of each decile of the automatic cases."""
    deciles = [part for entry in summary["coverages"] for part in entry["deciles"]]
    top = min(1.0, 1.04 * max(max(part["mean_score"], part["observed_rate_high"]) for part in deciles))
    area = Area((0.0, top), (0.0, top), 70, 474, 12, 330)
    ticks = _percents(_round_ticks(0.0, top, 5))
    ideal = f'<path class="line all" d="{area.line((0, top), (0, top))}"/>'

    def move(entry: Entry) -> Marks:
        bars, dots = [], []
        for part in entry["deciles"]:
            across, low = area.at(part["mean_score"], part["observed_rate_low"])
            _, high = area.at(part["mean_score"], part["observed_rate_high"])
            bars.append(f"M{_points(across - 4, low)}h8m-4 0V{_short(high)}m-4 0h8")
            dots.append(f"M{_points(*area.at(part['mean_score'], part['observed_rate']))}h0")
        return {"bars": {"d": "".join(bars)}, "dots": {"d": "".join(dots)}}

    marks = [('path class="error-bars"', "bars"), ('path class="dots"', "dots")]
    return _drawn(summary, "calibration", (504, 362), [area.axes(ticks, ticks), ideal, *marks], move)
