"""The rule of the page "Choosing a method", and the sentence that `aucross compare` prints of it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from aucross.cli.choosing import ADVICE, RULE, Choice, Family, Situation, advice_for, line_for, sentence
from aucross.cli.command_options import Base, GivenScore, Method
from aucross.cli.contestants import Contestant, _decide_alike, _options
from aucross.evaluation import evaluate_selections
from tests.cli.commands import ROLES, aucross

LARGE = Situation(n_rows=20_000, n_positives=4_000)
ALLOWED = [
    ({}, Choice.AUCROSS),
    ({"keeps_fold_models": True}, Choice.JUDGED),
    ({"trains_once": True}, Choice.PLUG_IN_AUC),
    ({"trains_once": True, "keeps_fold_models": True}, Choice.PLUG_IN_AUC),
    ({"has_second_model": True}, Choice.AUCROSS),
    ({"has_second_model": True, "family": Family.LINEAR}, Choice.GATE),
    ({"has_second_model": True, "family": Family.LINEAR, "keeps_fold_models": True}, Choice.GATE),
    ({"has_second_model": True, "family": Family.BOOSTED_TREES}, Choice.AUCROSS),
    ({"family": Family.LINEAR}, Choice.AUCROSS),
    ({"is_given_score": True, "has_second_model": True}, Choice.SCORE_COLUMN),
    ({"wants_accuracy": True}, Choice.SCROSS),
    ({"wants_accuracy": True, "trains_once": True}, Choice.PLUG_IN),
    ({"wants_accuracy": True, "ranks_batches": True}, Choice.MAX_PROBABILITY),
    ({"ranks_batches": True}, Choice.AUCROSS),
]


@pytest.mark.parametrize(("allowed", "choice"), ALLOWED)
def test_the_rule_names_one_method_for_what_is_allowed(allowed, choice):
    assert line_for(replace(LARGE, **allowed)).use is choice


def test_every_line_is_reached_by_some_situation():
    reached = [line_for(replace(LARGE, **allowed)) for allowed, _ in ALLOWED]
    assert all(any(line is found for found in reached) for line in RULE)


@pytest.mark.parametrize("wants_accuracy", [False, True])
def test_the_last_line_for_each_aim_applies_to_every_situation(wants_accuracy):
    *_, last = (line for line in RULE if line.for_accuracy == wants_accuracy)
    assert last.applies(LARGE)
    assert last.use is (Choice.SCROSS if wants_accuracy else Choice.AUCROSS)


def test_advice_applies_beside_the_method():
    assert advice_for(LARGE) == []
    small = replace(LARGE, n_rows=2_999, n_positives=299, in_time=True, has_customers=True, ranks_batches=True)
    assert advice_for(small) == list(ADVICE)
    assert len(advice_for(replace(LARGE, n_rows=3_000, n_positives=300))) == 0


def test_the_sentence_says_the_line_the_reason_and_the_page():
    linear = replace(LARGE, family=Family.LINEAR, has_second_model=True, in_time=True)
    assert sentence(linear, "--method gate --base logistic") == (
        "For 20,000 training rows, 4,000 of them positive, and a linear model, line 3 of the rule says --method gate "
        "--base logistic, because the other model sees where the score is wrong, and stays out where it sees nothing "
        "more; place the band again on the newest scores (recalibrate), because scores drift "
        '(see the page "Choosing a method" of the documentation).'
    )


def test_the_page_that_the_sentence_names_exists():
    page = Path(__file__).parents[2] / "docs" / "choosing.md"
    assert page.read_text(encoding="utf-8").startswith("# Choosing a method\n")


def test_no_text_of_the_package_names_a_page_by_its_file_which_an_installed_package_lacks():
    files = (Path(__file__).parents[2] / "src").rglob("*.py")
    assert [file.name for file in files if re.search(r"docs/\S*\.md", file.read_text(encoding="utf-8"))] == []


# ---- the command ----


def rule_of(folder, *options: str) -> str:
    result = aucross("compare", folder / "loans.csv", "--target", "default", "--id", "loan", *options)
    assert result.exit_code == 0, result.stderr
    (said,) = (line for line in result.stdout.splitlines() if " of the rule says " in line)
    return said


DROPPED = ("--drop", "customer", "--drop", "issue_date")


def test_compare_prints_the_line_that_applies(folder):
    said = rule_of(folder, *DROPPED, "--base", "hgb", "--method", "plugin")
    assert said.startswith("For 900 training rows, ")
    assert " says --method aucross --base hgb, because " in said
    assert " of them positive, and boosted trees, line " in said
    assert "recalibrate" not in said


def test_compare_names_the_gate_where_it_competes_and_a_linear_model_answers(folder):
    linear = (*DROPPED, "--base", "logistic", "--method", "plugin")
    assert " says --method aucross --base logistic, because " in rule_of(folder, *linear)
    assert " says --method gate --base logistic, because " in rule_of(folder, *linear, "--method", "gate")


def test_compare_recommends_no_gate_that_changes_nothing(folder, monkeypatch):
    monkeypatch.setattr("aucross.cli.contestants._decide_alike", lambda first, second: True)
    said = rule_of(folder, *DROPPED, "--base", "logistic", "--method", "aucross", "--method", "gate")
    assert " says --method gate --base logistic, which changes nothing here: --method aucross --base logistic " in said
    assert "because the other model" not in said


@pytest.mark.parametrize(("changed", "alike"), [(0, True), (40, False)])
def test_two_that_select_the_same_rows_decide_alike(changed, alike):
    rng = np.random.default_rng(0)
    y, score = rng.random(500) < 0.3, rng.random(500)
    masks = [score > 0.2, score > 0.2]
    masks[1] = masks[1] & (np.arange(500) >= changed)
    first, second = (
        Contestant(
            Method.GATE,
            Base.LOGISTIC,
            evaluate_selections(y, score, score > 0.5, {0.8: mask}, n_bootstrap=20, random_state=0),
            0.0,
            1.0,
        )
        for mask in masks
    )
    assert _decide_alike(first, second) is alike


def test_a_given_score_is_named_with_all_that_there_is_to_type():
    assert _options(GivenScore("risk points", 600.5, low_is_positive=True), Method.AUCROSS) == (
        "--method aucross --score 'risk points' --threshold 600.5 --low-is-positive"
    )


def test_compare_advises_on_time_and_groups(folder):
    said = rule_of(
        folder, "--time-column", "issue_date", "--customer", "customer", "--base", "logistic", "--method", "plugin"
    )
    assert "recalibrate" in said
    assert "name the customers" in said


def test_the_family_is_that_of_the_model_that_ranks_best(document, folder):
    pairs = ("--base", "logistic", "--base", "forest", "--method", "plugin")
    found = document("compare", folder / "loans.csv", *ROLES, *pairs, "--quiet")
    best = max(found["comparison"], key=lambda row: row["auc_of_all"])["base"]
    assert {"logistic": "and a linear model, ", "forest": "and a forest, "}[best] in found["rule"]
