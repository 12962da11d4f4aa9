"""What is said of a version in several places is the same in all of them."""

from __future__ import annotations

import re
import tomllib
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import aucross

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def oldest(*extras: str) -> dict[str, Version]:
    """The oldest version that the package and some extras declare of each library."""
    declared = [Requirement(line) for line in chain(PROJECT["dependencies"], *(EXTRAS[name] for name in extras))]
    others = [requirement for requirement in declared if requirement.name != "aucross"]
    return {
        canonicalize_name(requirement.name): Version(next(iter(requirement.specifier)).version)
        for requirement in others
    }


def pinned(file: str) -> dict[str, Version]:
    lines = [line for line in text_of(file).splitlines() if line and not line.startswith("#")]
    return {canonicalize_name(name): Version(version) for name, version in (line.split("==") for line in lines)}


def test_the_oldest_versions_that_are_tested_are_those_declared():
    tested = pinned("constraints-oldest.txt")
    of_users = oldest("frames", "plots", "arrow", "record", "report", "cli")
    assert {name: tested.get(name) for name in of_users} == of_users
    declared = oldest("cli", "arrow", "frames", "plots", "record", "report", "test-core")
    assert {name: version for name, version in tested.items() if declared.get(name, version) != version} == {}
    assert tested.keys() - declared.keys() == {"click", "pyparsing"}


def test_no_library_is_declared_without_its_oldest_version():
    for name, lines in {"": PROJECT["dependencies"], **EXTRAS}.items():
        for requirement in map(Requirement, lines):
            if requirement.name != "aucross":
                assert [part.operator for part in requirement.specifier] == [">="], f"{name}: {requirement}"


def test_no_library_has_two_oldest_versions():
    found: dict[str, set[str]] = {}
    for requirement in map(Requirement, chain(PROJECT["dependencies"], *EXTRAS.values())):
        if requirement.name != "aucross":
            found.setdefault(requirement.name, set()).add(str(requirement.specifier))
    assert {name: versions for name, versions in found.items() if len(versions) > 1} == {}


def test_the_tested_environment_is_not_older_than_what_is_declared():
    declared = oldest(*EXTRAS)
    assert {
        name for name, version in pinned("constraints.txt").items() if version < declared.get(name, version)
    } == set()


def test_the_newest_release_of_the_changelog_is_the_one_that_the_citation_names():
    entry = re.search(r"^## \[(.+?)\] - (\d{4}-\d{2}-\d{2})$", text_of("CHANGELOG.md"), re.MULTILINE)
    assert entry
    version = Version(aucross.__version__)
    assert version.is_devrelease or str(version) == entry[1]
    assert version >= Version(entry[1])
    assert f"\nversion: {entry[1]}\n" in text_of("CITATION.cff")
    assert f"\ndate-released: {entry[2]}\n" in text_of("CITATION.cff")


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_every_python_that_is_named_is_run(version):
    assert f"Programming Language :: Python :: {version}" in PROJECT["classifiers"]
    assert f'python: "{version}"' in text_of(".github/workflows/ci.yml")


def test_no_other_python_is_named():
    named = re.findall(r"Python :: (3\.\d+)", " ".join(PROJECT["classifiers"]))
    assert named == ["3.11", "3.12", "3.13"]
    assert PROJECT["requires-python"] == f">={named[0]}"
