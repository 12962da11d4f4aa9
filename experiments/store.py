"""Results of finished work, one file each, so that an interrupted run goes on where it stopped."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import joblib

# Raised when the meaning of a result changes: older files are then computed again.
VERSION = 1
CACHE = Path(os.environ.get("AUCROSS_EXPERIMENTS_CACHE", Path(__file__).parent / "cache"))


def read(kind: str, key: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """The rows stored for a piece of work, or None if there are none."""
    path = _path(kind, key)
    return json.loads(path.read_text(encoding="utf-8"))["rows"] if path.exists() else None


def write(kind: str, key: Mapping[str, Any], rows: list[dict[str, Any]]) -> None:
    """Store the rows of a piece of work; a reader sees all of them or none."""
    path = _path(kind, key)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(f".{os.getpid()}")
    unfinished.write_text(json.dumps({"key": dict(key), "rows": rows}), encoding="utf-8")
    unfinished.replace(path)


def _path(kind: str, key: Mapping[str, Any]) -> Path:
    return CACHE / kind / f"{joblib.hash((VERSION, sorted(key.items())))}.json"
