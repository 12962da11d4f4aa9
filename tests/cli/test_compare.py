from __future__ import annotations

import pytest

from aucross.system.text import percent
from tests.cli.commands import ROLES, aucross

PAIRS = ("--base", "logistic", "--base", "lightgbm", "--method", "plugin-auc", "--method", "plugin")


@pytest.fixture(scope="module")
def compared(folder):
    result = aucross("compare", folder / "loans.csv", *ROLES, *PAIRS, "--coverage", 0.8)
    assert result.exit_code == 0, result.stderr
    return result


def test_every_method_stands_beside_every_base_model(compared):
    rows = [line.split()[:2] for line in compared.stdout.splitlines() if line.strip().startswith(("logi", "light"))]
    assert rows == [[base, method] for base in ("logistic", "lightgbm") for method in ("plugin-auc", "plugin")]
    for column in ("coverage reached", "AUC of automatic", "minus plugin-auc with logistic", "to Oracle", "seconds"):
        assert column in compared.stdout
    assert "The highest AUC of automatic cases is " in compared.stdout
    assert "2 of 4: plugin with logistic" not in compared.stdout


def test_the_document_holds_paired_differences_from_the_first(document, folder):
    found = document("compare", folder / "loans.csv", *ROLES, *PAIRS, "--quiet")
    assert found["reference"] == "plugin-auc with logistic"
    reference, *others = found["comparison"]
    assert (reference["difference"], reference["difference_low"], reference["difference_high"]) == (0, 0, 0)
    for row in others:
        assert row["difference_low"] <= row["difference"] <= row["difference_high"]
        assert row["difference"] == pytest.approx(row["selective_auc"] - reference["selective_auc"])
    for row in found["comparison"]:
        assert row["gap_to_oracle"] >= -1e-12
        assert row["seconds"] > 0


def test_the_conclusion_says_when_the_winner_decides_fewer_cases(document, folder):
    found = document("compare", folder / "loans.csv", *ROLES, *PAIRS, "--coverage", 0.8, "--quiet")
    best = max(found["comparison"], key=lambda row: row["selective_auc"])
    here, there = (row["achieved_coverage"] for row in (best, found["comparison"][0]))
    assert here < there - 0.005  # the winner had the easier task
    assert f"{best['method']} with {best['base']}" in found["conclusion"]
    assert found["conclusion"].endswith(f", but decides only {percent(here)} of cases against {percent(there)}.")


def test_the_conclusion_has_no_caveat_where_both_accept_as_many(document, folder):
    pairs = ("--base", "lightgbm", "--base", "logistic", "--method", "plugin-auc")
    found = document("compare", folder / "loans.csv", *ROLES, *pairs, "--coverage", 1, "--quiet")
    assert [row["achieved_coverage"] for row in found["comparison"]] == [1, 1]
    assert "of plugin-auc with logistic; it is not clearly above plugin-auc with lightgbm" in found["conclusion"]
    assert "decides only" not in found["conclusion"]


def test_all_installed_base_models_are_compared_by_default(run, table, monkeypatch):
    monkeypatch.setattr("aucross.cli.base_models.find_spec", lambda name: None)
    result = run("compare", table(), "--target", "default", "--method", "plugin")
    assert result.exit_code == 0, result.stderr
    assert "note: not compared, because not installed: lightgbm, xgboost\n" in result.stderr
    bases = [line.split()[0] for line in result.stdout.splitlines() if " plugin " in line and "with" not in line]
    assert bases == ["hgb", "logistic", "forest"]
