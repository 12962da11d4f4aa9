"""Write files that appear whole or not at all."""

from __future__ import annotations

import errno
import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

# File systems take names of so many bytes.
LONGEST_NAME = 255


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file for writing; it gets its name only when it is complete and on the disk.

    Until then the bytes are in a hidden file of the same folder, so that an error or a killed process leaves the old
    file unchanged. The next write removes hidden files of killed processes.
    """
    target = followed(path)  # a link stays a link
    if not target.parent.exists():  # or the error would name the hidden file
        raise FileNotFoundError(
            f"{target.name} must be written into a folder, got {target.parent}, which does not exist; create it"
        )
    remove_orphans(target)
    temporary, opened = _hidden_file(target)
    try:
        with opened as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(target.parent)


def followed(path: Path) -> Path:
    """Return the path with its links followed; raise OSError if they form a circle."""
    target = Path(os.path.realpath(path))
    if target.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    return target


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that readers see the old content or the new, even after a crash."""
    with whole_file(path) as file:
        file.write(content)


def remove_orphans(path: Path) -> None:
    """Remove the hidden files of killed writers of a file; those of running writers are locked and stay."""
    target = path.resolve()
    name = re.compile(re.escape(_start(target)) + r"[0-9a-f]{32}\.tmp")
    with suppress(OSError):  # a folder that cannot be read has other problems, which come up when it is written to
        for found in list(target.parent.iterdir()):
            if name.fullmatch(found.name):
                with suppress(OSError), open(found, "rb") as file:
                    _lock(file, wait=False)
                    found.unlink()


def _start(target: Path) -> str:
    """Return the prefix of a file's hidden files; a checksum replaces a name that is too long."""
    is_short = len(os.fsencode(target.name)) + 38 <= LONGEST_NAME
    name = target.name if is_short else hashlib.sha256(os.fsencode(target.name)).hexdigest()
    return f".{name}."


def _hidden_file(target: Path) -> tuple[Path, BinaryIO]:
    """Open a new hidden file and lock it, so that others can tell that its writer is running."""
    while True:
        # Opened like this and not by tempfile, whose files no other user may read.
        temporary = target.with_name(f"{_start(target)}{uuid4().hex}.tmp")
        file = open(temporary, "xb")  # noqa: SIM115  (closed by who writes it)
        with suppress(OSError):  # there are file systems without locks
            _lock(file, wait=True)
        if temporary.exists():  # nobody took it for an orphan before it was locked
            return temporary, file
        file.close()


def _lock(file: BinaryIO, *, wait: bool) -> None:
    """Lock a file until it is closed or its process ends; raise OSError if another process has locked it."""
    if os.name != "posix":  # Windows removes no file that is open
        return
    import fcntl  # noqa: PLC0415  (exists on POSIX systems only)

    fcntl.flock(file.fileno(), fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))


def sync_folder(folder: Path) -> None:
    """Write the file names of a folder to the disk, if the system supports it."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def parquet_files(folder: Path) -> list[Path]:
    """Return the Parquet files of a folder and its subfolders, in the order of their names.

    Files whose names start with a dot or an underscore are left out, because they hold no rows.
    """
    found = (path for path in folder.rglob("*") if path.suffix.lower() in (".parquet", ".pq") and path.is_file())
    return sorted(path for path in found if not path.name.startswith((".", "_")))
