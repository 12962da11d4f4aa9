from __future__ import annotations

import os
import stat

import pandas as pd
import pyarrow as pa
import pytest

from aucross.cli.errors import CommandError, UsageError
from aucross.cli.output import table_writer
from aucross.cli.table_files import check_writable
from aucross.system.text import without_formula
from aucross.system.whole_files import whole_file

COLUMNS = pa.schema([("id", pa.string()), ("score", pa.float64())])


def batch(ids, scores):
    return pa.record_batch([pa.array(ids, pa.string()), pa.array(scores, pa.float64())], schema=COLUMNS)


def read(path):
    return pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path, dtype={"id": str})


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.csv.zst", "t.parquet"])
def test_batches_end_up_in_one_table(tmp_path, name):
    ids, scores = ["007", 'with, comma and "quotes"', "two\nlines"], [0.1, 1 / 3, 1e-20]
    with table_writer(tmp_path / name, COLUMNS) as writer:
        writer.write(batch(ids[:1], scores[:1]))
        writer.write(batch(ids[1:], scores[1:]))
    written = read(tmp_path / name)
    assert written["id"].tolist() == ids
    assert written["score"].tolist() == scores
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_plain_values_have_no_quotes(tmp_path):
    with table_writer(tmp_path / "t.csv", COLUMNS) as writer:
        writer.write(batch(["007", None], [0.5, 2.0]))
    assert (tmp_path / "t.csv").read_text() == "id,score\n007,0.5\n,2\n"


FORMULAS = ["=cmd|' /C calc'!A0", "+1", "@SUM(A1)", "\t=1", "\r=1", " =1", "'=1", "-1", "a;=1", "-", "A17"]


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.csv.gz"])
def test_ids_that_a_spreadsheet_would_run_come_after_an_apostrophe(tmp_path, name):
    with table_writer(tmp_path / name, COLUMNS) as writer:
        writer.write(batch(FORMULAS, range(len(FORMULAS))))
    read_back = pd.read_csv(tmp_path / name, dtype=str, sep="\t" if "tsv" in name else ",", keep_default_na=False)
    assert read_back["id"].tolist() == [without_formula(text) for text in FORMULAS]
    assert read_back["id"].str.startswith("'").sum() == 7


def test_a_spreadsheet_that_parts_at_another_separator_finds_no_formula(tmp_path):
    with table_writer(tmp_path / "t.csv", COLUMNS) as writer:
        writer.write(batch(["a;=1+1"], [0.5]))
    assert (tmp_path / "t.csv").read_text() == 'id,score\n"a;=1+1",0.5\n'


def test_the_name_of_a_column_is_no_formula_either(tmp_path):
    with table_writer(tmp_path / "t.csv", pa.schema([("=1+1", pa.string())])):
        pass
    assert (tmp_path / "t.csv").read_text() == "'=1+1\n"


def test_parquet_and_numbers_keep_ids_as_they_are(tmp_path):
    with table_writer(tmp_path / "t.parquet", COLUMNS) as writer:
        writer.write(batch(FORMULAS, range(len(FORMULAS))))
    assert pd.read_parquet(tmp_path / "t.parquet")["id"].tolist() == FORMULAS
    columns = pa.schema([("id", pa.int64())])
    with table_writer(tmp_path / "t.csv", columns) as writer:
        writer.write(pa.record_batch([pa.array([-1])], schema=columns))
    assert (tmp_path / "t.csv").read_text() == "id\n-1\n"


def write_and_fail(path, error):
    with table_writer(path, COLUMNS) as writer:
        writer.write(batch(["1"], [0.5]))
        raise error


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet"])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path, name, error):
    (tmp_path / name).write_bytes(b"old")
    with pytest.raises(error):
        write_and_fail(tmp_path / name, error)
    assert (tmp_path / name).read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_the_file_is_there_only_when_it_is_complete(tmp_path):
    with whole_file(tmp_path / "t.csv") as file:
        file.write(b"a")
        assert not (tmp_path / "t.csv").exists()
    assert (tmp_path / "t.csv").read_bytes() == b"a"


def test_other_users_may_read_what_the_umask_lets_them(tmp_path):
    before = os.umask(0o022)
    try:
        with whole_file(tmp_path / "t.csv") as file:
            file.write(b"a")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "t.csv").stat().st_mode) == 0o644


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "link.csv").symlink_to(tmp_path / "there" / "t.csv")
    with whole_file(tmp_path / "link.csv") as file:
        file.write(b"a")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "there" / "t.csv").read_bytes() == b"a"


def test_files_that_could_not_be_written_are_refused_before_any_work(tmp_path):
    with pytest.raises(CommandError, match=r"--out: there is no folder .*nowhere; make it first"):
        check_writable(tmp_path / "nowhere" / "t.csv")
    with pytest.raises(UsageError, match=r"--out: .* is a folder; name a file in it"):
        check_writable(tmp_path)
