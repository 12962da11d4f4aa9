from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest

from aucross import AUCross
from aucross.files.model_file import load, read_metadata
from tests.cli.commands import QUICK, ROLES

SMALL = ("--target", "default", "--base", "logistic", "--method", "plugin-auc", "--no-report")


def test_fit_prints_the_table_and_one_conclusion_and_saves_model_and_report(run, folder, tmp_path):
    result = run(
        *("fit", folder / "loans.csv", *ROLES, "--base", "logistic", "--coverage", 0.8),
        *("--out", tmp_path / "model.aucross", "--by", "home_ownership"),
    )
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    asked = [line.split()[0] for line in lines if re.match(r" ?(1|0\.\d+) ", line)]
    assert asked == ["1", "0.99", "0.95", "0.9", "0.85", "0.8", "0.75"]
    assert_the_conclusion_says_what_was_measured(result.stdout, tmp_path / "model.aucross", 0.8)
    assert "By home_ownership, coverage 0.8" in result.stdout
    step = "fitting aucross with logistic on 900 rows: step 1 of 7, fold 1 of 5, training on 720 rows\n"
    assert (step in result.stderr) == hasattr(AUCross, "set_callbacks")  # since scikit-learn 1.9
    assert isinstance(load(tmp_path / "model.aucross"), AUCross)
    assert (tmp_path / "model.html").read_text().startswith("<!doctype html>")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.aucross", "model.html"]


def assert_the_conclusion_says_what_was_measured(printed, model, coverage):
    """These loans show a clear rise, and its numbers are those of the table."""
    sentence = (
        r"^Sending (\S+) % of cases to review raises the AUC of the rest from (\S+) to (\S+) "
        r"\(95 % interval of the rise (\S+) to (\S+)\)\.$"
    )
    rejected, before, after, low, high = (
        float(number) for number in re.search(sentence, printed, re.MULTILINE).groups()
    )
    measured = {row["target_coverage"]: row for row in read_metadata(model)["evaluation"]}
    assert rejected / 100 == pytest.approx(1 - measured[coverage]["achieved_coverage"], abs=0.0005)
    assert before == pytest.approx(measured[1.0]["selective_auc"], abs=0.0005)
    assert after == pytest.approx(measured[coverage]["selective_auc"], abs=0.0005)
    assert 0 < low < after - before < high


def test_json_is_one_document_and_nothing_else(run, folder, tmp_path):
    result = run("fit", folder / "loans.csv", *ROLES, "--out", tmp_path / "m.aucross", *QUICK[:-1], "--json")
    found = json.loads(result.stdout)
    assert found["command"] == "fit"
    assert found["n_train"] + found["n_test"] == 1200
    assert found["evaluation"][0]["target_coverage"] == 1.0
    assert found["conclusion"].startswith("Sending ")
    assert all(line.startswith("fitting plugin-auc with logistic") for line in result.stderr.splitlines())


def test_the_model_remembers_what_it_was_fitted_on(folder):
    metadata = read_metadata(folder / "model.aucross")
    others = dict.fromkeys(["weight", "customer", "time", "band_group"])
    assert metadata["roles"] == {"target": "default", "id": "loan", **others}
    assert metadata["labels"] == {"negative": "0", "positive": "1"}
    assert metadata["columns"]["income"] == "number"
    assert metadata["columns"]["home_ownership"] == "category"
    assert set(metadata["left_out"]) == {"customer", "issue_date"}
    assert metadata["n_categories"]["home_ownership"] == 4
    assert (metadata["seed"], metadata["coverage"], metadata["method"]) == (0, 0.9, "plugin-auc")
    assert set(metadata["versions"]) == {"aucross", "scikit-learn", "python"}
    assert len(metadata["evaluation"]) == 7


def test_the_model_works_from_python_on_a_frame(folder, loans):
    clf = load(folder / "model.aucross")
    X = loans.drop(columns=["loan", "customer", "issue_date", "default"])
    assert clf.select(X).mean() == pytest.approx(0.9, abs=0.05)


