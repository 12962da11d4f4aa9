"""Cases without a given score go to review, and every share of all cases counts them."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from aucross.evaluation import promise_selection
from aucross.files.model_file import load, read_metadata
from aucross.report import render_html
from aucross.system.text import percent
from tests.cli.commands import aucross

FIT = ("--target", "dead", "--positive", "yes", "--id", "id", "--score", "points", "--threshold", 420)
OPTIONS = (*FIT, "--low-is-positive", "--coverage", 0.85)
SAYS = (
    "255 of 1,500 cases have no score: they go to review, and the coverage counts them; the AUC is that of the others."
)


def patients(seed: int) -> pd.DataFrame:
    """Points of a vendor, blank for 255 of 1,500 patients."""
    rng = np.random.default_rng(seed)
    n_rows = 1500
    dead = rng.random(n_rows) < 0.3
    points = (500 - 60 * dead + rng.normal(0, 60, n_rows)).round()
    points[rng.permutation(n_rows)[:255]] = np.nan
    ward, person = rng.choice(["east", "west"], n_rows), rng.integers(0, 300, n_rows)
    return pd.DataFrame(
        {"id": np.arange(n_rows), "points": points, "ward": ward, "person": person, "dead": np.where(dead, "yes", "no")}
    )


@pytest.fixture(scope="module")
def vendor(tmp_path_factory):
    folder = tmp_path_factory.mktemp("unscored")
    for seed, name in enumerate(("old.csv", "new.csv")):
        patients(seed).to_csv(folder / name, index=False)
    result = aucross("fit", folder / "old.csv", *OPTIONS, "--out", folder / "v.aucross", "--no-report")
    assert result.exit_code == 0, result.stderr
    return folder


@pytest.fixture(scope="module")
def decided(vendor):
    """What `predict` says of the same rows."""
    result = aucross("predict", vendor / "v.aucross", vendor / "new.csv", "--out", vendor / "d.csv")
    assert result.exit_code == 0, result.stderr
    return pd.read_csv(vendor / "d.csv")["decision"].eq("automatic").to_numpy()


@pytest.fixture(scope="module")
def summary(vendor):
    out = vendor / "r.json"
    assert aucross("report", vendor / "v.aucross", vendor / "new.csv", "--by", "ward", "--out", out).exit_code == 0
    return json.loads(out.read_text())


def at(rows, coverage=0.85):
    return next(row for row in rows if row["target_coverage"] == coverage)


def test_evaluate_counts_them_in_the_coverage_and_its_interval(run, document, vendor, decided):
    found = document("evaluate", vendor / "v.aucross", vendor / "new.csv")
    row, everyone = at(found["evaluation"]), at(found["evaluation"], 1.0)
    assert (found["n_rows"], found["n_without_score"]) == (1500, 255)
    assert row["achieved_coverage"] == pytest.approx(decided.mean())
    assert row["achieved_coverage_low"] < decided.mean() < row["achieved_coverage_high"] < 0.8
    assert row["coverage_error"] == pytest.approx(decided.mean() - 0.85)
    assert everyone["achieved_coverage"] == pytest.approx(0.83)
    assert everyone["achieved_coverage_low"] < 0.83 < everyone["achieved_coverage_high"]
    assert everyone["auc_gain"] == 0
    assert found["conclusion"].startswith(f"Sending {percent(1 - decided.mean())} of cases to review")
    assert found["conclusion"].endswith(SAYS)
    assert (
        "1,500 rows of new.csv, 255 of them without a score"
        in run("evaluate", vendor / "v.aucross", vendor / "new.csv").stdout
    )


def test_without_a_band_only_they_go_to_review(document, vendor):
    found = document("evaluate", vendor / "v.aucross", vendor / "new.csv", "--coverage", 1)
    assert found["conclusion"].startswith("No case that has a score goes to review at coverage 1;")
    assert found["conclusion"].endswith(SAYS)


def test_the_auc_is_that_of_the_automatic_cases(document, vendor, decided):
    rows = pd.read_csv(vendor / "new.csv")
    found = document("evaluate", vendor / "v.aucross", vendor / "new.csv")
    promise = promise_selection(rows["dead"] == "yes", -rows["points"].fillna(0), decided)
    assert at(found["evaluation"])["selective_auc"] == pytest.approx(promise.selective_auc)


def test_groups_of_results_count_them(document, vendor, decided):
    found = document("evaluate", vendor / "v.aucross", vendor / "new.csv", "--by", "ward")
    is_east = pd.read_csv(vendor / "new.csv")["ward"] == "east"
    east = next(row for row in found["groups"] if row["group"] == "east")
    assert east["n"] == is_east.sum()
    assert east["achieved_coverage"] == pytest.approx(decided[is_east].mean())


def test_the_report_promises_what_holds_for_all_cases(summary, vendor, decided):
    rows = pd.read_csv(vendor / "new.csv")
    promise = promise_selection(rows["dead"] == "yes", -rows["points"].fillna(0), decided)
    said = summary["promise"]
    assert said["coverage_at_least"] == pytest.approx(promise.coverage_at_least)
    assert said["coverage_at_least"] < decided.mean()
    assert said["auc_at_least"] == pytest.approx(promise.auc_at_least)
    assert said["sentence"] == str(promise)
    assert said["target_coverage"] == 0.85


def test_the_numbers_of_the_report_count_them(summary, vendor, decided):
    rows = pd.read_csv(vendor / "new.csv")
    is_dead, is_east = rows["dead"] == "yes", rows["ward"] == "east"
    entry, everyone = at(summary["coverages"]), summary["coverages"][-1]
    assert (summary["data"]["n"], summary["data"]["n_without_score"]) == (1500, 255)
    assert (entry["n_automatic"], entry["n_review"]) == (decided.sum(), (~decided).sum())
    assert entry["achieved_coverage"] == pytest.approx(decided.mean())
    assert entry["positives_for_review"] == pytest.approx((~decided)[is_dead].mean())
    assert entry["base_rate"]["for_review"] == pytest.approx((~decided).mean())
    assert everyone["oracle_auc"] == pytest.approx(everyone["selective_auc"])
    east = next(group for group in entry["groups"] if group["group"] == "east")
    assert east["achieved_coverage"] == pytest.approx(decided[is_east].mean())


def test_every_form_of_the_report_says_so(summary, run, vendor):
    assert summary["sentence"].endswith(SAYS)
    out = vendor / "r.md"
    assert run("report", vendor / "v.aucross", vendor / "new.csv", "--out", out).exit_code == 0
    for text in (out.read_text(), render_html(summary)):
        assert SAYS in text
        assert "1,500, 255 of them without a score" in text
        assert "255 cases have no score and go to review." in text


def test_the_test_part_of_a_fit_has_its_share_of_them(document, vendor, tmp_path):
    model, report = tmp_path / "m.aucross", tmp_path / "m.json"
    found = document("fit", vendor / "old.csv", *OPTIONS, "--out", model, "--report", report)
    assert (found["n_test"], found["n_train"] + found["n_test"] - found["n_without_score"]) == (375, 1245)
    assert 45 < found["n_without_score"] < 83
    row = at(found["evaluation"])
    n_automatic = row["n_positive"] + row["n_negative"]
    assert row["achieved_coverage"] == pytest.approx(n_automatic / 375)
    assert f"{found['n_without_score']} of 375 cases have no score" in found["conclusion"]
    assert read_metadata(model)["conclusion"] == found["conclusion"]
    assert at(json.loads(report.read_text())["coverages"])["achieved_coverage"] == row["achieved_coverage"]
    assert load(model).held_out_.n_rows == found["n_train"]


def test_compare_counts_them(document, vendor):
    methods = ("--method", "aucross", "--method", "scross")
    found = document("compare", vendor / "old.csv", *OPTIONS, "--test", vendor / "new.csv", *methods)
    assert (found["n_test"], found["n_without_score"]) == (1500, 255)
    assert all(row["achieved_coverage"] < 0.83 for row in found["comparison"])
    assert found["conclusion"].endswith(SAYS)


def test_weights_and_groups_of_them_count_too(document, tmp_path):
    rows = patients(0)
    weighted = rows.assign(amount=np.where(rows["points"].isna(), 3.0, 1.0))
    weighted.to_csv(tmp_path / "w.csv", index=False)
    arguments = ("--weight", "amount", "--customer", "person", "--drop", "ward", "--out", tmp_path / "m.aucross")
    found = document("fit", tmp_path / "w.csv", *OPTIONS, *arguments, "--report", tmp_path / "m.json")
    everyone = at(found["evaluation"], 1.0)
    n_scored = found["n_test"] - found["n_without_score"]
    assert everyone["achieved_coverage"] == pytest.approx(n_scored / (n_scored + 3 * found["n_without_score"]))
    said = json.loads((tmp_path / "m.json").read_text())
    assert said["promise"]["n_rows"] == found["n_test"]
    assert said["promise"]["n_customers"] == said["data"]["n_customers"] > 50
