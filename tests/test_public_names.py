"""What is public: every name has its place in the reference and a docstring, and nothing else looks public."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest

import aucross

PACKAGE = Path(aucross.__file__).parent
REFERENCE = Path(__file__).resolve().parents[1] / "docs" / "reference"

# Parts of the package that are not for import: the command line is public by its options, `system` is for the parts.
INTERNAL = {"cli", "system"}
PARTS = sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py") if path.parent.name not in INTERNAL)
BELOW = ["cluster.dask", "cluster.spark", "export.onnx"]  # need libraries that the rest of their part does not
PARTS += BELOW
LIBRARY_OF = {"torch": "torch", "cluster.dask": "distributed", "cluster.spark": "pyspark", "mlflow": "mlflow"}
LIBRARY_OF |= {
    "export.onnx": "skl2onnx",
    "serve": "fastapi",
    "report": "jinja2",
    "record": "sqlalchemy",
    "desk": "fastapi",
}


def part(name: str) -> ModuleType:
    library = LIBRARY_OF.get(name)
    if library and not find_spec(library):
        extra = name.rpartition(".")[2]
        pytest.skip(f'needs {library}: pip install "aucross[{extra}]"')
    return importlib.import_module(f"aucross.{name}")


def of_its_part(name: str) -> str:
    """The full name in its part of one that can also be imported from above it, or is kept in a folder below it."""
    part_and_below, _, last = name.rpartition(".")
    if part_and_below == "aucross":
        return f"aucross.{aucross._PART_OF[last]}.{last}"
    depth = 3 if part_and_below.removeprefix("aucross.") in BELOW else 2
    return ".".join([*part_and_below.split(".")[:depth], last])


def page_of(name: str) -> str:
    """The page of the reference that tells of a part; each engine has its own."""
    first, _, last = name.partition(".")
    return last if first == "cluster" and last else first


def documented_names() -> Iterator[str]:
    """Full names listed on the pages of the reference, by autosummary or with a directive of their own."""
    for page in REFERENCE.glob("*.md"):
        for block in re.findall(r"```\{eval-rst\}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
            module = re.search(r"currentmodule:: (\S+)", block)
            listed = re.findall(r"^(?:   |\.\. autoclass:: )(\w[\w.]*)$", block, re.MULTILINE)
            assert module or not listed, f"{page.name}: a list of names without currentmodule"
            yield from (of_its_part(f"{module[1]}.{name}") for name in listed)


DOCUMENTED = sorted(documented_names())


def public_names() -> list[tuple[str, str]]:
    """Part and name, read from the sources, so that parts without their library are listed, too."""
    pattern = re.compile(r"^__all__ = \[(.*?)\]", re.DOTALL | re.MULTILINE)
    texts = {name: PACKAGE.joinpath(*name.split("."), "__init__.py").read_text(encoding="utf-8") for name in PARTS}
    return [(name, found) for name, text in texts.items() for found in re.findall(r'"(\w+)"', pattern.search(text)[1])]


PUBLIC = public_names()
# A version, a name, a mapping and the values of an argument: a sentence of the reference describes each of them.
VALUES = {"Axis", "FLAVOR_NAME", "METRICS", "SCHEMA_VERSION"}


def test_every_part_names_what_is_public():
    assert {name for name, _ in PUBLIC} == set(PARTS)
    assert len(PUBLIC) > 100


@pytest.mark.parametrize("name", PARTS)
def test_the_names_of_a_part_are_those_in_its_source(name):
    module = part(name)
    assert sorted(module.__all__) == sorted(found for owner, found in PUBLIC if owner == name)
    assert [found for found in module.__all__ if not hasattr(module, found)] == []


def test_every_public_name_is_in_the_reference():
    in_prose = {
        f"aucross.{name}.{found}"
        for name in PARTS
        for found in re.findall(r"`(\w+)`", (REFERENCE / f"{page_of(name)}.md").read_text(encoding="utf-8"))
    }
    missing = {f"aucross.{name}.{found}" for name, found in PUBLIC} - set(DOCUMENTED)
    assert missing <= in_prose
    assert {name.rpartition(".")[2] for name in missing} == VALUES


def test_the_reference_lists_public_names_once():
    assert len(set(DOCUMENTED)) == len(DOCUMENTED)
    plots = re.findall(r'"(\w+)"', (PACKAGE / "evaluation" / "plots" / "__init__.py").read_text(encoding="utf-8"))
    public = {f"aucross.{name}.{found}" for name, found in [*PUBLIC, *(("evaluation", found) for found in plots)]}
    assert set(DOCUMENTED) - public == set()


def test_no_private_name_is_public():
    assert [found for _, found in [*PUBLIC, *(("", name) for name in aucross.__all__)] if found.startswith("_")] == []


@pytest.mark.parametrize("name", PARTS)
def test_a_part_shows_no_name_that_is_not_public(name):
    module = part(name)
    shown = {
        found
        for found, value in vars(module).items()
        if not found.startswith("_") and not inspect.ismodule(value) and found not in {"annotations", "TYPE_CHECKING"}
    }
    assert shown - set(module.__all__) == set()


CALLED = [(name, found) for name, found in PUBLIC if found not in VALUES]


@pytest.mark.parametrize(("name", "found"), CALLED, ids=[f"{name}.{found}" for name, found in CALLED])
def test_a_public_name_has_a_docstring_of_the_usual_form(name, found):
    value = getattr(part(name), found)
    text = docstring(value)
    first = text.partition("\n\n")[0]
    assert first.endswith((".", ":")), f"the first line is no sentence: {first!r}"
    missing = set(parameters_of(value)) - described_in(text)
    assert missing == set(), "parameters without a description"


# The base of all classifiers is not made by itself.
@pytest.mark.parametrize("name", sorted(set(aucross.__all__) - {"SelectiveClassifier"}))
def test_the_names_of_every_day_have_an_example(name):
    assert "\n>>> " in docstring(getattr(aucross, name))


def docstring(value: object) -> str:
    """The text of a name, with that of the classes it builds on, which describe the parameters they bring."""
    classes = value.__mro__ if inspect.isclass(value) else (value,)
    return "\n\n".join(inspect.cleandoc(part.__doc__) for part in classes if part is not object and part.__doc__)


def parameters_of(value: object) -> list[str]:
    """Names that a caller can pass to what is made here."""
    if inspect.isclass(value) and (getattr(value, "_is_protocol", False) or "__init__" not in vars(value)):
        return []
    parameters = inspect.signature(value).parameters.values()
    # Further keywords are those of the class below, which describes them.
    return [
        found.name for found in parameters if found.kind is not found.VAR_KEYWORD and not found.name.startswith("_")
    ]


def described_in(text: str) -> set[str]:
    """Names described in the lists of a docstring: ``low, high : float``, ``**options``."""
    lines = re.findall(r"^(\**\w+(?:, \**\w+)*)(?: :.*)?$", text, re.MULTILINE)
    return {name.strip("* ") for line in lines for name in line.split(",")}
