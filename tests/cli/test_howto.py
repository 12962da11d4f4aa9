"""The commands of the how-to page, run as they are printed there."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import pytest

from aucross.datasets import make_credit
from tests.cli.commands import aucross

PAGE = Path(__file__).resolve().parents[2] / "docs" / "howto" / "command-line.md"
LINES = [line.removeprefix("$ ") for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("$ ")]
COMMANDS = [line for line in LINES if line.startswith("aucross ") and "walkthrough" not in line]


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """The tables that the page speaks of, small."""
    folder = tmp_path_factory.mktemp("howto")
    loans = make_credit(500, random_state=0).frame
    loans.insert(0, "loan", [f"{number:06d}" for number in range(len(loans))])
    loans.insert(1, "customer", [f"customer {number // 2}" for number in range(len(loans))])
    loans.insert(2, "pd", np.random.default_rng(0).beta(2, 8, len(loans)))
    loans.insert(3, "points", (850 - 550 * loans["pd"]).round())
    for name, rows in (("loans", loans), ("test", loans.iloc[:300]), ("new", loans.drop(columns="default"))):
        rows.to_csv(folder / f"{name}.csv", index=False)
    return folder


def test_the_page_has_commands_of_every_kind():
    assert {line.split()[1] for line in LINES if line.startswith("aucross ")} == {
        *("fit", "evaluate", "predict", "compare", "report", "walkthrough")
    }


def test_the_commands_of_the_page_work(tables, monkeypatch):
    monkeypatch.chdir(tables)
    for command in COMMANDS:
        # Models and reports are not the point here, and take most of the time.
        quick = ("--method", "plugin-auc") if " fit " in command and "--method" not in command else ()
        quick = ("--base", "logistic", *quick) if " fit " in command and "--score" not in command else quick
        quick = ("--method", "plugin-auc") if " compare " in command else quick
        report = ("--no-report",) if " fit " in command and not command.endswith("model.aucross") else ()
        expected = 2 if "--coverage 90" in command else 0
        result = aucross(*shlex.split(command)[1:], *quick, *report, "--quiet")
        assert result.exit_code == expected, f"{command}: {result.stderr}"


def test_the_page_speaks_of_the_coverage_that_it_shows():
    page = PAGE.read_text(encoding="utf-8")
    shown = page.partition("automatic (coverage 0")[2][:4]
    assert f"the coverage above is {shown};" in page


def test_the_table_that_the_page_shows_has_the_columns_of_the_command(tables):
    shown = next(line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith(" coverage "))
    model = ("--base", "logistic", "--method", "plugin-auc", "--no-report", "--out", tables / "columns.aucross")
    result = aucross("fit", tables / "loans.csv", "--target", "default", "--id", "loan", "--drop", "issue_date", *model)
    assert shown.split() == next(line for line in result.stdout.splitlines() if line.startswith(" coverage ")).split()
