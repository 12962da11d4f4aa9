"""Stamps of tables: what changes them, what today's code stands behind, and that no table is without one."""

import re
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from experiments import __main__ as command
from experiments import stamps, store
from experiments.stamps import BY_NAME, TABLES, KeptCell, Stamp, code_of, read_stamps, same_figures
from experiments.stamps import __main__ as stamps_command
from experiments.work import Named, Work, finish_all

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = {
    "core/search.py": '"""Search."""\n\ndef best(scores):\n    """The best one."""\n    return max(scores) # highest\n',
    "estimators/__init__.py": "",
    "watch/keeper.py": "gain = 1\n",
    "__init__.py": "from aucross.watch import Keeper\n",
}
STUDY = '"""A study."""\nfrom aucross import Keeper\nfrom experiments import rows\nfrom experiments.store import read\n'


@pytest.fixture
def tree(tmp_path):
    """A small repository: a study that imports rows, and a library of three parts."""
    files = {f"src/aucross/{name}": text for name, text in LIBRARY.items()}
    files |= {"experiments/study.py": STUDY, "experiments/rows.py": "n = 3\n", "experiments/store.py": "kept = 1\n"}
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "before", "after", "is_same"),
    [
        ("src/aucross/core/search.py", "The best one.", "The highest one.", True),
        ("src/aucross/core/search.py", "# highest", "# no ties", True),
        ("src/aucross/core/search.py", "return max(scores)", "return max(\n        scores\n    )", True),
        ("src/aucross/core/search.py", "max(", "min(", False),
        ("src/aucross/watch/keeper.py", "1", "2", False),
        ("experiments/rows.py", "3", "4", False),
        ("experiments/store.py", "1", "2", True),
    ],
)
def test_a_stamp_changes_with_statements_that_the_study_needs(tree, name, before, after, is_same):
    first = code_of("experiments.study", tree)
    text = (tree / name).read_text(encoding="utf-8")
    assert before in text
    (tree / name).write_text(text.replace(before, after), encoding="utf-8")
    code_of.cache_clear()
    stamps._code.cache_clear()
    assert (code_of("experiments.study", tree) == first) == is_same


def test_every_table_of_results_has_one_stamp():
    """After a new table: a line in `experiments.stamps.TABLES`."""
    kept = [file for folder in ("experiments", "benchmarks") for file in (ROOT / folder / "results").rglob("*.csv*")]
    kept = {file.relative_to(ROOT).as_posix() for file in kept if file.parent.name != "finished"}
    stamped = [file for table in TABLES for file in table.files]
    assert len(stamped) == len(set(stamped))
    assert kept - {"experiments/results/stamps.csv"} <= set(stamped)
    assert {file for file in stamped if not (ROOT / file).exists()} == set()
    assert set(pd.read_csv(stamps.FILE)["table"]) == set(BY_NAME)


def test_every_command_of_an_evidence_page_has_a_stamp():
    pages = (ROOT / "docs" / "evidence").glob("*.md")
    named = {name for page in pages for name in re.findall(r"benchmarks\.([a-z_]+)", page.read_text(encoding="utf-8"))}
    drawn_from_tables = {"figures"}
    assert named - drawn_from_tables <= {table.module.partition(".")[2] for table in TABLES}


def test_pages_of_stamps_exist():
    for table in TABLES:
        for page in table.pages:
            assert (ROOT / "docs" / "evidence" / f"{page}.md").resolve().exists(), (table.name, page)


@pytest.fixture
def kept_stamps(tmp_path, monkeypatch):
    """A file of stamps of its own, and three tables: to read the code behind all of them takes seconds."""
    monkeypatch.setattr(stamps, "TABLES", [BY_NAME[name] for name in ("audit", "keeper", "suite")])
    monkeypatch.setattr(stamps, "FILE", tmp_path / "stamps.csv")
    monkeypatch.setattr(stamps_command, "FILE", tmp_path / "stamps.csv")
    return tmp_path


@pytest.mark.usefixtures("kept_stamps")
def test_a_table_is_current_confirmed_or_stale():
    today = code_of(BY_NAME["suite"].module)
    assert Stamp("suite", today).verdict() == "current"
    assert Stamp("suite", "other").verdict() == "stale"
    checked = {"confirmed_code": today, "confirmed_on": "2026-11-18", "drawn": 4}
    assert Stamp("suite", "other", confirmed=4, **checked).verdict() == "confirmed: 4 of 4 drawn cells agree"
    assert Stamp("suite", "other", confirmed=3, **checked).verdict() == "**stale: only 3 of 4 drawn cells agree**"
    half = Stamp("suite", "mixed", made="2026-11-18", cells=1, planned=2)
    assert half.verdict() == "stale; 1 of 2 cells made again on 2026-11-18"
    part = Stamp("suite", "mixed", made="2026-11-18", cells=1, planned=2, confirmed=4, **checked)
    assert part.verdict() == "stale; 1 of 2 cells made again on 2026-11-18; of these 4 of 4 drawn cells agree"
    older = {**checked, "confirmed_code": "another"}
    assert Stamp("suite", "other", confirmed=4, **older).verdict() == "stale; on 2026-11-18 4 of 4 drawn cells agree"


