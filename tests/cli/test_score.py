"""`--score`: bands on a column that already holds the score, without training."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import numpy as np
import pandas as pd
import pytest

from aucross import AUCross
from aucross.export import rule_to_sql
from aucross.files.model_file import load, read_metadata
from tests.cli.commands import aucross

ROLES = ("--target", "default", "--id", "loan", "--drop", "customer", "--drop", "issue_date")
WITHOUT_SCORE = [3, 40, 41, 250]


@pytest.fixture(scope="module")
def vendor(loans):
    """The loans with a vendor's probability, missing in four rows, and the same in points."""
    rng = np.random.default_rng(0)
    probability = np.clip(0.12 * loans["default"] + rng.beta(2, 8, len(loans)), 0, 1).round(4)
    points = (850 - 550 * probability).round()
    table = loans.assign(pd=probability, points=points)
    table.loc[WITHOUT_SCORE, "pd"] = np.nan
    return table


@pytest.fixture(scope="module")
def scored(tmp_path_factory, vendor):
    """Tables with scores, and a model on each score."""
    folder = tmp_path_factory.mktemp("scores")
    vendor.to_csv(folder / "loans.csv", index=False)
    vendor.drop(columns="default").iloc[:300].to_csv(folder / "new.csv", index=False)
    points = ("--score", "points", "--threshold", 650, "--low-is-positive")
    for name, options in (("pd", ("--score", "pd")), ("points", points)):
        arguments = (*ROLES, *options, "--out", folder / f"{name}.aucross", "--no-report")
        result = aucross("fit", folder / "loans.csv", *arguments, "--quiet")
        assert result.exit_code == 0, result.stderr
    return folder


POINTS_TAKEN_FOR_PROBABILITIES = (
    "probabilities between 0 and 1, got 453 to 849; for points pass --threshold, the value that separates the two "
    "predicted classes"
)


def decisions(path) -> pd.DataFrame:
    return pd.read_csv(path, dtype={"loan": str})


def test_the_bands_lie_on_the_column_and_nothing_else_is_read(scored):
    clf, metadata = load(scored / "pd.aucross"), read_metadata(scored / "pd.aucross")
    assert isinstance(clf, AUCross)
    assert clf.estimator_.trains_nothing
    assert metadata["columns"] == {"pd": "number"}
    assert (metadata["score"], metadata["base"], metadata["method"]) == ("pd", None, "aucross")


def test_rows_without_a_score_are_left_out_of_the_fit_with_a_note(run, scored, tmp_path):
    result = run("fit", scored / "loans.csv", *ROLES, "--score", "pd", "--no-report", "--out", tmp_path / "m.aucross")
    assert result.exit_code == 0, result.stderr
    assert (
        "note: 4 of 1200 rows have no value of 'pd' and go to review: the coverage counts them, the fit and the AUC "
        "leave them out\n" in result.stderr
    )
    assert "training" not in result.stderr


def test_the_band_is_told_in_the_unit_of_the_column(run, scored, tmp_path):
    out = tmp_path / "m.aucross"
    arguments = ("--score", "points", "--threshold", 650, "--low-is-positive", "--no-report", "--quiet", "--out", out)
    result = run("fit", scored / "loans.csv", *ROLES, *arguments)
    low, high = read_metadata(out)["review_band"]
    assert 300 < low < high < 850
    assert f"For review: points from {low:g} to {high:g}.\n" in result.stdout
    decided = load(out).select(pd.DataFrame({"points": [low - 1, low, high, high + 1]}))
    assert decided.tolist() == [True, False, False, True]


def test_decisions_hold_the_column_and_follow_the_library(run, scored, vendor, tmp_path):
    new = vendor.iloc[:300]
    for name, predicts in (("pd", new["pd"] > 0.5), ("points", new["points"] < 650)):
        out = tmp_path / f"{name}.csv"
        assert run("predict", scored / f"{name}.aucross", scored / "new.csv", "--out", out).exit_code == 0
        found, known = decisions(out), new[name].notna().to_numpy()
        selected = load(scored / f"{name}.aucross").select(new.loc[known, [name]])
        np.testing.assert_allclose(found["score"], new[name])
        assert found["prediction"][known].tolist() == predicts[known].astype(int).tolist()
        assert found["decision"][known].tolist() == np.where(selected, "automatic", "review").tolist()


