"""CIFAR-10-cat and CatsVsDogs from archives of a few images."""

import io
import tarfile
import zipfile

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from experiments.datasets import cats_vs_dogs, cifar10, images, load_cats_vs_dogs, load_cifar10_cat
from experiments.datasets.files import DataFileError

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

    return tarball({f"cifar-10-batches-bin/{name}": batch(i) for i, name in enumerate(cifar10.BATCHES)})


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


def test_the_archive_holds_pictures_of_three_planes(home):
    (home / "cifar-10-binary.tar.gz").write_bytes(binary_archive())
    data = load_cifar10_cat()
    assert data.X.shape == (24, 32, 32, 3)
    assert data.X.dtype == np.uint8
    np.testing.assert_array_equal(data.y, [1, 0, 0, 1] * 6)
    np.testing.assert_array_equal(data.is_test, np.arange(24) >= 20)
    first = planes(0)[0]
    np.testing.assert_array_equal(data.X[0, 5, 7], [first[5 * 32 + 7], first[1024 + 5 * 32 + 7], first[2048 + 167]])


def test_the_archive_is_downloaded_once(server, without_checksums):
    without_checksums(cifar10, server.address)
    server.files["cifar-10-binary.tar.gz"] = binary_archive()
    assert len(load_cifar10_cat().y) == len(load_cifar10_cat().y) == 24
    assert server.requests == ["cifar-10-binary.tar.gz"]


def test_another_archive_is_an_error(home):
    for content in (b"no archive", tarball({"other": b""}), binary_archive()[:500]):
        (home / "cifar-10-binary.tar.gz").write_bytes(content)
        with pytest.raises(ValueError, match=r"cifar-10-binary\.tar\.gz must be the file of that name .*, found "):
            load_cifar10_cat()


def test_the_checksums_are_those_its_author_publishes(monkeypatch):
    monkeypatch.undo()
    checksums = {file.name: file.checksum for source in cifar10.SOURCES for file in source.files}
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
    data = load_cifar10_cat()
    np.testing.assert_array_equal(data.y, [1, 0, 0, 1, 0])
    assert abs(data.X.mean(axis=(0, 1, 2)) - [200, 30, 60]).max() < 3
    assert "JPEG" in data.differences[0]


def test_the_archive_is_not_downloaded_against_orders(server, without_checksums):
    without_checksums(cifar10, server.address)
    with pytest.raises(FileNotFoundError, match=r"put cifar-10-binary\.tar\.gz or cifar10_train"):
        load_cifar10_cat(download=False)
    assert server.requests == []


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
    with pytest.raises(ValueError, match=r"must hold 6 pictures .* found 1 missing, such as dog\.1\.jpg"):
        load_cats_vs_dogs()
    write_zip(home, damaged={"cat.2.jpg"})
    with pytest.raises(ValueError, match=r"train\.zip must hold the complete image train/cat\.2\.jpg, found Unid"):
        load_cats_vs_dogs()
    assert not list((home / "images").glob("*[0-9a-f].npy"))
    (home / "train.zip").write_bytes(b"no archive")
    with pytest.raises(ValueError, match=r"train\.zip must be the file of that name .*found BadZipFile"):
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
        with pytest.raises(DataFileError, match="found ZeroDivisionError"):
            load_cats_vs_dogs()
    assert [path.name[-9:] for path in (home / "images").iterdir()] == ["-rows.npy"]
    assert len(load_cats_vs_dogs().y) == 6


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
    with pytest.raises(DataFileError, match=r"cifar10_test\.parquet must hold the complete image test\.jpg"):
        load_cifar10_cat()
