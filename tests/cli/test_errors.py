from __future__ import annotations

import pickle
import sys

import numpy as np
import pandas as pd
import pytest

from aucross.cli.schema import load_model_with_facts
from aucross.files import archive
from tests.cli.commands import aucross

SMALL = ("--target", "default", "--base", "logistic", "--method", "plugin-auc", "--no-report", "--quiet")


@pytest.fixture
def failure(tmp_path):
    """Run a command that must fail; return its one line on stderr, after a look at what it left behind."""

    def run_and_read(*arguments: object, code: int = 1) -> str:
        before = sorted(path.name for path in tmp_path.iterdir())
        result = aucross(*arguments)
        assert result.exit_code == code, result.stderr
        assert result.stdout == ""
        assert sorted(path.name for path in tmp_path.iterdir()) == before
        lines = [line for line in result.stderr.splitlines() if not line.startswith(("note: ", "fitting "))]
        assert len(lines) == 1
        return lines[0]

    return run_and_read


@pytest.fixture
def fit_fails(failure, tmp_path):
    return lambda path, *arguments, **options: failure(
        "fit", path, *SMALL, "--out", tmp_path / "m.aucross", *arguments, **options
    )


@pytest.fixture
def predict_fails(failure, folder, tmp_path):
    return lambda path, *arguments, **options: failure(
        "predict", folder / "model.aucross", path, "--out", tmp_path / "d.csv", *arguments, **options
    )


def test_a_target_that_is_not_there(fit_fails, table):
    assert fit_fails(table(), "--target", "defualt") == (
        "error: --target: table.csv has no column 'defualt'; did you mean 'default'?"
    )
    assert fit_fails(table(), "--target", "xyz") == (
        "error: --target: table.csv has no column 'xyz'; the columns are 'income', 'age', 'region', 'default'"
    )


def test_a_target_that_is_not_binary(fit_fails, table):
    assert fit_fails(table(default=np.arange(60) % 7)) == (
        "error: target 'default' must be binary, got 7 classes: '0', '1', '2', '3', '4' and 2 more; make it a column "
        "of two values, or name another one with --target"
    )


def test_a_target_of_one_class(fit_fails, table):
    assert fit_fails(table(default=0)) == (
        "error: target 'default' must hold two classes, got only '0'; add rows of the other class, or name another "
        "column with --target"
    )


def test_a_target_without_values(fit_fails, table):
    assert fit_fails(table(default="")) == (
        "error: target 'default' has no values at all; name another column with --target"
    )


def test_a_positive_class_that_is_not_named(fit_fails, table):
    assert fit_fails(table(default=["yes", "no"] * 30)) == (
        "error: target 'default' holds 'no' and 'yes'; say which is the positive class with --positive no or "
        "--positive yes"
    )


def test_a_column_without_values(fit_fails, table):
    assert fit_fails(table(score="")) == "error: column 'score' has no values at all; leave it out with --drop score"


def test_columns_that_options_name_and_the_table_lacks(fit_fails, table):
    for option in ("--id", "--weight", "--customer", "--time-column", "--drop", "--by"):
        assert fit_fails(table(), option, "agee") == (
            f"error: {option}: table.csv has no column 'agee'; did you mean 'age'?"
        )


def test_a_target_with_another_part(fit_fails, table):
    assert fit_fails(table(), "--drop", "default", code=2) == (
        "error: --target default: the target cannot be another option's column as well"
    )


def test_no_column_left(fit_fails, table):
    drops = ("--drop", "age", "--drop", "income", "--drop", "region")
    assert fit_fails(table(), *drops) == ("error: table.csv has no column left to learn from; drop fewer, or add some")


@pytest.mark.parametrize(("value", "shown"), [(-1.0, "-1"), (np.nan, "no value")])
def test_weights_that_are_none(fit_fails, table, value, shown):
    assert fit_fails(table(weight=[1.0] * 59 + [value]), "--weight", "weight") == (
        f"error: --weight: column 'weight' must hold numbers of 0 or more, got {shown} in row 59; correct it, or give "
        "0 to rows that should not count"
    )


