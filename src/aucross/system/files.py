"""Files that are there whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file for writing that takes its name only when it is complete and on the disk.

    Until then the bytes are in a hidden file of the same folder, so that an error, Ctrl-C or a killed process leave the
    file of that name as it was.
    """
    target = path.resolve()  # a link stays a link
    # Opened like this and not by tempfile, whose files no other user may read.
    temporary = target.with_name(f".{target.name}.{uuid4().hex}.tmp")
    try:
        with open(temporary, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(target.parent)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that whoever looks sees the old content or the new one, even after a crash."""
    with whole_file(path) as file:
        file.write(content)


def sync_folder(folder: Path) -> None:
    """Have the names in a folder on the disk, where the system knows such a thing."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
