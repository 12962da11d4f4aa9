"""The list of mutants follows the source; `make mutants` runs them."""

from pathlib import Path

from tests.mutants import MUTANTS, ROOT, mutants_of

ALL = [mutant for part in MUTANTS for mutant in mutants_of(part) if mutant.old]


def test_every_mutant_changes_one_line_of_today():
    stale = {mutant.old: len(found) for mutant in ALL if len(found := mutant.places(ROOT / "src")) != 1}
    assert stale == {}, (
        "lines that do not stand exactly once in their part were rewritten: tests/mutants.py must follow"
    )


def test_every_mutant_is_a_mistake_that_existing_tests_should_notice():
    assert [mutant.old for mutant in ALL if mutant.old == mutant.new] == []
    assert {name for mutant in ALL for name in mutant.tests.split() if not (ROOT / "tests" / name).exists()} == set()


def test_every_part_has_mutants():
    parts = {path.stem for path in (ROOT / "src" / "aucross").iterdir() if path.stem[0] not in "_p"}
    assert parts - {Path("py.typed").stem} == MUTANTS.keys()