def test_the_same_seed_gives_the_same_result(document, folder, tmp_path):
    arguments = ("fit", folder / "loans.csv", *ROLES, "--out", tmp_path / "m.aucross", *QUICK)
    first, again, other = (document(*arguments, "--seed", seed)["evaluation"] for seed in (3, 3, 4))
    assert first == again != other


@pytest.mark.parametrize("name", ["loans.parquet", "loans.csv.gz", "loans.csv.zst", "loans.tsv"])
def test_every_format_gives_the_same_model(document, folder, loans, tmp_path, name):
    path = tmp_path / name
    if name.endswith("parquet"):
        loans.to_parquet(path)
    else:
        loans.to_csv(path, index=False, sep="\t" if "tsv" in name else ",")
    found = document("fit", path, *ROLES, "--out", tmp_path / "m.aucross", *QUICK)
    assert found["evaluation"] == read_metadata(folder / "model.aucross")["evaluation"]


def test_without_out_the_model_is_named_after_the_table(run, table, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert run("fit", table("loans.csv"), *SMALL).exit_code == 0
    assert (tmp_path / "loans.aucross").exists()


def test_the_latest_rows_are_tested_on_with_a_time_column(document, loans, folder, tmp_path):
    found = document(
        *("fit", folder / "loans.csv", "--target", "default", "--id", "loan", "--time-column", "issue_date"),
        *("--test-size", 0.2, "--out", tmp_path / "m.aucross", *QUICK),
    )
    dates = loans["issue_date"]
    assert found["n_test"] == (dates >= np.sort(dates)[-240]).sum()
    assert found["split"] == "the latest 20 % by issue_date"
    assert "issue_date" not in found["columns"]


def test_a_test_file_is_tested_on_and_all_other_rows_are_fitted_on(document, folder, loans, tmp_path):
    loans.iloc[:200].to_csv(tmp_path / "test.csv", index=False)
    found = document(
        *("fit", folder / "loans.csv", *ROLES, "--test", tmp_path / "test.csv"),
        *("--out", tmp_path / "m.aucross", *QUICK),
    )
    assert (found["n_train"], found["n_test"]) == (1200, 200)


def test_rows_of_a_customer_stay_together(document, folder, tmp_path):
    found = document(
        *("fit", folder / "loans.csv", "--target", "default", "--id", "loan", "--drop", "issue_date"),
        *("--customer", "customer", "--out", tmp_path / "m.aucross", *QUICK),
    )
    assert "each customer on one side" in found["split"]
    assert "customer" not in found["columns"]


def test_customers_and_times_are_not_needed_to_evaluate(run, document, table, tmp_path):
    path = table(person=np.arange(60) // 2, day=pd.date_range("2024-01-01", periods=60).strftime("%Y-%m-%d"))
    model = tmp_path / "m.aucross"
    assert run("fit", path, *SMALL, "--customer", "person", "--time-column", "day", "--out", model).exit_code == 0
    assert document("evaluate", model, table("test.csv", person="", day="unknown"), "--quiet")["n_rows"] == 60


def test_weights_count_in_the_evaluation(document, folder, tmp_path):
    arguments = ("fit", folder / "loans.csv", *ROLES, "--out", tmp_path / "m.aucross", *QUICK)
    plain, weighted = document(*arguments), document(*arguments, "--weight", "loan_amount")
    assert weighted["evaluation"][0]["positive_rate"] != plain["evaluation"][0]["positive_rate"]
    assert "loan_amount" not in weighted["columns"]
    assert "of the weight" in weighted["conclusion"]


def test_the_positive_class_can_be_chosen(document, table, tmp_path):
    path = table(default=np.where(np.arange(60) % 3 == 0, "bad", "good"))
    arguments = ("fit", path, *SMALL, "--out", tmp_path / "m.aucross", "--positive")
    rates = [document(*arguments, label)["evaluation"][0]["positive_rate"] for label in ("bad", "good")]
    assert rates[0] == pytest.approx(1 / 3)
    assert rates[1] == pytest.approx(2 / 3)


def test_rows_without_a_target_are_left_out_with_a_note(run, table, tmp_path):
    target = pd.Series(np.arange(60) % 3 == 0).map({True: "1", False: "0"})
    target[[3, 5]] = ""
    result = run("fit", table(default=target), *SMALL, "--out", tmp_path / "m.aucross")
    assert "note: 2 of 60 rows have no value of 'default' and are left out\n" in result.stderr
    assert result.exit_code == 0


def test_what_is_done_with_odd_columns_is_noted(run, table, tmp_path):
    path = table(
        person=[f"customer {number}" for number in range(60)],
        number=np.arange(60),
        day=pd.date_range("2024-01-01", periods=60).strftime("%Y-%m-%d"),
    )
    result = run("fit", path, *SMALL, "--out", tmp_path / "m.aucross")
    assert "note: column 'person' is left out: its text is different in every row" in result.stderr
    assert "note: column 'number' is left out: it numbers the rows\n" in result.stderr
    assert "note: column 'day' holds dates and is used as days since 1970" in result.stderr
    assert set(read_metadata(tmp_path / "m.aucross")["columns"]) == {"income", "age", "region", "day"}


def test_quiet_prints_the_result_alone(run, table, tmp_path):
    result = run("fit", table(number=np.arange(60)), *SMALL, "--quiet", "--out", tmp_path / "m.aucross")
    assert result.stderr == ""
    assert "15 test rows" in result.stdout
    assert "No case goes to review at coverage 0.9; the AUC of all is .380." in result.stdout


def test_the_gate_takes_a_linear_model_by_default(document, table, tmp_path):
    found = document(
        *("fit", table(n_rows=100), "--target", "default", "--method", "gate", "--no-report", "--quiet"),
        *("--out", tmp_path / "m.aucross"),
    )
    assert found["base"] == "logistic"


def test_a_report_without_its_libraries_leaves_a_note_and_the_model(run, folder, tmp_path, monkeypatch):
    for module in ("fit", "judging"):
        monkeypatch.setattr(f"aucross.cli.{module}.find_spec", lambda name: None)
    result = run("fit", folder / "loans.csv", *ROLES, "--out", tmp_path / "m.aucross", *QUICK[:-2])
    assert result.exit_code == 0
    assert (
        'note: no report will be written: a report in HTML needs jinja2: pip install "aucross[report]"; '
        in result.stderr
    )
    assert [path.name for path in tmp_path.iterdir()] == ["m.aucross"]


def test_evaluate_repeats_the_evaluation_of_the_fit(document, folder, loans, tmp_path):
    loans.iloc[:300].to_csv(tmp_path / "test.csv", index=False)
    fitted = document(
        *("fit", folder / "loans.csv", *ROLES, "--test", tmp_path / "test.csv"),
        *("--out", tmp_path / "m.aucross", *QUICK),
    )
    found = document("evaluate", tmp_path / "m.aucross", tmp_path / "test.csv")
    assert found["evaluation"] == fitted["evaluation"]
    assert found["conclusion"] == fitted["conclusion"]


def test_evaluate_shows_groups_and_another_coverage(run, folder):
    result = run(
        *("evaluate", folder / "model.aucross", folder / "loans.csv", "--coverage", 0.7, "--by", "home_ownership")
    )
    assert result.exit_code == 0, result.stderr
    assert "By home_ownership, coverage 0.7" in result.stdout
    assert "(all rows)" in result.stdout


def test_report_writes_the_form_that_the_ending_says(run, folder, tmp_path):
    out = tmp_path / "report.md"
    result = run("report", folder / "model.aucross", folder / "loans.csv", "--out", out, "--coverage", 0.8)
    assert result.exit_code == 0, result.stderr
    assert out.read_text().startswith("# Automatic decisions and review: default")
    assert f"Report: {out}" in result.stdout.replace("\n", "")


def test_walkthrough_leaves_all_files_in_its_folder(run, tmp_path):
    result = run("walkthrough", "--folder", tmp_path / "walkthrough", "--rows", 500, "--quiet")
    assert result.exit_code == 0, result.stderr
    names = {path.name for path in (tmp_path / "walkthrough").iterdir()}
    assert names == {"loans.csv", "new.csv", "model.aucross", "model.html", "decisions.csv", "decisions.csv.json"}
    assert "$ aucross fit" in result.stdout
    assert "$ aucross predict" in result.stdout
