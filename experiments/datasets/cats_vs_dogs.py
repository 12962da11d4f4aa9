"""CatsVsDogs: dogs against cats, from the Kaggle competition 'Dogs vs. Cats'."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path, PurePosixPath

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from experiments.datasets.dataset import Dataset
from experiments.datasets.files import DataFileError, Source, SourceFile, locate, reading
from experiments.datasets.images import ImageFiles, load_images, open_image, read_image_tables

NAME = "CatsVsDogs"
SIZE = 64
# The class of a picture is its place in the alphabet, as in the paper's code.
CLASSES = ("cat", "dog")
# Pictures of each class; those with the highest numbers test.
N_TRAIN, N_TEST = 10_000, 2_500

_ORIGIN = "Kaggle competition 'Dogs vs. Cats' (2013), from Asirra (Elson et al., CCS 2007)"
_SPLIT = "The paper's split is not published; here the pictures 10,000 to 12,499 of each class are the test rows."


def load_cats_vs_dogs() -> Dataset:
    """Load CatsVsDogs: which pictures, of 64 by 64 pixels, show a dog and which a cat.

    Kaggle asks for an account, so ``train.zip`` has to be placed by hand. Decoded images take 307 MB of the cache.
    """
    found = locate(NAME, SOURCES)
    rows = load_images("cats_vs_dogs", found)
    return Dataset(NAME, rows.X, rows.y, rows.is_test, found.source.origin, found.source.differences)


def _read_zip(paths: tuple[Path, ...]) -> ImageFiles:
    path = paths[0]
    # Cats and dogs by turns, so that the first rows are a mixed sample.
    wanted = [f"{kind}.{number}.jpg" for number in range(N_TRAIN + N_TEST) for kind in CLASSES]
    with zipfile.ZipFile(path) as archive:
        members = {PurePosixPath(member).name: member for member in archive.namelist()}
    missing = [name for name in wanted if name not in members]
    if missing:
        wanted_pictures = f"{len(wanted):,} pictures from {wanted[0]} to {wanted[-1]}"
        raise DataFileError(path, f"must hold {wanted_pictures}, found {len(missing):,} missing, such as {missing[0]}")
    labels = np.tile(np.arange(len(CLASSES)), N_TRAIN + N_TEST)
    is_test = np.arange(len(labels)) >= N_TRAIN * len(CLASSES)
    return ImageFiles(labels, is_test, SIZE, partial(_pictures, path, [members[name] for name in wanted]))


def _pictures(path: Path, members: Sequence[str]) -> Iterator[NDArray[np.uint8]]:
    with zipfile.ZipFile(path) as archive:
        for member in members:
            with reading(path, f"hold the complete image {member}"):
                yield shrink(open_image(archive.read(member)), SIZE)


def shrink(picture: Image.Image, size: int) -> NDArray[np.uint8]:
    """Bring the short side of a picture to a size and cut the long one to it, around the centre."""
    scale = size / min(picture.size)
    width, height = (max(size, int(side * scale)) for side in picture.size)
    left, top = (width - size) // 2, (height - size) // 2
    small = picture.resize((width, height), Image.Resampling.BILINEAR)
    return np.asarray(small.crop((left, top, left + size, top + size)))


SOURCES = (
    Source((SourceFile("train.zip"),), _read_zip, f"train.zip of the {_ORIGIN}", (_SPLIT,)),
    Source(
        (
            SourceFile(
                "cats_dogs_train.parquet", "sha256:aa5c9abef5d91603d6e3b6c7082743e2ac1cf8ed8600253ad4690e603c504443"
            ),
            SourceFile(
                "cats_dogs_test.parquet", "sha256:8f2785e2d2e8d03c536d323891716589b9d2e0cde65ad72b0d153cfdb89b2ad9"
            ),
        ),
        partial(read_image_tables, label="target", size=SIZE),
        f"cats_dogs_train.parquet and cats_dogs_test.parquet, from the {_ORIGIN}",
        (
            _SPLIT,
            "The images were squeezed to squares and resized to 64 by 64; the paper resizes the short side and crops.",
        ),
    ),
)
