"""Downloads: retried, checked, and complete or absent, whatever kills them."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

from aucross.datasets.damage import DataFileError
from aucross.datasets.folders import publish, workplace
from aucross.datasets.libraries import dataset_library

# pooch waits 1, 2, 3 ... seconds between the attempts.
ATTEMPTS = 4
TIMEOUT = 30.0  # seconds without a byte
_BLOCK = 2**16  # bytes


def fetch(name: str, url: str, folder: Path, *, checksum: str | None, progress: bool | None) -> Path:
    """Download one file into a folder, under a temporary name until it is complete and checked.

    A killed download starts again from the first byte. Two processes may fetch the same file at once: each writes its
    own temporary file, and the last copy to be complete stays.

    Parameters
    ----------
    name : str
        Name of the file in the folder.
    url : str
        Public address.
    folder : Path
        Made if absent.
    checksum : str or None
        ``algorithm:digest``; None if no checksum is published, then the reader checks the content.
    progress : bool or None
        Show a bar; None for a bar on a terminal.

    Returns
    -------
    Path
    """
    pooch = dataset_library("pooch", purpose="downloading data")
    requests = dataset_library("requests", purpose="downloading data")
    downloader = partial(_stream, bar=wants_bar(progress))
    # A name of its own until it is published: no two processes write, check or move the same file.
    own = f"{uuid4().hex}-{name}"
    registry = pooch.create(
        path=workplace(folder), base_url="", registry={own: checksum}, urls={own: url}, retry_if_failed=ATTEMPTS - 1
    )
    try:
        fetched = Path(registry.fetch(own, downloader=downloader))
    except requests.RequestException as error:
        raise ConnectionError(
            f"{url} could not be downloaded in {ATTEMPTS} attempts ({type(error).__name__}: {error}); "
            f"get it by other means and put it in {folder} as {name}"
        ) from error
    except ValueError as error:
        # What pooch says when the checksum of a complete file does not match, also after all attempts.
        by_hand = f"if a proxy answers in its place, get {name} by other means and put it in {folder}"
        said = str(error).rstrip(".")
        raise DataFileError(folder / name, f"was not downloaded, {url} is another file: {said}", by_hand) from error
    return publish(fetched, folder / name)


def _stream(url: str, target: str, _: Any, *, bar: bool) -> None:
    """Copy what an address answers to a file; unlike pooch's own function it closes the connection on errors."""
    requests = dataset_library("requests", purpose="downloading data")
    with requests.get(url, stream=True, timeout=TIMEOUT) as response:
        response.raise_for_status()
        blocks = response.iter_content(_BLOCK)
        with ExitStack() as stack:
            file: Any = stack.enter_context(Path(target).open("wb"))
            if bar:
                size = int(response.headers.get("content-length", 0))
                tqdm = dataset_library("tqdm", purpose="a progress bar").tqdm
                file = stack.enter_context(
                    tqdm.wrapattr(file, "write", total=size or None, desc=url.rpartition("/")[2])
                )
            for block in blocks:
                file.write(block)


def wants_bar(progress: bool | None) -> bool:
    """Whether to show a progress bar: as told, or on a terminal only."""
    show = sys.stderr.isatty() if progress is None else progress
    if show:
        dataset_library("tqdm", purpose="a progress bar")
    return show
