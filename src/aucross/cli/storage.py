"""The model file: a fitted classifier with what is needed to read tables for it."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Any

import sklearn

import aucross
from aucross.cli.errors import CommandError
from aucross.cli.schema import Schema
from aucross.deploy import load, read_metadata, save
from aucross.system.text import json_ready


def save_model(clf: Any, path: Path, schema: Schema, **facts: Any) -> None:
    """Write the model with its schema and further facts about the fit."""
    versions = {
        "aucross": aucross.__version__,
        "scikit-learn": sklearn.__version__,
        "python": platform.python_version(),
    }
    save(clf, path, metadata=json_ready({**schema.to_metadata(), **facts, "versions": versions}))


def load_model(path: Path) -> tuple[Any, Schema, dict[str, Any]]:
    """The classifier, its schema, and all that was kept with them."""
    if not path.exists():
        raise CommandError(f"there is no model file {path}; make one with `aucross fit`")
    if path.is_dir():
        raise CommandError(f"{path} is a folder; name the model file in it")
    metadata = dict(read_metadata(path))
    return load(path), Schema.from_metadata(metadata), metadata
