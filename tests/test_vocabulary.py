"""One word for each thing: Python selects and rejects rows; what leaves Python is automatic or for review."""

from __future__ import annotations

import re
from inspect import signature
from pathlib import Path

import pytest

import aucross
from aucross import AUCGate, AUCross, PlugIn, PlugInAUC, SCross

ROOT = Path(__file__).resolve().parents[1]
SOURCES = sorted(path for kind in ("py", "html", "js") for path in (ROOT / "src" / "aucross").rglob(f"*.{kind}"))
# "Accept" is read as approval of a loan; "defer" is a second word for "reject".
OTHER_WORDS = re.compile(r"\w*(?:accept|defer)\w*", re.IGNORECASE)
# Titles, names of fields of research, and a label for those who already use "reject" as one of theirs.
ALLOWED = ("acceptance sampling", "learning to defer", '("reject", "deferred", "withheld")')


def other_words(text: str) -> list[str]:
    for allowed in ALLOWED:
        text = text.replace(allowed, "")
    return OTHER_WORDS.findall(text)


def test_other_words_are_found_in_names_and_sentences():
    assert other_words("n_accepted of learning to defer; Deferring") == ["n_accepted", "Deferring"]


def test_sources_say_select_and_reject():
    assert len(SOURCES) > 100
    found = {source.as_posix(): other_words(source.read_text(encoding="utf-8")) for source in SOURCES}
    assert {source: words for source, words in found.items() if words} == {}


GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
PARAMETERS = {name for method in (AUCross, PlugInAUC, SCross, PlugIn, AUCGate) for name in signature(method).parameters}


@pytest.mark.parametrize("term", ["selected, rejected", "automatic, review", "coverage", "band", "promise", "drift"])
def test_the_glossary_explains(term):
    assert f"\n{term}\n: " in GLOSSARY


@pytest.mark.parametrize("name", aucross.__all__)
def test_the_glossary_names_what_is_public(name):
    assert re.search(rf"`~aucross\.(\w+\.)?{name}`", GLOSSARY)


@pytest.mark.parametrize("name", sorted(PARAMETERS))
def test_the_glossary_names_the_parameters_of_every_method(name):
    assert re.search(rf"^[^:\n]*`{name}`", GLOSSARY, re.MULTILINE)
