"""CIFAR-10-cat and CatsVsDogs from archives of a few images."""

import io
import pickle
import subprocess
import sys
import tarfile
import zipfile

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from aucross.datasets import DataFileError, cats_vs_dogs, cifar10, images, load_cats_vs_dogs, load_cifar10_cat

PER_BATCH = 4
LABELS = np.array([3, 0, 9, 3])


def planes(batch: int) -> np.ndarray:
    """Images of one batch as the archives store them: all red, all green, all blue values."""
    return np.random.default_rng(batch).integers(0, 256, (PER_BATCH, 3072), dtype=np.uint8)


def tarball(members: dict[str, bytes]) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as archive:
        for name, member in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(member)
            archive.addfile(entry, io.BytesIO(member))
    return content.getvalue()


def binary_archive() -> bytes:
    def batch(number):
        return np.column_stack([LABELS.astype(np.uint8), planes(number)]).tobytes()

    return tarball({f"cifar-10-batches-bin/{name}.bin": batch(i) for i, name in enumerate(cifar10.BATCHES)})


def python_archive(extra=None) -> bytes:
    def batch(number):
        content = {b"data": planes(number), b"labels": LABELS.tolist(), b"batch_label": b"training batch"}
        # The original archive was written with a numpy whose modules had other names.
        return pickle.dumps(content | (extra or {}), protocol=3).replace(b"numpy._core", b"numpy.core")

    return tarball({f"cifar-10-batches-py/{name}": batch(i) for i, name in enumerate(cifar10.BATCHES)})


def jpeg(size=(64, 64), colour=(200, 30, 60)) -> bytes:
    content = io.BytesIO()
    Image.new("RGB", size, colour).save(content, "JPEG", quality=95)
    return content.getvalue()


@pytest.fixture(autouse=True)
def small(monkeypatch, without_checksums):
    without_checksums(cifar10)
    without_checksums(cats_vs_dogs)
    monkeypatch.setattr(cats_vs_dogs, "N_TRAIN", 2)
    monkeypatch.setattr(cats_vs_dogs, "N_TEST", 1)


# ---- CIFAR-10 ----


@pytest.mark.parametrize(
    ("name", "content"),
    [("cifar-10-binary.tar.gz", binary_archive()), ("cifar-10-python.tar.gz", python_archive())],
)
def test_both_archives_hold_the_same_images(name, content, home):
    (home / name).write_bytes(content)
    data = load_cifar10_cat(download=False)
    assert data.X.shape == (24, 32, 32, 3)
    assert data.X.dtype == np.uint8
    np.testing.assert_array_equal(data.y, [1, 0, 0, 1] * 6)
    np.testing.assert_array_equal(data.is_test, np.arange(24) >= 20)
    first = planes(0)[0]
    np.testing.assert_array_equal(data.X[0, 5, 7], [first[5 * 32 + 7], first[1024 + 5 * 32 + 7], first[2048 + 167]])


def test_all_ten_classes_can_be_had(home):
    (home / "cifar-10-binary.tar.gz").write_bytes(binary_archive())
    data = load_cifar10_cat(target="all")
    np.testing.assert_array_equal(data.y[:4], LABELS)
    assert cifar10.CLASSES[3] == "cat"
    assert len(data.differences) == 1
    with pytest.raises(ValueError, match="target must be one of 'cat', 'all', got 'dog'"):
        load_cifar10_cat(target="dog")


def test_the_archive_is_downloaded_once(server, without_checksums):
    without_checksums(cifar10, server.address)
    server.files["cifar-10-binary.tar.gz"] = binary_archive()
    assert len(load_cifar10_cat().y) == len(load_cifar10_cat().y) == 24
    assert server.requests == ["cifar-10-binary.tar.gz"]


def test_a_pickle_that_would_run_code_is_refused(home):
    (home / "cifar-10-python.tar.gz").write_bytes(python_archive({b"more": subprocess.Popen}))
    with pytest.raises(ValueError, match=r"must hold arrays only, found subprocess\.Popen"):
        load_cifar10_cat(download=False)


def test_another_archive_is_an_error(home):
    for content in (b"no archive", tarball({"other": b""}), binary_archive()[:500]):
        (home / "cifar-10-binary.tar.gz").write_bytes(content)
        with pytest.raises(ValueError, match=r"cifar-10-binary\.tar\.gz must be the tar archive of CIFAR-10"):
            load_cifar10_cat(download=False)


