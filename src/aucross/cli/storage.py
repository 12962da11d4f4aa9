"""The model file: a fitted classifier with what is needed to read tables for it."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

import sklearn

import aucross
from aucross.cli.errors import CommandError
from aucross.cli.schema import Schema
from aucross.deploy import load, read_metadata, save
from aucross.system.text import json_ready

# Names a file whose content is the key to sign model files with; only files that it signed are then read.
KEY_FILE = "AUCROSS_KEY_FILE"


def signing_key() -> bytes | None:
    """The key in use, if there is one."""
    name = os.environ.get(KEY_FILE)
    if name is None:
        return None
    try:
        # A line end at the end of the file is not part of the key: editors add it.
        key = Path(name).read_bytes().rstrip(b"\r\n")
    except OSError as error:
        raise CommandError(
            f"{KEY_FILE}: the key file {name!r} cannot be read ({error.strerror}); name a file that can, or unset "
            f"{KEY_FILE} to work without signatures"
        ) from error
    if len(key) < 16:
        raise CommandError(
            f"{KEY_FILE}: {name} must hold a key of at least 16 bytes, got {len(key)}; make a longer one"
        )
    return key


def save_model(clf: Any, path: Path, schema: Schema, **facts: Any) -> None:
    """Write the model with its schema and further facts about the fit."""
    versions = {
        "aucross": aucross.__version__,
        "scikit-learn": sklearn.__version__,
        "python": platform.python_version(),
    }
    metadata = json_ready({**schema.to_metadata(), **facts, "versions": versions})
    save(clf, path, metadata=metadata, key=signing_key())


def load_model(path: Path) -> tuple[Any, Schema, dict[str, Any]]:
    """The classifier, its schema, and all that was kept with them."""
    if not path.exists():
        raise CommandError(f"there is no model file {path}; make one with `aucross fit`")
    if path.is_dir():
        raise CommandError(f"{path} is a folder; name the model file in it")
    key = signing_key()
    metadata = dict(read_metadata(path, key=key))
    return load(path, key=key), Schema.from_metadata(metadata), metadata
