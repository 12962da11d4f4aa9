"""What names single people is refused, or is in no file that leaves the command."""

from __future__ import annotations

import json
import zipfile

import numpy as np
import pytest

from tests.cli.commands import aucross

N_ROWS = 300
SMALL = ("--target", "default", "--base", "logistic", "--method", "plugin-auc")


@pytest.fixture
def written(tmp_path):
    """Everything in the files of a folder as one text, archives unpacked."""

    def read() -> str:
        content = []
        for path in tmp_path.iterdir():
            if path.suffix == ".csv":
                continue
            content.append(path.read_bytes().decode("latin-1"))
            if zipfile.is_zipfile(path):
                with zipfile.ZipFile(path) as archive:
                    content += [archive.read(name).decode("latin-1") for name in archive.namelist()]
        return "\n".join(content)

    return read


def test_a_name_column_with_one_name_twice_is_refused(table, tmp_path):
    names = ["Ada Lovelace", *(f"Ada Lovelace {number}" for number in range(58)), "Ada Lovelace"]
    result = aucross("fit", table(full_name=names), *SMALL, "--out", tmp_path / "m.aucross")
    assert result.exit_code == 1
    assert result.stderr == (
        "error: column 'full_name' looks like an identifier: 59 different texts in 60 rows; name the rows by it with "
        "--id full_name, or leave it out with --drop full_name\n"
    )


@pytest.mark.parametrize("base", ["hgb", "lightgbm", "xgboost", "logistic", "forest"])
def test_rare_values_are_in_no_file(table, tmp_path, written, base):
    rare = [f"Turing {number % 60}" if number < 120 else ("often", "seldom")[number % 2] for number in range(N_ROWS)]
    path = table(n_rows=N_ROWS, employer=rare)
    result = aucross("fit", path, *SMALL, "--base", base, "--by", "region", "--out", tmp_path / "m.aucross", "--json")
    assert result.exit_code == 0, result.stderr
    assert "Turing" not in result.stdout + result.stderr + written()
    assert "employer" in written()


def test_groups_of_fewer_than_five_rows_are_hidden_everywhere(table, tmp_path, written):
    region = np.where(np.arange(N_ROWS) % 2, "north", "south").astype(object)
    region[[7, 8, 9, 10]], region[[20, 21, 22]] = "Turing", "Lovelace"
    path = table(n_rows=N_ROWS, region=region, without=("age",))
    model = tmp_path / "m.aucross"
    assert aucross("fit", path, *SMALL, "--drop", "region", "--out", model, "--no-report").exit_code == 0
    result = aucross("evaluate", model, path, "--by", "region", "--json")
    document = json.loads(result.stdout)
    assert [group["group"] for group in document["groups"]] == ["north", "south", "(all rows)"]
    assert document["groups"][-1]["n"] == N_ROWS
    sentence = "2 groups of fewer than 5 rows (7 in all) not shown: numbers of so few are those of single people."
    assert f"--by: {sentence}" in document["notes"]
    shown = aucross("evaluate", model, path, "--by", "region")
    assert "Turing" not in result.stdout + shown.stdout + shown.stderr
    for ending in ("html", "md", "json"):
        made = aucross("report", model, path, "--by", "region", "--out", tmp_path / f"r.{ending}")
        assert made.exit_code == 0, made.stderr
        assert sentence in (tmp_path / f"r.{ending}").read_text()
    assert "Turing" not in written()
    assert "Lovelace" not in written()


def test_a_report_compares_no_columns_of_fewer_than_five_rows(table, tmp_path):
    path, model = table(n_rows=N_ROWS), tmp_path / "m.aucross"
    assert aucross("fit", path, *SMALL, "--out", model, "--no-report").exit_code == 0
    few = table("few.csv", n_rows=30)
    assert aucross("report", model, few, "--out", tmp_path / "r.json").exit_code == 0
    for entry in json.loads((tmp_path / "r.json").read_text())["coverages"]:
        if 30 - entry["n_automatic"] < 5:
            assert entry["features"] == []