def test_the_checksums_are_those_its_author_publishes(monkeypatch):
    monkeypatch.undo()
    checksums = {file.name: file.checksum for source in cifar10.SOURCES for file in source.files}
    assert checksums["cifar-10-python.tar.gz"] == "md5:c58f30108f718f92721af3b95e74349a"
    assert checksums["cifar-10-binary.tar.gz"] == "md5:c32a1d4ab5d03f1284b67883e8d87530"


def test_tables_of_encoded_images_are_read(home):
    for part, n in (("train", 3), ("test", 2)):
        columns = {
            "image": [jpeg((32, 32))] * n,
            "source_file": "x.jpg",
            "label": [3, 0, 9][:n],
            "target": [1, 0, 0][:n],
        }
        pd.DataFrame(columns).to_parquet(home / f"cifar10_{part}.parquet")
    data = load_cifar10_cat(download=False)
    np.testing.assert_array_equal(data.y, [1, 0, 0, 1, 0])
    assert abs(data.X.mean(axis=(0, 1, 2)) - [200, 30, 60]).max() < 3
    assert "JPEG" in data.differences[0]


# ---- Dogs vs. Cats ----


def write_zip(home, size=(90, 64), leave_out=(), damaged=(), cut=()):
    colours = {"cat": (250, 0, 0), "dog": (0, 0, 250)}
    with zipfile.ZipFile(home / "train.zip", "w") as archive:
        archive.writestr("train/", "")
        for number in reversed(range(3)):
            for kind, colour in colours.items():
                name = f"{kind}.{number}.jpg"
                if name not in leave_out:
                    picture = b"no image" if name in damaged else jpeg(size, colour)
                    archive.writestr(f"train/{name}", picture[:-200] if name in cut else picture)


def test_the_zip_of_the_competition_is_read(home):
    write_zip(home)
    data = load_cats_vs_dogs()
    assert data.X.shape == (6, 64, 64, 3)
    np.testing.assert_array_equal(data.y, [0, 1] * 3)
    np.testing.assert_array_equal(data.is_test, [False] * 4 + [True] * 2)
    dominant = data.X.mean(axis=(1, 2)).argmax(axis=1)
    np.testing.assert_array_equal(dominant, [0, 2] * 3)


def test_missing_and_damaged_pictures_are_named(home):
    write_zip(home, leave_out={"dog.1.jpg"})
    with pytest.raises(ValueError, match=r"it must hold 6 pictures .* 1 are missing, such as dog\.1\.jpg"):
        load_cats_vs_dogs()
    write_zip(home, damaged={"cat.2.jpg"})
    with pytest.raises(ValueError, match=r"train\.zip must hold the complete image train/cat\.2\.jpg, found Unid"):
        load_cats_vs_dogs()
    assert not list((home / "images").glob("*[0-9a-f].npy"))
    (home / "train.zip").write_bytes(b"no archive")
    with pytest.raises(ValueError, match=r"train\.zip must be a zip archive"):
        load_cats_vs_dogs()


def test_without_the_file_the_error_says_where_to_get_it(home):
    with pytest.raises(FileNotFoundError, match=r"put train\.zip or .*Dogs vs\. Cats"):
        load_cats_vs_dogs()


@pytest.mark.parametrize("size", [(200, 100), (100, 200), (64, 64), (50, 30), (499, 375)])
def test_the_short_side_is_resized_and_the_centre_kept(size):
    picture = Image.new("RGB", size, (255, 255, 255))
    width, height = size
    side = min(size) // 2
    left, top = (width - side) // 2, (height - side) // 2
    picture.paste((0, 0, 0), (left, top, left + side, top + side))
    small = cats_vs_dogs.shrink(picture, 64)
    assert small.shape == (64, 64, 3)
    dark = np.argwhere(small[..., 0] < 128)
    np.testing.assert_allclose(dark.mean(axis=0), 31.5, atol=1.5)
    np.testing.assert_allclose(np.ptp(dark, axis=0), 31, atol=3)


# ---- the cache of decoded images ----


def test_images_are_decoded_once_and_then_mapped(home, monkeypatch):
    write_zip(home)
    first = load_cats_vs_dogs()
    monkeypatch.setattr(images, "open_image", None)
    again = load_cats_vs_dogs()
    assert isinstance(again.X, np.memmap)
    assert not again.X.flags.writeable
    np.testing.assert_array_equal(first.X, again.X)
    np.testing.assert_array_equal(first.y, again.y)
    np.testing.assert_array_equal(first.is_test, again.is_test)


