"""The page, the model card and the files: what they hold, what they escape, and that they need nothing else."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from base64 import b64encode
from hashlib import sha256
from html import unescape
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from aucross import PlugInAUC
from aucross.report import build_summary, charts, render_html, render_json, render_markdown, write_report
from aucross.report.html import page_data
from aucross.report.tables import error_table, lane_table

HOSTILE = "</script><script>alert(1)</script>"


@pytest.fixture(scope="module")
def page(summary):
    return render_html(summary)


@pytest.fixture(scope="module")
def hostile():
    """Names that would be markup if they were not escaped."""
    X, y = make_classification(600, flip_y=0.3, random_state=0)
    frame = pd.DataFrame(X, columns=[HOSTILE, "a|b", "<img src=x onerror=alert(2)>", *(f"c{i}" for i in range(17))])
    clf = PlugInAUC(LogisticRegression(), holdout_size=0.5, random_state=0).fit(frame[:300], y[:300])
    return build_summary(
        clf,
        frame[300:],
        y[300:],
        by=np.where(X[300:, 0] > 0, "<i>left</i>", "ri|ght"),
        class_names=("<b>good</b>", "& bad"),
        title=f"Title {HOSTILE}",
        data_name="{{ 7 * 7 }}",
        command="echo `one` ```two``` </pre>",
        date="2025-01-31",
    )


class Outline(HTMLParser):
    """Tags with their attributes, headings and visible text, as a browser without a script would see them."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.texts, self.open_tags = [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.open_tags.append(tag)

    def handle_endtag(self, tag):
        if tag in self.open_tags:
            while self.open_tags.pop() != tag:
                pass

    def handle_data(self, data):
        if not {"script", "style"} & set(self.open_tags):
            self.texts.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.texts).split())

    def of(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


def steps_of(summary):
    return page_data(summary, charts.charts(summary))["steps"]


# ---- the page ----


def test_the_page_is_one_file_of_less_than_a_megabyte(page):
    assert page.startswith("<!doctype html>")
    assert page.rstrip().endswith("</html>")
    assert len(page.encode()) < 1_000_000


def test_the_page_names_no_other_address(page):
    assert re.findall(r"https?:", page) == []
    outline = Outline(page)
    assert [tag.get("href") for tag in outline.of("link")] == ["data:,"]
    assert not any("src" in attributes for _, attributes in outline.tags)


def test_the_page_forbids_itself_every_request(page):
    policy = next(tag["content"] for tag in Outline(page).of("meta") if "http-equiv" in tag)
    assert "default-src 'none'" in policy
    assert "connect-src 'none'" in policy


def test_the_page_suits_a_phone(page):
    assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in Outline(page).of("meta")


def test_the_slider_runs_from_50_to_100_per_cent_in_steps_of_one(page):
    slider = Outline(page).of("input")[0]
    assert [float(slider[name]) for name in ("min", "max", "step", "value")] == [0.5, 1.0, 0.01, 0.85]


def test_everything_can_be_read_without_a_script(page, summary):
    text = Outline(page).text
    entry = summary["coverages"][35]
    assert summary["sentence"].replace("\N{NO-BREAK SPACE}", " ") in text.replace("\N{NO-BREAK SPACE}", " ")
    assert summary["promise"]["sentence"] in text
    assert entry["base_rate"]["message"] in text
    assert f"{entry['selective_auc']:.4f}" in text
    assert f"{entry['deciles'][4]['mean_score']:.4f}" in text
    assert entry["features"][0]["feature"] in text
    assert "python make_report.py --seed 0" in text
    assert all(limit in text for limit in summary["method"]["limits"])
    for group in ("to 25", "26 to 50", "over 50"):
        assert group in text


def test_headings_come_in_order(page):
    levels = [int(tag[1]) for tag, _ in Outline(page).tags if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(next_level <= level + 1 for level, next_level in pairwise(levels))


def test_charts_and_controls_have_names(page):
    outline = Outline(page)
    charts = [tag for tag in outline.of("div") if "chart" in tag.get("class", "").split()]
    assert len(charts) == 5
    assert all(chart["role"] == "img" and chart["aria-label"] for chart in charts)
    ids = {tag["id"] for _, tag in outline.tags if "id" in tag}
    assert all(label["for"] in ids for label in outline.of("label"))
    assert all(tag["aria-labelledby"] in ids for _, tag in outline.tags if "aria-labelledby" in tag)


def test_a_page_made_from_json_is_the_same_page(page, summary):
    assert render_html(json.loads(render_json(summary))) == page


def test_a_coverage_between_two_steps_frees_the_slider():
    X, y = make_classification(600, flip_y=0.3, random_state=0)
    clf = PlugInAUC(LogisticRegression(), holdout_size=0.5, coverage=0.975, random_state=0).fit(X[:300], y[:300])
    slider = Outline(render_html(build_summary(clf, X[300:], y[300:], with_intervals=False))).of("input")[0]
    assert (slider["step"], slider["value"]) == ("any", "0.975")


def test_a_promise_in_doubt_is_marked_on_the_page(summary):
    doubted = {**summary, "promise": {**summary["promise"], "warnings": ["no bound holds"]}}
    assert "Warning: no bound holds" in Outline(render_html(doubted)).text
    assert "**Warning:** no bound holds." in render_markdown(doubted)


def test_a_limit_exceeded_is_marked_by_more_than_colour(summary):
    starved = json.loads(render_json(summary))
    starved["coverages"][35]["base_rate"] |= {"ok": False, "exceeded": ["max_shift"], "message": "too few"}
    text = Outline(render_html(starved)).text
    assert "▲ Base rate limit exceeded: too few." in text
    assert "exceeded" in [cell for row in steps_of(starved)[35]["tables"]["guard"] for cell in row]


def test_decision_values_come_without_a_calibration_chart():
    X, y = make_classification(600, flip_y=0.3, random_state=0)
    clf = PlugInAUC(LinearSVC(), holdout_size=0.5, random_state=0).fit(X[:300], y[:300])
    made = build_summary(clf, X[300:], y[300:], with_intervals=False)
    assert "calibration" not in charts.charts(made)
    assert 'id="chart-calibration"' not in render_html(made)


# ---- names that look like markup ----


def test_names_are_shown_and_not_run(hostile):
    page = render_html(hostile)
    outline = Outline(page)
    assert len(outline.of("script")) == 2
    assert outline.of("img") == outline.of("i") == []
    for text in (f"Title {HOSTILE}", "{{ 7 * 7 }}", "<i>left</i>", "<b>good</b>", "& bad"):
        assert " ".join(text.split()) in outline.text


def test_data_in_the_page_cannot_end_its_script(hostile):
    data = re.search(
        r'<script type="application/json" id="report-data">(.*?)</script>', render_html(hostile), re.DOTALL
    )
    assert not set("<>&") & set(data[1])
    assert json.loads(data[1]) == json.loads(json.dumps(page_data(hostile, charts.charts(hostile))))


def test_labels_of_charts_are_escaped(hostile):
    pictures = "".join(chart.svg for chart in charts.charts(hostile).values())
    assert "&lt;b&gt;good" in pictures
    assert "<b>good" not in pictures


def test_markdown_escapes_what_would_be_markup(hostile):
    card = render_markdown(hostile)
    assert "<script>" not in card.replace("\\<script", "")
    assert "ri\\|ght" in card
    assert "````\necho `one` ```two``` </pre>\n````" in card


def test_characters_that_cannot_be_seen_are_marked_for_people_and_kept_for_programs(summary, tmp_path):
    name = "safe \u202eelbairav\ud800"
    made = {**summary, "title": name, "method": {**summary["method"], "command": "python\n\ta.py"}}
    for ending in ("html", "md"):
        text = write_report(made, tmp_path / f"report.{ending}").read_text(encoding="utf-8")
        assert ("safe [U+202E]elbairav[U+D800]" in text) == (ending == "html")
        assert ("safe \\[U+202E\\]elbairav\\[U+D800\\]" in text) == (ending == "md")
        assert "\u202e" not in text
        assert "python\n\ta.py" in text
    assert json.loads(write_report(made, tmp_path / "report.json").read_text(encoding="utf-8")) == made


def test_the_policy_names_the_hash_of_every_script_and_style_sheet(page):
    (policy,) = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', page)
    directives = dict(part.split(" ", 1) for part in unescape(policy).split("; "))
    for tag, directive in (("script", "script-src"), ("style", "style-src")):
        texts = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        hashes = {f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" for text in texts}
        assert set(directives[directive].split()) == hashes
    assert directives["default-src"] == "'none'"
    assert "unsafe" not in policy
    assert " style=" not in page


# ---- charts ----


def test_every_mark_of_a_chart_stands_in_its_picture_and_at_every_coverage(summary):
    for name, chart in charts.charts(summary).items():
        drawn = re.findall(r'data-mark="([^"]*)"', chart.svg)
        assert len(drawn) == len(set(drawn)) > 0
        assert len(chart.marks) == 51
        assert all(set(marks) == set(drawn) for marks in chart.marks)
        assert all(mark.startswith(f"{name}-") for mark in drawn)
        start = chart.marks[35]
        for mark, given in start.items():
            element = re.search(rf'data-mark="{mark}"([^>]*)>([^<]*)<', chart.svg)
            shown = dict(re.findall(r' ([\w-]+)="([^"]*)"', element[1]))
            assert shown == {key: value for key, value in given.items() if key != "text"}
            assert element[2] == given.get("text", "")


def test_no_bin_is_cut_by_the_band(summary):
    for entry in summary["coverages"]:
        for name in ("positive", "negative"):
            for share, review in zip(entry["shares"][name], entry["review_shares"][name], strict=True):
                assert review == pytest.approx(0.0, abs=2e-6) or review == pytest.approx(share, abs=2e-6)


def test_bars_of_features_share_one_scale_in_which_the_largest_fills_its_half(summary):
    entries, shown = summary["coverages"], steps_of(summary)
    largest = max(abs(f["standardised_difference"]) for entry in entries for f in entry["features"])
    for entry, page in zip(entries, shown, strict=True):
        for feature, (start, length) in zip(entry["features"], page["bars"], strict=True):
            size = 50 * feature["standardised_difference"] / largest
            assert (start, length) == pytest.approx((50 + min(0, size), abs(size)), abs=0.006)


def test_the_band_is_drawn_where_it_is(credit, summary):
    marks = charts.charts(summary)["distribution"].marks
    shares = np.array(list(summary["score"]["shares"].values())).max(axis=0)
    held, edges = np.flatnonzero(shares), summary["score"]["bin_edges"]
    left, right = edges[held[0]], edges[held[-1] + 1]
    for coverage, moved in zip(range(50, 100), marks, strict=False):
        band = credit.clf.band(coverage / 100)
        ends = [float(end) for end in re.findall(r"M([\d.]+) ", moved["distribution-ends"]["d"])]
        drawn = [left + (end - 70) / (632 - 70) * (right - left) for end in ends]
        assert drawn == pytest.approx([band.lower, band.upper], abs=0.051 / 562 * (right - left))
    assert marks[-1]["distribution-ends"] == {"d": ""}


def test_no_two_lines_of_a_chart_differ_by_colour_alone(page):
    dashes = {
        name: re.search(r"stroke-dasharray: ([\d ]+);", style)
        for name, style in re.findall(r"^\.line\.([\w-]+) \{(.*)\}$", page, re.MULTILINE)
    }
    assert set(dashes) == {"own", "all", "no-ranking", "perfect", "rival", "best"}
    assert len({found and found[1] for found in dashes.values()}) == 6


def test_the_page_says_which_decision_is_asked_and_four_numbers(page, summary):
    start = page[page.index("<main") : page.index('id="heading-lanes"')]
    shown = Outline(start).text.replace("\N{NO-BREAK SPACE}", " ")
    entry = summary["coverages"][35]
    share = entry["achieved_coverage"]
    asked = f"Shall the model decide {100 * share:.3g} % of cases alone, and people the {100 - 100 * share:.3g} % whose"
    assert f"{asked} score is from" in shown
    assert len(Outline(start).of("li")) == 4 + 3
    assert f"{1000 * entry['n_review'] / 2000:.4g}" in shown
    assert len(re.findall("<svg class=.picture", start)) == 1


def test_lanes_and_errors_are_told_in_the_words_of_the_reader(summary):
    entry = summary["coverages"][35]
    rows = lane_table(summary, entry).rows
    assert [row[0] for row in rows] == [
        "Below the band: automatic",
        "In the band: review",
        "Above the band: automatic",
    ]
    assert [row[1] for row in rows] == [f"{lane['n']:,}" for lane in entry["lanes"]]
    everything = lane_table(summary, summary["coverages"][-1]).rows
    assert [row[0] for row in everything] == ["Automatic, answer repaid", "Review", "Automatic, answer default"]
    errors = error_table(summary, entry).rows
    assert [row[0] for row in errors] == ["Default taken for repaid", "Repaid taken for default"]
    assert errors[0][1] == f"{entry['errors']['n_missed']:,}"


def test_what_was_called_by_the_words_of_papers_has_the_words_of_readers(page):
    shown = re.sub(r"<(script|style).*?</\1>|<[^>]*>", " ", page, flags=re.DOTALL)
    assert len(re.findall("Oracle", shown)) == 1  # in the list of terms
    assert "maximum probability" not in shown.lower()


def test_the_page_has_colours_for_dark_screens(page):
    assert {"name": "color-scheme", "content": "light dark"} in Outline(page).of("meta")
    light, dark = re.findall(r":root \{(.*?)\n *\}", page, re.DOTALL)[:2]
    named = [set(re.findall(r"(--\w[\w-]*):", text)) for text in (light, dark)]
    assert named[0] == named[1]
    assert re.findall(r"(?:fill|stroke): #", page) == []


# ---- the model card ----


def test_the_model_card_holds_what_the_page_holds(summary):
    card = render_markdown(summary)
    entry = summary["coverages"][35]
    for heading in ("Summary", "Method", "Coverages", "Who goes to review", "Base-rate guard", "Limits", "Groups"):
        assert re.search(rf"^##+ .*{heading}", card, re.MULTILINE)
    assert f"{entry['selective_auc']:.4f}" in card
    assert "python make_report.py --seed 0" in card


def test_tables_of_the_model_card_have_as_many_cells_in_every_row(hostile):
    for block in re.findall(r"(?:^\|.*\n)+", render_markdown(hostile), re.MULTILINE):
        cells = {len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}
        assert len(cells) == 1


# ---- files ----


@pytest.mark.parametrize("ending", [".html", ".HTML", ".htm", ".json", ".md"])
def test_the_ending_chooses_the_form(ending, summary, tmp_path):
    path = write_report(summary, tmp_path / f"report{ending}")
    first = {".html": "<!doctype html>", ".htm": "<!doctype html>", ".json": "{", ".md": "# Loans of the pilot"}
    assert path.read_text(encoding="utf-8").splitlines()[0] == first[ending.lower()]
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def test_json_on_disk_is_the_summary(summary, tmp_path):
    path = write_report(summary, tmp_path / "report.json")
    assert json.loads(path.read_text(encoding="utf-8")) == summary


@pytest.mark.parametrize("name", ["report", "report.txt", "report.pdf"])
def test_another_ending_is_refused(name, summary, tmp_path):
    with pytest.raises(ValueError, match=r"path must end in \.html, \.htm, \.json or \.md, got"):
        write_report(summary, tmp_path / name)


def test_a_report_that_fails_leaves_the_old_one(summary, tmp_path):
    path = tmp_path / "report.html"
    path.write_text("old", encoding="utf-8")
    with pytest.raises(KeyError):
        write_report({name: part for name, part in summary.items() if name != "method"}, path)
    assert path.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_write_that_fails_leaves_the_old_report(summary, tmp_path, monkeypatch):
    path = tmp_path / "report.md"
    path.write_text("old", encoding="utf-8")
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        write_report(summary, path)
    assert path.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]


# ---- extras ----


def test_a_missing_extra_is_named_with_the_command(summary, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r'pip install "aucross\[report\]"'):
        render_html(summary)


def test_json_and_model_card_need_no_extra():
    code = """
import sys
sys.modules["jinja2"] = None
import aucross.report
print(aucross.report.render_json({"a": 1}))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.stdout == '{\n "a": 1\n}\n\n', run.stderr


def test_template_style_and_script_lie_in_the_package():
    folder = Path(charts.__file__).parent
    assert {"template.html", "style.css", "script.js"} <= {path.name for path in folder.iterdir()}


def test_the_page_calls_a_decision_automatic_or_review_and_nothing_else(page):
    shown = re.sub(r"<(script|style).*?</\1>|<[^>]*>", " ", page, flags=re.DOTALL)
    in_python = "In Python the row is rejected"  # the list of terms names the word that programmers use
    assert re.findall(r"\b(?:accept|defer|reject|answered)\w*", shown.replace(in_python, "", 1)) == []
