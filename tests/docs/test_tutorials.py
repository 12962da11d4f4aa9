"""The tutorials run, and what they say about their output holds."""

from __future__ import annotations

import runpy
from functools import cache
from pathlib import Path
from uuid import UUID

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

FOLDER = Path(__file__).parents[2] / "docs" / "tutorials"


@cache
def names_of(tutorial):
    """The names that a tutorial leaves behind."""
    with mpl.rc_context():
        plt.switch_backend("Agg")
        try:
            return runpy.run_path(str(FOLDER / f"{tutorial}.py"))
        finally:
            plt.close("all")


def test_every_tutorial_has_its_place_in_the_reading_order():
    order = runpy.run_path(str(FOLDER.parent / "_extensions" / "reading_order.py"))
    scripts = sorted((path.name for path in FOLDER.glob("*.py")), key=order["ReadingOrder"](FOLDER))
    assert [name.removesuffix(".py") for name in scripts] == list(order["TUTORIALS"])


def test_ten_minutes():
    names = names_of("ten_minutes")
    assert names["auc_of_selected"] > names["auc_of_all"] + 0.02
    assert abs(names["selected"].mean() - 0.8) < 0.02
    band = names["clf"].band()
    assert 0 < band.lower < band.upper < 0.3
    rows = names["evaluation"].rows()
    assert [row["target_coverage"] for row in rows] == [1.0, 0.9, 0.8, 0.7]
    assert all(row["auc_gain_low"] > 0 for row in rows[1:])
    by_metric = {(row["metric"], row["target_coverage"]): row for row in names["comparison"].rows()}
    auc = by_metric["selective_auc", 0.8]
    assert auc["difference_low"] > 0
    assert auc["reference_value"] < rows[0]["selective_auc"]
    assert by_metric["selective_accuracy", 0.8]["difference"] < 0
    answer = names["answer"]
    assert 0 < answer.low < answer.value < answer.high <= 1
    assert answer.high - answer.low > 0.2
    assert names["table"]["reviews a week"].is_monotonic_increasing
    assert (names["frozen"].predict(names["X_rest"]) == names["base"].predict(names["X_rest"])).all()


def of_metric(comparison, metric, coverage):
    """One line of a comparison."""
    return next(
        row
        for row in comparison.rows()
        if row["metric"] == metric and row["target_coverage"] == pytest.approx(coverage)
    )


def test_mandated_scorecard():
    names = names_of("mandated_scorecard")
    assert names["by_gate"].probability_model_.columns == (0, 1)
    rows = names["evaluation"].rows()
    assert all(row["auc_gain_low"] > 0 for row in rows[1:])
    differences = [of_metric(names["comparison"], "selective_auc", coverage) for coverage in (0.9, 0.8, 0.7)]
    assert all(row["difference_low"] > 0 for row in differences)
    assert all("score and gate together say" in reason for reason in names["queue"].reason)
    assert len(names["queue"]) == 40
    assert names["same"]
    assert names["unchanged"]
    assert names["check"].ok
    assert names["useless"].probability_model_.columns == (0,)
    with pytest.raises(ValueError, match="takes the models to compute"):
        names["rule_to_sql"](names["by_gate"], "score")


def test_vendor_score():
    names = names_of("vendor_score")
    assert 300 < names["lowest"] < names["highest"] < 850
    assert names["clf"].select(names["placing"]).mean() >= 0.85
    rows = names["evaluation"].rows()
    assert all(row["auc_gain_low"] > 0 for row in rows[1:])
    assert all(row["achieved_coverage"] < row["target_coverage"] for row in rows[1:])
    promise = names["promise"]
    assert promise.auc_at_least < promise.selective_auc
    assert promise.coverage_at_least < promise.achieved_coverage
    assert names["agree"].all()
    assert "For review: points from" in names["fitted"]
    assert "6,000 rows" in names["predicted"]
    assert not names["folder"].exists()


@pytest.mark.usefixtures("no_column_reasons")
def test_weekly_capacity():
    names = names_of("weekly_capacity")
    weeks = names["weeks"]
    assert (weeks["by capacity"] == 25).all()
    assert weeks["by coverage"].max() > 1.5 * weeks["by coverage"].min()
    assert len(names["queue"]) == 25
    assert (np.diff(names["queue"].worth) <= 0).all()
    decisions = names["decisions"]
    assert len(decisions) == len(names["X_new"])
    assert (decisions["decision"] == "review").sum() == 25 * len(weeks)
    result = names["result"]
    gain = result["model and reviewers"] - result["model alone"]
    assert gain["defaults found"] > 0.05
    assert gain["refusals that were right"] < 0
    assert gain["balanced accuracy"] > 0.02
    assert 0.5 < names["needed"] < names["alone"]
    # About a fifth of the applications is refused, and most cases of the queue are good ones.
    assert 0.15 < names["answers"].mean() < 0.3
    assert names["outcome"][~names["selected"]].mean() < 0.5