def test_customers_without_a_name(fit_fails, table):
    assert fit_fails(table(group=["a", "b"] * 29 + ["", ""]), "--customer", "group") == (
        "error: --customer: column 'group' has 2 rows without a value, the first is row 58; fill them, with a name of "
        "its own for each row that belongs to no other"
    )


def test_a_time_column_that_tells_no_time(fit_fails, table):
    assert fit_fails(table(), "--time-column", "region") == (
        "error: --time-column: column 'region' must hold a number or a date such as 2024-03-31 in every row; correct "
        "the others, or split at random"
    )


def test_groups_that_are_none(fit_fails, table):
    assert fit_fails(table(n_rows=200), "--by", "income").startswith("error: --by: column 'income' has ")


def test_a_test_file_and_a_time_column(fit_fails, table):
    assert fit_fails(table(), "--time-column", "age", "--test", table(), code=2) == (
        "error: --test and --time-column both say what to test on; give one of them"
    )


def test_columns_that_differ_from_training(predict_fails, loans, tmp_path):
    path = tmp_path / "new.csv"
    loans.drop(columns=["income", "age"]).to_csv(path, index=False)
    assert predict_fails(path) == (
        "error: new.csv lacks 2 columns 'age', 'income' of the training data; add what is missing, or fit without "
        "(--drop age --drop income)"
    )


def test_columns_that_differ_in_capital_letters_are_named(predict_fails, loans, tmp_path):
    path = tmp_path / "new.csv"
    loans.rename(columns={"income": "Income"}).to_csv(path, index=False)
    assert "of the training data, but 'Income', which differs in capital letters; add" in predict_fails(path)


def test_a_number_that_is_text(predict_fails, loans, tmp_path):
    path = tmp_path / "new.csv"
    loans.astype({"income": object}).assign(
        income=lambda frame: frame["income"].where(frame.index != 7, "plenty")
    ).to_csv(path, index=False)
    assert predict_fails(path) == (
        "error: column 'income' must hold numbers, as in training, got 'plenty' in row 7; correct the file, or leave "
        "the value blank if it is missing"
    )


def test_an_id_that_is_not_there(predict_fails, loans, tmp_path):
    path = tmp_path / "new.csv"
    loans.drop(columns="loan").to_csv(path, index=False)
    assert predict_fails(path) == (
        "error: new.csv has no column 'loan', which named the rows at the fit; add it, name another with --id, or pass "
        "--id row for row numbers"
    )
    assert predict_fails(path, "--id", "loan_amuont") == (
        "error: --id: new.csv has no column 'loan_amuont'; did you mean 'loan_amount'?"
    )


def test_an_id_with_a_name_of_the_output(predict_fails, loans, tmp_path):
    path = tmp_path / "new.csv"
    loans.rename(columns={"loan": "score"}).to_csv(path, index=False)
    assert predict_fails(path, "--id", "score") == (
        "error: --id: the output has a column 'score' of its own; rename that of new.csv"
    )


@pytest.mark.parametrize("option", ["fit", "compare"])
def test_a_coverage_in_per_cent(failure, table, option):
    assert failure(option, table(), "--target", "default", "--coverage", 90, code=2) == (
        "error: --coverage must be in (0, 1], got 90; for 90 % pass 0.9"
    )


@pytest.mark.parametrize("command", ["predict", "evaluate", "report"])
def test_a_coverage_in_per_cent_after_the_fit(failure, folder, tmp_path, command):
    out = () if command == "evaluate" else ("--out", tmp_path / ("d.csv" if command == "predict" else "d.md"))
    arguments = (command, folder / "model.aucross", folder / "loans.csv", *out, "--coverage", 0)
    assert failure(*arguments, code=2) == "error: --coverage must be in (0, 1], got 0; 1 stands for all"


