"""The demo: the same table with and without the extras, and the figures of the README."""

from __future__ import annotations

import html
import json
import re
import runpy
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import sklearn
from PIL import Image

from aucross.cli import demo
from aucross.cli.demo import N_LOANS, compare_on_loans, print_comparison
from tests.cli.commands import aucross

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
EXTRAS = ("typer", "rich", "pandas", "pyarrow", "jinja2", "matplotlib")

# The command in a fresh interpreter, on few loans, where some libraries cannot be found.
COMMAND = """
import importlib.util, sys

class NotInstalled:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {missing}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, NotInstalled())
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name in {missing} else found(name, package)
from aucross.cli import demo, main
demo.N_LOANS = 600
sys.argv = ["aucross", *{arguments}]
main()
"""


def run_demo(folder, *arguments, missing=()):
    code = COMMAND.format(missing=tuple(missing), arguments=["demo", *arguments])
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=folder)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """What the command prints with every extra, and the folder that it worked in."""
    folder = tmp_path_factory.mktemp("demo")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        run = aucross("demo", "--rows", 600)
    assert run.exit_code == 0, run.stderr
    return run.stdout, folder


def test_it_prints_a_table_and_writes_a_report_and_a_picture(whole):
    printed, folder = whole
    rows = re.findall(r"^ +(\d+)% +([\d.]+)% +(0\.\d{4}) \[", printed, re.MULTILINE)
    assert [row[0] for row in rows] == ["100", "99", "95", "90", "85", "80", "75"]
    assert rows[0][1] == "100.0"
    assert {path.name for path in (folder / "demo-output").iterdir()} == {"report.html", "picture.png"}
    assert "150 held back for the test" in printed
    assert (folder / "demo-output" / "picture.png").read_bytes().startswith(b"\x89PNG")
    assert "Loan applications for review" in (folder / "demo-output" / "report.html").read_text(encoding="utf-8")


def test_the_columns_stand_below_their_names(whole):
    lines = whole[0].splitlines()
    header = next(number for number, line in enumerate(lines) if line.startswith("asked for"))
    rows = lines[header + 1 : header + 8]
    ends = [match.end() for match in re.finditer("for|automatic|AUC", lines[header])]
    assert len(ends) == 5
    assert all(line[end - 1] in "%0123456789" and line[end] == " " for line in rows for end in ends)
    starts = [match.start() for match in re.finditer("95 %", lines[header])]
    assert all(line[start - 1] == "[" for line in rows for start in starts)
    assert lines[header - 1].index("max probability") == lines[header].rindex("automatic")


def test_both_coverages_for_an_auc_stand_side_by_side_with_their_meaning(whole):
    lines = whole[0].splitlines()
    start = lines.index("Loans that can be decided automatically with an AUC of 0.80 among them:")
    assert re.fullmatch(
        r" +\d+%  by held-out scores of the 450 training loans: what to plan with, known before the test "
        r"\(95 % interval \d+% to \d+%\)",
        lines[start + 1],
    )
    assert re.fullmatch(
        r" +(none|\d+%)  of the 150 test loans: (no line of the table reaches it|what these loans happened to reach, "
        r"the highest such line of the table \(.*\))",
        lines[start + 2],
    )


def test_the_coverage_of_the_test_loans_is_that_of_the_first_line_with_the_auc(compared):
    said = []
    print_comparison(compared, said.append)
    rows = [row for row in compared.of_aucross.rows() if row["selective_auc"] >= 0.8]
    assert said[-1].startswith(f"{rows[0]['achieved_coverage']:>7.0%}  of the 5,000 test loans: what ")
    assert f"({rows[0]['selective_auc']:.3f}, 95 % interval" in said[-1]
    assert said[-2].startswith(
        f"{compared.aucross.coverage_for(auc=0.8).value:>7.0%}  by held-out scores of the 15,000 "
    )
    assert said[-3].startswith("Loans that can be decided automatically with an AUC of 0.80")


def test_with_the_core_libraries_alone_it_prints_the_same_table(whole, tmp_path):
    run = run_demo(tmp_path, missing=EXTRAS)
    assert run.returncode == 0, run.stderr
    table, _, last = run.stdout.rstrip().rpartition("\n\n")
    assert whole[0].startswith(table)
    assert last.endswith('pip install "aucross[demo]"')
    assert list(tmp_path.iterdir()) == []


