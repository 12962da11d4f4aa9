"""Images: decoded once, then read from a memory-mapped array in the cache folder."""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from PIL import Image
from tqdm import tqdm

from experiments.datasets.files import Found, Rows, cache_folder, file_checksum, reading

# Part of the name of a cached array: raise it when the same source is decoded in another way.
DECODING = 1


class ImageFiles(NamedTuple):
    """Images that are not decoded yet, training rows first."""

    labels: NDArray[np.int64]
    is_test: NDArray[np.bool_]
    size: int
    decode: Callable[[], Iterable[NDArray[np.uint8]]]


def load_images(name: str, found: Found) -> Rows:
    """The images of a source, decoded now or before, as a read-only memory map of shape (n, size, size, 3)."""
    stem = cache_folder() / "images" / f"{name}-{_key(found)}"
    images, rows = stem.with_name(f"{stem.name}.npy"), stem.with_name(f"{stem.name}-rows.npy")
    if not (images.is_file() and rows.is_file()):
        _decode_into(images, rows, found)
    labels, is_test = np.load(rows).T
    return Rows(np.load(images, mmap_mode="r"), labels.astype(np.int64), is_test.astype(bool))


def open_image(content: bytes) -> Image.Image:
    """Decode a picture."""
    return Image.open(io.BytesIO(content)).convert("RGB")


def read_image_tables(paths: Iterable[Path], label: str, size: int) -> ImageFiles:
    """Images in a column of parquet files, the first for training and the second for the test."""
    parts = [pd.read_parquet(path, columns=[label])[label].to_numpy(dtype=np.int64) for path in paths]
    labels = np.concatenate(parts)

    def decode() -> Iterator[NDArray[np.uint8]]:
        for path in paths:
            table = pd.read_parquet(path, columns=["image", "source_file"])
            for content, name in zip(table["image"], table["source_file"], strict=True):
                with reading(path, f"hold the complete image {name}"):
                    yield np.asarray(open_image(content))

    return ImageFiles(labels, np.arange(len(labels)) >= len(parts[0]), size, decode)


def _key(found: Found) -> str:
    parts = (
        file.checksum or f"sha256:{file_checksum(path)}"
        for file, path in zip(found.source.files, found.paths, strict=True)
    )
    return hashlib.sha256(f"{DECODING} {' '.join(parts)}".encode()).hexdigest()[:16]


def _decode_into(images: Path, rows: Path, found: Found) -> None:
    files: ImageFiles = found.read()
    images.parent.mkdir(parents=True, exist_ok=True)
    with _whole(rows) as temporary:
        np.save(temporary, np.column_stack([files.labels, files.is_test]).astype(np.int16))
    with _whole(images) as temporary:
        shape = (len(files.labels), files.size, files.size, 3)
        array = np.lib.format.open_memmap(temporary, mode="w+", dtype=np.uint8, shape=shape)
        pictures = tqdm(files.decode(), total=shape[0], unit=" images", disable=None)  # None: on a terminal only
        for row, picture in zip(array, pictures, strict=True):
            row[...] = picture
        array.flush()


@contextmanager
def _whole(path: Path) -> Iterator[Path]:
    """A name to write under; the file takes its own name only when it is complete."""
    temporary = path.with_name(f".{uuid4().hex}.npy")
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
