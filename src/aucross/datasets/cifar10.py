"""CIFAR-10-cat: cats against the nine other classes of CIFAR-10."""

from __future__ import annotations

import pickle
import tarfile
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from aucross.datasets.damage import parsing
from aucross.datasets.dataset import Dataset
from aucross.datasets.encoding import check_option
from aucross.datasets.images import ImageFiles, load_images, read_image_tables
from aucross.datasets.sources import Source, SourceFile, locate

NAME = "CIFAR-10-cat"
CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
CAT = CLASSES.index("cat")
SIZE = 32
BATCHES = (*(f"data_batch_{number}" for number in range(1, 6)), "test_batch")

_ADDRESS = "https://www.cs.toronto.edu/~kriz/"
_ORIGIN = "CIFAR-10 (Krizhevsky 2009, 'Learning Multiple Layers of Features from Tiny Images')"
_LICENCE = "no licence stated; its author asks to cite the report"

# Labels and images of one batch.
Batch = tuple[NDArray[np.int64], NDArray[np.uint8]]


def load_cifar10_cat(
    *,
    target: Literal["cat", "all"] = "cat",
    data_home: str | Path | None = None,
    download: bool = True,
    progress: bool | None = None,
) -> Dataset:
    """Load CIFAR-10-cat: which pictures of 32 by 32 pixels show a cat.

    Parameters
    ----------
    target : {"cat", "all"}, default="cat"
        1 for cats and 0 for the other classes; or the ten classes as 0 to 9, of which 3 is the cat.
    data_home : path-like, default=None
        Cache folder; None for :func:`~aucross.datasets.data_home`. The folder of AUCROSS_DATA comes first. The
        decoded images are kept in the cache folder, 184 MB.
    download : bool, default=True
        Fetch ``cifar-10-binary.tar.gz`` (170 MB) from its author's page if no file is in either folder.
    progress : bool, default=None
        Show a bar while downloading and decoding; None for a bar on a terminal.

    Returns
    -------
    Dataset
        With the images as a read-only memory map.
    """
    check_option(target, "target", ("cat", "all"))
    found = locate(NAME, SOURCES, home=data_home, download=download, progress=progress)
    source = found.source
    rows = load_images("cifar10", found, data_home, progress)
    y = rows.y if target == "all" else (rows.y == CAT).astype(np.int64)
    differences = source.differences
    if target == "all":
        differences += ("The paper tells cats from the rest; these labels are the ten classes.",)
    return Dataset(NAME, rows.X, y, rows.is_test, source.origin, source.licence, differences)


def _read_parquet(paths: tuple[Path, ...]) -> ImageFiles:
    return read_image_tables(paths, "label", SIZE)


# ---- the author's archives ----


def _read_archive(paths: tuple[Path, ...], *, members: str, parse: Callable[[Any], Batch]) -> ImageFiles:
    path = paths[0]
    with parsing(path, "be the tar archive of CIFAR-10, with its six batches"), tarfile.open(path) as archive:
        batches = [parse(archive.extractfile(members.format(batch))) for batch in BATCHES]
    labels = np.concatenate([of for of, _ in batches])
    n_test = len(batches[-1][0])
    return ImageFiles(labels, np.arange(len(labels)) >= len(labels) - n_test, SIZE, partial(_pictures, batches))


def _pictures(batches: Iterable[Batch]) -> Iterator[NDArray[np.uint8]]:
    for _, images in batches:
        yield from images


def _as_pictures(planes: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Rows of all red, then all green, then all blue values as pictures of shape (height, width, 3)."""
    return planes.reshape(-1, 3, SIZE, SIZE).transpose(0, 2, 3, 1)


def _parse_binary(stream: Any) -> Batch:
    """Records of one byte for the class and 3,072 for the picture."""
    records = np.frombuffer(stream.read(), dtype=np.uint8).reshape(-1, 1 + 3 * SIZE * SIZE)
    return records[:, 0].astype(np.int64), _as_pictures(records[:, 1:])


def _parse_pickle(stream: Any) -> Batch:
    batch = _ArrayUnpickler(stream, encoding="bytes").load()
    return np.asarray(batch[b"labels"], dtype=np.int64), _as_pictures(np.asarray(batch[b"data"], dtype=np.uint8))


class _ArrayUnpickler(pickle.Unpickler):
    """Reads arrays, lists and strings and refuses the rest: a pickle can otherwise run any code."""

    def find_class(self, module: str, name: str) -> Any:
        if name == "_reconstruct" and module in {"numpy.core.multiarray", "numpy._core.multiarray"}:
            return np.ndarray.__new__
        if module == "numpy" and name in {"ndarray", "dtype"}:
            return getattr(np, name)
        raise ValueError(f"a batch of CIFAR-10 must hold arrays only, found {module}.{name}")


SOURCES = (
    Source(
        (
            SourceFile(
                "cifar-10-binary.tar.gz", "md5:c32a1d4ab5d03f1284b67883e8d87530", f"{_ADDRESS}cifar-10-binary.tar.gz"
            ),
        ),
        partial(_read_archive, members="cifar-10-batches-bin/{}.bin", parse=_parse_binary),
        f"cifar-10-binary.tar.gz, {_ORIGIN}",
        _LICENCE,
    ),
    Source(
        (
            SourceFile(
                "cifar-10-python.tar.gz", "md5:c58f30108f718f92721af3b95e74349a", f"{_ADDRESS}cifar-10-python.tar.gz"
            ),
        ),
        partial(_read_archive, members="cifar-10-batches-py/{}", parse=_parse_pickle),
        f"cifar-10-python.tar.gz, {_ORIGIN}",
        _LICENCE,
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
        _read_parquet,
        f"cifar10_train.parquet and cifar10_test.parquet, a copy of {_ORIGIN}",
        _LICENCE,
        ("The images come from a JPEG copy (quality about 75), so pixel values differ from the original.",),
        is_copy=True,
    ),
)