def test_without_the_libraries_of_the_report_it_says_what_brings_them(whole, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("jinja2", "matplotlib"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr(demo, "find_spec", lambda name: None if name in {"jinja2", "matplotlib"} else find_spec(name))
    run = aucross("demo", "--rows", 600)
    assert run.exit_code == 0, run.stderr
    table, _, last = run.stdout.rstrip().rpartition("\n\n")
    assert whole[0].startswith(table)
    assert last.endswith('pip install "aucross[demo]"')
    assert list(tmp_path.iterdir()) == []


def test_the_document_has_the_numbers_of_the_table(whole, tmp_path):
    document = json.loads(aucross("demo", "--rows", 600, "--json", "--folder", tmp_path).stdout)
    assert document["test_loans"] == 150
    for rule in ("aucross", "max_probability"):
        assert f"{document[rule][5]['auc']:.4f} [{document[rule][5]['auc_low']:.4f}" in whole[0]
    assert Path(document["report"]).name == "report.html"


@pytest.fixture(scope="module")
def compared():
    """The comparison at its full size."""
    if sklearn.__version__.startswith("1.8."):
        pytest.skip("scikit-learn 1.8 grows other trees")
    return compare_on_loans(N_LOANS)


def test_the_readme_shows_the_figures_of_the_demo(compared):
    pattern = r"^\| (\d+) % \| ([\d.]+) % \| (\.\d+) \[.*\] \| ([\d.]+) % \| (\.\d+) \["
    shown = {int(row[0]): row[1:] for row in re.findall(pattern, README.read_text(encoding="utf-8"), re.MULTILINE)}
    assert shown.keys() == {100, 90, 80}
    evaluations = compared.of_aucross.rows(), compared.of_max_probability.rows()
    for rows in zip(*evaluations, strict=True):
        if (asked := round(100 * rows[0]["target_coverage"])) in shown:
            found = [value for row in rows for value in (100 * row["achieved_coverage"], row["selective_auc"])]
            # Another version of scikit-learn may grow other trees: the last digit is its affair.
            for (value, text), tolerance in zip(zip(found, shown[asked], strict=True), 2 * [0.25, 0.0025], strict=True):
                assert value == pytest.approx(float(text), abs=tolerance), asked


NUMBER = re.compile(r"\d[\d,.]*\d|\d")


def test_the_picture_of_the_report_shows_the_figures_and_the_words_of_the_demo(whole, compared):
    with Image.open(ROOT / "docs/images/report.png") as picture:
        picture.load()
        shown = picture.text["Description"]
    report = (whole[1] / "demo-output" / "report.html").read_text(encoding="utf-8")
    words = html.unescape(re.search(r'<p class="sentence">(.*?)</p>', report)[1])
    assert NUMBER.sub("", shown) == NUMBER.sub("", words), "run python docs/draw_report.py"
    of_all, of_80 = compared.of_aucross.rows()[0], compared.of_aucross.rows()[5]
    found = [float(text.replace(",", "")) for text in NUMBER.findall(shown)]
    # Asked, automatic, rows, review, AUC, level of its interval, its ends, AUC of all rows.
    expected = [80, 100 * of_80["achieved_coverage"], len(compared.y), 100 - 100 * of_80["achieved_coverage"]]
    expected += [of_80["selective_auc"], 95, of_80["selective_auc_low"], of_80["selective_auc_high"]]
    tolerance = [0, 0.25, 0, 0.25, 0.0025, 0, 0.0025, 0.0025, 0.0025]
    for value, text, allowed in zip([*expected, of_all["selective_auc"]], found, tolerance, strict=True):
        assert value == pytest.approx(text, abs=allowed), "run python docs/draw_report.py"


def test_the_slider_of_the_landing_page_shows_the_figures_of_the_demo(compared):
    drawn = runpy.run_path(str(ROOT / "docs" / "draw_slider.py"))
    written = (ROOT / "docs" / "_static" / "slider.html").read_text(encoding="utf-8")
    shown = json.loads(re.search(r'<script type="application/json">(.*?)</script>', written)[1])
    assert drawn["page"](shown) == written, "run python docs/draw_slider.py"
    found = drawn["slider_figures"](compared.aucross, compared.X, compared.y)
    for name, tolerance in {"achieved_coverage": 0.0025, "auc": 0.0025, "lower": 0.01, "upper": 0.01}.items():
        pairs = [(now[name], then[name]) for now, then in zip(found["coverages"], shown["coverages"], strict=True)]
        assert all(now == pytest.approx(then, abs=tolerance) for now, then in pairs), "run python docs/draw_slider.py"
    for at in shown["coverages"]:
        assert at["reviews_a_day"] == round(shown["cases_a_day"] * (1 - at["achieved_coverage"]))
    evaluated = compared.of_aucross.rows()[5]
    at_80 = next(at for at in shown["coverages"] if at["coverage"] == evaluated["target_coverage"])
    assert at_80["auc"] == pytest.approx(evaluated["selective_auc"], abs=0.0025)
