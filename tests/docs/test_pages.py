"""Links of the README, of other pages at the root and of the documentation lead somewhere, down to the heading."""

from __future__ import annotations

import re
import runpy
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
BUILT = ("_build", "auto_examples", "auto_tutorials", "generated")
PAGES = sorted(
    path for path in (*ROOT.glob("*.md"), *DOCS.rglob("*.md")) if not set(BUILT) & set(path.relative_to(ROOT).parts)
)
# Sphinx-gallery makes a page of every script of these folders.
GALLERIES = {"auto_examples": DOCS / "examples", "auto_tutorials": DOCS / "tutorials"}
# Extras for those who work on the library.
EXTRAS_OF_DEVELOPERS = ("benchmarks", "docs", "experiments", "lint", "release", "test")

# What stands in a directive is text, what stands in another fence is code.
FENCE = re.compile(r"^(`{3,}|~{3,})(?:\{[^\n]*\n(?P<text>.*?)|.*?)^\1$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
# What only Sphinx reads: pages are read as files on a code host, too.
RAW = re.compile(r"\{doc\}`|^`{3,}\{image\}", re.MULTILINE)
FILE = re.compile(r"^`{3,}\{(?:image|figure|include|literalinclude)\} (\S+)", re.MULTILINE)


def without_code(text: str) -> str:
    """A page without its blocks of code."""
    return FENCE.sub(lambda fence: fence["text"] or "", text)


def links_of(text: str) -> set[str]:
    """Targets of Markdown links within the project."""
    prose = CODE.sub("", without_code(text))
    return {link for link in LINK.findall(prose) if not re.match(r"[a-z]+:", link)}


def anchors_of(text: str) -> set[str]:
    """Names of the headings as GitHub and MyST make them, and explicit ones."""
    headings = re.findall(r"^#+ (.+)$", without_code(text), re.MULTILINE)
    slugs = {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}
    return slugs | set(re.findall(r"^\(([\w-]+)\)=$", text, re.MULTILINE))


def is_of_a_gallery(path: Path) -> bool:
    """Whether a page or a picture is made by a script that is there."""
    parts = path.relative_to(DOCS).parts
    if parts[0] not in GALLERIES:
        return False
    name = re.sub(r"^sphx_glr_|(_thumb|_\d+)$", "", path.stem)
    return name == "index" or any(GALLERIES[parts[0]].rglob(f"{name}.py"))


def leads_nowhere(page: Path, link: str) -> bool:
    target, _, anchor = link.partition("#")
    path = (page.parent / target).resolve() if target else page
    if path.is_relative_to(DOCS) and is_of_a_gallery(path):
        return False
    if not path.exists():
        return True
    return bool(anchor) and anchor not in anchors_of(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    broken = {link for link in links_of(text) if leads_nowhere(page, link)}
    broken |= {name for name in FILE.findall(text) if leads_nowhere(page, name)}
    assert not broken
    assert not RAW.search(text)


def test_a_broken_link_is_found():
    page = ROOT / "README.md"
    assert links_of("[a](docs/a.md) ![b](b.png) `[c](c.md)` [d](https://d.org)\n```python\n[e](e.md)\n```") == {
        "docs/a.md",
        "b.png",
    }
    assert leads_nowhere(page, "docs/no-such-page.md")
    assert leads_nowhere(page, "docs/limits.md#no-such-heading")
    assert not leads_nowhere(page, "docs/limits.md#sizes")
    assert leads_nowhere(page, "docs/auto_tutorials/no_such_tutorial.html")


HOWTO = sorted(page for page in (DOCS / "howto").glob("*.md") if page.stem != "index")


@pytest.mark.parametrize("page", HOWTO, ids=lambda page: page.stem)
def test_a_how_to_page_begins_with_what_the_reader_can_do_after_it(page):
    title, opening = page.read_text(encoding="utf-8").split("\n\n")[:2]
    assert opening.startswith("After this page ")
    listed = (DOCS / "howto" / "index.md").read_text(encoding="utf-8")
    assert f"[{title.removeprefix('# ')}]({page.name}):" in listed.replace("\n  ", " ")
    assert f"\n{page.stem}\n" in listed


def test_the_landing_page_leads_to_every_how_to_page():
    start = (DOCS / "index.md").read_text(encoding="utf-8").partition("## Start here")[2]
    assert [page.stem for page in HOWTO if f"(howto/{page.name})" not in start] == []


README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_readme_is_read_in_five_minutes():
    assert len(README.splitlines()) < 150


def test_the_readme_names_every_extra_of_users():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    rows = "".join(line for line in README.splitlines() if line.startswith("| `"))
    unnamed = {extra for extra in extras if f"`{extra}`" not in rows}
    assert {extra for extra in unnamed if not extra.startswith(EXTRAS_OF_DEVELOPERS)} == set()


@pytest.mark.parametrize("name", ["pos_label", "review_queue", "team_score"])
def test_the_readme_answers_the_first_questions(name):
    assert name in README


@pytest.mark.parametrize(("script", "picture"), [("draw_logo", "_static/logo"), ("draw_flow", "images/flow")])
def test_pictures_are_drawn_by_their_script(script, picture):
    drawn = runpy.run_path(str(DOCS / f"{script}.py"))
    for name, colours in drawn["THEMES"].items():
        written = (DOCS / f"{picture}-{name}.svg").read_text(encoding="utf-8")
        assert written == drawn["drawing"](colours), f"run python docs/{script}.py"
