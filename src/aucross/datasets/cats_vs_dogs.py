"""CatsVsDogs: dogs against cats, from the Kaggle competition 'Dogs vs. Cats'."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aucross.datasets.damage import DataFileError, parsing
from aucross.datasets.dataset import Dataset
from aucross.datasets.images import ImageFiles, load_images, open_image, read_image_tables
from aucross.datasets.libraries import dataset_library
from aucross.datasets.sources import Source, SourceFile, locate

NAME = "CatsVsDogs"
SIZE = 64
# The class of a picture is its place in the alphabet, as in the paper's code.
CLASSES = ("cat", "dog")
# Pictures of each class; those with the highest numbers test.
N_TRAIN, N_TEST = 10_000, 2_500

_ORIGIN = "Kaggle competition 'Dogs vs. Cats' (2013), from Asirra (Elson et al., CCS 2007)"
_LICENCE = "Kaggle competition rules, no open licence stated: not to be passed on"
_SPLIT = "The paper's split is not published; here the pictures 10,000 to 12,499 of each class are the test rows."


def load_cats_vs_dogs(
    *, data_home: str | Path | None = None, download: bool = True, progress: bool | None = None
) -> Dataset:
    """Load CatsVsDogs: which pictures show a dog and which a cat.

    Parameters
    ----------
    data_home : path-like, default=None
        Cache folder; None for :func:`~aucross.datasets.data_home`. The folder of AUCROSS_DATA comes first. The
        decoded images are kept in the cache folder, 307 MB.
    download : bool, default=True
        Has no effect: Kaggle asks for an account, so ``train.zip`` has to be placed by hand.
    progress : bool, default=None
        Show a bar while decoding; None for a bar on a terminal.

    Returns
    -------
    Dataset
        With the images, 64 by 64 pixels, as a read-only memory map.
    """
    found = locate(NAME, SOURCES, home=data_home, download=download, progress=progress)
    source = found.source
    rows = load_images("cats_vs_dogs", found, data_home, progress)
    return Dataset(NAME, rows.X, rows.y, rows.is_test, source.origin, source.licence, source.differences)


def _read_parquet(paths: tuple[Path, ...]) -> ImageFiles:
    return read_image_tables(paths, "target", SIZE)


def _read_zip(paths: tuple[Path, ...]) -> ImageFiles:
    path = paths[0]
    # Cats and dogs by turns, so that the first rows are a mixed sample.
    wanted = [f"{kind}.{number}.jpg" for number in range(N_TRAIN + N_TEST) for kind in CLASSES]
    with zipfile.ZipFile(path) as archive:
        members = {PurePosixPath(member).name: member for member in archive.namelist()}
    missing = [name for name in wanted if name not in members]
    if missing:
        problem = f"it must hold {len(wanted):,} pictures from {wanted[0]} to {wanted[-1]}"
        found = f"{len(missing):,} are missing, such as {missing[0]}"
        raise DataFileError(path, f"is not train.zip of Dogs vs. Cats: {problem}, {found}")
    labels = np.tile(np.arange(len(CLASSES)), N_TRAIN + N_TEST)
    is_test = np.arange(len(labels)) >= N_TRAIN * len(CLASSES)
    return ImageFiles(labels, is_test, SIZE, partial(_pictures, path, [members[name] for name in wanted]))


def _pictures(path: Path, members: Sequence[str]) -> Iterator[NDArray[np.uint8]]:
    with zipfile.ZipFile(path) as archive:
        for member in members:
            with parsing(path, f"hold the complete image {member}"):
                yield shrink(open_image(archive.read(member)), SIZE)


def shrink(picture: Any, size: int) -> NDArray[np.uint8]:
    """Bring the short side of a Pillow picture to a size and cut the long one to it, around the centre."""
    pillow = dataset_library("PIL.Image", purpose="reading images")
    scale = size / min(picture.size)
    width, height = (max(size, int(side * scale)) for side in picture.size)
    left, top = (width - size) // 2, (height - size) // 2
    small = picture.resize((width, height), pillow.Resampling.BILINEAR)
    return np.asarray(small.crop((left, top, left + size, top + size)))


SOURCES = (
    Source((SourceFile("train.zip"),), _read_zip, f"train.zip of the {_ORIGIN}", _LICENCE, (_SPLIT,)),
    Source(
        (
            SourceFile(
                "cats_dogs_train.parquet", "sha256:aa5c9abef5d91603d6e3b6c7082743e2ac1cf8ed8600253ad4690e603c504443"
            ),
            SourceFile(
                "cats_dogs_test.parquet", "sha256:8f2785e2d2e8d03c536d323891716589b9d2e0cde65ad72b0d153cfdb89b2ad9"
            ),
        ),
        _read_parquet,
        f"cats_dogs_train.parquet and cats_dogs_test.parquet, from the {_ORIGIN}",
        _LICENCE,
        (
            _SPLIT,
            "The images were squeezed to squares and resized to 64 by 64; the paper resizes the short side and crops.",
        ),
        is_copy=True,
    ),
)
