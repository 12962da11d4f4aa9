from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aucross.system.text import original_text, without_formula

FORMULAS = [
    "=1",
    "+1",
    "@SUM(A1)",
    "-1+cmd|' /C calc'!A0",
    "=cmd|' /C calc'!A0",
    "\t=1",
    "\r=1",
    "\n",
    " =1",
    "\uff1d1",
    "-1\n",
]
PLAIN = ["", "A-17", "-1", "-1.50", "-", "+", "=", "007", "a=b", "'x"]

texts = st.text(st.sampled_from("'=+-@\t\r\n \uff1d\u00a01.a")) | st.text()


@pytest.mark.parametrize("text", FORMULAS)
def test_formulas_come_after_an_apostrophe(text):
    assert without_formula(text) == f"'{text}"


@pytest.mark.parametrize("text", PLAIN)
def test_other_text_stays_as_it_is(text):
    assert without_formula(text) == text


@given(texts)
def test_the_original_comes_back(text):
    assert original_text(without_formula(text)) == text


@given(texts)
def test_nothing_that_is_written_starts_a_formula(text):
    start = without_formula(text).lstrip(" \u00a0")
    assert not start.startswith(("=", "+", "@", "\t", "\r", "\n", "\uff1d")) or len(start) == 1
