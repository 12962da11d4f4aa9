"""What the command line points out before it trains."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import aucross as package
from tests.cli.commands import aucross

SMALL = ("--target", "default", "--base", "logistic", "--method", "plugin-auc", "--no-report")


@pytest.fixture
def notes(tmp_path):
    """Fit and return the notes."""

    def fit(path, *options) -> list[str]:
        result = aucross("fit", path, *SMALL, "--out", tmp_path / "m.aucross", *options)
        assert result.exit_code == 0, result.stderr
        return [line for line in result.stderr.splitlines() if line.startswith("note: ")]

    return fit


def test_the_version():
    result = aucross("--version")
    assert (result.exit_code, result.stdout) == (0, f"aucross {package.__version__}\n")


@pytest.mark.parametrize(
    "outcome",
    [
        lambda y: y,
        lambda y: 1 - y,
        lambda y: np.where(y, "bad", "good"),
        lambda y: np.where(y, 100.0, 0.0) + np.arange(len(y)),
    ],
)
def test_a_column_that_is_the_target_is_pointed_out(table, notes, outcome):
    y = (np.arange(60) % 3 == 0).astype(int)
    assert (
        "note: column 'paid' alone tells the classes of 'default' apart without an error, as if it were the outcome; "
        "unless it is known before, leave it out with --drop paid"
    ) in notes(table(paid=outcome(y)))


def test_columns_that_tell_nearly_all_are_not_pointed_out(table, notes):
    y = (np.arange(60) % 3 == 0).astype(int)
    nearly = np.where(np.arange(60) == 1, 1, y)
    assert not any("alone tells" in note for note in notes(table(paid=nearly)))


def test_the_column_of_weights_is_no_feature(table, notes):
    found = notes(table(amount=np.arange(60) + 1.5), "--weight", "amount")
    assert "note: column 'amount' holds the weights, and is no feature of the model" in found


def test_a_missing_library_of_the_report_is_said_before_the_training(table, tmp_path, monkeypatch):
    def never(*_args, **_kwargs):
        raise AssertionError("trained")

    for module in ("fit", "judging"):
        monkeypatch.setattr(f"aucross.cli.{module}.find_spec", lambda name: None)
    monkeypatch.setattr("aucross.cli.train.fit_classifier", never)
    arguments = ("fit", table(), *SMALL[:-1], "--out", tmp_path / "m.aucross")
    missing = "a report in HTML needs jinja2: pip install"
    result = aucross(*arguments)
    assert result.stderr.splitlines()[0].startswith(f"note: no report will be written: {missing}")
    result = aucross(*arguments, "--report", tmp_path / "r.html")
    assert result.stderr.startswith(f"error: {missing}")
    assert "trained" not in result.stderr


def test_numbers_with_marks_are_read_by_the_options_at_the_fit_and_later(table, tmp_path):
    amounts = np.arange(60) * 137 + 0.5
    german = [f"{amount:,.1f}".translate(str.maketrans(",.", ".,")) for amount in amounts]
    plain, marked = table("plain.csv", amount=amounts), table("marked.csv", amount=german)
    decisions = []
    for path, options in ((plain, ()), (marked, ("--decimal", ",", "--thousands", "."))):
        # The other numbers of the table have a point, and are written with a comma too.
        frame = pd.read_csv(path, dtype=str)
        if options:
            frame["income"] = frame["income"].str.replace(".", ",")
        frame.to_csv(path, index=False, sep=";")
        model, out = path.with_suffix(".aucross"), path.with_suffix(".parquet")
        assert aucross("fit", path, *SMALL, *options, "--out", model).exit_code == 0
        result = aucross("predict", model, path, "--out", out)
        assert result.exit_code == 0, result.stderr
        decisions.append(pd.read_parquet(out))
    pd.testing.assert_frame_equal(*decisions)


def test_a_table_of_very_many_columns_is_told_before_it_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr("aucross.cli.train._MANY_COLUMNS", 2)
    pd.DataFrame({"a": [1.5, 2], "b": [3.5, 4], "default": [0, 1]}).to_csv(tmp_path / "wide.csv", index=False)

    def stop(table):
        raise KeyboardInterrupt

    monkeypatch.setattr("aucross.cli.train.read_table", stop)
    result = aucross("fit", tmp_path / "wide.csv", *SMALL, "--out", tmp_path / "m.aucross")
    assert "note: wide.csv has 3 columns, which take minutes to read and may take hours to fit" in " ".join(
        result.stderr.split()
    )