def test_how_many_to_review_is_said_once(predict_fails, folder):
    new = folder / "new.csv"
    assert predict_fails(new, "--coverage", 0.8, "--capacity", 5, code=2) == (
        "error: --coverage and --capacity both say how many rows to review; give one of them"
    )
    assert predict_fails(new, "--recalibrate", "--capacity", 5, code=2) == (
        "error: --recalibrate places a band to meet a coverage, and --capacity needs none; give one of them"
    )
    assert predict_fails(new, "--capacity", -1, code=2) == (
        "error: --capacity must be a number of rows, 0 or more, got -1"
    )


def test_an_unreadable_table(predict_fails, fit_fails, tmp_path):
    path = tmp_path / "broken.parquet"
    path.write_bytes(b"no parquet")
    for fails in (predict_fails, fit_fails):
        line = fails(path)
        assert line.startswith("error: cannot read broken.parquet: ")
        assert line.endswith("; check that the file is whole and of the format that its ending says")


def test_a_table_that_is_not_there(predict_fails, fit_fails, tmp_path):
    path = tmp_path / "nothing.csv"
    for fails in (predict_fails, fit_fails):
        assert fails(path) == f"error: there is no file {path}; check the path"


def test_a_model_that_is_not_there_or_broken(failure, folder, tmp_path):
    arguments = (folder / "new.csv", "--out", tmp_path / "d.csv")
    model = tmp_path / "m.aucross"
    assert failure("predict", model, *arguments) == (
        f"error: there is no model file {model}; make one with `aucross fit`"
    )
    model.write_bytes((folder / "model.aucross").read_bytes()[:1000])
    assert failure("predict", model, *arguments).startswith(f"error: {model} is not a whole file of aucross")
    model.write_bytes(pickle.dumps("a model"))
    assert failure("predict", model, *arguments).startswith(f"error: {model} is no model file: it is a pickle")
    model.write_text("income,age\n")
    assert failure("predict", model, *arguments).startswith(f"error: {model} is no model file: it is a text file")


def test_a_model_file_is_opened_once_so_that_nobody_can_swap_it_in_between(folder, tmp_path, monkeypatch):
    opened = []

    def counted(path, *rest):
        opened.append(path)
        return open(path, *rest)

    monkeypatch.setattr(archive, "open", counted, raising=False)
    done = aucross("predict", folder / "model.aucross", folder / "new.csv", "--out", tmp_path / "d.csv")
    assert done.exit_code == 0, done.stderr
    assert opened == [folder / "model.aucross"]
    load_model_with_facts(folder / "model.aucross")  # what `aucross serve` reads
    assert opened == [folder / "model.aucross"] * 2


def test_with_a_key_only_files_that_it_signed_are_read(failure, folder, table, tmp_path, monkeypatch):
    for name in ("key", "other"):
        (tmp_path / name).write_text(f"{name} of the credit department\n")
    monkeypatch.setenv("AUCROSS_KEY_FILE", str(tmp_path / "key"))
    assert failure("predict", folder / "model.aucross", folder / "new.csv", "--out", tmp_path / "d.csv") == (
        f"error: {folder / 'model.aucross'} is refused: it is not signed, and a key is in use; take a signed file, or "
        "save it with key=..."
    )
    path, signed = table(), tmp_path / "signed.aucross"
    assert aucross("fit", path, *SMALL, "--out", signed).exit_code == 0
    assert aucross("predict", signed, path, "--out", tmp_path / "d.csv").exit_code == 0
    monkeypatch.setenv("AUCROSS_KEY_FILE", str(tmp_path / "other"))
    assert "its signature is not by the key in use" in failure("predict", signed, path, "--out", tmp_path / "e.csv")