def test_drift_two_years():
    names = names_of("drift_two_years")
    assert names["report"].alarm
    assert names["report"].direction == "below"
    assert names["alarm_week"].year == 2023
    began = names["weeks"][names["report"].drift_since - 1]
    assert abs((began - pd.Timestamp("2023-01-01")).days) < 30
    assert (names["alarm_week"] - began).days > 60
    # The weeks of 2022 give no cause.
    assert names["quarterly"][:4].between(0.78, 0.82).all()
    after = names["X"][names["after"]]
    old, new = (names[rule].select(after).mean() for rule in ("clf", "moved"))
    assert abs(new - 0.8) < abs(old - 0.8)
    assert not names["again"].alarm
    labels = names["labels"]
    assert not labels.alarm
    assert labels.base_rate.alarm
    assert labels.calibration.alarm
    auc = names["judged"]["selective_auc"]
    assert auc["after the alarm, new band"] < auc["after the alarm, old band"]


def test_groups():
    names = names_of("groups")
    gaps = {row["metric"]: row for row in names["gaps"].rows()}
    coverage = gaps["achieved_coverage"]
    assert coverage["lowest_group"] == "to 25"
    assert coverage["gap"] > coverage["gap_by_chance"]
    assert "bands of their own" in str(names["report"].band_advice(0.8))
    assert names["now"]["gap"] < 0.5 * names["before"]["gap"]
    assert names["check"].ok
    assert not names["starved"].ok
    assert 1.8 < names["starved"].review_ratio < 2.3
    youngest = [names[report].of("to 25").rows()[0]["selective_auc"] for report in ("report", "fair")]
    assert youngest[1] < youngest[0]
    assert names["now"]["gap"] > names["now"]["gap_by_chance"]
    assert (names["clf"].predict(names["X_test"]) == names["equal"].predict(names["X_test"])).all()


def test_several_classes():
    names = names_of("several_classes")
    rows = names["evaluation"].rows()
    for metric in ("hand_till_m", "auc_mu", "selective_accuracy"):
        assert rows[-1][metric] > rows[0][metric], metric
        assert abs(names["other"].rows()[-1][metric] - rows[-1][metric]) < 0.01, metric
    assert of_metric(names["comparison"], "hand_till_m", 0.9)["difference_low"] > 0
    assert of_metric(names["comparison"], "hand_till_m", 0.8)["difference_low"] < 0
    assert of_metric(names["comparison"], "achieved_coverage", 0.9)["difference"] < 0
    assert names["alone"] < names["on_selected"] < names["together"]
    assert len(names["queue"]) == 12
    assert (~names["selected"]).sum() > (~names["selected_by_confidence"]).sum()


def test_laptop_to_cluster():
    names = names_of("laptop_to_cluster")
    assert all(row["auc_gain_low"] > 0 for row in names["evaluation"].rows()[1:])
    for ours, theirs in ((names["on_counts"], names["in_memory"]), (names["on_dask"], names["clf"])):
        assert ours.band().lower == pytest.approx(theirs.band().lower, rel=1e-5)
        assert ours.band().upper == pytest.approx(theirs.band().upper, rel=1e-5)
    assert (names["on_counts"].select(names["scores"]) == names["in_memory"].select(names["scores"])).all()
    assert abs(names["share"] - 0.8) < 0.001
    assert names["same_decisions"].all()
    for ours, theirs in zip(names["judged"].rows(), names["evaluation"].rows(), strict=True):
        assert ours["selective_auc"] == pytest.approx(theirs["selective_auc"], abs=1e-6)
    assert names["query"].endswith("GROUP BY score")


@pytest.mark.usefixtures("no_column_reasons")
def test_loan_year():
    names = names_of("loan_year")
    assert not names["again"].is_new
    cases = names["cases"]
    assert len(cases) == names["year"].sum()
    assert set(cases["batch"]) == {f"2021-{number:02d}" for number in range(1, 13)}
    assert names["share"].run_n == len(cases)
    assert names["labels"].n == len(names["known"])
    team = names["team"]
    assert team.value > names["alone"] + 0.02
    assert team.n_cases + team.n_open == len(names["known"])
    assert team.n_reviewed > 100
    assert names["calibration"].value < 0.1
    assert names["placed"].band() != names["clf"].band()
    assert abs(names["placed"].select(names["X"][names["year"]]).mean() - 0.8) < 0.005
    assert names["found"].is_clean


@pytest.mark.usefixtures("no_column_reasons")
def test_earned_year(monkeypatch):
    # The id of the record enters the draw of audits and strip; here it is the same in every run.
    monkeypatch.setattr("aucross.record.case_record.uuid4", lambda: UUID(int=0))
    names = names_of("earned_year")
    assert names["n_seen"] > 1500  # half of the cases, and audits
    changes = names["tables"]["changes"]["rows"]
    coverages = [row[4] for row in changes]
    assert coverages[0] == 0.5
    assert max(coverages) >= 0.7
    assert all(row[6] == "Risk committee" for row in changes[1:])
    assert names["earned"].steps[0].n_blocks == 12
    assert names["found"]["audit"]["low"] > names["promise"] - 0.01
    assert names["found"]["strip"]["effect"] > 0
    assert len(names["tables"]["label_free"]["rows"]) == 1
