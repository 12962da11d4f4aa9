"""Where rows come from: the files of a source, their checksums and addresses, and how they are read.

::

    locate(name, sources)
        first source of which AUCROSS_DATA or the cache folder holds all files ──► else the first that can be fetched
                    └── checksum of each file
    Found.read()                                                   what they hold, or DataFileError
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pooch
import requests
from numpy.typing import NDArray
from tqdm import tqdm

VARIABLE = "AUCROSS_DATA"
# pooch waits 1, 2, 3 ... seconds between the attempts.
ATTEMPTS = 4
TIMEOUT = 30.0  # seconds without a byte


class DataFileError(ValueError):
    """A file is damaged, or another one than its loader expects."""

    def __init__(self, path: Path, problem: str, remedy: str = "replace it by the original") -> None:
        super().__init__(path, problem, remedy)  # all of them, so that the error can be pickled

    def __str__(self) -> str:
        path, problem, remedy = self.args
        return f"{path} {problem}; {remedy}"


@contextmanager
def reading(path: Path, must: str) -> Iterator[None]:
    """Name the file where a library stumbles over its content; errors of the machine are left as they are."""
    try:
        yield
    except (DataFileError, ImportError, MemoryError, Warning):
        raise
    except Exception as error:
        # Libraries also raise OSError over what they read, but without a number of the operating system.
        if isinstance(error, OSError) and error.errno is not None:
            raise
        said = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise DataFileError(path, f"must {must}, found {said}") from error


@dataclass(frozen=True)
class SourceFile:
    """One file: its name in a folder and, where known, ``algorithm:digest`` of its bytes and its public address."""

    name: str
    checksum: str | None = None
    url: str | None = None

    def check(self, path: Path) -> None:
        """Refuse a file with another checksum."""
        if self.checksum is None:
            return
        algorithm, expected = self.checksum.split(":")
        if (found := file_checksum(path, algorithm)) != expected:
            problem = f"is damaged or another version: {algorithm} must be {expected}, found {found}"
            raise DataFileError(path, problem)


class Rows(NamedTuple):
    """What a table holds, before its columns are chosen and encoded."""

    X: Any
    y: NDArray[np.int64]
    is_test: NDArray[np.bool_] | None = None
    differences: tuple[str, ...] = ()


@dataclass(frozen=True)
class Source:
    """Files that together hold one data set, how they are read, whose they are, how they differ from the paper's."""

    files: tuple[SourceFile, ...]
    read: Callable[[tuple[Path, ...]], Any]
    origin: str
    differences: tuple[str, ...] = ()


class Found(NamedTuple):
    """A source and where its files lie."""

    source: Source
    paths: tuple[Path, ...]

    def read(self) -> Any:
        """What the files hold."""
        with reading(self.paths[0], f"be the file of that name ({self.source.origin})"):
            return self.source.read(self.paths)


def locate(name: str, sources: Sequence[Source], *, download: bool = True) -> Found:
    """The first source whose files are all at hand, else the first that can be downloaded."""
    folders = [folder for folder in (data_folder(), cache_folder()) if folder]
    for source in sources:
        for folder in folders:
            paths = tuple(folder / file.name for file in source.files)
            if all(path.is_file() for path in paths):
                for file, path in zip(source.files, paths, strict=True):
                    file.check(path)
                return Found(source, paths)
    for source in sources:
        if download and all(file.url for file in source.files):
            return Found(source, tuple(fetch(file, cache_folder()) for file in source.files))
    files = " or ".join(" and ".join(file.name for file in source.files) for source in sources)
    places = " or in ".join(map(str, folders))
    raise FileNotFoundError(f"no rows of {name}: put {files} in {places}. Where to get it: {sources[0].origin}")


def fetch(file: SourceFile, folder: Path) -> Path:
    """Download one file into a folder: retried, checked, and there under its name only when it is complete."""
    folder.mkdir(parents=True, exist_ok=True)
    name, url = file.name, str(file.url)
    registry = pooch.create(
        path=folder, base_url="", registry={name: file.checksum}, urls={name: url}, retry_if_failed=ATTEMPTS - 1
    )
    try:
        return Path(registry.fetch(name, downloader=_stream))
    except requests.RequestException as error:
        raise ConnectionError(
            f"{url} could not be downloaded in {ATTEMPTS} attempts ({type(error).__name__}: {error}); "
            f"get it by other means and put it in {folder} as {name}"
        ) from error
    except ValueError as error:
        # What pooch says when the checksum of a complete file does not match, also after all attempts.
        by_hand = f"if a proxy answers in its place, get {name} by other means and put it in {folder}"
        raise DataFileError(folder / name, f"was not downloaded, {url} is another file: {error}", by_hand) from error


def _stream(url: str, target: str, _: Any) -> None:
    """Copy what an address answers to a file; unlike pooch's own function it closes the connection on errors."""
    with requests.get(url, stream=True, timeout=TIMEOUT) as response:
        response.raise_for_status()
        size = int(response.headers.get("content-length", 0)) or None
        bar = {"total": size, "desc": url.rpartition("/")[2], "disable": None}  # None: a bar on a terminal only
        with open(target, "wb") as file, tqdm.wrapattr(file, "write", **bar) as shown:
            for block in response.iter_content(2**16):
                shown.write(block)


def file_checksum(path: Path, algorithm: str = "sha256") -> str:
    """Digest of a file's bytes in hexadecimal digits."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, algorithm).hexdigest()


def data_folder() -> Path | None:
    """The folder that the environment variable AUCROSS_DATA names, never written to, or None."""
    given = os.environ.get(VARIABLE)
    if not given:
        return None
    folder = Path(given).expanduser()
    if not folder.is_dir():
        raise NotADirectoryError(f"{VARIABLE} must name a folder that exists, got {given!r}; correct it or unset it")
    return folder


def cache_folder() -> Path:
    """Where downloads and decoded images are kept."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "aucross"
