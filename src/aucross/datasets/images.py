"""Images: decoded once, then read from a memory-mapped array in the cache folder."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from aucross.datasets.damage import parsing
from aucross.datasets.download import wants_bar
from aucross.datasets.folders import data_home, publish, workplace
from aucross.datasets.libraries import dataset_library
from aucross.datasets.sources import Found, Rows, file_checksum
from aucross.datasets.tables import read_parquet

# Part of the name of a cached array: raise it when the same source is decoded in another way.
DECODING = 1

Image = NDArray[np.uint8]


class ImageFiles(NamedTuple):
    """Images that are not decoded yet, training rows first."""

    labels: NDArray[np.int64]
    is_test: NDArray[np.bool_]
    size: int
    decode: Callable[[], Iterable[Image]]


def load_images(name: str, found: Found, home: str | Path | None, progress: bool | None) -> Rows:
    """The images of a source, decoded now or before.

    Parameters
    ----------
    name : str
        Start of the names of the cached files.
    found : Found
        A source whose ``read`` returns :class:`ImageFiles`.
    home : path-like or None
        Cache folder.
    progress : bool or None
        Show a bar while decoding; None for a bar on a terminal.

    Returns
    -------
    Rows
        With the images as a read-only memory map of shape (n, size, size, 3).
    """
    folder = data_home(home) / "images"
    stem = f"{name}-{_key(found)}"
    images, rows = folder / f"{stem}.npy", folder / f"{stem}-rows.npy"
    if not (images.is_file() and rows.is_file()):
        _decode_into(images, rows, found, wants_bar(progress))
    labels, is_test = _load_array(rows).T
    return Rows(_load_array(images, mmap_mode="r"), labels.astype(np.int64), is_test.astype(bool))


def open_image(content: bytes) -> Any:
    """Open and decode a picture with Pillow."""
    return dataset_library("PIL.Image", purpose="reading images").open(io.BytesIO(content)).convert("RGB")


def read_image_tables(paths: Iterable[Path], label: str, size: int) -> ImageFiles:
    """Images in a column of parquet files, the first for training and the second for the test."""
    tables = [read_parquet(path, columns=[label]) for path in paths]
    labels = np.concatenate([table[label].to_numpy(dtype=np.int64) for table in tables])

    def decode() -> Iterator[Image]:
        for path in paths:
            table = read_parquet(path, columns=["image", "source_file"])
            for content, name in zip(table["image"], table["source_file"], strict=True):
                with parsing(path, f"hold the complete image {name}"):
                    yield np.asarray(open_image(content))

    return ImageFiles(labels, np.arange(len(labels)) >= len(tables[0]), size, decode)


def _load_array(path: Path, mmap_mode: Literal["r"] | None = None) -> NDArray[Any]:
    with parsing(path, "be an array as it was decoded", "delete it and load again, which decodes the images anew"):
        array: NDArray[Any] = np.load(path, mmap_mode=mmap_mode)
        return array


def _key(found: Found) -> str:
    parts = (
        file.checksum or f"sha256:{file_checksum(path)}"
        for file, path in zip(found.source.files, found.paths, strict=True)
    )
    return hashlib.sha256(f"{DECODING} {' '.join(parts)}".encode()).hexdigest()[:16]


def _decode_into(images: Path, rows: Path, found: Found, bar: bool) -> None:
    files: ImageFiles = found.read()
    incomplete = workplace(images.parent)
    with _temporary(incomplete) as temporary:
        np.save(temporary, np.column_stack([files.labels, files.is_test]).astype(np.int16))
        publish(temporary, rows)
    with _temporary(incomplete) as temporary:
        shape = (len(files.labels), files.size, files.size, 3)
        array = np.lib.format.open_memmap(temporary, mode="w+", dtype=np.uint8, shape=shape)
        pictures: Iterable[Image] = files.decode()
        if bar:
            pictures = dataset_library("tqdm", purpose="a progress bar").tqdm(pictures, total=shape[0], unit=" images")
        with found.blamed():
            for row, picture in zip(array, pictures, strict=True):
                row[...] = picture
        array.flush()
        # Windows does not rename a file that is still mapped.
        del array, row
        publish(temporary, images)


@contextmanager
def _temporary(folder: Path) -> Iterator[Path]:
    """A file name of its own in a folder; what still has it at the end is removed."""
    path = folder / f"{uuid4().hex}.npy"
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)
