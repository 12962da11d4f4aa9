"""Results of finished work, one file each, so that an interrupted run goes on where it stopped."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import joblib

CACHE = Path(os.environ.get("AUCROSS_EXPERIMENTS_CACHE", Path(__file__).parent / "cache"))


class Stored(NamedTuple):
    """Rows of a finished piece of work, its processor time, and the stamp of the code that did it."""

    rows: list[dict[str, Any]]
    seconds: float
    code: str = ""


def read(kind: str, key: Mapping[str, Any]) -> Stored | None:
    """What is stored for a piece of work, or None."""
    path = path_of(kind, key)
    if not path.exists():
        return None
    content = json.loads(path.read_text(encoding="utf-8"))
    return Stored(content["rows"], content["seconds"], content.get("code", ""))


def write(kind: str, key: Mapping[str, Any], result: Stored) -> None:
    """Store a finished piece of work; a reader sees all of it or nothing."""
    path = path_of(kind, key)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(f".{os.getpid()}")
    unfinished.write_text(json.dumps({"key": dict(key), **result._asdict()}), encoding="utf-8")
    unfinished.replace(path)


def path_of(kind: str, key: Mapping[str, Any]) -> Path:
    """The file of a piece of work: another key, another file."""
    return CACHE / kind / f"{joblib.hash(sorted(key.items()))}.json"
