from __future__ import annotations

import pytest

from aucross.cli.compare import Contestant, _conclusion
from aucross.cli.names import Base, Method
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
    monkeypatch.setattr("aucross.cli.models.find_spec", lambda name: None)
    result = run("compare", table(), "--target", "default", "--method", "plugin")
    assert result.exit_code == 0, result.stderr
    assert "note: not compared, because not installed: lightgbm, xgboost\n" in result.stderr
    bases = [line.split()[0] for line in result.stdout.splitlines() if " plugin " in line and "with" not in line]
    assert bases == ["hgb", "logistic", "forest"]


# ---- the sentence alone ----


def ahead(*rows: dict[str, float]) -> str:
    """The sentence about methods of the given results; the first is the reference."""
    contestants = [
        Contestant(method, Base.HGB, evaluation=None, gap_to_oracle=0.0, seconds=1.0)
        for method, _ in zip(Method, rows, strict=False)
    ]
    return _conclusion(contestants, rows)


def result(auc: float, low: float, high: float, coverage: float = 0.9) -> dict[str, float]:
    return {"selective_auc": auc, "difference_low": low, "difference_high": high, "achieved_coverage": coverage}


REFERENCE = result(0.80, 0.0, 0.0)


def test_the_best_is_clearly_or_not_clearly_above_the_first():
    start = "The highest AUC of automatic cases is .820, of plugin-auc with hgb; it is "
    assert ahead(REFERENCE, result(0.82, 0.01, 0.03)) == (
        f"{start}clearly above aucross with hgb (95 % interval of the difference .010 to .030)."
    )
    assert ahead(REFERENCE, result(0.82, -0.01, 0.05)).startswith(f"{start}not clearly above aucross with hgb")


def test_whoever_decides_fewer_cases_is_told_so():
    assert ahead(REFERENCE, result(0.82, 0.01, 0.03, coverage=0.85)).endswith(
        ", but decides only 85 % of cases against 90 %."
    )
    assert "but decides only" not in ahead(REFERENCE, result(0.82, 0.01, 0.03, coverage=0.896))
    assert "but decides only" not in ahead(REFERENCE, result(0.82, 0.01, 0.03, coverage=0.95))


def test_one_alone_is_ahead_of_nobody():
    assert ahead(REFERENCE) == "The AUC of automatic cases is .800, of aucross with hgb, compared with no other."


def test_rivals_of_the_first_are_those_not_clearly_behind():
    assert ahead(REFERENCE, result(0.79, -0.02, 0.01), result(0.7, -0.12, -0.08)).endswith(
        "; not clearly behind: plugin-auc with hgb."
    )
    assert ahead(REFERENCE, result(0.7, -0.12, -0.08)).endswith("; all others are clearly behind.")