@pytest.mark.usefixtures("kept_stamps")
def test_stamps_are_read_as_they_were_kept():
    stamps.keep(stamps.made_now("audit", 90))
    stamps.keep(Stamp("keeper", code="123456789012"))
    found = read_stamps()
    assert found["audit"].verdict() == "current"
    assert found["audit"].minutes == 1.5
    assert found["keeper"].code == "123456789012"
    assert found["suite"].code == ""
    assert "**1 current, 0 confirmed, " in stamps.page()


@pytest.mark.parametrize(("figure", "agreed"), [(0.512341, 1), (0.5124, 0)])
def test_drawn_cells_are_computed_again(kept_stamps, monkeypatch, capsys, figure, agreed):
    kept = pd.DataFrame({"set": ["a"], "auc": [0.51234], "seconds": [3.0]})
    again = kept.assign(auc=figure, seconds=9.0)
    monkeypatch.setattr(stamps_command, "cells_of", lambda table: [KeptCell("one", kept, lambda: again)])
    stamps_command.main(["confirm", "suite", "2"])
    stamp = read_stamps()["suite"]
    assert (stamp.confirmed, stamp.drawn, stamp.is_confirmed) == (agreed, 1, bool(agreed))
    assert ("agrees" if agreed else "DIFFERS") in capsys.readouterr().out
    assert (kept_stamps / "stamps.md").read_text(encoding="utf-8").startswith("**0 current, ")


def test_a_run_keeps_what_is_printed_and_stamps_its_table(kept_stamps, monkeypatch):
    monkeypatch.setattr(stamps_command, "ROOT", kept_stamps)
    monkeypatch.setitem(BY_NAME, "audit", replace(BY_NAME["audit"], files=(), command="python -m calendar 2026 1"))
    stamps_command.main(["run", "audit"])
    printed = kept_stamps / "benchmarks" / "results" / "printed" / "audit.txt"
    assert printed.read_text(encoding="utf-8").splitlines()[0] == "    January 2026"
    assert read_stamps()["audit"].verdict() == "current"
    assert read_stamps()["audit"].minutes > 0


def test_a_run_that_fails_leaves_print_and_stamp_as_they_were(kept_stamps, monkeypatch):
    monkeypatch.setattr(stamps_command, "ROOT", kept_stamps)
    monkeypatch.setitem(BY_NAME, "audit", replace(BY_NAME["audit"], files=(), command="python -m calendar never"))
    with pytest.raises(SystemExit, match="ended with 2: nothing is kept or stamped"):
        stamps_command.main(["run", "audit"])
    assert not list(kept_stamps.rglob("*.txt"))
    assert read_stamps()["audit"].verdict() == "stale"


def test_figures_are_compared_by_value_and_texts_by_letter():
    kept = pd.DataFrame({"name": ["a", None], "auc": [0.1, float("nan")]})
    assert same_figures(kept, kept.assign(further=1))
    assert not same_figures(kept, kept.assign(name=["b", None]))
    assert not same_figures(kept, kept.assign(auc=[0.1, 0.2]))
    assert not same_figures(kept, kept.iloc[:1])


class Number(Named):
    pass


def test_work_of_other_code_is_done_again_unless_it_is_kept(kept_stamps, monkeypatch):
    monkeypatch.setattr(store, "CACHE", kept_stamps / "cache")
    work = Work("suite", Number(), lambda _: [{"value": 2}])
    store.write(work.kind, work.key, store.Stored([{"value": 1}], 1.0, "other"))
    finish_all([work], n_jobs=1, keep=True)
    assert work.stored().rows == [{"value": 1}]
    today = code_of(BY_NAME["suite"].module)
    stamps.keep(Stamp("suite", "other", confirmed=4, drawn=4, confirmed_code=today))
    finish_all([work], n_jobs=1)
    assert work.stored().rows == [{"value": 1}], "drawn cells of the table were the same with today's code"
    stamps.keep(Stamp("suite", "other"))
    finish_all([work], n_jobs=1)
    assert work.stored().rows == [{"value": 2}]


def test_lines_that_were_not_made_again_are_kept_in_their_place():
    kept = pd.DataFrame({"dataset": ["a", "b"], "method": ["m", "m"], "violation": [1.0, 2.0]})
    found = command.merged("coverage_over_splits", kept.iloc[1:].assign(violation=3.0), kept)
    assert found["violation"].tolist() == [1.0, 3.0]
    assert command.merged("win_counts", kept.iloc[1:], kept)["violation"].tolist() == [2.0]