@pytest.mark.parametrize("options", [(), ("--recalibrate",), ("--capacity", 30)])
def test_rows_without_a_score_go_to_review_without_a_prediction(run, document, scored, tmp_path, options):
    out = tmp_path / "d.csv"
    found = document("predict", scored / "pd.aucross", scored / "new.csv", "--out", out, *options)
    assert found["without_score"] == 4
    assert found["notes"] == [
        "4 rows have no value of 'pd', or points far from those of the fit, and go to review without a prediction"
    ]
    without = decisions(out).iloc[WITHOUT_SCORE]
    assert without["decision"].eq("review").all()
    assert without[["score", "prediction"]].isna().all(axis=None)


@pytest.mark.parametrize(("capacity", "expected"), [(30, 30), (4, 4), (2, 4), (1000, 300)])
def test_rows_without_a_score_come_first_in_the_capacity(document, scored, tmp_path, capacity, expected):
    arguments = ("--capacity", capacity, "--out", tmp_path / "d.csv")
    found = document("predict", scored / "pd.aucross", scored / "new.csv", *arguments)
    assert found["review"] == expected
    more = "they are more than the capacity of 2, and no other row goes to review"
    assert (more in found["notes"]) == (capacity == 2)


def test_a_batch_without_any_score_is_decided_on(run, scored, vendor, tmp_path):
    vendor.assign(pd=np.nan).iloc[:20].to_csv(tmp_path / "new.csv", index=False)
    assert run("predict", scored / "pd.aucross", tmp_path / "new.csv", "--out", tmp_path / "d.csv").exit_code == 0
    assert decisions(tmp_path / "d.csv")["decision"].eq("review").all()


def test_only_the_score_is_needed_to_decide(run, scored, vendor, tmp_path):
    vendor[["loan", "pd"]].to_csv(tmp_path / "new.csv", index=False)
    assert run("predict", scored / "pd.aucross", tmp_path / "new.csv", "--out", tmp_path / "d.csv").exit_code == 0


@pytest.mark.parametrize("name", ["pd", "points"])
def test_evaluate_and_report_work_on_such_a_model(document, run, scored, tmp_path, name):
    found = document("evaluate", scored / f"{name}.aucross", scored / "loans.csv", "--by", "home_ownership")
    assert (found["n_rows"], found["n_without_score"]) == (1200, 4 if name == "pd" else 0)
    assert found["conclusion"].startswith("Sending ")
    out = tmp_path / "report.md"
    result = run("report", scored / f"{name}.aucross", scored / "loans.csv", "--out", out)
    assert result.exit_code == 0, result.stderr
    assert out.exists()


def test_methods_are_compared_on_the_score(document, scored):
    methods = ("--method", "aucross", "--method", "scross")
    found = document("compare", scored / "loans.csv", *ROLES, "--score", "pd", *methods, "--quiet")
    assert found["reference"] == "aucross with pd"
    assert [(row["base"], row["method"]) for row in found["comparison"]] == [("pd", "aucross"), ("pd", "scross")]


def test_the_gate_reads_the_other_columns(document, run, scored, vendor, tmp_path):
    model = tmp_path / "gate.aucross"
    options = ("--method", "gate", "--drop", "points", "--no-report", "--quiet", "--out", model)
    found = document("fit", scored / "loans.csv", *ROLES, "--score", "pd", *options)
    assert {"pd", "income", "home_ownership"} <= set(found["columns"])
    assert found["review_band"] is None
    assert run("predict", model, scored / "new.csv", "--out", tmp_path / "d.csv").exit_code == 0
    assert decisions(tmp_path / "d.csv").iloc[WITHOUT_SCORE]["decision"].eq("review").all()


