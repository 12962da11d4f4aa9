"""CIFAR-10-cat: cats against the nine other classes of CIFAR-10."""

from __future__ import annotations

import tarfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from experiments.datasets.dataset import Dataset
from experiments.datasets.files import Source, SourceFile, locate
from experiments.datasets.images import ImageFiles, load_images, read_image_tables

NAME = "CIFAR-10-cat"
CAT = 3  # of airplane, automobile, bird, cat, ...
SIZE = 32
BATCHES = (*(f"data_batch_{number}.bin" for number in range(1, 6)), "test_batch.bin")

_ORIGIN = "CIFAR-10 (Krizhevsky 2009, 'Learning Multiple Layers of Features from Tiny Images')"


def load_cifar10_cat(*, download: bool = True) -> Dataset:
    """Load CIFAR-10-cat: which pictures of 32 by 32 pixels show a cat.

    Where no file is at hand, ``cifar-10-binary.tar.gz`` (170 MB) is fetched from its author's page if `download` is
    true. Decoded images take 184 MB of the cache.
    """
    found = locate(NAME, SOURCES, download=download)
    rows = load_images("cifar10", found)
    is_cat = (rows.y == CAT).astype(np.int64)
    return Dataset(NAME, rows.X, is_cat, rows.is_test, found.source.origin, found.source.differences)


def _read_archive(paths: tuple[Path, ...]) -> ImageFiles:
    with tarfile.open(paths[0]) as archive:
        batches = [_records(archive.extractfile(f"cifar-10-batches-bin/{batch}")) for batch in BATCHES]
    records = np.concatenate(batches)
    is_test = np.arange(len(records)) >= len(records) - len(batches[-1])
    # All red, then all green, then all blue values become pictures of shape (height, width, 3).
    pictures = records[:, 1:].reshape(-1, 3, SIZE, SIZE).transpose(0, 2, 3, 1)
    return ImageFiles(records[:, 0].astype(np.int64), is_test, SIZE, lambda: pictures)


def _records(stream: Any) -> np.ndarray:
    """Rows of one byte for the class and 3,072 for the picture."""
    return np.frombuffer(stream.read(), dtype=np.uint8).reshape(-1, 1 + 3 * SIZE * SIZE)


SOURCES = (
    Source(
        (
            SourceFile(
                "cifar-10-binary.tar.gz",
                "md5:c32a1d4ab5d03f1284b67883e8d87530",
                "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
            ),
        ),
        _read_archive,
        f"cifar-10-binary.tar.gz, {_ORIGIN}",
    ),
    Source(
        (
            SourceFile(
                "cifar10_train.parquet", "sha256:5ad39fa270f545b2ac3eb4ee1fc8f70eb76f2f45bf73e5412e68bd1af5b3790f"
            ),
            SourceFile(
                "cifar10_test.parquet", "sha256:e2e909a48d4dc958984eaa5b09e97ad59475fd770fbcb3afe980420f380ae733"
            ),
        ),
        partial(read_image_tables, label="label", size=SIZE),
        f"cifar10_train.parquet and cifar10_test.parquet, a copy of {_ORIGIN}",
        ("The images come from a JPEG copy (quality about 75), so pixel values differ from the original.",),
    ),
)
