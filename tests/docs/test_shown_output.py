"""What a page shows as the output of its code is what the code prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from sybil import Document
from sybil.example import SybilFailure
from sybil.parsers.markdown import SkipParser

from tests.shown_output import ShownOutputParser, difference

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(path for folder in ("howto", "explanation") for path in (ROOT / "docs" / folder).glob("*.md"))

SKIPPED = re.compile(r"^<!-+ skip: start -+>.*?^<!-+ skip: end -+>", re.MULTILINE | re.DOTALL)
PYTHON = re.compile(r"^( *)```python\n(.*?)^\1```$(?=(\s*```output$)?)", re.MULTILINE | re.DOTALL)

PRINTED = """\
coverage   AUC   rows
--------  ----  -----
    0.90  .812  2,025
    0.80  .835  1,800
    0.70  .851  1,575
"""


@pytest.mark.parametrize(
    "shown",
    [
        PRINTED,
        "coverage AUC rows\n0.90 .812 2,025\n0.80 .835 1,800\n0.70 .851\n1,575",
        PRINTED.replace("-", "─"),
        PRINTED.replace(".812", ".83"),
        PRINTED.replace("2,025", "2080"),
    ],
    ids=["as printed", "other white space, no rule", "another rule", "a near share", "a near count"],
)
def test_white_space_rules_and_small_moves_of_numbers_do_not_count(shown):
    assert difference(shown, PRINTED) is None


@pytest.mark.parametrize(
    ("old", "new"),
    [("AUC", "Gini"), ("rows", "rows:"), (".835", ".900"), ("1,575", "1,375"), ("    0.70  .851  1,575\n", "")],
    ids=["a word", "a sign", "a share", "a count", "a line that is missing"],
)
def test_a_changed_word_and_a_number_beyond_the_tolerance_are_found(old, new):
    assert difference(PRINTED.replace(old, new), PRINTED)
    assert difference(PRINTED, PRINTED.replace(old, new))


def test_a_sign_counts_and_a_dash_in_a_date_is_no_sign():
    assert difference("gain -0.10", "gain 0.10")
    assert difference("gain \N{MINUS SIGN}0.10", "gain -0.10") is None
    assert difference("since 2023-07", "since 2023 07") is None


@pytest.mark.parametrize(
    "shown",
    [
        "coverage AUC rows\n...",
        "...\n0.70 .851 1,575",
        "coverage AUC rows\n...\n0.80 .835 1,800\n...",
        "...\n0.80 .835 1,800\n...\n0.70 .851 1,575",
        "...",
    ],
)
def test_three_dots_stand_for_lines(shown):
    assert difference(shown, PRINTED) is None


@pytest.mark.parametrize(
    "shown",
    [
        "coverage Gini rows\n...",
        "coverage AUC\n...",
        "...\n0.70 .951 1,575",
        "...\n.851 1,575",
        "...\n0.80 .835 1,800",
        "...\n0.90 .912 2,025\n...",
        "...\n0.80 .835\n...",
        "...\n0.70 .851 1,575\n...\n0.80 .835 1,800\n...",
        f"{PRINTED}...\n0.70 .851 1,575",
    ],
    ids=[
        *("a word before", "half of a line before", "a number after", "half of a line after", "not the end"),
        *("a number between", "half of a line between", "another order", "a line twice"),
    ],
)
def test_what_stands_beside_three_dots_is_compared(shown):
    assert difference(shown, PRINTED)


def run(tmp_path: Path, text: str) -> None:
    page = tmp_path / "page.md"
    page.write_text(text, encoding="utf-8")
    for example in Document.parse(str(page), ShownOutputParser(), SkipParser()):
        example.evaluate()


PAGE = "```python\nprint('AUC', 0.8)\n```\n\n```output\nAUC 0.8\n```\n"


def test_an_output_block_is_compared_with_the_block_before_it(tmp_path, capsys):
    run(tmp_path, PAGE)
    assert capsys.readouterr().out == "AUC 0.8\n"
    with pytest.raises(SybilFailure, match="'KS' is shown and 'AUC' is printed"):
        run(tmp_path, PAGE.replace("output\nAUC", "output\nKS"))
    with pytest.raises(SybilFailure, match=r"'AUC 0\.8' is shown and not printed"):
        run(tmp_path, PAGE.replace("print('AUC', 0.8)", "'nothing'"))


def test_an_indented_block_is_compared_too(tmp_path):
    indented = "1. Look:\n\n" + re.sub("^(?=.)", "   ", PAGE, flags=re.MULTILINE)
    run(tmp_path, indented)
    with pytest.raises(SybilFailure):
        run(tmp_path, indented.replace("AUC 0.8\n", "AUC 0.9\n"))


def test_an_output_block_must_follow_a_python_block(tmp_path):
    with pytest.raises(ValueError, match=r"must follow a python block: .*page.md, line 7"):
        run(tmp_path, PAGE.replace("```output", "This is printed:\n\n```output"))


SKIPS = [("<!-- skip: next -->", ""), ("<!-- skip: start -->", "<!-- skip: end -->")]


@pytest.mark.parametrize(("before", "after"), SKIPS, ids=["next", "start to end"])
def test_the_output_of_a_skipped_block_is_skipped(tmp_path, before, after):
    run(tmp_path, f"{before}\n{PAGE.replace('print', 'unknown')}\n{after}\n")


def blocks_that_hide_what_they_print(page: Path) -> list[str]:
    """First lines of the Python blocks that print and are followed by something else than output."""
    text = SKIPPED.sub("", page.read_text(encoding="utf-8"))
    blocks = [block for block in PYTHON.finditer(text) if re.search(r"\bprint\(", block[2])]
    return [block[2].split("\n")[0] for block in blocks if not block[3]]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_block_that_prints_shows_what_it_prints(page):
    assert blocks_that_hide_what_they_print(page) == []


def test_a_block_that_hides_what_it_prints_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(PAGE, encoding="utf-8")
    assert blocks_that_hide_what_they_print(page) == []
    page.write_text(PAGE.partition("```output")[0] + "Text.\n", encoding="utf-8")
    assert blocks_that_hide_what_they_print(page) == ["print('AUC', 0.8)"]