def test_a_key_that_cannot_be_used_is_an_error_before_anything_is_trained(
    failure, folder, table, tmp_path, monkeypatch
):
    path, short = table(), tmp_path / "short"
    short.write_text("secret\n")
    for name, line in (
        (short, f"error: AUCROSS_KEY_FILE: {short} must hold a key of at least 16 bytes, got 6; make a longer one"),
        (tmp_path / "none", f"error: AUCROSS_KEY_FILE: the key file {str(tmp_path / 'none')!r} cannot be read"),
        ("", "error: AUCROSS_KEY_FILE: the key file '' cannot be read"),
    ):
        monkeypatch.setenv("AUCROSS_KEY_FILE", str(name))
        assert failure("fit", path, *SMALL, "--out", tmp_path / "m.aucross").startswith(line)
        assert failure("predict", folder / "model.aucross", path, "--out", tmp_path / "d.csv").startswith(line)


def test_a_model_that_was_not_made_here(failure, folder, tmp_path):
    from aucross.files.model_file import load, save  # noqa: PLC0415

    save(load(folder / "model.aucross"), tmp_path / "other.aucross")
    assert failure("predict", tmp_path / "other.aucross", folder / "new.csv", "--out", tmp_path / "d.csv") == (
        f"error: {tmp_path / 'other.aucross'} was not made by `aucross fit` and does not say which columns the model "
        "reads; fit it there, or use it from Python"
    )


def test_an_output_that_cannot_be_written(failure, folder, table, tmp_path):
    model, new = folder / "model.aucross", folder / "new.csv"
    assert failure("predict", model, new, "--out", tmp_path / "no" / "d.csv") == (
        f"error: --out: there is no folder {tmp_path / 'no'}; make it first"
    )
    assert failure("predict", model, new, "--out", tmp_path / "d.xlsx") == (
        f"error: {tmp_path / 'd.xlsx'}: the ending says nothing about the format; use .csv, .csv.gz, .csv.zst, .tsv or "
        ".parquet"
    )
    path = table()
    assert failure("fit", path, *SMALL, "--out", path, code=2) == (
        f"error: --out: {path} is the table to read; name another file"
    )
    assert failure("fit", path, *SMALL[:-2], "--out", tmp_path / "m.aucross", "--report", "r.pdf", code=2) == (
        "error: --report: the report r.pdf must end in .html, .htm, .json, .md; for PDF print the page"
    )


def test_a_table_of_another_target(failure, folder, loans, tmp_path):
    loans.drop(columns="default").to_csv(tmp_path / "t.csv", index=False)
    assert failure("evaluate", folder / "model.aucross", tmp_path / "t.csv") == (
        "error: t.csv has no column 'default', the target of the model; add the labels of its rows"
    )
    loans.assign(default=loans["default"] + 1).to_csv(tmp_path / "t.csv", index=False)
    assert failure("evaluate", folder / "model.aucross", tmp_path / "t.csv") == (
        "error: target 'default' must hold '0' and '1', as in training, got also 1 other value(s): '2'; correct or "
        "remove those rows"
    )


def test_too_few_rows_are_explained_by_the_library(failure, table, tmp_path):
    path = table(default=[1, 1, 1] + [0] * 57)
    line = failure("fit", path, "--target", "default", "--no-report", "--out", tmp_path / "m.aucross")
    assert line.startswith("error: every class must have at least 5 rows because 5 folds need one of each class")


def test_a_model_with_the_name_of_its_report(failure, table, tmp_path):
    out = tmp_path / "model.html"
    assert failure("fit", table(), "--target", "default", "--out", out, code=2) == (
        f"error: --out: {out} is the name of the report; end the name of the model in .aucross"
    )


def test_a_library_of_the_extra_that_is_missing(failure, table, monkeypatch):
    monkeypatch.setitem(sys.modules, "aucross.cli.fit", None)
    monkeypatch.setattr("aucross.cli.errors.EXTRA", ("aucross.cli.fit",))
    assert failure("fit", table(), "--target", "default") == (
        'error: the command line needs aucross.cli.fit, which is not installed: pip install "aucross[cli]"'
    )