def test_weights_count(document, scored, tmp_path):
    arguments = ("fit", scored / "loans.csv", *ROLES, "--score", "pd", "--no-report", "--out", tmp_path / "m.aucross")
    plain, weighted = document(*arguments, "--quiet"), document(*arguments, "--weight", "loan_amount", "--quiet")
    assert weighted["evaluation"] != plain["evaluation"]
    assert "of the weight" in weighted["conclusion"]


@pytest.mark.parametrize(
    ("options", "message", "code"),
    [
        (("--score", "pdd"), "--score: loans.csv has no column 'pdd'; did you mean 'pd'?", 1),
        (("--score", "points"), f"--score: column 'points' must hold {POINTS_TAKEN_FOR_PROBABILITIES}", 1),
        (("--score", "pd", "--base", "hgb"), "--score and --base both say what answers; give one of them", 2),
        (("--score", "default"), "--score default: the score cannot be another option's column as well", 2),
        (("--score", "customer"), "--score customer: the score cannot be another option's column as well", 2),
        (("--threshold", 3), "--threshold is about a score in the table; name its column with --score", 2),
        (("--low-is-positive",), "--low-is-positive is about a score in the table; name its column with --score", 2),
    ],
)
def test_misuse_is_refused(run, scored, tmp_path, options, message, code):
    result = run("fit", scored / "loans.csv", *ROLES, *options, "--out", tmp_path / "m.aucross", "--quiet")
    assert (result.exit_code, result.stderr) == (code, f"error: {message}\n")
    assert list(tmp_path.iterdir()) == []


def test_compare_refuses_a_score_beside_base_models(run, scored):
    result = run("compare", scored / "loans.csv", *ROLES, "--score", "pd", "--base", "hgb")
    assert (result.exit_code, result.stderr) == (
        2,
        "error: --score and --base both say what answers; give one of them\n",
    )


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        (["A", "B"] * 30, "must hold numbers, got 'A' in row 0; name another column, or leave such values blank"),
        (["0.1"] * 59 + ["n.a.?"], "must hold numbers, got 'n.a.?' in row 59; name another column, or leave"),
        ([""] * 60, "has no values at all; name another column"),
    ],
)
def test_columns_that_hold_no_score_are_refused(run, table, tmp_path, values, problem):
    result = run("fit", table(grade=values), "--target", "default", "--score", "grade", "--out", tmp_path / "m.aucross")
    assert result.exit_code == 1
    assert result.stderr.startswith(f"error: --score: column 'grade' {problem}")


def test_a_score_that_counts_the_rows_is_taken(run, table, tmp_path):
    arguments = ("--target", "default", "--score", "place", "--threshold", 30, "--method", "plugin-auc", "--no-report")
    result = run("fit", table(place=np.arange(60)), *arguments, "--out", tmp_path / "m.aucross")
    assert result.exit_code == 0, result.stderr
    assert read_metadata(tmp_path / "m.aucross")["columns"] == {"place": "number"}


def test_grades_are_cut_through_by_the_other_columns_to_meet_the_coverage(loans, tmp_path):
    rng = np.random.default_rng(0)
    grade = np.clip(np.digitize(0.12 * loans["default"] + rng.beta(2, 8, len(loans)), [0.12, 0.2, 0.3]) / 4 + 0.1, 0, 1)
    loans.assign(grade=grade).to_csv(tmp_path / "loans.csv", index=False)
    coverage = {}
    for ties in ("whole", "split"):
        arguments = (*ROLES, "--score", "grade", "--coverage", 0.9, "--ties", ties, "--no-report", "--quiet")
        model, decided = tmp_path / f"{ties}.aucross", tmp_path / f"{ties}.csv"
        assert aucross("fit", tmp_path / "loans.csv", *arguments, "--out", model).exit_code == 0
        assert aucross("predict", model, tmp_path / "loans.csv", "--out", decided).exit_code == 0
        coverage[ties] = (decisions(decided)["decision"] == "automatic").mean()
    assert coverage["whole"] == 1.0
    assert abs(coverage["split"] - 0.9) < 0.03


