"""The search for a rule on half of the sets, its check on the other half, and what is written of it."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
import pytest

from aucross.cli.choosing import RULE, Choice, Family, Situation
from experiments.suite import tables
from experiments.suite.choosing import write
from experiments.suite.choosing.check import ALLOWED, Study, checks, other_halves
from experiments.suite.choosing.measured import FAMILY_OF, METHODS, values_of, worth_of_coverage
from experiments.suite.choosing.rules import CONDITIONS, Contest, Rule, halves
from experiments.suite.methods import DEFAULT, PLUG_IN_AUC
from experiments.suite.tables import MAX_PROBABILITY

N_SETS = 12
KINDS = {f"set{number:02}": ("time" if number % 6 == 5 else "random", 1000 + 500 * number) for number in range(N_SETS)}
# AUC above that of AUCross at the same coverage.
LEADS = {DEFAULT: 0.0, "AUCross judged": 0.0, "AUCross published": -0.005, PLUG_IN_AUC: -0.002, "AUCGate": 0.01}
LEADS |= {"SCross": -0.04, "PlugIn": -0.05, MAX_PROBABILITY: -0.04}


def made_cells(leads=LEADS, *, network=None, seed=0):
    """Cells of all methods with the given leads, others for networks where they are given."""
    rng, rows = np.random.default_rng(seed), []
    for dataset, (_, n_rows) in KINDS.items():
        for family in FAMILY_OF:
            own = {**leads, **(network or {})} if family == "MLP" else leads
            for target in (0.9, 0.8):
                base = 0.8 + 0.1 * (1 - target)
                for method in METHODS:
                    if method == "AUCGate" and family != "Logistic":
                        continue
                    accurate = method in ("SCross", "PlugIn", MAX_PROBABILITY)
                    miss = {"AUCross judged": 0.002, MAX_PROBABILITY: 0.0}.get(method, 0.01)
                    rows.append(
                        {
                            "split": 0,
                            "dataset": dataset,
                            "family": family,
                            "n_train": n_rows,
                            "n_test": 1000,
                            "prevalence": 0.2,
                            "method": method,
                            "target_coverage": target,
                            "coverage": target + miss,
                            "auc": base + own[method] + (0.0 if method == DEFAULT else rng.normal(0, 1e-4)),
                            "auc_all": 0.8,
                            "accuracy": 0.9
                            + 0.1 * (1 - target)
                            + (0.02 if accurate else 0.0)
                            - (0.001 if method == "PlugIn" else 0.0),
                            "accuracy_all": 0.85,
                            "oracle_distance": 0.001,
                            "aucross_auc": base,
                            "plug_in_auc": base,
                            "aucross_coverage": target + miss,
                            "plug_in_coverage": target + miss,
                            "seconds": 6.0 if method == DEFAULT else 1.0,
                        }
                    )
    return tables.with_differences(pd.DataFrame(rows))


def study(**options):
    return Study(made_cells(**options), KINDS)


def test_halves_have_sets_of_every_size_and_kind_and_no_set_twice():
    rows = {name: n_rows for name, (_, n_rows) in KINDS.items()}
    in_time = {name for name, (kind, _) in KINDS.items() if kind == "time"}
    finding, checking = halves(rows, in_time, 3)
    assert sorted(finding + checking) == sorted(rows)
    assert len(in_time & {*finding}) == len(in_time & {*checking}) == 1
    assert abs(np.mean([rows[name] for name in finding]) - np.mean([rows[name] for name in checking])) < 600
    assert halves(rows, in_time, 3) == (finding, checking)
    assert any(halves(rows, in_time, seed) != (finding, checking) for seed in range(4, 8))


def test_halves_of_sets_with_as_many_rows_do_not_depend_on_their_order():
    alike = dict.fromkeys("abcdefgh", 1_000)
    assert halves(alike, set(), 3) == halves(dict(reversed(alike.items())), set(), 3)


def test_the_search_finds_one_method_where_no_exception_is_better():
    found = study()
    finding, _ = found.halves()
    rules = {allowed.text: str(found.find(allowed, finding)) for allowed in ALLOWED}
    assert rules["several trainings, one model is kept"] == "always AUCross"
    assert rules["the fold models are kept, too"] == "always AUCross judged"  # the same AUC, and a closer coverage
    assert rules["a second model decides for a linear one"] == "always AUCGate"
    assert rules["one training"] == "always PlugInAUC"
    assert rules["accuracy is the aim"] == "always SCross"
    assert rules["accuracy, whole batches"] == "always max probability"


def test_the_search_finds_an_exception_that_there_is():
    found = study(network={PLUG_IN_AUC: 0.006})
    finding, checking = found.halves()
    rule = found.find(ALLOWED[0], finding)
    assert str(rule) == "AUCross, but PlugInAUC with a network"
    reached = found.check(ALLOWED[0], checking, rule.method)
    assert reached["over_aucross"] == pytest.approx(0.006 / len(FAMILY_OF), abs=2e-4)  # one family of five
    assert reached["over_aucross_low"] > 0
    assert found.agreement(ALLOWED[0], rule) == pytest.approx(1 - 1 / len(FAMILY_OF))


def test_an_exception_on_one_set_is_chance():
    cells = made_cells()
    lucky = (cells["dataset"] == "set00") & (cells["method"] == PLUG_IN_AUC) & (cells["family"] == "MLP")
    cells.loc[lucky, "behind"] = -0.03
    found = Study(cells, KINDS)
    assert str(found.find(ALLOWED[0], list(KINDS))) == "always AUCross"


def test_the_coverage_error_counts_at_the_price_of_coverage():
    values = values_of(made_cells({**LEADS, "AUCross judged": -0.0005}), KINDS)
    situations = {(row.dataset, row.family): Situation(n_rows=5_000, n_positives=1_000) for row in values.itertuples()}
    contest = Contest.of(values, situations, (DEFAULT, "AUCross judged"), "lead")
    assert str(contest.best_rule(0.0)) == "always AUCross"
    assert str(contest.best_rule(0.1)) == "always AUCross judged"  # .008 closer, worth .0008
    assert worth_of_coverage(pd.Series({0.9: 0.01, 0.7: 0.03})) == pytest.approx(0.1)


def test_the_first_exception_that_holds_counts():
    few, linear = CONDITIONS[0], next(condition for condition in CONDITIONS if condition.text == Family.LINEAR)
    rule = Rule(DEFAULT, ((few, PLUG_IN_AUC), (linear, "AUCGate")))
    small = Situation(n_rows=1_000, n_positives=100, family=Family.LINEAR)
    assert rule.method(small) == PLUG_IN_AUC
    assert rule.method(Situation(n_rows=9_000, n_positives=900, family=Family.LINEAR)) == "AUCGate"
    assert rule.method(Situation(n_rows=9_000, n_positives=900)) == DEFAULT


def test_the_check_is_on_the_other_half():
    found = study()
    _, checking = found.halves()
    table = checks(found).set_index("allowed")
    assert (table["n_sets"] == len(checking)).all()
    plain = table.loc["several trainings, one model is kept"]
    assert (plain["over_aucross"], plain["same_as_library"]) == (0, 1)
    assert plain["over_max_probability"] == pytest.approx(0.04, abs=1e-3)
    judged = table.loc["the fold models are kept, too"]
    assert judged["miss"] == pytest.approx(0.002)
    assert judged["further_off_high"] < 0


def test_every_measured_line_of_the_library_is_checked():
    not_measured = [line for line in RULE if all(allowed.line is not line for allowed in ALLOWED)]
    assert [line.use for line in not_measured] == [Choice.SCORE_COLUMN]


def test_other_halves_tell_how_often_a_rule_is_found():
    again = other_halves(study(), n_halves=3)
    assert again.groupby("allowed").size().tolist() == [3] * len(ALLOWED)
    assert again.loc[again["allowed"] == ALLOWED[0].text, "rule"].unique().tolist() == ["always AUCross"]


def test_tables_picture_and_page_are_written(tmp_path, monkeypatch):
    monkeypatch.setattr(write, "other_halves", partial(other_halves, n_halves=5))
    write.write_choosing(made_cells(network={PLUG_IN_AUC: 0.006}), KINDS, 100, tmp_path)
    assert (tmp_path / "choosing.png").stat().st_size > 2_000
    texts = {path.stem: path.read_text(encoding="utf-8") for path in tmp_path.glob("choosing_*.md")}
    assert "60 of 100 cells are done" in texts["choosing_done"]
    for number, line in enumerate(RULE, start=1):
        assert f"{number}. {line.when[0].upper()}{line.when[1:]}: " in texts["choosing_rule"]
    assert (
        "| several trainings, one model is kept | AUCross, but PlugInAUC with a network | " in texts["choosing_check"]
    )
    assert "in 5 of them the library names the same method everywhere" in texts["choosing_check"]
    assert "With *several trainings, one model is kept* the library's rule has the AUC of" in texts["choosing_check"]
    assert f"in {N_SETS} of {N_SETS * len(FAMILY_OF)} combinations" in texts["choosing_wrong"]
    assert "Which method was ahead, and how often: PlugInAUC 12." in texts["choosing_wrong"]
    assert ".825 for logistic regression with AUCGate, .815 for LightGBM with AUCross." in texts["choosing_methods"]
    kept = "| the fold models are kept, too | .004 | .010 | -.006 [-.006, -.006] | +.002 [+.002, +.002] |"
    assert kept in texts["choosing_check"]
    assert "-.000" not in texts["choosing_check"]
    assert "| MLP | " in texts["choosing_table"]
    assert all(f"| {method} |" in texts["choosing_every"] for method in METHODS[1:])
    assert f"Found on {len(study().halves()[0])} sets: " in texts["choosing_halves"]