def test_debug_shows_the_trace_before_the_line(table):
    result = aucross("fit", table(), "--target", "nothing", "--debug")
    assert result.exit_code == 1
    assert result.stderr.startswith("Traceback (most recent call last):")
    assert result.stderr.splitlines()[-1].startswith("error: --target: table.csv has no column 'nothing'")


def test_an_unforeseen_error_is_one_line_too(failure, folder, tmp_path, monkeypatch):
    def broken(*_args, **_kwargs):
        raise RuntimeError("something\nodd")

    monkeypatch.setattr("aucross.cli.predict.open_table", broken)
    assert failure("predict", folder / "model.aucross", folder / "new.csv", "--out", tmp_path / "d.csv") == (
        "error: something odd (RuntimeError; --debug shows the trace)"
    )


def test_ctrl_c_ends_with_130_and_one_line(failure, folder, tmp_path, monkeypatch):
    def interrupted(*_args, **_kwargs):
        raise KeyboardInterrupt

    (tmp_path / "d.csv").write_text("old")
    monkeypatch.setattr("aucross.cli.predict.features_of", interrupted)
    arguments = ("predict", folder / "model.aucross", folder / "new.csv", "--out", tmp_path / "d.csv")
    assert failure(*arguments, code=130) == "stopped: nothing was left half-written"
    assert (tmp_path / "d.csv").read_text() == "old"


def test_an_error_in_the_middle_of_predict_leaves_the_old_output(failure, folder, loans, tmp_path, monkeypatch):
    monkeypatch.setattr("aucross.cli.table_files.BLOCK_BYTES", 5000)
    text = loans.drop(columns="default").to_csv(index=False)
    (tmp_path / "new.csv").write_text(text + "one,value,too,few\n")
    (tmp_path / "d.csv").write_text("old")
    line = failure("predict", folder / "model.aucross", tmp_path / "new.csv", "--out", tmp_path / "d.csv")
    assert line == (
        "error: cannot read new.csv: row 1200 has 4 values, and the header has 22; correct that line, or put values "
        "that contain the separator in quotes"
    )
    assert (tmp_path / "d.csv").read_text() == "old"


def test_warnings_of_the_library_become_notes(document, table, tmp_path):
    path = table(without=("income", "region"), age=1.0)
    found = document("fit", path, *SMALL, "--out", tmp_path / "m.aucross")
    assert [note for note in found["notes"] if note.startswith("all held-out scores equal")]
    assert "No case goes to review" in found["conclusion"]


def test_undefined_numbers_are_null_in_json(document, folder, loans, tmp_path):
    # Of two rows a resample often holds one class, and a coverage below a half leaves one row.
    pd.concat([loans[loans["default"] == label].iloc[:1] for label in (0, 1)]).to_csv(tmp_path / "t.csv", index=False)
    found = document("evaluate", folder / "model.aucross", tmp_path / "t.csv", "--coverage", 0.05, "--quiet")
    assert found["evaluation"][-1]["selective_auc"] is None
    assert found["conclusion"].endswith("leaves a single class; no AUC of the rest can be stated.")


def test_rows_that_cannot_place_a_band_are_not_recalibrated_on(predict_fails, folder, tmp_path):
    lines = (folder / "new.csv").read_text(encoding="utf-8").splitlines()
    few = tmp_path / "few.csv"
    few.write_text("\n".join(lines[:4]), encoding="utf-8")
    assert predict_fails(few, "--recalibrate") == (
        "error: --recalibrate: few.csv must hold at least 20 rows to place a band on, got 3; pass more rows, such as "
        "those of a longer time; without --recalibrate the bands of the fit decide"
    )
    few.write_text("\n".join(lines[:41]), encoding="utf-8")
    assert "at least 100 rows to place a band on for a coverage of 0.99, got 40, of which it rejects none" in (
        predict_fails(few, "--recalibrate", "--coverage", 0.99)
    )