def test_a_forgotten_direction_is_noted_with_its_option(document, scored, tmp_path):
    arguments = (*ROLES, "--out", tmp_path / "model.aucross", "--no-report", "--score", "points", "--threshold", 650)
    notes = " ".join(document("fit", scored / "loans.csv", *arguments)["notes"])
    assert "below one half, so that high values speak against the positive class; pass --low-is-positive, or" in notes
    notes = " ".join(document("fit", scored / "loans.csv", *arguments, "--low-is-positive")["notes"])
    assert "below one half" not in notes


@pytest.mark.parametrize("command", ["fit", "compare"])
def test_a_forgotten_direction_is_told_once_and_not_in_words_of_python(document, scored, tmp_path, command):
    out = ("--out", tmp_path / "model.aucross", "--no-report") if command == "fit" else ()
    notes = document(
        *(command, scored / "loans.csv", *ROLES, "--score", "points", "--threshold", 650, "--method", "aucross", *out)
    )["notes"]
    assert len([note for note in notes if "speak against the positive class" in note]) == 1
    assert any("pass --low-is-positive, or" in note for note in notes)
    assert "higher_is_positive" not in " ".join(notes)


@pytest.mark.parametrize(
    ("columns", "hint"),
    [({"points": "Points"}, ", but 'Points', which differs in capital letters"), ({"points": "mark"}, "")],
)
def test_a_table_without_the_score_is_refused_with_a_remedy_that_works(run, scored, vendor, tmp_path, columns, hint):
    vendor.rename(columns=columns).to_csv(tmp_path / "new.csv", index=False)
    result = run("predict", scored / "points.aucross", tmp_path / "new.csv", "--out", tmp_path / "d.csv")
    assert result.exit_code == 1
    assert result.stderr == (
        f"error: new.csv has no column 'points', the score that the model decides by{hint}; give the score this name, "
        "or fit again with --score on another column\n"
    )


def test_a_text_file_of_decisions_is_said_to_be_csv(document, scored, tmp_path):
    arguments = ("predict", scored / "points.aucross", scored / "new.csv", "--out")
    (note,) = document(*arguments, tmp_path / "d.txt")["notes"]
    assert note.startswith("d.txt is a CSV file, with commas between the values")
    assert document(*arguments, tmp_path / "d.csv")["notes"] == []
    assert (tmp_path / "d.txt").read_bytes() == (tmp_path / "d.csv").read_bytes()


def test_the_rule_of_a_model_on_points_is_written_in_points(scored, vendor):
    clf = load(scored / "points.aucross")
    with closing(sqlite3.connect(":memory:")) as database:
        vendor[["points"]].to_sql("loans", database)
        decided = [
            row[0] for row in database.execute(f'SELECT {rule_to_sql(clf, "points")} FROM loans ORDER BY "index"')
        ]
    np.testing.assert_array_equal(np.array(decided) == "automatic", clf.select(vendor))


def test_points_far_from_those_of_the_fit_go_to_review(run, document, tmp_path):
    rng = np.random.default_rng(0)
    points = rng.normal(600, 80, 1500).round()
    bad = rng.random(1500) < 1 / (1 + np.exp((points - 600) / 60))
    pd.DataFrame({"points": points, "bad": bad.astype(int)}).to_csv(tmp_path / "t.csv", index=False)
    options = ("--target", "bad", "--score", "points", "--threshold", 600, "--low-is-positive")
    document("fit", tmp_path / "t.csv", *options, "--out", tmp_path / "m.aucross")
    pd.DataFrame({"points": [500.0, 1300.0, 6.0, 720.0]}).to_csv(tmp_path / "new.csv", index=False)
    document("predict", tmp_path / "m.aucross", tmp_path / "new.csv", "--out", tmp_path / "d.csv")
    assert decisions(tmp_path / "d.csv")["decision"].tolist() == ["automatic", "review", "review", "automatic"]
