"""Files that are empty, cut short or something else: one error that names file, fault and remedy."""

import gzip
import io
import pickle
import tarfile
import zipfile
import zlib
from pathlib import Path

import pandas as pd
import pytest

from aucross.datasets import DataFileError, adult, cats_vs_dogs, cifar10, lending, load_dataset, ucicredit
from aucross.datasets.damage import parsing

BINARY = bytes(range(256)) * 8
# What starts like a compound document of Office and is none.
COMPOUND = bytes.fromhex("d0cf11e0a1b11ae1") + bytes(range(256)) * 8
ARCHIVE = "default+of+credit+card+clients.zip"


def parquet() -> bytes:
    content = io.BytesIO()
    pd.DataFrame({"target": range(1000)}).to_parquet(content)
    return content.getvalue()


def zipped(name, member=b"rows" * 100) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, member)
    return content.getvalue()


def tarball(name) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as archive:
        entry = tarfile.TarInfo(name)
        entry.type = tarfile.DIRTYPE
        archive.addfile(entry)
    return content.getvalue()


TEXT = ",".join([*lending.KAGGLE_NUMBERS, *lending.KAGGLE_TEXT]).encode() + b"\n" + b"1," * 5000
PLACED = {
    "Lending": (
        lending.KAGGLE_FILE,
        [b"", gzip.compress(TEXT)[:-20], BINARY, gzip.compress(b""), gzip.compress(BINARY)],
    ),
    "GiveMe": ("cs-training.csv", [b"", BINARY, b"\n\n", b'"open', b"a,b\n1,2,3,4\n1\n1,2,3,4,5,6"]),
    "CSDS1": ("CSDS1.csv", [b"", BINARY, b"\n"]),
    "CSDS2": ("CSDS2.parquet", [b"", BINARY, parquet()[:-100], parquet()[200:], parquet()]),
    "UCICredit": (ucicredit.SHEET, [b"", BINARY, COMPOUND, COMPOUND[:20], b"\x09\x00\x04\x00\x07\x00\x10\x00"]),
    "CatsVsDogs": ("train.zip", [b"", BINARY, zipped("cat.0.jpg")[:-10], zipped("cat.0.jpg")]),
}
FETCHED = {
    "Adult": ("adult.data", [b"", BINARY, b"1, 2\n3, 4, 5\n", b'"open', b", ".join([b"1"] * 20)]),
    "UCICredit": (ARCHIVE, [b"", BINARY, zipped("other"), zipped(ucicredit.SHEET), zipped(ucicredit.SHEET, b"")]),
    "CIFAR-10-cat": ("cifar-10-binary.tar.gz", [b"", BINARY, tarball("cifar-10-batches-bin/data_batch_1.bin")]),
}


def cases(group):
    return [
        pytest.param(name, file, content, id=f"{name}-{number}")
        for name, (file, contents) in group.items()
        for number, content in enumerate(contents)
    ]


@pytest.fixture(autouse=True)
def any_checksum(without_checksums, home):
    for module in (adult, cifar10, cats_vs_dogs):
        without_checksums(module)
    (home / "adult.test").write_text("")


def check(error: DataFileError, path: Path, remedy: str) -> None:
    assert error.path == path
    assert str(error).startswith(f"{path} ")
    assert "must" in error.problem or "lacks the columns" in error.problem
    assert str(error).endswith(f"; {remedy}")
    assert len(str(error)) < 700


@pytest.mark.parametrize(("name", "file", "content"), cases(PLACED))
def test_a_file_placed_by_hand_is_to_be_replaced(name, file, content, home):
    (home / file).write_bytes(content)
    with pytest.raises(DataFileError) as caught:
        load_dataset(name)
    check(caught.value, home / file, "replace it by the original")


@pytest.mark.parametrize(("name", "file", "content"), cases(FETCHED))
def test_a_fetched_file_in_the_cache_is_to_be_deleted(name, file, content, home):
    (home / file).write_bytes(content)
    with pytest.raises(DataFileError) as caught:
        load_dataset(name)
    check(caught.value, home / file, "delete it and load again with download=True")


@pytest.mark.parametrize(("name", "file", "content"), cases(FETCHED))
def test_a_file_in_the_folder_of_the_environment_is_to_be_replaced(name, file, content, tmp_path, monkeypatch):
    given = tmp_path / "given"
    given.mkdir()
    (given / "adult.test").write_text("")
    (given / file).write_bytes(content)
    monkeypatch.setenv("AUCROSS_DATA", str(given))
    with pytest.raises(DataFileError) as caught:
        load_dataset(name)
    check(caught.value, given / file, "replace it by the original")


@pytest.mark.parametrize(
    ("name", "file", "content", "cause"),
    [
        ("Lending", lending.KAGGLE_FILE, gzip.compress(TEXT)[:-20], EOFError),
        ("Lending", lending.KAGGLE_FILE, BINARY, gzip.BadGzipFile),
        ("Lending", lending.KAGGLE_FILE, gzip.compress(b""), pd.errors.EmptyDataError),
        ("GiveMe", "cs-training.csv", b"\xff" * 100, UnicodeDecodeError),
        ("UCICredit", ARCHIVE, BINARY, zipfile.BadZipFile),
        ("CIFAR-10-cat", "cifar-10-binary.tar.gz", BINARY, tarfile.ReadError),
    ],
)
def test_what_the_library_said_is_repeated_and_kept_as_the_cause(name, file, content, cause, home):
    (home / file).write_bytes(content)
    with pytest.raises(DataFileError, match=f"found {cause.__name__}: ") as caught:
        load_dataset(name)
    assert isinstance(caught.value.__cause__, cause)


def test_what_was_expected_is_named_with_its_origin(home):
    (home / "cs-training.csv").touch()
    with pytest.raises(DataFileError) as caught:
        load_dataset("GiveMe")
    origin = "cs-training.csv of the Kaggle competition 'GiveMeSomeCredit' (2011)"
    assert caught.value.problem == f"must be comma-separated text ({origin}), found an empty file"


def test_a_file_that_may_not_be_read_is_not_called_damaged(tmp_path):
    with pytest.raises(PermissionError), parsing(tmp_path, "be text"):
        raise PermissionError(13, "Permission denied", "rows.csv")


@pytest.mark.parametrize("error", [ImportError("pandas"), MemoryError(), UserWarning("strict"), KeyboardInterrupt()])
def test_what_does_not_come_from_the_content_is_left_as_it_is(error, tmp_path):
    with pytest.raises(type(error)) as caught, parsing(tmp_path, "be text"):
        raise error
    assert caught.value is error


def test_long_messages_of_libraries_are_cut_and_kept_in_the_cause(tmp_path):
    with pytest.raises(DataFileError) as caught, parsing(tmp_path, "be text"):
        raise zlib.error("Yes" * 100_000)
    assert len(str(caught.value)) < 500
    assert len(str(caught.value.__cause__)) == 300_000


def test_the_error_survives_the_way_between_processes():
    error = DataFileError(Path("rows.csv"), "must be text, found an empty file")
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error) == "rows.csv must be text, found an empty file; replace it by the original"
    assert again.path == error.path
