"""Where rows come from: the folders, checksums, what is said when nothing is there, and damaged files."""

import gzip
import hashlib
import pickle
import socket
from functools import partial
from pathlib import Path

import pytest

from experiments.datasets import (
    adult,
    load_adult,
    load_cats_vs_dogs,
    load_cifar10_cat,
    load_csds,
    load_giveme,
    load_lending,
    load_ucicredit,
)
from experiments.datasets.files import DataFileError, Source, SourceFile, data_folder, locate, reading
from experiments.datasets.lending import KAGGLE_FILE

CONTENT = b"rows"
SHA256 = f"sha256:{hashlib.sha256(CONTENT).hexdigest()}"
BINARY = bytes(range(256)) * 8


def source(*names, checksum=None, url=None):
    files = tuple(SourceFile(name, checksum, url and f"{url}/{name}") for name in names)
    return Source(files, lambda paths: paths, f"the owner of {names[0]}")


def find(*sources, download=False):
    return locate("Adult", sources, download=download)


@pytest.fixture
def given(tmp_path, monkeypatch):
    folder = tmp_path / "given"
    folder.mkdir()
    monkeypatch.setenv("AUCROSS_DATA", str(folder))
    return folder


# ---- folders and their order ----


def test_a_folder_that_does_not_exist_is_an_error(monkeypatch):
    assert data_folder() is None
    monkeypatch.setenv("AUCROSS_DATA", "/nowhere")
    with pytest.raises(NotADirectoryError, match="AUCROSS_DATA must name a folder that exists, got '/nowhere'"):
        load_adult()


def test_the_given_folder_comes_before_the_cache(given, home):
    (home / "rows.csv").write_bytes(CONTENT)
    assert find(source("rows.csv")).paths == (home / "rows.csv",)
    (given / "rows.csv").write_bytes(CONTENT)
    assert find(source("rows.csv")).paths == (given / "rows.csv",)


def test_the_first_source_with_all_files_is_used_in_whichever_folder_it_is(given, home):
    (home / "train.csv").write_bytes(CONTENT)
    (given / "both.csv").write_bytes(CONTENT)
    sources = source("train.csv", "test.csv"), source("both.csv")
    assert [path.name for path in find(*sources).paths] == ["both.csv"]
    (home / "test.csv").write_bytes(CONTENT)
    assert [path.name for path in find(*sources).paths] == ["train.csv", "test.csv"]


def test_the_given_folder_is_never_written_to(given, home, server):
    server.files["rows.csv"] = CONTENT
    found = find(source("rows.csv", checksum=SHA256, url=server.address), download=True)
    assert found.paths == (home / "rows.csv",)
    assert list(given.iterdir()) == []


def test_only_files_that_are_absent_are_downloaded(home, server):
    server.files["test.csv"] = CONTENT
    (home / "train.csv").write_bytes(CONTENT)
    found = find(source("train.csv", "test.csv", checksum=SHA256, url=server.address), download=True)
    assert [path.name for path in found.paths] == ["train.csv", "test.csv"]
    assert server.requests == ["test.csv"]


# ---- checksums ----


@pytest.mark.parametrize("algorithm", ["sha256", "md5"])
def test_a_file_with_the_known_checksum_is_accepted(algorithm, home):
    (home / "rows.csv").write_bytes(CONTENT)
    digest = hashlib.new(algorithm, CONTENT).hexdigest()
    assert find(source("rows.csv", checksum=f"{algorithm}:{digest}")).paths == (home / "rows.csv",)


def test_another_checksum_is_an_error_that_names_file_both_checksums_and_remedy(home):
    (home / "rows.csv").write_bytes(b"damaged")
    found = hashlib.sha256(b"damaged").hexdigest()
    with pytest.raises(DataFileError, match="damaged or another version") as caught:
        find(source("rows.csv", checksum=SHA256))
    for part in (str(home / "rows.csv"), SHA256.partition(":")[2], found, "replace it by the original"):
        assert part in str(caught.value)


# ---- nothing there ----


def test_what_cannot_be_fetched_says_which_file_to_put_where(given, home):
    with pytest.raises(FileNotFoundError) as caught:
        find(source("a.csv"), source("b.csv", "c.csv"), download=True)
    message = (
        f"no rows of Adult: put a.csv or b.csv and c.csv in {given} or in {home}. Where to get it: the owner of a.csv"
    )
    assert str(caught.value) == message


def test_nothing_is_downloaded_against_orders(server):
    with pytest.raises(FileNotFoundError, match=r"put rows\.csv in"):
        find(source("rows.csv", url=server.address))
    assert server.requests == []


@pytest.mark.parametrize(
    ("load", "expected"),
    [
        (load_adult, ConnectionError),
        (load_ucicredit, ConnectionError),
        (load_cifar10_cat, ConnectionError),
        (load_giveme, FileNotFoundError),
        (load_lending, FileNotFoundError),
        (load_cats_vs_dogs, FileNotFoundError),
        (partial(load_csds, 3), FileNotFoundError),
    ],
)
def test_without_a_network_each_loader_says_what_to_place(load, expected, home, monkeypatch, no_waiting):
    def no_network(*_, **__):
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    monkeypatch.setattr("socket.getaddrinfo", no_network)
    with pytest.raises(expected, match=f"put .* in {home}"):
        load()


# ---- damaged files ----


@pytest.mark.parametrize("content", [b"", BINARY, b'"open'])
@pytest.mark.parametrize(
    ("load", "file"),
    [
        (load_adult, "adult.data"),
        (load_giveme, "cs-training.csv"),
        (load_lending, KAGGLE_FILE),
        (load_cats_vs_dogs, "train.zip"),
        (partial(load_csds, 1), "CSDS1.csv"),
        (partial(load_csds, 2), "CSDS2.parquet"),
    ],
)
def test_a_damaged_file_is_named(load, file, content, home, without_checksums):
    without_checksums(adult)
    (home / "adult.test").write_text("")
    (home / file).write_bytes(content)
    with pytest.raises(DataFileError, match=r"must|lacks the columns") as caught:
        load()
    assert str(caught.value).startswith(f"{home / file} ")
    assert str(caught.value).endswith("; replace it by the original")


def test_what_the_library_said_is_repeated_and_kept_as_the_cause(home):
    (home / KAGGLE_FILE).write_bytes(gzip.compress(b"rows" * 1000)[:-20])
    with pytest.raises(DataFileError, match="found EOFError: ") as caught:
        load_lending()
    assert isinstance(caught.value.__cause__, EOFError)


@pytest.mark.parametrize(
    "error", [PermissionError(13, "no"), ImportError("pandas"), MemoryError(), UserWarning("strict")]
)
def test_what_does_not_come_from_the_content_is_left_as_it_is(error, tmp_path):
    with pytest.raises(type(error)) as caught, reading(tmp_path, "be text"):
        raise error
    assert caught.value is error


def test_the_error_survives_the_way_between_processes():
    error = DataFileError(Path("rows.csv"), "must be text, found an empty file")
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error) == "rows.csv must be text, found an empty file; replace it by the original"
