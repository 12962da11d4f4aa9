"""What is known of a file of decisions, in a second file beside it."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aucross.files.signing import signing_key
from aucross.system.whole_files import write_whole


def write_facts(path: Path, facts: Mapping[str, Any]) -> Path:
    """Write what is known of a file beside it, signed where ``AUCROSS_KEY_FILE`` names a key; return where.

    Parameters
    ----------
    path : Path
        The file, such as ``decisions.csv``; what is known goes to ``decisions.csv.json``.
    facts : mapping
        Ready for JSON.
    """
    written = datetime.now(UTC).isoformat(timespec="seconds")
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    # The hash tells facts of an older file, left by a command that was stopped between writing the two.
    known = {"format": "aucross decisions file", "version": 1, "file": path.name, "sha256": digest}
    content = {**known, "written": written, **facts}
    if (key := signing_key()) is not None:
        text = json.dumps(content, sort_keys=True)
        content["signature"] = hmac.new(key, text.encode(), "sha256").hexdigest()
    beside = path.with_name(f"{path.name}.json")
    write_whole(beside, (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode())
    return beside
