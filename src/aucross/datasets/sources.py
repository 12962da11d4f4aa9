"""Where rows may come from: the files of a source, their checksums and addresses, and how they are read.

::

    locate(name, sources)
        folder AUCROSS_DATA ──► cache folder ──► download          first place that holds all files of a source
                    └── checksum of each file ──┘
    Found.read()                                                   what they hold, or DataFileError
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from aucross.datasets.damage import REPLACE, DataFileError, parsing
from aucross.datasets.download import fetch
from aucross.datasets.folders import data_folder, data_home

_CHUNK = 2**20
_FORMS = {
    ".parquet": "a parquet file",
    ".csv.gz": "comma-separated text compressed by gzip",
    ".tar.gz": "a tar archive compressed by gzip",
    ".zip": "a zip archive",
    ".xls": "a sheet of Excel in the format xls",
}


@dataclass(frozen=True)
class SourceFile:
    """One file: its name in a folder and, where known, ``algorithm:digest`` of its bytes and its public address."""

    name: str
    checksum: str | None = None
    url: str | None = None

    @property
    def form(self) -> str:
        """What a reader expects, in words."""
        return next((form for suffix, form in _FORMS.items() if self.name.endswith(suffix)), "comma-separated text")


class Rows(NamedTuple):
    """What a table holds, before its columns are chosen and encoded."""

    X: Any
    y: NDArray[np.int64]
    is_test: NDArray[np.bool_] | None = None
    differences: tuple[str, ...] = ()


@dataclass(frozen=True)
class Source:
    """A set of files that together hold one data set, and how they are read.

    ``is_copy`` marks files that were made from those of the public source; errors name the public one first.
    """

    files: tuple[SourceFile, ...]
    read: Callable[[tuple[Path, ...]], Any]
    origin: str
    licence: str
    differences: tuple[str, ...] = ()
    is_copy: bool = False

    @property
    def can_be_fetched(self) -> bool:
        """Whether every file has a public address from which it may be downloaded."""
        return all(file.url for file in self.files)

    def paths_in(self, folder: Path) -> tuple[Path, ...]:
        """Where the files would lie in a folder."""
        return tuple(folder / file.name for file in self.files)


class Found(NamedTuple):
    """A source, where its files lie, and the cache folder, the only one from which files may be deleted."""

    source: Source
    paths: tuple[Path, ...]
    cache: Path

    def read(self) -> Any:
        """What the files hold, or a :class:`DataFileError`."""
        with self.blamed():
            return self.source.read(self.paths)

    @contextmanager
    def blamed(self) -> Iterator[None]:
        """Turn what is raised over the content of the files into a :class:`DataFileError` that says what to do."""
        path, must = self.paths[0], f"be {self.source.files[0].form} ({self.source.origin})"
        if len(self.paths) > 1:
            path, must = path.parent, f"hold {_together(self.source)} ({self.source.origin})"
        try:
            with parsing(path, must):
                yield
        except DataFileError as error:
            if error.remedy is None:
                # The same error with a remedy in place of itself, not as the cause of another.
                raise DataFileError(error.path, error.problem, self._remedy(error.path)) from error.__cause__
            raise

    def _remedy(self, path: Path) -> str:
        if path not in self.paths:
            return "replace these files by the originals"
        return _remedy(self.source.files[self.paths.index(path)], path, self.cache)


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
                for file, path in zip(source.files, paths, strict=True):
                    _check_file(file, path, cache)
                return Found(source, paths, cache)
    if download:
        for source in sources:
            if source.can_be_fetched:
                return Found(source, tuple(_fetch_checked(file, cache, progress) for file in source.files), cache)
    raise FileNotFoundError(_what_to_place(name, sources, cache))


def is_there(source: Source, home: str | Path | None) -> bool:
    """Whether AUCROSS_DATA or the cache folder holds all files of a source."""
    folders = filter(None, (data_folder(), data_home(home)))
    return any(all(path.is_file() for path in source.paths_in(folder)) for folder in folders)


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
        _check_file(file, folder / file.name, folder)
        return folder / file.name
    return fetch(file.name, str(file.url), folder, checksum=file.checksum, progress=progress)


def _check_file(file: SourceFile, path: Path, cache: Path) -> None:
    if file.checksum is None:
        return
    algorithm, expected = file.checksum.split(":")
    found = file_checksum(path, algorithm)
    if found != expected:
        problem = f"is damaged or another version: {algorithm} must be {expected}, found {found}"
        raise DataFileError(path, problem, _remedy(file, path, cache))


def _remedy(file: SourceFile, path: Path, cache: Path) -> str:
    """The folder of AUCROSS_DATA is its owner's: only from the cache folder are files to be deleted."""
    return "delete it and load again with download=True" if file.url and path.parent == cache else REPLACE


def _together(source: Source) -> str:
    return " and ".join(file.name for file in source.files)


def _what_to_place(name: str, sources: Sequence[Source], cache: Path) -> str:
    public_first = sorted(sources, key=lambda source: source.is_copy)
    places = " or ".join(map(_together, public_first))
    folders = " or in ".join(f"{folder} ({why})" for folder, why in _places(cache))
    reason = (
        "download=False and no copy was found"
        if any(source.can_be_fetched for source in sources)
        else "it cannot be downloaded without an account or a request to its owners"
    )
    return f"no rows of {name}: {reason}; put {places} in {folders}. Where to get it: {public_first[0].origin}"


def _places(cache: Path) -> list[tuple[Path, str]]:
    given = data_folder()
    return [(given, "AUCROSS_DATA"), (cache, "cache")] if given else [(cache, "cache")]
