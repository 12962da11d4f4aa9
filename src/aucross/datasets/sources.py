"""Where rows may come from: the files of a source, their checksums and addresses, and how they are read.

::

    locate(name, sources)
        folder AUCROSS_DATA ──► cache folder ──► download          first place that holds all files of a source
                    └── checksum of each file ──┘
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aucross.datasets.download import fetch
from aucross.datasets.folders import data_folder, data_home

_CHUNK = 2**20


@dataclass(frozen=True)
class SourceFile:
    """One file: its name in a folder and, where known, ``algorithm:digest`` of its bytes and its public address."""

    name: str
    checksum: str | None = None
    url: str | None = None


class Rows(NamedTuple):
    """What a table holds, before its columns are chosen and encoded."""

    X: Any
    y: NDArray[np.int64]
    is_test: NDArray[np.bool_] | None = None
    differences: tuple[str, ...] = ()


@dataclass(frozen=True)
class Source:
    """A set of files that together hold one data set, and how they are read."""

    files: tuple[SourceFile, ...]
    read: Callable[[tuple[Path, ...]], Any]
    origin: str
    licence: str
    differences: tuple[str, ...] = ()

    @property
    def can_be_fetched(self) -> bool:
        """Whether every file has a public address from which it may be downloaded."""
        return all(file.url for file in self.files)

    def paths_in(self, folder: Path) -> tuple[Path, ...]:
        """Where the files would lie in a folder."""
        return tuple(folder / file.name for file in self.files)


class Found(NamedTuple):
    """A source and where its files lie."""

    source: Source
    paths: tuple[Path, ...]


def locate(
    name: str,
    sources: Sequence[Source],
    *,
    home: str | Path | None,
    download: bool,
    progress: bool | None,
) -> Found:
    """The first source of which all files are in AUCROSS_DATA, in the cache folder or can be downloaded.

    Parameters
    ----------
    name : str
        Name of the data set, for errors.
    sources : sequence of Source
        In order of preference.
    home : path-like or None
        Cache folder; None for :func:`aucross.datasets.data_home`.
    download : bool
        Whether files may be downloaded.
    progress : bool or None
        Whether downloads show a bar; None for a bar on a terminal.

    Returns
    -------
    Found
    """
    cache = data_home(home)
    for folder in filter(None, (data_folder(), cache)):
        for source in sources:
            paths = source.paths_in(folder)
            if all(path.is_file() for path in paths):
                _check_files(source, paths)
                return Found(source, paths)
    if download:
        for source in sources:
            if source.can_be_fetched:
                return Found(source, tuple(_fetch_checked(file, cache, progress) for file in source.files))
    raise FileNotFoundError(_what_to_place(name, sources, cache))


def file_checksum(path: Path, algorithm: str = "sha256") -> str:
    """Digest of a file's bytes, read in blocks.

    Parameters
    ----------
    path : Path
        The file.
    algorithm : str, default="sha256"
        A name that :mod:`hashlib` knows.

    Returns
    -------
    str
        The digest in hexadecimal digits.
    """
    digest = hashlib.new(algorithm, usedforsecurity=False)
    with path.open("rb") as stream:
        while block := stream.read(_CHUNK):
            digest.update(block)
    return digest.hexdigest()


def _fetch_checked(file: SourceFile, folder: Path, progress: bool | None) -> Path:
    if (folder / file.name).is_file():
        _check_file(file, folder / file.name)
        return folder / file.name
    return fetch(file.name, str(file.url), folder, checksum=file.checksum, progress=progress)


def _check_files(source: Source, paths: tuple[Path, ...]) -> None:
    for file, path in zip(source.files, paths, strict=True):
        _check_file(file, path)


def _check_file(file: SourceFile, path: Path) -> None:
    if file.checksum is None:
        return
    algorithm, expected = file.checksum.split(":")
    found = file_checksum(path, algorithm)
    if found != expected:
        remedy = "delete it and it is downloaded again" if file.url else "replace it by a complete copy"
        raise ValueError(
            f"{path} is damaged or another version: {algorithm} must be {expected}, found {found}; {remedy}"
        )


def _what_to_place(name: str, sources: Sequence[Source], cache: Path) -> str:
    places = " or ".join(" and ".join(file.name for file in source.files) for source in sources)
    folders = " or in ".join(f"{folder} ({why})" for folder, why in _places(cache))
    reason = (
        "download=False and no copy was found"
        if any(source.can_be_fetched for source in sources)
        else "it cannot be downloaded without an account or a request to its owners"
    )
    return f"no rows of {name}: {reason}; put {places} in {folders}. Where to get it: {sources[0].origin}"


def _places(cache: Path) -> list[tuple[Path, str]]:
    given = data_folder()
    return [(given, "AUCROSS_DATA"), (cache, "cache")] if given else [(cache, "cache")]