def test_another_source_is_decoded_anew(home):
    write_zip(home)
    first = load_cats_vs_dogs().X.copy()
    write_zip(home, size=(64, 200))
    again = load_cats_vs_dogs()
    assert len(list((home / "images").glob("*-rows.npy"))) == 2
    assert first.shape == again.X.shape


def test_decoding_that_fails_leaves_nothing_behind_and_is_repeated(home, monkeypatch):
    write_zip(home)
    with monkeypatch.context() as broken:
        broken.setattr(cats_vs_dogs, "shrink", lambda picture, size: 1 / 0)
        with pytest.raises(DataFileError, match="found ZeroDivisionError") as caught:
            load_cats_vs_dogs()
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert list((home / "images" / ".incomplete").iterdir()) == []
    assert len(load_cats_vs_dogs().y) == 6


@pytest.mark.parametrize("which", ["*-rows.npy", "*[0-9a-f].npy"])
def test_a_damaged_array_in_the_cache_is_named_and_made_anew_once_deleted(which, home):
    write_zip(home)
    load_cats_vs_dogs()
    (array,) = (home / "images").glob(which)
    array.write_bytes(array.read_bytes()[:100])
    with pytest.raises(
        DataFileError, match=r"must be an array as it was decoded, .*; delete it and load again"
    ) as caught:
        load_cats_vs_dogs()
    assert caught.value.path == array
    array.unlink()
    assert len(load_cats_vs_dogs().y) == 6


def test_a_cache_folder_that_cannot_be_written_to_is_not_blamed_on_the_source(home, tmp_path, monkeypatch):
    write_zip(home)
    monkeypatch.setenv("AUCROSS_DATA", str(home))
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="data_home must be a folder that can be written to"):
        load_cats_vs_dogs(data_home=tmp_path / "file")


def test_truncated_pictures_and_members_are_named(home):
    write_zip(home, cut={"dog.1.jpg"})
    with pytest.raises(
        DataFileError, match=r"hold the complete image train/dog\.1\.jpg, found OSError: .*[Tt]runcated"
    ):
        load_cats_vs_dogs()
    write_zip(home)
    content = bytearray((home / "train.zip").read_bytes())
    place = content.index(b"train/cat.1.jpg") + 100
    content[place : place + 50] = bytes(50)
    (home / "train.zip").write_bytes(content)
    with pytest.raises(DataFileError, match=r"hold the complete image train/cat\.1\.jpg, found BadZipFile"):
        load_cats_vs_dogs()


def test_a_damaged_picture_in_a_table_is_named_with_its_file(home):
    for part in ("train", "test"):
        content = jpeg((32, 32))[: 300 if part == "test" else None]
        columns = {"image": [content], "source_file": f"{part}.jpg", "label": [3], "target": [1]}
        pd.DataFrame(columns).to_parquet(home / f"cifar10_{part}.parquet")
    with pytest.raises(DataFileError, match=r"must hold the complete image test\.jpg") as caught:
        load_cifar10_cat(download=False)
    assert caught.value.path == home / "cifar10_test.parquet"


def test_pictures_of_another_size_are_blamed_on_the_files_together(home):
    for part in ("train", "test"):
        columns = {"image": [jpeg((16, 16))], "source_file": f"{part}.jpg", "label": [3], "target": [1]}
        pd.DataFrame(columns).to_parquet(home / f"cifar10_{part}.parquet")
    message = r"must hold cifar10_train\.parquet and cifar10_test\.parquet .*; replace these files by the originals"
    with pytest.raises(DataFileError, match=message) as caught:
        load_cifar10_cat(download=False)
    assert caught.value.path == home


def test_the_cache_folder_can_be_given(home, tmp_path):
    write_zip(home)
    (tmp_path / "other").mkdir()
    (home / "train.zip").rename(tmp_path / "other" / "train.zip")
    load_cats_vs_dogs(data_home=tmp_path / "other")
    assert not (home / "images").exists()
    assert (tmp_path / "other" / "images").is_dir()


def test_a_bar_is_shown_while_decoding_if_asked_for(home, capfd):
    write_zip(home)
    load_cats_vs_dogs(progress=True)
    assert "6/6" in capfd.readouterr().err


def test_without_pillow_the_error_names_the_extra(home, monkeypatch):
    write_zip(home)
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    with pytest.raises(ImportError, match=r'reading images needs PIL.*pip install "aucross\[datasets\]"'):
        load_cats_vs_dogs()
