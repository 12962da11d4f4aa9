"""The two folders in which data may lie: one given by the environment, never written to, and the cache."""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from pathlib import Path

VARIABLE = "AUCROSS_DATA"

# Files come into being here, so that nothing else in the cache folder has to be touched to clean up.
INCOMPLETE = ".incomplete"
# One that nobody has written to for so many seconds belongs to a killed process.
ABANDONED_AFTER = 3600.0


def data_home(folder: str | Path | None = None) -> Path:
    """The cache folder, in which downloads and decoded images are kept; it is not created by asking.

    Parameters
    ----------
    folder : path-like, default=None
        A folder to use instead of the platform's.

    Returns
    -------
    Path
        The given folder, or ``aucross`` in the platform's folder for caches: ``$XDG_CACHE_HOME`` or ``~/.cache``,
        ``~/Library/Caches`` on macOS, ``%LOCALAPPDATA%`` on Windows.

    Examples
    --------
    >>> from aucross.datasets import data_home
    >>> data_home().name
    'aucross'
    >>> data_home("somewhere").name
    'somewhere'
    """
    if folder is not None:
        return Path(folder).expanduser()
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "aucross"
    variable = "LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME"
    given = os.environ.get(variable)
    return (Path(given) if given else Path.home() / ".cache") / "aucross"


def data_folder() -> Path | None:
    """The folder that the environment variable AUCROSS_DATA names, or None."""
    given = os.environ.get(VARIABLE)
    if not given:
        return None
    folder = Path(given).expanduser()
    if not folder.is_dir():
        raise NotADirectoryError(f"{VARIABLE} must name a folder that exists, got {given!r}; correct it or unset it")
    return folder


def workplace(folder: Path) -> Path:
    """A folder inside the given one for files that are not complete yet, cleared of those of killed processes."""
    incomplete = folder / INCOMPLETE
    try:
        incomplete.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OSError(
            f"data_home must be a folder that can be written to, got {folder} ({error}); pass another"
        ) from error
    oldest = time.time() - ABANDONED_AFTER
    for path in incomplete.iterdir():
        with suppress(OSError):
            if path.stat().st_mtime < oldest:
                path.unlink()
    return incomplete


def publish(complete: Path, target: Path) -> Path:
    """Give a complete file its name, in one step; another process may have been first."""
    try:
        os.replace(complete, target)
    except PermissionError:
        # On Windows a file that another process reads cannot be replaced; it is as complete as this one.
        if not target.is_file():
            raise
    return target
