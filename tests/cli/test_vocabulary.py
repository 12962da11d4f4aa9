"""Everything that leaves the command line calls a decision automatic or review, and nothing else."""

from __future__ import annotations

import re

import pandas as pd
import pytest

from tests.cli.commands import QUICK, ROLES, aucross

COMMANDS = ("fit", "evaluate", "predict", "compare", "report", "demo", "walkthrough")
# A loan system would read "accept" as approval. The names of metrics, such as selective_auc, are no decisions.
OTHER_WORDS = re.compile(r"[\w-]*(?:accept|defer|reject|abst[ae]|select(?!ive))[\w-]*", re.IGNORECASE)


def other_words(text: str) -> list[str]:
    return OTHER_WORDS.findall(text)


def test_other_words_are_found_wherever_they_stand():
    assert other_words("n_accepted, Deferring 3, selected_auc, unselected, selective_auc, automatic, review") == [
        *("n_accepted", "Deferring", "selected_auc", "unselected")
    ]


@pytest.mark.parametrize("command", [(), ("serve",), *((name,) for name in COMMANDS)])
def test_help_says_automatic_and_review(command):
    assert other_words(aucross(*command, "--help").stdout) == []


@pytest.mark.parametrize("how", [(), ("--json",)], ids=["text", "json"])
@pytest.mark.parametrize("command", COMMANDS)
def test_results_say_automatic_and_review(command, how, folder, tmp_path):
    model, loans = folder / "model.aucross", folder / "loans.csv"
    arguments = {
        "fit": (loans, *ROLES, *QUICK[:-2], "--by", "home_ownership", "--out", tmp_path / "m.aucross"),
        "evaluate": (model, loans, "--by", "home_ownership"),
        "predict": (model, folder / "new.csv", "--capacity", 1000, "--out", tmp_path / "d.csv"),
        "compare": (loans, *ROLES, "--base", "logistic", "--method", "plugin", "--method", "plugin-auc"),
        "report": (model, loans, "--out", tmp_path / "r.json"),
        "demo": ("--folder", tmp_path, "--rows", 500),
        "walkthrough": ("--folder", tmp_path, "--rows", 500),
    }[command]
    result = aucross(command, *arguments, *how)
    assert result.exit_code == 0, result.stderr
    assert other_words(result.stdout + result.stderr) == []


@pytest.mark.parametrize("how_many", [(), ("--capacity", 40)], ids=["coverage", "capacity with reasons"])
def test_decisions_are_automatic_or_review(how_many, folder, tmp_path):
    out = tmp_path / "decisions.csv"
    assert aucross("predict", folder / "model.aucross", folder / "new.csv", *how_many, "--out", out).exit_code == 0
    assert set(pd.read_csv(out)["decision"]) == {"automatic", "review"}
    assert other_words(out.read_text()) == []


def test_groups_name_the_positives_for_review(document, folder):
    found = document("evaluate", folder / "model.aucross", folder / "loans.csv", "--by", "home_ownership", "--quiet")
    for group in found["groups"]:
        assert 0 <= group["positives_for_review"] <= 1
