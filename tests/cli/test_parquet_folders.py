"""A folder of Parquet files is a table: predict streams it, fit keeps it or says which engine to use."""

from __future__ import annotations

import pandas as pd
import pytest

from aucross.cli import table_files
from aucross.cli.errors import CommandError
from aucross.cli.table_files import open_table, read_batches, read_table
from tests.cli.commands import QUICK, ROLES


@pytest.fixture
def parts(tmp_path, loans):
    """Three files, of which the second has its columns in another order, and what engines leave beside them."""
    folder = tmp_path / "parts"
    (folder / "later").mkdir(parents=True)
    pieces = [loans.iloc[:200], loans.iloc[200:400], loans.iloc[400:]]
    pieces[0].to_parquet(folder / "a.parquet")
    pieces[1][loans.columns[::-1]].to_parquet(folder / "b.parquet")
    pieces[2].to_parquet(folder / "later" / "c.pq")
    for name in ("_SUCCESS", ".b.parquet.crc", "_metadata.parquet"):
        (folder / name).write_bytes(b"")
    return folder


def test_rows_come_in_the_order_of_the_files(parts, loans):
    table = open_table(parts)
    assert read_table(table).to_pandas()["loan"].tolist() == loans["loan"].tolist()
    batches = list(read_batches(table, ["customer", "loan"]))
    assert pd.concat(batch.to_pandas() for batch in batches)["loan"].tolist() == loans["loan"].tolist()


@pytest.mark.parametrize("options", [(), ("--recalibrate",), ("--capacity", 40)])
def test_predict_decides_on_a_folder_as_on_one_file(run, folder, loans, parts, tmp_path, options):
    whole = tmp_path / "whole.parquet"
    loans.to_parquet(whole)
    outs = []
    for number, data in enumerate((whole, parts)):
        outs.append(tmp_path / f"{number}.parquet")
        result = run("predict", folder / "model.aucross", data, "--out", outs[-1], "--quiet", *options)
        assert result.exit_code == 0, result.stderr
    pd.testing.assert_frame_equal(*(pd.read_parquet(out) for out in outs))


def test_fit_and_evaluate_take_a_folder(document, loans, parts, tmp_path):
    model = tmp_path / "m.aucross"
    fitted = document("fit", parts, *ROLES, "--out", model, *QUICK)
    assert fitted["n_train"] + fitted["n_test"] == len(loans)
    assert document("evaluate", model, parts)["command"] == "evaluate"


def test_a_fit_on_more_than_memory_names_the_engines(run, parts, folder, tmp_path, monkeypatch):
    monkeypatch.setattr(table_files, "memory_bytes", lambda: 1000)
    for data, remedy in ((parts, "with --engine dask or --engine spark"), (folder / "loans.csv", "Parquet files")):
        result = run("fit", data, *ROLES, "--out", tmp_path / "m.aucross", *QUICK)
        assert result.exit_code == 1
        assert f"GB of values in {data.name}" in result.stderr
        assert remedy in result.stderr.replace("\n", " ")
    # Predict keeps a batch at a time.
    arguments = ("predict", folder / "model.aucross", parts, "--out", tmp_path / "d.csv", "--quiet")
    assert run(*arguments).exit_code == 0


def test_memory_is_known_here():
    assert table_files.memory_bytes() > 100e6


def test_folders_that_are_no_table_are_refused(run, folder, parts, loans, tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(CommandError, match="is a folder without Parquet files"):
        open_table(empty)
    result = run("predict", folder / "model.aucross", parts, "--out", parts / "d.parquet")
    assert result.exit_code == 2
    assert "lies in the folder to read" in result.stderr
    loans.assign(extra=1).to_parquet(parts / "d.parquet")
    with pytest.raises(CommandError, match="must have the same columns, got 'extra'"):
        open_table(parts)
