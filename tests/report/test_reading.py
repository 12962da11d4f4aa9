"""Both reports answer the five questions of a committee at their beginning."""

from __future__ import annotations

import pytest

from aucross.report import render_html, render_oversight
from benchmarks.reading import ANSWERS, WORDS_A_MINUTE, Reader, words_until
from tests.report.test_oversight import whole  # noqa: F401  (a fixture)


def test_words_are_read_in_order_without_what_is_folded_or_drawn():
    folded, drawn = "<details><summary>no</summary><p>no</p></details>", "<svg>no</svg>"
    page = f"<title>no</title><p>one <b>two</b></p>{folded}{drawn}<td>three</td>"
    assert Reader(page).texts == ["one two", "three"]


@pytest.mark.parametrize("number", [0, 1])
def test_five_answers_are_read_in_two_minutes_and_the_page_in_five(number, summary, whole):  # noqa: F811
    page = render_html(summary) if number == 0 else render_oversight(whole[0])
    *answers, last = words_until(page, number).values()
    assert len(answers) == len(ANSWERS) == 5
    assert answers == sorted(answers)
    assert answers[-1] <= 2 * WORDS_A_MINUTE
    assert last <= 5 * WORDS_A_MINUTE
