"""Where rows come from: the folders, their order, checksums and what is said when nothing is there."""

import hashlib
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from aucross.datasets import DataFileError, data_home
from aucross.datasets.folders import INCOMPLETE, data_folder, publish, workplace
from aucross.datasets.sources import Source, SourceFile, locate

CONTENT = b"rows"
SHA256 = f"sha256:{hashlib.sha256(CONTENT).hexdigest()}"


def source(*names, checksum=None, url=None):
    files = tuple(SourceFile(name, checksum, url and f"{url}/{name}") for name in names)
    return Source(files, lambda paths: paths, f"the owner of {names[0]}", "none")


def find(*sources, home=None, download=False):
    return locate("Adult", sources, home=home, download=download, progress=False)


@pytest.fixture
def given(tmp_path, monkeypatch):
    folder = tmp_path / "given"
    folder.mkdir()
    monkeypatch.setenv("AUCROSS_DATA", str(folder))
    return folder


# ---- the cache folder ----


def test_the_cache_folder_is_the_platforms(home):
    assert data_home() == home


@pytest.mark.parametrize(
    ("platform", "variable", "expected"),
    [
        ("linux", None, Path.home() / ".cache" / "aucross"),
        ("darwin", None, Path.home() / "Library" / "Caches" / "aucross"),
        ("win32", "LOCALAPPDATA", Path("local") / "aucross"),
    ],
)
def test_each_platform_has_its_cache_folder(platform, variable, expected, monkeypatch):
    monkeypatch.setattr("sys.platform", platform)
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.delenv("LOCALAPPDATA")
    if variable:
        monkeypatch.setenv(variable, "local")
    assert data_home() == expected


def test_a_given_cache_folder_wins_and_is_not_created_by_asking(tmp_path):
    assert data_home(tmp_path / "mine") == tmp_path / "mine"
    assert data_home("~/mine") == Path.home() / "mine"
    assert not (tmp_path / "mine").exists()


# ---- the folder of the environment ----


def test_no_folder_is_given_by_default():
    assert data_folder() is None


def test_a_folder_that_does_not_exist_is_an_error(monkeypatch):
    monkeypatch.setenv("AUCROSS_DATA", "/nowhere")
    with pytest.raises(NotADirectoryError, match="AUCROSS_DATA must name a folder that exists, got '/nowhere'"):
        data_folder()


# ---- order ----


def test_the_given_folder_comes_before_the_cache(given, home):
    for folder in (given, home):
        (folder / "rows.csv").write_bytes(CONTENT)
    assert find(source("rows.csv")).paths == (given / "rows.csv",)


def test_the_cache_is_used_where_the_given_folder_has_nothing(given, home):
    (home / "rows.csv").write_bytes(CONTENT)
    assert find(source("rows.csv")).paths == (home / "rows.csv",)


def test_the_first_source_with_all_files_is_used(home):
    for name in ("train.csv", "both.csv"):
        (home / name).write_bytes(CONTENT)
    found = find(source("train.csv", "test.csv"), source("both.csv"))
    assert [path.name for path in found.paths] == ["both.csv"]


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
    with pytest.raises(ValueError, match="damaged or another version") as caught:
        find(source("rows.csv", checksum=SHA256))
    for part in (str(home / "rows.csv"), SHA256.partition(":")[2], found, "replace it by the original"):
        assert part in str(caught.value)


def test_a_damaged_download_in_the_cache_is_to_be_deleted(home, server):
    (home / "rows.csv").write_bytes(b"damaged")
    with pytest.raises(ValueError, match="delete it and load again with download=True"):
        find(source("rows.csv", checksum=SHA256, url=server.address), download=True)


def test_a_damaged_file_in_the_given_folder_is_to_be_replaced_not_deleted(given, server):
    (given / "rows.csv").write_bytes(b"damaged")
    with pytest.raises(DataFileError, match="replace it by the original"):
        find(source("rows.csv", checksum=SHA256, url=server.address), download=True)


# ---- nothing there ----


def test_the_public_file_is_named_before_copies_of_it():
    copy = replace(source("copy.parquet"), is_copy=True)
    with pytest.raises(FileNotFoundError) as caught:
        find(copy, source("public.csv"))
    assert "put public.csv or copy.parquet in" in str(caught.value)
    assert str(caught.value).endswith("Where to get it: the owner of public.csv")


def test_what_cannot_be_fetched_says_which_file_to_put_where(given, home):
    with pytest.raises(FileNotFoundError) as caught:
        find(source("a.csv"), source("b.csv", "c.csv"), download=True)
    message = str(caught.value)
    assert "no rows of Adult" in message
    assert "put a.csv or b.csv and c.csv in" in message
    assert f"{given} (AUCROSS_DATA) or in {home} (cache)" in message
    assert "the owner of a.csv" in message


def test_without_leave_to_download_the_message_says_so(server):
    with pytest.raises(FileNotFoundError, match="download=False and no copy was found"):
        find(source("rows.csv", url=server.address))
    assert server.requests == []


# ---- files that are coming into being ----


def test_leftovers_of_killed_processes_are_removed_and_others_kept(home):
    incomplete = workplace(home)
    old, fresh = incomplete / "old", incomplete / "fresh"
    old.write_bytes(CONTENT)
    fresh.write_bytes(CONTENT)
    os.utime(old, (time.time() - 7200,) * 2)
    (home / "tmp_of_others").write_bytes(CONTENT)
    os.utime(home / "tmp_of_others", (0, 0))
    workplace(home)
    assert [path.name for path in incomplete.iterdir()] == ["fresh"]
    assert {path.name for path in home.iterdir()} == {INCOMPLETE, "tmp_of_others"}


def test_a_cache_folder_that_is_a_file_is_an_error(tmp_path):
    (tmp_path / "file").write_bytes(CONTENT)
    with pytest.raises(OSError, match="data_home must be a folder that can be written to"):
        workplace(tmp_path / "file")


def test_a_file_that_another_process_has_published_and_reads_is_used(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr("os.replace", refuse)
    target = tmp_path / "rows.csv"
    target.write_bytes(CONTENT)
    assert publish(tmp_path / "complete", target) == target
    with pytest.raises(PermissionError):
        publish(tmp_path / "complete", tmp_path / "other")
