"""The scripts of the gallery: enough of them, each with a title, a text and a picture, and none that needs a network.

They are executed by `make docs`; here they are read.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"
SCRIPTS = sorted(EXAMPLES.rglob("*.py"))
# What loads data or pages from elsewhere: fetch_openml and its like, requests, urllib, a host in a string.
NETWORK = re.compile(r"fetch_\w+|\burl\w*|\brequests\b|\bsocket\b|https?://")


def name_of(script: Path) -> str:
    return script.relative_to(EXAMPLES).as_posix()


every_script = pytest.mark.parametrize("script", SCRIPTS, ids=name_of)


def headed(text: str, underline: str) -> bool:
    """Whether a text begins with a title, underlined in full, and goes on after a blank line."""
    lines = text.strip().splitlines()
    return (
        len(lines) > 3 and bool(lines[0]) and lines[1] == underline * len(lines[0]) and not lines[2] and bool(lines[3])
    )


def test_there_are_at_least_fourteen_examples():
    assert len(SCRIPTS) >= 14


def test_file_names_differ_between_folders():
    """The file of a figure is named after its script."""
    assert len({script.name for script in SCRIPTS}) == len(SCRIPTS)


@every_script
def test_the_build_executes_it(script: Path):
    """Only files whose names begin with plot_ are executed, and only folders with a header are looked at."""
    assert script.name.startswith("plot_")
    assert (script.parent / "GALLERY_HEADER.rst").is_file()


@every_script
def test_it_has_a_title_and_a_text(script: Path):
    docstring = ast.get_docstring(ast.parse(script.read_text(encoding="utf-8")))
    assert docstring is not None
    assert headed(docstring, "=")


@pytest.mark.parametrize("folder", sorted({script.parent for script in SCRIPTS} - {EXAMPLES}), ids=name_of)
def test_folders_have_a_title_and_a_text(folder: Path):
    assert headed((folder / "GALLERY_HEADER.rst").read_text(encoding="utf-8"), "-")


@every_script
def test_it_draws(script: Path):
    assert "plt.show()" in script.read_text(encoding="utf-8")


@every_script
def test_it_needs_no_download(script: Path):
    assert NETWORK.findall(script.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("line", ["fetch_openml('adult')", "import requests", "urllib.request", "'http://x'"])
def test_a_download_is_noticed(line: str):
    assert NETWORK.search(line)


@every_script
def test_pages_that_it_names_exist(script: Path):
    """Pages are named from the root of the documentation, since scripts move between folders."""
    docs = EXAMPLES.parent
    for page in re.findall(r":doc:`(?:[^`<]*<)?([^`>]+)>?`", script.read_text(encoding="utf-8")):
        assert page.startswith("/"), page
        source = page.replace("/auto_examples/", "examples/").lstrip("/")
        assert any((docs / f"{source}.{kind}").is_file() for kind in ("md", "rst", "py")), page
