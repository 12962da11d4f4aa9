from __future__ import annotations

import gzip

import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from aucross.cli import table_files
from aucross.cli.errors import CommandError
from aucross.cli.table_files import open_table, read_batches, read_table

TEXT = 'id,a,b\n007,1,x\n008,,"y, z"\n009,3,\n'


def written(path, text, compress=None):
    data = text.encode()
    path.write_bytes(compress(data) if compress else data)
    return path


def zstd(data):
    return pa.compress(data, codec="zstd", asbytes=True)


@pytest.mark.parametrize(
    ("name", "compress"), [("t.csv", None), ("t.csv.gz", gzip.compress), ("T.CSV", None), ("t.txt", None)]
)
def test_text_is_read_as_it_is_in_the_file(tmp_path, name, compress):
    rows = read_table(open_table(written(tmp_path / name, TEXT, compress)))
    assert rows.to_pydict() == {"id": ["007", "008", "009"], "a": ["1", "", "3"], "b": ["x", "y, z", ""]}


def test_zstandard_is_read(tmp_path):
    path = tmp_path / "t.csv.zst"
    with pa.CompressedOutputStream(str(path), "zstd") as stream:
        stream.write(TEXT.encode())
    assert read_table(open_table(path)).num_rows == 3


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_the_delimiter_is_found_in_the_header(tmp_path, delimiter):
    table = open_table(written(tmp_path / "t.csv", f"a{delimiter}b\n1,5{delimiter}x\n"))
    assert read_table(table).to_pydict() == {"a": ["1,5"], "b": ["x"]}


def test_a_byte_order_mark_and_spaces_are_no_part_of_names(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"\xef\xbb\xbfa, b\r\n1, 2\r\n")
    assert read_table(open_table(path)).column_names == ["a", "b"]
    assert [batch.to_pydict() for batch in read_batches(open_table(path), ["b", "a"])] == [{"a": ["1"], "b": [" 2"]}]


def test_quoted_line_breaks_stay_in_their_row(tmp_path):
    table = open_table(written(tmp_path / "t.csv", 'a,b\n"one\ntwo",1\nthree,2\n'))
    assert read_table(table)["a"].to_pylist() == ["one\ntwo", "three"]


def test_a_line_of_names_that_is_longer_than_a_block_is_read_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(table_files, "_HEADER_BYTES", 4)  # after a whole name: the rest would be missing in silence
    path = written(tmp_path / "t.csv", "abc,def,ghi\n1,2,3\n")
    assert open_table(path).names == ["abc", "def", "ghi"]
    monkeypatch.setattr(table_files, "_LONGEST_HEADER", 8)
    with pytest.raises(CommandError, match=r"t.csv has no end of its first line"):
        open_table(path)


def test_columns_without_a_name_are_not_read(tmp_path):
    table = open_table(written(tmp_path / "t.csv", ",a,\n0,1,\n1,2,\n"))
    assert table.names == ["a"]
    assert table.n_unnamed == 2
    assert read_table(table).to_pydict() == {"a": ["1", "2"]}


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet"])
def test_batches_are_the_table_in_its_order(tmp_path, monkeypatch, name):
    monkeypatch.setattr(table_files, "BLOCK_BYTES", 1000)
    monkeypatch.setattr(table_files, "BATCH_ROWS", 70)
    frame = pd.DataFrame({"a": range(1000), "b": "text", "c": 1.5})
    path = tmp_path / name
    frame.to_parquet(path) if name.endswith("parquet") else frame.to_csv(path, index=False)
    batches = list(read_batches(open_table(path), ["c", "a"]))
    assert len(batches) > 3
    assert batches[0].schema.names == ["a", "c"]
    assert [int(value) for batch in batches for value in batch.column("a").to_pylist()] == list(range(1000))


def test_parquet_keeps_its_types(tmp_path):
    path = tmp_path / "t.parquet"
    pd.DataFrame({"a": [1, 2], "b": pd.Categorical(["x", None])}).to_parquet(path)
    rows = read_table(open_table(path))
    assert rows.schema.field("a").type == pa.int64()
    assert rows["b"].to_pylist() == ["x", None]


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        (
            "t.xlsx",
            b"PK",
            "t.xlsx: the ending says nothing about the format; use .csv, .csv.gz, .csv.zst, .tsv or .parquet",
        ),
        ("t.csv", b"", "t.csv is empty; a table starts with a line of column names"),
        ("t.csv", b"a,b\n", "t.csv has no rows below its header"),
        ("t.csv", b"a,b,a\n1,2,3\n", "t.csv has more than one column 'a'; rename all but one"),
        ("t.csv", b"a,b\n1,2\n7,8,9\n", "row 1 has 3 values, and the header has 2; correct that line, or put values"),
        ("t.csv", b"a,b\n1,caf\xe9\n", "cannot read t.csv: it is not UTF-8 text; save it as CSV in UTF-8"),
        ("t.csv", b"a,caf\xe9\n1,2\n", "the column names of t.csv are not UTF-8 text; save the file as CSV in UTF-8"),
        ("t.csv", "a,b\n1,2\n".encode("utf-16"), "t.csv is not UTF-8 text; save it as CSV in UTF-8"),
        ("t.csv.gz", b"a,b\n1,2\n", "cannot read t.csv.gz: "),
        ("t.parquet", b"a,b\n1,2\n", "cannot read t.parquet: "),
    ],
)
def test_files_that_cannot_be_read_say_which_and_why(tmp_path, name, content, text):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(CommandError) as caught:
        read_table(open_table(tmp_path / name))
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_cut_off_is_noticed(tmp_path):
    whole = gzip.compress(("a,b\n" + "1,2\n" * 100_000).encode())
    (tmp_path / "t.csv.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(CommandError, match=r"cannot read t.csv.gz: .*; check that the file is whole"):
        for _ in read_batches(open_table(tmp_path / "t.csv.gz"), ["a"]):
            pass


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(CommandError, match=r"there is no file .*nothing.csv; check the path"):
        open_table(tmp_path / "nothing.csv")
